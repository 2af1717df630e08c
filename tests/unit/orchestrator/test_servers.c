// SPDX-License-Identifier: Apache-2.0
/* The list of servers, over a store that other machines share, with a clock that stands still. */
#include "orchestrator/assignment.h"
#include "orchestrator/servers.h"

#include "support/hand_clock.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A process that nobody can know to be dead: of another machine. */
#define OWNER_OF(host) "pid=7 started=1 space=1 boot=- id=0000000000000001 host=" host

struct servers_world {
    struct hand_clock clock;
    struct store *store;
};

static int up(void **state)
{
    struct servers_world *world = memory_new_zero(1, sizeof(*world));
    hand_clock_init(&world->clock);
    world->store = store_memory_new(&world->clock.clock);
    *state = world;
    return 0;
}

static int down(void **state)
{
    struct servers_world *world = *state;
    store_close(world->store);
    free(world);
    return 0;
}

#define SERVERS_TEST(function) TEST_WITH(function, up, down)

static struct server_info server(const char *name, const char *owner)
{
    struct server_info info = {.capacity = 4};
    snprintf(info.name, sizeof(info.name), "%s", name);
    snprintf(info.owner, sizeof(info.owner), "%s", owner);
    snprintf(info.pool, sizeof(info.pool), "gpu,linux");
    return info;
}

static int add(struct servers_world *world, struct server_info *info)
{
    return server_register(world->store, &world->clock.clock, info, NULL);
}

/** The only one that is listed. */
static struct server_info listed(struct servers_world *world)
{
    struct server_info *list = NULL;
    size_t count = 0;
    assert_int_equal(servers_read(world->store, &world->clock.clock, &list, &count, NULL), 0);
    assert_int_equal(count, 1);
    struct server_info found = list[0];
    free(list);
    return found;
}

SERVERS_TEST(a_server_is_listed_as_it_registered)
{
    struct servers_world *world = *state;
    struct server_info one = server("one", OWNER_OF("a"));

    assert_int_equal(add(world, &one), 0);

    struct server_info found = listed(world);
    assert_string_equal(found.name, "one");
    assert_string_equal(found.owner, OWNER_OF("a"));
    assert_string_equal(found.pool, "gpu,linux");
    assert_int_equal(found.capacity, 4);
    assert_true(found.is_alive);
}

SERVERS_TEST(one_that_is_silent_for_its_lease_is_not_alive)
{
    struct servers_world *world = *state;
    struct server_info one = server("one", OWNER_OF("a"));
    assert_int_equal(add(world, &one), 0);

    hand_clock_pass(&world->clock, SERVER_LEASE_NS - 1);
    assert_true(listed(world).is_alive);
    hand_clock_pass(&world->clock, 1);
    assert_false(listed(world).is_alive);
    assert_int_equal(add(world, &one), 0);
    assert_true(listed(world).is_alive);
}

SERVERS_TEST(a_living_one_keeps_its_name)
{
    struct servers_world *world = *state;
    struct server_info one = server("one", OWNER_OF("a"));
    struct server_info other = server("one", OWNER_OF("b"));
    struct rondo_error err = {0};
    assert_int_equal(add(world, &one), 0);

    assert_int_equal(server_register(world->store, &world->clock.clock, &other, &err),
                     RONDO_ERR_BUSY);

    assert_non_null(strstr(err.message, "name one is running already: process 7 on a"));
    assert_string_equal(listed(world).owner, OWNER_OF("a"));
}

SERVERS_TEST(a_silent_one_loses_its_name_and_learns_of_it)
{
    struct servers_world *world = *state;
    struct server_info one = server("one", OWNER_OF("a"));
    struct server_info other = server("one", OWNER_OF("b"));
    assert_int_equal(add(world, &one), 0);
    hand_clock_pass(&world->clock, SERVER_LEASE_NS);

    assert_int_equal(add(world, &other), 0);

    assert_int_equal(add(world, &one), RONDO_ERR_BUSY);
    assert_string_equal(listed(world).owner, OWNER_OF("b"));
    server_unregister(world->store, &one); /* Not its document any more. */
    assert_string_equal(listed(world).owner, OWNER_OF("b"));
}

