/*
 * Attributes (sections 7.7 and 19.3.7): values are integers of the size of an address. The standard's own are
 * pointers to integers in C, and the integers themselves here.
 *
 * What Fortran sets is an integer, and what C sets a pointer. C sees the address of Fortran's integer, Fortran C's
 * pointer as an integer, and each sees its own as it was (section 19.3.7): so Fortran's integers live in cells that
 * can be told from all other addresses (cells.c).
 *
 * C hands the functions of a keyval an `extra_state`; it is the record that says what Fortran gave.
 */
#include "glue.h"

#include "cells.h"

typedef void Copier(In handle, In keyval, AintIn extra_state, AintIn in, AintOut out, Out flag, Out ierror);
typedef void Deleter(In handle, In keyval, AintIn value, AintIn extra_state, Out ierror);
/* Of MPI-1: values are default integers. */
typedef void OldCopier(In handle, In keyval, In extra_state, In in, Out out, Out flag, Out ierror);
typedef void OldDeleter(In handle, In keyval, In value, In extra_state, Out ierror);

/* Kept as long as the process: attributes may outlive their keyval. */
typedef struct {
    Copier *copy;
    Deleter *delete;
    MPI_Aint extra_state;
} Keyval;

static Keyval *keyval_of(Copier *copy, Deleter *delete, MPI_Aint extra_state)
{
    Keyval *made = malloc(sizeof *made);
    if (made == NULL) abort();
    *made = (Keyval){copy, delete, extra_state};
    return made;
}

