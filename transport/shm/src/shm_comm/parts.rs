//! Parts of a shm communicator of many ranks: ranks that are near each other in the machine.
//!
//! Many ranks that count up one word take its line from each other, and those who look at the gate take it from whoever counts. So the
//! ranks of a part count up a word of their own, and the last one counts the part up at the word of all. Each part has a gate of its own.
//! The line of all is passed on once a part, and that of a part stays within a cache that its ranks share, if they are bound to it.
//!
//! Who is in which part is said in the first sync step that all come to. They arrive at it as few ranks do, each with its place, and who
//! comes last divides them. Where ranks share cores, they stay undivided: few of them look at a word at once, and more gates are more
//! calls of the kernel.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::arrivals::Arrived;
use crate::limits::{PART_RANKS_MIN, PARTED_RANKS_MAX, PARTED_RANKS_MIN, PARTS_MAX};
use crate::segment::Segment;
use crate::segment_words::{ShmCommParts, ShmCommWords};

/// Where a rank is bound to in its machine. The numbers are the machine's own; what is not known counts as zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BoundPlace {
    /// The processor package.
    pub socket: u32,
    /// The memory node.
    pub numa: u32,
    /// What shares a cache of the third level.
    pub l3_cache: u32,
}

/// Bits of a number in a place's word.
const NUMBER_BITS: u32 = 10;

/// In place of a place: this rank shares its core with others.
const SHARES_CORE: u32 = u32::MAX;

/// In place of a number of parts: there are none.
const UNDIVIDED: u32 = u32::MAX;

impl BoundPlace {
    /// The widest part comes first, so that neighbors have words beside each other.
    fn word(self) -> u32 {
        let number = |number: u32| number % (1 << NUMBER_BITS);
        (number(self.socket) << NUMBER_BITS | number(self.numa)) << NUMBER_BITS | number(self.l3_cache)
    }
}

/// The part of each rank, from 0 on. Ranks of a part have the same cache. If that makes too many parts, they have the same memory node, or
/// the same socket, or only numbers beside each other. A part has about [`PART_RANKS_MIN`] ranks or more.
fn divided(places: &[u32]) -> Vec<u8> {
    for levels_left_out in 0..3 {
        let key = |rank: usize| places[rank] >> (levels_left_out * NUMBER_BITS);
        if let Some(parts) = cut(places.len(), key) {
            return parts;
        }
    }
    cut(places.len(), |_| 0).expect("ranks without places make few parts")
}

/// Cuts ranks, in the order of their keys, into parts whose ranks have the same key; `None` if there would be too many parts.
fn cut(size: usize, key: impl Fn(usize) -> u32) -> Option<Vec<u8>> {
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by_key(|&rank| key(rank));
    let ranks_max = size.div_ceil(PARTS_MAX).max(PART_RANKS_MIN);
    let (mut parts, mut next) = (vec![0; size], 0_usize);
    for alike in order.chunk_by(|&one, &other| key(one) == key(other)) {
        // Parts of one key are about as long as each other.
        for part in alike.chunks(alike.len().div_ceil(alike.len().div_ceil(ranks_max))) {
            part.iter().for_each(|&rank| parts[rank] = next as u8);
            next += 1;
        }
    }
    (next <= PARTS_MAX).then_some(parts)
}

/// How a rank arrives.
#[derive(Clone, Copy)]
enum PartChoice {
    /// They have not met yet.
    Open,
    /// They are not divided.
    Undivided,
    /// In a part.
    In(OwnPart),
}

/// A rank's part.
#[derive(Clone, Copy)]
struct OwnPart {
    number: usize,
    /// Ranks of it, and parts.
    ranks: u32,
    parts: u32,
}

/// The parts of a shm communicator as one rank uses them.
pub(crate) struct Parts {
    shared: NonNull<ShmCommParts>,
    /// Keeps what the pointer leads to.
    _segment: Arc<Segment>,
    rank: usize,
    size: u32,
    place: Cell<u32>,
    /// As this rank has last arrived.
    choice: Cell<PartChoice>,
}

// SAFETY: the pointer leads into the segment, which this keeps mapped and which is memory of the process, not of a thread.
unsafe impl Send for Parts {}

impl Parts {
    /// Whether so many ranks have parts.
    pub(crate) fn are_worth(size: u32) -> bool {
        (PARTED_RANKS_MIN..=PARTED_RANKS_MAX).contains(&(size as usize))
    }

    /// Those of slot `slot` of `leader`, for rank `rank` of `size`.
    pub(crate) fn new(segment: Arc<Segment>, (leader, slot): (u32, u32), (rank, size): (u32, u32)) -> Parts {
        let shared = NonNull::from(segment.shm_comm_parts(leader, slot));
        let (place, choice) = (Cell::new(0), Cell::new(PartChoice::Open));
        Parts { shared, _segment: segment, rank: rank as usize, size, place, choice }
    }

    /// This rank is there; `None`: it shares its core with others.
    pub(crate) fn set_place(&self, place: Option<BoundPlace>) {
        self.place.set(place.map_or(SHARES_CORE, BoundPlace::word));
    }

