// Spots and stripes of a reaction that spreads (Gray and Scott), kept in a file from run to run.
//
// usage: mpirun -n 4 spots CHECKPOINT [PICTURE.png [STEPS [WIDTH HEIGHT]]]
//
// A first run makes the checkpoint. A later one goes on from it, on any number of ranks, and draws the picture.
//
// What it shows of MPI: the plane is cut into blocks by MPI_Cart_create. A file view with MPI_Type_create_subarray lets
// every rank write its block with one MPI_File_write_all, and read another block with MPI_File_read_all. The file has
// no trace of how many ranks wrote it. The memory has a halo around the block, so it has a subarray of its own.
#include "png.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD 4 // numbers before the plane: width, height, steps so far, one to spare
#define CHANNELS 2

struct cell {
    double u, v;
};

struct plane {
    MPI_Comm ranks;
    int whole[2], part[2], first[2]; // rows and columns
    struct cell *now, *next;         // with a halo of one cell
    MPI_Datatype element, in_file, in_memory, row, column;
};

static int at(const struct plane *p, int row, int column) {
    return row * (p->part[1] + 2) + column;
}

static void check(int code, const char *what) {
    char words[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, words, &length);
    fprintf(stderr, "%s: %s\n", what, words);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void cut(struct plane *p) {
    int size, rank, dims[2] = {0, 0}, periods[2] = {1, 1}, place[2];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &p->ranks);
    MPI_Comm_rank(p->ranks, &rank);
    MPI_Cart_coords(p->ranks, rank, 2, place);
    for (int d = 0; d < 2; d++) {
        p->first[d] = (int)((long)p->whole[d] * place[d] / dims[d]);
        p->part[d] = (int)((long)p->whole[d] * (place[d] + 1) / dims[d]) - p->first[d];
    }
    int halo[2] = {p->part[0] + 2, p->part[1] + 2}, inside[2] = {1, 1};
    MPI_Type_contiguous(CHANNELS, MPI_DOUBLE, &p->element);
    MPI_Type_create_subarray(2, p->whole, p->part, p->first, MPI_ORDER_C, p->element, &p->in_file);
    MPI_Type_create_subarray(2, halo, p->part, inside, MPI_ORDER_C, p->element, &p->in_memory);
    MPI_Type_contiguous(p->part[1] + 2, p->element, &p->row);
    MPI_Type_vector(p->part[0] + 2, 1, p->part[1] + 2, p->element, &p->column);
    MPI_Datatype *all[] = {&p->element, &p->in_file, &p->in_memory, &p->row, &p->column};
    for (int i = 0; i < 5; i++) MPI_Type_commit(all[i]);
    p->now = calloc((size_t)halo[0] * halo[1], sizeof *p->now);
    p->next = calloc((size_t)halo[0] * halo[1], sizeof *p->next);
}

// The edges wrap around. Columns go first and rows take the corners along.
static void exchange(struct plane *p) {
    int before, after;
    struct cell *now = p->now;
    MPI_Cart_shift(p->ranks, 1, 1, &before, &after);
    MPI_Sendrecv(now + at(p, 0, 1), 1, p->column, before, 0, now + at(p, 0, p->part[1] + 1), 1, p->column, after, 0,
                 p->ranks, MPI_STATUS_IGNORE);
    MPI_Sendrecv(now + at(p, 0, p->part[1]), 1, p->column, after, 1, now + at(p, 0, 0), 1, p->column, before, 1,
                 p->ranks, MPI_STATUS_IGNORE);
    MPI_Cart_shift(p->ranks, 0, 1, &before, &after);
    MPI_Sendrecv(now + at(p, 1, 0), 1, p->row, before, 2, now + at(p, p->part[0] + 1, 0), 1, p->row, after, 2,
                 p->ranks, MPI_STATUS_IGNORE);
    MPI_Sendrecv(now + at(p, p->part[0], 0), 1, p->row, after, 3, now + at(p, 0, 0), 1, p->row, before, 3, p->ranks,
                 MPI_STATUS_IGNORE);
}

static double spread(double here, double north, double south, double west, double east) {
    return north + south + west + east - 4 * here;
}

static void step(struct plane *p) {
    exchange(p);
    for (int row = 1; row <= p->part[0]; row++) {
        for (int column = 1; column <= p->part[1]; column++) {
            const struct cell *c = &p->now[at(p, row, column)], *n = c - p->part[1] - 2, *s = c + p->part[1] + 2;
            double reaction = c->u * c->v * c->v;
            struct cell *out = &p->next[at(p, row, column)];
            out->u = c->u + 0.16 * spread(c->u, n->u, s->u, c[-1].u, c[1].u) - reaction + 0.035 * (1 - c->u);
            out->v = c->v + 0.08 * spread(c->v, n->v, s->v, c[-1].v, c[1].v) + reaction - (0.035 + 0.062) * c->v;
        }
    }
    struct cell *old = p->now;
    p->now = p->next;
    p->next = old;
}

