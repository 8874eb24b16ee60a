//! Asking about datatypes (MPI 5.0 sections 5.1.6 to 5.1.8 and 5.1.13, 7.8, 19.1.9): sizes, bounds, names, how they
//! were made.

use crate::core::boundary::{Out, OutArray, OutText};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::datatype::calls::running;
use crate::datatype::object::Datatypes;
use std::borrow::Cow;
use std::ffi::c_int;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::Datatype;
use tern_mem::basic::Basic;
use tern_mem::datatype::{Combiner, Contents};

entry! {
    /// Bytes of data in one element; `MPI_UNDEFINED` if they do not fit.
    safe fn MPI_Type_size, MPI_Type_size_c<W>(datatype: MPI_Datatype, size: Out<'_, W::Count>) {
        put(size, find(datatype)?.size())
    }

    /// The bytes of a datatype without its gaps, as a large result (deprecated form).
    safe fn MPI_Type_size_x(datatype: MPI_Datatype, size: Out<'_, MPI_Count>) {
        put(size, find(datatype)?.size())
    }

    /// The lower bound and extent of a datatype.
    safe fn MPI_Type_get_extent, MPI_Type_get_extent_c<W>(datatype: MPI_Datatype, lb: Out<'_, W::Address>, extent: Out<'_, W::Address>) {
        let datatype = find(datatype)?;
        put(lb, datatype.lb())?;
        put(extent, datatype.extent())
    }

    /// The lower bound and extent of a datatype, as large results (deprecated form).
    safe fn MPI_Type_get_extent_x(datatype: MPI_Datatype, lb: Out<'_, MPI_Count>, extent: Out<'_, MPI_Count>) {
        let datatype = find(datatype)?;
        put(lb, datatype.lb())?;
        put(extent, datatype.extent())
    }

    /// Lower bound and extent of the data alone.
    safe fn MPI_Type_get_true_extent, MPI_Type_get_true_extent_c<W>(datatype: MPI_Datatype, true_lb: Out<'_, W::Address>, true_extent: Out<'_, W::Address>) {
        let datatype = find(datatype)?;
        put(true_lb, datatype.true_lb())?;
        put(true_extent, datatype.true_extent())
    }

    /// The true lower bound and extent of a datatype, as large results (deprecated form).
    safe fn MPI_Type_get_true_extent_x(datatype: MPI_Datatype, true_lb: Out<'_, MPI_Count>, true_extent: Out<'_, MPI_Count>) {
        let datatype = find(datatype)?;
        put(true_lb, datatype.true_lb())?;
        put(true_extent, datatype.true_extent())
    }

    /// How the type was made, and how many arguments of each kind its constructor had (section 5.1.13).
    safe fn MPI_Type_get_envelope(datatype: MPI_Datatype, num_integers: Out<'_, c_int>, num_addresses: Out<'_, c_int>, num_datatypes: Out<'_, c_int>, combiner: Out<'_, c_int>) {
        let datatype = find(datatype)?;
        let contents = in_ints(datatype.contents(), "MPI_Type_get_envelope_c")?;
        put(num_integers, contents.integers.len() as i64)?;
        put(num_addresses, contents.addresses.len() as i64)?;
        put(num_datatypes, contents.datatypes.len() as i64)?;
        combiner.set(contents.combiner as c_int);
        Ok(())
    }

    /// The same for types with large counts too.
    safe fn MPI_Type_get_envelope_c(datatype: MPI_Datatype, num_integers: Out<'_, MPI_Count>, num_addresses: Out<'_, MPI_Count>, num_large_counts: Out<'_, MPI_Count>, num_datatypes: Out<'_, MPI_Count>, combiner: Out<'_, c_int>) {
        let datatype = find(datatype)?;
        let contents = datatype.contents();
        num_integers.set(contents.integers.len() as MPI_Count);
        num_addresses.set(contents.addresses.len() as MPI_Count);
        num_large_counts.set(contents.large_counts.len() as MPI_Count);
        num_datatypes.set(contents.datatypes.len() as MPI_Count);
        combiner.set(contents.combiner as c_int);
        Ok(())
    }

    /// The arguments of the type's constructor (section 5.1.13).
    safe fn MPI_Type_get_contents(datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, array_of_integers: OutArray<'_, c_int>, array_of_addresses: OutArray<'_, MPI_Aint>, array_of_datatypes: OutArray<'_, MPI_Datatype>) {
        let datatype = find(datatype)?;
        let contents = in_ints(derived(datatype.contents())?, "MPI_Type_get_contents_c")?;
        let addresses: Vec<MPI_Aint> = contents.addresses.iter().map(|&address| address as MPI_Aint).collect();
        fill("integers", &contents.integers, array_of_integers, max_integers.into())?;
        fill("addresses", &addresses, array_of_addresses, max_addresses.into())?;
        fill_types(contents, array_of_datatypes, max_datatypes.into())
    }

    /// The same for types with large counts too.
    safe fn MPI_Type_get_contents_c(datatype: MPI_Datatype, max_integers: MPI_Count, max_addresses: MPI_Count, max_large_counts: MPI_Count, max_datatypes: MPI_Count, array_of_integers: OutArray<'_, c_int>, array_of_addresses: OutArray<'_, MPI_Aint>, array_of_large_counts: OutArray<'_, MPI_Count>, array_of_datatypes: OutArray<'_, MPI_Datatype>) {
        let datatype = find(datatype)?;
        let contents = derived(datatype.contents())?;
        let addresses: Vec<MPI_Aint> = contents.addresses.iter().map(|&address| address as MPI_Aint).collect();
        fill("integers", &contents.integers, array_of_integers, max_integers)?;
        fill("addresses", &addresses, array_of_addresses, max_addresses)?;
        fill("large_counts", &contents.large_counts, array_of_large_counts, max_large_counts)?;
        fill_types(contents, array_of_datatypes, max_datatypes)
    }

    /// Gives the type a name (section 7.8).
    safe fn MPI_Type_set_name(datatype: MPI_Datatype, type_name: Cow<'_, str>) {
        running()?.objects.types.object_mut(datatype)?.name = type_name.into_owned();
        Ok(())
    }

    /// The name of a datatype; empty if it has none.
    safe fn MPI_Type_get_name(datatype: MPI_Datatype, type_name: OutText<'_>, resultlen: Out<'_, c_int>) {
        let mut process = running()?;
        let name = match datatype {
            MPI_DATATYPE_NULL => "MPI_DATATYPE_NULL",
            _ => &process.objects.types.object_mut(datatype)?.name,
        };
        resultlen.set(type_name.store(name, MPI_MAX_OBJECT_NAME as usize));
        Ok(())
    }

    /// The predefined type of a class and a size (section 19.1.9).
    safe fn MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: Out<'_, MPI_Datatype>) {
        drop(running()?);
        datatype.set(handle(sized(typeclass, size)?));
        Ok(())
    }

    /// The predefined pair of a value and an index (section 6.9.4); `MPI_DATATYPE_NULL` if there is none.
    safe fn MPI_Type_get_value_index(value_type: MPI_Datatype, index_type: MPI_Datatype, pair_type: Out<'_, MPI_Datatype>) {
        let (value, index) = (find(value_type)?, find(index_type)?);
        pair_type.set(Datatype::value_index(&value, &index).map_or(MPI_DATATYPE_NULL, handle));
        Ok(())
    }
}

