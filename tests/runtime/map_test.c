/* SPDX-License-Identifier: Apache-2.0 */
/* ep_map.h called as threads call it: any cut of the range must give what the whole range gives, in place too, and must not
 * touch a byte outside the output.  Prints what is wrong and exits 1. */
#include <stdio.h>
#include <string.h>

#include "ep/ep_map.h"

#define ELEMENTS 16384
#define GUARD 64

EP_INLINE ep_f32v scale_and_shift(const ep_f32v *x)
{
    const ep_f32v t0 = x[0] * x[1];
    return t0 + x[2];
}

EP_INLINE void greater(void *y, const void *const *x)
{
    const ep_elem_f32 x0 = *(const ep_elem_f32 *)x[0];
    const ep_elem_f32 x1 = *(const ep_elem_f32 *)x[1];
    *(ep_elem_u8 *)y = (ep_elem_u8)(x0 > x1);
}

static float x0[ELEMENTS];
static float x1[ELEMENTS];
static float x2[ELEMENTS];
static float whole[ELEMENTS + 2 * GUARD];
static float cut[ELEMENTS + 2 * GUARD];

typedef void (*run_fn)(void *y, const float *first, ptrdiff_t begin, ptrdiff_t end);

/* one function per case with a literal descriptor, as generated code has it */
#define F32(name, ...)                                                                                                 \
    static EP_NOINLINE void name(void *y, const float *first, ptrdiff_t begin, ptrdiff_t end)                          \
    {                                                                                                                  \
        const void *const x[] = {first, x1, x2};                                                                       \
        ep_map_f32((float *)y, x, scale_and_shift, (ep_map_desc){__VA_ARGS__}, begin, end);                            \
    }
#define ANY(name, ...)                                                                                                 \
    static EP_NOINLINE void name(void *y, const float *first, ptrdiff_t begin, ptrdiff_t end)                          \
    {                                                                                                                  \
        const void *const x[] = {first, x1};                                                                           \
        ep_map_any(y, x, greater, (ep_map_desc){__VA_ARGS__}, begin, end);                                             \
    }

enum { L = EP_F32_LANES };

F32(flat, .rank = 1, .inputs = 3, .extent = {10003}, .y = {1}, .x = {{1}, {1}, {0}})
F32(tiny, .rank = 1, .inputs = 3, .extent = {3}, .y = {1}, .x = {{1}, {0}, {1}})
F32(rows, .rank = 2, .inputs = 3, .extent = {13, 37}, .y = {37, 1}, .x = {{37, 1}, {1, 0}, {0, 1}})
F32(blocks_with_halo, .rank = 4, .inputs = 3, .extent = {2, 3, 5, L}, .y = {21 * L, 7 * L, L, 1},
    .x = {{21 * L, 7 * L, L, 1}, {L, 0, 0, 1}, {0, 5, 1, 0}})
F32(five_axes, .rank = 5, .inputs = 3, .extent = {2, 3, 2, 3, 5}, .y = {90, 30, 15, 5, 1},
    .x = {{90, 30, 15, 5, 1}, {3, 1, 0, 0, 0}, {0, 0, 1, 0, 0}})
ANY(mixed_flat, .rank = 1, .inputs = 2, .extent = {10003}, .y = {1}, .x = {{4}, {4}})
ANY(mixed_any_strides, .rank = 3, .inputs = 2, .extent = {5, 3, 7}, .y = {21, 7, 1}, .x = {{4, 20, 60}, {0, 4, 12}})

static int check_f32(const char *name, run_fn run, ptrdiff_t extent)
{
    int wrong = 0;
    memset(whole, 0x5a, sizeof whole);
    run(whole + GUARD, x0, 0, extent);
    for (ptrdiff_t step = 1; step <= extent; step += 1 + step / 3) {
        memset(cut, 0x5a, sizeof cut);
        for (ptrdiff_t begin = 0; begin < extent; begin += step) {
            run(cut + GUARD, x0, begin, begin + step < extent ? begin + step : extent);
        }
        wrong |= memcmp(whole, cut, sizeof whole) != 0;
    }
    memset(cut, 0x5a, sizeof cut);
    memcpy(cut + GUARD, x0, sizeof x0);
    run(cut + GUARD, cut + GUARD, 0, extent);
    float *const inside = whole + GUARD;
    int written = 0;
    for (int i = 0; i < ELEMENTS; i++) { /* what the map does not write keeps x0 in one and the fill in the other */
        if (memcmp(&inside[i], "\x5a\x5a\x5a\x5a", 4) == 0) {
            inside[i] = x0[i];
        } else {
            written++;
        }
    }
    wrong |= memcmp(whole, cut, sizeof whole) != 0 || written == 0;
    printf("%s: %d elements%s\n", name, written, wrong ? "  WRONG" : "");
    return wrong;
}

static int check_any(const char *name, run_fn run, ptrdiff_t extent)
{
    static uint8_t all[ELEMENTS];
    static uint8_t pieces[ELEMENTS];
    memset(all, 0x5a, sizeof all);
    memset(pieces, 0x5a, sizeof pieces);
    run(all, x0, 0, extent);
    for (ptrdiff_t begin = 0; begin < extent; begin++) {
        run(pieces, x0, begin, begin + 1);
    }
    const int wrong = memcmp(all, pieces, sizeof all) != 0 || memchr(all, 1, sizeof all) == NULL;
    printf("%s%s\n", name, wrong ? ": WRONG" : "");
    return wrong;
}

int main(void)
{
    for (int i = 0; i < ELEMENTS; i++) {
        x0[i] = (float)(i % 101) * 0.25f - 7.0f;
        x1[i] = (float)(i % 17) - 8.0f;
        x2[i] = (float)(i % 23);
    }
    int wrong = 0;
    wrong |= check_f32("flat", flat, 5);
    wrong |= check_f32("tiny", tiny, 1);
    wrong |= check_f32("rows", rows, 13);
    wrong |= check_f32("blocks with a halo", blocks_with_halo, 2);
    wrong |= check_f32("five axes", five_axes, 2);
    wrong |= check_any("mixed types, flat", mixed_flat, 5);
    wrong |= check_any("mixed types, any strides", mixed_any_strides, 5);
    return wrong;
}
