/* Few bytes in windows on the program's own memory, to ranks that wait, compute, and access each other at once
 * (MPI-5.0 sections 12.3.1, 12.3.2 and 12.7.3).
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
    const MPI_Aint bytes = BYTES * check_size;
    memory = check_alloc((size_t)bytes);
    for (int i = 0; i < 2; i++)
        MUST(MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[i]));
    access(1);
    access(check_rank == 0);
    access(check_rank != 0);
    compute();
    MUST(MPI_Win_free(&windows[0]));
    MUST(MPI_Win_free(&windows[1]));
    free(memory);
    return check_finish();
}
