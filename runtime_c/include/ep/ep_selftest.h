/* SPDX-License-Identifier: Apache-2.0 */
/** Checks a model against stored inputs and outputs, on the device itself. */
#ifndef EP_SELFTEST_H
#define EP_SELFTEST_H

#include "ep_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One inference and what it should give; pointers to raw tensors in graph order. */
typedef struct ep_selftest_case {
    const void *const *inputs;
    const void *const *expected;
    float relative;        /* output i passes when |y - e| <= absolute[i] + relative * |e| for all its elements */
    const float *absolute; /* integers know no relative difference */
} ep_selftest_case;

/** What differs: the output and its first wrong element; `output` is -1 when nothing does. */
typedef struct ep_selftest_result {
    ep_status status; /* of the inference */
    int output;
    ptrdiff_t element;
} ep_selftest_result;

/** Run one case on a context that `model->init` has made ready. */
ep_selftest_result ep_selftest(const ep_model *model, void *ctx, const ep_selftest_case *test);

#ifdef __cplusplus
}
#endif
#endif
