// SPDX-License-Identifier: Apache-2.0
/*
 * Owners and what they do: processes with a runtime of their own over the common store, each with
 * its own fault decorator. A process that dies inside a store call gets no answer and can do
 * nothing more; the rest of its code still runs here, against a store that is gone for it.
 */
#include "sim.h"

#include "../support/store/fault.h"
#include "../support/store/memory_store.h"
#include "base/memory.h"
#include "loop/control/control.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_NS (INT64_C(1800000000) * NS_PER_S)
/** Interval at which processes show that they run, as the keeper does. */
#define BEAT_NS (NS_PER_S / 2)

void sim_trace(const struct sim_world *world, const char *format, ...)
{
    if (!world->is_verbose) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    printf("%10.3f ", (double)(world->now_ns - START_NS) / 1e9);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

void sim_fail(const struct sim_world *world, const struct sim_run *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "violation in run %s: ", run == NULL ? "-" : run->id);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nto replay: sim --seed %llu --verbose\n", (unsigned long long)world->seed);
    va_end(arguments);
    exit(1);
}

bool sim_chance(struct sim_world *world, unsigned percent)
{
    return random_below(&world->random, 100) < percent;
}

uint64_t sim_below(struct sim_world *world, uint64_t bound)
{
    return random_below(&world->random, bound);
}

/* ---- Time ----------------------------------------------------------------------------------- */

static int64_t sim_now(const struct clock *clock)
{
    const struct sim_world *world = clock->context;
    return world->now_ns + world->skews_ns[world->era] + world->era;
}

static int64_t sim_monotonic(const struct clock *clock)
{
    return ((const struct sim_world *)clock->context)->now_ns;
}

static void sim_sleep(const struct clock *clock, int64_t duration_ns, struct cancel *cancel)
{
    if (!cancel_is_set(cancel)) {
        world_pass(clock->context, duration_ns);
    }
}

void world_pass(struct sim_world *world, int64_t duration_ns)
{
    int64_t left_ns = (duration_ns + NS_PER_US - 1) / NS_PER_US * NS_PER_US;
    while (left_ns > 0) {
        int64_t part_ns = left_ns < BEAT_NS ? left_ns : BEAT_NS;
        world->now_ns += part_ns;
        left_ns -= part_ns;
        for (unsigned i = 0; i < SIM_OWNERS; i++) {
            if (!world->owners[i].is_frozen && world->owners[i].runtime != NULL) {
                runtime_beat(world->owners[i].runtime);
            }
        }
    }
}

void world_set_clock(struct sim_world *world, int64_t by_ns)
{
    sim_require(world->era + 1 < SIM_MAX_ERAS, world, NULL, "the clock is set too often");
    int64_t skew_ns = world->skews_ns[world->era] + by_ns / NS_PER_US * NS_PER_US;
    world->skews_ns[++world->era] = skew_ns;
    world->counters->clocks_set++;
    sim_trace(world, "the clock is set by %.3f s", (double)by_ns / 1e9);
}

int64_t world_true_time(const struct sim_world *world, int64_t wall_ns, uint64_t *ret_era)
{
    *ret_era = (uint64_t)(wall_ns % NS_PER_US);
    sim_require(*ret_era <= world->era, world, NULL, "a time that no clock has shown");
    return wall_ns - world->skews_ns[*ret_era] - (int64_t)*ret_era;
}

void world_freeze(struct sim_owner *owner, bool is_frozen)
{
    struct sim_world *world = owner->world;
    if (owner->is_frozen == is_frozen) {
        return;
    }
    owner->is_frozen = is_frozen;
    sim_trace(world, "owner %u %s", owner->index, is_frozen ? "freezes" : "thaws");
    if (is_frozen) {
        sim_require(owner->freeze_count < SIM_MAX_FREEZES, world, NULL, "it freezes too often");
        owner->frozen_ns[owner->freeze_count][0] = world->now_ns;
        owner->frozen_ns[owner->freeze_count++][1] = INT64_MAX;
        world->counters->freezes++;
    } else {
        owner->frozen_ns[owner->freeze_count - 1][1] = world->now_ns;
    }
}

