/* SPDX-License-Identifier: Apache-2.0 */
#include "ep/ep_port.h"
#include "ep_bench.h"
#include "ep_cpu.h"
#include "ep_text.h"

enum { SCHEMA = 1 };

static void json_u64(ep_text *out, const char *key, uint64_t value)
{
    ep_text_key(out, key, 0);
    ep_text_u64(out, value);
}

static void json_bool(ep_text *out, const char *key, int value)
{
    ep_text_key(out, key, 0);
    ep_text_str(out, value ? "true" : "false");
}

static void json_str(ep_text *out, const char *key, const char *value)
{
    ep_text_key(out, key, 0);
    ep_text_json(out, value);
}

static void json_layers(ep_text *out, const ep_bench *bench)
{
    const ep_model *model = bench->session.model;
    json_u64(out, "layer_runs", bench->layer_runs);
    ep_text_key(out, "layers", 0);
    ep_text_str(out, "[");
    for (int step = 0; step < model->step_count; step++) {
        ep_text_str(out, step > 0 ? ",\n  {" : "\n  {");
        ep_text_key(out, "kernel", 1);
        ep_text_json(out, model->steps[step].kernel);
        json_str(out, "source", model->steps[step].source);
        json_u64(out, "macs", model->steps[step].macs);
        json_u64(out, "min", bench->layers[step].min);
        json_u64(out, "median", bench->layers[step].median);
        ep_text_str(out, "}");
    }
    ep_text_str(out, "]");
}

static void json_samples(ep_text *out, const ep_bench *bench)
{
    ep_text_key(out, "samples", 0);
    ep_text_str(out, "[");
    for (uint64_t i = 0; i < bench->runs; i++) {
        ep_text_str(out, i > 0 ? ", " : "");
        ep_text_u64(out, bench->samples[i]);
    }
    ep_text_str(out, "]");
}

static void json_cpus(ep_text *out, const ep_bench *bench, const ep_bench_options *options)
{
    json_bool(out, "pinned", bench->pinned);
    ep_text_key(out, "cpus", 0);
    ep_text_str(out, "[");
    for (int i = 0; i < options->cpu_count; i++) {
        ep_text_str(out, i > 0 ? ", " : "");
        ep_text_u64(out, (uint64_t)options->cpus[i]);
    }
    ep_text_str(out, "]");
}

static void json_stats(ep_text *out, const ep_stats *stats)
{
    json_u64(out, "min", stats->min);
    json_u64(out, "median", stats->median);
    json_u64(out, "mean", stats->mean);
    json_u64(out, "p90", stats->p90);
    json_u64(out, "p99", stats->p99);
    json_u64(out, "max", stats->max);
    json_u64(out, "stdev", stats->stdev);
}

static void report_json(ep_text *out, ep_bench *bench, const ep_bench_options *options)
{
    const ep_model *model = bench->session.model;
    ep_text_str(out, "{");
    ep_text_key(out, "schema", 1);
    ep_text_u64(out, SCHEMA);
    json_str(out, "model", model->name);
    json_str(out, "model_sha256", model->sha256);
    json_str(out, "machine", ep_cpu_machine());
    json_str(out, "extensions", ep_built_for);
    json_u64(out, "threads", (uint64_t)options->threads);
    json_cpus(out, bench, options);
    json_u64(out, "warmup_runs", bench->warmup_runs);
    json_bool(out, "warmup_stable", bench->stable);
    json_str(out, "unit", ep_port_clock_unit);
    json_u64(out, "runs", bench->runs);
    if (options->samples) {
        json_samples(out, bench);
    }
    ep_stats_sort(bench->samples, (ptrdiff_t)bench->runs);
    const ep_stats stats = ep_stats_of(bench->samples, (ptrdiff_t)bench->runs);
    json_stats(out, &stats);
    json_u64(out, "peak_rss_bytes", ep_port_peak_memory());
    json_u64(out, "arena_bytes", model->arena_bytes);
    json_u64(out, "context_bytes", model->ctx_bytes);
    json_u64(out, "weights_bytes", model->weights_bytes);
    json_str(out, "output_sha256", bench->output_sha256);
    json_bool(out, "outputs_repeat", bench->outputs_repeat);
    if (bench->layers != NULL) {
        json_layers(out, bench);
    }
    ep_text_str(out, "}\n");
}

static void line(ep_text *out, const char *name, uint64_t value, const char *unit)
{
    ep_text_str(out, name);
    ep_text_u64(out, value);
    ep_text_str(out, " ");
    ep_text_str(out, unit);
    ep_text_str(out, "\n");
}

static void report_text(ep_text *out, ep_bench *bench, const ep_bench_options *options)
{
    const ep_model *model = bench->session.model;
    ep_text_str(out, model->name);
    ep_text_str(out, " on ");
    ep_text_str(out, ep_cpu_machine());
    ep_text_str(out, "\n");
    line(out, "  warm-up  ", bench->warmup_runs, bench->stable ? "runs" : "runs (not stable)");
    line(out, "  measured ", bench->runs, "runs");
    if (options->samples) {
        for (uint64_t i = 0; i < bench->runs; i++) {
            line(out, "  run      ", bench->samples[i], ep_port_clock_unit);
        }
    }
    ep_stats_sort(bench->samples, (ptrdiff_t)bench->runs);
    const ep_stats stats = ep_stats_of(bench->samples, (ptrdiff_t)bench->runs);
    line(out, "  min      ", stats.min, ep_port_clock_unit);
    line(out, "  median   ", stats.median, ep_port_clock_unit);
    line(out, "  p90      ", stats.p90, ep_port_clock_unit);
    line(out, "  p99      ", stats.p99, ep_port_clock_unit);
    line(out, "  stdev    ", stats.stdev, ep_port_clock_unit);
    line(out, "  peak RSS ", ep_port_peak_memory(), "bytes");
    for (int step = 0; bench->layers != NULL && step < model->step_count; step++) {
        ep_text_str(out, "  ");
        ep_text_u64(out, bench->layers[step].median);
        ep_text_str(out, "\t");
        ep_text_str(out, model->steps[step].source);
        ep_text_str(out, "\n");
    }
}

ep_status ep_bench_report(ep_bench *bench, const ep_bench_options *options)
{
    ep_text out = ep_text_to(EP_STDOUT);
    if (options->json) {
        report_json(&out, bench, options);
    } else {
        report_text(&out, bench, options);
    }
    return ep_text_flush(&out);
}
