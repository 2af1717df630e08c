// SPDX-License-Identifier: Apache-2.0
/* Detection of commands for standard conditions: the table's probes, one project at a time. */
#include "loop/detect.h"
#include "support/test.h"

#include "base/buf.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "/tmp/rondo-detect-XXXXXX";

static void put_file(const char *name, const char *content)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(file_replace_durably(path, content, strlen(content), NULL), 0);
}

static int make_project(void **state)
{
    (void)state;
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    return mkdtemp(folder) == NULL;
}

static int remove_project(void **state)
{
    (void)state;
    return file_remove_tree(folder, NULL);
}

static void assert_detects(const char *condition, const char *command)
{
    struct detect_result result;
    struct rondo_error err = {0};
    int r = detect_command(folder, condition, &result, &err);
    if (r < 0) {
        fail_msg("%s: %s", condition, err.message);
    }
    assert_string_equal(result.command, command);
}

#define ROW(test) TEST_WITH(test, make_project, remove_project)

ROW(a_make_target_is_found_among_several_on_one_line)
{
    put_file("Makefile", "all: x\nbuild test lint: x\n\techo\n");
    assert_detects("all_tests_pass", "make test");
    assert_detects("linting_clean", "make lint");
    assert_detects("build_succeeds", "make build");
}

ROW(a_phony_line_an_assignment_or_a_recipe_is_not_a_target)
{
    put_file("Makefile", ".PHONY: test\ntest := 1\nall:\n\ttest: no\n");
    struct detect_result result;
    assert_int_equal(detect_command(folder, "all_tests_pass", &result, NULL), RONDO_ERR_NOT_FOUND);
    assert_detects("build_succeeds", "make");
}

ROW(check_serves_where_there_is_no_test_target)
{
    put_file("Makefile", "check:\n\ttrue\n");
    assert_detects("all_tests_pass", "make check");
}

ROW(the_placeholder_script_of_npm_does_not_count)
{
    put_file("package.json",
             "{\"scripts\":{\"test\":\"echo \\\"Error: no test specified\\\" && exit 1\"}}");
    struct detect_result result;
    assert_int_equal(detect_command(folder, "all_tests_pass", &result, NULL), RONDO_ERR_NOT_FOUND);
    put_file("package.json", "{\"scripts\":{\"test\":\"node --test\",\"lint\":\"eslint .\"}}");
    assert_detects("all_tests_pass", "npm test --silent");
    assert_detects("linting_clean", "npm run --silent lint");
}

ROW(a_broken_package_json_is_no_match_and_no_crash)
{
    put_file("package.json", "{\"scripts\":[1,2");
    struct detect_result result;
    assert_int_equal(detect_command(folder, "all_tests_pass", &result, NULL), RONDO_ERR_NOT_FOUND);
}

ROW(patterns_match_file_names)
{
    put_file("Shop.csproj", "");
    assert_detects("build_succeeds", "dotnet build --nologo");
}

ROW(text_in_a_file_decides_between_rows)
{
    put_file("pyproject.toml", "[tool.ruff]\n");
    assert_detects("linting_clean", "ruff check .");
    assert_detects("all_tests_pass", "python3 -m unittest discover -q");
    put_file("pyproject.toml", "[tool.pytest.ini_options]\n");
    assert_detects("all_tests_pass", "python3 -m pytest -q");
}

ROW(an_empty_project_gives_an_error_that_names_the_option)
{
    struct detect_result result;
    struct rondo_error err = {0};
    assert_int_equal(detect_command(folder, "security_scan_clean", &result, &err),
                     RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "--until 'security_scan_clean=COMMAND'"));
}

ROW(a_name_of_ones_own_needs_a_command)
{
    struct detect_result result;
    assert_int_equal(detect_command(folder, "docs_fresh", &result, NULL), RONDO_ERR_INVALID);
}

ROW(the_reference_lists_every_standard_condition)
{
    auto_buf struct buf page = {0};
    detect_describe(&page);
    assert_non_null(strstr(buf_string(&page), "### all_tests_pass"));
    assert_non_null(strstr(buf_string(&page), "### security_scan_clean"));
    assert_non_null(
        strstr(buf_string(&page), "| `Makefile` with the target `test` | `make test` |"));
}

int main(void)
{
    return test_run(NULL, NULL);
}
