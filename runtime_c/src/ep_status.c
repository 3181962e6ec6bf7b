/* SPDX-License-Identifier: Apache-2.0 */
#include "ep/ep_status.h"

const char *ep_status_text(ep_status status)
{
    switch (status) {
    case EP_OK:
        return "ok";
    case EP_E_NULL:
        return "a pointer is NULL";
    case EP_E_ALIGN:
        return "the arena or the weights are not aligned";
    case EP_E_SIZE:
        return "not enough memory";
    case EP_E_SHAPE:
        return "a dimension is outside its bounds";
    case EP_E_INDEX:
        return "an index in the data is out of range";
    case EP_E_VERSION:
        return "header, source and weights do not belong together";
    case EP_E_IO:
        return "a file or stream failed";
    case EP_E_THREAD:
        return "threads or processors are not available";
    }
    return "unknown status";
}
