//! A rank under a launcher that speaks PMI-1: MPICH's and Intel's `mpiexec`, Slurm's plugin `pmi2`, Flux.

pub mod client;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use crate::bootstrap::JoinError;
use crate::bootstrap::error::with_limit;
use crate::bootstrap::exchange::{LaunchedRank, LauncherExchange, Onward, assemble};
use crate::bootstrap::pmi1::client::{Pmi1Client, PmiLink};
use crate::bootstrap::voice::Voice;
use crate::bootstrap::way::{Bootstrap, EnvironmentReader, text};
use crate::job::Job;
use crate::limits::RANKS_MAX;
use crate::node_map::NodeMap;
use crate::pmi::{
    FD_VARIABLE, ID_VARIABLE, MAPPING_KEY, PORT_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE, SPAWNED_VARIABLE,
    parse_mapping,
};

/// A rank whose launcher has handed down a socket, or listens for it.
pub(super) struct Pmi1;

impl Bootstrap for Pmi1 {
    fn join(&self, environment: EnvironmentReader<'_>) -> Option<Result<Job, JoinError>> {
        let invitation = Invitation::find(|name| text(environment, name))?;
        Some(join(&invitation).map_err(|error| JoinError::Pmi {
            invitation: invitation.to_string(),
            variable: invitation.variable(),
            reason: with_limit(error).to_string(),
        }))
    }
}

fn join(invitation: &Invitation) -> io::Result<Job> {
    let (client, rank, size) = invitation.accept()?;
    let voice = client.voice();
    let joined = Pmi1Launcher::new(client, rank, size).and_then(|launcher| assemble(Box::new(launcher)));
    if joined.is_err() {
        // A launcher ends all its ranks when it loses the connection to one, perhaps before that one has said why it fails.
        std::mem::forget(voice);
    }
    joined
}

/// What the environment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Invitation {
    /// The launcher has handed down a socket.
    Socket { descriptor: i32, rank: u32, size: u32 },
    /// The launcher listens, and says rank and size to whoever connects.
    Port { address: String, id: u32 },
}

impl Invitation {
    /// Reads the environment by `get`: `None` if no launcher has handed down a PMI socket to one of several ranks, or listens for it.
    pub(crate) fn find(get: impl Fn(&str) -> Option<String>) -> Option<Invitation> {
        let number = |name| get(name)?.trim().parse::<u32>().ok();
        // As for other libraries, a socket comes before a port, which may be left over of a launcher further up.
        if get(FD_VARIABLE).is_none()
            && let Some(address) = get(PORT_VARIABLE).filter(|address| !address.is_empty())
        {
            return number(ID_VARIABLE).map(|id| Invitation::Port { address, id });
        }
        // One that was started by another program has somebody to meet, though it be the only rank.
        let least = if get(SPAWNED_VARIABLE).is_some_and(|spawned| spawned.trim() == "1") { 1 } else { 2 };
        let size = number(SIZE_VARIABLE).filter(|size| (least..=RANKS_MAX).contains(size))?;
        let rank = number(RANK_VARIABLE).filter(|&rank| rank < size)?;
        let descriptor = number(FD_VARIABLE).and_then(|number| i32::try_from(number).ok())?;
        Some(Invitation::Socket { descriptor, rank, size })
    }

    /// The variable without which nobody is invited.
    fn variable(&self) -> &'static str {
        match self {
            Invitation::Socket { .. } => RANK_VARIABLE,
            Invitation::Port { .. } => ID_VARIABLE,
        }
    }

    /// The connection, and which rank of how many this is.
    fn accept(&self) -> io::Result<(Pmi1Client, u32, u32)> {
        match *self {
            Invitation::Socket { descriptor, rank, size } => {
                Ok((Pmi1Client::connect(descriptor)?, rank, size))
            }
            Invitation::Port { ref address, id } => {
                let (client, rank, size) = Pmi1Client::call(address, id).map_err(|error| {
                    io::Error::other(format!("{error}; leave out the launcher's option -pmi-port"))
                })?;
                if rank < size && size <= RANKS_MAX {
                    return Ok((client, rank, size));
                }
                Err(io::Error::other(format!("the launcher says that this is rank {rank} of {size}")))
            }
        }
    }
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invitation::Socket { descriptor, rank, size } => {
                write!(f, "{RANK_VARIABLE}={rank}, {SIZE_VARIABLE}={size}, {FD_VARIABLE}={descriptor}")
            }
            Invitation::Port { address, id } => write!(f, "{PORT_VARIABLE}={address}, {ID_VARIABLE}={id}"),
        }
    }
}

/// The launcher's services to one of several ranks.
struct Pmi1Launcher {
    client: Pmi1Client,
    identity: LaunchedRank,
    places: NodeMap,
}

