/* SPDX-License-Identifier: Apache-2.0 */
/* Trigonometric functions and their inverses for one width; a part of ep_math.inc.h. */

EP_INLINE EP_F EP_FN(ep_atan)(EP_F x)
{
    const EP_F magnitude = EP_ABS(x);
    const EP_I high = EP_MASK(magnitude > EP_SPLAT(2.41421356f));           /* tan(3/8 pi): pi/2 - atan(1/x) */
    const EP_I middle = EP_MASK(magnitude > EP_SPLAT(0.41421356f)) & ~high; /* tan(pi/8): pi/4 + atan((x-1)/(x+1)) */
    const EP_F one = EP_SPLAT(1.0f);
    const EP_F top = EP_SELECT(high, -one, EP_SELECT(middle, magnitude - 1.0f, magnitude));
    const EP_F bottom = EP_SELECT(high, magnitude, EP_SELECT(middle, magnitude + 1.0f, one));
    const EP_F base = EP_SELECT(high, EP_SPLAT(1.57079633f), EP_SELECT(middle, EP_SPLAT(0.785398163f), EP_SPLAT(0.0f)));
    const EP_F r = top / bottom;
    const EP_F square = r * r;
    EP_F p = square * -0.06087337f + 0.105982654f;
    p = p * square + -0.14244297f;
    p = p * square + 0.19998525f;
    p = p * square + -0.33333316f;
    return EP_FN(ep_copysign)(base + (p * square * r + r), x);
}

/* asin(y) = y + y^3*P(y^2) on [0, 1/2]; the result is for y = |x|, or y = sqrt((1-|x|)/2) where *far is true */
EP_INLINE EP_F EP_FN(ep_asin_core)(EP_F magnitude, EP_I *far)
{
    *far = EP_MASK(magnitude > EP_SPLAT(0.5f));
    const EP_F square = EP_SELECT(*far, 0.5f - 0.5f * magnitude, magnitude * magnitude);
    const EP_F y = EP_SELECT(*far, EP_FN(ep_sqrt)(square), magnitude);
    EP_F p = square * 0.037691142f + 0.014317346f;
    p = p * square + 0.03183877f;
    p = p * square + 0.044513386f;
    p = p * square + 0.07500522f;
    p = p * square + 0.1666666f;
    return p * square * y + y;
}

EP_INLINE EP_F EP_FN(ep_asin)(EP_F x)
{
    EP_I far;
    const EP_F y = EP_FN(ep_asin_core)(EP_ABS(x), &far);
    return EP_FN(ep_copysign)(EP_SELECT(far, 1.57079633f - 2.0f * y, y), x);
}

EP_INLINE EP_F EP_FN(ep_acos)(EP_F x)
{
    EP_I far;
    const EP_F y = EP_FN(ep_asin_core)(EP_ABS(x), &far);
    const EP_F near_zero = 1.57079633f - (EP_FN(ep_copysign)(y, x) - -4.37113883e-8f);
    const EP_F near_one = EP_SELECT(EP_MASK(x < EP_SPLAT(0.0f)), 3.14159265f - 2.0f * y, 2.0f * y);
    return EP_SELECT(far, near_one, near_zero);
}

/* x = quadrant*pi/2 + r with |r| <= pi/4; pi/2 in five parts, four of whose products with the
 * quadrant are exact up to 2^16 */
EP_INLINE EP_F EP_FN(ep_trig_reduce)(EP_F x, EP_I *quadrant)
{
    const EP_I big = ~EP_MASK(EP_ABS(x) < EP_SPLAT(65536.0f)); /* infinities and NaN too */
    const EP_F bounded = EP_SELECT(big, EP_SPLAT(0.0f), x);
    const EP_F shifted = bounded * 0.636619772f + 12582912.0f;
    const EP_F whole = shifted - 12582912.0f;
    *quadrant = (EP_I)(EP_BITS(shifted) & 3u);
    EP_F r = bounded - whole * 1.5703125f;
    r = r - whole * 4.8255920e-4f;
    r = r - whole * 1.2665987e-6f;
    r = r - whole * 9.895302e-10f;
    r = r - whole * 2.563344e-12f;
    if (__builtin_expect(EP_FN(ep_any)(big), 0)) {
#if EP_VW == 1
        r = ep_trig_reduce_big(x, quadrant);
#else
        for (int lane = 0; lane < EP_VW; lane++) {
            if (big[lane]) {
                int32_t lane_quadrant;
                r[lane] = ep_trig_reduce_big(x[lane], &lane_quadrant);
                (*quadrant)[lane] = lane_quadrant;
            }
        }
#endif
    }
    return r;
}

EP_INLINE EP_F EP_FN(ep_sin_core)(EP_F r)
{
    const EP_F square = r * r;
    EP_F p = square * 2.83251e-06f + -0.00019853064f;
    p = p * square + 0.008333379f;
    p = p * square + -0.16666667f;
    return p * square * r + r;
}

EP_INLINE EP_F EP_FN(ep_cos_core)(EP_F r)
{
    const EP_F square = r * r;
    EP_F p = square * 2.4432327e-05f + -0.001388731f;
    p = p * square + 0.041666646f;
    const EP_F half = 0.5f * square;
    const EP_F first = 1.0f - half;
    return first + (p * (square * square) + ((1.0f - first) - half)); /* with what rounding the first two terms lost */
}

/* sin(r + quadrant*pi/2) */
EP_INLINE EP_F EP_FN(ep_sin_quadrant)(EP_F r, EP_I quadrant)
{
    const EP_F y = EP_SELECT(EP_MASK((quadrant & 1) != 0), EP_FN(ep_cos_core)(r), EP_FN(ep_sin_core)(r));
    return EP_FROM_BITS(EP_BITS(y) ^ ((EP_U)(quadrant & 2) << 30));
}

EP_INLINE EP_F EP_FN(ep_sin)(EP_F x)
{
    EP_I quadrant;
    const EP_F r = EP_FN(ep_trig_reduce)(x, &quadrant);
    const EP_F y = EP_FN(ep_sin_quadrant)(r, quadrant);
    return EP_SELECT(EP_MASK(x == EP_SPLAT(0.0f)), x, y);
}

EP_INLINE EP_F EP_FN(ep_cos)(EP_F x)
{
    EP_I quadrant;
    const EP_F r = EP_FN(ep_trig_reduce)(x, &quadrant);
    return EP_FN(ep_sin_quadrant)(r, quadrant + 1);
}

EP_INLINE EP_F EP_FN(ep_tan)(EP_F x)
{
    EP_I quadrant;
    const EP_F r = EP_FN(ep_trig_reduce)(x, &quadrant);
    const EP_I odd = EP_MASK((quadrant & 1) != 0);
    const EP_F s = EP_FN(ep_sin_core)(r);
    const EP_F c = EP_FN(ep_cos_core)(r);
    const EP_F y = EP_SELECT(odd, -c, s) / EP_SELECT(odd, s, c);
    return EP_SELECT(EP_MASK(x == EP_SPLAT(0.0f)), x, y);
}
