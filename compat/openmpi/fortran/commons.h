/* The common blocks of Open MPI have the names of the standard ABI's, and its keys of attributes are the
 * same in Fortran. */
#define KEYVAL(number) (number)

/* A handle is an address in C, which says nothing to a function of Fortran's: the library is told of such functions. */
void tern_function_of_fortran(int whether);
#define TAKES_FUNCTION(call) \
    do { \
        tern_function_of_fortran(1); \
        call; \
        tern_function_of_fortran(0); \
    } while (0)
