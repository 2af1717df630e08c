// SPDX-License-Identifier: Apache-2.0
/* Turns and limits that forges with the same API and token share. */
#include "forge_world.h"

#include "forge/pace.h"

#include <pthread.h>

#define API   "https://api.forge.test"
#define S(n)  ((n)*NS_PER_S)
#define TURNS 200

TEST(the_same_api_and_token_have_one_pace)
{
    static const struct {
        const char *api, *token;
        bool is_same;
    } rows[] = {
        {API, "t", true},
        {"HTTPS://API.Forge.TEST/api/v3", "t", true},
        {API ":443/", "t", true},
        {API ":8443", "t", false},
        {"http://api.forge.test", "t", false},
        {"https://api.forge.test.evil.org", "t", false},
        {"https://api.forge.tes", "t", false},
        {API, "T", false},
        {API, "t2", false},
        {API, "", false},
        {API, NULL, false},
    };
    struct forge_paces *paces = forge_paces_new();
    struct forge_pace *first = pace_take(paces, API, "t", 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forge_pace *other = pace_take(paces, rows[i].api, rows[i].token, 0);
        assert_int_equal(other == first, rows[i].is_same);
        pace_release(other);
    }
    pace_release(first);
    forge_paces_free(paces);
}

TEST(without_paces_a_pace_is_shared_with_nobody)
{
    struct forge_pace *one = pace_take(NULL, API, "t", 0);
    struct forge_pace *other = pace_take(NULL, API, "t", 0);
    assert_ptr_not_equal(one, other);
    assert_int_equal(pace_take_turn(one, 0, S(1)), 0);
    assert_int_equal(pace_take_turn(other, 0, S(1)), 0);
    pace_release(one);
    pace_release(other);
}

TEST(each_turn_is_a_gap_after_the_one_before)
{
    struct forge_pace *pace = pace_take(NULL, API, "t", 0);
    assert_int_equal(pace_take_turn(pace, S(5), S(1)), 0);
    assert_int_equal(pace_take_turn(pace, S(5), S(1)), S(1));
    assert_int_equal(pace_take_turn(pace, S(5), S(1)), S(2));
    /* The first write took four seconds: who comes now waits from its end. */
    pace_end_turn(pace, S(9), S(1));
    assert_int_equal(pace_take_turn(pace, S(9), S(1)), S(1));
    /* One that ends before the last turn moves nothing. */
    pace_end_turn(pace, S(9), S(1));
    assert_int_equal(pace_take_turn(pace, S(9), S(1)), S(2));
    pace_release(pace);
}

TEST(the_longest_limit_counts_and_ends)
{
    struct forge_pace *pace = pace_take(NULL, API, "t", 0);
    assert_int_equal(pace_limit_ns(pace, S(1)), 0);
    pace_set_limit(pace, S(60));
    pace_set_limit(pace, S(10));
    assert_int_equal(pace_limit_ns(pace, S(1)), S(59));
    assert_int_equal(pace_limit_ns(pace, S(61)), 0);
    pace_release(pace);
}

TEST(strikes_are_counted_until_something_goes_well)
{
    struct forge_pace *pace = pace_take(NULL, API, "t", 0);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(pace_add_strike(pace), i < 16 ? i : 16);
    }
    pace_clear_strikes(pace);
    assert_int_equal(pace_add_strike(pace), 0);
    pace_release(pace);
}

TEST(a_limit_outlives_the_forge_that_reached_it)
{
    struct forge_paces *paces = forge_paces_new();
    struct forge_pace *pace = pace_take(paces, API, "t", 0);
    pace_set_limit(pace, S(60));
    pace_add_strike(pace);
    pace_release(pace);
    pace = pace_take(paces, API, "t", S(10));
    assert_int_equal(pace_limit_ns(pace, S(10)), S(50));
    pace_release(pace);
    /* Then it says nothing any more, and is forgotten with its strikes. */
    pace = pace_take(paces, API, "t", S(61));
    assert_int_equal(pace_add_strike(pace), 0);
    pace_release(pace);
    forge_paces_free(paces);
}

struct writer_of_turns {
    struct forge_paces *paces;
    int64_t turns[TURNS];
};

static void *take_turns(void *context)
{
    struct writer_of_turns *writer = context;
    struct forge_pace *pace = pace_take(writer->paces, API, "t", 0);
    for (size_t i = 0; i < TURNS; i++) {
        writer->turns[i] = pace_take_turn(pace, 0, S(1));
        pace_end_turn(pace, 0, S(1));
    }
    pace_release(pace);
    return NULL;
}

