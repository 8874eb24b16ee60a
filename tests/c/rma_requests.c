/* One-sided operations with requests (MPI-5.0 section 12.3.5): each kind in a passive epoch, completed alone and
 * with other requests, in both forms of their counts; when a request ends, and what that says. Hints of windows
 * (section 12.2.1).
 * ranks: 1 2 4
 * timeout: 60
 */
#include "check.h"

enum { LONG = 40000 };

static long *memory;
static MPI_Win win;
static int next_rank, previous_rank;

/* What is there at another rank, after it was completed there. */
static long there(int rank, int place)
{
    long value = -1;
    MPI_Request request;
    MUST(MPI_Rget(&value, 1, MPI_LONG, rank, place, 1, MPI_LONG, win, &request));
    /* The end of a get says that the data are here. */
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    return value;
}

static void each_kind(void)
{
    MPI_Request request;
    long mine = 100 + check_rank, add = 7, old = -1;
    int flag = 0;
    MUST(MPI_Rput(&mine, 1, MPI_LONG, next_rank, 0, 1, MPI_LONG, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Win_flush(next_rank, win));
    CHECK_EQ(there(next_rank, 0), mine);
    MUST(MPI_Raccumulate(&add, 1, MPI_LONG, next_rank, 0, 1, MPI_LONG, MPI_SUM, win, &request));
    while (!flag) MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Win_flush(next_rank, win));
    CHECK_EQ(there(next_rank, 0), mine + add);
    MUST(MPI_Rget_accumulate(&add, 1, MPI_LONG, &old, 1, MPI_LONG, next_rank, 0, 1, MPI_LONG, MPI_REPLACE, win,
                             &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(old, mine + add);
    MUST(MPI_Win_flush(next_rank, win));
    CHECK_EQ(there(next_rank, 0), add);
    old = -1;
    MUST(MPI_Rget_accumulate(NULL, 0, MPI_LONG, &old, 1, MPI_LONG, next_rank, 0, 1, MPI_LONG, MPI_NO_OP, win,
                             &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(old, add);

    MUST(MPI_Rput_c(&mine, 1, MPI_LONG, next_rank, 1, 1, MPI_LONG, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Win_flush(next_rank, win));
    MUST(MPI_Raccumulate_c(&add, 1, MPI_LONG, next_rank, 1, 1, MPI_LONG, MPI_SUM, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Win_flush(next_rank, win));
    MUST(MPI_Rget_accumulate_c(&add, 1, MPI_LONG, &old, 1, MPI_LONG, next_rank, 1, 1, MPI_LONG, MPI_SUM, win,
                               &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(old, mine + add);
    MUST(MPI_Win_flush(next_rank, win));
    MUST(MPI_Rget_c(&old, 1, MPI_LONG, next_rank, 1, 1, MPI_LONG, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(old, mine + 2 * add);
}

/* Long ones, several at once, among requests of messages. */
static void together(void)
{
    static long out[LONG], in[LONG], back[LONG];
    MPI_Request requests[4];
    long word = check_rank, heard = -1;
    for (int i = 0; i < LONG; i++) out[i] = (long)check_word((uint64_t)check_rank, (uint64_t)i);
    MUST(MPI_Rput(out, LONG, MPI_LONG, next_rank, 8, LONG, MPI_LONG, win, &requests[0]));
    MUST(MPI_Irecv(&heard, 1, MPI_LONG, previous_rank, 5, MPI_COMM_WORLD, &requests[1]));
    MUST(MPI_Isend(&word, 1, MPI_LONG, next_rank, 5, MPI_COMM_WORLD, &requests[2]));
    MUST(MPI_Rget(in, 1, MPI_LONG, next_rank, 0, 1, MPI_LONG, win, &requests[3]));
    MUST(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(heard, previous_rank);
    /* The end of a put says that its buffer may be used again. */
    memcpy(back, out, sizeof out);
    memset(out, 0, sizeof out);
    MUST(MPI_Win_flush(next_rank, win));
    MUST(MPI_Rget(in, LONG, MPI_LONG, next_rank, 8, LONG, MPI_LONG, win, &requests[0]));
    int index = -1;
    MUST(MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, 0);
    CHECK(memcmp(in, back, sizeof back) == 0);
}

static void nobody(void)
{
    MPI_Request request;
    long value = 3, old = 4;
    MUST(MPI_Rput(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Rget(&old, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(old, 4);
    MUST(MPI_Raccumulate(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, win, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Rget_accumulate(&value, 1, MPI_LONG, &old, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, win,
                             &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(old, 4);
}

/* A request that is freed ends by itself: the synchronization covers it. */
static void freed(void)
{
    MPI_Request request;
    long value = 77;
    MUST(MPI_Rput(&value, 1, MPI_LONG, next_rank, 3, 1, MPI_LONG, win, &request));
    MUST(MPI_Request_free(&request));
    MUST(MPI_Win_flush(next_rank, win));
    CHECK_EQ(there(next_rank, 3), 77);
}

static void has(const char *key, const char *value)
{
    MPI_Info used;
    char text[128] = "";
    int length = sizeof text, flag = 0;
    MUST(MPI_Win_get_info(win, &used));
    MUST(MPI_Info_get_string(used, key, &length, text, &flag));
    CHECK(flag);
    CHECK_STR(text, value);
    MUST(MPI_Info_free(&used));
}

/* All hints of section 12.2.1 are told with what holds; some may change later. */
static void hints(void)
{
    MPI_Info info;
    has("no_locks", "false");
    has("accumulate_ordering", "rar,raw,war,waw");
    has("accumulate_ops", "same_op_no_op");
    has("same_size", "true");
    has("same_disp_unit", "true");
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "accumulate_ordering", "none"));
    MUST(MPI_Info_set(info, "no key of anybody", "a value"));
    MUST(MPI_Win_set_info(win, info));
    MUST(MPI_Info_free(&info));
    has("accumulate_ordering", "none");
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "accumulate_ordering", "rar,raw,war,waw"));
    MUST(MPI_Win_set_info(win, info));
    MUST(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    next_rank = (check_rank + 1) % check_size;
    previous_rank = (check_rank + check_size - 1) % check_size;
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "same_size", "true"));
    MUST(MPI_Info_set(info, "same_disp_unit", "true"));
    MPI_Aint bytes = (LONG + 8) * (MPI_Aint)sizeof(long);
    MUST(MPI_Win_allocate(bytes, sizeof(long), info, MPI_COMM_WORLD, &memory, &win));
    MUST(MPI_Info_free(&info));
    hints();
    memset(memory, 0, (LONG + 8) * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, win));
    each_kind();
    together();
    nobody();
    freed();
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Win_free(&win));
    return check_finish();
}
