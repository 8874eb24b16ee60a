/*
 * Functions of the program that the library calls.
 *
 * A user's operation (section 6.9.5) and an error handler (section 9.3) get the address of a handle and nothing that
 * could say whom they belong to. They are called as they are: a handle in memory begins, on little-endian machines,
 * with the integer that Fortran knows it by, so the address of one is the address of the other. An ABI where that is
 * not so has another TAKES_FUNCTION, which tells its library.
 */
#include "glue.h"

#include <assert.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the address of a handle is the address of its integer on little-endian machines only"
#endif

#ifndef TAKES_FUNCTION
#define TAKES_FUNCTION(call) call
#endif

typedef void Function(void);

ENTRY(op_create, MPI_User_function *user_fn, In commute, Out op, Out ierror)
{
    TAKES_FUNCTION(MAKES(Op, op, MPI_Op_create(user_fn, *commute, &made)));
}

ENTRY(op_create_c, MPI_User_function_c *user_fn, In commute, Out op, Out ierror)
{
    TAKES_FUNCTION(MAKES(Op, op, MPI_Op_create_c(user_fn, *commute, &made)));
}

ENTRY(comm_create_errhandler, MPI_Comm_errhandler_function *comm_errhandler_fn, Out errhandler, Out ierror)
{
    TAKES_FUNCTION(MAKES(Errhandler, errhandler, MPI_Comm_create_errhandler(comm_errhandler_fn, &made)));
}

ENTRY(file_create_errhandler, MPI_File_errhandler_function *file_errhandler_fn, Out errhandler, Out ierror)
{
    TAKES_FUNCTION(MAKES(Errhandler, errhandler, MPI_File_create_errhandler(file_errhandler_fn, &made)));
}

ENTRY(session_create_errhandler, MPI_Session_errhandler_function *session_errhandler_fn, Out errhandler, Out ierror)
{
    TAKES_FUNCTION(MAKES(Errhandler, errhandler, MPI_Session_create_errhandler(session_errhandler_fn, &made)));
}

ENTRY(win_create_errhandler, MPI_Win_errhandler_function *win_errhandler_fn, Out errhandler, Out ierror)
{
    TAKES_FUNCTION(MAKES(Errhandler, errhandler, MPI_Win_create_errhandler(win_errhandler_fn, &made)));
}

/* ------------------------------------------------------------ generalized requests (section 13.2) */

typedef struct {
    void (*query)(AintIn extra_state, StatusOut status, Out ierror);
    void (*free)(AintIn extra_state, Out ierror);
    void (*cancel)(AintIn extra_state, In complete, Out ierror);
    MPI_Aint extra_state;
} Grequest;

static int grequest_query(void *extra, MPI_Status *status)
{
    const Grequest *fortran = extra;
    MPI_Fint ierror = MPI_SUCCESS;
    fortran->query(&fortran->extra_state, status, &ierror);
    return ierror;
}

static int grequest_free(void *extra)
{
    Grequest *fortran = extra;
    MPI_Fint ierror = MPI_SUCCESS;
    fortran->free(&fortran->extra_state, &ierror);
    free(fortran);
    return ierror;
}

static int grequest_cancel(void *extra, int complete)
{
    const Grequest *fortran = extra;
    MPI_Fint ierror = MPI_SUCCESS, c_complete = complete != 0;
    fortran->cancel(&fortran->extra_state, &c_complete, &ierror);
    return ierror;
}

ENTRY(grequest_start, Function *query_fn, Function *free_fn, Function *cancel_fn, AintIn extra_state, Out request,
    Out ierror)
{
    Grequest *fortran = malloc(sizeof *fortran);
    if (fortran == NULL) abort();
    fortran->query = (void (*)(AintIn, StatusOut, Out))query_fn;
    fortran->free = (void (*)(AintIn, Out))free_fn;
    fortran->cancel = (void (*)(AintIn, In, Out))cancel_fn;
    fortran->extra_state = *extra_state;
    MAKES(Request, request, MPI_Grequest_start(grequest_query, grequest_free, grequest_cancel, fortran, &made));
}

/* ------------------------------------------------------------ data representations (section 14.5.3) */

