#!/bin/sh
# mpicc and mpicxx: compile-only, link-only, questions, another compiler, a moved tree, pkg-config.
. "$(dirname "$0")/../common.sh"
cd "$WORK"
cp "$here/profiled.c" program.c

compile_and_link_apart() {
    run "$mpicc" -c program.c -o program.o
    run "$mpicc" program.o -o program
    run ./program
    run "$mpicc" -E program.c
    run "$mpicc" -v
    run "$TERN_PREFIX/bin/mpic++" -x c++ -c program.c -o program_cxx.o
}

answer_questions() {
    shown=$("$mpicc" -show -O2 program.c -o program)
    expect_match "$shown" "^cc -O2 program.c -o program .*-I$TERN_PREFIX/include .*-lmpi_abi"
    expect_no_match "$("$mpicc" -show -c program.c)" lmpi_abi
    expect_match "$("$mpicxx" -showme:link)" "-L$TERN_PREFIX/lib"
    expect_match "$("$mpicc" -compile-info)" "-I$TERN_PREFIX/include"
    expect_match "$("$mpicc" -link-info)" lmpi_abi
}

use_another_compiler() {
    expect_match "$(MPICC_CC='gcc -m64' "$mpicc" -show)" '^gcc -m64 '
    expect_match "$(MPICXX_CXX=g++ "$mpicxx" -show)" '^g++ '
    expect_match "$(MPICC_CC=gcc "$mpicc" -cc=clang -show)" '^clang '
    ! "$mpicc" -cc=no-such-compiler program.c 2>message || fail "a missing compiler was not noticed"
    expect_match "$(cat message)" 'no-such-compiler.*MPICC_CC'
}

# The tree is copied elsewhere, and a link to the wrapper is called: both must find the copy's library.
move_the_tree() {
    cp -a "$TERN_PREFIX/." moved
    ln -s "$WORK/moved/bin/mpicc" linked-mpicc
    expect_match "$(./linked-mpicc -show)" "-I$WORK/moved/include"
    run ./linked-mpicc program.c -o moved-program
    run env -u LD_LIBRARY_PATH ldd moved-program
    expect_lines 1 "libmpi_abi.so.1 => $WORK/moved/lib/"
    rm -r moved
}

ask_pkg_config() {
    command -v pkg-config >/dev/null || fail "pkg-config is not installed"
    flags=$(PKG_CONFIG_PATH=$TERN_PREFIX/lib/pkgconfig pkg-config --cflags --libs mpi)
    # shellcheck disable=SC2086 # the flags are words
    run cc program.c -o by-pkg-config $flags
    run ./by-pkg-config
    # Before pkgconf took its name, pkg-config quoted nothing.
    case $(pkg-config --version) in 0.*) ;; *) ask_for_a_path_with_blanks ;; esac
}

ask_for_a_path_with_blanks() {
    mkdir 'a tree'
    cp -a "$TERN_PREFIX/include" "$TERN_PREFIX/lib" 'a tree'
    flags=$(PKG_CONFIG_PATH="$WORK/a tree/lib/pkgconfig" pkg-config --cflags --libs mpi)
    eval "run cc program.c -o among-blanks $flags"
    run env -u LD_LIBRARY_PATH ldd among-blanks
    expect_lines 1 "libmpi_abi.so.1 => $WORK/a tree/"
    run env -u LD_LIBRARY_PATH ./among-blanks
    rm -r 'a tree'
}

compile_and_link_apart
answer_questions
use_another_compiler
move_the_tree
ask_pkg_config
