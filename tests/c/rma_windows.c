/* Windows: making and freeing them, what they say of themselves, attributes, names, hints (MPI-5.0 sections 12.2
 * and 7.7.3).
 * ranks: 1 2 3 8
 */
#include "check.h"
#include <limits.h>
#include <sys/mman.h>

static int deleted;

static int count_deletion(MPI_Win win, int key, void *value, void *extra)
{
    (void)win, (void)key, (void)extra;
    deleted += *(int *)value;
    return MPI_SUCCESS;
}

static void *attribute(MPI_Win win, int key)
{
    void *value = NULL;
    int flag = 0;
    MUST(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag);
    return value;
}

static void expect(MPI_Win win, void *base, MPI_Aint size, int unit, int flavor)
{
    CHECK(attribute(win, MPI_WIN_BASE) == base);
    CHECK_EQ(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE), size);
    CHECK_EQ(*(int *)attribute(win, MPI_WIN_DISP_UNIT), unit);
    CHECK_EQ(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR), flavor);
    CHECK_EQ(*(int *)attribute(win, MPI_WIN_MODEL), MPI_WIN_UNIFIED);
}

/* Every rank reads what its neighbor has in the first long of its part, if it has one. */
static void reach(MPI_Win win, long *mine, long tag)
{
    int next = (check_rank + 1) % check_size;
    long seen = -1;
    if (mine) *mine = tag + check_rank;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get(&seen, 1, MPI_LONG, next, 0, 1, MPI_LONG, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_EQ(seen, tag + next);
}

static void created(void)
{
    long memory[4] = {0};
    MPI_Win win;
    MUST(MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect(win, memory, sizeof memory, sizeof(long), MPI_WIN_FLAVOR_CREATE);
    reach(win, memory, 100);
    MUST(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    /* Nothing of a rank, and null. */
    MUST(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect(win, NULL, 0, 1, MPI_WIN_FLAVOR_CREATE);
    MUST(MPI_Win_free(&win));
}

static void allocated(void)
{
    long *memory;
    MPI_Win win;
    MPI_Aint size = sizeof(long) * (check_rank + 1);
    MUST(MPI_Win_allocate(size, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    expect(win, memory, size, sizeof(long), MPI_WIN_FLAVOR_ALLOCATE);
    for (int i = 0; i <= check_rank; i++) CHECK_EQ(memory[i], 0);
    reach(win, memory, 200);
    MPI_Aint other;
    int unit;
    long *base;
    MUST(MPI_Win_shared_query(win, check_size - 1, &other, &unit, &base));
    /* Memory of another host has no address here. */
    CHECK_EQ(other, base ? sizeof(long) * check_size : 0);
    if (base) CHECK_EQ(base[0], 200 + check_size - 1);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_free(&win));
}

/* Hints that decide something: where memory begins, and from when on elements are combined all at once. */
static void hinted(void)
{
    static long many[512];
    long *memory;
    MPI_Win win;
    MPI_Info info, used;
    char text[MPI_MAX_INFO_VAL] = "";
    int length = sizeof text, flag;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "mpi_minimum_memory_alignment", "262144"));
    MUST(MPI_Info_set(info, "mpi_accumulate_granularity", "1024"));
    MUST(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system"));
    MUST(MPI_Win_allocate(sizeof many, sizeof(long), info, MPI_COMM_WORLD, &memory, &win));
    CHECK((uintptr_t)memory % 262144 == 0);
    MUST(MPI_Win_get_info(win, &used));
    const char *keys[] = {"mpi_minimum_memory_alignment", "mpi_accumulate_granularity",
                          "mpi_assert_memory_alloc_kinds"};
    const char *values[] = {"262144", "1024", "system"};
    for (int i = 0; i < 3; i++) {
        length = sizeof text;
        MUST(MPI_Info_get_string(used, keys[i], &length, text, &flag));
        CHECK(flag);
        CHECK_STR(text, values[i]);
    }
    for (int i = 0; i < 512; i++) many[i] = i;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Accumulate(many, 512, MPI_LONG, 0, 0, 512, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Accumulate(many, 3, MPI_LONG, 0, 0, 3, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; check_rank == 0 && i < 512; i++) CHECK_EQ(memory[i], (i < 3 ? 2 : 1) * i * check_size);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Info_set(info, "mpi_accumulate_granularity", "some"));
    CHECK_ERROR(MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &memory, &win), MPI_ERR_INFO_VALUE, "granularity");
    MUST(MPI_Info_free(&info)), MUST(MPI_Info_free(&used));
}

static void shared(int apart)
{
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false"));
    long *memory, *base;
    MPI_Win win;
    /* The first rank has nothing. */
    MPI_Aint longs = check_rank == 0 && check_size > 1 ? 0 : 3, size;
    MUST(MPI_Win_allocate_shared(longs * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &memory, &win));
    MUST(MPI_Info_free(&info));
    expect(win, memory, longs * sizeof(long), sizeof(long), MPI_WIN_FLAVOR_SHARED);
    for (int i = 0; i < longs; i++) memory[i] = 10 * check_rank + i;
    MUST(MPI_Win_fence(0, win));
    int unit;
    long *first = NULL;
    MUST(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first));
    CHECK_EQ(size, 3 * sizeof(long));
    for (int rank = check_size > 1; rank < check_size; rank++) {
        MUST(MPI_Win_shared_query(win, rank, &size, &unit, &base));
        CHECK_EQ(size, 3 * sizeof(long));
        CHECK_EQ(unit, sizeof(long));
        for (int i = 0; i < 3; i++) CHECK_EQ(base[i], 10 * rank + i);
        if (!apart) CHECK(base == first + 3 * (rank - (check_size > 1)));
    }
    MUST(MPI_Win_fence(0, win));
    char text[MPI_MAX_INFO_VAL] = "";
    int length = sizeof text, flag;
    MUST(MPI_Win_get_info(win, &info));
    MUST(MPI_Info_get_string(info, "alloc_shared_noncontig", &length, text, &flag));
    CHECK(flag);
    CHECK_STR(text, apart ? "true" : "false");
    MUST(MPI_Info_free(&info));
    MUST(MPI_Win_free(&win));
}

/* An error comes with the access, or with the call that completes it. */
static int flushed(int code, int target, MPI_Win win)
{
    return code == MPI_SUCCESS ? MPI_Win_flush(target, win) : code;
}

/* Memory that the target has given back to the system without detaching it: an error here, and no crash there. */
static void unmapped(MPI_Win win, int next)
{
    const size_t page = 65536;
    char *mine = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Aint own, *all = check_alloc(sizeof(MPI_Aint) * check_size);
    MUST(MPI_Win_attach(win, mine, page));
    MUST(MPI_Get_address(mine, &own));
    MUST(MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD));
    munmap(mine, page);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, win));
    static long buf[2048], old[2048];
    for (int n = 1; next != check_rank && n <= 2048; n *= 2048) {
        const MPI_Aint at = all[next];
        int code = MPI_Put(buf, n, MPI_LONG, next, at, n, MPI_LONG, win);
        CHECK_ERROR(flushed(code, next, win), MPI_ERR_RMA_RANGE, "memory");
        code = MPI_Get(buf, n, MPI_LONG, next, at, n, MPI_LONG, win);
        CHECK_ERROR(flushed(code, next, win), MPI_ERR_RMA_RANGE, "memory");
        CHECK_ERROR(flushed(MPI_Accumulate(buf, n, MPI_LONG, next, all[next], n, MPI_LONG, MPI_SUM, win), next, win),
                    MPI_ERR_RMA_RANGE, "memory");
        code = MPI_Get_accumulate(buf, n, MPI_LONG, old, n, MPI_LONG, next, at, n, MPI_LONG, MPI_SUM, win);
        CHECK_ERROR(flushed(code, next, win), MPI_ERR_RMA_RANGE, "memory");
        MPI_Request request;
        code = MPI_Rget(buf, n, MPI_LONG, next, all[next], n, MPI_LONG, win, &request);
        CHECK_ERROR(code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code, MPI_ERR_RMA_RANGE, "memory");
    }
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_detach(win, mine));
    free(all);
}

