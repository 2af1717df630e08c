// SPDX-License-Identifier: Apache-2.0
/* The desk file of a server: who is told when it is wrong, and when its desks cannot keep up. */
#include "orchestrator_world.h"

#include "handoff/inbox/inbox.h"

/* ---- Desks ---------------------------------------------------------------------------------- */

struct notices {
    size_t count;
    char data[1024];
};

static bool take_notice(const struct store_document *document, void *context)
{
    struct notices *notices = context;
    notices->count++;
    snprintf(notices->data, sizeof(notices->data), "%s", document->data);
    return true;
}

static struct notices read_notices(struct orchestrator_world *world)
{
    struct store_document_query query = {.collection = "notice"};
    struct notices notices = {0};
    assert_int_equal(
        world->store->ops->read_documents(world->store, &query, take_notice, &notices, NULL), 0);
    return notices;
}

/** Two servers see the same mistake: people are warned once. */
WORLD_TEST(people_are_warned_of_a_wrong_desk_file)
{
    struct orchestrator_world *world = *state;
    static const char wrong[] = "format: 1\ndesks: {a: {escalates_to: b}}\n";
    char path[128];
    world_path(world, "desks.yaml", path, sizeof(path));
    assert_int_equal(file_replace_durably(path, wrong, strlen(wrong), NULL), 0);
    world_start(world);
    int64_t end_ns = clock_monotonic(clock_system()) + DEADLINE_NS;
    struct notices notices = read_notices(world);
    while (notices.count == 0 && clock_monotonic(clock_system()) < end_ns) {
        usleep(20000);
        notices = read_notices(world);
    }
    assert_int_equal(notices.count, 1);
    assert_non_null(strstr(notices.data, "\"kind\":\"policy_refused\""));
    assert_non_null(strstr(notices.data, "there is no desk"));
    world_restart(world);
    usleep(300000);
    assert_int_equal(read_notices(world).count, 1);
}

static struct handoff read_handoff(struct orchestrator_world *world, const char *id)
{
    struct handoff_store handoffs = runtime_handoffs(world->runtime);
    struct handoff handoff;
    assert_int_equal(handoff_read(&handoffs, id, &handoff, NULL), 0);
    return handoff;
}

WORLD_TEST(when_too_many_wait_for_long_they_are_escalated_once)
{
    struct orchestrator_world *world = *state;
    static const char desks[] = "format: 1\npeople: {ann: {roles: [b]}}\n"
                                "desks: {operators: {escalates_to: leads}, leads: {roles: [b]}}\n"
                                "lanes: {per_store: 5}\n";
    static const char digest[] =
        "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";
    char path[128];
    char id[ID_SIZE];
    world_path(world, "desks.yaml", path, sizeof(path));
    assert_int_equal(file_replace_durably(path, desks, strlen(desks), NULL), 0);
    struct handoff_store handoffs = runtime_handoffs(world->runtime);
    world->options.overload_ns = 200 * NS_PER_MS;
    for (int i = 0; i < 5; i++) {
        char lane[16];
        struct handoff_result result;
        struct handoff handoff;
        snprintf(id, sizeof(id), "e6a19e20-f630-5f7a-91bd-%012d", i);
        snprintf(lane, sizeof(lane), "lane-%d", i);
        struct handoff_request request = {.request_id = id,
                                          .agent_id = "agent",
                                          .lane_id = lane,
                                          .action_digest = digest,
                                          .body_digest = digest,
                                          .risk = HANDOFF_CRITICAL,
                                          .is_foreign = true};
        int64_t now_ns = clock_now(clock_system());
        assert_int_equal(handoff_submit(&handoffs, &request, "{}", now_ns, &result, NULL), 0);
        assert_int_equal(result.outcome, HANDOFF_DONE);
        assert_int_equal(inbox_route(&handoffs, id, now_ns, &handoff, NULL), 0);
        if (i == 3) { /* Four of five are not too many. */
            world_start(world);
            usleep(500000);
            assert_int_equal(read_handoff(world, id).escalation_level, 0);
        }
    }
    int64_t end_ns = clock_monotonic(clock_system()) + DEADLINE_NS;
    while (read_handoff(world, id).escalation_level == 0 &&
           clock_monotonic(clock_system()) < end_ns) {
        usleep(20000);
    }
    usleep(400000);
    struct handoff escalated = read_handoff(world, id);
    assert_int_equal(escalated.state, HANDOFF_ESCALATED);
    assert_int_equal(escalated.escalation_level, 1);
}
