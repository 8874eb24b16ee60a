#!/bin/sh
# Builds Tern optimized and lays it out under a prefix: bin, include, lib, libexec, share.
#
#   scripts/stage.sh [--no-build] [--profile release|dev] [--sanitize] [--symbols inside|none|apart] PREFIX
#
# The profile dev is slow and has every assertion: overflow, the engine's invariants, a thread that enters the library twice.
# With --sanitize, the library is for programs compiled with -fsanitize=address alone, and AddressSanitizer looks at all that it reads and writes.
# Debug symbols stay inside, or are left out, or go to files in .debug folders, where debuggers look for them.
# CARGO_BUILD_TARGET names another processor than this one. RUNNER is then a command that runs its programs.
# Needs no root if PREFIX can be written. Safe to repeat, also under a running job: each file is replaced by
# a rename, so a program that runs keeps the file it has.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)

usage="usage: scripts/stage.sh [--no-build] [--profile release|dev] [--sanitize] [--symbols inside|none|apart] PREFIX"

. "$root/scripts/place.sh"

fail() {
    echo "stage.sh: $*" >&2
    exit 1
}

main() {
    build=yes
    profile=release
    sanitize=no
    symbols=inside
    while [ $# -gt 1 ]; do
        case $1 in
        --no-build) build=no ;;
        --profile) profile=$2 && shift ;;
        --sanitize) sanitize=yes ;;
        --symbols) symbols=$2 && shift ;;
        *) fail "$usage" ;;
        esac
        shift
    done
    [ $# -eq 1 ] && [ -n "$1" ] || fail "$usage"
    case $symbols in inside | none | apart) ;; *) fail "$usage" ;; esac
    built=${CARGO_TARGET_DIR:-$root/target}${CARGO_BUILD_TARGET:+/$CARGO_BUILD_TARGET}
    case $profile in release) built=$built/release ;; dev) built=$built/debug ;; *) fail "$usage" ;; esac
    library=$built/libmpi_abi.so
    [ "$build" = no ] || build_all
    [ "$sanitize" = no ] || build_sanitized
    mkdir -p "$1" || fail "cannot make $1; choose another PREFIX"
    prefix=$(cd "$1" && pwd)
    mkdir -p "$prefix/bin" "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/share/doc/tern" ||
        fail "cannot write to $prefix; choose another PREFIX"

    check_built libtern_mpich.so libtern_openmpi.so mpirun tern tern-cc
    [ -f "$library" ] || fail "$library is missing: leave out --no-build"
    place_programs
    place_library
    place_compatible
    place_documents
    place_manual_pages
    "$root/scripts/stage-cxx.sh" "$prefix"
    "$root/scripts/stage-fortran.sh" "$prefix"
    [ "$symbols" = inside ] || slim "$prefix/lib/libmpifort_abi.so.1"
    [ "$sanitize" = yes ] || place_measure
}

build_sanitized() {
    "$root/scripts/asan-cargo.sh" build --quiet -p tern-mpi || fail "the build failed; see above"
    library=$("$root/scripts/asan-cargo.sh" where)/libmpi_abi.so
}

build_all() {
    (cd "$root" && "${CARGO:-cargo}" build --profile "$profile" --quiet -p tern-mpi -p tern-mpich -p tern-openmpi \
        -p tern-mpirun -p tern-tools) ||
        fail "the build failed; see above"
}

check_built() {
    for name in "$@"; do
        [ -f "$built/$name" ] || fail "$built/$name is missing: run 'cargo build --profile $profile' first"
    done
}

place_programs() {
    put_binary "$built/mpirun" "$prefix/bin/mpirun"
    point mpirun "$prefix/bin/mpiexec"
    put_binary "$built/tern" "$prefix/bin/tern"
    # One file with many names. The wrapper looks at its name, and some build systems resolve symbolic links.
    put_binary "$built/tern-cc" "$prefix/bin/mpicc"
    for name in mpicxx mpic++ mpiCC mpifort mpif77 mpif90; do
        share mpicc "$prefix/bin/$name"
    done
}

