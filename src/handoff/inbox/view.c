// SPDX-License-Identifier: Apache-2.0
/* A handoff as people see it: one JSON object for the command line, the API and the page. */
#include "handoff/inbox/inbox.h"

#include "base/json/canonical.h"
#include "base/json/json.h"
#include "handoff/inbox/redaction.h"

#include <json-c/json.h>
#include <string.h>

static void write_time(struct json_writer *writer, const char *key, int64_t time_ns)
{
    if (time_ns != 0) {
        json_write_time(writer, key, time_ns);
    }
}

static void write_text(struct json_writer *writer, const char *key, const char *text)
{
    if (text[0] != '\0') {
        json_write_string(writer, key, text);
    }
}

/** What was said, on its way to a reader. */
struct thread {
    struct json_writer *writer;
    const struct inbox_redaction *redaction;
};

static bool write_remark(const struct handoff_remark *remark, void *context)
{
    const struct thread *thread = context;
    struct json_writer *writer = thread->writer;
    auto_buf struct buf details = {0};
    (void)inbox_redaction_words(thread->redaction, remark->details, &details);
    json_begin_object(writer, NULL);
    json_write_string(writer, "kind", remark->kind);
    json_write_string(writer, "by", remark->actor);
    write_text(writer, "role", remark->role);
    write_text(writer, "decision_id", remark->decision_id);
    write_time(writer, "at", remark->time_ns);
    json_write_raw(writer, "details", buf_string(&details));
    json_end_object(writer);
    return true;
}

static void write_names(struct json_writer *writer, const struct handoff *handoff)
{
    json_write_string(writer, "request_id", handoff->request_id);
    json_write_string(writer, "state", handoff_state_name(handoff->state));
    json_write_string(writer, "application", handoff_application_name(handoff->application));
    json_write_string(writer, "agent_id", handoff->agent_id);
    json_write_string(writer, "lane_id", handoff->lane_id);
    json_write_string(writer, "run_id", handoff_run_id(handoff));
    json_write_int(writer, "revision", handoff->revision);
    json_write_int(writer, "version", (int64_t)handoff->version);
    json_write_string(writer, "risk_level", handoff_level_name(handoff->risk));
    json_write_string(writer, "priority", handoff_level_name(handoff->priority));
    json_write_string(writer, "action_digest", handoff->action_digest);
    write_text(writer, "state_hash", handoff->state_hash);
    json_write_bool(writer, "is_idempotent", handoff->is_idempotent);
}

/** Where it is, and where it was in this revision. */
static void write_custody(struct json_writer *writer, const struct handoff *handoff)
{
    if (handoff->desk_count > 0) {
        json_write_string(writer, "desk", handoff->desks[handoff->desk_count - 1]);
    }
    json_begin_array(writer, "custody");
    for (uint32_t i = 0; i < handoff->desk_count; i++) {
        json_write_string(writer, NULL, handoff->desks[i]);
    }
    json_end_array(writer);
    json_write_int(writer, "hops", handoff->hops);
    json_write_int(writer, "escalation_level", handoff->escalation_level);
    write_text(writer, "claimed_by", handoff->claimed_by);
    write_time(writer, "claim_until", handoff->claim_until_ns);
    write_text(writer, "asked_by", handoff->asked_by);
}

static void write_times(struct json_writer *writer, const struct handoff *handoff)
{
    bool is_waiting = handoff_is_waiting(handoff);
    write_time(writer, "requested_at", handoff->requested_ns);
    write_time(writer, "required_by_ts", handoff->required_by_ns);
    write_time(writer, "due_at", is_waiting ? handoff->sla_due_ns : 0);
    write_time(writer, "info_due_at", is_waiting ? handoff->info_due_ns : 0);
    write_time(writer, "decided_at", handoff->decided_ns);
    write_time(writer, "valid_until", handoff->valid_until_ns);
    write_text(writer, "decided_by", handoff->decided_by);
    write_text(writer, "superseded_by", handoff->superseded_by);
    write_text(writer, "result_digest", handoff->result_digest);
}

