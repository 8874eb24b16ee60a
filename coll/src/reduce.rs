//! Reduce (MPI 5.0, section 6.9.1), and the running result that all reductions share.

use crate::allreduce::{self, Cut, Fold};
use crate::barrier::doublings;
use crate::schedule::{Schedule, Span};
use crate::shape::Member;

/// A partial result and the buffers around it.
///
/// A reduction overwrites its right operand ([`crate::Step::Reduce`]). So when the received operand comes from
/// higher ranks, the result is where it was received, and the buffer of the old value becomes the next one
/// to receive into: nothing is copied, and the operands keep their order.
pub struct PartialResult {
    value: Span,
    writable: bool,
    spares: [Option<Span>; 2],
}

impl PartialResult {
    /// Starts from `own`. It is not written unless it is `writable`. `spare` is a buffer of the caller's that
    /// may be used; others are temporary.
    pub fn new(own: Span, writable: bool, spare: Option<Span>) -> PartialResult {
        PartialResult { value: own, writable, spares: [spare, None] }
    }

    /// The partial result.
    pub fn value(&self) -> Span {
        self.value
    }

    /// Where to receive the next operand.
    pub fn incoming(&mut self, s: &mut Schedule) -> Span {
        *self.spares[0].get_or_insert_with(|| s.temp_like(self.value))
    }

    /// What has been received into [`PartialResult::incoming`] comes from higher ranks: `value OP incoming`.
    pub fn then(&mut self, s: &mut Schedule) {
        let incoming = self.incoming(s);
        s.reduce(self.value, incoming);
        let freed = if self.writable { Some(self.value) } else { self.spares[1].take() };
        *self = PartialResult { value: incoming, writable: true, spares: [freed, self.spares[1]] };
    }

    /// What has been received into [`PartialResult::incoming`] comes from lower ranks: `incoming OP value`.
    pub fn after(&mut self, s: &mut Schedule) {
        let incoming = self.incoming(s);
        if !self.writable {
            let copy = self.spares[1].take().unwrap_or_else(|| s.temp_like(self.value));
            s.copy(self.value, copy);
            self.value = copy;
            self.writable = true;
        }
        s.reduce(incoming, self.value);
    }
}

/// Binomial tree to rank 0, whichever rank is the root, and from there to the root: as in MPI for the T3D
/// (section 3.3), so that the result has the same bits for every root. A rank combines its own value with those
/// of its children in rank order; each child's subtree is the ranks just above what has been combined.
///
/// `own` is the operand; `home` is where the result belongs, used at the root only. In place at the root,
/// they are the same.
pub fn binomial(s: &mut Schedule, me: Member, root: u32, own: Span, home: Span) {
    if own.bytes() == 0 {
        return;
    }
    let home_here = (me.rank == root).then_some(home);
    let result = to_first(s, me, own, home_here.filter(|_| root == 0));
    deliver(s, me, root, result, home_here);
}

/// Brings the result from rank 0 to the root; `home` is given there.
pub(crate) fn deliver(s: &mut Schedule, me: Member, root: u32, result: Span, home: Option<Span>) {
    match home {
        Some(home) if root == 0 => s.copy(result, home),
        Some(home) => s.recv(me.peer(0), home),
        None if me.rank == 0 => s.send(me.peer(root), result),
        None => {}
    }
    s.wait();
}

/// Pipelined chain from the last rank to the first, each of which combines a segment while it receives the next and
/// sends the one before; then from rank 0 to the root. Pješivac-Grbović and others, "Performance analysis of MPI
/// collective operations", 2007.
pub fn chain(s: &mut Schedule, me: Member, root: u32, own: Span, home: Span, segment_bytes: u64) {
    if own.bytes() == 0 {
        return;
    }
    let home_here = (me.rank == root).then_some(home);
    let result = if me.rank > 0 || me.size == 1 {
        own
    } else {
        home_here.filter(|home| *home != own).unwrap_or_else(|| s.temp_like(own))
    };
    let pieces = OperandPieces::new(own, segment_bytes);
    if me.rank > 0 && me.rank + 1 < me.size {
        pass_down(s, me, own, &pieces);
    } else {
        end_of_chain(s, me, own, result, &pieces);
    }
    deliver(s, me, root, result, home_here);
}

/// A rank in the middle of the chain: two segments are under way, the one that comes and the one that leaves.
fn pass_down(s: &mut Schedule, me: Member, own: Span, pieces: &OperandPieces) {
    let room = [0, 1].map(|_| s.temp_like(pieces.of(own, 0)));
    let place = |index: u64| room[(index % 2) as usize].part(0, pieces.of(own, index).count);
    for index in 0..=pieces.count {
        if index < pieces.count {
            s.recv(me.peer(me.rank + 1), place(index));
        }
        if index > 0 {
            s.send(me.peer(me.rank - 1), place(index - 1));
        }
        s.wait();
        if index < pieces.count {
            s.reduce(pieces.of(own, index), place(index));
        }
    }
}

