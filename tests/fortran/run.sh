#!/usr/bin/env bash
# What of Fortran is not a program of the suite: wrong arguments that must not compile, messages of fatal errors, modules
# for another compiler, and C programs that talk with Fortran. The last line is `N passed, N failed`.
#
# usage: tests/fortran/run.sh PREFIX
set -uo pipefail

prefix=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

main() {
    if ! printf 'end\n' >"$work/none.f90" || ! "$prefix/bin/mpifort" -c "$work/none.f90" -o "$work/none.o" 2>/dev/null; then
        echo "skipped: no Fortran compiler, or no modules for it"
        echo "0 passed, 0 failed, 1 skipped"
        return
    fi
    wrong_arguments
    free_names
    named_constants
    old_programs
    fatal_errors
    another_compiler
    two_languages
    started_by_c
    profiling
    plugins
    wide_vectors
    no_libgfortran
    kernels
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# that NAME COMMAND...: the command must succeed.
that() {
    local name=$1
    shift
    if "$@" >"$work/output" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL  $name"
        sed 's/^/      | /' "$work/output" | head -20
    fi
}

# ------------------------------------------------------------ wrong arguments do not compile (section 19.1.2)

# compiles MODULE STATEMENT
compiles() {
    {
        echo "subroutine try(n, x, wide, comm, datatype, status, request, flag)"
        echo "   use $1"
        echo "   integer :: n, numbers(5)"
        echo "   real :: x(4)"
        echo "   integer(8) :: wide"
        echo "   logical :: flag"
        if [ "$1" = mpi_f08 ]; then
            echo "   type(MPI_Comm) :: comm; type(MPI_Datatype) :: datatype"
            echo "   type(MPI_Status) :: status; type(MPI_Request) :: request"
        else
            echo "   integer :: comm, datatype, status(MPI_STATUS_SIZE), request"
        fi
        echo "   call $2"
        echo "end subroutine try"
    } >"$work/try.f90"
    (cd "$work" && "$prefix/bin/mpifort" -c try.f90)
}

refused() {
    ! compiles "$@"
}

wrong_arguments() {
    local module send='MPI_Send(x, 4, datatype, n, n, comm'
    for module in mpi mpi_f08; do
        that "$module: a right call" compiles $module "$send, n)"
        that "$module: an error by its name" compiles $module 'MPI_Status_get_error(status=status, err=n, ierror=n)'
        that "$module: a source by its name" compiles $module "MPI_Precv_init(buf=x, partitions=2, count=2, datatype=datatype, &
            source=n, tag=n, comm=comm, info=MPI_INFO_NULL, request=request, ierror=n)"
        that "$module: too few arguments" refused $module 'MPI_Send(x, 4, datatype, n)'
        that "$module: too many arguments" refused $module "$send, n, n)"
        that "$module: a real for a count" refused $module 'MPI_Send(x, 4.0, datatype, n, n, comm, n)'
        that "$module: a wide integer for a rank" refused $module 'MPI_Send(x, 4, datatype, wide, n, comm, n)'
        that "$module: an integer for a logical" refused $module 'MPI_Test(request, n, status, n)'
        that "$module: a logical for an integer" refused $module 'MPI_Comm_rank(comm, flag, n)'
        that "$module: a short integer for a displacement" refused $module \
            'MPI_Type_create_resized(datatype, n, n, datatype, n)'
        that "$module: a number for a string" refused $module 'MPI_Comm_set_name(comm, n, n)'
        that "$module: a constant to be written" refused $module 'MPI_Comm_size(comm, 5, n)'
    done
    that "mpi: a wide count" refused mpi 'MPI_Send(x, wide, datatype, n, n, comm, n)'
    that "mpi: without ierror" refused mpi "$send)"
    that "mpi: a scalar for a status" refused mpi 'MPI_Wait(request, n, n)'
    that "mpi_f08: a wide count" compiles mpi_f08 'MPI_Send(x, wide, datatype, n, n, comm)'
    that "mpi_f08: without ierror" compiles mpi_f08 "$send)"
    that "mpi_f08: an integer for a handle" refused mpi_f08 'MPI_Send(x, 4, datatype, n, n, n)'
    that "mpi_f08: a handle of another type" refused mpi_f08 'MPI_Send(x, 4, comm, n, n, comm)'
    that "mpi_f08: integers for a status" refused mpi_f08 'MPI_Wait(request, numbers)'
}

