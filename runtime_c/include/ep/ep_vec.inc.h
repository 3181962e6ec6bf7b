/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of ep_vec.h for one width, EP_VW; see there for the contracts. */
#include "ep_width.inc.h"

EP_INLINE EP_F EP_FN(ep_splat)(float s)
{
#if EP_VW == 1
    return s;
#else
    return s - (EP_F){0}; /* not s + 0: that loses the sign of -0 */
#endif
}

EP_INLINE EP_I EP_FN(ep_mask)(int truth)
{
    const EP_F value = EP_FN(ep_splat)((float)truth);
    return EP_MASK(value != 0.0f);
}

#if EP_VW == 1
EP_INLINE float EP_FN(ep_load)(const void *p)
{
    typedef float alias_float __attribute__((may_alias));
    return *(const alias_float *)p;
}

EP_INLINE void EP_FN(ep_store)(void *p, float v)
{
    typedef float alias_float __attribute__((may_alias));
    *(alias_float *)p = v;
}

EP_INLINE float EP_FN(ep_load_part)(const void *p, ptrdiff_t n)
{
    return n > 0 ? EP_FN(ep_load)(p) : 0.0f;
}

EP_INLINE void EP_FN(ep_store_part)(void *p, float v, ptrdiff_t n)
{
    if (n > 0) {
        EP_FN(ep_store)(p, v);
    }
}
#else
EP_INLINE EP_F EP_FN(ep_load)(const void *p)
{
    typedef EP_F unaligned __attribute__((aligned(4)));
    return *(const unaligned *)p;
}

EP_INLINE void EP_FN(ep_store)(void *p, EP_F v)
{
    typedef EP_F unaligned __attribute__((aligned(4)));
    *(unaligned *)p = v;
}

EP_INLINE EP_F EP_FN(ep_load_part)(const void *p, ptrdiff_t n)
{
    const ep_x32 *source = (const ep_x32 *)p;
    EP_U v = {0};
    EP_UNROLL
    for (int lane = 0; lane < EP_VW; lane++) {
        if (lane < n) {
            v[lane] = source[lane];
        }
    }
    return (EP_F)v;
}

EP_INLINE void EP_FN(ep_store_part)(void *p, EP_F v, ptrdiff_t n)
{
    ep_x32 *target = (ep_x32 *)p;
    const EP_U bits = (EP_U)v;
    EP_UNROLL
    for (int lane = 0; lane < EP_VW; lane++) {
        if (lane < n) {
            target[lane] = bits[lane];
        }
    }
}
#endif

EP_INLINE EP_I EP_FN(ep_lt)(EP_F a, EP_F b)
{
    return EP_MASK(a < b);
}

EP_INLINE EP_I EP_FN(ep_le)(EP_F a, EP_F b)
{
    return EP_MASK(a <= b);
}

EP_INLINE EP_I EP_FN(ep_gt)(EP_F a, EP_F b)
{
    return EP_MASK(a > b);
}

EP_INLINE EP_I EP_FN(ep_ge)(EP_F a, EP_F b)
{
    return EP_MASK(a >= b);
}

EP_INLINE EP_I EP_FN(ep_eq)(EP_F a, EP_F b)
{
    return EP_MASK(a == b);
}

EP_INLINE EP_I EP_FN(ep_ne)(EP_F a, EP_F b)
{
    return EP_MASK(a != b);
}

EP_INLINE EP_F EP_FN(ep_abs)(EP_F v)
{
    return EP_FROM_BITS(EP_BITS(v) & 0x7fffffffu);
}

EP_INLINE EP_F EP_FN(ep_copysign)(EP_F magnitude, EP_F sign)
{
    return EP_FROM_BITS((EP_BITS(magnitude) & 0x7fffffffu) | (EP_BITS(sign) & 0x80000000u));
}

EP_INLINE EP_I EP_FN(ep_isnan)(EP_F v)
{
    return EP_MASK(v != v);
}

EP_INLINE EP_I EP_FN(ep_isinf)(EP_F v)
{
    return EP_MASK((EP_BITS(v) & 0x7fffffffu) == 0x7f800000u);
}

EP_INLINE EP_F EP_FN(ep_select)(EP_I mask, EP_F a, EP_F b)
{
#if EP_VW == 1
    return mask ? a : b;
#else
    return (EP_F)((mask & (EP_I)a) | (~mask & (EP_I)b));
#endif
}

