// SPDX-License-Identifier: Apache-2.0
/* The tables of commands, options and exit codes: complete, and without doubles. */
#include "cli/commands/policy/commands.h"
#include "cli/framework/command.h"
#include "cli/framework/completion.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/manual.h"
#include "cli/terminal/text.h"
#include "policy/vocabulary/vocabulary.h"
#include "rondo/error.h"
#include "support/test.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

TEST(every_command_is_described)
{
    for (const struct command *command = NULL; (command = command_next(command)) != NULL;) {
        assert_string_not_equal(command->synopsis, "");
        assert_non_null(command->help);
        assert_string_not_equal(command->description, "");
        assert_non_null(command->run);
        assert_non_null(command->options);
        assert_true(option_count(command->options) <= OPTION_ROWS_MAX);
        assert_ptr_equal(command_find(command->name), command);
    }
}

TEST(every_option_is_documented_and_has_what_its_kind_needs)
{
    for (const struct command *command = NULL; (command = command_next(command)) != NULL;) {
        for (const struct option_row *row = command->options; row->name != NULL; row++) {
            bool takes_argument = row->kind != OPTION_FLAG;
            assert_true(row->is_hidden || strlen(row->help) > 5);
            assert_true(takes_argument == (row->argument != NULL || row->choices != NULL));
            assert_true((row->kind == OPTION_CHOICE) == (row->choices != NULL));
            assert_true(row->kind != OPTION_INT || row->high > row->low);
        }
    }
}

TEST(no_option_occurs_twice_in_a_table)
{
    for (const struct command *command = NULL; (command = command_next(command)) != NULL;) {
        const struct option_row *rows = command->options;
        for (size_t i = 0; i < option_count(rows); i++) {
            assert_int_equal(option_find(rows, rows[i].name), (int)i);
            assert_true(rows[i].letter != 'h' && strcmp(rows[i].name, "help") != 0);
            for (size_t j = 0; j < i; j++) {
                assert_true(rows[i].letter == 0 || rows[i].letter != rows[j].letter);
            }
        }
    }
}

/** What only runs of roles have is an option of `run`. */
TEST(the_same_option_means_the_same_in_loop_or_run_and_resume)
{
    for (const struct option_row *row = resume_options; row->name != NULL; row++) {
        const struct option_row *others =
            option_find(loop_options, row->name) >= 0 ? loop_options : run_options;
        int index = option_find(others, row->name);
        assert_true(index >= 0);
        assert_int_equal(others[index].offset, row->offset);
        assert_int_equal(others[index].kind, row->kind);
    }
}

TEST(commands_of_a_group_carry_its_name)
{
    size_t groups = 0;
    for (const struct command *command = NULL; (command = command_next(command)) != NULL;) {
        const struct command *own = command->subcommands;
        groups += own != NULL ? 1 : 0;
        for (; own != NULL && own->name != NULL; own++) {
            size_t len = strlen(command->name);
            assert_memory_equal(own->name, command->name, len);
            assert_int_equal(own->name[len], ' ');
            assert_string_equal(command_word(own), own->name + len + 1);
        }
    }
    assert_true(groups > 0);
}

TEST(every_command_comes_once_and_a_group_before_its_own)
{
    size_t count = 0;
    for (const struct command *command = NULL; (command = command_next(command)) != NULL;) {
        count++;
    }
    size_t expected = 0;
    for (const struct command *command = commands; command->name != NULL; command++) {
        expected++;
        for (const struct command *own = command->subcommands; own != NULL && own->name != NULL;
             own++) {
            expected++;
        }
    }
    assert_int_equal(count, expected);
    assert_ptr_equal(command_next(command_find("policy")), command_find("policy check"));
    assert_ptr_equal(command_next(command_find("policy what-if")), command_find("policy") + 1);
}

/** Resolve up to three words. @return the command's name, "" for none */
static const char *resolved(const char *a, const char *b, const char *c, int *ret_argc)
{
    char *words[] = {(char *)a, (char *)b, (char *)c, NULL};
    struct invocation invocation;
    command_resolve(c != NULL ? 3 : b != NULL ? 2 : 1, words, &invocation);
    *ret_argc = invocation.argc;
    return invocation.command == NULL ? "" : invocation.command->name;
}

