// SPDX-License-Identifier: Apache-2.0
/* Sinks and their deliveries as documents of the store: what commands and the API do with them. */
#include "alert/sink.h"

#include "alert/delivery.h"
#include "alert/sink_program.h"
#include "alert/sink_read.h"
#include "alert/sink_sign.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "model/key/secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Tries of a change when somebody else changes the same document. */
#define CHANGE_TRIES 8

/* ---- Reading -------------------------------------------------------------------------------- */

struct sink_lookup {
    struct sink *sink;
    int64_t version;
    bool is_found;
    int code;
    struct rondo_error *err;
};

static bool take_sink(const struct store_document *document, void *context)
{
    struct sink_lookup *finding = context;
    finding->code = sink_decode(document->data, document->data_len, finding->sink, finding->err);
    finding->version = (int64_t)document->version;
    finding->is_found = true;
    return false;
}

int sink_find(struct store *store, const char *name, struct sink *ret_sink, int64_t *ret_version,
              struct rondo_error *err)
{
    struct sink_lookup finding = {.sink = ret_sink, .err = err};
    bool is_possible = name[0] != '\0' && strlen(name) <= SINK_NAME_LEN;
    struct store_document_query query = {.collection = SINK_COLLECTION, .key = name};
    int r = is_possible ? store->ops->read_documents(store, &query, take_sink, &finding, err) : 0;
    if (r < 0 || finding.code < 0) {
        return r < 0 ? r : finding.code;
    }
    if (!finding.is_found) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no sink called %.64s", name);
    }
    if (ret_version != NULL) {
        *ret_version = finding.version;
    }
    return 0;
}

struct sink_listing {
    struct json_writer writer;
    uint32_t left;
    bool is_dead;
};

static bool list_sink(const struct store_document *document, void *context)
{
    struct sink_listing *listing = context;
    struct sink sink = {0};
    if (sink_decode(document->data, document->data_len, &sink, NULL) == 0) {
        auto_buf struct buf shown = {0};
        sink_show(&sink, &shown);
        json_write_raw(&listing->writer, NULL, buf_string(&shown));
        sink_fini(&sink);
    }
    return true;
}

int sink_list(struct store *store, struct buf *ret_json, struct rondo_error *err)
{
    auto_buf struct buf array = {0};
    struct sink_listing listing = {.writer = json_writer(&array)};
    struct store_document_query query = {.collection = SINK_COLLECTION};
    json_begin_array(&listing.writer, NULL);
    int r = store->ops->read_documents(store, &query, list_sink, &listing, err);
    json_end_array(&listing.writer);
    if (r == 0) {
        buf_append(ret_json, array.data, array.len);
    }
    return r;
}

/* ---- Changing ------------------------------------------------------------------------------- */

static int write_sink(struct store *store, const struct sink *sink, int64_t if_version,
                      bool *ret_is_applied, struct rondo_error *err)
{
    struct buf json = {0};
    sink_encode(sink, &json);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = SINK_COLLECTION,
        .key = sink->name,
        .data = buf_string(&json),
        .data_len = json.len,
        .if_version = if_version,
    };
    int r = store->ops->change_documents(store, &change, 1, ret_is_applied, err);
    secret_fini_buf(&json);
    return r;
}

static bool count_sink(const struct store_document *document, void *context)
{
    (void)document;
    ++*(size_t *)context;
    return true;
}

static int check_room(struct store *store, struct rondo_error *err)
{
    size_t count = 0;
    struct store_document_query query = {.collection = SINK_COLLECTION};
    int r = store->ops->read_documents(store, &query, count_sink, &count, err);
    if (r == 0 && count >= LIMIT_SINKS) {
        r = error_set(err, RONDO_ERR_LIMIT, "there are %d sinks already", LIMIT_SINKS);
    }
    return r;
}

/** Give a webhook its secret: given, the one it had, or a new one. */
static void settle_secret(struct sink *sink, struct sink *old, char ret_secret[SINK_SECRET_SIZE])
{
    ret_secret[0] = '\0';
    if (sink->kind != SINK_WEBHOOK || sink->secret != NULL) {
        return;
    }
    if (old->secret != NULL) {
        sink->secret = memory_dup_string(old->secret);
        return;
    }
    sink_secret_new(random_system(), ret_secret);
    sink->secret = memory_dup_string(ret_secret);
}

