//! How a datatype was made (section 5.1.13): constants stand among the integers of some.

use std::ffi::c_int;

use tern_abi::*;

use crate::foreign::{Address, ForeignAbi, ForeignHandle, code_out};
use crate::kinds::{InOutList, Length, Param};
use crate::number::ConstantFamily;
use crate::tern;

/// `MPI_Type_get_contents`.
pub unsafe fn type_get_contents<F: ForeignAbi>(
    datatype: F::Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    integers: Address,
    addresses: Address,
    datatypes: Address,
) -> c_int {
    let inner = datatype.inner();
    // SAFETY: the program gave the places of as many values.
    unsafe {
        with_types::<F>(datatypes, max_datatypes.length(), |types| {
            let code = tern!(MPI_Type_get_contents(
                inner => MPI_Datatype, max_integers => c_int, max_addresses => c_int, max_datatypes => c_int,
                integers => Address, addresses => Address, types => *mut MPI_Datatype
            ));
            if code == MPI_SUCCESS && !integers.is_null() {
                let integers = std::slice::from_raw_parts_mut(integers.cast(), max_integers.length());
                convert::<F>(inner, integers);
            }
            code
        })
    }
}

/// `MPI_Type_get_contents_c`.
pub unsafe fn type_get_contents_large<F: ForeignAbi>(
    datatype: F::Datatype,
    max_integers: MPI_Count,
    max_addresses: MPI_Count,
    max_large_counts: MPI_Count,
    max_datatypes: MPI_Count,
    integers: Address,
    addresses: Address,
    large_counts: Address,
    datatypes: Address,
) -> c_int {
    let inner = datatype.inner();
    // SAFETY: the program gave the places of as many values.
    unsafe {
        with_types::<F>(datatypes, max_datatypes.length(), |types| {
            let code = tern!(MPI_Type_get_contents_c(
                inner => MPI_Datatype, max_integers => MPI_Count, max_addresses => MPI_Count,
                max_large_counts => MPI_Count, max_datatypes => MPI_Count, integers => Address, addresses => Address,
                large_counts => Address, types => *mut MPI_Datatype
            ));
            if code == MPI_SUCCESS && !integers.is_null() {
                let integers = std::slice::from_raw_parts_mut(integers.cast(), max_integers.length());
                convert_large::<F>(inner, integers, max_large_counts > 0);
            }
            code
        })
    }
}

unsafe fn with_types<F: ForeignAbi>(
    datatypes: Address,
    length: usize,
    call: impl FnOnce(*mut MPI_Datatype) -> c_int,
) -> c_int {
    type List<F> = InOutList<<F as ForeignAbi>::Datatype>;
    let place = datatypes.cast::<F::Datatype>();
    // SAFETY: the program gave the places of as many handles, which need not hold handles yet.
    unsafe {
        if !place.is_null() {
            (0..length).for_each(|index| *place.add(index) = F::Datatype::outer(MPI_DATATYPE_NULL));
        }
        let mut held = List::<F>::hold(place, length);
        let code = call(List::<F>::pass(&mut held));
        List::<F>::give(&mut held, place, code != MPI_SUCCESS);
        code_out::<F>(code)
    }
}

/// The standard's combiner of a datatype.
unsafe fn combiner(datatype: MPI_Datatype) -> c_int {
    let (mut counts, mut combiner) = ([0 as c_int; 3], MPI_COMBINER_NAMED);
    let [integers, addresses, datatypes] = &mut counts;
    // SAFETY: the places of numbers.
    unsafe {
        tern!(MPI_Type_get_envelope(
            datatype => MPI_Datatype, integers => *mut c_int, addresses => *mut c_int, datatypes => *mut c_int,
            &mut combiner => *mut c_int
        ));
    }
    combiner
}

/// Converts the constants among the integers. Their places are fixed by the combiner and the number of dimensions.
unsafe fn convert<F: ForeignAbi>(datatype: MPI_Datatype, integers: &mut [c_int]) {
    // SAFETY: the datatype is one, as its contents were given.
    match unsafe { combiner(datatype) } {
        MPI_COMBINER_SUBARRAY => {
            let dimensions = first(integers, 0);
            change::<F::Order>(integers, 3 * dimensions + 1);
        }
        MPI_COMBINER_DARRAY => {
            let dimensions = first(integers, 2);
            convert_distributions::<F>(integers, 3 + dimensions, dimensions);
            change::<F::Order>(integers, 4 * dimensions + 3);
        }
        _ => {}
    }
}

/// The same where sizes are among the large counts. A datatype that was made without large counts has none.
unsafe fn convert_large<F: ForeignAbi>(datatype: MPI_Datatype, integers: &mut [c_int], is_large: bool) {
    if !is_large {
        // SAFETY: the same contract.
        return unsafe { convert::<F>(datatype, integers) };
    }
    // SAFETY: the same contract.
    match unsafe { large_combiner(datatype) } {
        MPI_COMBINER_SUBARRAY => change::<F::Order>(integers, 1),
        MPI_COMBINER_DARRAY => {
            let dimensions = first(integers, 2);
            convert_distributions::<F>(integers, 3, dimensions);
            change::<F::Order>(integers, 3 * dimensions + 3);
        }
        _ => {}
    }
}

unsafe fn large_combiner(datatype: MPI_Datatype) -> c_int {
    let (mut counts, mut combiner) = ([0 as MPI_Count; 4], MPI_COMBINER_NAMED);
    let [integers, addresses, large_counts, datatypes] = &mut counts;
    // SAFETY: the places of numbers.
    unsafe {
        tern!(MPI_Type_get_envelope_c(
            datatype => MPI_Datatype, integers => *mut MPI_Count, addresses => *mut MPI_Count,
            large_counts => *mut MPI_Count, datatypes => *mut MPI_Count, &mut combiner => *mut c_int
        ));
    }
    combiner
}

fn convert_distributions<F: ForeignAbi>(integers: &mut [c_int], from: usize, dimensions: usize) {
    for index in from..from + dimensions {
        change::<F::Distribution>(integers, index);
        change::<F::DistributionArgument>(integers, index + dimensions);
    }
}

fn first(integers: &[c_int], index: usize) -> usize {
    integers.get(index).map_or(0, |&number| number.length())
}

fn change<N: ConstantFamily>(integers: &mut [c_int], index: usize) {
    if let Some(number) = integers.get_mut(index) {
        *number = N::outer(*number);
    }
}
