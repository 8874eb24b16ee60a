//! A rank under a launcher that speaks PMIx: Slurm's plugin `pmix`, PRRTE's `prterun`, Open MPI's `mpirun`.

mod places;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::process::getppid;
use tern_pmix::{Failed, PmixClient, PmixLibrary, PmixValue, ValueOwner};

use crate::bootstrap::error::with_limit;
use crate::bootstrap::exchange::{LaunchedRank, LauncherExchange, Onward, assemble};
use crate::bootstrap::voice::Voice;
use crate::bootstrap::way::{Bootstrap, EnvironmentReader, text};
use crate::bootstrap::{JoinError, foreign};
use crate::hex::{from_hex, to_hex};
use crate::job::Job;
use crate::limits::{ENDPOINT_ADDRESS_BYTES_MAX, RANKS_MAX};
use crate::link::RankDirectory;
use crate::node_map::NodeMap;
use crate::process_end;
use crate::ranges;
use crate::reserved_fd::ReservedFd;

const NAMESPACE_VARIABLE: &str = "PMIX_NAMESPACE";
const RANK_VARIABLE: &str = "PMIX_RANK";
const ENDPOINT_KEY: &str = "tern-endpoint";

const JOB_SIZE: &str = "pmix.job.size";
const UNIVERSE_SIZE: &str = "pmix.univ.size";
const APP_NUMBER: &str = "pmix.appnum";
const LOCAL_PEERS: &str = "pmix.lpeers";

/// Server and library must fit.
const ANOTHER_LIBRARY: &str = "set LD_LIBRARY_PATH to the folder of the launcher's libpmix.so.2";

/// A rank that a server of PMIx knows.
pub(super) struct Pmix;

impl Bootstrap for Pmix {
    fn join(&self, environment: EnvironmentReader<'_>) -> Option<Result<Job, JoinError>> {
        let variable = |name: &str| text(environment, name);
        let (namespace, rank) = (variable(NAMESPACE_VARIABLE)?, variable(RANK_VARIABLE)?);
        // One that is alone needs nobody, and perhaps has no library.
        if foreign::says_alone(variable) {
            return Some(Ok(Job::alone()));
        }
        let failed = |reason: String| JoinError::Pmix {
            invitation: format!("{NAMESPACE_VARIABLE}={namespace}, {RANK_VARIABLE}={rank}"),
            reason,
        };
        let library = match PmixLibrary::open(places::all(variable)) {
            Ok(library) => library,
            Err(error) => return Some(Err(failed(format!("{error}; {ANOTHER_LIBRARY}")))),
        };
        Some(
            PmixLauncher::connect(library)
                .and_then(PmixLauncher::join)
                .map_err(|error| failed(with_limit(error).to_string())),
        )
    }
}

/// The server's services to a rank.
struct PmixLauncher {
    client: PmixClient,
    identity: LaunchedRank,
}

impl PmixLauncher {
    fn connect(library: PmixLibrary) -> io::Result<PmixLauncher> {
        let client = PmixClient::connect(library)
            .map_err(|error| io::Error::other(format!("{error}; {ANOTHER_LIBRARY}")))?;
        let number = |owner, key| number(&client, owner, key);
        let rank = client.rank();
        let size =
            number(ValueOwner::Job, JOB_SIZE)?.filter(|size| (1..=RANKS_MAX).contains(size) && rank < *size);
        let size = size.ok_or_else(|| {
            io::Error::other(format!("the launcher does not say how many ranks there are ({JOB_SIZE})"))
        })?;
        let (appnum, universe) =
            (number(ValueOwner::Rank(rank), APP_NUMBER)?, number(ValueOwner::Job, UNIVERSE_SIZE)?);
        Ok(PmixLauncher { client, identity: LaunchedRank { rank, size, appnum, universe } })
    }

    fn join(self) -> io::Result<Job> {
        if self.identity.size == 1 {
            let _ = self.client.finalize();
            return Ok(Job::alone());
        }
        assemble(Box::new(self))
    }
}

