/* SPDX-License-Identifier: Apache-2.0 */
/** Integer arithmetic of ONNX without undefined behaviour, for every width: ep_<name>_i8 ... _i64, _u8 ... _u64.
 *
 *    add sub mul neg abs pow    wrap around (abs of the smallest value is itself)
 *    div                        toward zero; by 0 gives 0, the smallest value by -1 wraps
 *    mod                        the sign of the divisor (ONNX Mod); by 0 gives 0
 *    fmod                       the sign of the dividend (Mod with fmod = 1); by 0 gives 0
 *    pow                        a negative exponent rounds toward zero
 *    min max sign
 *    shl shr                    shr repeats the sign bit; by a negative amount, or the width or more, only the fill is left
 */
#ifndef EP_INT_H
#define EP_INT_H

#include "ep_base.h"

/* S: suffix, T: type, W: the unsigned type that arithmetic is done in (at least as wide as int: no promotion to signed) */
#define EP_INT_COMMON(S, T, W)                                                                                         \
    EP_INLINE T ep_add_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)((W)a + (W)b);                                                                                       \
    }                                                                                                                  \
    EP_INLINE T ep_sub_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)((W)a - (W)b);                                                                                       \
    }                                                                                                                  \
    EP_INLINE T ep_mul_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)((W)a * (W)b);                                                                                       \
    }                                                                                                                  \
    EP_INLINE T ep_neg_##S(T a)                                                                                        \
    {                                                                                                                  \
        return (T)((W)0 - (W)a);                                                                                       \
    }                                                                                                                  \
    EP_INLINE T ep_min_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)(a < b ? a : b);                                                                                     \
    }                                                                                                                  \
    EP_INLINE T ep_max_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)(a > b ? a : b);                                                                                     \
    }                                                                                                                  \
    EP_INLINE T ep_power_##S(T base, uint64_t exponent)                                                                \
    {                                                                                                                  \
        W result = 1;                                                                                                  \
        W factor = (W)base;                                                                                            \
        for (; exponent != 0; exponent >>= 1) {                                                                        \
            result = (exponent & 1) != 0 ? (W)(result * factor) : result;                                              \
            factor = (W)(factor * factor);                                                                             \
        }                                                                                                              \
        return (T)result;                                                                                              \
    }

#define EP_INT_SIGNED(S, T, W)                                                                                         \
    EP_INT_COMMON(S, T, W)                                                                                             \
    EP_INLINE T ep_abs_##S(T a)                                                                                        \
    {                                                                                                                  \
        return (T)(a < 0 ? ep_neg_##S(a) : a);                                                                         \
    }                                                                                                                  \
    EP_INLINE T ep_sign_##S(T a)                                                                                       \
    {                                                                                                                  \
        return (T)((a > 0) - (a < 0));                                                                                 \
    }                                                                                                                  \
    EP_INLINE T ep_div_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)(b == 0 ? 0 : b == -1 ? ep_neg_##S(a) : a / b);                                                      \
    }                                                                                                                  \
    EP_INLINE T ep_fmod_##S(T a, T b)                                                                                  \
    {                                                                                                                  \
        return (T)(b == 0 || b == -1 ? 0 : a % b);                                                                     \
    }                                                                                                                  \
    EP_INLINE T ep_mod_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        const T rest = ep_fmod_##S(a, b);                                                                              \
        return (T)(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);                                              \
    }                                                                                                                  \
    EP_INLINE T ep_pow_##S(T base, int64_t exponent)                                                                   \
    {                                                                                                                  \
        if (exponent >= 0) {                                                                                           \
            return ep_power_##S(base, (uint64_t)exponent);                                                             \
        }                                                                                                              \
        return (T)(base == 1 ? 1 : base != -1 ? 0 : (exponent & 1) != 0 ? -1 : 1);                                     \
    }                                                                                                                  \
    EP_INLINE T ep_shl_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)(b >= 0 && (W)b < 8 * sizeof(T) ? (W)a << b : 0);                                                    \
    }                                                                                                                  \
    EP_INLINE T ep_shr_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)(b >= 0 && (W)b < 8 * sizeof(T) ? a >> b : a < 0 ? -1 : 0);                                          \
    }

#define EP_INT_UNSIGNED(S, T, W)                                                                                       \
    EP_INT_COMMON(S, T, W)                                                                                             \
    EP_INLINE T ep_abs_##S(T a)                                                                                        \
    {                                                                                                                  \
        return a;                                                                                                      \
    }                                                                                                                  \
    EP_INLINE T ep_sign_##S(T a)                                                                                       \
    {                                                                                                                  \
        return (T)(a > 0);                                                                                             \
    }                                                                                                                  \
    EP_INLINE T ep_div_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)(b == 0 ? 0 : a / b);                                                                                \
    }                                                                                                                  \
    EP_INLINE T ep_fmod_##S(T a, T b)                                                                                  \
    {                                                                                                                  \
        return (T)(b == 0 ? 0 : a % b);                                                                                \
    }                                                                                                                  \
    EP_INLINE T ep_mod_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return ep_fmod_##S(a, b);                                                                                      \
    }                                                                                                                  \
    EP_INLINE T ep_pow_##S(T base, int64_t exponent)                                                                   \
    {                                                                                                                  \
        return (T)(exponent >= 0 ? ep_power_##S(base, (uint64_t)exponent) : base == 1);                                \
    }                                                                                                                  \
    EP_INLINE T ep_shl_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)(b < 8 * sizeof(T) ? (W)a << b : 0);                                                                 \
    }                                                                                                                  \
    EP_INLINE T ep_shr_##S(T a, T b)                                                                                   \
    {                                                                                                                  \
        return (T)(b < 8 * sizeof(T) ? (W)a >> b : 0);                                                                 \
    }

EP_INT_SIGNED(i8, int8_t, uint32_t)
EP_INT_SIGNED(i16, int16_t, uint32_t)
EP_INT_SIGNED(i32, int32_t, uint32_t)
EP_INT_SIGNED(i64, int64_t, uint64_t)
EP_INT_UNSIGNED(u8, uint8_t, uint32_t)
EP_INT_UNSIGNED(u16, uint16_t, uint32_t)
EP_INT_UNSIGNED(u32, uint32_t, uint32_t)
EP_INT_UNSIGNED(u64, uint64_t, uint64_t)

#undef EP_INT_COMMON
#undef EP_INT_SIGNED
#undef EP_INT_UNSIGNED

#endif
