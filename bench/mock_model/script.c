// SPDX-License-Identifier: Apache-2.0
/* What the mock model server says, and what goes wrong: the script's form is in mock_model.h. */
#include "internal.h"

#include "base/error.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define FILL_BYTES ((int64_t)50 * 1024 * 1024)

static const char *const kind_names[] = {
    [MOCK_FAULT_NONE] = "none",
    [MOCK_FAULT_STATUS] = "status",
    [MOCK_FAULT_STALL_HEADERS] = "stall_headers",
    [MOCK_FAULT_STALL] = "stall",
    [MOCK_FAULT_CUT] = "cut",
    [MOCK_FAULT_CLOSE] = "close",
    [MOCK_FAULT_MALFORMED] = "malformed",
    [MOCK_FAULT_HUGE] = "huge",
    [MOCK_FAULT_DRIP] = "drip",
    [MOCK_FAULT_EMPTY] = "empty",
    [MOCK_FAULT_CONTENT_TYPE] = "content_type",
    [MOCK_FAULT_DUPLICATE] = "duplicate",
    [MOCK_FAULT_STREAM_ERROR] = "stream_error",
};
#define KIND_COUNT (sizeof(kind_names) / sizeof(kind_names[0]))

static void *make(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static char *copy(const char *text)
{
    char *twin = text == NULL ? NULL : strdup(text);
    if (text != NULL && twin == NULL) {
        abort();
    }
    return twin;
}

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    if (json_object_is_type(object, json_type_object)) {
        json_object_object_get_ex(object, key, &value);
    }
    return value;
}

static size_t length(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/** A text as it is, any other value as JSON. */
static char *as_text(struct json_object *value)
{
    if (json_object_is_type(value, json_type_string)) {
        return copy(json_object_get_string(value));
    }
    return copy(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                          JSON_C_TO_STRING_NOSLASHESCAPE));
}

static struct mock_usage unknown_usage(void)
{
    return (struct mock_usage){-1, -1, -1, -1, -1};
}

static int read_fault(struct json_object *object, struct mock_fault *ret_fault,
                      struct rondo_error *err)
{
    const char *name = json_get_string(object, "kind", "status");
    size_t kind = 0;
    while (kind < KIND_COUNT && strcmp(kind_names[kind], name) != 0) {
        kind++;
    }
    if (kind == KIND_COUNT) {
        return error_set(err, RONDO_ERR_INVALID, "no fault is called %s", name);
    }
    int64_t usual_bytes = kind == MOCK_FAULT_HUGE ? FILL_BYTES : kind == MOCK_FAULT_DRIP ? 1 : -1;
    int64_t usual_delay = kind == MOCK_FAULT_STALL || kind == MOCK_FAULT_STALL_HEADERS
                              ? MOCK_FOREVER
                              : (kind == MOCK_FAULT_DRIP ? 1 : 0);
    *ret_fault = (struct mock_fault){
        .kind = (enum mock_fault_kind)kind,
        .status = (int)json_get_int(object, "status", 500),
        .times = (uint64_t)json_get_int(object, "times", 1),
        .delay_ms = json_get_int(object, "delay_ms", usual_delay),
        .bytes = json_get_int(object, "bytes", json_get_int(object, "after_bytes", usual_bytes)),
        .body = copy(json_get_string(object, "body", NULL)),
        .content_type = copy(json_get_string(object, "content_type", NULL)),
    };
    if (member(object, "retry_after") != NULL) {
        ret_fault->retry_after = as_text(member(object, "retry_after"));
    }
    return 0;
}

