// SPDX-License-Identifier: Apache-2.0
/* Follow-ups as a source: each becomes one run, over restarts and kills. */
#include "../../../support/sanitizer.h"
#include "../source_world.h"
#include "agent/follow_up.h"

#define BEGIN INT64_C(1800000000)

#define TEST_SCHEDULED(name) TEST_WITH(name, make_source_world, end_source_world)

static const char config[] = "{\"type\":\"scheduled\"}";

static void open_scheduled(struct source_world *world)
{
    assert_int_equal(source_world_open(world, config, NULL), 0);
}

/** Schedule a run of "fixer". */
static void schedule(struct source_world *world, const char *key, int64_t delay_seconds)
{
    const struct follow_up_limits limits = {.per_run = 10, .total = 10};
    enum follow_up_outcome outcome;
    struct follow_up follow_up = {
        .agent = "fixer",
        .asked_by = "run-1",
        .due_ns = world->intake->now_ns + delay_seconds * NS_PER_S,
        .depth = 3,
        .prompt = (char *)key,
    };
    follow_up_id(key, follow_up.id);
    assert_int_equal(follow_up_add(world->intake->memory, &follow_up, &limits, &outcome, NULL), 0);
    assert_int_equal(outcome, FOLLOW_UP_ADDED);
}

static void advance_to(struct source_world *world, int64_t seconds)
{
    source_world_advance(world, (BEGIN + seconds) * NS_PER_S);
}

TEST_SCHEDULED(a_follow_up_becomes_a_run_when_it_is_due)
{
    struct source_world *world = *state;
    struct start_request request = {0};
    struct follow_up found = {0};
    char id[FOLLOW_UP_ID_SIZE];
    open_scheduled(world);
    schedule(world, "later", 100);
    advance_to(world, 99);
    assert_string_equal(world_next(world->intake, &request), "");
    advance_to(world, 100);
    assert_string_equal(world_next(world->intake, &request), "later");
    assert_non_null(strstr(request.context, "\"scheduled_by_run\":\"run-1\""));
    assert_non_null(strstr(request.context, "\"depth\":3"));
    follow_up_id("later", id);
    assert_int_equal(follow_up_find(world->intake->memory, id, &found, NULL), 1);
    assert_int_equal(found.state, FOLLOW_UP_STARTED);
    assert_string_equal(found.run_id, request.id);
    follow_up_fini(&found);
    start_request_fini(&request);
}

TEST_SCHEDULED(without_follow_ups_nothing_wakes_it)
{
    struct source_world *world = *state;
    open_scheduled(world);
    assert_true(world->source->type->next_due(world->source) == SOURCE_NEVER);
    schedule(world, "a", 10);
    advance_to(world, 10);
    assert_true(world->source->type->next_due(world->source) == SOURCE_NEVER);
}

TEST_SCHEDULED(follow_ups_survive_downtime_and_start_in_their_order)
{
    struct source_world *world = *state;
    open_scheduled(world);
    schedule(world, "second", 200);
    schedule(world, "first", 100);
    world->intake->now_ns += 1000 * NS_PER_S;
    source_world_restart(world);
    advance_to(world, 1000);
    world_expect_run(world->intake, "first");
    world_expect_run(world->intake, "second");
    world_expect_run(world->intake, "");
}

TEST_SCHEDULED(lists_show_when_the_next_one_is_due_not_the_next_look)
{
    struct source_world *world = *state;
    schedule(world, "later", 600);
    open_scheduled(world);
    assert_int_equal(world->source->type->shown_due(world->source), (BEGIN + 600) * NS_PER_S);
    assert_true(world->source->type->next_due(world->source) < (BEGIN + 600) * NS_PER_S);
}

TEST_SCHEDULED(a_cancelled_one_does_not_start)
{
    struct source_world *world = *state;
    char id[FOLLOW_UP_ID_SIZE];
    const struct follow_up_change cancel = {.is_cancelled = true};
    open_scheduled(world);
    schedule(world, "a", 10);
    follow_up_id("a", id);
    assert_int_equal(follow_up_apply(world->intake->memory, id, &cancel, NULL), 0);
    advance_to(world, 100);
    world_expect_run(world->intake, "");
}