static int put_once(struct store *store, struct sink *sink, char ret_secret[SINK_SECRET_SIZE],
                    bool *ret_is_applied, struct rondo_error *err)
{
    struct sink old = {0};
    int64_t version = 0;
    struct rondo_error reason = {0};
    int r = sink_find(store, sink->name, &old, &version, &reason);
    if (r == RONDO_ERR_NOT_FOUND) {
        r = check_room(store, &reason);
    } else if (r == RONDO_ERR_INVALID || r == RONDO_ERR_LIMIT) {
        version = STORE_ANY_VERSION; /* what is there cannot be read: it is replaced */
        r = 0;
    }
    if (r < 0) {
        return error_set(err, r, "%s", reason.message);
    }
    sink->created_ns = old.created_ns != 0 ? old.created_ns : clock_now(clock_system());
    settle_secret(sink, &old, ret_secret);
    sink_fini(&old);
    return write_sink(store, sink, version, ret_is_applied, err);
}

int sink_put(struct store *store, struct json_object *sink, char ret_secret[SINK_SECRET_SIZE],
             struct rondo_error *err)
{
    struct sink parsed = {0};
    char secret[SINK_SECRET_SIZE] = "";
    int r = sink_parse(sink, false, &parsed, err);
    if (r < 0) {
        return r;
    }
    if (sink_kind_target(parsed.kind) == SINK_HAS_COMMAND) {
        r = sink_program_pin(&parsed, err);
    }
    bool is_given = parsed.secret != NULL;
    bool is_applied = false;
    for (int i = 0; r == 0 && !is_applied && i < CHANGE_TRIES; i++) {
        if (!is_given) {
            secret_free_string(steal_pointer(&parsed.secret));
        }
        r = put_once(store, &parsed, secret, &is_applied, err);
    }
    if (r == 0 && !is_applied) {
        r = error_set(err, RONDO_ERR_STATE, "the sink is being changed by another process");
    }
    if (r == 0) {
        memcpy(ret_secret, secret, sizeof(secret));
    }
    explicit_bzero(secret, sizeof(secret));
    sink_fini(&parsed);
    return r;
}

