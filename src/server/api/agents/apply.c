// SPDX-License-Identifier: Apache-2.0
/* Applying what was approved: lease, grant, result. */
#include "handoff/wire/request.h"
#include "server/api/agents/agents.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Bytes of a reason. */
#define MOST_REASON 1024

/** Carry out a command of the application, and answer. */
static void apply(struct call *call, const struct handoff *handoff, struct handoff_command *command,
                  const char *details)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct handoff_result result = {0};
    struct rondo_error err = {0};
    struct handoff_note note = {.role = "agent", .details = details};
    command->actor = (struct handoff_actor){.id = handoff->agent_id};
    int r = handoff_act(&handoffs, handoff->request_id, command, &note, agents_now(call), &result,
                        &err);
    agents_answer_result(call, r, &result, &err);
}

void handle_take_request(struct call *call)
{
    struct handoff handoff;
    struct handoff_command command = {.kind = HANDOFF_TAKE};
    if (call_check_members(call, call->body, "", "agent_id,consumer,decision_id") &&
        agents_find(call, &handoff) && agents_name(call, "consumer", &command.consumer)) {
        apply(call, &handoff, &command, NULL);
    }
}

/* ---- The grant ------------------------------------------------------------------------------ */

/** The context with which an approved action is asked about: as sent now, or when it was asked
 * about before. NULL = none is known. */
static struct json_object *context_of(struct call *call, const struct handoff *handoff)
{
    auto_buf struct buf text = {0};
    struct json_object *context = NULL;
    struct json_object *given = json_member(call->body, "context");
    if (given != NULL) {
        return json_object_get(given);
    }
    if (evaluation_find(call->server->evaluations, handoff->agent_id, handoff->action_digest, &text,
                        NULL) == 0) {
        (void)json_parse(text.data, text.len, &context, NULL);
    }
    return context;
}

/** The tool of a request, as it was sent first. */
static int read_tool(struct call *call, const struct handoff *handoff, struct buf *ret_tool,
                     struct rondo_error *err)
{
    struct handoff_store handoffs = call_handoffs(call);
    auto_buf struct buf body = {0};
    auto_json struct json_object *root = NULL;
    int r = handoff_read_body(&handoffs, handoff->request_id, 1, &body, err);
    r = r < 0 ? r : json_parse(body.data, body.len, &root, err);
    if (r == 0) {
        buf_append_string(ret_tool, json_get_string(json_member(root, "action"), "tool", ""));
    }
    return r;
}

/** Ask the profiles again, with the approval. @return false: they could not be asked */
static bool ask_again(struct call *call, const struct handoff *handoff, const char *digest,
                      bool *ret_is_allowed)
{
    auto_json struct json_object *context = context_of(call, handoff);
    auto_buf struct buf tool = {0};
    auto_buf struct buf errors = {0};
    struct profile_approval approval;
    struct profile_answer answer;
    struct profiles *profiles = NULL;
    struct rondo_error err = {0};
    *ret_is_allowed = false;
    if (!agents_approval(handoff, digest, agents_now(call), &approval)) {
        return true; /* The state machine says why not. */
    }
    struct profile_request request = {
        .agent_id = handoff->agent_id,
        .context = context,
        .approval = &approval,
        .rework_count = handoff->revision - 1,
    };
    int r = read_tool(call, handoff, &tool, &err);
    request.tool = buf_string(&tool);
    r = r < 0 ? r
              : profile_watch_decide(call->server->profiles, &request, &answer, &errors, &profiles,
                                     &err);
    if (r < 0) {
        call_error(call, &err);
        return false;
    }
    profiles_unref(profiles);
    *ret_is_allowed = answer.outcome == PROFILE_ALLOW;
    return true;
}

void handle_start_request(struct call *call)
{
    struct handoff handoff;
    char digest[HANDOFF_DIGEST_SIZE];
    char state_hash[HANDOFF_DIGEST_SIZE];
    struct handoff_command command = {.kind = HANDOFF_START};
    if (!call_check_members(
            call, call->body, "",
            "agent_id,consumer,decision_id,action_digest,executed_digest,state_hash,"
            "context") ||
        !agents_find(call, &handoff) || !agents_name(call, "consumer", &command.consumer) ||
        !agents_digest(call, "action_digest", true, digest) ||
        !agents_digest(call, "state_hash", false, state_hash)) {
        return;
    }
    command.action_digest = digest;
    command.state_hash = state_hash[0] == '\0' ? NULL : state_hash;
    if (ask_again(call, &handoff, digest, &command.is_allowed)) {
        apply(call, &handoff, &command, NULL);
    }
}

/* ---- The result ----------------------------------------------------------------------------- */

void handle_finish_request(struct call *call)
{
    struct handoff handoff;
    char result[HANDOFF_DIGEST_SIZE];
    char executed[HANDOFF_DIGEST_SIZE];
    bool is_ok = true;
    auto_buf struct buf details = {0};
    struct handoff_command command = {.kind = HANDOFF_FINISH};
    if (!call_check_members(call, call->body, "",
                            "agent_id,consumer,decision_id,result_digest,action_digest,"
                            "executed_digest,ok,duration_ms") ||
        !agents_find(call, &handoff) || !agents_name(call, "consumer", &command.consumer) ||
        !agents_digest(call, "result_digest", true, result) ||
        !agents_digest(call, "executed_digest", false, executed) ||
        !call_member_bool(call, "ok", true, &is_ok)) {
        return;
    }
    struct json_writer writer = json_writer(&details);
    json_begin_object(&writer, NULL);
    json_write_bool(&writer, "ok", is_ok);
    json_write_string(&writer, "executed_digest",
                      executed[0] == '\0' ? handoff.action_digest : executed);
    json_end_object(&writer);
    command.text_digest = result;
    apply(call, &handoff, &command, buf_string(&details));
}

void handle_return_request(struct call *call)
{
    struct handoff handoff;
    const char *reason = NULL;
    bool is_transient = false;
    auto_buf struct buf details = {0};
    struct handoff_command command = {.kind = HANDOFF_RETURN};
    if (!call_check_members(call, call->body, "",
                            "agent_id,consumer,decision_id,is_transient,reason") ||
        !agents_find(call, &handoff) || !agents_name(call, "consumer", &command.consumer) ||
        !call_member_text(call, "reason", false, &reason) ||
        !call_member_bool(call, "is_transient", false, &is_transient)) {
        return;
    }
    if (reason != NULL && strlen(reason) > MOST_REASON) {
        call_problem(call, PROBLEM_INVALID, "reason has more than %d bytes", MOST_REASON);
        return;
    }
    struct json_writer writer = json_writer(&details);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "comment", reason);
    json_end_object(&writer);
    command.is_transient = is_transient;
    apply(call, &handoff, &command, reason == NULL ? NULL : buf_string(&details));
}
