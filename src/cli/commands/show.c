// SPDX-License-Identifier: Apache-2.0
/* rondo show: everything about one run but its journal. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/progress/agent_view.h"
#include "cli/progress/event_line.h"
#include "cli/progress/prd_table.h"
#include "cli/progress/summary.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/text.h"
#include "journal/reader.h"
#include "loop/owner.h"
#include "orchestrator/assignment.h"
#include "orchestrator/servers.h"
#include "store/find.h"
#include "work/history.h"
#include "worker/coding/result.h"
#include "worker/coding_agent.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Columns where the output is no terminal. */
#define PIPE_COLUMNS 100
/** Lines of a failed condition's output that are shown. */
#define OUTPUT_LINES 5

struct run_show_values {
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row show_options[] = {
    OPTION_ROW_STORE(struct run_show_values),
    OPTION_ROW_JSON(struct run_show_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct run_show_values),
    {0},
};

/** Protections that the role requests and the run goes without. */
static void add_unprotected(struct fields *fields, struct json_object *agent)
{
    struct json_object *list = NULL;
    json_object_object_get_ex(agent, "unprotected", &list);
    size_t count = json_length(list);
    for (size_t i = 0; i < count; i++) {
        fields_add(fields, i == 0 ? "unprotected" : "",
                   json_object_get_string(json_object_array_get_idx(list, i)));
    }
}

/** The role file of an agent, and the model that it uses. */
static void add_role(struct fields *fields, const struct loop_spec *spec)
{
    auto_json struct json_object *agent = NULL;
    if (spec->agent == NULL || json_parse(spec->agent, strlen(spec->agent), &agent, NULL) < 0) {
        return;
    }
    fields_add(fields, "role", json_get_string(agent, "path", "?"));
    struct json_object *model =
        json_member(json_member(json_member(agent, "role"), "spec"), "model");
    auto_buf struct buf name = {0};
    buf_printf(&name, "%s:%s", json_get_string(model, "provider", "?"),
               json_get_string(model, "name", "?"));
    bool is_dry = json_get_bool(agent, "dry_run", false);
    add_unprotected(fields, agent);
    fields_add(fields, "model",
               is_dry ? "none (a dry run)" : json_get_string(agent, "model", buf_string(&name)));
}

/** The last session of a coding agent, and what it came to. */
static void add_session(struct fields *fields, struct store *store, const char *run_id)
{
    struct coding_ended ended;
    auto_buf struct buf text = {0};
    if (coding_last_session(store, run_id, &ended, NULL) < 0 || !ended.is_known) {
        return;
    }
    buf_printf(&text, "%s%s%s", coding_class_name(ended.outcome),
               ended.session[0] == '\0' ? "" : ", ", ended.session);
    fields_add(fields, "last session", buf_string(&text));
}

static void add_coding(struct fields *fields, const struct loop_spec *spec, struct store *store,
                       const char *run_id)
{
    auto_json struct json_object *record = NULL;
    if (json_parse(spec->coding, strlen(spec->coding), &record, NULL) < 0) {
        return;
    }
    const char *model = json_get_string(record, "model", NULL);
    auto_buf struct buf text = {0};
    buf_printf(&text, "%s%s%s, permissions: %s", json_get_string(record, "name", "?"),
               model == NULL ? "" : ", model ", model == NULL ? "" : model,
               json_get_string(record, "permissions", "?"));
    fields_add(fields, "coding agent", buf_string(&text));
    add_session(fields, store, run_id);
}

/** What runs: a role, a coding agent, or a command. */
static void add_body(struct fields *fields, const struct loop_spec *spec, struct store *store,
                     const char *run_id)
{
    if (agent_view_is_for(spec)) {
        add_role(fields, spec);
        return;
    }
    if (spec->coding != NULL) {
        add_coding(fields, spec, store, run_id);
        return;
    }
    auto_buf struct buf text = {0};
    for (size_t i = 0; spec->command != NULL && spec->command[i] != NULL; i++) {
        bool is_plain = strpbrk(spec->command[i], " \t\n'\"\\$*?;&|<>()") == NULL;
        buf_printf(&text, is_plain ? "%s%s" : "%s'%s'", i > 0 ? " " : "", spec->command[i]);
    }
    fields_add(fields, "command",
               text.len > 0                     ? text.data
               : strcmp(spec->kind, "prd") == 0 ? "(the tasks of a PRD)"
                                                : "(a program that uses librondo)");
}

static void add_times(struct fields *fields, const struct store_run *run)
{
    auto_buf struct buf text = {0};
    text_time(run->created_ns, &text);
    fields_add(fields, "started", buf_string(&text));
    buf_clear(&text);
    text_time(run->ended_ns > 0 ? run->ended_ns : run->alive_ns, &text);
    fields_add(fields, run->ended_ns > 0 ? "ended" : "last alive", buf_string(&text));
    char who[OWNER_DESCRIPTION_SIZE];
    if (run->owner[0] != '\0') {
        owner_describe(run, who);
        fields_add(fields, run_is_interrupted(run) ? "was executed by" : "executed by", who);
    }
}

static bool read_origin(const struct journal_entry *entry, void *context)
{
    if (entry->is_known && entry->event.type == JOURNAL_RUN_CREATED &&
        entry->event.run_created.origin != NULL) {
        *(char **)context = memory_dup_string(entry->event.run_created.origin);
    }
    return false;
}

static void add_context(struct json_object *context, struct buf *out)
{
    if (!json_object_is_type(context, json_type_object)) {
        return;
    }
    struct json_object_iterator at = json_object_iter_begin(context);
    struct json_object_iterator end = json_object_iter_end(context);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *value = json_object_iter_peek_value(&at);
        buf_printf(out, ", %s %s", json_object_iter_peek_name(&at),
                   value == NULL ? "null" : json_object_get_string(value));
    }
}

