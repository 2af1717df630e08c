// SPDX-License-Identifier: Apache-2.0
/* The exporter against collectors that take, refuse, hesitate, stall and are not there. */
#include "../../support/http_peer.h"
#include "loop/owner.h"
#include "telemetry/exporter_record.h"
#include "telemetry/telemetry.h"
#include "world.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#define CREATED                                                 \
    {                                                           \
        0, "run.created", "{\"format\":1,\"agent_id\":\"bob\"}" \
    }
#define CLAIMED                                             \
    {                                                       \
        0, "run.claimed", "{\"epoch\":1,\"how\":\"start\"}" \
    }
#define STARTED                                                               \
    {                                                                         \
        1, "iteration.started", "{\"iteration\":1,\"attempt\":1,\"limit\":4}" \
    }
#define BODY                                                                              \
    {                                                                                     \
        2, "iteration.finished", "{\"iteration\":1,\"outcome\":\"ok\",\"duration_ns\":1}" \
    }
#define ENDED                                                           \
    {                                                                   \
        3, "run.finished", "{\"status\":\"completed\",\"iteration\":1}" \
    }

/** Two spans: an iteration and an execution. */
static const struct told short_run[] = {CREATED, CLAIMED, STARTED, BODY, ENDED};
#define SPANS       2
#define SHORT_QUEUE 4 /* of events: fewer than a run has */

struct export_world {
    struct telemetry_world *world;
    struct http_peer *peer;
    struct telemetry *telemetry;
    char variables[8][256];
    const char *envp[9];
    size_t variable_count;
    char said[1024];
    pthread_mutex_t lock;
};

static void set(struct export_world *export, const char *name, const char *value)
{
    snprintf(export->variables[export->variable_count], 256, "%s=%s", name, value);
    export->envp[export->variable_count] = export->variables[export->variable_count];
    export->variable_count++;
}

