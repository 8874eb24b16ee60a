/* A function that Tern does not have yet must return its error with its own name, through the handler. */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

static int names_itself(int code, const char *function)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (class == MPI_ERR_UNSUPPORTED_OPERATION && strstr(text, function) != NULL)
        return 1;
    printf("%s: class %d: %s\n", function, class, text);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_File file;
    int memory, right = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    right &= names_itself(MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
                          "MPI_File_open");
    right &= names_itself(MPI_File_read(MPI_FILE_NULL, &memory, 1, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_read");
    right &= names_itself(MPI_File_read_c(MPI_FILE_NULL, &memory, 1, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_read_c");
    if (right)
        printf("ok\n");
    MPI_Finalize();
    return !right;
}
