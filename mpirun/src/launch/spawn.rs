//! Starting the ranks.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags, fcntl_setfl};
use rustix::io::{DupFlags, Errno, FdFlags, dup3, fcntl_dupfd_cloexec, fcntl_setfd, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, getrlimit, kill_process_group,
    setrlimit, test_kill_process, waitid, waitpid,
};
use tern_job::JobSecret;
use tern_job::descriptor::{DESCRIPTOR_VARIABLE, FdName, JobDescriptor};
use tern_job::pmi::{
    FD_VARIABLE, LOCAL_RANK_VARIABLE, LOCAL_SIZE_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE, SPAWNED_VARIABLE,
};
use tern_job::process_end;

use crate::cli::standard::find_program;
use crate::launch::foreign;
use crate::launch::leftovers;
use crate::launch::loader;
use crate::launch::machine::another_machine;
use crate::launch::resources::{JobResources, name, out_of_the_way};
use crate::launch::watchdog::{LAUNCHER_VARIABLE, Watchdog, inform};
use crate::limits::{DESCRIPTORS_COMMON, DESCRIPTORS_OF_A_RANK, DESCRIPTORS_PER_RANK};
use crate::plan::binding::Binding;
use crate::plan::{App, JobPlan, StdinTo};
use crate::watch::descendants::adopt_orphans;
use crate::watch::exit_cause::{End, Refusal};

/// Makes Python show what a program prints when it prints it. In C the library does that (`mpi/src/core/stdio.rs`), and gfortran does it
/// by itself.
const UNBUFFERED: &str = "PYTHONUNBUFFERED";

/// A rank as `mpirun` sees it: the process that it started, in a process group of its own, with whatever
/// that process starts in turn.
#[derive(Debug)]
pub(crate) struct Rank {
    /// Its number in the job.
    pub number: u32,
    child: Child,
    /// The orphan that goes on as the rank where `child` has ended well and left it.
    successor: Option<Pid>,
    /// Readable when the process has ended.
    pub process: OwnedFd,
    /// Reading ends of its standard output and standard error.
    pub outputs: Option<[OwnedFd; 2]>,
    /// Writing end of its standard input, if `mpirun` feeds it.
    pub input: Option<OwnedFd>,
    /// Writing end of the pipe for answers to it.
    pub answers: Option<OwnedFd>,
    /// `mpirun`'s end of the socket on which it may speak PMI.
    pub pmi: Option<OwnedFd>,
    /// How it ended.
    pub end: Option<End>,
    /// It may still run.
    is_given_up: bool,
}

impl Rank {
    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.process_id().as_raw_nonzero().get() as u32
    }

    fn process_id(&self) -> Pid {
        self.successor.unwrap_or_else(|| self.group())
    }

    /// Its group, which has the number of the process that was started.
    pub(crate) fn group(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Goes on as this orphan: the end of that is the rank's.
    pub(crate) fn hand_over(&mut self, orphan: u32) -> Result<(), Errno> {
        let orphan = i32::try_from(orphan).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        self.process = process_end::open(orphan)?;
        (self.successor, self.end) = (Some(orphan), None);
        Ok(())
    }

    /// Sends a signal to everything that is in the rank's process group.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group(), signal);
    }

    /// Whether the process has become another user, whom this one may send no signals.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        test_kill_process(self.process_id()) == Err(Errno::PERM)
    }

    /// Looks how the process has ended, once [`Rank::process`] is readable. It is not reaped: while it is a zombie, its number cannot
    /// become that of another process group, which `mpirun` would then kill for its own.
    pub(crate) fn look_for_end(&mut self) -> Option<End> {
        if self.is_given_up {
            return None;
        }
        if self.end.is_none() {
            self.end = Some(end_of(self.process_id())?);
            leftovers::remove(self.pid());
        }
        self.end
    }

    /// Nobody waits any more for a process that this one may not kill. It has ended for the job.
    pub(crate) fn give_up(&mut self) {
        (self.end, self.is_given_up) = (Some(End::Unseen), true);
    }

    /// Lets the kernel forget the process.
    pub(crate) fn reap(&mut self) {
        if !self.is_given_up {
            let _ = self.child.wait();
        }
    }
}

