/* Probe and matched probe (MPI-5.0 section 3.8): blocking and not, wildcards, sizes across protocols,
 * null process, message handles.
 * ranks: 2 4
 */
#include "check.h"

static const int sizes[] = {0, 1, 50, 2000, 9000, 150000, 3 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void sender(void)
{
    for (int form = 0; form < 4; form++)
        for (int s = 0; s < SIZES; s++) {
            char *out = check_alloc((size_t)sizes[s]);
            check_fill(out, (size_t)sizes[s], check_rank * 10 + s);
            MPI_Send(out, sizes[s], MPI_BYTE, 0, form, MPI_COMM_WORLD);
            free(out);
        }
}

static char *room_for(const MPI_Status *status, int *count)
{
    MPI_Get_count(status, MPI_BYTE, count);
    return check_alloc((size_t)*count);
}

static void receive_probed(int source, int s, int form)
{
    MPI_Status status, received;
    int count, flag = 0;
    if (form == 0) MUST(MPI_Probe(source, form, MPI_COMM_WORLD, &status));
    while (form == 1 && !flag) MUST(MPI_Iprobe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    char *in = room_for(&status, &count);
    CHECK_EQ(count, sizes[s]);
    CHECK_EQ(status.MPI_SOURCE, source);
    CHECK_EQ(status.MPI_TAG, form);
    MUST(MPI_Recv(in, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &received));
    CHECK_EQ(check_status_count(&received, MPI_BYTE), sizes[s]);
    CHECK_DATA(in, count, source * 10 + s);
    free(in);
}

static void receive_matched(int source, int s, int form)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int count, flag = 0;
    if (form == 2) MUST(MPI_Mprobe(source, form, MPI_COMM_WORLD, &message, &status));
    while (form == 3 && !flag) MUST(MPI_Improbe(source, form, MPI_COMM_WORLD, &flag, &message, &status));
    char *in = room_for(&status, &count);
    CHECK_EQ(count, sizes[s]);
    CHECK(message != MPI_MESSAGE_NULL);
    if (form == 2) {
        MUST(MPI_Mrecv(in, count, MPI_BYTE, &message, &status));
    } else {
        MPI_Request request;
        MUST(MPI_Imrecv(in, count, MPI_BYTE, &message, &request));
        MUST(MPI_Wait(&request, &status));
    }
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK_EQ(status.MPI_SOURCE, source);
    CHECK_EQ(check_status_count(&status, MPI_BYTE), sizes[s]);
    CHECK_DATA(in, count, source * 10 + s);
    free(in);
}

static void receiver(void)
{
    for (int source = 1; source < check_size; source++)
        for (int form = 0; form < 4; form++)
            for (int s = 0; s < SIZES; s++) {
                if (form < 2)
                    receive_probed(source, s, form);
                else
                    receive_matched(source, s, form);
            }
}

/* Once matched, a message is hidden from every other receive, so a later one can overtake it. */
static void matched_is_hidden(void)
{
    int values[2] = {111, 222}, first = 0, second = 0;
    if (check_rank == 1) {
        MPI_Request requests[2];
        MPI_Isend(&values[0], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&values[1], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (check_rank == 0) {
        MPI_Message message;
        MPI_Mprobe(1, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Recv(&second, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Mrecv(&first, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK_EQ(first, 111);
        CHECK_EQ(second, 222);
    }
}

/* Section 3.10: the null process gives MPI_MESSAGE_NO_PROC and an empty message. */
static void null_process(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Request request;
    int flag = 0, value = 4;
    MUST(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    MUST(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    MUST(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MUST(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    MUST(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag && message == MPI_MESSAGE_NO_PROC);
    MUST(MPI_Imrecv(&value, 1, MPI_INT, &message, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(value, 4);
}

/* Nothing there: flag is false and nothing is taken. */
static void nothing_there(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = 1;
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MUST(MPI_Improbe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK(message == MPI_MESSAGE_NULL);
}

/* Every rank probes for whatever comes, then receives just that (any source, any tag). */
static void wildcards(void)
{
    if (check_rank > 0) {
        for (int i = 0; i < 50; i++) MPI_Send(&i, 1, MPI_INT, 0, check_rank * 100 + i, MPI_COMM_WORLD);
        return;
    }
    int next[64] = {0};
    for (int i = 0; i < 50 * (check_size - 1); i++) {
        MPI_Status status;
        int value;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(value, next[status.MPI_SOURCE]++);
        CHECK_EQ(status.MPI_TAG, status.MPI_SOURCE * 100 + value);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    if (check_rank == 0) receiver(); else sender();
    matched_is_hidden();
    null_process();
    MPI_Barrier(MPI_COMM_WORLD);
    nothing_there();
    MPI_Barrier(MPI_COMM_WORLD);
    wildcards();
    return check_finish();
}
