// SPDX-License-Identifier: Apache-2.0
/* Which run a turn of a conversation follows, over crashes, pauses and deleted runs. */
#include "../intake_world.h"
#include "source/conversation/conversation.h"

#define TEST_IN_WORLD(name) TEST_WITH(name, make_world, end_world)

#define RUN(n) "01890000-0000-7000-8000-0000000000" n

struct turn {
    const char *run;
    const char *key; /* NULL = "a" */
    int64_t at_s;
    int64_t idle_s;
};

static struct start_request request_of(struct turn turn)
{
    struct start_request request = {
        .mode = START_CONVERSATION,
        .received_ns = turn.at_s * NS_PER_S,
        .kind = (char *)"test",
        .conversation = (char *)(turn.key == NULL ? "a" : turn.key),
        .idle_s = turn.idle_s,
    };
    snprintf(request.id, sizeof(request.id), "%s", turn.run);
    snprintf(request.role, sizeof(request.role), "fixer");
    snprintf(request.source, sizeof(request.source), "fixer/test-1");
    return request;
}

/** Enter a turn. The run before it must be the one that is expected. */
static void enter(struct intake_world *world, struct turn turn, const char *expected)
{
    struct rondo_error err = {0};
    char before[ID_SIZE] = "?";
    const struct start_request request = request_of(turn);
    if (conversation_enter(world->store, &request, NULL, NULL, before, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(before, expected);
}

/** Its run is created, and ends at a time; 0 = it does not. */
static void run_exists(struct intake_world *world, const char *id, int64_t ended_s)
{
    struct store_run run = {.summary.status = ended_s == 0 ? RONDO_RUNNING : RONDO_COMPLETED};
    struct store_claim claim = {.owner = world->owner, .lease_ns = NS_PER_S};
    struct store_claim_result claimed;
    struct store_commit_result result;
    const struct store_event event = {.type = "run.finished", .data = "{}", .data_len = 2};
    const struct store_batch batch = {.run_id = id,
                                      .epoch = 1,
                                      .first_seq = 1,
                                      .events = &event,
                                      .event_count = 1,
                                      .summary.status = run.summary.status};
    const struct store_batch *const batches[] = {&batch};
    struct store *store = world->store;
    int64_t now_ns = world->now_ns;
    memcpy(run.id, id, ID_SIZE);
    snprintf(run.agent_id, sizeof(run.agent_id), "fixer");
    world->now_ns = ended_s * NS_PER_S;
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &claimed, NULL), 0);
    assert_int_equal(store->ops->commit(store, batches, 1, &result, NULL), 0);
    world->now_ns = now_ns;
}

/** The conversation "a". */
static struct conversation find_first(struct intake_world *world)
{
    struct conversation found = {0};
    char id[CONVERSATION_ID_SIZE];
    conversation_id("fixer", "fixer/test-1", "a", id);
    assert_int_equal(conversation_find(world->store, id, &found, NULL), 1);
    return found;
}

TEST_IN_WORLD(each_turn_follows_the_one_before)
{
    struct intake_world *world = *state;
    enter(world, (struct turn){.run = RUN("01"), .at_s = 10}, "");
    run_exists(world, RUN("01"), 11);
    enter(world, (struct turn){.run = RUN("02"), .at_s = 20}, RUN("01"));
    run_exists(world, RUN("02"), 21);
    enter(world, (struct turn){.run = RUN("03"), .at_s = 30}, RUN("02"));
    struct conversation found = find_first(world);
    assert_int_equal(found.turns, 3);
    assert_int_equal(found.begun_ns, 10 * NS_PER_S);
    assert_int_equal(found.last_ns, 30 * NS_PER_S);
    assert_string_equal(found.key, "a");
    assert_string_equal(found.kind, "test");
    conversation_fini(&found);
}

TEST_IN_WORLD(conversations_are_apart)
{
    struct intake_world *world = *state;
    enter(world, (struct turn){.run = RUN("01"), .key = "a"}, "");
    run_exists(world, RUN("01"), 1);
    enter(world, (struct turn){.run = RUN("02"), .key = "b"}, "");
    assert_int_equal(world_count(world, CONVERSATION_COLLECTION), 2);
}

TEST_IN_WORLD(a_start_that_is_repeated_enters_its_turn_once)
{
    struct intake_world *world = *state;
    enter(world, (struct turn){.run = RUN("01")}, "");
    enter(world, (struct turn){.run = RUN("01")}, "");
    run_exists(world, RUN("01"), 1);
    enter(world, (struct turn){.run = RUN("02")}, RUN("01"));
    enter(world, (struct turn){.run = RUN("02")}, RUN("01"));
    struct conversation found = find_first(world);
    assert_int_equal(found.turns, 2);
    conversation_fini(&found);
}

TEST_IN_WORLD(a_turn_that_never_became_a_run_is_passed_over)
{
    struct intake_world *world = *state;
    enter(world, (struct turn){.run = RUN("01")}, "");
    run_exists(world, RUN("01"), 1);
    enter(world, (struct turn){.run = RUN("02")}, RUN("01"));
    enter(world, (struct turn){.run = RUN("03")}, RUN("01"));
}

