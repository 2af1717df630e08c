// SPDX-License-Identifier: Apache-2.0
/*
 * The tools of one agent. Opening, adding and refreshing happen on one thread, while no call is
 * made; otherwise nothing changes, and any number of threads may prepare and call.
 */
#include "tool/toolbox.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/suggest.h"
#include "model/model.h"
#include "tool/canonical.h"
#include "tool/operands.h"
#include "tool/permission.h"
#include "tool/schema_check.h"

#include <json-c/json.h>
#include <string.h>

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"

struct owned {
    void *object;
    void (*free_owned)(void *object);
};

struct watched {
    void *source;
    toolbox_refresh_fn *refresh;
};

struct toolbox {
    struct tool_surroundings surroundings;
    struct tool **tools; /* each in memory of its own, so that it can be pointed at */
    size_t tool_count;
    struct owned *owned;
    size_t owned_count;
    struct json_object **configs;
    size_t config_count;
    struct watched *watched;
    size_t watched_count;
};

struct toolbox *toolbox_new(const struct tool_surroundings *surroundings)
{
    struct toolbox *toolbox = memory_new_zero(1, sizeof(*toolbox));
    toolbox->surroundings = *surroundings;
    return toolbox;
}

static void tool_fini(struct tool *tool)
{
    free(tool->name);
    free(tool->description);
    free(tool->schema);
}

static void drop_tools(struct toolbox *toolbox, size_t keep)
{
    while (toolbox->tool_count > keep) {
        struct tool *tool = toolbox->tools[--toolbox->tool_count];
        tool_fini(tool);
        free(tool);
    }
}

static void drop_owned(struct toolbox *toolbox, size_t keep)
{
    while (toolbox->owned_count > keep) {
        const struct owned *last = &toolbox->owned[--toolbox->owned_count];
        last->free_owned(last->object);
    }
}

void toolbox_free(struct toolbox *toolbox)
{
    if (toolbox == NULL) {
        return;
    }
    drop_tools(toolbox, 0);
    drop_owned(toolbox, 0);
    for (size_t i = 0; i < toolbox->config_count; i++) {
        json_object_put(toolbox->configs[i]);
    }
    free(toolbox->tools);
    free(toolbox->owned);
    free(toolbox->configs);
    free(toolbox->watched);
    free(toolbox);
}

const struct tool_surroundings *toolbox_surroundings(const struct toolbox *toolbox)
{
    return &toolbox->surroundings;
}

/* --- names --- */

/**
 * Whether a name is one of the loop's own tools, or could be taken for one: letter case and the
 * difference between `-` and `_` do not count. No other tool may have it.
 */
static bool toolbox_is_reserved(const char *name)
{
    static const char *const reserved[] = {"finish_task", "update_plan"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        size_t at = 0;
        for (; name[at] != '\0' && reserved[i][at] != '\0'; at++) {
            char c = name[at] == '-' ? '_' : name[at];
            if (ascii_lower(c) != reserved[i][at]) {
                break;
            }
        }
        if (name[at] == '\0' && reserved[i][at] == '\0') {
            return true;
        }
    }
    return false;
}

/* --- opening --- */

static void keep_config(struct toolbox *toolbox, struct json_object *config)
{
    toolbox->configs =
        memory_resize(toolbox->configs, toolbox->config_count + 1, sizeof(struct json_object *));
    toolbox->configs[toolbox->config_count++] = json_object_get(config);
}

bool toolbox_wants_confirmation(struct json_object *config)
{
    static const char *const none[] = {"never", "none", "no", "auto", "off", "false"};
    struct json_object *approval = NULL;
    bool is_wanted = json_get_bool(config, "require_confirmation", false);
    if (!json_object_object_get_ex(config, "approval", &approval) || approval == NULL) {
        return is_wanted;
    }
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        if (strcmp(json_object_get_string(approval), none[i]) == 0) {
            return is_wanted;
        }
    }
    return true;
}

/** What any entry can say about its tools. */
static void apply_entry(struct toolbox *toolbox, size_t first, struct json_object *config)
{
    struct json_object *permissions = NULL;
    json_object_object_get_ex(config, "permissions", &permissions);
    bool needs_confirmation = toolbox_wants_confirmation(config);
    for (size_t i = first; i < toolbox->tool_count; i++) {
        struct tool *tool = toolbox->tools[i];
        if (tool->permissions == NULL) {
            tool->permissions = permissions;
        }
        tool->needs_confirmation = tool->needs_confirmation || needs_confirmation;
    }
}

