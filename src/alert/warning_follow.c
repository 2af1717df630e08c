// SPDX-License-Identifier: Apache-2.0
/*
 * Warnings as they come. Ids begin with the position that their maker had reached, in 20 digits. A
 * later one may have a smaller id all the same: of several silent runs at one position, or of a
 * test, which is made where the journal ends, while the monitor is not there yet. So the newest
 * ones are looked at again each time, and their ids are remembered.
 */
#include "alert/warning_follow.h"

#include "alert/warning.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** Positions after the newest warning in which one may still come. */
#define LOOK_BACK 1000
/** Bytes of a key by position. */
#define FLOOR_SIZE 21

struct seen_warning {
    char id[WARNING_ID_SIZE];
    uint64_t position;
    UT_hash_handle hh;
};

struct warning_follow {
    struct seen_warning *seen; /* by id, in the order in which they were seen */
    uint64_t newest;           /* position of the newest one */
};

struct warning_follow *warning_follow_new(void)
{
    return memory_new_zero(1, sizeof(struct warning_follow));
}

static void forget(struct warning_follow *follow, uint64_t below)
{
    struct seen_warning *seen;
    struct seen_warning *next;
    HASH_ITER(hh, follow->seen, seen, next)
    {
        if (seen->position < below) {
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
            HASH_DEL(follow->seen, seen);
            free(seen);
        }
    }
}

void warning_follow_free(struct warning_follow *follow)
{
    if (follow != NULL) {
        forget(follow, UINT64_MAX);
        free(follow);
    }
}

static uint64_t floor_of(const struct warning_follow *follow)
{
    return follow->newest > LOOK_BACK ? follow->newest - LOOK_BACK : 0;
}

/** @return whether it is new */
static bool add_seen(struct warning_follow *follow, const char *id)
{
    struct seen_warning *seen = NULL;
    HASH_FIND_STR(follow->seen, id, seen);
    if (seen != NULL) {
        return false;
    }
    seen = memory_new_zero(1, sizeof(*seen));
    snprintf(seen->id, sizeof(seen->id), "%s", id);
    seen->position = strtoull(id, NULL, 10);
    follow->newest = seen->position > follow->newest ? seen->position : follow->newest;
    HASH_ADD_STR(follow->seen, id, seen);
    return true;
}

struct follow_call {
    struct warning_follow *follow;
    warning_fn *fn;
    void *context;
};

static bool pass_document(const struct store_document *document, void *context)
{
    const struct follow_call *follow_call = context;
    return !add_seen(follow_call->follow, document->key) ||
           follow_call->fn(document->key, document->data, follow_call->context);
}

int warning_follow_next(struct warning_follow *follow, struct store *store, warning_fn *fn,
                        void *context, struct rondo_error *err)
{
    char floor[FLOOR_SIZE];
    struct follow_call follow_call = {follow, fn, context};
    snprintf(floor, sizeof(floor), "%020" PRIu64, floor_of(follow));
    struct store_document_query query = {.collection = WARNING_COLLECTION, .after = floor};
    int r = store->ops->read_documents(store, &query, pass_document, &follow_call, err);
    forget(follow, floor_of(follow));
    return r;
}

static bool keep_newest(const struct store_document *document, void *context)
{
    struct warning_follow *follow = context;
    follow->newest = strtoull(document->key, NULL, 10);
    return false;
}

static bool pass(const char *id, const char *json, void *context)
{
    (void)id;
    (void)json;
    (void)context;
    return true;
}

int warning_follow_skip(struct warning_follow *follow, struct store *store, struct rondo_error *err)
{
    struct store_document_query query = {
        .collection = WARNING_COLLECTION,
        .is_descending = true,
        .limit = 1,
    };
    int r = store->ops->read_documents(store, &query, keep_newest, follow, err);
    return r < 0 ? r : warning_follow_next(follow, store, pass, NULL, err);
}
