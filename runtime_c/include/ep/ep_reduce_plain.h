/* SPDX-License-Identifier: Apache-2.0 */
/** Reductions of the element types no vector kernel has; descriptor and contract as in ep_reduce.h.
 *  Integer sums and products wrap around; Mean truncates; L2 is the whole part of the root. */
#ifndef EP_REDUCE_PLAIN_H
#define EP_REDUCE_PLAIN_H

#include "ep_reduce.h"

/** Largest r with r * r <= x. */
EP_INLINE uint64_t ep_root_u64(const uint64_t x)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit != 0; bit >>= 1) {
        const uint64_t tried = root | bit;
        if (tried * tried <= x) {
            root = tried;
        }
    }
    return root;
}

/* MATH is the type sums are kept in: unsigned for integers, where wrapping around is defined.  LOWEST and HIGHEST start
 * Max and Min; FINISH(sum, count, op) ends the reduction. */
#define EP_REDUCE_PLAIN(NAME, TYPE, MATH, LOWEST, HIGHEST, ABS, FINISH)                                                \
    EP_INLINE MATH NAME##_take(const MATH acc, const TYPE x, const int op)                                             \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case EP_REDUCE_MAX:                                                                                            \
            return x > (TYPE)acc || x != x ? (MATH)x : acc;                                                            \
        case EP_REDUCE_MIN:                                                                                            \
            return x < (TYPE)acc || x != x ? (MATH)x : acc;                                                            \
        case EP_REDUCE_PROD:                                                                                           \
            return acc * (MATH)x;                                                                                      \
        case EP_REDUCE_L1:                                                                                             \
            return acc + ABS(x, MATH);                                                                                 \
        case EP_REDUCE_L2:                                                                                             \
        case EP_REDUCE_SUM_SQUARE:                                                                                     \
            return acc + (MATH)x * (MATH)x;                                                                            \
        default:                                                                                                       \
            return acc + (MATH)x;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    /** Range over the kept axes. */                                                                                   \
    EP_INLINE void NAME(TYPE *EP_RESTRICT y, const TYPE *EP_RESTRICT x, const ep_reduce_desc d, const ptrdiff_t begin, \
                        const ptrdiff_t end)                                                                           \
    {                                                                                                                  \
        const TYPE start = (TYPE)(d.op == EP_REDUCE_MAX    ? (LOWEST)                                                  \
                                  : d.op == EP_REDUCE_MIN  ? (HIGHEST)                                                 \
                                  : d.op == EP_REDUCE_PROD ? 1                                                         \
                                                           : 0);                                                       \
        for (ptrdiff_t o = begin; o < end; o++) {                                                                      \
            const TYPE *from = x + ep_reduce_offset(o, d.keep, d.keep_step);                                           \
            for (ptrdiff_t c = 0; c < d.columns; c++) {                                                                \
                MATH acc = (MATH)start;                                                                                \
                for (ptrdiff_t r = 0; r < d.repeat; r++) {                                                             \
                    const TYPE *row = from + ep_reduce_offset(r, d.reduce, d.reduce_step) + c;                         \
                    for (ptrdiff_t p = 0; p < d.row; p++) {                                                            \
                        acc = NAME##_take(acc, row[p], d.op);                                                          \
                    }                                                                                                  \
                }                                                                                                      \
                y[o * d.columns + c] = (TYPE)FINISH(acc, (TYPE)acc, TYPE, d);                                          \
            }                                                                                                          \
        }                                                                                                              \
    }

#define EP_REDUCE_ABS_SIGNED(x, math) ((x) < 0 ? (math)0 - (math)(x) : (math)(x))
#define EP_REDUCE_ABS_UNSIGNED(x, math) ((math)(x))
#define EP_REDUCE_FINISH_INT(sum, value, type, d)                                                                      \
    ((d).op == EP_REDUCE_MEAN && (d).row * (d).repeat != 0 ? (type)((value) / (type)((d).row * (d).repeat))            \
     : (d).op == EP_REDUCE_L2                              ? (type)ep_root_u64((uint64_t)(sum))                        \
                                                           : (value))
#define EP_REDUCE_FINISH_F64(sum, value, type, d)                                                                      \
    ((d).op == EP_REDUCE_MEAN      ? (value) / (double)((d).row * (d).repeat)                                          \
     : (d).op == EP_REDUCE_L2      ? ep_sqrt_f64(value)                                                                \
     : (d).op == EP_REDUCE_LOG_SUM ? ep_log_f64(value)                                                                 \
                                   : (value))

EP_REDUCE_PLAIN(ep_reduce_f64, double, double, -__builtin_inf(), __builtin_inf(), EP_REDUCE_ABS_SIGNED,
                EP_REDUCE_FINISH_F64)
EP_REDUCE_PLAIN(ep_reduce_i64, int64_t, uint64_t, INT64_MIN, INT64_MAX, EP_REDUCE_ABS_SIGNED, EP_REDUCE_FINISH_INT)
EP_REDUCE_PLAIN(ep_reduce_u64, uint64_t, uint64_t, 0, UINT64_MAX, EP_REDUCE_ABS_UNSIGNED, EP_REDUCE_FINISH_INT)
EP_REDUCE_PLAIN(ep_reduce_i32, int32_t, uint32_t, INT32_MIN, INT32_MAX, EP_REDUCE_ABS_SIGNED, EP_REDUCE_FINISH_INT)
EP_REDUCE_PLAIN(ep_reduce_u32, uint32_t, uint32_t, 0, UINT32_MAX, EP_REDUCE_ABS_UNSIGNED, EP_REDUCE_FINISH_INT)
EP_REDUCE_PLAIN(ep_reduce_i8, int8_t, int32_t, INT8_MIN, INT8_MAX, EP_REDUCE_ABS_SIGNED, EP_REDUCE_FINISH_INT)
EP_REDUCE_PLAIN(ep_reduce_u8, uint8_t, int32_t, 0, UINT8_MAX, EP_REDUCE_ABS_UNSIGNED, EP_REDUCE_FINISH_INT)

#undef EP_REDUCE_PLAIN

/** log(sum exp(x)) in two passes: the largest value first, so that no exponential overflows.  Range over the kept axes. */
EP_INLINE void ep_reduce_log_sum_exp_f64(double *EP_RESTRICT y, const double *EP_RESTRICT x, const ep_reduce_desc d,
                                         const ptrdiff_t begin, const ptrdiff_t end)
{
    ep_reduce_desc pass = d;
    pass.op = EP_REDUCE_MAX;
    ep_reduce_f64(y, x, pass, begin, end);
    for (ptrdiff_t o = begin; o < end; o++) {
        for (ptrdiff_t c = 0; c < d.columns; c++) {
            const double *from = x + ep_reduce_offset(o, d.keep, d.keep_step) + c;
            const double high = y[o * d.columns + c];
            const double shift = ep_isinf_f64(high) ? 0.0 : high;
            double sum = 0.0;
            for (ptrdiff_t r = 0; r < d.repeat; r++) {
                const double *row = from + ep_reduce_offset(r, d.reduce, d.reduce_step);
                for (ptrdiff_t p = 0; p < d.row; p++) {
                    sum += ep_exp_f64(row[p] - shift);
                }
            }
            y[o * d.columns + c] = ep_log_f64(sum) + shift;
        }
    }
}

#endif
