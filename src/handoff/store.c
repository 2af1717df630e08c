// SPDX-License-Identifier: Apache-2.0
/* Transactions of handoffs. */
#include "handoff/store.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/audit.h"
#include "handoff/record.h"
#include "handoff/timer.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Times that another may be faster. */
#define MOST_TRIES 200
#define HEAD_KEY   "head"
/** Record, its place among the open ones, body, remark and head, and two changes a fact. */
#define MOST_CHANGES (5 + 2 * HANDOFF_MOST_FACTS)

/** A transaction while it is put together. */
struct handoff_change {
    struct store_change items[MOST_CHANGES];
    char keys[MOST_CHANGES][STORE_KEY_LEN + 1];
    struct buf texts[MOST_CHANGES];
    size_t count;
};

/** What was read, and under which versions. */
struct handoff_reading {
    struct handoff handoff;
    int64_t version; /**< of its document; 0 = there is none */
    struct audit_head head;
    int64_t head_version;
    int r;
    struct rondo_error *err;
};

/* ---- Reading -------------------------------------------------------------------------------- */

static bool read_record(const struct store_document *document, void *context)
{
    struct handoff_reading *reading = context;
    reading->version = (int64_t)document->version;
    reading->r =
        handoff_decode(document->data, document->data_len, &reading->handoff, reading->err);
    return false;
}

static bool read_head(const struct store_document *document, void *context)
{
    struct handoff_reading *reading = context;
    reading->head_version = (int64_t)document->version;
    reading->r =
        audit_head_decode(document->data, document->data_len, &reading->head, reading->err);
    return false;
}

static int read_one(struct store *store, const char *collection, const char *key,
                    store_document_fn *fn, struct handoff_reading *reading)
{
    struct store_document_query query = {.collection = collection, .key = key};
    int r = store->ops->read_documents(store, &query, fn, reading, reading->err);
    return r < 0 ? r : reading->r;
}

static int read_both(struct store *store, const char *request_id,
                     struct handoff_reading *ret_reading, struct rondo_error *err)
{
    *ret_reading = (struct handoff_reading){.err = err};
    int r = read_one(store, AUDIT_HEAD_COLLECTION, HEAD_KEY, read_head, ret_reading);
    return r < 0 ? r : read_one(store, HANDOFF_COLLECTION, request_id, read_record, ret_reading);
}

static int not_found(const char *request_id, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_NOT_FOUND, "there is no handoff %.60s", request_id);
}

int handoff_read(const struct handoff_store *handoffs, const char *request_id,
                 struct handoff *ret_handoff, struct rondo_error *err)
{
    struct handoff_reading reading = {.err = err};
    int r = read_one(handoffs->store, HANDOFF_COLLECTION, request_id, read_record, &reading);
    if (r < 0) {
        return r;
    }
    if (reading.version == 0) {
        return not_found(request_id, err);
    }
    *ret_handoff = reading.handoff;
    return 0;
}

/* ---- Writing -------------------------------------------------------------------------------- */

/** Add a change. @return where its text goes */
static struct buf *put(struct handoff_change *change, const char *collection, const char *key,
                       int64_t if_version)
{
    size_t i = change->count++;
    snprintf(change->keys[i], sizeof(change->keys[i]), "%s", key);
    change->items[i] = (struct store_change){.kind = STORE_PUT,
                                             .collection = collection,
                                             .key = change->keys[i],
                                             .if_version = if_version};
    return &change->texts[i];
}

static void handoff_change_free(struct handoff_change **slot)
{
    for (size_t i = 0; *slot != NULL && i < (*slot)->count; i++) {
        buf_fini(&(*slot)->texts[i]);
    }
    free(*slot);
}

#define auto_change __attribute__((cleanup(handoff_change_free)))

/** @return 1 committed, 0 somebody was faster, or a code */
static int commit(struct store *store, struct handoff_change *change, struct rondo_error *err)
{
    bool is_applied = false;
    for (size_t i = 0; i < change->count; i++) {
        change->items[i].data = buf_string(&change->texts[i]);
        change->items[i].data_len = change->texts[i].len;
    }
    int r = store->ops->change_documents(store, change->items, change->count, &is_applied, err);
    return r < 0 ? r : is_applied ? 1 : 0;
}

