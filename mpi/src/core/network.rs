//! Connecting this process to its job: what the launcher knows, in the transports' words.

use crate::core::error::{Result, fail};
use std::io;
use std::os::fd::RawFd;
use tern_abi::MPI_ERR_OTHER;
use tern_fabric::{Fabric, JobPlace, Outside};
use tern_job::{DirectoryLink, Job};
use tern_transport::TransportConfig;
use tern_transport::directory::Directory;

/// Connects to the ranks of the job: by shared memory to those of this node, by TCP to the others.
pub fn connect(job: &mut Job, config: &TransportConfig) -> Result<Fabric> {
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
    }
    let mut config = *config;
    config.ofi.is_filtered = std::env::var_os("FI_PROVIDER").is_some();
    let fabric = Fabric::attach(place, &config).map_err(|error| fail(MPI_ERR_OTHER, error.to_string()))?;
    if let Some(note) = fabric.note().filter(|_| job.rank == 0) {
        job.report(note);
    }
    Ok(fabric)
}

/// How the ranks of other nodes are found, if the launcher tells.
fn outside(job: &mut Job) -> Result<Option<Outside>> {
    let secret = job
        .secret()
        .map_err(|error| fail(MPI_ERR_OTHER, format!("cannot read the job's secret: {error}")))?;
    Ok(job.link.take().map(|link| Outside { secret, directory: Box::new(ByLauncher(link)) }))
}

/// The launcher, asked for the addresses of other ranks.
struct ByLauncher(DirectoryLink);

impl Directory for ByLauncher {
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        self.0.publish(endpoint_address)
    }

    fn ask(&mut self, rank: u32) {
        self.0.ask(rank);
    }

    fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        self.0.answer()
    }

    fn has_unsent(&self) -> bool {
        self.0.has_unsent()
    }

    fn fd(&self) -> Option<RawFd> {
        Some(self.0.fd())
    }
}
