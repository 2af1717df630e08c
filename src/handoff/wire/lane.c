// SPDX-License-Identifier: Apache-2.0
#include "handoff/wire/lane.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/wire/document.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLECTION "lane"
#define KEY_SIZE   (2 * HANDOFF_NAME_SIZE + 2)
#define MOST_TRIES 20

static const char *const names[LANE_STATE_COUNT] = {"running", "paused", "evidence", "halted",
                                                    "done"};

bool lane_state_from_name(const char *name, enum lane_state *ret_state)
{
    for (int i = 0; i < LANE_STATE_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_state = (enum lane_state)i;
            return true;
        }
    }
    return false;
}

static bool has_ended(enum lane_state state)
{
    return state == LANE_HALTED || state == LANE_DONE;
}

/* ---- Documents ------------------------------------------------------------------------------ */

static void name_key(const char *agent_id, const char *lane_id, char *ret_key)
{
    snprintf(ret_key, KEY_SIZE, "%s/%s", agent_id, lane_id);
}

static void encode(const struct lane *lane, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_string(&writer, "agent_id", lane->agent_id);
    json_write_string(&writer, "lane_id", lane->lane_id);
    json_write_string(&writer, "state", names[lane->state]);
    json_write_string(&writer, "request_id", lane->request_id);
    json_write_int(&writer, "created_ns", lane->created_ns);
    json_write_int(&writer, "changed_ns", lane->changed_ns);
    json_end_object(&writer);
}

static int decode(struct json_object *document, struct lane *ret_lane, struct rondo_error *err)
{
    struct lane lane = {
        .created_ns = json_get_int(document, "created_ns", 0),
        .changed_ns = json_get_int(document, "changed_ns", 0),
    };
    snprintf(lane.agent_id, sizeof(lane.agent_id), "%s", json_get_string(document, "agent_id", ""));
    snprintf(lane.lane_id, sizeof(lane.lane_id), "%s", json_get_string(document, "lane_id", ""));
    snprintf(lane.request_id, sizeof(lane.request_id), "%s",
             json_get_string(document, "request_id", ""));
    if (json_get_int(document, "format", 0) != 1 ||
        !lane_state_from_name(json_get_string(document, "state", ""), &lane.state)) {
        return error_set(err, RONDO_ERR_CORRUPT, "the record of a lane cannot be read");
    }
    *ret_lane = lane;
    return 0;
}

static int read_lane(struct store *store, const char *agent_id, const char *lane_id,
                     struct lane *ret_lane, int64_t *ret_version, struct rondo_error *err)
{
    char key[KEY_SIZE];
    auto_json struct json_object *document = NULL;
    name_key(agent_id, lane_id, key);
    int r = wire_document_read(store, COLLECTION, key, &document, ret_version, err);
    return r < 0 || document == NULL ? r : decode(document, ret_lane, err);
}

static int put_lane(struct store *store, const struct lane *lane, int64_t version, bool *ret_is_put,
                    struct rondo_error *err)
{
    char key[KEY_SIZE];
    auto_buf struct buf json = {0};
    name_key(lane->agent_id, lane->lane_id, key);
    encode(lane, &json);
    return wire_document_put(store, COLLECTION, key, &json, version, ret_is_put, err);
}

int lane_read(struct store *store, const char *agent_id, const char *lane_id, struct lane *ret_lane,
              struct rondo_error *err)
{
    int64_t version = 0;
    int r = read_lane(store, agent_id, lane_id, ret_lane, &version, err);
    return r < 0 || version != 0
               ? r
               : error_set(err, RONDO_ERR_NOT_FOUND, "there is no lane %.80s", lane_id);
}

/* ---- Opening -------------------------------------------------------------------------------- */

/** Lanes of one agent, and those that have ended. */
struct lane_count {
    size_t count;
    size_t ended;
    char (*keys)[KEY_SIZE];
};

static bool count_lane(const struct store_document *document, void *context)
{
    struct lane_count *lanes = context;
    auto_json struct json_object *json = NULL;
    struct lane lane;
    lanes->count++;
    if (json_parse(document->data, document->data_len, &json, NULL) == 0 &&
        decode(json, &lane, NULL) == 0 && has_ended(lane.state) &&
        lanes->ended < LIMIT_LANES_OF_AGENT) {
        snprintf(lanes->keys[lanes->ended++], KEY_SIZE, "%s", document->key);
    }
    return true;
}

