// SPDX-License-Identifier: Apache-2.0
/* Requests from JSON and words. Two tables say which member goes where. */
#include "policy/written_request.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/text/suggest.h"
#include "policy/cedar/value/extension.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum request_member_kind {
    MEMBER_NUMBER,  /* int64_t, not negative */
    MEMBER_SECONDS, /* int64_t, nanoseconds */
    MEMBER_MONEY,   /* int64_t, millionths */
    MEMBER_TIME,    /* int64_t, nanoseconds since 1970 */
    MEMBER_TRUTH,   /* bool */
    MEMBER_TEXT,    /* const char *, owned */
    MEMBER_OBJECT,  /* const char *, owned: the object's text */
    MEMBER_DERIVED, /* follows from `now` */
};

struct request_member {
    const char *name; /* NULL ends a table */
    enum request_member_kind kind;
    size_t offset; /* in struct written_request */
};

#define IN(member) offsetof(struct written_request, member)

static const struct request_member option_members[] = {
    {"max_iterations", MEMBER_NUMBER, IN(run.max_iterations)},
    {"max_tokens", MEMBER_NUMBER, IN(run.max_tokens)},
    {"max_cost_usd", MEMBER_MONEY, IN(run.max_cost_micro)},
    {"max_elapsed_s", MEMBER_SECONDS, IN(run.max_elapsed_ns)},
    {"kind", MEMBER_TEXT, IN(run.kind)},
    {"workspace", MEMBER_TEXT, IN(run.workspace)},
    {0},
};

/* Names are taken from the vocabulary. */
static const struct request_member context_members[VOCABULARY_CONTEXT_COUNT] = {
    [CONTEXT_ITERATION] = {NULL, MEMBER_NUMBER, IN(request.iteration)},
    [CONTEXT_ELAPSED_S] = {NULL, MEMBER_SECONDS, IN(request.elapsed_ns)},
    [CONTEXT_TOKENS] = {NULL, MEMBER_NUMBER, IN(request.tokens)},
    [CONTEXT_COST_USD] = {NULL, MEMBER_MONEY, IN(request.cost_micro)},
    [CONTEXT_CONSECUTIVE_FAILURES] = {NULL, MEMBER_NUMBER, IN(request.consecutive_failures)},
    [CONTEXT_CONDITIONS_MET] = {NULL, MEMBER_NUMBER, IN(request.conditions_met)},
    [CONTEXT_CONDITIONS_TOTAL] = {NULL, MEMBER_NUMBER, IN(request.conditions_total)},
    [CONTEXT_APPROVED] = {NULL, MEMBER_TRUTH, IN(request.is_approved)},
    [CONTEXT_NOW] = {NULL, MEMBER_TIME, IN(request.now_ns)},
    [CONTEXT_WEEKDAY] = {NULL, MEMBER_DERIVED, 0},
    [CONTEXT_SYSTEM] = {NULL, MEMBER_DERIVED, 0},
    [CONTEXT_INPUT] = {NULL, MEMBER_OBJECT, IN(request.input)},
    [CONTEXT_RAW] = {NULL, MEMBER_OBJECT, IN(request.raw)},
    [CONTEXT_CONDITION] = {NULL, MEMBER_TEXT, IN(request.condition)},
};

void written_request_set_text(const char **slot, const char *text)
{
    char *copy = memory_dup_string(text);
    free((char *)*slot);
    *slot = copy;
}

void written_request_init(struct written_request *written, int64_t now_ns)
{
    *written = (struct written_request){.request.now_ns = now_ns};
    written_request_set_text(&written->run.agent_id, REQUEST_AGENT);
    written_request_set_text(&written->run.run_id, REQUEST_RUN);
    written_request_set_text(&written->run.kind, "command");
    written_request_set_text(&written->run.workspace, "");
}

void written_request_fini(struct written_request *written)
{
    const char **const texts[] = {
        &written->run.agent_id,
        &written->run.run_id,
        &written->run.kind,
        &written->run.workspace,
        &written->request.condition,
        &written->request.input,
        &written->request.raw,
        &written->tool,
        &written->model,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        written_request_set_text(texts[i], NULL);
    }
    *written = (struct written_request){0};
}

