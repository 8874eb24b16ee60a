/* Prints the rows of grid.tsv: which elements of an array each darray picks, told by packing the array of its
   own indices. Run with one process on any MPI:  mpicc print_grid.c && ./a.out */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS_MAX = 4096 };

static int distribution(char letter) {
    return letter == 'b' ? MPI_DISTRIBUTE_BLOCK : letter == 'c' ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_NONE;
}

static void print_list(const char *name, const int *values, int count) {
    printf("%s", name);
    for (int i = 0; i < count; i++) printf(" %d", values[i]);
    printf("\t");
}

static void print_row(int size, int rank, int ndims, int *gsizes, const char *letters, int *dargs, int *psizes,
                      int order) {
    int distribs[3], given[3], packed[ELEMENTS_MAX], array[ELEMENTS_MAX], bytes, position = 0;
    for (int i = 0; i < ndims; i++) {
        distribs[i] = distribution(letters[i]);
        given[i] = dargs[i] ? dargs[i] : MPI_DISTRIBUTE_DFLT_DARG;
    }
    for (int i = 0; i < ELEMENTS_MAX; i++) array[i] = i;
    MPI_Datatype part;
    MPI_Type_create_darray(size, rank, ndims, gsizes, distribs, given, psizes, order, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_Type_size(part, &bytes);
    MPI_Pack(array, 1, part, packed, sizeof packed, &position, MPI_COMM_SELF);
    printf("%s\t%c\t%d %d\t", letters, order == MPI_ORDER_C ? 'C' : 'F', size, rank);
    print_list("g", gsizes, ndims);
    print_list("d", dargs, ndims);
    print_list("p", psizes, ndims);
    print_list("=", packed, bytes / (int)sizeof(int));
    printf("\n");
    MPI_Type_free(&part);
}

struct grid {
    int size, ndims, gsizes[3];
    const char *letters;
    int dargs[3], psizes[3]; /* a darg of 0 is MPI_DISTRIBUTE_DFLT_DARG */
};

int main(void) {
    static struct grid grids[] = {
        {2, 1, {7}, "b", {0}, {2}},
        {3, 1, {7}, "b", {4}, {3}},
        {3, 1, {11}, "c", {0}, {3}},
        {3, 1, {17}, "c", {2}, {3}},
        {4, 1, {5}, "c", {3}, {4}},
        {1, 1, {5}, "n", {0}, {1}},
        {4, 2, {5, 6}, "bb", {0, 0}, {2, 2}},
        {6, 2, {5, 7}, "bc", {0, 2}, {2, 3}},
        {6, 2, {7, 5}, "cb", {1, 3}, {3, 2}},
        {4, 2, {7, 9}, "cc", {2, 2}, {2, 2}},
        {3, 2, {4, 8}, "nc", {0, 2}, {1, 3}},
        {3, 2, {8, 4}, "cn", {3, 0}, {3, 1}},
        {8, 3, {3, 4, 5}, "bbb", {0, 0, 0}, {2, 2, 2}},
        {8, 3, {5, 4, 3}, "cbc", {2, 0, 1}, {2, 2, 2}},
        {6, 3, {4, 3, 5}, "bnc", {2, 0, 0}, {2, 1, 3}},
    };
    MPI_Init(NULL, NULL);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (int rank = 0; rank < grids[g].size; rank++)
            for (int fortran = 0; fortran < 2; fortran++)
                print_row(grids[g].size, rank, grids[g].ndims, grids[g].gsizes, grids[g].letters, grids[g].dargs,
                          grids[g].psizes, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C);
    MPI_Finalize();
    return 0;
}
