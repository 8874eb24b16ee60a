//! Agreements among the members of a group: small exchanges from which communicators are made.

use crate::comm::{Comm, Lane};
use crate::error::{Result, fail};
use crate::limits::AGREEMENT_TAG;
use crate::process::enter;
use crate::wait::{self, Waiting};
use tern_abi::MPI_ERR_OTHER;
use tern_engine::{Envelope, Group, Mode, Pattern, Started, Status};
use tern_mem::UserBuf;
use tern_transport::Peer;

/// Where an agreement is made. Its messages are known by the processes they come from, not by ranks of the group: circles of
/// several groups may share a context and a tag (`MPI_Comm_create_group`), and one process has another rank in each.
#[derive(Clone, Debug)]
pub struct Circle {
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
}

impl Circle {
    /// The local group of a communicator.
    pub fn local(call: &'static str, comm: &Comm) -> Self {
        Circle {
            call,
            group: comm.group.clone(),
            rank: comm.rank,
            context: comm.lane(Lane::Local),
            tag: AGREEMENT_TAG,
        }
    }

    /// Everybody's record, in the order of ranks. All records are equally long. Bruck's algorithm: in
    /// each of log2(n) rounds a process passes on all that it knows.
    pub fn allgather(&self, mine: &[u8]) -> Result<Vec<u8>> {
        let size = self.group.size();
        let len = mine.len();
        let mut known = mine.to_vec();
        let mut distance = 1;
        while distance < size {
            let blocks = distance.min(size - distance);
            let to = self.member((self.rank + size - distance) % size);
            let from = (self.rank + distance) % size;
            let more = self.exchange(to, &known[..blocks as usize * len], from, blocks as usize * len)?;
            known.extend_from_slice(&more);
            distance *= 2;
        }
        // `known` begins with this rank's own record.
        known.rotate_right(self.rank as usize * len);
        Ok(known)
    }

    /// Nobody goes on before all have come: messages to one rank each, whatever else the network can do.
    pub fn meet(&self) -> Result {
        self.allgather(&[]).map(drop)
    }

    /// The greatest of everybody's numbers. In round k a process tells the one 2^k places on what it knows, so after
    /// log2(n) rounds each has heard, directly or not, from all; from some more than once, which changes nothing.
    pub fn max(&self, mine: u64) -> Result<u64> {
        let size = self.group.size();
        let (mut known, mut distance) = (mine, 1);
        while distance < size {
            let to = self.member(((u64::from(self.rank) + u64::from(distance)) % u64::from(size)) as u32);
            let from = (self.rank + size - distance) % size;
            let heard = self.exchange(to, &known.to_le_bytes(), from, 8)?;
            known = known.max(number(&heard, 0));
            distance *= 2;
        }
        Ok(known)
    }

    /// Everybody's record, however long each is, in the order of ranks.
    pub fn allgather_any_length(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
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
    pub fn bcast(&self, root: u32, bytes: Option<&[u8]>) -> Result<Vec<u8>> {
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
    pub fn send_any_length(&self, to: u32, bytes: &[u8]) -> Result {
        self.send(self.member(to), &(bytes.len() as u64).to_le_bytes())?;
        self.send(self.member(to), bytes)
    }

    /// Receives a length and so many bytes.
    pub fn receive_any_length(&self, from: u32) -> Result<Vec<u8>> {
        let len = number(&self.receive(from, 8)?, 0);
        self.receive(from, len as usize)
    }

    /// Both at once with one partner, as leaders of two groups do.
    pub fn swap_any_length(&self, partner: u32, bytes: &[u8]) -> Result<Vec<u8>> {
        let to = self.member(partner);
        let len = self.exchange(to, &(bytes.len() as u64).to_le_bytes(), partner, 8)?;
        self.exchange(to, bytes, partner, number(&len, 0) as usize)
    }

    /// The process that has a rank in the group.
    pub fn member(&self, rank: u32) -> Peer {
        self.group.peer(rank).expect("a rank of the group")
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

    fn start_receive(&self, from: u32, into: &UserBuf) -> Result<Started> {
        let pattern = Pattern { context: self.context, source: self.member(from), tag: self.tag };
        Ok(enter().engine()?.receive(pattern, into, 0))
    }

    fn send(&self, to: Peer, bytes: &[u8]) -> Result {
        let body = UserBuf::owned(bytes.len());
        body.write(0, bytes);
        let mut process = enter();
        // The group may be the other side's (`intercomm.rs`), which this process is not in.
        let source = process.own_peer();
        let envelope = Envelope { context: self.context, source, tag: self.tag };
        let sent = process.engine()?.send(Mode::Standard, to, envelope, &body, 0);
        drop(process);
        self.finish(sent)
    }

    fn finish(&self, started: Started) -> Result {
        let status = match started {
            Started::Done(status) => status,
            Started::Pending(id) => wait::until(
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

fn bytes_of(buf: &UserBuf, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    buf.read(0, &mut bytes);
    bytes
}

/// The number at a place in a record; a record that is too short ends in zeros.
pub fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
}

/// A record of numbers.
pub fn record(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
