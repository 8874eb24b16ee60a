"""Parallel HDF5 through h5py: every rank writes its part of a file, and reads another one's."""

import sys

import h5py
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
ROWS, COLUMNS = 300, 70
path = sys.argv[1]


def part(of):
    """The rows of a rank."""
    return np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS) + 1e6 * of


with h5py.File(path, "w", driver="mpio", comm=comm) as file:
    file.attrs["ranks"] = size
    shape = (ROWS * size, COLUMNS)
    plain = file.create_dataset("plain", shape, dtype="f8")
    chunked = file.create_dataset("group/chunked", shape, dtype="f8", chunks=(32, 16))
    columns = file.create_dataset("columns", (ROWS, COLUMNS * size), dtype="i4")
    rows = slice(rank * ROWS, (rank + 1) * ROWS)
    with plain.collective:
        plain[rows] = part(rank)
    with chunked.collective:
        chunked[rows] = -part(rank)
    # Every rank for itself, in pieces with gaps.
    columns[:, rank::size] = np.full((ROWS, COLUMNS), rank, dtype="i4")

with h5py.File(path, "r", driver="mpio", comm=comm) as file:
    assert file.attrs["ranks"] == size
    other = (rank + 1) % size
    rows = slice(other * ROWS, (other + 1) * ROWS)
    plain, chunked = file["plain"], file["group/chunked"]
    with plain.collective:
        assert (plain[rows] == part(other)).all()
    with chunked.collective:
        assert (chunked[rows] == -part(other)).all()
    assert (file["columns"][5] == np.tile(np.arange(size), COLUMNS)).all()

comm.Barrier()
if rank == 0:
    with h5py.File(path, "r") as file:
        assert file["plain"].shape == (ROWS * size, COLUMNS)
    print("ok")
