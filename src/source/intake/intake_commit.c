// SPDX-License-Identifier: Apache-2.0
/* Transactions of the intake, and reading what waits when it opens. */
#include "alert/notice.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/owner.h"
#include "source/intake/intake_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHANGES (sizeof(((struct intake_changes *)0)->items) / sizeof(struct store_change))

_Static_assert(MAX_CHANGES == 10, "one text and one key for each change");

void intake_changes_fini(struct intake_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        buf_fini(&changes->texts[i]);
    }
}

static size_t add(struct intake_changes *changes, enum store_change_kind kind,
                  const char *collection, const char *key, int64_t if_version)
{
    size_t i = changes->count++;
    snprintf(changes->keys[i], sizeof(changes->keys[i]), "%s", key);
    changes->texts[i] = (struct buf){0};
    changes->items[i] = (struct store_change){
        .kind = kind,
        .collection = collection,
        .key = changes->keys[i],
        .if_version = if_version,
    };
    return i;
}

struct buf *intake_changes_put(struct intake_changes *changes, const char *collection,
                               const char *key, int64_t if_version)
{
    return &changes->texts[add(changes, STORE_PUT, collection, key, if_version)];
}

void intake_changes_delete(struct intake_changes *changes, const char *collection, const char *key,
                           int64_t if_version)
{
    add(changes, STORE_DELETE, collection, key, if_version);
}

/** The lock is held. */
static struct intake_told *told_of(struct intake *intake, const char *role)
{
    struct role_queue *queue = NULL;
    HASH_FIND_STR(intake->queues, role, queue);
    return queue == NULL ? &intake->told : &queue->told;
}

/** How many events like it people are to be told of now. */
static uint64_t count_unsaid(struct intake *intake, const struct start_refusal *refusal)
{
    pthread_mutex_lock(&intake->lock);
    const struct intake_told *told = told_of(intake, refusal->role);
    int64_t told_ns = told->told_ns[refusal->kind];
    bool is_due = told_ns == 0 || refusal->time_ns < told_ns ||
                  refusal->time_ns - told_ns >= INTAKE_NOTICE_NS;
    uint64_t unsaid = is_due ? told->unsaid[refusal->kind] + 1 : 0;
    pthread_mutex_unlock(&intake->lock);
    return unsaid;
}

void intake_changes_add_refusal(struct intake *intake, struct intake_changes *changes,
                                struct start_refusal *refusal, const char *id)
{
    char key[REFUSAL_KEY_SIZE];
    refusal_key(refusal->time_ns, id, key);
    refusal_encode(refusal,
                   intake_changes_put(changes, REFUSAL_COLLECTION, key, STORE_ANY_VERSION));
    refusal->unsaid = count_unsaid(intake, refusal);
    if (refusal->unsaid > 0) {
        auto_buf struct buf text = {0};
        refusal_sentence(refusal, &text);
        struct notice notice = {
            .kind = WARNING_EVENT,
            .agent_id = refusal->role,
            .message = buf_string(&text),
            .time_ns = refusal->time_ns,
        };
        notice_encode(&notice,
                      intake_changes_put(changes, NOTICE_COLLECTION, id, STORE_ANY_VERSION));
    }
}

int intake_changes_commit(struct intake *intake, struct intake_changes *changes,
                          struct rondo_error *err)
{
    bool is_applied = false;
    for (size_t i = 0; i < changes->count; i++) {
        changes->items[i].data = buf_string(&changes->texts[i]);
        changes->items[i].data_len = changes->texts[i].len;
    }
    int r = intake->store->ops->change_documents(intake->store, changes->items, changes->count,
                                                 &is_applied, err);
    return r < 0 ? r : is_applied ? 1 : 0;
}

void intake_note(struct intake *intake, const struct start_refusal *refusal)
{
    pthread_mutex_lock(&intake->lock);
    struct intake_told *told = told_of(intake, refusal->role);
    intake->counts.refusals[refusal->kind]++;
    if (refusal->unsaid > 0) {
        told->told_ns[refusal->kind] = refusal->time_ns;
        told->unsaid[refusal->kind] = 0;
    } else {
        told->unsaid[refusal->kind]++;
    }
    pthread_mutex_unlock(&intake->lock);
    if (intake->on_notice != NULL) {
        intake->on_notice(intake->context, refusal);
    }
}

