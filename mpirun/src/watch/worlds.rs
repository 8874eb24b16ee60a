//! Worlds that ranks of this one have started. Each has an `mpirun` of its own, which looks after it as after any job; this one looks
//! after that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use tern_job::pmi::{SPAWNED_VARIABLE, escape};
use tern_job::process_end;
use tern_job::spawn_request::{Program, SpawnRequest};
use tern_job::text;

use crate::cli::standard::{check_architecture, initial_errhandler, memory_alloc_kinds};
use crate::launch::watchdog::LAUNCHER_VARIABLE;
use crate::output::files::Style;
use crate::plan::{App, PlanSettings, StdinTo};
use crate::poller::{PollToken, Poller};
use crate::tree::channel::{ChannelInbox, ChannelOutbox};
use crate::watch::exit_cause::Refusal;

/// The hidden option that makes `mpirun` look after a world that another `mpirun` asks for over standard input.
pub(crate) const OPTION: &str = "--tern-world";

/// To the `mpirun` of a world.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum WorldOrder {
    /// Comes first.
    Start(Box<WorldOrders>),
    /// The world that this one is connected to has failed.
    End,
}

/// From it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum WorldNote {
    /// All its ranks run.
    Running,
    /// They will not.
    Refused(String),
}

/// What a world is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorldOrders {
    /// Its programs.
    pub apps: Vec<App>,
    /// Variables for all of them.
    pub environment: Vec<(OsString, OsString)>,
    /// The form of output.
    pub output: Style,
    /// A file of hosts.
    pub hostfile: Option<String>,
    /// What its ranks find in their store of keys.
    pub pairs: Vec<(String, String)>,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe: u32,
    /// See [`PlanSettings`].
    pub quiet: bool,
    /// See [`PlanSettings`].
    pub verbose: bool,
    /// See [`PlanSettings`].
    pub launcher: Vec<String>,
    /// See [`PlanSettings`].
    pub prefix: Option<String>,
    /// See [`PlanSettings`].
    pub tree: Option<u32>,
}

/// What worlds have in common with the one that starts them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Basis {
    /// What its options said.
    pub settings: PlanSettings,
    /// Its hosts with their slots, if it was given any.
    pub hosts: Vec<(String, u32)>,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe: u32,
}

impl WorldOrders {
    /// What a request asks for.
    pub(crate) fn new(
        request: SpawnRequest,
        basis: &Basis,
        asker: Option<&App>,
    ) -> Result<WorldOrders, Refusal> {
        let Basis { settings, hosts, universe } = basis;
        let named = |(host, slots): &(String, u32)| format!("{host}:{slots}");
        let hosts: Vec<String> = hosts.iter().map(named).collect();
        let mut orders = WorldOrders {
            environment: settings.environment.clone(),
            output: Style { files: [None, None], ..settings.output.clone() },
            pairs: request.pairs,
            universe: *universe,
            quiet: settings.quiet,
            verbose: settings.verbose,
            launcher: settings.launcher.clone(),
            prefix: settings.prefix.clone(),
            tree: settings.tree,
            ..WorldOrders::default()
        };
        for program in request.programs {
            orders.add(program, &hosts, asker)?;
        }
        Ok(orders)
    }

    fn add(&mut self, program: Program, hosts: &[String], asker: Option<&App>) -> Result<(), Refusal> {
        let mut app = App {
            count: Some(program.count),
            program: text::to_os_string(&program.command),
            arguments: program.arguments.iter().map(|argument| text::to_os_string(argument)).collect(),
            directory: asker.and_then(|asker| asker.directory.clone()),
            environment: asker.map(|asker| asker.environment.clone()).unwrap_or_default(),
            hosts: hosts.to_vec(),
            ..App::default()
        };
        for (key, value) in program.hints {
            match key.as_str() {
                "host" => app.hosts = value.split(',').map(|host| host.trim().to_owned()).collect(),
                "wdir" => app.directory = Some(text::to_os_string(&value)),
                "path" => app.path = Some(text::to_os_string(&value)),
                "hostfile" => self.hostfile = Some(value),
                "arch" => check_architecture(&value)?,
                "mpi_initial_errhandler" => app.environment.push(initial_errhandler(&value)?),
                "mpi_memory_alloc_kinds" => app.environment.push(memory_alloc_kinds(value.into())),
                _ => {}
            }
        }
        self.apps.push(app);
        Ok(())
    }

