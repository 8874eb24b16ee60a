#!/bin/sh
# CMake's FindMPI finds Tern, for C and for C++, from its wrappers in PATH.
. "$(dirname "$0")/../common.sh"
cmake=$(command -v cmake || true)
[ -n "$cmake" ] || cmake=${PEERS_VENV:-/nonexistent}/bin/cmake
[ -x "$cmake" ] || skip "cmake is not installed and could not be"

cat >"$WORK/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.12)
project(hello C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
message(STATUS "version \${MPI_C_VERSION}")
add_executable(c_program $here/profiled.c)
target_link_libraries(c_program MPI::MPI_C)
add_executable(cxx_program $here/cxx_hello.cc)
target_link_libraries(cxx_program MPI::MPI_CXX)
CMAKE
export PATH="$TERN_PREFIX/bin:$PATH"
run "$cmake" -S "$WORK" -B "$WORK/build"
expect_lines 1 'version 5.0'
expect_lines 1 "Found MPI_C: $TERN_PREFIX/lib/libmpi_abi_c2f.a"
run "$cmake" --build "$WORK/build"
run "$mpirun" -n 2 "$WORK/build/c_program"
run "$mpirun" -n 2 "$WORK/build/cxx_program"
expect_lines 2 '^ok'
