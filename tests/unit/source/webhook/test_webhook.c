// SPDX-License-Identifier: Apache-2.0
/* Webhooks: which requests become start requests, and what all others are answered. */
#include "../trigger_world.h"
#include "base/auto.h"
#include "base/hmac.h"
#include "base/text/base64.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <inttypes.h>
#include <stdlib.h>

#define TEST_IN_WORLD(name) TEST_WITH(name, make_trigger_world, end_trigger_world)

#define UNSIGNED "{\"unsigned\":true}"

/** Headers of a request: names and values in turn. */
struct hook_request {
    const char *body;
    const char *headers[17];
};

static const char *find_header(const struct source_delivery *delivery, const char *name)
{
    const struct hook_request *request = delivery->context;
    for (size_t i = 0; request->headers[i] != NULL; i += 2) {
        if (strcmp(request->headers[i], name) == 0) {
            return request->headers[i + 1];
        }
    }
    return NULL;
}

static struct source_answer call_with(struct trigger_world *world, struct hook_request request,
                                      size_t len)
{
    struct source_answer answer;
    struct source_delivery delivery = {
        .method = "POST",
        .header = find_header,
        .body = request.body,
        .body_len = len,
        .context = &request,
    };
    world->source->type->receive(world->source, &delivery, &answer);
    return answer;
}

static struct source_answer call(struct trigger_world *world, struct hook_request request)
{
    return call_with(world, request, strlen(request.body));
}

static void expect_refused(struct source_answer answer, int status, const char *reason)
{
    assert_int_equal(answer.status, status);
    assert_string_equal(answer.run_id, "");
    if (strstr(answer.message, reason) == NULL) {
        fail_msg("%s", answer.message);
    }
}

/** The prompt of the next request, without the first line and the marks. */
static void expect_prompt(struct trigger_world *world, const char *expected)
{
    struct start_request request = {0};
    const char *prompt = world_next(world->intake, &request);
    if (strstr(prompt, expected) == NULL) {
        fail_msg("%s", prompt);
    }
    start_request_fini(&request);
}

static void expect_nothing(struct trigger_world *world)
{
    world_expect_run(world->intake, "");
}

/* ---- Opening ---- */

TEST_IN_WORLD(without_a_secret_one_is_made_that_requests_need)
{
    struct trigger_world *world = *state;
    char home[] = "/tmp/rondo-hooks-XXXXXX";
    assert_non_null(mkdtemp(home));
    setenv("XDG_STATE_HOME", home, 1);
    world_source(world, "webhook", "{\"signature\":\"bearer\",\"name\":\"deploys\"}");
    const char *path = strstr(buf_string(&world->log), "requests need the one in ");
    assert_non_null(path);
    path += strlen("requests need the one in ");
    auto_free char *file = strndup(path, strcspn(path, "\n"));
    assert_non_null(strstr(file, "/rondo/hooks/deploys-"));
    auto_buf struct buf bearer = {0};
    buf_append_string(&bearer, "Bearer ");
    assert_int_equal(file_read(file, 1000, &bearer, NULL), 0);
    bearer.data[bearer.len - 1] = '\0';
    expect_refused(call(world, (struct hook_request){"{}", {0}}), 403, "no signature");
    expect_refused(call(world, (struct hook_request){"{}", {"authorization", "Bearer 0"}}), 403,
                   "invalid");
    struct hook_request genuine = {"{}", {"authorization", buf_string(&bearer)}};
    assert_int_equal(call(world, genuine).status, 202);
    assert_null(strstr(buf_string(&world->log), buf_string(&bearer) + strlen("Bearer ")));
    world_source(world, "webhook", "{\"signature\":\"bearer\",\"name\":\"deploys\"}");
    assert_int_equal(call(world, genuine).status, 202);
    file_remove_tree(home, NULL);
}

TEST_IN_WORLD(a_webhook_needs_a_secret)
{
    struct trigger_world *world = *state;
    world_refuse(world, "webhook", "{\"secret\":\"\"}", "is empty");
    world_refuse(world, "webhook", "{\"secret\":\"${HOOK_NOT_SET_ANYWHERE}\"}",
                 "HOOK_NOT_SET_ANYWHERE");
}

