//! What a rank may ask its launcher for beside its job: to start other processes, and to pass names of services on.
//!
//! Tern's `mpirun` and other launchers that speak PMI-1 are asked over the socket of PMI. A world of one that nobody has launched gets an
//! `mpirun` of its own when it first starts processes.

use std::ffi::OsStr;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::bootstrap::pmi1::client::{Pmi1Client, PmiLink, locked};
use crate::names;
use crate::pmi::{FD_VARIABLE, escape};
use crate::spawn_request::SpawnRequest;

/// Under which key a world finds the port of the process that has started it.
pub const PARENT_KEY: &str = "PARENT_ROOT_PORT_NAME";

/// The hidden option that makes `mpirun` serve one process that nobody has launched, over its standard input.
pub const HUB_OPTION: &str = "--tern-hub";

/// Whoever is asked.
#[derive(Debug)]
pub struct Launcher(LauncherWay);

#[derive(Debug)]
enum LauncherWay {
    /// Tern's `mpirun`, or its agent on this host, once it was spoken with.
    Tern(Mutex<Option<Pmi1Client>>),
    /// Another launcher.
    Pmi(Arc<Mutex<PmiLink>>),
    /// Nobody, until one is needed.
    Alone(Mutex<Option<Pmi1Client>>),
}

impl Launcher {
    pub(crate) fn alone() -> Launcher {
        Launcher(LauncherWay::Alone(Mutex::default()))
    }

    pub(crate) fn tern() -> Launcher {
        Launcher(LauncherWay::Tern(Mutex::default()))
    }

    pub(crate) fn pmi(link: Arc<Mutex<PmiLink>>) -> Launcher {
        Launcher(LauncherWay::Pmi(link))
    }

    /// Starts a world, and waits until it runs. A number for it, or why it does not run.
    pub fn spawn(&self, request: &SpawnRequest) -> Result<u32, String> {
        self.with(|client| client.spawn(request))?
    }

    /// A value of this world's store of keys.
    pub fn get(&self, key: &str) -> Result<Option<String>, String> {
        self.with(|client| client.get(key).map_err(|error| error.to_string()))?
    }

    /// How a world that was started from here has ended, if it has and the launcher tells.
    pub fn ended(&self, spawn: u32) -> Option<String> {
        match &self.0 {
            LauncherWay::Tern(client) | LauncherWay::Alone(client) => locked(client).as_mut()?.ended(spawn),
            LauncherWay::Pmi(_) => None,
        }
    }

    /// Readable when the launcher says something unasked, if it ever does.
    pub fn fd(&self) -> Option<RawFd> {
        match &self.0 {
            LauncherWay::Tern(client) | LauncherWay::Alone(client) => {
                locked(client).as_ref().map(Pmi1Client::fd)
            }
            LauncherWay::Pmi(_) => None,
        }
    }

    /// A world that was started from here is connected with this one: they end together.
    pub fn met(&self, spawn: u32) {
        self.notify("tern_met", spawn);
    }

    /// A world that was started from here has nothing in common with this one any more.
    pub fn parted(&self, spawn: u32) {
        self.notify("tern_parted", spawn);
    }

    /// Tells Tern's own launcher, which needs no answer.
    fn notify(&self, command: &str, spawn: u32) {
        if let LauncherWay::Tern(client) | LauncherWay::Alone(client) = &self.0
            && let Some(client) = &mut *locked(client)
        {
            client.notify(&format!("cmd={command} spawn={spawn}"));
        }
    }

    /// This process uses MPI no more. A launcher of its own takes one that ends without a word for one that has failed.
    pub fn leave(&self) {
        if let LauncherWay::Alone(client) = &self.0
            && let Some(client) = &mut *locked(client)
        {
            client.notify("cmd=finalize");
        }
        names::forget_own();
    }

    /// Makes a port known under the name of a service.
    pub fn publish(&self, service: &str, port: &str) -> Result<(), String> {
        let here = || names::publish(service, port, std::process::id()).map_err(|error| error.to_string());
        self.about_names("publish_name", service, &format!(" port={port}"), here).map(drop)
    }

