/* Reductions of long double and of IEEE binary128, which Rust has no types for, and the conversion
 * between the two.
 *
 * Memory may be unaligned, so elements come and go through memcpy. Only the bytes that hold a number are
 * written: x87 leaves six of sixteen unused, and what lies there is nobody's business.
 */

#include <float.h>
#include <stddef.h>
#include <string.h>

#if LDBL_MANT_DIG == 113
typedef long double quad;
typedef long double _Complex quad_complex;
#elif defined(__clang__)
typedef __float128 quad;
typedef _Complex __float128 quad_complex;
#else
typedef _Float128 quad;
typedef _Complex _Float128 quad_complex;
#endif

typedef long double long_double;
typedef long double _Complex long_double_complex;

typedef struct {
    long double value;
    int index;
} long_double_int;

#if LDBL_MANT_DIG == 64
enum { LONG_DOUBLE_BYTES = 10 };
#elif LDBL_MANT_DIG == 113
enum { LONG_DOUBLE_BYTES = 16 };
#else
#error "long double is neither x87 extended precision nor IEEE binary128 here"
#endif

_Static_assert(sizeof(long double) == 16, "mem/src/basic.rs says that a long double takes 16 bytes");
_Static_assert(sizeof(quad) == 16, "binary128 takes 16 bytes");

static long_double load_long_double(const char *from) {
    long_double x;
    memcpy(&x, from, sizeof x);
    return x;
}

static void store_long_double(char *to, long_double x) {
    memcpy(to, &x, LONG_DOUBLE_BYTES);
}

static quad load_quad(const char *from) {
    quad x;
    memcpy(&x, from, sizeof x);
    return x;
}

static void store_quad(char *to, quad x) {
    memcpy(to, &x, sizeof x);
}

static long_double_complex load_long_double_complex(const char *from) {
    long_double_complex x;
    memcpy(&x, from, sizeof x);
    return x;
}

static void store_long_double_complex(char *to, long_double_complex x) {
    store_long_double(to, __real__ x);
    store_long_double(to + sizeof(long_double), __imag__ x);
}

static quad_complex load_quad_complex(const char *from) {
    quad_complex x;
    memcpy(&x, from, sizeof x);
    return x;
}

static void store_quad_complex(char *to, quad_complex x) {
    memcpy(to, &x, sizeof x);
}

static long_double_int load_long_double_int(const char *from) {
    long_double_int x;
    memcpy(&x.value, from, sizeof x.value);
    memcpy(&x.index, from + offsetof(long_double_int, index), sizeof x.index);
    return x;
}

static void store_long_double_int(char *to, long_double_int x) {
    store_long_double(to, x.value);
    memcpy(to + offsetof(long_double_int, index), &x.index, sizeof x.index);
}

/* out[i] = combined a[i] and b[i], for count elements; a kernel as mem/src/op/kernel.rs defines it. */
#define KERNEL(type, op, combined)                                                                   \
    void tern_##type##_##op(const char *in_a, const char *in_b, char *out, size_t count) {           \
        for (size_t i = 0; i < count; i++) {                                                         \
            const type a = load_##type(in_a + i * sizeof(type));                                     \
            const type b = load_##type(in_b + i * sizeof(type));                                     \
            store_##type(out + i * sizeof(type), combined);                                          \
        }                                                                                            \
    }

KERNEL(long_double, sum, a + b)
KERNEL(long_double, prod, a * b)
KERNEL(long_double, min, a < b ? a : b)
KERNEL(long_double, max, a > b ? a : b)

KERNEL(quad, sum, a + b)
KERNEL(quad, prod, a * b)
KERNEL(quad, min, a < b ? a : b)
KERNEL(quad, max, a > b ? a : b)

KERNEL(long_double_complex, sum, a + b)
KERNEL(long_double_complex, prod, a * b)
KERNEL(quad_complex, sum, a + b)
KERNEL(quad_complex, prod, a * b)

/* Of equal values, the one with the lower index (MPI 5.0, section 6.9.4). */
static int first_of_equals(long_double_int a, long_double_int b) {
    return a.value == b.value && a.index < b.index;
}

KERNEL(long_double_int, minloc, a.value < b.value || first_of_equals(a, b) ? a : b)
KERNEL(long_double_int, maxloc, a.value > b.value || first_of_equals(a, b) ? a : b)

void tern_long_double_to_quad(const char *long_double, char *to) {
    store_quad(to, (quad)load_long_double(long_double));
}

void tern_long_double_from_quad(const char *from, char *long_double) {
    store_long_double(long_double, (long double)load_quad(from));
}
