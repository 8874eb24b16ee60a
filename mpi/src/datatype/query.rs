//! Asking about datatypes (MPI 5.0 sections 5.1.6 to 5.1.8 and 5.1.13, 7.8, 19.1.9): sizes, bounds, names, how they
//! were made.

use crate::core::arguments::{out, store_string, string};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::datatype::object::{Types, running};
use std::ffi::{c_char, c_int};
use std::sync::Arc;
use tern_abi::*;
use tern_mem::Datatype;
use tern_mem::basic::Basic;
use tern_mem::datatype::{Combiner, Contents};

entry! {
    /// Bytes of data in one element; `MPI_UNDEFINED` if they do not fit.
    fn MPI_Type_size, MPI_Type_size_c<W>(datatype: MPI_Datatype, size: *mut W::Count) {
        put(out("size", size)?, find(datatype)?.size())
    }

    /// The same with a large result (deprecated form).
    fn MPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) {
        put(out("size", size)?, find(datatype)?.size())
    }

    /// Lower bound and extent.
    fn MPI_Type_get_extent, MPI_Type_get_extent_c<W>(datatype: MPI_Datatype, lb: *mut W::Address, extent: *mut W::Address) {
        let (lb, extent) = (out("lb", lb)?, out("extent", extent)?);
        let datatype = find(datatype)?;
        put(lb, datatype.lb())?;
        put(extent, datatype.extent())
    }

    /// The same with large results (deprecated form).
    fn MPI_Type_get_extent_x(datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count) {
        let (lb, extent) = (out("lb", lb)?, out("extent", extent)?);
        let datatype = find(datatype)?;
        put(lb, datatype.lb())?;
        put(extent, datatype.extent())
    }

    /// Lower bound and extent of the data alone.
    fn MPI_Type_get_true_extent, MPI_Type_get_true_extent_c<W>(datatype: MPI_Datatype, true_lb: *mut W::Address, true_extent: *mut W::Address) {
        let (true_lb, true_extent) = (out("true_lb", true_lb)?, out("true_extent", true_extent)?);
        let datatype = find(datatype)?;
        put(true_lb, datatype.true_lb())?;
        put(true_extent, datatype.true_extent())
    }

    /// The same with large results (deprecated form).
    fn MPI_Type_get_true_extent_x(datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count) {
        let (true_lb, true_extent) = (out("true_lb", true_lb)?, out("true_extent", true_extent)?);
        let datatype = find(datatype)?;
        put(true_lb, datatype.true_lb())?;
        put(true_extent, datatype.true_extent())
    }

    /// How the type was made, and how many arguments of each kind its constructor had (section 5.1.13).
    fn MPI_Type_get_envelope(datatype: MPI_Datatype, num_integers: *mut c_int, num_addresses: *mut c_int, num_datatypes: *mut c_int, combiner: *mut c_int) {
        let results = (out("num_integers", num_integers)?, out("num_addresses", num_addresses)?, out("num_datatypes", num_datatypes)?);
        let combiner = out("combiner", combiner)?;
        let datatype = find(datatype)?;
        let contents = in_ints(datatype.contents(), "MPI_Type_get_envelope_c")?;
        put(results.0, contents.integers.len() as i64)?;
        put(results.1, contents.addresses.len() as i64)?;
        put(results.2, contents.datatypes.len() as i64)?;
        *combiner = contents.combiner as c_int;
        Ok(())
    }

    /// The same for types with large counts too.
    fn MPI_Type_get_envelope_c(datatype: MPI_Datatype, num_integers: *mut MPI_Count, num_addresses: *mut MPI_Count, num_large_counts: *mut MPI_Count, num_datatypes: *mut MPI_Count, combiner: *mut c_int) {
        let results = (out("num_integers", num_integers)?, out("num_addresses", num_addresses)?, out("num_datatypes", num_datatypes)?);
        let (large_counts, combiner) = (out("num_large_counts", num_large_counts)?, out("combiner", combiner)?);
        let datatype = find(datatype)?;
        let contents = datatype.contents();
        *results.0 = contents.integers.len() as MPI_Count;
        *results.1 = contents.addresses.len() as MPI_Count;
        *large_counts = contents.large_counts.len() as MPI_Count;
        *results.2 = contents.datatypes.len() as MPI_Count;
        *combiner = contents.combiner as c_int;
        Ok(())
    }

    /// The arguments of the type's constructor (section 5.1.13).
    fn MPI_Type_get_contents(datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint, array_of_datatypes: *mut MPI_Datatype) {
        let datatype = find(datatype)?;
        let contents = in_ints(derived(datatype.contents())?, "MPI_Type_get_contents_c")?;
        let addresses: Vec<MPI_Aint> = contents.addresses.iter().map(|&address| address as MPI_Aint).collect();
        fill("integers", &contents.integers, array_of_integers, max_integers.into())?;
        fill("addresses", &addresses, array_of_addresses, max_addresses.into())?;
        fill_types(contents, array_of_datatypes, max_datatypes.into())
    }

    /// The same for types with large counts too.
    fn MPI_Type_get_contents_c(datatype: MPI_Datatype, max_integers: MPI_Count, max_addresses: MPI_Count, max_large_counts: MPI_Count, max_datatypes: MPI_Count, array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint, array_of_large_counts: *mut MPI_Count, array_of_datatypes: *mut MPI_Datatype) {
        let datatype = find(datatype)?;
        let contents = derived(datatype.contents())?;
        let addresses: Vec<MPI_Aint> = contents.addresses.iter().map(|&address| address as MPI_Aint).collect();
        fill("integers", &contents.integers, array_of_integers, max_integers)?;
        fill("addresses", &addresses, array_of_addresses, max_addresses)?;
        fill("large_counts", &contents.large_counts, array_of_large_counts, max_large_counts)?;
        fill_types(contents, array_of_datatypes, max_datatypes)
    }

    /// Gives the type a name (section 7.8).
    fn MPI_Type_set_name(datatype: MPI_Datatype, type_name: *const c_char) {
        let name = string("type_name", type_name)?;
        running()?.types.object_mut(datatype)?.name = name.into_owned();
        Ok(())
    }

    /// The type's name; empty if it has none.
    fn MPI_Type_get_name(datatype: MPI_Datatype, type_name: *mut c_char, resultlen: *mut c_int) {
        let (type_name, resultlen) = (out("type_name", type_name)?, out("resultlen", resultlen)?);
        let mut process = running()?;
        let name = match datatype {
            MPI_DATATYPE_NULL => "MPI_DATATYPE_NULL",
            _ => &process.types.object_mut(datatype)?.name,
        };
        *resultlen = store_string(type_name, name, MPI_MAX_OBJECT_NAME as usize);
        Ok(())
    }

    /// The predefined type of a class and a size (section 19.1.9).
    fn MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: *mut MPI_Datatype) {
        let datatype = out("datatype", datatype)?;
        drop(running()?);
        *datatype = handle(sized(typeclass, size)?);
        Ok(())
    }

    /// The predefined pair of a value and an index (section 6.9.4); `MPI_DATATYPE_NULL` if there is none.
    fn MPI_Type_get_value_index(value_type: MPI_Datatype, index_type: MPI_Datatype, pair_type: *mut MPI_Datatype) {
        let pair_type = out("pair_type", pair_type)?;
        let (value, index) = (find(value_type)?, find(index_type)?);
        *pair_type = Datatype::value_index(&value, &index).map_or(MPI_DATATYPE_NULL, handle);
        Ok(())
    }
}

