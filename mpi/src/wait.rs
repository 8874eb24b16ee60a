//! Waiting: one policy, in one place (DESIGN section 3).
//!
//! Spin while the answer may be only a message's flight away, unless the ranks outnumber the cores: then the one who is
//! waited for needs this core. Yield a few times. Then sleep on the doorbell, and after a while tell the board
//! in which call, so that `mpirun` can explain a hang.

use crate::coll;
use crate::comm::Comm;
use crate::limits::*;
use crate::process::{Guard, Process, die, enter};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};
use tern_runtime::board::{ANY_PEER, NO_PEER, NO_TAG};
use tern_runtime::{Blocked, CoreBudget};
use tern_transport::{Doorbell, Fabric, Peer};

/// What a call waits for, for a person.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The call.
    pub call: &'static str,
    /// Rank in the communicator, [`ANY_PEER`] or [`NO_PEER`].
    pub peer: i32,
    /// Tag, `ANY_TAG` or [`NO_TAG`] of the board.
    pub tag: i32,
    /// Context of the communicator, if there is one.
    pub context: Option<u64>,
    /// Bytes of the message or buffer.
    pub bytes: Option<u64>,
    /// More.
    pub detail: String,
}

impl Waiting {
    /// In a call of which nothing more is known.
    pub fn on(call: &'static str) -> Self {
        Waiting { call, peer: NO_PEER, tag: NO_TAG, context: None, bytes: None, detail: String::new() }
    }

    /// In a collective.
    pub fn collective(call: &'static str, context: u64) -> Self {
        Waiting { context: Some(context), ..Waiting::on(call) }
    }

    /// In a call that sends to or receives from a peer; wildcards as in the standard.
    pub fn message(call: &'static str, context: u64, peer: i32, tag: i32, bytes: u64) -> Self {
        let peer = if peer == tern_abi::MPI_ANY_SOURCE { ANY_PEER } else { peer };
        Waiting { call, peer, tag, context: Some(context), bytes: Some(bytes), detail: String::new() }
    }
}

/// What a call waits for, and how it learns of it.
pub trait Event {
    /// What it learns.
    type News;

    /// Asked only when the wait has become long.
    fn waiting(&self, process: &Process) -> Waiting;

    /// Whether it has come. Called with the state entered; between calls other threads come in.
    fn look(&mut self, process: &mut Process) -> Option<Self::News>;

    /// The only peer whose messages can bring it, if there is one.
    #[inline(always)]
    fn peer(&self, _process: &Process) -> Option<Peer> {
        None
    }

    /// Sleeps until it may have come or the bell was rung; see [`Doorbell::sleep`].
    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        bell.sleep(armed, timeout);
    }
}

/// An event that messages bring about.
struct ByMessage<P, W, D> {
    peer: P,
    what: W,
    done: D,
}

impl<T, P, W, D> Event for ByMessage<P, W, D>
where
    P: Fn(&Process) -> Option<Peer>,
    W: Fn(&Process) -> Waiting,
    D: FnMut(&mut Process) -> Option<T>,
{
    type News = T;

    #[inline(always)]
    fn peer(&self, process: &Process) -> Option<Peer> {
        (self.peer)(process)
    }

    fn waiting(&self, process: &Process) -> Waiting {
        (self.what)(process)
    }

    #[inline(always)]
    fn look(&mut self, process: &mut Process) -> Option<T> {
        (self.done)(process)
    }
}

/// Waits until `done` yields something. `what` is asked only when the wait has become long.
/// `done` is called with the state entered; between calls other threads come in.
#[inline]
pub fn until<T>(
    process: Guard,
    what: impl Fn(&Process) -> Waiting,
    done: impl FnMut(&mut Process) -> Option<T>,
) -> T {
    until_event(process, ByMessage { peer: |_: &Process| None, what, done })
}

/// As [`until`], where nothing but messages of one peer's, if there is one, can bring what is waited for. `peer` is asked only
/// where it helps to know.
#[inline]
pub fn until_from<T>(
    process: Guard,
    peer: impl Fn(&Process) -> Option<Peer>,
    what: impl Fn(&Process) -> Waiting,
    done: impl FnMut(&mut Process) -> Option<T>,
) -> T {
    until_event(process, ByMessage { peer, what, done })
}

