/* A pool that starts workers, gives them work, and parts from them, again and again (MPI-5.0 section 11.10.4):
 * nothing is left of them.
 * ranks: 1 2
 * timeout: 300
 * instances: default
 * alone
 */
#include "check.h"
#include <dirent.h>
#include <unistd.h>

#ifndef TURNS
#define TURNS 60
#endif

#ifdef __SANITIZE_ADDRESS__
// AddressSanitizer keeps up to 256 MiB of freed memory aside, to notice its use.
#define GROWTH_MAX (260L << 20)
#else
#define GROWTH_MAX (4L << 20)
#endif

static int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

static long resident(void)
{
    long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
    if (file) fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm parent, inter;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        int work;
        MPI_Bcast(&work, 1, MPI_INT, 0, parent);
        work *= 2;
        MPI_Send(&work, 1, MPI_INT, 0, 0, parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    int turns = argc > 1 ? atoi(argv[1]) : TURNS, before = 0;
    long memory = 0;
    for (int turn = 0; turn < turns; turn++) {
        if (turn == 10) {
            before = descriptors();
            memory = resident();
        }
        MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
        int work = turn, answer = -1;
        MUST(MPI_Bcast(&work, 1, MPI_INT, check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
        if (check_rank == 0) {
            MUST(MPI_Recv(&answer, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
            CHECK_EQ(answer, 2 * turn);
        }
        MUST(MPI_Comm_disconnect(&inter));
    }
    CHECK_EQ(descriptors(), before);
    CHECK(resident() < memory + GROWTH_MAX);
    return check_finish();
}
