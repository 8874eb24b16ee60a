//! Whether multicast works among the hosts of a job: found out once, in `MPI_Init`. If it does not, all goes by connections.
//!
//! One rank of each node, its lowest, stands for it: these find out by which interface they reach each other, and listen to
//! each other's multicasts for a tenth of a second at most (`tern_datagram::probe`). The worst that one of them has seen
//! is the verdict, and all ranks get the same one.

mod verdict;

use verdict::MulticastRoute;
pub(crate) use verdict::{MulticastVerdict, wanted};

use crate::comm::agree::{Participants, SourceNumbering};
use crate::comm::object::Lane;
use crate::core::error::{Result, fail};
use crate::core::process::{Process, enter};
use crate::core::wait::{self, Waiting};
use crate::limits::{EACH_AGREEMENT_TAG, FAR_AGREEMENT_TAG, MULTICAST_RANKS_MAX, NEAR_AGREEMENT_TAG};
use std::fmt;
use std::net::IpAddr;
use tern_abi::{MPI_COMM_WORLD, MPI_ERR_OTHER};
use tern_datagram::probe::Observation;
use tern_engine::Group;
use tern_transport::{Medium, Peer, TransportSetting};

/// Finds out. All ranks come here with the same question.
pub(crate) fn settle() -> Result {
    let process = enter();
    let forced = process.coll.transport == TransportSetting::Urtp;
    if process.multicast.verdict != MulticastVerdict::Open {
        report_verdict(&process);
        return process.multicast.verdict.insist(forced);
    }
    let nodes = ProbeTiers::of_nodes(&process)?;
    // What all messages go by must work between any two ranks.
    let tiers = if forced { ProbeTiers::of_ranks(&process)? } else { nodes.clone() };
    let hosts_are_shared = process.job.as_ref().is_some_and(|job| job.size > job.hosts);
    let medium = process.multicast.medium;
    drop(process);
    let address = nodes.find_interface()?;
    let verdict = tiers.find_out(medium, address, hosts_are_shared)?;
    let mut process = enter();
    match &verdict {
        MulticastVerdict::Works(_) => {
            let fabric = process.engine()?.transport();
            fabric.use_packets();
            process.multicast.ranks_apart = forced;
        }
        _ => verdict.insist(forced)?,
    }
    process.multicast.verdict = verdict;
    report_verdict(&process);
    Ok(())
}

/// `mpirun --verbose` says it once.
fn report_verdict(process: &Process) {
    if let Some(job) = process.job.as_ref().filter(|job| job.rank == 0 && job.size > 1) {
        job.report(&process.multicast.verdict.to_string());
    }
}

impl MulticastVerdict {
    /// Where datagrams are the only way, a job without them does not start.
    fn insist(&self, forced: bool) -> Result {
        match self {
            MulticastVerdict::Fails(why) if forced => {
                let text = format!("TERN_TRANSPORT=urtp: {why}; without it messages go by TCP");
                Err(fail(MPI_ERR_OTHER, text))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for MulticastVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MulticastVerdict::Unasked(why) => write!(f, "multicast is not used: {why}"),
            MulticastVerdict::Open => write!(f, "multicast: nobody has asked yet"),
            MulticastVerdict::Works(MulticastRoute { medium, address, instead }) => {
                let frames =
                    if *medium == Medium::Ethernet { "Ethernet frames by the interface of " } else { "" };
                write!(f, "multicast works among all hosts; rank 0 uses {frames}{address}")?;
                instead.iter().try_for_each(|why| write!(f, ", UDP instead of Ethernet frames: {why}"))
            }
            MulticastVerdict::Fails(why) => write!(f, "multicast is not used: {why}"),
        }
    }
}

/// Who talks to whom: the ranks of a node, and of those that stand for theirs.
#[derive(Clone)]
struct ProbeTiers {
    near: Participants,
    /// `None` for a rank that another one stands for.
    far: Option<Participants>,
}

impl ProbeTiers {
    /// The lowest rank of each node stands for it. On a single node each rank stands for itself: it is of no use to know
    /// how they reach a node that they are on.
    fn of_nodes(process: &Process) -> Result<ProbeTiers> {
        let Some(job) = process.job.as_ref().filter(|job| job.hosts > 1) else {
            return ProbeTiers::of_ranks(process);
        };
        let me = process.comm(MPI_COMM_WORLD)?.rank;
        let places = job.places();
        let first = |host| places.ranks_of(host).min();
        let near = places.ranks_of(job.host_of(me)).collect();
        ProbeTiers::new(process, near, ((0..job.hosts).filter_map(first).collect(), FAR_AGREEMENT_TAG))
    }

