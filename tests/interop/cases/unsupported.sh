#!/bin/sh
# What is not built yet says so, by name; and the library tells which functions these are.
. "$(dirname "$0")/../common.sh"
run "$mpicc" -o "$WORK/unsupported" "$here/unsupported.c"
run "$mpirun" -n 1 "$WORK/unsupported"
expect_lines 1 '^ok$'
run nm -D "$TERN_PREFIX/lib/libmpi_abi.so.1"
expect_lines 1 ' tern_unsupported_MPI_File_open$'
expect_lines 0 ' tern_unsupported_MPI_Send$'
