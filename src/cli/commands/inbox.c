// SPDX-License-Identifier: Apache-2.0
/* `rondo inbox`, `rondo approve` and `rondo reject`: calls of agents that wait for a person. */
#include "handoff/inbox.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000
/** Digits of an id that lists show; any beginning that only one has names it. */
#define SHOWN_ID 13

struct inbox_values {
    char *store;
    char *comment;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row inbox_options[] = {
    OPTION_ROW_STORE(struct inbox_values),
    OPTION_ROW_JSON(struct inbox_values, "One JSON object per line"),
    OPTION_ROW_NO_COLOUR(struct inbox_values),
    {0},
};

static const struct option_row one_options[] = {
    OPTION_ROW_STORE(struct inbox_values),
    OPTION_ROW_JSON(struct inbox_values, "As a JSON object"),
    OPTION_ROW_NO_COLOUR(struct inbox_values),
    {0},
};

#define DECISION_OPTIONS                                                        \
    {.name = "message",                                                         \
     .letter = 'm',                                                             \
     .kind = OPTION_TEXT,                                                       \
     .offset = offsetof(struct inbox_values, comment),                          \
     .argument = "TEXT",                                                        \
     .help = "A comment, which is kept; the agent is told that of a rejection", \
     .group = "Decision"},                                                      \
        OPTION_ROW_STORE(struct inbox_values),                                  \
        OPTION_ROW_JSON(struct inbox_values, "As a JSON object"),               \
        OPTION_ROW_NO_COLOUR(struct inbox_values),                              \
    {                                                                           \
        0                                                                       \
    }

const struct option_row approve_options[] = {DECISION_OPTIONS};
const struct option_row reject_options[] = {DECISION_OPTIONS};

/* ---- One handoff with what was sent --------------------------------------------------------- */

/** A handoff as people see it. */
struct inbox_entry {
    struct handoff handoff;
    struct json_object *body;
    const char *tool;
    const char *args; /**< JSON */
    const char *why;
};

static int load_entry(const struct handoff_store *handoffs, const struct handoff *handoff,
                      struct inbox_entry *ret_entry, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    struct json_object *action = NULL;
    struct json_object *args = NULL;
    struct json_object *trigger = NULL;
    *ret_entry = (struct inbox_entry){.handoff = *handoff};
    int r = handoff_read_body(handoffs, handoff->request_id, handoff->revision, &json, err);
    r = r < 0 ? r : json_parse_strict(json.data, json.len, &ret_entry->body, err);
    if (r < 0) {
        return r;
    }
    json_object_object_get_ex(ret_entry->body, "action", &action);
    json_object_object_get_ex(ret_entry->body, "trigger", &trigger);
    json_object_object_get_ex(action, "args", &args);
    ret_entry->tool = json_get_string(action, "tool", "");
    ret_entry->args = json_object_to_json_string_ext(args, JSON_C_TO_STRING_PRETTY |
                                                               JSON_C_TO_STRING_NOSLASHESCAPE);
    ret_entry->why = json_get_string(trigger, "message", "");
    return 0;
}

static void write_time(struct json_writer *writer, const char *key, int64_t time_ns)
{
    char text[CLOCK_UTC_SIZE];
    if (time_ns != 0) {
        clock_format_utc(time_ns, text);
        json_write_string(writer, key, text);
    }
}

static bool write_remark(const struct handoff_remark *remark, void *context)
{
    struct json_writer *writer = context;
    json_begin_object(writer, NULL);
    json_write_string(writer, "kind", remark->kind);
    json_write_string(writer, "by", remark->actor);
    write_time(writer, "at", remark->time_ns);
    json_write_raw(writer, "details", remark->details);
    json_end_object(writer);
    return true;
}

/** @param handoffs to add what was said; NULL = without */
static int write_entry(const struct inbox_entry *entry, const struct handoff_store *handoffs,
                       struct buf *out, struct rondo_error *err)
{
    const struct handoff *handoff = &entry->handoff;
    struct json_writer writer = json_writer(out);
    int r = 0;
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "request_id", handoff->request_id);
    json_write_string(&writer, "state", handoff_state_name(handoff->state));
    json_write_string(&writer, "application", handoff_application_name(handoff->application));
    json_write_string(&writer, "agent_id", handoff->agent_id);
    json_write_string(&writer, "run_id", handoff->lane_id);
    json_write_int(&writer, "revision", handoff->revision);
    write_time(&writer, "requested_at", handoff->requested_ns);
    write_time(&writer, "due_at", handoff_is_waiting(handoff) ? handoff->sla_due_ns : 0);
    write_time(&writer, "decided_at", handoff->decided_ns);
    if (handoff->decided_by[0] != '\0') {
        json_write_string(&writer, "decided_by", handoff->decided_by);
    }
    json_write_raw(&writer, "request",
                   json_object_to_json_string_ext(entry->body, JSON_C_TO_STRING_PLAIN));
    if (handoffs != NULL) {
        json_begin_array(&writer, "thread");
        r = handoff_read_thread(handoffs, handoff->request_id, write_remark, &writer, err);
        json_end_array(&writer);
    }
    json_end_object(&writer);
    buf_append_string(out, "\n");
    return r;
}

