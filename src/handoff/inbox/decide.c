// SPDX-License-Identifier: Apache-2.0
/* Decisions of people: checked, carried out once for each key, and explained. */
#include "handoff/inbox/inbox.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/random.h"
#include "handoff/desks/desks.h"
#include "handoff/identity.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Times that something else may happen to a request between looking at it and deciding. */
#define MOST_LOOKS 32
/** Name space of the ids of decisions that have a key. */
#define DECISION_SPACE "22c65b78-f600-5584-8c92-803dfb74b405"

static const char *const statuses[HANDOFF_COMMAND_COUNT] = {
    [HANDOFF_APPROVE] = "approved",       [HANDOFF_REJECT] = "rejected",
    [HANDOFF_REROUTE] = "rerouted",       [HANDOFF_ASK] = "needs_info",
    [HANDOFF_WITHDRAW] = "withdrawn",     [HANDOFF_ESCALATE] = "escalated",
    [HANDOFF_DEESCALATE] = "deescalated", [HANDOFF_CLAIM] = "claimed",
    [HANDOFF_RELEASE] = "released",       [HANDOFF_CANCEL] = "cancelled",
    [HANDOFF_REPLAY] = "replayed",
};

const char *inbox_status(enum handoff_command_kind kind)
{
    return statuses[kind];
}

bool inbox_kind_of(const char *status, enum handoff_command_kind *ret_kind)
{
    for (int i = 0; i < HANDOFF_COMMAND_COUNT; i++) {
        if (statuses[i] != NULL && strcmp(statuses[i], status) == 0) {
            *ret_kind = (enum handoff_command_kind)i;
            return true;
        }
    }
    return false;
}

/* ---- What is said --------------------------------------------------------------------------- */

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/** Names are copied into records, which have room for so many bytes. */
static int check_name(const char *name, const char *what, struct rondo_error *err)
{
    size_t len = name == NULL ? 0 : strlen(name);
    if (len == 0 || len >= HANDOFF_NAME_SIZE) {
        return error_set(err, RONDO_ERR_INVALID, "%s must have 1 to %d bytes", what,
                         HANDOFF_NAME_SIZE - 1);
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == 127) {
            return error_set(err, RONDO_ERR_INVALID, "%s has a control character", what);
        }
    }
    return 0;
}

static int check_questions(const struct inbox_decision *decision, struct rondo_error *err)
{
    if (decision->question_count > LIMIT_HANDOFF_QUESTIONS) {
        return error_set(err, RONDO_ERR_LIMIT, "there are %zu questions; the limit is %d",
                         decision->question_count, (int)LIMIT_HANDOFF_QUESTIONS);
    }
    for (size_t i = 0; i < decision->question_count; i++) {
        size_t len = strlen(decision->questions[i]);
        if (len == 0) {
            return error_set(err, RONDO_ERR_INVALID, "question %zu is empty", i + 1);
        }
        if (len > LIMIT_HANDOFF_QUESTION_BYTES) {
            return error_set(err, RONDO_ERR_LIMIT, "question %zu has %zu bytes; the limit is %d",
                             i + 1, len, (int)LIMIT_HANDOFF_QUESTION_BYTES);
        }
    }
    return 0;
}

static int check_constraints(const char *constraints, struct rondo_error *err)
{
    auto_json struct json_object *list = NULL;
    if (constraints == NULL) {
        return 0;
    }
    if (strlen(constraints) > LIMIT_HANDOFF_COMMENT_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "the constraints have %zu bytes; the limit is %d",
                         strlen(constraints), (int)LIMIT_HANDOFF_COMMENT_BYTES);
    }
    int r = json_parse_strict(constraints, strlen(constraints), &list, err);
    if (r == 0 && !json_object_is_type(list, json_type_array)) {
        return error_set(err, RONDO_ERR_INVALID, "the constraints must be a JSON array");
    }
    return r;
}

