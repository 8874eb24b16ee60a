/* Communicators that come and go, each with a broadcast that checks itself: the first argument says of whom they are,
 * the second how many, the third how many bytes go. Rank 0 says by how much the memory of a rank has grown at most
 * since the first quarter. */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static unsigned char *buffer;

/* Bytes of malloc that are in use. */
static long in_use(void)
{
#if __GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
#else
    struct mallinfo info = mallinfo();
#endif
    return (long)info.uordblks + (long)info.hblkhd;
}

/* The same numbers at all ranks (Marsaglia, "Xorshift RNGs", 2003). */
static unsigned next(void)
{
    static unsigned long long state = 88172645463325252ULL;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 32);
}

static unsigned char byte_at(int round, int i)
{
    return (unsigned char)(round * 31 + i + (i >> 8));
}

static void bcast(MPI_Comm comm, int root, int round, int bytes)
{
    int me;
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < bytes; i++) buffer[i] = me == root ? byte_at(round, i) : 0;
    MPI_Bcast(buffer, bytes, MPI_BYTE, root, comm);
    for (int i = 0; i < bytes; i++)
        if (buffer[i] != byte_at(round, i)) {
            fprintf(stderr, "rank %d: byte %d of communicator %d is wrong\n", rank, i, round);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
}

/* All ranks, again and again. */
static void same(int round, int bytes)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    bcast(comm, (int)(next() % (unsigned)size), round, bytes);
    MPI_Comm_free(&comm);
}

/* Other ranks each time. Only they take part, so all are where they like. */
static void others(int round, int bytes)
{
    int chosen[256], count = 0, is_in = 0;
    for (int peer = 0; peer < size && count < 256; peer++) {
        if (next() % 2) continue;
        chosen[count++] = peer;
        is_in |= peer == rank;
    }
    int root = (int)(next() % (unsigned)(count + (count == 0)));
    if (!is_in) return;
    MPI_Group world, group;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, chosen, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, round % 1000, &comm);
    bcast(comm, root, round, bytes);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* Everybody says something to everybody: connections keep what is not acknowledged, and some carry little the other
 * way. */
static void greet(void)
{
    for (int i = 1, in; i < size; i++) {
        int to = (rank + i) % size, from = (rank + size - i) % size;
        MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int same_ranks = argc > 1 && !strcmp(argv[1], "same");
    int rounds = argc > 2 ? atoi(argv[2]) : 1000, bytes = argc > 3 ? atoi(argv[3]) : 3000;
    buffer = malloc((size_t)bytes + 1);
    long before = 0, most;
    for (int round = 0; round < rounds; round++) {
        if (same_ranks) same(round, bytes);
        else others(round, bytes);
        if (round % 8 == 0) greet();
        if (round + 1 == rounds / 4) MPI_Barrier(MPI_COMM_WORLD), before = in_use();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    long grown = in_use() - before;
    MPI_Reduce(&grown, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d communicators: %ld bytes more\n", rounds, most);
    free(buffer);
    MPI_Finalize();
    return 0;
}
