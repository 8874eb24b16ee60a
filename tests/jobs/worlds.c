/* Worlds that end: parents, children, and jobs that meet at a port.
 *
 *   worlds start [disconnect] [call]     starts two children and sits; with `call` in MPI_Recv, else computing
 *   worlds late                          rank 0 alone starts a child that comes to MPI_Init after 3 s
 *   worlds serve NAME TURNS [apart]      accepts so often at a port with this name; with `apart`, rank 0 alone does
 *   worlds call NAME [stay]              connects to it; with `stay`, sits then
 *   worlds open                          opens a port, says its name, and accepts once
 *   worlds own                           opens a port, says its name, and sits computing
 *   worlds publish NAME                  opens a port, makes it known, and ends
 *   worlds knock PORT                    connects to it
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int rank;

static int has(int argc, char **argv, const char *word)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], word) == 0) return 1;
    return 0;
}

/* A minute: whoever is to be ended has been ended by then. The process is called `sitting` from here on. */
static void sit(int argc, char **argv)
{
    prctl(PR_SET_NAME, "sitting");
    printf("%s is process %d\n", has(argc, argv, "child") ? "child" : "parent", (int)getpid());
    fflush(stdout);
    if (has(argc, argv, "call")) {
        int never;
        MPI_Recv(&never, 1, MPI_INT, 0, 99, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    for (int second = 0; second < 60; second++) sleep(1);
}

static void start(int argc, char **argv, MPI_Comm parent)
{
    if (parent == MPI_COMM_NULL) {
        char *words[8] = {"start", "child"};
        for (int i = 2; i < argc && i < 7; i++) words[i] = argv[i];
        MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent, MPI_ERRCODES_IGNORE);
    }
    if (has(argc, argv, "disconnect")) MPI_Comm_disconnect(&parent);
    sit(argc, argv);
}

static void late(char **argv, MPI_Comm parent)
{
    char *words[] = {"late", "child", NULL};
    if (parent == MPI_COMM_NULL && rank == 0)
        MPI_Comm_spawn(argv[0], words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &parent, MPI_ERRCODES_IGNORE);
}

static void serve(const char *name, int turns, int apart)
{
    MPI_Comm comm = apart ? MPI_COMM_SELF : MPI_COMM_WORLD;
    if (apart && rank != 0) return;
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
        printf("open\n");
        fflush(stdout);
    }
    for (int turn = 0; turn < turns; turn++) {
        MPI_Comm inter;
        int sum, mine = rank + 1;
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &inter);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
        if (rank == 0) printf("served %d\n", sum);
        fflush(stdout);
        MPI_Comm_disconnect(&inter);
    }
    if (rank == 0 && turns >= 0) {
        MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

static void call(const char *name, int stays, int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    int sum, mine = 10 * (rank + 1);
    if (rank == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        int tries = 0;
        while (MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS && tries++ < 1000) usleep(20000);
    }
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    if (rank == 0) printf("called %d\n", sum);
    fflush(stdout);
    if (stays) sit(argc, argv);
    MPI_Comm_disconnect(&inter);
}

static void open_port(int sits, int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    MPI_Open_port(MPI_INFO_NULL, port);
    printf("%s\n", port);
    fflush(stdout);
    if (sits) sit(argc, argv);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    printf("somebody came\n");
    MPI_Comm_disconnect(&inter);
    MPI_Close_port(port);
}

static void knock(const char *port)
{
    MPI_Comm inter;
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    printf("let in\n");
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    if (argc > 1 && strcmp(argv[1], "late") == 0 && has(argc, argv, "child")) sleep(3);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "start") == 0) start(argc, argv, parent);
    if (strcmp(what, "late") == 0) late(argv, parent);
    if (strcmp(what, "serve") == 0) serve(argv[2], atoi(argv[3]), has(argc, argv, "apart"));
    if (strcmp(what, "publish") == 0) serve(argv[2], -1, 0);
    if (strcmp(what, "call") == 0) call(argv[2], argc > 3, argc, argv);
    if (strcmp(what, "open") == 0) open_port(0, argc, argv);
    if (strcmp(what, "own") == 0) open_port(1, argc, argv);
    if (strcmp(what, "knock") == 0) knock(argv[2]);
    MPI_Finalize();
    return 0;
}
