// SPDX-License-Identifier: Apache-2.0
/*
 * The model of test_desk_seeds.c: the desk file as tables of its own, what was committed of each
 * request, and what of it may not be. It is told of each transaction, and who acts.
 */
#pragma once

#include "handoff/desks/desks.h"
#include "handoff/inbox/inbox.h"
#include "handoff/record.h"

#include "base/buf.h"
#include "base/clock.h"
#include "seed.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define MINUTE   (60 * NS_PER_S)
#define HOUR     (60 * MINUTE)
#define BEGIN    (1800000000 * NS_PER_S)
#define PERSONS  5
#define DESKS    4
#define REQUESTS 7
#define AGENTS   2

/* The last person has the name of an agent. */
static const char *const persons[PERSONS] = {"user:ann", "user:ben", "user:cho", "user:dan",
                                             "user:a"};
static const char *const agents[AGENTS] = {"a", "b"};
static const char *const lanes[2] = {"lane-1", "lane-2"};
static const char *const actions[2] = {
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0",
    "sha256:b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1",
};
static const char body[] = "{\"action\":{\"tool\":\"t\",\"args\":{}}}";

/** The desk file, as the model knows it. */
struct model_desks {
    const char *names[DESKS];
    bool has[DESKS][PERSONS];
    int next[DESKS]; /* -1 = none */
    enum handoff_level may_decide[PERSONS];
    enum handoff_level route_risk; /* from this on to the last desk */
    uint32_t quorum;               /* of critical actions */
    uint32_t bounds[COUNT_KINDS];
    enum handoff_on_full on_full;
    enum handoff_on_timeout on_timeout;
    int timeout_desk;
    struct desks *file;
};

/** What the model remembers of a request. */
struct played {
    char id[ID_SIZE];
    bool is_asked;
    bool joins;
    size_t agent, lane, action;
    const char *owner, *parent; /* NULL = none */
    enum handoff_level risk, priority;
    bool is_idempotent;
    struct handoff record; /* as committed; version 0 = none */
    bool has_approved[PERSONS];
    int64_t approved_ns; /* 0 = not */
    unsigned grants, doubts, extensions;
    bool is_applied;
};

/** Who does what at the moment. */
struct acting {
    struct played *request; /* NULL = nothing but time and the router */
    bool is_submitting;
    enum handoff_command_kind kind; /* HANDOFF_COMMAND_COUNT = none */
    size_t person;
    bool is_admin, is_requester;
    uint32_t revision;
    const char *digest;
    int64_t now_ns;
    unsigned effects; /* commits in which it was accepted, or something was said of it */
};

/** Things that must have happened in some seed. */
enum desk_event {
    SEEN_JOINED = 0,
    SEEN_FULL,
    SEEN_SHED,
    SEEN_REROUTED_BY_TIME,
    SEEN_ESCALATED_BY_TIME,
    SEEN_OFF_DESK,
    SEEN_OWN,
    SEEN_RISK,
    SEEN_PARTLY,
    SEEN_SECOND_PERSON,
    SEEN_HIGHER_DESK, /* decided by somebody of a desk that it was escalated to */
    SEEN_OVERTAKEN,
    SEEN_REPEATED,
    SEEN_APPLIED,
    SEEN_EXPIRED,
    SEEN_DEAD,
    SEEN_COUNT
};

struct desk_world {
    struct store base; /* what the code under test has: `real`, with failures */
    struct store_ops ops;
    struct store *real;
    uint64_t seed, random;
    struct model_desks desks;
    struct played requests[REQUESTS];
    struct acting *acting;
    int depth; /* people who act between reading and commit */
    bool is_quiet;
    struct clock machine;
    int64_t wall_ns, steady_ns, offset_ns;
    uint64_t entries;
    uint64_t *seen;
};

/* ---- The desk file -------------------------------------------------------------------------- */

