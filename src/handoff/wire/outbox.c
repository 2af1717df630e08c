// SPDX-License-Identifier: Apache-2.0
#include "handoff/wire/outbox.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "handoff/wire/decision.h"
#include "handoff/wire/document.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_COLLECTION "outbox-cursor"
#define NUMBER_DIGITS     20
#define KEY_SIZE          (HANDOFF_NAME_SIZE + 32)
#define MOST_TRIES        20

/** How far the delivery to an agent is. */
struct outbox_cursor {
    uint64_t acknowledged;
    uint64_t leased; /**< the last message that was given out */
    char consumer[HANDOFF_NAME_SIZE];
    int64_t lease_ns; /**< until when; 0 = nobody holds it */
    uint64_t refused; /**< message that was refused last */
    int64_t failures; /**< of it */
    int64_t version;  /**< of the document; 0 = none */
};

/* ---- The cursor ----------------------------------------------------------------------------- */

static int read_cursor(struct store *store, const char *agent_id, struct outbox_cursor *ret_cursor,
                       struct rondo_error *err)
{
    auto_json struct json_object *json = NULL;
    int64_t version = 0;
    int r = wire_document_read(store, CURSOR_COLLECTION, agent_id, &json, &version, err);
    if (r < 0) {
        return r;
    }
    *ret_cursor = (struct outbox_cursor){
        .acknowledged = (uint64_t)json_get_int(json, "acknowledged", 0),
        .leased = (uint64_t)json_get_int(json, "leased", 0),
        .lease_ns = json_get_int(json, "lease_ns", 0),
        .refused = (uint64_t)json_get_int(json, "refused", 0),
        .failures = json_get_int(json, "failures", 0),
        .version = version,
    };
    snprintf(ret_cursor->consumer, sizeof(ret_cursor->consumer), "%s",
             json_get_string(json, "consumer", ""));
    return 0;
}

static void encode(const struct outbox_cursor *cursor, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_int(&writer, "acknowledged", (int64_t)cursor->acknowledged);
    json_write_int(&writer, "leased", (int64_t)cursor->leased);
    json_write_string(&writer, "consumer", cursor->consumer);
    json_write_int(&writer, "lease_ns", cursor->lease_ns);
    json_write_int(&writer, "refused", (int64_t)cursor->refused);
    json_write_int(&writer, "failures", cursor->failures);
    json_end_object(&writer);
}

static int put_cursor(struct store *store, const char *agent_id, const struct outbox_cursor *cursor,
                      bool *ret_is_put, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    encode(cursor, &json);
    return wire_document_put(store, CURSOR_COLLECTION, agent_id, &json, cursor->version, ret_is_put,
                             err);
}

static int too_busy(const char *agent_id, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_BUSY, "others keep changing the outbox of %.80s", agent_id);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static void name_key(const char *agent_id, uint64_t seq, char *ret_key)
{
    snprintf(ret_key, KEY_SIZE, "%s/%0*" PRIu64, agent_id, NUMBER_DIGITS, seq);
}

/** The messages of one page. */
struct outbox_page {
    size_t prefix_len;
    uint64_t seqs[OUTBOX_MOST_MESSAGES];
    char request_ids[OUTBOX_MOST_MESSAGES][ID_SIZE];
    int64_t revisions[OUTBOX_MOST_MESSAGES];
    size_t count;
    size_t limit;
};

static bool take_message(const struct store_document *document, void *context)
{
    struct outbox_page *page = context;
    const char *number = document->key + page->prefix_len;
    auto_json struct json_object *json = NULL;
    /* The name of another agent may begin with this one's and a slash. */
    if (strlen(number) != NUMBER_DIGITS || strspn(number, "0123456789") != NUMBER_DIGITS ||
        json_parse(document->data, document->data_len, &json, NULL) < 0) {
        return true;
    }
    page->seqs[page->count] = strtoull(number, NULL, 10);
    page->revisions[page->count] = json_get_int(json, "revision", 1);
    snprintf(page->request_ids[page->count], ID_SIZE, "%s",
             json_get_string(json, "request_id", ""));
    return ++page->count < page->limit;
}

