// SPDX-License-Identifier: Apache-2.0
/* Summary of a role file. */
#include "cli/commands/role_summary.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "cli/commands/role_times.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/text.h"
#include "policy/ruleset.h"
#include "tool/toolbox.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/** Append with a comma before it, unless it is the first. */
static void add_part(struct buf *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_part(struct buf *out, const char *format, ...)
{
    char part[160];
    va_list args;
    va_start(args, format);
    vsnprintf(part, sizeof(part), format, args);
    va_end(args);
    buf_printf(out, "%s%s", out->len > 0 ? ", " : "", part);
}

static void add_count(struct buf *out, int64_t count, const char *what)
{
    if (count < 0) {
        return;
    }
    auto_buf struct buf number = {0};
    text_count(count, &number);
    add_part(out, "%s %s%s", buf_string(&number), what, count == 1 ? "" : "s");
}

static void add_model(const struct role_model *model, struct fields *fields)
{
    auto_buf struct buf text = {0};
    bool is_named = model->name[0] != '\0';
    buf_printf(&text, "%s%s%s, temperature %.3g", model->provider, is_named ? ":" : "",
               is_named ? model->name : "chosen when it is run", model->temperature);
    add_count(&text, model->max_tokens, "token");
    buf_append_string(&text, " a reply");
    if (model->base_url != NULL) {
        buf_printf(&text, ", at %s", model->base_url);
    }
    fields_add(fields, "model", buf_string(&text));
}

/** Append what distinguishes a tool from others of its type, in parentheses. */
static void add_detail(struct json_object *tool, struct buf *out)
{
    static const char *const keys[] = {"name",     "base_url", "command",   "url", "root_path",
                                       "database", "module",   "repo_path", NULL};
    for (size_t i = 0; keys[i] != NULL; i++) {
        const char *text = json_get_string(tool, keys[i], NULL);
        if (text != NULL && strcmp(text, ".") != 0) {
            buf_printf(out, " (%s)", text);
            return;
        }
    }
    struct json_object *commands = json_member(tool, "allowed_commands");
    size_t count = json_length(commands);
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s%s", i == 0 ? " (" : ", ",
                   json_object_get_string(json_object_array_get_idx(commands, i)));
    }
    buf_append_string(out, count > 0 ? ")" : "");
}

static void add_tools(struct json_object *tools, struct fields *fields)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < json_object_array_length(tools); i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        add_part(&text, "%s", json_get_string(tool, "type", ""));
        add_detail(tool, &text);
    }
    fields_add(fields, "tools", text.len > 0 ? buf_string(&text) : "none");
}

/** Types of tools whose calls a policy of Rondo's own asks a person about. */
static void add_confirmed(struct json_object *tools, struct fields *fields)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < json_object_array_length(tools); i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        if (toolbox_wants_confirmation(tool)) {
            add_part(&text, "%s", json_get_string(tool, "type", ""));
        }
    }
    if (text.len > 0) {
        buf_append_string(&text, ": each call needs a person (policy `" RULESET_CONFIRM "`)");
        fields_add(fields, "confirmed", buf_string(&text));
    }
}

/** Texts of a list, or the members `key` of its objects. */
static void add_list(struct json_object *list, const char *key, const char *label,
                     struct fields *fields)
{
    auto_buf struct buf text = {0};
    size_t count = json_length(list);
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        add_part(&text, "%s",
                 key == NULL ? json_object_get_string(item) : json_get_string(item, key, ""));
    }
    if (count > 0) {
        fields_add(fields, label, buf_string(&text));
    }
}

static void add_limits(const struct role_guardrails *limits, struct fields *fields)
{
    auto_buf struct buf run = {0};
    add_count(&run, limits->max_iterations, "iteration");
    add_count(&run, limits->autonomous_token_budget, "token");
    add_count(&run, limits->autonomous_timeout_seconds, "second");
    fields_add(fields, "run", buf_string(&run));
    auto_buf struct buf iteration = {0};
    add_count(&iteration, limits->max_request_limit, "request");
    add_count(&iteration, limits->max_tool_calls, "tool call");
    add_count(&iteration, limits->max_tokens_per_run, "output token");
    add_count(&iteration, limits->input_tokens_limit, "input token");
    add_count(&iteration, limits->total_tokens_limit, "token");
    add_count(&iteration, limits->per_request_input_tokens_limit, "input token a request");
    add_count(&iteration, limits->timeout_seconds, "second");
    fields_add(fields, "iteration", buf_string(&iteration));
}

