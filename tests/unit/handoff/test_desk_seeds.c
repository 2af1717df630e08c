// SPDX-License-Identifier: Apache-2.0
/*
 * Thousands of stores in which random agents ask and random people decide: through the inbox and a
 * random desk file, with full lanes, joined requests, answers that are lost, people who act between
 * the reading and the commit of others, wall clocks that are set, servers that start anew. A model
 * looks at every transaction that is committed. It knows the desk file as tables of its own, and
 * the promises:
 *
 *  - who decides is on the desk that has the request, may decide at its risk, and is not of the one
 *    that asks; a critical action has two different persons; time approves nothing
 *  - a lane, an agent and the store have no more that waits than the file says, and only what it
 *    says makes room; an action that waits in its lane is joined, and has one fate
 *  - a decision that was acknowledged is committed, once, and its agent is told
 *  - no action is started that was not approved, after its approval ended, or twice
 *  - a wall clock that is set changes nothing; the audit chain has what was committed, and verifies
 */
#include "desk_model.h"

#include "handoff/storage/chain.h"
#include "handoff/storage/clock.h"
#include "support/sanitizer.h"
#include "support/store/memory_store.h"

#include <stdlib.h>

/** Without an argument. The long suite has more. */
#define SEEDS  (HAS_SANITIZER ? 500 : 5000)
#define EVENTS 22

/* ---- The store, with failures --------------------------------------------------------------- */

static void act_between(struct desk_world *world);

static int change(struct store *base, const struct store_change *changes, size_t count,
                  bool *ret_is_applied, struct rondo_error *err)
{
    struct desk_world *world = (struct desk_world *)base;
    uint64_t fate = world->is_quiet ? 99 : roll(world, 40);
    if (fate == 0) {
        return RONDO_ERR_IO; /* The process dies before. */
    }
    if (fate < 5 && world->depth == 0) {
        act_between(world);
    }
    int r = world->real->ops->change_documents(world->real, changes, count, ret_is_applied, err);
    if (r == 0 && *ret_is_applied) {
        watch(world, changes, count);
    }
    world->seen[SEEN_OVERTAKEN] += r == 0 && !*ret_is_applied ? 1 : 0;
    return fate == 5 && r == 0 ? RONDO_ERR_IO : r; /* or after it, and nobody is told. */
}

static int read_all(struct store *base, const struct store_document_query *query,
                    store_document_fn *fn, void *context, struct rondo_error *err)
{
    struct desk_world *world = (struct desk_world *)base;
    if (!world->is_quiet && once_in(world, 300)) {
        return RONDO_ERR_IO;
    }
    return world->real->ops->read_documents(world->real, query, fn, context, err);
}

/* ---- Time ----------------------------------------------------------------------------------- */

static int64_t read_wall(const struct clock *clock)
{
    return ((const struct desk_world *)clock->context)->wall_ns;
}

static int64_t read_steady(const struct clock *clock)
{
    return ((const struct desk_world *)clock->context)->steady_ns;
}

/** Handoffs as a process that starts now has them: the server, or a command beside it. */
static struct handoff_store open_store(struct desk_world *world, struct handoff_clock *clock)
{
    struct handoff_store handoffs = desks_store(&world->base, world->desks.file);
    *clock = (struct handoff_clock){.store = world->real, .clock = &world->machine, .boot = "boot"};
    handoffs.clock = clock;
    return handoffs;
}

/** The server starts: the wall clock counts as it is. */
static void start_server(struct desk_world *world)
{
    struct handoff_clock clock;
    (void)open_store(world, &clock);
    CHECK(world, handoff_clock_begin(&clock, NULL) == 0);
    world->offset_ns = world->wall_ns - world->steady_ns;
}

static int64_t time_of(struct desk_world *world, const struct handoff_store *handoffs)
{
    int64_t now_ns = handoff_now(handoffs);
    CHECK(world, now_ns == world->steady_ns + world->offset_ns);
    return now_ns;
}

