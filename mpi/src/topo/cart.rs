//! Grids: Cartesian topologies (MPI 5.0 sections 8.5.1, 8.5.5 to 8.5.8).

use std::ffi::c_int;

use tern_abi::*;

use super::object::Grid;
use super::order::{self, RankOrder};
use super::{
    Topology, TopologyKind, hosts, length, make, members, needs, new_rank, rank_below, rank_or_null, room,
};
use crate::check::CallRecord;
use crate::coll::{meet_with, met};
use crate::comm::make::split;
use crate::comm::object::Comm;
use crate::core::boundary::{Array, Handed, Out, OutArray};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use std::sync::Arc;

/// The call that makes a grid.
const CREATE: &str = "MPI_Cart_create";

entry! {
    /// A communicator of as many processes as the grid has places, in row-major order (section 8.5.1).
    safe fn MPI_Cart_create(
        comm_old: MPI_Comm, ndims: c_int, dims: Array<'_, c_int>, periods: Array<'_, c_int>, reorder: c_int,
        comm_cart: Result<Handed<'_, MPI_Comm>>,
    ) on comm_old {
        let arguments = comm_cart.and_then(|comm_cart| {
            let available = members(comm_old)?;
            let grid = Grid::of(ndims, dims, periods)?;
            Ok((comm_cart, grid.size_within(available)?, grid))
        });
        let told = |(_, _, grid): &(_, _, Grid), record: &mut CallRecord| grid.add_to_record(reorder != 0, record);
        let (comm_cart, size, grid) = meet_with(CREATE, comm_old, arguments, told)?;
        let order = grid.order(comm_old, size, reorder != 0)?;
        comm_cart.set(make(comm_old, size, order, |rank| Ok(grid.topology(rank)))?);
        Ok(())
    }

    /// How many dimensions a grid has (section 8.5.5).
    safe fn MPI_Cartdim_get(comm: MPI_Comm, ndims: Out<'_, c_int>) on comm {
        let process = enter();
        ndims.set(grid(process.comm(comm)?)?.dims.len() as c_int);
        Ok(())
    }

    /// The grid, and this process's place in it.
    safe fn MPI_Cart_get(
        comm: MPI_Comm, maxdims: c_int, dims: OutArray<'_, c_int>, periods: OutArray<'_, c_int>, coords: OutArray<'_, c_int>,
    ) on comm {
        let process = enter();
        let comm = process.comm(comm)?;
        let grid = grid(comm)?;
        room("maxdims", maxdims, grid.dims.len())?;
        dims.store(grid.dims.iter().map(|&dim| dim as c_int))?;
        periods.store(grid.periods.iter().map(|&periodic| periodic.into()))?;
        coords.store(grid.coords(comm.rank))
    }

    /// The rank of the process at some coordinates of a grid. A coordinate of a periodic dimension may lie outside of it.
    safe fn MPI_Cart_rank(comm: MPI_Comm, coords: Array<'_, c_int>, rank: Out<'_, c_int>) on comm {
        let process = enter();
        let grid = grid(process.comm(comm)?)?;
        let coords = coords.of(grid.dims.len())?;
        rank.set(grid.rank(coords)? as c_int);
        Ok(())
    }

    /// The coordinates of a process in a grid.
    safe fn MPI_Cart_coords(comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: OutArray<'_, c_int>) on comm {
        let process = enter();
        let comm = process.comm(comm)?;
        let grid = grid(comm)?;
        let rank = rank_below("rank", rank, comm.group.size())?;
        room("maxdims", maxdims, grid.dims.len())?;
        coords.store(grid.coords(rank))
    }

    /// Partners for a shift of data along a dimension (section 8.5.6).
    safe fn MPI_Cart_shift(
        comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: Out<'_, c_int>, rank_dest: Out<'_, c_int>,
    ) on comm {
        let process = enter();
        let comm = process.comm(comm)?;
        let grid = grid(comm)?;
        let dimension = grid.dimension(direction)?;
        let disp = i64::from(disp);
        rank_source.set(rank_or_null(grid.shifted(comm.rank, dimension, -disp)));
        rank_dest.set(rank_or_null(grid.shifted(comm.rank, dimension, disp)));
        Ok(())
    }

    /// Grids of some of the dimensions (section 8.5.7).
    safe fn MPI_Cart_sub(comm: MPI_Comm, remain_dims: Array<'_, c_int>, newcomm: Result<Handed<'_, MPI_Comm>>) on comm {
        let arguments = newcomm.and_then(|newcomm| {
            let process = enter();
            let comm = process.comm(comm)?;
            let grid = grid(comm)?;
            let remain = remain_dims.of(grid.dims.len())?;
            Ok((newcomm, grid.selected(|dimension| remain[dimension] != 0), grid.slice_of(comm.rank, remain)))
        });
        let (newcomm, kept, color) = met("MPI_Cart_sub", comm, arguments)?;
        // In row-major order, who comes first in the grid comes first in each part of it.
        let made = split("MPI_Cart_sub", comm, color as c_int, 0)?;
        let mut process = enter();
        let part = process.comm_mut(made)?;
        part.topology = Some(Arc::new(kept.topology(part.rank)));
        newcomm.set(made);
        Ok(())
    }

    /// The rank that `MPI_Cart_create` would give if it may reorder (section 8.5.8).
    safe fn MPI_Cart_map(
        comm: MPI_Comm, ndims: c_int, dims: Array<'_, c_int>, periods: Array<'_, c_int>, newrank: Out<'_, c_int>,
    ) on comm {
        let available = members(comm)?;
        let grid = Grid::of(ndims, dims, periods)?;
        let size = grid.size_within(available)?;
        let order = grid.order(comm, size, true)?;
        let rank = new_rank(enter().comm(comm)?.rank, size, order.as_ref());
        newrank.set(rank.map_or(MPI_UNDEFINED, |rank| rank as c_int));
        Ok(())
    }
}

