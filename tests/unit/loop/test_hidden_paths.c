// SPDX-License-Identifier: Apache-2.0
#include "loop/hidden_paths.h"
#include "support/test.h"

#include "os/file.h"
#include "os/file_folder.h"
#include "os/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_paths(char **paths, const char *const *expected)
{
    size_t i = 0;
    for (; expected[i] != NULL; i++) {
        assert_non_null(paths[i]);
        assert_string_equal(paths[i], expected[i]);
    }
    assert_null(paths[i]);
}

TEST(a_store_in_the_state_folder_is_hidden_with_all_of_it)
{
    auto_hidden_paths char **paths = hidden_paths_of_store("/nowhere/rondo/projects/a-1/rondo.db");
    assert_paths(paths, (const char *const[]){"/nowhere/rondo", NULL});
}

TEST(an_old_store_is_hidden_with_its_folder)
{
    auto_hidden_paths char **paths = hidden_paths_of_store("/srv/.rondo/rondo.db");
    assert_paths(paths, (const char *const[]){"/nowhere/rondo", "/srv/.rondo", NULL});
}

TEST(a_store_elsewhere_is_hidden_with_all_that_belongs_to_it)
{
    auto_hidden_paths char **paths = hidden_paths_of_store("/data/not.rondo/my.db");
    assert_paths(paths,
                 (const char *const[]){
                     "/nowhere/rondo", "/data/not.rondo/my.db", "/data/not.rondo/my.db-wal",
                     "/data/not.rondo/my.db-shm", "/data/not.rondo/my.db-journal",
                     "/data/not.rondo/my.db.work", "/data/not.rondo/rondo.cedar",
                     "/data/not.rondo/rondo.entities.json", "/data/not.rondo/rondo.links.json",
                     "/data/not.rondo/desks.yaml", NULL});
    auto_hidden_paths char **named = hidden_paths_of_store("/data/rondo.db");
    assert_string_equal(named[5], "/data/rondo.db.work");
}

TEST(the_state_folder_is_hidden_by_its_real_name)
{
    char top[] = "/tmp/rondo-test-XXXXXX", real[64], link[64], own[80];
    assert_non_null(mkdtemp(top));
    snprintf(real, sizeof(real), "%s/real", top);
    snprintf(own, sizeof(own), "%s/real/rondo", top);
    snprintf(link, sizeof(link), "%s/link", top);
    assert_int_equal(mkdir(real, 0700) | mkdir(own, 0700) | symlink("real", link), 0);
    setenv("XDG_STATE_HOME", link, 1);
    auto_hidden_paths char **paths = hidden_paths_of_store("/srv/.rondo/rondo.db");
    setenv("XDG_STATE_HOME", "/nowhere", 1);
    assert_paths(paths, (const char *const[]){own, "/srv/.rondo", NULL});
    assert_int_equal(file_remove_tree(top, NULL), 0);
}

TEST(a_runs_own_policies_are_hidden_too)
{
    const char *const of_runtime[] = {"/a", NULL};
    auto_hidden_paths char **paths = hidden_paths_of_run(of_runtime, "/p/team.cedar");
    assert_paths(paths, (const char *const[]){"/a", "/p/team.cedar", "/p/team.entities.json",
                                              "/p/team.links.json", NULL});
    auto_hidden_paths char **without = hidden_paths_of_run(of_runtime, NULL);
    assert_paths(without, (const char *const[]){"/a", NULL});
    auto_hidden_paths char **none = hidden_paths_of_run(NULL, NULL);
    assert_paths(none, (const char *const[]){NULL});
}

TEST(other_stores_of_the_user_are_hidden_too)
{
    char top[] = "/tmp/rondo-test-XXXXXX", home[64], old[64], path[96], gone[128];
    assert_non_null(mkdtemp(top));
    snprintf(home, sizeof(home), "%s/state", top);
    snprintf(old, sizeof(old), "%s/.rondo", top);
    snprintf(path, sizeof(path), "%s/rondo.db", old);
    snprintf(gone, sizeof(gone), "%s/gone.db", top);
    assert_int_equal(mkdir(old, 0700), 0);
    assert_int_equal(file_replace_durably(path, "x", 1, NULL), 0);
    setenv("XDG_STATE_HOME", home, 1);
    assert_int_equal(trust_confirm(TRUST_STORE, path, "x", 1, NULL), 0);
    assert_int_equal(trust_confirm(TRUST_STORE, gone, "x", 1, NULL), 0);
    snprintf(gone, sizeof(gone), "%s/rondo/projects/a-1/rondo.db", home);
    auto_hidden_paths char **paths = hidden_paths_of_store(gone);
    setenv("XDG_STATE_HOME", "/nowhere", 1);
    *strstr(gone, "/projects") = '\0';
    assert_paths(paths, (const char *const[]){gone, old, NULL});
    assert_int_equal(file_remove_tree(top, NULL), 0);
}

TEST(what_settings_of_git_name_is_protected)
{
    char folder[] = "/tmp/rondo-test-XXXXXX";
    char path[256];
    const char text[] = "[core]\n\thooksPath = hooks\n";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/.git", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/.git/config", folder);
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
    snprintf(path, sizeof(path), "%s/hooks", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    auto_hidden_paths char **paths = protected_paths_of_run(folder, "/srv/role.yaml");
    bool has_hooks = false;
    for (size_t i = 0; paths[i] != NULL; i++) {
        has_hooks = has_hooks || strcmp(paths[i], path) == 0;
    }
    assert_true(has_hooks);
    assert_int_equal(file_remove_tree(folder, NULL), 0);
}

int main(void)
{
    setenv("XDG_STATE_HOME", "/nowhere", 1);
    return test_run(NULL, NULL);
}
