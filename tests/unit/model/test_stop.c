// SPDX-License-Identifier: Apache-2.0
/* Why replies end, and how much they may hold: the same in both dialects, whole and in pieces. */
#include "asking.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum content { TEXT, BLANK, CALLS };

static const struct {
    const char *provider;
    const char *word;
    enum content content;
    enum model_stop stop;
} cases[] = {
    {"local", "stop", TEXT, MODEL_STOP_END},
    {"local", "stop", BLANK, MODEL_STOP_EMPTY},
    {"local", "stop", CALLS, MODEL_STOP_TOOLS},
    {"local", "tool_calls", CALLS, MODEL_STOP_TOOLS},
    {"local", "tool_calls", TEXT, MODEL_STOP_END},
    {"local", "function_call", BLANK, MODEL_STOP_EMPTY},
    {"local", "length", TEXT, MODEL_STOP_LENGTH},
    {"local", "length", BLANK, MODEL_STOP_LENGTH},
    {"local", "length", CALLS, MODEL_STOP_LENGTH},
    {"local", "MAX_TOKENS", TEXT, MODEL_STOP_LENGTH},
    {"local", "model_length", TEXT, MODEL_STOP_LENGTH},
    {"local", "content_filter", TEXT, MODEL_STOP_FILTERED},
    {"local", "content_filter", BLANK, MODEL_STOP_FILTERED},
    {"local", "content_filter: RECITATION", TEXT, MODEL_STOP_FILTERED},
    {"local", "SAFETY", BLANK, MODEL_STOP_FILTERED},
    {"local", "refusal", TEXT, MODEL_STOP_REFUSED},
    {"local", "something_new", TEXT, MODEL_STOP_END},
    {"local", "something_new", BLANK, MODEL_STOP_EMPTY},
    {"anthropic", "end_turn", TEXT, MODEL_STOP_END},
    {"anthropic", "end_turn", BLANK, MODEL_STOP_EMPTY},
    {"anthropic", "end_turn", CALLS, MODEL_STOP_TOOLS},
    {"anthropic", "stop_sequence", TEXT, MODEL_STOP_END},
    {"anthropic", "pause_turn", TEXT, MODEL_STOP_END},
    {"anthropic", "tool_use", CALLS, MODEL_STOP_TOOLS},
    {"anthropic", "max_tokens", TEXT, MODEL_STOP_LENGTH},
    {"anthropic", "max_tokens", CALLS, MODEL_STOP_LENGTH},
    {"anthropic", "model_context_window_exceeded", TEXT, MODEL_STOP_LENGTH},
    {"anthropic", "refusal", TEXT, MODEL_STOP_REFUSED},
    {"anthropic", "refusal", BLANK, MODEL_STOP_REFUSED},
    {"anthropic", "something_new", TEXT, MODEL_STOP_END},
};

#define OPENAI_CALLS                                                                    \
    "\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\"," \
    "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]"

static void write_openai(bool is_stream, enum content content, const char *word, struct buf *out)
{
    static const char *const members[] = {
        [TEXT] = "\"content\":\"x\"",
        [BLANK] = "\"content\":\" \\n\"",
        [CALLS] = OPENAI_CALLS,
    };
    buf_printf(out,
               is_stream ? "data: {\"choices\":[{\"index\":0,\"delta\":{%s}}]}\n\n"
                           "data: {\"choices\":[{\"index\":0,\"delta\":{},"
                           "\"finish_reason\":\"%s\"}]}\n\ndata: [DONE]\n\n"
                         : "{\"choices\":[{\"message\":{%s},\"finish_reason\":\"%s\"}]}",
               members[content], word);
}

static void write_anthropic(bool is_stream, enum content content, const char *word, struct buf *out)
{
    static const char *const blocks[] = {
        [TEXT] = "{\"type\":\"text\",\"text\":\"x\"}",
        [BLANK] = "{\"type\":\"text\",\"text\":\" \"}",
        [CALLS] = "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}",
    };
    buf_printf(out,
               is_stream ? "data: {\"type\":\"content_block_start\",\"index\":0,"
                           "\"content_block\":%s}\n\n"
                           "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
                           "\"%s\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
                         : "{\"content\":[%s],\"stop_reason\":\"%s\"}",
               blocks[content], word);
}

static void open_case(struct asking *asking, const char *provider)
{
    asking_open(asking, provider, "m", NULL);
    asking_user(asking, "hi");
}

static struct model_reply ask_case(struct asking *asking, bool is_stream, const char *body)
{
    http_peer_reply(asking->peer, 200, is_stream ? STREAM_TYPE : JSON_TYPE, body);
    return is_stream ? asking_stream(asking) : asking_ask(asking);
}

