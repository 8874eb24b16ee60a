/* Few bytes in windows on the program's own memory, to ranks that wait, compute, and access each other at once: put,
 * get and elements that are combined (MPI-5.0 sections 12.3.1 to 12.3.5 and 12.7.3).
 * ranks: 2 3
 */
#include "check.h"

enum { BYTES = 96, ROUNDS = 400 };

static unsigned char *memory; /* BYTES of each rank that writes here */
static MPI_Win windows[2];
static uint64_t state;

/* Writes some bytes in this rank's part of a target's memory, and reads them with their neighbors. */
static void write_and_read(MPI_Win win, int target, unsigned char *mirror)
{
    MPI_Request request;
    const int at = (int)check_random(&state, BYTES), most = BYTES - at < 50 ? BYTES - at : 50;
    const int len = (int)check_random(&state, (uint64_t)most + 1);
    unsigned char got[BYTES];
    check_fill(mirror + at, (size_t)len, state);
    MUST(MPI_Put(mirror + at, len, MPI_BYTE, target, check_rank * BYTES + at, len, MPI_BYTE, win));
    MUST(MPI_Win_flush(target, win));
    MUST(MPI_Get(got, 40, MPI_BYTE, target, check_rank * BYTES + at / 2, 40, MPI_BYTE, win));
    MUST(MPI_Get(got + 40, 8, MPI_BYTE, target, check_rank * BYTES, 8, MPI_BYTE, win));
    MUST(MPI_Win_flush_local(target, win));
    CHECK(memcmp(got, mirror + at / 2, 40) == 0);
    CHECK(memcmp(got + 40, mirror, 8) == 0);
    MUST(MPI_Rput(mirror, 24, MPI_BYTE, target, check_rank * BYTES, 24, MPI_BYTE, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Win_flush(target, win));
    MUST(MPI_Rget(got, 16, MPI_BYTE, target, check_rank * BYTES + 3, 16, MPI_BYTE, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(memcmp(got, mirror + 3, 16) == 0);
}

/* The ranks that are `busy` access the memory of all, and the others wait in a barrier. */
static void access(int is_busy)
{
    static unsigned char mirrors[8][BYTES];
    for (int i = 0; i < 2; i++)
        MUST(MPI_Win_lock_all(0, windows[i]));
    memset(mirrors, 0, sizeof mirrors);
    memset(memory, 0, (size_t)(BYTES * check_size));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; is_busy && round < ROUNDS; round++) {
        const int target = (int)check_random(&state, (uint64_t)check_size);
        write_and_read(windows[round % 2], target, mirrors[target]);
    }
    for (int i = 0; i < 2; i++)
        MUST(MPI_Win_unlock_all(windows[i]));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

/* Elements that all ranks combine. */
struct counters {
    int64_t fetched, added, swapped;
    int32_t three[3], largest;
};

enum { COUNTS = 200 };

/* Counts one up in each way; what is fetched never goes back. */
static void count_up(MPI_Win win, int target, struct counters *seen)
{
    const MPI_Aint base = BYTES * check_size;
    const int64_t one = 1;
    const int32_t ones[3] = {1, 2, 3}, mine = check_rank;
    int64_t fetched, next;
    int32_t three[3];
    MUST(MPI_Fetch_and_op(&one, &fetched, MPI_INT64_T, target, base, MPI_SUM, win));
    MUST(MPI_Accumulate(&one, 1, MPI_INT64_T, target, base + 8, 1, MPI_INT64_T, MPI_SUM, win));
    MUST(MPI_Get_accumulate(ones, 3, MPI_INT32_T, three, 3, MPI_INT32_T, target, base + 24, 3, MPI_INT32_T, MPI_SUM,
                            win));
    MUST(MPI_Accumulate(&mine, 1, MPI_INT32_T, target, base + 36, 1, MPI_INT32_T, MPI_MAX, win));
    MUST(MPI_Fetch_and_op(NULL, &next, MPI_INT64_T, target, base + 16, MPI_NO_OP, win));
    MUST(MPI_Win_flush(target, win));
    CHECK(fetched >= seen->fetched && three[0] >= seen->three[0]);
    CHECK(three[1] == 2 * three[0] && three[2] == 3 * three[0]);
    seen->fetched = fetched + 1, seen->three[0] = three[0] + 1;
    for (int64_t expected = next - 1; next != expected;) {
        const int64_t wanted = next + 1;
        expected = next;
        MUST(MPI_Compare_and_swap(&wanted, &expected, &next, MPI_INT64_T, target, base + 16, win));
        MUST(MPI_Win_flush(target, win));
    }
}

/* The ranks from `first` to `last` count, and the others wait in a barrier. */
static void count(int first, int last)
{
    struct counters *counters = (struct counters *)(memory + BYTES * check_size), seen[8];
    const int is_busy = first <= check_rank && check_rank <= last, busy = last - first + 1;
    memset(counters, 0, sizeof *counters);
    memset(seen, 0, sizeof seen);
    MUST(MPI_Win_lock_all(0, windows[0]));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; is_busy && i < COUNTS; i++)
        for (int target = 0; target < check_size; target++)
            count_up(windows[0], target, &seen[target]);
    MUST(MPI_Win_unlock_all(windows[0]));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(counters->fetched, busy * COUNTS);
    CHECK_EQ(counters->added, busy * COUNTS);
    CHECK_EQ(counters->swapped, busy * COUNTS);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(counters->three[i], (i + 1) * busy * COUNTS);
    CHECK_EQ(counters->largest, last);
}

/* One that computes until it sees what was put. */
static void compute(void)
{
    const int last = check_size - 1;
    volatile long *flag = (volatile long *)memory;
    *flag = 0;
    MUST(MPI_Win_lock_all(0, windows[0]));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (long i = 1; check_rank == 0 && i <= 100; i++) {
        MUST(MPI_Put(&i, sizeof i, MPI_BYTE, last, 0, sizeof i, MPI_BYTE, windows[0]));
        MUST(MPI_Win_flush(last, windows[0]));
    }
    while (check_rank == last && *flag != 100) {
    }
    MUST(MPI_Win_unlock_all(windows[0]));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    state = (uint64_t)check_rank * 1000;
    const MPI_Aint bytes = BYTES * check_size + (MPI_Aint)sizeof(struct counters);
    memory = check_alloc((size_t)bytes);
    for (int i = 0; i < 2; i++)
        MUST(MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[i]));
    access(1);
    access(check_rank == 0);
    access(check_rank != 0);
    count(0, check_size - 1);
    count(0, 0);
    count(1, check_size - 1);
    compute();
    MUST(MPI_Win_free(&windows[0]));
    MUST(MPI_Win_free(&windows[1]));
    free(memory);
    return check_finish();
}
