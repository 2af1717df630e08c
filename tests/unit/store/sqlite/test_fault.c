// SPDX-License-Identifier: Apache-2.0
/* The SQLite back end on a disk that fails: nothing is lost, nothing stale is trusted. */
#include "../fault_vfs.h"
#include "../support.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite.h"

#include "base/auto.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"

struct disk {
    char *folder;
    char *path;
    struct store *store; /**< with RUN_A and one event */
};

static struct store *open_store(const char *path)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    struct store_sqlite_options options = {.path = path, .may_create = true};
    int rc = store_sqlite_open(&options, &store, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return store;
}

static int make_disk(void **state)
{
    fault_vfs_reset();
    struct disk *disk = memory_new_zero(1, sizeof(*disk));
    disk->folder = test_folder_new();
    disk->path = test_path(disk->folder, "store.db");
    disk->store = open_store(disk->path);
    test_create(disk->store, RUN_A, "agent", false);
    test_append(disk->store, RUN_A, 1, "{}");
    *state = disk;
    return 0;
}

static int remove_disk(void **state)
{
    struct disk *disk = *state;
    fault_vfs_reset();
    store_close(disk->store);
    test_folder_free(disk->folder);
    free(disk->path);
    free(disk);
    return 0;
}

/** Commit one event with the given seq. */
static int try_append(struct store *store, uint64_t seq, struct store_commit_result *ret_result,
                      struct rondo_error *err)
{
    struct store_event event = test_event("{\"text\":\"more\"}");
    struct store_batch batch = test_batch(RUN_A, 1, seq, &event, 1);
    const struct store_batch *batches[] = {&batch};
    return store->ops->commit(store, batches, 1, ret_result, err);
}

static void reopen(struct disk *disk)
{
    store_close(disk->store);
    disk->store = open_store(disk->path);
}

#define DISK_TEST(name) TEST_WITH(name, make_disk, remove_disk)

DISK_TEST(each_commit_is_synced_once)
{
    struct disk *disk = *state;
    for (uint64_t seq = 2; seq <= 11; seq++) {
        test_append(disk->store, RUN_A, seq, "{}");
    }
    fault_vfs_reset();
    for (uint64_t seq = 12; seq <= 21; seq++) {
        test_append(disk->store, RUN_A, seq, "{}");
    }
    assert_int_equal(fault_vfs_log_syncs(), 10);
}

/** Make a new file of this schema. @return how often anything was synced for the schema */
static unsigned count_schema_syncs(const struct disk *disk, uint32_t version)
{
    auto_free char *path = test_path(disk->folder, version == 1 ? "first.db" : "newest.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", NULL, NULL, NULL),
        SQLITE_OK);
    fault_vfs_reset();
    assert_int_equal(sqlite_schema_migrate(db, path, version, NULL), 0);
    unsigned syncs = fault_vfs_syncs();
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return syncs;
}

DISK_TEST(a_new_store_is_synced_no_more_often_for_having_migrations)
{
    unsigned first = count_schema_syncs(*state, 1);
    assert_true(first > 0);
    assert_int_equal(count_schema_syncs(*state, sqlite_schema_newest()), first);
}

static int record_policy(struct store *store, bool *ret_is_new, struct rondo_error *err)
{
    const struct store_policy_change change = {
        .source = "built-in",
        .digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .how = "found",
        .by = "test",
        .text = "permit (principal, action, resource);",
        .text_len = 37,
    };
    uint64_t number;
    return store->ops->record_policy(store, &change, &number, ret_is_new, err);
}

DISK_TEST(policies_that_another_process_recorded_are_synced_before_the_answer)
{
    struct disk *disk = *state;
    struct store *other = open_store(disk->path);
    bool is_new = false;
    assert_int_equal(record_policy(other, &is_new, NULL), 0);
    assert_true(is_new);
    fault_vfs_reset();
    assert_int_equal(record_policy(disk->store, &is_new, NULL), 0);
    assert_false(is_new);
    assert_true(fault_vfs_syncs() > 0);
    /* From now on they are in the database itself, and asking costs nothing. */
    fault_vfs_reset();
    assert_int_equal(record_policy(disk->store, &is_new, NULL), 0);
    assert_int_equal(fault_vfs_syncs(), 0);
    store_close(other);
}

DISK_TEST(policies_that_cannot_be_synced_are_not_said_to_be_recorded)
{
    struct disk *disk = *state;
    struct store *other = open_store(disk->path);
    bool is_new = false;
    assert_int_equal(record_policy(other, &is_new, NULL), 0);
    fault_vfs_plan(FAULT_VFS_SYNC, 1, SQLITE_IOERR_FSYNC, true);
    assert_int_equal(record_policy(disk->store, &is_new, NULL), RONDO_ERR_IO);
    fault_vfs_reset();
    store_close(other);
}

