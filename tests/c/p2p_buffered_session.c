/* Buffers of sessions (MPI-5.0 sections 3.6 and 11.3): they serve the communicators that come from the session,
 * however they were made, unless those have buffers of their own.
 * ranks: 1 2 3
 */
#include "check.h"

enum { COUNT = 20000, MESSAGES = 4, SPACE = MESSAGES * (COUNT * (int)sizeof(int) + MPI_BSEND_OVERHEAD) };

static void ring(MPI_Comm comm, int messages)
{
    int rank, size, *data = check_alloc(COUNT * sizeof(int));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < messages; i++) {
        for (int k = 0; k < COUNT; k++) data[k] = rank * 100 + i + k;
        MUST(MPI_Bsend(data, COUNT, MPI_INT, (rank + 1) % size, i, comm));
    }
    int from = (rank + size - 1) % size;
    for (int i = 0; i < messages; i++) {
        MPI_Recv(data, COUNT, MPI_INT, from, i, comm, MPI_STATUS_IGNORE);
        for (int k = 0; k < COUNT; k += 97) CHECK_EQ(data[k], from * 100 + i + k);
    }
    free(data);
}

static MPI_Comm of_session(MPI_Session session, const char *tag)
{
    MPI_Group all, group;
    MPI_Comm comm;
    int size;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_size(all, &size);
    int ranges[1][3] = {{0, size - 1, 1}};
    MPI_Group_range_incl(all, 1, ranges, &group);
    MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    return comm;
}

/* Neither buffer serves the other session. */
static void each_its_own(void)
{
    MPI_Session sessions[2];
    MPI_Comm comms[2], copy;
    void *memory = check_alloc(SPACE), *got = NULL;
    int got_size = 0, word = 0;
    for (int i = 0; i < 2; i++) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[i]);
        comms[i] = of_session(sessions[i], i ? "second" : "first");
    }
    MUST(MPI_Session_attach_buffer(sessions[0], memory, SPACE));
    ring(comms[0], MESSAGES);
    MUST(MPI_Session_flush_buffer(sessions[0]));
    MPI_Comm_dup(comms[0], &copy);
    ring(copy, MESSAGES);
    CHECK_ERROR(MPI_Bsend(&word, 1, MPI_INT, 0, 0, comms[1]), MPI_ERR_BUFFER, "MPI_Bsend");
    MPI_Request request;
    MUST(MPI_Session_iflush_buffer(sessions[0], &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* A communicator's own buffer comes first: this one is too small. */
    char small[8];
    MUST(MPI_Comm_attach_buffer(copy, small, sizeof small));
    CHECK_ERROR(MPI_Bsend(&word, 1, MPI_INT, 0, 0, copy), MPI_ERR_BUFFER, "MPI_Bsend");
    MUST(MPI_Comm_detach_buffer(copy, &got, &got_size));
    MUST(MPI_Session_detach_buffer(sessions[0], &got, &got_size));
    CHECK(got == memory);
    CHECK_EQ(got_size, SPACE);
    /* What is still attached when a session ends is given back, once it is empty. */
    MUST(MPI_Session_attach_buffer(sessions[1], memory, SPACE));
    ring(comms[1], 2);
    MPI_Comm_free(&copy);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&comms[i]);
        MUST(MPI_Session_finalize(&sessions[i]));
    }
    free(memory);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    each_its_own();
    return check_finish();
}
