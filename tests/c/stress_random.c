/* Random traffic against an oracle: every rank knows the whole plan from one seed, so it knows what must
 * arrive; sizes, tags, modes, layouts, wildcards, posting order and completion calls all vary.
 * ranks: 2 3 5 8
 * timeout: 120
 */
#include "check.h"

enum { ROUNDS = 12, MESSAGES = 120, TAGS = 5, LARGEST = 400000 };

typedef struct { int from, to, tag, bytes, mode, strided; uint64_t seed; } message;

static message plan[MESSAGES];
static MPI_Datatype pairs;

static void make_plan(uint64_t *state)
{
    for (int i = 0; i < MESSAGES; i++) {
        message *m = &plan[i];
        m->from = (int)check_random(state, check_size), m->to = (int)check_random(state, check_size);
        m->tag = (int)check_random(state, TAGS);
        int scale = (int)check_random(state, 6);
        static const int limits[6] = {2, 64, 600, 9000, 70000, LARGEST};
        m->bytes = (int)check_random(state, limits[scale]) / 2 * 2;
        m->mode = (int)check_random(state, 4);
        m->strided = (int)check_random(state, 3) == 0;
        m->seed = check_random(state, 1 << 30);
    }
}

/* Two bytes of every four when strided. */
static size_t room(const message *m)
{
    return (size_t)m->bytes * (m->strided ? 2 : 1);
}

static void spread(char *data, const message *m)
{
    if (!m->strided) return check_fill(data, (size_t)m->bytes, m->seed);
    for (int i = 0; i < m->bytes; i++) data[i / 2 * 4 + i % 2] = (char)check_byte(m->seed, (uint64_t)i);
}

static int intact(const char *data, const message *m)
{
    if (!m->strided) return check_matching(data, (size_t)m->bytes, m->seed) == (size_t)m->bytes;
    for (int i = 0; i < m->bytes; i++)
        if ((unsigned char)data[i / 2 * 4 + i % 2] != check_byte(m->seed, (uint64_t)i)) return 0;
    return 1;
}

static void start_send(const message *m, char *data, MPI_Request *request)
{
    int count = m->strided ? m->bytes / 2 : m->bytes;
    MPI_Datatype type = m->strided ? pairs : MPI_BYTE;
    spread(data, m);
    switch (m->mode) {
    case 0: MPI_Issend(data, count, type, m->to, m->tag, MPI_COMM_WORLD, request); break;
    case 1: MPI_Ibsend(data, count, type, m->to, m->tag, MPI_COMM_WORLD, request); break;
    default: MPI_Isend(data, count, type, m->to, m->tag, MPI_COMM_WORLD, request);
    }
}

/* Each receive names source and tag; the k-th for a pair gets the k-th of its messages. */
static void exchange(uint64_t *own)
{
    MPI_Request requests[2 * MESSAGES];
    char *buffers[2 * MESSAGES];
    const message *expected[2 * MESSAGES];
    int n = 0, order[2 * MESSAGES], steps = 0;
    for (int i = 0; i < MESSAGES; i++) {
        if (plan[i].to == check_rank) order[steps++] = i;
        if (plan[i].from == check_rank) order[steps++] = MESSAGES + i;
    }
    /* Sends and receives are interleaved at will, each kind in the plan's order. */
    int late = (int)check_random(own, 3);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < steps; k++) {
            int sending = order[k] >= MESSAGES;
            const message *m = &plan[order[k] % MESSAGES];
            if (late < 2 ? sending != (pass == late) : pass == 1) continue;
            buffers[n] = check_alloc(room(m));
            expected[n] = sending ? NULL : m;
            if (sending) start_send(m, buffers[n], &requests[n]);
            else MPI_Irecv(buffers[n], m->strided ? m->bytes / 2 : m->bytes, m->strided ? pairs : MPI_BYTE, m->from,
                           m->tag, MPI_COMM_WORLD, &requests[n]);
            n++;
        }
    for (int left = n; left > 0;) {
        int indices[2 * MESSAGES], count;
        MPI_Status statuses[2 * MESSAGES];
        if (check_random(own, 2)) MPI_Waitsome(n, requests, &count, indices, statuses);
        else MPI_Testsome(n, requests, &count, indices, statuses);
        for (int k = 0; k < count; k++) {
            const message *m = expected[indices[k]];
            if (m) {
                CHECK(intact(buffers[indices[k]], m));
                CHECK_EQ(statuses[k].MPI_SOURCE, m->from);
                CHECK_EQ(check_status_count(&statuses[k], MPI_BYTE), m->bytes);
            }
            free(buffers[indices[k]]);
        }
        left -= count;
    }
}

/* Receives that take anything: the multiset of what comes must be the plan's. */
static void exchange_wild(void)
{
    MPI_Request requests[MESSAGES];
    char *out[MESSAGES];
    int sends = 0, incoming = 0, seen[MESSAGES] = {0};
    for (int i = 0; i < MESSAGES; i++) {
        incoming += plan[i].to == check_rank;
        if (plan[i].from != check_rank) continue;
        out[sends] = check_alloc(room(&plan[i]));
        start_send(&plan[i], out[sends], &requests[sends]);
        sends++;
    }
    char *in = check_alloc(LARGEST);
    for (int k = 0; k < incoming; k++) {
        MPI_Status status;
        int bytes, found = -1;
        MPI_Recv(in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        /* The first of its pair and tag that has not come yet (section 3.5). */
        for (int i = 0; i < MESSAGES && found < 0; i++)
            if (!seen[i] && plan[i].to == check_rank && plan[i].from == status.MPI_SOURCE &&
                plan[i].tag == status.MPI_TAG)
                found = i;
        if (!CHECK(found >= 0)) break;
        seen[found] = 1;
        CHECK_EQ(bytes, plan[found].bytes);
        CHECK_DATA(in, bytes, plan[found].seed);
    }
    MPI_Waitall(sends, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < sends; i++) free(out[i]);
    free(in);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int size = MESSAGES * (LARGEST + MPI_BSEND_OVERHEAD);
    void *attached = check_alloc((size_t)size);
    MPI_Buffer_attach(attached, size);
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_BYTE, &two);
    MPI_Type_create_resized(two, 0, 4, &pairs);
    MPI_Type_commit(&pairs);
    uint64_t shared = 20250601, own = 77 + check_rank * 1000;
    for (int round = 0; round < ROUNDS; round++) {
        make_plan(&shared);
        exchange(&own);
        make_plan(&shared);
        exchange_wild();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Buffer_detach(&attached, &size);
    free(attached);
    MPI_Type_free(&two), MPI_Type_free(&pairs);
    return check_finish();
}
