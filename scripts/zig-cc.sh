#!/bin/sh
# A linker and C compiler for older systems and other processors than this one: zig's, which has the symbols of all versions of
# the C library.
#
#   ZIG="python3 -m ziglang" GLIBC=2.28 MACHINE=aarch64 scripts/zig-cc.sh ARGUMENTS...
#
# dist.sh uses it, so that packages run where their tag says they do. rustc names a target that zig spells otherwise. zig refuses
# -Bsymbolic-functions; -Bsymbolic does the same to a library that exports functions alone, as libmpi_abi.so does.
set -eu

for argument in "$@"; do
    shift
    case $argument in
        --target=*-unknown-linux-gnu) ;;
        -Wl,-Bsymbolic-functions) set -- "$@" -Wl,-Bsymbolic ;;
        *) set -- "$@" "$argument" ;;
    esac
done
# ZIG may be several words.
# shellcheck disable=SC2086
exec ${ZIG:-zig} cc -target "${MACHINE:-$(uname -m)}-linux-gnu.${GLIBC:-2.28}" "$@"
