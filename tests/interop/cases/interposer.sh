#!/bin/sh
# A PMPI interposer loaded by LD_PRELOAD sees each of the program's calls once and can call through.
. "$(dirname "$0")/../common.sh"
run "$mpicc" -o "$WORK/profiled" "$here/profiled.c"
run "$mpicc" -shared -fPIC -o "$WORK/libcount.so" "$here/interposer.c"
run "$mpirun" -n 3 env LD_PRELOAD="$WORK/libcount.so" "$WORK/profiled"
for rank in 0 1; do
    expect_lines 1 "^rank $rank: init 1 send 2 recv 2 barrier 3 allreduce 1\$"
done
expect_lines 1 '^rank 2: init 1 send 0 recv 0 barrier 3 allreduce 1$'
