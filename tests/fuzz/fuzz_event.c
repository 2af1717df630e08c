// SPDX-License-Identifier: Apache-2.0
/*
 * Event data. Input: one byte that picks the type, then the JSON. What decodes can be encoded, is
 * JSON, and decodes to what encodes the same again.
 */
#include "fuzz.h"

#include "base/json/json.h"
#include "journal/event.h"

#include <string.h>

static void check_round_trip(const char *type_name, const struct journal_event *event)
{
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    auto_json struct json_object *root = NULL;
    struct journal_event again;
    journal_encode(event, &first);
    FUZZ_CHECK(fuzz_is_json(first.data, first.len));
    FUZZ_CHECK(journal_decode(type_name, first.data, first.len, &again, &root, NULL) == 0);
    FUZZ_CHECK(again.type == event->type && again.output_len == event->output_len);
    journal_encode(&again, &second);
    FUZZ_CHECK(strcmp(buf_string(&first), buf_string(&second)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *type_name = journal_type_name((enum journal_type)(data[0] % JOURNAL_TYPE_COUNT));
    char *json = fuzz_bytes(data + 1, size - 1);
    struct journal_event event;
    struct rondo_error err = {0};
    auto_json struct json_object *root = NULL;
    if (journal_decode(type_name, json, size - 1, &event, &root, &err) == 0) {
        check_round_trip(type_name, &event);
    } else {
        FUZZ_CHECK(root == NULL && err.message[0] != '\0');
    }
    free(json);
    return 0;
}
