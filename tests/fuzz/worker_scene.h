// SPDX-License-Identifier: Apache-2.0
/*
 * What a worker command can leave in its hand-over folder, and in place of it: one function for
 * each kind. A scene has the folder of a run and, outside of it, what must neither be read nor
 * changed.
 */
#pragma once

#include "os/file.h"
#include "os/file_folder.h"
#include "worker/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#define SCENE_SECRET "SECRET-OUTSIDE"
#define SCENE_LIMIT  4096

struct worker_scene {
    char root[64];
    char victim[96];  /**< a file outside */
    char outside[96]; /**< a folder outside, with files of the names that are handed over */
    char work[96];
    struct worker_files *files;
    int held_fd; /**< a descriptor of the victim, for links of /proc */
};

static const char *const scene_names[] = {"prompt", "state", "feedback.json", "result.json"};

static inline void scene_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
        close(fd);
    }
}

static inline bool scene_has(const char *path, const char *text)
{
    struct buf content = {0};
    bool is_same =
        file_read(path, 1000, &content, NULL) == 0 && strcmp(buf_string(&content), text) == 0;
    buf_fini(&content);
    return is_same;
}

static inline bool scene_init(struct worker_scene *scene)
{
    *scene = (struct worker_scene){.held_fd = -1};
    snprintf(scene->root, sizeof(scene->root), "/tmp/rondo-test-XXXXXX");
    if (mkdtemp(scene->root) == NULL) {
        return false;
    }
    snprintf(scene->victim, sizeof(scene->victim), "%s/victim", scene->root);
    snprintf(scene->outside, sizeof(scene->outside), "%s/outside", scene->root);
    snprintf(scene->work, sizeof(scene->work), "%s/work", scene->root);
    scene_write(scene->victim, SCENE_SECRET);
    bool is_made = mkdir(scene->outside, 0700) == 0;
    for (size_t i = 0; i < 4; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", scene->outside, scene_names[i]);
        scene_write(path, SCENE_SECRET);
    }
    scene->held_fd = open(scene->victim, O_RDONLY | O_CLOEXEC);
    return is_made && scene->held_fd >= 0 &&
           worker_files_new(scene->work, "run", 7, &scene->files, NULL) == 0;
}

/** Whether what lies outside is as it was. */
static inline bool scene_is_untouched(const struct worker_scene *scene)
{
    bool is_untouched = scene_has(scene->victim, SCENE_SECRET);
    for (size_t i = 0; i < 4; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", scene->outside, scene_names[i]);
        is_untouched = is_untouched && scene_has(path, SCENE_SECRET);
    }
    return is_untouched;
}

/** @return whether nothing of the run was left */
static inline bool scene_fini(struct worker_scene *scene)
{
    char run[PATH_MAX];
    snprintf(run, sizeof(run), "%s/run", scene->work);
    worker_files_remove_run(scene->files);
    worker_files_free(scene->files);
    bool is_clean = !file_exists(run);
    close(scene->held_fd);
    return file_remove_tree(scene->root, NULL) == 0 && is_clean;
}

/* --- in place of a file --- */

static inline void put_link_to_secret(struct worker_scene *scene, const char *path)
{
    (void)!symlink(scene->victim, path);
}

static inline void put_link_to_environment(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!symlink("/proc/self/environ", path);
}

static inline void put_link_upwards(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!symlink("../../../victim", path);
}

static inline void put_link_to_descriptor(struct worker_scene *scene, const char *path)
{
    char target[64];
    snprintf(target, sizeof(target), "/proc/self/fd/%d", scene->held_fd);
    (void)!symlink(target, path);
}

static inline void put_link_to_device(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!symlink("/dev/zero", path);
}

static inline void put_dangling_link(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!symlink("nowhere", path);
}

static inline void put_link_to_itself(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!symlink(path, path);
}

static inline void put_link_to_sibling(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!symlink("prompt", path);
}

static inline void put_hard_link(struct worker_scene *scene, const char *path)
{
    (void)!link(scene->victim, path);
}

static inline void put_fifo(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!mkfifo(path, 0600);
}

static inline void put_socket(struct worker_scene *scene, const char *path)
{
    (void)scene;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.107s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)!bind(fd, (struct sockaddr *)&address, sizeof(address));
    close(fd);
}

static inline void put_device(struct worker_scene *scene, const char *path)
{
    (void)scene;
    if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) != 0) {
        put_fifo(scene, path); /* An ordinary user cannot make one. */
    }
}

