// SPDX-License-Identifier: Apache-2.0
/*
 * Finding git folders by what is in them, as git does, whatever their names are: the current folder
 * may be in one, and a file `.git` may lead to one. A folder counts with `objects` and `refs`, or
 * with `HEAD` and `commondir`. Folders are opened from the writable root on without links. What git
 * could not reach by its path (longer than PATH_MAX) is left alone. No state; one thread a watch.
 */
#include "os/sandbox/git.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"
#include "os/path.h"
#include "os/sandbox/git_config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* What git takes programs from, or where to look for that. */
enum git_part { PART_CONFIG, PART_WORKTREE_CONFIG, PART_COMMONDIR, PART_HOOKS, PART_COUNT };

static const char *const part_names[PART_COUNT] = {
    [PART_CONFIG] = "config",
    [PART_WORKTREE_CONFIG] = "config.worktree",
    [PART_COMMONDIR] = "commondir",
    [PART_HOOKS] = "hooks",
};

struct git_folder {
    char *path;                 /* canonical, owned */
    size_t root;                /* in which writable folder it is */
    uint64_t marks[PART_COUNT]; /* changes with the part; 0 = there is none */
    uint64_t sums[PART_COUNT];  /* of what its files hold; set before the command only */
};

struct git_list {
    struct git_folder *items; /* sorted by path; owned */
    size_t count;
};

struct git_watch {
    const struct path_list *paths;
    size_t max_folders;
    struct git_list before;
    struct path_list restored; /* what `paths` points to in a restored one */
};

/* Folders that still have to be looked at, as paths from the root. */
struct pending {
    char **paths; /* owned */
    size_t count;
    size_t room;
};

static void pending_add(struct pending *pending, char *path)
{
    if (pending->count == pending->room) {
        pending->room = pending->room == 0 ? 64 : pending->room * 2;
        pending->paths = memory_resize(pending->paths, pending->room, sizeof(*pending->paths));
    }
    pending->paths[pending->count++] = path;
}

static void pending_fini(struct pending *pending)
{
    while (pending->count > 0) {
        free(pending->paths[--pending->count]);
    }
    free(pending->paths);
}

static void list_fini(struct git_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
    }
    free(list->items);
    *list = (struct git_list){0};
}

/* --- marks --- */

static uint64_t mix(uint64_t mark, uint64_t value)
{
    return (mark ^ value) * UINT64_C(0x100000001b3) + 1;
}

static uint64_t mark_of(int folder, const char *name, uint64_t mark)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    mark = mix(mark, status.st_dev);
    mark = mix(mark, status.st_ino);
    mark = mix(mark, (uint64_t)status.st_size);
    mark = mix(mark, (uint64_t)status.st_ctim.tv_sec);
    mark = mix(mark, (uint64_t)status.st_ctim.tv_nsec);
    return mark == 0 ? 1 : mark;
}

typedef bool entry_function(int folder, const char *name, void *context);

