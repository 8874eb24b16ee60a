//! Making and freeing windows (MPI 5.0 sections 12.2.1 to 12.2.5).

use super::control::{Control, REGIONS_MAX};
use super::epoch::Epoch;
use super::object::{Address, Constants, Target, Way, Window};
use crate::coll::{barrier_on, met};
use crate::comm::agree::{Circle, number, record};
use crate::comm::attributes::{self, Attributes};
use crate::comm::make::child_context;
use crate::comm::object::Comm;
use crate::core::arguments::{out, out_handle};
use crate::core::entry::{IntoWide, entry};
use crate::core::error::{Error, Place, Result, fail};
use crate::core::process::enter;
use crate::env::info::Info;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tern_abi::*;
use tern_transport::{JobMemory, SharedRange};

/// Memory of a window begins at a multiple of this, behind the words that the ranks share.
const MEMORY_ALIGN: usize = 4096;

entry! {
    /// A window on memory that the program has.
    fn MPI_Win_create, MPI_Win_create_c<W>(
        base: *mut c_void, size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm,
        win: *mut MPI_Win,
    ) on comm {
        let arguments = arguments(win, size, disp_unit.wide(), info).and_then(|arguments| {
            if base.is_null() && size > 0 {
                return Err(fail(MPI_ERR_BASE, format!("base is null, but the window has {size} bytes")));
            }
            Ok(arguments)
        });
        let (win, mine) = met("MPI_Win_create", comm, arguments)?;
        let memory = Memory::OfProgram(Address(base.cast()));
        *win = make("MPI_Win_create", comm, MPI_WIN_FLAVOR_CREATE, mine, memory)?.0;
        Ok(())
    }

    /// A window on new memory, which all ranks of the machine reach at once.
    fn MPI_Win_allocate, MPI_Win_allocate_c<W>(
        size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
        win: *mut MPI_Win,
    ) on comm {
        let arguments = arguments(win, size, disp_unit.wide(), info);
        let arguments = arguments.and_then(|arguments| Ok((arguments, out("baseptr", baseptr)?)));
        let ((win, mine), baseptr) = met("MPI_Win_allocate", comm, arguments)?;
        let (made, base) = make("MPI_Win_allocate", comm, MPI_WIN_FLAVOR_ALLOCATE, mine, Memory::OfEach)?;
        (*win, *baseptr.cast::<*mut u8>()) = (made, base);
        Ok(())
    }

    /// The same, for loads and stores by all ranks.
    fn MPI_Win_allocate_shared, MPI_Win_allocate_shared_c<W>(
        size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
        win: *mut MPI_Win,
    ) on comm {
        let arguments = arguments(win, size, disp_unit.wide(), info);
        let arguments = arguments.and_then(|arguments| Ok((arguments, out("baseptr", baseptr)?)));
        let ((win, mine), baseptr) = met("MPI_Win_allocate_shared", comm, arguments)?;
        let apart = mine.info.get("alloc_shared_noncontig") == Some("true");
        let memory = if apart { Memory::OfEach } else { Memory::Together };
        let (made, base) = make("MPI_Win_allocate_shared", comm, MPI_WIN_FLAVOR_SHARED, mine, memory)?;
        (*win, *baseptr.cast::<*mut u8>()) = (made, base);
        Ok(())
    }

    /// A window without memory; [`MPI_Win_attach`] adds some.
    fn MPI_Win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) on comm {
        let (win, mine) = met("MPI_Win_create_dynamic", comm, arguments(win, 0, 1, info))?;
        let memory = Memory::OfProgram(Address(null_mut()));
        *win = make("MPI_Win_create_dynamic", comm, MPI_WIN_FLAVOR_DYNAMIC, mine, memory)?.0;
        Ok(())
    }

    /// Attaches memory to a dynamic window.
    fn MPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) on win {
        let bytes = size_of_window(size)?;
        let process = enter();
        let window = process.window(win)?;
        expect_dynamic(window)?;
        if bytes > 0 && !window.controls[window.me as usize].attach(base.addr() as u64, bytes) {
            return Err(fail(
                MPI_ERR_RMA_ATTACH,
                format!("{REGIONS_MAX} regions are attached to {}, which are all: detach some", window.named()),
            ));
        }
        Ok(())
    }

    /// Detaches memory.
    fn MPI_Win_detach(win: MPI_Win, base: *const c_void) on win {
        let process = enter();
        let window = process.window(win)?;
        expect_dynamic(window)?;
        if !window.controls[window.me as usize].detach(base.addr() as u64) {
            return Err(fail(
                MPI_ERR_RMA_ATTACH,
                format!("no memory is attached at {base:?} to {}", window.named()),
            ));
        }
        Ok(())
    }

    /// Where another rank's memory lies in this process.
    fn MPI_Win_shared_query, MPI_Win_shared_query_c<W>(
        win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut W::Displ, baseptr: *mut c_void,
    ) on win {
        let (size, disp_unit) = (out("size", size)?, out("disp_unit", disp_unit)?);
        let baseptr = out("baseptr", baseptr)?.cast::<*mut u8>();
        let process = enter();
        let window = process.window(win)?;
        // Without a rank: that of the first one that has some.
        let (first, rank) = (window.targets.iter().position(|target| target.bytes > 0), window.target(rank)?);
        let target = rank.map(|rank| window.targets[rank as usize]).or_else(|| Some(window.targets[first?]));
        let (bytes, unit, base) = match target {
            Some(Target { way: Way::Direct(base), bytes, unit }) if bytes > 0 => (bytes, unit, base.0),
            Some(Target { bytes: 0, unit, .. }) => (0, unit, null_mut()),
            _ => (0, 1, null_mut()),
        };
        *size = bytes as MPI_Aint;
        *disp_unit = W::Displ::try_from(unit).ok().expect("it was of this type when it was given");
        *baseptr = base;
        Ok(())
    }

    /// Frees a window, when all ranks have called.
    fn MPI_Win_free(win: *mut MPI_Win) on (named(win)) {
        let win = &mut *out("win", win)?;
        let comm = {
            let process = enter();
            let window = process.window(*win)?;
            window.epoch.may_end()?;
            window.comm
        };
        attributes::delete_window(*win)?;
        barrier_on("MPI_Win_free", comm)?;
        free(*win);
        *win = MPI_WIN_NULL;
        Ok(())
    }
}

