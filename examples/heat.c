// Heat spreads through a cold plate from four glowing letters: the five-point Jacobi iteration on a
// 2-D grid, shared out over a 2-D grid of ranks.
//
// usage: mpirun -n 4 heat [PICTURE.png [ITERATIONS [WIDTH HEIGHT]]]
//
// What it shows of MPI: a column halo as MPI_Type_vector, non-blocking exchange with MPI_PROC_NULL at
// the plate's edges, MPI_Allreduce for the residual, and a gather of blocks that land in place in the
// whole picture by MPI_Type_create_subarray.
#include "png.h"
#include <math.h>
#include <mpi.h>

#define REPORT_EVERY 500
#define ISOTHERMS 8 // lines in the picture
#define TAG_HALO 1
#define TAG_GATHER 2

// The letters T E R N as 5 by 7 dots; one string is one row of dots.
#define LETTER_ROWS 7
#define LETTER_COLUMNS 23
static const char *letters[LETTER_ROWS] = {
    "##### ##### ####  #   #", //
    "  #   #     #   # ##  #", //
    "  #   #     #   # # # #", //
    "  #   ####  ####  #  ##", //
    "  #   #     # #   #   #", //
    "  #   #     #  #  #   #", //
    "  #   ##### #   # #   #",
};

// A rank's part of the plate: rows and columns of its own, with one row and column of halo around them.
struct plate {
    int width, height;         // of the whole plate
    int columns, rows;         // of this part
    int first_column, first_row;
    int up, down, left, right; // neighbors
    MPI_Datatype column;       // one column of the part, strided in memory
    double *now, *next;        // (rows + 2) * (columns + 2)
    unsigned char *fixed;      // 1 where the temperature is held
};

// A process grid as square as possible.
static void choose_grid(int size, int *across, int *down) {
    *down = 1;
    for (int d = 1; d * d <= size; d++)
        if (size % d == 0)
            *down = d;
    *across = size / *down;
}

// Where part `index` of `parts` begins when `length` cells are shared out evenly.
static int share(int length, int parts, int index) {
    return (int)((long)length * index / parts);
}

static int neighbor(int across, int down, int x, int y) {
    return x < 0 || y < 0 || x >= across || y >= down ? MPI_PROC_NULL : y * across + x;
}

static size_t cell(const struct plate *p, int row, int column) {
    return (size_t)row * (size_t)(p->columns + 2) + (size_t)column;
}

// Is this cell of the whole plate part of a letter?
static int is_hot(const struct plate *p, int row, int column) {
    double dot = p->width / (LETTER_COLUMNS + 9.0);
    double top = (p->height - LETTER_ROWS * dot) / 2, left = (p->width - LETTER_COLUMNS * dot) / 2;
    int r = (int)floor((row - top) / dot), c = (int)floor((column - left) / dot);
    return r >= 0 && r < LETTER_ROWS && c >= 0 && c < LETTER_COLUMNS && letters[r][c] == '#';
}

