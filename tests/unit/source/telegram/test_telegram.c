// SPDX-License-Identifier: Apache-2.0
/*
 * Telegram against a stand-in for its Bot API: who may write, what becomes of messages and answers,
 * over restarts and failures. The stand-in answers every other request with an empty list.
 */
#include "../trigger_world.h"
#include "base/auto.h"
#include "net/client/http.h"
#include "support/http_peer.h"

#include <inttypes.h>
#include <time.h>

struct bot_world {
    struct trigger_world *world;
    struct http_peer *peer;
    struct http_client *http;
};

#define BOT     "{\"allowed_user_ids\":[7],\"allowed_users\":[\"@Ada\"]}"
#define TOKEN   "123:secret-token"
#define UPDATES "/bot" TOKEN "/getUpdates"
#define SEND    "/bot" TOKEN "/sendMessage"
#define NOTHING "{\"ok\":true,\"result\":[]}"
#define JSON    "Content-Type: application/json\r\n"

static int make_bot_world(void **state)
{
    void *world = NULL;
    struct bot_world *bot = memory_new_zero(1, sizeof(*bot));
    make_trigger_world(&world);
    bot->world = world;
    bot->peer = http_peer_new();
    http_peer_always(bot->peer, 200, JSON, NOTHING);
    assert_int_equal(http_client_new(NULL, &bot->http, NULL), 0);
    bot->world->host.http = bot->http;
    bot->world->host.store = bot->world->intake->store;
    setenv("RONDO_TELEGRAM_URL", http_peer_url(bot->peer, ""), 1);
    setenv("TELEGRAM_BOT_TOKEN", TOKEN, 1);
    *state = bot;
    return 0;
}

static int end_bot_world(void **state)
{
    struct bot_world *bot = *state;
    void *world = bot->world;
    end_trigger_world(&world);
    http_client_free(bot->http);
    http_peer_free(bot->peer);
    free(bot);
    return 0;
}

#define TEST_IN_WORLD(name) TEST_WITH(name, make_bot_world, end_bot_world)

static void reply_to(struct bot_world *bot, const char *path, int status, const char *body)
{
    auto_buf struct buf bytes = {0};
    buf_printf(&bytes, "HTTP/1.1 %d X\r\n" JSON "Content-Length: %zu\r\n\r\n%s", status,
               strlen(body), body);
    http_peer_reply_raw(bot->peer, &(struct peer_reply){.path = path, .bytes = buf_string(&bytes)});
}

/** The next poll brings a message. */
static void message(struct bot_world *bot, int64_t update, int64_t user, const char *name,
                    const char *text)
{
    auto_buf struct buf body = {0};
    buf_printf(&body,
               "{\"ok\":true,\"result\":[{\"update_id\":%" PRId64 ",\"message\":{\"from\":{"
               "\"id\":%" PRId64 ",\"username\":\"%s\"},\"chat\":{\"id\":42},\"text\":\"%s\"}}]}",
               update, user, name, text);
    reply_to(bot, UPDATES, 200, buf_string(&body));
}

static void open_bot(struct bot_world *bot)
{
    world_source(bot->world, "telegram", BOT);
}

static void close_bot(struct bot_world *bot)
{
    bot->world->source->type->close(bot->world->source);
    bot->world->source = NULL;
}

/** Requests for a path so far. @param ret_last the body of the last one; NULL = not wanted */
static size_t count_requests(struct bot_world *bot, const char *path, const char **ret_last)
{
    size_t count = 0;
    for (size_t i = 0; i < http_peer_request_count(bot->peer); i++) {
        const struct peer_request *request = http_peer_request(bot->peer, i);
        if (strcmp(request->path, path) == 0) {
            count++;
            if (ret_last != NULL) {
                *ret_last = request->body;
            }
        }
    }
    return count;
}

/** Wait for the n-th request for a path. @return its body */
static const char *wait_request(struct bot_world *bot, const char *path, size_t n)
{
    const char *body = NULL;
    int64_t deadline_ns = clock_monotonic(clock_system()) + 60 * NS_PER_S;
    while (count_requests(bot, path, &body) < n) {
        assert_true(clock_monotonic(clock_system()) < deadline_ns);
        http_peer_wait_requests(bot->peer, http_peer_request_count(bot->peer) + 1);
    }
    return body;
}

