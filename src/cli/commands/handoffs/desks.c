// SPDX-License-Identifier: Apache-2.0
/* `rondo desks check` and `rondo desks show`: who decides about calls that wait, and where they go.
 */
#include "handoff/desks/desks.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/text.h"
#include "handoff/desks/watch.h"
#include "os/file.h"
#include "store/locate/locate.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct desks_values {
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

static const struct option_row desks_options[] = {
    OPTION_ROW_STORE(struct desks_values),
    OPTION_ROW_JSON(struct desks_values, "As a JSON object"),
    OPTION_ROW_NO_COLOUR(struct desks_values),
    {0},
};

/** @param ret_path the file's; it need not exist */
static int locate(const struct desks_values *values, const char *given, char **ret_path,
                  struct rondo_error *err)
{
    auto_free char *store = NULL;
    if (given != NULL) {
        *ret_path = strdup(given);
        return 0;
    }
    int r = store_locate(values->store, false, &store, err);
    if (r == 0) {
        *ret_path = desks_path_of_store(store);
    }
    return r;
}

/* ---- check ---------------------------------------------------------------------------------- */

static void print_check(const struct desks *desks, bool wants_json, const char *path)
{
    auto_buf struct buf json = {0};
    auto_json struct json_object *shown = NULL;
    desks_write(desks, &json);
    if (wants_json) {
        printf("%s\n", buf_string(&json));
    } else if (json_parse(json.data, json.len, &shown, NULL) == 0) {
        printf("%s: %d people, %d desks, %zu rules of routing, %zu of redaction: in order\n", path,
               json_object_object_length(json_member(shown, "people")),
               json_object_object_length(json_member(shown, "desks")),
               json_length(json_member(shown, "routing")),
               json_length(json_member(shown, "redaction")));
    }
}

static int run_check(const struct desks_values *values, const char *given)
{
    struct rondo_error err = {0};
    struct desks *desks = NULL;
    auto_free char *path = NULL;
    int r = locate(values, given, &path, &err);
    r = r < 0 ? r : desks_load(path, &desks, &err);
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    print_check(desks, values->wants_json != 0, path);
    desks_free(desks);
    return EXIT_OK;
}

/* ---- show ----------------------------------------------------------------------------------- */

static void append_list(struct json_object *list, struct buf *out)
{
    for (size_t i = 0; i < json_length(list); i++) {
        buf_printf(out, "%s%s", out->len == 0 ? "" : ", ",
                   json_object_get_string(json_object_array_get_idx(list, i)));
    }
}

static void print_desk(const char *name, struct json_object *desk, struct fields *fields)
{
    auto_buf struct buf text = {0};
    append_list(json_member(desk, "roles"), &text);
    append_list(json_member(desk, "people"), &text);
    const char *next = json_get_string(desk, "escalates_to", NULL);
    if (next != NULL) {
        buf_printf(&text, "; escalates to %s", next);
    }
    fields_add(fields, name, text.len == 0 ? "nobody" : buf_string(&text));
}

static void print_person(const char *name, struct json_object *person, struct fields *fields)
{
    auto_buf struct buf text = {0};
    append_list(json_member(person, "roles"), &text);
    buf_printf(&text, "; decides up to %s risk", json_get_string(person, "may_decide", ""));
    fields_add(fields, name, buf_string(&text));
}

