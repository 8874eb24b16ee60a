//! The status page: where each rank says where it stands, for a person who asks.
//!
//! It is a memory file with one fixed-size record per rank. A rank writes its own record with one
//! `pwrite`, and only at moments that cost nothing: in `MPI_Init`, in `MPI_Finalize`, after it has been
//! asleep in a call for 50 ms, and every 50 ms while it asks again and again for what has not come. `mpirun`
//! reads the records when a timeout strikes or a signal asks, and when a process ends. A record ends in a
//! checksum over the rest, so that one that is read while it is being written, or that a stray write has
//! damaged, is recognized.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::io::{Result, pread, pwrite};

use crate::control::clip;
use crate::limits::{BOARD_READ_ATTEMPTS, RECORD_BYTES};
use crate::memory_file::within_file_limit;
use crate::reserved_fd::ReservedFd;

/// [`Blocked::peer`]: any source.
pub const ANY_PEER: i32 = -1;
/// [`Blocked::peer`]: the call has no single peer, as a collective.
pub const NO_PEER: i32 = -2;
/// [`Blocked::tag`]: any tag (`MPI_ANY_TAG`).
pub const ANY_TAG: i32 = -2;
/// [`Blocked::tag`]: the call has no tag, as a collective.
pub const NO_TAG: i32 = -1;
/// [`Blocked::root`]: the call has no root.
pub const NO_ROOT: i32 = -1;
/// [`Blocked::root`]: this process is the root, and the remote group takes part (`MPI_ROOT`).
pub const ROOT_HERE: i32 = -2;
/// [`Blocked::root`]: the root is another process of this group (`MPI_PROC_NULL`).
pub const ROOT_ELSEWHERE: i32 = -3;

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u32)]
pub enum RankState {
    /// Has not called `MPI_Init`.
    Absent = 0,
    /// In `MPI_Init`.
    Starting = 1,
    /// Initialized, and not known to wait for anybody.
    Running = 2,
    /// Asleep in an MPI call.
    Blocked = 3,
    /// Has called `MPI_Finalize`.
    Finalized = 4,
    /// Asks again and again for what has not come (`MPI_Test`, `MPI_Iprobe`), or did so when it was last in MPI.
    Polling = 5,
    /// Ends the job: it has aborted, or has noticed that another rank has died.
    Aborted = 6,
}

/// The MPI call in which a rank waits, or asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocked<'a> {
    /// Name of the call, `MPI_Recv`.
    pub call: &'a str,
    /// Name of the collective that the call is or completes; empty if it is none.
    pub collective: &'a str,
    /// Which of the communicator's collectives it is, if that is known: two ranks with the same number should be in the same one.
    pub number: Option<u32>,
    /// Rank of the peer in the communicator, [`ANY_PEER`] or [`NO_PEER`].
    pub peer: i32,
    /// The tag, [`ANY_TAG`] or [`NO_TAG`].
    pub tag: i32,
    /// Rank of the root in the communicator, [`NO_ROOT`], [`ROOT_HERE`] or [`ROOT_ELSEWHERE`].
    pub root: i32,
    /// Context of the communicator, which tells it from others with the same name; 0 if there is none.
    pub context: u64,
    /// Name of the communicator.
    pub comm: &'a str,
    /// Its size.
    pub comm_size: u32,
    /// Size of the message, where that is known.
    pub bytes: Option<u64>,
    /// When the call began, on the clock of [`now_ns`](crate::now_ns).
    pub since_ns: u64,
    /// When it asked last, on the same clock, if it asks again and again; without this, it sleeps.
    pub asked_ns: Option<u64>,
    /// Since when nothing has come to it, on the same clock.
    pub still_ns: u64,
    /// How long what is sent to it may be on its way.
    pub delivery: Duration,
    /// Frames that it has sent to other ranks of its world, less those that it has received, if all that goes between ranks is counted so. If
    /// the sum over all ranks is 0, none is on its way.
    pub frames_ahead: Option<i64>,
    /// Anything else that helps. May be empty.
    pub detail: &'a str,
    /// What else is under way at this rank, and what has come and matches nothing: a line each. May be empty.
    pub notes: &'a str,
}

