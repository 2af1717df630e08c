// SPDX-License-Identifier: Apache-2.0
/*
 * One conversation with a server, for check.mjs: asks, answers each call of a tool with the same
 * text, asks again, until the model is done. Prints one line of JSON for each reply.
 *
 *     models_ask PROVIDER MODEL URL stream|whole TEXT
 */
#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/random.h"
#include "model/model.h"
#include "net/client/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REPLIES 4
#define MAX_CALLS   16
#define SYSTEM      "You are a \"careful\" helper.\n"
#define ANSWER                                   \
    "{\"temperature\": 21, \"unit\": \"\xc2\xb0" \
    "C\"}"

static const struct model_tool tools[] = {
    {"get_weather", "Weather of a city",
     "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"],"
     "\"additionalProperties\":false}"},
    {"get_time", "Time now", "{\"type\":\"object\",\"properties\":{}}"},
};

static void print_reply(const struct model_reply *reply)
{
    struct buf line = {0};
    struct json_writer writer = json_writer(&line);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "failure", model_failure_name(reply->failure));
    json_write_string(&writer, "message", reply->message);
    json_write_string(&writer, "text", reply->text);
    json_write_string(&writer, "thinking", reply->thinking);
    json_write_string(&writer, "stop", model_stop_name(reply->stop));
    json_begin_array(&writer, "calls");
    for (size_t i = 0; i < reply->call_count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "id", reply->calls[i].id);
        json_write_string(&writer, "name", reply->calls[i].name);
        json_write_string(&writer, "arguments", reply->calls[i].arguments);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_write_int(&writer, "input", reply->usage.input);
    json_write_int(&writer, "output", reply->usage.output);
    json_write_int(&writer, "cached", reply->usage.cached);
    json_write_int(&writer, "reasoning", reply->usage.reasoning);
    json_end_object(&writer);
    puts(buf_string(&line));
    buf_fini(&line);
}

/** Add the reply and the answers to its calls. */
static void go_on(struct model *model, const struct model_reply *reply,
                  struct model_message *messages)
{
    struct model_answer answers[MAX_CALLS];
    size_t count = reply->call_count < MAX_CALLS ? reply->call_count : MAX_CALLS;
    for (size_t i = 0; i < count; i++) {
        answers[i] = (struct model_answer){.call_id = reply->calls[i].id,
                                           .name = reply->calls[i].name,
                                           .text = ANSWER,
                                           .text_len = strlen(ANSWER)};
    }
    model_write_assistant(model, reply, &messages[0]);
    model_write_answers(model, answers, count, &messages[1]);
}

static int converse(struct model *model, const char *text, bool is_streaming,
                    struct rondo_error *err)
{
    struct model_message messages[1 + 2 * MAX_REPLIES];
    struct model_request request = {.messages = messages,
                                    .message_count = 1,
                                    .is_streaming = is_streaming,
                                    .deadline_ns = clock_monotonic(clock_system()) + 60 * NS_PER_S};
    bool is_over = false;
    int r = 0;
    model_write_user(model, text, &messages[0]);
    for (request.turn = 1; request.turn <= MAX_REPLIES && !is_over && r == 0; request.turn++) {
        struct model_reply reply = {0};
        r = model_ask(model, &request, &reply, err);
        if (r == 0) {
            print_reply(&reply);
        }
        is_over = r < 0 || reply.failure != MODEL_OK || reply.call_count == 0;
        if (!is_over) {
            go_on(model, &reply, &messages[request.message_count]);
            request.message_count += 2;
        }
        model_reply_fini(&reply);
    }
    for (size_t i = 0; i < request.message_count; i++) {
        free(messages[i].bytes);
    }
    return r;
}

int main(int argc, char **argv)
{
    struct rondo_error err = {0};
    struct http_client *http = NULL;
    struct model *model = NULL;
    if (argc != 6) {
        fputs("models_ask PROVIDER MODEL URL stream|whole TEXT\n", stderr);
        return 2;
    }
    struct model_options options = {.provider = argv[1],
                                    .name = argv[2],
                                    .base_url = argv[3],
                                    .temperature = 0.1,
                                    .max_tokens = 512,
                                    .price_input_micro = -1,
                                    .price_output_micro = -1,
                                    .clock = clock_system(),
                                    .random = random_system()};
    int r = http_client_new(NULL, &http, &err);
    options.http = http;
    r = r < 0 ? r : model_open(&options, &model, &err);
    if (r == 0) {
        model_set_system(model, SYSTEM);
        model_set_tools(model, tools, sizeof(tools) / sizeof(tools[0]));
        r = converse(model, argv[5], strcmp(argv[4], "stream") == 0, &err);
    }
    if (r < 0) {
        fprintf(stderr, "%s\n", err.message);
    }
    model_free(model);
    http_client_free(http);
    return r < 0 ? 1 : 0;
}
