#!/bin/sh
# Programs of the suite over the newer libfabric that MPICH's wheel brings, by each of its providers in software.
. "$(dirname "$0")/../common.sh"
need_peer
library=$(dirname "$(find "$PEERS_VENV/lib/" -name libfabric.so.1 | head -n 1)")
[ -e "$library/libfabric.so.1" ] || skip "this wheel brings no libfabric"
export LD_LIBRARY_PATH="$library"

# PROVIDER PROGRAM...
over() {
    provider=$1
    shift
    for program in "$@"; do
        [ -x "$WORK/$program" ] || "$mpicc" -O1 -I "$here/../c" -o "$WORK/$program" "$here/../c/$program.c" -lpthread -lm
        run env TERN_TRANSPORT=ofi TERN_WINDOWS=messages "TERN_OFI_PROVIDER=$provider" "$mpirun" -n 4 "$WORK/$program"
    done
}

for provider in tcp 'tcp;ofi_rxm' shm; do
    over "$provider" p2p_modes p2p_nonblocking coll_data rma_windows rma_passive
done
over sockets p2p_modes coll_data
over 'udp;ofi_rxd' p2p_modes
