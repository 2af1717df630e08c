// SPDX-License-Identifier: Apache-2.0
/*
 * Memories of agents in the memory back end: a list in the order of their age. A search counts the
 * words that a memory has. Threads: one mutex over everything, callbacks included.
 */
#include "base/ascii.h"
#include "base/memory.h"
#include "memory_rows.h"
#include "store/rules.h"

#include <stdlib.h>
#include <string.h>

int memory_reserve_memories(struct store *base, const char *owner, uint32_t count,
                            int64_t *ret_first, struct rondo_error *err)
{
    int rc = rules_check_memory_owner(owner, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = memory_rows_lock(base);
    struct memory_note_owner *row = store->note_owners;
    while (row != NULL && strcmp(row->name, owner) != 0) {
        row = row->next;
    }
    if (row == NULL) {
        row = memory_new_zero(1, sizeof(*row));
        memcpy(row->name, owner, strlen(owner));
        row->key = store->note_owners != NULL ? store->note_owners->key + 1 : 1;
        DL_PREPEND(store->note_owners, row);
    }
    *ret_first = row->key * LIMIT_MEMORY_IDS + row->last + 1;
    row->last += count;
    memory_rows_unlock(store);
    return 0;
}

static void free_note(struct memory_note *note)
{
    const struct store_memory *content = &note->content;
    const char *const texts[] = {content->owner,  content->category,     content->run_id,
                                 content->source, content->metadata,     content->content,
                                 content->grams,  content->vector_model, content->vector};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        free((void *)(uintptr_t)texts[i]);
    }
    free(note);
}

static struct memory_note *find_note(struct memory_store *store, int64_t id)
{
    struct memory_note *note = store->notes;
    while (note != NULL && note->content.id != id) {
        note = note->next;
    }
    return note;
}

static int compare_age(const struct memory_note *left, const struct memory_note *right)
{
    const struct store_memory *first = &left->content;
    const struct store_memory *second = &right->content;
    if (first->created_ns != second->created_ns) {
        return first->created_ns > second->created_ns ? -1 : 1;
    }
    return first->id > second->id ? -1 : 1;
}

static bool add_note(struct memory_store *store, const struct store_memory *memory)
{
    if (find_note(store, memory->id) != NULL) {
        return false;
    }
    struct memory_note *note = memory_new_zero(1, sizeof(*note));
    note->content = *memory;
    note->content.owner = memory_dup_string(memory->owner);
    note->content.category = memory_dup_string(memory->category);
    note->content.run_id = memory_dup_string(memory->run_id);
    note->content.source = memory_dup_string(memory->source);
    note->content.metadata = memory_dup_string(memory->metadata);
    note->content.content = memory_dup_string(memory->content);
    note->content.grams = memory_dup_string(memory->grams);
    note->content.vector = NULL;
    note->content.vector_model = NULL;
    DL_INSERT_INORDER(store->notes, note, compare_age);
    return true;
}

static void delete_note(struct memory_store *store, struct memory_note *note)
{
    DL_DELETE(store->notes, note);
    free_note(note);
}

static uint64_t prune_notes(struct memory_store *store, const struct store_memory_change *change)
{
    uint64_t seen = 0;
    uint64_t deleted = 0;
    struct memory_note *note, *next;
    DL_FOREACH_SAFE(store->notes, note, next)
    {
        if (note->content.kind == change->memory.kind &&
            strcmp(note->content.owner, change->memory.owner) == 0 && ++seen > change->keep) {
            delete_note(store, note);
            deleted++;
        }
    }
    return deleted;
}

static void embed_note(struct memory_note *note, const struct store_memory *memory)
{
    free((void *)(uintptr_t)note->content.vector);
    free((void *)(uintptr_t)note->content.vector_model);
    note->content.vector = memory_dup_bytes(memory->vector, memory->vector_len);
    note->content.vector_len = memory->vector_len;
    note->content.vector_model = memory_dup_string(memory->vector_model);
}

static uint64_t apply_note(struct memory_store *store, const struct store_memory_change *change)
{
    struct memory_note *note = find_note(store, change->memory.id);
    switch (change->kind) {
    case STORE_MEMORY_ADD:
        return add_note(store, &change->memory);
    case STORE_MEMORY_FORGET:
        if (note != NULL) {
            delete_note(store, note);
        }
        return note != NULL;
    case STORE_MEMORY_CONSOLIDATE:
        if (note != NULL) {
            note->content.consolidated_ns = change->memory.consolidated_ns;
        }
        return note != NULL;
    case STORE_MEMORY_EMBED:
        if (note != NULL) {
            embed_note(note, &change->memory);
        }
        return note != NULL;
    case STORE_MEMORY_PRUNE:
        return prune_notes(store, change);
    }
    return 0;
}

