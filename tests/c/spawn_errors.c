/* Programs that cannot be started are an error at all who ask for them (MPI-5.0 section 11.8), and nobody waits.
 * ranks: 1 3
 * timeout: 120
 * instances: default
 */
#include "check.h"

static void refused(const char *command, MPI_Info info, int class, const char *word)
{
    MPI_Comm inter = MPI_COMM_WORLD;
    int codes[4] = {-7, -7, -7, -7};
    int code = MPI_Comm_spawn(command, MPI_ARGV_NULL, 3, info, 0, MPI_COMM_WORLD, &inter, codes);
    CHECK_ERROR(code, class, word);
    CHECK_ERROR(code, class, "MPI_Comm_spawn");
    CHECK(inter == MPI_COMM_NULL);
    if (check_rank == 0)
        for (int i = 0; i < 3; i++) CHECK(codes[i] != MPI_SUCCESS && codes[i] != -7);
    CHECK_EQ(codes[3], -7);
}

static void refused_with(const char *command, const char *key, const char *value, int class, const char *word)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    refused(command, info, class, word);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    refused("./surely-not-there", MPI_INFO_NULL, MPI_ERR_SPAWN, "surely-not-there");
    refused("surely-not-there", MPI_INFO_NULL, MPI_ERR_SPAWN, "PATH");
    refused("/etc/passwd", MPI_INFO_NULL, MPI_ERR_SPAWN, "permission");
    refused("/tmp", MPI_INFO_NULL, MPI_ERR_SPAWN, "directory");
    refused("", MPI_INFO_NULL, MPI_ERR_SPAWN, "empty");
    refused_with("true", "wdir", "/surely/not/there", MPI_ERR_SPAWN, "/surely/not/there");
    refused_with("true", "arch", "vax", MPI_ERR_SPAWN, "vax");
    refused_with("true", "soft", "7:9", MPI_ERR_INFO_VALUE, "7:9");
    refused_with("true", "mpi_initial_errhandler", "mpi_errors_maybe", MPI_ERR_SPAWN, "mpi_errors_maybe");
    /* It runs, and never calls MPI_Init. */
    refused("true", MPI_INFO_NULL, MPI_ERR_SPAWN, "MPI_Init");
    refused("false", MPI_INFO_NULL, MPI_ERR_SPAWN, "MPI_Init");

    MPI_Comm inter;
    CHECK_ERROR(MPI_Comm_spawn("true", MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                               MPI_ERRCODES_IGNORE),
                MPI_ERR_ARG, "maxprocs");
    CHECK_ERROR(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 99, MPI_COMM_WORLD, &inter,
                               MPI_ERRCODES_IGNORE),
                MPI_ERR_ROOT, "root");
    CHECK_ERROR(MPI_Comm_spawn(NULL, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_ARG, "command");
    return check_finish();
}
