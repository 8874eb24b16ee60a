/*
 * Buffers of calls. In mpif.h they are addresses. In the modules they are descriptors, and a section with gaps becomes
 *
 *   Part   a datatype made on the fly, where a call has (buffer, count, datatype) and moves them as they are; a dense
 *          copy if the datatype has gaps of its own;
 *   Whole  a dense copy, where a call does more with a buffer: computes on it, or divides it among ranks.
 */
#ifndef TERN_FORTRAN_BUFFERS_H
#define TERN_FORTRAN_BUFFERS_H

#include "pending.h"

typedef struct {
    void *at;
    /* The dense copy, or null if the buffer serves itself. */
    void *copy;
    const Descriptor *section;
    /* Whether the copy must go back. */
    int back;
    int code;
} Whole;

/* What a part needs whose buffer has gaps. It is apart, so that a dense buffer stays in registers. */
typedef struct {
    /* The datatype made on the fly, or null. */
    MPI_Datatype made;
    /* The dense copy, if there is one. */
    Whole whole;
    int code;
} Detour;

typedef struct {
    void *at;
    Number count;
    MPI_Datatype type;
    /* Null if the buffer is dense. */
    Detour *detour;
} Part;

void detour_end(Detour *detour);
void detour_pend(Detour *detour, int code, MPI_Request request, int persistent);
void detour_split(Detour *detour, int code, MPI_Fint file);

/* A dense buffer must cost no more than its address: only when inlined, most of a part is never stored. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define NO_BUFFER ((Whole){NULL, NULL, NULL, 0, MPI_SUCCESS})

/* What a call does with a part: reads it, writes it, or keeps it beyond its end without a request that tells when. */
typedef enum { READ, WRITTEN, STAYS } Use;

/* A string beside a buffer: a descriptor too in the modules, else with its length behind the arguments. */
#ifdef TS
typedef const Descriptor *ChoiceText;
#define HIDDEN(length)
#define C_TEXT(at) text((at)->base, (at)->element_bytes)
#else
typedef TextIn ChoiceText;
#define HIDDEN(length) , size_t length
#define C_TEXT(at) text(at, at##_len)
#endif

#ifdef TS

static inline void *place_of(Choice buffer)
{
    return buffer_at(buffer->base);
}

Whole whole_copy(Choice buffer, int back);

/* Null if the call itself will find what is wrong, or has nothing to move. */
Detour *detour_of(Choice buffer, MPI_Count count, MPI_Datatype type, Use use, const Call *call);

ALWAYS_INLINE Part part_of(Choice buffer, Number count, MPI_Datatype type, Use use, Call call)
{
    Detour *detour = section_is_dense(buffer) ? NULL : detour_of(buffer, count, type, use, &call);
    if (detour == NULL) return (Part){place_of(buffer), count, type, NULL};
    if (detour->whole.at != NULL) return (Part){detour->whole.at, count, type, detour};
    return (Part){place_of(buffer), 1, detour->made, detour};
}

ALWAYS_INLINE Whole whole_of(Choice buffer, int back)
{
    if (!section_is_dense(buffer)) return whole_copy(buffer, back);
    return (Whole){place_of(buffer), NULL, NULL, 0, MPI_SUCCESS};
}

static inline Whole whole_without_gaps(Choice buffer, Call call)
{
    Whole whole = {place_of(buffer), NULL, NULL, 0, MPI_SUCCESS};
    if (!section_is_dense(buffer)) whole.code = section_error(&call, "the buffer must not have gaps");
    return whole;
}

#else

static inline void *place_of(Choice buffer)
{
    return buffer_at(buffer);
}

ALWAYS_INLINE Part part_of(Choice buffer, Number count, MPI_Datatype type, Use use, Call call)
{
    (void)use, (void)call;
    return (Part){place_of(buffer), count, type, NULL};
}

ALWAYS_INLINE Whole whole_of(Choice buffer, int back)
{
    (void)back;
    return (Whole){place_of(buffer), NULL, NULL, 0, MPI_SUCCESS};
}

static inline Whole whole_without_gaps(Choice buffer, Call call)
{
    (void)call;
    return whole_of(buffer, 0);
}

#endif

/*
 * Errors of a section name the call by the function that it is written in, and go to its object: these stand for the
 * parameters of these names where a function has none.
 */
static const In comm = NULL, session = NULL, win = NULL, fh = NULL;
#define THIS_CALL ((Call){__func__, comm, session, win, fh})

#define part_from(buffer, count, type) part_of(buffer, count, type, READ, THIS_CALL)
#define part_into(buffer, count, type) part_of(buffer, count, type, WRITTEN, THIS_CALL)
#define part_only(buffer, count, type) part_of(buffer, count, type, STAYS, THIS_CALL)

/* For buffers that stay in use after the call without a request that tells of their end. */
#define whole_only(buffer) whole_without_gaps(buffer, THIS_CALL)

static inline Whole whole_in(Choice buffer)
{
    return whole_of(buffer, 0);
}

/* What is written comes back, and what is not must be in the copy before. */
static inline Whole whole_inout(Choice buffer)
{
    return whole_of(buffer, 1);
}

/* How often a buffer holds what a count says: once, or for each rank that takes part. */
typedef enum { ONE, EACH } Times;

/* An error where a copy is shorter than that: beyond it is the memory of others. */
void whole_check(Whole *whole, MPI_Count count, MPI_Datatype type, Times times, const Call *call);

