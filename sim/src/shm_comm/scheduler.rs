//! The clocks of all ranks, and what they share: whose turn it is.

use super::cache::Cache;
use crate::job::SimulatedJob;
use crate::outcome::RunOutcome;
use crate::params::Params;
use crate::topology::RankTopology;
use crate::{Picos, picos};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::{Condvar, Mutex, MutexGuard};
use tern_mem::UserBuf;
use tern_shm::ShmWatch;
use tern_shm::limits::{LINE_BYTES, SHARED_BUFFER_DATA_BYTES};
use tern_shm::shm_comm::FlagPayload;

/// What all ranks share.
pub(super) struct Scheduler {
    state: Mutex<SchedulerState>,
    /// By which a rank's thread hears that it is its turn.
    turns: Vec<Condvar>,
    /// The shm communicator's data.
    pub data: UserBuf,
    prices: LinePrices,
}

/// What lines cost.
#[derive(Clone, Copy)]
struct LinePrices {
    /// A line comes from another core.
    transfer: Picos,
    /// Another rank comes to run on a core.
    switch: Picos,
}

/// What a rank is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Runs,
    Waits(ShmWatch),
    Ended,
}

struct Life {
    clock: Picos,
    doing: Doing,
    /// It has asked for another core's data since it last waited.
    fetches: bool,
}

/// A core that several ranks may share.
#[derive(Clone, Default)]
struct SharedCore {
    /// Who runs there and does not wait.
    owner: Option<u32>,
    /// Who ran there last.
    last: Option<u32>,
    free_at: Picos,
}

/// A flag, and when the cores that watch it can see it as it is.
#[derive(Clone, Copy)]
struct WatchedFlag {
    count: u64,
    mark: u64,
    payload: FlagPayload,
    visible: Picos,
    holders: u64,
    /// The count before the last raise, which is what is seen until then.
    before: u64,
}

/// The words by which more than two ranks synchronize.
#[derive(Default)]
struct SyncWords {
    arrived: u32,
    gate: u64,
    gate_before: u64,
    gate_mark: u64,
    /// When it can be seen that the gate has opened.
    visible: Picos,
    /// Until when the line is on its way to one who counts.
    busy_until: Picos,
}

struct SchedulerState {
    lives: Vec<Life>,
    cores: Vec<SharedCore>,
    topology: RankTopology,
    running: u32,
    flags: HashMap<usize, WatchedFlag, BuildHasherDefault<DefaultHasher>>,
    words: SyncWords,
    cache: Cache,
    /// Flags that were raised, and ranks that were counted.
    raised: u64,
    /// Bytes that each rank has put where others read them, or got.
    moved: Vec<u64>,
    /// Nobody can go on.
    stuck: bool,
}

impl Scheduler {
    /// A scheduler on which nothing has happened.
    pub(super) fn new(job: &SimulatedJob, params: &Params) -> Scheduler {
        let topology = RankTopology::new(params);
        let mut starts = job.faults.starts();
        let lives =
            (0..job.ranks).map(|_| Life { clock: starts(), doing: Doing::Runs, fetches: false }).collect();
        let state = SchedulerState {
            lives,
            cores: vec![SharedCore::default(); topology.core(job.ranks - 1) + 1],
            topology,
            running: u32::MAX,
            flags: HashMap::default(),
            words: SyncWords::default(),
            cache: Cache::new(SHARED_BUFFER_DATA_BYTES / LINE_BYTES),
            raised: 0,
            moved: vec![0; job.ranks as usize],
            stuck: false,
        };
        let shared = params.ranks_per_core > 1;
        let switch = if shared { picos(params.levels[0].overhead_receive_ns) } else { 0 };
        // A flag goes to its writer, and then to whoever watches it.
        let prices = LinePrices { transfer: picos(params.shm_comm.exchange_ns / 2.0), switch };
        Scheduler {
            state: Mutex::new(state),
            turns: (0..job.ranks).map(|_| Condvar::new()).collect(),
            data: UserBuf::owned(SHARED_BUFFER_DATA_BYTES),
            prices,
        }
    }

    fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A rank's thread begins: it returns when it is its turn.
    pub(super) fn begin(&self, rank: u32) {
        let mut state = self.lock();
        if state.running == u32::MAX && rank == 0 {
            self.hand_on(&mut state);
        }
        drop(self.until_turn(state, rank));
    }

    /// It ends.
    pub(super) fn end(&self, rank: u32) {
        let mut state = self.turn(rank);
        state.lives[rank as usize].doing = Doing::Ended;
        state.leave_core(rank);
        self.hand_on(&mut state);
    }

    /// The rank, which runs, is about to do what others can see: returns once no other is earlier.
    fn turn(&self, rank: u32) -> MutexGuard<'_, SchedulerState> {
        let mut state = self.lock();
        if state.earliest() == Some(rank) {
            return state;
        }
        self.hand_on(&mut state);
        self.until_turn(state, rank)
    }

    fn hand_on(&self, state: &mut SchedulerState) {
        match state.earliest() {
            Some(next) => {
                state.enter_core(next, self.prices.switch);
                state.running = next;
                self.turns[next as usize].notify_one();
            }
            None if state.lives.iter().any(|life| life.doing != Doing::Ended) => {
                state.stuck = true;
                self.turns.iter().for_each(Condvar::notify_one);
            }
            None => {}
        }
    }

    fn until_turn<'s>(
        &self,
        mut state: MutexGuard<'s, SchedulerState>,
        rank: u32,
    ) -> MutexGuard<'s, SchedulerState> {
        while state.running != rank {
            assert!(!state.stuck, "all ranks wait: a defect of the steps over shared memory");
            state = self.turns[rank as usize].wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        state
    }

    /// The rank is busy for a time.
    pub(super) fn charge(&self, rank: u32, time: Picos) {
        self.lock().lives[rank as usize].clock += time;
    }

    /// Waits for a word.
    pub(super) fn wait(&self, rank: u32, watch: ShmWatch) {
        let mut state = self.turn(rank);
        while let Some(visible) = state.comes(&watch) {
            let clock = state.lives[rank as usize].clock;
            match visible {
                Some(visible) if visible <= clock => break,
                // It is on its way.
                Some(visible) => state.lives[rank as usize].clock = visible,
                None => {
                    state.lives[rank as usize].doing = Doing::Waits(watch);
                    state.leave_core(rank);
                }
            }
            self.hand_on(&mut state);
            state = self.until_turn(state, rank);
        }
        state.lives[rank as usize].fetches = false;
        // The line comes to who watches it.
        state.look(&watch, rank, self.prices.transfer);
    }

    /// Whether a word has come.
    pub(super) fn count(&self, rank: u32, line: usize) -> u64 {
        let mut state = self.turn(rank);
        let clock = state.lives[rank as usize].clock;
        let flag = state.flag(line);
        if flag.visible > clock {
            // The line is still on its way to its writer.
            return flag.before;
        }
        let count = flag.count;
        state.fetch_flag(rank, line, self.prices.transfer);
        count
    }

    /// The last sync step whose gate was opened, as the rank sees it.
    pub(super) fn gate(&self, rank: u32) -> u64 {
        let state = self.turn(rank);
        let is_seen = state.words.visible <= state.lives[rank as usize].clock;
        if is_seen { state.words.gate } else { state.words.gate_before }
    }

    /// The mark beside it.
    pub(super) fn gate_mark(&self) -> u64 {
        self.lock().words.gate_mark
    }

    /// The mark beside a flag.
    pub(super) fn mark(&self, line: usize) -> u64 {
        self.lock().flag(line).mark
    }

    /// The flag payload beside a flag, which nobody changes before this rank has said that it is through with it.
    pub(super) fn payload(&self, line: usize) -> FlagPayload {
        self.lock().flag(line).payload
    }

    /// Raises a flag; the store is on its way while the rank goes on.
    pub(super) fn raise(
        &self,
        rank: u32,
        line: usize,
        (count, mark): (u64, u64),
        payload: Option<&FlagPayload>,
    ) {
        let mut state = self.turn(rank);
        let (clock, core) = (state.lives[rank as usize].clock, state.core_bit(rank));
        let flag = state.flag(line);
        let is_elsewhere = flag.holders & !core != 0;
        (flag.before, flag.count, flag.mark) = (flag.count, count, mark);
        flag.visible = clock + if is_elsewhere { self.prices.transfer } else { 0 };
        flag.holders = core;
        if let Some(payload) = payload {
            flag.payload = *payload;
        }
        let visible = flag.visible;
        state.raised += 1;
        let is_it = |watch: &ShmWatch| match *watch {
            ShmWatch::Flag { line: at, count: needed, .. }
            | ShmWatch::Sole { line: at, count: needed, .. }
            | ShmWatch::Progress { line: at, count: needed } => at == line && needed <= count,
            ShmWatch::Gate { .. } => false,
        };
        state.wake(is_it, visible);
    }

    /// Counts a flag up, unless it is at `most`, or down.
    pub(super) fn add(&self, rank: u32, line: usize, most: Option<u64>) -> bool {
        let mut state = self.turn(rank);
        state.fetch_flag(rank, line, self.prices.transfer);
        let core = state.core_bit(rank);
        let flag = state.flag(line);
        let enters = most.is_none_or(|most| flag.count < most);
        flag.count = match most {
            None => flag.count.saturating_sub(1),
            Some(_) => flag.count + u64::from(enters),
        };
        (flag.before, flag.holders) = (flag.count, core);
        enters
    }

    /// Counts a rank as arrived: ranks do so one after the other.
    pub(super) fn arrive(&self, rank: u32) -> u32 {
        let mut state = self.turn(rank);
        let begins = state.lives[rank as usize].clock.max(state.words.busy_until);
        let ends = begins + self.prices.transfer;
        state.lives[rank as usize].clock = ends;
        state.words.busy_until = ends;
        state.lives[rank as usize].fetches = false;
        state.words.arrived += 1;
        state.raised += 1;
        state.words.arrived
    }

    /// All may leave.
    pub(super) fn open(&self, rank: u32, count: u64, mark: u64) {
        let mut state = self.turn(rank);
        let clock = state.lives[rank as usize].clock + self.prices.transfer;
        state.lives[rank as usize].clock = clock;
        let gate_before = state.words.gate;
        state.words = SyncWords {
            arrived: 0,
            gate: count,
            gate_before,
            gate_mark: mark,
            visible: clock,
            busy_until: clock,
        };
        state.wake(|watch| matches!(watch, ShmWatch::Gate { .. }), clock);
    }

    /// The rank reads some of the shm communicator's data: how many of their lines come from another core, and whether they are the first
    /// since it has waited: those that are asked for without waiting in between come together. Whose turn it is does not
    /// matter: only who has been told by a flag touches data that another one writes.
    pub(super) fn read(&self, rank: u32, at: usize, bytes: usize) -> (u64, bool) {
        let mut state = self.lock();
        let core = state.topology.core(rank);
        let lines = state.cache.read(core, at, bytes);
        let fetches = &mut state.lives[rank as usize].fetches;
        let is_first = lines > 0 && !*fetches;
        *fetches |= lines > 0;
        (lines, is_first)
    }

    /// The rank writes some of the shm communicator's data: how many of their lines another core has.
    pub(super) fn write(&self, rank: u32, at: usize, bytes: usize) -> u64 {
        let mut state = self.lock();
        state.moved[rank as usize] += bytes as u64;
        let core = state.topology.core(rank);
        state.cache.write(core, at, bytes)
    }

    /// The rank has got bytes from another one's memory.
    pub(super) fn got(&self, rank: u32, bytes: u64) {
        self.lock().moved[rank as usize] += bytes;
    }

    /// What was found.
    pub(super) fn outcome(&self) -> RunOutcome {
        let state = self.lock();
        RunOutcome {
            time: state.lives.iter().map(|life| life.clock).max().unwrap_or(0),
            events: state.raised,
            messages: state.raised,
            bytes: state.moved.iter().sum(),
            rank_bytes_max: state.moved.iter().copied().max().unwrap_or(0),
            ranks: state.lives.len() as u32,
            unexpected_bytes_max: 0,
            hang: None,
        }
    }
}

