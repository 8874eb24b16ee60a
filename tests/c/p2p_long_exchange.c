/* Long messages in exchanges, in streams, and before their receives (MPI-5.0 section 3.5): whichever way each goes,
 * they come whole and in order. Cells that have been read carry the answers.
 * ranks: 2 3
 * timeout: 60
 */
#include "check.h"

#define KIB 1024
#define LENGTHS 9
#define ROUNDS 6

static const int lengths[LENGTHS] = {
    64 * KIB, 64 * KIB + 1, 128 * KIB, 128 * KIB + 8, 200 * KIB, 256 * KIB, 512 * KIB, 512 * KIB + 1, 700 * KIB,
};
static unsigned char *out, *in;

static unsigned char byte_of(int seed, int at)
{
    return (unsigned char)(seed * 37 + at + (at >> 8));
}

static void fill(int seed, int len)
{
    for (int i = 0; i < len; i++) out[i] = byte_of(seed, i);
}

static void verify(int seed, int len)
{
    int wrong = 0;
    for (int i = 0; i < len; i++) wrong += in[i] != byte_of(seed, i);
    CHECK_EQ(wrong, 0);
}

static void to(int peer, int seed, int len)
{
    fill(seed, len);
    MUST(MPI_Send(out, len, MPI_BYTE, peer, seed, MPI_COMM_WORLD));
}

static void from(int peer, int seed, int len)
{
    MUST(MPI_Recv(in, len, MPI_BYTE, peer, seed, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    verify(seed, len);
}

/* One message there, one back. */
static void back_and_forth(int len)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (check_rank == 0) to(1, round, len), from(1, round + ROUNDS, len);
        if (check_rank == 1) from(0, round, len), to(0, round + ROUNDS, len);
    }
}

/* Both at once, each longer than what the other one sent before. */
static void both_at_once(int len)
{
    int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
    for (int round = 0; round < ROUNDS; round++) {
        fill(check_rank + round, len);
        MUST(MPI_Sendrecv(out, len, MPI_BYTE, right, 1, in, len, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        verify(left + round, len);
    }
}

/* Several of different lengths before the first receive, taken last to first. */
static void before_their_receives(void)
{
    MPI_Request requests[LENGTHS];
    if (check_rank == 0) {
        fill(3, lengths[LENGTHS - 1]);
        for (int i = 0; i < LENGTHS; i++)
            MUST(MPI_Isend(out, lengths[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
        MUST(MPI_Waitall(LENGTHS, requests, MPI_STATUSES_IGNORE));
    } else if (check_rank == 1) {
        MPI_Status status;
        MUST(MPI_Probe(0, LENGTHS - 1, MPI_COMM_WORLD, &status));
        for (int i = LENGTHS - 1; i >= 0; i--) {
            MUST(MPI_Recv(in, lengths[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            verify(3, lengths[i]);
        }
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    out = check_alloc(lengths[LENGTHS - 1]);
    in = check_alloc(lengths[LENGTHS - 1]);
    for (int i = 0; i < LENGTHS; i++) {
        back_and_forth(lengths[i]);
        both_at_once(lengths[i]);
    }
    for (int round = 0; round < ROUNDS; round++) before_their_receives();
    free(out), free(in);
    return check_finish();
}