/// The datatype of a handle.
fn find(datatype: MPI_Datatype) -> Result<Arc<Datatype>> {
    running()?.types.get(datatype).cloned()
}

fn handle(basic: Basic) -> MPI_Datatype {
    MPI_Datatype(usize::from(basic.handle_value()))
}

/// Hands a number out, or `MPI_UNDEFINED` where it does not fit.
///
/// # Safety
/// `to` is the caller's to write, and not null.
pub unsafe fn put<T: TryFrom<i64>>(to: *mut T, value: i64) -> Result {
    if let Ok(value) = T::try_from(value).or_else(|_| T::try_from(MPI_UNDEFINED.into())) {
        // SAFETY: by the caller.
        unsafe { *to = value };
    }
    Ok(())
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
///
/// # Safety
/// `to` has room for `max` elements.
unsafe fn fill<T: Copy>(name: &str, values: &[T], to: *mut T, max: i64) -> Result {
    if max < values.len() as i64 {
        let n = values.len();
        return Err(fail(MPI_ERR_ARG, format!("max_{name} is {max}, but the datatype has {n} {name}")));
    }
    if !values.is_empty() {
        // SAFETY: not null, and as long as the caller says.
        unsafe { out(name, to)?.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
    Ok(())
}

/// Hands out the datatypes that one was made of: new handles of derived types, which the program has to free.
///
/// # Safety
/// As [`fill`].
unsafe fn fill_types(contents: &Contents, to: *mut MPI_Datatype, max: i64) -> Result {
    let mut process = running()?;
    let types: &mut Types = &mut process.types;
    if max >= contents.datatypes.len() as i64 {
        let handles: Vec<_> =
            contents.datatypes.iter().map(|datatype| types.handle_of(datatype)).collect::<Result<_>>()?;
        // SAFETY: by the caller.
        return unsafe { fill("datatypes", &handles, to, max) };
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
