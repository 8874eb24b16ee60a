//! Agreements among the members of a group: small exchanges from which communicators are made.

use crate::comm::object::{Comm, Lane};
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use crate::core::wait::{self, Waiting};
use crate::limits::AGREEMENT_TAG;
use tern_abi::MPI_ERR_OTHER;
use tern_engine::{Envelope, Group, Mode, Pattern, StartedMessage, Status};
use tern_mem::UserBuf;
use tern_transport::Peer;

/// Where an agreement is made.
#[derive(Clone, Debug)]
pub(crate) struct Participants {
    /// The call, for a person.
    pub call: &'static str,
    /// Who takes part.
    pub group: Group,
    /// This process's rank among them.
    pub rank: u32,
    /// The context and tag of the messages.
    pub context: u64,
    /// Tag of the messages.
    pub tag: i32,
    /// By what the members' messages are known.
    pub numbering: SourceNumbering,
}

/// By what the messages of a participants are known: a number that means the same to all who take part. That of a process among the peers of
/// another one does not.
#[derive(Clone, Debug)]
pub(crate) enum SourceNumbering {
    /// The sender's rank in the group.
    Ranks,
    /// Its rank in a larger one: participants of several groups may share a context and a tag (`MPI_Comm_create_group`), and one process
    /// has another rank in each.
    Within(Group),
    /// The group is the other side's, where this process has no rank: each names itself by its rank at its own side.
    Across,
}

/// The leaders' way to each other.
pub(crate) struct Bridge {
    /// A participants in which both are.
    pub participants: Participants,
    /// The rank of the other one there.
    pub far: u32,
}

/// Marks a rank of the other side.
const FAR: u32 = 1 << 31;

impl Participants {
    /// The local group of a communicator.
    pub(crate) fn local(call: &'static str, comm: &Comm) -> Self {
        Participants {
            call,
            group: comm.group.clone(),
            rank: comm.rank,
            context: comm.lane(Lane::Local),
            tag: AGREEMENT_TAG,
            numbering: SourceNumbering::Ranks,
        }
    }

    /// Everybody's record, in the order of ranks. All records are equally long.
    pub(crate) fn allgather(&self, mine: &[u8]) -> Result<Vec<u8>> {
        self.agreement_rank()
            .allgather(mine, |to, out, from, len| self.exchange(self.member(to), out, from, len))
    }

    /// Nobody goes on before all have come: messages to one rank each, whatever else the network can do.
    pub(crate) fn barrier(&self) -> Result {
        self.allgather(&[]).map(drop)
    }

    /// The greatest of everybody's numbers.
    pub(crate) fn max(&self, mine: u64) -> Result<u64> {
        self.agreement_rank().max(mine, |to, out, from, len| self.exchange(self.member(to), out, from, len))
    }

    /// Everybody's record, however long each is, in the order of ranks.
    pub(crate) fn allgather_any_length(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let lengths = self.allgather(&record(&[mine.len() as u64]))?;
        let lengths: Vec<usize> =
            (0..lengths.len() / 8).map(|at| number(&lengths, at * 8) as usize).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if longest == 0 {
            return Ok(vec![Vec::new(); lengths.len()]);
        }
        let mut padded = mine.to_vec();
        padded.resize(longest, 0);
        let all = self.allgather(&padded)?;
        Ok(all.chunks_exact(longest).zip(lengths).map(|(record, len)| record[..len].to_vec()).collect())
    }

    /// What `root` has, for all; the others pass nothing. A binomial tree.
    pub(crate) fn bcast(&self, root: u32, bytes: Option<&[u8]>) -> Result<Vec<u8>> {
        let size = self.group.size();
        let place = (self.rank + size - root) % size;
        let parent_bit = if place == 0 { size.next_power_of_two() } else { 1 << place.trailing_zeros() };
        let bytes = match bytes {
            Some(bytes) if place == 0 => bytes.to_vec(),
            _ => self.receive_any_length((self.rank + size - parent_bit) % size)?,
        };
        let mut bit = parent_bit / 2;
        while bit > 0 {
            if place + bit < size {
                self.send_any_length((self.rank + bit) % size, &bytes)?;
            }
            bit /= 2;
        }
        Ok(bytes)
    }

    /// Sends a length and so many bytes.
    pub(crate) fn send_any_length(&self, to: u32, bytes: &[u8]) -> Result {
        self.send(self.member(to), &(bytes.len() as u64).to_le_bytes())?;
        self.send(self.member(to), bytes)
    }

    /// Receives a length and so many bytes.
    pub(crate) fn receive_any_length(&self, from: u32) -> Result<Vec<u8>> {
        let len = number(&self.receive(from, 8)?, 0);
        self.receive(from, len as usize)
    }

    /// Both at once with one partner, as leaders of two groups do.
    pub(crate) fn swap_any_length(&self, partner: u32, bytes: &[u8]) -> Result<Vec<u8>> {
        let to = self.member(partner);
        let len = self.exchange(to, &(bytes.len() as u64).to_le_bytes(), partner, 8)?;
        self.exchange(to, bytes, partner, number(&len, 0) as usize)
    }

