/* Reductions for which 512-bit registers have instructions that narrower ones lack: the product of 64-bit integers,
 * and choices among pairs of a double and an int. The oldest compiler of Rust that we support has no names for these
 * registers.
 */

#if defined(__x86_64__)

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define WIDE __attribute__((target("avx512f,avx512dq")))

enum {
    WORD_BYTES = 8,
    WORDS = 8,         /* in a register */
    ALL_WORDS = 0xff,  /* as a mask */
    VALUES = 0x55,     /* the words of pairs that hold values; an index and its padding are the word after each */
};

/* Combines `a` and `b`, of which the words of `mask` are there. */
typedef __m512i combine(__m512i a, __m512i b, __mmask8 mask);

/* Memory needs no alignment. Each step reads all that it needs before it writes, so the result may take an operand's
 * place. */
WIDE static inline __attribute__((always_inline)) void each(const char *a, const char *b, char *out,
                                                            size_t words, combine *combined) {
    for (size_t i = 0; i < words; i += WORDS) {
        const __mmask8 mask = words - i < WORDS ? (__mmask8)((1 << (words - i)) - 1) : ALL_WORDS;
        const size_t at = i * WORD_BYTES;
        if (mask == ALL_WORDS) {
            __m512i x = _mm512_loadu_si512(a + at), y = _mm512_loadu_si512(b + at);
            // The compiler would load each again for each use; where both halves of such a load lie in lines that are
            // still on their way from memory, that takes three times as long.
            __asm__("" : "+v"(x), "+v"(y));
            _mm512_storeu_si512(out + at, combined(x, y, mask));
        } else {
            const __m512i x = _mm512_maskz_loadu_epi64(mask, a + at);
            const __m512i y = _mm512_maskz_loadu_epi64(mask, b + at);
            _mm512_mask_storeu_epi64(out + at, mask, combined(x, y, mask));
        }
    }
}

WIDE static inline __m512i product(__m512i a, __m512i b, __mmask8 mask) {
    (void)mask;
    return _mm512_mullo_epi64(a, b);
}

/* Of equal values, the one with the lower index (MPI 5.0, section 6.9.4). Numbers at the top of their words compare as
 * they do by themselves, whatever the padding holds. */
#define CHOOSE(name, order)                                                                          \
    WIDE static inline __m512i name(__m512i a, __m512i b, __mmask8 mask) {                           \
        const __m512d x = _mm512_castsi512_pd(a), y = _mm512_castsi512_pd(b);                        \
        const unsigned better = _mm512_mask_cmp_pd_mask(mask & VALUES, x, y, order);                 \
        const unsigned equal = _mm512_mask_cmp_pd_mask(mask & VALUES, x, y, _CMP_EQ_OQ);             \
        const unsigned lower = _mm512_cmplt_epi64_mask(_mm512_slli_epi64(a, 32), _mm512_slli_epi64(b, 32)); \
        const unsigned first = better | (equal & lower >> 1);                                        \
        return _mm512_mask_blend_epi64((__mmask8)(first | first << 1), b, a);                        \
    }

CHOOSE(least, _CMP_LT_OQ)
CHOOSE(greatest, _CMP_GT_OQ)

/* A kernel as mem/src/op/kernel.rs defines it. */
#define KERNEL(name, words, combined)                                                                \
    WIDE void tern_wide_##name(const char *a, const char *b, char *out, size_t count) {              \
        each(a, b, out, count * (words), combined);                                                  \
    }

KERNEL(int64_prod, 1, product)
KERNEL(double_int_minloc, 2, least)
KERNEL(double_int_maxloc, 2, greatest)

#endif
