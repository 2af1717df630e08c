// SPDX-License-Identifier: Apache-2.0
/* Reading parameters and writing answers. */
#include "server/call.h"

#include "base/memory.h"
#include "base/parse.h"
#include "base/text/plain.h"
#include "store/find.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_writer call_json(struct call *call, unsigned status)
{
    call->status = status;
    call->content_type = "application/json";
    buf_clear(&call->answer);
    return json_writer(&call->answer);
}

/** @param stable the code for agents; NULL = the problem's */
static void write_problem(struct call *call, enum problem_code code, const char *stable,
                          const char *errors, const char *format, va_list arguments)
{
    char detail[RONDO_ERROR_MESSAGE_SIZE * 2];
    vsnprintf(detail, sizeof(detail), format, arguments);
    auto_buf struct buf answer = {0}; /* The errors may lie in the old one. */
    unsigned status = problem_status(code);
    bool has_error = call->match.route != NULL && call->match.route->has_error;
    struct problem_error error = {
        .code = stable == NULL ? problem_name(code) : stable,
        .is_retryable = call->retry_after_s > 0 || status == 429 || status == 503 || status == 408,
    };
    problem_write_error(code, detail, http_exchange_path(call->exchange), errors,
                        has_error ? &error : NULL, &answer);
    buf_clear(&call->answer);
    buf_append(&call->answer, answer.data, answer.len);
    call->status = problem_status(code);
    call->content_type = PROBLEM_CONTENT_TYPE;
    call->location[0] = '\0';
    bool is_for_later = call->status == 429 || call->status == 503;
    call->retry_after_s = is_for_later && call->retry_after_s == 0 ? 2 : call->retry_after_s;
}

void call_problem(struct call *call, enum problem_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_problem(call, code, NULL, NULL, format, arguments);
    va_end(arguments);
}

void call_problem_with(struct call *call, enum problem_code code, const char *errors,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_problem(call, code, NULL, errors, format, arguments);
    va_end(arguments);
}

void call_refuse(struct call *call, enum problem_code code, const char *stable, const char *format,
                 ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_problem(call, code, stable, NULL, format, arguments);
    va_end(arguments);
}

void call_error(struct call *call, const struct rondo_error *err)
{
    enum problem_code code = problem_of_error(err);
    bool needs_attention = code == PROBLEM_INTERNAL || err->code == RONDO_ERR_CORRUPT;
    if (needs_attention && call->server->options.log != NULL) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "%s %s: %s", http_exchange_method(call->exchange),
                   http_exchange_path(call->exchange), err->message);
        call->server->options.log(call->server->options.log_context, buf_string(&line));
    }
    call_problem(call, code, "%s", err->message);
}

const char *call_value(const struct call *call, const char *name)
{
    const char *value = route_value(&call->match, name);
    return value == NULL ? "" : value;
}

const char *call_query(const struct call *call, const char *name)
{
    return http_exchange_query(call->exchange, name);
}

bool call_query_int(struct call *call, const char *name, int64_t low, int64_t high,
                    int64_t by_default, int64_t *ret_number)
{
    const char *text = call_query(call, name);
    *ret_number = by_default;
    if (text == NULL || parse_int(text, low, high, ret_number, NULL) == 0) {
        return true;
    }
    call_problem(call, PROBLEM_MALFORMED,
                 "the parameter %s takes a number from %" PRId64 " to %" PRId64, name, low, high);
    return false;
}

bool call_query_bool(struct call *call, const char *name, bool by_default, bool *ret_value)
{
    static const char *const words[] = {"false", "true", NULL};
    int index = -1;
    bool is_good = call_query_word(call, name, words, &index);
    *ret_value = index < 0 ? by_default : index == 1;
    return is_good;
}

bool call_query_word(struct call *call, const char *name, const char *const *words, int *ret_index)
{
    const char *text = call_query(call, name);
    auto_buf struct buf list = {0};
    *ret_index = -1;
    for (int i = 0; text != NULL && words[i] != NULL; i++) {
        buf_printf(&list, "%s%s", i > 0 ? ", " : "", words[i]);
        if (strcmp(text, words[i]) == 0) {
            *ret_index = i;
        }
    }
    if (text != NULL && *ret_index < 0) {
        call_problem(call, PROBLEM_MALFORMED, "the parameter %s takes one of: %s", name,
                     buf_string(&list));
    }
    return text == NULL || *ret_index >= 0;
}

/** One entry of the list of errors. */
static void report_member(struct call *call, enum problem_code code, const char *path,
                          const char *name, const char *what)
{
    auto_buf struct buf errors = {0};
    auto_buf struct buf where = {0};
    struct json_writer writer = json_writer(&errors);
    buf_printf(&where, "%s%s", path, name);
    json_begin_array(&writer, NULL);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "path", buf_string(&where));
    json_write_string(&writer, "message", what);
    json_end_object(&writer);
    json_end_array(&writer);
    call_problem_with(call, code, buf_string(&errors), "%s%.64s %s", path, name, what);
}