# ------------------------------------------------------------ all other names are the program's (section 19.1.1)

free_names() {
    local module
    for module in mpi mpi_f08; do
        cat >"$work/names.f90" <<FORTRAN
program names
   use $module
   implicit none
   integer :: equal_comm, unequal_op, c_ptr, index, count, status, request, comm, types, constants
   equal_comm = 1; unequal_op = 1; c_ptr = 1; index = 1; count = 1; status = 1; request = 1; comm = 1
   types = 1; constants = 1
   if (MPI_COMM_WORLD == MPI_COMM_SELF) stop 1
end program names
FORTRAN
        that "$module takes no names but MPI's" "$prefix/bin/mpifort" -o "$work/names" "$work/names.f90"
    done
}

# ------------------------------------------------------------ all modules have all named constants (section 19.1.2)

# Each constant of the ABI's table that Fortran has, by each of the three interfaces.
named_constants() {
    local interface
    for interface in mpif.h mpi mpi_f08; do
        constants_of $interface >"$work/constants.f90"
        that "$interface has a table to be compared with" [ "$(wc -l <"$work/constants.f90")" -gt 300 ]
        that "$interface has all named constants" "$prefix/bin/mpifort" -o "$work/constants" "$work/constants.f90"
        that "$interface has the ABI's values" "$work/constants"
    done
}

# constants_of INTERFACE: a program that ends badly if a value is wrong, and cannot be compiled if a name is missing.
constants_of() {
    local name
    echo 'program constants'
    [ "$1" = mpif.h ] || echo "   use $1"
    echo '   implicit none'
    [ "$1" != mpif.h ] || echo "   include 'mpif.h'"
    echo '   external takes'
    echo '   integer :: wrong = 0'
    table | while read -r name type value; do one_constant "$1" "$name" "$type" "$value"; done
    for name in MPI_SUBARRAYS_SUPPORTED MPI_ASYNC_PROTECTS_NONBLOCKING; do
        # Modules have descriptors of C, mpif.h has not.
        echo "   if ($name .neqv. $([ "$1" = mpif.h ] && echo .false. || echo .true.)) call differs('$name')"
    done
    echo '   if (wrong > 0) error stop'
    echo 'contains'
    echo '   subroutine differs(name)'
    echo '      character(*), intent(in) :: name'
    echo "      print '(2a)', name, ' has another value'"
    echo '      wrong = wrong + 1'
    echo '   end subroutine differs'
    echo 'end program constants'
    printf 'subroutine takes(function)\n   external function\nend subroutine takes\n'
}

# The ABI's table, and what only Fortran has. Extensions, MPI_T and the words of C for Fortran's statuses are for C alone.
table() {
    grep -Ev '^#|^MPIX_|^MPI_(T|F)_|^MPI_ABI_Count' "$(dirname "$0")/../../abi/tables/constants.tsv"
    printf '%s\tint\t%s\n' MPI_SOURCE 1 MPI_TAG 2 MPI_ERROR 3 MPI_STATUS_SIZE 8 MPI_ADDRESS_KIND 8 MPI_COUNT_KIND 8 \
        MPI_OFFSET_KIND 8 MPI_INTEGER_KIND 4
}

# one_constant INTERFACE NAME TYPE VALUE
one_constant() {
    local name=$2 value=$4
    case $3 in
    *_function\* | *_function_c\*)
        case $1:$name in
        # What is deprecated is not in mpi_f08, and large counts are nowhere else.
        mpi_f08:MPI_NULL_* | mpi_f08:MPI_DUP_FN | mpi:*_C | mpif.h:*_C) ;;
        *) echo "   call takes($name)" ;;
        esac
        return
        ;;
    *\*)
        # Its meaning is its address.
        echo "   if (storage_size($name) == 0) call differs('$name')"
        return
        ;;
    int) case $name in MPI_MAX_*) value=$((value - 1)) ;; esac ;; # without C's final null (section 19.3.9)
    MPI_Offset | alias) ;;
    *) [ "$1" != mpi_f08 ] || name=$name%MPI_VAL ;;
    esac
    case $3 in
    alias) echo "   if (${name} /= $value) call differs('$name')" ;;
    *) echo "   if ($name /= $((value))) call differs('$name')" ;;
    esac
}

# ------------------------------------------------------------ programs with mpif.h compile as they are

