// SPDX-License-Identifier: Apache-2.0
/*
 * Rows as the layers above get them. A file may be damaged, or made by an attacker, and
 * its tables need not even be declared as ours are. So each column is checked here, once, for its
 * type, its range and its length, before anybody computes with it or copies it: above the store an
 * id is an id, a status is one of the enum, a time is not negative, and a text has no NUL in it.
 */
#include "base/error.h"
#include "base/json/json.h"
#include "store/sqlite/internal.h"

#include <string.h>

/** Bytes of an event's type, a letter's kind or a policy change's `how`. */
#define TYPE_LEN_MAX 63

/** A row that is read. */
struct sqlite_row {
    sqlite3_stmt *statement;
    int bad_column; /**< the first that cannot be; -1 = none */
};

static void refuse(struct sqlite_row *row, int column)
{
    if (row->bad_column < 0) {
        row->bad_column = column;
    }
}

static int64_t number(struct sqlite_row *row, int column, int64_t low, int64_t high)
{
    int64_t value = low;
    if (sqlite3_column_type(row->statement, column) == SQLITE_INTEGER) {
        value = sqlite3_column_int64(row->statement, column);
    } else {
        refuse(row, column);
    }
    if (value < low || value > high) {
        refuse(row, column);
        value = low;
    }
    return value;
}

/** A count or a time; one more can be computed. */
static int64_t natural(struct sqlite_row *row, int column)
{
    return number(row, column, 0, INT64_MAX - 1);
}

/** What callers of the library report, be it a correction: its negative can be computed. */
static int64_t amount(struct sqlite_row *row, int column)
{
    return number(row, column, -INT64_MAX, INT64_MAX);
}

static bool flag(struct sqlite_row *row, int column)
{
    return number(row, column, 0, 1) != 0;
}

static const char *text(struct sqlite_row *row, int column, size_t low, size_t high)
{
    const char *value = NULL;
    if (sqlite3_column_type(row->statement, column) == SQLITE_TEXT) {
        value = (const char *)sqlite3_column_text(row->statement, column);
    }
    size_t len = (size_t)sqlite3_column_bytes(row->statement, column);
    if (value == NULL || len < low || len > high || memchr(value, '\0', len) != NULL) {
        refuse(row, column);
        return "";
    }
    return value;
}

static const char *text_or_null(struct sqlite_row *row, int column, size_t high)
{
    bool is_null = sqlite3_column_type(row->statement, column) == SQLITE_NULL;
    return is_null ? NULL : text(row, column, 0, high);
}

static const char *run_id(struct sqlite_row *row, int column)
{
    const char *value = text(row, column, ID_SIZE - 1, ID_SIZE - 1);
    if (!id_is_valid(value)) {
        refuse(row, column);
    }
    return value;
}

/** An object in one line: what is shown as it is can neither end its line nor its own object. */
static const char *object(struct sqlite_row *row, int column, size_t high)
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

static void copy(char *ret_text, size_t size, const char *value)
{
    size_t len = strnlen(value, size - 1);
    memcpy(ret_text, value, len);
    ret_text[len] = '\0';
}

/** @param what "a run" @return 0 or RONDO_ERR_CORRUPT */
static int finish(const struct sqlite_row *row, const struct sqlite_connection *connection,
                  const char *what, struct rondo_error *err)
{
    if (row->bad_column < 0) {
        return 0;
    }
    return error_set(
        err, RONDO_ERR_CORRUPT, "%s is damaged: \"%s\" of %s has a value that Rondo never writes",
        connection->store->path, sqlite3_column_name(row->statement, row->bad_column), what);
}

int sqlite_row_run(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                   struct store_run *ret_run, int64_t *ret_key, struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
    *ret_run = (struct store_run){
        .is_exclusive = flag(&row, 2),
        .epoch = (uint64_t)natural(&row, 4),
        .lease_until_ns = natural(&row, 5),
        .alive_ns = natural(&row, 6),
        .created_ns = natural(&row, 7),
        .updated_ns = natural(&row, 8),
        .ended_ns = natural(&row, 9),
        .summary = {.status = (enum rondo_status)number(&row, 10, 0, RONDO_STATUS_COUNT - 1),
                    .iteration = (uint64_t)natural(&row, 11),
                    .iteration_limit = (uint64_t)natural(&row, 12),
                    .conditions_met = (uint32_t)number(&row, 13, 0, UINT32_MAX),
                    .conditions_total = (uint32_t)number(&row, 14, 0, UINT32_MAX),
                    .tokens = amount(&row, 15),
                    .cost_micro = amount(&row, 16),
                    .warnings = (uint32_t)number(&row, 17, 0, UINT32_MAX),
                    .is_paused = flag(&row, 18)},
        .last_seq = (uint64_t)natural(&row, 19),
        .alive_monotonic_ns = natural(&row, 22),
    };
    copy(ret_run->id, sizeof(ret_run->id), run_id(&row, 0));
    copy(ret_run->agent_id, sizeof(ret_run->agent_id), text(&row, 1, 1, LIMIT_AGENT_ID_LEN));
    copy(ret_run->owner, sizeof(ret_run->owner), text(&row, 3, 0, STORE_OWNER_SIZE - 1));
    copy(ret_run->boot, sizeof(ret_run->boot), text(&row, 21, 0, STORE_BOOT_SIZE - 1));
    *ret_key = number(&row, 20, INT64_MIN, INT64_MAX);
    return finish(&row, connection, "a run", err);
}

