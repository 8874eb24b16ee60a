//! Allreduce (MPI 5.0, section 6.9.6).
//!
//! `own` is the operand, `home` the receive buffer; in place they are the same.

use crate::allgather;
use crate::barrier::doublings;
use crate::bcast;
use crate::reduce::{self, PartialResult};
use crate::schedule::{Schedule, Span};
use crate::shape::Member;

/// Recursive doubling: in round k partners at distance 2^k exchange what they have and both combine it, lower
/// ranks on the left, so all compute the same bits. With other sizes than powers of two, the first ranks are
/// folded into pairs before and unfolded afterwards. Thakur, Rabenseifner and Gropp, "Optimization of collective
/// communication operations in MPICH", 2005.
pub fn recursive_doubling(s: &mut Schedule, me: Member, own: Span, home: Span) {
    if own.bytes() == 0 {
        return;
    }
    let fold = Fold::new(me);
    let mut running = PartialResult::new(own, own == home, Some(home).filter(|home| own != *home));
    if fold.enter(s, me, &mut running) {
        for step in doublings(fold.cores) {
            exchange(s, me, &fold, step, &mut running);
        }
        s.copy(running.value(), home);
    }
    fold.leave(s, me, home);
}

fn exchange(s: &mut Schedule, me: Member, fold: &Fold, step: u32, running: &mut PartialResult) {
    let partner = fold.rank_of(fold.core_of(me.rank) ^ step);
    let incoming = running.incoming(s);
    s.send(me.peer(partner), running.value());
    s.recv(me.peer(partner), incoming);
    s.wait();
    if partner > me.rank {
        running.then(s);
    } else {
        running.after(s);
    }
}

/// Reduce to rank 0 and broadcast.
pub fn reduce_bcast(s: &mut Schedule, me: Member, own: Span, home: Span) {
    reduce::binomial(s, me, 0, own, home);
    bcast::binomial(s, me, 0, home);
}

/// Ring, for operations that commute: the vector is cut into n blocks; each travels around once and is combined
/// on its way, then around once more as a result. Every rank sends 2 (n − 1) / n of the vector, the least
/// possible. Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
pub fn ring(s: &mut Schedule, me: Member, own: Span, home: Span) {
    if me.size == 1 || own.bytes() == 0 {
        s.copy(own, home);
        return;
    }
    let cut = Cut::new(own.count, me.size);
    if own == home {
        ring_reduce_in_place(s, me, &cut, home);
    } else {
        ring_reduce(s, me, &cut, own, home);
    }
    // Block r + 1 is complete at rank r.
    let shifted = |rank: u32| cut.block(home, Member { rank, ..me }.after(1));
    allgather::ring_over(s, me, |rank| me.peer(rank), None, shifted);
}

fn ring_reduce(s: &mut Schedule, me: Member, cut: &Cut, own: Span, home: Span) {
    for step in 1..me.size {
        let (leaving, coming) = (me.before(step - 1), me.before(step));
        s.send_some(me.peer(me.after(1)), cut.block(if step == 1 { own } else { home }, leaving));
        s.recv_some(me.peer(me.before(1)), cut.block(home, coming));
        s.wait();
        s.reduce(cut.block(own, coming), cut.block(home, coming));
    }
}

fn ring_reduce_in_place(s: &mut Schedule, me: Member, cut: &Cut, home: Span) {
    let room = s.temp_like(cut.block(home, 0));
    for step in 1..me.size {
        let coming = cut.block(home, me.before(step));
        let incoming = room.part(0, coming.count);
        s.send_some(me.peer(me.after(1)), cut.block(home, me.before(step - 1)));
        s.recv_some(me.peer(me.before(1)), incoming);
        s.wait();
        s.reduce(incoming, coming);
    }
}