/** Whether a kind of decision is about an action that the person must have seen. */
static bool has_subject(enum handoff_command_kind kind)
{
    return kind == HANDOFF_APPROVE || kind == HANDOFF_REJECT || kind == HANDOFF_REROUTE ||
           kind == HANDOFF_ASK;
}

static int check_decision(const struct inbox_decision *decision, struct rondo_error *err)
{
    if (inbox_status(decision->kind) == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "this is no decision of a person");
    }
    if (has_subject(decision->kind) && decision->action_digest == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "the digest of the action is missing");
    }
    if (is_given(decision->comment) && strlen(decision->comment) > LIMIT_HANDOFF_COMMENT_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "the comment has %zu bytes; the limit is %d",
                         strlen(decision->comment), (int)LIMIT_HANDOFF_COMMENT_BYTES);
    }
    int r = check_name(decision->by, "the name of the person", err);
    if (r == 0 && decision->kind == HANDOFF_REROUTE) {
        r = check_name(decision->target, "the name of the desk", err);
    }
    r = r < 0 ? r : check_questions(decision, err);
    return r < 0 ? r : check_constraints(decision->constraints, err);
}

/** What the thread and the audit chain keep of a decision. */
static void write_details(const struct inbox_decision *decision, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "status", inbox_status(decision->kind));
    if (is_given(decision->comment)) {
        json_write_string(&writer, "comment", decision->comment);
    }
    if (decision->question_count > 0) {
        json_begin_array(&writer, "questions");
        for (size_t i = 0; i < decision->question_count; i++) {
            json_write_string(&writer, NULL, decision->questions[i]);
        }
        json_end_array(&writer);
    }
    if (decision->kind == HANDOFF_REROUTE) {
        json_write_string(&writer, "target", decision->target);
    }
    if (decision->constraints != NULL) {
        json_write_raw(&writer, "constraints", decision->constraints);
    }
    json_end_object(&writer);
}

/* ---- Once for each key ---------------------------------------------------------------------- */

/** Anybody else's key is another one. */
static void name_decision(const struct inbox_decision *decision, const char *request_id,
                          int64_t now_ns, char ret_id[ID_SIZE])
{
    auto_buf struct buf name = {0};
    if (!is_given(decision->key)) {
        id_new(now_ns, random_system(), ret_id);
        return;
    }
    buf_printf(&name, "%s\n%s\n%s", request_id, decision->by, decision->key);
    id_from_name(DECISION_SPACE, name.data, name.len, ret_id);
}

/** A decision that was made under the same key. */
struct made_before {
    const char *decision_id;
    const char *digest; /**< of its details */
    bool is_found;
    bool is_other;
};

static bool find_decision(const struct handoff_remark *remark, void *context)
{
    struct made_before *before = context;
    char digest[HANDOFF_DIGEST_SIZE] = "";
    if (strcmp(remark->decision_id, before->decision_id) != 0) {
        return true;
    }
    (void)handoff_digest(remark->details, strlen(remark->details), digest, NULL);
    before->is_found = true;
    before->is_other = strcmp(digest, before->digest) != 0;
    return false;
}

/** @return 1 it was made before, 0, or a code */
static int look_for_decision(const struct handoff_store *handoffs, const char *request_id,
                             const struct inbox_decision *decision, const char *decision_id,
                             const char *details, struct rondo_error *err)
{
    char digest[HANDOFF_DIGEST_SIZE];
    struct made_before before = {.decision_id = decision_id, .digest = digest};
    if (!is_given(decision->key)) {
        return 0;
    }
    int r = handoff_digest(details, strlen(details), digest, err);
    r = r < 0 ? r : handoff_read_thread(handoffs, request_id, find_decision, &before, err);
    if (r == 0 && before.is_other) {
        return error_set(err, RONDO_ERR_INVALID,
                         "this key was used for another decision; use a new one");
    }
    return r < 0 ? r : before.is_found ? 1 : 0;
}