static void write_approvals(struct json_writer *writer, const struct handoff *handoff,
                            const struct handoff_rules *rules)
{
    json_write_int(writer, "approvals_required", handoff_quorum(handoff, rules));
    json_begin_array(writer, "approvals");
    for (uint32_t i = 0; i < handoff->approval_count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "operator_id", handoff->approvals[i].operator_id);
        write_time(writer, "at", handoff->approvals[i].time_ns);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void copy_member(struct json_object *from, const char *key, struct json_object *to)
{
    struct json_object *value = json_member(from, key);
    if (value != NULL) {
        json_object_object_add(to, key, json_object_get(value));
    }
}

/** The files of which the digest is; a second list would be words of the agent. */
static void copy_files(struct json_object *action, struct json_object *ret_action)
{
    bool is_first = json_member(action, "operands") != NULL;
    const char *key = is_first ? "operands" : "operand_digests";
    struct json_object *list = json_member(action, key);
    if (list == NULL) {
        return;
    }
    struct json_object *files = json_object_new_array();
    for (size_t i = 0; i < json_length(list); i++) {
        struct json_object *file = json_object_new_object();
        copy_member(json_object_array_get_idx(list, i), "path", file);
        copy_member(json_object_array_get_idx(list, i), "digest", file);
        json_object_array_add(files, file);
    }
    json_object_object_add(ret_action, "operand_digests", files);
}

struct json_object *inbox_action(struct json_object *body)
{
    static const char *const members[] = {"tool", "args", "resource", "action_digest"};
    struct json_object *action = json_member(body, "action");
    struct json_object *shown = json_object_new_object();
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        copy_member(action, members[i], shown);
    }
    copy_files(action, shown);
    return shown;
}

/** The action as its digest names it, from the runtime and not from the words of the agent. */
static void write_action(struct json_writer *writer, struct json_object *body)
{
    auto_buf struct buf canonical = {0};
    auto_json struct json_object *action = body == NULL ? NULL : inbox_action(body);
    const char *text =
        action == NULL ? "" : json_object_to_json_string_ext(action, JSON_C_TO_STRING_PLAIN);
    if (json_canonical(text, strlen(text), &canonical, NULL) == 0) {
        json_write_raw(writer, "action", buf_string(&canonical));
    }
}

static void write_request(struct json_writer *writer, struct json_object *body)
{
    struct json_object *trigger = json_member(body, "trigger");
    write_text(writer, "tool", json_get_string(json_member(body, "action"), "tool", ""));
    write_text(writer, "why", json_get_string(trigger, "message", ""));
    write_text(writer, "trigger_reason", json_get_string(trigger, "trigger_reason", ""));
    write_action(writer, body);
    json_write_raw(writer, "request",
                   body == NULL ? "null"
                                : json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN));
}

/** @param ret_body NULL when its documents were deleted */
static int read_body(const struct handoff_store *handoffs, const struct handoff *handoff,
                     const struct inbox_redaction *redaction, struct json_object **ret_body,
                     struct json_object *ret_paths, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    int r = handoff_read_body(handoffs, handoff->request_id, handoff->revision, &json, err);
    if (r == RONDO_ERR_NOT_FOUND && !handoff_is_waiting(handoff)) {
        return 0;
    }
    r = r < 0 ? r : json_parse_strict(json.data, json.len, ret_body, err);
    if (r == 0) {
        inbox_redaction_body(redaction, *ret_body, ret_paths);
    }
    return r;
}

static int write_view(const struct handoff_store *handoffs, const struct handoff *handoff,
                      const struct inbox_redaction *redaction, bool has_thread,
                      struct buf *ret_json, struct rondo_error *err)
{
    auto_json struct json_object *body = NULL;
    auto_json struct json_object *paths = json_object_new_array();
    struct json_writer writer = json_writer(ret_json);
    struct thread thread = {.writer = &writer, .redaction = redaction};
    int r = read_body(handoffs, handoff, redaction, &body, paths, err);
    if (r < 0) {
        return r;
    }
    json_begin_object(&writer, NULL);
    write_names(&writer, handoff);
    write_custody(&writer, handoff);
    write_times(&writer, handoff);
    write_approvals(&writer, handoff, handoffs->rules);
    write_request(&writer, body);
    if (json_length(paths) > 0) {
        json_write_raw(&writer, "redacted",
                       json_object_to_json_string_ext(paths, JSON_C_TO_STRING_PLAIN));
    }
    if (has_thread) {
        json_begin_array(&writer, "thread");
        r = handoff_read_thread(handoffs, handoff->request_id, write_remark, &thread, err);
        json_end_array(&writer);
    }
    json_end_object(&writer);
    return r;
}

int inbox_view(const struct handoff_store *handoffs, const struct handoff *handoff,
               const struct inbox_view_options *options, struct buf *ret_json,
               struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    struct inbox_redaction redaction;
    int r = inbox_redaction_begin(handoffs, handoff, options->viewer, &redaction, err);
    if (r < 0) {
        return r;
    }
    r = write_view(handoffs, handoff, &redaction, options->has_thread, &json, err);
    if (r == 0) {
        buf_append(ret_json, json.data, json.len);
    }
    inbox_redaction_fini(&redaction);
    return r;
}
