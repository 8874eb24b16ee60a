/* Traffic that checks itself, for jobs whose network misbehaves: the first argument says what the ranks do, the second
 * for how many seconds at most. The third names a file that ends it sooner when it appears. The harness
 * (harness/jobs/net.rs, strangers.rs) does the misbehaving. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static const char *ending;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Whether rank 0 begins another round. */
static int goes_on(double until)
{
    return now() < until && (!ending || access(ending, F_OK) != 0);
}

static void wrong(const char *what, long round, int peer)
{
    fprintf(stderr, "rank %d: %s of rank %d is wrong in round %ld\n", rank, what, peer, round);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static unsigned char byte_at(long round, int from, int to, size_t i)
{
    return (unsigned char)(round * 131 + from * 31 + to * 7 + (long)(i * 13 + (i >> 8)));
}

/* Sums over all ranks, short and long in turn, until rank 0's time is up. */
static void allreduce(double seconds)
{
    enum { MOST = 100000 };
    static const int counts[] = {2, 1000, MOST};
    static double in[MOST], out[MOST];
    double until = now() + seconds;
    long round = 0;
    for (int more = 1; more; round++) {
        int count = counts[round % 3];
        for (int i = 0; i < count; i++) in[i] = (double)(rank + i + round);
        in[0] = rank == 0 && goes_on(until);
        MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        more = out[0] != 0;
        for (int i = 1; i < count; i++)
            if (out[i] != (double)size * (double)(i + round) + size * (size - 1) / 2.0) wrong("the sum", round, i);
    }
    if (rank == 0) printf("%ld rounds are right\n", round);
}

/* From nothing to more than an eager message; different for each pair and round. */
static size_t length(long round, int from, int to)
{
    static const size_t lengths[] = {0, 8, 100, 5000, 33, 40000, 1, 300000};
    return lengths[(size_t)(round + 3 * from + 5 * to) % 8] + (size_t)(round % 7);
}

/* In each round every rank sends a message to every other, all with the same tag: one that is lost, doubled or
 * overtaken is seen in the next round at the latest. */
static void exchange(double seconds)
{
    enum { MOST = 300007 };
    MPI_Request *requests = malloc(2 * (size_t)size * sizeof *requests);
    unsigned char *in = malloc((size_t)size * MOST), *out = malloc((size_t)size * MOST);
    double until = now() + seconds;
    long round = 0;
    for (int more = 1, flag; more; round++) {
        int count = 0;
        for (int peer = 0; peer < size; peer++) {
            if (peer == rank) continue;
            unsigned char *place = out + (size_t)peer * MOST;
            size_t bytes = length(round, rank, peer);
            for (size_t i = 0; i < bytes; i++) place[i] = byte_at(round, rank, peer, i);
            MPI_Irecv(in + (size_t)peer * MOST, MOST, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[count++]);
            MPI_Isend(place, (int)bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[count++]);
        }
        for (int left = count; left > 0; left--) {
            MPI_Status status;
            int index, bytes;
            MPI_Waitany(count, requests, &index, &status);
            if (index % 2) continue;
            int peer = status.MPI_SOURCE;
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            if ((size_t)bytes != length(round, peer, rank)) wrong("the length", round, peer);
            for (int i = 0; i < bytes; i++)
                if (in[(size_t)peer * MOST + (size_t)i] != byte_at(round, peer, rank, (size_t)i))
                    wrong("the data", round, peer);
        }
        flag = rank == 0 && goes_on(until);
        if (round % 8 == 0) MPI_Bcast(&flag, 1, MPI_INT, 0, MPI_COMM_WORLD), more = flag;
    }
    int more;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &more, MPI_STATUS_IGNORE);
    if (more) wrong("what is left over", round, -1);
    if (rank == 0) printf("%ld rounds are right\n", round);
    free(requests), free(in), free(out);
}

/* Messages of 4 KiB back and forth between neighbors; rank 0 says how many rounds each tenth of a second has seen,
 * and when. */
static void pace(double seconds)
{
    enum { BYTES = 4096 };
    static char buffer[BYTES];
    int peer = rank ^ 1, more = 1;
    double begin = now(), since = begin;
    for (long rounds = 0; more && peer < size;) {
        buffer[0] = rank == 0 && !goes_on(begin + seconds);
        if (rank % 2 == 0) MPI_Send(buffer, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        if (rank % 2 == 0) more = !buffer[0];
        MPI_Recv(buffer, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank % 2) more = !buffer[0];
        if (rank % 2) MPI_Send(buffer, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        rounds++;
        if (rank == 0 && now() - since >= 0.1) {
            printf("at %.3f: %ld\n", since, rounds);
            since = now(), rounds = 0;
        }
    }
}

/* Ranks 0 and 1 have talked; then one of them sends nothing for a while, and the other waits. */
static void quiet(double seconds)
{
    int value = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("running\n"), fflush(stdout);
    if (rank == 0) usleep((unsigned)(seconds * 1e6));
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "";
    double seconds = argc > 2 ? atof(argv[2]) : 1;
    ending = argc > 3 ? argv[3] : NULL;
    if (!strcmp(what, "allreduce")) allreduce(seconds);
    if (!strcmp(what, "exchange")) exchange(seconds);
    if (!strcmp(what, "pace")) pace(seconds);
    if (!strcmp(what, "quiet")) quiet(seconds);
    MPI_Finalize();
    return 0;
}
