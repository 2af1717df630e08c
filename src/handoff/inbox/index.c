// SPDX-License-Identifier: Apache-2.0
/*
 * The index: a hash table by id, and an array of its entries by rank. To enter or remove one moves
 * a part of the array; at 200,000 entries that is faster than a look at the store. Names of agents
 * and desks are kept once, so that a look at all entries compares no texts.
 */
#include "handoff/inbox/index_internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Changes after which all is read again: then that is cheaper. */
#define MOST_CHANGES 20000
struct handoff_index *handoff_index_new(void)
{
    struct handoff_index *index = memory_new_zero(1, sizeof(*index));
    pthread_mutex_init(&index->lock, NULL);
    return index;
}

static void clear_names(struct index_name **names)
{
    struct index_name *name = NULL;
    struct index_name *next = NULL;
    HASH_ITER(hh, *names, name, next)
    {
        HASH_DEL(*names, name);
        free(name);
    }
}

static void clear(struct handoff_index *index)
{
    HASH_CLEAR(hh, index->entries);
    for (size_t i = 0; i < index->count; i++) {
        free(index->order[i].entry);
    }
    clear_names(&index->agents);
    clear_names(&index->desks);
    index->count = 0;
    index->bytes = 0;
}

void handoff_index_free(struct handoff_index *index)
{
    if (index != NULL) {
        clear(index);
        pthread_mutex_destroy(&index->lock);
        free(index->order);
        free(index);
    }
}

/* ---- Entries -------------------------------------------------------------------------------- */

int index_compare(int64_t rank_ns, const char *id, const struct index_place *place)
{
    if (rank_ns != place->rank_ns) {
        return rank_ns < place->rank_ns ? -1 : 1;
    }
    return strcmp(id, place->entry->request_id);
}

static int compare_places(const void *a, const void *b)
{
    const struct index_place *left = a;
    return index_compare(left->rank_ns, left->entry->request_id, b);
}

size_t index_place_of(const struct handoff_index *index, int64_t rank_ns, const char *id)
{
    size_t low = 0;
    size_t high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index_compare(rank_ns, id, &index->order[middle]) > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct index_name *take_name(struct handoff_index *index, struct index_name **names,
                                    const char *text)
{
    struct index_name *name = NULL;
    size_t len = strlen(text);
    HASH_FIND(hh, *names, text, len, name);
    if (name == NULL) {
        name = memory_new_zero(1, sizeof(*name) + len + 1);
        memcpy(name->text, text, len);
        HASH_ADD_KEYPTR(hh, *names, name->text, len, name);
        index->bytes += sizeof(*name) + len + 1;
    }
    name->entries++;
    return name;
}

static void drop_name(struct handoff_index *index, struct index_name **names,
                      struct index_name *name)
{
    if (--name->entries == 0) {
        index->bytes -= sizeof(*name) + strlen(name->text) + 1;
        HASH_DEL(*names, name);
        free(name);
    }
}

static const char *put_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *place = *at;
    memcpy(place, text, size);
    *at += size;
    return place;
}

