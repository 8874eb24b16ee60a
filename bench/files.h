// What the benchmarks of files share: the file of a job, and how much of it is moved.
#ifndef TERN_BENCH_FILES_H
#define TERN_BENCH_FILES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // for posix_fadvise
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOTAL_BYTES (64L << 20) // of all ranks together
#define LARGE_PIECE_BYTES (1L << 20)

// Says what is wrong and ends the process.
static inline void die(const char *what) {
    fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static inline int opened(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        die(path);
    return fd;
}

static inline void write_whole(int fd, const char *from, size_t bytes, off_t offset) {
    while (bytes > 0) {
        ssize_t moved = pwrite(fd, from, bytes, offset);
        if (moved <= 0)
            die("pwrite");
        from += moved, bytes -= (size_t)moved, offset += moved;
    }
}

static inline void read_whole(int fd, char *to, size_t bytes, off_t offset) {
    while (bytes > 0) {
        ssize_t moved = pread(fd, to, bytes, offset);
        if (moved <= 0)
            die("pread");
        to += moved, bytes -= (size_t)moved, offset += moved;
    }
}

// What was written goes to the disk and leaves memory, so that the next reader waits for the disk.
static inline void forget_cached(int fd) {
    if (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        die("posix_fadvise");
}

// Metrics of the page cache and of a disk are kept apart by their names.
static inline const char *metric(const char *medium, const char *what) {
    static char name[96];
    snprintf(name, sizeof name, "%s_%s", medium, what);
    return name;
}

#endif
