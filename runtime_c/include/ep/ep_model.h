/* SPDX-License-Identifier: Apache-2.0 */
/** One generated network behind a common interface: programs that run any model (bench, run, self-test) use it.
 *  Every generated source defines `const ep_model <name>_model`. */
#ifndef EP_MODEL_H
#define EP_MODEL_H

#include "ep_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A graph input or output. `dims` has `rank` entries; a scalar has rank 0. */
typedef struct ep_port {
    const char *name;  /* the ONNX name */
    const char *dtype; /* numpy spelling: "float32", "int64", "bool" */
    int rank;
    const ptrdiff_t *dims;
    size_t bytes;
} ep_port;

/** One step of the network, for profiles. */
typedef struct ep_step_info {
    const char *kernel; /* C function */
    const char *source; /* ONNX nodes it came from */
    uint64_t macs;
} ep_step_info;

struct ep_pool; /* a thread pool, see ep_parallel.h; NULL runs everything on the calling thread */

typedef struct ep_model {
    const char *name;
    const char *sha256; /* of the ONNX model */
    size_t ctx_bytes;
    size_t arena_bytes;
    size_t arena_align;
    size_t weights_bytes;
    int input_count;
    int output_count;
    int step_count;
    const ep_port *inputs;
    const ep_port *outputs;
    const ep_step_info *steps;
    ep_status (*init)(void *ctx, void *arena, size_t arena_bytes);
    void (*set_pool)(void *ctx, struct ep_pool *pool); /* NULL when the model was built for one thread */
    ep_status (*invoke)(void *ctx);
    ep_status (*step)(void *ctx, int index); /* run one step; calling all in order equals invoke */
    void *(*input)(void *ctx, int index);
    const void *(*output)(const void *ctx, int index);
    void (*reset)(void *ctx); /* clear the states; NULL when the model has none */
} ep_model;

#ifdef __cplusplus
}
#endif
#endif
