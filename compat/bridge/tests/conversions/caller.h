/* What the generated calls share: families of values in both ABIs, and comparisons that name what differs. */
#include <mpi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "record.h"

#define PAIRS_MAX 160

struct pair {
    long outer, inner;
};
struct family {
    struct pair pairs[PAIRS_MAX];
    int count;
};

static struct record *records;
static int differences, comparisons;
static const char *called;
static char places[PARAMETERS_MAX][256];

static void add(struct family *family, long outer, long inner)
{
    if (family->count == PAIRS_MAX)
        abort();
    family->pairs[family->count++] = (struct pair){outer, inner};
}

static struct pair pick(const struct family *family, int number)
{
    return family->pairs[number % family->count];
}

static void differs(const char *what, int round, long found, long expected)
{
    if (differences++ < 40)
        printf("%s, %s, round %d: %#lx instead of %#lx\n", called, what, round, found, expected);
}

#define EXPECT(what, found, expected) \
    do { \
        comparisons++; \
        if ((long)(found) != (long)(expected)) \
            differs(what, round, (long)(found), (long)(expected)); \
    } while (0)

/* Statuses: the public fields, and where each ABI keeps bytes and whether it was cancelled. */
#ifdef ABI_mpich
static long bytes_of(const MPI_Status *s)
{
    return (unsigned)s->count_lo | (long)(s->count_hi_and_cancelled >> 1) << 32;
}
static int cancelled_of(const MPI_Status *s) { return s->count_hi_and_cancelled & 1; }
static void fill(MPI_Status *s, long bytes, int cancelled)
{
    s->count_lo = (int)bytes;
    s->count_hi_and_cancelled = (int)(bytes >> 32) << 1 | cancelled;
}
#else
static long bytes_of(const MPI_Status *s) { return (long)s->bytes; }
static int cancelled_of(const MPI_Status *s) { return s->cancelled; }
static void fill(MPI_Status *s, long bytes, int cancelled)
{
    s->bytes = (size_t)bytes;
    s->cancelled = cancelled;
}
#endif

static long bytes_for(int number) { return number % 2 ? 0x123456789L + number : number; }

/* A status in both ABIs, by number. */
static void both_statuses(int number, struct pair source, struct pair tag, struct pair error, MPI_Status *outer,
    struct standard_status *inner)
{
    long bytes = bytes_for(number);
    memset(inner, 0, sizeof *inner);
    inner->source = (int)source.inner;
    inner->tag = (int)tag.inner;
    inner->error = (int)error.inner;
    inner->internal[0] = (int)bytes;
    inner->internal[1] = (int)(bytes >> 32);
    inner->internal[2] = number % 3 == 0;
    outer->MPI_SOURCE = (int)source.outer;
    outer->MPI_TAG = (int)tag.outer;
    outer->MPI_ERROR = (int)error.outer;
    fill(outer, bytes, number % 3 == 0);
}

static void expect_status(int round, const MPI_Status *found, const MPI_Status *expected)
{
    EXPECT("source of a status", found->MPI_SOURCE, expected->MPI_SOURCE);
    EXPECT("tag of a status", found->MPI_TAG, expected->MPI_TAG);
    EXPECT("error of a status", found->MPI_ERROR, expected->MPI_ERROR);
    EXPECT("bytes of a status", bytes_of(found), bytes_of(expected));
    EXPECT("cancellation of a status", cancelled_of(found), cancelled_of(expected));
}

static void expect_standard(int round, const struct standard_status *found, const struct standard_status *expected)
{
    EXPECT("source of a status that is read", found->source, expected->source);
    EXPECT("tag of a status that is read", found->tag, expected->tag);
    for (int k = 0; k < 3; k++)
        EXPECT("inside of a status that is read", found->internal[k], expected->internal[k]);
}
