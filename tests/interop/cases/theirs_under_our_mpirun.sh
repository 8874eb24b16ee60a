#!/bin/sh
# Programs that run on MPICH itself start under Tern's mpirun, which serves PMI-1: on this machine, and on several hosts.
. "$(dirname "$0")/../common.sh"
need_peer
"$PEERS_VENV/bin/mpicc_abi" -o "$WORK/abi_tour" "$here/abi_tour.c" || fail "cannot compile for MPICH"

run "$mpirun" -n 4 "$WORK/abi_tour"
expect_lines 4 '^ok . of 4 on MPICH'
# Over UCX, MPICH between such hosts stands still in one of 50 jobs on a loaded machine, under its own mpiexec, too.
run "$mpirun" --launcher "$here/../net/here.sh" --host a:2,b:2,c --tree 1 -x MPIR_CVAR_CH4_NETMOD=ofi "$WORK/abi_tour"
expect_lines 5 '^ok . of 5 on MPICH'

# One that aborts ends the job with its code.
printf '%s\n' '#include <mpi.h>' '#include <unistd.h>' \
    'int main(void) { int r; MPI_Init(0, 0); MPI_Comm_rank(MPI_COMM_WORLD, &r);' \
    'if (r == 1) MPI_Abort(MPI_COMM_WORLD, 7); sleep(50); }' >"$WORK/abort.c"
"$PEERS_VENV/bin/mpicc_abi" -o "$WORK/abort" "$WORK/abort.c" || fail "cannot compile for MPICH"
status=0
timeout "$job_seconds" "$mpirun" -n 2 "$WORK/abort" >"$WORK/output" 2>&1 || status=$?
[ "$status" -eq 7 ] || fail "an abort with 7 ended with $status: $(cat "$WORK/output")"
