#!/usr/bin/env bash
# Builds mpi4py with the mpicc of an installed Tern (once; kept under build/) and runs its test suite with
# 1, 2 and 3 ranks, and its collectives, topologies and files with 5, which is no even number and no power of two.
# Then pools of processes (mpi4py.futures) compute a picture, tests/mpi4py-pool.py.
# tests/mpi4py-skip.txt names what is left out and why. The last line sums up.
#
# usage: mpi4py.sh PREFIX [RANKS ...]
# MPI4PY_ARGS is given to mpi4py's test/main.py: MPI4PY_ARGS='-v -i test_comm' runs some tests only.
# MPI4PY_WITH names Python packages to install too: with 'numpy cffi pyyaml dill' fewer tests skip themselves,
# most have more kinds of buffers to try, and a run takes twice as long.
# MPI4PY_WHEEL=mpich or openmpi takes the wheel of the Python package index, which was compiled for that ABI, and runs it
# on Tern's library for it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly version=4.1.2
# The suite takes under 20 s a run on a quiet machine; this is for one that is busy.
readonly run_timeout_s=300
readonly prefix="$(realpath -m "${1:-build/prefix}")"
readonly ranks=("${@:2}")
readonly wheel="${MPI4PY_WHEEL:-}"
readonly home="$PWD/build/mpi4py${wheel:+-$wheel}"
readonly mpicc="${MPI4PY_MPICC:-$prefix/bin/mpicc}"

passed=0
failed=0
# What mpi4py leaves out by itself, and what tests/mpi4py-skip.txt names.
left_out=0