static int read_faults(struct json_object *array, struct mock_faults *ret_faults,
                       struct rondo_error *err)
{
    size_t count = length(array);
    ret_faults->items = make(count, sizeof(struct mock_fault));
    for (; ret_faults->count < count; ret_faults->count++) {
        int rc = read_fault(json_object_array_get_idx(array, ret_faults->count),
                            &ret_faults->items[ret_faults->count], err);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

static void read_calls(struct json_object *array, struct mock_turn *ret_turn)
{
    ret_turn->call_count = length(array);
    ret_turn->calls = make(ret_turn->call_count, sizeof(struct mock_call));
    for (size_t i = 0; i < ret_turn->call_count; i++) {
        struct json_object *call = json_object_array_get_idx(array, i);
        struct json_object *arguments = member(call, "arguments");
        ret_turn->calls[i] = (struct mock_call){
            .id = copy(json_get_string(call, "id", NULL)),
            .name = copy(json_get_string(call, "name", "")),
            .arguments = arguments == NULL ? copy("{}") : as_text(arguments),
        };
    }
}

static int read_turn(struct json_object *object, struct mock_turn *ret_turn,
                     struct rondo_error *err)
{
    if (!json_object_is_type(object, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "a turn is no object");
    }
    struct json_object *usage = member(object, "usage");
    ret_turn->text = copy(json_get_string(object, "text", NULL));
    ret_turn->thinking = copy(json_get_string(object, "thinking", NULL));
    ret_turn->stop = copy(json_get_string(object, "stop", NULL));
    ret_turn->delay_ms = json_get_int(object, "delay_ms", 0);
    ret_turn->usage = unknown_usage();
    if (usage != NULL) {
        ret_turn->usage = (struct mock_usage){
            json_get_int(usage, "input", -1),     json_get_int(usage, "output", -1),
            json_get_int(usage, "cached", -1),    json_get_int(usage, "cache_written", -1),
            json_get_int(usage, "reasoning", -1),
        };
    }
    read_calls(member(object, "calls"), ret_turn);
    return read_faults(member(object, "faults"), &ret_turn->faults, err);
}

static struct mock_turn calling(const char *tool, const char *arguments, size_t count)
{
    struct mock_turn turn = {.usage = unknown_usage(), .call_count = count};
    turn.calls = make(count, sizeof(struct mock_call));
    for (size_t i = 0; i < count; i++) {
        turn.calls[i] = (struct mock_call){.name = copy(tool), .arguments = copy(arguments)};
    }
    return turn;
}

static void set_up_loop(struct mock_script *script, const struct mock_options *options,
                        const char *summary)
{
    static const char words[] = "Turn {turn} is done (reply_mock_{turn}_). ";
    static const char more[] = "One thing led to another. ";
    struct buf text = {0};
    buf_append_string(&text, words);
    while (text.len < options->text_bytes) {
        buf_append_string(&text, more);
    }
    auto_json struct json_object *finish = json_object_new_object();
    json_object_object_add(finish, "summary", json_object_new_string(summary));
    json_object_object_add(finish, "status", json_object_new_string("completed"));
    script->iterations = options->iterations == 0 ? 10 : options->iterations;
    script->loop_call =
        calling(options->tool == NULL ? "think" : options->tool,
                options->arguments == NULL ? "{\"thought\":\"turn {turn}\"}" : options->arguments,
                options->calls == 0 ? 1 : options->calls);
    script->loop_text = (struct mock_turn){.usage = unknown_usage(), .text = buf_steal(&text)};
    script->finish =
        calling("finish_task", json_object_to_json_string_ext(finish, JSON_C_TO_STRING_PLAIN), 1);
}

static struct mock_script *script_new(void)
{
    struct mock_script *script = make(1, sizeof(*script));
    script->piece_bytes = 16;
    script->is_checked = true;
    return script;
}

struct mock_script *mock_script_loop(const struct mock_options *options)
{
    struct mock_script *script = script_new();
    script->delay_ms = options->delay_ms;
    script->is_checked = !options->is_fast;
    set_up_loop(script, options, "All is done.");
    return script;
}

static int read_turns(struct json_object *array, struct mock_script *script,
                      struct rondo_error *err)
{
    size_t count = length(array);
    script->turns = make(count, sizeof(struct mock_turn));
    while (script->turn_count < count) {
        struct mock_turn *turn = &script->turns[script->turn_count++];
        int rc = read_turn(json_object_array_get_idx(array, script->turn_count - 1), turn, err);
        if (rc < 0) {
            error_prefix(err, "turn %zu", script->turn_count);
            return rc;
        }
    }
    return 0;
}

static int read_fault_table(struct json_object *table, struct mock_script *script,
                            struct rondo_error *err)
{
    if (!json_object_is_type(table, json_type_object)) {
        return 0;
    }
    script->faults = make((size_t)json_object_object_length(table), sizeof(struct mock_faults));
    struct json_object_iterator at = json_object_iter_begin(table);
    struct json_object_iterator end = json_object_iter_end(table);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct mock_faults *faults = &script->faults[script->fault_count++];
        faults->turn = strtoull(json_object_iter_peek_name(&at), NULL, 10);
        int rc = read_faults(json_object_iter_peek_value(&at), faults, err);
        if (rc < 0) {
            error_prefix(err, "faults of turn %s", json_object_iter_peek_name(&at));
            return rc;
        }
    }
    return 0;
}

static int read_after(struct json_object *object, struct mock_script *script,
                      struct rondo_error *err)
{
    static const char *const names[] = {"finish", "repeat", "error"};
    const char *name = json_get_string(object, "after", "finish");
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(names[i], name) == 0) {
            script->after = (enum mock_after)i;
            return 0;
        }
    }
    return error_set(err, RONDO_ERR_INVALID, "after: %s", name);
}

