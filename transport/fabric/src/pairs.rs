//! Shared memory with processes of other worlds on this host.
//!
//! Each pair has a memory of its own: that of a job of two. Messages go over TCP until both processes have it, and the connection stays:
//! by it the end of the other process is noticed. The two tell each other by letters among their messages:
//!
//! | letter | from | says |
//! |---|---|---|
//! | `Call` | who first sends to the other | which host this is, and where I sleep |
//! | `Made` | the other | where I sleep, and where the memory is that I have made |
//! | `Near` | each, the caller first | all that follows goes by memory |
//! | `No` | either | we stay with TCP |
//!
//! `Near` is the last message by TCP, so nothing gets out of order: its receiver reads the memory only then.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tern_mem::UserBuf;

use super::sinks::{Renumbered, pass_on};
use tern_shm::abroad::{BellOf, FileOf, host_mark, memory_file, open_bell};
use tern_shm::bell::Bell;
use tern_shm::{AttachError, FarBell, JobMemory, Shm};
use tern_tcp::Tcp;
use tern_transport::config::TransportConfig;
use tern_transport::{
    AM_INLINE_BYTES_MAX, Am, CooperativeCopyKey, Full, Header, Peer, Sink, Transfer, TransferError, Transport,
};

/// The kind of letters. The engine has few kinds, counted from 1, and never sees them.
const KIND: u8 = u8::MAX - 1;

/// What one process tells the other, see above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Letter {
    Call { host: u64, bell: BellOf },
    Made { bell: BellOf, file: FileOf },
    Near,
    No,
}

/// The processes of other worlds, as far as they may be near.
pub(super) struct Pairs {
    /// This rank.
    me: Peer,
    /// Ranks of this world: the others have the numbers from there on.
    size: u32,
    /// Of this host; 0 if it is not known, and nobody is near.
    host: u64,
    bell: Arc<Bell>,
    /// Where others find the bell.
    bell_of: BellOf,
    /// What it lies in.
    _memory: Arc<JobMemory>,
    config: TransportConfig,
    /// By number.
    others: Vec<OtherProcess>,
    /// Those with whom there is a memory.
    made: Vec<Peer>,
    arrived: Vec<(Peer, Letter)>,
    /// What TCP has not taken yet.
    unsent: Vec<(Peer, Letter)>,
    /// The first reason why one on this host is reached by TCP, for whoever wants to know.
    why: Option<String>,
}

/// How far it has come with a process.
enum OtherProcess {
    Unasked,
    Called,
    Made(Box<ProcessPair>),
    /// It is reached by TCP.
    Far,
}

/// The memory of two processes.
struct ProcessPair {
    shm: Shm,
    /// The other one's number there.
    index: Peer,
    /// Kept until the other one has opened it.
    file: Option<OwnedFd>,
    /// It is known that both have it.
    agreed: bool,
    /// The other one's messages come by it.
    reads: bool,
    /// This one's messages go by it.
    writes: bool,
}

impl OtherProcess {
    fn is_near(&self) -> bool {
        matches!(self, OtherProcess::Made(pair) if pair.writes && pair.reads)
    }
}

impl Pairs {
    /// For a process that sleeps on the bell of `shm`, whose file is `memory`.
    pub(super) fn new(
        (me, size): (Peer, u32),
        shm: &Shm,
        memory: &Arc<JobMemory>,
        config: &TransportConfig,
    ) -> Option<Pairs> {
        let bell_of = shm.bell_of(memory.file_of()?);
        Some(Pairs {
            me,
            size,
            host: host_mark(),
            bell: shm.bell().clone(),
            bell_of,
            _memory: memory.clone(),
            config: *config,
            others: Vec::new(),
            made: Vec::new(),
            arrived: Vec::new(),
            unsent: Vec::new(),
            why: None,
        })
    }

    /// What this process shares with another one, if there is something: of ranks of this world there is nothing.
    #[inline]
    fn pair(&self, peer: Peer) -> Option<&ProcessPair> {
        match self.others.get(peer.wrapping_sub(self.size) as usize)? {
            OtherProcess::Made(pair) => Some(pair),
            _ => None,
        }
    }

