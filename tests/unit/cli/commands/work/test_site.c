// SPDX-License-Identifier: Apache-2.0
/* Tokens of forges in the environment of this process. */
#include "base/memory.h"
#include "cli/commands/work/site.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/spawn/spawn.h"
#include "support/test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool names_it(char *const *names, const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

TEST(variables_with_the_token_are_known_by_name_or_by_value)
{
    setenv("MY_COPY", "secret-of-the-forge", 1);
    setenv("MY_OTHER", "secret-of-the-forge-not", 1);
    char **names = work_token_variables("FORGE_SECRET", "secret-of-the-forge", "HOOK_SECRET", NULL);
    assert_true(names_it(names, "GH_TOKEN"));
    assert_true(names_it(names, "GITLAB_TOKEN"));
    assert_true(names_it(names, "GITEA_TOKEN"));
    assert_true(names_it(names, "FORGE_SECRET"));
    assert_true(names_it(names, "HOOK_SECRET"));
    assert_true(names_it(names, "MY_COPY"));
    assert_false(names_it(names, "MY_OTHER"));
    assert_false(names_it(names, "PATH"));
    memory_free_list(names);
    unsetenv("MY_COPY");
    unsetenv("MY_OTHER");
}

TEST(without_a_token_no_variable_is_one_by_its_value)
{
    setenv("MY_EMPTY", "", 1);
    char **names = work_token_variables(NULL, "", NULL, NULL);
    assert_false(names_it(names, "MY_EMPTY"));
    memory_free_list(names);
    names = work_token_variables(NULL, NULL, NULL, NULL);
    assert_false(names_it(names, "MY_EMPTY"));
    memory_free_list(names);
    unsetenv("MY_EMPTY");
}

/** What the kernel shows of this process's first environment. */
static bool kernel_shows(const char *word)
{
    static char text[1 << 20];
    int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    size_t len = 0;
    ssize_t n;
    while ((n = read(fd, text + len, sizeof(text) - len)) > 0) {
        len += (size_t)n;
    }
    close(fd);
    return memmem(text, len, word, strlen(word)) != NULL;
}

/** Run these tests again with a token in their environment: only that shows in /proc. */
static void run_again(void)
{
    static const char *const variables[] = {"TEST_SITE_AGAIN=1", "GH_TOKEN=secret-of-the-forge",
                                            NULL};
    char path[PATH_MAX] = "";
    assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
    const char *const argv[] = {path, "cli/commands/work/test_site.c", NULL};
    const struct spawn_request request = {.argv = argv, .envp = variables, .output_keep = 4096};
    struct spawn_result result = {0};
    assert_int_equal(spawn_run(&request, &result, NULL), 0);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 0);
    spawn_result_fini(&result);
}

TEST(a_hidden_token_is_neither_in_the_environment_nor_in_proc)
{
    static const char *const names[] = {"GH_TOKEN", NULL};
    if (getenv("TEST_SITE_AGAIN") == NULL) {
        run_again();
        return;
    }
    assert_true(kernel_shows("secret-of-the-forge"));
    work_token_hide(names);
    assert_null(getenv("GH_TOKEN"));
    assert_false(kernel_shows("secret-of-the-forge"));
}

TEST(what_is_taken_is_kept_with_all_its_copies)
{
    static const char *const further[] = {"HOOK_SECRET", "NOT_THERE", "HOOK_SECRET", NULL};
    setenv("GITEA_TOKEN", "secret-of-the-forge", 1);
    setenv("MY_COPY", "secret-of-the-forge", 1);
    setenv("HOOK_SECRET", "secret-of-hooks", 1);
    setenv("MY_OTHER", "another", 1);
    char **taken = work_token_take(further);
    const char *const *variables = (const char *const *)taken;
    assert_int_equal(memory_count_list(variables), 3);
    assert_string_equal(environment_find(variables, "GITEA_TOKEN"), "secret-of-the-forge");
    assert_string_equal(environment_find(variables, "MY_COPY"), "secret-of-the-forge");
    assert_string_equal(environment_find(variables, "HOOK_SECRET"), "secret-of-hooks");
    assert_null(getenv("GITEA_TOKEN"));
    assert_null(getenv("MY_COPY"));
    assert_null(getenv("HOOK_SECRET"));
    assert_string_equal(getenv("MY_OTHER"), "another");
    char **names = work_token_variables(NULL, "secret-of-the-forge", NULL, variables);
    assert_true(names_it(names, "MY_COPY"));
    memory_free_list(names);
    memory_free_list(taken);
}
