//! How many elements a message brought (MPI 5.0, sections 3.2.5 and 5.1.11).

use super::Datatype;
use crate::basic::Basic;
use crate::layout::{Elements, List, Shape};

impl Datatype {
    /// Whole elements in `bytes`: the answer of `MPI_Get_count`, none where it is `MPI_UNDEFINED`.
    pub fn count_in(&self, bytes: u64) -> Option<u64> {
        match self.size() as u64 {
            0 => (bytes == 0).then_some(0),
            size => (bytes % size == 0).then(|| bytes / size),
        }
    }

    /// Basic elements in `bytes`: the answer of `MPI_Get_elements`, none where the last one is incomplete. A
    /// value-index pair counts as its two numbers.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        let size = self.size() as u64;
        if size == 0 {
            return (bytes == 0).then_some(0);
        }
        let rest = count(&self.core.elements.shape, (bytes % size) as usize)?;
        (bytes / size).checked_mul(self.elements())?.checked_add(rest)
    }

    /// The bytes that `elements` basic elements take: what `MPI_Status_set_elements` records. None if the type
    /// has no elements, or the product is beyond 64 bits.
    pub fn bytes_of_elements(&self, elements: u64) -> Option<u64> {
        if elements == 0 {
            return Some(0);
        }
        let whole = elements.checked_div(self.elements())?;
        let rest = bytes_of(&self.core.elements.shape, elements % self.elements());
        whole.checked_mul(self.size() as u64)?.checked_add(rest)
    }

    /// Basic elements of one element of this type.
    pub fn elements(&self) -> u64 {
        let shape = &self.core.elements.shape;
        count(shape, shape.size()).unwrap_or(0)
    }
}

/// Basic elements in the first `bytes` of a shape, none if the last one is incomplete.
fn count(shape: &Shape<Elements>, bytes: usize) -> Option<u64> {
    match shape {
        Shape::One(leaf) | Shape::Strided { leaf, .. } => count_basic(leaf.basic, bytes),
        Shape::Repeat { inner, inner_size, .. } => {
            let each = if bytes < *inner_size { 0 } else { count(inner, *inner_size)? };
            Some((bytes / inner_size) as u64 * each + count(inner, bytes % inner_size)?)
        }
        Shape::Pieces(list) => list.portions(bytes).map(|(leaf, n)| count_basic(leaf.basic, n)).sum(),
        Shape::Mixed(list) => list.portions(bytes).map(|(shape, n)| count(shape, n)).sum(),
    }
}

fn count_basic(basic: Basic, bytes: usize) -> Option<u64> {
    let numbers = basic.pieces();
    let (whole, mut rest) = (bytes / basic.size(), bytes % basic.size());
    let mut count = whole * numbers.len();
    for number in numbers {
        if rest == 0 {
            break;
        }
        rest = rest.checked_sub(number.basic.size())?;
        count += 1;
    }
    Some(count as u64)
}

/// Bytes of the first `elements` basic elements of a shape that has more of them.
fn bytes_of(shape: &Shape<Elements>, elements: u64) -> u64 {
    let total = |shape: &Shape<Elements>| count(shape, shape.size()).unwrap_or(0);
    match shape {
        Shape::One(leaf) | Shape::Strided { leaf, .. } => bytes_of_basic(leaf.basic, elements),
        Shape::Repeat { inner, inner_size, .. } => {
            let each = total(inner);
            elements / each * *inner_size as u64 + bytes_of(inner, elements % each)
        }
        Shape::Pieces(list) => {
            let all = |leaf: &Elements| (leaf.count * leaf.basic.pieces().len()) as u64;
            through(list, elements, all, |leaf, n| bytes_of_basic(leaf.basic, n))
        }
        Shape::Mixed(list) => through(list, elements, total, bytes_of),
    }
}

/// Bytes of the first `left` elements of a list.
fn through<T>(
    list: &List<T>,
    mut left: u64,
    all: impl Fn(&T) -> u64,
    within: impl Fn(&T, u64) -> u64,
) -> u64 {
    for entry in &list.entries {
        let here = all(&entry.item);
        if left < here {
            return entry.start as u64 + within(&entry.item, left);
        }
        left -= here;
    }
    list.size as u64
}

fn bytes_of_basic(basic: Basic, elements: u64) -> u64 {
    let numbers = basic.pieces();
    let (whole, rest) = (elements / numbers.len() as u64, elements % numbers.len() as u64);
    let part: usize = numbers[..rest as usize].iter().map(|number| number.basic.size()).sum();
    whole * basic.size() as u64 + part as u64
}
