/* SPDX-License-Identifier: Apache-2.0 */
#include "ep_cpu.h"

#include "ep/ep_base.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

const char *ep_cpu_machine(void)
{
#if defined(__x86_64__)
    return "x86_64";
#elif defined(__aarch64__)
    return "aarch64";
#elif defined(__arm__)
    return "arm";
#elif defined(__riscv) && __riscv_xlen == 64
    return "riscv64";
#elif defined(__riscv)
    return "riscv32";
#elif defined(__wasm32__)
    return "wasm32";
#else
    return "unknown";
#endif
}

/* One extension by name, and whether this processor has it. */
typedef struct extension {
    const char *name;
    int present;
} extension;

/* Nonzero when `name` is one of the words of ep_built_for. */
static int needed(const char *name)
{
    const char *at = ep_built_for;
    while (*at != '\0') {
        const char *want = name;
        while (*want != '\0' && *at == *want) {
            at++;
            want++;
        }
        if (*want == '\0' && (*at == ' ' || *at == '\0')) {
            return 1;
        }
        while (*at != ' ' && *at != '\0') {
            at++;
        }
        while (*at == ' ') {
            at++;
        }
    }
    return 0;
}

const char *ep_cpu_missing(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const extension known[] = {
        {"avx2", __builtin_cpu_supports("avx2")},
        {"fma", __builtin_cpu_supports("fma")},
        {"avx512f", __builtin_cpu_supports("avx512f")},
        {"avx512bw", __builtin_cpu_supports("avx512bw")},
        {"avx512vl", __builtin_cpu_supports("avx512vl")},
        {"avx512dq", __builtin_cpu_supports("avx512dq")},
        {"avx512vnni", __builtin_cpu_supports("avx512vnni")},
    };
#elif defined(__aarch64__) && defined(__linux__)
    const extension known[] = {{"asimddp", (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0}};
#else
    const extension known[] = {{"", 1}};
#endif
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!known[i].present && needed(known[i].name)) {
            return known[i].name;
        }
    }
    return NULL;
}