old_programs() {
    cat >"$work/old.f" <<'FORTRAN'
      program old
      include 'mpif.h'
      integer ierror, whole(4)
      double precision real8(4)
      integer mask
      parameter (mask = z'7fffffff')
      call MPI_Init(ierror)
      call MPI_Bcast(whole, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call MPI_Bcast(real8, 4, MPI_DOUBLE_PRECISION, 0,
     &     MPI_COMM_WORLD, ierror)
      call MPI_Finalize(ierror)
      end
FORTRAN
    that "buffers of several types and old constants compile" "$prefix/bin/mpifort" -o "$work/old" "$work/old.f"
    that "and run" "$prefix/bin/mpirun" --timeout 20 -n 2 "$work/old"
    that "wide integers are refused" wide_integers
    case $("$prefix/bin/mpifort" -showme:command) in
    *gfortran*) that "MPIFORT_STRICT refuses them" not env MPIFORT_STRICT=1 "$prefix/bin/mpifort" -o "$work/old" "$work/old.f" ;;
    esac
}

not() { ! "$@"; }

# wide_integers: refused, by an error in the header where its reason stands
wide_integers() {
    case $("$prefix/bin/mpifort" -showme:command) in
    *gfortran*)
        "$prefix/bin/mpifort" -fdefault-integer-8 -c "$work/old.f" -o "$work/wide.o" >"$work/said" 2>&1
        grep -q 'mpif.h:.*:' "$work/said"
        ;;
    esac
}

# ------------------------------------------------------------ errors end with the message that C has

fatal_errors() {
    cat >"$work/fatal.f90" <<'FORTRAN'
program fatal
   use mpi_f08
   integer :: x(4, 4)
   call MPI_Init()
   call MPI_Send(x(1, :), 4, MPI_INTEGER, 7, 0, MPI_COMM_WORLD)
end program fatal
FORTRAN
    that "a fatal error is compiled" "$prefix/bin/mpifort" -o "$work/fatal" "$work/fatal.f90"
    "$prefix/bin/mpirun" --timeout 20 -n 1 "$work/fatal" >"$work/said" 2>&1
    that "it ends the job and names call and argument" grep -q 'MPI_Send on MPI_COMM_WORLD.*dest is 7' "$work/said"
    too_early MPI_Send 'x(1, :), 4, MPI_INTEGER, 0, 0, MPI_COMM_WORLD'
    too_early MPI_Buffer_attach 'x(1, :), 16'
}

# too_early CALL ARGUMENTS: a section before MPI_Init is an error of the call, not of what its datatype is made with
too_early() {
    printf 'program early\n   use mpi_f08\n   integer :: x(4, 4) = 0\n   call %s(%s)\nend program early\n' "$1" "$2" \
        >"$work/early.f90"
    that "$1 before MPI_Init is compiled" "$prefix/bin/mpifort" -o "$work/early" "$work/early.f90"
    "$prefix/bin/mpirun" --timeout 20 -n 1 "$work/early" >"$work/said" 2>&1
    that "$1 says that it comes too early" grep -q "$1.*: called before MPI_Init" "$work/said"
    that "and nothing else does" sh -c "! grep 'called before MPI_Init' '$work/said' | grep -qv $1"
}

# ------------------------------------------------------------ modules for a compiler that came later

