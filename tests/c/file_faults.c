/* What fails in the middle: full devices, size limits, lost files (MPI-5.0 section 14.7).
 * ranks: 1 2 4
 * timeout: 60
 */
#include "file.h"
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/time.h>

enum { BLOCK = 512, BLOCKS = 256 };

static char data[BLOCK * BLOCKS];

/* A device on which there is never room. */
static void full_device(void)
{
    MPI_File fh;
    MPI_Status status;
    MPI_Request requests[2];
    if (access("/dev/full", W_OK) != 0) return;
    MUST(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
    CHECK_ERROR(MPI_File_write_at(fh, 0, data, 10, MPI_BYTE, &status), MPI_ERR_NO_SPACE, "MPI_File_write_at");
    CHECK_EQ(file_count(&status, MPI_BYTE), 0);
    /* Rank 0 alone has data, and all are told. */
    int count = check_rank ? 0 : 100;
    CHECK_ERROR(MPI_File_write_at_all(fh, 0, data, count, MPI_BYTE, &status), MPI_ERR_NO_SPACE,
                "MPI_File_write_at_all");
    MUST(MPI_File_iwrite_at(fh, 0, data, 10, MPI_BYTE, &requests[0]));
    CHECK_ERROR(MPI_Wait(&requests[0], &status), MPI_ERR_NO_SPACE, "MPI_Wait");
    MUST(MPI_File_iwrite_at_all(fh, 0, data, count, MPI_BYTE, &requests[0]));
    MUST(MPI_File_iwrite_at_all(fh, 0, data, 0, MPI_BYTE, &requests[1]));
    MPI_Status both[2];
    CHECK_ERROR(MPI_Waitall(2, requests, both), MPI_ERR_IN_STATUS, "MPI_Waitall");
    CHECK_EQ(both[0].MPI_ERROR, MPI_ERR_NO_SPACE);
    CHECK_EQ(both[1].MPI_ERROR, MPI_SUCCESS);
    MUST(MPI_File_close(&fh));
}

static MPI_Datatype every_block(void)
{
    MPI_Datatype block, tile;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * check_size, &tile);
    MPI_Type_commit(&tile);
    MPI_Type_free(&block);
    return tile;
}

/* No file may be longer than 64 KiB: an error, not the signal that ends the process. */
static void size_limit(void)
{
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 65536;
    setrlimit(RLIMIT_FSIZE, &limit);
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_Request request;
    memset(data, 7, sizeof data);
    CHECK_ERROR(MPI_File_write_at(fh, 65000, data, 1000, MPI_BYTE, &status), MPI_ERR_QUOTA, "MPI_File_write_at");
    CHECK_EQ(file_count(&status, MPI_BYTE), 536);
    MUST(MPI_File_iwrite_at(fh, 65000, data, 1000, MPI_BYTE, &request));
    CHECK_ERROR(MPI_Wait(&request, &status), MPI_ERR_QUOTA, "MPI_Wait");
    CHECK_EQ(file_count(&status, MPI_BYTE), 536);
    MPI_Datatype tile = every_block();
    MUST(MPI_File_set_view(fh, (MPI_Offset)BLOCK * check_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    CHECK_ERROR(MPI_File_write_all(fh, data, sizeof data, MPI_BYTE, &status), MPI_ERR_QUOTA, "MPI_File_write_all");
    MUST(MPI_File_iwrite_at_all(fh, 0, data, sizeof data, MPI_BYTE, &request));
    CHECK_ERROR(MPI_Wait(&request, &status), MPI_ERR_QUOTA, "MPI_Wait");
    CHECK_EQ(file_size(file_path), 65536);
    /* After all that, what fits goes in. */
    MUST(MPI_File_write_at_all(fh, 0, data, BLOCK, MPI_BYTE, &status));
    CHECK_EQ(file_byte(file_path, BLOCK * check_size - 1), 7);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_close(&fh));
    setrlimit(RLIMIT_FSIZE, &before);
    MPI_Type_free(&tile);
}

/* The program lowers the limit while it has the file open. */
static void size_limit_lowered(void)
{
    struct rlimit before, limit;
    MPI_Status status;
    MPI_Request request;
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK_ERROR(MPI_File_write_at(fh, 4000, data, 1000, MPI_BYTE, &status), MPI_ERR_QUOTA, "MPI_File_write_at");
    CHECK_EQ(file_count(&status, MPI_BYTE), 96);
    MUST(MPI_File_iwrite_at(fh, 4096, data, 1000, MPI_BYTE, &request));
    CHECK_ERROR(MPI_Wait(&request, &status), MPI_ERR_QUOTA, "MPI_Wait");
    setrlimit(RLIMIT_FSIZE, &before);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_close(&fh));
}

