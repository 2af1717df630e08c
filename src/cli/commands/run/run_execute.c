// SPDX-License-Identifier: Apache-2.0
/* The loop around the loop: bodies, progress, signals, summary. */
#include "cli/commands/run/run_execute.h"

#include "alert/monitor.h"
#include "alert/result.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/signals.h"
#include "cli/framework/telemetry_hook.h"
#include "cli/progress/agent_view.h"
#include "cli/progress/display.h"
#include "cli/progress/prd_table.h"
#include "cli/progress/summary.h"
#include "cli/terminal/markdown.h"
#include "cli/terminal/style.h"
#include "cli/terminal/text.h"
#include "loop/owner.h"
#include "policy/ruleset.h"
#include "work/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Columns of an answer when stdout does not say. */
#define ANSWER_COLUMNS 100
/** Columns of a table of tasks that goes into a pipe. */
#define PIPE_COLUMNS 120

int run_check_sandbox(const struct loop_spec *spec, struct rondo_error *err)
{
    struct body_sandbox missing;
    if (body_has_sandbox(spec, &missing)) {
        return 0;
    }
    const char *help = missing.tier == SANDBOX_NAMESPACE
                           ? "install bubblewrap, or choose --sandbox landlock"
                           : "choose --sandbox namespace";
    return error_set(err, RONDO_ERR_UNSUPPORTED,
                     "%s cannot run: sandbox tier '%s' is not available here: %s. To continue, %s; "
                     "--sandbox none runs everything unprotected; see `rondo doctor`",
                     missing.is_worker ? "the worker" : "the exit conditions",
                     sandbox_tier_name(missing.tier), missing.reason, help);
}

static void add_condition(const struct loop_condition *condition, struct buf *out)
{
    buf_printf(out, "until %s: ", condition->name);
    text_clean(condition->command, strlen(condition->command), out);
    if (strcmp(condition->origin, "given") != 0) {
        buf_append_string(out, "  (");
        text_clean(condition->origin, strlen(condition->origin), out);
        buf_append_string(out, ")");
    }
    buf_append_string(out, "\n");
}

/** Print what is about to be executed: run, agent, workspace, conditions. */
static void add_header(const struct loop *loop, const struct run_values *values,
                       const struct loop_opening *opening, struct buf *out)
{
    const struct loop_spec *spec = loop_spec(loop);
    struct style style = style_for(stderr, values->no_colour != 0);
    char id[SHORT_ID_LEN + 1];
    snprintf(id, sizeof(id), "%.*s", SHORT_ID_LEN, loop_run_id(loop));
    agent_view_header(spec, &style, out);
    buf_append_string(out, "run ");
    style_append(&style, COLOUR_BOLD, id, out);
    buf_printf(out, ", agent %s, in ", spec->agent_id);
    text_clean(spec->workspace, strlen(spec->workspace), out);
    buf_append_string(out, "\n");
    for (size_t i = 0; i < spec->condition_count; i++) {
        add_condition(&spec->conditions[i], out);
    }
    if (opening != NULL) {
        buf_printf(out, "resumed at iteration %" PRIu64, loop_state(loop)->finished + 1);
        if (opening->from_checkpoint > 0) {
            buf_printf(out, ", from checkpoint %" PRIu64, opening->from_checkpoint);
        }
        buf_append_string(out, "\n");
    }
}

/** With --json only where it cannot get mixed up: JSON into a file, progress on the terminal. */
static bool wants_progress(const struct run_values *values)
{
    bool is_apart = !isatty(STDOUT_FILENO) && style_for(stderr, false).is_terminal;
    return !values->wants_quiet && (!values->wants_json || is_apart);
}

void run_answer_print(const char *words, const struct run_values *values)
{
    bool was_shown =
        isatty(STDOUT_FILENO) && style_for(stderr, false).is_terminal && wants_progress(values);
    if (was_shown || values->wants_json) {
        return;
    }
    struct style style = style_for(stdout, values->no_colour != 0);
    auto_buf struct buf text = {0};
    markdown_render(words, strlen(words), &style, style_columns(stdout, ANSWER_COLUMNS), &text);
    if (text.len > 0 && text.data[text.len - 1] != '\n') {
        buf_append_string(&text, "\n");
    }
    report_output(&text);
}

