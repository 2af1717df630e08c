// SPDX-License-Identifier: Apache-2.0
/* Archives: names, collisions, repeats after a crash, links. */
#include "prd/archive.h"

#include "base/limits.h"
#include "os/file_folder.h"
#include "support/scratch.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIME_NS INT64_C(1770372000000000000) /* 2026-02-06 */

static char folder[256];
static const char *const files[] = {"prd.json", "progress.txt", NULL};

static int set_up(void **state)
{
    (void)state;
    assert_true(scratch_new(folder, sizeof(folder)));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(folder, NULL);
}

static char *at(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void put(const char *name)
{
    FILE *file = fopen(at(name), "w");
    assert_non_null(file);
    fputs(name, file);
    fclose(file);
}

static bool has(const char *name)
{
    struct stat status;
    return lstat(at(name), &status) == 0;
}

/** @return the code; checks the path on success */
static int archive(const char *key, const char *expected)
{
    struct rondo_error err = {0};
    char *path = NULL;
    int r = prd_archive((const char *const[]){folder, NULL}, folder, files, "feature/x", TIME_NS,
                        key, &path, &err);
    if (r == 0) {
        assert_string_equal(path, expected);
    }
    free(path);
    return r;
}

TEST(names_become_parts_of_paths)
{
    static const char *const rows[][2] = {
        {"ralph/my-feature", "my-feature"},
        {"../../etc", "etc"},
        {"a b/c", "a-b-c"},
        {"...", "prd"},
        {"", "prd"},
        {"v1.2..3", "v1.2.-3"},
        {"Caf\xc3\xa9!", "Caf"},
        {"x\n\x01y", "x-y"},
    };
    char name[PRD_ARCHIVE_NAME_SIZE];
    for (size_t i = 0; i < COUNT(rows); i++) {
        prd_archive_name(rows[i][0], name);
        assert_string_equal(name, rows[i][1]);
    }
    char longer[200];
    memset(longer, 'a', sizeof(longer));
    longer[199] = '\0';
    prd_archive_name(longer, name);
    assert_int_equal(strlen(name), PRD_ARCHIVE_NAME_SIZE - 1);
}

TEST_WITH(files_are_moved_and_a_second_archive_gets_a_number, set_up, tear_down)
{
    put("prd.json");
    put("progress.txt");
    assert_int_equal(archive("run 1", "archive/2026-02-06-feature-x"), 0);
    assert_false(has("prd.json"));
    assert_true(has("archive/2026-02-06-feature-x/prd.json"));
    assert_true(has("archive/2026-02-06-feature-x/progress.txt"));
    put("prd.json");
    assert_int_equal(archive("run 2", "archive/2026-02-06-feature-x-2"), 0);
    assert_true(has("archive/2026-02-06-feature-x-2/prd.json"));
}

TEST_WITH(an_archive_that_was_cut_off_is_finished, set_up, tear_down)
{
    put("prd.json");
    assert_int_equal(archive("run 1", "archive/2026-02-06-feature-x"), 0);
    put("progress.txt"); /* as if the crash came before this one */
    assert_int_equal(archive("run 1", "archive/2026-02-06-feature-x"), 0);
    assert_true(has("archive/2026-02-06-feature-x/progress.txt"));
    put("prd.json"); /* a new one of a person: not moved over the archived one */
    assert_int_equal(archive("run 1", "archive/2026-02-06-feature-x"), 0);
    assert_true(has("prd.json"));
}

TEST_WITH(a_folder_whose_making_was_cut_off_is_taken, set_up, tear_down)
{
    assert_int_equal(mkdir(at("archive"), 0700), 0);
    assert_int_equal(mkdir(at("archive/2026-02-06-feature-x"), 0700), 0);
    put("prd.json");
    assert_int_equal(archive("run 1", "archive/2026-02-06-feature-x"), 0);
    assert_true(has("archive/2026-02-06-feature-x/prd.json"));
}

TEST_WITH(links_are_neither_followed_nor_moved, set_up, tear_down)
{
    assert_int_equal(mkdir(at("elsewhere"), 0700), 0);
    assert_int_equal(symlink("elsewhere", at("archive")), 0);
    put("prd.json");
    assert_true(archive("run 1", "") < 0);
    assert_true(has("prd.json"));
    unlink(at("archive"));
    assert_int_equal(mkdir(at("archive"), 0700), 0);
    assert_int_equal(symlink("../elsewhere", at("archive/2026-02-06-feature-x")), 0);
    assert_int_equal(archive("run 1", "archive/2026-02-06-feature-x-2"), 0);
    assert_int_equal(symlink("elsewhere", at("progress.txt")), 0);
    assert_true(archive("run 1", "") < 0);
    assert_true(has("progress.txt"));
}

TEST_WITH(archives_of_a_day_have_a_limit, set_up, tear_down)
{
    assert_int_equal(mkdir(at("archive"), 0700), 0);
    for (int i = 1; i < LIMIT_PRD_ARCHIVES; i++) {
        char name[100];
        snprintf(name, sizeof(name),
                 i == 1 ? "archive/2026-02-06-feature-x" : "archive/2026-02-06-feature-x-%d", i);
        put(name);
    }
    put("prd.json");
    assert_int_equal(archive("run 1", "archive/2026-02-06-feature-x-1000"), 0);
    assert_int_equal(archive("run 2", ""), RONDO_ERR_LIMIT);
}
