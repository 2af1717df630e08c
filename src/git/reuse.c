// SPDX-License-Identifier: Apache-2.0
/*
 * From what an agent has left to a new tree: our own walk compares each file to the index of the
 * time when the tree was new, and removes what differs; then one `git checkout` makes the rest. Git
 * itself would not see modes, empty folders, FIFOs, or what is ignored. all opens: below the folder
 * of the tree and below git's records of it, without links; the indexes are ours.
 */
#include "git/reuse.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/index_file.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/file_untrusted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/** Looks at the kernel's clock, one a millisecond: it ticks every 10 ms at the latest. */
#define MOST_LOOKS 100

struct reset {
    struct git *git;
    const struct git_worktree_request *request;
    struct git_tree_mark *mark;
    struct git_index index;
    int root_fd;
    char **pending; /* folders that the index knows, still to be listed; owned */
    size_t count;
    size_t room;
    size_t folder_count;
    bool has_log; /* git keeps a log of HEAD */
};

static int refuse(const char *path, const char *why, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_DENIED, "a working tree cannot be used again: %.200s %s",
                     *path == '\0' ? "its folder" : path, why);
}

static int64_t time_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* --- the mark --- */

/** Files get the time of the kernel's last tick: wait for the next one. */
static int wait_for_tick(struct rondo_error *err)
{
    struct timespec now;
    struct timespec tick;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < MOST_LOOKS; i++) {
        clock_gettime(CLOCK_REALTIME_COARSE, &tick);
        if (time_ns(tick) > time_ns(now)) {
            return 0;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return error_set(err, RONDO_ERR_STATE, "the clock of the machine was set");
}

static void digest_index(const struct buf *bytes, unsigned char ret_digest[static DIGEST_SIZE])
{
    struct digest digest = digest_begin();
    digest_add(&digest, buf_string(bytes), bytes->len);
    digest_finish(&digest, ret_digest);
}

int git_worktree_mark(const char *path, const char *base_index_path, struct git_tree_mark *ret_mark,
                      struct rondo_error *err)
{
    struct stat folder;
    struct stat git;
    auto_buf struct buf file = {0};
    auto_buf struct buf index = {0};
    buf_printf(&file, "%s/.git", path);
    if (lstat(path, &folder) != 0 || lstat(buf_string(&file), &git) != 0 ||
        !S_ISDIR(folder.st_mode) || !S_ISREG(git.st_mode)) {
        return error_set(err, RONDO_ERR_STATE, "there is no working tree at %s", path);
    }
    if (git.st_ctim.tv_nsec == 0 && folder.st_ctim.tv_nsec == 0) {
        return error_set(err, RONDO_ERR_STATE, "the file system has whole seconds only");
    }
    int r = file_read(base_index_path, LIMIT_GIT_LIST_BYTES, &index, err);
    if (r != 0) {
        return r;
    }
    *ret_mark = (struct git_tree_mark){
        .device = folder.st_dev,
        .inode = folder.st_ino,
        .mode = folder.st_mode,
        .user = folder.st_uid,
        .group = folder.st_gid,
        .git_inode = git.st_ino,
        .git_changed_ns = time_ns(git.st_ctim),
    };
    digest_index(&index, ret_mark->index_digest);
    return wait_for_tick(err);
}

/* --- git's records --- */

static int replace_record(int records_fd, const char *name, const char *text,
                          struct rondo_error *err)
{
    char fresh[64];
    snprintf(fresh, sizeof(fresh), "%s.new", name);
    unlinkat(records_fd, fresh, 0);
    auto_close int fd =
        openat(records_fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 || file_write_all(fd, text, strlen(text)) != 0 || file_write_all(fd, "\n", 1) != 0 ||
        renameat(records_fd, fresh, records_fd, name) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot write git's record %s", name);
    }
    return 0;
}

int git_worktree_move(const struct git_repository *repository, const char *from, const char *to,
                      struct rondo_error *err)
{
    auto_buf struct buf git_file = {0};
    auto_close int fd = git_worktree_open_records(repository, from, NULL, err);
    if (fd < 0) {
        return fd;
    }
    /* The records first: what is at neither path is found by them. */
    buf_printf(&git_file, "%s/.git", to);
    int r = replace_record(fd, "gitdir", buf_string(&git_file), err);
    if (r == 0 && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) != 0) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "cannot move %s", from);
    }
    return r;
}

