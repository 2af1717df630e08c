// SPDX-License-Identifier: Apache-2.0
/* Assignments: written by the orchestrator, read by all. */
#include "orchestrator/assignment.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "orchestrator/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Writing -------------------------------------------------------------------------------- */

static const char *const state_names[] = {"queued", "running", "paused", "deferred"};

static void encode(struct runtime *runtime, enum assignment_state state, int64_t since_ns,
                   const char *by, const struct placement *place, struct buf *ret_data)
{
    struct json_writer writer = json_writer(ret_data);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "state", state_names[state]);
    json_write_int(&writer, "since", since_ns);
    json_write_string(&writer, "by", by == NULL ? "" : by);
    json_write_string(&writer, "owner", runtime_owner(runtime));
    json_write_string(&writer, "agent", place->agent == NULL ? "" : place->agent);
    if (place->pool != NULL && place->pool[0] != '\0') {
        json_write_string(&writer, "pool", place->pool);
    }
    if (place->workspace != NULL) {
        json_write_string(&writer, "workspace", place->workspace);
    }
    json_end_object(&writer);
}

static int put_since(struct runtime *runtime, const char *run_id, enum assignment_state state,
                     int64_t since_ns, const char *by, const struct placement *place,
                     int64_t if_version, bool *ret_is_applied, struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    encode(runtime, state, since_ns, by, place, &data);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = ASSIGNMENT_COLLECTION,
        .key = run_id,
        .data = buf_string(&data),
        .data_len = data.len,
        .if_version = if_version,
    };
    struct store *store = runtime_store(runtime);
    return store->ops->change_documents(store, &change, 1, ret_is_applied, err);
}

static int put(struct runtime *runtime, const char *run_id, enum assignment_state state,
               const char *by, const struct placement *place, int64_t if_version,
               bool *ret_is_applied, struct rondo_error *err)
{
    return put_since(runtime, run_id, state, clock_now(runtime_clock(runtime)), by, place,
                     if_version, ret_is_applied, err);
}

int assignment_put(struct orchestrator *orchestrator, const char *run_id,
                   enum assignment_state state, const char *by, const struct placement *place,
                   struct rondo_error *err)
{
    bool is_applied = false;
    return put(orchestrator->options.runtime, run_id, state, by, place, STORE_ANY_VERSION,
               &is_applied, err);
}

int assignment_take(struct orchestrator *orchestrator, const struct assignment *assignment,
                    bool *ret_is_taken, struct rondo_error *err)
{
    const struct placement place = assignment_placement(assignment);
    return put(orchestrator->options.runtime, assignment->run_id, ASSIGNMENT_RUNNING,
               assignment->by, &place, (int64_t)assignment->version, ret_is_taken, err);
}

int assignment_requeue(struct orchestrator *orchestrator, const struct assignment *assignment,
                       bool *ret_is_queued, struct rondo_error *err)
{
    const struct placement place = assignment_placement(assignment);
    return put_since(orchestrator->options.runtime, assignment->run_id, ASSIGNMENT_QUEUED,
                     assignment->since_ns, assignment->by, &place, (int64_t)assignment->version,
                     ret_is_queued, err);
}

int assignment_defer(struct orchestrator *orchestrator, const char *run_id, const char *by,
                     const struct placement *place, bool *ret_is_ours, struct rondo_error *err)
{
    struct runtime *runtime = orchestrator->options.runtime;
    struct assignment found;
    bool is_ours = false;
    int r = assignment_read(runtime_store(runtime), run_id, &found, err);
    if (r > 0 && strcmp(found.server, runtime_owner(runtime)) == 0) {
        r = put_since(runtime, run_id, ASSIGNMENT_DEFERRED, found.since_ns, by, place,
                      (int64_t)found.version, &is_ours, err);
    }
    if (r < 0) {
        return r;
    }
    *ret_is_ours = is_ours;
    return 0;
}

int assignment_hand_over(struct runtime *runtime, struct loop *loop, const char *by,
                         struct rondo_error *err)
{
    bool is_applied = false;
    const struct placement place = placement_of(loop_spec(loop));
    int r = put(runtime, loop_run_id(loop), ASSIGNMENT_QUEUED, by, &place, STORE_ANY_VERSION,
                &is_applied, err);
    if (r == 0) {
        loop_look_ahead(loop);
        r = loop_park(loop, err);
    }
    return r;
}

