// SPDX-License-Identifier: Apache-2.0
/*
 * What the monitor knows of runs. Agent, options and whether the journal's head is a copy come from
 * the run's first event; what was said already and is not to be said again has a document, which
 * changes in the transaction that makes the warning.
 */
#include "alert/monitor_internal.h"

#include "alert/result.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "work/spec.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void monitor_mark(const char *first, const char *second, const char *third,
                  char ret_mark[MONITOR_MARK_SIZE])
{
    const char *texts[] = {first, second, third};
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = texts[i] == NULL ? "" : texts[i];
        digest_add_u64(&digest, strlen(text));
        digest_add(&digest, text, strlen(text));
    }
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    memcpy(ret_mark, hex, MONITOR_MARK_SIZE - 1);
    ret_mark[MONITOR_MARK_SIZE - 1] = '\0';
}

static bool read_created(const struct store_event *event, void *context)
{
    struct run_note *note = context;
    auto_json struct json_object *root = NULL;
    struct json_object *spec = NULL;
    if (event->seq != 1 || json_parse(event->data, event->data_len, &root, NULL) < 0) {
        return false;
    }
    warning_set_text(note->agent_id, sizeof(note->agent_id), json_get_string(root, "agent_id", ""));
    int64_t forked_seq = json_get_int(root, "forked_seq", 0);
    note->forked_seq = forked_seq > 0 ? (uint64_t)forked_seq : 0;
    if (json_object_object_get_ex(root, "spec", &spec)) {
        note->delay_ns = json_get_int(spec, "delay_ns", 0);
        note->is_prd = strcmp(json_get_string(spec, "kind", ""), WORK_KIND) == 0;
        note->is_part = json_member(json_member(spec, "work"), "parent") != NULL;
    }
    note->sinks = result_sinks(root);
    return false;
}

static bool read_said(const struct store_document *document, void *context)
{
    struct run_note *note = context;
    auto_json struct json_object *root = NULL;
    struct json_object *denials = NULL;
    note->is_stored = true;
    if (json_parse(document->data, document->data_len, &root, NULL) < 0) {
        return false;
    }
    note->stalled_seq = (uint64_t)json_get_int(root, "stalled_seq", 0);
    if (!json_object_object_get_ex(root, "denials", &denials) ||
        !json_object_is_type(denials, json_type_array)) {
        return false;
    }
    size_t count = json_object_array_length(denials);
    for (size_t i = 0; i < count && note->denial_count < MONITOR_DENIALS; i++) {
        const char *mark = json_object_get_string(json_object_array_get_idx(denials, i));
        snprintf(note->denials[note->denial_count++], MONITOR_MARK_SIZE, "%s",
                 mark == NULL ? "" : mark);
    }
    return false;
}

int monitor_note(struct monitor *monitor, const char *run_id, struct run_note **ret_note,
                 struct rondo_error *err)
{
    struct run_note *note = NULL;
    HASH_FIND_STR(monitor->notes, run_id, note);
    if (note != NULL) {
        *ret_note = note;
        return 0;
    }
    note = memory_new_zero(1, sizeof(*note));
    snprintf(note->run_id, sizeof(note->run_id), "%s", run_id);
    const struct store_ops *ops = monitor->store->ops;
    struct store_document_query query = {.collection = MONITOR_RUN_COLLECTION, .key = run_id};
    int r = ops->read_events(monitor->store, run_id, 0, 1, read_created, note, err);
    r = r < 0 ? r : ops->read_documents(monitor->store, &query, read_said, note, err);
    if (r < 0) {
        memory_free_list(note->sinks);
        free(note);
        return r;
    }
    HASH_ADD_STR(monitor->notes, run_id, note);
    *ret_note = note;
    return 0;
}

void monitor_forget_notes(struct monitor *monitor)
{
    struct run_note *next = monitor->notes;
    HASH_CLEAR(hh, monitor->notes);
    while (next != NULL) {
        struct run_note *note = next;
        next = note->hh.next;
        memory_free_list(note->sinks);
        free(note);
    }
}

void monitor_note_encode(const struct run_note *note, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "stalled_seq", (int64_t)note->stalled_seq);
    json_begin_array(&writer, "denials");
    for (size_t i = 0; i < note->denial_count; i++) {
        json_write_string(&writer, NULL, note->denials[i]);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}