static void append_clean(const char *text, struct buf *out)
{
    text_clean(text, strlen(text), out);
}

static void append_moment(int64_t time_ns, struct buf *out)
{
    char text[CLOCK_UTC_SIZE];
    clock_format_utc(time_ns, text);
    text_moment(text, clock_now(clock_system()), out);
}

/* ---- The list ------------------------------------------------------------------------------- */

struct inbox_list {
    const struct inbox_values *values;
    const struct handoff_store *handoffs;
    struct table table;
    struct buf out;
    size_t count;
    int r;
    struct rondo_error *err;
};

static void add_row(struct inbox_list *list, const struct inbox_entry *entry)
{
    char id[SHOWN_ID + 1];
    auto_buf struct buf agent = {0};
    auto_buf struct buf tool = {0};
    auto_buf struct buf why = {0};
    auto_buf struct buf due = {0};
    snprintf(id, sizeof(id), "%.*s", SHOWN_ID, entry->handoff.request_id);
    append_clean(entry->handoff.agent_id, &agent);
    append_clean(entry->tool, &tool);
    append_clean(entry->why, &why);
    append_moment(entry->handoff.sla_due_ns, &due);
    table_add(&list->table, id);
    table_add(&list->table, buf_string(&agent));
    table_add(&list->table, buf_string(&tool));
    table_add(&list->table, buf_string(&due));
    table_add(&list->table, buf_string(&why));
}

static bool list_one(const struct handoff *handoff, void *context)
{
    struct inbox_list *list = context;
    struct inbox_entry entry = {0};
    if (!handoff_is_waiting(handoff) || !inbox_has_run(list->handoffs, handoff)) {
        return true;
    }
    list->r = load_entry(list->handoffs, handoff, &entry, list->err);
    if (list->r == 0 && list->values->wants_json) {
        list->r = write_entry(&entry, NULL, &list->out, list->err);
    } else if (list->r == 0) {
        add_row(list, &entry);
    }
    list->count++;
    json_object_put(entry.body);
    return list->r == 0;
}

static void draw(struct inbox_list *list)
{
    struct style style = style_for(stdout, list->values->no_colour != 0);
    if (list->values->wants_json) {
        return;
    }
    if (list->count == 0) {
        fprintf(stderr, "no call waits for a decision\n");
        return;
    }
    table_draw(&list->table, &style, style_columns(stdout, PIPE_COLUMNS), &list->out);
}

static int run_list(const struct inbox_values *values)
{
    static const struct table_column columns[] = {
        {"ID", false, false},  {"AGENT", false, true}, {"TOOL", false, false},
        {"DUE", false, false}, {"WHY", false, true},
    };
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    struct inbox_list list = {
        .values = values,
        .table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
        .err = &err,
    };
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        struct handoff_store handoffs = {session.store, &handoff_default_rules};
        list.handoffs = &handoffs;
        r = handoff_read_open(&handoffs, list_one, &list, &err);
        r = list.r < 0 ? list.r : r;
        session_close(&session);
    }
    if (r == 0 || r == RONDO_ERR_CORRUPT) {
        draw(&list);
        report_output(&list.out);
    }
    table_fini(&list.table);
    buf_fini(&list.out);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