/// The last rank sends its operand, the first one combines what comes into `result`.
fn end_of_chain(s: &mut Schedule, me: Member, own: Span, result: Span, pieces: &OperandPieces) {
    for index in 0..pieces.count {
        if me.rank > 0 {
            s.send(me.peer(me.rank - 1), pieces.of(own, index));
            s.wait();
        } else if me.size > 1 {
            s.recv(me.peer(1), pieces.of(result, index));
            s.wait();
            s.reduce(pieces.of(own, index), pieces.of(result, index));
        }
    }
}

/// A vector in pieces of whole elements.
struct OperandPieces {
    elements: u64,
    count: u64,
}

impl OperandPieces {
    fn new(vector: Span, piece_bytes: u64) -> OperandPieces {
        let elements = (piece_bytes / vector.layout.size.max(1)).clamp(1, vector.count);
        OperandPieces { elements, count: vector.count.div_ceil(elements) }
    }

    fn of(&self, vector: Span, index: u64) -> Span {
        let first = index * self.elements;
        vector.part(first, self.elements.min(vector.count - first))
    }
}

/// Rabenseifner's, for operations that commute: reduce-scatter by recursive halving, then the blocks are gathered at
/// the root along the way back. Every rank sends about twice the vector, whatever their number. For its citation see
/// [`allreduce::rabenseifner`].
pub fn rabenseifner(s: &mut Schedule, me: Member, root: u32, own: Span, home: Span) {
    if own.bytes() == 0 {
        return;
    }
    let fold = Fold::new(me);
    let core_of_root = fold.core_of(root);
    let keeps = fold.keeps(me.rank);
    let work = match (me.rank == root, keeps) {
        (true, _) => home,
        (false, true) => s.temp_like(own),
        (false, false) => own,
    };
    let start = if keeps { work } else { own };
    s.copy(own, start);
    if fold.enter(s, me, &mut PartialResult::new(start, keeps, None)) {
        let cut = Cut::new(work.count, fold.cores);
        allreduce::halve(s, me, &fold, &cut, work);
        gather_halves(s, me, &fold, &cut, (core_of_root, work));
    }
    let holder = fold.rank_of(core_of_root);
    if holder != root {
        if me.rank == holder {
            s.send(me.peer(root), work);
        } else if me.rank == root {
            s.recv(me.peer(holder), work);
        }
        s.wait();
    }
}

/// After the halving, block c is at core c: partners at growing distances join what they have, and the one that is
/// nearer to the core of the root keeps it.
fn gather_halves(s: &mut Schedule, me: Member, fold: &Fold, cut: &Cut, (root, work): (u32, Span)) {
    let core = fold.core_of(me.rank);
    for step in doublings(fold.cores) {
        let mine = core & !(step - 1);
        let partner = me.peer(fold.rank_of(core ^ step));
        if core & step != root & step {
            s.send_some(partner, cut.blocks(work, mine, step));
            s.wait();
            return;
        }
        s.recv_some(partner, cut.blocks(work, mine ^ step, step));
        s.wait();
    }
}

/// The tree of [`binomial`]: returns where rank 0 has the result. `home` is a buffer that rank 0 may use for
/// it, best for the last operand; if it is where `own` lies, that is overwritten.
pub fn to_first(s: &mut Schedule, me: Member, own: Span, home: Option<Span>) -> Span {
    let tree = me.rotated(0);
    let mut running = at_first(s, own, home, tree.children().count());
    for (step, _) in tree.children().rev() {
        let incoming = running.incoming(s);
        s.recv_some(tree.peer(tree.rank + step), incoming);
        s.wait();
        running.then(s);
    }
    if tree.rank > 0 {
        s.send_some(tree.peer(tree.rank - tree.reach()), running.value());
        s.wait();
    }
    running.value()
}

/// A running result over `operands` received ones that ends at `home` where it can.
fn at_first(s: &mut Schedule, own: Span, home: Option<Span>, operands: usize) -> PartialResult {
    let in_place = home == Some(own);
    let mut running = PartialResult::new(own, in_place, home.filter(|_| !in_place));
    if home.is_some() && !in_place && operands % 2 == 0 && operands > 0 {
        // The buffers take turns from the first on, and home must have the last turn.
        running.spares = [Some(s.temp_like(own)), home];
    }
    running
}
