// SPDX-License-Identifier: Apache-2.0
/* Making memories ready, storing and forgetting them, and their form in JSON. */
#include "memory/memory.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/redact.h"
#include "memory/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Ids that are forgotten in one transaction. */
#define FORGET_STEP 64

static const char *const kind_names[STORE_MEMORY_KIND_COUNT] = {
    [STORE_EPISODIC] = "episodic",
    [STORE_SEMANTIC] = "semantic",
    [STORE_PROCEDURAL] = "procedural",
};

const char *memories_kind_name(enum store_memory_kind kind)
{
    return kind_names[kind];
}

bool memories_kind_from_name(const char *name, enum store_memory_kind *ret_kind)
{
    for (int i = 0; i < STORE_MEMORY_KIND_COUNT; i++) {
        if (strcmp(kind_names[i], name) == 0) {
            *ret_kind = (enum store_memory_kind)i;
            return true;
        }
    }
    return false;
}

void memories_category(const char *text, char *ret_category)
{
    size_t len = 0;
    for (; *text != '\0' && len < LIMIT_MEMORY_CATEGORY_LEN; text++) {
        if (ascii_is_letter_or_digit(*text)) {
            ret_category[len++] = ascii_lower(*text);
        } else if (len > 0 && ret_category[len - 1] != '_') {
            ret_category[len++] = '_';
        }
    }
    while (len > 0 && ret_category[len - 1] == '_') {
        len--;
    }
    ret_category[len] = '\0';
    if (len == 0) {
        memcpy(ret_category, "general", sizeof("general"));
    }
}

static int check_size(const char *what, const char *text, size_t limit, struct rondo_error *err)
{
    return strnlen(text, limit + 1) <= limit
               ? 0
               : error_set(err, RONDO_ERR_LIMIT, "%s is longer than %zu bytes", what, limit);
}

/** Refuse what does not fit, before anything is copied. */
static int check_given(const struct store_memory *given, struct rondo_error *err)
{
    if (given->content[strspn(given->content, " \t\r\n")] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "the memory is empty");
    }
    int r = check_size("the memory", given->content, LIMIT_MEMORY_BYTES, err);
    if (r == 0 && given->metadata != NULL) {
        r = check_size("the metadata", given->metadata, LIMIT_MEMORY_METADATA_BYTES, err);
    }
    if (r == 0) {
        r = check_size("the source", given->source, LIMIT_MEMORY_SOURCE_LEN, err);
    }
    if (r == 0 && given->run_id != NULL) {
        r = check_size("the run", given->run_id, ID_SIZE - 1, err);
    }
    return r;
}

/** A text without secrets. Redaction may make it longer; then its end is cut. @return owned */
static char *redacted(const struct redact *redact, const char *text, size_t limit)
{
    struct buf clean = {0};
    redact_text(redact, text, strlen(text), &clean);
    char *result = buf_steal(&clean);
    size_t len = strlen(result);
    if (len > limit) {
        len = limit;
        while (len > 0 && ((unsigned char)result[len] & 0xc0) == 0x80) {
            len--;
        }
        result[len] = '\0';
    }
    return result;
}

/** Metadata without secrets; what is no JSON object (any more) is left out. @return owned */
static char *redacted_metadata(const struct redact *redact, const char *text)
{
    char *clean = redacted(redact, text, LIMIT_MEMORY_METADATA_BYTES);
    if (clean[0] != '{' || json_parse(clean, strlen(clean), NULL, NULL) < 0) {
        free(clean);
        clean = memory_dup_string("{}");
    }
    return clean;
}

static void fill_item(const struct redact *redact, const struct store_memory *given, int64_t id,
                      struct memories_item *item)
{
    struct buf grams = {0};
    item->owner = memory_dup_string(given->owner);
    item->content = redacted(redact, given->content, LIMIT_MEMORY_BYTES);
    item->metadata = redacted_metadata(redact, given->metadata != NULL ? given->metadata : "{}");
    words_write_grams(item->content, &grams);
    item->grams = buf_steal(&grams);
    memories_category(given->category != NULL ? given->category : "", item->category);
    snprintf(item->run_id, sizeof(item->run_id), "%s", given->run_id != NULL ? given->run_id : "");
    snprintf(item->source, sizeof(item->source), "%s", given->source);
    item->memory = *given;
    item->memory.id = id;
    item->memory.owner = item->owner;
    item->memory.content = item->content;
    item->memory.metadata = item->metadata;
    item->memory.grams = item->grams;
    item->memory.category = item->category;
    item->memory.run_id = item->run_id;
    item->memory.source = item->source;
}