/** The trigger that started the run, and what it says of the event. */
static void add_trigger(struct fields *fields, const struct session *session, const char *run_id)
{
    auto_free char *origin = NULL;
    auto_json struct json_object *root = NULL;
    auto_buf struct buf text = {0};
    if (journal_visit(session->store, run_id, 0, 1, read_origin, &origin, NULL) < 0 ||
        origin == NULL || json_parse(origin, strlen(origin), &root, NULL) < 0) {
        return;
    }
    buf_append_string(&text, json_get_string(root, "source", "?"));
    add_context(json_member(root, "context"), &text);
    bool is_given = strcmp(json_get_string(root, "kind", ""), "delegate") == 0;
    fields_add(fields, is_given ? "given by run" : "trigger", buf_string(&text));
}

static void add_duration(struct fields *fields, const char *label, int64_t ns)
{
    if (ns > 0) {
        char text[FORMAT_DURATION_SIZE];
        format_duration(ns, text);
        fields_add(fields, label, text);
    }
}

static void add_limits(struct fields *fields, const struct loop_spec *spec)
{
    auto_buf struct buf text = {0};
    if (spec->max_iterations > 0) {
        buf_printf(&text, "%" PRId64 " iterations", spec->max_iterations);
    } else {
        buf_append_string(&text, "iteration limit from the policies");
    }
    if (spec->max_tokens > 0) {
        buf_append_string(&text, ", ");
        text_count(spec->max_tokens, &text);
        buf_append_string(&text, " tokens");
    }
    if (spec->max_cost_micro > 0) {
        buf_append_string(&text, ", cost ");
        text_money(spec->max_cost_micro, &text);
    }
    if (spec->max_failures < LIMIT_MAX_ITERATIONS) { /* the maximum counts as no limit */
        buf_printf(&text, ", %" PRId64 " failures in a row", spec->max_failures);
    }
    fields_add(fields, "limits", buf_string(&text));
    add_duration(fields, "time limit", spec->time_limit_ns);
    add_duration(fields, "iteration", spec->iteration_timeout_ns);
    add_duration(fields, "first output", spec->first_output_ns);
    add_duration(fields, "silence", spec->silence_ns);
    add_duration(fields, "delay", spec->delay_ns);
}

static void add_policies(struct fields *fields, const struct summary *summary)
{
    auto_buf struct buf text = {0};
    if (summary->state.policy_sha256[0] == '\0') {
        buf_append_string(&text, "built in");
    } else {
        buf_printf(&text, "%.*s", TEXT_DIGEST_LEN, summary->state.policy_sha256);
    }
    if (summary->spec.policy != NULL) {
        buf_printf(&text, ", %s", summary->spec.policy);
    }
    fields_add(fields, "policies", buf_string(&text));
}

