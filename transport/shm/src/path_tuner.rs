//! Which way long messages take between two ranks: through cells or by the kernel. Measured on the messages themselves, since it
//! depends on where both ranks run at the moment, and a hypervisor or the scheduler moves them
//! (docs/decisions/0010-cells-or-kernel.md).
//!
//! The receiver chooses, and measures from there until it has the message: what takes longest may be its own copy, the sender's,
//! or the way from one to the other. An absent sender makes cells slow and the kernel only half as fast, and so it should.
//!
//! One message is measured at a time. Those that begin meanwhile go the same way, since two ways at once would slow each other. Copies
//! by both sides that have begun before end before: the measured one waits for them, and so does the clock of one by cells.
//!
//! Two ranks that exchange long messages slow each other if they choose differently. So each says what it chooses ([`PathChoice::said`]), and
//! while both hear of new choices, the one with the lower number chooses for both. Cells are favored then: while the kernel copies, a rank can
//! do nothing else, such as copying its own part, and no measured time has that in it.

use std::collections::HashMap;
use std::time::Instant;

use super::tuner::TwoWayTuner;
use crate::limits::{
    CELLS_IN_EXCHANGE_FAVOR, CELLS_IN_TURN_BYTES, EXCHANGE_SILENT_CHOICES, FOLLOWERS_MAX, TRIAL_BYTES_MAX,
};
use tern_transport::Peer;
use tern_transport::copies::Copies;

/// What was measured of all peers.
pub(crate) struct PathTuner {
    copies: Copies,
    /// Messages of up to so many bytes come by cells.
    cells_bytes_max: u64,
    known: HashMap<Peer, PeerTuner>,
}

impl PathTuner {
    pub(crate) fn new(copies: Copies) -> Self {
        PathTuner { copies, cells_bytes_max: 0, known: HashMap::new() }
    }

    /// Where ranks outnumber the cores: what goes by cells unasked where it can, of up to so many bytes, does so as well where it asks.
    ///
    /// The receiver would see how long the sender is away, but not what the sender needs the core for. So it would take a message itself, by
    /// the kernel, though both ways take the cores as long, and others wait for the receiver.
    pub(crate) fn on_shared_cores(copies: Copies, unasked_bytes_max: usize) -> Self {
        let cells_bytes_max = if copies.by_cells() { unasked_bytes_max as u64 } else { 0 };
        PathTuner { cells_bytes_max, ..PathTuner::new(copies) }
    }

    /// Which way the next long message of `peer`, of `len` bytes, had better come. It begins now, behind so many copies by both sides
    /// `ahead`. `heard` is what the peer has said of its own choices, and whether it chooses for both if there are any.
    pub(crate) fn choose(&mut self, peer: Peer, len: u64, ahead: u32, heard: (u32, bool)) -> PathChoice {
        if self.copies != Copies::Auto {
            return PathChoice { by_cells: self.copies.by_cells(), said: None };
        }
        if len <= self.cells_bytes_max {
            return PathChoice { by_cells: true, said: None };
        }
        let peer_tuner = self.known.entry(peer).or_default();
        let by_cells = peer_tuner.by_cells(len, ahead, heard);
        peer_tuner.choices = peer_tuner.choices.wrapping_add(2);
        PathChoice { by_cells, said: Some(peer_tuner.choices | u32::from(by_cells)) }
    }

    /// A message, or a part of one, of so many bytes came in cells of `peer`.
    #[inline]
    pub(crate) fn by_cells_came(&mut self, peer: Peer, bytes: usize) {
        if !self.known.is_empty() {
            self.came(peer, true, bytes as u64);
        }
    }

    /// All that both sides copied has come from `peer`.
    pub(crate) fn shared(&mut self, peer: Peer) {
        let Some(run) = self.known.get_mut(&peer).and_then(|known| known.run.as_mut()) else { return };
        match run.ahead.checked_sub(1) {
            Some(ahead) => {
                run.ahead = ahead;
                if run.cells && ahead == 0 {
                    run.start = Instant::now();
                }
            }
            None => self.came(peer, false, u64::MAX),
        }
    }

    fn came(&mut self, peer: Peer, cells: bool, bytes: u64) {
        let Some(peer_tuner) = self.known.get_mut(&peer) else { return };
        let is_due = |run: &&mut TimedMessage| run.cells == cells && run.ahead == 0;
        let Some(run) = peer_tuner.run.as_mut().filter(is_due) else { return };
        run.left = run.left.saturating_sub(bytes);
        if run.left == 0 {
            let (bytes, time) = (run.bytes, run.start.elapsed());
            peer_tuner.run = None;
            peer_tuner.tuner.note(cells, bytes, time);
        }
    }
}

