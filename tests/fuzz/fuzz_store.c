// SPDX-License-Identifier: Apache-2.0
/*
 * The content of a store, damaged at will, through everything that reads one: the commands, the
 * operations of the API, the monitor, controls, garbage collection. Nothing may crash, hang or read
 * what is not there; every answer of the server is one.
 *
 * An input is a list of changes. Each begins with five bytes: what to do, which table, which
 * column, which row, how many bytes follow as its value. Bit 7 of the first byte of the input drops
 * the tables' types, so that any value can be in any column.
 */
#include "fuzz_server.h"

#include "alert/monitor.h"
#include "cli/framework/command.h"
#include "journal/checkpoint.h"
#include "loop/runtime.h"
#include "loop/summary.h"
#include "memory/memory.h"
#include "orchestrator/orchestrator.h"
#include "os/file_folder.h"
#include "server/server.h"
#include "store/sqlite/sqlite.h"
#include "store_template.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

enum { CHANGE_HEAD = 5, MAX_CHANGES = 16 };

static struct {
    char folder[64];
    char path[96];
    struct buf strict; /* bytes of the file */
    struct buf loose;
} world;

/* ---- The store before it is damaged. --------------------------------------------------------- */

static void check_sql(sqlite3 *db, const char *sql)
{
    FUZZ_CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static void add_run(struct store *store, const char *id, const struct store_row *rows, size_t count,
                    bool is_ended)
{
    struct store_event events[32];
    struct store_run run = {.agent_id = "mender"};
    struct store_claim claim = {.owner = "pid=1", .lease_ns = 1};
    struct store_claim_result claimed;
    snprintf(run.id, sizeof(run.id), "%s", id);
    for (size_t i = 0; i < count; i++) {
        events[i] = (struct store_event){.type = rows[i].type,
                                         .data = rows[i].data,
                                         .data_len = strlen(rows[i].data),
                                         .time_ns = (int64_t)i + 1};
    }
    FUZZ_CHECK(store->ops->create_run(store, &run, events, 1, &claim, &claimed, NULL) == 0);
    struct store_checkpoint checkpoint = {.number = 1,
                                          .seq = 3,
                                          .iteration = 1,
                                          .format = CHECKPOINT_FORMAT,
                                          .state = "state",
                                          .state_len = 5,
                                          .state_size = 5,
                                          .fold = "{}",
                                          .conditions = "{\"tests\":\"not_met\"}",
                                          .custom_data = "{\"a\":1}"};
    struct store_batch batch = {
        .run_id = id,
        .epoch = 1,
        .first_seq = 2,
        .events = events + 1,
        .event_count = count - 1,
        .checkpoint = &checkpoint,
        .lease_ns = 0,
        .summary = {.status = is_ended ? RONDO_BLOCKED : RONDO_RUNNING, .iteration = 1}};
    const struct store_batch *batches[] = {&batch};
    struct store_commit_result result;
    FUZZ_CHECK(store->ops->commit(store, batches, 1, &result, NULL) == 0);
    FUZZ_CHECK(store->ops->post(store, id, "stop", "{\"by\":\"alice\"}", NULL) == 0);
}

static void add_documents(struct store *store)
{
    for (size_t i = 0; i < sizeof(store_documents) / sizeof(store_documents[0]); i++) {
        const char *name = store_documents[i].type;
        char collection[64];
        bool is_applied = false;
        snprintf(collection, sizeof(collection), "%.*s", (int)strcspn(name, "/"), name);
        struct store_change change = {.collection = collection,
                                      .key = strchr(name, '/') + 1,
                                      .data = store_documents[i].data,
                                      .data_len = strlen(store_documents[i].data),
                                      .if_version = STORE_ANY_VERSION};
        FUZZ_CHECK(store->ops->change_documents(store, &change, 1, &is_applied, NULL) == 0);
    }
}

static void add_memories(struct store *store)
{
    for (int kind = 0; kind < STORE_MEMORY_KIND_COUNT; kind++) {
        const struct store_memory memory = {
            .owner = "mender",
            .kind = (enum store_memory_kind)kind,
            .created_ns = 5,
            .category = "c",
            .run_id = STORE_AGENT,
            .iteration = 1,
            .source = "remember",
            .metadata = "{\"a\":1}",
            .content = "text with words",
        };
        int64_t id = 0;
        FUZZ_CHECK(memories_add(store, NULL, &memory, MEMORIES_KEPT, &id, NULL) == 0);
    }
}

static void read_back(struct buf *ret_bytes)
{
    FILE *file = fopen(world.path, "rbe");
    size_t n = 1;
    FUZZ_CHECK(file != NULL);
    while (n > 0) {
        n = fread(buf_room(ret_bytes, 65536), 1, 65536, file);
        buf_grown(ret_bytes, n);
    }
    fclose(file);
}

static void make_template(void)
{
    const struct store_sqlite_options options = {.path = world.path, .may_create = true};
    const struct store_policy_change policy = {.time_ns = 1,
                                               .source = "/p",
                                               .digest = DIGEST,
                                               .how = "set",
                                               .by = "alice",
                                               .text = "permit (principal, action, resource);",
                                               .text_len = 37};
    struct store *store = NULL;
    sqlite3 *db = NULL;
    uint64_t number = 0;
    bool is_new = false;
    FUZZ_CHECK(store_sqlite_open(&options, &store, NULL) == 0);
    add_run(store, STORE_WORKER, store_worker_rows,
            sizeof(store_worker_rows) / sizeof(store_worker_rows[0]), true);
    add_run(store, STORE_AGENT, store_agent_rows,
            sizeof(store_agent_rows) / sizeof(store_agent_rows[0]), false);
    FUZZ_CHECK(store->ops->record_policy(store, &policy, &number, &is_new, NULL) == 0);
    add_documents(store);
    add_memories(store);
    store_close(store);
    read_back(&world.strict);
    FUZZ_CHECK(sqlite3_open(world.path, &db) == SQLITE_OK);
    check_sql(db, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql ="
                  " replace(replace(replace(sql, ' STRICT, WITHOUT', ' WITHOUT'), ' STRICT', ''),"
                  " ' NOT NULL', '')");
    FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
    read_back(&world.loose);
}

static void remove_folder(void)
{
    file_remove_tree(world.folder, NULL);
}

static void start(void)
{
    const char *shared = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(world.folder, sizeof(world.folder), "%s/rondo-fuzz-XXXXXX", shared);
    FUZZ_CHECK(mkdtemp(world.folder) != NULL);
    atexit(remove_folder);
    snprintf(world.path, sizeof(world.path), "%s/rondo.db", world.folder);
    setenv("XDG_STATE_HOME", world.folder, 1);
    setenv("HOME", world.folder, 1);
    setenv("NO_COLOR", "1", 1);
    make_template();
    stdout = fopen("/dev/null", "we"); /* what the commands say */
    stderr = fopen("/dev/null", "we");
    FUZZ_CHECK(stdout != NULL && stderr != NULL);
}

/* ---- Damage. --------------------------------------------------------------------------------- */

static const char *const tables[][16] = {
    {"runs", "id", "agent_id", "owner", "epoch", "lease_until_ns", "ended_ns", "status",
     "iteration", "last_seq", "last_position", "last_checkpoint_key", "key", "is_paused", "tokens",
     NULL},
    {"events", "data", "type", "seq", "time_ns", "previous", "position", "run", NULL},
    {"checkpoints", "fold", "state", "state_size", "is_packed", "sha256", "conditions",
     "custom_data", "number", "seq", "iteration", "format", "time_ns", NULL},
    {"documents", "data", "key", "collection", "version", "updated_ns", NULL},
    {"letters", "kind", "data", "id", "time_ns", "run", NULL},
    {"marks", "seq", "position", NULL},
    {"policy_changes", "source", "digest", "how", "by", "number", "time_ns", NULL},
    {"policy_texts", "text", "digest", NULL},
    {"memories", "content", "metadata", "category", "kind", "run", "iteration", "source", "owner",
     "grams", "created_ns", "consolidated_ns", "id", NULL},
    {"memory_owners", "name", "last", "key", NULL},
};

struct row_change {
    unsigned what;
    const char *table;
    const char *column;
    unsigned row;
    const char *value;
    size_t len;
};

static void run_change(sqlite3 *db, const struct row_change *change, const char *set)
{
    auto_buf struct buf sql = {0};
    sqlite3_stmt *statement = NULL;
    int64_t number = 0;
    memcpy(&number, change->value, change->len < 8 ? change->len : 8);
    buf_printf(&sql, set, change->table, change->column, change->column);
    if (strcmp(change->table, "documents") == 0 || strcmp(change->table, "marks") == 0) {
        const char *key = change->table[0] == 'd' ? "collection" : "run";
        buf_printf(&sql, " WHERE %s = (SELECT %s FROM %s LIMIT 1 OFFSET %u)", key, key,
                   change->table, change->row % 32);
    } else {
        buf_printf(&sql, " WHERE rowid = (SELECT rowid FROM %s LIMIT 1 OFFSET %u)", change->table,
                   change->row % 32);
    }
    if (sqlite3_prepare_v2(db, buf_string(&sql), -1, &statement, NULL) == SQLITE_OK) {
        switch (change->what % 4) {
        case 0:
            sqlite3_bind_int64(statement, 1, number);
            break;
        case 1:
            sqlite3_bind_text(statement, 1, change->value, (int)change->len, SQLITE_STATIC);
            break;
        case 2:
            sqlite3_bind_blob(statement, 1, change->value, (int)change->len, SQLITE_STATIC);
            break;
        default: /* NULL */
            break;
        }
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
}

/** "member=value" in a JSON column. */
static void set_member(sqlite3 *db, const struct row_change *change)
{
    auto_buf struct buf sql = {0};
    sqlite3_stmt *statement = NULL;
    const char *equals = memchr(change->value, '=', change->len);
    if (equals == NULL) {
        return;
    }
    buf_printf(&sql,
               "UPDATE %s SET %s = json_set(%s, '$.' || ?1, json(?2)) WHERE rowid ="
               " (SELECT rowid FROM %s LIMIT 1 OFFSET %u)",
               change->table, change->column, change->column, change->table, change->row % 32);
    if (sqlite3_prepare_v2(db, buf_string(&sql), -1, &statement, NULL) == SQLITE_OK) {
        int name_len = (int)(equals - change->value);
        sqlite3_bind_text(statement, 1, change->value, name_len, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, equals + 1, (int)change->len - name_len - 1, SQLITE_STATIC);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
}

static void apply(sqlite3 *db, const struct row_change *change)
{
    switch (change->what / 4 % 4) {
    case 0:
        run_change(db, change, "UPDATE %s SET \"%s\" = ?1");
        break;
    case 1:
        set_member(db, change);
        break;
    case 2:
        run_change(db, change, "DELETE FROM %s");
        break;
    default:
        run_change(db, change, "UPDATE OR REPLACE %s SET \"%s\" = coalesce(\"%s\", 0) + ?1");
        break;
    }
}

/** Bytes into the file itself; the columns and the row say where. */
static void write_raw(const uint8_t *head, const char *value, size_t len)
{
    struct stat status;
    int fd = open(world.path, O_RDWR | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && fstat(fd, &status) == 0);
    off_t at = ((off_t)head[1] << 12 | (off_t)head[2] << 4 | head[3]) % status.st_size;
    FUZZ_CHECK(pwrite(fd, value, len, at) == (ssize_t)len);
    close(fd);
}

static void write_file(const struct buf *bytes)
{
    char name[128];
    snprintf(name, sizeof(name), "%s-wal", world.path);
    unlink(name);
    snprintf(name, sizeof(name), "%s-shm", world.path);
    unlink(name);
    int fd = open(world.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_CHECK(fd >= 0 && write(fd, bytes->data, bytes->len) == (ssize_t)bytes->len);
    close(fd);
}

static void damage(const uint8_t *data, size_t size)
{
    struct row_change raw[MAX_CHANGES];
    size_t raw_count = 0;
    sqlite3 *db = NULL;
    write_file((data[0] & 0x80) != 0 ? &world.loose : &world.strict);
    FUZZ_CHECK(sqlite3_open(world.path, &db) == SQLITE_OK);
    sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    for (int i = 0; i < MAX_CHANGES && size >= CHANGE_HEAD; i++) {
        size_t len = data[4] < size - CHANGE_HEAD ? data[4] : size - CHANGE_HEAD;
        unsigned table = data[1] % (sizeof(tables) / sizeof(tables[0]));
        unsigned columns = 0;
        while (tables[table][columns + 1] != NULL) {
            columns++;
        }
        struct row_change change = {.what = data[0],
                                    .table = tables[table][0],
                                    .column = tables[table][1 + data[2] % columns],
                                    .row = data[3],
                                    .value = (const char *)data + CHANGE_HEAD,
                                    .len = len};
        if ((data[0] & 0x40) != 0) {
            raw[raw_count++] = change;
        } else {
            apply(db, &change);
        }
        data += CHANGE_HEAD + len;
        size -= CHANGE_HEAD + len;
    }
    sqlite3_close(db);
    for (size_t i = 0; i < raw_count; i++) {
        write_raw((const uint8_t *)raw[i].value - CHANGE_HEAD, raw[i].value, raw[i].len);
    }
}

/* ---- Readers. -------------------------------------------------------------------------------- */

/** One command of the program. The words end with NULL. */
static void command(const char *const *words)
{
    char *argv[16];
    int argc = 0;
    struct invocation invocation;
    for (; words[argc] != NULL; argc++) {
        argv[argc] = (char *)(uintptr_t)words[argc];
    }
    argv[argc++] = (char *)(uintptr_t) "--store";
    argv[argc++] = world.path;
    argv[argc] = NULL;
    command_resolve(argc, argv, &invocation);
    FUZZ_CHECK(invocation.command != NULL);
    invocation.command->run(&invocation);
}

static void run_commands(void)
{
    static const char *const all[][8] = {
        {"runs"},
        {"runs", "--json"},
        {"show", STORE_WORKER},
        {"show", STORE_WORKER, "--json"},
        {"show", STORE_AGENT},
        {"show", STORE_AGENT, "--json"},
        {"logs", STORE_WORKER},
        {"logs", STORE_WORKER, "--json"},
        {"logs", STORE_AGENT},
        {"checkpoints", STORE_WORKER},
        {"checkpoints", STORE_WORKER, "1"},
        {"checkpoints", STORE_AGENT, "--json"},
        {"policy", "history"},
        {"warnings"},
        {"sinks", "list"},
        {"sinks", "deliveries"},
        {"token", "list"},
        {"sources"},
        {"sources", "--json"},
        {"queue"},
        {"queue", "--refused"},
        {"followups", "list", "--all"},
        {"budgets"},
        {"budgets", "mender", "--json"},
        {"memory", "list", "--agent", "mender"},
        {"memory", "search", "--agent", "mender", "text"},
        {"pause", STORE_AGENT},
        {"limit", STORE_AGENT, "--max-iterations", "9"},
        {"stop", STORE_AGENT, "--timeout", "1ms"},
        {"fork", STORE_WORKER},
        {"gc", "--older-than", "1s", "--dry-run"},
        {"gc", "--older-than", "1s"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        command(all[i]);
    }
}

/** Nothing of a damaged store is executed here. */
static int refuse_claim(struct store *store, const char *run_id, const struct store_claim *claim,
                        struct store_claim_result *ret_result, struct rondo_error *err)
{
    (void)store;
    (void)run_id;
    (void)claim;
    (void)ret_result;
    if (err != NULL) {
        err->code = RONDO_ERR_BUSY;
        snprintf(err->message, sizeof(err->message), "not here");
    }
    return RONDO_ERR_BUSY;
}

static int (*read_all_documents)(struct store *, const struct store_document_query *,
                                 store_document_fn *, void *, struct rondo_error *);

/** Nothing is delivered: a sink may be a command. */
static int hide_deliveries(struct store *store, const struct store_document_query *query,
                           store_document_fn *fn, void *context, struct rondo_error *err)
{
    bool is_hidden = query->collection != NULL && strcmp(query->collection, "delivery") == 0;
    return is_hidden ? 0 : read_all_documents(store, query, fn, context, err);
}

static void ask_server(struct server *server)
{
    static const char *const paths[] = {
        "/readyz",
        "/metrics",
        "/v1/health",
        "/v1/runs",
        "/v1/runs?sort=agent&order=asc&limit=1",
        "/v1/runs/" STORE_WORKER,
        "/v1/runs/" STORE_AGENT,
        "/v1/runs/" STORE_AGENT "/limits",
        "/v1/runs/" STORE_WORKER "/events",
        "/v1/runs/" STORE_AGENT "/events?order=desc",
        "/v1/runs/" STORE_WORKER "/checkpoints",
        "/v1/runs/" STORE_WORKER "/checkpoints/1",
        "/v1/runs/" STORE_WORKER "/conditions",
        "/v1/runs/" STORE_AGENT "/conversation",
        "/v1/events",
        "/v1/policies",
        "/v1/policies/history",
        "/v1/policies/history/1",
        "/v1/warnings",
        "/v1/sinks",
        "/v1/deliveries",
        "/v1/tokens",
        "/v1/servers",
        "/v1/sources",
        "/v1/queue",
        "/v1/refusals",
        "/v1/follow-ups",
        "/v1/budgets",
        "/v1/memories?agent=mender",
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        auto_buf struct buf request = {0};
        auto_buf struct buf answer = {0};
        buf_printf(&request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                   paths[i]);
        fuzz_feed(fuzz_connect(server_address(server, 0)), request.data, request.len, request.len,
                  &answer);
        FUZZ_CHECK(answer.len > 12 && strncmp(answer.data, "HTTP/1.1 ", 9) == 0);
    }
}

static void serve(struct store *store)
{
    static const char *const listen[] = {"127.0.0.1:0", NULL};
    struct runtime *runtime = NULL;
    struct orchestrator *orchestrator = NULL;
    struct monitor *monitor = NULL;
    struct server *server = NULL;
    struct metrics *metrics = metrics_new();
    struct runtime_options runtime_options = {.store = store};
    FUZZ_CHECK(runtime_new(&runtime_options, &runtime, NULL) == 0);
    struct orchestrator_options options = {.runtime = runtime,
                                           .work_folder = world.folder,
                                           .max_loops = 1,
                                           .drain_ns = -1,
                                           .orphans = ORPHANS_LEAVE};
    struct monitor_options monitor_options = {.writer = runtime_writer(runtime),
                                              .has_no_thread = true};
    if (orchestrator_start(&options, &orchestrator, NULL) == 0 &&
        monitor_start(&monitor_options, &monitor, NULL) == 0) {
        monitor_tick(monitor, NULL);
        struct server_options server_options = {.runtime = runtime,
                                                .orchestrator = orchestrator,
                                                .monitor = monitor,
                                                .metrics = metrics,
                                                .workspace = world.folder,
                                                .listen = listen,
                                                .requests_per_second = 1000000};
        if (server_start(&server_options, &server, NULL) == 0) { /* it may say that it cannot */
            ask_server(server);
        }
    }
    server_stop(server);
    monitor_stop(monitor);
    orchestrator_stop(orchestrator);
    runtime_free(runtime);
    metrics_free(metrics);
}

static void read_with_server(void)
{
    const struct store_sqlite_options options = {.path = world.path};
    struct store *store = NULL;
    if (store_sqlite_open(&options, &store, NULL) < 0) {
        return;
    }
    struct store_ops ops = *store->ops;
    read_all_documents = ops.read_documents;
    ops.claim_run = refuse_claim;
    ops.read_documents = hide_deliveries;
    store->ops = &ops;
    serve(store);
    store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (world.folder[0] == '\0') {
        start();
    }
    if (size < CHANGE_HEAD) {
        return 0;
    }
    damage(data, size);
    read_with_server();
    run_commands();
    return 0;
}
