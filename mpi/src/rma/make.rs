//! Making and freeing windows (MPI 5.0 sections 12.2.1 to 12.2.5).

use super::control::{STAGE_BYTES, WindowControl};
use super::epoch::Epoch;
use super::errand::{ErrandHabit, ErrandOwner};
use super::exposure::Exposure;
use super::far::{self, Done};
use super::introduction::{WindowIntroduction, claims, expect_alike};
use super::object::{Constants, MemoryRoute, Target, Window, WindowAddress, unit_too_large};
use super::{query, tables};
use crate::check::windows::WindowWatch;
use crate::coll::{barrier_on, met_if_checked, records_of_all, shm_comm};
use crate::comm::agree::{Participants, number, record};
use crate::comm::attribute_values::Attributes;
use crate::comm::attributes;
use crate::comm::make::child_context;
use crate::comm::object::Comm;
use crate::core::boundary::{ChoiceBufMut, Handed, Out, OutPointer};
use crate::core::entry::{IntoWide, entry};
use crate::core::error::{Error, ErrorObject, Result, fail};
use crate::core::process::{Process, enter};
use crate::core::progress;
use crate::core::wait::{self, Waiting};
use crate::env::hints::Info;
use crate::env::inquiry::alignment;
use crate::limits::MANY_BYTES_MIN;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tern_abi::*;
use tern_engine::Group;
use tern_engine::rma::{WindowId, WindowNumbers};
use tern_mem::ExposedMemory;
use tern_shm::{self as shm, JobMemory, Reservation, SharedRange};
use tern_transport::WindowMemory;

/// Memory of a window begins at a multiple of this, behind the words that the ranks share.
const MEMORY_ALIGN: usize = 4096;

/// Ranges that are so far apart in all are still mapped at once.
const SPAN_SLACK_BYTES: u64 = 1 << 20;

