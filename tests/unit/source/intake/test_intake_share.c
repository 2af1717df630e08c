// SPDX-License-Identifier: Apache-2.0
/* The limit of a role's runs where several daemons have the role. */
#include "../intake_world.h"
#include "orchestrator/assignment.h"

#define TEST_IN_WORLD(name) TEST_WITH(name, make_world, end_world)

static void put_document(struct intake_world *world, const char *collection, const char *key,
                         const char *data)
{
    bool is_applied = false;
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = collection,
                                  .key = key,
                                  .data = data,
                                  .data_len = strlen(data),
                                  .if_version = STORE_ANY_VERSION};
    assert_int_equal(
        world->memory->ops->change_documents(world->memory, &change, 1, &is_applied, NULL), 0);
}

/** Another daemon on the same store. */
static struct intake_world *begin_beside(struct intake_world *first, uint64_t seed)
{
    struct intake_world *world = memory_new_zero(1, sizeof(*world));
    world->now_ns = first->now_ns;
    world->random = random_seeded(seed);
    world->clock = first->clock;
    world->clock.context = world;
    world->memory = first->memory;
    owner_new(&world->random, world->owner);
    world_open(world);
    put_document(first, DAEMON_COLLECTION, first->owner, "{}");
    put_document(first, DAEMON_COLLECTION, world->owner, "{}");
    return world;
}

static void end_beside(struct intake_world *world)
{
    intake_close(world->intake);
    store_close(world->store);
    free(world);
}

/** A server executes a run, or has paused it. */
static void assign(struct intake_world *world, const char *run_id, const char *state)
{
    char data[STORE_OWNER_SIZE + 100];
    struct store_claim claim = {.owner = world->owner, .lease_ns = 60 * NS_PER_S};
    struct store_claim_result claimed;
    struct store_run run = {.summary.status = RONDO_RUNNING};
    snprintf(run.id, sizeof(run.id), "%s", run_id);
    snprintf(run.agent_id, sizeof(run.agent_id), "fixer");
    if (strcmp(state, "paused") != 0) {
        assert_int_equal(
            world->memory->ops->create_run(world->memory, &run, NULL, 0, &claim, &claimed, NULL),
            0);
    }
    snprintf(data, sizeof(data), "{\"state\":\"%s\",\"owner\":\"%s\"}", state, world->owner);
    put_document(world, ASSIGNMENT_COLLECTION, run_id, data);
}

TEST_IN_WORLD(runs_of_another_daemon_count_against_the_limit_of_the_role)
{
    struct intake_world *world = *state;
    struct intake_world *second = begin_beside(world, 9);
    struct start_request request = {0};
    struct start_request other = {0};
    world_submit(world, "fixer", "one", "a");
    world_submit(second, "fixer", "two", "b");
    assert_string_equal(world_next(world, &request), "one");
    assert_string_equal(world_next(second, &other), ""); /* It is being started. */
    assign(world, request.id, "running");
    assert_int_equal(intake_started(world->intake, &request, NULL), 0);
    second->now_ns += 2 * NS_PER_S;
    assert_string_equal(world_next(second, &other), ""); /* It executes. */
    assign(world, request.id, "paused");
    assert_string_equal(world_next(second, &other), ""); /* Not looked at again yet. */
    assert_true(intake_retry_ns(second->intake) == second->now_ns + NS_PER_S);
    second->now_ns += NS_PER_S;
    assert_string_equal(world_next(second, &other), "two");
    assert_true(intake_retry_ns(second->intake) == 0);
    assert_int_equal(world_count(world, "start-claim"), 1);
    assert_int_equal(intake_started(second->intake, &other, NULL), 0);
    assert_int_equal(world_count(world, "start-claim"), 0);
    start_request_fini(&request);
    start_request_fini(&other);
    end_beside(second);
}

