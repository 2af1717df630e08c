// SPDX-License-Identifier: Apache-2.0
/* Deliveries: what receivers get, and what becomes of those that they do not take. */
#include "monitor_world.h"

#include "../../support/http_peer.h"
#include "alert/delivery.h"
#include "alert/webhook.h"
#include "journal/trace.h"
#include "net/client/http.h"

#include <unistd.h>

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

struct webhook_mail {
    struct monitor_world *world;
    struct http_peer *peer;
    struct http_client *http;
};

static int make_mail(void **state)
{
    struct webhook_mail *mail = memory_new_zero(1, sizeof(*mail));
    make_world((void **)&mail->world);
    mail->peer = http_peer_new();
    assert_int_equal(http_client_new(NULL, &mail->http, NULL), 0);
    struct monitor_options options = world_options(mail->world);
    options.http = mail->http;
    options.base_url = "http://127.0.0.1:7466/";
    options.stall_ns = -1;
    assert_int_equal(monitor_start(&options, &mail->world->monitor, NULL), 0);
    *state = mail;
    return 0;
}

static int end_mail(void **state)
{
    struct webhook_mail *mail = *state;
    end_world((void **)&mail->world);
    http_client_free(mail->http);
    http_peer_free(mail->peer);
    free(mail);
    return 0;
}

#define MAIL_TEST(name) TEST_WITH(name, make_mail, end_mail)

static void add_sink(struct webhook_mail *mail, const char *name, const char *kind,
                     const char *path)
{
    char json[512];
    snprintf(json, sizeof(json), "{\"name\":\"%s\",\"kind\":\"%s\",\"url\":\"%s\"%s}", name, kind,
             http_peer_url(mail->peer, path),
             strcmp(kind, "webhook") == 0 ? ",\"secret\":\"" SECRET "\"" : "");
    world_sink(mail->world, json, NULL);
}

/** A run that comes near its limit. */
static struct test_run warn(struct webhook_mail *mail)
{
    struct test_run run = world_run(mail->world, "fixer", "");
    world_limit_warning(mail->world, &run, 10);
    world_tick(mail->world);
    return run;
}

static void count(struct webhook_mail *mail, size_t waiting, size_t dead)
{
    assert_int_equal(world_documents(mail->world, "delivery", NULL), waiting);
    assert_int_equal(world_documents(mail->world, "dead-letter", NULL), dead);
    struct monitor_state monitor = monitor_state(mail->world->monitor);
    assert_int_equal(monitor.pending, waiting);
    assert_int_equal(monitor.dead, dead);
}

/* ---- What is sent ---- */