TEST(as_many_words_as_name_commands_are_taken)
{
    int argc = 0;
    assert_string_equal(resolved("gc", "policy", NULL, &argc), "gc");
    assert_int_equal(argc, 2);
    assert_string_equal(resolved("policy", "check", "set", &argc), "policy check");
    assert_int_equal(argc, 2);
    assert_string_equal(resolved("policy", "chekc", NULL, &argc), "policy");
    assert_int_equal(argc, 2);
    assert_string_equal(resolved("policy", NULL, NULL, &argc), "policy");
    assert_int_equal(argc, 1);
    assert_string_equal(resolved("check", NULL, NULL, &argc), "");
    assert_null(command_find("policy nothing"));
    assert_null(command_find("gc check"));
}

TEST(actions_to_explain_are_those_of_the_vocabulary)
{
    const struct option_choice *choice =
        policy_explain_options[option_find(policy_explain_options, "action")].choices;
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        assert_string_equal(choice[i].name, vocabulary_action_name(i));
        assert_int_equal(choice[i].value, i);
    }
    assert_null(choice[VOCABULARY_ACTION_COUNT].name);
}

TEST(every_completion_names_every_command_and_option)
{
    for (const struct completion *row = completions; row->shell != NULL; row++) {
        auto_buf struct buf script = {0};
        row->write(&script);
        for (const struct command *command = NULL; (command = command_next(command)) != NULL;) {
            assert_true(command->is_hidden || strstr(script.data, command->name) != NULL);
            for (size_t i = 0; i < option_count(command->options); i++) {
                const struct option_row *option = &command->options[i];
                assert_true(option->is_hidden || strstr(script.data, option->name) != NULL);
            }
        }
    }
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        auto_buf struct buf line = {0};
        buf_append(&line, text, len);
        size_t width = text_width(buf_string(&line));
        widest = width > widest ? width : widest;
        text += len + (text[len] == '\n');
    }
    return widest;
}

TEST(help_names_every_option_and_fits_the_terminal)
{
    for (const struct command *command = NULL; (command = command_next(command)) != NULL;) {
        auto_buf struct buf text = {0};
        struct command without_examples = *command;
        without_examples.examples = NULL; /* Lines to be copied are not wrapped. */
        command_help(&without_examples, 80, &text);
        if (widest_line(buf_string(&text)) > 80) {
            fail_msg("%s: the help is wider than 80 columns", command->name);
        }
        for (const struct option_row *row = command->options; row->name != NULL; row++) {
            char name[80];
            snprintf(name, sizeof(name), "--%s", row->name);
            assert_true((strstr(buf_string(&text), name) != NULL) == !row->is_hidden);
        }
    }
}

TEST(every_page_of_the_manual_has_its_sections)
{
    for (const struct command *command = NULL; (command = command_next(command)) != NULL;) {
        auto_buf struct buf page = {0};
        manual_page(command, &page);
        assert_non_null(strstr(buf_string(&page), ".SH SYNOPSIS"));
        assert_non_null(strstr(buf_string(&page), ".SH OPTIONS"));
        assert_non_null(strstr(buf_string(&page), ".SH EXIT STATUS"));
    }
    auto_buf struct buf page = {0};
    manual_page(NULL, &page);
    assert_non_null(strstr(buf_string(&page), "\\fBrondo loop\\fR"));
}

TEST(exit_codes_are_listed_in_order_and_all)
{
    struct exit_code_row row;
    int before = 0;
    size_t count = 0;
    for (; exit_code_row(count, &row); count++) {
        assert_true(row.code >= before);
        assert_true(strlen(row.name) > 0 && strlen(row.meaning) > 5);
        before = row.code;
    }
    assert_int_equal(count, 14);
}

TEST(errors_have_the_exit_codes_that_are_documented)
{
    assert_int_equal(exit_code_of_error(RONDO_ERR_INVALID), EXIT_USAGE);
    assert_int_equal(exit_code_of_error(RONDO_ERR_FENCED), EXIT_HELD);
    assert_int_equal(exit_code_of_error(RONDO_ERR_FULL), EXIT_STORE);
    assert_int_equal(exit_code_of_error(RONDO_ERR_SYSTEM), EXIT_OTHER);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return test_run(NULL, NULL);
}
