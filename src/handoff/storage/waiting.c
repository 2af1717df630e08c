// SPDX-License-Identifier: Apache-2.0
/* Counts and actions of what waits. */
#include "handoff/storage/change.h"

#include "base/digest.h"
#include "base/json/json.h"
#include "handoff/storage/store.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/* ---- Counts --------------------------------------------------------------------------------- */

static bool tally_one(const struct handoff *handoff, void *context)
{
    handoff_tallies_add(context, handoff);
    return true;
}

int waiting_read_counts(const struct handoff_store *handoffs, const char *agent_id,
                        const char *lane_id, struct handoff_counts *ret_counts,
                        struct rondo_error *err)
{
    int r = handoff_count_read(handoffs->store, agent_id, lane_id, ret_counts, err);
    if (r < 0 || ret_counts->versions[COUNT_STORE] != 0) {
        return r;
    }
    struct handoff_tallies *tallies = handoff_tallies_new();
    r = handoff_read_open(handoffs, tally_one, tallies, err);
    int written = handoff_tallies_write(tallies, handoffs->store, err);
    r = r == RONDO_ERR_CORRUPT ? 0 : r;
    r = r < 0 ? r : written;
    return r < 0 ? r : handoff_count_read(handoffs->store, agent_id, lane_id, ret_counts, err);
}

/** @param more 1 = one more waits; -1 = one less */
static void put_counts(struct handoff_change *change, const struct handoff_counts *counts, int more)
{
    for (int i = 0; i < COUNT_KINDS; i++) {
        int64_t waiting = counts->waiting[i] + more;
        bool is_kept = waiting > 0 || i == COUNT_STORE;
        if (is_kept || counts->versions[i] != 0) {
            buf_printf(handoff_change_put(change, HANDOFF_COUNT_COLLECTION, counts->keys[i],
                                          counts->versions[i]),
                       "{\"waiting\":%" PRId64 "}", waiting > 0 ? waiting : 0);
            if (!is_kept) {
                handoff_change_delete(change);
            }
        }
    }
}

/* ---- Actions -------------------------------------------------------------------------------- */

static void name_action(const char *agent_id, const char *lane_id, const char *action_digest,
                        char ret_key[DIGEST_HEX_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest hash = digest_begin();
    digest_add(&hash, agent_id, strlen(agent_id) + 1);
    digest_add(&hash, lane_id, strlen(lane_id) + 1);
    digest_add(&hash, action_digest, strlen(action_digest));
    digest_finish(&hash, bytes);
    digest_hex(bytes, ret_key);
}

static bool take_id(const struct store_document *document, void *context)
{
    auto_json struct json_object *root = NULL;
    if (json_parse(document->data, document->data_len, &root, NULL) == 0) {
        snprintf(context, ID_SIZE, "%s", json_get_string(root, "request_id", ""));
    }
    return false;
}

/** @param ret_id ID_SIZE bytes; "" = there is none */
static int read_id(struct store *store, const char *key, char *ret_id, struct rondo_error *err)
{
    struct store_document_query query = {.collection = HANDOFF_ACTION_COLLECTION, .key = key};
    ret_id[0] = '\0';
    return store->ops->read_documents(store, &query, take_id, ret_id, err);
}

int waiting_find_same(const struct handoff_store *handoffs, const struct handoff_request *request,
                      struct handoff *ret_handoff, struct rondo_error *err)
{
    char key[DIGEST_HEX_SIZE];
    char id[ID_SIZE];
    if (!request->joins) {
        return 0;
    }
    name_action(request->agent_id, request->lane_id, request->action_digest, key);
    int r = read_id(handoffs->store, key, id, err);
    if (r < 0 || id[0] == '\0') {
        return r;
    }
    r = handoff_read(handoffs, id, ret_handoff, err);
    return r == RONDO_ERR_NOT_FOUND ? 0 : r < 0 ? r : handoff_is_waiting(ret_handoff) ? 1 : 0;
}

/** Nobody joins it any more. */
static int remove_action(struct handoff_change *change, const struct handoff_store *handoffs,
                         const struct handoff *handoff, struct rondo_error *err)
{
    char key[DIGEST_HEX_SIZE];
    char id[ID_SIZE];
    name_action(handoff->agent_id, handoff->lane_id, handoff->action_digest, key);
    int r = read_id(handoffs->store, key, id, err);
    if (r == 0 && strcmp(id, handoff->request_id) == 0) {
        (void)handoff_change_put(change, HANDOFF_ACTION_COLLECTION, key, STORE_ANY_VERSION);
        handoff_change_delete(change);
    }
    return r;
}

void waiting_begin(struct handoff_change *change, const struct handoff_counts *counts,
                   const struct handoff_request *request)
{
    char key[DIGEST_HEX_SIZE];
    put_counts(change, counts, 1);
    if (request->joins) {
        name_action(request->agent_id, request->lane_id, request->action_digest, key);
        struct json_writer writer = json_writer(
            handoff_change_put(change, HANDOFF_ACTION_COLLECTION, key, STORE_ANY_VERSION));
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "request_id", request->request_id);
        json_end_object(&writer);
    }
}

int waiting_change(struct handoff_change *change, const struct handoff_store *handoffs,
                   const struct handoff *before, const struct handoff *handoff,
                   struct rondo_error *err)
{
    struct handoff_counts counts;
    int more = (handoff_is_waiting(handoff) ? 1 : 0) - (handoff_is_waiting(before) ? 1 : 0);
    if (more == 0) {
        return 0;
    }
    int r = waiting_read_counts(handoffs, handoff->agent_id, handoff->lane_id, &counts, err);
    if (r == 0) {
        put_counts(change, &counts, more);
    }
    return r < 0 || more > 0 ? r : remove_action(change, handoffs, handoff, err);
}

/* ---- Making room ---------------------------------------------------------------------------- */

struct shed_search {
    const struct handoff_request *request;
    bool is_lane_full;
    int64_t oldest_ns;
    char *id;
};

static bool take_oldest(const struct handoff_summary *summary, void *context)
{
    struct shed_search *search = context;
    bool is_waiting = summary->state <= HANDOFF_NEEDS_INFO && summary->priority == HANDOFF_LOW;
    bool is_own =
        strcmp(summary->agent_id, search->request->agent_id) == 0 &&
        (!search->is_lane_full || strcmp(summary->lane_id, search->request->lane_id) == 0);
    if (is_waiting && is_own &&
        (search->id[0] == '\0' || summary->requested_ns < search->oldest_ns)) {
        search->oldest_ns = summary->requested_ns;
        memcpy(search->id, summary->request_id, ID_SIZE);
    }
    return true;
}

int waiting_find_shed(const struct handoff_store *handoffs, const struct handoff_request *request,
                      char *ret_id, struct rondo_error *err)
{
    struct handoff_counts counts;
    struct shed_search search = {.request = request, .id = ret_id};
    ret_id[0] = '\0';
    int r = waiting_read_counts(handoffs, request->agent_id, request->lane_id, &counts, err);
    if (r < 0) {
        return r;
    }
    search.is_lane_full = counts.waiting[COUNT_LANE] >= handoffs->bounds->per_lane;
    r = handoff_read_summaries(handoffs, take_oldest, &search, err);
    r = r == RONDO_ERR_CORRUPT ? 0 : r; /* A damaged one makes no room. */
    return r < 0 ? r : ret_id[0] != '\0' ? 1 : 0;
}
