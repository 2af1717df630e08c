// SPDX-License-Identifier: Apache-2.0
/*
 * Warnings of limits against an oracle: runs with random limits, uses, changes of limits, crashes
 * and ends. What is warned about is computed here once more, from what the test itself did, and
 * must be in the journal event for event: no warning may be missing, none may be there twice.
 */
#include "policy_world.h"

#include "loop/control/control.h"

#define SEEDS 1500

/** What the test did, and what the journal must say of it. */
struct oracle {
    int64_t limits[RUN_LIMIT_COUNT]; /* in force; 0 = none */
    int64_t used[RUN_LIMIT_COUNT];   /* finished iterations and what they took */
    int64_t warned[RUN_LIMIT_COUNT];
    char expected[64][64]; /* "name value limit" */
    size_t count;
};

static void look(struct oracle *oracle, bool begins)
{
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        int64_t value = oracle->used[i] + (begins && i == RUN_LIMIT_ITERATIONS ? 1 : 0);
        int64_t limit = oracle->limits[i];
        if (limit > 0 && value * 5 >= limit * 4 && oracle->warned[i] != limit) {
            oracle->warned[i] = limit;
            assert_in_range(oracle->count, 0, 63);
            snprintf(oracle->expected[oracle->count++], sizeof(oracle->expected[0]),
                     "%s %lld of %lld", run_limit_name(i), (long long)value, (long long)limit);
        }
    }
}

static bool is_denied(const struct oracle *oracle)
{
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        if (oracle->limits[i] > 0 && oracle->used[i] >= oracle->limits[i]) {
            return true;
        }
    }
    return false;
}

struct warning_matches {
    const struct oracle *oracle;
    size_t count;
    bool is_found[64];
};

static bool compare(const struct store_event *event, void *context)
{
    struct warning_matches *finding = context;
    if (strcmp(event->type, "limit.warning") != 0) {
        return true;
    }
    auto_json struct json_object *root = NULL;
    char text[64];
    assert_int_equal(json_parse(event->data, event->data_len, &root, NULL), 0);
    snprintf(text, sizeof(text), "%s %lld of %lld", json_get_string(root, "limit_name", ""),
             (long long)json_get_int(root, "value", -1),
             (long long)json_get_int(root, "limit", -1));
    for (size_t i = 0; i < finding->oracle->count; i++) {
        if (!finding->is_found[i] && strcmp(finding->oracle->expected[i], text) == 0) {
            finding->is_found[i] = true;
            finding->count++;
            return true;
        }
    }
    fail_msg("unexpected: %s", text);
    return true;
}

/** Whether the oracle's warnings are those of the journal. */
static void check(struct policy_world *world, const char *run_id, const struct oracle *oracle,
                  uint64_t seed)
{
    struct warning_matches finding = {.oracle = oracle};
    struct store *store = world->fixture->memory;
    store->ops->read_events(store, run_id, 0, 0, compare, &finding, NULL);
    for (size_t i = 0; i < oracle->count; i++) {
        if (!finding.is_found[i]) {
            fail_msg("seed %llu: missing: %s", (unsigned long long)seed, oracle->expected[i]);
        }
    }
    struct store_run run;
    store->ops->get_run(store, run_id, &run, NULL);
    assert_int_equal(run.summary.warnings, oracle->count);
}

/** A limit among a few, so that uses come near, meet and jump over it. 0 = none. */
static int64_t draw_limit(struct random *random, enum run_limit limit)
{
    static const int64_t units[] = {1, 10, 1000, NS_PER_S};
    return (int64_t)random_below(random, 4) == 0
               ? 0
               : (int64_t)(1 + random_below(random, 25)) * units[limit];
}

static void use(struct oracle *oracle, const struct loop_spec *spec)
{
    oracle->limits[RUN_LIMIT_ITERATIONS] = spec->max_iterations == 0 ? 10 : spec->max_iterations;
    oracle->limits[RUN_LIMIT_TOKENS] = spec->max_tokens;
    oracle->limits[RUN_LIMIT_COST] = spec->max_cost_micro;
    oracle->limits[RUN_LIMIT_TIME] = spec->time_limit_ns;
}

/** One run: the test's hands and eyes. */
struct warning_scene {
    struct policy_world *world;
    uint64_t seed;
    bool is_resumed;
    struct random random;
    struct oracle oracle;
    struct oracle before;  /* what was committed last */
    struct loop_spec spec; /* limits only */
    struct loop *loop;
    char run_id[ID_SIZE];
};

static uint64_t below(struct warning_scene *scene, uint64_t bound)
{
    return random_below(&scene->random, bound);
}

static void change_limits(struct warning_scene *scene)
{
    struct loop_parts parts = fixture_parts(scene->world->fixture);
    struct loop_limits limits = {0};
    int64_t *wanted[] = {&limits.max_iterations, &limits.max_tokens, &limits.max_cost_micro,
                         &limits.time_limit_ns};
    enum run_limit which = (enum run_limit)below(scene, RUN_LIMIT_COUNT);
    int64_t limit = draw_limit(&scene->random, which);
    *wanted[which] = limit == 0 ? -1 : limit;
    assert_true(loop_change_limits(&parts, scene->run_id, &limits, "test", NULL) >= 0);
    loop_save_checkpoint(scene->loop, NULL, NULL); /* tells the loop of the letter */
    int64_t *specs[] = {&scene->spec.max_iterations, &scene->spec.max_tokens,
                        &scene->spec.max_cost_micro, &scene->spec.time_limit_ns};
    *specs[which] = limit;
    use(&scene->oracle, &scene->spec);
    /* Its commit says that the owner lived so long, whatever becomes of the body. */
    scene->before.used[RUN_LIMIT_TIME] = scene->oracle.used[RUN_LIMIT_TIME];
}

