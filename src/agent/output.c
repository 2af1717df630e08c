// SPDX-License-Identifier: Apache-2.0
/* Answers in JSON: what the model is told, and the check. */
#include "agent/output.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "role/role.h"
#include "tool/schema_check.h"

#include <json-c/json.h>
#include <string.h>

struct json_object *output_schema(const struct role *role)
{
    struct json_object *output = json_member(json_member(role->normal, "spec"), "output");
    struct json_object *schema = json_member(output, "schema_");
    bool is_json = strcmp(json_get_string(output, "type", ""), "json_schema") == 0;
    return is_json && json_object_is_type(schema, json_type_object) ? json_object_get(schema)
                                                                    : NULL;
}

void output_write_system(struct json_object *schema, bool is_autonomous, struct buf *ret_text)
{
    buf_append_string(ret_text, "\n\n## Output\n\nYour answer is read by a program. ");
    buf_append_string(ret_text,
                      is_autonomous
                          ? "When the task is done, call finish_task with one JSON object as its "
                            "summary and nothing else: no words around it, no code fence. "
                          : "Answer with one JSON object and nothing else: no words around it, no "
                            "code fence. ");
    buf_append_string(ret_text, "It must fit this JSON Schema:\n\n");
    buf_append_string(ret_text,
                      json_object_to_json_string_ext(schema, JSON_C_TO_STRING_PLAIN |
                                                                 JSON_C_TO_STRING_NOSLASHESCAPE));
}

bool output_check(struct json_object *schema, const char *answer, struct buf *ret_why)
{
    auto_json struct json_object *value = NULL;
    if (json_parse_strict(answer, strlen(answer), &value, NULL) < 0 ||
        !json_object_is_type(value, json_type_object)) {
        buf_append_string(ret_why, "it is not one JSON object");
        return false;
    }
    return schema_check(schema, value, ret_why);
}
