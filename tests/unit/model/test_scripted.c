// SPDX-License-Identifier: Apache-2.0
/* Scripts: the file, which turn answers, what it says, and recordings that play back. */
#include "asking.h"

#include "base/error.h"
#include "model/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct script_turn *turn_of(struct model_script *script, uint64_t number)
{
    return script_find(script, number);
}

static struct model_script *parse(const char *text)
{
    struct model_script *script = NULL;
    struct rondo_error err = {0};
    if (script_parse("s", text, strlen(text), &script, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return script;
}

TEST(lines_and_lists_are_the_same)
{
    static const char *const texts[] = {"{\"text\":\"a\"}\n\n  {\"text\":\"b\"}\r\n",
                                        " [{\"text\":\"a\"},\n{\"text\":\"b\"}]"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct model_script *script = parse(texts[i]);
        assert_string_equal(turn_of(script, 1)->text, "a");
        assert_string_equal(turn_of(script, 2)->text, "b");
        assert_null(turn_of(script, 3));
        assert_null(turn_of(script, 0));
        script_free(script);
    }
}

TEST(turns_are_repeated_numbered_and_said_for_ever)
{
    struct model_script *script = parse("{\"text\":\"a\",\"repeat\":3}\n{\"text\":\"b\"}\n"
                                        "{\"text\":\"c\",\"turn\":9}\n{\"text\":\"d\",\"turn\":2}\n"
                                        "{\"text\":\"e\",\"forever\":true}");
    assert_string_equal(turn_of(script, 1)->text, "a");
    assert_string_equal(turn_of(script, 2)->text, "d");
    assert_string_equal(turn_of(script, 3)->text, "e");
    assert_string_equal(turn_of(script, UINT64_MAX)->text, "e");
    script_free(script);
}

TEST(a_wrong_script_is_refused_with_its_turn)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"text\":\"a\"}\n{\"txt\":\"b\"}",
         "script s: turn 2: unknown member `txt`; did you mean `text`?"},
        {"{\"text\":7}", "script s: turn 1: text: a string is expected"},
        {"{\"text\":\"a\"}\n\n{\"text\"",
         "script s: line 3: not valid JSON: 1:8: expected `:`, found the end"},
        {"[1]", "script s: turn 1: an object is expected"},
        {"[{}", "script s: not valid JSON: 1:4: expected `,` or `]`, found the end"},
        {"{\"tool_calls\":[{}]}", "script s: turn 1: tool_calls: a name is expected"},
        {"{\"tool_calls\":[{\"name\":\"a\",\"arguments\":7}]}",
         "script s: turn 1: tool_calls: arguments: an object, or a string is expected"},
        {"{\"stop\":\"never\"}",
         "script s: turn 1: stop: \"end\", \"tools\", \"length\" or \"filtered\" is expected"},
        {"{\"error\":\"ok\"}", "script s: turn 1: error: the name of a failure, like "
                               "\"rate_limited\" or \"overloaded\", is expected"},
        {"{\"repeat\":0}", "script s: turn 1: repeat: a number from 1 to 4611686018427387903 is "
                           "expected"},
        {"{\"delay_ms\":86400001}",
         "script s: turn 1: delay_ms: a number from 0 to 86400000 is expected"},
        {"{\"forever\":true}\n{}", "script s: turn 2: the turn before is said for ever"},
        {"{\"usage\":{\"input\":-1}}",
         "script s: turn 1: usage: input: a number from 0 to 1000000000000 is expected"},
        {"{\"expect\":{\"last\":\"x\"}}", "script s: turn 1: expect: unknown member `last`"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct model_script *script = NULL;
        struct rondo_error err = {0};
        assert_int_equal(script_parse("s", cases[i].text, strlen(cases[i].text), &script, &err),
                         RONDO_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        assert_null(script);
    }
}

TEST(a_turn_makes_1024_calls_at_most)
{
    struct rondo_error err = {0};
    for (int count = 1024; count <= 1025; count++) {
        struct buf text = {0};
        struct model_script *script = NULL;
        buf_append_string(&text, "{\"tool_calls\":[");
        for (int i = 0; i < count; i++) {
            buf_append_string(&text, i == 0 ? "{\"name\":\"a\"}" : ",{\"name\":\"a\"}");
        }
        buf_append_string(&text, "]}");
        int r = script_parse("s", text.data, text.len, &script, &err);
        assert_int_equal(r, count == 1024 ? 0 : RONDO_ERR_INVALID);
        script_free(script);
        buf_fini(&text);
    }
}

TEST(a_script_of_64_mebibytes_is_read_and_a_larger_one_refused)
{
    struct rondo_error err = {0};
    char path[] = "/tmp/rondo-test-script-XXXXXX";
    static const char turn[] = "{\"text\":\"x\"}";
    char *text = malloc(SCRIPT_MAX_BYTES + 1);
    memset(text, '\n', SCRIPT_MAX_BYTES + 1);
    memcpy(text, turn, strlen(turn));
    int fd = mkstemp(path);
    for (size_t extra = 0; extra <= 1; extra++) {
        struct model_script *script = NULL;
        assert_int_equal(pwrite(fd, text, SCRIPT_MAX_BYTES + extra, 0),
                         (ssize_t)(SCRIPT_MAX_BYTES + extra));
        assert_int_equal(script_read(path, &script, &err), extra == 0 ? 0 : RONDO_ERR_LIMIT);
        script_free(script);
    }
    free(text);
    close(fd);
    unlink(path);
}

/* --- the model --- */

/** A script in a file of its own; unlink() it. */
static void write_script(char *path, const char *text)
{
    snprintf(path, 64, "%s", "/tmp/rondo-test-script-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void open_script(struct asking *asking, const char *text)
{
    char path[64];
    struct model_options options = {.price_input_micro = -1, .price_output_micro = -1};
    write_script(path, text);
    asking_open(asking, "scripted", path, &options);
    unlink(path);
    asking_user(asking, "hi \"there\"");
}

TEST(a_turn_is_a_reply)
{
    struct asking asking;
    open_script(&asking,
                "{\"text\":\"t\",\"thinking\":\"h\",\"tool_calls\":[{\"name\":\"read\","
                "\"arguments\":{\"p\": \"x/y\"}},{\"id\":\"own\",\"name\":\"bad\",\"arguments\":"
                "\"{oops\"}],\"usage\":{\"input\":10,\"output\":4,\"cached\":3}}");
    asking.request.turn = 1;
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_string_equal(reply.text, "t");
    assert_string_equal(reply.thinking, "h");
    assert_int_equal(reply.stop, MODEL_STOP_TOOLS);
    assert_int_equal(reply.call_count, 2);
    assert_string_equal(reply.calls[0].id, "call_1_1");
    assert_string_equal(reply.calls[0].arguments, "{\"p\":\"x/y\"}");
    assert_string_equal(reply.calls[1].id, "own");
    assert_string_equal(reply.calls[1].arguments, "{oops");
    assert_int_equal(reply.usage.input, 10);
    assert_int_equal(reply.usage.cached, 3);
    assert_true(reply.has_cost);
    assert_int_equal(reply.cost_micro, 0);
    assert_int_equal(reply.attempts, 1);
    assert_string_equal(buf_string(&asking.text), "");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_turn_is_heard_in_pieces_of_whole_characters)
{
    struct asking asking;
    open_script(&asking, "{\"text\":\"0123456789012345678901\u00fc\u00fc\u00fc and so on\"}");
    struct model_reply reply = asking_stream(&asking);
    assert_string_equal(buf_string(&asking.text), "0123456789012345678901\u00fc\u00fc\u00fc and so "
                                                  "on");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(the_number_of_the_request_chooses_the_turn)
{
    struct asking asking;
    open_script(&asking, "{\"text\":\"one\"}\n{\"text\":\"two\"}\n");
    asking.request.turn = 2;
    struct model_reply reply = asking_ask(&asking);
    assert_string_equal(reply.text, "two");
    model_reply_fini(&reply);
    reply = asking_ask(&asking);
    assert_string_equal(reply.text, "two");
    model_reply_fini(&reply);
    asking.request.turn = 3;
    reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_SCRIPT_OVER);
    assert_string_equal(reply.message, "the script has no turn 3");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(without_a_number_the_replies_are_counted)
{
    struct asking asking;
    open_script(&asking, "{\"text\":\"one\"}\n{\"text\":\"two\"}\n");
    struct model_reply reply = asking_ask(&asking);
    assert_string_equal(reply.text, "one");
    asking_add(&asking, &reply);
    model_reply_fini(&reply);
    reply = asking_ask(&asking);
    assert_string_equal(reply.text, "two");
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_turn_may_fail)
{
    struct asking asking;
    open_script(&asking, "{\"error\":\"rate_limited\",\"message\":\"slow\",\"usage\":{\"input\":"
                         "5}}\n{\"error\":\"context_full\"}");
    asking.request.turn = 1;
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_RATE_LIMITED);
    assert_string_equal(reply.message, "slow");
    assert_string_equal(reply.text, "");
    assert_int_equal(reply.usage.input, 5);
    model_reply_fini(&reply);
    asking.request.turn = 2;
    reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_CONTEXT_FULL);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_turn_takes_its_time_but_none_beyond_the_deadline)
{
    struct asking asking;
    open_script(&asking, "{\"text\":\"x\",\"delay_ms\":5000,\"forever\":true}");
    struct model_reply reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_OK);
    assert_int_equal(asking.slept_ns, 5 * NS_PER_S);
    model_reply_fini(&reply);
    asking.request.deadline_ns = clock_monotonic(&asking.clock) + NS_PER_S;
    reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_TIMED_OUT);
    assert_true(asking.slept_ns <= 6 * NS_PER_S);
    model_reply_fini(&reply);
    cancel_set(&asking.cancel, CANCEL_NOW);
    reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_CANCELLED);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_request_that_is_not_the_expected_one_is_told)
{
    static const struct {
        const char *expect, *message; /* NULL = it fits */
    } cases[] = {
        {"{\"last_contains\":\"hi \\\"there\\\"\"}", NULL},
        {"{\"last_contains\":\"ho\"}", "turn 1 of the script: the last message lacks \"ho\""},
        {"{\"last_lacks\":\"ho\"}", NULL},
        {"{\"last_lacks\":\"hi\"}", "turn 1 of the script: the last message has \"hi\""},
        {"{\"any_contains\":\"role\"}", "turn 1 of the script: no message has \"role\""},
        {"{\"any_contains\":\"hi\"}", NULL},
        {"{\"system_contains\":\"good\"}", NULL},
        {"{\"system_contains\":\"bad\"}", "turn 1 of the script: the system prompt lacks \"bad\""},
        {"{\"has_tool\":\"read\"}", NULL},
        {"{\"has_tool\":\"rea\"}", "turn 1 of the script: there is no tool `rea`"},
        {"{\"messages\":1}", NULL},
        {"{\"messages\":2}", "turn 1 of the script: there are 1 messages, not 2"},
    };
    static const struct model_tool tool = {"read", "", "{}"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct asking asking;
        struct buf text = {0};
        buf_printf(&text, "{\"text\":\"x\",\"expect\":%s}", cases[i].expect);
        open_script(&asking, buf_string(&text));
        model_set_system(asking.model, "be good");
        model_set_tools(asking.model, &tool, 1);
        struct model_reply reply = asking_ask(&asking);
        if (cases[i].message == NULL) {
            assert_int_equal(reply.failure, MODEL_OK);
        } else {
            assert_int_equal(reply.failure, MODEL_SCRIPT_OVER);
            assert_string_equal(reply.message, cases[i].message);
        }
        model_reply_fini(&reply);
        buf_fini(&text);
        asking_close(&asking);
    }
}