static bool has_record(int records_fd, const char *name, const char *text)
{
    auto_buf struct buf content = {0};
    if (file_read_untrusted(records_fd, name, LIMIT_GIT_RECORD_BYTES, &content, NULL) != 0) {
        return false;
    }
    size_t len = strlen(text);
    return content.len == len + 1 && memcmp(content.data, text, len) == 0 &&
           content.data[len] == '\n';
}

static bool has_commit(const struct git_repository *repository, int records_fd)
{
    auto_buf struct buf content = {0};
    if (file_read_untrusted(records_fd, "HEAD", LIMIT_GIT_RECORD_BYTES, &content, NULL) != 0) {
        return false;
    }
    content.data[strcspn(buf_string(&content), "\n")] = '\0';
    return git_id_is_valid(repository, content.data);
}

/** Remove logs, states of rebases and merges, settings of this tree, its index. */
static int remove_records(int records_fd, struct rondo_error *err)
{
    static const char *const kept[] = {".", "..", "HEAD", "commondir", "gitdir", "locked"};
    int fd = openat(records_fd, ".", FOLDER_FLAGS);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    int r = folder == NULL ? error_set_errno(err, RONDO_ERR_IO, errno, "cannot list records") : 0;
    for (const struct dirent *entry; r == 0 && (entry = readdir(folder)) != NULL;) {
        bool is_kept = false;
        for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
            is_kept = is_kept || strcmp(entry->d_name, kept[i]) == 0;
        }
        r = is_kept ? 0 : file_folder_remove(records_fd, entry->d_name, err);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return r;
}

static int reset_records(struct reset *reset, int records_fd, struct rondo_error *err)
{
    struct stat status;
    auto_buf struct buf git_file = {0};
    buf_printf(&git_file, "%s/.git", reset->request->path);
    reset->has_log = fstatat(records_fd, "logs", &status, AT_SYMLINK_NOFOLLOW) == 0;
    int r = remove_records(records_fd, err);
    if (r == 0 && (!has_record(records_fd, "gitdir", buf_string(&git_file)) ||
                   !has_record(records_fd, "commondir", "../..") ||
                   !has_commit(reset->git->repository, records_fd))) {
        r = refuse("", "has other records of git", err);
    }
    return r != 0 ? r : replace_record(records_fd, "locked", reset->request->lock_reason, err);
}

/* --- the walk --- */

/** Access lists and the like would be inherited by what is made there. */
static bool has_attributes(int fd)
{
    static const char label[] = "security.selinux";
    char names[64];
    ssize_t len = flistxattr(fd, names, sizeof(names));
    return (len < 0 && errno != ENOTSUP) ||
           (len > 0 && (len != sizeof(label) || memcmp(names, label, sizeof(label)) != 0));
}

static int check_folder(const struct reset *reset, int fd, const char *path,
                        struct rondo_error *err)
{
    const struct git_tree_mark *mark = reset->mark;
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_mode != mark->mode || status.st_uid != mark->user ||
        status.st_gid != mark->group || status.st_dev != mark->device || has_attributes(fd)) {
        return refuse(path, "has another mode, owner or attributes", err);
    }
    return *path != '\0' || status.st_ino == mark->inode ? 0 : refuse(path, "is another one", err);
}

static bool is_same(const struct git_index_entry *entry, const struct stat *status)
{
    bool is_link = entry->mode == S_IFLNK;
    bool is_type = is_link ? S_ISLNK(status->st_mode)
                           : S_ISREG(entry->mode) && S_ISREG(status->st_mode) &&
                                 (entry->mode & S_IXUSR) == (status->st_mode & S_IXUSR);
    return is_type && status->st_nlink == 1 && entry->changed_ns == time_ns(status->st_ctim) &&
           entry->modified_ns == time_ns(status->st_mtim) &&
           entry->device == (uint32_t)status->st_dev && entry->inode == (uint32_t)status->st_ino &&
           entry->user == status->st_uid && entry->group == status->st_gid &&
           entry->size == (uint32_t)status->st_size;
}

static int add_pending(struct reset *reset, const char *path, struct rondo_error *err)
{
    if (++reset->folder_count > LIMIT_GIT_FOLDERS) {
        return refuse(path, "is one folder too many", err);
    }
    if (reset->count == reset->room) {
        reset->room = reset->room == 0 ? 64 : 2 * reset->room;
        reset->pending = memory_resize(reset->pending, reset->room, sizeof(*reset->pending));
    }
    reset->pending[reset->count++] = memory_dup_string(path);
    return 0;
}