int memories_prepare_as(int64_t id, const struct redact *redact, const struct store_memory *given,
                        struct memories_item *ret_item, struct rondo_error *err)
{
    int r = check_given(given, err);
    if (r == 0) {
        *ret_item = (struct memories_item){0};
        fill_item(redact, given, id, ret_item);
    }
    return r;
}

int memories_prepare(struct store *store, const struct redact *redact,
                     const struct store_memory *given, struct memories_item *ret_item,
                     struct rondo_error *err)
{
    int64_t id = 0;
    int r = check_given(given, err);
    if (r == 0) {
        r = store->ops->reserve_memories(store, given->owner, 1, &id, err);
    }
    return r < 0 ? r : memories_prepare_as(id, redact, given, ret_item, err);
}

void memories_item_fini(struct memories_item *item)
{
    free(item->owner);
    free(item->content);
    free(item->metadata);
    free(item->grams);
    *item = (struct memories_item){0};
}

void memories_changes(const struct memories_item *item, uint64_t keep,
                      struct store_memory_change *ret_changes)
{
    ret_changes[0] = (struct store_memory_change){.kind = STORE_MEMORY_ADD, .memory = item->memory};
    ret_changes[1] = (struct store_memory_change){
        .kind = STORE_MEMORY_PRUNE, .memory = item->memory, .keep = keep};
}

int memories_add(struct store *store, const struct redact *redact, const struct store_memory *given,
                 uint64_t keep, int64_t *ret_id, struct rondo_error *err)
{
    struct memories_item item;
    struct store_memory_change changes[MEMORIES_CHANGES];
    uint64_t changed = 0;
    int r = memories_prepare(store, redact, given, &item, err);
    if (r < 0) {
        return r;
    }
    memories_changes(&item, keep, changes);
    r = store->ops->change_memories(store, changes, MEMORIES_CHANGES, &changed, err);
    if (r == 0) {
        *ret_id = item.memory.id;
    }
    memories_item_fini(&item);
    return r;
}

int memories_forget(struct store *store, const int64_t *ids, size_t count, uint64_t *ret_count,
                    struct rondo_error *err)
{
    uint64_t forgotten = 0;
    int r = 0;
    while (r == 0 && count > 0) {
        struct store_memory_change changes[FORGET_STEP];
        size_t step = count < FORGET_STEP ? count : FORGET_STEP;
        uint64_t changed = 0;
        for (size_t i = 0; i < step; i++) {
            changes[i] =
                (struct store_memory_change){.kind = STORE_MEMORY_FORGET, .memory = {.id = ids[i]}};
        }
        r = store->ops->change_memories(store, changes, step, &changed, err);
        forgotten += r == 0 ? changed : 0;
        ids += step;
        count -= step;
    }
    if (r == 0) {
        *ret_count = forgotten;
    }
    return r;
}

void memories_write_json(const struct store_memory *memory, double score, struct buf *ret_json)
{
    char number[32];
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "id", memory->id);
    json_write_string(&writer, "agent", memory->owner);
    json_write_string(&writer, "kind", memories_kind_name(memory->kind));
    json_write_string(&writer, "category", memory->category);
    json_write_string(&writer, "content", memory->content);
    if (score >= 0) {
        snprintf(number, sizeof(number), "%.3f", score);
        json_write_raw(&writer, "score", number);
    }
    json_write_raw(&writer, "metadata", memory->metadata);
    json_write_string(&writer, "run_id", memory->run_id[0] == '\0' ? NULL : memory->run_id);
    json_write_int(&writer, "iteration", (int64_t)memory->iteration);
    json_write_string(&writer, "source", memory->source);
    json_write_time(&writer, "created", memory->created_ns);
    json_write_time(&writer, "consolidated", memory->consolidated_ns);
    json_end_object(&writer);
}