/** One answer: the words themselves, and on stderr why there are none, or not all. */
static void print_answer(const struct summary *summary, const char *words,
                         const struct run_values *values)
{
    bool is_part = summary->stop != NULL && words[strspn(words, " \t\r\n")] != '\0';
    if (summary->run.summary.status == RONDO_COMPLETED || is_part) {
        run_answer_print(words, values);
    }
    if (summary->run.summary.status != RONDO_COMPLETED && !summary_is_waiting(summary)) {
        report_failure(EXIT_OTHER, "%s: %s", run_display_status(&summary->run),
                       summary->message == NULL ? "there is no answer" : summary->message);
    }
}

/** The run is not over, though its command is. */
static void explain_waiting(struct session *session, const char *run_id)
{
    auto_buf struct buf hint = {0};
    session_hint(session, "resume", run_id, &hint);
    fprintf(stderr,
            "the run waits for the decision of a person: see `rondo inbox`, then continue it with "
            "`%s`\n",
            buf_string(&hint));
}

/** The tasks of a PRD's run below its result. */
static int prd_result_text(struct session *session, const char *run_id,
                           const struct run_values *values, struct buf *ret_text,
                           struct rondo_error *err)
{
    struct style style = style_for(stdout, values->no_colour != 0);
    struct work_history history;
    int r = work_history_load(session->store, run_id, NULL, &history, err);
    if (r == 0) {
        buf_append_string(ret_text, "\n");
        prd_table_text(&history, &style, style_columns(stdout, PIPE_COLUMNS),
                       clock_now(clock_system()), ret_text);
        work_history_fini(&history);
    }
    return r;
}

/** The final object of a PRD's run has its tasks. */
static int prd_result_json(struct session *session, const struct summary *summary,
                           struct buf *ret_text, struct rondo_error *err)
{
    struct json_writer writer = json_writer(ret_text);
    struct work_history history;
    int r = work_history_load(session->store, summary->run.id, NULL, &history, err);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "result");
    summary_json_members(summary, &writer);
    if (r == 0) {
        json_begin_object(&writer, "prd");
        work_history_json(&history, &writer);
        json_end_object(&writer);
        work_history_fini(&history);
    }
    json_end_object(&writer);
    buf_append_string(ret_text, "\n");
    return r;
}

int run_summary_print(struct session *session, const char *run_id, uint64_t storage_failures,
                      const struct run_values *values, const struct run_agent *agent)
{
    struct summary summary;
    struct rondo_error err = {0};
    int r = summary_load(session->store, run_id, &summary, &err);
    if (r < 0) {
        error_prefix(&err, "the run has ended, but its result cannot be read");
        return report_error(&err);
    }
    summary.storage_failures = storage_failures;
    summary.answer = agent == NULL ? NULL : run_agent_words(agent);
    auto_buf struct buf text = {0};
    if (values->wants_json && work_is_parent(&summary.spec)) {
        r = prd_result_json(session, &summary, &text, &err);
    } else if (values->wants_json) {
        summary_json(&summary, &text);
    } else if (agent != NULL && run_agent_mode(agent) != AGENT_AUTONOMOUS) {
        print_answer(&summary, summary.answer, values);
    } else {
        struct style style = style_for(stdout, values->no_colour != 0);
        buf_append_string(&text, style.is_terminal && !values->wants_quiet ? "\n" : "");
        summary_text(&summary, session, &style, style_columns(stdout, 100),
                     values->wants_quiet != 0, &text);
    }
    if (!values->wants_json && !values->wants_quiet && work_is_parent(&summary.spec)) {
        r = prd_result_text(session, run_id, values, &text, &err);
    }
    if (r < 0) {
        error_prefix(&err, "the tasks of the run cannot be read");
        report_error(&err);
    }
    report_output(&text);
    bool is_waiting = summary_is_waiting(&summary);
    int exit_code = is_waiting ? EXIT_WAITING : rondo_status_exit_code(summary.run.summary.status);
    if (is_waiting && !values->wants_json) {
        explain_waiting(session, run_id);
    }
    summary_fini(&summary);
    return exit_code;
}

/** This process cannot continue; the run stays where it was last committed. */
static int report_broken(struct session *session, const char *run_id, uint64_t storage_failures,
                         const struct run_values *values, struct rondo_error *err)
{
    bool is_fenced = err->code == RONDO_ERR_FENCED;
    auto_buf struct buf hint = {0};
    session_hint(session, is_fenced ? "show" : "resume", run_id, &hint);
    error_prefix(err, is_fenced ? "another process has taken over the run; this one stops"
                                : "the run cannot continue");
    int exit_code = report_error_as(err, values->wants_json != 0);
    if (err->code == RONDO_ERR_CORRUPT) {
        return exit_code; /* Continuing would meet the same. */
    }
    if (storage_failures > 0) {
        report_failure(exit_code,
                       "STORAGE FAILURE: the store failed %" PRIu64
                       " times; everything committed before is safe",
                       storage_failures);
    }
    return report_failure(
        exit_code, is_fenced ? "inspect it with `%s`" : "when the cause is fixed, resume with `%s`",
        buf_string(&hint));
}

