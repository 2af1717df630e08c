// SPDX-License-Identifier: Apache-2.0
/*
 * Thousands of handoffs that random persons, agents and failures work on: commands come twice, out
 * of order and in competition, processes die between the step and the commit, clocks jump. A model
 * that knows the promises, and not how they are kept, watches every commit:
 *
 *  - a decision is made once, by persons who may, before the due time, about what they have seen
 *  - no action is started that was not approved, after its approval ended, or twice
 *  - a record that was stored is read as it was
 *  - what waits has a timer, and time does the same in one leap as in many steps
 */
#include "handoff/record.h"
#include "handoff/step.h"

#include "base/clock.h"
#include "handoff/timer.h"
#include "seed.h"
#include "support/sanitizer.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Without an argument. The long suite has more. */
#define SEEDS    (HAS_SANITIZER ? 2000 : 10000)
#define COMMANDS 80
#define MINUTE   (60 * NS_PER_S)
#define HOUR     (60 * MINUTE)
#define BEGIN    (1800000000 * NS_PER_S)
#define PERSONS  4

static const char *const persons[PERSONS] = {"olga", "otto", "ole", "agent"};
static const char *const digests[2] = {
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0",
    "sha256:b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1",
};

/** What the model remembers of one handoff. */
struct promises {
    bool has_approved[PERSONS]; /* since the last revision */
    int64_t approved_ns;        /* 0 = not */
    int64_t first_taken_ns;
    unsigned grants;
    unsigned doubts; /* grants whose process was lost */
    bool is_applied;
};

/* Who never decides, beside the agent; PERSONS = nobody. */
struct own_people {
    size_t owner;
    size_t parent;
};

struct random_world {
    uint64_t seed;
    uint64_t random;
    struct handoff_rules rules;
    struct handoff handoff; /* as committed */
    struct promises model;
    struct own_people own;
    int64_t now_ns;
};

/* ---- The model ------------------------------------------------------------------------------ */

