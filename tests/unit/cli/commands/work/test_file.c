// SPDX-License-Identifier: Apache-2.0
/* The file of `rondo serve --work`. */
#include "base/buf.h"
#include "base/limits.h"
#include "cli/commands/work/file.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/scratch.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static char folder[256];

static int folder_up(void **state)
{
    (void)state;
    assert_true(scratch_new(folder, sizeof(folder)));
    return 0;
}

static int folder_down(void **state)
{
    (void)state;
    assert_int_equal(file_remove_tree(folder, NULL), 0);
    return 0;
}

#define FILE_TEST(name) TEST_WITH(name, folder_up, folder_down)

static int read_text(const char *text, size_t len, struct work_file **ret_file,
                     struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/work.yaml", folder);
    assert_int_equal(file_replace_durably(buf_string(&path), text, len, NULL), 0);
    return work_file_read(buf_string(&path), ret_file, err);
}

static struct work_file *read_good(const char *text)
{
    struct work_file *file = NULL;
    struct rondo_error err = {0};
    if (read_text(text, strlen(text), &file, &err) != 0) {
        fail_msg("%s", err.message);
    }
    return file;
}

/** Check that a text is refused, with these words. */
static void refuse(const char *text, const char *words)
{
    struct work_file *file = NULL;
    struct rondo_error err = {0};
    assert_int_not_equal(read_text(text, strlen(text), &file, &err), 0);
    if (strstr(err.message, words) == NULL) {
        fail_msg("%s is not in: %s", words, err.message);
    }
}

struct repository_values {
    struct queue_values values;
    struct option_set set;
};

