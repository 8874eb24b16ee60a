// What the library itself keeps in memory per rank after an all-to-all of all ranks, from the kernel's
// /proc/self/smaps: its mapped files, its shared segments (both proportional to the ranks that share
// them) and what the heap and other anonymous memory grew by since before MPI_Init. The buffers of the
// program are allocated and touched before, so that they do not count.
// usage: memory
#include "mpi_team.h"
#include <string.h>

#define BLOCK_BYTES_MAX (16 << 10)
#define RANKS_MAX 64

enum kind { PROGRAM, SYSTEM, LIBRARY, SEGMENT, PRIVATE, KINDS };

struct usage {
    double bytes[KINDS]; // proportional set size
};

static char out[RANKS_MAX * BLOCK_BYTES_MAX], in[RANKS_MAX * BLOCK_BYTES_MAX];

static int is_shared_memory(const char *path) {
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/SYSV", 5) == 0 ||
           strstr(path, "(deleted)") != NULL || strncmp(path, "/tmp/ompi", 9) == 0;
}

static int is_system(const char *path) {
    static const char *names[] = {"/ld-linux", "/libc.so", "/libm.so", "/libpthread", "/libdl.so",
                                  "/librt.so", "/locale"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(path, names[i]) != NULL)
            return 1;
    return 0;
}

static enum kind kind_of(const char *path, const char *program) {
    if (path[0] == '[' && (strncmp(path, "[v", 2) == 0 || strncmp(path, "[uprobes", 8) == 0))
        return SYSTEM;
    if (path[0] != '/')
        return PRIVATE; // heap, stack, anonymous
    if (is_shared_memory(path))
        return SEGMENT;
    if (strcmp(path, program) == 0)
        return PROGRAM;
    return is_system(path) ? SYSTEM : LIBRARY;
}

static struct usage read_usage(const char *program) {
    struct usage usage = {{0}};
    char line[4096];
    enum kind kind = PRIVATE;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    if (smaps == NULL) {
        perror("/proc/self/smaps");
        exit(1);
    }
    while (fgets(line, sizeof line, smaps)) {
        unsigned long low, high;
        long kib;
        int path_at = 0;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &low, &high, &path_at) == 2 && path_at > 0) {
            line[strcspn(line, "\n")] = 0;
            kind = kind_of(line + path_at, program);
        } else if (sscanf(line, "Pss: %ld kB", &kib) == 1) {
            usage.bytes[kind] += 1024.0 * (double)kib;
        }
    }
    fclose(smaps);
    return usage;
}

static void exchange(int bytes) {
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void report(int rank, const char *name, double bytes) {
    double most, sum;
    MPI_Reduce(&bytes, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&bytes, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double mean = sum / world_size();
    if (rank == 0)
        print_result(name, world_size(), (struct summary){most, mean});
}

int main(int argc, char **argv) {
    static char program[4096];
    if (realpath("/proc/self/exe", program) == NULL)
        return 1;
    memset(out, 1, sizeof out);
    memset(in, 1, sizeof in);
    read_usage(program); // stdio's own buffers come before the first count
    struct usage before = read_usage(program);
    MPI_Init(&argc, &argv);
    int rank = mpi_team().rank;
    exchange(8);
    exchange(1 << 10);
    exchange(BLOCK_BYTES_MAX);
    MPI_Barrier(MPI_COMM_WORLD); // everyone still holds everything while all read
    struct usage after = read_usage(program);
    MPI_Barrier(MPI_COMM_WORLD);

    double growth = after.bytes[PRIVATE] - before.bytes[PRIVATE];
    report(rank, "memory_total", growth + after.bytes[LIBRARY] + after.bytes[SEGMENT]);
    report(rank, "memory_heap", growth);
    report(rank, "memory_segment", after.bytes[SEGMENT]);
    report(rank, "memory_library", after.bytes[LIBRARY]);
    MPI_Finalize();
    return 0;
}
