#!/bin/bash
# Makes the packages: a tarball that runs where it is unpacked, a wheel, a pair of Debian packages, a list of licenses, checksums.
#
# usage: dist.sh [--tree PREFIX] [--machine x86_64|aarch64] [FOLDER]
#
# FOLDER is build/dist unless named. Without --tree everything is built optimized, without symbols, and staged first. For another
# processor than this one, Debian's cross compiler builds (g++-aarch64-linux-gnu), qemu-user runs what prints manual pages, and the
# modules of Fortran are left to the users' mpifort. The
# version is that of Cargo.toml. What is built here runs with glibc 2.28 and newer (manylinux_2_28), if zig can be had: its linker
# knows which symbols old versions have. Otherwise it needs the glibc of this machine, and the wheel's tag says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tree= machine=$(uname -m)
while [[ ${1:-} == --* ]]; do
    case $1 in
    --tree) tree=$(realpath "$2") ;;
    --machine) machine=$2 ;;
    *) echo "dist: there is no option $1" >&2 && exit 2 ;;
    esac
    shift 2
done
case $machine in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) echo "dist: Tern is not built for $machine" >&2 && exit 2 ;;
esac
out=$(realpath -m "${1:-build/dist}")
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
readonly name="tern-$version-linux-$machine"

main() {
    mkdir -p "$out"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    stage
    complete "$work/$name"
    tarball
    wheel
    if command -v dpkg-deb >/dev/null; then debian; else echo "dist: no dpkg-deb: no Debian packages" >&2; fi
    cp "$work/$name/share/doc/tern/NOTICES.md" "$out/LICENSES-$version.md"
    (cd "$out" && sha256sum -- *"$version"* >"SHA256SUMS")
    (cd "$out" && ls -l)
}

# The tree in a folder of the package's name. A copy of the runtime's own files only: what is found by $ORIGIN stays found.
stage() {
    if [[ -z $tree ]]; then
        if [[ $machine != "$(uname -m)" ]]; then for_another_machine; fi
        for_old_systems
        scripts/stage.sh --symbols none "$work/$name"
    else
        cp -a "$tree" "$work/$name"
    fi
    if [[ -n ${ZIG:-} ]]; then of_zig >>"$work/$name/share/doc/tern/NOTICES.md"; fi
    find "$work/$name" -name '.debug' -prune -exec rm -rf {} +
}

# Links with the symbols that glibc 2.28 has. ZIG names zig, also in several words.
for_old_systems() {
    if [[ -z ${ZIG:-} ]] && command -v zig >/dev/null; then ZIG=zig; fi
    if [[ -z ${ZIG:-} ]]; then
        [[ -x build/zig/bin/python ]] || python3 -m venv build/zig || true
        if build/zig/bin/pip install -q ziglang; then ZIG="$PWD/build/zig/bin/python -m ziglang"; fi
    fi
    if [[ -z ${ZIG:-} ]]; then
        echo "dist: no zig (pip install ziglang): the packages need the C library of this machine or a newer one" >&2
        return
    fi
    local linker="$PWD/scripts/zig-cc.sh" target
    target=$(tr 'a-z-' 'A-Z_' <<<"$machine-unknown-linux-gnu")
    # Beside what is built for this machine: a change of linker builds all anew.
    export ZIG GLIBC=2.28 MACHINE=$machine CARGO_TARGET_DIR="$PWD/target/dist" MPICC_CC="$linker"
    export "CARGO_TARGET_${target}_LINKER=$linker"
}

# Compiles for another processor than this one, and has an emulator run what a build prints of itself.
for_another_machine() {
    local tools="$machine-linux-gnu-" target="$machine-unknown-linux-gnu"
    export CARGO_BUILD_TARGET=$target RUNNER="qemu-$machine -L /usr/$machine-linux-gnu" MPIFORT_FC=none
    export CC="${tools}gcc" CXX="${tools}g++" AR="${tools}ar" NM="${tools}nm" STRIP="${tools}strip" OBJCOPY="${tools}objcopy"
    export "CC_${target//-/_}=$CC" "CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")_LINKER=$CC"
    rustup target add "$target" >/dev/null 2>&1 || true
}

