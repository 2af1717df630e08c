// SPDX-License-Identifier: Apache-2.0
/* Where the store is found, and how runs are named: what the command line promises. */
#include "../../support/store/memory_store.h"
#include "base/memory.h"
#include "os/file_folder.h"
#include "store/find.h"
#include "store/locate/locate.h"
#include "support/test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A project with a folder in it, and the state folder beside it. */
static char top[64];
static char project[80];

static int enter_folder(void **state)
{
    (void)state;
    char state_home[80];
    snprintf(top, sizeof(top), "/tmp/rondo-test-XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(project, sizeof(project), "%s/project", top);
    snprintf(state_home, sizeof(state_home), "%s/state", top);
    unsetenv("RONDO_STORE");
    setenv("XDG_STATE_HOME", state_home, 1);
    return mkdir(project, 0755) | chdir(project) | mkdir("deep", 0755);
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") | file_remove_tree(top, NULL);
}

static void write_empty(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

/** A store as Rondo 0.1 has made it, but empty. */
static void make_old_store(void)
{
    assert_int_equal(mkdir(".rondo", 0700), 0);
    write_empty(".rondo/rondo.db");
}

static void assert_located(const char *given, const char *wanted_ending)
{
    char *path = NULL;
    assert_int_equal(store_locate(given, false, &path, NULL), 0);
    assert_int_equal(path[0], '/');
    size_t len = strlen(path), ending = strlen(wanted_ending);
    assert_true(len >= ending);
    assert_string_equal(path + len - ending, wanted_ending);
    free(path);
}

static void assert_refused(const char *given, int code, const char *word)
{
    char *path = NULL;
    struct rondo_error err;
    assert_int_equal(store_locate(given, true, &path, &err), code);
    assert_non_null(strstr(err.message, word));
    assert_int_equal(store_locate(given, false, &path, &err), code);
    assert_null(path);
}

/** Make the project's store, as a first run does. @return its path */
static char *make_store(void)
{
    char *path = NULL;
    assert_int_equal(store_locate(NULL, true, &path, NULL), 0);
    assert_non_null(path);
    write_empty(path);
    return path;
}

#define CASE(name) TEST_WITH(name, enter_folder, leave_folder)

CASE(without_a_store_there_is_a_clear_error)
{
    char *path = NULL;
    struct rondo_error err;
    assert_int_equal(store_locate(NULL, false, &path, &err), RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "rondo loop"));
    assert_null(path);
}

CASE(what_is_given_comes_before_the_environment)
{
    setenv("RONDO_STORE", "from-environment.db", 1);
    assert_located("given.db", "/given.db");
    assert_located("/absolute.db", "/absolute.db");
    assert_located(NULL, "/from-environment.db");
    unsetenv("RONDO_STORE");
}

CASE(a_url_is_no_store)
{
    static const char *const urls[] = {
        "mysql://user@host/runs",    "POSTGRES://host", "sqlite:///runs.db", "file:runs.db",
        "FILE:/runs.db?mode=memory", "sqlite:runs.db",  " https://host/x",   ":memory:",
        "svn+ssh://host/x",
    };
    for (size_t i = 0; i < COUNT(urls); i++) {
        assert_refused(urls[i], RONDO_ERR_INVALID, "URL");
        setenv("RONDO_STORE", urls[i], 1);
        assert_refused(NULL, RONDO_ERR_INVALID, "URL");
        unsetenv("RONDO_STORE");
    }
    assert_located("./file:runs.db", "/file:runs.db");
    assert_located("runs:1.db", "/runs:1.db");
    assert_located("a//b.db", "/a//b.db");
}

CASE(a_new_store_is_in_the_state_folder)
{
    char *path = NULL;
    assert_int_equal(store_locate(NULL, true, &path, NULL), 0);
    assert_memory_equal(path, getenv("XDG_STATE_HOME"), strlen(getenv("XDG_STATE_HOME")));
    assert_non_null(strstr(path, "/rondo/projects/project-"));
    assert_string_equal(strrchr(path, '/'), "/rondo.db");
    struct stat status;
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    free(path);
    assert_int_equal(access(".rondo", F_OK), -1);
}

CASE(the_store_of_a_parent_is_found)
{
    char *path = make_store(), *found = NULL;
    assert_int_equal(chdir("deep"), 0);
    assert_int_equal(store_locate(NULL, true, &found, NULL), 0);
    assert_string_equal(found, path);
    free(found);
    free(path);
}

CASE(an_old_store_is_found_here_and_above)
{
    make_old_store();
    assert_located(NULL, "/project/.rondo/rondo.db");
    assert_int_equal(chdir("deep"), 0);
    assert_located(NULL, "/project/.rondo/rondo.db");
}

CASE(a_planted_old_store_does_not_replace_that_in_the_state_folder)
{
    free(make_store());
    make_old_store();
    assert_located(NULL, "/rondo.db");
    char *path = NULL;
    assert_int_equal(store_locate(NULL, false, &path, NULL), 0);
    assert_null(strstr(path, ".rondo/"));
    free(path);
}

CASE(the_store_of_another_user_is_passed_over)
{
    make_old_store();
    if (geteuid() != 0 || chown(".rondo/rondo.db", 12345, (gid_t)-1) < 0) {
        skip();
    }
    assert_int_equal(chdir("deep"), 0);
    char *path = NULL;
    assert_int_equal(store_locate(NULL, false, &path, NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(store_locate(NULL, true, &path, NULL), 0);
    assert_null(strstr(path, ".rondo/"));
    free(path);
}

CASE(an_old_folder_that_is_a_link_is_refused)
{
    make_old_store();
    assert_int_equal(rename(".rondo", "elsewhere"), 0);
    assert_int_equal(symlink("elsewhere", ".rondo"), 0);
    assert_refused(NULL, RONDO_ERR_DENIED, "symbolic link");
    assert_int_equal(chdir("deep"), 0);
    assert_refused(NULL, RONDO_ERR_DENIED, "symbolic link");
}

CASE(an_old_store_that_is_no_file_of_its_own_is_refused)
{
    make_old_store();
    assert_int_equal(link(".rondo/rondo.db", "second-name"), 0);
    assert_refused(NULL, RONDO_ERR_DENIED, "hard link");
    assert_int_equal(unlink(".rondo/rondo.db"), 0);
    assert_int_equal(symlink("../second-name", ".rondo/rondo.db"), 0);
    assert_refused(NULL, RONDO_ERR_DENIED, "symbolic link");
    assert_int_equal(unlink(".rondo/rondo.db"), 0);
    assert_int_equal(mkfifo(".rondo/rondo.db", 0600), 0);
    assert_refused(NULL, RONDO_ERR_DENIED, "not a regular file");
}

CASE(a_moved_project_is_told_where_its_store_is)
{
    char *path = make_store();
    char *slash = strrchr(path, '/');
    assert_non_null(slash);
    *slash = '\0';
    assert_int_equal(mkdir("../new", 0755), 0);
    assert_int_equal(rename(project, "../new/project"), 0);
    char *none = NULL;
    struct rondo_error err;
    assert_int_equal(store_locate(NULL, false, &none, &err), RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, project));
    char *command = strstr(err.message, "mv ");
    assert_non_null(command);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): what the user is told to type */
    assert_located(NULL, "/rondo.db");
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static void add_run(struct store *store, const char *id, const char *agent)
{
    struct store_run run = {0};
    snprintf(run.id, sizeof(run.id), "%s", id);
    snprintf(run.agent_id, sizeof(run.agent_id), "%s", agent);
    struct store_claim claim = {.owner = "me", .lease_ns = INT64_C(1000000000)};
    struct store_claim_result result;
    assert_int_equal(store->ops->create_run(store, &run, NULL, 0, &claim, &result, NULL), 0);
}

#define FIRST  "01900000-0000-7000-8000-000000000001"
#define SECOND "01900000-0000-7000-8000-000000000002"
#define THIRD  "01911111-0000-7000-8000-000000000003"

TEST(runs_are_found_by_id_prefix_and_last)
{
    static const struct {
        const char *name;
        const char *agent;
        const char *wanted;
    } finds[] = {
        {FIRST, NULL, FIRST},  {"01911", NULL, THIRD}, {"01911111-0000-7000-8", NULL, THIRD},
        {"last", NULL, THIRD}, {"last", "a", SECOND},
    };
    struct store *store = store_memory_new(NULL);
    add_run(store, FIRST, "a");
    add_run(store, SECOND, "a");
    add_run(store, THIRD, "b");
    for (size_t i = 0; i < COUNT(finds); i++) {
        struct store_run run;
        assert_int_equal(store_find_run(store, finds[i].name, finds[i].agent, &run, NULL), 0);
        assert_string_equal(run.id, finds[i].wanted);
    }
    store_close(store);
}

TEST(an_ambiguous_prefix_lists_the_candidates)
{
    struct store *store = store_memory_new(NULL);
    add_run(store, FIRST, "a");
    add_run(store, SECOND, "a");
    struct store_run run;
    struct rondo_error err;
    assert_int_equal(store_find_run(store, "019", NULL, &run, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, FIRST));
    assert_non_null(strstr(err.message, SECOND));
    store_close(store);
}

TEST(what_is_no_run_is_a_clear_error)
{
    struct store *store = store_memory_new(NULL);
    struct store_run run;
    struct rondo_error err;
    assert_int_equal(store_find_run(store, "last", NULL, &run, &err), RONDO_ERR_NOT_FOUND);
    assert_int_equal(store_find_run(store, "0123", NULL, &run, &err), RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "0123"));
    assert_int_equal(store_find_run(store, "%", NULL, &run, &err), RONDO_ERR_INVALID);
    assert_int_equal(store_find_run(store, "", NULL, &run, &err), RONDO_ERR_INVALID);
    assert_int_equal(store_find_run(store, FIRST "0", NULL, &run, &err), RONDO_ERR_INVALID);
    store_close(store);
}
