// SPDX-License-Identifier: Apache-2.0
/* Documents of follow-ups: added once, within limits, changed, cancelled, purged. */
#include "agent/follow_up.h"

#include "../../support/store/memory_store.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct follow_up_limits limits = {.per_run = 3, .total = 5};

static int make_store(void **state)
{
    *state = store_memory_new(NULL);
    return 0;
}

static int close_store(void **state)
{
    store_close(*state);
    return 0;
}

#define TEST_STORE(name) TEST_WITH(name, make_store, close_store)

/** Add the follow-up of a call; the due time is the length of its key. */
static enum follow_up_outcome add(struct store *store, const char *run, const char *key)
{
    struct rondo_error err = {0};
    enum follow_up_outcome outcome = FOLLOW_UP_ADDED;
    struct follow_up follow_up = {
        .agent = "fixer", .due_ns = (int64_t)strlen(key), .depth = 1, .prompt = (char *)"look"};
    follow_up_id(key, follow_up.id);
    snprintf(follow_up.asked_by, sizeof(follow_up.asked_by), "%s", run);
    if (follow_up_add(store, &follow_up, &limits, &outcome, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return outcome;
}

static bool count_pending(const struct follow_up *follow_up, void *context)
{
    *(int *)context += follow_up->state == FOLLOW_UP_PENDING;
    return true;
}

static int pending(struct store *store)
{
    int count = 0;
    assert_int_equal(follow_ups_read(store, "fixer", count_pending, &count, NULL), 0);
    return count;
}

TEST_STORE(a_call_that_is_repeated_adds_one_follow_up)
{
    assert_int_equal(add(*state, "run-1", "call"), FOLLOW_UP_ADDED);
    assert_int_equal(add(*state, "run-1", "call"), FOLLOW_UP_ADDED);
    assert_int_equal(pending(*state), 1);
}

TEST_STORE(a_repeated_call_is_answered_alike_at_the_limit)
{
    add(*state, "run-1", "a");
    add(*state, "run-1", "b");
    add(*state, "run-1", "c");
    assert_int_equal(add(*state, "run-1", "c"), FOLLOW_UP_ADDED);
    assert_int_equal(add(*state, "run-1", "d"), FOLLOW_UP_RUN_LIMIT);
}

TEST_STORE(limits_hold_for_a_run_and_for_the_agent)
{
    static const char *const keys[] = {"a", "b", "c"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_int_equal(add(*state, "run-1", keys[i]), FOLLOW_UP_ADDED);
    }
    assert_int_equal(add(*state, "run-1", "d"), FOLLOW_UP_RUN_LIMIT);
    assert_int_equal(add(*state, "run-2", "e"), FOLLOW_UP_ADDED);
    assert_int_equal(add(*state, "run-2", "f"), FOLLOW_UP_ADDED);
    assert_int_equal(add(*state, "run-3", "g"), FOLLOW_UP_TOTAL_LIMIT);
}

TEST_STORE(a_cancelled_one_makes_room_for_the_agent_and_not_for_its_run)
{
    char id[FOLLOW_UP_ID_SIZE];
    const struct follow_up_change cancel = {.is_cancelled = true};
    add(*state, "run-1", "a");
    add(*state, "run-1", "b");
    add(*state, "run-1", "c");
    add(*state, "run-2", "d");
    add(*state, "run-2", "e");
    follow_up_id("a", id);
    assert_int_equal(follow_up_apply(*state, id, &cancel, NULL), 0);
    assert_int_equal(add(*state, "run-1", "f"), FOLLOW_UP_RUN_LIMIT);
    assert_int_equal(add(*state, "run-3", "g"), FOLLOW_UP_ADDED);
}

static bool count_all(const struct follow_up *follow_up, void *context)
{
    assert_int_equal(follow_up->state, FOLLOW_UP_PENDING);
    ++*(int *)context;
    return true;
}

TEST_STORE(pending_ones_are_read_without_those_that_only_speak_of_it)
{
    char id[FOLLOW_UP_ID_SIZE];
    int count = 0;
    const struct follow_up_change speaks = {.prompt = "\"state\":\"pending\""};
    const struct follow_up_change cancel = {.is_cancelled = true};
    add(*state, "run-1", "a");
    add(*state, "run-1", "b");
    add(*state, "run-2", "c");
    follow_up_id("b", id);
    assert_int_equal(follow_up_apply(*state, id, &speaks, NULL), 0);
    assert_int_equal(follow_up_apply(*state, id, &cancel, NULL), 0);
    assert_int_equal(follow_ups_read_pending(*state, "fixer", count_all, &count, NULL), 0);
    assert_int_equal(count, 2);
}

TEST_STORE(a_pending_one_can_be_changed_and_a_cancelled_one_not)
{
    char id[FOLLOW_UP_ID_SIZE];
    struct follow_up found = {0};
    const struct follow_up_change change = {.due_ns = 77, .prompt = "look again"};
    const struct follow_up_change cancel = {.is_cancelled = true};
    add(*state, "run-1", "a");
    follow_up_id("a", id);
    assert_int_equal(follow_up_apply(*state, id, &change, NULL), 0);
    assert_int_equal(follow_up_find(*state, id, &found, NULL), 1);
    assert_int_equal(found.due_ns, 77);
    assert_string_equal(found.prompt, "look again");
    follow_up_fini(&found);
    assert_int_equal(follow_up_apply(*state, id, &cancel, NULL), 0);
    assert_int_equal(follow_up_apply(*state, id, &change, NULL), RONDO_ERR_STATE);
    assert_int_equal(follow_up_apply(*state, "ffffffffffff", &change, NULL), RONDO_ERR_NOT_FOUND);
}

TEST_STORE(a_prompt_has_a_largest_size)
{
    char id[FOLLOW_UP_ID_SIZE];
    size_t size = LIMIT_FOLLOW_UP_PROMPT_BYTES;
    char *prompt = memory_new_zero(size + 2, 1);
    memset(prompt, 'x', size + 1);
    const struct follow_up_change change = {.prompt = prompt};
    add(*state, "run-1", "a");
    follow_up_id("a", id);
    assert_int_equal(follow_up_apply(*state, id, &change, NULL), RONDO_ERR_LIMIT);
    prompt[size] = '\0';
    assert_int_equal(follow_up_apply(*state, id, &change, NULL), 0);
    free(prompt);
}

TEST_STORE(what_is_settled_is_purged_and_what_is_pending_stays)
{
    char id[FOLLOW_UP_ID_SIZE];
    struct follow_up found = {0};
    const struct follow_up_change cancel = {.is_cancelled = true};
    add(*state, "run-1", "a");
    add(*state, "run-1", "b");
    follow_up_id("a", id);
    assert_int_equal(follow_up_apply(*state, id, &cancel, NULL), 0);
    assert_int_equal(follow_ups_purge(*state, "fixer", 0, NULL), 0);
    assert_int_equal(follow_up_find(*state, id, &found, NULL), 1);
    follow_up_fini(&found);
    assert_int_equal(follow_ups_purge(*state, "fixer", INT64_MAX, NULL), 0);
    assert_int_equal(follow_up_find(*state, id, &found, NULL), 0);
    assert_int_equal(pending(*state), 1);
}

struct adder {
    struct store *store;
    int number;
};

static void *add_many(void *context)
{
    const struct adder *adder = context;
    for (int i = 0; i < 3; i++) {
        char run[16];
        char key[32];
        enum follow_up_outcome outcome;
        struct follow_up follow_up = {.agent = "fixer", .depth = 1, .prompt = (char *)"look"};
        snprintf(run, sizeof(run), "run-%d", adder->number);
        snprintf(key, sizeof(key), "%s-%d", run, i);
        follow_up_id(key, follow_up.id);
        snprintf(follow_up.asked_by, sizeof(follow_up.asked_by), "%s", run);
        follow_up_add(adder->store, &follow_up, &limits, &outcome, NULL);
    }
    return NULL;
}

TEST_STORE(runs_side_by_side_stay_within_the_limit_together)
{
    pthread_t threads[4];
    struct adder adders[4];
    for (int i = 0; i < 4; i++) {
        adders[i] = (struct adder){*state, i};
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &adders[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(pending(*state), 5);
}

TEST_STORE(its_json_names_the_run_that_asked_and_when_it_is_due)
{
    struct buf json = {0};
    struct follow_up follow_up = {
        .id = "0123456789ab",
        .agent = "fixer",
        .asked_by = "run-1",
        .created_ns = INT64_C(1799999000) * NS_PER_S,
        .due_ns = INT64_C(1800000000) * NS_PER_S,
        .depth = 2,
        .prompt = (char *)"look \"now\"",
    };
    follow_up_write(&follow_up, &json);
    assert_string_equal(buf_string(&json),
                        "{\"id\":\"0123456789ab\",\"agent\":\"fixer\",\"asked_by\":\"run-1\","
                        "\"state\":\"pending\",\"depth\":2,\"prompt\":\"look \\\"now\\\"\","
                        "\"created\":\"2027-01-15T07:43:20.000Z\","
                        "\"due\":\"2027-01-15T08:00:00.000Z\"}");
    buf_fini(&json);
}

TEST(a_list_has_copies_of_the_pending_ones_in_the_order_of_their_times)
{
    struct follow_up_list list = {0};
    char prompt[] = "look";
    struct follow_up later = {.due_ns = 2, .prompt = prompt};
    struct follow_up sooner = {.due_ns = 1, .prompt = prompt};
    struct follow_up gone = {.due_ns = 0, .prompt = prompt, .state = FOLLOW_UP_CANCELLED};
    follow_up_list_add(&list, &later);
    follow_up_list_add(&list, &gone);
    follow_up_list_add(&list, &sooner);
    follow_up_list_sort(&list);
    prompt[0] = 'c';
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].due_ns, 1);
    assert_int_equal(list.items[1].due_ns, 2);
    assert_string_equal(list.items[0].prompt, "look");
    list.wants_all = true;
    follow_up_list_add(&list, &gone);
    assert_int_equal(list.count, 3);
    follow_up_list_fini(&list);
}
