/* What the programs over windows check. They have their number in `rank`. */
#define CHECK(condition)                                                                                    \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #condition);                  \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                   \
        }                                                                                                   \
    } while (0)
