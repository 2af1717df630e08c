// SPDX-License-Identifier: Apache-2.0
/* Reading scripts. Every member of a turn has a row; a member that has none is an error. */
#include "model/script.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/suggest.h"
#include "model/dialect.h"
#include "os/file_untrusted.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static void free_turn(struct script_turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++) {
        free(turn->calls[i].id);
        free(turn->calls[i].name);
        free(turn->calls[i].arguments);
    }
    free(turn->calls);
    free(turn->text);
    free(turn->thinking);
    free(turn->message);
    free(turn->expect.last_contains);
    free(turn->expect.last_lacks);
    free(turn->expect.any_contains);
    free(turn->expect.system_contains);
    free(turn->expect.has_tool);
}

void script_free(struct model_script *script)
{
    if (script != NULL) {
        for (size_t i = 0; i < script->count; i++) {
            free_turn(&script->turns[i]);
        }
        free(script->turns);
        free(script);
    }
}

static int wrong(struct rondo_error *err, const char *what)
{
    return error_set(err, RONDO_ERR_INVALID, "%s is expected", what);
}

static int read_text(struct json_object *value, char **ret_text, struct rondo_error *err)
{
    if (!json_object_is_type(value, json_type_string)) {
        return wrong(err, "a string");
    }
    free(*ret_text);
    *ret_text = memory_dup_string(json_object_get_string(value));
    return 0;
}

static int read_number(struct json_object *value, int64_t low, int64_t high, int64_t *ret_number,
                       struct rondo_error *err)
{
    int64_t number = json_object_get_int64(value);
    if (!json_object_is_type(value, json_type_int) || number < low || number > high) {
        return error_set(err, RONDO_ERR_INVALID, "a number from %lld to %lld is expected",
                         (long long)low, (long long)high);
    }
    *ret_number = number;
    return 0;
}

/** Reads one member. `turn` is a struct script_turn, or the part of it that a table is for. */
typedef int read_member_fn(struct json_object *value, void *target, struct rondo_error *err);

struct script_member {
    const char *name; /* NULL ends a table */
    read_member_fn *read;
};

static int unknown_member(const char *name, const struct script_member *members,
                          struct rondo_error *err)
{
    auto_buf struct buf hint = {0};
    struct suggest suggest = {.word = name, .len = strlen(name)};
    for (size_t i = 0; members[i].name != NULL; i++) {
        suggest_offer(&suggest, members[i].name);
    }
    suggest_write(&suggest, "", "", &hint);
    return error_set(err, RONDO_ERR_INVALID, "unknown member `%s`%s", name, buf_string(&hint));
}

static int read_members(struct json_object *object, const struct script_member *members,
                        void *target, struct rondo_error *err)
{
    if (!json_object_is_type(object, json_type_object)) {
        return wrong(err, "an object");
    }
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    int r = 0;
    while (r == 0 && !json_object_iter_equal(&at, &end)) {
        const char *name = json_object_iter_peek_name(&at);
        size_t i = 0;
        while (members[i].name != NULL && strcmp(members[i].name, name) != 0) {
            i++;
        }
        if (members[i].name == NULL) {
            r = unknown_member(name, members, err);
        } else if (json_object_iter_peek_value(&at) != NULL &&
                   members[i].read(json_object_iter_peek_value(&at), target, err) < 0) {
            error_prefix(err, "%s", name);
            r = RONDO_ERR_INVALID;
        }
        json_object_iter_next(&at);
    }
    return r;
}

#define TEXT_READER(type, name, member)                                               \
    static int name(struct json_object *value, void *target, struct rondo_error *err) \
    {                                                                                 \
        return read_text(value, &((type *)target)->member, err);                      \
    }
#define TOKENS_READER(name, member)                                                             \
    static int name(struct json_object *value, void *target, struct rondo_error *err)           \
    {                                                                                           \
        return read_number(value, 0, MODEL_TOKENS_MAX, &((struct model_usage *)target)->member, \
                           err);                                                                \
    }

TEXT_READER(struct script_call, read_call_id, id)
TEXT_READER(struct script_call, read_call_name, name)
TEXT_READER(struct script_expect, read_last_contains, last_contains)
TEXT_READER(struct script_expect, read_last_lacks, last_lacks)
TEXT_READER(struct script_expect, read_any_contains, any_contains)
TEXT_READER(struct script_expect, read_system_contains, system_contains)
TEXT_READER(struct script_expect, read_has_tool, has_tool)
TEXT_READER(struct script_turn, read_turn_text, text)
TEXT_READER(struct script_turn, read_thinking, thinking)
TEXT_READER(struct script_turn, read_message, message)
TOKENS_READER(read_input, input)
TOKENS_READER(read_output, output)
TOKENS_READER(read_cached, cached)
TOKENS_READER(read_cache_written, cache_written)
TOKENS_READER(read_reasoning, reasoning)