    /// The same, to use it.
    #[inline]
    fn pair_mut(&mut self, peer: Peer) -> Option<&mut ProcessPair> {
        match self.others.get_mut(peer.wrapping_sub(self.size) as usize)? {
            OtherProcess::Made(pair) => Some(pair),
            _ => None,
        }
    }

    /// The memory by which messages go to a process, and its number there.
    #[inline]
    pub(super) fn way(&mut self, peer: Peer) -> Option<(&mut Shm, Peer)> {
        self.pair_mut(peer).filter(|pair| pair.writes).map(|pair| (&mut pair.shm, pair.index))
    }

    /// The memory by which a process's messages come, and its number there.
    #[inline]
    pub(super) fn way_from(&mut self, peer: Peer) -> Option<(&mut Shm, Peer)> {
        self.pair_mut(peer).filter(|pair| pair.reads).map(|pair| (&mut pair.shm, pair.index))
    }

    /// Whether messages go to a process by memory.
    pub(super) fn is_near(&self, peer: Peer) -> bool {
        self.pair(peer).is_some_and(|pair| pair.writes)
    }

    /// Whether [`Pairs::memory`] has some.
    pub(super) fn has_memory(&self, peer: Peer) -> bool {
        self.pair(peer).is_some_and(|pair| pair.agreed)
    }

    /// The memory of a process for copies, which may be taken before messages go by it.
    pub(super) fn memory(&mut self, peer: Peer) -> Option<(&mut Shm, Peer)> {
        self.pair_mut(peer).filter(|pair| pair.agreed).map(|pair| (&mut pair.shm, pair.index))
    }

    /// Wakes a process that may sleep. Whether it slept.
    pub(super) fn ring(&self, peer: Peer) -> bool {
        self.pair(peer).is_some_and(|pair| pair.shm.ring(pair.index))
    }

    /// With how many processes messages go by memory, both ways.
    pub(super) fn near(&self) -> usize {
        self.others.iter().filter(|other| other.is_near()).count()
    }

    /// Whether it is so with all that this process sends to or hears of.
    pub(super) fn are_all_near(&self) -> bool {
        self.others.iter().all(|other| other.is_near() || matches!(other, OtherProcess::Unasked))
    }

    /// Why a process of this host is not, if one is not.
    pub(super) fn take_why(&mut self) -> Option<String> {
        self.why.take()
    }

    fn other(&mut self, peer: Peer) -> &mut OtherProcess {
        let at = (peer - self.size) as usize;
        if at >= self.others.len() {
            self.others.resize_with(at + 1, || OtherProcess::Unasked);
        }
        &mut self.others[at]
    }

    /// The first message to a process is about to go.
    #[cold]
    pub(super) fn call(&mut self, peer: Peer, tcp: &mut Tcp) {
        let letter = Letter::Call { host: self.host, bell: self.bell_of };
        if peer < self.size || self.host == 0 || !matches!(self.other(peer), OtherProcess::Unasked) {
            return;
        }
        *self.other(peer) = OtherProcess::Called;
        self.write(peer, letter, tcp);
    }

    /// From now on by memory, if that is agreed and TCP takes the letter that says so.
    #[cold]
    pub(super) fn approach(&mut self, peer: Peer, tcp: &mut Tcp) -> bool {
        let waits = self.unsent.iter().any(|(to, _)| *to == peer);
        if peer < self.size || waits {
            return false;
        }
        let OtherProcess::Made(pair) = self.other(peer) else { return false };
        if !pair.agreed || pair.writes || Letter::Near.send(peer, tcp).is_err() {
            return false;
        }
        pair.writes = true;
        true
    }

    /// This process has parted from another one.
    pub(super) fn forget(&mut self, peer: Peer) {
        if peer < self.size {
            return;
        }
        *self.other(peer) = OtherProcess::Unasked;
        self.made.retain(|other| *other != peer);
        self.arrived.retain(|(from, _)| *from != peer);
        self.unsent.retain(|(to, _)| *to != peer);
    }

    fn write(&mut self, peer: Peer, letter: Letter, tcp: &mut Tcp) {
        if letter.send(peer, tcp).is_err() {
            self.unsent.push((peer, letter));
        }
    }

