// SPDX-License-Identifier: Apache-2.0
/* The SQLite back end: the contract, and what a file makes possible beyond it. */
#include "../contract.h"
#include "../support.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite.h"

#include "base/auto.h"
#include "base/memory.h"
#include "os/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"

/** Open, and expect that it fails. */
static struct rondo_error fail_to_open(const char *path, bool may_create, int code)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    struct store_sqlite_options options = {.path = path, .may_create = may_create};
    assert_int_equal(store_sqlite_open(&options, &store, &err), code);
    assert_null(store);
    assert_non_null(strstr(err.message, path));
    return err;
}

/** Run SQL on the file with a connection of its own. */
static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t query_number(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

static mode_t mode_of(const struct test_place *place, const char *suffix)
{
    char path[256];
    snprintf(path, sizeof(path), "%s%s", place->path, suffix);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

#define PLACE_TEST(name) TEST_WITH(name, test_place_make, test_place_remove)

PLACE_TEST(its_files_are_readable_by_the_owner_only)
{
    const struct test_place *place = *state;
    mode_t before = umask(0);
    struct store *store = test_place_open(place);
    test_create(store, RUN_A, "agent", false);
    umask(before);
    assert_int_equal(mode_of(place, ""), 0600);
    assert_int_equal(mode_of(place, "-wal"), 0600);
    assert_int_equal(mode_of(place, "-shm"), 0600);
    store_close(store);
}

PLACE_TEST(the_file_is_marked_and_versioned)
{
    const struct test_place *place = *state;
    store_close(test_place_open(place));
    assert_int_equal(query_number(place->path, "PRAGMA application_id"),
                     SQLITE_SCHEMA_APPLICATION_ID);
    assert_int_equal(query_number(place->path, "PRAGMA user_version"), sqlite_schema_newest());
}

PLACE_TEST(a_missing_file_is_not_found_unless_it_may_be_created)
{
    const struct test_place *place = *state;
    fail_to_open(place->path, false, RONDO_ERR_NOT_FOUND);
    assert_int_not_equal(access(place->path, F_OK), 0);
}

PLACE_TEST(an_empty_file_becomes_a_store_only_if_it_may_be_created)
{
    const struct test_place *place = *state;
    auto_close int fd = open(place->path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    fail_to_open(place->path, false, RONDO_ERR_NOT_FOUND);
    store_close(test_place_open(place));
}

PLACE_TEST(missing_folders_are_created_with_the_file)
{
    const struct test_place *place = *state;
    auto_free char *folder = test_path(place->folder, "deep");
    auto_free char *path = test_path(folder, "store.db");
    struct store *store = NULL;
    struct store_sqlite_options options = {.path = path, .may_create = true};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    store_close(store);
    assert_int_equal(unlink(path), 0);
}

PLACE_TEST(a_store_is_found_again_after_closing)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    store_close(store);
    store = test_place_open(place);
    assert_int_equal(test_count_events(store, RUN_A), 1);
    store_close(store);
}

PLACE_TEST(a_newer_schema_is_refused)
{
    const struct test_place *place = *state;
    store_close(test_place_open(place));
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA user_version = %u", sqlite_schema_newest() + 1);
    run_sql(place->path, sql);
    struct rondo_error err = fail_to_open(place->path, true, RONDO_ERR_VERSION);
    assert_non_null(strstr(err.message, "use a newer Rondo"));
    assert_int_equal(query_number(place->path, "PRAGMA user_version"), sqlite_schema_newest() + 1);
}

PLACE_TEST(a_database_of_another_program_is_refused_and_left_alone)
{
    const struct test_place *place = *state;
    run_sql(place->path, "CREATE TABLE theirs (x)");
    fail_to_open(place->path, true, RONDO_ERR_INVALID);
    assert_int_equal(query_number(place->path, "SELECT count(*) FROM sqlite_schema"), 1);
    assert_int_equal(
        query_number(place->path, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
}

static void write_bytes(const char *path, off_t offset, const char *bytes, size_t len)
{
    auto_close int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, len, offset), (ssize_t)len);
}

PLACE_TEST(a_file_that_is_no_database_is_refused)
{
    const struct test_place *place = *state;
    char text[2000];
    memset(text, 'x', sizeof(text));
    write_bytes(place->path, 0, text, sizeof(text));
    fail_to_open(place->path, true, RONDO_ERR_CORRUPT);
}

PLACE_TEST(a_folder_is_refused)
{
    const struct test_place *place = *state;
    fail_to_open(place->folder, true, RONDO_ERR_INVALID);
}

static bool accept_event(const struct store_event *event, void *context)
{
    (void)event;
    (void)context;
    return true;
}

PLACE_TEST(damage_is_reported)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    test_create(store, RUN_A, "agent", false);
    char data[512];
    snprintf(data, sizeof(data), "{\"text\":\"%0400d\"}", 0);
    for (uint64_t seq = 1; seq <= 500; seq++) {
        test_append(store, RUN_A, seq, data);
    }
    store_close(store);
    /* All pages but the first few, which hold the schema and the run. */
    struct stat status;
    assert_int_equal(stat(place->path, &status), 0);
    char garbage[4096];
    memset(garbage, 0x5a, sizeof(garbage));
    for (off_t offset = 40 * 4096; offset + 4096 <= status.st_size; offset += 4096) {
        write_bytes(place->path, offset, garbage, sizeof(garbage));
    }

    store = test_place_open(place);
    struct store_health health;
    assert_int_equal(store->ops->health(store, &health, NULL), 0);
    assert_false(health.is_intact);
    assert_true(health.problem[0] != '\0');
    struct rondo_error err = {0};
    assert_int_equal(store->ops->read_events(store, NULL, 0, 0, accept_event, NULL, &err),
                     RONDO_ERR_CORRUPT);
    assert_non_null(strstr(err.message, place->path));
    store_close(store);
}

PLACE_TEST(a_missing_event_is_reported_and_not_skipped)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    test_create(store, RUN_A, "agent", false);
    for (uint64_t seq = 1; seq <= 5; seq++) {
        test_append(store, RUN_A, seq, "{}");
    }
    store_close(store);
    run_sql(place->path, "DELETE FROM events WHERE seq = 3");
    store = test_place_open(place);
    assert_int_equal(store->ops->read_events(store, RUN_A, 0, 0, accept_event, NULL, NULL),
                     RONDO_ERR_CORRUPT);
    store_close(store);
}

