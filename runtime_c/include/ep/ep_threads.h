/* SPDX-License-Identifier: Apache-2.0 */
/** A thread pool behind `ep_parallel`, for ports with POSIX threads (src/ep_pool_posix.c). */
#ifndef EP_THREADS_H
#define EP_THREADS_H

#include "ep_parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Threads of a pool, at most. */
#define EP_POOL_MAX 64

/** Start `threads - 1` workers; the thread that calls `ep_parallel` is the other one.
 *
 *  With `cpu_count >= threads`, thread t (the caller is 0) is pinned to `cpus[t]`; with fewer, nothing is pinned.
 *  All memory is taken here: `ep_parallel` allocates nothing.  One inference at a time may use a pool.
 *  Returns EP_E_SIZE when `threads` is not in 1..EP_POOL_MAX, EP_E_THREAD when the system refuses a thread. */
ep_status ep_pool_create(ep_pool **pool, int threads, const int *cpus, int cpu_count);

/** Stop and join the workers; NULL is allowed. */
void ep_pool_destroy(ep_pool *pool);

/** Threads that work on a range, the caller included; 1 for NULL. */
int ep_pool_threads(const ep_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