static void pass_time(struct desk_world *world)
{
    static const int64_t leaps[] = {NS_PER_S, 20 * NS_PER_S, 5 * MINUTE, 40 * MINUTE, 2 * HOUR};
    int64_t leap_ns = (int64_t)roll(world, (uint64_t)leaps[roll(world, COUNT(leaps))] + 1);
    world->steady_ns += leap_ns;
    world->wall_ns += leap_ns;
    if (once_in(world, 6)) { /* Somebody sets the clock. */
        world->wall_ns += ((int64_t)roll(world, 400) - 200) * 24 * HOUR;
    }
    if (once_in(world, 12)) { /* With a clock that is about right again. */
        world->wall_ns = world->steady_ns + world->offset_ns + (int64_t)roll(world, 3) * MINUTE;
        start_server(world);
    }
}

/* ---- What agents do ------------------------------------------------------------------------- */

static void draw_request(struct desk_world *world, struct played *request)
{
    static const char *const owners[] = {NULL, NULL, "user:ann", "user:ben"};
    static const char *const parents[] = {NULL, NULL, NULL, "dan"};
    request->is_asked = true;
    request->joins = !once_in(world, 4);
    request->agent = roll(world, AGENTS);
    request->lane = roll(world, 2);
    request->action = roll(world, 2);
    request->owner = owners[roll(world, COUNT(owners))];
    request->parent = parents[roll(world, COUNT(parents))];
    request->risk = (enum handoff_level)roll(world, HANDOFF_LEVEL_COUNT);
    request->priority = (enum handoff_level)(roll(world, 8) / 2);
    request->priority = once_in(world, 2) ? HANDOFF_LOW : request->priority;
    request->is_idempotent = once_in(world, 3);
}

static void check_full(struct desk_world *world, const struct played *request)
{
    bool is_full = false;
    bool is_lane = count_waiting(world, COUNT_LANE, request) >= world->desks.bounds[COUNT_LANE];
    for (int i = 0; i < COUNT_KINDS; i++) {
        is_full = is_full || count_waiting(world, (enum count_of)i, request) >=
                                 places(world, (enum count_of)i, request->risk);
    }
    CHECK(world, is_full && request->record.version == 0);
    for (size_t i = 0; i < REQUESTS && world->desks.on_full == ON_FULL_SHED; i++) {
        const struct played *other = &world->requests[i];
        CHECK(world, other->record.version == 0 || !handoff_is_waiting(&other->record) ||
                         other->record.priority != HANDOFF_LOW || other->agent != request->agent ||
                         (is_lane && other->lane != request->lane));
    }
    world->seen[SEEN_FULL]++;
}

/** What the agent is told, and what there is. */
static void check_submission(struct desk_world *world, const struct played *request,
                             const struct handoff_result *result)
{
    switch (result->outcome) {
    case HANDOFF_DONE:
        CHECK(world, world->acting->effects == 1 && request->record.version > 0);
        break;
    case HANDOFF_REPEATED:
        CHECK(world, request->record.version > 0);
        CHECK(world, strcmp(result->handoff.request_id, request->id) == 0);
        break;
    case HANDOFF_JOINED: {
        /* Its fate is that of another one: it has no record that could have one of its own. */
        const struct played *same = same_of(world, request);
        CHECK(world, request->joins && request->record.version == 0);
        CHECK(world, same != NULL && strcmp(result->handoff.request_id, same->id) == 0);
        world->seen[SEEN_JOINED]++;
        break;
    }
    case HANDOFF_FULL:
        check_full(world, request);
        break;
    default:
        CHECK(world, false && "such an answer to a request");
    }
}

static void submit(struct desk_world *world)
{
    struct played *request = &world->requests[roll(world, REQUESTS)];
    struct handoff_clock clock;
    struct handoff_store handoffs = open_store(world, &clock);
    struct handoff_result result;
    if (!request->is_asked) {
        draw_request(world, request);
    }
    struct handoff_request ask = {.request_id = request->id,
                                  .agent_id = agents[request->agent],
                                  .lane_id = lanes[request->lane],
                                  .parent_id = request->parent,
                                  .owner = request->owner,
                                  .action_digest = actions[request->action],
                                  .body_digest = actions[0],
                                  .risk = request->risk,
                                  .priority = request->priority,
                                  .is_idempotent = request->is_idempotent,
                                  .is_foreign = true,
                                  .joins = request->joins};
    struct acting acting = {.request = request,
                            .is_submitting = true,
                            .kind = HANDOFF_COMMAND_COUNT,
                            .now_ns = time_of(world, &handoffs)};
    world->acting = &acting;
    if (handoff_submit(&handoffs, &ask, body, acting.now_ns, &result, NULL) == 0) {
        check_submission(world, request, &result);
    }
}

