// SPDX-License-Identifier: Apache-2.0
/* Conversations over the API: who sees them, and that they can be forgotten. */
#include "api_world.h"

#include "source/conversation/conversation.h"

/** Enter a turn of an agent's conversation. @return the conversation's path */
static const char *enter(struct api_world *world, const char *agent, const char *run_id)
{
    static char path[200];
    char id[CONVERSATION_ID_SIZE];
    char before[ID_SIZE];
    struct start_request request = {.mode = START_CONVERSATION,
                                    .received_ns = NS_PER_S,
                                    .kind = (char *)"webhook",
                                    .conversation = (char *)"17"};
    snprintf(request.id, sizeof(request.id), "%s", run_id);
    snprintf(request.role, sizeof(request.role), "%s", agent);
    snprintf(request.source, sizeof(request.source), "%s/webhook-1", agent);
    assert_int_equal(conversation_enter(world->store, &request, NULL, NULL, before, NULL), 0);
    conversation_id(agent, request.source, request.conversation, id);
    snprintf(path, sizeof(path), "/v1/conversations/%s", id);
    return path;
}

#define RUN "01890000-0000-7000-8000-000000000001"

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

TEST(conversations_are_listed_for_those_who_reach_their_agent)
{
    struct api_world *world = *state;
    enter(world, "fixer", RUN);
    expect_body(world, "/v1/conversations", world->read, "\"key\":\"17\"", true);
    expect_body(world, "/v1/conversations?agent=fixer", world->read, "\"turns\":1", true);
    expect_body(world, "/v1/conversations?agent=nobody", world->read, "fixer", false);
    expect_body(world, "/v1/conversations", world->other, "fixer", false);
}

TEST(one_is_shown_with_its_turns_though_their_runs_are_gone)
{
    struct api_world *world = *state;
    const char *path = enter(world, "fixer", RUN);
    expect_body(world, path, world->read, "\"run_id\":\"" RUN "\",\"status\":\"deleted\"", true);
    expect_problem(world, "GET", path, world->other, "", "", "not_found");
    expect_problem(world, "GET", "/v1/conversations/nothing", world->read, "", "", "not_found");
}

TEST(one_is_forgotten_by_those_who_may)
{
    struct api_world *world = *state;
    struct api_reply answer;
    const char *path = enter(world, "fixer", RUN);
    expect_problem(world, "DELETE", path, world->other, "", "", "not_found");
    expect_problem(world, "DELETE", path, world->read, "", "", "forbidden");
    ask(world, "DELETE", path, world->operate, "", "", &answer);
    assert_int_equal(answer.status, 204);
    answer_fini(&answer);
    expect_problem(world, "GET", path, world->read, "", "", "not_found");
}

int main(void)
{
    return test_run(world_setup, world_teardown);
}
