"""Spack's recipe: builds Tern with cargo from the source tree in which `spack dev-build tern@main` is called."""

from spack.package import *


class Tern(Package):
    """An MPI library with the standard ABI, which also runs programs compiled for MPICH and Open MPI."""

    license("MIT OR Apache-2.0")

    version("main")

    variant("fortran", default=True, description="Modules for the Fortran compiler")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.88:", type="build")

    @property
    def libs(self):
        return find_libraries("libmpi_abi", root=self.prefix.lib, shared=True, recursive=False)

    @property
    def headers(self):
        return find_headers("mpi", root=self.prefix.include, recursive=False)

    def install(self, spec, prefix):
        Executable("scripts/stage.sh")("--symbols", "none", prefix)

    def setup_dependent_build_environment(self, env, dependent_spec):
        env.set("MPICC", self.prefix.bin.mpicc)
        env.set("MPICXX", self.prefix.bin.mpicxx)
        env.set("MPIFC", self.prefix.bin.mpifort)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = self.prefix.bin.mpicc
        self.spec.mpicxx = self.prefix.bin.mpicxx
        self.spec.mpifc = self.prefix.bin.mpifort
        self.spec.mpif77 = self.prefix.bin.mpif77
