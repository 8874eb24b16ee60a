#!/bin/sh
# The unit tests of mem, engine and coll in an interpreter that knows what each byte of memory holds.
#
#   scripts/miri.sh
#
# With Miri (a component of Rust's nightly tool chains: 'rustup component add miri --toolchain nightly'), aliasing and the
# provenance of pointers too. Without it, under valgrind, which sees wild accesses and decisions on memory that nobody wrote.
# The last line counts; what cannot run is skipped.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cargo=${CARGO:-cargo}
packages="-p tern-mem -p tern-engine -p tern-coll"
# Some loops of the tests have millions of steps. Their names begin like this.
slow="kernels_for_all_registers every_operation_on_every_type random"
# 9 is no exit status of a test.
runner="valgrind --quiet --error-exitcode=9"
cd "$root"

main() {
    if "$cargo" miri --version >/dev/null 2>&1; then
        in_miri "$cargo"
    elif "$cargo" +nightly miri --version >/dev/null 2>&1; then
        in_miri "$cargo" +nightly
    elif command -v valgrind >/dev/null 2>&1; then
        echo "miri.sh: no Miri in the tool chains here; under valgrind instead"
        in_valgrind
    else
        echo "miri.sh: neither Miri nor valgrind is installed" >&2
        echo "0 passed, 0 failed, 2 skipped"
    fi
}

# Reductions of long double are C, which Miri cannot run.
in_miri() {
    # shellcheck disable=SC2086
    MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 "$@" miri test --target-dir build/miri --lib $packages -- \
        --skip op:: $(skipped) && result="1 passed, 0 failed" || result="0 passed, 1 failed"
    echo "$result, 0 skipped"
    [ "$result" = "1 passed, 0 failed" ]
}

in_valgrind() {
    # shellcheck disable=SC2086
    PROPTEST_CASES=16 CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$runner" CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$runner" \
        "$cargo" test --quiet --lib $packages -- --test-threads 1 $(skipped) && result="1 passed, 0 failed" ||
        result="0 passed, 1 failed"
    echo "$result, 1 skipped"
    [ "$result" = "1 passed, 0 failed" ]
}

skipped() {
    for name in $slow; do echo "--skip $name"; done
}

main "$@"