another_compiler() {
    mkdir -p "$work/other"
    # The installed modules are for all compilers that say the same.
    printf '#!/bin/sh\n[ "$1" != --version ] || exec echo GNU Fortran, but another 99\nexec %s "$@"\n' \
        "$(command -v gfortran || command -v flang)" >"$work/other/fortran"
    chmod +x "$work/other/fortran"
    that "modules are compiled for another compiler" env XDG_CACHE_HOME="$work/cache" "$prefix/bin/mpifort" \
        "-fc=$work/other/fortran" -o "$work/again" "$work/fatal.f90"
    that "into the cache of the user" \
        sh -c "find '$work/cache/tern/fortran' -name mpi_f08.mod | grep -q ."
    rm "$work"/cache/tern/fortran/*/mpi_f08.mod
    that "again when a module is missing" env XDG_CACHE_HOME="$work/cache" "$prefix/bin/mpifort" "-fc=$work/other/fortran" \
        -J "$work" -c "$work/fatal.f90" -o "$work/again.o"
    killed_while_it_compiles
    truncate -s 1000 "$work"/cache/tern/fortran/*/mpi_f08.mod
    that "again when one is cut" env XDG_CACHE_HOME="$work/cache" "$prefix/bin/mpifort" "-fc=$work/other/fortran" \
        -c "$work/fatal.f90" -o "$work/again.o"
    that "what a killed one left is removed then" sh -c "! ls -d '$work'/cache/tern/fortran/*.new*"
    that "where home cannot be written, among the temporary files" env -u XDG_CACHE_HOME HOME=/proc TMPDIR="$work" \
        "$prefix/bin/mpifort" "-fc=$work/other/fortran" -c "$work/fatal.f90" -o "$work/again.o"
    chmod o+w "$work/tern-$(id -u)"
    that "but not in a folder that is open to others" refused_folder "$work/other/fortran"
    cp -r "$prefix" "$work/moved"
    that "a copied tree has its modules" sh -c "HOME=/proc '$work/moved/bin/mpifort' -showme:compile | grep -q '$work/moved/lib'"
    rm -r "$work/moved"
    that "-show names folders that are there" folders_of_show "$work/fresh" "$work/other/fortran"
    that "a compiler that is not there is an error that says so" \
        sh -c "'$prefix/bin/mpifort' -fc=no-such-compiler -c '$work/none.f90' 2>&1 | grep -q no-such-compiler"
}

# A compiler that kills the wrapper which has called it.
killed_while_it_compiles() {
    printf '#!/bin/sh\ncase $1 in --version | -dumpmachine) echo killer ;; *) kill -KILL $PPID ;; esac\n' >"$work/other/killer"
    chmod +x "$work/other/killer"
    # A shell between takes the message of its end.
    XDG_CACHE_HOME="$work/cache" sh -c '"$@"; exit 0' sh "$prefix/bin/mpifort" "-fc=$work/other/killer" -c "$work/fatal.f90" \
        >"$work/said" 2>&1
    that "one that is killed leaves its folder" sh -c "ls -d '$work'/cache/tern/fortran/killer-*.new*"
}

# refused_folder COMPILER: modules of the temporary folder are linked into programs, so nobody else may write there
refused_folder() {
    env -u XDG_CACHE_HOME HOME=/proc TMPDIR="$work" "$prefix/bin/mpifort" "-fc=$1" -c "$work/fatal.f90" -o "$work/again.o" \
        2>"$work/said" && return 1
    grep -q 'not mine alone' "$work/said"
}

# folders_of_show CACHE COMPILER: what a build system takes from the answer must be there though nothing was compiled before
folders_of_show() {
    local flag found=0
    for flag in $(XDG_CACHE_HOME="$1" "$prefix/bin/mpifort" "-fc=$2" -showme:compile); do
        case $flag in -I*) found=1 && [ -d "${flag#-I}" ] || return 1 ;; esac
    done
    [ "$found" = 1 ]
}

# ------------------------------------------------------------ handles and statuses of one language in the other (19.3)

two_languages() {
    cat >"$work/side.c" <<'C'
#include <mpi_abi_fort.h>
#include <string.h>
/* Called from Fortran: sees its communicator and status, and gives a datatype back. */
int side_(MPI_Fint *comm, MPI_Fint *status, MPI_Fint *type)
{
    int size;
    MPI_Status c_status;
    MPI_Datatype made;
    if (status == MPI_F_STATUS_IGNORE) return -1;
    MPI_Status_f2c(status, &c_status);
    MPI_Comm_size(MPI_Comm_f2c(*comm), &size);
    MPI_Type_contiguous(3, MPI_INT, &made);
    MPI_Type_commit(&made);
    *type = MPI_Type_c2f(made);
    return size * 1000 + c_status.MPI_TAG;
}
/* Attributes (section 19.3.7): C sees the address of what Fortran has set, and sets an address itself. */
int attribute_(MPI_Fint *comm, MPI_Fint *theirs, MPI_Fint *mine, MPI_Aint *place)
{
    void *found;
    int flag;
    static int value;
    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *theirs, &found, &flag);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, mine, NULL);
    MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *mine, &value);
    *place = (MPI_Aint)&value;
    return flag ? (int)*(MPI_Aint *)found : -1;
}
C
    cat >"$work/main.f90" <<'FORTRAN'
