// SPDX-License-Identifier: Apache-2.0
#include "store/row.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "store/rules.h"

#include <math.h>
#include <string.h>

/** Bytes of an event's type, a letter's kind or a policy change's `how`. */
#define TYPE_LEN_MAX 63

static void refuse(struct checked_row *row, int column)
{
    if (row->bad_column < 0) {
        row->bad_column = column;
    }
}

static int64_t number(struct checked_row *row, int column, int64_t low, int64_t high)
{
    int64_t value = low;
    if (!row->ops->number(row, column, &value) || value < low || value > high) {
        refuse(row, column);
        return low;
    }
    return value;
}

/** A count or a time; one more can be computed. */
static int64_t natural(struct checked_row *row, int column)
{
    return number(row, column, 0, INT64_MAX - 1);
}

/** What callers of the library report, be it a correction: its negative can be computed. */
static int64_t amount(struct checked_row *row, int column)
{
    return number(row, column, -INT64_MAX, INT64_MAX);
}

static bool flag(struct checked_row *row, int column)
{
    bool value = false;
    if (!row->ops->flag(row, column, &value)) {
        refuse(row, column);
    }
    return value;
}

static double real(struct checked_row *row, int column)
{
    double value = 0;
    if (!row->ops->real(row, column, &value) || !isfinite(value)) {
        refuse(row, column);
        return 0;
    }
    return value;
}

static const char *text(struct checked_row *row, int column, size_t low, size_t high)
{
    const char *value = NULL;
    size_t len = 0;
    if (!row->ops->bytes(row, column, true, &value, &len) || value == NULL || len < low ||
        len > high || memchr(value, '\0', len) != NULL) {
        refuse(row, column);
        return "";
    }
    return value;
}

static const char *text_or_null(struct checked_row *row, int column, size_t high)
{
    return row->ops->is_null(row, column) ? NULL : text(row, column, 0, high);
}

/** Bytes that are no text. @return NULL when there are none */
static const void *blob(struct checked_row *row, int column, size_t low, size_t high,
                        size_t *ret_len)
{
    const char *value = NULL;
    size_t len = 0;
    if (!row->ops->bytes(row, column, false, &value, &len) || len < low || len > high) {
        refuse(row, column);
        len = 0;
    }
    *ret_len = len;
    return len > 0 ? value : NULL;
}

static const char *run_id(struct checked_row *row, int column)
{
    const char *value = text(row, column, ID_SIZE - 1, ID_SIZE - 1);
    if (!id_is_valid(value)) {
        refuse(row, column);
    }
    return value;
}

/** The id of another run, or "". */
static const char *parent_id(struct checked_row *row, int column)
{
    const char *value = text(row, column, 0, ID_SIZE - 1);
    if (value[0] != '\0' && !id_is_valid(value)) {
        refuse(row, column);
    }
    return value;
}

/** An object in one line: what is shown as it is can neither end its line nor its own object. */
static const char *object(struct checked_row *row, int column, size_t high)
{
    const char *value = text(row, column, 2, high);
    size_t len = strlen(value);
    bool is_object = len >= 2 && value[0] == '{' && value[len - 1] == '}';
    for (size_t i = 0; is_object && i < len; i++) {
        is_object = (unsigned char)value[i] >= 0x20;
    }
    if (!is_object) {
        refuse(row, column);
    }
    return value;
}

/** JSON of any kind. */
static const char *json(struct checked_row *row, int column, size_t low, size_t high)
{
    const char *value = text(row, column, low, high);
    if (json_parse(value, strlen(value), NULL, NULL) < 0) {
        refuse(row, column);
    }
    return value;
}

static void copy(char *ret_text, size_t size, const char *value)
{
    size_t len = strnlen(value, size - 1);
    memcpy(ret_text, value, len);
    ret_text[len] = '\0';
}

/** @param what "a run" @return 0 or RONDO_ERR_CORRUPT */
static int finish(const struct checked_row *row, const char *what, struct rondo_error *err)
{
    if (row->bad_column < 0) {
        return 0;
    }
    const char *name = row->ops->name(row, row->bad_column);
    return error_set(err, RONDO_ERR_CORRUPT,
                     "%s is damaged: \"%s\" of %s has a value that Rondo never writes", row->place,
                     name != NULL ? name : "?", what);
}