int assignment_remove(struct orchestrator *orchestrator, const char *run_id,
                      struct rondo_error *err)
{
    struct store_change change = {
        .kind = STORE_DELETE,
        .collection = ASSIGNMENT_COLLECTION,
        .key = run_id,
        .if_version = STORE_ANY_VERSION,
    };
    struct store *store = orchestrator_store(orchestrator);
    bool is_applied = false;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int assignment_disown(struct orchestrator *orchestrator, const char *run_id,
                      struct rondo_error *err)
{
    struct assignment assignment;
    int r = assignment_read(orchestrator_store(orchestrator), run_id, &assignment, err);
    if (r <= 0 || strcmp(assignment.server, runtime_owner(orchestrator->options.runtime)) != 0) {
        return r;
    }
    return assignment_remove(orchestrator, run_id, err);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** Whatever is wrong with one makes it queued. */
static void decode(const struct store_document *document, bool keeps_workspace,
                   struct assignment *ret_assignment)
{
    auto_json struct json_object *root = NULL;
    json_parse(document->data, strlen(document->data), &root, NULL);
    const char *state = json_get_string(root, "state", "");
    *ret_assignment = (struct assignment){.since_ns = json_get_int(root, "since", 0)};
    for (enum assignment_state i = ASSIGNMENT_RUNNING; i <= ASSIGNMENT_DEFERRED; i++) {
        if (strcmp(state, state_names[i]) == 0) {
            ret_assignment->state = i;
        }
    }
    snprintf(ret_assignment->run_id, sizeof(ret_assignment->run_id), "%s", document->key);
    snprintf(ret_assignment->by, sizeof(ret_assignment->by), "%s", json_get_string(root, "by", ""));
    snprintf(ret_assignment->server, sizeof(ret_assignment->server), "%s",
             json_get_string(root, "owner", ""));
    snprintf(ret_assignment->agent, sizeof(ret_assignment->agent), "%s",
             json_get_string(root, "agent", ""));
    snprintf(ret_assignment->pool, sizeof(ret_assignment->pool), "%s",
             json_get_string(root, "pool", ""));
    ret_assignment->version = document->version;
    ret_assignment->written_ns = document->updated_ns;
    if (keeps_workspace) {
        ret_assignment->workspace = memory_dup_string(json_get_string(root, "workspace", NULL));
    }
}

struct assignment_list {
    struct assignment *list;
    size_t count;
    size_t room;
    bool keeps_workspace;
};

void assignment_list_free(struct assignment *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++) {
        free(list[i].workspace);
    }
    free(list);
}

static bool read_document(const struct store_document *document, void *context)
{
    struct assignment_list *reading = context;
    if (reading->count == reading->room) {
        reading->room = reading->room * 2 + 16;
        reading->list = memory_resize(reading->list, reading->room, sizeof(*reading->list));
    }
    if (id_is_valid(document->key)) {
        decode(document, reading->keeps_workspace, &reading->list[reading->count++]);
    }
    return true;
}

static int read_all(struct store *store, const char *run_id, struct assignment_list *ret_reading,
                    struct rondo_error *err)
{
    struct assignment_list reading = {.keeps_workspace = run_id == NULL};
    struct store_document_query query = {.collection = ASSIGNMENT_COLLECTION, .key = run_id};
    int r = store->ops->read_documents(store, &query, read_document, &reading, err);
    if (r < 0) {
        assignment_list_free(reading.list, reading.count);
        return r;
    }
    *ret_reading = reading;
    return 0;
}

bool assignment_is_dead(const struct assignment *assignment)
{
    return owner_is_dead(assignment->server);
}

int assignment_read(struct store *store, const char *run_id, struct assignment *ret_assignment,
                    struct rondo_error *err)
{
    struct assignment_list reading;
    int r = read_all(store, run_id, &reading, err);
    if (r < 0) {
        return r;
    }
    bool is_found = reading.count > 0;
    if (is_found) {
        *ret_assignment = reading.list[0];
    }
    free(reading.list);
    return is_found ? 1 : 0;
}

static int by_time(const void *a, const void *b)
{
    const struct assignment *left = a;
    const struct assignment *right = b;
    if (left->since_ns != right->since_ns) {
        return left->since_ns < right->since_ns ? -1 : 1;
    }
    return strcmp(left->run_id, right->run_id);
}

int assignment_list(struct store *store, struct assignment **ret_list, size_t *ret_count,
                    struct rondo_error *err)
{
    struct assignment_list reading;
    int r = read_all(store, NULL, &reading, err);
    if (r < 0) {
        return r;
    }
    if (reading.count > 1) {
        qsort(reading.list, reading.count, sizeof(*reading.list), by_time);
    }
    *ret_list = reading.list;
    *ret_count = reading.count;
    return 0;
}

/* ---- By run --------------------------------------------------------------------------------- */

struct known_assignment {
    struct assignment assignment;
    UT_hash_handle hh;
};

struct assignments {
    struct known_assignment *known; /* by run id */
};

static bool add(const struct store_document *document, void *context)
{
    struct assignments *assignments = context;
    struct known_assignment *known = NULL;
    if (!id_is_valid(document->key)) {
        return true;
    }
    known = memory_new_zero(1, sizeof(*known));
    decode(document, true, &known->assignment);
    HASH_ADD_STR(assignments->known, assignment.run_id, known);
    return true;
}

int assignments_read(struct store *store, struct assignments **ret_assignments,
                     struct rondo_error *err)
{
    struct assignments *assignments = memory_new_zero(1, sizeof(*assignments));
    struct store_document_query query = {.collection = ASSIGNMENT_COLLECTION};
    int r = store->ops->read_documents(store, &query, add, assignments, err);
    if (r < 0) {
        assignments_free(assignments);
        return r;
    }
    *ret_assignments = assignments;
    return 0;
}

const struct assignment *assignments_find(const struct assignments *assignments, const char *run_id)
{
    struct known_assignment *known = NULL;
    HASH_FIND_STR(assignments->known, run_id, known);
    return known == NULL ? NULL : &known->assignment;
}

void assignments_free(struct assignments *assignments)
{
    struct known_assignment *known;
    struct known_assignment *next;
    if (assignments == NULL) {
        return;
    }
    HASH_ITER(hh, assignments->known, known, next)
    {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
        HASH_DEL(assignments->known, known);
        free(known->assignment.workspace);
        free(known);
    }
    free(assignments);
}

const char *assignment_display_status(const struct store_run *run,
                                      const struct assignment *assignment)
{
    bool is_waiting =
        run->summary.status == RONDO_RUNNING && !run->summary.is_paused && run->owner[0] == '\0' &&
        assignment != NULL &&
        (assignment->state == ASSIGNMENT_QUEUED || assignment->state == ASSIGNMENT_DEFERRED) &&
        (assignment->pool[0] != '\0' || !assignment_is_dead(assignment));
    return is_waiting ? "queued" : run_display_status(run);
}
