/* SPDX-License-Identifier: Apache-2.0 */
#include "tiny.h"

EP_ALIGNED(64) const uint8_t tiny_weights[16] = {
#embed "../weights/tiny.bin"
};