/* ---- Deciding ------------------------------------------------------------------------------- */

/** One decision on its way. */
struct deciding {
    const struct handoff_store *handoffs;
    const char *request_id;
    const struct inbox_decision *decision;
    const char *details;
    char desk[HANDOFF_NAME_SIZE]; /**< where to, as the desk file names it */
    int64_t now_ns;
};

/** @param then as time has made it by now, which may be on another desk @param version of the
 * record */
static struct handoff_command command_of(const struct deciding *deciding,
                                         const struct handoff *then, uint64_t version)
{
    const struct inbox_decision *decision = deciding->decision;
    bool is_asking = decision->kind == HANDOFF_ASK;
    struct handoff_actor actor = desks_actor(deciding->handoffs->desks, decision->by, then);
    actor.is_admin = decision->is_admin;
    actor.is_requester = decision->is_requester;
    return (struct handoff_command){
        .kind = decision->kind,
        .actor = actor,
        .if_version = version,
        .revision = decision->revision,
        .action_digest = decision->action_digest,
        .has_text = is_asking ? decision->question_count > 0 : is_given(decision->comment),
        .desk = deciding->desk,
    };
}

/** Whether the thread has it: that somebody works on it is only in the audit chain. */
static bool is_said(const struct inbox_decision *decision)
{
    bool is_claim = decision->kind == HANDOFF_CLAIM || decision->kind == HANDOFF_RELEASE;
    return !is_claim || is_given(decision->comment);
}

/** Put a request that was passed on to its new desk. */
static int settle(const struct deciding *deciding, struct inbox_result *ret_result,
                  struct rondo_error *err)
{
    struct handoff *handoff = &ret_result->result.handoff;
    if (handoff->state != HANDOFF_REROUTED) {
        return 0;
    }
    int r = inbox_route(deciding->handoffs, deciding->request_id, deciding->now_ns, handoff, err);
    ret_result->is_returned = r == 0 && handoff->state == HANDOFF_ESCALATED;
    return r;
}

/** Whether the person wants it only if nothing happened meanwhile, and something did. */
static bool is_stale(const struct deciding *deciding, const struct handoff *handoff)
{
    uint64_t version = deciding->decision->if_version;
    return version != 0 && version != handoff->version && handoff_is_waiting(handoff);
}

/** @return 1 there is an outcome, 0 something happened to it meanwhile, or a code */
static int try_decide(const struct deciding *deciding, struct inbox_result *ret_result,
                      struct rondo_error *err)
{
    struct handoff_result *result = &ret_result->result;
    struct handoff_note note = {.decision_id = ret_result->decision_id,
                                .details = is_said(deciding->decision) ? deciding->details : NULL};
    int r = handoff_read(deciding->handoffs, deciding->request_id, &result->handoff, err);
    int known =
        r < 0 ? r
              : look_for_decision(deciding->handoffs, deciding->request_id, deciding->decision,
                                  ret_result->decision_id, deciding->details, err);
    if (known != 0 || is_stale(deciding, &result->handoff)) {
        result->outcome = known == 1 ? HANDOFF_REPEATED : HANDOFF_OTHER_VERSION;
        return known < 0 ? known : 1;
    }
    if (result->handoff.state == HANDOFF_REQUESTED) { /* Its agent may have died before it was. */
        r = inbox_route(deciding->handoffs, deciding->request_id, deciding->now_ns,
                        &result->handoff, err);
        if (r < 0) {
            return r;
        }
    }
    struct handoff then = result->handoff;
    struct handoff_facts due = {0};
    handoff_advance(&then, deciding->handoffs->rules, deciding->now_ns, &due);
    struct handoff_command command = command_of(deciding, &then, result->handoff.version);
    note.role = desks_role(deciding->handoffs->desks, deciding->decision->by, &then);
    r = handoff_act(deciding->handoffs, deciding->request_id, &command, &note, deciding->now_ns,
                    result, err);
    return r < 0 ? r : result->outcome == HANDOFF_OTHER_VERSION ? 0 : 1;
}

