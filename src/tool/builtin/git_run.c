// SPDX-License-Identifier: Apache-2.0
/*
 * Running git for a model. A repository can name programs in its settings, attributes and hooks:
 * they are switched off as far as git lets us, and in any case git runs in the sandbox, without a
 * network and without what is hidden from agents being changed.
 */
#include "tool/builtin/git.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/process/program.h"
#include "os/spawn/spawn.h"
#include "tool/builtin/shell_environment.h"
#include "tool/secret_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* More than the options, a path and the table of secret files. What is hidden comes on top. */
#define ARGUMENTS_MAX 40
/* A question about a repository is answered at once, or its disk is not there. */
#define QUESTION_NS    (30 * NS_PER_S)
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
    if (*path == '-') {
        return "must not start with '-'";
    }
    return secret_file_is(path) ? "contains secrets and is not accessible to agents" : "";
}

void git_commit_ref(const char *ref, struct buf *ret_ref)
{
    const char *dots = strstr(ref, "..");
    size_t len = dots == NULL ? strlen(ref) : (size_t)(dots - ref);
    buf_append(ret_ref, ref, len);
    buf_append_string(ret_ref, len > 0 ? "^{commit}" : "");
    if (dots != NULL) {
        size_t dot_count = strspn(dots, ".");
        buf_append(ret_ref, dots, dot_count);
        buf_printf(ret_ref, "%s%s", dots + dot_count, dots[dot_count] == '\0' ? "" : "^{commit}");
    }
}

/* --- finding the repository --- */

/**
 * Ask git outside of the sandbox; rev-parse and config run nothing. It is the system's own git:
 * another one in PATH may be what an agent has put there.
 * @return owned, or NULL
 */
