#!/bin/bash
# Programs compiled for MPICH and for Open MPI, on Tern's libraries for them. The last line counts.
#
# usage: run.sh PREFIX [FILTER]
#
# The C programs of tests/c are compiled with this project's headers of both ABIs. Where the public headers of an MPI are
# installed (Debian: libmpich-dev, libopenmpi-dev), all constants are compared with them, and Fortran programs are compiled
# with their mpif.h; MPICH_INCLUDE and OPENMPI_INCLUDE name other folders of theirs.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "${1:?usage: run.sh PREFIX [FILTER]}" && pwd) || exit 1
filter=${2:-}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# Programs that an ABI cannot pass, with the reason.
left_out() {
    case $1-$2 in
    *-coll_aliases) echo "compares addresses of arrays of datatypes, which are converted" ;;
    mpich-topo_errors) echo "wants the program's number in a message, which has the standard's" ;;
    openmpi-error_handles | openmpi-error_arguments) echo "wants an error class that this ABI does not have" ;;
    openmpi-tool_events | openmpi-tool_rest | openmpi-tool_threads) echo "wants constants of events that this ABI does not have" ;;
    mpich-tool_rest) echo "has callbacks of events, which get the standard's number of their safety" ;;
    *-handles_as_integers) echo "asks for the standard's ABI" ;;
    openmpi-error_limits) echo "has keys and values longer than this ABI's, which the library takes" ;;
    openmpi-hw_resources) echo "wants a type of splits that this ABI does not have" ;;
    openmpi-info) echo "has keys longer than this ABI's" ;;
    esac
}

main() {
    cat >"$work/two.c" <<'C'
#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); MPI_Finalize(); return 0; }
C
    abi mpich libmpi.so.12 "${MPICH_INCLUDE:-/usr/include/$(gcc -dumpmachine)/mpich}" "-l:libmpifort.so.12"
    abi openmpi libmpi.so.40 "${OPENMPI_INCLUDE:-/usr/lib/$(gcc -dumpmachine)/openmpi/include}" "-l:libmpi_mpifh.so.40"
    check "openmpi: values that are no handles are refused" strays -pie -fPIE
    check "openmpi: and by a program that is not position independent" strays -no-pie -fno-pie
    check "mpich: values that are no handles are refused" mpich_strays
    check "openmpi: functions are given back" functions openmpi libmpi.so.40
    check "mpich: functions are given back" functions mpich libmpi.so.12
    check "two MPIs in one process are refused" two_libraries
    check "programs behind env, timeout and sh are seen" behind_others
    check "a program that mixes two ABIs is refused" mixed
    check "a standard program with a part for another ABI is refused" inner_part
    check "a standard program with a second MPI is refused" second_library
    check "mpirun tells what an unknown --abi is" unknown_abi
    check "mpirun refuses an --abi that is not the program's" contrary_abi
    check "tern doctor names the library of a program" doctor
    check "tern doctor names what no library has" doctor_of_names
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# abi NAME LIBRARY PUBLIC_HEADERS FORTRAN_LIBRARY
abi() {
    name=$1 library=$2 public=$3 fortran=$4
    folder=$prefix/lib/$name
    if [ ! -e "$folder/$library" ]; then
        skip "$name" "$library is not installed"
        return
    fi
    for source in "$root"/tests/c/*.c; do
        c_program "$source"
    done
    check "$name: constants are those of the public header" constants
    check "$name: Fortran with the public mpif.h" fortran_program
    check "$name: Fortran with the public mpi_f08" module_program
    if [ "$name" = openmpi ]; then
        check "$name: what the standard does not have" extensions
        check "$name: C++ with the bindings of MPI-2" cxx_program
        check "$name: C++ with the public bindings" public_cxx_program
        check "$name: tables of virtual functions are those of Open MPI 4" cxx_tables
    fi
}

c_program() {
    program=$(basename "$1" .c)
    case $name-$program in *"$filter"*) ;; *) return ;; esac
    head=$(sed -n '1,12p' "$1")
    reason=$(left_out "$name" "$program")
    case $head in *"* heavy"*) reason="needs much memory" ;; esac
    case $head in *"* abi: "*) [[ $head == *"* abi: $name"* ]] || return ;; esac
    if [ -n "$reason" ]; then
        skip "$name: $program" "$reason"
        return
    fi
    ranks=$(sed -n 's/^ \* ranks: *\([0-9 ]*\).*/\1/p' "$1" | head -n 1 | awk '{ print ($2 ? $2 : $1) }')
    [ -n "$ranks" ] || return
    check "$name: $program n=$ranks" run_program "$1" "$ranks"
}

run_program() {
    ${CC:-cc} -std=gnu11 -O1 -w -pthread -I"$root/compat/$name/include" -I"$root/tests/c" -o "$work/program" "$1" \
        -L"$folder" "-l:$library" -lm || return 1
    "$prefix/bin/mpirun" --timeout 90 -n "$2" "$work/program" >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ $status -eq 0 ] && grep -q '^ok .* checks$' "$work/out"
}