static void *read_at_the_same_time(void *context)
{
    struct store *store = context;
    struct store_run run;
    return store->ops->get_run(store, RUN_A, &run, NULL) == 0 ? store : NULL;
}

/** While an event is given: read in another thread, and wait for that. */
static bool read_within(const struct store_event *event, void *context)
{
    (void)event;
    struct store **store = context;
    pthread_t thread;
    void *answer = NULL;
    assert_int_equal(pthread_create(&thread, NULL, read_at_the_same_time, *store), 0);
    assert_int_equal(pthread_join(thread, &answer), 0);
    assert_ptr_equal(answer, *store);
    *store = NULL;
    return false;
}

PLACE_TEST(a_thread_that_reads_does_not_wait_for_one_that_reads_slowly)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    test_create(store, RUN_A, "alice", false);
    test_append(store, RUN_A, 1, "{}");
    struct store *asked = store;
    assert_int_equal(store->ops->read_events(store, NULL, 0, 1, read_within, &asked, NULL), 0);
    assert_null(asked);
    store_close(store);
}

PLACE_TEST(every_older_schema_is_brought_up_to_date)
{
    const struct test_place *place = *state;
    for (uint32_t version = 0; version < sqlite_schema_newest(); version++) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
        assert_int_equal(sqlite_schema_migrate(db, place->path, version, NULL), 0);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(query_number(place->path, "PRAGMA user_version"), version);
        struct store *store = test_place_open(place);
        assert_int_equal(store->ops->schema(store).found, version);
        assert_int_equal(store->ops->schema(store).present, sqlite_schema_newest());
        test_create(store, RUN_A, "agent", false);
        test_append(store, RUN_A, 1, "{}");
        store_close(store);
        assert_int_equal(query_number(place->path, "PRAGMA user_version"), sqlite_schema_newest());
        assert_int_equal(unlink(place->path), 0);
    }
}

