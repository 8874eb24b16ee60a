/*
 * The words in which the files of this folder are written.
 *
 * A Fortran call reaches C with every argument by address. The chapters (*.inc) have one body per MPI function, and are
 * compiled three times, as f77.c, f08.c and large.c define:
 *
 *   F77    mpi_send_, for mpif.h: a buffer is an address, a count is an int. Calls without buffers serve the modules
 *          too, also as mpi_comm_rank_f08_ (section 19.1.5 has the names).
 *   TS     mpi_send_f08ts and mpi_send_fts, for the modules: a buffer is a descriptor that may have gaps.
 *   LARGE  the same with large counts: mpi_send_c_f08ts, mpi_get_count_c_f08_.
 *
 * Every name exists with a `p` before it too, and a tool may define the one without.
 */
#ifndef TERN_FORTRAN_GLUE_H
#define TERN_FORTRAN_GLUE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "mpi.h"
#ifndef TERN_FOREIGN
#include "mpi_abi_fort.h"
#endif

#include "section.h"

#if !defined(F77) && !defined(TS)
#define F77
#endif

/* ------------------------------------------------------------ arguments: all come by address */

typedef const MPI_Fint *In;
typedef MPI_Fint *Out;
typedef const MPI_Aint *AintIn;
typedef MPI_Aint *AintOut;
typedef const MPI_Count *LongIn;
typedef MPI_Count *LongOut;
typedef const MPI_Offset *OffsetIn;
typedef MPI_Offset *OffsetOut;
typedef const MPI_Status *StatusIn;
typedef MPI_Status *StatusOut;
/* A string: blank padded, its length is passed behind all arguments. */
typedef const char *TextIn;
typedef char *TextOut;

#ifdef LARGE
typedef MPI_Count Number;
typedef MPI_Aint Shift;
typedef MPI_Count Span;
#else
typedef int Number;
typedef int Shift;
typedef MPI_Aint Span;
#endif
/* What large counts widen: int to MPI_Count, int to MPI_Aint, MPI_Aint to MPI_Count. */
typedef const Number *CountIn;
typedef Number *CountOut;
typedef const Shift *DisplIn;
typedef Shift *DisplOut;
typedef const Span *ExtentIn;
typedef Span *ExtentOut;

#ifdef TS
typedef const Descriptor *Choice;
#else
typedef void *Choice;
#endif

/* ------------------------------------------------------------ names */

#define TWIN(name, strong, ...) void name(__VA_ARGS__) __attribute__((weak, alias(#strong)))

#define DEFINE(strong, ...) \
    void strong(__VA_ARGS__); \
    void strong(__VA_ARGS__)

