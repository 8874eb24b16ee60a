/* Partitioned communication (MPI-5.0 chapter 4): what arrives and when, with partitions counted differently on both
 * sides, in any order, of any size and datatype, through all completion calls, and with several neighbors at once.
 * ranks: 1 2 3 4
 * timeout: 120
 */
#include "check.h"

enum { ROUNDS = 3 };

static int next_rank, previous_rank;

/* A permutation of 0 .. n-1 that depends on the seed. */
static void shuffled(int *order, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(check_word(seed, (uint64_t)i) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
}

/* The ring: each rank sends `sends` partitions, and receives as many bytes in `receives`. */
static void ring(int sends, int receives, int total, int tag)
{
    char *out = calloc(1, (size_t)total + 1), *in = calloc(1, (size_t)total + 1);
    int *order = malloc(sizeof(int) * (size_t)(sends + 1));
    MPI_Request requests[2];
    MUST(MPI_Psend_init(out, sends, total / sends, MPI_BYTE, next_rank, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[0]));
    MUST(MPI_Precv_init(in, receives, total / receives, MPI_BYTE, previous_rank, tag, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[1]));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status statuses[2];
        int flag, count;
        memset(in, 0x77, (size_t)total);
        check_fill(out, (size_t)total, (uint64_t)(tag * 100 + round + check_rank * 10000));
        MUST(MPI_Startall(2, requests));
        MUST(MPI_Testall(2, requests, &flag, statuses));
        CHECK(!flag);
        MUST(MPI_Parrived(requests[1], receives - 1, &flag));
        CHECK(!flag || next_rank != check_rank);
        shuffled(order, sends, (uint64_t)(round + tag));
        if (round == 0) {
            for (int i = 0; i < sends; i++) MUST(MPI_Pready(order[i], requests[0]));
        } else if (round == 1) {
            MUST(MPI_Pready_list(sends, order, requests[0]));
        } else {
            MUST(MPI_Pready_range(0, sends - 1, requests[0]));
        }
        for (int at = receives - 1; at >= 0 && round != 1; at--) {
            for (flag = 0; !flag;) MUST(MPI_Parrived(requests[1], at, &flag));
            size_t each = (size_t)(total / receives), first = (size_t)at * each;
            for (size_t i = first; i < first + each; i += each / 3 + 1)
                CHECK_EQ((unsigned char)in[i],
                         check_byte((uint64_t)(tag * 100 + round + previous_rank * 10000), i));
        }
        MUST(MPI_Waitall(2, requests, statuses));
        CHECK_EQ(statuses[1].MPI_SOURCE, previous_rank);
        CHECK_EQ(statuses[1].MPI_TAG, tag);
        MUST(MPI_Get_count(&statuses[1], MPI_BYTE, &count));
        CHECK_EQ(count, total);
        CHECK_EQ(check_matching(in, (size_t)total, (uint64_t)(tag * 100 + round + previous_rank * 10000)), total);
        MUST(MPI_Parrived(requests[1], 0, &flag));
        CHECK(flag); /* Inactive. */
    }
    MUST(MPI_Request_free(&requests[0]));
    MUST(MPI_Request_free(&requests[1]));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    free(out), free(in), free(order);
}

