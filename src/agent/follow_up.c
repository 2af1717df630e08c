// SPDX-License-Identifier: Apache-2.0
/*
 * The documents. A second document for each agent, "follow-up-guard", changes with each one that is
 * added: who has counted on the same version of it as another is too late and counts again.
 */
#include "agent/follow_up.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_COLLECTION "follow-up-guard"
#define DUE_COLLECTION   "follow-up-due"
/** Digits of a time in its keys. */
#define DUE_DIGITS 20
/** Times that others may be faster. */
#define MOST_TRIES 20

static const char *const state_names[FOLLOW_UP_STATE_COUNT] = {"pending", "started", "cancelled"};

const char *follow_up_state_name(enum follow_up_state state)
{
    return state_names[state];
}

void follow_up_fini(struct follow_up *follow_up)
{
    free(follow_up->prompt);
    *follow_up = (struct follow_up){0};
}

void follow_up_id(const char *key, char ret_id[FOLLOW_UP_ID_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, key, strlen(key));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    snprintf(ret_id, FOLLOW_UP_ID_SIZE, "%.12s", hex);
}

/* ---- As JSON -------------------------------------------------------------------------------- */

static void write_members(const struct follow_up *follow_up, struct json_writer *writer)
{
    json_write_string(writer, "id", follow_up->id);
    json_write_string(writer, "agent", follow_up->agent);
    json_write_string(writer, "asked_by", follow_up->asked_by);
    json_write_string(writer, "state", state_names[follow_up->state]);
    json_write_int(writer, "depth", follow_up->depth);
    json_write_string(writer, "prompt", follow_up->prompt);
    if (follow_up->run_id[0] != '\0') {
        json_write_string(writer, "run_id", follow_up->run_id);
    }
}

void follow_up_write(const struct follow_up *follow_up, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    write_members(follow_up, &writer);
    json_write_time(&writer, "created", follow_up->created_ns);
    json_write_time(&writer, "due", follow_up->due_ns);
    json_end_object(&writer);
}

static void encode(const struct follow_up *follow_up, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    write_members(follow_up, &writer);
    json_write_int(&writer, "created_ns", follow_up->created_ns);
    json_write_int(&writer, "due_ns", follow_up->due_ns);
    json_end_object(&writer);
}

static void copy_member(struct json_object *root, const char *name, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s", json_get_string(root, name, ""));
}

