// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical arguments. Built-in tools say what theirs are; those of MCP servers are known by their
 * names, and URLs by how they begin. The recursion is bounded by the depth of JSON that is read.
 */
#include "tool/canonical.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/json/json.h"

#include <ctype.h>
#include <json-c/json.h>
#include <string.h>
#include <strings.h>

const struct tool_argument canonical_none[] = {{0}};

/** Names of arguments of MCP servers; a part of a name counts after `_` or `-` and as `aB`. */
static const struct tool_argument known_names[] = {
    {"path", ARGUMENT_PATH},      {"paths", ARGUMENT_PATH},     {"file", ARGUMENT_PATH},
    {"files", ARGUMENT_PATH},     {"filename", ARGUMENT_PATH},  {"filepath", ARGUMENT_PATH},
    {"dir", ARGUMENT_PATH},       {"directory", ARGUMENT_PATH}, {"folder", ARGUMENT_PATH},
    {"cwd", ARGUMENT_PATH},       {"source", ARGUMENT_PATH},    {"destination", ARGUMENT_PATH},
    {"command", ARGUMENT_SCRIPT}, {"cmd", ARGUMENT_SCRIPT},     {"commands", ARGUMENT_SCRIPT},
    {"host", ARGUMENT_HOST},      {"hostname", ARGUMENT_HOST},  {"domain", ARGUMENT_HOST},
};

/* A path has no line ends, and is shorter. */
#define PATH_TEXT_MAX 4096

struct call_walk {
    const struct tool *tool;
    const char *workspace;
    const char *frame;
    struct canonical_commands commands; /* of the argument that has several */
    bool is_cut;
};

static enum argument_kind declared_kind(const struct tool *tool, const char *name)
{
    for (const struct tool_argument *row = tool->arguments; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row->kind;
        }
    }
    return ARGUMENT_PLAIN;
}

static bool is_url(const char *text)
{
    text += strspn(text, " \t\r\n");
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return len > 1 && (strncmp(text + len, "://", 3) == 0 || strncmp(text + len, ":\\\\", 3) == 0 ||
                       strncasecmp(text, "http:", 5) == 0 || strncasecmp(text, "https:", 6) == 0);
}

static bool names_end(const char *name, const char *end)
{
    size_t len = strlen(name);
    size_t end_len = strlen(end);
    if (len < end_len || strcasecmp(name + len - end_len, end) != 0) {
        return false;
    }
    char before = len == end_len ? '_' : name[len - end_len - 1];
    return before == '_' || before == '-' || isupper((unsigned char)name[len - end_len]);
}

static enum argument_kind likely_kind(const char *name, const char *text)
{
    if (is_url(text)) {
        return strpbrk(text, "\n") == NULL ? ARGUMENT_URL : ARGUMENT_PLAIN;
    }
    for (size_t i = 0; i < sizeof(known_names) / sizeof(known_names[0]); i++) {
        if (names_end(name, known_names[i].name)) {
            bool fits = known_names[i].kind == ARGUMENT_SCRIPT ||
                        (strlen(text) < PATH_TEXT_MAX && strchr(text, '\n') == NULL);
            return fits ? known_names[i].kind : ARGUMENT_PLAIN;
        }
    }
    return ARGUMENT_PLAIN;
}

static enum argument_kind kind_of(const struct tool *tool, const char *name, const char *text)
{
    return tool->arguments == NULL ? likely_kind(name, text) : declared_kind(tool, name);
}

/** The first form of a command; the others are kept for later. */
static void take_command(struct call_walk *walk, const char *text, bool is_script,
                         struct buf *ret_text)
{
    const char *folder = walk->tool->folder == NULL ? walk->workspace : walk->tool->folder;
    struct canonical_commands commands;
    canonical_command(text, folder, is_script, &commands);
    buf_append_string(ret_text, commands.lines[0]);
    walk->is_cut = walk->is_cut || commands.is_cut;
    for (size_t i = 1; i < commands.count; i++) {
        if (walk->commands.count == CANONICAL_FORMS_MAX - 1) {
            walk->is_cut = true;
            break;
        }
        walk->commands.lines[walk->commands.count++] = commands.lines[i];
        commands.lines[i] = NULL;
    }
    canonical_commands_fini(&commands);
}

