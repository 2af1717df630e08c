// SPDX-License-Identifier: Apache-2.0
/*
 * Memories, as a store keeps them: what an agent knows across its runs. The store finds memories by
 * their owner, kind, age and words; what is worth remembering, and how results are weighted, is
 * decided above (memory/memory.h). Part of store.h, whose promises and thread rules hold.
 */
#pragma once

#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Kinds of memories. The numbers are kept in stores. */
enum store_memory_kind {
    STORE_EPISODIC = 0,   /**< what happened */
    STORE_SEMANTIC = 1,   /**< facts */
    STORE_PROCEDURAL = 2, /**< how something is done */
    STORE_MEMORY_KIND_COUNT
};

/** One memory. Texts are not NULL. */
struct store_memory {
    int64_t id;        /**< from reserve_memories; never used again */
    const char *owner; /**< the agent, or the name by which agents share memories */
    enum store_memory_kind kind;
    int64_t created_ns;
    int64_t consolidated_ns; /**< when facts were derived from it; 0 = not yet */
    const char *category;
    const char *run_id; /**< "" = none */
    uint64_t iteration;
    const char *source;   /**< what stored it: a tool's name, "finish_task", "import", ... */
    const char *metadata; /**< JSON object */
    const char *content;
    const char *grams; /**< further words by which it is found; not given when reading */
    double score;      /**< of a search: higher is better; else 0 */
    /** The vector of the content, as the layer above encodes it, and the model that made it. Given
     *  when reading vectors, which gives of the rest only id, kind and created_ns. */
    const void *vector;
    size_t vector_len;
    const char *vector_model;
};

enum store_memory_change_kind {
    STORE_MEMORY_ADD = 0,     /**< `memory`; one with its id that is there already stays */
    STORE_MEMORY_FORGET,      /**< the one with memory.id; if it is not there, nothing happens */
    STORE_MEMORY_CONSOLIDATE, /**< the one with memory.id gets memory.consolidated_ns */
    STORE_MEMORY_EMBED,       /**< the one with memory.id gets memory.vector, in place of another */
    STORE_MEMORY_PRUNE,       /**< of memory.owner and memory.kind only the `keep` newest stay */
};

struct store_memory_change {
    enum store_memory_change_kind kind;
    struct store_memory memory;
    uint64_t keep;
};

/** A word of a search: memories with the word or with one that begins like it are found. */
struct store_memory_word {
    const char *text;      /**< letters and digits */
    const char *beginning; /**< or NULL */
};

/** What to read of vectors. */
enum store_vectors {
    STORE_VECTORS_NONE = 0,
    STORE_VECTORS_GIVEN,   /**< those of vector_model (NULL = of any), in the order of ids */
    STORE_VECTORS_MISSING, /**< memories that have none of vector_model, in the order of ids */
};

/** Which memories to read. */
struct store_memory_query {
    int64_t id;                            /**< exactly this one; 0 = all that the rest selects */
    const char *owner;                     /**< NULL = of all */
    uint32_t kinds;                        /**< one bit for each kind; 0 = all */
    const char *category;                  /**< or NULL */
    bool only_unconsolidated;              /**< not for a search */
    bool is_oldest_first;                  /**< else newest first; not for a search */
    const struct store_memory_word *words; /**< a search by any of them, best first; or NULL */
    size_t word_count;
    enum store_vectors vectors; /**< not for a search; then all but owner, kinds,
                                     category and limit is ignored of the rest */
    const char *vector_model;
    int64_t after_id; /**< of vectors: only ids after this one */
    uint32_t limit;   /**< 0 = all; a search gives at most LIMIT_MEMORY_FOUND */
};

/** Return false to end the reading. */
typedef bool store_memory_fn(const struct store_memory *memory, void *context);
