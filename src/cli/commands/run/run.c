// SPDX-License-Identifier: Apache-2.0
/* rondo run: the agent of a role file. */
#include "base/error.h"
#include "cli/commands/run/chat.h"
#include "cli/commands/run/run_execute.h"
#include "cli/commands/run/run_role.h"
#include "cli/commands/run/steering.h"
#include "cli/commands/trust_subject.h"
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "os/file_untrusted.h"

#include <string.h>
#include <unistd.h>

/** Execute a run of which nothing is there yet. */
static int start(struct session *session, const struct role_values *values,
                 const struct loop_spec *spec, struct run_agent *agent)
{
    char by[STEERING_BY_SIZE];
    struct loop_parts parts = {.runtime = session->runtime, .by = by};
    steering_describe_self(by, sizeof(by));
    struct loop *loop = NULL;
    struct loop_opening opening;
    struct rondo_error err = {0};
    struct trust_naming naming = {0};
    trust_naming_note(&naming, TRUST_POLICY, spec->policy, spec);
    int r = spec->pool != NULL ? 0 : run_agent_open(agent, session, spec, &err);
    if (r == 0) {
        r = loop_start(&parts, spec, &loop, &opening, &err);
    }
    if (r == RONDO_ERR_DENIED && trust_ask_policy(spec->policy, session->store_path)) {
        err = (struct rondo_error){0};
        r = loop_start(&parts, spec, &loop, &opening, &err);
    }
    if (r == 0 && !values->run.wants_quiet) {
        trust_naming_tell(&naming);
    }
    if (r == 0 && opening.is_held) {
        r = session_held(session, &opening.holder, &err);
    }
    if (r < 0) {
        return report_error_as(&err, values->run.wants_json != 0);
    }
    if (spec->pool != NULL) {
        return run_hand_over(session, loop, &values->run, by);
    }
    bool is_chat = run_agent_mode(agent) == AGENT_CHAT;
    return is_chat ? chat_execute(session, loop, &values->run, 0, agent)
                   : run_execute(session, loop, &values->run, 0, NULL, agent);
}

static int open_and_start(const struct role_values *values, const struct loop_spec *spec,
                          struct run_agent *agent)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {
        .store = values->run.store,
        .access = STORE_CREATING,
        .needs_runtime = true,
        .lease_ns = values->run.lease_ns,
    };
    if (session_open(&options, &session, &err) < 0) {
        return report_error_as(&err, values->run.wants_json != 0);
    }
    int exit_code = start(&session, values, spec, agent);
    run_agent_consolidate(agent, &session, spec->agent_id,
                          values->run.wants_quiet || values->run.wants_json);
    session_close(&session);
    return exit_code;
}

/** A new run begins a new recording; a resume continues the existing one. */
static int begin_record(const struct role_values *values, struct rondo_error *err)
{
    if (values->record == NULL) {
        return 0;
    }
    const char *const agent_folders[] = {values->run.spec.workspace, NULL};
    int fd = file_open_output(agent_folders, values->record, true, err);
    if (fd < 0) {
        error_prefix(err, "--record");
        return fd;
    }
    close(fd);
    return 0;
}

static int run_new(struct role_values *values, struct option_set *set, const char *path)
{
    struct run_agent_options options = run_role_agent_options(values);
    struct rondo_error err = {0};
    struct loop_spec spec = {0};
    struct run_agent *agent = run_agent_new(&options, &err);
    int r = agent == NULL ? err.code : run_values_prepare(&values->run, set, &err);
    if (r == 0) {
        r = run_role_spec(values, path, &spec, &err);
    }
    if (r == 0) {
        r = begin_record(values, &err);
    }
    int exit_code = r < 0 ? report_error_as(&err, values->run.wants_json != 0)
                          : open_and_start(values, &spec, agent);
    loop_spec_fini(&spec);
    run_agent_free(agent);
    return exit_code;
}

