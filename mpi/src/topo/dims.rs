//! How `MPI_Dims_create` shares processes out to the dimensions of a grid (section 8.5.2).

use std::ffi::c_int;

use tern_abi::MPI_ERR_DIMS;

use super::length;
use crate::arguments::out;
use crate::entry::entry;
use crate::error::{Result, fail};

entry! {
    /// A balanced shape for a grid: fills in the dimensions that are zero.
    fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) {
        let len = length("ndims", ndims, MPI_ERR_DIMS)?;
        if len == 0 {
            return Ok(());
        }
        fill_zeros(nnodes, std::slice::from_raw_parts_mut(out("dims", dims)?, len))
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

/// Factors of `processes`, one for each of `dimensions`, as close to each other as they can be, largest first:
/// the largest is as small as possible, then the next, and so on.
fn spread(processes: u32, dimensions: usize) -> Vec<u32> {
    spread_below(processes, dimensions, processes).unwrap_or_default()
}

fn spread_below(processes: u32, dimensions: usize, largest: u32) -> Option<Vec<u32>> {
    match dimensions {
        0 => return (processes == 1).then(Vec::new),
        1 => return (processes <= largest).then(|| vec![processes]),
        _ => {}
    }
    divisors(processes)
        .into_iter()
        .filter(|&factor| factor <= largest && reaches(factor, dimensions, processes))
        .find_map(|factor| {
            let rest = spread_below(processes / factor, dimensions - 1, factor)?;
            Some([vec![factor], rest].concat())
        })
}

/// Whether `dimensions` factors of at most this size can make up `processes`.
fn reaches(factor: u32, dimensions: usize, processes: u32) -> bool {
    let exponent = u32::try_from(dimensions).unwrap_or(u32::MAX);
    u64::from(factor).saturating_pow(exponent) >= u64::from(processes)
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
