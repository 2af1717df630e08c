// SPDX-License-Identifier: Apache-2.0
/* The time of handoffs: clocks that are set, servers that start, processes beside them. */
#include "handoff/storage/clock.h"

#include "handoff/desks/desks.h"
#include "handoff/inbox/inbox.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define HOUR  (3600 * NS_PER_S)
#define YEAR  (365 * 24 * HOUR)
#define BEGIN (1800000000 * NS_PER_S)

/** A machine whose wall clock can be set. */
struct machine {
    struct clock clock;
    int64_t wall_ns;
    int64_t steady_ns;
    struct store *store;
};

static int64_t read_wall(const struct clock *clock)
{
    return ((const struct machine *)clock->context)->wall_ns;
}

static int64_t read_steady(const struct clock *clock)
{
    return ((const struct machine *)clock->context)->steady_ns;
}

static void pass(struct machine *machine, int64_t duration_ns)
{
    machine->wall_ns += duration_ns;
    machine->steady_ns += duration_ns;
}

static void begin(struct machine *machine)
{
    *machine = (struct machine){.wall_ns = BEGIN, .steady_ns = HOUR};
    machine->clock =
        (struct clock){.now_ns = read_wall, .monotonic_ns = read_steady, .context = machine};
    machine->store = store_memory_new(NULL);
}

static struct handoff_store handoffs_of(struct machine *machine, struct handoff_clock *clock)
{
    struct handoff_store handoffs = desks_store(machine->store, NULL);
    handoff_clock_init(clock, machine->store, &machine->clock);
    handoffs.clock = clock;
    return handoffs;
}

TEST(a_clock_that_is_set_changes_nothing)
{
    struct machine machine;
    struct handoff_clock clock;
    (void)state;
    begin(&machine);
    struct handoff_store handoffs = handoffs_of(&machine, &clock);
    assert_int_equal(handoff_clock_begin(&clock, NULL), 0);
    assert_int_equal(handoff_now(&handoffs), BEGIN);
    machine.wall_ns += YEAR;
    pass(&machine, HOUR);
    assert_int_equal(handoff_now(&handoffs), BEGIN + HOUR);
    machine.wall_ns -= 3 * YEAR;
    assert_int_equal(handoff_now(&handoffs), BEGIN + HOUR);
    store_close(machine.store);
}

TEST(processes_beside_a_server_have_its_time_and_those_of_another_boot_have_not)
{
    struct machine machine;
    struct handoff_clock server, beside, later;
    (void)state;
    begin(&machine);
    handoffs_of(&machine, &server);
    assert_int_equal(handoff_clock_begin(&server, NULL), 0);
    machine.wall_ns += YEAR;
    struct handoff_store handoffs = handoffs_of(&machine, &beside);
    assert_int_equal(handoff_now(&handoffs), BEGIN);
    handoffs = handoffs_of(&machine, &later);
    snprintf(later.boot, sizeof(later.boot), "another");
    assert_int_equal(handoff_now(&handoffs), BEGIN + YEAR);
    store_close(machine.store);
}

TEST(a_server_that_starts_anew_takes_the_clock_as_it_is)
{
    struct machine machine;
    struct handoff_clock first, second;
    (void)state;
    begin(&machine);
    handoffs_of(&machine, &first);
    assert_int_equal(handoff_clock_begin(&first, NULL), 0);
    machine.wall_ns += YEAR;
    struct handoff_store handoffs = handoffs_of(&machine, &second);
    assert_int_equal(handoff_clock_begin(&second, NULL), 0);
    assert_int_equal(handoff_now(&handoffs), BEGIN + YEAR);
    store_close(machine.store);
}

TEST(a_request_waits_as_long_as_it_should_whatever_the_clock_says)
{
    static const char action[] =
        "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";
    struct machine machine;
    struct handoff_clock clock;
    struct handoff_result result;
    struct handoff handoff;
    (void)state;
    begin(&machine);
    struct handoff_store handoffs = handoffs_of(&machine, &clock);
    struct handoff_request request = {.request_id = "e6a19e20-f630-5f7a-91bd-71be0c3eae0d",
                                      .agent_id = "agent",
                                      .lane_id = "lane",
                                      .action_digest = action,
                                      .body_digest = action,
                                      .priority = HANDOFF_HIGH};
    assert_int_equal(handoff_clock_begin(&clock, NULL), 0);
    assert_int_equal(
        handoff_submit(&handoffs, &request, "{}", handoff_now(&handoffs), &result, NULL), 0);
    machine.wall_ns += YEAR;
    pass(&machine, HOUR);
    assert_int_equal(
        inbox_route(&handoffs, request.request_id, handoff_now(&handoffs), &handoff, NULL), 0);
    assert_true(handoff_is_open(&handoff));
    machine.wall_ns -= 2 * YEAR;
    pass(&machine, 4 * HOUR);
    assert_int_equal(
        handoff_wake(&handoffs, request.request_id, handoff_now(&handoffs), &result, NULL), 0);
    assert_int_equal(result.handoff.state, HANDOFF_EXPIRED);
    store_close(machine.store);
}