static bool decode(const struct store_document *document, struct follow_up *ret_follow_up)
{
    auto_json struct json_object *root = NULL;
    struct follow_up read = {.version = document->version, .updated_ns = document->updated_ns};
    if (json_parse(document->data, document->data_len, &root, NULL) < 0) {
        return false;
    }
    copy_member(root, "id", read.id, sizeof(read.id));
    copy_member(root, "agent", read.agent, sizeof(read.agent));
    copy_member(root, "asked_by", read.asked_by, sizeof(read.asked_by));
    copy_member(root, "run_id", read.run_id, sizeof(read.run_id));
    read.created_ns = json_get_int(root, "created_ns", 0);
    read.due_ns = json_get_int(root, "due_ns", 0);
    read.listed_ns = read.due_ns;
    read.depth = json_get_int(root, "depth", 1);
    const char *state = json_get_string(root, "state", "");
    while (read.state < FOLLOW_UP_STATE_COUNT && strcmp(state_names[read.state], state) != 0) {
        read.state++;
    }
    if (read.state == FOLLOW_UP_STATE_COUNT) {
        return false;
    }
    read.prompt = memory_dup_string(json_get_string(root, "prompt", ""));
    *ret_follow_up = read;
    return true;
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct reading {
    follow_up_fn *fn;
    void *context;
    const char *id;    /* only this one; NULL = any */
    bool is_pending;   /* only those that are */
    int64_t before_ns; /* only those that were not changed since; 0 = any */
};

/**
 * What the caller does not want is passed over before its JSON is read: an agent has many that are
 * settled and few that are pending.
 */
static bool may_be_wanted(const struct reading *reading, const struct store_document *document)
{
    const char *id = strrchr(document->key, '/');
    return (reading->id == NULL || (id != NULL && strcmp(id + 1, reading->id) == 0)) &&
           (reading->before_ns == 0 || document->updated_ns < reading->before_ns) &&
           (!reading->is_pending ||
            memmem(document->data, document->data_len, "pending", strlen("pending")) != NULL);
}

/** One that cannot be read is left out: no list is worth less for it. */
static bool read_document(const struct store_document *document, void *context)
{
    const struct reading *reading = context;
    struct follow_up follow_up;
    if (!may_be_wanted(reading, document) || !decode(document, &follow_up)) {
        return true;
    }
    if (reading->is_pending && follow_up.state != FOLLOW_UP_PENDING) {
        follow_up_fini(&follow_up);
        return true;
    }
    bool goes_on = reading->fn(&follow_up, reading->context);
    follow_up_fini(&follow_up);
    return goes_on;
}

static int read_all(struct store *store, const char *agent, struct reading *reading,
                    struct rondo_error *err)
{
    char prefix[LIMIT_AGENT_ID_LEN + 2] = "";
    struct store_document_query query = {.collection = FOLLOW_UP_COLLECTION};
    if (agent != NULL) {
        snprintf(prefix, sizeof(prefix), "%s/", agent);
        query.prefix = prefix;
    }
    return store->ops->read_documents(store, &query, read_document, reading, err);
}

int follow_ups_read(struct store *store, const char *agent, follow_up_fn *fn, void *context,
                    struct rondo_error *err)
{
    struct reading reading = {.fn = fn, .context = context};
    return read_all(store, agent, &reading, err);
}

int follow_ups_read_pending(struct store *store, const char *agent, follow_up_fn *fn, void *context,
                            struct rondo_error *err)
{
    struct reading reading = {.fn = fn, .context = context, .is_pending = true};
    return read_all(store, agent, &reading, err);
}

struct search {
    const char *id;
    struct follow_up *found;
    bool is_found;
};

static bool search_one(const struct follow_up *follow_up, void *context)
{
    struct search *search = context;
    search->is_found = strcmp(follow_up->id, search->id) == 0;
    if (search->is_found) {
        *search->found = *follow_up;
        search->found->prompt = memory_dup_string(follow_up->prompt);
    }
    return !search->is_found;
}

int follow_up_find(struct store *store, const char *id, struct follow_up *ret_follow_up,
                   struct rondo_error *err)
{
    struct search search = {.id = id, .found = ret_follow_up};
    struct reading reading = {.fn = search_one, .context = &search, .id = id};
    int r = read_all(store, NULL, &reading, err);
    return r < 0 ? r : search.is_found;
}

/* ---- What is due ---------------------------------------------------------------------------- */

static void write_key(const struct follow_up *follow_up, char ret_key[STORE_KEY_LEN + 1])
{
    snprintf(ret_key, STORE_KEY_LEN + 1, "%s/%s/%s", follow_up->agent, follow_up->asked_by,
             follow_up->id);
}

static void write_due_key(const struct follow_up *follow_up, int64_t due_ns,
                          char ret_key[STORE_KEY_LEN + 1])
{
    snprintf(ret_key, STORE_KEY_LEN + 1, "%s/%0*" PRId64 "/%s/%s", follow_up->agent, DUE_DIGITS,
             due_ns < 0 ? 0 : due_ns, follow_up->asked_by, follow_up->id);
}

/** @param key for what is pointed to */
static struct store_change put_due(const struct follow_up *follow_up, char key[STORE_KEY_LEN + 1])
{
    write_due_key(follow_up, follow_up->due_ns, key);
    return (struct store_change){
        .kind = STORE_PUT,
        .collection = DUE_COLLECTION,
        .key = key,
        .data = "{}",
        .data_len = 2,
        .if_version = STORE_ANY_VERSION,
    };
}

static struct store_change delete_due(const char *key, int64_t if_version)
{
    return (struct store_change){
        .kind = STORE_DELETE,
        .collection = DUE_COLLECTION,
        .key = key,
        .if_version = if_version,
    };
}

/** The first row of an agent. */
struct due_row {
    char key[STORE_KEY_LEN + 1];
    int64_t version;
    bool is_found;
};

static bool take_row(const struct store_document *document, void *context)
{
    struct due_row *row = context;
    row->is_found = true;
    row->version = (int64_t)document->version;
    snprintf(row->key, sizeof(row->key), "%s", document->key);
    return false;
}

static bool take_follow_up(const struct store_document *document, void *context)
{
    (void)decode(document, context);
    return false;
}

/** Read what a row of an agent speaks of. @param ret_is_right whether it is pending, and due then
 */
static int read_listed(struct store *store, const char *agent, const struct due_row *row,
                       struct follow_up *ret_first, bool *ret_is_right, struct rondo_error *err)
{
    char key[STORE_KEY_LEN + 1];
    size_t skipped = strlen(agent) + 1 + DUE_DIGITS; /* the row begins with the agent and a "/" */
    snprintf(key, sizeof(key), "%s%s", agent,
             strlen(row->key) > skipped ? row->key + skipped : "/");
    const struct store_document_query query = {.collection = FOLLOW_UP_COLLECTION, .key = key};
    int r = store->ops->read_documents(store, &query, take_follow_up, ret_first, err);
    *ret_is_right = false;
    if (r == 0 && ret_first->prompt != NULL) {
        write_due_key(ret_first, ret_first->due_ns, key);
        *ret_is_right = ret_first->state == FOLLOW_UP_PENDING && strcmp(key, row->key) == 0;
    }
    if (!*ret_is_right) {
        follow_up_fini(ret_first);
    }
    return r;
}

static void write_prefix(const char *agent, char ret_prefix[LIMIT_AGENT_ID_LEN + 2])
{
    snprintf(ret_prefix, LIMIT_AGENT_ID_LEN + 2, "%s/", agent);
}

int follow_up_find_first(struct store *store, const char *agent, struct follow_up *ret_first,
                         struct rondo_error *err)
{
    char prefix[LIMIT_AGENT_ID_LEN + 2];
    struct follow_up first = {0};
    const struct store_document_query query = {
        .collection = DUE_COLLECTION, .prefix = prefix, .limit = 1};
    write_prefix(agent, prefix);
    for (;;) {
        struct due_row row = {0};
        bool is_right = false;
        bool is_applied = false;
        int r = store->ops->read_documents(store, &query, take_row, &row, err);
        if (r == 0 && row.is_found) {
            r = read_listed(store, agent, &row, &first, &is_right, err);
        }
        if (r < 0 || !row.is_found) {
            return r;
        }
        if (is_right) {
            *ret_first = first;
            return 1;
        }
        /* It was settled between the two reads, or listed by a process that came too late. */
        const struct store_change change = delete_due(row.key, row.version);
        r = store->ops->change_documents(store, &change, 1, &is_applied, err);
        if (r < 0) {
            return r;
        }
    }
}

static bool count_row(const struct store_document *document, void *context)
{
    (void)document;
    ++*(int64_t *)context;
    return true;
}

int follow_ups_count(struct store *store, const char *agent, int64_t *ret_count,
                     struct rondo_error *err)
{
    char prefix[LIMIT_AGENT_ID_LEN + 2];
    const struct store_document_query query = {
        .collection = DUE_COLLECTION, .prefix = prefix, .limit = FOLLOW_UPS_COUNTED};
    write_prefix(agent, prefix);
    *ret_count = 0;
    return store->ops->read_documents(store, &query, count_row, ret_count, err);
}

static bool append_pending(const struct follow_up *follow_up, void *context)
{
    follow_up_list_add(context, follow_up);
    return true;
}

int follow_ups_list_due(struct store *store, const char *agent, struct rondo_error *err)
{
    struct follow_up_list list = {0};
    int r = follow_ups_read_pending(store, agent, append_pending, &list, err);
    for (size_t i = 0; i < list.count && r == 0; i++) {
        char key[STORE_KEY_LEN + 1];
        struct due_row row = {0};
        bool is_applied = false;
        const struct store_change change = put_due(&list.items[i], key);
        const struct store_document_query query = {.collection = DUE_COLLECTION, .key = key};
        r = store->ops->read_documents(store, &query, take_row, &row, err);
        if (r == 0 && !row.is_found) {
            r = store->ops->change_documents(store, &change, 1, &is_applied, err);
        }
    }
    follow_up_list_fini(&list);
    return r;
}

/* ---- Changing ------------------------------------------------------------------------------- */

/** What there is of an agent, before one more is added. */
struct census {
    const struct follow_up *wanted;
    int64_t pending;
    int64_t of_run;
    bool is_there;
};

static bool count_one(const struct follow_up *follow_up, void *context)
{
    struct census *census = context;
    bool is_of_run = strcmp(follow_up->asked_by, census->wanted->asked_by) == 0;
    census->pending += follow_up->state == FOLLOW_UP_PENDING;
    census->of_run += is_of_run;
    census->is_there |= is_of_run && strcmp(follow_up->id, census->wanted->id) == 0;
    return true;
}

static bool read_version(const struct store_document *document, void *context)
{
    *(int64_t *)context = (int64_t)document->version;
    return false;
}

/** Add one on condition that no other was added since the guard had a version. */
static int add_guarded(struct store *store, const struct follow_up *follow_up, int64_t version,
                       bool *ret_is_applied, struct rondo_error *err)
{
    char key[STORE_KEY_LEN + 1];
    char due_key[STORE_KEY_LEN + 1];
    auto_buf struct buf json = {0};
    write_key(follow_up, key);
    encode(follow_up, &json);
    struct store_change changes[] = {
        put_due(follow_up, due_key),
        {
            .kind = STORE_PUT,
            .collection = FOLLOW_UP_COLLECTION,
            .key = key,
            .data = buf_string(&json),
            .data_len = json.len,
        },
        {
            .kind = STORE_PUT,
            .collection = GUARD_COLLECTION,
            .key = follow_up->agent,
            .data = "{}",
            .data_len = 2,
            .if_version = version,
        },
    };
    return store->ops->change_documents(store, changes, 3, ret_is_applied, err);
}

int follow_up_add(struct store *store, const struct follow_up *follow_up,
                  const struct follow_up_limits *limits, enum follow_up_outcome *ret_outcome,
                  struct rondo_error *err)
{
    bool is_applied = false;
    struct store_document_query guard = {.collection = GUARD_COLLECTION, .key = follow_up->agent};
    for (int i = 0; i < MOST_TRIES && !is_applied; i++) {
        int64_t version = 0;
        struct census census = {.wanted = follow_up};
        int r = store->ops->read_documents(store, &guard, read_version, &version, err);
        r = r < 0 ? r : follow_ups_read(store, follow_up->agent, count_one, &census, err);
        if (r < 0) {
            return r;
        }
        *ret_outcome = census.is_there                    ? FOLLOW_UP_ADDED
                       : census.of_run >= limits->per_run ? FOLLOW_UP_RUN_LIMIT
                       : census.pending >= limits->total  ? FOLLOW_UP_TOTAL_LIMIT
                                                          : FOLLOW_UP_ADDED;
        if (census.is_there || *ret_outcome != FOLLOW_UP_ADDED) {
            return 0;
        }
        r = add_guarded(store, follow_up, version, &is_applied, err);
        if (r < 0) {
            return r;
        }
    }
    return is_applied ? 0
                      : error_set(err, RONDO_ERR_BUSY,
                                  "other runs of the agent schedule follow-ups all the time");
}

int follow_up_update(struct store *store, const struct follow_up *follow_up,
                     struct rondo_error *err)
{
    char key[STORE_KEY_LEN + 1];
    char old_key[STORE_KEY_LEN + 1];
    char due_key[STORE_KEY_LEN + 1];
    bool is_applied = false;
    auto_buf struct buf json = {0};
    write_key(follow_up, key);
    write_due_key(follow_up, follow_up->listed_ns, old_key);
    encode(follow_up, &json);
    struct store_change changes[] = {
        {
            .kind = STORE_PUT,
            .collection = FOLLOW_UP_COLLECTION,
            .key = key,
            .data = buf_string(&json),
            .data_len = json.len,
            .if_version = (int64_t)follow_up->version,
        },
        delete_due(old_key, STORE_ANY_VERSION),
        put_due(follow_up, due_key),
    };
    size_t count = follow_up->state == FOLLOW_UP_PENDING ? 3 : 2;
    int r = store->ops->change_documents(store, changes, count, &is_applied, err);
    return r < 0 ? r : is_applied;
}

/** Change one that was found. @return as follow_up_update */
static int apply_to(struct store *store, struct follow_up *follow_up,
                    const struct follow_up_change *change, struct rondo_error *err)
{
    if (follow_up->state != FOLLOW_UP_PENDING) {
        return error_set(err, RONDO_ERR_STATE, "follow-up %s is %s", follow_up->id,
                         state_names[follow_up->state]);
    }
    if (change->is_cancelled) {
        follow_up->state = FOLLOW_UP_CANCELLED;
    }
    if (change->due_ns != 0) {
        follow_up->due_ns = change->due_ns;
    }
    if (change->prompt != NULL) {
        free(follow_up->prompt);
        follow_up->prompt = memory_dup_string(change->prompt);
    }
    return follow_up_update(store, follow_up, err);
}

int follow_up_apply(struct store *store, const char *id, const struct follow_up_change *change,
                    struct rondo_error *err)
{
    if (change->prompt != NULL && strlen(change->prompt) > LIMIT_FOLLOW_UP_PROMPT_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "a prompt has at most %ld bytes",
                         LIMIT_FOLLOW_UP_PROMPT_BYTES);
    }
    for (int i = 0; i < MOST_TRIES; i++) {
        struct follow_up follow_up = {0};
        int r = follow_up_find(store, id, &follow_up, err);
        if (r == 0) {
            r = error_set(err, RONDO_ERR_NOT_FOUND, "there is no follow-up %s", id);
        } else if (r > 0) {
            r = apply_to(store, &follow_up, change, err);
        }
        follow_up_fini(&follow_up);
        if (r != 0) {
            return r < 0 ? r : 0;
        }
    }
    return error_set(err, RONDO_ERR_BUSY, "follow-up %s changes all the time", id);
}