impl<'a> Blocked<'a> {
    /// In a call of which nothing more is known, since the beginning of time.
    pub fn on(call: &'a str) -> Self {
        Blocked {
            call,
            collective: "",
            number: None,
            peer: NO_PEER,
            tag: NO_TAG,
            root: NO_ROOT,
            context: 0,
            comm: "",
            comm_size: 0,
            bytes: None,
            since_ns: 0,
            asked_ns: None,
            still_ns: 0,
            delivery: Duration::ZERO,
            frames_ahead: None,
            detail: "",
            notes: "",
        }
    }
}

/// As a person reads it: in which call, with whom, of what.
impl std::fmt::Display for Blocked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", if self.asked_ns.is_some() { "polling in" } else { "in" }, self.call)?;
        if !self.collective.is_empty() && self.collective != self.call {
            write!(f, ", completing {}", self.collective)?;
        }
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
        match self.root {
            ROOT_HERE => write!(f, ", root MPI_ROOT")?,
            ROOT_ELSEWHERE => write!(f, ", root MPI_PROC_NULL")?,
            root if root >= 0 => write!(f, ", root {root}")?,
            _ => {}
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

/// A rank's own place on the status page. All that goes wrong here is swallowed: a message that nobody could
/// have read must not end a program that works.
#[derive(Debug)]
pub struct StatusPage {
    file: ReservedFd,
    rank: u32,
}

impl StatusPage {
    /// The place of `rank` on the status page `file`.
    pub fn new(file: impl Into<ReservedFd>, rank: u32) -> StatusPage {
        StatusPage { file: file.into(), rank }
    }

    /// Says that this rank is asleep in a call, or asks again and again.
    pub fn publish(&self, blocked: &Blocked<'_>) {
        let state = if blocked.asked_ns.is_some() { RankState::Polling } else { RankState::Blocked };
        let _ = self.post(&RankRecord::new(state, own_pid(), Some(blocked)));
    }

    /// Says that this rank goes on after [`publish`](StatusPage::publish).
    pub fn clear(&self) {
        self.state(RankState::Running);
    }

    /// Says how far this rank has come.
    pub fn state(&self, state: RankState) {
        let _ = self.try_state(state);
    }

    /// The same, and whether it could be said.
    pub(crate) fn try_state(&self, state: RankState) -> Result<()> {
        self.post(&RankRecord::new(state, own_pid(), None))
    }

    /// Says that this rank ends the job with an error code.
    pub fn abort(&self, code: i32) {
        let _ = self.post(&RankRecord::aborted(own_pid(), code));
    }

    /// What stands at this rank's place now.
    pub fn read_own(&self) -> Result<RankRecord> {
        self.file.with(|file| read_record(file, self.rank))
    }

    /// The file, behind whose records the [`node_map`](crate::node_map) stands.
    pub(crate) fn file(&self) -> &ReservedFd {
        &self.file
    }

    /// A program may set its limit for files at any time.
    fn post(&self, record: &RankRecord) -> Result<()> {
        within_file_limit(offset(self.rank + 1))?;
        self.file.with(|file| pwrite(file, &record.0, offset(self.rank))).map(drop)
    }
}

/// Reads the record of `rank`. One that cannot be read whole counts as absent.
pub fn read_record(file: impl AsFd, rank: u32) -> Result<RankRecord> {
    let mut record = RankRecord::absent();
    for _ in 0..BOARD_READ_ATTEMPTS {
        let got = pread(&file, &mut record.0, offset(rank))?;
        if got == RECORD_BYTES && record.is_whole() {
            return Ok(record);
        }
    }
    Ok(RankRecord::absent())
}

/// Bytes that a status page for `size` ranks takes.
pub fn status_page_bytes(size: u32) -> u64 {
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
pub struct RankRecord([u8; RECORD_BYTES]);

// Where the fields stand; little-endian all.
const STATE: usize = 0;
const PID: usize = 4;
const PEER: usize = 8;
const TAG: usize = 12;
const COMM_SIZE: usize = 16;
const ROOT: usize = 20;
const SIZE: usize = 24;
const SINCE: usize = 32;
const ASKED: usize = 40;
const CONTEXT: usize = 48;
const STILL: usize = 56;
const DELIVERY: usize = 64;
const FRAMES_AHEAD: usize = 72;
const NUMBER: usize = 80;
/// Two bytes for the length of each text.
const LENGTHS: usize = 84;
const TEXT: usize = LENGTHS + 2 * TEXTS;
const CHECKSUM: usize = RECORD_BYTES - 8;

/// The call, the collective, the communicator, the detail, and the notes.
const TEXTS: usize = 5;
/// The name of a communicator has at most `MPI_MAX_OBJECT_NAME` = 128 bytes; a call's name has fewer than 64. The
/// notes take what is left.
const TEXT_BYTES_MAX: [usize; TEXTS] = [64, 64, 128, 255, CHECKSUM - TEXT];
/// Notes of so many bytes are never cut.
#[cfg(test)]
const NOTES_BYTES_MIN: usize = CHECKSUM - TEXT - (64 + 64 + 128 + 255);
const _: () = assert!(TEXT + 64 + 64 + 128 + 255 + 400 <= CHECKSUM, "there is room for notes");

const NUMBER_UNKNOWN: u32 = u32::MAX;
const SIZE_UNKNOWN: u64 = u64::MAX;
const AHEAD_UNKNOWN: i64 = i64::MIN;

impl RankRecord {
    /// The record of a rank in `state`.
    pub fn new(state: RankState, pid: u32, blocked: Option<&Blocked<'_>>) -> RankRecord {
        let mut record = RankRecord::absent();
        record.put_u32(STATE, state as u32);
        record.put_u32(PID, pid);
        if let Some(blocked) = blocked {
            record.put_blocked(blocked);
        }
        record.seal();
        record
    }

    /// The record of a rank that ends the job.
    pub fn aborted(pid: u32, code: i32) -> RankRecord {
        let mut record = RankRecord::absent();
        record.put_u32(STATE, RankState::Aborted as u32);
        record.put_u32(PID, pid);
        record.put_u32(PEER, code as u32);
        record.seal();
        record
    }

    /// With which error code the rank ends the job, if it does.
    pub fn abort_code(&self) -> Option<i32> {
        (self.state() == RankState::Aborted).then(|| self.u32(PEER) as i32)
    }

    fn seal(&mut self) {
        self.put_u64(CHECKSUM, self.checksum());
    }

    /// The record of a rank of which nothing is known.
    pub fn absent() -> RankRecord {
        RankRecord([0; RECORD_BYTES])
    }

    /// How far the rank has come.
    pub fn state(&self) -> RankState {
        match self.u32(STATE) {
            1 => RankState::Starting,
            2 => RankState::Running,
            3 => RankState::Blocked,
            4 => RankState::Finalized,
            5 => RankState::Polling,
            6 => RankState::Aborted,
            _ => RankState::Absent,
        }
    }

    /// The process that is this rank; `None` until one has called `MPI_Init`.
    pub fn pid(&self) -> Option<u32> {
        Some(self.u32(PID)).filter(|&pid| pid != 0)
    }

    /// The call in which it sleeps, if it does.
    pub fn blocked(&self) -> Option<Blocked<'_>> {
        let asleep = self.state() == RankState::Blocked;
        asleep.then(|| self.call(None)).flatten()
    }

    /// The call by which it asked last, if it asks again and again or did so when it was last in MPI.
    pub fn polling(&self) -> Option<Blocked<'_>> {
        let asks = self.state() == RankState::Polling;
        asks.then(|| self.call(Some(self.u64(ASKED)))).flatten()
    }

    fn call(&self, asked_ns: Option<u64>) -> Option<Blocked<'_>> {
        let [call, collective, comm, detail, notes] = self.texts()?;
        Some(Blocked {
            call,
            collective,
            number: Some(self.u32(NUMBER)).filter(|&number| number != NUMBER_UNKNOWN),
            peer: self.u32(PEER) as i32,
            tag: self.u32(TAG) as i32,
            root: self.u32(ROOT) as i32,
            context: self.u64(CONTEXT),
            comm,
            comm_size: self.u32(COMM_SIZE),
            bytes: Some(self.u64(SIZE)).filter(|&bytes| bytes != SIZE_UNKNOWN),
            since_ns: self.u64(SINCE),
            asked_ns,
            still_ns: self.u64(STILL),
            delivery: Duration::from_nanos(self.u64(DELIVERY)),
            frames_ahead: Some(self.u64(FRAMES_AHEAD) as i64).filter(|&ahead| ahead != AHEAD_UNKNOWN),
            detail,
            notes,
        })
    }

    fn put_blocked(&mut self, blocked: &Blocked<'_>) {
        self.put_u32(NUMBER, blocked.number.unwrap_or(NUMBER_UNKNOWN));
        self.put_u32(PEER, blocked.peer as u32);
        self.put_u32(TAG, blocked.tag as u32);
        self.put_u32(COMM_SIZE, blocked.comm_size);
        self.put_u32(ROOT, blocked.root as u32);
        self.put_u64(CONTEXT, blocked.context);
        self.put_u64(SIZE, blocked.bytes.unwrap_or(SIZE_UNKNOWN));
        self.put_u64(SINCE, blocked.since_ns);
        self.put_u64(ASKED, blocked.asked_ns.unwrap_or(0));
        self.put_u64(STILL, blocked.still_ns);
        self.put_u64(DELIVERY, blocked.delivery.as_nanos() as u64);
        self.put_u64(FRAMES_AHEAD, blocked.frames_ahead.unwrap_or(AHEAD_UNKNOWN) as u64);
        self.put_texts([blocked.call, blocked.collective, blocked.comm, blocked.detail, blocked.notes]);
    }

    fn put_texts(&mut self, texts: [&str; TEXTS]) {
        let mut at = TEXT;
        for (index, text) in texts.into_iter().enumerate() {
            let text = clip(text, TEXT_BYTES_MAX[index].min(CHECKSUM - at));
            self.put_u16(LENGTHS + 2 * index, text.len() as u16);
            self.0[at..at + text.len()].copy_from_slice(text.as_bytes());
            at += text.len();
        }
    }

    /// The texts, unless their lengths or bytes are impossible.
    fn texts(&self) -> Option<[&str; TEXTS]> {
        let mut rest = self.0.get(TEXT..CHECKSUM)?;
        let mut texts = [""; TEXTS];
        for (index, text) in texts.iter_mut().enumerate() {
            let (bytes, after) = rest.split_at_checked(usize::from(self.u16(LENGTHS + 2 * index)))?;
            *text = std::str::from_utf8(bytes).ok()?;
            rest = after;
        }
        Some(texts)
    }

    /// The record that has these bytes, and a checksum that fits.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn resealed(bytes: &[u8]) -> [u8; RECORD_BYTES] {
        let mut record = RankRecord::absent();
        let len = bytes.len().min(CHECKSUM);
        record.0[..len].copy_from_slice(&bytes[..len]);
        record.seal();
        record.0
    }

    /// As it stands on the status page.
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

    fn put_u16(&mut self, at: usize, value: u16) {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    fn put_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.0[at..at + 2].try_into().unwrap_or_default())
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap_or_default())
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap_or_default())
    }
}

