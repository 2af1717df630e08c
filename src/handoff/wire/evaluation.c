// SPDX-License-Identifier: Apache-2.0
#include "handoff/wire/evaluation.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/storage/stats.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Entries of one transaction; each deletes the one that it makes too many. */
#define BATCH    64
#define KEY_SIZE 24
#define DAY_S    INT64_C(86400)
/** Times that another server may be faster. */
#define MOST_TRIES 20

struct evaluation_log {
    struct store *store;
    pthread_mutex_t lock;                     /* guards what follows */
    char *waiting[LIMIT_EVALUATIONS_WAITING]; /* JSON, oldest first */
    size_t count;
    pthread_mutex_t writing; /* one flush at a time */
};

struct evaluation_log *evaluation_log_new(struct store *store)
{
    struct evaluation_log *log = memory_new_zero(1, sizeof(*log));
    log->store = store;
    pthread_mutex_init(&log->lock, NULL);
    pthread_mutex_init(&log->writing, NULL);
    return log;
}

void evaluation_log_free(struct evaluation_log *log)
{
    if (log == NULL) {
        return;
    }
    for (size_t i = 0; i < log->count; i++) {
        free(log->waiting[i]);
    }
    pthread_mutex_destroy(&log->lock);
    pthread_mutex_destroy(&log->writing);
    free(log);
}

static void encode(const struct evaluated_action *evaluation, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_int(&writer, "time_ns", evaluation->time_ns);
    json_write_string(&writer, "agent_id", evaluation->agent_id);
    json_write_string(&writer, "lane_id", evaluation->lane_id);
    json_write_string(&writer, "run_id", evaluation->run_id);
    json_write_string(&writer, "profile", evaluation->profile);
    json_write_string(&writer, "tool", evaluation->tool);
    json_write_string(&writer, "action_digest", evaluation->action_digest);
    json_write_raw(&writer, "context", evaluation->context);
    json_write_bool(&writer, "has_approval", evaluation->has_approval);
    json_write_bool(&writer, "is_evidence", evaluation->is_evidence);
    json_write_int(&writer, "rework_count", evaluation->rework_count);
    json_write_string(&writer, "outcome", evaluation->outcome);
    json_write_string(&writer, "rule", evaluation->rule);
    json_write_raw(&writer, "reasons", evaluation->reasons);
    json_write_string(&writer, "policy_hash", evaluation->policy_hash);
    json_end_object(&writer);
}

void evaluation_log_add(struct evaluation_log *log, const struct evaluated_action *evaluation)
{
    struct buf json = {0};
    if (strlen(evaluation->context) > LIMIT_EVALUATION_CONTEXT_BYTES) {
        return;
    }
    encode(evaluation, &json);
    char *text = buf_steal(&json);
    pthread_mutex_lock(&log->lock);
    if (log->count < LIMIT_EVALUATIONS_WAITING) {
        log->waiting[log->count++] = text;
        text = NULL;
    }
    pthread_mutex_unlock(&log->lock);
    free(text);
}

/* ---- Writing -------------------------------------------------------------------------------- */

static bool take_last(const struct store_document *document, void *context)
{
    *(uint64_t *)context = strtoull(document->key, NULL, 10);
    return false;
}

static int read_last(struct store *store, uint64_t *ret_last, struct rondo_error *err)
{
    struct store_document_query query = {
        .collection = EVALUATION_COLLECTION, .is_descending = true, .limit = 1};
    *ret_last = 0;
    return store->ops->read_documents(store, &query, take_last, ret_last, err);
}

/** @return 1 written, 0 another server was faster, or a code */
static int try_write(struct store *store, char *const *texts, size_t count, struct rondo_error *err)
{
    struct store_change changes[2 * BATCH];
    char keys[2 * BATCH][KEY_SIZE];
    uint64_t last = 0;
    size_t n = 0;
    bool is_applied = false;
    int r = read_last(store, &last, err);
    for (size_t i = 0; i < count && r == 0; i++) {
        uint64_t number = last + 1 + i;
        snprintf(keys[n], KEY_SIZE, "%020" PRIu64, number);
        changes[n] = (struct store_change){.kind = STORE_PUT,
                                           .collection = EVALUATION_COLLECTION,
                                           .key = keys[n],
                                           .data = texts[i],
                                           .data_len = strlen(texts[i])};
        n++;
        if (number > LIMIT_EVALUATIONS) {
            snprintf(keys[n], KEY_SIZE, "%020" PRIu64, number - LIMIT_EVALUATIONS);
            changes[n] = (struct store_change){.kind = STORE_DELETE,
                                               .collection = EVALUATION_COLLECTION,
                                               .key = keys[n],
                                               .if_version = STORE_ANY_VERSION};
            n++;
        }
    }
    r = r < 0 ? r : store->ops->change_documents(store, changes, n, &is_applied, err);
    return r < 0 ? r : is_applied;
}

static int write_batch(struct store *store, char *const *texts, size_t count,
                       struct rondo_error *err)
{
    int r = 0;
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        r = try_write(store, texts, count, err);
    }
    return r == 0  ? error_set(err, RONDO_ERR_BUSY, "others keep writing evaluations")
           : r < 0 ? r
                   : 0;
}

/** Under the lock: forget the oldest ones. */
static void drop_first(struct evaluation_log *log, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(log->waiting[i]);
    }
    log->count -= count;
    memmove(log->waiting, log->waiting + count, log->count * sizeof(log->waiting[0]));
}

