/* What every program of the conformance suite uses: checks that print where they failed, data that both
 * sides can compute, and the summary by which the harness knows that a program ran to its end. */
#ifndef TERN_CHECK_H
#define TERN_CHECK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More failures than this per rank are counted but not printed. */
#define CHECK_PRINTED_MAX 20

static int check_rank, check_size;
static long check_count, check_failures;

#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

/* Both integers are shown when they differ. */
#define CHECK_EQ(actual, expected) \
    check_equal((long long)(actual), (long long)(expected), #actual, #expected, __FILE__, __LINE__)

#define CHECK_STR(actual, expected) check_string((actual), (expected), #actual, __FILE__, __LINE__)

/* A call that must succeed (of interest where errors return). */
#define MUST(call) check_success((call), #call, __FILE__, __LINE__)

/* A call that must fail with this class and a message that names the call. */
#define CHECK_ERROR(call, class, name) check_error((call), (class), (name), #call, __FILE__, __LINE__)

static inline void check_report(const char *file, int line, const char *what)
{
    check_failures++;
    if (check_failures <= CHECK_PRINTED_MAX) {
        fprintf(stderr, "%s:%d: rank %d: %s\n", file, line, check_rank, what);
        fflush(stderr);
    }
}

static inline int check_that(int holds, const char *text, const char *file, int line)
{
    check_count++;
    if (!holds) check_report(file, line, text);
    return holds;
}

static inline int check_equal(long long actual, long long expected, const char *actual_text,
                              const char *expected_text, const char *file, int line)
{
    check_count++;
    if (actual == expected) return 1;
    char text[512];
    snprintf(text, sizeof text, "%s is %lld, not %s = %lld", actual_text, actual, expected_text, expected);
    check_report(file, line, text);
    return 0;
}

static inline int check_string(const char *actual, const char *expected, const char *text, const char *file,
                               int line)
{
    check_count++;
    if (strcmp(actual, expected) == 0) return 1;
    char message[512];
    snprintf(message, sizeof message, "%s is \"%.150s\", not \"%.150s\"", text, actual, expected);
    check_report(file, line, message);
    return 0;
}

static inline int check_success(int code, const char *text, const char *file, int line)
{
    check_count++;
    if (code == MPI_SUCCESS) return 1;
    char words[MPI_MAX_ERROR_STRING] = "", message[MPI_MAX_ERROR_STRING + 256];
    int length;
    MPI_Error_string(code, words, &length);
    snprintf(message, sizeof message, "%s: %s", text, words);
    check_report(file, line, message);
    return 0;
}

static inline int check_error(int code, int class, const char *name, const char *text, const char *file,
                              int line)
{
    check_count++;
    char words[MPI_MAX_ERROR_STRING] = "", message[MPI_MAX_ERROR_STRING + 512];
    int actual = MPI_SUCCESS, length;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &actual);
        MPI_Error_string(code, words, &length);
    }
    if (actual == class && strstr(words, name)) return 1;
    char expected[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_string(class, expected, &length);
    snprintf(message, sizeof message, "%s: class %d, not %d (%s); message, which should name %s: %s", text,
             actual, class, expected, name, words);
    check_report(file, line, message);
    return 0;
}

/* Starts MPI and learns who this is. */
static inline void check_identify(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

static inline void check_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    check_identify();
}

/* Adds all ranks' counts and prints the summary at rank 0; the value is main's. */
static inline int check_summary(void)
{
    long mine[2] = {check_count, check_failures}, all[2] = {0, 0};
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (check_rank == 0 && all[1] == 0) printf("ok %ld checks\n", all[0]);
    if (check_rank == 0 && all[1] != 0) printf("%ld of %ld checks failed\n", all[1], all[0]);
    fflush(stdout);
    return all[1] != 0;
}

static inline int check_finish(void)
{
    int failed = check_summary();
    MPI_Finalize();
    return failed;
}

/* A byte that sender and receiver can both compute (splitmix64 of seed and position). */
static inline uint64_t check_word(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * 0x9E3779B97F4A7C15u + index * 0xD1B54A32D192ED03u + 0x632BE59BD9B4E019u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline unsigned char check_byte(uint64_t seed, uint64_t index)
{
    return (unsigned char)(check_word(seed, index / 8) >> (index % 8 * 8));
}

static inline void check_fill(void *buffer, size_t bytes, uint64_t seed)
{
    unsigned char *at = buffer;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = check_word(seed, i / 8);
        size_t left = bytes - i < 8 ? bytes - i : 8;
        for (size_t k = 0; k < left; k++) at[i + k] = (unsigned char)(word >> (k * 8));
    }
}

/* How many bytes at the start are as check_fill made them; all of them if the buffer is right. */
static inline size_t check_matching(const void *buffer, size_t bytes, uint64_t seed)
{
    const unsigned char *at = buffer;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = check_word(seed, i / 8);
        size_t left = bytes - i < 8 ? bytes - i : 8;
        for (size_t k = 0; k < left; k++)
            if (at[i + k] != (unsigned char)(word >> (k * 8))) return i + k;
    }
    return bytes;
}

#define CHECK_DATA(buffer, bytes, seed) \
    CHECK_EQ(check_matching((buffer), (size_t)(bytes), (uint64_t)(seed)), (bytes))

/* Whether all ranks run on one host, and can share memory. */
static inline int check_shares_memory(void)
{
    MPI_Comm near;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Comm_size(near, &size);
    MPI_Comm_free(&near);
    return size == check_size;
}

static inline void *check_alloc(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", check_rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return memory;
}

/* A pseudo-random number below `limit`; the same sequence on every rank for the same state. */
static inline uint64_t check_random(uint64_t *state, uint64_t limit)
{
    *state += 1;
    return check_word(0x7E57, *state) % limit;
}

/* Whether the library compares collective calls (TERN_CHECK=collectives): all ranks are told of what one does wrong. */
static inline int check_compares_collectives(void)
{
    const char *checks = getenv("TERN_CHECK");
    return checks && strstr(checks, "collectives");
}

static inline int check_status_count(const MPI_Status *status, MPI_Datatype type)
{
    int count = -1;
    MPI_Get_count(status, type, &count);
    return count;
}

/* Message sizes that lie on, below and above every power of two at which a protocol may change. */
static inline int check_sizes(size_t *sizes, int max, size_t largest)
{
    int n = 0;
    sizes[n++] = 0;
    sizes[n++] = 1;
    for (size_t size = 2; size <= largest && n + 3 <= max; size *= 2) {
        sizes[n++] = size - 1;
        sizes[n++] = size;
        sizes[n++] = size + 1;
    }
    return n;
}

#endif
