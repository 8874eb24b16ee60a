/* Data representations: external32, internal and the program's own (MPI-5.0 section 14.5).
 * ranks: 1 3
 * timeout: 60
 */
#include "file.h"

static int extents, reads, writes;
static char state;

/* Numbers lie in the file with their bits turned, in twice as many bytes. */
static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    int size;
    if (extra != &state) return MPI_ERR_OTHER;
    extents++;
    MPI_Type_size(datatype, &size);
    *extent = 2 * size;
    return MPI_SUCCESS;
}

static int to_file(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    if (extra != &state || datatype != MPI_INT) return MPI_ERR_OTHER;
    writes++;
    for (int i = 0; i < count; i++) {
        long long wide = ~(long long)((int *)user)[position + i];
        memcpy((char *)file + 8 * i, &wide, 8);
    }
    return MPI_SUCCESS;
}

static int from_file(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    if (extra != &state || datatype != MPI_INT) return MPI_ERR_OTHER;
    reads++;
    for (int i = 0; i < count; i++) {
        long long wide;
        memcpy(&wide, (char *)file + 8 * i, 8);
        ((int *)user)[position + i] = (int)~wide;
    }
    return MPI_SUCCESS;
}

static int large_to_file(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position,
                         void *extra)
{
    return to_file(user, datatype, (int)count, file, position, extra);
}

static int large_from_file(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position,
                           void *extra)
{
    return from_file(user, datatype, (int)count, file, position, extra);
}

static int fails(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    (void)user, (void)datatype, (void)count, (void)file, (void)position, (void)extra;
    return MPI_ERR_OTHER;
}

/* What the functions below were given last. */
static int entries, size_given;

static int plain_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    int size;
    (void)extra;
    MPI_Type_size(datatype, &size);
    *extent = size;
    return MPI_SUCCESS;
}

static int told(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    (void)user, (void)file, (void)extra;
    if (position != 0) return MPI_ERR_OTHER;
    entries = count;
    return MPI_Type_size(datatype, &size_given);
}

/* What is counted are entries of the typemap, of which the file may have a part of a datatype's. */
static void counted(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_Datatype ten;
    int numbers[40] = {0};
    MPI_Type_contiguous(10, MPI_INT, &ten);
    MPI_Type_commit(&ten);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "told", MPI_INFO_NULL));
    MUST(MPI_File_write_at_all(fh, 0, numbers, 2, ten, &status));
    CHECK(entries == 20 && size_given == 40);
    CHECK_EQ(file_count(&status, ten), 2);
    MUST(MPI_File_write_at_all(fh, 20, numbers, 5, MPI_INT, &status));
    CHECK(entries == 5 && size_given == 4);
    MUST(MPI_File_read_at_all(fh, 0, numbers, 3, ten, &status));
    CHECK(entries == 25 && size_given == 40);
    CHECK_EQ(file_count(&status, MPI_INT), 25);
    /* The program frees its datatype while the access goes on. */
    size_given = 0;
    MUST(MPI_File_read_at_all_begin(fh, 0, numbers, 2, ten));
    MPI_Type_free(&ten);
    MUST(MPI_File_read_at_all_end(fh, numbers, &status));
    CHECK(entries == 20 && size_given == 40);
    MUST(MPI_File_close(&fh));
}

