/* Section 11.8: starting processes. Arrays of strings end with a blank one. */
#include "glue.h"

#include <string.h>

static int is_blank(TextIn at, size_t length)
{
    while (length > 0 && at[length - 1] == ' ') length--;
    return length == 0;
}

/* The strings at `first` and every `step` bytes, up to a blank one, with a null behind them. */
static char **arguments(TextIn first, size_t length, size_t step)
{
    size_t n = 0;
    while (!is_blank(first + n * step, length)) n++;
    char **all = calloc(n + 1, sizeof *all);
    if (all == NULL) abort();
    for (size_t i = 0; i < n; i++) all[i] = text(first + i * step, length);
    return all;
}

static void drop_arguments(char **all)
{
    if (all == NULL) return;
    for (char **one = all; *one != NULL; one++) free(*one);
    free(all);
}

/* The other processes may pass anything but the communicator and the root. */
static int is_root(In root, In comm)
{
    int rank = MPI_PROC_NULL;
    MPI_Comm c_comm = Comm(comm);
    if (c_comm != MPI_COMM_NULL) PMPI_Comm_rank(c_comm, &rank);
    return rank == *root;
}

static int *errcodes(Out at)
{
    return IS(at, errcodes_ignore) ? MPI_ERRCODES_IGNORE : at;
}

ENTRY(comm_spawn, TextIn command, TextIn argv, In maxprocs, In info, In root, In comm, Out intercomm,
    Out array_of_errcodes, Out ierror, size_t command_len, size_t argv_len)
{
    int here = is_root(root, comm);
    char *c_command = here ? text(command, command_len) : NULL;
    char **c_argv = !here || IS(argv, argv_null) ? MPI_ARGV_NULL : arguments(argv, argv_len, argv_len);
    MPI_Comm made;
    int code = MPI_Comm_spawn(c_command, c_argv, *maxprocs, Info(info), *root, Comm(comm), &made,
        errcodes(array_of_errcodes));
    if (code == MPI_SUCCESS) *intercomm = Comm_int(made);
    drop_arguments(c_argv);
    free(c_command);
    give(ierror, code);
}

/* Arguments of command i are row i of a matrix with `count` rows, stored by columns. */
static char ***argument_rows(TextIn argv, size_t length, int count)
{
    char ***rows = calloc((size_t)count + 1, sizeof *rows);
    if (rows == NULL) abort();
    for (int i = 0; i < count; i++) rows[i] = arguments(argv + (size_t)i * length, length, (size_t)count * length);
    return rows;
}

static char **commands_of(TextIn commands, size_t length, int count)
{
    char **all = calloc((size_t)count + 1, sizeof *all);
    if (all == NULL) abort();
    for (int i = 0; i < count; i++) all[i] = text(commands + (size_t)i * length, length);
    return all;
}

ENTRY(comm_spawn_multiple, In count, TextIn array_of_commands, TextIn array_of_argv, In array_of_maxprocs,
    In array_of_info, In root, In comm, Out intercomm, Out array_of_errcodes, Out ierror, size_t commands_len,
    size_t argv_len)
{
    int n = is_root(root, comm) && *count > 0 ? *count : 0;
    char **c_commands = commands_of(array_of_commands, commands_len, n);
    char ***c_argv = n == 0 || IS(array_of_argv, argvs_null) ? NULL : argument_rows(array_of_argv, argv_len, n);
    Infos infos;
    Infos_from(&infos, array_of_info, n);
    MPI_Comm made;
    int code = MPI_Comm_spawn_multiple(*count, c_commands, c_argv, array_of_maxprocs, infos.at, *root, Comm(comm),
        &made, errcodes(array_of_errcodes));
    if (code == MPI_SUCCESS) *intercomm = Comm_int(made);
    for (int i = 0; c_argv != NULL && i < n; i++) drop_arguments(c_argv[i]);
    free(c_argv);
    drop_arguments(c_commands);
    Infos_drop(&infos);
    give(ierror, code);
}