static const struct store_policy_change policies = {
    .source = "built-in",
    .digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .how = "found",
    .by = "test",
    .text = "permit (principal, action, resource);",
    .text_len = 37,
};

static void record(struct store *store, const struct store_policy_change *change)
{
    uint64_t number;
    bool is_new = false;
    assert_int_equal(store->ops->record_policy(store, change, &number, &is_new, NULL), 0);
    assert_true(is_new);
}

PLACE_TEST(a_policy_text_is_stored_once_however_often_it_is_in_force)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    struct store_policy_change other = policies;
    other.digest = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    struct store_policy_change elsewhere = policies;
    elsewhere.source = "/etc/rondo";
    record(store, &policies);
    record(store, &other);
    record(store, &policies);
    record(store, &elsewhere);
    store_close(store);
    assert_int_equal(query_number(place->path, "SELECT count(*) FROM policy_changes"), 4);
    assert_int_equal(query_number(place->path, "SELECT count(*) FROM policy_texts"), 2);
}

static bool no_policy_is_expected(const struct store_policy_change *change, void *context)
{
    (void)change;
    (void)context;
    fail();
    return false;
}

PLACE_TEST(a_missing_policy_text_is_reported_and_not_skipped)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    record(store, &policies);
    store_close(store);
    run_sql(place->path, "DELETE FROM policy_texts");
    store = test_place_open(place);
    struct rondo_error err = {0};
    assert_int_equal(store->ops->read_policies(store, NULL, 0, no_policy_is_expected, NULL, &err),
                     RONDO_ERR_CORRUPT);
    assert_non_null(strstr(err.message, place->path));
    store_close(store);
}

PLACE_TEST(a_locked_store_is_busy_after_the_timeout)
{
    const struct test_place *place = *state;
    struct store *store = NULL;
    struct store_sqlite_options options = {
        .path = place->path, .may_create = true, .busy_timeout_ns = 2 * NS_PER_MS};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    test_create(store, RUN_A, "agent", false);
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(place->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct rondo_error err = {0};
    assert_int_equal(store->ops->renew_leases(store, "owner-a", TEST_LEASE_NS, &err),
                     RONDO_ERR_BUSY);
    assert_non_null(strstr(err.message, "store.db"));
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(store->ops->renew_leases(store, "owner-a", TEST_LEASE_NS, NULL), 0);
    store_close(store);
}

PLACE_TEST(a_process_that_is_killed_loses_nothing_that_was_committed)
{
    const struct test_place *place = *state;
    store_close(test_place_open(place));
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    if (child == 0) {
        struct store *store = test_place_open(place);
        test_create(store, RUN_A, "agent", false);
        for (uint64_t seq = 1;; seq++) {
            test_append(store, RUN_A, seq, "{}");
            if (write(pipe_fds[1], &seq, sizeof(seq)) != (ssize_t)sizeof(seq)) {
                _exit(1);
            }
        }
    }
    close(pipe_fds[1]);
    uint64_t acknowledged = 0;
    while (acknowledged < 200 &&
           read(pipe_fds[0], &acknowledged, sizeof(acknowledged)) == sizeof(acknowledged)) {
    }
    assert_int_equal(acknowledged, 200);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(pipe_fds[0]);

    struct store *store = test_place_open(place);
    uint64_t found = test_count_events(store, RUN_A);
    assert_true(found >= acknowledged);
    assert_int_equal(test_get(store, RUN_A).last_seq, found);
    store_close(store);
}

/** Let eight processes begin at once. @return how many ended with code 1; none may fail */
static int count_winners(const struct test_place *place,
                         void (*race)(const struct test_place *place, int gate_fd))
{
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    pid_t children[8];
    for (size_t i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(gate[1]);
            race(place, gate[0]);
        }
    }
    close(gate[0]);
    close(gate[1]);
    int winners = 0;
    for (size_t i = 0; i < 8; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_in_range(WEXITSTATUS(status), 0, 1);
        winners += WEXITSTATUS(status);
    }
    return winners;
}

