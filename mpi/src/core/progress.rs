//! Progress while the program computes, by a thread of the library's own.
//!
//! `TERN_PROGRESS=thread`: messages move meanwhile (the interrupt-driven controller of the MP_Lite thesis, chapter 5; interrupt
//! mode of MPI-LAPI, section 6). The thread sleeps on the rank's doorbell, as a call that waits would, and makes progress when it
//! rings. Over TCP the thread exists in any case, for what a call has left behind: a connection that is not made yet, bytes that
//! the socket did not take, short messages that wait for the next one. The peer must not wait for this rank's next call.
//!
//! It steps aside whenever it would only be in the way: while a call of the program waits, or calls follow each other, since they
//! make progress themselves and faster, and while there is nothing to do. Then it is parked: no bell is armed, and no sender makes a system call for it.
//! Whoever leaves the library with something to do wakes it.

mod parked;

use parked::{AWAY, ENDS, PARKED, SLEEPS, STATE, door, has_work, serves_others, thread, unpark};
pub(crate) use parked::{leaving, runs};

use crate::core::process::{
    ClosedGate, LockGuard, Process, be_ours, close_gate, enter, entries, open_gate, try_enter, use_lock,
};
use crate::core::wait;
use crate::limits::{
    IDLE_NAPS_MAX, LOOK_ABROAD, LOOK_AT_DIALING, NAP, NAP_FOR_RESIDUE, NAP_MAX, SLICE_NS, STAYS_OUT_MAX,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tern_tcp::{DoorPost, Tcp};
use tern_transport::threads::Serving;

/// Starts the thread. The process's state must be behind its lock from now on. Without a thread, which a limit of the
/// system may forbid, progress is made in calls only.
pub(crate) fn start() {
    STATE.store(AWAY, Ordering::SeqCst);
    let serving = Serving::start();
    *thread() = std::thread::Builder::new().name("tern-progress".into()).spawn(move || run(&serving)).ok();
}

/// Starts the thread if there is none. The caller has not entered the library, and no other thread may be in it yet.
pub(crate) fn ensure() {
    if runs() {
        return;
    }
    use_lock();
    start();
}

/// Ends the thread, and waits until it has. Nobody may be in the library on its behalf.
pub(crate) fn stop() {
    let Some(handle) = thread().take() else { return };
    STATE.store(ENDS, Ordering::SeqCst);
    unpark(&handle);
    if let Some(bell) = enter().waiting.bell.clone() {
        bell.ring();
    }
    let _ = handle.join();
}

fn run(serving: &Serving) {
    serving.begin();
    be_ours();
    open_gate();
    crate::tool::keep_quiet();
    ask_for_short_waits();
    let mut naps = Naps::default();
    while STATE.load(Ordering::SeqCst) != ENDS {
        if naps.can_stay_out() {
            nap(naps.longer());
        } else {
            turn(&mut naps);
        }
    }
}

/// Looks whether there is something to do. Where somebody is in the library, there is not: to wait until that one leaves would
/// cost the program several times a system call.
fn turn(naps: &mut Naps) {
    if naps.others_are_here() {
        return nap(naps.longer());
    }
    let Some((closed, mut process)) = come_in() else {
        return nap(naps.longer());
    };
    if STATE.load(Ordering::SeqCst) == ENDS {
        return;
    }
    let (others, polled) = naps.since_last(&process);
    let has_work = has_work(&mut process);
    naps.is_for(process.waiting.progress_thread || serves_others(&process));
    let time = match naps.serves {
        true => (has_work && others).then(|| naps.longer()),
        false => naps.for_unsent(has_work, polled),
    };
    match time {
        Some(time) => {
            drop(process);
            drop(closed);
            nap(time);
        }
        None if has_work => {
            naps.shortest();
            work(process, closed);
        }
        None => {
            park(process, closed);
            naps.restart();
        }
    }
}

/// Enters the library unless somebody else is in it. The gate stays closed for the whole turn: callbacks of the user, for which the
/// lock is left, find this thread in it.
fn come_in() -> Option<(ClosedGate, LockGuard)> {
    let closed = close_gate()?;
    let process = try_enter(&closed)?;
    Some((closed, process))
}

/// Sleeps, unless the thread is to end.
fn nap(time: Duration) {
    std::thread::park_timeout(time);
}

/// When the thread lets a program that is in MPI all the time go on alone, and for how long.
struct Naps {
    entries: u64,
    polls: u64,
    /// Whatever comes is what this thread is for, whenever the program is not in MPI.
    serves: bool,
    /// Turns in a row in which it has stayed out since the program was.
    stayed_out: u32,
    /// Turns since there was something to do.
    idle: u32,
    /// It has looked what this thread is for.
    knows_what_for: bool,
    /// The next nap.
    time: Duration,
}

impl Default for Naps {
    fn default() -> Self {
        Naps {
            entries: 0,
            polls: 0,
            serves: false,
            stayed_out: 0,
            idle: 0,
            knows_what_for: false,
            time: NAP_FOR_RESIDUE,
        }
    }
}

impl Naps {
    /// A nap after which the program is found to see to everything itself costs it a change of threads, up to 40 µs. The longer it has
    /// done so, the longer it is believed: what it then leaves behind and computes is late by an eighth of that time at most.
    fn longer(&mut self) -> Duration {
        let now = self.time;
        self.time = (now + now / 8).min(NAP_MAX);
        now
    }

    /// The program computes at times.
    fn shortest(&mut self) {
        self.time = if self.serves { NAP } else { NAP_FOR_RESIDUE };
    }

    /// Whether to nap without trying to come in, which costs the program more than the nap: a call that waits sees to all.
    fn can_stay_out(&mut self) -> bool {
        let stays = self.knows_what_for && self.idle < IDLE_NAPS_MAX && wait::is_anybody_awake();
        self.idle += u32::from(stays);
        stays
    }

    /// Learns what this thread is for: whatever comes, or what a call has left behind.
    fn is_for(&mut self, all: bool) {
        self.knows_what_for = true;
        if self.serves != all {
            self.serves = all;
            self.shortest();
        }
    }

    /// Whether the program is in MPI all the time, so that this thread has nothing to do. To come in and find that out would cost the program
    /// more than the nap. Now and then it comes in all the same.
    fn others_are_here(&mut self) -> bool {
        let now = entries();
        let stays = self.serves && now != self.entries && self.stayed_out < STAYS_OUT_MAX;
        if stays {
            (self.entries, self.stayed_out) = (now, self.stayed_out + 1);
        } else {
            self.stayed_out = 0;
        }
        stays
    }

    /// Whether somebody else was in the library since this was asked, and whether anybody polled.
    fn since_last(&mut self, process: &Process) -> (bool, bool) {
        let entries = entries();
        let since = (entries.wrapping_sub(self.entries) > 1, process.waiting.polls != self.polls);
        (self.entries, self.polls) = (entries, process.waiting.polls);
        since
    }

    /// Every poll sees to what was left behind: what there is now is new if there was one, and gets a nap's time for the next.
    /// A program that leaves something behind again and again finds the thread not parked, and need not wake it.
    fn for_unsent(&mut self, has_work: bool, polled: bool) -> Option<Duration> {
        self.idle = if has_work { 0 } else { self.idle + 1 };
        (polled && self.idle < IDLE_NAPS_MAX).then(|| self.longer())
    }

    /// Somebody has something to do again.
    fn restart(&mut self) {
        self.idle = 0;
        self.shortest();
    }
}

/// Makes progress, or sleeps until there may be some to make.
fn work(process: LockGuard, closed: ClosedGate) {
    let (process, moved) = progress(process);
    let Some(bell) = process.waiting.bell.clone().filter(|_| !moved) else { return };
    let armed = bell.arm();
    let (mut process, moved) = progress(process);
    let stays = !moved && has_work(&mut process);
    // Under the lock: whoever leaves the library afterwards sees it.
    let stays = stays && STATE.compare_exchange(AWAY, SLEEPS, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    drop(process);
    drop(closed);
    if !stays {
        return bell.disarm();
    }
    bell.sleep(armed, None);
    // Unless it is to end.
    let _ = STATE.compare_exchange(SLEEPS, AWAY, Ordering::SeqCst, Ordering::SeqCst);
}

/// The program computes, so nobody else finds that a process of another world is lost, and no launcher tells. What was to go to it stays
/// unsent for ever. What else is amiss the program's next call says, if there is one. A rank that has left MPI wants nothing from its peers.
fn progress(process: LockGuard) -> (LockGuard, bool) {
    let (mut process, moved) = wait::progress(process);
    let watches = process.engine_mut().is_some_and(|engine| crate::spawn::watches(engine.transport_ref()));
    let ends = watches && !process.waiting.away && !is_left_to_the_program(&mut process);
    let process = if ends { wait::unless_a_peer_is_lost(process) } else { process };
    (process, moved)
}

/// A tool hears of the loss from a thread of the program (section 15.3.8), so the job ends by one that waits in a call. Once: the next
/// look of this thread ends it otherwise.
fn is_left_to_the_program(process: &mut Process) -> bool {
    static LEFT: AtomicBool = AtomicBool::new(false);
    let waits = process.waiting.sleepers > 0 && crate::tool::is_heard();
    let lost = waits && process.engine_mut().is_some_and(|engine| engine.transport().failure().is_some());
    let left = lost && !LEFT.swap(true, Ordering::Relaxed);
    if let Some(bell) = process.waiting.bell.as_ref().filter(|_| left) {
        bell.ring();
    }
    left
}

/// A thread that is parked must look out from now on. This process has met another world, whose end no launcher tells, or has a
/// port, and whoever comes wants an answer though the program computes.
pub(crate) fn look_abroad() {
    if STATE.compare_exchange(PARKED, AWAY, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        && let Some(handle) = &*thread()
    {
        unpark(handle);
    }
}

/// How a parked thread hears of other worlds.
enum LookOut {
    /// There are none.
    None,
    /// Somebody may come to a door.
    Door(DoorPost),
    /// A connection may break for good, or somebody is being let in: it looks again after this time.
    After(Duration),
}

impl LookOut {
    fn of(process: &Process) -> LookOut {
        match process.abroad() {
            Some(tcp) if tcp.has_had_doors() || tcp.has_foreigners() => match tcp.door_post() {
                _ if tcp.is_connecting() => LookOut::After(LOOK_AT_DIALING),
                Some(post) if !tcp.has_foreigners() => LookOut::Door(post),
                _ => LookOut::After(LOOK_ABROAD),
            },
            _ => LookOut::None,
        }
    }

    fn wait(&self) {
        match self {
            LookOut::None => std::thread::park(),
            LookOut::After(time) => nap(*time),
            LookOut::Door(post) => {
                *door() = Some(post.clone());
                // Whoever has changed it before did not know where to knock.
                if STATE.load(Ordering::SeqCst) == PARKED {
                    post.sleep();
                }
                *door() = None;
            }
        }
    }
}

fn park(process: LockGuard, closed: ClosedGate) {
    let mut out = LookOut::of(&process);
    // Under the lock: whoever leaves the library afterwards sees it.
    let parked = STATE.compare_exchange(AWAY, PARKED, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    drop(process);
    drop(closed);
    while parked && STATE.load(Ordering::SeqCst) == PARKED {
        out.wait();
        if !matches!(out, LookOut::None) && STATE.load(Ordering::SeqCst) == PARKED {
            out = look_around();
        }
    }
}

/// While the program computes, a connection to another world may have broken for good, or somebody may stand at a port.
fn look_around() -> LookOut {
    let Some((_closed, process)) = come_in() else { return LookOut::After(LOOK_AT_DIALING) };
    process.abroad().into_iter().for_each(Tcp::look_soon);
    let (process, _) = progress(process);
    LookOut::of(&process)
}

/// The thread runs for microseconds, while the program computes on the core that it wakes up on. A short time slice lets it in at
/// once (Linux 6.12; older kernels ignore it, and any may refuse).
fn ask_for_short_waits() {
    // SAFETY: all zero is a valid structure; the calls write and read no more than it, and change this thread alone.
    unsafe {
        let mut now: libc::sched_attr = std::mem::zeroed();
        let size = size_of::<libc::sched_attr>();
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, size, 0) == 0 {
            now.sched_runtime = SLICE_NS;
            libc::syscall(libc::SYS_sched_setattr, 0, &raw const now, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_poll_has_seen_to_for_a_nap_is_seen_to() {
        let mut naps = Naps::default();
        assert_eq!(naps.for_unsent(true, true), Some(NAP_FOR_RESIDUE));
        assert!(naps.for_unsent(true, true).is_some(), "the program polls");
        assert_eq!(naps.for_unsent(true, false), None);
    }

    #[test]
    fn no_nap_is_longer_than_an_eighth_of_those_before() {
        let mut naps = Naps::default();
        let mut before = Duration::ZERO;
        for _ in 0..100 {
            let nap = naps.longer();
            assert!(nap <= NAP_FOR_RESIDUE + before / 8 && nap <= NAP_MAX, "{nap:?}");
            before += nap;
        }
        assert_eq!(naps.longer(), NAP_MAX);
        naps.shortest();
        assert_eq!(naps.longer(), NAP_FOR_RESIDUE);
        naps.is_for(true);
        assert_eq!(naps.longer(), NAP);
        let longest = (0..100).map(|_| naps.longer()).max();
        assert_eq!(longest, Some(NAP_MAX));
    }

    #[test]
    fn a_program_that_calls_again_is_left_alone_but_not_for_ever() {
        let mut naps = Naps::default();
        naps.is_for(true);
        let stays = (0..1000).take_while(|_| {
            drop(enter());
            naps.others_are_here()
        });
        assert_eq!(stays.count(), STAYS_OUT_MAX as usize);
    }

    #[test]
    fn a_thread_without_work_parks_soon() {
        let mut naps = Naps::default();
        let turns = (0..100).take_while(|_| naps.for_unsent(false, true).is_some()).count();
        assert!((1..=IDLE_NAPS_MAX as usize).contains(&turns), "{turns}");
        assert_eq!(naps.for_unsent(false, false), None);
    }
}
