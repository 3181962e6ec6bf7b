/* SPDX-License-Identifier: Apache-2.0 */
/* Data only: compiled with the model's flags, it must be readable on a processor that cannot run the model. */
#include "ep_cpu.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define VECTORS "avx2 fma avx512f avx512bw avx512vl avx512dq"
#elif defined(__AVX512F__)
#define VECTORS "avx2 fma avx512f"
#elif defined(__AVX2__) && defined(__FMA__)
#define VECTORS "avx2 fma"
#elif defined(__AVX2__)
#define VECTORS "avx2"
#else
#define VECTORS ""
#endif

#if defined(__AVX512VNNI__)
#define INTEGERS " avx512vnni"
#elif defined(__ARM_FEATURE_DOTPROD) && defined(__aarch64__)
#define INTEGERS "asimddp"
#else
#define INTEGERS ""
#endif

const char *const ep_built_for = VECTORS INTEGERS;
