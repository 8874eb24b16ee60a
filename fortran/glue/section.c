/* Sections of arrays: whether they have gaps, a datatype that skips these, and copies without them. */
#include "section.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include)
#if __has_include(<ISO_Fortran_binding.h>)
#include <ISO_Fortran_binding.h>
_Static_assert(offsetof(Descriptor, base) == offsetof(CFI_cdesc_t, base_addr), "base");
_Static_assert(offsetof(Descriptor, element_bytes) == offsetof(CFI_cdesc_t, elem_len), "element_bytes");
_Static_assert(offsetof(Descriptor, rank) == offsetof(CFI_cdesc_t, rank), "rank");
_Static_assert(offsetof(Descriptor, dim) == offsetof(CFI_cdesc_t, dim), "dim");
_Static_assert(offsetof(Dimension, extent) == offsetof(CFI_dim_t, extent), "extent");
_Static_assert(offsetof(Dimension, stride) == offsetof(CFI_dim_t, sm), "stride");
_Static_assert(sizeof(Dimension) == sizeof(CFI_dim_t), "dimension");
_Static_assert(RANK_MAX == CFI_MAX_RANK, "rank");
#endif
#endif

size_t section_elements(const Descriptor *section)
{
    size_t elements = 1;
    for (int d = 0; d < section->rank; d++) elements *= (size_t)section->dim[d].extent;
    return elements;
}

size_t section_bytes(const Descriptor *section)
{
    return section_elements(section) * section->element_bytes;
}

/* ------------------------------------------------------------ the datatype */

/* `n` of `type`, one every `stride` bytes. `type` is used up. */
static int strided(MPI_Count n, ptrdiff_t stride, MPI_Datatype type, MPI_Datatype *made)
{
    int code = MPI_Type_create_hvector_c(n, 1, stride, type, made);
    MPI_Type_free(&type);
    return code;
}

/* `first`, and `second` that many bytes behind it. Both are used up. */
static int joined(MPI_Datatype first, ptrdiff_t at, MPI_Datatype second, MPI_Datatype *made)
{
    MPI_Count lengths[2] = {1, 1}, places[2] = {0, at};
    MPI_Datatype types[2] = {first, second};
    int code = MPI_Type_create_struct_c(2, lengths, places, types, made);
    MPI_Type_free(&first);
    MPI_Type_free(&second);
    return code;
}

/*
 * The first `elements` elements in the dimensions below `rank`: whole rows as one strided type, then the same one
 * dimension lower for what is left.
 */
static int leading(const Descriptor *section, int rank, MPI_Count elements, MPI_Datatype element, MPI_Datatype *made)
{
    if (rank == 0) return MPI_Type_dup(element, made);
    MPI_Count row = 1;
    for (int d = 0; d < rank - 1; d++) row *= section->dim[d].extent;
    MPI_Count rows = elements / row, rest = elements % row;
    ptrdiff_t stride = section->dim[rank - 1].stride;
    MPI_Datatype whole = MPI_DATATYPE_NULL, tail;
    int code;

    if (rows > 0) {
        code = leading(section, rank - 1, row, element, &whole);
        if (code == MPI_SUCCESS) code = strided(rows, stride, whole, &whole);
        if (code != MPI_SUCCESS || rest == 0) {
            *made = whole;
            return code;
        }
    }
    code = leading(section, rank - 1, rest, element, &tail);
    if (code != MPI_SUCCESS || rows == 0) {
        *made = tail;
        return code;
    }
    return joined(whole, rows * stride, tail, made);
}

/* Of `datatype`, what one element of the section holds; the null type if they do not go together. */
static MPI_Datatype element_type(const Descriptor *section, MPI_Datatype datatype)
{
    MPI_Count size, lb, extent;
    MPI_Datatype element = MPI_DATATYPE_NULL;
    if (MPI_Type_size_c(datatype, &size) != MPI_SUCCESS) return element;
    MPI_Type_get_true_extent_c(datatype, &lb, &extent);
    if (size == 0 || lb != 0 || extent != size || section->element_bytes % (size_t)size != 0) return element;
    MPI_Type_contiguous_c((MPI_Count)section->element_bytes / size, datatype, &element);
    return element;
}

int section_needs_copy(const Descriptor *section, MPI_Count count, MPI_Datatype datatype)
{
    MPI_Count size, lb, extent, true_lb, true_extent;
    if (count <= 0 || MPI_Type_size_c(datatype, &size) != MPI_SUCCESS) return 0;
    MPI_Type_get_extent_c(datatype, &lb, &extent);
    MPI_Type_get_true_extent_c(datatype, &true_lb, &true_extent);
    int has_gaps = true_lb != 0 || true_extent != size || extent != size;
    int divides = size > 0 && section->element_bytes % (size_t)size == 0 &&
        count * size % (MPI_Count)section->element_bytes == 0;
    MPI_Count end = true_lb + true_extent + (count - 1) * extent;
    return (has_gaps || !divides) && true_lb >= 0 && end <= (MPI_Count)section_bytes(section);
}