static void read_loop(struct json_object *loop, struct mock_script *script)
{
    struct json_object *arguments = member(loop, "arguments");
    char *text = arguments == NULL ? NULL : as_text(arguments);
    struct mock_options options = {
        .iterations = (uint64_t)json_get_int(loop, "iterations", 0),
        .tool = json_get_string(loop, "tool", NULL),
        .arguments = text,
        .calls = (unsigned)json_get_int(loop, "calls", 0),
        .text_bytes = (size_t)json_get_int(loop, "text_bytes", 0),
    };
    set_up_loop(script, &options, json_get_string(loop, "summary", "All is done."));
    free(text);
}

static int read_script(struct json_object *object, struct mock_script *script,
                       struct rondo_error *err)
{
    if (!json_object_is_type(object, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "a script is no object");
    }
    script->delay_ms = json_get_int(object, "delay_ms", 0);
    script->piece_bytes = (size_t)json_get_int(object, "piece_bytes", 16);
    script->is_counted = strcmp(json_get_string(object, "turns_by", "marks"), "count") == 0;
    script->is_checked = json_get_bool(object, "is_checked", true);
    read_loop(member(object, "loop"), script);
    int rc = read_after(object, script, err);
    rc = rc < 0 ? rc : read_turns(member(object, "turns"), script, err);
    return rc < 0 ? rc : read_fault_table(member(object, "faults"), script, err);
}

int mock_script_parse(const char *text, size_t len, struct mock_script **ret_script,
                      struct rondo_error *err)
{
    auto_json struct json_object *object = NULL;
    int rc = json_parse(text, len, &object, err);
    if (rc < 0) {
        return rc;
    }
    struct mock_script *script = script_new();
    rc = read_script(object, script, err);
    if (rc < 0) {
        mock_script_free(script);
        return rc;
    }
    *ret_script = script;
    return 0;
}

static void faults_fini(struct mock_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        free(faults->items[i].retry_after);
        free(faults->items[i].body);
        free(faults->items[i].content_type);
    }
    free(faults->items);
}

static void turn_fini(struct mock_turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++) {
        free(turn->calls[i].id);
        free(turn->calls[i].name);
        free(turn->calls[i].arguments);
    }
    free(turn->calls);
    free(turn->text);
    free(turn->thinking);
    free(turn->stop);
    faults_fini(&turn->faults);
}

void mock_script_free(struct mock_script *script)
{
    if (script == NULL) {
        return;
    }
    for (size_t i = 0; i < script->turn_count; i++) {
        turn_fini(&script->turns[i]);
    }
    for (size_t i = 0; i < script->fault_count; i++) {
        faults_fini(&script->faults[i]);
    }
    turn_fini(&script->loop_call);
    turn_fini(&script->loop_text);
    turn_fini(&script->finish);
    free(script->turns);
    free(script->faults);
    free(script);
}

const struct mock_turn *mock_script_turn(const struct mock_script *script, uint64_t turn)
{
    if (script->turn_count == 0) {
        if (turn >= 2 * script->iterations) {
            return &script->finish;
        }
        return turn % 2 == 1 ? &script->loop_call : &script->loop_text;
    }
    if (turn <= script->turn_count) {
        return &script->turns[turn - 1];
    }
    switch (script->after) {
    case MOCK_AFTER_FINISH:
        return &script->finish;
    case MOCK_AFTER_REPEAT:
        return &script->turns[(turn - 1) % script->turn_count];
    case MOCK_AFTER_ERROR:
        return NULL;
    }
    return NULL;
}

static const struct mock_fault *fault_at(const struct mock_faults *faults, uint64_t attempt)
{
    uint64_t last = 0;
    for (size_t i = 0; i < faults->count; i++) {
        last += faults->items[i].times;
        if (faults->items[i].times == 0 || attempt <= last) {
            return faults->items[i].kind == MOCK_FAULT_NONE ? NULL : &faults->items[i];
        }
    }
    return NULL;
}

const struct mock_fault *mock_script_fault(const struct mock_script *script, uint64_t turn,
                                           uint64_t attempt)
{
    for (size_t i = 0; i < script->fault_count; i++) {
        if (script->faults[i].turn == turn) {
            return fault_at(&script->faults[i], attempt);
        }
    }
    return turn <= script->turn_count ? fault_at(&script->turns[turn - 1].faults, attempt) : NULL;
}
