// SPDX-License-Identifier: Apache-2.0
/* The table of types, and what is common to all sources. */
#include "source/source.h"

#include "base/digest.h"
#include "base/json/json.h"
#include "os/state_folder.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define SOURCE(name) extern const struct source_type name##_source_type;
#include "source/sources.def"

static const struct source_type *const types[] = {
#define SOURCE(name) &name##_source_type,
#include "source/sources.def"
    NULL,
};

const struct source_type *source_type_find(const char *name)
{
    size_t i = 0;
    while (types[i] != NULL && strcmp(types[i]->name, name) != 0) {
        i++;
    }
    return types[i];
}

static const char *setting(struct json_object *config, const char *name)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(config, name, &value) || value == NULL) {
        return "";
    }
    return json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
}

void source_id(const struct source_type *type, const char *role, struct json_object *config,
               char ret_id[SOURCE_ID_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    for (size_t i = 0; type->identity[i] != NULL; i++) {
        const char *text = setting(config, type->identity[i]);
        digest_add_u64(&digest, strlen(text));
        digest_add(&digest, text, strlen(text));
    }
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    snprintf(ret_id, SOURCE_ID_SIZE, "%s/%s-%.12s", role, type->name, hex);
}

static void append_list(struct json_object *list, struct buf *ret_text)
{
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        buf_append_string(ret_text, i == 0 ? "" : ", ");
        buf_append_string(ret_text, json_object_get_string(json_object_array_get_idx(list, i)));
    }
}

void source_summary(const struct source_type *type, struct json_object *config,
                    struct buf *ret_summary)
{
    for (size_t i = 0; type->summary[i] != NULL && ret_summary->len == 0; i++) {
        struct json_object *value = json_member(config, type->summary[i]);
        if (json_object_is_type(value, json_type_array)) {
            append_list(value, ret_summary);
        } else {
            buf_append_string(ret_summary, setting(config, type->summary[i]));
        }
    }
    if (ret_summary->len == 0 && type->about != NULL) {
        buf_append_string(ret_summary, type->about);
    }
}

int source_submit(const struct source *source, const struct intake_event *event,
                  struct intake_result *ret_result, struct rondo_error *err)
{
    const struct source_host *host = source->host;
    struct intake_event complete = *event;
    complete.source = host->id;
    complete.role = host->role;
    complete.kind = source->type->name;
    if (complete.conversation == NULL && host->conversation != NULL &&
        strchr(host->conversation, '{') == NULL) {
        complete.conversation = host->conversation;
    }
    complete.idle_s = host->idle_s;
    if (complete.conversation != NULL) {
        complete.mode = START_CONVERSATION;
    } else {
        complete.mode = host->is_autonomous ? START_AUTONOMOUS : START_SINGLE;
    }
    return intake_submit(host->intake, &complete, ret_result, err);
}

void source_agent_folders(const struct source_host *host,
                          const char *ret_folders[SOURCE_AGENT_FOLDERS])
{
    size_t count = 0;
    if (host->workspace != NULL) {
        ret_folders[count++] = host->workspace;
    }
    if (host->folder != NULL && state_is_in_project(host->folder)) {
        ret_folders[count++] = host->folder;
    }
    ret_folders[count] = NULL;
}
