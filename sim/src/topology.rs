//! Where ranks are, and how far from each other.

use crate::params::{Distance, Params};
use tern_coll::{NodeRun, Nodes};
use tern_transport::Peer;

/// The places of ranks, which follow each other: core by core, node by node, switch by switch.
#[derive(Clone, Copy, Debug)]
pub struct RankTopology {
    ranks_per_core: u32,
    ranks_per_host: u32,
    hosts_per_switch: u32,
}

impl RankTopology {
    /// As the parameters say.
    pub fn new(params: &Params) -> RankTopology {
        let Params { ranks_per_core, ranks_per_host, hosts_per_switch, .. } = *params;
        RankTopology { ranks_per_core, ranks_per_host, hosts_per_switch }
    }

    /// The core that a rank computes on.
    pub fn core(&self, rank: Peer) -> usize {
        (rank / self.ranks_per_core) as usize
    }

    /// The node of a rank.
    pub fn host(&self, rank: Peer) -> u32 {
        rank / self.ranks_per_host
    }

    /// How far two ranks are from each other.
    pub fn distance(&self, a: Peer, b: Peer) -> Distance {
        let hosts = (self.host(a), self.host(b));
        if hosts.0 == hosts.1 {
            // A message to itself makes nobody sleep and wake.
            let same_core = a != b && self.core(a) == self.core(b);
            return if same_core { Distance::Core } else { Distance::Host };
        }
        let same_switch = hosts.0 / self.hosts_per_switch == hosts.1 / self.hosts_per_switch;
        if same_switch { Distance::Switch } else { Distance::Far }
    }

    /// The nodes of a job, as collectives see them.
    pub fn nodes(&self, ranks: u32) -> Nodes {
        let hosts = ranks.div_ceil(self.ranks_per_host);
        let on = |host: u32| self.ranks_per_host.min(ranks - host * self.ranks_per_host);
        let runs: Vec<NodeRun> = (0..hosts).map(|host| NodeRun { host, ranks: on(host) }).collect();
        Nodes::new(&runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_near_or_far() {
        let params =
            Params { ranks_per_core: 2, ranks_per_host: 4, hosts_per_switch: 2, ..Params::default() };
        let topology = RankTopology::new(&params);
        let distances = [0, 1, 2, 3, 4, 7, 8].map(|rank| topology.distance(0, rank));
        use Distance::*;
        assert_eq!(distances, [Host, Core, Host, Host, Switch, Switch, Far]);
        assert_eq!((topology.nodes(9).count(), topology.nodes(9).size()), (3, 9));
    }
}