int64_t world_frozen_ns(const struct sim_owner *owner, int64_t from_ns, int64_t to_ns)
{
    int64_t sum_ns = 0;
    for (unsigned i = 0; i < owner->freeze_count; i++) {
        int64_t begin_ns = owner->frozen_ns[i][0] > from_ns ? owner->frozen_ns[i][0] : from_ns;
        int64_t end_ns = owner->frozen_ns[i][1] < to_ns ? owner->frozen_ns[i][1] : to_ns;
        sum_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
    }
    return sum_ns;
}

static char policy_folder[64];

static void remove_policies(void)
{
    file_remove_tree(policy_folder, NULL);
}

/** Where the policy files are, as long as this process lives: in memory, which is much faster. */
static const char *sim_folder(void)
{
    static bool is_made;
    if (!is_made) {
        snprintf(policy_folder, sizeof(policy_folder), "/dev/shm/rondo-sim-XXXXXX");
        if (mkdtemp(policy_folder) == NULL) {
            snprintf(policy_folder, sizeof(policy_folder), "/tmp/rondo-sim-XXXXXX");
        }
        if (access(policy_folder, W_OK) < 0 && mkdtemp(policy_folder) == NULL) {
            perror(policy_folder);
            exit(1);
        }
        is_made = true;
        atexit(remove_policies);
    }
    return policy_folder;
}

void world_write_policy(struct sim_run *run, unsigned most)
{
    static int64_t written;
    char text[256];
    bool asks = sim_chance(run->world, 50);
    uint64_t limit = 1 + sim_below(run->world, most);
    snprintf(text, sizeof(text),
             "permit (principal, action, resource);\n@id(\"sim\") %s\nforbid (principal, action "
             "== Action::\"iterate\", resource)\nwhen { context.iteration >= %llu };\n",
             asks ? "@on_deny(\"ask\")" : "", (unsigned long long)limit);
    struct rondo_error err = {0};
    sim_require(file_replace_durably(run->policy, text, strlen(text), &err) == 0, run->world, run,
                "%s", err.message);
    /* Each file has a time of its own, which has passed: it is seen at once, and never missed. */
    written++;
    struct timespec times[2] = {{.tv_sec = written}, {.tv_sec = written}};
    sim_require(utimensat(AT_FDCWD, run->policy, times, 0) == 0, run->world, run, "utimensat");
}

void world_init(struct sim_world *world, uint64_t seed, bool is_verbose, sim_open_fn *open,
                struct sim_counters *counters)
{
    *world = (struct sim_world){
        .seed = seed,
        .is_verbose = is_verbose,
        .random = random_seeded(seed),
        .now_ns = START_NS,
        .counters = counters,
    };
    world->clock = (struct clock){
        .now_ns = sim_now, .monotonic_ns = sim_monotonic, .sleep = sim_sleep, .context = world};
    world->lease_ns = (int64_t)(1 + sim_below(world, 30)) * NS_PER_S;
    world->memory = open == NULL ? store_memory_new(&world->clock) : open(&world->clock);
    world->audit = audit_store_new(world, world->memory);
    for (unsigned i = 0; i < SIM_RUNS; i++) {
        world->runs[i] = (struct sim_run){
            .world = world,
            .luck = (unsigned)sim_below(world, 70),
            .has_policy = sim_chance(world, 50),
        };
        snprintf(world->runs[i].policy, sizeof(world->runs[i].policy), "%s/run-%u.cedar",
                 sim_folder(), i);
        if (world->runs[i].has_policy) {
            world_write_policy(&world->runs[i], 12);
        }
    }
    for (unsigned i = 0; i < SIM_OWNERS; i++) {
        world->owners[i].world = world;
        world->owners[i].index = i;
        world_boot(&world->owners[i]);
    }
}

