// SPDX-License-Identifier: Apache-2.0
/* Transactions of handoffs. */
#include "handoff/storage/store.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/audit/entry.h"
#include "handoff/record.h"
#include "handoff/storage/change.h"
#include "handoff/timer.h"

#include <assert.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Times that another may be faster. */
#define MOST_TRIES 200
#define HEAD_KEY   "head"

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

/** @return 1 committed, 0 somebody was faster, or a code */
static int commit(struct store *store, struct handoff_change *change, struct rondo_error *err)
{
    bool is_applied = false;
    for (size_t i = 0; i < change->count; i++) {
        change->items[i].data = buf_string(&change->texts[i]);
        change->items[i].data_len = change->texts[i].len;
        /* Readers take nothing but objects. */
        assert(change->items[i].kind == STORE_DELETE || change->items[i].data[0] == '{');
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
    struct json_writer writer =
        json_writer(handoff_change_put(change, HANDOFF_OUTBOX_COLLECTION, key, 0));
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

/** What a summary says in the words of the agent. */
struct handoff_words {
    char tool[HANDOFF_NAME_SIZE];
    char why[HANDOFF_WHY_SIZE];
};

static void find_words(const char *body, size_t len, struct handoff_words *ret_words)
{
    auto_json struct json_object *root = NULL;
    if (json_parse(body, len, &root, NULL) == 0) {
        struct json_object *trigger = json_member(root, "trigger");
        const char *reason = json_get_string(trigger, "trigger_reason", "");
        snprintf(ret_words->tool, sizeof(ret_words->tool), "%s",
                 json_get_string(json_member(root, "action"), "tool", ""));
        snprintf(ret_words->why, sizeof(ret_words->why), "%s",
                 json_get_string(trigger, "message", reason));
    }
}

/** From the summary that is there; an older version of Rondo has written none. */
static int read_words(const struct handoff_store *handoffs, const struct handoff *handoff,
                      struct handoff_words *ret_words, struct rondo_error *err)
{
    struct handoff_summary summary;
    auto_buf struct buf body = {0};
    int r = handoff_read_summary(handoffs, handoff->request_id, &summary, err);
    if (r == 0) {
        memcpy(ret_words->tool, summary.tool, sizeof(ret_words->tool));
        memcpy(ret_words->why, summary.why, sizeof(ret_words->why));
        return 0;
    }
    if (r == RONDO_ERR_NOT_FOUND || r == RONDO_ERR_CORRUPT) {
        r = handoff_read_body(handoffs, handoff->request_id, 1, &body, err);
        find_words(buf_string(&body), body.len, ret_words);
    }
    return r == RONDO_ERR_NOT_FOUND ? 0 : r;
}

/** Enter a handoff among the open ones, with what lists show of it. */
static void put_summary(struct handoff_change *change, const struct handoff *handoff,
                        const struct handoff_rules *rules, const struct handoff_words *words)
{
    struct handoff_summary summary;
    handoff_summarise(handoff, rules, words->tool, words->why, &summary);
    handoff_summary_encode(&summary, handoff_change_put(change, HANDOFF_OPEN_COLLECTION,
                                                        handoff->request_id, STORE_ANY_VERSION));
}

/** Keep the summary as the record is, or remove it with the last timer. */
static int put_open(struct handoff_change *change, const struct handoff_store *handoffs,
                    const struct handoff *before, const struct handoff *handoff,
                    struct rondo_error *err)
{
    struct handoff_words words = {0};
    int r = 0;
    if (is_open(handoff, handoffs->rules)) {
        r = read_words(handoffs, handoff, &words, err);
        put_summary(change, handoff, handoffs->rules, &words);
    } else if (is_open(before, handoffs->rules)) {
        (void)handoff_change_put(change, HANDOFF_OPEN_COLLECTION, handoff->request_id,
                                 STORE_ANY_VERSION);
        handoff_change_delete(change);
    }
    return r;
}

/* ---- Transactions --------------------------------------------------------------------------- */

/** The last fact of the command itself; time may have done something before it, and after it.
 * @return its number, from 1; 0 = there is none */
static size_t find_command_fact(const struct handoff_facts *facts)
{
    size_t number = facts->count;
    while (number > 0 && facts->are_of_time[number - 1]) {
        number--;
    }
    return number;
}

/** What was said beside a command, under the number that its first entry will have. */
static void put_remark(struct handoff_change *change, const struct handoff *handoff,
                       const struct handoff_record *record, uint64_t number)
{
    char key[ID_SIZE + 24];
    size_t last = find_command_fact(record->facts) - 1;
    snprintf(key, sizeof(key), "%s/%020" PRIu64, handoff->request_id, number);
    struct json_writer writer =
        json_writer(handoff_change_put(change, HANDOFF_THREAD_COLLECTION, key, STORE_ANY_VERSION));
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_string(&writer, "kind", handoff_fact_name(record->facts->facts[last]));
    json_write_string(&writer, "actor", record->actor);
    if (record->note->role != NULL) {
        json_write_string(&writer, "role", record->note->role);
    }
    if (record->note->decision_id != NULL) {
        json_write_string(&writer, "decision_id", record->note->decision_id);
    }
    json_write_int(&writer, "time_ns", record->now_ns);
    json_write_raw(&writer, "details", record->note->details);
    json_end_object(&writer);
}

/** The record, the entries of the chain, its head, and messages. */
static int put_all(struct handoff_change *change, struct handoff_reading *reading,
                   const struct handoff *handoff, const struct handoff_record *record,
                   struct rondo_error *err)
{
    handoff_encode(handoff, handoff_change_put(change, HANDOFF_COLLECTION, handoff->request_id,
                                               reading->version));
    if (record->note->details != NULL && find_command_fact(record->facts) > 0) {
        put_remark(change, handoff, record, reading->head.size + 1);
    }
    for (size_t i = 0; i < record->facts->count; i++) {
        enum handoff_fact fact = record->facts->facts[i];
        struct audit_fact entry = describe(handoff, fact, record->facts->are_of_time[i],
                                           record->actor, record->note, record->now_ns);
        char key[24];
        snprintf(key, sizeof(key), "%020" PRIu64, reading->head.size + 1);
        int r = audit_append(&reading->head, &entry,
                             handoff_change_put(change, AUDIT_COLLECTION, key, 0), err);
        if (r < 0) {
            return r;
        }
        if (concerns_agent(fact)) {
            put_message(change, handoff, fact, reading->head.size);
        }
    }
    if (record->facts->count > 0) {
        audit_head_encode(&reading->head, handoff_change_put(change, AUDIT_HEAD_COLLECTION,
                                                             HEAD_KEY, reading->head_version));
    }
    return 0;
}

/** Where in the audit chain it is. */
static void name_entry(const struct handoff_reading *reading, const struct handoff_facts *facts,
                       struct handoff_result *ret_result)
{
    ret_result->entry = facts->count > 0 ? reading->head.size : 0;
    ret_result->entry_hash[0] = '\0';
    if (facts->count > 0) {
        memcpy(ret_result->entry_hash, reading->head.hash, sizeof(ret_result->entry_hash));
    }
}

static void put_body(struct handoff_change *change, const struct handoff *handoff, const char *body)
{
    char key[ID_SIZE + 16];
    snprintf(key, sizeof(key), "%s/%010" PRIu32, handoff->request_id, handoff->revision);
    buf_append_string(handoff_change_put(change, HANDOFF_BODY_COLLECTION, key, 0), body);
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

/** Whether a request is still missing once all is full: the same one may have taken the last place.
 * @return 1, 0, or a code */
static int is_missing(const struct handoff_store *handoffs, const char *request_id,
                      struct rondo_error *err)
{
    struct handoff_reading reading = {.err = err};
    int r = read_one(handoffs->store, HANDOFF_COLLECTION, request_id, read_record, &reading);
    return r < 0 ? r : reading.version == 0 ? 1 : 0;
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
    r = waiting_find_same(handoffs, request, &ret_result->handoff, err);
    if (r != 0) {
        ret_result->outcome = HANDOFF_JOINED;
        return r;
    }
    struct handoff_counts counts;
    r = waiting_read_counts(handoffs, request->agent_id, request->lane_id, &counts, err);
    if (r < 0) {
        return r;
    }
    if (handoffs->bounds != NULL && !request->has_place &&
        !handoff_count_has_room(&counts, handoffs->bounds, request->risk)) {
        ret_result->outcome = HANDOFF_FULL;
        return is_missing(handoffs, request->request_id, err);
    }
    ret_result->outcome =
        handoff_begin(request, handoffs->rules, now_ns, &ret_result->handoff, &facts);
    if (ret_result->outcome != HANDOFF_DONE) {
        return 1;
    }
    auto_change struct handoff_change *change = memory_new_zero(1, sizeof(*change));
    struct handoff_note note = {0};
    struct handoff_words words = {0};
    struct handoff_record record = {&facts, &note, request->agent_id, now_ns};
    find_words(body, strlen(body), &words);
    put_body(change, &ret_result->handoff, body);
    put_summary(change, &ret_result->handoff, handoffs->rules, &words);
    waiting_begin(change, &counts, request);
    r = put_all(change, &reading, &ret_result->handoff, &record, err);
    name_entry(&reading, &facts, ret_result);
    return r < 0 ? r : commit(handoffs->store, change, err);
}

/** One that waits is expired for a new one. @return 1 there may be room now, 0 there is none */
static int make_room(const struct handoff_store *handoffs, const struct handoff_request *request,
                     int64_t now_ns, struct rondo_error *err)
{
    static const struct handoff_note note = {
        .details = "{\"comment\":\"A newer request of the agent took its place.\"}"};
    static const struct handoff_command shed = {.kind = HANDOFF_SHED,
                                                .actor = {.id = HANDOFF_SHEDDER, .is_admin = true}};
    struct handoff_result result;
    char id[ID_SIZE];
    if (handoffs->bounds->on_full != ON_FULL_SHED) {
        return 0;
    }
    int r = waiting_find_shed(handoffs, request, id, err);
    if (r == 1) {
        r = handoff_act(handoffs, id, &shed, &note, now_ns, &result, err);
        r = r < 0 && r != RONDO_ERR_NOT_FOUND ? r : 1;
    }
    return r;
}

int handoff_submit(const struct handoff_store *handoffs, const struct handoff_request *request,
                   const char *body, int64_t now_ns, struct handoff_result *ret_result,
                   struct rondo_error *err)
{
    struct handoff_result result = {0};
    bool may_shed = true;
    int r = check_body(body, err);
    if (r < 0) {
        return r;
    }
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        r = try_submit(handoffs, request, body, now_ns, &result, err);
        if (r == 1 && result.outcome == HANDOFF_FULL && may_shed) {
            int made = make_room(handoffs, request, now_ns, err);
            may_shed = made == 1;
            r = made < 0 ? made : made == 1 ? 0 : 1;
        }
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
    ret_result->entry = 0;
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
    r = put_open(change, handoffs, &reading.handoff, handoff, err);
    r = r < 0 ? r : waiting_change(change, handoffs, &reading.handoff, handoff, err);
    if (r < 0) {
        return r;
    }
    r = put_all(change, &reading, handoff, &record, err);
    name_entry(&reading, &facts, ret_result);
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

/* ---- Other facts ---------------------------------------------------------------------------- */

/** An entry that was made under a key. */
struct fact_entry {
    uint64_t number;
    char hash[HANDOFF_DIGEST_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
};

static bool take_entry(const struct store_document *document, void *context)
{
    struct fact_entry *entry = context;
    auto_json struct json_object *root = NULL;
    if (json_parse(document->data, document->data_len, &root, NULL) == 0) {
        entry->number = (uint64_t)json_get_int(root, "number", 0);
        snprintf(entry->hash, sizeof(entry->hash), "%s", json_get_string(root, "hash", ""));
        snprintf(entry->digest, sizeof(entry->digest), "%s", json_get_string(root, "digest", ""));
    }
    return false;
}

static void put_once(struct handoff_change *change, const struct audit_head *head,
                     const struct handoff_once *once)
{
    struct json_writer writer =
        json_writer(handoff_change_put(change, HANDOFF_ONCE_COLLECTION, once->key, 0));
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_int(&writer, "number", (int64_t)head->size);
    json_write_string(&writer, "hash", head->hash);
    json_write_string(&writer, "digest", once->digest);
    json_end_object(&writer);
}

/** @param once NULL = as often as it is said. @return 1 there is an entry, 0 somebody was faster,
 * or a code */
static int try_fact(const struct handoff_store *handoffs, const struct audit_fact *fact,
                    const struct handoff_once *once, struct fact_entry *ret_entry,
                    struct rondo_error *err)
{
    struct store *store = handoffs->store;
    struct handoff_reading reading = {.err = err};
    auto_change struct handoff_change *change = memory_new_zero(1, sizeof(*change));
    char key[24];
    int r = read_one(store, AUDIT_HEAD_COLLECTION, HEAD_KEY, read_head, &reading);
    if (r == 0 && once != NULL) {
        struct store_document_query query = {.collection = HANDOFF_ONCE_COLLECTION,
                                             .key = once->key};
        r = store->ops->read_documents(store, &query, take_entry, ret_entry, err);
    }
    if (r < 0 || ret_entry->number != 0) {
        return r < 0 ? r : 1;
    }
    snprintf(key, sizeof(key), "%020" PRIu64, reading.head.size + 1);
    r = audit_append(&reading.head, fact, handoff_change_put(change, AUDIT_COLLECTION, key, 0),
                     err);
    if (r < 0) {
        return r;
    }
    audit_head_encode(&reading.head, handoff_change_put(change, AUDIT_HEAD_COLLECTION, HEAD_KEY,
                                                        reading.head_version));
    if (once != NULL) {
        put_once(change, &reading.head, once);
    }
    r = commit(store, change, err);
    if (r == 1) {
        ret_entry->number = reading.head.size;
        memcpy(ret_entry->hash, reading.head.hash, sizeof(ret_entry->hash));
    }
    return r;
}

int handoff_add_fact_once(const struct handoff_store *handoffs, const struct audit_fact *fact,
                          const struct handoff_once *once, enum handoff_outcome *ret_outcome,
                          uint64_t *ret_number, char *ret_hash, struct rondo_error *err)
{
    struct fact_entry entry = {0};
    int r = 0;
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        r = try_fact(handoffs, fact, once, &entry, err);
    }
    if (r == 1) {
        bool is_new = entry.digest[0] == '\0'; /* Else it was read. */
        bool is_same = !is_new && strcmp(entry.digest, once->digest) == 0;
        *ret_outcome = is_new ? HANDOFF_DONE : is_same ? HANDOFF_REPEATED : HANDOFF_OTHER_ACTION;
        *ret_number = entry.number;
        memcpy(ret_hash, entry.hash, HANDOFF_DIGEST_SIZE);
    }
    return r == 1 ? 0 : r < 0 ? r : too_busy(err);
}

int handoff_add_fact(const struct handoff_store *handoffs, const struct audit_fact *fact,
                     uint64_t *ret_number, char *ret_hash, struct rondo_error *err)
{
    enum handoff_outcome ignored;
    return handoff_add_fact_once(handoffs, fact, NULL, &ignored, ret_number, ret_hash, err);
}