static int make_room(struct store *store, const char *agent_id, struct rondo_error *err)
{
    char prefix[HANDOFF_NAME_SIZE + 1];
    struct lane_count lanes = {.keys = memory_new_zero(LIMIT_LANES_OF_AGENT, KEY_SIZE)};
    snprintf(prefix, sizeof(prefix), "%s/", agent_id);
    struct store_document_query query = {.collection = COLLECTION, .prefix = prefix};
    int r = store->ops->read_documents(store, &query, count_lane, &lanes, err);
    bool is_full = lanes.count >= LIMIT_LANES_OF_AGENT;
    for (size_t i = 0; i < lanes.ended && is_full && r == 0; i++) {
        r = wire_document_delete(store, COLLECTION, lanes.keys[i], err);
    }
    free(lanes.keys);
    if (r == 0 && is_full && lanes.ended == 0) {
        return error_set(err, RONDO_ERR_LIMIT, "the agent has %d lanes; end some of them",
                         LIMIT_LANES_OF_AGENT);
    }
    return r;
}

int lane_open(struct store *store, const char *agent_id, const char *lane_id, int64_t now_ns,
              struct lane *ret_lane, bool *ret_is_new, struct rondo_error *err)
{
    struct lane lane = {.created_ns = now_ns, .changed_ns = now_ns};
    int64_t version = 0;
    bool is_put = false;
    snprintf(lane.agent_id, sizeof(lane.agent_id), "%s", agent_id);
    snprintf(lane.lane_id, sizeof(lane.lane_id), "%s", lane_id);
    int r = read_lane(store, agent_id, lane_id, &lane, &version, err);
    if (r == 0 && version == 0) {
        r = make_room(store, agent_id, err);
        r = r < 0 ? r : put_lane(store, &lane, 0, &is_put, err);
        if (r == 0 && !is_put) {
            r = lane_read(store, agent_id, lane_id, &lane, err);
        }
    }
    if (r == 0) {
        *ret_lane = lane;
        *ret_is_new = is_put;
    }
    return r;
}

/* ---- Changing ------------------------------------------------------------------------------- */

int lane_change(struct store *store, const char *agent_id, const char *lane_id,
                enum lane_state state, const char *request_id, int64_t now_ns,
                struct lane *ret_lane, struct rondo_error *err)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        struct lane lane;
        int64_t version = 0;
        bool is_put = false;
        int r = read_lane(store, agent_id, lane_id, &lane, &version, err);
        if (r == 0 && version == 0) {
            r = error_set(err, RONDO_ERR_NOT_FOUND, "there is no lane %.80s", lane_id);
        }
        if (r == 0 && has_ended(lane.state) && state != lane.state) {
            r = error_set(err, RONDO_ERR_STATE, "lane %.80s is %s", lane_id, names[lane.state]);
        }
        if (r < 0) {
            return r;
        }
        lane.state = state;
        lane.changed_ns = now_ns;
        snprintf(lane.request_id, sizeof(lane.request_id), "%s",
                 request_id == NULL ? "" : request_id);
        r = put_lane(store, &lane, version, &is_put, err);
        if (r < 0 || is_put) {
            *ret_lane = lane;
            return r;
        }
    }
    return error_set(err, RONDO_ERR_BUSY, "others keep changing lane %.80s", lane_id);
}

int lane_is_evidence(const struct handoff_store *handoffs, const char *agent_id,
                     const char *lane_id, bool *ret_is_evidence, struct rondo_error *err)
{
    struct lane lane;
    struct handoff handoff;
    int64_t version = 0;
    *ret_is_evidence = false;
    int r = read_lane(handoffs->store, agent_id, lane_id, &lane, &version, err);
    if (r < 0 || version == 0) {
        return r;
    }
    *ret_is_evidence = lane.state == LANE_EVIDENCE;
    if (*ret_is_evidence || lane.request_id[0] == '\0') {
        return 0;
    }
    r = handoff_read(handoffs, lane.request_id, &handoff, err);
    *ret_is_evidence = r == 0 && handoff.state == HANDOFF_NEEDS_INFO;
    return r == RONDO_ERR_NOT_FOUND ? 0 : r;
}

void lane_write(const struct lane *lane, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "agent_id", lane->agent_id);
    json_write_string(&writer, "lane_id", lane->lane_id);
    json_write_string(&writer, "state", names[lane->state]);
    json_write_string(&writer, "request_id", lane->request_id[0] == '\0' ? NULL : lane->request_id);
    json_write_time(&writer, "created_at", lane->created_ns);
    json_write_time(&writer, "changed_at", lane->changed_ns);
    json_end_object(&writer);
}