void world_fini(struct sim_world *world)
{
    for (unsigned i = 0; i < SIM_OWNERS; i++) {
        world_crash(&world->owners[i]);
    }
    for (unsigned i = 0; i < world->run_count; i++) {
        model_fini(&world->runs[i]);
    }
    store_close(world->audit);
    store_close(world->memory);
}

/* ---- Faults --------------------------------------------------------------------------------- */

static enum store_fault die(struct sim_owner *owner, const char *operation, int *ret_code)
{
    owner->is_crashed = true;
    owner->met_trouble = true;
    *ret_code = RONDO_ERR_SYSTEM;
    bool is_after = sim_chance(owner->world, 50);
    sim_trace(owner->world, "  owner %u dies %s %s", owner->index, is_after ? "behind" : "before",
              operation);
    return is_after ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE;
}

static enum store_fault decide(void *context, const char *operation, uint64_t call, int *ret_code)
{
    (void)call;
    struct sim_owner *owner = context;
    struct sim_world *world = owner->world;
    world->acting = owner;
    if (owner->is_crashed) {
        *ret_code = RONDO_ERR_SYSTEM;
        return STORE_FAULT_BEFORE;
    }
    if (world->is_calm) {
        return STORE_FAULT_NONE;
    }
    if (owner->crash_in > 0 && --owner->crash_in == 0) {
        return die(owner, operation, ret_code);
    }
    bool is_troubled = owner->trouble_calls > 0 || world->now_ns < owner->trouble_until_ns;
    if (!is_troubled) {
        return STORE_FAULT_NONE;
    }
    owner->trouble_calls -= owner->trouble_calls > 0;
    owner->met_trouble = true;
    world->counters->store_faults++;
    *ret_code = owner->trouble_code;
    bool is_after = sim_chance(world, 30);
    sim_trace(world, "  %s fails for owner %u (%s%s)", operation, owner->index,
              rondo_code_name(owner->trouble_code), is_after ? ", behind" : "");
    return is_after ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE;
}

/* ---- Owners --------------------------------------------------------------------------------- */

void world_boot(struct sim_owner *owner)
{
    struct sim_world *world = owner->world;
    owner->random = random_seeded(random_u64(&world->random));
    struct store_fault_plan plan = {.decide = decide, .context = owner};
    owner->store = store_fault_new(world->audit, &plan);
    struct runtime_options options = {
        .store = owner->store,
        .clock = &world->clock,
        .random = &owner->random,
        .lease_ns = world->lease_ns,
        .has_no_keeper = true,
    };
    struct rondo_error err;
    sim_require(runtime_new(&options, &owner->runtime, &err) == 0, world, NULL, "%s", err.message);
    runtime_beat(owner->runtime);
    owner->is_crashed = false;
    world_freeze(owner, false);
    owner->crash_in = 0;
    owner->trouble_calls = 0;
    owner->trouble_until_ns = 0;
}

void world_crash(struct sim_owner *owner)
{
    for (unsigned i = 0; i < SIM_RUNS; i++) {
        loop_free(owner->loops[i]);
        owner->loops[i] = NULL;
        owner->is_in_body[i] = false;
    }
    runtime_free(owner->runtime);
    owner->runtime = NULL;
    store_close(owner->store);
    owner->store = NULL;
}

/* ---- What a loop is made of ----------------------------------------------------------------- */

static void evaluate(const struct verifier *verifier, const struct loop_condition *condition,
                     int64_t timeout_ns, struct cancel *cancel, struct verify_result *ret_result)
{
    (void)cancel;
    const struct sim_run *run = verifier->context;
    struct sim_world *world = run->world;
    bool is_met = sim_chance(world, run->luck);
    bool is_late = sim_chance(world, 5);
    world_pass(world, is_late ? timeout_ns : (int64_t)sim_below(world, NS_PER_S));
    char output[64];
    int len = snprintf(output, sizeof(output), "%s\n\"%llu\"\x01\xff", condition->name,
                       (unsigned long long)sim_below(world, 1000));
    ret_result->status = is_met && !is_late ? RONDO_MET : RONDO_NOT_MET;
    ret_result->reason = is_late  ? RONDO_REASON_TIMED_OUT
                         : is_met ? RONDO_REASON_PASSED
                                  : RONDO_REASON_FAILED;
    ret_result->exit_code = is_late ? -1 : !is_met;
    ret_result->output = memory_dup_bytes(output, (size_t)len);
    ret_result->output_len = (size_t)len;
    ret_result->output_total = (uint64_t)len;
}