int evaluation_log_flush(struct evaluation_log *log, struct rondo_error *err)
{
    int r = 0;
    size_t count = 0;
    pthread_mutex_lock(&log->writing);
    do {
        char *texts[BATCH];
        pthread_mutex_lock(&log->lock);
        count = log->count < BATCH ? log->count : BATCH;
        memcpy(texts, log->waiting, count * sizeof(texts[0]));
        pthread_mutex_unlock(&log->lock);
        /* Only a flush removes entries: these stay where they are meanwhile. */
        r = count == 0 ? 0 : write_batch(log->store, texts, count, err);
        if (r == 0) {
            pthread_mutex_lock(&log->lock);
            drop_first(log, count);
            pthread_mutex_unlock(&log->lock);
        }
    } while (r == 0 && count == BATCH);
    pthread_mutex_unlock(&log->writing);
    return r;
}

/* ---- Finding -------------------------------------------------------------------------------- */

struct evaluation_search {
    const char *agent_id;
    const char *action_digest;
    struct buf *context;
    bool is_found;
};

/** @return whether it is the one that is looked for: then its context was taken */
static bool is_it(struct evaluation_search *search, const char *json, size_t len)
{
    auto_json struct json_object *root = NULL;
    if (memmem(json, len, search->action_digest, strlen(search->action_digest)) == NULL ||
        json_parse(json, len, &root, NULL) < 0 ||
        strcmp(json_get_string(root, "agent_id", ""), search->agent_id) != 0 ||
        strcmp(json_get_string(root, "action_digest", ""), search->action_digest) != 0) {
        return false;
    }
    buf_append_string(search->context, json_object_to_json_string_ext(json_member(root, "context"),
                                                                      JSON_C_TO_STRING_PLAIN));
    search->is_found = true;
    return true;
}

static bool look_at(const struct store_document *document, void *context)
{
    return !is_it(context, document->data, document->data_len);
}

int evaluation_find(struct evaluation_log *log, const char *agent_id, const char *action_digest,
                    struct buf *ret_context, struct rondo_error *err)
{
    struct evaluation_search search = {agent_id, action_digest, ret_context, false};
    pthread_mutex_lock(&log->lock);
    for (size_t i = log->count; i > 0 && !search.is_found; i--) {
        (void)is_it(&search, log->waiting[i - 1], strlen(log->waiting[i - 1]));
    }
    pthread_mutex_unlock(&log->lock);
    if (search.is_found) {
        return 0;
    }
    struct store_document_query query = {
        .collection = EVALUATION_COLLECTION, .is_descending = true, .limit = LIMIT_EVALUATIONS};
    int r = log->store->ops->read_documents(log->store, &query, look_at, &search, err);
    return r < 0 || search.is_found
               ? r
               : error_set(err, RONDO_ERR_NOT_FOUND, "the action was never asked about");
}

/* ---- Figures -------------------------------------------------------------------------------- */

bool evaluation_is_actionable(struct json_object *context)
{
    bool is_harmless = json_get_int(context, "impact", 1) == 0 &&
                       json_get_int(context, "risk_level", 1) == 0 &&
                       json_get_bool(context, "reversible", false);
    return !is_harmless;
}

struct evaluation_figures {
    int64_t from_ns;
    int64_t to_ns;
    uint64_t seen; /**< that are stored, of whatever time */
    int64_t oldest_ns;
    uint64_t count;
    uint64_t allowed;
    uint64_t asked;
    uint64_t denied;
    uint64_t actionable;
    uint64_t asked_actionable;
};

static bool count_evaluation(const struct store_document *document, void *context)
{
    struct evaluation_figures *figures = context;
    auto_json struct json_object *root = NULL;
    figures->seen++;
    if (json_parse(document->data, document->data_len, &root, NULL) < 0) {
        return true;
    }
    int64_t time_ns = json_get_int(root, "time_ns", 0);
    figures->oldest_ns = time_ns;
    if (time_ns < figures->from_ns) {
        return false; /* The newest come first. */
    }
    if (time_ns >= figures->to_ns || json_get_bool(root, "has_approval", false)) {
        return true;
    }
    const char *outcome = json_get_string(root, "outcome", "");
    bool is_actionable = evaluation_is_actionable(json_member(root, "context"));
    bool is_asked = strcmp(outcome, "handoff") == 0;
    figures->count++;
    figures->asked += is_asked;
    figures->allowed += strcmp(outcome, "allow") == 0;
    figures->denied += strcmp(outcome, "deny") == 0;
    figures->actionable += is_actionable;
    figures->asked_actionable += is_asked && is_actionable;
    return true;
}

int evaluation_write_figures(struct store *store, int64_t from_ns, int64_t to_ns,
                             struct json_writer *writer, struct rondo_error *err)
{
    struct evaluation_figures figures = {.from_ns = from_ns, .to_ns = to_ns};
    struct store_document_query query = {
        .collection = EVALUATION_COLLECTION, .is_descending = true, .limit = LIMIT_EVALUATIONS};
    int r = store->ops->read_documents(store, &query, count_evaluation, &figures, err);
    if (r < 0) {
        return r;
    }
    bool is_complete = figures.seen < LIMIT_EVALUATIONS || figures.oldest_ns < from_ns;
    int64_t begin_ns = is_complete ? from_ns : figures.oldest_ns;
    int64_t span_s = (to_ns - begin_ns) / NS_PER_S;
    json_write_int(writer, "count", (int64_t)figures.count);
    json_write_bool(writer, "is_complete", is_complete);
    json_write_int(writer, "per_day", span_s < 1 ? 0 : (int64_t)figures.count * DAY_S / span_s);
    json_write_int(writer, "allow", (int64_t)figures.allowed);
    json_write_int(writer, "handoff", (int64_t)figures.asked);
    json_write_int(writer, "deny", (int64_t)figures.denied);
    stats_write_share(writer, "hitl_ratio", figures.asked_actionable, figures.actionable);
    return 0;
}