    /// Each rank stands for itself.
    fn of_ranks(process: &Process) -> Result<ProbeTiers> {
        let world = process.comm(MPI_COMM_WORLD)?;
        ProbeTiers::new(process, vec![world.rank], ((0..world.group.size()).collect(), EACH_AGREEMENT_TAG))
    }

    fn new(process: &Process, near: Vec<Peer>, (far, tag): (Vec<Peer>, i32)) -> Result<ProbeTiers> {
        let world = process.comm(MPI_COMM_WORLD)?;
        let participants = |members: Vec<Peer>, tag: i32| {
            let group = Group::of(members);
            let rank = group.rank_of(world.rank)?;
            let context = world.lane(Lane::Local);
            Some(Participants {
                call: "MPI_Init",
                group,
                rank,
                context,
                tag,
                numbering: SourceNumbering::Ranks,
            })
        };
        let near = participants(near, NEAR_AGREEMENT_TAG)
            .ok_or_else(|| fail(MPI_ERR_OTHER, "this rank is not on its own node"))?;
        Ok(ProbeTiers { near, far: participants(far, tag) })
    }

    /// Tries the medium that is asked for, and UDP if that is another one and does not work. Such a job has several ranks on
    /// one node, where frames do not go from one to the other.
    fn find_out(
        &self,
        medium: Medium,
        address: Option<IpAddr>,
        hosts_are_shared: bool,
    ) -> Result<MulticastVerdict> {
        let mut instead = None;
        if medium == Medium::Ethernet {
            let why = match hosts_are_shared {
                true => "several ranks share a node".into(),
                false => self.fault(medium, address)?,
            };
            match (address, why.is_empty()) {
                (Some(address), true) => {
                    return Ok(MulticastVerdict::Works(MulticastRoute {
                        medium,
                        ..MulticastRoute::udp(address)
                    }));
                }
                _ => instead = Some(why),
            }
        }
        let why = self.fault(Medium::Udp, address)?;
        Ok(match address {
            Some(address) if why.is_empty() => {
                MulticastVerdict::Works(MulticastRoute { instead, ..MulticastRoute::udp(address) })
            }
            _ => MulticastVerdict::Fails(why),
        })
    }

    /// The ranks that stand for nodes meet, which takes connections between them and so tells an interface, and pass it on.
    fn find_interface(&self) -> Result<Option<IpAddr>> {
        let mut address = None;
        if let Some(far) = &self.far {
            far.barrier()?;
            address = enter().engine()?.transport().address();
        }
        let told = address.map(|address| address.to_string().into_bytes()).unwrap_or_default();
        let told = self.near.bcast(0, self.far.as_ref().map(|_| &*told))?;
        Ok(std::str::from_utf8(&told).ok().and_then(|text| text.parse().ok()))
    }

