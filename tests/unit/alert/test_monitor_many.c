// SPDX-License-Identifier: Apache-2.0
/*
 * Random runs with random limits that are raised and lowered, whose usage jumps, whose process is
 * killed in the middle of a body, under monitors that are stopped and killed anywhere. In the end
 * the warnings of limits are exactly those that a model expects, which knows nothing of events,
 * policies and documents: only what was used up, which limits held, and when somebody asked.
 *
 * The number of runs is the first argument.
 */
#include "../loop/fixture.h"

#include "alert/monitor.h"
#include "base/json/json.h"
#include "loop/control/control.h"

#include <json-c/json.h>

#define RUNS_IN_WORLD 4
#define STEPS         60
#define WARN_PERCENT  80
#define EXPECTED_MAX  512

static long runs_wanted = 400;

/** One run, and the model of it. */
struct actor {
    struct runtime *runtime;
    struct loop *loop;
    char id[ID_SIZE];
    bool is_started;
    bool is_in_body;
    int64_t limits[RUN_LIMIT_COUNT]; /* 0 = none */
    int64_t warned[RUN_LIMIT_COUNT]; /* value of the limit that was warned of last */
    int64_t used[RUN_LIMIT_COUNT];
    int64_t active_ns; /* at the beginning of this process's time */
    int64_t begun_ns;
    int64_t gate_ns; /* active time when it was last asked */
};

struct many {
    struct loop_fixture *fixture;
    struct random random;
    struct actor actors[RUNS_IN_WORLD];
    struct store *store; /* the monitor's: it fails for ever from a call on */
    uint64_t dies_at;
    struct writer *writer;
    struct monitor *monitor;
    char *expected[EXPECTED_MAX];
    size_t expected_count;
};

static uint64_t below(struct many *many, uint64_t bound)
{
    return random_below(&many->random, bound);
}

/* ---- The model ---- */

static void expect(struct many *many, const struct actor *actor, enum run_limit limit,
                   int64_t value)
{
    char line[160];
    snprintf(line, sizeof(line), "%s %s limit %lld value %lld", actor->id, run_limit_name(limit),
             (long long)actor->limits[limit], (long long)value);
    assert_true(many->expected_count < EXPECTED_MAX);
    many->expected[many->expected_count++] = memory_dup_string(line);
}

/** @param begins an iteration begins, and counts as reached */
static void expect_once(struct many *many, struct actor *actor, enum run_limit limit, bool begins)
{
    int64_t value = actor->used[limit] + (begins && limit == RUN_LIMIT_ITERATIONS);
    if (actor->limits[limit] > 0 && actor->warned[limit] != actor->limits[limit] &&
        value * 100 >= actor->limits[limit] * WARN_PERCENT) {
        actor->warned[limit] = actor->limits[limit];
        expect(many, actor, limit, value);
    }
}

/** The next iteration was asked for, and the answer was `turn`. */
static void model_gate(struct many *many, struct actor *actor, int turn)
{
    actor->used[RUN_LIMIT_TIME] = actor->active_ns + many->fixture->now_ns - actor->begun_ns;
    actor->gate_ns = actor->used[RUN_LIMIT_TIME];
    bool is_any_used_up = false;
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        is_any_used_up =
            is_any_used_up || (actor->limits[i] > 0 && actor->used[i] >= actor->limits[i]);
    }
    assert_int_equal(turn, is_any_used_up ? LOOP_ENDED : LOOP_BODY);
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        expect_once(many, actor, i, turn == LOOP_BODY);
    }
}

/* ---- Runs ---- */

static int64_t random_limit(struct many *many, enum run_limit limit)
{
    static const int64_t units[RUN_LIMIT_COUNT] = {1, 1, 100, NS_PER_S};
    static const uint64_t most[RUN_LIMIT_COUNT] = {20, 4000, 4000, 400};
    if (limit != RUN_LIMIT_ITERATIONS && below(many, 3) == 0) {
        return 0;
    }
    return (int64_t)(below(many, most[limit]) + 1) * units[limit];
}

static void set_limits(const struct actor *actor, struct loop_spec *spec)
{
    spec->max_iterations = actor->limits[RUN_LIMIT_ITERATIONS];
    spec->max_tokens = actor->limits[RUN_LIMIT_TOKENS];
    spec->max_cost_micro = actor->limits[RUN_LIMIT_COST];
    spec->time_limit_ns = actor->limits[RUN_LIMIT_TIME];
}

