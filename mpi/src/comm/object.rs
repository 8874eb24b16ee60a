//! Communicators: the object behind a handle. The entry points of chapter 7 are in `make.rs`, `query.rs` and
//! `intercomm.rs`.

use crate::coll::shm_comm_place::ShmCommPlace;
use crate::comm::attribute_values::Attributes;
use crate::core::handle::HandleKind;
use crate::core::table::Table;
use crate::env::hints::Info;
use crate::limits::{CONTEXTS_PER_BLOCK, FREED_HANDLERS_MAX};
use crate::topo::object::Topology;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::Arc;
use tern_abi::*;
use tern_coll::Nodes;
use tern_engine::{Envelope, Group};
use tern_job::status_page::count_of_ranks;
use tern_transport::{MulticastGroup, Peer};

/// Which traffic of a communicator: none of it may meet another's (MPI 5.0 section 7.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(crate) enum Lane {
    /// The program's messages.
    P2p = 0,
    /// Collectives.
    Coll = 1,
    /// Collectives within the local group of an intercommunicator, and the library's own agreements.
    Local = 2,
    /// Agreements among part of the group: `MPI_Comm_create_group`, with the program's tag.
    Part = 3,
}

/// Contexts that a communicator's members may give to its children without asking each other: all make the
/// same communicators in the same order, so all take the same number. Unique in the world, since each block comes from
/// the count of one process. Of a process that has met other worlds it comes from chance: see [`Contexts::drawn`]. A communicator that
/// has given all of its block to children goes on with one that its members compute: see [`Contexts::computed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contexts {
    next: u64,
    left: u32,
}

/// A number of which each bit depends on each of another one's: the same in every process. The finalizer of splitmix64 (Steele, Lea and
/// Flood, 2014).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Contexts {
    /// A child takes one of so many parts of what is left, for its own children.
    const CHILD_SHARE: u32 = 16;
    /// Lowest two bits: the lane.
    const STEP: u64 = 4;

    /// No contexts.
    pub(crate) const NONE: Contexts = Contexts { next: 0, left: 0 };

    /// The next block that process `leader` gives out, which counts them; `None` when it has given out all that a count of 32 bits has.
    pub(crate) fn counted(leader: Peer, count: &mut u32, len: u32) -> Option<Self> {
        let next = count.checked_add(len)?;
        Some(Self::block(leader, std::mem::replace(count, next), len))
    }

    /// The block that process `leader` gives out with its count at `count`.
    pub(crate) fn block(leader: Peer, count: u32, len: u32) -> Self {
        Contexts { next: (u64::from(leader) << 34) | (u64::from(count) * Self::STEP), left: len }
    }

    /// A block that a process gives out which has met other worlds, of 48 bits that nobody can foresee. Bit 62 keeps it apart from those of
    /// worlds that have met nobody. Two of a process's communicators would have to draw the same to be taken for each other: among 10,000
    /// the chance is 1 in 5 million.
    pub(crate) fn drawn(chance: u64, len: u32) -> Self {
        Contexts { next: 1 << 62 | (chance & ((1 << 48) - 1)) << 14, left: len }
    }

    /// The block of a communicator of this context after the last one, which ended here. All members compute the same, so none has to wait
    /// for another: `MPI_Comm_idup` must not. It is like a drawn one.
    fn computed(self, context: u64, len: u32) -> Self {
        Self::drawn(mixed(mixed(context).wrapping_add(self.next)), len)
    }

    /// The block that a peer has named by its first context.
    pub(crate) fn named(first: u64, len: u32) -> Self {
        Contexts { next: first, left: len }
    }

    /// The first context.
    pub(crate) fn first(&self) -> u64 {
        self.next
    }

    /// The first context, for a communicator, and the rest, for its children.
    pub(crate) fn split_first(self) -> (u64, Contexts) {
        debug_assert!(self.left > 0);
        (self.next, Contexts { next: self.next + Self::STEP, left: self.left - 1 })
    }

    /// A child's context, and what it may give to its own children; `None` when nothing is left.
    pub(crate) fn child(&mut self) -> Option<(u64, Contexts)> {
        let len = (self.left / Self::CHILD_SHARE).max(1).min(self.left);
        if len == 0 {
            return None;
        }
        let child = Contexts { next: self.next, left: len }.split_first();
        self.next += u64::from(len) * Self::STEP;
        self.left -= len;
        Some(child)
    }
}