/* ---- One of them ---------------------------------------------------------------------------- */

static void add_moment(struct fields *fields, const char *name, int64_t time_ns)
{
    auto_buf struct buf text = {0};
    if (time_ns != 0) {
        append_moment(time_ns, &text);
        fields_add(fields, name, buf_string(&text));
    }
}

static void add_clean(struct fields *fields, const char *name, const char *text)
{
    auto_buf struct buf clean = {0};
    append_clean(text, &clean);
    if (clean.len > 0) {
        fields_add(fields, name, buf_string(&clean));
    }
}

static bool print_remark(const struct handoff_remark *remark, void *context)
{
    struct fields *fields = context;
    auto_json struct json_object *details = NULL;
    auto_buf struct buf text = {0};
    if (json_parse(remark->details, strlen(remark->details), &details, NULL) == 0) {
        append_clean(remark->actor, &text);
        buf_append_string(&text, ": ");
        append_clean(json_get_string(details, "comment", ""), &text);
        fields_add(fields, "said", buf_string(&text));
    }
    return true;
}

/** All of the arguments: nothing that a person approves may be hidden. */
static void print_arguments(const struct inbox_entry *entry, struct buf *out)
{
    auto_buf struct buf shown = {0};
    text_escape_hidden(entry->args, strlen(entry->args), &shown);
    buf_printf(out, "\n%s\n", buf_string(&shown));
}

static int print_entry(const struct inbox_entry *entry, const struct handoff_store *handoffs,
                       const struct inbox_values *values, struct buf *out, struct rondo_error *err)
{
    const struct handoff *handoff = &entry->handoff;
    struct style style = style_for(stdout, values->no_colour != 0);
    struct fields fields = {.style = &style, .columns = style_columns(stdout, 100), .out = out};
    buf_printf(out, "%s  %s\n", handoff->request_id, handoff_state_name(handoff->state));
    add_clean(&fields, "agent", handoff->agent_id);
    add_clean(&fields, "run", handoff->lane_id);
    add_clean(&fields, "tool", entry->tool);
    add_clean(&fields, "why", entry->why);
    add_moment(&fields, "asked", handoff->requested_ns);
    add_moment(&fields, "due", handoff_is_waiting(handoff) ? handoff->sla_due_ns : 0);
    add_clean(&fields, "decided by", handoff->decided_by);
    if (handoff->application != APPLICATION_NONE) {
        add_clean(&fields, "action", handoff_application_name(handoff->application));
    }
    int r = handoff_read_thread(handoffs, handoff->request_id, print_remark, &fields, err);
    print_arguments(entry, out);
    return r;
}

static int show_in(const struct handoff_store *handoffs, const struct inbox_values *values,
                   const char *id, struct buf *out, struct rondo_error *err)
{
    struct inbox_entry entry = {0};
    struct handoff handoff;
    int r = inbox_find(handoffs, id, &handoff, err);
    r = r < 0 ? r : load_entry(handoffs, &handoff, &entry, err);
    if (r == 0) {
        r = values->wants_json ? write_entry(&entry, handoffs, out, err)
                               : print_entry(&entry, handoffs, values, out, err);
    }
    json_object_put(entry.body);
    return r;
}

static int run_show(const struct inbox_values *values, const char *id)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    auto_buf struct buf out = {0};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        struct handoff_store handoffs = {session.store, &handoff_default_rules};
        r = show_in(&handoffs, values, id, &out, &err);
        session_close(&session);
    }
    if (r == 0) {
        report_output(&out);
    }
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

/* ---- Deciding ------------------------------------------------------------------------------- */

/** "user:ann": never the name of an agent. */
static void name_user(char ret_name[HANDOFF_NAME_SIZE])
{
    const struct passwd *entry = getpwuid(geteuid()); /* Before any thread exists. */
    snprintf(ret_name, HANDOFF_NAME_SIZE, "user:%s", entry == NULL ? "unknown" : entry->pw_name);
}

/** Its run has ended: nobody needs to decide any more. */
static int refuse_ended(const struct handoff_store *handoffs, const struct handoff *handoff,
                        struct rondo_error *err)
{
    inbox_cancel_ended(handoffs, clock_now(clock_system()));
    return error_set(err, RONDO_ERR_STATE, "run %s has ended, and handoff %s is cancelled with it",
                     handoff->lane_id, handoff->request_id);
}