typedef void Extent(In datatype, AintOut extent, AintIn extra_state, Out ierror);
typedef void Convert(void *user, In datatype, In count, void *file, OffsetIn position, AintIn extra_state, Out ierror);
typedef void ConvertLarge(void *user, In datatype, LongIn count, void *file, OffsetIn position, AintIn extra_state,
    Out ierror);

/* Kept as long as the process: a representation cannot be taken back. */
typedef struct {
    Convert *read, *write;
    ConvertLarge *read_large, *write_large;
    Extent *extent;
    MPI_Aint extra_state;
} Datarep;

static int datarep_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    const Datarep *fortran = extra;
    MPI_Fint handle = Type_int(datatype), ierror = MPI_SUCCESS;
    fortran->extent(&handle, extent, &fortran->extra_state, &ierror);
    return ierror;
}

#define CONVERSION(name, Count, member) \
    static int name(void *user, MPI_Datatype datatype, Count count, void *file, MPI_Offset position, void *extra) \
    { \
        const Datarep *fortran = extra; \
        MPI_Fint handle = Type_int(datatype), ierror = MPI_SUCCESS; \
        fortran->member(user, &handle, &count, file, &position, &fortran->extra_state, &ierror); \
        return ierror; \
    }

CONVERSION(datarep_read, int, read)
CONVERSION(datarep_write, int, write)
CONVERSION(datarep_read_large, MPI_Count, read_large)
CONVERSION(datarep_write_large, MPI_Count, write_large)

/* MPI_CONVERSION_FN_NULL: a name to compare with, never called. */
void mpi_conversion_fn_null_(void);
void mpi_conversion_fn_null_(void)
{
    abort();
}

void mpi_conversion_fn_null_c_(void) __attribute__((alias("mpi_conversion_fn_null_")));

#ifdef TERN_FOREIGN
/* The same of other modules mpi_f08, as gfortran names them. */
void __mpi_f08_callbacks_MOD_mpi_conversion_fn_null(void) __attribute__((alias("mpi_conversion_fn_null_")));
void __mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c(void) __attribute__((alias("mpi_conversion_fn_null_")));
#endif

static int is_null(Function *function)
{
#ifdef TERN_FOREIGN
    /* A program that is not position independent has another address for each name. */
    if (function == __mpi_f08_callbacks_MOD_mpi_conversion_fn_null) return 1;
    if (function == __mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c) return 1;
#endif
    return function == mpi_conversion_fn_null_ || function == mpi_conversion_fn_null_c_;
}

static Datarep *datarep_of(Extent *extent, MPI_Aint extra_state)
{
    Datarep *made = calloc(1, sizeof *made);
    if (made == NULL) abort();
    made->extent = extent;
    made->extra_state = extra_state;
    return made;
}

ENTRY(register_datarep, TextIn datarep, Function *read_conversion_fn, Function *write_conversion_fn,
    Extent *dtype_file_extent_fn, AintIn extra_state, Out ierror, size_t datarep_len)
{
    char *name = text(datarep, datarep_len);
    Datarep *fortran = datarep_of(dtype_file_extent_fn, *extra_state);
    fortran->read = (Convert *)read_conversion_fn;
    fortran->write = (Convert *)write_conversion_fn;
    int code = MPI_Register_datarep(name, is_null(read_conversion_fn) ? MPI_CONVERSION_FN_NULL : datarep_read,
        is_null(write_conversion_fn) ? MPI_CONVERSION_FN_NULL : datarep_write, datarep_extent, fortran);
    free(name);
    give(ierror, code);
}

ENTRY(register_datarep_c, TextIn datarep, Function *read_conversion_fn, Function *write_conversion_fn,
    Extent *dtype_file_extent_fn, AintIn extra_state, Out ierror, size_t datarep_len)
{
    char *name = text(datarep, datarep_len);
    Datarep *fortran = datarep_of(dtype_file_extent_fn, *extra_state);
    fortran->read_large = (ConvertLarge *)read_conversion_fn;
    fortran->write_large = (ConvertLarge *)write_conversion_fn;
    int code = MPI_Register_datarep_c(name,
        is_null(read_conversion_fn) ? MPI_CONVERSION_FN_NULL_C : datarep_read_large,
        is_null(write_conversion_fn) ? MPI_CONVERSION_FN_NULL_C : datarep_write_large, datarep_extent, fortran);
    free(name);
    give(ierror, code);
}
