// SPDX-License-Identifier: Apache-2.0
/*
 * What must be true of heartbeats, conversations and memories.
 *
 * A heartbeat has at most one run in each of its intervals, in its active hours, with the checklist
 * of that moment, which has open items; and it has one when the process was well and the agent was
 * not busy. Turns of a conversation execute one after the other, in the order in which they were
 * accepted, each knows the one before, and none is coalesced. An episode is stored once and is part
 * of one fact.
 */
#include "soak.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Heartbeats ----------------------------------------------------------------------------- */

bool soak_model_is_active(const struct soak_beat *beat, int64_t unix_s)
{
    int hour = (int)((unix_s + soak_model_offset(beat->zone, unix_s)) / 3600 % 24);
    bool is_day = beat->from_hour <= beat->until_hour;
    return !beat->has_hours || (is_day ? hour >= beat->from_hour && hour < beat->until_hour
                                       : hour >= beat->from_hour || hour < beat->until_hour);
}

static size_t find_beat(const struct soak_role *role)
{
    size_t at = 0;
    while (strcmp(json_get_string(role->configs[at], "type", ""), "heartbeat") != 0) {
        at++;
    }
    return at;
}

/** In which interval a moment is; the agent is woken where one ends. */
static int64_t interval_of(const struct soak_beat *beat, int64_t unix_s)
{
    return (unix_s - beat->from_s) / beat->interval_s;
}

/** Whether nothing is accepted now, because as many runs execute as may, and none may wait. */
static bool has_no_place(const struct soak *soak, const struct soak_role *role)
{
    uint64_t running = 0;
    for (size_t i = soak->first_open_run; i < soak->run_count; i++) {
        const struct soak_run *run = &soak->runs[i];
        running += &soak->roles[run->role] == role && !run->is_ended ? 1 : 0;
    }
    return role->queue.max_waiting == 0 && running >= role->queue.max_running;
}

static void look_at(struct soak *soak, struct soak_role *role)
{
    struct soak_beat *beat = &role->beat;
    const struct soak_list *list = &beat->lists[beat->list_count - 1];
    int64_t now_s = soak->mono_ns / NS_PER_S;
    int64_t interval = interval_of(beat, now_s);
    int64_t begin_s = beat->from_s + interval * beat->interval_s;
    if (beat->from_s == 0 || interval <= beat->seen || role->sources[find_beat(role)] == NULL) {
        return;
    }
    beat->seen = interval;
    if (interval > 0 && list->is_open && !has_no_place(soak, role) &&
        soak_model_is_active(beat, now_s) && soak_model_is_active(beat, begin_s)) {
        beat->due = memory_resize(beat->due, beat->due_count + 1, sizeof(*beat->due));
        beat->due[beat->due_count++] = now_s;
    }
}

void soak_model_turn(struct soak *soak)
{
    for (size_t i = 0; i < soak->role_count && !soak->has_jumps; i++) {
        struct soak_role *role = &soak->roles[i];
        if (role->has_beat && role->is_loaded && role->queue.rule == QUEUE_WAIT) {
            look_at(soak, role);
        }
    }
}

void soak_model_trouble(struct soak *soak)
{
    for (size_t i = 0; i < soak->role_count; i++) {
        struct soak_beat *beat = &soak->roles[i].beat;
        if (soak->roles[i].has_beat && beat->from_s != 0) {
            beat->seen = interval_of(beat, soak->mono_ns / NS_PER_S);
        }
    }
}

static void check_list(const struct soak *soak, const struct soak_role *role,
                       const struct soak_run *run)
{
    const struct soak_beat *beat = &role->beat;
    const char *name = strstr(run->prompt, "list-");
    size_t number = name == NULL ? beat->list_count : strtoul(name + 5, NULL, 10);
    if (number >= beat->list_count || !beat->lists[number].is_open) {
        soak_violation(soak, "%s was woken by a checklist without open items: %s", role->name,
                       run->prompt);
    }
    bool is_over = number + 1 < beat->list_count &&
                   beat->lists[number + 1].from_ns <= run->accepted_ns - NS_PER_S;
    bool is_exact = !soak->has_jumps && role->queue.rule != QUEUE_COALESCE;
    if (is_exact && (beat->lists[number].from_ns > run->accepted_ns || is_over)) {
        soak_violation(soak, "%s was woken by another checklist than the present one: list-%zu",
                       role->name, number);
    }
}

