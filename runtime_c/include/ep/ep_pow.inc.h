/* SPDX-License-Identifier: Apache-2.0 */
/* pow, fmod and mod for one width: what needs more than a float between; a part of ep_math.inc.h. */

/* Lane by lane in double: float alone loses the bits that a large quotient needs. */
#if EP_VW == 1
#define EP_BY_LANE(name)                                                                                               \
    EP_INLINE EP_F EP_FN(name)(EP_F x, EP_F y)                                                                         \
    {                                                                                                                  \
        return (float)name##_f64((double)x, (double)y);                                                                \
    }
#else
#define EP_BY_LANE(name)                                                                                               \
    EP_INLINE EP_F EP_FN(name)(EP_F x, EP_F y)                                                                         \
    {                                                                                                                  \
        EP_F result = x;                                                                                               \
        for (int lane = 0; lane < EP_VW; lane++) {                                                                     \
            result[lane] = (float)name##_f64((double)x[lane], (double)y[lane]);                                        \
        }                                                                                                              \
        return result;                                                                                                 \
    }
#endif
EP_BY_LANE(ep_fmod)
EP_BY_LANE(ep_mod)

#if EP_VW == 1
EP_BY_LANE(ep_pow)
#else
/* x^y = 2^(y * log2(x)) for positive, finite x: half the lanes in double, because a float exponent has too few bits.  All
 * integers stay in the bits of doubles (2^52 + k), so that no conversion between int64 and double is needed. */
typedef float EP_FN(ep_half) __attribute__((vector_size(2 * EP_VW)));
typedef double EP_FN(ep_wide) __attribute__((vector_size(4 * EP_VW)));
typedef uint64_t EP_FN(ep_wide_bits) __attribute__((vector_size(4 * EP_VW)));

EP_INLINE EP_FN(ep_half) EP_FN(ep_pow_core)(EP_FN(ep_half) base, EP_FN(ep_half) power)
{
    const EP_FN(ep_wide) x = __builtin_convertvector(base, EP_FN(ep_wide));
    const EP_FN(ep_wide) y = __builtin_convertvector(power, EP_FN(ep_wide));
    const EP_FN(ep_wide_bits) bits = (EP_FN(ep_wide_bits))x;
    /* 1024 + the exponent that leaves a mantissa in [sqrt(1/2), sqrt(2)) */
    const EP_FN(ep_wide_bits) biased = (bits - 0x3fe6a09e667f3bcdu + 0x4000000000000000u) >> 52;
    const EP_FN(ep_wide) exponent = (EP_FN(ep_wide))(biased | 0x4330000000000000u) - (4503599627370496.0 + 1024.0);
    const EP_FN(ep_wide) m = (EP_FN(ep_wide))(bits - (biased << 52) + 0x4000000000000000u);
    const EP_FN(ep_wide) s = (m - 1.0) / (m + 1.0);
    const EP_FN(ep_wide) square = s * s;
    EP_FN(ep_wide) p = square * 0.1682207114102741 + 0.18123467383781272;
    p = p * square + 0.22223376680680154;
    p = p * square + 0.2857141706637868;
    p = p * square + 0.4000000005261577;
    p = p * square + 0.6666666666658663;
    EP_FN(ep_wide) t = y * (exponent + (s * square * p + 2.0 * s) * 1.4426950408889634);
    const EP_FN(ep_wide_bits) high = (EP_FN(ep_wide_bits))(t > 300.0);
    const EP_FN(ep_wide_bits) low = (EP_FN(ep_wide_bits))(t < -300.0);
    const EP_FN(ep_wide) limit = (EP_FN(ep_wide)){0} + 300.0;
    t = (EP_FN(ep_wide))(((EP_FN(ep_wide_bits))t & ~(high | low)) | ((EP_FN(ep_wide_bits))limit & high) |
                         ((EP_FN(ep_wide_bits)) - limit & low));
    const EP_FN(ep_wide) shifted = t + 6755399441055744.0;
    const EP_FN(ep_wide) r = t - (shifted - 6755399441055744.0);
    EP_FN(ep_wide) q = r * 1.530937921180519e-05 + 0.00015403827799935732;
    q = q * r + 0.001333345404495323;
    q = q * r + 0.00961812861024308;
    q = q * r + 0.055504109360785404;
    q = q * r + 0.2402265069814591;
    q = q * r + 0.6931471805480296;
    q = q * r + 1.0;
    const EP_FN(ep_wide) scale = (EP_FN(ep_wide))(((EP_FN(ep_wide_bits))shifted << 52) + 0x3ff0000000000000u);
    return __builtin_convertvector(q * scale, EP_FN(ep_half));
}

EP_INLINE EP_F EP_FN(ep_pow)(EP_F x, EP_F y)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_F infinity = EP_SPLAT(EP_INF_F32);
    const EP_F zero = EP_SPLAT(0.0f);
    const EP_F one = EP_SPLAT(1.0f);
    union {
        EP_F whole;
        EP_FN(ep_half) half[2];
    } base, power, result;
    base.whole = magnitude;
    power.whole = y;
    result.half[0] = EP_FN(ep_pow_core)(base.half[0], power.half[0]);
    result.half[1] = EP_FN(ep_pow_core)(base.half[1], power.half[1]);
    /* 0 and infinity, as base or exponent */
    const EP_I grows = ~(EP_MASK(magnitude > one) ^ EP_MASK(y > zero));
    const EP_I edge = EP_MASK(magnitude == zero) | EP_MASK(magnitude == infinity) | EP_MASK(EP_ABS(y) == infinity);
    EP_F z = EP_SELECT(edge, EP_SELECT(grows, infinity, zero), result.whole);
    z = EP_SELECT(EP_MASK(magnitude == one), one, z);
    /* negative bases: the sign of odd exponents, no value for fractions */
    const EP_I negative = (EP_I)EP_BITS(x) >> 31;
    const EP_I whole = EP_MASK(EP_FN(ep_round)(y) == y);
    const EP_I odd = whole & EP_MASK(EP_FN(ep_round)(0.5f * y) != 0.5f * y);
    const EP_I undefined = ~whole & negative & EP_MASK(magnitude != zero) & EP_MASK(magnitude != infinity);
    z = EP_SELECT(negative & odd, -z, EP_SELECT(undefined, EP_SPLAT(EP_NAN_F32), z));
    z = EP_SELECT(EP_MASK(x != x) | EP_MASK(y != y), EP_SPLAT(EP_NAN_F32), z);
    return EP_SELECT(EP_MASK(x == one) | EP_MASK(y == zero), one, z);
}
#endif
#undef EP_BY_LANE
