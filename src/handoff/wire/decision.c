// SPDX-License-Identifier: Apache-2.0
/* Requests and decisions as agents see them. */
#include "handoff/wire/decision.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The space of ids of decisions that no person made. */
#define DECISION_SPACE "c60e442f-b463-5748-9819-3614d2cd0976"

/** What a fact means for an agent: one of the four statuses, and a reason beside a person's. */
static const struct {
    enum handoff_fact fact;
    const char *status;
    const char *reason; /**< NULL = a person has decided so */
} meanings[] = {
    {FACT_APPROVED, "approved", NULL},
    {FACT_REJECTED, "rejected", NULL},
    {FACT_REROUTED, "rerouted", NULL},
    {FACT_ASKED, "needs_info", NULL},
    {FACT_EXPIRED, "rejected", "expired"},
    {FACT_CANCELLED, "rejected", "cancelled"},
    {FACT_SUPERSEDED, "rejected", "superseded"},
    {FACT_DEAD_LETTERED, "rejected", "unroutable"},
    {FACT_LAPSED, "rejected", "lapsed"},
    /* The agent continues to wait, as after a reroute. */
    {FACT_WITHDRAWN, "rerouted", "questions_withdrawn"},
    {FACT_REPLAYED, "rerouted", "replayed"},
};

#define MEANINGS (sizeof(meanings) / sizeof(meanings[0]))

bool wire_is_decided(const struct handoff *handoff)
{
    return !handoff_is_waiting(handoff) || handoff->state == HANDOFF_NEEDS_INFO;
}

/* ---- Decisions ------------------------------------------------------------------------------ */

/** An id for what time or the agent itself did: the same one each time. */
static void name_decision(const struct handoff *handoff, const char *kind, char ret_id[ID_SIZE])
{
    auto_buf struct buf name = {0};
    buf_printf(&name, "%s %u %s", handoff->request_id, handoff->revision, kind);
    id_from_name(DECISION_SPACE, name.data, name.len, ret_id);
}

static void write_list(struct json_writer *writer, const char *key, struct json_object *list)
{
    json_write_raw(writer, key,
                   json_object_is_type(list, json_type_array)
                       ? json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN)
                       : "[]");
}

