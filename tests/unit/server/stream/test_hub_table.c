// SPDX-License-Identifier: Apache-2.0
/* Streams of the table of runs: rows that changed, counts, what others tell, and starting over. */
#include "hub_world.h"
#include "server/stream/hub_internal.h"

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

TEST(test_rows_that_change_come_together_and_not_too_often)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    create_run(world, 2, "b");
    struct hub_reader reader;
    open_reader(world, "/table", -1, &reader);
    append(world, 1, 1, 300, "note");
    append(world, 2, 1, 300, "note");
    await(&reader, "\"agent_id\":\"a\",\"last_seq\":300}");
    await(&reader, "\"agent_id\":\"b\",\"last_seq\":300}");
    assert_true(count_of(reader.text.data, "event: runs\n") < 60);
    await(&reader, "event: counts\ndata: {\"running\":2}\n\n");
    assert_int_equal(count_of(reader.text.data, "event: reset"), 0);
    close_reader(&reader);
    end(world);
}

TEST(test_runs_that_work_for_others_are_not_counted)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    create_child(world, 2, "b", 1);
    struct hub_reader reader;
    open_reader(world, "/table", -1, &reader);
    append(world, 2, 1, 3, "note");
    await(&reader, "\"agent_id\":\"b\",\"last_seq\":3}");
    await(&reader, "event: counts\ndata: {\"running\":1}\n\n");
    close_reader(&reader);
    end(world);
}

TEST(test_a_reader_that_comes_back_loads_the_table_again)
{
    struct hub_world *world = begin();
    struct hub_reader reader;
    open_reader(world, "/table", 7, &reader);
    await(&reader, "event: reset\ndata: {}\n\n");
    close_reader(&reader);
    end(world);
}

TEST(test_a_reader_knows_its_place_before_the_first_event)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    struct hub_reader events;
    struct hub_reader table;
    open_reader(world, "/events", -1, &events);
    append(world, 1, 1, 3, "note");
    await(&events, "event 3\"");
    close_reader(&events);
    open_reader(world, "/events", -1, &events);
    assert_string_equal(text_of(&events), "id: 3\nretry: 1000\n\n");
    open_reader(world, "/table", -1, &table);
    await(&table, "id: 3\nretry: 1000\n\n");
    await(&table, "id: 3\nevent: counts\n");
    close_reader(&events);
    close_reader(&table);
    end(world);
}

TEST(test_other_agents_are_not_shown)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    create_run(world, 2, "b");
    create_run(world, 3, "b");
    struct hub_reader reader;
    open_reader(world, "/table?agents=b", -1, &reader);
    hub_tell(world->hub, "warning", "a", "{\"of\":\"a\"}");
    hub_tell(world->hub, "warning", "b", "{\"of\":\n\"b\"}");
    append(world, 1, 1, 1, "note");
    append(world, 2, 1, 1, "note");
    await(&reader, "event: warning\ndata: {\"of\": \"b\"}\n\n");
    await(&reader, "\"agent_id\":\"b\",\"last_seq\":1}");
    await(&reader, "event: counts\ndata: {\"running\":2}\n\n");
    assert_null(strstr(reader.text.data, "\"a\""));
    close_reader(&reader);
    end(world);
}

TEST(test_what_changed_just_before_a_stream_is_shown)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    append(world, 1, 1, 4, "note");
    while (hub_state(world->hub).position < 4) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
    struct hub_reader reader;
    open_reader(world, "/table", -1, &reader);
    await(&reader, "\"last_seq\":4}");
    close_reader(&reader);
    end(world);
}

TEST(test_a_run_that_begins_to_wait_is_shown_though_it_has_no_event)
{
    char queued[ID_SIZE];
    struct waiting_runs waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct hub_world *world =
        begin_with((struct hub_options){.orchestrator = (struct orchestrator *)&waiting}, 0);
    create_run(world, 1, "a");
    struct hub_reader reader;
    open_reader(world, "/table", -1, &reader);
    await(&reader, "event: counts\n");
    assert_int_equal(count_of(reader.text.data, "event: runs"), 0);
    memcpy(queued, run_name(1), ID_SIZE);
    pthread_mutex_lock(&waiting.lock);
    waiting.queued = queued;
    pthread_mutex_unlock(&waiting.lock);
    await(&reader, "\"agent_id\":\"a\",\"last_seq\":");
    close_reader(&reader);
    end(world);
}

TEST(test_a_reader_that_lags_far_loads_the_table_again)
{
    struct hub_world *world = begin();
    struct hub_reader reader;
    open_reader_with(world, "/table", -1, 4096, &reader);
    while (hub_state(world->hub).streams < 1) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
    char json[1024];
    snprintf(json, sizeof(json), "{\"text\":\"%0900d\"}", 0);
    for (int i = 0; i < 20000; i++) {
        hub_tell(world->hub, "warning", "a", json);
    }
    hub_tell(world->hub, "last", "a", "{}");
    await(&reader, "event: reset\ndata: {}\n\n");
    close_reader(&reader);
    end(world);
}

TEST(test_counts_that_were_taken_before_a_row_are_taken_again)
{
    struct hub_world *world = begin();
    create_run(world, 1, "a");
    pthread_mutex_lock(&world->hub->lock);
    struct hub_run *run = hub_run_get(world->hub, run_name(1));
    world->hub->table.streams++; /* somebody looks */
    hub_table_touch(world->hub, run);
    assert_true(world->hub->table.wants_counts);
    world->hub->table.wants_counts = false; /* taken, while the row still waits */
    hub_table_touch(world->hub, run);
    assert_true(world->hub->table.wants_counts);
    assert_int_equal(world->hub->table.dirty_count, 1);
    world->hub->table.streams--;
    hub_run_unref(run);
    pthread_mutex_unlock(&world->hub->lock);
    end(world);
}

/** A store that cannot read rows for a while. */
static struct {
    struct store_ops ops;
    const struct store_ops *real;
    _Atomic int failures; /**< left */
} weak;

static int fail_to_read(struct store *store, const char *run_id, struct store_run *ret_run,
                        struct rondo_error *err)
{
    if (weak.failures > 0) {
        weak.failures--;
        return RONDO_ERR_IO;
    }
    return weak.real->get_run(store, run_id, ret_run, err);
}

TEST(test_a_row_that_could_not_be_read_is_shown_later)
{
    struct hub_world *world = begin_silent();
    create_run(world, 1, "a");
    weak.real = world->store->ops;
    weak.ops = *weak.real;
    weak.ops.get_run = fail_to_read;
    world->store->ops = &weak.ops;
    serve(world, (struct hub_options){0}, 0);
    struct hub_reader reader;
    open_reader(world, "/table", -1, &reader);
    weak.failures = 3;
    append(world, 1, 1, 1, "note");
    await(&reader, "\"agent_id\":\"a\",\"last_seq\":1}");
    assert_int_equal(weak.failures, 0);
    close_reader(&reader);
    end(world);
}

TEST(test_streams_of_the_table_end_when_the_server_drains)
{
    struct hub_world *world = begin();
    struct hub_reader reader;
    open_reader(world, "/table", -1, &reader);
    hub_drain(world->hub);
    assert_true(
        http_raw_read_until(reader.fd, &reader.bytes, "\r\n0\r\n\r\n", HTTP_RAW_PATIENCE_NS));
    close_reader(&reader);
    end(world);
}