    /// Takes what has come by memory.
    #[inline]
    pub(super) fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let mut any = false;
        for at in 0..self.made.len() {
            let peer = self.made[at];
            let Some(OtherProcess::Made(pair)) = self.others.get_mut((peer - self.size) as usize) else {
                continue;
            };
            // What comes by the memory of two is the other one's.
            let mut sink = Renumbered { sink, number: |_| peer };
            any |= match pair.reads {
                true => pair.shm.poll(&mut sink),
                false => pair.shm.poll_copies(&mut sink),
            };
        }
        any
    }

    /// Reads letters, sends those that had to wait, and says who is nearer than messages go. Whether anything has changed.
    #[inline]
    pub(super) fn settle(&mut self, tcp: &mut Tcp, sink: &mut impl Sink) -> bool {
        let any = !self.arrived.is_empty();
        if any || !self.unsent.is_empty() {
            self.read_all(tcp);
        }
        for peer in &self.made {
            if self.pair(*peer).is_some_and(|pair| pair.agreed && !pair.writes) {
                sink.nearer(*peer);
            }
        }
        any
    }

    #[cold]
    fn read_all(&mut self, tcp: &mut Tcp) {
        for (peer, letter) in std::mem::take(&mut self.unsent) {
            self.write(peer, letter, tcp);
        }
        for (from, letter) in std::mem::take(&mut self.arrived) {
            self.read(from, letter, tcp);
        }
    }

    fn read(&mut self, from: Peer, letter: Letter, tcp: &mut Tcp) {
        match letter {
            Letter::Call { host, bell } => self.called(from, host, &bell, tcp),
            Letter::Made { bell, file } => self.accept(from, &bell, &file, tcp),
            Letter::Near => {
                if let OtherProcess::Made(pair) = self.other(from) {
                    (pair.reads, pair.agreed, pair.file) = (true, true, None);
                }
            }
            Letter::No => self.stay_far(from, None),
        }
    }

    fn called(&mut self, from: Peer, host: u64, bell: &BellOf, tcp: &mut Tcp) {
        let crossed = matches!(self.other(from), OtherProcess::Called);
        // Of two that have called each other the first one's call counts, by world and rank.
        if crossed && tcp.name_of(self.me) < tcp.name_of(from) {
            return;
        }
        if !crossed && !matches!(self.other(from), OtherProcess::Unasked) {
            return self.write(from, Letter::No, tcp);
        }
        let answer = match host == self.host && host != 0 {
            true => self.make(from, bell).map_err(|error| Some(error.to_string())),
            false => Err(None),
        };
        match answer {
            Ok(letter) => self.write(from, letter, tcp),
            Err(why) => {
                self.stay_far(from, why);
                self.write(from, Letter::No, tcp);
            }
        }
    }

    fn make(&mut self, from: Peer, bell: &BellOf) -> Result<Letter, AttachError> {
        let far = open_bell(bell).map_err(AttachError::Process)?;
        let file = memory_file().map_err(AttachError::Process)?;
        let told = FileOf::own(&file).map_err(AttachError::Process)?;
        self.begin(from, (&file, 1), far)?;
        if let OtherProcess::Made(pair) = self.other(from) {
            pair.file = Some(file);
        }
        Ok(Letter::Made { bell: self.bell_of, file: told })
    }

    fn accept(&mut self, from: Peer, bell: &BellOf, file: &FileOf, tcp: &mut Tcp) {
        if !matches!(self.other(from), OtherProcess::Called) {
            return;
        }
        let opened = || io::Result::Ok((open_bell(bell)?, file.open()?));
        let begun = opened().map_err(AttachError::Process);
        let begun = begun.and_then(|(far, file)| self.begin(from, (&file, 0), far));
        match (begun, self.other(from)) {
            (Ok(()), OtherProcess::Made(pair)) => pair.agreed = true,
            (begun, _) => {
                self.stay_far(from, begun.err().map(|error| error.to_string()));
                self.write(from, Letter::No, tcp);
            }
        }
    }

    /// Attaches this process to a memory of two, as the one with number `me`.
    fn begin(&mut self, peer: Peer, (file, me): (&OwnedFd, Peer), far: FarBell) -> Result<(), AttachError> {
        let shm = Shm::attach_pair(file, me, self.bell.clone(), far, &self.config)?;
        let pair = ProcessPair { shm, index: 1 - me, file: None, agreed: false, reads: false, writes: false };
        *self.other(peer) = OtherProcess::Made(Box::new(pair));
        self.made.push(peer);
        Ok(())
    }

    /// Unless messages are on their way by memory already, they never will be.
    fn stay_far(&mut self, peer: Peer, why: Option<String>) {
        if matches!(self.other(peer), OtherProcess::Made(pair) if pair.agreed) {
            return;
        }
        *self.other(peer) = OtherProcess::Far;
        self.made.retain(|other| *other != peer);
        if self.why.is_none() {
            self.why = why;
        }
    }
}

