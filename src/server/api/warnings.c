// SPDX-License-Identifier: Apache-2.0
/* Warnings, the sinks that they go to, and their deliveries. */
#include "alert/sink.h"
#include "handoff/desks/desks.h"
#include "server/api/handlers.h"
#include "server/api/inbox_call.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_PAGE 50
#define MAX_PAGE     500
/** Warnings that are looked at for those of a grant's agents. */
#define MAX_LOOKED_AT 5000
/** Bytes of a warning's id. */
#define WARNING_ID_ROOM 128

struct warning_list {
    struct call *call;
    struct handoff_store
        handoffs; /**< taken before: while the store is read it is asked nothing else */
    struct json_writer *writer;
    int64_t limit;
    int64_t shown;
    int64_t looked_at;
    char last[WARNING_ID_ROOM];
    bool is_more;
};

static bool is_reached(const struct call *call, const char *json)
{
    auto_json struct json_object *warning = NULL;
    return call->grant.agents == NULL ||
           (json_parse(json, strlen(json), &warning, NULL) == 0 &&
            token_grant_covers(&call->grant, json_get_string(warning, "agent_id", "")));
}

/** Write a warning. One from before there was a rule may repeat a value that it hides. */
static void write_warning(const struct warning_list *list, const char *json)
{
    auto_json struct json_object *warning = NULL;
    struct json_writer *writer = list->writer;
    const char *person = list->call->grant.person;
    (void)json_parse(json, strlen(json), &warning, NULL);
    const char *kind = json_get_string(warning, "kind", "");
    bool is_of_call = strcmp(kind, warning_kind_name(WARNING_HANDOFF)) == 0 ||
                      strcmp(kind, warning_kind_name(WARNING_POLICY)) == 0;
    struct redact_view view = desks_view(list->handoffs.desks, person[0] == '\0' ? NULL : person,
                                         json_get_string(warning, "agent_id", NULL), NULL);
    if (!is_of_call || !redact_hides(&view)) {
        json_write_raw(writer, NULL, json);
        return;
    }
    json_object_object_add(
        warning, "message",
        json_object_new_string("a rule of the desk file hides from you what it is about"));
    json_write_raw(writer, NULL, json_object_to_json_string_ext(warning, JSON_C_TO_STRING_PLAIN));
}

static bool take_warning(const char *id, const char *json, void *context)
{
    struct warning_list *list = context;
    list->is_more = list->shown == list->limit || list->looked_at++ == MAX_LOOKED_AT;
    if (list->is_more) {
        return false;
    }
    if (is_reached(list->call, json)) {
        write_warning(list, json);
        list->shown++;
    }
    snprintf(list->last, sizeof(list->last), "%s", id);
    return true;
}

static bool read_query(struct call *call, struct warning_query *query, int64_t *ret_limit)
{
    const char *kinds[WARNING_KIND_COUNT + 1] = {0};
    for (int i = 0; i < WARNING_KIND_COUNT; i++) {
        kinds[i] = warning_kind_name((enum warning_kind)i);
    }
    query->run_id = call_query(call, "run");
    query->agent_id = call_query(call, "agent");
    query->before = call_query(call, "before");
    if (query->before != NULL && strlen(query->before) >= WARNING_ID_ROOM) {
        call_problem(call, PROBLEM_MALFORMED, "the parameter before takes the id of a warning");
        return false;
    }
    return call_query_word(call, "kind", kinds, &query->kind) &&
           call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, ret_limit);
}

void handle_warnings(struct call *call)
{
    struct rondo_error err = {0};
    struct warning_query query = {.limit = MAX_LOOKED_AT + 1};
    struct warning_list list = {.call = call, .handoffs = call_handoffs(call)};
    if (!read_query(call, &query, &list.limit)) {
        return;
    }
    if (call->grant.agents == NULL) {
        query.limit = (uint32_t)list.limit + 1;
    }
    struct json_writer writer = call_json(call, 200);
    list.writer = &writer;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "warnings");
    int r = warnings_read(call_store(call), &query, take_warning, &list, &err);
    json_end_array(&writer);
    json_write_string(&writer, "next", list.is_more ? list.last : NULL);
    json_end_object(&writer);
    if (r < 0) {
        call_error(call, &err);
    }
}