int row_run(struct checked_row row, int first, struct store_run *ret_run, int64_t *ret_key,
            struct rondo_error *err)
{
    int64_t pause = number(&row, first + 18, 0, ROW_PAUSE_WAITING);
    *ret_run = (struct store_run){
        .is_exclusive = flag(&row, first + 2),
        .epoch = (uint64_t)natural(&row, first + 4),
        .lease_until_ns = natural(&row, first + 5),
        .alive_ns = natural(&row, first + 6),
        .created_ns = natural(&row, first + 7),
        .updated_ns = natural(&row, first + 8),
        .ended_ns = natural(&row, first + 9),
        .summary = {.status =
                        (enum rondo_status)number(&row, first + 10, 0, RONDO_STATUS_COUNT - 1),
                    .iteration = (uint64_t)natural(&row, first + 11),
                    .iteration_limit = (uint64_t)natural(&row, first + 12),
                    .conditions_met = (uint32_t)number(&row, first + 13, 0, UINT32_MAX),
                    .conditions_total = (uint32_t)number(&row, first + 14, 0, UINT32_MAX),
                    .tokens = amount(&row, first + 15),
                    .cost_micro = amount(&row, first + 16),
                    .warnings = (uint32_t)number(&row, first + 17, 0, UINT32_MAX),
                    .is_paused = pause > 0,
                    .is_waiting = pause == ROW_PAUSE_WAITING},
        .last_seq = (uint64_t)natural(&row, first + 19),
        .alive_monotonic_ns = natural(&row, first + 22),
    };
    copy(ret_run->id, sizeof(ret_run->id), run_id(&row, first));
    copy(ret_run->agent_id, sizeof(ret_run->agent_id),
         text(&row, first + 1, 1, LIMIT_AGENT_ID_LEN));
    copy(ret_run->owner, sizeof(ret_run->owner), text(&row, first + 3, 0, STORE_OWNER_SIZE - 1));
    copy(ret_run->boot, sizeof(ret_run->boot), text(&row, first + 21, 0, STORE_BOOT_SIZE - 1));
    copy(ret_run->parent, sizeof(ret_run->parent), parent_id(&row, first + 23));
    *ret_key = number(&row, first + 20, INT64_MIN, INT64_MAX);
    return finish(&row, "a run", err);
}

int row_give_run(int code, const struct rondo_error *why, const struct store_run *run, int64_t key,
                 const struct store_run_query *query, store_run_fn *fn, void *context,
                 struct rondo_error *err)
{
    if (code == 0) {
        return fn(run, context) ? 1 : 0;
    }
    if (query->damaged == NULL) {
        return error_set(err, why->code, "%s", why->message);
    }
    const struct store_damaged_run damaged = {
        .row = key, .id = id_is_valid(run->id) ? run->id : NULL, .detail = why->message};
    query->damaged(&damaged, context);
    return 1;
}

int row_event(struct checked_row row, struct store_event *ret_event, struct rondo_error *err)
{
    *ret_event = (struct store_event){
        .position = (uint64_t)number(&row, 0, 1, INT64_MAX),
        .run_id = run_id(&row, 1),
        .seq = (uint64_t)number(&row, 2, 1, INT64_MAX - 1),
        .time_ns = natural(&row, 3),
        .type = text(&row, 4, 1, TYPE_LEN_MAX),
        .data = object(&row, 5, (size_t)LIMIT_EVENT_BYTES),
    };
    ret_event->data_len = strlen(ret_event->data);
    return finish(&row, "an event", err);
}

int row_checkpoint(struct checked_row row, bool is_whole, struct store_checkpoint *ret_checkpoint,
                   struct rondo_error *err)
{
    const size_t most = (size_t)LIMIT_EVENT_BYTES;
    *ret_checkpoint = (struct store_checkpoint){
        .number = (uint64_t)natural(&row, 0), /* 0 = the interim one */
        .seq = (uint64_t)natural(&row, 1),
        .iteration = (uint64_t)natural(&row, 2),
        .time_ns = natural(&row, 3),
        .format = (uint32_t)number(&row, 4, 0, UINT32_MAX),
        .state_size = (uint64_t)number(&row, 5, 0, LIMIT_STATE_BYTES),
        .is_packed = flag(&row, 6),
        .conditions = text_or_null(&row, 8, most),
        .custom_data = text_or_null(&row, 9, most),
    };
    size_t len = 0;
    const size_t digest_len = sizeof(ret_checkpoint->sha256);
    const void *digest = blob(&row, 7, digest_len, digest_len, &len);
    if (digest != NULL) {
        memcpy(ret_checkpoint->sha256, digest, digest_len);
    }
    if (is_whole) {
        ret_checkpoint->fold = text_or_null(&row, 10, most);
        if (!row.ops->is_null(&row, 11)) {
            ret_checkpoint->state =
                blob(&row, 11, 0, (size_t)LIMIT_STATE_BYTES, &ret_checkpoint->state_len);
        }
    }
    return finish(&row, "a checkpoint", err);
}

int row_letter(struct checked_row row, struct store_letter *ret_letter, struct rondo_error *err)
{
    *ret_letter = (struct store_letter){
        .run_id = run_id(&row, 0),
        .id = (uint64_t)number(&row, 1, 1, INT64_MAX),
        .time_ns = natural(&row, 2),
        .kind = text(&row, 3, 1, TYPE_LEN_MAX),
        .data = text(&row, 4, 0, (size_t)LIMIT_EVENT_BYTES),
    };
    return finish(&row, "a letter", err);
}