/** Parts for a loop of run `index`, which need not exist yet. */
struct parts {
    struct verifier verifier;
    struct loop_parts parts;
};

static void make_parts(struct sim_owner *owner, unsigned index, struct parts *parts)
{
    struct sim_run *run = &owner->world->runs[index];
    parts->verifier = (struct verifier){.evaluate = evaluate, .context = run};
    parts->parts = (struct loop_parts){
        .runtime = owner->runtime,
        .verifier = &parts->verifier,
    };
}

static void random_spec(struct sim_world *world, unsigned index, struct loop_spec *ret_spec)
{
    static const char *const names[SIM_CONDITIONS] = {"all_tests_pass", "build_succeeds", "mine"};
    char agent[16];
    snprintf(agent, sizeof(agent), "agent-%u", sim_chance(world, 30) ? 0 : index);
    struct loop_spec spec = loop_spec_default();
    spec.agent_id = memory_dup_string(agent);
    spec.kind = memory_dup_string("library");
    /* Not where the policy files are: those would have to be confirmed. */
    spec.workspace = memory_dup_string("/usr");
    spec.policy =
        world->runs[index].has_policy ? memory_dup_string(world->runs[index].policy) : NULL;
    spec.max_iterations = 1 + (int64_t)sim_below(world, 12);
    spec.max_failures = 1 + (int64_t)sim_below(world, 4);
    spec.max_tokens = sim_chance(world, 30) ? 1 + (int64_t)sim_below(world, 300) : 0;
    spec.time_limit_ns = sim_chance(world, 15) ? (int64_t)sim_below(world, 60) * NS_PER_S : 0;
    spec.delay_ns = sim_chance(world, 20) ? (int64_t)sim_below(world, 5) * NS_PER_S : 0;
    spec.checkpoint_interval = 1 + (int64_t)sim_below(world, 4);
    spec.durability = sim_chance(world, 40) ? DURABILITY_BEST_EFFORT : DURABILITY_STRICT;
    spec.on_corrupt = (int64_t)sim_below(world, 3);
    spec.is_exclusive = sim_chance(world, 20);
    unsigned count = (unsigned)sim_below(world, SIM_CONDITIONS + 1);
    for (unsigned i = 0; i < count; i++) {
        loop_spec_add_condition(&spec, names[i], "true", "given", 10 * NS_PER_S, NULL);
    }
    *ret_spec = spec;
}

/** After each call of an owner: was it cut short, and was an error justified? */
static bool survived(struct sim_owner *owner, const char *doing, int r,
                     const struct rondo_error *err, const struct sim_run *run)
{
    struct sim_world *world = owner->world;
    bool met_trouble = owner->met_trouble;
    owner->met_trouble = false;
    if (owner->is_crashed) {
        world->counters->crashes++;
        world_crash(owner);
        world_boot(owner);
        return false;
    }
    if (r < 0) {
        sim_trace(world, "  %s: %s: %s", doing, rondo_code_name(r), err->message);
        bool is_justified =
            met_trouble || r == RONDO_ERR_FENCED || r == RONDO_ERR_CORRUPT ||
            (r == RONDO_ERR_STATE && strcmp(doing, "resume") == 0) ||
            ((r == RONDO_ERR_STATE || r == RONDO_ERR_BUSY) && strcmp(doing, "control") == 0);
        sim_require(is_justified, world, run, "%s without a fault: %s", doing, err->message);
        sim_require(err->code == r && err->message[0] != '\0', world, run,
                    "%s gives %d without a message", doing, r);
    }
    return true;
}