/**
 * What goes wrong with a tool, its files or its server is never trouble with the store, though the
 * code of the error says so in other places.
 */
static int code_of_tool(int code)
{
    static const int of_stores[] = {RONDO_ERR_IO,   RONDO_ERR_FULL,   RONDO_ERR_CORRUPT,
                                    RONDO_ERR_BUSY, RONDO_ERR_FENCED, RONDO_ERR_VERSION};
    for (size_t i = 0; i < sizeof(of_stores) / sizeof(of_stores[0]); i++) {
        if (of_stores[i] == code) {
            return RONDO_ERR_SYSTEM;
        }
    }
    return code;
}

int toolbox_open(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    const char *name = json_get_string(config, "type", "");
    const struct tool_type *type = tool_type_find(name);
    if (type == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "tools of type \"%s\" cannot run", name);
    }
    size_t tools_before = toolbox->tool_count;
    size_t owned_before = toolbox->owned_count;
    size_t watched_before = toolbox->watched_count;
    keep_config(toolbox, config);
    int r = type->open(toolbox, config, err);
    if (r < 0) {
        error_prefix(err, "while opening the tool \"%s\"", name);
        drop_tools(toolbox, tools_before);
        drop_owned(toolbox, owned_before);
        toolbox->watched_count = watched_before;
        err->code = code_of_tool(r);
        return err->code;
    }
    apply_entry(toolbox, tools_before, config);
    return 0;
}

static int parse_schema(const struct tool *tool, struct json_object **ret_schema,
                        struct rondo_error *err)
{
    const char *text =
        tool->schema == NULL || tool->schema[0] == '\0' ? NO_ARGUMENTS : tool->schema;
    auto_json struct json_object *schema = NULL;
    int r = json_parse(text, strlen(text), &schema, err);
    if (r == 0 && !json_object_is_type(schema, json_type_object)) {
        r = error_set(err, RONDO_ERR_INVALID, "it is not an object");
    }
    if (r < 0) {
        error_prefix(err, "the schema of the tool \"%s\" cannot be read", tool->name);
        return r;
    }
    *ret_schema = steal_pointer(&schema);
    return 0;
}

static int check_new_tool(const struct toolbox *toolbox, const struct tool *tool,
                          struct rondo_error *err)
{
    if (tool->name == NULL || tool->name[0] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "a tool has no name");
    }
    if (toolbox_is_reserved(tool->name)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a tool \"%s\" has the name of one of Rondo's own tools; exclude it "
                         "(`tool_exclude` of an mcp entry) or give it a prefix (`tool_prefix`)",
                         tool->name);
    }
    if (toolbox->tool_count == TOOLBOX_MAX_TOOLS) {
        return error_set(err, RONDO_ERR_LIMIT, "an agent can have %d tools at most",
                         TOOLBOX_MAX_TOOLS);
    }
    if (toolbox_find(toolbox, tool->name) != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "there are two tools \"%s\"", tool->name);
    }
    auto_json struct json_object *schema = NULL;
    return parse_schema(tool, &schema, err);
}

int toolbox_add(struct toolbox *toolbox, const struct tool *tool, struct rondo_error *err)
{
    struct tool taken = *tool;
    int r = check_new_tool(toolbox, &taken, err);
    if (r < 0) {
        tool_fini(&taken);
        return r;
    }
    if (taken.description == NULL) {
        taken.description = memory_dup_string("");
    }
    if (taken.schema == NULL || taken.schema[0] == '\0') {
        free(taken.schema);
        taken.schema = memory_dup_string(NO_ARGUMENTS);
    }
    struct tool *added = memory_new_zero(1, sizeof(*added));
    *added = taken;
    toolbox->tools = memory_resize(toolbox->tools, toolbox->tool_count + 1, sizeof(struct tool *));
    toolbox->tools[toolbox->tool_count++] = added;
    return 0;
}

struct tool toolbox_tool(const char *type, const struct tool_function *function, void *context)
{
    return (struct tool){
        .name = memory_dup_string(function->name),
        .description = memory_dup_string(function->description),
        .schema = memory_dup_string(function->schema),
        .type = type,
        .is_pure = function->is_pure,
        .is_idempotent = function->is_idempotent,
        .is_concurrent = function->is_concurrent,
        .is_read_only = function->is_read_only,
        .arguments = function->arguments == NULL ? canonical_none : function->arguments,
        .run = function->run,
        .context = context,
    };
}

