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

. "$root/scripts/place.sh"

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
    place_foreign mpich libmpi.so.12 libmpifort.so.12
    place_foreign openmpi libmpi.so.40 libmpi_mpifh.so.40
    place_open_mpi_modules
    [ -e "$prefix/lib/mpich/libmpi.so.12" ] && ln -sf libmpifort.so.12 "$prefix/lib/mpich/libmpichfort.so.12"
    place_sources
    compile_modules
}

# The C side: every call as Fortran makes it. Needs no Fortran compiler and no libgfortran. What C programs call without any
# Fortran, conversions of handles, is also an archive, from which mpicc links what a program uses.
place_library() {
    for source in "$fortran"/glue/*.c; do
        printf '%s\0' "$source" "$work/$(basename "$source" .c).o"
    done | compile_all "$cc" -std=gnu11 -O2 -fPIC -Wall -Wextra -I"$root/abi/include" -I"$fortran/glue"
    $cc -shared -o "$work/libmpifort_abi.so.1" "$work"/*.o -Wl,-soname,libmpifort_abi.so.1 -Wl,--no-undefined \
        -Wl,-rpath,\$ORIGIN -Wl,--enable-new-dtags -Wl,-z,nodelete -L"$prefix/lib" -lmpi_abi -pthread || fail "libmpifort_abi does not link"
    put 755 "$work/libmpifort_abi.so.1" "$prefix/lib/libmpifort_abi.so.1"
    ln -sf libmpifort_abi.so.1 "$prefix/lib/libmpifort_abi.so"
    ${AR:-ar} -rcs "$work/libmpi_abi_c2f.a" "$work/handles.o" "$work/statuses.o" || fail "libmpi_abi_c2f.a cannot be made"
    put 644 "$work/libmpi_abi_c2f.a" "$prefix/lib/libmpi_abi_c2f.a"
}

# place_foreign FOLDER LIBRARY NAME: the same calls for programs of another MPI: mpif.h and the module mpi. The sources are
# compiled with the header of that ABI.
place_foreign() {
    [ -e "$prefix/lib/$1/$2" ] || return 0
    mkdir -p "$work/$1"
    [ "$1" != mpich ] || mpich_routines
    for source in "$fortran"/glue/*.c "$root"/compat/fortran/*.c "$root/compat/$1"/fortran/*.c "$work/$1"/*.c; do
        [ "$1" = mpich ] || case $source in */glue/f08.c | */glue/large.c) continue ;; esac
        case $source in */glue/handles.c | */glue/statuses.c | */openmpi/fortran/f08.c | */\*.c) continue ;; esac
        printf '%s\0' "$source" "$work/$1/$(basename "$source" .c).o"
    done | compile_all "$cc" -std=gnu11 -O2 -fPIC -w -DTERN_FOREIGN -I"$root/compat/$1/include" -I"$root/compat/$1/fortran" \
        -I"$fortran/glue"
    { other_names "$work/$1"/*.o; twins "$work/$1"/*.o; } >"$work/$1/names"
    [ "$1" != openmpi ] || { module_names "$work/$1"/*.o; extension_names "$work/$1"/*.o; } >>"$work/$1/names"
    [ "$1" != mpich ] || { large_names "$work/$1"/*.o; inner_names "$work/$1"/*.o; } >>"$work/$1/names"
    $cc -shared -o "$work/$3" "$work/$1"/*.o "@$work/$1/names" -Wl,-soname,"$3" -Wl,--no-undefined \
        -Wl,-rpath,\$ORIGIN -Wl,--enable-new-dtags -L"$prefix/lib/$1" "-l:$2" -Wl,-rpath-link,"$prefix/lib" -pthread ||
        fail "$3 does not link"
    put 755 "$work/$3" "$prefix/lib/$1/$3"
}

# Compilers name a routine in four ways; mpi_send_ is what almost all do. Modules are for one compiler, and so are their routines.
other_names() {
    ${NM:-nm} -g --defined-only "$@" | sed -n 's/^[0-9a-f]* [TW] \(p\{0,1\}mpi_[a-z0-9_]*[a-z0-9]\)_$/\1/p' | grep -v _f08 | sort -u |
        awk '{ print "-Wl,--defsym," $1 "=" $1 "_"; print "-Wl,--defsym," $1 "__=" $1 "_"
               print "-Wl,--defsym," toupper($1) "=" $1 "_" }'
}

# Routines that no tool calls by its other name, which programs may ask for all the same.
twins() {
    ${NM:-nm} -g --defined-only "$@" | sed -n 's/^[0-9a-f]* [TW] \(p\{0,1\}mpi_[a-z0-9_]*[a-z0-9]\)_$/\1/p' | grep -v _f08 | sort -u |
        awk '{ has[$1] = 1; names[NR] = $1 }
             END { for (i = 1; i <= NR; i++) if (!has["p" names[i]] && names[i] !~ /^p/) {
                 print "-Wl,--defsym,p" names[i] "_=" names[i] "_"; print "-Wl,--defsym,p" names[i] "=" names[i] "_"
                 print "-Wl,--defsym,p" names[i] "__=" names[i] "_"; print "-Wl,--defsym,P" toupper(names[i]) "=" names[i] "_" } }'
}

# Persistent collectives by the names that they had in Open MPI before they came into the standard.
extension_names() {
    ${NM:-nm} -g --defined-only "$@" | sed -n 's/^[0-9a-f]* [TW] \(p\{0,1\}mpi\)_\([a-z_]*_init\)_$/\1 \2/p' | sort -u |
        awk '$2 !~ /^(p?send|p?recv|[brs]send|session)_init$/ { old = $1 "x_" $2; new = $1 "_" $2 "_"
             print "-Wl,--defsym," old "=" new; print "-Wl,--defsym," old "_=" new; print "-Wl,--defsym," old "__=" new
             print "-Wl,--defsym," toupper(old) "=" new; print "-Wl,--defsym," old "_f08_=" new }'
}

# The routines of MPICH's module pmpi_f08.
inner_names() {
    ${NM:-nm} -g --defined-only "$@" | sed -n 's/^[0-9a-f]* [TW] pmpi_\([a-z0-9_]*_f08[a-z_]*_\)$/\1/p' | sort -u |
        awk '{ print "-Wl,--defsym,pmpir_" $1 "=pmpi_" $1
               if (sub(/_c_f08_$/, "")) print "-Wl,--defsym,pmpir_" $1 "_f08_large_=pmpi_" $1 "_c_f08_" }'
}

# The routines with buffers of MPICH's module mpi_f08: each calls that for descriptors of C. See compat/mpich/fortran/gfortran.h.
mpich_routines() {
    {
        printf '#define TS\n#include "gfortran.h"\n'
        mpich_routines_of '' _f08ts_
    } >"$work/mpich/routines.c"
    {
        printf '#define TS\n#define LARGE\n#include "gfortran.h"\n'
        mpich_routines_of _c _f08ts_large_
    } >"$work/mpich/routines_large.c"
}

# mpich_routines_of INFIX SUFFIX: pmpi_send_INFIX_f08ts with descriptors of gfortran's, as mpi_send_SUFFIX. What has no large form
# stands behind a condition in the source.
mpich_routines_of() {
    awk -v infix="$1" -v suffix="$2" '
        /^#ifndef LARGE/ { is_small = 1 }
        /^#endif|^#else/ { is_small = 0 }
        /^ENTRY_TS\(/ { head = ""; is_head = 1 }
        is_head { head = head " " $0 }
        is_head && /^{/ {
            is_head = 0
            if (infix != "" && is_small) next
            sub(/^ *ENTRY_TS\(/, "", head); sub(/ *\) *{.*$/, "", head)
            sub(/ HIDDEN\([a-z_]*\)/, "", head)
            count = split(head, parameters, / *, */)
            name = parameters[1]; taken = ""; passed = ""; callee = ""; hidden = ""; rooms = 0
            for (i = 2; i <= count; i++) {
                split(parameters[i], words, " "); type = words[1]; what = words[2]
                comma = i > 2 ? ", " : ""
                callee = callee comma type " " what
                if (type == "Choice") {
                    taken = taken comma "const Gfortran *" what
                    passed = passed comma "described(" what ", &rooms[" rooms++ "])"
                } else if (type == "ChoiceText") {
                    taken = taken comma "TextIn " what; hidden = hidden ", size_t " what "_len"
                    passed = passed comma "worded(" what ", " what "_len, &rooms[" rooms++ "])"
                } else { taken = taken comma type " " what; passed = passed comma what }
            }
            target = "pmpi_" name infix "_f08ts"; made = "pmpi_" name suffix
            printf "void %s(%s);\nvoid %s(%s%s);\n", target, callee, made, taken, hidden
            printf "TWIN(mpi_%s%s, %s, %s%s);\n", name, suffix, made, taken, hidden
            printf "void %s(%s%s)\n{\n    Described rooms[%d];\n    %s(%s);\n}\n\n", made, taken, hidden, rooms, target, passed
        }' "$fortran"/glue/*.inc
}

