/* Strings of Fortran: without a final null, blank padded. */
#include "glue.h"

#include <string.h>

char *text(TextIn at, size_t length)
{
    while (length > 0 && *at == ' ') at++, length--;
    return words(at, length);
}

char *words(TextIn at, size_t length)
{
    while (length > 0 && at[length - 1] == ' ') length--;
    char *made = malloc(length + 1);
    if (made == NULL) abort();
    memcpy(made, at, length);
    made[length] = '\0';
    return made;
}

void pad(TextOut at, size_t length, const char *from)
{
    size_t n = strlen(from);
    if (n > length) n = length;
    memcpy(at, from, n);
    memset(at + n, ' ', length - n);
}

void pad_within(TextOut at, size_t length, const char *from, Out resultlen)
{
    pad(at, length, from);
    if (*resultlen > 0 && (size_t)*resultlen > length) *resultlen = (MPI_Fint)length;
}
