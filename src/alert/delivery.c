// SPDX-License-Identifier: Apache-2.0
/* The queue of deliveries in the store. */
#include "alert/delivery.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/owner.h"
#include "store/find.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Digits of a time in a key. */
#define KEY_DIGITS 20

/** Time before each attempt, from the second on. */
static const int64_t delays_ns[DELIVERY_ATTEMPTS] = {
    0,
    5 * NS_PER_S,
    30 * NS_PER_S,
    2 * 60 * NS_PER_S,
    10 * 60 * NS_PER_S,
    30 * 60 * NS_PER_S,
    2 * 3600 * NS_PER_S,
    6 * 3600 * NS_PER_S,
};

/** Time between an attempt and the next, with jitter. @param attempts made so far, from 1 */
static int64_t delivery_delay_ns(int64_t attempts, struct random *random)
{
    int64_t delay = delays_ns[attempts < DELIVERY_ATTEMPTS ? attempts : DELIVERY_ATTEMPTS - 1];
    /* 90 to 110 per cent: deliveries that failed together do not come back together. */
    return delay / 10 * 9 + (int64_t)random_below(random, (uint64_t)delay / 5 + 1);
}

void delivery_fini(struct delivery *delivery)
{
    free(delivery->warning);
    delivery->warning = NULL;
}

static void set_key(struct delivery *delivery, int64_t due_ns)
{
    delivery->due_ns = due_ns;
    snprintf(delivery->key, sizeof(delivery->key), "%0*" PRId64 "-%s", KEY_DIGITS, due_ns,
             delivery->id);
}

struct delivery delivery_new(const char *sink, const char *warning_id, const char *warning,
                             int64_t epoch, int64_t now_ns)
{
    struct delivery delivery = {
        .created_ns = now_ns,
        .epoch = epoch,
        .warning = memory_dup_string(warning),
    };
    char mark[SINK_MARK_SIZE];
    sink_mark(sink, mark);
    snprintf(delivery.sink, sizeof(delivery.sink), "%s", sink);
    snprintf(delivery.id, sizeof(delivery.id), "%.*s-%s", WARNING_ID_SIZE - 1, warning_id, mark);
    set_key(&delivery, now_ns);
    return delivery;
}

struct delivery delivery_again(const struct delivery *dead, int64_t now_ns)
{
    struct delivery again = *dead;
    again.attempts = 0;
    again.by[0] = '\0';
    set_key(&again, now_ns);
    return again;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

void delivery_encode(const struct delivery *delivery, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "id", delivery->id);
    json_write_string(&writer, "sink", delivery->sink);
    json_write_int(&writer, "attempts", delivery->attempts);
    json_write_int(&writer, "due_ns", delivery->due_ns);
    json_write_int(&writer, "created_ns", delivery->created_ns);
    json_write_int(&writer, "epoch", delivery->epoch);
    json_write_string(&writer, "by", delivery->by[0] == '\0' ? NULL : delivery->by);
    json_write_string(&writer, "error", delivery->error[0] == '\0' ? NULL : delivery->error);
    json_write_raw(&writer, "warning", delivery->warning);
    json_end_object(&writer);
}

int delivery_decode(const struct store_document *document, struct delivery *ret_delivery,
                    struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct json_object *warning = NULL;
    int r = json_parse(document->data, document->data_len, &root, err);
    if (r < 0 || !json_object_object_get_ex(root, "warning", &warning)) {
        return error_set(err, RONDO_ERR_CORRUPT, "delivery %.120s is damaged", document->key);
    }
    struct delivery delivery = {
        .version = (int64_t)document->version,
        .attempts = json_get_int(root, "attempts", 0),
        .due_ns = json_get_int(root, "due_ns", 0),
        .created_ns = json_get_int(root, "created_ns", 0),
        .epoch = json_get_int(root, "epoch", 0),
        .warning = memory_dup_string(json_object_to_json_string_ext(
            warning, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)),
    };
    snprintf(delivery.key, sizeof(delivery.key), "%s", document->key);
    snprintf(delivery.id, sizeof(delivery.id), "%s", json_get_string(root, "id", ""));
    snprintf(delivery.sink, sizeof(delivery.sink), "%s", json_get_string(root, "sink", ""));
    snprintf(delivery.by, sizeof(delivery.by), "%s", json_get_string(root, "by", ""));
    snprintf(delivery.error, sizeof(delivery.error), "%s", json_get_string(root, "error", ""));
    *ret_delivery = delivery;
    return 0;
}

void delivery_show(const struct delivery *delivery, bool is_dead, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "id", delivery->id);
    json_write_string(&writer, "sink", delivery->sink);
    json_write_bool(&writer, "is_dead", is_dead);
    json_write_int(&writer, "attempts", delivery->attempts);
    json_write_time(&writer, "created", delivery->created_ns);
    if (is_dead) {
        json_write_null(&writer, "due");
    } else {
        json_write_time(&writer, "due", delivery->due_ns);
    }
    json_write_string(&writer, "error", delivery->error[0] == '\0' ? NULL : delivery->error);
    json_write_raw(&writer, "warning", delivery->warning);
    json_end_object(&writer);
}