fn number(client: &PmixClient, owner: ValueOwner, key: &str) -> io::Result<Option<u32>> {
    let found = client.get(owner, key).map_err(io::Error::other)?;
    Ok(match found {
        Some(PmixValue::Number(number)) => u32::try_from(number).ok(),
        _ => None,
    })
}

fn text_of(client: &PmixClient, owner: ValueOwner, key: &str) -> io::Result<Option<String>> {
    let found = client.get(owner, key).map_err(io::Error::other)?;
    Ok(match found {
        Some(PmixValue::Text(text)) => Some(text),
        _ => None,
    })
}

impl LauncherExchange for PmixLauncher {
    fn identity(&self) -> LaunchedRank {
        self.identity
    }

    /// A launcher that does not say so has this rank on a host of its own.
    fn local_ranks(&mut self) -> io::Result<Vec<u32>> {
        let LaunchedRank { rank, size, .. } = self.identity;
        let Some(peers) = text_of(&self.client, ValueOwner::Job, LOCAL_PEERS)? else { return Ok(vec![rank]) };
        ranges::parse(&peers, size)
            .ok_or_else(|| io::Error::other(format!("{LOCAL_PEERS} is no list of ranks: '{peers}'")))
    }

    fn places(&mut self) -> io::Result<Option<NodeMap>> {
        Ok(None)
    }

    fn put(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.client.put(key, value).map_err(io::Error::other)
    }

    fn fence(&mut self) -> io::Result<()> {
        self.client.fence().map_err(io::Error::other)
    }

    fn get(&mut self, owner: u32, key: &str) -> io::Result<Option<String>> {
        text_of(&self.client, ValueOwner::Rank(owner), key)
    }

    fn voice(&self) -> Arc<dyn Voice> {
        let server = getppid().and_then(|parent| process_end::open(parent).ok());
        let server = server.filter(|_| places::is_server_above());
        Arc::new(Speaker { client: self.client.clone(), server })
    }

    fn into_directory(self: Box<Self>) -> io::Result<Onward> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?.into();
        Ok((Box::new(SharedDirectory { client: self.client, found: VecDeque::new(), bell }), None))
    }
}

#[derive(Debug)]
struct Speaker {
    client: PmixClient,
    /// The server's process, where that is this one's parent.
    server: Option<OwnedFd>,
}

impl Voice for Speaker {
    fn abort(&self, code: i32, message: &str) -> io::Result<()> {
        self.client.abort(code, message).map_err(|error: Failed| io::Error::other(error))
    }

    fn finalize(&self) {
        // Nothing can be done about a server that has gone.
        let _ = self.client.finalize();
    }

    fn connection(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        Some((self.server.as_ref()?.as_fd(), PollFlags::IN))
    }
}

/// Endpoint addresses of other ranks: the fence has brought them all.
struct SharedDirectory {
    client: PmixClient,
    found: VecDeque<(u32, Vec<u8>)>,
    /// Rings while an answer waits.
    bell: ReservedFd,
}

impl RankDirectory for SharedDirectory {
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        self.client.put(ENDPOINT_KEY, &to_hex(endpoint_address)).map_err(io::Error::other)?;
        self.client.fence().map_err(io::Error::other)
    }

    fn ask(&mut self, rank: u32) {
        let text = text_of(&self.client, ValueOwner::Rank(rank), ENDPOINT_KEY).ok().flatten();
        // A rank that has published nothing will not be reached.
        let endpoint_address = text
            .and_then(|text| from_hex(&text))
            .filter(|endpoint_address| endpoint_address.len() <= ENDPOINT_ADDRESS_BYTES_MAX);
        if let Some(endpoint_address) = endpoint_address {
            self.found.push_back((rank, endpoint_address));
            let _ = self.bell.with(|bell| rustix::io::write(bell, &1_u64.to_ne_bytes()));
        }
    }

    fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        let found = self.found.pop_front();
        if self.found.is_empty() {
            let _ = self.bell.with(|bell| rustix::io::read(bell, &mut [0; 8]));
        }
        found
    }

    fn fd(&self) -> RawFd {
        self.bell.as_fd().as_raw_fd()
    }
}
