// SPDX-License-Identifier: Apache-2.0
/* Handoffs as people find them. */
#include "handoff/inbox/inbox.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "handoff/desks/desks.h"
#include "os/host.h"

#include <json-c/json.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void inbox_user(char ret_name[HANDOFF_NAME_SIZE])
{
    static const char prefix[] = "user:";
    char name[HANDOFF_NAME_SIZE - sizeof(prefix) + 1];
    (void)host_user_name(geteuid(), name, sizeof(name));
    snprintf(ret_name, HANDOFF_NAME_SIZE, "%s%s", prefix, name);
}

/* ---- Routing -------------------------------------------------------------------------------- */

/** What the agent said about where a request should go. */
static size_t list_supervisors(struct json_object *routing, const char **ret_names)
{
    struct json_object *list = json_member(routing, "supervisors");
    size_t count = json_length(list);
    count = count > LIMIT_HANDOFF_SUPERVISORS ? LIMIT_HANDOFF_SUPERVISORS : count;
    for (size_t i = 0; i < count; i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(list, i));
        ret_names[i] = name == NULL ? "" : name;
    }
    return count;
}

/** Find the desk of a new request by what the agent sent. @return whether there is one, or a code
 */
static int route_new(const struct handoff_store *handoffs, const struct handoff *handoff,
                     char *ret_desk, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    auto_json struct json_object *body = NULL;
    const char *supervisors[LIMIT_HANDOFF_SUPERVISORS];
    int r = handoff_read_body(handoffs, handoff->request_id, handoff->revision, &json, err);
    r = r < 0 ? r : json_parse_strict(json.data, json.len, &body, err);
    if (r < 0) {
        return r;
    }
    struct json_object *routing = json_member(body, "routing");
    struct desks_request request = {
        .agent_id = handoff->agent_id,
        .tool = json_get_string(json_member(body, "action"), "tool", ""),
        .risk = handoff->risk,
        .routing_policy_id = json_get_string(routing, "routing_policy_id", NULL),
        .supervisors = supervisors,
        .supervisor_count = list_supervisors(routing, supervisors),
    };
    return desks_route(handoffs->desks, &request, ret_desk, NULL);
}

/** @return whether there is a desk, or a code */
static int find_desk(const struct handoff_store *handoffs, const struct handoff *handoff,
                     char *ret_desk, struct rondo_error *err)
{
    if (handoff->state == HANDOFF_REROUTED) {
        return desks_resolve(handoffs->desks, handoff->desks[handoff->desk_count - 1], ret_desk);
    }
    if (handoffs->desks == NULL) {
        return desks_resolve(NULL, INBOX_DESK, ret_desk);
    }
    return route_new(handoffs, handoff, ret_desk, err);
}

int inbox_route(const struct handoff_store *handoffs, const char *request_id, int64_t now_ns,
                struct handoff *ret_handoff, struct rondo_error *err)
{
    char desk[HANDOFF_NAME_SIZE] = "";
    struct handoff_command route = {.kind = HANDOFF_ROUTE, .actor = {.id = "system:router"}};
    struct handoff_result result = {0};
    int r = handoff_wake(handoffs, request_id, now_ns, &result, err);
    enum handoff_state state = result.handoff.state;
    if (r == 0 && (state == HANDOFF_REQUESTED || state == HANDOFF_REROUTED) &&
        desks_is_usable(handoffs->desks)) {
        r = find_desk(handoffs, &result.handoff, desk, err);
        route.desk = r > 0 ? desk : NULL;
        r = r < 0 ? r : handoff_act(handoffs, request_id, &route, NULL, now_ns, &result, err);
    }
    if (r == 0) {
        *ret_handoff = result.handoff;
    }
    return r;
}

/* ---- Finding -------------------------------------------------------------------------------- */

struct inbox_search {
    const char *beginning;
    size_t found;
    struct handoff handoff;
};

static bool take_match(const struct handoff *handoff, void *context)
{
    struct inbox_search *search = context;
    if (strncmp(handoff->request_id, search->beginning, strlen(search->beginning)) == 0) {
        search->found++;
        search->handoff = *handoff;
    }
    return true;
}

