// SPDX-License-Identifier: Apache-2.0
/*
 * What git does around a hook (githooks(5)), with its writable parts in a scratch folder: the
 * index, the objects and the message. all opens: below the scratch folder, which is new; the index
 * is ours.
 */
#include "git/hooks.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/worktree.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/file_untrusted.h"
#include "os/path.h"
#include "os/sandbox/policy.h"
#include "os/spawn/spawn.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MESSAGE_NAME "COMMIT_EDITMSG"
#define INDEX_NAME   "index"
#define OBJECTS_NAME "objects"

/* What the hook gets besides the allow list of the sandbox. */
static const char *const variable_names[] = {
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_EDITOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
};

#define VARIABLE_COUNT (sizeof(variable_names) / sizeof(variable_names[0]))

struct hook_scene {
    struct git *git;
    const struct git_hook_request *request;
    char *program;
    char *git_dir; /* of the working tree, in the common git folder */
    char *scratch; /* canonical */
    int scratch_fd;
};

const char *git_hook_name(enum git_hook hook)
{
    static const char *const names[GIT_HOOK_COUNT] = {
        [GIT_HOOK_PRE_COMMIT] = "pre-commit",
        [GIT_HOOK_COMMIT_MESSAGE] = "commit-msg",
    };
    return names[hook];
}

static char *join(const char *folder, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    return buf_steal(&path);
}

char *git_hook_find(const struct git_repository *repository, enum git_hook hook,
                    const char *tree_path, bool *ret_is_in_tree)
{
    struct stat status;
    auto_free char *path = join(repository->hooks_folder, git_hook_name(hook));
    char *program = realpath(path, NULL);
    if (program == NULL || stat(program, &status) != 0 || !S_ISREG(status.st_mode) ||
        access(program, X_OK) != 0) {
        free(program);
        return NULL;
    }
    if (ret_is_in_tree != NULL) {
        *ret_is_in_tree = path_is_below(program, tree_path);
    }
    return program;
}

/* --- the scratch folder --- */

static char *find_git_dir(const struct git_repository *repository, const char *tree_path)
{
    struct git_worktree_list list = {0};
    char *path = NULL;
    if (git_worktree_list(repository, NULL, &list, NULL) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < list.count && path == NULL; i++) {
        if (strcmp(list.items[i].path, tree_path) == 0) {
            struct buf folder = {0};
            buf_printf(&folder, "%s/worktrees/%s", repository->common_folder, list.items[i].name);
            path = buf_steal(&folder);
        }
    }
    git_worktree_list_fini(&list);
    return path;
}

static int fill_scratch(struct hook_scene *scene, struct rondo_error *err)
{
    const struct git_hook_request *request = scene->request;
    auto_buf struct buf index = {0};
    int r = file_read(request->changes.index_path, LIMIT_GIT_LIST_BYTES, &index, err);
    if (r == 0) {
        r = file_folder_write(scene->scratch_fd, INDEX_NAME, buf_string(&index), index.len, err);
    }
    if (r == 0 && request->message != NULL) {
        r = file_folder_write(scene->scratch_fd, MESSAGE_NAME, request->message,
                              strlen(request->message), err);
    }
    int objects = r == 0 ? file_folder_make(scene->scratch_fd, OBJECTS_NAME, err) : r;
    if (objects >= 0) {
        close(objects);
    }
    return objects < 0 ? objects : 0;
}

static int make_scratch(struct hook_scene *scene, struct rondo_error *err)
{
    auto_free char *path = NULL;
    scene->scratch_fd = file_folder_make_temporary(&path, err);
    if (scene->scratch_fd < 0) {
        return scene->scratch_fd;
    }
    scene->scratch = realpath(path, NULL);
    scene->git_dir = find_git_dir(scene->git->repository, scene->request->changes.path);
    if (scene->scratch == NULL || scene->git_dir == NULL) {
        return error_set(err, RONDO_ERR_STATE, "git has no records of the working tree %s",
                         scene->request->changes.path);
    }
    return fill_scratch(scene, err);
}

