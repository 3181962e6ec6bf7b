/* SPDX-License-Identifier: Apache-2.0 */
/* Workers wait for a job by spinning for a moment, since the next kernel of an inference follows within microseconds, and
 * then asleep, so that an idle program costs nothing.  A job is published by its number (`job`), its end by `pending`. */
#define _GNU_SOURCE 1 /* pthread_setaffinity_np, sched_getaffinity */

#include "ep/ep_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif

enum {
    CACHE_LINE = 64,
    SPIN_NS = 50000,     /* longer than a serial kernel between two parallel ones usually takes */
    PAUSES_PER_LOOK = 32 /* between two looks at the clock */
};

typedef struct worker {
    ep_pool *pool;
    pthread_t thread;
    int index;
    int cpu; /* -1: anywhere */
} worker;

struct ep_pool {
    EP_ALIGNED(CACHE_LINE) atomic_uint job;    /* counts jobs; a change wakes the workers */
    EP_ALIGNED(CACHE_LINE) atomic_int pending; /* workers that have not ended the job */
    EP_ALIGNED(CACHE_LINE) atomic_int sleepers;
    atomic_int stop;
    ep_range_fn fn;
    void *ctx;
    ptrdiff_t extent;
    int threads;
    int spins; /* 0 when there are more threads than processors: spinning would keep the others from running */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    worker workers[EP_POOL_MAX];
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* What a waiting thread waits for: `job` to leave `seen`, or (seen == NULL) `pending` to become zero. */
static int ready(ep_pool *pool, const unsigned *seen)
{
    return seen != NULL ? atomic_load(&pool->job) != *seen : atomic_load(&pool->pending) == 0;
}

static void wait_for(ep_pool *pool, const unsigned *seen)
{
    if (pool->spins) {
        const uint64_t until = now_ns() + SPIN_NS;
        do {
            for (int i = 0; i < PAUSES_PER_LOOK; i++) {
                if (ready(pool, seen)) {
                    return;
                }
                relax();
            }
        } while (now_ns() < until);
    }
    (void)pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!ready(pool, seen)) {
        (void)pthread_cond_wait(&pool->changed, &pool->mutex);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* Called after `job` or `pending` has changed.  Both sides are sequentially consistent: either this sees the sleeper, or the
 * sleeper, which counts itself first, sees the change. */
static void wake(ep_pool *pool)
{
    if (atomic_load(&pool->sleepers) > 0) {
        (void)pthread_mutex_lock(&pool->mutex);
        (void)pthread_cond_broadcast(&pool->changed);
        (void)pthread_mutex_unlock(&pool->mutex);
    }
}

static void run_share(const ep_pool *pool, int index)
{
    /* extent / threads each, the first extent % threads one more: no product that could overflow */
    const ptrdiff_t share = pool->extent / pool->threads;
    const ptrdiff_t more = pool->extent % pool->threads;
    const ptrdiff_t begin = index * share + (index < more ? index : more);
    const ptrdiff_t end = begin + share + (index < more);
    if (begin < end) {
        pool->fn(pool->ctx, begin, end);
    }
}

static void pin_self(int cpu)
{
#if defined(__linux__)
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        (void)sched_setaffinity(0, sizeof set, &set); /* not permitted: runs anywhere, as without a list */
    }
#else
    (void)cpu;
#endif
}

static void *work(void *argument)
{
    const worker *self = (const worker *)argument;
    ep_pool *pool = self->pool;
    unsigned seen = 0;
    pin_self(self->cpu);
    for (;;) {
        wait_for(pool, &seen);
        seen = atomic_load(&pool->job);
        if (atomic_load(&pool->stop)) {
            return NULL;
        }
        run_share(pool, self->index);
        if (atomic_fetch_sub(&pool->pending, 1) == 1) {
            wake(pool);
        }
    }
}

void ep_parallel(ep_pool *pool, ep_range_fn fn, void *ctx, ptrdiff_t extent)
{
    if (pool == NULL || pool->threads == 1 || extent <= 1) {
        if (extent > 0) {
            fn(ctx, 0, extent);
        }
        return;
    }
    pool->fn = fn;
    pool->ctx = ctx;
    pool->extent = extent;
    atomic_store(&pool->pending, pool->threads - 1);
    atomic_fetch_add(&pool->job, 1);
    wake(pool);
    run_share(pool, 0);
    if (!ready(pool, NULL)) {
        wait_for(pool, NULL);
    }
}

static int processors(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

ep_status ep_pool_create(ep_pool **pool, int threads, const int *cpus, int cpu_count)
{
    void *memory = NULL;
    *pool = NULL;
    if (threads < 1 || threads > EP_POOL_MAX) {
        return EP_E_SIZE;
    }
    if (posix_memalign(&memory, CACHE_LINE, sizeof(ep_pool)) != 0) {
        return EP_E_SIZE;
    }
    ep_pool *made = (ep_pool *)memory;
    const int pinned = cpu_count >= threads;
    atomic_init(&made->job, 0U);
    atomic_init(&made->pending, 0);
    atomic_init(&made->sleepers, 0);
    atomic_init(&made->stop, 0);
    made->spins = threads <= processors();
    made->threads = 1;
    if (pthread_mutex_init(&made->mutex, NULL) != 0 || pthread_cond_init(&made->changed, NULL) != 0) {
        free(memory);
        return EP_E_THREAD;
    }
    for (; made->threads < threads; made->threads++) {
        worker *one = &made->workers[made->threads];
        one->pool = made;
        one->index = made->threads;
        one->cpu = pinned ? cpus[made->threads] : -1;
        if (pthread_create(&one->thread, NULL, work, one) != 0) {
            ep_pool_destroy(made);
            return EP_E_THREAD;
        }
    }
    if (pinned) {
        pin_self(cpus[0]);
    }
    *pool = made;
    return EP_OK;
}

void ep_pool_destroy(ep_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->stop, 1);
    atomic_fetch_add(&pool->job, 1);
    wake(pool);
    for (int i = 1; i < pool->threads; i++) {
        (void)pthread_join(pool->workers[i].thread, NULL);
    }
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

int ep_pool_threads(const ep_pool *pool)
{
    return pool != NULL ? pool->threads : 1;
}