static inline void put_folder(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!mkdir(path, 0700);
}

static inline void put_deep_folder(struct worker_scene *scene, const char *path)
{
    (void)scene;
    if (mkdir(path, 0700) != 0) {
        return;
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 400; i++) {
        (void)!mkdirat(fd, "d", 0700);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    close(fd);
}

static inline void put_locked_folder(struct worker_scene *scene, const char *path)
{
    char inner[PATH_MAX];
    snprintf(inner, sizeof(inner), "%s/link", path);
    (void)!mkdir(path, 0700);
    (void)!symlink(scene->outside, inner);
    (void)!chmod(path, 0);
}

static inline void put_wide_folder(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)!mkdir(path, 0700);
    for (int i = 0; i < 300; i++) {
        char inner[PATH_MAX];
        snprintf(inner, sizeof(inner), "%s/%d", path, i);
        scene_write(inner, "x");
    }
}

static inline void put_large_file(struct worker_scene *scene, const char *path)
{
    (void)scene;
    scene_write(path, "x");
    (void)!truncate(path, SCENE_LIMIT + 1);
}

static inline void put_sparse_file(struct worker_scene *scene, const char *path)
{
    (void)scene;
    scene_write(path, "x");
    (void)!truncate(path, INT64_C(1) << 40);
}

static inline void put_foreign_file(struct worker_scene *scene, const char *path)
{
    scene_write(path, "x");
    if (chown(path, 12345, 12345) != 0) {
        put_large_file(scene, path); /* An ordinary user cannot give files away. */
    }
}

/* --- what may be left there --- */

static inline void put_nothing(struct worker_scene *scene, const char *path)
{
    (void)scene;
    (void)path;
}

static inline void put_new_file(struct worker_scene *scene, const char *path)
{
    (void)scene;
    scene_write(path, "the worker's own");
}

static inline void put_empty_file(struct worker_scene *scene, const char *path)
{
    (void)scene;
    scene_write(path, "");
}

static inline void put_file_by_renaming(struct worker_scene *scene, const char *path)
{
    char other[PATH_MAX];
    snprintf(other, sizeof(other), "%s.new", path);
    put_new_file(scene, other);
    (void)!rename(other, path);
}

/* --- in place of the folders --- */

/** The folder that is handed over, the run's, or that of all runs. */
static inline void path_of_level(const struct worker_scene *scene, int level, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s%s%s", scene->work, level < 2 ? "/run" : "", level < 1 ? "/7" : "");
}

static inline void move_away(const struct worker_scene *scene, int level, char path[PATH_MAX])
{
    static int count;
    char away[PATH_MAX];
    path_of_level(scene, level, path);
    snprintf(away, sizeof(away), "%s/away-%d", scene->root, count++);
    (void)!rename(path, away);
}

static inline void replace_folder(struct worker_scene *scene, int level, bool has_link)
{
    char path[PATH_MAX];
    move_away(scene, level, path);
    if (has_link) {
        (void)!symlink(scene->outside, path);
    } else {
        (void)!mkdir(path, 0700);
    }
}

static inline void put_link_for_folder(struct worker_scene *scene, const char *path)
{
    (void)path;
    replace_folder(scene, 0, true);
}

static inline void put_folder_for_folder(struct worker_scene *scene, const char *path)
{
    replace_folder(scene, 0, false);
    (void)!symlink(scene->victim, path);
}

static inline void put_link_to_moved_folder(struct worker_scene *scene, const char *path)
{
    char folder[PATH_MAX];
    (void)path;
    move_away(scene, 0, folder);
    (void)!symlink("../../away", folder);
}

static inline void put_fifo_for_folder(struct worker_scene *scene, const char *path)
{
    char folder[PATH_MAX];
    (void)path;
    move_away(scene, 0, folder);
    (void)!mkfifo(folder, 0600);
}

static inline void put_link_for_run(struct worker_scene *scene, const char *path)
{
    (void)path;
    replace_folder(scene, 1, true);
}

static inline void put_file_for_run(struct worker_scene *scene, const char *path)
{
    char folder[PATH_MAX];
    (void)path;
    move_away(scene, 1, folder);
    scene_write(folder, "x");
}

static inline void remove_run(struct worker_scene *scene, const char *path)
{
    char folder[PATH_MAX];
    (void)path;
    path_of_level(scene, 1, folder);
    file_remove_tree(folder, NULL);
}

static inline void put_folder_for_work(struct worker_scene *scene, const char *path)
{
    (void)path;
    replace_folder(scene, 2, false);
}