static void take(const struct work_file *file, size_t index, struct repository_values *ret)
{
    struct rondo_error err = {0};
    if (work_file_values(file, index, &ret->values, &ret->set, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

static void drop(struct repository_values *repository)
{
    queue_values_fini(&repository->values, &repository->set);
}

FILE_TEST(keys_are_the_long_names_of_options)
{
    struct work_file *file = read_good("repositories:\n"
                                       "- repo: acme/shop\n"
                                       "  agent: claude\n"
                                       "  labels: [code, 'good first issue']\n"
                                       "  max-concurrent: 2\n"
                                       "  attempt-time: 45m\n"
                                       "  issue-cost: 2.5\n"
                                       "  ready: true\n"
                                       "  sandbox: landlock\n");
    struct repository_values repository;
    assert_int_equal(work_file_count(file), 1);
    take(file, 0, &repository);
    const struct queue_values *values = &repository.values;
    assert_string_equal(values->repository, "acme/shop");
    assert_string_equal(values->work.coding_agent, "claude");
    assert_string_equal(values->labels[1], "good first issue");
    assert_int_equal(values->most_running, 2);
    assert_true(values->attempt_time_ns == INT64_C(2700000000000));
    assert_int_equal(values->work.role.run.spec.max_cost_micro, 2500000);
    assert_int_equal(values->is_ready, 1);
    assert_int_equal(values->work.role.run.sandbox, SANDBOX_LANDLOCK);
    drop(&repository);
    work_file_free(file);
}

FILE_TEST(what_a_repository_does_not_say_is_that_of_the_defaults)
{
    struct work_file *file =
        read_good("defaults: {agent: claude, model: opus, attempts: 5,\n"
                  "           labels: [code]}\n"
                  "repositories:\n"
                  "- {repo: acme/shop, attempts: 2}\n"
                  "- {repo: acme/tools, labels: [agent], command: [./a.sh]}\n");
    struct repository_values shop, tools;
    take(file, 0, &shop);
    take(file, 1, &tools);
    assert_string_equal(shop.values.work.coding_agent, "claude");
    assert_string_equal(shop.values.work.role.model, "opus");
    assert_int_equal(shop.values.attempts, 2);
    assert_string_equal(shop.values.labels[0], "code");
    assert_int_equal(tools.values.attempts, 5);
    assert_string_equal(tools.values.labels[0], "agent");
    assert_null(tools.values.labels[1]);
    assert_null(tools.values.work.coding_agent);
    assert_null(tools.values.work.role.model);
    drop(&shop);
    drop(&tools);
    work_file_free(file);
}

FILE_TEST(paths_are_relative_to_the_file)
{
    struct work_file *file = read_good("repositories:\n"
                                       "- {repo: a/b, command: [./agent.sh, --fast], policy: p}\n"
                                       "- {repo: a/c, role: roles/x.yaml, review: r/y.yaml}\n"
                                       "- {repo: a/d, command: [make], review: codex}\n");
    struct repository_values first, second, third;
    auto_buf struct buf path = {0};
    take(file, 0, &first);
    take(file, 1, &second);
    take(file, 2, &third);
    buf_printf(&path, "%s/./agent.sh", folder);
    assert_string_equal(first.values.command[0], buf_string(&path));
    assert_string_equal(first.values.command[1], "--fast");
    assert_int_equal(first.values.work.role.run.policy[0], '/');
    assert_int_equal(second.values.work.role_file[0], '/');
    assert_int_equal(second.values.work.review[0], '/');
    assert_string_equal(third.values.command[0], "make");
    assert_string_equal(third.values.work.review, "codex");
    drop(&first);
    drop(&second);
    drop(&third);
    work_file_free(file);
}

FILE_TEST(what_is_wrong_is_said_with_its_line)
{
    refuse("", "is empty");
    refuse("[]", "not a map");
    refuse("repositories: []", "has no list `repositories`");
    refuse("repositories: {}", "has no list `repositories`");
    refuse("repo: a/b", "work.yaml:1: unknown key repo");
    refuse("repositories:\n- a/b\n", "work.yaml:2: not a map");
    refuse("repositories:\n- {agent: claude}\n", "work.yaml:2: the key repo is missing");
    refuse("repositories:\n- {repo: a/b}\n", "work.yaml:2: no worker given");
    refuse("repositories:\n- {repo: a/b, agent: claude, lables: [x]}\n", "unknown key \"lables\"");
    refuse("repositories:\n- {repo: a/b, agent: claude, labels: x}\n", "takes an array of strings");
    refuse("repositories:\n- {repo: a/b, agent: claude, attempts: 21}\n", "attempts");
    refuse("repositories:\n- {repo: a/b, agent: claude,\n   repo: a/c}\n",
           "work.yaml:3: the key repo is given twice");
    refuse("repositories:\n- {repo: a/b, agent: x}\n- {repo: A/B, agent: x}\n",
           "work.yaml:3: A/B is in line 2 already");
    refuse("repositories:\n- {repo: a/b, command: []}\n", "command: takes a list of 1 to");
    refuse("repositories:\n- {repo: a/b, command: [1]}\n", "command: word 1 is not a text");
    refuse("repositories: [\n", "work.yaml:2:");
}

FILE_TEST(options_of_one_invocation_are_no_keys)
{
    static const char *const names[] = {"once",  "continuous", "dry-run", "issue",
                                        "store", "json",       "quiet"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char text[128];
        snprintf(text, sizeof(text), "repositories:\n- {repo: a/b, agent: claude, %s: true}\n",
                 names[i]);
        refuse(text, "unknown key");
    }
}

FILE_TEST(the_number_of_repositories_has_a_limit)
{
    for (size_t count = LIMIT_WORK_QUEUES; count <= LIMIT_WORK_QUEUES + 1; count++) {
        struct work_file *file = NULL;
        struct rondo_error err = {0};
        auto_buf struct buf text = {0};
        buf_append_string(&text, "defaults: {agent: claude}\nrepositories:\n");
        for (size_t i = 0; i < count; i++) {
            buf_printf(&text, "- repo: acme/r%zu\n", i);
        }
        int r = read_text(buf_string(&text), text.len, &file, &err);
        assert_int_equal(r, count == LIMIT_WORK_QUEUES ? 0 : RONDO_ERR_LIMIT);
        work_file_free(r == 0 ? file : NULL);
    }
}

FILE_TEST(tokens_and_secrets_of_all_repositories_are_taken_out_of_the_environment)
{
    struct queue_values values;
    struct option_set set;
    setenv("TEST_FILE_TOKEN", "token-1", 1);
    setenv("TEST_FILE_OTHER", "token-2", 1);
    setenv("TEST_FILE_HOOK", "hook-1", 1);
    struct work_file *file = read_good("defaults:\n"
                                       "  agent: claude\n"
                                       "  token-env: TEST_FILE_TOKEN\n"
                                       "repositories:\n"
                                       "  - repo: a/b\n"
                                       "  - {repo: c/d, token-env: TEST_FILE_OTHER, "
                                       "hook-secret-env: TEST_FILE_HOOK}\n");
    work_file_take_tokens(file);
    assert_null(getenv("TEST_FILE_TOKEN"));
    assert_null(getenv("TEST_FILE_OTHER"));
    assert_null(getenv("TEST_FILE_HOOK"));
    assert_int_equal(work_file_values(file, 1, &values, &set, NULL), 0);
    assert_string_equal(environment_find(values.variables, values.token_env), "token-2");
    assert_string_equal(environment_find(values.variables, values.hook_secret_env), "hook-1");
    assert_string_equal(environment_find(values.variables, "TEST_FILE_TOKEN"), "token-1");
    queue_values_fini(&values, &set);
    work_file_free(file);
}