program main
   use mpi
   integer :: status(MPI_STATUS_SIZE), datatype, x, error, size
   integer(MPI_ADDRESS_KIND) :: place, found
   integer :: theirs, mine
   logical :: flag
   integer, external :: side, attribute
   call MPI_Init(error)
   call MPI_Sendrecv(1, 1, MPI_INTEGER, 0, 42, x, 1, MPI_INTEGER, 0, 42, MPI_COMM_SELF, status, error)
   if (side(MPI_COMM_SELF, status, datatype) /= 1042) error stop 'C saw something else'
   if (side(MPI_COMM_SELF, MPI_STATUS_IGNORE, datatype) /= -1) error stop 'C does not know MPI_STATUS_IGNORE'
   call MPI_Type_size(datatype, size, error)
   if (size /= 12) error stop 'a datatype of C is another here'
   call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, theirs, 0_MPI_ADDRESS_KIND, error)
   call MPI_Comm_set_attr(MPI_COMM_SELF, theirs, 11_MPI_ADDRESS_KIND, error)
   if (attribute(MPI_COMM_SELF, theirs, mine, place) /= 11) error stop 'C sees another attribute'
   call MPI_Comm_get_attr(MPI_COMM_SELF, mine, found, flag, error)
   if (.not. flag .or. found /= place) error stop 'an attribute of C is another here'
   call MPI_Finalize(error)
end program main
FORTRAN
    that "a C function beside Fortran is compiled" "$prefix/bin/mpicc" -Wall -Werror -c "$work/side.c" -o "$work/side.o"
    that "and linked" "$prefix/bin/mpifort" -o "$work/both" "$work/main.f90" "$work/side.o"
    that "both see the same" "$prefix/bin/mpirun" --timeout 20 -n 1 "$work/both"
}

# Section 20.5: what is known of Fortran does not depend on who starts MPI.
started_by_c() {
    printf 'subroutine part()\nend subroutine part\n' >"$work/part.f90"
    cat >"$work/starts.c" <<'C'
#include <mpi.h>
#include <stddef.h>
void part_(void);
int main(void)
{
    MPI_Info info;
    MPI_Init(NULL, NULL);
    part_();
    if (MPI_Abi_get_fortran_info(&info) != MPI_SUCCESS || info == MPI_INFO_NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Info_free(&info);
    return MPI_Finalize();
}
C
    that "a C main program is compiled" "$prefix/bin/mpicc" -c "$work/starts.c" -o "$work/starts.o"
    # The linker must not leave out a library that this little program does not call.
    that "and linked with Fortran" "$prefix/bin/mpifort" -Wl,--no-as-needed -o "$work/starts" "$work/part.f90" "$work/starts.o"
    that "it knows of Fortran" "$prefix/bin/mpirun" --timeout 20 -n 1 "$work/starts"
}

# ------------------------------------------------------------ a tool defines a name and calls the one with a P (19.1.5)

profiling() {
    cat >"$work/tool.c" <<'C'
#include <mpi.h>
#include <stdio.h>
void pmpi_barrier_f08_(MPI_Fint *comm, MPI_Fint *ierror);
void mpi_barrier_f08_(MPI_Fint *comm, MPI_Fint *ierror)
{
    puts("the tool saw a barrier");
    fflush(stdout);
    pmpi_barrier_f08_(comm, ierror);
}
void pmpi_send_f08ts(void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *ierror);
void mpi_send_f08ts(void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *ierror)
{
    printf("the tool saw %d to send\n", *count);
    fflush(stdout);
    pmpi_send_f08ts(buf, count, type, dest, tag, comm, ierror);
}
C
    cat >"$work/watched.f90" <<'FORTRAN'
program watched
   use mpi_f08
   integer :: x(3)
   call MPI_Init()
   call MPI_Barrier(MPI_COMM_WORLD)
   call MPI_Send(x, 3, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
   call MPI_Finalize()
end program watched
FORTRAN
    that "a tool is compiled" "$prefix/bin/mpicc" -c "$work/tool.c" -o "$work/tool.o"
    that "and linked before the library" "$prefix/bin/mpifort" -o "$work/watched" "$work/watched.f90" "$work/tool.o"
    "$prefix/bin/mpirun" --timeout 20 -n 1 "$work/watched" >"$work/said" 2>&1
    that "it sees calls without buffers" grep -q 'saw a barrier' "$work/said"
    that "it sees calls with buffers" grep -q 'saw 3 to send' "$work/said"
}

# ------------------------------------------------------------ libraries that a C program opens, each out of the others' sight

plugins() {
    local module
    cat >"$work/host.c" <<'C'
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_Init(NULL, NULL);
    for (int i = 1; i < argc; i++) {
        int sum = -1;
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) return puts(dlerror()), 1;
        ((void (*)(int *))dlsym(library, "plugin"))(&sum);
        if (sum != 10) wrong = printf("%s has %d\n", argv[i], sum);
    }
    MPI_Finalize();
    return wrong != 0;
}
C
    for module in mpi mpi_f08 mpif.h; do
        {
            echo "subroutine plugin(x) bind(C, name='plugin')"
            [ $module = mpif.h ] || echo "   use $module"
            echo '   implicit none'
            [ $module != mpif.h ] || echo "   include 'mpif.h'"
            echo '   integer :: x, error'
            echo '   x = 5'
            echo '   call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)'
            echo 'end subroutine plugin'
        } >"$work/plugin.f90"
        that "a library with $module is linked" "$prefix/bin/mpifort" -shared -fPIC -o "$work/$module.so" "$work/plugin.f90"
    done
    that "a host is compiled" "$prefix/bin/mpicc" -o "$work/host" "$work/host.c" -ldl
    that "MPI_IN_PLACE is known in each library" "$prefix/bin/mpirun" --timeout 20 -n 2 "$work/host" \
        "$work/mpi.so" "$work/mpi_f08.so" "$work/mpif.h.so"
}

