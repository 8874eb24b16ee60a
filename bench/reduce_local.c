// A reduction of two operands of BYTES in one process: MPI_Reduce_local, or with RAW a plain loop, which is compiled
// with -O3 -march=native. The usual 64 MiB are in no cache: what counts is how fast memory is read and written.
// usage: reduce_local SECONDS_PER_POINT [BYTES]
#ifdef RAW
#include "measure.h"
#else
#include "mpi_team.h"
#endif

struct operands {
    double *in, *inout;
    int count;
};

static void combine(const struct operands *o) {
#ifdef RAW
    double *restrict inout = o->inout;
    const double *restrict in = o->in;
    for (int i = 0; i < o->count; i++)
        inout[i] = in[i] + inout[i];
    __asm__ volatile("" : : "r"(inout) : "memory");
#else
    MPI_Reduce_local(o->in, o->inout, o->count, MPI_DOUBLE, MPI_SUM);
#endif
}

static void loop(void *arg, long iterations) {
    for (long i = 0; i < iterations; i++)
        combine(arg);
}

#ifdef RAW
static void agree_with_nobody(long *number) { (void)number; }
#endif

int main(int argc, char **argv) {
#ifndef RAW
    MPI_Init(&argc, &argv);
#endif
    const size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 64UL << 20;
    struct operands o = {(double *)touched(bytes, 0), (double *)touched(bytes, 0), (int)(bytes / sizeof(double))};
    struct team team = {0};
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
#ifdef RAW
    team.agree = agree_with_nobody;
    print_result("raw_reduce_local", (long)bytes, measure(&team, loop, &o, budget));
#else
    team = mpi_team();
    print_result("reduce_local", (long)bytes, measure(&team, loop, &o, budget));
    MPI_Finalize();
#endif
    return 0;
}
