//! Making datatypes (MPI 5.0 sections 5.1.2 to 5.1.10, 19.1.9): constructors, commit, copy, free.

use crate::comm::attributes;
use crate::core::arguments::count;
use crate::core::boundary::{Array, Handed};
use crate::core::entry::{IntoWide, Width, entry};
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use crate::datatype::calls::{commit, running};
use crate::datatype::object::Datatypes;
use std::ffi::c_int;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::Datatype;
use tern_mem::datatype::{ArrayOrder, ConstructorForm, Darray, Distribution, Subarray};

entry! {
    /// Makes a datatype of consecutive copies of another.
    safe fn MPI_Type_contiguous, MPI_Type_contiguous_c<W>(count: W::Count, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        make(newtype, |types| Ok(Datatype::contiguous(form::<W>(), count.into(), types.get(oldtype)?)?))
    }

    /// Makes a datatype of equal blocks at a distance given in elements.
    safe fn MPI_Type_vector, MPI_Type_vector_c<W>(count: W::Count, blocklength: W::Count, stride: W::Count, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let (count, blocklength, stride) = (count.into(), blocklength.into(), stride.into());
        make(newtype, |types| Ok(Datatype::vector(form::<W>(), count, blocklength, stride, types.get(oldtype)?)?))
    }

    /// Makes a datatype of equal blocks at a distance given in bytes.
    safe fn MPI_Type_create_hvector, MPI_Type_create_hvector_c<W>(count: W::Count, blocklength: W::Count, stride: W::Address, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let (count, blocklength, stride) = (count.into(), blocklength.into(), stride.wide());
        make(newtype, |types| Ok(Datatype::hvector(form::<W>(), count, blocklength, stride, types.get(oldtype)?)?))
    }

    /// Makes a datatype of blocks at displacements given in elements.
    safe fn MPI_Type_indexed, MPI_Type_indexed_c<W>(count: W::Count, array_of_blocklengths: Array<'_, W::Count>, array_of_displacements: Array<'_, W::Count>, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let len = length(count.into())?;
        let lengths = counts::<W>(array_of_blocklengths, len)?;
        let displacements = counts::<W>(array_of_displacements, len)?;
        make(newtype, |types| Ok(Datatype::indexed(form::<W>(), &lengths, &displacements, types.get(oldtype)?)?))
    }

    /// Makes a datatype of blocks at displacements given in bytes.
    safe fn MPI_Type_create_hindexed, MPI_Type_create_hindexed_c<W>(count: W::Count, array_of_blocklengths: Array<'_, W::Count>, array_of_displacements: Array<'_, W::Address>, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let len = length(count.into())?;
        let lengths = counts::<W>(array_of_blocklengths, len)?;
        let displacements = addresses::<W>(array_of_displacements, len)?;
        make(newtype, |types| Ok(Datatype::hindexed(form::<W>(), &lengths, &displacements, types.get(oldtype)?)?))
    }

    /// Equal blocks at displacements given in elements.
    safe fn MPI_Type_create_indexed_block, MPI_Type_create_indexed_block_c<W>(count: W::Count, blocklength: W::Count, array_of_displacements: Array<'_, W::Count>, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let blocklength = blocklength.into();
        let displacements = counts::<W>(array_of_displacements, length(count.into())?)?;
        make(newtype, |types| Ok(Datatype::indexed_block(form::<W>(), blocklength, &displacements, types.get(oldtype)?)?))
    }

    /// Equal blocks at displacements given in bytes.
    safe fn MPI_Type_create_hindexed_block, MPI_Type_create_hindexed_block_c<W>(count: W::Count, blocklength: W::Count, array_of_displacements: Array<'_, W::Address>, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let blocklength = blocklength.into();
        let displacements = addresses::<W>(array_of_displacements, length(count.into())?)?;
        make(newtype, |types| Ok(Datatype::hindexed_block(form::<W>(), blocklength, &displacements, types.get(oldtype)?)?))
    }

    /// Makes a datatype of blocks of different datatypes.
    safe fn MPI_Type_create_struct, MPI_Type_create_struct_c<W>(count: W::Count, array_of_blocklengths: Array<'_, W::Count>, array_of_displacements: Array<'_, W::Address>, array_of_types: Array<'_, MPI_Datatype>, newtype: Handed<'_, MPI_Datatype>) {
        let len = length(count.into())?;
        let lengths = counts::<W>(array_of_blocklengths, len)?;
        let displacements = addresses::<W>(array_of_displacements, len)?;
        let handles = array_of_types.of(len)?;
        make(newtype, |types| {
            let fields = handles.iter().map(|&handle| types.get(handle).cloned()).collect::<Result<Vec<_>>>()?;
            Ok(Datatype::structure(form::<W>(), &lengths, &displacements, &fields)?)
        })
    }

    /// Makes a datatype of a part of an array (section 5.1.3).
    safe fn MPI_Type_create_subarray, MPI_Type_create_subarray_c<W>(ndims: c_int, array_of_sizes: Array<'_, W::Count>, array_of_subsizes: Array<'_, W::Count>, array_of_starts: Array<'_, W::Count>, order: c_int, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let dims = dimensions(ndims)?;
        let sizes = counts::<W>(array_of_sizes, dims)?;
        let subsizes = counts::<W>(array_of_subsizes, dims)?;
        let starts = counts::<W>(array_of_starts, dims)?;
        let part = Subarray { sizes: &sizes, subsizes: &subsizes, starts: &starts, order: storage(order)? };
        make(newtype, |types| Ok(Datatype::subarray(form::<W>(), &part, types.get(oldtype)?)?))
    }

    /// A process's part of a distributed array (section 5.1.4).
    safe fn MPI_Type_create_darray, MPI_Type_create_darray_c<W>(size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: Array<'_, W::Count>, array_of_distribs: Array<'_, c_int>, array_of_dargs: Array<'_, c_int>, array_of_psizes: Array<'_, c_int>, order: c_int, oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let dims = dimensions(ndims)?;
        let gsizes = counts::<W>(array_of_gsizes, dims)?;
        let distribs = distributions(array_of_distribs.of(dims)?)?;
        let dargs = array_of_dargs.of(dims)?;
        let psizes = array_of_psizes.of(dims)?;
        let order = storage(order)?;
        let whole = Darray { size, rank, gsizes: &gsizes, distribs: &distribs, dargs, psizes, order };
        make(newtype, |types| Ok(Datatype::darray(form::<W>(), &whole, types.get(oldtype)?)?))
    }

    /// Makes a datatype of another with new bounds (section 5.1.7).
    safe fn MPI_Type_create_resized, MPI_Type_create_resized_c<W>(oldtype: MPI_Datatype, lb: W::Address, extent: W::Address, newtype: Handed<'_, MPI_Datatype>) {
        let (lb, extent) = (lb.wide(), extent.wide());
        make(newtype, |types| Ok(Datatype::resized(form::<W>(), lb, extent, types.get(oldtype)?)?))
    }

    /// The real type of a precision and a range (section 19.1.9).
    safe fn MPI_Type_create_f90_real(p: c_int, r: c_int, newtype: Handed<'_, MPI_Datatype>) {
        make_f90(newtype, Datatype::f90_real(given(p), given(r))?)
    }

    /// The complex type of a precision and a range.
    safe fn MPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: Handed<'_, MPI_Datatype>) {
        make_f90(newtype, Datatype::f90_complex(given(p), given(r))?)
    }

    /// The integer type of a range.
    safe fn MPI_Type_create_f90_integer(r: c_int, newtype: Handed<'_, MPI_Datatype>) {
        make_f90(newtype, Datatype::f90_integer(r)?)
    }

    /// A copy of a datatype, with a handle of its own.
    safe fn MPI_Type_dup(oldtype: MPI_Datatype, newtype: Handed<'_, MPI_Datatype>) {
        let attributes = attributes::copy_type(oldtype)?;
        let copy = insert(|types| Ok(types.get(oldtype)?.dup()))?;
        newtype.set(copy);
        enter().objects.types.object_mut(copy)?.attributes = attributes;
        Ok(())
    }

    /// Frees a datatype. Communication under way and types made of this one go on (section 5.1.9).
    safe fn MPI_Type_free(datatype: &mut MPI_Datatype) {
        running()?.objects.types.check_freeable(*datatype)?;
        attributes::delete_type(*datatype)?;
        enter().objects.types.remove(*datatype)?;
        *datatype = MPI_DATATYPE_NULL;
        Ok(())
    }

    /// Makes a datatype ready for communication (section 5.1.9).
    safe fn MPI_Type_commit(datatype: &mut MPI_Datatype) {
        let mut process = running()?;
        commit(&mut process, *datatype)
    }
}

