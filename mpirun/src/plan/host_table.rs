//! Which names are one host's.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::plan::hosts::{Host, is_local};

/// Hosts of a list by their names. A name finds the host that has it, the name without a domain, or the name with one: batch systems,
/// users and machines do not agree on domains. A user, as for `ssh`, is no part of it, and all names of this machine are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostTable {
    named: HashMap<String, usize>,
    /// By what is left of names without the end of their domains.
    shortened: HashMap<String, usize>,
}

impl HostTable {
    /// The hosts at their places in the list. A name that several may have is the first one's.
    pub(crate) fn of(hosts: &[Host]) -> HostTable {
        let mut table = HostTable::default();
        for (at, host) in hosts.iter().enumerate() {
            table.add(&host.name, at);
        }
        table
    }

    /// Where the host with this name is.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let name = canonical(name);
        let without_domain = || shortened(name).find_map(|name| self.named.get(name));
        self.named.get(name).or_else(without_domain).or_else(|| self.shortened.get(name)).copied()
    }

    /// Takes a host up.
    pub(crate) fn add(&mut self, name: &str, at: usize) {
        let name = canonical(name);
        for short in shortened(name) {
            self.shortened.entry(short.into()).or_insert(at);
        }
        self.named.entry(name.into()).or_insert(at);
    }
}

/// The name alone, which for this machine is always the same.
fn canonical(name: &str) -> &str {
    let name = name.rsplit('@').next().unwrap_or(name);
    if is_local(name) { "localhost" } else { name }
}

/// `a.b` and `a` of `a.b.c`. Addresses have no domain.
fn shortened(name: &str) -> impl Iterator<Item = &str> {
    let is_address = name.parse::<IpAddr>().is_ok();
    name.rmatch_indices('.').filter(move |_| !is_address).map(|(at, _)| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::hosts::own_name;

    #[test]
    fn names_of_one_host_are_found() {
        let own = own_name();
        let hosts = ["n1.site.org", "n2", "10.0.0.1", &own, "n1.other.org", "me@n3"];
        let table = HostTable::of(&hosts.map(|name| Host::parse(name).unwrap()));
        for (name, at) in [
            ("n1.site.org", Some(0)),
            ("n1.site", Some(0)),
            ("n1", Some(0)),
            ("n1.other.org", Some(4)),
            ("n1.third.org", None),
            ("n2", Some(1)),
            ("n2.site.org", Some(1)),
            ("me@n2.site.org", Some(1)),
            ("n3", Some(5)),
            ("10.0.0.1", Some(2)),
            ("10.0", None),
            ("localhost", Some(3)),
            ("127.0.0.1", Some(3)),
            ("n", None),
        ] {
            assert_eq!(table.find(name), at, "{name}");
        }
    }
}