/** @param path of what is in the tree @param ret_stays whether it is as git has made it */
static int judge(struct reset *reset, const char *path, const struct stat *status, bool *ret_stays,
                 struct rondo_error *err)
{
    const struct git_index_entry *entry = git_index_find(&reset->index, path);
    if (!S_ISDIR(status->st_mode)) {
        *ret_stays = entry != NULL && is_same(entry, status);
        return 0;
    }
    /* The folder of a submodule is empty in a new tree. */
    bool is_module = entry != NULL && entry->mode == GIT_INDEX_MODULE;
    *ret_stays = is_module || git_index_has_folder(&reset->index, path);
    return *ret_stays ? add_pending(reset, path, err) : 0;
}

static int check_git_file(const struct reset *reset, const struct stat *status,
                          struct rondo_error *err)
{
    return S_ISREG(status->st_mode) && status->st_nlink == 1 &&
                   status->st_ino == reset->mark->git_inode &&
                   time_ns(status->st_ctim) == reset->mark->git_changed_ns
               ? 0
               : refuse(".git", "was changed", err);
}

static int look_at(struct reset *reset, int fd, const char *path, const char *name, bool *ret_stays,
                   struct rondo_error *err)
{
    struct stat status;
    auto_buf struct buf whole = {0};
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return refuse(path, "changes while it is looked at", err);
    }
    if (*path == '\0' && strcmp(name, ".git") == 0) {
        *ret_stays = true;
        return check_git_file(reset, &status, err);
    }
    buf_printf(&whole, "%s%s%s", path, *path == '\0' ? "" : "/", name);
    return judge(reset, buf_string(&whole), &status, ret_stays, err);
}

static int clean_listed(struct reset *reset, DIR *folder, const char *path, struct rondo_error *err)
{
    char **removed = NULL;
    size_t count = 0;
    int r = 0;
    for (const struct dirent *entry; r == 0 && (entry = readdir(folder)) != NULL;) {
        bool stays = false;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        r = look_at(reset, dirfd(folder), path, entry->d_name, &stays, err);
        if (r == 0 && !stays) {
            if ((count & (count + 1)) == 0) {
                removed = memory_resize(removed, 2 * count + 2, sizeof(*removed));
            }
            removed[count++] = memory_dup_string(entry->d_name);
        }
    }
    for (size_t i = 0; i < count; i++) {
        r = r != 0 ? r : file_folder_remove(dirfd(folder), removed[i], err);
        free(removed[i]);
    }
    free(removed);
    return r;
}

static int clean_folder(struct reset *reset, const char *path, struct rondo_error *err)
{
    int fd = file_open_beneath(reset->root_fd, *path == '\0' ? "." : path, FOLDER_FLAGS);
    if (fd < 0) {
        return refuse(path, "cannot be opened", err);
    }
    int r = check_folder(reset, fd, path, err);
    DIR *folder = r != 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        close(fd);
        return r != 0 ? r : refuse(path, "cannot be listed", err);
    }
    r = clean_listed(reset, folder, path, err);
    closedir(folder);
    return r;
}

static int clean(struct reset *reset, struct rondo_error *err)
{
    reset->root_fd = open(reset->request->path, FOLDER_FLAGS);
    if (reset->root_fd < 0) {
        return refuse("", "cannot be opened", err);
    }
    int r = clean_folder(reset, "", err);
    while (r == 0 && reset->count > 0) {
        auto_free char *path = reset->pending[--reset->count];
        r = clean_folder(reset, path, err);
    }
    return r;
}

/* --- the rest by git --- */

static int check_out(struct reset *reset, const char *git_dir, struct rondo_error *err)
{
    const struct git_worktree_request *request = reset->request;
    const char *const arguments[] = {
        "checkout", "--quiet",       "--force", "--no-recurse-submodules",
        "--detach", request->commit, NULL};
    auto_git_reply struct git_reply reply = {0};
    auto_buf struct buf lock = {0};
    const struct git_call call = {
        .arguments = arguments,
        .directory = request->path,
        .git_dir = git_dir,
        .work_tree = request->path,
        .index_file = request->base_index_path,
    };
    buf_printf(&lock, "%s.lock", request->base_index_path);
    unlink(buf_string(&lock));
    return git_call_run_well(reset->git, &call, &reply, err);
}

static bool is_rule(const struct git_index_entry *entry)
{
    const char *name = strrchr(entry->path, '/');
    return strcmp(name == NULL ? entry->path : name + 1, ".gitattributes") == 0;
}

static const struct git_index_entry *next_rule(const struct git_index *index, size_t *place)
{
    while (*place < index->count && !is_rule(&index->entries[*place])) {
        (*place)++;
    }
    return *place < index->count ? &index->entries[(*place)++] : NULL;
}

