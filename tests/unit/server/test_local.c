// SPDX-License-Identifier: Apache-2.0
/*
 * The right of this user's own programs, which need no token: what they must not look like, so that
 * nobody enjoys it through a program that passes on what others want.
 */
#include "api_world.h"

#include "server/auth/access.h"

static const char *const outside[] = {"rondo.example", NULL};

/** How often the server had something to say. */
static _Atomic int lines;
static char last_line[512];
static char last_audit[512];

static void keep_line(void *context, const char *line)
{
    (void)context;
    snprintf(last_line, sizeof(last_line), "%s", line);
    atomic_fetch_add(&lines, 1);
}

static void keep_audit(void *context, const char *line)
{
    (void)context;
    snprintf(last_audit, sizeof(last_audit), "%s", line);
}

static int setup(void **state)
{
    struct server_options wanted = {.log = keep_line, .audit = keep_audit};
    return world_setup_with(state, &wanted);
}

static int setup_outside(void **state)
{
    struct server_options wanted = {.hosts = outside};
    return world_setup_with(state, &wanted);
}

TEST_WITH(a_program_of_this_user_administers_without_a_token, setup, world_teardown)
{
    struct api_reply answer;
    ask(*state, "GET", "/v1/me", "", "", "", &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(json_get_string(answer.json, "scope", ""), "administer");
    assert_true(json_get_bool(answer.json, "is_local", false));
    answer_fini(&answer);
    expect(*state, "GET", "/v1/me", "", "Host: localhost\r\n", "", 200);
    expect(*state, "GET", "/v1/me", "", "Host: [::1]:7466\r\n", "", 200);
    expect(*state, "GET", "/v1/me", "", "Host: 127.8.9.1\r\n", "", 200);
}

TEST_WITH(what_a_proxy_passes_on_needs_a_token, setup, world_teardown)
{
    static const char *const headers[] = {
        "Forwarded: for=192.0.2.60\r\n",
        "Via: 1.1 proxy\r\n",
        "X-Forwarded-For: 127.0.0.1\r\n",
        "Host: localhost\r\nx-forwarded-host: rondo.example\r\n",
        "X-Forwarded-Proto: https\r\n",
        "X-Forwarded-Server: a\r\n",
        "X-Forwarded-Port: 443\r\n",
        "X-Real-IP:\r\n",
        "X-Client-IP: 127.0.0.1\r\n",
        "Host: localhost\r\nX-Original-Host: a\r\n",
        "True-Client-IP: 127.0.0.1\r\n",
        "CF-Connecting-IP: 127.0.0.1\r\n",
        "CDN-Loop: a\r\n",
        "X-Envoy-External-Address: 127.0.0.1\r\n",
        "X-Forwarded-Scheme: http\r\n",
        "x-forwarded-for-original: 127.0.0.1\r\n",
        "X-Cluster-Client-IP: 127.0.0.1\r\n",
        "Fastly-Client-IP: 127.0.0.1\r\n",
        "X-Amzn-Trace-Id: Root=1\r\n",
        "Tailscale-User-Login: a\r\n",
        "Fly-Client-IP: 127.0.0.1\r\n",
        "Forwarded-For: 127.0.0.1\r\n",
        "User-Agent: rondo/1.0\r\n",
    };
    struct api_world *world = *state;
    for (size_t i = 0; i < COUNT(headers); i++) {
        expect_problem(world, "GET", "/v1/me", "", headers[i], "", "unauthorized");
        expect(world, "GET", "/v1/me", world->read, headers[i], "", 200);
    }
    assert_int_equal(lines, 1); /* that there is a proxy is worth one line, not one a request */
    assert_non_null(strstr(last_line, "Forwarded"));
}

TEST_WITH(a_name_that_others_could_mean_needs_a_token, setup, world_teardown)
{
    char machine[256] = "";
    char header[300];
    struct api_world *world = *state;
    expect_problem(world, "GET", "/v1/me", "", "Host: 192.0.2.7:7466\r\n", "", "unauthorized");
    expect_problem(world, "GET", "/v1/me", "", "Host: 0.0.0.0\r\n", "", "unauthorized");
    expect_problem(world, "GET", "/v1/me", "", "Host: [fd00::1]\r\n", "", "unauthorized");
    expect(world, "GET", "/v1/me", world->read, "Host: 192.0.2.7:7466\r\n", "", 200);
    assert_int_equal(gethostname(machine, sizeof(machine) - 1), 0);
    if (!access_is_host_name(machine) || strcasecmp(machine, "localhost") == 0) {
        return; /* a machine without a name of its own */
    }
    snprintf(header, sizeof(header), "Host: %s\r\n", machine);
    expect_problem(world, "GET", "/v1/me", "", header, "", "unauthorized");
    expect(world, "GET", "/v1/me", world->read, header, "", 200);
}

TEST_WITH(what_changes_something_is_in_the_audit, setup, world_teardown)
{
    static const char sink[] = "{\"kind\":\"webhook\",\"url\":\"https://ops.example\"}";
    struct api_world *world = *state;
    expect(world, "GET", "/v1/me", world->administer, "", "", 200);
    expect(world, "PUT", "/v1/sinks/ops", world->read, "", sink, 403);
    expect(world, "PUT", "/v1/sinks/ops", world->administer, "", "{}", 422);
    assert_string_equal(last_audit, "");
    expect(world, "PUT", "/v1/sinks/ops", world->administer, "", sink, 201);
    assert_non_null(strstr(last_audit, "audit: token administer (api) from 127.0.0.1:"));
    assert_non_null(strstr(last_audit, ": PUT /v1/sinks/ops -> 201"));
    expect(world, "DELETE", "/v1/sinks/ops", "", "", "", 204);
    assert_non_null(strstr(last_audit, "audit: local user "));
    assert_non_null(strstr(last_audit, ": DELETE /v1/sinks/ops -> 204"));
}

static int setup_slow(void **state)
{
    struct server_options wanted = {.requests_per_second = 40};
    return world_setup_with(state, &wanted);
}

TEST_WITH(strangers_on_this_machine_do_not_use_up_the_rate_of_the_owner, setup_slow, world_teardown)
{
    struct api_world *world = *state;
    bool was_limited = false;
    for (int i = 0; i < 400 && !was_limited; i++) {
        struct api_reply answer; /* public: anybody may ask, other users too */
        ask(world, "GET", "/healthz", "", "", "", &answer);
        was_limited = answer.status == 429;
        answer_fini(&answer);
    }
    assert_true(was_limited);
    expect(world, "GET", "/v1/me", "", "", "", 200);
}

TEST_WITH(a_client_of_http_1_0_needs_a_token, setup, world_teardown)
{
    struct api_world *world = *state;
    auto_buf struct buf request = {0};
    auto_buf struct buf answer = {0};
    buf_printf(&request, "GET /v1/me HTTP/1.0\r\nHost: %s\r\n\r\n", world->address);
    assert_int_equal(http_raw_ask(world->address, buf_string(&request), &answer), 401);
    buf_clear(&request);
    buf_clear(&answer);
    buf_printf(&request, "GET /v1/me HTTP/1.0\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n",
               world->address, world->read);
    assert_int_equal(http_raw_ask(world->address, buf_string(&request), &answer), 200);
}

TEST_WITH(with_a_name_of_outside_everybody_needs_a_token, setup_outside, world_teardown)
{
    struct api_world *world = *state;
    expect_problem(world, "GET", "/v1/me", "", "", "", "unauthorized");
    expect_problem(world, "GET", "/v1/me", "", "Host: rondo.example\r\n", "", "unauthorized");
    expect(world, "GET", "/v1/me", world->read, "Host: rondo.example\r\n", "", 200);
    expect(world, "GET", "/v1/me", world->read, "", "", 200);
    expect(world, "GET", "/healthz", "", "", "", 200);
}

TEST_WITH(a_name_that_can_never_match_is_refused, setup, world_teardown)
{
    static const char *const hosts[] = {"rondo.example", "https://rondo.example", NULL};
    struct api_world *world = *state;
    struct server_options options = {
        .runtime = world->runtime, .orchestrator = world->orchestrator, .hosts = hosts};
    struct server *server = NULL;
    struct rondo_error err = {0};
    assert_int_equal(server_start(&options, &server, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "https://rondo.example"));
}
