//! What a process knows of its windows, of their ranks, and of accesses that are arriving.

use super::access::{AccessFault, Far, LockKind, RefusedAccess, Sync, TargetRefusal};
use super::exposed::ExposedWindow;
use crate::group::Group;
use crate::limits::LAYOUTS_MAX;
use crate::matching::Mixer;
use crate::slab::{Id, Slab};
use crate::wire::HeaderKind;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use tern_mem::{Layout, UserBuf};
use tern_transport::{Header, Peer, WindowMemory};

pub(super) type ByPeer<T> = HashMap<Peer, T, BuildHasherDefault<Mixer>>;

/// All windows that others reach by messages, or that this rank reaches so.
#[derive(Default)]
pub(crate) struct Rma {
    pub windows: Slab<EngineWindow>,
    /// Long messages of accesses that are arriving.
    pub landings: Slab<RmaLanding>,
    /// Layouts that peers have been told.
    pub taught: ByPeer<Taught>,
    /// Layouts that peers have told.
    pub learnt: ByPeer<[Option<Arc<Layout>>; LAYOUTS_MAX]>,
    /// Descriptions that are arriving.
    pub assemblies: ByPeer<Assembly>,
    /// Accesses that this rank has executed for others.
    pub executed: u64,
}

/// Takes memory from the first window on: a simulator has a million engines.
#[derive(Default)]
pub(crate) struct Lazy(Option<Box<Rma>>);

impl Lazy {
    /// To be used.
    pub(crate) fn get(&mut self) -> &mut Rma {
        self.0.get_or_insert_default()
    }

    /// To be looked at, if there is anything.
    pub(crate) fn look(&self) -> Option<&Rma> {
        self.0.as_deref()
    }
}

/// Which layouts a peer knows: by places, which are used in turns.
#[derive(Default)]
pub(crate) struct Taught {
    pub layouts: Vec<Arc<Layout>>,
    pub next: usize,
}

/// What each rank of a window calls it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowNumbers(NumbersByRank);

#[derive(Clone, PartialEq, Eq, Debug)]
enum NumbersByRank {
    /// All ranks the same, which is usual: of a large window this takes no memory.
    Same {
        number: u32,
        ranks: u32,
    },
    Each(Vec<u32>),
}

impl WindowNumbers {
    /// The same number for all of so many ranks.
    pub fn same(number: u32, ranks: u32) -> WindowNumbers {
        WindowNumbers(NumbersByRank::Same { number, ranks })
    }

    /// That of each rank.
    pub fn of(numbers: Vec<u32>) -> WindowNumbers {
        match numbers.first() {
            Some(&number) if numbers.iter().all(|other| *other == number) => {
                WindowNumbers::same(number, numbers.len() as u32)
            }
            _ => WindowNumbers(NumbersByRank::Each(numbers)),
        }
    }

    pub(super) fn of_rank(&self, rank: u32) -> Option<u32> {
        match &self.0 {
            NumbersByRank::Same { number, ranks } => (rank < *ranks).then_some(*number),
            NumbersByRank::Each(numbers) => numbers.get(rank as usize).copied(),
        }
    }
}

impl Default for WindowNumbers {
    fn default() -> WindowNumbers {
        WindowNumbers(NumbersByRank::Each(Vec::new()))
    }
}

/// A window as the engine sees it.
#[derive(Default)]
pub(crate) struct EngineWindow {
    pub exposed: Option<Box<dyn ExposedWindow>>,
    pub group: Option<Group>,
    pub numbers: WindowNumbers,
    /// Memory of ranks that is read and written without messages, and this rank's own.
    pub memories: Vec<Option<WindowMemory>>,
    pub own_memory: Option<WindowMemory>,
    /// Ranks that this one has exchanged something with.
    pub members: ByPeer<WindowMember>,
    /// Remote ranks that wait for this rank's lock.
    pub applicants: Vec<Applicant>,
    /// Landings and answers that use this rank's memory.
    pub busy: u32,
}

