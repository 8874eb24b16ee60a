/* Multiple completions (MPI-5.0 section 3.7.5): any, some and all, waiting and testing; null and empty
 * lists; errors in statuses.
 * ranks: 2 3 4
 */
#include "check.h"

enum { MANY = 40 };
static int in[MANY], out[MANY];
static MPI_Request receives[MANY], sends[MANY];
static int to, from;

static void post(void)
{
    for (int i = 0; i < MANY; i++) {
        in[i] = -1, out[i] = check_rank * 100 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &receives[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &sends[i]);
}

static void finish(void)
{
    MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(in[i], from * 100 + i);
        CHECK(receives[i] == MPI_REQUEST_NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_at_a_time(int wait)
{
    int seen[MANY] = {0}, index, flag;
    MPI_Status status;
    post();
    for (int i = 0; i < MANY;) {
        flag = 1;
        if (wait)
            MUST(MPI_Waitany(MANY, receives, &index, &status));
        else
            MUST(MPI_Testany(MANY, receives, &index, &flag, &status));
        if (!flag) {
            CHECK_EQ(index, MPI_UNDEFINED);
            continue;
        }
        CHECK(index >= 0 && index < MANY && !seen[index]++);
        CHECK_EQ(status.MPI_TAG, index);
        CHECK(receives[index] == MPI_REQUEST_NULL);
        i++;
    }
    MUST(MPI_Waitany(MANY, receives, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    MUST(MPI_Testany(MANY, receives, &index, &flag, &status));
    CHECK(flag);
    CHECK_EQ(index, MPI_UNDEFINED);
    finish();
}

static void some(int wait)
{
    int seen[MANY] = {0}, indices[MANY], count;
    MPI_Status statuses[MANY];
    post();
    for (int done = 0; done < MANY; done += count) {
        if (wait)
            MUST(MPI_Waitsome(MANY, receives, &count, indices, statuses));
        else
            MUST(MPI_Testsome(MANY, receives, &count, indices, statuses));
        CHECK(count >= wait && count <= MANY - done);
        for (int k = 0; k < count; k++) {
            CHECK(!seen[indices[k]]++);
            CHECK_EQ(statuses[k].MPI_TAG, indices[k]);
            CHECK_EQ(statuses[k].MPI_SOURCE, from);
        }
    }
    MUST(MPI_Waitsome(MANY, receives, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    MUST(MPI_Testsome(MANY, receives, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    finish();
}

static void all(int wait)
{
    MPI_Status statuses[MANY];
    int flag = wait;
    post();
    if (wait) MUST(MPI_Waitall(MANY, receives, statuses));
    while (!flag) {
        MUST(MPI_Testall(MANY, receives, &flag, statuses));
        /* All or nothing: no request is freed before all are complete. */
        if (!flag) for (int i = 0; i < MANY; i++) CHECK(receives[i] != MPI_REQUEST_NULL);
    }
    for (int i = 0; i < MANY; i++) CHECK_EQ(statuses[i].MPI_TAG, i);
    finish();
}

/* Null requests among live ones, and empty lists. */
static void with_nulls(void)
{
    MPI_Request requests[5] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                               MPI_REQUEST_NULL};
    MPI_Status statuses[5], status;
    int value = 0, mine = check_rank, index = 0, flag = 0, count = 0, indices[5];
    MPI_Irecv(&value, 1, MPI_INT, from, 500, MPI_COMM_WORLD, &requests[3]);
    MPI_Send(&mine, 1, MPI_INT, to, 500, MPI_COMM_WORLD);
    MUST(MPI_Waitany(5, requests, &index, &status));
    CHECK_EQ(index, 3);
    CHECK_EQ(value, from);
    MPI_Irecv(&value, 1, MPI_INT, from, 501, MPI_COMM_WORLD, &requests[2]);
    MPI_Send(&mine, 1, MPI_INT, to, 501, MPI_COMM_WORLD);
    MUST(MPI_Waitall(5, requests, statuses));
    for (int i = 0; i < 5; i++) CHECK_EQ(statuses[i].MPI_SOURCE, i == 2 ? from : MPI_ANY_SOURCE);
    for (int i = 0; i < 5; i++) CHECK_EQ(check_status_count(&statuses[i], MPI_INT), i == 2);
    MUST(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    MUST(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
    MUST(MPI_Waitany(0, NULL, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    MUST(MPI_Testany(0, NULL, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED);
    MUST(MPI_Waitsome(0, NULL, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    MUST(MPI_Wait(&requests[0], &status));
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    MUST(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
}

/* One truncated message among good ones: MPI_ERR_IN_STATUS, and the statuses say which. */
static void errors_in_statuses(void)
{
    int small = 0, good = 0, big[4] = {1, 2, 3, 4}, class = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Errhandler saved;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &saved);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Irecv(&small, 1, MPI_INT, from, 600, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&good, 1, MPI_INT, from, 601, MPI_COMM_WORLD, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(big, 4, MPI_INT, to, 600, MPI_COMM_WORLD);
    MPI_Send(big, 1, MPI_INT, to, 601, MPI_COMM_WORLD);
    int code = MPI_Waitall(2, requests, statuses);
    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_IN_STATUS);
    MPI_Error_class(statuses[0].MPI_ERROR, &class);
    CHECK_EQ(class, MPI_ERR_TRUNCATE);
    if (statuses[1].MPI_ERROR == MPI_ERR_PENDING) {
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    } else {
        CHECK_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
    }
    CHECK_EQ(good, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, saved);
    MPI_Errhandler_free(&saved);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    to = (check_rank + 1) % check_size;
    from = (check_rank + check_size - 1) % check_size;
    for (int wait = 0; wait < 2; wait++) {
        one_at_a_time(wait);
        some(wait);
        all(wait);
    }
    with_nulls();
    errors_in_statuses();
    return check_finish();
}