/// A way for a long message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathChoice {
    pub by_cells: bool,
    /// What the peer is to hear of it, if it was a choice: a new number each time, and the way in its lowest bit.
    pub said: Option<u32>,
}

/// The long message that is measured.
#[derive(Debug)]
struct TimedMessage {
    start: Instant,
    /// What comes in the measured time: where both sides copy, also what was ahead, as if it were as long.
    bytes: u64,
    /// Bytes of the message that have not come.
    left: u64,
    cells: bool,
    /// Copies by both sides that began before and have not ended.
    ahead: u32,
    /// Messages that have begun since.
    followers: u32,
}

impl TimedMessage {
    fn new(cells: bool, len: u64, ahead: u32) -> TimedMessage {
        let bytes = if cells { len } else { len * (u64::from(ahead) + 1) };
        TimedMessage { start: Instant::now(), bytes, left: len, cells, ahead, followers: 0 }
    }
}

/// What is known of one peer.
#[derive(Debug, Default)]
struct PeerTuner {
    /// Between the kernel and, as the second way, cells.
    tuner: TwoWayTuner,
    run: Option<TimedMessage>,
    /// Bytes of the first messages by cells.
    warmed: u64,
    /// Choices for this peer, in steps of two.
    choices: u32,
    exchange: PathExchange,
}

/// Whether a peer gets long messages from here while its own come.
#[derive(Debug, Default)]
struct PathExchange {
    heard: u32,
    /// Choices here since it was heard last.
    since: u32,
}

impl PathExchange {
    /// What it has chosen, if it is still choosing: its messages and those of this rank need not take turns.
    fn choice(&mut self, heard: u32) -> Option<bool> {
        self.since = if heard == self.heard { self.since.saturating_add(1) } else { 0 };
        self.heard = heard;
        (heard != 0 && self.since < EXCHANGE_SILENT_CHOICES).then_some(heard & 1 == 1)
    }
}

impl PeerTuner {
    /// As [`PathTuner::choose`], of this peer.
    fn by_cells(&mut self, len: u64, ahead: u32, (heard, is_led): (u32, bool)) -> bool {
        if let Some(run) = self.run.as_mut().filter(|run| run.followers < FOLLOWERS_MAX) {
            run.followers += 1;
            return run.cells;
        }
        let theirs = self.exchange.choice(heard);
        self.tuner.favor_second(if theirs.is_some() { CELLS_IN_EXCHANGE_FAVOR } else { 0.0 });
        let cells = match theirs.filter(|_| is_led) {
            Some(cells) => cells,
            None => self.tuner.next(Copies::Auto.by_cells(), len <= TRIAL_BYTES_MAX),
        };
        let counts = !cells || self.warm(len);
        self.run = counts.then(|| TimedMessage::new(cells, len, ahead));
        cells
    }

