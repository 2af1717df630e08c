// SPDX-License-Identifier: Apache-2.0
/*
 * From a hostile working tree to a tree object: `diff-files` names changed tracked files,
 * `ls-files` new ones, `update-index` takes them into an index of our own, `write-tree` makes the
 * tree. None of them descends into nested repositories or runs a program while filters are off;
 * `git add` would ask `git status` of nested repositories, with their settings. all opens: the
 * folder of the working tree is opened without following a link, and files in it are only looked at
 * by lstat; the index is ours.
 */
#include "git/changes.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "git/index_file.h"
#include "git/inspect.h"
#include "git/worktree.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct tree_look {
    struct git *git;
    const struct git_changes_request *request;
    int folder_fd;
    struct buf taken;   /* paths to take in, each with a NUL */
    struct buf removed; /* paths to remove, each with a NUL */
    size_t path_count;
    uint64_t bytes;
    struct git_changes changes;
    size_t excluded_count;
    size_t nested_count;
};

static struct git_call call_of(const struct tree_look *look, const char *const *arguments)
{
    return (struct git_call){
        .arguments = arguments,
        .directory = look->request->path,
        .work_tree = look->request->path,
        .index_file = look->request->index_path,
        .output_limit = LIMIT_GIT_LIST_BYTES,
    };
}

static void add_text(char ***list, size_t *count, const char *text)
{
    *list = memory_resize(*list, *count + 2, sizeof(char *));
    (*list)[(*count)++] = memory_dup_string(text);
    (*list)[*count] = NULL;
}

static bool is_excluded(const struct tree_look *look, const char *path)
{
    const char *const *excluded = look->request->excluded;
    for (size_t i = 0; excluded != NULL && excluded[i] != NULL; i++) {
        size_t len = strlen(excluded[i]);
        if (strncmp(path, excluded[i], len) == 0 && (path[len] == '\0' || path[len] == '/')) {
            return true;
        }
    }
    return false;
}

/* The agent reads it, and the person. */
#define TOO_MUCH "remove them, or list generated files in .gitignore"

static int take_path(struct tree_look *look, const char *path, bool is_tracked, bool is_deleted,
                     struct rondo_error *err)
{
    struct stat status;
    if (is_excluded(look, path)) {
        add_text(&look->changes.excluded, &look->excluded_count, path);
        return 0;
    }
    if (++look->path_count > LIMIT_GIT_CHANGES) {
        return error_set(err, RONDO_ERR_LIMIT, "more than %d files have changed; " TOO_MUCH,
                         LIMIT_GIT_CHANGES);
    }
    bool is_there = !is_deleted &&
                    fstatat(look->folder_fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                    (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode));
    if (is_there) {
        look->bytes += (uint64_t)status.st_size;
        buf_append(&look->taken, path, strlen(path) + 1);
    } else if (is_tracked) {
        buf_append(&look->removed, path, strlen(path) + 1);
    }
    return look->bytes <= LIMIT_GIT_CHANGED_BYTES
               ? 0
               : error_set(err, RONDO_ERR_LIMIT, "changed files have more than %ld MiB; " TOO_MUCH,
                           LIMIT_GIT_CHANGED_BYTES / LIMIT_MIB);
}

/** Calls back for each entry of raw output (git-diff-files(1), "RAW OUTPUT FORMAT"), -z. */
static int walk_raw(const struct buf *output,
                    int (*take)(void *context, char kind, const char *path,
                                struct rondo_error *err),
                    void *context, struct rondo_error *err)
{
    const char *at = buf_string(output);
    const char *end = at + output->len;
    while (at < end) {
        const char *space = strrchr(at, ' ');
        const char *path = at + strlen(at) + 1;
        if (*at != ':' || space == NULL || path >= end) {
            return error_set(err, RONDO_ERR_STATE, "git printed an unknown list of changes");
        }
        int r = take(context, space[1], path, err);
        if (r != 0) {
            return r;
        }
        at = path + strlen(path) + 1;
    }
    return 0;
}

static int take_tracked(void *context, char kind, const char *path, struct rondo_error *err)
{
    return take_path(context, path, true, kind == 'D', err);
}