TEST_SCHEDULED(a_change_by_another_process_is_noticed_within_a_minute)
{
    struct source_world *world = *state;
    char id[FOLLOW_UP_ID_SIZE];
    open_scheduled(world);
    schedule(world, "a", 100000);
    int64_t next_look = world->source->type->next_due(world->source);
    const struct follow_up_change change = {.due_ns = world->intake->now_ns + NS_PER_S};
    follow_up_id("a", id);
    assert_int_equal(follow_up_apply(world->intake->memory, id, &change, NULL), 0);
    assert_true(next_look <= (BEGIN + 60) * NS_PER_S);
    advance_to(world, 60);
    world_expect_run(world->intake, "a");
}

TEST_SCHEDULED(a_store_that_fails_does_not_make_it_forget_what_is_due)
{
    struct source_world *world = *state;
    open_scheduled(world);
    schedule(world, "a", 100000);
    world->intake->dies_at = world->intake->calls + 1;
    int64_t next_look = world->source->type->next_due(world->source);
    assert_true(next_look <= (BEGIN + 60) * NS_PER_S);
}

TEST_SCHEDULED(with_a_full_queue_it_waits)
{
    struct source_world *world = *state;
    open_scheduled(world);
    for (int i = 0; i < 6; i++) {
        char key[8];
        snprintf(key, sizeof(key), "%d", i);
        schedule(world, key, 10 + i);
    }
    advance_to(world, 60);
    unsigned runs = source_world_run_all(world);
    assert_true(runs > 0 && runs < 6);
    advance_to(world, 120);
    assert_int_equal(runs + source_world_run_all(world), 6);
}

/* ---- Rows that are read ---------------------------------------------------------------------- */

/** A store in memory that counts the documents it gives out. */
struct counted {
    struct store_ops ops;
    const struct store_ops *plain;
    store_document_fn *fn;
    void *context;
    uint64_t rows;
};

static struct counted counted;

static bool count_document(const struct store_document *document, void *context)
{
    (void)context;
    counted.rows++;
    return counted.fn(document, counted.context);
}

static int read_counted(struct store *store, const struct store_document_query *query,
                        store_document_fn *fn, void *context, struct rondo_error *err)
{
    counted.fn = fn;
    counted.context = context;
    return counted.plain->read_documents(store, query, count_document, NULL, err);
}

static void count_rows(struct store *memory)
{
    counted = (struct counted){.ops = *memory->ops, .plain = memory->ops};
    counted.ops.read_documents = read_counted;
    memory->ops = &counted.ops;
}

/** Write a follow-up and its row, without the limits of an agent: adding reads all of them. */
static void write_pending(struct store *store, int number, int64_t due_ns)
{
    char id[FOLLOW_UP_ID_SIZE];
    char text[16];
    char keys[2][STORE_KEY_LEN + 1];
    char data[512];
    bool is_applied = false;
    snprintf(text, sizeof(text), "n%d", number);
    follow_up_id(text, id);
    snprintf(keys[0], sizeof(keys[0]), "fixer/run-1/%s", id);
    snprintf(keys[1], sizeof(keys[1]), "fixer/%020lld/run-1/%s", (long long)due_ns, id);
    snprintf(data, sizeof(data),
             "{\"id\":\"%s\",\"agent\":\"fixer\",\"asked_by\":\"run-1\",\"state\":\"pending\","
             "\"depth\":1,\"prompt\":\"%s\",\"created_ns\":1,\"due_ns\":%lld}",
             id, text, (long long)due_ns);
    const struct store_change changes[] = {
        {.kind = STORE_PUT,
         .collection = "follow-up",
         .key = keys[0],
         .data = data,
         .data_len = strlen(data),
         .if_version = 0},
        {.kind = STORE_PUT,
         .collection = "follow-up-due",
         .key = keys[1],
         .data = "{}",
         .data_len = 2,
         .if_version = 0},
    };
    assert_int_equal(store->ops->change_documents(store, changes, 2, &is_applied, NULL), 0);
    assert_true(is_applied);
}

/* More than are counted, in any case. */
#define MANY (HAS_SANITIZER ? 2 * FOLLOW_UPS_COUNTED : 10000)