/** Wait until two more polls have come: the bot has done what the earlier ones brought. */
static void wait_idle(struct bot_world *bot)
{
    wait_request(bot, UPDATES, count_requests(bot, UPDATES, NULL) + 2);
}

/** The next request of the intake. */
static struct start_request next_request(struct bot_world *bot)
{
    struct start_request request = {0};
    world_next(bot->world->intake, &request);
    return request;
}

/** The run of a request is created and ends with a reply. */
static void finish(struct bot_world *bot, const struct start_request *request,
                   enum rondo_status status, const char *answer)
{
    struct store *store = bot->world->intake->store;
    struct store_run run = {.summary.status = RONDO_RUNNING};
    struct store_claim claim = {.owner = "me", .lease_ns = 600 * NS_PER_S};
    struct store_claim_result claimed;
    struct store_commit_result result;
    auto_buf struct buf reply = {0};
    buf_printf(&reply, "{\"outcome\":\"ok\",\"output\":\"%s\"}", answer);
    const struct store_event events[] = {
        {.type = "model.replied", .data = reply.data, .data_len = reply.len},
        {.type = "run.finished", .data = "{\"status\":\"completed\"}", .data_len = 22},
    };
    const struct store_batch batch = {
        .run_id = request->id,
        .epoch = 1,
        .first_seq = 1,
        .events = events,
        .event_count = 2,
        .summary.status = status,
    };
    const struct store_batch *const batches[] = {&batch};
    memcpy(run.id, request->id, ID_SIZE);
    snprintf(run.agent_id, sizeof(run.agent_id), "fixer");
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &claimed, NULL), 0);
    assert_int_equal(store->ops->commit(store, batches, 1, &result, NULL), 0);
    assert_int_equal(intake_started(bot->world->intake->intake, request, NULL), 0);
    intake_ended(bot->world->intake->intake, request->id);
}

/* ---- Opening ---- */

TEST_IN_WORLD(a_bot_that_nobody_may_write_to_is_refused)
{
    struct bot_world *bot = *state;
    world_refuse(bot->world, "telegram", "{}", "allowed_user_ids");
    world_refuse(bot->world, "telegram", "{\"allowed_users\":[],\"allowed_user_ids\":[]}",
                 "nobody may write");
}

TEST_IN_WORLD(a_bot_needs_its_token)
{
    struct bot_world *bot = *state;
    world_refuse(bot->world, "telegram", "{\"allowed_user_ids\":[7],\"token_env\":\"NOT_SET_X\"}",
                 "NOT_SET_X");
    setenv("TELEGRAM_BOT_TOKEN", "a/../b", 1);
    world_refuse(bot->world, "telegram", BOT, "not of the form");
    setenv("TELEGRAM_BOT_TOKEN", "", 1);
    world_refuse(bot->world, "telegram", BOT, "is not set");
    char token[LIMIT_TELEGRAM_TOKEN_LEN + 2] = {0};
    memset(token, 'x', LIMIT_TELEGRAM_TOKEN_LEN + 1);
    setenv("TELEGRAM_BOT_TOKEN", token, 1);
    world_refuse(bot->world, "telegram", BOT, "not of the form");
    token[LIMIT_TELEGRAM_TOKEN_LEN] = '\0';
    setenv("TELEGRAM_BOT_TOKEN", token, 1);
    open_bot(bot);
}

/* ---- Messages ---- */

TEST_IN_WORLD(a_message_becomes_a_turn_of_its_chat)
{
    struct bot_world *bot = *state;
    message(bot, 100, 7, "", "do {message}");
    open_bot(bot);
    wait_idle(bot);
    struct start_request request = next_request(bot);
    assert_string_equal(request.prompt, "do {message}");
    assert_string_equal(request.conversation, "telegram:42");
    assert_int_equal(request.mode, START_CONVERSATION);
    start_request_fini(&request);
    assert_non_null(strstr(wait_request(bot, UPDATES, 2), "\"offset\":101"));
}

TEST_IN_WORLD(everybody_may_write_where_the_role_says_so)
{
    struct bot_world *bot = *state;
    message(bot, 100, 8, "eve", "hello");
    world_source(bot->world, "telegram", "{\"allow_all\":true}");
    wait_idle(bot);
    struct start_request request = next_request(bot);
    assert_string_equal(request.prompt, "hello");
    start_request_fini(&request);
}

