/* SPDX-License-Identifier: Apache-2.0 */
/** Trigonometric functions of double and their inverses, without libm; relative error at most 1e-14.
 *  sin, cos and tan lose bits as |x| grows: 1e-14 absolute up to 2^20, beyond 2^30 the result is NaN. */
#ifndef EP_TRIG_F64_H
#define EP_TRIG_F64_H

#include "ep_math_f64.h"

/* atan by halving the angle twice, atan(x) = 2*atan(x / (1 + sqrt(1 + x^2))), then its series */
EP_INLINE double ep_atan_f64(double x)
{
    const double magnitude = ep_abs_f64(x);
    const int far = magnitude > 1.0;
    double t = far ? 1.0 / magnitude : magnitude;
    for (int i = 0; i < 2; i++) {
        t = t / (1.0 + ep_sqrt_f64(1.0 + t * t));
    }
    const double square = t * t;
    double p = 0.0;
    for (int k = 25; k >= 3; k -= 2) {
        p = square * (((k & 2) != 0 ? -1.0 : 1.0) / (double)k + p);
    }
    const double angle = 4.0 * (t + t * p);
    return x != x ? x : ep_copysign_f64(far ? 1.5707963267948966 - angle : angle, x);
}

EP_INLINE double ep_asin_f64(double x)
{
    const double rest = ep_sqrt_f64((1.0 - x) * (1.0 + x));
    return ep_abs_f64(x) == 1.0 ? x * 1.5707963267948966 : ep_atan_f64(x / rest);
}

EP_INLINE double ep_acos_f64(double x)
{
    if (x == -1.0) {
        return 3.141592653589793;
    }
    return 2.0 * ep_atan_f64(ep_sqrt_f64((1.0 - x) / (1.0 + x)));
}

/* x = quadrant*pi/2 + r; pi/2 in three parts of 33 bits */
EP_INLINE double ep_trig_reduce_f64(double x, int *quadrant)
{
    *quadrant = 0;
    if (!(ep_abs_f64(x) < 1073741824.0)) {
        return EP_NAN_F64;
    }
    const double n = ep_round_f64(x * 0.6366197723675814);
    *quadrant = (int)((int64_t)n & 3);
    const double r = x - n * 1.57079632673412561417e+00;
    return (r - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
}

/* sin(r + quadrant*pi/2) by Taylor's series; |r| <= pi/4 */
EP_INLINE double ep_sin_quadrant_f64(double r, int quadrant)
{
    const double square = r * r;
    const int cosine = quadrant & 1;
    double p = 1.0;
    for (int k = cosine ? 18 : 19; k > 1; k -= 2) {
        p = 1.0 - p * square / (double)(k * (k - 1));
    }
    const double y = cosine ? p : p * r;
    return (quadrant & 2) != 0 ? -y : y;
}

EP_INLINE double ep_sin_f64(double x)
{
    int quadrant;
    const double r = ep_trig_reduce_f64(x, &quadrant);
    return ep_sin_quadrant_f64(r, quadrant);
}

EP_INLINE double ep_cos_f64(double x)
{
    int quadrant;
    const double r = ep_trig_reduce_f64(x, &quadrant);
    return ep_sin_quadrant_f64(r, quadrant + 1);
}

EP_INLINE double ep_tan_f64(double x)
{
    int quadrant;
    const double r = ep_trig_reduce_f64(x, &quadrant);
    return ep_sin_quadrant_f64(r, quadrant) / ep_sin_quadrant_f64(r, quadrant + 1);
}

#endif
