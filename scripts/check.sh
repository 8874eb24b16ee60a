#!/bin/sh
# The short test: unit tests, and the C programs with every assertion, in shared memory and over TCP.
# Each program runs once in each, with two ranks in one and three in the other.
#
#   scripts/check.sh PREFIX      where the library with assertions goes
#
# Both wait for others half of the time, so they run side by side; unit tests are printed if one fails.
set -eu

[ $# -eq 1 ] || {
    echo "usage: scripts/check.sh PREFIX" >&2
    exit 2
}
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
log=build/unit-tests.log

"$cargo" test --quiet --workspace --lib --bins --no-run
"$cargo" build --quiet --workspace --bin tern-tests
scripts/stage.sh --profile dev "$1"

"$cargo" test --quiet --workspace --lib --bins >"$log" 2>&1 &
unit_tests=$!
status=0
"${CARGO_TARGET_DIR:-target}/debug/tern-tests" --prefix "$1" --no-heavy --no-jobs --sample --ranks 2 --ranks 3 \
    --instance shm --instance tcp || status=$?
if wait "$unit_tests"; then
    sed -n 's/^test result: ok\. \([0-9]*\) passed.*/\1/p' "$log" | awk '{ n += $1 } END { print n " unit tests passed" }'
else
    cat "$log"
    status=1
fi
exit "$status"
