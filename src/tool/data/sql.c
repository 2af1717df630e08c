// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "sql": questions to a database of SQLite. A file is opened below its folder without
 * links, and its bytes are the database: nothing is written, no other file is reached, and what is
 * in it is not trusted. `:memory:` is a database of the agent's own, which ends with it.
 *
 * SQLite looks at time and memory only while a statement runs. Before that it puts in the text of
 * each view and WITH as often as they are named, by recursion: a short statement can double that
 * dozens of times. So a question has a thread with a stack that holds the deepest text, and while
 * it is read, SQLite's memory has a limit; that is one of the process, so they are read in turn.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/file.h"
#include "tool/builtin/filesystem_path.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define USUAL_ROWS      100
#define MOST_ROWS       10000
#define USUAL_BYTES     102400
#define USUAL_TIMEOUT_S 10
/** A database file, bytes. */
#define MOST_FILE_BYTES ((size_t)64 * 1024 * 1024)
/** A value, bytes. */
#define MOST_VALUE_BYTES (1024 * 1024)
/** Bytes that a page of SQLite's may take in memory: a question cannot fill the machine. */
#define MOST_PAGES 65536
/** Bytes that SQLite may take for a question: to sort, to compare rows with each other. */
#define MOST_WORK_BYTES (INT64_C(256) * 1024 * 1024)
/** What SQLite may take, besides what it has, while a question is read. Other threads need little.
 */
#define MOST_READING_BYTES (INT64_C(512) * 1024 * 1024)
/** A statement, and all views of a database together, bytes: they may be nested that deeply. */
#define MOST_TEXT_BYTES 20000
/** Enough for 2 * MOST_TEXT_BYTES / 20 levels: each one takes less than 3 KiB. */
#define STACK_BYTES ((size_t)16 * 1024 * 1024)
/** Instructions of SQLite's machine between two looks at the time and at the memory. */
#define LOOK_EVERY   100
#define HEADER_BYTES 100

struct sql_tool {
    const struct tool_surroundings *around;
    const char *database; /* as the role has it */
    bool is_in_memory;
    bool may_write;
    size_t most_rows;
    size_t most_bytes;
    int64_t timeout_ns;
    pthread_mutex_t lock;
    sqlite3 *own; /* of `:memory:` */
};

/** When a question is cut off. */
struct sql_limit {
    const struct clock *clock;
    const struct cancel *cancel;
    int64_t until_ns;
    int64_t until_bytes; /* in use by SQLite in the whole process */
};

/* ---- What is allowed ------------------------------------------------------------------------ */

