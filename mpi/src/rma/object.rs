//! Windows: the object behind a handle (MPI 5.0 section 12.2).

use super::control::{LockKind, WindowControl};
use super::epoch::Epoch;
use super::errand::{ErrandAction, ErrandHabit, ErrandOwner};
use crate::check::windows::WindowWatch;
use crate::comm::attribute_values::Attributes;
use crate::comm::object::shown;
use crate::core::error::{Error, Result, fail};
use crate::core::handle::HandleKind;
use crate::core::table::Table;
use crate::env::hints::Info;
use crate::limits::{FLUSHES_PER_LOOK, FLUSHES_PER_YIELD};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tern_abi::*;
use tern_engine::Group;
use tern_engine::rma::WindowId;
use tern_job::status_page::count_of_ranks;
use tern_settings::Environment;
use tern_shm::errand::Errand;
use tern_shm::{Reservation, SharedRange};
use tern_transport::Peer;

/// A window.
#[derive(Debug)]
pub(crate) struct Window {
    /// A communicator of its own, which the program does not know.
    pub comm: MPI_Comm,
    /// Set by `MPI_Win_set_name`.
    pub name: String,
    /// Its error handler.
    pub errhandler: MPI_Errhandler,
    /// Cached attributes.
    pub attributes: Attributes,
    /// Hints that the program gave.
    pub info: Info,
    /// This process's rank.
    pub me: u32,
    /// Its ranks.
    pub group: Group,
    /// How each rank's memory is reached.
    pub targets: Vec<Target>,
    /// What the ranks share beside it.
    pub controls: Arc<[WindowControl]>,
    /// All ranks can be made to pass a fence.
    pub is_fenced: bool,
    /// Bytes from which elements are combined all at once.
    pub many_from: usize,
    /// Not with the hint `no_locks`.
    pub may_be_locked: bool,
    /// An element that an instruction combines is combined so, by itself.
    pub combines_singly: bool,
    /// Puts have been made since stores were ordered last.
    pub has_stored: bool,
    /// See [`Window::order_stores`].
    pub exchanged: AtomicBool,
    /// Flushes so far.
    pub flushes: u32,
    /// Whether each rank does errands.
    pub errands: Vec<ErrandHabit>,
    /// Which accesses are allowed now.
    pub epoch: Epoch,
    /// The engine's number of the window, if ranks are reached by messages.
    pub far: Option<WindowId>,
    /// Some rank is reached by messages.
    pub has_messages: bool,
    /// Locks of ranks that are reached by messages, in an epoch of `MPI_Win_lock_all`.
    pub far_locks: BTreeMap<u32, FarLock>,
    /// The newest epoch of `MPI_Win_lock_all` of which this rank knows, in a window of several hosts.
    pub newest_epoch: u64,
    /// Where regions without bytes are attached.
    pub empty_regions: Vec<usize>,
    /// What `TERN_CHECK=windows` remembers. A window that has it also has a number of the engine's.
    pub watch: Option<Box<WindowWatch>>,
    /// What the predefined attributes point to.
    pub constants: Box<Constants>,
    /// Memory that is laid out for all ranks together (`MPI_Win_allocate_shared`); mapped as long as the window lives.
    #[expect(dead_code, reason = "held, not read")]
    pub together: Option<SharedRange>,
    /// What of the job's memory this rank gives back in the end.
    #[expect(dead_code, reason = "held, not read")]
    pub reserved: Vec<Reservation>,
}

/// The lock of a rank that is reached by messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FarLock {
    /// A thread has asked for it.
    Asked,
    /// The rank has given it.
    Held,
}

/// Values of the predefined attributes (section 12.2.6). The program gets their addresses, so they stay where they are.
#[derive(Debug)]
pub(crate) struct Constants {
    /// `MPI_WIN_BASE`.
    pub base: WindowAddress,
    /// `MPI_WIN_SIZE`.
    pub size: MPI_Aint,
    /// `MPI_WIN_DISP_UNIT`, if an int has it.
    pub disp_unit: Option<c_int>,
    /// `MPI_WIN_CREATE_FLAVOR`.
    pub flavor: c_int,
    /// `MPI_WIN_MODEL`.
    pub model: c_int,
}

impl Constants {
    /// Whether elements are combined under a lock, whatever their type: where the kernel copies, no instruction reaches them.
    pub(crate) fn locks_elements(&self) -> bool {
        matches!(self.flavor, MPI_WIN_FLAVOR_CREATE | MPI_WIN_FLAVOR_DYNAMIC)
    }
}

/// Why a unit of displacement cannot be told by an int.
#[cold]
pub(super) fn unit_too_large(unit: i64) -> Box<Error> {
    fail(
        MPI_ERR_VALUE_TOO_LARGE,
        format!(
            "the unit of displacement is {unit} bytes, which is more than an int can say: use MPI_Win_shared_query_c"
        ),
    )
}