static void change_limits(struct loop_spec *spec, void *context)
{
    set_limits(context, spec);
}

static void turn(struct many *many, struct actor *actor)
{
    struct rondo_error err = {0};
    int r = loop_next(actor->loop, &err);
    if (r < 0) {
        fail_msg("%s", err.message);
    }
    model_gate(many, actor, r);
    actor->is_in_body = r == LOOP_BODY;
    if (r == LOOP_ENDED) {
        actor->active_ns = actor->gate_ns;
        loop_free(actor->loop);
        actor->loop = NULL;
    }
}

static void begin(struct many *many, struct actor *actor)
{
    struct loop_parts parts = {.runtime = actor->runtime, .verifier = &many->fixture->verifier};
    struct loop_opening opening;
    struct rondo_error err = {0};
    struct loop_spec spec = fixture_spec(0);
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        actor->limits[i] = random_limit(many, i);
    }
    set_limits(actor, &spec);
    if (loop_start(&parts, &spec, &actor->loop, &opening, &err) < 0) {
        fail_msg("%s", err.message);
    }
    loop_spec_fini(&spec);
    memcpy(actor->id, loop_run_id(actor->loop), ID_SIZE);
    actor->is_started = true;
    actor->begun_ns = many->fixture->now_ns;
    turn(many, actor);
}

/** The body ends: with a little used up, or with a jump. */
static void end_body(struct many *many, struct actor *actor)
{
    bool is_jump = below(many, 6) == 0;
    struct loop_body_result result = {
        .tokens = (int64_t)below(many, is_jump ? 4000 : 300),
        .cost_micro = (int64_t)below(many, is_jump ? 4000 : 300) * 100,
    };
    many->fixture->now_ns += (int64_t)below(many, is_jump ? 300 : 20) * NS_PER_S;
    loop_report(actor->loop, &result);
    actor->used[RUN_LIMIT_ITERATIONS]++;
    actor->used[RUN_LIMIT_TOKENS] += result.tokens;
    actor->used[RUN_LIMIT_COST] += result.cost_micro;
    turn(many, actor);
}

/** The process dies in the body: what it did since it was asked is lost. */
static void kill_runner(struct many *many, struct actor *actor)
{
    loop_free(actor->loop);
    actor->loop = NULL;
    actor->active_ns = actor->gate_ns;
    runtime_free(actor->runtime);
    actor->runtime = fixture_runtime(many->fixture);
    many->fixture->now_ns += 11 * NS_PER_S;
}

static void go_on(struct many *many, struct actor *actor)
{
    struct loop_parts parts = {.runtime = actor->runtime, .verifier = &many->fixture->verifier};
    struct loop_opening opening;
    struct rondo_error err = {0};
    bool is_changed = below(many, 2) == 0;
    for (enum run_limit i = 0; is_changed && i < RUN_LIMIT_COUNT; i++) {
        if (below(many, 2) == 0) {
            actor->limits[i] = random_limit(many, i);
        }
        if (actor->limits[i] > 0 && below(many, 3) == 0) {
            actor->limits[i] *= 2; /* raised */
        }
    }
    int r = loop_resume(&parts, actor->id, is_changed ? change_limits : NULL, actor, -1,
                        &actor->loop, &opening, &err);
    if (r < 0 || opening.is_held) {
        fail_msg("%s", r < 0 ? err.message : "held");
    }
    actor->begun_ns = many->fixture->now_ns;
    turn(many, actor);
}

static void act(struct many *many, struct actor *actor)
{
    if (!actor->is_started) {
        begin(many, actor);
    } else if (actor->loop == NULL) {
        go_on(many, actor);
    } else if (below(many, 8) == 0) {
        kill_runner(many, actor);
    } else {
        end_body(many, actor);
    }
}

/* ---- Monitors ---- */

static enum store_fault decide(void *context, const char *operation, uint64_t call, int *ret_code)
{
    (void)operation;
    (void)ret_code;
    const struct many *many = context;
    if (many->dies_at == 0 || call < many->dies_at) {
        return STORE_FAULT_NONE;
    }
    return call == many->dies_at && call % 2 == 0 ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE;
}

static void end_monitor(struct many *many)
{
    if (many->monitor != NULL) {
        monitor_stop(many->monitor);
        writer_free(many->writer);
        store_close(many->store);
        many->monitor = NULL;
    }
}

