//! Shapes and their normal form.
//!
//! A shape's first packed byte is at displacement 0 of the shape; where that byte lies is kept beside it
//! ([`Placed`]). Normalising happens here, on construction: adjacent runs are merged, repetitions of
//! repetitions are joined where the distance goes on, lists with a regular pattern become strided.

use std::sync::Arc;

use crate::limits::SPLICE_PIECES_MAX;

/// Where bytes lie relative to the first one, in packed order. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Consecutive bytes; none at all for an empty type.
    Run(usize),
    /// Equal blocks at a fixed distance.
    Strided { count: usize, stride: isize, block: usize },
    /// Any other shape, repeated at a fixed distance.
    Repeat { count: usize, stride: isize, inner: Arc<Shape>, inner_size: usize },
    /// Runs anywhere.
    Runs(Arc<Runs>),
    /// Shapes anywhere.
    Mixed(Arc<Mixed>),
}

/// A shape and the displacement of its first packed byte.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub disp: isize,
    pub shape: Shape,
}

/// An irregular list of runs with prefix sums, so that a position is found by binary search.
#[derive(Debug, PartialEq)]
pub(crate) struct Runs {
    /// Sorted by `start`; the length of a run is the distance to the next start.
    pub runs: Box<[RunAt]>,
    pub size: usize,
}

/// One run: its first byte in the packed stream and in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunAt {
    pub start: usize,
    pub disp: isize,
}

/// An irregular list of shapes with prefix sums.
#[derive(Debug, PartialEq)]
pub(crate) struct Mixed {
    pub starts: Box<[usize]>,
    pub parts: Box<[Placed]>,
    pub size: usize,
}

impl Runs {
    /// Where run `index` ends in the packed stream.
    #[inline]
    pub fn end(&self, index: usize) -> usize {
        self.runs.get(index + 1).map_or(self.size, |next| next.start)
    }

    /// The run that holds packed byte `at`.
    #[inline]
    pub fn index_of(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.runs.partition_point(|run| run.start <= at) - 1 }
    }
}

impl Mixed {
    /// Where part `index` ends in the packed stream.
    #[inline]
    pub fn end(&self, index: usize) -> usize {
        self.starts.get(index + 1).copied().unwrap_or(self.size)
    }

    /// The part that holds packed byte `at`.
    #[inline]
    pub fn index_of(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.starts.partition_point(|&start| start <= at) - 1 }
    }
}

impl Placed {
    /// No bytes.
    pub const EMPTY: Self = Placed { disp: 0, shape: Shape::Run(0) };

    /// True for a shape without bytes.
    pub fn is_empty(&self) -> bool {
        self.shape == Shape::Run(0)
    }

    /// The same shape, `by` bytes further on.
    pub fn moved(mut self, by: isize) -> Self {
        if !self.is_empty() {
            self.disp += by;
        }
        self
    }

    /// `count` copies at a distance of `stride` bytes.
    pub fn repeated(&self, count: usize, stride: isize) -> Self {
        if count == 0 || self.is_empty() {
            return Self::EMPTY;
        }
        Placed { disp: self.disp, shape: self.shape.repeated(count, stride) }
    }

    /// The parts one after another in packed order.
    pub fn sequence(parts: Vec<Placed>) -> Self {
        let mut joined = Vec::with_capacity(parts.len());
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

impl Shape {
    /// Packed bytes.
    pub fn size(&self) -> usize {
        match self {
            Shape::Run(len) => *len,
            Shape::Strided { count, block, .. } => count * block,
            Shape::Repeat { count, inner_size, .. } => count * inner_size,
            Shape::Runs(list) => list.size,
            Shape::Mixed(list) => list.size,
        }
    }

    fn repeated(&self, count: usize, stride: isize) -> Shape {
        let goes_on = |n: usize, step: isize| n as i128 * step as i128 == stride as i128;
        match self {
            _ if count == 1 => self.clone(),
            &Shape::Run(len) if len as isize == stride => Shape::Run(len * count),
            &Shape::Run(block) => Shape::Strided { count, stride, block },
            &Shape::Strided { count: n, stride: step, block } if goes_on(n, step) => {
                Shape::Strided { count: n * count, stride: step, block }
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

/// Appends `part`, opening short lists and merging runs that touch.
fn splice(joined: &mut Vec<Placed>, part: Placed) {
    match &part.shape {
        Shape::Run(0) => {}
        Shape::Run(len) => append_run(joined, part.disp, *len),
        Shape::Runs(list) if list.runs.len() <= SPLICE_PIECES_MAX => {
            for (index, run) in list.runs.iter().enumerate() {
                append_run(joined, part.disp + run.disp, list.end(index) - run.start);
            }
        }
        Shape::Mixed(list) if list.parts.len() <= SPLICE_PIECES_MAX => {
            for inner in &list.parts {
                splice(joined, inner.clone().moved(part.disp));
            }
        }
        _ => joined.push(part),
    }
}

fn append_run(joined: &mut Vec<Placed>, disp: isize, len: usize) {
    if let Some(Placed { disp: last, shape: Shape::Run(last_len) }) = joined.last_mut()
        && *last + *last_len as isize == disp
    {
        *last_len += len;
        return;
    }
    joined.push(Placed { disp, shape: Shape::Run(len) });
}

/// The repetition that a list of two or more parts amounts to, if all are equal and equally far apart.
fn regular(parts: &[Placed]) -> Option<Placed> {
    let stride = parts[1].disp.checked_sub(parts[0].disp)?;
    let alike = |pair: &[Placed]| {
        pair[1].disp.checked_sub(pair[0].disp) == Some(stride) && pair[1].shape == pair[0].shape
    };
    parts.windows(2).all(alike).then(|| parts[0].repeated(parts.len(), stride))
}

/// An irregular list.
fn listed(parts: Vec<Placed>) -> Placed {
    let origin = parts[0].disp;
    let mut size = 0;
    let mut starts = Vec::with_capacity(parts.len());
    for part in &parts {
        starts.push(size);
        size += part.shape.size();
    }
    let shape = if parts.iter().all(|part| matches!(part.shape, Shape::Run(_))) {
        let at = |(part, &start): (&Placed, &usize)| RunAt { start, disp: part.disp - origin };
        Shape::Runs(Arc::new(Runs { runs: parts.iter().zip(&starts).map(at).collect(), size }))
    } else {
        let parts = parts.into_iter().map(|part| part.moved(-origin)).collect();
        Shape::Mixed(Arc::new(Mixed { starts: starts.into(), parts, size }))
    };
    Placed { disp: origin, shape }
}