static void dynamic(void)
{
    MPI_Win win;
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    long memory[8], seen[8];
    for (int i = 0; i < 8; i++) memory[i] = 8 * check_rank + i;
    MUST(MPI_Win_attach(win, memory, 4 * sizeof(long)));
    MUST(MPI_Win_attach(win, memory + 4, 4 * sizeof(long)));
    MPI_Aint own, *all = check_alloc(sizeof(MPI_Aint) * check_size);
    MUST(MPI_Get_address(memory, &own));
    MUST(MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD));
    int next = (check_rank + 1) % check_size;
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Get(seen, 8, MPI_LONG, next, all[next], 8, MPI_LONG, win));
    MUST(MPI_Win_flush(next, win));
    for (int i = 0; i < 8; i++) CHECK_EQ(seen[i], 8 * next + i);
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_detach(win, memory));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    CHECK_ERROR(flushed(MPI_Get(seen, 1, MPI_LONG, next, all[next], 1, MPI_LONG, win), next, win), MPI_ERR_RMA_RANGE,
                "attached");
    MUST(MPI_Get(seen, 1, MPI_LONG, next, MPI_Aint_add(all[next], 32), 1, MPI_LONG, win));
    MUST(MPI_Win_unlock(next, win));
    CHECK_ERROR(MPI_Win_detach(win, memory), MPI_ERR_RMA_ATTACH, "MPI_Win_detach");
    unmapped(win, next);
    MUST(MPI_Win_free(&win));
    free(all);
}

