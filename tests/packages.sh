#!/usr/bin/env bash
# Tries the packages of scripts/dist.sh in a clean Debian, as users install them: each in its own copy of the smallest system.
#
# usage: tests/packages.sh [FOLDER]
#
# FOLDER is build/dist unless named. Needs root, debootstrap, Debian's mirror and the Python package index. Nothing of this machine is
# changed: the systems lie under build/clean. The tarball for aarch64 is tried where there are qemu-aarch64 and the cross compiler.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly packages=$(realpath "${1:-build/dist}") clean=$PWD/build/clean suite=bookworm
passed=0 failed=0 skipped=0

main() {
    if ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
        echo "packages.sh: needs root and debootstrap" >&2
        echo "0 passed, 0 failed, 1 skipped"
        return
    fi
    make_base || { echo "0 passed, 1 failed, 0 skipped" && return 1; }
    attempt debian
    attempt tarball
    attempt wheel
    attempt_aarch64
    echo "$passed passed, $failed failed, $skipped skipped"
    ((failed == 0))
}

# The smallest system, once, with what this machine knows of mirrors.
make_base() {
    [[ -e $clean/base/ready ]] && return
    rm -rf "$clean/base"
    mkdir -p "$clean"
    debootstrap --variant=minbase "$suite" "$clean/base" >"$clean/base.log" 2>&1 || { tail -n 5 "$clean/base.log" && return 1; }
    local file
    for file in /etc/resolv.conf /etc/apt/apt.conf.d/*; do
        [[ -e $file ]] || continue
        case $file in *docker*) continue ;; esac
        mkdir -p "$clean/base${file%/*}" && cp -L "$file" "$clean/base$file"
    done
    touch "$clean/base/ready"
}

# attempt NAME: runs the function in_NAME as a script in a new system, in which /packages are the packages.
attempt() {
    local system=$clean/$1 log=$clean/$1.log
    rm -rf "$system"
    cp -a --reflink=auto "$clean/base" "$system"
    mkdir "$system/packages"
    cp "$packages"/*.deb "$packages"/*.whl "$packages"/*.tar.gz examples/hello.c /etc/ssl/certs/ca-certificates.crt "$system/packages/"
    # It has certificates of its own. Those of this machine may know a mirror.
    {
        echo 'set -eux; export DEBIAN_FRONTEND=noninteractive'
        echo 'export PIP_CERT=/packages/ca-certificates.crt; unset REQUESTS_CA_BUNDLE CURL_CA_BUNDLE'
        declare -f "in_$1"
        echo "in_$1"
    } >"$system/try.sh"
    # shellcheck disable=SC2016
    if unshare --mount --pid --fork bash -c \
        'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$1" /bin/sh /try.sh' try "$system" >"$log" 2>&1; then
        passed=$((passed + 1)) && echo "ok      $1"
    else
        failed=$((failed + 1)) && echo "FAILED  $1: $log" && tail -n 12 "$log"
    fi
    rm -rf "$system"
}

in_debian() {
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends /packages/tern-mpi_*_amd64.deb /packages/tern-mpi-dev_*_amd64.deb gcc libc6-dev pkgconf
    mpicc -o /tmp/hello /packages/hello.c
    mpirun -n 2 /tmp/hello
    # shellcheck disable=SC2046
    gcc -o /tmp/hello /packages/hello.c $(pkg-config --cflags --libs mpi)
    mpirun -n 2 /tmp/hello
    tern doctor
    apt-get remove -y -qq tern-mpi-dev tern-mpi
    [ ! -e /usr/bin/mpirun ] && [ ! -e /usr/bin/mpicc ] && [ ! -e /usr/lib/tern ]
    ! ls /etc/alternatives | grep '^mpi'
}

in_tarball() {
    mkdir /opt/tern
    tar -xzf /packages/tern-*-linux-x86_64.tar.gz -C /opt/tern --strip-components=1
    PATH=/opt/tern/bin:$PATH
    # There is no compiler yet, and an MPI program in the tarball.
    tern netpipe --quick --output /tmp/netpipe
    mpirun -n 2 true
    tern doctor
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends gcc libc6-dev
    mpicc -o /tmp/hello /packages/hello.c
    # It goes where it is moved.
    mv /opt/tern /srv/tern
    PATH=/srv/tern/bin:$PATH
    mpirun -n 2 /tmp/hello
}

in_wheel() {
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends python3-venv
    python3 -m venv /tmp/env
    PATH=/tmp/env/bin:$PATH
    pip install -q /packages/tern_mpi-*x86_64.whl mpi4py
    # The wheel of mpi4py finds it, under mpirun and without.
    cat >/tmp/ring.py <<'PY'
from mpi4py import MPI

comm = MPI.COMM_WORLD
assert "Tern" in MPI.Get_library_version(), MPI.Get_library_version()
assert comm.allreduce(comm.rank) == comm.size * (comm.size - 1) // 2
PY
    mpirun -n 3 python /tmp/ring.py
    python /tmp/ring.py
    # From source it is built with the wheel's mpicc.
    apt-get install -y -qq --no-install-recommends gcc libc6-dev python3-dev
    pip install -q --force-reinstall --no-cache-dir --no-binary mpi4py mpi4py
    mpirun -n 3 python /tmp/ring.py
}

# Programs, libraries and mpirun of aarch64, by the emulator. It cannot start programs by itself, so ranks are started through it.
attempt_aarch64() {
    local tree=$clean/aarch64 emulator="qemu-aarch64 -L /usr/aarch64-linux-gnu" tarball
    tarball=$(ls -v "$packages"/tern-*-linux-aarch64.tar.gz 2>/dev/null | tail -n 1)
    if [[ -z $tarball ]] || ! command -v qemu-aarch64 aarch64-linux-gnu-gcc >/dev/null; then
        skipped=$((skipped + 1)) && echo "skip    aarch64: no package, no emulator or no cross compiler"
        return
    fi
    rm -rf "$tree" && mkdir -p "$tree"
    tar -xzf "$tarball" -C "$tree" --strip-components=1
    # shellcheck disable=SC2086
    if aarch64-linux-gnu-gcc -o "$tree/hello" examples/hello.c -I"$tree/include" -L"$tree/lib" -lmpi_abi_c2f -lmpi_abi \
        -Wl,-rpath,"$tree/lib" >"$tree.log" 2>&1 && $emulator "$tree/bin/tern" --version >>"$tree.log" 2>&1 &&
        timeout 120 $emulator "$tree/bin/mpirun" -n 3 $emulator "$tree/hello" >>"$tree.log" 2>&1; then
        passed=$((passed + 1)) && echo "ok      aarch64"
    else
        failed=$((failed + 1)) && echo "FAILED  aarch64: $tree.log" && tail -n 12 "$tree.log"
    fi
}

main
