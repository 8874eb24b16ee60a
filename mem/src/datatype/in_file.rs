//! A datatype as a file has it (MPI 5.0, section 14.5): made the same way, of elements whose bytes in the file may be more or fewer than
//! in memory.
//!
//! Displacements that count elements follow the new extents. Those in bytes stay: types with them are not portable (section 2.4).

use std::sync::Arc;

use super::Datatype;
use super::contents::{Combiner, ConstructorForm, Contents};
use super::error::TypeResult;
use super::grid::{ArrayOrder, Darray, Distribution, Subarray};
use crate::basic::Basic;

/// How many bytes an element of a predefined type takes in the file.
pub type BytesInFile<'a> = dyn Fn(Basic) -> i64 + 'a;

impl Datatype {
    /// This type in a file in which predefined types have other extents. Its elements are plain bytes.
    pub fn in_file(self: &Arc<Self>, bytes: &BytesInFile<'_>) -> TypeResult {
        if let Some(basic) = self.predefined_element() {
            let byte = Datatype::predefined(Basic::Byte);
            return Datatype::contiguous(ConstructorForm::Count, bytes(basic), byte);
        }
        let of: Vec<_> =
            self.contents.datatypes.iter().map(|old| old.in_file(bytes)).collect::<TypeResult<_>>()?;
        rebuild(&self.contents, &of)
    }

    /// Bytes of one element of this type in the file.
    pub fn in_file_size(&self, bytes: &BytesInFile<'_>) -> TypeResult<i64> {
        let mut sum = 0i64;
        self.for_each_array(1, |_, array| {
            sum = sum.saturating_add(bytes(array.basic).saturating_mul(array.count as i64));
        })?;
        Ok(sum)
    }

    /// Of `count` elements of this type, the entries of the typemap that the first `in_file` bytes in the file hold whole: how many, and
    /// their bytes in memory.
    pub fn entries_in_file(
        &self,
        count: i64,
        in_file: u64,
        bytes: &BytesInFile<'_>,
    ) -> TypeResult<(i64, u64)> {
        let (mut left, mut entries, mut native) = (Some(in_file), 0, 0);
        self.for_each_array(count, |_, array| {
            let Some(there) = left else { return };
            let (size, all) = (bytes(array.basic).max(0) as u64, array.count as u64);
            let whole = there.checked_div(size).unwrap_or(all).min(all);
            entries += whole as i64;
            native += whole * array.basic.size() as u64;
            left = (whole == all).then(|| there - whole * size);
        })?;
        Ok((entries, native))
    }

    /// Of a predefined type or a Fortran 90 type: what it consists of.
    fn predefined_element(&self) -> Option<Basic> {
        use Combiner::*;
        match self.contents.combiner {
            Named | ValueIndex | F90Real | F90Complex | F90Integer => self.uniform(),
            _ => None,
        }
    }
}

/// The arguments of a constructor, taken one after the other.
struct Args<'a> {
    form: ConstructorForm,
    integers: std::slice::Iter<'a, i32>,
    addresses: std::slice::Iter<'a, i64>,
    large: std::slice::Iter<'a, i64>,
}

impl Args<'_> {
    fn of(contents: &Contents) -> Args<'_> {
        Args {
            form: contents.form,
            integers: contents.integers.iter(),
            addresses: contents.addresses.iter(),
            large: contents.large_counts.iter(),
        }
    }

    fn integers(&mut self, n: usize) -> Vec<i32> {
        self.integers.by_ref().take(n).copied().collect()
    }

    fn integer(&mut self) -> i32 {
        self.integers.next().copied().unwrap_or(0)
    }

    fn counts(&mut self, n: usize) -> Vec<i64> {
        match self.form {
            ConstructorForm::Int => self.integers.by_ref().take(n).map(|&count| count.into()).collect(),
            ConstructorForm::Count => self.large.by_ref().take(n).copied().collect(),
        }
    }

    fn count(&mut self) -> i64 {
        self.counts(1)[0]
    }

    fn addresses(&mut self, n: usize) -> Vec<i64> {
        match self.form {
            ConstructorForm::Int => self.addresses.by_ref().take(n).copied().collect(),
            ConstructorForm::Count => self.large.by_ref().take(n).copied().collect(),
        }
    }
}