/** Whether the agent is told of it. */
static bool concerns_agent(enum handoff_fact fact)
{
    switch (fact) {
    case FACT_APPROVED:
    case FACT_REJECTED:
    case FACT_REROUTED:
    case FACT_ASKED:
    case FACT_WITHDRAWN:
    case FACT_EXPIRED:
    case FACT_CANCELLED:
    case FACT_DEAD_LETTERED:
    case FACT_REPLAYED:
    case FACT_LAPSED:
        return true;
    case FACT_REQUESTED:
    case FACT_ROUTED:
    case FACT_REMINDED:
    case FACT_ESCALATED:
    case FACT_DEESCALATED:
    case FACT_CLAIMED:
    case FACT_RELEASED:
    case FACT_APPROVED_PARTLY:
    case FACT_RESUBMITTED:
    case FACT_SUPERSEDED:
    case FACT_TAKEN:
    case FACT_LEASE_ENDED:
    case FACT_STARTED:
    case FACT_APPLIED:
    case FACT_RETURNED:
    case FACT_IN_DOUBT:
    case FACT_APPLY_FAILED:
    case FACT_COUNT:
        break;
    }
    return false;
}

static void put_message(struct handoff_change *change, const struct handoff *handoff,
                        enum handoff_fact fact, uint64_t number)
{
    char key[HANDOFF_NAME_SIZE + 32];
    snprintf(key, sizeof(key), "%s/%020" PRIu64, handoff->agent_id, number);
    struct json_writer writer = json_writer(put(change, HANDOFF_OUTBOX_COLLECTION, key, 0));
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_string(&writer, "request_id", handoff->request_id);
    json_write_string(&writer, "kind", handoff_fact_name(fact));
    json_write_int(&writer, "revision", handoff->revision);
    json_end_object(&writer);
}

/** What the audit chain says of one fact: of time nobody is the actor. */
static struct audit_fact describe(const struct handoff *handoff, enum handoff_fact fact,
                                  bool is_of_time, const char *actor,
                                  const struct handoff_note *note, int64_t now_ns)
{
    struct audit_fact entry = {
        .kind = handoff_fact_name(fact),
        .time_ns = now_ns,
        .request_id = handoff->request_id,
        .action_digest = handoff->action_digest,
        .actor = is_of_time ? "system:time" : actor,
    };
    if (!is_of_time) {
        entry.role = note->role;
        entry.decision_id = note->decision_id;
        entry.details = note->details;
        entry.result_digest = fact == FACT_APPLIED ? handoff->result_digest : NULL;
    }
    return entry;
}

/** What a command is recorded by. */
struct handoff_record {
    const struct handoff_facts *facts;
    const struct handoff_note *note;
    const char *actor;
    int64_t now_ns;
};

/** Whether time or a person can still change it. */
static bool is_open(const struct handoff *handoff, const struct handoff_rules *rules)
{
    return handoff_is_waiting(handoff) || handoff_timer(handoff, rules).kind != TIMER_NONE;
}

/** Enter a handoff among the open ones, or remove it there. */
static void put_open(struct handoff_change *change, const struct handoff *handoff, bool is_open_now)
{
    buf_append_string(put(change, HANDOFF_OPEN_COLLECTION, handoff->request_id, STORE_ANY_VERSION),
                      "{}");
    change->items[change->count - 1].kind = is_open_now ? STORE_PUT : STORE_DELETE;
}

/** Whether the command itself has changed something: its facts come after those of time. */
static bool has_command_fact(const struct handoff_facts *facts)
{
    return facts->count > 0 && !facts->are_of_time[facts->count - 1];
}

/** What was said beside a command, under the number that its first entry will have. */
static void put_remark(struct handoff_change *change, const struct handoff *handoff,
                       const struct handoff_record *record, uint64_t number)
{
    char key[ID_SIZE + 24];
    size_t last = record->facts->count - 1;
    snprintf(key, sizeof(key), "%s/%020" PRIu64, handoff->request_id, number);
    struct json_writer writer =
        json_writer(put(change, HANDOFF_THREAD_COLLECTION, key, STORE_ANY_VERSION));
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_string(&writer, "kind", handoff_fact_name(record->facts->facts[last]));
    json_write_string(&writer, "actor", record->actor);
    json_write_int(&writer, "time_ns", record->now_ns);
    json_write_raw(&writer, "details", record->note->details);
    json_end_object(&writer);
}

