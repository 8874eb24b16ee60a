#!/bin/sh
# Removes what scripts/stage.sh has put under a prefix, and folders that are empty then.
#
#   scripts/uninstall.sh PREFIX
set -eu

prefix=${1:?usage: scripts/uninstall.sh PREFIX}
[ -x "$prefix/bin/tern" ] || { echo "uninstall.sh: there is no Tern under $prefix" >&2 && exit 1; }
cd "$prefix"

# Nobody else writes into these.
rm -rf lib/tern libexec/tern share/tern share/doc/tern
for name in mpirun mpiexec mpicc mpicxx mpic++ mpiCC mpifort mpif77 mpif90 tern; do
    rm -f "bin/$name" "bin/.debug/$name.debug"
done
rm -f include/mpi.h include/mpif.h include/mpi_abi_fort.h lib/pkgconfig/mpi.pc
rm -f lib/libmpi_abi.so lib/libmpi_abi.so.1 lib/libmpi_abi_c2f.a lib/libmpifort_abi.so lib/libmpifort_abi.so.1
rm -f lib/.debug/libmpi_abi.so.1.debug
for name in libmpi.so libmpi.so.12 libmpich.so.12 libmpicxx.so.12 libmpichcxx.so.12 libmpifort.so.12 libmpichfort.so.12; do
    rm -f "lib/mpich/$name" "lib/mpich/.debug/$name.debug"
done
for name in libmpi.so libmpi.so.40 libmpi_cxx.so.40; do
    rm -f "lib/openmpi/$name" "lib/openmpi/.debug/$name.debug"
done
for interface in mpifh usempi_ignore_tkr usempif08; do
    # One that programs name, and one for each Fortran compiler.
    rm -f "lib/openmpi/libmpi_$interface.so.40" "lib/openmpi/libmpi_$interface"-*.so.40
done
rm -f share/man/man1/mpirun.1 share/man/man1/mpiexec.1 share/man/man1/tern.1 share/man/man1/tern-*.1
for name in mpicc mpicxx mpic++ mpiCC mpifort mpif77 mpif90; do
    rm -f "share/man/man1/$name.1"
done
# Other libraries have pages of the same functions.
for page in share/man/man3/MPI_*.3; do
    [ "$(head -n 1 "$page" 2>/dev/null)" != '.\" Tern' ] || rm -f "$page"
done
for name in tern mpirun mpiexec; do
    rm -f "share/bash-completion/completions/$name" "share/zsh/site-functions/_$name" \
        "share/fish/vendor_completions.d/$name.fish"
done
for folder in bin/.debug bin lib/mpich/.debug lib/mpich lib/openmpi/.debug lib/openmpi include lib/.debug lib/pkgconfig lib libexec share/man/man1 share/man/man3 share/man share/doc \
    share/bash-completion/completions share/bash-completion share/zsh/site-functions share/zsh \
    share/fish/vendor_completions.d share/fish share; do
    rmdir "$folder" 2>/dev/null || true
done