void world_start_run(struct sim_owner *owner)
{
    struct sim_world *world = owner->world;
    unsigned index = world->run_count;
    struct parts parts;
    make_parts(owner, index, &parts);
    struct loop_spec spec;
    random_spec(world, index, &spec);
    struct loop_opening opening;
    struct loop *loop = NULL;
    struct rondo_error err = {0};
    sim_trace(world, "owner %u starts run %u", owner->index, index);
    int r = loop_start(&parts.parts, &spec, &loop, &opening, &err);
    loop_spec_fini(&spec);
    sim_require(r != RONDO_ERR_INVALID, world, NULL, "its own run is in the way: %s", err.message);
    bool is_alive = survived(owner, "start", r, &err, NULL);
    sim_require(r < 0 || opening.is_held || world->run_count == index + 1, world, NULL,
                "a run that was started is not there");
    if (r == 0 && !opening.is_held) {
        owner->loops[index] = loop;
    }
    if (!is_alive && r == 0 && !opening.is_held) {
        loop_free(loop);
        owner->loops[index] = NULL;
    }
}

static void change_options(struct loop_spec *spec, void *context)
{
    struct sim_world *world = context;
    if (sim_chance(world, 70)) {
        spec->max_iterations = 1 + (int64_t)sim_below(world, 20);
    }
    if (sim_chance(world, 20)) {
        spec->max_tokens += 100;
    }
    if (sim_chance(world, 20)) {
        loop_spec_add_condition(spec, "late", "true", "given", NS_PER_S, NULL);
    }
}

/** The checkpoint that a resume has to find. */
static uint64_t newest_intact(const struct sim_run *run)
{
    uint64_t number = run->checkpoints;
    while (number > 0 && run->is_damaged[number]) {
        number--;
    }
    return number;
}

static bool has_good_interim(const struct sim_run *run)
{
    return run->has_interim && !run->is_interim_damaged;
}

/** Whether a resume meets something damaged. */
static bool has_damage(const struct sim_run *run)
{
    return !has_good_interim(run) && (run->has_interim || newest_intact(run) != run->checkpoints);
}

static void check_resumed(struct sim_run *run, const struct loop *loop, int on_corrupt,
                          const struct loop_opening *opening)
{
    struct sim_world *world = run->world;
    bool is_damaged = has_damage(run);
    uint64_t expected = is_damaged ? newest_intact(run) : run->checkpoints;
    uint64_t damaged = is_damaged ? run->checkpoints - expected + run->has_interim : 0;
    int64_t policy = on_corrupt < 0 ? run->spec.on_corrupt : on_corrupt;
    sim_require(opening->corrupt_count == damaged || (opening->corrupt_count >= 8 && is_damaged),
                world, run, "%u damaged checkpoints were noticed", opening->corrupt_count);
    sim_require(!is_damaged || policy != ON_CORRUPT_FAIL, world, run,
                "a damaged checkpoint was accepted");
    if (is_damaged && policy == ON_CORRUPT_FRESH) {
        expected = 0;
    }
    sim_require(opening->from_checkpoint == expected, world, run,
                "resumed from checkpoint %llu, not %llu",
                (unsigned long long)opening->from_checkpoint, (unsigned long long)expected);
    if (is_damaged) { /* The state of the last finished iteration is lost, and that was told. */
        snprintf(run->state, sizeof(run->state), "%s", expected == 0 ? "" : run->states[expected]);
    }
    world->counters->interims += !is_damaged && run->has_interim;
    sim_require(strcmp(buf_string(loop_agent_state(loop)), run->state) == 0, world, run,
                "resumed with the state '%s', not '%s'", buf_string(loop_agent_state(loop)),
                run->state);
}

/** Also another run of the same agent can be in the way. */
static bool is_any_held(const struct sim_world *world)
{
    bool is_held = false;
    for (unsigned i = 0; i < world->run_count; i++) {
        is_held = is_held || world->runs[i].held_until_ns > world->now_ns;
    }
    return is_held;
}