/// How a child has ended, if it has.
fn end_of(process: Pid) -> Option<End> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = match waitid(WaitId::Pid(process), options) {
        Ok(status) => status?,
        // It is gone, and to look again would tell no more.
        Err(Errno::CHILD) => return Some(End::Unseen),
        Err(_) => return end_by_reaping(process),
    };
    Some(match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => End::Exited(status),
        (None, signal) => End::Killed(signal.unwrap_or_default()),
    })
}

/// The same by an older call, where a filter of system calls refuses the other. The kernel forgets the process.
fn end_by_reaping(process: Pid) -> Option<End> {
    let Ok(status) = waitpid(Some(process), WaitOptions::NOHANG) else { return Some(End::Unseen) };
    let (_, status) = status?;
    Some(match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => End::Exited(status),
        (None, signal) => End::Killed(signal.unwrap_or_default()),
    })
}

/// The ranks of this host, what they share, and where they are bound.
pub(crate) type StartedRanks = (Vec<Rank>, JobResources, Binding);

/// Starts the ranks of this host, and tells the watchdog of each; if one cannot be started, those that run already are killed.
pub(crate) fn start(
    plan: &JobPlan,
    secret: &JobSecret,
    feed: Feeding,
    watchdog: &mut io::Result<Watchdog>,
) -> Result<StartedRanks, Refusal> {
    adopt_orphans();
    let resources = JobResources::new(&plan.places, secret)?;
    let numbers = plan.own_ranks();
    let binding = Binding::new(&plan.settings.bind, &numbers)?;
    if numbers.is_empty() {
        return Ok((Vec::new(), resources, binding));
    }
    let local = numbers.len() as u32;
    foreign::refuse(plan)?;
    let limit = raise_descriptor_limit(local)?;
    let cores = plan.cores.min(binding.processors()).max(1);
    let descriptor = JobDescriptor { local, cores, bound: binding.is_bound(), ..resources.descriptor(plan)? };
    let libraries = plan.settings.apps.iter().map(|app| loader::library_path(plan, app)).collect();
    let starter =
        Starter { plan, libraries, resources: &resources, binding: &binding, descriptor, limit, feed };
    resources.set_inherited(true);
    let ranks = starter.start_all(&numbers, watchdog);
    resources.set_inherited(false);
    binding.restore();
    Ok((ranks?, resources, binding))
}

struct Starter<'a> {
    plan: &'a JobPlan,
    resources: &'a JobResources,
    binding: &'a Binding,
    /// For each program, what it needs to find Tern's library.
    libraries: Vec<Option<OsString>>,
    descriptor: JobDescriptor,
    limit: Option<RaisedLimit>,
    feed: Feeding,
}