place_library() {
    put 644 "$root/abi/include/mpi_abi_fort.h" "$prefix/include/mpi_abi_fort.h"
    put 644 "$root/abi/include/mpi.h" "$prefix/include/mpi.h"
    put_binary "$library" "$prefix/lib/libmpi_abi.so.1"
    point libmpi_abi.so.1 "$prefix/lib/libmpi_abi.so"
    package_file >"$prefix/lib/pkgconfig/.mpi.pc.$$"
    put 644 "$prefix/lib/pkgconfig/.mpi.pc.$$" "$prefix/lib/pkgconfig/mpi.pc"
    rm -f "$prefix/lib/pkgconfig/.mpi.pc.$$"
}

# The libraries for programs of other MPIs, each in a folder of its own: programs of the standard ABI must not find them.
place_compatible() {
    mkdir -p "$prefix/lib/mpich" "$prefix/lib/openmpi" || fail "cannot write to $prefix; choose another PREFIX"
    put_binary "$built/libtern_mpich.so" "$prefix/lib/mpich/libmpi.so.12"
    put_binary "$built/libtern_openmpi.so" "$prefix/lib/openmpi/libmpi.so.40"
    # Debian's name of MPICH's library, and the name by which mpi4py looks first.
    point libmpi.so.12 "$prefix/lib/mpich/libmpich.so.12"
    point libmpi.so.12 "$prefix/lib/mpich/libmpi.so"
    point libmpi.so.40 "$prefix/lib/openmpi/libmpi.so"
    # C++ programs need these names. Those that call the C++ bindings of MPI-2 need names in them that are not here.
    for name in libmpicxx.so.12 libmpichcxx.so.12; do
        ${CC:-cc} -shared -nostdlib -x c /dev/null -Wl,-soname,$name -o "$prefix/lib/mpich/$name.new.$$" &&
            mv -f "$prefix/lib/mpich/$name.new.$$" "$prefix/lib/mpich/$name" || fail "cannot make $name"
    done
}

# ${pcfiledir} keeps the tree movable. Of several -Wl in a row, pkgconf leaves blanks in a path as they are, so there is one.
package_file() {
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
    cat <<PC
prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: mpi
Description: Tern, an MPI library with the standard ABI
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -Wl,--enable-new-dtags,-rpath,\${libdir} -lmpi_abi_c2f -lmpi_abi
PC
}

place_documents() {
    (cd "$root" && find README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE* docs -type f ! -name book.toml) |
        while read -r name; do
            mkdir -p "$(dirname "$prefix/share/doc/tern/$name")"
            put 644 "$root/$name" "$prefix/share/doc/tern/$name"
        done
    "$root/scripts/notices.sh" >"$prefix/share/doc/tern/NOTICES.md" || fail "the notices of the crates cannot be written"
}

# Pages of commands and completions come from the definition of the command line, those of functions from their sources. RUNNER may
# be several words.
# shellcheck disable=SC2086
place_manual_pages() {
    share=$prefix/share
    mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
        "$share/fish/vendor_completions.d"
    ${RUNNER:-} "$built/tern" manual-pages "$share/man/man1" >/dev/null || fail "cannot write to $share/man/man1"
    point mpirun.1 "$share/man/man1/mpiexec.1"
    "$root/scripts/function-pages.sh" "$share/man/man3" || fail "cannot write to $share/man/man3"
    wrapper_page >"$share/man/man1/mpicc.1"
    for name in mpicxx mpic++ mpiCC mpifort mpif77 mpif90; do
        point mpicc.1 "$share/man/man1/$name.1"
    done
    for name in tern mpirun mpiexec; do
        ${RUNNER:-} "$built/tern" completions bash "$name" >"$share/bash-completion/completions/$name"
        ${RUNNER:-} "$built/tern" completions zsh "$name" >"$share/zsh/site-functions/_$name"
        ${RUNNER:-} "$built/tern" completions fish "$name" >"$share/fish/vendor_completions.d/$name.fish"
    done
}