# Every constant that both headers have. The public one of Open MPI has some as enumerators, which the preprocessor does not see.
constants() {
    [ -f "$public/mpi.h" ] || { why="no header at $public" && return 77; }
    values "$root/compat/$name/include" >"$work/ours" || return 1
    values "$public" >"$work/theirs" || return 1
    # A constant that an older header lacks is none of its facts, and a datatype that its compiler lacked is the null handle there.
    null=$(awk -F '\t' '$1 == "MPI_DATATYPE_NULL" { print $2 }' "$work/theirs")
    join -t "$(printf '\t')" "$work/ours" "$work/theirs" >"$work/both"
    awk -F '\t' -v null="$null" '$2 != $3 && $3 != null { print $1 ": " $2 " here, " $3 " in the public header"; bad = 1 }
        END { exit bad }' "$work/both" && [ "$(wc -l <"$work/both")" -gt 200 ]
}

# values INCLUDE: names with their values, sorted. A program prints numbers; a variable stands for itself.
values() {
    column=2
    [ "$name" = mpich ] || column=3
    cut -f "1,$column" "$root/compat/tables/constants.tsv" | grep -v '^#' >"$work/table"
    {
        echo '#include <mpi.h>'
        echo '#include <stdio.h>'
        echo 'int main(void) {'
        awk -F '\t' '$2 ~ /^-?[0-9]/ { print "#ifdef " $1 "\nprintf(\"" $1 "\\t%lld\\n\", (long long)(long)" $1 ");\n#endif" }' "$work/table"
        echo 'return 0; }'
    } >"$work/probe.c"
    ${CC:-cc} -w -I"$1" -o "$work/probe" "$work/probe.c" || return 1
    {
        "$work/probe"
        awk -F '\t' '$2 ~ /^ompi_/ { print "@@ " $1 "_ " $1 }' "$work/table" | cat <(echo '#include <mpi.h>') - |
            ${CC:-cc} -E -P -w -I"$1" -x c - 2>/dev/null |
            sed -n 's/^@@ \(MPI_[A-Z0-9_]*\)_ .*\(ompi_[a-z0-9_]*\)[^a-z0-9_]*$/\1\t\2/p'
    } | sort
}

fortran_program() {
    [ -f "$public/mpif.h" ] || { why="no mpif.h at $public" && return 77; }
    command -v gfortran >/dev/null || { why="no gfortran" && return 77; }
    gfortran -fallow-argument-mismatch -ffree-line-length-none -w -I"$public" "$root/tests/compat/mpif.f90" \
        -o "$work/program" -L"$folder" "$fortran" "-l:$library" || return 1
    "$prefix/bin/mpirun" --timeout 60 -n 3 "$work/program" | grep -q '^ ok'
}

