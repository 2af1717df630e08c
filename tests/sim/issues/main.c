// SPDX-License-Identifier: Apache-2.0
/*
 * sim_issues [--seed N] [--count N] [--verbose]: simulate seeds N, N+1, ... of the work queue.
 *
 * After a time of chaos everything becomes quiet: no faults, no people, every worker that still
 * lives is up. Then it must come to rest, and be right:
 *  - no issue is forgotten: one that may be worked on is not free
 *  - labels, comment, claim and pull request of an issue say the same
 */
#include "sim_issues.h"
#include "sim_seeds.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Ticks of chaos, and looks at everything that the quiet takes at most. */
#define CHAOS_TICKS  400
#define QUIET_ROUNDS 4000
/** Turns of a worker without a pause. */
#define MOST_TURNS 2000
/** Rests, with deeds of people between them. */
#define REST_TIMES 3
/** At rest: nothing was done for so long, which is longer than any wait. */
#define REST_NS (6 * SIM_HOUR)

void sim_say(const struct sim *sim, const char *format, ...)
{
    va_list arguments;
    if (!sim->is_verbose) {
        return;
    }
    va_start(arguments, format);
    sim_print(sim->now_ns, format, arguments);
    va_end(arguments);
}

_Noreturn void sim_fail(const struct sim *sim, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sim_violation("sim_issues", sim->seed, format, arguments);
}

/* ---- Chaos ---------------------------------------------------------------------------------- */

static void disturb(struct sim *sim, struct sim_worker *worker)
{
    if (!worker->is_up && !worker->is_gone && sim_below(sim, 4) == 0) {
        sim_worker_start(sim, worker);
    } else if (worker->is_up && sim_strikes(sim, 60)) {
        sim_worker_kill(sim, worker);
        worker->is_gone = worker->number > 0 && sim_strikes(sim, 15);
    } else if (worker->is_up && sim_strikes(sim, 120)) {
        sim_worker_leave(sim, worker);
    } else if (worker->is_up && sim_strikes(sim, 60)) {
        worker->frozen_ns = sim->now_ns + (int64_t)random_below(&sim->random, 40 * SIM_MINUTE);
        sim->seen->freezes++;
    }
}

static void make_chaos(struct sim *sim)
{
    for (int i = 0; i < CHAOS_TICKS; i++) {
        struct sim_worker *worker = &sim->workers[sim_below(sim, SIM_WORKERS)];
        bool is_long = sim_below(sim, 12) == 0;
        sim->now_ns += (int64_t)random_below(&sim->random, is_long ? 8 * SIM_MINUTE : 2 * NS_PER_S);
        sim_deliver_late(sim);
        if (sim_strikes(sim, 15)) {
            sim_people_act(sim);
        }
        disturb(sim, worker);
        sim_worker_tick(sim, worker);
    }
}

/* ---- Quiet ---------------------------------------------------------------------------------- */

static void begin_quiet(struct sim *sim)
{
    sim->is_quiet = true; /* but for people, in between */
    for (size_t i = 0; i < SIM_WORKERS; i++) {
        struct sim_worker *worker = &sim->workers[i];
        worker->frozen_ns = 0;
        if (!worker->is_up && !worker->is_gone) {
            sim_worker_start(sim, worker);
        }
    }
}

/** Every worker does what there is to do now. @return whether anything was done */
static bool settle(struct sim *sim)
{
    bool is_changed = false;
    for (size_t i = 0; i < SIM_WORKERS; i++) {
        struct sim_worker *worker = &sim->workers[i];
        int turns = 0;
        do {
            worker->is_changed = false;
            SIM_CHECK(sim, turns++ < MOST_TURNS, "w%u does not settle", worker->number);
            for (int k = 0; k < SIM_ISSUES + 1; k++) {
                sim_worker_tick(sim, worker);
            }
            is_changed = is_changed || worker->is_changed;
        } while (worker->is_changed);
    }
    return is_changed;
}

static void come_to_rest(struct sim *sim)
{
    int64_t changed_ns = sim->now_ns;
    for (int i = 0; i < QUIET_ROUNDS; i++) {
        /* While nothing is done no lease is renewed, so none runs out in a longer step. */
        bool is_resting = sim->now_ns - changed_ns > 30 * SIM_MINUTE;
        int64_t most_ns = is_resting ? SIM_HOUR : 5 * SIM_MINUTE;
        sim->now_ns += 30 * NS_PER_S + (int64_t)random_below(&sim->random, (uint64_t)most_ns);
        sim_deliver_late(sim);
        if (settle(sim)) {
            changed_ns = sim->now_ns;
        }
        if (sim->now_ns - changed_ns > REST_NS) {
            return;
        }
    }
    sim_fail(sim, "it does not come to rest");
}

/* ---- What must be true at the end ----------------------------------------------------------- */

/** The item of the worker that has the claim. One that died twice while it told what became of the
 *  issue leaves it as it is, for good. */
static const struct item *find_owner(struct sim *sim, const struct sim_issue *issue)
{
    for (size_t i = 0; i < SIM_WORKERS; i++) {
        const struct sim_slot *slot = sim_slot_of(sim, &sim->workers[i], issue);
        if (slot->is_loaded && !slot->item.is_released &&
            sim_judge_claim(issue, slot->item.nonce) == CLAIM_OURS) {
            return &slot->item;
        }
    }
    return NULL;
}