int inbox_find(const struct handoff_store *handoffs, const char *beginning,
               struct handoff *ret_handoff, struct rondo_error *err)
{
    struct inbox_search search = {.beginning = beginning};
    if (strlen(beginning) == ID_SIZE - 1) {
        return handoff_read(handoffs, beginning, ret_handoff, err);
    }
    int r = handoff_read_open(handoffs, take_match, &search, err);
    if (r < 0 && (r != RONDO_ERR_CORRUPT || search.found == 0)) {
        return r;
    }
    if (search.found == 0 || beginning[0] == '\0') {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "no open handoff has an id that begins with \"%.60s\"; "
                         "`rondo inbox` lists them",
                         beginning);
    }
    if (search.found > 1) {
        return error_set(err, RONDO_ERR_INVALID,
                         "%zu handoffs have an id that begins with %.60s; give more of it",
                         search.found, beginning);
    }
    *ret_handoff = search.handoff;
    return 0;
}

/* ---- Runs that have ended ------------------------------------------------------------------- */

/** Whether the lane of a request is a run: agents of others name their lanes as they like. */
static bool is_of_rondo(const struct handoff_store *handoffs, const struct handoff *handoff)
{
    auto_buf struct buf json = {0};
    auto_json struct json_object *body = NULL;
    bool is_read = id_is_valid(handoff->lane_id) &&
                   handoff_read_body(handoffs, handoff->request_id, 1, &json, NULL) == 0 &&
                   json_parse(buf_string(&json), json.len, &body, NULL) == 0;
    return is_read && strcmp(json_get_string(json_member(body, "agent"), "sdk", ""), "rondo") == 0;
}

bool inbox_has_run(const struct handoff_store *handoffs, const struct handoff *handoff)
{
    struct store_run run;
    if (handoff->is_foreign) { /* Its agent says when a lane has ended. */
        return true;
    }
    int r = handoffs->store->ops->get_run(handoffs->store, handoff->lane_id, &run, NULL);
    if (r == 0 && run.summary.status == RONDO_RUNNING) {
        return true;
    }
    return (r < 0 && r != RONDO_ERR_NOT_FOUND) || !is_of_rondo(handoffs, handoff);
}

struct inbox_clearing {
    const struct handoff_store *handoffs;
    int64_t now_ns;
};

static bool cancel_ended(const struct handoff *handoff, void *context)
{
    const struct inbox_clearing *clearing = context;
    struct handoff_command cancel = {.kind = HANDOFF_CANCEL,
                                     .actor = {.id = "system:run-ended", .is_admin = true}};
    struct handoff_result ignored;
    if (handoff_is_waiting(handoff) && !inbox_has_run(clearing->handoffs, handoff)) {
        (void)handoff_act(clearing->handoffs, handoff->request_id, &cancel, NULL, clearing->now_ns,
                          &ignored, NULL);
    }
    return true;
}

void inbox_cancel_ended(const struct handoff_store *handoffs, int64_t now_ns)
{
    struct inbox_clearing clearing = {handoffs, now_ns};
    (void)handoff_read_open(handoffs, cancel_ended, &clearing, NULL);
}

int inbox_submit(const struct handoff_store *handoffs, const struct handoff_request *request,
                 const char *body, int64_t now_ns, struct handoff_result *ret_result,
                 struct rondo_error *err)
{
    int r = handoff_submit(handoffs, request, body, now_ns, ret_result, err);
    /* Agents of others must not make us read all that waits: their lanes have no run. */
    if (r == 0 && ret_result->outcome == HANDOFF_FULL && !request->is_foreign) {
        inbox_cancel_ended(handoffs, now_ns);
        r = handoff_submit(handoffs, request, body, now_ns, ret_result, err);
    }
    if (r < 0 || ret_result->outcome == HANDOFF_FULL || ret_result->outcome == HANDOFF_TOO_LATE ||
        ret_result->outcome == HANDOFF_NOT_YOURS) {
        return r;
    }
    return inbox_route(handoffs, ret_result->handoff.request_id, now_ns, &ret_result->handoff, err);
}
