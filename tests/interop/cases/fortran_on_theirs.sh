#!/bin/sh
# A Fortran program of Tern's mpifort runs on MPICH and on Intel MPI. These libraries have told themselves what Fortran is, and
# are not told again. Intel's own libmpifort_abi.so.1 has the same name, so ours has to be found first.
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

need_intel
mkdir "$WORK/fortran"
ln -s "$TERN_PREFIX/lib/libmpifort_abi.so.1" "$WORK/fortran/"
run env LD_LIBRARY_PATH="$WORK/fortran:$INTEL/lib" "$INTEL/bin/mpiexec.hydra" -n 3 "$WORK/program"
expect_lines 3 "^ok$"
