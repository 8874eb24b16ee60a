#!/bin/sh
# Tern's programs start under MPICH's mpiexec (PMI-1).
. "$(dirname "$0")/../common.sh"
. "$here/under_their_mpiexec.sh"
need_peer
"$PEERS_VENV/bin/mpiexec.hydra" --version | grep -q HYDRA || skip "the mpiexec of $PEERS_VENV is not MPICH's"
try_launcher "$PEERS_VENV/bin/mpiexec.hydra"
