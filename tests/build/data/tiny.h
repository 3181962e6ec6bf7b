/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TINY_H
#define TINY_H

#include "ep/ep_model.h"
#include "ep/ep_parallel.h"

#define TINY_ARENA_SIZE 768
#define TINY_WEIGHTS_SIZE 16

extern const uint8_t tiny_weights[TINY_WEIGHTS_SIZE];
extern const ep_model tiny_model;

#endif