bool call_check_members(struct call *call, struct json_object *object, const char *path,
                        const char *allowed)
{
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        if (!route_list_has(allowed, name)) {
            report_member(call, PROBLEM_INVALID, path, name, "is no member that is known here");
            return false;
        }
    }
    return true;
}

bool call_member_text(struct call *call, const char *name, bool is_needed, const char **ret_text)
{
    struct json_object *value = NULL;
    *ret_text = NULL;
    json_object_object_get_ex(call->body, name, &value);
    if (value == NULL && !is_needed) {
        return true;
    }
    if (!json_object_is_type(value, json_type_string)) {
        report_member(call, PROBLEM_INVALID, "", name, "must be a text");
        return false;
    }
    if (strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value)) {
        report_member(call, PROBLEM_INVALID, "", name, "must not contain a NUL character");
        return false;
    }
    *ret_text = json_object_get_string(value);
    return true;
}

bool call_member_bool(struct call *call, const char *name, bool by_default, bool *ret_value)
{
    struct json_object *value = NULL;
    *ret_value = by_default;
    if (!json_object_object_get_ex(call->body, name, &value) || value == NULL) {
        return true;
    }
    if (!json_object_is_type(value, json_type_boolean)) {
        report_member(call, PROBLEM_INVALID, "", name, "must be true or false");
        return false;
    }
    *ret_value = json_object_get_boolean(value);
    return true;
}

bool call_find_run(struct call *call, struct store_run *ret_run)
{
    struct rondo_error err = {0};
    const char *name = call_value(call, "run");
    if (strlen(name) < CALL_RUN_PREFIX_MIN) {
        call_problem(call, PROBLEM_NOT_FOUND,
                     "a run's id, or at least %d characters of its beginning, are needed",
                     CALL_RUN_PREFIX_MIN);
        return false;
    }
    int r = store_find_run(call_store(call), name, NULL, ret_run, &err);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND && r != RONDO_ERR_INVALID) {
        call_error(call, &err);
        return false;
    }
    if (r < 0 || !token_grant_covers(&call->grant, ret_run->agent_id)) {
        /* One answer for all of it: a token for some agents learns nothing of the others. */
        call_problem(call, PROBLEM_NOT_FOUND, "there is no run %.64s, or several begin like this",
                     name);
        return false;
    }
    return true;
}

bool call_sees_content(struct call *call, const char *agent_id)
{
    const char *person = call->grant.person[0] == '\0' ? NULL : call->grant.person;
    if (!server_hides_content(call->server, person, agent_id)) {
        return true;
    }
    call_problem(call, PROBLEM_FORBIDDEN,
                 "a rule of the desk file hides values in requests of %s from you, so what it said "
                 "and did is not shown; use a token of a person from whom no such rule hides "
                 "anything",
                 agent_id == NULL ? "some agents" : agent_id);
    return false;
}

bool call_find_content(struct call *call, struct store_run *ret_run)
{
    return call_find_run(call, ret_run) && call_sees_content(call, ret_run->agent_id);
}

void call_answer_list(struct call *call, const char *name, struct buf *list, int code,
                      const struct rondo_error *err)
{
    if (code < 0) {
        call_error(call, err);
        return;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_raw(&writer, name, buf_string(list));
    json_end_object(&writer);
}

void call_enter(struct call *call, size_t index)
{
    call->server = call->reached[index].server;
    call->grant = call->reached[index].grant;
}

bool call_spans_stores(const struct call *call)
{
    return call->reached != NULL && call->match.route->spans && call_query(call, "store") == NULL;
}

struct store *call_store(const struct call *call)
{
    return runtime_store(call->server->options.runtime);
}

struct orchestrator *call_orchestrator(const struct call *call)
{
    return call->server->options.orchestrator;
}

void call_write_time(struct json_writer *writer, const char *key, int64_t time_ns)
{
    char text[CLOCK_UTC_SIZE];
    clock_format_utc(time_ns, text);
    json_write_string(writer, key, time_ns == 0 ? NULL : text);
}

void call_write_money(struct json_writer *writer, const char *key, int64_t micro)
{
    auto_buf struct buf text = {0};
    text_money(micro, &text);
    json_write_raw(writer, key, buf_string(&text));
}

char **call_list_new(const char *text)
{
    size_t count = 1;
    for (const char *at = text; *at != '\0'; at++) {
        count += *at == ',';
    }
    char **list = memory_new_zero(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        size_t len = strcspn(text, ",");
        list[i] = memory_dup_bytes(text, len);
        text += len + (text[len] == ',');
    }
    return list;
}

void call_list_free(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        free(list[i]);
    }
    free(list);
}