TEST(answers_of_tools_can_be_expected)
{
    struct asking asking;
    open_script(&asking, "{\"tool_calls\":[{\"name\":\"f\"}]}\n"
                         "{\"text\":\"x\",\"expect\":{\"last_contains\":\"ok\"}}");
    struct model_reply reply = asking_ask(&asking);
    asking_add(&asking, &reply);
    asking_answer(&asking, &reply);
    model_reply_fini(&reply);
    reply = asking_ask(&asking);
    assert_int_equal(reply.failure, MODEL_OK);
    model_reply_fini(&reply);
    asking_close(&asking);
}

TEST(a_dry_run_needs_no_file)
{
    struct asking asking;
    struct model_options options = {.price_input_micro = -1, .price_output_micro = -1};
    asking_open(&asking, "scripted", "dry-run", &options);
    asking.request.turn = 1000000;
    struct model_reply reply = asking_ask(&asking);
    assert_string_equal(reply.text, "[dry-run] Simulated response.");
    assert_int_equal(reply.call_count, 0);
    assert_int_equal(reply.usage.output, 0);
    model_reply_fini(&reply);
    asking_close(&asking);
}

/* --- recordings --- */

#define CALLS                                                                                     \
    "{\"choices\":[{\"message\":{\"content\":\"I \\\"read\\\"\",\"reasoning\":\"r\","             \
    "\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"read\",\"arguments\":"               \
    "\"{\\\"p\\\":1}\"}},{\"id\":\"c2\",\"function\":{\"name\":\"x\",\"arguments\":\"{ \\\"k\\\"" \
    ": 1.50 }\"}},{\"id\":\"c3\",\"function\":{\"name\":\"y\",\"arguments\":\"oops\"}}]}}],"      \
    "\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}"