/** Who is on a desk by the role has the same role; the rest is on it by name. */
static void write_people(struct desk_world *world, struct buf *text)
{
    struct model_desks *desks = &world->desks;
    size_t roles[PERSONS];
    buf_append_string(text, "format: 1\npeople:\n");
    for (size_t i = 0; i < PERSONS; i++) {
        roles[i] = roll(world, 3);
        desks->may_decide[i] = (enum handoff_level)(HANDOFF_CRITICAL - roll(world, 5) / 2);
        buf_printf(text, "  %s: {roles: [r%zu], may_decide: %s}\n", persons[i] + 5, roles[i],
                   handoff_level_name(desks->may_decide[i]));
    }
    buf_append_string(text, "desks:\n");
    for (int i = 0; i < DESKS; i++) {
        size_t role = roll(world, 5);
        size_t named = roll(world, PERSONS);
        int next = i + 1 + (int)roll(world, DESKS);
        desks->next[i] = next < DESKS ? next : -1;
        buf_printf(text, "  %s: {roles: [r%zu], people: [%s]", desks->names[i], role,
                   persons[named] + 5);
        if (desks->next[i] >= 0) {
            buf_printf(text, ", escalates_to: %s", desks->names[desks->next[i]]);
        }
        buf_append_string(text, "}\n");
        for (size_t k = 0; k < PERSONS; k++) {
            desks->has[i][k] = k == named || roles[k] == role;
        }
    }
}

static void write_lanes(struct desk_world *world, struct buf *text)
{
    struct model_desks *desks = &world->desks;
    desks->route_risk = (enum handoff_level)(HANDOFF_MEDIUM + roll(world, 3));
    desks->quorum = once_in(world, 5) ? 3 : 2;
    desks->bounds[COUNT_LANE] = 1 + (uint32_t)roll(world, 3);
    desks->bounds[COUNT_AGENT] = 2 + (uint32_t)roll(world, 3);
    desks->bounds[COUNT_STORE] = 3 + (uint32_t)roll(world, 4);
    desks->on_full = (enum handoff_on_full)roll(world, ON_FULL_COUNT);
    desks->on_timeout = (enum handoff_on_timeout)roll(world, ON_TIMEOUT_COUNT);
    desks->timeout_desk = (int)roll(world, DESKS);
    buf_printf(text,
               "routing:\n  - {id: r, risk: %s, desk: %s}\n"
               "rules: {critical_approvals: %u, sla: {low: 3h, medium: 2h, high: 1h}}\n"
               "lanes: {per_lane: %u, per_agent: %u, per_store: %u, on_full: %s, on_timeout: ",
               handoff_level_name(desks->route_risk), desks->names[DESKS - 1], desks->quorum,
               desks->bounds[COUNT_LANE], desks->bounds[COUNT_AGENT], desks->bounds[COUNT_STORE],
               handoff_on_full_name(desks->on_full));
    if (desks->on_timeout == ON_TIMEOUT_REROUTE) {
        buf_printf(text, "{reroute: %s}}\n", desks->names[desks->timeout_desk]);
    } else {
        buf_printf(text, "%s}\n", handoff_on_timeout_name(desks->on_timeout));
    }
}

/** A desk file is put in force: the desks stay, people and rules change. */
static void put_file(struct desk_world *world)
{
    auto_buf struct buf text = {0};
    struct rondo_error err = {0};
    desks_free(world->desks.file);
    world->desks.file = NULL;
    write_people(world, &text);
    write_lanes(world, &text);
    if (desks_read(text.data, text.len, "desks.yaml", &world->desks.file, &err) < 0) {
        fail_msg("seed %llu: %s\n%s", (unsigned long long)world->seed, err.message,
                 buf_string(&text));
    }
}

/** The number of a desk; -1 = it is a person's own, or none. */
static int number_of(const struct desk_world *world, const char *desk)
{
    for (int i = 0; i < DESKS; i++) {
        if (strcmp(world->desks.names[i], desk) == 0) {
            return i;
        }
    }
    return -1;
}

/** Whether the person is on the desk, or as many levels above it. @param ret_is_higher or NULL */
static bool is_on(const struct desk_world *world, size_t person, const char *desk, uint32_t levels,
                  bool *ret_is_higher)
{
    const struct model_desks *desks = &world->desks;
    int number = number_of(world, desk);
    bool is_found = number >= 0 ? desks->has[number][person] : strcmp(desk, persons[person]) == 0;
    if (number < 0 && strncmp(desk, "user:", 5) != 0) {
        levels++; /* Nobody's: whom it is escalated to. */
    }
    if (ret_is_higher != NULL) {
        *ret_is_higher = !is_found;
    }
    for (uint32_t i = 0; i < levels && !is_found; i++) {
        number = number < 0 ? number_of(world, HANDOFF_DESK) : desks->next[number];
        if (number < 0) {
            return false;
        }
        is_found = desks->has[number][person];
    }
    return is_found;
}

