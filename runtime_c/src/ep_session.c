/* SPDX-License-Identifier: Apache-2.0 */
#include "ep_session.h"

#include "ep/ep_port.h"
#include "ep/ep_threads.h"
#include "ep_text.h"

/* The widest vector register there is, and a cache line. */
enum { CONTEXT_ALIGN = 64 };

ep_status ep_session_open(ep_session *session, const ep_model *model)
{
    session->model = model;
    session->pool = NULL;
    session->ctx = ep_port_memory(model->ctx_bytes, CONTEXT_ALIGN);
    session->arena = ep_port_memory(model->arena_bytes, EP_MAX2(model->arena_align, (size_t)CONTEXT_ALIGN));
    if (session->ctx == NULL || session->arena == NULL) {
        return EP_E_SIZE;
    }
    return model->init(session->ctx, session->arena, model->arena_bytes);
}

#if defined(EP_NO_THREADS)
ep_status ep_session_threads(ep_session *session, int threads, const int *cpus, int cpu_count)
{
    (void)session;
    (void)cpus;
    (void)cpu_count;
    return threads == 1 ? EP_OK : EP_E_THREAD;
}

void ep_session_close(ep_session *session)
{
    (void)session;
}
#else
ep_status ep_session_threads(ep_session *session, int threads, const int *cpus, int cpu_count)
{
    if (threads == 1) {
        return EP_OK;
    }
    if (session->model->set_pool == NULL) {
        return EP_E_THREAD;
    }
    const ep_status status = ep_pool_create(&session->pool, threads, cpus, cpu_count);
    if (status == EP_OK) {
        session->model->set_pool(session->ctx, session->pool);
    }
    return status;
}

void ep_session_close(ep_session *session)
{
    ep_pool_destroy(session->pool);
    session->pool = NULL;
}
#endif

size_t ep_session_input_bytes(const ep_session *session)
{
    size_t bytes = 0;
    for (int i = 0; i < session->model->input_count; i++) {
        bytes += session->model->inputs[i].bytes;
    }
    return bytes;
}

/* Adds what was read to `*total`. */
static ep_status read_exactly(int file, uint8_t *to, size_t bytes, size_t *total)
{
    while (bytes > 0) {
        const ptrdiff_t count = ep_port_read(file, to, bytes);
        if (count < 0) {
            return EP_E_IO;
        }
        if (count == 0) {
            return EP_E_SHAPE;
        }
        to += count;
        bytes -= (size_t)count;
        *total += (size_t)count;
    }
    return EP_OK;
}

static ep_status read_inputs(ep_session *session, int file, uint8_t *image, size_t *total)
{
    const ep_model *model = session->model;
    for (int i = 0; i < model->input_count; i++) {
        uint8_t *to = image != NULL ? image : (uint8_t *)model->input(session->ctx, i);
        const ep_status status = read_exactly(file, to, model->inputs[i].bytes, total);
        if (status != EP_OK) {
            return status;
        }
        image = image != NULL ? image + model->inputs[i].bytes : NULL;
    }
    return EP_OK;
}

ep_status ep_session_next(ep_session *session, int file, int *at_end)
{
    size_t total = 0;
    const ep_status status = read_inputs(session, file, NULL, &total);
    *at_end = status == EP_E_SHAPE && total == 0;
    return *at_end ? EP_OK : status;
}

ep_status ep_session_read(ep_session *session, const char *path, void *image)
{
    const int standard = ep_text_equal(path, "-");
    const int file = standard ? EP_STDIN : ep_port_open(path, 0);
    if (file < 0) {
        return EP_E_IO;
    }
    size_t total = 0;
    uint8_t beyond;
    ep_status status = read_inputs(session, file, (uint8_t *)image, &total);
    if (status == EP_OK) {
        const ptrdiff_t left = ep_port_read(file, &beyond, 1);
        status = left < 0 ? EP_E_IO : left > 0 ? EP_E_SHAPE : EP_OK;
    }
    if (!standard) {
        (void)ep_port_close(file);
    }
    return status;
}

void ep_session_set_inputs(ep_session *session, const void *image)
{
    const uint8_t *from = (const uint8_t *)image;
    for (int i = 0; i < session->model->input_count; i++) {
        uint8_t *to = (uint8_t *)session->model->input(session->ctx, i);
        const size_t bytes = session->model->inputs[i].bytes;
        for (size_t k = 0; k < bytes; k++) {
            to[k] = from[k];
        }
        from += bytes;
    }
}

ep_status ep_session_put(const ep_session *session, int file)
{
    const ep_model *model = session->model;
    int failed = 0;
    for (int i = 0; i < model->output_count && !failed; i++) {
        failed = ep_port_write(file, model->output(session->ctx, i), model->outputs[i].bytes) != 0;
    }
    return failed ? EP_E_IO : EP_OK;
}

ep_status ep_session_write(const ep_session *session, const char *path)
{
    const int standard = ep_text_equal(path, "-");
    const int file = standard ? EP_STDOUT : ep_port_open(path, 1);
    int failed = file < 0 || ep_session_put(session, file) != EP_OK;
    if (file >= 0 && !standard) {
        failed |= ep_port_close(file) != 0;
    }
    return failed ? EP_E_IO : EP_OK;
}