static void print_rules(struct json_object *shown, struct fields *fields)
{
    auto_buf struct buf text = {0};
    struct json_object_iter level;
    json_object_object_foreachC(json_member(shown, "sla_seconds"), level)
    {
        char duration[FORMAT_DURATION_SIZE];
        format_duration(json_object_get_int64(level.val) * NS_PER_S, duration);
        buf_printf(&text, "%s%s %s", text.len == 0 ? "" : ", ", level.key, duration);
    }
    fields_add(fields, "decide in", buf_string(&text));
    buf_clear(&text);
    buf_printf(&text, "%d of a lane, %d of an agent, %d in all",
               (int)json_get_int(shown, "per_lane", 0), (int)json_get_int(shown, "per_agent", 0),
               (int)json_get_int(shown, "per_store", 0));
    fields_add(fields, "may wait", buf_string(&text));
    buf_clear(&text);
    const char *desk = json_get_string(shown, "timeout_desk", "");
    buf_printf(&text, "%s when there is no room, %s%s%s when nobody decides in time",
               json_get_string(shown, "on_full", ""), json_get_string(shown, "on_timeout", ""),
               desk[0] == '\0' ? "" : " to ", desk);
    fields_add(fields, "otherwise", buf_string(&text));
}

/** Names with commas, or what it means that there is none. */
static void append_names(const char *before, struct json_object *list, const char *none,
                         struct buf *out)
{
    buf_append_string(out, before);
    for (size_t i = 0; i < json_length(list); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(list, i));
        buf_append_string(out, i == 0 ? "" : ", ");
        text_clean(name, strlen(name), out);
    }
    buf_append_string(out, json_length(list) == 0 ? none : "");
}

/** Which values are hidden from whom, and who may have one shown. */
static void print_redaction(struct json_object *rule, struct fields *fields)
{
    auto_buf struct buf text = {0};
    const char *agent = json_get_string(rule, "agent", "*");
    const char *tool = json_get_string(rule, "tool", "*");
    append_names("", json_member(rule, "pointers"), "", &text);
    buf_append_string(&text, "; in requests of ");
    text_clean(agent, strlen(agent), &text);
    buf_append_string(&text, " for ");
    text_clean(tool, strlen(tool), &text);
    append_names("; from ", json_member(rule, "hidden_from"), "everybody", &text);
    append_names("; shown to ", json_member(rule, "reveal"), "nobody", &text);
    fields_add(fields, "values", buf_string(&text));
}

static void print_desks(const struct desks *desks, const struct desks_values *values,
                        struct buf *out)
{
    auto_buf struct buf json = {0};
    auto_json struct json_object *shown = NULL;
    struct style style = style_for(stdout, values->no_colour != 0);
    struct fields fields = {.style = &style, .columns = style_columns(stdout, 100), .out = out};
    desks_write(desks, &json);
    if (json_parse(json.data, json.len, &shown, NULL) < 0) {
        return;
    }
    buf_append_string(out, desks == NULL ? "no desk file: everybody who may use the store decides\n"
                                         : "desks\n");
    struct json_object_iter member;
    json_object_object_foreachC(json_member(shown, "desks"), member)
    {
        print_desk(member.key, member.val, &fields);
    }
    buf_append_string(out, desks == NULL ? "" : "people\n");
    json_object_object_foreachC(json_member(shown, "people"), member)
    {
        print_person(member.key, member.val, &fields);
    }
    struct json_object *redaction = json_member(shown, "redaction");
    buf_append_string(out, json_length(redaction) == 0 ? "" : "hidden\n");
    for (size_t i = 0; i < json_length(redaction); i++) {
        print_redaction(json_object_array_get_idx(redaction, i), &fields);
    }
    buf_append_string(out, "rules\n");
    print_rules(shown, &fields);
}

/** AGENT/TOOL/RISK; the parts are borrowed from `text`, which is changed. */
static int split_request(char *text, struct desks_request *ret_request, struct rondo_error *err)
{
    char *tool = strchr(text, '/');
    char *risk = tool == NULL ? NULL : strchr(tool + 1, '/');
    if (risk == NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "\"%.100s\" is not AGENT/TOOL/RISK, as in deployer/run_shell/high", text);
    }
    *tool = '\0';
    *risk = '\0';
    *ret_request = (struct desks_request){.agent_id = text, .tool = tool + 1};
    for (int i = 0; i < HANDOFF_LEVEL_COUNT; i++) {
        if (strcmp(risk + 1, handoff_level_name((enum handoff_level)i)) == 0) {
            ret_request->risk = (enum handoff_level)i;
            return 0;
        }
    }
    return error_set(err, RONDO_ERR_INVALID,
                     "the risk \"%.40s\" is none of low, medium, high, critical", risk + 1);
}