/* ---- Sinks ---------------------------------------------------------------------------------- */

void handle_sinks(struct call *call)
{
    struct rondo_error err = {0};
    auto_buf struct buf list = {0};
    int r = sink_list(call_store(call), &list, &err);
    call_answer_list(call, "sinks", &list, r, &err);
}

/** A sink as it is shown, NULL when there is none. @return json_object_put() */
static struct json_object *find_sink(struct call *call, const char *name)
{
    auto_buf struct buf text = {0};
    auto_json struct json_object *list = NULL;
    if (sink_list(call_store(call), &text, NULL) < 0 ||
        json_parse(buf_string(&text), text.len, &list, NULL) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *sink = json_object_array_get_idx(list, i);
        if (strcmp(json_get_string(sink, "name", ""), name) == 0) {
            return json_object_get(sink);
        }
    }
    return NULL;
}

void handle_put_sink(struct call *call)
{
    struct rondo_error err = {0};
    char secret[SINK_SECRET_SIZE] = "";
    const char *name = call_value(call, "name");
    const char *given = NULL;
    if (!call_member_text(call, "name", false, &given)) {
        return;
    }
    if (given != NULL && strcmp(given, name) != 0) {
        call_problem(call, PROBLEM_INVALID, "the body names another sink than the path");
        return;
    }
    auto_json struct json_object *before = find_sink(call, name);
    json_object_object_add(call->body, "name", json_object_new_string(name));
    if (sink_put(call_store(call), call->body, secret, &err) < 0) {
        call_error(call, &err);
        return;
    }
    auto_json struct json_object *after = find_sink(call, name);
    if (after != NULL && secret[0] != '\0') {
        json_object_object_add(after, "secret", json_object_new_string(secret));
    }
    call_json(call, before == NULL ? 201 : 200);
    buf_append_string(&call->answer,
                      after == NULL
                          ? "{}"
                          : json_object_to_json_string_ext(
                                after, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    explicit_bzero(secret, sizeof(secret));
}

void handle_remove_sink(struct call *call)
{
    struct rondo_error err = {0};
    if (sink_remove(call_store(call), call_value(call, "name"), &err) < 0) {
        call_error(call, &err);
        return;
    }
    call->status = 204;
}

static void answer_queued(struct call *call)
{
    struct json_writer writer = call_json(call, 202);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "outcome", "queued");
    json_end_object(&writer);
}

/** Bodies of requests that say everything in their path. */
static bool has_no_members(struct call *call)
{
    return call->body == NULL || call_check_members(call, call->body, "", NULL);
}

void handle_test_sink(struct call *call)
{
    struct rondo_error err = {0};
    if (!has_no_members(call)) {
        return;
    }
    if (sink_test(call_store(call), call_value(call, "name"), &err) < 0) {
        call_error(call, &err);
    } else {
        answer_queued(call);
    }
}

/* ---- Deliveries ----------------------------------------------------------------------------- */

void handle_deliveries(struct call *call)
{
    struct rondo_error err = {0};
    auto_buf struct buf list = {0};
    bool is_dead = false;
    int64_t limit = 0;
    if (!call_query_bool(call, "dead", false, &is_dead) ||
        !call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &limit)) {
        return;
    }
    int r = sink_deliveries(call_store(call), is_dead, (uint32_t)limit, &list, &err);
    call_answer_list(call, "deliveries", &list, r, &err);
}

void handle_retry_delivery(struct call *call)
{
    struct rondo_error err = {0};
    if (!has_no_members(call)) {
        return;
    }
    if (sink_redeliver(call_store(call), call_value(call, "id"), &err) < 0) {
        call_error(call, &err);
    } else {
        answer_queued(call);
    }
}