/** A request; mostly one with which there is something to do. */
static struct played *pick(struct desk_world *world, bool is_for_agent)
{
    struct played *request = &world->requests[roll(world, REQUESTS)];
    for (size_t i = 0; i < REQUESTS; i++) {
        size_t next = ((size_t)(request - world->requests) + i) % REQUESTS;
        const struct handoff *record = &world->requests[next].record;
        bool is_agents =
            record->application != APPLICATION_NONE || record->state == HANDOFF_NEEDS_INFO;
        bool is_useful = is_for_agent ? is_agents : handoff_is_waiting(record);
        if (record->version > 0 && is_useful && !once_in(world, 8)) {
            return &world->requests[next];
        }
    }
    return request;
}

static void route(struct desk_world *world)
{
    struct played *request = pick(world, false);
    struct handoff_clock clock;
    struct handoff_store handoffs = open_store(world, &clock);
    struct handoff handoff;
    struct acting acting = {
        .request = request, .kind = HANDOFF_COMMAND_COUNT, .now_ns = time_of(world, &handoffs)};
    world->acting = &acting;
    int r = inbox_route(&handoffs, request->id, acting.now_ns, &handoff, NULL);
    if (r == 0) {
        CHECK(world, handoff.state != HANDOFF_REQUESTED && handoff.state != HANDOFF_REROUTED);
    }
}

static enum handoff_command_kind agent_kind(struct desk_world *world, const struct handoff *handoff)
{
    if (once_in(world, 20)) {
        return HANDOFF_CANCEL;
    }
    if (handoff->state == HANDOFF_NEEDS_INFO) {
        return HANDOFF_RESUBMIT;
    }
    if (handoff->application == APPLICATION_LEASED || once_in(world, 8)) {
        return HANDOFF_START;
    }
    return handoff->application == APPLICATION_STARTED ? HANDOFF_FINISH : HANDOFF_TAKE;
}

static void agent_acts(struct desk_world *world)
{
    struct played *request = pick(world, true);
    struct handoff_clock clock;
    struct handoff_store handoffs = open_store(world, &clock);
    struct handoff_result result;
    struct acting acting = {.request = request,
                            .kind = agent_kind(world, &request->record),
                            .digest = actions[once_in(world, 12) ? 1 : request->action],
                            .now_ns = time_of(world, &handoffs)};
    struct handoff_command command = {
        .kind = acting.kind,
        .actor = {.id = agents[once_in(world, 12) ? roll(world, AGENTS) : request->agent]},
        .consumer = once_in(world, 12) ? "process-2" : "process-1",
        .revision = request->record.revision + 1,
        .action_digest = acting.digest,
        .text_digest = actions[0],
        .is_allowed = !once_in(world, 12)};
    bool is_own = strcmp(command.actor.id, agents[request->agent]) == 0;
    world->acting = &acting;
    if (handoff_act(&handoffs, request->id, &command, NULL, acting.now_ns, &result, NULL) == 0) {
        CHECK(world, is_own || result.outcome != HANDOFF_DONE);
        CHECK(world, command.is_allowed || command.kind != HANDOFF_START ||
                         result.outcome != HANDOFF_DONE);
    }
}

/* ---- What people do ------------------------------------------------------------------------- */

static enum handoff_command_kind person_kind(struct desk_world *world)
{
    static const enum handoff_command_kind kinds[] = {
        HANDOFF_APPROVE, HANDOFF_APPROVE,  HANDOFF_APPROVE,    HANDOFF_APPROVE,  HANDOFF_REJECT,
        HANDOFF_REROUTE, HANDOFF_REROUTE,  HANDOFF_ASK,        HANDOFF_WITHDRAW, HANDOFF_CLAIM,
        HANDOFF_RELEASE, HANDOFF_ESCALATE, HANDOFF_DEESCALATE, HANDOFF_REPLAY};
    return kinds[roll(world, COUNT(kinds))];
}