SERVERS_TEST(one_that_was_not_seen_for_a_day_is_forgotten)
{
    struct servers_world *world = *state;
    struct server_info one = server("one", OWNER_OF("a"));
    struct server_info *list = NULL;
    size_t count = 0;
    assert_int_equal(add(world, &one), 0);
    for (int i = 0; i < 2; i++) {
        hand_clock_pass(&world->clock, i == 0 ? SERVER_KEEP_NS - 1 : 1);
        assert_int_equal(servers_read(world->store, &world->clock.clock, &list, &count, NULL), 0);
        assert_int_equal(count, 1);
        servers_forget_old(world->store, &world->clock.clock, list, count);
        free(list);
    }
    assert_int_equal(servers_read(world->store, &world->clock.clock, &list, &count, NULL), 0);
    assert_int_equal(count, 0);
    free(list);
}

SERVERS_TEST(one_that_ended_is_not_listed)
{
    struct servers_world *world = *state;
    struct server_info one = server("one", OWNER_OF("a"));
    struct server_info *list = NULL;
    size_t count = 1;
    assert_int_equal(add(world, &one), 0);

    server_unregister(world->store, &one);

    assert_int_equal(servers_read(world->store, &world->clock.clock, &list, &count, NULL), 0);
    assert_int_equal(count, 0);
    free(list);
}

TEST(a_name_that_nobody_gave_is_valid_and_unique)
{
    char one[LABEL_SIZE];
    char other[LABEL_SIZE];

    server_default_name(random_system(), one);
    server_default_name(random_system(), other);

    assert_true(label_is_valid(one, strlen(one)));
    assert_string_not_equal(one, other);
}

/** What a run waits for that nobody executes. @param owner that it had; "" = none */
static void check_waiting(struct servers_world *world, const char *owner,
                          const struct assignment *assignment, const char *expected)
{
    struct server_info *list = NULL;
    size_t count = 0;
    auto_buf struct buf text = {0};
    struct store_run run = {.summary.status = RONDO_RUNNING};
    snprintf(run.owner, sizeof(run.owner), "%s", owner);
    assert_int_equal(servers_read(world->store, &world->clock.clock, &list, &count, NULL), 0);

    servers_explain_waiting(world->store, list, count, &run, assignment, &text);

    assert_string_equal(buf_string(&text), expected);
    free(list);
}

SERVERS_TEST(a_run_waits_for_the_server_that_has_its_workspace)
{
    struct servers_world *world = *state;
    struct server_info gone = server("gone", OWNER_OF("a"));
    struct server_info here = server("here", OWNER_OF("b"));
    struct assignment assignment = {.state = ASSIGNMENT_QUEUED, .server = OWNER_OF("a")};
    assert_int_equal(add(world, &gone), 0);
    check_waiting(world, OWNER_OF("a"), NULL, ""); /* It lives, and takes it soon. */
    hand_clock_pass(&world->clock, SERVER_LEASE_NS);
    assert_int_equal(add(world, &here), 0);

    check_waiting(world, OWNER_OF("a"), NULL, "server gone");
    check_waiting(world, "", &assignment, "server gone");
    check_waiting(world, OWNER_OF("c"), NULL, "server c"); /* No server was there: the host. */
    check_waiting(world, OWNER_OF("b"), NULL, "");
    check_waiting(world, "", NULL, ""); /* It was parked, and a person continues it. */
}

SERVERS_TEST(a_run_waits_for_a_server_with_its_labels)
{
    struct servers_world *world = *state;
    struct server_info one = server("one", OWNER_OF("a"));
    struct assignment assignment = {.state = ASSIGNMENT_QUEUED, .server = OWNER_OF("a")};
    assert_int_equal(add(world, &one), 0);

    check_waiting(world, "", &assignment, "");
    snprintf(assignment.pool, sizeof(assignment.pool), "linux");
    check_waiting(world, "", &assignment, "");
    snprintf(assignment.pool, sizeof(assignment.pool), "linux,tpu");
    check_waiting(world, "", &assignment, "a server with the labels linux,tpu");
}