static int read_page(struct store *store, const char *agent_id, uint64_t after,
                     struct outbox_page *page, struct rondo_error *err)
{
    char prefix[HANDOFF_NAME_SIZE + 1];
    char after_key[KEY_SIZE];
    snprintf(prefix, sizeof(prefix), "%s/", agent_id);
    name_key(agent_id, after, after_key);
    page->prefix_len = strlen(prefix);
    struct store_document_query query = {
        .collection = HANDOFF_OUTBOX_COLLECTION, .prefix = prefix, .after = after_key};
    return store->ops->read_documents(store, &query, take_message, page, err);
}

/** Write a message, with what its entry of the audit chain says. */
static int write_message(const struct handoff_store *handoffs, const struct outbox_page *page,
                         size_t i, struct json_writer *writer, struct rondo_error *err)
{
    char key[NUMBER_DIGITS + 1];
    auto_json struct json_object *entry = NULL;
    auto_json struct json_object *body = NULL;
    auto_buf struct buf text = {0};
    struct handoff handoff;
    int64_t version = 0;
    int64_t time_ns = 0;
    snprintf(key, sizeof(key), "%0*" PRIu64, NUMBER_DIGITS, page->seqs[i]);
    int r = handoff_read(handoffs, page->request_ids[i], &handoff, err);
    r = r < 0 ? r
              : wire_document_read(handoffs->store, AUDIT_COLLECTION, key, &entry, &version, err);
    if (r == 0 && handoff_read_body(handoffs, handoff.request_id, 1, &text, NULL) == 0) {
        (void)json_parse(text.data, text.len, &body, NULL);
    }
    if (r < 0) {
        return r;
    }
    handoff.revision = (uint32_t)page->revisions[i];
    time_ns = strtoll(json_get_string(entry, "time_ns", "0"), NULL, 10);
    struct wire_notice notice = {
        .kind = json_get_string(entry, "kind", "handoff.rerouted"),
        .decision_id = json_get_string(entry, "decision_id", NULL),
        .role = json_get_string(entry, "role", NULL),
        .time_ns = time_ns,
        .details = json_member(entry, "details"),
    };
    json_begin_object(writer, NULL);
    json_write_int(writer, "seq", (int64_t)page->seqs[i]);
    json_write_string(writer, "kind", notice.kind);
    json_write_string(writer, "request_id", handoff.request_id);
    wire_decision_write(writer, "decision", &handoff, json_get_string(body, "trace_id", NULL),
                        &notice);
    json_end_object(writer);
    return 0;
}

static int write_page(const struct handoff_store *handoffs, const struct outbox_page *page,
                      struct buf *ret_json, struct rondo_error *err)
{
    auto_buf struct buf list = {0};
    struct json_writer writer = json_writer(&list);
    int r = 0;
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < page->count && r == 0; i++) {
        r = write_message(handoffs, page, i, &writer, err);
        r = r == RONDO_ERR_NOT_FOUND ? 0 : r; /* Its handoff was deleted: nothing to tell. */
    }
    if (r == 0) {
        json_end_array(&writer);
        buf_append(ret_json, list.data, list.len);
    }
    return r;
}

/* ---- Pulling -------------------------------------------------------------------------------- */

static bool is_held(const struct outbox_cursor *cursor, const struct outbox_consumer *consumer)
{
    return cursor->lease_ns > consumer->now_ns && strcmp(cursor->consumer, consumer->name) != 0;
}

/** Hold the outbox up to the last message of a page. @return 1, 0 somebody was faster, or a code */
static int hold(struct store *store, const struct outbox_consumer *consumer,
                struct outbox_cursor *cursor, const struct outbox_page *page,
                struct rondo_error *err)
{
    bool is_put = false;
    cursor->leased = page->seqs[page->count - 1];
    cursor->lease_ns = consumer->now_ns + OUTBOX_LEASE_NS;
    snprintf(cursor->consumer, sizeof(cursor->consumer), "%s", consumer->name);
    int r = put_cursor(store, consumer->agent_id, cursor, &is_put, err);
    return r < 0 ? r : is_put;
}