/// An address of window memory in this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WindowAddress(pub *mut u8);

// SAFETY: an address of the process, not of a thread; who may use it, the rules of a window say.
unsafe impl Send for WindowAddress {}
// SAFETY: as above.
unsafe impl Sync for WindowAddress {}

/// How one rank's memory is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// How.
    pub route: MemoryRoute,
    /// Bytes of its memory.
    pub bytes: u64,
    /// Bytes of one unit of displacement.
    pub unit: i64,
}

impl Target {
    /// The short ways are not for it.
    pub(crate) fn watch(&mut self) {
        if let MemoryRoute::Direct(base) = self.route {
            self.route = MemoryRoute::Watched(base);
        }
    }
}

/// A way to a rank's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemoryRoute {
    /// It is mapped here.
    Direct(WindowAddress),
    /// The same, with all that `TERN_CHECK=windows` looks at: the short ways do not know it.
    Watched(WindowAddress),
    /// The kernel copies to and from this address of that process.
    Kernel {
        /// The process.
        pid: u32,
        /// The address there.
        base: u64,
    },
    /// The process executes what messages ask for.
    Message,
}

impl Window {
    /// Ranks of the window.
    pub(crate) fn size(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Whether target displacements are addresses.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.constants.flavor == MPI_WIN_FLAVOR_DYNAMIC
    }

    /// Whether elements are combined under a lock, whatever their type.
    pub(crate) fn locks_elements(&self) -> bool {
        self.constants.locks_elements()
    }

    /// Name and size, for a message to a person.
    pub(crate) fn described(&self) -> String {
        let name = shown(&self.name, "a window");
        format!("{name} ({}, this is {})", count_of_ranks(self.size()), self.me)
    }

    /// The name alone.
    pub(crate) fn named(&self) -> String {
        let name = shown(&self.name, "");
        if name.is_empty() { "the window".into() } else { format!("window {name}") }
    }

    /// The rank of a target argument; `None` for `MPI_PROC_NULL`.
    #[inline]
    pub(crate) fn target(&self, rank: c_int) -> Result<Option<u32>> {
        match u32::try_from(rank) {
            Ok(target) if target < self.size() => Ok(Some(target)),
            _ if rank == MPI_PROC_NULL => Ok(None),
            _ => Err(self.bad_rank(rank)),
        }
    }

    #[cold]
    fn bad_rank(&self, rank: c_int) -> Box<Error> {
        fail(
            MPI_ERR_RANK,
            format!(
                "the target is rank {rank}, but {} has ranks 0 to {} and MPI_PROC_NULL",
                self.named(),
                self.size() - 1
            ),
        )
    }

    /// Whether a rank is reached by messages.
    #[inline]
    pub(crate) fn is_far(&self, rank: u32) -> bool {
        self.targets[rank as usize].route == MemoryRoute::Message
    }

    /// Whether the lock of a rank is asked for by messages. That of a rank of this host is taken even where its memory is not reached.
    #[inline]
    pub(crate) fn locks_by_message(&self, rank: u32) -> bool {
        !self.controls[rank as usize].is_here()
    }

    /// The next epoch of `MPI_Win_lock_all`: how it takes each lock.
    pub(crate) fn begin_lock_all(&self) -> LockKind {
        match self.controls[self.me as usize].spans_hosts() {
            // A peer may say what it likes.
            true => LockKind::All(self.newest_epoch.saturating_add(1)),
            false => LockKind::Shared,
        }
    }

    /// This rank knows of an epoch now.
    pub(crate) fn know_epoch(&mut self, epoch: u64) {
        self.newest_epoch = self.newest_epoch.max(epoch);
    }

    /// Whether accesses to a rank are done when their calls return, and nobody watches. A window without a number of the engine's has no
    /// other ranks.
    #[inline(always)]
    pub(crate) fn is_copied(&self, rank: u32) -> bool {
        self.far.is_none() || self.watch.is_none() && !self.is_far(rank)
    }

    /// The same of all ranks.
    #[inline(always)]
    pub(crate) fn are_all_copied(&self) -> bool {
        self.far.is_none() || self.watch.is_none() && !self.has_messages
    }

    /// The process of a rank.
    pub(crate) fn peer(&self, rank: u32) -> Peer {
        self.group.peer(rank).expect("a rank of the window")
    }

