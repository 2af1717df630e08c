// SPDX-License-Identifier: Apache-2.0
/* Several stores in one server: which one a request is for, lists and streams over all. */
#include "../../support/store/fault.h"
#include "api_world.h"
#include "server/stores.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PATIENCE_NS HTTP_RAW_PATIENCE_NS

static const char *const names[] = {"main", "acme", NULL};

/** Two stores; the second one has its own server, which joins later if a test wants that. */
struct two_worlds {
    struct api_world *front;
    struct api_world *other; /* NULL: not there yet */
};

static void open_other(struct two_worlds *two, bool needs_token)
{
    void *state = NULL;
    struct server_options wanted = {
        .needs_token = needs_token, .store_label = names[1], .front = two->front->server};
    assert_int_equal(world_setup_with(&state, &wanted), 0);
    two->other = state;
}

static struct two_worlds *open_front(bool needs_token)
{
    struct two_worlds *two = memory_new_zero(1, sizeof(*two));
    void *state = NULL;
    struct server_options wanted = {
        .needs_token = needs_token, .store_label = names[0], .store_labels = names};
    assert_int_equal(world_setup_with(&state, &wanted), 0);
    two->front = state;
    return two;
}

static int setup_local(void **state)
{
    struct two_worlds *two = open_front(false);
    open_other(two, false);
    *state = two;
    return 0;
}

static int setup_tokens(void **state)
{
    struct two_worlds *two = open_front(true);
    open_other(two, true);
    *state = two;
    return 0;
}

static int setup_one_away(void **state)
{
    *state = open_front(false);
    return 0;
}

static int teardown(void **state)
{
    struct two_worlds *two = *state;
    void *front = two->front;
    void *other = two->other;
    server_stop(two->front->server); /* The front first: then nobody asks the other. */
    two->front->server = NULL;
    if (other != NULL) {
        world_teardown(&other);
    }
    world_teardown(&front);
    free(two);
    return 0;
}

/** A run with two events. @param number of its id */
static void put_run(struct api_world *world, int number)
{
    struct store_event events[2];
    struct store_claim claim = {.owner = "pid=1", .lease_ns = NS_PER_S};
    struct store_claim_result result;
    struct store_run run = {0};
    snprintf(run.id, sizeof(run.id), "%08d-0000-7000-8000-000000000000", number);
    snprintf(run.agent_id, sizeof(run.agent_id), "%s", number % 2 == 0 ? "fixer" : "stranger");
    for (size_t i = 0; i < 2; i++) {
        events[i] = (struct store_event){.type = "run.paused", .data = "{}", .data_len = 2};
    }
    assert_int_equal(
        world->store->ops->create_run(world->store, &run, events, 2, &claim, &result, NULL), 0);
    writer_ring(runtime_writer(world->runtime)); /* It may rest. */
}

/** "8:acme 7:main ": the runs of a list. */
static void name_runs(struct json_object *answer, struct buf *ret_text)
{
    struct json_object *runs = NULL;
    assert_true(json_object_object_get_ex(answer, "runs", &runs));
    for (size_t i = 0; i < json_object_array_length(runs); i++) {
        struct json_object *run = json_object_array_get_idx(runs, i);
        buf_printf(ret_text, "%d:%s ", (int)strtol(json_get_string(run, "run_id", ""), NULL, 10),
                   json_get_string(run, "store", "?"));
    }
}

static void expect_runs(struct api_world *world, const char *path, const char *token,
                        const char *text)
{
    struct api_reply answer;
    auto_buf struct buf runs = {0};
    ask(world, "GET", path, token, "", "", &answer);
    if (answer.status != 200) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(answer.status, 200);
    name_runs(answer.json, &runs);
    assert_string_equal(buf_string(&runs), text);
    answer_fini(&answer);
}

/** Runs 10 to 18, created in this order. */
static void put_runs(struct two_worlds *two)
{
    static const bool is_of_other[] = {false, true, true, false, false, true, true, false, true};
    for (int i = 0; i < 9; i++) {
        put_run(is_of_other[i] ? two->other : two->front, 10 + i);
    }
}

TEST_WITH(a_list_has_the_runs_of_all_stores_in_order, setup_local, teardown)
{
    struct two_worlds *two = *state;
    struct api_reply answer;
    struct json_object *counts = NULL;
    put_runs(two);
    expect_runs(two->front, "/v1/runs", "",
                "18:acme 17:main 16:acme 15:acme 14:main 13:main 12:acme 11:acme 10:main ");
    expect_runs(two->front, "/v1/runs?order=asc&limit=3", "", "10:main 11:acme 12:acme ");
    expect_runs(two->front, "/v1/runs?sort=agent&order=asc&agent=fixer&limit=3", "",
                "10:main 12:acme 14:main ");
    ask(two->front, "GET", "/v1/runs?limit=1", "", "", "", &answer);
    json_object_object_get_ex(answer.json, "counts", &counts);
    assert_int_equal(json_get_int(counts, "total", 0), 9);
    answer_fini(&answer);
}

