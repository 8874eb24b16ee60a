// A halo exchange in three dimensions: a stencil of 27 points on a periodic grid, each rank with 26 neighbors.
// Faces, edges and corners go by subarray types, all at once. usage: halo SECONDS
#include "apps.h"

#define CELLS 32 // of a rank, in each dimension
#define WIDTH (CELLS + 2)
#define NEIGHBORS 26

struct grid {
    MPI_Comm comm;
    int neighbor[NEIGHBORS];
    MPI_Datatype inner[NEIGHBORS], outer[NEIGHBORS];
    double (*now)[WIDTH][WIDTH], (*next)[WIDTH][WIDTH];
};

// The cells at one side, edge or corner: those that a neighbor needs, or those that come from it.
static MPI_Datatype part(const int to[3], int ghost) {
    int all[3] = {WIDTH, WIDTH, WIDTH}, count[3], start[3];
    for (int d = 0; d < 3; d++) {
        count[d] = to[d] == 0 ? CELLS : 1;
        start[d] = to[d] < 0 ? !ghost : to[d] > 0 ? CELLS + ghost : 1;
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(3, all, count, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void meet_neighbors(struct grid *g) {
    int dims[3] = {0, 0, 0}, round[3] = {1, 1, 1}, here[3], rank;
    MPI_Dims_create(world_size(), 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, round, 0, &g->comm);
    MPI_Comm_rank(g->comm, &rank);
    MPI_Cart_coords(g->comm, rank, 3, here);
    for (int n = 0, i = 0; i < 27; i++) {
        int to[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
        if (i == 13)
            continue; // this rank itself
        int there[3] = {here[0] + to[0], here[1] + to[1], here[2] + to[2]};
        MPI_Cart_rank(g->comm, there, &g->neighbor[n]);
        g->inner[n] = part(to, 0);
        g->outer[n++] = part(to, 1);
    }
}

// What goes to neighbor n comes from its opposite, 25 - n.
static void exchange(struct grid *g) {
    MPI_Request requests[2 * NEIGHBORS];
    for (int n = 0; n < NEIGHBORS; n++)
        MPI_Irecv(g->now, 1, g->outer[n], g->neighbor[n], NEIGHBORS - 1 - n, g->comm, &requests[n]);
    for (int n = 0; n < NEIGHBORS; n++)
        MPI_Isend(g->now, 1, g->inner[n], g->neighbor[n], n, g->comm, &requests[NEIGHBORS + n]);
    MPI_Waitall(2 * NEIGHBORS, requests, MPI_STATUSES_IGNORE);
}

static double around(double (*u)[WIDTH][WIDTH], int x, int y, int z) {
    double sum = 0;
    for (int i = x - 1; i <= x + 1; i++)
        for (int j = y - 1; j <= y + 1; j++)
            sum += u[i][j][z - 1] + u[i][j][z] + u[i][j][z + 1];
    return sum / 27;
}

static void relax(struct grid *g) {
    for (int x = 1; x <= CELLS; x++)
        for (int y = 1; y <= CELLS; y++)
            for (int z = 1; z <= CELLS; z++)
                g->next[x][y][z] = around(g->now, x, y, z);
    double (*was)[WIDTH][WIDTH] = g->now;
    g->now = g->next;
    g->next = was;
}

static void steps(void *arg, long count) {
    for (long i = 0; i < count; i++) {
        exchange(arg);
        relax(arg);
    }
}

static double total(void *arg) {
    const struct grid *g = arg;
    double sum = 0;
    for (int x = 1; x <= CELLS; x++)
        for (int y = 1; y <= CELLS; y++)
            for (int z = 1; z <= CELLS; z++)
                sum += g->now[x][y][z];
    return sum_of_all(sum);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct grid g;
    g.now = need(sizeof *g.now * WIDTH);
    g.next = need(sizeof *g.next * WIDTH);
    meet_neighbors(&g);
    int rank;
    MPI_Comm_rank(g.comm, &rank);
    for (int i = 0; i < CELLS * CELLS * CELLS; i++)
        g.now[1 + i / CELLS / CELLS][1 + i / CELLS % CELLS][1 + i % CELLS] =
            (double)(hashed((uint64_t)i + ((uint64_t)rank << 32)) % 1000);
    // Averages on a ring keep the sum.
    measure_keeping("app_halo", steps, &g, total, budget_of(argc, argv));
    MPI_Finalize();
    return 0;
}