/// A communicator.
#[derive(Debug)]
pub(crate) struct Comm {
    /// Its context: unique in the job, the lowest two bits are left for the [`Lane`].
    pub context: u64,
    /// This process's rank in the local group.
    pub rank: u32,
    /// The group; of an intercommunicator, the local one.
    pub group: Group,
    /// The remote group of an intercommunicator.
    pub remote: Option<Group>,
    /// Of an intercommunicator: the local group comes first where both sides must choose alike.
    pub comes_first: bool,
    /// Set by `MPI_Comm_set_name`, or the predefined name.
    pub name: String,
    /// Its error handler.
    pub errhandler: MPI_Errhandler,
    /// Cached attributes.
    pub attributes: Attributes,
    /// Hints.
    pub info: Info,
    /// Counts collectives, so that each has a tag of its own.
    pub collectives: u32,
    /// The memory that its ranks share.
    pub shm_comm: ShmCommPlace,
    /// Contexts for communicators made from this one.
    pub children: Contexts,
    /// Its virtual topology (chapter 8).
    pub topology: Option<Arc<Topology>>,
    /// Which ranks of its group share a node, once a collective had to know; `None` if all do.
    pub nodes: OnceCell<Option<Box<Nodes>>>,
    /// By what its collectives multicast, once one had to know; `Some(None)` where that does not work.
    pub multicast_group: Option<Option<MulticastGroup>>,
}

impl Comm {
    /// A context for a communicator with the same members, and for its children.
    pub(crate) fn child_context(&mut self) -> (u64, Contexts) {
        if let Some(child) = self.children.child() {
            return child;
        }
        self.children = self.children.computed(self.context, CONTEXTS_PER_BLOCK);
        self.children.child().expect("a new block has contexts")
    }

    /// A communicator without name, attributes or hints.
    pub(crate) fn new(context: u64, rank: u32, group: Group, remote: Option<Group>) -> Self {
        Comm {
            context,
            rank,
            group,
            remote,
            comes_first: true,
            name: String::new(),
            errhandler: MPI_ERRORS_ARE_FATAL,
            attributes: Attributes::default(),
            info: Info::default(),
            collectives: 0,
            shm_comm: ShmCommPlace::Unasked,
            children: Contexts::NONE,
            topology: None,
            nodes: OnceCell::new(),
            multicast_group: None,
        }
    }

    /// The context of a lane.
    #[inline]
    pub(crate) fn lane(&self, lane: Lane) -> u64 {
        self.context | lane as u64
    }

    /// The group that ranks of point-to-point calls refer to.
    #[inline]
    pub(crate) fn peers(&self) -> &Group {
        self.remote.as_ref().unwrap_or(&self.group)
    }

    /// The members, of both sides if it is an intercommunicator.
    pub(crate) fn all_members(&self) -> impl Iterator<Item = Peer> + '_ {
        self.group.members().chain(self.remote.iter().flat_map(Group::members))
    }

    /// The envelope of a message from this process.
    #[inline]
    pub(crate) fn envelope(&self, lane: Lane, tag: i32) -> Envelope {
        Envelope { context: self.lane(lane), source: self.rank, tag }
    }

    /// Name and size, for a message to a person.
    pub(crate) fn described(&self) -> String {
        let name = shown(&self.name, "a communicator");
        match &self.remote {
            None => format!("{name} ({}, this is {})", count_of_ranks(self.group.size()), self.rank),
            Some(remote) => format!(
                "{name} (intercommunicator, {} local ranks, {} remote, this is {})",
                self.group.size(),
                remote.size(),
                self.rank
            ),
        }
    }
}

/// A name that the program chose, for a message to a person: it must neither break the message's one line nor steer the terminal.
/// Without one, `unnamed`.
pub(crate) fn shown(name: &str, unnamed: &str) -> String {
    if name.is_empty() { unnamed.into() } else { name.replace(char::is_control, "?") }
}

/// All communicators.
pub(crate) struct Comms {
    world: Option<Box<Comm>>,
    own: Option<Box<Comm>>,
    others: Table<Box<Comm>>,
    /// Contexts of the last ones that were freed, with the handlers for errors of operations that go on.
    freed: VecDeque<(u64, MPI_Errhandler)>,
}

