/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what the hooks of a model are told; compiled into the model's file with -include hooks.h. */
#include <stdio.h>

#include "first.h"
#include "hooks.h"

int hooks_begun, hooks_ended, hooks_yields, hooks_failed;

static FIRST_ARENA(arena);

int main(void)
{
    first_ctx ctx;
    const float x[FIRST_IN_X_COUNT] = {1};
    float y[FIRST_OUT_Y_COUNT];
    if (first_init(&ctx, arena, sizeof arena) != EP_OK || first_run(&ctx, x, y) != EP_OK) {
        return 1;
    }
    printf("%d %d %d %d", hooks_begun, hooks_ended, hooks_yields, hooks_failed);
    ctx.base.arena = NULL;
    (void)first_input_x(&ctx);
    printf(" %d\n", hooks_failed);
    return 0;
}
