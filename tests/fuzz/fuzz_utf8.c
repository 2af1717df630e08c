// SPDX-License-Identifier: Apache-2.0
/* utf8_sequence_len against decoding the code point: shortest form, no surrogates, in range. */
#include "fuzz.h"

#include "base/text/utf8.h"

/** Length of the shortest form of a code point; 0 for what is none. */
static size_t encoded_len(uint32_t point)
{
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
        return 0;
    }
    return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

static size_t expected_len(const uint8_t *data, size_t size)
{
    static const struct {
        uint8_t mask, mark;
    } heads[] = {{0x80, 0x00}, {0xe0, 0xc0}, {0xf0, 0xe0}, {0xf8, 0xf0}};
    for (size_t len = 1; len <= 4 && len <= size; len++) {
        if ((data[0] & heads[len - 1].mask) != heads[len - 1].mark) {
            continue;
        }
        uint32_t point = data[0] & (uint32_t)(uint8_t)~heads[len - 1].mask;
        for (size_t i = 1; i < len; i++) {
            if ((data[i] & 0xc0) != 0x80) {
                return 0;
            }
            point = point << 6 | (data[i] & 0x3fU);
        }
        return encoded_len(point) == len ? len : 0;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_bytes(data, size);
    for (size_t at = 0; at < size; at++) {
        FUZZ_CHECK(utf8_sequence_len(bytes + at, size - at) == expected_len(data + at, size - at));
    }
    free(bytes);
    return 0;
}
