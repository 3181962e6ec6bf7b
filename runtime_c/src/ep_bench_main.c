/* SPDX-License-Identifier: Apache-2.0 */
/** `<name>-bench`: measures a model where it runs; `--help` lists the options.
 *
 *  Exit code 0, or 1 with one line on standard error, or 2 for wrong usage.  Compiled with -DEP_MODEL=<name>_model;
 *  -DEP_THREADS=n for a model that was built for n threads; -DEP_NO_THREADS where the port has none. */
#include "ep/ep_port.h"
#include "ep/ep_status.h"
#include "ep_bench.h"
#include "ep_cpu.h"
#include "ep_text.h"

extern const ep_model EP_MODEL;

static void say(int file, const char *const *parts)
{
    ep_text text = ep_text_to(file);
    for (; *parts != NULL; parts++) {
        ep_text_str(&text, *parts);
    }
    ep_text_str(&text, "\n");
    (void)ep_text_flush(&text);
}

static int fail(const char *what, const char *name, const char *why)
{
    const char *const parts[] = {EP_MODEL.name, "-bench: ", what, name, ": ", why, NULL};
    say(EP_STDERR, parts);
    return 1;
}

static int print_hashes(char **paths, int count)
{
    int code = 0;
    for (int i = 0; i < count; i++) {
        char hex[EP_SHA256_HEX];
        if (ep_sha256_file(paths[i], hex) != EP_OK) {
            code = fail("cannot read ", paths[i], ep_status_text(EP_E_IO));
            continue;
        }
        const char *const parts[] = {hex, "  ", paths[i], NULL};
        say(EP_STDOUT, parts);
    }
    return code;
}

static int print_architecture(void)
{
    const char *missing = ep_cpu_missing();
    const char *const parts[] = {ep_cpu_machine(), " ", ep_built_for, NULL};
    say(EP_STDOUT, parts);
    return missing == NULL ? 0 : fail("this processor lacks ", missing, "the model was built to need it");
}

/* Processors first, so that the threads inherit them. */
static ep_status set_up(ep_bench *bench, const ep_bench_options *options)
{
    if (options->cpu_count > 0) {
        bench->pinned = ep_port_pin(options->cpus, options->cpu_count) == EP_OK;
    }
    ep_status status = ep_session_open(&bench->session, &EP_MODEL);
    if (status == EP_OK) {
        status = ep_session_threads(&bench->session, options->threads, options->cpus, options->cpu_count);
    }
    if (status == EP_OK) {
        bench->image = (uint8_t *)ep_port_memory(ep_session_input_bytes(&bench->session), sizeof(uint64_t));
        status = bench->image == NULL ? EP_E_SIZE : EP_OK;
    }
    return status;
}

static ep_status load_inputs(ep_bench *bench, const ep_bench_options *options)
{
    if (options->input != NULL) {
        return ep_session_read(&bench->session, options->input, bench->image);
    }
    ep_bench_make_inputs(bench->session.model, bench->image);
    return EP_OK;
}

static ep_status first_run(ep_bench *bench)
{
    ep_session_set_inputs(&bench->session, bench->image);
    const ep_status status = bench->session.model->invoke(bench->session.ctx);
    if (status == EP_OK) {
        ep_bench_hash_outputs(&bench->session, bench->output_sha256);
    }
    return status;
}

static int measure(ep_bench *bench, const ep_bench_options *options)
{
    ep_status status = load_inputs(bench, options);
    if (status != EP_OK) {
        return fail("cannot read the inputs from ", options->input,
                    status == EP_E_SHAPE ? "it does not have the size of the inputs" : ep_status_text(status));
    }
    status = first_run(bench);
    if (status == EP_OK && options->output != NULL && ep_session_write(&bench->session, options->output) != EP_OK) {
        return fail("cannot write the outputs to ", options->output, ep_status_text(EP_E_IO));
    }
    if (status == EP_OK) {
        status = ep_bench_warm_up(bench, options->warmup);
    }
    if (status == EP_OK) {
        status = ep_bench_measure(bench, options);
    }
    if (status == EP_OK && options->per_layer) {
        status = ep_bench_measure_layers(bench);
    }
    if (status != EP_OK) {
        return fail("measuring failed", "", ep_status_text(status));
    }
    return ep_bench_report(bench, options) == EP_OK ? 0 : fail("cannot print", "", ep_status_text(EP_E_IO));
}

int main(int argc, char **argv)
{
    ep_bench_options options;
    ep_bench bench = {.pinned = 0};
    if (argc == 2 && ep_text_equal(argv[1], "--help")) {
        const char *const parts[] = {"usage: ", EP_MODEL.name, "-bench [OPTION...]\n", ep_bench_usage, NULL};
        say(EP_STDOUT, parts);
        return 0;
    }
    if (argc == 2 && ep_text_equal(argv[1], "--arch")) {
        return print_architecture();
    }
    if (argc > 2 && ep_text_equal(argv[1], "--sha256")) {
        return print_hashes(argv + 2, argc - 2);
    }
    const char *wrong = ep_bench_parse(&options, argc - 1, argv + 1);
    if (wrong != NULL) {
        (void)fail("wrong option ", wrong, "--help lists them");
        return 2;
    }
    const char *missing = ep_cpu_missing();
    if (missing != NULL) {
        return fail("this processor lacks ", missing, "the model was built to need it");
    }
    const ep_status status = set_up(&bench, &options);
    if (status != EP_OK) {
        return fail("cannot set up the model", "", ep_status_text(status));
    }
    const int code = measure(&bench, &options);
    ep_session_close(&bench.session);
    return code;
}
