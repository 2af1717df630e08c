// SPDX-License-Identifier: Apache-2.0
/* Results of runs on their way to the sinks of their roles. */
#include "monitor_world.h"

#include "../../support/http_peer.h"
#include "alert/delivery.h"
#include "alert/result.h"
#include "base/auto.h"
#include "net/client/http.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <sys/stat.h>
#include <unistd.h>

struct result_mail {
    struct monitor_world *world;
    struct http_peer *peer;
    struct http_client *http;
    char workspace[64];
};

static struct monitor *new_monitor(struct result_mail *mail)
{
    struct monitor_options options = world_options(mail->world);
    struct monitor *monitor = NULL;
    options.http = mail->http;
    options.stall_ns = -1;
    assert_int_equal(monitor_start(&options, &monitor, NULL), 0);
    return monitor;
}

static int make_mail(void **state)
{
    struct result_mail *mail = memory_new_zero(1, sizeof(*mail));
    make_world((void **)&mail->world);
    mail->peer = http_peer_new();
    assert_int_equal(http_client_new(NULL, &mail->http, NULL), 0);
    snprintf(mail->workspace, sizeof(mail->workspace), "/tmp/rondo-result-XXXXXX");
    assert_non_null(mkdtemp(mail->workspace));
    mail->world->monitor = new_monitor(mail);
    http_peer_always(mail->peer, 204, NULL, "");
    *state = mail;
    return 0;
}

static int end_mail(void **state)
{
    struct result_mail *mail = *state;
    end_world((void **)&mail->world);
    http_client_free(mail->http);
    http_peer_free(mail->peer);
    assert_int_equal(file_remove_tree(mail->workspace, NULL), 0);
    free(mail);
    return 0;
}

#define MAIL_TEST(name) TEST_WITH(name, make_mail, end_mail)

/** A run of a role with these sinks, that has replied and has ended. @param more agent options */
static struct test_run end_run_of(struct result_mail *mail, const char *sinks, const char *more)
{
    struct buf text = {0};
    buf_printf(&text,
               ",\"origin\":{\"kind\":\"cron\",\"context\":{\"schedule\":\"@daily\",\"n\":3}}"
               ",\"spec\":{\"prompt\":\"check it\",\"workspace\":\"%s\",\"agent\":{%s\"role\":{"
               "\"metadata\":{\"name\":\"checker\"},\"spec\":{\"model\":{\"provider\":\"openai\","
               "\"name\":\"gpt\"},\"execution\":{\"allow_hosts\":[\"127.0.0.1\"]},\"sinks\":%s}}}}",
               mail->workspace, more, sinks);
    struct test_run run = world_run(mail->world, "checker", buf_string(&text));
    buf_fini(&text);
    world_event(
        mail->world, &run, "model.replied",
        "{\"iteration\":1,\"turn\":1,\"outcome\":\"ok\",\"output\":\"draft\",\"tokens_in\":7,"
        "\"tokens_out\":2}");
    world_event(mail->world, &run, "model.replied",
                "{\"iteration\":1,\"turn\":2,\"outcome\":\"ok\",\"output\":\"all\\nis well\","
                "\"tokens_in\":8,\"tokens_out\":3}");
    world_put_event(mail->world, &run, "run.finished",
                    "{\"status\":\"completed\",\"iterations\":1}", RONDO_COMPLETED);
    return run;
}

/** The JSON of a webhook to the peer. Static. */
static const char *hook(struct result_mail *mail, const char *path, const char *more)
{
    static char text[512];
    snprintf(text, sizeof(text), "[{\"type\":\"webhook\",\"url\":\"%s\"%s}]",
             http_peer_url(mail->peer, path), more);
    return text;
}

static void count(struct result_mail *mail, size_t waiting, size_t dead)
{
    assert_int_equal(world_documents(mail->world, "delivery", NULL), waiting);
    assert_int_equal(world_documents(mail->world, "dead-letter", NULL), dead);
}

static char *path_in(const struct result_mail *mail, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", mail->workspace, name);
    return buf_steal(&path);
}

static void expect_file(const struct result_mail *mail, const char *name, const char *expected)
{
    auto_free char *path = path_in(mail, name);
    struct buf text = {0};
    assert_int_equal(file_read(path, LIMIT_MIB, &text, NULL), 0);
    assert_string_equal(buf_string(&text), expected);
    buf_fini(&text);
}

/* ---- What is sent ---- */

