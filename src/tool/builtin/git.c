// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "git". No argument of a model can become an option: references are checked letter by
 * letter, paths follow `--` and are taken literally, messages go to stdin. Secret files are neither
 * shown nor committed (gateway/secret_files).
 */
#include "tool/builtin/git.h"

#include "tool/canonical.h"
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX     100
#define LOG_DEFAULT 20

/* --- checks --- */

static bool check_ref(const char *ref, struct tool_result *ret_result)
{
    const char *fault = git_ref_fault(ref);
    if (*fault != '\0') {
        tool_fail(ret_result, "Error: invalid ref '%s' (%s)", ref, fault);
    }
    return *fault == '\0';
}

static bool check_path(const char *path, struct tool_result *ret_result)
{
    const char *fault = git_path_fault(path);
    if (*fault != '\0') {
        tool_fail(ret_result, "Error: invalid path '%s' (%s)", path, fault);
    }
    return *fault == '\0';
}

static const char *text_of(const struct tool_call *call, const char *name)
{
    return json_get_string(call->arguments, name, "");
}

/** A reference for a commit or a range of them. */
static bool read_commit(const char *ref, struct buf *ret_commit, struct tool_result *ret_result)
{
    if (!check_ref(ref, ret_result)) {
        return false;
    }
    if (strchr(ref, ':') != NULL) {
        tool_fail(ret_result, "Error: invalid ref '%s' (a commit is needed)", ref);
        return false;
    }
    git_commit_ref(ref, ret_commit);
    return true;
}

/* --- reading --- */

static void run_status(const struct tool *tool, const struct tool_call *call,
                       struct tool_result *ret_result)
{
    static const char *const arguments[] = {"status", "--short", NULL};
    const struct git_command command = {
        .arguments = arguments, .takes_paths = true, .is_read_only = true};
    git_run(tool->context, &command, call, ret_result);
}

static void run_log(const struct tool *tool, const struct tool_call *call,
                    struct tool_result *ret_result)
{
    int64_t count = json_get_int(call->arguments, "max_count", LOG_DEFAULT);
    const char *format = json_get_string(call->arguments, "format", "oneline");
    char count_option[32];
    char format_option[32];
    count = count < 1 ? 1 : count > LOG_MAX ? LOG_MAX : count;
    snprintf(count_option, sizeof(count_option), "--max-count=%d", (int)count);
    snprintf(format_option, sizeof(format_option), "--format=%s",
             strcmp(format, "compact") == 0 ? "%h %an %s" : format);
    const char *const arguments[] = {"log", "--no-patch", count_option, format_option, NULL};
    const struct git_command command = {.arguments = arguments, .is_read_only = true};
    git_run(tool->context, &command, call, ret_result);
}

static void run_diff(const struct tool *tool, const struct tool_call *call,
                     struct tool_result *ret_result)
{
    const char *ref = text_of(call, "ref");
    const char *path = text_of(call, "path");
    const char *arguments[8] = {"diff", "--no-ext-diff", "--no-textconv"};
    size_t count = 3;
    auto_buf struct buf commit = {0};
    if ((*ref != '\0' && !read_commit(ref, &commit, ret_result)) || !check_path(path, ret_result)) {
        return;
    }
    if (json_get_bool(call->arguments, "staged", false)) {
        arguments[count++] = "--cached";
    }
    if (*ref != '\0') {
        arguments[count++] = buf_string(&commit);
    }
    const struct git_command command = {.arguments = arguments,
                                        .path = *path == '\0' ? NULL : path,
                                        .takes_paths = true,
                                        .is_read_only = true};
    git_run(tool->context, &command, call, ret_result);
}

/** `REV:PATH`: one file or folder of a commit. */
static bool check_file_of_commit(const char *ref, struct tool_result *ret_result)
{
    const char *fault = *ref == ':'                 ? "a commit is needed before ':'"
                        : strstr(ref, "..") != NULL ? "no range is taken before ':'"
                                                    : git_path_fault(ref);
    if (*fault != '\0') {
        tool_fail(ret_result, "Error: invalid ref '%s' (%s)", ref, fault);
    }
    return *fault == '\0';
}

