// SPDX-License-Identifier: Apache-2.0
/* Regular expressions: what Python's `re` compiles, and what would run for ever. */
#include "role_help.h"

#include "base/arena.h"
#include "role/pattern.h"
#include "role/reader.h"

static const char *problem_of(const char *pattern)
{
    size_t offset;
    uint32_t steps_left = PATTERN_STEPS;
    return pattern_problem(pattern, strlen(pattern), &steps_left, &offset);
}

static void expressions_that_compile_are_taken(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "",
        "ignore.*instructions",
        "(?i)password\\s*[:=]",
        "\\b\\d{3}-\\d{2}-\\d{4}\\b",
        "\\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Z|a-z]{2,}\\b",
        "a{2}{",
        "a{,3}",
        "x{",
        "{}",
        "{a}",
        "[]a]",
        "[^]a]",
        "[a-]",
        "[\\w-]",
        "[\\b]",
        "(a)\\1",
        "(?P<n>a)(?P=n)(?(n)b|c)",
        "(?(1)a)(b)",
        "(?<=ab)c(?<!d)",
        "(?=a)*",
        "(?>a+)b",
        "a*+",
        "(?:)*",
        "(?i:a)(?-i:b)(?s-x:c)",
        "(?#note)a",
        "(?x) a # ( comment\n b",
        "(?i)(?s)a",
        "\\x41\\u0041\\U00000041\\N{DIGIT ONE}",
        "\\012\\0\\377",
        "\xc3\xa4+",
        "\\%\\@",
        "a||b",
    };
    for (size_t i = 0; i < COUNT(patterns); i++) {
        if (problem_of(patterns[i]) != NULL) {
            fail_msg("%s: %s", patterns[i], problem_of(patterns[i]));
        }
    }
}

static const char *const refused[] = {
    "(",
    ")",
    "(a",
    "a)",
    "[a",
    "[",
    "[]",
    "[z-a]",
    "[\\d-a]",
    "*a",
    "+",
    "a**",
    "a+++",
    "a{2}{3}",
    "^*",
    "\\b+",
    "a|*",
    "(*)",
    "a{3,2}",
    "a{4294967295}",
    "\\",
    "\\q",
    "\\x4",
    "\\u004",
    "\\U00110000",
    "\\400",
    "\\1",
    "(a\\1)",
    "\\8",
    "[\\8]",
    "[\\A]",
    "(?P<n>a)(?P<n>b)",
    "(?P<1>a)",
    "(?P=x)",
    "(?P<n",
    "(?P>n)",
    "(?<n>a)",
    "(?<=a+)b",
    "(?<!a|bc)d",
    "a(?i)b",
    "a|(?i)b",
    "(?L)a",
    "(?au)a",
    "(?-a:b)",
    "(?i-i:a)",
    "(?-:a)",
    "(?i",
    "(?",
    "(?z)",
    "(?#",
    "(?(1)a|b|c)(d)",
    "(?(2)a)(b)",
    "(?(n)a)",
    "(?(0)a)",
    "\\N",
    "\\N{}",
    "(?:(?i)a)",
    "(?<=(a)\\1)b",
    "(?-",
};

static void expressions_that_do_not_compile_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        if (problem_of(refused[i]) == NULL) {
            fail_msg("%s is taken", refused[i]);
        }
    }
}

static void the_place_of_a_problem_is_told(void **state)
{
    (void)state;
    size_t offset = 0;
    uint32_t steps_left = PATTERN_STEPS;
    assert_string_equal(pattern_problem("ab[c", 4, &steps_left, &offset),
                        "a set of characters without its end");
    assert_int_equal(offset, 2);
}

static bool runs_away(const char *pattern)
{
    struct arena arena = {0};
    struct pattern_node *root = NULL;
    size_t offset;
    assert_null(pattern_parse(pattern, strlen(pattern), &arena, &root, &offset));
    uint32_t steps_left = PATTERN_STEPS;
    bool is_so = pattern_runs_away(root, &steps_left);
    arena_fini(&arena);
    return is_so;
}

