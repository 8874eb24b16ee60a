//! What a launcher of another library gives each rank, and how the ranks make a job of Tern of it.
//!
//! The launcher gives rank, size, and a store of values with a fence. Rank 0 makes the job's secret and puts it there. Whoever can
//! read what the launcher's own processes say to each other can read it, which is the trust that such a launcher asks for. The first
//! rank of each host makes the host's memory files ([`memory`](super::memory)), and says where they are and how other hosts reach
//! it ([`watch`](crate::watch)).

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};

use crate::bootstrap::memory::HostMemory;
use crate::bootstrap::pmi1::client::PmiLink;
use crate::bootstrap::reminder::{self, Reminder};
use crate::bootstrap::voice::Voice;
use crate::cores::{CoreBudget, cores};
use crate::hex::{from_hex, to_hex};
use crate::job::{Job, JobControl, LauncherNumber, fresh_secret};
use crate::limits::START_PATIENCE;
use crate::link::{DirectoryLink, RankDirectory};
use crate::node_map::{self, JobSecret, NodeMap};
use crate::ranges;
use crate::status_page::RankState;
use crate::watch::Watch;
use crate::watch::lifelines::{Lifelines, Listener, parent_of};

const SECRET_KEY: &str = "tern-secret";
const HOST_KEY: &str = "tern-host";

/// What a launcher says of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchedRank {
    /// Which one it is.
    pub rank: u32,
    /// Of how many.
    pub size: u32,
    /// Which program of the launcher's command line this is, if the launcher has said so without being asked.
    pub appnum: Option<u32>,
    /// `MPI_UNIVERSE_SIZE`, likewise.
    pub universe: Option<u32>,
}

/// A launcher's services to a rank that starts.
pub(crate) trait LauncherExchange: Send {
    /// Who this rank is.
    fn identity(&self) -> LaunchedRank;

    /// The ranks of this host in ascending order, this one included.
    fn local_ranks(&mut self) -> io::Result<Vec<u32>>;

    /// Which ranks run where, if the launcher can say so.
    fn places(&mut self) -> io::Result<Option<NodeMap>>;

    /// Leaves a value. It is visible to others after the next fence.
    fn put(&mut self, key: &str, value: &str) -> io::Result<()>;

    /// Waits for all ranks.
    fn fence(&mut self) -> io::Result<()>;

    /// What `owner` has put; `None` if it has not.
    fn get(&mut self, owner: u32, key: &str) -> io::Result<Option<String>>;

    /// What stays when the exchange has become a directory.
    fn voice(&self) -> Arc<dyn Voice>;

    /// Goes on as the way to other ranks' endpoint addresses, and where the launcher speaks PMI-1, to all that it is asked else.
    fn into_directory(self: Box<Self>) -> io::Result<Onward>;
}

/// What an exchange becomes.
pub(crate) type Onward = (Box<dyn RankDirectory>, Option<Arc<Mutex<PmiLink>>>);

/// Makes a job of what the launcher gives.
pub(crate) fn assemble(mut exchange: Box<dyn LauncherExchange>) -> io::Result<Job> {
    let LaunchedRank { rank, size, appnum, universe } = exchange.identity();
    let reminder = reminder_of(rank, size);
    let local = local_ranks(&mut *exchange, rank, size)?;
    let leader = local[0];
    let own = if leader == rank { Some(Leader::new(size, &local)?) } else { None };
    if let Some(own) = &own {
        exchange.put(HOST_KEY, &own.entry(&local)?.to_string())?;
    }
    let fresh = if rank == 0 { Some(fresh_secret()?) } else { None };
    if let Some(secret) = &fresh {
        exchange.put(SECRET_KEY, &to_hex(secret))?;
    }
    exchange.fence()?;
    drop(reminder);
    let (memory, places, lifelines) = match own {
        Some(Leader { memory, listener }) => {
            let secret = fresh.map_or_else(|| secret_of_job(&mut *exchange), Ok)?;
            let places = all_places(&mut *exchange, size)?;
            node_map::write(&memory.status_page, &secret, &places)?;
            let open = |listener| lifelines(&mut *exchange, listener, secret, places.host_of(rank), &places);
            let lifelines = listener.map(open).transpose()?;
            (memory, places, lifelines)
        }
        None => {
            let memory = HostMemory::open(&host_entry(&mut *exchange, leader)?.memory, leader)?;
            let places = memory.places(size, leader)?;
            (memory, places, None)
        }
    };
    let status_page = memory.page_of(rank)?;
    // Whoever watches over this rank finds its process there.
    status_page.state(RankState::Starting);
    // The leader keeps open what the others open until all meet again. Ranks on several hosts do so when they publish how they are
    // reached, with the files still open.
    if places.hosts() == 1 {
        exchange.fence()?;
    }
    let host = places.host_of(rank);
    let voice = exchange.voice();
    let (directory, pmi) = exchange.into_directory()?;
    let (segment, own_page) = memory.into_parts(rank);
    let watch = Watch::new(rank, host, local.clone(), own_page, lifelines, voice.clone())?;
    Ok(Job {
        rank,
        size,
        segment: Some(segment),
        status_page: Some(status_page),
        cores: CoreBudget { usable: cores(), ranks: local.len() as u32 },
        control: Some(JobControl::Launcher(voice, pmi)),
        link: Some(DirectoryLink::over(directory)),
        lifeline: None,
        watch: Some(watch),
        hosts: places.hosts(),
        places: OnceLock::from(places),
        appnum: LauncherNumber::told(appnum),
        universe: LauncherNumber::told(universe),
    })
}

