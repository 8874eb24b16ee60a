//! One-sided communication by messages (MPI 5.0 chapter 12): for memory that no processor and no kernel reaches from here.
//!
//! An access is an active message that the target's engine executes while it polls. The header alone says where a put lands, so that
//! its bytes go straight into the window. The target looks everything up in what it exposes itself ([`ExposedWindow`]),
//! and believes no address, length or rank. Accesses of one origin to one target stay in order, as all messages do; so
//! one answer to a flush acknowledges all that came before it.
//!
//! [`wire`] says what travels, [`origin`] how an access leaves, [`target`] what is done with it, [`sync`] how epochs end.

#[cfg(any(test, fuzzing))]
#[path = "../../../fuzz/targets/rma.rs"]
pub mod fuzz;
mod origin;
mod outbound;
mod sync;
mod target;
pub mod wire;

pub use origin::{CannotBegin, Combination, Far, GappedElements};
pub(crate) use outbound::OutboundRma;
pub use sync::Sync;
pub(crate) use target::RmaLanding;

use crate::group::Group;
use crate::limits::LAYOUTS_MAX;
use crate::matching::Mixer;
use crate::slab::{Id, Slab};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use sync::Applicant;
use target::Assembly;
use tern_mem::{Basic, Layout, UserBuf};
use tern_transport::{Peer, TransferError, WindowMemory};

/// A window's number in this process.
pub type WindowId = Id;

/// In the context of an access's status, above the number of its window: no communicator has such a context.
pub const ACCESS_CONTEXT: u64 = 1 << 63;

/// How a rank's memory is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// With others.
    Shared,
    /// Alone.
    Exclusive,
}

/// Why a target does not do what an origin asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TargetRefusal {
    /// Not all of the bytes are in the target's part of the window.
    Outside = 1,
    /// Not all of them are memory of the target's process.
    Unmapped,
    /// The request makes no sense to the target.
    Malformed,
}

/// An access that its target refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedAccess {
    /// Why.
    pub why: TargetRefusal,
    /// Displacement of its first byte in bytes, which is an address in a dynamic window; [`RefusedAccess::SOMEWHERE`] if it has a shape.
    pub at: u64,
}

impl RefusedAccess {
    /// Elements with gaps have no first byte that says much.
    pub const SOMEWHERE: u64 = u64::MAX;
}

/// Why an access did not come to pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessFault {
    /// The target refuses it.
    Refused(RefusedAccess),
    /// This rank's own buffer could not be used.
    Buffer(TransferError),
}

/// What a rank exposes in a window: its memory, and the words that it shares with ranks that reach them directly. Every call is made
/// on behalf of a remote rank, and checked by whoever answers.
pub trait ExposedWindow: Send {
    /// Bytes from a displacement on, which is an address in a dynamic window. `writes`: they are to be changed.
    fn contiguous(&self, at: u64, len: u64, writes: bool) -> Result<UserBuf, TargetRefusal>;
    /// Elements at a displacement.
    fn typed(
        &self,
        at: i64,
        count: u64,
        layout: &Arc<Layout>,
        writes: bool,
    ) -> Result<UserBuf, TargetRefusal>;
    /// Combines packed elements with those at the same packed bytes of `there`, by the rule that all ranks of the window follow.
    fn combine(&self, there: &UserBuf, elements: &CombinedElements<'_>);
    /// Puts `new` there if `compared` is there. What was there.
    fn swap(&self, there: &UserBuf, basic: Basic, compared: &UserBuf, new: &UserBuf) -> UserBuf;
    /// Takes a ticket for the lock.
    fn ticket(&self) -> u64;
    /// Whether it is the turn of a ticket; then the lock is held on behalf of `rank`.
    fn enter(&self, ticket: u64, kind: LockKind, rank: u32) -> bool;
    /// Gives the lock back.
    fn leave(&self, kind: LockKind);
    /// Tickets wait here for their turn, from now on or no longer.
    fn waits(&self, waits: bool);
    /// Ranks of this host that wait for the lock.
    fn waiters(&self) -> Vec<Peer>;
    /// `rank` lets this one access its memory.
    fn posted(&self, rank: u32);
    /// `rank` has completed its accesses.
    fn completed(&self, rank: u32);
}

/// Elements that are combined with some of a target's.
#[derive(Debug)]
pub struct CombinedElements<'a> {
    /// How.
    pub combination: Combination,
    /// The first packed byte at the target.
    pub from: usize,
    /// Packed bytes.
    pub bytes: usize,
    /// The origin's; none to fetch only.
    pub mine: Option<&'a UserBuf>,
    /// Where what was there goes, if somebody asks.
    pub old: Option<&'a UserBuf>,
}

