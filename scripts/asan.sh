#!/bin/sh
# AddressSanitizer over the C programs and the unit tests. The library has every assertion, too: overflow, the engine's invariants, a
# thread that enters the library twice.
#
#   scripts/asan.sh [--short]
#
# All programs under every transport instance. With --short, the programs alone, on two or three ranks over shared memory and TCP, under
# the mpirun of the release build that is there: scripts/miri.sh looks at the unit tests, all but those of shmcoll. The last line
# counts. Where the C compiler has no AddressSanitizer, that is one skipped, and the programs run with the assertions alone.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cargo=${CARGO:-cargo}
cd "$root"

main() {
    sanitize=--sanitize
    if ! echo 'int main(void) { return 0; }' | ${CC:-cc} -fsanitize=address -x c -o /dev/null - 2>/dev/null; then
        echo "asan.sh: ${CC:-cc} has no AddressSanitizer (Debian: libasan comes with gcc)" >&2
        sanitize=
    fi
    chosen= staged="--profile dev"
    if [ "${1:-}" = --short ]; then
        chosen="--sample --ranks 2 --ranks 3 --instance shm --instance tcp"
        [ -z "$sanitize" ] || staged=--no-build
    fi
    # What a process holds at its end is the system's to free.
    export ASAN_OPTIONS=detect_leaks=0
    if [ -n "$sanitize" ] && [ -z "$chosen" ]; then
        scripts/asan-cargo.sh test --quiet --lib -p tern-mem -p tern-engine -p tern-coll -p tern-shmcoll >&2
    fi
    # shellcheck disable=SC2086
    scripts/stage.sh $staged $sanitize build/sanitized
    "$cargo" build --quiet --workspace --bin tern-tests
    # shellcheck disable=SC2086
    set -- --prefix build/sanitized $sanitize --no-heavy --no-jobs $chosen
    programs "$@"
}

# The last line of what is printed counts; what was not looked at for want of the sanitizer is skipped.
programs() {
    tests=${CARGO_TARGET_DIR:-target}/debug/tern-tests
    [ -z "$sanitize" ] || exec "$tests" "$@"
    status=0
    "$tests" "$@" >build/sanitized.log || status=$?
    sed 's/\([0-9]* passed, [0-9]* failed\), 0 skipped$/\1, 1 skipped/' build/sanitized.log
    exit "$status"
}

main "$@"
