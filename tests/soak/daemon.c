// SPDX-License-Identifier: Apache-2.0
/*
 * The process on duty, in one thread: it fires sources that are due, starts what the intake hands
 * out, lets runs ask for follow-ups, and looks after the intake now and then. It dies with the
 * store's call that the plan says; what it had in memory is gone then.
 */
#include "soak.h"

#include "../support/store/fault.h"
#include "agent/follow_up.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "source/conversation/conversation.h"
#include "source/intake/dedupe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPKEEP_NS (6 * SOAK_HOUR_NS)
#define RETRY_NS  (5 * NS_PER_S)

static const char *const talks[SOAK_TALKS] = {"one", "two", "three"};

/* ---- Its store ------------------------------------------------------------------------------ */

static enum store_fault decide(void *context, const char *operation, uint64_t call, int *ret_code)
{
    (void)call;
    (void)ret_code;
    struct soak *soak = context;
    soak->calls++;
    if (soak->is_dead) {
        return STORE_FAULT_BEFORE;
    }
    if (soak->dies_at != 0 && soak->calls >= soak->dies_at) {
        soak->is_dead = true;
        soak->dies_at = 0;
        return soak->dies_after ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE;
    }
    if (soak->calls >= soak->fails_from && soak->calls < soak->fails_until) {
        soak->counters->failures++;
        soak_say(soak, "the store fails: %s", operation);
        return soak_chance(soak, 50) ? STORE_FAULT_AFTER : STORE_FAULT_BEFORE;
    }
    return STORE_FAULT_NONE;
}

void soak_plan_fault(struct soak *soak)
{
    if (soak_chance(soak, 50)) {
        soak->dies_at = soak->calls + 1 + soak_below(soak, 60);
        soak->dies_after = soak_chance(soak, 50);
    } else {
        soak->fails_from = soak->calls + 1 + soak_below(soak, 60);
        soak->fails_until = soak->fails_from + 1 + soak_below(soak, 8);
    }
}

/* ---- Its life ------------------------------------------------------------------------------- */

static void note(void *context, const struct start_refusal *refusal)
{
    struct soak *soak = context;
    uint64_t *const counters[REFUSAL_KIND_COUNT] = {
        &soak->counters->refused, &soak->counters->dropped, &soak->counters->coalesced,
        &soak->counters->full, &soak->counters->late};
    ++*counters[refusal->kind];
    soak_say(soak, "%s: %s, %s", refusal->source, refusal_kind_name(refusal->kind),
             refusal->reason);
}

void soak_daemon_start(struct soak *soak)
{
    struct store_fault_plan plan = {.decide = decide, .context = soak};
    soak->is_dead = false;
    soak->store = store_fault_new(soak->memory, &plan);
    struct intake_options options = {
        .store = soak->store,
        .clock = &soak->clock,
        .random = &soak->ids,
        .owner = soak->owner,
        .max_running = soak->max_running,
        .on_notice = note,
        .context = soak,
    };
    if (intake_open(&options, &soak->intake, NULL) < 0) {
        soak->intake = NULL;
        store_close(soak->store);
        soak->store = NULL;
        return;
    }
    for (size_t i = soak->first_open_run; i < soak->run_count; i++) {
        if (!soak->runs[i].is_ended) {
            const struct soak_run *run = &soak->runs[i];
            intake_count_running(soak->intake, soak->roles[run->role].name, run->id, run->source,
                                 run->talk < 0 ? NULL : talks[run->talk]);
        }
    }
    const struct runtime_options parts = {
        .store = soak->store, .clock = &soak->clock, .random = &soak->ids, .has_no_keeper = true};
    if (runtime_new(&parts, &soak->runtime, NULL) < 0) {
        abort();
    }
    soak->is_consolidation_due = true;
    soak->upkeep_ns = soak->mono_ns + UPKEEP_NS;
    soak->restart_ns = 0;
}