EP_INLINE EP_F EP_FN(ep_max)(EP_F a, EP_F b)
{
#if defined(__clang__) && (defined(__aarch64__) || defined(__ARM_NEON)) && EP_VW == 4 &&                               \
    __has_builtin(__builtin_elementwise_maximum)
    return __builtin_elementwise_maximum(a, b);
#elif !defined(__clang__) && defined(__SSE2__) && EP_VW == 4
    return __builtin_ia32_maxps(a, b);
#elif !defined(__clang__) && defined(__AVX__) && EP_VW == 8
    return __builtin_ia32_maxps256(a, b);
#elif !defined(__clang__) && defined(__AVX512F__) && EP_VW == 16
    return __builtin_ia32_maxps512_mask(a, b, a, EP_ALL_LANES_16, 4);
#else
    return EP_FN(ep_select)(EP_MASK(a > b), a, b);
#endif
}

EP_INLINE EP_F EP_FN(ep_min)(EP_F a, EP_F b)
{
#if defined(__clang__) && (defined(__aarch64__) || defined(__ARM_NEON)) && EP_VW == 4 &&                               \
    __has_builtin(__builtin_elementwise_minimum)
    return __builtin_elementwise_minimum(a, b);
#elif !defined(__clang__) && defined(__SSE2__) && EP_VW == 4
    return __builtin_ia32_minps(a, b);
#elif !defined(__clang__) && defined(__AVX__) && EP_VW == 8
    return __builtin_ia32_minps256(a, b);
#elif !defined(__clang__) && defined(__AVX512F__) && EP_VW == 16
    return __builtin_ia32_minps512_mask(a, b, a, EP_ALL_LANES_16, 4);
#else
    return EP_FN(ep_select)(EP_MASK(a < b), a, b);
#endif
}

EP_INLINE EP_F EP_FN(ep_max_nan)(EP_F a, EP_F b)
{
    return EP_FN(ep_select)(EP_MASK(a != a), a, EP_FN(ep_max)(a, b));
}

EP_INLINE EP_F EP_FN(ep_min_nan)(EP_F a, EP_F b)
{
    return EP_FN(ep_select)(EP_MASK(a != a), a, EP_FN(ep_min)(a, b));
}

EP_INLINE EP_F EP_FN(ep_from_i32)(EP_I v)
{
#if EP_VW == 1
    return (float)v;
#else
    return __builtin_convertvector(v, EP_F);
#endif
}

EP_INLINE EP_I EP_FN(ep_to_i32)(EP_F v)
{
#if EP_VW == 1
    return (int32_t)v;
#else
    return __builtin_convertvector(v, EP_I);
#endif
}

/* Adding and taking away 2^23 rounds to an integer in the current mode, nearest-even; larger values are integers already. */
EP_INLINE EP_F EP_FN(ep_round)(EP_F v)
{
#if EP_HAS_ROUND && __has_builtin(__builtin_elementwise_roundeven)
    return __builtin_elementwise_roundeven(v);
#elif !defined(__clang__) && defined(__SSE4_1__) && EP_VW == 4
    return __builtin_ia32_roundps(v, 8);
#elif !defined(__clang__) && defined(__AVX__) && EP_VW == 8
    return __builtin_ia32_roundps256(v, 8);
#elif !defined(__clang__) && defined(__AVX512F__) && EP_VW == 16
    return __builtin_ia32_rndscaleps_mask(v, 8, v, EP_ALL_LANES_16, 4);
#else
    const EP_F magnitude = EP_FN(ep_abs)(v);
    const EP_F rounded = (magnitude + 8388608.0f) - 8388608.0f;
    return EP_FN(ep_select)(EP_MASK(magnitude < EP_FN(ep_splat)(8388608.0f)), EP_FN(ep_copysign)(rounded, v), v);
#endif
}

EP_INLINE EP_F EP_FN(ep_trunc)(EP_F v)
{
#if EP_HAS_ROUND && __has_builtin(__builtin_elementwise_trunc)
    return __builtin_elementwise_trunc(v);
#else
    const EP_F magnitude = EP_FN(ep_abs)(v);
    const EP_F rounded = EP_FN(ep_abs)(EP_FN(ep_round)(v));
    const EP_F down = EP_FN(ep_select)(EP_MASK(rounded > magnitude), rounded - 1.0f, rounded);
    return EP_FN(ep_copysign)(down, v);
#endif
}

EP_INLINE EP_F EP_FN(ep_floor)(EP_F v)
{
#if EP_HAS_ROUND && __has_builtin(__builtin_elementwise_floor)
    return __builtin_elementwise_floor(v);
#else
    const EP_F rounded = EP_FN(ep_round)(v);
    return EP_FN(ep_select)(EP_MASK(rounded > v), rounded - 1.0f, rounded);
#endif
}

