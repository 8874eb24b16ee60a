#!/bin/sh
# Adds libmpi_cxx.so.40 to an installed tree: the C++ bindings that programs compiled for Open MPI 4 and older link.
#
#   scripts/stage-cxx.sh PREFIX
#
# stage.sh calls it. Without a C++ compiler it says so in one line.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
sources=$root/compat/openmpi/cxx
include=$root/compat/openmpi/include
cxx=${CXX:-c++}
cc=${CC:-cc}

. "$root/scripts/place.sh"

fail() {
    echo "stage-cxx.sh: $*" >&2
    exit 1
}

main() {
    [ $# -eq 1 ] && [ -d "$1" ] || fail "usage: scripts/stage-cxx.sh PREFIX"
    folder=$(cd "$1" && pwd)/lib/openmpi
    command -v "$cxx" >/dev/null 2>&1 || {
        echo "stage: no C++ compiler found: programs with the C++ bindings of Open MPI will not run, all else is built" >&2
        return
    }
    work=$(mktemp -d) || fail "no room for temporary files"
    trap 'rm -rf "$work"' EXIT
    checked_functions >"$work/checked.h"
    for source in "$sources"/*.cpp; do
        printf '%s\0' "$source" "$work/$(basename "$source" .cpp).o"
    done | compile_all "$cxx" -std=c++17 -O2 -fPIC -Wall -Wextra -Wno-cast-function-type -Wno-attributes -I"$include" -I"$work"
    library
}

# Each C function that may call an error handler, and that errors.cpp does not have already.
checked_functions() {
    sed -n 's/^int P\(MPI_[A-Z][A-Za-z0-9_]*\)(\(.*\));$/\1|\2/p' "$include/mpi.h" |
        grep -v -E '^MPI_(T_|Pcontrol|Abi_|Errhandler_|Initialized|Finalized|(Comm|Win|File)_(set|get|call)_errhandler)' |
        grep -v -E '^MPI_[A-Za-z]*_(toint|fromint)\|' |
        awk -F '|' '{
            count = split($2, parameters, ",")
            names = ""
            for (i = 1; i <= count && $2 != "void"; i++) {
                name = parameters[i]
                gsub(/\[[0-9]*\]/, "", name)
                sub(/ *$/, "", name)
                sub(/^.*[ *]/, "", name)
                names = names (i > 1 ? ", " : "") name
            }
            printf "int %s(%s) { return checked(P%s(%s)); }\n", $1, $2, $1, names }'
}

# The library for C++ that the program brings is not linked with, so that it may be an older one. It is needed by its name.
library() {
    for name in libstdc++.so.6 libgcc_s.so.1; do
        $cc -shared -nostdlib -x c /dev/null -Wl,-soname,$name -o "$work/$name" || fail "$name cannot be made"
    done
    $cc -shared -o "$work/libmpi_cxx.so.40" "$work"/*.o -Wl,-soname,libmpi_cxx.so.40 -Wl,-rpath,\$ORIGIN -Wl,--enable-new-dtags \
        -Wl,--no-as-needed -L"$folder" -l:libmpi.so.40 "$work/libstdc++.so.6" "$work/libgcc_s.so.1" \
        -Wl,-rpath-link,"$folder/.." -Wl,--unresolved-symbols=ignore-all -Wl,-z,lazy || fail "libmpi_cxx.so.40 does not link"
    new=$folder/libmpi_cxx.so.40.new.$$
    "${STRIP:-strip}" --strip-unneeded -o "$new" "$work/libmpi_cxx.so.40" && mv -f "$new" "$folder/libmpi_cxx.so.40" ||
        fail "cannot write $folder/libmpi_cxx.so.40"
}

main "$@"