/** What all runs of the role may use together. */
static void add_budgets(struct json_object *guardrails, struct fields *fields)
{
    static const struct {
        const char *name;
        const char *unit;
    } budgets[] = {
        {"daemon_daily_token_budget", "tokens a day"},
        {"daemon_token_budget", "tokens ever"},
        {"daemon_daily_cost_budget", "dollars a day"},
        {"daemon_weekly_cost_budget", "dollars a week"},
        {"daemon_cost_budget", "dollars ever"},
    };
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
        struct json_object *value = json_member(guardrails, budgets[i].name);
        if (value != NULL) {
            add_part(&text, "%s %s", json_object_get_string(value), budgets[i].unit);
        }
    }
    if (text.len > 0) {
        fields_add(fields, "all runs", buf_string(&text));
    }
}

/** Kinds of memory that an agent has. */
static void add_memory(struct json_object *memory, struct fields *fields)
{
    static const char *const kinds[] = {"episodic", "semantic", "procedural"};
    auto_buf struct buf text = {0};
    for (size_t i = 0; memory != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (json_get_bool(json_member(memory, kinds[i]), "enabled", true)) {
            add_part(&text, "%s", kinds[i]);
        }
    }
    if (text.len > 0) {
        fields_add(fields, "memory", buf_string(&text));
    }
}

/** Why no run of a valid role begins. */
static void add_refusal(const struct role *role, struct fields *fields)
{
    struct rondo_error err = {0};
    if (role_check_secrets(role, &err) < 0) {
        fields_add(fields, "refused", err.message);
    }
}

static void add_conditions(const struct role *role, struct fields *fields)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < role->condition_count; i++) {
        add_part(&text, "%s", role->conditions[i].name);
    }
    if (text.len > 0) {
        fields_add(fields, "until", buf_string(&text));
    }
}

static void add_unsupported(const struct role *role, struct fields *fields)
{
    struct role_findings findings = {0};
    role_find_unsupported(role, ROLE_ALONE, &findings);
    for (size_t i = 0; i < findings.count; i++) {
        auto_buf struct buf text = {0};
        const struct role_finding *item = &findings.items[i];
        buf_printf(&text, "%s: %s", item->path, item->message);
        if (item->line > 0) {
            buf_printf(&text, " (line %zu, column %zu)", item->line, item->column);
        }
        fields_add(fields, i == 0 ? "unsupported" : "", buf_string(&text));
    }
    role_findings_fini(&findings);
}

static void add_role(const struct role *role, struct fields *fields)
{
    struct json_object *spec = json_member(role->normal, "spec");
    if (role->description[0] != '\0') {
        fields_add(fields, "description", role->description);
    }
    add_model(&role->model, fields);
    add_tools(role->tools, fields);
    add_confirmed(role->tools, fields);
    add_list(json_member(spec, "skills"), NULL, "skills", fields);
    add_list(json_member(spec, "offered_skills"), "name", "offered", fields);
    add_list(json_member(spec, "triggers"), "type", "triggers", fields);
    role_times_add(json_member(spec, "triggers"), clock_now(clock_system()) / NS_PER_S, fields);
    add_list(json_member(spec, "sinks"), "type", "sinks", fields);
    add_memory(json_member(spec, "memory"), fields);
    add_conditions(role, fields);
    add_limits(&role->guardrails, fields);
    add_budgets(json_member(spec, "guardrails"), fields);
    if (role->policy != NULL) {
        fields_add(fields, "policies", role->policy);
    }
    add_unsupported(role, fields);
    add_refusal(role, fields);
}

static void write_count(size_t count, const char *what, struct buf *out)
{
    if (count > 0) {
        buf_printf(out, ", %zu %s%s", count, what, count == 1 ? "" : "s");
    }
}

void role_summary_text(const struct role_summary *summary, const struct style *style,
                       size_t columns, struct buf *ret_buf)
{
    auto_buf struct buf name = {0};
    const char *text = summary->role != NULL ? summary->role->name : summary->file;
    text_clean(text, strlen(text), &name);
    style_append(style, COLOUR_BOLD, buf_string(&name), ret_buf);
    buf_append_string(ret_buf, ": ");
    style_append(style, summary->is_valid ? COLOUR_GREEN : COLOUR_RED,
                 summary->is_valid ? "valid" : "not valid", ret_buf);
    write_count(summary->errors, "error", ret_buf);
    write_count(summary->warnings, "warning", ret_buf);
    buf_append_string(ret_buf, "\n");
    if (summary->role != NULL) {
        struct fields fields = {.style = style, .columns = columns, .out = ret_buf};
        add_role(summary->role, &fields);
    }
}
