// SPDX-License-Identifier: Apache-2.0
/* `rondo inbox` and `rondo inbox show`: calls of agents that wait for a person. */
#include "handoff/inbox/inbox.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "handoff/desks/desks.h"
#include "handoff/inbox/index.h"
#include "handoff/inbox/redaction.h"
#include "handoff/storage/clock.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000
/** Digits of an id that lists show; any beginning that only one has names it. */
#define SHOWN_ID 13
/** Of a digest of a file, "sha256:" included. */
#define SHOWN_DIGEST 19

struct inbox_values {
    char *store;
    char *desk;
    int64_t is_mine;
    int64_t has_all;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row inbox_options[] = {
    {.name = "desk",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct inbox_values, desk),
     .argument = "NAME",
     .help = "Only what is on this desk",
     .group = "Selection"},
    {.name = "mine",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct inbox_values, is_mine),
     .help = "Only what is on your desks, or was escalated to them",
     .group = "Selection"},
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct inbox_values, has_all),
     .help = "Also what is approved and not done yet",
     .group = "Selection"},
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

static const struct option_row reveal_options[] = {
    OPTION_ROW_STORE(struct inbox_values),
    {0},
};

/* ---- One handoff with what was sent --------------------------------------------------------- */

/** A handoff as people see it. */
struct inbox_entry {
    struct handoff handoff;
    struct inbox_redaction redaction; /**< for who looks */
    struct json_object *body;
    const char *tool;
    const char *args; /**< JSON */
    const char *why;
};

/** @param ret_entry entry_fini() */
static int load_entry(const struct handoff_store *handoffs, const struct handoff *handoff,
                      struct inbox_entry *ret_entry, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    char person[HANDOFF_NAME_SIZE];
    struct json_object *action = NULL;
    struct json_object *args = NULL;
    struct json_object *trigger = NULL;
    *ret_entry = (struct inbox_entry){.handoff = *handoff};
    int r = handoff_read_body(handoffs, handoff->request_id, handoff->revision, &json, err);
    r = r < 0 ? r : json_parse_strict(json.data, json.len, &ret_entry->body, err);
    inbox_user(person);
    r = r < 0 ? r : inbox_redaction_begin(handoffs, handoff, person, &ret_entry->redaction, err);
    if (r < 0) {
        return r;
    }
    inbox_redaction_body(&ret_entry->redaction, ret_entry->body, NULL);
    json_object_object_get_ex(ret_entry->body, "action", &action);
    json_object_object_get_ex(ret_entry->body, "trigger", &trigger);
    json_object_object_get_ex(action, "args", &args);
    ret_entry->tool = json_get_string(action, "tool", "");
    ret_entry->args = json_object_to_json_string_ext(args, JSON_C_TO_STRING_PRETTY |
                                                               JSON_C_TO_STRING_NOSLASHESCAPE);
    ret_entry->why = json_get_string(trigger, "message", "");
    return 0;
}

static void entry_fini(struct inbox_entry *entry)
{
    json_object_put(entry->body);
    inbox_redaction_fini(&entry->redaction);
}

