/* The functions with large counts, which only mpi_f08 has: see glue.h. */
#define TS
#define LARGE
#include "chapters.h"
