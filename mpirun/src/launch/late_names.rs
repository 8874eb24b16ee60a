//! Names of hosts that are not known yet: where containers are hosts, a name comes with its container.

use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use crate::limits::{NAMES_LOOK, NAMES_WAIT_MAX};
use crate::watch::exit_cause::Refusal;

/// Waits until all of these are known.
pub(crate) fn wait<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    wait_for(names.collect(), is_known, NAMES_WAIT_MAX)
}

/// A user may stand before the name, as for `ssh`.
fn is_known(name: &str) -> bool {
    let host = name.rsplit('@').next().unwrap_or(name);
    (host, 0_u16).to_socket_addrs().is_ok_and(|mut addresses| addresses.next().is_some())
}

fn wait_for(mut names: Vec<&str>, is_known: impl Fn(&str) -> bool, limit: Duration) -> Result<(), Refusal> {
    let until = Instant::now() + limit;
    loop {
        names.retain(|name| !is_known(name));
        if names.is_empty() {
            return Ok(());
        }
        if Instant::now() >= until {
            let (count, first) = (names.len(), names[0]);
            let seconds = limit.as_secs();
            return Err(Refusal::usage(format!(
                "after {seconds} s there is still no address for {count} of the hosts, '{first}' for one: do their containers run?"
            )));
        }
        std::thread::sleep(NAMES_LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn names_may_come_late() {
        let asked = Cell::new(0);
        let known = |name: &str| {
            asked.set(asked.get() + 1);
            name == "a" || asked.get() > 3
        };
        assert!(wait_for(vec!["a", "b"], known, Duration::from_secs(50)).is_ok());
        assert!(is_known("localhost") && is_known("me@127.0.0.1"));
    }

    #[test]
    fn a_name_that_never_comes_is_told() {
        let error = wait_for(vec!["a", "b"], |name| name == "a", Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("1 of the hosts, 'b'"), "{error}");
    }
}