void index_fold(char **at, const char *text)
{
    while (*text != '\0') {
        unsigned char byte = (unsigned char)*text++;
        *(*at)++ = (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
    }
    *(*at)++ = '\n';
}

struct index_marks index_mark(const char *text, size_t len)
{
    struct index_marks marks = {0};
    for (size_t i = 1; i < len; i++) {
        unsigned pair = (unsigned char)text[i - 1] * 31U + (unsigned char)text[i] * 167U;
        marks.bits[pair / 64 % MARKS] |= UINT64_C(1) << pair % 64;
    }
    return marks;
}

static int64_t rank_of(const struct handoff_summary *summary)
{
    return summary->state == HANDOFF_NEEDS_INFO  ? RANK_ASKED
           : summary->state > HANDOFF_NEEDS_INFO ? RANK_DECIDED
                                                 : summary->due_ns;
}

/** A new entry with room for its texts, and for those that are searched. */
static struct entry *allocate(const struct handoff_summary *summary)
{
    size_t shown = strlen(summary->lane_id) + strlen(summary->tool) + strlen(summary->claimed_by) +
                   strlen(summary->why) + 4;
    size_t searched = strlen(summary->lane_id) + strlen(summary->tool) + strlen(summary->why) +
                      strlen(summary->agent_id) + strlen(summary->request_id) + 5;
    size_t size = sizeof(struct entry) + shown + searched;
    struct entry *entry = memory_new_zero(1, size);
    entry->size = size;
    return entry;
}

/** What is searched of an entry. */
struct folded {
    const char *text;
    uint32_t len;
};

/** @param ret_folded in one piece with the entry */
static struct entry *make_entry(const struct handoff_summary *summary, struct folded *ret_folded)
{
    struct entry *entry = allocate(summary);
    char *at = entry->texts;
    memcpy(entry->request_id, summary->request_id, sizeof(entry->request_id));
    entry->lane_id = put_text(&at, summary->lane_id);
    entry->tool = put_text(&at, summary->tool);
    entry->claimed_by = put_text(&at, summary->claimed_by);
    entry->why = put_text(&at, summary->why);
    ret_folded->text = at;
    index_fold(&at, summary->tool);
    index_fold(&at, summary->why);
    index_fold(&at, summary->agent_id);
    index_fold(&at, summary->lane_id);
    index_fold(&at, summary->request_id);
    ret_folded->len = (uint32_t)(at - ret_folded->text);
    entry->rank_ns = rank_of(summary);
    entry->version = summary->version;
    entry->escalation_level = summary->escalation_level;
    entry->hops = summary->hops;
    entry->revision = summary->revision;
    entry->risk = (unsigned char)summary->risk;
    return entry;
}

static struct index_place make_place_of(struct handoff_index *index,
                                        const struct handoff_summary *summary)
{
    uint32_t level = summary->escalation_level;
    struct folded folded;
    struct entry *entry = make_entry(summary, &folded);
    return (struct index_place){
        .rank_ns = rank_of(summary),
        .entry = entry,
        .agent = take_name(index, &index->agents, summary->agent_id),
        .desk = take_name(index, &index->desks, summary->desk),
        .requested_ns = summary->requested_ns,
        .due_ns = summary->due_ns,
        .timer_ns = summary->timer_ns,
        .folded = folded.text,
        .folded_len = folded.len,
        .marks = index_mark(folded.text, folded.len),
        .state = (unsigned char)summary->state,
        .priority = (unsigned char)summary->priority,
        .level = (unsigned char)(level < LEVELS ? level : LEVELS - 1),
        .is_claimed = summary->claimed_by[0] != '\0',
    };
}

static void copy(char *ret_text, size_t size, const char *text)
{
    snprintf(ret_text, size, "%s", text);
}

void index_write_summary(const struct index_place *place, struct handoff_summary *summary)
{
    const struct entry *entry = place->entry;
    copy(summary->request_id, sizeof(summary->request_id), entry->request_id);
    copy(summary->agent_id, sizeof(summary->agent_id), place->agent->text);
    copy(summary->lane_id, sizeof(summary->lane_id), entry->lane_id);
    copy(summary->desk, sizeof(summary->desk), place->desk->text);
    copy(summary->tool, sizeof(summary->tool), entry->tool);
    copy(summary->claimed_by, sizeof(summary->claimed_by), entry->claimed_by);
    copy(summary->why, sizeof(summary->why), entry->why);
    summary->state = (enum handoff_state)place->state;
    summary->risk = (enum handoff_level)entry->risk;
    summary->priority = (enum handoff_level)place->priority;
    summary->escalation_level = entry->escalation_level;
    summary->hops = entry->hops;
    summary->revision = entry->revision;
    summary->version = entry->version;
    summary->requested_ns = place->requested_ns;
    summary->due_ns = place->due_ns;
    summary->timer_ns = place->timer_ns;
}

static void make_place(struct handoff_index *index)
{
    if (index->count == index->room) {
        index->room = index->room * 2 + 64;
        index->order = memory_resize(index->order, index->room, sizeof(*index->order));
    }
}

static void enter(struct handoff_index *index, size_t at, const struct handoff_summary *summary)
{
    struct index_place place = make_place_of(index, summary);
    struct entry *entry = place.entry;
    make_place(index);
    memmove(&index->order[at + 1], &index->order[at], (index->count - at) * sizeof(*index->order));
    index->order[at] = place;
    index->count++;
    index->bytes += entry->size;
    HASH_ADD_STR(index->entries, request_id, entry);
}

static void drop(struct handoff_index *index, const char *id)
{
    struct entry *entry = NULL;
    HASH_FIND_STR(index->entries, id, entry);
    if (entry != NULL) {
        size_t at = index_place_of(index, entry->rank_ns, id);
        struct index_place place = index->order[at];
        memmove(&index->order[at], &index->order[at + 1],
                (index->count - at - 1) * sizeof(*index->order));
        index->count--;
        index->bytes -= entry->size;
        HASH_DEL(index->entries, entry);
        drop_name(index, &index->agents, place.agent);
        drop_name(index, &index->desks, place.desk);
        free(entry);
    }
}

static void insert(struct handoff_index *index, const struct handoff_summary *summary)
{
    enter(index, index_place_of(index, rank_of(summary), summary->request_id), summary);
}

/* ---- Following the store -------------------------------------------------------------------- */

static bool load_one(const struct handoff_summary *summary, void *context)
{
    struct handoff_index *index = context;
    enter(index, index->count, summary); /* in order later */
    return true;
}

/** Read all. What is appended to the chain meanwhile is taken in with the next look. */
static int load(struct handoff_index *index, const struct handoff_store *handoffs,
                uint64_t position, struct rondo_error *err)
{
    clear(index);
    index->is_loaded = false;
    int r = handoff_read_summaries(handoffs, load_one, index, err);
    if (r < 0 && r != RONDO_ERR_CORRUPT) {
        return r;
    }
    if (index->count > 0) {
        qsort(index->order, index->count, sizeof(*index->order), compare_places);
    }
    index->position = position;
    index->is_loaded = true;
    return 0;
}

/** Ids that something happened to, each of them once. */
struct changed {
    UT_hash_handle hh;
    char request_id[ID_SIZE];
};

struct index_following {
    struct changed *ids;
    uint64_t position;
};

static bool note_change(uint64_t number, const char *kind, const char *request_id, void *context)
{
    struct index_following *following = context;
    struct changed *changed = NULL;
    (void)kind;
    following->position = number;
    HASH_FIND_STR(following->ids, request_id, changed);
    if (changed == NULL && request_id[0] != '\0') {
        changed = memory_new_zero(1, sizeof(*changed));
        copy(changed->request_id, sizeof(changed->request_id), request_id);
        HASH_ADD_STR(following->ids, request_id, changed);
    }
    return true;
}

static int update_one(struct handoff_index *index, const struct handoff_store *handoffs,
                      const char *request_id, struct rondo_error *err)
{
    struct handoff_summary summary;
    int r = handoff_read_summary(handoffs, request_id, &summary, err);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND && r != RONDO_ERR_CORRUPT) {
        return r;
    }
    drop(index, request_id);
    if (r == 0) {
        insert(index, &summary);
    }
    return 0;
}

