//! The board: where each rank says where it stands, for a person who asks.
//!
//! It is a memory file with one fixed-size record per rank. A rank writes its own record with one
//! `pwrite`, and only at moments that cost nothing: in `MPI_Init`, in `MPI_Finalize`, and after it has been
//! asleep in a call for 50 ms. `mpirun` reads the records when a timeout strikes or a signal asks, and when
//! a process ends. A record ends in a checksum over the rest, so that one that is read while it is being
//! written, or that a stray write has damaged, is recognised.

use std::os::fd::AsFd;

use rustix::io::{Result, pread, pwrite};

use crate::control::clip;
use crate::kept::Kept;
use crate::limits::{BOARD_READ_ATTEMPTS, RECORD_BYTES};

/// [`Blocked::peer`]: any source.
pub const ANY_PEER: i32 = -1;
/// [`Blocked::peer`]: the call has no single peer, as a collective.
pub const NO_PEER: i32 = -2;
/// [`Blocked::tag`]: any tag (`MPI_ANY_TAG`).
pub const ANY_TAG: i32 = -2;
/// [`Blocked::tag`]: the call has no tag, as a collective.
pub const NO_TAG: i32 = -1;

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u32)]
pub enum RankState {
    /// Has not called `MPI_Init`.
    Absent = 0,
    /// In `MPI_Init`.
    Starting = 1,
    /// Initialised, and not known to wait for anybody.
    Running = 2,
    /// Asleep in an MPI call.
    Blocked = 3,
    /// Has called `MPI_Finalize`.
    Finalized = 4,
}

/// The MPI call in which a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocked<'a> {
    /// Name of the call, `MPI_Recv`.
    pub call: &'a str,
    /// Rank of the peer in the communicator, [`ANY_PEER`] or [`NO_PEER`].
    pub peer: i32,
    /// The tag, [`ANY_TAG`] or [`NO_TAG`].
    pub tag: i32,
    /// Name of the communicator.
    pub comm: &'a str,
    /// Its size.
    pub comm_size: u32,
    /// Size of the message, where that is known.
    pub bytes: Option<u64>,
    /// When the call began, on the clock of [`now_ns`](crate::now_ns).
    pub since_ns: u64,
    /// Anything else that helps. May be empty.
    pub detail: &'a str,
}

/// As a person reads it: in which call, with whom, of what.
impl std::fmt::Display for Blocked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "in {}", self.call)?;
        match self.peer {
            NO_PEER => {}
            ANY_PEER => write!(f, ", peer any")?,
            peer => write!(f, ", peer {peer}")?,
        }
        match self.tag {
            NO_TAG => {}
            ANY_TAG => write!(f, ", tag any")?,
            tag => write!(f, ", tag {tag}")?,
        }
        if !self.comm.is_empty() {
            write!(f, ", on {} of {}", self.comm, count_of_ranks(self.comm_size))?;
        }
        if let Some(bytes) = self.bytes {
            write!(f, ", {bytes} bytes")?;
        }
        if !self.detail.is_empty() {
            write!(f, ", {}", self.detail)?;
        }
        Ok(())
    }
}

/// So many ranks, as a person says it.
pub fn count_of_ranks(count: u32) -> String {
    if count == 1 { "1 rank".into() } else { format!("{count} ranks") }
}

/// A rank's own place on the board. All that goes wrong here is swallowed: a message that nobody could
/// have read must not end a program that works.
#[derive(Debug)]
pub struct Board {
    file: Kept,
    rank: u32,
}

impl Board {
    /// The place of `rank` on the board `file`.
    pub fn new(file: impl Into<Kept>, rank: u32) -> Board {
        Board { file: file.into(), rank }
    }

    /// Says that this rank is asleep in a call.
    pub fn publish(&self, blocked: &Blocked<'_>) {
        self.post(&Record::new(RankState::Blocked, own_pid(), Some(blocked)));
    }

    /// Says that this rank goes on after [`publish`](Board::publish).
    pub fn clear(&self) {
        self.state(RankState::Running);
    }

    /// Says how far this rank has come.
    pub fn state(&self, state: RankState) {
        self.post(&Record::new(state, own_pid(), None));
    }

    /// What stands at this rank's place now.
    pub fn read_own(&self) -> Result<Record> {
        self.file.with(|file| read_record(file, self.rank))
    }

    /// The file, behind whose records the [`roster`](crate::roster) stands.
    pub(crate) fn file(&self) -> &Kept {
        &self.file
    }

    fn post(&self, record: &Record) {
        let _ = self.file.with(|file| pwrite(file, &record.0, offset(self.rank)));
    }
}

