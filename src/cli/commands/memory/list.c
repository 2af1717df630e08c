// SPDX-License-Identifier: Apache-2.0
/* rondo memory list, rondo memory search and rondo memory show. */
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "cli/commands/memory/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Memories shown when nothing else is said, and by a search. */
#define DEFAULT_LIMIT  20
#define DEFAULT_SEARCH 5
/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000
/** Words of a search on the command line. */
#define WORDS_MAX 100

struct memory_list_values {
    char *agent;
    int64_t kind;
    char *category;
    int64_t limit;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

#define SELECTION_ROWS                                                               \
    {.name = "agent",                                                                \
     .kind = OPTION_TEXT,                                                            \
     .offset = offsetof(struct memory_list_values, agent),                           \
     .argument = "NAME",                                                             \
     .help = "Only memories of this agent, or of a shared store (shared:NAME)",      \
     .group = "Selection"},                                                          \
        {.name = "kind",                                                             \
         .kind = OPTION_CHOICE,                                                      \
         .offset = offsetof(struct memory_list_values, kind),                        \
         .choices = memory_kind_choices,                                             \
         .help = "Only memories of this kind"},                                      \
    {                                                                                \
        .name = "category", .kind = OPTION_TEXT,                                     \
        .offset = offsetof(struct memory_list_values, category), .argument = "NAME", \
        .help = "Only memories of this category"                                     \
    }

const struct option_row memory_list_options[] = {
    SELECTION_ROWS,
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = offsetof(struct memory_list_values, limit),
     .argument = "N",
     .by_default = "20",
     .help = "At most N",
     .low = 1,
     .high = 1000000},
    OPTION_ROW_STORE(struct memory_list_values),
    OPTION_ROW_JSON(struct memory_list_values, "One JSON object per line, one for each memory"),
    OPTION_ROW_NO_COLOUR(struct memory_list_values),
    {0},
};

const struct option_row memory_search_options[] = {
    SELECTION_ROWS,
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = offsetof(struct memory_list_values, limit),
     .argument = "N",
     .by_default = "5",
     .help = "At most N",
     .low = 1,
     .high = LIMIT_MEMORY_FOUND},
    OPTION_ROW_STORE(struct memory_list_values),
    OPTION_ROW_JSON(struct memory_list_values, "One JSON object per line, one for each memory"),
    OPTION_ROW_NO_COLOUR(struct memory_list_values),
    {0},
};

const struct option_row memory_show_options[] = {
    OPTION_ROW_STORE(struct memory_list_values),
    OPTION_ROW_JSON(struct memory_list_values, "As a JSON object"),
    {0},
};

static const struct table_column columns[] = {
    {"ID", true, false},       {"AGENT", false, true}, {"KIND", false, false},
    {"CATEGORY", false, true}, {"AGE", false, false},  {"CONTENT", false, true},
};
static const struct table_column found_columns[] = {
    {"SCORE", true, false},   {"ID", true, false},       {"AGENT", false, true},
    {"KIND", false, false},   {"CATEGORY", false, true}, {"AGE", false, false},
    {"CONTENT", false, true},
};

/** What is shown, as it is gathered. */
struct shown_memories {
    struct table table;
    struct buf json;
    int64_t now_ns;
    bool is_search;
    bool wants_json;
};

static void add_clean(struct table *table, const char *text)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    table_add(table, buf_string(&clean));
}

static void add_row(struct shown_memories *shown, const struct store_memory *memory)
{
    auto_buf struct buf cell = {0};
    if (shown->is_search) {
        buf_printf(&cell, "%.3f", memory->score);
        table_add(&shown->table, buf_string(&cell));
        buf_clear(&cell);
    }
    buf_printf(&cell, "%" PRId64, memory->id);
    table_add(&shown->table, buf_string(&cell));
    add_clean(&shown->table, memory->owner);
    table_add(&shown->table, memories_kind_name(memory->kind));
    add_clean(&shown->table, memory->category);
    buf_clear(&cell);
    text_age(shown->now_ns - memory->created_ns, &cell);
    table_add(&shown->table, buf_string(&cell));
    add_clean(&shown->table, memory->content);
}

static bool show_memory(const struct store_memory *memory, void *context)
{
    struct shown_memories *shown = context;
    if (shown->wants_json) {
        memories_write_json(memory, shown->is_search ? memory->score : -1, &shown->json);
        buf_append_string(&shown->json, "\n");
    } else {
        add_row(shown, memory);
    }
    return true;
}

