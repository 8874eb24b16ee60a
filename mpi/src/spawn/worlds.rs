//! The other worlds that this process has met, and how it becomes reachable for them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::RawFd;

use tern_abi::{MPI_Comm, MPI_ERR_OTHER};
use tern_engine::Group;
use tern_fabric::{Fabric, Outside};
use tern_tcp::Tcp;
use tern_transport::directory::Directory;
use tern_transport::{Peer, Transport};

use crate::comm::agree::{Participants, SourceNumbering};
use crate::comm::object::Comm;
use crate::core::error::{Result, fail};
use crate::core::process::{Process, enter, use_lock};
use crate::core::{progress, wait};
use crate::limits::LEAVING_TAG;

use super::object::GroupMeeting;

impl Process {
    /// Whether a peer is of another world.
    #[inline]
    pub(crate) fn is_foreign(&self, peer: Peer) -> bool {
        self.job.as_ref().is_some_and(|job| peer >= job.size)
    }

    /// The world of a peer and its rank there: what it is called in every process.
    pub(crate) fn identity_of(&self, peer: Peer) -> (u64, u32) {
        self.abroad().map_or((0, peer), |tcp| tcp.name_of(peer))
    }

    /// The number of a peer's host in its world.
    pub(crate) fn host_of(&self, peer: Peer) -> u32 {
        match self.worlds.hosts.get(&peer) {
            Some(host) => *host,
            None => self.job.as_ref().map_or(0, |job| job.host_of(peer)),
        }
    }

    /// The way to other worlds, once it is open.
    pub(crate) fn abroad(&self) -> Option<&Tcp> {
        self.engine_ref()?.transport_ref().abroad()
    }

    /// The same, to change it.
    pub(crate) fn abroad_mut(&mut self) -> Option<&mut Tcp> {
        self.engine_mut()?.transport().abroad_mut()
    }

    /// Whether the local group comes first where both sides of an intercommunicator must choose alike: the one with the first process,
    /// by world and rank.
    pub(crate) fn comes_first(&self, local: &Group, remote: &Group) -> bool {
        let first = |group: &Group| group.peer(0).map(|peer| self.identity_of(peer));
        first(local) < first(remote)
    }

    /// Notes which side of an intercommunicator comes first.
    pub(crate) fn put_sides_in_order(&self, comm: &mut Comm) {
        comm.comes_first = comm.remote.as_ref().is_none_or(|remote| self.comes_first(&comm.group, remote));
    }

    /// A color that the processes of a communicator have in common which share this one's host, as far as their world tells.
    pub(crate) fn host_color(&self, comm: MPI_Comm) -> Result<i32> {
        let this = self.comm(comm)?;
        Ok(self.host_among(this.all_members()) as i32)
    }

    /// A number below 2^31 that those of some processes have in common which are of this one's world and host.
    pub(crate) fn host_among(&self, members: impl IntoIterator<Item = Peer>) -> u32 {
        self.number_among(members, self.host())
    }

    /// A number below 2^31 for one that processes of this one's world have in common: another one where the members are of several worlds.
    pub(crate) fn number_among(&self, members: impl IntoIterator<Item = Peer>, number: u32) -> u32 {
        if !members.into_iter().any(|member| self.is_foreign(member)) {
            return number;
        }
        let (world, _) = self.identity_of(self.own_peer());
        let mixed = (world ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 33) as u32
    }

    /// Makes a process of another world a peer, or finds it; one of this world is one already.
    pub(crate) fn add_peer(&mut self, who: &tern_tcp::Foreigner, host: u32) -> Result<Peer> {
        let bad =
            |error: io::Error| fail(MPI_ERR_OTHER, format!("what another world tells of itself: {error}"));
        let tcp = self.abroad_mut().ok_or_else(|| fail(MPI_ERR_OTHER, "this process has no network"))?;
        let peer = tcp.add_peer(who).map_err(bad)?;
        if self.is_foreign(peer) {
            self.engine()?.add_peer(peer);
            self.worlds.hosts.insert(peer, host);
            self.worlds.has_met = true;
        }
        Ok(peer)
    }

    /// Those of some peers that are of other worlds, and that no communicator or window has any more.
    fn unused_among(&self, members: Vec<Peer>) -> Vec<Peer> {
        let mut unused: BTreeSet<Peer> =
            members.into_iter().filter(|peer| self.worlds.hosts.contains_key(peer)).collect();
        let mut keep = |group: &Group| {
            for member in group.members() {
                unused.remove(&member);
            }
        };
        for handle in self.objects.comms.handles() {
            let Some(comm) = self.objects.comms.get(handle) else { continue };
            keep(&comm.group);
            comm.remote.iter().for_each(&mut keep);
        }
        unused.into_iter().collect()
    }

    /// Whether a group of the program's names a peer, whose number must stay its own then.
    fn has_group_with(&self, peer: Peer) -> bool {
        self.objects.groups.iter().any(|(_, group)| group.rank_of(peer).is_some())
    }
}

/// Numbers hosts of several worlds in the order in which they are asked for.
#[derive(Default)]
pub(crate) struct Hosts(BTreeMap<(u64, u32), u32>);

impl Hosts {
    /// The number of a peer's host: the same in every process that asks for the same peers in the same order.
    pub(crate) fn number(&mut self, process: &Process, peer: Peer) -> u32 {
        let world = if process.is_foreign(peer) { process.identity_of(peer).0 } else { process.own_world() };
        let next = self.0.len() as u32;
        *self.0.entry((world, process.host_of(peer))).or_insert(next)
    }
}

