/* Opening, closing, deleting, sizes, modes, groups, hints and error handlers of files (MPI-5.0 sections 14.2 and 14.7).
 * ranks: 1 2 4
 * timeout: 60
 */
#include "file.h"
#include <fcntl.h>

static void modes(void)
{
    MPI_File fh = (MPI_File)1;
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_path, 0, MPI_INFO_NULL, &fh), MPI_ERR_AMODE, "MPI_File_open");
    CHECK(fh == MPI_FILE_NULL);
    int wrong[] = {MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_MODE_RDONLY | MPI_MODE_CREATE,
                   MPI_MODE_RDONLY | MPI_MODE_EXCL,
                   MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_MODE_CREATE, 1 << 20};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_path, wrong[i], MPI_INFO_NULL, &fh), MPI_ERR_AMODE,
                    "MPI_File_open");
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh), MPI_ERR_NO_SUCH_FILE,
                "MPI_File_open");
    CHECK_EQ(file_size(file_path), -1);
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_BAD_FILE,
                "MPI_File_open");
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, "", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_BAD_FILE,
                "MPI_File_open");
    if (check_size > 1) {
        int amode = MPI_MODE_CREATE | (check_rank == 1 ? MPI_MODE_RDWR : MPI_MODE_WRONLY);
        CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_path, amode, MPI_INFO_NULL, &fh), MPI_ERR_NOT_SAME,
                    "MPI_File_open");
        CHECK_EQ(file_size(file_path), -1);
        amode = check_rank == check_size - 1 ? 0 : MPI_MODE_CREATE | MPI_MODE_RDWR;
        CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_path, amode, MPI_INFO_NULL, &fh), MPI_ERR_AMODE,
                    "MPI_File_open");
        CHECK_EQ(file_size(file_path), -1);
    }
}

static void sizes(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_EXCL), other;
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_EXCL,
                              MPI_INFO_NULL,
                              &other), MPI_ERR_FILE_EXISTS, "MPI_File_open");
    MPI_Offset size = -1;
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 0);
    MUST(MPI_File_set_size(fh, 1000));
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 1000);
    MUST(MPI_File_preallocate(fh, 5000));
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 5000);
    MUST(MPI_File_preallocate(fh, 100));
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, 5000);
    CHECK_ERROR(MPI_File_set_size(fh, -1), MPI_ERR_ARG, "MPI_File_set_size");
    MUST(MPI_File_set_size(fh, 10));
    if (check_size > 1) CHECK_ERROR(MPI_File_set_size(fh, 20 + check_rank), MPI_ERR_NOT_SAME, "MPI_File_set_size");
    int amode, flag;
    MUST(MPI_File_get_amode(fh, &amode));
    CHECK_EQ(amode, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_EXCL);
    MPI_Group group, world;
    MUST(MPI_File_get_group(fh, &group));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &flag);
    CHECK_EQ(flag, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MUST(MPI_File_sync(fh));
    MUST(MPI_File_get_atomicity(fh, &flag));
    CHECK_EQ(flag, 0);
    MUST(MPI_File_set_atomicity(fh, 7));
    MUST(MPI_File_get_atomicity(fh, &flag));
    CHECK_EQ(flag, 1);
    MUST(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL);
    CHECK_ERROR(MPI_File_close(&fh), MPI_ERR_FILE, "MPI_File_close");
    CHECK_EQ(file_size(file_path), 10);
}

