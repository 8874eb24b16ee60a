/* Reductions of long double and of IEEE binary128, which Rust has no types for, and the conversion
 * between the two.
 *
 * Memory may be unaligned, so elements come and go through memcpy. Only the bytes that hold a number are
 * written: x87 leaves six of sixteen unused, and what lies there is nobody's business.
 */

#include <float.h>
#include <stddef.h>
#include <stdint.h>
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

/* What is behind the first word of a number. */
#if LDBL_MANT_DIG == 64
typedef uint16_t long_double_end;
#elif LDBL_MANT_DIG == 113
typedef uint64_t long_double_end;
#else
#error "long double is neither x87 extended precision nor IEEE binary128 here"
#endif

enum { LONG_DOUBLE_BYTES = sizeof(uint64_t) + sizeof(long_double_end) };

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

KERNEL(quad, sum, a + b)
KERNEL(quad, prod, a * b)
KERNEL(quad, min, a < b ? a : b)
KERNEL(quad, max, a > b ? a : b)

KERNEL(long_double_complex, sum, a + b)
KERNEL(long_double_complex, prod, a * b)
KERNEL(quad_complex, sum, a + b)
KERNEL(quad_complex, prod, a * b)

/* `above` where x > y, `level` where they are equal, else `below`, also where one is no number. The compiler would
 * compare twice and jump, which costs several times as much where nobody can tell which is greater. */
static inline const char *by_order(long_double x, long_double y, const char *above, const char *level,
                                   const char *below) {
#if defined(__x86_64__) && LDBL_MANT_DIG == 64
    __asm__("fucomip %[y], %[x]\n\t"
            "fstp %%st(0)\n\t"
            "cmovae %[level], %[below]\n\t"
            "cmova %[above], %[below]"
            : [below] "+r"(below)
            : [x] "t"(x), [y] "u"(y), [level] "r"(level), [above] "r"(above)
            : "cc", "st", "st(1)");
    return below;
#else
    return x > y ? above : x == y ? level : below;
#endif
}

static const char *lesser(const char *a, const char *b) {
    return by_order(load_long_double(b), load_long_double(a), a, b, b);
}

static const char *greater(const char *a, const char *b) {
    return by_order(load_long_double(a), load_long_double(b), a, b, b);
}

static int index_of(const char *from) {
    int index;
    memcpy(&index, from + offsetof(long_double_int, index), sizeof index);
    return index;
}

/* Of equal values, the one with the lower index (MPI 5.0, section 6.9.4). */
static const char *first_of_equals(const char *a, const char *b) {
    return b + ((a - b) & -(ptrdiff_t)(index_of(a) < index_of(b)));
}

static const char *lesser_first(const char *a, const char *b) {
    return by_order(load_long_double(b), load_long_double(a), a, first_of_equals(a, b), b);
}

static const char *greater_first(const char *a, const char *b) {
    return by_order(load_long_double(a), load_long_double(b), a, first_of_equals(a, b), b);
}

static void copy_long_double(char *to, const char *from) {
    uint64_t start;
    long_double_end end;
    memcpy(&start, from, sizeof start);
    memcpy(&end, from + sizeof start, sizeof end);
    memcpy(to, &start, sizeof start);
    memcpy(to + sizeof start, &end, sizeof end);
}

static void copy_long_double_int(char *to, const char *from) {
    const int index = index_of(from);
    copy_long_double(to, from);
    memcpy(to + offsetof(long_double_int, index), &index, sizeof index);
}

/* A kernel whose results are each an element of `a` or `b`. */
#define CHOICE(type, op, chosen)                                                                     \
    void tern_##type##_##op(const char *a, const char *b, char *out, size_t count) {                 \
        for (size_t i = 0; i < count; i++) {                                                         \
            const size_t at = i * sizeof(type);                                                      \
            copy_##type(out + at, chosen(a + at, b + at));                                           \
        }                                                                                            \
    }

CHOICE(long_double, min, lesser)
CHOICE(long_double, max, greater)
CHOICE(long_double_int, minloc, lesser_first)
CHOICE(long_double_int, maxloc, greater_first)

void tern_long_double_to_quad(const char *long_double, char *to) {
    store_quad(to, (quad)load_long_double(long_double));
}

void tern_long_double_from_quad(const char *from, char *long_double) {
    store_long_double(long_double, (long double)load_quad(from));
}