static void add_options(struct fields *fields, const struct loop_spec *spec)
{
    static const char *const on_corrupt[] = {"previous", "fresh", "fail"};
    auto_buf struct buf text = {0};
    buf_printf(&text, "%s, a checkpoint every %" PRId64 " iteration%s, if corrupt: %s",
               spec->durability == DURABILITY_STRICT ? "strict" : "best-effort",
               spec->checkpoint_interval, spec->checkpoint_interval == 1 ? "" : "s",
               on_corrupt[spec->on_corrupt]);
    fields_add(fields, "durability", buf_string(&text));
    buf_clear(&text);
    buf_printf(&text, "conditions: %s, worker: %s%s",
               sandbox_tier_name((enum sandbox_tier)spec->verifier_tier),
               sandbox_tier_name((enum sandbox_tier)spec->worker_tier),
               spec->allow_network ? ", with network" : "");
    fields_add(fields, "sandbox", buf_string(&text));
    if (spec->is_exclusive) {
        fields_add(fields, "exclusive", "no other run of this agent may execute at the same time");
    }
}

/** The last lines of an output. */
static void add_output_end(const struct summary_condition *condition, struct buf *out)
{
    if (condition->is_met || condition->output == NULL) {
        return;
    }
    size_t at = condition->output_len;
    for (size_t lines = 0; at > 0; at--) {
        bool is_end = condition->output[at - 1] == '\n' && at < condition->output_len;
        if (is_end && ++lines == OUTPUT_LINES) {
            break;
        }
    }
    event_output(condition->output + at, condition->output_len - at, out);
}

static void add_conditions(struct fields *fields, const struct summary *summary)
{
    for (size_t i = 0; i < summary->condition_count; i++) {
        const struct summary_condition *condition = &summary->conditions[i];
        const struct loop_condition *asked = &summary->spec.conditions[i];
        auto_buf struct buf line = {0};
        summary_condition_text(condition, fields->style, 0, &line);
        buf_printf(fields->out, "%s\n", buf_string(&line));
        buf_clear(&line);
        buf_printf(&line, "%s  (%s)", asked->command, asked->origin);
        buf_append_string(fields->out, "    ");
        text_clean(buf_string(&line), line.len, fields->out);
        buf_append_string(fields->out, "\n");
        add_output_end(condition, fields->out);
    }
}

/** The tasks of a PRD's run, read before anything is shown; nothing for other runs. */
static int load_tasks(const struct session *session, const struct summary *summary,
                      struct work_history *ret_history, struct rondo_error *err)
{
    *ret_history = (struct work_history){0};
    return work_is_parent(&summary->spec)
               ? work_history_load(session->store, summary->run.id, NULL, ret_history, err)
               : 0;
}

/** What the run of a PRD carries out, or which task of which run this one works on. */
static void add_prd(struct fields *fields, const struct loop_spec *spec,
                    const struct work_history *history)
{
    auto_buf struct buf text = {0};
    auto_json struct json_object *work = NULL;
    char parent[ID_SIZE];
    if (work_find_parent(spec, parent) &&
        json_parse(spec->work, strlen(spec->work), &work, NULL) == 0) {
        buf_printf(&text, "%s, attempt %" PRId64 ", of run %s", json_get_string(work, "task", "?"),
                   json_get_int(work, "attempt", 0), parent);
        fields_add(fields, "task", buf_string(&text));
    }
    if (work_is_parent(spec)) {
        fields_add(fields, "PRD", history->spec.prd);
        fields_add(fields, "branch", history->spec.branch);
        buf_printf(&text, "%" PRIu64 " attempt%s, %" PRIu64 " commit%s", history->state.counted,
                   history->state.counted == 1 ? "" : "s", history->state.committed,
                   history->state.committed == 1 ? "" : "s");
        fields_add(fields, "so far", buf_string(&text));
    }
}

static void add_tasks(const struct fields *fields, const struct work_history *history)
{
    if (history->state.count > 0) {
        buf_append_string(fields->out, "\n");
        prd_table_text(history, fields->style, fields->columns, clock_now(clock_system()),
                       fields->out);
    }
}

static void show_text(const struct summary *summary, const struct session *session,
                      const struct run_show_values *values, const struct work_history *history,
                      const char *waiting_for, struct buf *out)
{
    struct style style = style_for(stdout, values->no_colour != 0);
    size_t columns = style_columns(stdout, PIPE_COLUMNS);
    struct fields fields = {.style = &style, .columns = columns, .out = out};
    const struct loop_spec *spec = &summary->spec;
    buf_append_string(out, "run ");
    style_append(&style, COLOUR_BOLD, summary->run.id, out);
    buf_append_string(out, "\n");
    fields_add(&fields, "agent", summary->run.agent_id);
    fields_add(&fields, "workspace", spec->workspace);
    add_body(&fields, spec, session->store, summary->run.id);
    add_prd(&fields, spec, history);
    if (spec->prompt != NULL) {
        fields_add(&fields, "prompt", spec->prompt);
    }
    add_trigger(&fields, session, summary->run.id);
    add_times(&fields, &summary->run);
    add_limits(&fields, spec);
    add_policies(&fields, summary);
    add_options(&fields, spec);
    buf_append_string(out, "\n");
    summary_text_head(summary, &fields);
    if (waiting_for[0] != '\0') {
        fields_add(&fields, "waiting for", waiting_for);
    }
    add_conditions(&fields, summary);
    summary_text_tail(summary, session, true, &fields);
    add_tasks(&fields, history);
}

