#!/bin/sh
# Tern's programs start under Intel's mpiexec (PMI-1), from the wheel `impi-rt` in an environment of its own.
. "$(dirname "$0")/../common.sh"
. "$here/under_their_mpiexec.sh"
need_intel
try_launcher "$INTEL/bin/mpiexec.hydra"