/** Anybody; mostly somebody who may. */
static size_t person_for(struct desk_world *world, const struct played *request)
{
    size_t person = roll(world, PERSONS);
    const struct handoff *record = &request->record;
    bool is_anybody = once_in(world, 4) || record->desk_count == 0;
    for (size_t i = 0; i < PERSONS && !is_anybody; i++) {
        size_t next = (person + i) % PERSONS;
        if (is_on(world, next, last_desk(record), record->escalation_level, NULL) &&
            !is_own(request, next) && !request->has_approved[next]) {
            return next;
        }
    }
    return person;
}

static const char *target_of(struct desk_world *world)
{
    if (once_in(world, 8)) {
        return "nowhere";
    }
    return once_in(world, 3) ? persons[roll(world, PERSONS)]
                             : world->desks.names[roll(world, DESKS)];
}

/** What is refused is refused for a reason that holds. */
static void note_refusal(struct desk_world *world, const struct played *request,
                         enum handoff_outcome outcome, const struct handoff *handoff)
{
    const struct acting *acting = world->acting;
    if (outcome == HANDOFF_SELF_APPROVAL) {
        CHECK(world, is_own(request, acting->person) || acting->is_requester);
        world->seen[SEEN_OWN]++;
    } else if (outcome == HANDOFF_NOT_PERMITTED && acting->kind != HANDOFF_REPLAY) {
        CHECK(world, world->desks.may_decide[acting->person] < request->risk);
        world->seen[SEEN_RISK]++;
    } else if (outcome == HANDOFF_SECOND_PERSON) {
        world->seen[SEEN_SECOND_PERSON]++;
    } else if (outcome == HANDOFF_NOT_YOURS && acting->kind == HANDOFF_APPROVE &&
               handoff->desk_count > 0) {
        CHECK(world,
              !is_on(world, acting->person, last_desk(handoff), handoff->escalation_level, NULL));
        world->seen[SEEN_OFF_DESK]++;
    }
}

/** The same once more, after an answer or after none: it is there once. */
static void decide_again(struct desk_world *world, const struct handoff_store *handoffs,
                         const struct inbox_decision *decision, bool was_done)
{
    struct acting *acting = world->acting;
    struct inbox_result result;
    if (inbox_decide(handoffs, acting->request->id, decision, acting->now_ns, &result, NULL) == 0 &&
        was_done) {
        CHECK(world, result.result.outcome == HANDOFF_REPEATED);
        world->seen[SEEN_REPEATED]++;
    }
    CHECK(world, acting->effects <= 1);
}

static void person_acts(struct desk_world *world)
{
    static const char *const questions[] = {"Why?"};
    char key[24];
    struct played *request = pick(world, false);
    struct handoff_clock clock;
    struct handoff_store handoffs = open_store(world, &clock);
    struct inbox_result result;
    struct acting acting = {.request = request,
                            .kind = person_kind(world),
                            .person = person_for(world, request),
                            .is_admin = once_in(world, 8),
                            .is_requester = once_in(world, 24),
                            .revision = request->record.revision + (once_in(world, 16) ? 1 : 0),
                            .digest = actions[once_in(world, 16) ? 1 : request->action],
                            .now_ns = time_of(world, &handoffs)};
    struct inbox_decision decision = {.kind = acting.kind,
                                      .by = persons[acting.person],
                                      .is_admin = acting.is_admin,
                                      .is_requester = acting.is_requester,
                                      .comment = "looked at it",
                                      .questions = questions,
                                      .question_count = acting.kind == HANDOFF_ASK ? 1 : 0,
                                      .target =
                                          acting.kind == HANDOFF_REROUTE ? target_of(world) : NULL,
                                      .revision = acting.revision,
                                      .action_digest = acting.digest,
                                      .if_version = once_in(world, 4) ? request->record.version : 0,
                                      .key = key};
    snprintf(key, sizeof(key), "%llu", (unsigned long long)world->random);
    world->acting = &acting;
    int r = inbox_decide(&handoffs, request->id, &decision, acting.now_ns, &result, NULL);
    enum handoff_outcome outcome = r == 0 ? result.result.outcome : HANDOFF_OUTCOME_COUNT;
    bool was_done = outcome == HANDOFF_DONE || outcome == HANDOFF_PARTIAL;
    CHECK(world, !was_done || acting.effects == 1);
    note_refusal(world, request, outcome, &result.result.handoff);
    if (was_done || r == RONDO_ERR_IO) {
        decide_again(world, &handoffs, &decision, was_done);
    }
}