/** In a child: claim the run when the gate opens. Exit code 1 = won, 0 = not, 2 = failed. */
static void race_for_claim(const struct test_place *place, int gate_fd)
{
    struct store *store = test_place_open(place);
    char byte;
    if (read(gate_fd, &byte, 1) != 0) {
        _exit(2);
    }
    struct store_claim claim = {.owner = "racer", .lease_ns = 3600 * NS_PER_S};
    struct store_claim_result result;
    int rc = store->ops->claim_run(store, RUN_A, &claim, &result, NULL);
    _exit(rc < 0 ? 2 : result.outcome == STORE_CLAIMED);
}

PLACE_TEST(of_many_processes_exactly_one_wins_a_claim)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    test_create(store, RUN_A, "agent", false);
    assert_int_equal(store->ops->expire_lease(store, RUN_A, 1, NULL), 0);
    store_close(store);
    assert_int_equal(count_winners(place, race_for_claim), 1);
}

/** In a child: commit the run's first event. Exit code 1 = committed, 0 = it was, 2 = failed. */
static void race_with_the_same_batch(const struct test_place *place, int gate_fd)
{
    struct store *store = test_place_open(place);
    char byte;
    if (read(gate_fd, &byte, 1) != 0) {
        _exit(2);
    }
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 1, &event, 1);
    const struct store_batch *batches[] = {&batch};
    struct store_commit_result result;
    int rc = store->ops->commit(store, batches, 1, &result, NULL);
    _exit(rc < 0 || result.outcome == STORE_FENCED ? 2 : result.outcome == STORE_COMMITTED);
}

PLACE_TEST(of_many_processes_exactly_one_commits_the_same_batch)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    test_create(store, RUN_A, "agent", false);
    store_close(store);
    assert_int_equal(count_winners(place, race_with_the_same_batch), 1);
}

/** In a child: record the policies when the gate opens. Exit code 1 = new, 0 = not, 2 = failed. */
static void race_for_policies(const struct test_place *place, int gate_fd)
{
    struct store *store = test_place_open(place);
    char byte;
    if (read(gate_fd, &byte, 1) != 0) {
        _exit(2);
    }
    uint64_t number = 0;
    bool is_new = false;
    int rc = store->ops->record_policy(store, &policies, &number, &is_new, NULL);
    _exit(rc < 0 || number != 1 ? 2 : is_new);
}

PLACE_TEST(of_many_processes_exactly_one_records_the_same_policies)
{
    const struct test_place *place = *state;
    store_close(test_place_open(place));
    assert_int_equal(count_winners(place, race_for_policies), 1);
}

PLACE_TEST(many_processes_can_create_the_same_store_at_once)
{
    const struct test_place *place = *state;
    pid_t children[8];
    for (unsigned i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct store *store = NULL;
            struct rondo_error err = {0};
            struct store_sqlite_options options = {.path = place->path, .may_create = true};
            if (store_sqlite_open(&options, &store, &err) < 0) {
                print_error("%s\n", err.message);
                _exit(1);
            }
            test_create(store, test_id(i).text, "agent", false);
            store_close(store);
            _exit(0);
        }
    }
    for (size_t i = 0; i < 8; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    struct store *store = test_place_open(place);
    struct store_health health;
    assert_int_equal(store->ops->health(store, &health, NULL), 0);
    assert_int_equal(health.run_count, 8);
    store_close(store);
}

/* ---- A store that goes away ---- */

static void assert_gone(struct store *store)
{
    struct rondo_error err = {0};
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, 1, 2, &event, 1);
    const struct store_batch *batches[] = {&batch};
    struct store_commit_result result;
    uint64_t position;
    assert_int_equal(store->ops->commit(store, batches, 1, &result, &err), RONDO_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "deleted or replaced"));
    assert_int_equal(store->ops->last_position(store, &position, &err), RONDO_ERR_CORRUPT);
}

