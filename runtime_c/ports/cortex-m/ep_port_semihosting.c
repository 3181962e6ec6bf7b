/* SPDX-License-Identifier: Apache-2.0 */
/* The port to a bare Cortex-M under an emulator or a debugger with semihosting.
 *
 * The clock is SysTick on the processor clock.  QEMU with -icount shift=0 lets one nanosecond pass per instruction, so on a
 * 25 MHz machine a tick is exactly 40 instructions: counts are repeatable, and this port calls its unit "instructions".
 * A board with another clock sets EP_TICK_INSTRUCTIONS. */
#include "ep/ep_port.h"
#include "ep_semihosting.h"

#ifndef EP_TICK_INSTRUCTIONS
#define EP_TICK_INSTRUCTIONS 40
#endif

const char *const ep_port_clock_unit = "instructions";
const int ep_port_clock_is_exact = 1;

int main(int argc, char **argv);
void SysTick_Handler(void);

enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_GET_CMDLINE = 0x15,
    SYS_EXIT = 0x18,
    SYS_EXIT_EXTENDED = 0x20
};

/* fopen modes, by their number in the specification */
enum { OPEN_READ = 0, OPEN_READ_BINARY = 1, OPEN_WRITE = 4, OPEN_WRITE_BINARY = 5, OPEN_APPEND = 8 };

static const uint32_t application_exit = 0x20026; /* ADP_Stopped_ApplicationExit */

static int call(int operation, const void *arguments)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void ep_semihosting_exit(int code)
{
    const uint32_t arguments[2] = {application_exit, (uint32_t)code};
    (void)call(SYS_EXIT_EXTENDED, arguments);
    for (;;) { /* not extended: the exit code is lost, the end is not */
        (void)call(SYS_EXIT, (const void *)(uintptr_t)application_exit);
    }
}

/* -- clock ----------------------------------------------------------------------------------------------------------- */

typedef struct systick {
    volatile uint32_t control, reload, value;
} systick;

#define SYSTICK ((systick *)(uintptr_t)0xE000E010U)
#define SYSTICK_TICKS 0x1000000U /* 24 bits */

static volatile uint32_t wraps;

void SysTick_Handler(void)
{
    wraps++;
}

static void start_clock(void)
{
    SYSTICK->reload = SYSTICK_TICKS - 1;
    SYSTICK->value = 0;
    SYSTICK->control = 7; /* processor clock, interrupt, on */
}

uint64_t ep_port_clock(void)
{
    uint32_t before;
    uint32_t value;
    do {
        before = wraps;
        value = SYSTICK->value;
    } while (before != wraps);
    return ((uint64_t)before * SYSTICK_TICKS + (SYSTICK_TICKS - 1 - value)) * EP_TICK_INSTRUCTIONS;
}

/* -- memory ---------------------------------------------------------------------------------------------------------- */

extern uint8_t ep_heap_begin[], ep_heap_end[]; /* link.ld: what .data, .bss and the stack leave of the RAM */

static uintptr_t heap_next;

void *ep_port_memory(size_t bytes, size_t align)
{
    const uintptr_t begin = (heap_next + align - 1) / align * align;
    if (begin > (uintptr_t)ep_heap_end || bytes > (uintptr_t)ep_heap_end - begin) {
        return NULL;
    }
    heap_next = begin + bytes;
    for (size_t i = 0; i < bytes; i++) {
        ((volatile uint8_t *)begin)[i] = 0;
    }
    return (void *)begin;
}

uint64_t ep_port_peak_memory(void)
{
    return (uint64_t)(heap_next - (uintptr_t)ep_heap_begin);
}

ep_status ep_port_pin(const int *cpus, int count)
{
    (void)cpus;
    (void)count;
    return EP_E_THREAD;
}

/* -- files ----------------------------------------------------------------------------------------------------------- */

static int handles[3]; /* of the standard streams */

static int handle_of(int file)
{
    return file <= EP_STDERR ? handles[file] : file - EP_STDERR - 1;
}

static int open_file(const char *path, int mode)
{
    uint32_t length = 0;
    while (path[length] != '\0') {
        length++;
    }
    const uint32_t arguments[3] = {(uint32_t)(uintptr_t)path, (uint32_t)mode, length};
    return call(SYS_OPEN, arguments);
}

int ep_port_open(const char *path, int to_write)
{
    const int handle = open_file(path, to_write ? OPEN_WRITE_BINARY : OPEN_READ_BINARY);
    return handle < 0 ? -1 : handle + EP_STDERR + 1;
}

ptrdiff_t ep_port_read(int file, void *data, size_t bytes)
{
    const uint32_t arguments[3] = {(uint32_t)handle_of(file), (uint32_t)(uintptr_t)data, bytes};
    const int left = call(SYS_READ, arguments);
    return left < 0 || (size_t)left > bytes ? -1 : (ptrdiff_t)bytes - left;
}

int ep_port_write(int file, const void *data, size_t bytes)
{
    const uint32_t arguments[3] = {(uint32_t)handle_of(file), (uint32_t)(uintptr_t)data, bytes};
    return call(SYS_WRITE, arguments) != 0;
}

int ep_port_close(int file)
{
    const uint32_t argument = (uint32_t)handle_of(file);
    return call(SYS_CLOSE, &argument) != 0;
}

/* -- start ----------------------------------------------------------------------------------------------------------- */

enum { LINE_BYTES = 1024, MOST_WORDS = 32 };

static char line[LINE_BYTES];
static char *words[MOST_WORDS + 1];

/* Cut the command line at spaces; QEMU joins its arg= options with one.  Nonzero when there are too many words. */
static int split_line(int *count)
{
    char *at = line;
    *count = 0;
    for (;;) {
        while (*at == ' ') {
            *at++ = '\0';
        }
        if (*at == '\0') {
            words[*count] = NULL;
            return 0;
        }
        if (*count == MOST_WORDS) {
            return 1;
        }
        words[(*count)++] = at;
        while (*at != ' ' && *at != '\0') {
            at++;
        }
    }
}

void ep_semihosting_run(void)
{
    const uint32_t arguments[2] = {(uint32_t)(uintptr_t)line, LINE_BYTES};
    int count = 0;
    heap_next = (uintptr_t)ep_heap_begin;
    start_clock();
    handles[EP_STDIN] = open_file(":tt", OPEN_READ);
    handles[EP_STDOUT] = open_file(":tt", OPEN_WRITE);
    handles[EP_STDERR] = open_file(":tt", OPEN_APPEND);
    if (call(SYS_GET_CMDLINE, arguments) != 0 || split_line(&count) != 0) {
        ep_semihosting_exit(2);
    }
    ep_semihosting_exit(main(count, words));
}
