//! The protocol of sleeping and waking without the system calls, also under loom. (`membarrier` cannot be
//! modelled; what it gives is the fence that is modelled here.)

use super::*;

#[cfg(not(loom))]
mod plain {
    use super::*;

    #[test]
    fn only_the_sleeping_are_rung() {
        let bell = BellWords::new();
        assert!(!bell.must_ring(0) && !bell.must_ring(NEEDS_FENCE));
        let armed = bell.announce();
        assert!(bell.must_ring(0) && bell.must_ring(NEEDS_FENCE));
        bell.withdraw();
        assert!(!bell.must_ring(0) && !bell.rang_since(armed));
    }

    #[test]
    fn a_ring_takes_the_announcement_back() {
        let bell = BellWords::new();
        bell.ask_for_fences();
        let armed = bell.announce();
        bell.count_ring();
        assert!(bell.rang_since(armed) && !bell.must_ring(0));
        let again = bell.announce();
        assert!(!bell.rang_since(again) && bell.must_ring(0));
    }
}

#[cfg(loom)]
mod model {
    use super::*;
    use loom::thread;
    use std::sync::Arc;

    struct Rank {
        bell: BellWords,
        messages: AtomicU32,
    }

    fn send(to: &Rank) {
        to.messages.fetch_add(1, Ordering::Release);
        if to.bell.must_ring(NEEDS_FENCE) {
            to.bell.count_ring();
        }
    }

    /// What a rank does before it sleeps; the count to sleep on if it saw nothing.
    fn arm(rank: &Rank, seen: u32) -> Option<u32> {
        let armed = rank.bell.announce();
        fence(Ordering::SeqCst);
        (rank.messages.load(Ordering::Acquire) == seen).then_some(armed)
    }

    fn rank() -> Arc<Rank> {
        let rank = Rank { bell: BellWords::new(), messages: AtomicU32::new(0) };
        rank.bell.ask_for_fences();
        Arc::new(rank)
    }

    #[test]
    fn a_message_is_seen_or_rings() {
        loom::model(|| {
            let rank = rank();
            let sender = rank.clone();
            let sender = thread::spawn(move || send(&sender));
            let sleeps = arm(&rank, 0);
            sender.join().unwrap();
            assert!(sleeps.is_none_or(|armed| rank.bell.rang_since(armed)));
        });
    }

    /// Three threads: all interleavings with at most three preemptions.
    fn model(body: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(body);
    }

    #[test]
    fn two_senders_do_not_take_each_others_announcement() {
        model(|| {
            let rank = rank();
            let senders = [rank.clone(), rank.clone()].map(|rank| thread::spawn(move || send(&rank)));
            let mut seen = 0;
            while seen < 2 {
                if let Some(armed) = arm(&rank, seen) {
                    while !rank.bell.rang_since(armed) {
                        thread::yield_now();
                    }
                }
                seen = rank.messages.load(Ordering::Acquire);
            }
            senders.into_iter().for_each(|sender| sender.join().unwrap());
        });
    }

    #[test]
    fn two_sleepers_are_both_woken() {
        model(|| {
            let rank = rank();
            let sleepers = [rank.clone(), rank.clone()].map(|rank| thread::spawn(move || arm(&rank, 0)));
            send(&rank);
            for sleeper in sleepers {
                let sleeps = sleeper.join().unwrap();
                assert!(sleeps.is_none_or(|armed| rank.bell.rang_since(armed)));
            }
        });
    }
}
