"""A Poisson equation on a mesh that is shared out. NGSolve asks mpi4py whose ABI the MPI library has."""

from mpi4py import MPI
from netgen.meshing import Mesh as Whole
from netgen.occ import unit_square
from ngsolve import H1, BilinearForm, CGSolver, GridFunction, Integrate, LinearForm, Mesh, Preconditioner, dx, grad

comm = MPI.COMM_WORLD
if comm.rank == 0:
    whole = unit_square.GenerateMesh(maxh=0.1)
    part = whole.Distribute(comm) if comm.size > 1 else whole
else:
    part = Whole.Receive(comm)
mesh = Mesh(part)
space = H1(mesh, order=2, dirichlet=".*")
u, v = space.TnT()
form = BilinearForm(grad(u) * grad(v) * dx)
preconditioner = Preconditioner(form, "local")
form.Assemble()
load = LinearForm(1 * v * dx).Assemble()
solution = GridFunction(space)
inverse = CGSolver(form.mat, preconditioner.mat, maxiter=500, tol=1e-10, printrates=False)
solution.vec.data = inverse * load.vec
integral = Integrate(solution, mesh)
if comm.rank == 0:
    print(f"ok {comm.size} {space.ndofglobal} {integral:.6f}")
