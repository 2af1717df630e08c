// SPDX-License-Identifier: Apache-2.0
/*
 * Running git for a model. A repository can name programs in its settings, attributes and hooks:
 * they are switched off as far as git lets us, and in any case git runs in the sandbox, without a
 * network and without what is hidden from agents being changed.
 */
#include "gateway/tool_git.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "gateway/tool_shell_environment.h"
#include "os/spawn.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ARGUMENTS_MAX 40
/* A question about a repository is answered at once, or its disk is not there. */
#define QUESTION_NS    (10 * NS_PER_S)
#define QUESTION_BYTES (4 * PATH_MAX)

/* --- arguments --- */

const char *git_ref_fault(const char *ref)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_./:~^{}-@";
    if (*ref == '-') {
        return "must not start with '-'";
    }
    if (*ref == '\0') {
        return "is empty";
    }
    return strspn(ref, letters) == strlen(ref) ? "" : "contains unsafe characters";
}

const char *git_path_fault(const char *path)
{
    return *path == '-' ? "must not start with '-'" : "";
}

/* --- finding the repository --- */

/** Ask git outside of the sandbox; rev-parse and config run nothing. @return owned, or NULL */
static char *ask_git(const struct tool_surroundings *around, const char *folder,
                     const char *const *question, bool *ret_is_missing)
{
    const char *argv[16] = {"git", "-C", folder, "-c", "core.fsmonitor=false"};
    size_t count = 5;
    for (size_t i = 0; question[i] != NULL && count < 15; i++) {
        argv[count++] = question[i];
    }
    struct shell_environment environment;
    shell_environment_make(around->security_tools, NULL, &environment);
    const struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)environment.variables,
        .directory = folder,
        .total_ns = QUESTION_NS,
        .output_keep = QUESTION_BYTES,
    };
    struct spawn_result result = {0};
    char *answer = NULL;
    *ret_is_missing = true;
    if (spawn_run(&request, &result, NULL) == 0) {
        *ret_is_missing = result.end == SPAWN_NOT_STARTED;
        if (result.end == SPAWN_EXITED && result.exit_code == 0) {
            answer = steal_pointer(&result.output);
            answer[strcspn(answer, "\n")] = '\0';
        }
    }
    spawn_result_fini(&result);
    shell_environment_fini(&environment);
    return answer;
}

static char *ask_path(const struct tool_surroundings *around, const char *folder,
                      const char *question)
{
    bool is_missing;
    const char *const arguments[] = {"rev-parse", "--path-format=absolute", question, NULL};
    return ask_git(around, folder, arguments, &is_missing);
}

static char *ask_setting(const struct tool_surroundings *around, const char *folder,
                         const char *name)
{
    bool is_missing;
    const char *const arguments[] = {"config", "--get", name, NULL};
    return ask_git(around, folder, arguments, &is_missing);
}

static int check_work_tree(const struct tool_surroundings *around, const char *repo_path,
                           const char *folder, struct rondo_error *err)
{
    static const char *const question[] = {"rev-parse", "--is-inside-work-tree", NULL};
    struct stat status;
    bool is_missing = false;
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "'%s' is not a directory", repo_path);
    }
    auto_free char *answer = ask_git(around, folder, question, &is_missing);
    if (is_missing) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "could not run git; is it installed?");
    }
    if (answer == NULL || strcmp(answer, "true") != 0) {
        return error_set(err, RONDO_ERR_INVALID, "'%s' is not inside a git repository", repo_path);
    }
    return 0;
}

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/** Git's own folders where they are not below the work tree. */
static void add_git_folders(struct git_repository *repository, bool may_write)
{
    const char *outside =
        is_below(repository->common_folder, repository->top) ? NULL : repository->common_folder;
    struct command_place *place = &repository->place;
    free(place->read_path);
    free(place->write_path);
    place->read_path = may_write ? NULL : memory_dup_string(outside);
    place->write_path = may_write ? memory_dup_string(outside) : NULL;
}

int git_repository_find(const struct tool_surroundings *around, struct json_object *config,
                        bool may_write, struct git_repository *ret_repository,
                        struct rondo_error *err)
{
    struct git_repository found = {0};
    const char *repo_path = json_get_string(config, "repo_path", ".");
    auto_buf struct buf folder = {0};
    buf_printf(&folder, "%s%s%s", *repo_path == '/' ? "" : around->workspace,
               *repo_path == '/' ? "" : "/", repo_path);
    int code = check_work_tree(around, repo_path, buf_string(&folder), err);
    if (code == 0) {
        code = command_place_read(around, config, &found.place, err);
    }
    if (code < 0) {
        return code;
    }
    found.folder = realpath(buf_string(&folder), NULL);
    found.top = ask_path(around, buf_string(&folder), "--show-toplevel");
    found.git_folder = ask_path(around, buf_string(&folder), "--git-dir");
    found.common_folder = ask_path(around, buf_string(&folder), "--git-common-dir");
    if (found.folder == NULL || found.top == NULL || found.git_folder == NULL ||
        found.common_folder == NULL) {
        git_repository_fini(&found);
        return error_set(err, RONDO_ERR_INVALID, "git does not say where '%s' belongs", repo_path);
    }
    found.user_name = ask_setting(around, buf_string(&folder), "user.name");
    found.user_email = ask_setting(around, buf_string(&folder), "user.email");
    found.place.workspace = found.top;
    found.place.allow_network = false;
    found.place.shows_hidden = true; /* an empty file in its place would look like a change */
    add_git_folders(&found, may_write);
    *ret_repository = found;
    return 0;
}

