// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "filesystem": reading, listing and writing below one folder. A file is written as a
 * whole, under another name first, so that nobody sees half of it.
 *
 * all opens: names in a folder that path_open_parent opened without links.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text/utf8.h"
#include "os/file.h"
#include "tool/builtin/filesystem_path.h"
#include "tool/canonical.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Most of a file that is read, bytes. */
#define READ_MAX_BYTES ((size_t)1024 * 1024)
/* Entries of a folder that are listed. */
#define LIST_MAX_ENTRIES 10000
#define READ_CHUNK_BYTES 65536
/* Files made by tools; the umask applies. */
#define FILE_MODE 0666

struct filesystem {
    struct path_root root;
    char *folder;                   /* the root, absolute */
    struct json_object *extensions; /* borrowed array, or NULL = all */
};

/* --- extensions --- */

/** The suffix as Python's Path has it: from the last dot that does not begin the name. */
static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    return dot == NULL || dot == name || dot[1] == '\0' ? "" : dot;
}

static bool is_same_suffix(const char *allowed, const char *suffix)
{
    const char *bare = *suffix == '.' ? suffix + 1 : suffix;
    return strcmp(allowed, suffix) == 0 || (*allowed != '.' && strcmp(allowed, bare) == 0);
}

static bool check_extension(const struct filesystem *filesystem, const char *path,
                            struct tool_result *ret_result)
{
    size_t count = json_length(filesystem->extensions);
    auto_buf struct buf allowed = {0};
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(filesystem->extensions, i);
        const char *text =
            json_object_is_type(item, json_type_string) ? json_object_get_string(item) : "";
        if (is_same_suffix(text, suffix_of(path))) {
            return true;
        }
        buf_printf(&allowed, "%s%s", i > 0 ? ", " : "", text);
    }
    if (count > 0) {
        tool_fail(ret_result, "Error: file type %s is not allowed (allowed: %s)",
                  *suffix_of(path) == '\0' ? "(none)" : suffix_of(path), buf_string(&allowed));
    }
    return count == 0;
}

/* --- reading --- */

/** Read up to one byte more than may be shown. @return errno */
static int read_start(int fd, struct buf *text)
{
    while (text->len <= READ_MAX_BYTES) {
        size_t room = READ_MAX_BYTES + 1 - text->len;
        size_t want = room < READ_CHUNK_BYTES ? room : READ_CHUNK_BYTES;
        ssize_t got = read(fd, buf_room(text, want), want);
        if (got == 0) {
            return 0;
        }
        if (got < 0 && errno != EINTR) {
            return errno;
        }
        buf_grown(text, got > 0 ? (size_t)got : 0);
    }
    return 0;
}

/** Whether the bytes are text; a character that is cut at the end counts as whole. */
static bool is_text(const struct buf *bytes)
{
    size_t step = 1;
    for (size_t i = 0; i < bytes->len; i += step) {
        step = utf8_sequence_len(bytes->data + i, bytes->len - i);
        bool is_cut = bytes->len > READ_MAX_BYTES && bytes->len - i < 4;
        if (bytes->data[i] == '\0' || (step == 0 && !is_cut)) {
            return false;
        }
        step = step == 0 ? 1 : step;
    }
    return true;
}

static void read_open_file(int fd, const char *path, struct tool_result *ret_result)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        tool_fail(ret_result, "Error: cannot read '%s': %s", path, strerrordesc_np(errno));
        return;
    }
    if (S_ISDIR(status.st_mode)) {
        tool_fail(ret_result, "Error: '%s' is a directory; list_directory shows what is in it",
                  path);
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        tool_fail(ret_result, "Error: '%s' is not a regular file", path);
        return;
    }
    int os_errno = read_start(fd, &ret_result->text);
    if (os_errno != 0) {
        tool_fail(ret_result, "Error: cannot read '%s': %s", path, strerrordesc_np(os_errno));
    } else if (!is_text(&ret_result->text)) {
        tool_fail(ret_result, "Error: '%s' is binary (%" PRIdMAX " bytes, not UTF-8 text)", path,
                  (intmax_t)status.st_size);
    } else {
        tool_result_truncate(ret_result, READ_MAX_BYTES);
    }
}

static void run_read_file(const struct tool *tool, const struct tool_call *call,
                          struct tool_result *ret_result)
{
    const struct filesystem *filesystem = tool->context;
    const char *path = json_get_string(call->arguments, "path", "");
    const struct path_question question = {&filesystem->root, path, "read"};
    if (!check_extension(filesystem, path, ret_result)) {
        return;
    }
    /* O_NONBLOCK keeps a FIFO from blocking the open. */
    auto_close int fd = path_open(&question, O_RDONLY | O_NONBLOCK | O_NOCTTY, ret_result);
    if (fd >= 0) {
        read_open_file(fd, path, ret_result);
    }
}

