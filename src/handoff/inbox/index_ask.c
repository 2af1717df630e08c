// SPDX-License-Identifier: Apache-2.0
/* Looks at the index: what matches a query, in which order, and how many. */
#include "handoff/inbox/index_internal.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void text_copy(char *ret_text, size_t size, const char *text)
{
    snprintf(ret_text, size, "%s", text);
}

/* ---- Asking --------------------------------------------------------------------------------- */

/** One look at the entries; the lock is held. */
struct index_asking {
    const struct desks *desks;
    const struct handoff_query *query;
    const struct index_name *agent; /**< that the query names */
    const struct index_name *desk;
    char *text; /**< owned; in lower case; NULL = any */
    size_t text_len;
    struct index_marks marks; /**< of the text */
    bool is_in_vain;          /**< the query names what no entry has */
};

static const struct index_name *find_name(struct index_name *names, const char *text,
                                          bool *is_in_vain)
{
    struct index_name *name = NULL;
    if (text != NULL) {
        HASH_FIND(hh, names, text, strlen(text), name);
        *is_in_vain = *is_in_vain || name == NULL;
    }
    return name;
}

static void forget_answers(struct index_name *names)
{
    for (struct index_name *name = names; name != NULL; name = name->hh.next) {
        name->count = 0;
        memset(name->answers, -1, sizeof(name->answers));
    }
}

static struct index_asking begin_asking(struct handoff_index *index, const struct desks *desks,
                                        const struct handoff_query *query)
{
    struct index_asking asking = {.desks = desks, .query = query};
    asking.agent = find_name(index->agents, query->agent_id, &asking.is_in_vain);
    asking.desk = find_name(index->desks, query->desk, &asking.is_in_vain);
    if (query->text != NULL && query->text[0] != '\0') {
        char *at = memory_new(strlen(query->text) + 1);
        asking.text = at;
        index_fold(&at, query->text);
        asking.text_len = (size_t)(at - asking.text) - 1;
        asking.marks = index_mark(asking.text, asking.text_len);
    }
    forget_answers(index->agents);
    forget_answers(index->desks);
    return asking;
}

static bool ask_desks(const struct index_asking *asking, const struct index_place *place)
{
    const char *of[HANDOFF_MOST_DESKS];
    auto_free struct handoff *handoff = memory_new_zero(1, sizeof(*handoff));
    bool is_on = false;
    handoff->escalation_level = place->entry->escalation_level;
    handoff->desk_count = place->desk->text[0] == '\0' ? 0 : 1;
    text_copy(handoff->desks[0], sizeof(handoff->desks[0]), place->desk->text);
    size_t count = desks_of(asking->desks, handoff, of);
    for (size_t i = 0; i < count && !is_on; i++) {
        is_on = desks_is_on(asking->desks, asking->query->person, of[i]);
    }
    return is_on;
}

/** Whether the person is on the desks of an entry; found once for each desk and level. */
static bool is_persons(const struct index_asking *asking, const struct index_place *place)
{
    signed char *answer = &place->desk->answers[place->level];
    if (*answer < 0) {
        *answer = ask_desks(asking, place) ? 1 : 0;
    }
    return *answer > 0;
}

/** Whether the caller sees the agent of an entry; found once for each agent. */
static bool is_covered(const struct index_asking *asking, const struct index_place *place)
{
    const char *const *agents = asking->query->agents;
    signed char *answer = &place->agent->answers[0];
    if (agents != NULL && *answer < 0) {
        while (*agents != NULL && strcmp(*agents, place->agent->text) != 0) {
            agents++;
        }
        *answer = *agents != NULL ? 1 : 0;
    }
    return agents == NULL || *answer > 0;
}

static bool is_waiting(const struct index_place *place)
{
    return place->state <= HANDOFF_NEEDS_INFO;
}

static bool is_open(const struct index_place *place)
{
    return place->state == HANDOFF_ROUTED || place->state == HANDOFF_REROUTED ||
           place->state == HANDOFF_ESCALATED;
}