/* Elements with gaps on one side, plain bytes on the other. */
static void datatypes(void)
{
    enum { PARTITIONS = 6, EACH = 40 };
    static int out[PARTITIONS * EACH * 2], in[PARTITIONS * EACH];
    MPI_Datatype every_other;
    MPI_Request requests[2];
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < PARTITIONS * EACH * 2; i++) out[i] = i + check_rank * 100000;
    MUST(MPI_Psend_init(out, PARTITIONS, EACH, every_other, next_rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Precv_init(in, 1, PARTITIONS * EACH, MPI_INT, previous_rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[1]));
    MPI_Type_free(&every_other);
    MUST(MPI_Startall(2, requests));
    for (int at = PARTITIONS - 1; at >= 0; at--) MUST(MPI_Pready(at, requests[0]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    int wrong = 0;
    for (int i = 0; i < PARTITIONS * EACH; i++) wrong += in[i] != 2 * i + previous_rank * 100000;
    CHECK_EQ(wrong, 0);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Pairs of the same peer and tag belong together in the order of their inits, not of their starts. */
static void order_of_inits(void)
{
    enum { PAIRS = 4 };
    int out[PAIRS], in[PAIRS];
    MPI_Request sends[PAIRS], receives[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        MUST(MPI_Psend_init(&out[i], 1, 1, MPI_INT, next_rank, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]));
        MUST(MPI_Precv_init(&in[i], 1, 1, MPI_INT, previous_rank, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]));
        out[i] = 10 * i + check_rank, in[i] = -1;
    }
    /* The second pair is never started. */
    MUST(MPI_Request_free(&sends[1]));
    MUST(MPI_Request_free(&receives[1]));
    static const int started[] = {3, 0, 2}, received[] = {0, 2, 3};
    for (int i = 0; i < 3; i++) {
        MUST(MPI_Start(&sends[started[i]]));
        MUST(MPI_Pready(0, sends[started[i]]));
        MUST(MPI_Start(&receives[received[i]]));
    }
    for (int i = 0; i < PAIRS; i++) {
        if (i == 1) continue;
        MUST(MPI_Wait(&receives[i], MPI_STATUS_IGNORE));
        MUST(MPI_Wait(&sends[i], MPI_STATUS_IGNORE));
        CHECK_EQ(in[i], 10 * i + previous_rank);
        MPI_Request_free(&sends[i]);
        MPI_Request_free(&receives[i]);
    }
}

/* Ordinary messages of the same tag are not of the pair. */
static void among_messages(void)
{
    int out[2] = {check_rank, check_rank + 1}, in[2] = {-1, -1}, plain = -1, mine = 1000 + check_rank;
    MPI_Request requests[3];
    MUST(MPI_Precv_init(in, 2, 1, MPI_INT, previous_rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Psend_init(out, 1, 2, MPI_INT, next_rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    MUST(MPI_Startall(2, requests));
    MUST(MPI_Pready(0, requests[1]));
    MUST(MPI_Irecv(&plain, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]));
    MUST(MPI_Send(&mine, 1, MPI_INT, next_rank, 3, MPI_COMM_WORLD));
    MUST(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(plain, 1000 + previous_rank);
    CHECK(in[0] == previous_rank && in[1] == previous_rank + 1);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Everybody with everybody, as a halo exchange has it. */
static void neighbors(void)
{
    enum { PARTITIONS = 8, EACH = 700 };
    size_t all = (size_t)check_size * PARTITIONS * EACH;
    char *out = calloc(1, all), *in = calloc(1, all);
    MPI_Request *requests = malloc(sizeof(MPI_Request) * 2 * (size_t)check_size);
    for (int peer = 0; peer < check_size; peer++) {
        size_t at = (size_t)peer * PARTITIONS * EACH;
        MUST(MPI_Psend_init(out + at, PARTITIONS, EACH, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &requests[peer]));
        MUST(MPI_Precv_init(in + at, 2, PARTITIONS * EACH / 2, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &requests[check_size + peer]));
    }
    for (int round = 0; round < 5; round++) {
        for (int peer = 0; peer < check_size; peer++)
            check_fill(out + (size_t)peer * PARTITIONS * EACH, PARTITIONS * EACH,
                       (uint64_t)(round * 1000 + check_rank * 10 + peer));
        MUST(MPI_Startall(2 * check_size, requests));
        for (int at = 0; at < PARTITIONS; at++)
            for (int peer = 0; peer < check_size; peer++) MUST(MPI_Pready(at, requests[peer]));
        if (round % 2) {
            MUST(MPI_Waitall(2 * check_size, requests, MPI_STATUSES_IGNORE));
        } else {
            for (int left = 2 * check_size; left > 0; left--) {
                int index;
                MUST(MPI_Waitany(2 * check_size, requests, &index, MPI_STATUS_IGNORE));
                CHECK(index != MPI_UNDEFINED);
            }
        }
        for (int peer = 0; peer < check_size; peer++)
            CHECK_EQ(check_matching(in + (size_t)peer * PARTITIONS * EACH, PARTITIONS * EACH,
                                    (uint64_t)(round * 1000 + peer * 10 + check_rank)),
                     PARTITIONS * EACH);
    }
    for (int i = 0; i < 2 * check_size; i++) MUST(MPI_Request_free(&requests[i]));
    free(out), free(in), free(requests);
}

static void nobody(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    int buffer[4] = {1, 2, 3, 4}, flag;
    MUST(MPI_Psend_init(buffer, 4, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Precv_init(buffer, 4, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 2; round++) {
        MUST(MPI_Startall(2, requests));
        MUST(MPI_Pready_range(0, 3, requests[0]));
        MUST(MPI_Parrived(requests[1], 2, &flag));
        CHECK(flag);
        MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        MUST(MPI_Wait(&requests[1], &status));
        CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    }
    MUST(MPI_Request_free(&requests[0]));
    MUST(MPI_Request_free(&requests[1]));
    MUST(MPI_Parrived(MPI_REQUEST_NULL, 3, &flag));
    CHECK(flag);
}

/* Nothing in the partitions, or no partitions: a round still begins and ends. */
static void empty(void)
{
    MPI_Request requests[2];
    int flag;
    for (int partitions = 0; partitions < 3; partitions += 2) {
        MUST(MPI_Psend_init(NULL, partitions, 0, MPI_INT, next_rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
        MUST(MPI_Precv_init(NULL, partitions, 0, MPI_INT, previous_rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &requests[1]));
        for (int round = 0; round < 2; round++) {
            MUST(MPI_Startall(2, requests));
            if (partitions) {
                MUST(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
                CHECK(!flag);
                MUST(MPI_Pready_range(0, partitions - 1, requests[0]));
            }
            MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
}

static void inquiry(void)
{
    int out[2] = {5, 6}, in[2], flag, count;
    MPI_Request requests[2];
    MPI_Status status;
    MUST(MPI_Precv_init(in, 2, 1, MPI_INT, previous_rank, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Psend_init(out, 2, 1, MPI_INT, next_rank, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    MUST(MPI_Request_get_status(requests[0], &flag, &status));
    CHECK(flag); /* Inactive: an empty status. */
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    MUST(MPI_Wait(&requests[0], &status));
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    MUST(MPI_Startall(2, requests));
    MUST(MPI_Request_get_status(requests[1], &flag, &status));
    CHECK(!flag);
    MUST(MPI_Pready_range(0, 1, requests[1]));
    for (flag = 0; !flag;) MUST(MPI_Request_get_status(requests[0], &flag, &status));
    MUST(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, 2);
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == 5 && in[1] == 6);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* The communicator may be freed while requests of it exist. */
static void freed_communicator(void)
{
    int out = 40 + check_rank, in = -1;
    MPI_Comm copy;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MUST(MPI_Precv_init(&in, 1, 1, MPI_INT, previous_rank, 6, copy, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Psend_init(&out, 1, 1, MPI_INT, next_rank, 6, copy, MPI_INFO_NULL, &requests[1]));
    MPI_Comm_free(&copy);
    MUST(MPI_Startall(2, requests));
    MUST(MPI_Pready(0, requests[1]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(in, 40 + previous_rank);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    next_rank = (check_rank + 1) % check_size;
    previous_rank = (check_rank + check_size - 1) % check_size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ring(1, 1, 8, 10);
    ring(8, 2, 320, 11);
    ring(3, 7, 21 * 1000, 12);
    ring(16, 16, 16 * 4096, 13);
    ring(16, 1, 16 * 65536, 14);
    ring(1, 16, 16 * 65536, 15);
    ring(5, 3, 15 * 200000, 16);
    datatypes();
    order_of_inits();
    among_messages();
    neighbors();
    nobody();
    empty();
    inquiry();
    freed_communicator();
    return check_finish();
}
