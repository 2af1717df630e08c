// SPDX-License-Identifier: Apache-2.0
/* What of a role decides about the machine: all of it but words. What is new in the format counts
 * by itself, because this names what is left out. And all of it, for roles that nobody looks at
 * again when they are used. */
#include "base/json/json.h"
#include "role/role.h"

#include <json-c/json.h>
#include <string.h>

/** Members that only say something to people or to the model. */
static const struct {
    const char *section;
    const char *sub_section; /**< or NULL */
    const char *key;
} words[] = {
    /* The name and the tags stay: policies are about them. */
    {"metadata", NULL, "description"},
    {"metadata", NULL, "author"},
    {"metadata", NULL, "version"},
    {"metadata", NULL, "dependencies"},
    {"spec", NULL, "role"},
    {"spec", "autonomy", "continuation_prompt"},
    {"spec", NULL, "offered_skills"},
};

void role_decisions_write(const struct role *role, struct buf *ret_json)
{
    struct json_object *copy = NULL;
    json_object_deep_copy(role->normal, &copy, NULL);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct json_object *object = json_member(copy, words[i].section);
        if (words[i].sub_section != NULL) {
            object = json_member(object, words[i].sub_section);
        }
        if (object != NULL) {
            json_object_object_del(object, words[i].key);
        }
    }
    buf_append_string(ret_json, json_object_to_json_string_ext(copy, JSON_C_TO_STRING_PLAIN));
    json_object_put(copy);
}

void role_whole_write(const struct role *role, const char *prompt, struct buf *ret_text)
{
    buf_append_string(ret_text,
                      json_object_to_json_string_ext(role->normal, JSON_C_TO_STRING_PLAIN));
    buf_append_string(ret_text, "\n");
    buf_append_string(ret_text, prompt);
}
