/* Non-blocking communication (MPI-5.0 section 3.7): all modes, posted before and after the message,
 * many requests, completion out of order, Request_free, Request_get_status.
 * ranks: 2 3 4 8
 * timeout: 120
 */
#include "check.h"

enum { SIZES = 12 };
static const int sizes[SIZES] = {0, 1, 8, 33, 64, 1000, 4096, 8193, 65536, 100000, 1 << 20, 3 << 20};

/* All pairs, all sizes, receives posted first. */
static void exchange_posted(void)
{
    int peers = check_size, n = 0;
    MPI_Request *requests = check_alloc(sizeof(MPI_Request) * 2 * peers * SIZES);
    char **in = check_alloc(sizeof(char *) * peers * SIZES), **out = check_alloc(sizeof(char *) * peers * SIZES);
    for (int p = 0; p < peers; p++)
        for (int s = 0; s < SIZES; s++) {
            in[p * SIZES + s] = check_alloc((size_t)sizes[s]);
            MPI_Irecv(in[p * SIZES + s], sizes[s], MPI_BYTE, p, s, MPI_COMM_WORLD, &requests[n++]);
        }
    for (int s = SIZES - 1; s >= 0; s--)
        for (int p = 0; p < peers; p++) {
            out[p * SIZES + s] = check_alloc((size_t)sizes[s]);
            check_fill(out[p * SIZES + s], (size_t)sizes[s], check_rank * 1000 + p * 100 + s);
            MPI_Isend(out[p * SIZES + s], sizes[s], MPI_BYTE, p, s, MPI_COMM_WORLD, &requests[n++]);
        }
    MPI_Status *statuses = check_alloc(sizeof(MPI_Status) * n);
    MUST(MPI_Waitall(n, requests, statuses));
    for (int p = 0; p < peers; p++)
        for (int s = 0; s < SIZES; s++) {
            CHECK_DATA(in[p * SIZES + s], sizes[s], p * 1000 + check_rank * 100 + s);
            CHECK_EQ(statuses[p * SIZES + s].MPI_SOURCE, p);
            CHECK_EQ(statuses[p * SIZES + s].MPI_TAG, s);
            CHECK_EQ(check_status_count(&statuses[p * SIZES + s], MPI_BYTE), sizes[s]);
            free(in[p * SIZES + s]);
            free(out[p * SIZES + s]);
        }
    for (int i = 0; i < n; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
    free(requests), free(in), free(out), free(statuses);
}

/* All messages are unexpected; they are received in the reverse order of tags. */
static void exchange_unexpected(void)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    MPI_Request sends[SIZES];
    char *out[SIZES];
    for (int s = 0; s < SIZES; s++) {
        out[s] = check_alloc((size_t)sizes[s]);
        check_fill(out[s], (size_t)sizes[s], check_rank * 77 + s);
        MPI_Isend(out[s], sizes[s], MPI_BYTE, to, 100 + s, MPI_COMM_WORLD, &sends[s]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int s = SIZES - 1; s >= 0; s--) {
        char *in = check_alloc((size_t)sizes[s]);
        MPI_Request request;
        MPI_Irecv(in, sizes[s], MPI_BYTE, from, 100 + s, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_DATA(in, sizes[s], from * 77 + s);
        free(in);
    }
    MPI_Waitall(SIZES, sends, MPI_STATUSES_IGNORE);
    for (int s = 0; s < SIZES; s++) free(out[s]);
}

/* A send request freed early still delivers (section 3.7.3). */
static void free_early(void)
{
    static int out[4] = {1, 2, 3, 4};
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size, in = 0;
    for (int i = 0; i < 4; i++) {
        MPI_Request request;
        MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &request);
        MUST(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Recv(&in, 1, MPI_INT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(in, i + 1);
    }
    static int late = -1;
    int value = 99;
    MPI_Request request;
    MPI_Irecv(&late, 1, MPI_INT, from, 50, MPI_COMM_WORLD, &request);
    MUST(MPI_Request_free(&request));
    MPI_Send(&value, 1, MPI_INT, to, 50, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Order (section 3.5) makes the first message's landing certain once a later one has been received. */
    MPI_Sendrecv(&value, 1, MPI_INT, to, 51, &in, 1, MPI_INT, from, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(late, 99);
}

static void get_status(void)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    int in = -1, out = check_rank, flag = 0;
    MPI_Request receive, none = MPI_REQUEST_NULL;
    MPI_Status status;
    MUST(MPI_Request_get_status(none, &flag, &status));
    CHECK(flag);
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    MPI_Irecv(&in, 1, MPI_INT, from, 60, MPI_COMM_WORLD, &receive);
    MPI_Send(&out, 1, MPI_INT, to, 60, MPI_COMM_WORLD);
    for (flag = 0; !flag;) MPI_Request_get_status(receive, &flag, &status);
    CHECK(receive != MPI_REQUEST_NULL);
    CHECK_EQ(status.MPI_SOURCE, from);
    MPI_Wait(&receive, &status);
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(in, from);
}

/* MPI-4.1 added inquiries about many requests that do not free them (section 3.7.6). */
static void get_status_many(void)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    int in[4], out[4] = {5, 6, 7, 8}, flag = 0, index = -2, count = 0, indices[4];
    MPI_Request receives[4];
    MPI_Status status, statuses[4];
    for (int i = 0; i < 4; i++) MPI_Irecv(&in[i], 1, MPI_INT, from, 70 + i, MPI_COMM_WORLD, &receives[i]);
    for (int i = 0; i < 4; i++) MPI_Send(&out[i], 1, MPI_INT, to, 70 + i, MPI_COMM_WORLD);
    while (!flag) MUST(MPI_Request_get_status_all(4, receives, &flag, statuses));
    for (int i = 0; i < 4; i++) CHECK_EQ(statuses[i].MPI_TAG, 70 + i);
    flag = 0;
    MUST(MPI_Request_get_status_any(4, receives, &index, &flag, &status));
    CHECK(flag && index >= 0 && index < 4);
    MUST(MPI_Request_get_status_some(4, receives, &count, indices, statuses));
    CHECK_EQ(count, 4);
    for (int i = 0; i < 4; i++) CHECK(receives[i] != MPI_REQUEST_NULL);
    MPI_Waitall(4, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) CHECK_EQ(in[i], 5 + i);
}

/* Thousands of requests at once. */
static void many_requests(void)
{
    enum { MANY = 5000 };
    static MPI_Request requests[2 * MANY];
    static int in[MANY], out[MANY];
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < MANY; i++) {
        out[i] = i * 3 + check_rank;
        MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < MANY; i++)
        MPI_Isend(&out[MANY - 1 - i], 1, MPI_INT, to, MANY - 1 - i, MPI_COMM_WORLD, &requests[MANY + i]);
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++) CHECK_EQ(in[i], i * 3 + from);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    exchange_posted();
    exchange_unexpected();
    free_early();
    get_status();
    get_status_many();
    many_requests();
    return check_finish();
}