# What zig's linker has put inside.
of_zig() {
    printf '\n## compiler-rt and libunwind\n\n'
    printf 'Parts of LLVM, by zig %s (MIT): Apache-2.0 WITH LLVM-exception, https://llvm.org/LICENSE.txt. ' "$($ZIG version)"
    printf 'The text of the Apache License 2.0 is in LICENSE-APACHE.\n'
}

tarball() {
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/$name.tar.gz" "$name"
}

wheel() {
    python3 scripts/wheel.py "$work/$name" "$version" "$(glibc_needed "$work/$name")" "$machine" "$out"
}

# complete TREE: no binary needs a function of the C library that the version it is linked for lacks. zig leaves such a name
# without a version. The C++ bindings take the library for C++ as the program brings it, also without versions.
complete() {
    [[ -n ${ZIG:-} ]] || return 0
    local lacking
    lacking=$(find "$1/bin" "$1/lib" -type f \( -perm -u+x -o -name '*.so*' \) -exec nm -D --undefined-only {} + 2>/dev/null |
        awk '$1 == "U" && $2 !~ /@/ && $2 !~ /^(P?MPI|p?mpi|p?ompi|mpi[pf]|_Z|__cxa_|__gxx_|_Unwind_)/ { print $2 }' | sort -u)
    [[ -z $lacking ]] || { echo "dist: glibc $GLIBC lacks" $lacking >&2; return 1; }
}

# The newest version of the C library that a binary asks for: what the wheel's tag must say.
glibc_needed() {
    find "$1/bin" "$1/lib" -type f \( -perm -u+x -o -name '*.so*' \) -print0 | xargs -0 -n 1 objdump -T 2>/dev/null |
        sed -n 's/.*GLIBC_\(2\.[0-9]*\).*/\1/p' | sort -V | tail -n 1
}

# One package to run programs, one to build them. Other MPIs may be installed beside: alternatives choose, as with those.
debian() {
    local home glibc
    glibc=$(glibc_needed "$work/$name")
    home=/usr/lib/tern
    for package in tern-mpi tern-mpi-dev; do
        local root="$work/$package"
        mkdir -p "$root/DEBIAN" "$root$home" "$root/usr/share/doc/$package"
        cp LICENSE LICENSE-MIT LICENSE-APACHE "$root/usr/share/doc/$package/"
        sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@GLIBC@/$glibc/" "packaging/debian/$package.control" \
            >"$root/DEBIAN/control"
        for script in postinst prerm; do
            sed "s/@MULTIARCH@/$machine-linux-gnu/g" "packaging/debian/$package.$script" >"$root/DEBIAN/$script"
            chmod 755 "$root/DEBIAN/$script"
        done
    done
    cp -a "$work/$name/." "$work/tern-mpi$home/"
    # What only builds programs goes to the other package.
    (cd "$work/tern-mpi$home" && find include lib/pkgconfig lib/*.a lib/libmpi_abi.so lib/libmpifort_abi.so \
        bin/mpi[cf]* bin/mpiCC share/man/man1/mpi[cf]* share/man/man1/mpiCC.1 share/man/man3 lib/tern share/tern/fortran 2>/dev/null \
        \( -type f -o -type l \) -print0 || true) >"$work/development"
    tar -C "$work/tern-mpi$home" --null -T "$work/development" -cf - | tar -C "$work/tern-mpi-dev$home" -xf -
    (cd "$work/tern-mpi$home" && xargs -0 rm -f <"$work/development" && find . -type d -empty -delete)
    # A link to a file of flags that looks around itself would look around the link.
    mkdir -p "$work/tern-mpi-dev$home/share/tern"
    sed "s|^prefix=.*|prefix=$home|" "$work/$name/lib/pkgconfig/mpi.pc" >"$work/tern-mpi-dev$home/share/tern/mpi.pc"
    for package in tern-mpi tern-mpi-dev; do
        dpkg-deb --build --root-owner-group "$work/$package" "$out/${package}_${version}_$architecture.deb" >/dev/null
    done
}

main