/** An object stands for its JSON text; a text is taken as it is, right or wrong. */
static int read_arguments(struct json_object *value, void *target, struct rondo_error *err)
{
    struct script_call *call = target;
    if (json_object_is_type(value, json_type_object)) {
        free(call->arguments);
        call->arguments = memory_dup_string(json_object_to_json_string_ext(
            value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
        return 0;
    }
    return read_text(value, &call->arguments, err) < 0 ? wrong(err, "an object, or a string") : 0;
}

static int read_expected_messages(struct json_object *value, void *target, struct rondo_error *err)
{
    return read_number(value, 0, INT32_MAX, &((struct script_expect *)target)->messages, err);
}

static const struct script_member call_members[] = {
    {"id", read_call_id},
    {"name", read_call_name},
    {"arguments", read_arguments},
    {0},
};

static const struct script_member usage_members[] = {
    {"input", read_input},         {"output", read_output},
    {"cached", read_cached},       {"cache_written", read_cache_written},
    {"reasoning", read_reasoning}, {0},
};

static const struct script_member expect_members[] = {
    {"last_contains", read_last_contains},
    {"last_lacks", read_last_lacks},
    {"any_contains", read_any_contains},
    {"system_contains", read_system_contains},
    {"has_tool", read_has_tool},
    {"messages", read_expected_messages},
    {0},
};

static int read_calls(struct json_object *value, void *target, struct rondo_error *err)
{
    struct script_turn *turn = target;
    size_t count = json_length(value);
    if (!json_object_is_type(value, json_type_array) || count > MODEL_CALLS_MAX) {
        return error_set(err, RONDO_ERR_INVALID, "a list of at most %d calls is expected",
                         MODEL_CALLS_MAX);
    }
    if (turn->calls != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "it is given twice");
    }
    turn->calls = memory_new_zero(count + 1, sizeof(*turn->calls));
    for (size_t i = 0; i < count; i++) {
        struct script_call *call = &turn->calls[turn->call_count++];
        int r = read_members(dialect_at(value, i), call_members, call, err);
        if (r == 0 && call->name == NULL) {
            r = wrong(err, "a name");
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int read_usage(struct json_object *value, void *target, struct rondo_error *err)
{
    return read_members(value, usage_members, &((struct script_turn *)target)->usage, err);
}

static int read_expect(struct json_object *value, void *target, struct rondo_error *err)
{
    return read_members(value, expect_members, &((struct script_turn *)target)->expect, err);
}

static int read_stop(struct json_object *value, void *target, struct rondo_error *err)
{
    const char *word =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    return model_stop_from_name(word, &((struct script_turn *)target)->stop)
               ? 0
               : wrong(err, "\"end\", \"tools\", \"length\" or \"filtered\"");
}

static int read_error(struct json_object *value, void *target, struct rondo_error *err)
{
    const char *word =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    for (enum model_failure i = MODEL_RATE_LIMITED; i <= MODEL_CANCELLED; i++) {
        if (strcmp(model_failure_name(i), word) == 0) {
            ((struct script_turn *)target)->error = i;
            return 0;
        }
    }
    return wrong(err, "the name of a failure, like \"rate_limited\" or \"overloaded\",");
}

static int read_delay(struct json_object *value, void *target, struct rondo_error *err)
{
    int64_t ms = 0;
    int r = read_number(value, 0, SCRIPT_MAX_DELAY_MS, &ms, err);
    ((struct script_turn *)target)->delay_ns = ms * NS_PER_MS;
    return r;
}

static int read_turn_number(struct json_object *value, void *target, struct rondo_error *err)
{
    int64_t number = 0;
    int r = read_number(value, 1, INT64_MAX / 2, &number, err);
    ((struct script_turn *)target)->first = (uint64_t)number;
    return r;
}

/** `last` is the number of requests until place_turn makes it the last of them. */
static int read_repeat(struct json_object *value, void *target, struct rondo_error *err)
{
    int64_t number = 0;
    int r = read_number(value, 1, INT64_MAX / 2, &number, err);
    ((struct script_turn *)target)->last = (uint64_t)number;
    return r;
}

static int read_forever(struct json_object *value, void *target, struct rondo_error *err)
{
    if (!json_object_is_type(value, json_type_boolean)) {
        return wrong(err, "true or false");
    }
    if (json_object_get_boolean(value)) {
        ((struct script_turn *)target)->last = UINT64_MAX;
    }
    return 0;
}

static int ignore(struct json_object *value, void *target, struct rondo_error *err)
{
    (void)value;
    (void)target;
    (void)err;
    return 0;
}

static const struct script_member turn_members[] = {
    {"text", read_turn_text},   {"thinking", read_thinking},
    {"tool_calls", read_calls}, {"usage", read_usage},
    {"stop", read_stop},        {"error", read_error},
    {"message", read_message},  {"delay_ms", read_delay},
    {"expect", read_expect},    {"turn", read_turn_number},
    {"repeat", read_repeat},    {"forever", read_forever},
    {"request", ignore}, /* recordings hold it, for people */
    {"comment", ignore},        {0},
};

/** Number the requests that a turn answers. @param next the request after the turn before */
static int place_turn(struct script_turn *turn, uint64_t *next, struct rondo_error *err)
{
    uint64_t count = turn->last == 0 ? 1 : turn->last;
    turn->first = turn->first == 0 ? *next : turn->first;
    if (turn->first > INT64_MAX - 1) {
        return error_set(err, RONDO_ERR_INVALID, "the turn before is said for ever");
    }
    bool is_forever = count == UINT64_MAX || count > INT64_MAX - turn->first;
    turn->last = is_forever ? UINT64_MAX : turn->first + count - 1;
    *next = is_forever ? UINT64_MAX : turn->last + 1;
    return 0;
}

static int add_turn(struct model_script *script, struct json_object *value, uint64_t *next,
                    struct rondo_error *err)
{
    script->turns = memory_resize(script->turns, script->count + 1, sizeof(*script->turns));
    struct script_turn *turn = &script->turns[script->count++];
    *turn = (struct script_turn){.expect.messages = -1};
    int r = read_members(value, turn_members, turn, err);
    if (r == 0) {
        r = place_turn(turn, next, err);
    }
    if (r < 0) {
        error_prefix(err, "turn %zu", script->count);
    }
    return r;
}

static int parse_list(struct model_script *script, const char *text, size_t len,
                      struct rondo_error *err)
{
    auto_json struct json_object *list = NULL;
    uint64_t next = 1;
    int r = json_parse(text, len, &list, err);
    for (size_t i = 0; r == 0 && i < json_length(list); i++) {
        r = add_turn(script, dialect_at(list, i), &next, err);
    }
    return r;
}

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (strchr(" \t\r\n", text[i]) == NULL || text[i] == '\0') {
            return false;
        }
    }
    return true;
}

static int parse_lines(struct model_script *script, const char *text, size_t len,
                       struct rondo_error *err)
{
    uint64_t next = 1;
    int r = 0;
    size_t number = 0;
    while (r == 0 && len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t line_len = end == NULL ? len : (size_t)(end - text);
        size_t step = end == NULL ? len : line_len + 1;
        auto_json struct json_object *value = NULL;
        number++;
        if (!is_blank(text, line_len)) {
            r = json_parse(text, line_len, &value, err);
            if (r < 0) {
                error_prefix(err, "line %zu", number);
            } else {
                r = add_turn(script, value, &next, err);
            }
        }
        text += step;
        len -= step;
    }
    return r;
}

/** Whether the text is a JSON array; otherwise it is one object a line. */
static bool is_list(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len && is_blank(text + at, 1)) {
        at++;
    }
    return at < len && text[at] == '[';
}

int script_parse(const char *path, const char *text, size_t len, struct model_script **ret_script,
                 struct rondo_error *err)
{
    struct model_script *script = memory_new_zero(1, sizeof(*script));
    int r = is_list(text, len) ? parse_list(script, text, len, err)
                               : parse_lines(script, text, len, err);
    if (r < 0) {
        error_prefix(err, "script %s", path);
        script_free(script);
        return r;
    }
    *ret_script = script;
    return 0;
}

int script_read(const char *path, struct model_script **ret_script, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    int r = file_read_named(NULL, path, SCRIPT_MAX_BYTES, &text, err);
    if (r < 0) {
        error_prefix(err, "while reading a script of turns");
        return r;
    }
    return script_parse(path, buf_string(&text), text.len, ret_script, err);
}

const struct script_turn *script_find(const struct model_script *script, uint64_t turn)
{
    for (size_t i = script->count; i > 0; i--) {
        const struct script_turn *candidate = &script->turns[i - 1];
        if (candidate->first <= turn && turn <= candidate->last) {
            return candidate;
        }
    }
    return NULL;
}
