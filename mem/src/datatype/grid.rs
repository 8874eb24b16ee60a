//! Parts of arrays: `MPI_Type_create_subarray` and `MPI_Type_create_darray` (MPI 5.0, sections 5.1.3 and 5.1.4).
//!
//! Both build the type dimension by dimension from the one that varies fastest, and end with the bounds of the
//! whole array.

use std::sync::Arc;

use super::Datatype;
use super::contents::{Combiner, ConstructorForm, Contents};
use super::core::{CorePart, DatatypeCore};
use super::error::{Arg, TypeError, TypeResult, in_range, not_negative};

/// Which dimension varies fastest. The values are those of the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ArrayOrder {
    /// The last.
    C = 0xC,
    /// The first.
    Fortran = 0xF,
}

impl ArrayOrder {
    /// The order with this value of the standard ABI.
    pub fn from_abi(value: i32) -> Option<Self> {
        [ArrayOrder::C, ArrayOrder::Fortran].into_iter().find(|order| *order as i32 == value)
    }

    /// The dimensions, fastest first.
    fn dimensions(self, count: usize) -> impl Iterator<Item = usize> {
        (0..count).map(move |i| if self == ArrayOrder::C { count - 1 - i } else { i })
    }
}

/// A part of an array, for [`Datatype::subarray`].
#[derive(Clone, Debug)]
pub struct Subarray<'a> {
    /// Elements of the whole array in each dimension.
    pub sizes: &'a [i64],
    /// Elements of the part.
    pub subsizes: &'a [i64],
    /// Where the part starts.
    pub starts: &'a [i64],
    /// Storage order.
    pub order: ArrayOrder,
}

/// How a dimension is dealt out to the processes. The values are those of the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Distribution {
    /// Not at all.
    None = 16,
    /// One block for each process.
    Block = 17,
    /// Blocks in turn.
    Cyclic = 18,
}

/// `MPI_DISTRIBUTE_DFLT_DARG`: the distribution's own block size.
pub const DEFAULT_DARG: i32 = 19;

impl Distribution {
    /// The distribution with this value of the standard ABI.
    pub fn from_abi(value: i32) -> Option<Self> {
        use Distribution::*;
        [None, Block, Cyclic].into_iter().find(|distribution| *distribution as i32 == value)
    }
}

/// One process's part of a distributed array, for [`Datatype::darray`].
#[derive(Clone, Debug)]
pub struct Darray<'a> {
    /// Processes.
    pub size: i32,
    /// The process whose part it is.
    pub rank: i32,
    /// Elements of the whole array in each dimension.
    pub gsizes: &'a [i64],
    /// How each dimension is dealt out.
    pub distribs: &'a [Distribution],
    /// Block sizes, or [`DEFAULT_DARG`].
    pub dargs: &'a [i32],
    /// Processes along each dimension.
    pub psizes: &'a [i32],
    /// Storage order.
    pub order: ArrayOrder,
}

impl Datatype {
    /// `MPI_Type_create_subarray`.
    pub fn subarray(form: ConstructorForm, part: &Subarray<'_>, old: &Arc<Datatype>) -> TypeResult {
        part.check()?;
        let pick = |dim: usize| {
            Ok([IndexRange { first: part.starts[dim], count: part.subsizes[dim] }.once(), Stretch::NONE])
        };
        let core = carve(part.sizes, part.order, &old.core, pick)?;
        let contents = Contents::new(Combiner::Subarray, form).integers(&[part.sizes.len() as i32]);
        let contents = contents.counts(part.sizes).counts(part.subsizes).counts(part.starts);
        Ok(Datatype::new(contents.integers(&[part.order as i32]).of(old), core))
    }

    /// `MPI_Type_create_darray`.
    pub fn darray(form: ConstructorForm, array: &Darray<'_>, old: &Arc<Datatype>) -> TypeResult {
        array.check()?;
        let places = array.places();
        let core = carve(array.gsizes, array.order, &old.core, |dim| array.stretches(dim, places[dim]))?;
        let distribs: Vec<i32> = array.distribs.iter().map(|&distribution| distribution as i32).collect();
        let contents = Contents::new(Combiner::Darray, form);
        let contents = contents.integers(&[array.size, array.rank, array.gsizes.len() as i32]);
        let contents = contents.counts(array.gsizes).integers(&distribs).integers(array.dargs);
        let contents = contents.integers(array.psizes).integers(&[array.order as i32]);
        Ok(Datatype::new(contents.of(old), core))
    }
}

/// Consecutive indices of one dimension.
#[derive(Clone, Copy)]
struct IndexRange {
    first: i64,
    count: i64,
}

/// A run of indices, repeated.
#[derive(Clone, Copy)]
struct Stretch {
    run: IndexRange,
    times: i64,
    step: i64,
}

impl IndexRange {
    fn once(self) -> Stretch {
        Stretch { run: self, times: 1, step: 0 }
    }
}

impl Stretch {
    const NONE: Self = Stretch { run: IndexRange { first: 0, count: 0 }, times: 0, step: 0 };
}