/// Reads the record of `rank`. One that cannot be read whole counts as absent.
pub fn read_record(file: impl AsFd, rank: u32) -> Result<Record> {
    let mut record = Record::absent();
    for _ in 0..BOARD_READ_ATTEMPTS {
        let got = pread(&file, &mut record.0, offset(rank))?;
        if got == RECORD_BYTES && record.is_whole() {
            return Ok(record);
        }
    }
    Ok(Record::absent())
}

/// Bytes that a board for `size` ranks takes.
pub fn board_bytes(size: u32) -> u64 {
    offset(size)
}

fn offset(rank: u32) -> u64 {
    u64::from(rank) * RECORD_BYTES as u64
}

fn own_pid() -> u32 {
    rustix::process::getpid().as_raw_nonzero().get() as u32
}

/// The bytes of one rank's place. All zeros means that nobody has taken it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Record([u8; RECORD_BYTES]);

// Where the fields stand; little-endian all.
const STATE: usize = 0;
const PID: usize = 4;
const PEER: usize = 8;
const TAG: usize = 12;
const COMM_SIZE: usize = 16;
const CALL_BYTES: usize = 20;
const COMM_BYTES: usize = 21;
const DETAIL_BYTES: usize = 22;
const SIZE: usize = 24;
const SINCE: usize = 32;
const TEXT: usize = 40;
const CHECKSUM: usize = RECORD_BYTES - 8;

/// The name of a communicator has at most `MPI_MAX_OBJECT_NAME` = 128 bytes; a call's name has fewer than 64.
const CALL_BYTES_MAX: usize = 64;
const COMM_BYTES_MAX: usize = 128;
const DETAIL_BYTES_MAX: usize = 255;
const _: () = assert!(TEXT + CALL_BYTES_MAX + COMM_BYTES_MAX + DETAIL_BYTES_MAX <= CHECKSUM);

const SIZE_UNKNOWN: u64 = u64::MAX;

impl Record {
    /// The record of a rank in `state`.
    pub fn new(state: RankState, pid: u32, blocked: Option<&Blocked<'_>>) -> Record {
        let mut record = Record::absent();
        record.put_u32(STATE, state as u32);
        record.put_u32(PID, pid);
        if let Some(blocked) = blocked {
            record.put_blocked(blocked);
        }
        record.put_u64(CHECKSUM, record.checksum());
        record
    }

    /// The record of a rank of which nothing is known.
    pub fn absent() -> Record {
        Record([0; RECORD_BYTES])
    }

    /// How far the rank has come.
    pub fn state(&self) -> RankState {
        match self.u32(STATE) {
            1 => RankState::Starting,
            2 => RankState::Running,
            3 => RankState::Blocked,
            4 => RankState::Finalized,
            _ => RankState::Absent,
        }
    }

    /// The process that is this rank; `None` until one has called `MPI_Init`.
    pub fn pid(&self) -> Option<u32> {
        Some(self.u32(PID)).filter(|&pid| pid != 0)
    }