static int make_export(void **state)
{
    struct export_world *export = memory_new_zero(1, sizeof(*export));
    void *world = NULL;
    make_world(&world);
    export->world = world;
    export->peer = http_peer_new();
    pthread_mutex_init(&export->lock, NULL);
    set(export, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", http_peer_url(export->peer, "/v1/traces"));
    set(export, "OTEL_BSP_SCHEDULE_DELAY", "0");
    *state = export;
    return 0;
}

static int end_export(void **state)
{
    struct export_world *export = *state;
    telemetry_stop(export->telemetry, 0);
    void *world = export->world;
    http_peer_free(export->peer);
    end_world(&world);
    pthread_mutex_destroy(&export->lock);
    free(export);
    return 0;
}

#define EXPORT_TEST(name) TEST_WITH(name, make_export, end_export)

static void hear(void *context, const char *line)
{
    struct export_world *export = context;
    pthread_mutex_lock(&export->lock);
    size_t len = strlen(export->said);
    snprintf(export->said + len, sizeof(export->said) - len, "%s\n", line);
    pthread_mutex_unlock(&export->lock);
}

static void start(struct export_world *export, const char *run_id)
{
    struct telemetry_options options = {
        .writer = export->world->writer,
        .run_id = run_id,
        .envp = export->envp,
        .log = hear,
        .log_context = export,
    };
    struct rondo_error err = {0};
    if (telemetry_start(&options, &export->telemetry, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static void stop(struct export_world *export, int64_t flush_ns)
{
    telemetry_stop(export->telemetry, flush_ns);
    export->telemetry = NULL;
}

/** Wait for a state. */
static struct telemetry_state wait_for(struct export_world *export,
                                       bool (*is_it)(const struct telemetry_state *state))
{
    struct telemetry_state state = {0};
    for (int i = 0; i < 3000; i++) {
        state = telemetry_state(export->telemetry);
        if (is_it(&state)) {
            return state;
        }
        usleep(10000); /* there is nothing to wait on; the deadline is 30 s */
    }
    fail_msg("sent %llu rejected %llu dropped %llu: %s", (unsigned long long)state.sent,
             (unsigned long long)state.rejected, (unsigned long long)state.dropped, state.problem);
    return state;
}

static bool has_sent_all(const struct telemetry_state *state)
{
    return state->sent >= SPANS;
}

static bool has_dropped(const struct telemetry_state *state)
{
    return state->dropped >= SPANS;
}

/** The spans that were waiting are dropped first, then the events that wait are skipped. */
static bool has_caught_up(const struct telemetry_state *state)
{
    return has_dropped(state) && state->behind <= SHORT_QUEUE;
}

static bool has_rejected(const struct telemetry_state *state)
{
    return state->rejected >= 1;
}

static bool is_failing(const struct telemetry_state *state)
{
    return state->is_failing;
}

static void tell_run(struct export_world *export, const char *run_id)
{
    tell_events(export->world, run_id, short_run, COUNT(short_run));
}

EXPORT_TEST(without_variables_nothing_starts)
{
    struct export_world *export = *state;
    export->envp[0] = NULL;
    start(export, NULL);
    assert_null(export->telemetry);
    assert_false(telemetry_is_wanted(export->envp));
}

EXPORT_TEST(a_run_of_its_own_is_sent_by_the_end)
{
    struct export_world *export = *state;
    http_peer_always(export->peer, 200, NULL, "{}");
    tell_run(export, RUN_A);
    start(export, RUN_A);
    stop(export, 30 * SECOND);
    assert_int_equal(http_peer_request_count(export->peer), 1);
    const struct peer_request *request = http_peer_request(export->peer, 0);
    assert_string_equal(request->path, "/v1/traces");
    assert_string_equal(http_peer_header(export->peer, request, "Content-Type"),
                        "application/json");
    auto_json struct json_object *root = NULL;
    assert_int_equal(json_parse(request->body, request->body_len, &root, NULL), 0);
    assert_non_null(strstr(request->body, "invoke_agent bob"));
    assert_int_equal(exporter_read_run(export->world->store, RUN_A), COUNT(short_run));
}

static void keep_line(void *context, const char *line, size_t len)
{
    buf_append(context, line, len);
}

EXPORT_TEST(for_the_console_spans_are_written_out_as_lines_and_sent_nowhere)
{
    struct export_world *export = *state;
    struct rondo_error err = {0};
    auto_buf struct buf lines = {0};
    set(export, "OTEL_TRACES_EXPORTER", "console");
    tell_run(export, RUN_A);
    struct telemetry_options options = {
        .writer = export->world->writer,
        .run_id = RUN_A,
        .envp = export->envp,
        .print = keep_line,
        .print_context = &lines,
    };
    assert_int_equal(telemetry_start(&options, &export->telemetry, &err), 0);
    stop(export, 30 * SECOND);
    assert_int_equal(http_peer_request_count(export->peer), 0);
    assert_int_equal(exporter_read_run(export->world->store, RUN_A), COUNT(short_run));
    assert_non_null(strstr(buf_string(&lines), "invoke_agent bob"));
    size_t count = 0;
    const char *line = buf_string(&lines);
    for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        auto_json struct json_object *root = NULL;
        assert_int_equal(json_parse(line, (size_t)(end - line), &root, NULL), 0);
        assert_non_null(json_member(root, "resourceSpans"));
        count++;
    }
    assert_true(count >= 1);
    assert_string_equal(line, "");
}

EXPORT_TEST(of_all_runs_what_was_there_before_the_first_start_is_left_out)
{
    struct export_world *export = *state;
    http_peer_always(export->peer, 200, NULL, "{}");
    tell_run(export, RUN_A);
    start(export, NULL);
    stop(export, 30 * SECOND);
    assert_int_equal(http_peer_request_count(export->peer), 0);
}

static void begin_cursor(struct export_world *export)
{
    assert_int_equal(exporter_write_cursor(export->world->store, 0, NULL), 0);
}

EXPORT_TEST(all_runs_continue_after_the_cursor)
{
    struct export_world *export = *state;
    http_peer_always(export->peer, 200, NULL, "{}");
    begin_cursor(export);
    tell_run(export, RUN_A);
    start(export, NULL);
    wait_for(export, has_sent_all);
    stop(export, 30 * SECOND);
    size_t before = http_peer_request_count(export->peer);
    tell_run(export, RUN_B);
    start(export, NULL);
    stop(export, 30 * SECOND);
    assert_true(http_peer_request_count(export->peer) > before);
    for (size_t i = before; i < http_peer_request_count(export->peer); i++) {
        assert_null(strstr(http_peer_request(export->peer, i)->body, RUN_A));
    }
}

EXPORT_TEST(a_collector_that_asks_for_patience_gets_it)
{
    struct export_world *export = *state;
    http_peer_reply(export->peer, 429, "Retry-After: 1\r\n", "");
    http_peer_reply(export->peer, 503, "Retry-After: 0\r\n", "");
    http_peer_always(export->peer, 200, NULL, "{}");
    begin_cursor(export);
    tell_run(export, RUN_A);
    start(export, NULL);
    struct telemetry_state last = wait_for(export, has_sent_all);
    assert_int_equal(last.dropped, 0);
    assert_true(http_peer_request_count(export->peer) >= 3);
    assert_string_equal(http_peer_request(export->peer, 0)->body,
                        http_peer_request(export->peer, 2)->body);
    stop(export, 30 * SECOND);
    assert_non_null(strstr(export->said, "429"));
    assert_non_null(strstr(export->said, "again"));
}

EXPORT_TEST(what_is_refused_is_never_sent_again)
{
    struct export_world *export = *state;
    http_peer_always(export->peer, 400, NULL, "{\"message\":\"no\"}");
    begin_cursor(export);
    tell_run(export, RUN_A);
    start(export, NULL);
    struct telemetry_state last = wait_for(export, has_dropped);
    assert_int_equal(last.sent, 0);
    stop(export, 30 * SECOND);
    assert_true(http_peer_request_count(export->peer) <= SPANS);
}

EXPORT_TEST(a_partial_success_is_counted_and_over)
{
    struct export_world *export = *state;
    set(export, "OTEL_BSP_SCHEDULE_DELAY", "300");
    http_peer_always(export->peer, 200, NULL,
                     "{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"no\"}}");
    begin_cursor(export);
    tell_run(export, RUN_A);
    start(export, NULL);
    struct telemetry_state last = wait_for(export, has_rejected);
    assert_int_equal(last.sent, SPANS - last.rejected);
    stop(export, 30 * SECOND);
    assert_int_equal(http_peer_request_count(export->peer), 1);
}

EXPORT_TEST(bodies_are_packed_when_asked_for)
{
    struct export_world *export = *state;
    set(export, "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip");
    set(export, "OTEL_EXPORTER_OTLP_HEADERS", "x-key=top%20secret");
    http_peer_always(export->peer, 200, NULL, "{}");
    tell_run(export, RUN_A);
    start(export, RUN_A);
    stop(export, 30 * SECOND);
    const struct peer_request *request = http_peer_request(export->peer, 0);
    assert_string_equal(http_peer_header(export->peer, request, "Content-Encoding"), "gzip");
    assert_string_equal(http_peer_header(export->peer, request, "x-key"), "top secret");
    z_stream stream = {.next_in = (Bytef *)request->body, .avail_in = (uInt)request->body_len};
    static char text[65536];
    stream.next_out = (Bytef *)text;
    stream.avail_out = sizeof(text) - 1;
    assert_int_equal(inflateInit2(&stream, 31), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    inflateEnd(&stream);
    assert_non_null(strstr(text, "resourceSpans"));
}

EXPORT_TEST(a_dead_collector_does_not_hold_the_end_up_and_nothing_is_lost)
{
    struct export_world *export = *state;
    http_peer_always(export->peer, 503, NULL, "");
    begin_cursor(export);
    tell_run(export, RUN_A);
    start(export, NULL);
    wait_for(export, is_failing);
    int64_t since_ns = clock_monotonic(clock_system());
    stop(export, SECOND / 10);
    assert_true(clock_monotonic(clock_system()) - since_ns < 20 * SECOND);
    uint64_t cursor = 99;
    assert_int_equal(exporter_read_cursor(export->world->store, &cursor, NULL), 0);
    assert_true(cursor < COUNT(short_run)); /* the next one sends them */
    http_peer_always(export->peer, 200, NULL, "{}");
    start(export, NULL);
    wait_for(export, has_sent_all);
}

EXPORT_TEST(a_stalling_collector_is_abandoned_at_the_end)
{
    struct export_world *export = *state;
    struct peer_reply reply = {.bytes = "HTTP/1.1 200 OK\r\n", .stalls = true, .stall_at = 4};
    http_peer_reply_raw(export->peer, &reply);
    begin_cursor(export);
    tell_run(export, RUN_A);
    start(export, NULL);
    http_peer_wait_stalled(export->peer, 1);
    int64_t since_ns = clock_monotonic(clock_system());
    stop(export, SECOND / 10);
    assert_true(clock_monotonic(clock_system()) - since_ns < 9 * SECOND);
}

/** Have the exporter talk to another port. */
static void aim_at(struct export_world *export, int port)
{
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1/traces", port);
    export->variable_count = 0;
    set(export, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url);
    set(export, "OTEL_BSP_SCHEDULE_DELAY", "0");
}

static int listen_somewhere(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void stop_without_waiting(struct export_world *export, const char *run_id)
{
    int64_t since_ns = clock_monotonic(clock_system());
    stop(export, 60 * SECOND);
    assert_true(clock_monotonic(clock_system()) - since_ns < 20 * SECOND);
    assert_int_equal(exporter_read_run(export->world->store, run_id), 0); /* nothing is lost */
}

EXPORT_TEST(a_collector_that_refuses_connections_is_given_up_at_once_at_the_end)
{
    struct export_world *export = *state;
    int port = 0;
    close(listen_somewhere(&port));
    aim_at(export, port);
    tell_run(export, RUN_A);
    start(export, RUN_A);
    stop_without_waiting(export, RUN_A);
}

EXPORT_TEST(a_collector_that_was_out_of_reach_is_tried_once_more_at_the_end)
{
    struct export_world *export = *state;
    int port = 0;
    close(listen_somewhere(&port));
    aim_at(export, port);
    tell_run(export, RUN_A);
    start(export, RUN_A);
    wait_for(export, is_failing);
    stop_without_waiting(export, RUN_A);
}

/** A full queue of connections: new clients get no answer. */
EXPORT_TEST(a_collector_that_is_a_black_hole_is_given_up_soon_at_the_end)
{
    struct export_world *export = *state;
    int port = 0;
    int hole = listen_somewhere(&port);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fds[8];
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (struct sockaddr *)&address, sizeof(address));
    }
    aim_at(export, port);
    tell_run(export, RUN_A);
    start(export, RUN_A);
    stop_without_waiting(export, RUN_A);
    for (size_t i = 0; i < COUNT(fds); i++) {
        close(fds[i]);
    }
    close(hole);
}

EXPORT_TEST(the_end_waits_no_longer_than_the_environment_says)
{
    struct export_world *export = *state;
    struct peer_reply reply = {.bytes = "HTTP/1.1 200 OK\r\n", .stalls = true, .stall_at = 4};
    set(export, "OTEL_BSP_EXPORT_TIMEOUT", "50");
    set(export, "OTEL_EXPORTER_OTLP_TIMEOUT", "600000");
    http_peer_reply_raw(export->peer, &reply);
    tell_run(export, RUN_A);
    start(export, RUN_A);
    stop_without_waiting(export, RUN_A);
}

EXPORT_TEST(too_far_behind_the_oldest_is_skipped_and_counted)
{
    struct export_world *export = *state;
    char size[8];
    snprintf(size, sizeof(size), "%d", SHORT_QUEUE);
    set(export, "OTEL_BSP_MAX_QUEUE_SIZE", size);
    http_peer_always(export->peer, 503, NULL, "");
    begin_cursor(export);
    tell_run(export, RUN_A);
    start(export, NULL);
    wait_for(export, is_failing);
    tell_run(export, RUN_B);
    wait_for(export, has_caught_up);
    stop(export, 0);
    assert_non_null(strstr(export->said, "skipped"));
}

EXPORT_TEST(a_server_that_lives_sends_for_all)
{
    struct export_world *export = *state;
    char owner[STORE_OWNER_SIZE];
    owner_new(random_system(), owner);
    struct store *store = export->world->store;
    assert_true(exporter_own(store, owner, clock_now(clock_system())));
    tell_run(export, RUN_A);
    start(export, RUN_A);
    assert_null(export->telemetry);
    exporter_disown(store, owner);
    start(export, RUN_A);
    assert_non_null(export->telemetry);
}

EXPORT_TEST(a_second_server_waits)
{
    struct export_world *export = *state;
    char owner[STORE_OWNER_SIZE];
    owner_new(random_system(), owner);
    struct store *store = export->world->store;
    assert_true(exporter_own(store, owner, clock_now(clock_system())));
    begin_cursor(export);
    tell_run(export, RUN_A);
    start(export, NULL);
    stop(export, 30 * SECOND);
    assert_int_equal(http_peer_request_count(export->peer), 0);
    assert_true(exporter_own(store, owner, clock_now(clock_system()) + EXPORTER_STALE_NS));
}

EXPORT_TEST(an_owner_that_was_not_seen_for_long_is_none)
{
    struct export_world *export = *state;
    struct store *store = export->world->store;
    assert_true(exporter_own(store, "host=elsewhere", 100));
    assert_true(exporter_is_owned(store, 100 + EXPORTER_STALE_NS - 1));
    assert_false(exporter_is_owned(store, 100 + EXPORTER_STALE_NS));
    assert_false(exporter_own(store, "me", 100 + EXPORTER_STALE_NS - 1));
    assert_true(exporter_own(store, "me", 100 + EXPORTER_STALE_NS));
}

EXPORT_TEST(what_a_process_has_sent_of_its_run_the_server_leaves_out)
{
    struct export_world *export = *state;
    http_peer_always(export->peer, 200, NULL, "{}");
    begin_cursor(export);
    tell_run(export, RUN_A);
    tell_run(export, RUN_B);
    exporter_write_run(export->world->store, RUN_A, COUNT(short_run));
    start(export, NULL);
    wait_for(export, has_sent_all);
    stop(export, 30 * SECOND);
    for (size_t i = 0; i < http_peer_request_count(export->peer); i++) {
        assert_null(strstr(http_peer_request(export->peer, i)->body, RUN_A));
    }
}

EXPORT_TEST(own_runs_that_are_remembered_are_bounded)
{
    struct export_world *export = *state;
    struct store *store = export->world->store;
    for (int i = 0; i < EXPORTER_MAX_OWN_RUNS + 2; i++) {
        char id[ID_SIZE];
        snprintf(id, sizeof(id), "01a1fe92-a7b8-78cc-b5bf-3be5f74b%04x", i);
        exporter_write_run(store, id, 5);
    }
    exporter_trim_runs(store);
    assert_int_equal(exporter_read_run(store, "01a1fe92-a7b8-78cc-b5bf-3be5f74b0000"), 0);
    assert_int_equal(exporter_read_run(store, "01a1fe92-a7b8-78cc-b5bf-3be5f74b0001"), 0);
    assert_int_equal(exporter_read_run(store, "01a1fe92-a7b8-78cc-b5bf-3be5f74b0002"), 5);
}

EXPORT_TEST(metrics_follow_the_spans)
{
    struct export_world *export = *state;
    set(export, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", http_peer_url(export->peer, "/m"));
    http_peer_always(export->peer, 200, NULL, "{}");
    tell_run(export, RUN_A);
    start(export, RUN_A);
    stop(export, 30 * SECOND);
    assert_int_equal(http_peer_request_count(export->peer), 2);
    const struct peer_request *request = http_peer_request(export->peer, 1);
    assert_string_equal(request->path, "/m");
    auto_json struct json_object *root = NULL;
    assert_int_equal(json_parse(request->body, request->body_len, &root, NULL), 0);
    assert_non_null(strstr(request->body, "rondo_iterations"));
}

EXPORT_TEST(problems_name_the_host_and_nothing_else)
{
    struct export_world *export = *state;
    export->variable_count = 0;
    char url[128];
    snprintf(url, sizeof(url), "http://user:hunter2@127.0.0.1:%d/token-abc?key=xyz",
             http_peer_port(export->peer));
    set(export, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url);
    http_peer_always(export->peer, 401, NULL, "token-abc is wrong");
    tell_run(export, RUN_A);
    start(export, RUN_A);
    stop(export, 30 * SECOND);
    assert_non_null(strstr(export->said, "401"));
    assert_null(strstr(export->said, "hunter2"));
    assert_null(strstr(export->said, "token-abc"));
    assert_null(strstr(export->said, "xyz"));
}
