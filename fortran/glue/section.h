/*
 * Fortran's array descriptors (Fortran 2018, section 18.5), as far as buffers need them: where, how large an element,
 * and for each dimension how many and how far apart.
 *
 * gfortran and flang lay these members out alike, so the library is not bound to one of them; section.c compares
 * with the compiler's ISO_Fortran_binding.h where there is one.
 */
#ifndef TERN_FORTRAN_SECTION_H
#define TERN_FORTRAN_SECTION_H

#include <stddef.h>

#include "mpi.h"

/*
 * Whether MPI runs and messages can have this datatype: a question to Tern alone, since MPI's own functions would call
 * an error handler, with their names instead of that of the call that the program made.
 */
int tern_datatype_is_ready(MPI_Datatype datatype) __attribute__((weak));

#pragma GCC visibility push(hidden)

/* Another MPI library is not asked, and neither is Tern's with another ABI's handles. */
static inline int is_ready(MPI_Datatype datatype)
{
#ifdef TERN_FOREIGN
    (void)datatype;
    return 1;
#else
    return tern_datatype_is_ready == NULL || tern_datatype_is_ready(datatype);
#endif
}

typedef struct {
    ptrdiff_t lower_bound;
    /* Number of elements; -1 if unknown (the last dimension of an assumed-size array). */
    ptrdiff_t extent;
    /* Bytes from one element to the next. */
    ptrdiff_t stride;
} Dimension;

typedef struct {
    void *base;
    size_t element_bytes;
    int version;
    signed char rank;
    /* Type and attribute, in either order. */
    char details[3];
    Dimension dim[];
} Descriptor;

#define RANK_MAX 15

/* Whether the elements lie one behind the other. What is not allocated has no elements, whatever its bounds say. */
static inline int section_is_dense(const Descriptor *section)
{
    ptrdiff_t expected = (ptrdiff_t)section->element_bytes;
    for (int d = 0; d < section->rank; d++) {
        const Dimension *dim = &section->dim[d];
        if (dim->extent == 0) return 1;
        if (dim->extent != 1 && dim->stride != expected) return section->base == NULL;
        /* Only the last dimension can be unknown, and nothing follows it. */
        expected *= dim->extent;
    }
    return 1;
}

/* Elements of a section; bytes of all. */
size_t section_elements(const Descriptor *section);
size_t section_bytes(const Descriptor *section);

/* The call that has a section: the function that it is written in, and the handles that it has, others being null. */
typedef struct {
    const char *function;
    const MPI_Fint *comm, *session, *win, *fh;
} Call;

/* A committed datatype for what `count` of `datatype` cover, the section's elements taken as if they were dense. */
int section_type(const Descriptor *section, MPI_Count count, MPI_Datatype datatype, MPI_Datatype *made,
    const Call *call);

/* Whether no such datatype can be made, because this one has gaps or does not divide the elements. */
int section_needs_copy(const Descriptor *section, MPI_Count count, MPI_Datatype datatype);

/*
 * Copies a section's elements together, and back to where they were: what differs from `before`. The rest was not
 * written, and may have been meanwhile by the program or by another call.
 */
void section_gather(const Descriptor *section, void *dense);
void section_scatter(const Descriptor *section, const void *dense, const void *before);

/*
 * The error of a section where only dense memory can serve, worded by printf; calls the error handler of the call's
 * communicator, session, window or file. None where MPI does not run: the call itself will say that.
 */
int section_error(const Call *call, const char *why, ...) __attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop

#endif