void world_resume(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct sim_run *run = &world->runs[index];
    struct parts parts;
    make_parts(owner, index, &parts);
    struct loop_opening opening = {0};
    struct loop *loop = NULL;
    struct rondo_error err = {0};
    bool has_changes = sim_chance(world, 30);
    int on_corrupt = world->is_calm ? ON_CORRUPT_PREVIOUS : (int)sim_below(world, 4) - 1;
    bool was_completed = run->is_ended && run->status == RONDO_COMPLETED;
    bool was_damaged = has_damage(run);
    bool is_held = is_any_held(world);
    sim_trace(world, "owner %u resumes run %u", owner->index, index);
    int r = loop_resume(&parts.parts, run->id, has_changes ? change_options : NULL, world,
                        on_corrupt, &loop, &opening, &err);
    bool has_loop = r == 0 && !opening.is_held;
    sim_require(r < 0 || has_loop || is_held, world, run, "nobody may have it after its lease");
    sim_require(!has_loop || !was_completed, world, run, "a completed run was resumed");
    sim_require(r != RONDO_ERR_CORRUPT || was_damaged, world, run, "%s", err.message);
    sim_require(r != RONDO_ERR_STATE || was_completed, world, run, "%s", err.message);
    world->counters->refused_corrupt += r == RONDO_ERR_CORRUPT;
    if (has_loop) {
        check_resumed(run, loop, on_corrupt, &opening);
        sim_require(run->feedback == NULL || run->feedback_round != run->round_seq ||
                        strcmp(loop_feedback(loop), run->feedback) == 0,
                    world, run, "the feedback differs after a resume:\n%s\n%s", run->feedback,
                    loop_feedback(loop));
    }
    if (has_loop && sim_chance(world, 10)) {
        loop_evaluate_all(loop, &err); /* before the first turn: it must not complete the run */
    }
    if (has_loop) {
        loop_free(owner->loops[index]); /* Its lease had run out: the new one took it over. */
        owner->loops[index] = loop;
        owner->is_in_body[index] = false;
    }
    survived(owner, "resume", r, &err, run); /* else the owner's loops went with it */
}

/* ---- Turns ---------------------------------------------------------------------------------- */

static void save_inside_body(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct loop *loop = owner->loops[index];
    struct rondo_error err = {0};
    uint64_t before = world->runs[index].checkpoints;
    int r = loop_save_checkpoint(loop, "{\"progress\":\"50%\"}", &err);
    sim_require(r < 0 || world->runs[index].checkpoints > before, world, &world->runs[index],
                "a checkpoint was promised and is not there");
    if (r < 0 && !owner->is_crashed) {
        sim_require(owner->met_trouble || r == RONDO_ERR_FENCED, world, &world->runs[index], "%s",
                    err.message);
    }
}

/** The work of an iteration: effects in the world, and whatever else a body may ask for. */
static void do_body(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct loop *loop = owner->loops[index];
    struct rondo_error err = {0};
    uint64_t iteration = loop_state(loop)->iteration;
    char *state = owner->states[index][iteration];
    snprintf(state, SIM_STATE_SIZE, "%s", buf_string(loop_agent_state(loop)));
    if (sim_chance(world, 85)) {
        snprintf(state, SIM_STATE_SIZE, "iteration %llu of owner %u, %llu",
                 (unsigned long long)iteration, owner->index,
                 (unsigned long long)sim_below(world, 1000));
        loop_set_agent_state(loop, state, strlen(state), &err);
    }
    world_pass(world, (int64_t)sim_below(world, 3 * NS_PER_S));
    if (sim_chance(world, 10)) {
        loop_note(loop, "progress", "{\"percent\":50}", &err);
    }
    if (sim_chance(world, 10) && loop_spec(loop)->condition_count > 0) {
        loop_evaluate_all(loop, &err);
    }
    if (sim_chance(world, 10)) {
        save_inside_body(owner, index);
    }
}

