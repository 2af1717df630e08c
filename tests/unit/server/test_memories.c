// SPDX-License-Identifier: Apache-2.0
/* Memories over the API: who sees, adds and forgets which. */
#include "api_world.h"

#include "store/memories.h"

/** The id in an answer. @return static path of the memory */
static const char *path_of(const char *body)
{
    static char path[64];
    long long id = 0;
    const char *at = strstr(body, "\"id\":");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"id\":%lld", &id), 1);
    snprintf(path, sizeof(path), "/v1/memories/%lld", id);
    return path;
}

/** Add a memory. @return its path; static */
static const char *add(struct api_world *world, const char *agent, const char *content)
{
    struct api_reply answer;
    char body[256];
    snprintf(body, sizeof(body), "{\"agent\":\"%s\",\"content\":\"%s\",\"category\":\"Our Hosts\"}",
             agent, content);
    ask(world, "POST", "/v1/memories", world->operate, "", body, &answer);
    assert_int_equal(answer.status, 201);
    const char *path = path_of(answer.body);
    answer_fini(&answer);
    return path;
}

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

TEST(memories_are_added_shown_found_and_forgotten)
{
    struct api_world *world = *state;
    char path[64];
    snprintf(path, sizeof(path), "%s", add(world, "fixer", "The staging host is stage-2."));
    expect_body(world, path, world->read, "\"category\":\"our_hosts\"", true);
    expect_body(world, path, world->read, "\"source\":\"api\"", true);
    expect_body(world, "/v1/memories?agent=fixer", world->read, "stage-2", true);
    expect_body(world, "/v1/memories?agent=nobody", world->read, "stage-2", false);
    expect_body(world, "/v1/memories?kind=episodic", world->read, "stage-2", false);
    expect_body(world, "/v1/memories?q=staging", world->read, "\"score\":", true);
    expect_body(world, "/v1/memories?q=bananas", world->read, "stage-2", false);
    expect(world, "DELETE", path, world->read, "", "", 403);
    expect(world, "DELETE", path, world->operate, "", "", 204);
    expect(world, "DELETE", path, world->operate, "", "", 404);
    expect(world, "GET", path, world->read, "", "", 404);
}

TEST(a_token_for_other_agents_reaches_nothing)
{
    struct api_world *world = *state;
    char path[64];
    snprintf(path, sizeof(path), "%s", add(world, "fixer", "hidden from others"));
    expect_body(world, "/v1/memories", world->other, "hidden from others", false);
    expect_body(world, "/v1/memories?q=hidden", world->other, "hidden from others", false);
    expect_problem(world, "GET", path, world->other, "", "", "not_found");
    expect_problem(world, "DELETE", path, world->other, "", "", "not_found");
    expect_body(world, path, world->read, "hidden from others", true);
}

TEST(a_page_ends_where_the_next_one_begins)
{
    struct api_world *world = *state;
    char path[64];
    char query[96];
    add(world, "fixer", "page one");
    snprintf(path, sizeof(path), "%s", add(world, "fixer", "page two"));
    expect_body(world, "/v1/memories?agent=fixer&limit=1", world->read, "page two", true);
    expect_body(world, "/v1/memories?agent=fixer&limit=1", world->read, "page one", false);
    snprintf(query, sizeof(query), "/v1/memories?agent=fixer&limit=1&before=%s",
             strrchr(path, '/') + 1);
    expect_body(world, query, world->read, "page one", true);
    expect_body(world, query, world->read, "page two", false);
}

TEST(secrets_are_redacted)
{
    struct api_world *world = *state;
    char path[64];
    snprintf(path, sizeof(path), "%s",
             add(world, "fixer", "the token is ghp_0123456789abcdefghijklmnop"));
    expect_body(world, path, world->read, "the token is [redacted]", true);
}

TEST(what_makes_no_sense_is_refused)
{
    struct api_world *world = *state;
    static const char *const bodies[] = {"{}",
                                         "{\"agent\":\"fixer\"}",
                                         "{\"agent\":\"fixer\",\"content\":\" \"}",
                                         "{\"agent\":\"\",\"content\":\"x\"}",
                                         "{\"agent\":\"fixer\",\"content\":\"x\",\"kind\":\"y\"}",
                                         "{\"agent\":\"fixer\",\"content\":\"x\",\"id\":7}"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        expect(world, "POST", "/v1/memories", world->operate, "", bodies[i], 422);
    }
    expect(world, "POST", "/v1/memories", world->read, "",
           "{\"agent\":\"fixer\",\"content\":\"x\"}", 403);
    expect(world, "GET", "/v1/memories?kind=dreams", world->read, "", "", 400);
    expect(world, "GET", "/v1/memories?before=x", world->read, "", "", 400);
    expect(world, "GET", "/v1/memories?q=x&before=7", world->read, "", "", 400);
    expect(world, "GET", "/v1/memories/none", world->read, "", "", 404);
}

int main(void)
{
    return test_run(world_setup, world_teardown);
}