TEST_IN_WORLD(settings_are_checked)
{
    struct trigger_world *world = *state;
    world_refuse(world, "webhook", "{\"unsigned\":true,\"name\":\"a/b\"}", "name of the webhook");
    world_refuse(world, "webhook", "{\"unsigned\":true,\"name\":\"..\"}", "name of the webhook");
    world_refuse(world, "webhook", "{\"unsigned\":true,\"port\":65536}", "port");
    world_refuse(world, "webhook", "{\"unsigned\":true,\"path\":\"x\"}", "path");
    world_refuse(world, "webhook", "{\"unsigned\":true,\"rate_limit_rpm\":0}", "rate_limit_rpm");
    world_refuse(world, "webhook", "{\"unsigned\":true,\"rate_limit_rpm\":1000001}",
                 "rate_limit_rpm");
    world_source(world, "webhook", "{\"unsigned\":true,\"rate_limit_rpm\":1000000}");
}

TEST_IN_WORLD(a_webhook_has_the_name_of_its_agent)
{
    struct trigger_world *world = *state;
    world_source(world, "webhook", UNSIGNED);
    assert_string_equal(world->source->type->hook(world->source), "fixer");
    world_source(world, "webhook", "{\"unsigned\":true,\"name\":\"deploys\"}");
    assert_string_equal(world->source->type->hook(world->source), "deploys");
}

/* ---- Requests ---- */

/** The conversation of the next request; "" = none. */
static void expect_conversation(struct trigger_world *world, const char *expected)
{
    struct start_request request = {0};
    world_next(world->intake, &request);
    assert_string_equal(request.conversation == NULL ? "" : request.conversation, expected);
    assert_int_equal(request.mode, expected[0] == '\0' ? START_SINGLE : START_CONVERSATION);
    start_request_fini(&request);
}

TEST_IN_WORLD(a_request_is_a_turn_of_the_conversation_that_its_body_names)
{
    struct trigger_world *world = *state;
    world->host.conversation = "{body.repo}#{body.issue.number}";
    world_source(world, "webhook", UNSIGNED);
    call(world, (struct hook_request){.body = "{\"repo\":\"a\\nb\",\"issue\":{\"number\":7}}"});
    expect_conversation(world, "a\\x0ab#7");
}

TEST_IN_WORLD(a_header_can_name_the_conversation)
{
    struct trigger_world *world = *state;
    world->host.conversation = "{header.X-Thread}";
    world_source(world, "webhook", UNSIGNED);
    call(world, (struct hook_request){.body = "x", .headers = {"x-thread", "t-1"}});
    expect_conversation(world, "t-1");
    call(world, (struct hook_request){.body = "x", .headers = {"x-other", "t-1"}});
    expect_conversation(world, "");
}

TEST_IN_WORLD(a_conversation_that_cannot_be_found_is_refused)
{
    struct trigger_world *world = *state;
    auto_free char *most = memory_new_zero(1, LIMIT_START_KEY_BYTES + 2);
    world->host.conversation = "{header.t}";
    world_source(world, "webhook", UNSIGNED);
    memset(most, 'x', LIMIT_START_KEY_BYTES);
    call(world, (struct hook_request){.body = "x", .headers = {"t", most}});
    expect_conversation(world, most);
    most[LIMIT_START_KEY_BYTES] = 'x';
    expect_refused(call(world, (struct hook_request){.body = "x", .headers = {"t", most}}), 400,
                   "the conversation cannot be found");
    world->host.conversation = "{body.id}";
    world_source(world, "webhook", UNSIGNED);
    expect_refused(call(world, (struct hook_request){.body = "no JSON"}), 400, "not JSON");
    expect_nothing(world);
}

TEST_IN_WORLD(a_setting_without_braces_is_one_conversation)
{
    struct trigger_world *world = *state;
    world->host.conversation = "all";
    world_source(world, "webhook", UNSIGNED);
    call(world, (struct hook_request){.body = "x"});
    expect_conversation(world, "all");
}

TEST_IN_WORLD(a_request_becomes_a_run_with_its_body)
{
    struct trigger_world *world = *state;
    struct start_request request = {0};
    world_source(world, "webhook", UNSIGNED);
    struct source_answer answer =
        call(world, (struct hook_request){"{\"a\":1}",
                                          {"x-github-delivery", "d1", "x-github-event", "push"}});
    assert_int_equal(answer.status, 202);
    const char *prompt = world_next(world->intake, &request);
    assert_non_null(strstr(prompt, ">{\"a\":1}</data-"));
    assert_string_equal(request.id, answer.run_id);
    assert_string_equal(request.kind, "webhook");
    assert_string_equal(request.key, "d1");
    assert_non_null(strstr(request.context, "\"hook\":\"fixer\""));
    assert_non_null(strstr(request.context, "\"delivery\":\"d1\",\"event\":\"push\""));
    start_request_fini(&request);
}

