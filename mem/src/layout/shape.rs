//! Shapes and their normal form.
//!
//! A shape's first packed byte is at displacement 0 of the shape; where that byte lies is kept beside it
//! ([`Placed`]). Normalising happens here, on construction: adjacent pieces are joined, repetitions of
//! repetitions are merged where the distance goes on, lists with a regular pattern become strided. Whoever
//! builds a shape has checked that its size and all its displacements fit (`datatype::bounds`).

use std::sync::Arc;

use super::leaf::Leaf;
use crate::limits::SPLICE_PIECES_MAX;

/// Where pieces lie relative to the first one, in packed order. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape<L> {
    /// One piece.
    One(L),
    /// Equal pieces at a fixed distance.
    Strided { count: usize, stride: isize, leaf: L },
    /// Any other shape, repeated at a fixed distance.
    Repeat { count: usize, stride: isize, inner: Arc<Shape<L>>, inner_size: usize },
    /// Pieces anywhere.
    Pieces(Arc<List<L>>),
    /// Shapes anywhere.
    Mixed(Arc<List<Shape<L>>>),
}

/// A shape and the displacement of its first packed byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed<L> {
    pub disp: isize,
    pub shape: Shape<L>,
}

/// An irregular list, sorted by `start`, so that a position is found by binary search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct List<T> {
    pub entries: Box<[ListEntry<T>]>,
    pub size: usize,
}

/// One entry of a list: where it starts in the packed stream and in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListEntry<T> {
    pub start: usize,
    pub disp: isize,
    pub item: T,
}

impl<T> List<T> {
    /// The entries from the one that holds packed byte `at`.
    #[inline]
    pub(crate) fn from(&self, at: usize) -> &[ListEntry<T>] {
        let first = if at == 0 { 0 } else { self.entries.partition_point(|e| e.start <= at) - 1 };
        &self.entries[first..]
    }

    /// The entries that hold the first `bytes` packed bytes, each with how many of them it holds.
    pub(crate) fn portions(&self, bytes: usize) -> impl Iterator<Item = (&T, usize)> {
        let ends = self.entries.iter().skip(1).map(|next| next.start).chain([self.size]);
        let held = move |(entry, end): (&'_ ListEntry<T>, usize)| bytes.min(end).saturating_sub(entry.start);
        self.entries
            .iter()
            .zip(ends)
            .map(move |pair| (&pair.0.item, held(pair)))
            .take_while(|part| part.1 > 0)
    }
}

impl<L: Leaf> Placed<L> {
    /// Nothing.
    pub(crate) const EMPTY: Self = Placed { disp: 0, shape: Shape::One(L::NONE) };

    /// One piece.
    pub(crate) fn one(disp: isize, leaf: L) -> Self {
        Placed { disp, shape: Shape::One(leaf) }
    }

    /// True for a shape without bytes.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.shape, Shape::One(leaf) if leaf.size() == 0)
    }

    /// The same shape, `by` bytes further on.
    pub(crate) fn moved(mut self, by: isize) -> Self {
        if !self.is_empty() {
            self.disp += by;
        }
        self
    }

    /// `count` copies at a distance of `stride` bytes.
    pub(crate) fn repeated(&self, count: usize, stride: isize) -> Self {
        if count == 0 || self.is_empty() {
            return Self::EMPTY;
        }
        Placed { disp: self.disp, shape: self.shape.repeated(count, stride) }
    }

    /// The parts one after another in packed order.
    pub(crate) fn sequence(parts: impl IntoIterator<Item = Placed<L>>) -> Self {
        let mut joined = Vec::new();
        for part in parts {
            splice(&mut joined, part);
        }
        match joined.len() {
            0 => Self::EMPTY,
            1 => joined.swap_remove(0),
            _ => regular(&joined).unwrap_or_else(|| listed(joined)),
        }
    }
}

