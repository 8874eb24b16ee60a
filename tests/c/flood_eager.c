/* 24,000 small messages that nobody receives for a while: the receiver's memory stays bounded, the senders
 * do not fail, other traffic of the receiver goes on, and all arrive in order (MPI-5.0 section 3.5).
 * (The bound is Tern's promise: MPICH 5.0.2 grows past it.)
 * ranks: 2 4
 * timeout: 120
 */
#include <sys/resource.h>
#include "check.h"

enum { MANY = 24000, WINDOW = 8000 };
/* Less than all those of 1,000 bytes, and twice what the receiver's credits and a network's buffers take.
 * AddressSanitizer keeps up to 256 MiB of freed memory aside. */
#ifdef __SANITIZE_ADDRESS__
enum { GROWTH_KIB_MAX = (256 + 16) << 10 };
#else
enum { GROWTH_KIB_MAX = 16 << 10 };
#endif

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
        fclose(file);
    }
    return resident * 4;
}

/* Messages and requests of the sender's own cost what they cost; the receiver keeps to a bound. */
static void flood(int bytes)
{
    char *out = check_alloc((size_t)bytes * WINDOW), *in = check_alloc((size_t)bytes);
    MPI_Request *requests = check_alloc(sizeof(MPI_Request) * MANY);
    if (check_rank == 1) {
        for (int i = 0; i < MANY; i++) {
            char *at = out + (size_t)(i % WINDOW) * bytes;
            if (i < WINDOW) check_fill(at, (size_t)bytes, i);
            MPI_Isend(at, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    } else if (check_rank == 0) {
        long before = resident_kib();
        int token = 0;
        /* While the flood comes in, the others are served. */
        for (int r = 2; r < check_size; r++)
            for (int i = 0; i < 200; i++) {
                MPI_Recv(&token, 1, MPI_INT, r, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK_EQ(token, i);
                MPI_Send(&token, 1, MPI_INT, r, 3, MPI_COMM_WORLD);
            }
        /* A later message with another tag may be received first. */
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(resident_kib() - before < GROWTH_KIB_MAX);
        for (int i = 0; i < MANY; i++) {
            MPI_Recv(in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (check_matching(in, (size_t)bytes, i % WINDOW) != (size_t)bytes) {
                CHECK_EQ(i, -1);
                break;
            }
        }
        CHECK(1);
    } else {
        for (int i = 0; i < 200; i++) {
            int back = -1;
            MPI_Sendrecv(&i, 1, MPI_INT, 0, 3, &back, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_EQ(back, i);
        }
    }
    free(out), free(in), free(requests);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks flood one with blocking sends. */
static void flood_blocking(void)
{
    enum { EACH = 10000 };
    int value[4] = {0}, next[64] = {0};
    if (check_rank == 0) {
        MPI_Barrier(MPI_COMM_SELF);
        for (int i = 0; i < EACH * (check_size - 1); i++) {
            MPI_Status status;
            MPI_Recv(value, 4, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
            if (value[0] != next[status.MPI_SOURCE]) CHECK_EQ(value[0], next[status.MPI_SOURCE]);
            next[status.MPI_SOURCE]++;
        }
        for (int r = 1; r < check_size; r++) CHECK_EQ(next[r], EACH);
    } else {
        for (int i = 0; i < EACH; i++) value[0] = i, MPI_Send(value, 4, MPI_INT, 0, 4, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    flood(8);
    flood(1000);
    flood_blocking();
    return check_finish();
}
