/* SPDX-License-Identifier: Apache-2.0 */
/** One model, ready to run: what the run and bench programs share. */
#ifndef EP_SESSION_H
#define EP_SESSION_H

#include "ep/ep_model.h"

typedef struct ep_session {
    const ep_model *model;
    void *ctx;
    void *arena;
    struct ep_pool *pool;
} ep_session;

/** Take memory for the model's context and arena and initialise it. */
ep_status ep_session_open(ep_session *session, const ep_model *model);

/** Run on `threads` threads, pinned to `cpus` when there is one for each.  Without thread support (EP_NO_THREADS), or with
 *  a model that was built for one thread, more than one is EP_E_THREAD. */
ep_status ep_session_threads(ep_session *session, int threads, const int *cpus, int cpu_count);

/** Stop the threads; the memory stays taken until the program ends. */
void ep_session_close(ep_session *session);

/** Bytes of all inputs together, in graph order: the size of a run's input file. */
size_t ep_session_input_bytes(const ep_session *session);

/** Read the inputs from a file ("-": standard input) into `image`, or into the model itself when it is NULL.
 *  EP_E_IO when the file cannot be read, EP_E_SHAPE when it is shorter or longer than the inputs. */
ep_status ep_session_read(ep_session *session, const char *path, void *image);

/** Read the inputs of one run from an open file into the model.  At the end of the file `*at_end` becomes nonzero;
 *  EP_E_SHAPE when it ends within the inputs. */
ep_status ep_session_next(ep_session *session, int file, int *at_end);

/** Copy an image of all inputs into the model.  Its arena may reuse the inputs' memory, so every run starts with this. */
void ep_session_set_inputs(ep_session *session, const void *image);

/** Write all outputs to a file ("-": standard output), in graph order. */
ep_status ep_session_write(const ep_session *session, const char *path);

/** Write all outputs to an open file. */
ep_status ep_session_put(const ep_session *session, int file);

#endif
