// SPDX-License-Identifier: Apache-2.0
/* The API over loopback: access, refusals, and what runs look like. */
#include "api_world.h"
#include "server/answer/assets.h"
#include "server/router.h"

#include <pthread.h>

/** Time that a run may take. */
#define PATIENCE_NS HTTP_RAW_PATIENCE_NS

#define START                                                                        \
    "{\"command\":[\"true\"],\"agent_id\":\"fixer\",\"sandbox\":\"none\","           \
    "\"max_iterations\":2,\"prompt\":\"hello\",\"conditions\":[{\"name\":\"tests\"," \
    "\"command\":\"false\"}],\"verifier_sandbox\":\"none\"}"

/** Start a run. @param ret_id ID_SIZE bytes */
static void start_run(struct api_world *world, const char *body, char *ret_id)
{
    struct api_reply answer;
    ask(world, "POST", "/v1/runs", world->administer, "", body, &answer);
    if (answer.status != 201) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(answer.status, 201);
    snprintf(ret_id, ID_SIZE, "%s", json_get_string(answer.json, "run_id", ""));
    answer_fini(&answer);
}

static void await_end(struct api_world *world, const char *id)
{
    int64_t deadline = clock_monotonic(clock_system()) + PATIENCE_NS;
    struct store_run run;
    do {
        assert_int_equal(world->store->ops->get_run(world->store, id, &run, NULL), 0);
        clock_sleep(clock_system(), 5 * NS_PER_MS, NULL);
    } while ((run.summary.status == RONDO_RUNNING || run.owner[0] != '\0') &&
             clock_monotonic(clock_system()) < deadline);
    assert_int_equal(run.summary.status, RONDO_MAX_ITERATIONS);
}

/** Start a run and wait until it has ended. @param ret_id ID_SIZE bytes */
static void run_once(struct api_world *world, char *ret_id)
{
    start_run(world, START, ret_id);
    await_end(world, ret_id);
}

/** The path of a route with values that nothing has. */
static void fill_path(const char *pattern, struct buf *out)
{
    while (*pattern != '\0') {
        size_t len = strcspn(pattern, "{");
        buf_append(out, pattern, len);
        pattern += len;
        if (*pattern == '{') {
            bool is_number = strncmp(pattern, "{number}", 8) == 0;
            buf_append_string(out, is_number ? "1" : "01900000-0000-7000-8000-000000000000");
            pattern += strcspn(pattern, "}") + 1;
        }
    }
}

TEST(every_route_wants_a_token_that_is_strong_enough)
{
    struct api_world *world = *state;
    for (const struct route *route = routes; route->operation != NULL; route++) {
        auto_buf struct buf path = {0};
        fill_path(route->pattern, &path);
        const char *at = buf_string(&path);
        if (route->is_public) {
            continue;
        }
        expect_problem(world, route->method, at, "", "", "", "unauthorized");
        expect_problem(world, route->method, at, "rondo_wrong", "", "", "unauthorized");
        const struct {
            const char *token;
            enum token_scope scope;
            bool is_limited; /* to agents */
        } callers[] = {{world->read, TOKEN_READ, false},
                       {world->operate, TOKEN_OPERATE, true},
                       {world->administer, TOKEN_ADMINISTER, false},
                       {world->decide, TOKEN_DECIDE, false},
                       {world->agent, TOKEN_AGENT, true}};
        for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
            if ((token_scope_rights(callers[i].scope) & route->right) == 0 ||
                (callers[i].is_limited && route->needs_all_agents)) {
                expect_problem(world, route->method, at, callers[i].token, "", "", "forbidden");
            }
        }
    }
}