impl Starter<'_> {
    fn start_all(&self, numbers: &[u32], watchdog: &mut io::Result<Watchdog>) -> Result<Vec<Rank>, Refusal> {
        let mut ranks = Vec::with_capacity(numbers.len());
        for &rank in numbers {
            match self.start(rank, ranks.len() as u32) {
                Ok(started) => {
                    inform(watchdog, |watchdog| watchdog.watch_over(started.group()));
                    ranks.push(started);
                    self.resources.keep_notices();
                }
                Err(refusal) => {
                    end_all(&mut ranks);
                    return Err(refusal);
                }
            }
        }
        Ok(ranks)
    }

    fn start(&self, rank: u32, index: u32) -> Result<Rank, Refusal> {
        let app = self.plan.app(rank);
        let descriptors = |error| cannot_start(rank, app, &io::Error::from(error));
        let (stdout, child_stdout) = self.output_pipe().map_err(descriptors)?;
        let (stderr, child_stderr) = self.output_pipe().map_err(descriptors)?;
        let (stdin, input) = self.stdin(rank).map_err(descriptors)?;
        let answers = AnswerPipe::new().map_err(descriptors)?;
        let (pmi, child_pmi) = self.pmi_pair().map_err(descriptors)?;
        let mut command = self.command(rank, app, answers.name);
        command.env(FD_VARIABLE, child_pmi.as_raw_fd().to_string());
        command.envs(numbers(rank, index, &self.descriptor));
        command.stdin(stdin).stdout(child_stdout).stderr(child_stderr);
        self.binding.apply(index)?;
        let child = self.spawn(&mut command).map_err(|error| cannot_start(rank, app, &error))?;
        let answers = answers.keep_writer().map_err(descriptors);
        let pid = Pid::from_child(&child);
        let process = process_end::open(pid).and_then(|process| self.keep(process)).map_err(|error| {
            let _ = kill_process_group(pid, Signal::KILL);
            cannot_watch(rank, error)
        })?;
        let (answers, pmi) = (Some(answers?), Some(pmi));
        Ok(Rank {
            number: rank,
            child,
            successor: None,
            process,
            outputs: Some([stdout, stderr]),
            input,
            answers,
            pmi,
            end: None,
            is_given_up: false,
        })
    }

    fn command(&self, rank: u32, app: &App, answers: FdName) -> Command {
        let number = self.plan.app_of[rank as usize] as u32;
        let descriptor = JobDescriptor { rank, app: number, answers, ..self.descriptor.clone() };
        let found = app.path.as_ref().and_then(|path| find_program(&app.program, path));
        let mut command = Command::new(found.as_deref().unwrap_or(app.program.as_ref()));
        command.args(&app.arguments).process_group(0);
        // This mpirun may itself run in a world that was started by another.
        command.env_remove(SPAWNED_VARIABLE);
        let settings = &self.plan.settings;
        command.envs(settings.environment.iter().chain(&app.environment).map(|(name, value)| (name, value)));
        let mut own = settings.environment.iter().chain(&app.environment);
        if std::env::var_os(UNBUFFERED).is_none() && !own.any(|(name, _)| name == UNBUFFERED) {
            command.env(UNBUFFERED, "1");
        }
        command.envs(self.libraries[number as usize].iter().map(|folders| (loader::VARIABLE, folders)));
        command.env(DESCRIPTOR_VARIABLE, descriptor.to_string());
        // An agent has it from its launcher.
        command.env_remove(LAUNCHER_VARIABLE);
        if let Some(directory) = &app.directory {
            command.current_dir(directory);
        }
        command
    }

    /// A pipe for a rank's output. Only `mpirun`'s end does not block: the program's must behave as
    /// programs expect.
    fn output_pipe(&self) -> Result<(OwnedFd, Stdio), Errno> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&read, OFlags::NONBLOCK)?;
        Ok((self.keep(read)?, write.into()))
    }

    /// A socket for PMI. The process that is started next inherits its second end.
    fn pmi_pair(&self) -> Result<(OwnedFd, OwnedFd), Errno> {
        let (own, inherited) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        ioctl_fionbio(&own, true)?;
        let inherited = out_of_the_way(inherited);
        fcntl_setfd(&inherited, FdFlags::empty())?;
        Ok((self.keep(own)?, inherited))
    }

    /// A rank's standard input, and `mpirun`'s end of it if it copies.
    fn stdin(&self, rank: u32) -> Result<(Stdio, Option<OwnedFd>), Errno> {
        match self.feed {
            Feeding::Inherit(reader) if reader == rank => Ok((Stdio::inherit(), None)),
            Feeding::CopyTo(reader) if reader != rank => Ok((nothing()?, None)),
            Feeding::CopyTo(_) | Feeding::CopyToAll => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                fcntl_setfl(&write, OFlags::NONBLOCK)?;
                Ok((read.into(), Some(self.keep(write)?)))
            }
            Feeding::Inherit(_) | Feeding::Nobody => Ok((nothing()?, None)),
        }
    }

    /// Moves a descriptor that `mpirun` keeps above the limit of the ranks, under which only those that
    /// a rank is started with must fit.
    fn keep(&self, fd: OwnedFd) -> Result<OwnedFd, Errno> {
        match &self.limit {
            Some(limit) => fcntl_dupfd_cloexec(&fd, limit.floor),
            None => Ok(fd),
        }
    }

    /// A rank must not inherit the higher limit that `mpirun` needs: programs that use `select` break.
    fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let Some(limit) = &self.limit else { return command.spawn() };
        setrlimit(Resource::Nofile, limit.before)?;
        let child = command.spawn();
        setrlimit(Resource::Nofile, limit.raised)?;
        child
    }
}

/// The pipe for answers to one rank.
struct AnswerPipe {
    read: OwnedFd,
    write: OwnedFd,
    name: FdName,
}

