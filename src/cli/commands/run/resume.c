// SPDX-License-Identifier: Apache-2.0
/* rondo resume: continue a run that was interrupted or ended without success. */
#include "base/error.h"
#include "cli/commands/run/chat.h"
#include "cli/commands/run/run_execute.h"
#include "cli/commands/run/run_options.h"
#include "cli/commands/run/run_role.h"
#include "cli/commands/run/steering.h"
#include "cli/commands/trust_subject.h"
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "store/find.h"
#include "work/spec.h"
#include "worker/body.h"

/** A run that is being resumed. */
struct resume_command {
    struct session *session;
    const struct run_values *values;
    struct option_set *set;
    loop_change_fn *change;
    const struct run_agent_options *agent_options;
};

static void change_spec(struct loop_spec *spec, void *context)
{
    run_values_change(spec, context);
}

static int check_loop(struct loop *loop, struct rondo_error *err)
{
    char parent[ID_SIZE];
    if (work_find_parent(loop_spec(loop), parent)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "run %s works on a task of a PRD: resume the PRD's run, `rondo resume %s`",
                         loop_run_id(loop), parent);
    }
    if (!body_is_known(loop_spec(loop))) {
        return error_set(err, RONDO_ERR_INVALID,
                         "run %s belongs to a program that uses librondo; resume it from there",
                         loop_run_id(loop));
    }
    return run_check_sandbox(loop_spec(loop), err);
}

/** Nothing of this opening is committed yet, so what is stored now was there before. */
static int execute(const struct resume_command *resuming, struct loop *loop,
                   const struct loop_opening *opening)
{
    struct session *session = resuming->session;
    const struct run_values *values = resuming->values;
    struct store_run run;
    struct rondo_error err = {0};
    int r = session->store->ops->get_run(session->store, loop_run_id(loop), &run, &err);
    if (r == 0) {
        r = check_loop(loop, &err);
    }
    struct run_agent *agent = NULL;
    if (r == 0 && resuming->agent_options->is_required && loop_spec(loop)->agent == NULL) {
        r = error_set(&err, RONDO_ERR_INVALID,
                      "run %s does not use a role file; continue it with `rondo resume`",
                      loop_run_id(loop));
    }
    if (r == 0 && loop_spec(loop)->agent != NULL) {
        r = run_agent_reopen(session, loop, resuming->agent_options, &agent, &err);
    }
    if (r < 0) {
        loop_park(loop, NULL);
        loop_free(loop);
        return report_error_as(&err, values->wants_json != 0);
    }
    if (opening->corrupt_count > 0) {
        report_warning("%u corrupt checkpoint%s skipped; resuming from %s", opening->corrupt_count,
                       opening->corrupt_count == 1 ? " was" : "s were",
                       opening->from_checkpoint > 0 ? "the newest intact one" : "an empty state");
    }
    bool is_chat = agent != NULL && run_agent_mode(agent) == AGENT_CHAT;
    int exit_code = is_chat ? chat_execute(session, loop, values, run.last_seq, agent)
                            : run_execute(session, loop, values, run.last_seq, opening, agent);
    if (agent != NULL) {
        run_agent_consolidate(agent, session, run.agent_id,
                              values->wants_quiet || values->wants_json);
    }
    run_agent_free(agent);
    return exit_code;
}

/** The policies of the run wait to be confirmed: ask at the terminal. */
static bool ask_policy(const struct resume_command *resuming, const char *run_id)
{
    struct loop_spec spec;
    if (loop_recorded_spec(resuming->session->store, run_id, &spec, NULL) < 0) {
        return false;
    }
    resuming->change(&spec, resuming->set);
    bool is_confirmed = trust_ask_policy(spec.policy, resuming->session->store_path);
    loop_spec_fini(&spec);
    return is_confirmed;
}

/** Before anything is claimed or changed: can a limit of cost hold? */
static int check_cost(const struct resume_command *resuming, const char *run_id,
                      struct rondo_error *err)
{
    struct loop_spec spec;
    int r = loop_recorded_spec(resuming->session->store, run_id, &spec, NULL);
    if (r < 0) {
        return 0; /* What is wrong with it, the resume says. */
    }
    resuming->change(&spec, resuming->set);
    r = agent_check_cost(&spec, resuming->agent_options->prices_file, err);
    loop_spec_fini(&spec);
    return r;
}

static int open_and_execute(const struct resume_command *resuming, const char *name)
{
    struct session *session = resuming->session;
    const struct run_values *values = resuming->values;
    struct option_set *set = resuming->set;
    struct rondo_error err = {0};
    struct store_run run;
    int r = store_find_run(session->store, name, NULL, &run, &err);
    char by[STEERING_BY_SIZE];
    struct loop_parts parts = {.runtime = session->runtime, .by = by};
    steering_describe_self(by, sizeof(by));
    struct loop *loop = NULL;
    struct loop_opening opening = {0};
    if (r == 0) {
        r = check_cost(resuming, run.id, &err);
    }
    int on_corrupt = option_is_given(set, "on-corrupt") ? (int)values->spec.on_corrupt : -1;
    if (r == 0) {
        r = loop_resume(&parts, run.id, resuming->change, set, on_corrupt, &loop, &opening, &err);
    }
    if (r == RONDO_ERR_DENIED && ask_policy(resuming, run.id)) {
        err = (struct rondo_error){0};
        r = loop_resume(&parts, run.id, resuming->change, set, on_corrupt, &loop, &opening, &err);
    }
    if (r == 0 && opening.is_held) {
        r = session_held(session, &opening.holder, &err);
    }
    return r < 0 ? report_error_as(&err, values->wants_json != 0)
                 : execute(resuming, loop, &opening);
}

int resume_execute(const char *name, struct run_values *values, struct option_set *set,
                   loop_change_fn *change, const struct run_agent_options *agent_options)
{
    struct session session;
    struct resume_command resuming = {&session, values, set, change, agent_options};
    struct rondo_error err = {0};
    if (run_values_find_policy(values, &err) < 0) {
        return report_error(&err);
    }
    struct session_options options = {
        .store = values->store, .needs_runtime = true, .lease_ns = values->lease_ns};
    if (session_open(&options, &session, &err) < 0) {
        return report_error(&err);
    }
    int exit_code = open_and_execute(&resuming, name);
    session_close(&session);
    return exit_code;
}

static int run_resume(const struct invocation *invocation, const char *name,
                      struct run_values *values, struct option_set *set)
{
    if (option_is_given(set, "until")) {
        return command_misuse(invocation->command,
                              "exit conditions are fixed for a run; start a new one with `rondo "
                              "loop --until ...`");
    }
    struct run_agent_options agent_options = run_agent_options_of(values);
    return resume_execute(name, values, set, change_spec, &agent_options);
}

int cmd_resume(const struct invocation *invocation)
{
    struct run_values values;
    struct option_set set;
    run_values_init(&values, resume_options, &set);
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code =
        parsed.is_over ? parsed.exit_code : run_resume(invocation, parsed.argv[0], &values, &set);
    run_values_fini(&values, &set);
    return exit_code;
}