static int follow(struct handoff_index *index, const struct handoff_store *handoffs,
                  struct rondo_error *err)
{
    struct index_following following = {.position = index->position};
    struct changed *changed = NULL;
    struct changed *next = NULL;
    int r = handoff_read_changes(handoffs, index->position, note_change, &following, err);
    HASH_ITER(hh, following.ids, changed, next)
    {
        r = r < 0 ? r : update_one(index, handoffs, changed->request_id, err);
        HASH_DEL(following.ids, changed);
        free(changed);
    }
    if (r == 0) {
        index->position = following.position;
    }
    return r;
}

int handoff_index_refresh(struct handoff_index *index, const struct handoff_store *handoffs,
                          struct rondo_error *err)
{
    uint64_t position = 0;
    int r = handoff_read_position(handoffs, &position, err);
    if (r < 0) {
        return r;
    }
    pthread_mutex_lock(&index->lock);
    if (!index->is_loaded || position < index->position ||
        position - index->position > MOST_CHANGES) {
        r = load(index, handoffs, position, err);
    } else if (position != index->position) {
        r = follow(index, handoffs, err);
        r = r == RONDO_ERR_CORRUPT ? load(index, handoffs, position, err) : r;
    }
    pthread_mutex_unlock(&index->lock);
    return r;
}

/* ---- One, and what is due ---------------------------------------------------------------- */

int64_t handoff_index_next(struct handoff_index *index)
{
    int64_t next_ns = INT64_MAX;
    pthread_mutex_lock(&index->lock);
    for (size_t i = 0; i < index->count; i++) {
        int64_t timer_ns = index->order[i].timer_ns;
        next_ns = timer_ns != 0 && timer_ns < next_ns ? timer_ns : next_ns;
    }
    pthread_mutex_unlock(&index->lock);
    return next_ns;
}

static int compare_timers(const void *a, const void *b)
{
    const struct index_place *const *left = a;
    const struct index_place *const *right = b;
    int64_t difference = (*left)->timer_ns - (*right)->timer_ns;
    return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}

size_t handoff_index_due(struct handoff_index *index, int64_t now_ns, char (*ret_ids)[ID_SIZE],
                         size_t size)
{
    size_t count = 0;
    pthread_mutex_lock(&index->lock);
    const struct index_place **due = memory_new_zero(index->count + 1, sizeof(*due));
    for (size_t i = 0; i < index->count; i++) {
        if (index->order[i].timer_ns != 0 && index->order[i].timer_ns <= now_ns) {
            due[count++] = &index->order[i];
        }
    }
    qsort(due, count, sizeof(*due), compare_timers);
    count = count < size ? count : size;
    for (size_t i = 0; i < count; i++) {
        memcpy(ret_ids[i], due[i]->entry->request_id, ID_SIZE);
    }
    free(due);
    pthread_mutex_unlock(&index->lock);
    return count;
}

size_t handoff_index_size(struct handoff_index *index, size_t *ret_bytes)
{
    pthread_mutex_lock(&index->lock);
    size_t count = index->count;
    size_t buckets = index->entries == NULL ? 0 : HASH_OVERHEAD(hh, index->entries);
    *ret_bytes = index->bytes + buckets + index->room * sizeof(*index->order);
    pthread_mutex_unlock(&index->lock);
    return count;
}
