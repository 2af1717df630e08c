// SPDX-License-Identifier: Apache-2.0
/* Steering runs that there are: stop, pause, continue, resume, limits, fork. */
#include "base/auto.h"
#include "base/status.h"
#include "loop/owner.h"
#include "loop/summary.h"
#include "server/api/handlers.h"
#include "server/api/limits_body.h"
#include "server/auth/start_rights.h"

#include <json-c/json.h>

static void answer_outcome(struct call *call, unsigned status, const char *run_id,
                           const char *outcome)
{
    struct json_writer writer = call_json(call, status);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "run_id", run_id);
    json_write_string(&writer, "outcome", outcome);
    json_end_object(&writer);
}

/** Answer with what a function of loop/control said. */
static void answer_control(struct call *call, const char *run_id, int r,
                           const struct rondo_error *err)
{
    static const char *const names[] = {
        [LOOP_CONTROL_DONE] = "done",
        [LOOP_CONTROL_POSTED] = "posted",
        [LOOP_CONTROL_NOTHING] = "nothing",
    };
    if (r < 0) {
        call_error(call, err);
    } else {
        answer_outcome(call, 202, run_id, names[r]);
    }
}

/** Read the reason that a request may give. @return false: a problem */
static bool read_reason(struct call *call, struct buf *ret_by)
{
    const char *reason = NULL;
    if (call->body != NULL && (!call_check_members(call, call->body, "", "reason") ||
                               !call_member_text(call, "reason", false, &reason))) {
        return false;
    }
    buf_append_string(ret_by, call->by);
    if (reason != NULL && reason[0] != '\0') {
        buf_printf(ret_by, ": %.200s", reason);
    }
    return true;
}

/** A body that may only be {}. */
static bool has_no_members(struct call *call)
{
    return call->body == NULL || call_check_members(call, call->body, "", NULL);
}

void handle_stop_run(struct call *call)
{
    struct store_run run;
    struct rondo_error err = {0};
    auto_buf struct buf by = {0};
    if (!read_reason(call, &by) || !call_find_run(call, &run)) {
        return;
    }
    int r = orchestrator_stop_run(call_orchestrator(call), run.id, buf_string(&by), &err);
    answer_control(call, run.id, r, &err);
}

void handle_pause_run(struct call *call)
{
    struct store_run run;
    struct rondo_error err = {0};
    auto_buf struct buf by = {0};
    if (!read_reason(call, &by) || !call_find_run(call, &run)) {
        return;
    }
    int r = orchestrator_pause_run(call_orchestrator(call), run.id, buf_string(&by), &err);
    answer_control(call, run.id, r, &err);
}

/** Check a run against the caller's scope before it is executed again. @return false: a problem
 */
static bool may_execute_again(struct call *call, const char *run_id)
{
    struct rondo_error err = {0};
    struct summary summary;
    struct start_rights rights = {call->server->workspace, call->server->store_path};
    if ((call->grant.rights & RIGHT_ADMINISTER) != 0) {
        return true;
    }
    if (summary_load(call_store(call), run_id, &summary, &err) < 0) {
        call_error(call, &err);
        return false;
    }
    int r = start_rights_check_again(&rights, &summary.spec, &err);
    summary_fini(&summary);
    if (r < 0) {
        call_problem(call, PROBLEM_FORBIDDEN, "%s", err.message);
    }
    return r == 0;
}

/** Execute a run here: the end of resume, continue and fork. */
static void execute(struct call *call, const char *run_id, const struct loop_limits *limits,
                    enum orchestrator_answer *ret_answer)
{
    struct rondo_error err = {0};
    *ret_answer = ORCHESTRATOR_FULL;
    if (orchestrator_resume(call_orchestrator(call), run_id, limits, call->by, ret_answer, &err) <
        0) {
        call_error(call, &err);
        *ret_answer = ORCHESTRATOR_HELD;
    } else if (handler_is_taken(call, *ret_answer)) {
        answer_outcome(call, 200, run_id,
                       *ret_answer == ORCHESTRATOR_STARTED ? "started" : "queued");
    }
}