static void scene_fini(struct hook_scene *scene)
{
    if (scene->scratch_fd >= 0) {
        close(scene->scratch_fd);
    }
    if (scene->scratch != NULL) {
        file_remove_tree(scene->scratch, NULL);
    }
    free(scene->scratch);
    free(scene->git_dir);
    free(scene->program);
}

/* --- running --- */

static char *variable(const char *name, const char *folder, const char *file)
{
    struct buf text = {0};
    buf_printf(&text, "%s=%s%s%s", name, folder, *file == '\0' ? "" : "/", file);
    return buf_steal(&text);
}

static char **make_environment(const struct hook_scene *scene)
{
    char *own[] = {
        variable("GIT_DIR", scene->git_dir, ""),
        variable("GIT_WORK_TREE", scene->request->changes.path, ""),
        variable("GIT_INDEX_FILE", scene->scratch, INDEX_NAME),
        variable("GIT_OBJECT_DIRECTORY", scene->scratch, OBJECTS_NAME),
        variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", scene->git->repository->common_folder,
                 OBJECTS_NAME),
        variable("GIT_EDITOR", ":", ""),
        variable("GIT_OPTIONAL_LOCKS", "0", ""),
        variable("GIT_TERMINAL_PROMPT", "0", ""),
    };
    size_t further = memory_count_list(scene->request->variables);
    auto_free const char **extra = memory_new_zero(further + VARIABLE_COUNT + 1, sizeof(*extra));
    for (size_t i = 0; i < further; i++) {
        extra[i] = scene->request->variables[i];
    }
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        extra[further + i] = own[i];
    }
    char **environment = environment_reduced(scene->request->sandbox->env_names, extra);
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        free(own[i]);
    }
    return environment;
}

/** A list with further entries at its end. @return free() it, not the entries */
static const char **extend(const char *const *list, const char *const *more, size_t count)
{
    size_t n = memory_count_list(list);
    const char **all = memory_new_zero(n + count + 1, sizeof(*all));
    for (size_t i = 0; i < n; i++) {
        all[i] = list[i];
    }
    for (size_t i = 0; i < count; i++) {
        all[n + i] = more[i];
    }
    return all;
}

static void keep_end(struct git_hook_result *result, struct spawn_result *spawned)
{
    result->exit_code = spawned->end == SPAWN_EXITED ? spawned->exit_code : -1;
    result->has_passed = result->exit_code == 0;
    snprintf(result->reason, sizeof(result->reason), "%s", spawned->reason);
    result->output = spawned->output != NULL ? spawned->output : memory_dup_string("");
    spawned->output = NULL;
}

static int run_sandboxed(struct hook_scene *scene, const struct sandbox_policy *policy,
                         struct git_hook_result *result, struct rondo_error *err)
{
    const struct git_hook_request *request = scene->request;
    auto_free char *message = join(scene->scratch, MESSAGE_NAME);
    const char *const argv[] = {scene->program, request->message != NULL ? message : NULL, NULL};
    char **environment = make_environment(scene);
    const struct spawn_request spawn = {
        .argv = argv,
        .envp = (const char *const *)environment,
        .directory = request->changes.path,
        .total_ns = request->total_ns != 0 ? request->total_ns : GIT_HOOK_NS,
        .output_keep = request->output_keep,
        .cancel = scene->git->cancel,
        .sandbox = policy->tier == SANDBOX_NONE ? NULL : policy,
        .supervisor = request->supervisor,
    };
    struct spawn_result spawned = {0};
    int r = spawn_run(&spawn, &spawned, err);
    environment_free(environment);
    if (r != 0) {
        return r;
    }
    if (spawned.end == SPAWN_NOT_STARTED) {
        r = error_set(err, RONDO_ERR_STATE, "the hook %s cannot be started: %s",
                      git_hook_name(request->hook), spawned.reason);
    } else if (spawned.end == SPAWN_CANCELLED) {
        r = error_set(err, RONDO_ERR_CANCELLED, "the hook %s was stopped",
                      git_hook_name(request->hook));
    } else {
        keep_end(result, &spawned);
    }
    spawn_result_fini(&spawned);
    return r;
}