/** Between the reading and the commit of somebody somebody else does something. */
static void act_between(struct desk_world *world)
{
    struct acting *acting = world->acting;
    world->depth++;
    if (once_in(world, 4)) {
        submit(world);
    } else if (once_in(world, 3)) {
        agent_acts(world);
    } else {
        person_acts(world);
    }
    world->depth--;
    world->acting = acting;
}

/* ---- The end -------------------------------------------------------------------------------- */

struct chain_check {
    struct audit_head head;
    bool is_valid;
};

static bool check_entry(const char *entry, size_t len, void *context)
{
    struct chain_check *check = context;
    check->is_valid = check->is_valid && audit_check(&check->head, entry, len, NULL) == 0;
    return check->is_valid;
}

/** All that was committed is there, and nothing else. */
static void check_end(struct desk_world *world)
{
    struct handoff_clock clock;
    struct chain_check check = {.is_valid = true};
    world->is_quiet = true;
    struct handoff_store handoffs = open_store(world, &clock);
    CHECK(world, audit_chain_read(&world->base, 0, 0, check_entry, &check, NULL) == 0);
    CHECK(world, check.is_valid && check.head.size == world->entries);
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct played *request = &world->requests[i];
        struct handoff handoff;
        struct handoff_counts counts;
        int r = handoff_read(&handoffs, request->id, &handoff, NULL);
        CHECK(world, r == (request->record.version > 0 ? 0 : RONDO_ERR_NOT_FOUND));
        CHECK(world, r < 0 || handoff.version == request->record.version);
        CHECK(world, handoff_count_read(world->real, agents[request->agent], lanes[request->lane],
                                        &counts, NULL) == 0);
        for (int k = 0; k < COUNT_KINDS; k++) {
            CHECK(world,
                  (size_t)counts.waiting[k] == count_waiting(world, (enum count_of)k, request));
        }
    }
}

static void run_seed(uint64_t seed, uint64_t *seen)
{
    struct desk_world world = {.seed = seed,
                               .random = seed,
                               .desks.names = {HANDOFF_DESK, "leads", "night", "legal"},
                               .wall_ns = BEGIN,
                               .steady_ns = HOUR,
                               .seen = seen};
    world.real = store_memory_new(NULL);
    world.ops = *world.real->ops;
    world.ops.change_documents = change;
    world.ops.read_documents = read_all;
    world.base.ops = &world.ops;
    world.machine =
        (struct clock){.now_ns = read_wall, .monotonic_ns = read_steady, .context = &world};
    if (once_in(&world, 8)) {
        world.desks.names[0] = "others"; /* There is none for everything else. */
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        snprintf(world.requests[i].id, ID_SIZE, "00000000-0000-5000-8000-%012zu", i);
    }
    put_file(&world);
    start_server(&world);
    for (int i = 0; i < EVENTS; i++) {
        uint64_t what = roll(&world, 40);
        if (what == 0) {
            put_file(&world);
        } else if (what < 6) {
            pass_time(&world);
        } else if (what < 16) {
            submit(&world);
        } else if (what < 20) {
            route(&world);
        } else if (what < 26) {
            agent_acts(&world);
        } else {
            person_acts(&world);
        }
    }
    check_end(&world);
    world.real->ops->close(world.real);
    desks_free(world.desks.file);
}

static uint64_t seeds_wanted = (uint64_t)SEEDS;

TEST(no_seed_breaks_a_promise_of_desks_and_lanes)
{
    static const char *const names[SEEN_COUNT] = {
        "joined",           "full",      "shed",          "rerouted by time", "escalated by time",
        "off the desk",     "own",       "risk too high", "partly approved",  "second person",
        "of a higher desk", "overtaken", "repeated",      "applied",          "expired",
        "dead letters"};
    uint64_t seen[SEEN_COUNT] = {0};
    for (uint64_t seed = 1; seed <= seeds_wanted; seed++) {
        run_seed(seed, seen);
    }
    for (int i = 0; i < SEEN_COUNT; i++) {
        print_message("%6llu %s\n", (unsigned long long)seen[i], names[i]);
        assert_true(seen[i] > 0); /* What never happens proves nothing. */
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        seeds_wanted = strtoull(argv[1], NULL, 10);
    }
    return test_run(NULL, NULL);
}
