// SPDX-License-Identifier: Apache-2.0
/*
 * Linked working trees. Git's records of one are the folder worktrees/NAME of the common git folder
 * (gitrepository-layout(5)): gitdir (path of its .git file), HEAD, locked, index. They are read and
 * removed here directly, because `git worktree remove` trusts the `.git` file of the tree, and
 * looks at the status of what an agent has left. all opens: of git's own records, of the index that
 * the caller keeps, and whether there is something at a path; the caller has made its parent.
 */
#include "git/worktree.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/file_untrusted.h"
#include "os/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/** Records of another working tree that are not whole are waited for so long. */
#define ADD_PATIENCE_NS (10 * NS_PER_S)
#define ADD_PAUSE_NS    (NS_PER_S / 20)

/* --- records --- */

/** @return owned, without the line end; NULL when it cannot be read */
static char *read_record(int folder_fd, const char *name, const char *file)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf content = {0};
    buf_printf(&path, "%s/%s", name, file);
    if (file_read_untrusted(folder_fd, buf_string(&path), LIMIT_GIT_RECORD_BYTES, &content, NULL) !=
        0) {
        return NULL;
    }
    while (content.len > 0 && content.data[content.len - 1] == '\n') {
        content.data[--content.len] = '\0';
    }
    return buf_steal(&content);
}

static void worktree_fini(struct git_worktree *worktree)
{
    free(worktree->path);
    free(worktree->name);
    free(worktree->lock_reason);
    free(worktree->head);
}

/** @return whether these are records of a working tree */
static bool read_worktree(int folder_fd, const char *name, struct git_worktree *ret_worktree)
{
    char *git_file = read_record(folder_fd, name, "gitdir");
    size_t len = git_file == NULL ? 0 : strlen(git_file);
    if (len < 6 || strcmp(git_file + len - 5, "/.git") != 0) {
        free(git_file);
        return false;
    }
    git_file[len - 5] = '\0';
    *ret_worktree = (struct git_worktree){
        .path = git_file,
        .name = memory_dup_string(name),
        .lock_reason = read_record(folder_fd, name, "locked"),
        .head = read_record(folder_fd, name, "HEAD"),
    };
    return true;
}

/** @return descriptor; RONDO_ERR_NOT_FOUND when there has never been a linked working tree */
static int open_records(const struct git_repository *repository, struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/worktrees", repository->common_folder);
    return file_open_folder(buf_string(&path), err);
}

static void add_worktree(struct git_worktree_list *list, const struct git_worktree *worktree)
{
    list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
    list->items[list->count++] = *worktree;
}

static bool has_prefix(const char *text, const char *prefix)
{
    return prefix == NULL || (text != NULL && strncmp(text, prefix, strlen(prefix)) == 0);
}

static int read_worktrees(DIR *folder, const char *lock_prefix, struct git_worktree_list *list,
                          struct rondo_error *err)
{
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct git_worktree worktree;
        if (entry->d_name[0] == '.' || !read_worktree(dirfd(folder), entry->d_name, &worktree)) {
            continue;
        }
        if (!has_prefix(worktree.lock_reason, lock_prefix)) {
            worktree_fini(&worktree);
            continue;
        }
        add_worktree(list, &worktree);
        if (list->count > LIMIT_GIT_WORKTREES) {
            return error_set(err, RONDO_ERR_LIMIT,
                             "the repository has more than %d working trees; remove some, see: "
                             "git worktree list",
                             LIMIT_GIT_WORKTREES);
        }
    }
    return 0;
}

int git_worktree_list(const struct git_repository *repository, const char *lock_prefix,
                      struct git_worktree_list *ret_list, struct rondo_error *err)
{
    struct git_worktree_list list = {0};
    struct rondo_error why = {0};
    int fd = open_records(repository, &why);
    if (fd == RONDO_ERR_NOT_FOUND) {
        *ret_list = list;
        return 0;
    }
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        return error_set(err, RONDO_ERR_IO, "cannot list working trees of git: %s", why.message);
    }
    int r = read_worktrees(folder, lock_prefix, &list, err);
    closedir(folder);
    if (r != 0) {
        git_worktree_list_fini(&list);
        return r;
    }
    *ret_list = list;
    return 0;
}

