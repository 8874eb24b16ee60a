/* Sessions after MPI_Finalize, and any number of them before, beside and after the world (MPI-5.0 sections 11.2 and
 * 11.3).
 * ranks: 1 2 4
 * timeout: 60
 */
#include "check.h"

/* What it takes to be of use: a communicator of all, with which something is computed. Whether the sum is right. */
static int works(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    int one = 1, sum = 0, size = 0, ok;
    ok = MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS;
    ok = ok && MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS;
    if (!ok) return 0;
    MPI_Comm_size(comm, &size);
    ok = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size;
    char out[100000], in[100000];
    int rank, to, from;
    MPI_Comm_rank(comm, &rank);
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    check_fill(out, sizeof out, (uint64_t)rank);
    MPI_Sendrecv(out, sizeof out, MPI_BYTE, to, 0, in, sizeof in, MPI_BYTE, from, 0, comm, MPI_STATUS_IGNORE);
    ok = ok && check_matching(in, sizeof in, (uint64_t)from) == sizeof in;
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    return ok;
}

static int rounds(int count, const char *when)
{
    int good = 0;
    for (int i = 0; i < count; i++) {
        MPI_Session session;
        char tag[64];
        snprintf(tag, sizeof tag, "tern.test.%s.%d", when, i);
        if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) continue;
        good += works(session, tag);
        if (MPI_Session_finalize(&session) != MPI_SUCCESS || session != MPI_SESSION_NULL) good = -1000;
    }
    return good;
}

int main(int argc, char **argv)
{
    int before = rounds(5, "before"), flag = -1;
    MPI_Session across;
    check_init(&argc, &argv);
    CHECK_EQ(before, 5);
    CHECK_EQ(rounds(5, "beside"), 5);
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &across));
    int failed = check_summary();
    MPI_Finalize();
    /* From here on only sessions are left; the summary has been printed, so a failure shows in the exit status. */
    int after = works(across, "tern.test.across") + rounds(2, "with");
    MPI_Session_finalize(&across);
    after += rounds(20, "after");
    MPI_Finalized(&flag);
    if (after != 23 || flag != 1) {
        fprintf(stderr, "rank %d: %d of 23 sessions after MPI_Finalize work, finalized is %d\n", check_rank, after,
                flag);
        return 1;
    }
    return failed;
}
