// A sparse matrix times a vector, rows divided: who needs which elements is agreed on once, then each step gathers them
// by messages between neighbors, multiplies, and sums a norm. usage: spmv SECONDS
#include "apps.h"

#define ROWS 4096 // of a rank
#define BAND 24   // elements of a column near the diagonal
#define FAR 2     // elements of a column anywhere
#define PER_ROW (BAND + FAR)

struct matrix {
    int ranks, rank;
    int *column;            // PER_ROW of each row: an index into `x`, whose first ROWS elements are this rank's
    double *x, *y;
    int *send_count, *send_start, *send_index, *recv_count, *recv_start;
    double *packed;
    MPI_Request *requests;
};

// The column of element k of a row. For each k the columns are those of all rows in another order, so every column of
// the matrix sums up to 1, and the sum of a vector stays.
static int column_of(const struct matrix *m, long row, int k) {
    long all = (long)m->ranks * ROWS;
    if (k < BAND)
        return (int)((row + k - BAND / 2 + all) % all);
    return (int)((row + (long)(hashed((uint64_t)k) % (uint64_t)all)) % all);
}

static int by_number(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

// The columns of other ranks that this one needs, sorted, each once.
static int *wanted(const struct matrix *m, int *count) {
    int *list = need(sizeof(int) * ROWS * PER_ROW), all = 0;
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < PER_ROW; k++) {
            int column = column_of(m, (long)m->rank * ROWS + r, k);
            if (column / ROWS != m->rank)
                list[all++] = column;
        }
    qsort(list, (size_t)all, sizeof *list, by_number);
    *count = 0;
    for (int i = 0; i < all; i++)
        if (*count == 0 || list[*count - 1] != list[i])
            list[(*count)++] = list[i];
    return list;
}

static void plan(struct matrix *m) {
    int far, *list = wanted(m, &far);
    size_t ints = sizeof(int) * (size_t)m->ranks;
    m->send_count = need(ints), m->send_start = need(ints), m->recv_count = need(ints), m->recv_start = need(ints);
    for (int i = 0; i < far; i++)
        m->recv_count[list[i] / ROWS]++;
    starts(m->recv_count, m->recv_start, m->ranks);
    MPI_Alltoall(m->recv_count, 1, MPI_INT, m->send_count, 1, MPI_INT, MPI_COMM_WORLD);
    int sent = starts(m->send_count, m->send_start, m->ranks);
    m->send_index = need(sizeof(int) * (size_t)sent);
    MPI_Alltoallv(list, m->recv_count, m->recv_start, MPI_INT, m->send_index, m->send_count, m->send_start, MPI_INT,
                  MPI_COMM_WORLD);
    m->packed = need(sizeof(double) * (size_t)sent);
    m->x = need(sizeof(double) * (size_t)(ROWS + far));
    m->y = need(sizeof(double) * ROWS);
    m->column = need(sizeof(int) * ROWS * PER_ROW);
    m->requests = need(sizeof(MPI_Request) * 2 * (size_t)m->ranks);
    for (int i = 0; i < ROWS * PER_ROW; i++) {
        int column = column_of(m, (long)m->rank * ROWS + i / PER_ROW, i % PER_ROW);
        int *place = column / ROWS == m->rank ? NULL : bsearch(&column, list, (size_t)far, sizeof *list, by_number);
        m->column[i] = place == NULL ? column % ROWS : ROWS + (int)(place - list);
    }
    free(list);
}

static void gather(struct matrix *m) {
    int open = 0;
    for (int r = 0; r < m->ranks; r++)
        if (m->recv_count[r])
            MPI_Irecv(m->x + ROWS + m->recv_start[r], m->recv_count[r], MPI_DOUBLE, r, 1, MPI_COMM_WORLD,
                      &m->requests[open++]);
    for (int r = 0; r < m->ranks; r++) {
        int at = m->send_start[r];
        for (int i = 0; i < m->send_count[r]; i++)
            m->packed[at + i] = m->x[m->send_index[at + i] % ROWS];
        if (m->send_count[r])
            MPI_Isend(m->packed + at, m->send_count[r], MPI_DOUBLE, r, 1, MPI_COMM_WORLD, &m->requests[open++]);
    }
    MPI_Waitall(open, m->requests, MPI_STATUSES_IGNORE);
}

static void steps(void *arg, long count) {
    struct matrix *m = arg;
    for (long i = 0; i < count; i++) {
        gather(m);
        double square = 0;
        for (int r = 0; r < ROWS; r++) {
            double sum = 0;
            for (int k = 0; k < PER_ROW; k++)
                sum += m->x[m->column[r * PER_ROW + k]];
            m->y[r] = sum / PER_ROW;
            square += m->y[r] * m->y[r];
        }
        sum_of_all(square);
        memcpy(m->x, m->y, sizeof(double) * ROWS);
    }
}

static double total(void *arg) {
    const struct matrix *m = arg;
    double sum = 0;
    for (int r = 0; r < ROWS; r++)
        sum += m->x[r];
    return sum_of_all(sum);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct matrix m = {.ranks = world_size()};
    MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
    plan(&m);
    for (int r = 0; r < ROWS; r++)
        m.x[r] = (double)(hashed((uint64_t)m.rank * ROWS + (uint64_t)r) % 1000);
    measure_keeping("app_spmv", steps, &m, total, budget_of(argc, argv));
    MPI_Finalize();
    return 0;
}