/** Call a function for each entry but samples. @return false when it, or the folder, said so */
static bool for_each_hook(int folder, entry_function *function, void *context)
{
    int fd = openat(folder, part_names[PART_HOOKS], FOLDER_FLAGS);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    bool continues = entries != NULL;
    while (continues && (entry = readdir(entries)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        bool is_sample = dot != NULL && strcmp(dot, ".sample") == 0;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !is_sample) {
            continues = function(fd, entry->d_name, context);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return continues;
}

/** The sum does not depend on the order in which a folder is read. */
static bool add_mark(int folder, const char *name, void *context)
{
    uint64_t *sum = context;
    *sum += mark_of(folder, name, 1);
    return true;
}

static void take_marks(int folder, struct git_folder *git)
{
    for (int i = 0; i < PART_COUNT; i++) {
        git->marks[i] = mark_of(folder, part_names[i], 1);
    }
    for_each_hook(folder, add_mark, &git->marks[PART_HOOKS]);
}

/**
 * A file that is written through memory keeps its times on some file systems (tmpfs), so what was
 * there before is summed up too. What a former command left is small; the rest is the user's own.
 */
static uint64_t sum_of_file(int folder, const char *name)
{
    char bytes[4096];
    unsigned char sum[DIGEST_SIZE];
    struct stat status;
    uint64_t first = 0;
    auto_close int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0;
    }
    struct digest digest = digest_begin();
    int64_t all = 0;
    ssize_t got = 1;
    while (got > 0 && all < LIMIT_SANDBOX_GIT_SUM_BYTES) {
        got = read(fd, bytes, sizeof(bytes));
        digest_add(&digest, bytes, got > 0 ? (size_t)got : 0);
        all += got;
    }
    digest_finish(&digest, sum);
    memcpy(&first, sum, sizeof(first));
    return first;
}

static bool add_sum(int folder, const char *name, void *context)
{
    uint64_t *sum = context;
    *sum += sum_of_file(folder, name);
    return true;
}

static uint64_t sum_of_part(int folder, enum git_part part)
{
    if (part != PART_HOOKS) {
        return sum_of_file(folder, part_names[part]);
    }
    uint64_t sum = 0;
    for_each_hook(folder, add_sum, &sum);
    return sum;
}

/* --- the list --- */

struct git_search {
    const struct path_list *paths;
    size_t max_folders;
    struct git_list list;
    struct pending pending;
    size_t folders;
    bool takes_sums;
};

/** The same name by name, where the kernel has no openat2. */
static int walk_below(int root, const char *path, int flags)
{
    int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
    while (fd >= 0 && *path != '\0') {
        size_t len = strcspn(path, "/");
        char name[NAME_MAX + 1];
        snprintf(name, sizeof(name), "%.*s", (int)len, path);
        int next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        fd = next;
        path += len + (path[len] == '/');
    }
    int opened = fd < 0 ? -1 : openat(fd, ".", flags);
    if (fd >= 0) {
        close(fd);
    }
    return opened;
}

/** Open a folder below a root; no name on the way may be a link. @return owned, or -1 */
static int open_below_with(int root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned)flags,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, root, path[0] == '\0' ? "." : path, &how, sizeof(how));
    return fd >= 0 || errno != ENOSYS ? (int)fd : walk_below(root, path, flags);
}

/**
 * The same for listing. Its user can enter a folder that cannot be listed, and git works in it, so
 * one that denies its own user is opened up.
 */
static int open_below(int root, const char *path)
{
    int fd = open_below_with(root, path, FOLDER_FLAGS);
    if (fd >= 0 || errno != EACCES) {
        return fd;
    }
    char link[64];
    struct stat status;
    auto_close int held = open_below_with(root, path, FOLDER_FLAGS | O_PATH);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
    if (held < 0 || fstat(held, &status) != 0 || status.st_uid != geteuid() ||
        chmod(link, (status.st_mode & 07777) | S_IRWXU) != 0) {
        return -1;
    }
    return open_below_with(root, path, FOLDER_FLAGS);
}

static bool is_folder(int folder, const struct dirent *entry)
{
    struct stat status;
    return entry->d_type == DT_DIR ||
           (entry->d_type == DT_UNKNOWN &&
            fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode));
}

/* Which of git's own names a folder has. */
enum { HAS_HEAD = 1, HAS_OBJECTS = 2, HAS_REFS = 4, HAS_COMMONDIR = 8 };

static int flag_of(const char *name)
{
    static const struct {
        const char *name;
        int flag;
    } table[] = {{"HEAD", HAS_HEAD},
                 {"objects", HAS_OBJECTS},
                 {"refs", HAS_REFS},
                 {"commondir", HAS_COMMONDIR}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(table[i].name, name) == 0) {
            return table[i].flag;
        }
    }
    return 0;
}

