// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "shell": one command, without a shell. The allow and block lists look at the name of
 * the program only and are a guard against mistakes; what keeps a command in its bounds is the
 * sandbox.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "tool/builtin/shell_run.h"
#include "tool/canonical.h"
#include "tool/shell_words.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

struct shell {
    struct command_place place;
    struct json_object *allowed; /* borrowed; NULL or empty = all */
    struct json_object *blocked; /* borrowed; NULL = the default list */
};

static bool is_blocked(const struct shell *shell, const char *name)
{
    static const char *const otherwise[] = {
        "rm",   "mkfs",     "dd",    "fdisk", "parted", "mount",   "umount",  "shutdown", "reboot",
        "halt", "poweroff", "chmod", "chown", "passwd", "useradd", "userdel", "sudo",     "su",
    };
    if (shell->blocked != NULL) {
        return shell_list_holds(shell->blocked, name);
    }
    for (size_t i = 0; i < sizeof(otherwise) / sizeof(otherwise[0]); i++) {
        if (strcmp(otherwise[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/** A function that calls itself in the background: `:(){ ...`. */
static bool is_fork_bomb(const char *command)
{
    for (const char *at = strstr(command, ":()"); at != NULL; at = strstr(at + 1, ":()")) {
        const char *after = at + 3;
        if (after[strspn(after, " \t\r\n")] == '{') {
            return true;
        }
    }
    return false;
}

/** "['git', 'ls']" */
static void write_list(struct json_object *list, struct buf *text)
{
    buf_append_string(text, "[");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        buf_printf(text, "%s'%s'", i > 0 ? ", " : "",
                   json_object_get_string(json_object_array_get_idx(list, i)));
    }
    buf_append_string(text, "]");
}

static bool is_given(struct json_object *list)
{
    return list != NULL && json_object_array_length(list) > 0;
}

/** The program of a call. Owned. */
static char *canonical_name(const struct shell *shell, const char *word)
{
    struct buf name = {0};
    canonical_program(word, shell->place.directory, &name);
    return buf_steal(&name);
}

/** The first word of a line. Owned. */
static char *first_word(const char *line)
{
    return memory_dup_bytes(line, strcspn(line, " "));
}

/**
 * The programs of a command, also those that it starts in turn: all are checked against the
 * blocked ones, the first against the allowed ones. A file in the workspace is not the program
 * whose name it has.
 */
static bool check_programs(const struct shell *shell, const char *command,
                           const struct shell_words *words, struct tool_result *ret_result)
{
    struct canonical_commands commands;
    bool is_fine = true;
    canonical_command(command, shell->place.directory, false, &commands);
    for (size_t i = 0; is_fine && i < commands.count; i++) {
        auto_free char *word =
            i == 0 ? canonical_name(shell, words->words[0]) : first_word(commands.lines[i]);
        auto_free char *name = memory_new(strlen(word) + 1);
        shell_word_base_name(word, name);
        auto_buf struct buf list = {0};
        if (i == 0 && is_given(shell->allowed) && !shell_list_holds(shell->allowed, word)) {
            write_list(shell->allowed, &list);
            tool_fail(ret_result, "Error: command '%s' is not in the allowed list: %s", word,
                      buf_string(&list));
            is_fine = false;
        } else if (is_blocked(shell, name)) {
            tool_fail(ret_result, "Error: command '%s' is blocked", name);
            is_fine = false;
        }
    }
    if (is_fine && commands.is_cut) {
        tool_fail(ret_result, "Error: the command contains too many other commands");
        is_fine = false;
    }
    canonical_commands_fini(&commands);
    return is_fine;
}

static bool check_command(const struct shell *shell, const char *command,
                          struct shell_words *ret_words, struct tool_result *ret_result)
{
    if (is_fork_bomb(command)) {
        tool_fail(ret_result, "Error: fork bomb pattern detected");
        return false;
    }
    const char *fault = shell_words_split(command, ret_words);
    if (fault != NULL) {
        tool_fail(ret_result, "Error: invalid command syntax: %s", fault);
        return false;
    }
    if (ret_words->count == 0) {
        tool_fail(ret_result, "Error: empty command");
        return false;
    }
    for (size_t i = 0; i < ret_words->count; i++) {
        if (shell_word_is_operator(ret_words->words[i])) {
            tool_fail(ret_result,
                      "Error: shell operator '%s' is not allowed — use dedicated tools instead",
                      ret_words->words[i]);
            return false;
        }
    }
    return check_programs(shell, command, ret_words, ret_result);
}

static void run_shell(const struct tool *tool, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    const struct shell *shell = tool->context;
    auto_shell_words struct shell_words words = {0};
    if (!check_command(shell, json_get_string(call->arguments, "command", ""), &words,
                       ret_result)) {
        return;
    }
    const struct shell_command command = {.argv = (const char *const *)words.words};
    struct command_result result;
    command_run(&shell->place, &command, call, &result);
    command_tell(&shell->place, words.words[0], &result, ret_result);
    command_result_fini(&result);
}

static const struct tool_argument arguments[] = {{"command", ARGUMENT_COMMAND}, {0}};

static const struct tool_function function = {
    .name = "run_shell",
    .description = "Run one command and see its exit code, stdout and stderr. There is no shell: "
                   "no pipes, no redirection, no variables, no wildcards.",
    .schema = "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\","
              "\"description\":\"Program and arguments; quotes as in a shell\"}},"
              "\"required\":[\"command\"],\"additionalProperties\":false}",
    .run = run_shell,
    .arguments = arguments,
};

static void free_shell(void *owned)
{
    struct shell *shell = owned;
    command_place_fini(&shell->place);
    free(shell);
}

static struct json_object *get_list(struct json_object *config, const char *name)
{
    struct json_object *list = NULL;
    json_object_object_get_ex(config, name, &list);
    return json_object_is_type(list, json_type_array) ? list : NULL;
}

static int open_shell(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    struct shell *shell = memory_new_zero(1, sizeof(*shell));
    toolbox_own(toolbox, shell, free_shell);
    shell->allowed = get_list(config, "allowed_commands");
    shell->blocked = get_list(config, "blocked_commands");
    int r = command_place_read(toolbox_surroundings(toolbox), config, &shell->place, err);
    if (r < 0) {
        return r;
    }
    struct tool tool = toolbox_tool(shell_tool_type.name, &function, shell);
    tool.folder = shell->place.directory;
    tool.needs_confirmation = json_get_bool(config, "require_confirmation", true);
    return toolbox_add(toolbox, &tool, err);
}

const struct tool_type shell_tool_type = {.name = "shell", .open = open_shell};
