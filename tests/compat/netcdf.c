/* NetCDF-4 in parallel, over HDF5: every rank writes its part of a variable that grows, and reads another's. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        int code = (call);                                                                                  \
        if (code != NC_NOERR) {                                                                             \
            fprintf(stderr, "line %d: %s\n", __LINE__, nc_strerror(code));                                  \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                   \
        }                                                                                                   \
    } while (0)

enum { STEPS = 4, CELLS = 1000 };

int main(int argc, char **argv)
{
    int rank, size, file, dims[2], var;
    static float mine[CELLS], found[CELLS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(nc_create_par(argv[1], NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    CHECK(nc_def_dim(file, "step", NC_UNLIMITED, &dims[0]));
    CHECK(nc_def_dim(file, "cell", (size_t)CELLS * size, &dims[1]));
    CHECK(nc_def_var(file, "field", NC_FLOAT, 2, dims, &var));
    CHECK(nc_enddef(file));
    CHECK(nc_var_par_access(file, var, NC_COLLECTIVE));
    for (size_t step = 0; step < STEPS; step++) {
        size_t start[2] = {step, (size_t)rank * CELLS}, count[2] = {1, CELLS};
        for (int cell = 0; cell < CELLS; cell++) mine[cell] = 1e5f * rank + 1e4f * step + cell;
        CHECK(nc_put_vara_float(file, var, start, count, mine));
    }
    CHECK(nc_close(file));

    int other = (rank + 1) % size;
    CHECK(nc_open_par(argv[1], NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    CHECK(nc_inq_varid(file, "field", &var));
    for (size_t step = 0; step < STEPS; step++) {
        size_t start[2] = {step, (size_t)other * CELLS}, count[2] = {1, CELLS};
        CHECK(nc_get_vara_float(file, var, start, count, found));
        for (int cell = 0; cell < CELLS; cell++)
            if (found[cell] != 1e5f * other + 1e4f * step + cell) {
                fprintf(stderr, "rank %d: step %zu differs at cell %d\n", rank, step, cell);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
    }
    CHECK(nc_close(file));
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}
