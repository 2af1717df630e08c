// SPDX-License-Identifier: Apache-2.0
/* Documents about sources. */
#include "source/duty/status.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "loop/owner.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void source_status_encode(const struct source_status *status, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", status->role);
    json_write_string(&writer, "type", status->type);
    json_write_string(&writer, "summary", status->summary);
    json_write_string(&writer, "problem", status->problem);
    json_write_string(&writer, "hook", status->hook);
    json_write_int(&writer, "due_ns", status->due_ns);
    json_write_raw(&writer, "details", status->details);
    json_write_string(&writer, "owner", status->owner);
    json_end_object(&writer);
}

struct status_reading {
    source_status_fn *fn;
    void *context;
};

static bool read_status(const struct store_document *document, void *context)
{
    struct status_reading *reading = context;
    auto_json struct json_object *root = NULL;
    json_parse(document->data, document->data_len, &root, NULL);
    struct json_object *details = json_member(root, "details");
    struct source_status status = {
        .id = document->key,
        .role = json_get_string(root, "role", ""),
        .type = json_get_string(root, "type", ""),
        .summary = json_get_string(root, "summary", ""),
        .problem = json_get_string(root, "problem", ""),
        .hook = json_get_string(root, "hook", ""),
        .due_ns = json_get_int(root, "due_ns", 0),
        .details = details == NULL
                       ? "{}"
                       : json_object_to_json_string_ext(details, JSON_C_TO_STRING_PLAIN),
        .owner = json_get_string(root, "owner", ""),
    };
    status.is_on_duty = status.owner[0] != '\0' && !owner_is_dead(status.owner);
    return reading->fn(&status, reading->context);
}

int source_statuses_read(struct store *store, source_status_fn *fn, void *context,
                         struct rondo_error *err)
{
    struct status_reading reading = {.fn = fn, .context = context};
    struct store_document_query query = {.collection = SOURCE_COLLECTION};
    return store->ops->read_documents(store, &query, read_status, &reading, err);
}

static bool note_role(const struct source_status *status, void *context)
{
    struct roles_on_duty *roles = context;
    if (status->is_on_duty && !roles_on_duty_have(roles, status->role)) {
        roles->names = memory_resize(roles->names, roles->count + 1, sizeof(*roles->names));
        snprintf(roles->names[roles->count++], sizeof(*roles->names), "%s", status->role);
    }
    return true;
}

int roles_on_duty_read(struct store *store, struct roles_on_duty *ret_roles,
                       struct rondo_error *err)
{
    *ret_roles = (struct roles_on_duty){0};
    return source_statuses_read(store, note_role, ret_roles, err);
}

bool roles_on_duty_have(const struct roles_on_duty *roles, const char *role)
{
    /* Sources come in the order of their roles, so the last one is it most of the time. */
    for (size_t i = roles->count; i > 0; i--) {
        if (strcmp(roles->names[i - 1], role) == 0) {
            return true;
        }
    }
    return false;
}

void roles_on_duty_fini(struct roles_on_duty *roles)
{
    free(roles->names);
    *roles = (struct roles_on_duty){0};
}
