#!/bin/sh
# cargo with AddressSanitizer looking at all that the code reads and writes. What it builds lies apart, under build/asan.
#
#   scripts/asan-cargo.sh build|test ARGUMENT...
#   scripts/asan-cargo.sh where                  the folder of what was built
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
target=$(rustc -vV | sed -n 's/^host: //p')

if [ "$1" = where ]; then
    echo "$root/build/asan/$target/debug"
    exit
fi
verb=$1
shift
cd "$root"
# The compiler calls its sanitizers unstable, so it must be told that we know. With a target given, the flags are for the code
# under test alone, not for the programs that help to build it.
RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address exec "${CARGO:-cargo}" "$verb" --target "$target" --target-dir build/asan "$@"
