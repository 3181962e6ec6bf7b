/* SPDX-License-Identifier: Apache-2.0 */
/** Statistics of clock differences, in integers so that they cost no FPU and no libm. */
#ifndef EP_STATS_H
#define EP_STATS_H

#include "ep/ep_base.h"

typedef struct ep_stats {
    uint64_t min, median, mean, p90, p99, max, stdev; /* stdev: of the population, rounded down */
} ep_stats;

/** Sort ascending, in place, without recursion (heapsort). */
void ep_stats_sort(uint64_t *values, ptrdiff_t count);

/** Statistics of `count >= 1` ascending values; percentiles by nearest rank, the median of an even count is the lower. */
ep_stats ep_stats_of(const uint64_t *sorted, ptrdiff_t count);

#endif
