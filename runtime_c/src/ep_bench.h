/* SPDX-License-Identifier: Apache-2.0 */
/** Measuring a model: warm-up, runs, layers. */
#ifndef EP_BENCH_H
#define EP_BENCH_H

#include "ep_bench_options.h"
#include "ep_session.h"
#include "ep_sha256.h"
#include "ep_stats.h"

typedef struct ep_bench {
    ep_session session;
    uint8_t *image; /* all inputs */
    int pinned;     /* the processors asked for were granted */
    uint64_t warmup_runs;
    int stable;        /* the warm-up ended because times had settled */
    uint64_t *samples; /* one clock difference per run, in order */
    uint64_t runs;
    int outputs_repeat; /* the last run gave the same bytes as the first */
    char output_sha256[EP_SHA256_HEX];
    ep_stats *layers; /* one per step, NULL unless asked for */
    uint64_t layer_runs;
} ep_bench;

/** Fill the input image with fixed pseudo-random floats in [-1, 1) and, for other types, zeros (always valid as indices). */
void ep_bench_make_inputs(const ep_model *model, uint8_t *image);

/** The SHA-256 of all outputs, in graph order. */
void ep_bench_hash_outputs(const ep_session *session, char hex[EP_SHA256_HEX]);

/** Run until the mean time of a window of runs no longer falls, or `fixed` times when that is not negative. */
ep_status ep_bench_warm_up(ep_bench *bench, int fixed);

/** Measure whole inferences; the copying in of the inputs is not part of a sample. */
ep_status ep_bench_measure(ep_bench *bench, const ep_bench_options *options);

/** Measure every step on its own, in order, `layer_runs` times. */
ep_status ep_bench_measure_layers(ep_bench *bench);

/** Print the results; sorts the samples. */
ep_status ep_bench_report(ep_bench *bench, const ep_bench_options *options);

#endif