TEST_IN_WORLD(the_prompt_picks_from_the_body)
{
    struct trigger_world *world = *state;
    world_source(world, "webhook",
                 "{\"unsigned\":true,\"prompt_template\":\"Issue {body.issue.title}\"}");
    call(world, (struct hook_request){"{\"issue\":{\"title\":\"T\"}}", {0}});
    expect_prompt(world, ">T</data-");
    expect_refused(call(world, (struct hook_request){"not json", {0}}), 400, "not JSON");
    expect_nothing(world);
}

TEST_IN_WORLD(a_delivery_that_comes_again_has_the_run_of_the_first)
{
    static const char *const names[] = {"x-github-delivery", "webhook-id", "idempotency-key"};
    struct trigger_world *world = *state;
    world_source(world, "webhook", UNSIGNED);
    for (size_t i = 0; i < COUNT(names); i++) {
        char id[8];
        snprintf(id, sizeof(id), "d%zu", i);
        struct hook_request request = {"{}", {names[i], id}};
        struct source_answer first = call(world, request);
        struct source_answer second = call(world, request);
        assert_int_equal(second.status, 202);
        assert_string_equal(second.run_id, first.run_id);
        expect_prompt(world, "{}");
        expect_nothing(world);
    }
}

TEST_IN_WORLD(an_id_has_visible_characters_and_a_largest_length)
{
    struct trigger_world *world = *state;
    char id[LIMIT_DELIVERY_ID_LEN + 2];
    memset(id, 'x', sizeof(id));
    id[LIMIT_DELIVERY_ID_LEN] = '\0';
    world_source(world, "webhook", UNSIGNED);
    assert_int_equal(call(world, (struct hook_request){"{}", {"webhook-id", id}}).status, 202);
    id[LIMIT_DELIVERY_ID_LEN] = 'x';
    id[LIMIT_DELIVERY_ID_LEN + 1] = '\0';
    expect_refused(call(world, (struct hook_request){"{}", {"webhook-id", id}}), 400, "255");
    expect_refused(call(world, (struct hook_request){"{}", {"webhook-id", "a b"}}), 400, "ASCII");
    expect_refused(call(world, (struct hook_request){"{}", {"webhook-id", ""}}), 400, "1 to");
}

/* ---- Attacks ---- */

TEST_IN_WORLD(a_forged_request_starts_nothing)
{
    struct trigger_world *world = *state;
    world_source(world, "webhook", "{\"secret\":\"hush\"}");
    expect_refused(call(world, (struct hook_request){"{}", {0}}), 403, "no signature");
    expect_refused(
        call(world, (struct hook_request){"{}",
                                          {"x-hub-signature-256",
                                           "sha256=0000000000000000000000000000000000000000"
                                           "000000000000000000000000"}}),
        403, "invalid signature");
    expect_refused(call(world, (struct hook_request){"{}", {"authorization", "Bearer hush"}}), 403,
                   "no signature");
    expect_nothing(world);
}

/** A request of Standard Webhooks, signed with 24 bytes of NUL. */
static struct source_answer call_signed(struct trigger_world *world, const char *id, int64_t time_s,
                                        const char *more_name, const char *more)
{
    static const unsigned char key[24] = {0};
    unsigned char code[DIGEST_SIZE];
    char time[24];
    auto_buf struct buf text = {0};
    auto_buf struct buf signature = {0};
    snprintf(time, sizeof(time), "%" PRId64, time_s);
    buf_printf(&text, "%s.%s.{}", id, time);
    struct hmac hmac = hmac_begin(key, sizeof(key));
    hmac_add(&hmac, text.data, text.len);
    hmac_finish(&hmac, code);
    buf_append_string(&signature, "v1,");
    base64_encode(code, sizeof(code), &signature);
    return call(world, (struct hook_request){"{}",
                                             {"webhook-id", id, "webhook-timestamp", time,
                                              "webhook-signature", buf_string(&signature),
                                              more_name, more}});
}

