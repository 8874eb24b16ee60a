/* Generalized requests (MPI-5.0 section 13.2): callbacks' order and arguments, all ways to complete them,
 * alone and among ordinary requests, cancelled, freed early, completed by another thread.
 * ranks: 1 2
 */
#include <pthread.h>
#include <unistd.h>
#include "check.h"

typedef struct { int queries, frees, cancels, complete_at_cancel, error; } state;

static int query(void *extra, MPI_Status *status)
{
    state *s = extra;
    s->queries++;
    MPI_Status_set_elements(status, MPI_INT, 10 + s->queries);
    MPI_Status_set_cancelled(status, s->cancels > 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return s->error;
}

static int release(void *extra)
{
    ((state *)extra)->frees++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    state *s = extra;
    s->cancels++;
    s->complete_at_cancel = complete;
    return MPI_SUCCESS;
}

static void wait_for_it(void)
{
    state s = {0};
    MPI_Request request;
    MPI_Status status;
    int flag = 1;
    MUST(MPI_Grequest_start(query, release, cancel, &s, &request));
    MUST(MPI_Test(&request, &flag, &status));
    CHECK(!flag);
    CHECK_EQ(s.queries, 0);
    MUST(MPI_Grequest_complete(request));
    MUST(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_EQ(s.queries, 1), CHECK_EQ(s.frees, 1), CHECK_EQ(s.cancels, 0);
    CHECK_EQ(status.MPI_SOURCE, 3), CHECK_EQ(status.MPI_TAG, 4);
    CHECK_EQ(check_status_count(&status, MPI_INT), 11);
}

static void cancelled(void)
{
    state s = {0};
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Grequest_start(query, release, cancel, &s, &request);
    MUST(MPI_Cancel(&request));
    CHECK_EQ(s.cancels, 1);
    CHECK(!s.complete_at_cancel);
    MPI_Grequest_complete(request);
    MUST(MPI_Cancel(&request));
    CHECK(s.complete_at_cancel);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    CHECK_EQ(s.frees, 1);
}

/* Freed before it is complete: the callback comes with the completion. */
static void freed_early(void)
{
    state s = {0};
    MPI_Request request, copy;
    MPI_Grequest_start(query, release, cancel, &s, &request);
    copy = request;
    MUST(MPI_Request_free(&request));
    CHECK_EQ(s.frees, 0);
    MUST(MPI_Grequest_complete(copy));
    CHECK_EQ(s.frees, 1);
    CHECK_EQ(s.queries, 0);
}

/* Request_get_status queries and keeps the request. */
static void inquired(void)
{
    state s = {0};
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Grequest_start(query, release, cancel, &s, &request);
    MPI_Grequest_complete(request);
    MUST(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag);
    CHECK_EQ(s.queries, 1), CHECK_EQ(s.frees, 0);
    MUST(MPI_Test(&request, &flag, &status));
    CHECK(flag && request == MPI_REQUEST_NULL);
    CHECK_EQ(s.queries, 2), CHECK_EQ(s.frees, 1);
}

/* In lists with other kinds of requests. */
static void in_lists(void)
{
    state s[3] = {{0}, {0}, {0}};
    MPI_Request requests[5];
    MPI_Status statuses[5];
    int value = -1, mine = check_rank, index = -1, flag, count, indices[5];
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < 3; i++) MPI_Grequest_start(query, release, cancel, &s[i], &requests[i]);
    MPI_Irecv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Isend(&mine, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[4]);
    MPI_Grequest_complete(requests[1]);
    MUST(MPI_Testany(3, requests, &index, &flag, statuses));
    CHECK(flag);
    CHECK_EQ(index, 1);
    MPI_Grequest_complete(requests[2]);
    MUST(MPI_Waitsome(3, requests, &count, indices, statuses));
    CHECK_EQ(count, 1), CHECK_EQ(indices[0], 2);
    MPI_Grequest_complete(requests[0]);
    MUST(MPI_Waitall(5, requests, statuses));
    CHECK_EQ(value, from);
    CHECK_EQ(statuses[0].MPI_TAG, 4);
    for (int i = 0; i < 3; i++) CHECK_EQ(s[i].queries, 1), CHECK_EQ(s[i].frees, 1);
}

static void *complete_later(void *argument)
{
    usleep(50000);
    MPI_Grequest_complete(*(MPI_Request *)argument);
    return NULL;
}

/* The usual way: another thread completes it while this one sleeps in wait. */
static void from_a_thread(void)
{
    state s = {0};
    MPI_Request request, for_thread;
    MPI_Status status;
    pthread_t thread;
    MPI_Grequest_start(query, release, cancel, &s, &request);
    for_thread = request;
    pthread_create(&thread, NULL, complete_later, &for_thread);
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(s.frees, 1);
    pthread_join(thread, NULL);
}

/* The error that a query callback returns is the call's. */
static void failing(void)
{
    state s = {.error = MPI_ERR_OTHER};
    MPI_Request request;
    MPI_Status status;
    int class = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Grequest_start(query, release, cancel, &s, &request);
    MPI_Grequest_complete(request);
    int code = MPI_Wait(&request, &status);
    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_OTHER);
    CHECK_EQ(s.frees, 1);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_identify();
    wait_for_it();
    cancelled();
    freed_early();
    inquired();
    in_lists();
    if (provided == MPI_THREAD_MULTIPLE) from_a_thread();
    failing();
    return check_finish();
}
