// SPDX-License-Identifier: Apache-2.0
/* Whose a store is: made here, confirmed, copied, replaced, or forged. */
#include "store/locate/origin.h"
#include "support/test.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/limits.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/host.h"
#include "os/trust.h"
#include "store/copy.h"
#include "store/locate/locate.h"
#include "store/sqlite/sqlite.h"
#include "store/store.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];
static char store_path[96];

static const char *below(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(top, sizeof(top), "/tmp/rondo-test-XXXXXX");
    assert_non_null(mkdtemp(top));
    setenv("XDG_STATE_HOME", below("state"), 1);
    unsetenv("RONDO_STORE");
    assert_int_equal(mkdir(below(".rondo"), 0700), 0);
    snprintf(store_path, sizeof(store_path), "%s/.rondo/rondo.db", top);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(top, NULL);
}

static bool is_own(const char *path)
{
    bool result = false;
    struct rondo_error err;
    if (store_origin_look(path, &result, &err) != 0) {
        fail_msg("%s", err.message);
    }
    return result;
}

static bool is_writable(const char *path)
{
    struct store *store = NULL;
    int r = store_open_default(path, STORE_WRITING, &store, NULL, NULL);
    store_close(store);
    assert_true(r == 0 || r == RONDO_ERR_DENIED);
    return r == 0;
}

static void make_store(const char *path)
{
    struct store *store = NULL;
    assert_int_equal(store_open_default(path, STORE_CREATING, &store, NULL, NULL), 0);
    store_close(store);
}

/** One hour ahead of the machine's. */
static int64_t now_later(const struct clock *clock)
{
    (void)clock;
    return clock_now(clock_system()) + 3600 * NS_PER_S;
}

/** A store as Rondo 0.1 made it: with a run, and without a record. */
static void make_old_store(const char *boot, const char *host, bool is_later)
{
    struct store *store = NULL;
    struct clock later = *clock_system();
    later.now_ns = now_later;
    struct store_sqlite_options options = {
        .path = store_path, .may_create = true, .clock = is_later ? &later : NULL};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    struct host_process self;
    host_describe_self(&self);
    char owner[STORE_OWNER_SIZE], data[STORE_OWNER_SIZE + 64];
    snprintf(owner, sizeof(owner), "pid=1 started=1 space=1 boot=%s id=0123456789abcdef host=%s",
             boot == NULL ? self.boot_id : boot, host == NULL ? self.host : host);
    snprintf(data, sizeof(data), "{\"epoch\":1,\"owner\":\"%s\"}", owner);
    int64_t now_ns = clock_now(clock_system());
    const struct store_event events[] = {
        {.time_ns = now_ns, .type = "run.created", .data = "{}", .data_len = 2},
        {.time_ns = now_ns, .type = "run.claimed", .data = data, .data_len = strlen(data)},
    };
    struct store_run run = {.id = "01900000-0000-7000-8000-000000000001", .agent_id = "a"};
    struct store_claim claim = {.owner = owner, .lease_ns = NS_PER_S};
    struct store_claim_result result;
    assert_int_equal(store->ops->create_run(store, &run, events, 2, &claim, &result, NULL), 0);
    store_close(store);
}

static void copy_file(const char *from, const char *to)
{
    auto_buf struct buf bytes = {0};
    assert_int_equal(file_read(from, 64 << 20, &bytes, NULL), 0);
    assert_int_equal(file_replace_durably(to, bytes.data, bytes.len, NULL), 0);
}

static uint32_t count_runs(const char *path)
{
    struct store *store = NULL;
    struct rondo_error err;
    if (store_open_default(path, STORE_READING, &store, NULL, &err) != 0) {
        fail_msg("%s", err.message);
    }
    struct store_health health;
    assert_int_equal(store->ops->health(store, &health, NULL), 0);
    store_close(store);
    return (uint32_t)health.run_count;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_store_that_was_made_here_is_own)
{
    make_store(store_path);
    assert_true(is_own(store_path));
    assert_true(is_writable(store_path));
    make_store(store_path);
}

CASE(a_store_in_the_state_folder_is_own_without_a_record)
{
    char *path = NULL;
    assert_int_equal(chdir(top), 0);
    assert_int_equal(store_locate(NULL, true, &path, NULL), 0);
    make_store(path);
    assert_true(is_own(path));
    assert_int_equal(access(below("state/rondo/trust"), F_OK), -1);
    assert_int_equal(chdir("/"), 0);
    free(path);
}

CASE(a_copy_is_not_own_and_is_read_without_a_trace)
{
    make_old_store(NULL, NULL, false);
    assert_true(is_own(store_path));
    char copy[128];
    snprintf(copy, sizeof(copy), "%s/copy.db", top);
    copy_file(store_path, copy);
    assert_false(is_own(copy));
    assert_false(is_writable(copy));
    assert_int_equal(count_runs(copy), 1);
    assert_false(file_exists(below("copy.db-wal")));
    assert_false(file_exists(below("copy.db-shm")));
    assert_int_equal(rmdir(below("state/rondo/copies")), 0);
}

