/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks that count, and sections that can be found in the object. */
#ifndef HOOKS_H
#define HOOKS_H

extern int hooks_begun, hooks_ended, hooks_yields, hooks_failed;

#define EP_PROFILE_BEGIN(step) ((void)(hooks_begun += 1 + 0 * (step)))
#define EP_PROFILE_END(step) ((void)(hooks_ended += 1 + 0 * (step)))
#define EP_YIELD() ((void)hooks_yields++)
#define EP_ASSERT(condition) ((void)(hooks_failed += !(condition)))
#define EP_FAST_CODE __attribute__((section(".fast")))
#define EP_WEIGHTS_SECTION __attribute__((section(".flash")))
#define EP_ARENA_SECTION __attribute__((section(".tightly_coupled")))

#endif