    /// For the `mpirun` that looks after the world.
    pub(crate) fn settings(self) -> PlanSettings {
        let mut environment = self.environment;
        environment.push((SPAWNED_VARIABLE.into(), "1".into()));
        PlanSettings {
            apps: self.apps,
            environment,
            output: self.output,
            hostfile: self.hostfile.map(Into::into),
            pairs: self.pairs,
            universe: Some(self.universe),
            stdin: StdinTo::None,
            quiet: self.quiet,
            verbose: self.verbose,
            launcher: self.launcher,
            prefix: self.prefix,
            tree: self.tree,
            ..PlanSettings::default()
        }
    }
}

/// What a world has to do with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bond {
    /// They have not met: its end is the failure of a call.
    Awaited,
    /// They end together.
    Connected,
    /// They leave each other alone.
    Parted,
}

/// A world that was started from here.
#[derive(Debug)]
struct StartedWorld {
    /// The rank that has asked for it.
    asker: u32,
    child: Child,
    process: OwnedFd,
    from: ChannelInbox,
    to: ChannelOutbox,
    running: bool,
    bond: Bond,
    refused: Option<String>,
    what: String,
}

/// What follows from what a world has done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WorldNews {
    /// A rank is to be told this.
    Say { rank: u32, text: String },
    /// A world that is still connected with this one has failed.
    Failed { what: String, status: u8 },
}

/// All worlds that were started from here and have not ended.
#[derive(Debug, Default)]
pub(crate) struct StartedWorlds {
    all: BTreeMap<u32, StartedWorld>,
    next: u32,
    /// The exit status of the first that failed.
    pub status: u8,
}

