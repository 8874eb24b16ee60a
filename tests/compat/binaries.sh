#!/bin/bash
# Programs of Debian that were compiled for Open MPI and for MPICH, as they are, on Tern. Nothing is installed: the packages are fetched and
# unpacked under build/binaries. The last line counts.
#
# usage: binaries.sh PREFIX
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "${1:?usage: binaries.sh PREFIX}" && pwd) || exit 1
home=$root/build/binaries
packages=(libopenmpi-dev lammps lammps-examples python3-mpi4py quantum-espresso netpipe-openmpi netpipe-mpich2 scalapack-mpi-test
    nwchem-mpich python3-h5py-mpi pnetcdf-bin libpnetcdf-dev libnetcdf-mpi-dev libhdf5-openmpi-dev)
passed=0 failed=0 skipped=0

main() {
    if ! fetch; then
        echo "0 passed, 0 failed, ${#packages[@]} skipped: apt-get does not give the packages"
        return
    fi
    local lib
    lib=$home/tree/usr/lib/$(gcc -dumpmachine)
    export LD_LIBRARY_PATH=$lib:$lib/blas:$lib/lapack
    cd "$home" || exit 1
    check "lammps melts" melts
    check "python3-mpi4py" python
    check "pw.x starts in parallel" pw
    check "the C++ bindings of Open MPI" bindings
    check "h5py: parallel HDF5" h5py
    check "PnetCDF" pnetcdf
    check "NetCDF-4 in parallel" netcdf
    check "NetPIPE for Open MPI" netpipe_openmpi
    check "NetPIPE for MPICH" netpipe_mpich
    check "ScaLAPACK's LU for MPICH" lu_mpich
    check "ScaLAPACK's LU for Open MPI" lu_openmpi
    check "NWChem for MPICH" nwchem
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

fetch() {
    [ -e "$home/fetched" ] && return
    mkdir -p "$home/cache/archives/partial" "$home/tree"
    apt-get install -y -qq --no-install-recommends --download-only -o Dir::Cache="$home/cache" "${packages[@]}" \
        >"$home/apt.log" 2>&1 || return 1
    for package in "$home"/cache/archives/*.deb; do
        dpkg -x "$package" "$home/tree" || return 1
    done
    touch "$home/fetched"
}

# The energy after 250 steps is that of a run on one rank, to six digits.
melts() {
    cp "$home/tree/usr/share/lammps/examples/melt/in.melt" .
    for ranks in 1 2; do
        timeout 300 "$prefix/bin/mpirun" -n $ranks "$home/tree/usr/bin/lmp" -in in.melt -log none >melt.$ranks || return 1
    done
    tail -n 3 melt.2
    [ "$(step 0 melt.1)" = "$(step 0 melt.2)" ] && [ "$(step 50 melt.1)" = "$(step 50 melt.2)" ]
}

# step N FILE: the energies of a step, without the digits that the order of sums changes.
step() {
    awk -v step="$1" '$1 == step && NF == 6 { printf "%.4f %.4f\n", $2, $3 }' "$2"
}

python() {
    PYTHONPATH=$home/tree/usr/lib/python3/dist-packages timeout 60 "$prefix/bin/mpirun" -n 2 /usr/bin/python3 -c '
from mpi4py import MPI
comm = MPI.COMM_WORLD
status = MPI.Status()
got = comm.sendrecv({"rank": comm.rank}, (comm.rank + 1) % comm.size, status=status)
assert got["rank"] == status.source == (comm.rank - 1) % comm.size
assert comm.allreduce(comm.rank + 1) == comm.size * (comm.size + 1) // 2
assert "Tern" in MPI.Get_library_version()'
}

pw() {
    printf '&CONTROL\n/\n&SYSTEM\n/\n&ELECTRONS\n/\n' >pw.in
    timeout 60 "$prefix/bin/mpirun" -n 2 "$home/tree/usr/bin/pw.x" -in pw.in >pw.out 2>&1
    cat pw.out
    grep -q 'Parallel version (MPI), running on *2 processors' pw.out && grep -q 'invalid lattice parameters' pw.out
}

# A program that is compiled here, with Debian's headers and bindings.
bindings() {
    c++ -w -I"$lib/openmpi/include" -I"$lib/openmpi/include/openmpi" "$root/tests/compat/cxx.cpp" -o cxx -L"$prefix/lib/openmpi" -L"$lib" \
        -l:libmpi_cxx.so.40 -l:libmpi.so.40 -Wl,-rpath-link,"$prefix/lib:$lib" || return 1
    timeout 60 "$prefix/bin/mpirun" -n 3 ./cxx | grep '^ok'
}

h5py() {
    H5PY_ALWAYS_USE_MPI=1 PYTHONPATH=$home/tree/usr/lib/python3/dist-packages timeout 120 "$prefix/bin/mpirun" -n 3 \
        /usr/bin/python3 "$root/tests/compat/h5.py" parallel.h5 | grep '^ok'
}

# Its own checker looks at the file.
pnetcdf() {
    debian pnetcdf -I"$home/tree/usr/include" -l:libpnetcdf.so || return 1
    timeout 120 "$prefix/bin/mpirun" -n 3 ./pnetcdf parallel.nc | grep '^ok' && "$home/tree/usr/bin/ncvalidator" parallel.nc
}

netcdf() {
    debian netcdf -I"$lib/netcdf/mpi/include" -l:libnetcdf_mpi.so.19 || return 1
    timeout 120 "$prefix/bin/mpirun" -n 3 ./netcdf parallel.nc4 | grep '^ok'
}

# debian NAME FLAGS: a program of tests/compat, compiled with Debian's headers and libraries for Open MPI.
debian() {
    cc -w -I"$lib/openmpi/include" "$root/tests/compat/$1.c" -o "$1" -L"$prefix/lib/openmpi" -L"$lib" "${@:2}" -l:libmpi.so.40 \
        -Wl,-rpath-link,"$prefix/lib:$lib"
}

# NetPIPE compares what arrives with what was sent.
netpipe_openmpi() {
    netpipe NPopenmpi
}

netpipe_mpich() {
    netpipe NPmpich2
}

netpipe() {
    timeout 120 "$prefix/bin/mpirun" -n 2 "$home/tree/usr/bin/$1" -i -n 5 -u 65536 -o "$1.out" && [ -s "$1.out" ]
}

lu_mpich() {
    lu mpich
}

lu_openmpi() {
    lu openmpi
}

# ScaLAPACK's own test of LU decompositions; it checks residuals.
lu() {
    cp "$lib/scalapack/$1-tests"/*.dat . || return 1
    timeout 120 "$prefix/bin/mpirun" -n 4 "$lib/scalapack/$1-tests/xdlu" >"lu.$1" 2>&1 || return 1
    grep -A 4 '^Finished' "lu.$1"
    grep -q ' 240 tests completed and passed' "lu.$1" && grep -q ' 0 tests completed and failed' "lu.$1"
}

# The energy of water, which does not depend on the number of ranks.
nwchem() {
    cat >water.nw <<'NW'
start water
geometry
 O 0.0 0.0 0.1173
 H 0.0 0.7572 -0.4692
 H 0.0 -0.7572 -0.4692
end
basis
 * library 6-31g
end
task scf energy
NW
    for ranks in 1 2; do
        NWCHEM_BASIS_LIBRARY=$home/tree/usr/share/nwchem/libraries/ timeout 200 "$prefix/bin/mpirun" -n $ranks \
            "$home/tree/usr/bin/nwchem.mpich" water.nw >"water.$ranks" 2>&1 || { tail water.$ranks; return 1; }
        grep 'Total SCF energy' "water.$ranks"
    done
    [ "$(energy water.1)" = "$(energy water.2)" ] && [ "$(energy water.1)" = -75.98397 ]
}

energy() {
    awk '/Total SCF energy/ { printf "%.5f", $5 }' "$1"
}

check() {
    if "$2" >said 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        tail -n 20 said | sed 's/^/    /'
    fi
}

main