/// What a rank wants of a window.
struct Wanted {
    bytes: u64,
    unit: i64,
    info: Info,
}

/// Where its memory comes from.
enum Memory {
    /// The program has it; or there is none, in a dynamic window.
    OfProgram(Address),
    /// From the job's file, of each rank by itself.
    OfEach,
    /// From there, of all ranks one behind the other.
    Together,
}

/// # Safety
/// `win` is null or may be written.
unsafe fn arguments(
    win: *mut MPI_Win,
    size: MPI_Aint,
    unit: i64,
    info: MPI_Info,
) -> Result<(*mut MPI_Win, Wanted)> {
    // SAFETY: by the caller.
    let win = unsafe { out_handle("win", win, MPI_WIN_NULL)? };
    let bytes = size_of_window(size)?;
    if unit <= 0 {
        return Err(fail(MPI_ERR_DISP, format!("disp_unit is {unit}, but must be positive")));
    }
    Ok((win, Wanted { bytes, unit, info: enter().hints(info)? }))
}

fn size_of_window(size: MPI_Aint) -> Result<u64> {
    let most = isize::MAX - 2 * MEMORY_ALIGN as isize;
    if size < 0 || size > most {
        return Err(fail(MPI_ERR_SIZE, format!("size is {size}, but must be 0 to {most}")));
    }
    Ok(size as u64)
}

fn expect_dynamic(window: &Window) -> Result {
    if window.is_dynamic() {
        return Ok(());
    }
    Err(fail(MPI_ERR_RMA_FLAVOR, format!("{} was not made by MPI_Win_create_dynamic", window.named())))
}

/// What each rank tells the others.
#[derive(Clone, Copy)]
struct Told {
    /// 0, or why it cannot take part.
    fault: u64,
    host: u64,
    bytes: u64,
    unit: u64,
    /// Where the words of this rank are in the job's file, and behind them its memory if that is from there.
    place: u64,
    base: u64,
    pid: u64,
    /// Others can make it pass a fence.
    fenced: u64,
}

impl Told {
    const BYTES: usize = 8 * 8;

    fn record(&self) -> Vec<u8> {
        record(&[self.fault, self.host, self.bytes, self.unit, self.place, self.base, self.pid, self.fenced])
    }

