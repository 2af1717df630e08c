// SPDX-License-Identifier: Apache-2.0
/* The rules that all back ends share. Pure functions; any thread. */
#include "store/rules.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"

#include <string.h>

/** Bytes of an event's type, a letter's kind or a policy change's `how`, without the NUL. */
#define TYPE_LEN_MAX 63

static int check_text(const char *what, const char *text, size_t max_len, struct rondo_error *err)
{
    if (text == NULL || text[0] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "%s is missing", what);
    }
    if (strnlen(text, max_len + 1) > max_len) {
        return error_set(err, RONDO_ERR_LIMIT, "%s is longer than %zu bytes", what, max_len);
    }
    return 0;
}

static int check_size(const char *what, size_t size, size_t limit, struct rondo_error *err)
{
    if (size > limit) {
        return error_set(err, RONDO_ERR_LIMIT, "%s has %zu bytes, more than the limit of %zu", what,
                         size, limit);
    }
    return 0;
}

static int check_lease(int64_t lease_ns, int64_t low, struct rondo_error *err)
{
    if (lease_ns < low || lease_ns > LIMIT_DURATION_NS) {
        return error_set(err, RONDO_ERR_INVALID, "a lease of %lld ns is out of range",
                         (long long)lease_ns);
    }
    return 0;
}

