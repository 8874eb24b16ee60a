/* Many bytes in windows on the program's own memory, whose owner waits in a call, computes, or goes from one to the
 * other: put, get and accumulate (MPI-5.0 sections 12.3.1 to 12.3.3). All ranks may do so at once.
 * ranks: 2 3
 */
#include "check.h"

enum { BYTES = 300000, GUARD = 64, ROUNDS = 300 };

static unsigned char *memory, *mirror, *buffer; /* BYTES of each rank that writes here; what is there; what goes */
static MPI_Win win;
static uint64_t state;

/* A length that is one of a few bytes, of one part, or of many. */
static int some_length(int most)
{
    static const int kinds[] = {64, 5000, 60000, BYTES};
    const int kind = kinds[check_random(&state, 4)];
    return 1 + (int)check_random(&state, (uint64_t)(kind < most ? kind : most));
}

/* Puts bytes, and gets more with what is around them. */
static void write_and_read(int target, unsigned char *there)
{
    const int at = (int)check_random(&state, BYTES), len = some_length(BYTES - at) - 1;
    const int shift = (int)check_random(&state, GUARD), more = at + len + GUARD < BYTES ? GUARD : 0;
    const MPI_Aint base = (MPI_Aint)check_rank * BYTES;
    check_fill(there + at, (size_t)len, state);
    memcpy(buffer + shift, there + at, (size_t)len);
    MUST(MPI_Put(buffer + shift, len, MPI_BYTE, target, base + at, len, MPI_BYTE, win));
    MUST(MPI_Win_flush(target, win));
    memset(buffer, 0xee, BYTES + 2 * GUARD);
    MUST(MPI_Get(buffer + shift, len + more, MPI_BYTE, target, base + at, len + more, MPI_BYTE, win));
    MUST(MPI_Win_flush_local(target, win));
    CHECK(memcmp(buffer + shift, there + at, (size_t)(len + more)) == 0);
    CHECK(buffer[shift + len + more] == 0xee && (shift == 0 || buffer[shift - 1] == 0xee));
}

/* The same of elements, every other of the buffer here: what is there is their sum. */
static void add_with_gaps(int target, unsigned char *there)
{
    const int at = (int)check_random(&state, BYTES / 8) & ~1, count = (some_length(BYTES - 8 * at) + 7) / 8;
    const MPI_Aint base = (MPI_Aint)check_rank * BYTES;
    uint64_t *values = (uint64_t *)buffer, *sums = (uint64_t *)there + at;
    const int parts = count < BYTES / 16 ? count : BYTES / 16;
    MPI_Datatype every_other;
    MUST(MPI_Type_vector(parts, 1, 2, MPI_UINT64_T, &every_other));
    MUST(MPI_Type_commit(&every_other));
    for (int i = 0; i < 2 * parts; i++)
        values[i] = check_random(&state, 1000);
    MUST(MPI_Accumulate(values, 1, every_other, target, base + 8 * at, parts, MPI_UINT64_T, MPI_SUM, win));
    for (int i = 0; i < parts; i++)
        sums[i] += values[2 * i];
    MUST(MPI_Win_flush(target, win));
    MUST(MPI_Get(values, 1, every_other, target, base + 8 * at, parts, MPI_UINT64_T, win));
    MUST(MPI_Win_flush(target, win));
    for (int i = 0; i < parts; i++)
        CHECK(values[2 * i] == sums[i]);
    MUST(MPI_Type_free(&every_other));
}

static void compute(double seconds)
{
    for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        continue;
}

/* Other ranks wait for a token, and compute for a moment. */
static void come_and_go(void)
{
    for (int rounds = 1; rounds > 0;) {
        MUST(MPI_Recv(&rounds, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        compute(1e-6 * (double)check_random(&state, 60));
    }
}

static void give_tokens(int rounds)
{
    for (int rank = 1; rank < check_size; rank++)
        MUST(MPI_Send(&rounds, 1, MPI_INT, rank, 0, MPI_COMM_WORLD));
}

/* Ranks that access nothing wait in a barrier, or come and go. */
static void access(int is_busy, int others_come_and_go)
{
    memset(memory, 0, (size_t)BYTES * (size_t)check_size);
    memset(mirror, 0, (size_t)BYTES * (size_t)check_size);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, win));
    if (others_come_and_go && !is_busy) come_and_go();
    for (int left = ROUNDS; is_busy && left-- > 0;) {
        const int target = (int)check_random(&state, (uint64_t)check_size);
        unsigned char *there = mirror + (size_t)BYTES * (size_t)target;
        if (others_come_and_go) give_tokens(left);
        if (left % 3 == 2)
            add_with_gaps(target, there);
        else
            write_and_read(target, there);
    }
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* All add to the same elements at once: nothing is lost, whoever does it. */
static void add_together(void)
{
    enum { COUNT = 20000, TIMES = 10 };
    int64_t *ones = (int64_t *)buffer, *sums = (int64_t *)memory;
    memset(memory, 0, BYTES);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    MUST(MPI_Win_fence(0, win));
    for (int time = 0; time < TIMES; time++)
        for (int target = 0; target < check_size; target++)
            MUST(MPI_Accumulate(ones, COUNT, MPI_INT64_T, target, 0, COUNT, MPI_INT64_T, MPI_SUM, win));
    MUST(MPI_Win_fence(0, win));
    long wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += sums[i] != (int64_t)TIMES * check_size;
    CHECK_EQ(wrong, 0);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    state = (uint64_t)check_rank + 1;
    memory = check_alloc((size_t)BYTES * (size_t)check_size), mirror = check_alloc((size_t)BYTES * (size_t)check_size);
    buffer = check_alloc(BYTES + 2 * GUARD);
    MUST(MPI_Win_create(memory, (MPI_Aint)BYTES * check_size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    access(check_rank == 0, 0);
    access(check_rank == 0, 1);
    access(1, 0);
    add_together();
    MUST(MPI_Win_free(&win));
    free(memory), free(mirror), free(buffer);
    return check_finish();
}
