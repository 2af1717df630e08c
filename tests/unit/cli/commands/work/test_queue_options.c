// SPDX-License-Identifier: Apache-2.0
/* Options of a queue: defaults, lists with commas, and what does not fit together. */
#include "cli/commands/work/commands.h"
#include "cli/commands/work/queue_options.h"
#include "cli/framework/command.h"
#include "forge/forge.h"
#include "support/test.h"

#include <string.h>

struct parsed_options {
    struct queue_values values;
    struct option_set set;
    const char *misuse;
};

/** Set options from words "--name=value" or "--flag", NULL-terminated, and complete them. */
static void parse(struct parsed_options *ret, const char *const *words)
{
    queue_values_init(&ret->values, work_options, &ret->set);
    for (; *words != NULL; words++) {
        struct rondo_error err = {0};
        char name[64] = "";
        const char *equals = strchr(*words, '=');
        size_t len = equals == NULL ? strlen(*words) : (size_t)(equals - *words);
        memcpy(name, *words, len);
        int index = option_find(work_options, name);
        assert_true(index >= 0);
        if (option_set_text(&ret->set, (size_t)index, equals == NULL ? NULL : equals + 1, &err) !=
            0) {
            fail_msg("%s", err.message);
        }
    }
    ret->misuse = queue_values_complete(&ret->values, &ret->set);
}

static void release(struct parsed_options *options)
{
    queue_values_fini(&options->values, &options->set);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(without_options_the_limits_are_those_of_the_help)
{
    struct parsed_options options;
    parse(&options, WORDS("agent=claude"));
    const struct queue_values *values = &options.values;
    assert_null(options.misuse);
    assert_int_equal(values->attempts, 3);
    assert_int_equal(values->most_running, 1);
    assert_int_equal(values->most_per_hour, 10);
    assert_true(values->attempt_time_ns == INT64_C(1800000000000));
    assert_true(values->work.role.run.spec.time_limit_ns == INT64_C(7200000000000));
    assert_true(values->poll_ns == INT64_C(30000000000));
    assert_int_equal(values->trust, FORGE_MEMBER);
    release(&options);
}

TEST(the_worker_has_a_sandbox_unless_a_person_says_otherwise)
{
    struct parsed_options options;
    parse(&options, WORDS("agent=claude"));
    assert_int_equal(options.values.work.role.run.spec.worker_tier, SANDBOX_NAMESPACE);
    assert_int_equal(options.values.work.role.run.spec.verifier_tier, SANDBOX_NAMESPACE);
    assert_int_equal(options.values.work.role.run.spec.allow_network, 0);
    release(&options);
}

TEST(lists_are_split_at_commas_and_spaces_around_them_are_cut)
{
    struct parsed_options options;
    parse(&options, WORDS("agent=claude", "labels=good first issue , code,,", "labels=x"));
    char **labels = options.values.labels;
    assert_null(options.misuse);
    assert_string_equal(labels[0], "good first issue");
    assert_string_equal(labels[1], "code");
    assert_string_equal(labels[2], "x");
    assert_null(labels[3]);
    release(&options);
}

TEST(an_address_with_a_secret_in_it_is_refused)
{
    static const struct {
        const char *words[3];
        bool is_fine;
    } cases[] = {
        {{"agent=claude", "repo=https://bob:s3cret@git.example.org/a/b"}, false},
        {{"agent=claude", "repo=https://ghp_s3cret@github.com/a/b"}, false},
        {{"agent=claude", "repo=ssh://git:s3cret@git.example.org/a/b"}, false},
        {{"agent=claude", "repo=ssh://git@git.example.org/a/b"}, true},
        {{"agent=claude", "repo=git@git.example.org:a/b"}, true},
        {{"agent=claude", "repo=https://git.example.org/a/b"}, true},
        {{"agent=claude", "repo=a/b"}, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct parsed_options options;
        parse(&options, cases[i].words);
        if ((options.misuse == NULL) != cases[i].is_fine) {
            fail_msg("%s: %s", cases[i].words[1], options.misuse);
        }
        assert_true(options.misuse == NULL || strstr(options.misuse, "s3cret") == NULL);
        release(&options);
    }
}

TEST(options_that_contradict_each_other_are_refused)
{
    static const struct {
        const char *words[4];
        const char *misuse;
    } cases[] = {
        {{"agent=claude", "once", "continuous"}, "give --once or --continuous, not both"},
        {{"agent=claude", "issue=7", "continuous"},
         "--issue ends with its issue; it does not go with --continuous"},
        {{"agent=claude", "draft", "ready"}, "give --draft or --ready, not both"},
        {{"agent=claude", "labels=,"},
         "--labels has no label: only issues with a label are worked on"},
        {{"agent=claude", "prefix="}, "--prefix must not be empty"},
        {{"agent=claude", "poll=0"}, "--poll must be longer than 0"},
        {{"agent=claude", "attempt-time=0"},
         "--attempt-time and --issue-time must be longer than 0"},
        {{"agent=claude", "issue-time=0"}, "--attempt-time and --issue-time must be longer than 0"},
        {{"agent=claude", "role=a.yaml"}, "give one of --agent, --role and a command, not several"},
        {{"labels=code"},
         "no worker given; use --agent NAME, --role FILE, or a command at the end"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct parsed_options options;
        parse(&options, cases[i].words);
        assert_non_null(options.misuse);
        assert_string_equal(options.misuse, cases[i].misuse);
        release(&options);
    }
}

/** The doctor has no worker to check, and else refuses what the work would. */
TEST(what_is_wrong_with_the_repository_is_refused_without_a_worker_too)
{
    static const struct {
        const char *option, *text, *misuse;
    } cases[] = {
        {"labels", " , ", "--labels has no label: only issues with a label are worked on"},
        {"prefix", "", "--prefix must not be empty"},
        {"repo", "https://sam:s3cret@github.com/acme/shop",
         "the address of the repository has a name or password in it; give a token by --token-env "
         "instead"},
        {"labels", "agent, code", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct queue_values values;
        struct option_set set;
        queue_values_init(&values, work_doctor_options, &set);
        int index = option_find(work_doctor_options, cases[i].option);
        assert_true(index >= 0);
        assert_int_equal(option_set_text(&set, (size_t)index, cases[i].text, NULL), 0);
        const char *misuse = queue_values_check(&values);
        if (cases[i].misuse != NULL) {
            assert_non_null(misuse);
            assert_string_equal(misuse, cases[i].misuse);
        } else {
            assert_null(misuse);
            assert_string_equal(queue_values_labels(&values)[1], "code");
        }
        queue_values_fini(&values, &set);
    }
}

TEST(numbers_have_their_ranges)
{
    static const struct {
        const char *name, *good, *bad;
    } cases[] = {
        {"issue", "1", "0"},
        {"max-concurrent", "16", "17"},
        {"issues-per-hour", "1000", "1001"},
        {"attempts", "20", "21"},
        {"follow-ups", "0", "-1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct parsed_options options;
        struct rondo_error err = {0};
        size_t index = (size_t)option_find(work_options, cases[i].name);
        queue_values_init(&options.values, work_options, &options.set);
        assert_int_equal(option_set_text(&options.set, index, cases[i].good, &err), 0);
        assert_int_equal(option_set_text(&options.set, index, cases[i].bad, &err),
                         RONDO_ERR_INVALID);
        release(&options);
    }
}
