// SPDX-License-Identifier: Apache-2.0
/* Starting a run. */
#include "base/auto.h"
#include "server/answer/run_json.h"
#include "server/api/handlers.h"
#include "server/api/start_request.h"
#include "server/auth/start_rights.h"

#include <stdio.h>
#include <string.h>

void handler_answer_run(struct call *call, unsigned status, const char *run_id)
{
    struct rondo_error err = {0};
    struct store_run run;
    struct store *store = call_store(call);
    if (store->ops->get_run(store, run_id, &run, &err) < 0) {
        call_error(call, &err);
        return;
    }
    struct json_writer writer = call_json(call, status);
    json_begin_object(&writer, NULL);
    run_json_members(&run, NULL, call_orchestrator(call), call->server->store_label, &writer);
    json_end_object(&writer);
    snprintf(call->location, sizeof(call->location), "/v1/runs/%s", run_id);
}

bool handler_is_taken(struct call *call, enum orchestrator_answer answer)
{
    switch (answer) {
    case ORCHESTRATOR_STARTED:
    case ORCHESTRATOR_QUEUED:
        return true;
    case ORCHESTRATOR_FULL:
        call->retry_after_s = 5;
        call_problem(call, PROBLEM_ADMISSION_FULL,
                     "as many runs as this server takes are running and queued; try again later");
        break;
    case ORCHESTRATOR_DRAINING:
        call->retry_after_s = 5;
        call_problem(call, PROBLEM_DRAINING, "the server is shutting down");
        break;
    case ORCHESTRATOR_HELD:
        call_problem(call, PROBLEM_CONFLICT,
                     "a living process executes the run, or another run of an exclusive agent");
        break;
    }
    return false;
}

/** Lines of findings as a list of errors. */
static void refuse_start(struct call *call, const struct buf *findings,
                         const struct rondo_error *err)
{
    auto_buf struct buf errors = {0};
    struct json_writer writer = json_writer(&errors);
    json_begin_array(&writer, NULL);
    for (const char *at = buf_string(findings); *at != '\0';) {
        size_t len = strcspn(at, "\n");
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "path", "role");
        json_write_string_len(&writer, "message", at, len);
        json_end_object(&writer);
        at += len + (at[len] == '\n');
    }
    json_end_array(&writer);
    /* A file that is named in the body and missing is no missing page. */
    enum problem_code code = problem_of_error(err);
    call_problem_with(call, code == PROBLEM_NOT_FOUND ? PROBLEM_INVALID : code,
                      findings->len > 0 ? buf_string(&errors) : NULL, "%s", err->message);
}

/** Answer with the run that the same request made before. @return false: there is none */
static bool answer_made(struct call *call)
{
    struct store_run run;
    struct store *store = call_store(call);
    if (call->run_id[0] == '\0' || store->ops->get_run(store, call->run_id, &run, NULL) < 0) {
        return false;
    }
    bool is_queued = orchestrator_is_queued(call_orchestrator(call), call->run_id);
    call->is_replayed = true;
    handler_answer_run(call, is_queued ? 202 : 201, call->run_id);
    return true;
}

static void start(struct call *call, struct loop_spec *spec)
{
    struct rondo_error err = {0};
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    char run_id[ID_SIZE] = "";
    memcpy(spec->run_id, call->run_id, sizeof(spec->run_id));
    if (!token_grant_covers(&call->grant, spec->agent_id)) {
        call_problem(call, PROBLEM_FORBIDDEN, "the token is limited to other agents than %s",
                     spec->agent_id);
    } else if (call->is_again && answer_made(call)) {
        return;
    } else if (orchestrator_run(call_orchestrator(call), spec, call->by, &answer, run_id, &err) <
               0) {
        /* Another server may have been at it that was slow, not dead. */
        if (err.code != RONDO_ERR_INVALID || !answer_made(call)) {
            call_error(call, &err);
        }
    } else if (handler_is_taken(call, answer)) {
        handler_answer_run(call, answer == ORCHESTRATOR_STARTED ? 201 : 202, run_id);
    }
}

/** Check a request against the caller's scope. @return false: a problem */
static bool may_start(struct call *call, const struct loop_spec *spec)
{
    struct rondo_error err = {0};
    struct start_rights rights = {call->server->workspace, call->server->store_path};
    if ((call->grant.rights & RIGHT_ADMINISTER) != 0) {
        return true;
    }
    int r = spec == NULL ? start_rights_check_body(&rights, call->body, &err)
                         : start_rights_check_spec(&rights, spec, &err);
    if (r < 0) {
        call_problem(call, PROBLEM_FORBIDDEN, "%s", err.message);
    }
    return r == 0;
}

void handle_start_run(struct call *call)
{
    struct rondo_error err = {0};
    struct loop_spec spec = loop_spec_default();
    auto_buf struct buf findings = {0};
    struct start_options options = {
        .workspace = call->server->workspace,
        .prices_file = orchestrator_prices_file(call_orchestrator(call)),
        .config_folder = orchestrator_config_folder(call_orchestrator(call)),
    };
    if (!may_start(call, NULL)) {
        return;
    }
    if (start_request_read(call->body, &options, &spec, &findings, &err) < 0) {
        refuse_start(call, &findings, &err);
        return;
    }
    if (may_start(call, &spec)) {
        start(call, &spec);
    }
    loop_spec_fini(&spec);
}