/** @param header whole lines above everything, or "" */
static struct display *start_display(struct session *session, struct loop *loop,
                                     const struct run_values *values, uint64_t after,
                                     const char *header)
{
    struct display_options options = {
        .writer = runtime_writer(session->runtime),
        .run_id = loop_run_id(loop),
        .after = after,
        .state = after > 0 ? loop_state(loop) : NULL,
        .spec = loop_spec(loop),
        .header = header,
        .wants_json = values->wants_json != 0,
        .wants_progress = wants_progress(values),
        .no_colour = values->no_colour != 0,
    };
    return display_start(&options);
}

struct display *run_display_start(struct session *session, struct loop *loop,
                                  const struct run_values *values, uint64_t after)
{
    return start_display(session, loop, values, after, "");
}

/** An option that does not count must not look as if it did. */
static void warn_of_replaced_options(const struct loop *loop)
{
    static const struct {
        const char *option;
        const char *policy;
        size_t offset;
    } limits[] = {
        {"--max-iterations", "limit.iterations", offsetof(struct loop_spec, max_iterations)},
        {"--max-tokens", "limit.tokens", offsetof(struct loop_spec, max_tokens)},
        {"--max-cost", "limit.cost", offsetof(struct loop_spec, max_cost_micro)},
    };
    const struct ruleset *ruleset = loop_ruleset(loop);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        int64_t given;
        memcpy(&given, (const char *)loop_spec(loop) + limits[i].offset, sizeof(given));
        if (given > 0 && ruleset_replaces(ruleset, limits[i].policy)) {
            report_warning("%s has no effect: policy `%s` of %s replaces it", limits[i].option,
                           limits[i].policy, ruleset->source);
        }
    }
}

void run_results_send(struct session *session, const char *run_id, const struct run_agent *agent)
{
    struct monitor_options options = {
        .writer = runtime_writer(session->runtime),
        .runtime = session->runtime,
        .http = run_agent_http(agent),
        .supervisor = runtime_supervisor(session->runtime),
        .stall_ns = -1,
        .has_no_thread = true,
    };
    struct monitor *monitor = NULL;
    struct rondo_error err = {0};
    uint64_t waiting = 0;
    int r = monitor_start(&options, &monitor, &err);
    if (r == 0) {
        r = monitor_send_results(monitor, run_id, &waiting, &err);
        monitor_stop(monitor);
    }
    if (r < 0) {
        report_warning("the result waits for its sinks, which `rondo serve` reaches: %s",
                       err.message);
    } else if (waiting > 0) {
        report_warning("the result waits for %" PRIu64 " sink%s: see `rondo sinks deliveries`; "
                       "`rondo serve` tries again",
                       waiting, waiting == 1 ? "" : "s");
    }
}

/** Calls wait for people, and nothing else is left to do. */
static int park_waiting(struct loop *loop, struct rondo_error *err)
{
    int r = loop_park(loop, err);
    return r < 0 ? r : LOOP_PAUSED;
}

int run_execute(struct session *session, struct loop *loop, const struct run_values *values,
                uint64_t after, const struct loop_opening *opening, struct run_agent *agent)
{
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    warn_of_replaced_options(loop);
    signals_begin(loop);
    auto_buf struct buf header = {0};
    add_header(loop, values, opening, &header);
    struct display *display = start_display(session, loop, values, after, buf_string(&header));
    struct telemetry_hook *telemetry = telemetry_hook_start(session, loop, after);
    struct run_body body;
    struct rondo_error err = {0};
    int r = run_body_open(session, loop, display, agent, &body, &err);
    if (r == 0) {
        r = run_body_execute(&body, &err);
        r = r == LOOP_PAUSED ? park_waiting(loop, &err) : r;
    } else {
        loop_park(loop, NULL);
    }
    run_body_close(&body);
    display_finish(display);
    signals_end();
    uint64_t failures = loop_storage_failures(loop);
    bool has_sinks = r == LOOP_ENDED && agent != NULL && result_is_wanted(loop_spec(loop)->agent);
    loop_free(loop);
    telemetry_hook_stop(telemetry);
    if (has_sinks) {
        run_results_send(session, run_id, agent);
    }
    return r < 0 ? report_broken(session, run_id, failures, values, &err)
                 : run_summary_print(session, run_id, failures, values, agent);
}