static void expressions_that_would_run_for_ever_are_found(void **state)
{
    (void)state;
    static const char *const patterns[] = {"(a+)+$", "(a|aa)+$", "(\\w+\\s?)+$", "(.*a){12}x",
                                           "(a+)+\\B!"};
    for (size_t i = 0; i < COUNT(patterns); i++) {
        if (!runs_away(patterns[i])) {
            fail_msg("%s passes", patterns[i]);
        }
    }
    assert_non_null(problem_of("(a+)+$"));
}

static void expressions_that_end_are_not_taken_for_such(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "(a+)+!",   "(?>a+)+$", "a.*a.*a.*a.*b", "(x+x+)+y",        "(a|b|ab)*c",
        "(\\d+)+$", "(a)\\1*$", "a{0,65535}b",   "((((a?)?)?)?)?$",
    };
    for (size_t i = 0; i < COUNT(patterns); i++) {
        if (runs_away(patterns[i])) {
            fail_msg("%s does not pass", patterns[i]);
        }
    }
}

static void a_file_may_not_use_up_all_time_with_its_expressions(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct pattern_node *root = NULL;
    size_t offset;
    assert_null(pattern_parse("(a+)+$", 6, &arena, &root, &offset));
    uint32_t steps_left = PATTERN_STEPS;
    size_t found = 0;
    while (found < 10 && pattern_runs_away(root, &steps_left)) {
        found++;
    }
    assert_int_equal(found, 3);
    assert_int_equal(steps_left, 0);
    assert_false(pattern_runs_away(root, &steps_left));
    arena_fini(&arena);
}

static void groups_nest_up_to_a_limit(void **state)
{
    (void)state;
    for (size_t extra = 0; extra <= 1; extra++) {
        struct buf text = {0};
        for (size_t i = 0; i < 100 + extra; i++) {
            buf_append_string(&text, "(?:");
        }
        for (size_t i = 0; i < 100 + extra; i++) {
            buf_append_string(&text, ")");
        }
        assert_true((problem_of(buf_string(&text)) != NULL) == (extra == 1));
        buf_fini(&text);
    }
}

static void cron_expressions_are_judged(void **state)
{
    (void)state;
    static const char *const right[] = {
        "* * * * *",     "*/5 * * * *",           "0 9 * * 1-5",     "0 0 1,15 * *",   "0 0 l * *",
        "59 23 31 12 7", "0 9 * jan-mar mon,fri", "5-59/10 * * * *", "  0  9\t* * 1 ",
    };
    static const char *const wrong[] = {
        "",           "nope",        "* * * *",        "* * * * * *", "60 * * * *",
        "* 24 * * *", "* * 0 * *",   "* * * 13 *",     "* * * * 8",   "*/0 * * * *",
        "1- * * * *", "1,, * * * *", "* * * * monday",
    };
    for (size_t i = 0; i < COUNT(right); i++) {
        if (cron_problem(right[i]) != NULL) {
            fail_msg("%s: %s", right[i], cron_problem(right[i]));
        }
    }
    for (size_t i = 0; i < COUNT(wrong); i++) {
        if (cron_problem(wrong[i]) == NULL) {
            fail_msg("%s is taken", wrong[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_that_compile_are_taken),
        cmocka_unit_test(expressions_that_do_not_compile_are_refused),
        cmocka_unit_test(the_place_of_a_problem_is_told),
        cmocka_unit_test(expressions_that_would_run_for_ever_are_found),
        cmocka_unit_test(expressions_that_end_are_not_taken_for_such),
        cmocka_unit_test(a_file_may_not_use_up_all_time_with_its_expressions),
        cmocka_unit_test(groups_nest_up_to_a_limit),
        cmocka_unit_test(cron_expressions_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
