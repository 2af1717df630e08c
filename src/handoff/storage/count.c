// SPDX-License-Identifier: Apache-2.0
/* Counting what waits. */
#include "handoff/storage/count.h"

#include "base/digest.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "store/store.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

const char *handoff_on_full_name(enum handoff_on_full on_full)
{
    static const char *const names[ON_FULL_COUNT] = {"block", "reject_new", "shed_oldest_low"};
    return names[on_full];
}

/** A lane belongs to its agent, whatever another one calls its own. */
static void name_lane(const char *agent_id, const char *lane_id, char *ret_key, size_t size)
{
    char hex[DIGEST_HEX_SIZE];
    unsigned char bytes[DIGEST_SIZE];
    struct digest hash = digest_begin();
    digest_add(&hash, agent_id, strlen(agent_id) + 1);
    digest_add(&hash, lane_id, strlen(lane_id));
    digest_finish(&hash, bytes);
    digest_hex(bytes, hex);
    snprintf(ret_key, size, "lane/%s", hex);
}

static void name_all(const char *agent_id, const char *lane_id, struct handoff_counts *counts)
{
    size_t size = sizeof(counts->keys[0]);
    snprintf(counts->keys[COUNT_STORE], size, "store");
    snprintf(counts->keys[COUNT_AGENT], size, "agent/%s", agent_id);
    name_lane(agent_id, lane_id, counts->keys[COUNT_LANE], size);
}

/** One number on its way out of a document. */
struct count_document {
    int64_t version;
    int64_t waiting;
};

static bool take_number(const struct store_document *document, void *context)
{
    struct count_document *counted = context;
    auto_json struct json_object *root = NULL;
    counted->version = (int64_t)document->version;
    if (json_parse(document->data, document->data_len, &root, NULL) == 0) {
        counted->waiting = json_get_int(root, "waiting", 0);
    }
    return false;
}

/* ---- A store that an older version wrote ---------------------------------------------------- */

struct count_tally {
    UT_hash_handle hh;
    char key[HANDOFF_NAME_SIZE + 16];
    int64_t waiting;
    char data[64];
};

struct handoff_tallies {
    struct count_tally *all;
};

static struct count_tally *find_tally(struct handoff_tallies *tallies, const char *key)
{
    struct count_tally *tally = NULL;
    HASH_FIND_STR(tallies->all, key, tally);
    if (tally == NULL) {
        tally = memory_new_zero(1, sizeof(*tally));
        snprintf(tally->key, sizeof(tally->key), "%s", key);
        HASH_ADD_STR(tallies->all, key, tally);
    }
    return tally;
}

struct handoff_tallies *handoff_tallies_new(void)
{
    struct handoff_tallies *tallies = memory_new_zero(1, sizeof(*tallies));
    (void)find_tally(tallies, "store");
    return tallies;
}

void handoff_tallies_add(struct handoff_tallies *tallies, const struct handoff *handoff)
{
    struct handoff_counts counts;
    if (handoff_is_waiting(handoff)) {
        name_all(handoff->agent_id, handoff->lane_id, &counts);
        for (int i = 0; i < COUNT_KINDS; i++) {
            find_tally(tallies, counts.keys[i])->waiting++;
        }
    }
}

static void handoff_tallies_free(struct handoff_tallies *tallies)
{
    struct count_tally *tally = NULL;
    struct count_tally *next = NULL;
    HASH_ITER(hh, tallies->all, tally, next)
    {
        HASH_DEL(tallies->all, tally);
        free(tally);
    }
    free(tallies);
}

int handoff_tallies_write(struct handoff_tallies *tallies, struct store *store,
                          struct rondo_error *err)
{
    size_t count = 0;
    bool is_applied = false;
    struct store_change *changes = memory_new_zero(HASH_COUNT(tallies->all) + 1, sizeof(*changes));
    for (struct count_tally *tally = tallies->all; tally != NULL; tally = tally->hh.next) {
        int len =
            snprintf(tally->data, sizeof(tally->data), "{\"waiting\":%" PRId64 "}", tally->waiting);
        changes[count++] = (struct store_change){.collection = HANDOFF_COUNT_COLLECTION,
                                                 .key = tally->key,
                                                 .data = tally->data,
                                                 .data_len = (size_t)len};
    }
    int r = store->ops->change_documents(store, changes, count, &is_applied, err);
    free(changes);
    handoff_tallies_free(tallies);
    return r;
}

/* ---- Reading -------------------------------------------------------------------------------- */

int handoff_count_read(struct store *store, const char *agent_id, const char *lane_id,
                       struct handoff_counts *ret_counts, struct rondo_error *err)
{
    int r = 0;
    name_all(agent_id, lane_id, ret_counts);
    for (int i = 0; i < COUNT_KINDS && r == 0; i++) {
        struct count_document counted = {0};
        struct store_document_query query = {.collection = HANDOFF_COUNT_COLLECTION,
                                             .key = ret_counts->keys[i]};
        r = store->ops->read_documents(store, &query, take_number, &counted, err);
        ret_counts->versions[i] = counted.version;
        ret_counts->waiting[i] = counted.waiting;
    }
    return r;
}

/** Places for an action of a risk. */
static int64_t places(uint32_t bound, enum handoff_level risk)
{
    return risk == HANDOFF_CRITICAL ? bound : bound - bound * LIMIT_HANDOFFS_KEPT / 100;
}

bool handoff_count_has_room(const struct handoff_counts *counts,
                            const struct handoff_bounds *bounds, enum handoff_level risk)
{
    return counts->waiting[COUNT_STORE] < places(bounds->per_store, risk) &&
           counts->waiting[COUNT_AGENT] < places(bounds->per_agent, risk) &&
           counts->waiting[COUNT_LANE] < bounds->per_lane;
}
