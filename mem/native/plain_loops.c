/* The loops that `examples/reduce_speed.rs` compares with: what a C programmer would write, for every operation and
 * type. */

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAIN(name, op, type, result)                                                                \
    void plain_##name##_##op(const type *in, type *inout, size_t count) {                            \
        for (size_t i = 0; i < count; i++) {                                                         \
            const type a = in[i], b = inout[i];                                                      \
            inout[i] = (type)(result);                                                               \
        }                                                                                            \
    }

#define ARITHMETIC(name, type) PLAIN(name, sum, type, a + b) PLAIN(name, prod, type, a * b)
#define ORDER(name, type) PLAIN(name, min, type, a < b ? a : b) PLAIN(name, max, type, a > b ? a : b)
#define BITS(name, type)                                                                             \
    PLAIN(name, band, type, a & b) PLAIN(name, bor, type, a | b) PLAIN(name, bxor, type, a ^ b)
#define LOGIC(name, type)                                                                            \
    PLAIN(name, land, type, a && b) PLAIN(name, lor, type, a || b) PLAIN(name, lxor, type, !a != !b)

#define INTEGER(name, type) ARITHMETIC(name, type) ORDER(name, type) BITS(name, type) LOGIC(name, type)
#define REAL(name, type) ARITHMETIC(name, type) ORDER(name, type)

INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(i32, int32_t)
INTEGER(i64, int64_t)
INTEGER(u8, uint8_t)
INTEGER(u16, uint16_t)
INTEGER(u32, uint32_t)
INTEGER(u64, uint64_t)
#if defined(__SIZEOF_INT128__)
INTEGER(i128, __int128)
#endif

REAL(f32, float)
REAL(f64, double)
REAL(longdouble, long double)
ARITHMETIC(complexf32, float complex)
ARITHMETIC(complexf64, double complex)
ARITHMETIC(complexlongdouble, long double complex)

#if defined(__FLT16_MANT_DIG__)
REAL(f16, _Float16)
ARITHMETIC(complexf16, _Float16 _Complex)
#endif
#if defined(__SIZEOF_FLOAT128__) && !defined(__clang__)
REAL(f128, _Float128)
ARITHMETIC(complexf128, _Complex _Float128)
#endif

#define LOCATE(name, type, index_type)                                                               \
    struct name {                                                                                    \
        type value;                                                                                  \
        index_type index;                                                                            \
    };                                                                                               \
    void plain_##name##_minloc(const struct name *in, struct name *inout, size_t count) {            \
        for (size_t i = 0; i < count; i++) {                                                         \
            const struct name a = in[i], b = inout[i];                                               \
            inout[i] = a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b;       \
        }                                                                                            \
    }                                                                                                \
    void plain_##name##_maxloc(const struct name *in, struct name *inout, size_t count) {            \
        for (size_t i = 0; i < count; i++) {                                                         \
            const struct name a = in[i], b = inout[i];                                               \
            inout[i] = a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b;       \
        }                                                                                            \
    }

LOCATE(floatint, float, int)
LOCATE(doubleint, double, int)
LOCATE(longint, long, int)
LOCATE(twoint, int, int)
LOCATE(shortint, short, int)
LOCATE(longdoubleint, long double, int)
LOCATE(tworeal, float, float)
LOCATE(twodoubleprecision, double, double)
LOCATE(twointeger, int32_t, int32_t)
