/* SPDX-License-Identifier: Apache-2.0 */
/** Status codes as text; optional, nothing in a generated model needs it. */
#ifndef EP_STATUS_H
#define EP_STATUS_H

#include "ep_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What `status` means, lower case, in English; never NULL. */
const char *ep_status_text(ep_status status);

#ifdef __cplusplus
}
#endif
#endif
