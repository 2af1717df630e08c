// SPDX-License-Identifier: Apache-2.0
/* What `run` does not do yet, found in the normal form and said by name. */
#include "role/reader.h"

#include "role/role.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/process/program.h"
#include "role/fields.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void warn(const struct role *role, struct role_findings *findings, const char *path,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/** The place of a setting, or of the section or list item that it is in. */
static struct json_object *find_place(const struct role *role, const char *path)
{
    auto_free char *part = memory_dup_string(path);
    struct json_object *place = json_member(role->places, part);
    for (size_t len = strlen(part); place == NULL && len > 0; len--) {
        if (part[len - 1] == '.' || part[len - 1] == '[') {
            part[len - 1] = '\0';
            place = json_member(role->places, part);
        }
    }
    return place;
}

/** @param path in an envelope; of a flat file it is shown as the file has it */
static void warn(const struct role *role, struct role_findings *findings, const char *path,
                 const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    struct json_object *place = find_place(role, path);
    bool is_known = json_object_is_type(place, json_type_array);
    size_t at[2] = {0};
    for (size_t i = 0; is_known && i < 2; i++) {
        at[i] = (size_t)json_object_get_int64(json_object_array_get_idx(place, i));
    }
    bool is_flat = json_get_int(json_member(role->normal, "metadata"), "spec_version", 0) == 3;
    findings_add(findings, ROLE_WARNING, at[0], at[1], path + (is_flat ? strlen("spec.") : 0),
                 message, NULL);
}

/** Types of a list whose entries are left out, with the reason. */
static void find_types(const struct role *role, const char *section, const char *const *types,
                       const char *reason, struct role_findings *findings)
{
    struct json_object *list = json_member(json_member(role->normal, "spec"), section);
    size_t count = json_length(list);
    for (size_t i = 0; i < count; i++) {
        const char *type = json_get_string(json_object_array_get_idx(list, i), "type", "");
        for (size_t j = 0; types[j] != NULL; j++) {
            if (strcmp(types[j], type) == 0) {
                char path[64];
                snprintf(path, sizeof(path), "spec.%s[%zu]", section, i);
                warn(role, findings, path, "%s: %s", type, reason);
            }
        }
    }
}

/** A turn of a conversation is one answer. */
static void find_conversations(const struct role *role, struct role_findings *findings)
{
    struct json_object *list = json_member(json_member(role->normal, "spec"), "triggers");
    size_t count = json_length(list);
    for (size_t i = 0; i < count; i++) {
        struct json_object *trigger = json_object_array_get_idx(list, i);
        if (json_get_string(trigger, "conversation", "")[0] != '\0' &&
            json_get_bool(trigger, "autonomous", false)) {
            char path[64];
            snprintf(path, sizeof(path), "spec.triggers[%zu].autonomous", i);
            warn(role, findings, path, "has no effect: a turn of a conversation is one answer");
        }
    }
}

static void find_lists(const struct role *role, bool is_on_duty, struct role_findings *findings)
{
    static const char *const chats[] = {"discord", "slack", NULL};
    static const char *const functions[] = {"custom", NULL};
    find_conversations(role, findings);
    if (!is_on_duty) {
        find_types(role, "triggers", chats,
                   "needs a connection by WebSocket, which Rondo does not have: use a webhook or "
                   "telegram trigger",
                   findings);
    }
    find_types(role, "sinks", functions,
               "Rondo calls no function in Python: use a webhook, file or command sink", findings);
}