/// The datatype of a handle.
fn find(datatype: MPI_Datatype) -> Result<Arc<Datatype>> {
    running()?.objects.types.get(datatype).cloned()
}

fn handle(basic: Basic) -> MPI_Datatype {
    MPI_Datatype(usize::from(basic.handle_value()))
}

/// Hands a number out, or `MPI_UNDEFINED` where it does not fit.
pub(crate) fn put<T: Copy + TryFrom<i64>>(to: Out<'_, T>, value: i64) -> Result {
    if let Some(value) = fitting(value) {
        to.set(value);
    }
    Ok(())
}

/// A number, or `MPI_UNDEFINED` where it does not fit.
pub(crate) fn fitting<T: TryFrom<i64>>(value: i64) -> Option<T> {
    T::try_from(value).or_else(|_| T::try_from(MPI_UNDEFINED.into())).ok()
}

/// Contents that the form with `int` can describe.
fn in_ints<'a>(contents: &'a Contents, instead: &str) -> Result<&'a Contents> {
    if contents.large_counts.is_empty() {
        return Ok(contents);
    }
    Err(fail(MPI_ERR_TYPE, format!("the datatype was made with large counts: use {instead}")))
}

/// Contents of a type that has any.
fn derived(contents: &Contents) -> Result<&Contents> {
    if contents.combiner != Combiner::Named {
        return Ok(contents);
    }
    Err(fail(MPI_ERR_TYPE, "a predefined datatype has no contents (its combiner is MPI_COMBINER_NAMED)"))
}

/// Hands out an array of at most `max` elements.
fn fill<T: Copy>(name: &str, values: &[T], to: OutArray<'_, T>, max: i64) -> Result {
    if max < values.len() as i64 {
        let n = values.len();
        return Err(fail(MPI_ERR_ARG, format!("max_{name} is {max}, but the datatype has {n} {name}")));
    }
    to.store(values.iter().copied())
}

/// Hands out the datatypes that one was made of: new handles of derived types, which the program has to free.
fn fill_types(contents: &Contents, to: OutArray<'_, MPI_Datatype>, max: i64) -> Result {
    let mut process = running()?;
    let types: &mut Datatypes = &mut process.objects.types;
    if max >= contents.datatypes.len() as i64 {
        let handles: Vec<_> =
            contents.datatypes.iter().map(|datatype| types.handle_of(datatype)).collect::<Result<_>>()?;
        return fill("datatypes", &handles, to, max);
    }
    let n = contents.datatypes.len();
    Err(fail(MPI_ERR_ARG, format!("max_datatypes is {max}, but the datatype has {n} datatypes")))
}

fn sized(typeclass: c_int, size: c_int) -> Result<Basic> {
    use Basic::*;
    let (what, family): (_, &[Basic]) = match typeclass {
        MPI_TYPECLASS_INTEGER => ("integer", &[Integer1, Integer2, Integer4, Integer8, Integer16]),
        MPI_TYPECLASS_REAL => ("real", &[Real2, Real4, Real8, Real16]),
        MPI_TYPECLASS_COMPLEX => ("complex", &[Complex4, Complex8, Complex16, Complex32]),
        MPIX_TYPECLASS_LOGICAL => ("logical", &[Logical1, Logical2, Logical4, Logical8, Logical16]),
        _ => {
            let choice = "MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL or MPI_TYPECLASS_COMPLEX";
            return Err(fail(MPI_ERR_ARG, format!("typeclass is {typeclass}, but must be {choice}")));
        }
    };
    let fits = |basic: &&Basic| i64::from(size) == basic.size() as i64;
    let none =
        || fail(MPI_ERR_ARG, format!("size is {size}, but no predefined {what} type has that many bytes"));
    family.iter().find(fits).copied().ok_or_else(none)
}