TEST_IN_WORLD(a_conversation_that_was_quiet_for_longer_begins_anew)
{
    struct intake_world *world = *state;
    enter(world, (struct turn){.run = RUN("01"), .at_s = 10, .idle_s = 60}, "");
    run_exists(world, RUN("01"), 20);
    enter(world, (struct turn){.run = RUN("02"), .at_s = 80, .idle_s = 60}, RUN("01"));
    run_exists(world, RUN("02"), 90);
    enter(world, (struct turn){.run = RUN("03"), .at_s = 151, .idle_s = 60}, "");
    struct conversation found = find_first(world);
    assert_int_equal(found.turns, 1);
    assert_int_equal(found.begun_ns, 151 * NS_PER_S);
    conversation_fini(&found);
}

TEST_IN_WORLD(a_repeated_start_does_not_find_the_conversation_over)
{
    struct intake_world *world = *state;
    enter(world, (struct turn){.run = RUN("01"), .at_s = 10, .idle_s = 60}, "");
    run_exists(world, RUN("01"), 20);
    enter(world, (struct turn){.run = RUN("02"), .at_s = 1000, .idle_s = 0}, RUN("01"));
    enter(world, (struct turn){.run = RUN("02"), .at_s = 1000, .idle_s = 60}, RUN("01"));
}

TEST_IN_WORLD(an_answer_that_takes_long_does_not_end_a_conversation)
{
    struct intake_world *world = *state;
    enter(world, (struct turn){.run = RUN("01"), .at_s = 10, .idle_s = 60}, "");
    run_exists(world, RUN("01"), 0);
    enter(world, (struct turn){.run = RUN("02"), .at_s = 5000, .idle_s = 60}, RUN("01"));
}

TEST_IN_WORLD(the_document_lists_the_last_runs_only)
{
    struct intake_world *world = *state;
    char id[ID_SIZE];
    for (int i = 0; i <= LIMIT_CONVERSATION_RUNS; i++) {
        snprintf(id, sizeof(id), "01890000-0000-7000-8000-%012d", i);
        const struct start_request request = request_of((struct turn){.run = id});
        char before[ID_SIZE];
        assert_int_equal(conversation_enter(world->store, &request, NULL, NULL, before, NULL), 0);
        run_exists(world, id, 1);
    }
    struct conversation found = find_first(world);
    assert_int_equal(found.turns, LIMIT_CONVERSATION_RUNS + 1);
    assert_int_equal(found.run_count, LIMIT_CONVERSATION_RUNS);
    conversation_fini(&found);
}

TEST_IN_WORLD(the_conversation_that_was_used_least_recently_makes_room)
{
    struct intake_world *world = *state;
    char key[16];
    char id[CONVERSATION_ID_SIZE];
    for (int i = 0; i < LIMIT_CONVERSATIONS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        enter(world, (struct turn){.run = RUN("01"), .key = key, .at_s = 1000 + i}, "");
    }
    run_exists(world, RUN("01"), 1);
    enter(world, (struct turn){.run = RUN("02"), .key = "0", .at_s = 5000}, RUN("01"));
    assert_int_equal(world_count(world, CONVERSATION_COLLECTION), LIMIT_CONVERSATIONS);
    enter(world, (struct turn){.run = RUN("03"), .key = "new", .at_s = 5001}, "");
    assert_int_equal(world_count(world, CONVERSATION_COLLECTION), LIMIT_CONVERSATIONS);
    conversation_id("fixer", "fixer/test-1", "1", id);
    assert_int_equal(conversation_forget(world->store, id, NULL), 0);
    conversation_id("fixer", "fixer/test-1", "0", id);
    assert_int_equal(conversation_forget(world->store, id, NULL), 1);
}

TEST_IN_WORLD(a_conversation_that_is_forgotten_begins_anew)
{
    struct intake_world *world = *state;
    char id[CONVERSATION_ID_SIZE];
    enter(world, (struct turn){.run = RUN("01")}, "");
    run_exists(world, RUN("01"), 1);
    conversation_id("fixer", "fixer/test-1", "a", id);
    assert_int_equal(conversation_forget(world->store, id, NULL), 1);
    enter(world, (struct turn){.run = RUN("02")}, "");
}

TEST_IN_WORLD(a_document_that_cannot_be_read_is_replaced)
{
    struct intake_world *world = *state;
    char id[CONVERSATION_ID_SIZE];
    bool is_applied = false;
    conversation_id("fixer", "fixer/test-1", "a", id);
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = CONVERSATION_COLLECTION,
                                        .key = id,
                                        .data = "[]",
                                        .data_len = 2,
                                        .if_version = 0};
    assert_int_equal(
        world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL), 0);
    enter(world, (struct turn){.run = RUN("01")}, "");
    run_exists(world, RUN("01"), 1);
    enter(world, (struct turn){.run = RUN("02")}, RUN("01"));
}

static int always(void *context, const char *run_id, struct rondo_error *err)
{
    (void)err;
    *(const char **)context = run_id[0] == '\0' ? NULL : "asked";
    return 1;
}

TEST_IN_WORLD(a_turn_waits_for_the_one_before_on_whichever_server)
{
    struct intake_world *world = *state;
    char before[ID_SIZE] = "";
    const char *asked = NULL;
    const struct start_request second = request_of((struct turn){.run = RUN("02"), .at_s = 20});
    enter(world, (struct turn){.run = RUN("01"), .at_s = 10}, "");
    assert_int_equal(conversation_enter(world->store, &second, always, &asked, before, NULL),
                     RONDO_ERR_BUSY);
    assert_non_null(asked);
    run_exists(world, RUN("01"), 15);
    enter(world, (struct turn){.run = RUN("02"), .at_s = 20}, RUN("01"));
    /* One that has entered is not early for itself. */
    assert_int_equal(conversation_enter(world->store, &second, always, &asked, before, NULL), 0);
}