/** Read all pages of a list. */
static void expect_pages(struct api_world *world, const char *order, int limit, const char *text)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf runs = {0};
    buf_printf(&path, "/v1/runs?order=%s&limit=%d", order, limit);
    for (int page = 0; page < 20 && path.len > 0; page++) {
        struct api_reply answer;
        ask(world, "GET", buf_string(&path), "", "", "", &answer);
        assert_int_equal(answer.status, 200);
        name_runs(answer.json, &runs);
        const char *cursor = json_get_string(answer.json, "next_cursor", "");
        buf_clear(&path);
        if (cursor[0] != '\0') {
            buf_printf(&path, "/v1/runs?order=%s&limit=%d&cursor=%s", order, limit, cursor);
        }
        answer_fini(&answer);
    }
    assert_string_equal(buf_string(&runs), text);
}

TEST_WITH(pages_of_all_stores_have_each_run_once, setup_local, teardown)
{
    struct two_worlds *two = *state;
    put_runs(two);
    for (int limit = 1; limit <= 10; limit++) {
        expect_pages(two->front, "desc", limit,
                     "18:acme 17:main 16:acme 15:acme 14:main 13:main 12:acme 11:acme 10:main ");
        expect_pages(two->front, "asc", limit,
                     "10:main 11:acme 12:acme 13:main 14:main 15:acme 16:acme 17:main 18:acme ");
    }
    expect_problem(two->front, "GET", "/v1/runs?cursor=main%3Dxx", "", "", "", "malformed");
}

TEST_WITH(a_request_is_for_the_store_that_it_names_or_the_first, setup_local, teardown)
{
    struct two_worlds *two = *state;
    put_runs(two);
    expect_runs(two->front, "/v1/runs?store=acme&limit=2", "", "18:acme 16:acme ");
    expect_runs(two->front, "/v1/runs?store=main&limit=2", "", "17:main 14:main ");
    expect_problem(two->front, "GET", "/v1/runs?store=other", "", "", "", "not_found");
    expect_problem(two->front, "GET", "/v1/runs?store=main&store=acme", "", "", "", "malformed");
    expect(two->front, "PUT", "/v1/sinks/there?store=acme", "", "",
           "{\"kind\":\"webhook\",\"url\":\"http://127.0.0.1:9/\"}", 201);
    expect(two->front, "PUT", "/v1/sinks/here", "", "",
           "{\"kind\":\"webhook\",\"url\":\"http://127.0.0.1:9/\"}", 201);
    struct api_reply answer;
    ask(two->front, "GET", "/v1/sinks", "", "", "", &answer);
    assert_non_null(strstr(answer.body, "\"here\""));
    assert_null(strstr(answer.body, "\"there\""));
    answer_fini(&answer);
}

TEST_WITH(a_run_is_found_in_its_store, setup_local, teardown)
{
    struct two_worlds *two = *state;
    put_runs(two);
    expect(two->front, "GET", "/v1/runs/00000018/events", "", "", "", 200);
    expect(two->front, "GET", "/v1/runs/00000017/events", "", "", "", 200);
    expect_problem(two->front, "GET", "/v1/runs/00000018/events?store=main", "", "", "",
                   "not_found");
    expect_problem(two->front, "GET", "/v1/runs/00000019", "", "", "", "not_found");
    put_run(two->front, 18);
    expect_problem(two->front, "GET", "/v1/runs/00000018", "", "", "", "not_found");
}

