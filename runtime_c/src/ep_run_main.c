/* SPDX-License-Identifier: Apache-2.0 */
/** `<name>-run INPUT OUTPUT`: one inference, or a stream.
 *
 *  INPUT holds the raw inputs one after another in graph order, OUTPUT gets the outputs likewise; "-" is standard input or
 *  output.  For a model with states INPUT may hold several such frames; OUTPUT gets the outputs of each in turn.
 *  Exit code 0, or 1 with one line on standard error, or 2 for wrong usage.
 *
 *  Compiled with -DEP_MODEL=<name>_model; -DEP_THREADS=n for a model that was built for n threads. */
#include "ep/ep_port.h"
#include "ep/ep_status.h"
#include "ep_cpu.h"
#include "ep_session.h"
#include "ep_text.h"

#ifndef EP_THREADS
#define EP_THREADS 1
#endif

extern const ep_model EP_MODEL;

static int fail(const char *what, const char *path, const char *why)
{
    ep_text text = ep_text_to(EP_STDERR);
    ep_text_str(&text, EP_MODEL.name);
    ep_text_str(&text, "-run: ");
    ep_text_str(&text, what);
    ep_text_str(&text, path);
    ep_text_str(&text, ": ");
    ep_text_str(&text, why);
    ep_text_str(&text, "\n");
    (void)ep_text_flush(&text);
    return 1;
}

static int fail_inference(const char *input, ep_status status)
{
    if (status == EP_E_SHAPE || status == EP_E_IO) {
        return fail("cannot read the inputs from ", input,
                    status == EP_E_SHAPE ? "it does not have the size of the inputs" : ep_status_text(status));
    }
    return fail("inference failed", "", ep_status_text(status));
}

static int run_once(ep_session *session, const char *input, const char *output)
{
    ep_status status = ep_session_read(session, input, NULL);
    if (status == EP_OK) {
        status = session->model->invoke(session->ctx);
    }
    if (status != EP_OK) {
        return fail_inference(input, status);
    }
    status = ep_session_write(session, output);
    return status == EP_OK ? 0 : fail("cannot write the outputs to ", output, ep_status_text(status));
}

/* Every frame of the file `from`; at least one. */
static int run_frames(ep_session *session, int from, const char *input, int to, const char *output)
{
    const int once = ep_session_input_bytes(session) == 0;
    int at_end = 0;
    for (int frame = 0; frame == 0 || !once; frame++) {
        ep_status status = ep_session_next(session, from, &at_end);
        if (status == EP_OK && at_end) {
            return frame > 0 ? 0 : fail_inference(input, EP_E_SHAPE);
        }
        if (status == EP_OK) {
            status = session->model->invoke(session->ctx);
        }
        if (status != EP_OK) {
            return fail_inference(input, status);
        }
        if (ep_session_put(session, to) != EP_OK) {
            return fail("cannot write the outputs to ", output, ep_status_text(EP_E_IO));
        }
    }
    return 0;
}

static int run_stream(ep_session *session, const char *input, const char *output)
{
    const int from = ep_text_equal(input, "-") ? EP_STDIN : ep_port_open(input, 0);
    if (from < 0) {
        return fail_inference(input, EP_E_IO);
    }
    const int to = ep_text_equal(output, "-") ? EP_STDOUT : ep_port_open(output, 1);
    int code = 1;
    if (to >= 0) {
        code = run_frames(session, from, input, to, output);
    }
    const int lost = to < 0 || (to != EP_STDOUT && ep_port_close(to) != 0);
    if (from != EP_STDIN) {
        (void)ep_port_close(from);
    }
    return lost ? fail("cannot write the outputs to ", output, ep_status_text(EP_E_IO)) : code;
}

static int run(ep_session *session, const char *input, const char *output)
{
    const ep_status status = ep_session_threads(session, EP_THREADS, NULL, 0);
    if (status != EP_OK) {
        return fail("cannot start threads", "", ep_status_text(status));
    }
    return session->model->reset == NULL ? run_once(session, input, output) : run_stream(session, input, output);
}

int main(int argc, char **argv)
{
    ep_session session;
    const char *missing = ep_cpu_missing();
    if (argc != 3) {
        (void)fail("usage", "", "INPUT OUTPUT (files of raw tensors, - for standard input or output)");
        return 2;
    }
    if (missing != NULL) {
        return fail("this processor lacks ", missing, "the model was built to need it");
    }
    const ep_status status = ep_session_open(&session, &EP_MODEL);
    if (status != EP_OK) {
        return fail("cannot set up the model", "", ep_status_text(status));
    }
    const int code = run(&session, argv[1], argv[2]);
    ep_session_close(&session);
    return code;
}