static void add_git_folder(struct git_search *listing, size_t root, int fd, const char *path)
{
    struct git_list *list = &listing->list;
    auto_buf struct buf absolute = {0};
    buf_printf(&absolute, "%s%s%s", listing->paths->roots.items[root].path,
               path[0] == '\0' ? "" : "/", path);
    struct git_folder git = {.path = buf_steal(&absolute), .root = root};
    take_marks(fd, &git);
    for (int i = 0; listing->takes_sums && i < PART_COUNT; i++) {
        git.sums[i] = git.marks[i] == 0 ? 0 : sum_of_part(fd, (enum git_part)i);
    }
    list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
    list->items[list->count++] = git;
}

static void search_folder(struct git_search *listing, size_t root, const char *path)
{
    int fd = open_below(listing->paths->roots.items[root].fd, path);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int found = 0;
    if (entries == NULL) {
        return;
    }
    while ((entry = readdir(entries)) != NULL) {
        found |= flag_of(entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strlen(path) + strlen(entry->d_name) < PATH_MAX && is_folder(fd, entry)) {
            auto_buf struct buf below = {0};
            buf_printf(&below, "%s%s%s", path, path[0] == '\0' ? "" : "/", entry->d_name);
            pending_add(&listing->pending, buf_steal(&below));
        }
    }
    if ((found & (HAS_OBJECTS | HAS_REFS)) == (HAS_OBJECTS | HAS_REFS) ||
        (found & (HAS_HEAD | HAS_COMMONDIR)) == (HAS_HEAD | HAS_COMMONDIR)) {
        add_git_folder(listing, root, fd, path);
    }
    closedir(entries);
}

static bool is_below_other_root(const struct named_roots *roots, size_t index)
{
    for (size_t i = 0; i < roots->count; i++) {
        if (i != index && path_is_below(roots->items[index].path, roots->items[i].path)) {
            return true;
        }
    }
    return false;
}

static bool list_root(struct git_search *listing, size_t root, char ret_reason[256])
{
    pending_add(&listing->pending, memory_dup_string(""));
    while (listing->pending.count > 0) {
        if (++listing->folders > listing->max_folders) {
            snprintf(ret_reason, 256,
                     "%.120s has more than %zu folders, too many to look for git folders in them; "
                     "choose a smaller workspace",
                     listing->paths->roots.items[root].path, listing->max_folders);
            return false;
        }
        auto_free char *path = listing->pending.paths[--listing->pending.count];
        search_folder(listing, root, path);
    }
    return true;
}

static int compare_folders(const void *left, const void *right)
{
    return strcmp(((const struct git_folder *)left)->path,
                  ((const struct git_folder *)right)->path);
}

/** @return whether all folders were looked at; those found are in `*ret_list` in any case */
static bool list_all(const struct git_watch *watch, bool takes_sums, struct git_list *ret_list,
                     char ret_reason[256])
{
    const struct path_list *paths = watch->paths;
    struct git_search listing = {
        .paths = paths, .max_folders = watch->max_folders, .takes_sums = takes_sums};
    bool is_complete = true;
    for (size_t i = 0; is_complete && i < paths->roots.count; i++) {
        is_complete = is_below_other_root(&paths->roots, i) || list_root(&listing, i, ret_reason);
    }
    pending_fini(&listing.pending);
    if (listing.list.count > 0) {
        qsort(listing.list.items, listing.list.count, sizeof(*listing.list.items), compare_folders);
    }
    *ret_list = listing.list;
    return is_complete;
}

/* --- disarming --- */

static bool is_harmless_file(int folder, enum git_part part)
{
    char bytes[LIMIT_SANDBOX_GIT_CONFIG_BYTES + 1];
    struct stat status;
    auto_close int fd =
        openat(folder, part_names[part], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return false;
    }
    ssize_t got = read(fd, bytes, sizeof(bytes));
    if (got < 0 || got > LIMIT_SANDBOX_GIT_CONFIG_BYTES) {
        return false;
    }
    if (part == PART_COMMONDIR) {
        /* As git writes it for a further working tree: the folder's own repository. */
        return got >= 5 && memcmp(bytes, "../..", 5) == 0 &&
               (got == 5 || (got == 6 && bytes[5] == '\n'));
    }
    return sandbox_git_config_is_harmless(bytes, (size_t)got);
}

