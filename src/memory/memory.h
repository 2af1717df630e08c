// SPDX-License-Identifier: Apache-2.0
/*
 * Memories of agents: episodic (what happened), semantic (facts) and procedural (how something
 * is done). A memory belongs to an agent, or to a name under which several agents share memories.
 * The store keeps them (store/memories.h), so that any back end serves; here is what is the same
 * for all of them: secrets are redacted before anything is stored, sizes and numbers are bounded,
 * and what a search found is weighted by kind and age.
 *
 * Threads: as those of the store; nothing here has a state of its own.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"
#include "store/store.h"

struct json_object;
struct redact;
struct vectors;

/** Memories of one kind that an owner keeps when nothing else is said. */
#define MEMORIES_KEPT 100000
/** Results of a recall when nothing else is said. */
#define MEMORIES_TOP 5

/** @return "episodic", "semantic" or "procedural"; static */
const char *memories_kind_name(enum store_memory_kind kind);
/** @return whether there is such a kind */
bool memories_kind_from_name(const char *name, enum store_memory_kind *ret_kind);

/** Bytes of a category, the NUL included. */
#define MEMORIES_CATEGORY_SIZE (LIMIT_MEMORY_CATEGORY_LEN + 1)

/**
 * A category as it is stored: lower case, anything but letters of ASCII and digits becomes one "_",
 * none at the ends; "general" when nothing is left. What is too long is cut.
 * @param ret_category MEMORIES_CATEGORY_SIZE bytes
 */
void memories_category(const char *text, char *ret_category);

/** A memory that is ready to be stored. */
struct memories_item {
    struct store_memory memory; /**< its texts are those below, or static */
    char *owner;
    char *content;
    char *metadata;
    char *grams;
    char category[MEMORIES_CATEGORY_SIZE];
    char run_id[ID_SIZE];
    char source[LIMIT_MEMORY_SOURCE_LEN + 1];
};

/**
 * Make a memory ready: check its sizes, redact secrets, bring the category into its form, reserve
 * an id. Nothing is stored but that the id was given.
 * @param redact NULL = tokens are recognised by their shapes only
 * @param given  id and grams are ignored; category and run_id may be NULL, metadata too ("{}")
 * @param ret_item memories_item_fini()
 * @return 0; RONDO_ERR_INVALID when the content is empty, RONDO_ERR_LIMIT when something is too
 * long; or the store's error
 */
int memories_prepare(struct store *store, const struct redact *redact,
                     const struct store_memory *given, struct memories_item *ret_item,
                     struct rondo_error *err);
/** The same with an id that was reserved before. */
int memories_prepare_as(int64_t id, const struct redact *redact, const struct store_memory *given,
                        struct memories_item *ret_item, struct rondo_error *err);
void memories_item_fini(struct memories_item *item);

/** Changes that store an item and prune its kind: two of them. The item must outlive them. */
#define MEMORIES_CHANGES 2
void memories_changes(const struct memories_item *item, uint64_t keep,
                      struct store_memory_change *ret_changes);

/** Store one memory, durably. @param keep memories of its kind that stay: the newest */
int memories_add(struct store *store, const struct redact *redact, const struct store_memory *given,
                 uint64_t keep, int64_t *ret_id, struct rondo_error *err);

/** Delete memories by id. @param ret_count how many there were */
int memories_forget(struct store *store, const int64_t *ids, size_t count, uint64_t *ret_count,
                    struct rondo_error *err);

/** A question to memories. */
struct memories_question {
    const char *owner; /**< NULL = of all */
    const char *text;  /**< words in any language */
    uint32_t kinds;    /**< one bit for each; 0 = all */
    const char *category;
    uint32_t top; /**< at most LIMIT_MEMORY_FOUND */
    int64_t now_ns;
    struct vectors *vectors; /**< by meaning too (memory/vectors.h); NULL = by words only */
};

/**
 * Find memories by words, and by vectors where there are any, best first: the two orders count
 * alike (reciprocal rank fusion). Their score is 1 for a perfect place in the order, less for
 * what matches less, is older or only an episode.
 */
int memories_recall(struct store *store, const struct memories_question *question,
                    store_memory_fn *fn, void *context, struct rondo_error *err);

/** Append a memory as a JSON object, as export and the API have it. @param score below 0 = none */
void memories_write_json(const struct store_memory *memory, double score, struct buf *ret_json);

/** What an import did. */
struct memories_imported {
    uint64_t added;
    uint64_t known;   /**< the owner had them already */
    uint64_t refused; /**< empty, too long or malformed */
};

/**
 * Take memories in: a file that export wrote (a JSON object on each line), or an SQLite store of
 * InitRunner. The file may be hostile: its size, rows and computing time are bounded, and nothing
 * in it runs.
 * @param owner who gets them; NULL = as the file says (then it must be one of export)
 * @return 0; RONDO_ERR_INVALID when it is neither, RONDO_ERR_LIMIT when it is too large
 */
int memories_import(struct store *store, const struct redact *redact, const char *path,
                    const char *owner, struct memories_imported *ret_imported,
                    struct rondo_error *err);
