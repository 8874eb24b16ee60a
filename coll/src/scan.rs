//! Scan and exscan (MPI 5.0, section 6.11).
//!
//! `own` is the operand, `home` the receive buffer; in place they are the same.

use crate::barrier::doublings;
use crate::schedule::{Schedule, Span};
use crate::shape::Member;

/// Inclusive scan by doubling: after round k a rank has combined the 2^k operands that end with its own. Hillis
/// and Steele, "Data parallel algorithms", 1986.
pub fn inclusive(s: &mut Schedule, me: Member, own: Span, home: Span) {
    if own.bytes() == 0 {
        return;
    }
    s.copy(own, home);
    let incoming = if me.rank > 0 { s.temp_like(home) } else { home };
    for step in doublings(me.size) {
        if step < me.size - me.rank {
            s.send(me.peer(me.rank + step), home);
        }
        if step <= me.rank {
            s.recv(me.peer(me.rank - step), incoming);
        }
        s.wait();
        if step <= me.rank {
            s.reduce(incoming, home);
        }
    }
}

/// Exclusive scan: every operand moves to the next rank, and the ranks from 1 on scan what they got. Nothing
/// is written at rank 0.
pub fn exclusive(s: &mut Schedule, me: Member, own: Span, home: Span) {
    if own.bytes() == 0 {
        return;
    }
    let in_place = own == home && me.rank > 0 && me.rank + 1 < me.size;
    let leaving = if in_place { s.temp_like(own) } else { own };
    if in_place {
        s.copy(own, leaving);
    }
    if me.rank + 1 < me.size {
        s.send(me.peer(me.rank + 1), leaving);
    }
    if me.rank > 0 {
        s.recv(me.peer(me.rank - 1), home);
    }
    s.wait();
    if me.rank > 0 {
        let rest = Member::without_first(me.rank, me.size);
        inclusive(s, rest, home, home);
    }
}