void soak_daemon_kill(struct soak *soak)
{
    for (size_t i = 0; i < soak->role_count; i++) {
        soak_role_close(&soak->roles[i]);
    }
    intake_close(soak->intake);
    soak->intake = NULL;
    runtime_free(soak->runtime);
    soak->runtime = NULL;
    store_close(soak->store);
    soak->store = NULL;
    soak->counters->kills++;
    soak_model_trouble(soak);
    soak_say(soak, "killed");
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static struct soak_run *find_run(struct soak *soak, const char *id)
{
    for (size_t i = soak->run_count; i-- > 0;) {
        if (strcmp(soak->runs[i].id, id) == 0) {
            return &soak->runs[i];
        }
    }
    return NULL;
}

static size_t role_of(const struct soak *soak, const char *name)
{
    size_t i = 0;
    while (i < soak->role_count && strcmp(soak->roles[i].name, name) != 0) {
        i++;
    }
    return i;
}

static int64_t depth_of(const struct start_request *request)
{
    auto_json struct json_object *context = NULL;
    json_parse(request->context, strlen(request->context), &context, NULL);
    return json_get_int(context, "depth", 0);
}

static int talk_of(const struct start_request *request)
{
    int talk = SOAK_TALKS - 1;
    while (talk >= 0 &&
           (request->conversation == NULL || strcmp(request->conversation, talks[talk]) != 0)) {
        talk--;
    }
    return talk;
}

/** A run of its id is created, once. @return whether it is there */
static bool create_run(struct soak *soak, const struct start_request *request)
{
    char before[ID_SIZE] = "";
    if (find_run(soak, request->id) != NULL) {
        return true;
    }
    if (request->mode == START_CONVERSATION &&
        conversation_enter(soak->store, request, NULL, NULL, before, NULL) < 0) {
        return false;
    }
    soak->runs = memory_resize(soak->runs, soak->run_count + 1, sizeof(*soak->runs));
    struct soak_run *run = &soak->runs[soak->run_count++];
    *run = (struct soak_run){
        .role = role_of(soak, request->role),
        .prompt = memory_dup_string(request->prompt),
        .context = memory_dup_string(request->context),
        .created_ns = soak->mono_ns,
        .accepted_ns = request->received_ns,
        .depth = depth_of(request),
        .talk = talk_of(request),
    };
    memcpy(run->before, before, sizeof(run->before));
    memcpy(run->id, request->id, sizeof(run->id));
    memcpy(run->source, request->source, sizeof(run->source));
    run->ends_ns =
        soak->mono_ns + (soak_chance(soak, 90) ? (int64_t)soak_below(soak, 600) * NS_PER_S
                                               : (int64_t)soak_below(soak, 240) * SOAK_MINUTE_NS);
    run->asks = !soak->is_calm && run->depth < 3 && soak_chance(soak, 20)
                    ? 1 + (int)soak_below(soak, SOAK_ASKS)
                    : 0;
    run->episodes = soak->roles[run->role].has_memory && soak_chance(soak, 40)
                        ? 1 + (int)soak_below(soak, 2)
                        : 0;
    run->is_stored = run->talk >= 0 || run->episodes > 0;
    if (run->is_stored) {
        soak_journal_create(soak, run);
    }
    soak->counters->runs++;
    soak_model_run(soak, run);
    return true;
}

/** @return whether it took effect as far as the run knows */
static bool ask(struct soak *soak, struct soak_run *run)
{
    char key[ID_SIZE + 24];
    struct soak_role *role = &soak->roles[run->role];
    struct follow_up_limits limits = {.per_run = SOAK_ASKS, .total = 1000};
    enum follow_up_outcome outcome = FOLLOW_UP_ADDED;
    int64_t delay_ns =
        (int64_t)(1 + soak_below(soak, 100)) * SOAK_MINUTE_NS * (soak_chance(soak, 5) ? 60 : 1);
    char prompt[SOAK_PROMPT];
    snprintf(prompt, sizeof(prompt), "follow-up %zu %d", (size_t)(run - soak->runs), run->asks);
    snprintf(key, sizeof(key), "%s-%d", run->id, run->asks);
    struct follow_up follow_up = {
        .created_ns = soak_wall(soak),
        .due_ns = soak_wall(soak) + delay_ns,
        .depth = run->depth + 1,
        .prompt = prompt,
    };
    follow_up_id(key, follow_up.id);
    snprintf(follow_up.agent, sizeof(follow_up.agent), "%s", role->name);
    memcpy(follow_up.asked_by, run->id, sizeof(follow_up.asked_by));
    if (follow_up_add(soak->store, &follow_up, &limits, &outcome, NULL) < 0) {
        return false;
    }
    struct soak_event *event = soak_event_add(soak, SOAK_FOLLOW_UP, run->role);
    memcpy(event->prompt, prompt, sizeof(prompt));
    soak_say(soak, "%s is asked for by %s, due at %lld", prompt, run->id,
             (long long)(follow_up.due_ns / NS_PER_S));
    role->is_touched = true;
    return true;
}

static void execute(struct soak *soak, struct soak_run *run)
{
    while (run->asks > 0 && ask(soak, run)) {
        run->asks--;
    }
    if (run->asks == 0 && soak_journal_remember(soak, run) && run->ends_ns <= soak->mono_ns &&
        soak_journal_end(soak, run)) {
        run->is_ended = true;
        run->ended_ns = soak_journal_ended_ns(soak, run);
        soak->is_consolidation_due = soak->is_consolidation_due || run->episodes > 0;
        soak->roles[run->role].is_touched = true;
        intake_ended(soak->intake, run->id);
    }
}

static void execute_all(struct soak *soak)
{
    while (soak->first_open_run < soak->run_count && soak->runs[soak->first_open_run].is_ended) {
        soak->first_open_run++;
    }
    for (size_t i = soak->first_open_run; i < soak->run_count && !soak->is_dead; i++) {
        if (!soak->runs[i].is_ended) {
            execute(soak, &soak->runs[i]);
        }
    }
}

/* ---- Starting ------------------------------------------------------------------------------- */

/** @return whether the next one may be tried */
static bool start(struct soak *soak, const struct start_request *request)
{
    if (!soak->is_calm && soak_chance(soak, 1)) { /* killed before or after the run exists */
        if (soak_chance(soak, 50)) {
            (void)create_run(soak, request);
        }
        soak->is_dead = true;
        return false;
    }
    if (!soak->is_calm && soak_chance(soak, 1)) { /* the server is full */
        intake_postpone(soak->intake, request->id);
        soak->restart_ns = soak->mono_ns + RETRY_NS;
        return false;
    }
    if (!create_run(soak, request)) { /* the store fails */
        intake_postpone(soak->intake, request->id);
        soak->restart_ns = soak->mono_ns + RETRY_NS;
        return false;
    }
    int r = intake_started(soak->intake, request, NULL);
    if (find_run(soak, request->id)->is_ended) { /* it was started before a crash */
        intake_ended(soak->intake, request->id);
    }
    soak->restart_ns = r < 0 ? soak->mono_ns + RETRY_NS : soak->restart_ns;
    return r == 0;
}

static void start_all(struct soak *soak)
{
    bool may_continue = soak->restart_ns <= soak->mono_ns;
    while (may_continue && !soak->is_dead) {
        struct start_request request = {0};
        int r = intake_next(soak->intake, &request, NULL);
        if (r < 0) {
            soak->restart_ns = soak->mono_ns + RETRY_NS;
        }
        may_continue = r == 1 && start(soak, &request);
        start_request_fini(&request);
    }
}

/* ---- Sources -------------------------------------------------------------------------------- */

/** When a source is due, by the clock that nobody sets. */
static int64_t due_of(const struct soak *soak, struct source *source)
{
    int64_t due_ns = source->type->next_due == NULL ? SOURCE_NEVER : source->type->next_due(source);
    return due_ns == SOURCE_NEVER ? due_ns : due_ns - soak->offset_ns;
}

static void fire(struct soak *soak, struct soak_role *role, size_t at)
{
    struct source *source = role->sources[at];
    int64_t now_ns = soak_wall(soak);
    int r = 0;
    bool is_due = role->is_touched || role->next_ns[at] <= soak->mono_ns;
    if (role->retry_ns[at] > soak->mono_ns || (source->type->ready == NULL && !is_due)) {
        return;
    }
    role->retry_ns[at] = 0;
    if (source->type->ready != NULL) {
        r = source->type->ready(source, now_ns, NULL);
    }
    int64_t due_ns = due_of(soak, source);
    for (int i = 0; i < 100 && r == 0 && !soak->is_dead && due_ns <= soak->mono_ns; i++) {
        r = source->type->fire(source, now_ns, NULL);
        due_ns = due_of(soak, source);
    }
    role->next_ns[at] = due_ns;
    if (r < 0) {
        role->retry_ns[at] = soak->mono_ns + RETRY_NS;
        role->next_ns[at] = role->retry_ns[at];
    }
}

static void keep_role(struct soak *soak, struct soak_role *role)
{
    if (role->is_present) {
        if (!role->is_loaded) {
            intake_set_role(soak->intake, role->name, &role->queue);
        }
        soak_role_open(soak, role);
    } else if (role->is_loaded) {
        soak_role_close(role);
        intake_remove_role(soak->intake, role->name);
    }
}

static void turn(struct soak *soak)
{
    for (size_t i = 0; i < soak->role_count && !soak->is_dead; i++) {
        struct soak_role *role = &soak->roles[i];
        keep_role(soak, role);
        for (size_t at = 0; at < role->source_count && !soak->is_dead; at++) {
            if (role->sources[at] != NULL) {
                fire(soak, role, at);
            }
        }
        role->is_touched = false;
    }
    if (soak->upkeep_ns <= soak->mono_ns && !soak->is_dead) {
        soak->upkeep_ns = soak->mono_ns + UPKEEP_NS;
        soak_model_before_upkeep(soak);
        int r = intake_purge(soak->intake, NULL);
        soak_model_after_upkeep(soak);
        if (r == 0) {
            (void)intake_adopt(soak->intake, NULL);
        }
    }
    execute_all(soak);
    start_all(soak);
    if (!soak->is_dead) {
        soak_consolidate(soak);
    }
}

void soak_daemon_turn(struct soak *soak)
{
    if (soak->intake == NULL) {
        return;
    }
    uint64_t failures = soak->counters->failures;
    turn(soak);
    if (soak->counters->failures != failures) {
        soak_model_trouble(soak);
    } else if (!soak->is_dead) {
        soak_model_turn(soak);
    }
    if (soak->is_dead) {
        soak_daemon_kill(soak);
        soak->restart_ns =
            soak->mono_ns + (soak_chance(soak, 80) ? (int64_t)soak_below(soak, 60) * NS_PER_S
                                                   : (int64_t)soak_below(soak, 72) * SOAK_HOUR_NS);
    }
}

static int64_t earlier(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static int64_t next_of_role(const struct soak *soak, const struct soak_role *role)
{
    int64_t next_ns = role->is_touched ? soak->mono_ns + NS_PER_MS : INT64_MAX;
    for (size_t at = 0; at < role->source_count; at++) {
        next_ns =
            earlier(next_ns, role->sources[at] == NULL ? role->retry_ns[at] : role->next_ns[at]);
    }
    return next_ns;
}

int64_t soak_daemon_next(struct soak *soak)
{
    if (soak->intake == NULL) {
        return soak->restart_ns;
    }
    int64_t next_ns = soak->upkeep_ns;
    if (soak->is_consolidation_due) {
        next_ns = earlier(next_ns, soak->mono_ns + RETRY_NS);
    } else if (soak->consolidate_ns != 0) {
        next_ns = earlier(next_ns, soak->consolidate_ns - soak->offset_ns);
    }
    if (soak->restart_ns > soak->mono_ns) {
        next_ns = earlier(next_ns, soak->restart_ns);
    }
    for (size_t i = 0; i < soak->role_count; i++) {
        if (soak->roles[i].is_loaded) {
            next_ns = earlier(next_ns, next_of_role(soak, &soak->roles[i]));
        }
    }
    for (size_t i = soak->first_open_run; i < soak->run_count; i++) {
        const struct soak_run *run = &soak->runs[i];
        if (!run->is_ended) {
            bool is_late = run->asks > 0 || run->ends_ns <= soak->mono_ns;
            next_ns = earlier(next_ns, is_late ? soak->mono_ns + RETRY_NS : run->ends_ns);
        }
    }
    return next_ns;
}