uint64_t memory_apply_notes(struct memory_store *store, const struct store_memory_change *changes,
                            size_t count)
{
    uint64_t changed = 0;
    for (size_t i = 0; i < count; i++) {
        changed += apply_note(store, &changes[i]);
    }
    return changed;
}

int memory_change_memories(struct store *base, const struct store_memory_change *changes,
                           size_t count, uint64_t *ret_changed, struct rondo_error *err)
{
    int rc = rules_check_memories(changes, count, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = memory_rows_lock(base);
    *ret_changed = memory_apply_notes(store, changes, count);
    memory_rows_unlock(store);
    return 0;
}

/** How many of the query's words a memory has; letters of ASCII without case. */
static double count_words(const struct store_memory *memory, const struct store_memory_query *query)
{
    double found = 0;
    char *text = memory_dup_string(memory->content);
    for (char *c = text; *c != '\0'; c++) {
        *c = ascii_lower(*c);
    }
    for (size_t i = 0; i < query->word_count; i++) {
        const struct store_memory_word *word = &query->words[i];
        found += strstr(text, word->beginning != NULL ? word->beginning : word->text) != NULL ||
                 strstr(memory->grams, word->text) != NULL;
    }
    free(text);
    return found;
}

static bool matches(const struct store_memory *memory, const struct store_memory_query *query)
{
    bool has_vector =
        query->vectors != STORE_VECTORS_NONE && memory->vector_model != NULL &&
        (query->vector_model == NULL || strcmp(memory->vector_model, query->vector_model) == 0);
    return (query->vectors == STORE_VECTORS_NONE ||
            has_vector == (query->vectors == STORE_VECTORS_GIVEN)) &&
           (query->vectors == STORE_VECTORS_NONE || memory->id > query->after_id) &&
           (query->id == 0 || memory->id == query->id) &&
           (query->owner == NULL || strcmp(memory->owner, query->owner) == 0) &&
           (query->kinds == 0 || ((query->kinds >> memory->kind) & 1) != 0) &&
           (query->category == NULL || strcmp(memory->category, query->category) == 0) &&
           (!query->only_unconsolidated || memory->consolidated_ns == 0);
}

static int compare_scores(const void *left, const void *right)
{
    const struct store_memory *first = left;
    const struct store_memory *second = right;
    if (first->score != second->score) {
        return first->score > second->score ? -1 : 1;
    }
    return first->id > second->id ? -1 : first->id < second->id;
}

static int compare_ids(const void *left, const void *right)
{
    const struct store_memory *first = left;
    const struct store_memory *second = right;
    return (first->id > second->id) - (first->id < second->id);
}

/** The memories that a query selects, in its order. @return owned */
static struct store_memory *gather(struct memory_store *store,
                                   const struct store_memory_query *query, size_t *ret_count)
{
    const struct memory_note *note;
    size_t size = 0;
    size_t count = 0;
    DL_COUNT(store->notes, note, size);
    struct store_memory *found = memory_new_zero(size + 1, sizeof(*found));
    DL_FOREACH(store->notes, note)
    {
        size_t place = query->is_oldest_first ? size - 1 - count : count;
        found[place] = note->content;
        found[place].score = query->words != NULL ? count_words(&note->content, query) : 0;
        bool is_found = query->words == NULL || found[place].score > 0;
        count += matches(&note->content, query) && is_found;
    }
    if (query->is_oldest_first) {
        memmove(found, found + size - count, count * sizeof(*found));
    }
    if (query->words != NULL) {
        qsort(found, count, sizeof(*found), compare_scores);
    } else if (query->vectors != STORE_VECTORS_NONE) {
        qsort(found, count, sizeof(*found), compare_ids);
    }
    *ret_count = count;
    return found;
}

int memory_read_memories(struct store *base, const struct store_memory_query *query,
                         store_memory_fn *fn, void *context, struct rondo_error *err)
{
    int rc = query->words != NULL ? rules_check_memory_words(query, err) : 0;
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = memory_rows_lock(base);
    size_t count = 0;
    struct store_memory *found = gather(store, query, &count);
    size_t limit = query->words != NULL ? LIMIT_MEMORY_FOUND : count;
    limit = query->limit != 0 && query->limit < limit ? query->limit : limit;
    for (size_t i = 0; i < count && i < limit && fn(&found[i], context); i++) {
    }
    free(found);
    memory_rows_unlock(store);
    return 0;
}

void memory_note_free_all(struct memory_store *store)
{
    struct memory_note *note, *next;
    struct memory_note_owner *owner, *next_owner;
    DL_FOREACH_SAFE(store->notes, note, next)
    {
        delete_note(store, note);
    }
    DL_FOREACH_SAFE(store->note_owners, owner, next_owner)
    {
        DL_DELETE(store->note_owners, owner);
        free(owner);
    }
}