/** Check each run of a heartbeat. */
static void check_beat_runs(struct soak *soak, const struct soak_role *role, const char *id)
{
    const struct soak_beat *beat = &role->beat;
    int64_t last = -1;
    for (size_t i = 0; i < soak->run_count; i++) {
        const struct soak_run *run = &soak->runs[i];
        if (strcmp(run->source, id) != 0) {
            continue;
        }
        int64_t accepted_s = run->accepted_ns / NS_PER_S;
        int64_t interval = interval_of(beat, accepted_s);
        soak->counters->beats++;
        check_list(soak, role, run);
        if (soak->has_jumps || role->queue.rule == QUEUE_COALESCE) {
            continue;
        }
        if (!soak_model_is_active(beat, accepted_s)) {
            soak_violation(soak, "%s was woken outside of its active hours, at %lld", id,
                           (long long)accepted_s);
        }
        if (interval <= last || interval < 1) {
            soak_violation(soak, "%s was woken twice in interval %lld", id, (long long)interval);
        }
        last = interval;
    }
}

/** Whether it was woken in the interval of a moment, or could not be. */
static bool is_explained(const struct soak *soak, const struct soak_role *role, const char *id,
                         int64_t due_s)
{
    int64_t due_ns = due_s * NS_PER_S;
    for (size_t i = 0; i < soak->run_count; i++) {
        const struct soak_run *run = &soak->runs[i];
        bool is_own = strcmp(run->source, id) == 0;
        bool is_of_interval = interval_of(&role->beat, run->accepted_ns / NS_PER_S) ==
                              interval_of(&role->beat, due_s);
        bool was_busy = is_own && run->accepted_ns <= due_ns && run->ended_ns >= due_ns;
        bool was_full = &soak->roles[run->role] == role && run->accepted_ns <= due_ns + NS_PER_S &&
                        run->created_ns >= due_ns;
        if ((is_own && is_of_interval) || was_busy || was_full) {
            return true;
        }
    }
    return false;
}

void soak_model_check_beats(struct soak *soak)
{
    for (size_t i = 0; i < soak->role_count; i++) {
        const struct soak_role *role = &soak->roles[i];
        if (!role->has_beat) {
            continue;
        }
        const char *id = role->ids[find_beat(role)];
        check_beat_runs(soak, role, id);
        for (size_t at = 0; at < role->beat.due_count; at++) {
            if (!is_explained(soak, role, id, role->beat.due[at])) {
                soak_violation(soak, "%s was not woken at %lld", id, (long long)role->beat.due[at]);
            }
        }
    }
}

/* ---- Conversations -------------------------------------------------------------------------- */

/** The turn before a new one, which is the last of the runs. */
static const struct soak_run *turn_before(const struct soak *soak, const struct soak_run *run)
{
    for (const struct soak_run *other = run; other-- > soak->runs;) {
        if (other->talk == run->talk && other->role == run->role) {
            return other;
        }
    }
    return NULL;
}

void soak_model_talk(struct soak *soak, const struct soak_run *run)
{
    const struct soak_run *before = turn_before(soak, run);
    soak->counters->turns++;
    if (before != NULL && !before->is_ended) {
        soak_violation(soak, "the turn %s began while %s was executing", run->id, before->id);
    }
    if (soak->has_jumps) {
        return;
    }
    if (before != NULL && before->accepted_ns > run->accepted_ns) {
        soak_violation(soak, "the turn %s came before %s", run->id, before->id);
    }
    int64_t last_ns = before == NULL                           ? 0
                      : before->ended_ns > before->accepted_ns ? before->ended_ns
                                                               : before->accepted_ns;
    bool continues = before != NULL && run->accepted_ns - last_ns <= SOAK_IDLE_S * NS_PER_S;
    if (strcmp(run->before, continues ? before->id : "") != 0) {
        soak_violation(soak, "the turn before %s is %s, not '%s'", run->id,
                       continues ? before->id : "none", run->before);
    }
}