module_program() {
    local beside=
    if [ "$name" = mpich ]; then
        modules=${MPICH_MODULES:-$public}
    else
        modules=${OPENMPI_MODULES:-/usr/lib/$(gcc -dumpmachine)/fortran/gfortran-mod-15/openmpi}
        beside="-l:libmpi_usempif08.so.40 -l:libmpi_usempi_ignore_tkr.so.40"
    fi
    [ -f "$modules/mpi_f08.mod" ] || { why="no mpi_f08.mod in $modules" && return 77; }
    command -v gfortran >/dev/null || { why="no gfortran" && return 77; }
    for source in f08 sections; do
        # shellcheck disable=SC2086
        gfortran -w -J"$work" -I"$modules" "$root/tests/compat/$source.f90" -o "$work/program" -L"$folder" $beside "$fortran" "-l:$library" \
            -Wl,-rpath-link,"$prefix/lib" || return 1
        "$prefix/bin/mpirun" --timeout 60 -n 3 "$work/program" | grep -q '^ ok' || return 1
        # Open MPI's module has no sections with gaps: its buffers are addresses.
        [ "$name" = mpich ] || break
    done
}

extensions() {
    ${CC:-cc} -w -I"$root/compat/openmpi/include" -o "$work/program" "$root/tests/compat/extensions.c" -L"$folder" "-l:$library" \
        -Wl,-rpath-link,"$prefix/lib" || return 1
    said=$("$prefix/bin/mpirun" --timeout 60 -n 2 "$work/program" 2>&1)
    echo "$said"
    value=$(sed -n 's/^the datatype is //p' <<<"$said")
    [ -n "$value" ] && grep -q "MPI_Type_size: $value is no datatype" <<<"$said"
}

# With the project's own header of the bindings, and with the public one.
cxx_program() {
    cxx "-DTERN_BINDINGS" -I"$root/compat/openmpi/include" -I"$root/compat/openmpi/cxx"
}

public_cxx_program() {
    [ -f "$public/openmpi/ompi/mpi/cxx/mpicxx.h" ] || { why="no C++ bindings in $public" && return 77; }
    cxx -I"$public" -I"$public/openmpi"
}

# cxx OPTIONS
cxx() {
    command -v c++ >/dev/null || { why="no c++" && return 77; }
    c++ -w "$@" "$root/tests/compat/cxx.cpp" -o "$work/program" -L"$folder" -l:libmpi_cxx.so.40 "-l:$library" \
        -Wl,-rpath-link,"$prefix/lib" || return 1
    "$prefix/bin/mpirun" --timeout 60 -n 3 "$work/program" | grep -q '^ok'
}

cxx_tables() {
    [ -e "$folder/libmpi_cxx.so.40" ] || { why="no c++" && return 77; }
    python3 "$root/tests/compat/cxx_tables.py" "$folder/libmpi_cxx.so.40" "$root/compat/tables/cxx.tsv"
}

strays() {
    [ -e "$prefix/lib/openmpi/libmpi.so.40" ] || { why="the library is not installed" && return 77; }
    ${CC:-cc} "$@" -w -I"$root/compat/openmpi/include" -o "$work/strays" "$root/tests/compat/stray.c" \
        -L"$prefix/lib/openmpi" -l:libmpi.so.40 -Wl,-rpath-link,"$prefix/lib" || return 1
    said=$("$prefix/bin/mpirun" --timeout 60 -n 1 "$work/strays" 2>&1)
    echo "$said"
    grep -q '^all refused$' <<<"$said"
}

mpich_strays() {
    [ -e "$prefix/lib/mpich/libmpi.so.12" ] || { why="the library is not installed" && return 77; }
    ${CC:-cc} -w -I"$root/compat/mpich/include" -o "$work/strays" "$root/tests/compat/stray.c" \
        -L"$prefix/lib/mpich" -l:libmpi.so.12 -Wl,-rpath-link,"$prefix/lib" || return 1
    said=$("$prefix/bin/mpirun" --timeout 60 -n 1 "$work/strays" 2>&1)
    echo "$said"
    grep -q '^all refused$' <<<"$said"
}

