// SPDX-License-Identifier: Apache-2.0
/*
 * What happens when: one random action after the other, and in the end a calm phase in which every
 * run must reach its final status.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

/** Turns after which a run in a calm world must have ended. */
#define CALM_TURNS 400

static void advance_somewhere(struct sim_world *world)
{
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    for (unsigned i = 0; i < SIM_RUNS && !owner->is_frozen; i++) {
        unsigned index = (unsigned)(sim_below(world, SIM_RUNS));
        if (owner->loops[index] != NULL) {
            world_advance(owner, index);
            return;
        }
    }
}

static void open_somewhere(struct sim_world *world)
{
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    if (owner->is_frozen) {
        return;
    }
    if (world->run_count < SIM_RUNS && sim_chance(world, 40)) {
        world_start_run(owner);
        return;
    }
    if (world->run_count > 0) {
        unsigned index = (unsigned)sim_below(world, world->run_count);
        if (owner->loops[index] == NULL || sim_chance(world, 5)) {
            world_resume(owner, index);
        }
    }
}

static void crash_somebody(struct sim_world *world)
{
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    if (sim_chance(world, 70)) {
        owner->crash_in = 1 + (unsigned)sim_below(world, 12);
        return;
    }
    sim_trace(world, "owner %u is killed", owner->index);
    world->counters->crashes++;
    world_crash(owner);
    world_boot(owner);
}

static void freeze_or_thaw(struct sim_world *world)
{
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    world_freeze(owner, !owner->is_frozen);
}

/** Corrections too small to be noticed, hours, days; there and back. */
static void set_clock(struct sim_world *world)
{
    static const int64_t most_ns[] = {NS_PER_S, 60 * NS_PER_S, 3600 * NS_PER_S, 86400 * NS_PER_S};
    int64_t by_ns = (int64_t)sim_below(world, (uint64_t)most_ns[sim_below(world, 4)]);
    int64_t skew_ns = world->skews_ns[world->era];
    world_set_clock(world, sim_chance(world, 20)   ? -skew_ns
                           : sim_chance(world, 50) ? by_ns
                                                   : -by_ns);
}

static void pass_time(struct sim_world *world)
{
    int64_t most_ns = sim_chance(world, 30) ? 2 * world->lease_ns : NS_PER_S;
    world_pass(world, (int64_t)sim_below(world, (uint64_t)most_ns));
}

static void break_store(struct sim_world *world)
{
    static const int codes[] = {RONDO_ERR_IO, RONDO_ERR_FULL, RONDO_ERR_BUSY};
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    owner->trouble_code = codes[sim_below(world, 3)];
    if (sim_chance(world, 60)) {
        owner->trouble_calls = 1 + (unsigned)sim_below(world, 4);
    } else {
        owner->trouble_until_ns = world->now_ns + (int64_t)sim_below(world, 30 * NS_PER_S);
    }
}

static void tick_somewhere(struct sim_world *world)
{
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    if (owner->is_frozen) {
        return;
    }
    runtime_tick(owner->runtime);
    if (owner->is_crashed) {
        world->counters->crashes++;
        world_crash(owner);
        world_boot(owner);
    }
}

static void send_stop(struct sim_world *world)
{
    if (world->run_count == 0) {
        return;
    }
    struct sim_run *run = &world->runs[sim_below(world, world->run_count)];
    world->memory->ops->post(world->memory, run->id, "stop", "{\"by\":\"sim\"}", NULL);
    sim_trace(world, "a stop is posted to %s", run->id);
}

static void steer(struct sim_world *world)
{
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    if (world->run_count == 0) {
        return;
    }
    unsigned index = (unsigned)sim_below(world, world->run_count);
    const char *id = world->runs[index].id;
    if (sim_chance(world, 20)) { /* also letters for others */
        static const char *const kinds[] = {"pause", "continue", "limits"};
        world->memory->ops->post(world->memory, id, kinds[sim_below(world, 3)],
                                 "{\"by\":\"sim\",\"max_iterations\":7}", NULL);
    } else if (!owner->is_frozen) {
        world_control(owner, index);
    }
}

static void press_control_c(struct sim_world *world)
{
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    for (unsigned i = 0; i < SIM_RUNS; i++) {
        if (owner->loops[i] != NULL) {
            loop_stop(owner->loops[i], CANCEL_GRACEFUL);
        }
    }
}