main() {
    mkdir -p "$home"
    ensure_built
    for count in "${ranks[@]:-1 2 3}"; do
        for n in $count; do run_suite "$n"; done
    done
    if ((${#ranks[@]} == 0)); then
        MPI4PY_ARGS="${MPI4PY_ARGS:--v -i test_cco -i test_comm_topo -i test_file -i test_io}" run_suite 5
        pool "a pool that spawns its workers" 1 tests/mpi4py-pool.py 3
        pool "a pool of ranks" 4 -m mpi4py.futures tests/mpi4py-pool.py 3
    fi
    echo "$passed passed, $failed failed, $left_out skipped"
    ((failed == 0))
}

# What was built stays until mpi4py's version, Python or the header changes; the library may change freely.
ensure_built() {
    local key
    key="$({ echo "$version ${MPI4PY_WITH:-}"; python3 --version; cat "$prefix/include/mpi.h"; } | sha256sum | cut -d ' ' -f 1)"
    if [[ -f $home/built && $(cat "$home/built") == "$key" ]]; then return; fi
    [[ -n $wheel ]] || echo "mpi4py: building $version with $mpicc (some minutes, once)" >&2
    rm -rf "$home/built" "$home/venv" "$home/source"
    python3 -m venv "$home/venv"
    fetch_source
    if [[ -n $wheel ]]; then
        logged install "$home/venv/bin/pip" install --disable-pip-version-check --only-binary mpi4py "mpi4py==$version"
        echo "$key" >"$home/built"
        return
    fi
    # Without optimisation, which takes minutes for its one large file: what is tested is the library.
    # shellcheck disable=SC2086
    logged build env CFLAGS="-O0 -g0" MPICC="$mpicc" MPI4PY_BUILD_MPICC="$mpicc" \
        "$home/venv/bin/pip" install --no-cache-dir --disable-pip-version-check "$home/source" \
        ${MPI4PY_WITH:-}
    echo "$key" >"$home/built"
}

fetch_source() {
    local archive="$home/mpi4py-$version.tar.gz"
    if [[ ! -f $archive ]]; then
        logged download "$home/venv/bin/pip" download --disable-pip-version-check --no-deps \
            --no-binary mpi4py --dest "$home" "mpi4py==$version"
    fi
    mkdir -p "$home/source"
    tar -xzf "$archive" -C "$home/source" --strip-components=1
}

# Runs a command whose output is only of interest if it fails.
logged() {
    local log="$home/$1.log"
    if "${@:2}" >"$log" 2>&1; then return; fi
    echo "mpi4py: $1 failed; the end of $log:" >&2
    tail -n 40 "$log" >&2
    echo "0 passed, 1 failed"
    exit 1
}

# Each rank writes a log of its own, so that results can be read whatever the launcher does with output.
run_suite() {
    local n=$1 logs="$home/logs-$1" status=0
    rm -rf "$logs"
    mkdir -p "$logs"
    grep -o '^[^# ][^ ]*' tests/mpi4py-skip.txt >"$home/skip"
    # Whole modules are not even imported: some fail when they look for what is not there.
    local modules
    mapfile -t modules < <(sed -n 's/^\(test_[a-z0-9_]*\)\. .*/-e\n\1[.]py/p' tests/mpi4py-skip.txt)
    export TERN_MPI4PY_LOGS="$logs"
    # shellcheck disable=SC2086
    launch "$n" sh -c 'exec "$@" >"$TERN_MPI4PY_LOGS/$$" 2>&1' - \
        "$home/venv/bin/python" -u "$home/source/test/main.py" --no-builddir --xfile "$home/skip" \
        "${modules[@]}" ${MPI4PY_ARGS:--v} >"$home/run-$n.log" 2>&1 || status=$?
    count_results "$n" "$status"
}

# pool WHAT RANKS ARGUMENT...: a computation by mpi4py.futures.
pool() {
    local log="$home/pool.log"
    if launch "$2" "$home/venv/bin/python" "${@:3}" >"$log" 2>&1 && grep -q '^pool of 3: ok$' "$log"; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "mpi4py: $1 failed:"
    tail -n 40 "$log"
}

launch() {
    if [[ -n ${MPI4PY_MPIEXEC:-} ]]; then
        MPIEXEC_TIMEOUT=$run_timeout_s "$MPI4PY_MPIEXEC" -n "$@"
    elif [[ -n $wheel ]]; then
        "$prefix/bin/mpirun" --abi "$wheel" --timeout $run_timeout_s -n "$@"
    else
        # The build remembers the prefix that it was made with; what is tested is this one.
        LD_LIBRARY_PATH="$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
            "$prefix/bin/mpirun" --timeout $run_timeout_s -n "$@"
    fi
}

# A test has failed if it failed on any rank; a run that did not end is one failure more.
count_results() {
    local n=$1 status=$2 logs="$home/logs-$1" ran skipped bad unfinished=0
    ran="$(cat "$logs"/* | sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' | sort -n | tail -n 1)"
    skipped="$(cat "$logs"/* | sed -n 's/.*(.*skipped=\([0-9]*\).*/\1/p' | sort -n | tail -n 1)"
    bad="$(cat "$logs"/* | sed -n 's/^\(FAIL\|ERROR\): //p' | sort -u)"
    local bad_count
    bad_count="$(grep -c . <<<"$bad" || true)"
    if [[ $status != 0 && $bad_count == 0 ]] || [[ -z $ran ]]; then unfinished=1; fi
    if [[ -z $ran ]]; then ran="$(cat "$logs"/* | grep -c '\.\.\. ok$' || true)"; fi
    local good=$((ran - ${skipped:-0} - bad_count))
    echo "mpi4py n=$n: $good passed, $((bad_count + unfinished)) failed, ${skipped:-0} skipped by mpi4py itself"
    left_out=$((left_out + ${skipped:-0} + $(grep -c . "$home/skip")))
    if ((bad_count + unfinished > 0)); then show_failures "$n" "$status"; fi
    passed=$((passed + (good > 0 ? good : 0)))
    failed=$((failed + bad_count + unfinished))
}

show_failures() {
    local logs="$home/logs-$1"
    echo "exit status $2; what mpirun said:"
    tail -n 60 "$home/run-$1.log"
    for log in "$logs"/*; do
        echo "--- a rank's failures, from $log; its last lines:"
        grep -A 25 '^\(FAIL\|ERROR\): ' "$log" | head -n 200 || true
        tail -n 5 "$log"
    done
}

main
