// SPDX-License-Identifier: Apache-2.0
/*
 * The promise of lanes, in simulated time: 1,000 events, each a lane, of which 1 to 5 per cent need
 * a person who takes a random time, or never comes. The others never wait. What waits has bounds,
 * for each lane, agent and store; what does not fit is refused and never approved; when all is
 * decided or expired, nothing is left. The store is the one in memory, with many seeds.
 */
#include "handoff/inbox/inbox.h"

#include "base/clock.h"
#include "base/random.h"
#include "handoff/identity.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS  1000
#define AGENTS  4
#define SEEDS   8
#define MINUTE  (60 * NS_PER_S)
#define HOUR    (60 * MINUTE)
#define BEGIN   (1800000000 * NS_PER_S)
#define OPENING "{\"action\":{\"tool\":\"t\",\"args\":{}},\"agent\":{\"sdk\":\"x\"}}"

static const struct handoff_bounds small = {.per_lane = 2, .per_agent = 5, .per_store = 15};
static const char body_digest[] =
    "sha256:d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3";
static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";

/** An event: the lane in which it is worked on. */
struct played_lane {
    char request_id[ID_SIZE]; /* "" = it needs nobody */
    int64_t begun_ns;
    int64_t ended_ns;  /* 0 = not yet */
    int64_t person_ns; /* when the person decides; 0 = never */
    bool is_flagged;
    bool is_refused; /* there was no place */
};

struct lane_world {
    struct store *store;
    struct handoff_store handoffs;
    struct random random;
    struct played_lane lanes[EVENTS];
    int64_t now_ns;
    size_t flagged;
    size_t refused;
    size_t most_waiting;
    size_t approved;
};

static const char *agent_of(size_t event)
{
    static const char *const agents[AGENTS] = {"a", "b", "c", "d"};
    return agents[event % AGENTS];
}

/** The worker asks, and goes on to the next event whatever the answer is. */
static void ask(struct lane_world *world, size_t event)
{
    struct played_lane *lane = &world->lanes[event];
    struct handoff_result result;
    char name[32];
    snprintf(name, sizeof(name), "lane-%zu", event);
    snprintf(lane->request_id, ID_SIZE, "00000000-0000-5000-8000-%012zu", event);
    struct handoff_request request = {.request_id = lane->request_id,
                                      .agent_id = agent_of(event),
                                      .lane_id = name,
                                      .action_digest = action,
                                      .body_digest = body_digest,
                                      .risk = HANDOFF_HIGH,
                                      .priority = HANDOFF_HIGH,
                                      .is_foreign = true};
    assert_int_equal(
        handoff_submit(&world->handoffs, &request, OPENING, world->now_ns, &result, NULL), 0);
    lane->is_refused = result.outcome == HANDOFF_FULL;
    if (lane->is_refused) {
        lane->ended_ns = world->now_ns; /* Its action is not made. */
        world->refused++;
        return;
    }
    struct handoff handoff;
    assert_int_equal(inbox_route(&world->handoffs, lane->request_id, world->now_ns, &handoff, NULL),
                     0);
    bool never_comes = random_below(&world->random, 10) == 0;
    lane->person_ns =
        never_comes ? 0 : world->now_ns + (int64_t)random_below(&world->random, 30) * MINUTE;
}

static void begin(struct lane_world *world, size_t event, uint64_t percent)
{
    struct played_lane *lane = &world->lanes[event];
    lane->begun_ns = world->now_ns;
    lane->is_flagged = random_below(&world->random, 100) < percent;
    if (lane->is_flagged) {
        world->flagged++;
        ask(world, event);
    } else {
        lane->ended_ns = world->now_ns;
    }
}

/** The person decides when it is time for that; time itself may be faster. */
static void visit(struct lane_world *world, struct played_lane *lane)
{
    struct handoff handoff;
    struct inbox_result result;
    bool is_due = lane->person_ns != 0 && world->now_ns >= lane->person_ns;
    assert_int_equal(inbox_route(&world->handoffs, lane->request_id, world->now_ns, &handoff, NULL),
                     0);
    if (is_due && handoff_is_open(&handoff)) {
        struct inbox_decision decision = {
            .kind = random_below(&world->random, 4) == 0 ? HANDOFF_REJECT : HANDOFF_APPROVE,
            .by = "user:ann",
            .comment = "looked at it",
            .revision = handoff.revision,
            .action_digest = handoff.action_digest};
        assert_int_equal(inbox_decide(&world->handoffs, lane->request_id, &decision, world->now_ns,
                                      &result, NULL),
                         0);
        handoff = result.result.handoff;
    }
    if (!handoff_is_waiting(&handoff)) {
        world->approved += handoff.state == HANDOFF_APPROVED ? 1 : 0;
        lane->ended_ns = world->now_ns;
        assert_true(handoff.state != HANDOFF_APPROVED || is_due);
    }
}

