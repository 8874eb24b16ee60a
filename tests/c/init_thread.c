/* Thread levels (MPI-5.0 section 11.6.2): what is asked for is granted, and the main thread knows itself.
 * ranks: 1 2
 */
#include <pthread.h>
#include "check.h"

static int other_is_main = -1;

static void *ask(void *unused)
{
    (void)unused;
    MPI_Is_thread_main(&other_is_main);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = -1, level = -1, flag = 0;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_identify();
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&level);
    CHECK_EQ(level, provided);
    MPI_Is_thread_main(&flag);
    CHECK(flag);
    pthread_create(&thread, NULL, ask, NULL);
    pthread_join(thread, NULL);
    CHECK_EQ(other_is_main, 0);
    return check_finish();
}