#ifdef LARGE
#define MPI(name) MPI_##name##_c
#define ENTRY(name, ...) \
    void pmpi_##name##_c_f08_(__VA_ARGS__); \
    TWIN(mpi_##name##_c_f08_, pmpi_##name##_c_f08_, __VA_ARGS__); \
    DEFINE(pmpi_##name##_c_f08_, __VA_ARGS__)
#define ENTRY_TS(name, ...) \
    void pmpi_##name##_c_f08ts(__VA_ARGS__); \
    TWIN(mpi_##name##_c_f08ts, pmpi_##name##_c_f08ts, __VA_ARGS__); \
    DEFINE(pmpi_##name##_c_f08ts, __VA_ARGS__)
#else
#define MPI(name) MPI_##name
#define ENTRY(name, ...) \
    void pmpi_##name##_(__VA_ARGS__); \
    TWIN(mpi_##name##_, pmpi_##name##_, __VA_ARGS__); \
    TWIN(mpi_##name##_f08_, pmpi_##name##_, __VA_ARGS__); \
    TWIN(pmpi_##name##_f08_, pmpi_##name##_, __VA_ARGS__); \
    DEFINE(pmpi_##name##_, __VA_ARGS__)
#ifdef TS
#define ENTRY_TS(name, ...) \
    void pmpi_##name##_f08ts(__VA_ARGS__); \
    TWIN(mpi_##name##_f08ts, pmpi_##name##_f08ts, __VA_ARGS__); \
    TWIN(mpi_##name##_fts, pmpi_##name##_f08ts, __VA_ARGS__); \
    TWIN(pmpi_##name##_fts, pmpi_##name##_f08ts, __VA_ARGS__); \
    DEFINE(pmpi_##name##_f08ts, __VA_ARGS__)
#else
#define ENTRY_TS(name, ...) \
    void pmpi_##name##_(__VA_ARGS__); \
    TWIN(mpi_##name##_, pmpi_##name##_, __VA_ARGS__); \
    DEFINE(pmpi_##name##_, __VA_ARGS__)
#endif
#endif

/* The return code, if the caller wants it (`ierror` is optional in mpi_f08). */
static inline void give(Out ierror, int code)
{
    if (ierror != NULL) *ierror = code;
}

/* ------------------------------------------------------------ handles */

/* The standard's own handles are below this number, and the same as integers (section 20.3). */
#define PREDEFINED_END 4096

#ifdef TERN_FOREIGN
/* Another ABI: its own conversions know all handles. */
#define PREDEFINED(Handle, integer) ((void)(integer))
#else
#define PREDEFINED(Handle, integer) \
    do { \
        if (*(integer) >= 0 && *(integer) < PREDEFINED_END) return (Handle)(intptr_t) *(integer); \
    } while (0)
#endif

#define HANDLE(Kind, Handle) \
    typedef Handle Kind##_t; \
    static inline Handle Kind(In integer) \
    { \
        PREDEFINED(Handle, integer); \
        return MPI_##Kind##_fromint(*integer); \
    } \
    static inline MPI_Fint Kind##_int(Handle handle) \
    { \
        return MPI_##Kind##_toint(handle); \
    }

HANDLE(Comm, MPI_Comm)
HANDLE(Errhandler, MPI_Errhandler)
HANDLE(File, MPI_File)
HANDLE(Group, MPI_Group)
HANDLE(Info, MPI_Info)
HANDLE(Message, MPI_Message)
HANDLE(Op, MPI_Op)
HANDLE(Request, MPI_Request)
HANDLE(Session, MPI_Session)
HANDLE(Type, MPI_Datatype)
HANDLE(Win, MPI_Win)

/* A call that makes a handle, `made`, and one that changes it. Nothing is written if it could not be made. */
#define MAKES(Kind, place, call) \
    do { \
        Kind##_t made; \
        int code_ = (call); \
        if (code_ == MPI_SUCCESS) *(place) = Kind##_int(made); \
        give(ierror, code_); \
    } while (0)

#define CHANGES(Kind, place, call) \
    do { \
        Kind##_t made = Kind(place); \
        int code_ = (call); \
        *(place) = Kind##_int(made); \
        give(ierror, code_); \
    } while (0)

/* The same for a communicator that is there once `request` has ended. */
#define STARTS_COMM(place, call) \
    do { \
        MPI_Comm newone; \
        MPI_Request made; \
        int code_ = (call); \
        if (code_ == MPI_SUCCESS) { \
            *(place) = Comm_int(newone); \
            *request = Request_int(made); \
        } \
        give(ierror, code_); \
    } while (0)

/* An array of handles as C has it: on the stack if it is short. Release it with `drop`. */
#define HANDLES_NEAR 32

#define HANDLES(Kind) \
    typedef struct { \
        Kind##_t near[HANDLES_NEAR]; \
        Kind##_t *at; \
    } Kind##s; \
    static inline void Kind##s_from(Kind##s *all, In integers, MPI_Count n) \
    { \
        all->at = n <= HANDLES_NEAR ? all->near : malloc((size_t)n * sizeof all->near[0]); \
        if (all->at == NULL) abort(); \
        for (MPI_Count i = 0; i < n; i++) all->at[i] = Kind(&integers[i]); \
    } \
    static inline void Kind##s_to(const Kind##s *all, Out integers, MPI_Count n) \
    { \
        for (MPI_Count i = 0; i < n; i++) integers[i] = Kind##_int(all->at[i]); \
    } \
    static inline void Kind##s_drop(Kind##s *all) \
    { \
        if (all->at != all->near) free(all->at); \
    }

HANDLES(Info)
HANDLES(Request)
HANDLES(Type)

/* ------------------------------------------------------------ special addresses (section 2.5.4) */

/* Fortran knows these constants as variables of common blocks; only their addresses count. */
#ifdef TERN_FOREIGN
#include "commons.h"
#else
#define KEYVAL(number) (number)
#endif
#ifndef TERN_OTHER_COMMONS
extern MPI_Fint mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_buffer_automatic_;
extern MPI_Fint mpi_fortran_errcodes_ignore_, mpi_fortran_unweighted_, mpi_fortran_weights_empty_;
extern MPI_Status mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_;
extern char mpi_fortran_argv_null_, mpi_fortran_argvs_null_;
#endif

/* Whether an address is one of them. An ABI may have another variable for it in mpi_f08 (commons.h). */
#ifndef TERN_OTHER_COMMONS
#define IS(at, constant) ((const void *)(at) == (const void *)&mpi_fortran_##constant##_)
#endif

static inline void *buffer_at(const void *at)
{
    if (IS(at, bottom)) return MPI_BOTTOM;
    if (IS(at, in_place)) return MPI_IN_PLACE;
#ifdef MPI_BUFFER_AUTOMATIC
    if (at == &mpi_fortran_buffer_automatic_) return MPI_BUFFER_AUTOMATIC;
#endif
    return (void *)at;
}

static inline int *weights_at(In at)
{
    if (IS(at, unweighted)) return MPI_UNWEIGHTED;
    if (IS(at, weights_empty)) return MPI_WEIGHTS_EMPTY;
    return (int *)at;
}

/* Whether no status is wanted. Compilers do not see which of the two constants stands where, without mpi_f08. */
static inline int is_ignored(const void *at)
{
    return IS(at, status_ignore) || IS(at, statuses_ignore);
}

/* A status has the same eight integers in both languages. */
static inline MPI_Status *status_out(StatusOut at)
{
    return is_ignored(at) ? MPI_STATUS_IGNORE : at;
}

/* One that is ignored has nothing to read, which the call will say. */
static inline const MPI_Status *status_in(StatusIn at)
{
    return is_ignored(at) ? MPI_STATUS_IGNORE : at;
}

static inline MPI_Status *statuses(StatusOut at)
{
    return is_ignored(at) ? MPI_STATUSES_IGNORE : at;
}

/* ------------------------------------------------------------ strings */

#pragma GCC visibility push(hidden)

/* Tells the library of Fortran's sizes and logicals: by whatever starts MPI first. */
void tell_of_fortran(void);

/* A C string of a Fortran string, without the blanks around it; free it. */
char *text(TextIn at, size_t length);

/* The same without those behind it only: blanks before a name or a message count (sections 7.8 and 9.5). */
char *words(TextIn at, size_t length);

/* A Fortran string of a C string: cut or blank padded. */
void pad(TextOut at, size_t length, const char *from);

/* The same where `resultlen` says how many characters there are: no more than were written. */
void pad_within(TextOut at, size_t length, const char *from, Out resultlen);

#include "buffers.h"

#pragma GCC visibility pop

#endif
