/* The loop that `examples/reduce_speed.rs` compares with: what a C programmer would write. */

#include <stddef.h>

void plain_sum(const double *in, double *inout, size_t count) {
    for (size_t i = 0; i < count; i++)
        inout[i] = in[i] + inout[i];
}
