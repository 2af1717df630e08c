// SPDX-License-Identifier: Apache-2.0
/*
 * Recall: the store finds memories by BM25, and here they are weighted. A fact or a procedure says
 * more than an episode, and of two that match alike the newer one is likelier to be true still; but
 * age must not hide what matches much better, so that even the oldest memory keeps most of its
 * score.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "memory/memory.h"
#include "memory/vectors.h"
#include "memory/words.h"

#include <stdlib.h>
#include <string.h>

/** Share of the score that age cannot take away. */
#define AGELESS_SHARE 0.7
/** After this time half of the rest is left, after three times this time a quarter. */
#define HALF_LIFE_NS (INT64_C(30) * 24 * 3600 * NS_PER_S)

/** Nearest memories by vectors that take part. */
#define NEAR_MAX 50
/** Reciprocal rank fusion: how much less a lower place counts. */
#define RANK_BASE 60.0

static const double kind_weights[STORE_MEMORY_KIND_COUNT] = {
    [STORE_EPISODIC] = 0.9,
    [STORE_SEMANTIC] = 1.0,
    [STORE_PROCEDURAL] = 1.0,
};

/** What a search found, copied. */
struct found {
    struct store_memory *items;
    size_t count;
    int64_t now_ns;
};

static double weight(const struct store_memory *memory, int64_t now_ns)
{
    double age_ns = memory->created_ns < now_ns ? (double)(now_ns - memory->created_ns) : 0;
    double freshness = (double)HALF_LIFE_NS / ((double)HALF_LIFE_NS + age_ns);
    return kind_weights[memory->kind] * (AGELESS_SHARE + (1 - AGELESS_SHARE) * freshness);
}

static bool gather(const struct store_memory *memory, void *context)
{
    struct found *found = context;
    struct store_memory *copy = &found->items[found->count++];
    *copy = *memory;
    copy->owner = memory_dup_string(memory->owner);
    copy->category = memory_dup_string(memory->category);
    copy->run_id = memory_dup_string(memory->run_id);
    copy->source = memory_dup_string(memory->source);
    copy->metadata = memory_dup_string(memory->metadata);
    copy->content = memory_dup_string(memory->content);
    copy->score *= weight(memory, found->now_ns);
    return found->count < LIMIT_MEMORY_FOUND + NEAR_MAX;
}

static void free_found(struct found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct store_memory *item = &found->items[i];
        const char *const texts[] = {item->owner,  item->category, item->run_id,
                                     item->source, item->metadata, item->content};
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
            free((void *)(uintptr_t)texts[k]);
        }
    }
    free(found->items);
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

/** Hand out the best, with scores relative to the first. */
static void give(struct found *found, uint32_t top, store_memory_fn *fn, void *context)
{
    qsort(found->items, found->count, sizeof(found->items[0]), compare_scores);
    double best = found->count > 0 ? found->items[0].score : 0;
    double scale = found->count > 0 ? weight(&found->items[0], found->now_ns) : 1;
    for (size_t i = 0; i < found->count && i < top; i++) {
        struct store_memory memory = found->items[i];
        memory.score = best > 0 ? memory.score / best * scale : 0;
        if (!fn(&memory, context)) {
            return;
        }
    }
}

static int find_by_words(struct store *store, const struct memories_question *question,
                         struct found *found, struct rondo_error *err)
{
    struct question_words words;
    words_of_question(question->text, &words);
    if (words.count == 0) {
        return 0;
    }
    const struct store_memory_query query = {
        .owner = question->owner,
        .kinds = question->kinds,
        .category = question->category,
        .words = words.items,
        .word_count = words.count,
        .limit = LIMIT_MEMORY_FOUND,
    };
    return store->ops->read_memories(store, &query, gather, found, err);
}

/** Find one that was found before, or read it. @return NULL when it is gone, or with an error */
static struct store_memory *find_item(struct store *store, int64_t id, struct found *found,
                                      int *ret_code, struct rondo_error *err)
{
    size_t count = found->count;
    for (size_t i = 0; i < count; i++) {
        if (found->items[i].id == id) {
            return &found->items[i];
        }
    }
    const struct store_memory_query query = {.id = id};
    *ret_code = store->ops->read_memories(store, &query, gather, found, err);
    return *ret_code == 0 && found->count > count ? &found->items[count] : NULL;
}

/** Let the nearest memories by vectors count like those by words: both by their places. */
static int fuse(struct store *store, const struct memories_question *question, struct found *found,
                struct rondo_error *err)
{
    struct vectors_near near[NEAR_MAX];
    size_t count = 0;
    int r = vectors_search(question->vectors, store, question, weight, NEAR_MAX, near, &count, err);
    if (r < 0 || count == 0) {
        return r;
    }
    qsort(found->items, found->count, sizeof(found->items[0]), compare_scores);
    for (size_t i = 0; i < found->count; i++) {
        found->items[i].score = 1 / (RANK_BASE + 1 + (double)i);
    }
    for (size_t i = 0; i < count && r == 0; i++) {
        struct store_memory *item = find_item(store, near[i].id, found, &r, err);
        if (item != NULL) {
            item->score += 1 / (RANK_BASE + 1 + (double)i);
        }
    }
    return r;
}

int memories_recall(struct store *store, const struct memories_question *question,
                    store_memory_fn *fn, void *context, struct rondo_error *err)
{
    struct found found = {
        .items = memory_new_zero(LIMIT_MEMORY_FOUND + NEAR_MAX, sizeof(*found.items)),
        .now_ns = question->now_ns,
    };
    int r = find_by_words(store, question, &found, err);
    if (r == 0 && question->vectors != NULL) {
        r = fuse(store, question, &found, err);
    }
    if (r == 0) {
        give(&found, question->top, fn, context);
    }
    free_found(&found);
    return r;
}
