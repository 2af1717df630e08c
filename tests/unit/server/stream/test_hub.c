// SPDX-License-Identifier: Apache-2.0
/* Streams of events: each event once and in order, from the store, live, and in between. */
#include "hub_world.h"
#include "server/auth/token.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_IDS 20000

static int64_t ids[MAX_IDS];

/** Ids first..last, each once and in order. */
static void check_ids(struct hub_reader *reader, int64_t first, int64_t last)
{
    size_t count = ids_of(reader, ids, MAX_IDS);
    assert_int_equal(count, last - first + 1);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ids[i], first + (int64_t)i);
    }
}

static void target_of_run(char *ret_target, size_t size, unsigned run, const char *rest)
{
    snprintf(ret_target, size, "/events?run=%s%s", run_name(run), rest);
}

TEST(test_a_stream_of_a_run_begins_with_what_there_is_and_continues)
{
    struct hub_world *world = begin();
    char target[128];
    target_of_run(target, sizeof(target), 1, "&after=0");
    create_run(world, 1, "agent");
    create_run(world, 2, "agent");
    append(world, 1, 1, 5, "note");
    append(world, 2, 1, 5, "note");
    struct hub_reader reader;
    open_reader(world, target, -1, &reader);
    await(&reader, "event 5\"");
    append(world, 2, 6, 1, "note");
    append(world, 1, 6, 2, "note");
    await(&reader, "event 7\"");
    check_ids(&reader, 1, 7);
    assert_non_null(strstr(reader.bytes.data, "Content-Type: text/event-stream"));
    assert_non_null(strstr(reader.text.data,
                           "id: 6\nevent: note\ndata: {\"run_id\":\"018bcfe5-6800-"
                           "7000-8000-000000000001\",\"seq\":6,"));
    assert_null(strstr(reader.text.data, run_name(2)));
    close_reader(&reader);
    end(world);
}

TEST(test_a_stream_continues_after_the_last_event_that_was_seen)
{
    struct hub_world *world = begin();
    char target[128];
    target_of_run(target, sizeof(target), 1, "");
    create_run(world, 1, "agent");
    append(world, 1, 1, 600, "note");
    struct hub_reader reader;
    open_reader(world, target, 300, &reader);
    await(&reader, "event 600\"");
    append(world, 1, 601, 1, "note");
    await(&reader, "event 601\"");
    check_ids(&reader, 301, 601);
    close_reader(&reader);
    end(world);
}

TEST(test_all_runs_begin_now_or_where_they_are_told_to)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    create_run(world, 2, "b");
    append(world, 1, 1, 10, "note");
    append(world, 2, 1, 10, "note");
    while (hub_state(world->hub).position < 20) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
    struct hub_reader now;
    struct hub_reader everything;
    struct hub_reader behind;
    open_reader(world, "/events", -1, &now);
    open_reader(world, "/events?after=0", -1, &everything);
    open_reader(world, "/events", 15, &behind);
    append(world, 1, 11, 3, "note");
    await(&now, "event 13\"");
    await(&everything, "event 13\"");
    await(&behind, "event 13\"");
    check_ids(&now, 21, 23);
    check_ids(&everything, 1, 23);
    check_ids(&behind, 16, 23);
    close_reader(&now);
    close_reader(&everything);
    close_reader(&behind);
    end(world);
}

TEST(test_a_position_of_the_future_means_from_now_on)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    struct hub_reader reader;
    open_reader(world, "/events", 999999, &reader);
    append(world, 1, 1, 2, "note");
    await(&reader, "event 2\"");
    check_ids(&reader, 1, 2);
    close_reader(&reader);
    end(world);
}

TEST(test_types_and_agents_select)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    create_run(world, 2, "b");
    for (uint64_t seq = 1; seq <= 20; seq += 2) {
        append(world, 1, seq, 1, "note");
        append(world, 1, seq + 1, 1, "history.trimmed");
        append(world, 2, seq, 2, "note");
    }
    struct hub_reader types;
    struct hub_reader agents;
    struct hub_reader live;
    open_reader(world, "/events?after=0&types=history.trimmed,run.finished", -1, &types);
    open_reader(world, "/events?after=0&agents=b,c", -1, &agents);
    open_reader(world, "/events?agents=a&types=note", -1, &live);
    append(world, 2, 21, 1, "note");
    append(world, 1, 21, 1, "note");
    append(world, 1, 22, 1, "history.trimmed");
    append(world, 2, 22, 1, "note");
    append(world, 1, 23, 1, "note");
    await(&types, "event 22\"");
    await(&agents, "event 22\"");
    await(&live, "event 23\"");
    assert_int_equal(ids_of(&types, ids, MAX_IDS), 11);
    assert_null(strstr(types.text.data, "event: note"));
    assert_int_equal(ids_of(&agents, ids, MAX_IDS), 22);
    assert_null(strstr(agents.text.data, run_name(1)));
    assert_null(strstr(live.text.data, run_name(2)));
    assert_null(strstr(live.text.data, "event: history"));
    close_reader(&types);
    close_reader(&agents);
    close_reader(&live);
    end(world);
}