static void assert_same_reply(const struct model_reply *a, const struct model_reply *b)
{
    assert_int_equal(a->failure, b->failure);
    assert_string_equal(a->text, b->text);
    assert_string_equal(a->thinking, b->thinking);
    assert_int_equal(a->stop, b->stop);
    assert_memory_equal(&a->usage, &b->usage, sizeof(a->usage));
    assert_int_equal(a->call_count, b->call_count);
    for (size_t i = 0; i < a->call_count; i++) {
        assert_string_equal(a->calls[i].id, b->calls[i].id);
        assert_string_equal(a->calls[i].name, b->calls[i].name);
        assert_string_equal(a->calls[i].arguments, b->calls[i].arguments);
    }
}

TEST(a_recorded_conversation_plays_back)
{
    struct asking real;
    struct asking again;
    char path[64];
    struct http_peer *peer = http_peer_new();
    write_script(path, "");
    struct model_options options = {.base_url = http_peer_url(peer, ""),
                                    .record_file = path,
                                    .price_input_micro = -1,
                                    .price_output_micro = -1};
    asking_open(&real, "local", "m", &options);
    asking_user(&real, "hi");
    http_peer_reply(peer, 200, JSON_TYPE, CALLS);
    http_peer_reply(peer, 400, JSON_TYPE, "{\"error\":\"no\"}");
    struct model_reply replies[2];
    for (size_t i = 0; i < 2; i++) {
        real.request.turn = i + 1;
        replies[i] = asking_ask(&real);
    }
    cancel_set(&real.cancel, CANCEL_NOW);
    real.request.turn = 3;
    struct model_reply cancelled = asking_ask(&real);
    model_reply_fini(&cancelled);
    options.record_file = NULL;
    asking_open(&again, "scripted", path, &options);
    asking_user(&again, "hi");
    for (size_t i = 2; i > 0; i--) {
        again.request.turn = i;
        struct model_reply reply = asking_ask(&again);
        assert_same_reply(&reply, &replies[i - 1]);
        model_reply_fini(&reply);
        model_reply_fini(&replies[i - 1]);
    }
    again.request.turn = 3;
    cancelled = asking_ask(&again);
    assert_int_equal(cancelled.failure, MODEL_SCRIPT_OVER);
    model_reply_fini(&cancelled);
    unlink(path);
    asking_close(&real);
    asking_close(&again);
    http_peer_free(peer);
}

