/* SPDX-License-Identifier: Apache-2.0 */
#include "ep_bench_options.h"

#include "ep_text.h"

#ifndef EP_THREADS
#define EP_THREADS 1
#endif

const char *const ep_bench_usage =
    "  --input FILE      raw inputs one after another in graph order (default: made-up values)\n"
    "  --output FILE     write the outputs of the first run there, likewise\n"
    "  --runs N          measure N runs\n"
    "  --seconds S       measure as many runs as fit in S seconds (default: 2)\n"
    "  --warmup auto|N   run until times are stable (default), or N times, before measuring\n"
    "  --threads N       threads, the calling one included\n"
    "  --cpu LIST        keep to these processors, such as 0-3,6; one per thread when there are enough\n"
    "  --per-layer       also measure every step of the network\n"
    "  --samples         also print the time of every run\n"
    "  --json            print JSON\n"
    "  --sha256 FILE...  print the SHA-256 of files, and nothing else\n"
    "  --arch            print the architecture and the extensions used, and nothing else\n";

/* "1.25" seconds as 1250; nonzero when it is not a number with up to three decimals. */
static int parse_seconds(const char *text, uint64_t *milliseconds)
{
    uint64_t sum = 0;
    int decimals = -1; /* none, and no point yet */
    if (*text < '0' || *text > '9') {
        return 1;
    }
    for (; *text != '\0'; text++) {
        if (*text == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (*text < '0' || *text > '9' || decimals == 3 || sum > 100000000U) {
            return 1;
        }
        sum = sum * 10 + (uint64_t)(*text - '0');
        decimals += decimals >= 0;
    }
    for (; decimals < 3; decimals += decimals < 0 ? 2 : 1) {
        sum *= 10;
    }
    *milliseconds = sum;
    return sum == 0;
}

/* "0-3,6" as {0, 1, 2, 3, 6}; nonzero when it is not a list of at most EP_MAX_CPUS processors. */
static int parse_cpus(const char *text, ep_bench_options *options)
{
    options->cpu_count = 0;
    for (;;) {
        int bounds[2];
        for (int k = 0; k < 2; k++) {
            int value = 0;
            if (*text < '0' || *text > '9') {
                return 1;
            }
            for (; *text >= '0' && *text <= '9'; text++) {
                value = value > 9999 ? value : value * 10 + (*text - '0');
            }
            bounds[k] = value;
            if (k == 0 && *text != '-') {
                bounds[1] = value;
                break;
            }
            text += k == 0;
        }
        for (int cpu = bounds[0]; cpu <= bounds[1]; cpu++) {
            if (options->cpu_count == EP_MAX_CPUS) {
                return 1;
            }
            options->cpus[options->cpu_count++] = cpu;
        }
        if (*text == '\0') {
            return options->cpu_count == 0;
        }
        if (*text++ != ',') {
            return 1;
        }
    }
}

/* An option with a value; nonzero when there is no such option or the value is wrong. */
static int parse_value(ep_bench_options *options, const char *name, const char *value)
{
    uint64_t number = 0;
    if (ep_text_equal(name, "--input")) {
        options->input = value;
        return 0;
    }
    if (ep_text_equal(name, "--output")) {
        options->output = value;
        return 0;
    }
    if (ep_text_equal(name, "--runs")) {
        return ep_text_parse(value, 100000000U, &options->runs) || options->runs == 0;
    }
    if (ep_text_equal(name, "--seconds")) {
        return parse_seconds(value, &options->milliseconds);
    }
    if (ep_text_equal(name, "--cpu")) {
        return parse_cpus(value, options);
    }
    if (ep_text_equal(name, "--warmup")) {
        const int automatic = ep_text_equal(value, "auto");
        const int wrong = !automatic && ep_text_parse(value, 1000000U, &number);
        options->warmup = automatic ? -1 : (int)number;
        return wrong;
    }
    if (ep_text_equal(name, "--threads")) {
        const int wrong = ep_text_parse(value, 1024, &number) || number == 0;
        options->threads = (int)number;
        return wrong;
    }
    return 1;
}

static int parse_flag(ep_bench_options *options, const char *name)
{
    if (ep_text_equal(name, "--per-layer")) {
        options->per_layer = 1;
    } else if (ep_text_equal(name, "--samples")) {
        options->samples = 1;
    } else if (ep_text_equal(name, "--json")) {
        options->json = 1;
    } else {
        return 1;
    }
    return 0;
}

const char *ep_bench_parse(ep_bench_options *options, int argc, char **argv)
{
    *options = (ep_bench_options){.warmup = -1, .threads = EP_THREADS};
    for (int i = 0; i < argc; i++) {
        if (parse_flag(options, argv[i]) == 0) {
            continue;
        }
        if (i + 1 == argc || parse_value(options, argv[i], argv[i + 1]) != 0) {
            return argv[i];
        }
        i++;
    }
    return NULL;
}