/** Whether it waits for the person of the query: on a desk of theirs, and claimed by nobody else.
 */
static bool is_mine(const struct index_asking *asking, const struct index_place *place)
{
    const char *person = asking->query->person;
    return person != NULL && is_open(place) && is_persons(asking, place) &&
           (!place->is_claimed || strcmp(place->entry->claimed_by, person) == 0);
}

static bool is_in_state(const struct handoff_query *query, const struct index_place *place)
{
    switch (query->states) {
    case QUERY_WAITING:
        return is_waiting(place);
    case QUERY_OPEN:
        return is_open(place);
    case QUERY_ALL:
        return true;
    case QUERY_STATE:
        break;
    }
    return place->state == (unsigned char)query->state;
}

static bool is_for(const struct index_asking *asking, const struct index_place *place)
{
    switch (asking->query->whose) {
    case QUERY_OF_ANYBODY:
        return true;
    case QUERY_ON_DESK:
        return is_persons(asking, place);
    case QUERY_MINE:
        return is_mine(asking, place);
    }
    return false;
}

/** Whether an entry can have the text at all. */
static bool may_have_text(const struct index_asking *asking, const struct index_place *place)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < MARKS; i++) {
        missing |= asking->marks.bits[i] & ~place->marks.bits[i];
    }
    return missing == 0;
}

static bool matches(const struct index_asking *asking, const struct index_place *place)
{
    const struct handoff_query *query = asking->query;
    return is_in_state(query, place) && (asking->agent == NULL || asking->agent == place->agent) &&
           (asking->desk == NULL || asking->desk == place->desk) &&
           (!query->has_priority || place->priority == (unsigned char)query->priority) &&
           is_covered(asking, place) &&
           (query->lane_id == NULL || strcmp(query->lane_id, place->entry->lane_id) == 0) &&
           (query->claimed_by == NULL ||
            strcmp(query->claimed_by, place->entry->claimed_by) == 0) &&
           is_for(asking, place) &&
           (asking->text == NULL ||
            (may_have_text(asking, place) &&
             memmem(place->folded, place->folded_len, asking->text, asking->text_len) != NULL));
}

/* ---- Turns ---------------------------------------------------------------------------------- */

/** An entry with its turn: how many of its agent come before it in the same rank. */
struct index_turn {
    const struct index_place *place;
    uint32_t turn;
};

/** Of equal rank are those that are due within the same minute: there the agents take turns, so
 * that one with many requests does not hold up the others. */
static int64_t minute_of(int64_t rank_ns)
{
    return rank_ns >= RANK_ASKED ? rank_ns : rank_ns / (60 * NS_PER_S);
}

static int compare_turns(const void *a, const void *b)
{
    const struct index_turn *left = a;
    const struct index_turn *right = b;
    if (left->turn != right->turn) {
        return left->turn < right->turn ? -1 : 1;
    }
    return index_compare(left->place->rank_ns, left->place->entry->request_id, right->place);
}

/** Entries of equal rank in the order in which they are shown. */
struct index_rank {
    struct index_turn *turns;
    size_t count;
    size_t room;
};

/** Take the entries of the rank that begins at a place. @return the place after it */
static size_t take_rank(struct handoff_index *index, size_t first, struct index_rank *rank)
{
    int64_t minute = minute_of(index->order[first].rank_ns);
    size_t end = first;
    rank->count = 0;
    for (; end < index->count && minute_of(index->order[end].rank_ns) == minute; end++) {
        index->order[end].agent->count = 0;
    }
    if (end - first > rank->room) {
        rank->room = end - first;
        rank->turns = memory_resize(rank->turns, rank->room, sizeof(*rank->turns));
    }
    for (size_t i = first; i < end; i++) {
        struct index_place *place = &index->order[i];
        uint32_t turn = minute >= RANK_ASKED ? 0 : (uint32_t)place->agent->count++;
        rank->turns[rank->count++] = (struct index_turn){place, turn};
    }
    if (rank->count > 1) {
        qsort(rank->turns, rank->count, sizeof(*rank->turns), compare_turns);
    }
    return end;
}

