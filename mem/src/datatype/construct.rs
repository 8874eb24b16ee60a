//! The constructors of section 5.1.2 (MPI 5.0), and `MPI_Type_create_resized` of section 5.1.7.
//!
//! Every one checks its arguments, puts its parts together and writes down what it was called with. `form` says
//! whether it was the `int` or the `MPI_Count` form; the arithmetic is the same.

use std::sync::Arc;

use super::Datatype;
use super::contents::{Combiner, ConstructorForm, Contents};
use super::core::{CorePart, DatatypeCore};
use super::error::{TypeError, TypeResult, none_negative, not_negative};

impl Datatype {
    /// `MPI_Type_contiguous`.
    pub fn contiguous(form: ConstructorForm, count: i64, old: &Arc<Datatype>) -> TypeResult {
        let core = old.core.block(not_negative("count", count)?)?;
        let contents = Contents::new(Combiner::Contiguous, form).counts(&[count]).of(old);
        Ok(Datatype::new(contents, core))
    }

    /// `MPI_Type_vector`: the stride counts elements.
    pub fn vector(
        form: ConstructorForm,
        count: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Datatype>,
    ) -> TypeResult {
        let bytes = in_extents(stride, old)?;
        let core = strided(count, blocklength, bytes, &old.core)?;
        let contents = Contents::new(Combiner::Vector, form).counts(&[count, blocklength, stride]).of(old);
        Ok(Datatype::new(contents, core))
    }

    /// `MPI_Type_create_hvector`: the stride is in bytes.
    pub fn hvector(
        form: ConstructorForm,
        count: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Datatype>,
    ) -> TypeResult {
        let core = strided(count, blocklength, stride, &old.core)?;
        let contents = Contents::new(Combiner::Hvector, form).counts(&[count, blocklength]);
        Ok(Datatype::new(contents.addresses(&[stride]).of(old), core))
    }

    /// `MPI_Type_indexed`: displacements count elements.
    pub fn indexed(
        form: ConstructorForm,
        blocklengths: &[i64],
        displacements: &[i64],
        old: &Arc<Datatype>,
    ) -> TypeResult {
        let bytes = all_in_extents(displacements, old)?;
        let core = blocks(blocklengths, &bytes, &old.core)?;
        let contents = Contents::new(Combiner::Indexed, form).counts(&[blocklengths.len() as i64]);
        Ok(Datatype::new(contents.counts(blocklengths).counts(displacements).of(old), core))
    }

    /// `MPI_Type_create_hindexed`: displacements are in bytes.
    pub fn hindexed(
        form: ConstructorForm,
        blocklengths: &[i64],
        displacements: &[i64],
        old: &Arc<Datatype>,
    ) -> TypeResult {
        let core = blocks(blocklengths, displacements, &old.core)?;
        let contents = Contents::new(Combiner::Hindexed, form).counts(&[blocklengths.len() as i64]);
        Ok(Datatype::new(contents.counts(blocklengths).addresses(displacements).of(old), core))
    }

    /// `MPI_Type_create_indexed_block`: displacements count elements.
    pub fn indexed_block(
        form: ConstructorForm,
        blocklength: i64,
        displacements: &[i64],
        old: &Arc<Datatype>,
    ) -> TypeResult {
        let bytes = all_in_extents(displacements, old)?;
        let core = equal_blocks(blocklength, &bytes, &old.core)?;
        let contents = Contents::new(Combiner::IndexedBlock, form);
        let contents = contents.counts(&[displacements.len() as i64, blocklength]).counts(displacements);
        Ok(Datatype::new(contents.of(old), core))
    }

    /// `MPI_Type_create_hindexed_block`: displacements are in bytes.
    pub fn hindexed_block(
        form: ConstructorForm,
        blocklength: i64,
        displacements: &[i64],
        old: &Arc<Datatype>,
    ) -> TypeResult {
        let core = equal_blocks(blocklength, displacements, &old.core)?;
        let contents = Contents::new(Combiner::HindexedBlock, form);
        let contents = contents.counts(&[displacements.len() as i64, blocklength]).addresses(displacements);
        Ok(Datatype::new(contents.of(old), core))
    }

    /// `MPI_Type_create_struct`.
    pub fn structure(
        form: ConstructorForm,
        blocklengths: &[i64],
        displacements: &[i64],
        types: &[Arc<Datatype>],
    ) -> TypeResult {
        none_negative("array_of_blocklengths", blocklengths)?;
        let fields = blocklengths.iter().zip(displacements).zip(types);
        let core =
            DatatypeCore::assemble(fields.map(|((&count, &disp), old)| field(disp, count, &old.core)))?;
        let contents = Contents::new(Combiner::Struct, form).counts(&[blocklengths.len() as i64]);
        Ok(Datatype::new(contents.counts(blocklengths).addresses(displacements).all_of(types), core))
    }

    /// `MPI_Type_create_resized`.
    pub fn resized(form: ConstructorForm, lb: i64, extent: i64, old: &Arc<Datatype>) -> TypeResult {
        let bounds = old.core.bounds.resized(lb, extent)?;
        let contents = Contents::new(Combiner::Resized, form).addresses(&[lb, extent]).of(old);
        Ok(Datatype::new(contents, DatatypeCore { bounds, ..old.core.clone() }))
    }
}

fn in_extents(elements: i64, old: &Datatype) -> TypeResult<i64> {
    elements.checked_mul(old.extent()).ok_or(TypeError::TooLarge)
}

fn all_in_extents(elements: &[i64], old: &Datatype) -> TypeResult<Vec<i64>> {
    elements.iter().map(|&count| in_extents(count, old)).collect()
}

fn strided(count: i64, blocklength: i64, stride: i64, old: &DatatypeCore) -> TypeResult<DatatypeCore> {
    let count = not_negative("count", count)?;
    old.block(not_negative("blocklength", blocklength)?)?.repeated(count, stride)
}

fn blocks(blocklengths: &[i64], displacements: &[i64], old: &DatatypeCore) -> TypeResult<DatatypeCore> {
    none_negative("array_of_blocklengths", blocklengths)?;
    let parts = blocklengths.iter().zip(displacements);
    DatatypeCore::assemble(parts.map(|(&count, &disp)| field(disp, count, old)))
}

fn equal_blocks(blocklength: i64, displacements: &[i64], old: &DatatypeCore) -> TypeResult<DatatypeCore> {
    let count = not_negative("blocklength", blocklength)?;
    DatatypeCore::assemble(displacements.iter().map(|&disp| field(disp, count, old)))
}

fn field(disp: i64, count: i64, of: &DatatypeCore) -> CorePart<'_> {
    CorePart { disp, count, stride: of.bounds.extent(), of }
}
