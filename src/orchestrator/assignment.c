// SPDX-License-Identifier: Apache-2.0
/* Reading servers' records. */
#include "orchestrator/assignment.h"

#include "base/memory.h"
#include "loop/control/display_status.h"
#include "orchestrator/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known_duty {
    struct duty duty;
    UT_hash_handle hh;
};

struct duties {
    struct known_duty *known; /* by run id */
};

static void take(const struct store_document *document, struct duty *ret_duty)
{
    struct managed managed;
    managed_decode(document->key, document->data, &managed);
    *ret_duty = (struct duty){
        .is_queued = managed.state == ENTRY_QUEUED,
        .is_server_dead = owner_is_dead(managed.owner),
    };
    snprintf(ret_duty->run_id, sizeof(ret_duty->run_id), "%s", managed.run_id);
    owner_name(managed.owner, ret_duty->server);
}

static bool add(const struct store_document *document, void *context)
{
    struct duties *duties = context;
    struct known_duty *known = NULL;
    if (!id_is_valid(document->key)) {
        return true;
    }
    known = memory_new_zero(1, sizeof(*known));
    take(document, &known->duty);
    HASH_ADD_STR(duties->known, duty.run_id, known);
    return true;
}

int duties_read(struct store *store, struct duties **ret_duties, struct rondo_error *err)
{
    struct duties *duties = memory_new_zero(1, sizeof(*duties));
    struct store_document_query query = {.collection = MANAGED_COLLECTION};
    int r = store->ops->read_documents(store, &query, add, duties, err);
    if (r < 0) {
        duties_free(duties);
        return r;
    }
    *ret_duties = duties;
    return 0;
}

const struct duty *duties_find(const struct duties *duties, const char *run_id)
{
    struct known_duty *known = NULL;
    HASH_FIND_STR(duties->known, run_id, known);
    return known == NULL ? NULL : &known->duty;
}

void duties_free(struct duties *duties)
{
    struct known_duty *known;
    struct known_duty *next;
    if (duties == NULL) {
        return;
    }
    HASH_ITER(hh, duties->known, known, next)
    {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
        HASH_DEL(duties->known, known);
        free(known);
    }
    free(duties);
}

struct one {
    struct duty *duty;
    bool is_found;
};

static bool take_one(const struct store_document *document, void *context)
{
    struct one *one = context;
    one->is_found = id_is_valid(document->key);
    if (one->is_found) {
        take(document, one->duty);
    }
    return false;
}

int duty_read(struct store *store, const char *run_id, struct duty *ret_duty,
              struct rondo_error *err)
{
    struct one one = {.duty = ret_duty};
    struct store_document_query query = {.collection = MANAGED_COLLECTION, .key = run_id};
    int r = store->ops->read_documents(store, &query, take_one, &one, err);
    return r < 0 ? r : one.is_found ? 1 : 0;
}

const char *duty_standing(const struct store_run *run, const struct duty *duty)
{
    bool is_waiting = run->summary.status == RONDO_RUNNING && !run->summary.is_paused &&
                      run->owner[0] == '\0' && duty != NULL && duty->is_queued &&
                      !duty->is_server_dead;
    return is_waiting ? "queued" : standing_name(run);
}