static bool stop_at_first(int folder, const char *name, void *context)
{
    (void)folder;
    (void)name;
    (void)context;
    return false;
}

static bool is_harmless(int folder, enum git_part part)
{
    struct stat status;
    if (fstatat(folder, part_names[part], &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT;
    }
    return part == PART_HOOKS ? for_each_hook(folder, stop_at_first, NULL)
                              : is_harmless_file(folder, part);
}

static bool guards(const struct path_rule *rule)
{
    return rule->access == PATH_PROTECTED || rule->access == PATH_READ ||
           rule->access == PATH_EMPTY;
}

/** Whether the sandbox kept a path from being changed. */
static bool is_guarded(const struct path_list *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++) {
        const struct path_rule *rule = &paths->rules[i];
        if (guards(rule) && (strcmp(rule->path, path) == 0 || path_is_below(path, rule->path))) {
            return true;
        }
    }
    return false;
}

/** Rename a part so that git does not find it; what it holds is kept for people to look at. */
static void disarm(int folder, const char *path, enum git_part part, struct buf *notes)
{
    char name[64];
    int r = -1;
    for (int i = 0; i < 100 && r != 0; i++) {
        snprintf(name, sizeof(name), "%s.disarmed-%08" PRIx32, part_names[part],
                 (uint32_t)random_u64(random_system()));
        r = renameat2(folder, part_names[part], folder, name, RENAME_NOREPLACE);
    }
    if (r != 0) {
        buf_printf(notes,
                   "rondo: %s/%s could make git run a program and cannot be renamed (%s); "
                   "remove it before you use git there\n",
                   path, part_names[part], strerrordesc_np(errno));
        return;
    }
    buf_printf(notes, "rondo: %s/%s could make git run a program, so it is now %s\n", path,
               part_names[part], name);
}

static bool has_changed(const struct git_folder *before, const struct git_folder *now, int folder,
                        enum git_part part)
{
    return before == NULL || before->marks[part] != now->marks[part] ||
           before->sums[part] != sum_of_part(folder, part);
}

static void examine(const struct git_watch *watch, const struct git_folder *now, struct buf *notes)
{
    const struct git_list *list = &watch->before;
    const struct git_folder *before =
        list->count == 0
            ? NULL
            : bsearch(now, list->items, list->count, sizeof(*list->items), compare_folders);
    const struct named_root *root = &watch->paths->roots.items[now->root];
    const char *below = now->path + strlen(root->path);
    auto_close int folder = open_below(root->fd, below[0] == '/' ? below + 1 : below);
    for (int i = 0; folder >= 0 && i < PART_COUNT; i++) {
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s", now->path, part_names[i]);
        if (now->marks[i] != 0 && has_changed(before, now, folder, (enum git_part)i) &&
            !is_guarded(watch->paths, path.data) && !is_harmless(folder, (enum git_part)i)) {
            disarm(folder, now->path, (enum git_part)i, notes);
        }
    }
}

/* --- public --- */

bool git_watch_begin(const struct path_list *paths, size_t max_folders,
                     struct git_watch **ret_watch, char ret_reason[256])
{
    struct git_watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->paths = paths;
    watch->max_folders = max_folders;
    if (!list_all(watch, true, &watch->before, ret_reason)) {
        git_watch_free(watch);
        return false;
    }
    *ret_watch = watch;
    return true;
}

bool git_watch_end(struct git_watch *watch, struct buf *ret_notes, char ret_reason[256])
{
    struct git_list after;
    bool is_complete = list_all(watch, false, &after, ret_reason);
    for (size_t i = 0; i < after.count; i++) {
        examine(watch, &after.items[i], ret_notes);
    }
    list_fini(&after);
    if (!is_complete) {
        buf_printf(ret_notes, "rondo: the command left so many folders that not all were searched "
                              "at; do not use git there before you have removed them\n");
    }
    return is_complete;
}

