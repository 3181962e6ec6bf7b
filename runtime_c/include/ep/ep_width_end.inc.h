/* SPDX-License-Identifier: Apache-2.0 */
/* Counterpart of ep_width.inc.h. */
#undef EP_VW
#undef EP_F
#undef EP_I
#undef EP_U
#undef EP_FN
#undef EP_MASK
#undef EP_BITS
#undef EP_FROM_BITS
