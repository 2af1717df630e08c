// SPDX-License-Identifier: Apache-2.0
/*
 * Provider `scripted`: says the turns of a file. Needs no key and no network; used by tests, by
 * --dry-run, and to play recorded conversations again. A call is a pure function of the request.
 */
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "model/dialect.h"
#include "model/script.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** Bytes of a piece when somebody watches. */
#define PIECE 24

static const char dry_run[] = "{\"text\":\"" SCRIPT_DRY_RUN_TEXT "\",\"forever\":true}";

static int open_script(struct model *model, const struct model_options *options,
                       struct rondo_error *err)
{
    if (strcmp(options->name, SCRIPT_DRY_RUN) == 0) {
        return script_parse(SCRIPT_DRY_RUN, dry_run, strlen(dry_run), &model->script, err);
    }
    char *path = model_path(options, options->name);
    int r = script_read(path, &model->script, err);
    free(path);
    return r;
}

static void close_script(struct model *model)
{
    script_free(model->script);
}

static void write_user(const char *text, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "user");
    json_write_string(&writer, "text", text);
    json_end_object(&writer);
}

static void write_assistant(const struct model_reply *reply, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "assistant");
    json_write_string(&writer, "text", reply->text == NULL ? "" : reply->text);
    json_begin_array(&writer, "calls");
    model_reply_write_calls(reply, &writer);
    json_end_array(&writer);
    json_end_object(&writer);
}

static void write_answers(const struct model_answer *answers, size_t count, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "tools");
    json_begin_array(&writer, "answers");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "id", answers[i].call_id);
        json_write_string(&writer, "name", answers[i].name);
        json_write_string_len(&writer, "text", answers[i].text, answers[i].text_len);
        json_write_bool(&writer, "is_error", answers[i].is_error);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static bool holds(struct json_object *text, const char *word)
{
    return json_object_is_type(text, json_type_string) &&
           strstr(json_object_get_string(text), word) != NULL;
}

/** Whether a message says something: its text, or one of its answers. */
static bool message_says(const struct model_message *message, const char *word)
{
    auto_json struct json_object *value = NULL;
    if (json_parse(message->bytes, message->len, &value, NULL) < 0) {
        return false;
    }
    struct json_object *answers = json_member(value, "answers");
    bool is_said = holds(json_member(value, "text"), word);
    for (size_t i = 0; i < json_length(answers) && !is_said; i++) {
        is_said = holds(json_member(dialect_at(answers, i), "text"), word);
    }
    return is_said;
}

static bool last_says(const struct model_request *request, const char *word)
{
    return request->message_count > 0 &&
           message_says(&request->messages[request->message_count - 1], word);
}

static bool any_says(const struct model_request *request, const char *word)
{
    for (size_t i = 0; i < request->message_count; i++) {
        if (message_says(&request->messages[i], word)) {
            return true;
        }
    }
    return false;
}

static bool has_tool(const struct model *model, const char *name)
{
    auto_buf struct buf line = {0};
    buf_printf(&line, "\n%s\n", name);
    return strstr(buf_string(&model->tool_names), buf_string(&line)) != NULL;
}

/** What a turn demands and the request lacks. @return whether all is there */
static bool is_expected(const struct model *model, const struct model_request *request,
                        const struct script_expect *expect, struct buf *ret_problem)
{
    if (expect->last_contains != NULL && !last_says(request, expect->last_contains)) {
        buf_printf(ret_problem, "the last message lacks \"%s\"", expect->last_contains);
    } else if (expect->last_lacks != NULL && last_says(request, expect->last_lacks)) {
        buf_printf(ret_problem, "the last message has \"%s\"", expect->last_lacks);
    } else if (expect->any_contains != NULL && !any_says(request, expect->any_contains)) {
        buf_printf(ret_problem, "no message has \"%s\"", expect->any_contains);
    } else if (expect->system_contains != NULL &&
               strstr(model->system, expect->system_contains) == NULL) {
        buf_printf(ret_problem, "the system prompt lacks \"%s\"", expect->system_contains);
    } else if (expect->has_tool != NULL && !has_tool(model, expect->has_tool)) {
        buf_printf(ret_problem, "there is no tool `%s`", expect->has_tool);
    } else if (expect->messages >= 0 && (int64_t)request->message_count != expect->messages) {
        buf_printf(ret_problem, "there are %zu messages, not %" PRId64, request->message_count,
                   expect->messages);
    }
    return ret_problem->len == 0;
}

/** The number of the request; without one, the replies so far are counted. */
static uint64_t turn_of(const struct model_request *request)
{
    uint64_t turn = 1;
    for (size_t i = 0; i < request->message_count; i++) {
        turn += request->messages[i].kind == MODEL_ASSISTANT ? 1 : 0;
    }
    return request->turn > 0 ? request->turn : turn;
}