TEST_WITH(a_run_is_started_in_the_store_that_is_named, setup_local, teardown)
{
    struct two_worlds *two = *state;
    static const char body[] = "{\"command\":[\"true\"],\"agent_id\":\"fixer\",\"sandbox\":"
                               "\"none\",\"max_iterations\":1,\"conditions\":[{\"name\":\"t\","
                               "\"command\":\"false\"}],\"verifier_sandbox\":\"none\"}";
    struct api_reply answer;
    struct store_run run;
    ask(two->front, "POST", "/v1/runs?store=acme", "", "", body, &answer);
    assert_int_equal(answer.status, 201);
    const char *id = json_get_string(answer.json, "run_id", "");
    assert_int_equal(two->other->store->ops->get_run(two->other->store, id, &run, NULL), 0);
    assert_int_equal(two->front->store->ops->get_run(two->front->store, id, &run, NULL),
                     RONDO_ERR_NOT_FOUND);
    auto_buf struct buf path = {0};
    buf_printf(&path, "/v1/runs/%s", id);
    answer_fini(&answer);
    ask(two->front, "GET", buf_string(&path), "", "", "", &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(json_get_string(answer.json, "store", ""), "acme");
    answer_fini(&answer);
}

TEST_WITH(a_token_reaches_its_own_store_and_no_other, setup_tokens, teardown)
{
    struct two_worlds *two = *state;
    auto_buf struct buf both = {0};
    put_runs(two);
    expect_runs(two->front, "/v1/runs?limit=2", two->front->read, "17:main 14:main ");
    expect_runs(two->front, "/v1/runs?limit=2", two->other->read, "18:acme 16:acme ");
    buf_printf(&both, "%s,%s", two->front->read, two->other->operate);
    expect_runs(two->front, "/v1/runs?limit=4", buf_string(&both),
                "18:acme 17:main 16:acme 14:main "); /* of acme only the agent fixer */
    expect_runs(two->front, "/v1/runs?limit=4&agent=stranger", buf_string(&both),
                "17:main 13:main ");
    expect_problem(two->front, "GET", "/v1/runs/00000018/events", two->front->administer, "", "",
                   "not_found");
    expect_problem(two->front, "GET", "/v1/runs?store=acme", two->front->administer, "", "",
                   "unauthorized");
    expect_problem(two->front, "GET", "/v1/tokens?store=acme", two->front->administer, "", "",
                   "unauthorized");
    expect_problem(two->front, "GET", "/v1/runs", "rondo_wrong", "", "", "unauthorized");
    /* The right to change is that of the store: read in main, operate in acme. */
    expect_problem(two->front, "POST", "/v1/runs/00000017/stop", buf_string(&both), "", "",
                   "forbidden");
    expect_problem(two->front, "POST", "/v1/runs/00000015/stop", buf_string(&both), "", "",
                   "forbidden"); /* of acme, but of another agent */
}

TEST_WITH(a_store_that_is_away_takes_no_other_with_it, setup_one_away, teardown)
{
    struct two_worlds *two = *state;
    struct api_reply answer;
    put_run(two->front, 17);
    expect_runs(two->front, "/v1/runs", "", "17:main ");
    ask(two->front, "GET", "/v1/runs", "", "", "", &answer);
    assert_non_null(strstr(answer.body, "{\"name\":\"acme\",\"is_away\":true}"));
    assert_non_null(strstr(answer.body, "{\"name\":\"main\",\"is_away\":false}"));
    answer_fini(&answer);
    expect_problem(two->front, "GET", "/v1/runs?store=acme", "", "", "", "store_failed");
    expect(two->front, "GET", "/v1/runs/00000017/events", "", "", "", 200);
    /* Nobody knows whether acme has it. */
    expect_problem(two->front, "GET", "/v1/runs/00000018", "", "", "", "store_failed");
}

/* ---- Streams --------------------------------------------------------------------------------- */

static int open_stream(struct api_world *world, const char *path, const char *last)
{
    auto_buf struct buf request = {0};
    int fd = http_raw_connect(world->address);
    assert_true(fd >= 0);
    buf_printf(&request, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%s%s%s\r\n",
               path, world->address,
               last == NULL ? "" : "Last-Event-ID: ", last == NULL ? "" : last,
               last == NULL ? "" : "\r\n");
    assert_true(http_raw_send_text(fd, buf_string(&request)));
    return fd;
}

static void expect_text(int fd, struct buf *bytes, const char *text)
{
    if (!http_raw_read_until(fd, bytes, text, PATIENCE_NS)) {
        fail_msg("%s did not come: %s", text, buf_string(bytes));
    }
}

TEST_WITH(ids_of_a_stream_have_the_place_in_each_store, setup_local, teardown)
{
    struct two_worlds *two = *state;
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    put_run(two->front, 10);
    put_run(two->other, 11);
    int fd = open_stream(two->front, "/v1/events", "main:0,acme:0");
    expect_text(fd, &first, "00000010-");
    expect_text(fd, &first, "00000011-");
    expect_text(fd, &first, "id: main:2,acme:2\n");
    close(fd);
    put_run(two->front, 12);
    put_run(two->other, 13);
    fd = open_stream(two->front, "/v1/events", "main:2,acme:3");
    expect_text(fd, &second, "id: main:4,acme:4\n");
    expect_text(fd, &second, "00000013-");
    assert_non_null(strstr(buf_string(&second), "00000012-"));
    assert_null(strstr(buf_string(&second), "00000010-"));
    assert_null(strstr(buf_string(&second), "00000011-"));
    close(fd);
    expect_problem(two->front, "GET", "/v1/events", "",
                   "Accept: text/event-stream\r\nLast-Event-ID: main:x\r\n", "", "malformed");
    expect_problem(two->front, "GET", "/v1/events?after=0", "", "", "", "malformed");
    expect(two->front, "GET", "/v1/events?after=0&store=acme", "", "", "", 200);
}

TEST_WITH(a_stream_goes_on_where_one_store_was_when_there_was_no_other, setup_local, teardown)
{
    struct two_worlds *two = *state;
    auto_buf struct buf bytes = {0};
    put_run(two->front, 10);
    int fd = open_stream(two->front, "/v1/events", "1");
    expect_text(fd, &bytes, "id: main:2,acme:0\n");
    expect_text(fd, &bytes, "00000010-");
    close(fd);
}

TEST_WITH(the_stream_of_runs_has_rows_of_all_stores, setup_local, teardown)
{
    struct two_worlds *two = *state;
    auto_buf struct buf bytes = {0};
    int fd = open_stream(two->front, "/v1/stream", NULL);
    expect_text(fd, &bytes, "retry: ");
    put_run(two->other, 11);
    expect_text(fd, &bytes, "\"store\":\"acme\"");
    put_run(two->front, 10);
    expect_text(fd, &bytes, "00000010-");
    expect_text(fd, &bytes, "\"store\":\"main\"");
    close(fd);
}

TEST_WITH(a_stream_ends_when_a_store_comes_and_keeps_its_place, setup_one_away, teardown)
{
    struct two_worlds *two = *state;
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    int fd = open_stream(two->front, "/v1/events", "main:0,acme:1");
    expect_text(fd, &first, "id: main:0,acme:1\n");
    open_other(two, false);
    put_run(two->other, 11);
    put_run(two->front, 10);                  /* Its event wakes the stream. */
    expect_text(fd, &first, "\r\n0\r\n\r\n"); /* its last chunk */
    assert_null(strstr(buf_string(&first), "00000011-"));
    close(fd);
    fd = open_stream(two->front, "/v1/events", "main:0,acme:1");
    expect_text(fd, &second, ",acme:2\n");
    expect_text(fd, &second, "00000011-");
    close(fd);
}

/* ---- Answering ------------------------------------------------------------------------------- */

static enum store_fault decide(void *context, const char *operation, uint64_t call, int *ret_code)
{
    (void)operation;
    (void)call;
    (void)ret_code;
    return atomic_load((_Atomic bool *)context) ? STORE_FAULT_BEFORE : STORE_FAULT_NONE;
}

static void await_away(struct stores *stores, bool is_away)
{
    int64_t deadline = clock_monotonic(clock_system()) + PATIENCE_NS;
    while (stores_look(stores, 0).is_away != is_away &&
           clock_monotonic(clock_system()) < deadline) {
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL);
    }
    assert_int_equal(stores_look(stores, 0).is_away, is_away);
}