TEST(no_turn_is_given_to_two_threads)
{
    struct writer_of_turns writers[4];
    pthread_t threads[COUNT(writers)];
    bool is_taken[COUNT(writers) * TURNS] = {false};
    struct forge_paces *paces = forge_paces_new();
    struct forge_pace *kept = pace_take(paces, API, "t", 0);
    for (size_t i = 0; i < COUNT(writers); i++) {
        writers[i].paces = paces;
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &writers[i]), 0);
    }
    for (size_t i = 0; i < COUNT(writers); i++) {
        pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < COUNT(writers) * TURNS; i++) {
        int64_t turn = writers[i / TURNS].turns[i % TURNS] / NS_PER_S;
        assert_in_range(turn, 0, COUNT(is_taken) - 1);
        assert_false(is_taken[turn]);
        is_taken[turn] = true;
    }
    pace_release(kept);
    forge_paces_free(paces);
}

/* ---- Forges ---------------------------------------------------------------------------------- */

/** Another forge of the world, for another repository. */
static struct forge *open_other(struct forge_world *world, struct forge_paces *paces)
{
    struct forge *forge = NULL;
    struct forge_place place = {.kind = FORGE_GITHUB,
                                .host = (char *)(uintptr_t) "forge.test",
                                .api = memory_dup_string(http_peer_url(world->peer, "/api")),
                                .owner = (char *)(uintptr_t) "acme",
                                .name = (char *)(uintptr_t) "other"};
    const struct forge_options options = {.place = &place,
                                          .token = WORLD_TOKEN,
                                          .http = world->http,
                                          .clock = &world->clock,
                                          .random = &world->random,
                                          .paces = paces};
    assert_int_equal(forge_open(&options, &forge, NULL), 0);
    free(place.api);
    return forge;
}

/** Two forges of the world, for repositories of one host, with one pace. */
struct forge_pair {
    struct forge_paces *paces;
    struct forge *one, *other;
};

static void pair_close(struct forge_pair *pair)
{
    forge_close(pair->one);
    forge_close(pair->other);
    forge_paces_free(pair->paces);
}

static struct forge_pair pair_open(struct forge_world *world)
{
    struct forge_paces *paces = forge_paces_new();
    return (struct forge_pair){paces, open_other(world, paces), open_other(world, paces)};
}

FORGE_TEST(two_repositories_write_once_a_second_together)
{
    struct forge_world *world = *state;
    __attribute__((cleanup(pair_close))) struct forge_pair pair = pair_open(world);
    http_peer_always(world->peer, 200, NULL, "[]");
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(forge_add_label(i % 2 == 0 ? pair.one : pair.other, 7, "code"), FORGE_OK);
        assert_int_equal(world->passed_ns, S(i));
    }
}

FORGE_TEST(a_limit_of_one_repository_is_one_of_the_other)
{
    struct forge_world *world = *state;
    __attribute__((cleanup(pair_close))) struct forge_pair pair = pair_open(world);
    world_reply(world, 403, "Retry-After: 90\r\n", "{}");
    assert_int_equal(forge_add_label(pair.one, 7, "code"), FORGE_LIMITED);
    assert_int_equal(forge_add_label(pair.other, 7, "code"), FORGE_LIMITED);
    assert_int_equal(world_requests(world), 1);
    assert_int_equal(forge_outcome(pair.other)->until_ns - forge_now(pair.other), S(90));
}

FORGE_TEST(a_wrong_date_makes_no_limit_longer)
{
    struct forge_world *world = *state;
    __attribute__((cleanup(pair_close))) struct forge_pair pair = pair_open(world);
    world_reply(world, 403, "Retry-After: 60\r\nDate: Sun, 29 Nov 2076 15:00:00 GMT\r\n", "{}");
    assert_int_equal(forge_add_label(pair.one, 7, "code"), FORGE_LIMITED);
    assert_int_equal(forge_outcome(pair.one)->until_ns - forge_now(pair.one), S(60));
    assert_int_equal(forge_add_label(pair.other, 7, "code"), FORGE_LIMITED);
    world->passed_ns += S(60);
    world_reply(world, 200, NULL, "[]");
    assert_int_equal(forge_add_label(pair.other, 7, "code"), FORGE_OK);
}
