/* SPDX-License-Identifier: Apache-2.0 */
/** Buffered text output for the programs, the same on every port: no stdio, integers only. */
#ifndef EP_TEXT_H
#define EP_TEXT_H

#include "ep/ep_base.h"

typedef struct ep_text {
    int file;
    int failed; /* sticky: nonzero once a write has failed */
    size_t used;
    char buffer[256];
} ep_text;

/** Start writing to an open file of the port. */
ep_text ep_text_to(int file);

/** Append characters. */
void ep_text_str(ep_text *text, const char *characters);

/** Append `value` in decimal. */
void ep_text_u64(ep_text *text, uint64_t value);

/** Append a JSON string literal: quoted, control characters escaped, other bytes as they are. */
void ep_text_json(ep_text *text, const char *characters);

/** Append `"key": `, with a comma before it unless it is the first of its object. */
void ep_text_key(ep_text *text, const char *key, int is_first);

/** Write out what is buffered; EP_E_IO when anything could not be written. */
ep_status ep_text_flush(ep_text *text);

/** Length of a string. */
size_t ep_text_length(const char *characters);

/** Nonzero when the strings are equal. */
int ep_text_equal(const char *a, const char *b);

/** Parse a whole decimal number not above `maximum`; nonzero when it is not one. */
int ep_text_parse(const char *characters, uint64_t maximum, uint64_t *value);

#endif
