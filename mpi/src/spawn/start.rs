//! Starting processes (MPI 5.0 section 11.8): the launcher starts them as a world of their own, whose first call is to connect to a port
//! of the process that has asked for it.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

use tern_abi::*;
use tern_job::launcher::{Launcher, PARENT_KEY};
use tern_job::spawn_request::{Program, SpawnRequest};

use super::argv::{Argv, Argvs, Commands};
use super::connect::{ConnectingProcess, accept, connect, remote_size};
use super::ports;
use super::soft::count;
use crate::core::boundary::{Array, AtRoot, Handed, Out, OutArray};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, enter, outside};
use crate::env::hints::Info;
use crate::env::memory_kinds;
use crate::limits::CONNECT_S;

entry! {
    /// The communicator with the processes that started this one (section 11.8.2), or none.
    safe fn MPI_Comm_get_parent(parent: Out<'_, MPI_Comm>) {
        parent.set(enter().worlds.parent);
        Ok(())
    }

    /// Starts so many processes of a program.
    safe fn MPI_Comm_spawn(
        command: AtRoot<Cow<'_, str>>, argv: AtRoot<Argv<'_>>, maxprocs: c_int, info: MPI_Info, root: c_int,
        comm: MPI_Comm, intercomm: Handed<'_, MPI_Comm>, array_of_errcodes: OutArray<'_, c_int>,
    ) on comm {
        let connecting = ConnectingProcess::of("MPI_Comm_spawn", comm, root)?;
        let programs = connecting.at_root(|| Ok(vec![program(&command.get()?, argv.get()?, maxprocs, info)?]));
        intercomm.set(spawn("MPI_Comm_spawn", connecting, programs, i64::from(maxprocs), array_of_errcodes)?);
        Ok(())
    }

    /// Starts processes of several programs, in one world (section 11.8.3).
    safe fn MPI_Comm_spawn_multiple(
        count: c_int, array_of_commands: Commands<'_>, array_of_argv: Argvs<'_>,
        array_of_maxprocs: Array<'_, c_int>, array_of_info: Array<'_, MPI_Info>, root: c_int, comm: MPI_Comm,
        intercomm: Handed<'_, MPI_Comm>, array_of_errcodes: OutArray<'_, c_int>,
    ) on comm {
        let connecting = ConnectingProcess::of("MPI_Comm_spawn_multiple", comm, root)?;
        let programs = connecting.at_root(|| {
            let count = usize::try_from(count).ok().filter(|count| *count > 0);
            let count = count.ok_or_else(|| fail(MPI_ERR_COUNT, "count must be positive"))?;
            let (commands, argvs) = (array_of_commands.of(count)?, array_of_argv.of(count)?);
            let (most, infos) = (array_of_maxprocs.of(count)?, array_of_info.of(count)?);
            let one = |at: usize| program(&commands[at], argvs[at], most[at], infos[at]);
            (0..count).map(one).collect()
        });
        let most = usize::try_from(count).ok().filter(|_| connecting.is_root());
        let most = most.and_then(|count| array_of_maxprocs.of(count).ok()).unwrap_or_default();
        let wanted = most.iter().map(|most| i64::from(*most).max(0)).sum();
        intercomm.set(spawn("MPI_Comm_spawn_multiple", connecting, programs, wanted, array_of_errcodes)?);
        Ok(())
    }
}

/// A program that is to be started.
fn program(command: &str, argv: Argv<'_>, maxprocs: c_int, info: MPI_Info) -> Result<Program> {
    if command.trim().is_empty() {
        return Err(fail(MPI_ERR_SPAWN, "command is empty"));
    }
    let hints = with_file(enter().hints(info)?)?;
    let most = u32::try_from(maxprocs).ok().filter(|most| *most > 0);
    let most =
        most.ok_or_else(|| fail(MPI_ERR_ARG, format!("maxprocs is {maxprocs}, but must be positive")))?;
    let count =
        count(most, hints.get("soft")).map_err(|why| fail(MPI_ERR_INFO_VALUE, format!("soft: {why}")))?;
    Ok(Program {
        command: command.to_owned(),
        arguments: argv.strings(),
        count,
        hints: reserved_hints(&hints),
    })
}

/// What the key `file` names: lines of keys and values, which count where the info object has no such key.
fn with_file(mut hints: Info) -> Result<Info> {
    let Some(path) = hints.get("file").map(str::to_owned) else { return Ok(hints) };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        fail(MPI_ERR_SPAWN, format!("the file '{path}' of the info key 'file' cannot be read: {error}"))
    })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let (key, value) = line.split_once('=').ok_or_else(|| {
            fail(
                MPI_ERR_SPAWN,
                format!(
                    "the file '{path}' of the info key 'file' has the line '{line}', which is not key=value"
                ),
            )
        })?;
        if hints.get(key.trim()).is_none() {
            hints.set(key.trim(), value.trim());
        }
    }
    Ok(hints)
}

