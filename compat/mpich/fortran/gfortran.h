/*
 * MPICH's module mpi_f08 has routines of Fortran for buffers, so a compiler passes its own array descriptors, not those
 * of C. These are gfortran's of version 8 and newer, which are in no standard. What follows makes one of C of each
 * (section.h).
 */
#ifndef TERN_MPICH_GFORTRAN_H
#define TERN_MPICH_GFORTRAN_H

#include "glue.h"

typedef struct {
    /* In elements from one to the next. */
    ptrdiff_t stride;
    ptrdiff_t lower;
    ptrdiff_t upper;
} GfortranDimension;

typedef struct {
    void *base;
    size_t offset;
    size_t element_bytes;
    int version;
    signed char rank;
    signed char type;
    short attribute;
    /* Bytes that a stride of one is, or zero where those are an element's. */
    ptrdiff_t span;
    GfortranDimension dim[];
} Gfortran;

/* A descriptor of C with room for all dimensions. */
typedef union {
    Descriptor descriptor;
    char room[offsetof(Descriptor, dim) + RANK_MAX * sizeof(Dimension)];
} Described;

static inline const Descriptor *described(const Gfortran *from, Described *to)
{
    Descriptor *made = &to->descriptor;
    *made = (Descriptor){.base = from->base, .element_bytes = from->element_bytes, .rank = from->rank};
    ptrdiff_t unit = from->span > 0 ? from->span : (ptrdiff_t)from->element_bytes;
    for (int d = 0; d < from->rank; d++) {
        const GfortranDimension *dim = &from->dim[d];
        ptrdiff_t extent = dim->upper - dim->lower + 1;
        /* An array whose size only the caller knows ends before it begins. It has no gaps, as one without elements. */
        made->dim[d] = (Dimension){dim->lower, extent < 0 ? 0 : extent, dim->stride * unit};
    }
    return made;
}

/* A string, as C has it in these routines: its elements are its characters' number. */
static inline const Descriptor *worded(TextIn from, size_t length, Described *to)
{
    to->descriptor = (Descriptor){.base = (void *)from, .element_bytes = length, .rank = 0};
    return &to->descriptor;
}

#endif
