// SPDX-License-Identifier: Apache-2.0
/*
 * json_parse: what it accepts is JSON by a second opinion, and survives being written and read
 * again. json_write_string: any bytes give a JSON text that reads back as the same bytes, or with
 * U+FFFD where they were not UTF-8. json_canonical: its form is JSON, means the same and is its own
 * form.
 */
#include "fuzz.h"

#include "base/json/canonical.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text/utf8.h"

#include <json-c/json.h>
#include <string.h>

static void check_reading(const char *text, size_t len)
{
    struct rondo_error err = {0};
    auto_json struct json_object *value = NULL;
    if (json_parse(text, len, &value, &err) < 0) {
        FUZZ_CHECK(err.code < 0 && err.message[0] != '\0');
        return;
    }
    FUZZ_CHECK(fuzz_is_json(text, len));
    const char *written = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
    auto_json struct json_object *again = NULL;
    FUZZ_CHECK(json_parse(written, strlen(written), &again, &err) == 0);
    FUZZ_CHECK(json_object_equal(value, again));
}

/** The bytes as the writer promises to keep them. */
static void expect_replaced(const char *bytes, size_t len, struct buf *ret_text)
{
    for (size_t at = 0; at < len;) {
        size_t sequence = utf8_sequence_len(bytes + at, len - at);
        if (sequence == 0) {
            buf_append_string(ret_text, "\xef\xbf\xbd");
            at++;
        } else {
            buf_append(ret_text, bytes + at, sequence);
            at += sequence;
        }
    }
}

static void check_writing(const char *bytes, size_t len)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf expected = {0};
    struct json_writer writer = json_writer(&text);
    json_begin_object(&writer, NULL);
    json_write_string_len(&writer, "a", bytes, len);
    json_write_string(&writer, "b", bytes);
    json_end_object(&writer);
    FUZZ_CHECK(fuzz_is_json(text.data, text.len));

    auto_json struct json_object *root = NULL;
    FUZZ_CHECK(json_parse(text.data, text.len, &root, NULL) == 0);
    struct json_object *whole = NULL;
    FUZZ_CHECK(json_object_object_get_ex(root, "a", &whole));
    expect_replaced(bytes, len, &expected);
    FUZZ_CHECK((size_t)json_object_get_string_len(whole) == expected.len);
    FUZZ_CHECK(expected.len == 0 ||
               memcmp(json_object_get_string(whole), expected.data, expected.len) == 0);
}

static void check_canonical(const char *text, size_t len)
{
    struct rondo_error err = {0};
    auto_buf struct buf form = {0};
    auto_buf struct buf again = {0};
    auto_json struct json_object *value = NULL;
    auto_json struct json_object *same = NULL;
    if (json_canonical(text, len, &form, &err) < 0) {
        FUZZ_CHECK(err.code == RONDO_ERR_INVALID && form.len == 0);
        return;
    }
    FUZZ_CHECK(json_canonical(form.data, form.len, &again, &err) == 0);
    FUZZ_CHECK(again.len == form.len && memcmp(again.data, form.data, form.len) == 0);
    FUZZ_CHECK(json_parse_strict(text, len, &value, &err) == 0);
    FUZZ_CHECK(json_parse_strict(form.data, form.len, &same, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_bytes(data, size);
    check_reading(bytes, size);
    check_writing(bytes, size);
    check_canonical(bytes, size);
    free(bytes);
    return 0;
}
