/* A process that computes sleeps while its port (MPI-5.0 section 11.9) is open and nobody comes, after it has closed
 * it, and after it has parted from who came. Whoever comes meanwhile is heard all the same.
 * ranks: 2
 * instances: default
 * timeout: 60
 */
#include "check.h"
#include <dirent.h>
#include <unistd.h>

/* So long it computes, and so often its other threads may wake meanwhile. One that looked four times a second would
 * wake eight times. */
enum { SECONDS = 2, WAKES_MAX = 3 };

/* How often a thread has gone to sleep. */
static long sleeps_of(const char *task)
{
    char path[64], line[256];
    long sleeps = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL) sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
    fclose(file);
    return sleeps;
}

static long sleeps_of_others(void)
{
    long sleeps = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;)
        if (task->d_name[0] != '.' && atoi(task->d_name) != getpid()) sleeps += sleeps_of(task->d_name);
    closedir(tasks);
    return sleeps;
}

/* What a call has left to the other threads is soon done. */
static long wakes_in(int seconds)
{
    usleep(500000);
    long before = sleeps_of_others();
    sleep((unsigned)seconds);
    return sleeps_of_others() - before;
}

static void own(MPI_Comm self)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    MUST(MPI_Open_port(MPI_INFO_NULL, port));
    CHECK(wakes_in(SECONDS) <= WAKES_MAX);
    MUST(MPI_Send(port, sizeof port, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
    MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, self, &inter));
    MUST(MPI_Comm_disconnect(&inter));
    CHECK(wakes_in(SECONDS) <= WAKES_MAX);
    MUST(MPI_Close_port(port));
    CHECK(wakes_in(SECONDS) <= WAKES_MAX);
    MUST(MPI_Send(NULL, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
    /* The other one knocks. */
    sleep(SECONDS);
}

static void visit(MPI_Comm self)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    MUST(MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, self, &inter));
    MUST(MPI_Comm_disconnect(&inter));
    MUST(MPI_Recv(NULL, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Comm_connect(port, MPI_INFO_NULL, 0, self, &inter), MPI_ERR_PORT, "MPI_Comm_connect");
}

int main(int argc, char **argv)
{
    MPI_Comm self;
    check_init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    if (check_rank == 0) own(self);
    if (check_rank == 1) visit(self);
    MPI_Comm_free(&self);
    return check_finish();
}