MAIL_TEST(a_webhook_gets_the_result_with_the_members_that_initrunner_sends)
{
    struct result_mail *mail = *state;
    setenv("RONDO_TEST_TOKEN", "t0ps3cret", 1);
    struct test_run run =
        end_run_of(mail,
                   hook(mail, "/result",
                        ",\"method\":\"PUT\",\"headers\":{\"X-Token\":\"${RONDO_TEST_TOKEN}\"}"),
                   "");
    world_tick(mail->world);
    const struct peer_request *request = http_peer_request(mail->peer, 0);
    assert_string_equal(request->method, "PUT");
    assert_string_equal(request->path, "/result");
    assert_string_equal(http_peer_header(mail->peer, request, "x-token"), "t0ps3cret");
    assert_non_null(http_peer_header(mail->peer, request, "webhook-id"));
    char expected[1024];
    snprintf(
        expected, sizeof(expected),
        "{\"agent_name\":\"checker\",\"run_id\":\"%s\",\"prompt\":\"check it\","
        "\"output\":\"all\\nis well\",\"success\":true,\"error\":null,\"tokens_in\":15,"
        "\"tokens_out\":5,\"duration_ms\":0,\"model\":\"gpt\",\"provider\":\"openai\","
        "\"trigger_type\":\"cron\",\"trigger_metadata\":{\"schedule\":\"@daily\",\"n\":\"3\"},"
        "\"timestamp\":\"2027-01-15T08:00:00.000Z\",\"status\":\"completed\",\"iterations\":0}",
        run.id);
    assert_string_equal(request->body, expected);
    count(mail, 0, 0);
}

MAIL_TEST(a_bad_end_is_a_result_with_its_reason)
{
    struct result_mail *mail = *state;
    struct buf text = {0};
    buf_printf(&text,
               ",\"spec\":{\"workspace\":\"/\",\"agent\":{\"role\":{\"spec\":{\"execution\":{"
               "\"allow_hosts\":[\"127.0.0.1\"]},\"sinks\":%s}}}}",
               hook(mail, "/result", ""));
    struct test_run run = world_run(mail->world, "checker", buf_string(&text));
    buf_fini(&text);
    world_end_run(mail->world, &run, "{\"status\":\"failed\",\"message\":\"no luck\"}");
    world_tick(mail->world);
    const struct peer_request *request = http_peer_request(mail->peer, 0);
    assert_non_null(strstr(request->body, "\"success\":false,\"error\":\"no luck\""));
    assert_non_null(strstr(request->body, "\"trigger_type\":null,\"trigger_metadata\":{}"));
}

MAIL_TEST(files_get_a_line_each_below_the_workspace)
{
    struct result_mail *mail = *state;
    static const char sinks[] = "[{\"type\":\"file\",\"path\":\"./logs/text.log\","
                                "\"format\":\"text\"},{\"type\":\"file\",\"path\":\"all.json\","
                                "\"format\":\"json\"}]";
    end_run_of(mail, sinks, "");
    end_run_of(mail, sinks, "");
    world_tick(mail->world);
    expect_file(mail, "logs/text.log",
                "[2027-01-15T08:00:00.000Z] checker | OK | all is well\n"
                "[2027-01-15T08:00:00.000Z] checker | OK | all is well\n");
    auto_free char *path = path_in(mail, "all.json");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    count(mail, 0, 0);
}

MAIL_TEST(a_link_that_an_agent_has_put_there_is_not_written_through)
{
    struct result_mail *mail = *state;
    auto_free char *link = path_in(mail, "out.json");
    auto_free char *target = path_in(mail, "../rondo-result-target");
    assert_int_equal(symlink(target, link), 0);
    end_run_of(mail, "[{\"type\":\"file\",\"path\":\"out.json\"}]", "");
    world_tick(mail->world);
    assert_int_not_equal(access(target, F_OK), 0);
    count(mail, 1, 0);
}

MAIL_TEST(a_command_is_one_that_somebody_has_added)
{
    struct result_mail *mail = *state;
    static const char sinks[] = "[{\"type\":\"command\",\"name\":\"page\"}]";
    auto_free char *path = path_in(mail, "got");
    char json[512];
    snprintf(json, sizeof(json),
             "{\"name\":\"page\",\"kind\":\"command\",\"agents\":[\"nobody\"],\"command\":"
             "[\"sh\",\"-c\",\"read line; echo $RONDO_WARNING_KIND ${#line} > $0\",\"%s\"]}",
             path);
    end_run_of(mail, sinks, "");
    world_tick(mail->world);
    count(mail, 0, 1);
    struct buf letters = {0};
    world_documents(mail->world, "dead-letter", &letters);
    assert_non_null(strstr(buf_string(&letters), "no command sink page: add it with"));
    buf_fini(&letters);
    world_sink(mail->world, json, NULL);
    end_run_of(mail, sinks, "");
    world_tick(mail->world);
    count(mail, 0, 1);
    struct buf text = {0};
    assert_int_equal(file_read(path, LIMIT_MIB, &text, NULL), 0);
    assert_int_equal(strncmp(buf_string(&text), "result ", 7), 0);
    assert_true(strtol(buf_string(&text) + 7, NULL, 10) > 300);
    buf_fini(&text);
}

/* ---- What is not ---- */

