/*
 * Calls that give addresses: TYPE(C_PTR) in mpi_f08, an integer or, as `..._cptr`, a C_PTR in the others. Each is a
 * word that holds an address, so one body serves all.
 */
#include "glue.h"

ENTRY(alloc_mem, AintIn size, In info, void **baseptr, Out ierror)
{
    give(ierror, MPI_Alloc_mem(*size, Info(info), baseptr));
}

ENTRY(win_allocate, AintIn size, In disp_unit, In info, In comm, void **baseptr, Out win, Out ierror)
{
    MAKES(Win, win, MPI_Win_allocate(*size, *disp_unit, Info(info), Comm(comm), baseptr, &made));
}

ENTRY(win_allocate_shared, AintIn size, In disp_unit, In info, In comm, void **baseptr, Out win, Out ierror)
{
    MAKES(Win, win, MPI_Win_allocate_shared(*size, *disp_unit, Info(info), Comm(comm), baseptr, &made));
}

ENTRY(win_shared_query, In win, In rank, AintOut size, Out disp_unit, void **baseptr, Out ierror)
{
    give(ierror, MPI_Win_shared_query(Win(win), *rank, size, disp_unit, baseptr));
}

/* ------------------------------------------------------------ the C_PTR forms of module mpi */

ENTRY(alloc_mem_cptr, AintIn size, In info, void **baseptr, Out ierror)
{
    pmpi_alloc_mem_(size, info, baseptr, ierror);
}

ENTRY(win_allocate_cptr, AintIn size, In disp_unit, In info, In comm, void **baseptr, Out win, Out ierror)
{
    pmpi_win_allocate_(size, disp_unit, info, comm, baseptr, win, ierror);
}

ENTRY(win_allocate_shared_cptr, AintIn size, In disp_unit, In info, In comm, void **baseptr, Out win, Out ierror)
{
    pmpi_win_allocate_shared_(size, disp_unit, info, comm, baseptr, win, ierror);
}

ENTRY(win_shared_query_cptr, In win, In rank, AintOut size, Out disp_unit, void **baseptr, Out ierror)
{
    pmpi_win_shared_query_(win, rank, size, disp_unit, baseptr, ierror);
}

/* ------------------------------------------------------------ large counts */

#define LARGE_ENTRY(name, ...) \
    void pmpi_##name##_c_f08_(__VA_ARGS__); \
    TWIN(mpi_##name##_c_f08_, pmpi_##name##_c_f08_, __VA_ARGS__); \
    DEFINE(pmpi_##name##_c_f08_, __VA_ARGS__)

LARGE_ENTRY(win_allocate, AintIn size, AintIn disp_unit, In info, In comm, void **baseptr, Out win, Out ierror)
{
    MAKES(Win, win, MPI_Win_allocate_c(*size, *disp_unit, Info(info), Comm(comm), baseptr, &made));
}

LARGE_ENTRY(win_allocate_shared, AintIn size, AintIn disp_unit, In info, In comm, void **baseptr, Out win, Out ierror)
{
    MAKES(Win, win, MPI_Win_allocate_shared_c(*size, *disp_unit, Info(info), Comm(comm), baseptr, &made));
}

LARGE_ENTRY(win_shared_query, In win, In rank, AintOut size, AintOut disp_unit, void **baseptr, Out ierror)
{
    give(ierror, MPI_Win_shared_query_c(Win(win), *rank, size, disp_unit, baseptr));
}

/* ------------------------------------------------------------ detached buffers (section 3.6) */

/* The automatic buffer has an address in Fortran too. */
static void *detached_at(void *at)
{
#ifdef MPI_BUFFER_AUTOMATIC
    if (at == MPI_BUFFER_AUTOMATIC) return &mpi_fortran_buffer_automatic_;
#endif
    return at;
}

#define DETACHES(call) \
    do { \
        int code_ = (call); \
        if (code_ == MPI_SUCCESS) *buffer_addr = detached_at(*buffer_addr); \
        give(ierror, code_); \
    } while (0)

/* mpi_f08 gets the address; for mpif.h and module mpi the argument says nothing and stays as it is. */
void pmpi_buffer_detach_f08_(void **buffer_addr, Out size, Out ierror);
TWIN(mpi_buffer_detach_f08_, pmpi_buffer_detach_f08_, void **buffer_addr, Out size, Out ierror);
DEFINE(pmpi_buffer_detach_f08_, void **buffer_addr, Out size, Out ierror)
{
    DETACHES(MPI_Buffer_detach(buffer_addr, size));
}

void pmpi_comm_detach_buffer_f08_(In comm, void **buffer_addr, Out size, Out ierror);
TWIN(mpi_comm_detach_buffer_f08_, pmpi_comm_detach_buffer_f08_, In comm, void **buffer_addr, Out size, Out ierror);
DEFINE(pmpi_comm_detach_buffer_f08_, In comm, void **buffer_addr, Out size, Out ierror)
{
    DETACHES(MPI_Comm_detach_buffer(Comm(comm), buffer_addr, size));
}

void pmpi_session_detach_buffer_f08_(In session, void **buffer_addr, Out size, Out ierror);
TWIN(mpi_session_detach_buffer_f08_, pmpi_session_detach_buffer_f08_, In session, void **buffer_addr, Out size,
    Out ierror);
DEFINE(pmpi_session_detach_buffer_f08_, In session, void **buffer_addr, Out size, Out ierror)
{
    DETACHES(MPI_Session_detach_buffer(Session(session), buffer_addr, size));
}

LARGE_ENTRY(buffer_detach, void **buffer_addr, LongOut size, Out ierror)
{
    DETACHES(MPI_Buffer_detach_c(buffer_addr, size));
}

LARGE_ENTRY(comm_detach_buffer, In comm, void **buffer_addr, LongOut size, Out ierror)
{
    DETACHES(MPI_Comm_detach_buffer_c(Comm(comm), buffer_addr, size));
}

LARGE_ENTRY(session_detach_buffer, In session, void **buffer_addr, LongOut size, Out ierror)
{
    DETACHES(MPI_Session_detach_buffer_c(Session(session), buffer_addr, size));
}

/* Of mpif.h, and of module mpi, whose argument may be of any rank, so it comes as a descriptor. */
#define FOR_OLD(name, ...) \
    TWIN(mpi_##name##_, pmpi_##name##_, __VA_ARGS__); \
    TWIN(mpi_##name##_fts, pmpi_##name##_, __VA_ARGS__); \
    TWIN(pmpi_##name##_fts, pmpi_##name##_, __VA_ARGS__); \
    DEFINE(pmpi_##name##_, __VA_ARGS__)

FOR_OLD(buffer_detach, const void *buffer_addr, Out size, Out ierror)
{
    void *ignored;
    (void)buffer_addr;
    pmpi_buffer_detach_f08_(&ignored, size, ierror);
}

FOR_OLD(comm_detach_buffer, In comm, const void *buffer_addr, Out size, Out ierror)
{
    void *ignored;
    (void)buffer_addr;
    pmpi_comm_detach_buffer_f08_(comm, &ignored, size, ierror);
}

FOR_OLD(session_detach_buffer, In session, const void *buffer_addr, Out size, Out ierror)
{
    void *ignored;
    (void)buffer_addr;
    pmpi_session_detach_buffer_f08_(session, &ignored, size, ierror);
}
