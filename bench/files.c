// Reading and writing a file together. All ranks move 64 MiB in all, whatever their number.
//
// usage: files SECONDS_PER_POINT FOLDER cache|disk CASE
//
// With "disk" every write ends with MPI_File_sync, and every read finds nothing of the file in memory.
//
// blocks:  blocks of 4 KiB of the ranks in turn, from a buffer without gaps and from one with gaps
// array:   a rank's part of an array of four dimensions, as a subarray, as a distributed array, and by the program's
//          own MPI_Alltoallv and pwrite
// own:     one rank's pieces of 4 KiB, 64 KiB and 1 MiB, beside plain pwrite and pread
// open:    MPI_File_open and MPI_File_close
// overlap: of the time that a non-blocking write takes by itself, the part that it adds to a computation of a fixed
//          amount beside it, which takes half as long again by itself
// shared:  4 KiB at the shared pointer
#include "files.h"
#include "mpi_team.h"

#define BLOCK_BYTES 4096
#define ROW_BYTES 512     // of a buffer with gaps, as of an array with a border
#define ROW_STRIDE 640
#define DIMS 4

static const int array_sizes[DIMS] = {64, 64, 32, 64}; // doubles: 64 MiB

struct work {
    int rank, size, is_disk, fd;
    const char *medium, *path;
    MPI_File file;
    char *buffer, *spare;
    // What an access has: so many of this type.
    int count;
    MPI_Datatype type;
    long bytes;
    long rounds; // of a computation
    // The rank's part of the array.
    int part[DIMS];
};

static void must(int error, const char *what) {
    if (error == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "bench: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void view(struct work *w, MPI_Offset start, MPI_Datatype etype, MPI_Datatype filetype) {
    must(MPI_File_set_view(w->file, start, etype, filetype, "native", MPI_INFO_NULL), "MPI_File_set_view");
}

// A disk is waited for.
static void end_write(struct work *w) {
    if (w->is_disk)
        must(MPI_File_sync(w->file), "MPI_File_sync");
}

// From a disk nothing is in memory.
static void begin_read(struct work *w) {
    if (!w->is_disk)
        return;
    if (w->rank == 0)
        forget_cached(w->fd);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_all_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        must(MPI_File_write_at_all(w->file, 0, w->buffer, w->count, w->type, MPI_STATUS_IGNORE),
             "MPI_File_write_at_all");
        end_write(w);
    }
}

static void read_all_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        begin_read(w);
        must(MPI_File_read_at_all(w->file, 0, w->buffer, w->count, w->type, MPI_STATUS_IGNORE),
             "MPI_File_read_at_all");
    }
}

static void point(const struct team *team, struct work *w, const char *what, loop_fn loop, long parameter,
                  double budget) {
    MPI_Barrier(MPI_COMM_WORLD);
    struct summary s = measure(team, loop, w, budget);
    if (w->rank == 0)
        print_result(metric(w->medium, what), parameter, s);
}