entry! {
    /// A window on memory that the program has.
    safe fn MPI_Win_create, MPI_Win_create_c<W>(
        base: ChoiceBufMut, size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm,
        win: Result<Handed<'_, MPI_Win>>,
    ) on comm {
        let arguments = arguments(win, size, disp_unit.wide(), info).and_then(|arguments| {
            if base.bytes().is_null() && size > 0 {
                return Err(fail(MPI_ERR_BASE, format!("base is null, but the window has {size} bytes")));
            }
            Ok(arguments)
        });
        let memory = MemoryOrigin::OfProgram(WindowAddress(base.bytes()));
        let (win, made, _) = make_with("MPI_Win_create", comm, MPI_WIN_FLAVOR_CREATE, arguments, |_| memory)?;
        win.set(made);
        Ok(())
    }

    /// A window on new memory, which all ranks of the node reach at once.
    safe fn MPI_Win_allocate, MPI_Win_allocate_c<W>(
        size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm, baseptr: Result<OutPointer<'_>>,
        win: Result<Handed<'_, MPI_Win>>,
    ) on comm {
        let arguments = arguments(win, size, disp_unit.wide(), info);
        let arguments = arguments.and_then(|(win, wanted)| Ok(((win, baseptr?), wanted)));
        let ((win, baseptr), made, base) =
            make_with("MPI_Win_allocate", comm, MPI_WIN_FLAVOR_ALLOCATE, arguments, |_| MemoryOrigin::OfEach)?;
        win.set(made);
        baseptr.set(base);
        Ok(())
    }

    /// Memory for all ranks of one host, and a window of it: each rank loads and stores what others have.
    safe fn MPI_Win_allocate_shared, MPI_Win_allocate_shared_c<W>(
        size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm, baseptr: Result<OutPointer<'_>>,
        win: Result<Handed<'_, MPI_Win>>,
    ) on comm {
        let arguments = arguments(win, size, disp_unit.wide(), info);
        let arguments = arguments.and_then(|(win, wanted)| Ok(((win, baseptr?), wanted)));
        let memory = |info: &Info| match info.get("alloc_shared_noncontig") {
            Some("true") => MemoryOrigin::OfEach,
            _ => MemoryOrigin::Together,
        };
        let ((win, baseptr), made, base) =
            make_with("MPI_Win_allocate_shared", comm, MPI_WIN_FLAVOR_SHARED, arguments, memory)?;
        win.set(made);
        baseptr.set(base);
        Ok(())
    }

    /// A window without memory; `MPI_Win_attach` adds some.
    safe fn MPI_Win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: Result<Handed<'_, MPI_Win>>) on comm {
        let (memory, arguments) = (MemoryOrigin::OfProgram(WindowAddress(null_mut())), arguments(win, 0, 1, info));
        let (win, made, _) = make_with("MPI_Win_create_dynamic", comm, MPI_WIN_FLAVOR_DYNAMIC, arguments, |_| memory)?;
        win.set(made);
        Ok(())
    }

    /// Where another rank's memory lies in this process.
    safe fn MPI_Win_shared_query, MPI_Win_shared_query_c<W>(
        win: MPI_Win, rank: c_int, size: Out<'_, MPI_Aint>, disp_unit: Out<'_, W::Displ>, baseptr: OutPointer<'_>,
    ) on win {
        let process = enter();
        let window = process.window(win)?;
        if window.is_dynamic() {
            return Err(fail(
                MPI_ERR_RMA_FLAVOR,
                format!("{} was made by MPI_Win_create_dynamic, and has no memory to ask for", window.named()),
            ));
        }
        // Without a rank: that of the first one that has some.
        let (first, rank) = (window.targets.iter().position(|target| target.bytes > 0), window.target(rank)?);
        let target = rank.map(|rank| window.targets[rank as usize]).or_else(|| Some(window.targets[first?]));
        let (bytes, unit, base) = match target {
            Some(Target { route: MemoryRoute::Direct(base) | MemoryRoute::Watched(base), bytes, unit }) if bytes > 0 => {
                (bytes, unit, base.0)
            }
            Some(Target { bytes: 0, unit, .. }) => (0, unit, null_mut()),
            _ => (0, 1, null_mut()),
        };
        // The call that made the window may have been the one with the larger type.
        let given = W::Displ::try_from(unit).map_err(|_| unit_too_large(unit))?;
        size.set(bytes as MPI_Aint);
        disp_unit.set(given);
        baseptr.set(base);
        Ok(())
    }

    /// Frees a window, when all ranks have called.
    safe fn MPI_Win_free(win: &mut MPI_Win) on (named(win)) {
        let comm = {
            let process = enter();
            let window = process.window(*win)?;
            window.epoch.may_end()?;
            window.comm
        };
        attributes::delete_window(*win)?;
        // What went wrong is told when nobody waits for this rank any more, and the window is gone.
        let completed = far::complete_all(*win, "MPI_Win_free", Done::There);
        barrier_on("MPI_Win_free", comm)?;
        let watch = enter().window_mut(*win)?.watch.take();
        for win in watch.map(|watch| watch.tables).into_iter().chain([*win]) {
            wait_until_unreached(win);
            free(win);
        }
        *win = MPI_WIN_NULL;
        completed
    }
}

/// What a rank wants of a window.
struct WantedWindow {
    bytes: u64,
    unit: i64,
    info: Info,
    align: usize,
    granularity: usize,
    /// `TERN_CHECK=windows`
    is_watched: bool,
    /// Why this rank's call was refused: it takes part, so that the others do not wait for it.
    refusal: Option<Box<Error>>,
}

impl WantedWindow {
    /// Without memory.
    fn empty(is_watched: bool) -> WantedWindow {
        WantedWindow {
            bytes: 0,
            unit: 1,
            info: Info::default(),
            align: MEMORY_ALIGN,
            granularity: 0,
            is_watched,
            refusal: None,
        }
    }
}

/// Where its memory comes from.
enum MemoryOrigin {
    /// The program has it; or there is none, in a dynamic window.
    OfProgram(WindowAddress),
    /// From the job's file, of each rank by itself.
    OfEach,
    /// From there, of all ranks one behind the other.
    Together,
}

impl MemoryOrigin {
    /// For the other ranks.
    fn number(&self) -> u64 {
        match self {
            MemoryOrigin::OfProgram(_) => 0,
            MemoryOrigin::OfEach => 1,
            MemoryOrigin::Together => 2,
        }
    }
}

