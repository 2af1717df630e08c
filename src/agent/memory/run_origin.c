// SPDX-License-Identifier: Apache-2.0
#include "agent/memory/run_origin.h"

#include "base/auto.h"
#include "base/memory.h"
#include "journal/event.h"
#include "store/store.h"

#include <json-c/json.h>
#include <string.h>

static bool take_origin(const struct store_event *stored, void *context)
{
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    struct json_object **origin = context;
    if (journal_decode_stored(stored, &event, &root, NULL) == 0 &&
        event.type == JOURNAL_RUN_CREATED && event.run_created.origin != NULL) {
        json_parse(event.run_created.origin, strlen(event.run_created.origin), origin, NULL);
    }
    return false;
}

struct json_object *run_origin_read(struct store *store, const char *run_id)
{
    struct json_object *origin = NULL;
    store->ops->read_events(store, run_id, 0, 1, take_origin, &origin, NULL);
    return origin;
}

void run_origin_write(struct json_object *origin, struct json_writer *writer)
{
    const char *context =
        json_object_to_json_string_ext(json_member(origin, "context"), JSON_C_TO_STRING_PLAIN);
    json_write_string(writer, "trigger_type", json_get_string(origin, "kind", ""));
    json_write_string(writer, "trigger", json_get_string(origin, "source", ""));
    if (strlen(context) <= RUN_ORIGIN_CONTEXT_BYTES) {
        json_write_raw(writer, "trigger_metadata", context);
    }
}