impl Grid {
    /// From a call's arguments.
    fn of(ndims: c_int, dims: Array<'_, c_int>, periods: Array<'_, c_int>) -> Result<Grid> {
        let len = length("ndims", ndims, MPI_ERR_DIMS)?;
        let (dims, periods) = (dims.of(len)?, periods.of(len)?);
        // A length of 0 makes a grid without places, as on other libraries: nobody has a rank in it.
        let length = |(index, &dim): (usize, &c_int)| {
            u32::try_from(dim)
                .map_err(|_| fail(MPI_ERR_DIMS, format!("dims[{index}] is {dim}, but must not be negative")))
        };
        Ok(Grid {
            dims: dims.iter().enumerate().map(length).collect::<Result<_>>()?,
            periods: periods.iter().map(|&periodic| periodic != 0).collect(),
        })
    }

    /// How many places it has: no more than there are processes.
    fn size_within(&self, available: u32) -> Result<u32> {
        let size = self.dims.iter().fold(1u64, |size, &dim| size.saturating_mul(dim.into()));
        u32::try_from(size).ok().filter(|&size| size <= available).ok_or_else(|| {
            fail(
                MPI_ERR_DIMS,
                format!(
                    "the grid {:?} has {size} places, but the communicator only {available} processes",
                    self.dims
                ),
            )
        })
    }

    /// What all ranks that make it have to say alike.
    fn add_to_record(&self, reorder: bool, record: &mut CallRecord) {
        let Grid { dims, periods } = self;
        let flags: Vec<u8> = periods.iter().map(|&periodic| periodic.into()).collect();
        let words = dims.iter().copied().chain(flags.iter().map(|&flag| flag.into())).map(u64::from);
        let reordered = if reorder { ", reorder" } else { "" };
        let said = format!("dims {dims:?}, periods {flags:?}{reordered}");
        record.names_topology([dims.len() as u64, reorder.into()].into_iter().chain(words), &said);
    }

    /// Who gets which place, among the first `size` members.
    fn order(&self, comm: MPI_Comm, size: u32, reorder: bool) -> Result<Option<RankOrder>> {
        let hosts = hosts(comm, size, reorder && size > 0)?;
        Ok(hosts.and_then(|hosts| order::of_grid(&self.dims, &self.periods, &hosts)))
    }

    /// The topology of the process `rank`: in every dimension its neighbor in the negative direction, then the one in
    /// the positive (section 8.6).
    fn topology(&self, rank: u32) -> Topology {
        let around = |dimension| [-1, 1].map(|step| self.shifted(rank, dimension, step));
        let neighbors: Vec<_> = (0..self.dims.len()).flat_map(around).collect();
        Topology {
            kind: TopologyKind::Cart(self.clone()),
            sources: neighbors.clone(),
            destinations: neighbors,
        }
    }

    /// The place of a rank.
    fn coords(&self, rank: u32) -> impl Iterator<Item = c_int> {
        (0..self.dims.len()).map(move |dimension| self.coord(rank, dimension) as c_int)
    }

    fn coord(&self, rank: u32, dimension: usize) -> u32 {
        rank / self.stride(dimension) % self.dims[dimension]
    }

    /// How far apart the ranks of neighbors in a dimension are.
    fn stride(&self, dimension: usize) -> u32 {
        self.dims[dimension + 1..].iter().product()
    }