void written_request_set_run(struct written_request *written, const struct policy_run *run,
                             const struct policy_request *situation)
{
    written_request_set_text(&written->run.agent_id, run->agent_id);
    written_request_set_text(&written->run.run_id, run->run_id);
    written_request_set_text(&written->run.kind, run->kind);
    written_request_set_text(&written->run.workspace, run->workspace);
    written->run.max_iterations = run->max_iterations;
    written->run.max_tokens = run->max_tokens;
    written->run.max_cost_micro = run->max_cost_micro;
    written->run.max_elapsed_ns = run->max_elapsed_ns;
    written->request.iteration = situation->iteration;
    written->request.elapsed_ns = situation->elapsed_ns;
    written->request.tokens = situation->tokens;
    written->request.cost_micro = situation->cost_micro;
    written->request.consecutive_failures = situation->consecutive_failures;
    written->request.conditions_met = situation->conditions_met;
    written->request.conditions_total = situation->conditions_total;
}

static int read_number(struct json_object *value, int64_t most, int64_t *ret_number,
                       struct rondo_error *err)
{
    if (!json_object_is_type(value, json_type_int)) {
        return error_set(err, RONDO_ERR_INVALID, "a whole number is expected");
    }
    int64_t number = json_object_get_int64(value);
    if (number < 0 || number > most) {
        return error_set(err, RONDO_ERR_INVALID, "the number must be from 0 to %lld",
                         (long long)most);
    }
    *ret_number = number;
    return 0;
}

/** Money is text, so that nothing is rounded; a number's own text will do. */
static int read_money(struct json_object *value, int64_t *ret_micro, struct rondo_error *err)
{
    if (json_object_is_type(value, json_type_string)) {
        return parse_money(json_object_get_string(value), ret_micro, err);
    }
    if (json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double)) {
        return parse_money(json_object_to_json_string(value), ret_micro, err);
    }
    return error_set(err, RONDO_ERR_INVALID, "an amount like \"4.50\" is expected");
}

static int read_time(struct json_object *value, int64_t *ret_ns, struct rondo_error *err)
{
    const char *text =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    int64_t ms = 0;
    int64_t ns = 0;
    if (!cedar_datetime_parse(text, strlen(text), &ms) ||
        __builtin_mul_overflow(ms, NS_PER_MS, &ns)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a time like \"2026-01-05T10:00:00Z\" is expected");
    }
    *ret_ns = ns;
    return 0;
}

static int read_string(struct json_object *value, const char **slot, struct rondo_error *err)
{
    if (!json_object_is_type(value, json_type_string) ||
        strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value)) {
        return error_set(err, RONDO_ERR_INVALID, "a string is expected");
    }
    written_request_set_text(slot, json_object_get_string(value));
    return 0;
}

