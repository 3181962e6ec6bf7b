/* SPDX-License-Identifier: Apache-2.0 */
#include "ep/ep_selftest.h"

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

/* The first element that is wrong; -1 when none is. */
static ptrdiff_t compare(const ep_port *port, const void *y, const void *expected, const ep_selftest_case *test)
{
    if (ep_text_equal(port->dtype, "float32")) {
        const float *const a = (const float *)y;
        const float *const b = (const float *)expected;
        for (size_t i = 0; i < port->bytes / sizeof(float); i++) {
            if (!close32(a[i], b[i], test->relative, test->absolute)) {
                return (ptrdiff_t)i;
            }
        }
        return -1;
    }
    if (ep_text_equal(port->dtype, "float64")) {
        const double *const a = (const double *)y;
        const double *const b = (const double *)expected;
        for (size_t i = 0; i < port->bytes / sizeof(double); i++) {
            if (!close64(a[i], b[i], (double)test->relative, (double)test->absolute)) {
                return (ptrdiff_t)i;
            }
        }
        return -1;
    }
    ptrdiff_t count = 1;
    for (int axis = 0; axis < port->rank; axis++) {
        count *= port->dims[axis];
    }
    for (size_t i = 0; i < port->bytes; i++) {
        if (((const uint8_t *)y)[i] != ((const uint8_t *)expected)[i]) {
            return (ptrdiff_t)i / ((ptrdiff_t)port->bytes / count);
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
        result.element = compare(&model->outputs[i], model->output(ctx, i), test->expected[i], test);
        result.output = result.element >= 0 ? i : -1;
    }
    return result;
}
