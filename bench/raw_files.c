// One process that moves the bytes of `files.c` in pieces of 1 MiB, without MPI.
// usage: raw_files SECONDS_PER_POINT FOLDER cache|disk
#include "files.h"
#include "measure.h"

struct work {
    int fd, is_disk;
    char *buffer;
};

static void write_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        for (long at = 0; at < TOTAL_BYTES; at += LARGE_PIECE_BYTES)
            write_whole(w->fd, w->buffer + at, LARGE_PIECE_BYTES, at);
        if (w->is_disk && fsync(w->fd) != 0)
            die("fsync");
    }
}

static void read_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        if (w->is_disk)
            forget_cached(w->fd);
        for (long at = 0; at < TOTAL_BYTES; at += LARGE_PIECE_BYTES)
            read_whole(w->fd, w->buffer + at, LARGE_PIECE_BYTES, at);
    }
}

static void keep(long *number) {
    (void)number;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: raw_files SECONDS_PER_POINT FOLDER cache|disk\n");
        return 2;
    }
    double budget = atof(argv[1]);
    char path[4096];
    snprintf(path, sizeof path, "%s/tern-bench-%ld", argv[2], (long)getpid());
    struct work w = {opened(path), strcmp(argv[3], "disk") == 0, touched_pages(TOTAL_BYTES, 1)};
    struct team team = {0, keep, NULL};
    print_result(metric(argv[3], "raw_write"), TOTAL_BYTES, measure(&team, write_loop, &w, budget));
    print_result(metric(argv[3], "raw_read"), TOTAL_BYTES, measure(&team, read_loop, &w, budget));
    close(w.fd);
    unlink(path);
    return 0;
}
