#!/bin/sh
# Tern's programs start others under MPICH's mpiexec, by the spawn of its PMI-1.
. "$(dirname "$0")/../common.sh"
need_peer
"$PEERS_VENV/bin/mpiexec.hydra" --version | grep -q HYDRA || skip "the mpiexec of $PEERS_VENV is not MPICH's"
"$mpicc" -o "$WORK/spawns" "$here/spawns.c"
for ranks in 1 2; do
    for transport in auto tcp; do
        run env TERN_TRANSPORT="$transport" "$PEERS_VENV/bin/mpiexec.hydra" -n "$ranks" "$WORK/spawns"
        expect_lines 0 'WRONG'
        expect_lines 0 'wrong'
        expect_lines $((2 * ranks)) '^parent . of . *: right'
        expect_lines 3 '^child . of 3: right'
        expect_lines 2 '^first . of 4: right'
        expect_lines 2 '^second . of 4: right'
    done
done
