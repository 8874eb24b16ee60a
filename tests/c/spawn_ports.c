/* Ports, accept and connect, names of services, joining over a socket (MPI-5.0 sections 11.9 and 11.10), between two
 * halves of a world.
 * ranks: 2 4 5
 * timeout: 120
 */
#include "check.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Everybody of one side hears from everybody of the other. */
static void exchange(MPI_Comm inter, int server)
{
    int rank, size, far, sum, expected = 0;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &far);
    CHECK_EQ(size + far, check_size);
    int mine = server * 1000 + rank;
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter));
    for (int i = 0; i < far; i++) expected += !server * 1000 + i;
    CHECK_EQ(sum, expected);
    int out = mine, in = -1;
    for (int i = 0; i < far; i++) {
        MPI_Request request;
        MUST(MPI_Isend(&out, 1, MPI_INT, i, 3, inter, &request));
        MUST(MPI_Recv(&in, 1, MPI_INT, i, 3, inter, MPI_STATUS_IGNORE));
        CHECK_EQ(in, !server * 1000 + i);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void meet(MPI_Comm half, int server, const char *port)
{
    MPI_Comm inter = MPI_COMM_NULL;
    for (int turn = 0; turn < 5; turn++) {
        if (server)
            MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
        else
            MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
        exchange(inter, server);
        MUST(MPI_Comm_disconnect(&inter));
    }
}

/* The name is the root's alone. */
static void by_name(MPI_Comm half, int server, int tag)
{
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "", service[64];
    int rank, owner = getpid();
    MPI_Comm_rank(half, &rank);
    MPI_Bcast(&owner, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(service, sizeof service, "tern test %d of %d", tag, owner);
    if (rank == 0 && server) {
        MUST(MPI_Open_port(MPI_INFO_NULL, port));
        MUST(MPI_Publish_name(service, MPI_INFO_NULL, port));
        CHECK_ERROR(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE, "MPI_Publish_name");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MUST(MPI_Lookup_name(service, MPI_INFO_NULL, found));
        if (server) CHECK_STR(found, port);
    }
    meet(half, server, server ? port : found);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && server) {
        CHECK_ERROR(MPI_Unpublish_name(service, MPI_INFO_NULL, "127.0.0.1:9#00"), MPI_ERR_SERVICE,
                    "MPI_Unpublish_name");
        MUST(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
        MUST(MPI_Close_port(port));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) CHECK_ERROR(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME, "MPI_Lookup_name");
    /* A port that is closed is an error at all who connect. */
    MPI_Comm inter;
    if (!server) CHECK_ERROR(MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &inter), MPI_ERR_PORT, "MPI_Comm_connect");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void wrong(MPI_Comm half)
{
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME];
    const char *names[] = {"", "nothing", "127.0.0.1:1#zz", "127.0.0.1#00", "#"};
    for (int i = 0; i < 5; i++)
        CHECK_ERROR(MPI_Comm_connect(names[i], MPI_INFO_NULL, 0, half, &inter), MPI_ERR_PORT, "MPI_Comm_connect");
    CHECK_ERROR(MPI_Comm_accept("127.0.0.1:1#00", MPI_INFO_NULL, 0, half, &inter), MPI_ERR_PORT, "MPI_Comm_accept");
    CHECK_ERROR(MPI_Close_port("127.0.0.1:1#00"), MPI_ERR_PORT, "MPI_Close_port");
    CHECK_ERROR(MPI_Open_port(MPI_INFO_NULL, NULL), MPI_ERR_ARG, "MPI_Open_port");
    CHECK_ERROR(MPI_Lookup_name("", MPI_INFO_NULL, port), MPI_ERR_SERVICE, "MPI_Lookup_name");
    CHECK_ERROR(MPI_Lookup_name("nobody has this", MPI_INFO_NULL, port), MPI_ERR_NAME, "MPI_Lookup_name");
    CHECK_ERROR(MPI_Comm_connect("x", MPI_INFO_NULL, 99, half, &inter), MPI_ERR_ROOT, "MPI_Comm_connect");
    CHECK_ERROR(MPI_Comm_join(-1, &inter), MPI_ERR_ARG, "MPI_Comm_join");

    /* Nobody accepts. */
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "1");
    int rank;
    MPI_Comm_rank(half, &rank);
    MUST(MPI_Open_port(MPI_INFO_NULL, port));
    MPI_Comm self;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    CHECK_ERROR(MPI_Comm_connect(port, info, 0, self, &inter), MPI_ERR_PORT, "MPI_Comm_accept");
    MPI_Comm_free(&self);
    MUST(MPI_Close_port(port));
    MPI_Info_free(&info);
}

/* Ranks 0 and 1 have a socket between them. */
static void join(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int owner = getpid();
    MPI_Bcast(&owner, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tern-join-%d", owner);
    int listener = -1, fd = -1;
    if (check_rank == 0) {
        listener = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK_EQ(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
        CHECK_EQ(listen(listener, 1), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank > 1) return;
    if (check_rank == 0) {
        fd = accept(listener, NULL, NULL);
    } else {
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    }
    MPI_Comm inter;
    MUST(MPI_Comm_join(fd, &inter));
    int out = check_rank, in = -1, far;
    MPI_Comm_remote_size(inter, &far);
    CHECK_EQ(far, 1);
    MUST(MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
    CHECK_EQ(in, 1 - check_rank);
    MUST(MPI_Comm_disconnect(&inter));
    /* The socket is the program's again. */
    CHECK_EQ(write(fd, "x", 1), 1);
    char letter = 0;
    CHECK_EQ(read(fd, &letter, 1), 1);
    CHECK_EQ(letter, 'x');
    close(fd);
    if (listener >= 0) close(listener);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm half;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int server = check_rank % 2 == 0;
    MPI_Comm_split(MPI_COMM_WORLD, server, check_rank, &half);
    by_name(half, server, 1);
    by_name(half, !server, 2);
    wrong(half);
    join();
    MPI_Comm_free(&half);
    return check_finish();
}