/// Calls that wait and do not sleep: they make progress. It changes with the state entered, and is looked at without.
static WAITS: AtomicI32 = AtomicI32::new(0);

#[inline]
fn count_waits(more: i32) {
    WAITS.store(WAITS.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Whether a call waits, awake. Those that sleep wake for what arrives, not for what another thread has left behind.
#[inline]
pub fn is_anybody_awake() -> bool {
    WAITS.load(Ordering::Relaxed) > 0
}

/// Empty polls for which a wait spins at most: they take about as long whatever a poll costs.
pub fn spin_polls_max(fabric: &Fabric) -> u32 {
    if fabric.is_networked() { SPIN_POLLS_NETWORK_MAX } else { SPIN_POLLS_MAX }
}

/// Polls of a blocking receive before it needs a request: none to spare where another rank needs this core, or each is a system call.
pub fn polls_at_once(fabric: &Fabric, crowded: bool) -> u32 {
    if crowded || fabric.is_networked() { 1 } else { POLLS_AT_ONCE_MAX }
}

/// Empty polls after which a wait that spins offers the core to others: where messages come over a network, since ranks of what seem to
/// be several machines may share it. 0: it does not.
pub fn polls_per_yield(fabric: &Fabric) -> u32 {
    match (fabric.is_networked(), fabric.has_neighbours()) {
        (false, _) => 0,
        (true, false) => POLLS_PER_YIELD,
        (true, true) => POLLS_PER_YIELD_NEAR,
    }
}

/// Yields before a wait sleeps, at least: see [`CROWDED_PATIENCE`], too.
pub fn yields_max(cores: &CoreBudget) -> u32 {
    if cores.is_crowded() { CROWDED_YIELDS_MAX } else { YIELDS_MAX }
}

/// Waits for an event.
#[inline]
pub fn until_event<E: Event>(mut process: Guard, mut event: E) -> E::News {
    let mut patience = Patience::new(&process);
    if process.listens {
        patience.peer = event.peer(&process);
    }
    count_waits(1);
    loop {
        if let Some(news) = event.look(&mut process) {
            patience.end(&mut process);
            count_waits(-1);
            return news;
        }
        let moved;
        (process, moved) = patience.progress(process);
        if moved {
            patience.restart(&mut process);
            continue;
        }
        process = patience.pass(process, &mut event);
        if let Some(news) = patience.news.take() {
            count_waits(-1);
            return news;
        }
    }
}

/// Takes what has arrived, for a call that asks and does not wait. Where ranks outnumber the cores, a program that asks
/// again and again would keep the core from the very rank it asks about: it is given away once nothing has come.
#[inline]
pub fn look_again(process: Guard) -> Guard {
    let (process, moved) = progress(process);
    if moved || !process.crowded {
        return process;
    }
    progress(yield_core(process, false).0).0
}

/// Takes what has arrived and moves on what it was for; whether there was anything.
#[inline]
pub fn progress(mut process: Guard) -> (Guard, bool) {
    process.polls = process.polls.wrapping_add(1);
    let moved = process.engine_mut().is_some_and(|engine| engine.poll());
    if !process.collectives.is_empty() {
        process = coll::serve(process);
    }
    (process, moved)
}

/// How long this wait has lasted, and so what comes next.
struct Patience<T> {
    polls: u32,
    spin_polls_max: u32,
    yields: u32,
    /// When it had yielded so often that it would sleep if it had a core of its own.
    patient_since: Option<Instant>,
    crowded: bool,
    /// What has come since the wait began, or went on, came to a sleeper.
    slept: bool,
    /// See [`polls_per_yield`].
    polls_per_yield: u32,
    /// The only one who can end this wait, if there is one and it helps to know: only where ranks outnumber the cores.
    peer: Option<Peer>,
    began: Option<Instant>,
    news: Option<T>,
}

impl<T> Patience<T> {
    #[inline]
    fn new(process: &Process) -> Self {
        let spin_polls_max = if process.crowded { 0 } else { process.spin_polls_max };
        Patience {
            polls: 0,
            spin_polls_max,
            yields: 0,
            patient_since: None,
            crowded: process.crowded,
            slept: false,
            polls_per_yield: process.polls_per_yield,
            peer: None,
            began: None,
            news: None,
        }
    }

    /// As [`progress`]. Where ranks outnumber the cores, the one that is waited for gets this one first.
    #[inline]
    fn progress(&mut self, mut process: Guard) -> (Guard, bool) {
        let Some(peer) = self.peer.filter(|_| process.collectives.is_empty()) else {
            return progress(process);
        };
        if self.yields == 0 && process.yielding.is_worth_it() {
            self.yields = 1;
            process = give_core_away(process);
        }
        process.polls = process.polls.wrapping_add(1);
        let moved = process.engine_mut().is_some_and(|engine| engine.listen(peer));
        (process, moved)
    }

    /// Something came, perhaps not what is waited for: it is worth looking again at once.
    #[inline]
    fn restart(&mut self, process: &mut Process) {
        self.end(process);
        self.polls = 0;
        self.yields = 0;
        self.patient_since = None;
        self.slept = false;
    }

    /// What was waited for has come.
    #[inline]
    fn end(&mut self, process: &mut Process) {
        if self.polls > 0 && !self.crowded && !self.slept {
            self.learn(process);
        }
    }

    /// What came only once this core was given away came from a rank that needed it: other programs crowd the machine, and
    /// the next wait spins half as long. What came while spinning lets it spin longer again.
    #[inline]
    fn learn(&mut self, process: &mut Process) {
        if self.yields > 0 {
            process.spin_polls_max = (process.spin_polls_max / 2).max(SPIN_POLLS_MIN);
        } else if process.spin_polls_max < process.spin_polls_most {
            process.spin_polls_max *= 2;
        }
        self.spin_polls_max = process.spin_polls_max;
    }

    /// Lets time pass.
    #[inline]
    fn pass(&mut self, process: Guard, event: &mut impl Event<News = T>) -> Guard {
        if self.polls < self.spin_polls_max {
            self.polls += 1;
            if self.polls_per_yield > 0 && self.polls % self.polls_per_yield == 0 {
                return self.lend_core(process, event);
            }
            // No pause instruction: on today's processors it lasts as long as several polls, and a spin is short.
            if !crate::process::threaded() {
                return process;
            }
            drop(process);
            return enter();
        }
        self.yield_or_sleep(process, event)
    }

    /// Ranks of what seem to be several machines may share this core, and nothing but a yield tells: it costs a fraction of the
    /// polls since the last one if nobody else needs the core. Where it has cost much, to sleep costs less: whoever is rung gets the
    /// core at once.
    #[cold]
    fn lend_core(&mut self, mut process: Guard, event: &mut impl Event<News = T>) -> Guard {
        if !process.yielding.is_worth_it() {
            (self.polls, self.yields) = (self.spin_polls_max, process.yields_max);
            return self.yield_or_sleep(process, event);
        }
        let (mut process, away) = yield_core(process, true);
        // Of cheap ones there are too many to count for anything.
        if let Some(away) = away.filter(|away| *away > YIELD_DEAR) {
            process.yielding.learn(away);
        }
        process
    }

    #[cold]
    fn yield_or_sleep(&mut self, mut process: Guard, event: &mut impl Event<News = T>) -> Guard {
        if self.may_yield(&process) && process.yielding.is_worth_it() {
            self.yields += 1;
            return give_core_away(process);
        }
        let mut process = self.sleep(process, event);
        process.sleepers -= 1;
        count_waits(1);
        // Rung: what rang is being written now or is there; no reason to be patient again from the start.
        self.polls = self.spin_polls_max.saturating_sub(POLLS_AFTER_SLEEP);
        self.yields = 0;
        self.patient_since = None;
        self.slept = true;
        process
    }

    /// Whether it is too early to sleep.
    fn may_yield(&mut self, process: &Process) -> bool {
        if self.peer.is_some() {
            return self.yields < LISTENING_YIELDS_MAX;
        }
        self.yields < process.yields_max || self.crowded && self.is_patient()
    }

    /// The clock is asked only now, when most waits are over.
    fn is_patient(&mut self) -> bool {
        self.patient_since.get_or_insert_with(Instant::now).elapsed() < CROWDED_PATIENCE
    }

    /// Arms the doorbell, looks once more, sleeps. Counts this thread among the sleepers in any case.
    fn sleep(&mut self, process: Guard, event: &mut impl Event<News = T>) -> Guard {
        let mut process = unless_a_peer_is_lost(process);
        process.sleepers += 1;
        count_waits(-1);
        let Some(bell) = process.bell.clone() else {
            // Before initialisation there is nobody to ring: only another thread of this process can help.
            drop(process);
            std::thread::sleep(Duration::from_millis(1));
            return enter();
        };
        let armed = bell.arm();
        let moved;
        (process, moved) = progress(process);
        self.news = event.look(&mut process);
        // What it has sent may be held back for more.
        if moved || self.news.is_some() || holds_back(&mut process) {
            bell.disarm();
            return process;
        }
        let began = *self.began.get_or_insert_with(Instant::now);
        if began.elapsed() < PUBLISH_AFTER {
            process.leave_to_sleep();
            event.sleep(&*bell, armed, Some(PUBLISH_AFTER));
            return enter();
        }
        self.sleep_published(process, &bell, armed, event)
    }

    /// Sleeps for as long as it takes, with the call on the board.
    fn sleep_published(
        &self,
        process: Guard,
        bell: &Arc<dyn Doorbell>,
        armed: u32,
        event: &impl Event<News = T>,
    ) -> Guard {
        publish(
            &process,
            &event.waiting(&process),
            self.began.map_or(Duration::ZERO, |began| began.elapsed()),
        );
        process.leave_to_sleep();
        event.sleep(&**bell, armed, None);
        let process = enter();
        if process.sleepers == 1
            && let Some(board) = process.job.as_ref().and_then(|job| job.board.as_ref())
        {
            board.clear();
        }
        process
    }
}

/// What yields have taught. They are cheap between ranks that exchange messages: each soon waits in its turn. A program that
/// computes keeps the core for its whole time slice, while the scheduler lets a sleeper that is rung in at once.
///
/// So does a rank that copies much, once. Therefore a single dear yield counts little, and each one after it more, until many
/// cheap ones have come in between.
pub struct Yielding {
    /// A yield that took longer is dear.
    dear: Duration,
    /// Waits that are still to sleep without a yield.
    waits_without: u32,
    /// How many they will be after the next dear yield.
    penalty: u32,
    /// Yields that go by without a look at the clock.
    yields_untimed: u32,
    /// Cheap ones, of those that were timed, since the penalty has changed.
    cheap: u32,
}

impl Yielding {
    /// Nothing learnt yet.
    pub const fn new() -> Self {
        Yielding {
            dear: YIELD_DEAR,
            waits_without: 0,
            penalty: WAITS_AFTER_DEAR_YIELD_MIN,
            yields_untimed: 0,
            cheap: 0,
        }
    }

    /// Where ranks share these cores: each of many that share one may have copied much in its turn.
    pub fn on(cores: &CoreBudget) -> Self {
        let further = cores.ranks_per_core().saturating_sub(YIELD_DEAR_RANKS);
        Yielding { dear: YIELD_DEAR + YIELD_DEAR_PER_RANK * further, ..Yielding::new() }
    }

    /// Whether to yield before sleeping, this time.
    #[inline]
    fn is_worth_it(&mut self) -> bool {
        if self.waits_without == 0 {
            return true;
        }
        self.waits_without -= 1;
        false
    }

    /// Whether to look at the clock around the next yield.
    #[inline]
    fn is_timed(&mut self) -> bool {
        let timed = self.yields_untimed == 0;
        self.yields_untimed = self.yields_untimed.saturating_sub(1);
        timed
    }

    fn learn(&mut self, away: Duration) {
        if away > self.dear {
            self.waits_without = self.penalty;
            self.penalty = (self.penalty * WAITS_AFTER_DEAR_YIELD_GROWTH).min(WAITS_AFTER_DEAR_YIELD_MAX);
            self.cheap = 0;
            return;
        }
        self.yields_untimed = YIELDS_UNTIMED;
        self.cheap += 1;
        if self.cheap == CHEAP_YIELDS_TO_TRUST {
            self.penalty = (self.penalty / WAITS_AFTER_DEAR_YIELD_GROWTH).max(WAITS_AFTER_DEAR_YIELD_MIN);
            self.cheap = 0;
        }
    }
}

fn holds_back(process: &mut Process) -> bool {
    process.engine_mut().is_some_and(|engine| engine.transport().holds_back())
}

/// A peer that cannot be reached any more will never send what is waited for: the job ends.
fn unless_a_peer_is_lost(mut process: Guard) -> Guard {
    let lost = process.engine_mut().and_then(|engine| engine.transport().failure().map(str::to_owned));
    let Some(why) = lost else { return process };
    drop(process);
    die(tern_abi::MPI_ERR_OTHER, &why, false)
}

fn give_core_away(mut process: Guard) -> Guard {
    let timed = process.yielding.is_timed();
    let (mut process, away) = yield_core(process, timed);
    if let Some(away) = away {
        process.yielding.learn(away);
    }
    process
}

/// Lets whoever needs this core have it, and other threads of this process come in; how long that took, if it is asked for.
fn yield_core(process: Guard, timed: bool) -> (Guard, Option<Duration>) {
    let left = timed.then(Instant::now);
    drop(process);
    std::thread::yield_now();
    let away = left.map(|left| left.elapsed());
    (enter(), away)
}

fn publish(process: &Process, waiting: &Waiting, waited: Duration) {
    let Some(board) = process.job.as_ref().and_then(|job| job.board.as_ref()) else { return };
    let comm = waiting.context.and_then(|context| process.comms.of_context(context));
    board.publish(&Blocked {
        call: waiting.call,
        peer: waiting.peer,
        tag: waiting.tag,
        comm: &comm.map_or(String::new(), called),
        comm_size: comm.map_or(0, |comm| comm.group.size()),
        bytes: waiting.bytes,
        since_ns: tern_runtime::now_ns().saturating_sub(waited.as_nanos() as u64),
        detail: &waiting.detail,
    });
}

/// What a report calls a communicator, before it says how many ranks this side of it has.
fn called(comm: &Comm) -> String {
    let name = |otherwise| if comm.name.is_empty() { otherwise } else { comm.name.as_str() };
    match &comm.remote {
        None => name("a communicator").into(),
        Some(remote) => format!("{} (to a group of {})", name("an intercommunicator"), remote.size()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits that sleep at once after yields of so many milliseconds, where 2 cores have so many ranks.
    fn waits_without_yield(ranks: u32, yields_ms: &[u64]) -> u32 {
        let mut yielding = Yielding::on(&CoreBudget { usable: 2, ranks });
        yields_ms.iter().for_each(|ms| yielding.learn(Duration::from_millis(*ms)));
        (0..).take_while(|_| !yielding.is_worth_it()).count() as u32
    }

    #[test]
    fn dear_yields_are_counted_by_how_many_share_the_core() {
        assert_eq!(waits_without_yield(4, &[1]), 0);
        assert_eq!(waits_without_yield(4, &[2]), WAITS_AFTER_DEAR_YIELD_MIN);
        assert_eq!(
            waits_without_yield(4, &[2, 2]),
            WAITS_AFTER_DEAR_YIELD_MIN * WAITS_AFTER_DEAR_YIELD_GROWTH
        );
        assert_eq!(waits_without_yield(16, &[2]), 0);
        assert_eq!(waits_without_yield(16, &[3]), WAITS_AFTER_DEAR_YIELD_MIN);
    }

    #[test]
    fn cheap_yields_restore_the_trust() {
        let cheap = vec![0; CHEAP_YIELDS_TO_TRUST as usize];
        let yields = [&[2, 2], &cheap[..], &[2]].concat();
        assert_eq!(
            waits_without_yield(4, &yields),
            WAITS_AFTER_DEAR_YIELD_MIN * WAITS_AFTER_DEAR_YIELD_GROWTH
        );
    }
}