/* Somebody removes the file: it is there for who has it open, and closing with deletion finds it gone. */
static void lost(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    int number = check_rank, back = -1;
    file_remove();
    MUST(MPI_File_write_at_all(fh, 4 * check_rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_read_at(fh, 4 * check_rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(back, check_rank);
    CHECK_ERROR(MPI_File_close(&fh), MPI_ERR_NO_SUCH_FILE, "MPI_File_close");
    CHECK(fh == MPI_FILE_NULL);
    CHECK_EQ(file_size(file_path), -1);
}

/* One rank may not read the file that the others may: no rank has it open. */
static void no_permission(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MUST(MPI_File_close(&fh));
    if (check_rank == 0) chmod(file_path, getuid() == 0 ? 0600 : 0);
    MPI_Barrier(MPI_COMM_WORLD);
    /* What root may, nobody else may: of files alone, the process is somebody else. */
    if (check_rank == check_size - 1 && getuid() == 0) setfsuid(65534);
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, file_path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh), MPI_ERR_ACCESS,
                "MPI_File_open");
    CHECK(fh == MPI_FILE_NULL);
    if (getuid() == 0) setfsuid(0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (getuid() == 0) {
        fh = file_open(MPI_MODE_RDWR);
        MUST(MPI_File_close(&fh));
    }
    file_remove();
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* Signals come all the time, and system calls are not begun again by themselves. */
static void interrupted(void)
{
    struct sigaction action = {.sa_handler = count_signal}, before;
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Datatype tile = every_block();
    MPI_Status status;
    MUST(MPI_File_set_view(fh, (MPI_Offset)BLOCK * check_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    memset(data, check_rank + 1, sizeof data);
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    /* As many rounds as it takes until every rank has been interrupted some times. */
    for (int round = 0, go_on = 1; go_on; round++) {
        MUST(MPI_File_write_at_all(fh, 0, data, sizeof data, MPI_BYTE, &status));
        CHECK_EQ(file_count(&status, MPI_BYTE), sizeof data);
        MUST(MPI_File_read_at_all(fh, 0, data, sizeof data, MPI_BYTE, &status));
        CHECK_EQ(file_count(&status, MPI_BYTE), sizeof data);
        CHECK_EQ(data[sizeof data - 1], check_rank + 1);
        MUST(MPI_File_set_atomicity(fh, round % 2 == 0));
        go_on = round < 60 || signals < 10;
        MUST(MPI_Allreduce(MPI_IN_PLACE, &go_on, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    CHECK(signals > 0);
    MUST(MPI_File_close(&fh));
    MPI_Type_free(&tile);
}

/* The kinds of calls differ, or a request is not complete. */
static void misuse(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Request request;
    char byte = 1;
    MUST(MPI_File_iwrite_at_all(fh, check_rank, &byte, 1, MPI_BYTE, &request));
    CHECK_ERROR(MPI_Request_free(&request), MPI_ERR_REQUEST, "MPI_Request_free");
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_File_iwrite_at(fh, check_rank, &byte, 1, MPI_BYTE, &request));
    MUST(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    MUST(MPI_File_write_all_begin(fh, &byte, 1, MPI_BYTE));
    CHECK_ERROR(MPI_File_close(&fh), MPI_ERR_OTHER, "MPI_File_close");
    MUST(MPI_File_write_all_end(fh, &byte, MPI_STATUS_IGNORE));
    while (MPI_File_sync(fh) != MPI_SUCCESS) continue;
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    file_name("faults");
    full_device();
    size_limit();
    size_limit_lowered();
    lost();
    misuse();
    no_permission();
    interrupted();
    return check_finish();
}