CASE(a_confirmed_copy_is_own_until_it_is_replaced)
{
    make_store(store_path);
    char copy[128], other[128];
    snprintf(copy, sizeof(copy), "%s/copy.db", top);
    snprintf(other, sizeof(other), "%s/other.db", top);
    copy_file(store_path, copy);
    copy_file(store_path, other);
    struct buf bytes = {0};
    assert_int_equal(store_origin_identity(copy, &bytes, NULL), 0);
    assert_int_equal(trust_confirm(TRUST_STORE, copy, bytes.data, bytes.len, NULL), 0);
    buf_fini(&bytes);
    assert_true(is_own(copy));
    assert_int_equal(rename(other, copy), 0);
    assert_false(is_own(copy));
    assert_int_equal(unlink(copy), 0); /* the inode may be used again at once */
    copy_file(store_path, copy);
    assert_false(is_own(copy));
}

CASE(an_old_store_of_this_boot_is_own)
{
    make_old_store(NULL, NULL, false);
    assert_true(is_writable(store_path));
    assert_int_equal(count_runs(store_path), 1);
}

CASE(an_old_store_is_own_only_if_boot_host_and_time_fit)
{
    static const struct {
        const char *boot;
        const char *host;
        bool is_later;
    } forged[] = {
        {"00000000-0000-4000-8000-000000000000", NULL, false},
        {"-", NULL, false},
        {NULL, "another-host", false},
        {NULL, NULL, true},
    };
    for (size_t i = 0; i < COUNT(forged); i++) {
        make_old_store(forged[i].boot, forged[i].host, forged[i].is_later);
        assert_false(is_own(store_path));
        assert_false(is_writable(store_path));
        assert_int_equal(file_remove_tree(below(".rondo"), NULL), 0);
        assert_int_equal(mkdir(below(".rondo"), 0700), 0);
    }
}

CASE(an_old_store_that_git_or_tar_could_have_made_is_not_own)
{
    make_old_store(NULL, NULL, false);
    assert_int_equal(chmod(store_path, 0644), 0);
    assert_false(is_own(store_path));
    assert_int_equal(chmod(store_path, 0600), 0);
    assert_int_equal(chmod(below(".rondo"), 0755), 0);
    assert_false(is_own(store_path));
    assert_int_equal(chmod(below(".rondo"), 0700), 0);
    assert_int_equal(link(store_path, below("second-name")), 0);
    assert_false(is_own(store_path));
    assert_int_equal(unlink(below("second-name")), 0);
    char moved[160];
    snprintf(moved, sizeof(moved), "%s.old", store_path);
    assert_int_equal(rename(store_path, moved), 0);
    copy_file(moved, store_path); /* younger than its first run */
    assert_false(is_own(store_path));
    assert_int_equal(rename(moved, store_path), 0);
    assert_true(is_own(store_path));
}

CASE(what_is_no_regular_file_is_not_copied)
{
    struct store *store = NULL;
    make_store(store_path);
    assert_int_equal(symlink(store_path, below("link.db")), 0);
    assert_true(store_origin_open_copy(below("link.db"), &store, NULL) < 0);
    assert_int_equal(mkfifo(below("fifo.db"), 0600), 0);
    assert_int_equal(store_origin_open_copy(below("fifo.db"), &store, NULL), RONDO_ERR_INVALID);
    assert_null(store);
}

CASE(a_store_over_the_limit_is_not_copied)
{
    char *copy = NULL;
    int lock = -1;
    make_store(store_path);
    assert_int_equal(truncate(store_path, LIMIT_STORE_COPY_BYTES + 1), 0);
    assert_int_equal(store_copy_make(store_path, &copy, &lock, NULL), RONDO_ERR_LIMIT);
    assert_int_equal(rmdir(below("state/rondo/copies")), 0);
}

CASE(a_store_with_its_log_over_the_limit_is_not_copied)
{
    char *copy = NULL;
    int lock = -1;
    struct stat status;
    char log_path[sizeof(store_path) + 4];
    make_store(store_path);
    assert_int_equal(stat(store_path, &status), 0);
    snprintf(log_path, sizeof(log_path), "%s-wal", store_path);
    auto_close int fd = open(log_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, LIMIT_STORE_COPY_BYTES - status.st_size + 1), 0);
    assert_int_equal(store_copy_make(store_path, &copy, &lock, NULL), RONDO_ERR_LIMIT);
    assert_int_equal(rmdir(below("state/rondo/copies")), 0);
}

CASE(copies_of_killed_processes_are_removed)
{
    make_store(store_path);
    char *copy = NULL;
    int lock = -1;
    assert_int_equal(store_copy_make(store_path, &copy, &lock, NULL), 0);
    char *used = NULL;
    int used_lock = -1;
    assert_int_equal(store_copy_make(store_path, &used, &used_lock, NULL), 0);
    assert_true(file_exists(copy)); /* still in use */
    close(lock);                    /* as the end of its process does */
    char *third = NULL;
    int third_lock = -1;
    assert_int_equal(store_copy_make(store_path, &third, &third_lock, NULL), 0);
    assert_false(file_exists(copy));
    assert_true(file_exists(used));
    store_copy_remove(used, used_lock);
    store_copy_remove(third, third_lock);
    free(copy);
    free(used);
    free(third);
}
