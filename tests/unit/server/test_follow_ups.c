// SPDX-License-Identifier: Apache-2.0
/* Follow-ups over the API: who sees them, what can be changed, and what is refused. */
#include "api_world.h"

#include "agent/follow_up.h"

/** Schedule a run of an agent. @return its path */
static const char *schedule(struct api_world *world, const char *agent, const char *key)
{
    static char path[64];
    const struct follow_up_limits limits = {.per_run = 100, .total = 100};
    enum follow_up_outcome outcome;
    struct follow_up follow_up = {
        .asked_by = "run-1", .due_ns = NS_PER_S, .depth = 1, .prompt = (char *)"look"};
    snprintf(follow_up.agent, sizeof(follow_up.agent), "%s", agent);
    follow_up_id(key, follow_up.id);
    assert_int_equal(follow_up_add(world->store, &follow_up, &limits, &outcome, NULL), 0);
    snprintf(path, sizeof(path), "/v1/follow-ups/%s", follow_up.id);
    return path;
}

/** Expect an answer that holds a text, or lacks it. */
static void expect_body(struct api_world *world, const char *path, const char *token,
                        const char *text, bool is_there)
{
    struct api_reply answer;
    ask(world, "GET", path, token, "", "", &answer);
    assert_int_equal(answer.status, 200);
    if ((strstr(answer.body, text) != NULL) != is_there) {
        fail_msg("%s", answer.body);
    }
    answer_fini(&answer);
}

TEST(follow_ups_are_listed_for_those_who_reach_their_agent)
{
    struct api_world *world = *state;
    schedule(world, "fixer", "listed");
    expect_body(world, "/v1/follow-ups", world->read, "\"agent\":\"fixer\"", true);
    expect_body(world, "/v1/follow-ups?agent=fixer", world->operate, "\"agent\":\"fixer\"", true);
    expect_body(world, "/v1/follow-ups?agent=nobody", world->read, "fixer", false);
    expect_body(world, "/v1/follow-ups", world->other, "fixer", false);
}

TEST(one_that_the_caller_does_not_reach_is_not_found)
{
    struct api_world *world = *state;
    const char *path = schedule(world, "fixer", "hidden");
    expect_problem(world, "GET", path, world->other, "", "", "not_found");
    expect_problem(world, "POST", path, world->other, "", "{\"prompt\":\"x\"}", "not_found");
    expect_body(world, path, world->operate, "\"prompt\":\"look\"", true);
}

TEST(one_is_changed_and_then_cancelled_and_nothing_after_that)
{
    struct api_world *world = *state;
    char cancel[80];
    const char *path = schedule(world, "fixer", "changed");
    snprintf(cancel, sizeof(cancel), "%s/cancel", path);
    expect(world, "POST", path, world->operate, "",
           "{\"due\":\"2030-01-02T03:04:05Z\",\"prompt\":\"again\"}", 200);
    expect_body(world, path, world->read, "\"due\":\"2030-01-02T03:04:05.000Z\"", true);
    expect_body(world, path, world->read, "\"prompt\":\"again\"", true);
    expect(world, "POST", cancel, world->read, "", "", 403);
    expect(world, "POST", cancel, world->operate, "", "", 200);
    expect_body(world, path, world->read, "\"state\":\"cancelled\"", true);
    expect(world, "POST", cancel, world->operate, "", "", 409);
    expect(world, "POST", path, world->operate, "", "{\"prompt\":\"x\"}", 409);
    expect_body(world, "/v1/follow-ups", world->read, "again", false);
    expect_body(world, "/v1/follow-ups?all=true", world->read, "again", true);
}

TEST(a_change_that_makes_no_sense_is_refused)
{
    struct api_world *world = *state;
    static const char *const bodies[] = {"{}", "{\"due\":\"soon\"}", "{\"due\":7}",
                                         "{\"due\":\"9999-01-01T00:00:00Z\"}",
                                         "{\"state\":\"started\"}"};
    const char *path = schedule(world, "fixer", "refused");
    for (size_t i = 0; i < COUNT(bodies); i++) {
        expect(world, "POST", path, world->operate, "", bodies[i], 422);
    }
    expect(world, "GET", "/v1/follow-ups?all=perhaps", world->read, "", "", 400);
}

int main(void)
{
    return test_run(world_setup, world_teardown);
}