    /// So many bytes are to come by cells: whether all cells that take turns have been used before. Until then what takes longest is that
    /// the system gives both sides their pages.
    fn warm(&mut self, len: u64) -> bool {
        let warm = self.warmed >= CELLS_IN_TURN_BYTES;
        if !warm {
            self.warmed += len;
        }
        warm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 64 << 10;

    #[test]
    fn what_the_user_wants_is_done() {
        for (copies, by_cells) in [(Copies::Cells, true), (Copies::Kernel, false)] {
            let mut path_tuner = PathTuner::new(copies);
            assert!((0..100).all(|_| path_tuner.choose(1, LEN, 0, (0, false)).by_cells == by_cells));
        }
    }

    #[test]
    fn on_shared_cores_what_goes_unasked_goes_by_cells() {
        let mut path_tuner = PathTuner::on_shared_cores(Copies::Auto, LEN as usize);
        let by_cells = Copies::Auto.by_cells();
        path_tuner.known.insert(1, PeerTuner { tuner: TwoWayTuner::measured(true), ..PeerTuner::default() });
        assert_eq!(path_tuner.choose(1, LEN, 0, (0, false)).by_cells, by_cells);
        assert!(!path_tuner.choose(1, LEN + 1, 0, (0, false)).by_cells, "nothing is known of this way");
    }

    #[test]
    fn who_leads_is_followed_while_it_chooses() {
        let mut follower = PathTuner::new(Copies::Auto);
        let known = || PeerTuner { tuner: TwoWayTuner::measured(true), ..PeerTuner::default() };
        follower.known.insert(1, known());
        let end = |tuner: &mut PathTuner| tuner.known.get_mut(&1).unwrap().run = None;
        for (number, cells) in [(2, true), (4, false), (6, true)] {
            let said = number | u32::from(cells);
            for _ in 0..EXCHANGE_SILENT_CHOICES {
                assert_eq!(follower.choose(1, LEN, 0, (said, true)).by_cells, cells);
                end(&mut follower);
            }
            assert!(!follower.choose(1, LEN, 0, (said, true)).by_cells, "nothing is known of this way");
            end(&mut follower);
        }
    }

    #[test]
    fn each_choice_is_said_by_a_new_number() {
        let mut path_tuner = PathTuner::new(Copies::Auto);
        let mut said = || path_tuner.choose(1, LEN, 0, (0, false)).said.unwrap();
        let all: Vec<u32> = (0..10).map(|_| said()).collect();
        assert!(all.windows(2).all(|two| two[0] >> 1 != two[1] >> 1) && !all.contains(&0));
        assert_eq!(PathTuner::new(Copies::Cells).choose(1, LEN, 0, (0, false)).said, None);
    }

    #[test]
    fn a_message_is_measured_until_all_of_it_has_come() {
        let mut path_tuner = PathTuner::new(Copies::Auto);
        let kernel = TwoWayTuner::measured(false);
        path_tuner
            .known
            .insert(1, PeerTuner { tuner: kernel, warmed: CELLS_IN_TURN_BYTES, ..PeerTuner::default() });
        assert!(path_tuner.choose(1, LEN, 0, (0, false)).by_cells, "nothing is known of this way");
        path_tuner.by_cells_came(2, LEN as usize);
        path_tuner.shared(1);
        path_tuner.by_cells_came(1, LEN as usize - 1);
        assert_eq!(path_tuner.known[&1].tuner, kernel);
        path_tuner.by_cells_came(1, 1);
        assert!(path_tuner.known[&1].tuner.is_known());
    }

    #[test]
    fn what_is_ahead_is_not_taken_for_the_message() {
        for cells in [false, true] {
            let tuner = TwoWayTuner::measured(!cells);
            let known = PeerTuner { tuner, warmed: CELLS_IN_TURN_BYTES, ..PeerTuner::default() };
            let mut path_tuner =
                PathTuner { known: HashMap::from([(1, known)]), ..PathTuner::new(Copies::Auto) };
            assert_eq!(
                path_tuner.choose(1, LEN, 2, (0, false)).by_cells,
                cells,
                "nothing is known of this way"
            );
            let followers = (0..FOLLOWERS_MAX)
                .filter(|_| path_tuner.choose(1, LEN, 3, (0, false)).by_cells == cells)
                .count();
            assert_eq!(followers as u32, FOLLOWERS_MAX, "they go the same way");
            for _ in 0..2 {
                path_tuner.by_cells_came(1, LEN as usize);
                path_tuner.shared(1);
                assert!(!path_tuner.known[&1].tuner.is_known(), "this was ahead");
            }
            if cells {
                path_tuner.by_cells_came(1, LEN as usize)
            } else {
                path_tuner.shared(1)
            }
            assert!(path_tuner.known[&1].tuner.is_known());
        }
    }

    #[test]
    fn a_message_that_never_comes_is_forgotten() {
        let mut path_tuner = PathTuner::new(Copies::Auto);
        let (tuner, warmed) = (TwoWayTuner::measured(false), CELLS_IN_TURN_BYTES);
        path_tuner.known.insert(1, PeerTuner { tuner, warmed, ..PeerTuner::default() });
        (0..=FOLLOWERS_MAX).for_each(|_| assert!(path_tuner.choose(1, 2 * LEN, 0, (0, false)).by_cells));
        assert!(path_tuner.choose(1, LEN, 0, (0, false)).by_cells);
        path_tuner.by_cells_came(1, LEN as usize);
        assert!(path_tuner.known[&1].tuner.is_known());
    }

    #[test]
    fn cells_that_are_used_for_the_first_time_say_nothing() {
        let mut path_tuner = PathTuner::new(Copies::Auto);
        path_tuner.known.insert(1, PeerTuner { tuner: TwoWayTuner::measured(false), ..PeerTuner::default() });
        let mut message = |counts: bool| {
            assert!(path_tuner.choose(1, LEN, 0, (0, false)).by_cells, "nothing is known of this way");
            path_tuner.by_cells_came(1, LEN as usize);
            assert_eq!(path_tuner.known[&1].tuner.is_known(), counts);
        };
        (0..CELLS_IN_TURN_BYTES / LEN).for_each(|_| message(false));
        message(true);
    }

    #[test]
    fn what_both_sides_copied_is_measured_at_its_end() {
        let mut path_tuner = PathTuner::new(Copies::Auto);
        path_tuner.known.insert(1, PeerTuner { tuner: TwoWayTuner::measured(true), ..PeerTuner::default() });
        assert!(!path_tuner.choose(1, LEN, 0, (0, false)).by_cells, "nothing is known of this way");
        path_tuner.by_cells_came(1, LEN as usize);
        assert!(!path_tuner.known[&1].tuner.is_known());
        path_tuner.shared(1);
        assert!(path_tuner.known[&1].tuner.is_known());
    }
}