static bool is_harmless_pragma(const char *name)
{
    static const char *const names[] = {"table_info",  "table_xinfo", "table_list",
                                        "index_list",  "index_info",  "foreign_key_list",
                                        "data_version"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (sqlite3_stricmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int authorize(void *context, int action, const char *first, const char *second,
                     const char *third, const char *fourth)
{
    const struct sql_tool *self = context;
    (void)third;
    (void)fourth;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return second != NULL && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY
                                                                                : SQLITE_OK;
    case SQLITE_PRAGMA:
        return first != NULL && is_harmless_pragma(first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_UPDATE: /* How SQLite declares virtual tables; nobody can change this one. */
        return self->may_write || (first != NULL && strcmp(first, "sqlite_master") == 0)
                   ? SQLITE_OK
                   : SQLITE_DENY;
    case SQLITE_CREATE_TRIGGER: /* They start each other as deeply as somebody writes them. */
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return SQLITE_DENY;
    default:
        return self->may_write ? SQLITE_OK : SQLITE_DENY;
    }
}

static int is_over(void *context)
{
    const struct sql_limit *limit = context;
    return cancel_is_set(limit->cancel) || clock_monotonic(limit->clock) >= limit->until_ns ||
           sqlite3_memory_used() > limit->until_bytes;
}

static void set_bounds(struct sql_tool *self, sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_exec(db, "PRAGMA temp_store = 2", NULL, NULL, NULL);
    if (self->is_in_memory) {
        char text[64];
        snprintf(text, sizeof(text), "PRAGMA max_page_count = %d", MOST_PAGES);
        sqlite3_exec(db, text, NULL, NULL, NULL);
    }
    sqlite3_set_authorizer(db, authorize, self);
}

/* ---- Opening a database --------------------------------------------------------------------- */

static int open_file(const struct sql_tool *self, struct tool_result *ret_result)
{
    const char *slash = strrchr(self->database, '/');
    auto_free char *folder =
        self->database[0] == '/'
            ? memory_dup_bytes(self->database, (size_t)(slash - self->database) + 1)
            : memory_dup_string(".");
    const char *name = self->database[0] == '/' ? slash + 1 : self->database;
    const struct path_root in_workspace = {self->around, folder};
    const struct path_root beside_role = {self->around, self->around->role_folder};
    const struct path_question questions[] = {{&in_workspace, name, "read"},
                                              {&beside_role, name, "read"}};
    int fd = path_open(&questions[0], O_RDONLY | O_NONBLOCK | O_NOCTTY, ret_result);
    if (fd < 0 && self->database[0] != '/' && self->around->role_folder != NULL) {
        tool_result_fini(ret_result);
        *ret_result = (struct tool_result){0};
        fd = path_open(&questions[1], O_RDONLY | O_NONBLOCK | O_NOCTTY, ret_result);
    }
    return fd;
}

static bool read_bytes(const struct sql_tool *self, struct buf *bytes,
                       struct tool_result *ret_result)
{
    struct stat status;
    auto_close int fd = open_file(self, ret_result);
    if (fd < 0) {
        return false;
    }
    bool is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    if (!is_regular || file_read_all(fd, self->database, MOST_FILE_BYTES, bytes, NULL) < 0 ||
        bytes->len < HEADER_BYTES || memcmp(bytes->data, "SQLite format 3", 16) != 0) {
        tool_fail(ret_result, "Error: %s is not a database of SQLite of at most %zu MiB",
                  self->database, MOST_FILE_BYTES / (1024 * 1024));
        return false;
    }
    /* A file with a write-ahead log says so in these bytes; in memory there is none. */
    bytes->data[18] = 1;
    bytes->data[19] = 1;
    return true;
}

/** @return a connection, or NULL after having said why */
static sqlite3 *open_database(struct sql_tool *self, struct buf *bytes,
                              struct tool_result *ret_result)
{
    sqlite3 *db = NULL;
    if (!self->is_in_memory && !read_bytes(self, bytes, ret_result)) {
        return NULL;
    }
    /* opens: a database in memory */
    int r = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (r == SQLITE_OK && !self->is_in_memory) {
        r = sqlite3_deserialize(db, "main", (unsigned char *)bytes->data, (sqlite3_int64)bytes->len,
                                (sqlite3_int64)bytes->len, SQLITE_DESERIALIZE_READONLY);
    }
    if (r != SQLITE_OK) {
        tool_fail(ret_result, "SQL error: %s", sqlite3_errmsg(db));
        sqlite3_close(db);
        return NULL;
    }
    set_bounds(self, db);
    return db;
}

/* ---- One question --------------------------------------------------------------------------- */

static void write_value(sqlite3_stmt *row, int column, struct buf *out)
{
    if (sqlite3_column_type(row, column) == SQLITE_BLOB) {
        buf_printf(out, "(%d bytes)", sqlite3_column_bytes(row, column));
    } else if (sqlite3_column_type(row, column) == SQLITE_NULL) {
        buf_append_string(out, "NULL");
    } else {
        buf_append_string(out, (const char *)sqlite3_column_text(row, column));
    }
}

static void write_row(sqlite3_stmt *row, bool is_header, struct buf *out)
{
    int count = sqlite3_column_count(row);
    for (int i = 0; i < count; i++) {
        buf_append_string(out, i > 0 ? " | " : "");
        if (is_header) {
            const char *name = sqlite3_column_name(row, i);
            buf_append_string(out, name == NULL ? "" : name);
        } else {
            write_value(row, i, out);
        }
    }
    buf_append_string(out, "\n");
}

/** @return what the last step returned */
static int write_rows(const struct sql_tool *self, sqlite3_stmt *row, struct buf *out)
{
    size_t count = 0;
    int r = sqlite3_step(row);
    if (r == SQLITE_ROW) {
        write_row(row, true, out);
    }
    while (r == SQLITE_ROW && count < self->most_rows && out->len <= self->most_bytes) {
        write_row(row, false, out);
        count++;
        r = sqlite3_step(row);
    }
    if (r == SQLITE_ROW) {
        buf_printf(out, "(only the first %zu rows)", count);
        r = SQLITE_DONE;
    }
    return r;
}

/** Prepare a statement with a limit of memory. A lower one of the program around Rondo stays. */
static int prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement,
                   const char **ret_rest)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&turn);
    int64_t limit = sqlite3_memory_used() + MOST_READING_BYTES;
    int64_t before = sqlite3_hard_heap_limit64(-1);
    sqlite3_hard_heap_limit64(before > 0 && before < limit ? before : limit);
    int r = sqlite3_prepare_v2(db, sql, -1, ret_statement, ret_rest);
    sqlite3_hard_heap_limit64(before);
    pthread_mutex_unlock(&turn);
    return r;
}

/** Views work while their texts together are short. Any text with the word may make a view. */
static void bound_views(sqlite3 *db)
{
    static const char size[] =
        "SELECT total(length(CAST(sql AS BLOB))) FROM (SELECT sql FROM sqlite_master UNION ALL "
        "SELECT sql FROM sqlite_temp_master) WHERE instr(lower(CAST(sql AS TEXT)), 'view') > 0";
    sqlite3_stmt *row = NULL;
    bool is_short = prepare(db, size, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW &&
                    sqlite3_column_double(row, 0) <= MOST_TEXT_BYTES;
    sqlite3_finalize(row);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, is_short ? 1 : 0, NULL);
}

