/* Calls of the system that fail, move too little or are interrupted, in whole jobs and from a seed: an error of the
 * right class at every rank that shares the call, nothing outside the request, and all data where no rank was told of
 * an error (MPI-5.0 section 14.7). TERN_TEST_SEEDS=N tries N seeds, TERN_TEST_SEED=S begins with S.
 * ranks: 1 2 4
 * timeout: 120
 */
#include "inject.h"
#include "file.h"

enum { SEEDS = 60, BYTES_MAX = 20000, CALLS = 7 };

static const struct {
    int number, class;
} errors[] = {{EIO, MPI_ERR_IO},           {ESTALE, MPI_ERR_IO},     {EDQUOT, MPI_ERR_QUOTA},
              {ENOSPC, MPI_ERR_NO_SPACE},  {EROFS, MPI_ERR_READ_ONLY}, {EACCES, MPI_ERR_ACCESS}};

static char out[BYTES_MAX], in[BYTES_MAX];
static unsigned long seed_now;
static long faults_seen;

/* What all ranks know of a case: they draw it from the same seed. */
struct wish {
    int block, bytes, call, error, old_size;
    MPI_Offset disp;
};

static int below(unsigned long *state, int bound)
{
    return (int)(inject_random(state) % (unsigned)bound);
}

static char byte_of(int rank, long number)
{
    return (char)(number * 7 + rank * 31 + (long)seed_now + 1);
}

static char old_byte(long offset)
{
    return (char)(offset * 13 + (long)seed_now);
}

static struct wish draw(unsigned long *state)
{
    struct wish w = {.block = 1 + below(state, below(state, 2) ? 40 : 3000)};
    w.bytes = below(state, BYTES_MAX);
    w.call = below(state, CALLS);
    w.error = below(state, (int)(sizeof errors / sizeof errors[0]));
    w.old_size = below(state, 2) ? 0 : below(state, BYTES_MAX);
    w.disp = below(state, 500);
    return w;
}

/* The place of a byte of a rank's stream, and back: the rank, or -1 for what nobody has. */
static long place(const struct wish *w, int rank, long number)
{
    return w->disp + (number / w->block * check_size + rank) * w->block + number % w->block;
}

static int owner(const struct wish *w, long offset, long *number)
{
    if (offset < w->disp) return -1;
    long block = (offset - w->disp) / w->block;
    *number = block / check_size * w->block + (offset - w->disp) % w->block;
    return *number < w->bytes ? (int)(block % check_size) : -1;
}