void git_worktree_list_fini(struct git_worktree_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        worktree_fini(&list->items[i]);
    }
    free(list->items);
    *list = (struct git_worktree_list){0};
}

/** @param ret_name of the records of a path, owned; NULL when there are none */
static int find_name(const struct git_repository *repository, const char *path, char **ret_name,
                     struct rondo_error *err)
{
    struct git_worktree_list list = {0};
    char *name = NULL;
    int r = git_worktree_list(repository, NULL, &list, err);
    if (r != 0) {
        return r;
    }
    for (size_t i = 0; i < list.count && name == NULL; i++) {
        name = strcmp(list.items[i].path, path) == 0 ? memory_dup_string(list.items[i].name) : NULL;
    }
    git_worktree_list_fini(&list);
    *ret_name = name;
    return 0;
}

int git_worktree_open_records(const struct git_repository *repository, const char *path,
                              char **ret_name, struct rondo_error *err)
{
    auto_free char *name = NULL;
    int r = find_name(repository, path, &name, err);
    if (r == 0 && name == NULL) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "git has no records of the working tree %s", path);
    }
    auto_close int folder_fd = r != 0 ? r : open_records(repository, err);
    if (folder_fd < 0) {
        return folder_fd;
    }
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open git's records of %s", path);
    }
    if (ret_name != NULL) {
        *ret_name = steal_pointer(&name);
    }
    return fd;
}

/** @return owned; NULL unless HEAD of these records is that branch */
static char *branch_of_head(const char *head)
{
    static const char prefix[] = "ref: refs/heads/";
    return head != NULL && strncmp(head, prefix, sizeof(prefix) - 1) == 0
               ? memory_dup_string(head + sizeof(prefix) - 1)
               : NULL;
}

/** The main working tree's HEAD is in the common folder. */
static bool main_has_branch(const struct git_repository *repository, const char *branch)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf head = {0};
    buf_printf(&path, "%s/HEAD", repository->common_folder);
    if (file_read(buf_string(&path), LIMIT_GIT_RECORD_BYTES, &head, NULL) != 0) {
        return false;
    }
    if (head.len > 0 && head.data[head.len - 1] == '\n') {
        head.data[--head.len] = '\0';
    }
    auto_free char *name = branch_of_head(buf_string(&head));
    return name != NULL && strcmp(name, branch) == 0;
}

/** Where the main working tree is: the folder with the common folder in it, as git has it. */
static char *main_path(const struct git_repository *repository)
{
    const char *common = repository->common_folder;
    size_t len = strlen(common);
    if (len > 5 && strcmp(common + len - 5, "/.git") == 0) {
        return memory_dup_bytes(common, len - 5);
    }
    return memory_dup_string(repository->top_folder != NULL ? repository->top_folder : common);
}

int git_worktree_of_branch(const struct git_repository *repository, const char *branch,
                           const char *but_below, char **ret_path, struct rondo_error *err)
{
    struct git_worktree_list list = {0};
    char *path = NULL;
    int r = git_worktree_list(repository, NULL, &list, err);
    if (r != 0) {
        return r;
    }
    if (main_has_branch(repository, branch)) {
        path = main_path(repository);
    }
    for (size_t i = 0; i < list.count && path == NULL; i++) {
        auto_free char *name = branch_of_head(list.items[i].head);
        bool counts = but_below == NULL || !path_is_below(list.items[i].path, but_below);
        if (counts && name != NULL && strcmp(name, branch) == 0) {
            path = memory_dup_string(list.items[i].path);
        }
    }
    git_worktree_list_fini(&list);
    *ret_path = path;
    return 0;
}

/* --- adding --- */