    fn from(record: &[u8]) -> Told {
        let [fault, host, bytes, unit, place, base, pid, fenced] =
            std::array::from_fn(|at| number(record, 8 * at));
        Told { fault, host, bytes, unit, place, base, pid, fenced }
    }
}

/// Makes a window; all ranks call. Its handle, and where this rank's memory is.
fn make(
    call: &'static str,
    comm: MPI_Comm,
    flavor: c_int,
    wanted: Wanted,
    memory: Memory,
) -> Result<(MPI_Win, *mut u8)> {
    let own = own_comm(call, comm)?;
    let made = make_on(call, own, flavor, wanted, &memory);
    if made.is_err() {
        enter().comms.remove(own);
    }
    made
}

/// A communicator for the window alone.
fn own_comm(call: &'static str, comm: MPI_Comm) -> Result<MPI_Comm> {
    if enter().comm(comm)?.remote.is_some() {
        return Err(fail(MPI_ERR_COMM, "this is an intercommunicator; a window needs an intracommunicator"));
    }
    let (context, children) = child_context(call, comm)?;
    let mut process = enter();
    let this = process.comm(comm)?;
    let mut own = Comm::new(context, this.rank, this.group.clone(), None);
    own.children = children;
    own.name = format!("the communicator of a window on {}", this.name);
    let handle = process.comms.insert(own);
    handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 communicators exist: free some"))
}

fn make_on(
    call: &'static str,
    comm: MPI_Comm,
    flavor: c_int,
    wanted: Wanted,
    memory: &Memory,
) -> Result<(MPI_Win, *mut u8)> {
    let mut process = enter();
    let (circle, group) = {
        let own = process.comm(comm)?;
        (Circle::local(call, own), own.group.clone())
    };
    let (me, size, host) = (circle.rank, circle.group.size(), process.host());
    let fabric = process.engine()?.transport();
    let (file, is_fenced) = (fabric.memory(), fabric.is_fenced());
    drop(process);
    let words = Control::bytes(size).next_multiple_of(MEMORY_ALIGN);
    let own_bytes = words + if matches!(memory, Memory::OfEach) { wanted.bytes as usize } else { 0 };
    let reserved = file.and_then(|file| Ok((file.reserve(own_bytes)?, file)));
    let base = if let Memory::OfProgram(base) = memory { base.0.expose_provenance() as u64 } else { 0 };
    let mine = Told {
        fault: u64::from(reserved.is_err()),
        host: host.into(),
        bytes: wanted.bytes,
        unit: wanted.unit as u64,
        place: reserved.as_ref().map_or(0, |(place, _)| *place),
        base,
        pid: std::process::id().into(),
        fenced: is_fenced.into(),
    };
    let all: Vec<Told> =
        circle.allgather(&mine.record())?.chunks_exact(Told::BYTES).map(Told::from).collect();
    let (place, file) = reserved.map_err(|error| no_memory(wanted.bytes, &error))?;
    expect_alike(&all)?;
    let mut reserved = vec![(place, own_bytes)];
    let together = match memory {
        Memory::Together => Some(map_together(&circle, &file, &all, &mut reserved)?),
        _ => None,
    };
    let mapped = if let Memory::OfEach = memory {
        all.iter().map(|told| told.bytes).collect()
    } else {
        vec![0; size as usize]
    };
    let controls = map_controls(&file, &all, words, &mapped, size)?;
    let mut before = 0;
    let target = |(rank, told): (usize, &Told)| {
        let way = match (memory, &together) {
            (Memory::OfEach, _) => Way::Direct(Address(controls[rank].memory(words, told.bytes as usize))),
            (_, Some(range)) => {
                let at = before;
                before += told.bytes as usize;
                Way::Direct(Address(range.at(at, told.bytes as usize)))
            }
            _ if rank == me as usize => {
                Way::Direct(Address(std::ptr::with_exposed_provenance_mut(told.base as usize)))
            }
            _ => Way::Kernel { pid: told.pid as u32, base: told.base },
        };
        Target { way, bytes: told.bytes, unit: told.unit as i64 }
    };
    let targets: Vec<Target> = all.iter().enumerate().map(target).collect();
    let base = match targets[me as usize].way {
        Way::Direct(base) => base,
        Way::Kernel { .. } => unreachable!("a rank's own memory is mapped"),
    };
    let constants = Box::new(Constants {
        base,
        size: wanted.bytes as MPI_Aint,
        disp_unit: wanted.unit as c_int,
        flavor,
        model: MPI_WIN_UNIFIED,
    });
    let window = Window {
        comm,
        name: String::new(),
        errhandler: MPI_ERRORS_ARE_FATAL,
        attributes: Attributes::default(),
        info: wanted.info,
        me,
        group,
        targets,
        controls: controls.into(),
        is_fenced: size == 1 || all.iter().all(|told| told.fenced != 0),
        has_stored: false,
        exchanged: AtomicBool::new(false),
        flushes: 0,
        epoch: Epoch::new(size),
        constants,
        together,
        memory: file,
        reserved,
    };
    let handle = enter().windows.0.insert(Box::new(window)).map(MPI_Win);
    let handle = handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 windows exist: free some"))?;
    Ok((handle, base.0))
}