int sqlite_row_event(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                     struct store_event *ret_event, struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
    *ret_event = (struct store_event){
        .position = (uint64_t)number(&row, 0, 1, INT64_MAX),
        .run_id = run_id(&row, 1),
        .seq = (uint64_t)number(&row, 2, 1, INT64_MAX - 1),
        .time_ns = natural(&row, 3),
        .type = text(&row, 4, 1, TYPE_LEN_MAX),
        .data = object(&row, 5, (size_t)LIMIT_EVENT_BYTES),
    };
    ret_event->data_len = strlen(ret_event->data);
    return finish(&row, connection, "an event", err);
}

int sqlite_row_checkpoint(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                          bool is_whole, struct store_checkpoint *ret_checkpoint,
                          struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
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
    const void *digest = sqlite3_column_blob(statement, 7);
    if (sqlite3_column_type(statement, 7) == SQLITE_BLOB && digest != NULL &&
        sqlite3_column_bytes(statement, 7) == (int)sizeof(ret_checkpoint->sha256)) {
        memcpy(ret_checkpoint->sha256, digest, sizeof(ret_checkpoint->sha256));
    } else {
        refuse(&row, 7);
    }
    if (is_whole) {
        int type = sqlite3_column_type(statement, 11);
        ret_checkpoint->fold = text_or_null(&row, 10, most);
        ret_checkpoint->state = sqlite3_column_blob(statement, 11);
        ret_checkpoint->state_len = (size_t)sqlite3_column_bytes(statement, 11);
        if ((type != SQLITE_BLOB && type != SQLITE_NULL) ||
            ret_checkpoint->state_len > (size_t)LIMIT_STATE_BYTES) {
            refuse(&row, 11);
        }
    }
    return finish(&row, connection, "a checkpoint", err);
}

int sqlite_row_letter(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                      struct store_letter *ret_letter, struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
    *ret_letter = (struct store_letter){
        .run_id = run_id(&row, 0),
        .id = (uint64_t)number(&row, 1, 1, INT64_MAX),
        .time_ns = natural(&row, 2),
        .kind = text(&row, 3, 1, TYPE_LEN_MAX),
        .data = text(&row, 4, 0, (size_t)LIMIT_EVENT_BYTES),
    };
    return finish(&row, connection, "a letter", err);
}

int sqlite_row_policy(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                      struct store_policy_change *ret_change, struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
    *ret_change = (struct store_policy_change){
        .number = (uint64_t)number(&row, 0, 1, INT64_MAX),
        .time_ns = natural(&row, 1),
        .source = text(&row, 2, 1, LIMIT_POLICY_SOURCE_BYTES),
        .digest = text(&row, 3, STORE_POLICY_DIGEST_LEN, STORE_POLICY_DIGEST_LEN),
        .how = text(&row, 4, 1, TYPE_LEN_MAX),
        .by = text(&row, 5, 1, LIMIT_POLICY_BY_BYTES),
        .text = (const char *)sqlite3_column_text(statement, 6),
        .text_len = (size_t)sqlite3_column_bytes(statement, 6),
    };
    if (strspn(ret_change->digest, "0123456789abcdef") != STORE_POLICY_DIGEST_LEN) {
        refuse(&row, 3);
    }
    if (ret_change->text_len > (size_t)LIMIT_POLICY_BYTES) {
        refuse(&row, 6);
    }
    return finish(&row, connection, "the history of policies", err);
}

int sqlite_row_document(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                        struct store_document *ret_document, struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
    *ret_document = (struct store_document){
        .collection = text(&row, 0, 1, STORE_COLLECTION_LEN),
        .key = text(&row, 1, 1, STORE_KEY_LEN),
        .version = (uint64_t)number(&row, 2, 1, INT64_MAX - 1),
        .updated_ns = natural(&row, 3),
        .data = text(&row, 4, 0, (size_t)LIMIT_DOCUMENT_BYTES),
    };
    ret_document->data_len = strlen(ret_document->data);
    if (json_parse(ret_document->data, ret_document->data_len, NULL, NULL) < 0) {
        refuse(&row, 4);
    }
    return finish(&row, connection, "a document", err);
}

int sqlite_row_memory(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                      struct store_memory *ret_memory, struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
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
        .metadata = text(&row, 9, 2, (size_t)LIMIT_MEMORY_METADATA_BYTES),
        .content = text(&row, 10, 1, (size_t)LIMIT_MEMORY_BYTES),
        .grams = "",
        .score = sqlite3_column_double(statement, 11),
    };
    if (json_parse(ret_memory->metadata, strlen(ret_memory->metadata), NULL, NULL) < 0) {
        refuse(&row, 9);
    }
    return finish(&row, connection, "a memory", err);
}

int sqlite_row_vector(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                      struct store_memory *ret_memory, struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
    *ret_memory = (struct store_memory){
        .id = number(&row, 0, 1, INT64_MAX - 1),
        .kind = (enum store_memory_kind)number(&row, 1, 0, STORE_MEMORY_KIND_COUNT - 1),
        .created_ns = natural(&row, 2),
        .vector = sqlite3_column_blob(statement, 3),
        .vector_len = (size_t)sqlite3_column_bytes(statement, 3),
    };
    if (ret_memory->vector == NULL || ret_memory->vector_len > LIMIT_MEMORY_VECTOR_BYTES) {
        refuse(&row, 3);
    }
    return finish(&row, connection, "a vector", err);
}

int sqlite_row_numbers(const struct sqlite_connection *connection, sqlite3_stmt *statement,
                       const char *what, struct rondo_error *err)
{
    struct sqlite_row row = {.statement = statement, .bad_column = -1};
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        if (sqlite3_column_type(statement, i) != SQLITE_NULL) {
            natural(&row, i);
        }
    }
    return finish(&row, connection, what, err);
}