/// Cooperative copies of two processes are told from those within this world by the other one's number in the key: a slot needs less.
const KEY_SHIFT: u32 = 8;
const KEY_BITS: u64 = 0xffff_ff00;

/// The key of a copy with the `number`th process of other worlds, for this rank and the other one. There are fewer than 2^24.
pub(super) fn marked(key: CooperativeCopyKey, number: Peer) -> CooperativeCopyKey {
    CooperativeCopyKey(key.0 | (u64::from(number) + 1) << KEY_SHIFT & KEY_BITS)
}

/// The key in the memory of the two.
pub(super) fn bare(key: CooperativeCopyKey) -> CooperativeCopyKey {
    CooperativeCopyKey(key.0 & !KEY_BITS)
}

impl Pairs {
    /// See [`Transport::pull_cooperative_copy`]. `None` if the copy is one within this world.
    pub(super) fn pull_cooperative_copy(&mut self, key: CooperativeCopyKey) -> Option<Transfer> {
        let number = ((key.0 & KEY_BITS) >> KEY_SHIFT).checked_sub(1)? as Peer;
        let pulled = self.memory(self.size + number).map(|(shm, _)| shm.pull_cooperative_copy(bare(key)));
        Some(pulled.unwrap_or(Transfer::Failed(TransferError::BadKey)))
    }
}

impl Letter {
    fn send(&self, to: Peer, tcp: &mut Tcp) -> Result<(), Full> {
        let (flags, words): (u8, &[u64]) = match *self {
            Letter::Call { host, bell } => (1, &[host, bell.file.place(), bell.file.inode, bell.page]),
            Letter::Made { bell, file } => {
                (2, &[bell.file.place(), bell.file.inode, bell.page, file.place(), file.inode])
            }
            Letter::Near => (3, &[]),
            Letter::No => (4, &[]),
        };
        let mut extended = [0; AM_INLINE_BYTES_MAX];
        let chunks = extended.chunks_exact_mut(8).zip(words);
        chunks.for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        let header = Header { kind: KIND, flags, ..Header::default() };
        let extended = &extended[..8 * words.len()];
        tcp.send(to, &Am { header, extended, body: &UserBuf::empty(), offset: 0, len: 0 })
    }

    fn read(header: &Header, payload: &[u8]) -> Option<Letter> {
        let word = |at: usize| Some(u64::from_le_bytes(*payload.get(8 * at..)?.first_chunk()?));
        let file = |at| Some(FileOf::at(word(at)?, word(at + 1)?));
        let bell = |at| Some(BellOf { file: file(at)?, page: word(at + 2)? });
        match header.flags {
            1 => Some(Letter::Call { host: word(0)?, bell: bell(1)? }),
            2 => Some(Letter::Made { bell: bell(0)?, file: file(3)? }),
            3 => Some(Letter::Near),
            4 => Some(Letter::No),
            _ => None,
        }
    }
}

/// What came over TCP: letters aside, all else to the sink.
pub(super) struct Sifted<'a, S> {
    pub sink: &'a mut S,
    pub pairs: &'a mut Pairs,
}

impl<S: Sink> Sink for Sifted<'_, S> {
    #[inline]
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        if header.kind == KIND && from >= self.pairs.size {
            self.pairs.arrived.extend(Letter::read(header, payload).map(|letter| (from, letter)));
        } else {
            self.sink.short(from, header, payload);
        }
    }

    pass_on!(header, landed, spoiled, backpressure, done);
}

#[cfg(test)]
mod tests;
