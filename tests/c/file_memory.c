/* Memory that a collective access takes is bounded by the hint cb_buffer_size, however much is moved
 * (MPI-5.0 section 14.2.8).
 * ranks: 2 4
 * timeout: 120
 */
#include "file.h"

/* Data of a rank, in small blocks of ranks in turn; the collective buffer; what may come besides: messages. */
enum { BYTES = 24 << 20, BLOCK = 1000, BUFFER = 1 << 20, BESIDES = 12 << 20 };

/* The most memory that this process has had so far. */
static long most_bytes(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
    if (file) fclose(file);
    return kib * 1024;
}

static void bounded(const char *what, long before)
{
    long more = most_bytes() - before;
#ifdef __SANITIZE_ADDRESS__
    more = 0; /* The sanitizer keeps what was freed. */
#endif
    if (more > BUFFER + BESIDES) fprintf(stderr, "rank %d: %s took %ld KiB\n", check_rank, what, more >> 10);
    CHECK(more <= BUFFER + BESIDES);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    file_name("memory");
    char *data = malloc(BYTES), number[32];
    memset(data, check_rank + 1, BYTES);
    MPI_Info info;
    MPI_File fh;
    MPI_Datatype block, tile;
    MPI_Status status;
    MPI_Info_create(&info);
    snprintf(number, sizeof number, "%d", BUFFER);
    MPI_Info_set(info, "cb_buffer_size", number);
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * check_size, &tile);
    MPI_Type_commit(&tile);
    long before = most_bytes();
    CHECK(before > BYTES);
    int amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MUST(MPI_File_open(MPI_COMM_WORLD, file_path, amode, info, &fh));
    MUST(MPI_File_set_view(fh, BLOCK * check_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_at_all(fh, 0, data, BYTES, MPI_BYTE, &status));
    CHECK_EQ(file_count(&status, MPI_BYTE), BYTES);
    bounded("writing", before);
    memset(data, 0, BYTES);
    MUST(MPI_File_read_at_all(fh, 0, data, BYTES, MPI_BYTE, &status));
    CHECK_EQ(file_count(&status, MPI_BYTE), BYTES);
    bounded("reading", before);
    long wrong = 0;
    for (long at = 0; at < BYTES; at++) wrong += data[at] != check_rank + 1;
    CHECK_EQ(wrong, 0);
    MUST(MPI_File_close(&fh));
    MPI_Type_free(&tile);
    MPI_Type_free(&block);
    MPI_Info_free(&info);
    free(data);
    return check_finish();
}
