//! Endpoint addresses of ranks: which are known here, and who waits for which.
//!
//! The same at `mpirun` and at every agent of another host: whoever does not know an endpoint address asks the next one on the
//! way to the host where it was published, and everybody on the way back keeps it.

use std::collections::HashMap;
use std::rc::Rc;

/// Who wants an endpoint address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A rank of this host.
    Rank(u32),
    /// A child agent of the tree of agents.
    ChildAgent(u32),
    /// Whoever started this agent.
    Parent,
}

/// What comes of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// This endpoint address.
    Known(Rc<[u8]>),
    /// Nobody has asked for it before: it is to be asked for.
    First,
    /// It has been asked for already.
    Again,
}

/// The endpoint addresses that are known here.
#[derive(Debug, Default)]
pub(crate) struct AddressDirectory {
    endpoint_addresses: HashMap<u32, Rc<[u8]>>,
    wanted: HashMap<u32, Vec<Asker>>,
}

impl AddressDirectory {
    /// Somebody wants the endpoint address of `rank`. Asking twice is asking once.
    pub(crate) fn ask(&mut self, rank: u32, asker: Asker) -> Asked {
        if let Some(endpoint_address) = self.endpoint_addresses.get(&rank) {
            return Asked::Known(endpoint_address.clone());
        }
        let first = !self.wanted.contains_key(&rank);
        let askers = self.wanted.entry(rank).or_default();
        if !askers.contains(&asker) {
            askers.push(asker);
        }
        if first { Asked::First } else { Asked::Again }
    }

    /// The endpoint address of `rank` has come. Returns it with those who have waited for it. The first one counts.
    pub(crate) fn learn(&mut self, rank: u32, endpoint_address: &[u8]) -> (Rc<[u8]>, Vec<Asker>) {
        let endpoint_address =
            self.endpoint_addresses.entry(rank).or_insert_with(|| endpoint_address.into()).clone();
        (endpoint_address, self.wanted.remove(&rank).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_once() {
        let mut directory = AddressDirectory::default();
        assert_eq!(directory.ask(7, Asker::Rank(1)), Asked::First);
        assert_eq!(directory.ask(7, Asker::Rank(2)), Asked::Again);
        assert_eq!(directory.ask(7, Asker::Rank(1)), Asked::Again);
        let (endpoint_address, waiting) = directory.learn(7, b"endpoint_address");
        assert_eq!(
            (&endpoint_address[..], &waiting[..]),
            (&b"endpoint_address"[..], &[Asker::Rank(1), Asker::Rank(2)][..])
        );
        assert_eq!(directory.learn(7, b"forged").1, []);
        assert_eq!(directory.ask(7, Asker::Rank(3)), Asked::Known(endpoint_address));
    }
}
