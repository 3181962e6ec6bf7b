/* SPDX-License-Identifier: Apache-2.0 */
/** Running a kernel's range on several threads.  Ports with threads implement it (src/ep_pool_posix.c); generated code for
 *  one thread never calls it. */
#ifndef EP_PARALLEL_H
#define EP_PARALLEL_H

#include "ep_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ep_pool ep_pool;
typedef void (*ep_range_fn)(void *ctx, ptrdiff_t begin, ptrdiff_t end);

/** Split [0, extent) into one contiguous range per thread, run all, return when all have ended.
 *  A NULL pool runs the whole range on the caller.  No allocation. */
void ep_parallel(ep_pool *pool, ep_range_fn fn, void *ctx, ptrdiff_t extent);

#ifdef __cplusplus
}
#endif
#endif