static void check_claimed(struct sim *sim, struct sim_issue *issue)
{
    const struct item *item = find_owner(sim, issue);
    const struct sim_pull *pull = sim_open_pull(issue);
    if (item ==
        NULL) { /* Its owner is gone for good; that of the pull request is swept up later. */
        struct claim claim = {0};
        int r = claim_decode(issue->number, issue->claim, &claim, NULL);
        SIM_CHECK(sim, r == 0 && pull != NULL && claim.pull == pull->number,
                  "#%" PRId64 " has a claim of nobody", issue->number);
        claim_fini(&claim);
        return;
    }
    SIM_CHECK(sim, item->state == ITEM_IN_REVIEW || item->state == ITEM_BLOCKED,
              "#%" PRId64 " rests as %s", issue->number, item_state_name(item->state));
    SIM_CHECK(sim, pull != NULL && pull->number == item->pull,
              "#%" PRId64 " is held without its pull request", issue->number);
    SIM_CHECK(sim, issue->labels == sim_label(item->state), "#%" PRId64 " has the labels %x",
              issue->number, issue->labels);
    SIM_CHECK(sim, issue->comment == item->state, "#%" PRId64 " says %s and is %s", issue->number,
              item_state_name(issue->comment), item_state_name(item->state));
}

static void check_free(struct sim *sim, struct sim_issue *issue)
{
    unsigned ends = sim_label(ITEM_BLOCKED) | sim_label(ITEM_NEEDS_HUMAN) | sim_label(ITEM_DONE);
    bool is_wanted = issue->is_open && issue->is_labelled && !issue->is_away;
    SIM_CHECK(sim, (issue->labels & ~ends) == 0, "#%" PRId64 " has no claim and the labels %x",
              issue->number, issue->labels);
    SIM_CHECK(sim, !is_wanted || issue->labels != 0, "#%" PRId64 " is forgotten", issue->number);
}

static void check_rest(struct sim *sim)
{
    for (size_t i = 0; i < SIM_ISSUES; i++) {
        struct sim_issue *issue = &sim->issues[i];
        SIM_CHECK(sim, issue->comments <= 1, "#%" PRId64 " has %u comments", issue->number,
                  issue->comments);
        if (issue->is_gone) {
            continue;
        }
        if (issue->claim != NULL) {
            check_claimed(sim, issue);
        } else {
            check_free(sim, issue);
        }
    }
}

/* ---- A seed --------------------------------------------------------------------------------- */

static void make_sim(struct sim *sim, uint64_t seed, struct sim_seen *seen, bool is_verbose)
{
    *sim = (struct sim){.random = random_seeded(seed),
                        .seed = seed,
                        .is_verbose = is_verbose,
                        .calm = 1,
                        .now_ns = INT64_C(1700000000000000000),
                        .seen = seen};
    sim->calm = 1 + sim_below(sim, 6);
    sim->options = (struct item_options){.max_attempts = 1 + sim_below(sim, 3),
                                         .max_active_ns = 2 * SIM_HOUR,
                                         .retry_base_ns = 5 * SIM_MINUTE,
                                         .retry_most_ns = 2 * SIM_HOUR,
                                         .most_follow_ups = sim_below(sim, 3),
                                         .releases_claim = sim_below(sim, 2) == 0};
    for (size_t i = 0; i < SIM_ISSUES; i++) {
        sim->issues[i] = (struct sim_issue){.number = (int64_t)i + 1,
                                            .is_open = true,
                                            .is_labelled = sim_below(sim, 8) != 0,
                                            .comment = ITEM_STATE_COUNT};
    }
    for (unsigned i = 0; i < SIM_WORKERS; i++) {
        sim->workers[i].number = i;
        sim_worker_start(sim, &sim->workers[i]);
    }
}

static void free_sim(struct sim *sim)
{
    for (size_t i = 0; i < SIM_WORKERS; i++) {
        sim_worker_fini(&sim->workers[i]);
    }
    for (size_t i = 0; i < SIM_ISSUES; i++) {
        free(sim->issues[i].claim);
    }
    for (size_t i = 0; i < SIM_LATE; i++) {
        free(sim->late[i].claim);
    }
}

static void run_seed(uint64_t seed, void *context, bool is_verbose)
{
    struct sim_seen *seen = context;
    static struct sim sim;
    make_sim(&sim, seed, seen, is_verbose);
    make_chaos(&sim);
    begin_quiet(&sim);
    for (int i = 0; i < REST_TIMES; i++) {
        come_to_rest(&sim);
        check_rest(&sim);
        for (unsigned k = sim_below(&sim, 8); k > 0; k--) {
            sim_people_act(&sim);
        }
    }
    come_to_rest(&sim);
    check_rest(&sim);
    free_sim(&sim);
}

static void print_seen(const struct sim_seen *seen)
{
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {
        {"effects", seen->effects},
        {"kills", seen->kills},
        {"orderly stops", seen->stops},
        {"freezes", seen->freezes},
        {"lost answers", seen->lost},
        {"late claims", seen->late},
        {"take-overs", seen->takeovers},
        {"fenced", seen->fenced},
        {"cancelled", seen->cancelled},
        {"blocked", seen->blocked},
        {"marks of releases", seen->released},
        {"pull requests", seen->reviews},
        {"merged", seen->merged},
        {"follow-ups", seen->follow_ups},
        {"retries", seen->retries},
        {"killed twice at a step", seen->crashed_twice},
        {"labels swept", seen->sweeps},
        {"deeds of people", seen->people},
    };
    bool is_all = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        printf("%12" PRIu64 " %s\n", rows[i].count, rows[i].name);
        is_all = is_all && rows[i].count > 0;
    }
    if (!is_all) {
        printf("some of it has never happened\n");
    }
}

int main(int argc, char **argv)
{
    struct sim_seen seen = {0};
    int r = sim_seeds(argc, argv, run_seed, &seen);
    if (r == 0) {
        print_seen(&seen);
    }
    return r;
}
