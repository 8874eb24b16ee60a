/* Views with gaps, random accesses against a picture of the file (MPI-5.0 sections 14.3 and 14.4).
 * ranks: 1 2 4 5
 * timeout: 120
 */
#include "file.h"

enum { PLACES = 20000 };

static unsigned char picture[PLACES], buffer[PLACES], read_back[2 * PLACES];

static uint64_t drawn, seed;

static int draw(int below)
{
    return (int)(check_word(seed, drawn++) % (uint64_t)below);
}

/* A file type that names every check_size-th block from this rank's on: no two ranks have a byte in common. */
static MPI_Datatype interleaved(int block, int blocks)
{
    MPI_Datatype vector, tile;
    MPI_Type_vector(blocks, block, block * check_size, MPI_BYTE, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint)block * blocks * check_size, &tile);
    MPI_Type_free(&vector);
    MPI_Type_commit(&tile);
    return tile;
}

static void compare(const char *what)
{
    FILE *file = fopen(file_path, "rb");
    size_t bytes = file ? fread(read_back, 1, PLACES, file) : 0;
    if (file) fclose(file);
    int wrong = 0;
    for (int i = 0; i < PLACES; i++) wrong += (i < (int)bytes ? read_back[i] : 0) != picture[i];
    if (wrong) fprintf(stderr, "%s, seed %llu: %d bytes differ\n", what, (unsigned long long)seed, wrong);
    CHECK_EQ(wrong, 0);
}

/* All ranks draw the same numbers, so each knows what all others write. */
static void random_accesses(MPI_File fh, int rounds)
{
    MPI_Status status;
    MPI_Request request;
    memset(picture, 0, sizeof picture);
    MUST(MPI_File_set_size(fh, 0));
    for (int round = 0; round < rounds; round++) {
        int block = 1 + draw(round % 3 == 0 ? 500 : 20), blocks = 1 + draw(4), disp = draw(50);
        int way = draw(8), etype_bytes = 1, gaps = draw(2);
        MPI_Datatype tile = interleaved(block, blocks);
        MUST(MPI_File_set_view(fh, disp + (MPI_Offset)check_rank * block, MPI_BYTE, tile, "native", MPI_INFO_NULL));
        int room = (PLACES - 100) / check_size - block * (blocks + 1);
        if (room < 1) room = 1;
        int offset = draw(room), longest = room - offset > 0 ? room - offset : 1;
        int mine = 0, my_word = 0;
        for (int rank = 0; rank < check_size; rank++) {
            int count = draw(10) ? 1 + draw(longest) : 0;
            int word = draw(1 << 20);
            if (rank == check_rank) mine = count, my_word = word;
            for (int i = 0; i < count; i++) {
                int stream = offset + i, number = stream / block, at = stream % block;
                picture[disp + (number * check_size + rank) * block + at] = check_byte(word, i);
            }
        }
        for (int i = 0; i < mine; i++) buffer[gaps && 2 * mine < PLACES ? 2 * i : i] = check_byte(my_word, i);
        MPI_Datatype memory = MPI_BYTE;
        int fits = 2 * mine < PLACES;
        if (gaps && fits) {
            MPI_Datatype pair;
            MPI_Type_create_resized(MPI_BYTE, 0, 2, &pair);
            MPI_Type_commit(&pair);
            memory = pair;
        } else {
            for (int i = 0; i < mine; i++) buffer[i] = check_byte(my_word, i);
        }
        memset(&status, 0, sizeof status);
        switch (way) {
        case 0: MUST(MPI_File_write_at(fh, offset, buffer, mine, memory, &status)); break;
        case 1:
            MUST(MPI_File_iwrite_at(fh, offset, buffer, mine, memory, &request));
            MUST(MPI_Wait(&request, &status));
            break;
        case 2:
            MUST(MPI_File_iwrite_at_all(fh, offset, buffer, mine, memory, &request));
            MUST(MPI_Wait(&request, &status));
            break;
        case 3:
            MUST(MPI_File_seek(fh, offset, MPI_SEEK_SET));
            MUST(MPI_File_write_all(fh, buffer, mine, memory, &status));
            break;
        default: MUST(MPI_File_write_at_all(fh, offset, buffer, mine, memory, &status));
        }
        CHECK_EQ(file_count(&status, memory), mine);
        MPI_Barrier(MPI_COMM_WORLD);
        if (check_rank == 0) compare("written");
        /* What another rank has written. */
        MPI_File_set_view(fh, disp + (MPI_Offset)((check_rank + 1) % check_size) * block, MPI_BYTE, tile, "native",
                          MPI_INFO_NULL);
        memset(read_back, 0xEE, sizeof read_back);
        int other = (check_rank + 1) % check_size, wrong = 0;
        switch (way) {
        case 0: MUST(MPI_File_read_at(fh, offset, read_back, longest, MPI_BYTE, &status)); break;
        case 1:
            MUST(MPI_File_iread_at(fh, offset, read_back, longest, MPI_BYTE, &request));
            MUST(MPI_Wait(&request, &status));
            break;
        case 2:
            MUST(MPI_File_iread_at_all(fh, offset, read_back, longest, MPI_BYTE, &request));
            MUST(MPI_Wait(&request, &status));
            break;
        default: MUST(MPI_File_read_at_all(fh, offset, read_back, longest, MPI_BYTE, &status));
        }
        int got = file_count(&status, MPI_BYTE);
        MPI_Offset size;
        MPI_File_get_size(fh, &size);
        int expected = 0;
        for (int i = 0; i < longest; i++) {
            int stream = offset + i, place = disp + (stream / block * check_size + other) * block + stream % block;
            if (place < size) {
                expected++;
                wrong += read_back[i] != picture[place];
            } else {
                wrong += read_back[i] != 0xEE;
            }
        }
        CHECK_EQ(got, expected);
        CHECK_EQ(wrong, 0);
        if (memory != MPI_BYTE) MPI_Type_free(&memory);
        MPI_Type_free(&tile);
        MPI_Barrier(MPI_COMM_WORLD);
        (void)etype_bytes;
    }
}

