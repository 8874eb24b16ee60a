#!/bin/sh
# CMake's FindMPI reports for Fortran only what was installed: build trees do not depend on anybody's cache. The compiler is
# the one that installation found, by each of its names.
. "$(dirname "$0")/../common.sh"
cmake=$(command -v cmake || true)
[ -n "$cmake" ] || cmake=${PEERS_VENV:-/nonexistent}/bin/cmake
[ -x "$cmake" ] || skip "cmake is not installed and could not be"
gfortran=$(command -v gfortran || true)
[ -n "$gfortran" ] || skip "there is no gfortran"

cat >"$WORK/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.12)
project(hello C CXX Fortran)
find_package(MPI REQUIRED COMPONENTS C CXX Fortran)
foreach(language C CXX Fortran)
    foreach(path \${MPI_\${language}_INCLUDE_DIRS} \${MPI_\${language}_LIBRARIES})
        message(STATUS "path \${path}")
    endforeach()
endforeach()
message(STATUS "path \${MPI_Fortran_MODULE_DIR}")
add_executable(fortran_program hello.f90)
target_link_libraries(fortran_program MPI::MPI_Fortran)
CMAKE
cat >"$WORK/hello.f90" <<FORTRAN
program hello
    use mpi_f08
    implicit none
    call MPI_Init()
    print '(a)', 'ok'
    call MPI_Finalize()
end program
FORTRAN
printf '#!/bin/sh\nexec %s "$@"\n' "$gfortran" >"$WORK/compiler"
chmod +x "$WORK/compiler"
ln -s "$gfortran" "$WORK/fc"

# Nobody can make a folder below a file, not even root.
: >"$WORK/file"
export XDG_CACHE_HOME="$WORK/file/cache" TMPDIR="$WORK/file/tmp" PATH="$TERN_PREFIX/bin:$PATH"

number=0
for compiler in "" "$gfortran" "$(readlink -f "$gfortran")" "$WORK/fc" "$WORK/compiler"; do
    number=$((number + 1))
    if [ -n "$compiler" ]; then export MPIFORT_FC="$compiler"; fi
    run "$cmake" -S "$WORK" -B "$WORK/build$number"
    expect_lines 1 "path $TERN_PREFIX/lib/.*/libmpi_modules.a"
    if grep -- '-- path ' "$WORK/output" | grep -v -- "-- path $TERN_PREFIX/"; then
        fail "with MPIFORT_FC='$compiler' a path is outside of $TERN_PREFIX"
    fi
    run "$cmake" --build "$WORK/build$number"
    run env -u TMPDIR "$mpirun" -n 2 "$WORK/build$number/fortran_program"
    expect_lines 2 '^ok'
done
