#!/bin/bash
# Programs of Debian that were compiled for Open MPI and for MPICH, as they are, on Tern. Nothing is installed: the packages are fetched and
# unpacked under build/binaries. The last line counts.
#
# usage: binaries.sh PREFIX [FILTER]
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "${1:?usage: binaries.sh PREFIX [FILTER]}" && pwd) || exit 1
home=$root/build/binaries
packages=(libopenmpi-dev lammps lammps-examples python3-mpi4py quantum-espresso netpipe-openmpi netpipe-mpich2 scalapack-mpi-test
    nwchem-mpich python3-h5py-mpi pnetcdf-bin libpnetcdf-dev libnetcdf-mpi-dev libhdf5-openmpi-dev gromacs quantum-espresso-data
    python3-petsc4py bagel libglobalarrays-dev libarmci-mpi-dev openfoam openfoam-examples cp2k cp2k-data gpaw gpaw-data elk-lapw
    freefem++ ray nwchem-openmpi)
filter=${2:-}
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
    check "lammps: a peptide in water" peptide
    check "lammps: rigid bodies" rigid
    check "GROMACS: water" gromacs
    check "python3-mpi4py" python
    check "pw.x starts in parallel" pw
    check "pw.x: the energy of silicon" silicon
    check "petsc4py: a Poisson equation" petsc
    check "the C++ bindings of Open MPI" bindings
    check "h5py: parallel HDF5" h5py
    check "PnetCDF" pnetcdf
    check "NetCDF-4 in parallel" netcdf
    check "NetPIPE for Open MPI" netpipe_openmpi
    check "NetPIPE for MPICH" netpipe_mpich
    check "ScaLAPACK's LU for MPICH" lu_mpich
    check "ScaLAPACK's LU for Open MPI" lu_openmpi
    check "NWChem for MPICH" nwchem
    check "NWChem for Open MPI" nwchem_openmpi
    check "BAGEL for MPICH" bagel
    check "OpenFOAM: a lid-driven cavity" cavity
    check "CP2K: two molecules of water" cp2k
    check "GPAW: hydrogen" gpaw
    check "Elk: aluminum" elk
    check "FreeFem++: integrals and messages" freefem
    check "Ray: a genome from its pieces" ray
    check "Global Arrays for MPICH" global_arrays_mpich
    check "Global Arrays for Open MPI" global_arrays_openmpi
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