fn arguments(
    win: Result<Handed<'_, MPI_Win>>,
    size: MPI_Aint,
    unit: i64,
    info: MPI_Info,
) -> Result<(Handed<'_, MPI_Win>, WantedWindow)> {
    let win = win?;
    let bytes = size_of_window(size)?;
    if unit <= 0 {
        return Err(fail(MPI_ERR_DISP, format!("disp_unit is {unit}, but must be positive")));
    }
    let mut process = enter();
    let (info, is_watched) = (process.hints(info)?, process.checks.windows);
    let align = alignment(&info)?.max(MEMORY_ALIGN);
    let granularity = query::granularity(&info)?;
    Ok((win, WantedWindow { bytes, unit, info, align, granularity, is_watched, refusal: None }))
}

pub(super) fn size_of_window(size: MPI_Aint) -> Result<u64> {
    let most = isize::MAX - 2 * MEMORY_ALIGN as isize;
    if size < 0 || size > most {
        return Err(fail(MPI_ERR_SIZE, format!("size is {size}, but must be 0 to {most}")));
    }
    Ok(size as u64)
}

/// Makes a window of a call's arguments, or of what is wrong with them; all ranks call. What the caller has kept of its arguments, the
/// window's handle, and where this rank's memory is.
fn make_with<T>(
    call: &'static str,
    comm: MPI_Comm,
    flavor: c_int,
    arguments: Result<(T, WantedWindow)>,
    memory: impl FnOnce(&Info) -> MemoryOrigin,
) -> Result<(T, MPI_Win, *mut u8)> {
    let (kept, wanted) = match met_if_checked(call, comm, arguments)? {
        Ok((kept, wanted)) => (Some(kept), wanted),
        Err(error) => {
            let is_watched = enter().checks.windows;
            (None, WantedWindow { refusal: Some(error), ..WantedWindow::empty(is_watched) })
        }
    };
    let memory = memory(&wanted.info);
    let (win, base) = make(call, comm, flavor, wanted, memory)?;
    Ok((kept.expect("a rank that was refused makes no window"), win, base))
}

/// Makes a window; all ranks call. Its handle, and where this rank's memory is.
fn make(
    call: &'static str,
    comm: MPI_Comm,
    flavor: c_int,
    wanted: WantedWindow,
    memory: MemoryOrigin,
) -> Result<(MPI_Win, *mut u8)> {
    let is_watched = wanted.is_watched;
    let own = own_comm(comm)?;
    let made = make_on(call, (comm, own), flavor, wanted, &memory);
    match &made {
        Ok((win, _)) if is_watched => watch(call, comm, *win)?,
        Ok(_) => {}
        Err(_) => remove_own_comm(&mut enter(), own),
    }
    made
}

fn remove_own_comm(process: &mut Process, own: MPI_Comm) {
    if let Some(comm) = process.remove_own_comm(own) {
        process.leave_shm_comm(comm.shm_comm);
    }
}

/// Makes the tables of a window that is watched.
fn watch(call: &'static str, comm: MPI_Comm, win: MPI_Win) -> Result {
    let wanted = WantedWindow { bytes: tables::BYTES, ..WantedWindow::empty(false) };
    let made = make(call, comm, MPI_WIN_FLAVOR_ALLOCATE, wanted, MemoryOrigin::OfEach);
    let (tables, _) = made.inspect_err(|_| free(win))?;
    enter().window_mut(win)?.watch = Some(Box::new(WindowWatch::new(tables)));
    Ok(())
}

/// A communicator for the window alone.
fn own_comm(comm: MPI_Comm) -> Result<MPI_Comm> {
    if enter().comm(comm)?.remote.is_some() {
        return Err(fail(MPI_ERR_COMM, "this is an intercommunicator; a window needs an intracommunicator"));
    }
    let (context, children) = child_context(comm)?;
    let mut process = enter();
    let this = process.comm(comm)?;
    let mut own = Comm::new(context, this.rank, this.group.clone(), None);
    own.children = children;
    own.name = format!("the communicator of a window on {}", this.name);
    let handle = process.objects.comms.insert(own);
    let handle = handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 communicators exist: free some"))?;
    process.objects.sessions.inherit(comm.0, handle.0);
    Ok(handle)
}

