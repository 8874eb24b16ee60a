#!/bin/sh
# What a release must not break beside its tests: licenses, known faults of the crates inside, and the oldest compiler.
#
#   scripts/gates.sh
#
# The last line counts. A gate whose tool or data is missing is skipped: cargo-deny comes from scripts/setup.sh, its list of known
# faults from the network, and the oldest compiler from rustup.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
cargo=${CARGO:-cargo}
passed=0
failed=0
skipped=0
cd "$root" || exit 1

main() {
    dependencies
    oldest_compiler
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

dependencies() {
    if ! "$cargo" deny --version >/dev/null 2>&1; then
        skip "licenses, bans and sources" "cargo-deny is not installed: cargo install --locked cargo-deny"
        skip "known faults of crates" "cargo-deny is not installed"
        return
    fi
    check "licenses, bans and sources" "$cargo" deny --log-level error check licenses bans sources
    if "$cargo" deny fetch db >/dev/null 2>&1; then
        check "known faults of crates" "$cargo" deny --log-level error check --disable-fetch advisories
    else
        skip "known faults of crates" "the list of known faults cannot be reached"
    fi
}

oldest_compiler() {
    oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    if "$cargo" "+$oldest" --version >/dev/null 2>&1; then
        check "Rust $oldest" "$cargo" "+$oldest" check --quiet --workspace --all-targets --target-dir build/oldest
    else
        skip "Rust $oldest" "rustup has no such tool chain: rustup toolchain install $oldest"
    fi
}

# check WHAT COMMAND...
check() {
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok    $what"
    else
        failed=$((failed + 1))
        echo "FAIL  $what"
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "skip  $1 ($2)"
}

main