// A number that is only right if the ranks' bytes came to their places.
static void expect(struct work *w, off_t offset, char value, const char *what) {
    MPI_Barrier(MPI_COMM_WORLD);
    char found;
    if (w->rank == 0) {
        read_whole(w->fd, &found, 1, offset);
        if (found != value) {
            fprintf(stderr, "bench: after %s byte %ld is %d, not %d\n", what, (long)offset, found, value);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void measure_blocks(const struct team *team, struct work *w, double budget) {
    MPI_Datatype block, tile, rows, row;
    MPI_Type_contiguous(BLOCK_BYTES, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK_BYTES * w->size, &tile);
    MPI_Type_commit(&tile);
    view(w, (MPI_Offset)BLOCK_BYTES * w->rank, MPI_BYTE, tile);
    long own = TOTAL_BYTES / w->size;
    memset(w->buffer, w->rank + 1, (size_t)(own / ROW_BYTES * ROW_STRIDE));
    w->count = (int)own, w->type = MPI_BYTE;
    point(team, w, "blocks_write", write_all_loop, TOTAL_BYTES, budget);
    expect(w, TOTAL_BYTES - 1, (char)w->size, "blocks");
    point(team, w, "blocks_read", read_all_loop, TOTAL_BYTES, budget);
    MPI_Type_contiguous(ROW_BYTES, MPI_BYTE, &row);
    MPI_Type_create_resized(row, 0, ROW_STRIDE, &rows);
    MPI_Type_commit(&rows);
    w->count = (int)(own / ROW_BYTES), w->type = rows;
    point(team, w, "blocks_write_gaps", write_all_loop, TOTAL_BYTES, budget);
    expect(w, TOTAL_BYTES - 1, (char)w->size, "blocks with gaps");
    point(team, w, "blocks_read_gaps", read_all_loop, TOTAL_BYTES, budget);
    MPI_Type_free(&rows);
    MPI_Type_free(&row);
    MPI_Type_free(&tile);
    MPI_Type_free(&block);
}

// By hand: a rank has a slab of the array, which it writes at once. The first dimension is no rank's alone, so what
// goes to a rank lies together; what comes is put in order.
static void place_rows(struct work *w, char *slab, char *parts, const int *grid, int into_slab) {
    int slab_planes = array_sizes[0] / w->size;
    size_t row = (size_t)w->part[3] * sizeof(double);
    char *next = parts;
    for (int rank = 0; rank < w->size; rank++) {
        int at[DIMS] = {0, rank / (grid[3] * grid[2]) % grid[1], rank / grid[3] % grid[2], rank % grid[3]};
        for (int i = 0; i < slab_planes; i++)
            for (int j = 0; j < w->part[1]; j++)
                for (int k = 0; k < w->part[2]; k++) {
                    size_t line = ((size_t)i * array_sizes[1] + (size_t)(at[1] * w->part[1] + j)) * array_sizes[2] +
                                  (size_t)(at[2] * w->part[2] + k);
                    char *place = slab + (line * array_sizes[3] + (size_t)(at[3] * w->part[3])) * sizeof(double);
                    memcpy(into_slab ? place : next, into_slab ? next : place, row);
                    next += row;
                }
    }
}

struct by_hand {
    struct work *w;
    const int *grid;
    int *counts, *displs;
};

static void exchange(struct by_hand *h, char *from, char *to) {
    must(MPI_Alltoallv(from, h->counts, h->displs, MPI_DOUBLE, to, h->counts, h->displs, MPI_DOUBLE, MPI_COMM_WORLD),
         "MPI_Alltoallv");
}

static void hand_write_loop(void *arg, long iterations) {
    struct by_hand *h = arg;
    struct work *w = h->w;
    long slab = TOTAL_BYTES / w->size;
    char *parts = w->spare, *whole = w->spare + slab;
    for (long i = 0; i < iterations; i++) {
        exchange(h, w->buffer, parts);
        place_rows(w, whole, parts, h->grid, 1);
        write_whole(w->fd, whole, (size_t)slab, slab * w->rank);
        if (w->is_disk && fsync(w->fd) != 0)
            die("fsync");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void hand_read_loop(void *arg, long iterations) {
    struct by_hand *h = arg;
    struct work *w = h->w;
    long slab = TOTAL_BYTES / w->size;
    char *parts = w->spare, *whole = w->spare + slab;
    for (long i = 0; i < iterations; i++) {
        begin_read(w);
        read_whole(w->fd, whole, (size_t)slab, slab * w->rank);
        place_rows(w, whole, parts, h->grid, 0);
        exchange(h, parts, w->buffer);
    }
}

static void hand_point(const struct team *team, struct by_hand *h, const char *what, loop_fn loop, double budget) {
    MPI_Barrier(MPI_COMM_WORLD);
    struct summary s = measure(team, loop, h, budget);
    if (h->w->rank == 0)
        print_result(metric(h->w->medium, what), TOTAL_BYTES, s);
}

static void measure_array(const struct team *team, struct work *w, double budget) {
    // The last dimensions are divided, the first one is not: the hard case.
    int grid[DIMS] = {1, 0, 0, 0}, dims[3] = {0, 0, 0}, starts[DIMS], coordinate = w->rank;
    MPI_Dims_create(w->size, 3, dims);
    for (int i = 0; i < 3; i++)
        grid[DIMS - 1 - i] = dims[i];
    for (int i = DIMS - 1; i >= 0; i--) {
        w->part[i] = array_sizes[i] / grid[i];
        starts[i] = coordinate % grid[i] * w->part[i];
        coordinate /= grid[i];
    }
    MPI_Datatype subarray, darray;
    MPI_Type_create_subarray(DIMS, array_sizes, w->part, starts, MPI_ORDER_C, MPI_DOUBLE, &subarray);
    int blocks[DIMS] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
    int usual[DIMS] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG,
                       MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray(w->size, w->rank, DIMS, array_sizes, blocks, usual, grid, MPI_ORDER_C, MPI_DOUBLE, &darray);
    MPI_Type_commit(&subarray);
    MPI_Type_commit(&darray);
    long own = TOTAL_BYTES / w->size;
    w->count = (int)(own / (long)sizeof(double)), w->type = MPI_DOUBLE;
    struct by_hand h = {w, grid, (int *)touched((size_t)w->size * sizeof(int), 0),
                        (int *)touched((size_t)w->size * sizeof(int), 0)};
    for (int rank = 0; rank < w->size; rank++) {
        h.counts[rank] = w->count / w->size;
        h.displs[rank] = rank * h.counts[rank];
    }
    memset(w->buffer, w->rank + 1, (size_t)own);
    hand_point(team, &h, "array_hand_write", hand_write_loop, budget);
    expect(w, TOTAL_BYTES - 1, (char)w->size, "the exchange by hand");
    hand_point(team, &h, "array_hand_read", hand_read_loop, budget);
    if (w->buffer[0] != w->rank + 1 || w->buffer[own - 1] != w->rank + 1)
        die("the array came back otherwise");
    view(w, 0, MPI_DOUBLE, subarray);
    memset(w->buffer, w->size - w->rank, (size_t)own);
    point(team, w, "array_subarray_write", write_all_loop, TOTAL_BYTES, budget);
    expect(w, TOTAL_BYTES - 1, 1, "a subarray");
    point(team, w, "array_subarray_read", read_all_loop, TOTAL_BYTES, budget);
    view(w, 0, MPI_DOUBLE, darray);
    memset(w->buffer, w->rank + 1, (size_t)own);
    point(team, w, "array_darray_write", write_all_loop, TOTAL_BYTES, budget);
    expect(w, TOTAL_BYTES - 1, (char)w->size, "a distributed array");
    point(team, w, "array_darray_read", read_all_loop, TOTAL_BYTES, budget);
    MPI_Type_free(&subarray);
    MPI_Type_free(&darray);
    free(h.counts);
    free(h.displs);
}

static void own_write_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        MPI_Offset at = w->bytes * (i % 16);
        must(MPI_File_write_at(w->file, at, w->buffer + at, (int)w->bytes, MPI_BYTE, MPI_STATUS_IGNORE),
             "MPI_File_write_at");
    }
}

static void own_read_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        MPI_Offset at = w->bytes * (i % 16);
        must(MPI_File_read_at(w->file, at, w->buffer + at, (int)w->bytes, MPI_BYTE, MPI_STATUS_IGNORE),
             "MPI_File_read_at");
    }
}

static void plain_write_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        write_whole(w->fd, w->buffer + w->bytes * (i % 16), (size_t)w->bytes, w->bytes * (i % 16));
}