static void external32(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_Request request;
    MPI_Aint extent;
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    int numbers[3] = {0x01020304, check_rank, -1}, back[5] = {7, 7, 7, 7, 7};
    MUST(MPI_File_write_at_all(fh, 3 * check_rank, numbers, 3, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 3);
    for (int i = 0; i < 4; i++) CHECK_EQ(file_byte(file_path, 12 * check_rank + i), i + 1);
    MUST(MPI_File_read_at(fh, 3 * check_rank, back, 3, MPI_INT, &status));
    CHECK(back[0] == 0x01020304 && back[1] == check_rank && back[2] == -1 && back[3] == 7);
    memset(back, 0, sizeof back);
    MUST(MPI_File_iread_at(fh, 3 * check_rank, back, 3, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK(back[0] == 0x01020304 && back[1] == check_rank && back[2] == -1);
    MUST(MPI_File_iread_at_all(fh, 3 * check_size - 2, back, 5, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 2);
    CHECK(back[0] == check_size - 1 && back[1] == -1 && back[2] == -1);
    /* A wide character has four bytes here, and two there. */
    MUST(MPI_File_get_type_extent(fh, MPI_WCHAR, &extent));
    CHECK_EQ(extent, 2);
    MUST(MPI_File_get_type_extent(fh, MPI_DOUBLE, &extent));
    CHECK_EQ(extent, 8);
    MPI_Datatype vector;
    MPI_Type_vector(2, 1, 3, MPI_LONG_DOUBLE, &vector);
    MPI_Count large;
    MUST(MPI_File_get_type_extent_c(fh, vector, &large));
    CHECK_EQ(large, 64);
    MPI_Type_free(&vector);
    /* Elements that are interleaved by a file type. */
    MPI_Datatype one, tile;
    MPI_Type_contiguous(1, MPI_SHORT, &one);
    MPI_Type_create_resized(one, 0, 2 * check_size, &tile);
    MPI_Type_commit(&tile);
    MUST(MPI_File_set_view(fh, 2 * check_rank, MPI_SHORT, tile, "external32", MPI_INFO_NULL));
    short words[4] = {0x0102, 0x0304, 0x0506, 0x0708}, again[4] = {0};
    MUST(MPI_File_write_all(fh, words, 4, MPI_SHORT, &status));
    for (int i = 0; i < 8; i++)
        CHECK_EQ(file_byte(file_path, 2 * check_rank + i / 2 * 2 * check_size + i % 2), i + 1);
    MUST(MPI_File_seek(fh, 0, MPI_SEEK_SET));
    MUST(MPI_File_read_all(fh, again, 4, MPI_SHORT, &status));
    CHECK(memcmp(words, again, sizeof words) == 0);
    MPI_Type_free(&one);
    MPI_Type_free(&tile);
    MUST(MPI_File_close(&fh));
}

static void own(const char *name)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_Request request;
    MPI_Aint extent;
    char got[MPI_MAX_DATAREP_STRING];
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
    CHECK(extents > 0);
    MUST(MPI_File_get_view(fh, &disp, &etype, &filetype, got));
    CHECK_STR(got, name);
    MUST(MPI_File_get_type_extent(fh, MPI_INT, &extent));
    CHECK_EQ(extent, 8);
    int numbers[4] = {check_rank, 1, 2, 3}, back[6] = {0};
    reads = writes = 0;
    MUST(MPI_File_write_at_all(fh, 4 * check_rank, numbers, 4, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 4);
    CHECK_EQ(writes, 1);
    CHECK_EQ(file_size(file_path), 32 * check_size);
    CHECK_EQ(file_byte(file_path, 32 * check_rank), (~check_rank) & 255);
    MUST(MPI_File_read_at(fh, 4 * check_rank, back, 4, MPI_INT, &status));
    CHECK(memcmp(back, numbers, sizeof numbers) == 0);
    MUST(MPI_File_iread_at_all(fh, 4 * check_size - 2, back, 6, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 2);
    CHECK(back[0] == 2 && back[1] == 3 && back[2] == 2);
    MUST(MPI_File_iwrite_at(fh, 4 * check_rank, numbers, 1, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(reads, 2);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    file_name("datareps");
    external32();
    MUST(MPI_Register_datarep("turned", from_file, to_file, extent_of, &state));
    MUST(MPI_Register_datarep_c("turned largely", large_from_file, large_to_file, extent_of, &state));
    CHECK_ERROR(MPI_Register_datarep("turned", from_file, to_file, extent_of, &state), MPI_ERR_DUP_DATAREP,
                "MPI_Register_datarep");
    CHECK_ERROR(MPI_Register_datarep("native", from_file, to_file, extent_of, &state), MPI_ERR_DUP_DATAREP,
                "MPI_Register_datarep");
    own("turned");
    own("turned largely");
    MUST(MPI_Register_datarep("told", told, told, plain_extent, NULL));
    counted();
    MUST(MPI_Register_datarep("failing", fails, fails, extent_of, &state));
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "failing", MPI_INFO_NULL));
    int one = 1;
    CHECK_ERROR(MPI_File_write(fh, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION, "MPI_File_write");
    CHECK_ERROR(MPI_File_write_all(fh, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION,
                "MPI_File_write_all");
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL));
    MUST(MPI_File_write_all(fh, &one, 1, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_close(&fh));
    return check_finish();
}