int outbox_pull(const struct handoff_store *handoffs, const struct outbox_consumer *consumer,
                size_t limit, struct buf *ret_json, enum outbox_outcome *ret_outcome,
                int64_t *ret_lease_ns, struct rondo_error *err)
{
    auto_free struct outbox_page *page = memory_new_zero(1, sizeof(*page));
    struct outbox_cursor cursor;
    int r = 0;
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        page->count = 0;
        page->limit = limit < OUTBOX_MOST_MESSAGES ? limit : OUTBOX_MOST_MESSAGES;
        r = read_cursor(handoffs->store, consumer->agent_id, &cursor, err);
        if (r == 0 && is_held(&cursor, consumer)) {
            *ret_outcome = OUTBOX_HELD;
            *ret_lease_ns = cursor.lease_ns;
            return 0;
        }
        r = r < 0 ? r
                  : read_page(handoffs->store, consumer->agent_id, cursor.acknowledged, page, err);
        if (r == 0 && page->count == 0) {
            cursor.lease_ns = 0;
            r = 1;
        } else if (r == 0) {
            r = hold(handoffs->store, consumer, &cursor, page, err);
        }
    }
    if (r <= 0) {
        return r < 0 ? r : too_busy(consumer->agent_id, err);
    }
    *ret_outcome = OUTBOX_DONE;
    *ret_lease_ns = cursor.lease_ns;
    return write_page(handoffs, page, ret_json, err);
}

/* ---- Acknowledging -------------------------------------------------------------------------- */

/** Messages that were acknowledged are not needed any more; what is left is deleted next time. */
static void delete_until(struct store *store, const char *agent_id, uint64_t seq)
{
    auto_free struct outbox_page *page = memory_new_zero(1, sizeof(*page));
    page->limit = OUTBOX_MOST_MESSAGES;
    if (read_page(store, agent_id, 0, page, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < page->count && page->seqs[i] <= seq; i++) {
        char key[KEY_SIZE];
        name_key(agent_id, page->seqs[i], key);
        (void)wire_document_delete(store, HANDOFF_OUTBOX_COLLECTION, key, NULL);
    }
}

static enum outbox_outcome check_message(const struct outbox_cursor *cursor,
                                         const struct outbox_consumer *consumer, uint64_t seq)
{
    if (seq > cursor->leased) {
        return OUTBOX_UNKNOWN;
    }
    return strcmp(cursor->consumer, consumer->name) == 0 ? OUTBOX_DONE : OUTBOX_NOT_YOURS;
}

int outbox_acknowledge(const struct handoff_store *handoffs, const struct outbox_consumer *consumer,
                       uint64_t seq, enum outbox_outcome *ret_outcome, struct rondo_error *err)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        struct outbox_cursor cursor;
        bool is_put = false;
        int r = read_cursor(handoffs->store, consumer->agent_id, &cursor, err);
        if (r < 0) {
            return r;
        }
        *ret_outcome = check_message(&cursor, consumer, seq);
        if (*ret_outcome != OUTBOX_DONE || seq <= cursor.acknowledged) {
            return 0;
        }
        cursor.acknowledged = seq;
        cursor.lease_ns = seq == cursor.leased ? 0 : cursor.lease_ns;
        r = put_cursor(handoffs->store, consumer->agent_id, &cursor, &is_put, err);
        if (r == 0 && is_put) {
            delete_until(handoffs->store, consumer->agent_id, seq);
        }
        if (r < 0 || is_put) {
            return r;
        }
    }
    return too_busy(consumer->agent_id, err);
}

/* ---- Refusing ------------------------------------------------------------------------------- */

/** Put a message among the dead letters. */
static int bury(struct store *store, const struct outbox_consumer *consumer, uint64_t seq,
                const char *reason, struct rondo_error *err)
{
    char key[KEY_SIZE];
    auto_json struct json_object *message = NULL;
    auto_buf struct buf json = {0};
    int64_t version = 0;
    bool is_put = false;
    name_key(consumer->agent_id, seq, key);
    int r = wire_document_read(store, HANDOFF_OUTBOX_COLLECTION, key, &message, &version, err);
    if (r < 0 || message == NULL) {
        return r;
    }
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_string(&writer, "agent_id", consumer->agent_id);
    json_write_int(&writer, "seq", (int64_t)seq);
    json_write_string(&writer, "reason", reason == NULL ? "" : reason);
    json_write_int(&writer, "time_ns", consumer->now_ns);
    json_write_raw(&writer, "message",
                   json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN));
    json_end_object(&writer);
    return wire_document_put(store, DELIVERY_LETTER_COLLECTION, key, &json, STORE_ANY_VERSION,
                             &is_put, err);
}

