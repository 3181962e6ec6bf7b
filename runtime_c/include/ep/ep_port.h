/* SPDX-License-Identifier: Apache-2.0 */
/** What the programs (run, bench, self-test) ask of the platform.  Models and kernels never use it.
 *
 *  One file implements it for each platform: src/ep_port_posix.c (Linux, other POSIX systems, WASI) and
 *  ports/cortex-m/ep_port_semihosting.c (bare metal under an emulator or a debugger). */
#ifndef EP_PORT_H
#define EP_PORT_H

#include "ep_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The unit of `ep_port_clock`: "ns", or "instructions" where an emulator counts them. */
extern const char *const ep_port_clock_unit;

/** Nonzero when equal work always gives equal clock differences, so that warming up and repeating tell nothing new. */
extern const int ep_port_clock_is_exact;

/** A monotonic clock. */
uint64_t ep_port_clock(void);

/** Zeroed memory that lives as long as the program; NULL when there is not enough.  `align` is a power of two. */
void *ep_port_memory(size_t bytes, size_t align);

/** The standard streams as files. */
enum { EP_STDIN = 0, EP_STDOUT = 1, EP_STDERR = 2 };

/** Open a file to read or (created, truncated) to write; negative when it fails. */
int ep_port_open(const char *path, int to_write);

/** Read up to `bytes`: the number read, 0 at the end, negative when it fails. */
ptrdiff_t ep_port_read(int file, void *data, size_t bytes);

/** Write all of `bytes`; nonzero when it fails. */
int ep_port_write(int file, const void *data, size_t bytes);

/** Close a file; nonzero when what was written may be lost. */
int ep_port_close(int file);

/** The most memory the process ever held, in bytes; 0 where the platform does not say. */
uint64_t ep_port_peak_memory(void);

/** Keep the process on these processors; EP_E_THREAD when the platform cannot or does not permit it. */
ep_status ep_port_pin(const int *cpus, int count);

#ifdef __cplusplus
}
#endif
#endif