impl StartedWorlds {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Their processes.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.all.values().map(|world| world.child.id())
    }

    /// Starts a world that a rank has asked for. What the rank is told at once, if it cannot be.
    pub(crate) fn start(
        &mut self,
        asker: u32,
        orders: Result<WorldOrders, Refusal>,
        poller: &Poller,
    ) -> Option<WorldNews> {
        let started = orders.and_then(|orders| self.begin(asker, orders, poller));
        started.err().map(|refusal| WorldNews::Say { rank: asker, text: refused(&refusal.to_string()) })
    }

    fn begin(&mut self, asker: u32, orders: WorldOrders, poller: &Poller) -> Result<(), Refusal> {
        let system = |error| Refusal::system("cannot start another mpirun", error);
        self.next += 1;
        let number = self.next;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|error| system(error.into()))?;
        let what = orders.apps.first().map(|app| app.program.to_string_lossy().into_owned());
        let child = Command::new("/proc/self/exe")
            .arg0("mpirun")
            .arg(OPTION)
            .env(LAUNCHER_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::from(theirs))
            .process_group(0)
            .spawn()
            .map_err(system)?;
        let mut world =
            StartedWorld::new(asker, child, ours, number, what.unwrap_or_default()).map_err(system)?;
        world.to.push(&WorldOrder::Start(Box::new(orders)));
        world.to.flush(poller);
        let watched = poller
            .add_reader(&world.from, PollToken::World(number))
            .and_then(|()| poller.add_reader(&world.process, PollToken::WorldEnd(number)));
        self.all.insert(number, world);
        watched.map_err(|error| system(error.into()))
    }

    /// A world has said something.
    pub(crate) fn on_message(&mut self, number: u32, poller: &Poller) -> Vec<WorldNews> {
        let Some(world) = self.all.get_mut(&number) else { return Vec::new() };
        let closed = world.from.read().is_err();
        let mut news = Vec::new();
        while let Ok(Some(note)) = world.from.next::<WorldNote>() {
            match note {
                WorldNote::Running => {
                    world.running = true;
                    let text = format!("cmd=spawn_result rc=0 spawn={number}");
                    news.push(WorldNews::Say { rank: world.asker, text });
                }
                WorldNote::Refused(why) => world.refused = Some(why),
            }
        }
        if closed {
            poller.remove(&world.from);
        }
        news
    }

    /// There is room for what a world is to be told.
    pub(crate) fn on_room(&mut self, number: u32, poller: &Poller) {
        if let Some(world) = self.all.get_mut(&number) {
            world.to.on_room(poller);
            world.to.flush(poller);
        }
    }

    /// The `mpirun` of a world has ended.
    pub(crate) fn on_end(&mut self, number: u32, poller: &Poller) -> Vec<WorldNews> {
        let mut news = self.on_message(number, poller);
        let Some(mut world) = self.all.remove(&number) else { return news };
        poller.remove(&world.from);
        poller.remove(&world.process);
        world.to.close(poller);
        let status = world.child.wait().map_or(1, |status| match (status.code(), status.signal()) {
            (Some(code), _) => code as u8,
            (None, signal) => 128_u8.wrapping_add(signal.unwrap_or_default() as u8),
        });
        let StartedWorld { asker: rank, what, .. } = world;
        if !world.running {
            let why = world.refused.unwrap_or_else(|| {
                format!("'{what}' ended with status {status} before all its ranks were in MPI_Init")
            });
            news.push(WorldNews::Say { rank, text: refused(&why) });
            return news;
        }
        if status != 0 && self.status == 0 && world.bond != Bond::Awaited {
            self.status = status;
        }
        if world.bond == Bond::Awaited {
            let why = escape(&format!(
                "'{what}' was started, and ended with status {status} before it met this program in MPI_Init"
            ));
            news.push(WorldNews::Say { rank, text: format!("cmd=world_ended spawn={number} msg={why}") });
        }
        if world.bond == Bond::Connected && status != 0 {
            news.push(WorldNews::Failed { what, status });
        }
        news
    }

    /// A world is connected with this one.
    pub(crate) fn connected(&mut self, number: u32) {
        self.bind(number, Bond::Connected);
    }

    /// A world has nothing in common with this one any more.
    pub(crate) fn part(&mut self, number: u32) {
        self.bind(number, Bond::Parted);
    }

    fn bind(&mut self, number: u32, bond: Bond) {
        if let Some(world) = self.all.get_mut(&number) {
            world.bond = bond;
        }
    }

    /// Those that are connected with this one end with it; where `all`, the others as well.
    pub(crate) fn end(&mut self, all: bool, poller: &Poller) {
        for world in self.all.values_mut().filter(|world| all || world.bond != Bond::Parted) {
            world.to.push(&WorldOrder::End);
            world.to.flush(poller);
        }
    }

    /// What a person or a batch system sends to this `mpirun` is for all.
    pub(crate) fn signal(&self, signal: Signal) {
        for world in self.all.values() {
            let _ = kill_process(Pid::from_child(&world.child), signal);
        }
    }
}

impl StartedWorld {
    fn new(
        asker: u32,
        child: Child,
        socket: OwnedFd,
        number: u32,
        what: String,
    ) -> std::io::Result<StartedWorld> {
        let process = process_end::open(Pid::from_child(&child))?;
        let to = ChannelOutbox::new(fcntl_dupfd_cloexec(&socket, 3)?, PollToken::WorldRoom(number))?;
        let from = ChannelInbox::new(socket, false)?;
        Ok(StartedWorld {
            asker,
            child,
            process,
            from,
            to,
            running: false,
            bond: Bond::Awaited,
            refused: None,
            what,
        })
    }
}

/// What a rank is told whose request was refused.
pub(crate) fn refused(why: &str) -> String {
    format!("cmd=spawn_result rc=-1 msg={}", escape(why))
}
