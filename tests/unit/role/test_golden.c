// SPDX-License-Identifier: Apache-2.0
/*
 * Real role files of InitRunner 1.0.0 with the normal form that its own schema gives them, and
 * files that keep or break one rule each. The data lies beside the checkout; without it nothing is
 * tested.
 */
#include "role_help.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "os/file.h"

#include <stdio.h>

#define DATA SOURCE_ROOT "/../shared/data/initrunner/"

static struct json_object *read_json(const char *path)
{
    struct buf text = {0};
    struct json_object *root = NULL;
    if (file_read(path, 16 * LIMIT_MIB, &text, NULL) < 0) {
        buf_fini(&text);
        return NULL;
    }
    struct rondo_error err = {0};
    if (json_parse(text.data, text.len, &root, &err) < 0) {
        fail_msg("%s: %s", path, err.message);
    }
    buf_fini(&text);
    return root;
}

static struct json_object *get(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    json_object_object_get_ex(object, key, &value);
    return value;
}

/** Read one of the files. */
static struct role_reading read_file(const char *folder, const char *name, enum role_schema schema)
{
    struct buf path = {0};
    struct role_reading reading = {0};
    struct rondo_error err = {0};
    buf_printf(&path, "%s%s", folder, name);
    if (role_read(buf_string(&path), schema, &reading.findings, &reading.role, &err) < 0) {
        fail_msg("%s", err.message);
    }
    buf_fini(&path);
    return reading;
}

/** Calls for each member. @return how many there were */
static size_t for_each(struct json_object *object,
                       void (*call)(const char *name, struct json_object *value))
{
    size_t count = 0;
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        call(json_object_iter_peek_name(&at), json_object_iter_peek_value(&at));
        count++;
    }
    return count;
}

static void check_golden(const char *name, struct json_object *golden)
{
    struct role_reading reading = read_file(DATA "roles-v1.0.0/", name, ROLE_SCHEMA_1_0);
    if (reading.role == NULL) {
        fail_msg("%s is refused", name);
    }
    if (!json_object_equal(reading.role->normal, get(golden, "normalized"))) {
        fail_msg("%s: the normal form is another one:\n%s", name,
                 json_object_to_json_string(reading.role->normal));
    }
    reading_fini(&reading);
}

TEST(real_files_have_the_normal_form_that_their_own_schema_gives)
{
    auto_json struct json_object *golden = read_json(DATA "roles-v1.0.0/golden.json");
    if (golden == NULL) {
        print_message("%s is absent: skipped\n", DATA);
        skip();
    }
    assert_int_equal(for_each(golden, check_golden), 40);
}

static void check_again(const char *name, struct json_object *golden)
{
    (void)golden;
    struct role_reading reading = read_file(DATA "roles-v1.0.0/", name, ROLE_SCHEMA_1_13);
    const char *normal = json_object_to_json_string(reading.role->normal);
    struct role_reading again = read_bytes(normal, strlen(normal), ROLE_SCHEMA_1_13);
    if (again.role == NULL || !json_object_equal(again.role->normal, reading.role->normal)) {
        fail_msg("%s: the normal form of the normal form is another one", name);
    }
    reading_fini(&again);
    reading_fini(&reading);
}

/** JSON is YAML, nearly. */
TEST(the_normal_form_of_a_normal_form_is_the_same)
{
    auto_json struct json_object *golden = read_json(DATA "roles-v1.0.0/golden.json");
    if (golden == NULL) {
        print_message("%s is absent: skipped\n", DATA);
        skip();
    }
    for_each(golden, check_again);
}

/**
 * Where the versions differ: what either takes is taken, but for settings of 2026 that Rondo checks
 * as 2026 does.
 */
static bool expects_role(const char *name, struct json_object *expected)
{
    static const char *const checked[] = {"tool-think-max.yaml", "reason-bad.yaml",
                                          "reason-rounds.yaml", "tool-clarify-t.yaml"};
    bool is_right = json_get_bool(get(expected, "C"), "ok", false);
    for (size_t i = 0; i < COUNT(checked); i++) {
        if (strcmp(checked[i], name) == 0) {
            return is_right;
        }
    }
    return is_right || json_get_bool(get(expected, "S"), "ok", false);
}

static void check_verdict(const char *name, struct json_object *expected)
{
    bool is_right = expects_role(name, expected);
    for (int schema = ROLE_SCHEMA_1_0; schema <= ROLE_SCHEMA_1_13; schema++) {
        struct role_reading reading =
            read_file(DATA "validation-cases/", name, (enum role_schema)schema);
        if ((reading.role != NULL) != is_right) {
            fail_msg("%s is %s", name, is_right ? "refused" : "taken");
        }
        for (size_t i = 0; i < reading.findings.count; i++) {
            assert_true(reading.findings.items[i].line > 0);
        }
        reading_fini(&reading);
    }
}

TEST(files_that_keep_or_break_a_rule_have_their_verdict)
{
    auto_json struct json_object *expected = read_json(DATA "validation-cases/expected.json");
    if (expected == NULL) {
        print_message("%s is absent: skipped\n", DATA);
        skip();
    }
    assert_int_equal(for_each(expected, check_verdict), 83);
}

/** Files that are run as they are: nothing is left out and no protection is missing. */
static size_t whole_count;

static void count_whole(const char *name, struct json_object *golden)
{
    (void)golden;
    struct role_reading reading = read_file(DATA "roles-v1.0.0/", name, ROLE_SCHEMA_1_13);
    struct role_findings lost = {0};
    role_find_unsupported(reading.role, ROLE_ALONE, &lost);
    for (size_t i = 0; i < lost.count; i++) {
        if (lost.items[i].line == 0 || lost.items[i].column == 0) {
            fail_msg("%s: %s is named without its place", name, lost.items[i].path);
        }
    }
    whole_count += lost.count == 0 && role_findings_unprotected(&reading.findings) == 0 ? 1 : 0;
    role_findings_fini(&lost);
    reading_fini(&reading);
}

/** The number only grows. */
TEST(real_files_lose_no_setting_or_name_it_with_its_place)
{
    auto_json struct json_object *golden = read_json(DATA "roles-v1.0.0/golden.json");
    if (golden == NULL) {
        print_message("%s is absent: skipped\n", DATA);
        skip();
    }
    whole_count = 0;
    for_each(golden, count_whole);
    assert_true(whole_count >= 33);
}
