/* SPDX-License-Identifier: Apache-2.0 */
#include "ep_sha256.h"

#include "ep/ep_port.h"

static const uint32_t initial[8] = {0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU,
                                    0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};

static const uint32_t round_constants[64] = {
    0x428a2f98U, 0x71374491U, 0xb5c0fbcfU, 0xe9b5dba5U, 0x3956c25bU, 0x59f111f1U, 0x923f82a4U, 0xab1c5ed5U,
    0xd807aa98U, 0x12835b01U, 0x243185beU, 0x550c7dc3U, 0x72be5d74U, 0x80deb1feU, 0x9bdc06a7U, 0xc19bf174U,
    0xe49b69c1U, 0xefbe4786U, 0x0fc19dc6U, 0x240ca1ccU, 0x2de92c6fU, 0x4a7484aaU, 0x5cb0a9dcU, 0x76f988daU,
    0x983e5152U, 0xa831c66dU, 0xb00327c8U, 0xbf597fc7U, 0xc6e00bf3U, 0xd5a79147U, 0x06ca6351U, 0x14292967U,
    0x27b70a85U, 0x2e1b2138U, 0x4d2c6dfcU, 0x53380d13U, 0x650a7354U, 0x766a0abbU, 0x81c2c92eU, 0x92722c85U,
    0xa2bfe8a1U, 0xa81a664bU, 0xc24b8b70U, 0xc76c51a3U, 0xd192e819U, 0xd6990624U, 0xf40e3585U, 0x106aa070U,
    0x19a4c116U, 0x1e376c08U, 0x2748774cU, 0x34b0bcb5U, 0x391c0cb3U, 0x4ed8aa4aU, 0x5b9cca4fU, 0x682e6ff3U,
    0x748f82eeU, 0x78a5636fU, 0x84c87814U, 0x8cc70208U, 0x90befffaU, 0xa4506cebU, 0xbef9a3f7U, 0xc67178f2U};

static uint32_t rotate(uint32_t x, int right)
{
    return (x >> right) | (x << (32 - right));
}

static void expand(const uint8_t *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               (uint32_t)block[4 * i + 3];
    }
    for (int i = 16; i < 64; i++) {
        const uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
        const uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t v[8];
    expand(block, w);
    for (int i = 0; i < 8; i++) {
        v[i] = state[i];
    }
    for (int i = 0; i < 64; i++) {
        const uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t t1 = v[7] + s1 + choice + round_constants[i] + w[i];
        const uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        const uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        for (int k = 7; k > 0; k--) {
            v[k] = v[k - 1];
        }
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

void ep_sha256_begin(ep_sha256 *hash)
{
    for (int i = 0; i < 8; i++) {
        hash->state[i] = initial[i];
    }
    hash->length = 0;
}

void ep_sha256_add(ep_sha256 *hash, const void *data, size_t bytes)
{
    const uint8_t *from = (const uint8_t *)data;
    for (size_t i = 0; i < bytes; i++) {
        hash->block[hash->length++ % 64] = from[i];
        if (hash->length % 64 == 0) {
            compress(hash->state, hash->block);
        }
    }
}

void ep_sha256_end(ep_sha256 *hash, char hex[EP_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    static const uint8_t one = 0x80;
    static const uint8_t zero = 0;
    const uint64_t bits = hash->length * 8;
    ep_sha256_add(hash, &one, 1);
    while (hash->length % 64 != 56) {
        ep_sha256_add(hash, &zero, 1);
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        const uint8_t byte = (uint8_t)(bits >> shift);
        ep_sha256_add(hash, &byte, 1);
    }
    for (int i = 0; i < 64; i++) {
        hex[i] = digits[(hash->state[i / 8] >> (28 - 4 * (i % 8))) & 15U];
    }
    hex[64] = '\0';
}

ep_status ep_sha256_file(const char *path, char hex[EP_SHA256_HEX])
{
    ep_sha256 hash;
    uint8_t chunk[4096];
    ptrdiff_t count;
    const int file = ep_port_open(path, 0);
    if (file < 0) {
        return EP_E_IO;
    }
    ep_sha256_begin(&hash);
    while ((count = ep_port_read(file, chunk, sizeof chunk)) > 0) {
        ep_sha256_add(&hash, chunk, (size_t)count);
    }
    ep_sha256_end(&hash, hex);
    (void)ep_port_close(file);
    return count < 0 ? EP_E_IO : EP_OK;
}