static void print(const struct memory_list_values *values, struct shown_memories *shown)
{
    if (!shown->wants_json && shown->table.cell_count == 0) {
        fprintf(stderr, "%s\n", shown->is_search ? "no memory found" : "no memories");
    } else if (!shown->wants_json) {
        struct style style = style_for(stdout, values->no_colour != 0);
        table_draw(&shown->table, &style, style_columns(stdout, PIPE_COLUMNS), &shown->json);
    }
    report_output(&shown->json);
}

static int read_memories(struct store *store, const struct memory_list_values *values,
                         const char *question, struct shown_memories *shown,
                         struct rondo_error *err)
{
    if (question != NULL) {
        const struct memories_question asked = {
            .owner = values->agent,
            .text = question,
            .kinds = memory_kind_bits(values->kind),
            .category = values->category,
            .top = (uint32_t)values->limit,
            .now_ns = shown->now_ns,
        };
        return memories_recall(store, &asked, show_memory, shown, err);
    }
    const struct store_memory_query query = {
        .owner = values->agent,
        .kinds = memory_kind_bits(values->kind),
        .category = values->category,
        .limit = (uint32_t)values->limit,
    };
    return store->ops->read_memories(store, &query, show_memory, shown, err);
}

/** @param question NULL = list */
static int run_list(const struct memory_list_values *values, const char *question)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    struct shown_memories shown = {
        .table = {.columns = question != NULL ? found_columns : columns,
                  .column_count = question != NULL
                                      ? sizeof(found_columns) / sizeof(found_columns[0])
                                      : sizeof(columns) / sizeof(columns[0])},
        .now_ns = clock_now(clock_system()),
        .is_search = question != NULL,
        .wants_json = values->wants_json != 0,
    };
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = read_memories(session.store, values, question, &shown, &err);
        session_close(&session);
    }
    if (r == 0) {
        print(values, &shown);
    }
    table_fini(&shown.table);
    buf_fini(&shown.json);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : 0;
}

int cmd_memory_list(const struct invocation *invocation)
{
    struct memory_list_values values = {.limit = DEFAULT_LIMIT};
    struct option_set set = {.rows = memory_list_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_list(&values, NULL);
    option_set_fini(&set);
    return exit_code;
}

int cmd_memory_search(const struct invocation *invocation)
{
    struct memory_list_values values = {.limit = DEFAULT_SEARCH};
    struct option_set set = {.rows = memory_search_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, WORDS_MAX);
    auto_buf struct buf question = {0};
    for (int i = 0; !parsed.is_over && i < parsed.argc; i++) {
        buf_printf(&question, "%s%s", i > 0 ? " " : "", parsed.argv[i]);
    }
    int exit_code = parsed.is_over ? parsed.exit_code : run_list(&values, buf_string(&question));
    option_set_fini(&set);
    return exit_code;
}

static void write_field(struct buf *out, const char *name, const char *value)
{
    if (value[0] != '\0') {
        buf_printf(out, "%-10s ", name);
        text_clean(value, strlen(value), out);
        buf_append_string(out, "\n");
    }
}

static bool show_whole(const struct store_memory *memory, void *context)
{
    struct shown_memories *shown = context;
    struct buf *out = &shown->json;
    if (shown->wants_json) {
        return show_memory(memory, context);
    }
    auto_buf struct buf time = {0};
    buf_printf(out, "%-10s %" PRId64 "\n", "id", memory->id);
    write_field(out, "agent", memory->owner);
    write_field(out, "kind", memories_kind_name(memory->kind));
    write_field(out, "category", memory->category);
    text_time(memory->created_ns, &time);
    write_field(out, "created", buf_string(&time));
    write_field(out, "source", memory->source);
    write_field(out, "run", memory->run_id);
    write_field(out, "metadata", strcmp(memory->metadata, "{}") == 0 ? "" : memory->metadata);
    buf_append_string(out, "\n");
    text_clean_lines(memory->content, strlen(memory->content), out);
    buf_append_string(out, "\n");
    return true;
}

static int run_show(const struct memory_list_values *values, const char *word)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    struct shown_memories shown = {.wants_json = values->wants_json != 0};
    struct store_memory_query query = {0};
    int r = parse_int(word, 1, INT64_MAX - 1, &query.id, &err);
    if (r == 0) {
        r = session_open(&options, &session, &err);
    }
    if (r == 0) {
        r = session.store->ops->read_memories(session.store, &query, show_whole, &shown, &err);
        session_close(&session);
    }
    if (r == 0 && shown.json.len == 0) {
        r = error_set(&err, RONDO_ERR_NOT_FOUND, "there is no memory %s", word);
    }
    if (r == 0) {
        report_output(&shown.json);
    }
    buf_fini(&shown.json);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : 0;
}

int cmd_memory_show(const struct invocation *invocation)
{
    struct memory_list_values values = {0};
    struct option_set set = {.rows = memory_show_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_show(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
