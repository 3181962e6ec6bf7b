/* SPDX-License-Identifier: Apache-2.0 */
/* From reset to main() on an Armv6-M, Armv7-M or Armv8-M core: stack pointer and entry come from the vector table, then the
 * FPU is switched on, .data copied, .bss zeroed.  The symbols come from link.ld. */
#include "ep/ep_base.h"
#include "ep_semihosting.h"

extern uint32_t ep_data_load[], ep_data_begin[], ep_data_end[], ep_bss_begin[], ep_bss_end[], ep_stack_top[];

void Reset_Handler(void);
void Fault_Handler(void);
void SysTick_Handler(void);

/* CPACR: full access to coprocessors 10 and 11, the FPU */
#define CPACR (*(volatile uint32_t *)(uintptr_t)0xE000ED88U)

static void enable_fpu(void)
{
#if defined(__ARM_FP)
    CPACR |= 0xFU << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
}

/* noinline: nothing of it may be scheduled before the FPU is on */
static EP_NOINLINE void run_program(void)
{
    const uint32_t *from = ep_data_load;
    for (volatile uint32_t *to = ep_data_begin; to != ep_data_end; to++) {
        *to = *from++;
    }
    for (volatile uint32_t *to = ep_bss_begin; to != ep_bss_end; to++) {
        *to = 0;
    }
    ep_semihosting_run();
}

void Reset_Handler(void)
{
    enable_fpu();
    run_program();
    for (;;) {
    }
}

/* Ends the program: an emulator that goes on forever hides what happened. */
void Fault_Handler(void)
{
    ep_semihosting_exit(70);
}

typedef union vector {
    uint32_t *stack;
    void (*handler)(void);
} vector;

__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = ep_stack_top},
    {.handler = Reset_Handler},
    {.handler = Fault_Handler}, /* NMI */
    {.handler = Fault_Handler}, /* hard fault */
    {.handler = Fault_Handler}, /* memory management */
    {.handler = Fault_Handler}, /* bus fault */
    {.handler = Fault_Handler}, /* usage fault */
    {.handler = NULL},
    {.handler = NULL},
    {.handler = NULL},
    {.handler = NULL},
    {.handler = Fault_Handler}, /* SVCall */
    {.handler = Fault_Handler}, /* debug monitor */
    {.handler = NULL},
    {.handler = Fault_Handler}, /* PendSV */
    {.handler = SysTick_Handler},
};
