// SPDX-License-Identifier: Apache-2.0
/* Conversations as documents. */
#include "source/conversation/conversation.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1

void conversation_fini(struct conversation *conversation)
{
    free(conversation->kind);
    free(conversation->key);
    free(conversation->runs);
    *conversation = (struct conversation){0};
}

void conversation_id(const char *agent, const char *source, const char *key,
                     char ret_id[CONVERSATION_ID_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add_u64(&digest, strlen(source));
    digest_add(&digest, source, strlen(source));
    digest_add(&digest, key, strlen(key));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    snprintf(ret_id, CONVERSATION_ID_SIZE, "%s:%.*s", agent, CONVERSATION_DIGITS, hex);
}

/* ---- Documents ------------------------------------------------------------------------------ */

static void encode(const struct conversation *conversation, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    json_write_string(&writer, "agent", conversation->agent);
    json_write_string(&writer, "source", conversation->source);
    json_write_string(&writer, "kind", conversation->kind);
    json_write_string(&writer, "key", conversation->key);
    json_write_int(&writer, "begun_ns", conversation->begun_ns);
    json_write_int(&writer, "last_ns", conversation->last_ns);
    json_write_int(&writer, "turns", (int64_t)conversation->turns);
    json_begin_array(&writer, "runs");
    for (size_t i = 0; i < conversation->run_count; i++) {
        json_write_string(&writer, NULL, conversation->runs[i]);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static void add_run(struct conversation *conversation, const char *run_id)
{
    if (conversation->run_count == LIMIT_CONVERSATION_RUNS) {
        conversation->run_count--;
        memmove(conversation->runs, conversation->runs + 1, conversation->run_count * ID_SIZE);
    }
    conversation->runs = memory_resize(conversation->runs, conversation->run_count + 1, ID_SIZE);
    snprintf(conversation->runs[conversation->run_count++], ID_SIZE, "%s", run_id);
}

static void copy_text(char *slot, size_t size, struct json_object *root, const char *name)
{
    snprintf(slot, size, "%s", json_get_string(root, name, ""));
}

/** @return whether it can be read */
static bool decode(const struct store_document *document, struct conversation *ret_conversation)
{
    auto_json struct json_object *root = NULL;
    ret_conversation->version = document->version;
    if (json_parse(document->data, document->data_len, &root, NULL) < 0 ||
        json_get_int(root, "format", 0) != FORMAT) {
        return false;
    }
    struct json_object *runs = json_member(root, "runs");
    size_t count = json_length(runs);
    snprintf(ret_conversation->id, sizeof(ret_conversation->id), "%s", document->key);
    copy_text(ret_conversation->agent, sizeof(ret_conversation->agent), root, "agent");
    copy_text(ret_conversation->source, sizeof(ret_conversation->source), root, "source");
    ret_conversation->kind = memory_dup_string(json_get_string(root, "kind", ""));
    ret_conversation->key = memory_dup_string(json_get_string(root, "key", ""));
    ret_conversation->begun_ns = json_get_int(root, "begun_ns", 0);
    ret_conversation->last_ns = json_get_int(root, "last_ns", 0);
    ret_conversation->turns = (uint64_t)json_get_int(root, "turns", 0);
    for (size_t i = 0; i < count; i++) {
        const char *run_id = json_object_get_string(json_object_array_get_idx(runs, i));
        if (run_id != NULL && id_is_valid(run_id)) {
            add_run(ret_conversation, run_id);
        }
    }
    return true;
}

struct conversation_reading {
    const char *agent;
    conversation_fn *fn;
    void *context;
};

static bool read_one(const struct store_document *document, void *context)
{
    struct conversation_reading *reading = context;
    struct conversation conversation = {0};
    bool is_wanted = decode(document, &conversation) &&
                     (reading->agent == NULL || strcmp(reading->agent, conversation.agent) == 0);
    bool has_more = !is_wanted || reading->fn(&conversation, reading->context);
    conversation_fini(&conversation);
    return has_more;
}

int conversations_read(struct store *store, const char *agent, conversation_fn *fn, void *context,
                       struct rondo_error *err)
{
    char prefix[LIMIT_AGENT_ID_LEN + 2];
    struct conversation_reading reading = {.agent = agent, .fn = fn, .context = context};
    snprintf(prefix, sizeof(prefix), "%s:", agent == NULL ? "" : agent);
    const struct store_document_query query = {
        .collection = CONVERSATION_COLLECTION,
        .prefix = agent == NULL ? NULL : prefix,
    };
    return store->ops->read_documents(store, &query, read_one, &reading, err);
}

static bool load(const struct store_document *document, void *context)
{
    struct conversation *conversation = context;
    if (!decode(document, conversation)) {
        conversation->run_count = 0; /* It is replaced by the next turn. */
    }
    return false;
}

int conversation_find(struct store *store, const char *id, struct conversation *ret_conversation,
                      struct rondo_error *err)
{
    const struct store_document_query query = {.collection = CONVERSATION_COLLECTION, .key = id};
    int r = store->ops->read_documents(store, &query, load, ret_conversation, err);
    return r < 0 ? r : ret_conversation->id[0] != '\0';
}

static bool note_document(const struct store_document *document, void *context)
{
    (void)document;
    *(bool *)context = true;
    return false;
}

int conversation_forget(struct store *store, const char *id, struct rondo_error *err)
{
    bool is_applied = false;
    bool is_there = false;
    const struct store_document_query query = {.collection = CONVERSATION_COLLECTION, .key = id};
    int r = store->ops->read_documents(store, &query, note_document, &is_there, err);
    if (r < 0 || !is_there) {
        return r;
    }
    const struct store_change change = {
        .kind = STORE_DELETE,
        .collection = CONVERSATION_COLLECTION,
        .key = id,
        .if_version = STORE_ANY_VERSION,
    };
    r = store->ops->change_documents(store, &change, 1, &is_applied, err);
    return r < 0 ? r : 1;
}

/* ---- Too many ------------------------------------------------------------------------------- */

/** The conversation of an agent that was used least recently. */
struct conversation_census {
    size_t count;
    int64_t oldest_ns;
    char oldest[CONVERSATION_ID_SIZE];
};

static bool count_one(const struct conversation *conversation, void *context)
{
    struct conversation_census *census = context;
    if (census->count++ == 0 || conversation->last_ns < census->oldest_ns) {
        census->oldest_ns = conversation->last_ns;
        memcpy(census->oldest, conversation->id, sizeof(census->oldest));
    }
    return true;
}

/** Before a new one is stored: make room for it. */
static int make_room(struct store *store, const char *agent, struct rondo_error *err)
{
    struct conversation_census census;
    int r;
    do {
        census = (struct conversation_census){0};
        r = conversations_read(store, agent, count_one, &census, err);
        if (r == 0 && census.count >= LIMIT_CONVERSATIONS) {
            r = conversation_forget(store, census.oldest, err);
        }
    } while (r >= 0 && census.count > LIMIT_CONVERSATIONS);
    return r < 0 ? r : 0;
}

/* ---- Turns ---------------------------------------------------------------------------------- */

/** The turn before a request: the newest one whose run is there. @return 1, 0, or a code */
static int find_before(struct store *store, const struct conversation *conversation,
                       const char *run_id, struct store_run *ret_run, struct rondo_error *err)
{
    for (size_t i = conversation->run_count; i > 0; i--) {
        const char *other = conversation->runs[i - 1];
        if (strcmp(other, run_id) == 0) {
            continue;
        }
        int r = store->ops->get_run(store, other, ret_run, err);
        if (r != RONDO_ERR_NOT_FOUND) {
            return r < 0 ? r : 1;
        }
    }
    return 0;
}

static bool is_entered(const struct conversation *conversation, const char *run_id)
{
    return conversation->run_count > 0 &&
           strcmp(conversation->runs[conversation->run_count - 1], run_id) == 0;
}

/** Whether nothing was said or done in it for longer than the source allows. */
static bool is_over(const struct conversation *conversation, const struct start_request *request,
                    const struct store_run *before)
{
    int64_t last_ns = conversation->last_ns;
    last_ns = before->ended_ns > last_ns ? before->ended_ns : last_ns;
    return request->idle_s > 0 && before->ended_ns != 0 &&
           request->received_ns - last_ns > request->idle_s * NS_PER_S;
}

static void begin(struct conversation *conversation, const struct start_request *request)
{
    uint64_t version = conversation->version;
    conversation_fini(conversation);
    conversation->version = version;
    conversation->begun_ns = request->received_ns;
    conversation_id(request->role, request->source, request->conversation, conversation->id);
    snprintf(conversation->agent, sizeof(conversation->agent), "%s", request->role);
    snprintf(conversation->source, sizeof(conversation->source), "%s", request->source);
    conversation->kind = memory_dup_string(request->kind);
    conversation->key = memory_dup_string(request->conversation);
}

static int store_turn(struct store *store, const struct conversation *conversation,
                      struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    bool is_applied = false;
    encode(conversation, &json);
    const struct store_change change = {
        .kind = STORE_PUT,
        .collection = CONVERSATION_COLLECTION,
        .key = conversation->id,
        .data = buf_string(&json),
        .data_len = json.len,
        .if_version = (int64_t)conversation->version,
    };
    int r = store->ops->change_documents(store, &change, 1, &is_applied, err);
    return r < 0 ? r
           : is_applied
               ? 0
               : error_set(err, RONDO_ERR_BUSY, "another process changes the conversation");
}

static int enter(struct store *store, const struct start_request *request,
                 struct conversation *conversation, char ret_before[ID_SIZE],
                 struct rondo_error *err)
{
    struct store_run before;
    int r = find_before(store, conversation, request->id, &before, err);
    if (r < 0) {
        return r;
    }
    bool was_entered = is_entered(conversation, request->id);
    bool continues = r == 1 && (was_entered || !is_over(conversation, request, &before));
    bool is_new = conversation->version == 0;
    snprintf(ret_before, ID_SIZE, "%s", continues ? before.id : "");
    if (continues && was_entered) {
        return 0;
    }
    if (!continues) {
        begin(conversation, request);
    }
    conversation->turns++;
    conversation->last_ns = request->received_ns;
    add_run(conversation, request->id);
    r = is_new ? make_room(store, request->role, err) : 0;
    return r < 0 ? r : store_turn(store, conversation, err);
}

/** Whether the turn that was entered last, by another request, has no answer yet. */
static int check_order(const struct conversation *conversation, const struct start_request *request,
                       conversation_pending_fn *is_pending, void *context, struct rondo_error *err)
{
    if (is_pending == NULL || conversation->run_count == 0 ||
        is_entered(conversation, request->id)) {
        return 0;
    }
    int r = is_pending(context, conversation->runs[conversation->run_count - 1], err);
    return r <= 0 ? r : error_set(err, RONDO_ERR_BUSY, "the turn before has no answer yet");
}

int conversation_enter(struct store *store, const struct start_request *request,
                       conversation_pending_fn *is_pending, void *context, char ret_before[ID_SIZE],
                       struct rondo_error *err)
{
    struct conversation conversation = {0};
    char id[CONVERSATION_ID_SIZE];
    conversation_id(request->role, request->source, request->conversation, id);
    const struct store_document_query query = {.collection = CONVERSATION_COLLECTION, .key = id};
    int r = store->ops->read_documents(store, &query, load, &conversation, err);
    r = r < 0 ? r : check_order(&conversation, request, is_pending, context, err);
    r = r < 0 ? r : enter(store, request, &conversation, ret_before, err);
    conversation_fini(&conversation);
    return r;
}
