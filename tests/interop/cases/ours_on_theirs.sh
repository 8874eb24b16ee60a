#!/bin/sh
# A program compiled and linked by Tern's mpicc runs on MPICH, under MPICH's launcher.
. "$(dirname "$0")/../common.sh"
need_peer
run "$mpicc" -o "$WORK/tour" "$here/abi_tour.c"
for ranks in 1 3; do
    run env LD_LIBRARY_PATH="$PEERS_VENV/lib" "$PEERS_VENV/bin/mpiexec" -n "$ranks" "$WORK/tour"
    expect_lines "$ranks" "^ok [0-9]* of $ranks on MPICH"
done