    /// The call in which it waits, if it does.
    pub fn blocked(&self) -> Option<Blocked<'_>> {
        if self.state() != RankState::Blocked {
            return None;
        }
        let (call, comm, detail) = self.texts()?;
        Some(Blocked {
            call,
            peer: self.u32(PEER) as i32,
            tag: self.u32(TAG) as i32,
            comm,
            comm_size: self.u32(COMM_SIZE),
            bytes: Some(self.u64(SIZE)).filter(|&bytes| bytes != SIZE_UNKNOWN),
            since_ns: self.u64(SINCE),
            detail,
        })
    }

    fn put_blocked(&mut self, blocked: &Blocked<'_>) {
        self.put_u32(PEER, blocked.peer as u32);
        self.put_u32(TAG, blocked.tag as u32);
        self.put_u32(COMM_SIZE, blocked.comm_size);
        self.put_u64(SIZE, blocked.bytes.unwrap_or(SIZE_UNKNOWN));
        self.put_u64(SINCE, blocked.since_ns);
        let mut at = TEXT;
        at = self.put_text(CALL_BYTES, at, clip(blocked.call, CALL_BYTES_MAX));
        at = self.put_text(COMM_BYTES, at, clip(blocked.comm, COMM_BYTES_MAX));
        self.put_text(DETAIL_BYTES, at, clip(blocked.detail, DETAIL_BYTES_MAX));
    }

    fn put_text(&mut self, length_at: usize, at: usize, text: &str) -> usize {
        self.0[length_at] = text.len() as u8;
        self.0[at..at + text.len()].copy_from_slice(text.as_bytes());
        at + text.len()
    }

    /// The three texts, unless their lengths or bytes are impossible.
    fn texts(&self) -> Option<(&str, &str, &str)> {
        let length = |at: usize| usize::from(self.0[at]);
        let text = self.0.get(TEXT..CHECKSUM)?;
        let (call, rest) = text.split_at_checked(length(CALL_BYTES))?;
        let (comm, rest) = rest.split_at_checked(length(COMM_BYTES))?;
        let (detail, _) = rest.split_at_checked(length(DETAIL_BYTES))?;
        let read = |bytes| std::str::from_utf8(bytes).ok();
        Some((read(call)?, read(comm)?, read(detail)?))
    }

    /// The record that has these bytes, and a checksum that fits.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn resealed(bytes: &[u8]) -> [u8; RECORD_BYTES] {
        let mut record = Record::absent();
        let len = bytes.len().min(CHECKSUM);
        record.0[..len].copy_from_slice(&bytes[..len]);
        record.put_u64(CHECKSUM, record.checksum());
        record.0
    }

    /// As it stands on the board.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn bytes(&self) -> &[u8; RECORD_BYTES] {
        &self.0
    }

    fn is_whole(&self) -> bool {
        self.0 == [0; RECORD_BYTES] || self.u64(CHECKSUM) == self.checksum()
    }

    /// FNV-1a over 64-bit words: enough to tell a torn record from a whole one.
    fn checksum(&self) -> u64 {
        let words = self.0[..CHECKSUM].chunks_exact(8);
        words.fold(0xcbf2_9ce4_8422_2325, |hash, word| {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    fn put_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap_or_default())
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap_or_default())
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut record = f.debug_struct("Record");
        record
            .field("state", &self.state())
            .field("pid", &self.pid())
            .field("blocked", &self.blocked())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(detail: &str) -> Blocked<'_> {
        Blocked {
            call: "MPI_Recv",
            peer: 1,
            tag: ANY_TAG,
            comm: "MPI_COMM_WORLD",
            comm_size: 4,
            bytes: Some(8),
            since_ns: 12_345,
            detail,
        }
    }

    fn board(rank: u32, size: u32) -> Board {
        let file = rustix::fs::memfd_create("board", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, board_bytes(size)).unwrap();
        Board::new(file, rank)
    }

    #[test]
    fn what_is_published_is_read_back() {
        let board = board(2, 4);
        assert_eq!(board.read_own().unwrap().state(), RankState::Absent);
        assert_eq!(board.read_own().unwrap().pid(), None);
        board.publish(&receive("of 2 requests"));
        let record = board.file.with(|file| read_record(file, 2)).unwrap();
        assert_eq!(record.blocked(), Some(receive("of 2 requests")));
        assert_eq!(record.pid(), Some(std::process::id()));
        board.clear();
        assert_eq!(board.read_own().unwrap().state(), RankState::Running);
        assert_eq!(board.read_own().unwrap().blocked(), None);
        let other = board.file.with(|file| read_record(file, 3)).unwrap();
        assert_eq!(other.state(), RankState::Absent);
    }

    #[test]
    fn long_texts_lose_their_ends() {
        let long = "ß".repeat(300);
        let record = Record::new(RankState::Blocked, 1, Some(&Blocked { comm: &long, ..receive(&long) }));
        let blocked = record.blocked().unwrap();
        assert_eq!(blocked.comm.len(), COMM_BYTES_MAX);
        assert_eq!(blocked.detail.len(), DETAIL_BYTES_MAX - 1);
        assert_eq!(blocked.call, "MPI_Recv");
    }

    #[test]
    fn a_torn_record_is_not_believed() {
        let board = board(0, 1);
        let (old, new) = (
            Record::new(RankState::Running, 1, None),
            Record::new(RankState::Blocked, 1, Some(&receive("a detail"))),
        );
        for cut in (8..RECORD_BYTES).step_by(8) {
            let mut torn = old;
            torn.0[..cut].copy_from_slice(&new.0[..cut]);
            assert!(torn == old || torn == new || !torn.is_whole(), "cut at {cut}");
        }
        board.file.with(|file| pwrite(file, &[7; RECORD_BYTES], 0)).unwrap();
        assert_eq!(board.read_own().unwrap().state(), RankState::Absent);
    }

    #[test]
    fn impossible_lengths_are_not_followed() {
        let mut record = Record::new(RankState::Blocked, 1, Some(&receive("")));
        for at in [CALL_BYTES, COMM_BYTES, DETAIL_BYTES] {
            record.0[at] = 255;
        }
        assert_eq!(record.blocked(), None);
    }
}
