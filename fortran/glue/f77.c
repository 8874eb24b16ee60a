/* All functions as mpif.h calls them, and those without buffers as the modules do: see glue.h. */
#define F77
#include "chapters.h"