/* ---- The model ------------------------------------------------------------------------------ */

static bool is_same_name(const char *name, const char *person)
{
    return name != NULL &&
           strcmp(strncmp(name, "user:", 5) == 0 ? name + 5 : name, person + 5) == 0;
}

static bool is_own(const struct played *request, size_t person)
{
    return is_same_name(agents[request->agent], persons[person]) ||
           is_same_name(request->owner, persons[person]) ||
           is_same_name(request->parent, persons[person]);
}

static size_t count_waiting(const struct desk_world *world, enum count_of of,
                            const struct played *request)
{
    size_t count = 0;
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct played *other = &world->requests[i];
        bool is_counted = of == COUNT_STORE || other->agent == request->agent;
        is_counted = is_counted && (of != COUNT_LANE || other->lane == request->lane);
        count += is_counted && other->record.version > 0 && handoff_is_waiting(&other->record);
    }
    return count;
}

/** A part of what an agent and a store may have is kept for critical actions. */
static size_t places(const struct desk_world *world, enum count_of of, enum handoff_level risk)
{
    uint32_t bound = world->desks.bounds[of];
    bool is_whole = of == COUNT_LANE || risk == HANDOFF_CRITICAL;
    return is_whole ? bound : bound - bound * 20 / 100;
}

/** The request that waits in the lane with the same action, or NULL. */
static const struct played *same_of(const struct desk_world *world, const struct played *request)
{
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct played *other = &world->requests[i];
        if (other != request && other->record.version > 0 && handoff_is_waiting(&other->record) &&
            other->joins && other->agent == request->agent && other->lane == request->lane &&
            other->action == request->action) {
            return other;
        }
    }
    return NULL;
}

static void watch_new(struct desk_world *world, struct played *request, const struct handoff *after)
{
    CHECK(world, world->acting->is_submitting && world->acting->request == request);
    CHECK(world, after->state == HANDOFF_REQUESTED && after->approval_count == 0);
    CHECK(world, !request->joins || same_of(world, request) == NULL);
    for (int i = 0; i < COUNT_KINDS; i++) {
        CHECK(world, count_waiting(world, (enum count_of)i, request) <
                         places(world, (enum count_of)i, request->risk));
    }
    CHECK(world, strcmp(after->owner, request->owner == NULL ? "" : request->owner) == 0);
    CHECK(world, strcmp(after->parent_id, request->parent == NULL ? "" : request->parent) == 0);
}

/** Whoever decides may. @param desk which has it */
static void watch_person(struct desk_world *world, const struct played *request,
                         const struct handoff *after, const char *desk)
{
    const struct acting *acting = world->acting;
    bool is_higher = false;
    CHECK(world, acting->request == request && !acting->is_submitting);
    CHECK(world, is_on(world, acting->person, desk, after->escalation_level, &is_higher));
    CHECK(world, world->desks.may_decide[acting->person] >= request->risk);
    CHECK(world, !is_own(request, acting->person) && !acting->is_requester);
    CHECK(world, acting->revision == after->revision);
    CHECK(world, strcmp(acting->digest, actions[request->action]) == 0);
    world->seen[SEEN_HIGHER_DESK] += is_higher ? 1 : 0;
}

static const char *last_desk(const struct handoff *handoff)
{
    return handoff->desk_count == 0 ? "" : handoff->desks[handoff->desk_count - 1];
}

