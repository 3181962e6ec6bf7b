/* SPDX-License-Identifier: Apache-2.0 */
/* A C++ program that calls a model, and what its entry points say to wrong arguments. */
#include <cstdio>
#include <cstring>

#include "first.h"

namespace
{
FIRST_ARENA(arena);
float const input[FIRST_IN_X_COUNT] = {1.5F};
} // namespace

int main()
{
    first_ctx ctx;
    float output[FIRST_OUT_Y_COUNT];
    int const dims[] = FIRST_IN_X_DIMS;
    std::printf("%d %d %d\n", FIRST_IN_X_RANK, dims[0], dims[1]);
    std::printf("%d", first_init(&ctx, NULL, sizeof arena) == EP_E_NULL);
    std::printf("%d", first_init(NULL, arena, sizeof arena) == EP_E_NULL);
    std::printf("%d", first_init(&ctx, arena + 1, sizeof arena) == EP_E_ALIGN);
    std::printf("%d", first_init(&ctx, arena, FIRST_ARENA_SIZE - 1) == EP_E_SIZE);
    std::printf("%d", first_init_weights(&ctx, arena, sizeof arena, arena, FIRST_WEIGHTS_SIZE) == EP_E_VERSION);
    std::printf("%d", first_init_weights(&ctx, arena, sizeof arena, first_weights, 3) == EP_E_SIZE);
    std::printf("%d\n", first_run(&ctx, NULL, output) == EP_E_NULL);
    if (first_init(&ctx, arena, sizeof arena) != EP_OK || first_run(&ctx, input, output) != EP_OK) {
        return 1;
    }
    std::printf("%g %s\n", static_cast<double>(output[0]), FIRST_OUT_Y_DTYPE);
    return 0;
}
