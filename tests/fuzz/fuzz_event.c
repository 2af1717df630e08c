// SPDX-License-Identifier: Apache-2.0
/*
 * Event data. Input: one byte that picks the type, then the JSON. What decodes can be encoded, is
 * JSON, and decodes to what encodes the same again.
 */
#include "fuzz.h"

#include "base/json/json.h"
#include "base/text/utf8.h"
#include "journal/describe.h"

#include <string.h>

/** What people see of it is one line without control characters. */
static void check_description(const struct journal_event *event)
{
    auto_buf struct buf text = {0};
    event_sentence(event, &text);
    FUZZ_CHECK(text.len > 0);
    for (size_t i = 0, len = 1; i < text.len; i += len) {
        len = utf8_sequence_len(text.data + i, text.len - i);
        FUZZ_CHECK(len > 0);
        FUZZ_CHECK((unsigned char)text.data[i] >= 0x20 && text.data[i] != 0x7f);
    }
    FUZZ_CHECK(event_level_name(event_level(event))[0] != '\0');
    FUZZ_CHECK(event_category_name(event_category(event->type))[0] != '\0');
}

static void check_round_trip(const char *type_name, const struct journal_event *event)
{
    size_t len = 0;
    size_t len_again = 0;
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    auto_json struct json_object *root = NULL;
    struct journal_event again;
    journal_encode(event, &first);
    FUZZ_CHECK(fuzz_is_json(first.data, first.len));
    FUZZ_CHECK(journal_decode(type_name, first.data, first.len, &again, &root, NULL) == 0);
    FUZZ_CHECK(again.type == event->type);
    journal_event_output(event, &len);
    journal_event_output(&again, &len_again);
    FUZZ_CHECK(len == len_again);
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
        check_description(&event);
    } else {
        FUZZ_CHECK(root == NULL && err.message[0] != '\0');
    }
    free(json);
    return 0;
}