# Procedures of the modules that the library lacks. A bind(C) name (of calls with buffers) has no underscore behind it.
missing_names() {
    local library=$prefix/lib/libmpifort_abi.so.1
    sed -En 's/^[^!]*(subroutine|function) +(P?MPI_[A-Za-z0-9_]+) *\(.*/\2/p' "$prefix/share/tern/fortran/mpi.f90" \
        "$prefix/share/tern/fortran/mpi_f08.f90" | tr '[:upper:]' '[:lower:]' | grep -Ev '_function(_c)?$' |
        sed -E '/_(f08ts|fts)$/!s/$/_/' | sort -u >"$work/declared"
    nm -D --defined-only "$library" | cut -d ' ' -f 3 | sort -u >"$work/defined"
    [ "$(wc -l <"$work/declared")" -gt 2000 ] || echo "few names are declared"
    comm -23 "$work/declared" "$work/defined"
}

# For such processors gfortran aligns common blocks more, and the linker tells of those that a library aligns less.
wide_vectors() {
    [ "$(uname -m)" = x86_64 ] || return 0
    printf '%s\n' '   use mpi' '   integer :: x, error' '   x = 1' '   call MPI_Init(error)' \
        '   call MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, x, MPI_ERRCODES_IGNORE, error)' \
        '   call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)' 'end' >"$work/wide.f90"
    that "programs for wide vectors link without a warning" "$prefix/bin/mpifort" -march=skylake-avx512 \
        -Wl,--fatal-warnings -o "$work/wide" "$work/wide.f90"
}

no_libgfortran() {
    local library=$prefix/lib/libmpifort_abi.so.1
    that "all names that the modules declare are there" sh -c '[ -z "$1" ]' sh "$(missing_names)"
    that "all exported names are MPI's" sh -c "! nm -D --defined-only '$library' | cut -d ' ' -f 3 | grep -Ev '^P?MPI_|^p?mpi_'"
    that "C programs do not need libgfortran" sh -c "! readelf -d '$prefix/lib/libmpifort_abi.so.1' | grep -q gfortran"
}

# ------------------------------------------------------------ the kernels of bench/nas have the published results

kernels() {
    local sources kernel
    sources=$(cd "$(dirname "$0")/../../bench/nas" && pwd)
    that "is compiles" "$prefix/bin/mpicc" -O2 -Wall -Wextra -Werror -o "$work/is" "$sources/is.c"
    for kernel in ep cg ft mg; do
        that "$kernel compiles" "$prefix/bin/mpifort" -O2 -std=f2018 -Wall -Werror -J "$work" -o "$work/$kernel" \
            "$sources/nas.f90" "$sources/$kernel.f90"
    done
    for kernel in ep is cg ft mg; do
        that "$kernel has the published result" "$prefix/bin/mpirun" --timeout 60 -n 2 "$work/$kernel" S
    done
}

main