static void begin_monitor(struct many *many, uint64_t dies_at)
{
    struct store_fault_plan plan = {.decide = decide, .context = many};
    end_monitor(many);
    many->dies_at = dies_at;
    many->store = store_fault_new(many->fixture->memory, &plan);
    many->writer = writer_new(many->store);
    struct monitor_options options = {
        .writer = many->writer,
        .clock = &many->fixture->clock,
        .random = &many->fixture->random,
        .stall_ns = -1,
        .has_no_thread = true,
    };
    assert_int_equal(monitor_start(&options, &many->monitor, NULL), 0);
}

static void act_monitor(struct many *many)
{
    switch (below(many, 8)) {
    case 0:
        end_monitor(many);
        break;
    case 1:
        begin_monitor(many, 1 + below(many, 25));
        break;
    case 2:
        begin_monitor(many, 0);
        break;
    default:
        break;
    }
    if (many->monitor != NULL) {
        monitor_tick(many->monitor, NULL);
    }
}

/* ---- Comparing ---- */

struct made {
    char *lines[EXPECTED_MAX];
    size_t count;
};

static bool take_made(const char *id, const char *json, void *context)
{
    (void)id;
    struct made *made = context;
    auto_json struct json_object *root = NULL;
    struct json_object *limit = NULL;
    struct json_object *value = NULL;
    assert_int_equal(json_parse(json, strlen(json), &root, NULL), 0);
    assert_true(json_object_object_get_ex(root, "limit", &limit));
    assert_true(json_object_object_get_ex(root, "value", &value));
    const char *name = json_get_string(root, "limit_name", "");
    double unit = strcmp(name, "cost") == 0 ? 1e6 : 1;
    char line[160];
    snprintf(line, sizeof(line), "%s %s limit %.0f value %.0f", json_get_string(root, "run_id", ""),
             name, json_object_get_double(limit) * unit, json_object_get_double(value) * unit);
    assert_true(made->count < EXPECTED_MAX);
    made->lines[made->count++] = memory_dup_string(line);
    return true;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static size_t compare(struct many *many, uint64_t seed)
{
    struct made made = {0};
    struct warning_query query = {.kind = WARNING_LIMIT};
    assert_int_equal(warnings_read(many->fixture->memory, &query, take_made, &made, NULL), 0);
    qsort(made.lines, made.count, sizeof(made.lines[0]), by_text);
    qsort(many->expected, many->expected_count, sizeof(many->expected[0]), by_text);
    for (size_t i = 0; i < made.count && i < many->expected_count; i++) {
        if (strcmp(made.lines[i], many->expected[i]) != 0) {
            fail_msg("seed %llu: made '%s', expected '%s'", (unsigned long long)seed, made.lines[i],
                     many->expected[i]);
        }
    }
    if (made.count != many->expected_count) {
        fail_msg("seed %llu: %zu made, %zu expected", (unsigned long long)seed, made.count,
                 many->expected_count);
    }
    for (size_t i = 0; i < made.count; i++) {
        free(made.lines[i]);
        free(many->expected[i]);
    }
    return made.count;
}

static size_t try_seed(uint64_t seed)
{
    struct many many = {.random = random_seeded(seed)};
    fixture_up((void **)&many.fixture);
    for (size_t i = 0; i < RUNS_IN_WORLD; i++) {
        many.actors[i].runtime = fixture_runtime(many.fixture);
    }
    begin_monitor(&many, 0);
    monitor_tick(many.monitor, NULL); /* what comes from now on is never too old */
    for (int i = 0; i < STEPS; i++) {
        act(&many, &many.actors[below(&many, RUNS_IN_WORLD)]);
        if (below(&many, 3) == 0) {
            act_monitor(&many);
        }
    }
    begin_monitor(&many, 0);
    assert_int_equal(monitor_tick(many.monitor, NULL), 0);
    size_t count = compare(&many, seed);
    end_monitor(&many);
    for (size_t i = 0; i < RUNS_IN_WORLD; i++) {
        loop_free(many.actors[i].loop);
        runtime_free(many.actors[i].runtime);
    }
    fixture_down((void **)&many.fixture);
    return count;
}

TEST(warnings_of_limits_are_exactly_those_that_are_due)
{
    size_t count = 0;
    for (long i = 0; i < (runs_wanted + RUNS_IN_WORLD - 1) / RUNS_IN_WORLD; i++) {
        count += try_seed((uint64_t)i + 1);
    }
    assert_true(count > (size_t)runs_wanted);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        runs_wanted = strtol(argv[1], NULL, 10);
    }
    return test_run(NULL, NULL);
}