TEST(an_answer_without_a_token_says_which_scheme)
{
    struct api_reply answer;
    ask(*state, "GET", "/v1/runs", "", "", "", &answer);
    assert_non_null(strstr(buf_string(&answer.all), "WWW-Authenticate: Bearer"));
    assert_non_null(strstr(buf_string(&answer.all), "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(buf_string(&answer.all), "frame-ancestors 'none'"));
    assert_non_null(strstr(buf_string(&answer.all), "Cache-Control: no-store"));
    answer_fini(&answer);
}

TEST(a_foreign_name_or_page_is_refused)
{
    struct api_world *world = *state;
    const char *token = world->administer;
    expect_problem(world, "GET", "/v1/runs", token, "Host: evil.example\r\n", "", "bad_host");
    expect_problem(world, "GET", "/healthz", "", "Host: evil.example:80\r\n", "", "bad_host");
    expect(world, "GET", "/v1/runs", token, "Host: localhost:1\r\n", "", 200);
    expect(world, "GET", "/v1/runs", token, "Host: [::1]:7466\r\n", "", 200);
    expect_problem(world, "GET", "/v1/runs", token, "Origin: http://evil.example\r\n", "",
                   "bad_origin");
    expect_problem(world, "GET", "/v1/runs", token, "Origin: null\r\n", "", "bad_origin");
    expect_problem(world, "GET", "/v1/runs", token, "Sec-Fetch-Site: cross-site\r\n", "",
                   "bad_origin");
    expect(world, "GET", "/v1/runs", token, "Sec-Fetch-Site: same-origin\r\n", "", 200);
    auto_buf struct buf same = {0};
    buf_printf(&same, "Origin: http://%s\r\n", world->address);
    expect(world, "GET", "/v1/runs", token, buf_string(&same), "", 200);
}

TEST(paths_that_climb_lead_nowhere)
{
    struct api_world *world = *state;
    static const char *const paths[] = {
        "/../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/%2e%2e/x",
        "/v1/runs/..%2f..",
        "/v1/runs/%00aaaaaaaaaaaaa",
        "/v1/runs/%zz",
        "//v1/runs",
        "/v1/runs/",
        "/v1/runs/a/b/c/d/e",
        "/v1/../v1/runs/%2e%2e",
        "/v1/runs/aaaaaaaaaaaa%2fstop",
        "/v1/runs/last",
    };
    for (size_t i = 0; i < COUNT(paths); i++) {
        expect_problem(world, "GET", paths[i], world->read, "", "", "not_found");
    }
    struct api_reply answer;
    ask(world, "DELETE", "/v1/runs", world->administer, "", "", &answer);
    assert_int_equal(answer.status, 405);
    assert_non_null(strstr(buf_string(&answer.all), "Allow: GET, HEAD, POST"));
    answer_fini(&answer);
}

TEST(bodies_that_are_wrong_are_named)
{
    struct api_world *world = *state;
    const char *token = world->operate;
    expect_problem(world, "POST", "/v1/runs", token, "", "", "malformed");
    expect_problem(world, "POST", "/v1/runs", token, "", "[]", "malformed");
    expect_problem(world, "POST", "/v1/runs", token, "", "{\"command\":", "malformed");
    expect_problem(world, "POST", "/v1/runs", token, "",
                   "{\"command\":[\"true\"],\"command\":[\"rm\"]}", "malformed");
    expect_problem(world, "POST", "/v1/runs", token, "", "{\"command\":[\"a\"],\"x\":1}",
                   "invalid");
    expect_problem(world, "POST", "/v1/runs", token, "Content-Type: text/plain\r\n", START,
                   "unsupported_media_type");
    expect_problem(world, "POST", "/v1/runs", token, "",
                   "{\"command\":[\"true\"],\"agent_id\":\"stranger\"}", "forbidden");
    /* Without a sandbox: only with the scope administer. */
    expect_problem(world, "POST", "/v1/runs", token, "",
                   "{\"command\":[\"true\"],\"agent_id\":\"fixer\"}", "forbidden");
    expect_problem(world, "POST", "/v1/runs", token, "", START, "forbidden");
    expect_problem(world, "POST", "/v1/runs", token, "",
                   "{\"role_file\":\"/etc/shadow\",\"prompt\":\"x\"}", "forbidden");
    expect_problem(world, "GET", "/v1/runs?nonsense=1", token, "", "", "malformed");
    expect_problem(world, "GET", "/v1/runs?limit=1&limit=2", token, "", "", "malformed");
    expect_problem(world, "GET", "/v1/runs?limit=501", token, "", "", "malformed");
    expect(world, "GET", "/v1/runs?limit=500", token, "", "", 200);
    expect_problem(world, "GET", "/v1/runs?status=nothing", token, "", "", "malformed");
    expect_problem(world, "GET", "/v1/runs?cursor=00ff", token, "", "", "malformed");
    expect_problem(world, "POST", "/v1/runs", token, "Idempotency-Key: a b\r\n", START,
                   "malformed");
}

TEST(a_run_is_started_once_for_one_key)
{
    struct api_world *world = *state;
    struct api_reply first;
    struct api_reply again;
    ask(world, "POST", "/v1/runs", world->administer, "Idempotency-Key: k1\r\n", START, &first);
    assert_int_equal(first.status, 201);
    assert_non_null(strstr(buf_string(&first.all), "Location: /v1/runs/"));
    ask(world, "POST", "/v1/runs", world->administer, "Idempotency-Key: k1\r\n", START, &again);
    assert_int_equal(again.status, 201);
    assert_non_null(strstr(buf_string(&again.all), "Idempotency-Replayed: true"));
    assert_non_null(strstr(buf_string(&again.all), "Location: /v1/runs/"));
    assert_string_equal(json_get_string(first.json, "run_id", "1"),
                        json_get_string(again.json, "run_id", "2"));
    answer_fini(&first);
    answer_fini(&again);
    expect_problem(world, "POST", "/v1/runs", world->administer, "Idempotency-Key: k1\r\n",
                   "{\"command\":[\"false\"],\"agent_id\":\"fixer\"}", "idempotency_mismatch");
}

/** The record of the only key. */
struct key_record {
    char key[80];
    struct json_object *json;
};

static bool take_record(const struct store_document *document, void *context)
{
    struct key_record *record = context;
    snprintf(record->key, sizeof(record->key), "%s", document->key);
    json_parse(document->data, document->data_len, &record->json, NULL);
    return false;
}

/**
 * As if the server had died before it recorded the answer of the only key.
 * @param run_id that the request made; NULL = as it is
 */
static void lose_answer(struct api_world *world, const char *run_id)
{
    struct key_record record = {0};
    bool is_applied = false;
    struct store_document_query query = {.collection = "idempotency"};
    assert_int_equal(
        world->store->ops->read_documents(world->store, &query, take_record, &record, NULL), 0);
    json_object_object_del(record.json, "status");
    json_object_object_add(record.json, "instance", json_object_new_string("another"));
    if (run_id != NULL) {
        json_object_object_add(record.json, "run_id", json_object_new_string(run_id));
    }
    const char *text = json_object_to_json_string(record.json);
    struct store_change change = {STORE_PUT,    "idempotency",     record.key, text,
                                  strlen(text), STORE_ANY_VERSION, false};
    assert_int_equal(
        world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
    json_object_put(record.json);
}

static void start_again(struct api_world *world, const char *run_id, bool is_replayed)
{
    struct api_reply answer;
    ask(world, "POST", "/v1/runs", world->administer, "Idempotency-Key: k1\r\n", START, &answer);
    assert_int_equal(answer.status, 201);
    assert_string_equal(json_get_string(answer.json, "run_id", ""), run_id);
    assert_int_equal(strstr(buf_string(&answer.all), "Idempotency-Replayed") != NULL, is_replayed);
    answer_fini(&answer);
}

TEST(a_run_that_a_dead_server_made_for_a_key_is_found)
{
    static const char other[] = "018bcfe5-6800-7000-8000-000000000001";
    struct api_world *world = *state;
    struct api_reply first;
    ask(world, "POST", "/v1/runs", world->administer, "Idempotency-Key: k1\r\n", START, &first);
    assert_int_equal(first.status, 201);
    lose_answer(world, NULL);
    start_again(world, json_get_string(first.json, "run_id", ""), true);
    start_again(world, json_get_string(first.json, "run_id", ""), true);
    /* It died before there was a run: now there is one, once. */
    lose_answer(world, other);
    start_again(world, other, false);
    start_again(world, other, true);
    answer_fini(&first);
    struct api_reply list;
    ask(world, "GET", "/v1/runs", world->read, "", "", &list);
    struct json_object *counts = NULL;
    json_object_object_get_ex(list.json, "counts", &counts);
    assert_int_equal(json_get_int(counts, "total", 0), 2);
    answer_fini(&list);
}

/** A run of an agent whose conversation was trimmed twice, once by an older Rondo. */
static void create_trimmed_run(struct api_world *world, struct store_run *ret_run)
{
    static const char *const data[] = {"{\"iteration\":1,\"value\":40,\"messages\":47}",
                                       "{\"iteration\":2,\"value\":40,\"messages\":47,"
                                       "\"dropped\":9}"};
    struct store_event events[2];
    struct store_claim claim = {.owner = "pid=1", .lease_ns = NS_PER_S};
    struct store_claim_result result;
    *ret_run =
        (struct store_run){.id = "01900000-0000-7000-8000-00000000000d", .agent_id = "talker"};
    for (size_t i = 0; i < 2; i++) {
        events[i] = (struct store_event){
            .type = "history.trimmed", .data = data[i], .data_len = strlen(data[i])};
    }
    assert_int_equal(
        world->store->ops->create_run(world->store, ret_run, events, 2, &claim, &result, NULL), 0);
}

TEST(a_trimmed_conversation_says_how_many_messages_are_gone)
{
    struct api_world *world = *state;
    struct store_run run;
    struct api_reply answer;
    char path[160];
    create_trimmed_run(world, &run);
    snprintf(path, sizeof(path), "/v1/runs/%s/conversation", run.id);
    ask(world, "GET", path, world->read, "", "", &answer);
    assert_int_equal(answer.status, 200);
    assert_non_null(strstr(answer.body, "\"messages\":40,\"dropped\":7}"));
    assert_non_null(strstr(answer.body, "\"messages\":38,\"dropped\":9}"));
    answer_fini(&answer);
}

TEST(a_run_shows_everything_about_itself)
{
    static const char *const parts[] = {"",
                                        "/events",
                                        "/checkpoints",
                                        "/limits",
                                        "/conditions",
                                        "/conversation",
                                        "/checkpoints/latest",
                                        "/events?order=desc&limit=3"};
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[160];
    run_once(world, id);
    for (size_t i = 0; i < COUNT(parts); i++) {
        snprintf(path, sizeof(path), "/v1/runs/%s%s", id, parts[i]);
        struct api_reply answer;
        ask(world, "GET", path, world->read, "", "", &answer);
        if (answer.status != 200 || answer.json == NULL) {
            print_error("%s: %s\n", path, buf_string(&answer.all));
        }
        assert_int_equal(answer.status, 200);
        assert_non_null(answer.json);
        answer_fini(&answer);
        expect_problem(world, "GET", path, world->other, "", "", "not_found");
    }
    struct api_reply answer;
    snprintf(path, sizeof(path), "/v1/runs/%.13s", id);
    ask(world, "GET", path, world->read, "", "", &answer);
    assert_string_equal(json_get_string(answer.json, "status", ""), "max_iterations");
    assert_string_equal(json_get_string(answer.json, "kind", ""), "command");
    assert_string_equal(json_get_string(answer.json, "prompt", ""), "hello");
    assert_int_equal(json_get_int(answer.json, "iteration", 0), 2);
    answer_fini(&answer);
    snprintf(path, sizeof(path), "/v1/runs/%s/stop", id);
    expect_problem(world, "POST", path, world->operate, "", "", "conflict");
    expect_problem(world, "POST", path, world->other, "", "", "not_found");
    snprintf(path, sizeof(path), "/v1/runs/%s/limits", id);
    expect_problem(world, "POST", path, world->operate, "", "{\"max_cost\":-1}", "invalid");
    expect_problem(world, "POST", path, world->operate, "", "{}", "invalid");
}

/** All seqs that pages of a run's events show, one after the other. */
static size_t walk_events(struct api_world *world, const char *id, const char *order, int64_t *seqs)
{
    int64_t next = -1;
    size_t count = 0;
    bool is_down = strcmp(order, "desc") == 0;
    do {
        char path[200];
        char place[48] = "";
        if (next >= 0) {
            snprintf(place, sizeof(place), "&%s=%lld", is_down ? "before" : "after",
                     (long long)next);
        }
        snprintf(path, sizeof(path), "/v1/runs/%s/events?limit=4&order=%s%s", id, order, place);
        struct api_reply answer;
        struct json_object *events = NULL;
        ask(world, "GET", path, world->read, "", "", &answer);
        assert_int_equal(answer.status, 200);
        assert_true(json_object_object_get_ex(answer.json, "events", &events));
        for (size_t i = 0; i < json_object_array_length(events); i++) {
            seqs[count++] = json_get_int(json_object_array_get_idx(events, i), "seq", 0);
        }
        next = json_get_int(answer.json, "next", -1);
        answer_fini(&answer);
    } while (next >= 0);
    return count;
}

TEST(pages_of_events_have_each_event_once)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    int64_t up[200];
    int64_t down[200];
    run_once(world, id);
    size_t count = walk_events(world, id, "asc", up);
    assert_int_equal(walk_events(world, id, "desc", down), count);
    assert_true(count > 8);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(up[i], (int64_t)i + 1);
        assert_int_equal(down[i], (int64_t)(count - i));
    }
}

TEST(pages_of_runs_have_each_run_once)
{
    static const char *const sorts[] = {"created", "updated", "agent", "status", "tokens", "cost"};
    struct api_world *world = *state;
    char id[ID_SIZE];
    for (int i = 0; i < 5; i++) {
        run_once(world, id);
    }
    for (size_t s = 0; s < COUNT(sorts); s++) {
        char seen[64][ID_SIZE];
        size_t count = 0;
        auto_buf struct buf cursor = {0};
        do {
            auto_buf struct buf path = {0};
            buf_printf(&path, "/v1/runs?limit=2&sort=%s%s%s", sorts[s],
                       cursor.len > 0 ? "&cursor=" : "", buf_string(&cursor));
            struct api_reply answer;
            struct json_object *runs = NULL;
            ask(world, "GET", buf_string(&path), world->read, "", "", &answer);
            assert_int_equal(answer.status, 200);
            json_object_object_get_ex(answer.json, "runs", &runs);
            for (size_t i = 0; i < json_object_array_length(runs); i++) {
                snprintf(seen[count++], ID_SIZE, "%s",
                         json_get_string(json_object_array_get_idx(runs, i), "run_id", ""));
                for (size_t j = 0; j + 1 < count; j++) {
                    assert_string_not_equal(seen[j], seen[count - 1]);
                }
            }
            buf_clear(&cursor);
            buf_append_string(&cursor, json_get_string(answer.json, "next_cursor", ""));
            answer_fini(&answer);
        } while (cursor.len > 0);
        assert_true(count >= 5);
    }
    struct api_reply answer;
    ask(world, "GET", "/v1/runs", world->other, "", "", &answer);
    assert_non_null(strstr(answer.body, "\"runs\":[]"));
    assert_non_null(strstr(answer.body, "\"total\":0"));
    answer_fini(&answer);
}

TEST(policies_are_checked_put_in_force_and_explained)
{
    struct api_world *world = *state;
    struct api_reply answer;
    const char *token = world->administer;
    expect(world, "POST", "/v1/policies/check", token, "", "{\"text\":\"nonsense\"}", 200);
    expect_problem(world, "PUT", "/v1/policies", token, "", "{\"text\":\"nonsense\"}", "invalid");
    ask(world, "PUT", "/v1/policies", token, "",
        "{\"text\":\"permit (principal, action, resource);\"}", &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(json_get_string(answer.json, "by", ""), "token administer (api)");
    auto_buf struct buf match = {0};
    buf_printf(&match, "If-Match: \"%s\"\r\n", json_get_string(answer.json, "sha256", ""));
    answer_fini(&answer);
    const char *next =
        "{\"text\":\"permit (principal, action, resource);\\n@id(\\\"five\\\") forbid (principal, "
        "action == Action::\\\"iterate\\\", resource) when { context.iteration >= 5 };\"}";
    expect(world, "PUT", "/v1/policies", token, buf_string(&match), next, 200);
    expect_problem(world, "PUT", "/v1/policies", token, buf_string(&match), next, "conflict");
    ask(world, "GET", "/v1/policies", token, "", "", &answer);
    struct json_object *limits = NULL;
    json_object_object_get_ex(answer.json, "limits", &limits);
    assert_int_equal(json_get_int(limits, "iterations", 0), 5);
    answer_fini(&answer);
    ask(world, "POST", "/v1/policies/explain", token, "",
        "{\"agent_id\":\"fixer\",\"action\":\"iterate\",\"context\":{\"iteration\":5}}", &answer);
    assert_string_equal(json_get_string(answer.json, "verdict", ""), "deny");
    answer_fini(&answer);
    expect(world, "GET", "/v1/policies/history?limit=1", token, "", "", 200);
    expect(world, "GET", "/v1/policies/history/1", token, "", "", 200);
    expect_problem(world, "GET", "/v1/policies/history/99", token, "", "", "not_found");
}

TEST(the_service_tells_how_it_is)
{
    struct api_world *world = *state;
    expect(world, "GET", "/healthz", "", "", "", 200);
    expect(world, "GET", "/readyz", "", "", "", 200);
    expect(world, "GET", "/ping", "", "", "", 200);
    expect(world, "GET", "/v1/openapi.json", "", "", "", 200);
    expect(world, "GET", "/v1/me", world->other, "", "", 200);
    expect(world, "GET", "/v1/health", world->read, "", "", 200);
    expect(world, "GET", "/metrics", world->read, "", "", 200);
    expect(world, "GET", "/v1/warnings", world->read, "", "", 200);
    expect(world, "GET", "/v1/sinks", world->administer, "", "", 200);
    expect(world, "GET", "/v1/deliveries?dead=true", world->administer, "", "", 200);
    expect(world, "GET", "/v1/events?after=0", world->read, "", "", 200);
    struct api_reply answer;
    ask(world, "GET", "/v1/tokens", world->administer, "", "", &answer);
    assert_non_null(strstr(answer.body, "\"name\":\"operate\""));
    assert_null(strstr(answer.body, "rondo_"));
    answer_fini(&answer);
}

TEST(a_sink_keeps_its_secret)
{
    struct api_world *world = *state;
    struct api_reply answer;
    const char *token = world->administer;
    ask(world, "PUT", "/v1/sinks/ops", token, "",
        "{\"kind\":\"webhook\",\"url\":\"https://hooks.example.com/secret-path\"}", &answer);
    if (answer.status != 201) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(answer.status, 201);
    assert_non_null(strstr(answer.body, "whsec_"));
    answer_fini(&answer);
    ask(world, "GET", "/v1/sinks", token, "", "", &answer);
    assert_null(strstr(answer.body, "whsec_"));
    assert_null(strstr(answer.body, "secret-path"));
    answer_fini(&answer);
    expect(world, "DELETE", "/v1/sinks/ops", token, "", "", 204);
    expect_problem(world, "DELETE", "/v1/sinks/ops", token, "", "", "not_found");
}

/** Send a request for a stream and wait for a text in it. */
static void expect_stream(struct api_world *world, const char *path, const char *headers,
                          const char *text, const char *absent)
{
    auto_buf struct buf request = {0};
    auto_buf struct buf bytes = {0};
    int fd = http_raw_connect(world->address);
    assert_true(fd >= 0);
    buf_printf(&request,
               "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
               "Accept: text/event-stream\r\n%s\r\n",
               path, world->address, world->operate, headers);
    assert_true(http_raw_send_text(fd, buf_string(&request)));
    assert_true(http_raw_read_until(fd, &bytes, text, PATIENCE_NS));
    assert_non_null(strstr(buf_string(&bytes), "Content-Type: text/event-stream"));
    assert_non_null(strstr(buf_string(&bytes), "X-Content-Type-Options: nosniff"));
    assert_null(strstr(buf_string(&bytes), absent));
    close(fd);
}

TEST(a_stream_begins_where_the_client_was)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[96];
    run_once(world, id);
    snprintf(path, sizeof(path), "/v1/runs/%s/events", id);
    expect_stream(world, path, "", "event: run.finished", "no such text");
    expect_stream(world, path, "Last-Event-ID: 2\r\n", "event: run.finished", "id: 2\nevent: ");
    expect_stream(world, "/v1/events?after=0&types=run.created", "", id, "event: run.finished");
    expect_problem(world, "GET", path, world->operate,
                   "Accept: text/event-stream\r\nLast-Event-ID: x\r\n", "", "malformed");
    expect_problem(world, "GET", path, world->other, "Accept: text/event-stream\r\n", "",
                   "not_found");
    expect_problem(world, "GET", "/v1/stream", world->read, "", "", "malformed");
}

TEST(an_asset_is_not_sent_twice)
{
    struct api_world *world = *state;
    struct api_reply answer;
    if (asset_count() == 0) {
        skip();
    }
    ask(world, "GET", "/", "", "", "", &answer);
    assert_int_equal(answer.status, 200);
    const char *etag = strstr(buf_string(&answer.all), "ETag: ");
    assert_non_null(etag);
    auto_buf struct buf known = {0};
    buf_printf(&known, "If-None-Match: %.*s\r\n", (int)strcspn(etag + 6, "\r"), etag + 6);
    expect(world, "GET", "/", "", buf_string(&known), "", 304);
    answer_fini(&answer);
    ask(world, "GET", "/", "", "Accept-Encoding: br, gzip;q=0.5\r\n", "", &answer);
    assert_non_null(strstr(buf_string(&answer.all), "Content-Encoding: gzip"));
    assert_non_null(strstr(buf_string(&answer.all), "-gzip\"\r\n"));
    answer_fini(&answer);
    buf_append_string(&known, "Accept-Encoding: gzip\r\n"); /* the other form is not known */
    expect(world, "GET", "/", "", buf_string(&known), "", 200);
    ask(world, "GET", "/", "", "Accept-Encoding: gzip;q=0\r\n", "", &answer);
    assert_null(strstr(buf_string(&answer.all), "Content-Encoding"));
    answer_fini(&answer);
}

static void touch(const struct api_world *world, const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", world->folder, name);
    assert_int_equal(file_replace_durably(path, "", 0, NULL), 0);
}

static void await_file(const struct api_world *world, const char *name)
{
    char path[160];
    int64_t deadline = clock_monotonic(clock_system()) + PATIENCE_NS;
    snprintf(path, sizeof(path), "%s/%s", world->folder, name);
    while (access(path, F_OK) < 0) {
        assert_true(clock_monotonic(clock_system()) < deadline);
        clock_sleep(clock_system(), 5 * NS_PER_MS, NULL);
    }
}

TEST(what_is_continued_just_after_a_pause_continues)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[160];
    auto_buf struct buf body = {0};
    buf_printf(&body,
               "{\"command\":[\"sh\",\"-c\",\"cd %s; touch began; until test -e go; do sleep 0.01; "
               "done\"],\"agent_id\":\"fixer\",\"sandbox\":\"none\",\"max_iterations\":2}",
               world->folder);
    start_run(world, body.data, id);
    await_file(world, "began"); /* nothing is heeded before the iteration has ended */
    snprintf(path, sizeof(path), "/v1/runs/%s/pause", id);
    expect(world, "POST", path, world->administer, "", "{}", 202);
    snprintf(path, sizeof(path), "/v1/runs/%s/continue", id);
    expect(world, "POST", path, world->administer, "", "{}", 202);
    touch(world, "go");
    await_end(world, id);
}