    /// When all have opened their sockets, those that stand for nodes listen to each other. Answers what is wrong, the same to
    /// all, and nothing if all is well.
    fn fault(&self, medium: Medium, address: Option<IpAddr>) -> Result<String> {
        let opened = address.is_some_and(|address| open(medium, address).is_ok());
        let mut worst = self.near.max(rank_of(&observation(opened, self.near.member(self.near.rank))))?;
        if let Some(far) = &self.far {
            // Who has no sockets is not heard, but all go through this together.
            worst = worst.max(far.max(worst)?);
            if worst == 0 {
                worst = listen(far)?;
            }
        }
        let told = worst.to_le_bytes();
        let worst = self.near.bcast(0, self.far.as_ref().map(|_| &told[..]))?;
        let worst = observed(crate::comm::agree::number(&worst, 0));
        Ok(match (worst.unheard, medium) {
            (0, _) => String::new(),
            (Observation::NO_LINK, Medium::Ethernet) => no_frames(worst.by),
            _ => worst.to_string(),
        })
    }
}

fn no_frames(rank: Peer) -> String {
    format!("rank {rank} cannot send them; that takes an Ethernet interface and the capability CAP_NET_RAW")
}

fn open(medium: Medium, address: IpAddr) -> std::io::Result<()> {
    let mut process = enter();
    let engine = process.engine().map_err(|_| std::io::ErrorKind::NotConnected)?;
    engine.transport().open_packets(medium, address)
}

/// The worst that somebody has observed. Where some hear each other and others do not, it is tried once more.
fn listen(far: &Participants) -> Result<u64> {
    let (worst, unheard) = try_once(far)?;
    let hears_some = unheard.saturating_add(1) < far.group.size();
    if worst == 0 || far.max(u64::from(hears_some))? == 0 {
        return Ok(worst);
    }
    Ok(try_once(far)?.0)
}

/// The worst that somebody has observed, and how many this rank has not heard. Who has given somebody up goes on speaking and
/// listening until all have, and then all look again: on an oversubscribed node, or where connections lose packets, one may begin
/// when another has given it up.
fn try_once(far: &Participants) -> Result<(u64, u32)> {
    let mut mine = first_look(far)?;
    let mut worst = far.max(rank_of(&mine))?;
    if worst > 0 {
        mine = look(far)?;
        worst = far.max(rank_of(&mine))?;
    }
    enter().engine()?.transport().end_probe();
    Ok((worst, mine.unheard))
}

fn look(far: &Participants) -> Result<Observation> {
    let observed = enter().engine()?.transport().observed();
    Ok(observed.unwrap_or(Observation::no_link(far.member(far.rank))))
}

fn first_look(far: &Participants) -> Result<Observation> {
    let members: Vec<Peer> = far.group.members().collect();
    let mut process = enter();
    let ranks_per_core = process.job.as_ref().map_or(1, |job| job.cores.ranks_per_core());
    if process.engine()?.transport().begin_probe(&members, ranks_per_core).is_err() {
        return Ok(Observation::no_link(far.member(far.rank)));
    }
    wait::until(
        process,
        |_| Waiting { detail: "for multicasts of other hosts".into(), ..Waiting::on(far.call) },
        |process| process.engine_mut()?.transport().has_probed().then_some(()),
    );
    look(far)
}

fn observation(opened: bool, me: Peer) -> Observation {
    match opened {
        true => Observation { unheard: 0, by: me, first: me },
        false => Observation::no_link(me),
    }
}

/// An observation as a number that is the greater the worse it is, and 0 if all is well. Ranks have 24 bits: there are no more
/// in a job that asks.
fn rank_of(observation: &Observation) -> u64 {
    let Observation { unheard, by, first } = *observation;
    let few = |rank: Peer| u64::from(rank) & 0xFF_FFFF;
    if unheard == 0 { 0 } else { u64::from(unheard.min(0xFFFF)) << 48 | few(by) << 24 | few(first) }
}

fn observed(number: u64) -> Observation {
    let unheard = match (number >> 48) as u32 {
        0xFFFF => Observation::NO_LINK,
        unheard => unheard,
    };
    Observation { unheard, by: (number >> 24) as Peer & 0xFF_FFFF, first: number as Peer & 0xFF_FFFF }
}

const _: () = assert!(MULTICAST_RANKS_MAX < 0xFFFF);

/// Before a rank leaves: nothing more goes by datagrams, and all that went has arrived.
pub(crate) fn retire(call: &'static str) {
    let mut process = enter();
    let Some(engine) = process.engine_mut() else { return };
    engine.transport().retire_packets();
    wait::until(
        process,
        |_| Waiting { detail: "until all that was multicast has arrived".into(), ..Waiting::on(call) },
        |process| process.engine_mut()?.transport().is_quiet().then_some(()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_transport::TransportConfig;

    #[test]
    fn the_worst_observation_is_the_greatest_number() {
        let all = [
            Observation { unheard: 0, by: 3, first: 3 },
            Observation { unheard: 1, by: 3, first: 9 },
            Observation { unheard: 2, by: 1, first: 0 },
            Observation::no_link(2),
        ];
        let numbers = all.map(|observation| rank_of(&observation));
        assert!(numbers.is_sorted() && numbers[0] == 0, "{numbers:?}");
        for (observation, number) in all.iter().zip(numbers).skip(1) {
            let again = observed(number);
            assert_eq!((again.unheard, again.by), (observation.unheard, observation.by));
        }
    }

    #[test]
    fn only_jobs_on_several_machines_ask() {
        let config = TransportConfig::default();
        let by_table = |config: &TransportConfig, size, hosts| wanted(config, size, hosts, &[]);
        let is_unasked = |verdict| matches!(verdict, MulticastVerdict::Unasked(_));
        assert_eq!(by_table(&config, 4, 3), MulticastVerdict::Open);
        assert!(is_unasked(by_table(&config, 4, 1)));
        assert!(is_unasked(by_table(&TransportConfig { multicast: Medium::Off, ..config }, 4, 3)));
        let mut secret = config;
        secret.tcp.encrypt = true;
        assert!(is_unasked(by_table(&secret, 4, 3)));
        let packets = TransportConfig { transport: TransportSetting::Urtp, ..config };
        assert_eq!(by_table(&packets, 2, 1), MulticastVerdict::Open);
        let both = TransportConfig { transport: TransportSetting::Urtp, ..secret };
        assert!(matches!(by_table(&both, 2, 1), MulticastVerdict::Fails(_)));
    }

    #[test]
    fn two_nodes_ask_if_a_row_of_the_users_wants_multicasts() {
        let config = TransportConfig::default();
        assert!(matches!(wanted(&config, 4, 2, &[]), MulticastVerdict::Unasked(_)));
        let rows = tern_coll::table::parse("bcast any any any multicast").unwrap();
        assert_eq!(wanted(&config, 4, 2, &rows), MulticastVerdict::Open);
    }
}