/** Let the n-th operation fail while policies are recorded. @return whether it was reached */
static bool fail_recording(struct disk *disk, int operations, unsigned nth, int code)
{
    bool is_new = false;
    fault_vfs_plan(operations, nth, code, false);
    int tries = 0;
    while (record_policy(disk->store, &is_new, NULL) < 0) {
        assert_true(++tries < 3);
        reopen(disk);
    }
    bool has_failed = fault_vfs_has_failed();
    fault_vfs_reset();
    return has_failed;
}

static bool count_change(const struct store_policy_change *change, void *context)
{
    assert_int_equal(change->number, 1);
    assert_int_equal(change->text_len, 37);
    (*(int *)context)++;
    return true;
}

DISK_TEST(policies_are_recorded_once_whatever_write_or_fsync_fails)
{
    static const struct {
        int operations;
        int code;
    } failures[] = {{FAULT_VFS_WRITE, SQLITE_IOERR_WRITE},
                    {FAULT_VFS_WRITE, SQLITE_FULL},
                    {FAULT_VFS_SYNC, SQLITE_IOERR_FSYNC}};
    for (size_t i = 0; i < COUNT(failures); i++) {
        bool has_failed = true;
        for (unsigned nth = 1; has_failed; nth++) {
            struct disk *disk = *state;
            has_failed = fail_recording(disk, failures[i].operations, nth, failures[i].code);
            reopen(disk);
            int count = 0;
            struct store *store = disk->store;
            assert_int_equal(store->ops->read_policies(store, NULL, 0, count_change, &count, NULL),
                             0);
            assert_int_equal(count, 1);
            remove_disk(state);
            make_disk(state);
        }
    }
}

/** Count up and note it, both or neither, if the counter still has this version. */
static int count_up(struct store *store, int64_t if_version, bool *ret_is_applied)
{
    const struct store_change changes[] = {
        {.collection = "counters",
         .key = "a",
         .data = "1",
         .data_len = 1,
         .if_version = if_version},
        {.collection = "notes", .key = "a", .data = "{}", .data_len = 2, .if_version = if_version},
    };
    return store->ops->change_documents(store, changes, 2, ret_is_applied, NULL);
}

static bool note_version(const struct store_document *document, void *context)
{
    *(uint64_t *)context = document->version;
    return true;
}

static uint64_t version_of(struct store *store, const char *collection)
{
    uint64_t version = 0;
    struct store_document_query query = {.collection = collection, .key = "a"};
    assert_int_equal(store->ops->read_documents(store, &query, note_version, &version, NULL), 0);
    return version;
}

/** Let the n-th operation fail while documents are changed. @return whether it was reached */
static bool fail_changing(struct disk *disk, int operations, unsigned nth, int code)
{
    bool is_applied = false;
    assert_int_equal(count_up(disk->store, 0, &is_applied), 0);
    fault_vfs_plan(operations, nth, code, false);
    int tries = 0;
    while (count_up(disk->store, 1, &is_applied) < 0) {
        assert_true(++tries < 3);
        reopen(disk);
    }
    assert_true(is_applied || tries > 0);
    bool has_failed = fault_vfs_has_failed();
    fault_vfs_reset();
    return has_failed;
}

DISK_TEST(documents_are_changed_once_and_whole_whatever_write_or_fsync_fails)
{
    static const struct {
        int operations;
        int code;
    } failures[] = {{FAULT_VFS_WRITE, SQLITE_IOERR_WRITE},
                    {FAULT_VFS_WRITE, SQLITE_FULL},
                    {FAULT_VFS_SYNC, SQLITE_IOERR_FSYNC}};
    for (size_t i = 0; i < COUNT(failures); i++) {
        bool has_failed = true;
        for (unsigned nth = 1; has_failed; nth++) {
            struct disk *disk = *state;
            has_failed = fail_changing(disk, failures[i].operations, nth, failures[i].code);
            reopen(disk);
            assert_int_equal(version_of(disk->store, "counters"), 2);
            assert_int_equal(version_of(disk->store, "notes"), 2);
            remove_disk(state);
            make_disk(state);
        }
    }
}

DISK_TEST(a_change_of_documents_is_synced_once)
{
    struct disk *disk = *state;
    bool is_applied = false;
    assert_int_equal(count_up(disk->store, 0, &is_applied), 0);
    fault_vfs_reset();
    assert_int_equal(count_up(disk->store, 1, &is_applied), 0);
    assert_true(is_applied);
    assert_int_equal(fault_vfs_log_syncs(), 1);
}

