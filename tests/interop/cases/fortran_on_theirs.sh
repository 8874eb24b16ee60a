#!/bin/sh
# A Fortran program of Tern's mpifort runs on MPICH: its library has told itself what Fortran is, and is not told again.
. "$(dirname "$0")/../common.sh"
need_peer
cat >"$WORK/program.f90" <<'FORTRAN'
program program_of_ours
   use mpi_f08
   implicit none
   integer :: rank, total
   logical :: flag
   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
   call MPI_Initialized(flag)
   if (flag .and. total == 3) print '(a)', 'ok'
   call MPI_Finalize()
end program program_of_ours
FORTRAN
"$TERN_PREFIX/bin/mpifort" -o "$WORK/program" "$WORK/program.f90" >"$WORK/compiled" 2>&1 ||
    skip "no Fortran compiler: $(tail -n 1 "$WORK/compiled")"
run env LD_LIBRARY_PATH="$PEERS_VENV/lib" "$PEERS_VENV/bin/mpiexec" -n 3 "$WORK/program"
expect_lines 3 "^ok$"
