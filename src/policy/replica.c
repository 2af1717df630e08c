// SPDX-License-Identifier: Apache-2.0
/*
 * Copying the policies of a database. The document is read again under the lock of the file, so
 * what a slow process has read before cannot replace something newer.
 *
 * all opens: beside a store in the state folder, which no agent reaches.
 */
#include "policy/replica.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_state.h"
#include "policy/source_lock.h"
#include "policy/watch_files.h"
#include "store/place.h"
#include "store/store.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define COLLECTION "policies"
#define KEY        WATCH_DEFAULT_NAME

/** Whether the file at a path is a copy. */
static bool is_copy(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    return slash != NULL && strcmp(slash + 1, WATCH_DEFAULT_NAME) == 0 &&
           store_is_in_database(path);
}

const char *policy_history_source(const char *path)
{
    return is_copy(path) ? POLICY_SHARED_SOURCE : path;
}

/* ---- The document --------------------------------------------------------------------------- */

struct shared_text {
    struct json_object *json; /* owned; NULL = there is no document */
    uint64_t version;
    int r; /* of reading it */
    struct rondo_error *err;
};

static bool take_document(const struct store_document *document, void *context)
{
    struct shared_text *shared = context;
    shared->version = document->version;
    shared->r = json_parse(document->data, document->data_len, &shared->json, shared->err);
    return false;
}

/** @param ret_shared its `json` is owned by the caller */
static int read_shared(struct store *store, struct shared_text *ret_shared, struct rondo_error *err)
{
    const struct store_document_query query = {.collection = COLLECTION, .key = KEY, .limit = 1};
    *ret_shared = (struct shared_text){.err = err};
    int r = store->ops->read_documents(store, &query, take_document, ret_shared, err);
    r = r < 0 ? r : ret_shared->r;
    if (r == 0 && ret_shared->json != NULL &&
        json_get_string(ret_shared->json, "text", NULL) == NULL) {
        json_object_put(ret_shared->json);
        r = error_set(err, RONDO_ERR_CORRUPT, "the document of the policies has no text");
    }
    if (r < 0) {
        error_prefix(err, "the policies cannot be read from the store");
    }
    return r;
}

/* ---- The copy ------------------------------------------------------------------------------- */

/** A number that changes when the file does; 0 = it is not there. */
static uint64_t signature_of(const char *path)
{
    struct file_state state = {0};
    bool is_missing = true;
    if (file_state_look(path, &state, &is_missing) != 0 || is_missing) {
        return 0;
    }
    uint64_t sum = state.inode ^ (uint64_t)state.modified_ns ^ ((uint64_t)state.changed_ns << 1) ^
                   (state.size << 40);
    return sum == 0 ? 1 : sum;
}

static bool is_same(const char *path, const char *text, size_t len)
{
    auto_buf struct buf now = {0};
    return file_read(path, LIMIT_POLICY_BYTES, &now, NULL) == 0 && now.len == len &&
           (len == 0 || memcmp(now.data, text, len) == 0);
}

static int write_copy(const char *path, struct json_object *document, struct rondo_error *err)
{
    struct json_object *member = json_object_object_get(document, "text");
    const char *text = json_object_get_string(member);
    size_t len = (size_t)json_object_get_string_len(member);
    return is_same(path, text, len) ? 0 : file_replace_durably(path, text, len, err);
}

int policy_replica_bring(struct store *store, const char *path, uint64_t *ret_version,
                         struct rondo_error *err)
{
    struct shared_text shared = {0};
    if (!is_copy(path)) {
        *ret_version = 0;
        return 0;
    }
    int r = read_shared(store, &shared, err);
    if (r < 0) {
        return r;
    }
    r = shared.json == NULL ? 0 : write_copy(path, shared.json, err);
    json_object_put(shared.json);
    if (r == 0) {
        *ret_version = shared.version;
    }
    return r;
}

/** Whether the document and the file are what they were. */
static bool is_known(const struct policy_replica *replica, uint64_t version, const char *path)
{
    return replica != NULL && version == replica->version &&
           signature_of(path) == replica->signature;
}

int policy_replica_pull(struct store *store, const char *path, struct policy_replica *replica,
                        struct rondo_error *err)
{
    struct shared_text shared = {0};
    if (!is_copy(path)) {
        return 0;
    }
    int r = read_shared(store, &shared, err);
    if (r < 0) {
        return r;
    }
    bool is_there = shared.json != NULL;
    json_object_put(shared.json);
    if (!is_there && replica != NULL) {
        replica->version = 0;
        replica->is_known = true;
    }
    if (!is_there || is_known(replica, shared.version, path)) {
        return 0; /* Where nobody has set policies yet, a file counts on its machine. */
    }
    uint64_t version = 0;
    int lock = source_lock(path, true);
    r = policy_replica_bring(store, path, &version, err);
    if (r == 0 && replica != NULL) {
        replica->version = version;
        replica->signature = signature_of(path);
        replica->is_known = true;
    }
    source_unlock(lock);
    return r;
}

bool policy_replica_rely(const char *path, struct policy_replica *replica,
                         struct store_premise *ret_premise)
{
    struct store_premise premise = {0};
    if (is_copy(path)) {
        premise = (struct store_premise){COLLECTION, KEY, replica->version};
        if (!replica->is_known ||
            (premise.version > 0 && signature_of(path) != replica->signature)) {
            return false;
        }
    }
    *ret_premise = premise;
    return true;
}

int policy_replica_put(struct store *store, const char *path, const char *text, size_t len,
                       uint64_t version, bool *ret_is_applied, struct rondo_error *err)
{
    if (!is_copy(path)) {
        *ret_is_applied = true;
        return 0;
    }
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_string_len(&writer, "text", text, len);
    json_end_object(&writer);
    const struct store_change change = {
        .kind = STORE_PUT,
        .collection = COLLECTION,
        .key = KEY,
        .data = buf_string(&json),
        .data_len = json.len,
        .if_version = (int64_t)version,
    };
    int r = store->ops->change_documents(store, &change, 1, ret_is_applied, err);
    if (r < 0) {
        error_prefix(err, "the policies cannot be shared by the store");
    }
    return r;
}
