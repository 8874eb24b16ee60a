//! How the processes of two groups learn of each other: who they are, where they are to be found, and what lets one in.
//!
//! The processes that meet for their groups tell each other; each tells its own group then. What a world wants of processes of others
//! goes under a veil that only who knows such a secret already can lift, since messages within a world may be in clear.

use tern_abi::{MPI_ERR_INTERN, MPI_ERR_OTHER};
use tern_engine::Group;
use tern_tcp::{Foreigner, Tcp, veil};

use super::worlds::{chance, go_abroad};
use crate::comm::agree::{Bridge, Participants, number, record};
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, enter};

/// A process, for others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IntroducedProcess {
    /// Who it is. Of its own world nobody needs the secret.
    pub who: Foreigner,
    /// The number of its host in its world.
    pub host: u32,
}

/// The other group, and what both leaders have named.
pub(crate) struct IntroducedGroup {
    /// The other group.
    pub group: Group,
    /// The first context of this side's leader.
    pub our_contexts: u64,
    /// That of the other side's.
    pub their_contexts: u64,
}

/// The members of a participants. All become reachable for other worlds.
pub(crate) fn gather(participants: &Participants) -> Result<Vec<IntroducedProcess>> {
    go_abroad()?;
    let own = myself(&enter())?;
    let all = participants.allgather_any_length(&IntroductionWriter::default().member(&own).0)?;
    let process = enter();
    let read = |bytes: &Vec<u8>| {
        let mut member = IntroductionReader(bytes).member()?;
        member.who.entry = process.abroad()?.entry_of(member.who.world)?;
        Some(member)
    };
    all.iter().map(read).collect::<Option<_>>().ok_or_else(garbled)
}

fn myself(process: &Process) -> Result<IntroducedProcess> {
    let tcp = process.abroad().ok_or_else(garbled)?;
    let endpoint_address =
        tcp.endpoint_address().map_err(|error| fail(MPI_ERR_OTHER, format!("no address: {error}")))?;
    let rank = process.own_peer();
    let who = Foreigner { world: tcp.world(), rank, entry: [0; 32], endpoint_address };
    Ok(IntroducedProcess { who, host: process.host() })
}

/// Makes the other group's processes peers.
pub(crate) fn learn(members: &[IntroducedProcess]) -> Result<Group> {
    let mut process = enter();
    let peers: Result<Vec<_>> =
        members.iter().map(|member| process.add_peer(&member.who, member.host)).collect();
    Ok(Group::of(peers?))
}

/// How the secrets of worlds are kept from others.
#[derive(Clone, Copy)]
pub(crate) enum Veil<'a> {
    /// The way is encrypted.
    None,
    /// Processes of these worlds can read them.
    For(&'a [u64]),
}

/// The worlds of members, each once.
pub(crate) fn worlds_of(members: &[IntroducedProcess]) -> Vec<u64> {
    let mut worlds: Vec<u64> = members.iter().map(|member| member.who.world).collect();
    worlds.sort_unstable();
    worlds.dedup();
    worlds
}

/// What is told of members.
pub(crate) fn encode(members: &[IntroducedProcess], veil: Veil<'_>, tcp: &Tcp) -> Vec<u8> {
    let mut writer = IntroductionWriter::default();
    let worlds = worlds_of(members);
    writer = writer.word(worlds.len() as u32);
    for world in worlds {
        let entry =
            members.iter().find(|member| member.who.world == world).map_or([0; 32], |one| one.who.entry);
        writer = writer.long(world).secrets(entry, veil, tcp);
    }
    writer = writer.word(members.len() as u32);
    members.iter().fold(writer, IntroductionWriter::member).0
}

/// What was told.
pub(crate) fn decode(bytes: &[u8], tcp: &Tcp) -> Result<Vec<IntroducedProcess>> {
    read(&mut IntroductionReader(bytes), tcp).ok_or_else(garbled)
}

fn read(reader: &mut IntroductionReader<'_>, tcp: &Tcp) -> Option<Vec<IntroducedProcess>> {
    let mut entries = Vec::new();
    for _ in 0..reader.word()? {
        let world = reader.long()?;
        entries.push((world, reader.secret(tcp)?));
    }
    let count = reader.word()?;
    let mut members = Vec::new();
    for _ in 0..count {
        let mut member = reader.member()?;
        let entry = entries.iter().find(|(world, _)| *world == member.who.world)?;
        member.who.entry = entry.1;
        members.push(member);
    }
    Some(members)
}

/// The bytes of an introduction, growing.
#[derive(Default)]
struct IntroductionWriter(Vec<u8>);

impl IntroductionWriter {
    fn word(mut self, word: u32) -> IntroductionWriter {
        self.0.extend(word.to_le_bytes());
        self
    }