fn make_on(
    call: &'static str,
    (comm, own): (MPI_Comm, MPI_Comm),
    flavor: c_int,
    wanted: WantedWindow,
    memory: &MemoryOrigin,
) -> Result<(MPI_Win, *mut u8)> {
    let mut process = enter();
    let (participants, group) = {
        let own = process.comm(own)?;
        (Participants::local(call, own), own.group.clone())
    };
    let reach = WindowReach::of(&process, (flavor, wanted.is_watched), &group);
    let number = match reach.needs_messages {
        true => Some(process.engine()?.announce_window(group.clone())),
        false => None,
    };
    drop(process);
    let announced = Announced(number);
    let made = make_in((&participants, group, (comm, own)), flavor, wanted, memory, (&reach, number))?;
    std::mem::forget(announced);
    Ok(made)
}

/// A window that the engine knows, until it has been made.
struct Announced(Option<WindowId>);

impl Drop for Announced {
    fn drop(&mut self) {
        if let (Some(number), Ok(engine)) = (self.0, enter().engine()) {
            engine.withdraw(number);
        }
    }
}

/// How ranks of a window can be reached, as far as all know it before they tell each other.
struct WindowReach {
    /// What stands for this rank's host: of ranks with the same number, memory is shared.
    host: u64,
    /// Some rank may be reached by messages.
    needs_messages: bool,
    /// The kernel may copy.
    by_kernel: bool,
}

impl WindowReach {
    fn of(process: &Process, (flavor, is_watched): (c_int, bool), group: &Group) -> WindowReach {
        let (apart, by_kernel) = (
            process.objects.windows.by_messages && flavor != MPI_WIN_FLAVOR_SHARED,
            process.objects.windows.by_kernel,
        );
        let (host, own) = (process.host_among(group.members()), process.host());
        let is_far = |peer| process.is_foreign(peer) || process.host_of(peer) != own;
        let spans = group.size() > 1 && (apart || group.members().any(is_far));
        let of_program = matches!(flavor, MPI_WIN_FLAVOR_CREATE | MPI_WIN_FLAVOR_DYNAMIC) && group.size() > 1;
        // Processes of several worlds have the same rank each in its own one.
        let me = group.rank_of(process.own_peer()).unwrap_or_default();
        let host = if apart { u64::from(me) << 32 | 1 << 63 } else { host.into() };
        let needs_messages = (spans && flavor != MPI_WIN_FLAVOR_SHARED) || of_program || is_watched;
        WindowReach { host, needs_messages, by_kernel }
    }

    /// Whether the kernel copies from and to the ranks of this host: asked of the first other one.
    fn tries_kernel(&self, all: &[WindowIntroduction], me: u32, memory: &MemoryOrigin) -> bool {
        let near =
            |(rank, told): &(usize, &WindowIntroduction)| *rank != me as usize && told.host == self.host;
        let first = all.iter().enumerate().find(near);
        let MemoryOrigin::OfProgram(_) = memory else { return true };
        first.is_none_or(|(_, told)| self.by_kernel && shm::probe(told.pid as u32, told.probe))
    }
}

/// Tells the others what this rank brings; what all have brought.
fn introduce(
    call: &'static str,
    (comm, own): (MPI_Comm, MPI_Comm),
    mine: WindowIntroduction,
) -> Result<Vec<WindowIntroduction>> {
    let told = records_of_all(call, comm, &mine.record())?;
    let all: Vec<_> = told.chunks_exact(WindowIntroduction::BYTES).map(WindowIntroduction::from).collect();
    shm_comm::join(own, all[0].slot)?;
    Ok(all)
}

/// What the others learn of a rank that cannot take part: the class of its error.
fn fault(wanted: &WantedWindow, without_memory: bool) -> u64 {
    let class = match &wanted.refusal {
        Some(error) => error.class(),
        None if without_memory => MPI_ERR_NO_MEM,
        None => MPI_SUCCESS,
    };
    class as u64
}