/// Two ranks say that they wait, so that one does where the other has ended.
fn reminder_of(rank: u32, size: u32) -> Option<Reminder> {
    let under_slurm = std::env::var_os("SLURM_JOB_ID").is_some();
    let say = move || {
        let _ = writeln!(io::stderr(), "{}", reminder::words(rank, size, START_PATIENCE, under_slurm));
    };
    (rank < 2).then(|| Reminder::new(START_PATIENCE, say))
}

/// What the launcher says is checked: its first entry makes what the others open.
fn local_ranks(exchange: &mut dyn LauncherExchange, rank: u32, size: u32) -> io::Result<Vec<u32>> {
    let local = exchange.local_ranks()?;
    let ascending = local.windows(2).all(|pair| pair[0] < pair[1]);
    if ascending && local.contains(&rank) && local.last().is_some_and(|&last| last < size) {
        return Ok(local);
    }
    let local = ranges::to_text(&local);
    Err(io::Error::other(format!(
        "the launcher says that ranks {local} of {size} run on the host of rank {rank}"
    )))
}

/// What the first rank of a host has made.
struct Leader {
    memory: HostMemory,
    /// There are other hosts, which watch over this one.
    listener: Option<Listener>,
}

impl Leader {
    fn new(size: u32, local: &[u32]) -> io::Result<Leader> {
        let several = local.len() < size as usize;
        Ok(Leader { memory: HostMemory::new(size)?, listener: several.then(Listener::open).transpose()? })
    }

    fn entry(&self, local: &[u32]) -> io::Result<HostEntry> {
        let lifeline = self.listener.as_ref().map(Listener::addresses).unwrap_or_default();
        Ok(HostEntry { memory: self.memory.names()?, ranks: local.to_vec(), lifeline })
    }
}

/// What the first rank of a host leaves in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostEntry {
    /// Where its memory files are.
    memory: String,
    /// The ranks of the host.
    ranks: Vec<u32>,
    /// Where its lifelines end; empty in a job of one host.
    lifeline: String,
}

impl fmt::Display for HostEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{};{}", self.memory, ranges::to_text(&self.ranks), self.lifeline)
    }
}

impl HostEntry {
    /// What a rank of a job of `size` ranks has left; `None` if it makes no sense.
    pub(crate) fn parse(text: &str, size: u32) -> Option<HostEntry> {
        let mut parts = text.split(';');
        let (memory, ranks, lifeline) = (parts.next()?, parts.next()?, parts.next()?);
        let ranks = ranges::parse(ranks, size)?;
        parts.next().is_none().then(|| HostEntry { memory: memory.into(), ranks, lifeline: lifeline.into() })
    }
}

fn host_entry(exchange: &mut dyn LauncherExchange, leader: u32) -> io::Result<HostEntry> {
    let size = exchange.identity().size;
    let text = exchange.get(leader, HOST_KEY)?.unwrap_or_default();
    HostEntry::parse(&text, size).ok_or_else(|| {
        io::Error::other(format!("rank {leader} has left no word of its host: is it a program of Tern?"))
    })
}

/// Which ranks run where: from the launcher, or by what the first ranks of all hosts have left. The first rank that no entry has
/// named is the first of the next host.
fn all_places(exchange: &mut dyn LauncherExchange, size: u32) -> io::Result<NodeMap> {
    if let Some(places) = exchange.places()? {
        return Ok(places);
    }
    let (mut host_of, mut hosts) = (vec![None; size as usize], 0);
    for rank in 0..size {
        if host_of[rank as usize].is_some() {
            continue;
        }
        for local in host_entry(exchange, rank)?.ranks {
            host_of[local as usize].get_or_insert(hosts);
        }
        host_of[rank as usize].get_or_insert(hosts);
        hosts += 1;
    }
    Ok(NodeMap::of(host_of.into_iter().flatten()))
}

/// What rank 0 has left.
fn secret_of_job(exchange: &mut dyn LauncherExchange) -> io::Result<JobSecret> {
    let text = exchange.get(0, SECRET_KEY)?.unwrap_or_default();
    let secret = from_hex(&text).and_then(|bytes| bytes.try_into().ok());
    secret.ok_or_else(|| io::Error::other("rank 0 has left no secret: is it a program of Tern?"))
}

/// The lifelines of the first rank of `host`.
fn lifelines(
    exchange: &mut dyn LauncherExchange,
    listener: Listener,
    secret: JobSecret,
    host: u32,
    places: &NodeMap,
) -> io::Result<Lifelines> {
    let first = |host| places.ranks_of(host).next().unwrap_or_default();
    let parent = match parent_of(host) {
        Some(parent) => Some((parent, host_entry(exchange, first(parent))?.lifeline)),
        None => None,
    };
    let firsts = (0..places.hosts()).map(first).collect();
    Lifelines::new(listener, secret, host, parent, firsts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_are_written() {
        let entry =
            HostEntry { memory: "1:2:3:4:5".into(), ranks: vec![0, 1, 4], lifeline: "9,10.0.0.1".into() };
        assert_eq!(entry.to_string(), "1:2:3:4:5;0-1,4;9,10.0.0.1");
        assert_eq!(HostEntry::parse(&entry.to_string(), 5), Some(entry));
        for bad in ["", ";;", "m;0-5;", "m;1,1;", "m;0", "m;0;a;b"] {
            assert_eq!(HostEntry::parse(bad, 5), None, "{bad}");
        }
    }
}