int row_policy(struct checked_row row, struct store_policy_change *ret_change,
               struct rondo_error *err)
{
    *ret_change = (struct store_policy_change){
        .number = (uint64_t)number(&row, 0, 1, INT64_MAX),
        .time_ns = natural(&row, 1),
        .source = text(&row, 2, 1, LIMIT_POLICY_SOURCE_BYTES),
        .digest = text(&row, 3, STORE_POLICY_DIGEST_LEN, STORE_POLICY_DIGEST_LEN),
        .how = text(&row, 4, 1, TYPE_LEN_MAX),
        .by = text(&row, 5, 1, LIMIT_POLICY_BY_BYTES),
    };
    if (strspn(ret_change->digest, "0123456789abcdef") != STORE_POLICY_DIGEST_LEN) {
        refuse(&row, 3);
    }
    /* Whatever the bytes are: who reads policies refuses what is none. */
    if (!row.ops->is_null(&row, 6) &&
        (!row.ops->bytes(&row, 6, true, &ret_change->text, &ret_change->text_len) ||
         ret_change->text_len > (size_t)LIMIT_POLICY_BYTES)) {
        refuse(&row, 6);
    }
    if (row.bad_column < 0 && ret_change->text == NULL) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "%s is damaged: the text of policies %llu is missing", row.place,
                         (unsigned long long)ret_change->number);
    }
    return finish(&row, "the history of policies", err);
}

int row_document(struct checked_row row, struct store_document *ret_document,
                 struct rondo_error *err)
{
    *ret_document = (struct store_document){
        .collection = text(&row, 0, 1, STORE_COLLECTION_LEN),
        .key = text(&row, 1, 1, STORE_KEY_LEN),
        .version = (uint64_t)number(&row, 2, 1, INT64_MAX - 1),
        .updated_ns = natural(&row, 3),
        .data = json(&row, 4, 0, (size_t)LIMIT_DOCUMENT_BYTES),
    };
    ret_document->data_len = strlen(ret_document->data);
    return finish(&row, "a document", err);
}

int row_memory(struct checked_row row, struct store_memory *ret_memory, struct rondo_error *err)
{
    *ret_memory = (struct store_memory){
        .id = number(&row, 0, 1, INT64_MAX - 1),
        .owner = text(&row, 1, 1, LIMIT_MEMORY_OWNER_LEN),
        .kind = (enum store_memory_kind)number(&row, 2, 0, STORE_MEMORY_KIND_COUNT - 1),
        .created_ns = natural(&row, 3),
        .consolidated_ns = natural(&row, 4),
        .category = text(&row, 5, 1, LIMIT_MEMORY_CATEGORY_LEN),
        .run_id = text(&row, 6, 0, ID_SIZE - 1),
        .iteration = (uint64_t)natural(&row, 7),
        .source = text(&row, 8, 1, LIMIT_MEMORY_SOURCE_LEN),
        .metadata = json(&row, 9, 2, (size_t)LIMIT_MEMORY_METADATA_BYTES),
        .content = text(&row, 10, 1, (size_t)LIMIT_MEMORY_BYTES),
        .grams = "",
        .score = real(&row, 11),
    };
    return finish(&row, "a memory", err);
}

int row_vector(struct checked_row row, struct store_memory *ret_memory, struct rondo_error *err)
{
    *ret_memory = (struct store_memory){
        .id = number(&row, 0, 1, INT64_MAX - 1),
        .kind = (enum store_memory_kind)number(&row, 1, 0, STORE_MEMORY_KIND_COUNT - 1),
        .created_ns = natural(&row, 2),
    };
    ret_memory->vector =
        blob(&row, 3, 1, (size_t)LIMIT_MEMORY_VECTOR_BYTES, &ret_memory->vector_len);
    ret_memory->vector_model = text(&row, 4, 1, LIMIT_MEMORY_MODEL_LEN);
    return finish(&row, "a vector", err);
}

int row_memory_owner(struct checked_row row, struct store_memory_owner *ret_owner,
                     struct rondo_error *err)
{
    *ret_owner = (struct store_memory_owner){
        .key = number(&row, 0, 1, INT64_MAX / LIMIT_MEMORY_IDS - 1),
        .name = text(&row, 1, 1, LIMIT_MEMORY_OWNER_LEN),
        .last = number(&row, 2, 0, LIMIT_MEMORY_IDS - 1),
    };
    return finish(&row, "an owner of memories", err);
}

int row_numbers(struct checked_row row, int count, const char *what, struct rondo_error *err)
{
    for (int i = 0; i < count; i++) {
        if (!row.ops->is_null(&row, i)) {
            natural(&row, i);
        }
    }
    return finish(&row, what, err);
}
