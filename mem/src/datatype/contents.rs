//! How a datatype was constructed, for `MPI_Type_get_envelope` and `MPI_Type_get_contents`
//! (MPI 5.0, section 5.1.13).

use std::sync::Arc;

use super::Datatype;

/// The constructor that made a datatype. The values are those of the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs, reason = "the standard's names")]
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
    ValueIndex = 117,
}

/// Which form of a constructor was called: it decides where its counts are handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstructorForm {
    /// Counts are `int`, displacements `int` or `MPI_Aint`.
    Int,
    /// The `_c` form: both are `MPI_Count`.
    Count,
}

/// The arguments of a constructor, in the order of the standard's table.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The constructor.
    pub combiner: Combiner,
    /// Arguments of type `int`.
    pub integers: Vec<i32>,
    /// Arguments of type `MPI_Aint`.
    pub addresses: Vec<i64>,
    /// Arguments of type `MPI_Count`. If there are any, only the `_c` inquiries may be used.
    pub large_counts: Vec<i64>,
    /// The datatypes it was made from.
    pub datatypes: Vec<Arc<Datatype>>,
    pub(super) form: ConstructorForm,
}

impl Contents {
    pub(super) fn new(combiner: Combiner, form: ConstructorForm) -> Self {
        Contents {
            combiner,
            form,
            integers: Vec::new(),
            addresses: Vec::new(),
            large_counts: Vec::new(),
            datatypes: Vec::new(),
        }
    }

    /// Arguments that are `int` in one form and `MPI_Count` in the other.
    pub(super) fn counts(mut self, values: &[i64]) -> Self {
        match self.form {
            ConstructorForm::Int => self.integers.extend(values.iter().map(|&value| as_int(value))),
            ConstructorForm::Count => self.large_counts.extend(values),
        }
        self
    }

    /// Arguments that are `MPI_Aint` in one form and `MPI_Count` in the other.
    pub(super) fn addresses(mut self, values: &[i64]) -> Self {
        match self.form {
            ConstructorForm::Int => self.addresses.extend(values),
            ConstructorForm::Count => self.large_counts.extend(values),
        }
        self
    }

    /// Arguments that are always `int`.
    pub(super) fn integers(mut self, values: &[i32]) -> Self {
        self.integers.extend(values);
        self
    }

    pub(super) fn of(mut self, datatype: &Arc<Datatype>) -> Self {
        self.datatypes.push(datatype.clone());
        self
    }

    pub(super) fn all_of(mut self, datatypes: &[Arc<Datatype>]) -> Self {
        self.datatypes.extend_from_slice(datatypes);
        self
    }
}

/// What the `int` form was given was an `int`.
fn as_int(value: i64) -> i32 {
    debug_assert!(i32::try_from(value).is_ok(), "{value} passed to the int form");
    value as i32
}