static void watch_approval(struct desk_world *world, struct played *request,
                           const struct handoff *after)
{
    struct acting *acting = world->acting;
    size_t count = 0;
    CHECK(world, acting->kind == HANDOFF_APPROVE);
    watch_person(world, request, after, last_desk(after));
    CHECK(world, acting->now_ns < after->sla_due_ns);
    CHECK(world, !request->has_approved[acting->person]);
    request->has_approved[acting->person] = true;
    for (size_t i = 0; i < PERSONS; i++) {
        count += request->has_approved[i] ? 1 : 0;
    }
    CHECK(world, count == after->approval_count);
    CHECK(world, strcmp(after->approvals[count - 1].operator_id, persons[acting->person]) == 0);
    bool is_enough = count >= (request->risk == HANDOFF_CRITICAL ? world->desks.quorum : 1);
    CHECK(world, is_enough == (after->state == HANDOFF_APPROVED));
    request->approved_ns = is_enough ? acting->now_ns : 0;
    world->seen[SEEN_PARTLY] += is_enough ? 0 : 1;
}

/** It has a decision that it had not. */
static void watch_end(struct desk_world *world, const struct played *request,
                      const struct handoff *before, const struct handoff *after)
{
    const struct acting *acting = world->acting;
    bool is_shed = strcmp(after->decided_by, HANDOFF_SHEDDER) == 0;
    switch (after->state) {
    case HANDOFF_APPROVED:
        CHECK(world, request->approved_ns == acting->now_ns);
        break;
    case HANDOFF_REJECTED:
        CHECK(world, acting->kind == HANDOFF_REJECT);
        watch_person(world, request, after, last_desk(after));
        break;
    case HANDOFF_EXPIRED:
        CHECK(world, after->decided_ns <= acting->now_ns);
        if (is_shed) {
            CHECK(world, acting->is_submitting && world->desks.on_full == ON_FULL_SHED);
            CHECK(world, after->priority == HANDOFF_LOW);
            CHECK(world, acting->request->agent == request->agent);
            world->seen[SEEN_SHED]++;
        } else {
            CHECK(world,
                  acting->now_ns >= (before->state == HANDOFF_NEEDS_INFO ? before->info_due_ns
                                                                         : before->sla_due_ns));
            CHECK(world, request->extensions > 0 || before->desk_count == 0 ||
                             world->desks.on_timeout != ON_TIMEOUT_ESCALATE);
        }
        world->seen[SEEN_EXPIRED]++;
        break;
    case HANDOFF_CANCELLED:
        CHECK(world, acting->request == request && acting->kind == HANDOFF_CANCEL);
        break;
    case HANDOFF_DEAD_LETTERED:
        CHECK(world, number_of(world, HANDOFF_DESK) < 0);
        world->seen[SEEN_DEAD]++;
        break;
    default:
        CHECK(world, false && "such an end");
    }
}

static void watch_application(struct desk_world *world, struct played *request,
                              const struct handoff *after, const char *kind)
{
    const struct acting *acting = world->acting;
    request->doubts += strcmp(kind, "application.in_doubt") == 0 ? 1 : 0;
    if (strcmp(kind, "application.started") == 0) {
        CHECK(world, acting->request == request && acting->kind == HANDOFF_START);
        CHECK(world, after->state == HANDOFF_APPROVED && request->approved_ns != 0);
        CHECK(world, strcmp(acting->digest, actions[request->action]) == 0);
        CHECK(world, acting->now_ns < request->approved_ns + 24 * HOUR);
        CHECK(world, !request->is_applied && request->grants == request->doubts);
        CHECK(world, request->grants == 0 || request->is_idempotent);
        request->grants++;
    }
    if (strcmp(kind, "application.applied") == 0) {
        CHECK(world, request->grants > 0 && !request->is_applied);
        request->is_applied = true;
        world->seen[SEEN_APPLIED]++;
    }
}