static int check_events(const struct store_event *events, size_t count, struct rondo_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int r = check_text("an event's type", events[i].type, TYPE_LEN_MAX, err);
        if (r == 0 && events[i].data == NULL) {
            r = error_set(err, RONDO_ERR_INVALID, "an event's data is missing");
        }
        if (r == 0) {
            r = check_size("an event's data", events[i].data_len, LIMIT_EVENT_BYTES, err);
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int rules_check_claim(const struct store_claim *claim, struct rondo_error *err)
{
    int r = check_text("the owner", claim->owner, STORE_OWNER_SIZE - 1, err);
    if (r == 0 && claim->boot != NULL) {
        r = check_size("the name of a boot", strlen(claim->boot), STORE_BOOT_SIZE - 1, err);
    }
    return r < 0 ? r : check_lease(claim->lease_ns, 1, err);
}

int rules_check_new_run(const struct store_run *run, const struct store_event *first,
                        size_t first_count, struct rondo_error *err)
{
    int r = check_text("the run id", run->id, ID_SIZE - 1, err);
    if (r == 0) {
        r = check_text("the agent id", run->agent_id, LIMIT_AGENT_ID_LEN, err);
    }
    if (r == 0 && !id_is_valid(run->id)) {
        r = error_set(err, RONDO_ERR_INVALID, "%s is not the id of a run", run->id);
    }
    return r < 0 ? r : check_events(first, first_count, err);
}

int rules_check_letter(const char *kind, const char *data, struct rondo_error *err)
{
    int r = check_text("a letter's kind", kind, TYPE_LEN_MAX, err);
    if (r == 0 && data == NULL) {
        r = error_set(err, RONDO_ERR_INVALID, "a letter's data is missing");
    }
    return r < 0 ? r : check_size("a letter's data", strlen(data), LIMIT_EVENT_BYTES, err);
}

static int check_digest(const char *digest, struct rondo_error *err)
{
    if (digest == NULL || strnlen(digest, STORE_POLICY_DIGEST_LEN + 1) != STORE_POLICY_DIGEST_LEN ||
        strspn(digest, "0123456789abcdef") != STORE_POLICY_DIGEST_LEN) {
        return error_set(err, RONDO_ERR_INVALID, "a policy digest has %d lower-case hex digits",
                         STORE_POLICY_DIGEST_LEN);
    }
    return 0;
}

int rules_check_policy(const struct store_policy_change *change, struct rondo_error *err)
{
    int r =
        check_text("the source of the policies", change->source, LIMIT_POLICY_SOURCE_BYTES, err);
    if (r == 0) {
        r = check_digest(change->digest, err);
    }
    if (r == 0) {
        r = check_text("how the policies changed", change->how, TYPE_LEN_MAX, err);
    }
    if (r == 0) {
        r = check_text("who changed the policies", change->by, LIMIT_POLICY_BY_BYTES, err);
    }
    if (r == 0 && change->text == NULL) {
        r = error_set(err, RONDO_ERR_INVALID, "the text of the policies is missing");
    }
    return r < 0
               ? r
               : check_size("the text of the policies", change->text_len, LIMIT_POLICY_BYTES, err);
}

int rules_check_change(const struct store_change *change, struct rondo_error *err)
{
    int r = check_text("a document's collection", change->collection, STORE_COLLECTION_LEN, err);
    if (r == 0) {
        r = check_text("a document's key", change->key, STORE_KEY_LEN, err);
    }
    if (r == 0 && change->kind == STORE_PUT && change->data == NULL) {
        r = error_set(err, RONDO_ERR_INVALID, "a document's data is missing");
    }
    if (r == 0 && change->kind == STORE_PUT) {
        r = check_size("a document", change->data_len, LIMIT_DOCUMENT_BYTES, err);
    }
    if (r == 0 && change->if_version < STORE_ANY_VERSION) {
        r = error_set(err, RONDO_ERR_INVALID, "a document has no version %lld",
                      (long long)change->if_version);
    }
    return r;
}

struct store_change rules_change_of(const struct store_update *update, const struct buf *data)
{
    return (struct store_change){
        .kind = STORE_PUT,
        .collection = update->collection,
        .key = update->key,
        .data = data->data,
        .data_len = data->len,
        .if_version = STORE_ANY_VERSION,
    };
}

bool rules_fits_version(const struct store_change *change, uint64_t version)
{
    return change->kind == STORE_DELETE_UP_TO || change->if_version == STORE_ANY_VERSION ||
           (uint64_t)change->if_version == version;
}

/**
 * Copy the beginning of a text that is compared with keys. One byte more than a key can have is
 * enough: what follows cannot decide.
 */
static size_t copy_bound(char *ret_bound, const char *text)
{
    size_t len = strnlen(text, STORE_KEY_LEN + 1);
    memcpy(ret_bound, text, len);
    ret_bound[len] = '\0';
    return len;
}

/** Turn a prefix into the lowest text after everything that begins with it. @return it exists */
static bool step_past(char *bound, size_t len)
{
    while (len > 0 && (unsigned char)bound[len - 1] == 0xff) {
        len--;
    }
    if (len == 0) {
        return false;
    }
    bound[len - 1] = (char)((unsigned char)bound[len - 1] + 1);
    bound[len] = '\0';
    return true;
}

struct rules_key_range rules_key_range(const struct store_document_query *query)
{
    struct rules_key_range range = {.low = ""};
    char bound[RULES_KEY_BOUND_SIZE];
    memset(range.end, 0xff, STORE_KEY_LEN + 1);
    range.end[STORE_KEY_LEN + 1] = '\0';
    if (query->prefix != NULL) {
        size_t len = copy_bound(range.low, query->prefix);
        memcpy(bound, range.low, len + 1);
        if (step_past(bound, len)) {
            memcpy(range.end, bound, sizeof(bound));
        }
    }
    if (query->after == NULL) {
        return range;
    }
    size_t len = copy_bound(bound, query->after);
    if (query->is_descending) {
        if (strcmp(bound, range.end) < 0) {
            memcpy(range.end, bound, len + 1);
        }
        return range;
    }
    /* No byte of a key is zero: this is the lowest text after the key itself. */
    memcpy(bound + len, "\1", 2);
    if (strcmp(bound, range.low) > 0) {
        memcpy(range.low, bound, len + 2);
    }
    return range;
}

struct rules_run_filter rules_run_filter(const struct store_run_query *query)
{
    struct rules_run_filter filter = {.query = query, .statuses = query->statuses};
    if (query->only_running) {
        uint32_t running = UINT32_C(1) << RONDO_RUNNING;
        filter.is_empty = query->statuses != 0 && (query->statuses & running) == 0;
        filter.statuses = running;
    }
    filter.has_prefix = query->id_prefix != NULL && query->id_prefix[0] != '\0';
    if (filter.has_prefix && strnlen(query->id_prefix, ID_SIZE) >= ID_SIZE) {
        filter.is_empty = true; /* No id is that long. */
    }
    size_t len = query->search != NULL ? strnlen(query->search, sizeof(filter.search)) : 0;
    if (len == sizeof(filter.search)) {
        filter.is_empty = true;
        return filter;
    }
    for (size_t i = 0; i < len; i++) {
        filter.search[i] = ascii_lower(query->search[i]);
    }
    filter.searches_ids = len >= STORE_SEARCHED_ID_LEN;
    return filter;
}

static int check_content(const struct store_checkpoint *checkpoint, struct rondo_error *err)
{
    int r = check_size("an agent state", checkpoint->state_len, LIMIT_STATE_BYTES, err);
    if (r == 0 && checkpoint->custom_data != NULL) {
        r = check_size("custom data", strlen(checkpoint->custom_data), LIMIT_CUSTOM_DATA_BYTES,
                       err);
    }
    return r;
}

static int check_checkpoint(const struct store_checkpoint *checkpoint, struct rondo_error *err)
{
    if (checkpoint->number == 0 || checkpoint->number > INT64_MAX) {
        return error_set(err, RONDO_ERR_INVALID, "checkpoints are numbered from 1");
    }
    return check_content(checkpoint, err);
}

static int check_interim(const struct store_checkpoint *interim, struct rondo_error *err)
{
    if (interim->number != 0) {
        return error_set(err, RONDO_ERR_INVALID, "an interim checkpoint has no number");
    }
    return check_content(interim, err);
}

int rules_check_batch(const struct store_batch *batch, struct rondo_error *err)
{
    int r = check_text("the run id", batch->run_id, ID_SIZE - 1, err);
    if (r == 0) {
        r = check_lease(batch->lease_ns, 0, err);
    }
    if (r == 0) {
        r = check_events(batch->events, batch->event_count, err);
    }
    if (r == 0 && batch->event_count > 0 &&
        (batch->first_seq == 0 || batch->first_seq > (uint64_t)INT64_MAX - batch->event_count)) {
        r = error_set(err, RONDO_ERR_INVALID, "events are numbered from 1");
    }
    if (r == 0 && batch->checkpoint != NULL) {
        r = check_checkpoint(batch->checkpoint, err);
    }
    if (r == 0 && batch->interim != NULL) {
        r = check_interim(batch->interim, err);
    }
    if (r == 0) {
        r = rules_check_memories(batch->memories, batch->memory_count, err);
    }
    return r;
}

static int decide_by_seq(const struct rules_row *row, const struct store_batch *batch,
                         enum store_commit_outcome *ret_outcome, struct rondo_error *err)
{
    if (batch->event_count == 0 || row->last_seq == batch->first_seq - 1) {
        *ret_outcome = STORE_COMMITTED;
        return 0;
    }
    if (row->last_seq >= batch->first_seq + batch->event_count - 1) {
        *ret_outcome = STORE_ALREADY_COMMITTED;
        return 0;
    }
    return error_set(
        err, RONDO_ERR_STATE, "run %s has %llu events, so a batch cannot begin with number %llu",
        batch->run_id, (unsigned long long)row->last_seq, (unsigned long long)batch->first_seq);
}

static int check_parts_of_runs(const struct store_piece *piece, struct rondo_error *err)
{
    int r = check_events(piece->events, piece->event_count, err);
    for (size_t i = 0; r == 0 && i < piece->run_count; i++) {
        r = rules_check_new_run(&piece->runs[i], NULL, 0, err);
    }
    for (size_t i = 0; r == 0 && i < piece->checkpoint_count; i++) {
        const struct store_run_checkpoint *part = &piece->checkpoints[i];
        r = part->is_interim ? check_interim(&part->checkpoint, err)
                             : check_checkpoint(&part->checkpoint, err);
    }
    for (size_t i = 0; r == 0 && i < piece->letter_count; i++) {
        r = rules_check_letter(piece->letters[i].kind, piece->letters[i].data, err);
    }
    return r;
}

static int check_document(const struct store_document *document, struct rondo_error *err)
{
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = document->collection,
                                        .key = document->key,
                                        .data = document->data,
                                        .data_len = document->data_len};
    return rules_check_change(&change, err);
}

int rules_check_piece(const struct store_piece *piece, struct rondo_error *err)
{
    int r = check_parts_of_runs(piece, err);
    for (size_t i = 0; r == 0 && i < piece->document_count; i++) {
        r = check_document(&piece->documents[i], err);
    }
    for (size_t i = 0; r == 0 && i < piece->policy_count; i++) {
        r = rules_check_policy(&piece->policies[i], err);
    }
    for (size_t i = 0; r == 0 && i < piece->owner_count; i++) {
        r = rules_check_memory_owner(piece->owners[i].name, err);
    }
    r = r < 0 ? r : rules_check_memories(piece->memories, piece->memory_count, err);
    for (size_t i = 0; r == 0 && i < piece->mark_count; i++) {
        r = rules_check_change(&piece->marks[i], err);
    }
    return r;
}

struct store_run rules_imported_run(const struct store_run *run)
{
    struct store_run row = *run;
    /* A lease that ended long ago: the run stays one whose process is gone. */
    row.lease_until_ns = run->owner[0] != '\0' ? 1 : 0;
    return row;
}

int rules_decide(const struct rules_row *row, const struct store_batch *batch,
                 enum store_commit_outcome *ret_outcome, struct rondo_error *err)
{
    if (row->epoch != batch->epoch) {
        *ret_outcome = STORE_FENCED;
        return 0;
    }
    enum store_commit_outcome outcome;
    int r = decide_by_seq(row, batch, &outcome, err);
    if (r < 0) {
        return r;
    }
    /* A run that was released, or whose lease was ended by others, cannot be held again without a
     * claim: nobody would notice two owners. Handing in the last batch again stays possible. */
    if (outcome == STORE_COMMITTED && !row->is_owned && batch->lease_ns > 0) {
        outcome = STORE_FENCED;
    }
    if (outcome == STORE_COMMITTED && rules_stores_checkpoint(row, batch) &&
        batch->checkpoint->number != row->last_checkpoint + 1) {
        return error_set(err, RONDO_ERR_STATE,
                         "checkpoint %llu of run %s cannot follow number %llu",
                         (unsigned long long)batch->checkpoint->number, batch->run_id,
                         (unsigned long long)row->last_checkpoint);
    }
    *ret_outcome = outcome;
    return 0;
}

bool rules_holds_premise(const struct store_batch *batch, bool has_mail, uint64_t version)
{
    const struct store_premise *premise = batch->premise;
    return premise == NULL ||
           (!has_mail && (premise->collection == NULL || premise->version == version));
}

bool rules_stores_checkpoint(const struct rules_row *row, const struct store_batch *batch)
{
    /* A batch without events is applied as often as it is handed in; its checkpoint only once. */
    return batch->checkpoint != NULL &&
           !(batch->event_count == 0 && batch->checkpoint->number == row->last_checkpoint);
}

struct store_run rules_new_run(const struct store_run *run, size_t first_count, int64_t now_ns)
{
    struct store_run created = {
        .is_exclusive = run->is_exclusive,
        .summary = run->summary,
        .last_seq = first_count,
        .created_ns = now_ns,
        .updated_ns = now_ns,
        .ended_ns = rules_ended_ns(run->summary.status, 0, now_ns),
    };
    memcpy(created.id, run->id, sizeof(created.id));
    memcpy(created.agent_id, run->agent_id, sizeof(created.agent_id));
    memcpy(created.parent, run->parent, sizeof(created.parent));
    return created;
}

struct rules_moment rules_now(const struct clock *clock)
{
    return (struct rules_moment){clock_now(clock), clock_monotonic(clock)};
}

bool rules_is_held(const struct store_run *run, const char *boot, struct rules_moment now)
{
    if (run->owner[0] == '\0') {
        return false;
    }
    if (boot == NULL || boot[0] == '\0' || strcmp(run->boot, boot) != 0) {
        return run->lease_until_ns > now.wall_ns;
    }
    return now.monotonic_ns - run->alive_monotonic_ns < run->lease_until_ns - run->alive_ns;
}

int64_t rules_ended_ns(enum rondo_status status, int64_t ended_before_ns, int64_t now_ns)
{
    if (status == RONDO_RUNNING) {
        return 0;
    }
    return ended_before_ns != 0 ? ended_before_ns : now_ns;
}