static void write_approvals(struct json_writer *writer, const struct handoff *handoff,
                            const char *role)
{
    json_begin_array(writer, "approval_chain");
    for (uint32_t i = 0; i < handoff->approval_count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "operator_role", role);
        json_write_time(writer, "time", handoff->approvals[i].time_ns);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static size_t find_meaning(const char *kind)
{
    size_t i = 0;
    while (i < MEANINGS && strcmp(kind, handoff_fact_name(meanings[i].fact)) != 0) {
        i++;
    }
    return i;
}

static void write_inner(struct json_writer *writer, const struct handoff *handoff,
                        const struct wire_notice *notice)
{
    char own[ID_SIZE];
    size_t i = find_meaning(notice->kind);
    bool has_id = notice->decision_id != NULL && notice->decision_id[0] != '\0';
    bool has_role = notice->role != NULL && notice->role[0] != '\0';
    const char *reason = i < MEANINGS ? meanings[i].reason : NULL;
    const char *role = has_role ? notice->role : reason != NULL ? "system" : "operator";
    const char *by = reason == NULL || has_role       ? role
                     : strcmp(reason, "expired") == 0 ? "system:timeout"
                                                      : "system";
    name_decision(handoff, notice->kind, own);
    json_write_string(writer, "decision_id", has_id ? notice->decision_id : own);
    json_write_string(writer, "reason_code", reason);
    write_list(writer, "questions", json_member(notice->details, "questions"));
    write_approvals(writer, handoff, role);
    json_begin_object(writer, "decision");
    json_write_string(writer, "status", i < MEANINGS ? meanings[i].status : "rerouted");
    json_write_string(writer, "operator_id", by);
    json_write_string(writer, "operator_role", role);
    json_write_string(writer, "context", json_get_string(notice->details, "comment", NULL));
    write_list(writer, "constraints", json_member(notice->details, "constraints"));
    json_end_object(writer);
}

void wire_decision_write(struct json_writer *writer, const char *key, const struct handoff *handoff,
                         const char *trace_id, const struct wire_notice *notice)
{
    json_begin_object(writer, key);
    json_write_string(writer, "event_type", "handoff.decided");
    json_write_int(writer, "contract_version", 1);
    json_write_string(writer, "kind", notice->kind);
    json_write_string(writer, "request_id", handoff->request_id);
    json_write_string(writer, "trace_id", trace_id);
    json_write_string(writer, "agent_id", handoff->agent_id);
    json_write_string(writer, "lane_id", handoff->lane_id);
    json_write_int(writer, "revision", handoff->revision);
    json_write_string(writer, "action_digest", handoff->action_digest);
    write_inner(writer, handoff, notice);
    json_write_time(writer, "valid_until", handoff->valid_until_ns);
    json_write_time(writer, "decision_ts", notice->time_ns);
    json_end_object(writer);
}

/* ---- The request ---------------------------------------------------------------------------- */

/** The fact that a request's present state comes from. */
static enum handoff_fact fact_of(const struct handoff *handoff)
{
    switch (handoff->state) {
    case HANDOFF_NEEDS_INFO:
        return FACT_ASKED;
    case HANDOFF_APPROVED:
        return handoff->application == APPLICATION_LAPSED ? FACT_LAPSED : FACT_APPROVED;
    case HANDOFF_REJECTED:
        return FACT_REJECTED;
    case HANDOFF_EXPIRED:
        return FACT_EXPIRED;
    case HANDOFF_CANCELLED:
        return FACT_CANCELLED;
    case HANDOFF_SUPERSEDED:
        return FACT_SUPERSEDED;
    case HANDOFF_DEAD_LETTERED:
        return FACT_DEAD_LETTERED;
    case HANDOFF_REQUESTED:
    case HANDOFF_ROUTED:
    case HANDOFF_REROUTED:
    case HANDOFF_ESCALATED:
    case HANDOFF_STATE_COUNT:
        break;
    }
    return FACT_ROUTED;
}

/** The last remark that made the present state. */
struct remark_search {
    const char *kind;
    char *decision_id;
    char *role;
    int64_t time_ns;
    struct json_object *details;
};

static bool take_remark(const struct handoff_remark *remark, void *context)
{
    struct remark_search *search = context;
    if (strcmp(remark->kind, search->kind) == 0) {
        free(search->decision_id);
        free(search->role);
        json_object_put(search->details);
        search->decision_id = memory_dup_string(remark->decision_id);
        search->role = memory_dup_string(remark->role);
        search->time_ns = remark->time_ns;
        search->details = NULL;
        (void)json_parse(remark->details, strlen(remark->details), &search->details, NULL);
    }
    return true;
}

static int read_trace(const struct handoff_store *handoffs, const struct handoff *handoff,
                      struct json_object **ret_body, struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    int r = handoff_read_body(handoffs, handoff->request_id, 1, &body, err);
    if (r == RONDO_ERR_NOT_FOUND) {
        return 0;
    }
    return r < 0 ? r : json_parse(body.data, body.len, ret_body, err);
}

static void write_state(struct json_writer *writer, const struct handoff *handoff,
                        const char *trace_id)
{
    if (trace_id != NULL) {
        json_write_string(writer, "trace_id", trace_id);
    }
    if (handoff->state_hash[0] != '\0') {
        json_write_string(writer, "state_hash", handoff->state_hash);
    }
    json_write_string(writer, "request_id", handoff->request_id);
    json_write_string(writer, "agent_id", handoff->agent_id);
    json_write_string(writer, "lane_id", handoff->lane_id);
    json_write_string(writer, "state", handoff_state_name(handoff->state));
    json_write_int(writer, "revision", handoff->revision);
    json_write_int(writer, "version", (int64_t)handoff->version);
    json_write_string(writer, "action_digest", handoff->action_digest);
    json_write_time(writer, "requested_at", handoff->requested_ns);
    json_write_time(writer, "due_at", handoff->sla_due_ns);
    json_write_time(writer, "required_by_ts", handoff->required_by_ns);
    json_write_time(writer, "answers_due_at", handoff->info_due_ns);
    bool is_superseded = handoff->superseded_by[0] != '\0';
    json_write_string(writer, "superseded_by", is_superseded ? handoff->superseded_by : NULL);
    json_write_string(writer, "application", handoff_application_name(handoff->application));
    json_write_time(writer, "lease_until", handoff->lease_until_ns);
}

int wire_answer_write(const struct handoff_store *handoffs, const struct handoff *handoff,
                      struct buf *ret_json, struct rondo_error *err)
{
    auto_json struct json_object *body = NULL;
    struct remark_search search = {.kind = handoff_fact_name(fact_of(handoff))};
    bool is_decided = wire_is_decided(handoff);
    int r = read_trace(handoffs, handoff, &body, err);
    if (r == 0 && is_decided) {
        r = handoff_read_thread(handoffs, handoff->request_id, take_remark, &search, err);
    }
    if (r == 0) {
        struct json_writer writer = json_writer(ret_json);
        struct wire_notice notice = {
            .kind = search.kind,
            .decision_id = search.decision_id,
            .role = search.role,
            .time_ns = search.time_ns != 0 ? search.time_ns : handoff->decided_ns,
            .details = search.details,
        };
        const char *trace_id = json_get_string(body, "trace_id", NULL);
        json_begin_object(&writer, NULL);
        write_state(&writer, handoff, trace_id);
        if (is_decided) {
            wire_decision_write(&writer, "decision", handoff, trace_id, &notice);
        } else {
            json_write_null(&writer, "decision");
        }
        json_end_object(&writer);
    }
    free(search.decision_id);
    free(search.role);
    json_object_put(search.details);
    return r;
}