    fn long(mut self, long: u64) -> IntroductionWriter {
        self.0.extend(long.to_le_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> IntroductionWriter {
        self = self.word(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
        self
    }

    fn member(self, member: &IntroducedProcess) -> IntroductionWriter {
        let IntroducedProcess { who, host } = member;
        self.long(who.world).word(who.rank).word(*host).bytes(&who.endpoint_address)
    }

    /// The secret once for each world that is to read it; for world 0 in clear.
    fn secrets(self, secret: [u8; 32], veiled: Veil<'_>, tcp: &Tcp) -> IntroductionWriter {
        let Veil::For(worlds) = veiled else {
            let mut writer = self.word(1).long(0).long(0);
            writer.0.extend(secret);
            return writer;
        };
        let known: Vec<_> = worlds.iter().filter_map(|world| Some((*world, tcp.entry_of(*world)?))).collect();
        let mut writer = self.word(known.len() as u32);
        for (world, key) in known {
            let nonce = chance();
            writer = writer.long(world).long(nonce);
            writer.0.extend(veil(&key, nonce, secret));
        }
        writer
    }
}

/// What is left of an introduction that came from elsewhere.
struct IntroductionReader<'a>(&'a [u8]);

impl<'a> IntroductionReader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.word()? as usize;
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn member(&mut self) -> Option<IntroducedProcess> {
        let (world, rank, host) = (self.long()?, self.word()?, self.word()?);
        let endpoint_address = self.bytes()?.to_vec();
        Some(IntroducedProcess { who: Foreigner { world, rank, entry: [0; 32], endpoint_address }, host })
    }

    /// The first secret that this process can read.
    fn secret(&mut self, tcp: &Tcp) -> Option<[u8; 32]> {
        let mut found = None;
        for _ in 0..self.word()? {
            let (world, nonce, hidden) = (self.long()?, self.long()?, self.take::<32>()?);
            let show = || match world {
                0 => Some(hidden),
                _ => Some(veil(&tcp.entry_of(world)?, nonce, hidden)),
            };
            found = found.or_else(show);
        }
        found
    }
}

/// The leaders of two groups of processes that all know each other's worlds, or one world, tell each other who is in them
/// (`MPI_Intercomm_create`).
pub(crate) fn meet_over(
    participants: &Participants,
    leader: u32,
    bridge: Option<Bridge>,
    contexts: u64,
) -> Result<IntroducedGroup> {
    let has_met = u64::from(enter().worlds.has_met());
    let has_met = participants.max(has_met)?;
    let either = match &bridge {
        Some(Bridge { participants, far }) => {
            Some(record(&[has_met | number(&participants.swap_any_length(*far, &record(&[has_met]))?, 0)]))
        }
        None => None,
    };
    match number(&participants.bcast(leader, either.as_deref())?, 0) {
        0 => within_a_world(participants, leader, bridge, contexts),
        _ => among_worlds(participants, leader, bridge, contexts),
    }
}

/// Ranks of one world, where all are known.
fn within_a_world(
    participants: &Participants,
    leader: u32,
    bridge: Option<Bridge>,
    contexts: u64,
) -> Result<IntroducedGroup> {
    let ours: Vec<u64> =
        std::iter::once(contexts).chain(participants.group.members().map(u64::from)).collect();
    let told = match bridge {
        // The local leader's contexts are needed as well, by those who know only what it tells them.
        Some(Bridge { participants: bridge, far }) => {
            Some([record(&[contexts]), bridge.swap_any_length(far, &record(&ours))?].concat())
        }
        None => None,
    };
    let told = participants.bcast(leader, told.as_deref())?;
    let members = told.get(16..).unwrap_or_default().chunks_exact(8).map(|bytes| number(bytes, 0) as u32);
    Ok(IntroducedGroup {
        group: Group::of(members.collect()),
        our_contexts: number(&told, 0),
        their_contexts: number(&told, 8),
    })
}

fn among_worlds(
    participants: &Participants,
    leader: u32,
    bridge: Option<Bridge>,
    contexts: u64,
) -> Result<IntroducedGroup> {
    let ours = gather(participants)?;
    let told = match bridge {
        Some(bridge) => Some(tell_over(&ours, bridge, contexts)?),
        None => None,
    };
    let told = participants.bcast(leader, told.as_deref())?;
    let members = decode(told.get(16..).unwrap_or_default(), enter().abroad().ok_or_else(garbled)?)?;
    Ok(IntroducedGroup {
        group: learn(&members)?,
        our_contexts: number(&told, 0),
        their_contexts: number(&told, 8),
    })
}

/// What the leader of this side hears from the other one, for its own group.
fn tell_over(
    ours: &[IntroducedProcess],
    Bridge { participants, far }: Bridge,
    contexts: u64,
) -> Result<Vec<u8>> {
    let mine = {
        let process = enter();
        let (far_world, _) = process.identity_of(participants.member(far));
        let tcp = process.abroad().ok_or_else(garbled)?;
        [record(&[contexts]), encode(ours, Veil::For(&[far_world]), tcp)].concat()
    };
    let theirs = participants.swap_any_length(far, &mine)?;
    let process = enter();
    let tcp = process.abroad().ok_or_else(garbled)?;
    let members = decode(theirs.get(8..).unwrap_or_default(), tcp)?;
    let again = encode(&members, Veil::For(&worlds_of(ours)), tcp);
    Ok([record(&[contexts, number(&theirs, 0)]), again].concat())
}

/// What another process says makes no sense.
#[cold]
pub(crate) fn garbled() -> Box<Error> {
    fail(MPI_ERR_INTERN, "what the processes of two worlds tell of each other cannot be read")
}