int outbox_refuse(const struct handoff_store *handoffs, const struct outbox_consumer *consumer,
                  uint64_t seq, const char *reason, enum outbox_outcome *ret_outcome,
                  struct rondo_error *err)
{
    auto_free struct outbox_page *page = memory_new_zero(1, sizeof(*page));
    for (int i = 0; i < MOST_TRIES; i++) {
        struct outbox_cursor cursor;
        bool is_put = false;
        int r = read_cursor(handoffs->store, consumer->agent_id, &cursor, err);
        if (r < 0) {
            return r;
        }
        *ret_outcome = check_message(&cursor, consumer, seq);
        if (*ret_outcome != OUTBOX_DONE || seq <= cursor.acknowledged) {
            return 0;
        }
        page->count = 0;
        page->limit = 1;
        r = read_page(handoffs->store, consumer->agent_id, cursor.acknowledged, page, err);
        if (r < 0 || page->count == 0 || page->seqs[0] != seq) {
            *ret_outcome = OUTBOX_UNKNOWN; /* Those before it come first. */
            return r;
        }
        cursor.failures = cursor.refused == seq ? cursor.failures + 1 : 1;
        cursor.refused = seq;
        cursor.lease_ns = 0;
        bool is_dead = cursor.failures >= OUTBOX_MOST_FAILURES;
        if (is_dead) { /* The letter first: a message is never neither here nor there. */
            r = bury(handoffs->store, consumer, seq, reason, err);
            cursor.acknowledged = seq;
        }
        r = r < 0 ? r : put_cursor(handoffs->store, consumer->agent_id, &cursor, &is_put, err);
        if (r == 0 && is_put && is_dead) {
            delete_until(handoffs->store, consumer->agent_id, seq);
        }
        if (r < 0 || is_put) {
            return r;
        }
    }
    return too_busy(consumer->agent_id, err);
}

/* ---- Dead letters --------------------------------------------------------------------------- */

/** Move the cursor before a message. @return 1, 0 somebody was faster, or a code */
static int rewind_cursor(struct store *store, const char *agent_id, uint64_t seq,
                         struct rondo_error *err)
{
    struct outbox_cursor cursor;
    bool is_put = false;
    int r = read_cursor(store, agent_id, &cursor, err);
    if (r < 0) {
        return r;
    }
    cursor.acknowledged = cursor.acknowledged < seq ? cursor.acknowledged : seq - 1;
    cursor.failures = 0;
    cursor.lease_ns = 0;
    r = put_cursor(store, agent_id, &cursor, &is_put, err);
    return r < 0 ? r : is_put;
}

int outbox_replay(const struct handoff_store *handoffs, const char *key, struct rondo_error *err)
{
    struct store *store = handoffs->store;
    auto_json struct json_object *letter = NULL;
    auto_buf struct buf json = {0};
    int64_t version = 0;
    bool is_put = false;
    int r = wire_document_read(store, DELIVERY_LETTER_COLLECTION, key, &letter, &version, err);
    if (r == 0 && letter == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no dead letter %.80s", key);
    }
    if (r < 0) {
        return r;
    }
    const char *agent_id = json_get_string(letter, "agent_id", "");
    buf_append_string(&json, json_object_to_json_string_ext(json_member(letter, "message"),
                                                            JSON_C_TO_STRING_PLAIN));
    r = wire_document_put(store, HANDOFF_OUTBOX_COLLECTION, key, &json, STORE_ANY_VERSION, &is_put,
                          err);
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        r = rewind_cursor(store, agent_id, (uint64_t)json_get_int(letter, "seq", 1), err);
    }
    return r < 0    ? r
           : r == 0 ? too_busy(agent_id, err)
                    : wire_document_delete(store, DELIVERY_LETTER_COLLECTION, key, err);
}