static void write_canonical(struct call_walk *walk, enum argument_kind kind, const char *text,
                            struct buf *ret_text)
{
    const char *base = walk->tool->folder == NULL ? walk->workspace : walk->tool->folder;
    switch (kind) {
    case ARGUMENT_PATH:
        canonical_path(base, walk->frame, text, ret_text);
        break;
    case ARGUMENT_COMMAND:
    case ARGUMENT_SCRIPT:
        take_command(walk, text, kind == ARGUMENT_SCRIPT, ret_text);
        break;
    case ARGUMENT_URL:
        canonical_url(text, ret_text);
        break;
    case ARGUMENT_URL_PATH:
        canonical_url_path(text, ret_text);
        break;
    case ARGUMENT_HOST:
        canonical_host(text, ret_text);
        break;
    case ARGUMENT_METHOD:
        for (; *text != '\0'; text++) {
            buf_printf(ret_text, "%c", ascii_upper(*text));
        }
        break;
    case ARGUMENT_PLAIN:
    case ARGUMENT_PROGRAM:
        buf_append_string(ret_text, text);
        break;
    }
}

static struct json_object *convert(struct call_walk *walk, const char *name,
                                   struct json_object *value);

static struct json_object *convert_text(struct call_walk *walk, const char *name,
                                        struct json_object *value)
{
    const char *text = json_object_get_string(value);
    enum argument_kind kind = kind_of(walk->tool, name, text);
    if (kind == ARGUMENT_PLAIN) {
        return json_object_get(value);
    }
    auto_buf struct buf canonical = {0};
    write_canonical(walk, kind, text, &canonical);
    return json_object_new_string_len(buf_string(&canonical), (int)canonical.len);
}

static struct json_object *convert_object(struct call_walk *walk, struct json_object *object)
{
    struct json_object *copy = json_object_new_object();
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        json_object_object_add(copy, name, convert(walk, name, json_object_iter_peek_value(&at)));
    }
    return copy;
}

static struct json_object *convert(struct call_walk *walk, const char *name,
                                   struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string:
        return convert_text(walk, name, value);
    case json_type_object:
        return convert_object(walk, value);
    case json_type_array: {
        struct json_object *copy = json_object_new_array();
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            json_object_array_add(copy, convert(walk, name, json_object_array_get_idx(value, i)));
        }
        return copy;
    }
    case json_type_null:
    case json_type_boolean:
    case json_type_double:
    case json_type_int:
        break;
    }
    return json_object_get(value);
}

/** A further form: the arguments with another command where the first one was. */
static struct json_object *with_command(struct call_walk *walk, struct json_object *form,
                                        const char *line)
{
    struct json_object *copy = json_object_new_object();
    struct json_object_iterator at = json_object_iter_begin(form);
    struct json_object_iterator end = json_object_iter_end(form);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        struct json_object *value = json_object_iter_peek_value(&at);
        enum argument_kind kind = kind_of(walk->tool, name, "");
        bool is_command = kind == ARGUMENT_COMMAND || kind == ARGUMENT_SCRIPT;
        json_object_object_add(copy, name,
                               is_command ? json_object_new_string(line) : json_object_get(value));
    }
    return copy;
}

bool canonical_make(const struct tool *tool, const char *workspace, const char *frame,
                    struct json_object *arguments, struct canonical_forms *ret_forms)
{
    struct call_walk walk = {
        .tool = tool, .workspace = workspace, .frame = frame == NULL ? workspace : frame};
    *ret_forms = (struct canonical_forms){.count = 1};
    ret_forms->forms[0] = convert_object(&walk, arguments);
    for (size_t i = 0; i < walk.commands.count; i++) {
        ret_forms->forms[ret_forms->count++] =
            with_command(&walk, ret_forms->forms[0], walk.commands.lines[i]);
    }
    canonical_commands_fini(&walk.commands);
    return !walk.is_cut;
}

void canonical_forms_fini(struct canonical_forms *forms)
{
    for (size_t i = 0; i < forms->count; i++) {
        json_object_put(forms->forms[i]);
    }
    *forms = (struct canonical_forms){0};
}

/* ---- Each text by itself -------------------------------------------------------------------- */

struct text_visit {
    const struct tool *tool;
    canonical_text_fn *fn;
    void *context;
};

static void visit(const struct text_visit *texts, const char *name, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string: {
        const char *text = json_object_get_string(value);
        texts->fn(texts->context, kind_of(texts->tool, name, text), text);
        break;
    }
    case json_type_object: {
        struct json_object_iterator at = json_object_iter_begin(value);
        struct json_object_iterator end = json_object_iter_end(value);
        for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
            visit(texts, json_object_iter_peek_name(&at), json_object_iter_peek_value(&at));
        }
        break;
    }
    case json_type_array:
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            visit(texts, name, json_object_array_get_idx(value, i));
        }
        break;
    case json_type_null:
    case json_type_boolean:
    case json_type_double:
    case json_type_int:
        break;
    }
}

void canonical_visit(const struct tool *tool, struct json_object *arguments, canonical_text_fn *fn,
                     void *context)
{
    struct text_visit texts = {tool, fn, context};
    visit(&texts, "", arguments);
}
