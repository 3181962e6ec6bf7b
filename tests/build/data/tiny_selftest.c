/* SPDX-License-Identifier: Apache-2.0 */
/* Two cases for the self-test of tiny.c.  -DFAULT=n makes the second expect something else in element n of its output. */
#include "ep/ep_selftest.h"

#ifndef FAULT
#define FAULT -1
#endif
#ifndef INDEX
#define INDEX 0
#endif

/* y[i] = x[i] * w[i % 4] + x[index] * w[index % 4] with w = {1, 2, 3, 4}; x is 1 at the first four elements, else 0 */
static const float x[64] = {1, 1, 1, 1};
static const int64_t first_index[] = {1};
static const int64_t second_index[] = {INDEX};
static const void *const first_inputs[] = {x, first_index};
static const void *const second_inputs[] = {x, second_index};

#define REST 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2
static const float first_y[64] = {3.00001F, 4, 5, 6, REST, REST};
static const float second_y[64] = {
    2, 3, 4, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, FAULT == 63 ? 7 : 1};
static const void *const first_expected[] = {first_y};
static const void *const second_expected[] = {second_y};

static const float absolute[] = {1e-6F};

extern const ep_selftest_case tiny_selftest[];
extern const int tiny_selftest_count;
const ep_selftest_case tiny_selftest[] = {
    {first_inputs, first_expected, 1e-4F, absolute},
    {second_inputs, second_expected, 1e-4F, absolute},
};
const int tiny_selftest_count = 2;