/// Builds a datatype and hands its handle out.
fn make(
    newtype: Handed<'_, MPI_Datatype>,
    build: impl FnOnce(&Datatypes) -> Result<Arc<Datatype>>,
) -> Result {
    newtype.set(insert(build)?);
    Ok(())
}

/// Builds a datatype and takes it in.
fn insert(build: impl FnOnce(&Datatypes) -> Result<Arc<Datatype>>) -> Result<MPI_Datatype> {
    let mut process = running()?;
    let built = build(&process.objects.types)?;
    process.objects.types.insert(built)
}

fn make_f90(newtype: Handed<'_, MPI_Datatype>, built: Arc<Datatype>) -> Result {
    newtype.set(running()?.objects.types.insert_f90(built)?);
    Ok(())
}

/// Which form of a constructor was called.
fn form<W: Width>() -> ConstructorForm {
    if W::LARGE { ConstructorForm::Count } else { ConstructorForm::Int }
}

/// An argument of the Fortran 90 types that was not left open.
fn given(value: c_int) -> Option<i32> {
    (value != MPI_UNDEFINED).then_some(value)
}

/// `count` as the length of array arguments.
fn length(value: i64) -> Result<usize> {
    Ok(count("count", value)? as usize)
}

fn dimensions(ndims: c_int) -> Result<usize> {
    match ndims {
        1.. => Ok(ndims as usize),
        _ => Err(fail(MPI_ERR_ARG, format!("ndims is {ndims}, but an array has at least one dimension"))),
    }
}

fn storage(order: c_int) -> Result<ArrayOrder> {
    ArrayOrder::from_abi(order).ok_or_else(|| {
        fail(MPI_ERR_ARG, format!("order is {order}, but must be MPI_ORDER_C or MPI_ORDER_FORTRAN"))
    })
}

fn distributions(values: &[c_int]) -> Result<Vec<Distribution>> {
    let distribution = |(dim, &value): (usize, &c_int)| {
        Distribution::from_abi(value).ok_or_else(|| {
            let choice = "MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE";
            fail(MPI_ERR_ARG, format!("array_of_distribs[{dim}] is {value}, but must be {choice}"))
        })
    };
    values.iter().enumerate().map(distribution).collect()
}

/// An array of counts in the width of the call.
fn counts<W: Width>(values: Array<'_, W::Count>, len: usize) -> Result<Vec<i64>> {
    Ok(values.of(len)?.iter().map(|&value| value.into()).collect())
}

/// An array of addresses in the width of the call.
fn addresses<W: Width>(values: Array<'_, W::Address>, len: usize) -> Result<Vec<i64>> {
    Ok(values.of(len)?.iter().map(|&value| value.wide()).collect())
}