static inline void lock_folder(struct worker_scene *scene, const char *path)
{
    char folder[PATH_MAX];
    (void)path;
    path_of_level(scene, 0, folder);
    (void)!chmod(folder, 0);
}

enum scene_answer { SCENE_REFUSED, SCENE_FOUND, SCENE_MISSING };

static const struct scene_kind {
    const char *name;
    void (*put)(struct worker_scene *scene, const char *path);
    enum scene_answer answer;
    const char *message; /**< part of what is said, or of what is read */
    bool is_of_folder;   /**< in place of a folder, not of a file in it */
} scene_kinds[] = {
    {"a link to a secret", put_link_to_secret, SCENE_REFUSED, "is a symbolic link", false},
    {"a link to the environment", put_link_to_environment, SCENE_REFUSED, "is a symbolic link",
     false},
    {"a link upwards", put_link_upwards, SCENE_REFUSED, "is a symbolic link", false},
    {"a link to a descriptor", put_link_to_descriptor, SCENE_REFUSED, "is a symbolic link", false},
    {"a link to a device", put_link_to_device, SCENE_REFUSED, "is a symbolic link", false},
    {"a dangling link", put_dangling_link, SCENE_REFUSED, "is a symbolic link", false},
    {"a link to itself", put_link_to_itself, SCENE_REFUSED, "is a symbolic link", false},
    {"a link to a sibling", put_link_to_sibling, SCENE_REFUSED, "is a symbolic link", false},
    {"a hard link", put_hard_link, SCENE_REFUSED, "is a hard link", false},
    {"a FIFO", put_fifo, SCENE_REFUSED, "is a FIFO", false},
    {"a socket", put_socket, SCENE_REFUSED, "is a socket", false},
    {"a device", put_device, SCENE_REFUSED, "not a regular file", false},
    {"a folder", put_folder, SCENE_REFUSED, "is a folder", false},
    {"a folder 400 deep", put_deep_folder, SCENE_REFUSED, "is a folder", false},
    {"a folder without permissions", put_locked_folder, SCENE_REFUSED, "", false},
    {"a folder with many files", put_wide_folder, SCENE_REFUSED, "is a folder", false},
    {"a file past the limit", put_large_file, SCENE_REFUSED, "is larger than 4096 bytes", false},
    {"a sparse file", put_sparse_file, SCENE_REFUSED, "is larger than 4096 bytes", false},
    {"a file of another user", put_foreign_file, SCENE_REFUSED, "", false},
    {"nothing", put_nothing, SCENE_MISSING, "", false},
    {"a new file", put_new_file, SCENE_FOUND, "the worker's own", false},
    {"an empty file", put_empty_file, SCENE_FOUND, "", false},
    {"a file by renaming", put_file_by_renaming, SCENE_FOUND, "the worker's own", false},
    {"a link for the folder", put_link_for_folder, SCENE_REFUSED, "was moved or replaced", true},
    {"another folder for the folder", put_folder_for_folder, SCENE_REFUSED, "was moved or replaced",
     true},
    {"a link to the folder", put_link_to_moved_folder, SCENE_REFUSED, "was moved or replaced",
     true},
    {"a FIFO for the folder", put_fifo_for_folder, SCENE_REFUSED, "was moved or replaced", true},
    {"a link for the run's folder", put_link_for_run, SCENE_REFUSED, "was moved or replaced", true},
    {"a file for the run's folder", put_file_for_run, SCENE_REFUSED, "was moved or replaced", true},
    {"no run's folder", remove_run, SCENE_REFUSED, "was moved or replaced", true},
    {"another folder of all runs", put_folder_for_work, SCENE_REFUSED, "was moved or replaced",
     true},
    {"a folder that is locked", lock_folder, SCENE_MISSING, "", true},
};

#define SCENE_KINDS (sizeof(scene_kinds) / sizeof(scene_kinds[0]))

/** Let the command put something in place of a file. */
static inline void scene_put(struct worker_scene *scene, size_t kind, enum worker_file file)
{
    char path[PATH_MAX];
    char folder[PATH_MAX];
    path_of_level(scene, 0, folder);
    snprintf(path, sizeof(path), "%.3000s/%s", folder, scene_names[file]);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        file_folder_remove(fd, scene_names[file], NULL);
        close(fd);
    } else if (!scene_kinds[kind].is_of_folder) {
        return; /* The command would write through its own link. */
    }
    scene_kinds[kind].put(scene, path);
}