void git_repository_fini(struct git_repository *repository)
{
    command_place_fini(&repository->place);
    free(repository->top);
    free(repository->folder);
    free(repository->git_folder);
    free(repository->common_folder);
    free(repository->user_name);
    free(repository->user_email);
    *repository = (struct git_repository){0};
}

/* --- running --- */

/*
 * Before every command. A folder that was trusted when the entry was opened stays so, though the
 * user's own settings are not there in a sandbox. Hooks are files that an agent may have written,
 * or that run such files, and would see what agents must not see.
 */
static const char *const always[] = {
    "git", "--no-pager",
    "-c",  "color.ui=false",
    "-c",  "core.pager=cat",
    "-c",  "commit.gpgsign=false",
    "-c",  "tag.gpgsign=false",
    "-c",  "core.fsmonitor=false",
    "-c",  "core.hooksPath=/dev/null",
    "-c",  "protocol.allow=never",
    "-c",  "safe.directory=*",
};

static size_t append(const char **argv, size_t count, const char *const *more, size_t more_count)
{
    for (size_t i = 0; i < more_count && count < ARGUMENTS_MAX - 1; i++) {
        argv[count++] = more[i];
    }
    return count;
}

/** "NAME=value", owned, or NULL when there is no value. */
static char *variable(const char *name, const char *value)
{
    struct buf text = {0};
    if (value == NULL) {
        return NULL;
    }
    buf_printf(&text, "%s=%s", name, value);
    return buf_steal(&text);
}

#define VARIABLES_MAX 12

static void make_variables(const struct git_repository *repository, bool is_read_only,
                           char *ret_variables[VARIABLES_MAX])
{
    size_t n = 0;
    char *const candidates[VARIABLES_MAX - 1] = {
        variable("GIT_TERMINAL_PROMPT", "0"),
        variable("GIT_EDITOR", "true"),
        variable("GIT_PAGER", "cat"),
        variable("GIT_OPTIONAL_LOCKS", is_read_only ? "0" : NULL),
        variable("GIT_NO_LAZY_FETCH", is_read_only ? "1" : NULL),
        variable("GIT_AUTHOR_NAME", repository->user_name),
        variable("GIT_AUTHOR_EMAIL", repository->user_email),
        variable("GIT_COMMITTER_NAME", repository->user_name),
        variable("GIT_COMMITTER_EMAIL", repository->user_email),
    };
    for (size_t i = 0; i < VARIABLES_MAX - 1; i++) {
        if (candidates[i] != NULL) {
            ret_variables[n++] = candidates[i];
        }
    }
    ret_variables[n] = NULL;
}

/** What git said, without blanks at its ends. */
static void tell_error(const struct command_result *result, struct tool_result *ret_result)
{
    const char *start = buf_string(&result->errors);
    start += strspn(start, " \t\r\n");
    size_t len = strlen(start);
    while (len > 0 && strchr(" \t\r\n", start[len - 1]) != NULL) {
        len--;
    }
    if (len == 0) {
        tool_fail(ret_result, "Error: git ended with exit code %d", result->exit_code);
    } else {
        tool_fail(ret_result, "Error: %.*s", (int)len, start);
    }
}

static void tell(const struct command_result *result, struct tool_result *ret_result)
{
    bool is_silent_failure = result->exit_code != 0 && result->errors.len == 0 &&
                             result->output.len > 0; /* "nothing to commit" */
    if (result->exit_code != 0 && !is_silent_failure) {
        tell_error(result, ret_result);
    } else {
        buf_append(&ret_result->text, buf_string(&result->output), result->output.len);
        if (result->errors.len > 0) {
            buf_append_string(&ret_result->text, result->output.len > 0 ? "\n" : "");
            buf_append(&ret_result->text, result->errors.data, result->errors.len);
        }
        if (ret_result->text.len == 0) {
            buf_append_string(&ret_result->text, "(no output)");
        }
        ret_result->is_error = is_silent_failure;
    }
    ret_result->has_exit_code = true;
    ret_result->exit_code = result->exit_code;
}

bool git_run(const struct git_repository *repository, const char *const *arguments,
             bool is_read_only, const char *input, const struct tool_call *call,
             struct tool_result *ret_result)
{
    const char *argv[ARGUMENTS_MAX] = {NULL};
    char *variables[VARIABLES_MAX];
    size_t count = append(argv, 0, always, sizeof(always) / sizeof(always[0]));
    for (size_t i = 0; arguments[i] != NULL; i++) {
        count = append(argv, count, &arguments[i], 1);
    }
    make_variables(repository, is_read_only, variables);
    const struct command_place *place = &repository->place;
    const struct command command = {
        .argv = argv,
        .variables = (const char *const *)variables,
        .directory = repository->folder,
        /* A sandbox keeps the folders of worktrees from being written, all but this one's. */
        .write_path = place->write_path == NULL ? NULL : repository->git_folder,
        .input = input,
        .input_len = input == NULL ? 0 : strlen(input),
    };
    struct command_result result;
    command_run(place, &command, call, &result);
    if (!command_tell_failure("git", &result, ret_result)) {
        tell(&result, ret_result);
    }
    tool_result_truncate(ret_result, place->max_output_bytes);
    bool is_good = result.end == COMMAND_EXITED && result.exit_code == 0;
    command_result_fini(&result);
    for (size_t i = 0; variables[i] != NULL; i++) {
        free(variables[i]);
    }
    return is_good;
}