void toolbox_write_schema(struct json_object *parameters,
                          void (*write_parameter)(struct json_writer *writer,
                                                  struct json_object *parameter),
                          struct buf *ret_schema)
{
    struct json_writer writer = json_writer(ret_schema);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "object");
    json_begin_object(&writer, "properties");
    for (size_t i = 0; i < json_length(parameters); i++) {
        write_parameter(&writer, json_object_array_get_idx(parameters, i));
    }
    json_end_object(&writer);
    json_begin_array(&writer, "required");
    for (size_t i = 0; i < json_length(parameters); i++) {
        struct json_object *parameter = json_object_array_get_idx(parameters, i);
        if (json_get_bool(parameter, "required", false)) {
            json_write_string(&writer, NULL, json_get_string(parameter, "name", ""));
        }
    }
    json_end_array(&writer);
    json_write_bool(&writer, "additionalProperties", false);
    json_end_object(&writer);
}

int toolbox_add_function(struct toolbox *toolbox, const char *type,
                         const struct tool_function *function, void *context,
                         struct rondo_error *err)
{
    const struct tool tool = toolbox_tool(type, function, context);
    return toolbox_add(toolbox, &tool, err);
}

void toolbox_own(struct toolbox *toolbox, void *owned, void (*free_owned)(void *owned))
{
    toolbox->owned =
        memory_resize(toolbox->owned, toolbox->owned_count + 1, sizeof(*toolbox->owned));
    toolbox->owned[toolbox->owned_count++] = (struct owned){owned, free_owned};
}

/* --- entries whose tools change --- */

void toolbox_watch(struct toolbox *toolbox, void *source, toolbox_refresh_fn *refresh)
{
    toolbox->watched =
        memory_resize(toolbox->watched, toolbox->watched_count + 1, sizeof(*toolbox->watched));
    toolbox->watched[toolbox->watched_count++] = (struct watched){source, refresh};
}

bool toolbox_refresh(struct toolbox *toolbox, struct buf *ret_news)
{
    size_t before = ret_news->len;
    for (size_t i = 0; i < toolbox->watched_count; i++) {
        toolbox->watched[i].refresh(toolbox, toolbox->watched[i].source, ret_news);
    }
    return ret_news->len > before;
}

static bool is_same_definition(const struct tool *left, const struct tool *right)
{
    return strcmp(left->description, right->description == NULL ? "" : right->description) == 0 &&
           right->schema != NULL && strcmp(left->schema, right->schema) == 0 &&
           left->is_read_only == right->is_read_only && left->is_idempotent == right->is_idempotent;
}

/** Put a definition in the place of the one before; what the role says of the tool stays. */
static void replace_tool(struct tool *old, struct tool *fresh)
{
    fresh->permissions = old->permissions;
    fresh->needs_confirmation = old->needs_confirmation;
    fresh->generation = old->generation + 1;
    tool_fini(old);
    *old = *fresh;
}

int toolbox_put(struct toolbox *toolbox, struct json_object *config, const struct tool *tool,
                bool *ret_is_changed, struct rondo_error *err)
{
    struct tool *old = (struct tool *)toolbox_find(toolbox, tool->name);
    *ret_is_changed = true;
    if (old == NULL || old->source != tool->source) {
        size_t first = toolbox->tool_count;
        int r = toolbox_add(toolbox, tool, err);
        if (r == 0) {
            apply_entry(toolbox, first, config);
        }
        return r;
    }
    struct tool fresh = *tool;
    auto_json struct json_object *schema = NULL;
    int r = parse_schema(&fresh, &schema, err);
    if (r < 0 || is_same_definition(old, &fresh)) {
        tool_fini(&fresh);
        *ret_is_changed = false;
        return r;
    }
    replace_tool(old, &fresh);
    return 0;
}

void toolbox_keep(struct toolbox *toolbox, const void *source,
                  bool (*is_wanted)(void *context, const char *name), void *context,
                  struct buf *ret_news)
{
    size_t kept = 0;
    for (size_t i = 0; i < toolbox->tool_count; i++) {
        struct tool *tool = toolbox->tools[i];
        if (tool->source != source || is_wanted(context, tool->name)) {
            toolbox->tools[kept++] = tool;
            continue;
        }
        buf_printf(ret_news, "tool %s of MCP server %s is gone\n", tool->name, tool->server);
        tool_fini(tool);
        free(tool);
    }
    toolbox->tool_count = kept;
}