/* Rank 0 makes the file as it is before. */
static void make_old(const struct wish *w)
{
    if (check_rank == 0) {
        FILE *file = fopen(file_path, "wb");
        for (long at = 0; at < w->old_size; at++) fputc(old_byte(at), file);
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_File open_wish(const struct wish *w, int amode)
{
    MPI_Datatype block, tile;
    MPI_File fh = file_open(amode);
    MPI_Type_contiguous(w->block, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)w->block * check_size, &tile);
    MPI_Type_commit(&tile);
    MUST(MPI_File_set_view(fh, w->disp + (MPI_Offset)w->block * check_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    MPI_Type_free(&block);
    MPI_Type_free(&tile);
    return fh;
}

/* The call of the case. Whether all ranks share it. */
static int write_wish(MPI_File fh, const struct wish *w, int *error, MPI_Status *status)
{
    MPI_Request request;
    switch (w->call) {
    case 0: *error = MPI_File_write_at(fh, 0, out, w->bytes, MPI_BYTE, status); return 0;
    case 1: *error = MPI_File_write_all(fh, out, w->bytes, MPI_BYTE, status); return 1;
    case 2:
        *error = MPI_File_iwrite_at(fh, 0, out, w->bytes, MPI_BYTE, &request);
        *error = *error ? *error : MPI_Wait(&request, status);
        return 0;
    case 3:
        *error = MPI_File_iwrite_all(fh, out, w->bytes, MPI_BYTE, &request);
        *error = *error ? *error : MPI_Wait(&request, status);
        return 1;
    case 4:
        *error = MPI_File_write_all_begin(fh, out, w->bytes, MPI_BYTE);
        *error = *error ? *error : MPI_File_write_all_end(fh, out, status);
        return 1;
    default: *error = MPI_File_write_at_all(fh, 0, out, w->bytes, MPI_BYTE, status); return 1;
    }
}

static int read_wish(MPI_File fh, const struct wish *w, int *error, MPI_Status *status)
{
    MPI_Request request;
    switch (w->call) {
    case 0: *error = MPI_File_read_at(fh, 0, in, w->bytes, MPI_BYTE, status); return 0;
    case 1: *error = MPI_File_read_all(fh, in, w->bytes, MPI_BYTE, status); return 1;
    case 2:
        *error = MPI_File_iread_at(fh, 0, in, w->bytes, MPI_BYTE, &request);
        *error = *error ? *error : MPI_Wait(&request, status);
        return 0;
    case 3:
        *error = MPI_File_iread_at_all(fh, 0, in, w->bytes, MPI_BYTE, &request);
        *error = *error ? *error : MPI_Wait(&request, status);
        return 1;
    case 4:
        *error = MPI_File_read_all_begin(fh, in, w->bytes, MPI_BYTE);
        *error = *error ? *error : MPI_File_read_all_end(fh, in, status);
        return 1;
    default: *error = MPI_File_read_at_all(fh, 0, in, w->bytes, MPI_BYTE, status); return 1;
    }
}

static void start_faults(const struct wish *w, unsigned long *own)
{
    inject.random = inject_random(own);
    inject.error = errors[w->error].number;
    inject.one_of = below(own, 2) ? 0 : 1 + below(own, 8);
    inject.is_short = below(own, 2);
    inject_into(file_path);
}

/* Errors have the class of the fault that came, and are those of all ranks where they share the call. Without an error
 * all data must be there, which is looked at elsewhere: a fault may have been overcome. Whether anybody was told. */
static int judge_errors(const struct wish *w, int error, int shared)
{
    int class = MPI_SUCCESS, faults = inject.failures, most[2], mine[2];
    inject.file = 0;
    faults_seen += faults;
    if (error) MPI_Error_class(error, &class);
    mine[0] = class, mine[1] = faults;
    MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    int any = shared ? most[1] : faults;
    int is_right = class == MPI_SUCCESS ? !shared || most[0] == MPI_SUCCESS : any && class == errors[w->error].class;
    if (!is_right)
        fprintf(stderr, "seed %lu, rank %d, call %d: class %d, of all %d; %d faults of class %d\n", seed_now,
                check_rank, w->call, class, most[0], any, errors[w->error].class);
    CHECK(is_right);
    return most[0] != MPI_SUCCESS;
}

/* Rank 0 looks at every byte of the file. */
static void judge_file(const struct wish *w, int failed)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        FILE *file = fopen(file_path, "rb");
        long wrong = 0, at = 0;
        for (int byte; (byte = fgetc(file)) != EOF; at++) {
            long number = 0;
            int rank = owner(w, at, &number);
            char old = at < w->old_size ? old_byte(at) : 0;
            int is_new = rank >= 0 && (char)byte == byte_of(rank, number);
            int is_old = (char)byte == old;
            wrong += rank < 0 ? !is_old : failed ? !is_new && !is_old : !is_new;
        }
        long end = w->bytes ? place(w, check_size - 1, w->bytes - 1) + 1 : 0;
        fclose(file);
        if (!failed && at < end) wrong++;
        if (wrong) fprintf(stderr, "seed %lu, call %d: %ld bytes are wrong\n", seed_now, w->call, wrong);
        CHECK_EQ(wrong, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_write(unsigned long *all, unsigned long *own)
{
    struct wish w = draw(all);
    MPI_Status status;
    int error;
    make_old(&w);
    MPI_File fh = open_wish(&w, MPI_MODE_CREATE | MPI_MODE_RDWR);
    for (long i = 0; i < w.bytes; i++) out[i] = byte_of(check_rank, i);
    start_faults(&w, own);
    int shared = write_wish(fh, &w, &error, &status);
    int failed = judge_errors(&w, error, shared);
    if (!error) CHECK_EQ(file_count(&status, MPI_BYTE), w.bytes);
    judge_file(&w, failed);
    inject_nothing();
    MUST(MPI_File_close(&fh));
}

static void one_read(unsigned long *all, unsigned long *own)
{
    struct wish w = draw(all);
    MPI_Status status;
    int error;
    make_old(&w);
    MPI_File fh = open_wish(&w, MPI_MODE_RDONLY);
    memset(in, 0x55, sizeof in);
    start_faults(&w, own);
    int shared = read_wish(fh, &w, &error, &status);
    judge_errors(&w, error, shared);
    long there = 0, wrong = 0, count = error ? 0 : file_count(&status, MPI_BYTE);
    while (there < w.bytes && place(&w, check_rank, there) < w.old_size) there++;
    if (!error) CHECK_EQ(count, there);
    for (long i = 0; i < count; i++) wrong += in[i] != old_byte(place(&w, check_rank, i));
    if (wrong)
        fprintf(stderr, "seed %lu, rank %d, call %d: %ld bytes are wrong\n", seed_now, check_rank, w.call, wrong);
    CHECK_EQ(wrong, 0);
    inject_nothing();
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    /* A ring of io_uring's would go round the faults. */
    setenv("TERN_IO_BACKEND", "threads", 1);
    check_init(&argc, &argv);
    file_name("injected");
    const char *seeds = getenv("TERN_TEST_SEEDS"), *first = getenv("TERN_TEST_SEED");
    unsigned long from = first ? strtoul(first, NULL, 10) : 0, count = seeds ? strtoul(seeds, NULL, 10) : SEEDS;
    for (seed_now = from; seed_now < from + count && check_failures == 0; seed_now++) {
        unsigned long all = seed_now, own = seed_now * 1000 + (unsigned)check_rank;
        one_write(&all, &own);
        one_read(&all, &own);
    }
    if (count >= SEEDS) CHECK(faults_seen > 0);
    file_remove();
    return check_finish();
}