static int list_tracked(struct tree_look *look, struct rondo_error *err)
{
    static const char *const arguments[] = {"diff-files",
                                            "-z",
                                            "--raw",
                                            "--no-renames",
                                            "--no-ext-diff",
                                            "--no-textconv",
                                            "--ignore-submodules=all",
                                            NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = call_of(look, arguments);
    int r = git_call_run_well(look->git, &call, &reply, err);
    return r != 0 ? r : walk_raw(&reply.output, take_tracked, look, err);
}

static int list_untracked(struct tree_look *look, struct rondo_error *err)
{
    static const char *const arguments[] = {"ls-files", "-z", "--others", "--exclude-standard",
                                            NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = call_of(look, arguments);
    int r = git_call_run_well(look->git, &call, &reply, err);
    const char *end = buf_string(&reply.output) + reply.output.len;
    for (const char *path = buf_string(&reply.output); r == 0 && path < end;
         path += strlen(path) + 1) {
        if (path[strlen(path) - 1] == '/') {
            add_text(&look->changes.nested, &look->nested_count, path);
        } else {
            r = take_path(look, path, false, false, err);
        }
    }
    return r;
}

/** Git keeps no file with a name that some system takes for its own folder (".GIT", "git~1"). */
static int check_kept(const struct git_reply *reply, struct rondo_error *err)
{
    static const char words[] = "Ignoring path ";
    const char *path = strstr(buf_string(&reply->errors), words);
    auto_buf struct buf clean = {0};
    if (path == NULL) {
        return 0;
    }
    path += sizeof(words) - 1;
    text_clean(path, strcspn(path, "\n"), &clean);
    return error_set(err, RONDO_ERR_DENIED,
                     "%.300s cannot be committed: git keeps no file of that name; rename it",
                     buf_string(&clean));
}

/** The last path first. An index is an array: from the other end, each removal of many would move
 * all that follow. */
static void reverse(const struct buf *paths, struct buf *ret_paths)
{
    for (size_t end = paths->len; end > 0;) {
        size_t start = end - 1;
        while (start > 0 && paths->data[start - 1] != '\0') {
            start--;
        }
        buf_append(ret_paths, paths->data + start, end - start);
        end = start;
    }
}

static int update_index(struct tree_look *look, bool removes, const struct buf *paths,
                        struct rondo_error *err)
{
    /* --replace: a folder where a file was, and the other way around. */
    const char *const arguments[] = {
        "update-index", removes ? "--force-remove" : "--add", "--replace", "-z", "--stdin", NULL};
    auto_git_reply struct git_reply reply = {0};
    struct git_call call = call_of(look, arguments);
    call.input = paths->data;
    call.input_len = paths->len;
    int r = paths->len == 0 ? 0 : git_call_run_well(look->git, &call, &reply, err);
    return r != 0 ? r : check_kept(&reply, err);
}

/** Make our index from the base: it is missing, cannot be read, or somebody has changed it. */
static int make_index(struct tree_look *look, struct rondo_error *err)
{
    static const char *const refreshing[] = {"update-index", "-q", "--refresh", NULL};
    const char *const arguments[] = {"read-tree", look->request->base, NULL};
    auto_git_reply struct git_reply reply = {0};
    auto_git_reply struct git_reply refreshed = {0};
    const struct git_call call = call_of(look, arguments);
    const struct git_call refresh = call_of(look, refreshing);
    unlink(look->request->index_path);
    int r = git_call_run_well(look->git, &call, &reply, err);
    /* What has changed is no failure; the list of changes names it. */
    return r != 0 ? r : git_call_run(look->git, &refresh, &refreshed, err);
}

void git_index_mark_take(const char *index_path, struct git_index_mark *ret_mark)
{
    struct stat status;
    *ret_mark = (struct git_index_mark){0};
    if (lstat(index_path, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1) {
        *ret_mark = (struct git_index_mark){
            .is_known = true,
            .device = status.st_dev,
            .inode = status.st_ino,
            .size = status.st_size,
            .changed_ns = (int64_t)status.st_ctim.tv_sec * NS_PER_S + status.st_ctim.tv_nsec,
        };
    }
}

/** Whether our index is as we have left it: a worker without a sandbox reaches it. */
static bool is_index_ours(const struct git_changes_request *request)
{
    struct git_index_mark now;
    const struct git_index_mark *mark = request->mark;
    if (mark == NULL) {
        return true;
    }
    git_index_mark_take(request->index_path, &now);
    return mark->is_known && now.is_known && now.device == mark->device &&
           now.inode == mark->inode && now.size == mark->size && now.changed_ns == mark->changed_ns;
}

/** What a git that was killed has left. Nobody else uses this index. */
static void remove_lock(const struct tree_look *look)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s.lock", look->request->index_path);
    unlink(buf_string(&path));
}

static int list_all(struct tree_look *look, struct rondo_error *err)
{
    remove_lock(look);
    bool is_missing = !file_exists(look->request->index_path) || !is_index_ours(look->request);
    int r = is_missing ? make_index(look, err) : 0;
    if (r == 0) {
        r = list_tracked(look, err);
    }
    if (r == RONDO_ERR_STATE && !is_missing && look->path_count == 0) {
        r = make_index(look, err);
        r = r != 0 ? r : list_tracked(look, err);
    }
    return r != 0 ? r : list_untracked(look, err);
}

static int write_tree(struct tree_look *look, struct rondo_error *err)
{
    static const char *const arguments[] = {"write-tree", NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = call_of(look, arguments);
    int r = git_call_run_well(look->git, &call, &reply, err);
    if (r != 0) {
        return r;
    }
    const char *id = git_reply_line(&reply);
    if (!git_id_is_valid(look->git->repository, id)) {
        return error_set(err, RONDO_ERR_STATE, "git write-tree printed no id");
    }
    snprintf(look->changes.tree, sizeof(look->changes.tree), "%s", id);
    return 0;
}

static int find_head(struct tree_look *look, struct rondo_error *err)
{
    struct git_worktree_list list = {0};
    int r = git_worktree_list(look->git->repository, NULL, &list, err);
    look->changes.is_head_moved = true;
    for (size_t i = 0; r == 0 && i < list.count; i++) {
        const struct git_worktree *worktree = &list.items[i];
        if (strcmp(worktree->path, look->request->path) == 0 && worktree->head != NULL &&
            strcmp(worktree->head, look->request->base) == 0) {
            look->changes.is_head_moved = false;
        }
    }
    git_worktree_list_fini(&list);
    return r;
}

static void check_submodule(struct tree_look *look, const char *path)
{
    if (!is_excluded(look, path) &&
        git_submodule_is_strange(look->git->repository, look->folder_fd, path)) {
        auto_buf struct buf folder = {0};
        buf_printf(&folder, "%s/", path);
        add_text(&look->changes.nested, &look->nested_count, buf_string(&folder));
    }
}

/** Submodules of our index: "160000 ID STAGE\tPATH". */
static int ask_submodules(struct tree_look *look, struct rondo_error *err)
{
    static const char *const arguments[] = {"ls-files", "-z", "--stage", NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = call_of(look, arguments);
    int r = git_call_run_well(look->git, &call, &reply, err);
    const char *end = buf_string(&reply.output) + reply.output.len;
    for (const char *at = buf_string(&reply.output); r == 0 && at < end; at += strlen(at) + 1) {
        const char *path = strncmp(at, "160000 ", 7) == 0 ? strchr(at, '\t') : NULL;
        if (path != NULL) {
            check_submodule(look, path + 1);
        }
    }
    return r;
}

/** The same without a process, when the index has the common form. */
static int list_submodules(struct tree_look *look, struct rondo_error *err)
{
    struct git_index index = {0};
    if (git_index_read(look->git->repository, look->request->index_path, &index, NULL) != 0) {
        return ask_submodules(look, err);
    }
    for (size_t i = 0; i < index.count; i++) {
        if (index.entries[i].mode == GIT_INDEX_MODULE) {
            check_submodule(look, index.entries[i].path);
        }
    }
    git_index_fini(&index);
    return 0;
}

static int read_tree(struct tree_look *look, struct rondo_error *err)
{
    int r = git_tree_inspect(look->git->repository, look->folder_fd, LIMIT_GIT_FOLDERS, err);
    if (r == 0) {
        r = find_head(look, err);
    }
    if (r == 0) {
        r = list_all(look, err);
    }
    if (r == 0) {
        r = list_submodules(look, err);
    }
    if (r == 0) {
        auto_buf struct buf removed = {0};
        reverse(&look->removed, &removed);
        r = update_index(look, true, &removed, err);
    }
    if (r == 0) {
        r = update_index(look, false, &look->taken, err);
    }
    if (r == 0) {
        r = write_tree(look, err);
    }
    return r;
}

/* --- differences of trees --- */

static int take_change(void *context, char kind, const char *path, struct rondo_error *err)
{
    struct git_changes *changes = context;
    if (changes->count >= LIMIT_GIT_CHANGES) {
        return error_set(err, RONDO_ERR_LIMIT, "more than %d files differ", LIMIT_GIT_CHANGES);
    }
    size_t count = changes->count;
    if ((count & (count + 1)) == 0) {
        changes->items = memory_resize(changes->items, 2 * count + 1, sizeof(*changes->items));
    }
    changes->items[changes->count++] = (struct git_change){
        .kind = kind == 'A'   ? GIT_ADDED
                : kind == 'D' ? GIT_DELETED
                : kind == 'T' ? GIT_TYPE_CHANGED
                              : GIT_MODIFIED,
        .path = memory_dup_string(path),
    };
    return 0;
}

static int check_ids(const struct git *git, const char *from, const char *to,
                     struct rondo_error *err)
{
    return git_id_is_valid(git->repository, from) && git_id_is_valid(git->repository, to)
               ? 0
               : error_set(err, RONDO_ERR_INVALID, "'%.80s' or '%.80s' is not an object id", from,
                           to);
}

int git_changes_between(struct git *git, const char *from, const char *to,
                        struct git_changes *ret_changes, struct rondo_error *err)
{
    const char *const arguments[] = {"diff-tree",    "-r", "-z", "--raw",
                                     "--no-renames", from, to,   NULL};
    struct git_changes changes = {0};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments, .output_limit = LIMIT_GIT_LIST_BYTES};
    int r = check_ids(git, from, to, err);
    if (r == 0) {
        r = git_call_run_well(git, &call, &reply, err);
    }
    if (r == 0) {
        r = walk_raw(&reply.output, take_change, &changes, err);
    }
    if (r != 0) {
        git_changes_fini(&changes);
        return r;
    }
    *ret_changes = changes;
    return 0;
}

static int mark_cut(int fd, struct rondo_error *err)
{
    char line[100];
    int len = snprintf(line, sizeof(line),
                       "\nCut here: the whole patch has more than %zu MiB and cannot be applied.\n",
                       LIMIT_GIT_PATCH_BYTES / (size_t)LIMIT_MIB);
    return file_write_all(fd, line, (size_t)len) == 0
               ? 0
               : error_set_errno(err, RONDO_ERR_IO, errno, "cannot write the patch");
}

int git_patch_write(struct git *git, const char *from, const char *to, int fd, bool *ret_is_cut,
                    struct rondo_error *err)
{
    const char *const arguments[] = {"diff-tree",
                                     "-r",
                                     "-p",
                                     "--binary",
                                     "--full-index",
                                     "--no-renames",
                                     "--no-ext-diff",
                                     "--no-textconv",
                                     "--no-color",
                                     "--src-prefix=a/",
                                     "--dst-prefix=b/",
                                     from,
                                     to,
                                     NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {
        .arguments = arguments, .output_fd = fd, .output_limit = LIMIT_GIT_PATCH_BYTES};
    int r = check_ids(git, from, to, err);
    if (r == 0) {
        r = git_call_run_well(git, &call, &reply, err);
    }
    if (r == 0 && reply.is_cut) {
        r = mark_cut(fd, err);
    }
    if (r == 0 && ret_is_cut != NULL) {
        *ret_is_cut = reply.is_cut;
    }
    return r;
}

int git_diff_read(struct git *git, const char *from, const char *to, size_t limit,
                  struct buf *ret_text, bool *ret_is_cut, struct rondo_error *err)
{
    const char *const arguments[] = {"diff-tree",
                                     "-r",
                                     "-p",
                                     "--no-renames",
                                     "--no-ext-diff",
                                     "--no-textconv",
                                     "--no-color",
                                     "--src-prefix=a/",
                                     "--dst-prefix=b/",
                                     from,
                                     to,
                                     NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments, .output_limit = limit};
    int r = check_ids(git, from, to, err);
    r = r < 0 ? r : git_call_run(git, &call, &reply, err);
    if (r == 0 && reply.exit_code != 0) {
        return git_fail(&reply, "show the difference", err);
    }
    if (r == 0) {
        size_t len = reply.output.len;
        while (reply.is_cut && len > 0 && reply.output.data[len - 1] != '\n') {
            len--;
        }
        buf_append(ret_text, reply.output.data, len);
        *ret_is_cut = reply.is_cut;
    }
    return r;
}

/* --- all together --- */

static int add_differences(struct tree_look *look, struct rondo_error *err)
{
    struct git_changes between = {0};
    int r = git_changes_between(look->git, look->request->base, look->changes.tree, &between, err);
    if (r == 0) {
        look->changes.items = between.items;
        look->changes.count = between.count;
    }
    return r;
}

static int open_tree(const char *path, int *ret_fd, struct rondo_error *err)
{
    *ret_fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd >= 0 ? 0
                        : error_set_errno(err, RONDO_ERR_DENIED, errno == ENOENT ? ENOTDIR : errno,
                                          "the working tree %s is not a folder any more", path);
}

static int look_at(struct tree_look *look, struct rondo_error *err)
{
    int opened = open_tree(look->request->path, &look->folder_fd, err);
    if (opened != 0) {
        return opened;
    }
    look->changes.excluded = memory_new_zero(1, sizeof(char *));
    look->changes.nested = memory_new_zero(1, sizeof(char *));
    int r = read_tree(look, err);
    return r != 0 ? r : add_differences(look, err);
}

int git_changes_read(struct git *git, const struct git_changes_request *request,
                     struct git_changes *ret_changes, struct rondo_error *err)
{
    struct tree_look look = {.git = git, .request = request, .folder_fd = -1};
    int r = check_ids(git, request->base, request->base, err);
    if (r == 0) {
        r = look_at(&look, err);
    }
    if (request->mark != NULL) {
        git_index_mark_take(request->index_path, request->mark);
        request->mark->is_known = request->mark->is_known && r == 0;
    }
    if (look.folder_fd >= 0) {
        close(look.folder_fd);
    }
    buf_fini(&look.taken);
    buf_fini(&look.removed);
    if (r != 0) {
        git_changes_fini(&look.changes);
        return r;
    }
    *ret_changes = look.changes;
    return 0;
}

/** Entries are "TAG PATH", each with a NUL; what was deleted counts as changed, too. */
static int walk_drift(const struct buf *output, git_drift_fn *fn, void *context,
                      struct rondo_error *err)
{
    const char *at = buf_string(output);
    const char *end = at + output->len;
    for (; at < end; at += strlen(at) + 1) {
        enum git_change_kind kind = *at == '?'   ? GIT_ADDED
                                    : *at == 'R' ? GIT_DELETED
                                                 : GIT_MODIFIED;
        if (*at == '\0' || at[1] != ' ') {
            return error_set(err, RONDO_ERR_STATE, "git printed an unknown list of files");
        }
        int r = fn(context, kind, at + 2, err);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

int git_changes_drift(struct git *git, const struct git_changes_request *request, git_drift_fn *fn,
                      void *context, struct rondo_error *err)
{
    static const char *const arguments[] = {"ls-files",  "-z",       "-t", "--modified",
                                            "--deleted", "--others", NULL};
    const struct tree_look look = {.git = git, .request = request};
    const struct git_call call = call_of(&look, arguments);
    auto_git_reply struct git_reply reply = {0};
    auto_close int fd = -1;
    int r = open_tree(request->path, &fd, err);
    if (r == 0 && !is_index_ours(request)) {
        r = error_set(err, RONDO_ERR_DENIED, "Rondo's index of the working tree was changed");
    }
    r = r != 0 ? r : git_tree_inspect(git->repository, fd, LIMIT_GIT_FOLDERS, err);
    r = r != 0 ? r : git_call_run_well(git, &call, &reply, err);
    return r != 0 ? r : walk_drift(&reply.output, fn, context, err);
}

void git_changes_fini(struct git_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        free(changes->items[i].path);
    }
    free(changes->items);
    memory_free_list(changes->excluded);
    memory_free_list(changes->nested);
    *changes = (struct git_changes){0};
}
