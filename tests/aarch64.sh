#!/usr/bin/env bash
# Builds the library for aarch64 and runs the programs of the conformance suite under qemu, over shared memory and TCP. What
# starts them is the mpirun of this machine. An emulator on x86-64 does not reorder memory as an ARM core may: for that there
# are the model checks.
#
# usage: tests/aarch64.sh PREFIX [PROGRAM...]
# Needs (Debian's names) gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user, and `rustup target add aarch64-unknown-linux-gnu`.
set -euo pipefail

readonly prefix="$(realpath "$1")"
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly target=aarch64-unknown-linux-gnu compiler=aarch64-linux-gnu-gcc
readonly place="$PWD/build/aarch64"
# They need more time or memory than an emulator should be given.
# Two of them ask the kernel for counters of sockets, or for memory, which are the emulator's.
readonly left_out="spawn_near spawn_pool flood_eager flood_large large_count large_message oversubscribed threads_stress"
failed=0 passed=0

main() {
    build_library
    local programs=("$@") program
    if (($# == 0)); then programs=($(basename -s .c tests/c/*.c)); fi
    for program in "${programs[@]}"; do
        if [[ $# == 0 && " $left_out " == *" $program "* ]]; then continue; fi
        make_program "$program"
        run_program "$program" shm
        if ! grep -q '^ \* instances: default' "tests/c/$program.c"; then run_program "$program" tcp; fi
    done
    echo "$passed passed, $failed failed"
    ((failed == 0))
}

build_library() {
    mkdir -p "$place"
    env CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="$compiler" CC_aarch64_unknown_linux_gnu="$compiler" \
        cargo build --quiet --release --target "$target" -p tern-mpi
    cp "${CARGO_TARGET_DIR:-target}/$target/release/libmpi_abi.so" "$place/libmpi_abi.so.1"
    ln -sf libmpi_abi.so.1 "$place/libmpi_abi.so"
    local name
    for name in handles statuses; do
        "$compiler" -std=gnu11 -O2 -fPIC -Iabi/include -c "fortran/glue/$name.c" -o "$place/$name.o"
    done
    aarch64-linux-gnu-ar -rcs "$place/libmpi_abi_c2f.a" "$place"/{handles,statuses}.o
}

# What runs is a script, so that programs can start themselves again by the name that they were called by.
make_program() {
    "$compiler" -O2 -pthread -I"$prefix/include" -Itests/c "tests/c/$1.c" -o "$place/$1.aarch64" \
        -L"$place" -lmpi_abi_c2f -lmpi_abi -lm
    cat >"$place/$1" <<EOF
#!/bin/sh
exec qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$place" -0 "\$0" "$place/$1.aarch64" "\$@"
EOF
    chmod +x "$place/$1"
}

# The most ranks of the program's header, but no more than four.
ranks_of() {
    sed -n 's/^ \* ranks: //p' "tests/c/$1.c" | tr ' ' '\n' | awk '$1 <= 4 && $1 > most { most = $1 } END { print most ? most : 1 }'
}

run_program() {
    local log="$place/$1.$2.log"
    if TERN_TRANSPORT="$2" "$prefix/bin/mpirun" --timeout 120 -n "$(ranks_of "$1")" "$place/$1" >"$log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL  $1 over $2: $log"
    fi
}

main "$@"