impl AnswerPipe {
    /// A pipe whose reading end the process that is started next inherits.
    fn new() -> Result<AnswerPipe, Errno> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let read = out_of_the_way(read);
        fcntl_setfl(&write, OFlags::NONBLOCK)?;
        fcntl_setfd(&read, FdFlags::empty())?;
        Ok(AnswerPipe { name: name(&read)?, read, write })
    }

    /// `mpirun`'s own end, under the number that the rank knows: through it a rank opens the pipe whose own
    /// descriptor a wrapper has closed.
    fn keep_writer(mut self) -> Result<OwnedFd, Errno> {
        dup3(&self.write, &mut self.read, DupFlags::CLOEXEC)?;
        Ok(self.read)
    }
}

/// How standard input reaches the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feeding {
    /// This rank inherits `mpirun`'s own: nothing has to be copied, and nothing is read that it does not want.
    Inherit(u32),
    /// A terminal can be read by `mpirun`'s process group only, so `mpirun` copies what it says.
    CopyTo(u32),
    /// Each rank gets a copy.
    CopyToAll,
    /// No rank gets any.
    Nobody,
}

impl Feeding {
    /// At `mpirun` itself.
    pub(crate) fn of(plan: &JobPlan) -> Feeding {
        match Feeding::copied(plan.settings.stdin) {
            Feeding::CopyTo(rank) if !rustix::termios::isatty(rustix::stdio::stdin()) => {
                Feeding::Inherit(rank)
            }
            feeding => feeding,
        }
    }

    /// Where nobody can inherit anything, as at an agent.
    pub(crate) fn copied(stdin: StdinTo) -> Feeding {
        match stdin {
            StdinTo::First => Feeding::CopyTo(0),
            StdinTo::Rank(rank) => Feeding::CopyTo(rank),
            StdinTo::All => Feeding::CopyToAll,
            StdinTo::None => Feeding::Nobody,
        }
    }

    /// Whether `mpirun` copies its standard input to this rank.
    pub(crate) fn copies_to(self, rank: u32) -> bool {
        self == Feeding::CopyToAll || self == Feeding::CopyTo(rank)
    }
}

/// Opened here, because `Stdio::null` would open it under the limit of the rank. A pipe that nobody writes into does where `/dev` is
/// empty, as in some containers.
fn nothing() -> Result<Stdio, Errno> {
    let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    null.or_else(|_| pipe_with(PipeFlags::CLOEXEC).map(|(read, _)| read)).map(Stdio::from)
}

struct RaisedLimit {
    before: Rlimit,
    raised: Rlimit,
    /// The first number that the ranks may not use.
    floor: i32,
}

/// Makes room for the descriptors of all ranks, where the usual 1,024 are too few: above those that ranks may use, or, where the
/// hard limit is too near for that, above as many as there can be.
fn raise_descriptor_limit(size: u32) -> Result<Option<RaisedLimit>, Refusal> {
    let needed = u64::from(size) * DESCRIPTORS_PER_RANK + DESCRIPTORS_COMMON;
    let before = getrlimit(Resource::Nofile);
    let Some(limit) = before.current.filter(|&limit| limit < needed) else { return Ok(None) };
    let floor = before.maximum.map_or(limit, |maximum| limit.min(maximum.saturating_sub(needed)));
    let floor = floor.max(limit.min(DESCRIPTORS_OF_A_RANK));
    let raised = Rlimit { current: Some(floor + needed), maximum: before.maximum };
    match (setrlimit(Resource::Nofile, raised), i32::try_from(floor)) {
        (Ok(()), Ok(floor)) => Ok(Some(RaisedLimit { before, raised, floor })),
        _ => Err(Refusal::usage(format!(
            "{size} ranks of one host need {needed} open files in mpirun, and the limit is {}: raise it \
             (ulimit -n, or nofile in /etc/security/limits.conf), or start fewer ranks",
            before.maximum.unwrap_or(limit)
        ))),
    }
}

/// Kills ranks that have been started.
pub(crate) fn end_all(ranks: &mut [Rank]) {
    for rank in ranks.iter_mut() {
        rank.signal(Signal::KILL);
        if rank.is_out_of_reach() {
            rank.give_up();
        }
    }
    for rank in ranks.iter_mut() {
        rank.reap();
    }
}

