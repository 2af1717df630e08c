// SPDX-License-Identifier: Apache-2.0
/* A pointer on the first line, a document after it: what was hidden cannot be found in it any more,
 * and can be revealed by the pointers that are told. */
#include "fuzz.h"

#include "base/json/json.h"
#include "handoff/view/redact.h"

#include <json-c/json.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const roles[] = {"lead"};
    char *text = fuzz_bytes(data, size);
    char *end = strchr(text, '\n');
    auto_json struct json_object *document = NULL;
    auto_json struct json_object *whole = NULL;
    auto_json struct json_object *paths = json_object_new_array();
    if (end != NULL) {
        *end = '\0';
        const char *pointer = text;
        size_t len = size - (size_t)(end + 1 - text);
        struct redact_rule rule = {.pointers = {&pointer, 1}, .reveal = {roles, 1}};
        struct redact_view view = {.rules = &rule, .count = 1, .roles = {roles, 1}};
        if (json_parse(end + 1, len, &document, NULL) == 0) {
            json_parse(end + 1, len, &whole, NULL);
            size_t count = redact_apply(&view, document, paths);
            FUZZ_CHECK(count <= json_length(paths)); /* copies follow */
            FUZZ_CHECK(count == 0 || redact_is_pointer(pointer));
            for (size_t i = 0; i < json_length(paths); i++) {
                struct json_object *value = NULL;
                const char *path = json_object_get_string(json_object_array_get_idx(paths, i));
                FUZZ_CHECK(!redact_is_pointer(path) ||
                           redact_reveal(&view, whole, path, &value) == REDACT_REVEALED);
            }
        }
    }
    free(text);
    return 0;
}