/** The record, the entries of the chain, its head, and messages. */
static int put_all(struct handoff_change *change, struct handoff_reading *reading,
                   const struct handoff *handoff, const struct handoff_record *record,
                   struct rondo_error *err)
{
    handoff_encode(handoff, put(change, HANDOFF_COLLECTION, handoff->request_id, reading->version));
    if (record->note->details != NULL && has_command_fact(record->facts)) {
        put_remark(change, handoff, record, reading->head.size + 1);
    }
    for (size_t i = 0; i < record->facts->count; i++) {
        enum handoff_fact fact = record->facts->facts[i];
        struct audit_fact entry = describe(handoff, fact, record->facts->are_of_time[i],
                                           record->actor, record->note, record->now_ns);
        char key[24];
        snprintf(key, sizeof(key), "%020" PRIu64, reading->head.size + 1);
        int r = audit_append(&reading->head, &entry, put(change, AUDIT_COLLECTION, key, 0), err);
        if (r < 0) {
            return r;
        }
        if (concerns_agent(fact)) {
            put_message(change, handoff, fact, reading->head.size);
        }
    }
    if (record->facts->count > 0) {
        audit_head_encode(&reading->head,
                          put(change, AUDIT_HEAD_COLLECTION, HEAD_KEY, reading->head_version));
    }
    return 0;
}

static void put_body(struct handoff_change *change, const struct handoff *handoff, const char *body)
{
    char key[ID_SIZE + 16];
    snprintf(key, sizeof(key), "%s/%010" PRIu32, handoff->request_id, handoff->revision);
    buf_append_string(put(change, HANDOFF_BODY_COLLECTION, key, 0), body);
}

static int check_body(const char *body, struct rondo_error *err)
{
    size_t len = strlen(body);
    if (len > LIMIT_HANDOFF_BODY_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "the request has %zu bytes; the limit is %d", len,
                         (int)LIMIT_HANDOFF_BODY_BYTES);
    }
    return json_parse_strict(body, len, NULL, err);
}

static int too_busy(struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_BUSY,
                     "others changed the handoffs of this store %d times in "
                     "the meantime; try again",
                     MOST_TRIES);
}

/* ---- Requests ------------------------------------------------------------------------------- */

/** A request under an id that is known. */
static enum handoff_outcome compare(const struct handoff *handoff,
                                    const struct handoff_request *request)
{
    if (strcmp(handoff->agent_id, request->agent_id) != 0) {
        return HANDOFF_NOT_YOURS;
    }
    bool is_same = strcmp(handoff->action_digest, request->action_digest) == 0 &&
                   strcmp(handoff->first_digest, request->body_digest) == 0;
    return is_same ? HANDOFF_REPEATED : HANDOFF_OTHER_ACTION;
}

/** @return 1 there is an outcome, 0 somebody was faster, or a code */
static int try_submit(const struct handoff_store *handoffs, const struct handoff_request *request,
                      const char *body, int64_t now_ns, struct handoff_result *ret_result,
                      struct rondo_error *err)
{
    struct handoff_reading reading;
    struct handoff_facts facts = {0};
    int r = read_both(handoffs->store, request->request_id, &reading, err);
    if (r < 0) {
        return r;
    }
    if (reading.version != 0) {
        ret_result->outcome = compare(&reading.handoff, request);
        if (ret_result->outcome != HANDOFF_NOT_YOURS) {
            ret_result->handoff = reading.handoff;
        }
        return 1;
    }
    ret_result->outcome =
        handoff_begin(request, handoffs->rules, now_ns, &ret_result->handoff, &facts);
    if (ret_result->outcome != HANDOFF_DONE) {
        return 1;
    }
    auto_change struct handoff_change *change = memory_new_zero(1, sizeof(*change));
    struct handoff_note note = {0};
    struct handoff_record record = {&facts, &note, request->agent_id, now_ns};
    put_body(change, &ret_result->handoff, body);
    put_open(change, &ret_result->handoff, true);
    r = put_all(change, &reading, &ret_result->handoff, &record, err);
    return r < 0 ? r : commit(handoffs->store, change, err);
}

int handoff_submit(const struct handoff_store *handoffs, const struct handoff_request *request,
                   const char *body, int64_t now_ns, struct handoff_result *ret_result,
                   struct rondo_error *err)
{
    struct handoff_result result = {0};
    int r = check_body(body, err);
    if (r < 0) {
        return r;
    }
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        r = try_submit(handoffs, request, body, now_ns, &result, err);
    }
    if (r == 1) {
        *ret_result = result;
    }
    return r == 1 ? 0 : r < 0 ? r : too_busy(err);
}

