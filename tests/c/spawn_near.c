/* Processes of two worlds on one host (MPI-5.0 section 11.8): once they have agreed, all that they exchange goes
 * by shared memory, and no socket carries a byte. The kernel's own counters of all sockets say so. Where a network is
 * forced, it carries all.
 * ranks: 1 2
 * timeout: 240
 */
#include "check.h"
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS_MAX 100000
#define QUIET_ROUNDS 500

/* Bytes that all connections of this process have carried, both ways. */
static long long carried(void)
{
    long long bytes = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct tcp_info info;
        socklen_t length = sizeof info;
        memset(&info, 0, sizeof info);
        if (getsockopt(atoi(entry->d_name), IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
            bytes += info.tcpi_bytes_sent + info.tcpi_bytes_received;
    }
    if (folder) closedir(folder);
    return bytes;
}

/* Whether all messages go over a network. */
static int is_forced(void)
{
    const char *transport = getenv("TERN_TRANSPORT");
    return transport && strcmp(transport, "auto") != 0 && strcmp(transport, "shm") != 0;
}

static void each_to_each(MPI_Comm all, int size)
{
    int out[16], in[16];
    for (int i = 0; i < size; i++) out[i] = i;
    MUST(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, all));
}

/* Until nothing has gone over sockets for a while. */
static void come_near(MPI_Comm all, int size)
{
    long long before = carried();
    if (is_forced()) return;
    for (int round = 0, quiet = 0; round < ROUNDS_MAX && !quiet; round++) {
        each_to_each(all, size);
        if (round % QUIET_ROUNDS != QUIET_ROUNDS - 1) continue;
        long long now = carried();
        int moved = now != before, any = 0;
        before = now;
        MUST(MPI_Allreduce(&moved, &any, 1, MPI_INT, MPI_MAX, all));
        quiet = !any;
        if (!quiet) usleep(20000);
    }
}

static void messages(MPI_Comm all, int rank, int size)
{
    static const int lengths[] = {0, 8, 40, 41, 4000, 5000, 60000, 70000, 1 << 20, 5 << 20};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int length = lengths[i];
        unsigned char *out = malloc(length + 1), *in = malloc((size_t)length * size + 1);
        MPI_Request requests[32];
        check_fill(out, length, 10 * i + rank);
        for (int from = 0; from < size; from++)
            MUST(MPI_Irecv(in + (size_t)from * length, length, MPI_BYTE, from, i, all, &requests[from]));
        for (int to = 0; to < size; to++)
            MUST(MPI_Isend(out, length, MPI_BYTE, to, i, all, &requests[size + to]));
        MUST(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
        for (int from = 0; from < size; from++)
            for (int at = 0; at < length; at += 97)
                if (!CHECK_EQ(in[(size_t)from * length + at], check_byte(10 * i + from, at))) break;
        free(out);
        free(in);
    }
}

/* Every second int. */
static void gaps(MPI_Comm all, int rank, int size)
{
    enum { COUNT = 50000 };
    MPI_Datatype type;
    MUST(MPI_Type_vector(COUNT, 1, 2, MPI_INT, &type));
    MUST(MPI_Type_commit(&type));
    int *out = calloc(2 * COUNT, sizeof *out), *in = calloc(2 * COUNT, sizeof *in);
    for (int i = 0; i < 2 * COUNT; i++) out[i] = rank * 1000000 + i;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MUST(MPI_Sendrecv(out, 1, type, to, 77, in, 1, type, from, 77, all, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * COUNT; i += 101)
        if (!CHECK_EQ(in[i], i % 2 ? 0 : from * 1000000 + i)) break;
    MPI_Type_free(&type);
    free(out);
    free(in);
}

static void windows(MPI_Comm all, int rank, int size)
{
    enum { COUNT = 30000 };
    int *memory, *mine = malloc(COUNT * sizeof *mine);
    MPI_Win win;
    MUST(MPI_Win_allocate(COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, all, &memory, &win));
    for (int i = 0; i < COUNT; i++) mine[i] = rank + i;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(mine, COUNT, MPI_INT, (rank + 1) % size, 0, COUNT, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < COUNT; i += 89)
        if (!CHECK_EQ(memory[i], (rank + size - 1) % size + i)) break;
    MUST(MPI_Win_fence(0, win));
    int one = 1;
    for (int to = 0; to < size; to++) MUST(MPI_Accumulate(&one, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(memory[0], (rank + size - 1) % size + size);
    MUST(MPI_Win_free(&win));
    free(mine);
}

/* One side sleeps for long before the other one sends. */
static void sleepers(MPI_Comm all, int rank, int size)
{
    for (int turn = 0; turn < 2; turn++) {
        int word = turn == 0 ? 0 : size - 1, got = -1;
        if (rank == word) {
            usleep(200000);
            got = 5;
        }
        MUST(MPI_Bcast(&got, 1, MPI_INT, word, all));
        CHECK_EQ(got, 5);
    }
}

static void exchange(MPI_Comm inter, int high)
{
    MPI_Comm all;
    int rank, size;
    MUST(MPI_Intercomm_merge(inter, high, &all));
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    come_near(all, size);
    long long before = carried();
    messages(all, rank, size);
    gaps(all, rank, size);
    windows(all, rank, size);
    sleepers(all, rank, size);
    long long after = carried();
    CHECK(before > 0);
    if (is_forced()) CHECK(after - before > 5 << 20);
    else CHECK_EQ(after - before, 0);
    MUST(MPI_Comm_disconnect(&all));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm parent, inter;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        exchange(parent, 1);
        int failures = (int)check_failures;
        MUST(MPI_Reduce(&failures, NULL, 1, MPI_INT, MPI_SUM, 0, parent));
        MUST(MPI_Comm_disconnect(&parent));
        MPI_Finalize();
        return 0;
    }
    /* A child that is a world alone, and then two that share memory with each other. */
    for (int children = 1; children <= 2; children++) {
        MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                            MPI_ERRCODES_IGNORE));
        exchange(inter, 0);
        int failures = 0;
        MUST(MPI_Reduce(NULL, &failures, 1, MPI_INT, MPI_SUM, check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
        CHECK_EQ(failures, 0);
        MUST(MPI_Comm_disconnect(&inter));
    }
    return check_finish();
}
