/* SPDX-License-Identifier: Apache-2.0 */
/** The state every generated model has, and the checks its entry points share.  Public: valid C99 and C++98. */
#ifndef EP_CONTEXT_H
#define EP_CONTEXT_H

#include "ep_status.h"

struct ep_pool;

/* Holds what a caller must not get wrong where there is no status to return; for debug builds: -D'EP_ASSERT(x)=assert(x)'. */
#ifndef EP_ASSERT
#define EP_ASSERT(condition) ((void)0)
#endif

/** Where one instance of a model keeps its data.  Two contexts with two arenas run at once. */
typedef struct ep_context {
    uint8_t *arena;
    const uint8_t *weights;
    struct ep_pool *pool; /* NULL: everything runs on the calling thread */
} ep_context;

/** Weights begin with a tag that names their contents: EP_E_VERSION tells foreign or stale weights. */
#define EP_WEIGHTS_TAG_BYTES 64

static inline int ep_same_bytes(const uint8_t *a, const uint8_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (a[i] != b[i]) {
            return 0;
        }
    }
    return 1;
}

/** Check arena and weights and make `ctx` ready; `tag` is what the weights must begin with. */
static inline ep_status ep_context_init(ep_context *ctx, void *arena, size_t arena_bytes, size_t arena_needed,
                                        size_t align, const uint8_t *weights, const uint8_t *tag)
{
    if (ctx == NULL || weights == NULL || (arena == NULL && arena_needed > 0)) {
        return EP_E_NULL;
    }
    if ((uintptr_t)arena % align != 0 || (uintptr_t)weights % align != 0) {
        return EP_E_ALIGN;
    }
    if (arena_bytes < arena_needed) {
        return EP_E_SIZE;
    }
    if (!ep_same_bytes(weights, tag, EP_WEIGHTS_TAG_BYTES)) {
        return EP_E_VERSION;
    }
    ctx->arena = (uint8_t *)arena;
    ctx->weights = weights;
    ctx->pool = NULL;
    return EP_OK;
}

/** Set `count` bytes to zero. */
static inline void ep_clear_bytes(void *to, size_t count)
{
    uint8_t *const d = (uint8_t *)to;
    for (size_t i = 0; i < count; i++) {
        d[i] = 0;
    }
}

/** Copy `count` bytes between buffers that do not overlap. */
static inline void ep_copy_bytes(void *to, const void *from, size_t count)
{
    uint8_t *const d = (uint8_t *)to;
    const uint8_t *const s = (const uint8_t *)from;
    for (size_t i = 0; i < count; i++) {
        d[i] = s[i];
    }
}

#endif
