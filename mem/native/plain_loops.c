/* The loops that `examples/reduce_speed.rs` compares with: what a C programmer would write. */

#include <complex.h>
#include <stddef.h>
#include <stdint.h>

#define PLAIN(name, type, result)                                                                    \
    void plain_##name(const type *in, type *inout, size_t count) {                                   \
        for (size_t i = 0; i < count; i++) {                                                         \
            const type a = in[i], b = inout[i];                                                      \
            inout[i] = (result);                                                                     \
        }                                                                                            \
    }

struct double_int {
    double value;
    int index;
};

struct int_int {
    int value, index;
};

PLAIN(double_sum, double, a + b)
PLAIN(double_max, double, a > b ? a : b)
PLAIN(float_sum, float, a + b)
PLAIN(int32_sum, int32_t, a + b)
PLAIN(int64_prod, int64_t, a * b)
PLAIN(uint8_bor, uint8_t, a | b)
PLAIN(int16_min, int16_t, a < b ? a : b)
PLAIN(int32_land, int32_t, a && b)
PLAIN(double_complex_prod, double complex, a * b)
PLAIN(int_int_minloc, struct int_int,
      a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b)
PLAIN(double_int_maxloc, struct double_int,
      a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b)