static void damage_checkpoint(struct sim_world *world)
{
    if (world->run_count == 0) {
        return;
    }
    struct sim_run *run = &world->runs[sim_below(world, world->run_count)];
    if (run->has_interim && sim_chance(world, 30)) {
        run->is_interim_damaged = true;
        world->counters->damaged++;
        sim_trace(world, "the interim of %s is damaged", run->id);
        return;
    }
    uint64_t back = sim_chance(world, 80) ? 0 : sim_below(world, 3);
    if (run->checkpoints > back) {
        run->is_damaged[run->checkpoints - back] = true;
        world->counters->damaged++;
        sim_trace(world, "checkpoint %llu of %s is damaged",
                  (unsigned long long)(run->checkpoints - back), run->id);
    }
}

static void change_policy(struct sim_world *world)
{
    struct sim_run *run = &world->runs[sim_below(world, SIM_RUNS)];
    if (run->has_policy) {
        world_write_policy(run, 20);
    }
}

static void park_somewhere(struct sim_world *world)
{
    struct sim_owner *owner = &world->owners[sim_below(world, SIM_OWNERS)];
    unsigned index = (unsigned)sim_below(world, SIM_RUNS);
    if (!owner->is_frozen && owner->loops[index] != NULL) {
        world_park(owner, index);
    }
}

static const struct {
    unsigned weight;
    void (*act)(struct sim_world *world);
} actions[] = {
    {60, advance_somewhere}, {22, open_somewhere}, {4, crash_somebody},    {4, freeze_or_thaw},
    {6, pass_time},          {3, set_clock},       {5, break_store},       {5, tick_somewhere},
    {1, send_stop},          {1, press_control_c}, {2, damage_checkpoint}, {2, change_policy},
    {2, park_somewhere},     {5, steer},
};

static void act(struct sim_world *world)
{
    unsigned total = 0;
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        total += actions[i].weight;
    }
    uint64_t draw = sim_below(world, total);
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (draw < actions[i].weight) {
            actions[i].act(world);
            return;
        }
        draw -= actions[i].weight;
    }
}

/** Drive one run to its end in a world without faults. */
static void finish_run(struct sim_world *world, unsigned index)
{
    struct sim_run *run = &world->runs[index];
    struct sim_owner *owner = &world->owners[0];
    for (int i = 0; i < CALM_TURNS && !run->is_ended; i++) {
        if (owner->loops[index] == NULL) {
            world_pass(world, 2 * world->lease_ns);
            world_resume(owner, index);
        }
        if (owner->loops[index] != NULL) {
            world_advance(owner, index);
        }
    }
    sim_require(run->is_ended, world, run, "it does not end");
    struct store_run row;
    world->memory->ops->get_run(world->memory, run->id, &row, NULL);
    sim_require(row.summary.status == run->status && row.ended_ns != 0, world, run,
                "its row says %s", rondo_status_name(row.summary.status));
    model_check_store(run);
}

/** Frozen processes wake up when all is over: it may read, but it must not write. */
static void wake_frozen(struct sim_world *world)
{
    for (unsigned i = 1; i < SIM_OWNERS; i++) {
        struct sim_owner *owner = &world->owners[i];
        world_freeze(owner, false);
        for (unsigned k = 0; k < SIM_RUNS; k++) {
            for (int turn = 0; turn < CALM_TURNS && owner->loops[k] != NULL; turn++) {
                world_advance(owner, k);
            }
        }
    }
}

void sim_run_seed(uint64_t seed, bool is_verbose, sim_open_fn *open, struct sim_counters *counters)
{
    struct sim_world world;
    world_init(&world, seed, is_verbose, open, counters);
    unsigned steps = 30 + (unsigned)sim_below(&world, 120);
    for (unsigned i = 0; i < steps; i++) {
        act(&world);
    }
    sim_trace(&world, "the world is calm");
    world.is_calm = true;
    world_crash(&world.owners[0]);
    world_boot(&world.owners[0]);
    for (unsigned i = 0; i < world.run_count; i++) {
        finish_run(&world, i);
    }
    wake_frozen(&world);
    for (unsigned i = 0; i < world.run_count; i++) {
        finish_run(&world, i);
    }
    world_fini(&world);
}
