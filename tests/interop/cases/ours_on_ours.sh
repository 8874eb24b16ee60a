#!/bin/sh
# The same program by Tern's mpicc on Tern: the library is found by the path in the program.
. "$(dirname "$0")/../common.sh"
run "$mpicc" -Wall -Wextra -Werror -o "$WORK/tour" "$here/abi_tour.c"
for ranks in 1 3; do
    run env -u LD_LIBRARY_PATH "$mpirun" -n "$ranks" "$WORK/tour"
    expect_lines "$ranks" "^ok [0-9]* of $ranks on Tern"
done
run "$mpicxx" -Wall -Wextra -Werror -o "$WORK/cxx" "$here/cxx_hello.cc"
run env -u LD_LIBRARY_PATH "$mpirun" -n 2 "$WORK/cxx"
expect_lines 2 '^ok'