MAIL_TEST(a_webhook_gets_a_signed_body_and_the_context_of_the_run)
{
    struct webhook_mail *mail = *state;
    http_peer_always(mail->peer, 204, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook");
    struct test_run run = warn(mail);
    const struct peer_request *request = http_peer_request(mail->peer, 0);
    assert_string_equal(request->method, "POST");
    assert_string_equal(request->path, "/hook");
    assert_string_equal(http_peer_header(mail->peer, request, "content-type"), "application/json");
    const char *id = http_peer_header(mail->peer, request, "webhook-id");
    const char *timestamp = http_peer_header(mail->peer, request, "webhook-timestamp");
    assert_string_equal(timestamp, "1800000000");
    auto_buf struct buf signature = {0};
    assert_int_equal(
        sink_sign(SECRET, id, 1800000000, request->body, request->body_len, &signature, NULL), 0);
    assert_string_equal(http_peer_header(mail->peer, request, "webhook-signature"),
                        buf_string(&signature));
    char trace[TRACE_PARENT_SIZE];
    trace_parent(run.id, TRACE_RUN, 1, 0, trace);
    assert_string_equal(http_peer_header(mail->peer, request, "traceparent"), trace);
    auto_json struct json_object *body = NULL;
    struct json_object *data = NULL;
    assert_int_equal(json_parse(request->body, request->body_len, &body, NULL), 0);
    assert_string_equal(json_get_string(body, "type", ""), "run.warning.limit");
    assert_string_equal(json_get_string(body, "timestamp", ""), "2027-01-15T08:00:00.000Z");
    assert_true(json_object_object_get_ex(body, "data", &data));
    assert_string_equal(json_get_string(data, "run_id", ""), run.id);
    assert_int_equal(json_get_int(data, "remaining", 0), 2);
    char url[128];
    snprintf(url, sizeof(url), "http://127.0.0.1:7466/#/runs/%s", run.id);
    assert_string_equal(json_get_string(data, "run_url", ""), url);
    count(mail, 0, 0);
    assert_int_equal(monitor_state(mail->world->monitor).deliveries_ok, 1);
}

MAIL_TEST(slack_gets_a_line_that_people_read)
{
    struct webhook_mail *mail = *state;
    http_peer_always(mail->peer, 200, NULL, "ok");
    add_sink(mail, "chat", "slack", "/services/T0/B0/x");
    struct test_run run = world_run(mail->world, "fixer", "");
    world_event(mail->world, &run, "limit.warning",
                "{\"limit_name\":\"iterations\",\"message\":\"8 of <10> & 2 left\"}");
    world_tick(mail->world);
    const struct peer_request *request = http_peer_request(mail->peer, 0);
    auto_json struct json_object *body = NULL;
    char text[256];
    assert_int_equal(json_parse(request->body, request->body_len, &body, NULL), 0);
    snprintf(text, sizeof(text),
             "*fixer*: near a limit: 8 of &lt;10&gt; &amp; 2 left "
             "(<http://127.0.0.1:7466/#/runs/%s|run %.13s>)",
             run.id, run.id);
    assert_string_equal(json_get_string(body, "text", ""), text);
    assert_null(http_peer_header(mail->peer, request, "webhook-signature"));
}

MAIL_TEST(a_call_that_waits_for_a_person_comes_with_a_link_to_the_inbox)
{
    struct webhook_mail *mail = *state;
    http_peer_always(mail->peer, 200, NULL, "ok");
    add_sink(mail, "chat", "slack", "/services/T0/B0/x");
    struct test_run run = world_run(mail->world, "deployer", "");
    world_event(mail->world, &run, "handoff.requested",
                "{\"iteration\":1,\"turn\":1,\"index\":0,\"call_id\":\"c\",\"name\":\"run_shell\","
                "\"request\":\"e6a19e20-f630-5f7a-91bd-71be0c3eae0d\",\"reason\":\"<b>\"}");
    world_tick(mail->world);
    const struct peer_request *request = http_peer_request(mail->peer, 0);
    auto_json struct json_object *body = NULL;
    assert_int_equal(json_parse(request->body, request->body_len, &body, NULL), 0);
    const char *text = json_get_string(body, "text", "");
    assert_non_null(strstr(text, "*deployer*"));
    assert_non_null(strstr(text, "run_shell"));
    assert_non_null(strstr(text, "&lt;b&gt;"));
    assert_non_null(strstr(text, "(<http://127.0.0.1:7466/#/inbox/"
                                 "e6a19e20-f630-5f7a-91bd-71be0c3eae0d|decide in the inbox>)"));
}

MAIL_TEST(a_command_gets_the_warning_on_stdin_and_in_its_environment)
{
    struct webhook_mail *mail = *state;
    char path[] = "/tmp/rondo-sink-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char json[512];
    snprintf(json, sizeof(json),
             "{\"name\":\"page\",\"kind\":\"command\",\"command\":[\"sh\",\"-c\",\""
             "cat > $0; echo $RONDO_WARNING_KIND $RONDO_WARNING_RUN $RONDO_WARNING_AGENT "
             "$RONDO_WARNING_CURRENT/$RONDO_WARNING_LIMIT $RONDO_WARNING_REMAINING "
             "$RONDO_WARNING_MESSAGE >> $0\",\"%s\"]}",
             path);
    world_sink(mail->world, json, NULL);
    struct test_run run = warn(mail);
    char got[4096] = "";
    char expected[256];
    assert_true(pread(fd, got, sizeof(got) - 1, 0) > 0);
    snprintf(expected, sizeof(expected),
             "}\nlimit %s fixer 8/10 2 near a limit: 8 of 10 iterations, 2 left\n", run.id);
    assert_non_null(strstr(got, expected));
    assert_int_equal(strncmp(got, "{\"id\":\"000", 10), 0);
    close(fd);
    unlink(path);
    count(mail, 0, 0);
}

MAIL_TEST(a_test_reaches_its_sink)
{
    struct webhook_mail *mail = *state;
    http_peer_always(mail->peer, 200, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook");
    assert_int_equal(sink_test(mail->world->memory, "ops", NULL), 0);
    world_tick(mail->world); /* The test is due at the machine's time, which the world's
                                is after or before: both are fine. */
    mail->world->now_ns += 100000 * HOUR_NS;
    world_tick(mail->world);
    const struct peer_request *request = http_peer_request(mail->peer, 0);
    assert_non_null(strstr(request->body, "run.warning.test"));
    assert_null(http_peer_header(mail->peer, request, "traceparent"));
}

/* ---- What is not taken ---- */

MAIL_TEST(a_delivery_is_tried_again_by_schedule_and_then_given_up)
{
    struct webhook_mail *mail = *state;
    static const int64_t delays_s[] = {5, 30, 120, 600, 1800, 7200, 21600};
    http_peer_always(mail->peer, 500, NULL, "t0ken in the reply");
    add_sink(mail, "ops", "webhook", "/t0ken");
    warn(mail);
    for (size_t i = 0; i < COUNT(delays_s); i++) {
        assert_int_equal(http_peer_request_count(mail->peer), i + 1);
        count(mail, 1, 0);
        mail->world->now_ns += delays_s[i] * NS_PER_S * 89 / 100;
        world_tick(mail->world);
        assert_int_equal(http_peer_request_count(mail->peer), i + 1);
        mail->world->now_ns += delays_s[i] * NS_PER_S * 22 / 100;
        world_tick(mail->world);
    }
    assert_int_equal(http_peer_request_count(mail->peer), DELIVERY_ATTEMPTS);
    count(mail, 0, 1);
    const char *first =
        http_peer_header(mail->peer, http_peer_request(mail->peer, 0), "webhook-id");
    const char *last = http_peer_header(mail->peer, http_peer_request(mail->peer, 7), "webhook-id");
    assert_string_equal(first, last);
    auto_buf struct buf text = {0};
    assert_int_equal(sink_deliveries(mail->world->memory, true, 10, &text, NULL), 0);
    assert_non_null(strstr(text.data, "it answered with status 500"));
    assert_null(strstr(text.data, "t0ken"));
    assert_int_equal(monitor_state(mail->world->monitor).deliveries_failed, DELIVERY_ATTEMPTS);
}

MAIL_TEST(a_dead_letter_can_be_tried_again)
{
    struct webhook_mail *mail = *state;
    http_peer_always(mail->peer, 500, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook");
    warn(mail);
    for (int i = 0; i < DELIVERY_ATTEMPTS; i++) {
        mail->world->now_ns += 10 * HOUR_NS;
        world_tick(mail->world);
    }
    count(mail, 0, 1);
    http_peer_always(mail->peer, 200, NULL, "");
    const char *id = http_peer_header(mail->peer, http_peer_request(mail->peer, 0), "webhook-id");
    assert_int_equal(sink_redeliver(mail->world->memory, id, NULL), 0);
    assert_int_equal(sink_redeliver(mail->world->memory, id, NULL), RONDO_ERR_NOT_FOUND);
    mail->world->now_ns += 100000 * HOUR_NS;
    world_tick(mail->world);
    count(mail, 0, 0);
    const struct peer_request *request = http_peer_request(mail->peer, DELIVERY_ATTEMPTS);
    assert_string_equal(http_peer_header(mail->peer, request, "webhook-id"), id);
}

MAIL_TEST(a_receiver_that_is_gone_gets_nothing_any_more)
{
    struct webhook_mail *mail = *state;
    http_peer_always(mail->peer, 410, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook");
    warn(mail);
    count(mail, 0, 1);
    warn(mail);
    assert_int_equal(http_peer_request_count(mail->peer), 1);
    auto_buf struct buf text = {0};
    assert_int_equal(sink_list(mail->world->memory, &text, NULL), 0);
    assert_non_null(strstr(text.data, "\"disabled\":\"it answered with status 410\""));
    assert_int_equal(sink_test(mail->world->memory, "ops", NULL), RONDO_ERR_STATE);
    http_peer_always(mail->peer, 200, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook"); /* put once more, it is tried again */
    warn(mail);
    assert_int_equal(http_peer_request_count(mail->peer), 2);
}

MAIL_TEST(a_redirect_is_not_followed)
{
    struct webhook_mail *mail = *state;
    http_peer_always(mail->peer, 307, "Location: /elsewhere\r\n", "");
    add_sink(mail, "ops", "webhook", "/hook");
    warn(mail);
    assert_int_equal(http_peer_request_count(mail->peer), 1);
    auto_buf struct buf text = {0};
    sink_deliveries(mail->world->memory, false, 10, &text, NULL);
    assert_non_null(strstr(text.data, "status 307"));
}

MAIL_TEST(a_receiver_that_asks_for_time_gets_it)
{
    struct webhook_mail *mail = *state;
    http_peer_reply(mail->peer, 429, "Retry-After: 3000\r\n", "");
    http_peer_always(mail->peer, 200, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook");
    warn(mail);
    mail->world->now_ns += 2999 * NS_PER_S;
    world_tick(mail->world);
    assert_int_equal(http_peer_request_count(mail->peer), 1);
    mail->world->now_ns += 2 * NS_PER_S;
    world_tick(mail->world);
    assert_int_equal(http_peer_request_count(mail->peer), 2);
}

MAIL_TEST(a_receiver_that_is_down_fails_without_its_address_in_words)
{
    struct webhook_mail *mail = *state;
    add_sink(mail, "ops", "webhook", "/t0ken");
    http_peer_free(mail->peer);
    mail->peer = NULL;
    warn(mail);
    auto_buf struct buf text = {0};
    sink_deliveries(mail->world->memory, false, 10, &text, NULL);
    assert_non_null(strstr(text.data, "the call failed: no_connection"));
    assert_null(strstr(text.data, "t0ken"));
}

MAIL_TEST(a_command_that_fails_is_tried_again)
{
    struct webhook_mail *mail = *state;
    world_sink(mail->world,
               "{\"name\":\"a\",\"kind\":\"command\",\"command\":[\"sh\",\"-c\",\"echo t0ken; "
               "exit 3\"]}",
               NULL);
    world_sink(mail->world, "{\"name\":\"b\",\"kind\":\"command\",\"command\":[\"false\"]}", NULL);
    warn(mail);
    count(mail, 2, 0);
    auto_buf struct buf text = {0};
    sink_deliveries(mail->world->memory, false, 10, &text, NULL);
    assert_non_null(strstr(text.data, "the command exited with code 3"));
    assert_non_null(strstr(text.data, "the command exited with code 1"));
    assert_null(strstr(text.data, "t0ken"));
}

MAIL_TEST(deliveries_to_a_sink_that_was_removed_are_dropped)
{
    struct webhook_mail *mail = *state;
    http_peer_always(mail->peer, 500, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook");
    warn(mail);
    assert_int_equal(sink_remove(mail->world->memory, "ops", NULL), 0);
    mail->world->now_ns += HOUR_NS;
    world_tick(mail->world);
    assert_int_equal(http_peer_request_count(mail->peer), 1);
    count(mail, 0, 0);
}

MAIL_TEST(a_monitor_that_dies_anywhere_delivers_at_least_once_with_one_id)
{
    struct webhook_mail *mail = *state;
    struct monitor_world *world = mail->world;
    http_peer_always(mail->peer, 200, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook");
    monitor_stop(world->monitor);
    world->monitor = NULL;
    bool is_through = false;
    for (uint64_t dies_at = 1; !is_through; dies_at++) {
        struct test_run run = world_run(world, "fixer", "");
        size_t before = http_peer_request_count(mail->peer);
        world_limit_warning(world, &run, 10);
        for (int i = 0; i < 3; i++) {
            world_close_store(world);
            world_open_store(world);
            world->dies_at = i == 0 ? dies_at : 0;
            struct monitor_options options = world_options(world);
            options.http = mail->http;
            options.stall_ns = -1;
            struct monitor *monitor = NULL;
            assert_int_equal(monitor_start(&options, &monitor, NULL), 0);
            int r = monitor_tick(monitor, NULL);
            is_through = i == 0 ? r == 0 && world->calls < dies_at : is_through;
            monitor_stop(monitor);
            world->now_ns += DELIVERY_CLAIM_NS + NS_PER_S;
        }
        size_t after = http_peer_request_count(mail->peer);
        assert_true(after - before >= 1 && after - before <= 2);
        for (size_t i = before; i < after; i++) {
            assert_non_null(strstr(http_peer_request(mail->peer, i)->body, run.id));
        }
        assert_int_equal(world_documents(world, "delivery", NULL), 0);
    }
}

MAIL_TEST(too_many_that_wait_are_dead_lettered_at_once)
{
    struct webhook_mail *mail = *state;
    struct monitor_world *world = mail->world;
    add_sink(mail, "ops", "webhook", "/hook");
    monitor_stop(world->monitor);
    struct monitor_options options = world_options(world);
    assert_int_equal(monitor_start(&options, &world->monitor, NULL), 0);
    for (int i = 0; i < LIMIT_DELIVERIES_WAITING - 1; i++) {
        char key[64];
        bool is_applied = false;
        snprintf(key, sizeof(key), "9%019d-x", i);
        struct store_change change = {.collection = "delivery",
                                      .key = key,
                                      .data = "{}",
                                      .data_len = 2,
                                      .if_version = STORE_ANY_VERSION};
        world->memory->ops->change_documents(world->memory, &change, 1, &is_applied, NULL);
    }
    struct test_run run = world_run(world, "fixer", "");
    world_limit_warning(world, &run, 10);
    world_limit_warning(world, &run, 11);
    world_tick(world);
    auto_buf struct buf text = {0};
    assert_int_equal(world_documents(world, "delivery", NULL), LIMIT_DELIVERIES_WAITING);
    assert_int_equal(world_documents(world, "dead-letter", &text), 1);
    assert_non_null(strstr(text.data, "too many deliveries are pending"));
    assert_non_null(strstr(text.data, "\"limit\":11"));
}

MAIL_TEST(only_the_newest_dead_letters_are_kept)
{
    struct webhook_mail *mail = *state;
    struct monitor_world *world = mail->world;
    http_peer_always(mail->peer, 410, NULL, "");
    for (int i = 0; i < LIMIT_DEAD_LETTERS_KEPT; i++) {
        char key[64];
        bool is_applied = false;
        snprintf(key, sizeof(key), "%020d-x", i);
        struct store_change change = {.collection = "dead-letter",
                                      .key = key,
                                      .data = "{}",
                                      .data_len = 2,
                                      .if_version = STORE_ANY_VERSION};
        world->memory->ops->change_documents(world->memory, &change, 1, &is_applied, NULL);
    }
    add_sink(mail, "ops", "webhook", "/hook");
    struct test_run run = world_run(world, "fixer", "");
    for (int i = 0; i < LIMIT_DEAD_LETTERS_KEPT; i++) {
        world_event(world, &run, "note", "{}"); /* ids follow positions */
    }
    world_limit_warning(world, &run, 10);
    world_tick(world);
    assert_int_equal(world_documents(world, "dead-letter", NULL), LIMIT_DEAD_LETTERS_KEPT);
}

/* ---- Threads ---- */

/** Until no more than so many deliveries wait. */
static void wait_for_deliveries(struct webhook_mail *mail, size_t most)
{
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + 60 * NS_PER_S;
    while (world_documents(mail->world, "delivery", NULL) > most) {
        assert_true(clock_monotonic(clock) < deadline);
        clock_sleep(clock, NS_PER_MS, NULL);
    }
}

MAIL_TEST(a_sink_that_does_not_answer_holds_no_other)
{
    struct webhook_mail *mail = *state;
    struct monitor_world *world = mail->world;
    struct peer_reply stall = {.path = "/slow", .bytes = "HTTP/1.1 200 OK\r\n\r\n", .stalls = true};
    http_peer_always(mail->peer, 200, NULL, "");
    http_peer_reply_raw(mail->peer, &stall);
    add_sink(mail, "slow", "webhook", "/slow");
    add_sink(mail, "fast", "webhook", "/fast");
    monitor_stop(world->monitor);
    world->now_ns = clock_now(clock_system());
    struct monitor_options options = {.writer = world->writer, .http = mail->http, .stall_ns = -1};
    assert_int_equal(monitor_start(&options, &world->monitor, NULL), 0);
    struct test_run run = world_run(world, "fixer", "");
    for (int i = 0; i < 5; i++) {
        world_limit_warning(world, &run, 10 + i);
    }
    http_peer_wait_requests(mail->peer, 6); /* one slow one, all fast ones */
    unsigned slow = 0;
    for (size_t i = 0; i < 6; i++) {
        slow += strcmp(http_peer_request(mail->peer, i)->path, "/slow") == 0;
    }
    assert_int_equal(slow, 1);
    wait_for_deliveries(mail, 5);
    monitor_stop(world->monitor); /* cuts the slow one off: it does not count */
    world->monitor = NULL;
    auto_buf struct buf text = {0};
    assert_int_equal(world_documents(world, "delivery", &text), 5);
    assert_null(strstr(text.data, "\"attempts\":1"));
}

MAIL_TEST(two_servers_of_one_store_deliver_each_warning_once)
{
    struct webhook_mail *mail = *state;
    struct monitor_world *world = mail->world;
    http_peer_always(mail->peer, 200, NULL, "");
    add_sink(mail, "ops", "webhook", "/hook");
    monitor_stop(world->monitor);
    world->now_ns = clock_now(clock_system());
    struct monitor_options options = {.writer = world->writer, .http = mail->http, .stall_ns = -1};
    struct monitor *other = NULL;
    assert_int_equal(monitor_start(&options, &world->monitor, NULL), 0);
    assert_int_equal(monitor_start(&options, &other, NULL), 0);
    struct test_run run = world_run(world, "fixer", "");
    for (int i = 0; i < 40; i++) {
        world_limit_warning(world, &run, 10 + i);
    }
    http_peer_wait_requests(mail->peer, 40);
    wait_for_deliveries(mail, 0); /* one that is stopped before its record is made again */
    monitor_stop(other);
    monitor_stop(world->monitor);
    world->monitor = NULL;
    assert_int_equal(http_peer_request_count(mail->peer), 40);
    assert_int_equal(world_documents(world, "warning", NULL), 40);
}