TEST(a_store_that_fails_is_away_until_it_answers)
{
    static const char *const one[] = {"main", NULL};
    _Atomic bool is_failing = true;
    int server = 0; /* Nothing of it is used here. */
    struct stores *stores = NULL;
    struct store *inner = store_memory_new(NULL);
    struct store_fault_plan plan = {decide, &is_failing};
    struct store *store = store_fault_new(inner, &plan);
    (void)state;
    assert_int_equal(stores_new(one, NULL, NULL, &stores, NULL), 0);
    assert_true(stores_look(stores, 0).is_away);
    assert_int_equal(stores_join(stores, "main", (struct server *)(void *)&server, store, NULL), 0);
    uint64_t version = stores_version(stores);
    await_away(stores, true);
    assert_true(stores_version(stores) > version);
    atomic_store(&is_failing, false);
    await_away(stores, false);
    stores_free(stores);
    store_close(store);
    store_close(inner);
}

TEST(names_of_stores_are_plain)
{
    (void)state;
    assert_true(store_name_is_valid("a"));
    assert_true(store_name_is_valid("team-7"));
    assert_true(store_name_is_valid("abcdefghijklmnopqrstuvwxyzabcde"));
    static const char *const wrong[] = {"",    "7a",  "-a",  "A",
                                        "a b", "a,b", "a:b", "a=b",
                                        "a/b", "ä",   "a.b", "abcdefghijklmnopqrstuvwxyzabcdef"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(store_name_is_valid(wrong[i]));
    }
}
