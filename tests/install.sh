#!/bin/sh
# What an installation is: wrappers under all their names, manual pages, completions. Prints what failed; the last line counts.
#
#   tests/install.sh PREFIX
#
# PREFIX is a tree that scripts/stage.sh has made.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?usage: tests/install.sh PREFIX}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

main() {
    check "the wrappers are one file" wrappers_are_one
    check "each wrapper answers --showme" wrappers_answer
    check "mpicc --version names Tern after the compiler" version_names_tern
    check "mpifort knows gfortran by any name" knows_gfortran
    check "whoever asks a wrapper may stop reading" may_stop_reading
    check "mpirun, mpiexec and the wrappers have manual pages" has_pages
    check "each function of MPI has a manual page" has_function_pages
    check "manual pages say what Fortran has, and what parameters are" pages_are_right
    check "manual pages declare functions as mpi.h does" declares_as_header
    check "shells complete tern, mpirun and mpiexec" has_completions
    check "notices name the crates inside with their licenses" has_notices
    check "zig knows what the library asks of the linker" zig_knows
    check "make install honors DESTDIR, and strips" installs
    check "make install-debug keeps the symbols apart" keeps_symbols
    check "make uninstall leaves nothing, and nothing of others is lost" uninstalls
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# check WHAT COMMAND: one test; what it prints is shown where it fails.
check() {
    if $2 >"$work/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        sed 's/^/    /' "$work/said"
    fi
}

wrappers_are_one() {
    for name in mpicxx mpic++ mpiCC mpifort mpif77 mpif90; do
        [ "$prefix/bin/$name" -ef "$prefix/bin/mpicc" ] || { echo "$name is another file"; return 1; }
    done
}

wrappers_answer() {
    for name in mpicc mpicxx mpic++ mpiCC mpifort mpif77 mpif90; do
        says "-I$prefix/include" "$name" --showme:compile || return 1
        says "-L$prefix/lib" "$name" -showme:link || return 1
        says "$prefix/include" "$name" --showme:incdirs || return 1
        says "$prefix/lib" "$name" --showme:libdirs || return 1
        says mpi_abi "$name" --showme:libs || return 1
        says Tern "$name" --showme:version || return 1
        says "-I$prefix/include" "$name" -compile_info || return 1
        says -lmpi_abi "$name" -link_info || return 1
        says "x.c -I$prefix/include" "$name" -show -c x.c || return 1
    done
}

# says WORDS WRAPPER ARGUMENTS...: the answer has these words.
says() {
    words=$1
    shift
    name=$1
    shift
    answer=$("$prefix/bin/$name" "$@") || { echo "$name $*: failed"; return 1; }
    case $answer in
    *"$words"*) ;;
    *) echo "$name $*: no '$words' in: $answer" && return 1 ;;
    esac
}

knows_gfortran() {
    gfortran=$(command -v gfortran) || return 0
    ln -sf "$gfortran" "$work/f77"
    expected=$(MPIFORT_FC=gfortran "$prefix/bin/mpifort" -showme:compile | grep -c -- -fallow-argument-mismatch)
    found=$(MPIFORT_FC=$work/f77 "$prefix/bin/mpifort" -showme:compile | grep -c -- -fallow-argument-mismatch)
    [ "$expected" = "$found" ] || { echo "as gfortran: $expected, as f77: $found"; return 1; }
}

version_names_tern() {
    "$prefix/bin/mpicc" --version >"$work/version" || return 1
    cat "$work/version"
    [ "$(head -n 1 "$work/version")" = "$(cc --version | head -n 1)" ] && grep -q '^mpicc: calls cc with Tern ' "$work/version"
}

may_stop_reading() {
    for question in --version -show --showme:version; do
        { "$prefix/bin/mpicc" "$question" 2>"$work/complaints"; echo $? >"$work/status"; } | true
        [ ! -s "$work/complaints" ] && grep -qx 0 "$work/status" || { cat "$work/complaints"; return 1; }
    done
}

has_pages() {
    grep -q 'mpirun \[options\] program' "$prefix/share/man/man1/mpirun.1" &&
        [ "$prefix/share/man/man1/mpiexec.1" -ef "$prefix/share/man/man1/mpirun.1" ] &&
        grep -q 'showme:WHAT' "$prefix/share/man/man1/mpif90.1"
}

# All kinds of sources are in one page, and nothing is wrong in any for groff, where that is installed.
has_function_pages() {
    grep -v '^#' "$root/abi/tables/functions.tsv" | cut -f 1 >"$work/functions"
    while read -r name; do
        [ -s "$prefix/share/man/man3/$name.3" ] || { echo "share/man/man3/$name.3"; return 1; }
    done <"$work/functions"
    page=$prefix/share/man/man3/MPI_Send.3
    grep -q '^MPI_Send .*standard mode' "$page" && grep -q '^int MPI_Send_c(const void' "$page" &&
        grep -q 'type(MPI_Datatype), intent(in) :: datatype' "$page" && grep -q '^\.B dest' "$page" || { cat "$page"; return 1; }
    command -v groff >/dev/null || return 0
    # A page that names another is read from the folder above.
    (cd "$prefix/share/man" && groff -man -Tutf8 -ww -z man3/MPI_*.3) 2>"$work/groff"
    cat "$work/groff"
    [ ! -s "$work/groff" ]
}

