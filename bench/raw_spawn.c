// The least that starting a job costs: spawn COUNT processes that do nothing, and wait for all.
// usage: raw_spawn COUNT REPETITIONS
#define _GNU_SOURCE
#include "measure.h"
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#define REPETITIONS_MAX 1000

static void spawn_and_wait(int count) {
    char program[] = "/proc/self/exe", nothing[] = "nothing";
    char *arguments[] = {program, nothing, NULL}, *environment[] = {NULL};
    for (int i = 0; i < count; i++)
        if (posix_spawn(NULL, program, NULL, NULL, arguments, environment) != 0)
            exit(1);
    while (wait(NULL) > 0)
        ;
}

int main(int argc, char **argv) {
    static double samples[REPETITIONS_MAX];
    if (argc > 1 && strcmp(argv[1], "nothing") == 0)
        return 0;
    int count = argc > 1 ? atoi(argv[1]) : 2, repetitions = argc > 2 ? atoi(argv[2]) : 20;
    if (repetitions < 1 || repetitions > REPETITIONS_MAX)
        return 1;
    for (int i = 0; i < repetitions; i++) {
        double start = now();
        spawn_and_wait(count);
        samples[i] = now() - start;
    }
    print_result("raw_spawn", count, summarize(samples, repetitions));
    return 0;
}
