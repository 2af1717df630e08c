// SPDX-License-Identifier: Apache-2.0
/*
 * Paths into answers: a line with the expression, JSON after it. Whatever the expression, what is
 * taken out is JSON, no longer than what it was taken from but for the commas and names around it,
 * and the same a second time.
 */
#include "../fuzz.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "tool/builtin/api_extract.h"

#include <json-c/json.h>
#include <string.h>

static const char *text_of(struct json_object *value)
{
    return json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
}

static void apply(const char *expression, struct json_object *data)
{
    struct extract *extract = NULL;
    struct rondo_error err = {0};
    int r = extract_parse(expression, &extract, &err);
    if (r < 0) {
        FUZZ_CHECK(extract == NULL && err.message[0] != '\0');
        FUZZ_CHECK(r == RONDO_ERR_INVALID || r == RONDO_ERR_LIMIT);
        return;
    }
    FUZZ_CHECK(strlen(expression) <= EXTRACT_MAX_BYTES);
    struct json_object *found = extract_apply(extract, data);
    struct json_object *again = extract_apply(extract, data);
    FUZZ_CHECK(json_object_equal(found, again) == 1);
    if (found != NULL) {
        const char *text = text_of(found);
        FUZZ_CHECK(fuzz_is_json(text, strlen(text)));
        FUZZ_CHECK(strlen(text) <= (strlen(text_of(data)) + 16) * (strlen(expression) + 16));
    }
    json_object_put(found);
    json_object_put(again);
    extract_free(extract);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_free char *text = fuzz_text(data, size);
    auto_json struct json_object *value = NULL;
    char *line_end = strchr(text, '\n');
    if (line_end != NULL) {
        *line_end = '\0';
        (void)json_parse(line_end + 1, strlen(line_end + 1), &value, NULL);
    }
    apply(text, value);
    return 0;
}
