/* SPDX-License-Identifier: Apache-2.0 */
#include "ep/ep_selftest.h"

#include "ep/ep_cast.h"
#include "ep_text.h"

/* Also true for equal infinities, and for two NaNs. */
static int close32(float y, float expected, float relative, float absolute)
{
    const float difference = y > expected ? y - expected : expected - y;
    const float magnitude = expected < 0 ? -expected : expected;
    return y == expected || (y != y && expected != expected) || difference <= absolute + relative * magnitude;
}

static int close64(double y, double expected, double relative, double absolute)
{
    const double difference = y > expected ? y - expected : expected - y;
    const double magnitude = expected < 0 ? -expected : expected;
    return y == expected || (y != y && expected != expected) || difference <= absolute + relative * magnitude;
}

/* The element as an unsigned number; of signed ones in the same order. */
static uint64_t rank(const uint8_t *element, size_t size, int is_signed)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) {
        value = value << 8 | element[i];
    }
    return is_signed ? value ^ (uint64_t)1 << (8 * size - 1) : value;
}

static int close_integers(const uint8_t *y, const uint8_t *expected, size_t size, int is_signed, float absolute)
{
    const uint64_t a = rank(y, size, is_signed);
    const uint64_t b = rank(expected, size, is_signed);
    return (a > b ? a - b : b - a) <= (uint64_t)absolute;
}

/* Whether element `i` of an output is what it should be. */
static int passes(const char *dtype, size_t size, const void *y, const void *expected, size_t i, float relative,
                  float absolute)
{
    if (ep_text_equal(dtype, "float32")) {
        return close32(((const float *)y)[i], ((const float *)expected)[i], relative, absolute);
    }
    if (ep_text_equal(dtype, "float64")) {
        return close64(((const double *)y)[i], ((const double *)expected)[i], (double)relative, (double)absolute);
    }
    if (ep_text_equal(dtype, "float16")) {
        return close32(ep_f32_from_f16(((const uint16_t *)y)[i]), ep_f32_from_f16(((const uint16_t *)expected)[i]),
                       relative, absolute);
    }
    if (ep_text_equal(dtype, "bfloat16")) {
        return close32(ep_f32_from_bf16(((const uint16_t *)y)[i]), ep_f32_from_bf16(((const uint16_t *)expected)[i]),
                       relative, absolute);
    }
    return close_integers((const uint8_t *)y + i * size, (const uint8_t *)expected + i * size, size, dtype[0] == 'i',
                          absolute);
}

/* The first element of output `index` that is wrong; -1 when none is. */
static ptrdiff_t compare(const ep_port *port, const void *y, int index, const ep_selftest_case *test)
{
    size_t count = 1;
    for (int axis = 0; axis < port->rank; axis++) {
        count *= (size_t)port->dims[axis];
    }
    for (size_t i = 0; i < count; i++) {
        if (!passes(port->dtype, port->bytes / count, y, test->expected[index], i, test->relative,
                    test->absolute[index])) {
            return (ptrdiff_t)i;
        }
    }
    return -1;
}

ep_selftest_result ep_selftest(const ep_model *model, void *ctx, const ep_selftest_case *test)
{
    ep_selftest_result result = {EP_OK, -1, -1};
    for (int i = 0; i < model->input_count; i++) {
        uint8_t *to = (uint8_t *)model->input(ctx, i);
        for (size_t k = 0; k < model->inputs[i].bytes; k++) {
            to[k] = ((const uint8_t *)test->inputs[i])[k];
        }
    }
    result.status = model->invoke(ctx);
    for (int i = 0; i < model->output_count && result.status == EP_OK && result.output < 0; i++) {
        result.element = compare(&model->outputs[i], model->output(ctx, i), i, test);
        result.output = result.element >= 0 ? i : -1;
    }
    return result;
}