/// The part of an array that `pick` chooses in each dimension, with the bounds of the whole array.
fn carve(
    sizes: &[i64],
    order: ArrayOrder,
    old: &DatatypeCore,
    pick: impl Fn(usize) -> TypeResult<[Stretch; 2]>,
) -> TypeResult<DatatypeCore> {
    let (mut core, mut stride) = (old.clone(), old.bounds.extent());
    for dim in order.dimensions(sizes.len()) {
        core = along(&core, stride, pick(dim)?)?;
        stride = stride.checked_mul(sizes[dim]).ok_or(TypeError::TooLarge)?;
    }
    core.bounds = core.bounds.resized(0, stride)?;
    Ok(core)
}

/// One more dimension, whose elements are `stride` bytes apart.
fn along(inner: &DatatypeCore, stride: i64, stretches: [Stretch; 2]) -> TypeResult<DatatypeCore> {
    let bytes = |elements: i64| elements.checked_mul(stride).ok_or(TypeError::TooLarge);
    let build = |stretch: Stretch| {
        inner.repeated(stretch.run.count, stride)?.repeated(stretch.times, bytes(stretch.step)?)
    };
    let built = [build(stretches[0])?, build(stretches[1])?];
    let places = [bytes(stretches[0].run.first)?, bytes(stretches[1].run.first)?];
    DatatypeCore::assemble((0..2).map(|i| CorePart { disp: places[i], count: 1, stride: 0, of: &built[i] }))
}

impl Subarray<'_> {
    fn check(&self) -> TypeResult<()> {
        for (dim, &size) in self.sizes.iter().enumerate() {
            let arg = |name| Arg(name, Some(dim));
            in_range(arg("array_of_sizes"), size, 1, i64::MAX)?;
            in_range(arg("array_of_subsizes"), self.subsizes[dim], 1, size)?;
            in_range(arg("array_of_starts"), self.starts[dim], 0, size - self.subsizes[dim])?;
        }
        Ok(())
    }
}

impl Darray<'_> {
    fn check(&self) -> TypeResult<()> {
        in_range(Arg("size", None), self.size.into(), 1, i32::MAX.into())?;
        not_negative("rank", self.rank.into())?;
        in_range(Arg("rank", None), self.rank.into(), 0, i64::from(self.size) - 1)?;
        for (dim, &processes) in self.psizes.iter().enumerate() {
            in_range(Arg("array_of_psizes", Some(dim)), processes.into(), 1, self.size.into())?;
            in_range(Arg("array_of_gsizes", Some(dim)), self.gsizes[dim], 1, i64::MAX)?;
        }
        let grid = self.psizes.iter().fold(1i64, |grid, &n| grid.saturating_mul(n.into()));
        let size = i64::from(self.size);
        if grid == size { Ok(()) } else { Err(TypeError::Grid { grid, size }) }
    }

    /// This rank's place along each dimension: the grid is in row-major order, whatever the array's order.
    fn places(&self) -> Vec<i64> {
        let (mut below, mut rank) = (self.size, self.rank);
        let place = |&processes: &i32| {
            below /= processes;
            let place = rank / below;
            rank %= below;
            place.into()
        };
        self.psizes.iter().map(place).collect()
    }

    /// The indices of dimension `dim` that the process at `place` holds: full blocks, then a shorter one.
    fn stretches(&self, dim: usize, place: i64) -> TypeResult<[Stretch; 2]> {
        let (global, processes) = (self.gsizes[dim], i64::from(self.psizes[dim]));
        let block = self.block(dim)?;
        let none_left = |first: i64| first >= global;
        let Some(first) = place.checked_mul(block).filter(|&first| !none_left(first)) else {
            return Ok([Stretch::NONE; 2]);
        };
        let round = processes.checked_mul(block).ok_or(TypeError::TooLarge)?;
        let full = (global - first - block).div_euclid(round) + 1;
        let next = first.saturating_add(full.saturating_mul(round));
        let rest = IndexRange { first: next, count: (global - next).clamp(0, block) };
        let full = Stretch { run: IndexRange { first, count: block }, times: full.max(0), step: round };
        Ok([full, if rest.count > 0 { rest.once() } else { Stretch::NONE }])
    }

    /// Elements of a block in dimension `dim`.
    fn block(&self, dim: usize) -> TypeResult<i64> {
        let (global, processes) = (self.gsizes[dim], i64::from(self.psizes[dim]));
        let given = if self.dargs[dim] == DEFAULT_DARG { None } else { Some(i64::from(self.dargs[dim])) };
        let checked = |block| in_range(Arg("array_of_dargs", Some(dim)), block, 1, i64::MAX).map(|()| block);
        match (self.distribs[dim], given) {
            (Distribution::None, _) if processes != 1 => Err(TypeError::NotDistributed { dim, processes }),
            (Distribution::None, _) => Ok(global),
            (Distribution::Block, None) => Ok((global - 1) / processes + 1),
            (Distribution::Block, Some(block)) if checked(block)?.saturating_mul(processes) < global => {
                Err(TypeError::BlockTooSmall { dim, block, processes, global })
            }
            (_, given) => checked(given.unwrap_or(1)),
        }
    }
}