/* ---- Memories ------------------------------------------------------------------------------- */

struct counted_memory {
    int64_t id;
    char *content;
    char *metadata;
    bool is_consolidated;
    int facts;
    int copies;
};

struct memory_census {
    struct counted_memory *items;
    size_t count;
};

static bool keep(const struct store_memory *memory, void *context)
{
    struct memory_census *kept = context;
    kept->items = memory_resize(kept->items, kept->count + 1, sizeof(*kept->items));
    kept->items[kept->count++] =
        (struct counted_memory){.id = memory->id,
                                .content = memory_dup_string(memory->content),
                                .metadata = memory_dup_string(memory->metadata),
                                .is_consolidated = memory->consolidated_ns != 0};
    return true;
}

static struct memory_census read_kind(const struct soak *soak, enum store_memory_kind kind)
{
    struct memory_census kept = {0};
    const struct store_memory_query query = {.kinds = UINT32_C(1) << kind};
    soak->memory->ops->read_memories(soak->memory, &query, keep, &kept, NULL);
    return kept;
}

static void free_kept(struct memory_census *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        free(kept->items[i].content);
        free(kept->items[i].metadata);
    }
    free(kept->items);
}

/** Count, for each episode, the facts that name it. */
static void count_facts(const struct soak *soak, struct memory_census *episodes,
                        const struct counted_memory *fact)
{
    auto_json struct json_object *metadata = NULL;
    json_parse(fact->metadata, strlen(fact->metadata), &metadata, NULL);
    struct json_object *named = json_member(metadata, "episodes");
    for (size_t i = 0; i < json_length(named); i++) {
        int64_t id = json_object_get_int64(json_object_array_get_idx(named, i));
        size_t at = 0;
        while (at < episodes->count && episodes->items[at].id != id) {
            at++;
        }
        if (at == episodes->count) {
            soak_violation(soak, "a fact comes from the episode %lld, which does not exist",
                           (long long)id);
        }
        episodes->items[at].facts++;
    }
}

static void check_episodes(const struct soak *soak, struct memory_census *episodes,
                           const struct soak_run *run)
{
    for (int number = 0; number < run->episodes; number++) {
        char content[80];
        int found = 0;
        snprintf(content, sizeof(content), "episode %d of %s", number + 2, run->id);
        for (size_t i = 0; i < episodes->count; i++) {
            const struct counted_memory *episode = &episodes->items[i];
            if (strcmp(episode->content, content) != 0) {
                continue;
            }
            found++;
            if (episode->facts != 1 || !episode->is_consolidated) {
                soak_violation(soak, "'%s' is part of %d facts", content, episode->facts);
            }
        }
        if (found != 1) {
            soak_violation(soak, "'%s' is stored %d times", content, found);
        }
    }
}

static bool count_document(const struct store_document *document, void *context)
{
    (void)document;
    ++*(size_t *)context;
    return true;
}

void soak_model_check_memories(struct soak *soak)
{
    struct memory_census episodes = read_kind(soak, STORE_EPISODIC);
    struct memory_census facts = read_kind(soak, STORE_SEMANTIC);
    size_t expected = 0;
    size_t waiting = 0;
    for (size_t i = 0; i < facts.count; i++) {
        count_facts(soak, &episodes, &facts.items[i]);
    }
    for (size_t i = 0; i < soak->run_count; i++) {
        check_episodes(soak, &episodes, &soak->runs[i]);
        expected += (size_t)soak->runs[i].episodes;
    }
    const struct store_document_query due = {.collection = "consolidation-due"};
    const struct store_document_query batches = {.collection = "consolidations"};
    soak->memory->ops->read_documents(soak->memory, &due, count_document, &waiting, NULL);
    soak->memory->ops->read_documents(soak->memory, &batches, count_document, &waiting, NULL);
    if (episodes.count != expected || waiting > 0) {
        soak_violation(soak, "there are %zu episodes, not %zu; %zu consolidations wait",
                       episodes.count, expected, waiting);
    }
    soak->counters->episodes += episodes.count;
    soak->counters->facts += facts.count;
    free_kept(&episodes);
    free_kept(&facts);
}