DISK_TEST(a_version_that_another_process_made_is_synced_before_the_answer)
{
    struct disk *disk = *state;
    struct store *other = open_store(disk->path);
    bool is_applied = false;
    assert_int_equal(count_up(other, 0, &is_applied), 0);
    assert_true(is_applied);
    fault_vfs_plan(FAULT_VFS_SYNC, 1, SQLITE_IOERR_FSYNC, true);
    assert_int_equal(count_up(disk->store, 0, &is_applied), RONDO_ERR_IO);
    assert_true(is_applied);
    fault_vfs_reset();
    reopen(disk);
    assert_int_equal(count_up(disk->store, 0, &is_applied), 0);
    assert_false(is_applied);
    store_close(other);
}

DISK_TEST(a_deletion_that_another_process_made_is_synced_before_the_answer)
{
    struct disk *disk = *state;
    struct store *other = open_store(disk->path);
    bool is_applied = false;
    const struct store_change drop = {
        .kind = STORE_DELETE, .collection = "notes", .key = "a", .if_version = STORE_ANY_VERSION};
    assert_int_equal(count_up(other, 0, &is_applied), 0);
    assert_int_equal(other->ops->change_documents(other, &drop, 1, &is_applied, NULL), 0);
    fault_vfs_reset();
    struct store *store = disk->store;
    assert_int_equal(store->ops->change_documents(store, &drop, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
    assert_true(fault_vfs_syncs() > 0);
    store_close(other);
}

DISK_TEST(a_failed_fsync_ends_writing_in_this_process)
{
    struct disk *disk = *state;
    struct store_commit_result result;
    struct rondo_error err = {0};
    fault_vfs_plan(FAULT_VFS_SYNC, 1, SQLITE_IOERR_FSYNC, false);
    assert_int_equal(try_append(disk->store, 2, &result, &err), RONDO_ERR_IO);
    assert_non_null(strstr(err.message, "fsync"));
    assert_true(fault_vfs_has_failed());

    /* The disk works again, but what it has lost is not known. */
    fault_vfs_reset();
    assert_int_equal(try_append(disk->store, 2, &result, &err), RONDO_ERR_IO);
    assert_non_null(strstr(err.message, "fsync"));
    assert_non_null(strstr(err.message, "check the disk, then resume"));
    struct store *store = disk->store;
    assert_int_equal(store->ops->post(store, RUN_A, "stop", "{}", NULL), RONDO_ERR_IO);
    assert_int_equal(store->ops->renew_leases(store, "owner-a", 1, NULL), RONDO_ERR_IO);
    assert_int_equal(test_count_events(store, RUN_A), 1);
}

DISK_TEST(writing_continues_in_a_new_store_after_a_failed_fsync)
{
    struct disk *disk = *state;
    struct store_commit_result result;
    fault_vfs_plan(FAULT_VFS_SYNC, 1, SQLITE_IOERR_FSYNC, false);
    assert_int_equal(try_append(disk->store, 2, &result, NULL), RONDO_ERR_IO);
    fault_vfs_reset();
    reopen(disk);
    assert_int_equal(try_append(disk->store, 2, &result, NULL), 0);
    assert_true(result.outcome == STORE_COMMITTED || result.outcome == STORE_ALREADY_COMMITTED);
    assert_int_equal(test_count_events(disk->store, RUN_A), 2);
}

DISK_TEST(an_answer_of_already_committed_comes_after_an_fsync)
{
    struct disk *disk = *state;
    struct store_commit_result result;
    fault_vfs_plan(FAULT_VFS_SYNC, 1, SQLITE_IOERR_FSYNC, true);
    assert_int_equal(try_append(disk->store, 1, &result, NULL), RONDO_ERR_IO);
    fault_vfs_reset();
    reopen(disk);
    assert_int_equal(try_append(disk->store, 1, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_ALREADY_COMMITTED);
}

DISK_TEST(a_full_disk_is_reported_and_waited_out)
{
    struct disk *disk = *state;
    struct store_commit_result result;
    struct rondo_error err = {0};
    fault_vfs_plan(FAULT_VFS_WRITE, 1, SQLITE_FULL, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(try_append(disk->store, 2, &result, &err), RONDO_ERR_FULL);
        assert_non_null(strstr(err.message, disk->path));
    }
    assert_int_equal(test_count_events(disk->store, RUN_A), 1);
    fault_vfs_reset();
    assert_int_equal(try_append(disk->store, 2, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_COMMITTED);
}

DISK_TEST(a_failed_write_is_an_io_error_and_can_be_repeated)
{
    struct disk *disk = *state;
    struct store_commit_result result;
    struct rondo_error err = {0};
    fault_vfs_plan(FAULT_VFS_WRITE, 1, SQLITE_IOERR_WRITE, false);
    assert_int_equal(try_append(disk->store, 2, &result, &err), RONDO_ERR_IO);
    assert_non_null(strstr(err.message, disk->path));
    assert_int_equal(try_append(disk->store, 2, &result, NULL), 0);
    assert_int_equal(result.outcome, STORE_COMMITTED);
}

/** Append up to `last`, handing in again until it works; open anew after each failure. */
static void append_stubbornly(struct disk *disk, uint64_t last)
{
    for (uint64_t seq = 2; seq <= last; seq++) {
        struct store_commit_result result;
        int tries = 0;
        while (try_append(disk->store, seq, &result, NULL) < 0) {
            assert_true(++tries < 3);
            store_close(disk->store);
            disk->store = open_store(disk->path);
        }
        assert_int_not_equal(result.outcome, STORE_FENCED);
    }
}

/** Let the first, second, third ... operation fail, until the scenario gets through without. */
static void fail_everywhere(void **state, int operations, int code)
{
    bool has_failed = true;
    for (unsigned nth = 1; has_failed; nth++) {
        struct disk *disk = *state;
        fault_vfs_plan(operations, nth, code, false);
        append_stubbornly(disk, 6);
        has_failed = fault_vfs_has_failed();
        fault_vfs_reset();
        reopen(disk);
        assert_int_equal(test_count_events(disk->store, RUN_A), 6);
        assert_int_equal(test_get(disk->store, RUN_A).last_seq, 6);
        remove_disk(state);
        make_disk(state);
    }
}

DISK_TEST(any_write_may_fail_once_without_loss_or_double)
{
    fail_everywhere(state, FAULT_VFS_WRITE, SQLITE_IOERR_WRITE);
}

DISK_TEST(any_write_may_find_the_disk_full_once_without_loss_or_double)
{
    fail_everywhere(state, FAULT_VFS_WRITE, SQLITE_FULL);
}

DISK_TEST(any_fsync_may_fail_once_without_loss_or_double)
{
    fail_everywhere(state, FAULT_VFS_SYNC, SQLITE_IOERR_FSYNC);
}

/** Mount a small file system over the folder. @return whether that is possible here */
static bool mount_small(const char *folder)
{
    return geteuid() == 0 && mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") == 0;
}

static void fill_file(const char *path, size_t size)
{
    auto_close int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, (off_t)size), 0);
}

/** Append until the disk is full. @return the seq that did not fit */
static uint64_t append_until_full(struct store *store, const char *data)
{
    struct store_event event = test_event(data);
    for (uint64_t seq = 1;; seq++) {
        struct store_batch batch = test_batch(RUN_A, 1, seq, &event, 1);
        const struct store_batch *batches[] = {&batch};
        struct store_commit_result result;
        int rc = store->ops->commit(store, batches, 1, &result, NULL);
        if (rc < 0) {
            assert_int_equal(rc, RONDO_ERR_FULL);
            return seq;
        }
    }
}

TEST(a_full_file_system_costs_nothing_once_there_is_space_again)
{
    char *folder = test_folder_new();
    if (!mount_small(folder)) {
        print_message("skipped: mounting a small file system needs root: %s\n", strerror(errno));
        test_folder_free(folder);
        skip();
    }
    auto_free char *ballast = test_path(folder, "ballast");
    auto_free char *path = test_path(folder, "store.db");
    fill_file(ballast, 512 * 1024);
    struct store *store = open_store(path);
    test_create(store, RUN_A, "agent", false);
    char data[2001];
    memset(data, ' ', sizeof(data) - 1);
    data[0] = '{';
    data[sizeof(data) - 2] = '}';
    data[sizeof(data) - 1] = '\0';
    uint64_t failed = append_until_full(store, data);
    assert_true(failed > 1);
    assert_int_equal(test_count_events(store, RUN_A), failed - 1);

    assert_int_equal(unlink(ballast), 0);
    test_append(store, RUN_A, failed, data);
    assert_int_equal(test_count_events(store, RUN_A), failed);
    store_close(store);
    assert_int_equal(umount(folder), 0);
    test_folder_free(folder);
}

int main(void)
{
    fault_vfs_install();
    return test_run(NULL, NULL);
}