# Without buffers, large counts are only another name.
large_names() {
    ${NM:-nm} -g --defined-only "$@" | sed -n 's/^[0-9a-f]* [TW] \(p\{0,1\}mpi_[a-z0-9_]*\)_c_f08_$/\1/p' | sort -u |
        awk '{ print "-Wl,--defsym," $1 "_f08_large_=" $1 "_c_f08_" }'
}

# Open MPI's module mpi_f08 passes what mpif.h passes, and leaves ierror out by a null address.
module_names() {
    ${NM:-nm} -g --defined-only "$@" | sed -n 's/^[0-9a-f]* [TW] \(p\{0,1\}mpi_[a-z0-9_]*[a-z0-9]\)_$/\1/p' | sort -u |
        awk '{ has[$1] = 1; names[NR] = $1 }
             END { for (i = 1; i <= NR; i++) if (names[i] !~ /_f08$/ && names[i] !~ /_sizeof_/ && !has[names[i] "_f08"])
                 print "-Wl,--defsym," names[i] "_f08_=" names[i] "_" }'
}

# The libraries that programs with Open MPI's modules name. Their routines are in libmpi_mpifh.so.40; mpi_f08 has variables too.
place_open_mpi_modules() {
    [ -e "$prefix/lib/openmpi/libmpi_mpifh.so.40" ] || return 0
    module_handles >"$work/handles.c"
    module_library libmpi_usempif08.so.40 "$work/handles.c" "$root/compat/openmpi/fortran/f08.c"
    module_library libmpi_usempi_ignore_tkr.so.40 -x c /dev/null -x none
    # Debian's names.
    for name in mpifh usempif08 usempi_ignore_tkr; do
        ln -sf "libmpi_$name.so.40" "$prefix/lib/openmpi/libmpi_$name-gfortran.so.40"
    done
}

