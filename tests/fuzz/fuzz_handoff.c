// SPDX-License-Identifier: Apache-2.0
/*
 * Records of handoffs: what is read is written the same, and time comes to an end with it. Entries
 * of the audit chain: what is taken in is named by its hash.
 */
#include "fuzz.h"

#include "handoff/audit/entry.h"
#include "handoff/record.h"
#include "handoff/step.h"
#include "handoff/timer.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct handoff handoff;
    struct rondo_error err = {0};
    if (handoff_decode(text, size, &handoff, &err) < 0) {
        FUZZ_CHECK(err.code == RONDO_ERR_CORRUPT);
    } else {
        auto_buf struct buf first = {0};
        auto_buf struct buf second = {0};
        struct handoff again;
        struct handoff_facts facts = {0};
        handoff_encode(&handoff, &first);
        FUZZ_CHECK(handoff_decode(first.data, first.len, &again, &err) == 0);
        handoff_encode(&again, &second);
        FUZZ_CHECK(strcmp(buf_string(&first), buf_string(&second)) == 0);
        handoff_advance(&handoff, &handoff_default_rules, INT64_MAX, &facts);
        FUZZ_CHECK(handoff_timer(&handoff, &handoff_default_rules).kind == TIMER_NONE);
    }
    struct audit_head head = {0};
    if (audit_check(&head, text, size, &err) < 0) {
        FUZZ_CHECK(err.code == RONDO_ERR_CORRUPT && head.size == 0);
    } else {
        FUZZ_CHECK(head.size == 1 && strstr(text, head.hash) != NULL);
    }
    free(text);
    return 0;
}
