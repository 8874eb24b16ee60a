#!/bin/sh
# Interoperation: other libraries' programs on Tern, Tern's on theirs, tools between, build systems around.
#
#   tests/interop/run.sh PREFIX [CASE...]
#
# PREFIX is an installed tree of Tern. The other library is the wheel `mpich` of the Python package index,
# installed in build/interop-venv, or PEERS_VENV names an environment that has it. The last line of the
# output counts the cases.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
cases=$root/tests/interop/cases
work=$root/build/interop
passed=0
failed=0
skipped=0

main() {
    [ $# -ge 1 ] || { echo "usage: tests/interop/run.sh PREFIX [CASE...]" >&2; exit 2; }
    TERN_PREFIX=$(cd "$1" && pwd)
    shift
    export TERN_PREFIX
    prepare_peer
    [ $# -gt 0 ] || set -- $(ls "$cases" | sed 's/\.sh$//')
    for name in "$@"; do
        run_case "$name"
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# Makes the environment once; cmake comes along where the machine has none.
prepare_peer() {
    venv=${PEERS_VENV:-$root/build/interop-venv}
    wanted='mpich==5.0.2'
    command -v cmake >/dev/null || wanted="$wanted cmake"
    if [ ! -x "$venv/bin/mpicc_abi" ]; then
        echo "installing $wanted in $venv"
        # shellcheck disable=SC2086 # several packages
        python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check $wanted || venv=
    fi
    export PEERS_VENV="$venv"
}

run_case() {
    WORK=$work/$1
    export WORK
    rm -rf "$WORK"
    mkdir -p "$WORK"
    status=0
    sh "$cases/$1.sh" >"$WORK.log" 2>&1 || status=$?
    case $status in
    0)
        passed=$((passed + 1))
        echo "ok      $1"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "skipped $1 ($(tail -n 1 "$WORK.log"))"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAILED  $1"
        sed 's/^/    /' "$WORK.log"
        ;;
    esac
}

main "$@"
