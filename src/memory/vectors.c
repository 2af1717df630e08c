// SPDX-License-Identifier: Apache-2.0
#include "memory/vectors.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/memory.h"
#include "model/compact_vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Time for one request. */
#define REQUEST_NS (INT64_C(10) * NS_PER_S)
/** Time for missing vectors before a search. */
#define FILL_NS (INT64_C(5) * NS_PER_S)
/** An endpoint that has failed is not asked for so long. */
#define PAUSE_NS (INT64_C(60) * NS_PER_S)

struct vectors {
    struct vectors_options options;
    char *model;
    struct cancel *cancel;
    int64_t filled_up_to; /* memories with ids up to this one have vectors */
    int64_t pause_until_ns;
    char problem[RONDO_ERROR_MESSAGE_SIZE];
};

struct vectors *vectors_new(const struct vectors_options *options)
{
    struct vectors *vectors = memory_new_zero(1, sizeof(*vectors));
    vectors->options = *options;
    vectors->model = memory_dup_string(options->model);
    return vectors;
}

void vectors_free(struct vectors *vectors)
{
    if (vectors != NULL) {
        free(vectors->model);
        free(vectors);
    }
}

void vectors_set_cancel(struct vectors *vectors, struct cancel *cancel)
{
    vectors->cancel = cancel;
}

const char *vectors_problem(const struct vectors *vectors)
{
    return vectors->problem;
}

/** Whether the endpoint may be asked. */
static bool is_up(struct vectors *vectors)
{
    if (vectors->problem[0] != '\0' &&
        clock_monotonic(vectors->options.clock) >= vectors->pause_until_ns) {
        vectors->problem[0] = '\0';
    }
    return vectors->problem[0] == '\0';
}

/** Ask for vectors. @return whether they came; else problem says why */
static bool embed(struct vectors *vectors, const char *const *texts, size_t count,
                  struct buf *ret_vectors)
{
    const struct vectors_options *options = &vectors->options;
    struct buf floats[VECTORS_BATCH] = {0};
    struct rondo_error err = {0};
    int r =
        options->embed(options->context, texts, count, REQUEST_NS, vectors->cancel, floats, &err);
    for (size_t i = 0; i < count; i++) {
        if (r == 0) {
            compact_vector_write(&floats[i], &ret_vectors[i]);
        }
        buf_fini(&floats[i]);
    }
    if (r < 0) {
        snprintf(vectors->problem, sizeof(vectors->problem), "%s", err.message);
        vectors->pause_until_ns = clock_monotonic(options->clock) + PAUSE_NS;
    }
    return r == 0;
}

/* ---- Missing vectors ------------------------------------------------------------------------- */

struct missing {
    int64_t ids[VECTORS_BATCH];
    char *texts[VECTORS_BATCH];
    size_t count;
};

static bool gather(const struct store_memory *memory, void *context)
{
    struct missing *missing = context;
    missing->ids[missing->count] = memory->id;
    missing->texts[missing->count++] = memory_dup_string(memory->content);
    return missing->count < VECTORS_BATCH;
}

/** A text that gives no vector gets one that is near to nothing, or it would be asked for again. */
static int store_vectors(struct vectors *vectors, struct store *store,
                         const struct missing *missing, const struct buf *bytes,
                         struct rondo_error *err)
{
    struct store_memory_change changes[VECTORS_BATCH];
    uint64_t changed = 0;
    for (size_t i = 0; i < missing->count; i++) {
        bool is_empty = bytes[i].len == 0 || bytes[i].len > (size_t)LIMIT_MEMORY_VECTOR_BYTES;
        changes[i] = (struct store_memory_change){
            .kind = STORE_MEMORY_EMBED,
            .memory = {.id = missing->ids[i],
                       .vector = is_empty ? "" : bytes[i].data,
                       .vector_len = is_empty ? 1 : bytes[i].len,
                       .vector_model = vectors->model},
        };
    }
    return store->ops->change_memories(store, changes, missing->count, &changed, err);
}

