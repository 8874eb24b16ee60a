/* Split collectives: the first half starts an access, the second one ends it (MPI-5.0 section 14.4.5).
 * ranks: 1 2 4
 * timeout: 60
 */
#include "file.h"

enum { BLOCK = 64, BLOCKS = 500, BYTES = BLOCK * BLOCKS };

static char out[2][BYTES], in[2][BYTES];

static MPI_Datatype every_block(void)
{
    MPI_Datatype block, tile;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * check_size, &tile);
    MPI_Type_commit(&tile);
    MPI_Type_free(&block);
    return tile;
}

static MPI_File interleaved(MPI_Datatype tile)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MUST(MPI_File_set_view(fh, (MPI_Offset)BLOCK * check_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    return fh;
}

/* A rank begins only when the one before it has begun: nobody waits for the others in the first half. */
static void begins_alone(MPI_Datatype tile)
{
    MPI_File fh = interleaved(tile);
    MPI_Status status;
    int token = 0;
    memset(out[0], check_rank + 1, BYTES);
    if (check_rank) MPI_Recv(&token, 1, MPI_INT, check_rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MUST(MPI_File_write_all_begin(fh, out[0], BYTES, MPI_BYTE));
    if (check_rank + 1 < check_size) MPI_Send(&token, 1, MPI_INT, check_rank + 1, 1, MPI_COMM_WORLD);
    MUST(MPI_File_write_all_end(fh, out[0], &status));
    CHECK_EQ(file_count(&status, MPI_BYTE), BYTES);
    CHECK_EQ(file_byte(file_path, BYTES * check_size - 1), check_size);
    if (check_rank) MPI_Recv(&token, 1, MPI_INT, check_rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MUST(MPI_File_read_at_all_begin(fh, 0, in[0], BYTES, MPI_BYTE));
    if (check_rank + 1 < check_size) MPI_Send(&token, 1, MPI_INT, check_rank + 1, 1, MPI_COMM_WORLD);
    MUST(MPI_File_read_at_all_end(fh, in[0], &status));
    CHECK_EQ(file_count(&status, MPI_BYTE), BYTES);
    CHECK_EQ(memcmp(in[0], out[0], BYTES), 0);
    MUST(MPI_File_close(&fh));
}

/* Two files at once, ended in the other order. */
static void two_files(MPI_Datatype tile)
{
    MPI_File one = interleaved(tile);
    MPI_Status status;
    file_name("split-second");
    MPI_File two = interleaved(tile);
    for (int file = 0; file < 2; file++) memset(out[file], 10 * file + check_rank + 1, BYTES);
    MUST(MPI_File_write_all_begin(one, out[0], BYTES, MPI_BYTE));
    MUST(MPI_File_write_ordered_begin(two, out[1], BYTES, MPI_BYTE));
    MUST(MPI_File_write_ordered_end(two, out[1], &status));
    CHECK_EQ(file_count(&status, MPI_BYTE), BYTES);
    MUST(MPI_File_write_all_end(one, out[0], &status));
    CHECK_EQ(file_count(&status, MPI_BYTE), BYTES);
    MUST(MPI_File_read_at_all(one, 0, in[0], BYTES, MPI_BYTE, &status));
    CHECK_EQ(memcmp(in[0], out[0], BYTES), 0);
    MUST(MPI_File_close(&two));
    MUST(MPI_File_close(&one));
}

/* One rank's arguments are wrong: it is told by the first half, the others by the second. */
static void refused(MPI_Datatype tile)
{
    MPI_File fh = interleaved(tile);
    MPI_Status status;
    if (check_rank == check_size - 1) {
        CHECK_ERROR(MPI_File_write_at_all_begin(fh, -3, out[0], 1, MPI_BYTE), MPI_ERR_ARG,
                    "MPI_File_write_at_all_begin");
        CHECK_ERROR(MPI_File_write_at_all_end(fh, out[0], &status), MPI_ERR_OTHER, "MPI_File_write_at_all_end");
    } else {
        MUST(MPI_File_write_at_all_begin(fh, 0, out[0], 1, MPI_BYTE));
        CHECK_ERROR(MPI_File_write_at_all_end(fh, out[0], &status), MPI_ERR_ARG, "MPI_File_write_at_all_end");
    }
    CHECK_EQ(file_size(file_path), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_write_at_all_begin(fh, 0, out[0], BYTES, MPI_BYTE));
    MUST(MPI_File_write_at_all_end(fh, out[0], &status));
    CHECK_EQ(file_count(&status, MPI_BYTE), BYTES);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    file_name("split");
    MPI_Datatype tile = every_block();
    begins_alone(tile);
    two_files(tile);
    refused(tile);
    MPI_Type_free(&tile);
    return check_finish();
}