static void subarray(void)
{
    /* Columns of a matrix, one block of them for each rank, in C's order. */
    int sizes[2] = {40, 6 * check_size}, subsizes[2] = {40, 6}, starts[2] = {0, 6 * check_rank}, wrong = 0;
    MPI_Datatype part, etype, filetype;
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MUST(MPI_File_set_view(fh, 12, MPI_INT, part, "native", MPI_INFO_NULL));
    int block[240], *all = malloc(sizeof(int) * 240 * check_size);
    for (int i = 0; i < 240; i++) block[i] = i / 6 * 6 * check_size + 6 * check_rank + i % 6;
    MUST(MPI_File_write_all(fh, block, 240, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Offset disp, bytes, at;
    char datarep[MPI_MAX_DATAREP_STRING];
    MUST(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK_EQ(disp, 12);
    CHECK(etype == MPI_INT);
    CHECK_STR(datarep, "native");
    int size;
    MPI_Type_size(filetype, &size);
    CHECK_EQ(size, 960);
    MPI_Type_free(&filetype);
    MUST(MPI_File_get_byte_offset(fh, 6, &bytes));
    CHECK_EQ(bytes, 12 + 4 * (6 * check_size + 6 * check_rank));
    MUST(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 240);
    MUST(MPI_File_seek(fh, 0, MPI_SEEK_END));
    MUST(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 240);
    MUST(MPI_File_set_view(fh, 12, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at_all(fh, 0, all, 240 * check_size, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 240 * check_size; i++) wrong += all[i] != i;
    CHECK_EQ(wrong, 0);
    MUST(MPI_File_close(&fh));
    MPI_Type_free(&part);
    free(all);
}

/* Columns of a matrix, one after the other: file types that interleave. Each rank has four columns. */
static void columns(int rows, int together)
{
    enum { OWN = 4 };
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Datatype column, tile;
    int width = OWN * check_size, count = OWN * rows, wrong = 0;
    int *mine = malloc((size_t)count * sizeof *mine), *whole = malloc((size_t)rows * width * sizeof *whole);
    for (int i = 0; i < count; i++) mine[i] = i % rows * width + OWN * check_rank + i / rows;
    MPI_Type_vector(rows, 1, width, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &tile);
    MPI_Type_commit(&tile);
    MPI_Offset disp = (MPI_Offset)sizeof(int) * OWN * check_rank, end;
    MUST(MPI_File_set_view(fh, disp, MPI_INT, tile, "native", MPI_INFO_NULL));
    MUST(together ? MPI_File_write_all(fh, mine, count, MPI_INT, MPI_STATUS_IGNORE)
                  : MPI_File_write(fh, mine, count, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_seek(fh, 0, MPI_SEEK_END));
    MUST(MPI_File_get_position(fh, &end));
    /* The last column of a file type that begins in the file has its first element there. */
    CHECK_EQ(end, (MPI_Offset)(rows * width - OWN * check_rank - 1) * rows + 1);
    memset(mine, 0, (size_t)count * sizeof *mine);
    MUST(together ? MPI_File_read_at_all(fh, 0, mine, count, MPI_INT, MPI_STATUS_IGNORE)
                  : MPI_File_read_at(fh, 0, mine, count, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; i++) wrong += mine[i] != i % rows * width + OWN * check_rank + i / rows;
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at_all(fh, 0, whole, rows * width, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < rows * width; i++) wrong += whole[i] != i;
    CHECK_EQ(wrong, 0);
    MUST(MPI_File_close(&fh));
    MPI_Type_free(&column), MPI_Type_free(&tile);
    free(mine), free(whole);
}

/* A file that is only read may have bytes in its view more than once. */
static void bytes_twice(void)
{
    unsigned char bytes[64], got[64];
    int lengths[2] = {5, 2}, places[2] = {0, 1}, wrong = 0;
    for (int i = 0; i < 64; i++) bytes[i] = (unsigned char)(3 * i + 1);
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_WRONLY);
    if (check_rank == 0) MUST(MPI_File_write_at(fh, 0, bytes, 64, MPI_BYTE, MPI_STATUS_IGNORE));
    MUST(MPI_File_close(&fh));
    MPI_Datatype twice, tile;
    MPI_Type_indexed(2, lengths, places, MPI_BYTE, &twice);
    MPI_Type_create_resized(twice, 0, 4, &tile);
    MPI_Type_commit(&tile);
    fh = file_open(MPI_MODE_RDONLY);
    MUST(MPI_File_set_view(fh, check_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    for (int together = 0; together < 2; together++) {
        memset(got, 0, sizeof got);
        MPI_Status status;
        MUST(together ? MPI_File_read_at_all(fh, 2, got, 40, MPI_BYTE, &status)
                      : MPI_File_read_at(fh, 2, got, 40, MPI_BYTE, &status));
        CHECK_EQ(file_count(&status, MPI_BYTE), 40);
        for (int i = 0; i < 40; i++) {
            int in_tile = (i + 2) % 7;
            wrong += got[i] != bytes[check_rank + (i + 2) / 7 * 4 + (in_tile < 5 ? in_tile : in_tile - 4)];
        }
    }
    CHECK_EQ(wrong, 0);
    MUST(MPI_File_close(&fh));
    MPI_Type_free(&twice), MPI_Type_free(&tile);
}

static void wrong_views(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    int lengths[2] = {1, 1}, back[2] = {4, 0}, twice[2] = {0, 0}, before[2] = {-1, 3};
    MPI_Datatype backward, overlapping, negative, uncommitted;
    MPI_Type_indexed(2, lengths, back, MPI_INT, &backward);
    MPI_Type_indexed(2, lengths, twice, MPI_INT, &overlapping);
    MPI_Type_indexed(2, lengths, before, MPI_INT, &negative);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    MPI_Type_commit(&backward), MPI_Type_commit(&overlapping), MPI_Type_commit(&negative);
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, backward, "native", MPI_INFO_NULL), MPI_ERR_ARG,
                "MPI_File_set_view");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, overlapping, "native", MPI_INFO_NULL), MPI_ERR_ARG,
                "MPI_File_set_view");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, negative, "native", MPI_INFO_NULL), MPI_ERR_DISP,
                "MPI_File_set_view");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, uncommitted, "native", MPI_INFO_NULL), MPI_ERR_TYPE,
                "MPI_File_set_view");
    CHECK_ERROR(MPI_File_set_view(fh, -5, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_DISP,
                "MPI_File_set_view");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG,
                "MPI_File_set_view");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "foreign", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP,
                "MPI_File_set_view");
    CHECK_ERROR(MPI_File_set_view(fh, check_rank == 0 ? -5 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
                MPI_ERR_DISP,
                "MPI_File_set_view");
    if (check_size > 1)
        CHECK_ERROR(MPI_File_set_view(fh, 0, check_rank ? MPI_INT : MPI_BYTE, MPI_INT, "native", MPI_INFO_NULL),
                    MPI_ERR_NOT_SAME, "MPI_File_set_view");
    /* Of elementary types the extents must be the same, not the sizes. */
    MPI_Datatype small, pair, large;
    MPI_Type_create_resized(MPI_INT, 0, 16, &small);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 16, &large);
    MPI_Type_commit(&small), MPI_Type_commit(&large);
    MPI_Datatype mine = check_rank % 2 ? small : large, other = check_rank % 2 ? small : MPI_INT;
    MUST(MPI_File_set_view(fh, 0, mine, mine, "native", MPI_INFO_NULL));
    if (check_size > 1)
        CHECK_ERROR(MPI_File_set_view(fh, 0, other, other, "native", MPI_INFO_NULL), MPI_ERR_NOT_SAME,
                    "MPI_File_set_view");
    MPI_Type_free(&small), MPI_Type_free(&pair), MPI_Type_free(&large);
    /* A second file type would overlap the first: one access within it is right, and more is not. */
    MPI_Datatype four, tight;
    int numbers[5] = {1, 2, 3, 4, 5};
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_create_resized(four, 0, 4, &tight);
    MPI_Type_commit(&tight);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, tight, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_at(fh, 0, numbers, 4, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_File_write_at(fh, 0, numbers, 5, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPI_File_write_at");
    MPI_Type_free(&four), MPI_Type_free(&tight);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    char bytes[8] = {0};
    CHECK_ERROR(MPI_File_write_at(fh, 0, bytes, 3, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO, "MPI_File_write_at");
    MPI_Type_free(&backward), MPI_Type_free(&overlapping), MPI_Type_free(&negative), MPI_Type_free(&uncommitted);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    file_name("views");
    subarray();
    for (int together = 0; together < 2; together++) columns(3, together), columns(300, together);
    bytes_twice();
    wrong_views();
    const char *hints[][2] = {{"romio_cb_write", "automatic"}, {"romio_cb_write", "enable"}, {"romio_cb_write",
            "disable"},
                              {"romio_ds_write", "enable"}, {"cb_buffer_size", "8192"}, {"cb_nodes", "1"},
                              {"cb_block_size", "1111"}};
    for (unsigned i = 0; i < sizeof hints / sizeof *hints; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, hints[i][0], hints[i][1]);
        if (i == 1) MPI_Info_set(info, "romio_cb_read", "enable");
        if (i == 2) MPI_Info_set(info, "romio_cb_read", "disable");
        if (i == 4 || i == 6) MPI_Info_set(info, "romio_cb_write", "enable");
        if (i == 6) MPI_Info_set(info, "cb_buffer_size", "65536");
        MPI_File fh;
        MUST(MPI_File_open(MPI_COMM_WORLD, file_path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           info, &fh));
        seed = 1000 + i, drawn = 0;
        random_accesses(fh, 12);
        if (i == 0) {
            MUST(MPI_File_set_atomicity(fh, 1));
            seed = 2000;
            random_accesses(fh, 6);
        }
        MUST(MPI_File_close(&fh));
        MPI_Info_free(&info);
    }
    CHECK_EQ(file_size(file_path), -1);
    return check_finish();
}