/// The [`ring`] with blocks in segments, for operations that commute: a rank combines one while the next travels.
/// Pješivac-Grbović and others, "Performance analysis of MPI collective operations", 2007.
///
/// Blocks of one segment are those of the plain ring. At every tick one segment comes and one leaves; the one that leaves came a whole block ago, and has been combined
/// since, because a block has at least two.
pub fn segmented_ring(s: &mut Schedule, me: Member, own: Span, home: Span, segment_bytes: u64) {
    if me.size == 1 || own.bytes() == 0 {
        s.copy(own, home);
        return;
    }
    let cut = Cut::new(own.count, me.size);
    let longest = cut.block(home, 0);
    if longest.bytes() <= segment_bytes {
        ring(s, me, own, home);
        return;
    }
    let segments = longest.bytes().div_ceil(segment_bytes).clamp(2, u64::from(u32::MAX)) as u32;
    let ring = Ticks { me, cut, segments };
    let in_place = own == home;
    let room = [0, 1].map(|_| if in_place { s.temp_like(ring.piece(home, 0, 0)) } else { home });
    let landing = |tick: u64| {
        let place = ring.coming(home, tick);
        if in_place { room[(tick % 2) as usize].part(0, place.count) } else { place }
    };
    for tick in 0..=ring.count() {
        if tick < ring.count() {
            s.recv_some(me.peer(me.before(1)), landing(tick));
            let from = if tick < u64::from(segments) { own } else { home };
            s.send_some(me.peer(me.after(1)), ring.leaving(from, tick));
        }
        if let Some(before) = tick.checked_sub(1) {
            let (kept, came) = (ring.coming(own, before), landing(before));
            let (left, right) = if in_place { (came, kept) } else { (kept, came) };
            s.reduce(left, right);
        }
        s.wait();
    }
    // Block r + 1 is complete at rank r.
    let shifted = |rank: u32| ring.cut.block(home, Member { rank, ..me }.after(1));
    allgather::ring_over(s, me, |rank| me.peer(rank), None, shifted);
}

/// The reducing half of a segmented ring, tick by tick: n − 1 blocks, segment after segment.
struct Ticks<'a> {
    me: Member<'a>,
    cut: Cut,
    segments: u32,
}

impl Ticks<'_> {
    fn count(&self) -> u64 {
        u64::from(self.me.size - 1) * u64::from(self.segments)
    }

    /// A segment of a block of a vector; the longest come first.
    fn piece(&self, vector: Span, block: u32, segment: u32) -> Span {
        let block = self.cut.block(vector, block);
        Cut::new(block.count, self.segments).block(block, segment)
    }

    /// The segment of `vector` that is received at a tick.
    fn coming(&self, vector: Span, tick: u64) -> Span {
        let (step, segment) = self.position(tick);
        self.piece(vector, self.me.before(step + 1), segment)
    }

    /// The segment of `vector` that is sent at a tick.
    fn leaving(&self, vector: Span, tick: u64) -> Span {
        let (step, segment) = self.position(tick);
        self.piece(vector, self.me.before(step), segment)
    }

    fn position(&self, tick: u64) -> (u32, u32) {
        let segments = u64::from(self.segments);
        ((tick / segments) as u32, (tick % segments) as u32)
    }
}

/// Rabenseifner's, for operations that commute: reduce-scatter by recursive halving, allgather by recursive
/// doubling; the least data, as in [`ring`], in 2 log2(n) rounds. Rabenseifner, "Optimization of collective
/// reduction operations", 2004.
///
/// Lower ranks stay on the left also here, but the blocks are combined in the order of the ranks' distances,
/// farthest first, so the operation must commute.
pub fn rabenseifner(s: &mut Schedule, me: Member, own: Span, home: Span) {
    if own.bytes() == 0 {
        return;
    }
    s.copy(own, home);
    let fold = Fold::new(me);
    let mut running = PartialResult::new(home, true, None);
    if fold.enter(s, me, &mut running) {
        s.copy(running.value(), home);
        halve_and_double(s, me, &fold, home);
    }
    fold.leave(s, me, home);
}

fn halve_and_double(s: &mut Schedule, me: Member, fold: &Fold, home: Span) {
    let core = fold.core_of(me.rank);
    let cut = Cut::new(home.count, fold.cores);
    halve(s, me, fold, &cut, home);
    for step in doublings(fold.cores) {
        let mine = core & !(step - 1);
        let partner = me.peer(fold.rank_of(core ^ step));
        s.send_some(partner, cut.blocks(home, mine, step));
        s.recv_some(partner, cut.blocks(home, mine ^ step, step));
        s.wait();
    }
}