TEST(test_a_rare_type_far_back_is_found)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    append(world, 1, 1, 6000, "note");
    append(world, 1, 6001, 1, "history.trimmed");
    append(world, 1, 6002, 3000, "note");
    struct hub_reader reader;
    open_reader(world, "/events?after=0&types=history.trimmed", -1, &reader);
    await(&reader, "event 6001\"");
    append(world, 1, 9002, 1, "history.trimmed");
    await(&reader, "event 9002\"");
    assert_int_equal(ids_of(&reader, ids, MAX_IDS), 2);
    close_reader(&reader);
    end(world);
}

struct writing {
    struct hub_world *world;
    size_t count;
};

static void *write_events(void *context)
{
    struct writing *writing = context;
    append(writing->world, 1, 1, writing->count, "note");
    return NULL;
}

/** Readers that come while events are written, into a ring that is too small for all of them. */
static void read_while_written(size_t ring_bytes)
{
    struct hub_world *world =
        begin_with((struct hub_options){.ring_bytes = ring_bytes}, HTTP_RAW_PATIENCE_NS);
    create_run(world, 1, "a");
    struct writing writing = {.world = world, .count = 4000};
    pthread_t thread;
    pthread_create(&thread, NULL, write_events, &writing);
    struct hub_reader readers[20];
    for (size_t i = 0; i < 20; i++) {
        char target[128];
        target_of_run(target, sizeof(target), 1, "&after=0");
        open_reader_with(world, i % 2 == 0 ? target : "/events?after=0", -1, 0, &readers[i]);
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL); /* spread over the writing */
    }
    await_in_turns(readers, 20, "event 4000\"");
    pthread_join(thread, NULL);
    for (size_t i = 0; i < 20; i++) {
        check_ids(&readers[i], 1, 4000);
        close_reader(&readers[i]);
    }
    end(world);
}

TEST(test_nothing_is_lost_or_doubled_between_store_and_ring)
{
    read_while_written(0);
}

TEST(test_nothing_is_lost_when_the_ring_forgets)
{
    read_while_written(20000);
}

/** A store that is written to just after a run was read, and the hub sees it at once. */
static struct {
    struct store_ops ops;
    const struct store_ops *real;
    struct hub_world *world;
    _Atomic uint64_t last_seq;
    _Atomic int rounds; /**< left */
} sly;

static int read_and_write(struct store *store, const char *run_id, uint64_t after, uint32_t limit,
                          store_event_fn *fn, void *context, struct rondo_error *err)
{
    int r = sly.real->read_events(store, run_id, after, limit, fn, context, err);
    if (run_id != NULL && sly.rounds > 0) {
        sly.rounds--;
        append(sly.world, 1, sly.last_seq + 1, 2, "note");
        sly.last_seq += 2;
        while (hub_state(sly.world->hub).position < sly.last_seq) {
            clock_sleep(clock_system(), NS_PER_MS, NULL);
        }
    }
    return r;
}

/** @param rounds that a stream needs until it has caught up */
static void write_between(size_t ring_bytes, int rounds)
{
    struct hub_world *world = begin_silent();
    create_run(world, 1, "a");
    append(world, 1, 1, 5, "note");
    sly.real = world->store->ops;
    sly.ops = *sly.real;
    sly.ops.read_events = read_and_write;
    sly.world = world;
    sly.last_seq = 5;
    sly.rounds = rounds;
    world->store->ops = &sly.ops;
    serve(world, (struct hub_options){.ring_bytes = ring_bytes}, 0);
    char target[128];
    char last[32];
    target_of_run(target, sizeof(target), 1, "&after=0");
    struct hub_reader reader;
    open_reader(world, target, -1, &reader);
    int64_t count = 5 + 2 * rounds;
    snprintf(last, sizeof(last), "event %" PRId64 "\"", count);
    await(&reader, last);
    check_ids(&reader, 1, count);
    assert_int_equal(sly.rounds, 0);
    close_reader(&reader);
    end(world);
}

TEST(test_what_comes_between_reading_the_store_and_the_ring_is_not_lost)
{
    write_between(0, 1);
}

TEST(test_what_the_ring_forgot_meanwhile_is_read_again)
{
    write_between(1, 4);
}