/* One access to two regions, and to what lies between them. */
static void two_regions(void)
{
    MPI_Win win;
    long memory[8] = {0}, out[2] = {check_rank + 1, -check_rank};
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Win_attach(win, &memory[0], sizeof(long)));
    MUST(MPI_Win_attach(win, &memory[6], 2 * sizeof(long)));
    MPI_Aint own, *all = check_alloc(sizeof(MPI_Aint) * check_size);
    MUST(MPI_Get_address(memory, &own));
    MUST(MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD));
    int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;
    MPI_Datatype both, beside;
    MPI_Aint attached[2] = {all[next], all[next] + 7 * (MPI_Aint)sizeof(long)};
    MPI_Aint wrong[2] = {all[next], all[next] + 5 * (MPI_Aint)sizeof(long)};
    MUST(MPI_Type_create_hindexed_block(2, 1, attached, MPI_LONG, &both));
    MUST(MPI_Type_create_hindexed_block(2, 1, wrong, MPI_LONG, &beside));
    MUST(MPI_Type_commit(&both));
    MUST(MPI_Type_commit(&beside));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    MUST(MPI_Put(out, 2, MPI_LONG, next, 0, 1, both, win));
    MUST(MPI_Win_flush(next, win));
    CHECK_ERROR(flushed(MPI_Put(out, 2, MPI_LONG, next, 0, 1, beside, win), next, win), MPI_ERR_RMA_RANGE, "attached");
    MUST(MPI_Win_unlock(next, win));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_EQ(memory[0], before + 1);
    CHECK_EQ(memory[5], 0);
    CHECK_EQ(memory[7], -before);
    MPI_Type_free(&both), MPI_Type_free(&beside);
    MUST(MPI_Win_free(&win));
    free(all);
}

static void cached(void)
{
    MPI_Win win;
    int *memory, key, value = 1, length;
    char name[MPI_MAX_OBJECT_NAME];
    MUST(MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win));
    MUST(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_deletion, &key, NULL));
    MUST(MPI_Win_set_attr(win, key, &value));
    CHECK(attribute(win, key) == &value);
    MUST(MPI_Win_delete_attr(win, key));
    CHECK_EQ(deleted, 1);
    MUST(MPI_Win_set_attr(win, key, &value));
    MUST(MPI_Win_free_keyval(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    MUST(MPI_Win_get_name(win, name, &length));
    CHECK_EQ(length, 0);
    MUST(MPI_Win_set_name(win, "ledger"));
    MUST(MPI_Win_get_name(win, name, &length));
    CHECK_STR(name, "ledger");
    MUST(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
    CHECK_STR(name, "MPI_WIN_NULL");
    MPI_Group group;
    int members;
    MUST(MPI_Win_get_group(win, &group));
    MUST(MPI_Group_size(group, &members));
    CHECK_EQ(members, 1);
    MUST(MPI_Group_free(&group));
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
    MUST(MPI_Win_free(&win));
    CHECK_EQ(deleted, 2);
}

/* A loop of windows leaves nothing behind; large ones take no memory that is not touched. */
static void many(void)
{
    for (int i = 0; i < 200; i++) {
        char *memory;
        MPI_Win win;
        MPI_Aint size = i % 10 == 0 ? (MPI_Aint)5 << 30 : 5000;
        MUST(MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        memory[size - 1] = 1;
        if (i % 10 == 0) {
            char seen = 0;
            int next = (check_rank + 1) % check_size;
            MUST(MPI_Win_fence(0, win));
            MUST(MPI_Get(&seen, 1, MPI_CHAR, next, size - 1, 1, MPI_CHAR, win));
            MUST(MPI_Win_fence(0, win));
            CHECK_EQ(seen, 1);
        }
        MUST(MPI_Win_free(&win));
    }
}

/* More windows at once than communicators can share memory, freed in another order; communicators are as they were. */
static void at_once(void)
{
    enum { WINDOWS = 150 };
    MPI_Win wins[WINDOWS];
    for (int round = 0; round < 2; round++) {
        long *mine[WINDOWS], seen = -1;
        int next = (check_rank + 1) % check_size, sum = 0;
        for (int i = 0; i < WINDOWS; i++)
            MUST(MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine[i], &wins[i]));
        for (int i = 0; i < WINDOWS; i += 7) reach(wins[i], mine[i], 1000 * i);
        MPI_Comm comm;
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        MUST(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_EQ(sum, check_size);
        MUST(MPI_Comm_free(&comm));
        for (int i = 0; i < WINDOWS; i++) MUST(MPI_Win_free(&wins[(i * 77 + 5) % WINDOWS]));
        /* New memory is zero, whatever was there. */
        MUST(MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine[0], &wins[0]));
        MUST(MPI_Win_lock_all(0, wins[0]));
        MUST(MPI_Get(&seen, sizeof seen, MPI_BYTE, next, 0, sizeof seen, MPI_BYTE, wins[0]));
        MUST(MPI_Win_unlock_all(wins[0]));
        CHECK_EQ(seen, 0);
        MUST(MPI_Win_free(&wins[0]));
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    created();
    allocated();
    hinted();
    if (check_shares_memory()) shared(0), shared(1);
    dynamic();
    two_regions();
    cached();
    many();
    at_once();
    return check_finish();
}