MAIL_TEST(a_dry_run_and_functions_in_python_send_nothing)
{
    struct result_mail *mail = *state;
    end_run_of(mail, hook(mail, "/x", ""), "\"dry_run\":true,");
    end_run_of(mail, "[{\"type\":\"custom\",\"module\":\"m\",\"function\":\"f\"}]", "");
    end_run_of(mail, "[]", "");
    world_tick(mail->world);
    count(mail, 0, 0);
    assert_int_equal(http_peer_request_count(mail->peer), 0);
}

MAIL_TEST(a_variable_that_is_not_set_and_a_private_address_are_named)
{
    struct result_mail *mail = *state;
    unsetenv("RONDO_TEST_MISSING");
    end_run_of(mail, "[{\"type\":\"webhook\",\"url\":\"https://${RONDO_TEST_MISSING}/x\"}]", "");
    end_run_of(mail, "[{\"type\":\"webhook\",\"url\":\"http://[::1]:1/x\"}]", "");
    world_tick(mail->world);
    struct buf text = {0};
    world_documents(mail->world, "delivery", &text);
    assert_non_null(strstr(buf_string(&text), "${RONDO_TEST_MISSING} is not set"));
    assert_non_null(strstr(buf_string(&text), "the call failed: the address is private"));
    buf_fini(&text);
    count(mail, 2, 0);
}

MAIL_TEST(a_sink_that_takes_nothing_leaves_a_dead_letter_that_can_be_sent_again)
{
    struct result_mail *mail = *state;
    http_peer_always(mail->peer, 500, NULL, "");
    end_run_of(mail, hook(mail, "/x", ",\"retry_count\":9"), "");
    for (int i = 0; i < 9; i++) {
        world_tick(mail->world);
        count(mail, 1, 0);
        mail->world->now_ns += 7 * HOUR_NS;
    }
    world_tick(mail->world);
    count(mail, 0, 1);
    assert_int_equal(http_peer_request_count(mail->peer), 10);
    http_peer_always(mail->peer, 200, NULL, "");
    auto_buf struct buf list = {0};
    auto_json struct json_object *letters = NULL;
    assert_int_equal(sink_deliveries(mail->world->memory, true, 10, &list, NULL), 0);
    assert_int_equal(json_parse(list.data, list.len, &letters, NULL), 0);
    struct json_object *letter = json_object_array_get_idx(letters, 0);
    assert_string_equal(json_get_string(letter, "sink", ""), "checker/webhook-0");
    assert_string_equal(json_get_string(json_member(letter, "warning"), "kind", ""), "result");
    assert_int_equal(sink_redeliver(mail->world->memory, json_get_string(letter, "id", ""), NULL),
                     0);
    mail->world->now_ns += 100000 * HOUR_NS;
    world_tick(mail->world);
    count(mail, 0, 0);
}

MAIL_TEST(a_process_that_ends_sends_what_is_of_its_own_run)
{
    struct result_mail *mail = *state;
    uint64_t waiting = 9;
    end_run_of(mail, hook(mail, "/other", ""), "");
    struct test_run run = end_run_of(mail, hook(mail, "/own", ""), "");
    assert_int_equal(monitor_send_results(mail->world->monitor, run.id, &waiting, NULL), 0);
    assert_int_equal(waiting, 0);
    assert_int_equal(http_peer_request_count(mail->peer), 1);
    assert_string_equal(http_peer_request(mail->peer, 0)->path, "/own");
    count(mail, 1, 0);
}

/* ---- Kills ---- */

MAIL_TEST(a_process_that_dies_anywhere_delivers_at_least_once_with_one_id)
{
    struct result_mail *mail = *state;
    struct monitor_world *world = mail->world;
    monitor_stop(world->monitor);
    world->monitor = NULL;
    bool is_through = false;
    for (uint64_t dies_at = 1; !is_through; dies_at++) {
        size_t before = http_peer_request_count(mail->peer);
        struct test_run run = end_run_of(mail, hook(mail, "/x", ""), "");
        for (int i = 0; i < 3; i++) {
            world_close_store(world);
            world_open_store(world);
            world->dies_at = i == 0 ? dies_at : 0;
            struct monitor *monitor = new_monitor(mail);
            int r = monitor_tick(monitor, NULL);
            is_through = i == 0 ? r == 0 && world->calls < dies_at : is_through;
            monitor_stop(monitor);
            world->now_ns += DELIVERY_CLAIM_NS + NS_PER_S;
        }
        size_t after = http_peer_request_count(mail->peer);
        assert_true(after - before >= 1 && after - before <= 2);
        for (size_t i = before; i < after; i++) {
            const struct peer_request *request = http_peer_request(mail->peer, i);
            assert_non_null(strstr(http_peer_header(mail->peer, request, "webhook-id"), run.id));
            assert_non_null(strstr(request->body, run.id));
        }
        count(mail, 0, 0);
    }
}