/// All ranks see the same, so all refuse, or none.
fn expect_alike(all: &[Told]) -> Result {
    if let Some(rank) = all.iter().position(|told| told.fault != 0) {
        return Err(fail(MPI_ERR_NO_MEM, format!("rank {rank} cannot get the memory of its part")));
    }
    if let Some(rank) = all.iter().position(|told| told.host != all[0].host) {
        return Err(fail(
            MPI_ERR_UNSUPPORTED_OPERATION,
            format!(
                "ranks 0 and {rank} run on different hosts, and this version has windows within one host only: use a \
                 communicator of MPI_Comm_split_type with MPI_COMM_TYPE_SHARED"
            ),
        ));
    }
    Ok(())
}

fn map_controls(
    file: &JobMemory,
    all: &[Told],
    words: usize,
    memory: &[u64],
    size: u32,
) -> Result<Vec<Control>> {
    let map = |(told, bytes): (&Told, &u64)| {
        let range = file.map(told.place, words + *bytes as usize);
        Ok(Control::new(range.map_err(|error| no_memory(*bytes, &error))?, size))
    };
    all.iter().zip(memory).map(map).collect()
}

/// The first rank takes a range for all.
fn map_together(
    circle: &Circle,
    file: &Arc<JobMemory>,
    all: &[Told],
    reserved: &mut Vec<(u64, usize)>,
) -> Result<SharedRange> {
    let sum = all.iter().try_fold(0u64, |sum, told| sum.checked_add(told.bytes));
    let bytes = usize::try_from(sum.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let mine = (circle.rank == 0).then(|| file.reserve(bytes));
    let place = match &mine {
        Some(Ok(place)) => *place,
        _ => u64::MAX,
    };
    let told = circle.bcast(0, (circle.rank == 0).then_some(&record(&[place])))?;
    if let Some(place) = mine {
        reserved.push((place.map_err(|error| no_memory(bytes as u64, &error))?, bytes));
    }
    match number(&told, 0) {
        u64::MAX => Err(fail(MPI_ERR_NO_MEM, format!("rank 0 cannot get {bytes} bytes for all ranks"))),
        place => file.map(place, bytes).map_err(|error| no_memory(bytes as u64, &error)),
    }
}

fn no_memory(bytes: u64, error: &io::Error) -> Box<Error> {
    fail(MPI_ERR_NO_MEM, format!("there are no {bytes} bytes of memory to share: {error}"))
}

/// The window that a call was to free, whose error handler decides.
///
/// # Safety
/// What `win` points to, unless it is null, can be read.
unsafe fn named(win: *mut MPI_Win) -> Place {
    // SAFETY: the caller's promise.
    unsafe { win.as_ref() }.map_or(Place::None, |win| Place::Win(*win))
}

/// Nobody uses the window any more.
fn free(win: MPI_Win) {
    let mut process = enter();
    let Some(window) = process.windows.0.remove(win.0) else { return };
    process.errhandlers.release(window.errhandler);
    if let Some(comm) = process.comms.remove(window.comm) {
        process.leave_team(comm.team);
    }
    drop(process);
    let Window { memory, reserved, controls, together, .. } = *window;
    drop((controls, together));
    for (place, bytes) in reserved {
        memory.release(place, bytes);
    }
}