/** @return how many wait */
static size_t visit_all(struct lane_world *world, size_t begun)
{
    size_t waiting = 0;
    for (size_t i = 0; i < begun; i++) {
        struct played_lane *lane = &world->lanes[i];
        if (lane->ended_ns == 0) {
            visit(world, lane);
            waiting += lane->ended_ns == 0 ? 1 : 0;
        }
    }
    return waiting;
}

static void check_counts(const struct lane_world *world, size_t waiting)
{
    struct handoff_counts counts;
    for (size_t i = 0; i < AGENTS; i++) {
        assert_int_equal(handoff_count_read(world->store, agent_of(i), "lane-0", &counts, NULL), 0);
        assert_true(counts.waiting[COUNT_AGENT] <= small.per_agent);
        assert_true(counts.waiting[COUNT_STORE] <= small.per_store);
        assert_int_equal(counts.waiting[COUNT_STORE], waiting);
    }
}

/** One load: an event each half minute. @param has_people else no event is flagged */
static void play(struct lane_world *world, uint64_t seed, uint64_t percent)
{
    memset(world->lanes, 0, sizeof(world->lanes));
    world->random = random_seeded(seed);
    world->now_ns = BEGIN;
    for (size_t i = 0; i < EVENTS; i++) {
        begin(world, i, percent);
        world->now_ns += MINUTE / 2;
        size_t waiting = visit_all(world, i + 1);
        world->most_waiting = waiting > world->most_waiting ? waiting : world->most_waiting;
        if (i % 50 == 0) {
            check_counts(world, waiting);
        }
    }
    for (int i = 0; i < 48 && visit_all(world, EVENTS) > 0; i++) {
        world->now_ns += HOUR;
    }
    check_counts(world, 0);
}

static int set_up(void **state)
{
    struct lane_world *world = calloc(1, sizeof(*world));
    world->store = store_memory_new(NULL);
    world->handoffs = (struct handoff_store){
        .store = world->store, .rules = &handoff_default_rules, .bounds = &small};
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct lane_world *world = *state;
    store_close(world->store);
    free(world);
    return 0;
}

/** Every lane that needs nobody ends when it begins, and every other one ends, too. */
static void check_lanes(const struct lane_world *world, uint64_t percent)
{
    for (size_t i = 0; i < EVENTS; i++) {
        const struct played_lane *lane = &world->lanes[i];
        assert_true(lane->ended_ns != 0);
        assert_true(lane->is_flagged || lane->ended_ns == lane->begun_ns);
    }
    assert_in_range(world->flagged, 1, EVENTS * percent / 50);
    assert_true(world->most_waiting <= small.per_store);
    assert_true(world->approved + world->refused <= world->flagged);
}

#define LANE_TEST(name) TEST_WITH(name, set_up, tear_down)

LANE_TEST(of_a_thousand_events_only_the_flagged_ones_wait)
{
    struct lane_world *world = *state;
    size_t approved = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        void *fresh = NULL;
        set_up(&fresh);
        play(fresh, seed, 1 + seed % 5);
        check_lanes(fresh, 1 + seed % 5);
        approved += ((struct lane_world *)fresh)->approved;
        tear_down(&fresh);
    }
    assert_true(approved > 0);
    (void)world;
}

LANE_TEST(a_flood_of_requests_is_bounded_and_refused_and_never_approved)
{
    struct lane_world *world = *state;
    play(world, 99, 60);
    assert_true(world->refused > 0);
    assert_true(world->most_waiting <= small.per_store);
    for (size_t i = 0; i < EVENTS; i++) {
        struct handoff handoff;
        if (world->lanes[i].is_refused) {
            assert_int_equal(
                handoff_read(&world->handoffs, world->lanes[i].request_id, &handoff, NULL),
                RONDO_ERR_NOT_FOUND);
        }
    }
}
