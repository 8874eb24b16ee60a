/* Accesses at offsets and at pointers, blocking and not, ordered and split (MPI-5.0 section 14.4).
 * ranks: 1 2 4
 * timeout: 90
 */
#include "file.h"

enum { INTS = 3000 };
static int out[INTS], in[INTS];

static void fill(int seed)
{
    for (int i = 0; i < INTS; i++) out[i] = seed * 100000 + i, in[i] = -1;
}

static void same(int count, int seed)
{
    int wrong = 0;
    for (int i = 0; i < count; i++) wrong += in[i] != seed * 100000 + i;
    CHECK_EQ(wrong, 0);
}

static void at_offsets(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_Request request;
    int other = (check_rank + 1) % check_size;
    MPI_Offset mine = (MPI_Offset)check_rank * sizeof out, next = (MPI_Offset)other * sizeof out;
    fill(check_rank);
    MUST(MPI_File_write_at(fh, mine, out, INTS, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    MUST(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_read_at(fh, next, in, INTS, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    same(INTS, other);
    MPI_Barrier(MPI_COMM_WORLD);

    fill(check_rank + 10);
    MUST(MPI_File_write_at_all(fh, mine, out, INTS, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    MUST(MPI_File_read_at_all(fh, next, in, INTS, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    same(INTS, other + 10);
    MPI_Barrier(MPI_COMM_WORLD);

    fill(check_rank + 20);
    MUST(MPI_File_iwrite_at(fh, mine, out, INTS, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_iread_at(fh, next, in, INTS, MPI_INT, &request));
    int flag = 0;
    while (!flag) MUST(MPI_Test(&request, &flag, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    same(INTS, other + 20);
    MPI_Barrier(MPI_COMM_WORLD);

    fill(check_rank + 30);
    MUST(MPI_File_iwrite_at_all(fh, mine, out, INTS, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    MUST(MPI_File_iread_at_all(fh, next, in, INTS, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    same(INTS, other + 30);
    MPI_Barrier(MPI_COMM_WORLD);

    fill(check_rank + 40);
    MUST(MPI_File_write_at_all_begin(fh, mine, out, INTS, MPI_INT));
    CHECK_ERROR(MPI_File_read_at_all_begin(fh, mine, in, 1, MPI_INT), MPI_ERR_OTHER, "MPI_File_read_at_all_begin");
    CHECK_ERROR(MPI_File_read_at_all_end(fh, in, &status), MPI_ERR_OTHER, "MPI_File_read_at_all_end");
    MUST(MPI_File_write_at_all_end(fh, out, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    CHECK_ERROR(MPI_File_write_at_all_end(fh, out, &status), MPI_ERR_OTHER, "MPI_File_write_at_all_end");
    MUST(MPI_File_read_at_all_begin(fh, next, in, INTS, MPI_INT));
    MUST(MPI_File_read_at_all_end(fh, in, &status));
    CHECK_EQ(file_count(&status, MPI_INT), INTS);
    same(INTS, other + 40);

    /* The file ends in the middle, and before. */
    MPI_Offset end = (MPI_Offset)check_size * sizeof out;
    MUST(MPI_File_read_at(fh, end - 40, in, 100, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 10);
    MUST(MPI_File_read_at(fh, end + 40, in, 100, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 0);
    MUST(MPI_File_read_at_all(fh, end - 40, in, 100, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 10);
    MUST(MPI_File_iread_at(fh, end - 40, in, 100, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 10);

    CHECK_ERROR(MPI_File_read_at(fh, -1, in, 1, MPI_INT, &status), MPI_ERR_ARG, "MPI_File_read_at");
    CHECK_ERROR(MPI_File_read_at(fh, 0, in, -1, MPI_INT, &status), MPI_ERR_COUNT, "MPI_File_read_at");
    CHECK_ERROR(MPI_File_read_at(fh, 0, in, 1, MPI_DATATYPE_NULL, &status), MPI_ERR_TYPE, "MPI_File_read_at");
    CHECK_ERROR(MPI_File_read_at(fh, 0, NULL, 1, MPI_INT, &status), MPI_ERR_BUFFER, "MPI_File_read_at");
    /* One rank is wrong: all are told. */
    CHECK_ERROR(MPI_File_write_at_all(fh, check_rank == check_size - 1 ? -5 : 0, out, 1, MPI_INT, &status),
                MPI_ERR_ARG,
                "MPI_File_write_at_all");
    MUST(MPI_File_close(&fh));
}

static void at_pointers(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Offset mine = (MPI_Offset)check_rank * sizeof out, at;
    MUST(MPI_File_seek(fh, mine, MPI_SEEK_SET));
    fill(check_rank + 1);
    MUST(MPI_File_write(fh, out, 1000, MPI_INT, &status));
    MUST(MPI_File_iwrite(fh, out + 1000, 500, MPI_INT, &requests[0]));
    MUST(MPI_File_iwrite(fh, out + 1500, 500, MPI_INT, &requests[1]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    MUST(MPI_File_write_all(fh, out + 2000, 500, MPI_INT, &status));
    MUST(MPI_File_write_all_begin(fh, out + 2500, 100, MPI_INT));
    MUST(MPI_File_write_all_end(fh, out + 2500, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 100);
    MUST(MPI_File_iwrite_all(fh, out + 2600, 400, MPI_INT, &requests[0]));
    MUST(MPI_Wait(&requests[0], &status));
    MUST(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, mine + (MPI_Offset)sizeof out);
    MUST(MPI_File_seek(fh, -(MPI_Offset)sizeof out, MPI_SEEK_CUR));
    MUST(MPI_File_read(fh, in, 1000, MPI_INT, &status));
    MUST(MPI_File_iread(fh, in + 1000, 500, MPI_INT, &requests[0]));
    MUST(MPI_File_iread(fh, in + 1500, 500, MPI_INT, &requests[1]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    MUST(MPI_File_read_all(fh, in + 2000, 500, MPI_INT, &status));
    MUST(MPI_File_read_all_begin(fh, in + 2500, 100, MPI_INT));
    MUST(MPI_File_read_all_end(fh, in + 2500, &status));
    MUST(MPI_File_iread_all(fh, in + 2600, 400, MPI_INT, &requests[0]));
    MUST(MPI_Wait(&requests[0], &status));
    same(INTS, check_rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_seek(fh, -4, MPI_SEEK_END));
    MUST(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, check_size * (MPI_Offset)sizeof out - 4);
    CHECK_ERROR(MPI_File_seek(fh, -4, MPI_SEEK_SET), MPI_ERR_ARG, "MPI_File_seek");
    MUST(MPI_File_close(&fh));
}

static void at_shared_pointer(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_Request request;
    MPI_Offset at;
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    /* Every rank writes records of its own; each comes to lie somewhere, and none on another. */
    for (int i = 0; i < 50; i++) {
        int record[2] = {check_rank, i};
        if (i % 2) {
            MUST(MPI_File_iwrite_shared(fh, record, 2, MPI_INT, &request));
            MUST(MPI_Wait(&request, &status));
        } else {
            MUST(MPI_File_write_shared(fh, record, 2, MPI_INT, &status));
        }
        CHECK_EQ(file_count(&status, MPI_INT), 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 100 * check_size);
    int *all = malloc(check_size * 100 * sizeof(int)), *seen = calloc(check_size * 50, sizeof(int)), wrong = 0;
    MUST(MPI_File_read_at_all(fh, 0, all, 100 * check_size, MPI_INT, &status));
    for (int i = 0; i < 50 * check_size; i++) seen[all[2 * i] * 50 + all[2 * i + 1]]++;
    for (int i = 0; i < 50 * check_size; i++) wrong += seen[i] != 1;
    CHECK_EQ(wrong, 0);

    MUST(MPI_File_seek_shared(fh, 7, MPI_SEEK_SET));
    MUST(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 7);
    MUST(MPI_File_seek_shared(fh, -7, MPI_SEEK_CUR));
    if (check_size > 1)
        CHECK_ERROR(MPI_File_seek_shared(fh, check_rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME, "MPI_File_seek_shared");
    /* In order, rank r writes r + 1 numbers. */
    for (int i = 0; i <= check_rank; i++) out[i] = 1000 * check_rank + i;
    MUST(MPI_File_write_ordered(fh, out, check_rank + 1, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), check_rank + 1);
    MUST(MPI_File_write_ordered_begin(fh, out, check_rank + 1, MPI_INT));
    MUST(MPI_File_write_ordered_end(fh, out, &status));
    int total = check_size * (check_size + 1) / 2;
    MUST(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 2 * total);
    MUST(MPI_File_read_at_all(fh, 0, all, 2 * total, MPI_INT, &status));
    int next = 0;
    wrong = 0;
    for (int twice = 0; twice < 2; twice++)
        for (int rank = 0; rank < check_size; rank++)
            for (int i = 0; i <= rank; i++) wrong += all[next++] != 1000 * rank + i;
    CHECK_EQ(wrong, 0);
    MUST(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    MUST(MPI_File_read_ordered(fh, in, check_rank + 1, MPI_INT, &status));
    for (int i = 0; i <= check_rank; i++) CHECK_EQ(in[i], 1000 * check_rank + i);
    MUST(MPI_File_read_ordered_begin(fh, in, check_rank + 1, MPI_INT));
    MUST(MPI_File_read_ordered_end(fh, in, &status));
    for (int i = 0; i <= check_rank; i++) CHECK_EQ(in[i], 1000 * check_rank + i);
    MUST(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    MUST(MPI_File_read_shared(fh, in, 1, MPI_INT, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 1);
    MUST(MPI_File_iread_shared(fh, in, 1, MPI_INT, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(file_count(&status, MPI_INT), 1);
    free(all);
    free(seen);
    MUST(MPI_File_close(&fh));
}

static void in_sequence(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    MPI_Offset at;
    int one = check_rank;
    CHECK_ERROR(MPI_File_write_at(fh, 0, &one, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION,
                "MPI_File_write_at");
    CHECK_ERROR(MPI_File_write(fh, &one, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write");
    CHECK_ERROR(MPI_File_get_position(fh, &at), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_get_position");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_DISP,
                "MPI_File_set_view");
    MUST(MPI_File_write_ordered(fh, &one, 1, MPI_INT, &status));
    MUST(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_ordered(fh, &one, 1, MPI_INT, &status));
    MUST(MPI_File_sync(fh));
    CHECK_EQ(file_size(file_path), 8 * check_size);
    for (int rank = 0; rank < check_size; rank++) CHECK_EQ(file_byte(file_path, 4 * (check_size + rank)), rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_close(&fh));
}

/* The last rank comes late, and has moved the pointer and the file's end before it calls. */
static void late_rank(void)
{
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    int is_late = check_rank == check_size - 1;
    MPI_Offset at = -1;
    for (int whence = 0; whence < 2; whence++) {
        if (is_late) {
            usleep(50000);
            MUST(MPI_File_write_shared(fh, out, 5, MPI_INT, MPI_STATUS_IGNORE));
        }
        MUST(MPI_File_seek_shared(fh, 0, whence ? MPI_SEEK_END : MPI_SEEK_CUR));
        MUST(MPI_File_get_position_shared(fh, &at));
        CHECK_EQ(at, 20 * (whence + 1));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK_ERROR(MPI_File_seek_shared(fh, -100, MPI_SEEK_CUR), MPI_ERR_ARG, "MPI_File_seek_shared");
    CHECK_ERROR(MPI_File_seek_shared(fh, 0, 77), MPI_ERR_ARG, "MPI_File_seek_shared");
    MPI_Offset largest = INT64_MAX;
    CHECK_ERROR(MPI_File_seek_shared(fh, largest, MPI_SEEK_CUR), MPI_ERR_ARG, "MPI_File_seek_shared");
    MUST(MPI_File_seek(fh, largest, MPI_SEEK_SET));
    CHECK_ERROR(MPI_File_seek(fh, 1, MPI_SEEK_CUR), MPI_ERR_ARG, "MPI_File_seek");
    MUST(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, largest);
    MUST(MPI_File_close(&fh));

    fh = file_open(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE);
    if (is_late) {
        usleep(50000);
        MUST(MPI_File_write_shared(fh, out, 5, MPI_INT, MPI_STATUS_IGNORE));
    }
    MUST(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Datatype etype, filetype;
    char name[MPI_MAX_DATAREP_STRING];
    MUST(MPI_File_get_view(fh, &at, &etype, &filetype, name));
    CHECK_EQ(at, 20);
    MUST(MPI_File_close(&fh));
}

/* In atomic mode, overlapping accesses that one process has under way are as if they came one after the other, too. */
static void overlapping(void)
{
    enum { WRITES = 3, BLOCKS = 2000, BLOCK = 8 };
    static char written[WRITES][BLOCKS * BLOCK], seen[BLOCKS * BLOCK];
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Datatype block, tile;
    MPI_Request requests[WRITES];
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, 2 * BLOCK, &tile);
    MPI_Type_commit(&tile);
    MUST(MPI_File_set_view(fh, 0, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    MUST(MPI_File_set_atomicity(fh, 1));
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < WRITES; i++) {
            memset(written[i], 'A' + WRITES * check_rank + i, sizeof written[i]);
            MUST(MPI_File_iwrite_at(fh, 0, written[i], sizeof written[i], MPI_BYTE, &requests[i]));
        }
        MUST(MPI_Waitall(WRITES, requests, MPI_STATUSES_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
        MUST(MPI_File_read_at(fh, 0, seen, sizeof seen, MPI_BYTE, MPI_STATUS_IGNORE));
        int changes = 0;
        for (unsigned i = 1; i < sizeof seen; i++) changes += seen[i] != seen[0];
        CHECK_EQ(changes, 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* What is under way may go on while the mode changes. */
    MUST(MPI_File_iwrite_at(fh, 0, written[0], sizeof written[0], MPI_BYTE, &requests[0]));
    MUST(MPI_File_write_at_all_begin(fh, 0, written[1], 0, MPI_BYTE));
    MUST(MPI_File_set_atomicity(fh, 0));
    MUST(MPI_File_write_at_all_end(fh, written[1], MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    MPI_Type_free(&block), MPI_Type_free(&tile);
    MUST(MPI_File_close(&fh));
}

/* An access behind the last offset is refused, and moves no pointer. */
static void beyond_offsets(void)
{
    char bytes[8] = {0};
    MPI_Offset at = 0, last = INT64_MAX - 4;
    MPI_File fh = file_open(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MUST(MPI_File_seek_shared(fh, last, MPI_SEEK_SET));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_ERROR(MPI_File_write_shared(fh, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG,
                "MPI_File_write_shared");
    CHECK_ERROR(MPI_File_read_ordered(fh, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG,
                "MPI_File_read_ordered");
    MUST(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, last);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    file_name("access");
    at_offsets();
    at_pointers();
    at_shared_pointer();
    beyond_offsets();
    late_rank();
    overlapping();
    in_sequence();
    CHECK_EQ(file_size(file_path), -1);
    return check_finish();
}
