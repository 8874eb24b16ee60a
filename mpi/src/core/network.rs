//! Connecting this process to its job: what the launcher knows, in the transports' words.

use crate::core::error::{Result, fail};
use crate::core::process::enter;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Mutex, OnceLock};
use tern_abi::MPI_ERR_OTHER;
use tern_fabric::{Fabric, JobPlace, Outside};
use tern_job::{DirectoryLink, Job};
use tern_transport::TransportConfig;
use tern_transport::directory::Directory;

/// Connects to the ranks of the job: by shared memory to those of this node, by TCP to the others.
pub(crate) fn connect(job: &mut Job, config: &TransportConfig) -> Result<Fabric> {
    let mut place = JobPlace {
        me: job.rank,
        size: job.size,
        local_ranks: (job.hosts > 1).then(|| job.places().ranks_of(job.host_of(job.rank)).collect()),
        segment: job.segment.take(),
        oversubscribed: job.cores.is_oversubscribed(),
        outside: None,
    };
    if place.needs_network(config) {
        place.outside = outside(job)?;
    } else if job.is_launched() {
        check_interfaces(job, config)?;
    }
    let mut config = *config;
    config.ofi.is_filtered = std::env::var_os("FI_PROVIDER").is_some();
    let fabric = Fabric::attach(place, &config).map_err(|error| fail(MPI_ERR_OTHER, error.to_string()))?;
    if let Some(note) = fabric.note().filter(|_| job.rank == 0) {
        job.report(note);
    }
    Ok(fabric)
}

/// Where ranks meet in memory alone, interfaces are named for processes that come later. Those that do not exist are an error all the
/// same. Alone, without a launcher, a process asks for them when it needs them.
fn check_interfaces(job: &Job, config: &TransportConfig) -> Result<()> {
    let interfaces = &config.tcp.interfaces;
    if interfaces.is_all() {
        return Ok(());
    }
    tern_tcp::check_interfaces(interfaces).map_err(|error| fail(MPI_ERR_OTHER, error.to_string()))?;
    if job.rank == 0 {
        job.report(&format!(
            "TERN_INTERFACE={}: without effect on ranks of one host, which meet in its memory; it counts for processes of other worlds",
            interfaces.text()
        ));
    }
    Ok(())
}

/// How the ranks of other nodes are found, if the launcher tells.
fn outside(job: &mut Job) -> Result<Option<Outside>> {
    let secret = job
        .secret()
        .map_err(|error| fail(MPI_ERR_OTHER, format!("cannot read the job's secret: {error}")))?;
    Ok(job
        .link
        .take()
        .map(|link| Outside { secret, directory: Box::new(ByLauncher { link, open: Vec::new() }) }))
}

/// The endpoint address that this rank has published by its launcher, and the descriptor of the launcher's answers.
static PUBLISHED: Mutex<Option<(Vec<u8>, RawFd)>> = Mutex::new(None);

/// The endpoint addresses of all ranks, once they have told each other.
static KEPT: OnceLock<Vec<Vec<u8>>> = OnceLock::new();

/// The endpoint address of this rank, if it is reached over a network. Where one rank of a world has one, all have.
pub(crate) fn published_address() -> Option<Vec<u8>> {
    published().as_ref().map(|(address, _)| address.clone())
}

fn published() -> std::sync::MutexGuard<'static, Option<(Vec<u8>, RawFd)>> {
    PUBLISHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// From now on nobody asks the launcher, which will have nothing more to say.
pub(crate) fn keep_addresses(addresses: Vec<Vec<u8>>) {
    if let (Some((_, fd)), Some(tcp)) = (&*published(), enter().abroad()) {
        tcp.unwatch(*fd);
    }
    // They are told once.
    let _ = KEPT.set(addresses);
}

/// Whether the ranks reach each other without their launcher.
pub(crate) fn has_kept_addresses() -> bool {
    KEPT.get().is_some()
}

/// The launcher, asked for the addresses of other ranks, until they have told each other.
struct ByLauncher {
    link: DirectoryLink,
    /// Questions without an answer.
    open: Vec<u32>,
}

impl Directory for ByLauncher {
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        *published() = Some((endpoint_address.to_vec(), self.link.fd()));
        self.link.publish(endpoint_address)
    }

    fn ask(&mut self, rank: u32) {
        self.open.push(rank);
        if !has_kept_addresses() {
            self.link.ask(rank);
        }
    }

    fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        if let Some(kept) = KEPT.get() {
            let rank = self.open.pop()?;
            return Some((rank, kept.get(rank as usize)?.clone()));
        }
        let (rank, address) = self.link.answer()?;
        self.open.retain(|open| *open != rank);
        Some((rank, address))
    }

    fn has_unsent(&self) -> bool {
        if has_kept_addresses() { !self.open.is_empty() } else { self.link.has_unsent() }
    }

    fn fd(&self) -> Option<RawFd> {
        (!has_kept_addresses()).then(|| self.link.fd())
    }
}
