#!/bin/sh
# Tern's programs start under Intel's mpiexec (PMI-1), from the wheel `impi-rt` in an environment of its own.
. "$(dirname "$0")/../common.sh"
. "$here/under_their_mpiexec.sh"
venv=${INTEL_VENV:-$here/../../build/interop-intel}
if [ ! -x "$venv/bin/mpiexec.hydra" ]; then
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check impi-rt ||
        skip "Intel MPI's wheel could not be installed"
fi
try_launcher "$venv/bin/mpiexec.hydra"
