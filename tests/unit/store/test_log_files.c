// SPDX-License-Identifier: Apache-2.0
/* The log of a store in a workspace: it stays, and one that Rondo did not make is refused. */
#include "store/log_files.h"
#include "support/test.h"

#include "base/auto.h"
#include "base/buf.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "store/locate/locate.h"
#include "store/store.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];
static const char *const endings[] = {"-wal", "-shm", "-journal"};
#define ENDINGS 3

/** A path in the test's folder, beside or of the store. Eight at a time. */
static const char *at(const char *name)
{
    static char paths[8][256];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
    return path;
}

static const char *beside(const char *ending)
{
    char name[64];
    snprintf(name, sizeof(name), "a.db%s", ending);
    return at(name);
}

static int open_and_close(enum store_access access, struct rondo_error *err)
{
    struct store *store = NULL;
    int r = store_open_default(at("a.db"), access, &store, NULL, err);
    store_close(store);
    return r;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(top, sizeof(top), "/tmp/rondo-test-XXXXXX");
    assert_non_null(mkdtemp(top));
    setenv("XDG_STATE_HOME", at("state"), 1);
    return open_and_close(STORE_CREATING, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(top, NULL);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static ino_t inode_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_ino;
}

static void expect_refused(const char *ending)
{
    struct rondo_error err = {0};
    enum store_access ways[] = {STORE_READING, STORE_WRITING, STORE_CREATING};
    for (size_t i = 0; i < COUNT(ways); i++) {
        assert_int_equal(open_and_close(ways[i], &err), RONDO_ERR_DENIED);
        assert_non_null(strstr(err.message, beside(ending)));
        assert_non_null(strstr(err.message, "emove it"));
    }
}

TEST_WITH(the_log_stays_when_a_store_is_closed, set_up, tear_down)
{
    for (size_t i = 0; i < ENDINGS; i++) {
        ino_t inode = inode_of(beside(endings[i]));
        assert_int_equal(open_and_close(STORE_WRITING, NULL), 0);
        assert_int_equal(inode_of(beside(endings[i])), inode);
    }
}

TEST_WITH(a_log_from_elsewhere_is_refused, set_up, tear_down)
{
    for (size_t i = 0; i < ENDINGS; i++) {
        assert_int_equal(unlink(beside(endings[i])), 0);
        write_text(beside(endings[i]), "planted");
        expect_refused(endings[i]);
        assert_int_equal(unlink(beside(endings[i])), 0);
        assert_int_equal(open_and_close(STORE_WRITING, NULL), 0);
    }
}

TEST_WITH(a_log_with_the_bytes_of_ours_is_refused_too, set_up, tear_down)
{
    struct store *store = NULL;
    auto_buf struct buf bytes = {0};
    assert_int_equal(store_open_default(at("a.db"), STORE_WRITING, &store, NULL, NULL), 0);
    assert_int_equal(file_read(beside("-shm"), 1 << 20, &bytes, NULL), 0);
    store_close(store);
    assert_int_equal(unlink(beside("-shm")), 0);
    FILE *file = fopen(beside("-shm"), "we");
    assert_int_equal(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
    assert_int_equal(fclose(file), 0);
    expect_refused("-shm");
}

TEST_WITH(a_log_that_is_a_link_is_refused, set_up, tear_down)
{
    write_text(at("mine"), "");
    assert_int_equal(unlink(beside("-wal")), 0);
    assert_int_equal(symlink(at("mine"), beside("-wal")), 0);
    expect_refused("-wal");
    assert_int_equal(unlink(beside("-wal")), 0);
    assert_int_equal(link(at("mine"), beside("-wal")), 0);
    expect_refused("-wal");
    assert_int_equal(unlink(beside("-wal")), 0);
    assert_int_equal(mkfifo(beside("-wal"), 0600), 0);
    expect_refused("-wal");
}

TEST_WITH(a_log_with_a_second_name_is_refused, set_up, tear_down)
{
    assert_int_equal(link(beside("-wal"), at("second")), 0);
    write_text(at("second"), "planted");
    expect_refused("-wal");
}

/** It is what a Rondo left that was killed before it could record it; but somebody may hold it. */
TEST_WITH(an_empty_log_that_nobody_recorded_is_made_anew, set_up, tear_down)
{
    assert_int_equal(unlink(beside("-wal")), 0);
    int fd = open(beside("-wal"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    ino_t planted = inode_of(beside("-wal"));
    assert_int_equal(open_and_close(STORE_WRITING, NULL), 0);
    assert_int_not_equal(inode_of(beside("-wal")), planted);
    close(fd);
}

TEST_WITH(a_confirmed_log_is_used, set_up, tear_down)
{
    assert_int_equal(unlink(beside("-shm")), 0);
    write_text(beside("-shm"), "from elsewhere");
    assert_false(store_log_files_are_own(at("a.db")));
    assert_int_equal(store_log_files_accept(at("a.db"), NULL), 0);
    assert_true(store_log_files_are_own(at("a.db")));
    assert_int_equal(open_and_close(STORE_WRITING, NULL), 0);
}

TEST_WITH(a_store_in_the_state_folder_keeps_no_log, set_up, tear_down)
{
    struct store *store = NULL;
    char *path = NULL;
    char log[PATH_MAX];
    assert_int_equal(chdir(top), 0);
    unsetenv("RONDO_STORE");
    assert_int_equal(store_open_default(NULL, STORE_CREATING, &store, &path, NULL), 0);
    store_close(store);
    snprintf(log, sizeof(log), "%s-wal", path);
    assert_true(file_exists(path));
    assert_false(file_exists(log));
    free(path);
}