    #[inline]
    fn shared(&self) -> &ShmCommParts {
        // SAFETY: within the segment, which this keeps mapped.
        unsafe { self.shared.as_ref() }
    }

    /// Counts this rank as arrived at sync step `count`. Until the ranks are divided, all arrive at the word of all.
    pub(crate) fn arrive(&self, all: &ShmCommWords, count: u64, mark: u64) -> Arrived {
        let own = match self.choose(all) {
            PartChoice::In(own) => own,
            PartChoice::Undivided => return all.arrivals.arrive(count, mark),
            PartChoice::Open => {
                self.shared().places[self.rank].store(self.place.get(), Ordering::Relaxed);
                return all.arrivals.arrive(count, mark);
            }
        };
        let part = &self.shared().parts[own.number];
        let alike = match part.arrivals.arrive(count, mark) {
            Arrived::Number(number, alike) if number < own.ranks => return Arrived::Number(1, alike),
            Arrived::Number(_, alike) => alike,
            elsewhere => return elsewhere,
        };
        // A part whose marks differ comes with another mark than any of them.
        match all.arrivals.arrive(count, if alike { mark } else { !mark }) {
            Arrived::Number(number, _) if number < own.parts => Arrived::Number(1, alike),
            Arrived::Number(_, all_alike) => Arrived::Number(self.size, alike && all_alike),
            // This rank comes again, and is then beyond the last one of its part.
            elsewhere => elsewhere,
        }
    }

    /// Forgets those who arrived at a sync step that nobody will complete, at both words that this rank counts up.
    #[cold]
    pub(crate) fn forget_arrivals(&self, all: &ShmCommWords, seen: u64) {
        if let PartChoice::In(own) = self.choice.get() {
            self.shared().parts[own.number].arrivals.forget(seen);
        }
        all.arrivals.forget(seen);
    }

    #[inline]
    fn choose(&self, all: &ShmCommWords) -> PartChoice {
        if let PartChoice::Open = self.choice.get() {
            self.look_for_choice(all);
        }
        self.choice.get()
    }

    /// How the ranks are divided, if they are by now.
    #[cold]
    fn look_for_choice(&self, all: &ShmCommWords) {
        let part_of = |rank: usize| self.shared().part_of[rank].load(Ordering::Relaxed);
        let choice = match all.parts.load(Ordering::Acquire) {
            0 => PartChoice::Open,
            UNDIVIDED => PartChoice::Undivided,
            parts => {
                let number = part_of(self.rank);
                let ranks = (0..self.size as usize).filter(|&rank| part_of(rank) == number).count() as u32;
                // Whatever a rank gone wrong has written, there are no more parts.
                let (number, parts) = (usize::from(number) % PARTS_MAX, parts.min(PARTS_MAX as u32));
                PartChoice::In(OwnPart { number, ranks, parts })
            }
        };
        self.choice.set(choice);
    }

    /// All have arrived with one mark: if they have just met, they are divided from now on, or never. Before the gate is opened.
    pub(crate) fn divide(&self, all: &ShmCommWords) {
        let PartChoice::Open = self.choice.get() else { return };
        let shared = self.shared();
        let places = shared.places[..self.size as usize].iter();
        let places: Vec<u32> = places.map(|place| place.load(Ordering::Relaxed)).collect();
        if places.contains(&SHARES_CORE) {
            return all.parts.store(UNDIVIDED, Ordering::Release);
        }
        let parts = divided(&places);
        for (part, said) in parts.iter().zip(&shared.part_of) {
            said.store(*part, Ordering::Relaxed);
        }
        let count = parts.iter().max().map_or(0, |&last| u32::from(last) + 1);
        all.parts.store(count, Ordering::Release);
    }

    /// The gate that this rank waits for, and the mark beside it; none while they wait for the gate of all.
    #[inline]
    pub(crate) fn gate(&self) -> Option<(&AtomicU64, &AtomicU64)> {
        let PartChoice::In(own) = self.choice.get() else { return None };
        let part = &self.shared().parts[own.number];
        Some((&part.gate, &part.gate_mark))
    }

