// SPDX-License-Identifier: Apache-2.0
/*
 * A scratch repository for each test, a HOME without settings but a name, and shell commands in it.
 * Nothing depends on the settings of who runs the tests.
 */
#pragma once

#include "git/changes.h"
#include "git/commit.h"
#include "git/repository.h"
#include "git/worktree.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/scratch.h"
#include "support/test.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static char scene_folder[PATH_MAX];
static struct git_repository *scene_repository;
static struct git scene_git;
static struct rondo_error scene_err;

/** "FOLDER/name"; valid for four further calls. */
__attribute__((unused)) static const char *scene_path(const char *name)
{
    static char paths[4][PATH_MAX + 256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", scene_folder, name);
    return path;
}

/** Run a shell command in the scratch folder; its exit code must be 0. */
__attribute__((unused, format(printf, 1, 2))) static void shell(const char *format, ...)
{
    char command[4096];
    char whole[PATH_MAX + 4200];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof(command), format, list);
    va_end(list);
    snprintf(whole, sizeof(whole), "cd '%s' && { %s; } >>log 2>&1", scene_folder, command);
    if (system(whole) != 0) { /* NOLINT(cert-env33-c): scenes are what a shell does with git */
        fail_msg("failed: %s (see %s/log)", command, scene_folder);
    }
}

/** First line that a shell command prints. Valid until the next call. */
__attribute__((unused)) static const char *shell_line(const char *command)
{
    static char line[PATH_MAX];
    struct buf content = {0};
    shell("{ %s; } >line.out", command);
    assert_int_equal(file_read(scene_path("line.out"), 1 << 20, &content, NULL), 0);
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(buf_string(&content), "\n"),
             buf_string(&content));
    buf_fini(&content);
    return line;
}

__attribute__((unused)) static bool scene_has(const char *name)
{
    struct stat status;
    return lstat(scene_path(name), &status) == 0;
}

static void scene_open(void)
{
    git_repository_free(scene_repository);
    scene_repository = NULL;
    if (git_repository_open(scene_path("repo"), NULL, &scene_repository, &scene_err) != 0) {
        fail_msg("%s", scene_err.message);
    }
    scene_git = (struct git){.repository = scene_repository};
}

static void scene_make_folder(void)
{
    assert_true(scratch_new(scene_folder, sizeof(scene_folder)));
    setenv("HOME", scene_path("home"), 1);
    unsetenv("XDG_CONFIG_HOME");
    setenv("GIT_DIR", "/nonexistent", 1); /* must not matter */
    shell("unset GIT_DIR; mkdir home && git config --global user.name 'A Person' && "
          "git config --global user.email person@example.com && "
          "git config --global init.defaultBranch main");
    unsetenv("GIT_DIR");
}

/** A repository with the files a, folder/b and .gitignore in one commit. */
__attribute__((unused)) static int scene_set_up(void **state)
{
    (void)state;
    scene_make_folder();
    shell("git init -q repo && cd repo && mkdir folder && echo one >a && echo two >folder/b && "
          "echo '*.ignored' >.gitignore && git add -A && git commit -qm first");
    scene_open();
    return 0;
}

static int scene_tear_down(void **state)
{
    (void)state;
    git_repository_free(scene_repository);
    scene_repository = NULL;
    assert_int_equal(file_remove_tree(scene_folder, NULL), 0);
    return 0;
}

#define SCENE(name) TEST_WITH(name, scene_set_up, scene_tear_down)

/** Fail with the message unless a call was a success. */
#define assert_ok(call)                                   \
    do {                                                  \
        scene_err = (struct rondo_error){0};              \
        if ((call) != 0) {                                \
            fail_msg("%s: %s", #call, scene_err.message); \
        }                                                 \
    } while (0)

__attribute__((unused)) static const char *scene_head(void)
{
    static char id[GIT_ID_SIZE];
    assert_ok(git_resolve_commit(&scene_git, "HEAD", id, &scene_err));
    return id;
}

/** Add the working tree "tree" at HEAD, with its index at "index". */
__attribute__((unused)) static int scene_add_tree(void)
{
    return git_worktree_add(&scene_git,
                            &(struct git_worktree_request){
                                .path = scene_path("tree"),
                                .commit = scene_head(),
                                .lock_reason = "rondo run-1 task-1 7",
                                .index_path = scene_path("index"),
                            },
                            &scene_err);
}