static void fail(struct model_reply *reply, enum model_failure failure, const char *message)
{
    reply->failure = failure;
    reply->message = memory_dup_string(message);
}

/** Wait as the turn says. @return whether there is time and nobody cancelled */
static bool wait(const struct model *model, const struct model_request *request, int64_t delay_ns,
                 struct model_reply *reply)
{
    int64_t left_ns = request->deadline_ns - clock_monotonic(model->clock);
    if (delay_ns > 0 && left_ns > 0 && !cancel_is_set(request->cancel)) {
        clock_sleep(model->clock, delay_ns < left_ns ? delay_ns : left_ns, request->cancel);
    }
    if (cancel_is_set(request->cancel)) {
        fail(reply, MODEL_CANCELLED, "cancelled");
    } else if (left_ns <= 0 || delay_ns >= left_ns) {
        fail(reply, MODEL_TIMED_OUT, "the script's delay is longer than the time left");
    }
    return reply->failure == MODEL_OK;
}

/** Say a text in pieces that end with whole characters. */
static void emit_text(void (*say_piece)(void *context, const char *text, size_t len), void *context,
                      const char *text)
{
    size_t len = strlen(text);
    size_t start = 0;
    size_t at = 0;
    while (say_piece != NULL && at < len) {
        size_t sequence = utf8_sequence_len(text + at, len - at);
        at += sequence == 0 ? 1 : sequence;
        if (at - start >= PIECE || at == len) {
            say_piece(context, text + start, at - start);
            start = at;
        }
    }
}

static void take_calls(const struct script_turn *turn, uint64_t number, struct model_reply *reply)
{
    reply->calls = memory_new_zero(turn->call_count + 1, sizeof(*reply->calls));
    reply->call_count = turn->call_count;
    for (size_t i = 0; i < turn->call_count; i++) {
        const struct script_call *from = &turn->calls[i];
        struct buf id = {0};
        if (from->id != NULL && *from->id != '\0') {
            buf_append_string(&id, from->id);
        } else {
            buf_printf(&id, "call_%" PRIu64 "_%zu", number, i + 1);
        }
        reply->calls[i].id = buf_steal(&id);
        reply->calls[i].name = memory_dup_string(from->name);
        reply->calls[i].arguments =
            memory_dup_string(from->arguments == NULL ? "" : from->arguments);
    }
}

static char *or_empty(const char *text)
{
    return memory_dup_string(text == NULL ? "" : text);
}

static void take_reply(const struct model *model, const struct model_request *request,
                       const struct script_turn *turn, struct model_reply *reply)
{
    const struct model_watcher *watcher = request->watcher;
    reply->first_token_ns = clock_monotonic(model->clock);
    if (watcher != NULL && request->is_streaming) {
        emit_text(watcher->on_thinking, watcher->context,
                  turn->thinking == NULL ? "" : turn->thinking);
        emit_text(watcher->on_text, watcher->context, turn->text == NULL ? "" : turn->text);
    }
    reply->text = or_empty(turn->text);
    reply->thinking = or_empty(turn->thinking);
    reply->stop = turn->stop;
    take_calls(turn, turn_of(request), reply);
}

static void write_reply(const struct model *model, const struct model_request *request,
                        const struct script_turn *turn, struct model_reply *reply)
{
    auto_buf struct buf problem = {0};
    if (!is_expected(model, request, &turn->expect, &problem)) {
        auto_buf struct buf message = {0};
        buf_printf(&message, "turn %" PRIu64 " of the script: %s", turn_of(request),
                   buf_string(&problem));
        fail(reply, MODEL_SCRIPT_OVER, buf_string(&message));
        return;
    }
    if (!wait(model, request, turn->delay_ns, reply)) {
        return;
    }
    reply->usage = turn->usage;
    if (turn->error != MODEL_OK) {
        fail(reply, turn->error, turn->message == NULL ? "as the script says" : turn->message);
        return;
    }
    take_reply(model, request, turn, reply);
}

static int ask(struct model *model, const struct model_request *request,
               struct model_reply *ret_reply, struct rondo_error *err)
{
    (void)err;
    uint64_t number = turn_of(request);
    const struct script_turn *turn = script_find(model->script, number);
    ret_reply->attempts = 1;
    if (turn != NULL) {
        write_reply(model, request, turn, ret_reply);
    } else {
        auto_buf struct buf message = {0};
        buf_printf(&message, "the script has no turn %" PRIu64, number);
        fail(ret_reply, MODEL_SCRIPT_OVER, buf_string(&message));
    }
    if (ret_reply->text == NULL) {
        ret_reply->text = or_empty(NULL);
        ret_reply->thinking = or_empty(NULL);
    }
    return 0;
}

const struct model_ops scripted_ops = {
    .dialect = "scripted",
    .open = open_script,
    .close = close_script,
    .write_user = write_user,
    .write_assistant = write_assistant,
    .write_answers = write_answers,
    .ask = ask,
};
