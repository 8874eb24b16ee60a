//! Functions of MPI-1 that MPI-3.0 removed, in terms of those that took their place. Displacements in bytes were `MPI_Aint`
//! already, so each has the same parameters as its heir, but `MPI_Type_struct` knows bounds as datatypes.

use std::ffi::c_int;

use tern_abi::*;

use crate::foreign::{Address, ForeignAbi, ForeignHandle, code_out};
use crate::kinds::{HandleOut, Length, Param};
use crate::tern;

/// What stands for the other ABIs' `MPI_LB`: no datatype of the standard.
pub const LOWER_BOUND: MPI_Datatype = MPI_Datatype(0x2fe);
/// What stands for their `MPI_UB`.
pub const UPPER_BOUND: MPI_Datatype = MPI_Datatype(0x2ff);

/// `MPI_Address`
pub unsafe fn address<F: ForeignAbi>(location: Address, place: Address) -> c_int {
    // SAFETY: the program's own arguments.
    code_out::<F>(unsafe { tern!(MPI_Get_address(location => Address, place => Address)) })
}

/// `MPI_Errhandler_get`
pub unsafe fn errhandler_get<F: ForeignAbi>(comm: F::Comm, errhandler: Address) -> c_int {
    let place = errhandler.cast::<F::Errhandler>();
    // SAFETY: the program's own arguments.
    unsafe {
        let mut held = HandleOut::<F::Errhandler>::hold(place, 0);
        let made = HandleOut::<F::Errhandler>::pass(&mut held);
        let code = tern!(MPI_Comm_get_errhandler(comm.inner() => MPI_Comm, made => *mut MPI_Errhandler));
        HandleOut::<F::Errhandler>::give(&mut held, place, code != MPI_SUCCESS);
        code_out::<F>(code)
    }
}

/// `MPI_Errhandler_set`
pub unsafe fn errhandler_set<F: ForeignAbi>(comm: F::Comm, errhandler: F::Errhandler) -> c_int {
    let (comm, errhandler) = (comm.inner(), errhandler.inner());
    // SAFETY: the program's own arguments.
    code_out::<F>(unsafe { tern!(MPI_Comm_set_errhandler(comm => MPI_Comm, errhandler => MPI_Errhandler)) })
}

/// `MPI_Type_extent`
pub unsafe fn type_extent<F: ForeignAbi>(datatype: F::Datatype, extent: Address) -> c_int {
    // SAFETY: the same contract.
    unsafe { bounds::<F>(datatype, extent, |_, extent| extent) }
}

/// `MPI_Type_lb`
pub unsafe fn type_lb<F: ForeignAbi>(datatype: F::Datatype, displacement: Address) -> c_int {
    // SAFETY: the same contract.
    unsafe { bounds::<F>(datatype, displacement, |lower, _| lower) }
}

/// `MPI_Type_ub`
pub unsafe fn type_ub<F: ForeignAbi>(datatype: F::Datatype, displacement: Address) -> c_int {
    // SAFETY: the same contract.
    unsafe { bounds::<F>(datatype, displacement, |lower, extent| lower + extent) }
}

unsafe fn bounds<F: ForeignAbi>(
    datatype: F::Datatype,
    place: Address,
    which: impl FnOnce(MPI_Aint, MPI_Aint) -> MPI_Aint,
) -> c_int {
    let (mut lower, mut extent) = (0, 0);
    let datatype = datatype.inner();
    // SAFETY: the places of numbers; the program gave the place of an address.
    unsafe {
        let code = tern!(MPI_Type_get_extent(
            datatype => MPI_Datatype, &mut lower => *mut MPI_Aint, &mut extent => *mut MPI_Aint
        ));
        if code == MPI_SUCCESS {
            *place.cast::<MPI_Aint>() = which(lower, extent);
        }
        code_out::<F>(code)
    }
}

/// `MPI_Type_hindexed`
pub unsafe fn type_hindexed<F: ForeignAbi>(
    count: c_int,
    blocklengths: Address,
    displacements: Address,
    oldtype: F::Datatype,
    newtype: Address,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        made::<F>(newtype, |made| {
            tern!(MPI_Type_create_hindexed(
                count => c_int, blocklengths => Address, displacements => Address, oldtype.inner() => MPI_Datatype,
                made => *mut MPI_Datatype
            ))
        })
    }
}

/// `MPI_Type_hvector`
pub unsafe fn type_hvector<F: ForeignAbi>(
    count: c_int,
    blocklength: c_int,
    stride: MPI_Aint,
    oldtype: F::Datatype,
    newtype: Address,
) -> c_int {
    // SAFETY: the program's own arguments.
    unsafe {
        made::<F>(newtype, |made| {
            tern!(MPI_Type_create_hvector(
                count => c_int, blocklength => c_int, stride => MPI_Aint, oldtype.inner() => MPI_Datatype,
                made => *mut MPI_Datatype
            ))
        })
    }
}