/// Makes the same of other types.
fn rebuild(contents: &Contents, of: &[Arc<Datatype>]) -> TypeResult {
    use Combiner::*;
    const FORM: ConstructorForm = ConstructorForm::Count;
    let (mut args, old) = (Args::of(contents), &of[0]);
    match contents.combiner {
        Dup => Ok(old.clone()),
        Contiguous => Datatype::contiguous(FORM, args.count(), old),
        Vector => {
            let [count, length, stride] = [args.count(), args.count(), args.count()];
            Datatype::vector(FORM, count, length, stride, old)
        }
        Hvector => {
            let (count, length, stride) = (args.count(), args.count(), args.addresses(1)[0]);
            Datatype::hvector(FORM, count, length, stride, old)
        }
        Indexed => {
            let n = args.count() as usize;
            Datatype::indexed(FORM, &args.counts(n), &args.counts(n), old)
        }
        Hindexed => {
            let n = args.count() as usize;
            Datatype::hindexed(FORM, &args.counts(n), &args.addresses(n), old)
        }
        IndexedBlock => {
            let (n, length) = (args.count() as usize, args.count());
            Datatype::indexed_block(FORM, length, &args.counts(n), old)
        }
        HindexedBlock => {
            let (n, length) = (args.count() as usize, args.count());
            Datatype::hindexed_block(FORM, length, &args.addresses(n), old)
        }
        Struct => {
            let n = args.count() as usize;
            Datatype::structure(FORM, &args.counts(n), &args.addresses(n), of)
        }
        Resized => {
            let bounds = args.addresses(2);
            Datatype::resized(FORM, bounds[0], bounds[1], old)
        }
        Subarray => subarray(&mut args, old),
        Darray => darray(&mut args, old),
        Named | F90Real | F90Complex | F90Integer | ValueIndex => unreachable!("made of no other type"),
    }
}

fn order(value: i32) -> ArrayOrder {
    ArrayOrder::from_abi(value).unwrap_or(ArrayOrder::C)
}

fn subarray(args: &mut Args<'_>, old: &Arc<Datatype>) -> TypeResult {
    let n = args.integer() as usize;
    let (sizes, subsizes, starts) = (args.counts(n), args.counts(n), args.counts(n));
    let part = Subarray { sizes: &sizes, subsizes: &subsizes, starts: &starts, order: order(args.integer()) };
    Datatype::subarray(ConstructorForm::Count, &part, old)
}

