/* SPDX-License-Identifier: Apache-2.0 */
/** SHA-256 (FIPS 180-4), so that a device needs no sha256sum to check what was uploaded to it. */
#ifndef EP_SHA256_H
#define EP_SHA256_H

#include "ep/ep_base.h"

typedef struct ep_sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
} ep_sha256;

/** Bytes of the hexadecimal digest with its final NUL. */
#define EP_SHA256_HEX 65

void ep_sha256_begin(ep_sha256 *hash);
void ep_sha256_add(ep_sha256 *hash, const void *data, size_t bytes);

/** The digest in lower-case hexadecimal, NUL-terminated. */
void ep_sha256_end(ep_sha256 *hash, char hex[EP_SHA256_HEX]);

/** The digest of a file; EP_E_IO when it cannot be read. */
ep_status ep_sha256_file(const char *path, char hex[EP_SHA256_HEX]);

#endif
