// SPDX-License-Identifier: Apache-2.0
/* Sinks: what may be put, what is shown, and what is kept. */
#include "monitor_world.h"

#include "alert/sink_read.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

static int put(struct monitor_world *world, const char *json, char *ret_secret,
               struct rondo_error *err)
{
    char secret[SINK_SECRET_SIZE] = "";
    auto_json struct json_object *object = NULL;
    assert_int_equal(json_parse(json, strlen(json), &object, NULL), 0);
    int r = sink_put(world->memory, object, secret, err);
    if (ret_secret != NULL) {
        memcpy(ret_secret, secret, sizeof(secret));
    }
    return r;
}

static void list(struct monitor_world *world, struct buf *ret_text)
{
    buf_clear(ret_text);
    assert_int_equal(sink_list(world->memory, ret_text, NULL), 0);
}

WORLD_TEST(a_webhook_gets_a_secret_that_is_shown_once)
{
    struct monitor_world *world = *state;
    char secret[SINK_SECRET_SIZE];
    auto_buf struct buf text = {0};
    assert_int_equal(put(world,
                         "{\"name\":\"ops\",\"kind\":\"webhook\","
                         "\"url\":\"https://example.org:8443/hook/t0ken?key=t0ken\"}",
                         secret, NULL),
                     0);
    assert_int_equal(strncmp(secret, "whsec_", 6), 0);
    assert_int_equal(strlen(secret), 6 + 32);
    list(world, &text);
    assert_null(strstr(text.data, "t0ken"));
    assert_null(strstr(text.data, secret));
    assert_null(strstr(text.data, "whsec_"));
    assert_non_null(strstr(text.data, "\"url\":\"https://example.org:8443\""));
    assert_non_null(strstr(text.data, "\"kinds\":null"));
}

WORLD_TEST(a_webhook_that_is_put_again_keeps_its_secret)
{
    struct monitor_world *world = *state;
    static const char json[] =
        "{\"name\":\"ops\",\"kind\":\"webhook\",\"url\":\"http://example.org/a\"}";
    char first[SINK_SECRET_SIZE];
    char second[SINK_SECRET_SIZE];
    struct sink sink = {0};
    assert_int_equal(put(world, json, first, NULL), 0);
    assert_int_equal(put(world, json, second, NULL), 0);
    assert_string_equal(second, "");
    assert_int_equal(sink_find(world->memory, "ops", &sink, NULL, NULL), 0);
    assert_string_equal(sink.secret, first);
    sink_fini(&sink);
}

WORLD_TEST(a_secret_that_is_given_is_kept_and_not_shown)
{
    struct monitor_world *world = *state;
    char secret[SINK_SECRET_SIZE];
    auto_buf struct buf text = {0};
    struct sink sink = {0};
    assert_int_equal(put(world,
                         "{\"name\":\"ops\",\"kind\":\"webhook\",\"url\":\"http://a\","
                         "\"secret\":\"" SECRET "\"}",
                         secret, NULL),
                     0);
    assert_string_equal(secret, "");
    list(world, &text);
    assert_null(strstr(text.data, "whsec_"));
    assert_int_equal(sink_find(world->memory, "ops", &sink, NULL, NULL), 0);
    assert_string_equal(sink.secret, SECRET);
    sink_fini(&sink);
}