/* --- finding --- */

size_t toolbox_count(const struct toolbox *toolbox)
{
    return toolbox->tool_count;
}

const struct tool *toolbox_at(const struct toolbox *toolbox, size_t index)
{
    return index < toolbox->tool_count ? toolbox->tools[index] : NULL;
}

const struct tool *toolbox_find(const struct toolbox *toolbox, const char *name)
{
    for (size_t i = 0; i < toolbox->tool_count; i++) {
        if (strcmp(toolbox->tools[i]->name, name) == 0) {
            return toolbox->tools[i];
        }
    }
    return NULL;
}

void toolbox_describe(const struct toolbox *toolbox, struct model_tool *ret_tools)
{
    for (size_t i = 0; i < toolbox->tool_count; i++) {
        const struct tool *tool = toolbox->tools[i];
        ret_tools[i] = (struct model_tool){
            .name = tool->name, .description = tool->description, .schema = tool->schema};
    }
}

/* --- preparing --- */

static enum tool_refusal refuse_unknown(const struct toolbox *toolbox, const char *name,
                                        struct tool_result *ret_result)
{
    struct suggest suggest = {.word = name, .len = strlen(name)};
    auto_buf struct buf names = {0};
    auto_buf struct buf hint = {0};
    for (size_t i = 0; i < toolbox->tool_count; i++) {
        const char *known = toolbox->tools[i]->name;
        suggest_offer(&suggest, known);
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", known);
    }
    suggest_write(&suggest, "", "", &hint);
    tool_fail(ret_result, "Error: there is no tool `%.128s`%s (the tools are: %s)", name,
              buf_string(&hint), names.len > 0 ? buf_string(&names) : "none");
    return TOOL_UNKNOWN;
}

/** Whether any text or name in a value holds a NUL, after which permissions would not look. */
static bool holds_nul(struct json_object *value)
{
    if (json_object_is_type(value, json_type_string)) {
        size_t len = (size_t)json_object_get_string_len(value);
        return memchr(json_object_get_string(value), '\0', len) != NULL;
    }
    if (json_object_is_type(value, json_type_array)) {
        bool is_found = false;
        for (size_t i = 0; i < json_object_array_length(value) && !is_found; i++) {
            is_found = holds_nul(json_object_array_get_idx(value, i));
        }
        return is_found;
    }
    if (!json_object_is_type(value, json_type_object)) {
        return false;
    }
    bool is_found = false;
    struct json_object_iterator at = json_object_iter_begin(value);
    struct json_object_iterator end = json_object_iter_end(value);
    for (; !is_found && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        is_found = holds_nul(json_object_iter_peek_value(&at));
    }
    return is_found;
}

/** What a model writes for "no arguments". */
static bool is_nothing(const char *arguments)
{
    static const char blanks[] = " \t\r\n";
    const char *at = arguments + strspn(arguments, blanks);
    if (strncmp(at, "null", 4) == 0) {
        at += 4;
    }
    return at[strspn(at, blanks)] == '\0';
}

static bool parse_arguments(const char *name, const char *arguments,
                            struct json_object **ret_arguments, struct tool_result *ret_result)
{
    size_t len = arguments == NULL ? 0 : strlen(arguments);
    struct rondo_error err = {0};
    if (len > TOOL_ARGUMENTS_MAX_BYTES) {
        tool_fail(ret_result, "Error: the arguments of `%s` have %zu bytes; at most %zu are taken",
                  name, len, TOOL_ARGUMENTS_MAX_BYTES);
        return false;
    }
    if (len == 0 || is_nothing(arguments)) {
        *ret_arguments = json_object_new_object();
        return true;
    }
    auto_json struct json_object *value = NULL;
    if (json_parse(arguments, len, &value, &err) < 0) {
        tool_fail(ret_result, "Error: the arguments of `%s` are not a JSON object: %s", name,
                  err.message);
        return false;
    }
    if (!json_object_is_type(value, json_type_object)) {
        tool_fail(ret_result,
                  "Error: the arguments of `%s` must be a JSON object, such as {\"name\": "
                  "\"value\"}",
                  name);
        return false;
    }
    if (holds_nul(value)) {
        tool_fail(ret_result, "Error: an argument of `%s` contains a NUL character (\\u0000)",
                  name);
        return false;
    }
    *ret_arguments = steal_pointer(&value);
    return true;
}

