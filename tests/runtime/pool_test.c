/* SPDX-License-Identifier: Apache-2.0 */
/* Hammers the thread pool: every index exactly once per job, whatever the extent, also when jobs come so fast that workers
 * never sleep, or so slowly that they always do. */
#include "ep/ep_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1000 };

typedef struct job {
    unsigned char hits[MOST];
    ptrdiff_t extent;
    int wrong_range;
} job;

static void touch(void *context, ptrdiff_t begin, ptrdiff_t end)
{
    job *one = (job *)context;
    if (begin < 0 || begin >= end || end > one->extent) {
        one->wrong_range = 1;
        return;
    }
    for (ptrdiff_t i = begin; i < end; i++) {
        one->hits[i]++;
    }
}

static void check(ep_pool *pool, ptrdiff_t extent)
{
    static job one;
    for (ptrdiff_t i = 0; i < MOST; i++) {
        one.hits[i] = 0;
    }
    one.extent = extent;
    one.wrong_range = 0;
    ep_parallel(pool, touch, &one, extent);
    for (ptrdiff_t i = 0; i < MOST; i++) {
        if (one.wrong_range || one.hits[i] != (i < extent)) {
            (void)printf("extent %ld: index %ld was run %d times\n", (long)extent, (long)i, one.hits[i]);
            exit(1);
        }
    }
}

static void pause_ms(long milliseconds)
{
    const struct timespec time = {0, milliseconds * 1000000L};
    (void)nanosleep(&time, NULL);
}

int main(void)
{
    static const int sizes[] = {1, 2, 3, 4, 7};
    static const ptrdiff_t extents[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 64, 999, 1000};
    check(NULL, 10);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        ep_pool *pool;
        if (ep_pool_create(&pool, sizes[s], NULL, 0) != EP_OK || ep_pool_threads(pool) != sizes[s]) {
            return 2;
        }
        for (int round = 0; round < 400; round++) {
            for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++) {
                check(pool, extents[e]);
            }
            if (round % 100 == 0) {
                pause_ms(2);
            }
        }
        ep_pool_destroy(pool);
    }
    for (int i = 0; i < 50; i++) { /* destroyed before it ever worked */
        ep_pool *pool;
        if (ep_pool_create(&pool, 4, NULL, 0) != EP_OK) {
            return 2;
        }
        ep_pool_destroy(pool);
    }
    ep_pool *none;
    return ep_pool_create(&none, 0, NULL, 0) == EP_E_SIZE &&
                   ep_pool_create(&none, EP_POOL_MAX + 1, NULL, 0) == EP_E_SIZE
               ? 0
               : 3;
}
