/* Parallel NetCDF: every rank writes its part of a file, by calls of all ranks, of one, and by delayed ones. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        int code = (call);                                                                                  \
        if (code != NC_NOERR) {                                                                             \
            fprintf(stderr, "line %d: %s\n", __LINE__, ncmpi_strerror(code));                               \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                   \
        }                                                                                                   \
    } while (0)

enum { ROWS = 200, COLUMNS = 50 };

static int rank, size;
static double values[ROWS][COLUMNS], found[ROWS][COLUMNS];

static double value(int of, int row, int column) { return 1e6 * of + row * COLUMNS + column; }

static void compare(int of, const char *what)
{
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            if (found[row][column] != value(of, row, column)) {
                fprintf(stderr, "rank %d: %s differs at %d, %d\n", rank, what, row, column);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *names[3] = {"together", "alone", "later"};
    int file, dims[2], vars[3], requests[1], statuses[1];
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) values[row][column] = value(rank, row, column);
    CHECK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    CHECK(ncmpi_def_dim(file, "row", ROWS, &dims[0]));
    CHECK(ncmpi_def_dim(file, "column", (MPI_Offset)COLUMNS * size, &dims[1]));
    for (int var = 0; var < 3; var++) CHECK(ncmpi_def_var(file, names[var], NC_DOUBLE, 2, dims, &vars[var]));
    CHECK(ncmpi_put_att_int(file, NC_GLOBAL, "ranks", NC_INT, 1, &size));
    CHECK(ncmpi_enddef(file));
    MPI_Offset start[2] = {0, (MPI_Offset)rank * COLUMNS}, count[2] = {ROWS, COLUMNS};
    CHECK(ncmpi_put_vara_double_all(file, vars[0], start, count, &values[0][0]));
    CHECK(ncmpi_begin_indep_data(file));
    CHECK(ncmpi_put_vara_double(file, vars[1], start, count, &values[0][0]));
    CHECK(ncmpi_end_indep_data(file));
    CHECK(ncmpi_iput_vara_double(file, vars[2], start, count, &values[0][0], requests));
    CHECK(ncmpi_wait_all(file, 1, requests, statuses));
    CHECK(statuses[0]);
    CHECK(ncmpi_close(file));

    int other = (rank + 1) % size, ranks;
    CHECK(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
    CHECK(ncmpi_get_att_int(file, NC_GLOBAL, "ranks", &ranks));
    start[1] = (MPI_Offset)other * COLUMNS;
    for (int var = 0; var < 3; var++) {
        CHECK(ncmpi_get_vara_double_all(file, vars[var], start, count, &found[0][0]));
        compare(other, names[var]);
    }
    CHECK(ncmpi_close(file));
    if (rank == 0 && ranks == size) printf("ok\n");
    MPI_Finalize();
    return 0;
}