/* --- listing --- */

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/** Names in a folder, sorted; one more than LIST_MAX_ENTRIES when there are more. */
static size_t collect_names(DIR *folder, char **ret_names)
{
    size_t count = 0;
    struct dirent *entry;
    while (count <= LIST_MAX_ENTRIES && (entry = readdir(folder)) != NULL) {
        if (!is_dots(entry->d_name)) {
            ret_names[count++] = memory_dup_string(entry->d_name);
        }
    }
    qsort(ret_names, count, sizeof(*ret_names), compare_names);
    return count;
}

static void list_open_folder(DIR *folder, struct tool_result *ret_result)
{
    auto_free char **names = memory_new_zero(LIST_MAX_ENTRIES + 1, sizeof(*names));
    size_t count = collect_names(folder, names);
    for (size_t i = 0; i < count; i++) {
        if (i < LIST_MAX_ENTRIES) {
            buf_printf(&ret_result->text, "%s%s", i > 0 ? "\n" : "", names[i]);
        }
        free(names[i]);
    }
    if (count == 0) {
        buf_append_string(&ret_result->text, "(empty directory)");
    }
    if (count > LIST_MAX_ENTRIES) {
        buf_append_string(&ret_result->text, "\n[truncated]");
        ret_result->is_truncated = true;
    }
}

static void run_list_directory(const struct tool *tool, const struct tool_call *call,
                               struct tool_result *ret_result)
{
    const struct filesystem *filesystem = tool->context;
    const char *path = json_get_string(call->arguments, "path", ".");
    const struct path_question question = {&filesystem->root, path, "list"};
    int fd = path_open(&question, O_RDONLY | O_DIRECTORY, ret_result);
    if (fd < 0) {
        return;
    }
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        tool_fail(ret_result, "Error: cannot list '%s': %s", path, strerrordesc_np(errno));
        close(fd);
        return;
    }
    list_open_folder(folder, ret_result);
    closedir(folder);
}

/* --- writing --- */

/** Whether the name is free or that of a regular file, whose mode is returned. */
static bool may_replace(int folder_fd, const char *name, const char *path, mode_t *ret_mode,
                        struct tool_result *ret_result)
{
    struct stat status;
    *ret_mode = 0;
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return true; /* What else is wrong shows when the file is made. */
    }
    if (S_ISLNK(status.st_mode)) {
        tool_fail(ret_result, "Error: path component '%s' is a symlink", path);
    } else if (S_ISDIR(status.st_mode)) {
        tool_fail(ret_result, "Error: '%s' is a directory, not a file", path);
    } else if (!S_ISREG(status.st_mode)) {
        tool_fail(ret_result, "Error: '%s' is not a regular file", path);
    } else if (faccessat(folder_fd, name, W_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        /* A rename would replace it all the same; a read-only file is meant to stay. */
        tool_fail(ret_result, "Error: cannot write '%s': %s", path, strerrordesc_np(errno));
    } else {
        *ret_mode = status.st_mode & 07777;
        return true;
    }
    return false;
}

/** @param mode of the file that is replaced; 0 = there is none. @return errno */
static int replace_file(int folder_fd, const char *name, mode_t mode, const char *bytes, size_t len)
{
    char temporary[40];
    snprintf(temporary, sizeof(temporary), ".rondo-%016" PRIx64, random_u64(random_system()));
    auto_close int fd = openat(folder_fd, temporary,
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0) {
        return errno;
    }
    if ((mode != 0 && fchmod(fd, mode) != 0) || file_write_all(fd, bytes, len) != 0 ||
        renameat(folder_fd, temporary, folder_fd, name) != 0) {
        int os_errno = errno;
        unlinkat(folder_fd, temporary, 0);
        return os_errno;
    }
    return 0;
}

static size_t count_characters(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        count += ((unsigned char)text[i] & 0xC0) != 0x80 ? 1 : 0;
    }
    return count;
}

