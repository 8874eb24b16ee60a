// A Fourier transform in two dimensions and back, rows divided: each dimension ends in a transposition, an all-to-all
// of all the data.
// usage: fft SECONDS
#include "apps.h"
#include <complex.h>

#define ROWS_MAX 512 // and columns: a power of two that the ranks divide

typedef double complex number;

struct plane {
    int ranks, rank, side, rows; // rows of this rank
    number *data, *packed, *root;
};

static void swap(number *a, number *b) {
    number was = *a;
    *a = *b;
    *b = was;
}

// A row in place (Cooley and Tukey), forward or back.
static void transform(const struct plane *p, number *row, int back) {
    int n = p->side;
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j)
            swap(&row[i], &row[j]);
    }
    for (int half = 1; half < n; half *= 2)
        for (int start = 0; start < n; start += 2 * half)
            for (int i = 0; i < half; i++) {
                number root = p->root[i * (n / half / 2)];
                number odd = row[start + half + i] * (back ? conj(root) : root);
                row[start + half + i] = row[start + i] - odd;
                row[start + i] += odd;
            }
}

static void transpose(struct plane *p) {
    int rows = p->rows;
    for (int r = 0; r < p->ranks; r++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                p->packed[(r * rows + j) * rows + i] = p->data[i * p->side + r * rows + j];
    // The data have been packed: what comes lands in their place, block by block.
    int block = rows * rows;
    MPI_Alltoall(p->packed, block, MPI_C_DOUBLE_COMPLEX, p->data, block, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
    memcpy(p->packed, p->data, sizeof(number) * (size_t)(rows * p->side));
    for (int r = 0; r < p->ranks; r++)
        for (int j = 0; j < rows; j++)
            memcpy(&p->data[j * p->side + r * rows], &p->packed[(r * rows + j) * rows], sizeof(number) * (size_t)rows);
}

static void both_dimensions(struct plane *p, int back) {
    for (int dimension = 0; dimension < 2; dimension++) {
        for (int i = 0; i < p->rows; i++)
            transform(p, p->data + i * p->side, back);
        transpose(p);
    }
    double scale = back ? 1.0 / p->side / p->side : 1;
    for (int i = 0; i < p->rows * p->side; i++)
        p->data[i] *= scale;
}

static void steps(void *arg, long count) {
    for (long i = 0; i < count; i++) {
        both_dimensions(arg, 0);
        both_dimensions(arg, 1);
    }
}

static number first(const struct plane *p, int i) {
    return (double)(hashed((uint64_t)p->rank * (uint64_t)(p->rows * p->side) + (uint64_t)i) % 1000) / 1000;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct plane p = {.ranks = world_size(), .side = ROWS_MAX};
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    p.rows = p.side / p.ranks;
    demand(p.rows * p.ranks == p.side, "fft (the ranks have to be a power of two)");
    size_t bytes = sizeof(number) * (size_t)(p.rows * p.side);
    p.data = need(bytes), p.packed = need(bytes), p.root = need(sizeof(number) * (size_t)p.side);
    for (int i = 0; i < p.side; i++)
        p.root[i] = cexp(-2 * acos(-1) * I * i / p.side);
    for (int i = 0; i < p.rows * p.side; i++)
        p.data[i] = first(&p, i);
    measure_steps("app_fft", steps, &p, budget_of(argc, argv));
    double worst = 0;
    for (int i = 0; i < p.rows * p.side; i++)
        worst = fmax(worst, cabs(p.data[i] - first(&p, i)));
    demand(worst < 1e-9, "fft");
    MPI_Finalize();
    return 0;
}
