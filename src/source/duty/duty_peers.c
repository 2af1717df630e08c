// SPDX-License-Identifier: Apache-2.0
/*
 * Other daemons of the store: documents of the collection "daemon", key = the name of the process.
 * On a store that other machines share, a daemon changes its own every few seconds. One whose
 * document did not change for DUTY_LEASE_NS is gone, and the requests that it accepted are adopted.
 * The time is measured by the monotonic clock of the one that looks; clocks of machines are not
 * compared.
 *
 * On a store of one machine the kernel says which processes live, but not of those in other
 * containers or before the last boot. Such a daemon is asked: its document is deleted, and one that
 * lives writes it again when it looks. If it has not after DUTY_ASK_NS, it is gone.
 *
 * A daemon that was frozen for that long finds its requests taken at its next step with each.
 */
#include "base/error.h"
#include "base/memory.h"
#include "loop/owner.h"
#include "loop/runtime.h"
#include "source/duty/duty_internal.h"
#include "store/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** Another daemon, or a process that requests name. The table is used by threads of webhooks, too.
 */
struct duty_peer {
    char owner[STORE_OWNER_SIZE];
    uint64_t version; /**< of its document when that was seen last; 0 = never */
    int64_t seen_ns;  /**< when that version was seen first, or there was none; monotonic */
    int64_t asked_ns; /**< when it was asked whether it lives; 0 = never */
    bool is_gone;
    UT_hash_handle hh;
};

static struct duty_peer *peer_of(struct duty *duty, const char *owner)
{
    struct duty_peer *peer = NULL;
    HASH_FIND_STR(duty->peers, owner, peer);
    if (peer == NULL) {
        peer = memory_new_zero(1, sizeof(*peer));
        snprintf(peer->owner, sizeof(peer->owner), "%s", owner);
        peer->seen_ns = clock_monotonic(duty->clock);
        HASH_ADD_STR(duty->peers, owner, peer);
    }
    return peer;
}

/** Whether a process is gone, as far as its document shows. */
static bool is_silent(const struct duty *duty, const struct duty_peer *peer)
{
    int64_t silence_ns = clock_monotonic(duty->clock) - peer->seen_ns;
    if (store_is_shared(duty->store)) {
        return silence_ns >= DUTY_LEASE_NS;
    }
    return peer->version == 0 && silence_ns >= DUTY_ASK_NS && !owner_is_alive(peer->owner);
}

bool duty_owner_is_dead(void *context, const char *owner)
{
    struct duty *duty = context;
    if (owner_is_dead(owner)) {
        return true;
    }
    pthread_mutex_lock(&duty->peers_lock);
    bool is_dead = is_silent(duty, peer_of(duty, owner));
    pthread_mutex_unlock(&duty->peers_lock);
    return is_dead;
}

static int change_own(struct duty *duty, enum store_change_kind kind, struct rondo_error *err)
{
    bool is_applied = false;
    struct store_change change = {
        .kind = kind,
        .collection = DAEMON_COLLECTION,
        .key = runtime_owner(duty->options.runtime),
        .data = "{}",
        .data_len = 2,
        .if_version = STORE_ANY_VERSION,
        .is_heartbeat = kind == STORE_PUT,
    };
    return duty->store->ops->change_documents(duty->store, &change, 1, &is_applied, err);
}

/** What a look finds. */
struct duty_look {
    struct duty *duty;
    bool has_own; /* the document of this daemon is there */
};

static bool see_peer(const struct store_document *document, void *context)
{
    struct duty_look *found = context;
    struct duty *duty = found->duty;
    if (strcmp(document->key, runtime_owner(duty->options.runtime)) == 0) {
        found->has_own = true;
        return true;
    }
    if (strlen(document->key) >= STORE_OWNER_SIZE) {
        return true;
    }
    pthread_mutex_lock(&duty->peers_lock);
    struct duty_peer *peer = peer_of(duty, document->key);
    if (peer->version != document->version) {
        peer->version = document->version;
        peer->seen_ns = clock_monotonic(duty->clock);
        peer->is_gone = false;
    }
    pthread_mutex_unlock(&duty->peers_lock);
    return true;
}

/** Delete the document of another daemon, unless it was changed since. @return whether it is done
 */
static bool delete_document(struct duty *duty, const struct duty_peer *peer)
{
    bool is_applied = false;
    struct store_change change = {
        .kind = STORE_DELETE,
        .collection = DAEMON_COLLECTION,
        .key = peer->owner,
        .if_version = (int64_t)peer->version,
    };
    return duty->store->ops->change_documents(duty->store, &change, 1, &is_applied, NULL) == 0 &&
           is_applied;
}

/** Whether the kernel does not know whether a process lives, and it is time to ask it. */
static bool is_to_ask(const struct duty *duty, const struct duty_peer *peer)
{
    int64_t now_ns = clock_monotonic(duty->clock);
    return peer->version != 0 && !owner_is_alive(peer->owner) && !owner_is_dead(peer->owner) &&
           (peer->asked_ns == 0 || now_ns - peer->asked_ns >= DUTY_ASK_AGAIN_NS);
}