static void run_show(const struct tool *tool, const struct tool_call *call,
                     struct tool_result *ret_result)
{
    const char *ref = json_get_string(call->arguments, "ref", "HEAD");
    bool is_file = strchr(ref, ':') != NULL;
    auto_buf struct buf commit = {0};
    if (is_file ? !check_ref(ref, ret_result) || !check_file_of_commit(ref, ret_result)
                : !read_commit(ref, &commit, ret_result)) {
        return;
    }
    const char *const arguments[] = {
        "show",   "--no-ext-diff", "--no-textconv",
        "--stat", "--patch",       is_file ? ref : buf_string(&commit),
        NULL,
    };
    const struct git_command command = {
        .arguments = arguments, .takes_paths = true, .is_read_only = true};
    git_run(tool->context, &command, call, ret_result);
}

static void run_blame(const struct tool *tool, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    const char *path = text_of(call, "path");
    const char *const arguments[] = {"blame", "--no-textconv", "--", path, NULL};
    const struct git_command command = {.arguments = arguments, .is_read_only = true};
    if (check_path(path, ret_result)) {
        git_run(tool->context, &command, call, ret_result);
    }
}

static void run_changed_files(const struct tool *tool, const struct tool_call *call,
                              struct tool_result *ret_result)
{
    const char *ref = json_get_string(call->arguments, "ref", "HEAD~1");
    auto_buf struct buf commit = {0};
    if (read_commit(ref, &commit, ret_result)) {
        const char *const arguments[] = {"diff", "--no-ext-diff", "--name-status",
                                         buf_string(&commit), NULL};
        const struct git_command command = {
            .arguments = arguments, .takes_paths = true, .is_read_only = true};
        git_run(tool->context, &command, call, ret_result);
    }
}

static void run_list_files(const struct tool *tool, const struct tool_call *call,
                           struct tool_result *ret_result)
{
    static const char *const arguments[] = {"ls-files", NULL};
    const struct git_command command = {.arguments = arguments,
                                        .path = text_of(call, "path"),
                                        .takes_paths = true,
                                        .is_read_only = true};
    if (check_path(command.path, ret_result)) {
        git_run(tool->context, &command, call, ret_result);
    }
}

/* --- writing --- */

static void run_checkout(const struct tool *tool, const struct tool_call *call,
                         struct tool_result *ret_result)
{
    const char *branch = text_of(call, "branch");
    const char *const switching[] = {"checkout", branch, "--", NULL};
    const char *const creating[] = {"checkout", "-b", branch, "--", NULL};
    bool is_new = json_get_bool(call->arguments, "create", false);
    const struct git_command command = {.arguments = is_new ? creating : switching};
    if (check_ref(branch, ret_result)) {
        git_run(tool->context, &command, call, ret_result);
    }
}

static void run_commit(const struct tool *tool, const struct tool_call *call,
                       struct tool_result *ret_result)
{
    static const char *const add[] = {"add", NULL};
    static const char *const commit[] = {"commit", "-F", "-", NULL};
    const struct git_command adding = {.arguments = add,
                                       .path = json_get_string(call->arguments, "paths", "."),
                                       .takes_paths = true};
    const struct git_command committing = {.arguments = commit, .input = text_of(call, "message")};
    if (!check_path(adding.path, ret_result) ||
        !git_run(tool->context, &adding, call, ret_result)) {
        return;
    }
    tool_result_fini(ret_result);
    git_run(tool->context, &committing, call, ret_result);
}

static void run_tag(const struct tool *tool, const struct tool_call *call,
                    struct tool_result *ret_result)
{
    const char *name = text_of(call, "name");
    const char *message = text_of(call, "message");
    const char *ref = json_get_string(call->arguments, "ref", "HEAD");
    auto_buf struct buf commit = {0};
    if (!check_ref(name, ret_result) || !read_commit(ref, &commit, ret_result)) {
        return;
    }
    const char *const plain[] = {"tag", name, buf_string(&commit), NULL};
    const char *const annotated[] = {"tag", "-a", "-F", "-", name, buf_string(&commit), NULL};
    const struct git_command command = {.arguments = *message == '\0' ? plain : annotated,
                                        .input = *message == '\0' ? NULL : message};
    git_run(tool->context, &command, call, ret_result);
}

/* --- the type --- */

#define OBJECT(properties, required)                                                    \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]," \
    "\"additionalProperties\":false}"
#define TEXT(name, description) \
    "\"" name "\":{\"type\":\"string\",\"description\":\"" description "\"}"
#define TEXT_OR(name, description, otherwise)                          \
    "\"" name "\":{\"type\":\"string\",\"description\":\"" description \
    "\",\"default\":\"" otherwise "\"}"
