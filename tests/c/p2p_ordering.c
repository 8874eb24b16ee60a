/* Order and wildcards (MPI-5.0 sections 3.2.4 and 3.5): messages of one pair do not overtake each other,
 * whatever their sizes and whoever posts what with which wildcards; fairness is not asked for.
 * ranks: 2 3 5
 */
#include "check.h"

enum { MANY = 600, BIG = 30000 };

static int count_of(int i)
{
    return i % 13 == 0 ? BIG : i % 5 == 0 ? 700 : 1;
}

static void send_sequence(void)
{
    static int out[BIG];
    for (int i = 0; i < MANY; i++) {
        out[0] = i;
        MPI_Send(out, count_of(i), MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
}

/* One sequence number per source, any wildcard: each source's messages come in its order. */
static void any_source_any_tag(int source_wild, int tag_wild, int preposted)
{
    if (check_rank > 0) {
        if (preposted) MPI_Recv(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send_sequence();
        return;
    }
    int total = MANY * (check_size - 1), next[64] = {0};
    int **in = check_alloc(sizeof(int *) * total);
    MPI_Request *requests = check_alloc(sizeof(MPI_Request) * total);
    MPI_Status *statuses = check_alloc(sizeof(MPI_Status) * total);
    for (int i = 0; i < total; i++) {
        /* A receive for one source must have room for the size that comes next from there. */
        int source = source_wild ? MPI_ANY_SOURCE : 1 + i % (check_size - 1);
        int room = source_wild ? BIG : count_of(i / (check_size - 1));
        in[i] = check_alloc(sizeof(int) * room);
        MPI_Irecv(in[i], room, MPI_INT, source, tag_wild ? MPI_ANY_TAG : 3, MPI_COMM_WORLD, &requests[i]);
    }
    for (int r = 1; preposted && r < check_size; r++) MPI_Send(NULL, 0, MPI_INT, r, 99, MPI_COMM_WORLD);
    MPI_Waitall(total, requests, statuses);
    for (int i = 0; i < total; i++) {
        int source = statuses[i].MPI_SOURCE;
        CHECK_EQ(in[i][0], next[source]);
        CHECK_EQ(check_status_count(&statuses[i], MPI_INT), count_of(next[source]));
        next[source]++;
        free(in[i]);
    }
    for (int r = 1; r < check_size; r++) CHECK_EQ(next[r], MANY);
    free(in), free(requests), free(statuses);
}

/* Tags taken in another order than sent: within one tag the order stays. */
static void tag_by_tag(void)
{
    if (check_rank == 1) {
        MPI_Request requests[MANY];
        int *out[MANY];
        for (int i = 0; i < MANY; i++) {
            out[i] = check_alloc(sizeof(int) * count_of(i));
            out[i][0] = i;
            MPI_Isend(out[i], count_of(i), MPI_INT, 0, i % 7, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++) free(out[i]);
    } else if (check_rank == 0) {
        int *in = check_alloc(sizeof(int) * BIG);
        for (int tag = 6; tag >= 0; tag--)
            for (int i = tag; i < MANY; i += 7) {
                MPI_Recv(in, BIG, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK_EQ(in[0], i);
            }
        free(in);
    }
}

/* Posted receives with overlapping patterns: the earliest that fits gets the message. */
static void earliest_posted_wins(void)
{
    int in[6] = {-1, -1, -1, -1, -1, -1};
    if (check_rank == 0) {
        MPI_Request r[6];
        MPI_Irecv(&in[0], 1, MPI_INT, 1, 10, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &r[1]);
        MPI_Irecv(&in[2], 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &r[2]);
        MPI_Irecv(&in[3], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[3]);
        MPI_Irecv(&in[4], 1, MPI_INT, 1, 11, MPI_COMM_WORLD, &r[4]);
        MPI_Irecv(&in[5], 1, MPI_INT, 1, 10, MPI_COMM_WORLD, &r[5]);
        MPI_Send(NULL, 0, MPI_INT, 1, 98, MPI_COMM_WORLD);
        MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
        static const int expected[6] = {2, 0, 1, 3, 5, 4};
        for (int i = 0; i < 6; i++) CHECK_EQ(in[i], expected[i]);
    } else if (check_rank == 1) {
        static const int tags[6] = {11, 11, 10, 10, 10, 11};
        MPI_Recv(NULL, 0, MPI_INT, 0, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 6; i++) MPI_Send(&i, 1, MPI_INT, 0, tags[i], MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int form = 0; form < 8; form++) {
        any_source_any_tag(form & 1, form >> 1 & 1, form >> 2 & 1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    tag_by_tag();
    MPI_Barrier(MPI_COMM_WORLD);
    earliest_posted_wins();
    return check_finish();
}