static int read_value(enum request_member_kind kind, struct json_object *value, void *slot,
                      struct rondo_error *err)
{
    int64_t number = 0;
    int r = 0;
    switch (kind) {
    case MEMBER_NUMBER:
        return read_number(value, INT64_MAX, slot, err);
    case MEMBER_SECONDS:
        r = read_number(value, INT64_MAX / NS_PER_S, &number, err);
        *(int64_t *)slot = r < 0 ? *(int64_t *)slot : number * NS_PER_S;
        return r;
    case MEMBER_MONEY:
        return read_money(value, slot, err);
    case MEMBER_TIME:
        return read_time(value, slot, err);
    case MEMBER_TRUTH:
        if (!json_object_is_type(value, json_type_boolean)) {
            return error_set(err, RONDO_ERR_INVALID, "true or false is expected");
        }
        *(bool *)slot = json_object_get_boolean(value) != 0;
        return 0;
    case MEMBER_TEXT:
        return read_string(value, slot, err);
    case MEMBER_OBJECT:
        if (!json_object_is_type(value, json_type_object)) {
            return error_set(err, RONDO_ERR_INVALID, "an object is expected");
        }
        written_request_set_text(slot,
                                 json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        return 0;
    case MEMBER_DERIVED:
        break;
    }
    return error_set(err, RONDO_ERR_INVALID, "it follows from `now`; give that");
}

static int unknown_key(const char *key, struct suggest *suggest, struct rondo_error *err)
{
    auto_buf struct buf hint = {0};
    suggest_write(suggest, "", "", &hint);
    return error_set(err, RONDO_ERR_INVALID, "unknown key `%.64s`%s", key, buf_string(&hint));
}

static int read_option(struct written_request *written, const char *key, struct json_object *value,
                       struct rondo_error *err)
{
    struct suggest suggest = {.word = key, .len = strlen(key)};
    for (const struct request_member *row = option_members; row->name != NULL; row++) {
        if (strcmp(row->name, key) == 0) {
            int r = read_value(row->kind, value, (char *)written + row->offset, err);
            if (r < 0) {
                error_prefix(err, "%s", key);
            }
            return r;
        }
        suggest_offer(&suggest, row->name);
    }
    return unknown_key(key, &suggest, err);
}

static int read_context(struct written_request *written, const char *key, struct json_object *value,
                        struct rondo_error *err)
{
    struct suggest suggest = {.word = key, .len = strlen(key)};
    for (enum vocabulary_context i = 0; i < VOCABULARY_CONTEXT_COUNT; i++) {
        const struct request_member *row = &context_members[i];
        if (strcmp(vocabulary_context_name(i), key) == 0) {
            int r = read_value(row->kind, value, (char *)written + row->offset, err);
            if (r < 0) {
                error_prefix(err, "%s", key);
            }
            return r;
        }
        suggest_offer(&suggest, vocabulary_context_name(i));
    }
    return unknown_key(key, &suggest, err);
}

typedef int read_fn(struct written_request *written, const char *key, struct json_object *value,
                    struct rondo_error *err);

static int read_object(struct written_request *written, struct json_object *object, read_fn *read,
                       const char *name, struct rondo_error *err)
{
    int r = 0;
    if (!json_object_is_type(object, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "%s: an object is expected", name);
    }
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    for (; r == 0 && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *value = json_object_iter_peek_value(&at);
        r = value == NULL ? 0 : read(written, json_object_iter_peek_name(&at), value, err);
    }
    if (r < 0) {
        error_prefix(err, "%s", name);
    }
    return r;
}

/** Read options of the run: {"max_iterations":50,"max_cost_usd":"2.50"}. RONDO_ERR_INVALID. */
static int written_request_read_options(struct written_request *written,
                                        struct json_object *options, struct rondo_error *err)
{
    return read_object(written, options, read_option, "options", err);
}

int written_request_read_context(struct written_request *written, struct json_object *context,
                                 struct rondo_error *err)
{
    return read_object(written, context, read_context, "context", err);
}

/** Set the action by its name. RONDO_ERR_INVALID. */
static int written_request_set_action(struct written_request *written, const char *name,
                                      struct rondo_error *err)
{
    if (vocabulary_action_from_name(name, &written->request.action)) {
        written->has_action = true;
        return 0;
    }
    struct suggest suggest = {.word = name, .len = strlen(name)};
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        suggest_offer(&suggest, vocabulary_action_name(i));
    }
    auto_buf struct buf hint = {0};
    suggest_write(&suggest, "", "", &hint);
    return error_set(err, RONDO_ERR_INVALID, "unknown action `%.64s`%s", name, buf_string(&hint));
}

static int read_action(struct written_request *written, struct json_object *value,
                       struct rondo_error *err)
{
    const char *name = NULL;
    int r = read_string(value, &name, err);
    if (r == 0) {
        r = written_request_set_action(written, name, err);
    }
    free((char *)name);
    return r;
}

static const struct request_member text_members[] = {
    {"agent", MEMBER_TEXT, IN(run.agent_id)},
    {"run", MEMBER_TEXT, IN(run.run_id)},
    {"tool", MEMBER_TEXT, IN(tool)},
    {"model", MEMBER_TEXT, IN(model)},
    {"condition", MEMBER_TEXT, IN(request.condition)},
    {0},
};

