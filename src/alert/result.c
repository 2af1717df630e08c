// SPDX-License-Identifier: Apache-2.0
/* Which results are to be sent, and where. */
#include "alert/result.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "journal/describe.h"
#include "journal/event.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Characters of an agent's name in that of a sink. */
#define SHOWN_AGENT_LEN 40

/** Types of sinks that results can be sent to; `custom` is a function in Python. */
static bool is_sent_to(const char *type)
{
    return strcmp(type, "webhook") == 0 || strcmp(type, "file") == 0 ||
           strcmp(type, "command") == 0;
}

/** @param agent options of the run */
static char **names_of(struct json_object *agent)
{
    struct json_object *role = json_member(agent, "role");
    struct json_object *sinks = json_member(json_member(role, "spec"), "sinks");
    const char *name = json_get_string(json_member(role, "metadata"), "name", "agent");
    if (!json_object_is_type(sinks, json_type_array) || json_object_array_length(sinks) == 0 ||
        json_get_bool(agent, "dry_run", false)) {
        return NULL;
    }
    size_t count = json_object_array_length(sinks);
    char **names = memory_new_zero(count + 1, sizeof(char *));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const char *type = json_get_string(json_object_array_get_idx(sinks, i), "type", "");
        char text[SINK_NAME_LEN + 1];
        if (is_sent_to(type)) {
            snprintf(text, sizeof(text), "%.*s/%s-%zu", SHOWN_AGENT_LEN, name, type, i);
            names[kept++] = memory_dup_string(text);
        }
    }
    if (kept == 0) {
        memory_free_list(names);
        return NULL;
    }
    return names;
}

bool result_is_wanted(const char *agent)
{
    auto_json struct json_object *root = NULL;
    if (agent == NULL || json_parse(agent, strlen(agent), &root, NULL) < 0) {
        return false;
    }
    char **names = names_of(root);
    bool is_wanted = names != NULL;
    memory_free_list(names);
    return is_wanted;
}

char **result_sinks(struct json_object *created)
{
    return names_of(json_member(json_member(created, "spec"), "agent"));
}

bool result_is_sink(const char *name)
{
    return strchr(name, '/') != NULL; /* Which those of people cannot have. */
}

void result_note(const struct journal_event *event, const char *run_id, const char *agent_id,
                 char *ret_id, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    auto_buf struct buf text = {0};
    char time[CLOCK_UTC_SIZE];
    char message[WARNING_MESSAGE_SIZE];
    snprintf(ret_id, WARNING_ID_SIZE, "result-%s-%" PRIu64, run_id, event->seq);
    clock_format_utc(event->time_ns, time);
    event_sentence(event, &text);
    warning_set_text(message, sizeof(message), buf_string(&text));
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "id", ret_id);
    json_write_string(&writer, "time", time);
    json_write_string(&writer, "kind", "result");
    json_write_string(&writer, "run_id", run_id);
    json_write_string(&writer, "agent_id", agent_id);
    json_write_string(&writer, "status", event->run_finished.status);
    json_write_string(&writer, "message", message);
    json_write_int(&writer, "seq", (int64_t)event->seq);
    json_end_object(&writer);
}