# Long-range forces by Fourier transforms: the energy of the last step is the same on one rank and two.
peptide() {
    cp "$home/tree/usr/share/lammps/examples/peptide"/* .
    for ranks in 1 2; do
        timeout 300 "$prefix/bin/mpirun" -n $ranks "$home/tree/usr/bin/lmp" -in in.peptide -log none >peptide.$ranks || return 1
        awk '/^TotEng/ { printf "%.2f ", $3 } /^E_coul/ { printf "%.2f\n", $6 }' peptide.$ranks >energies.$ranks
    done
    cat energies.2
    [ "$(wc -l <energies.1)" -gt 2 ] && cmp energies.1 energies.2
}

rigid() {
    cp "$home/tree/usr/share/lammps/examples/rigid"/* .
    for ranks in 1 2; do
        timeout 300 "$prefix/bin/mpirun" -n $ranks "$home/tree/usr/bin/lmp" -in in.rigid -log none >rigid.$ranks || return 1
        awk '$1 == 0 || $1 == 10000 { if (NF == 6) print $2, $5 }' rigid.$ranks >energies.$ranks
    done
    cat energies.2
    [ "$(wc -l <energies.1)" -eq 2 ] && cmp energies.1 energies.2
}

# A box of water, in double precision: made, prepared and run by its own tools. Energies of the first step do not depend on the number of ranks.
gromacs() {
    local program="$home/tree/usr/bin/gmx_mpi_d -quiet"
    export GMXDATA=$home/tree/usr/share/gromacs GMX_MAXBACKUP=-1 OMP_NUM_THREADS=1
    printf '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n[ system ]\nwater\n[ molecules ]\n' >topol.top
    printf '%s\n' integrator=md nsteps=100 dt=0.002 nstenergy=50 nstlog=50 coulombtype=PME rcoulomb=0.8 rvdw=0.8 constraints=h-bonds \
        gen_vel=yes gen_temp=300 gen_seed=7 >md.mdp
    # The name of a program may not have blanks here, and it has one.
    # shellcheck disable=SC2086
    timeout 60 "$prefix/bin/mpirun" -n 1 $program solvate -cs spc216.gro -box 2.4 2.4 2.4 -o water.gro -p topol.top &&
        timeout 60 "$prefix/bin/mpirun" -n 1 $program grompp -f md.mdp -c water.gro -p topol.top -o md.tpr -maxwarn 3 || return 1
    for ranks in 1 2; do
        # shellcheck disable=SC2086
        timeout 200 "$prefix/bin/mpirun" -n $ranks $program mdrun -s md.tpr -deffnm water.$ranks -ntomp 1 -reprod -nb cpu || return 1
        grep -A 1 'Kinetic En' water.$ranks.log | sed -n 2p >energies.$ranks
        grep -q 'Finished mdrun on rank 0' water.$ranks.log || return 1
    done
    cat energies.2
    [ -s energies.1 ] && cmp energies.1 energies.2
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

# Silicon: ranks share plane waves, or points of the lattice (-nk).
silicon() {
    cat >si.in <<PW
&CONTROL
 calculation='scf', prefix='si', pseudo_dir='$home/tree/usr/share/espresso/pseudo', outdir='./si'
/
&SYSTEM
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=12.0
/
&ELECTRONS
 conv_thr=1.0d-8
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 2 2 2 1 1 1
PW
    for way in "1 -nk 1" "2 -nk 1" "2 -nk 2"; do
        OMP_NUM_THREADS=1 timeout 120 "$prefix/bin/mpirun" -n "${way%% *}" "$home/tree/usr/bin/pw.x" -nk "${way##* }" -in si.in >si.out 2>&1 ||
            { tail si.out; return 1; }
        grep '^!' si.out
        grep -q '^! .*-15\.794495[56]. Ry' si.out && grep -q 'JOB DONE' si.out || return 1
    done
}

# Conjugate gradients, and a direct solver with Fortran inside (MUMPS).
petsc() {
    local petsc=$home/tree/usr/lib/petscdir/petsc3.18/$(gcc -dumpmachine)-real/lib
    export PYTHONPATH=$home/tree/usr/lib/python3/dist-packages:$petsc/python3/dist-packages
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$petsc timeout 120 "$prefix/bin/mpirun" -n 3 /usr/bin/python3 "$root/tests/compat/petsc.py" |
        grep '^ok 99117.5691 on 3' &&
        LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$petsc timeout 120 "$prefix/bin/mpirun" -n 2 /usr/bin/python3 "$root/tests/compat/petsc.py" \
            -ksp_type preonly -pc_type lu -pc_factor_mat_solver_type mumps | grep '^ok 99117.5691 on 2'
}

# A program that is compiled here, with Debian's headers.
bindings() {
    c++ -w -I"$lib/openmpi/include" -I"$lib/openmpi/include/openmpi" "$root/tests/compat/cxx.cpp" -o cxx -L"$prefix/lib/openmpi" \
        -l:libmpi_cxx.so.40 -l:libmpi.so.40 -Wl,-rpath-link,"$prefix/lib" || return 1
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
        -Wl,-rpath-link,"$prefix/lib:$prefix/lib/openmpi:$lib"
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

nwchem() {
    water mpich
}

nwchem_openmpi() {
    water openmpi
}

# water NAME: the energy of water by NWChem, which does not depend on the number of ranks.
water() {
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
            "$home/tree/usr/bin/nwchem.$1" water.nw >"water.$ranks" 2>&1 || { tail water.$ranks; return 1; }
        grep 'Total SCF energy' "water.$ranks"
    done
    [ "$(energy water.1)" = "$(energy water.2)" ] && [ "$(energy water.1)" = -75.98397 ]
}

# C++ and windows: the energy of hydrogen fluoride.
bagel() {
    local basis=$home/tree/usr/share/bagel
    cat >hf.json <<HF
{ "bagel" : [
{ "title" : "molecule", "basis" : "$basis/svp.json", "df_basis" : "$basis/svp-jkfit.json", "angstrom" : "false",
  "geometry" : [ { "atom" : "F", "xyz" : [ 0.0, 0.0, 3.720616 ] }, { "atom" : "H", "xyz" : [ 0.0, 0.0, 0.305956 ] } ] },
{ "title" : "hf", "thresh" : 1.0e-10 }
]}
HF
    for ranks in 1 2; do
        BAGEL_NUM_THREADS=1 timeout 100 "$prefix/bin/mpirun" -n $ranks "$home/tree/usr/bin/BAGEL" hf.json >"hf.$ranks" 2>&1 || return 1
        tail -n 12 "hf.$ranks"
        grep -q ' -99\.7081286[0-9] ' "hf.$ranks" && grep -q 'SCF iteration converged' "hf.$ranks" || return 1
    done
}

# The mesh is cut into as many parts as there are ranks. How fast the fluid is in the end does not depend on that.
cavity() {
    local examples=$home/tree/usr/share/doc/openfoam-examples/examples
    export WM_PROJECT_DIR=$home/tree/usr/share/openfoam
    local LD_LIBRARY_PATH=$home/tree/usr/lib/openmpi-system:$home/tree/usr/lib:$LD_LIBRARY_PATH
    rm -rf cavity && cp -r "$examples/incompressible/icoFoam/cavity/cavity" cavity || return 1
    (
        cd cavity || exit 1
        find . -name '*.gz' -exec gunzip {} +
        printf 'FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n%s\n' \
            'numberOfSubdomains 4; method simple; coeffs { n (2 2 1); }' >system/decomposeParDict
        "$home/tree/usr/bin/blockMesh" >blocks && "$home/tree/usr/bin/icoFoam" >alone || exit 1
        for way in uncollated collated; do
            rm -rf processor*
            "$home/tree/usr/bin/decomposePar" -fileHandler $way >parts || exit 1
            timeout 100 "$prefix/bin/mpirun" -n 4 "$home/tree/usr/bin/icoFoam" -parallel -fileHandler $way >together || exit 1
            grep '^Courant' together | tail -n 1
            [ "$(grep '^Courant' alone | tail -n 1)" = "$(grep '^Courant' together | tail -n 1)" ] || exit 1
        done
    )
}

cp2k() {
    cat >water.inp <<'CP'
&GLOBAL
  PROJECT water
  RUN_TYPE ENERGY_FORCE
&END GLOBAL
&FORCE_EVAL
  METHOD Quickstep
  &DFT
    BASIS_SET_FILE_NAME GTH_BASIS_SETS
    POTENTIAL_FILE_NAME GTH_POTENTIALS
    &MGRID
      CUTOFF 200
    &END MGRID
    &SCF
      EPS_SCF 1.0E-7
      &OT
      &END OT
    &END SCF
    &XC
      &XC_FUNCTIONAL PADE
      &END XC_FUNCTIONAL
    &END XC
  &END DFT
  &SUBSYS
    &CELL
      ABC 6.0 6.0 6.0
    &END CELL
    &COORD
      O 0.0 0.0 -0.065587
      H 0.0 -0.757136 0.520545
      H 0.0 0.757136 0.520545
      O 2.8 0.0 -0.065587
      H 2.8 -0.757136 0.520545
      H 2.8 0.757136 0.520545
    &END COORD
    &KIND H
      BASIS_SET DZVP-GTH
      POTENTIAL GTH-PADE-q1
    &END KIND
    &KIND O
      BASIS_SET DZVP-GTH
      POTENTIAL GTH-PADE-q6
    &END KIND
  &END SUBSYS
&END FORCE_EVAL
CP
    for ranks in 1 2 4; do
        CP2K_DATA_DIR=$home/tree/usr/share/cp2k OMP_NUM_THREADS=1 timeout 100 "$prefix/bin/mpirun" -n $ranks \
            "$home/tree/usr/bin/cp2k.psmp" -i water.inp >water.out 2>&1 || { tail water.out; return 1; }
        grep 'Total FORCE_EVAL' water.out
        grep -q 'energy.*-34\.28091475' water.out || return 1
    done
}

# A Python module that loads libmpi.so without a version.
gpaw() {
    cat >gpaw.py.in <<'PY'
from ase import Atoms
from gpaw import GPAW
from gpaw.mpi import world

molecule = Atoms("H2", [(0, 0, 0), (0, 0, 0.74)], cell=(5, 5, 5.5), pbc=False)
molecule.center()
molecule.calc = GPAW(h=0.3, txt=None, mode="fd")
energy = molecule.get_potential_energy()
if world.rank == 0:
    print(f"ok {world.size} {energy:.4f}")
PY
    local setups
    # A package that this machine has is not fetched.
    setups=$(find "$home/tree/usr/share" /usr/share/gpaw* -name 'H.LDA.gz' -printf '%h\n' 2>/dev/null | head -n 1)
    for ranks in 1 2; do
        GPAW_SETUP_PATH=$setups PYTHONPATH=$home/tree/usr/lib/python3/dist-packages OMP_NUM_THREADS=1 timeout 100 \
            "$prefix/bin/mpirun" -n $ranks /usr/bin/python3 gpaw.py.in | grep "^ok $ranks -5\.308" || return 1
    done
}

elk() {
    local block
    cp "$home/tree/usr/share/elk-lapw/species/Al.in" . || return 1
    for block in "tasks|0" "xctype|3" "avec|3.8 3.8 0.0|3.8 0.0 3.8|0.0 3.8 3.8" "atoms|1|'Al.in'|1|0.0 0.0 0.0  0.0 0.0 0.0" \
        "ngridk|4 4 4" "maxscl|6" "sppath|'./'"; do
        printf '%s\n\n' "$block" | tr '|' '\n'
    done >elk.in
    for ranks in 1 2 4; do
        rm -f TOTENERGY.OUT
        OMP_NUM_THREADS=1 timeout 100 "$prefix/bin/mpirun" -n $ranks "$home/tree/usr/bin/elk-lapw" || return 1
        tail -n 1 TOTENERGY.OUT | grep -- '-241\.9166421' || return 1
    done
}

freefem() {
    cat >integral.edp <<'EDP'
mesh Th = square(20, 20);
real part = int2d(Th)(x * y) / mpisize, whole;
mpiAllReduce(part, whole, mpiCommWorld, mpiSUM);
real[int] a(10);
a = mpirank + 1;
if (mpirank > 0) processor(0) << a;
else for (int i = 1; i < mpisize; i++) {
    processor(i) >> a;
    cout << "ok " << i << " " << a[9] << " " << whole << endl;
}
EDP
    timeout 60 "$prefix/bin/mpirun" -n 3 "$home/tree/usr/bin/FreeFem++-mpi" -nw integral.edp >integral.out || return 1
    grep '^ok' integral.out
    grep -q '^ok 1 2 0.25' integral.out && grep -q '^ok 2 3 0.25' integral.out
}

# Pieces of a random genome of 5,000 letters, which has no repetitions.
ray() {
    awk 'BEGIN { srand(3); for (i = 0; i < 5000; i++) g = g substr("ACGT", 1 + int(4 * rand()), 1)
        for (i = 0; i < 1500; i++) printf ">r%d\n%s\n", i, substr(g, 1 + int(4900 * rand()), 100) }' >pieces.fasta
    for ranks in 1 3; do
        rm -rf genome
        timeout 100 "$prefix/bin/mpirun" -n $ranks "$home/tree/usr/bin/Ray" -k 21 -s pieces.fasta -o genome >ray.out 2>&1 || return 1
        grep -m 1 'Total length: 49[5-9][0-9]' genome/OutputNumbers.txt || return 1
    done
}

global_arrays_mpich() {
    global_arrays mpich libmpi.so.12
}

global_arrays_openmpi() {
    global_arrays openmpi libmpi.so.40
}

# global_arrays ABI LIBRARY: over ARMCI-MPI, and that alone. Debian has both as archives, compiled for each ABI.
global_arrays() {
    local armci=$lib/libarmci-$1.a
    windows armci "$1" "$armci" "-l:$2" &&
        windows global_arrays "$1" "$lib/libga-$1.a" "$armci" "-l:libscalapack-$1.so.2.2" "-l:$2" "$lib/lapack/liblapack.so.3" \
            "$lib/blas/libblas.so.3" -lgfortran -lm
}

# windows NAME ABI LIBRARIES: a program of tests/compat, compiled and run over shared memory and TCP.
windows() {
    cc -w -I"$home/tree/usr/include" -I"$root/compat/$2/include" "$root/tests/compat/$1.c" -o "$1.$2" -L"$prefix/lib/$2" -L"$lib" "${@:3}" \
        -Wl,--allow-shlib-undefined || return 1
    timeout 120 "$prefix/bin/mpirun" -n 4 "./$1.$2" | grep '^ok' &&
        timeout 120 "$prefix/bin/mpirun" -n 3 -x TERN_TRANSPORT=tcp "./$1.$2" | grep '^ok'
}

energy() {
    awk '/Total SCF energy/ { printf "%.5f", $5 }' "$1"
}

check() {
    case $1 in *"$filter"*) ;; *) return ;; esac
    if "$2" >said 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        tail -n 20 said | sed 's/^/    /'
    fi
}

main
