/* SPDX-License-Identifier: Apache-2.0 */
/* Two models in one program: one after the other in one arena, then two contexts of each at once in threads.
 * Prints the first output of every run; `first` doubles, `second` negates. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "first.h"
#include "second.h"

enum { COUNT = FIRST_IN_X_COUNT, RUNS = 2000 };

typedef struct job {
    void *arena;
    float value;
    int is_first;
    int wrong;
} job;

static EP_ARENA_SECTION EP_ALIGNED(
    EP_MAX2(FIRST_ARENA_ALIGN, SECOND_ARENA_ALIGN)) uint8_t shared[EP_MAX2(FIRST_ARENA_SIZE, SECOND_ARENA_SIZE)];
static FIRST_ARENA(arena_0);
static FIRST_ARENA(arena_1);
static SECOND_ARENA(arena_2);
static SECOND_ARENA(arena_3);

static float run_first(void *arena, float value)
{
    first_ctx ctx;
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = value;
    }
    if (first_init(&ctx, arena, FIRST_ARENA_SIZE) != EP_OK || first_run(&ctx, x, y) != EP_OK) {
        exit(2);
    }
    return y[COUNT - 1];
}

static float run_second(void *arena, float value)
{
    second_ctx ctx;
    if (second_init(&ctx, arena, SECOND_ARENA_SIZE) != EP_OK) {
        exit(2);
    }
    for (int i = 0; i < COUNT; i++) {
        second_input_x(&ctx)[i] = value;
    }
    if (second_invoke(&ctx) != EP_OK) {
        exit(2);
    }
    return second_output_y(&ctx)[COUNT - 1];
}

static void *work(void *argument)
{
    job *const mine = (job *)argument;
    for (int run = 0; run < RUNS; run++) {
        const float value = mine->value + (float)run;
        const float y = mine->is_first ? run_first(mine->arena, value) : run_second(mine->arena, value);
        mine->wrong += y != (mine->is_first ? 2 * value : -value);
    }
    return NULL;
}

int main(void)
{
    printf("%g\n", (double)run_first(shared, 3));
    printf("%g\n", (double)run_second(shared, 4));
    printf("%g\n", (double)run_first(shared, 5));
    job jobs[] = {{arena_0, 1, 1, 0}, {arena_1, 7, 1, 0}, {arena_2, 2, 0, 0}, {arena_3, 9, 0, 0}};
    pthread_t threads[4];
    int wrong = 0;
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0) {
            return 2;
        }
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
        wrong += jobs[i].wrong;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
