/* The edges of processes that meet and part, and of sessions (MPI-5.0 sections 11.3, 11.9 and 11.10): what has no port,
 * no service and no socket, what cannot be parted from, the reserved keys of ports, and the tags of groups.
 * ranks: 1 2
 * instances: default
 * timeout: 60
 */
#include "check.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static void parting(void)
{
    MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF, none = MPI_COMM_NULL, parent = MPI_COMM_WORLD, copy;
    CHECK_ERROR(MPI_Comm_disconnect(&world), MPI_ERR_COMM, "MPI_Comm_disconnect");
    CHECK_ERROR(MPI_Comm_disconnect(&self), MPI_ERR_COMM, "MPI_Comm_disconnect");
    CHECK_ERROR(MPI_Comm_disconnect(&none), MPI_ERR_COMM, "MPI_Comm_disconnect");
    CHECK(world == MPI_COMM_WORLD && self == MPI_COMM_SELF);
    MUST(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    /* What was sent is received, though the request was not waited for before. */
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    int out = check_rank, in = -1, there = (check_rank + 1) % check_size;
    MPI_Request requests[2];
    MUST(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, copy, &requests[0]));
    MUST(MPI_Isend(&out, 1, MPI_INT, there, 1, copy, &requests[1]));
    MUST(MPI_Comm_disconnect(&copy));
    CHECK(copy == MPI_COMM_NULL);
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(in, (check_rank + check_size - 1) % check_size);
}

static void ports(void)
{
    char port[MPI_MAX_PORT_NAME], other[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME] = "as it was";
    MPI_Comm inter = MPI_COMM_WORLD;
    MPI_Info info;
    MUST(MPI_Open_port(MPI_INFO_NULL, port));
    MUST(MPI_Open_port(MPI_INFO_NULL, other));
    CHECK(strcmp(port, other) != 0);
    MUST(MPI_Close_port(port));
    CHECK_ERROR(MPI_Close_port(port), MPI_ERR_PORT, "MPI_Close_port");
    CHECK_ERROR(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT, "MPI_Comm_accept");
    MUST(MPI_Close_port(other));
    CHECK_ERROR(MPI_Unpublish_name("nobody's service", MPI_INFO_NULL, other), MPI_ERR_SERVICE, "MPI_Unpublish_name");
    CHECK_ERROR(MPI_Lookup_name("nobody's service", MPI_INFO_NULL, found), MPI_ERR_NAME, "MPI_Lookup_name");

    /* The address may be chosen among those at which this process is reached. */
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "ip_address", "127.0.0.1"));
    MUST(MPI_Info_set(info, "ip_port", "1"));
    MUST(MPI_Open_port(info, port));
    CHECK(strncmp(port, "127.0.0.1:", 10) == 0);
    MUST(MPI_Close_port(port));
    MUST(MPI_Info_set(info, "ip_address", "192.0.2.1"));
    CHECK_ERROR(MPI_Open_port(info, port), MPI_ERR_INFO_VALUE, "192.0.2.1");
    MUST(MPI_Info_set(info, "ip_address", "somewhere"));
    CHECK_ERROR(MPI_Open_port(info, port), MPI_ERR_INFO_VALUE, "somewhere");
    MUST(MPI_Info_free(&info));
}

/* Neither a file nor a socket whose other end is gone joins anybody. */
static void joining(void)
{
    MPI_Comm inter = MPI_COMM_WORLD;
    int pair[2], file = open("/dev/null", O_RDWR);
    CHECK(MPI_Comm_join(file, &inter) != MPI_SUCCESS);
    close(file);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    close(pair[1]);
    CHECK(MPI_Comm_join(pair[0], &inter) != MPI_SUCCESS);
    close(pair[0]);
}

/* A tag that is as long as allowed, one string for several groups, and handles of a session that is over. */
static void sessions(void)
{
    char tag[MPI_MAX_STRINGTAG_LEN];
    MPI_Session session;
    MPI_Group own;
    MPI_Comm comm, copy;
    int size = 0, result;
    memset(tag, 't', sizeof tag);
    tag[sizeof tag - 1] = '\0';
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://SELF", &own));
    MUST(MPI_Comm_create_from_group(own, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MUST(MPI_Comm_create_from_group(own, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &copy));
    MUST(MPI_Comm_compare(comm, copy, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Group_free(&own));
    MPI_Session gone = session;
    MUST(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL);
    CHECK_ERROR(MPI_Group_from_session_pset(gone, "mpi://SELF", &own), MPI_ERR_SESSION, "MPI_Group_from_session_pset");
    CHECK_ERROR(MPI_Session_get_num_psets(gone, MPI_INFO_NULL, &size), MPI_ERR_SESSION, "MPI_Session_get_num_psets");
    CHECK_ERROR(MPI_Session_finalize(&gone), MPI_ERR_SESSION, "MPI_Session_finalize");
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    parting();
    ports();
    joining();
    sessions();
    return check_finish();
}