bool role_source_is_unreadable(const char *source)
{
    static const char *const ends[] = {".docx", ".xlsx", ".pptx", ".doc", ".odt",
                                       ".epub", ".png",  ".jpg",  ".jpeg"};
    size_t len = strlen(source);
    if (strncasecmp(source, "http://", 7) == 0 || strncasecmp(source, "https://", 8) == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t end_len = strlen(ends[i]);
        if (len >= end_len && strcasecmp(source + len - end_len, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_pdf(const char *source)
{
    size_t len = strlen(source);
    return len >= 4 && strcasecmp(source + len - 4, ".pdf") == 0;
}

/** Whether the program that reads PDF files is installed. */
static bool has_pdf_reader(void)
{
    char path[PATH_MAX];
    char reason[256];
    return program_find("pdftotext", (const char *const *)environ, "/", path, reason);
}

static void find_ingest(const struct role *role, struct json_object *ingest,
                        struct role_findings *findings)
{
    struct json_object *sources = json_member(ingest, "sources");
    if (ingest != NULL && !json_get_bool(ingest, "auto", true)) {
        warn(role, findings, "spec.ingest.auto",
             "has no effect: documents are read when the agent first searches them");
    }
    size_t count = json_length(sources);
    for (size_t i = 0; i < count; i++) {
        const char *source = json_object_get_string(json_object_array_get_idx(sources, i));
        char path[64];
        snprintf(path, sizeof(path), "spec.ingest.sources[%zu]", i);
        if (source != NULL && is_pdf(source) && !has_pdf_reader()) {
            warn(role, findings, path,
                 "%.80s is not read: that needs pdftotext (package poppler-utils), which is not "
                 "installed",
                 source);
        } else if (source != NULL && role_source_is_unreadable(source)) {
            warn(role, findings, path, "%.80s is not read: only text, HTML and PDF files are",
                 source);
        }
    }
}

/** The model's effort of thinking can be set: OpenAI's reasoning models, as InitRunner has it. */
static bool has_effort(const struct role_model *model)
{
    return strcmp(model->provider, "openai") == 0 &&
           (model->name[0] == 'o' ||
            (strncmp(model->name, "gpt-5", 5) == 0 && strncmp(model->name, "gpt-5-chat", 10) != 0));
}

/** Whether Anthropic's cache is used as a role says. */
static bool is_usual_cache(struct json_object *cache)
{
    if (!json_object_is_type(cache, json_type_object)) {
        return json_object_get_boolean(cache);
    }
    return json_get_bool(cache, "instructions", true) && json_get_bool(cache, "tools", true) &&
           strcmp(json_get_string(cache, "ttl", "5m"), "5m") == 0;
}

/** Settings that are not sent to the provider that the role names. */
static void find_model(const struct role *role, struct json_object *model,
                       struct role_findings *findings)
{
    static const struct {
        const char *key;
        bool is_anthropic;
    } rows[] = {
        {"top_k", true},
        {"seed", false},
        {"presence_penalty", false},
        {"frequency_penalty", false},
        {"logit_bias", false},
    };
    bool is_anthropic = strcmp(role->model.provider, "anthropic") == 0;
    if (role->model.provider[0] == '\0') {
        return;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (json_member(model, rows[i].key) != NULL && rows[i].is_anthropic != is_anthropic) {
            char path[64];
            snprintf(path, sizeof(path), "spec.model.%s", rows[i].key);
            warn(role, findings, path, "has no effect: the provider %.40s has no such setting",
                 role->model.provider);
        }
    }
    struct json_object *after = json_member(model, "fallback_on");
    for (size_t i = 0; i < json_length(after); i++) {
        if (strcmp(json_object_get_string(json_object_array_get_idx(after, i)),
                   "ContentFilterError") == 0) {
            warn(role, findings, "spec.model.fallback_on",
                 "ContentFilterError has no effect: no other model takes over after a refusal");
        }
    }
    struct json_object *cache = json_member(model, "prompt_cache");
    if (json_member(model, "thinking") != NULL && !has_effort(&role->model)) {
        warn(role, findings, "spec.model.thinking",
             "has no effect: only OpenAI's reasoning models have it");
    }
    if (cache != NULL && !is_anthropic) {
        warn(role, findings, "spec.model.prompt_cache", "has no effect: only Anthropic has it");
    } else if (cache != NULL && !is_usual_cache(cache)) {
        warn(role, findings, "spec.model.prompt_cache",
             "Anthropic's cache is always used, for five minutes");
    }
}

/** Settings of traces that an exporter does not take. */
static void find_observability(const struct role *role, enum role_use use,
                               struct json_object *section, struct role_findings *findings)
{
    const char *backend = section == NULL ? "" : json_get_string(section, "backend", "");
    if (section != NULL && use != ROLE_ALONE) {
        warn(role, findings, "spec.observability",
             "has no effect in a server, which sends all traces where its own environment says: "
             "OTEL_EXPORTER_OTLP_ENDPOINT");
    } else if (strcmp(backend, "logfire") == 0) {
        warn(role, findings, "spec.observability.backend",
             "no traces are sent: set OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS "
             "to Logfire's address and token");
    }
}

static void find_sections(const struct role *role, enum role_use use,
                          struct role_findings *findings)
{
    struct json_object *spec = json_member(role->normal, "spec");
    find_observability(role, use, json_member(spec, "observability"), findings);
    find_model(role, json_member(spec, "model"), findings);
    find_ingest(role, json_member(spec, "ingest"), findings);
    struct json_object *search = json_member(spec, "tool_search");
    if (search != NULL && json_get_bool(search, "enabled", false)) {
        warn(role, findings, "spec.tool_search",
             "run does not hide tools: the model sees them all");
    }
}

static bool runs_tool(const char *type)
{
#define TOOL_RUNS(id) #id,
#define TOOL_LOOP(id) #id,
#define TOOL_KNOWN(id)
#define TOOL(id, runs, ...) TOOL_##runs(id)
    static const char *const types[] = {
#include "role/tools.def"
        NULL,
    };
    for (size_t i = 0; types[i] != NULL; i++) {
        if (strcmp(types[i], type) == 0) {
            return true;
        }
    }
    return false;
}

/** A rule of who approves calls that is not one of Rondo's: it asks more often, never less. */
static bool has_other_approval(struct json_object *tool)
{
    static const char *const known[] = {"required", "auto", "never"};
    struct json_object *approval = json_member(tool, "approval");
    const char *rule =
        json_object_is_type(approval, json_type_string) ? json_object_get_string(approval) : "";
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(rule, known[i]) == 0) {
            return false;
        }
    }
    return approval != NULL;
}

static void find_tools(const struct role *role, struct role_findings *findings)
{
    struct json_object *tools = role->tools;
    size_t count = json_length(tools);
    for (size_t i = 0; i < count; i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        const char *type =
            json_member(tool, "type") == NULL ? "" : json_get_string(tool, "type", "");
        char path[64];
        snprintf(path, sizeof(path), "spec.tools[%zu]", i);
        if (!runs_tool(type)) {
            warn(role, findings, path,
                 "run has no tool of the type %.60s: the agent does without it", type);
        }
        if (has_other_approval(tool)) {
            warn(role, findings, path,
                 "approval: Rondo knows required, auto and never; a person is asked for each call");
        }
        if (strcmp(type, "sql") == 0 && !json_get_bool(tool, "read_only", true) &&
            strcmp(json_get_string(tool, "database", ""), ":memory:") != 0) {
            warn(role, findings, path, "a database in a file is only read");
        }
        if (strcmp(type, "mcp") == 0 &&
            strcmp(json_get_string(tool, "transport", ""), "sse") == 0) {
            warn(role, findings, path,
                 "the transport sse is out of date: streamable-http is tried");
        }
    }
}

void role_find_unsupported(const struct role *role, enum role_use use,
                           struct role_findings *findings)
{
    find_sections(role, use, findings);
    find_lists(role, use == ROLE_ON_DUTY, findings);
    find_tools(role, findings);
}

static bool is_usual(const struct role_field *field, struct json_object *value)
{
    auto_json struct json_object *usual = NULL;
    const char *text = role_field_default(field, false);
    return json_parse(text, strlen(text), &usual, NULL) == 0 && json_object_equal(usual, value);
}

static bool is_provided(const struct role_field *field, struct json_object *value)
{
    const char *const *provided = field->provides;
    for (; provided != NULL && *provided != NULL; provided++) {
        if (json_object_is_type(value, json_type_string) &&
            strcmp(json_object_get_string(value), *provided) == 0) {
            return true;
        }
    }
    return false;
}

bool role_field_is_unhonoured(const struct role_field *field, struct json_object *value)
{
    return (field->flags & FIELD_UNHONOURED) != 0 && !is_provided(field, value) &&
           !is_usual(field, value);
}

bool role_field_is_idle(const struct role_field *field, struct json_object *value)
{
    return field->idle != NULL && !is_usual(field, value);
}

static void walk(const struct role_shape *shape, struct json_object *object, const char *path,
                 struct role_findings *findings)
{
    for (const struct role_field *field = shape->fields; field->name != NULL; field++) {
        struct json_object *value = json_member(object, field->name);
        auto_buf struct buf inner = {0};
        buf_printf(&inner, "%s.%s", path, field->name);
        if (value != NULL && field->kind == FIELD_OBJECT) {
            walk(field->shape, value, buf_string(&inner), findings);
        } else if (value != NULL && role_field_is_unhonoured(field, value)) {
            findings_add(findings, ROLE_UNPROTECTED, 0, 0, buf_string(&inner),
                         "a protection that Rondo does not provide", NULL);
        }
    }
}

void role_find_unprotected(const struct role *role, struct role_findings *findings)
{
    struct json_object *security = json_member(json_member(role->normal, "spec"), "security");
    walk(&role_shape_security, security, "spec.security", findings);
}
