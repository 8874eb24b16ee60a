//! Type signatures of buffers, for comparing both sides of a message (MPI 5.0, section 3.3.1).

use super::{Contains, Datatype};
use crate::basic::{Basic, Class};
use crate::layout::{Elements, Shape, Signature};

impl Datatype {
    /// The hash of the type signature of `count` elements, for comparing both sides of a message; 0 where it matches
    /// any other: `MPI_PACKED` may be received as anything, and bytes are taken for what they are meant for.
    pub fn signature(&self, count: u64) -> u64 {
        match self.core.contains {
            Contains::Only(Basic::Packed | Basic::Byte) => 0,
            _ => self.core.signature.times(count).value(),
        }
    }

    /// The hash of the type signature of the first `bytes` packed bytes of many elements: what a message of this length
    /// must have if this is the type of the receive. 0 where any will do.
    pub fn signature_of_first(&self, bytes: u64) -> u64 {
        let (size, whole) = (self.size() as u64, self.core.signature);
        if size == 0 || self.signature(1) == 0 {
            return 0;
        }
        let rest = prefix(&self.core.elements.shape, (bytes % size) as usize);
        whole.times(bytes / size).then(rest).value()
    }
}

impl Basic {
    /// The signature of one element. What lies in memory alike and means the same is one type here, whichever language
    /// and name it has: `MPI_LONG` is `MPI_INT64_T`.
    pub(crate) fn signature(self) -> Signature {
        let codes = self.pieces().iter().map(|piece| Signature::of(piece.basic.kind()));
        codes.fold(Signature::EMPTY, Signature::then)
    }

    fn kind(self) -> u32 {
        let class = match self.class() {
            Class::CInteger | Class::FortranInteger | Class::MultiLanguage => Class::CInteger,
            other => other,
        };
        (class as u32) << 8 | self.machine() as u32
    }

    /// The type of which `bytes` have this hash, by the name that most programs use.
    pub fn with_signature(hash: u64, bytes: u64) -> Option<Basic> {
        let fits = |basic: &Basic| {
            let (count, rest) = (bytes / basic.size() as u64, bytes % basic.size() as u64);
            rest == 0 && basic.signature().times(count).value() == hash
        };
        let of_c = |basic: &Basic| matches!(basic.class(), Class::CInteger | Class::Text);
        let all = Basic::ALL.into_iter();
        all.clone().filter(of_c).find(fits).or_else(|| all.clone().find(fits))
    }
}

/// The signature of the first `bytes` of a shape. A number that they end in is left out: no message ends so.
fn prefix(shape: &Shape<Elements>, bytes: usize) -> Signature {
    match shape {
        Shape::One(leaf) | Shape::Strided { leaf, .. } => basic_prefix(leaf.basic, bytes),
        Shape::Repeat { inner, inner_size, .. } => {
            let whole = if bytes < *inner_size { Signature::EMPTY } else { prefix(inner, *inner_size) };
            whole.times((bytes / inner_size) as u64).then(prefix(inner, bytes % inner_size))
        }
        Shape::Pieces(list) => {
            let parts = list.portions(bytes).map(|(leaf, n)| basic_prefix(leaf.basic, n));
            parts.fold(Signature::EMPTY, Signature::then)
        }
        Shape::Mixed(list) => {
            let parts = list.portions(bytes).map(|(shape, n)| prefix(shape, n));
            parts.fold(Signature::EMPTY, Signature::then)
        }
    }
}

fn basic_prefix(basic: Basic, bytes: usize) -> Signature {
    let mut signature = basic.signature().times((bytes / basic.size()) as u64);
    let mut rest = bytes % basic.size();
    for piece in basic.pieces() {
        match rest.checked_sub(piece.basic.size()) {
            Some(less) => rest = less,
            None => break,
        }
        signature = signature.then(piece.basic.signature());
    }
    signature
}