/* ---- Claiming ------------------------------------------------------------------------------- */

static bool is_busy(const struct delivery_busy *busy, const char *key)
{
    size_t len = strlen(key);
    if (busy->only != NULL && strstr(key, busy->only) == NULL) {
        return true;
    }
    for (size_t i = 0; len >= SINK_MARK_SIZE && i < busy->count; i++) {
        if (strcmp(key + len - (SINK_MARK_SIZE - 1), busy->marks[i]) == 0) {
            return true;
        }
    }
    return false;
}

struct delivery_search {
    char now[KEY_DIGITS + 2];   /* keys of what is due are not after it */
    char until[KEY_DIGITS + 2]; /* nor those of attempts after this */
    const struct delivery_busy *busy;
    bool is_found;
    struct delivery found;
    int64_t next_ns;
    char damaged[STORE_KEY_LEN + 1]; /* a document that is none; "" = none */
};

/** Whether an attempt is under way in a process that is certainly dead. */
static bool is_left(const struct store_document *document)
{
    static const char mark[] = "\"by\":\"pid=";
    struct delivery delivery;
    /* Most wait for their time: those are not read. */
    if (memmem(document->data, document->data_len, mark, sizeof(mark) - 1) == NULL ||
        delivery_decode(document, &delivery, NULL) < 0) {
        return false;
    }
    bool is_dead = delivery.by[0] != '\0' && owner_is_dead(delivery.by);
    delivery_fini(&delivery);
    return is_dead;
}

/** What is due comes first. */
static bool find_due(const struct store_document *document, void *context)
{
    struct delivery_search *search = context;
    bool is_due = strcmp(document->key, search->now) < 0;
    if (!is_due && search->next_ns == INT64_MAX) {
        search->next_ns = strtoll(document->key, NULL, 10);
    }
    if (!is_due && strcmp(document->key, search->until) >= 0) {
        return false;
    }
    if (is_busy(search->busy, document->key) || (!is_due && !is_left(document))) {
        return true;
    }
    search->is_found = delivery_decode(document, &search->found, NULL) == 0;
    if (!search->is_found) {
        snprintf(search->damaged, sizeof(search->damaged), "%s", document->key);
    }
    return false;
}

static struct store_change change_of(enum store_change_kind kind, const char *collection,
                                     const char *key, const struct buf *data, int64_t if_version)
{
    return (struct store_change){
        .kind = kind,
        .collection = collection,
        .key = key,
        .data = data == NULL ? NULL : buf_string(data),
        .data_len = data == NULL ? 0 : data->len,
        .if_version = if_version,
    };
}

/** Put a delivery in another's place, if that is still there. */
static int replace(struct store *store, const struct delivery *old, const struct delivery *new,
                   const char *collection, bool *ret_is_applied, struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    delivery_encode(new, &data);
    bool is_dead = strcmp(collection, DEAD_LETTER_COLLECTION) == 0;
    const struct store_change changes[] = {
        change_of(STORE_DELETE, DELIVERY_COLLECTION, old->key, NULL, old->version),
        change_of(STORE_PUT, collection, is_dead ? new->id : new->key, &data, STORE_ANY_VERSION),
    };
    return store->ops->change_documents(store, changes, 2, ret_is_applied, err);
}

/** Move what was found past the time that its attempt may take. */
static int claim_delivery(struct store *store, struct delivery *delivery, const char *by,
                          int64_t now_ns, bool *ret_is_taken, struct rondo_error *err)
{
    struct delivery old = *delivery;
    delivery->attempts++;
    snprintf(delivery->by, sizeof(delivery->by), "%s", by);
    set_key(delivery, now_ns + DELIVERY_CLAIM_NS);
    int r = replace(store, &old, delivery, DELIVERY_COLLECTION, ret_is_taken, err);
    delivery->version = 1;
    return r;
}