#define KEYVALS(Kind, Handle, kind) \
    static int copy_of_##kind(Handle old, int keyval, void *extra, void *in, void *out, int *flag) \
    { \
        const Keyval *fortran = extra; \
        MPI_Fint handle = Kind##_int(old), ierror = MPI_SUCCESS; \
        MPI_Aint value_in = cell_value(in), value_out = value_in; \
        fortran->copy(&handle, &keyval, &fortran->extra_state, &value_in, &value_out, flag, &ierror); \
        if (ierror == MPI_SUCCESS && *flag) *(void **)out = cell_of(value_out); \
        return ierror; \
    } \
    static int delete_of_##kind(Handle old, int keyval, void *value, void *extra) \
    { \
        const Keyval *fortran = extra; \
        MPI_Fint handle = Kind##_int(old), ierror = MPI_SUCCESS; \
        MPI_Aint c_value = cell_value(value); \
        fortran->delete(&handle, &keyval, &c_value, &fortran->extra_state, &ierror); \
        if (ierror == MPI_SUCCESS) cell_free(value); \
        return ierror; \
    } \
    ENTRY(kind##_create_keyval, Copier *copy_attr_fn, Deleter *delete_attr_fn, Out keyval, AintIn extra_state, \
        Out ierror) \
    { \
        give(ierror, MPI_##Kind##_create_keyval(copy_of_##kind, delete_of_##kind, keyval, \
            keyval_of(copy_attr_fn, delete_attr_fn, *extra_state))); \
    } \
    ENTRY(kind##_set_attr, In handle, In keyval, AintIn attribute_val, Out ierror) \
    { \
        void *cell = cell_of(*attribute_val); \
        int code = MPI_##Kind##_set_attr(Kind(handle), KEYVAL(*keyval), cell); \
        if (code != MPI_SUCCESS) cell_free(cell); \
        give(ierror, code); \
    } \
    ENTRY(kind##_get_attr, In handle, In keyval, AintOut attribute_val, Out flag, Out ierror) \
    { \
        void *found = NULL; \
        int code = MPI_##Kind##_get_attr(Kind(handle), KEYVAL(*keyval), &found, flag); \
        if (code == MPI_SUCCESS && *flag) *attribute_val = value_of(KEYVAL(*keyval), found); \
        give(ierror, code); \
    }

/* What Fortran sees of what C found. */
static MPI_Aint value_of(int keyval, const void *found)
{
    switch (keyval) {
    case MPI_TAG_UB: case MPI_IO: case MPI_HOST: case MPI_WTIME_IS_GLOBAL: case MPI_APPNUM:
    case MPI_LASTUSEDCODE: case MPI_UNIVERSE_SIZE: case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR: case MPI_WIN_MODEL:
        return *(const int *)found;
    case MPI_WIN_SIZE:
        return *(const MPI_Aint *)found;
    default:
        return cell_value(found);
    }
}

ENTRY(comm_delete_attr, In comm, In comm_keyval, Out ierror)
{
    give(ierror, MPI_Comm_delete_attr(Comm(comm), KEYVAL(*comm_keyval)));
}

KEYVALS(Comm, MPI_Comm, comm)
KEYVALS(Type, MPI_Datatype, type)
KEYVALS(Win, MPI_Win, win)

/* ------------------------------------------------------------ functions that do nothing, or copy */

#define COPY_OF(Value) \
    In handle, In keyval, const Value *extra, const Value *in, Value *out, Out flag, Out ierror

#define NULL_AND_DUP(kind, Value) \
    void mpi_##kind##null_copy_fn_(COPY_OF(Value)); \
    void mpi_##kind##null_copy_fn_(COPY_OF(Value)) \
    { \
        (void)handle, (void)keyval, (void)extra, (void)in, (void)out; \
        *flag = 0; \
        give(ierror, MPI_SUCCESS); \
    } \
    void mpi_##kind##dup_fn_(COPY_OF(Value)); \
    void mpi_##kind##dup_fn_(COPY_OF(Value)) \
    { \
        (void)handle, (void)keyval, (void)extra; \
        *out = *in; \
        *flag = 1; \
        give(ierror, MPI_SUCCESS); \
    } \
    void mpi_##kind##null_delete_fn_(In handle, In keyval, const Value *value, const Value *extra, Out ierror); \
    void mpi_##kind##null_delete_fn_(In handle, In keyval, const Value *value, const Value *extra, Out ierror) \
    { \
        (void)handle, (void)keyval, (void)value, (void)extra; \
        give(ierror, MPI_SUCCESS); \
    }

NULL_AND_DUP(comm_, MPI_Aint)
NULL_AND_DUP(type_, MPI_Aint)
NULL_AND_DUP(win_, MPI_Aint)
NULL_AND_DUP(, MPI_Fint)

/* ------------------------------------------------------------ deprecated (section 16.1) */

typedef struct {
    OldCopier *copy;
    OldDeleter *delete;
    MPI_Fint extra_state;
} OldKeyval;

static int old_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    const OldKeyval *fortran = extra;
    MPI_Fint handle = Comm_int(comm), value_in = (MPI_Fint)cell_value(in), value_out = value_in, ierror = MPI_SUCCESS;
    fortran->copy(&handle, &keyval, &fortran->extra_state, &value_in, &value_out, flag, &ierror);
    if (ierror == MPI_SUCCESS && *flag) *(void **)out = cell_of(value_out);
    return ierror;
}

static int old_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    const OldKeyval *fortran = extra;
    MPI_Fint handle = Comm_int(comm), c_value = (MPI_Fint)cell_value(value), ierror = MPI_SUCCESS;
    fortran->delete(&handle, &keyval, &c_value, &fortran->extra_state, &ierror);
    if (ierror == MPI_SUCCESS) cell_free(value);
    return ierror;
}

ENTRY(keyval_create, OldCopier *copy_fn, OldDeleter *delete_fn, Out keyval, In extra_state, Out ierror)
{
    OldKeyval *made = malloc(sizeof *made);
    if (made == NULL) abort();
    *made = (OldKeyval){copy_fn, delete_fn, *extra_state};
    give(ierror, MPI_Comm_create_keyval(old_copy, old_delete, keyval, made));
}

ENTRY(attr_put, In comm, In keyval, In attribute_val, Out ierror)
{
    void *cell = cell_of(*attribute_val);
    int code = MPI_Comm_set_attr(Comm(comm), KEYVAL(*keyval), cell);
    if (code != MPI_SUCCESS) cell_free(cell);
    give(ierror, code);
}

ENTRY(attr_get, In comm, In keyval, Out attribute_val, Out flag, Out ierror)
{
    void *found = NULL;
    int code = MPI_Comm_get_attr(Comm(comm), KEYVAL(*keyval), &found, flag);
    if (code == MPI_SUCCESS && *flag) *attribute_val = (MPI_Fint)value_of(KEYVAL(*keyval), found);
    give(ierror, code);
}