static int print_route(const struct desks *desks, const struct desks_values *values, char *text,
                       struct buf *out, struct rondo_error *err)
{
    struct desks_request request;
    char desk[HANDOFF_NAME_SIZE] = "";
    const char *rule = "";
    int r = split_request(text, &request, err);
    if (r < 0) {
        return r;
    }
    bool is_routed = desks_route(desks, &request, desk, &rule);
    if (values->wants_json) {
        struct json_writer writer = json_writer(out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "desk", is_routed ? desk : NULL);
        json_write_string(&writer, "rule", rule);
        json_end_object(&writer);
        buf_append_string(out, "\n");
    } else if (is_routed) {
        buf_printf(out, "%s (%s)\n", desk, rule);
    } else {
        buf_append_string(out, "no desk: the request would be a dead letter\n");
    }
    return 0;
}

static int load_if_there(const char *path, struct desks **ret_desks, struct rondo_error *err)
{
    int r = desks_load(path, ret_desks, err);
    return r == RONDO_ERR_NOT_FOUND ? 0 : r;
}

static int run_show(const struct desks_values *values, char *request)
{
    struct rondo_error err = {0};
    struct desks *desks = NULL;
    auto_free char *path = NULL;
    auto_buf struct buf out = {0};
    int r = locate(values, NULL, &path, &err);
    r = r < 0 ? r : load_if_there(path, &desks, &err);
    if (r == 0 && request != NULL) {
        r = print_route(desks, values, request, &out, &err);
    } else if (r == 0 && values->wants_json) {
        desks_write(desks, &out);
        buf_append_string(&out, "\n");
    } else if (r == 0) {
        print_desks(desks, values, &out);
    }
    desks_free(desks);
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    report_output(&out);
    return EXIT_OK;
}

static int cmd_desks_check(const struct invocation *invocation)
{
    struct desks_values values = {0};
    struct option_set set = {.rows = desks_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    int exit_code = parsed.is_over ? parsed.exit_code
                                   : run_check(&values, parsed.argc > 0 ? parsed.argv[0] : NULL);
    option_set_fini(&set);
    return exit_code;
}

static int cmd_desks_show(const struct invocation *invocation)
{
    struct desks_values values = {0};
    struct option_set set = {.rows = desks_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    auto_free char *request = parsed.is_over || parsed.argc == 0 ? NULL : strdup(parsed.argv[0]);
    int exit_code = parsed.is_over ? parsed.exit_code : run_show(&values, request);
    option_set_fini(&set);
    return exit_code;
}

const struct command desks_commands[] = {
    {
        .name = "desks check",
        .synopsis = "[OPTION...] [FILE]",
        .help = "Check a desk file",
        .description = "Says what is wrong with a desk file, with the line: an unknown key, a desk "
                       "that does not exist, a person who is not in `people`. Without FILE it is "
                       "desks.yaml next to the store.",
        .options = desks_options,
        .examples = "rondo desks check new-desks.yaml\tbefore you put it next to the store",
        .run = cmd_desks_check,
    },
    {
        .name = "desks show",
        .synopsis = "[OPTION...] [AGENT/TOOL/RISK]",
        .help = "Show desks and people, or the desk that a request would go to",
        .description = "Shows the desks, who is on them and who may decide about what. With "
                       "AGENT/TOOL/RISK it "
                       "shows the desk that such a request would go to, and the rule that decides.",
        .options = desks_options,
        .examples = "rondo desks show deployer/run_shell/high\twhere would it go?",
        .run = cmd_desks_show,
    },
    {0},
};