static void ask(struct sql_tool *self, sqlite3 *db, const char *sql, struct tool_result *ret_result)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = "";
    struct buf *out = &ret_result->text;
    int before = sqlite3_total_changes(db);
    int r = prepare(db, sql, &statement, &rest);
    bool is_one = rest[strspn(rest, " \t\r\n;")] == '\0';
    if (r == SQLITE_OK && statement != NULL && is_one) {
        r = write_rows(self, statement, out);
    }
    if (r == SQLITE_INTERRUPT || r == SQLITE_NOMEM) {
        tool_fail(ret_result,
                  "SQL error: it took too long, or more than %lld MiB of memory: ask for less",
                  (long long)(MOST_WORK_BYTES / (1024 * 1024)));
    } else if (r != SQLITE_OK && r != SQLITE_DONE) {
        tool_fail(ret_result, "SQL error: %s", sqlite3_errmsg(db));
    } else if (statement == NULL || !is_one) {
        tool_fail(ret_result, "SQL error: one statement at a time");
    } else if (out->len == 0 && sqlite3_column_count(statement) > 0) {
        buf_append_string(out, "No results");
    } else if (out->len == 0) {
        buf_printf(out, "OK (%d rows affected)", sqlite3_total_changes(db) - before);
    }
    sqlite3_finalize(statement);
    tool_result_truncate(ret_result, self->most_bytes);
}

/** A call on its way to its thread. */
struct sql_question {
    struct sql_tool *self;
    const struct tool_call *call;
    const char *sql;
    struct tool_result *result;
};

static void *answer(void *context)
{
    const struct sql_question *question = context;
    const struct tool_call *call = question->call;
    struct sql_tool *self = question->self;
    auto_buf struct buf bytes = {0};
    int64_t now_ns = clock_monotonic(self->around->clock);
    bool is_late = call->deadline_ns - now_ns < self->timeout_ns;
    struct sql_limit limit = {
        .clock = self->around->clock,
        .cancel = call->cancel,
        .until_ns = is_late ? call->deadline_ns : now_ns + self->timeout_ns,
    };
    pthread_mutex_lock(&self->lock);
    sqlite3 *db = self->own != NULL ? self->own : open_database(self, &bytes, question->result);
    if (db != NULL) {
        limit.until_bytes = sqlite3_memory_used() + MOST_WORK_BYTES;
        sqlite3_progress_handler(db, LOOK_EVERY, is_over, &limit);
        bound_views(db);
        ask(self, db, question->sql, question->result);
        sqlite3_progress_handler(db, 0, NULL, NULL);
    }
    if (self->is_in_memory) {
        self->own = db;
    } else {
        sqlite3_close(db);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void run_query(const struct tool *tool, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    pthread_t thread;
    pthread_attr_t attributes;
    struct sql_question question = {
        .self = tool->context,
        .call = call,
        .sql = json_get_string(call->arguments, "sql", ""),
        .result = ret_result,
    };
    if (strlen(question.sql) > MOST_TEXT_BYTES) {
        tool_fail(ret_result, "SQL error: the statement is longer than %d bytes", MOST_TEXT_BYTES);
        return;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int r = pthread_create(&thread, &attributes, answer, &question);
    pthread_attr_destroy(&attributes);
    if (r != 0) {
        tool_fail(ret_result, "Error: there is no thread for the question: %s", strerror(r));
        return;
    }
    pthread_join(thread, NULL);
}

/* ---- The tool ------------------------------------------------------------------------------- */

#define QUERY_FUNCTION                                                                   \
    .name = "query_database", .description = "Ask a database of SQLite: one statement.", \
    .schema = "{\"type\":\"object\",\"properties\":{\"sql\":{\"type\":\"string\","       \
              "\"description\":\"The statement\"}},\"required\":[\"sql\"],"              \
              "\"additionalProperties\":false}",                                         \
    .run = run_query

static const struct tool_function read_function = {
    QUERY_FUNCTION,
    .is_idempotent = true,
    .is_concurrent = true,
    .is_read_only = true,
};

static const struct tool_function write_function = {QUERY_FUNCTION};

static void free_sql_tool(void *owned)
{
    struct sql_tool *self = owned;
    sqlite3_close(self->own);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static int64_t between(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static int open_sql(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    struct sql_tool *self = memory_new_zero(1, sizeof(*self));
    pthread_mutex_init(&self->lock, NULL);
    toolbox_own(toolbox, self, free_sql_tool);
    self->around = toolbox_surroundings(toolbox);
    self->database = json_get_string(config, "database", "");
    self->is_in_memory = strcmp(self->database, ":memory:") == 0;
    self->may_write = self->is_in_memory && !json_get_bool(config, "read_only", true);
    self->most_rows = (size_t)between(json_get_int(config, "max_rows", USUAL_ROWS), 1, MOST_ROWS);
    self->most_bytes = (size_t)between(json_get_int(config, "max_result_bytes", USUAL_BYTES), 1,
                                       (int64_t)TOOL_RESULT_MAX_BYTES);
    self->timeout_ns =
        between(json_get_int(config, "timeout_seconds", USUAL_TIMEOUT_S), 1, 3600) * NS_PER_S;
    return toolbox_add_function(toolbox, sql_tool_type.name,
                                self->may_write ? &write_function : &read_function, self, err);
}

const struct tool_type sql_tool_type = {.name = "sql", .open = open_sql};
