// SPDX-License-Identifier: Apache-2.0
/*
 * The limit of a role's runs, where several daemons of one store have the role. Before a request
 * becomes a run, its daemon counts what the others execute and start, and claims a place: a
 * document of the collection "start-claim", in one transaction with the role's turn (collection
 * "start-turn"), on condition that nobody else had a turn since the counting began. The claim ends
 * with the request, when the run is recorded as one that its server executes. A daemon that seems
 * to be alone does the same: another one may join while it starts a run.
 */
#include "base/memory.h"
#include "orchestrator/assignment.h"
#include "source/intake/intake_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_COLLECTION "start-turn"
/** Times that another daemon may have the turn first. */
#define MOST_TRIES 5
/** A run of a dead server that is not taken over for so long cannot be. */
#define ABANDONED_NS (60 * NS_PER_S)

static void claim_key(const char *role, const char *run_id, char ret_key[STORE_KEY_LEN + 1])
{
    snprintf(ret_key, STORE_KEY_LEN + 1, "%s/%s", role, run_id);
}

void intake_changes_end_claim(struct intake_changes *changes, const char *role, const char *run_id)
{
    char key[STORE_KEY_LEN + 1];
    claim_key(role, run_id, key);
    intake_changes_delete(changes, CLAIM_COLLECTION, key, STORE_ANY_VERSION);
}

/* ---- Counting ------------------------------------------------------------------------------- */

/** What others have of a role. */
struct share {
    struct intake *intake;
    struct assignments *assignments;
    const char *own; /* the request that is to start */
    char (*claims)[ID_SIZE];
    size_t claim_count;
    uint64_t own_version; /* of its claim, which a dead daemon may have left; 0 = there is none */
    uint64_t elsewhere;
};

static bool is_here(struct share *share, const char *run_id)
{
    const struct assignment *assignment = assignments_find(share->assignments, run_id);
    return assignment != NULL && strcmp(assignment->server, share->intake->owner) == 0;
}

static bool note_claim(const struct store_document *document, void *context)
{
    struct share *share = context;
    const char *slash = strrchr(document->key, '/');
    if (slash == NULL || !id_is_valid(slash + 1)) {
        return true;
    }
    if (strcmp(slash + 1, share->own) == 0) {
        share->own_version = document->version;
        return true;
    }
    share->claims = memory_resize(share->claims, share->claim_count + 1, ID_SIZE);
    snprintf(share->claims[share->claim_count++], ID_SIZE, "%s", slash + 1);
    return true;
}

/** Whether nobody will execute a run: its server died long ago, and no other has taken it over. */
static bool is_abandoned(const struct share *share, const struct store_run *run,
                         const struct assignment *assignment)
{
    int64_t since_ns =
        run->lease_until_ns > run->updated_ns ? run->lease_until_ns : run->updated_ns;
    return since_ns < clock_now(share->intake->clock) - ABANDONED_NS &&
           intake_owner_is_dead(share->intake, assignment->server);
}

static bool count_run(const struct store_run *run, void *context)
{
    struct share *share = context;
    const struct assignment *assignment = assignments_find(share->assignments, run->id);
    if (assignment != NULL && assignment->state != ASSIGNMENT_PAUSED && !is_here(share, run->id) &&
        strcmp(run->id, share->own) != 0 && !is_abandoned(share, run, assignment)) {
        share->elsewhere++;
    }
    return true;
}

/** Requests that others start now. One whose run is recorded was counted with the runs. */
static int count_claims(struct share *share, struct rondo_error *err)
{
    struct intake *intake = share->intake;
    for (size_t i = 0; i < share->claim_count; i++) {
        struct start_request request = {0};
        const char *id = share->claims[i];
        bool is_counted =
            assignments_find(share->assignments, id) != NULL || intake_is_pending(intake, id);
        int r = is_counted ? 0 : start_request_find(intake->store, id, &request, err);
        start_request_fini(&request);
        if (r < 0) {
            return r;
        }
        share->elsewhere += r == 1 ? 1 : 0; /* Else its daemon died after the run was there. */
    }
    return 0;
}

static int count_elsewhere(struct share *share, const char *role, struct rondo_error *err)
{
    struct store *store = share->intake->store;
    char prefix[LIMIT_AGENT_ID_LEN + 2];
    struct store_run_query runs = {.agent_id = role, .only_running = true};
    struct store_document_query claims = {.collection = CLAIM_COLLECTION, .prefix = prefix};
    snprintf(prefix, sizeof(prefix), "%s/", role);
    int r = store->ops->read_documents(store, &claims, note_claim, share, err);
    r = r < 0 ? r : assignments_read(store, &share->assignments, err);
    r = r < 0 ? r : store->ops->list_runs(store, &runs, count_run, share, err);
    return r < 0 ? r : count_claims(share, err);
}

/* ---- Claiming ------------------------------------------------------------------------------- */

static bool read_version(const struct store_document *document, void *context)
{
    *(uint64_t *)context = document->version;
    return false;
}

static int take_turn(struct intake *intake, const struct start_request *request,
                     uint64_t turn_version, uint64_t claim_version, struct rondo_error *err)
{
    char key[STORE_KEY_LEN + 1];
    struct intake_changes changes = {0};
    claim_key(request->role, request->id, key);
    buf_append_string(
        intake_changes_put(&changes, TURN_COLLECTION, request->role, (int64_t)turn_version), "{}");
    buf_append_string(intake_changes_put(&changes, CLAIM_COLLECTION, key, (int64_t)claim_version),
                      "{}");
    int r = intake_changes_commit(intake, &changes, err);
    intake_changes_fini(&changes);
    return r;
}

/** Whether there is room beside what others have. The entry of the request is counted. */
static bool has_room(struct intake *intake, const char *role, uint64_t elsewhere)
{
    struct role_queue *queue = NULL;
    pthread_mutex_lock(&intake->lock);
    HASH_FIND_STR(intake->queues, role, queue);
    bool has_room = queue != NULL && queue->running + elsewhere <= queue->options.max_running;
    pthread_mutex_unlock(&intake->lock);
    return has_room;
}

/** @return 1 claimed, 0 no room, 2 another daemon had the turn, or a code */
static int try_claim(struct intake *intake, const struct start_request *request,
                     struct rondo_error *err)
{
    uint64_t turn_version = 0;
    struct share share = {.intake = intake, .own = request->id};
    struct store_document_query turn = {.collection = TURN_COLLECTION, .key = request->role};
    int r =
        intake->store->ops->read_documents(intake->store, &turn, read_version, &turn_version, err);
    r = r < 0 ? r : count_elsewhere(&share, request->role, err);
    if (r == 0 && has_room(intake, request->role, share.elsewhere)) {
        r = take_turn(intake, request, turn_version, share.own_version, err);
        r = r == 0 ? 2 : r;
    }
    assignments_free(share.assignments);
    free(share.claims);
    return r;
}

int intake_claim(struct intake *intake, const struct start_request *request,
                 struct rondo_error *err)
{
    int r = 2;
    for (int i = 0; r == 2 && i < MOST_TRIES; i++) {
        r = try_claim(intake, request, err);
    }
    return r == 2 ? 0 : r;
}
