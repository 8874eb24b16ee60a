# Tern's programs under PRRTE's prterun and Open MPI's mpirun: they speak PMIx.
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../under_their_mpiexec.sh"

need_openmpi
# What they are called with here: more ranks than cores, by root too.
for launcher in prterun mpirun; do
    printf '#!/bin/sh\nexec "%s" --allow-run-as-root --map-by :OVERSUBSCRIBE "$@"\n' "$OPENMPI/bin/$launcher" >"$WORK/$launcher"
    chmod +x "$WORK/$launcher"
    try_launcher "$WORK/$launcher"
done
end_of "$WORK/prterun" signal 9
expect_lines 1 'tern: rank 1 .*died'