/** Each of three daemons tries whenever it can: together they never have more than the limit. */
TEST_IN_WORLD(three_daemons_together_stay_within_the_limit_of_the_role)
{
    static const struct queue_options two = {.max_waiting = 100, .max_running = 2};
    struct intake_world *worlds[3] = {*state, begin_beside(*state, 9), begin_beside(*state, 10)};
    struct start_request running[2];
    struct intake_world *of[2] = {NULL, NULL};
    unsigned started = 0;
    memset(running, 0, sizeof(running));
    for (int i = 0; i < 3; i++) {
        intake_set_role(worlds[i]->intake, "fixer", &two);
        for (int k = 0; k < 5; k++) {
            world_submit(worlds[i], "fixer", "x", NULL);
        }
    }
    for (unsigned turn = 0; started < 15; turn++) {
        struct start_request request = {0};
        struct intake_world *world = worlds[turn % 3];
        for (int i = 0; i < 3; i++) {
            worlds[i]->now_ns += 2 * NS_PER_S;
        }
        assert_true(turn < 200);
        int place = of[0] == NULL ? 0 : 1;
        if (world_next(world, &request)[0] != '\0') {
            assert_null(of[place]); /* Else there are three. */
            started++;
            running[place] = request;
            of[place] = world;
            assign(world, request.id, "running");
            assert_int_equal(intake_started(world->intake, &request, NULL), 0);
        } else if (of[turn % 2] != NULL) {
            struct intake_world *owner = of[turn % 2];
            assign(owner, running[turn % 2].id, "paused"); /* It is over. */
            intake_ended(owner->intake, running[turn % 2].id);
            start_request_fini(&running[turn % 2]);
            of[turn % 2] = NULL;
        }
    }
    start_request_fini(&running[0]);
    start_request_fini(&running[1]);
    end_beside(worlds[1]);
    end_beside(worlds[2]);
}

TEST_IN_WORLD(a_daemon_that_joins_while_another_one_starts_a_run_waits)
{
    struct intake_world *world = *state;
    struct start_request request = {0};
    struct start_request other = {0};
    world_submit(world, "fixer", "one", "a");
    assert_string_equal(world_next(world, &request), "one"); /* It saw no other daemon. */
    struct intake_world *second = begin_beside(world, 9);
    world_submit(second, "fixer", "two", "b");
    assert_string_equal(world_next(second, &other), "");
    assign(world, request.id, "running");
    assert_int_equal(intake_started(world->intake, &request, NULL), 0);
    second->now_ns += 2 * NS_PER_S;
    assert_string_equal(world_next(second, &other), "");
    start_request_fini(&request);
    end_beside(second);
}

TEST_IN_WORLD(a_run_of_a_dead_server_that_nobody_takes_over_counts_for_a_minute_after_its_lease)
{
    struct intake_world *world = *state;
    struct start_request request = {0};
    char living[STORE_OWNER_SIZE];
    memcpy(living, world->owner, sizeof(living));
    world_name_dead(world);
    assign(world, "01234567-89ab-7def-8123-456789abcdef", "running");
    memcpy(world->owner, living, sizeof(living));
    world_submit(world, "fixer", "one", "a");
    assert_string_equal(world_next(world, &request), "");
    world->now_ns += 119 * NS_PER_S; /* Of its lease, too. */
    assert_string_equal(world_next(world, &request), "");
    world->now_ns += 2 * NS_PER_S;
    assert_string_equal(world_next(world, &request), "one");
    start_request_fini(&request);
}

TEST_IN_WORLD(a_claim_that_a_dead_daemon_has_left_keeps_nobody_from_starting)
{
    struct intake_world *world = *state;
    struct intake_world *second = begin_beside(world, 9);
    put_document(world, "start-claim", "fixer/01234567-89ab-7def-8123-456789abcdef", "{}");
    world_submit(second, "fixer", "two", "b");
    world_expect_run(second, "two");
    end_beside(second);
}
