/* Gives hints for a file that change nothing, and some that do: hints PATH. What is said of them is for the harness. */
#include <mpi.h>
#include <stddef.h>

static MPI_Info info_of(const char *const *words)
{
    MPI_Info info;
    MPI_Info_create(&info);
    for (; *words; words += 2) MPI_Info_set(info, words[0], words[1]);
    return info;
}

int main(int argc, char **argv)
{
    static const char *const first[] = {"striping_factor", "3",       "nb_proc",       "4",    "cb_nodes", "many",
                                        "romio_cb_read",   "disable", "romio_cb_pfr",  "aar",  "nonsense", "1",
                                        "file_perm",       "0600",    NULL};
    static const char *const later[] = {"cb_buffer_size", "65536", "romio_cb_write", "disable", NULL};
    MPI_File fh;
    MPI_Info info, used;
    MPI_Init(&argc, &argv);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    info = info_of(first);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &fh);
    MPI_Info_free(&info);
    info = info_of(later);
    MPI_File_set_info(fh, info);
    MPI_Info_free(&info);
    /* What is in use may be given again, and nothing is said of it. */
    MPI_File_get_info(fh, &used);
    MPI_File_set_info(fh, used);
    MPI_Info_free(&used);
    MPI_File_close(&fh);
    MPI_Finalize();
    return 0;
}
