// SPDX-License-Identifier: Apache-2.0
/* Decisions of people. */
#include "handoff/inbox.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/random.h"

#include <stdio.h>
#include <string.h>

int inbox_route(const struct handoff_store *handoffs, const char *request_id, int64_t now_ns,
                struct handoff *ret_handoff, struct rondo_error *err)
{
    static const struct handoff_command route = {
        .kind = HANDOFF_ROUTE, .actor = {.id = "system:router"}, .desk = INBOX_DESK};
    struct handoff_result result = {0};
    int r = handoff_wake(handoffs, request_id, now_ns, &result, err);
    enum handoff_state state = result.handoff.state;
    if (r == 0 && (state == HANDOFF_REQUESTED || state == HANDOFF_REROUTED)) {
        r = handoff_act(handoffs, request_id, &route, NULL, now_ns, &result, err);
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

bool inbox_has_run(const struct handoff_store *handoffs, const struct handoff *handoff)
{
    struct store_run run;
    int r = handoffs->store->ops->get_run(handoffs->store, handoff->lane_id, &run, NULL);
    return r == 0 ? run.summary.status == RONDO_RUNNING : r != RONDO_ERR_NOT_FOUND;
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

/* ---- Deciding ------------------------------------------------------------------------------- */

static void write_details(const char *comment, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "comment", comment);
    json_end_object(&writer);
}

int inbox_decide(const struct handoff_store *handoffs, const char *request_id,
                 const struct inbox_decision *decision, int64_t now_ns,
                 struct handoff_result *ret_result, struct rondo_error *err)
{
    auto_buf struct buf details = {0};
    char decision_id[ID_SIZE];
    bool has_comment = decision->comment != NULL && decision->comment[0] != '\0';
    if (has_comment && strlen(decision->comment) > INBOX_MOST_COMMENT) {
        return error_set(err, RONDO_ERR_LIMIT, "the comment has %zu bytes; the limit is %d",
                         strlen(decision->comment), INBOX_MOST_COMMENT);
    }
    if (has_comment) {
        write_details(decision->comment, &details);
    }
    id_new(now_ns, random_system(), decision_id);
    struct handoff_command command = {
        .kind = decision->kind,
        .actor = {.id = decision->by, .is_assignee = true, .may_decide = true},
        .revision = decision->revision,
        .action_digest = decision->action_digest,
        .has_text = has_comment,
    };
    struct handoff_note note = {
        .role = "operator",
        .decision_id = decision_id,
        .details = has_comment ? buf_string(&details) : NULL,
    };
    return handoff_act(handoffs, request_id, &command, &note, now_ns, ret_result, err);
}

/** Outcomes of which a sentence says all. */
static const char *sentence_of(enum handoff_outcome outcome)
{
    switch (outcome) {
    case HANDOFF_PARTIAL:
        return "Another person must approve it, too.";
    case HANDOFF_WAITS_FOR_AGENT:
        return "The agent must answer questions first.";
    case HANDOFF_NOT_OPEN:
        return "It is on no desk yet.";
    case HANDOFF_SECOND_PERSON:
        return "You have approved it already; another person must approve it, too.";
    case HANDOFF_SELF_APPROVAL:
        return "An agent cannot decide about its own request.";
    case HANDOFF_NOT_PERMITTED:
    case HANDOFF_NOT_YOURS:
        return "You may not decide about it.";
    case HANDOFF_OTHER_REVISION:
    case HANDOFF_OTHER_ACTION:
        return "It has changed since you looked at it; look again.";
    case HANDOFF_TEXT_MISSING:
        return "A rejection needs a comment, which the agent is told.";
    default:
        return NULL;
    }
}

void inbox_explain(const struct handoff_result *result, struct buf *ret_text)
{
    const char *sentence = sentence_of(result->outcome);
    if (result->outcome == HANDOFF_DONE || result->outcome == HANDOFF_REPEATED) {
        return;
    }
    if (result->outcome == HANDOFF_DECIDED) {
        buf_printf(ret_text, "It is %s already", handoff_state_name(result->handoff.state));
        const char *by = result->handoff.decided_by;
        buf_printf(ret_text, "%s%s.", by[0] == '\0' ? "" : ", by ", by);
    } else if (sentence != NULL) {
        buf_append_string(ret_text, sentence);
    } else {
        buf_printf(ret_text, "It cannot be decided (%s).", handoff_outcome_name(result->outcome));
    }
}
