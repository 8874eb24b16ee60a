/* The functions with buffers as the modules call them: see glue.h. */
#define TS
#include "chapters.h"