    /// Sends a word of no bytes.
    pub(crate) fn signal(&self, to: u32) -> Result {
        self.send(self.member(to), &[])
    }

    /// Waits for it.
    pub(crate) fn await_signal(&self, from: u32) -> Result {
        self.receive(from, 0).map(drop)
    }

    fn agreement_rank(&self) -> AgreementRank {
        AgreementRank { rank: self.rank, size: self.group.size() }
    }

    /// The process that has a rank in the group.
    pub(crate) fn member(&self, rank: u32) -> Peer {
        self.group.peer(rank).expect("a rank of the group")
    }

    fn name(&self, rank: u32) -> u32 {
        match &self.numbering {
            SourceNumbering::Ranks => rank,
            SourceNumbering::Within(whole) => whole.rank_of(self.member(rank)).expect("a part of the group"),
            SourceNumbering::Across => rank | FAR,
        }
    }

    fn own_name(&self) -> u32 {
        match self.numbering {
            SourceNumbering::Across => self.rank | FAR,
            _ => self.name(self.rank),
        }
    }

    fn exchange(&self, to: Peer, out: &[u8], from: u32, len: usize) -> Result<Vec<u8>> {
        let into = UserBuf::owned(len);
        let received = self.start_receive(from, &into)?;
        self.send(to, out)?;
        self.finish(received)?;
        Ok(bytes_of(&into, len))
    }

    fn receive(&self, from: u32, len: usize) -> Result<Vec<u8>> {
        let into = UserBuf::owned(len);
        let received = self.start_receive(from, &into)?;
        self.finish(received)?;
        Ok(bytes_of(&into, len))
    }

    fn start_receive(&self, from: u32, into: &UserBuf) -> Result<StartedMessage> {
        let pattern = Pattern { context: self.context, source: self.name(from), tag: self.tag };
        Ok(enter().engine()?.receive(pattern, into, 0))
    }

    fn send(&self, to: Peer, bytes: &[u8]) -> Result {
        let body = UserBuf::owned(bytes.len());
        body.write(0, bytes);
        let mut process = enter();
        let envelope = Envelope { context: self.context, source: self.own_name(), tag: self.tag };
        let sent = process.engine()?.send(Mode::Standard, to, envelope, &body, 0);
        drop(process);
        self.finish(sent)
    }

    fn finish(&self, started: StartedMessage) -> Result {
        let status = match started {
            StartedMessage::Done(status) => status,
            StartedMessage::Pending(id) => wait::until(
                enter(),
                |_| Waiting { detail: "agreeing".into(), ..Waiting::collective(self.call, self.context) },
                |process| process.engine_mut()?.test(id),
            ),
        };
        match status {
            Status { fault: None, .. } => Ok(()),
            _ => Err(fail(
                MPI_ERR_OTHER,
                "the members of the group do not make the same calls in the same order",
            )),
        }
    }
}

/// A rank among so many: who it exchanges what with, whatever carries the messages. What does is a function of the rank to
/// send to and the bytes for it, the rank to receive from and how many bytes come.
#[derive(Clone, Copy, Debug)]
struct AgreementRank {
    rank: u32,
    size: u32,
}

impl AgreementRank {
    /// Bruck's algorithm: in each of log2(n) rounds a process passes on all that it knows.
    fn allgather(
        self,
        mine: &[u8],
        mut exchange: impl FnMut(u32, &[u8], u32, usize) -> Result<Vec<u8>>,
    ) -> Result<Vec<u8>> {
        let len = mine.len();
        let mut known = mine.to_vec();
        for distance in self.distances() {
            let bytes = distance.min(self.size - distance) as usize * len;
            let more = exchange(self.before(distance), &known[..bytes], self.after(distance), bytes)?;
            known.extend_from_slice(&more);
        }
        // `known` begins with this rank's own record.
        known.rotate_right(self.rank as usize * len);
        Ok(known)
    }

    /// In round k a process tells the one 2^k places on what it knows, so after log2(n) rounds each has heard, directly or not,
    /// from all; from some more than once, which changes nothing.
    fn max(
        self,
        mine: u64,
        mut exchange: impl FnMut(u32, &[u8], u32, usize) -> Result<Vec<u8>>,
    ) -> Result<u64> {
        let mut known = mine;
        for distance in self.distances() {
            let heard = exchange(self.after(distance), &known.to_le_bytes(), self.before(distance), 8)?;
            known = known.max(number(&heard, 0));
        }
        Ok(known)
    }

    /// 1, 2, 4 and so on, below the number of ranks.
    fn distances(self) -> impl Iterator<Item = u32> {
        (0..u32::BITS).map(|bit| 1 << bit).take_while(move |distance| *distance < self.size)
    }

    fn after(self, distance: u32) -> u32 {
        ((u64::from(self.rank) + u64::from(distance)) % u64::from(self.size)) as u32
    }

    fn before(self, distance: u32) -> u32 {
        self.after(self.size - distance)
    }
}