# The wrapper's own help, as a page.
# shellcheck disable=SC2086
wrapper_page() {
    printf '.TH MPICC 1 "" "Tern"\n.SH NAME\nmpicc, mpicxx, mpifort \\- compile and link MPI programs\n'
    printf '.SH SYNOPSIS\nmpicc [options] files\n.SH DESCRIPTION\n.nf\n'
    ${RUNNER:-} "$prefix/bin/mpicc" -help | sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"
    printf '.fi\n'
}

# What `tern tune` and `tern netpipe` run. Without a C compiler all else works.
place_measure() {
    mkdir -p "$prefix/libexec/tern" "$prefix/share/tern/measure" || fail "cannot write to $prefix; choose another PREFIX"
    # tern netpipe gives the wrappers of other MPI libraries the same source.
    for file in "$root"/tools/measure/netpipe*.[ch] "$root/bench/measure.h" "$root/bench/mpi_team.h"; do
        put 644 "$file" "$prefix/share/tern/measure/${file##*/}"
    done
    for name in measure netpipe; do
        new=$prefix/libexec/tern/$name.new.$$
        # Without the wrapper, which would have them remember where this tree lies now.
        # shellcheck disable=SC2016,SC2086
        if ${MPICC_CC:-${CC:-cc}} -O2 -I "$root/bench" -I "$prefix/include" -o "$new" "$root/tools/measure/$name.c" -L "$prefix/lib" \
            -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../../lib' -lmpi_abi_c2f -lmpi_abi -lm; then
            [ "$symbols" = inside ] || slim "$new"
            mv -f "$new" "$prefix/libexec/tern/$name"
        else
            echo "stage.sh: tern tune and tern netpipe will not work: $name.c could not be compiled" >&2
        fi
    done
}

# put_binary FROM TO: a program or library, with its debug symbols where they are wanted.
put_binary() {
    if [ "$symbols" = inside ]; then
        put 755 "$1" "$2"
        return
    fi
    cp "$1" "$2.new.$$" && chmod 755 "$2.new.$$" && "${STRIP:-strip}" --strip-unneeded "$2.new.$$" || fail "cannot write $2"
    [ "$symbols" = none ] || keep_symbols "$1" "$2.new.$$" "${2%/*}/.debug" "${2##*/}.debug"
    mv -f "$2.new.$$" "$2" || fail "cannot write $2"
}

# keep_symbols FROM STRIPPED FOLDER NAME: the symbols in a file of their own, which the stripped file names.
keep_symbols() {
    mkdir -p "$3" && "${OBJCOPY:-objcopy}" --only-keep-debug "$1" "$3/$4" && chmod 644 "$3/$4" &&
        "${OBJCOPY:-objcopy}" --add-gnu-debuglink="$3/$4" "$2" || fail "cannot write $3/$4"
}

# slim FILE: without what only debuggers need.
slim() {
    "${STRIP:-strip}" --strip-unneeded -o "$1.new.$$" "$1" && mv -f "$1.new.$$" "$1" || fail "cannot write $1"
}

# share NAME OTHER: another name for a file in the same folder, or a copy where the file system has no such names.
share() {
    [ ! "${2%/*}/$1" -ef "$2" ] || return 0
    { ln "${2%/*}/$1" "$2.new.$$" 2>/dev/null || cp -p "${2%/*}/$1" "$2.new.$$"; } && mv -f "$2.new.$$" "$2" ||
        fail "cannot write $2"
}

# point TARGET LINK: a symbolic link that appears at once.
point() {
    ln -s "$1" "$2.new.$$" && mv -fT "$2.new.$$" "$2" || fail "cannot write $2"
}

main "$@"