// A few squares in which the reaction begins, wherever the ranks' blocks are.
static void seed(struct plane *p) {
    for (int row = 1; row <= p->part[0]; row++) {
        for (int column = 1; column <= p->part[1]; column++) {
            int y = p->first[0] + row - 1, x = p->first[1] + column - 1;
            int inside = x % 80 < 20 && y % 60 < 20 && (x / 80 + y / 60 * 3) % 4 == 0;
            p->now[at(p, row, column)] = inside ? (struct cell){0.5, 0.25} : (struct cell){1, 0};
        }
    }
}

static void view(struct plane *p, MPI_File file) {
    check(MPI_File_set_view(file, HEAD * sizeof(long long), p->element, p->in_file, "native", MPI_INFO_NULL), "view");
}

static void save(struct plane *p, const char *path, long long steps) {
    MPI_File file;
    int rank;
    long long head[HEAD] = {p->whole[1], p->whole[0], steps, 0};
    MPI_Comm_rank(p->ranks, &rank);
    check(MPI_File_open(p->ranks, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), path);
    if (rank == 0) check(MPI_File_write_at(file, 0, head, HEAD, MPI_LONG_LONG, MPI_STATUS_IGNORE), path);
    view(p, file);
    check(MPI_File_write_all(file, p->now, 1, p->in_memory, MPI_STATUS_IGNORE), path);
    check(MPI_File_sync(file), path);
    MPI_File_close(&file);
}

// Steps so far; -1 if there is no checkpoint.
static long long load(struct plane *p, const char *path) {
    MPI_File file;
    long long head[HEAD];
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS) return -1;
    check(MPI_File_read_at_all(file, 0, head, HEAD, MPI_LONG_LONG, MPI_STATUS_IGNORE), path);
    p->whole[1] = (int)head[0], p->whole[0] = (int)head[1];
    cut(p);
    view(p, file);
    check(MPI_File_read_all(file, p->now, 1, p->in_memory, MPI_STATUS_IGNORE), path);
    MPI_File_close(&file);
    return head[2];
}

static void color(uint8_t *pixel, const struct cell *c) {
    double light = c->v * 3 > 1 ? 1 : c->v * 3;
    pixel[0] = (uint8_t)(18 + 230 * light), pixel[1] = (uint8_t)(26 + 150 * light * light);
    pixel[2] = (uint8_t)(60 + 80 * (1 - light));
}

// One process reads the whole plane, row by row.
static void draw(const char *path, const char *picture) {
    MPI_File file;
    long long head[HEAD];
    check(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), path);
    check(MPI_File_read(file, head, HEAD, MPI_LONG_LONG, MPI_STATUS_IGNORE), path);
    int width = (int)head[0], height = (int)head[1];
    struct cell *line = malloc(width * sizeof *line);
    uint8_t *rows = calloc((size_t)height * (1 + 3 * width), 1);
    for (int row = 0; row < height; row++) {
        check(MPI_File_read(file, line, CHANNELS * width, MPI_DOUBLE, MPI_STATUS_IGNORE), path);
        for (int x = 0; x < width; x++) color(rows + (size_t)row * (1 + 3 * width) + 1 + 3 * x, &line[x]);
    }
    MPI_File_close(&file);
    if (png_write(picture, rows, width, height) != 0) fprintf(stderr, "%s cannot be written\n", picture);
    free(line);
    free(rows);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, steps = argc > 3 ? atoi(argv[3]) : 2500;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct plane plane = {.whole = {argc > 5 ? atoi(argv[5]) : 240, argc > 4 ? atoi(argv[4]) : 320}};
    if (argc < 2) {
        if (rank == 0) fprintf(stderr, "usage: spots CHECKPOINT [PICTURE.png [STEPS [WIDTH HEIGHT]]]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long long before = load(&plane, argv[1]);
    if (before < 0) {
        cut(&plane);
        seed(&plane);
        before = 0;
    }
    for (int i = 0; i < steps; i++) step(&plane);
    double mine = 0, sum;
    for (int row = 1; row <= plane.part[0]; row++)
        for (int column = 1; column <= plane.part[1]; column++) mine += plane.now[at(&plane, row, column)].v;
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    save(&plane, argv[1], before + steps);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("spots: %d x %d cells, steps %lld to %lld on %d ranks, mean of v %.9f\n", plane.whole[1], plane.whole[0],
               before, before + steps, size, sum / plane.whole[0] / plane.whole[1]);
        if (argc > 2) draw(argv[1], argv[2]);
    }
    MPI_Finalize();
    return 0;
}
