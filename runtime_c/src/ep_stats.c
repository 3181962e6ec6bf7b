/* SPDX-License-Identifier: Apache-2.0 */
#include "ep_stats.h"

static void sift(uint64_t *values, ptrdiff_t root, ptrdiff_t count)
{
    for (ptrdiff_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && values[child + 1] > values[child]) {
            child++;
        }
        if (values[root] >= values[child]) {
            return;
        }
        const uint64_t larger = values[child];
        values[child] = values[root];
        values[root] = larger;
    }
}

void ep_stats_sort(uint64_t *values, ptrdiff_t count)
{
    for (ptrdiff_t root = count / 2 - 1; root >= 0; root--) {
        sift(values, root, count);
    }
    for (ptrdiff_t end = count - 1; end > 0; end--) {
        const uint64_t largest = values[0];
        values[0] = values[end];
        values[end] = largest;
        sift(values, 0, end);
    }
}

static uint64_t square_root(uint64_t x)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 62; bit != 0; bit >>= 2) {
        if (x >= root + bit) {
            x -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return root;
}

/* The smallest value that at least `percent` per cent of the values do not exceed. */
static uint64_t percentile(const uint64_t *sorted, ptrdiff_t count, ptrdiff_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

/* The mean is summed as distances from the minimum, and squares are halved as often as needed: nothing overflows. */
ep_stats ep_stats_of(const uint64_t *sorted, ptrdiff_t count)
{
    ep_stats stats;
    const uint64_t n = (uint64_t)count;
    uint64_t sum = 0;
    uint64_t squares = 0;
    int shift = 0;
    stats.min = sorted[0];
    stats.max = sorted[count - 1];
    stats.median = percentile(sorted, count, 50);
    stats.p90 = percentile(sorted, count, 90);
    stats.p99 = percentile(sorted, count, 99);
    for (ptrdiff_t i = 0; i < count; i++) {
        sum += sorted[i] - stats.min;
    }
    stats.mean = stats.min + (sum + n / 2) / n;
    const uint64_t range = stats.max - stats.min;
    while (range >> shift > 0 && (range >> shift) > (UINT64_MAX / n) / (range >> shift)) {
        shift++;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        const uint64_t distance = sorted[i] > stats.mean ? sorted[i] - stats.mean : stats.mean - sorted[i];
        squares += (distance >> shift) * (distance >> shift);
    }
    stats.stdev = square_root(squares / n) << shift;
    return stats;
}
