//! A core that a rank shares, though its job has a core for each rank.
//!
//! Whoever wakes a rank through a pipe or a socket has the scheduler bring it to its own core. So both ranks of a job of two may begin
//! on one core and leave the other idle. Each gives its core away in every wait, so neither sleeps, and only the scheduler's next
//! balance parts them, 10 to 30 ms later. Until then each message takes 5 µs.

use crate::limits::{
    LEAVES_APART_MAX, LEAVES_APART_MIN, SHARED_CORE_TURNS, SHARED_CORE_WAITS_PER_LOOK, SHARED_CORE_YIELDS,
};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// What waits that ended after a yield have told, where every rank should have a core.
pub(crate) struct CoreSharing {
    /// Such waits since the last look.
    waits: u32,
    /// Looks in a row that have found the core shared.
    looks: u32,
    /// How often others had taken the core from this thread at the last look.
    taken: Option<u64>,
    /// This rank does not leave a core again before.
    next: Option<Instant>,
    /// How long it stays after the next time.
    apart: Duration,
}

impl CoreSharing {
    /// Nothing is known yet.
    pub(crate) const fn new() -> CoreSharing {
        CoreSharing { waits: 0, looks: 0, taken: None, next: None, apart: LEAVES_APART_MIN }
    }

    /// What was waited for came once this core was given away, again. Whether this rank has gone to another core for it.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self) -> bool {
        self.waits += 1;
        if self.waits < SHARED_CORE_WAITS_PER_LOOK {
            return false;
        }
        self.looks = if self.look(times_taken()) { self.looks + 1 } else { 0 };
        if self.looks < looks_to_leave(std::process::id()) || !self.may_leave(Instant::now()) {
            return false;
        }
        self.looks = 0;
        tern_job::leave_core()
    }

    /// Yields that a wait has more before it sleeps. Who shares a core is about to leave it, or the other rank is: a move takes 50 to 100 µs.
    /// In a virtual machine the scheduler takes a core whose threads all sleep for one that is not to be had. It would wake this rank
    /// on the core to which the other has gone.
    pub(super) fn more_yields(&self) -> u32 {
        if self.looks > 0 { SHARED_CORE_YIELDS } else { 0 }
    }

    /// Something was in time without a yield, or did not come before this rank slept: neither is so where two ranks wait for each other.
    pub(super) fn forget(&mut self) {
        self.looks = 0;
    }

    /// Whether others have had the core in each of the waits since the last look.
    fn look(&mut self, taken: u64) -> bool {
        let waits = u64::from(std::mem::take(&mut self.waits));
        self.taken.replace(taken).is_some_and(|before| taken.saturating_sub(before) >= waits)
    }

    /// Each time, the next one has to wait twice as long: where other programs crowd all cores, no core is better than another.
    fn may_leave(&mut self, now: Instant) -> bool {
        if self.next.is_some_and(|next| now < next) {
            return false;
        }
        self.next = Some(now + self.apart);
        self.apart = (2 * self.apart).min(LEAVES_APART_MAX);
        true
    }
}

/// Of two ranks that wait for each other on one core, both see the same. If both left, they would meet on the other core: so they leave after
/// different numbers of looks, and who would leave later finds itself alone. All have looked once by then.
fn looks_to_leave(pid: u32) -> u32 {
    2 + pid % SHARED_CORE_TURNS
}

/// How often others have had the core while this thread could have gone on, a yield included.
fn times_taken() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: room for the answer, all of which may be zero.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nivcsw.max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_shared_where_others_have_it_in_each_wait() {
        let mut shared_core = CoreSharing::new();
        let mut look = |waits, taken| {
            shared_core.waits = waits;
            shared_core.look(taken)
        };
        assert!(!look(16, 1000), "nothing is known of before");
        assert!(look(16, 1016));
        assert!(!look(16, 1031), "in one wait nobody came");
        assert!(look(16, 1050));
    }

    #[test]
    fn ranks_that_were_started_one_after_the_other_leave_at_different_times() {
        for pid in 1000..1100 {
            assert_ne!(looks_to_leave(pid), looks_to_leave(pid + 1));
            assert_ne!(looks_to_leave(pid), looks_to_leave(pid + 2));
        }
    }

    #[test]
    fn a_rank_leaves_less_and_less_often() {
        let (mut shared_core, start) = (CoreSharing::new(), Instant::now());
        let mut leaves = 0;
        for ms in 0..10_000 {
            leaves += u32::from(shared_core.may_leave(start + Duration::from_millis(ms)));
        }
        assert!((10..25).contains(&leaves), "{leaves} times in 10 s");
    }

    /// Keeps this thread on the first core that it may use.
    fn stay_on_the_first_core() {
        // SAFETY: sets that all of zero makes empty, for this thread alone.
        unsafe {
            let (mut all, mut one): (libc::cpu_set_t, libc::cpu_set_t) =
                (std::mem::zeroed(), std::mem::zeroed());
            libc::sched_getaffinity(0, size_of_val(&all), &mut all);
            let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &all));
            libc::CPU_SET(first.expect("a thread runs somewhere"), &mut one);
            libc::sched_setaffinity(0, size_of_val(&one), &one);
        }
    }

    #[test]
    fn what_others_take_on_the_same_core_is_counted() {
        let ends = std::sync::atomic::AtomicBool::new(false);
        let has_ended = || ends.load(std::sync::atomic::Ordering::Relaxed);
        let yields = || {
            stay_on_the_first_core();
            let (before, since) = (times_taken(), Instant::now());
            while times_taken() < before + 100 && !has_ended() && since.elapsed() < Duration::from_secs(20) {
                std::thread::yield_now();
            }
            ends.store(true, std::sync::atomic::Ordering::Relaxed);
            times_taken() - before
        };
        let (mine, theirs) = std::thread::scope(|scope| {
            let other = scope.spawn(yields);
            (yields(), other.join().expect("it only yields"))
        });
        assert!(mine.max(theirs) >= 100, "{mine} and {theirs}");
    }
}
