// The Mandelbrot set, whose parts take very unequal times, shared out by work stealing on windows: nobody hands work
// out, and nobody waits for a message.
//
// usage: mpirun -n 4 mandelbrot [PICTURE.png [WIDTH HEIGHT]]
//
// What it shows of MPI: every rank begins with a share of the tiles and a counter of those that are begun. Whoever is
// done takes tiles from the others by MPI_Fetch_and_op on their counters. Pixels go into the picture at rank 0 by
// MPI_Put, with a datatype for the tile's place (MPI_Type_create_subarray). Each tile has a tint of its rank.
#include "png.h"
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE 32 // pixels along a side
#define DEPTH 2000
#define CHANNELS 3
#define FILTER 1 // byte before each row of a PNG; zero means none

struct view {
    int width, height;         // of the picture
    int columns, rows;         // of tiles
};

static int escape(double x, double y) {
    double re = 0, im = 0;
    for (int step = 0; step < DEPTH; step++) {
        double re2 = re * re, im2 = im * im;
        if (re2 + im2 > 4) return step;
        im = 2 * re * im + y;
        re = re2 - im2 + x;
    }
    return DEPTH;
}

// Tints of ranks, brighter the later a point escapes.
static void paint(uint8_t *pixel, int steps, int rank) {
    static const double tints[6][CHANNELS] = {
        {1, .55, .15}, {.25, .6, 1}, {.4, .9, .4}, {.95, .35, .5}, {.75, .5, 1}, {.95, .85, .3},
    };
    double light = steps == DEPTH ? 0 : 1 - 1 / (1 + steps / 12.0);
    for (int c = 0; c < CHANNELS; c++) pixel[c] = (uint8_t)(255 * light * tints[rank % 6][c]);
}

static int least(int a, int b) {
    return a < b ? a : b;
}

// Computes a tile and puts it into the picture at rank 0.
static void compute(const struct view *view, int tile, int rank, MPI_Win picture) {
    int left = tile % view->columns * TILE, top = tile / view->columns * TILE;
    int width = least(TILE, view->width - left), height = least(TILE, view->height - top);
    uint8_t pixels[TILE * TILE * CHANNELS];
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            double x = -2.2 + 3.2 * (left + column) / view->width;
            double y = -1.2 + 2.4 * (top + row) / view->height;
            paint(pixels + (row * width + column) * CHANNELS, escape(x, y), rank);
        }
    }
    int whole[2] = {view->height, FILTER + view->width * CHANNELS}, part[2] = {height, width * CHANNELS};
    int start[2] = {top, FILTER + left * CHANNELS};
    MPI_Datatype place;
    MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_BYTE, &place);
    MPI_Type_commit(&place);
    MPI_Put(pixels, part[0] * part[1], MPI_BYTE, 0, 0, 1, place, picture);
    MPI_Win_flush(0, picture); // before the pixels are used again
    MPI_Type_free(&place);
}

// The first tile of a rank's share.
static int first_of(int rank, int ranks, int tiles) {
    return (int)((long)tiles * rank / ranks);
}

// Begins one more tile of `victim`'s share, if some are left: the tile, or -1.
static int take(int victim, int ranks, int tiles, MPI_Win begun) {
    int one = 1, count, first = first_of(victim, ranks, tiles);
    MPI_Fetch_and_op(&one, &count, MPI_INT, victim, 0, MPI_SUM, begun);
    MPI_Win_flush(victim, begun);
    return first + count < first_of(victim + 1, ranks, tiles) ? first + count : -1;
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *path = argc > 1 ? argv[1] : "mandelbrot.png";
    struct view view = {argc > 3 ? atoi(argv[2]) : 960, argc > 3 ? atoi(argv[3]) : 720, 0, 0};
    if (view.width < 1 || view.height < 1) {
        if (rank == 0) fprintf(stderr, "usage: mandelbrot [PICTURE.png [WIDTH HEIGHT]]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    view.columns = (view.width + TILE - 1) / TILE, view.rows = (view.height + TILE - 1) / TILE;
    int tiles = view.columns * view.rows, own = 0, stolen = 0, *counter;
    MPI_Aint bytes = rank == 0 ? (MPI_Aint)view.height * (FILTER + view.width * CHANNELS) : 0;
    uint8_t *pixels;
    MPI_Win picture, begun;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &pixels, &picture);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &begun);
    *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD); // no counter is taken from before it is set

    double began = MPI_Wtime();
    MPI_Win_lock_all(MPI_MODE_NOCHECK, picture);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, begun);
    for (int step = 0; step < ranks; step++) {
        int victim = (rank + step) % ranks;
        for (int tile; (tile = take(victim, ranks, tiles, begun)) >= 0;) {
            compute(&view, tile, rank, picture);
            *(victim == rank ? &own : &stolen) += 1;
        }
    }
    MPI_Win_unlock_all(begun);
    MPI_Win_unlock_all(picture);
    double took = MPI_Wtime() - began;

    int mine[2] = {own, stolen}, *all = malloc(sizeof(int) * 2 * ranks);
    MPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        int sum = 0;
        for (int r = 0; r < ranks; r++) {
            printf("rank %d computed %d tiles of its own and %d of others\n", r, all[2 * r], all[2 * r + 1]);
            sum += all[2 * r] + all[2 * r + 1];
        }
        printf("%d of %d tiles in %.2f s\n", sum, tiles, took);
        if (sum != tiles) MPI_Abort(MPI_COMM_WORLD, 1);
        if (png_write(path, pixels, view.width, view.height) != 0) {
            fprintf(stderr, "mandelbrot: %s cannot be written: %s\n", path, strerror(errno));
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        printf("the picture is in %s\n", path);
    }
    free(all);
    MPI_Win_free(&begun);
    MPI_Win_free(&picture);
    MPI_Finalize();
    return 0;
}