TEST(test_a_slow_reader_is_cut_off_and_comes_back_without_a_loss)
{
    struct hand_clock hand;
    struct hub_world *world = begin_silent();
    hand_clock_init(&hand);
    world->clock = &hand.clock;
    serve(world, (struct hub_options){0}, 300 * NS_PER_MS);
    create_run(world, 1, "a");
    struct hub_reader slow;
    struct hub_reader fast;
    open_reader_with(world, "/events?after=0", -1, 4096, &slow);
    open_reader(world, "/events?after=0", -1, &fast);
    for (uint64_t seq = 1; seq <= 5000; seq += 250) { /* as much as a socket takes at once */
        char last[32];
        append(world, 1, seq, 250, "note");
        snprintf(last, sizeof(last), "event %" PRIu64 "\"", seq + 249);
        await(&fast, last);
    }
    int64_t deadline = clock_monotonic(clock_system()) + HTTP_RAW_PATIENCE_NS;
    while (http_server_state(world->server).cut_off < 1) {
        assert_true(clock_monotonic(clock_system()) < deadline);
        hand_clock_pass(&hand, 50 * NS_PER_MS);
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
    http_raw_read_all(slow.fd, &slow.bytes, HTTP_RAW_PATIENCE_NS);
    size_t count = 0;
    int64_t last = 0;
    const char *text = text_of(&slow);
    /* A client counts what ended with an empty line. */
    for (const char *frame = strstr(text, "\nid: "); frame != NULL;) {
        const char *end = strstr(frame, "\n\n");
        if (end == NULL) {
            break;
        }
        last = strtoll(frame + 5, NULL, 10);
        count++;
        frame = strncmp(end + 2, "id: ", 4) == 0 ? end + 1 : NULL;
    }
    assert_int_equal(last, (int64_t)count);
    assert_true(last < 5000);
    close_reader(&slow);
    close_reader(&fast);
    stop_serving(world);
    serve(world, (struct hub_options){0}, 0);
    struct hub_reader again;
    open_reader(world, "/events", last, &again);
    await(&again, "event 5000\"");
    check_ids(&again, last + 1, 5000);
    close_reader(&again);
    end(world);
}

TEST(test_a_server_that_begins_again_continues_where_the_reader_was)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    append(world, 1, 1, 100, "note");
    struct hub_reader before;
    open_reader(world, "/events?after=0", -1, &before);
    await(&before, "event 100\"");
    stop_serving(world);
    append(world, 1, 101, 100, "note");
    serve(world, (struct hub_options){0}, 0);
    struct hub_reader after;
    open_reader(world, "/events", 100, &after);
    append(world, 1, 201, 1, "note");
    await(&after, "event 201\"");
    check_ids(&after, 101, 201);
    close_reader(&before);
    close_reader(&after);
    end(world);
}

TEST(test_a_silent_stream_shows_that_it_lives)
{
    struct hub_world *world = begin_with((struct hub_options){.heartbeat_ns = 50 * NS_PER_MS}, 0);
    struct hub_reader reader;
    open_reader(world, "/events", -1, &reader);
    await(&reader, "retry: 1000\n\n:\n\n:\n\n");
    close_reader(&reader);
    end(world);
}

/** Open a silent stream of a token that counts. */
static void open_with_token(struct hub_world *world, const char *path, const char *name,
                            int64_t expires_ns, struct hub_reader *ret_reader)
{
    char token[TOKEN_SIZE];
    char target[160];
    struct token_grant grant;
    struct token_spec spec = {.name = name, .scope = TOKEN_READ, .expires_ns = expires_ns};
    assert_int_equal(token_create(world->store, &spec, token, NULL, NULL), 0);
    int64_t now_ns = expires_ns > 0 ? expires_ns - 1 : clock_now(clock_system());
    assert_int_equal(token_check(world->store, token, now_ns, &grant, NULL), 0);
    assert_int_equal(strlen(grant.digest), DIGEST_HEX_SIZE - 1);
    snprintf(target, sizeof(target), "%s?token=%s", path, grant.digest);
    open_reader(world, target, -1, ret_reader);
    token_grant_fini(&grant);
}