static int check_request(const struct git_repository *repository,
                         const struct git_worktree_request *request, struct rondo_error *err)
{
    struct stat status;
    auto_free char *name = NULL;
    int r = find_name(repository, request->path, &name, err);
    if (r != 0) {
        return r;
    }
    if (request->path[0] != '/' || strpbrk(request->path, "\r\n") != NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the path of a working tree is not absolute, or "
                         "contains a line break");
    }
    if (*request->lock_reason == '\0' || strpbrk(request->lock_reason, "\r\n") != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "the reason of a lock is one line");
    }
    if (!git_id_is_valid(repository, request->commit)) {
        return error_set(err, RONDO_ERR_INVALID, "'%s' is not the id of a commit", request->commit);
    }
    if (name != NULL || lstat(request->path, &status) == 0) {
        return error_set(err, RONDO_ERR_STATE, "there is a working tree at %s already; remove it",
                         request->path);
    }
    return 0;
}

static int copy_bytes(int from, int to, struct rondo_error *err)
{
    auto_free char *bytes = memory_new(1 << 16);
    ssize_t n;
    while ((n = read(from, bytes, 1 << 16)) > 0) {
        if (file_write_all(to, bytes, (size_t)n) != 0) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot write an index");
        }
    }
    return n == 0 ? 0 : error_set_errno(err, RONDO_ERR_IO, errno, "cannot read an index");
}

/*
 * The time goes with it: git compares the content of what is not older than its index, so that a
 * change within the second of the checkout is seen.
 */
int git_worktree_copy_index(const char *from, const char *to, unsigned mode,
                            struct rondo_error *err)
{
    struct stat status;
    auto_close int from_fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    auto_close int to_fd =
        open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    if (from_fd < 0 || to_fd < 0 || fstat(from_fd, &status) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot copy the index %s", from);
    }
    int r = copy_bytes(from_fd, to_fd, err);
    const struct timespec times[2] = {status.st_mtim, status.st_mtim};
    if (r == 0 && futimens(to_fd, times) != 0) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "cannot date the index %s", to);
    }
    return r;
}

/** Keep the index of a checkout. */
static int keep_index(const struct git_repository *repository, const char *name,
                      const struct git_worktree_request *request, struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/worktrees/%s/index", repository->common_folder, name);
    int r = git_worktree_copy_index(buf_string(&path), request->index_path, 0600, err);
    return r != 0 || request->base_index_path == NULL
               ? r
               : git_worktree_copy_index(buf_string(&path), request->base_index_path, 0600, err);
}