impl Process {
    fn own_world(&self) -> u64 {
        self.abroad().map_or(0, Tcp::world)
    }
}

/// Makes this process reachable for other worlds, if it is not yet. A world pays for the way there from then on: a listening socket, a
/// thread that sees to what calls leave behind, and the lock.
pub(super) fn go_abroad() -> Result {
    let mut process = enter();
    if process.abroad().is_some() {
        if process.engine()?.transport().open_memory() {
            settle_in(&mut process);
        }
        return Ok(());
    }
    let job = process.job.as_ref().ok_or_else(crate::core::process::outside)?;
    let secret = job.secret().map_err(|error| fail(MPI_ERR_OTHER, format!("no secret: {error}")))?;
    let outside = Outside { secret, directory: Box::new(Nobody) };
    let opened = process.engine()?.transport().open(outside);
    opened.map_err(|error| fail(MPI_ERR_OTHER, error.to_string()))?;
    settle_in(&mut process);
    drop(process);
    use_lock();
    progress::start();
    Ok(())
}

/// Waits are others now, and whoever sleeps must do so by the new bell.
fn settle_in(process: &mut Process) {
    let oversubscribed = process.waiting.oversubscribed;
    let Some(fabric) = process.engine_ref().map(|engine| engine.transport_ref()) else { return };
    let (bell, per_yield, at_once) =
        (fabric.doorbell(), wait::polls_per_yield(fabric), wait::polls_at_once(fabric, oversubscribed));
    let (most, listens) = (wait::spin_polls_max(fabric), oversubscribed && fabric.has_poll_first());
    (process.waiting.polls_per_yield, process.waiting.polls_at_once, process.waiting.listens) =
        (per_yield, at_once, listens);
    (process.waiting.spin_polls_max, process.waiting.spin_polls_most) = (most, most);
    process.waiting.polling.look_at = 0;
    if let Some(old) = process.waiting.bell.replace(bell) {
        old.ring();
    }
}

/// The ranks of this world reach each other by memory.
struct Nobody;

impl Directory for Nobody {
    fn publish(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn ask(&mut self, _: u32) {}
    fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        None
    }
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

/// Parts from those members of a communicator that was disconnected with which this process has nothing else in common; all of them do the same
/// now. Members of communicators that were freed only stay connected (section 11.10.4).
pub(crate) fn part(call: &'static str, members: Vec<Peer>) {
    let mut process = enter();
    if process.worlds.hosts.is_empty() {
        return;
    }
    let unused = process.unused_among(members);
    let Some(tcp) = process.abroad_mut().filter(|_| !unused.is_empty()) else { return };
    tcp.part(&unused);
    tell_why_not_near(&mut process);
    wait::until(
        process,
        |_| wait::Waiting::outside(call, "parting from another world"),
        |process| process.abroad_mut().is_none_or(Tcp::has_parted).then_some(()),
    );
    let mut process = enter();
    let reserved = |peer: &Peer| process.has_group_with(*peer);
    let reserved: Vec<Peer> = unused.iter().copied().filter(reserved).collect();
    process.abroad_mut().into_iter().for_each(|tcp| tcp.reserve(&reserved));
    for peer in &unused {
        process.worlds.hosts.remove(peer);
        process.engine_mut().into_iter().for_each(|engine| engine.forget_peer(*peer));
    }
    let is_over = |meeting: &GroupMeeting| meeting.far_root.is_some_and(|root| unused.contains(&root));
    let over: Vec<GroupMeeting> =
        process.worlds.meetings.extract_if(.., |meeting| is_over(meeting)).collect();
    let launcher = process.worlds.launcher.clone();
    drop(process);
    for spawned in over.iter().filter_map(|meeting| meeting.spawned) {
        launcher.iter().for_each(|launcher| launcher.parted(spawned));
    }
}

/// Tells whoever asks (`mpirun -v`) why messages to a process of another world on this host went over TCP, if they did.
fn tell_why_not_near(process: &mut Process) {
    let why = process.engine_mut().and_then(|engine| engine.transport().take_note());
    if let (Some(why), Some(job)) = (why, &process.job) {
        job.report(&format!("messages to another world on this host go over TCP: {why}"));
    }
}

/// Nobody goes while a world that is still connected may need it (MPI 5.0 section 11.2.2): those who met for their groups wait for each
/// other.
pub(crate) fn leave_together(call: &'static str) -> Result {
    let meetings = {
        let mut process = enter();
        tell_why_not_near(&mut process);
        std::mem::take(&mut process.worlds.meetings)
    };
    let participants = |context: u64, far: Peer| Participants {
        call,
        group: Group::range(far, 1),
        rank: 0,
        context,
        tag: LEAVING_TAG,
        numbering: SourceNumbering::Across,
    };
    let participants: Vec<Participants> = meetings
        .iter()
        .filter_map(|meeting| meeting.far_root.map(|far| participants(meeting.context, far)))
        .collect();
    for participants in &participants {
        participants.signal(0)?;
    }
    participants.iter().try_for_each(|participants| participants.await_signal(0))
}

/// Whether the fabric carries messages to other worlds.
pub(crate) fn watches(fabric: &Fabric) -> bool {
    fabric.abroad().is_some_and(Tcp::has_foreigners)
}

/// A number that nobody can foresee.
pub(crate) fn chance() -> u64 {
    let secret = tern_job::job::fresh_secret().unwrap_or_default();
    secret.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}