static void run_write_file(const struct tool *tool, const struct tool_call *call,
                           struct tool_result *ret_result)
{
    const struct filesystem *filesystem = tool->context;
    const char *path = json_get_string(call->arguments, "path", "");
    const char *content = json_get_string(call->arguments, "content", "");
    size_t len = strlen(content); /* toolbox_prepare lets no NUL through */
    const struct path_question question = {&filesystem->root, path, "write"};
    auto_buf struct buf name = {0};
    mode_t mode = 0;
    if (path[0] == '\0') {
        tool_fail(ret_result, "Error: the path is empty");
        return;
    }
    if (!check_extension(filesystem, path, ret_result)) {
        return;
    }
    auto_close int folder_fd = path_open_parent(&question, &name, ret_result);
    if (folder_fd < 0 || !may_replace(folder_fd, buf_string(&name), path, &mode, ret_result)) {
        return;
    }
    int os_errno = replace_file(folder_fd, buf_string(&name), mode, content, len);
    if (os_errno != 0) {
        tool_fail(ret_result, "Error: cannot write '%s': %s", path, strerrordesc_np(os_errno));
        return;
    }
    buf_printf(&ret_result->text, "Written %zu bytes to %s", count_characters(content, len), path);
}

/* --- the type --- */

#define PATH_PROPERTY(text) "\"path\":{\"type\":\"string\",\"description\":\"" text "\""

static const struct tool_argument path_arguments[] = {{"path", ARGUMENT_PATH}, {0}};

static const struct tool_function read_functions[] = {
    {
        .name = "read_file",
        .description = "Read a text file. At most 1 MiB of it is shown.",
        .schema = "{\"type\":\"object\",\"properties\":{" PATH_PROPERTY(
            "Path of the file, relative to the root") "}},\"required\":[\"path\"],"
                                                      "\"additionalProperties\":false}",
        .run = run_read_file,
        .arguments = path_arguments,
        .is_idempotent = true,
        .is_concurrent = true,
        .is_read_only = true,
    },
    {
        .name = "list_directory",
        .description = "List the names of what is in a directory.",
        .schema = "{\"type\":\"object\",\"properties\":{" PATH_PROPERTY(
            "Path of the directory, relative to the root") ",\"default\":\".\"}},"
                                                           "\"additionalProperties\":false}",
        .run = run_list_directory,
        .arguments = path_arguments,
        .is_idempotent = true,
        .is_concurrent = true,
        .is_read_only = true,
    },
};

/* To write the same content again changes nothing, so a call in doubt may be repeated. */
static const struct tool_function write_function = {
    .name = "write_file",
    .description = "Write a text file, replacing it if there is one. Missing directories are made.",
    .schema = "{\"type\":\"object\",\"properties\":{" PATH_PROPERTY(
        "Path of the file, relative to the root") "},\"content\":{\"type\":\"string\","
                                                  "\"description\":\"The whole content\"}},"
                                                  "\"required\":[\"path\",\"content\"],"
                                                  "\"additionalProperties\":false}",
    .run = run_write_file,
    .arguments = path_arguments,
    .is_idempotent = true,
};

static void free_filesystem(void *owned)
{
    struct filesystem *filesystem = owned;
    free(filesystem->folder);
    free(filesystem);
}

static int add_function(struct toolbox *toolbox, struct filesystem *filesystem,
                        const struct tool_function *function, struct rondo_error *err)
{
    struct tool tool = toolbox_tool(filesystem_tool_type.name, function, filesystem);
    tool.folder = filesystem->folder;
    return toolbox_add(toolbox, &tool, err);
}

static int open_filesystem(struct toolbox *toolbox, struct json_object *config,
                           struct rondo_error *err)
{
    struct filesystem *filesystem = memory_new_zero(1, sizeof(*filesystem));
    auto_buf struct buf folder = {0};
    toolbox_own(toolbox, filesystem, free_filesystem);
    filesystem->root.around = toolbox_surroundings(toolbox);
    filesystem->root.path = json_get_string(config, "root_path", ".");
    buf_append_string(&folder, "/");
    canonical_path(filesystem->root.around->workspace, "/", filesystem->root.path, &folder);
    filesystem->folder = buf_steal(&folder);
    struct json_object *extensions = NULL;
    if (json_object_object_get_ex(config, "allowed_extensions", &extensions) &&
        json_object_is_type(extensions, json_type_array)) {
        filesystem->extensions = extensions;
    }
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(read_functions) / sizeof(read_functions[0]); i++) {
        r = add_function(toolbox, filesystem, &read_functions[i], err);
    }
    if (r == 0 && !json_get_bool(config, "read_only", true)) {
        r = add_function(toolbox, filesystem, &write_function, err);
    }
    return r;
}

const struct tool_type filesystem_tool_type = {.name = "filesystem", .open = open_filesystem};
