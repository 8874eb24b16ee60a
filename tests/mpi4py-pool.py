"""A picture of the Mandelbrot set, by a pool of processes (mpi4py.futures), compared with the same picture by one process.

usage: mpi4py-pool.py WORKERS

Started alone, the pool spawns its workers; under 'python -m mpi4py.futures' they are the other ranks.
"""

import sys

from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor, as_completed

WIDTH, HEIGHT, ITERATIONS = 120, 80, 60


def escape(c):
    """Turns until z = z^2 + c leaves the circle of radius 2."""
    z = 0
    for turn in range(ITERATIONS):
        if abs(z) > 2:
            return turn
        z = z * z + c
    return ITERATIONS


def line(y):
    """A line of the picture."""
    return [escape(complex(-2.2 + 3.2 * x / WIDTH, -1.2 + 2.4 * y / HEIGHT)) for x in range(WIDTH)]


def where(_):
    """The process that computes."""
    return MPI.Get_processor_name(), MPI.COMM_WORLD.Get_rank(), MPI.Comm.Get_parent() != MPI.COMM_NULL


def fails(y):
    raise ValueError(f"line {y}")


def main(workers):
    expected = [line(y) for y in range(HEIGHT)]
    # More than one pool in a row: the workers of the first are gone when the second one's come.
    for _ in range(2):
        with MPIPoolExecutor(max_workers=workers) as pool:
            assert pool.num_workers == workers, pool.num_workers
            assert list(pool.map(line, range(HEIGHT), chunksize=3)) == expected
            assert list(pool.map(line, range(HEIGHT), unordered=True)) != []
            assert len(set(pool.map(where, range(40 * workers)))) <= workers
            done = as_completed([pool.submit(line, y) for y in range(10)])
            assert sorted(future.result() for future in done) == sorted(expected[:10])
            error = pool.submit(fails, 7).exception()
            assert isinstance(error, ValueError) and "line 7" in str(error), error
    print(f"pool of {workers}: ok", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