# functions ABI LIBRARY
functions() {
    [ -e "$prefix/lib/$1/$2" ] || { why="the library is not installed" && return 77; }
    ${CC:-cc} -w -I"$root/compat/$1/include" -o "$work/functions" "$root/tests/compat/functions.c" -L"$prefix/lib/$1" "-l:$2" \
        -Wl,-rpath-link,"$prefix/lib" || return 1
    said=$("$prefix/bin/mpirun" --timeout 60 -n 2 "$work/functions" 2>&1)
    echo "$said"
    grep -q '^all given back$' <<<"$said"
}

two_libraries() {
    [ -e "$prefix/lib/openmpi/libmpi.so.40" ] || { why="one library is not installed" && return 77; }
    ${CC:-cc} -w -I"$root/compat/mpich/include" -o "$work/two" "$work/two.c" -Wl,--no-as-needed \
        -L"$prefix/lib/mpich" -l:libmpi.so.12 -L"$prefix/lib/openmpi" -l:libmpi.so.40 \
        -Wl,-rpath,"$prefix/lib/mpich:$prefix/lib/openmpi" || return 1
    said=$("$work/two" 2>&1) && return 1
    echo "$said"
    grep -q 'two MPI libraries are in this process' <<<"$said" || return 1
    said=$("$prefix/bin/mpirun" -n 1 "$work/two" 2>&1) && return 1
    echo "$said"
    grep -q 'it needs libraries of two MPIs' <<<"$said"
}

# The program is named by a word that only PATH explains, or by a text that only a shell understands.
behind_others() {
    ${CC:-cc} -w -I"$root/compat/mpich/include" -o "$work/behind" "$work/two.c" -L"$prefix/lib/mpich" -l:libmpi.so.12 \
        -Wl,-rpath-link,"$prefix/lib" || return 1
    PATH=$work:$PATH "$prefix/bin/mpirun" -n 1 env A=1 behind || return 1
    PATH=$work:$PATH "$prefix/bin/mpirun" -n 1 timeout 50 behind || return 1
    "$prefix/bin/mpirun" -n 1 sh -c "exec '$work/behind'"
}

mixed() {
    ${CC:-cc} -w -I"$root/compat/mpich/include" -o "$work/mixed" "$work/two.c" -Wl,--no-as-needed \
        -L"$prefix/lib/mpich" -l:libmpi.so.12 -L"$prefix/lib" -l:libmpi_abi.so.1 \
        -Wl,-rpath,"$prefix/lib/mpich:$prefix/lib" || return 1
    said=$("$work/mixed" 2>&1) && return 1
    echo "$said"
    grep -q 'this process mixes two ABIs' <<<"$said"
}

# A library of a program of the standard ABI that was built for Open MPI's.
inner_part() {
    [ -e "$prefix/lib/openmpi/libmpi.so.40" ] || { why="the library is not installed" && return 77; }
    standard "int inner(void) { return MPI_Initialized(&(int){0}); }" -L"$prefix/lib/openmpi" -l:libmpi.so.40 \
        -Wl,-rpath,"$prefix/lib/openmpi" || return 1
    grep -q "libinner.so is linked with libmpi.so.40, of Open MPI, and something else with libmpi_abi.so.1" <<<"$said"
}

# The same with a library that is none of Tern's.
second_library() {
    mkdir -p "$work/second"
    ${CC:-cc} -shared -fPIC -x c /dev/null -o "$work/second/libmpi.so.40" -Wl,-soname,libmpi.so.40 || return 1
    standard "int inner(void) { return 0; }" -L"$work/second" -l:libmpi.so.40 -Wl,-rpath,"$work/second" || return 1
    grep -q "two MPI libraries are in this process: libmpi_abi.so.1.* and $work/second/libmpi.so.40" <<<"$said"
}