fn bytes_of(buf: &UserBuf, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    buf.read(0, &mut bytes);
    bytes
}

/// The number at a place in a record; a record that is too short ends in zeros.
pub(crate) fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
}

/// A record of numbers.
pub(crate) fn record(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    const SIZES: [u32; 11] = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33];

    /// Messages of one rank: what it can send to each, and what has come from each.
    struct Mail {
        to: Vec<Sender<Vec<u8>>>,
        from: Vec<Receiver<Vec<u8>>>,
        rounds: u32,
    }

    impl Mail {
        /// One for each rank.
        fn among(size: u32) -> Vec<Mail> {
            let mut all: Vec<Mail> =
                (0..size).map(|_| Mail { to: Vec::new(), from: Vec::new(), rounds: 0 }).collect();
            for from in 0..size as usize {
                for to in 0..size as usize {
                    let (sender, receiver) = channel();
                    all[from].to.push(sender);
                    all[to].from.push(receiver);
                }
            }
            all
        }

        /// Who waits in vain is told so by an error, as if the message had a fault.
        fn exchange(&mut self, to: u32, out: &[u8], from: u32, len: usize) -> Result<Vec<u8>> {
            self.rounds += 1;
            self.to[to as usize].send(out.to_vec()).expect("all live as long as the scope");
            let come = self.from[from as usize].recv_timeout(Duration::from_secs(20));
            let come = come.map_err(|_| fail(MPI_ERR_OTHER, "nothing comes"))?;
            assert_eq!(come.len(), len, "from {from}");
            Ok(come)
        }
    }

    /// What each of `size` ranks has, each in a thread, and how often it exchanged a message.
    fn on_all<T: Send>(size: u32, run: impl Fn(AgreementRank, &mut Mail) -> T + Sync) -> Vec<(T, u32)> {
        let mut mails = Mail::among(size);
        std::thread::scope(|scope| {
            let one = |(rank, mail): (u32, &mut Mail)| (run(AgreementRank { rank, size }, mail), mail.rounds);
            let started: Vec<_> = (0..).zip(&mut mails).map(|rank| scope.spawn(move || one(rank))).collect();
            started.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
        })
    }

    fn rounds(size: u32) -> u32 {
        size.next_power_of_two().trailing_zeros()
    }

    #[test]
    fn everybody_has_the_greatest_number_whoever_had_it() {
        for size in SIZES {
            for greatest in 0..size {
                let number =
                    |rank: u32| if rank == greatest { u64::MAX - 1 } else { u64::from(rank * 7 % size) };
                let all = on_all(size, |member, mail| {
                    member
                        .max(number(member.rank), |to, out, from, len| mail.exchange(to, out, from, len))
                        .unwrap()
                });
                assert_eq!(all, vec![(u64::MAX - 1, rounds(size)); size as usize], "{greatest} of {size}");
            }
        }
    }

    #[test]
    fn everybody_has_all_records_in_the_order_of_ranks() {
        for size in SIZES {
            for len in [0, 1, 8, 24] {
                let record = |rank: u32| vec![rank as u8 + 1; len];
                let all = on_all(size, |member, mail| {
                    let exchange = |to, out: &[u8], from, len| mail.exchange(to, out, from, len);
                    member.allgather(&record(member.rank), exchange).unwrap()
                });
                let expected: Vec<u8> = (0..size).flat_map(record).collect();
                assert_eq!(
                    all,
                    vec![(expected, rounds(size)); size as usize],
                    "{size} records of {len} bytes"
                );
            }
        }
    }

    /// A meeting is a gathering of empty records; also if they come late, in whatever order.
    #[test]
    fn nobody_leaves_a_meeting_before_all_have_come() {
        for size in SIZES {
            for late in [0, size / 2, size - 1] {
                let come = AtomicU32::new(0);
                let seen = on_all(size, |member, mail| {
                    if member.rank == late {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    come.fetch_add(1, Ordering::SeqCst);
                    member.allgather(&[], |to, out, from, len| mail.exchange(to, out, from, len)).unwrap();
                    come.load(Ordering::SeqCst)
                });
                assert_eq!(seen, vec![(size, rounds(size)); size as usize], "{late} of {size} is late");
            }
        }
    }

    #[test]
    fn a_fault_of_a_message_ends_an_agreement() {
        let member = AgreementRank { rank: 2, size: 5 };
        let mut left = 2;
        let mut exchange = |_: u32, out: &[u8], _: u32, _: usize| {
            left -= 1;
            if left == 0 { Err(fail(MPI_ERR_OTHER, "a fault")) } else { Ok(out.to_vec()) }
        };
        assert_eq!(member.max(7, &mut exchange).unwrap_err().text(), "a fault");
        assert_eq!(left, 0, "nothing is sent after it");
        let fails = |_: u32, _: &[u8], _: u32, _: usize| Err(fail(MPI_ERR_OTHER, "a fault"));
        assert!(member.allgather(&[1], fails).is_err());
    }
}