TEST_IN_WORLD(only_those_who_are_named_may_write)
{
    struct bot_world *bot = *state;
    message(bot, 100, 8, "eve", "let me in");
    message(bot, 101, 9, "ADA", "hello");
    message(bot, 102, 8, "ada2", "let me in");
    open_bot(bot);
    wait_request(bot, UPDATES, 5);
    struct start_request request = next_request(bot);
    assert_string_equal(request.prompt, "hello");
    start_request_fini(&request);
    request = next_request(bot);
    assert_null(request.prompt);
    close_bot(bot);
    assert_non_null(strstr(buf_string(&bot->world->log), "the user 8 is ignored"));
    assert_null(strstr(buf_string(&bot->world->log), "let me in"));
    assert_null(strstr(buf_string(&bot->world->log), TOKEN));
    /* What was ignored does not come again. */
    size_t count = count_requests(bot, UPDATES, NULL);
    open_bot(bot);
    assert_non_null(strstr(wait_request(bot, UPDATES, count + 1), "\"offset\":103"));
}

TEST_IN_WORLD(a_message_that_comes_again_is_not_worked_on_twice)
{
    struct bot_world *bot = *state;
    message(bot, 100, 7, "", "one");
    message(bot, 100, 7, "", "one");
    message(bot, 99, 7, "", "older");
    open_bot(bot);
    wait_request(bot, UPDATES, 5);
    world_expect_run(bot->world->intake, "one");
    world_expect_run(bot->world->intake, "");
}

TEST_IN_WORLD(a_message_that_cannot_be_stored_comes_again)
{
    struct bot_world *bot = *state;
    message(bot, 100, 7, "", "one");
    message(bot, 100, 7, "", "one");
    bot->world->intake->dies_at = 0;
    intake_remove_role(bot->world->intake->intake, "fixer");
    intake_set_role(bot->world->intake->intake, "fixer",
                    &(struct queue_options){.max_waiting = 0, .max_running = 0});
    open_bot(bot);
    wait_request(bot, UPDATES, 2);
    intake_set_role(bot->world->intake->intake, "fixer",
                    &(struct queue_options){.max_waiting = 5, .max_running = 5});
    wait_idle(bot);
    close_bot(bot);
    struct start_request request = next_request(bot);
    assert_true(request.prompt == NULL || strcmp(request.prompt, "one") == 0);
    start_request_fini(&request);
}

TEST_IN_WORLD(a_service_that_refuses_is_a_problem_that_is_shown)
{
    struct bot_world *bot = *state;
    const char *text = "";
    reply_to(bot, UPDATES, 401, "{\"ok\":false,\"description\":\"Unauthorized\"}");
    open_bot(bot);
    wait_request(bot, UPDATES, 1);
    int64_t deadline_ns = clock_monotonic(clock_system()) + 60 * NS_PER_S;
    while (text[0] == '\0' && clock_monotonic(clock_system()) < deadline_ns) {
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL);
        text = bot->world->source->type->problem(bot->world->source);
    }
    assert_non_null(strstr(text, "cannot fetch messages from Telegram: status 401"));
}

/* ---- Answers ---- */

TEST_IN_WORLD(the_answer_is_sent_once_and_the_chat_continues)
{
    struct bot_world *bot = *state;
    message(bot, 100, 7, "", "What is 6*7?");
    open_bot(bot);
    wait_idle(bot);
    struct start_request request = next_request(bot);
    finish(bot, &request, RONDO_COMPLETED, "It is 42.");
    start_request_fini(&request);
    assert_string_equal(wait_request(bot, SEND, 1), "{\"chat_id\":42,\"text\":\"It is 42.\"}");
    wait_idle(bot);
    message(bot, 101, 7, "", "Why?");
    wait_idle(bot);
    request = next_request(bot);
    assert_string_equal(request.prompt, "Why?");
    assert_string_equal(request.conversation, "telegram:42");
    start_request_fini(&request);
    close_bot(bot);
    open_bot(bot);
    wait_idle(bot);
    assert_int_equal(count_requests(bot, SEND, NULL), 1);
}