impl SchedulerState {
    fn flag(&mut self, line: usize) -> &mut WatchedFlag {
        let payload = [0; tern_shm::limits::FLAG_PAYLOAD_BYTES];
        self.flags.entry(line).or_insert(WatchedFlag {
            count: 0,
            mark: 0,
            payload,
            visible: 0,
            holders: 0,
            before: 0,
        })
    }

    fn core_bit(&self, rank: u32) -> u64 {
        1 << (self.topology.core(rank) % u64::BITS as usize)
    }

    /// The rank reads a flag; it waits for the line if another core has it.
    fn fetch_flag(&mut self, rank: u32, line: usize, transfer: Picos) {
        let core = self.core_bit(rank);
        let flag = self.flag(line);
        let comes = flag.holders != 0 && flag.holders & core == 0;
        flag.holders |= core;
        if comes {
            self.lives[rank as usize].clock += transfer;
        }
    }

    /// Who watched a word reads it now.
    fn look(&mut self, watch: &ShmWatch, rank: u32, transfer: Picos) {
        match *watch {
            ShmWatch::Flag { line, .. } | ShmWatch::Sole { line, .. } | ShmWatch::Progress { line, .. } => {
                self.fetch_flag(rank, line, transfer)
            }
            ShmWatch::Gate { .. } => self.lives[rank as usize].clock += transfer,
        }
    }