/** Read the index of the time when the tree was new: it says which files are as they were. */
static int read_base(struct reset *reset, struct rondo_error *err)
{
    unsigned char digest[DIGEST_SIZE];
    int r =
        git_index_read(reset->git->repository, reset->request->base_index_path, &reset->index, err);
    if (r != 0) {
        return r;
    }
    digest_index(&reset->index.bytes, digest);
    return memcmp(digest, reset->mark->index_digest, sizeof(digest)) == 0
               ? 0
               : refuse("", "has an index that was changed", err);
}

/** Attributes change what git makes of files that have not changed. */
static int compare_rules(const struct reset *reset, struct rondo_error *err)
{
    struct git_index after = {0};
    size_t old_place = 0;
    size_t new_place = 0;
    int r = git_index_read(reset->git->repository, reset->request->base_index_path, &after, err);
    for (bool is_more = r == 0; r == 0 && is_more;) {
        const struct git_index_entry *old = next_rule(&reset->index, &old_place);
        const struct git_index_entry *new = next_rule(&after, &new_place);
        is_more = old != NULL && new != NULL;
        if (is_more
                ? strcmp(old->path, new->path) != 0 || memcmp(old->id, new->id, after.id_bytes) != 0
                : old != new) {
            r = refuse(".gitattributes", "differs", err);
        }
    }
    if (r == 0) {
        digest_index(&after.bytes, reset->mark->index_digest);
    }
    git_index_fini(&after);
    return r;
}

/** What `git worktree add` writes besides: the log of HEAD, and where it was before. */
static int write_records(const struct reset *reset, int records_fd, struct rondo_error *err)
{
    const struct git_repository *repository = reset->git->repository;
    auto_buf struct buf line = {0};
    int r = replace_record(records_fd, "ORIG_HEAD", reset->request->commit, err);
    r = r != 0 ? r : file_folder_remove(records_fd, "logs", err);
    if (r != 0 || !reset->has_log) {
        return r;
    }
    if (mkdirat(records_fd, "logs", 0777) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make the log of a working tree");
    }
    for (size_t i = 0; i < repository->id_len; i++) {
        buf_append_string(&line, "0");
    }
    buf_printf(&line, " %s %s <%s> %lld +0000\t", reset->request->commit,
               repository->committer_name == NULL ? "" : repository->committer_name,
               repository->committer_email == NULL ? "" : repository->committer_email,
               (long long)time(NULL));
    return replace_record(records_fd, "logs/HEAD", buf_string(&line), err);
}

static int copy_indexes(const struct reset *reset, const char *git_dir, struct rondo_error *err)
{
    const char *base = reset->request->base_index_path;
    auto_buf struct buf theirs = {0};
    buf_printf(&theirs, "%s/index", git_dir);
    int r = git_worktree_copy_index(base, reset->request->index_path, 0600, err);
    return r != 0 ? r : git_worktree_copy_index(base, buf_string(&theirs), 0666, err);
}

static int reset_all(struct reset *reset, struct rondo_error *err)
{
    const struct git_repository *repository = reset->git->repository;
    auto_free char *name = NULL;
    auto_buf struct buf git_dir = {0};
    auto_close int fd = git_worktree_open_records(repository, reset->request->path, &name, err);
    if (fd < 0) {
        return fd;
    }
    buf_printf(&git_dir, "%s/worktrees/%s", repository->common_folder, name);
    int r = read_base(reset, err);
    r = r != 0 ? r : clean(reset, err);
    r = r != 0 ? r : reset_records(reset, fd, err);
    r = r != 0 ? r : check_out(reset, buf_string(&git_dir), err);
    r = r != 0 ? r : compare_rules(reset, err);
    r = r != 0 ? r : write_records(reset, fd, err);
    r = r != 0 ? r : copy_indexes(reset, buf_string(&git_dir), err);
    return r != 0 ? r : wait_for_tick(err);
}

int git_worktree_reset(struct git *git, const struct git_worktree_request *request,
                       struct git_tree_mark *mark, struct rondo_error *err)
{
    struct reset reset = {.git = git, .request = request, .mark = mark, .root_fd = -1};
    int r = reset_all(&reset, err);
    git_index_fini(&reset.index);
    if (reset.root_fd >= 0) {
        close(reset.root_fd);
    }
    while (reset.count > 0) {
        free(reset.pending[--reset.count]);
    }
    free(reset.pending);
    return r;
}