#define FLAG(name, description) \
    "\"" name "\":{\"type\":\"boolean\",\"description\":\"" description "\",\"default\":false}"

static const struct tool_argument path_arguments[] = {
    {"path", ARGUMENT_PATH}, {"paths", ARGUMENT_PATH}, {0}};

#define READS .is_idempotent = true, .is_concurrent = true, .is_read_only = true

static const struct tool_function reading[] = {
    {
        .name = "git_status",
        .description = "Show what is changed in the work tree, in the short form.",
        .schema = OBJECT("", ""),
        .run = run_status,
        READS,
    },
    {
        .name = "git_log",
        .description = "Show the latest commits.",
        .schema = OBJECT("\"max_count\":{\"type\":\"integer\",\"description\":\"At most this many, "
                         "up to 100\",\"default\":20},"
                         "\"format\":{\"type\":\"string\",\"enum\":[\"oneline\",\"short\","
                         "\"medium\",\"full\",\"compact\"],\"description\":\"compact = hash, "
                         "author, subject\",\"default\":\"oneline\"}",
                         ""),
        .run = run_log,
        READS,
    },
    {
        .name = "git_diff",
        .description = "Show changes of the work tree, or against a commit.",
        .schema = OBJECT(
            TEXT_OR("ref", "Compare with this commit", "") "," FLAG(
                "staged", "What would be committed") "," TEXT_OR("path", "Only this file or folder",
                                                                 ""),
            ""),
        .run = run_diff,
        .arguments = path_arguments,
        READS,
    },
    {
        .name = "git_show",
        .description = "Show a commit: message, statistics, changes.",
        .schema = OBJECT(TEXT_OR("ref", "The commit", "HEAD"), ""),
        .run = run_show,
        READS,
    },
    {
        .name = "git_blame",
        .description = "Show who changed each line of a file last.",
        .schema = OBJECT(TEXT("path", "The file"), "\"path\""),
        .run = run_blame,
        .arguments = path_arguments,
        READS,
    },
    {
        .name = "git_changed_files",
        .description = "List the files that differ from a commit, with how.",
        .schema = OBJECT(TEXT_OR("ref", "The commit", "HEAD~1"), ""),
        .run = run_changed_files,
        READS,
    },
    {
        .name = "git_list_files",
        .description = "List the files under version control.",
        .schema = OBJECT(TEXT_OR("path", "Only below this folder", ""), ""),
        .run = run_list_files,
        .arguments = path_arguments,
        READS,
    },
};

static const struct tool_function writing[] = {
    {
        .name = "git_checkout",
        .description = "Switch to a branch, or make a new one.",
        .schema = OBJECT(TEXT("branch", "The branch") "," FLAG("create", "Make it"), "\"branch\""),
        .run = run_checkout,
    },
    {
        .name = "git_commit",
        .description = "Stage changes and commit them.",
        .schema = OBJECT(TEXT("message", "The message") "," TEXT_OR("paths", "What to stage", "."),
                         "\"message\""),
        .run = run_commit,
        .arguments = path_arguments,
    },
    {
        .name = "git_tag",
        .description = "Make a tag; with a message an annotated one.",
        .schema =
            OBJECT(TEXT("name", "The tag") "," TEXT_OR("message", "The message", "") "," TEXT_OR(
                       "ref", "What is tagged", "HEAD"),
                   "\"name\""),
        .run = run_tag,
    },
};

static void free_repository(void *owned)
{
    git_repository_fini(owned);
    free(owned);
}

static int add_functions(struct toolbox *toolbox, struct git_tool_repository *repository,
                         const struct tool_function *functions, size_t count,
                         struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct tool tool = toolbox_tool(git_tool_type.name, &functions[i], repository);
        tool.folder = repository->folder;
        r = toolbox_add(toolbox, &tool, err);
    }
    return r;
}

static int open_git(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    bool may_write = !json_get_bool(config, "read_only", true);
    struct git_tool_repository *repository = memory_new_zero(1, sizeof(*repository));
    toolbox_own(toolbox, repository, free_repository);
    int r = git_repository_find(toolbox_surroundings(toolbox), config, may_write, repository, err);
    if (r == 0) {
        r = add_functions(toolbox, repository, reading, sizeof(reading) / sizeof(reading[0]), err);
    }
    if (r == 0 && may_write) {
        r = add_functions(toolbox, repository, writing, sizeof(writing) / sizeof(writing[0]), err);
    }
    return r;
}

const struct tool_type git_tool_type = {.name = "git", .open = open_git};