int written_request_read_member(struct written_request *written, const char *key,
                                struct json_object *value, struct rondo_error *err)
{
    int r = 0;
    if (strcmp(key, "options") == 0) {
        r = value == NULL ? 0 : written_request_read_options(written, value, err);
        return r < 0 ? r : 1;
    }
    if (strcmp(key, "context") == 0) {
        r = value == NULL ? 0 : written_request_read_context(written, value, err);
        return r < 0 ? r : 1;
    }
    bool is_action = strcmp(key, "action") == 0;
    const struct request_member *row = text_members;
    while (!is_action && row->name != NULL && strcmp(row->name, key) != 0) {
        row++;
    }
    if (!is_action && row->name == NULL) {
        return 0;
    }
    if (value != NULL) {
        r = is_action ? read_action(written, value, err)
                      : read_value(row->kind, value, (char *)written + row->offset, err);
    }
    if (r < 0) {
        error_prefix(err, "%s", key);
    }
    return r < 0 ? r : 1;
}

void written_request_suggest(struct suggest *suggest)
{
    for (const struct request_member *row = text_members; row->name != NULL; row++) {
        suggest_offer(suggest, row->name);
    }
    suggest_offer(suggest, "action");
    suggest_offer(suggest, "options");
    suggest_offer(suggest, "context");
}

/** The action that the rest speaks of, when none is named. */
static enum vocabulary_action implied_action(const struct written_request *written)
{
    return written->tool != NULL                ? ACTION_CALL_TOOL
           : written->model != NULL             ? ACTION_CALL_MODEL
           : written->request.condition != NULL ? ACTION_VERIFY
                                                : ACTION_ITERATE;
}

/** What one action needs and no other can have. */
static int check_part(const struct written_request *written, enum vocabulary_action action,
                      const char *part, bool is_given, bool is_needed, struct rondo_error *err)
{
    const char *name = vocabulary_action_name(action);
    if (written->request.action == action && is_needed && !is_given) {
        return error_set(err, RONDO_ERR_INVALID, "`%s` needs a %s", name, part);
    }
    if (written->request.action != action && is_given) {
        return error_set(err, RONDO_ERR_INVALID, "%s belongs to `%s`, not to `%s`", part, name,
                         vocabulary_action_name(written->request.action));
    }
    return 0;
}

/** Whether the step is about a memory: one of the agent's own, and its input says what it is. */
static bool is_of_memory(enum vocabulary_action action)
{
    return action == ACTION_REMEMBER || action == ACTION_RECALL;
}

static int check_agent(const struct written_request *written, struct rondo_error *err)
{
    size_t len = strlen(written->run.agent_id);
    return len > 0 && len <= LIMIT_AGENT_ID_LEN
               ? 0
               : error_set(err, RONDO_ERR_INVALID, "the agent's id must have 1 to %d bytes",
                           LIMIT_AGENT_ID_LEN);
}

int written_request_finish(struct written_request *written, struct rondo_error *err)
{
    struct policy_request *request = &written->request;
    if (!written->has_action) {
        request->action = implied_action(written);
    }
    int r = check_agent(written, err);
    if (r == 0) {
        r = check_part(written, ACTION_CALL_TOOL, "tool", written->tool != NULL, true, err);
    }
    if (r == 0) {
        r = check_part(written, ACTION_CALL_MODEL, "model", written->model != NULL, true, err);
    }
    if (r == 0) {
        r = check_part(written, ACTION_VERIFY, "condition", request->condition != NULL, true, err);
    }
    if (r == 0 && !is_of_memory(request->action)) {
        r = check_part(written, ACTION_CALL_TOOL, "input", request->input != NULL, false, err);
    }
    if (r == 0 && !is_of_memory(request->action)) {
        r = check_part(written, ACTION_CALL_TOOL, "raw", request->raw != NULL, false, err);
    }
    request->resource = written->tool != NULL           ? written->tool
                        : is_of_memory(request->action) ? written->run.agent_id
                                                        : written->model;
    return r;
}
