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

    #[test]
    fn only_those_who_want_room_hear_of_it() {
        let bell = BellWords::new();
        assert!(!bell.want_room(), "nobody has announced");
        bell.announce();
        assert!(!bell.must_ring_for_room(0) && !bell.must_ring_for_room(NEEDS_FENCE));
        assert!(bell.want_room());
        assert!(bell.must_ring_for_room(0) && bell.must_ring_for_room(NEEDS_FENCE) && bell.must_ring(0));
        bell.withdraw();
        bell.announce();
        assert!(!bell.must_ring_for_room(0), "the wish is taken back with the announcement");
    }

    #[test]
    fn a_bell_rings_for_its_line_alone() {
        let bell = BellWords::new();
        bell.set_line(3);
        assert!(!bell.must_ring_for_line(3), "nobody has announced");
        bell.announce();
        assert!(bell.must_ring_for_line(3) && !bell.must_ring_for_line(4));
        bell.set_line(ANY_LINE);
        assert!(bell.must_ring_for_line(4));
        bell.set_line(0);
        assert!(!bell.must_ring_for_line(3));
    }

    #[test]
    fn garbage_rings_only_if_it_says_so() {
        let bell = BellWords::new();
        for state in [WANTS_ROOM, 8, 1 << 31, !(ASLEEP | NEEDS_FENCE)] {
            bell.state.store(state, Ordering::Relaxed);
            assert!(!bell.must_ring(0) && !bell.must_ring_for_room(0), "{state:#x}");
        }
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
        rank_that(true)
    }

    /// `fences`: it asks senders to fence.
    fn rank_that(fences: bool) -> Arc<Rank> {
        let rank = Rank { bell: BellWords::new(), messages: AtomicU32::new(0) };
        if fences {
            rank.bell.ask_for_fences();
        }
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

    /// Whether there is room, as a sender sees it that is refused if there is none: by then it has said that it
    /// wants some.
    fn finds_room(rank: &Rank) -> bool {
        let there = || rank.messages.load(Ordering::Acquire) != 0;
        there() || rank.bell.want_room() && there()
    }

    /// What orders a reader's room before its look at the bell, if anything does.
    #[derive(Clone, Copy, PartialEq)]
    enum Order {
        /// The reader's own fence.
        Fence,
        /// The sleeper's `membarrier`, which finds the reader between the two.
        Membarrier,
        /// Nothing: that `membarrier` was over before, and the announcement is seen.
        Nothing,
    }

    fn make_room(rank: &Rank, order: Order) {
        rank.messages.store(1, Ordering::Release);
        if order == Order::Membarrier {
            fence(Ordering::SeqCst);
        }
        if rank.bell.must_ring_for_room(if order == Order::Fence { NEEDS_FENCE } else { 0 }) {
            rank.bell.count_ring();
        }
    }

    /// The count to sleep on if there is no room.
    fn arm_for_room(rank: &Rank) -> Option<u32> {
        let armed = rank.bell.announce();
        fence(Ordering::SeqCst);
        (!finds_room(rank)).then_some(armed)
    }

    fn room_is_seen_or_rings(order: Order) {
        loom::model(move || {
            let rank = rank_that(order == Order::Fence);
            let reader = rank.clone();
            let reader = thread::spawn(move || make_room(&reader, order));
            let sleeps = arm_for_room(&rank);
            reader.join().unwrap();
            assert!(sleeps.is_none_or(|armed| rank.bell.rang_since(armed)));
        });
    }

    #[test]
    fn room_is_seen_or_rings_with_membarrier() {
        room_is_seen_or_rings(Order::Membarrier);
    }

    #[test]
    fn room_is_seen_or_rings_with_fences() {
        room_is_seen_or_rings(Order::Fence);
    }

    /// Another thread of the rank sleeps already, and wanted no room when it went.
    #[test]
    fn room_wanted_while_another_thread_sleeps_rings() {
        model(|| {
            let rank = rank_that(false);
            let armed = rank.bell.announce();
            fence(Ordering::SeqCst);
            let reader = rank.clone();
            let reader = thread::spawn(move || make_room(&reader, Order::Nothing));
            let refused = !finds_room(&rank);
            reader.join().unwrap();
            assert!(!refused || rank.bell.rang_since(armed));
        });
    }

    /// A message for the same rank rings at the same time and takes the wish back with the announcement: then the
    /// sleeper wakes by that.
    #[test]
    fn a_message_and_room_at_once_wake() {
        model(|| {
            let rank = rank_that(true);
            let (sender, reader) = (rank.clone(), rank.clone());
            let others = [
                thread::spawn(move || {
                    if sender.bell.must_ring(NEEDS_FENCE) {
                        sender.bell.count_ring();
                    }
                }),
                thread::spawn(move || make_room(&reader, Order::Fence)),
            ];
            while let Some(armed) = arm_for_room(&rank) {
                while !rank.bell.rang_since(armed) {
                    thread::yield_now();
                }
            }
            others.into_iter().for_each(|other| other.join().unwrap());
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

    /// A rank that sleeps on its bell for a line: it is counted at the line, and whoever raises the line looks at bells if anybody is.
    #[test]
    fn a_line_is_seen_or_rings() {
        const LINE: u64 = 7;
        model(|| {
            let rank = rank();
            let sleepers = Arc::new(AtomicU32::new(0));
            let (raiser, counted) = (rank.clone(), sleepers.clone());
            let raiser = thread::spawn(move || {
                raiser.messages.store(1, Ordering::Release);
                fence(Ordering::SeqCst);
                if counted.load(Ordering::Relaxed) != 0 && raiser.bell.must_ring_for_line(LINE) {
                    raiser.bell.count_ring();
                }
            });
            let armed = rank.bell.announce();
            rank.bell.set_line(LINE);
            sleepers.fetch_add(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            let sleeps = rank.messages.load(Ordering::Acquire) == 0;
            raiser.join().unwrap();
            assert!(!sleeps || rank.bell.rang_since(armed));
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