TEST(what_ran_without_a_sandbox_is_gone_on_with_by_who_administers)
{
    static const char *const ways[] = {"/resume", "/continue", "/checkpoints/1/fork"};
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[160];
    run_once(world, id);
    for (size_t i = 0; i < COUNT(ways); i++) {
        snprintf(path, sizeof(path), "/v1/runs/%s%s", id, ways[i]);
        expect_problem(world, "POST", path, world->operate, "", "{}", "forbidden");
    }
    snprintf(path, sizeof(path), "/v1/runs/%s/checkpoints/1/fork", id);
    expect(world, "POST", path, world->administer, "", "{\"start\":false}", 201);
}

TEST(the_head_of_a_stream_has_no_body)
{
    struct api_world *world = *state;
    static const char *const paths[] = {"/v1/stream", "/v1/events"};
    for (size_t i = 0; i < 2; i++) {
        struct api_reply answer;
        ask(world, "HEAD", paths[i], world->read, "Accept: text/event-stream\r\n", "", &answer);
        assert_int_equal(answer.status, 200);
        assert_non_null(strstr(buf_string(&answer.all), "Content-Type: text/event-stream"));
        assert_string_equal(answer.body, "");
        answer_fini(&answer);
    }
    expect(world, "HEAD", "/v1/stream", world->read, "", "", 400);
}