static void plain_read_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        read_whole(w->fd, w->buffer + w->bytes * (i % 16), (size_t)w->bytes, w->bytes * (i % 16));
}

static void measure_own(const struct team *team, struct work *w, double budget) {
    static const long sizes[] = {4096, 64 << 10, LARGE_PIECE_BYTES};
    view(w, 0, MPI_BYTE, MPI_BYTE);
    write_whole(w->fd, w->buffer, 16 * LARGE_PIECE_BYTES, 0);
    for (int i = 0; i < 3; i++) {
        w->bytes = sizes[i];
        point(team, w, "plain_write", plain_write_loop, w->bytes, budget);
        point(team, w, "own_write", own_write_loop, w->bytes, budget);
        point(team, w, "plain_read", plain_read_loop, w->bytes, budget);
        point(team, w, "own_read", own_read_loop, w->bytes, budget);
    }
}

static void open_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        MPI_File file;
        must(MPI_File_open(MPI_COMM_WORLD, w->path, MPI_MODE_RDWR, MPI_INFO_NULL, &file), "MPI_File_open");
        must(MPI_File_close(&file), "MPI_File_close");
    }
}

static void compute_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        compute_rounds(w->rounds);
}

static void overlap_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        MPI_Request request;
        must(MPI_File_iwrite_at(w->file, 0, w->buffer, (int)TOTAL_BYTES, MPI_BYTE, &request), "MPI_File_iwrite_at");
        compute_rounds(w->rounds);
        must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
        end_write(w);
    }
}

