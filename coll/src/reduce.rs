//! Reduce (MPI 5.0, section 6.9.1), and the running result that all reductions share.

use crate::schedule::{Schedule, Span};
use crate::shape::Member;

/// A partial result and the buffers around it.
///
/// A reduction overwrites its right operand ([`crate::Step::Reduce`]). So when the received operand comes from
/// higher ranks, the result is where it was received, and the buffer of the old value becomes the next one
/// to receive into: nothing is copied, and the operands keep their order.
pub struct Running {
    value: Span,
    writable: bool,
    spares: [Option<Span>; 2],
}

impl Running {
    /// Starts from `own`. It is not written unless it is `writable`. `spare` is a buffer of the caller's that
    /// may be used; others are temporary.
    pub fn new(own: Span, writable: bool, spare: Option<Span>) -> Running {
        Running { value: own, writable, spares: [spare, None] }
    }

    /// The partial result.
    pub fn value(&self) -> Span {
        self.value
    }

    /// Where to receive the next operand.
    pub fn incoming(&mut self, s: &mut Schedule) -> Span {
        *self.spares[0].get_or_insert_with(|| s.temp_like(self.value))
    }

    /// What has been received into [`Running::incoming`] comes from higher ranks: `value OP incoming`.
    pub fn then(&mut self, s: &mut Schedule) {
        let incoming = self.incoming(s);
        s.reduce(self.value, incoming);
        let freed = if self.writable { Some(self.value) } else { self.spares[1].take() };
        *self = Running { value: incoming, writable: true, spares: [freed, self.spares[1]] };
    }

    /// What has been received into [`Running::incoming`] comes from lower ranks: `incoming OP value`.
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
    match home_here {
        Some(home) if root == 0 => s.copy(result, home),
        Some(home) => s.recv(me.peer(0), home),
        None if me.rank == 0 => s.send(me.peer(root), result),
        None => {}
    }
    s.wait();
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
fn at_first(s: &mut Schedule, own: Span, home: Option<Span>, operands: usize) -> Running {
    let in_place = home == Some(own);
    let mut running = Running::new(own, in_place, home.filter(|_| !in_place));
    if home.is_some() && !in_place && operands % 2 == 0 && operands > 0 {
        // The buffers take turns from the first on, and home must have the last turn.
        running.spares = [Some(s.temp_like(own)), home];
    }
    running
}
