// SPDX-License-Identifier: Apache-2.0
/*
 * Walking through folders. Everything is opened below the folder of the pattern by
 * tool/builtin/filesystem_path, which follows no links and does not reach what agents must not see.
 */
#include "tool/data/document_files.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/memory.h"
#include "tool/builtin/filesystem_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Folders inside of each other. */
#define MAX_DEPTH 16

struct document_walk {
    struct path_root root;
    const char *pattern; /* from the root */
    const char *prefix;  /* of the pattern, before that: shown with paths */
    size_t prefix_len;
    struct document_bounds *bounds;
    document_fn *fn;
    void *context;
    enum document_end end; /* a reason to stop, if there is one */
    bool is_over;
};

bool document_path_fits(const char *pattern, const char *path)
{
    while (strncmp(pattern, "**/", 3) == 0) {
        const char *slash = strchr(path, '/');
        if (document_path_fits(pattern + 3, path)) {
            return true;
        }
        if (slash == NULL || path[0] == '.') {
            return false;
        }
        path = slash + 1;
    }
    if (strcmp(pattern, "**") == 0) {
        return path[0] != '.';
    }
    size_t part_len = strcspn(pattern, "/");
    size_t name_len = strcspn(path, "/");
    auto_free char *part = memory_dup_bytes(pattern, part_len);
    auto_free char *name = memory_dup_bytes(path, name_len);
    if (fnmatch(part, name, FNM_PERIOD) != 0) {
        return false;
    }
    if (pattern[part_len] == '\0' || path[name_len] == '\0') {
        return pattern[part_len] == path[name_len];
    }
    return document_path_fits(pattern + part_len + 1, path + name_len + 1);
}

enum document_end document_bounds_check(const struct document_bounds *bounds)
{
    if (cancel_is_set(bounds->cancel)) {
        return DOCUMENT_END_CANCELLED;
    }
    bool is_late = bounds->deadline_ns > 0 && clock_monotonic(bounds->clock) >= bounds->deadline_ns;
    return is_late ? DOCUMENT_END_LATE : DOCUMENT_END_ALL;
}

static void stop(struct document_walk *walk, enum document_end end)
{
    if (end != DOCUMENT_END_ALL) {
        walk->end = end;
        walk->is_over = true;
    }
}

static int open_at(const struct document_walk *walk, const char *path, int flags)
{
    struct tool_result unused = {0};
    const struct path_question question = {&walk->root, path, "read"};
    int fd = path_open(&question, flags | O_NONBLOCK | O_NOCTTY, &unused);
    tool_result_fini(&unused);
    return fd;
}

static void visit_file(struct document_walk *walk, const char *path)
{
    auto_close int fd = open_at(walk, path, O_RDONLY);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        auto_buf struct buf shown = {0};
        buf_printf(&shown, "%.*s%s", (int)walk->prefix_len, walk->prefix, path);
        walk->is_over = !walk->fn(buf_string(&shown), fd, walk->context);
    }
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/**
 * @return names in a folder, sorted; NULL-terminated, memory_free_list(). NULL also when there are
 *         more than are left: which of them the system gives first is chance.
 */
static char **names_of(struct document_walk *walk, int fd)
{
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        close(fd);
        return NULL;
    }
    char **names = NULL;
    size_t count = 0;
    struct dirent *entry;
    while (!walk->is_over && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        stop(walk, document_bounds_check(walk->bounds));
        stop(walk, walk->bounds->names_left == 0 ? DOCUMENT_END_NAMES : DOCUMENT_END_ALL);
        walk->bounds->names_left -= walk->bounds->names_left > 0;
        if (walk->is_over || entry->d_name[0] == '.') {
            continue;
        }
        names = memory_resize(names, count + 2, sizeof(*names));
        names[count++] = memory_dup_string(entry->d_name);
        names[count] = NULL;
    }
    closedir(folder);
    if (walk->is_over) {
        memory_free_list(names);
        return NULL;
    }
    if (count > 0) {
        qsort(names, count, sizeof(*names), compare_names);
    }
    return names;
}

static void visit_folder(struct document_walk *walk, const char *path, int depth)
{
    int fd = depth > MAX_DEPTH ? -1 : open_at(walk, path, O_RDONLY | O_DIRECTORY);
    char **names = fd < 0 ? NULL : names_of(walk, fd);
    for (char **name = names; name != NULL && *name != NULL && !walk->is_over; name++) {
        stop(walk, document_bounds_check(walk->bounds));
        if (walk->is_over) {
            break;
        }
        auto_buf struct buf inner = {0};
        bool is_root = strcmp(path, ".") == 0;
        buf_printf(&inner, "%s%s%s", is_root ? "" : path, is_root ? "" : "/", *name);
        auto_close int folder = open_at(walk, buf_string(&inner), O_RDONLY | O_DIRECTORY);
        if (folder >= 0) {
            visit_folder(walk, buf_string(&inner), depth + 1);
        } else if (document_path_fits(walk->pattern, buf_string(&inner))) {
            visit_file(walk, buf_string(&inner));
        }
    }
    memory_free_list(names);
}

/** Bytes of a pattern before the first folder with a wildcard in it. */
static size_t plain_len(const char *text)
{
    size_t end = strcspn(text, "*?[");
    while (text[end] != '\0' && end > 0 && text[end - 1] != '/') {
        end--;
    }
    return end;
}

enum document_end document_files_visit(const struct tool_surroundings *around,
                                       const struct document_pattern *pattern,
                                       struct document_bounds *bounds, document_fn *fn,
                                       void *context)
{
    auto_buf struct buf base = {0};
    const char *text = pattern->text;
    while (text[0] == '.' && text[1] == '/') {
        text += 2 + strspn(text + 2, "/");
    }
    size_t len = plain_len(text);
    bool is_plain = text[len] == '\0';
    if (is_plain && text[0] == '/') {
        len = (size_t)(strrchr(text, '/') - text) + 1;
    } else if (is_plain) {
        len = 0;
    }
    buf_printf(&base, "%s%s%.*s", text[0] == '/' ? "" : pattern->folder, text[0] == '/' ? "" : "/",
               (int)len, text);
    struct document_walk walk = {
        .root = {.around = around, .path = buf_string(&base)},
        .bounds = bounds,
        .fn = fn,
        .context = context,
        .pattern = is_plain ? "**" : text + len,
        .prefix = text,
        .prefix_len = len,
    };
    auto_close int folder = is_plain ? open_at(&walk, text + len, O_RDONLY | O_DIRECTORY) : -1;
    if (is_plain && folder < 0) {
        visit_file(&walk, text + len);
    } else {
        visit_folder(&walk, is_plain ? text + len : ".", 0);
    }
    return walk.end;
}