TEST(a_recording_holds_no_key)
{
    struct asking asking;
    char path[64];
    char text[4096] = "";
    struct http_peer *peer = http_peer_new();
    write_script(path, "");
    struct model_options options = {.base_url = http_peer_url(peer, ""),
                                    .api_key_env = "RONDO_TEST_KEY",
                                    .record_file = path,
                                    .price_input_micro = -1};
    asking_open(&asking, "local", "m", &options);
    asking_user(&asking, "hi");
    http_peer_reply(peer, 401, JSON_TYPE, "{\"error\":\"wrong: " TEST_KEY "\"}");
    struct model_reply reply = asking_ask(&asking);
    model_reply_fini(&reply);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_string_equal(text,
                        "{\"error\":\"refused_key\",\"message\":\"the provider refuses the key or "
                        "the account (HTTP 401): wrong: [key]\",\"text\":\"\",\"usage\":{\"input\":"
                        "0,\"output\":0,\"cached\":0,\"cache_written\":0,\"reasoning\":0},"
                        "\"request\":{\"messages\":1,\"last\":\"{\\\"role\\\":\\\"user\\\","
                        "\\\"content\\\":\\\"hi\\\"}\"}}\n");
    unlink(path);
    asking_close(&asking);
    http_peer_free(peer);
}