WORLD_TEST(what_is_wrong_is_named_and_changes_nothing)
{
    struct monitor_world *world = *state;
    static const struct {
        const char *json;
        const char *member;
    } cases[] = {
        {"[]", "a sink is"},
        {"{\"kind\":\"slack\",\"url\":\"http://a\"}", "name"},
        {"{\"name\":\"\",\"kind\":\"slack\",\"url\":\"http://a\"}", "name"},
        {"{\"name\":\"a b\",\"kind\":\"slack\",\"url\":\"http://a\"}", "name"},
        {"{\"name\":\"a/b\",\"kind\":\"slack\",\"url\":\"http://a\"}", "name"},
        {"{\"name\":\"a\",\"kind\":\"mail\"}", "kind"},
        {"{\"name\":\"a\"}", "kind"},
        {"{\"name\":\"a\",\"kind\":\"slack\"}", "url"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"ftp://a\"}", "url"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"http://\"}", "url"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"http://u:p@a/\"}", "url"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"http://a\\r\\nX: y\"}", "url"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"http://a\",\"secret\":\"x\"}", "secret"},
        {"{\"name\":\"a\",\"kind\":\"webhook\",\"url\":\"http://a\",\"secret\":\"x\"}", "secret"},
        {"{\"name\":\"a\",\"kind\":\"webhook\",\"url\":\"http://a\",\"secret\":7}", "secret"},
        {"{\"name\":\"a\",\"kind\":\"webhook\",\"url\":\"http://a\",\"secret\":\"whsec_MTIz\"}",
         "secret"},
        {"{\"name\":\"a\",\"kind\":\"command\"}", "command"},
        {"{\"name\":\"a\",\"kind\":\"command\",\"command\":[]}", "command"},
        {"{\"name\":\"a\",\"kind\":\"command\",\"command\":\"ls\"}", "command"},
        {"{\"name\":\"a\",\"kind\":\"command\",\"command\":[\"ls\"],\"url\":\"http://a\"}", "url"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"http://a\",\"kinds\":[\"no\"]}", "kinds"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"http://a\",\"agents\":[1]}", "agents"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"http://a\",\"more\":1}", "more"},
        {"{\"name\":\"a\",\"kind\":\"slack\",\"url\":\"http://a\",\"disabled\":\"x\"}", "disabled"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rondo_error err = {0};
        assert_int_equal(put(world, cases[i].json, NULL, &err), RONDO_ERR_INVALID);
        if (strncmp(err.message, cases[i].member, strlen(cases[i].member)) != 0) {
            fail_msg("%s: %s", cases[i].json, err.message);
        }
    }
    assert_int_equal(world_documents(world, "sink", NULL), 0);
}

/** {"name":"a",...,"MEMBER":[ITEM, ...]} or a text of a length */
static int put_sized(struct monitor_world *world, const char *head, const char *item, size_t count,
                     const char *tail)
{
    auto_buf struct buf json = {0};
    struct rondo_error err = {0};
    buf_append_string(&json, head);
    for (size_t i = 0; i < count; i++) {
        buf_append_string(&json, item);
    }
    buf_append_string(&json, tail);
    return put(world, buf_string(&json), NULL, &err);
}

WORLD_TEST(sizes_have_limits)
{
    struct monitor_world *world = *state;
    static const struct {
        const char *head;
        const char *item;
        size_t most; /* items that are allowed */
        const char *tail;
    } cases[] = {
        {"{\"kind\":\"slack\",\"url\":\"http://a\",\"name\":\"", "n", SINK_NAME_LEN, "\"}"},
        {"{\"kind\":\"slack\",\"name\":\"a\",\"url\":\"http://a", "u", LIMIT_SINK_URL_BYTES - 8,
         "\"}"},
        {"{\"kind\":\"command\",\"name\":\"a\",\"command\":[\"true\"", ",\"b\"",
         LIMIT_SINK_ARGUMENTS - 1, "]}"},
        {"{\"kind\":\"command\",\"name\":\"a\",\"command\":[\"true\",\"", "a",
         LIMIT_SINK_ARGUMENT_BYTES, "\"]}"},
        {"{\"kind\":\"slack\",\"name\":\"a\",\"url\":\"http://a\",\"agents\":[\"a\"", ",\"b\"",
         LIMIT_SINK_AGENTS - 1, "]}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(
            put_sized(world, cases[i].head, cases[i].item, cases[i].most, cases[i].tail), 0);
        assert_int_equal(
            put_sized(world, cases[i].head, cases[i].item, cases[i].most + 1, cases[i].tail),
            RONDO_ERR_LIMIT);
    }
}

WORLD_TEST(there_is_room_for_so_many_sinks)
{
    struct monitor_world *world = *state;
    char json[128];
    for (int i = 0; i < LIMIT_SINKS; i++) {
        snprintf(json, sizeof(json), "{\"name\":\"s%d\",\"kind\":\"slack\",\"url\":\"http://a\"}",
                 i);
        assert_int_equal(put(world, json, NULL, NULL), 0);
    }
    assert_int_equal(
        put(world, "{\"name\":\"more\",\"kind\":\"slack\",\"url\":\"http://a\"}", NULL, NULL),
        RONDO_ERR_LIMIT);
    assert_int_equal(put(world, json, NULL, NULL), 0); /* replacing one needs no room */
    assert_int_equal(sink_remove(world->memory, "s0", NULL), 0);
    assert_int_equal(
        put(world, "{\"name\":\"more\",\"kind\":\"slack\",\"url\":\"http://a\"}", NULL, NULL), 0);
}

WORLD_TEST(a_sink_gets_the_kinds_and_agents_that_it_names)
{
    struct monitor_world *world = *state;
    world_sink(world, "{\"name\":\"all\",\"kind\":\"slack\",\"url\":\"http://127.0.0.1:9/\"}",
               NULL);
    world_sink(world,
               "{\"name\":\"ends\",\"kind\":\"slack\",\"url\":\"http://127.0.0.1:9/\","
               "\"kinds\":[\"ended\",\"stalled\"]}",
               NULL);
    world_sink(world,
               "{\"name\":\"mine\",\"kind\":\"slack\",\"url\":\"http://127.0.0.1:9/\","
               "\"agents\":[\"fixer\",\"tester\"]}",
               NULL);
    struct test_run one = world_run(world, "fixer", "");
    struct test_run two = world_run(world, "other", "");
    world_limit_warning(world, &one, 10);
    world_end_run(world, &two, "{\"status\":\"failed\"}");
    world_tick(world);
    auto_buf struct buf text = {0};
    assert_int_equal(world_documents(world, "delivery", &text), 4);
    assert_non_null(strstr(text.data, "\"sink\":\"mine\""));
    assert_non_null(strstr(text.data, "\"sink\":\"ends\""));
}

WORLD_TEST(a_test_waits_for_the_sink_that_is_named)
{
    struct monitor_world *world = *state;
    auto_buf struct buf text = {0};
    assert_int_equal(sink_test(world->memory, "ops", NULL), RONDO_ERR_NOT_FOUND);
    world_sink(world, "{\"name\":\"ops\",\"kind\":\"slack\",\"url\":\"http://a\"}", NULL);
    assert_int_equal(sink_test(world->memory, "ops", NULL), 0);
    assert_int_equal(sink_deliveries(world->memory, false, 10, &text, NULL), 0);
    assert_non_null(strstr(text.data, "\"sink\":\"ops\""));
    assert_non_null(strstr(text.data, "\"kind\":\"test\""));
    assert_int_equal(world_documents(world, "warning", NULL), 0);
}

WORLD_TEST(what_is_not_there_cannot_be_removed_or_retried)
{
    struct monitor_world *world = *state;
    assert_int_equal(sink_remove(world->memory, "ops", NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(sink_remove(world->memory, "", NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(sink_redeliver(world->memory, "1-2", NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(sink_redeliver(world->memory, "", NULL), RONDO_ERR_NOT_FOUND);
}

/* ---- Signatures ---- */

WORLD_TEST(a_signature_is_that_of_the_specification)
{
    auto_buf struct buf value = {0};
    static const char body[] = "{\"test\": 2432232314}";
    assert_int_equal(sink_sign(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body,
                               strlen(body), &value, NULL),
                     0);
    assert_string_equal(buf_string(&value), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

WORLD_TEST(secrets_have_24_to_64_bytes)
{
    static const struct {
        size_t digits;
        const char *end;
        int expected;
    } cases[] = {
        {32, "", 0},                  /* 24 */
        {31, "=", RONDO_ERR_INVALID}, /* 23 */
        {86, "==", 0},                /* 64 */
        {87, "=", RONDO_ERR_INVALID}, /* 65 */
        {33, "", RONDO_ERR_INVALID},
        {0, "", RONDO_ERR_INVALID},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf secret = {0};
        auto_buf struct buf value = {0};
        buf_append_string(&secret, "whsec_");
        for (size_t j = 0; j < cases[i].digits; j++) {
            buf_append_string(&secret, "A");
        }
        buf_append_string(&secret, cases[i].end);
        assert_int_equal(sink_sign(buf_string(&secret), "id", 1, "", 0, &value, NULL),
                         cases[i].expected);
    }
    auto_buf struct buf value = {0};
    assert_int_equal(sink_sign(NULL, "id", 1, "", 0, &value, NULL), RONDO_ERR_INVALID);
    assert_int_equal(
        sink_sign("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAA-AAA", "id", 1, "", 0, &value, NULL),
        RONDO_ERR_INVALID);
}
