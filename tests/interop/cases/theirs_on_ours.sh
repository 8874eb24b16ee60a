#!/bin/sh
# A program compiled and linked by MPICH's mpicc_abi runs on Tern: only the library path changes.
. "$(dirname "$0")/../common.sh"
need_peer
run "$PEERS_VENV/bin/mpicc_abi" -o "$WORK/tour" "$here/abi_tour.c"
for ranks in 1 3; do
    run env LD_LIBRARY_PATH="$TERN_PREFIX/lib" "$mpirun" -n "$ranks" "$WORK/tour"
    expect_lines "$ranks" "^ok [0-9]* of $ranks on Tern"
done