static int run_add(struct git *git, const struct git_worktree_request *request,
                   struct rondo_error *err)
{
    const char *const arguments[] = {"-c",
                                     "checkout.workers=0",
                                     "worktree",
                                     "add",
                                     "--quiet",
                                     "--detach",
                                     "--lock",
                                     "--reason",
                                     request->lock_reason,
                                     request->path,
                                     request->commit,
                                     NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {
        .arguments = arguments, .git_dir = git->repository->git_folder, .is_once = true};
    int r = git_call_run(git, &call, &reply, err);
    if (r != 0 || reply.exit_code == 0) {
        return r;
    }
    git_fail(&reply, "cannot add a working tree", err);
    if (strstr(buf_string(&reply.errors), "No space left") != NULL) {
        return error_set(err, RONDO_ERR_FULL,
                         "no space left for a working tree at %s; free some space", request->path);
    }
    return strstr(buf_string(&reply.errors), "/commondir") != NULL ? RONDO_ERR_BUSY
                                                                   : RONDO_ERR_STATE;
}

/** What git has left of a working tree that it did not add. */
static int remove_failed(const struct git_repository *repository,
                         const struct git_worktree_request *request)
{
    const char *const names[] = {strrchr(request->path, '/') + 1, NULL};
    int r = git_worktree_remove(repository, request->path, NULL);
    return r != 0 ? r : git_worktree_remove_torn(repository, request->lock_reason, names, NULL);
}

/** git reads the records of all working trees, and fails where another git has just begun one. */
static int run_add_patiently(struct git *git, const struct git_worktree_request *request,
                             struct rondo_error *err)
{
    const struct clock *clock = clock_system();
    int64_t until_ns = clock_monotonic(clock) + ADD_PATIENCE_NS;
    int r = run_add(git, request, err);
    while (r == RONDO_ERR_BUSY && clock_monotonic(clock) < until_ns &&
           remove_failed(git->repository, request) == 0) {
        clock_sleep(clock, ADD_PAUSE_NS, git->cancel);
        r = run_add(git, request, err);
    }
    return r == RONDO_ERR_BUSY ? RONDO_ERR_STATE : r;
}

int git_worktree_add(struct git *git, const struct git_worktree_request *request,
                     struct rondo_error *err)
{
    int r = check_request(git->repository, request, err);
    if (r != 0) {
        return r;
    }
    r = run_add_patiently(git, request, err);
    if (r == RONDO_ERR_SYSTEM && remove_failed(git->repository, request) == 0) {
        r = run_add_patiently(git, request, err); /* Somebody has killed git. */
    }
    auto_free char *name = NULL;
    r = r != 0 ? r : find_name(git->repository, request->path, &name, err);
    if (r == 0 && name == NULL) {
        r = error_set(err, RONDO_ERR_STATE, "git has no records of the working tree %s",
                      request->path);
    }
    if (r == 0) {
        r = keep_index(git->repository, name, request, err);
    }
    if (r != 0) {
        remove_failed(git->repository, request);
    }
    return r;
}

/* --- removing --- */

/** `git worktree` leaves no empty folder there either. */
static void remove_records_folder(const struct git_repository *repository)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/worktrees", repository->common_folder);
    rmdir(buf_string(&path));
}

int git_worktree_remove(const struct git_repository *repository, const char *path,
                        struct rondo_error *err)
{
    /* The folder first: while there are records, the next call finds what is left. */
    int r = file_folder_remove(AT_FDCWD, path, err);
    auto_free char *name = NULL;
    r = r != 0 ? r : find_name(repository, path, &name, err);
    if (name == NULL) {
        return r;
    }
    auto_close int fd = open_records(repository, err);
    if (fd < 0) {
        return fd;
    }
    r = file_folder_remove(fd, name, err);
    if (r == 0) {
        remove_records_folder(repository);
    }
    return r;
}

static bool is_named_after(const char *name, const char *const *folders)
{
    for (; *folders != NULL; folders++) {
        size_t len = strlen(*folders);
        if (strncmp(name, *folders, len) == 0 &&
            name[len + strspn(name + len, "0123456789")] == '\0') {
            return true;
        }
    }
    return false;
}

/** Records that git had begun, and not come to the place of the tree: it was killed. */
static bool is_torn(int folder_fd, const char *name, const char *lock_prefix,
                    const char *const *names)
{
    struct git_worktree worktree;
    auto_free char *reason = read_record(folder_fd, name, "locked");
    if (reason == NULL ? !is_named_after(name, names) : !has_prefix(reason, lock_prefix)) {
        return false;
    }
    bool is_whole = read_worktree(folder_fd, name, &worktree);
    if (is_whole) {
        worktree_fini(&worktree);
    }
    return !is_whole;
}

int git_worktree_remove_torn(const struct git_repository *repository, const char *lock_prefix,
                             const char *const *names, struct rondo_error *err)
{
    int fd = open_records(repository, NULL);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    int r = 0;
    if (folder == NULL) {
        return 0; /* There are none, or the next list of them says why not. */
    }
    for (const struct dirent *entry; r == 0 && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.' && is_torn(dirfd(folder), entry->d_name, lock_prefix, names)) {
            r = file_folder_remove(dirfd(folder), entry->d_name, err);
        }
    }
    closedir(folder);
    remove_records_folder(repository);
    return r;
}
