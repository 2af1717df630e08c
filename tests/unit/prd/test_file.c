// SPDX-License-Identifier: Apache-2.0
/* The file of a PRD: backups, people who save it meanwhile, and what agents put in its place. */
#include "prd/file.h"

#include "base/limits.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/scratch.h"
#include "support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char one[] = "{\"userStories\": [\n  {\"id\": \"a\", \"title\": \"t\", \"status\": "
                          "\"pending\", \"passes\": false}\n]}\n";
static const char one_done[] =
    "{\"userStories\": [\n  {\"id\": \"a\", \"title\": \"t\", \"status\": "
    "\"complete\", \"passes\": true}\n]}\n";

static char folder[256];
static char path[300];
static char backup[300];

static int set_up(void **state)
{
    (void)state;
    char home[300];
    assert_true(scratch_new(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/prd.json", folder);
    snprintf(backup, sizeof(backup), "%s/.prd.json.bak", folder);
    snprintf(home, sizeof(home), "%s/state", folder);
    setenv("XDG_STATE_HOME", home, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(folder, NULL);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_file(const char *name, const char *text)
{
    struct buf content = {0};
    assert_int_equal(file_read(name, LIMIT_PRD_FILE_BYTES, &content, NULL), 0);
    assert_string_equal(buf_string(&content), text);
    buf_fini(&content);
}

static int update(enum prd_status status, struct rondo_error *err)
{
    struct prd_change change = {.id = "a", .status = status, .has_status = true, .attempts = -1};
    return prd_file_update(NULL, path, NULL, &change, 1, 1, NULL, err);
}

TEST_WITH(a_change_keeps_the_version_before_and_the_mode, set_up, tear_down)
{
    struct rondo_error err = {0};
    struct stat status;
    put(path, one);
    chmod(path, 0640);
    assert_int_equal(update(PRD_DONE, &err), 0);
    assert_file(path, one_done);
    assert_file(backup, one);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    char fresh[300];
    snprintf(fresh, sizeof(fresh), "%s/.prd.json.rondo-new", folder);
    assert_int_not_equal(access(fresh, F_OK), 0);
}

TEST_WITH(nothing_is_written_when_nothing_changes, set_up, tear_down)
{
    struct rondo_error err = {0};
    put(path, one_done);
    assert_int_equal(update(PRD_DONE, &err), 0);
    assert_int_not_equal(access(backup, F_OK), 0);
}

TEST_WITH(a_file_that_is_not_json_is_left_alone_and_the_backup_offered, set_up, tear_down)
{
    struct rondo_error err = {0};
    struct prd prd = {0};
    struct prd_findings findings = {0};
    put(path, one);
    assert_int_equal(update(PRD_DONE, &err), 0);
    put(path, "{\"userStories\": [\n  {\"id\": \n");
    assert_int_equal(update(PRD_FAILED, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "3:1: "));
    assert_non_null(strstr(err.message, ".prd.json.bak"));
    assert_file(path, "{\"userStories\": [\n  {\"id\": \n");
    assert_file(backup, one);
    assert_int_equal(prd_file_load(NULL, path, NULL, &prd, &findings, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, ".prd.json.bak"));
}

TEST_WITH(links_fifos_and_large_files_of_agents_are_refused, set_up, tear_down)
{
    struct rondo_error err = {0};
    char secret[300];
    const char *const agents[] = {folder, NULL};
    struct prd_change change = {.id = "a", .status = PRD_DONE, .has_status = true, .attempts = -1};
    snprintf(secret, sizeof(secret), "%s/secret", folder);
    put(secret, one);
    assert_int_equal(symlink("secret", path), 0);
    assert_true(prd_file_update(agents, path, NULL, &change, 1, 1, NULL, &err) < 0);
    unlink(path);
    assert_int_equal(link(secret, path), 0);
    assert_true(prd_file_update(agents, path, NULL, &change, 1, 1, NULL, &err) < 0);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(prd_file_update(agents, path, NULL, &change, 1, 1, NULL, &err) < 0);
    unlink(path);
    put(path, one);
    assert_int_equal(truncate(path, LIMIT_PRD_FILE_BYTES + 1), 0);
    assert_int_equal(prd_file_update(agents, path, NULL, &change, 1, 1, NULL, &err),
                     RONDO_ERR_LIMIT);
    assert_file(secret, one);
}

TEST_WITH(a_folder_in_the_place_of_the_backup_stops_a_change, set_up, tear_down)
{
    struct rondo_error err = {0};
    put(path, one);
    assert_int_equal(mkdir(backup, 0700), 0);
    assert_int_equal(update(PRD_DONE, &err), RONDO_ERR_INVALID);
    assert_file(path, one);
}

/* ---- People who save the file while it is changed ---------------------------------------------
 */

#define SAVES 300

/** A person's editor: saves by renaming, each time with a number of its own in the file. */
static void *save_often(void *unused)
{
    (void)unused;
    char name[300];
    snprintf(name, sizeof(name), "%s/editor", folder);
    for (int i = 1; i <= SAVES; i++) {
        char text[300];
        snprintf(text, sizeof(text),
                 "{\"n\": %d, \"userStories\": [{\"id\": \"a\", \"title\": \"t\", \"passes\": "
                 "false, \"status\": \"pending\"}]}\n",
                 i);
        put(name, text);
        assert_int_equal(rename(name, path), 0);
    }
    return NULL;
}

TEST_WITH(the_last_save_of_a_person_is_never_lost, set_up, tear_down)
{
    struct rondo_error err = {0};
    pthread_t thread;
    put(path, one);
    assert_int_equal(pthread_create(&thread, NULL, save_often, NULL), 0);
    for (int i = 0; i < SAVES; i++) {
        update(i % 2 == 0 ? PRD_DONE : PRD_FAILED, &err);
    }
    pthread_join(thread, NULL);
    assert_int_equal(update(PRD_DONE, &err), 0);
    struct buf content = {0};
    char wanted[40];
    snprintf(wanted, sizeof(wanted), "{\"n\": %d, ", SAVES);
    assert_int_equal(file_read(path, LIMIT_PRD_FILE_BYTES, &content, NULL), 0);
    assert_non_null(strstr(buf_string(&content), wanted));
    assert_non_null(strstr(buf_string(&content), "\"passes\": true"));
    buf_fini(&content);
}

TEST_WITH(a_file_is_replaced_only_if_it_is_as_expected, set_up, tear_down)
{
    struct rondo_error err = {0};
    struct buf text = {0};
    struct buf expected = {0};
    buf_append_string(&text, one);
    assert_int_equal(prd_file_replace(NULL, path, NULL, &text, &err), 0);
    assert_file(path, one);
    assert_int_equal(prd_file_replace(NULL, path, NULL, &text, &err), RONDO_ERR_BUSY);
    buf_append_string(&expected, "other");
    assert_int_equal(prd_file_replace(NULL, path, &expected, &text, &err), RONDO_ERR_BUSY);
    assert_file(path, one);
    buf_clear(&expected);
    buf_append_string(&expected, one);
    buf_clear(&text);
    buf_append_string(&text, one_done);
    assert_int_equal(prd_file_replace(NULL, path, &expected, &text, &err), 0);
    assert_file(path, one_done);
    assert_file(backup, one);
    buf_fini(&text);
    buf_fini(&expected);
}