/** @return how many were missing, 0 also when the endpoint fails; or a negative code */
static int fill_batch(struct vectors *vectors, struct store *store, const char *owner,
                      struct rondo_error *err)
{
    struct missing missing = {0};
    struct buf bytes[VECTORS_BATCH] = {0};
    const struct store_memory_query query = {
        .owner = owner,
        .vectors = STORE_VECTORS_MISSING,
        .vector_model = vectors->model,
        .after_id = vectors->filled_up_to,
        .limit = VECTORS_BATCH,
    };
    int r = store->ops->read_memories(store, &query, gather, &missing, err);
    bool has_come = r == 0 && missing.count > 0 &&
                    embed(vectors, (const char *const *)missing.texts, missing.count, bytes);
    if (has_come) {
        r = store_vectors(vectors, store, &missing, bytes, err);
    }
    if (has_come && r == 0) {
        vectors->filled_up_to = missing.ids[missing.count - 1];
        r = (int)missing.count;
    }
    for (size_t i = 0; i < missing.count; i++) {
        free(missing.texts[i]);
        buf_fini(&bytes[i]);
    }
    return r;
}

int vectors_fill(struct vectors *vectors, struct store *store, const char *owner,
                 struct rondo_error *err)
{
    int64_t end_ns = clock_monotonic(vectors->options.clock) + FILL_NS;
    int r = VECTORS_BATCH;
    while (r == VECTORS_BATCH && is_up(vectors) && !cancel_is_set(vectors->cancel) &&
           clock_monotonic(vectors->options.clock) < end_ns) {
        r = fill_batch(vectors, store, owner, err);
    }
    return r < 0 ? r : 0;
}

/* ---- Search ---------------------------------------------------------------------------------- */

struct nearest {
    const char *question;
    size_t len;
    double norm; /* of the question */
    int64_t now_ns;
    double (*weigh)(const struct store_memory *memory, int64_t now_ns);
    struct vectors_near *near;
    size_t top;
    size_t count;
};

/** Enter one in the list, which is in order. */
static void enter(struct nearest *nearest, struct vectors_near near)
{
    size_t at = nearest->count;
    if (nearest->count == nearest->top && near.nearness <= nearest->near[at - 1].nearness) {
        return;
    }
    at = nearest->count < nearest->top ? nearest->count++ : at - 1;
    for (; at > 0 && nearest->near[at - 1].nearness < near.nearness; at--) {
        nearest->near[at] = nearest->near[at - 1];
    }
    nearest->near[at] = near;
}

static bool compare(const struct store_memory *memory, void *context)
{
    struct nearest *nearest = context;
    if (memory->vector_len != nearest->len) {
        return true;
    }
    double nearness =
        compact_vector_nearness(memory->vector, nearest->question, nearest->len, nearest->norm);
    if (nearness > 0) {
        double weight = nearest->weigh(memory, nearest->now_ns);
        enter(nearest,
              (struct vectors_near){.id = memory->id, .nearness = nearness * weight * weight});
    }
    return true;
}

int vectors_search(struct vectors *vectors, struct store *store,
                   const struct memories_question *question,
                   double (*weigh)(const struct store_memory *memory, int64_t now_ns), size_t top,
                   struct vectors_near *ret_near, size_t *ret_count, struct rondo_error *err)
{
    auto_buf struct buf bytes = {0};
    *ret_count = 0;
    if (!is_up(vectors) || !embed(vectors, &question->text, 1, &bytes) || bytes.len == 0) {
        return 0;
    }
    struct nearest nearest = {
        .question = bytes.data,
        .len = bytes.len,
        .norm = compact_vector_norm(bytes.data, bytes.len),
        .now_ns = question->now_ns,
        .weigh = weigh,
        .near = ret_near,
        .top = top,
    };
    const struct store_memory_query query = {
        .owner = question->owner,
        .kinds = question->kinds,
        .category = question->category,
        .vectors = STORE_VECTORS_GIVEN,
        .vector_model = vectors->model,
    };
    int r = store->ops->read_memories(store, &query, compare, &nearest, err);
    *ret_count = r == 0 ? nearest.count : 0;
    return r;
}
