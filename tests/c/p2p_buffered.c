/* Buffered mode (MPI-5.0 sections 3.4 and 3.6): attach, detach, flush, per-communicator and
 * per-session buffers, the automatic buffer, an exhausted buffer.
 * ranks: 1 2 4
 */
#include "check.h"

static int to, from;

static void receive_all(MPI_Comm comm, int messages, int count)
{
    int *in = check_alloc(sizeof(int) * (size_t)count);
    for (int i = 0; i < messages; i++) {
        MPI_Recv(in, count, MPI_INT, from, i, comm, MPI_STATUS_IGNORE);
        for (int k = 0; k < count; k += 17) CHECK_EQ(in[k], from * 1000 + i + k);
    }
    free(in);
}

static void send_all(MPI_Comm comm, int messages, int count)
{
    int *out = check_alloc(sizeof(int) * (size_t)count);
    for (int i = 0; i < messages; i++) {
        for (int k = 0; k < count; k++) out[k] = check_rank * 1000 + i + k;
        MUST(MPI_Bsend(out, count, MPI_INT, to, i, comm));
    }
    free(out);
}

/* Detaching waits for all messages, so it must come after the receives on a ring. */
static void attach_send_detach(int count)
{
    enum { MESSAGES = 20 };
    int size = MESSAGES * (count * (int)sizeof(int) + MPI_BSEND_OVERHEAD), got_size = -1;
    void *memory = check_alloc((size_t)size), *got = NULL;
    MUST(MPI_Buffer_attach(memory, size));
    send_all(MPI_COMM_WORLD, MESSAGES, count);
    receive_all(MPI_COMM_WORLD, MESSAGES, count);
    MUST(MPI_Buffer_detach(&got, &got_size));
    CHECK(got == memory);
    CHECK_EQ(got_size, size);
    free(memory);
}