static int decide_in(const struct handoff_store *handoffs, const struct inbox_values *values,
                     enum handoff_command_kind kind, const char *id,
                     struct handoff_result *ret_result, struct rondo_error *err)
{
    char by[HANDOFF_NAME_SIZE];
    struct handoff handoff;
    name_user(by);
    int r = inbox_find(handoffs, id, &handoff, err);
    if (r == 0 && handoff_is_waiting(&handoff) && !inbox_has_run(handoffs, &handoff)) {
        r = refuse_ended(handoffs, &handoff, err);
    }
    if (r < 0) {
        return r;
    }
    struct inbox_decision decision = {
        .kind = kind,
        .by = by,
        .comment = values->comment,
        .revision = handoff.revision,
        .action_digest = handoff.action_digest,
    };
    r = inbox_decide(handoffs, handoff.request_id, &decision, clock_now(clock_system()), ret_result,
                     err);
    auto_buf struct buf text = {0};
    if (r == 0) {
        inbox_explain(ret_result, &text);
    }
    bool is_undone = r == 0 && text.len > 0 && ret_result->outcome != HANDOFF_PARTIAL;
    return is_undone ? error_set(err, RONDO_ERR_STATE, "handoff %s was not changed: %s",
                                 handoff.request_id, buf_string(&text))
                     : r;
}

static void print_decision(struct session *session, const struct inbox_values *values,
                           const struct handoff_result *result)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf hint = {0};
    inbox_explain(result, &text);
    if (values->wants_json) {
        printf("{\"request_id\":\"%s\",\"state\":\"%s\",\"run_id\":\"%s\"}\n",
               result->handoff.request_id, handoff_state_name(result->handoff.state),
               result->handoff.lane_id);
        return;
    }
    session_hint(session, "resume", result->handoff.lane_id, &hint);
    fprintf(stderr, "%s: %s%s%s\n", result->handoff.request_id,
            handoff_state_name(result->handoff.state), text.len > 0 ? ". " : "", buf_string(&text));
    if (!handoff_is_waiting(&result->handoff)) {
        fprintf(stderr, "a server that has the run continues it; else: %s\n", buf_string(&hint));
    }
}

static int run_decide(const struct invocation *invocation, const struct option_row *rows,
                      enum handoff_command_kind kind)
{
    struct inbox_values values = {0};
    struct option_set set = {.rows = rows, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    struct session session;
    struct rondo_error err = {0};
    if (parsed.is_over) {
        option_set_fini(&set);
        return parsed.exit_code;
    }
    struct session_options options = {.store = values.store};
    struct handoff_result result;
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        struct handoff_store handoffs = {session.store, &handoff_default_rules};
        r = decide_in(&handoffs, &values, kind, parsed.argv[0], &result, &err);
        if (r == 0) {
            print_decision(&session, &values, &result);
        }
        session_close(&session);
    }
    int exit_code = r < 0 ? report_error_as(&err, values.wants_json != 0) : EXIT_OK;
    option_set_fini(&set);
    return exit_code;
}

int cmd_approve(const struct invocation *invocation)
{
    return run_decide(invocation, approve_options, HANDOFF_APPROVE);
}

int cmd_reject(const struct invocation *invocation)
{
    return run_decide(invocation, reject_options, HANDOFF_REJECT);
}

int cmd_inbox(const struct invocation *invocation)
{
    struct inbox_values values = {0};
    struct option_set set = {.rows = inbox_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_list(&values);
    option_set_fini(&set);
    return exit_code;
}

static int cmd_inbox_show(const struct invocation *invocation)
{
    struct inbox_values values = {0};
    struct option_set set = {.rows = one_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_show(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}

const struct command inbox_commands[] = {
    {
        .name = "inbox show",
        .synopsis = "[OPTION...] ID",
        .help = "Show a call that waits for a decision",
        .description = "Shows the call as it would be made, with all its arguments, why a person "
                       "is asked, and what was decided. ID is the beginning of its id, as far as "
                       "only one open handoff has it.",
        .options = one_options,
        .run = cmd_inbox_show,
    },
    {0},
};
