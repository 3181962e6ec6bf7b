/* SPDX-License-Identifier: Apache-2.0 */
#include "ep_text.h"

#include "ep/ep_port.h"

ep_text ep_text_to(int file)
{
    ep_text text;
    text.file = file;
    text.failed = 0;
    text.used = 0;
    return text;
}

ep_status ep_text_flush(ep_text *text)
{
    if (text->used > 0 && ep_port_write(text->file, text->buffer, text->used) != 0) {
        text->failed = 1;
    }
    text->used = 0;
    return text->failed ? EP_E_IO : EP_OK;
}

static void put(ep_text *text, char character)
{
    if (text->used == sizeof text->buffer) {
        (void)ep_text_flush(text);
    }
    text->buffer[text->used++] = character;
}

void ep_text_str(ep_text *text, const char *characters)
{
    for (; *characters != '\0'; characters++) {
        put(text, *characters);
    }
}

void ep_text_u64(ep_text *text, uint64_t value)
{
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value > 0);
    while (count > 0) {
        put(text, digits[--count]);
    }
}

void ep_text_json(ep_text *text, const char *characters)
{
    static const char hex[] = "0123456789abcdef";
    put(text, '"');
    for (; *characters != '\0'; characters++) {
        const unsigned byte = (unsigned char)*characters;
        if (byte < 0x20U) {
            ep_text_str(text, "\\u00");
            put(text, hex[byte >> 4]);
            put(text, hex[byte & 15U]);
            continue;
        }
        if (*characters == '"' || *characters == '\\') {
            put(text, '\\');
        }
        put(text, *characters);
    }
    put(text, '"');
}

void ep_text_key(ep_text *text, const char *key, int is_first)
{
    if (!is_first) {
        ep_text_str(text, ", ");
    }
    ep_text_json(text, key);
    ep_text_str(text, ": ");
}

size_t ep_text_length(const char *characters)
{
    size_t length = 0;
    while (characters[length] != '\0') {
        length++;
    }
    return length;
}

int ep_text_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

int ep_text_parse(const char *characters, uint64_t maximum, uint64_t *value)
{
    uint64_t sum = 0;
    if (*characters == '\0') {
        return 1;
    }
    for (; *characters != '\0'; characters++) {
        if (*characters < '0' || *characters > '9') {
            return 1;
        }
        const uint64_t digit = (uint64_t)(*characters - '0');
        if (sum > (maximum - digit) / 10) {
            return 1;
        }
        sum = sum * 10 + digit;
    }
    *value = sum;
    return sum > maximum;
}
