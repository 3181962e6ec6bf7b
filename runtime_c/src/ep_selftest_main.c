/* SPDX-License-Identifier: Apache-2.0 */
/** `<name>-selftest`: runs stored cases and prints PASS or FAIL; exit code 0 when all pass.
 *
 *  Compiled with -DEP_MODEL=<name>_model -DEP_SELFTEST=<name>_selftest, and a file that defines
 *  `const ep_selftest_case <name>_selftest[]` and `const int <name>_selftest_count`. */
#include "ep/ep_port.h"
#include "ep/ep_selftest.h"
#include "ep_session.h"
#include "ep_text.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

extern const ep_model EP_MODEL;
extern const ep_selftest_case EP_SELFTEST[];
extern const int JOIN(EP_SELFTEST, _count);

/* Prints one case's outcome; nonzero when it failed. */
static int report(int number, const ep_selftest_result *result)
{
    const int passed = result->status == EP_OK && result->output < 0;
    ep_text text = ep_text_to(EP_STDOUT);
    ep_text_str(&text, passed ? "PASS " : "FAIL ");
    ep_text_str(&text, EP_MODEL.name);
    ep_text_str(&text, " case ");
    ep_text_u64(&text, (uint64_t)number);
    if (result->status != EP_OK) {
        ep_text_str(&text, ": ");
        ep_text_str(&text, ep_status_text(result->status));
    } else if (!passed) {
        ep_text_str(&text, ": output ");
        ep_text_json(&text, EP_MODEL.outputs[result->output].name);
        ep_text_str(&text, ", element ");
        ep_text_u64(&text, (uint64_t)result->element);
    }
    ep_text_str(&text, "\n");
    return ep_text_flush(&text) != EP_OK || !passed;
}

int main(void)
{
    ep_session session;
    int failed = 0;
    const ep_status status = ep_session_open(&session, &EP_MODEL);
    if (status != EP_OK) {
        const ep_selftest_result result = {status, -1, -1};
        return report(0, &result);
    }
    for (int i = 0; i < JOIN(EP_SELFTEST, _count); i++) {
        const ep_selftest_result result = ep_selftest(&EP_MODEL, session.ctx, &EP_SELFTEST[i]);
        failed |= report(i, &result);
    }
    return failed;
}