/**
 * Tell the owner of a run to continue, even if its row is not paused: a pause may have
 * been requested just before.
 */
static void continue_executed(struct call *call, const char *run_id)
{
    struct rondo_error err = {0};
    enum orchestrator_answer answer;
    int r = loop_continue_run(orchestrator_parts(call_orchestrator(call)), run_id, call->by, &err);
    if (r == LOOP_CONTROL_DONE) { /* nobody executes it any more */
        execute(call, run_id, NULL, &answer);
    } else {
        answer_control(call, run_id, r, &err);
    }
}

void handle_continue_run(struct call *call)
{
    struct store_run run;
    enum orchestrator_answer answer;
    if (!has_no_members(call) || !call_find_run(call, &run) || !may_execute_again(call, run.id)) {
        return;
    }
    if (run.summary.status != RONDO_RUNNING) {
        call_problem(call, PROBLEM_CONFLICT, "run %s has ended: %s", run.id,
                     rondo_status_name(run.summary.status));
    } else if (run_is_executed(&run, clock_now(clock_system()))) {
        continue_executed(call, run.id);
    } else if (!run.summary.is_paused) {
        answer_outcome(call, 200, run.id, "nothing");
    } else {
        execute(call, run.id, NULL, &answer);
    }
}

void handle_resume_run(struct call *call)
{
    struct store_run run;
    struct loop_limits limits;
    enum orchestrator_answer answer;
    bool is_any = false;
    if (limits_body_read(call, call->body, "", &limits, &is_any) && call_find_run(call, &run) &&
        may_execute_again(call, run.id)) {
        execute(call, run.id, is_any ? &limits : NULL, &answer);
    }
}

void handle_change_limits(struct call *call)
{
    struct store_run run;
    struct loop_limits limits;
    struct rondo_error err = {0};
    bool is_any = false;
    if (!limits_body_read(call, call->body, "", &limits, &is_any) || !call_find_run(call, &run)) {
        return;
    }
    if (!is_any) {
        call_problem(call, PROBLEM_INVALID, "name at least one limit");
        return;
    }
    int r = orchestrator_change_limits(call_orchestrator(call), run.id, &limits, call->by, &err);
    answer_control(call, run.id, r, &err);
}
/* ---- Forking -------------------------------------------------------------------------------- */

static bool read_fork(struct call *call, struct loop_limits *limits, bool *ret_has_limits,
                      bool *ret_starts)
{
    struct json_object *object = NULL;
    *ret_starts = true;
    *ret_has_limits = false;
    if (call->body == NULL) {
        return true;
    }
    json_object_object_get_ex(call->body, "limits", &object);
    return call_check_members(call, call->body, "", "limits,start") &&
           call_member_bool(call, "start", true, ret_starts) &&
           limits_body_read(call, object, "limits.", limits, ret_has_limits);
}

void handle_fork(struct call *call)
{
    struct store_run run;
    struct loop_limits limits;
    struct rondo_error err = {0};
    char run_id[ID_SIZE] = "";
    bool has_limits = false;
    bool starts = true;
    int64_t number = 0;
    if (!read_fork(call, &limits, &has_limits, &starts) || !call_find_run(call, &run) ||
        !handler_checkpoint_number(call, &number) || !may_execute_again(call, run.id)) {
        return;
    }
    if (loop_fork(orchestrator_parts(call_orchestrator(call)), run.id, (uint64_t)number,
                  has_limits ? &limits : NULL, call->by, run_id, &err) < 0) {
        call_error(call, &err);
        return;
    }
    /* The new run is there, whether there is room to execute it now or not. */
    enum orchestrator_answer answer = ORCHESTRATOR_STARTED;
    if (starts) {
        execute(call, run_id, NULL, &answer);
    }
    call->retry_after_s = 0;
    handler_answer_run(call, answer == ORCHESTRATOR_QUEUED ? 202 : 201, run_id);
}