impl Comms {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Comms { world: None, own: None, others: Table::new(HandleKind::Comm), freed: VecDeque::new() }
    }

    /// Puts the predefined ones in place, or takes them away.
    pub(crate) fn set_predefined(&mut self, world: Option<Comm>, own: Option<Comm>) {
        self.world = world.map(Box::new);
        self.own = own.map(Box::new);
    }

    /// The communicator of a handle.
    #[inline]
    pub(crate) fn get(&self, comm: MPI_Comm) -> Option<&Comm> {
        match comm {
            MPI_COMM_WORLD => self.world.as_deref(),
            MPI_COMM_SELF => self.own.as_deref(),
            _ => self.others.get(comm.0).map(|comm| &**comm),
        }
    }

    /// The communicator of a handle, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, comm: MPI_Comm) -> Option<&mut Comm> {
        match comm {
            MPI_COMM_WORLD => self.world.as_deref_mut(),
            MPI_COMM_SELF => self.own.as_deref_mut(),
            _ => self.others.get_mut(comm.0).map(|comm| &mut **comm),
        }
    }

    /// Takes a communicator in; `None` when there are too many.
    pub(crate) fn insert(&mut self, comm: Comm) -> Option<MPI_Comm> {
        self.others.insert(Box::new(comm)).map(MPI_Comm)
    }

    /// Takes a communicator of the program's out.
    pub(crate) fn remove(&mut self, comm: MPI_Comm) -> Option<Box<Comm>> {
        self.others.remove(comm.0)
    }

    /// Remembers the error handler of a freed communicator, which operations under way may still need (section 7.4.3), and gives back that of
    /// the oldest one if there are many.
    pub(crate) fn remember(&mut self, gone: &Comm) -> Option<MPI_Errhandler> {
        self.freed.push_back((gone.context, gone.errhandler));
        if self.freed.len() <= FREED_HANDLERS_MAX {
            return None;
        }
        self.freed.pop_front().map(|(_, errhandler)| errhandler)
    }

    /// The error handler of the freed communicator of a context, lanes aside.
    pub(crate) fn handler_of_freed(&self, context: u64) -> Option<MPI_Errhandler> {
        let found = self.freed.iter().rev().find(|(freed, _)| *freed == context & !3);
        found.map(|(_, errhandler)| *errhandler)
    }

    /// Handles of the program's communicators.
    pub(crate) fn handles(&self) -> Vec<MPI_Comm> {
        self.others.iter().map(|(handle, _)| MPI_Comm(handle)).collect()
    }

    /// The handle of the communicator of a context, lanes aside.
    pub(crate) fn handle_of_context(&self, context: u64) -> Option<MPI_Comm> {
        let is = |comm: &Comm| comm.context == context & !3;
        let predefined = [MPI_COMM_WORLD, MPI_COMM_SELF].into_iter();
        predefined
            .chain(self.others.iter().map(|(handle, _)| MPI_Comm(handle)))
            .find(|&handle| self.get(handle).is_some_and(is))
    }

    /// The communicator of a context, to tell a person which one a request belongs to.
    pub(crate) fn of_context(&self, context: u64) -> Option<&Comm> {
        self.get(self.handle_of_context(context)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_on_the_line_of_a_message() {
        let mut comm = Comm::new(0, 1, Group::range(0, 2), None);
        assert_eq!(comm.described(), "a communicator (2 ranks, this is 1)");
        comm.name = "a\nb\u{1b}[2J".into();
        assert_eq!(comm.described(), "a?b?[2J (2 ranks, this is 1)");
    }

    #[test]
    fn a_block_that_is_drawn_is_apart_from_all_others() {
        for chance in [0, 1, u64::MAX] {
            let mut contexts = Contexts::drawn(chance, 4096);
            assert_eq!(contexts.first() >> 62, 1);
            assert!(Contexts::block(u32::MAX >> 12, u32::MAX, 1).first() < contexts.first());
            let last = std::iter::from_fn(|| contexts.child()).last().unwrap().0;
            assert!(last < Contexts::drawn(chance, 1).first() + (1 << 14), "blocks do not overlap");
        }
    }

    #[test]
    fn a_process_counts_no_block_twice() {
        let mut count = u32::MAX - 9_000;
        let blocks = std::iter::from_fn(|| Contexts::counted(3, &mut count, 4096));
        assert_eq!(blocks.map(|block| block.first()).collect::<Vec<_>>().len(), 2);
        assert_eq!(Contexts::counted(3, &mut count, 4096), None);
    }

    /// Also where a parent and its youngest descendants have used up the same block.
    #[test]
    fn members_go_on_with_the_same_contexts_when_a_block_is_used_up() {
        let make = || {
            let mut comms = vec![Comm::new(4, 0, Group::range(0, 2), None)];
            comms[0].children = Contexts::block(3, 7, 64);
            let mut contexts = Vec::new();
            for number in 0..2_000 {
                let parent = number * 7 % comms.len();
                let (context, children) = comms[parent].child_context();
                let mut comm = Comm::new(context, 0, Group::range(0, 2), None);
                comm.children = children;
                comms.push(comm);
                contexts.push(context);
            }
            contexts
        };
        let contexts = make();
        assert_eq!(contexts, make());
        let distinct: std::collections::HashSet<_> = contexts.iter().collect();
        assert_eq!(distinct.len(), contexts.len());
    }

    #[test]
    fn children_never_share_a_context() {
        let mut seen = std::collections::HashSet::new();
        let mut open = vec![Contexts::block(3, 7, 4096)];
        while let Some(mut contexts) = open.pop() {
            while let Some((context, own)) = contexts.child() {
                assert!(seen.insert(context) && context & 3 == 0);
                open.push(own);
            }
        }
        assert_eq!(seen.len(), 4096);
        assert_eq!(*seen.iter().min().unwrap(), 3 << 34 | 28);
        assert!(*seen.iter().max().unwrap() < 3 << 34 | (28 + 4096 * 4));
    }
}
