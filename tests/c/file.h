/* What the programs about files share: a file of the job's own, made by rank 0 and known to all. */
#ifndef TERN_FILE_H
#define TERN_FILE_H

#include "check.h"
#include <sys/stat.h>
#include <unistd.h>

static char file_path[512];

/* A path that nobody else uses. */
static inline void file_name(const char *what)
{
    const char *folder = getenv("TMPDIR");
    if (check_rank == 0) {
        snprintf(file_path, sizeof file_path, "%s/tern-file-%s-%ld", folder && *folder ? folder : "/tmp", what,
                 (long)getpid());
        unlink(file_path);
    }
    MPI_Bcast(file_path, sizeof file_path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* The file is gone, and nothing is left beside it. */
static inline void file_remove(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) unlink(file_path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline MPI_File file_open(int amode)
{
    MPI_File fh = MPI_FILE_NULL;
    MUST(MPI_File_open(MPI_COMM_WORLD, file_path, amode, MPI_INFO_NULL, &fh));
    return fh;
}

/* The byte at a place of the file, as this process sees the file by itself. */
static inline int file_byte(const char *path, long offset)
{
    FILE *file = fopen(path, "rb");
    int byte = -1;
    if (file && fseek(file, offset, SEEK_SET) == 0) byte = fgetc(file);
    if (file) fclose(file);
    return byte;
}

static inline long file_size(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 ? (long)found.st_size : -1;
}

static inline int file_count(MPI_Status *status, MPI_Datatype datatype)
{
    int count = -1;
    MPI_Get_count(status, datatype, &count);
    return count;
}

#endif