TEST_SCHEDULED(a_look_and_a_start_read_no_more_rows_when_there_are_ten_thousand)
{
    struct source_world *world = *state;
    struct store *memory = world->intake->memory;
    const struct store_ops *plain = memory->ops;
    int64_t pending = 0;
    for (int i = 0; i < MANY; i++) {
        write_pending(memory, i, (BEGIN + 100 + (i * 7919) % MANY) * NS_PER_S);
    }
    open_scheduled(world);
    advance_to(world, 100); /* purges, too: it does so once an hour */
    world_expect_run(world->intake, "n0");
    (void)source_world_run_all(world);
    assert_int_equal(follow_ups_count(memory, "fixer", &pending, NULL), 0);
    assert_int_equal(pending, FOLLOW_UPS_COUNTED);
    count_rows(memory);
    assert_int_equal(world->source->type->next_due(world->source), (BEGIN + 101) * NS_PER_S);
    assert_int_equal(counted.rows, 2);
    world->intake->now_ns = (BEGIN + 101) * NS_PER_S;
    assert_int_equal(world->source->type->fire(world->source, world->intake->now_ns, NULL), 0);
    assert_int_equal(source_world_run_all(world), 1);
    assert_in_range(counted.rows, 4, 12);
    memory->ops = plain;
}

TEST_SCHEDULED(what_an_older_version_has_added_is_found_at_the_start)
{
    struct source_world *world = *state;
    struct store *memory = world->intake->memory;
    bool is_applied = false;
    schedule(world, "old", 10);
    const struct store_change unlist = {.kind = STORE_DELETE_UP_TO,
                                        .collection = "follow-up-due",
                                        .key = "fixer/~",
                                        .if_version = STORE_ANY_VERSION};
    assert_int_equal(memory->ops->change_documents(memory, &unlist, 1, &is_applied, NULL), 0);
    open_scheduled(world);
    advance_to(world, 10);
    world_expect_run(world->intake, "old");
}

TEST_SCHEDULED(one_that_is_moved_starts_once_at_its_new_time)
{
    struct source_world *world = *state;
    char id[FOLLOW_UP_ID_SIZE];
    open_scheduled(world);
    schedule(world, "a", 10);
    const struct follow_up_change change = {.due_ns = (BEGIN + 50) * NS_PER_S};
    follow_up_id("a", id);
    assert_int_equal(follow_up_apply(world->intake->memory, id, &change, NULL), 0);
    advance_to(world, 49);
    assert_int_equal(source_world_run_all(world), 0);
    advance_to(world, 1000);
    assert_int_equal(source_world_run_all(world), 1);
}

TEST_SCHEDULED(a_row_of_one_that_is_settled_starts_nothing_and_goes)
{
    struct source_world *world = *state;
    struct store *memory = world->intake->memory;
    int64_t count = 0;
    char id[FOLLOW_UP_ID_SIZE];
    const struct follow_up_change cancel = {.is_cancelled = true};
    write_pending(memory, 1, (BEGIN + 10) * NS_PER_S);
    follow_up_id("n1", id);
    assert_int_equal(follow_up_apply(memory, id, &cancel, NULL), 0);
    char key[STORE_KEY_LEN + 1];
    bool is_applied = false;
    snprintf(key, sizeof(key), "fixer/%020lld/run-1/%s", (long long)((BEGIN + 10) * NS_PER_S), id);
    const struct store_change late = {.kind = STORE_PUT,
                                      .collection = "follow-up-due",
                                      .key = key,
                                      .data = "{}",
                                      .data_len = 2,
                                      .if_version = 0};
    assert_int_equal(memory->ops->change_documents(memory, &late, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
    open_scheduled(world);
    advance_to(world, 100);
    assert_int_equal(source_world_run_all(world), 0);
    assert_int_equal(follow_ups_count(memory, "fixer", &count, NULL), 0);
    assert_int_equal(count, 0);
}

/** Killed at each call of the store, with and without its effect: one run, also weeks later. */
TEST_SCHEDULED(a_kill_at_any_step_neither_loses_nor_doubles_it)
{
    for (uint64_t dies_after = 1; dies_after <= 12; dies_after++) {
        for (int has_effect = 0; has_effect <= 1; has_effect++) {
            void *fresh = NULL;
            make_source_world(&fresh);
            struct source_world *world = fresh;
            open_scheduled(world);
            schedule(world, "once", 10);
            world->intake->now_ns += 10 * NS_PER_S;
            world->intake->dies_at = world->intake->calls + dies_after;
            world->intake->has_effect = has_effect != 0;
            (void)world->source->type->fire(world->source, world->intake->now_ns, NULL);
            world->intake->now_ns += INT64_C(30) * 24 * 3600 * NS_PER_S;
            source_world_restart(world);
            source_world_advance(world, world->intake->now_ns + NS_PER_S);
            assert_int_equal(source_world_run_all(world), 1);
            source_world_restart(world);
            source_world_advance(world, world->intake->now_ns + NS_PER_S);
            assert_int_equal(source_world_run_all(world), 0);
            end_source_world(&fresh);
        }
    }
}