TEST_IN_WORLD(a_recorded_request_is_not_worked_on_twice)
{
    struct trigger_world *world = *state;
    int64_t now_s = world->intake->now_ns / NS_PER_S;
    world_source(world, "webhook", "{\"secret\":\"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}");
    struct source_answer first = call_signed(world, "m1", now_s, NULL, NULL);
    assert_int_equal(first.status, 202);
    /* Within the tolerance it is the same event, whatever unsigned id is added. */
    struct source_answer again = call_signed(world, "m1", now_s, "x-github-delivery", "other");
    assert_string_equal(again.run_id, first.run_id);
    again = call_signed(world, "m1", now_s, "idempotency-key", "other");
    assert_string_equal(again.run_id, first.run_id);
    world->intake->now_ns += 301 * NS_PER_S;
    expect_refused(call_signed(world, "m1", now_s, NULL, NULL), 403, "too old");
    expect_prompt(world, "{}");
    expect_nothing(world);
}

TEST_IN_WORLD(a_body_has_a_largest_size)
{
    struct trigger_world *world = *state;
    size_t len = (size_t)LIMIT_HOOK_BODY_BYTES + 1;
    auto_free char *body = memory_new_zero(1, len + 1);
    memset(body, ' ', len);
    memcpy(body, "{\"a\":1}", 7);
    world_source(world, "webhook", "{\"unsigned\":true,\"prompt_template\":\"{body.a}\"}");
    assert_int_equal(call_with(world, (struct hook_request){body, {0}}, len - 1).status, 202);
    expect_refused(call_with(world, (struct hook_request){body, {0}}, len), 413, "too large");
}

TEST_IN_WORLD(a_prompt_that_is_too_long_is_refused)
{
    struct trigger_world *world = *state;
    size_t len = (size_t)LIMIT_TEMPLATE_PROMPT_BYTES;
    auto_free char *body = memory_new_zero(1, len + 1);
    memset(body, 'x', len);
    world_source(world, "webhook", UNSIGNED);
    expect_refused(call(world, (struct hook_request){body, {0}}), 413, "the prompt would be");
    expect_nothing(world);
}

TEST_IN_WORLD(the_rate_is_limited)
{
    struct trigger_world *world = *state;
    world_source(world, "webhook", "{\"unsigned\":true,\"rate_limit_rpm\":12}");
    struct hook_request request = {"{}", {0}};
    assert_int_equal(call(world, request).status, 202);
    assert_int_equal(call(world, request).status, 202);
    struct source_answer answer = call(world, request);
    expect_refused(answer, 429, "rate limit exceeded");
    assert_int_equal(answer.retry_after_s, 6);
    world->intake->now_ns += 5 * NS_PER_S;
    assert_int_equal(call(world, request).status, 202);
    assert_int_equal(call(world, request).status, 429);
    world->intake->now_ns += INT64_MAX / 4;
    assert_int_equal(call(world, request).status, 202);
}

TEST_IN_WORLD(forged_requests_do_not_use_up_the_rate)
{
    struct trigger_world *world = *state;
    world_source(world, "webhook",
                 "{\"secret\":\"hush\",\"signature\":\"bearer\",\"rate_limit_rpm\":1}");
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(call(world, (struct hook_request){"{}", {0}}).status, 403);
    }
    assert_int_equal(
        call(world, (struct hook_request){"{}", {"authorization", "Bearer hush"}}).status, 202);
}

TEST_IN_WORLD(a_page_in_a_browser_cannot_call_a_webhook)
{
    struct trigger_world *world = *state;
    world_source(world, "webhook", UNSIGNED);
    expect_refused(call(world, (struct hook_request){"{}", {"origin", "http://127.0.0.1:8080"}}),
                   403, "web pages");
    expect_refused(call(world, (struct hook_request){"{}", {"sec-fetch-site", "same-origin"}}), 403,
                   "web pages");
}

TEST_IN_WORLD(a_full_queue_asks_the_sender_to_come_again)
{
    struct trigger_world *world = *state;
    intake_set_role(world->intake->intake, "fixer", &world_queue);
    world_source(world, "webhook", UNSIGNED);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(call(world, (struct hook_request){"{}", {0}}).status, 202);
    }
    struct source_answer answer = call(world, (struct hook_request){"{}", {0}});
    expect_refused(answer, 503, "full");
    assert_true(answer.retry_after_s > 0);
}

TEST_IN_WORLD(a_store_that_fails_accepts_nothing)
{
    struct trigger_world *world = *state;
    world_source(world, "webhook", UNSIGNED);
    world->intake->dies_at = world->intake->calls + 1;
    expect_refused(call(world, (struct hook_request){"{}", {0}}), 503, "send it again");
    world->intake->dies_at = 0;
}
