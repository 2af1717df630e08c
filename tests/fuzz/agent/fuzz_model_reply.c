// SPDX-License-Identifier: Apache-2.0
/*
 * Replies of providers. The first byte chooses the dialect and the form; the rest is what a server
 * sends. Whatever it is, there is a reply or a failure; what is written of it for the next request
 * is JSON, and the request is, too.
 */
#include "../fuzz.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/random.h"
#include "model/dialect.h"
#include "model/failure.h"
#include "model/reading.h"
#include "net/client/sse.h"

#include <json-c/json.h>
#include <string.h>

enum reply_choice {
    CHOICE_ANTHROPIC = 1,
    CHOICE_STREAM = 2,
    CHOICE_ERROR = 4,
    CHOICE_DEEPSEEK = 8,
};

/** A model of this dialect, which asks nobody. */
static struct model *open_model(unsigned choice)
{
    struct model *model = NULL;
    struct model_options options = {
        .provider = (choice & CHOICE_ANTHROPIC) != 0  ? "anthropic"
                    : (choice & CHOICE_DEEPSEEK) != 0 ? "deepseek"
                                                      : "local",
        .name = "m",
        .base_url = "http://localhost",
        .clock = clock_system(),
        .random = random_system(),
        .price_input_micro = 3,
        .price_output_micro = 5,
    };
    FUZZ_CHECK(model_open(&options, &model, NULL) == 0);
    return model;
}

static bool on_event(void *context, const struct sse_event *event)
{
    struct model_reading *reading = context;
    auto_json struct json_object *data = NULL;
    if (json_parse(event->data, event->data_len, &data, NULL) < 0) {
        reading_fail(reading, MODEL_BAD_REPLY, 0, "not JSON: %.100s", event->data);
        return false;
    }
    reading->model->ops->wire->read_event(reading, data);
    return reading->failure == MODEL_OK;
}

static void read_bytes(struct model_reading *reading, unsigned choice, const char *bytes,
                       size_t len)
{
    auto_json struct json_object *reply = NULL;
    if ((choice & CHOICE_ERROR) != 0) {
        failure_read_body(reading, 400 + (choice >> 4) * 9, bytes, len);
        FUZZ_CHECK(reading->failure != MODEL_OK);
    } else if ((choice & CHOICE_STREAM) != 0) {
        struct sse_parser parser;
        sse_parser_init(&parser, 100000);
        sse_parser_feed(&parser, bytes, len, on_event, reading, NULL);
        sse_parser_fini(&parser);
    } else if (json_parse(bytes, len, &reply, NULL) == 0) {
        reading->model->ops->wire->read_reply(reading, reply);
    } else {
        failure_not_json(reading, bytes, len);
    }
}

static void check_reply(const struct model_reply *reply)
{
    FUZZ_CHECK((reply->failure == MODEL_OK) == (reply->message == NULL));
    FUZZ_CHECK(reply->text != NULL && reply->thinking != NULL);
    FUZZ_CHECK(reply->usage.input >= 0 && reply->usage.output >= 0 && reply->usage.cached >= 0);
    for (size_t i = 0; i < reply->call_count; i++) {
        FUZZ_CHECK(reply->calls[i].id[0] != '\0' && reply->calls[i].name != NULL);
        for (size_t j = 0; j < i; j++) {
            FUZZ_CHECK(strcmp(reply->calls[i].id, reply->calls[j].id) != 0);
        }
    }
}

/** The request that follows: the reply and answers to its calls, spliced. */
static void check_request(struct model *model, const struct model_reply *reply)
{
    struct model_message messages[3];
    struct model_request request = {.messages = messages, .message_count = 3};
    struct model_answer answer = {"id", "name", "text", 4, true};
    struct request_body body = {0};
    auto_buf struct buf text = {0};
    auto_buf struct buf suffix = {0};
    model_write_user(model, "hi", &messages[0]);
    model_write_assistant(model, reply, &messages[1]);
    model_write_answers(model, &answer, reply->call_count > 0 ? 1 : 0, &messages[2]);
    FUZZ_CHECK(fuzz_is_json(messages[1].bytes, messages[1].len));
    body_add(&body, model->prefix.data, model->prefix.len);
    model->ops->wire->splice(&request, &body);
    for (size_t i = 0; i < body.count; i++) {
        buf_append(&text, body.parts[i].bytes, body.parts[i].len);
    }
    model->ops->wire->write_suffix(model, &request, &suffix);
    buf_append(&text, suffix.data, suffix.len);
    FUZZ_CHECK(fuzz_is_json(text.data, text.len));
    body_fini(&body);
    for (size_t i = 0; i < 3; i++) {
        free(messages[i].bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    unsigned choice = data[0];
    char *bytes = fuzz_bytes(data + 1, size - 1);
    struct model *model = open_model(choice);
    struct model_request request = {.turn = 1};
    struct model_reply reply = {0};
    struct model_reading reading;
    reading_init(&reading, model, &request);
    read_bytes(&reading, choice, bytes, size - 1);
    reading_finish(&reading, &reply);
    check_reply(&reply);
    check_request(model, &reply);
    model_reply_fini(&reply);
    reading_fini(&reading);
    model_free(model);
    free(bytes);
    return 0;
}