/// Another rank of a window.
#[derive(Default)]
pub(crate) struct WindowMember {
    // This rank accesses its memory.
    /// Accesses whose buffers are in use here.
    pub unfinished: u32,
    /// Accesses since the target was last asked to acknowledge.
    pub unasked: u64,
    /// Acknowledgements that were asked for, and those that have come.
    pub asked: u64,
    pub answered: u64,
    /// The lock that was asked for has been given: the newest epoch of `MPI_Win_lock_all` that has had it.
    pub granted: Option<u64>,
    pub fault: Option<AccessFault>,
    // It accesses this rank's memory.
    pub rank: u32,
    /// The elements that its next accesses are about.
    pub opened: Option<Result<UserBuf, TargetRefusal>>,
    /// What was refused since it was last told.
    pub refused: Option<RefusedAccess>,
    /// Its messages that are arriving.
    pub landing: u32,
    /// What it asked for meanwhile.
    pub deferred: Vec<(Sync, u32)>,
    /// The lock that is held on its behalf.
    pub holds: Option<LockKind>,
    /// It waits for the lock.
    pub applies: bool,
}

impl EngineWindow {
    /// What is known of a process that is a rank of the window.
    pub(crate) fn member(&mut self, peer: Peer) -> Option<&mut WindowMember> {
        match self.members.entry(peer) {
            Entry::Occupied(member) => Some(member.into_mut()),
            Entry::Vacant(place) => {
                let rank = self.group.as_ref()?.rank_of(peer)?;
                Some(place.insert(WindowMember { rank, ..WindowMember::default() }))
            }
        }
    }
}

impl Rma {
    /// A window by its number here, and what is known of a peer in it.
    pub(crate) fn member(&mut self, window: u32, peer: Peer) -> Option<(Id, &mut WindowMember)> {
        let id = Id::from_raw(window);
        Some((id, self.windows.get_mut(id).filter(|_| id.raw() == window)?.member(peer)?))
    }

    /// The process of a rank that is accessed, what it calls the window, and what is known of it there.
    pub(crate) fn target(&mut self, far: &Far) -> Option<(Peer, u32, &mut WindowMember)> {
        let window = self.windows.get_mut(far.window)?;
        let number = window.numbers.of_rank(far.rank)?;
        let peer = window.group.as_ref()?.peer(far.rank)?;
        Some((peer, number, window.member(peer)?))
    }

    /// What this rank exposes to a peer in a window.
    pub(crate) fn exposed(&self, id: Id) -> Option<&dyn ExposedWindow> {
        self.windows.get(id)?.exposed.as_deref()
    }
}

impl WindowMember {
    /// This rank accesses its memory. What comes back says by itself that it has been done; all else has to be asked for.
    pub(super) fn note_access(&mut self, kind: HeaderKind) {
        self.unasked += u64::from(matches!(kind, HeaderKind::RmaPut | HeaderKind::RmaCombine));
    }
}

/// A remote rank that waits for this rank's lock.
#[derive(Debug)]
pub(crate) struct Applicant {
    pub(super) peer: Peer,
    pub(super) kind: LockKind,
    pub(super) ticket: u64,
    /// What it calls the window.
    pub(super) number: u32,
}

/// A long message of an access that is arriving.
#[derive(Default)]
pub(crate) struct RmaLanding {
    pub(super) window: Id0,
    pub(super) what: AccessTarget,
}

/// A window's number; that of none at first.
pub(super) struct Id0(pub(super) Id);

impl Default for Id0 {
    fn default() -> Self {
        Id0(Id::COMPLETED)
    }
}

#[derive(Default)]
pub(super) enum AccessTarget {
    /// Straight into the window.
    #[default]
    Put,
    /// Into a block, from which it is executed.
    Execute { header: Header, block: UserBuf, len: usize },
    /// A part of a description.
    Description { bytes: usize },
}

/// The description of a layout that is arriving.
pub(crate) struct Assembly {
    pub(super) place: usize,
    pub(super) begun: usize,
    pub(super) arrived: usize,
    pub(super) block: UserBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_the_same_take_no_memory() {
        let same = WindowNumbers::of(vec![7; 3]);
        assert_eq!(same, WindowNumbers::same(7, 3));
        assert_eq!([0, 2, 3].map(|rank| same.of_rank(rank)), [Some(7), Some(7), None]);
        let each = WindowNumbers::of(vec![7, 8]);
        assert_eq!([0, 1, 2].map(|rank| each.of_rank(rank)), [Some(7), Some(8), None]);
        assert_eq!(WindowNumbers::of(Vec::new()).of_rank(0), None);
    }
}