int sink_remove(struct store *store, const char *name, struct rondo_error *err)
{
    struct sink sink = {0};
    struct rondo_error reason = {0};
    int r = sink_find(store, name, &sink, NULL, &reason);
    sink_fini(&sink);
    if (r < 0 && r != RONDO_ERR_INVALID && r != RONDO_ERR_LIMIT) {
        return error_set(err, r, "%s", reason.message);
    }
    bool is_applied = false;
    struct store_change change = {
        .kind = STORE_DELETE,
        .collection = SINK_COLLECTION,
        .key = name,
        .if_version = STORE_ANY_VERSION,
    };
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int sink_disable(struct store *store, const char *name, const char *reason, struct rondo_error *err)
{
    struct sink sink = {0};
    int64_t version = 0;
    bool is_applied = false;
    int r = sink_find(store, name, &sink, &version, err);
    if (r < 0 || sink.disabled != NULL) {
        sink_fini(&sink);
        return r;
    }
    sink.disabled = memory_dup_string(reason);
    r = write_sink(store, &sink, version, &is_applied, err);
    sink_fini(&sink);
    return r;
}

/* ---- Deliveries ----------------------------------------------------------------------------- */

static int put_delivery(struct store *store, const struct delivery *delivery,
                        const struct delivery *in_place_of, bool *ret_is_applied,
                        struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    delivery_encode(delivery, &json);
    struct store_change changes[] = {
        {
            .kind = STORE_PUT,
            .collection = DELIVERY_COLLECTION,
            .key = delivery->key,
            .data = buf_string(&json),
            .data_len = json.len,
            .if_version = STORE_ANY_VERSION,
        },
        {
            .kind = STORE_DELETE,
            .collection = DEAD_LETTER_COLLECTION,
            .key = in_place_of == NULL ? "" : in_place_of->key,
            .if_version = in_place_of == NULL ? STORE_ANY_VERSION : in_place_of->version,
        },
    };
    return store->ops->change_documents(store, changes, in_place_of == NULL ? 1 : 2, ret_is_applied,
                                        err);
}

/** The id of a test: after all current warnings. */
static int name_test(struct store *store, int64_t now_ns, struct warning *warning,
                     struct rondo_error *err)
{
    char unique[ID_SIZE];
    int r = store->ops->last_position(store, &warning->position, err);
    id_new(now_ns, random_system(), unique);
    snprintf(warning->id, sizeof(warning->id), "%020" PRIu64 "-test-%s", warning->position, unique);
    return r;
}

int sink_test(struct store *store, const char *name, struct rondo_error *err)
{
    struct sink sink = {0};
    int64_t now_ns = clock_now(clock_system());
    struct warning warning = {
        .kind = WARNING_TEST,
        .time_ns = now_ns,
        .message = "test of this sink; nothing happened",
    };
    int r = sink_find(store, name, &sink, NULL, err);
    if (r == 0 && sink.disabled != NULL) {
        r = error_set(err, RONDO_ERR_STATE, "the sink is disabled (%.80s): add it again",
                      sink.disabled);
    }
    sink_fini(&sink);
    r = r < 0 ? r : name_test(store, now_ns, &warning, err);
    if (r < 0) {
        return r;
    }
    auto_buf struct buf json = {0};
    bool is_applied = false;
    warning_write(&warning, &json);
    struct delivery delivery = delivery_new(name, warning.id, buf_string(&json), 0, now_ns);
    r = put_delivery(store, &delivery, NULL, &is_applied, err);
    delivery_fini(&delivery);
    return r;
}

static bool list_delivery(const struct store_document *document, void *context)
{
    struct sink_listing *listing = context;
    struct delivery delivery;
    if (delivery_decode(document, &delivery, NULL) == 0) {
        auto_buf struct buf shown = {0};
        delivery_show(&delivery, listing->is_dead, &shown);
        json_write_raw(&listing->writer, NULL, buf_string(&shown));
        delivery_fini(&delivery);
    }
    return true;
}

int sink_deliveries(struct store *store, bool is_dead, uint32_t limit, struct buf *ret_json,
                    struct rondo_error *err)
{
    auto_buf struct buf array = {0};
    struct sink_listing listing = {.writer = json_writer(&array), .is_dead = is_dead};
    struct store_document_query query = {
        .collection = is_dead ? DEAD_LETTER_COLLECTION : DELIVERY_COLLECTION,
        .is_descending = is_dead,
        .limit = limit,
    };
    json_begin_array(&listing.writer, NULL);
    int r = store->ops->read_documents(store, &query, list_delivery, &listing, err);
    json_end_array(&listing.writer);
    if (r == 0) {
        buf_append(ret_json, array.data, array.len);
    }
    return r;
}

struct reviving {
    struct delivery delivery;
    bool is_found;
    int code;
    struct rondo_error *err;
};

static bool take_dead(const struct store_document *document, void *context)
{
    struct reviving *reviving = context;
    reviving->code = delivery_decode(document, &reviving->delivery, reviving->err);
    reviving->is_found = reviving->code == 0;
    return false;
}

int sink_redeliver(struct store *store, const char *id, struct rondo_error *err)
{
    struct reviving reviving = {.err = err};
    bool is_possible = id[0] != '\0' && strlen(id) < DELIVERY_ID_SIZE;
    struct store_document_query query = {.collection = DEAD_LETTER_COLLECTION, .key = id};
    int r = is_possible ? store->ops->read_documents(store, &query, take_dead, &reviving, err) : 0;
    r = r < 0 ? r : reviving.code;
    if (r < 0) {
        return r;
    }
    if (!reviving.is_found) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no such dead letter");
    }
    bool is_applied = false;
    struct delivery again = delivery_again(&reviving.delivery, clock_now(clock_system()));
    r = put_delivery(store, &again, &reviving.delivery, &is_applied, err);
    delivery_fini(&reviving.delivery);
    if (r == 0 && !is_applied) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "the dead letter no longer exists");
    }
    return r;
}