    /// Who has a place.
    fn rank(&self, coords: &[c_int]) -> Result<u32> {
        let mut rank = 0;
        for (dimension, &coord) in coords.iter().enumerate() {
            let place = self.wrapped(dimension, coord.into()).ok_or_else(|| {
                let length = self.dims[dimension];
                fail(
                    MPI_ERR_ARG,
                    format!(
                        "coords[{dimension}] is {coord}, but must be 0 to {}: the dimension is not periodic",
                        length - 1
                    ),
                )
            })?;
            rank += place * self.stride(dimension);
        }
        Ok(rank)
    }

    /// Who is so many places away; nobody beyond the ends of a dimension that is no ring.
    fn shifted(&self, rank: u32, dimension: usize, distance: i64) -> Option<u32> {
        let here = self.coord(rank, dimension);
        let there = self.wrapped(dimension, i64::from(here) + distance)?;
        Some(rank - here * self.stride(dimension) + there * self.stride(dimension))
    }

    /// A coordinate within its dimension.
    fn wrapped(&self, dimension: usize, coord: i64) -> Option<u32> {
        let length = i64::from(self.dims[dimension]);
        let place = if self.periods[dimension] { coord.rem_euclid(length) } else { coord };
        (0..length).contains(&place).then_some(place as u32)
    }

    /// The number of a dimension.
    fn dimension(&self, direction: c_int) -> Result<usize> {
        let count = self.dims.len();
        usize::try_from(direction).ok().filter(|&dimension| dimension < count).ok_or_else(|| {
            let text = format!("direction is {direction}, but the grid has {count} dimensions, from 0 on");
            fail(MPI_ERR_DIMS, text)
        })
    }

    /// The grid of some of the dimensions.
    fn selected(&self, keep: impl Fn(usize) -> bool) -> Grid {
        let kept = (0..self.dims.len()).filter(|&dimension| keep(dimension));
        let (dims, periods) = kept.map(|kept| (self.dims[kept], self.periods[kept])).unzip();
        Grid { dims, periods }
    }

    /// A number for the part of the grid that a rank is in when the dimensions that do not remain are taken apart.
    fn slice_of(&self, rank: u32, remain: &[c_int]) -> u32 {
        let gone = (0..self.dims.len()).filter(|&dimension| remain[dimension] == 0);
        gone.fold(0, |slice, dimension| slice * self.dims[dimension] + self.coord(rank, dimension))
    }
}

/// The grid of a communicator.
fn grid(comm: &Comm) -> Result<&Grid> {
    match comm.topology.as_deref() {
        Some(Topology { kind: TopologyKind::Cart(grid), .. }) => Ok(grid),
        _ => Err(needs("a Cartesian topology", CREATE, comm)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dims: &[u32], periods: &[bool]) -> Grid {
        Grid { dims: dims.to_vec(), periods: periods.to_vec() }
    }

    #[test]
    fn ranks_and_places_are_each_others_inverse() {
        let grid = grid(&[3, 1, 4, 2], &[false; 4]);
        for rank in 0..24 {
            let coords: Vec<_> = grid.coords(rank).collect();
            assert_eq!(grid.rank(&coords).unwrap(), rank);
        }
        assert_eq!(grid.coords(23).collect::<Vec<_>>(), [2, 0, 3, 1]);
    }

    #[test]
    fn only_rings_have_places_beyond_their_ends() {
        let grid = grid(&[3, 4], &[true, false]);
        assert_eq!(grid.rank(&[-1, 3]).unwrap(), 11);
        assert_eq!(grid.rank(&[c_int::MIN, 0]).unwrap(), 4);
        assert!(grid.rank(&[0, 4]).is_err() && grid.rank(&[0, -1]).is_err());
        assert_eq!(grid.shifted(0, 0, -1), Some(8));
        assert_eq!(grid.shifted(0, 1, -1), None);
        assert_eq!(grid.shifted(1, 1, 2), Some(3));
        assert_eq!(grid.shifted(5, 0, i64::from(c_int::MAX)), Some(9));
    }

    #[test]
    fn parts_of_a_grid_have_numbers_of_their_own() {
        let grid = grid(&[2, 3, 2], &[true, false, true]);
        assert_eq!(grid.selected(|dimension| dimension != 1), super::tests::grid(&[2, 2], &[true, true]));
        let slices: Vec<_> = (0..12).map(|rank| grid.slice_of(rank, &[1, 0, 1])).collect();
        assert_eq!(slices, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_grid_without_dimensions_has_one_place() {
        let grid = grid(&[], &[]);
        assert_eq!(grid.size_within(5).unwrap(), 1);
        assert_eq!(grid.rank(&[]).unwrap(), 0);
        assert!(grid.topology(0).sources.is_empty());
    }
}
