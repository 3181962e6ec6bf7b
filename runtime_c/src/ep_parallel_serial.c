/* SPDX-License-Identifier: Apache-2.0 */
/* For ports without threads: the caller runs the whole range. */
#include "ep/ep_parallel.h"

void ep_parallel(ep_pool *pool, ep_range_fn fn, void *ctx, ptrdiff_t extent)
{
    (void)pool;
    if (extent > 0) {
        fn(ctx, 0, extent);
    }
}