ALWAYS_INLINE Whole whole_checked(Whole whole, MPI_Count count, In type, Times times, Call call)
{
    if (whole.copy != NULL) whole_check(&whole, count, Type(type), times, &call);
    return whole;
}

#define whole_in_of(buffer, count, type, times) whole_checked(whole_in(buffer), count, type, times, THIS_CALL)
#define whole_inout_of(buffer, count, type, times) whole_checked(whole_inout(buffer), count, type, times, THIS_CALL)

/* Gives a copy to the request that uses it; completion.c puts it back and frees it. */
void pend(MPI_Request request, const Whole *whole, int persistent);

/* Puts a copy back if it was written, and frees it. */
void whole_back(Whole whole);

static inline void pend_on(MPI_Request request, Whole whole, int persistent)
{
    if (whole.copy != NULL) pend(request, &whole, persistent);
}

static inline int part_code(Part part)
{
    return part.detour == NULL ? MPI_SUCCESS : part.detour->code;
}

static inline void part_end(Part part)
{
    if (part.detour != NULL) detour_end(part.detour);
}

/* Leaves a part to the request that was made: its copy, while its datatype may be freed at once. */
static inline void part_pend(Part part, int code, MPI_Request request, int persistent)
{
    if (part.detour != NULL) detour_pend(part.detour, code, request, persistent);
}

/* Leaves a part to the second half of the file's split call. */
static inline void part_split(Part part, int code, MPI_Fint file)
{
    if (part.detour != NULL) detour_split(part.detour, code, file);
}

static inline void whole_end(Whole whole)
{
    if (whole.copy != NULL) whole_back(whole);
}

/* ------------------------------------------------------------ ways to call with buffers */

#define AFTER(first, second) ((first) != MPI_SUCCESS ? (first) : (second))

/* Calls that are over when they return. */
#define DOES1(part, call) \
    do { \
        int code_ = AFTER(part_code(part), (call)); \
        part_end(part); \
        give(ierror, code_); \
    } while (0)

/* The two halves of a file's split call. */
#define BEGINS1(part, call) \
    do { \
        int code_ = AFTER(part_code(part), (call)); \
        part_split(part, code_, *fh); \
        give(ierror, code_); \
    } while (0)

#define ENDS(call) \
    do { \
        int code_ = (call); \
        split_finished(*fh); \
        give(ierror, code_); \
    } while (0)

#define DOES2(one, two, call) \
    do { \
        int code_ = AFTER(part_code(one), AFTER(part_code(two), (call))); \
        part_end(one); \
        part_end(two); \
        give(ierror, code_); \
    } while (0)

#define COPIES1(whole, call) \
    do { \
        int code_ = AFTER((whole).code, (call)); \
        whole_end(whole); \
        give(ierror, code_); \
    } while (0)

#define COPIES2(one, two, call) \
    do { \
        int code_ = AFTER((one).code, AFTER((two).code, (call))); \
        whole_end(one); \
        whole_end(two); \
        give(ierror, code_); \
    } while (0)

#define COPIES3(one, two, three, call) COPIES1(one, AFTER((two).code, AFTER((three).code, (call))))

#define MIXES(part, whole, call) \
    do { \
        int code_ = AFTER(part_code(part), AFTER((whole).code, (call))); \
        part_end(part); \
        whole_end(whole); \
        give(ierror, code_); \
    } while (0)

/* Gives a request that was made to the program. */
static inline void hand_out(Out request, MPI_Request made)
{
    *request = Request_int(made);
    begun(*request);
}

/* Calls that start something: `made` is its request. A datatype may be freed while it is in use. */
#define STARTS_OR_PREPARES(part, call, persistent) \
    do { \
        MPI_Request made = MPI_REQUEST_NULL; \
        int code_ = AFTER(part_code(part), (call)); \
        if (code_ == MPI_SUCCESS) hand_out(request, made); \
        part_pend(part, code_, made, persistent); \
        give(ierror, code_); \
    } while (0)

#define STARTS1(part, call) STARTS_OR_PREPARES(part, call, 0)
#define PREPARES1(part, call) STARTS_OR_PREPARES(part, call, 1)

#define STARTS2(one, two, call) \
    do { \
        MPI_Request made = MPI_REQUEST_NULL; \
        int code_ = AFTER(part_code(one), AFTER(part_code(two), (call))); \
        if (code_ == MPI_SUCCESS) hand_out(request, made); \
        part_pend(one, code_, made, 0); \
        part_pend(two, code_, made, 0); \
        give(ierror, code_); \
    } while (0)

#define STARTS_COPIED(one, two, call, persistent) \
    do { \
        MPI_Request made = MPI_REQUEST_NULL; \
        int code_ = AFTER((one).code, AFTER((two).code, (call))); \
        if (code_ == MPI_SUCCESS) { \
            hand_out(request, made); \
            pend_on(made, one, persistent); \
            pend_on(made, two, persistent); \
        } else { \
            whole_end(one); \
            whole_end(two); \
        } \
        give(ierror, code_); \
    } while (0)

#define PENDING2(one, two, call) STARTS_COPIED(one, two, call, 0)
#define PERSISTENT2(one, two, call) STARTS_COPIED(one, two, call, 1)
#define PERSISTENT1(one, call) \
    do { \
        Whole none_ = NO_BUFFER; \
        STARTS_COPIED(one, none_, call, 1); \
    } while (0)

#endif
