// SPDX-License-Identifier: Apache-2.0
/*
 * Opening and closing of the SQLite back end, and its table of operations. The file is made with
 * mode 0600 before SQLite sees it; SQLite gives the log and the shared memory file the same mode.
 *
 * all opens: the store, which no sandbox shows and no tool writes.
 */
#include "store/sqlite/sqlite.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"
#include "store/copy.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/schema.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Default of store_sqlite_options.busy_timeout_ns. */
#define BUSY_TIMEOUT_NS (10 * NS_PER_S)
/** How long another process may take to turn a new file into a store. */
#define JOURNAL_PATIENCE_NS NS_PER_S
/** Bytes of a page, as SQLite makes new files. */
#define SQLITE_PAGE_BYTES 4096
/** Pause between two tries to open a store that another process is just creating. */
#define OPEN_PAUSE_NS (5 * NS_PER_MS)

static void close_store(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    for (size_t i = 0; i < SQLITE_READERS; i++) {
        sqlite_connection_close(&store->readers[i]);
        pthread_mutex_destroy(&store->readers[i].mutex);
    }
    sqlite_connection_close(&store->writer);
    pthread_mutex_destroy(&store->writer.mutex);
    if (store->is_private) {
        store_copy_remove(store->path, store->private_lock);
    }
    free(store->path);
    free(store->log_path);
    free(store);
}

static struct store_schema schema(struct store *base)
{
    return ((struct sqlite_store *)base)->schema;
}

static const struct store_ops sqlite_ops = {
    .name = "sqlite",
    .is_local = true,
    .close = close_store,
    .create_run = sqlite_create_run,
    .claim_run = sqlite_claim_run,
    .expire_lease = sqlite_expire_lease,
    .renew_leases = sqlite_renew_leases,
    .commit = sqlite_commit,
    .get_run = sqlite_get_run,
    .list_runs = sqlite_list_runs,
    .count_runs = sqlite_count_runs,
    .read_events = sqlite_read_events,
    .list_checkpoints = sqlite_list_checkpoints,
    .get_checkpoint = sqlite_get_checkpoint,
    .post = sqlite_post,
    .read_mail = sqlite_read_mail,
    .last_position = sqlite_last_position,
    .watch = sqlite_watch,
    .record_policy = sqlite_record_policy,
    .read_policies = sqlite_read_policies,
    .change_documents = sqlite_change_documents,
    .next_collection = sqlite_next_collection,
    .read_documents = sqlite_read_documents,
    .reserve_memories = sqlite_reserve_memories,
    .change_memories = sqlite_change_memories,
    .read_memories = sqlite_read_memories,
    .read_memory_owners = sqlite_read_memory_owners,
    .import = sqlite_import,
    .gc = sqlite_gc,
    .schema = schema,
    .health = sqlite_health,
};

static int make_parent(const char *path, struct rondo_error *err)
{
    auto_free char *folder = memory_dup_string(path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder) {
        return 0;
    }
    *slash = '\0';
    return file_make_folder(folder, err);
}

int store_sqlite_create_file(const char *path, struct rondo_error *err)
{
    int r = make_parent(path, err);
    if (r < 0) {
        return r;
    }
    /* O_EXCL, because closing a descriptor of a file that is open already would drop the locks
     * that SQLite holds on it in this process. */
    auto_close int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return errno == EEXIST
                   ? 0
                   : error_set_errno(err, RONDO_ERR_IO, errno, "cannot create the store %s", path);
    }
    if (fchmod(fd, 0600) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make the store %s private", path);
    }
    return 0;
}

/** Whether the file of a store says that it has a write-ahead log, and no rollback journal. */
static bool has_log(const char *path)
{
    /* File format versions 2 for writing and reading: "Database File Format" of SQLite, 1.3.3. */
    unsigned char versions[2] = {0};
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd >= 0 && pread(fd, versions, sizeof(versions), 18) == (ssize_t)sizeof(versions) &&
           versions[0] == 2 && versions[1] == 2;
}

/** Whether the file of a store is one page: its header, and no table yet. */
static bool has_no_table(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size <= SQLITE_PAGE_BYTES;
}

static bool has_no_content(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size == 0;
}

/**
 * Refuse a rollback journal that a store cannot have: SQLite would write its content into the
 * store. Where Rondo 0.1 makes the store, there is one for an instant.
 */
static int refuse_journal(const char *path, struct rondo_error *err)
{
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + JOURNAL_PATIENCE_NS;
    auto_buf struct buf journal = {0};
    buf_printf(&journal, "%s-journal", path);
    struct stat status;
    while (lstat(buf_string(&journal), &status) == 0 && status.st_size > 0 && has_log(path)) {
        if (clock_monotonic(clock) >= deadline && has_no_table(path)) {
            /* The process that created the store was killed: it held nothing before. */
            return unlink(buf_string(&journal)) == 0 || errno == ENOENT
                       ? 0
                       : error_set_errno(err, RONDO_ERR_IO, errno, "cannot remove %s",
                                         buf_string(&journal));
        }
        if (clock_monotonic(clock) >= deadline) {
            return error_set(err, RONDO_ERR_DENIED,
                             "%s is not Rondo's, and would change the store; remove it, and find "
                             "out what created it",
                             buf_string(&journal));
        }
        clock_sleep(clock, OPEN_PAUSE_NS, NULL);
    }
    return 0;
}