fn make_in(
    (participants, group, (comm, own)): (&Participants, Group, (MPI_Comm, MPI_Comm)),
    flavor: c_int,
    wanted: WantedWindow,
    memory: &MemoryOrigin,
    (reach, number): (&WindowReach, Option<WindowId>),
) -> Result<(MPI_Win, *mut u8)> {
    let mut process = enter();
    let (me, size) = (participants.rank, group.size());
    let fabric = process.engine()?.transport();
    let (file, is_fenced) = (fabric.memory(), fabric.is_fenced());
    let slot = shm_comm::offer(&mut process, own)?;
    drop(process);
    let align = wanted.align;
    let own_bytes = range_bytes(size, (align as u64, wanted.bytes), (memory, flavor));
    let reserved_here = file.and_then(|file| Ok((file.reserve(own_bytes)?, file)));
    let base = if let MemoryOrigin::OfProgram(base) = memory { base.0.expose_provenance() as u64 } else { 0 };
    if reach.by_kernel && matches!(memory, MemoryOrigin::OfProgram(_)) {
        shm::allow_peers();
    }
    let mine = WindowIntroduction {
        fault: fault(&wanted, reserved_here.is_err()),
        host: reach.host,
        bytes: wanted.bytes,
        unit: wanted.unit as u64,
        place: reserved_here.as_ref().map_or(0, |(own, _)| own.place()),
        base,
        pid: std::process::id().into(),
        fenced: is_fenced.into(),
        number: number.map_or(0, |number| number.raw().into()),
        probe: shm::probe_addr(),
        align: align as u64,
        kind: flavor as u64 | memory.number() << 16,
        claims: claims(&wanted.info),
        slot,
    };
    let all = introduce(participants.call, (comm, own), mine)?;
    if let Some(refusal) = wanted.refusal {
        return Err(refusal);
    }
    let (reservation, file) = reserved_here.map_err(|error| no_memory(wanted.bytes, &error))?;
    expect_alike(&all, flavor)?;
    let mut reserved = vec![reservation];
    let together = match memory {
        MemoryOrigin::Together => Some(map_together(participants, &file, &all, &mut reserved)?),
        _ => None,
    };
    let controls: Arc<[WindowControl]> = map_controls(&file, &all, (memory, flavor), reach.host)?.into();
    let by_kernel = reach.tries_kernel(&all, me, memory);
    let behind = |rank: usize, bytes| controls[rank].memory(words_of(size, all[rank].align, flavor), bytes);
    let mut targets = targets(&all, (me, reach.host, by_kernel), memory, together.as_ref(), behind);
    let base = match targets[me as usize].route {
        MemoryRoute::Direct(base) => base,
        _ => unreachable!("a rank's own memory is mapped"),
    };
    if wanted.is_watched {
        targets.iter_mut().for_each(Target::watch);
    }
    let has_messages = targets.iter().any(|target| target.route == MemoryRoute::Message);
    let constants = Box::new(Constants {
        base,
        size: wanted.bytes as MPI_Aint,
        disp_unit: c_int::try_from(wanted.unit).ok(),
        flavor,
        model: MPI_WIN_UNIFIED,
    });
    let near: Vec<&WindowIntroduction> = all.iter().filter(|told| told.host == reach.host).collect();
    let many_from = if wanted.granularity > 0 { wanted.granularity } else { MANY_BYTES_MIN };
    let window = Window {
        comm: own,
        name: String::new(),
        errhandler: MPI_ERRORS_ARE_FATAL,
        attributes: Attributes::default(),
        may_be_locked: wanted.info.get("no_locks") != Some("true"),
        info: wanted.info,
        me,
        group,
        targets,
        controls,
        is_fenced: near.len() == 1 || near.iter().all(|told| told.fenced != 0),
        many_from,
        combines_singly: !constants.locks_elements() && many_from > size_of::<u64>(),
        has_stored: false,
        exchanged: AtomicBool::new(false),
        flushes: 0,
        errands: vec![ErrandHabit::default(); size as usize],
        epoch: Epoch::new(size),
        far: number,
        has_messages,
        far_locks: BTreeMap::new(),
        newest_epoch: 0,
        empty_regions: Vec::new(),
        watch: None,
        constants,
        together,
        reserved,
    };
    let handle = install(window, (participants.call, comm), (wanted.bytes, &all))?;
    Ok((handle, base.0))
}