/** Those that are to be asked. @return their number */
static size_t take_hidden(struct duty *duty, struct duty_peer **ret_hidden)
{
    struct duty_peer *peer = NULL;
    struct duty_peer *next = NULL;
    size_t count = 0;
    pthread_mutex_lock(&duty->peers_lock);
    HASH_ITER(hh, duty->peers, peer, next)
    {
        if (is_to_ask(duty, peer)) {
            *ret_hidden = memory_resize(*ret_hidden, count + 1, sizeof(**ret_hidden));
            (*ret_hidden)[count++] = *peer;
        }
    }
    pthread_mutex_unlock(&duty->peers_lock);
    return count;
}

/** Ask the daemons of a store of one machine of which the kernel knows nothing. */
static void ask_hidden(struct duty *duty)
{
    struct duty_peer *hidden = NULL;
    size_t count = take_hidden(duty, &hidden);
    for (size_t i = 0; i < count; i++) {
        if (delete_document(duty, &hidden[i])) {
            pthread_mutex_lock(&duty->peers_lock);
            struct duty_peer *peer = peer_of(duty, hidden[i].owner);
            peer->version = 0;
            peer->seen_ns = peer->asked_ns = clock_monotonic(duty->clock);
            pthread_mutex_unlock(&duty->peers_lock);
        }
    }
    free(hidden);
}

/** Take those that are gone out of the table. @return their number */
static size_t take_gone(struct duty *duty, struct duty_peer **ret_gone)
{
    struct duty_peer *peer = NULL;
    struct duty_peer *next = NULL;
    size_t count = 0;
    pthread_mutex_lock(&duty->peers_lock);
    HASH_ITER(hh, duty->peers, peer, next)
    {
        if (owner_is_dead(peer->owner) || is_silent(duty, peer)) {
            *ret_gone = memory_resize(*ret_gone, count + 1, sizeof(**ret_gone));
            (*ret_gone)[count++] = *peer;
            peer->is_gone = true;
        }
    }
    pthread_mutex_unlock(&duty->peers_lock);
    return count;
}

/** Their requests are adopted; an owner that a request still names is noted again. */
static void drop_gone(struct duty *duty)
{
    struct duty_peer *peer = NULL;
    struct duty_peer *next = NULL;
    pthread_mutex_lock(&duty->peers_lock);
    HASH_ITER(hh, duty->peers, peer, next)
    {
        if (peer->is_gone) {
            /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
            HASH_DEL(duty->peers, peer);
            free(peer);
        }
    }
    pthread_mutex_unlock(&duty->peers_lock);
}

static int look(struct duty *duty, struct rondo_error *err)
{
    struct duty_peer *gone = NULL;
    struct store_document_query query = {.collection = DAEMON_COLLECTION};
    struct duty_look found = {.duty = duty};
    bool is_shared = store_is_shared(duty->store);
    int r = is_shared ? change_own(duty, STORE_PUT, err) : 0;
    r = r < 0 ? r : duty->store->ops->read_documents(duty->store, &query, see_peer, &found, err);
    if (r == 0 && !found.has_own) { /* Another daemon asks whether this one lives. */
        r = change_own(duty, STORE_PUT, err);
    }
    if (r == 0 && !is_shared) {
        ask_hidden(duty);
    }
    size_t count = r < 0 ? 0 : take_gone(duty, &gone);
    for (size_t i = 0; i < count; i++) {
        if (gone[i].version != 0) { /* Else it has none. */
            (void)delete_document(duty, &gone[i]);
        }
    }
    if (count > 0) {
        r = intake_adopt(duty->intake, err);
        duty_show_again(duty);
    }
    if (r == 0) { /* Else they stay gone, and the next look tries again. */
        drop_gone(duty);
    }
    free(gone);
    return r;
}

void duty_look_at_peers(struct duty *duty)
{
    struct rondo_error err = {0};
    struct writer *writer = runtime_writer(duty->options.runtime);
    if (look(duty, &err) < 0) {
        duty_log(duty, "%s", err.message); /* It is tried again with the next look. */
    }
    /* Others on a shared store see by it that this one lives. */
    int64_t pace_ns =
        store_is_shared(duty->store) ? DUTY_PEERS_NS : writer_pace(writer, DUTY_PEERS_NS);
    duty->peers_at_ns = clock_monotonic(duty->clock) + pace_ns;
}

int duty_join_peers(struct duty *duty, struct rondo_error *err)
{
    return change_own(duty, STORE_PUT, err);
}

void duty_leave_peers(struct duty *duty)
{
    struct duty_peer *peer = NULL;
    struct duty_peer *next = NULL;
    (void)change_own(duty, STORE_DELETE, NULL);
    HASH_ITER(hh, duty->peers, peer, next)
    {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
        HASH_DEL(duty->peers, peer);
        free(peer);
    }
}