TEST(test_a_stream_ends_with_its_token)
{
    struct hub_world *world = begin_with((struct hub_options){.heartbeat_ns = 50 * NS_PER_MS}, 0);
    struct hub_reader events;
    struct hub_reader table;
    struct hub_reader short_lived;
    struct hub_reader other;
    open_with_token(world, "/events", "revoked", 0, &events);
    open_with_token(world, "/table", "revoked-too", 0, &table);
    open_with_token(world, "/events", "other", 0, &other);
    open_with_token(world, "/events", "over", clock_now(clock_system()) + 300 * NS_PER_MS,
                    &short_lived);
    assert_int_equal(token_revoke(world->store, "revoked", NULL), 0);
    assert_int_equal(token_revoke(world->store, "revoked-too", NULL), 0);
    struct hub_reader *ended[] = {&events, &table, &short_lived};
    for (size_t i = 0; i < 3; i++) {
        assert_true(http_raw_read_until(ended[i]->fd, &ended[i]->bytes, "\r\n0\r\n\r\n",
                                        HTTP_RAW_PATIENCE_NS));
        close_reader(ended[i]);
    }
    size_t seen = other.bytes.len;
    while (other.bytes.len == seen) { /* it continues */
        assert_false(http_raw_read_all(other.fd, &other.bytes, 20 * NS_PER_MS));
    }
    close_reader(&other);
    end(world);
}

static bool is_hidden(void *context, const char *viewer, const char *agent_id)
{
    assert_null(viewer);
    assert_null(agent_id);
    return *(_Atomic bool *)context;
}

TEST(test_a_stream_ends_when_a_new_rule_hides_what_it_shows)
{
    _Atomic bool is_now_hidden = false;
    struct hub_world *world = begin_with((struct hub_options){.heartbeat_ns = 50 * NS_PER_MS,
                                                              .is_hidden = is_hidden,
                                                              .is_hidden_context = &is_now_hidden},
                                         0);
    struct hub_reader events;
    struct hub_reader table;
    open_reader(world, "/events", -1, &events);
    open_reader(world, "/table", -1, &table);
    await(&events, ":\n\n:\n\n");
    is_now_hidden = true;
    assert_true(
        http_raw_read_until(events.fd, &events.bytes, "\r\n0\r\n\r\n", HTTP_RAW_PATIENCE_NS));
    size_t seen = table.bytes.len;
    while (table.bytes.len == seen) { /* rows have nothing of what agents say */
        assert_false(http_raw_read_all(table.fd, &table.bytes, 20 * NS_PER_MS));
    }
    close_reader(&events);
    close_reader(&table);
    end(world);
}

TEST(test_draining_tells_streams_to_come_back)
{
    struct hub_world *world = begin();
    struct hub_reader reader;
    open_reader(world, "/events", -1, &reader);
    hub_drain(world->hub);
    assert_true(
        http_raw_read_until(reader.fd, &reader.bytes, "\r\n0\r\n\r\n", HTTP_RAW_PATIENCE_NS));
    assert_non_null(strstr(text_of(&reader), ": the server ends\nretry: 1000\n\n"));
    close_reader(&reader);
    end(world);
}

TEST(test_line_ends_in_json_do_not_end_the_frame)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    struct hub_reader reader;
    open_reader(world, "/events", -1, &reader);
    const char data[] = "{\"name\":\"n\",\n\r\n\"attributes\":\n{}}";
    struct store_event event = {.type = "note", .data = data, .data_len = strlen(data)};
    struct store_batch batch = {.run_id = run_name(1),
                                .epoch = 1,
                                .first_seq = 1,
                                .events = &event,
                                .event_count = 1,
                                .lease_ns = NS_PER_S};
    struct store_commit_result result;
    assert_int_equal(writer_commit(world->writer, &batch, &result, NULL), 0);
    await(&reader, "\"text\":\"note n {}\",\"data\":{\"name\":\"n\",   \"attributes\": {}}}\n\n");
    close_reader(&reader);
    open_reader(world, "/events?after=0", -1, &reader); /* from the store */
    await(&reader, "\"text\":\"note n {}\",\"data\":{\"name\":\"n\",   \"attributes\": {}}}\n\n");
    close_reader(&reader);
    end(world);
}

TEST(test_two_hundred_readers_of_many_runs_get_their_own)
{
    struct hub_world *world = begin();
    static struct hub_reader readers[200];
    for (unsigned run = 0; run < 50; run++) {
        create_run(world, run, "a");
    }
    for (unsigned i = 0; i < 200; i++) {
        char target[128];
        target_of_run(target, sizeof(target), i % 50, "&after=0");
        open_reader_with(world, target, -1, 0, &readers[i]);
    }
    for (uint64_t seq = 1; seq <= 20; seq++) {
        for (unsigned run = 0; run < 50; run++) {
            append(world, run, seq, 1, "note");
        }
    }
    await_in_turns(readers, 200, "event 20\"");
    for (unsigned i = 0; i < 200; i++) {
        check_ids(&readers[i], 1, 20);
        close_reader(&readers[i]);
    }
    end(world);
}