/** The caller's policy, with the git folder and the hook readable, the scratch folder writable. */
static int run_hook(struct hook_scene *scene, struct git_hook_result *result,
                    struct rondo_error *err)
{
    const struct git_repository *repository = scene->git->repository;
    struct sandbox_policy policy = *scene->request->sandbox;
    auto_free char *hooks = realpath(repository->hooks_folder, NULL);
    const char *const readable[] = {repository->common_folder, scene->program, hooks};
    const char *const writable[] = {scene->scratch};
    auto_free const char **read_paths = extend(policy.read_paths, readable, hooks != NULL ? 3 : 2);
    auto_free const char **write_paths = extend(policy.write_paths, writable, 1);
    auto_free const char **env_names = extend(policy.env_names, variable_names, VARIABLE_COUNT);
    policy.read_paths = read_paths;
    policy.write_paths = write_paths;
    policy.env_names = env_names;
    return run_sandboxed(scene, &policy, result, err);
}

/* --- what it has changed --- */

static int read_message(const struct hook_scene *scene, struct git_hook_result *result,
                        struct rondo_error *err)
{
    auto_buf struct buf content = {0};
    struct rondo_error why = {0};
    if (scene->request->message == NULL) {
        return 0;
    }
    if (file_read_untrusted(scene->scratch_fd, MESSAGE_NAME, LIMIT_GIT_MESSAGE_BYTES, &content,
                            &why) != 0 ||
        memchr(buf_string(&content), '\0', content.len) != NULL) {
        return error_set(err, RONDO_ERR_DENIED, "the hook %s has left no commit message",
                         git_hook_name(scene->request->hook));
    }
    result->is_message_changed = strcmp(buf_string(&content), scene->request->message) != 0;
    result->message = buf_steal(&content);
    return 0;
}

static int read_tree(const struct hook_scene *scene, struct git_hook_result *result,
                     struct rondo_error *err)
{
    int r = git_changes_read(scene->git, &scene->request->changes, &result->changes, err);
    if (r == 0) {
        result->is_tree_changed = strcmp(result->changes.tree, scene->request->tree) != 0;
    }
    return r;
}

static int check_request(const struct git_hook_request *request, struct rondo_error *err)
{
    if (request->sandbox == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "a hook of git needs a sandbox");
    }
    return (request->hook == GIT_HOOK_COMMIT_MESSAGE) == (request->message != NULL)
               ? 0
               : error_set(err, RONDO_ERR_INVALID, "a message is for the hook commit-msg");
}

static int run_in_scene(struct hook_scene *scene, struct git_hook_result *result,
                        struct rondo_error *err)
{
    int r = make_scratch(scene, err);
    r = r != 0 ? r : run_hook(scene, result, err);
    if (r == 0 && result->has_passed) {
        r = read_message(scene, result, err);
        r = r != 0 ? r : read_tree(scene, result, err);
    }
    return r;
}

int git_hook_run(struct git *git, const struct git_hook_request *request,
                 struct git_hook_result *ret_result, struct rondo_error *err)
{
    struct git_hook_result result = {0};
    struct hook_scene scene = {.git = git, .request = request, .scratch_fd = -1};
    int r = check_request(request, err);
    if (r != 0) {
        return r;
    }
    scene.program = git_hook_find(git->repository, request->hook, request->changes.path, NULL);
    if (scene.program == NULL) {
        result.is_missing = result.has_passed = true;
        result.output = memory_dup_string("");
        result.message = request->message != NULL ? memory_dup_string(request->message) : NULL;
        r = read_tree(&scene, &result, err);
    } else {
        r = run_in_scene(&scene, &result, err);
    }
    scene_fini(&scene);
    if (r != 0) {
        git_hook_result_fini(&result);
        return r;
    }
    *ret_result = result;
    return 0;
}

void git_hook_result_fini(struct git_hook_result *result)
{
    free(result->output);
    free(result->message);
    git_changes_fini(&result->changes);
    *result = (struct git_hook_result){0};
}
