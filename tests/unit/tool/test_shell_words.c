// SPDX-License-Identifier: Apache-2.0
/* Words of command lines: the answers are those of Python's shlex.split. */
#include "tool/shell_words.h"

#include "tool_world.h"

struct words_sample {
    const char *line;
    const char *words; /* each followed by a bar; NULL = refused */
};

static const struct words_sample samples[] = {
    {"", ""},
    {"  \t\n ", ""},
    {"ls -l", "ls|-l|"},
    {"  ls\t-l\n", "ls|-l|"},
    {"echo 'a b'", "echo|a b|"},
    {"echo \"a b\"", "echo|a b|"},
    {"echo a'b c'd", "echo|ab cd|"},
    {"echo ''", "echo||"},
    {"echo \"\"''", "echo||"},
    {"echo a\\ b", "echo|a b|"},
    {"echo '\\'", "echo|\\|"},
    {"echo \"a\\\"b\\\\c\\d\"", "echo|a\"b\\c\\d|"},
    {"echo \"it's\"", "echo|it's|"},
    {"a;b|c&&d", "a;b|c&&d|"},
    {"echo $HOME `id` $(id) *", "echo|$HOME|`id`|$(id)|*|"},
    {"# not a comment", "#|not|a|comment|"},
    {"echo 'open", NULL},
    {"echo \"open", NULL},
    {"echo \\", NULL},
};

TEST(lines_are_parted_as_a_shell_quotes)
{
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct shell_words words = {0};
        struct buf joined = {0};
        const char *fault = shell_words_split(samples[i].line, &words);
        assert_int_equal(fault == NULL, samples[i].words != NULL);
        for (size_t k = 0; fault == NULL && k < words.count; k++) {
            buf_printf(&joined, "%s|", words.words[k]);
        }
        assert_string_equal(buf_string(&joined), samples[i].words == NULL ? "" : samples[i].words);
        buf_fini(&joined);
        shell_words_fini(&words);
    }
}

TEST(faults_are_told)
{
    struct shell_words words = {0};
    assert_string_equal(shell_words_split("a 'b", &words), "No closing quotation");
    shell_words_fini(&words);
    assert_string_equal(shell_words_split("a \\", &words), "No escaped character");
    shell_words_fini(&words);
}

TEST(words_are_limited_at_the_edge)
{
    struct buf line = {0};
    struct shell_words words = {0};
    for (int i = 0; i < SHELL_WORDS_MAX; i++) {
        buf_append_string(&line, "w ");
    }
    assert_null(shell_words_split(buf_string(&line), &words));
    assert_int_equal(words.count, SHELL_WORDS_MAX);
    shell_words_fini(&words);
    buf_append_string(&line, "w");
    assert_string_equal(shell_words_split(buf_string(&line), &words), "it has too many words");
    shell_words_fini(&words);
    buf_fini(&line);
}

TEST(the_line_is_limited_at_the_edge)
{
    struct shell_words words = {0};
    char *line = malloc(SHELL_COMMAND_MAX_BYTES + 2);
    memset(line, 'x', SHELL_COMMAND_MAX_BYTES + 1);
    line[SHELL_COMMAND_MAX_BYTES + 1] = '\0';
    assert_string_equal(shell_words_split(line, &words), "it is too long");
    shell_words_fini(&words);
    line[SHELL_COMMAND_MAX_BYTES] = '\0';
    assert_null(shell_words_split(line, &words));
    shell_words_fini(&words);
    free(line);
}

TEST(operators_are_whole_words)
{
    static const char *const operators[] = {"|",  "||",  "&&", ";", ";;", ">", ">>", "<",
                                            "<<", "<<<", "(",  ")", "{",  "}", "&"};
    for (size_t i = 0; i < COUNT(operators); i++) {
        assert_true(shell_word_is_operator(operators[i]));
    }
    assert_false(shell_word_is_operator("a|b"));
    assert_false(shell_word_is_operator("2>"));
    assert_false(shell_word_is_operator(""));
}

TEST(the_base_name_is_the_last_part)
{
    static const char *const names[][2] = {
        {"rm", "rm"},       {"/bin/rm", "rm"}, {"../../bin/rm", "rm"},
        {"/bin/rm/", "rm"}, {"./rm/.", "rm"},  {"/", ""},
        {"", ""},           {"a/..", ".."},    {"rm.", "rm."},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        char name[32];
        shell_word_base_name(names[i][0], name);
        assert_string_equal(name, names[i][1]);
    }
}
