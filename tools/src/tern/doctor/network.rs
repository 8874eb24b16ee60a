//! What jobs on several hosts need here: a name that others can find, and a way to log in elsewhere.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::finding::Finding;

/// A clock before this is wrong: Tern is younger. Seconds since 1970.
const YOUNGEST_S: u64 = 1_700_000_000;

/// One finding for each point.
pub(super) fn findings() -> Vec<Finding> {
    vec![host_name(), ssh(), clock()]
}

fn host_name() -> Finding {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let found: Vec<IpAddr> = match (name.as_str(), 0).to_socket_addrs() {
        Ok(addresses) => addresses.map(|address| address.ip()).collect(),
        Err(error) => {
            return Finding::note(
                "host name",
                format!(
                    "{name} has no address here ({error}): jobs on several hosts must name this one by an address"
                ),
            );
        }
    };
    match found.iter().find(|address| !address.is_loopback()) {
        Some(address) => Finding::ok("host name", format!("{name} is {address}")),
        None => Finding::note(
            "host name",
            format!("{name} is only a loop-back address here: other hosts need another one for it"),
        ),
    }
}

fn ssh() -> Finding {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> =
        std::env::split_paths(&folders).map(|folder| folder.join("ssh")).find(|file| file.is_file());
    match found {
        Some(file) => Finding::ok("ssh", format!("{} starts jobs on other hosts", file.display())),
        None => Finding::note("ssh", "is not in PATH: jobs on several hosts need it, or 'mpirun --launcher'"),
    }
}

fn clock() -> Finding {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    if now.as_secs() > YOUNGEST_S {
        return Finding::ok("clock", "is plausible");
    }
    Finding::note("clock", "is years behind: times in output and logs will be wrong")
}