static void write_details(const struct summary *summary, struct json_writer *writer)
{
    json_begin_array(writer, "condition_details");
    for (size_t i = 0; i < summary->condition_count; i++) {
        const struct summary_condition *condition = &summary->conditions[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "name", condition->name);
        json_write_string(writer, "command", summary->spec.conditions[i].command);
        json_write_string(writer, "origin", summary->spec.conditions[i].origin);
        json_write_string(writer, "status", condition->is_met ? "met" : "not_met");
        json_write_bool(writer, "is_evaluated", condition->is_evaluated);
        json_write_string(writer, "reason", condition->reason);
        json_write_int(writer, "exit_code", condition->exit_code);
        json_write_int(writer, "duration_ms", condition->duration_ns / NS_PER_MS);
        json_write_string_len(writer, "output", condition->output == NULL ? "" : condition->output,
                              condition->output_len);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void show_json(const struct summary *summary, const struct work_history *history,
                      const char *waiting_for, struct buf *out)
{
    auto_buf struct buf spec = {0};
    loop_spec_encode(&summary->spec, &spec);
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "run");
    summary_json_members(summary, &writer);
    json_write_string(&writer, "waiting_for", waiting_for[0] == '\0' ? NULL : waiting_for);
    write_details(summary, &writer);
    if (work_is_parent(&summary->spec)) {
        json_begin_object(&writer, "prd");
        work_history_json(history, &writer);
        json_end_object(&writer);
    }
    json_write_raw(&writer, "options", buf_string(&spec));
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

/** A role of the database with some agents only does not see servers: then nothing is said. */
static void explain_waiting(const struct session *session, const struct store_run *run,
                            const struct assignment *assignment, struct buf *ret_waiting_for)
{
    struct server_info *list = NULL;
    size_t count = 0;
    if (servers_read(session->store, clock_system(), &list, &count, NULL) == 0) {
        servers_explain_waiting(session->store, list, count, run, assignment, ret_waiting_for);
        free(list);
    }
}

/** What a living server means to do with the run. */
static int ask_servers(const struct session *session, struct summary *summary,
                       char server[OWNER_DESCRIPTION_SIZE], struct buf *ret_waiting_for,
                       struct rondo_error *err)
{
    struct assignment assignment;
    int r = assignment_read(session->store, summary->run.id, &assignment, err);
    if (r >= 0) {
        explain_waiting(session, &summary->run, r == 1 ? &assignment : NULL, ret_waiting_for);
    }
    if (r <= 0 || (assignment_is_dead(&assignment) && assignment.pool[0] == '\0')) {
        return r;
    }
    owner_name(assignment.server, server);
    summary->server = server;
    summary->display_status = assignment_display_status(&summary->run, &assignment);
    return 0;
}

static int run_show(const struct run_show_values *values, const char *name)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    if (session_open(&options, &session, &err) < 0) {
        return report_error(&err);
    }
    struct store_run run;
    struct summary summary;
    int r = store_find_run(session.store, name, NULL, &run, &err);
    if (r == 0) {
        r = summary_load(session.store, run.id, &summary, &err);
    }
    if (r == 0) {
        auto_buf struct buf out = {0};
        char server[OWNER_DESCRIPTION_SIZE];
        struct work_history history;
        auto_buf struct buf waiting_for = {0};
        r = ask_servers(&session, &summary, server, &waiting_for, &err);
        r = r < 0 ? r : load_tasks(&session, &summary, &history, &err);
        if (r == 0 && values->wants_json) {
            show_json(&summary, &history, buf_string(&waiting_for), &out);
        } else if (r == 0) {
            show_text(&summary, &session, values, &history, buf_string(&waiting_for), &out);
        }
        if (r == 0) {
            work_history_fini(&history);
        }
        report_output(&out);
        summary_fini(&summary);
    }
    session_close(&session);
    return r < 0 ? report_error(&err) : 0;
}

int cmd_show(const struct invocation *invocation)
{
    struct run_show_values values = {0};
    struct option_set set = {.rows = show_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_show(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
