// SPDX-License-Identifier: Apache-2.0
/* rondo sinks list and rondo sinks deliveries. */
#include "alert/sink.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/commands/sinks/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Deliveries shown when nothing else is asked for. */
#define DEFAULT_LIMIT 20
/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct sinks_list_values {
    int64_t limit;
    int64_t is_dead;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row sinks_list_options[] = {
    OPTION_ROW_STORE(struct sinks_list_values),
    OPTION_ROW_JSON(struct sinks_list_values, "One JSON object per line, one for each sink"),
    OPTION_ROW_NO_COLOUR(struct sinks_list_values),
    {0},
};

const struct option_row sinks_deliveries_options[] = {
    {.name = "dead",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct sinks_list_values, is_dead),
     .help = "Dead letters: deliveries whose attempts all failed",
     .group = "Selection"},
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = offsetof(struct sinks_list_values, limit),
     .argument = "N",
     .by_default = "20",
     .help = "At most N",
     .low = 1,
     .high = 1000000},
    OPTION_ROW_STORE(struct sinks_list_values),
    OPTION_ROW_JSON(struct sinks_list_values, "One JSON object per line, one for each delivery"),
    OPTION_ROW_NO_COLOUR(struct sinks_list_values),
    {0},
};

static const struct table_column sink_columns[] = {
    {"NAME", false, false},  {"KIND", false, false},  {"TO", false, true},
    {"KINDS", false, false}, {"AGENTS", false, true}, {"STATE", false, true},
};

static const struct table_column delivery_columns[] = {
    {"ID", false, false},      {"SINK", false, false}, {"WARNING", false, true},
    {"ATTEMPTS", true, false}, {"NEXT", false, false}, {"ERROR", false, true},
};

static void add_clean(struct table *table, const char *text)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    table_add(table, buf_string(&clean));
}

/** A list of texts in one cell. */
static void add_list(struct table *table, struct json_object *object, const char *key,
                     const char *separator, const char *otherwise)
{
    struct json_object *list = NULL;
    auto_buf struct buf cell = {0};
    if (json_object_object_get_ex(object, key, &list) &&
        json_object_is_type(list, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(list); i++) {
            buf_printf(&cell, "%s%s", i > 0 ? separator : "",
                       json_object_get_string(json_object_array_get_idx(list, i)));
        }
    }
    add_clean(table, cell.len > 0 ? buf_string(&cell) : otherwise);
}

static void add_sink(struct table *table, struct json_object *sink)
{
    const char *url = json_get_string(sink, "url", NULL);
    const char *disabled = json_get_string(sink, "disabled", NULL);
    auto_buf struct buf state = {0};
    add_clean(table, json_get_string(sink, "name", ""));
    add_clean(table, json_get_string(sink, "kind", ""));
    if (url != NULL) {
        add_clean(table, url);
    } else {
        add_list(table, sink, "command", " ", "");
    }
    add_list(table, sink, "kinds", ",", "all");
    add_list(table, sink, "agents", ",", "all");
    buf_printf(&state, disabled == NULL ? "on" : "disabled: %s", disabled);
    add_clean(table, buf_string(&state));
}

static void add_delivery(struct table *table, struct json_object *delivery)
{
    struct json_object *warning = NULL;
    auto_buf struct buf cell = {0};
    json_object_object_get_ex(delivery, "warning", &warning);
    add_clean(table, json_get_string(delivery, "id", ""));
    add_clean(table, json_get_string(delivery, "sink", ""));
    const char *agent = json_get_string(warning, "agent_id", "");
    buf_printf(&cell, "%s%s%s", agent, agent[0] == '\0' ? "" : " ",
               json_get_string(warning, "message", ""));
    add_clean(table, buf_string(&cell));
    buf_clear(&cell);
    buf_printf(&cell, "%" PRId64, json_get_int(delivery, "attempts", 0));
    add_clean(table, buf_string(&cell));
    buf_clear(&cell);
    text_moment(json_get_string(delivery, "due", "never"), clock_now(clock_system()), &cell);
    add_clean(table, buf_string(&cell));
    add_clean(table, json_get_string(delivery, "error", ""));
}

/** Print an array of objects, as a table or one a line. */
static void print(const struct sinks_list_values *values, const struct buf *json,
                  const struct table_column *columns, size_t column_count,
                  void (*add)(struct table *table, struct json_object *object), const char *nothing)
{
    auto_json struct json_object *array = NULL;
    auto_buf struct buf out = {0};
    struct table table = {.columns = columns, .column_count = column_count};
    json_parse(buf_string(json), json->len, &array, NULL);
    size_t count = json_length(array);
    for (size_t i = 0; i < count; i++) {
        struct json_object *object = json_object_array_get_idx(array, i);
        if (values->wants_json) {
            buf_printf(&out, "%s\n",
                       json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
                                                                  JSON_C_TO_STRING_NOSLASHESCAPE));
        } else {
            add(&table, object);
        }
    }
    if (count == 0 && !values->wants_json) {
        fprintf(stderr, "%s\n", nothing);
    } else if (!values->wants_json) {
        struct style style = style_for(stdout, values->no_colour != 0);
        table_draw(&table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
    }
    report_output(&out);
    table_fini(&table);
}

static int run_list(const struct sinks_list_values *values, bool is_deliveries)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    auto_buf struct buf json = {0};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = is_deliveries ? sink_deliveries(session.store, values->is_dead != 0,
                                            (uint32_t)values->limit, &json, &err)
                          : sink_list(session.store, &json, &err);
        session_close(&session);
    }
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    if (is_deliveries) {
        print(values, &json, delivery_columns,
              sizeof(delivery_columns) / sizeof(delivery_columns[0]), add_delivery,
              values->is_dead ? "no dead letters" : "no pending deliveries");
    } else {
        print(values, &json, sink_columns, sizeof(sink_columns) / sizeof(sink_columns[0]), add_sink,
              "no sinks; add one with `rondo sinks add`");
    }
    return 0;
}

static int list(const struct invocation *invocation, const struct option_row *rows,
                bool is_deliveries)
{
    struct sinks_list_values values = {.limit = DEFAULT_LIMIT};
    struct option_set set = {.rows = rows, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_list(&values, is_deliveries);
    option_set_fini(&set);
    return exit_code;
}

int cmd_sinks_list(const struct invocation *invocation)
{
    return list(invocation, sinks_list_options, false);
}

int cmd_sinks_deliveries(const struct invocation *invocation)
{
    return list(invocation, sinks_deliveries_options, true);
}
