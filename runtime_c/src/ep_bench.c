/* SPDX-License-Identifier: Apache-2.0 */
#include "ep_bench.h"

#include "ep/ep_port.h"
#include "ep_text.h"

enum {
    WINDOW_MS = 50,     /* warm-up: time of a window ... */
    WINDOW_RUNS = 5,    /* ... and its fewest runs */
    WARMUP_MS = 5000,   /* a warm-up ends here, stable or not */
    STABLE_PERCENT = 2, /* a window this close to the best one before it has settled */
    DEFAULT_MS = 2000,  /* measured when neither --runs nor --seconds is given */
    FEWEST_RUNS = 3,    /* measured even when they take longer than asked for */
    MOST_RUNS = 100000, /* samples kept: 800 kB */
    MOST_LAYER_RUNS = 50,
    NS_PER_MS = 1000000
};

void ep_bench_make_inputs(const ep_model *model, uint8_t *image)
{
    uint32_t state = 2463534242U;
    for (int i = 0; i < model->input_count; i++) {
        const size_t bytes = model->inputs[i].bytes;
        const int is_float = ep_text_equal(model->inputs[i].dtype, "float32");
        for (size_t at = 0; is_float && at + sizeof(float) <= bytes; at += sizeof(float)) {
            union {
                float value;
                uint8_t bytes[sizeof(float)];
            } next;
            state ^= state << 13; /* xorshift32 */
            state ^= state >> 17;
            state ^= state << 5;
            next.value = (float)(int32_t)(state >> 8) / 8388608.0F - 1.0F;
            for (size_t k = 0; k < sizeof(float); k++) {
                image[at + k] = next.bytes[k];
            }
        }
        image += bytes;
    }
}

void ep_bench_hash_outputs(const ep_session *session, char hex[EP_SHA256_HEX])
{
    ep_sha256 hash;
    ep_sha256_begin(&hash);
    for (int i = 0; i < session->model->output_count; i++) {
        ep_sha256_add(&hash, session->model->output(session->ctx, i), session->model->outputs[i].bytes);
    }
    ep_sha256_end(&hash, hex);
}

static ep_status run_once(ep_bench *bench, uint64_t *time)
{
    ep_session *session = &bench->session;
    ep_session_set_inputs(session, bench->image);
    const uint64_t begin = ep_port_clock();
    const ep_status status = session->model->invoke(session->ctx);
    *time = ep_port_clock() - begin;
    return status;
}

/* The mean time of a run over one window, which ends early at the clock `until`. */
static ep_status run_window(ep_bench *bench, uint64_t until, uint64_t *mean)
{
    uint64_t sum = 0;
    uint64_t runs = 0;
    while (runs == 0 || ((runs < WINDOW_RUNS || sum < (uint64_t)WINDOW_MS * NS_PER_MS) && ep_port_clock() < until)) {
        uint64_t time;
        const ep_status status = run_once(bench, &time);
        if (status != EP_OK) {
            return status;
        }
        sum += time;
        runs++;
    }
    bench->warmup_runs += runs;
    *mean = sum / runs;
    return EP_OK;
}

static ep_status run_fixed(ep_bench *bench, int count)
{
    ep_status status = EP_OK;
    for (int i = 0; i < count && status == EP_OK; i++) {
        uint64_t time;
        status = run_once(bench, &time);
    }
    bench->warmup_runs = (uint64_t)count;
    bench->stable = ep_port_clock_is_exact;
    return status;
}

ep_status ep_bench_warm_up(ep_bench *bench, int fixed)
{
    const uint64_t until = ep_port_clock() + (uint64_t)WARMUP_MS * NS_PER_MS;
    uint64_t best = 0;
    if (fixed >= 0 || ep_port_clock_is_exact) {
        return run_fixed(bench, fixed >= 0 ? fixed : 0);
    }
    while (!bench->stable && ep_port_clock() < until) {
        uint64_t mean;
        const ep_status status = run_window(bench, until, &mean);
        if (status != EP_OK) {
            return status;
        }
        const uint64_t margin = best * STABLE_PERCENT / 100;
        bench->stable = best > 0 && mean + margin >= best && mean <= best + margin;
        best = best == 0 || mean < best ? mean : best;
    }
    return EP_OK;
}

/* The most runs to take samples of, and in `until` the clock at which to stop before that (0: never). */
static uint64_t plan_runs(const ep_bench_options *options, uint64_t *until)
{
    const uint64_t milliseconds = options->milliseconds > 0 ? options->milliseconds : DEFAULT_MS;
    *until = 0;
    if (options->runs > 0) {
        return options->runs;
    }
    if (ep_port_clock_is_exact) {
        return 1;
    }
    *until = ep_port_clock() + milliseconds * NS_PER_MS;
    return MOST_RUNS;
}

ep_status ep_bench_measure(ep_bench *bench, const ep_bench_options *options)
{
    uint64_t until;
    char last[EP_SHA256_HEX];
    const uint64_t most = plan_runs(options, &until);
    bench->samples = (uint64_t *)ep_port_memory((size_t)most * sizeof(uint64_t), sizeof(uint64_t));
    if (bench->samples == NULL) {
        return EP_E_SIZE;
    }
    while (bench->runs < most && (until == 0 || bench->runs < FEWEST_RUNS || ep_port_clock() < until)) {
        const ep_status status = run_once(bench, &bench->samples[bench->runs]);
        if (status != EP_OK) {
            return status;
        }
        bench->runs++;
    }
    if (bench->session.model->reset != NULL) { /* a stream repeats only from its beginning */
        uint64_t time;
        bench->session.model->reset(bench->session.ctx);
        const ep_status status = run_once(bench, &time);
        if (status != EP_OK) {
            return status;
        }
    }
    ep_bench_hash_outputs(&bench->session, last);
    bench->outputs_repeat = ep_text_equal(last, bench->output_sha256);
    return EP_OK;
}

ep_status ep_bench_measure_layers(ep_bench *bench)
{
    ep_session *session = &bench->session;
    const ptrdiff_t steps = session->model->step_count;
    const ptrdiff_t runs = (ptrdiff_t)(bench->runs < MOST_LAYER_RUNS ? bench->runs : MOST_LAYER_RUNS);
    uint64_t *times = (uint64_t *)ep_port_memory((size_t)(steps * runs) * sizeof(uint64_t), sizeof(uint64_t));
    bench->layers = (ep_stats *)ep_port_memory((size_t)steps * sizeof(ep_stats), sizeof(uint64_t));
    if (times == NULL || bench->layers == NULL) {
        return EP_E_SIZE;
    }
    for (ptrdiff_t run = 0; run < runs; run++) {
        ep_session_set_inputs(session, bench->image);
        for (ptrdiff_t step = 0; step < steps; step++) {
            const uint64_t begin = ep_port_clock();
            const ep_status status = session->model->step(session->ctx, (int)step);
            times[step * runs + run] = ep_port_clock() - begin;
            if (status != EP_OK) {
                return status;
            }
        }
    }
    for (ptrdiff_t step = 0; step < steps; step++) {
        ep_stats_sort(times + step * runs, runs);
        bench->layers[step] = ep_stats_of(times + step * runs, runs);
    }
    bench->layer_runs = (uint64_t)runs;
    return EP_OK;
}
