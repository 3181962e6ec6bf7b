/* SPDX-License-Identifier: Apache-2.0 */
/* A network of two steps, written by hand, with everything a generated one has: weights, an arena, threads, a check of
 * data-dependent indices.
 *     t[i] = x[i] * w[i % 4]      y[i] = t[i] + t[index]      x: float32[2, 32], index: int64[] */
#include "tiny.h"

enum { COUNT = 64, PATTERN = 4, INDEX_OFFSET = 256, Y_OFFSET = 512 };

typedef struct tiny_ctx {
    uint8_t *arena;
    ep_pool *pool;
} tiny_ctx;

static float *floats(const tiny_ctx *ctx, ptrdiff_t offset)
{
    return (float *)(void *)(ctx->arena + offset);
}

static void scale(void *context, ptrdiff_t begin, ptrdiff_t end)
{
    float *x = floats((const tiny_ctx *)context, 0);
    const float *w = (const float *)(const void *)tiny_weights;
    for (ptrdiff_t i = begin; i < end; i++) {
        x[i] *= w[i % PATTERN];
    }
}

static ep_status tiny_step(void *context, int step)
{
    tiny_ctx *ctx = (tiny_ctx *)context;
    if (step == 0) {
        ep_parallel(ctx->pool, scale, ctx, COUNT);
        return EP_OK;
    }
    const float *t = floats(ctx, 0);
    float *y = floats(ctx, Y_OFFSET);
    const int64_t index = *(const int64_t *)(const void *)(ctx->arena + INDEX_OFFSET);
    if (index < 0 || index >= COUNT) {
        return EP_E_INDEX;
    }
    for (ptrdiff_t i = 0; i < COUNT; i++) {
        y[i] = t[i] + t[index];
    }
    return EP_OK;
}

static ep_status tiny_invoke(void *context)
{
    const ep_status status = tiny_step(context, 0);
    return status != EP_OK ? status : tiny_step(context, 1);
}

static ep_status tiny_init(void *context, void *arena, size_t arena_bytes)
{
    tiny_ctx *ctx = (tiny_ctx *)context;
    if (context == NULL || arena == NULL) {
        return EP_E_NULL;
    }
    if ((uintptr_t)arena % 64 != 0) {
        return EP_E_ALIGN;
    }
    if (arena_bytes < TINY_ARENA_SIZE) {
        return EP_E_SIZE;
    }
    ctx->arena = (uint8_t *)arena;
    ctx->pool = NULL;
    return EP_OK;
}

static void tiny_set_pool(void *context, ep_pool *pool)
{
    ((tiny_ctx *)context)->pool = pool;
}

static void *tiny_input(void *context, int index)
{
    return ((tiny_ctx *)context)->arena + (index == 0 ? 0 : INDEX_OFFSET);
}

static const void *tiny_output(const void *context, int index)
{
    (void)index;
    return ((const tiny_ctx *)context)->arena + Y_OFFSET;
}

static const ptrdiff_t dims[] = {2, 32};
static const ep_port inputs[] = {{"x", "float32", 2, dims, 256}, {"in\"dex", "int64", 0, NULL, 8}};
static const ep_port outputs[] = {{"y", "float32", 2, dims, 256}};
static const ep_step_info steps[] = {{"scale", "Mul 'scale'", 64}, {"add", "Gather + Add \"tail\"", 0}};

const ep_model tiny_model = {
    .name = "tiny",
    .sha256 = "0000000000000000000000000000000000000000000000000000000000000000",
    .ctx_bytes = sizeof(tiny_ctx),
    .arena_bytes = TINY_ARENA_SIZE,
    .arena_align = 64,
    .weights_bytes = TINY_WEIGHTS_SIZE,
    .input_count = 2,
    .output_count = 1,
    .step_count = 2,
    .inputs = inputs,
    .outputs = outputs,
    .steps = steps,
    .init = tiny_init,
    .set_pool = tiny_set_pool,
    .invoke = tiny_invoke,
    .step = tiny_step,
    .input = tiny_input,
    .output = tiny_output,
};