    /// `None`: the rank has seen before that it has come. Otherwise when that can be seen, if it was done already.
    fn comes(&mut self, watch: &ShmWatch) -> Option<Option<Picos>> {
        match *watch {
            ShmWatch::Flag { line, count, .. }
            | ShmWatch::Sole { line, count, .. }
            | ShmWatch::Progress { line, count } => {
                let flag = self.flag(line);
                if flag.before >= count {
                    return None;
                }
                Some((flag.count >= count).then_some(flag.visible))
            }
            ShmWatch::Gate { count } => Some((self.words.gate >= count).then_some(self.words.visible)),
        }
    }

    /// Those who wait for a word go on when they can see it.
    fn wake(&mut self, is_it: impl Fn(&ShmWatch) -> bool, visible: Picos) {
        for life in &mut self.lives {
            if matches!(&life.doing, Doing::Waits(watch) if is_it(watch)) {
                (life.doing, life.clock) = (Doing::Runs, life.clock.max(visible));
            }
        }
    }

    /// The rank that is the first to go on.
    fn earliest(&self) -> Option<u32> {
        let ready = |rank: u32| {
            let (life, core) = (&self.lives[rank as usize], &self.cores[self.topology.core(rank)]);
            let may = life.doing == Doing::Runs && core.owner.is_none_or(|owner| owner == rank);
            may.then(|| (life.clock.max(if core.owner.is_none() { core.free_at } else { 0 }), rank))
        };
        (0..self.lives.len() as u32).filter_map(ready).min().map(|(_, rank)| rank)
    }

    fn enter_core(&mut self, rank: u32, switch: Picos) {
        let core = &mut self.cores[self.topology.core(rank)];
        if core.owner == Some(rank) {
            return;
        }
        let comes = if core.last.is_none_or(|last| last == rank) { 0 } else { switch };
        let life = &mut self.lives[rank as usize];
        life.clock = life.clock.max(core.free_at) + comes;
        (core.owner, core.last) = (Some(rank), Some(rank));
    }

    fn leave_core(&mut self, rank: u32) {
        let core = &mut self.cores[self.topology.core(rank)];
        (core.owner, core.free_at) = (None, self.lives[rank as usize].clock);
    }
}