fn darray(args: &mut Args<'_>, old: &Arc<Datatype>) -> TypeResult {
    let (size, rank, n) = (args.integer(), args.integer(), args.integer() as usize);
    let gsizes = args.counts(n);
    let distribs: Vec<_> = args
        .integers(n)
        .into_iter()
        .map(|d| Distribution::from_abi(d).unwrap_or(Distribution::None))
        .collect();
    let (dargs, psizes) = (args.integers(n), args.integers(n));
    let order = order(args.integer());
    let (gsizes, distribs, dargs, psizes) = (&gsizes[..], &distribs[..], &dargs[..], &psizes[..]);
    Datatype::darray(
        ConstructorForm::Count,
        &Darray { size, rank, gsizes, distribs, dargs, psizes, order },
        old,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(basic: Basic) -> i64 {
        basic.extent() as i64
    }

    fn doubled(basic: Basic) -> i64 {
        2 * basic.size() as i64
    }

    fn all() -> Vec<Arc<Datatype>> {
        let int = Datatype::predefined(Basic::Int);
        let form = ConstructorForm::Int;
        let part =
            Subarray { sizes: &[4, 6], subsizes: &[2, 3], starts: &[1, 2], order: ArrayOrder::Fortran };
        let distribs = [Distribution::Cyclic, Distribution::Block];
        let array = Darray {
            size: 4,
            rank: 2,
            gsizes: &[7, 9],
            distribs: &distribs,
            dargs: &[2, DEFAULT_DARG],
            psizes: &[2, 2],
            order: ArrayOrder::C,
        };
        let vector = Datatype::vector(form, 3, 2, 5, int).unwrap();
        vec![
            int.dup(),
            Datatype::contiguous(ConstructorForm::Count, 7, int).unwrap(),
            vector.clone(),
            Datatype::hvector(form, 3, 2, 100, int).unwrap(),
            Datatype::indexed(form, &[1, 2], &[3, 9], int).unwrap(),
            Datatype::hindexed(ConstructorForm::Count, &[1, 2], &[3, 99], int).unwrap(),
            Datatype::indexed_block(form, 2, &[3, 9], int).unwrap(),
            Datatype::hindexed_block(form, 2, &[4, 40], &vector).unwrap(),
            Datatype::structure(form, &[1, 2], &[0, 64], &[int.clone(), vector.clone()]).unwrap(),
            Datatype::resized(form, -4, 200, &vector).unwrap(),
            Datatype::subarray(form, &part, int).unwrap(),
            Datatype::darray(form, &array, int).unwrap(),
            Datatype::darray(ConstructorForm::Count, &array, &vector).unwrap(),
        ]
    }

    use super::super::grid::DEFAULT_DARG;

    #[test]
    fn with_native_extents_a_type_stays_what_it_is() {
        for datatype in all() {
            let same = datatype.in_file(&native).unwrap();
            let bounds = |t: &Datatype| (t.size(), t.lb(), t.extent(), t.true_lb(), t.true_extent());
            assert_eq!(bounds(&same), bounds(&datatype), "{:?}", datatype.contents().combiner);
            assert_eq!(same.layout().placed, datatype.layout().placed);
            assert_eq!(datatype.in_file_size(&native).unwrap(), datatype.size());
        }
    }

    #[test]
    fn entries_are_counted_as_far_as_they_are_whole() {
        let (int, double) = (Datatype::predefined(Basic::Int), Datatype::predefined(Basic::Double));
        let form = ConstructorForm::Int;
        let mixed = Datatype::structure(form, &[3, 1], &[0, 16], &[int.clone(), double.clone()]).unwrap();
        for (bytes, entries, native) in
            [(0, 0, 0), (7, 0, 0), (8, 1, 4), (24, 3, 12), (39, 3, 12), (40, 4, 20), (71, 7, 32), (90, 8, 40)]
        {
            assert_eq!(mixed.entries_in_file(2, bytes, &doubled).unwrap(), (entries, native), "{bytes}");
        }
        let nothing = |_: Basic| 0;
        assert_eq!(mixed.entries_in_file(2, 0, &nothing).unwrap(), (8, 40), "they take no room");
        let vector = Datatype::vector(form, 2, 2, 5, int).unwrap();
        assert_eq!(vector.entries_in_file(3, u64::MAX, &native).unwrap(), (12, 48));
    }

    #[test]
    fn displacements_that_count_elements_follow_their_extent() {
        let int = Datatype::predefined(Basic::Int);
        let vector = Datatype::vector(ConstructorForm::Int, 3, 2, 5, int).unwrap().in_file(&doubled).unwrap();
        assert_eq!((vector.size(), vector.extent()), (48, 96));
        let part = Subarray { sizes: &[4, 6], subsizes: &[2, 3], starts: &[1, 2], order: ArrayOrder::C };
        let part = Datatype::subarray(ConstructorForm::Int, &part, int).unwrap().in_file(&doubled).unwrap();
        assert_eq!((part.size(), part.extent(), part.true_lb()), (48, 192, 64));
    }
}
