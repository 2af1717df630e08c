// SPDX-License-Identifier: Apache-2.0
/* Where the store is found, and how runs are named: what the command line promises. */
#include "base/memory.h"
#include "store/find.h"
#include "store/locate.h"
#include "store/memory_store.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[] = "/tmp/rondo-test-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    unsetenv("RONDO_STORE");
    return mkdtemp(top) == NULL || chdir(top) < 0 || mkdir("deep", 0755) < 0;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink(".rondo/rondo.db");
    unlink(".rondo/.gitignore");
    return rmdir("deep") | rmdir(".rondo") | chdir("/") | rmdir(top);
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

static void without_a_store_there_is_a_clear_error(void **state)
{
    (void)state;
    char *path = NULL;
    struct rondo_error err;
    assert_int_equal(store_locate(NULL, false, &path, &err), RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "rondo loop"));
    assert_null(path);
}

static void what_is_given_comes_before_the_environment(void **state)
{
    (void)state;
    setenv("RONDO_STORE", "from-environment.db", 1);
    assert_located("given.db", "/given.db");
    assert_located("/absolute.db", "/absolute.db");
    assert_located(NULL, "/from-environment.db");
    unsetenv("RONDO_STORE");
}

static void a_new_folder_is_private_and_not_for_git(void **state)
{
    (void)state;
    char *path = NULL;
    assert_int_equal(store_locate(NULL, true, &path, NULL), 0);
    free(path);
    struct stat status;
    assert_int_equal(stat(".rondo", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    char text[8] = "";
    FILE *file = fopen(".rondo/.gitignore", "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "*\n");
}

static void the_store_of_a_parent_is_found(void **state)
{
    (void)state;
    FILE *file = fopen(".rondo/rondo.db", "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(chdir("deep"), 0);
    char *path = NULL;
    assert_int_equal(store_locate(NULL, true, &path, NULL), 0);
    assert_null(strstr(path, "deep"));
    free(path);
    assert_int_equal(access(".rondo", F_OK), -1);
    assert_int_equal(chdir(".."), 0);
}

static void the_store_of_another_user_is_passed_over(void **state)
{
    (void)state;
    if (geteuid() != 0 || chown(".rondo/rondo.db", 12345, (gid_t)-1) < 0) {
        skip();
    }
    assert_int_equal(chdir("deep"), 0);
    char *path = NULL;
    assert_int_equal(store_locate(NULL, false, &path, NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(store_locate(NULL, true, &path, NULL), RONDO_ERR_INVALID);
    assert_int_equal(chown(".rondo/rondo.db", 0, (gid_t)-1), 0);
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

static void runs_are_found_by_id_prefix_and_last(void **state)
{
    (void)state;
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
    for (size_t i = 0; i < sizeof(finds) / sizeof(finds[0]); i++) {
        struct store_run run;
        assert_int_equal(store_find_run(store, finds[i].name, finds[i].agent, &run, NULL), 0);
        assert_string_equal(run.id, finds[i].wanted);
    }
    store_close(store);
}

static void an_ambiguous_prefix_lists_the_candidates(void **state)
{
    (void)state;
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

static void what_is_no_run_is_a_clear_error(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_store_there_is_a_clear_error),
        cmocka_unit_test(what_is_given_comes_before_the_environment),
        cmocka_unit_test(a_new_folder_is_private_and_not_for_git),
        cmocka_unit_test(the_store_of_a_parent_is_found),
        cmocka_unit_test(the_store_of_another_user_is_passed_over),
        cmocka_unit_test(runs_are_found_by_id_prefix_and_last),
        cmocka_unit_test(an_ambiguous_prefix_lists_the_candidates),
        cmocka_unit_test(what_is_no_run_is_a_clear_error),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