static void report(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    uint64_t draw = sim_below(world, 100);
    struct loop_body_result result = {
        .outcome = draw < 75   ? LOOP_OK
                   : draw < 88 ? LOOP_FAILED
                   : draw < 92 ? LOOP_TIMED_OUT
                   : draw < 96 ? LOOP_CRASHED
                   : draw < 98 ? LOOP_INTERRUPTED
                               : LOOP_UNRECOVERABLE,
        .tokens = (int64_t)sim_below(world, 60),
        .cost_micro = (int64_t)sim_below(world, 1000),
        .output = "done",
        .output_len = 4,
        .custom_data = sim_chance(world, 20) ? "{\"found\":[1,2,3]}" : NULL,
    };
    if (result.outcome == LOOP_OK && sim_chance(world, 12)) {
        result.finish = (enum run_finish)(1 + sim_below(world, 3));
        result.summary = "enough";
    }
    loop_report(owner->loops[index], &result);
}

static void check_body(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct sim_run *run = &world->runs[index];
    struct loop *loop = owner->loops[index];
    uint64_t n = loop_state(loop)->iteration;
    sim_require(n <= SIM_MAX_ITERATIONS, world, run, "too many iterations for the model");
    run->bodies[n]++;
    world->counters->bodies++;
    world->counters->bodies_again += run->bodies[n] > 1;
    if (loop_is_degraded(loop)) {
        sim_require(run->spec.durability == DURABILITY_BEST_EFFORT, world, run,
                    "a strict run goes on without its store");
        run->lossy++;
        return;
    }
    sim_require(run->is_in_body && run->started == n && n == run->finished + 1, world, run,
                "the body of iteration %llu runs without a recorded intent", (unsigned long long)n);
    sim_require(run->bodies[n] <= 1 + run->interruptions[n] + run->lossy, world, run,
                "the body of iteration %llu runs %llu times after %llu interruptions",
                (unsigned long long)n, (unsigned long long)run->bodies[n],
                (unsigned long long)run->interruptions[n]);
    model_check_loop(run, loop);
    sim_require(strcmp(buf_string(loop_agent_state(loop)), run->state) == 0, world, run,
                "the body of iteration %llu finds the state '%s', not '%s'", (unsigned long long)n,
                buf_string(loop_agent_state(loop)), run->state);
    free(run->feedback);
    run->feedback = memory_dup_string(loop_feedback(loop));
    run->feedback_round = run->round_seq;
}

static void check_ended(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct sim_run *run = &world->runs[index];
    const struct run_state *state = loop_state(owner->loops[index]);
    sim_require(state->phase == PHASE_ENDED && run->is_ended && run->status == state->status, world,
                run, "the loop says %s, the journal %s", rondo_status_name(state->status),
                rondo_status_name(run->is_ended ? run->status : RONDO_RUNNING));
    model_check_loop(run, owner->loops[index]);
    struct store_run row;
    world->memory->ops->get_run(world->memory, run->id, &row, NULL);
    sim_require(row.owner[0] == '\0' || row.epoch != state->epoch, world, run,
                "an ended run is still held");
    world->counters->statuses[run->status]++;
}

/** A pause is told of when it is in the journal; what ends it comes by letter or by resuming. */
static void check_paused(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct sim_run *run = &world->runs[index];
    struct loop *loop = owner->loops[index];
    sim_require(!run->is_in_body || loop_is_degraded(loop), world, run, "a pause inside a body");
    if (!loop_is_degraded(loop)) {
        sim_require(run->is_paused, world, run, "a pause that is not in the journal");
        model_check_loop(run, loop);
    }
    if (world->is_calm) {
        world->memory->ops->post(world->memory, run->id, "continue", "{}", NULL);
    }
}

static void drop_loop(struct sim_owner *owner, unsigned index)
{
    loop_free(owner->loops[index]);
    owner->loops[index] = NULL;
    owner->is_in_body[index] = false;
}

