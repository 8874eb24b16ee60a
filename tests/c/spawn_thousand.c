/* A pool of workers that lives for long: a thousand worlds come and go (MPI-5.0 section 11.10.4), and nothing is left
 * of them.
 * ranks: 1
 * timeout: 900
 * heavy
 */
#define TURNS 1000
#include "spawn_pool.c"