TEST_IN_WORLD(a_run_that_fails_is_told)
{
    struct bot_world *bot = *state;
    message(bot, 100, 7, "", "one");
    open_bot(bot);
    wait_idle(bot);
    struct start_request request = next_request(bot);
    finish(bot, &request, RONDO_FAILED, "Half of it.");
    start_request_fini(&request);
    assert_non_null(strstr(wait_request(bot, SEND, 1), "Half of it.\\n\\nThe run ended: failed."));
}

TEST_IN_WORLD(a_refused_message_is_told)
{
    struct bot_world *bot = *state;
    message(bot, 100, 7, "", "one");
    open_bot(bot);
    wait_idle(bot);
    struct start_request request = next_request(bot);
    assert_int_equal(intake_refuse(bot->world->intake->intake, &request, "no", NULL), 0);
    start_request_fini(&request);
    assert_non_null(strstr(wait_request(bot, SEND, 1), "could not be processed"));
}

TEST_IN_WORLD(a_reply_that_did_not_reach_the_service_is_sent_again)
{
    struct bot_world *bot = *state;
    message(bot, 100, 7, "", "one");
    reply_to(bot, SEND, 429, "{\"ok\":false,\"parameters\":{\"retry_after\":7}}");
    open_bot(bot);
    wait_idle(bot);
    struct start_request request = next_request(bot);
    finish(bot, &request, RONDO_COMPLETED, "Yes.");
    start_request_fini(&request);
    wait_request(bot, SEND, 2);
    assert_int_equal(bot->world->intake->longest_sleep_ns, 7 * NS_PER_S);
    wait_idle(bot);
    assert_int_equal(count_requests(bot, SEND, NULL), 2);
}

TEST_IN_WORLD(a_reply_whose_fate_is_unknown_is_not_sent_again)
{
    struct bot_world *bot = *state;
    message(bot, 100, 7, "", "one");
    reply_to(bot, SEND, 502, "");
    open_bot(bot);
    wait_idle(bot);
    struct start_request request = next_request(bot);
    finish(bot, &request, RONDO_COMPLETED, "Yes.");
    start_request_fini(&request);
    wait_request(bot, SEND, 1);
    wait_idle(bot);
    close_bot(bot);
    assert_int_equal(count_requests(bot, SEND, NULL), 1);
    assert_non_null(strstr(buf_string(&bot->world->log), "may not have arrived"));
}

TEST_IN_WORLD(a_reply_that_was_being_sent_at_a_crash_is_not_sent_again)
{
    struct bot_world *bot = *state;
    open_bot(bot);
    close_bot(bot);
    assert_int_equal(
        intake_set_mark(bot->world->intake->intake, bot->world->id,
                        "{\"offset\":101,\"turns\":[{\"update\":100,\"chat\":42,\"state\":"
                        "\"sending\",\"text\":\"one\"}]}",
                        NULL),
        0);
    open_bot(bot);
    wait_idle(bot);
    close_bot(bot);
    assert_int_equal(count_requests(bot, SEND, NULL), 0);
    assert_non_null(strstr(buf_string(&bot->world->log), "may not have arrived"));
}

TEST_IN_WORLD(a_long_answer_is_sent_in_parts)
{
    struct bot_world *bot = *state;
    auto_free char *answer = memory_new_zero(1, 4002);
    memset(answer, 'x', 4001);
    message(bot, 100, 7, "", "one");
    open_bot(bot);
    wait_idle(bot);
    struct start_request request = next_request(bot);
    finish(bot, &request, RONDO_COMPLETED, answer);
    start_request_fini(&request);
    assert_string_equal(wait_request(bot, SEND, 2), "{\"chat_id\":42,\"text\":\"x\"}");
    wait_idle(bot);
    assert_int_equal(count_requests(bot, SEND, NULL), 2);
}

TEST_IN_WORLD(a_damaged_mark_begins_anew)
{
    struct bot_world *bot = *state;
    open_bot(bot);
    close_bot(bot);
    assert_int_equal(
        intake_set_mark(bot->world->intake->intake, bot->world->id, "{\"turns\":[{}]}", NULL), 0);
    open_bot(bot);
    close_bot(bot);
    assert_non_null(strstr(buf_string(&bot->world->log), "cannot be read"));
}