static char *ask_git(const struct tool_surroundings *around, const char *folder,
                     const char *const *question, char ret_missing[256])
{
    char program[PATH_MAX];
    const char *argv[16] = {program, "-C", folder, "-c", "core.fsmonitor=false"};
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
    ret_missing[0] = '\0';
    if (program_find_system("git", request.envp, program, ret_missing) &&
        spawn_run(&request, &result, NULL) == 0) {
        snprintf(ret_missing, 256, "%s", result.reason);
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
    char missing[256];
    const char *const arguments[] = {"rev-parse", "--path-format=absolute", question, NULL};
    return ask_git(around, folder, arguments, missing);
}

static char *ask_setting(const struct tool_surroundings *around, const char *folder,
                         const char *name)
{
    char missing[256];
    const char *const arguments[] = {"config", "--get", name, NULL};
    return ask_git(around, folder, arguments, missing);
}

static int check_work_tree(const struct tool_surroundings *around, const char *repo_path,
                           const char *folder, struct rondo_error *err)
{
    static const char *const question[] = {"rev-parse", "--is-inside-work-tree", NULL};
    struct stat status;
    char missing[256];
    /* opens: only for the message; git runs in the sandbox */
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "'%s' is not a directory", repo_path);
    }
    auto_free char *answer = ask_git(around, folder, question, missing);
    if (missing[0] != '\0') {
        return error_set(err, RONDO_ERR_NOT_FOUND, "could not run git: %s", missing);
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
static void add_git_folders(struct git_tool_repository *repository, bool may_write)
{
    const char *outside =
        is_below(repository->common_folder, repository->top) ? NULL : repository->common_folder;
    struct command_place *place = &repository->place;
    free(place->read_path);
    free(place->write_path);
    place->read_path = may_write ? NULL : memory_dup_string(outside);
    place->write_path = may_write ? memory_dup_string(outside) : NULL;
}

/* --- what is kept from agents --- */

static void add_exclusion(struct git_tool_repository *repository, size_t *count, const char *magic,
                          const char *path)
{
    struct buf text = {0};
    buf_printf(&text, ":(top,exclude%s)%s", magic, path);
    repository->exclusions =
        memory_resize(repository->exclusions, *count + 2, sizeof(*repository->exclusions));
    repository->exclusions[(*count)++] = buf_steal(&text);
    repository->exclusions[*count] = NULL;
}

/** A path that is hidden, where it is in the work tree. */
static void exclude_hidden(struct git_tool_repository *repository, size_t *count, const char *path)
{
    /* opens: a path of Rondo's own that is hidden */
    auto_free char *canonical = realpath(path, NULL);
    const char *real = canonical == NULL ? path : canonical;
    if (is_below(real, repository->top) && real[strlen(repository->top)] == '/') {
        add_exclusion(repository, count, ",literal", real + strlen(repository->top) + 1);
    }
}

/**
 * The sandbox keeps hidden files from being read. To git they would look changed, so that they are
 * left out by pathspecs as well; so are secret files, which a commit may hold already.
 */
static void make_exclusions(const struct tool_surroundings *around,
                            struct git_tool_repository *repository)
{
    size_t count = 0;
    for (size_t i = 0; secret_file_globs[i] != NULL; i++) {
        auto_buf struct buf anywhere = {0};
        buf_printf(&anywhere, "**/%s", secret_file_globs[i]);
        add_exclusion(repository, &count, ",icase,glob", buf_string(&anywhere));
        if (strpbrk(secret_file_globs[i], "*?[") == NULL) { /* It may be a folder. */
            buf_append_string(&anywhere, "/**");
            add_exclusion(repository, &count, ",icase,glob", buf_string(&anywhere));
        }
    }
    for (size_t i = 0; around->hide_paths != NULL && around->hide_paths[i] != NULL; i++) {
        exclude_hidden(repository, &count, around->hide_paths[i]);
    }
}

int git_repository_find(const struct tool_surroundings *around, struct json_object *config,
                        bool may_write, struct git_tool_repository *ret_repository,
                        struct rondo_error *err)
{
    struct git_tool_repository found = {0};
    const char *repo_path = json_get_string(config, "repo_path", ".");
    auto_buf struct buf folder = {0};
    buf_printf(&folder, "%s%s%s", *repo_path == '/' ? "" : around->workspace,
               *repo_path == '/' ? "" : "/", repo_path);
    int r = check_work_tree(around, repo_path, buf_string(&folder), err);
    if (r == 0) {
        r = command_place_read(around, config, &found.place, err);
    }
    if (r < 0) {
        return r;
    }
    /* opens: only a name; git runs in the sandbox */
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
    add_git_folders(&found, may_write);
    make_exclusions(around, &found);
    *ret_repository = found;
    return 0;
}

void git_repository_fini(struct git_tool_repository *repository)
{
    command_place_fini(&repository->place);
    free(repository->top);
    free(repository->folder);
    free(repository->git_folder);
    free(repository->common_folder);
    free(repository->user_name);
    free(repository->user_email);
    memory_free_list(repository->exclusions);
    *repository = (struct git_tool_repository){0};
}

/* --- running --- */

/*
 * Before every command. A folder that was trusted when the entry was opened stays so, though the
 * user's own settings are not there in a sandbox. What git would tidy up in the background is
 * killed with the command, half done, and leaves its locks to the next one. Hooks are files that an
 * agent may have written, or that run such files, and would see what agents must not see.
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
    "-c",  "diff.submodule=short",
    "-c",  "status.submoduleSummary=false",
    "-c",  "safe.directory=*",
    "-c",  "gc.auto=0",
    "-c",  "maintenance.auto=false",
};

/** The arguments of a command. @param positive holds the pathspec of its path; owned array */
static const char **make_arguments(const struct git_tool_repository *repository,
                                   const struct git_command *command, struct buf *positive)
{
    size_t always_count = sizeof(always) / sizeof(always[0]);
    size_t exclusion_count = 0;
    while (repository->exclusions[exclusion_count] != NULL) {
        exclusion_count++;
    }
    const char **argv =
        memory_new_zero(always_count + ARGUMENTS_MAX + exclusion_count, sizeof(*argv));
    size_t count = 0;
    for (size_t i = 0; i < always_count; i++) {
        argv[count++] = always[i];
    }
    for (size_t i = 0; i < ARGUMENTS_MAX - 3 && command->arguments[i] != NULL; i++) {
        argv[count++] = command->arguments[i];
    }
    if (!command->takes_paths) {
        return argv;
    }
    if (command->path == NULL) {
        buf_append_string(positive, ":/");
    } else { /* Letter by letter: no magic of pathspecs. */
        buf_printf(positive, ":(literal)%s", command->path[0] == '\0' ? "." : command->path);
    }
    argv[count++] = "--";
    argv[count++] = buf_string(positive);
    for (size_t i = 0; i < exclusion_count; i++) {
        argv[count++] = repository->exclusions[i];
    }
    return argv;
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

static void make_variables(const struct git_tool_repository *repository, bool is_read_only,
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
static void write_error(const struct command_result *result, struct tool_result *ret_result)
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

static void write_result(const struct command_result *result, struct tool_result *ret_result)
{
    bool is_silent_failure = result->exit_code != 0 && result->errors.len == 0 &&
                             result->output.len > 0; /* "nothing to commit" */
    if (result->exit_code != 0 && !is_silent_failure) {
        write_error(result, ret_result);
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

bool git_run(const struct git_tool_repository *repository, const struct git_command *request,
             const struct tool_call *call, struct tool_result *ret_result)
{
    char *variables[VARIABLES_MAX];
    auto_buf struct buf positive = {0};
    auto_free const char **argv = make_arguments(repository, request, &positive);
    make_variables(repository, request->is_read_only, variables);
    const struct command_place *place = &repository->place;
    const struct shell_command command = {
        .argv = argv,
        .variables = (const char *const *)variables,
        .directory = repository->folder,
        /* A sandbox keeps the folders of worktrees from being written, all but this one's. */
        .write_path = place->write_path == NULL ? NULL : repository->git_folder,
        .input = request->input,
        .input_len = request->input == NULL ? 0 : strlen(request->input),
    };
    struct command_result result;
    command_run(place, &command, call, &result);
    if (!command_tell_failure("git", &result, ret_result)) {
        write_result(&result, ret_result);
    }
    tool_result_truncate(ret_result, place->max_output_bytes);
    bool is_good = result.end == COMMAND_EXITED && result.exit_code == 0;
    command_result_fini(&result);
    for (size_t i = 0; variables[i] != NULL; i++) {
        free(variables[i]);
    }
    return is_good;
}
