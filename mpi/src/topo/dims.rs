//! How `MPI_Dims_create` shares processes out to the dimensions of a grid (section 8.5.2).

use std::ffi::c_int;

use tern_abi::MPI_ERR_DIMS;

use super::length;
use crate::core::boundary::OutArray;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};

entry! {
    /// A balanced shape for a grid: fills in the dimensions that are zero.
    safe fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: OutArray<'_, c_int>) {
        let len = length("ndims", ndims, MPI_ERR_DIMS)?;
        if len == 0 { Ok(()) } else { fill_zeros(nnodes, dims.of(len)?) }
    }
}

/// Shares `nnodes` out to the zeros in `dims`, whose other values are given.
fn fill_zeros(nnodes: c_int, dims: &mut [c_int]) -> Result {
    if let Some(bad) = dims.iter().find(|dim| **dim < 0) {
        return Err(fail(MPI_ERR_DIMS, format!("a dimension is {bad}, but must not be negative")));
    }
    let given: i64 =
        dims.iter().filter(|dim| **dim > 0).fold(1, |product, dim| product.saturating_mul((*dim).into()));
    if nnodes < 1 {
        return Err(fail(MPI_ERR_DIMS, format!("nnodes is {nnodes}, but must be at least 1")));
    }
    if i64::from(nnodes) % given != 0 {
        return Err(fail(
            MPI_ERR_DIMS,
            format!("nnodes is {nnodes}, but the given dimensions need a multiple of {given}"),
        ));
    }
    let free = dims.iter().filter(|dim| **dim == 0).count();
    let rest = i64::from(nnodes) / given;
    if free == 0 && rest != 1 {
        return Err(fail(MPI_ERR_DIMS, format!("nnodes is {nnodes}, but the given dimensions make {given}")));
    }
    let mut factors = spread(rest as u32, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = factors.next().unwrap_or(1) as c_int;
    }
    Ok(())
}

/// Factors of `processes`, one for each of `dimensions`, as close to each other as they can be (section 8.5.2), largest first. That is:
/// the largest and the smallest differ least; of those that tie, the smallest is largest, then the next, and so on. The standard
/// says no more than 'as close to each other as possible'; MPICH and Intel MPI read it so, too.
fn spread(processes: u32, dimensions: usize) -> Vec<u32> {
    let mut search =
        Search { divisors: divisors(processes), chosen: Vec::new(), best: Vec::new(), limit: u64::MAX };
    search.go(processes, dimensions);
    search.best.reverse();
    search.best
}

/// Goes through all ascending factors, larger ones first, and leaves out what cannot be better than the best so far. So what
/// is found first is the better of two that tie.
struct Search {
    divisors: Vec<u32>,
    chosen: Vec<u32>,
    best: Vec<u32>,
    /// The largest and the smallest factor must differ less.
    limit: u64,
}

impl Search {
    /// Chooses `left` factors of `rest`.
    fn go(&mut self, rest: u32, left: usize) {
        match left {
            0 => {}
            1 => self.choose_last(rest),
            _ => self.choose_next(rest, left),
        }
    }

    fn choose_last(&mut self, factor: u32) {
        let smallest = self.chosen.first().copied().unwrap_or(factor);
        self.limit = u64::from(factor - smallest);
        self.best = [&self.chosen[..], &[factor]].concat();
    }

    fn choose_next(&mut self, rest: u32, left: usize) {
        let least = self.chosen.last().copied().unwrap_or(1);
        // None of those that follow may be smaller.
        let fits = self.divisors.partition_point(|&factor| power(factor, left) <= u64::from(rest));
        for at in (0..fits).rev() {
            let factor = self.divisors[at];
            if factor < least || !self.is_promising(factor, rest, left) {
                return;
            }
            if rest % factor == 0 {
                self.chosen.push(factor);
                self.go(rest / factor, left - 1);
                self.chosen.pop();
            }
        }
    }

    /// Whether `left` factors, the first of which is at most `factor`, can still make up `rest` within the limit: all
    /// would be smaller than the smallest and the limit.
    fn is_promising(&self, factor: u32, rest: u32, left: usize) -> bool {
        let smallest = u64::from(self.chosen.first().copied().unwrap_or(factor));
        let largest = smallest.saturating_add(self.limit).saturating_sub(1).min(u32::MAX.into());
        let others = power(largest as u32, left - 1);
        self.limit > 0 && u64::from(factor).saturating_mul(others) >= u64::from(rest)
    }
}

fn power(base: u32, exponent: usize) -> u64 {
    u64::from(base).saturating_pow(u32::try_from(exponent).unwrap_or(u32::MAX))
}

fn divisors(number: u32) -> Vec<u32> {
    let small: Vec<u32> = (1..)
        .take_while(|d: &u32| u64::from(*d).pow(2) <= number.into())
        .filter(|d| number % d == 0)
        .collect();
    let large = small.iter().rev().map(|d| number / d).filter(|d| !small.contains(d));
    small.iter().copied().chain(large.collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_as_equal_as_can_be() {
        assert_eq!(spread(6, 2), [3, 2]);
        assert_eq!(spread(7, 2), [7, 1]);
        assert_eq!(spread(24, 3), [4, 3, 2]);
        assert_eq!(spread(72, 2), [9, 8]);
        assert_eq!(spread(1, 4), [1; 4]);
        assert_eq!(spread(1 << 30, 10), [8; 10]);
        assert_eq!(spread(19_008, 3), [33, 24, 24]);
        assert_eq!(spread(360, 3), [10, 6, 6]);
        assert_eq!(spread(20, 4), [5, 2, 2, 1]);
        assert_eq!(spread(23_400, 5), [13, 10, 6, 6, 5]);
    }

    /// The definition, tried on all factors.
    #[test]
    fn no_other_factors_are_closer() {
        for (processes, dimensions) in (1..700).flat_map(|n| (2..6).map(move |k| (n, k))) {
            let best = all(processes, dimensions, 1).into_iter().min_by_key(|factors| {
                let apart = factors[dimensions - 1] - factors[0];
                (apart, factors.iter().map(|&factor| std::cmp::Reverse(factor)).collect::<Vec<_>>())
            });
            let mut expected = best.unwrap();
            expected.reverse();
            assert_eq!(spread(processes, dimensions), expected, "{processes} in {dimensions}");
        }
    }

    /// All ascending factors from `least` on.
    fn all(rest: u32, left: usize, least: u32) -> Vec<Vec<u32>> {
        if left == 1 {
            return if rest >= least { vec![vec![rest]] } else { vec![] };
        }
        let firsts = (least..=rest).filter(|first| rest % first == 0);
        let after = |first| {
            all(rest / first, left - 1, first).into_iter().map(move |more| [vec![first], more].concat())
        };
        firsts.flat_map(after).collect()
    }

    #[test]
    fn numbers_with_many_factors_take_no_time() {
        for processes in [735_134_400, 1_102_701_600, 2_147_483_647, 2_146_918_400, 1 << 30] {
            for dimensions in [2, 3, 4, 5, 8, 13, 21, 40] {
                let factors = spread(processes, dimensions);
                assert_eq!(factors.iter().product::<u32>(), processes);
            }
        }
    }

    #[test]
    fn their_product_is_the_number_of_processes() {
        for processes in 1..300 {
            for dimensions in 1..5 {
                let factors = spread(processes, dimensions);
                assert_eq!(factors.iter().product::<u32>(), processes);
                assert!(factors.is_sorted_by(|a, b| a >= b), "{factors:?}");
            }
        }
    }
}