/// Tells the others how this rank's memory, of so many bytes, is reached over the network, and makes a handle of the window.
fn install(
    window: Window,
    (call, comm): (&'static str, MPI_Comm),
    (bytes, all): (u64, &[WindowIntroduction]),
) -> Result<MPI_Win> {
    let shared = expose(&window, bytes, all)?;
    if let Some(number) = window.far {
        // Nobody may ask for something before all can answer: whoever has heard of all others knows that they can.
        let told = records_of_all(call, comm, &shared_record(shared))?;
        let memories = told.chunks_exact(SHARED_RECORD_BYTES).map(shared_from).collect();
        enter().engine()?.know_memories(number, memories);
    }
    let is_served = window.has_messages;
    let owner = errand_owner(&window, bytes);
    let mut process = enter();
    let handle = process.objects.windows.all.insert(Box::new(window)).map(MPI_Win);
    let handle = handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 windows exist: free some"))?;
    if let Some(owner) = owner {
        process.objects.windows.errands.push((handle, owner));
        process.waiting.looks_aside = true;
    }
    drop(process);
    if is_served {
        enter().objects.windows.served += 1;
        progress::ensure();
    }
    Ok(handle)
}

/// What this rank needs to do errands for others whom the kernel copies from and to its memory.
fn errand_owner(window: &Window, bytes: u64) -> Option<ErrandOwner> {
    let by_kernel = |target: &Target| matches!(target.route, MemoryRoute::Kernel { .. });
    if window.is_dynamic() || !window.targets.iter().any(by_kernel) {
        return None;
    }
    // SAFETY: the memory of the window, which the program keeps until it has freed the window.
    let memory = unsafe { ExposedMemory::new(window.constants.base.0, bytes as usize) };
    Some(ErrandOwner { controls: window.controls.clone(), me: window.me, memory })
}

const SHARED_RECORD_BYTES: usize = 3 * 8;

/// What a rank tells of memory that others read and write without it.
fn shared_record(memory: Option<WindowMemory>) -> Vec<u8> {
    record(&memory.map_or([0; 3], |memory| [1, memory.start, memory.key]))
}

fn shared_from(record: &[u8]) -> Option<WindowMemory> {
    (number(record, 0) != 0).then(|| WindowMemory { start: number(record, 8), key: number(record, 16) })
}

/// Lets the engine answer for this rank's part of a window, and the network read and write it, if it can.
fn expose(window: &Window, bytes: u64, all: &[WindowIntroduction]) -> Result<Option<WindowMemory>> {
    let Some(number) = window.far else { return Ok(None) };
    // SAFETY: the memory of the window, which the program keeps until it has freed the window; and that waits until no message uses it.
    let memory = unsafe { ExposedMemory::new(window.constants.base.0, bytes as usize) };
    let exposure = Exposure {
        controls: window.controls.clone(),
        group: window.group.clone(),
        me: window.me,
        is_fenced: window.is_fenced,
        by_lock: window.locks_elements(),
        many_from: window.many_from,
        memory: (!window.is_dynamic()).then_some(memory),
    };
    let numbers = WindowNumbers::of(all.iter().map(|told| told.number as u32).collect());
    let memory = exposure
        .memory
        .as_ref()
        .filter(|_| window.has_messages)
        .and_then(|memory| memory.contiguous(0, bytes));
    let mut process = enter();
    let engine = process.engine()?;
    engine.expose(number, numbers, Box::new(exposure));
    Ok(memory.and_then(|memory| engine.share_memory(number, &memory)))
}

/// How each rank's memory is reached; `behind` is where memory behind a rank's words is.
fn targets(
    all: &[WindowIntroduction],
    (me, host, by_kernel): (u32, u64, bool),
    memory: &MemoryOrigin,
    together: Option<&SharedRange>,
    behind: impl Fn(usize, usize) -> *mut u8,
) -> Vec<Target> {
    let mut before = 0;
    let target = |(rank, told): (usize, &WindowIntroduction)| {
        let bytes = told.bytes as usize;
        let route = match (memory, together) {
            _ if told.host != host => MemoryRoute::Message,
            (MemoryOrigin::OfEach, _) => MemoryRoute::Direct(WindowAddress(behind(rank, bytes))),
            (_, Some(range)) => MemoryRoute::Direct(WindowAddress(range.at(before, bytes))),
            _ if rank == me as usize => {
                MemoryRoute::Direct(WindowAddress(std::ptr::with_exposed_provenance_mut(told.base as usize)))
            }
            _ if !by_kernel => MemoryRoute::Message,
            _ => MemoryRoute::Kernel { pid: told.pid as u32, base: told.base },
        };
        before += bytes;
        Target { route, bytes: told.bytes, unit: told.unit as i64 }
    };
    all.iter().enumerate().map(target).collect()
}

/// Bytes of a rank's words, with what lies between them and its memory.
fn words_of(size: u32, align: u64, flavor: c_int) -> usize {
    WindowControl::bytes(size, flavor == MPI_WIN_FLAVOR_DYNAMIC).next_multiple_of(align as usize)
}

/// Bytes of a rank's range: its words, and what lies behind them. That is its memory, or a stage where the kernel may copy that.
fn range_bytes(size: u32, (align, bytes): (u64, u64), (memory, flavor): (&MemoryOrigin, c_int)) -> usize {
    let words = words_of(size, align, flavor);
    match memory {
        MemoryOrigin::OfEach => words + bytes as usize,
        MemoryOrigin::OfProgram(_) if has_stage(flavor) => stage_at(words) + STAGE_BYTES,
        _ => words,
    }
}

/// Whether ranks of a window of this kind move bytes of their memory by a stage: memory of a dynamic window may be gone.
fn has_stage(flavor: c_int) -> bool {
    flavor == MPI_WIN_FLAVOR_CREATE
}

/// Where a stage begins behind so many bytes of words.
fn stage_at(words: usize) -> usize {
    words.next_multiple_of(MEMORY_ALIGN)
}

/// The words of each rank of this host, and its memory if that lies behind them.
fn map_controls(
    file: &JobMemory,
    all: &[WindowIntroduction],
    (memory, flavor): (&MemoryOrigin, c_int),
    host: u64,
) -> Result<Vec<WindowControl>> {
    let size = all.len() as u32;
    let bytes_of = |told: &WindowIntroduction| range_bytes(size, (told.align, told.bytes), (memory, flavor));
    let near = || all.iter().filter(|told| told.host == host);
    let spans_hosts = near().count() < all.len();
    let span = span_of(near().map(|told| (told.place, bytes_of(told) as u64, told.align)));
    let refused = |error: io::Error| no_memory(near().map(|told| told.bytes).sum(), &error);
    let whole = match span {
        Some((place, bytes)) => Some((Arc::new(file.map(place, bytes as usize).map_err(refused)?), place)),
        None => None,
    };
    let map = |told: &WindowIntroduction| {
        if told.host != host {
            return Ok(WindowControl::elsewhere(size));
        }
        let range = match &whole {
            Some((whole, first)) => whole.part((told.place - first) as usize, bytes_of(told)),
            None => file
                .map_aligned(told.place, bytes_of(told), told.align as usize)
                .map_err(|error| no_memory(told.bytes, &error))?,
        };
        let control = WindowControl::new(range, size, flavor == MPI_WIN_FLAVOR_DYNAMIC);
        let control = if spans_hosts { control.spanning() } else { control };
        Ok(match has_stage(flavor) {
            true => control.with_stage(stage_at(words_of(size, told.align, flavor))),
            false => control,
        })
    };
    all.iter().map(map).collect()
}

/// Place and bytes of what holds all ranges (place, bytes, alignment) of the job's file, if they can be mapped at once: ranks that make a
/// window together have mostly reserved ranges that follow each other.
fn span_of(ranges: impl Iterator<Item = (u64, u64, u64)>) -> Option<(u64, u64)> {
    let (mut first, mut end, mut sum, mut count) = (u64::MAX, 0, 0, 0);
    for (place, bytes, align) in ranges {
        // Addresses in one mapping are multiples of a page, and no more is known of them.
        if align > MEMORY_ALIGN as u64 {
            return None;
        }
        (first, end) = (first.min(place), end.max(place + bytes));
        (sum, count) = (sum + bytes, count + 1);
    }
    // Windows that others have made meanwhile lie between. They are mapped, too, as long as that does not take much more of the
    // address space.
    (count > 1 && end - first <= 2 * sum + SPAN_SLACK_BYTES).then(|| (first, end - first))
}

/// The first rank takes a range for all.
fn map_together(
    participants: &Participants,
    file: &Arc<JobMemory>,
    all: &[WindowIntroduction],
    reserved: &mut Vec<Reservation>,
) -> Result<SharedRange> {
    let sum = all.iter().try_fold(0u64, |sum, told| sum.checked_add(told.bytes));
    let bytes = usize::try_from(sum.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let mine = (participants.rank == 0).then(|| file.reserve(bytes));
    let place = match &mine {
        Some(Ok(own)) => own.place(),
        _ => u64::MAX,
    };
    let told = participants.bcast(0, (participants.rank == 0).then_some(&record(&[place])))?;
    if let Some(own) = mine {
        reserved.push(own.map_err(|error| no_memory(bytes as u64, &error))?);
    }
    match number(&told, 0) {
        u64::MAX => Err(fail(MPI_ERR_NO_MEM, format!("rank 0 cannot get {bytes} bytes for all ranks"))),
        place => file
            .map_aligned(place, bytes, all[0].align as usize)
            .map_err(|error| no_memory(bytes as u64, &error)),
    }
}

fn no_memory(bytes: u64, error: &io::Error) -> Box<Error> {
    fail(MPI_ERR_NO_MEM, format!("there are no {bytes} bytes of memory to share: {error}"))
}

/// The window that a call was to free, whose error handler decides.
///
/// # Safety
/// What `win` points to, unless it is null, can be read.
unsafe fn named(win: *mut MPI_Win) -> ErrorObject {
    // SAFETY: the caller's promise.
    unsafe { win.as_ref() }.map_or(ErrorObject::None, |win| ErrorObject::Win(*win))
}

/// Waits until no message uses this rank's part of a window. All accesses of sound ranks have ended.
fn wait_until_unreached(win: MPI_Win) {
    let process = enter();
    let Ok(Some(far)) = process.window(win).map(|window| window.far) else { return };
    wait::until(
        process,
        |_| Waiting { detail: "for messages to this rank's memory".into(), ..Waiting::on("MPI_Win_free") },
        |process| (!process.engine_mut()?.is_reached(far)).then_some(()),
    );
}

/// Nobody uses the window any more.
fn free(win: MPI_Win) {
    let mut process = enter();
    let Some(window) = process.objects.windows.all.remove(win.0) else { return };
    process.objects.windows.errands.retain(|(other, _)| *other != win);
    process.waiting.looks_aside = process.checks.threads || !process.objects.windows.errands.is_empty();
    process.objects.windows.served -= u32::from(window.has_messages);
    if let (Some(far), Some(engine)) = (window.far, process.engine_mut()) {
        engine.withdraw(far);
    }
    process.objects.errhandlers.release(window.errhandler);
    remove_own_comm(&mut process, window.comm);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_lie_together_are_mapped_at_once() {
        let (page, large) = (MEMORY_ALIGN as u64, 1 << 21);
        assert_eq!(
            span_of([(8 * page, 100, page), (4 * page, page, page)].into_iter()),
            Some((4 * page, 4 * page + 100))
        );
        assert_eq!(span_of([(8 * page, page, page)].into_iter()), None, "one by itself");
        assert_eq!(span_of([(0, page, page), (1 << 30, page, page)].into_iter()), None, "far apart");
        assert_eq!(
            span_of([(0, page, page), (large, page, large)].into_iter()),
            None,
            "of another alignment"
        );
    }
}
