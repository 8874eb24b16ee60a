// The least that a reduction costs: see reduce_local.c.
#define RAW
#include "reduce_local.c"
