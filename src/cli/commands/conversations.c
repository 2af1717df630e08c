// SPDX-License-Identifier: Apache-2.0
/* The commands of `rondo conversations`: what triggers of agents on duty hold. */
#include "base/clock.h"
#include "base/error.h"
#include "base/text/plain.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "source/conversation/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct conversations_values {
    char *agent;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

static const struct option_row list_options[] = {
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct conversations_values, agent),
     .argument = "NAME",
     .help = "Only those of this agent",
     .group = "Selection"},
    OPTION_ROW_STORE(struct conversations_values),
    OPTION_ROW_JSON(struct conversations_values, "One JSON object per line"),
    OPTION_ROW_NO_COLOUR(struct conversations_values),
    {0},
};

static const struct option_row one_options[] = {
    OPTION_ROW_STORE(struct conversations_values),
    OPTION_ROW_JSON(struct conversations_values, "As a JSON object"),
    OPTION_ROW_NO_COLOUR(struct conversations_values),
    {0},
};

static void add_clean(struct table *table, const char *text)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    table_add(table, buf_string(&clean));
}

/* ---- Listing -------------------------------------------------------------------------------- */

/** What is printed. */
struct conversations_output {
    const struct conversations_values *values;
    struct table table;
    struct buf out;
    size_t count;
};

static bool list_one(const struct conversation *conversation, void *context)
{
    struct conversations_output *output = context;
    char last[CLOCK_UTC_SIZE];
    char turns[24];
    auto_buf struct buf age = {0};
    output->count++;
    if (output->values->wants_json) {
        (void)conversation_write(conversation, NULL, &output->out, NULL);
        buf_append_string(&output->out, "\n");
        return true;
    }
    clock_format_utc(conversation->last_ns, last);
    text_moment(last, clock_now(clock_system()), &age);
    snprintf(turns, sizeof(turns), "%" PRIu64, conversation->turns);
    table_add(&output->table, conversation->id);
    add_clean(&output->table, conversation->agent);
    add_clean(&output->table, conversation->kind);
    add_clean(&output->table, conversation->key);
    table_add(&output->table, turns);
    table_add(&output->table, buf_string(&age));
    return true;
}

static void draw(struct conversations_output *output)
{
    struct style style = style_for(stdout, output->values->no_colour != 0);
    if (output->values->wants_json) {
        return;
    }
    if (output->count == 0) {
        fprintf(stderr, "no conversations\n");
        return;
    }
    table_draw(&output->table, &style, style_columns(stdout, PIPE_COLUMNS), &output->out);
}

static int run_list(const struct conversations_values *values)
{
    static const struct table_column columns[] = {
        {"ID", false, false}, {"AGENT", false, true}, {"TRIGGER", false, false},
        {"KEY", false, true}, {"TURNS", true, false}, {"LAST", false, false},
    };
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    struct conversations_output output = {
        .values = values,
        .table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])}};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = conversations_read(session.store, values->agent, list_one, &output, &err);
        session_close(&session);
    }
    if (r == 0) {
        draw(&output);
        report_output(&output.out);
    }
    table_fini(&output.table);
    buf_fini(&output.out);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

/* ---- One of them ---------------------------------------------------------------------------- */

static void print_turn(const struct conversation_turn *turn, struct buf *out)
{
    auto_buf struct buf prompt = {0};
    auto_buf struct buf answer = {0};
    text_clean_lines(buf_string(&turn->prompt), turn->prompt.len, &prompt);
    text_clean_lines(buf_string(&turn->answer), turn->answer.len, &answer);
    buf_printf(out, "\n%s  %s\n> %s\n", turn->run_id, turn->status, buf_string(&prompt));
    if (answer.len > 0) {
        buf_printf(out, "%s\n", buf_string(&answer));
    }
}

static int print_one(const struct conversation *conversation, struct store *store, struct buf *out,
                     struct rondo_error *err)
{
    size_t count = conversation->run_count;
    size_t first = count > CONVERSATION_TURNS_SHOWN ? count - CONVERSATION_TURNS_SHOWN : 0;
    auto_buf struct buf key = {0};
    int r = 0;
    text_clean(conversation->key, strlen(conversation->key), &key);
    buf_printf(out, "%s  %s, %s \"%s\", %" PRIu64 " turn%s\n", conversation->id,
               conversation->agent, conversation->kind, buf_string(&key), conversation->turns,
               conversation->turns == 1 ? "" : "s");
    for (size_t i = first; i < count && r == 0; i++) {
        struct conversation_turn turn;
        r = conversation_turn_read(store, conversation->runs[i], &turn, err);
        print_turn(&turn, out);
        conversation_turn_fini(&turn);
    }
    return r;
}

static int no_such(struct rondo_error *err, const char *id)
{
    return error_set(err, RONDO_ERR_NOT_FOUND, "there is no conversation %.200s", id);
}

static int show_in(struct store *store, const struct conversations_values *values, const char *id,
                   struct buf *out, struct rondo_error *err)
{
    struct conversation conversation = {0};
    int r = conversation_find(store, id, &conversation, err);
    if (r == 0) {
        r = no_such(err, id);
    } else if (r > 0 && values->wants_json) {
        r = conversation_write(&conversation, store, out, err);
        buf_append_string(out, "\n");
    } else if (r > 0) {
        r = print_one(&conversation, store, out, err);
    }
    conversation_fini(&conversation);
    return r;
}

static int run_show(const struct conversations_values *values, const char *id)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    auto_buf struct buf out = {0};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = show_in(session.store, values, id, &out, &err);
        session_close(&session);
    }
    if (r == 0) {
        report_output(&out);
    }
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

static int run_forget(const struct conversations_values *values, const char *id)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = conversation_forget(session.store, id, &err);
        session_close(&session);
    }
    r = r == 0 ? no_such(&err, id) : r;
    if (r > 0 && !values->wants_json) {
        fprintf(stderr, "forgotten; its next turn begins anew\n");
    } else if (r > 0) {
        printf("{\"forgotten\":1}\n");
    }
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

/* ---- The commands --------------------------------------------------------------------------- */

static int cmd_conversations_list(const struct invocation *invocation)
{
    struct conversations_values values = {0};
    struct option_set set = {.rows = list_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_list(&values);
    option_set_fini(&set);
    return exit_code;
}

static int cmd_conversations_show(const struct invocation *invocation)
{
    struct conversations_values values = {0};
    struct option_set set = {.rows = one_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_show(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}

static int cmd_conversations_forget(const struct invocation *invocation)
{
    struct conversations_values values = {0};
    struct option_set set = {.rows = one_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_forget(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}

const struct command conversations_commands[] = {
    {
        .name = "conversations list",
        .synopsis = "[OPTION...]",
        .help = "List conversations of agents on duty",
        .description = "Lists the conversations that triggers hold: the 200 of each agent that "
                       "were used last.",
        .examples = "rondo conversations list --agent issues\tof one agent",
        .options = list_options,
        .run = cmd_conversations_list,
    },
    {
        .name = "conversations show",
        .synopsis = "[OPTION...] ID",
        .help = "Show a conversation",
        .description = "Shows what was said in the last 20 turns of a conversation, each with its "
                       "run.",
        .options = one_options,
        .run = cmd_conversations_show,
    },
    {
        .name = "conversations forget",
        .synopsis = "[OPTION...] ID",
        .help = "Let a conversation begin anew",
        .description = "Forgets a conversation: its next turn takes over nothing. Its runs stay in "
                       "the store until `rondo gc` deletes them.",
        .options = one_options,
        .run = cmd_conversations_forget,
    },
    {0},
};
