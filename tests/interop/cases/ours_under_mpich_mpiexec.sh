#!/bin/sh
# Tern's programs start under MPICH's mpiexec (PMI-1).
. "$(dirname "$0")/../common.sh"
. "$here/under_their_mpiexec.sh"
need_peer
"$PEERS_VENV/bin/mpiexec.hydra" --version | grep -q HYDRA || skip "the mpiexec of $PEERS_VENV is not MPICH's"
try_launcher "$PEERS_VENV/bin/mpiexec.hydra"

# Hydra may listen for its ranks in place of handing a socket down.
printf '#!/bin/sh\nexec "%s" -pmi-port "$@"\n' "$PEERS_VENV/bin/mpiexec.hydra" >"$WORK/listening"
chmod +x "$WORK/listening"
try_launcher "$WORK/listening"
