// SPDX-License-Identifier: Apache-2.0
/* Exported audit chains: however the bytes are cut, the result is the same, and nobody's signature
 * is believed. */
#include "fuzz.h"

#include "handoff/storage/chain_file.h"

#include <string.h>

static int verify(const char *text, size_t size, size_t chunk, struct audit_report *ret_report)
{
    static const struct audit_keys nobody = {0};
    struct audit_file file = {.keys = &nobody};
    struct rondo_error err = {0};
    int r = 0;
    for (size_t at = 0; at < size && r == 0; at += chunk) {
        r = audit_file_add(&file, text + at, size - at < chunk ? size - at : chunk, &err);
    }
    int finished = audit_file_finish(&file, ret_report, &err);
    audit_file_fini(&file);
    return r < 0 ? r : finished;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct audit_report whole = {0};
    struct audit_report parts = {0};
    struct signed_head head;
    FUZZ_CHECK(verify(text, size, size + 1, &whole) == RONDO_ERR_CORRUPT);
    FUZZ_CHECK(verify(text, size, 7, &parts) == RONDO_ERR_CORRUPT);
    FUZZ_CHECK(whole.size == parts.size && strcmp(whole.root, parts.root) == 0);
    if (signed_head_decode(text, size, &head, NULL) == 0) {
        struct signed_head again;
        auto_buf struct buf json = {0};
        signed_head_encode(&head, &json);
        FUZZ_CHECK(signed_head_decode(json.data, json.len, &again, NULL) == 0);
        FUZZ_CHECK(memcmp(again.signature, head.signature, sizeof(head.signature)) == 0);
    }
    free(text);
    return 0;
}
