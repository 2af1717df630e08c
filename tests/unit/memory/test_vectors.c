// SPDX-License-Identifier: Apache-2.0
/* Search by vectors: what is indexed when, how the orders join, and endpoints that fail. */
#include "base/auto.h"
#include "base/clock.h"
#include "memory/memory.h"
#include "memory/vectors.h"
#include "stand_in.h"
#include "store/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vector_world {
    struct test_place *place;
    struct store *store;
    struct clock clock;
    int64_t now_ns;
    struct stand_in stand_in;
    struct vectors *vectors;
};

static int64_t now(const struct clock *clock)
{
    return ((const struct vector_world *)clock->context)->now_ns;
}

static struct vectors *index_of(struct vector_world *world, const char *model)
{
    const struct vectors_options options = {.model = model,
                                            .embed = stand_in_embed,
                                            .context = &world->stand_in,
                                            .clock = &world->clock};
    return vectors_new(&options);
}

static int setup(void **state)
{
    struct vector_world *world = calloc(1, sizeof(*world));
    void *place = NULL;
    test_place_make(&place);
    world->place = place;
    world->store = test_place_open(world->place);
    world->now_ns = INT64_C(1780000000) * NS_PER_S;
    world->clock = (struct clock){.now_ns = now, .monotonic_ns = now, .context = world};
    world->vectors = index_of(world, "m");
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct vector_world *world = *state;
    void *place = world->place;
    vectors_free(world->vectors);
    store_close(world->store);
    free(world);
    return test_place_remove(&place);
}

#define VECTORS_TEST(name) TEST_WITH(name, setup, teardown)

static int64_t add(struct vector_world *world, const char *content)
{
    int64_t id = 0;
    const struct store_memory memory = {.owner = "a",
                                        .kind = STORE_SEMANTIC,
                                        .content = content,
                                        .source = "test",
                                        .created_ns = world->now_ns};
    assert_int_equal(memories_add(world->store, NULL, &memory, MEMORIES_KEPT, &id, NULL), 0);
    return id;
}

static void fill(struct vector_world *world)
{
    struct rondo_error err = {0};
    if (vectors_fill(world->vectors, world->store, "a", &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static bool append(const struct store_memory *memory, void *context)
{
    struct buf *text = context;
    buf_printf(text, "%s%s", text->len > 0 ? "|" : "", memory->content);
    return true;
}

/** What a question finds, best first, joined by "|". */
static void expect_found(struct vector_world *world, const char *question, const char *expected)
{
    auto_buf struct buf text = {0};
    struct rondo_error err = {0};
    const struct memories_question asked = {.owner = "a",
                                            .text = question,
                                            .top = 3,
                                            .now_ns = world->now_ns,
                                            .vectors = world->vectors};
    if (memories_recall(world->store, &asked, append, &text, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(buf_string(&text), expected);
}

VECTORS_TEST(what_no_word_finds_is_found_by_its_vector)
{
    struct vector_world *world = *state;
    add(world, "The deployment pipeline is green");
    add(world, "Bananas ripen quickly");
    fill(world);
    /* "redeploy" has no word of the memory, but parts of one. */
    expect_found(world, "redeployments", "The deployment pipeline is green");
}

VECTORS_TEST(both_orders_count_alike)
{
    struct vector_world *world = *state;
    add(world, "alpha beta gamma");
    add(world, "alphabetical gammas");
    fill(world);
    expect_found(world, "alpha beta", "alpha beta gamma|alphabetical gammas");
}

VECTORS_TEST(each_memory_is_embedded_once)
{
    struct vector_world *world = *state;
    char content[32];
    for (int i = 0; i < VECTORS_BATCH + 1; i++) {
        snprintf(content, sizeof(content), "memory number %d", i);
        add(world, content);
    }
    fill(world);
    assert_int_equal(world->stand_in.requests, 2);
    assert_int_equal(world->stand_in.texts, VECTORS_BATCH + 1);
    fill(world);
    assert_int_equal(world->stand_in.requests, 2);
    add(world, "another one");
    fill(world);
    assert_int_equal(world->stand_in.texts, VECTORS_BATCH + 2);
    /* Another process finds them all. */
    vectors_free(world->vectors);
    world->vectors = index_of(world, "m");
    fill(world);
    assert_int_equal(world->stand_in.requests, 3);
}

VECTORS_TEST(another_model_means_a_new_index)
{
    struct vector_world *world = *state;
    add(world, "The deployment pipeline is green");
    fill(world);
    vectors_free(world->vectors);
    world->vectors = index_of(world, "n");
    expect_found(world, "redeployments", "");
    fill(world);
    assert_int_equal(world->stand_in.texts, 3); /* twice the memory, once the question */
    expect_found(world, "redeployments", "The deployment pipeline is green");
}

VECTORS_TEST(a_text_without_a_vector_is_not_asked_for_again)
{
    struct vector_world *world = *state;
    add(world, "x");
    fill(world);
    vectors_free(world->vectors);
    world->vectors = index_of(world, "m");
    fill(world);
    assert_int_equal(world->stand_in.requests, 1);
}

VECTORS_TEST(a_dead_endpoint_leaves_the_words_and_is_tried_again_later)
{
    struct vector_world *world = *state;
    add(world, "The deployment pipeline is green");
    world->stand_in.is_dead = true;
    fill(world);
    assert_string_equal(vectors_problem(world->vectors), "nobody answers");
    expect_found(world, "pipeline", "The deployment pipeline is green");
    expect_found(world, "redeployments", "");
    assert_int_equal(world->stand_in.requests, 1);
    world->stand_in.is_dead = false;
    expect_found(world, "redeployments", "");
    world->now_ns += INT64_C(61) * NS_PER_S;
    fill(world);
    assert_string_equal(vectors_problem(world->vectors), "");
    expect_found(world, "redeployments", "The deployment pipeline is green");
}

VECTORS_TEST(what_was_forgotten_is_not_found)
{
    struct vector_world *world = *state;
    uint64_t count = 0;
    int64_t id = add(world, "The deployment pipeline is green");
    fill(world);
    assert_int_equal(memories_forget(world->store, &id, 1, &count, NULL), 0);
    expect_found(world, "redeployments", "");
}