# module_library NAME SOURCES
module_library() {
    name=$1
    shift
    $cc -std=gnu11 -O2 -fPIC -w -shared -I"$root/compat/openmpi/include" -o "$work/$name" "$@" -Wl,-soname,"$name" \
        -Wl,--no-as-needed -Wl,-rpath,\$ORIGIN -Wl,--enable-new-dtags -L"$prefix/lib/openmpi" -l:libmpi_mpifh.so.40 \
        -l:libmpi.so.40 -Wl,-rpath-link,"$prefix/lib" || fail "$name does not link"
    put 755 "$work/$name" "$prefix/lib/openmpi/$name"
}

# Handles as variables: one that C knows, and one of the module's, whose names gfortran makes.
module_handles() {
    {
        awk -F '\t' '$3 ~ /^ompi_/ && $4 ~ /^[0-9]/ { print tolower($1), $4 }' "$root/compat/tables/constants.tsv"
        # Names that the standard does not have, or not any more.
        echo 'mpi_lb 4
mpi_ub 3
mpi_2complex 26
mpi_2double_complex 27
mpi_long_long_int 43
mpi_cxx_complex 55
mpi_c_complex 69'
    } | sort -u -k 1,1 | awk '{ c = $1; if (c ~ /int[0-9]+_t$/) sub(/_t$/, "", c)
        print "int ompi_f08_" c " = " $2 ";\nconst int __mpi_f08_types_MOD_" $1 " = " $2 ";" }'
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

main "$@"
