// SPDX-License-Identifier: Apache-2.0
/* rondo policy what-if: what other profiles would have answered to foreign agents. */
#include "handoff/wire/what_if.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/commands/policy/commands.h"
#include "cli/commands/policy/source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "os/file_untrusted.h"
#include "policy/profile/watch.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct what_if_values {
    char *store;
    char *agent;
    int64_t limit;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row policy_what_if_options[] = {
    {.name = "agent",
     .letter = 'a',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct what_if_values, agent),
     .argument = "ID",
     .help = "Only what this agent asked about",
     .group = "Selection"},
    {.name = "limit",
     .kind = OPTION_INT,
     .offset = offsetof(struct what_if_values, limit),
     .low = 1,
     .high = LIMIT_EVALUATIONS,
     .argument = "N",
     .by_default = "all that are stored",
     .help = "Only the newest N evaluations",
     .group = "Selection"},
    OPTION_ROW_STORE(struct what_if_values),
    OPTION_ROW_JSON(struct what_if_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct what_if_values),
    {0},
};

/* ---- The profiles --------------------------------------------------------------------------- */

/** Those that count now are beside the store's policies. */
static struct profile_watch *open_profiles(const char *store, struct rondo_error *err)
{
    auto_free char *path = NULL;
    if (policy_locate(NULL, store, &path, err) < 0) {
        return NULL;
    }
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    return profile_watch_new(slash == NULL ? "." : path, NULL, NULL);
}

static int read_profiles(const struct what_if_values *values, const char *file,
                         struct what_if *ret_question, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    struct profile_watch *watch = open_profiles(values->store, err);
    if (watch == NULL) {
        return err->code;
    }
    int r = file_read_named(NULL, file, LIMIT_POLICY_BYTES, &text, err);
    r = r < 0 ? r : profile_watch_get(watch, &ret_question->current, err);
    r = r < 0
            ? r
            : profile_watch_try(watch, buf_string(&text), text.len, &ret_question->candidate, err);
    profile_watch_free(watch);
    return r;
}

/* ---- The answer ----------------------------------------------------------------------------- */

static void write_changes(struct json_object *answer, struct buf *out)
{
    struct json_object *changes = json_member(answer, "changes");
    int64_t all = json_get_int(answer, "evaluations", 0);
    int64_t changed = json_get_int(answer, "changed", 0);
    buf_printf(out, "%" PRId64 " of %" PRId64 " evaluations would have another outcome\n", changed,
               all);
    for (size_t i = 0; i < json_length(changes); i++) {
        struct json_object *change = json_object_array_get_idx(changes, i);
        buf_printf(out, "  %s to %s: %" PRId64 "\n", json_get_string(change, "from", ""),
                   json_get_string(change, "to", ""), json_get_int(change, "count", 0));
    }
    int64_t skipped = json_get_int(answer, "with_approval", 0);
    if (skipped > 0) {
        buf_printf(out, "%" PRId64 " more had an approval, and were left out\n", skipped);
    }
}

static void add_cell(struct table *table, const char *text)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    table_add(table, buf_string(&clean));
}

static void add_number(struct table *table, int64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, number);
    table_add(table, text);
}

/** The rules that decide more or fewer actions than now. */
static void write_rules(struct json_object *answer, const struct style *style, size_t columns,
                        struct buf *out)
{
    static const struct table_column heads[] = {
        {"RULE", false, true}, {"NOW", true, false}, {"THEN", true, false}};
    struct table table = {.columns = heads, .column_count = sizeof(heads) / sizeof(heads[0])};
    struct json_object *rules = json_member(answer, "rules");
    size_t count = 0;
    for (size_t i = 0; i < json_length(rules); i++) {
        struct json_object *rule = json_object_array_get_idx(rules, i);
        int64_t before = json_get_int(rule, "before", 0);
        int64_t after = json_get_int(rule, "after", 0);
        if (before != after) {
            add_cell(&table, json_get_string(rule, "policy_rule_id", ""));
            add_number(&table, before);
            add_number(&table, after);
            count++;
        }
    }
    if (count > 0) {
        buf_append_string(out, "\n");
        table_draw(&table, style, columns, out);
    }
    table_fini(&table);
}

static void write_samples(struct json_object *answer, const struct style *style, size_t columns,
                          struct buf *out)
{
    static const struct table_column heads[] = {{"AGENT", false, true},
                                                {"TOOL", false, true},
                                                {"NOW", false, false},
                                                {"THEN", false, false},
                                                {"RULE", false, true}};
    struct table table = {.columns = heads, .column_count = sizeof(heads) / sizeof(heads[0])};
    struct json_object *samples = json_member(answer, "samples");
    for (size_t i = 0; i < json_length(samples); i++) {
        struct json_object *sample = json_object_array_get_idx(samples, i);
        add_cell(&table, json_get_string(sample, "agent_id", ""));
        add_cell(&table, json_get_string(sample, "tool", ""));
        add_cell(&table, json_get_string(sample, "from", ""));
        add_cell(&table, json_get_string(sample, "to", ""));
        add_cell(&table, json_get_string(sample, "rule_after", ""));
    }
    if (json_length(samples) > 0) {
        buf_append_string(out, "\n");
        table_draw(&table, style, columns, out);
    }
    table_fini(&table);
}

static int print_answer(const struct what_if_values *values, const struct buf *json,
                        struct rondo_error *err)
{
    auto_json struct json_object *answer = NULL;
    auto_buf struct buf out = {0};
    struct style style = style_for(stdout, values->no_colour != 0);
    size_t columns = style_columns(stdout, PIPE_COLUMNS);
    int r = json_parse(json->data, json->len, &answer, err);
    if (r == 0 && values->wants_json) {
        buf_append(&out, json->data, json->len);
        buf_append_string(&out, "\n");
    } else if (r == 0) {
        write_changes(answer, &out);
        write_rules(answer, &style, columns, &out);
        write_samples(answer, &style, columns, &out);
    }
    report_output(&out);
    return r;
}

static int run_what_if(const struct what_if_values *values, const char *file)
{
    struct session session;
    struct rondo_error err = {0};
    auto_buf struct buf json = {0};
    struct what_if question = {.agent_id = values->agent, .limit = (uint32_t)values->limit};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    int r = read_profiles(values, file, &question, &err);
    r = r < 0 ? r : session_open(&options, &session, &err);
    if (r == 0) {
        r = what_if_write(session.store, &question, &json, &err);
        session_close(&session);
    }
    r = r < 0 ? r : print_answer(values, &json, &err);
    profiles_unref(question.current);
    profiles_unref(question.candidate);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

int cmd_policy_what_if(const struct invocation *invocation)
{
    struct what_if_values values = {0};
    struct option_set set = {.rows = policy_what_if_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_what_if(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