/// Recursive halving: leaves the combined block c of the vectors at core c, in its place in `work`.
pub(crate) fn halve(s: &mut Schedule, me: Member, fold: &Fold, cut: &Cut, work: Span) {
    let core = fold.core_of(me.rank);
    let room = s.temp_like(cut.blocks(work, 0, (fold.cores / 2).max(1)));
    for step in halvings(fold.cores) {
        let (keep, give) = (core & !(step - 1), (core & !(step - 1)) ^ step);
        let partner = me.peer(fold.rank_of(core ^ step));
        let kept = cut.blocks(work, keep, step);
        let incoming = room.part(0, kept.count);
        s.send_some(partner, cut.blocks(work, give, step));
        s.recv_some(partner, incoming);
        s.wait();
        s.reduce(incoming, kept);
    }
}

/// Half of a power of two, then half of that, down to 1.
pub(crate) fn halvings(cores: u32) -> impl Iterator<Item = u32> {
    (0..cores.trailing_zeros()).rev().map(|bit| 1 << bit)
}

/// The largest power of two of ranks, the cores, that stay when the first ranks are folded in pairs: the even
/// one of a pair gives its operand to the odd one and gets the result from it.
pub(crate) struct Fold {
    /// How many ranks stay.
    pub cores: u32,
    pairs: u32,
}

impl Fold {
    pub(crate) fn new(me: Member) -> Fold {
        let cores = 1 << me.size.ilog2();
        Fold { cores, pairs: me.size - cores }
    }

    /// Whether a rank stays.
    pub(crate) fn keeps(&self, rank: u32) -> bool {
        rank >= 2 * self.pairs || rank % 2 == 1
    }

    /// The number among the cores of a rank that stays, or of the one it is folded into.
    pub(crate) fn core_of(&self, rank: u32) -> u32 {
        if rank < 2 * self.pairs { rank / 2 } else { rank - self.pairs }
    }

    /// The rank of a core.
    pub(crate) fn rank_of(&self, core: u32) -> u32 {
        if core < self.pairs { 2 * core + 1 } else { core + self.pairs }
    }

    /// Folds the pairs; whether this rank stays.
    pub(crate) fn enter(&self, s: &mut Schedule, me: Member, running: &mut PartialResult) -> bool {
        if me.rank >= 2 * self.pairs {
            return true;
        }
        let odd = me.rank % 2 == 1;
        if odd {
            let incoming = running.incoming(s);
            s.recv(me.peer(me.rank - 1), incoming);
            s.wait();
            running.after(s);
        } else {
            s.send(me.peer(me.rank + 1), running.value());
            s.wait();
        }
        odd
    }

    /// Hands the result at `home` back to those that were folded away.
    pub(crate) fn leave(&self, s: &mut Schedule, me: Member, home: Span) {
        if me.rank >= 2 * self.pairs {
            return;
        }
        if me.rank % 2 == 1 {
            s.send(me.peer(me.rank - 1), home);
        } else {
            s.recv(me.peer(me.rank + 1), home);
        }
        s.wait();
    }
}

/// A vector cut into blocks of nearly the same length; the longest come first.
pub(crate) struct Cut {
    short: u64,
    longer: u64,
}

impl Cut {
    pub(crate) fn new(count: u64, blocks: u32) -> Cut {
        Cut { short: count / u64::from(blocks), longer: count % u64::from(blocks) }
    }

    fn start(&self, block: u32) -> u64 {
        u64::from(block) * self.short + u64::from(block).min(self.longer)
    }

    /// One block of the vector.
    pub(crate) fn block(&self, vector: Span, block: u32) -> Span {
        self.blocks(vector, block, 1)
    }

    /// `number` blocks from `first` on.
    pub(crate) fn blocks(&self, vector: Span, first: u32, number: u32) -> Span {
        let start = self.start(first);
        vector.part(start, self.start(first + number) - start)
    }
}
