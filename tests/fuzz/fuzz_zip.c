// SPDX-License-Identifier: Apache-2.0
/*
 * Packed states. Input: two bytes for the length that is expected, then bytes that are unpacked as
 * they are, and packed and unpacked again.
 */
#include "fuzz.h"

#include "base/zip.h"
#include "rondo/error.h"

#include <string.h>

static void check_damaged(const char *bytes, size_t len, size_t expected_len)
{
    auto_buf struct buf original = {0};
    if (zip_unpack(bytes, len, expected_len, &original, NULL) == 0) {
        FUZZ_CHECK(original.len == expected_len);
    }
}

static void check_round_trip(const char *bytes, size_t len)
{
    auto_buf struct buf packed = {0};
    auto_buf struct buf original = {0};
    struct rondo_error err = {0};
    zip_pack(bytes, len, &packed);
    FUZZ_CHECK(zip_unpack(packed.data, packed.len, len, &original, &err) == 0);
    FUZZ_CHECK(original.len == len && (len == 0 || memcmp(original.data, bytes, len) == 0));
    buf_clear(&original);
    FUZZ_CHECK(zip_unpack(packed.data, packed.len, len + 1, &original, &err) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    char *bytes = fuzz_bytes(data + 2, size - 2);
    check_damaged(bytes, size - 2, (size_t)data[0] << 8 | data[1]);
    check_round_trip(bytes, size - 2);
    free(bytes);
    return 0;
}