static bool is_person(const char *id, size_t *ret_index)
{
    for (size_t i = 0; i < PERSONS; i++) {
        if (strcmp(id, persons[i]) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static bool is_over(const struct handoff *handoff)
{
    return handoff->state >= HANDOFF_APPROVED;
}

static unsigned count_approvals(const struct promises *model)
{
    unsigned count = 0;
    for (size_t i = 0; i < PERSONS; i++) {
        count += model->has_approved[i] ? 1 : 0;
    }
    return count;
}

static void check_decision(struct random_world *world, const struct handoff *before,
                           const struct handoff_command *command, enum handoff_outcome outcome)
{
    struct promises *model = &world->model;
    size_t person = 0;
    bool is_approval =
        command->kind == HANDOFF_APPROVE && (outcome == HANDOFF_DONE || outcome == HANDOFF_PARTIAL);
    if (is_approval || (command->kind == HANDOFF_REJECT && outcome == HANDOFF_DONE)) {
        CHECK(world, command->actor.is_assignee && command->actor.may_decide);
        CHECK(world, !command->actor.is_requester && strcmp(command->actor.id, "agent") != 0);
        CHECK(world, strcmp(command->action_digest, digests[0]) == 0);
        CHECK(world, command->revision == before->revision);
        CHECK(world, before->state != HANDOFF_NEEDS_INFO || !is_approval);
        struct handoff then = *before; /* Time may have given it to another desk. */
        struct handoff_facts facts = {0};
        handoff_advance(&then, &world->rules, world->now_ns, &facts);
        CHECK(world, !then.is_extended || world->rules.on_timeout != ON_TIMEOUT_EXPIRE);
        CHECK(world, then.state == HANDOFF_NEEDS_INFO || world->now_ns < then.sla_due_ns);
        CHECK(world, before->required_by_ns == 0 || world->now_ns < before->required_by_ns);
        CHECK(world, is_person(command->actor.id, &person));
        CHECK(world, person != world->own.owner && person != world->own.parent);
    }
    if (command->kind == HANDOFF_SHED && outcome == HANDOFF_DONE) {
        CHECK(world, command->actor.is_admin && before->priority == HANDOFF_LOW);
    }
    if (is_approval) {
        CHECK(world, !model->has_approved[person]);
        model->has_approved[person] = true;
        bool is_enough = count_approvals(model) >= (before->risk == HANDOFF_CRITICAL ? 2U : 1U);
        CHECK(world, is_enough == (outcome == HANDOFF_DONE));
        model->approved_ns = is_enough ? world->now_ns : 0;
    }
    if (command->kind == HANDOFF_RESUBMIT && outcome == HANDOFF_DONE) {
        memset(model->has_approved, 0, sizeof(model->has_approved));
    }
}

static void check_application(struct random_world *world, const struct handoff_command *command,
                              enum handoff_outcome outcome)
{
    struct promises *model = &world->model;
    if (outcome != HANDOFF_DONE) {
        return;
    }
    if (command->kind == HANDOFF_TAKE && model->first_taken_ns == 0) {
        model->first_taken_ns = world->now_ns;
    }
    if (command->kind == HANDOFF_START) {
        CHECK(world, model->approved_ns != 0);
        CHECK(world, strcmp(command->action_digest, digests[0]) == 0);
        CHECK(world, command->is_allowed && strcmp(command->state_hash, digests[1]) == 0);
        CHECK(world, world->now_ns < model->approved_ns + 24 * HOUR);
        CHECK(world, world->now_ns < model->first_taken_ns + 15 * MINUTE);
        CHECK(world, !model->is_applied);
        CHECK(world, model->grants == model->doubts);
        CHECK(world, model->grants == 0 || world->handoff.is_idempotent);
        model->grants++;
    }
    if (command->kind == HANDOFF_FINISH) {
        CHECK(world, model->grants > 0 && !model->is_applied);
        model->is_applied = true;
    }
}

static void check_record(struct random_world *world, const struct handoff *before,
                         const struct handoff *after, const struct handoff_facts *facts)
{
    struct timer timer = handoff_timer(after, &world->rules);
    bool is_same = memcmp(before, after, sizeof(*before)) == 0;
    CHECK(world, is_same == (before->version == after->version));
    CHECK(world, facts->count == 0 || !is_same);
    CHECK(world, timer.kind == TIMER_NONE || timer.due_ns > world->now_ns);
    CHECK(world, !handoff_is_waiting(after) || timer.kind != TIMER_NONE);
    CHECK(world, after->application != APPLICATION_AVAILABLE || timer.kind != TIMER_NONE);
    CHECK(world, after->application != APPLICATION_LEASED || timer.kind != TIMER_NONE);
    CHECK(world, after->application != APPLICATION_STARTED || timer.kind != TIMER_NONE);
    CHECK(world, after->hops <= world->rules.most_hops);
    CHECK(world, after->revision <= world->rules.most_revisions + 1);
    CHECK(world, after->deliveries <= world->rules.most_deliveries);
    CHECK(world, !handoff_is_open(after) || after->desk_count > 0);
    CHECK(world, (after->state == HANDOFF_APPROVED) == (after->application != APPLICATION_NONE));
    CHECK(world, after->required_by_ns == before->required_by_ns);
    CHECK(world, after->is_extended || !before->is_extended);
    CHECK(world, strcmp(after->action_digest, digests[0]) == 0);
    if (is_over(before)) {
        CHECK(world, after->state == before->state || (before->state == HANDOFF_DEAD_LETTERED &&
                                                       after->state == HANDOFF_REQUESTED));
    }
}

/** What time did between two commits, as the facts tell it. */
static void note_doubts(struct random_world *world, const struct handoff_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        world->model.doubts += facts->facts[i] == FACT_IN_DOUBT ? 1 : 0;
    }
}

/* ---- The world ------------------------------------------------------------------------------ */

/** What somebody would do next: without it most handoffs would end before anything happens. */
static enum handoff_command_kind next_kind(struct random_world *world)
{
    static const enum handoff_command_kind waiting[] = {HANDOFF_APPROVE, HANDOFF_APPROVE,
                                                        HANDOFF_ASK,     HANDOFF_REROUTE,
                                                        HANDOFF_CLAIM,   HANDOFF_ROUTE};
    static const enum handoff_command_kind asked[] = {HANDOFF_RESUBMIT, HANDOFF_RESUBMIT,
                                                      HANDOFF_WITHDRAW};
    static const enum handoff_command_kind approved[] = {HANDOFF_TAKE, HANDOFF_START,
                                                         HANDOFF_FINISH};
    switch (world->handoff.state) {
    case HANDOFF_REQUESTED:
    case HANDOFF_REROUTED:
        return HANDOFF_ROUTE;
    case HANDOFF_ROUTED:
    case HANDOFF_ESCALATED:
        return waiting[roll(world, COUNT(waiting))];
    case HANDOFF_NEEDS_INFO:
        return asked[roll(world, COUNT(asked))];
    default:
        return approved[roll(world, COUNT(approved))];
    }
}

static struct handoff_command random_command(struct random_world *world)
{
    static const char *const consumers[] = {"process-1", "process-2"};
    static const char *const desks[] = {"desk-1", "desk-2", "desk-3", "desk-4", "desk-5"};
    enum handoff_command_kind kind =
        once_in(world, 6) ? (enum handoff_command_kind)roll(world, HANDOFF_COMMAND_COUNT)
                          : next_kind(world);
    bool is_agents = kind <= HANDOFF_RETURN;
    bool is_answering = kind == HANDOFF_RESUBMIT && !once_in(world, 8);
    return (struct handoff_command){
        .kind = kind,
        .actor = {.id = is_agents && !once_in(world, 16) ? "agent" : persons[roll(world, PERSONS)],
                  .is_assignee = !once_in(world, 8),
                  .is_admin = once_in(world, 4),
                  .may_decide = !once_in(world, 8),
                  .is_requester = once_in(world, 16)},
        .consumer = consumers[roll(world, 8) / 7],
        .if_version = once_in(world, 3) ? world->handoff.version - roll(world, 3) / 2 : 0,
        .revision = world->handoff.revision + (is_answering || once_in(world, 16) ? 1 : 0),
        .action_digest = digests[once_in(world, 12) ? 1 : 0],
        .text_digest = digests[roll(world, 2)],
        .has_text = !once_in(world, 8),
        .desk =
            kind == HANDOFF_ROUTE && once_in(world, 12) ? NULL : desks[roll(world, COUNT(desks))],
        .state_hash = digests[once_in(world, 12) ? 0 : 1],
        .new_request = once_in(world, 4) ? "7fce3aab-96f4-5117-817f-3579469c578b" : NULL,
        .is_allowed = !once_in(world, 12),
        .is_transient = once_in(world, 2),
    };
}

/** One leap, or a stop on the way: the same. */
static void check_leap(struct random_world *world, int64_t leap_ns)
{
    struct handoff direct = world->handoff;
    struct handoff slow = world->handoff;
    struct handoff_facts facts = {0};
    struct handoff_facts more = {0};
    int64_t stop_ns = world->now_ns + (int64_t)roll(world, (uint64_t)leap_ns + 1);
    handoff_advance(&direct, &world->rules, world->now_ns + leap_ns, &facts);
    handoff_advance(&slow, &world->rules, stop_ns, &more);
    handoff_advance(&slow, &world->rules, world->now_ns + leap_ns, &more);
    CHECK(world, memcmp(&direct, &slow, sizeof(direct)) == 0);
    CHECK(world, facts.count == more.count);
}

static void pass_time(struct random_world *world)
{
    static const int64_t leaps[] = {0,          NS_PER_S,    10 * NS_PER_S, 40 * NS_PER_S,
                                    5 * MINUTE, 40 * MINUTE, 5 * HOUR,      30 * HOUR};
    size_t longest = once_in(world, 8) ? COUNT(leaps) : 4;
    int64_t leap_ns = (int64_t)roll(world, (uint64_t)leaps[roll(world, longest)] + 1);
    check_leap(world, leap_ns);
    world->now_ns += once_in(world, 2) ? leap_ns : 0;
    /* A clock that is set back: nothing happens twice. */
    world->now_ns -= once_in(world, 50) ? MINUTE : 0;
}

/** The store, as far as a record notices it. */
static void check_stored(struct random_world *world)
{
    auto_buf struct buf text = {0};
    struct handoff read;
    struct rondo_error err;
    handoff_encode(&world->handoff, &text);
    memset(&read, 0xA5, sizeof(read));
    CHECK(world, handoff_decode(text.data, text.len, &read, &err) == 0);
    auto_buf struct buf again = {0};
    handoff_encode(&read, &again);
    CHECK(world, strcmp(buf_string(&text), buf_string(&again)) == 0);
    world->handoff = read;
}

/** Carry a command out on the committed record, and commit; unless the process dies before. */
static void carry_out(struct random_world *world, const struct handoff_command *command)
{
    struct handoff_facts facts = {0};
    struct handoff before = world->handoff;
    handoff_advance(&before, &world->rules, world->now_ns, &facts);
    struct handoff_facts all = {0};
    struct handoff after = world->handoff;
    enum handoff_outcome outcome =
        handoff_step(&after, &world->rules, command, world->now_ns, &all);
    if (once_in(world, 10)) {
        return;
    }
    check_record(world, &world->handoff, &after, &all);
    note_doubts(world, &all);
    check_decision(world, &before, command, outcome);
    CHECK(world, outcome == HANDOFF_OTHER_VERSION || command->if_version == 0 ||
                     command->if_version == world->handoff.version || !handoff_is_waiting(&before));
    world->handoff = after;
    check_application(world, command, outcome);
    if (once_in(world, 10)) {
        check_stored(world);
    }
}

/** The same command arrives again: its effect is there once. */
static void repeat(struct random_world *world, const struct handoff_command *command)
{
    struct handoff_facts facts = {0};
    struct handoff again = world->handoff;
    enum handoff_outcome outcome =
        handoff_step(&again, &world->rules, command, world->now_ns, &facts);
    bool is_single = command->kind == HANDOFF_APPROVE || command->kind == HANDOFF_REJECT ||
                     command->kind == HANDOFF_RESUBMIT || command->kind == HANDOFF_CANCEL ||
                     command->kind == HANDOFF_START || command->kind == HANDOFF_FINISH ||
                     command->kind == HANDOFF_ROUTE || command->kind == HANDOFF_REPLAY;
    CHECK(world, !is_single || outcome != HANDOFF_DONE || facts.count == 0);
}

static void run_seed(uint64_t seed, uint64_t *states, uint64_t *applications)
{
    struct random_world world = {
        .seed = seed, .random = seed, .rules = handoff_default_rules, .now_ns = BEGIN};
    world.rules.on_timeout = (enum handoff_on_timeout)(seed % ON_TIMEOUT_COUNT);
    snprintf(world.rules.timeout_desk, sizeof(world.rules.timeout_desk), "desk-%d",
             (int)(seed % 5));
    /* Of one person in three, whose name is written in either way. */
    char owner[32] = "";
    world.own = (struct own_people){roll(&world, 3 * PERSONS), roll(&world, 3 * PERSONS)};
    if (world.own.owner < PERSONS) {
        snprintf(owner, sizeof(owner), "%s%s", once_in(&world, 2) ? "user:" : "",
                 persons[world.own.owner]);
    }
    struct handoff_facts facts = {0};
    struct handoff_request request = {
        .request_id = "e6a19e20-f630-5f7a-91bd-71be0c3eae0d",
        .agent_id = "agent",
        .lane_id = "lane",
        .parent_id = world.own.parent < PERSONS ? persons[world.own.parent] : NULL,
        .owner = owner,
        .action_digest = digests[0],
        .state_hash = digests[1],
        .body_digest = digests[0],
        .risk = (enum handoff_level)roll(&world, HANDOFF_LEVEL_COUNT),
        .priority = (enum handoff_level)roll(&world, HANDOFF_LEVEL_COUNT),
        .required_by_ns = once_in(&world, 3) ? BEGIN + (int64_t)roll(&world, 40) * HOUR : 0,
        .is_idempotent = once_in(&world, 3),
    };
    if (handoff_begin(&request, &world.rules, world.now_ns, &world.handoff, &facts) !=
        HANDOFF_DONE) {
        CHECK(&world, request.required_by_ns == BEGIN);
        return;
    }
    for (int i = 0; i < COMMANDS; i++) {
        struct handoff_command command = random_command(&world);
        pass_time(&world);
        struct handoff before = world.handoff;
        carry_out(&world, &command);
        if (memcmp(&before, &world.handoff, sizeof(before)) != 0) {
            repeat(&world, &command);
        }
    }
    states[world.handoff.state]++;
    applications[world.handoff.application]++;
}

static uint64_t seeds_wanted = SEEDS;

TEST(no_seed_breaks_a_promise)
{
    uint64_t states[HANDOFF_STATE_COUNT] = {0};
    uint64_t applications[APPLICATION_COUNT] = {0};
    for (uint64_t seed = 1; seed <= seeds_wanted; seed++) {
        run_seed(seed, states, applications);
    }
    /* What never happens proves nothing. */
    for (int i = HANDOFF_APPROVED; i < HANDOFF_STATE_COUNT; i++) {
        print_message("%6llu %s\n", (unsigned long long)states[i],
                      handoff_state_name((enum handoff_state)i));
        assert_true(states[i] > 0);
    }
    for (int i = APPLICATION_APPLIED; i < APPLICATION_COUNT; i++) {
        print_message("%6llu %s\n", (unsigned long long)applications[i],
                      handoff_application_name((enum handoff_application)i));
        assert_true(applications[i] > 0);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        seeds_wanted = strtoull(argv[1], NULL, 10);
    }
    return test_run(NULL, NULL);
}