EP_INLINE EP_F EP_FN(ep_ceil)(EP_F v)
{
#if EP_HAS_ROUND && __has_builtin(__builtin_elementwise_ceil)
    return __builtin_elementwise_ceil(v);
#else
    const EP_F rounded = EP_FN(ep_round)(v); /* copysign: ceil(-0.5) is -0 */
    return EP_FN(ep_copysign)(EP_FN(ep_select)(EP_MASK(rounded < v), rounded + 1.0f, rounded), v);
#endif
}

EP_INLINE EP_F EP_FN(ep_sqrt)(EP_F v)
{
#if EP_HAS_SQRT && defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
    return __builtin_elementwise_sqrt(v);
#elif defined(__SSE2__) && EP_VW == 1
    return __builtin_ia32_sqrtss((ep_f32x4){v})[0];
#elif defined(__SSE2__) && EP_VW == 4
    return __builtin_ia32_sqrtps(v);
#elif defined(__AVX__) && EP_VW == 8
    return __builtin_ia32_sqrtps256(v);
#elif defined(__AVX512F__) && EP_VW == 16 && !defined(__clang__)
    return __builtin_ia32_sqrtps512_mask(v, v, EP_ALL_LANES_16, 4);
#elif EP_HAS_SQRT && defined(__NO_MATH_ERRNO__) && EP_VW == 1
    return __builtin_sqrtf(v);
#elif EP_HAS_SQRT && EP_VW > 1
    EP_F root = v;
    EP_UNROLL
    for (int lane = 0; lane < EP_VW; lane++) {
        root[lane] = ep_sqrt_f32(v[lane]);
    }
    return root;
#else
    /* 1/sqrt by Newton's iteration on a scaled mantissa (so that denormals keep their bits), then one step on the root */
    const EP_I tiny = EP_MASK(v < EP_FN(ep_splat)(1.17549435e-38f));
    const EP_F x = EP_FN(ep_select)(tiny, v * 16777216.0f, v);
    EP_F r = EP_FROM_BITS(0x5f375a86u - (EP_BITS(x) >> 1));
    r = r * (1.5f - (0.5f * x * r) * r);
    r = r * (1.5f - (0.5f * x * r) * r);
    r = r * (1.5f - (0.5f * x * r) * r);
    EP_F root = x * r;
    root = root + (0.5f * r) * (x - root * root);
    root = EP_FN(ep_select)(tiny, root * 0.000244140625f, root);
    const EP_I regular = EP_MASK(v > EP_FN(ep_splat)(0.0f)) & EP_MASK(v < EP_FN(ep_splat)(EP_INF_F32));
    const EP_I negative = EP_MASK(v < EP_FN(ep_splat)(0.0f)); /* 0, -0, inf and NaN are their own roots */
    return EP_FN(ep_select)(regular, root, EP_FN(ep_select)(negative, EP_FN(ep_splat)(EP_NAN_F32), v));
#endif
}

EP_INLINE int EP_FN(ep_any)(EP_I mask)
{
#if EP_VW == 1
    return mask != 0;
#else
    int32_t any = 0;
    EP_UNROLL
    for (int lane = 0; lane < EP_VW; lane++) {
        any |= mask[lane];
    }
    return any != 0;
#endif
}

#if EP_VW == 1
EP_INLINE float EP_FN(ep_hsum)(float v)
{
    return v;
}

EP_INLINE float EP_FN(ep_hmax)(float v)
{
    return v;
}

EP_INLINE float EP_FN(ep_hmin)(float v)
{
    return v;
}
#else
/* halves: log2(width) steps instead of a chain through every lane */
#define EP_REDUCE(name, combine)                                                                                       \
    EP_INLINE float EP_FN(name)(EP_F v)                                                                                \
    {                                                                                                                  \
        EP_UNROLL                                                                                                      \
        for (int half = EP_VW / 2; half > 0; half /= 2) {                                                              \
            EP_UNROLL                                                                                                  \
            for (int lane = 0; lane < half; lane++) {                                                                  \
                v[lane] = combine(v[lane], v[lane + half]);                                                            \
            }                                                                                                          \
        }                                                                                                              \
        return v[0];                                                                                                   \
    }
#define EP_ADD(a, b) ((a) + (b))
EP_REDUCE(ep_hsum, EP_ADD)
EP_REDUCE(ep_hmax, ep_max_f32)
EP_REDUCE(ep_hmin, ep_min_f32)
#undef EP_ADD
#undef EP_REDUCE
#endif

#include "ep_width_end.inc.h"