# What the pages have of C between their header line and Fortran's or the end, in any order, is what the header declares.
# Each line: a page, and words that it has, or after '!' has not.
pages_are_right() {
    while read -r page words; do
        file=$prefix/share/man/man3/MPI_$page.3
        case $words in
        '! '*) ! grep -q -- "${words#! }" "$file" ;;
        *) grep -q -- "$words" "$file" ;;
        esac || { echo "MPI_$page: $words"; return 1; }
    done <<'END'
Op_create subroutine MPI_Op_create_c(user_fn
Op_create takes functions whose counts are of the type MPI_Count
Register_datarep ! displacement units
Win_create displacement units of the type MPI_Aint
Attr_get ! mpi_f08
Keyval_create ! mpi_f08
Aint_add integer(MPI_ADDRESS_KIND) function MPI_Aint_add(base, disp)
F_sync_reg subroutine MPI_F_sync_reg(buf)
Comm_toint ! MPI_SUCCESS
Type_size number of bytes
Get_elements_x number of elements
Info_get_nkeys number of keys
Psend_init number of partitions
Type_create_darray number of processes in each dimension
END
}

declares_as_header() {
    plain='s/\\-/-/g; s/\\e/\\/g'
    for page in "$prefix"/share/man/man3/MPI_*.3; do
        sed -n '/^\.B #include/,/^\.fi\|^USE mpi_f08/p' "$page" | grep -v '^\.\|^USE' | sed "$plain"
    done | tr -s ' \n' ' ' | sed 's/; /;\n/g' | sed 's/^ *//' | grep . | sort -u >"$work/on-pages"
    [ "$(grep -c . "$work/on-pages")" -gt 600 ] || { echo "few declarations"; return 1; }
    header=$(tr -s ' \n' ' ' <"$prefix/include/mpi.h")
    while read -r declaration; do
        case $header in *" $declaration"*) ;; *) echo "not so in mpi.h: $declaration" && return 1 ;; esac
    done <"$work/on-pages"
}

has_completions() {
    for name in tern mpirun mpiexec; do
        for file in bash-completion/completions/$name zsh/site-functions/_$name fish/vendor_completions.d/$name.fish; do
            grep -q "$name" "$prefix/share/$file" || { echo "share/$file"; return 1; }
        done
    done
}

has_notices() {
    file=$prefix/share/doc/tern/NOTICES.md
    grep -q '^| clap [0-9.]* | MIT OR Apache-2.0 |' "$file" && grep -q 'Permission is hereby granted' "$file" &&
        grep -q 'Apache License' "$file" && ! grep -q '^| tern-' "$file"
}

# What zig's linker takes of what build scripts ask for, as scripts/zig-cc.sh passes it on: otherwise there are no packages.
zig_knows() {
    asked=$(sed -n 's/.*link-arg=\(-Wl,[^"]*\).*/\1/p' "$root"/*/build.rs "$root"/compat/*/build.rs)
    [ -n "$asked" ] || { echo "nothing is asked"; return 1; }
    for argument in $asked; do
        passed_on=$(ZIG=echo "$root/scripts/zig-cc.sh" "$argument")
        case ${passed_on##* } in -Wl,-soname,* | -Wl,-Bsymbolic | -Wl,-z,nodelete | -Wl,--version-script*) ;; *) echo "${passed_on##* }"; return 1 ;; esac
    done
}

# make_it TARGET: into a place of its own, of what has been built already.
make_it() {
    make -s -C "$root" "$1" DESTDIR="$work/packages" PREFIX=/opt/tern
}

has_symbols() {
    readelf -SW "$1" | grep -q '\.debug_info'
}

installs() {
    make_it install || return 1
    tree=$work/packages/opt/tern
    for file in bin/mpirun bin/tern bin/mpicc lib/libmpi_abi.so.1 lib/libmpifort_abi.so.1 libexec/tern/measure \
        libexec/tern/netpipe; do
        ! has_symbols "$tree/$file" && ! readelf -SW "$tree/$file" | grep -q '\.symtab' || { echo "$file has symbols"; return 1; }
    done
    [ ! -e "$tree/bin/.debug" ] && ! grep -rl "$work" "$tree" || return 1
    printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }\n' >"$work/x.c"
    "$tree/bin/mpicc" -o "$work/x" "$work/x.c" && "$tree/bin/mpirun" -n 2 "$work/x"
}

keeps_symbols() {
    make_it install-debug || return 1
    tree=$work/packages/opt/tern
    for file in bin/mpirun bin/tern bin/mpicc lib/libmpi_abi.so.1; do
        ! has_symbols "$tree/$file" && has_symbols "$tree/${file%/*}/.debug/${file##*/}.debug" &&
            readelf -p .gnu_debuglink "$tree/$file" | grep -q "${file##*/}.debug" || { echo "$file"; return 1; }
    done
}

uninstalls() {
    tree=$work/packages/opt/tern
    mkdir -p "$tree/lib" && echo other >"$tree/lib/libother.a"
    make_it uninstall || return 1
    left=$(find "$tree" ! -type d)
    [ "$left" = "$tree/lib/libother.a" ] || { echo "left: $left"; return 1; }
    ! make_it uninstall 2>/dev/null
}

main