/** Most that one purge deletes. */
#define PURGED_AT_ONCE 64

struct purge {
    int64_t before_ns;
    struct store_change changes[PURGED_AT_ONCE];
    char keys[PURGED_AT_ONCE][STORE_KEY_LEN + 1];
    size_t count;
};

static bool purge_one(const struct follow_up *follow_up, void *context)
{
    struct purge *purge = context;
    if (follow_up->state != FOLLOW_UP_PENDING && follow_up->updated_ns < purge->before_ns) {
        char *key = purge->keys[purge->count];
        write_key(follow_up, key);
        purge->changes[purge->count++] = (struct store_change){
            .kind = STORE_DELETE,
            .collection = FOLLOW_UP_COLLECTION,
            .key = key,
            .if_version = STORE_ANY_VERSION,
        };
    }
    return purge->count < PURGED_AT_ONCE;
}

int follow_ups_purge(struct store *store, const char *agent, int64_t before_ns,
                     struct rondo_error *err)
{
    bool is_applied = false;
    bool has_more = true;
    struct purge *purge = memory_new_zero(1, sizeof(*purge));
    struct reading reading = {.fn = purge_one, .context = purge, .before_ns = before_ns};
    purge->before_ns = before_ns;
    int r = 0;
    while (r == 0 && has_more) {
        purge->count = 0;
        r = read_all(store, agent, &reading, err);
        has_more = purge->count == PURGED_AT_ONCE;
        if (r == 0 && purge->count > 0) {
            r = store->ops->change_documents(store, purge->changes, purge->count, &is_applied, err);
        }
    }
    free(purge);
    return r;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

void follow_up_list_add(struct follow_up_list *list, const struct follow_up *follow_up)
{
    if (list->wants_all || follow_up->state == FOLLOW_UP_PENDING) {
        list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
        list->items[list->count] = *follow_up;
        list->items[list->count++].prompt = memory_dup_string(follow_up->prompt);
    }
}

static int compare_due(const void *one, const void *other)
{
    const struct follow_up *first = one;
    const struct follow_up *second = other;
    return first->due_ns < second->due_ns ? -1 : first->due_ns > second->due_ns;
}

void follow_up_list_sort(struct follow_up_list *list)
{
    if (list->count > 1) {
        qsort(list->items, list->count, sizeof(*list->items), compare_due);
    }
}

void follow_up_list_fini(struct follow_up_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        follow_up_fini(&list->items[i]);
    }
    free(list->items);
    *list = (struct follow_up_list){0};
}