/** The schema is read for each call: as a tree it is much larger than its text, and agents are
 * many.
 */
static bool check_arguments(const struct tool *tool, struct json_object *arguments,
                            struct tool_result *ret_result)
{
    auto_buf struct buf faults = {0};
    auto_json struct json_object *schema = NULL;
    struct rondo_error err = {0};
    if (parse_schema(tool, &schema, &err) < 0) {
        tool_fail(ret_result, "Error: `%s` was not called: %s", tool->name, err.message);
        return false;
    }
    schema_complete(schema, arguments);
    if (schema_check(schema, arguments, &faults)) {
        return true;
    }
    tool_fail(ret_result, "Error: the arguments of `%s` do not fit: %s", tool->name,
              buf_string(&faults));
    return false;
}

/** Whether permissions allow every form of a call; what they deny, they deny as written, too. */
static bool permits(const struct tool *tool, const struct canonical_forms *forms,
                    struct json_object *arguments, const char **ret_rule)
{
    if (permission_denies(tool->permissions, arguments, ret_rule)) {
        return false;
    }
    for (size_t i = 0; i < forms->count; i++) {
        if (!permission_allows(tool->permissions, forms->forms[i], ret_rule)) {
            return false;
        }
    }
    return true;
}

static bool check_permissions(const struct toolbox *toolbox, const struct tool *tool,
                              struct json_object *arguments, struct tool_result *ret_result)
{
    const char *rule = NULL;
    struct canonical_forms forms;
    if (tool->permissions == NULL) {
        return true;
    }
    bool is_whole =
        canonical_make(tool, toolbox->surroundings.workspace, tool->folder, arguments, &forms);
    bool is_allowed = is_whole && permits(tool, &forms, arguments, &rule);
    canonical_forms_fini(&forms);
    if (!is_whole) {
        tool_fail(ret_result, "Permission denied: %s — it contains too many commands", tool->name);
    } else if (!is_allowed && rule != NULL) {
        tool_fail(ret_result, "Permission denied: %s — blocked by rule: %s", tool->name, rule);
    } else if (!is_allowed) {
        tool_fail(ret_result, "Permission denied: %s — blocked by default policy", tool->name);
    }
    return is_allowed;
}

bool toolbox_forms(const struct toolbox *toolbox, const struct tool *tool,
                   struct json_object *arguments, struct canonical_forms *ret_forms)
{
    return canonical_make(tool, toolbox->surroundings.workspace, NULL, arguments, ret_forms);
}

void toolbox_operands(const struct toolbox *toolbox, const struct tool *tool,
                      struct json_object *arguments, struct tool_operands *ret_operands)
{
    operands_read(tool, toolbox->surroundings.workspace, arguments, ret_operands);
}

enum tool_refusal toolbox_prepare(const struct toolbox *toolbox, const char *name,
                                  const char *arguments, struct json_object **ret_arguments,
                                  struct tool_result *ret_result)
{
    const struct tool *tool = toolbox_find(toolbox, name);
    if (tool == NULL) {
        return refuse_unknown(toolbox, name, ret_result);
    }
    auto_json struct json_object *object = NULL;
    if (!parse_arguments(name, arguments, &object, ret_result) ||
        !check_arguments(tool, object, ret_result)) {
        return TOOL_BAD_ARGUMENTS;
    }
    if (!check_permissions(toolbox, tool, object, ret_result)) {
        return TOOL_NOT_PERMITTED;
    }
    *ret_arguments = steal_pointer(&object);
    return TOOL_READY;
}

/* --- calling --- */

static bool may_begin(const struct toolbox *toolbox, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    const struct clock *clock = toolbox->surroundings.clock;
    clock = clock == NULL ? clock_system() : clock;
    if (cancel_is_set(call->cancel)) {
        tool_fail(ret_result, "Error: cancelled before the call was made");
        return false;
    }
    if (call->deadline_ns > 0 && clock_monotonic(clock) >= call->deadline_ns) {
        tool_fail(ret_result, "Error: no time is left for the call; it was not made");
        return false;
    }
    return true;
}

void toolbox_call(const struct toolbox *toolbox, const struct tool *tool,
                  const struct tool_call *call, struct tool_result *ret_result)
{
    if (!may_begin(toolbox, call, ret_result)) {
        return;
    }
    tool->run(tool, call, ret_result);
    tool_result_make_text(ret_result);
    tool_result_truncate(ret_result, TOOL_RESULT_MAX_BYTES);
}
