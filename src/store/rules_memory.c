// SPDX-License-Identifier: Apache-2.0
/* Which memories and searches for them are refused. Pure functions; any thread. */
#include "base/error.h"
#include "base/json/json.h"
#include "store/rules.h"

#include <string.h>

static int check_part(const char *what, const char *text, size_t low, size_t high,
                      struct rondo_error *err)
{
    if (text == NULL || strnlen(text, low) < low) {
        return error_set(err, RONDO_ERR_INVALID, "%s of a memory is missing", what);
    }
    if (strnlen(text, high + 1) > high) {
        return error_set(err, RONDO_ERR_LIMIT, "%s of a memory is longer than %zu bytes", what,
                         high);
    }
    return 0;
}

int rules_check_memory_owner(const char *owner, struct rondo_error *err)
{
    return check_part("the owner", owner, 1, LIMIT_MEMORY_OWNER_LEN, err);
}

static int check_memory(const struct store_memory *memory, struct rondo_error *err)
{
    const struct {
        const char *what;
        const char *text;
        size_t low;
        size_t high;
    } parts[] = {
        {"the category", memory->category, 1, LIMIT_MEMORY_CATEGORY_LEN},
        {"the run", memory->run_id, 0, ID_SIZE - 1},
        {"the source", memory->source, 1, LIMIT_MEMORY_SOURCE_LEN},
        {"the metadata", memory->metadata, 2, LIMIT_MEMORY_METADATA_BYTES},
        {"the content", memory->content, 1, LIMIT_MEMORY_BYTES},
        {"the list of further words", memory->grams, 0, LIMIT_MEMORY_GRAMS_BYTES},
    };
    int r = rules_check_memory_owner(memory->owner, err);
    for (size_t i = 0; r == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        r = check_part(parts[i].what, parts[i].text, parts[i].low, parts[i].high, err);
    }
    if (r == 0 && (memory->id <= 0 || memory->created_ns < 0 || memory->consolidated_ns < 0 ||
                   memory->iteration >= INT64_MAX)) {
        r = error_set(err, RONDO_ERR_INVALID, "a number of a memory is out of range");
    }
    if (r == 0 && json_parse(memory->metadata, strlen(memory->metadata), NULL, NULL) < 0) {
        r = error_set(err, RONDO_ERR_INVALID, "the metadata of a memory is not JSON");
    }
    return r;
}

static int check_vector(const struct store_memory *memory, struct rondo_error *err)
{
    if (memory->vector == NULL || memory->vector_len == 0) {
        return error_set(err, RONDO_ERR_INVALID, "the vector of a memory is missing");
    }
    if (memory->vector_len > LIMIT_MEMORY_VECTOR_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "the vector of a memory is longer than %ld bytes",
                         LIMIT_MEMORY_VECTOR_BYTES);
    }
    return check_part("the model", memory->vector_model, 1, LIMIT_MEMORY_MODEL_LEN, err);
}

static int check_change(const struct store_memory_change *change, struct rondo_error *err)
{
    if ((unsigned)change->memory.kind >= STORE_MEMORY_KIND_COUNT) {
        return error_set(err, RONDO_ERR_INVALID, "there is no such kind of memory");
    }
    switch (change->kind) {
    case STORE_MEMORY_ADD:
        return check_memory(&change->memory, err);
    case STORE_MEMORY_PRUNE:
        return rules_check_memory_owner(change->memory.owner, err);
    case STORE_MEMORY_CONSOLIDATE:
        return change->memory.consolidated_ns > 0
                   ? 0
                   : error_set(err, RONDO_ERR_INVALID, "the time of a memory is missing");
    case STORE_MEMORY_EMBED:
        return check_vector(&change->memory, err);
    case STORE_MEMORY_FORGET:
        return 0;
    }
    return 0;
}

int rules_check_memories(const struct store_memory_change *changes, size_t count,
                         struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = check_change(&changes[i], err);
    }
    return r;
}

/** Letters, digits and bytes beyond ASCII: nothing that means something in an expression. */
static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x80 && !(byte >= '0' && byte <= '9') && !(byte >= 'a' && byte <= 'z') &&
            !(byte >= 'A' && byte <= 'Z')) {
            return false;
        }
    }
    return true;
}

int rules_check_memory_words(const struct store_memory_query *query, struct rondo_error *err)
{
    if (query->word_count > LIMIT_MEMORY_WORDS) {
        return error_set(err, RONDO_ERR_LIMIT, "a search has more than %d words",
                         LIMIT_MEMORY_WORDS);
    }
    for (size_t i = 0; i < query->word_count; i++) {
        const struct store_memory_word *word = &query->words[i];
        size_t len = strnlen(word->text, LIMIT_MEMORY_WORD_BYTES + 1);
        if (len == 0 || len > LIMIT_MEMORY_WORD_BYTES || !is_plain(word->text) ||
            (word->beginning != NULL && (word->beginning[0] == '\0' || !is_plain(word->beginning) ||
                                         strlen(word->beginning) > len))) {
            return error_set(err, RONDO_ERR_INVALID, "word %zu of a search is not a word", i + 1);
        }
    }
    return 0;
}