    /// Takes it back.
    pub fn unpublish(&self, service: &str, port: &str) -> Result<(), String> {
        let here = || names::unpublish(service, port).map_err(|error| error.to_string());
        self.about_names("unpublish_name", service, &format!(" port={port}"), here).map(drop)
    }

    /// The port of a service, if somebody has published it.
    pub fn lookup(&self, service: &str) -> Result<Option<String>, String> {
        let mut found = None;
        let here = || names::lookup(service).map(|port| found = port).map_err(|error| error.to_string());
        let told = self.about_names("lookup_name", service, "", here)?;
        Ok(told.or(found))
    }

    /// Asks the launcher. Without one, or one that does not know, names are kept where this user's processes find them.
    fn about_names(
        &self,
        command: &str,
        service: &str,
        more: &str,
        here: impl FnOnce() -> Result<(), String>,
    ) -> Result<Option<String>, String> {
        let words = format!("cmd={command} service={}{more}", escape(service));
        match &self.0 {
            LauncherWay::Tern(_) => match self.with(|client| client.request(&words))? {
                Ok(found) => Ok(found.filter(|found| !found.is_empty())),
                Err(why) => Err(why),
            },
            LauncherWay::Pmi(link) => {
                let mut link = locked(link);
                let told = link.client().map_err(|error| error.to_string())?.request(&words);
                if let Ok(found) = told { Ok(found) } else { here().map(|()| None) }
            }
            LauncherWay::Alone(_) => here().map(|()| None),
        }
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Pmi1Client) -> T) -> Result<T, String> {
        let (client, begin): (_, fn() -> io::Result<Pmi1Client>) = match &self.0 {
            LauncherWay::Pmi(link) => {
                return Ok(ask(locked(link).client().map_err(|error| error.to_string())?));
            }
            LauncherWay::Tern(client) => (client, meet_mpirun),
            LauncherWay::Alone(client) => (client, start_hub),
        };
        let mut client = locked(client);
        if client.is_none() {
            *client = Some(begin().map_err(|error| error.to_string())?);
        }
        client.as_mut().map(ask).ok_or_else(|| "there is no launcher".into())
    }
}

/// The socket that `mpirun` has handed down for PMI.
fn meet_mpirun() -> io::Result<Pmi1Client> {
    let number = std::env::var(FD_VARIABLE).ok().and_then(|number| number.parse::<RawFd>().ok());
    let is_socket = |number: &RawFd| {
        let target = std::fs::read_link(format!("/proc/self/fd/{number}"));
        target.is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    };
    let number = number.filter(is_socket).ok_or_else(|| {
        let text = "the socket to mpirun is closed: something between mpirun and this program has closed all descriptors, as \
             Python's subprocess does unless close_fds=False is given";
        io::Error::other(text)
    })?;
    Pmi1Client::connect(number)
}

/// Starts an `mpirun` that serves this process alone. It ends when this process does.
fn start_hub() -> io::Result<Pmi1Client> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let program = mpirun();
    let started = Command::new(&program)
        .arg(HUB_OPTION)
        .arg(std::process::id().to_string())
        .stdin(Stdio::from(theirs))
        .process_group(0)
        .spawn();
    let explain = |error: io::Error| {
        let program = program.display();
        io::Error::new(
            error.kind(),
            format!("this program was started without mpirun, and '{program}' cannot be run: {error}"),
        )
    };
    started.map_err(explain)?;
    Pmi1Client::over(ours).map_err(explain)
}

/// The `mpirun` of the installation that this library is from, or the first in `PATH`.
fn mpirun() -> PathBuf {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let library = maps
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.iter().position(|byte| *byte == b'/').map(|path| &line[path..]))
        .map(|path| PathBuf::from(OsStr::from_bytes(path)));
    let mut own = library.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libmpi_abi.so"))
    });
    let beside = own.find_map(|path| Some(path.canonicalize().ok()?.parent()?.parent()?.join("bin/mpirun")));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("mpirun"))
}