static void *zeroed(size_t count, size_t bytes) {
    void *memory = calloc(count, bytes);
    if (memory == NULL) {
        fprintf(stderr, "heat: out of memory for %zu bytes\n", count * bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static void heat_letters(struct plate *p) {
    for (int row = 1; row <= p->rows; row++)
        for (int column = 1; column <= p->columns; column++)
            if (is_hot(p, p->first_row + row - 1, p->first_column + column - 1)) {
                size_t at = cell(p, row, column);
                p->fixed[at] = 1;
                p->now[at] = p->next[at] = 1.0;
            }
}

// The part of the plate that belongs to `rank` of `size`.
static struct plate place(int rank, int size, int width, int height) {
    int across, down;
    choose_grid(size, &across, &down);
    int x = rank % across, y = rank / across;
    struct plate p = {.width = width, .height = height};
    p.first_column = share(width, across, x);
    p.columns = share(width, across, x + 1) - p.first_column;
    p.first_row = share(height, down, y);
    p.rows = share(height, down, y + 1) - p.first_row;
    p.up = neighbor(across, down, x, y - 1);
    p.down = neighbor(across, down, x, y + 1);
    p.left = neighbor(across, down, x - 1, y);
    p.right = neighbor(across, down, x + 1, y);
    return p;
}

static void fill(struct plate *p) {
    size_t cells = cell(p, p->rows + 2, 0);
    p->now = zeroed(cells, sizeof *p->now);
    p->next = zeroed(cells, sizeof *p->next);
    p->fixed = zeroed(cells, 1);
    heat_letters(p);
    MPI_Type_vector(p->rows, 1, p->columns + 2, MPI_DOUBLE, &p->column);
    MPI_Type_commit(&p->column);
}

static void exchange_halo(struct plate *p) {
    double *now = p->now;
    MPI_Request requests[8];
    int n = 0;
#define RECEIVE(row, col, count, type, from) \
    MPI_Irecv(&now[cell(p, row, col)], count, type, from, TAG_HALO, MPI_COMM_WORLD, &requests[n++])
#define SEND(row, col, count, type, to) \
    MPI_Isend(&now[cell(p, row, col)], count, type, to, TAG_HALO, MPI_COMM_WORLD, &requests[n++])
    RECEIVE(0, 1, p->columns, MPI_DOUBLE, p->up);
    RECEIVE(p->rows + 1, 1, p->columns, MPI_DOUBLE, p->down);
    RECEIVE(1, 0, 1, p->column, p->left);
    RECEIVE(1, p->columns + 1, 1, p->column, p->right);
    SEND(1, 1, p->columns, MPI_DOUBLE, p->up);
    SEND(p->rows, 1, p->columns, MPI_DOUBLE, p->down);
    SEND(1, 1, 1, p->column, p->left);
    SEND(1, p->columns, 1, p->column, p->right);
#undef RECEIVE
#undef SEND
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

// One row of the iteration; the compiler vectorises it.
static void relax_row(double *restrict out, const double *restrict above, const double *restrict here,
                      const double *restrict below, const unsigned char *restrict fixed, int columns) {
    for (int c = 1; c <= columns; c++) {
        double mean = 0.25 * (above[c] + below[c] + here[c - 1] + here[c + 1]);
        out[c] = fixed[c] ? here[c] : mean;
    }
}

static void relax(struct plate *p) {
    for (int row = 1; row <= p->rows; row++)
        relax_row(&p->next[cell(p, row, 0)], &p->now[cell(p, row - 1, 0)], &p->now[cell(p, row, 0)],
                  &p->now[cell(p, row + 1, 0)], &p->fixed[cell(p, row, 0)], p->columns);
    double *old = p->now;
    p->now = p->next;
    p->next = old;
}

// The largest change of the last step, on the whole plate.
static double residual(const struct plate *p) {
    double mine = 0, largest;
    for (int row = 1; row <= p->rows; row++)
        for (int column = 1; column <= p->columns; column++) {
            size_t at = cell(p, row, column);
            double change = fabs(p->now[at] - p->next[at]);
            mine = change > mine ? change : mine;
        }
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

static double mean_temperature(const struct plate *p) {
    double mine = 0, sum;
    for (int row = 1; row <= p->rows; row++)
        for (int column = 1; column <= p->columns; column++)
            mine += p->now[cell(p, row, column)];
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum / ((double)p->width * p->height);
}

static MPI_Datatype block_type(int rows, int columns, const struct plate *part, int row, int column) {
    MPI_Datatype type;
    MPI_Type_create_subarray(2, (int[]){rows, columns}, (int[]){part->rows, part->columns}, (int[]){row, column},
                             MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

// Rank 0's half: every block lands in its place in the whole plate.
static double *gather_blocks(const struct plate *p, int size, MPI_Request *requests) {
    double *whole = zeroed((size_t)p->width * (size_t)p->height, sizeof *whole);
    for (int rank = 0; rank < size; rank++) {
        struct plate part = place(rank, size, p->width, p->height);
        MPI_Datatype block = block_type(p->height, p->width, &part, part.first_row, part.first_column);
        MPI_Irecv(whole, 1, block, rank, TAG_GATHER, MPI_COMM_WORLD, &requests[rank]);
        MPI_Type_free(&block);
    }
    return whole;
}

// The whole plate on rank 0, NULL elsewhere.
static double *gather(const struct plate *p, int rank, int size) {
    MPI_Request *requests = zeroed((size_t)size, sizeof *requests);
    double *whole = rank == 0 ? gather_blocks(p, size, requests) : NULL;
    MPI_Datatype interior = block_type(p->rows + 2, p->columns + 2, p, 1, 1);
    MPI_Send(p->now, 1, interior, 0, TAG_GATHER, MPI_COMM_WORLD);
    MPI_Type_free(&interior);
    if (rank == 0)
        MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
    free(requests);
    return whole;
}

// Black through violet and orange to pale yellow, as hot things look.
static void color(double temperature, uint8_t *rgb) {
    static const double stops[][3] = {{4, 5, 18},    {42, 11, 84},   {101, 21, 110}, {159, 42, 99},
                                      {212, 72, 66}, {245, 125, 21}, {250, 193, 39}, {252, 255, 200}};
    int last = (int)(sizeof stops / sizeof *stops) - 1;
    double place = fmin(fmax(temperature, 0), 1) * last;
    int below = place >= last ? last - 1 : (int)place;
    double share = place - below;
    for (int i = 0; i < 3; i++)
        rgb[i] = (uint8_t)(stops[below][i] * (1 - share) + stops[below + 1][i] * share + 0.5);
}

// Does an isotherm pass between this cell and the next ones?
static int is_isotherm(const double *whole, int width, int height, int row, int column) {
    if (row + 1 == height || column + 1 == width)
        return 0;
    const double *here = &whole[(size_t)row * (size_t)width + (size_t)column];
    double band = floor(here[0] * ISOTHERMS);
    return band != floor(here[1] * ISOTHERMS) || band != floor(here[width] * ISOTHERMS);
}

static void draw_cell(const double *whole, int width, int height, int row, int column, uint8_t *rgb) {
    color(pow(whole[(size_t)row * (size_t)width + (size_t)column], 0.7), rgb);
    if (is_isotherm(whole, width, height, row, column))
        for (int i = 0; i < 3; i++)
            rgb[i] = (uint8_t)(rgb[i] * 0.72);
}

static int write_picture(const char *path, const double *whole, int width, int height) {
    size_t stride = 1 + 3 * (size_t)width;
    uint8_t *rows = zeroed((size_t)height, stride);
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width; column++)
            draw_cell(whole, width, height, row, column, &rows[(size_t)row * stride + 1 + 3 * (size_t)column]);
    int failed = png_write(path, rows, (uint32_t)width, (uint32_t)height);
    free(rows);
    return failed;
}

// Iterates; returns the seconds it took.
static double iterate(struct plate *p, int iterations, int rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 1; i <= iterations; i++) {
        exchange_halo(p);
        relax(p);
        if (i % REPORT_EVERY == 0 || i == iterations) {
            double change = residual(p);
            if (rank == 0)
                printf("  iteration %5d   residual %.3e\n", i, change);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

static void report(const struct plate *p, int iterations, double seconds, double mean) {
    double updates = (double)p->width * p->height * iterations;
    printf("  %d iterations in %.2f s: %.0f iterations/s, %.0f million cell updates/s; mean temperature %.9f\n",
           iterations, seconds, iterations / seconds, updates / seconds / 1e6, mean);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, failed = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *path = argc > 1 ? argv[1] : "heat.png";
    int iterations = argc > 2 ? atoi(argv[2]) : 3000;
    int width = argc > 4 ? atoi(argv[3]) : 960, height = argc > 4 ? atoi(argv[4]) : 480;

    struct plate plate = place(rank, size, width, height);
    fill(&plate);
    if (rank == 0)
        printf("heat: %d x %d cells on %d ranks\n", width, height, size);
    double seconds = iterate(&plate, iterations, rank);
    double mean = mean_temperature(&plate);
    double *whole = gather(&plate, rank, size);
    if (rank == 0) {
        report(&plate, iterations, seconds, mean);
        failed = write_picture(path, whole, width, height);
        printf(failed ? "heat: cannot write %s\n" : "  picture: %s\n", path);
    }
    free(whole);
    MPI_Type_free(&plate.column);
    free(plate.now);
    free(plate.next);
    free(plate.fixed);
    MPI_Finalize();
    return failed ? 1 : 0;
}