impl<L: Leaf> Shape<L> {
    /// Packed bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Shape::One(leaf) => leaf.size(),
            Shape::Strided { count, leaf, .. } => count * leaf.size(),
            Shape::Repeat { count, inner_size, .. } => count * inner_size,
            Shape::Pieces(list) => list.size,
            Shape::Mixed(list) => list.size,
        }
    }

    fn repeated(&self, count: usize, stride: isize) -> Shape<L> {
        let goes_on = |n: usize, step: isize| n as i128 * step as i128 == stride as i128;
        match self {
            _ if count == 1 => self.clone(),
            Shape::One(leaf) if leaf.extent() as isize == stride => Shape::One(leaf.times(count)),
            &Shape::One(leaf) => Shape::Strided { count, stride, leaf },
            &Shape::Strided { count: n, stride: step, leaf } if goes_on(n, step) => {
                Shape::Strided { count: n * count, stride: step, leaf }
            }
            Shape::Repeat { count: n, stride: step, inner, inner_size } if goes_on(*n, *step) => {
                Shape::Repeat {
                    count: n * count,
                    stride: *step,
                    inner: inner.clone(),
                    inner_size: *inner_size,
                }
            }
            other => {
                Shape::Repeat { count, stride, inner_size: other.size(), inner: Arc::new(other.clone()) }
            }
        }
    }
}

/// Appends `part`, opening short lists and joining pieces that touch.
fn splice<L: Leaf>(joined: &mut Vec<Placed<L>>, part: Placed<L>) {
    match &part.shape {
        Shape::One(leaf) => append(joined, part.disp, *leaf),
        Shape::Pieces(list) if list.entries.len() <= SPLICE_PIECES_MAX => {
            for entry in &list.entries {
                append(joined, part.disp + entry.disp, entry.item);
            }
        }
        Shape::Mixed(list) if list.entries.len() <= SPLICE_PIECES_MAX => {
            for entry in &list.entries {
                splice(joined, Placed { disp: part.disp + entry.disp, shape: entry.item.clone() });
            }
        }
        _ => joined.push(part),
    }
}

fn append<L: Leaf>(joined: &mut Vec<Placed<L>>, disp: isize, leaf: L) {
    if leaf.size() == 0 {
        return;
    }
    if let Some(Placed { disp: before, shape: Shape::One(last) }) = joined.last_mut()
        && *before + last.extent() as isize == disp
        && let Some(both) = last.joined(leaf)
    {
        *last = both;
        return;
    }
    joined.push(Placed::one(disp, leaf));
}

/// The repetition that a list of two or more parts amounts to, if all are equal and equally far apart.
fn regular<L: Leaf>(parts: &[Placed<L>]) -> Option<Placed<L>> {
    let stride = parts[1].disp.checked_sub(parts[0].disp)?;
    let alike = |pair: &[Placed<L>]| {
        pair[1].disp.checked_sub(pair[0].disp) == Some(stride) && pair[1].shape == pair[0].shape
    };
    parts.windows(2).all(alike).then(|| parts[0].repeated(parts.len(), stride))
}

/// An irregular list.
fn listed<L: Leaf>(parts: Vec<Placed<L>>) -> Placed<L> {
    let disp = parts[0].disp;
    let leaf_of = |part: &Placed<L>| if let Shape::One(leaf) = part.shape { Some(leaf) } else { None };
    let shape = if parts.iter().all(|part| leaf_of(part).is_some()) {
        Shape::Pieces(Arc::new(list(&parts, |part| leaf_of(part).unwrap_or(L::NONE))))
    } else {
        Shape::Mixed(Arc::new(list(&parts, |part| part.shape.clone())))
    };
    Placed { disp, shape }
}

fn list<L: Leaf, T>(parts: &[Placed<L>], item: impl Fn(&Placed<L>) -> T) -> List<T> {
    let origin = parts[0].disp;
    let mut size = 0;
    let entry = |part: &Placed<L>| {
        let start = size;
        size += part.shape.size();
        ListEntry { start, disp: part.disp - origin, item: item(part) }
    };
    let entries = parts.iter().map(entry).collect();
    List { entries, size }
}