static int drop_damaged(struct store *store, const char *key, struct rondo_error *err)
{
    bool is_applied = false;
    struct store_change change =
        change_of(STORE_DELETE, DELIVERY_COLLECTION, key, NULL, STORE_ANY_VERSION);
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int delivery_claim(struct store *store, int64_t now_ns, const struct delivery_busy *busy,
                   bool *ret_is_found, struct delivery *ret_delivery, int64_t *ret_next_ns,
                   struct rondo_error *err)
{
    struct store_document_query query = {.collection = DELIVERY_COLLECTION};
    for (;;) {
        struct delivery_search search = {.busy = busy, .next_ns = INT64_MAX};
        snprintf(search.now, sizeof(search.now), "%0*" PRId64 ".", KEY_DIGITS, now_ns);
        snprintf(search.until, sizeof(search.until), "%0*" PRId64 ".", KEY_DIGITS,
                 now_ns + DELIVERY_CLAIM_NS);
        int r = store->ops->read_documents(store, &query, find_due, &search, err);
        if (r == 0 && search.damaged[0] != '\0') {
            r = drop_damaged(store, search.damaged, err);
            if (r == 0) {
                continue;
            }
        }
        bool is_taken = false;
        if (r == 0 && search.is_found) {
            r = claim_delivery(store, &search.found, busy->by, now_ns, &is_taken, err);
        }
        if (r == 0 && search.is_found && !is_taken) {
            delivery_fini(&search.found); /* Another server was first: look again. */
            continue;
        }
        if (r < 0) {
            delivery_fini(&search.found);
            return r;
        }
        *ret_is_found = search.is_found;
        *ret_next_ns = search.next_ns;
        if (search.is_found) {
            *ret_delivery = search.found;
        }
        return 0;
    }
}

/* ---- Settling ------------------------------------------------------------------------------- */

/** Forget the oldest dead letters. What fails here is done with the next one. */
static void prune_dead(struct store *store)
{
    char key[STORE_KEY_LEN + 1];
    bool is_applied = false;
    if (store_find_excess(store, DEAD_LETTER_COLLECTION, LIMIT_DEAD_LETTERS_KEPT, key, NULL) == 0 &&
        key[0] != '\0') {
        struct store_change change =
            change_of(STORE_DELETE_UP_TO, DEAD_LETTER_COLLECTION, key, NULL, STORE_ANY_VERSION);
        store->ops->change_documents(store, &change, 1, &is_applied, NULL);
    }
}

static int64_t at_least(int64_t number, int64_t low)
{
    return number > low ? number : low;
}

int delivery_settle(struct store *store, struct delivery *delivery, enum delivery_outcome outcome,
                    int64_t wait_ns, int64_t now_ns, struct random *random, bool *ret_is_dead,
                    struct rondo_error *err)
{
    struct delivery next = *delivery;
    bool is_applied = false;
    next.by[0] = '\0';
    bool is_last = outcome == DELIVERY_FAILED && delivery->attempts >= DELIVERY_ATTEMPTS &&
                   delivery->attempts > delivery->more_attempts;
    bool is_dead = outcome == DELIVERY_DEAD || is_last;
    int r;
    if (is_dead) {
        r = replace(store, delivery, &next, DEAD_LETTER_COLLECTION, &is_applied, err);
        if (r == 0) {
            prune_dead(store);
        }
    } else if (outcome == DELIVERY_OK || outcome == DELIVERY_DROPPED) {
        struct store_change change =
            change_of(STORE_DELETE, DELIVERY_COLLECTION, delivery->key, NULL, delivery->version);
        r = store->ops->change_documents(store, &change, 1, &is_applied, err);
    } else {
        int64_t delay = 0;
        if (outcome == DELIVERY_CANCELLED) {
            next.attempts--;
        } else {
            delay = at_least(delivery_delay_ns(delivery->attempts, random), wait_ns);
        }
        set_key(&next, now_ns + delay);
        r = replace(store, delivery, &next, DELIVERY_COLLECTION, &is_applied, err);
    }
    *ret_is_dead = is_dead && is_applied;
    return r;
}

/* ---- Counting ------------------------------------------------------------------------------- */

static bool count_one(const struct store_document *document, void *context)
{
    (void)document;
    ++*(uint64_t *)context;
    return true;
}

int delivery_count(struct store *store, uint64_t *ret_waiting, uint64_t *ret_dead,
                   struct rondo_error *err)
{
    uint64_t waiting = 0;
    uint64_t dead = 0;
    struct store_document_query query = {.collection = DELIVERY_COLLECTION};
    int r = store->ops->read_documents(store, &query, count_one, &waiting, err);
    if (r == 0) {
        query.collection = DEAD_LETTER_COLLECTION;
        r = store->ops->read_documents(store, &query, count_one, &dead, err);
    }
    if (r == 0) {
        *ret_waiting = waiting;
        *ret_dead = dead;
    }
    return r;
}

struct delivery_counting {
    const char *run_id;
    uint64_t count;
};

static bool count_of_run(const struct store_document *document, void *context)
{
    struct delivery_counting *counting = context;
    counting->count += strstr(document->key, counting->run_id) != NULL;
    return true;
}

int delivery_count_of(struct store *store, const char *run_id, uint64_t *ret_waiting,
                      struct rondo_error *err)
{
    struct delivery_counting counting = {.run_id = run_id};
    struct store_document_query query = {.collection = DELIVERY_COLLECTION};
    int r = store->ops->read_documents(store, &query, count_of_run, &counting, err);
    if (r == 0) {
        *ret_waiting = counting.count;
    }
    return r;
}