# standard SOURCE OPTIONS...: `said` is what a program of the standard ABI says that has a library of this source.
standard() {
    printf '#include <mpi.h>\n%s\n' "$1" >"$work/inner.c"
    shift
    ${CC:-cc} -w -shared -fPIC -I"$root/compat/openmpi/include" -o "$work/libinner.so" "$work/inner.c" \
        -Wl,--no-as-needed "$@" -Wl,-rpath-link,"$prefix/lib" || return 1
    ${CC:-cc} -w -I"$prefix/include" -o "$work/standard" "$work/two.c" -Wl,--no-as-needed -L"$prefix/lib" -l:libmpi_abi.so.1 \
        -L"$work" -linner -Wl,-rpath,"$prefix/lib:$work" -Wl,-rpath-link,"$prefix/lib/openmpi:$work/second" || return 1
    said=$("$work/standard" 2>&1) && return 1
    echo "$said"
}

unknown_abi() {
    said=$("$prefix/bin/mpirun" --abi lam true 2>&1) && return 1
    grep -q 'none of mpich, openmpi, standard and auto' <<<"$said"
}

contrary_abi() {
    ${CC:-cc} -w -I"$root/compat/openmpi/include" -o "$work/contrary" "$work/two.c" -L"$prefix/lib/openmpi" -l:libmpi.so.40 \
        -Wl,-rpath-link,"$prefix/lib" || return 1
    said=$("$prefix/bin/mpirun" --abi mpich -n 1 "$work/contrary" 2>&1) && return 1
    echo "$said"
    grep -q "is linked with libmpi.so.40, a library of Open MPI: --abi mpich is not for it" <<<"$said"
}

doctor() {
    ${CC:-cc} -w -I"$root/compat/mpich/include" -o "$work/one" "$work/two.c" -L"$prefix/lib/mpich" -l:libmpi.so.12 \
        -Wl,-rpath-link,"$prefix/lib" || return 1
    said=$("$prefix/bin/tern" doctor "$work/one")
    echo "$said"
    grep -q "under mpirun it runs on $prefix/lib/mpich/libmpi.so.12" <<<"$said"
}

# Of three names one is of Tern's library, and one of a library of the program's own.
doctor_of_names() {
    echo 'int mpi_of_my_own(void) { return 0; }' >"$work/own.c"
    echo 'int MPI_Wtime_of_tomorrow(void) { return 0; }' >"$work/tomorrow.c"
    cat >"$work/names.c" <<'C'
int MPI_Init(int *, char ***), mpi_of_my_own(void), MPI_Wtime_of_tomorrow(void);
int main(void) { MPI_Init(0, 0); return mpi_of_my_own() + MPI_Wtime_of_tomorrow(); }
C
    for name in own tomorrow; do
        ${CC:-cc} -shared -fPIC -o "$work/lib$name.so" "$work/$name.c" || return 1
    done
    ${CC:-cc} -o "$work/names" "$work/names.c" -L"$work" -lown -ltomorrow -L"$prefix/lib/mpich" -l:libmpi.so.12 \
        -Wl,-rpath,"$work" -Wl,-rpath-link,"$prefix/lib" || return 1
    "$prefix/bin/tern" doctor "$work/names" | grep 'asks for' && return 1
    ${CC:-cc} -shared -o "$work/libtomorrow.so" -x c /dev/null || return 1
    said=$("$prefix/bin/tern" doctor "$work/names")
    echo "$said"
    grep -q 'it asks for MPI_Wtime_of_tomorrow, which no library here has' <<<"$said"
}

# check WHAT COMMAND...: one test. 77 says that it cannot be made here, and `why`.
check() {
    what=$1 why=
    shift
    case $what in *"$filter"*) ;; *) return ;; esac
    "$@" >"$work/said" 2>&1
    case $? in
    0) passed=$((passed + 1)) ;;
    77) skip "$what" "$why" ;;
    *)  failed=$((failed + 1))
        echo "FAILED: $what"
        head -n 20 "$work/said" | sed 's/^/    /' ;;
    esac
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1: $2"
}

main
