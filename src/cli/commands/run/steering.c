// SPDX-License-Identifier: Apache-2.0
/* Finding a run, carrying a command out, and saying what came of it. */
#include "cli/commands/run/steering.h"

#include "agent/spec/options.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "orchestrator/assignment.h"
#include "os/host.h"
#include "store/find.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void steering_describe_self(char *ret_text, size_t size)
{
    char host[65] = "";
    gethostname(host, sizeof(host) - 1);
    char name[HOST_USER_SIZE];
    bool is_name = host_user_name(geteuid(), name, sizeof(name));
    snprintf(ret_text, size, "%s%s@%s %ld", is_name ? "" : "user ", name, host, (long)getpid());
}

static int read_count(const char *text, int64_t *ret_number, struct rondo_error *err)
{
    return parse_int(text, 0, INT64_MAX / 2, ret_number, err);
}

/** One limit: absent = as it is, 0 or none = -1. */
static int read_limit(const char *text, const char *option,
                      int (*read)(const char *text, int64_t *ret_number, struct rondo_error *err),
                      int64_t *ret_limit, struct rondo_error *err)
{
    int64_t number = 0;
    if (text == NULL) {
        return 0;
    }
    if (strcmp(text, "none") != 0) {
        int r = read(text, &number, err);
        if (r < 0) {
            error_prefix(err, "--%s", option);
            return r;
        }
    }
    *ret_limit = number == 0 ? -1 : number;
    return 0;
}

int steering_read_limits(const struct steering_limits *given, struct loop_limits *ret_limits,
                         struct rondo_error *err)
{
    struct loop_limits limits = {0};
    int r = read_limit(given->max_iterations, "max-iterations", read_count, &limits.max_iterations,
                       err);
    if (r == 0) {
        r = read_limit(given->max_tokens, "max-tokens", read_count, &limits.max_tokens, err);
    }
    if (r == 0) {
        r = read_limit(given->max_cost, "max-cost", parse_money, &limits.max_cost_micro, err);
    }
    if (r == 0) {
        r = read_limit(given->time_limit, "time-limit", parse_duration, &limits.time_limit_ns, err);
    }
    if (r == 0) {
        *ret_limits = limits;
    }
    return r;
}

static void print_json(const char *run_id, int outcome)
{
    static const char *const names[] = {
        [LOOP_CONTROL_DONE] = "done",
        [LOOP_CONTROL_POSTED] = "posted",
        [LOOP_CONTROL_NOTHING] = "nothing",
    };
    auto_buf struct buf out = {0};
    struct json_writer writer = json_writer(&out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "run_id", run_id);
    json_write_string(&writer, "outcome", names[outcome]);
    json_end_object(&writer);
    buf_append(&out, "\n", 1);
    report_output(&out);
}

/** What continues a run that no process executes: a server that had it, or a resume. */
static void add_next(const struct session *session, const char *run_id, const char *verb,
                     struct buf *out)
{
    struct assignment assignment;
    if (assignment_read(session->store, run_id, &assignment, NULL) == 1 &&
        !assignment_is_dead(&assignment)) {
        char server[OWNER_DESCRIPTION_SIZE];
        owner_name(assignment.server, server);
        buf_printf(out, "the server that executed it continues it: %s\n", server);
        return;
    }
    buf_append_string(out, "no process executes it; resume with: ");
    session_hint(session, verb, run_id, out);
    buf_append(out, "\n", 1);
}

static void print_text(const struct session *session, const char *run_id, int outcome,
                       const struct steering_command *command)
{
    const char *words = outcome == LOOP_CONTROL_DONE     ? command->done
                        : outcome == LOOP_CONTROL_POSTED ? command->posted
                                                         : command->nothing;
    auto_buf struct buf out = {0};
    buf_printf(&out, "run %.*s %s\n", SHORT_ID_LEN, run_id, words);
    if (outcome == LOOP_CONTROL_DONE && command->verb != NULL) {
        add_next(session, run_id, command->verb, &out);
    }
    report_output(&out);
}

static int act(struct session *session, const char *name, bool wants_json,
               const struct steering_command *command)
{
    char by[160];
    struct rondo_error err = {0};
    struct store_run run;
    struct loop_parts parts = {
        .runtime = session->runtime,
        .check_limits = agent_check_limits,
    };
    steering_describe_self(by, sizeof(by));
    int r = store_find_run(session->store, name, NULL, &run, &err);
    if (r == 0) {
        r = command->act(&parts, run.id, by, command->context, &err);
    }
    if (r < 0) {
        return report_error_as(&err, wants_json);
    }
    if (wants_json) {
        print_json(run.id, r);
    } else {
        print_text(session, run.id, r, command);
    }
    return EXIT_OK;
}

int steering_act(const char *store, const char *name, bool wants_json,
                 const struct steering_command *command)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = store, .needs_runtime = true};
    if (session_open(&options, &session, &err) < 0) {
        return report_error_as(&err, wants_json);
    }
    int exit_code = act(&session, name, wants_json, command);
    session_close(&session);
    return exit_code;
}