static void resume(struct warning_scene *scene)
{
    struct loop_opening opening;
    fixture_crash(scene->world->fixture, scene->loop);
    int r = fixture_resume(scene->world->fixture, scene->run_id, -1, &scene->loop, &opening);
    assert_int_equal(r, 0);
    scene->is_resumed = true;
    use(&scene->oracle, loop_spec(scene->loop));
    scene->spec.max_iterations = loop_spec(scene->loop)->max_iterations;
    scene->spec.max_tokens = loop_spec(scene->loop)->max_tokens;
    scene->spec.max_cost_micro = loop_spec(scene->loop)->max_cost_micro;
    scene->spec.time_limit_ns = loop_spec(scene->loop)->time_limit_ns;
}

/** What one body does. @return whether it was the last */
static bool do_body(struct warning_scene *scene)
{
    struct loop_body_result result = {
        .tokens = (int64_t)below(scene, 60),
        .cost_micro = (int64_t)below(scene, 60) * 100,
        .outcome = below(scene, 20) == 0 ? LOOP_UNRECOVERABLE : LOOP_OK,
        .finish = below(scene, 12) != 0 ? FINISH_NONE : (enum run_finish)(1 + below(scene, 3)),
    };
    int64_t took_ns = (int64_t)below(scene, 6) * NS_PER_S;
    scene->world->fixture->now_ns += took_ns;
    loop_report(scene->loop, &result);
    scene->oracle.used[RUN_LIMIT_ITERATIONS]++;
    scene->oracle.used[RUN_LIMIT_TOKENS] += result.tokens;
    scene->oracle.used[RUN_LIMIT_COST] += result.cost_micro;
    scene->oracle.used[RUN_LIMIT_TIME] += took_ns;
    return result.outcome != LOOP_OK || result.finish != FINISH_NONE;
}

/** Take a turn. What it must warn about depends on whether another iteration follows. */
static bool turn(struct warning_scene *scene, bool is_ending)
{
    struct rondo_error err = {0};
    struct oracle tried = scene->oracle;
    /* A claim that is not in the journal yet would count as a time at which the owner lived. */
    bool will_fail = below(scene, 12) == 0 && !scene->is_resumed;
    scene->is_resumed = false;
    bool is_behind = below(scene, 2) == 0;
    bool ends = is_ending || is_denied(&tried);
    look(&tried, !ends);
    if (will_fail) {
        fixture_fail(scene->world->fixture, "commit", 1, RONDO_ERR_SYSTEM,
                     is_behind ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE);
    }
    int r = loop_next(scene->loop, &err);
    fixture_fail(scene->world->fixture, NULL, 0, 0, STORE_FAULT_NONE);
    if (r < 0) {
        /* Killed at the commit: either all of the turn is in the journal, or nothing of it. */
        assert_true(will_fail);
        scene->oracle = is_behind ? tried : scene->before;
        scene->before = scene->oracle;
        return false;
    }
    scene->oracle = tried;
    scene->before = tried;
    if (r != (ends ? LOOP_ENDED : LOOP_BODY)) {
        fail_msg("seed %llu: turn %d after %d iterations: %s", (unsigned long long)scene->seed, r,
                 (int)loop_state(scene->loop)->finished,
                 rondo_status_name(loop_state(scene->loop)->status));
    }
    return true;
}

static bool has_ended(const struct warning_scene *scene)
{
    struct store_run run;
    struct store *store = scene->world->fixture->memory;
    store->ops->get_run(store, scene->run_id, &run, NULL);
    return run.summary.status != RONDO_RUNNING;
}

static void play(struct policy_world *world, uint64_t seed)
{
    struct warning_scene scene = {.world = world, .seed = seed, .random = random_seeded(seed)};
    bool is_ending = false;
    struct loop_spec spec = fixture_spec(0);
    spec.max_iterations = draw_limit(&scene.random, RUN_LIMIT_ITERATIONS);
    spec.max_tokens = draw_limit(&scene.random, RUN_LIMIT_TOKENS);
    spec.max_cost_micro = draw_limit(&scene.random, RUN_LIMIT_COST);
    spec.time_limit_ns = draw_limit(&scene.random, RUN_LIMIT_TIME);
    scene.spec = spec; /* its texts are not looked at */
    use(&scene.oracle, &spec);
    scene.loop = fixture_start(world->fixture, spec);
    memcpy(scene.run_id, loop_run_id(scene.loop), sizeof(scene.run_id));
    scene.before = scene.oracle;
    for (int i = 0; i < 200; i++) {
        bool is_alive = turn(&scene, is_ending);
        check(world, scene.run_id, &scene.oracle, seed);
        if (has_ended(&scene)) {
            break;
        }
        if (!is_alive) {
            resume(&scene);
            is_ending = false;
            continue;
        }
        if (below(&scene, 15) == 0) {
            resume(&scene); /* in the body: its work is lost */
            is_ending = false;
            continue;
        }
        is_ending = do_body(&scene);
        if (below(&scene, 6) == 0) {
            change_limits(&scene);
        }
        if (below(&scene, 25) == 0) {
            loop_stop(scene.loop, CANCEL_GRACEFUL);
            is_ending = true;
        }
    }
    loop_free(scene.loop);
}

WORLD_TEST(every_limit_is_warned_about_exactly_when_it_must_be)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(*state, seed);
    }
}