type ByPeer<T> = HashMap<Peer, T, BuildHasherDefault<Mixer>>;

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

    fn of_rank(&self, rank: u32) -> Option<u32> {
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
    /// The lock that was asked for has been given.
    pub granted: bool,
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
    pub deferred: Vec<(sync::Sync, u32)>,
    /// The lock that is held on its behalf.
    pub holds: Option<LockKind>,
    /// It waits for the lock.
    pub applies: bool,
}

impl EngineWindow {
    /// What is known of a process that is a rank of the window.
    pub(crate) fn member(&mut self, peer: Peer) -> Option<&mut WindowMember> {
        if !self.members.contains_key(&peer) {
            let rank = self.group.as_ref()?.rank_of(peer)?;
            self.members.insert(peer, WindowMember { rank, ..WindowMember::default() });
        }
        self.members.get_mut(&peer)
    }
}

impl Rma {
    /// A window by its number here, and what is known of a peer in it.
    pub(crate) fn member(&mut self, window: u32, peer: Peer) -> Option<(Id, &mut WindowMember)> {
        let id = Id::from_raw(window);
        Some((id, self.windows.get_mut(id).filter(|_| id.raw() == window)?.member(peer)?))
    }

    /// What this rank exposes to a peer in a window.
    pub(crate) fn exposed(&self, id: Id) -> Option<&dyn ExposedWindow> {
        self.windows.get(id)?.exposed.as_deref()
    }
}

impl<T: tern_transport::Transport> crate::Engine<T> {
    /// A window of the processes of a group, which are told the number that this returns. Nobody may use it yet.
    pub fn announce_window(&mut self, group: Group) -> WindowId {
        self.core.rma.get().windows.insert(EngineWindow { group: Some(group), ..EngineWindow::default() })
    }

    /// Lets its ranks reach what this one exposes; `numbers` are what each of them calls the window.
    pub fn expose(&mut self, window: WindowId, numbers: WindowNumbers, exposed: Box<dyn ExposedWindow>) {
        if let Some(window) = self.core.rma.get().windows.get_mut(window) {
            (window.numbers, window.exposed) = (numbers, Some(exposed));
        }
    }

    /// Lets ranks that the transport reaches so read and write this rank's memory without messages: what they have to know.
    pub fn share_memory(&mut self, window: WindowId, memory: &UserBuf) -> Option<WindowMemory> {
        let shared = self.transport.expose_window(memory)?;
        self.core.rma.get().windows.get_mut(window)?.own_memory = Some(shared);
        Some(shared)
    }

    /// What the ranks of a window have said of their memory.
    pub fn know_memories(&mut self, window: WindowId, memories: Vec<Option<WindowMemory>>) {
        if let Some(window) = self.core.rma.get().windows.get_mut(window) {
            window.memories = memories;
        }
    }

    /// Whether a message to or from this rank's memory is still under way.
    pub fn is_reached(&self, window: WindowId) -> bool {
        self.core.rma.look().and_then(|rma| rma.windows.get(window)).is_some_and(|window| window.busy > 0)
    }

    /// Nobody reaches the window from now on.
    pub fn withdraw(&mut self, window: WindowId) {
        let removed = self.core.rma.get().windows.remove(window);
        if let Some(memory) = removed.and_then(|window| window.own_memory) {
            self.transport.hide_window(memory);
        }
    }

    /// Accesses that this rank's engine has executed for others.
    pub fn accesses_executed(&self) -> u64 {
        self.core.rma.look().map_or(0, |rma| rma.executed)
    }
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
