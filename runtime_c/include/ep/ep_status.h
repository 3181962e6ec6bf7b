/* SPDX-License-Identifier: Apache-2.0 */
/** What public headers of generated models need: status codes and the alignment macro.  Valid C99 and C++98. */
#ifndef EP_STATUS_H
#define EP_STATUS_H

#include <stddef.h>
#include <stdint.h>

/** Result of every entry point. */
typedef enum ep_status {
    EP_OK = 0,
    EP_E_NULL = 1,    /* a pointer is NULL */
    EP_E_ALIGN = 2,   /* the arena or the weights are not aligned as the header says */
    EP_E_SIZE = 3,    /* the arena is too small */
    EP_E_SHAPE = 4,   /* a run-time dimension is outside its bounds */
    EP_E_INDEX = 5,   /* a data-dependent index is out of range */
    EP_E_VERSION = 6, /* header and source, or weights and source, do not belong together */
    EP_E_IO = 7,      /* a file or the console failed (ports and programs only) */
    EP_E_THREAD = 8   /* the port could not start its threads */
} ep_status;

/* Declares an object at an address that is a multiple of n. */
#ifndef EP_ALIGNED
#define EP_ALIGNED(n) __attribute__((aligned(n)))
#endif

/* A linker section for arenas that <N>_ARENA(name) declares, such as tightly coupled memory. */
#ifndef EP_ARENA_SECTION
#define EP_ARENA_SECTION
#endif

#define EP_MAX2(a, b) ((a) > (b) ? (a) : (b))

#ifdef __cplusplus
extern "C" {
#endif

/** What `status` means, lower case, in English; never NULL.  Linked (src/ep_status.c) only when used. */
const char *ep_status_text(ep_status status);

#ifdef __cplusplus
}
#endif
#endif