/* ---- Commands ------------------------------------------------------------------------------- */

/** @param command NULL = only time. @return as try_submit */
static int try_act(const struct handoff_store *handoffs, const char *request_id,
                   const struct handoff_command *command, const struct handoff_note *note,
                   int64_t now_ns, struct handoff_result *ret_result, struct rondo_error *err)
{
    struct handoff_reading reading;
    struct handoff_facts facts = {0};
    int r = read_both(handoffs->store, request_id, &reading, err);
    if (r < 0) {
        return r;
    }
    if (reading.version == 0) {
        return not_found(request_id, err);
    }
    struct handoff *handoff = &ret_result->handoff;
    *handoff = reading.handoff;
    ret_result->outcome =
        command != NULL ? handoff_step(handoff, handoffs->rules, command, now_ns, &facts)
        : handoff_advance(handoff, handoffs->rules, now_ns, &facts) ? HANDOFF_DONE
                                                                    : HANDOFF_REPEATED;
    if (handoff->version == reading.handoff.version) {
        return 1;
    }
    auto_change struct handoff_change *change = memory_new_zero(1, sizeof(*change));
    struct handoff_record record = {&facts, note, command == NULL ? NULL : command->actor.id,
                                    now_ns};
    if (handoff->revision != reading.handoff.revision && note->body != NULL) {
        put_body(change, handoff, note->body);
    }
    bool is_open_now = is_open(handoff, handoffs->rules);
    if (is_open_now != is_open(&reading.handoff, handoffs->rules)) {
        put_open(change, handoff, is_open_now);
    }
    r = put_all(change, &reading, handoff, &record, err);
    return r < 0 ? r : commit(handoffs->store, change, err);
}

int handoff_act(const struct handoff_store *handoffs, const char *request_id,
                const struct handoff_command *command, const struct handoff_note *note,
                int64_t now_ns, struct handoff_result *ret_result, struct rondo_error *err)
{
    static const struct handoff_note nothing = {0};
    struct handoff_result result = {0};
    note = note == NULL ? &nothing : note;
    int r = note->body == NULL ? 0 : check_body(note->body, err);
    if (r < 0) {
        return r;
    }
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        r = try_act(handoffs, request_id, command, note, now_ns, &result, err);
    }
    if (r == 1) {
        *ret_result = result;
    }
    return r == 1 ? 0 : r < 0 ? r : too_busy(err);
}

int handoff_wake(const struct handoff_store *handoffs, const char *request_id, int64_t now_ns,
                 struct handoff_result *ret_result, struct rondo_error *err)
{
    return handoff_act(handoffs, request_id, NULL, NULL, now_ns, ret_result, err);
}

/* ---- The audit chain ------------------------------------------------------------------------ */

struct handoff_verification {
    struct audit_head head;
    const struct audit_head *recorded; /**< what the chain must pass through */
    int r;
    struct rondo_error *err;
};

static bool verify_entry(const struct store_document *document, void *context)
{
    struct handoff_verification *verification = context;
    verification->r =
        audit_check(&verification->head, document->data, document->data_len, verification->err);
    if (verification->r == 0 && verification->head.size == verification->recorded->size &&
        strcmp(verification->head.hash, verification->recorded->hash) != 0) {
        verification->r =
            error_set(verification->err, RONDO_ERR_CORRUPT,
                      "entry %" PRIu64 " of the audit chain is not the one that its head names",
                      verification->head.size);
    }
    return verification->r == 0;
}

int handoff_verify_audit(const struct handoff_store *handoffs, uint64_t *ret_size,
                         struct rondo_error *err)
{
    struct store *store = handoffs->store;
    struct handoff_reading reading = {.err = err};
    struct handoff_verification verification = {.recorded = &reading.head, .err = err};
    struct store_document_query query = {.collection = AUDIT_COLLECTION};
    /* The head first: what is appended meanwhile comes after it. */
    int r = read_one(store, AUDIT_HEAD_COLLECTION, HEAD_KEY, read_head, &reading);
    r = r < 0 ? r : store->ops->read_documents(store, &query, verify_entry, &verification, err);
    r = r < 0 ? r : verification.r;
    *ret_size = verification.head.size;
    if (r == 0 && verification.head.size < reading.head.size) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the audit chain ends at entry %" PRIu64 "; its head says %" PRIu64,
                         verification.head.size, reading.head.size);
    }
    return r;
}