impl Pmi1Launcher {
    fn new(mut client: Pmi1Client, rank: u32, size: u32) -> io::Result<Pmi1Launcher> {
        if client.store().starts_with("tern_") {
            return Err(io::Error::other(
                "the launcher is Tern's own mpirun, but TERN_JOB is not set: something removed it",
            ));
        }
        let places = places(&mut client, size)?;
        // Each question is a wait for the launcher, which answers one rank after the other: these are for whoever wants to know.
        let identity = LaunchedRank { rank, size, appnum: None, universe: None };
        Ok(Pmi1Launcher { client, identity, places })
    }
}

/// A launcher that does not say which ranks share a host has them on hosts of their own.
fn places(client: &mut Pmi1Client, size: u32) -> io::Result<NodeMap> {
    let mapping = client.get(MAPPING_KEY)?;
    Ok(mapping.and_then(|text| parse_mapping(&text, size)).unwrap_or_else(|| NodeMap::of(0..size)))
}

/// All ranks share one store, so that the owner of a value is in its key.
fn key_of(owner: u32, key: &str) -> String {
    format!("{key}-{owner}")
}

impl LauncherExchange for Pmi1Launcher {
    fn identity(&self) -> LaunchedRank {
        self.identity
    }

    fn local_ranks(&mut self) -> io::Result<Vec<u32>> {
        Ok(self.places.ranks_of(self.places.host_of(self.identity.rank)).collect())
    }

    fn places(&mut self) -> io::Result<Option<NodeMap>> {
        Ok(Some(self.places.clone()))
    }

    fn put(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.client.put(&key_of(self.identity.rank, key), value)
    }

    fn fence(&mut self) -> io::Result<()> {
        self.client.barrier()
    }

    fn get(&mut self, owner: u32, key: &str) -> io::Result<Option<String>> {
        self.client.get(&key_of(owner, key))
    }

    fn voice(&self) -> Arc<dyn Voice> {
        Arc::new(self.client.voice())
    }

    fn into_directory(self: Box<Self>) -> io::Result<Onward> {
        let link = Arc::new(Mutex::new(PmiLink::new(self.client, self.identity.rank)));
        Ok((Box::new(link.clone()), Some(link)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;

    fn found(environment: &[(&str, &str)]) -> Option<Invitation> {
        let value = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        Invitation::find(|name| value(name).map(String::from))
    }

    #[test]
    fn only_one_of_several_is_invited() {
        let full = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", "9")];
        assert_eq!(found(&full), Some(Invitation::Socket { descriptor: 9, rank: 1, size: 2 }));
        assert_eq!(found(&full[..2]), None);
        let spawned = [("PMI_RANK", "0"), ("PMI_SIZE", "1"), ("PMI_FD", "9"), ("PMI_SPAWNED", "1")];
        assert!(found(&spawned).is_some() && found(&spawned[..3]).is_none());
        for changed in [("PMI_RANK", "2"), ("PMI_SIZE", "1"), ("PMI_FD", "-1"), ("PMI_SIZE", "many")] {
            let environment: Vec<_> = std::iter::once(changed).chain(full).collect();
            assert_eq!(found(&environment), None, "{changed:?}");
        }
    }

    #[test]
    fn a_launcher_may_listen() {
        let port = [("PMI_PORT", "vm:4711"), ("PMI_ID", "1")];
        assert_eq!(found(&port), Some(Invitation::Port { address: "vm:4711".into(), id: 1 }));
        assert_eq!(found(&port[..1]), None);
        let socket = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", "9"), port[0], port[1]];
        assert!(matches!(found(&socket), Some(Invitation::Socket { .. })));
    }

    /// It says why, and the launcher, which ends all when a connection ends, must not be faster.
    #[test]
    fn a_rank_that_fails_keeps_the_connection() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let answers = [
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "cmd=my_kvsname kvsname=kvs_1_0",
            "cmd=get_result rc=-1",
            "cmd=put_result rc=-1 msg=full",
        ];
        let serve = move || {
            let mut lines = BufReader::new(&ours).lines();
            for answer in answers {
                lines.next().unwrap().unwrap();
                writeln!(&ours, "{answer}").unwrap();
            }
            ours
        };
        let launcher = std::thread::spawn(serve);
        let number = theirs.into_raw_fd().to_string();
        let environment = move |name: &str| match name {
            "PMI_FD" => Some(number.clone().into()),
            "PMI_RANK" => Some("0".into()),
            "PMI_SIZE" => Some("2".into()),
            _ => None,
        };
        assert!(Pmi1.join(&environment).unwrap().unwrap_err().to_string().contains("full"));
        let mut ours = launcher.join().unwrap();
        ours.set_nonblocking(true).unwrap();
        assert_eq!(ours.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_launcher_that_does_not_listen_is_an_error() {
        let environment = |name: &str| match name {
            "PMI_PORT" => Some("127.0.0.1:1".into()),
            "PMI_ID" => Some("0".into()),
            _ => None,
        };
        let error = Pmi1.join(&environment).unwrap().unwrap_err().to_string();
        assert!(error.contains("PMI_PORT=127.0.0.1:1, PMI_ID=0"), "{error}");
        assert!(error.contains("leave out the launcher's option -pmi-port"), "{error}");
        assert!(error.ends_with("unset PMI_ID"), "{error}");
    }
}