int inbox_decide(const struct handoff_store *handoffs, const char *request_id,
                 const struct inbox_decision *decision, int64_t now_ns,
                 struct inbox_result *ret_result, struct rondo_error *err)
{
    auto_buf struct buf details = {0};
    struct inbox_result result = {0};
    int r = check_decision(decision, err);
    if (r < 0) {
        return r;
    }
    write_details(decision, &details);
    name_decision(decision, request_id, now_ns, result.decision_id);
    struct deciding deciding = {.handoffs = handoffs,
                                .request_id = request_id,
                                .decision = decision,
                                .details = buf_string(&details),
                                .now_ns = now_ns};
    if (decision->kind == HANDOFF_REROUTE &&
        !desks_resolve(handoffs->desks, decision->target, deciding.desk)) {
        snprintf(deciding.desk, sizeof(deciding.desk), "%s", decision->target);
    }
    for (int i = 0; i < MOST_LOOKS && r == 0; i++) {
        r = try_decide(&deciding, &result, err);
    }
    if (r == 1 && result.result.outcome == HANDOFF_DONE) {
        (void)settle(&deciding, &result, NULL); /* Else the next one who looks at it does it. */
    }
    if (r >= 0) {
        *ret_result = result;
    }
    return r < 0 ? r : 0;
}

/* ---- Explaining ----------------------------------------------------------------------------- */

/** Outcomes of which a sentence says all. */
static const char *sentence_of(enum handoff_outcome outcome)
{
    switch (outcome) {
    case HANDOFF_PARTIAL:
        return "Another person must approve it, too.";
    case HANDOFF_WAITS_FOR_AGENT:
        return "The agent must answer questions first; who asked them can withdraw them.";
    case HANDOFF_SECOND_PERSON:
        return "You have approved it already; another person must approve it, too.";
    case HANDOFF_SELF_APPROVAL:
        return "An agent cannot decide about its own request.";
    case HANDOFF_OTHER_VERSION:
    case HANDOFF_OTHER_REVISION:
    case HANDOFF_OTHER_ACTION:
        return "It has changed since you looked at it; look again.";
    case HANDOFF_REROUTE_LOOP:
        return "It was on that desk before, or was passed on too often; it was escalated instead.";
    case HANDOFF_TOO_MANY_QUESTIONS:
        return "The agent has answered questions too often; approve it or reject it.";
    case HANDOFF_TEXT_MISSING:
        return "It needs a text: a comment, or a question.";
    default:
        return NULL;
    }
}

/** What depends on the record. */
static void explain_place(const struct handoff_result *result, struct buf *ret_text)
{
    const struct handoff *handoff = &result->handoff;
    const char *desk = handoff->desk_count == 0 ? "" : handoff->desks[handoff->desk_count - 1];
    if (result->outcome == HANDOFF_NOT_PERMITTED) {
        buf_printf(ret_text, "You may not decide about an action of %s risk.",
                   handoff_level_name(handoff->risk));
    } else if (result->outcome == HANDOFF_NOT_YOURS && handoff->claimed_by[0] != '\0') {
        buf_printf(ret_text, "%s has claimed it.", handoff->claimed_by);
    } else if (result->outcome == HANDOFF_NOT_YOURS) {
        buf_printf(ret_text,
                   "It is on the desk %s, and you are not; `rondo desks show` says who is.", desk);
    } else {
        buf_printf(ret_text, "It is %s.", handoff_state_name(handoff->state));
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
    } else if (result->outcome == HANDOFF_NOT_PERMITTED || result->outcome == HANDOFF_NOT_YOURS ||
               result->outcome == HANDOFF_NOT_OPEN) {
        explain_place(result, ret_text);
    } else {
        buf_printf(ret_text, "It cannot be decided (%s).", handoff_outcome_name(result->outcome));
    }
}
