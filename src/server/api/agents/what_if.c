// SPDX-License-Identifier: Apache-2.0
/* What candidate profiles would have answered, before they count. */
#include "handoff/wire/what_if.h"
#include "handoff/wire/evaluation.h"
#include "server/api/agents/agents.h"

#include <json-c/json.h>
#include <string.h>

/** The profiles that count now, and those of the body. @return false: the answer is a problem */
static bool read_candidate(struct call *call, struct what_if *what_if)
{
    const char *text = NULL;
    struct rondo_error err = {0};
    if (!call_member_text(call, "profiles", true, &text)) {
        return false;
    }
    int r = profile_watch_get(call->server->profiles, &what_if->current, &err);
    if (r == 0 && profile_watch_try(call->server->profiles, text, strlen(text), &what_if->candidate,
                                    &err) < 0) {
        call_problem(call, PROBLEM_INVALID, "profiles: %s", err.message);
        return false;
    }
    if (r < 0) {
        call_error(call, &err);
    }
    return r == 0;
}

void handle_what_if(struct call *call)
{
    struct what_if what_if = {0};
    struct rondo_error err = {0};
    struct json_object *limit = json_member(call->body, "limit");
    int64_t number = limit == NULL ? LIMIT_EVALUATIONS : json_get_int(call->body, "limit", 0);
    if (!call_check_members(call, call->body, "", "profiles,agent_id,limit") ||
        !call_member_text(call, "agent_id", false, &what_if.agent_id)) {
        return;
    }
    if (number < 1 || number > LIMIT_EVALUATIONS) {
        call_problem(call, PROBLEM_INVALID, "limit must be from 1 to %d", (int)LIMIT_EVALUATIONS);
        return;
    }
    what_if.limit = (uint32_t)number;
    if (read_candidate(call, &what_if)) {
        (void)evaluation_log_flush(call->server->evaluations, NULL); /* The newest count, too. */
        (void)call_json(call, 200);
        if (what_if_write(call_store(call), &what_if, &call->answer, &err) < 0) {
            call_error(call, &err);
        }
    }
    profiles_unref(what_if.current);
    profiles_unref(what_if.candidate);
}