/** See that there is a regular file at the path. */
static int find_file(const struct store_sqlite_options *options, struct rondo_error *err)
{
    struct stat status;
    if (stat(options->path, &status) != 0) {
        if (errno == ENOENT && options->may_create) {
            return store_sqlite_create_file(options->path, err);
        }
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open the store %s", options->path);
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not a regular file", options->path);
    }
    if (status.st_size == 0 && !options->may_create) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "%s is empty: no store was created there yet",
                         options->path);
    }
    return 0;
}

/**
 * Switch to write-ahead logging.
 * @param is_new the file has no content: writing its first page needs no rollback journal, with
 * which it would take four syncs instead of one. The page is synced before anything relies on it.
 * @return 0, or a SQLite code
 */
static int use_wal(sqlite3 *db, bool is_new, bool *ret_is_wal)
{
    sqlite3_stmt *statement = NULL;
    int r = is_new ? sqlite3_exec(db, "PRAGMA journal_mode = MEMORY", NULL, NULL, NULL) : SQLITE_OK;
    if (r == SQLITE_OK) {
        r = sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
    }
    if (r == SQLITE_OK) {
        r = sqlite3_step(statement);
    }
    if (r == SQLITE_ROW) {
        *ret_is_wal = strcmp(sqlite_column_string(statement, 0), "wal") == 0;
        /* The switch is committed only now, and it is this step that reports a failed fsync. */
        r = sqlite3_step(statement);
    }
    int finalized = sqlite3_finalize(statement);
    return r == SQLITE_DONE ? finalized : r;
}

/** Check the file's identity before anything is changed in it, then bring it up to date. */
static int prepare_file(struct sqlite_store *store, struct rondo_error *err)
{
    int r = sqlite_connection_open(&store->writer, err);
    if (r < 0) {
        return r;
    }
    sqlite3 *db = store->writer.db;
    uint32_t version = 0;
    bool is_wal = true;
    r = sqlite_schema_identify(db, store->path, &version, err);
    if (r == 0) {
        r = use_wal(db, version == 0 && has_no_content(store->path), &is_wal);
    }
    if (r == 0 && !is_wal) {
        r = error_set(err, RONDO_ERR_UNSUPPORTED,
                      "the file system of %s has no shared memory files; put the store on a "
                      "local disk",
                      store->path);
    }
    if (r == 0 && version < sqlite_schema_newest()) {
        r = sqlite_schema_migrate(db, store->path, sqlite_schema_newest(), err);
    }
    if (r == 0) {
        store->schema = (struct store_schema){version, sqlite_schema_newest()};
    }
    return r > 0 ? sqlite_fail_code(&store->writer, r, "open the store", err) : r;
}

/**
 * Begin to use the first reader at once. While it is open the shared index of the log stays,
 * so that closing the writer after a failed commit leads to no recovery in which the frames of that
 * commit would turn up as if they had been committed.
 */
static int hold_log_index(struct sqlite_store *store, struct rondo_error *err)
{
    /* The cheapest read: it touches the first page only, so that a damaged store can be opened. */
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_HEALTH_SCHEMA, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    r = sqlite_step_row(reader, statement, "open the store", err);
    sqlite_read_end(reader, statement);
    return r < 0 ? r : 0;
}

/** SQLite does not wait on every path while another process turns the same file into a store. */
static int prepare_with_patience(struct sqlite_store *store, int64_t patience_ns,
                                 struct rondo_error *err)
{
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + patience_ns;
    int r = prepare_file(store, err);
    while (r == RONDO_ERR_BUSY && clock_monotonic(clock) < deadline) {
        clock_sleep(clock, OPEN_PAUSE_NS, NULL);
        r = prepare_file(store, err);
    }
    return r;
}

static char *log_path_of(const char *path)
{
    struct buf log = {0};
    buf_printf(&log, "%s-wal", path);
    return buf_steal(&log);
}

static void init_connection(struct sqlite_store *store, struct sqlite_connection *connection)
{
    connection->store = store;
    int r = pthread_mutex_init(&connection->mutex, NULL);
    assert(r == 0);
}

int store_sqlite_open(const struct store_sqlite_options *options, struct store **ret_store,
                      struct rondo_error *err)
{
    int r = find_file(options, err);
    if (r < 0) {
        return r;
    }
    char *path = realpath(options->path, NULL);
    if (path == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open the store %s", options->path);
    }
    r = refuse_journal(path, err);
    if (r < 0) {
        free(path);
        return r;
    }
    int64_t patience_ns = options->busy_timeout_ns > 0 ? options->busy_timeout_ns : BUSY_TIMEOUT_NS;
    struct sqlite_store *store = memory_new_zero(1, sizeof(*store));
    store->base.ops = &sqlite_ops;
    store->path = path;
    store->log_path = log_path_of(path);
    store->clock = options->clock != NULL ? options->clock : clock_system();
    store->keeps_log = options->keeps_log;
    store->busy_timeout_ms = (int)((patience_ns + NS_PER_MS - 1) / NS_PER_MS);
    init_connection(store, &store->writer);
    for (size_t i = 0; i < SQLITE_READERS; i++) {
        store->readers[i].is_reader = true;
        init_connection(store, &store->readers[i]);
    }
    r = prepare_with_patience(store, patience_ns, err);
    if (r == 0) {
        r = hold_log_index(store, err);
    }
    if (r == 0) {
        sqlite_note_file(store);
    }
    if (r < 0) {
        close_store(&store->base);
        return r;
    }
    store->is_private = options->is_private;
    store->private_lock = options->private_lock;
    *ret_store = &store->base;
    return 0;
}