/** Whether an entry was given by the page before. */
static bool was_given(const struct handoff_query *query, const struct index_turn *turn)
{
    struct entry entry = {.rank_ns = query->after.rank_ns};
    struct index_place last = {.rank_ns = query->after.rank_ns, .entry = &entry};
    if (query->after.request_id[0] == '\0' ||
        minute_of(turn->place->rank_ns) != minute_of(query->after.rank_ns)) {
        return false;
    }
    memcpy(entry.request_id, query->after.request_id, sizeof(entry.request_id));
    struct index_turn before = {&last, query->after.turn};
    return compare_turns(turn, &before) <= 0;
}

/** The first entry of the rank at which a page begins. */
static size_t first_of(const struct handoff_index *index, const struct handoff_query *query)
{
    int64_t minute = minute_of(query->after.rank_ns);
    if (query->after.request_id[0] == '\0') {
        return 0;
    }
    return index_place_of(index, minute >= RANK_ASKED ? minute : minute * 60 * NS_PER_S, "");
}

size_t handoff_index_list(struct handoff_index *index, const struct desks *desks,
                          const struct handoff_query *query, handoff_entry_fn *fn, void *context)
{
    struct index_rank rank = {0};
    struct handoff_summary summary;
    size_t given = 0;
    bool goes_on = true;
    pthread_mutex_lock(&index->lock);
    struct index_asking asking = begin_asking(index, desks, query);
    size_t i = asking.is_in_vain ? index->count : first_of(index, query);
    while (i < index->count && goes_on && (query->limit == 0 || given < query->limit)) {
        i = take_rank(index, i, &rank);
        for (size_t k = 0; k < rank.count && goes_on && (query->limit == 0 || given < query->limit);
             k++) {
            const struct index_turn *turn = &rank.turns[k];
            if (!was_given(query, turn) && matches(&asking, turn->place)) {
                struct handoff_place_in_list place = {.rank_ns = turn->place->rank_ns,
                                                      .turn = turn->turn};
                text_copy(place.request_id, sizeof(place.request_id),
                          turn->place->entry->request_id);
                index_write_summary(turn->place, &summary);
                goes_on = fn(&summary, &place, context);
                given++;
            }
        }
    }
    pthread_mutex_unlock(&index->lock);
    free(rank.turns);
    free(asking.text);
    return given;
}

static void count_desks(struct handoff_index *index, struct handoff_tally *tally)
{
    for (struct index_name *desk = index->desks; desk != NULL; desk = desk->hh.next) {
        if (desk->count > 0 && desk->text[0] != '\0' && tally->desk_count < TALLY_DESKS) {
            struct handoff_desk_tally *found = &tally->desks[tally->desk_count++];
            text_copy(found->name, sizeof(found->name), desk->text);
            found->waiting = desk->count;
        }
    }
}

void handoff_index_count(struct handoff_index *index, const struct desks *desks,
                         const struct handoff_query *query, int64_t now_ns,
                         struct handoff_tally *ret_tally)
{
    struct handoff_tally *tally = ret_tally;
    *tally = (struct handoff_tally){0};
    pthread_mutex_lock(&index->lock);
    struct index_asking asking = begin_asking(index, desks, query);
    for (size_t i = asking.is_in_vain ? index->count : 0; i < index->count; i++) {
        const struct index_place *place = &index->order[i];
        if (!matches(&asking, place)) {
            continue;
        }
        tally->waiting++;
        tally->mine += is_mine(&asking, place) ? 1 : 0;
        tally->by_state[place->state]++;
        tally->by_priority[place->priority]++;
        tally->claimed += place->is_claimed ? 1 : 0;
        tally->overdue += place->due_ns != 0 && place->due_ns <= now_ns ? 1 : 0;
        if (tally->oldest_ns == 0 || place->requested_ns < tally->oldest_ns) {
            tally->oldest_ns = place->requested_ns;
        }
        place->desk->count++;
    }
    count_desks(index, tally);
    pthread_mutex_unlock(&index->lock);
    free(asking.text);
}