void world_advance(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct sim_run *run = &world->runs[index];
    struct loop *loop = owner->loops[index];
    struct rondo_error err = {0};
    struct store_run row;
    sim_trace(world, "owner %u advances run %u", owner->index, index);
    run->has_failed_store = false;
    if (owner->is_in_body[index]) {
        do_body(owner, index);
        report(owner, index);
        owner->is_in_body[index] = false;
    }
    world->memory->ops->get_run(world->memory, run->id, &row, NULL);
    bool is_fenced = row.epoch != loop_state(loop)->epoch;
    uint64_t seq = run->seq;
    uint64_t degraded_count = run->degraded_count;
    bool was_degraded = loop_is_degraded(loop);
    run->has_failed_store = true; /* whether it did is known only when the call is over */
    int r = loop_next(loop, &err);
    run->has_failed_store = false;
    sim_require(r != RONDO_ERR_FENCED || is_fenced || owner->met_trouble, world, run,
                "fenced without a claim");
    sim_require(!is_fenced || run->seq == seq, world, run, "a former owner has committed");
    sim_require(!is_fenced || r < 0 || loop_is_degraded(loop), world, run,
                "a former owner goes on");
    sim_require(r != LOOP_ENDED || run->status != RONDO_ERROR || run->is_broken_by_body ||
                    owner->met_trouble,
                world, run, "an error without a failure of the store");
    bool still_degraded = (r == LOOP_BODY || r == LOOP_PAUSED) && loop_is_degraded(loop);
    sim_require(!was_degraded || r < 0 || still_degraded || run->degraded_count > degraded_count,
                world, run, "nothing tells that the store had failed");
    if (!survived(owner, "next", r, &err, run)) {
        return;
    }
    if (r == LOOP_BODY) {
        owner->is_in_body[index] = true;
        check_body(owner, index);
        return;
    }
    if (r == LOOP_PAUSED) {
        check_paused(owner, index);
        return;
    }
    if (r == LOOP_ENDED) {
        check_ended(owner, index);
    } else {
        world->counters->broken++;
        world->counters->fenced += r == RONDO_ERR_FENCED;
        sim_require(loop_state(loop)->phase != PHASE_ENDED, world, run,
                    "a broken loop tells of an end that is not in the journal");
    }
    drop_loop(owner, index);
}

void world_park(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct rondo_error err = {0};
    sim_trace(world, "owner %u parks run %u", owner->index, index);
    int r = loop_park(owner->loops[index], &err);
    if (survived(owner, "park", r, &err, &world->runs[index])) {
        drop_loop(owner, index);
    }
}

void world_control(struct sim_owner *owner, unsigned index)
{
    struct sim_world *world = owner->world;
    struct sim_run *run = &world->runs[index];
    struct rondo_error err = {0};
    struct parts parts;
    make_parts(owner, index, &parts);
    struct loop_limits limits = {
        .max_iterations = 1 + (int64_t)sim_below(world, 20),
        .max_tokens = sim_chance(world, 20)   ? -1
                      : sim_chance(world, 20) ? 400
                                              : 0,
    };
    uint64_t seq = run->seq;
    bool was_ended = run->is_ended;
    uint64_t what = sim_below(world, 3);
    sim_trace(world, "owner %u steers run %u: %llu", owner->index, index, (unsigned long long)what);
    int r = what == 0   ? loop_pause_run(&parts.parts, run->id, "sim", &err)
            : what == 1 ? loop_continue_run(&parts.parts, run->id, "sim", &err)
                        : loop_change_limits(&parts.parts, run->id, &limits, "sim", &err);
    sim_require(r < 0 || !was_ended || r == LOOP_CONTROL_POSTED, world, run,
                "an ended run was steered");
    sim_require(r != LOOP_CONTROL_DONE || run->seq > seq, world, run, "it was done without a word");
    sim_require(r != LOOP_CONTROL_DONE || what == 2 || run->is_paused == (what == 0), world, run,
                "a pause or its end was promised and is not there");
    survived(owner, "control", r, &err, run);
}
