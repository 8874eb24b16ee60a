#!/bin/sh
# Adds Fortran to an installed tree: libmpifort_abi.so, libmpi_abi_c2f.a, mpif.h, and the modules for the Fortran compiler found.
#
#   scripts/stage-fortran.sh PREFIX
#
# stage.sh calls it, after everything else is in place. Without a Fortran compiler it says so in one line and installs
# what `mpifort` needs to compile the modules later.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
fortran=$root/fortran
cc=${CC:-cc}

fail() {
    echo "stage-fortran.sh: $*" >&2
    exit 1
}

main() {
    [ $# -eq 1 ] && [ -d "$1" ] || fail "usage: scripts/stage-fortran.sh PREFIX"
    prefix=$(cd "$1" && pwd)
    work=$(mktemp -d) || fail "no room for temporary files"
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$prefix/share/tern/fortran"
    place_library
    place_sources
    compile_modules
}

# The C side: every call as Fortran makes it. Needs no Fortran compiler and no libgfortran. What C programs call without any
# Fortran, conversions of handles, is also an archive, from which mpicc links what a program uses.
place_library() {
    for source in "$fortran"/glue/*.c; do
        $cc -std=gnu11 -O2 -fPIC -Wall -Wextra -I"$root/abi/include" -I"$fortran/glue" -c "$source" \
            -o "$work/$(basename "$source" .c).o" || fail "$source does not compile"
    done
    $cc -shared -o "$work/libmpifort_abi.so.1" "$work"/*.o -Wl,-soname,libmpifort_abi.so.1 -Wl,--no-undefined \
        -Wl,-rpath,\$ORIGIN -Wl,--enable-new-dtags -L"$prefix/lib" -lmpi_abi -pthread || fail "libmpifort_abi does not link"
    put 755 "$work/libmpifort_abi.so.1" "$prefix/lib/libmpifort_abi.so.1"
    ln -sf libmpifort_abi.so.1 "$prefix/lib/libmpifort_abi.so"
    ${AR:-ar} -rcs "$work/libmpi_abi_c2f.a" "$work/handles.o" "$work/statuses.o" || fail "libmpi_abi_c2f.a cannot be made"
    put 644 "$work/libmpi_abi_c2f.a" "$prefix/lib/libmpi_abi_c2f.a"
}

# The modules as plain Fortran: the words of their dialect replaced, one statement a line.
place_sources() {
    for name in types constants mpi_f08 mpi; do
        expand "$fortran/modules/$name.F90" | plain | sed 's/; */\n/g' >"$work/$name.f90"
        put 644 "$work/$name.f90" "$prefix/share/tern/fortran/$name.f90"
    done
    expand "$fortran/modules/mpif.h.in" | plain >"$work/mpif.h"
    put 644 "$work/mpif.h" "$prefix/include/mpif.h"
}

# The preprocessor in its traditional mode, which leaves blanks and Fortran's operators alone.
expand() {
    $cc -E -P -undef -traditional-cpp -x c -I"$fortran/interfaces" "$1" || fail "$1 cannot be preprocessed"
}

# Comments are about the dialect and stay in the source tree.
plain() {
    sed -e '/^ *!/d' -e '/^ *$/d'
}

compile_modules() {
    for compiler in ${MPIFORT_FC:-gfortran flang flang-new ifx nvfortran}; do
        command -v "$compiler" >/dev/null 2>&1 || continue
        "$prefix/bin/mpifort" "-fc=$compiler" -make-modules || fail "$compiler does not compile the modules"
        return
    done
    echo "stage: no Fortran compiler found: the modules are left to mpifort, all else is built" >&2
}

# put MODE FROM TO: a copy that appears at once.
put() {
    cp "$2" "$3.new.$$" && chmod "$1" "$3.new.$$" && mv -f "$3.new.$$" "$3" || fail "cannot write $3"
}

main "$@"
