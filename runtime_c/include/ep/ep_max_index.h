/* SPDX-License-Identifier: Apache-2.0 */
/** MaxPool with its second output: where each maximum lies in x as a whole (the first of equals), counted row by row
 *  or, with storage_order 1, column by column.  ep_max_index_<type>(y, index, x, d, begin, end), plain f32, f64, s8
 *  and u8; the range counts planes.  Outputs and x may not overlap. */
#ifndef EP_MAX_INDEX_H
#define EP_MAX_INDEX_H

#include "ep_window.h"

typedef struct ep_max_index_desc {
    ep_window_desc window;
    ptrdiff_t index[3]; /* what one step along each axis adds to the index */
} ep_max_index_desc;

#define EP_P_FN(name) name##_f32
#define EP_P_T ep_pool_float
#include "ep_max_index.inc.h"

#define EP_P_FN(name) name##_f64
#define EP_P_T ep_pool_double
#include "ep_max_index.inc.h"

#define EP_P_FN(name) name##_s8
#define EP_P_T ep_pool_int8
#include "ep_max_index.inc.h"

#define EP_P_FN(name) name##_u8
#define EP_P_T ep_pool_uint8
#include "ep_max_index.inc.h"

#endif