    /// The pointer that `MPI_Win_get_attr` gives for a predefined attribute.
    pub(crate) fn predefined(&self, key: c_int) -> Result<Option<*mut c_void>> {
        let constants = &*self.constants;
        Ok(Some(match key {
            MPI_WIN_BASE => constants.base.0.cast(),
            MPI_WIN_SIZE => (&raw const constants.size).cast_mut().cast(),
            MPI_WIN_DISP_UNIT => match &constants.disp_unit {
                Some(unit) => (&raw const *unit).cast_mut().cast(),
                None => return Err(unit_too_large(self.targets[self.me as usize].unit)),
            },
            MPI_WIN_CREATE_FLAVOR => (&raw const constants.flavor).cast_mut().cast(),
            MPI_WIN_MODEL => (&raw const constants.model).cast_mut().cast(),
            _ => return Ok(None),
        }))
    }

    /// Lets no later load come before the stores of puts. An exchange of a word nobody else uses does that sooner than a fence.
    #[inline]
    pub(crate) fn order_stores(&mut self) {
        if std::mem::take(&mut self.has_stored) {
            self.exchanged.swap(true, Ordering::SeqCst);
        }
    }

    /// Where `bytes` at a displacement are, if everything is as it mostly is: the target's memory is mapped and has them, and an
    /// epoch is open for it. (The first access after a fence opens one, and is not usual.)
    #[inline(always)]
    pub(crate) fn usual_place(&self, rank: c_int, displacement: MPI_Aint, bytes: usize) -> Option<*mut u8> {
        // A negative rank or displacement is large without its sign, and no window is so large.
        let there = self.targets.get(rank as u32 as usize)?;
        let MemoryRoute::Direct(base) = there.route else { return None };
        let offset = (displacement as u64).checked_mul(there.unit as u64)?;
        // A dynamic window has no bytes.
        if offset > there.bytes || bytes as u64 > there.bytes - offset || !self.epoch.is_open(rank as u32) {
            return None;
        }
        Some(base.0.wrapping_add(offset as usize))
    }

    /// An access to memory that the kernel copies, as an errand, if its owner may do it: an epoch is open, and the bytes are there.
    #[inline]
    pub(crate) fn errand_for(
        &self,
        rank: c_int,
        displacement: MPI_Aint,
        len: usize,
        action: ErrandAction,
    ) -> Option<Errand> {
        let there = self.targets.get(rank as u32 as usize)?;
        let MemoryRoute::Kernel { .. } = there.route else { return None };
        let at = (displacement as u64).checked_mul(there.unit as u64)?;
        // A dynamic window has no bytes, and its memory may be gone.
        let is_inside = at <= there.bytes && len as u64 <= there.bytes - at;
        let may_ask = is_inside && self.watch.is_none() && self.epoch.is_open(rank as u32);
        if may_ask { action.errand(at, len) } else { None }
    }

    /// Whether the next flush is to look at what has arrived, which others need not do.
    #[inline(always)]
    pub(crate) fn looks_next(&self, is_oversubscribed: bool) -> bool {
        const { assert!(FLUSHES_PER_LOOK.is_power_of_two() && FLUSHES_PER_YIELD.is_power_of_two()) };
        let flushes = if is_oversubscribed { FLUSHES_PER_YIELD } else { FLUSHES_PER_LOOK };
        self.flushes.wrapping_add(1) & (flushes - 1) == 0
    }

    /// Counts a flush.
    #[inline(always)]
    pub(crate) fn count_flush(&mut self) {
        self.flushes = self.flushes.wrapping_add(1);
    }
}

/// All windows.
pub(crate) struct Windows {
    /// By handle.
    pub all: Table<Box<Window>>,
    /// `TERN_WINDOWS=messages`.
    pub by_messages: bool,
    /// `TERN_CMA`: the kernel may copy between processes.
    pub by_kernel: bool,
    /// Windows that others reach by messages: they are served while the program computes.
    pub served: u32,
    /// Windows in which this rank does errands while it waits.
    pub errands: Vec<(MPI_Win, ErrandOwner)>,
}

impl Windows {
    /// None.
    pub(crate) const fn new() -> Self {
        Windows {
            all: Table::new(HandleKind::Win),
            by_messages: false,
            by_kernel: true,
            served: 0,
            errands: Vec::new(),
        }
    }

    /// As the settings want them.
    pub(crate) fn settle(&mut self, environment: &Environment) {
        self.by_messages = environment.windows_by_messages;
        self.by_kernel = environment.transport.cma;
    }

    /// Whether somebody has asked this rank in vain since the last look.
    pub(crate) fn take_wanted(&self) -> bool {
        self.errands.iter().fold(false, |any, (_, owner)| any | owner.take_wanted())
    }

    /// Does what others ask for; whether anybody did.
    #[inline]
    pub(crate) fn serve_errands(&self) -> bool {
        self.errands.iter().fold(false, |any, (_, owner)| any | owner.serve())
    }
}