unsafe fn made<F: ForeignAbi>(newtype: Address, call: impl FnOnce(*mut MPI_Datatype) -> c_int) -> c_int {
    let place = newtype.cast::<F::Datatype>();
    // SAFETY: the program gave the place of a handle.
    unsafe {
        let mut held = HandleOut::<F::Datatype>::hold(place, 0);
        let code = call(HandleOut::<F::Datatype>::pass(&mut held));
        HandleOut::<F::Datatype>::give(&mut held, place, code != MPI_SUCCESS);
        code_out::<F>(code)
    }
}

/// The members of a structure, and the bounds that were among them.
struct StructMembers {
    blocklengths: Vec<c_int>,
    displacements: Vec<MPI_Aint>,
    types: Vec<MPI_Datatype>,
    lower: Option<MPI_Aint>,
    upper: Option<MPI_Aint>,
}

impl StructMembers {
    fn new(all: impl Iterator<Item = (c_int, MPI_Aint, MPI_Datatype)>) -> StructMembers {
        let mut members = StructMembers {
            blocklengths: Vec::new(),
            displacements: Vec::new(),
            types: Vec::new(),
            lower: None,
            upper: None,
        };
        for (blocklength, displacement, datatype) in all {
            match datatype {
                LOWER_BOUND => {
                    members.lower = Some(members.lower.map_or(displacement, |at| at.min(displacement)))
                }
                UPPER_BOUND => {
                    members.upper = Some(members.upper.map_or(displacement, |at| at.max(displacement)))
                }
                _ => {
                    members.blocklengths.push(blocklength);
                    members.displacements.push(displacement);
                    members.types.push(datatype);
                }
            }
        }
        members
    }
}

/// `MPI_Type_struct`
pub unsafe fn type_struct<F: ForeignAbi>(
    count: c_int,
    blocklengths: Address,
    displacements: Address,
    types: Address,
    newtype: Address,
) -> c_int {
    let (blocklengths, displacements) = (blocklengths.cast::<c_int>(), displacements.cast::<MPI_Aint>());
    let types = types.cast::<F::Datatype>();
    // SAFETY: the program gave arrays of this length.
    let members = StructMembers::new((0..count.length()).map(|index| unsafe {
        (*blocklengths.add(index), *displacements.add(index), (*types.add(index)).inner())
    }));
    // SAFETY: the arrays are this function's own, and the program gave the place of a handle.
    unsafe { made::<F>(newtype, |made| structure(&members, made)) }
}

unsafe fn structure(members: &StructMembers, made: *mut MPI_Datatype) -> c_int {
    // SAFETY: the arrays have the length that is given.
    unsafe {
        let code = tern!(MPI_Type_create_struct(
            members.types.len() as c_int => c_int, members.blocklengths.as_ptr() => *const c_int,
            members.displacements.as_ptr() => *const MPI_Aint, members.types.as_ptr() => *const MPI_Datatype,
            made => *mut MPI_Datatype
        ));
        if code != MPI_SUCCESS || (members.lower.is_none() && members.upper.is_none()) {
            return code;
        }
        resized(members, made)
    }
}

/// Replaces a datatype by one with the bounds that were named.
unsafe fn resized(members: &StructMembers, made: *mut MPI_Datatype) -> c_int {
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: the datatype was just made; the others are places of numbers.
    unsafe {
        let mut plain = *made;
        tern!(MPI_Type_get_extent(
            plain => MPI_Datatype, &mut lower => *mut MPI_Aint, &mut extent => *mut MPI_Aint
        ));
        let upper = members.upper.unwrap_or(lower + extent);
        let lower = members.lower.unwrap_or(lower);
        let code = tern!(MPI_Type_create_resized(
            plain => MPI_Datatype, lower => MPI_Aint, upper - lower => MPI_Aint, made => *mut MPI_Datatype
        ));
        tern!(MPI_Type_free(&mut plain => *mut MPI_Datatype));
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_taken_out_of_a_structure() {
        let all = [(1, 0, LOWER_BOUND), (2, 8, MPI_INT), (1, 40, UPPER_BOUND), (1, 48, UPPER_BOUND)];
        let members = StructMembers::new(all.into_iter());
        assert_eq!((members.types, members.displacements), (vec![MPI_INT], vec![8]));
        assert_eq!((members.lower, members.upper), (Some(0), Some(48)));
    }
}
