/* The common blocks of Open MPI have the names of the standard ABI's, and its keys of attributes are the
 * same in Fortran. */
#define KEYVAL(number) (number)