/* The same space serves again and again once messages have left. */
static void reuse(void)
{
    enum { COUNT = 5000 };
    int size = 3 * (COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    void *memory = check_alloc((size_t)size);
    MPI_Buffer_attach(memory, size);
    for (int round = 0; round < 50; round++) {
        send_all(MPI_COMM_WORLD, 2, COUNT);
        receive_all(MPI_COMM_WORLD, 2, COUNT);
        MUST(MPI_Buffer_flush());
    }
    MPI_Buffer_detach(&memory, &size);
    free(memory);
}

static void nonblocking(void)
{
    int size = 2000 + 2 * MPI_BSEND_OVERHEAD, in = 0, out = check_rank;
    void *memory = check_alloc((size_t)size);
    MPI_Request requests[2];
    MPI_Buffer_attach(memory, size);
    MPI_Irecv(&in, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &requests[0]);
    MUST(MPI_Ibsend(&out, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[1]));
    /* Local completion: it needs nothing from the receiver (section 3.4). */
    MUST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    out = -1;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK_EQ(in, from);
    MPI_Request flush;
    MUST(MPI_Buffer_iflush(&flush));
    MUST(MPI_Wait(&flush, MPI_STATUS_IGNORE));
    MPI_Buffer_detach(&memory, &size);
    free(memory);
}

/* A full buffer is an error of class MPI_ERR_BUFFER, and never blocks. */
static void exhausted(void)
{
    enum { COUNT = 10000 };
    int size = COUNT * (int)sizeof(int) / 2 + MPI_BSEND_OVERHEAD;
    void *memory = check_alloc((size_t)size);
    int *out = check_alloc(COUNT * sizeof(int));
    MPI_Errhandler saved;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &saved);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Buffer_attach(memory, size);
    CHECK_ERROR(MPI_Bsend(out, COUNT, MPI_INT, to, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_Bsend");
    MPI_Buffer_detach(&memory, &size);
    CHECK_ERROR(MPI_Bsend(out, COUNT, MPI_INT, to, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_Bsend");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, saved);
    MPI_Errhandler_free(&saved);
    free(memory), free(out);
}

/* Space is free again once a message has left, though no call but MPI_Bsend could notice (section 3.6.1). */
static void only_sends(void)
{
    enum { COUNT = 3000, MESSAGES = 50 };
    int size = COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD, done = 0;
    void *memory = check_alloc((size_t)size);
    int *out = check_alloc(COUNT * sizeof(int)), *in = check_alloc(COUNT * sizeof(int));
    MPI_Errhandler saved;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &saved);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memset(out, 0, COUNT * sizeof(int));
    MPI_Buffer_attach(memory, size);
    for (int i = 0; i < 3; i++) {
        MUST(MPI_Bsend(out, COUNT, MPI_INT, check_rank, 9, MPI_COMM_WORLD));
        MPI_Recv(in, COUNT, MPI_INT, check_rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    double end = MPI_Wtime() + 20;
    if (check_rank == 0 && check_size > 1) {
        while (done < MESSAGES && MPI_Wtime() < end)
            done += MPI_Bsend(out, COUNT, MPI_INT, 1, 10, MPI_COMM_WORLD) == MPI_SUCCESS;
        CHECK_EQ(done, MESSAGES);
    }
    if (check_rank == 1)
        for (int i = 0; i < MESSAGES; i++)
            MPI_Recv(in, COUNT, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&memory, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, saved);
    MPI_Errhandler_free(&saved);
    free(memory), free(out), free(in);
}

/* A communicator's own buffer is used in place of the process's (section 3.6.1). */
static void per_communicator(void)
{
    enum { COUNT = 300, MESSAGES = 10 };
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int size = MESSAGES * (COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD), got_size = 0;
    void *memory = check_alloc((size_t)size), *got = NULL;
    MUST(MPI_Comm_attach_buffer(comm, memory, size));
    send_all(comm, MESSAGES, COUNT);
    receive_all(comm, MESSAGES, COUNT);
    MUST(MPI_Comm_flush_buffer(comm));
    MPI_Request request;
    MUST(MPI_Comm_iflush_buffer(comm, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MUST(MPI_Comm_detach_buffer(comm, &got, &got_size));
    CHECK(got == memory);
    CHECK_EQ(got_size, size);
    MPI_Count big_size = 0;
    MUST(MPI_Comm_attach_buffer_c(comm, memory, size));
    send_all(comm, 1, COUNT);
    receive_all(comm, 1, COUNT);
    MUST(MPI_Comm_detach_buffer_c(comm, &got, &big_size));
    CHECK_EQ(big_size, size);
    MPI_Comm_free(&comm);
    free(memory);
}

/* MPI_BUFFER_AUTOMATIC: the library finds the space (section 3.6). */
static void automatic(void)
{
#ifdef MPI_BUFFER_AUTOMATIC
    MPI_Comm comm;
    void *got = NULL;
    int size = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MUST(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
    send_all(comm, 30, 40000);
    receive_all(comm, 30, 40000);
    MUST(MPI_Comm_detach_buffer(comm, &got, &size));
    CHECK(got == MPI_BUFFER_AUTOMATIC);
    CHECK_EQ(size, 0);
    MPI_Comm_free(&comm);
    MUST(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    send_all(MPI_COMM_WORLD, 5, 100);
    receive_all(MPI_COMM_WORLD, 5, 100);
    MUST(MPI_Buffer_detach(&got, &size));
    CHECK(got == MPI_BUFFER_AUTOMATIC);
#endif
}

/* Non-contiguous data is packed into the buffer. */
static void strided(void)
{
    enum { COUNT = 1000 };
    MPI_Datatype column;
    int out[2 * COUNT], in[COUNT], pack_size;
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Pack_size(1, column, MPI_COMM_WORLD, &pack_size);
    int size = pack_size + MPI_BSEND_OVERHEAD;
    void *memory = check_alloc((size_t)size);
    MPI_Buffer_attach(memory, size);
    for (int i = 0; i < 2 * COUNT; i++) out[i] = i;
    MUST(MPI_Bsend(out, 1, column, to, 8, MPI_COMM_WORLD));
    memset(out, 0, sizeof out);
    MPI_Recv(in, COUNT, MPI_INT, from, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT; i++) CHECK_EQ(in[i], 2 * i);
    MPI_Buffer_detach(&memory, &size);
    MPI_Type_free(&column);
    free(memory);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    to = (check_rank + 1) % check_size;
    from = (check_rank + check_size - 1) % check_size;
    attach_send_detach(0);
    attach_send_detach(1);
    attach_send_detach(10000);
    attach_send_detach(200000);
    reuse();
    nonblocking();
    exhausted();
    only_sends();
    per_communicator();
    automatic();
    strided();
    return check_finish();
}