    /// Opens the gates of all parts, if this rank has arrived at one, and clears their counts. Each gate that may have sleepers.
    pub(crate) fn open(&self, count: u64, mark: u64) -> impl Iterator<Item = &AtomicU64> {
        let parts = match self.choice.get() {
            PartChoice::In(own) => &self.shared().parts[..own.parts as usize],
            PartChoice::Open | PartChoice::Undivided => &[],
        };
        for part in parts {
            part.arrivals.clear();
            part.gate_mark.store(mark, Ordering::Relaxed);
            part.gate.store(count, Ordering::Release);
        }
        parts.iter().map(|part| &part.gate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abroad::memory_file;
    use tern_transport::config::TransportConfig;

    fn place(socket: u32, numa: u32, l3_cache: u32) -> u32 {
        BoundPlace { socket, numa, l3_cache }.word()
    }

    /// Slot 3 of rank 1, as each of 18 ranks has it.
    fn ranks() -> (Arc<Segment>, Vec<Parts>) {
        let fd = memory_file().unwrap();
        let segment = Arc::new(Segment::attach(&fd, 18, &TransportConfig::default()).unwrap());
        let ranks = (0..18).map(|rank| Parts::new(segment.clone(), (1, 3), (rank, 18))).collect();
        (segment, ranks)
    }

    /// All come to a step, and the last one opens it: how many gates there are for that.
    fn meet(all: &ShmCommWords, ranks: &[Parts], count: u64) -> usize {
        let (last, others) = ranks.split_last().unwrap();
        for rank in others {
            assert_eq!(rank.arrive(all, count, 5), Arrived::Number(1, true));
            assert!(rank.gate().is_none_or(|(gate, _)| gate.load(Ordering::Relaxed) < count));
        }
        assert_eq!(last.arrive(all, count, 5), Arrived::Number(18, true));
        last.divide(all);
        all.arrivals.clear();
        last.open(count, 5).count()
    }

    #[test]
    fn ranks_are_divided_when_all_have_met() {
        let (segment, ranks) = ranks();
        let all = segment.shm_comm(1, 3);
        for (number, rank) in ranks.iter().enumerate() {
            rank.set_place(Some(BoundPlace { socket: number as u32 % 2, ..BoundPlace::default() }));
            let come = number as u32 + 1;
            assert_eq!(rank.arrive(all, 1, 5), Arrived::Number(come, true));
        }
        ranks[17].divide(all);
        all.arrivals.clear();
        for count in 2..5 {
            assert_eq!(meet(all, &ranks, count), 4, "two parts of each socket");
            let gate_of = |rank: &Parts| {
                rank.gate().map(|(gate, mark)| (gate.load(Ordering::Relaxed), mark.load(Ordering::Relaxed)))
            };
            assert!(ranks.iter().all(|rank| gate_of(rank) == Some((count, 5))));
        }
        // One with another mark, in a part whose others have the same.
        let arrived: Vec<Arrived> = ranks
            .iter()
            .zip(0..)
            .map(|(rank, number)| rank.arrive(all, 9, if number == 4 { 6 } else { 5 }))
            .collect();
        assert_eq!(arrived.last(), Some(&Arrived::Number(18, false)));
    }

    #[test]
    fn ranks_that_share_cores_are_not_divided() {
        let (segment, ranks) = ranks();
        let all = segment.shm_comm(1, 3);
        ranks[7].set_place(None);
        for count in 1..4 {
            let arrived = ranks.iter().map(|rank| rank.arrive(all, count, 5));
            assert!(arrived.eq((1..=18).map(|number| Arrived::Number(number, true))));
            ranks[17].divide(all);
            all.arrivals.clear();
            assert_eq!(ranks[17].open(count, 5).count(), 0);
        }
    }

    /// Ranks of each part.
    fn counts(parts: &[u8]) -> Vec<usize> {
        let last = parts.iter().max().copied().unwrap_or(0);
        (0..=last).map(|part| parts.iter().filter(|&&of| of == part).count()).collect()
    }

    #[test]
    fn ranks_that_are_bound_nowhere_are_cut_by_their_numbers() {
        assert_eq!(counts(&divided(&[0; 20])), [7, 7, 6]);
        assert_eq!(counts(&divided(&[0; 64])), [8; 8]);
        assert_eq!(counts(&divided(&[0; 256])), [16; 16]);
        assert!(divided(&[0; 64]).is_sorted(), "neighbors are together");
    }

    #[test]
    fn ranks_of_a_cache_are_together_in_whatever_order_they_come() {
        // Round two sockets of four caches.
        let places: Vec<u32> = (0..64).map(|rank| place(rank % 2, rank % 2, rank % 8)).collect();
        let parts = divided(&places);
        assert_eq!(counts(&parts), [8; 8]);
        for (one, other) in (0..64).zip(8..64) {
            assert_eq!(parts[one], parts[other], "ranks {one} and {other}");
        }
    }

    #[test]
    fn wider_parts_are_taken_where_there_are_too_many_caches() {
        // Two sockets of two nodes, each with 8 caches of 4 ranks.
        let places: Vec<u32> = (0..128).map(|rank| place(rank / 64, rank / 32, rank / 4)).collect();
        let parts = divided(&places);
        assert_eq!(counts(&parts), [8; 16]);
        assert!((0..128).all(|rank| parts[rank] / 4 == (rank / 32) as u8), "no part has ranks of two nodes");
        let sockets: Vec<u32> = (0..100).map(|rank| place(rank / 50, rank, rank)).collect();
        assert_eq!(counts(&divided(&sockets)), [8, 8, 8, 8, 8, 8, 2, 8, 8, 8, 8, 8, 8, 2]);
    }

    #[test]
    fn more_places_than_parts_leave_the_numbers() {
        let places: Vec<u32> = (0..256).map(|rank| place(rank, rank, rank)).collect();
        assert_eq!(counts(&divided(&places)), [16; 16]);
    }
}