impl std::fmt::Debug for RankRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut record = f.debug_struct("RankRecord");
        record
            .field("state", &self.state())
            .field("pid", &self.pid())
            .field("blocked", &self.blocked().or(self.polling()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(detail: &str) -> Blocked<'_> {
        Blocked {
            peer: 1,
            tag: ANY_TAG,
            context: 4,
            comm: "MPI_COMM_WORLD",
            comm_size: 4,
            bytes: Some(8),
            since_ns: 12_345,
            still_ns: 23_456,
            delivery: Duration::from_secs(7),
            frames_ahead: Some(-3),
            number: Some(7),
            detail,
            notes: "one\ntwo",
            ..Blocked::on("MPI_Recv")
        }
    }

    fn status_page(rank: u32, size: u32) -> StatusPage {
        let file = rustix::fs::memfd_create("status page", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, status_page_bytes(size)).unwrap();
        StatusPage::new(file, rank)
    }

    #[test]
    fn what_is_published_is_read_back() {
        let status_page = status_page(2, 4);
        assert_eq!(status_page.read_own().unwrap().state(), RankState::Absent);
        assert_eq!(status_page.read_own().unwrap().pid(), None);
        status_page.publish(&receive("of 2 requests"));
        let record = status_page.file.with(|file| read_record(file, 2)).unwrap();
        assert_eq!(record.blocked(), Some(receive("of 2 requests")));
        assert_eq!(record.pid(), Some(std::process::id()));
        let asks = Blocked { asked_ns: Some(7), root: 3, collective: "MPI_Ibcast", ..receive("") };
        status_page.publish(&asks);
        let record = status_page.read_own().unwrap();
        assert_eq!(
            (record.state(), record.blocked(), record.polling()),
            (RankState::Polling, None, Some(asks))
        );
        status_page.clear();
        assert_eq!(status_page.read_own().unwrap().state(), RankState::Running);
        assert_eq!(status_page.read_own().unwrap().blocked(), None);
        let other = status_page.file.with(|file| read_record(file, 3)).unwrap();
        assert_eq!(other.state(), RankState::Absent);
    }

    #[test]
    fn long_texts_lose_their_ends() {
        let long = "ß".repeat(300);
        let very_long = "x".repeat(2 * RECORD_BYTES);
        let place =
            Blocked { call: &long, collective: &long, comm: &long, notes: &very_long, ..receive(&long) };
        let record = RankRecord::new(RankState::Blocked, 1, Some(&place));
        let blocked = record.blocked().unwrap();
        let lengths = [blocked.call, blocked.collective, blocked.comm, blocked.detail].map(str::len);
        assert_eq!(lengths, [64, 64, 128, 254]);
        assert_eq!(blocked.notes.len(), NOTES_BYTES_MIN + 1);
    }

    #[test]
    fn a_torn_record_is_not_believed() {
        let status_page = status_page(0, 1);
        let (old, new) = (
            RankRecord::new(RankState::Running, 1, None),
            RankRecord::new(RankState::Blocked, 1, Some(&receive("a detail"))),
        );
        for cut in (8..RECORD_BYTES).step_by(8) {
            let mut torn = old;
            torn.0[..cut].copy_from_slice(&new.0[..cut]);
            assert!(torn == old || torn == new || !torn.is_whole(), "cut at {cut}");
        }
        status_page.file.with(|file| pwrite(file, &[7; RECORD_BYTES], 0)).unwrap();
        assert_eq!(status_page.read_own().unwrap().state(), RankState::Absent);
    }

    #[test]
    fn impossible_lengths_are_not_followed() {
        for index in 0..TEXTS {
            let mut record = RankRecord::new(RankState::Blocked, 1, Some(&receive("")));
            record.put_u16(LENGTHS + 2 * index, (CHECKSUM - TEXT + 1) as u16);
            assert_eq!(record.blocked(), None);
        }
    }
}
