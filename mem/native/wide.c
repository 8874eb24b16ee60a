/* Reductions for which 512-bit registers have instructions that narrower ones lack: the product of 64-bit integers,
 * and choices among pairs of a double and an int. The oldest compiler of Rust that we support has no names for these
 * registers.
 *
 * Memory needs no alignment. Each step of a kernel (mem/src/op/kernel.rs) reads all that it needs before it writes, so
 * the result may take an operand's place.
 */

#if defined(__x86_64__)

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WIDE __attribute__((target("avx512f,avx512dq")))

enum {
    BYTES = 64, /* of a register: so many words, or pairs of words */
    WORDS = 8,
    PAIRS = 4,
    PAIR_BYTES = BYTES / PAIRS,
    PAIR_DATA_BYTES = sizeof(double) + sizeof(int),
    DATA = 0x7777, /* of the quarters of pairs, those that are not padding */
};

/* A register full. The compiler would load it again for each use; where both halves of such a load lie in lines that
 * are still on their way from memory, that takes three times as long. */
WIDE static inline __attribute__((always_inline)) __m512i load(const char *from) {
    __m512i x = _mm512_loadu_si512(from);
    __asm__("" : "+v"(x));
    return x;
}

/* What is left at the end comes and goes by itself: what somebody has just written cannot be loaded under a mask before
 * it has reached the cache. */
WIDE void tern_wide_int64_prod(const char *a, const char *b, char *out, size_t count) {
    for (; count >= WORDS; count -= WORDS) {
        _mm512_storeu_si512(out, _mm512_mullo_epi64(load(a), load(b)));
        a += BYTES, b += BYTES, out += BYTES;
    }
    for (; count > 0; count--) {
        uint64_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        x *= y;
        __asm__("" : "+r"(x)); /* else the compiler makes vectors of this, too */
        memcpy(out, &x, sizeof x);
        a += sizeof x, b += sizeof x, out += sizeof x;
    }
}

/* The words of `x` that are chosen; those of a pair go together. */
typedef __mmask8 choice(__m512i x, __m512i y);
/* Whether that is the first of two pairs. */
typedef int first(const char *a, const char *b);

/* Where the result takes the place of an operand that is chosen as a whole, there is nothing to write. The padding of
 * the result is the program's and stays as it is; behind the data of the last pair there may be no memory. */
WIDE static inline __attribute__((always_inline)) void choose(const char *a, const char *b, char *out, size_t count,
                                                              choice *chosen, first *is_first) {
    for (; count > PAIRS; count -= PAIRS) {
        const __m512i x = load(a), y = load(b);
        const __mmask8 of_x = chosen(x, y);
        if (of_x || b != out) {
            const __m512i old = b == out ? y : load(out);
            _mm512_storeu_si512(out, _mm512_mask_blend_epi32(DATA, old, _mm512_mask_blend_epi64(of_x, y, x)));
        }
        a += BYTES, b += BYTES, out += BYTES;
    }
    for (; count > 0; count--) {
        const char *from = is_first(a, b) ? a : b;
        if (from != out) {
            memcpy(out, from, PAIR_DATA_BYTES);
        }
        a += PAIR_BYTES, b += PAIR_BYTES, out += PAIR_BYTES;
    }
}

static inline double value_of(const char *pair) {
    double value;
    memcpy(&value, pair, sizeof value);
    return value;
}

static inline int index_of(const char *pair) {
    int index;
    memcpy(&index, pair + sizeof(double), sizeof index);
    return index;
}

/* Of equal values, the one with the lower index (MPI 5.0, section 6.9.4). Numbers at the top of their words compare as
 * they do by themselves, whatever the padding holds. */
#define BY_VALUE(name, operator, order)                                                              \
    WIDE static inline __mmask8 name(__m512i x, __m512i y) {                                         \
        const __m512d x_value = _mm512_movedup_pd(_mm512_castsi512_pd(x));                           \
        const __m512d y_value = _mm512_movedup_pd(_mm512_castsi512_pd(y));                           \
        const __m512i x_index = _mm512_slli_epi64(_mm512_unpackhi_epi64(x, x), 32);                  \
        const __m512i y_index = _mm512_slli_epi64(_mm512_unpackhi_epi64(y, y), 32);                  \
        const __mmask8 equal = _mm512_cmp_pd_mask(x_value, y_value, _CMP_EQ_OQ);                     \
        const __mmask8 lower = _mm512_mask_cmplt_epi64_mask(equal, x_index, y_index);                \
        return (__mmask8)(_mm512_cmp_pd_mask(x_value, y_value, order) | lower);                      \
    }                                                                                                \
    static inline int name##_of_two(const char *a, const char *b) {                                  \
        const double x = value_of(a), y = value_of(b);                                               \
        return x operator y || (x == y && index_of(a) < index_of(b));                            \
    }

BY_VALUE(least, <, _CMP_LT_OQ)
BY_VALUE(greatest, >, _CMP_GT_OQ)

WIDE void tern_wide_double_int_minloc(const char *a, const char *b, char *out, size_t count) {
    choose(a, b, out, count, least, least_of_two);
}

WIDE void tern_wide_double_int_maxloc(const char *a, const char *b, char *out, size_t count) {
    choose(a, b, out, count, greatest, greatest_of_two);
}

#endif