void group_digest(const char *source, const char *group, unsigned char ret_digest[DIGEST_SIZE])
{
    struct digest digest = digest_begin();
    digest_add_u64(&digest, strlen(source));
    digest_add(&digest, source, strlen(source));
    digest_add_u64(&digest, group == NULL ? 0 : 1);
    digest_add(&digest, group == NULL ? "" : group, group == NULL ? 0 : strlen(group));
    digest_finish(&digest, ret_digest);
}

/* ---- Reading what waits --------------------------------------------------------------------- */

struct intake_loading {
    struct intake *intake;
    char (*orphans)[ID_SIZE]; /* requests of dead processes */
    size_t orphan_count;
};

static void add_waiting(struct intake *intake, const struct start_request *request)
{
    pthread_mutex_lock(&intake->lock);
    struct intake_entry *entry =
        intake_entry_add(intake, intake_queue_of(intake, request->role), request->id);
    entry->received_ns = request->received_ns;
    entry->version = request->version;
    entry->source = memory_dup_string(request->source);
    group_digest(request->source, request->group, entry->group);
    intake_entry_set_conversation(entry, request->source, request->conversation);
    intake_entry_wait(intake, entry);
    pthread_mutex_unlock(&intake->lock);
    if (request->received_ns > intake->last_received_ns) {
        intake->last_received_ns = request->received_ns;
    }
}

/** Another daemon may have the role; its requests are left to that one. */
static bool is_kept(struct intake *intake, const char *role)
{
    struct role_queue *queue = NULL;
    pthread_mutex_lock(&intake->lock);
    HASH_FIND_STR(intake->queues, role, queue);
    bool is_open = queue != NULL && queue->is_open;
    pthread_mutex_unlock(&intake->lock);
    return is_open;
}

bool intake_owner_is_dead(const struct intake *intake, const char *owner)
{
    return intake->is_dead == NULL ? owner_is_dead(owner) : intake->is_dead(intake->context, owner);
}

static bool load_request(const struct start_request *request, const char *id, void *context)
{
    struct intake_loading *loading = context;
    struct intake *intake = loading->intake;
    pthread_mutex_lock(&intake->lock);
    bool is_known = request == NULL || intake_entry_find_id(intake, id) != NULL;
    pthread_mutex_unlock(&intake->lock);
    if (is_known) {
        return true; /* One that cannot be read is shown by the lists, and kept for people. */
    }
    if (strcmp(request->owner, intake->owner) == 0) {
        add_waiting(intake, request);
    } else if (is_kept(intake, request->role) && intake_owner_is_dead(intake, request->owner)) {
        loading->orphans = memory_resize(loading->orphans, loading->orphan_count + 1, ID_SIZE);
        memcpy(loading->orphans[loading->orphan_count++], id, ID_SIZE);
    }
    return true;
}

/** Make it one of this process; another living process may be faster. */
static int adopt(struct intake *intake, const char *id, struct rondo_error *err)
{
    struct start_request request = {0};
    struct intake_changes changes = {0};
    int r = start_request_find(intake->store, id, &request, err);
    if (r == 1) {
        memcpy(request.owner, intake->owner, sizeof(request.owner));
        start_request_encode(&request, intake_changes_put(&changes, START_REQUEST_COLLECTION, id,
                                                          (int64_t)request.version));
        r = intake_changes_commit(intake, &changes, err);
        request.version++;
        if (r == 1) {
            add_waiting(intake, &request);
        }
    }
    intake_changes_fini(&changes);
    start_request_fini(&request);
    return r < 0 ? r : 0;
}

int intake_load(struct intake *intake, struct rondo_error *err)
{
    struct intake_loading loading = {.intake = intake};
    int r = start_requests_read(intake->store, NULL, load_request, &loading, err);
    for (size_t i = 0; r == 0 && i < loading.orphan_count; i++) {
        r = adopt(intake, loading.orphans[i], err);
    }
    free(loading.orphans);
    return r;
}