static int write_entry(const struct handoff *handoff, const struct handoff_store *handoffs,
                       bool has_thread, struct buf *out, struct rondo_error *err)
{
    char person[HANDOFF_NAME_SIZE];
    struct inbox_view_options options = {.has_thread = has_thread, .viewer = person};
    inbox_user(person);
    int r = inbox_view(handoffs, handoff, &options, out, err);
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

static void add_cell(struct inbox_list *list, const char *text)
{
    auto_buf struct buf clean = {0};
    append_clean(text, &clean);
    table_add(&list->table, buf_string(&clean));
}

/** Why a person is asked: of a request in which something may be hidden as it is shown in full. */
static void add_why(struct inbox_list *list, const struct handoff_summary *summary,
                    const struct handoff *handoff)
{
    char person[HANDOFF_NAME_SIZE];
    struct inbox_entry entry = {0};
    inbox_user(person);
    struct redact_view view =
        desks_view(list->handoffs->desks, person, handoff->agent_id, summary->tool);
    if (!redact_hides(&view)) {
        add_cell(list, summary->why);
    } else {
        bool is_loaded = load_entry(list->handoffs, handoff, &entry, NULL) == 0;
        add_cell(list, is_loaded ? entry.why : "");
        entry_fini(&entry);
    }
}

static void add_row(struct inbox_list *list, const struct handoff_summary *summary,
                    const struct handoff *handoff)
{
    char id[SHOWN_ID + 1];
    auto_buf struct buf due = {0};
    snprintf(id, sizeof(id), "%.*s", SHOWN_ID, summary->request_id);
    append_moment(summary->due_ns, &due);
    table_add(&list->table, id);
    add_cell(list, summary->agent_id);
    add_cell(list, summary->tool);
    if (list->handoffs->desks != NULL) {
        add_cell(list, summary->desk);
    }
    table_add(&list->table, buf_string(&due));
    add_why(list, summary, handoff);
}

static void list_one(struct inbox_list *list, const struct handoff_summary *summary)
{
    struct handoff handoff;
    int r = handoff_read(list->handoffs, summary->request_id, &handoff, list->err);
    if (r < 0 || !inbox_has_run(list->handoffs, &handoff)) {
        list->r = r == RONDO_ERR_NOT_FOUND ? list->r : r < 0 ? r : list->r;
        return;
    }
    list->count++;
    if (list->values->wants_json) {
        list->r = write_entry(&handoff, list->handoffs, false, &list->out, list->err);
    } else {
        add_row(list, summary, &handoff);
    }
}

/** Summaries of an index, which must not be used while it gives them. */
struct summary_list {
    struct handoff_summary *items;
    size_t count;
    size_t room;
};

static bool take_summary(const struct handoff_summary *summary,
                         const struct handoff_place_in_list *place, void *context)
{
    (void)place;
    struct summary_list *list = context;
    if (list->count == list->room) {
        list->room = list->room * 2 + 64;
        list->items = memory_resize(list->items, list->room, sizeof(*list->items));
    }
    list->items[list->count++] = *summary;
    return true;
}

/** The next to be breached first. */
static int list_all(struct inbox_list *list, struct rondo_error *err)
{
    char person[HANDOFF_NAME_SIZE];
    struct summary_list summaries = {0};
    struct handoff_index *index = handoff_index_new();
    struct handoff_query query = {.desk = list->values->desk,
                                  .person = person,
                                  .whose = list->values->is_mine ? QUERY_ON_DESK : QUERY_OF_ANYBODY,
                                  .states = list->values->has_all ? QUERY_ALL : QUERY_WAITING};
    inbox_user(person);
    int r = handoff_index_refresh(index, list->handoffs, err);
    if (r == 0) {
        handoff_index_list(index, list->handoffs->desks, &query, take_summary, &summaries);
    }
    for (size_t i = 0; i < summaries.count && list->r == 0; i++) {
        list_one(list, &summaries.items[i]);
    }
    free(summaries.items);
    handoff_index_free(index);
    return r < 0 ? r : list->r;
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
    static const struct table_column with_desk[] = {
        {"ID", false, false},  {"AGENT", false, true}, {"TOOL", false, false},
        {"DESK", false, true}, {"DUE", false, false},  {"WHY", false, true},
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
        struct handoff_store handoffs = session_handoffs(&session);
        list.handoffs = &handoffs;
        if (handoffs.desks != NULL) {
            list.table.columns = with_desk;
            list.table.column_count = sizeof(with_desk) / sizeof(with_desk[0]);
        }
        r = list_all(&list, &err);
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

/** What was said, on its way to the terminal. */
struct remark_list {
    struct fields *fields;
    const struct inbox_redaction *redaction;
};

static bool print_remark(const struct handoff_remark *remark, void *context)
{
    const struct remark_list *list = context;
    struct fields *fields = list->fields;
    auto_json struct json_object *details = NULL;
    auto_buf struct buf text = {0};
    auto_buf struct buf words = {0};
    (void)inbox_redaction_words(list->redaction, remark->details, &words);
    if (json_parse(words.data, words.len, &details, NULL) == 0) {
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

/** A list of texts in one line. */
static void add_texts(struct fields *fields, const char *name, struct json_object *list)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < json_length(list); i++) {
        const char *item = json_object_get_string(json_object_array_get_idx(list, i));
        buf_printf(&text, "%s%s", i == 0 ? "" : ", ", item == NULL ? "" : item);
    }
    add_clean(fields, name, buf_string(&text));
}

/** Why a person is asked: in words, or by the names of all reasons. */
static void add_reasons(const struct inbox_entry *entry, struct fields *fields)
{
    struct json_object *trigger = json_member(entry->body, "trigger");
    if (entry->why[0] != '\0') {
        add_clean(fields, "why", entry->why);
    } else {
        add_texts(fields, "why", json_member(trigger, "trigger_reasons"));
    }
    add_clean(fields, "policy", json_get_string(trigger, "policy_rule_id", ""));
}

/** What an agent says of itself, which nobody has checked. */
static void add_words(const struct inbox_entry *entry, struct fields *fields)
{
    struct json_object *evidence = json_member(entry->body, "evidence");
    struct json_object *missing = json_member(evidence, "missing");
    add_clean(fields, "agent says",
              json_get_string(json_member(entry->body, "intent"), "summary", ""));
    if (json_get_int(evidence, "required", 0) > 0 || json_length(missing) > 0) {
        char text[64];
        snprintf(text, sizeof(text), "%" PRId64 " of %" PRId64, json_get_int(evidence, "count", 0),
                 json_get_int(evidence, "required", 0));
        add_clean(fields, "evidence", text);
        add_texts(fields, "missing", missing);
    }
    add_clean(fields, "rollback", json_get_string(entry->body, "rollback", ""));
}

static void add_run(const struct inbox_entry *entry, struct fields *fields)
{
    const char *run_id = handoff_run_id(&entry->handoff);
    struct json_object *workflow = json_member(entry->body, "workflow");
    add_clean(fields, "run", run_id != NULL ? run_id : json_get_string(workflow, "run_id", ""));
    add_clean(fields, "lane", run_id != NULL ? "" : entry->handoff.lane_id);
}

/** A part of the action; as the arguments, with hidden characters made visible. */
static void add_exact(struct fields *fields, const char *name, const char *text)
{
    auto_buf struct buf shown = {0};
    text_escape_hidden(text, strlen(text), &shown);
    if (shown.len > 0) {
        fields_add(fields, name, buf_string(&shown));
    }
}

/** The files that the call names: what is approved is the call with these. */
static void print_operands(const struct inbox_entry *entry, struct fields *fields)
{
    auto_json struct json_object *action = inbox_action(entry->body);
    struct json_object *list = json_member(action, "operand_digests");
    for (size_t i = 0; i < json_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        auto_buf struct buf text = {0};
        buf_printf(&text, "%s (%.*s)", json_get_string(item, "path", ""), SHOWN_DIGEST,
                   json_get_string(item, "digest", ""));
        add_exact(fields, "file", buf_string(&text));
    }
}

/** Where it is, and who has done what so far. */
static void add_place(struct fields *fields, const struct handoff *handoff,
                      const struct handoff_rules *rules)
{
    auto_buf struct buf desks = {0};
    for (uint32_t i = 0; i < handoff->desk_count; i++) {
        buf_printf(&desks, "%s%s", i == 0 ? "" : " > ", handoff->desks[i]);
    }
    if (handoff->desk_count > 1 || (desks.len > 0 && strcmp(buf_string(&desks), INBOX_DESK) != 0)) {
        add_clean(fields, "desk", buf_string(&desks));
    }
    if (handoff->risk != HANDOFF_MEDIUM) {
        add_clean(fields, "risk", handoff_level_name(handoff->risk));
    }
    if (handoff->escalation_level > 0) {
        char level[32];
        snprintf(level, sizeof(level), "level %" PRIu32, handoff->escalation_level);
        add_clean(fields, "escalated", level);
    }
    add_clean(fields, "claimed by", handoff->claimed_by);
    for (uint32_t i = 0; i < handoff->approval_count && handoff_quorum(handoff, rules) > 1; i++) {
        add_clean(fields, "approved by", handoff->approvals[i].operator_id);
    }
}

static int print_entry(const struct inbox_entry *entry, const struct handoff_store *handoffs,
                       const struct inbox_values *values, struct buf *out, struct rondo_error *err)
{
    const struct handoff *handoff = &entry->handoff;
    struct style style = style_for(stdout, values->no_colour != 0);
    struct fields fields = {.style = &style, .columns = style_columns(stdout, 100), .out = out};
    buf_printf(out, "%s  %s\n", handoff->request_id, handoff_state_name(handoff->state));
    add_clean(&fields, "agent", handoff->agent_id);
    add_run(entry, &fields);
    add_exact(&fields, "tool", entry->tool);
    add_exact(&fields, "resource",
              json_get_string(json_member(entry->body, "action"), "resource", ""));
    add_reasons(entry, &fields);
    add_words(entry, &fields);
    add_place(&fields, handoff, handoffs->rules);
    add_moment(&fields, "asked", handoff->requested_ns);
    add_moment(&fields, "due", handoff_is_waiting(handoff) ? handoff->sla_due_ns : 0);
    add_clean(&fields, "decided by", handoff->decided_by);
    if (handoff->application != APPLICATION_NONE) {
        add_clean(&fields, "action", handoff_application_name(handoff->application));
    }
    print_operands(entry, &fields);
    struct remark_list remarks = {.fields = &fields, .redaction = &entry->redaction};
    int r = handoff_read_thread(handoffs, handoff->request_id, print_remark, &remarks, err);
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
        r = values->wants_json ? write_entry(&handoff, handoffs, true, out, err)
                               : print_entry(&entry, handoffs, values, out, err);
    }
    entry_fini(&entry);
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
        struct handoff_store handoffs = session_handoffs(&session);
        r = show_in(&handoffs, values, id, &out, &err);
        session_close(&session);
    }
    if (r == 0) {
        report_output(&out);
    }
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

/* ---- Commands ------------------------------------------------------------------------------- */

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

/* ---- Revealing ------------------------------------------------------------------------------ */

static int reveal_in(const struct handoff_store *handoffs, const char *id, const char *pointer,
                     struct buf *out, struct rondo_error *err)
{
    char person[HANDOFF_NAME_SIZE];
    struct handoff handoff;
    auto_buf struct buf why = {0};
    enum redact_verdict verdict = REDACT_MISSING;
    inbox_user(person);
    int r = inbox_find(handoffs, id, &handoff, err);
    r = r < 0 ? r
              : inbox_reveal(handoffs, handoff.request_id, person, pointer, handoff_now(handoffs),
                             &verdict, out, err);
    if (r < 0) {
        return r;
    }
    inbox_explain_reveal(verdict, &why);
    buf_append_string(out, "\n");
    return verdict == REDACT_REVEALED
               ? 0
               : error_set(err, RONDO_ERR_STATE, "%s of handoff %s is not shown: %s", pointer,
                           handoff.request_id, buf_string(&why));
}

static int cmd_inbox_reveal(const struct invocation *invocation)
{
    struct inbox_values values = {0};
    struct session session;
    struct rondo_error err = {0};
    auto_buf struct buf out = {0};
    struct option_set set = {.rows = reveal_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 2, 2);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        struct session_options options = {.store = values.store};
        int r = session_open(&options, &session, &err);
        if (r == 0) {
            struct handoff_store handoffs = session_handoffs(&session);
            r = reveal_in(&handoffs, parsed.argv[0], parsed.argv[1], &out, &err);
            session_close(&session);
        }
        if (r == 0) {
            report_output(&out);
        }
        exit_code = r < 0 ? report_error(&err) : EXIT_OK;
    }
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
    {
        .name = "inbox reveal",
        .synopsis = "[OPTION...] ID POINTER",
        .help = "Show one value that is hidden in a call",
        .description =
            "Writes one value of a request to standard output, as JSON. A rule of `redaction` in "
            "the desk file hides it, and has one of your roles in `reveal`. POINTER is the "
            "JSON pointer of the value in the request, such as /action/args/password; `rondo "
            "inbox show --json` lists those of hidden values in `redacted`. That you have seen "
            "it is recorded in the audit chain before it is shown.",
        .options = reveal_options,
        .run = cmd_inbox_reveal,
    },
    {0},
};
