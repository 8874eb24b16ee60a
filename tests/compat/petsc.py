# A Poisson equation on a square, solved by PETSc: conjugate gradients, then a direct residual.
import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc

side = 40
da = PETSc.DMDA().create([side, side], stencil_width=1)
matrix = da.createMatrix()
(first_x, last_x), (first_y, last_y) = da.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for y in range(first_y, last_y):
    for x in range(first_x, last_x):
        row.index = (x, y)
        for dx, dy, value in ((0, 0, 4.0), (-1, 0, -1.0), (1, 0, -1.0), (0, -1, -1.0), (0, 1, -1.0)):
            if 0 <= x + dx < side and 0 <= y + dy < side:
                column.index = (x + dx, y + dy)
                matrix.setValueStencil(row, column, value)
matrix.assemble()
right, found, residual = da.createGlobalVec(), da.createGlobalVec(), da.createGlobalVec()
right.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.setTolerances(rtol=1e-10)
solver.setFromOptions()
solver.solve(right, found)
matrix.mult(found, residual)
residual.axpy(-1.0, right)
assert solver.getConvergedReason() > 0 and residual.norm() < 1e-7 * right.norm(), residual.norm()
total = found.sum()
if PETSc.COMM_WORLD.rank == 0:
    print(f"ok {total:.4f} on {PETSc.COMM_WORLD.size} ranks")