TEST(each_word_of_a_provider_has_one_meaning)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool is_anthropic = strcmp(cases[i].provider, "anthropic") == 0;
        for (int is_stream = 0; is_stream <= 1; is_stream++) {
            struct asking asking;
            struct buf body = {0};
            open_case(&asking, cases[i].provider);
            (is_anthropic ? write_anthropic : write_openai)(is_stream != 0, cases[i].content,
                                                            cases[i].word, &body);
            struct model_reply reply = ask_case(&asking, is_stream != 0, buf_string(&body));
            if (reply.failure != MODEL_OK || reply.stop != cases[i].stop) {
                fail_msg("case %zu (%s), stream %d: %s, %s", i, cases[i].word, is_stream,
                         model_failure_name(reply.failure), model_stop_name(reply.stop));
            }
            model_reply_fini(&reply);
            buf_fini(&body);
            asking_close(&asking);
        }
    }
}

TEST(a_reply_that_the_server_aborted_is_asked_for_again)
{
    for (int is_stream = 0; is_stream <= 1; is_stream++) {
        struct asking asking;
        struct buf broken = {0};
        struct buf good = {0};
        open_case(&asking, "local");
        write_openai(is_stream != 0, TEXT, "error", &broken);
        write_openai(is_stream != 0, TEXT, "stop", &good);
        http_peer_reply(asking.peer, 200, is_stream ? STREAM_TYPE : JSON_TYPE, buf_string(&broken));
        struct model_reply reply = ask_case(&asking, is_stream != 0, buf_string(&good));
        assert_int_equal(reply.failure, MODEL_OK);
        assert_int_equal(reply.attempts, 2);
        model_reply_fini(&reply);
        buf_fini(&broken);
        buf_fini(&good);
        asking_close(&asking);
    }
}

TEST(stops_know_whether_they_are_answers)
{
    for (enum model_stop i = MODEL_STOP_END; i <= MODEL_STOP_EMPTY; i++) {
        bool is_answer = i == MODEL_STOP_END || i == MODEL_STOP_TOOLS;
        assert_int_equal(model_stop_is_answer(i), is_answer);
        assert_true(strlen(model_stop_meaning(i)) > 0);
        assert_false(is_answer && model_stop_is_cut(i));
    }
}

/** @return how a reply with a text of so many bytes ends */
static enum model_failure ask_for(size_t size, bool is_stream, char *ret_message, size_t room)
{
    struct asking asking;
    struct buf body = {0};
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    open_case(&asking, "local");
    buf_append_string(&body, is_stream
                                 ? "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\""
                                 : "{\"choices\":[{\"message\":{\"content\":\"");
    buf_append_string(&body, text);
    buf_append_string(&body, is_stream ? "\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
                                       : "\"},\"finish_reason\":\"stop\"}]}");
    struct model_reply reply = ask_case(&asking, is_stream, buf_string(&body));
    enum model_failure failure = reply.failure;
    snprintf(ret_message, room, "%s", reply.message == NULL ? "" : reply.message);
    assert_int_equal(reply.attempts, 1);
    model_reply_fini(&reply);
    buf_fini(&body);
    free(text);
    asking_close(&asking);
    return failure;
}

TEST(a_reply_beyond_the_limit_is_a_failed_request)
{
    char message[256];
    for (int is_stream = 0; is_stream <= 1; is_stream++) {
        size_t most = (size_t)LIMIT_MODEL_REPLY_BYTES;
        assert_int_equal(ask_for(most, is_stream != 0, message, sizeof(message)), MODEL_OK);
        assert_int_equal(ask_for(most + 1, is_stream != 0, message, sizeof(message)),
                         MODEL_BAD_REPLY);
        assert_non_null(strstr(message, "at most 2097152 are taken"));
    }
}

TEST(what_a_server_names_is_printable_and_without_the_key)
{
    struct asking asking;
    open_case(&asking, "local");
    http_peer_reply(asking.peer, 200,
                    JSON_TYPE "X-Request-Id: req \x1b[31m\xe2\x80\xae" TEST_KEY "\r\n",
                    "{\"model\":\"m\\u202e\\u001b" TEST_KEY
                    "\",\"choices\":[{\"message\":{\"content\":\"x\"}}]}");
    struct model_reply reply = asking_ask(&asking);
    assert_string_equal(reply.request_id, "req??[31m???[key]");
    assert_string_equal(reply.model_name, "m????[key]");
    model_reply_fini(&reply);
    asking_close(&asking);
}
