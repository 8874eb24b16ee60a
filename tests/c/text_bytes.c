/* Names, hints and file names may hold any bytes (MPI-5.0 sections 7.8, 10 and 14.2.1): none is changed.
 * ranks: 1 2
 */
#include "check.h"
#include <sys/stat.h>
#include <unistd.h>

static const char latin[] = "na\xefve", private[] = "\xf4\x8f\xbf\xa9 gr\xc3\xb6\xc3\x9f\x65";

static void names(const char *given)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MUST(MPI_Comm_set_name(MPI_COMM_SELF, given));
    MUST(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    CHECK_STR(name, given);
    CHECK_EQ(length, strlen(given));
}

static void hints(const char *key, const char *value)
{
    char found[100], other[100] = "\xe8", tight[4];
    int length = 0, flag = 0, room = sizeof found;
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, value));
    strcat(other, key + 1);
    MUST(MPI_Info_set(info, other, "another"));
    MUST(MPI_Info_get_valuelen(info, key, &length, &flag));
    CHECK_EQ(length, strlen(value));
    MUST(MPI_Info_get_string(info, key, &room, found, &flag));
    CHECK_EQ(room, strlen(value) + 1);
    CHECK_STR(found, value);
    room = sizeof tight;
    MUST(MPI_Info_get_string(info, key, &room, tight, &flag));
    CHECK(memcmp(tight, value, 3) == 0 && tight[3] == 0);
    MUST(MPI_Info_get_nthkey(info, 0, found));
    CHECK_STR(found, key);
    MUST(MPI_Info_free(&info));
}

static void own_path(char *path, size_t room, const char *name)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, room, "%s/tern-%ld-%s", folder && *folder ? folder : "/tmp", (long)getpid(), name);
}

/* The file has the very name, and is found by it. */
static void files(const char *given)
{
    char path[300] = "";
    MPI_File file;
    struct stat found;
    if (check_rank == 0) own_path(path, sizeof path, given);
    MUST(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CHECK_EQ(stat(path, &found), 0);
    MUST(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MUST(MPI_File_delete(path, MPI_INFO_NULL));
        CHECK_EQ(stat(path, &found), -1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A program with such a name is started, with such an argument. */
static void spawned(char *program, const char *name)
{
    char path[300] = "", *argv[] = {(char *)latin, NULL};
    MPI_Comm inter;
    if (check_rank == 0) {
        own_path(path, sizeof path, name);
        CHECK_EQ(symlink(program, path), 0);
    }
    int code = MPI_Comm_spawn(path, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    int same = 0;
    if (MUST(code)) {
        MUST(MPI_Bcast(&same, 1, MPI_INT, 0, inter));
        CHECK(same);
        MUST(MPI_Comm_disconnect(&inter));
    }
    if (check_rank == 0) unlink(path);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        char command[300];
        int flag, same = argc == 2 && strcmp(argv[1], latin) == 0;
        MPI_Info_get(MPI_INFO_ENV, "command", sizeof command - 1, command, &flag);
        same = same && flag && strstr(command, latin) != NULL;
        MPI_Bcast(&same, 1, MPI_INT, MPI_ROOT, parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    names(latin), names(private);
    hints(latin, private), hints(private, latin);
    files(latin), files(private);
    char own[300] = "";
    CHECK(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    spawned(own, latin);
    return check_finish();
}
