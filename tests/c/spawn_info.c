/* What info keys say of the processes to be started (MPI-5.0 sections 11.4.3 and 11.8.4): path, file, host, kinds of
 * memory, and Tern's hostfile.
 * ranks: 1 2
 * timeout: 240
 * instances: default
 */
#include "check.h"
#include <errno.h>
#include <limits.h>
#include <unistd.h>

static char kinds_there[MPI_MAX_INFO_VAL];
static char folder[PATH_MAX], program[PATH_MAX], file[PATH_MAX + 32];

/* What the children say: how many they are, where they run, and which kinds of memory they have. */
static void child(MPI_Comm parent)
{
    char there[PATH_MAX], kinds[MPI_MAX_INFO_VAL] = "";
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!getcwd(there, sizeof there)) there[0] = 0;
    MPI_Info used;
    int room = sizeof kinds, flag;
    MUST(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    MUST(MPI_Info_get_string(used, "mpi_memory_alloc_kinds", &room, kinds, &flag));
    MPI_Info_free(&used);
    if (rank == 0) {
        MUST(MPI_Send(&size, 1, MPI_INT, 0, 1, parent));
        MUST(MPI_Send(there, (int)strlen(there) + 1, MPI_CHAR, 0, 2, parent));
        MUST(MPI_Send(kinds, (int)strlen(kinds) + 1, MPI_CHAR, 0, 3, parent));
    }
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    exit((int)check_failures);
}

static void starts(const char *command, MPI_Info info, int expected, const char *where)
{
    MPI_Comm inter;
    if (!MUST(MPI_Comm_spawn(command, MPI_ARGV_NULL, expected, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE)))
        return;
    if (check_rank == 0) {
        char there[PATH_MAX];
        int size = 0;
        MUST(MPI_Recv(&size, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
        MUST(MPI_Recv(there, sizeof there, MPI_CHAR, 0, 2, inter, MPI_STATUS_IGNORE));
        MUST(MPI_Recv(kinds_there, sizeof kinds_there, MPI_CHAR, 0, 3, inter, MPI_STATUS_IGNORE));
        CHECK_EQ(size, expected);
        if (where) CHECK_STR(there, where);
    }
    MUST(MPI_Comm_disconnect(&inter));
}

static void refused(const char *command, MPI_Info info, const char *word)
{
    MPI_Comm inter;
    CHECK_ERROR(MPI_Comm_spawn(command, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_SPAWN, word);
}

/* Rank 0 writes a file, which the others do not look at. */
static void write_file(const char *text)
{
    if (check_rank != 0) return;
    FILE *out = fopen(file, "w");
    CHECK(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

static void paths(const char *name)
{
    char several[PATH_MAX + 64];
    MPI_Info info = info_of("path", folder);
    starts(name, info, 1, NULL);
    snprintf(several, sizeof several, "/surely/not/there:%s", folder);
    MPI_Info_set(info, "path", several);
    starts(name, info, 2, NULL);
    MPI_Info_set(info, "path", "/surely/not/there");
    refused(name, info, name);
    /* It is looked for on PATH, too. */
    refused("true", info, "MPI_Init");
    MPI_Info_free(&info);
}

static void files(const char *name)
{
    char text[2 * PATH_MAX + 64];
    snprintf(text, sizeof text, "# keys\n\n path = %s \nwdir=/usr\n", folder);
    write_file(text);
    MPI_Info info = info_of("file", file);
    starts(name, info, 1, "/usr");
    /* The info object's own keys come first. */
    MPI_Info_set(info, "wdir", "/");
    starts(name, info, 1, "/");
    write_file("no equals sign\n");
    refused(program, info, "no equals sign");
    MPI_Info_set(info, "file", "/surely/not/there");
    refused(program, info, "/surely/not/there");
    MPI_Info_free(&info);
}

static void hosts(void)
{
    MPI_Info info = info_of("host", "localhost");
    starts(program, info, 2, NULL);
    MPI_Info_free(&info);
    write_file("# hosts\nlocalhost slots=3\n");
    info = info_of("hostfile", file);
    starts(program, info, 3, NULL);
    write_file("localhost slots=many\n");
    refused(program, info, "many");
    MPI_Info_set(info, "hostfile", "/surely/not/there");
    refused(program, info, "/surely/not/there");
    MPI_Info_free(&info);
}

/* Those that are asked for and that are there are named, and only to those who were started so. */
static void kinds(void)
{
    MPI_Info info = info_of("mpi_memory_alloc_kinds", "system,no_such:kind,mpi:alloc_mem");
    starts(program, info, 1, NULL);
    if (check_rank == 0) {
        CHECK(strstr(kinds_there, "system") && strstr(kinds_there, "mpi:alloc_mem"));
        CHECK(!strstr(kinds_there, "no_such"));
    }
    MPI_Info_free(&info);
    starts(program, MPI_INFO_NULL, 1, NULL);
    if (check_rank == 0) CHECK(!strstr(kinds_there, "alloc_mem"));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm parent;
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) child(parent);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(realpath(argv[0], program) != NULL);
    strcpy(folder, program);
    char *slash = strrchr(folder, '/');
    *slash = 0;
    snprintf(file, sizeof file, "/tmp/spawn-info-%d", (int)getpid());
    paths(slash + 1);
    files(slash + 1);
    hosts();
    kinds();
    if (check_rank == 0) unlink(file);
    return check_finish();
}
