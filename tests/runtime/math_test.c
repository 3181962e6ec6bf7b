/* SPDX-License-Identifier: Apache-2.0 */
/* Measures ep_math.h against the double libm over the whole float range: prints "name width worst_ulp at_input", one line per
 * function and width, and exits 1 when a bound of the header's comment does not hold or a special value is wrong. */
#include <math.h>
#include <stdio.h>

#include "ep/ep_math.h"

typedef double (*reference_fn)(double);
typedef void (*vector_fn)(const float *x, float *y);

#define FOR_EACH_LANE(name)                                                                                            \
    static void run_scalar_##name(const float *x, float *y)                                                            \
    {                                                                                                                  \
        for (int i = 0; i < 16; i++) {                                                                                 \
            y[i] = ep_##name##_f32(x[i]);                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    static void run_vector_##name(const float *x, float *y)                                                            \
    {                                                                                                                  \
        for (int i = 0; i < 16; i += EP_F32_LANES) {                                                                   \
            ep_store_f32v(y + i, ep_##name##_f32v(ep_load_f32v(x + i)));                                               \
        }                                                                                                              \
    }

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double softplus(double x)
{
    return x > 40.0 ? x : log1p(exp(x));
}

static double reciprocal(double x)
{
    return 1.0 / x;
}

static double rsqrt_reference(double x)
{
    return 1.0 / sqrt(x);
}

static double inverse_cosh(double x)
{
    return x < 1.0 ? (double)NAN : acosh(x); /* musl gives numbers there */
}

static double mish(double x)
{
    return x * tanh(softplus(x));
}

static double gelu(double x)
{
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

/* name, reference, bound in ulp, absolute slack relative to max(1, |x|) */
#define FUNCTIONS(row)                                                                                                 \
    row(exp, exp, 1.01, 0.0) row(expm1, expm1, 2.0, 0.0) row(log, log, 2.0, 0.0) row(log1p, log1p, 3.0, 0.0)           \
        row(sigmoid, sigmoid, 3.0, 0.0) row(tanh, tanh, 3.0, 0.0) row(sinh, sinh, 3.0, 0.0) row(cosh, cosh, 3.0, 0.0)  \
            row(asinh, asinh, 4.0, 0.0) row(acosh, inverse_cosh, 4.0, 0.0) row(atanh, atanh, 4.0, 0.0)                 \
                row(erf, erf, 2.0, 0.0) row(sin, sin, 3.0, 0.0) row(cos, cos, 3.0, 0.0) row(tan, tan, 4.0, 0.0)        \
                    row(asin, asin, 3.0, 0.0) row(acos, acos, 3.0, 0.0) row(atan, atan, 3.0, 0.0)                      \
                        row(reciprocal, reciprocal, 1.0, 0.0) row(rsqrt, rsqrt_reference, 2.0, 0.0)                    \
                            row(sqrt, sqrt, 1.0, 0.0) row(round, rint, 0.0, 0.0) row(floor, floor, 0.0, 0.0)           \
                                row(ceil, ceil, 0.0, 0.0) row(trunc, trunc, 0.0, 0.0)                                  \
                                    row(softplus, softplus, 3.0, 0.0) row(mish, mish, 0.0, 1e-6)                       \
                                        row(gelu, gelu, 0.0, 1e-6) row(gelu_tanh, gelu_tanh, 0.0, 1e-6)

#define DEFINE(name, reference, ulp, slack) FOR_EACH_LANE(name)
FUNCTIONS(DEFINE)

typedef struct {
    const char *name;
    reference_fn reference;
    vector_fn scalar;
    vector_fn vector;
    double ulp;
    double slack;
} row;

#define ROW(name, reference, ulp, slack) {#name, reference, run_scalar_##name, run_vector_##name, ulp, slack},
static const row rows[] = {FUNCTIONS(ROW)};

static double ulp_of(double exact)
{
    const double magnitude = fabs(exact);
    if (magnitude < 1.17549435e-38) {
        return ldexp(1.0, -149);
    }
    int exponent;
    (void)frexp(magnitude, &exponent);
    return ldexp(1.0, exponent - 24);
}

/* NEON of 32-bit Arm takes denormals for 0 */
#if defined(__arm__) && EP_F32_LANES > 1
#define FLUSHES(x, exact) (fabs((double)(x)) < 1.17549435e-38 || fabs(exact) < 1.17549435e-38)
#else
#define FLUSHES(x, exact) 0
#endif

/* error of y in ulp of the exact value; a wrong NaN, infinity or sign of zero is a huge one */
static double error_of(float y, double exact)
{
    const float nearest = (float)exact;
    if (isnan(nearest) || isnan(y)) {
        return isnan(nearest) && isnan(y) ? 0.0 : 1e30;
    }
    if (isinf(nearest) || isinf(y)) {
        const double beyond = 3.4028235e38;
        return y == nearest || fabs(isinf(y) ? exact : (double)y) > beyond * (1.0 - 1e-6) ? 0.0 : 1e30;
    }
    if (nearest == 0.0f && y == 0.0f) {
        return exact != 0.0 || signbit(y) == signbit(nearest) ? 0.0 : 1e30;
    }
    return fabs((double)y - exact) / ulp_of(exact);
}

static int check(const row *r, vector_fn run, const char *width, uint32_t step)
{
    const float special[16] = {0.0f,  -0.0f,  1.0f,    -1.0f, INFINITY, -INFINITY, NAN,      0.5f,
                               -0.5f, 1e-40f, -1e-40f, 1.5f,  2.5f,     3.4e38f,   -3.4e38f, 1e-45f};
    double worst = 0.0;
    float at = 0.0f;
    uint64_t bits = 0;
    for (int first = 1; bits < ((uint64_t)1 << 32); first = 0) {
        float x[16];
        float y[16];
        for (int i = 0; i < 16; i++) {
            x[i] = first ? special[i] : ep_f32_from_bits((uint32_t)bits);
            bits += first ? 0 : step;
        }
        run(x, y);
        for (int i = 0; i < 16; i++) {
            const double exact = r->reference((double)x[i]);
            double error = run == r->vector && FLUSHES(x[i], exact) ? 0.0 : error_of(y[i], exact);
            if (r->slack > 0.0 && error < 1e29 && !isinf(x[i])) {
                error = fabs((double)y[i] - exact) > r->slack * fmax(1.0, fabs((double)x[i])) ? error : 0.0;
            } else if (r->slack > 0.0 && x[i] < 0.0f) {
                error = 0.0; /* x*0 at -infinity: NaN is what the formula of the operator gives */
            }
            if (error > worst) {
                worst = error;
                at = x[i];
            }
        }
    }
    printf("%-10s %-6s %10.3g at %.9g%s\n", r->name, width, worst, (double)at, worst > r->ulp ? "  WRONG" : "");
    return worst > r->ulp;
}

static int check_pow(void)
{
    static const float values[] = {0.0f,   -0.0f,    1.0f,      -1.0f, 0.5f,       2.0f,        -2.0f, 3.0f,
                                   -3.0f,  INFINITY, -INFINITY, NAN,   1e-3f,      7.5f,        -7.5f, 1e10f,
                                   1e-40f, 123.25f,  -0.3f,     31.0f, 1.0000001f, 0.99999994f, 1e8f};
    const int count = (int)(sizeof values / sizeof values[0]);
    double worst = 0.0;
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            const double exact = pow((double)values[i], (double)values[j]);
            const double scalar = error_of(ep_pow_f32(values[i], values[j]), exact);
            float y[EP_F32_LANES];
            ep_store_f32v(y, ep_pow_f32v(ep_splat_f32v(values[i]), ep_splat_f32v(values[j])));
            const double vector =
                FLUSHES(values[i], exact) || FLUSHES(values[j], exact) ? 0.0 : error_of(y[EP_F32_LANES - 1], exact);
            if (scalar > 1.0 || vector > 1.0) {
                printf("pow(%g, %g): %g and %g ulp  WRONG\n", (double)values[i], (double)values[j], scalar, vector);
                wrong = 1;
            }
            worst = fmax(worst, fmax(scalar, vector));
        }
    }
    uint32_t state = 1;
    for (int i = 0; i < 100000;
         i++) { /* random bases with exponents that keep the result in range, and some that do not */
        state = state * 1664525u + 1013904223u;
        const float x = ep_f32_from_bits((state >> 1) % 0x7f800000u);
        const float y = (float)((int32_t)(state * 22695477u + 1u) >> 8) * (i % 2 != 0 ? 1e-5f : 1e-7f);
        const double exact = pow((double)x, (double)y);
        float v[EP_F32_LANES];
        ep_store_f32v(v, ep_pow_f32v(ep_splat_f32v(x), ep_splat_f32v(y)));
        const double error = FLUSHES(x, exact) || FLUSHES(y, exact) ? 0.0 : error_of(v[0], exact);
        if (error > 1.0) {
            printf("pow(%g, %g): %g ulp  WRONG\n", (double)x, (double)y, error);
            wrong = 1;
        }
        worst = fmax(worst, error);
    }
    printf("%-10s %-6s %10.3g\n", "pow", "both", worst);
    return wrong;
}

int main(int argc, char **argv)
{
    uint32_t step = 4999;
    if (argc > 1) {
        (void)sscanf(argv[1], "%u", &step);
    }
    int wrong = check_pow();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        wrong |= check(&rows[i], rows[i].scalar, "scalar", step);
        wrong |= check(&rows[i], rows[i].vector, "vector", step);
    }
    return wrong;
}