/// The keys that the standard reserves, but for `soft`, which has been read, and `arch`, which is refused if it is not this one.
fn reserved_hints(hints: &Info) -> Vec<(String, String)> {
    let reserved = ["host", "hostfile", "wdir", "path", "arch", "mpi_initial_errhandler", memory_kinds::KEY];
    hints.only(&reserved).entries
}

fn spawn(
    call: &'static str,
    connecting: ConnectingProcess,
    programs: Result<Vec<Program>>,
    wanted: i64,
    errcodes: OutArray<'_, c_int>,
) -> Result<MPI_Comm> {
    // The arguments count at the root only, and all have an array of codes.
    let wanted = connecting.roots_number(u64::try_from(wanted).unwrap_or(0))? as u32;
    let made = connecting.introduce(true, |mine| start_and_accept(call, programs?, mine));
    let (count, code) = match &made {
        Ok(comm) => (remote_size(*comm), MPI_SUCCESS),
        Err(error) => (wanted, error.code()),
    };
    if errcodes.address() != MPI_ERRCODES_IGNORE {
        // Those that `soft` has spared were not started (section 11.8.2).
        let spared = wanted.saturating_sub(count) as usize;
        let codes = std::iter::repeat_n(code, count as usize);
        errcodes.store(codes.chain(std::iter::repeat_n(MPI_ERR_SPAWN, spared)))?;
        CODES_WRITTEN.set(count as usize + spared);
    }
    made
}

thread_local! {
    static CODES_WRITTEN: Cell<usize> = const { Cell::new(0) };
}

/// How many codes this thread's last call has written. The libraries for programs of other MPIs ask, since at the root alone the arguments
/// say so.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tern_spawn_codes() -> c_int {
    CODES_WRITTEN.get() as c_int
}

/// At the root: what the new world says.
fn start_and_accept(
    call: &'static str,
    programs: Vec<Program>,
    mine: &[u8],
) -> Result<(Vec<u8>, Option<u32>)> {
    let launcher = launcher()?;
    let port = ports::open(&Info::default())?;
    let heard = start_at(call, &launcher, programs, &port, mine);
    ports::close(&port)?;
    heard
}

fn start_at(
    call: &'static str,
    launcher: &Arc<Launcher>,
    programs: Vec<Program>,
    port: &str,
    mine: &[u8],
) -> Result<(Vec<u8>, Option<u32>)> {
    let request = SpawnRequest { programs, pairs: vec![(PARENT_KEY.into(), port.into())] };
    let number = launcher.spawn(&request).map_err(|why| fail(MPI_ERR_SPAWN, why))?;
    let door = ports::door_of(port)?;
    let fd = launcher.fd();
    watch(&mut enter(), fd, true);
    let amiss = |_: &mut Process| launcher.ended(number).map(|why| fail(MPI_ERR_SPAWN, why));
    let heard = accept(call, door, mine, amiss);
    watch(&mut enter(), fd, false);
    if heard.is_ok() {
        launcher.met(number);
    }
    heard.map(|heard| (heard, Some(number)))
}

/// Whoever sleeps wakes for what the launcher says.
fn watch(process: &mut Process, fd: Option<i32>, on: bool) {
    if let (Some(fd), Some(tcp)) = (fd, process.abroad_mut()) {
        if on { tcp.watch(fd) } else { tcp.unwatch(fd) }
    }
}

/// How the launcher is asked for services.
pub(crate) fn launcher() -> Result<Arc<Launcher>> {
    let mut process = enter();
    if let Some(launcher) = &process.worlds.launcher {
        return Ok(launcher.clone());
    }
    let job = process.job.as_ref().ok_or_else(outside)?;
    let launcher = Arc::new(job.launcher());
    process.worlds.launcher = Some(launcher.clone());
    Ok(launcher)
}

/// A world that was started by another one connects to it: the first thing that all its ranks do.
pub(crate) fn meet_parent() -> Result {
    if !enter().job.as_ref().is_some_and(tern_job::Job::is_spawned) {
        return Ok(());
    }
    const CALL: &str = "MPI_Init";
    let connecting = ConnectingProcess::of(CALL, MPI_COMM_WORLD, 0)?;
    let port = connecting.at_root(|| {
        let launcher = launcher()?;
        let found = launcher.get(PARENT_KEY).map_err(|why| fail(MPI_ERR_OTHER, why))?;
        found.ok_or_else(no_port)
    });
    let patience = std::time::Duration::from_secs(CONNECT_S);
    let parent = connecting.introduce(false, |mine| Ok((connect(CALL, &port?, patience, mine)?, None)))?;
    let mut process = enter();
    process.comm_mut(parent)?.name = "MPI_COMM_PARENT".into();
    process.worlds.parent = parent;
    Ok(())
}

fn no_port() -> Box<Error> {
    fail(MPI_ERR_OTHER, "the launcher says that another program has started this one, but not which")
}