static struct store *open_used(const struct test_place *place)
{
    struct store *store = test_place_open(place);
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    return store;
}

PLACE_TEST(a_store_that_is_deleted_in_use_refuses)
{
    const struct test_place *place = *state;
    struct store *store = open_used(place);
    assert_int_equal(unlink(place->path), 0);
    assert_gone(store);
    store_close(store);
}

PLACE_TEST(a_store_that_is_replaced_in_use_refuses_for_good)
{
    const struct test_place *place = *state;
    struct store *store = open_used(place);
    auto_free char *other = test_path(place->folder, "other.db");
    auto_free char *aside = test_path(place->folder, "aside.db");
    struct store *second = NULL;
    struct store_sqlite_options options = {.path = other, .may_create = true};
    assert_int_equal(store_sqlite_open(&options, &second, NULL), 0);
    store_close(second);
    assert_int_equal(rename(place->path, aside), 0);
    assert_int_equal(rename(other, place->path), 0);
    assert_gone(store);
    assert_int_equal(rename(aside, place->path), 0);
    assert_gone(store); /* Others may have written to the other one meanwhile. */
    store_close(store);
}

PLACE_TEST(a_store_whose_log_is_deleted_in_use_refuses)
{
    const struct test_place *place = *state;
    struct store *store = open_used(place);
    auto_free char *log = test_path(place->folder, "store.db-wal");
    assert_int_equal(unlink(log), 0);
    assert_gone(store);
    store_close(store);
}

PLACE_TEST(a_folder_that_is_moved_in_use_refuses)
{
    const struct test_place *place = *state;
    struct store *store = open_used(place);
    char aside[4200];
    snprintf(aside, sizeof(aside), "%s.aside", place->folder);
    assert_int_equal(rename(place->folder, aside), 0);
    assert_gone(store);
    assert_int_equal(rename(aside, place->folder), 0);
    store_close(store);
}

PLACE_TEST(closing_every_connection_is_no_deletion)
{
    struct store *store = open_used(*state);
    struct sqlite_store *inner = (struct sqlite_store *)store;
    sqlite_connection_close(&inner->writer);
    for (size_t i = 0; i < SQLITE_READERS; i++) {
        sqlite_connection_close(&inner->readers[i]); /* the last one removes the log */
    }
    test_append(store, RUN_A, 2, "{}");
    test_append(store, RUN_A, 3, "{}");
    assert_int_equal(test_count_events(store, RUN_A), 3);
    store_close(store);
}

PLACE_TEST(a_planted_rollback_journal_is_refused)
{
    const struct test_place *place = *state;
    store_close(test_place_open(place));
    char *journal = NULL;
    assert_true(asprintf(&journal, "%s-journal", place->path) > 0);
    assert_int_equal(file_replace_durably(journal, "", 0, NULL), 0);
    store_close(test_place_open(place)); /* SQLite passes an empty one over, too */
    assert_int_equal(file_replace_durably(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8, NULL), 0);
    struct rondo_error err = fail_to_open(place->path, true, RONDO_ERR_DENIED);
    assert_non_null(strstr(err.message, journal));
    assert_int_equal(unlink(journal), 0);
    store_close(test_place_open(place));
    free(journal);
}

/* The contract's functions have no parameter for the place; one store is open at a time. */
static void *contract_place;

static struct store *open_for_contract(const struct clock *clock)
{
    test_place_make(&contract_place);
    const struct test_place *place = contract_place;
    struct store *store = NULL;
    struct store_sqlite_options options = {.path = place->path, .may_create = true, .clock = clock};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    return store;
}

static void close_for_contract(struct store *store)
{
    store_close(store);
    test_place_remove(&contract_place);
}

int main(void)
{
    const struct contract_backend backend = {
        .name = "sqlite",
        .open = open_for_contract,
        .close = close_for_contract,
    };
    return contract_run(&backend);
}
