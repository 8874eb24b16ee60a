// Latency and bandwidth between two ranks, from 1 byte to 4 MiB: a table, and the curves as SVG.
// usage: mpirun -n 2 pingpong [CURVES.svg]
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (4L << 20)
#define POINTS_MAX 32
#define SECONDS_PER_SIZE 0.05
#define ROUNDS_MAX 200000L

struct point {
    double bytes;
    double seconds; // one way
};

// Half the time of a round trip.
static double one_way(int rank, char *buffer, int bytes, long rounds) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < rounds; i++) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) / (2.0 * (double)rounds);
}

// The best of three, with as many rounds as fit the time.
static double measure(int rank, char *buffer, int bytes) {
    double best = one_way(rank, buffer, bytes, 20);
    long rounds = (long)(SECONDS_PER_SIZE / 3 / (2 * best));
    rounds = rounds < 3 ? 3 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    MPI_Bcast(&rounds, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        best = fmin(best, one_way(rank, buffer, bytes, rounds));
    return best;
}

// A panel of the picture with logarithmic axes.
struct panel {
    double left, top, width, height;
    double x_low, x_high, y_low, y_high; // in data
};

static double along(double value, double low, double high) {
    return log(value / low) / log(high / low);
}

static double x_of(const struct panel *p, double value) {
    return p->left + p->width * along(value, p->x_low, p->x_high);
}

static double y_of(const struct panel *p, double value) {
    return p->top + p->height * (1 - along(value, p->y_low, p->y_high));
}

static void draw_text(FILE *f, double x, double y, const char *anchor, const char *style, const char *text) {
    fprintf(f, "<text x='%.1f' y='%.1f' text-anchor='%s' %s>%s</text>\n", x, y, anchor, style, text);
}

static void draw_grid(FILE *f, const struct panel *p) {
    static const struct {
        double bytes;
        const char *name;
    } sizes[] = {{1, "1 B"}, {64, "64 B"}, {4096, "4 KiB"}, {262144, "256 KiB"}, {4194304, "4 MiB"}};
    char number[32];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double x = x_of(p, sizes[i].bytes);
        fprintf(f, "<path d='M%.1f %.1fV%.1f' class='grid'/>\n", x, p->top, p->top + p->height);
        draw_text(f, x, p->top + p->height + 18, "middle", "", sizes[i].name);
    }
    for (double y = p->y_low; y <= p->y_high * 1.001; y *= 10) {
        fprintf(f, "<path d='M%.1f %.1fH%.1f' class='grid'/>\n", p->left, y_of(p, y), p->left + p->width);
        snprintf(number, sizeof number, "%g", y);
        draw_text(f, p->left - 8, y_of(p, y) + 4, "end", "", number);
    }
}

static void draw_curve(FILE *f, const struct panel *p, const double *x, const double *y, int count,
                       const char *stroke) {
    fprintf(f, "<path fill='none' stroke='%s' stroke-width='2.5' stroke-linejoin='round' d='", stroke);
    for (int i = 0; i < count; i++)
        fprintf(f, "%c%.1f %.1f", i == 0 ? 'M' : 'L', x_of(p, x[i]), y_of(p, y[i]));
    fprintf(f, "'/>\n");
    for (int i = 0; i < count; i++)
        fprintf(f, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'/>\n", x_of(p, x[i]), y_of(p, y[i]), stroke);
}

// Whole decades around the values.
static void set_decades(struct panel *p, const double *y, int count) {
    p->y_low = p->y_high = y[0];
    for (int i = 0; i < count; i++) {
        p->y_low = fmin(p->y_low, y[i]);
        p->y_high = fmax(p->y_high, y[i]);
    }
    p->y_low = pow(10, floor(log10(p->y_low)));
    p->y_high = pow(10, ceil(log10(p->y_high)));
}

static void draw_panel(FILE *f, double left, const char *title, const double *x, const double *y, int count,
                       const char *stroke) {
    struct panel p = {left, 60, 360, 280, 1, BYTES_MAX, 0, 0};
    set_decades(&p, y, count);
    draw_text(f, left, 36, "start", "class='title'", title);
    draw_grid(f, &p);
    draw_curve(f, &p, x, y, count, stroke);
}

static int write_curves(const char *path, const struct point *points, int count) {
    double bytes[POINTS_MAX], microseconds[POINTS_MAX], rate[POINTS_MAX];
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return -1;
    for (int i = 0; i < count; i++) {
        bytes[i] = points[i].bytes;
        microseconds[i] = points[i].seconds * 1e6;
        rate[i] = points[i].bytes / points[i].seconds / 1e6;
    }
    fputs("<svg xmlns='http://www.w3.org/2000/svg' width='920' height='390' viewBox='0 0 920 390'>\n"
          "<style>text{font:12px sans-serif;fill:#52606d}.title{font-size:16px;font-weight:bold;fill:#1f2933}"
          ".grid{stroke:#e4e7eb;fill:none}</style>\n<rect width='920' height='390' fill='white'/>\n",
          f);
    draw_panel(f, 70, "One-way time, µs", bytes, microseconds, count, "#d1495b");
    draw_panel(f, 520, "Bandwidth, MB/s", bytes, rate, count, "#2e6f95");
    fputs("</svg>\n", f);
    return fclose(f);
}

static int measure_all(int rank, struct point *points) {
    char *buffer = malloc(BYTES_MAX);
    int count = 0;
    memset(buffer, 1, BYTES_MAX);
    if (rank == 0)
        printf("pingpong:\n     bytes   one way (µs)   bandwidth (MB/s)\n");
    for (long bytes = 1; bytes <= BYTES_MAX; bytes *= 2) {
        double seconds = measure(rank, buffer, (int)bytes);
        points[count++] = (struct point){(double)bytes, seconds};
        if (rank == 0)
            printf("%10ld %14.3f %18.1f\n", bytes, seconds * 1e6, (double)bytes / seconds / 1e6);
    }
    free(buffer);
    return count;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, failed = 0;
    struct point points[POINTS_MAX];
    const char *path = argc > 1 ? argv[1] : "pingpong.svg";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "pingpong: needs exactly two ranks, here are %d: mpirun -n 2 pingpong\n", size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int count = measure_all(rank, points);
    if (rank == 0) {
        failed = write_curves(path, points, count);
        printf(failed ? "pingpong: cannot write %s\n" : "  curves: %s\n", path);
    }
    MPI_Finalize();
    return failed ? 1 : 0;
}