static void ends(void)
{
    MPI_File fh = file_open(MPI_MODE_WRONLY | MPI_MODE_APPEND);
    MPI_Offset at = -1;
    MUST(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 10);
    MUST(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 10);
    MUST(MPI_File_close(&fh));
    fh = file_open(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK_ERROR(MPI_File_set_size(fh, 3), MPI_ERR_READ_ONLY, "MPI_File_set_size");
    char byte = 0;
    CHECK_ERROR(MPI_File_write_at(fh, 0, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY,
                "MPI_File_write_at");
    CHECK_ERROR(MPI_File_write_all(fh, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY,
                "MPI_File_write_all");
    MUST(MPI_File_close(&fh));
    CHECK_EQ(file_size(file_path), -1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        CHECK_ERROR(MPI_File_delete(file_path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "MPI_File_delete");
        FILE *made = fopen(file_path, "w");
        fclose(made);
        MUST(MPI_File_delete(file_path, MPI_INFO_NULL));
        CHECK_EQ(file_size(file_path), -1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks may name one file in several ways, but not several files. */
static void names(void)
{
    MPI_File fh = MPI_FILE_NULL;
    const int amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    const char *base = strrchr(file_path, '/') + 1;
    char folder[sizeof file_path], before[4096], other[sizeof file_path + 8];
    snprintf(folder, sizeof folder, "%.*s", (int)(base - file_path), file_path);
    snprintf(other, sizeof other, "%s-other", file_path);
    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK_EQ(chdir(folder), 0);
    MUST(MPI_File_open(MPI_COMM_WORLD, check_rank % 2 ? file_path : base, amode, MPI_INFO_NULL, &fh));
    char byte = (char)check_rank;
    MUST(MPI_File_write_ordered(fh, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    MUST(MPI_File_sync(fh));
    CHECK_EQ(file_size(file_path), check_size);
    /* The file is found, and deleted, from another folder. */
    CHECK_EQ(chdir(before), 0);
    MUST(MPI_File_close(&fh));
    CHECK_EQ(file_size(file_path), -1);
    if (check_size > 1) {
        if (check_rank == 0) fclose(fopen(other, "w"));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, check_rank ? other : file_path, amode, MPI_INFO_NULL, &fh),
                    MPI_ERR_NOT_SAME, "MPI_File_open");
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(file_size(file_path), -1);
        if (check_rank == 0) unlink(other);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, check_rank ? other : file_path, amode, MPI_INFO_NULL, &fh),
                    MPI_ERR_NO_SUCH_FILE, "MPI_File_open");
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(file_size(file_path), -1);
    }
    /* A link to a file that is not there yet. */
    if (check_rank == 0) CHECK_EQ(symlink(other, file_path), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_path, amode | MPI_MODE_EXCL, MPI_INFO_NULL, &fh),
                MPI_ERR_FILE_EXISTS, "MPI_File_open");
    MUST(MPI_File_open(MPI_COMM_WORLD, file_path, amode, MPI_INFO_NULL, &fh));
    CHECK_EQ(file_size(other), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_close(&fh));
    if (check_rank == 0) unlink(other);
    /* A pipe has no places. */
    if (check_rank == 0) CHECK_EQ(mkfifo(other, 0600), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    int reader = open(other, O_RDWR | O_NONBLOCK);
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, other, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh),
                MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_open");
    close(reader);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) unlink(other);
}

static void hints(void)
{
    MPI_Info info, used;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_Info_set(info, "file_perm", "0600");
    MPI_Info_set(info, "nonsense", "7");
    MPI_File fh;
    MUST(MPI_File_open(MPI_COMM_WORLD, file_path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info,
                       &fh));
    MPI_Info_free(&info);
    struct stat found;
    CHECK_EQ(stat(file_path, &found), 0);
    CHECK_EQ(found.st_mode & 0777, 0600);
    MUST(MPI_File_get_info(fh, &used));
    char value[MPI_MAX_INFO_VAL];
    int flag, length = sizeof value;
    MPI_Info_get_string(used, "cb_buffer_size", &length, value, &flag);
    CHECK(flag);
    CHECK_STR(value, "1048576");
    length = sizeof value;
    MPI_Info_get_string(used, "romio_ds_write", &length, value, &flag);
    CHECK_STR(value, "enable");
    length = sizeof value;
    MPI_Info_get_string(used, "nonsense", &length, value, &flag);
    CHECK(!flag);
    length = sizeof value;
    MPI_Info_get_string(used, "filename", &length, value, &flag);
    CHECK_STR(value, file_path);
    MPI_Info_set(used, "romio_cb_read", "disable");
    MUST(MPI_File_set_info(fh, used));
    MPI_Info_free(&used);
    MUST(MPI_File_get_info(fh, &used));
    length = sizeof value;
    MPI_Info_get_string(used, "romio_cb_read", &length, value, &flag);
    CHECK_STR(value, "disable");
    MPI_Info_free(&used);
    MUST(MPI_File_close(&fh));
}

static int calls;
static MPI_File called_on;

static void handler(MPI_File *fh, int *code, ...)
{
    (void)code;
    calls++;
    called_on = *fh;
}

static void handlers(void)
{
    MPI_Errhandler mine, got;
    MUST(MPI_File_create_errhandler(handler, &mine));
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MUST(MPI_File_get_errhandler(fh, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MUST(MPI_File_set_errhandler(fh, mine));
    CHECK(MPI_File_seek(fh, -1, MPI_SEEK_SET) != MPI_SUCCESS);
    CHECK_EQ(calls, 1);
    CHECK(called_on == fh);
    MUST(MPI_File_call_errhandler(fh, MPI_ERR_IO));
    CHECK_EQ(calls, 2);
    MUST(MPI_File_get_errhandler(fh, &got));
    CHECK(got == mine);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&mine);
    CHECK(MPI_File_seek(fh, 0, 12345) != MPI_SUCCESS);
    CHECK_EQ(calls, 3);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    file_name("manage");
    modes();
    sizes();
    ends();
    names();
    hints();
    handlers();
    CHECK_EQ(file_size(file_path), -1);
    return check_finish();
}
