/* SPDX-License-Identifier: Apache-2.0 */
#include "ep_cpu.h"

#include "ep/ep_base.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
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

#if defined(__x86_64__)
/* XCR0: which registers the operating system saves; without it an extension is not usable. */
static uint32_t saved_registers(void)
{
    uint32_t low;
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

typedef struct features {
    uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx;
    int ymm, zmm; /* saved by the operating system */
} features;

static features read_features(void)
{
    enum { OSXSAVE = 1 << 27, YMM_STATE = 0x6, ZMM_STATE = 0xe6 };
    uint32_t eax;
    uint32_t ebx;
    uint32_t ecx;
    uint32_t edx;
    features found = {0, 0, 0, 0, 0};
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        found.leaf1_ecx = ecx;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        found.leaf7_ebx = ebx;
        found.leaf7_ecx = ecx;
    }
    if (found.leaf1_ecx & OSXSAVE) {
        const uint32_t saved = saved_registers();
        found.ymm = (saved & YMM_STATE) == YMM_STATE;
        found.zmm = (saved & ZMM_STATE) == ZMM_STATE;
    }
    return found;
}

static int bit(uint32_t word, int index)
{
    return (int)(word >> index & 1U);
}
#endif

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
    const features f = read_features();
    const extension known[] = {
        {"avx2", f.ymm && bit(f.leaf7_ebx, 5)},        {"fma", f.ymm && bit(f.leaf1_ecx, 12)},
        {"avx512f", f.zmm && bit(f.leaf7_ebx, 16)},    {"avx512dq", f.zmm && bit(f.leaf7_ebx, 17)},
        {"avx512bw", f.zmm && bit(f.leaf7_ebx, 30)},   {"avx512vl", f.zmm && bit(f.leaf7_ebx, 31)},
        {"avx512vnni", f.zmm && bit(f.leaf7_ecx, 11)},
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