/** A coding agent instead of a role file: the body is another, the rest is as for `rondo loop`. */
static int run_coding(struct role_values *values, struct option_set *set)
{
    struct rondo_error err = {0};
    struct run_values *run = &values->run;
    run->coding_prices = values->prices;
    if (values->token_budget > 0) {
        run->spec.max_tokens = values->token_budget;
    }
    int r = run_values_complete_coding(run, set, values->coding_agent, values->model,
                                       values->is_autonomous == 0, &err);
    return r < 0 ? report_error_as(&err, run->wants_json != 0) : loop_start_and_execute(run);
}

/** What does not fit a coding agent. @return NULL = fine */
static const char *find_coding_misuse(const struct role_values *values, int argc, bool has_prompt)
{
    if (argc > 0) {
        return "--agent runs a coding agent: omit the role file";
    }
    if (!has_prompt) {
        return "--agent requires --prompt (-p).";
    }
    if (values->run.until != NULL && !values->is_autonomous) {
        return "--until requires --autonomous: a single session is not checked against conditions";
    }
    return values->is_interactive ? "--agent has no interactive mode" : NULL;
}

/** Options of coding agents, given for a role. @return NULL = fine */
static const char *find_role_misuse(const struct option_set *set)
{
    return option_is_given(set, "sandbox") || option_is_given(set, "sandbox-env") ||
                   option_is_given(set, "agent-home") || option_is_given(set, "resume-session")
               ? "--sandbox, --sandbox-env, --agent-home and --resume-session are for --agent; a "
                 "role "
                 "has its own settings"
               : NULL;
}

/** The rules of the options, in the words that users of role files know. @return NULL = fine */
static const char *find_misuse(const struct role_values *values, const struct option_set *set,
                               int argc)
{
    const char *prompt = values->run.spec.prompt;
    bool has_prompt = (prompt != NULL && prompt[0] != '\0') || values->run.prompt_file != NULL;
    if (values->is_autonomous && values->is_interactive) {
        return "--autonomous and --interactive are mutually exclusive.";
    }
    if (values->coding_agent != NULL && values->resume == NULL) {
        return find_coding_misuse(values, argc, has_prompt);
    }
    if (find_role_misuse(set) != NULL) {
        return find_role_misuse(set);
    }
    if (values->model != NULL && strchr(values->model, ':') == NULL) {
        return "--model takes PROVIDER:NAME, such as openai:gpt-5-mini";
    }
    if (values->run.spec.pool != NULL && (values->is_interactive || !has_prompt)) {
        return "--pool requires --prompt (-p): a conversation cannot be handed over";
    }
    if (values->resume != NULL) {
        return has_prompt ? "--resume uses the prompt of the run; omit --prompt" : NULL;
    }
    if (values->run.until != NULL && !values->is_autonomous) {
        return "--until requires --autonomous: a single answer is not checked against conditions";
    }
    if (values->is_autonomous && !has_prompt) {
        return "--autonomous requires --prompt (-p).";
    }
    return argc == 0 ? "no role file given" : NULL;
}

static int run_again(struct role_values *values, struct option_set *set)
{
    struct run_agent_options options = run_role_agent_options(values);
    return resume_execute(values->resume, &values->run, set, run_role_change, &options);
}

int cmd_run(const struct invocation *invocation)
{
    struct role_values values = {0};
    struct option_set set;
    run_values_init(&values.run, run_options, &set);
    set.values = &values;
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        run_role_resolve(&values);
        const char *misuse = find_misuse(&values, &set, parsed.argc);
        exit_code = misuse != NULL                ? command_misuse(invocation->command, misuse)
                    : values.resume != NULL       ? run_again(&values, &set)
                    : values.coding_agent != NULL ? run_coding(&values, &set)
                                                  : run_new(&values, &set, parsed.argv[0]);
    }
    run_values_fini(&values.run, &set);
    return exit_code;
}