static void watch_change(struct desk_world *world, struct played *request,
                         const struct handoff *after)
{
    const struct handoff *before = &request->record;
    const struct acting *acting = world->acting;
    if (after->revision != before->revision) {
        CHECK(world, acting->request == request && acting->kind == HANDOFF_RESUBMIT);
        CHECK(world, after->revision == before->revision + 1 && after->approval_count == 0);
        memset(request->has_approved, 0, sizeof(request->has_approved));
    } else if (after->approval_count != before->approval_count) {
        watch_approval(world, request, after);
    }
    if (before->state == HANDOFF_REQUESTED && after->desk_count > 0) {
        bool is_high = request->risk >= world->desks.route_risk;
        CHECK(world,
              strcmp(after->desks[0], is_high ? world->desks.names[DESKS - 1] : HANDOFF_DESK) == 0);
    }
    if (after->hops == before->hops + 1) {
        CHECK(world, acting->kind == HANDOFF_REROUTE);
        watch_person(world, request, after, after->desks[after->desk_count - 2]);
    }
    if (after->state == HANDOFF_NEEDS_INFO && before->state != HANDOFF_NEEDS_INFO) {
        CHECK(world, acting->kind == HANDOFF_ASK);
        watch_person(world, request, after, last_desk(after));
    }
    bool is_resumed = acting->kind == HANDOFF_RESUBMIT || acting->kind == HANDOFF_WITHDRAW ||
                      acting->kind == HANDOFF_REPLAY;
    bool is_extended = after->is_extended && !before->is_extended;
    if (is_extended || (!is_resumed && after->sla_due_ns > before->sla_due_ns)) {
        CHECK(world, ++request->extensions == 1);
        CHECK(world, world->desks.on_timeout != ON_TIMEOUT_EXPIRE);
        world->seen[world->desks.on_timeout == ON_TIMEOUT_REROUTE ? SEEN_REROUTED_BY_TIME
                                                                  : SEEN_ESCALATED_BY_TIME]++;
    }
    CHECK(world, after->is_extended || !before->is_extended);
    if (handoff_is_waiting(before) && !handoff_is_waiting(after)) {
        watch_end(world, request, before, after);
    } else if (!handoff_is_waiting(before)) {
        bool is_replayed = before->state == HANDOFF_DEAD_LETTERED && acting->is_admin &&
                           acting->kind == HANDOFF_REPLAY;
        CHECK(world, after->state == before->state || is_replayed);
        request->joins = request->joins && !is_replayed; /* Its lane may have asked again. */
    }
}

static struct played *request_of(struct desk_world *world, const char *id)
{
    for (size_t i = 0; i < REQUESTS; i++) {
        if (strcmp(world->requests[i].id, id) == 0) {
            return &world->requests[i];
        }
    }
    return NULL;
}

/** The kinds of the entries of the audit chain in a transaction. */
static void watch_entries(struct desk_world *world, const struct store_change *changes,
                          size_t count, struct played *request, const struct handoff *after)
{
    for (size_t i = 0; i < count; i++) {
        char kind[40] = "";
        if (strcmp(changes[i].collection, AUDIT_COLLECTION) == 0) {
            const char *at = strstr(changes[i].data, "\"kind\":\"");
            CHECK(world, at != NULL && sscanf(at + 8, "%39[^\"]", kind) == 1);
            CHECK(world, strstr(changes[i].data, request->id) != NULL);
            world->entries++;
            watch_application(world, request, after, kind);
        }
    }
}

static bool has(const struct store_change *changes, size_t count, const char *collection)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(changes[i].collection, collection) == 0) {
            return true;
        }
    }
    return false;
}

/** A transaction was committed. */
static void watch(struct desk_world *world, const struct store_change *changes, size_t count)
{
    struct handoff after;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(changes[i].collection, HANDOFF_COLLECTION) != 0) {
            continue;
        }
        struct played *request = request_of(world, changes[i].key);
        CHECK(world, request != NULL);
        CHECK(world, handoff_decode(changes[i].data, changes[i].data_len, &after, NULL) == 0);
        CHECK(world, after.version > request->record.version);
        if (request->record.version == 0) {
            watch_new(world, request, &after);
        } else {
            watch_change(world, request, &after);
        }
        watch_entries(world, changes, count, request, &after);
        uint64_t before_version = request->record.version;
        bool is_end = handoff_is_waiting(&request->record) && !handoff_is_waiting(&after);
        CHECK(world, !is_end || has(changes, count, HANDOFF_OUTBOX_COLLECTION));
        CHECK(world, (after.state == HANDOFF_APPROVED) == (after.application != APPLICATION_NONE));
        request->record = after;
        bool is_effect = before_version == 0 || has(changes, count, HANDOFF_THREAD_COLLECTION);
        world->acting->effects += is_effect && world->acting->request == request ? 1 : 0;
    }
}
