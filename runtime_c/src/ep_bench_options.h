/* SPDX-License-Identifier: Apache-2.0 */
/** The command line of the bench program. */
#ifndef EP_BENCH_OPTIONS_H
#define EP_BENCH_OPTIONS_H

#include "ep/ep_base.h"

enum { EP_MAX_CPUS = 64 };

typedef struct ep_bench_options {
    const char *input;  /* NULL: made up */
    const char *output; /* NULL: not written */
    uint64_t runs;      /* 0: as many as fit in `milliseconds` */
    uint64_t milliseconds;
    int warmup; /* runs; -1: until stable */
    int threads;
    int cpus[EP_MAX_CPUS];
    int cpu_count;
    int per_layer;
    int json;
    int samples;
} ep_bench_options;

/** How to call the program, one line per option. */
extern const char *const ep_bench_usage;

/** Parse the arguments after the program's name.  Returns NULL, or the argument that is wrong. */
const char *ep_bench_parse(ep_bench_options *options, int argc, char **argv);

#endif