/// The end of a rank could not be seen.
fn cannot_watch(rank: u32, error: Errno) -> Refusal {
    match error {
        Errno::MFILE | Errno::NFILE => too_many_files(rank),
        Errno::AGAIN => too_many_processes(rank),
        _ => Refusal::usage(format!("cannot watch rank {rank}: {error}")),
    }
}

fn too_many_processes(rank: u32) -> Refusal {
    Refusal::usage(format!(
        "cannot start rank {rank}: too many processes (see ulimit -u, or the pids limit of the container)"
    ))
}

fn too_many_files(rank: u32) -> Refusal {
    Refusal::usage(format!("cannot start rank {rank}: too many open files (see ulimit -n)"))
}

/// A rank's numbers, under the names by which scripts of MPICH's and of Open MPI's users ask for them: in the world, and on its host.
fn numbers(rank: u32, index: u32, descriptor: &JobDescriptor) -> [(&'static str, String); 9] {
    let [size, local] = [descriptor.size, descriptor.local].map(|count| count.to_string());
    [
        (RANK_VARIABLE, rank.to_string()),
        (SIZE_VARIABLE, size.clone()),
        (LOCAL_RANK_VARIABLE, index.to_string()),
        (LOCAL_SIZE_VARIABLE, local.clone()),
        ("OMPI_COMM_WORLD_RANK", rank.to_string()),
        ("OMPI_COMM_WORLD_SIZE", size),
        ("OMPI_COMM_WORLD_LOCAL_RANK", index.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local),
        ("OMPI_COMM_WORLD_NODE_RANK", index.to_string()),
    ]
}

/// Says why a program cannot be started, with the exit status that shells have for it.
fn cannot_start(rank: u32, app: &App, error: &io::Error) -> Refusal {
    let program = app.program.to_string_lossy();
    let what = format!("cannot run '{program}'");
    // A relative path begins where the program runs.
    let directory = app.directory.as_ref().map_or(Path::new(""), Path::new);
    let path = directory.join(&app.program);
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) if path.is_file() && program.contains('/') => {
            Refusal::cannot_run(format!("{what}: it exists, but the interpreter that it names does not"))
        }
        Some(Errno::NOENT) if program.contains('/') => {
            Refusal::not_found(format!("{what}: there is no such file as {}", path.display()))
        }
        Some(Errno::NOENT) if path.is_file() => Refusal::not_found(format!(
            "{what}: it is in no directory of PATH. For the one in this directory say ./{program}"
        )),
        Some(Errno::NOENT) => Refusal::not_found(format!("{what}: it is in no directory of PATH")),
        Some(Errno::ACCESS) if path.is_dir() => Refusal::cannot_run(format!("{what}: it is a directory")),
        Some(Errno::ACCESS) => Refusal::cannot_run(format!("{what}: no permission to execute it")),
        Some(Errno::NOEXEC) => Refusal::cannot_run(match another_machine(&path) {
            Some(why) => format!("{what}: {why}"),
            None => {
                format!(
                    "{what}: it is no program for this machine; a script must begin with a line like #!/bin/sh"
                )
            }
        }),
        Some(Errno::AGAIN) => too_many_processes(rank),
        Some(Errno::MFILE | Errno::NFILE) => too_many_files(rank),
        _ => Refusal::cannot_run(format!("{what} as rank {rank}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_call_tells_the_end_too() {
        let mut child =
            Command::new("sh").args(["-c", "read word; exit 3"]).stdin(Stdio::piped()).spawn().unwrap();
        let process = Pid::from_child(&child);
        assert_eq!(end_by_reaping(process), None);
        drop(child.stdin.take());
        let _ = waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        assert_eq!(end_by_reaping(process), Some(End::Exited(3)));
        assert_eq!(end_by_reaping(process), Some(End::Unseen));
        assert!(child.wait().is_err());
    }

    #[test]
    fn a_child_that_nobody_remembers_has_ended() {
        let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let process = Pid::from_child(&child);
        let _ = waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        assert_eq!(end_of(process), Some(End::Exited(3)));
        child.wait().unwrap();
        assert_eq!(end_of(process), Some(End::Unseen));
    }
}