static void measure_overlap(const struct team *team, struct work *w, double budget) {
    view(w, 0, MPI_BYTE, MPI_BYTE);
    w->rounds = 0;
    point(team, w, "iwrite", overlap_loop, TOTAL_BYTES, budget);
    struct beside writing = {overlap_loop, compute_loop, overlap_loop, w, &w->rounds, 1.5};
    struct beside_times times = measure_beside(team, &writing, budget);
    if (w->rank == 0) {
        print_result(metric(w->medium, "iwrite_computed"), TOTAL_BYTES, times.computation);
        print_result(metric(w->medium, "iwrite_beside"), TOTAL_BYTES, times.both);
        print_result(metric(w->medium, "iwrite_added"), TOTAL_BYTES, times.added);
    }
}

static void shared_loop(void *arg, long iterations) {
    struct work *w = arg;
    must(MPI_File_seek_shared(w->file, 0, MPI_SEEK_SET), "MPI_File_seek_shared");
    for (long i = 0; i < iterations; i++)
        must(MPI_File_write_shared(w->file, w->buffer, BLOCK_BYTES, MPI_BYTE, MPI_STATUS_IGNORE),
             "MPI_File_write_shared");
}

static void measure_case(const struct team *team, struct work *w, const char *name, double budget) {
    if (strcmp(name, "blocks") == 0)
        measure_blocks(team, w, budget);
    else if (strcmp(name, "array") == 0)
        measure_array(team, w, budget);
    else if (strcmp(name, "own") == 0)
        measure_own(team, w, budget);
    else if (strcmp(name, "open") == 0)
        point(team, w, "open", open_loop, 0, budget);
    else if (strcmp(name, "overlap") == 0)
        measure_overlap(team, w, budget);
    else if (strcmp(name, "shared") == 0)
        point(team, w, "shared", shared_loop, BLOCK_BYTES, budget);
    else if (w->rank == 0)
        fprintf(stderr, "bench: no case is called %s\n", name);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    team.slowest = slowest_rank;
    if (argc != 5) {
        fprintf(stderr, "usage: files SECONDS_PER_POINT FOLDER cache|disk CASE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char path[4096] = {0};
    // A process that opens a file by itself has a file by itself.
    int is_own = strcmp(argv[4], "own") == 0;
    snprintf(path, sizeof path, "%s/tern-bench-%ld", argv[2], (long)getpid());
    if (!is_own)
        MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    struct work w = {.rank = team.rank, .size = world_size(), .medium = argv[3], .path = path};
    w.is_disk = strcmp(argv[3], "disk") == 0;
    w.fd = opened(path);
    long own = TOTAL_BYTES / w.size;
    w.buffer = touched((size_t)(own / ROW_BYTES * ROW_STRIDE), w.rank + 1);
    w.spare = strcmp(argv[4], "array") == 0 ? touched(2 * (size_t)own, 0) : NULL;
    MPI_Comm comm = is_own ? MPI_COMM_SELF : MPI_COMM_WORLD;
    must(MPI_File_open(comm, path, MPI_MODE_RDWR, MPI_INFO_NULL, &w.file), "MPI_File_open");
    measure_case(&team, &w, argv[4], budget_of(argc, argv));
    must(MPI_File_close(&w.file), "MPI_File_close");
    close(w.fd);
    if (is_own || w.rank == 0)
        unlink(path);
    free(w.buffer);
    free(w.spare);
    MPI_Finalize();
    return 0;
}
