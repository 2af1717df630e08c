// SPDX-License-Identifier: Apache-2.0
/* rondo loop: start a run and execute it to its end. */
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/commands/run/run_execute.h"
#include "cli/commands/run/run_options.h"
#include "cli/commands/run/steering.h"
#include "cli/commands/trust_subject.h"
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "orchestrator/assignment.h"
#include "orchestrator/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** @return false when there is none, or that cannot be known */
static bool has_server(struct session *session, const char *pool)
{
    struct server_info *list = NULL;
    size_t count = 0;
    bool is_found = false;
    if (servers_read(session->store, clock_system(), &list, &count, NULL) == 0) {
        for (size_t i = 0; i < count; i++) {
            is_found = is_found || (list[i].is_alive && labels_have_all(list[i].pool, pool));
        }
        free(list);
    }
    return is_found;
}

static void print_handed_over(struct session *session, const char *run_id, const char *pool,
                              const struct run_values *values)
{
    auto_buf struct buf out = {0};
    auto_buf struct buf hint = {0};
    if (values->wants_json != 0) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "run_id", run_id);
        json_write_string(&writer, "status", "queued");
        json_write_string(&writer, "pool", pool);
        json_end_object(&writer);
    } else {
        session_hint(session, "logs -f", run_id, &hint);
        buf_printf(&out, "run %s waits for a server with the labels %s; follow it with `%s`",
                   run_id, pool, buf_string(&hint));
    }
    buf_append_string(&out, "\n");
    report_output(&out);
    if (!has_server(session, pool)) {
        fprintf(stderr,
                "rondo: warning: no server that is alive has these labels (rondo servers)\n");
    }
}

int run_hand_over(struct session *session, struct loop *loop, const struct run_values *values,
                  const char *by)
{
    struct rondo_error err = {0};
    char run_id[ID_SIZE];
    char pool[LABELS_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    snprintf(pool, sizeof(pool), "%s", loop_spec(loop)->pool);
    int r = assignment_hand_over(session->runtime, loop, by, &err);
    loop_free(loop);
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    print_handed_over(session, run_id, pool, values);
    return EXIT_OK;
}

static int start_and_execute(struct session *session, const struct run_values *values)
{
    char by[STEERING_BY_SIZE];
    struct loop_parts parts = {.runtime = session->runtime, .by = by};
    steering_describe_self(by, sizeof(by));
    struct loop *loop = NULL;
    struct loop_opening opening;
    struct rondo_error err = {0};
    struct trust_naming naming = {0};
    trust_naming_note(&naming, TRUST_POLICY, values->spec.policy, &values->spec);
    int r = loop_start(&parts, &values->spec, &loop, &opening, &err);
    if (r == RONDO_ERR_DENIED && trust_ask_policy(values->spec.policy, session->store_path)) {
        err = (struct rondo_error){0};
        r = loop_start(&parts, &values->spec, &loop, &opening, &err);
    }
    if (r == 0 && !values->wants_quiet) {
        trust_naming_tell(&naming);
    }
    if (r == 0 && opening.is_held) {
        r = session_held(session, &opening.holder, &err);
    }
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    return values->spec.pool != NULL ? run_hand_over(session, loop, values, by)
                                     : run_execute(session, loop, values, 0, NULL, NULL);
}

int loop_start_and_execute(const struct run_values *values)
{
    struct rondo_error err = {0};
    struct session session;
    struct session_options options = {
        .store = values->store,
        .access = STORE_CREATING,
        .needs_runtime = true,
        .lease_ns = values->lease_ns,
    };
    int r = values->spec.pool != NULL ? 0 : run_check_sandbox(&values->spec, &err);
    if (r == 0) {
        r = session_open(&options, &session, &err);
    }
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    int exit_code = start_and_execute(&session, values);
    session_close(&session);
    return exit_code;
}

static int run_loop(struct run_values *values, struct option_set *set, const struct parsed *parsed)
{
    struct rondo_error err = {0};
    int r = parsed->argc > 0 ? run_values_complete(values, set, parsed->argc, parsed->argv, &err)
                             : run_values_complete_coding(values, set, NULL, NULL, false, &err);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : loop_start_and_execute(values);
}

/** A command or a coding agent, and options of the latter only with it. @return NULL = fine */
static const char *find_misuse(const struct run_values *values, const struct option_set *set,
                               int argc)
{
    bool has_coding = option_is_given(set, "model") || option_is_given(set, "agent-home") ||
                      option_is_given(set, "resume-session") || option_is_given(set, "prices");
    if (argc > 0) {
        return has_coding ? "--model, --agent-home, --resume-session and --prices are for coding "
                            "agents: omit the command"
                          : NULL;
    }
    if (values->config != NULL) {
        return NULL; /* It may name the agent; that is checked when it is read. */
    }
    return values->spec.agent_id == NULL ? "no command given; a coding agent is named with --agent"
           : run_values_names_coding(values->spec.agent_id)
               ? NULL
               : "no command given, and --agent is not the name of a coding agent";
}

int cmd_loop(const struct invocation *invocation)
{
    struct run_values values;
    struct option_set set;
    run_values_init(&values, loop_options, &set);
    struct parsed parsed = command_parse_rest(invocation, &set);
    const char *misuse = parsed.is_over ? NULL : find_misuse(&values, &set, parsed.argc);
    if (misuse != NULL) {
        parsed.exit_code = command_misuse(invocation->command, misuse);
        parsed.is_over = true;
    }
    int exit_code = parsed.is_over ? parsed.exit_code : run_loop(&values, &set, &parsed);
    run_values_fini(&values, &set);
    return exit_code;
}