void git_watch_free(struct git_watch *watch)
{
    if (watch != NULL) {
        list_fini(&watch->before);
        sandbox_paths_fini(&watch->restored);
        free(watch);
    }
}

/* --- in another process --- */

/* Each record is a letter, numbers, and a path with its NUL; the last one is RECORD_END alone. */
#define RECORD_ROOT   'R'
#define RECORD_GUARD  'G'
#define RECORD_FOLDER 'F'
#define RECORD_END    'E'

static void put_record(struct buf *bytes, char letter, const char *path)
{
    buf_append(bytes, &letter, 1);
    buf_append(bytes, path, strlen(path) + 1);
}

void git_watch_save(const struct git_watch *watch, struct buf *ret_bytes)
{
    const struct path_list *paths = watch->paths;
    for (size_t i = 0; i < paths->roots.count; i++) {
        put_record(ret_bytes, RECORD_ROOT, paths->roots.items[i].path);
    }
    for (size_t i = 0; i < paths->count; i++) {
        if (guards(&paths->rules[i])) {
            put_record(ret_bytes, RECORD_GUARD, paths->rules[i].path);
        }
    }
    for (size_t i = 0; i < watch->before.count; i++) {
        const struct git_folder *git = &watch->before.items[i];
        const char letter = RECORD_FOLDER;
        buf_append(ret_bytes, &letter, 1);
        buf_append(ret_bytes, &git->root, sizeof(git->root));
        buf_append(ret_bytes, git->marks, sizeof(git->marks));
        buf_append(ret_bytes, git->sums, sizeof(git->sums));
        buf_append(ret_bytes, git->path, strlen(git->path) + 1);
    }
    put_record(ret_bytes, RECORD_END, "");
}

static void restore_root(struct named_roots *roots, const char *path)
{
    roots->items = memory_resize(roots->items, roots->count + 1, sizeof(*roots->items));
    roots->items[roots->count++] = (struct named_root){
        .named = memory_dup_string(path),
        .path = memory_dup_string(path),
        .fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
    };
}

static void restore_guard(struct path_list *paths, const char *path)
{
    paths->rules = memory_resize(paths->rules, paths->count + 1, sizeof(*paths->rules));
    paths->rules[paths->count++] =
        (struct path_rule){.path = memory_dup_string(path), .access = PATH_PROTECTED, .fd = -1};
}

/** @param at the numbers of a record. @return its path */
static const char *restore_folder(struct git_list *list, const char *at)
{
    struct git_folder git;
    memcpy(&git.root, at, sizeof(git.root));
    at += sizeof(git.root);
    memcpy(git.marks, at, sizeof(git.marks));
    at += sizeof(git.marks);
    memcpy(git.sums, at, sizeof(git.sums));
    at += sizeof(git.sums);
    git.path = memory_dup_string(at);
    list->items = memory_resize(list->items, list->count + 1, sizeof(*list->items));
    list->items[list->count++] = git;
    return at;
}

struct git_watch *git_watch_restore(const struct buf *bytes)
{
    if (bytes->len < 2 || bytes->data[bytes->len - 2] != RECORD_END) {
        return NULL;
    }
    struct git_watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->paths = &watch->restored;
    watch->max_folders = LIMIT_SANDBOX_GIT_FOLDERS;
    for (const char *at = bytes->data; *at != RECORD_END;) {
        const char *path = at + 1;
        if (*at == RECORD_ROOT) {
            restore_root(&watch->restored.roots, path);
        } else if (*at == RECORD_GUARD) {
            restore_guard(&watch->restored, path);
        } else {
            path = restore_folder(&watch->before, path);
        }
        at = path + strlen(path) + 1;
    }
    return watch;
}
