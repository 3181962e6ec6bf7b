/* SPDX-License-Identifier: Apache-2.0 */
/* The port to POSIX systems and to WASI, which has the same calls for files, memory and time. */
#define _GNU_SOURCE 1 /* sched_setaffinity */

#include "ep/ep_port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif
#if !defined(__wasi__)
#include <sys/resource.h>
#endif

const char *const ep_port_clock_unit = "ns";
const int ep_port_clock_is_exact = 0;

uint64_t ep_port_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void *ep_port_memory(size_t bytes, size_t align)
{
    void *memory = NULL;
    if (posix_memalign(&memory, EP_MAX2(align, sizeof(void *)), EP_MAX2(bytes, (size_t)1)) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < bytes; i++) { /* also makes the pages present, so that no measurement pays for it */
        ((volatile uint8_t *)memory)[i] = 0;
    }
    return memory;
}

int ep_port_open(const char *path, int to_write)
{
    return open(path, to_write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0644);
}

ptrdiff_t ep_port_read(int file, void *data, size_t bytes)
{
    ssize_t count;
    do {
        count = read(file, data, bytes);
    } while (count < 0 && errno == EINTR);
    return (ptrdiff_t)count;
}

int ep_port_write(int file, const void *data, size_t bytes)
{
    const uint8_t *from = (const uint8_t *)data;
    while (bytes > 0) {
        const ssize_t count = write(file, from, bytes);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return 1;
        }
        from += count;
        bytes -= (size_t)count;
    }
    return 0;
}

int ep_port_close(int file)
{
    return close(file) != 0;
}

#if defined(__linux__)
/* VmHWM of /proc/self/status, in bytes.  ru_maxrss would include what the process was before exec. */
static uint64_t high_water_mark(void)
{
    static const char key[] = "VmHWM:";
    char text[4096];
    const int file = open("/proc/self/status", O_RDONLY);
    const ptrdiff_t count = file < 0 ? 0 : ep_port_read(file, text, sizeof text - 1);
    uint64_t kibibytes = 0;
    if (file >= 0) {
        (void)close(file);
    }
    for (ptrdiff_t i = 0, matched = 0; i < count && text[i] != '\0'; i++) {
        if (matched < (ptrdiff_t)sizeof key - 1) {
            matched = text[i] == key[matched] ? matched + 1 : 0;
        } else if (text[i] >= '0' && text[i] <= '9') {
            kibibytes = kibibytes * 10 + (uint64_t)(text[i] - '0');
        } else if (kibibytes > 0) {
            break;
        }
    }
    return kibibytes * 1024;
}
#endif

uint64_t ep_port_peak_memory(void)
{
#if defined(__linux__)
    const uint64_t bytes = high_water_mark();
    if (bytes > 0) {
        return bytes;
    }
#endif
#if defined(__wasi__)
    return (uint64_t)__builtin_wasm_memory_size(0) * 65536U;
#else
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024U : 0;
#endif
}

ep_status ep_port_pin(const int *cpus, int count)
{
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < count; i++) {
        if (cpus[i] >= CPU_SETSIZE) {
            return EP_E_THREAD;
        }
        CPU_SET((size_t)cpus[i], &set);
    }
    return sched_setaffinity(0, sizeof set, &set) == 0 ? EP_OK : EP_E_THREAD;
#else
    (void)cpus;
    (void)count;
    return EP_E_THREAD;
#endif
}
