/* A file system that says it is NFS: what others have synced is asked for again, and what a server refuses late is
 * told of (MPI-5.0 sections 14.2.2 and 14.6).
 * ranks: 1 2 4
 * timeout: 60
 */
#include "inject.h"
#include "file.h"

enum { NFS_MAGIC = 0x6969 };

static char byte = 7;

static MPI_File opened(long filesystem)
{
    inject.filesystem = filesystem;
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR);
    inject_into(file_path);
    return fh;
}

static void written(MPI_File fh)
{
    MUST(MPI_File_write_at(fh, check_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
}

/* A lock, taken and given back, makes a host ask the server again. A local file needs none, and one rank syncs it for
 * all of its host. */
static void syncing(void)
{
    MPI_File fh = opened(0);
    written(fh);
    MUST(MPI_File_sync(fh));
    int mine = inject.syncs, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(mine <= 1);
    CHECK(all >= 1);
    CHECK_EQ(inject.locks, 0);
    MUST(MPI_File_close(&fh));
    CHECK_EQ(inject.syncs, mine);
    fh = opened(NFS_MAGIC);
    written(fh);
    MUST(MPI_File_sync(fh));
    CHECK_EQ(inject.syncs, 1);
    CHECK_EQ(inject.locks, 2);
    CHECK_EQ(inject.opens, 0);
    MUST(MPI_File_close(&fh));
    CHECK_EQ(inject.syncs, 2);
}

/* A server without locks: syncing asks it by opening the file. Atomic mode cannot do without. */
static void without_locks(void)
{
    MPI_File fh = opened(NFS_MAGIC);
    inject.lock_error = ENOLCK;
    written(fh);
    MUST(MPI_File_sync(fh));
    CHECK_EQ(inject.locks, 1);
    CHECK_EQ(inject.opens, 1);
    MUST(MPI_File_set_atomicity(fh, 1));
    CHECK_ERROR(MPI_File_write_at(fh, check_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO,
                "MPI_File_write_at");
    CHECK_ERROR(MPI_File_write_at_all(fh, check_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO,
                "MPI_File_write_at_all");
    inject_nothing();
    MUST(MPI_File_write_at_all(fh, check_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    MUST(MPI_File_close(&fh));
}

/* The server refuses what the last rank has written, when it is told to keep it: all ranks learn that. */
static void refused_late(void)
{
    MPI_File fh = opened(NFS_MAGIC);
    written(fh);
    if (check_rank == check_size - 1) inject.sync_error = EDQUOT;
    CHECK_ERROR(MPI_File_sync(fh), MPI_ERR_QUOTA, "MPI_File_sync");
    CHECK_ERROR(MPI_File_close(&fh), MPI_ERR_QUOTA, "MPI_File_close");
    CHECK(fh == MPI_FILE_NULL);
    inject_nothing();
    fh = opened(NFS_MAGIC);
    if (check_rank == 0) inject.sync_error = ESTALE;
    CHECK_ERROR(MPI_File_close(&fh), MPI_ERR_IO, "MPI_File_close");
    inject_nothing();
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    file_name("network");
    syncing();
    without_locks();
    refused_late();
    file_remove();
    return check_finish();
}