int section_type(const Descriptor *section, MPI_Count count, MPI_Datatype datatype, MPI_Datatype *made,
    const Call *call)
{
    MPI_Count size;
    *made = MPI_DATATYPE_NULL;
    int code = MPI_Type_size_c(datatype, &size);
    if (code != MPI_SUCCESS) return code;
    MPI_Datatype element = element_type(section, datatype);
    if (element == MPI_DATATYPE_NULL)
        return section_error(call, "a datatype that has gaps, or does not divide the elements, cannot be laid over "
            "this strided section of %zu bytes", section_bytes(section));
    MPI_Count elements = count * size / (MPI_Count)section->element_bytes;
    if ((size_t)elements > section_elements(section))
        code = section_error(call, "%lld elements are more than the %zu of the strided section",
            (long long)elements, section_elements(section));
    else if (elements * (MPI_Count)section->element_bytes != count * size)
        code = section_error(call, "the count ends within an element of the strided section");
    else if (elements == 0)
        code = MPI_Type_contiguous_c(0, datatype, made);
    else
        code = leading(section, section->rank, elements, element, made);
    MPI_Type_free(&element);
    return code == MPI_SUCCESS ? MPI_Type_commit(made) : code;
}

/* ------------------------------------------------------------ the copies */

/* Copies the dimensions below `rank` at `place`; gives where the dense copy goes on. */
static char *gather(const Descriptor *section, int rank, const char *place, char *dense)
{
    if (rank == 0) {
        memcpy(dense, place, section->element_bytes);
        return dense + section->element_bytes;
    }
    const Dimension *dim = &section->dim[rank - 1];
    for (ptrdiff_t i = 0; i < dim->extent; i++) dense = gather(section, rank - 1, place + i * dim->stride, dense);
    return dense;
}

static void put_back(char *place, const char *dense, const char *before, size_t bytes)
{
    if (memcmp(dense, before, bytes) == 0) return;
    for (size_t i = 0; i < bytes; i++)
        if (dense[i] != before[i]) place[i] = dense[i];
}

/* The same the other way; `shift` bytes behind each element of the copy is what it was before. */
static const char *scatter(const Descriptor *section, int rank, char *place, const char *dense, ptrdiff_t shift)
{
    if (rank == 0) {
        put_back(place, dense, dense + shift, section->element_bytes);
        return dense + section->element_bytes;
    }
    const Dimension *dim = &section->dim[rank - 1];
    for (ptrdiff_t i = 0; i < dim->extent; i++)
        dense = scatter(section, rank - 1, place + i * dim->stride, dense, shift);
    return dense;
}

void section_gather(const Descriptor *section, void *dense)
{
    gather(section, section->rank, section->base, dense);
}

void section_scatter(const Descriptor *section, const void *dense, const void *before)
{
    scatter(section, section->rank, section->base, dense, (const char *)before - (const char *)dense);
}

/* ------------------------------------------------------------ errors */

/* `MPI_Send` of `pmpi_send_f08ts` or `pmpi_send_c_f08ts`. */
static void call_name(const char *function, char *name, size_t room)
{
    snprintf(name, room, "MPI_%s", function + strlen("pmpi_"));
    char *end = strstr(name, "_c_f08ts");
    if (end == NULL) end = strstr(name, "_f08ts");
    if (end != NULL) *end = '\0';
    name[strlen("MPI_")] = (char)toupper((unsigned char)name[strlen("MPI_")]);
}

/* An error code of its own has the text, for MPI_Error_string too. One that says the same serves again. */
static int code_of(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char known[MPI_MAX_ERROR_STRING];
    static int code = MPI_ERR_BUFFER;
    pthread_mutex_lock(&lock);
    if (strcmp(known, text) != 0 && MPI_Add_error_code(MPI_ERR_BUFFER, &code) == MPI_SUCCESS) {
        MPI_Add_error_string(code, text);
        strcpy(known, text);
    }
    int found = code;
    pthread_mutex_unlock(&lock);
    return found;
}

/* What belongs to no object is an error of MPI_COMM_SELF (section 9.3), which only MPI_Init makes. */
static void raise(const Call *call, int code)
{
    int has_self = 0;
    if (call->comm != NULL)
        MPI_Comm_call_errhandler(MPI_Comm_fromint(*call->comm), code);
    else if (call->session != NULL)
        MPI_Session_call_errhandler(MPI_Session_fromint(*call->session), code);
    else if (call->win != NULL)
        MPI_Win_call_errhandler(MPI_Win_fromint(*call->win), code);
    else if (call->fh != NULL)
        MPI_File_call_errhandler(MPI_File_fromint(*call->fh), code);
    else if (MPI_Initialized(&has_self) == MPI_SUCCESS && has_self)
        MPI_Comm_call_errhandler(MPI_COMM_SELF, code);
}

int section_error(const Call *call, const char *why, ...)
{
    if (!is_ready(MPI_BYTE)) return MPI_SUCCESS;
    char name[64], reason[256], text[MPI_MAX_ERROR_STRING];
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(reason, sizeof reason, why, arguments);
    va_end(arguments);
    call_name(call->function, name, sizeof name);
    snprintf(text, sizeof text, "%s: %s: pass a contiguous array, or copy the section to one first", name, reason);
    int code = code_of(text);
    raise(call, code);
    return code;
}
