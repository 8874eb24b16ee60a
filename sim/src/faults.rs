//! What goes wrong, all of it drawn from a seed.

use crate::topology::RankTopology;
use crate::{Picos, picos};
use fastrand::Rng;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use tern_transport::Peer;

use crate::limits::LOSSES_MAX;

/// What goes wrong in a run. A transport keeps the messages of a pair in order and loses none, so whatever happens
/// below it is seen as delay; what ends a run is a rank that stops, or a link that never comes back.
#[derive(Clone, Debug, PartialEq)]
pub struct InjectedFaults {
    /// Where all chance comes from.
    pub seed: u64,
    /// The part of the messages between nodes that is lost, from 0 to below 1: a long one counts as one.
    pub loss: f64,
    /// When the sender sends a lost message again, nanoseconds; twice as long each further time.
    pub retransmit_ns: f64,
    /// Each message between nodes takes up to so much longer, nanoseconds: messages of different pairs overtake
    /// each other.
    pub jitter_ns: f64,
    /// Each rank begins up to so much later, nanoseconds.
    pub skew_ns: f64,
    /// Ranks that stop, and when.
    pub crashes: Vec<Crash>,
    /// Links that fail.
    pub cuts: Vec<LinkCut>,
}

/// A rank that stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crash {
    /// The rank.
    pub rank: Peer,
    /// When, nanoseconds.
    pub at_ns: f64,
}

/// Two nodes that cannot reach each other for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkCut {
    /// The nodes' numbers.
    pub hosts: (u32, u32),
    /// From when, nanoseconds.
    pub from_ns: f64,
    /// Until when; `None` for ever.
    pub until_ns: Option<f64>,
}

impl Default for InjectedFaults {
    fn default() -> Self {
        InjectedFaults {
            seed: 1,
            loss: 0.0,
            retransmit_ns: 1e6,
            jitter_ns: 0.0,
            skew_ns: 0.0,
            crashes: Vec::new(),
            cuts: Vec::new(),
        }
    }
}

impl InjectedFaults {
    /// Whether the network is as good as its parameters say.
    fn spares_the_network(&self) -> bool {
        self.loss == 0.0 && self.jitter_ns == 0.0 && self.cuts.is_empty()
    }

    /// When each rank begins.
    pub(crate) fn starts(&self) -> impl FnMut() -> Picos + use<> {
        let (mut random, skew) = (Rng::with_seed(self.seed), picos(self.skew_ns));
        move || if skew == 0 { 0 } else { random.u64(..skew + 1) }
    }

    /// What messages meet between nodes; `None` if nothing can happen to them.
    pub(crate) fn weather(&self) -> Option<Weather> {
        let random = Rng::with_seed(self.seed ^ 0x5EED);
        let weather = Weather { faults: self.clone(), random, latest: HashMap::default() };
        (!self.spares_the_network()).then_some(weather)
    }
}

/// What messages meet on their way between nodes.
#[derive(Debug)]
pub(crate) struct Weather {
    faults: InjectedFaults,
    random: Rng,
    /// The latest arrival of each pair: what is sent later arrives later.
    latest: HashMap<(Peer, Peer), Picos, BuildHasherDefault<DefaultHasher>>,
}

impl Weather {
    /// When a message between two ranks arrives that left at `sent` and would arrive at `arrival`; `None`: never.
    pub(crate) fn arrival(
        &mut self,
        topology: &RankTopology,
        from: Peer,
        to: Peer,
        sent: Picos,
        arrival: Picos,
    ) -> Option<Picos> {
        let hosts = (topology.host(from), topology.host(to));
        if hosts.0 == hosts.1 {
            return Some(arrival);
        }
        let travels = arrival - sent;
        let leaves = self.leaves(hosts, sent)?;
        let late = self.random.u64(..picos(self.faults.jitter_ns) + 1);
        let arrival = leaves + travels + self.lost() + late;
        let latest = self.latest.entry((from, to)).or_insert(0);
        *latest = arrival.max(*latest + 1);
        Some(*latest)
    }

    /// When the link between two nodes takes a message.
    fn leaves(&self, hosts: (u32, u32), sent: Picos) -> Option<Picos> {
        let concerns = |cut: &&LinkCut| cut.hosts == hosts || cut.hosts == (hosts.1, hosts.0);
        self.faults.cuts.iter().filter(concerns).try_fold(sent, |sent, cut| {
            let until = cut.until_ns.map(picos);
            let open = sent < picos(cut.from_ns) || until.is_some_and(|until| sent >= until);
            if open { Some(sent) } else { until }
        })
    }

    /// How long retransmissions take until the message gets through.
    fn lost(&mut self) -> Picos {
        let (mut wait, mut total) = (picos(self.faults.retransmit_ns), 0);
        for _ in 0..LOSSES_MAX {
            if self.random.f64() >= self.faults.loss {
                break;
            }
            total += wait;
            wait *= 2;
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;

    fn arrivals(faults: &InjectedFaults, sent: &[f64]) -> Vec<Option<Picos>> {
        let topology = RankTopology::new(&Params { ranks_per_host: 1, ..Params::default() });
        let mut weather = faults.weather().expect("bad weather");
        let arrive = |sent: &f64| weather.arrival(&topology, 0, 1, picos(*sent), picos(*sent + 10.0));
        sent.iter().map(arrive).collect()
    }

    #[test]
    fn a_cut_delays_or_swallows() {
        let cut = LinkCut { hosts: (1, 0), from_ns: 5.0, until_ns: Some(9.0) };
        let faults = InjectedFaults { cuts: vec![cut], ..InjectedFaults::default() };
        assert_eq!(arrivals(&faults, &[1.0, 5.0, 20.0]), [Some(11_000), Some(19_000), Some(30_000)]);
        let faults = InjectedFaults { cuts: vec![LinkCut { until_ns: None, ..cut }], ..faults };
        assert_eq!(arrivals(&faults, &[1.0, 5.0]), [Some(11_000), None]);
    }

    #[test]
    fn loss_delays_and_keeps_the_order_of_a_pair() {
        let faults = InjectedFaults { loss: 0.3, jitter_ns: 100.0, ..InjectedFaults::default() };
        let sent: Vec<f64> = (0..1000).map(f64::from).collect();
        let arrived: Vec<Picos> = arrivals(&faults, &sent).into_iter().flatten().collect();
        assert!(arrived.len() == 1000 && arrived.is_sorted_by(|a, b| a < b));
        assert!(arrived[999] > picos(1e6), "some were lost");
        assert_eq!(arrivals(&faults, &sent), arrivals(&faults, &sent));
    }
}