/** One of several clients that send the same request at once. */
struct twin {
    struct api_world *world;
    int status;
    char id[ID_SIZE];
    char body[256];
};

static void *start_with_one_key(void *context)
{
    struct twin *twin = context;
    struct api_reply answer;
    ask(twin->world, "POST", "/v1/runs", twin->world->administer, "Idempotency-Key: twins\r\n",
        START, &answer);
    twin->status = answer.status;
    snprintf(twin->id, sizeof(twin->id), "%s", json_get_string(answer.json, "run_id", ""));
    snprintf(twin->body, sizeof(twin->body), "%s", answer.body);
    answer_fini(&answer);
    return NULL;
}

TEST(the_same_request_at_once_starts_one_run)
{
    struct twin twins[6];
    pthread_t threads[6];
    const char *id = "";
    for (size_t i = 0; i < 6; i++) {
        twins[i] = (struct twin){.world = *state};
        assert_int_equal(pthread_create(&threads[i], NULL, start_with_one_key, &twins[i]), 0);
    }
    for (size_t i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < 6; i++) {
        if (twins[i].status != 201 && twins[i].status != 409) {
            fail_msg("request %zu is answered with %d: %s", i, twins[i].status, twins[i].body);
        }
        if (twins[i].status == 201) {
            assert_true(id[0] == '\0' || strcmp(id, twins[i].id) == 0);
            id = twins[i].id;
        }
    }
    assert_string_not_equal(id, "");
}

int main(void)
{
    return test_run(world_setup, world_teardown);
}
