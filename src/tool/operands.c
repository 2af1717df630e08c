// SPDX-License-Identifier: Apache-2.0
/*
 * Files that a call names. A word counts when there is a file of its name, so that what is made or
 * removed in the meantime changes the list.
 *
 * Commands may change their folder first (`cd DIR && ./x`, `make -C DIR`): the words of a command
 * are names in each folder that it names, too.
 */
#include "tool/operands.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file_untrusted.h"
#include "tool/canonical.h"
#include "tool/secret_files.h"
#include "tool/shell_words.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "folder"

struct operand_walk {
    const char *workspace;
    const char *base;  /* of relative paths */
    int folder_fd;     /* the workspace */
    bool is_shell;     /* patterns are files, and not the arithmetic of a program */
    size_t words;      /* of this pass */
    size_t passes;     /* in other folders than the base */
    size_t entries;    /* of folders, looked at for patterns */
    size_t bytes_left; /* that may still be read */
    struct tool_operands *operands;
};

/* ---- One file ------------------------------------------------------------------------------- */

static void write_digest(struct digest *hash, const char *prefix,
                         char ret_digest[OPERAND_DIGEST_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    digest_finish(hash, bytes);
    digest_hex(bytes, hex);
    snprintf(ret_digest, OPERAND_DIGEST_SIZE, "%s:%s", prefix, hex);
}

/** What changes with each change of a file: the kernel sets the time of its last change. */
static void digest_status(const struct stat *status, char ret_digest[OPERAND_DIGEST_SIZE])
{
    struct digest hash = digest_begin();
    digest_add_u64(&hash, status->st_ino);
    digest_add_u64(&hash, status->st_mode);
    digest_add_u64(&hash, (uint64_t)status->st_size);
    digest_add_u64(&hash, (uint64_t)status->st_mtim.tv_sec);
    digest_add_u64(&hash, (uint64_t)status->st_mtim.tv_nsec);
    digest_add_u64(&hash, (uint64_t)status->st_ctim.tv_sec);
    digest_add_u64(&hash, (uint64_t)status->st_ctim.tv_nsec);
    write_digest(&hash, "stat", ret_digest);
}

/** @return whether there is such a file. The digest of a secret could be guessed. */
static bool digest_file(struct operand_walk *walk, const char *path,
                        char ret_digest[OPERAND_DIGEST_SIZE])
{
    struct stat status;
    auto_buf struct buf content = {0};
    auto_close int fd = file_open_beneath(walk->folder_fd, path, O_PATH | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) < 0) {
        return false;
    }
    if (S_ISDIR(status.st_mode)) {
        snprintf(ret_digest, OPERAND_DIGEST_SIZE, FOLDER);
    } else if (!secret_file_is(path) &&
               file_read_untrusted(walk->folder_fd, path, walk->bytes_left, &content, NULL) == 0) {
        struct digest hash = digest_begin();
        digest_add(&hash, content.data, content.len);
        write_digest(&hash, "sha256", ret_digest);
        walk->bytes_left -= content.len;
    } else {
        digest_status(&status, ret_digest);
    }
    return true;
}

/* ---- The list ------------------------------------------------------------------------------- */

/** Where a path belongs in the list. @return whether it is there */
static bool find_place(const struct tool_operands *operands, const char *path, size_t *ret_place)
{
    size_t i = 0;
    while (i < operands->count && strcmp(operands->items[i].path, path) < 0) {
        i++;
    }
    *ret_place = i;
    return i < operands->count && strcmp(operands->items[i].path, path) == 0;
}

/** @param path taken over, also when there is no room */
static void insert(struct operand_walk *walk, struct buf *path, const char *digest)
{
    struct tool_operands *operands = walk->operands;
    struct tool_operand operand = {0};
    size_t place = 0;
    if (operands->is_cut || find_place(operands, buf_string(path), &place)) {
        return;
    }
    if (operands->count == LIMIT_OPERANDS) {
        operands->is_cut = true;
        return;
    }
    snprintf(operand.digest, sizeof(operand.digest), "%s", digest);
    operand.path = buf_steal(path);
    operands->items = memory_resize(operands->items, operands->count + 1, sizeof(operand));
    memmove(&operands->items[place + 1], &operands->items[place],
            (operands->count - place) * sizeof(operand));
    operands->items[place] = operand;
    operands->count++;
}

static void add_path(struct operand_walk *walk, const char *word)
{
    struct tool_operands *operands = walk->operands;
    char digest[OPERAND_DIGEST_SIZE] = "outside";
    auto_buf struct buf path = {0};
    size_t place = 0;
    canonical_path(walk->base, walk->workspace, word, &path);
    const char *name = buf_string(&path);
    bool is_outside = name[0] == '/';
    /* What is named where it is lies out of reach; a link to it does not. */
    if (operands->is_cut || find_place(operands, name, &place) ||
        (is_outside && strcmp(name, word) == 0)) {
        return;
    }
    if (is_outside || digest_file(walk, name, digest)) {
        insert(walk, &path, digest);
    }
}

/* ---- Patterns ------------------------------------------------------------------------------- */

/** The files that a pattern matches. */
struct pattern_walk {
    struct operand_walk *walk;
    char *matches[LIMIT_OPERAND_MATCHES]; /* in the walk's base */
    size_t count;
    bool is_cut;
};

static bool is_mark(char byte)
{
    return byte == '*' || byte == '?' || byte == '[';
}

static bool has_mark(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (is_mark(text[i])) {
            return true;
        }
    }
    return false;
}

static void expand(struct pattern_walk *pattern, const char *before, const char *rest);

/** Continue with a name in the place of a part of the pattern. */
static void take_name(struct pattern_walk *pattern, const char *before, const char *name,
                      size_t len, const char *rest)
{
    auto_buf struct buf path = {0};
    bool is_begin = before[0] == '\0' || strcmp(before, "/") == 0;
    buf_printf(&path, "%s%s%.*s", before, is_begin ? "" : "/", (int)len, name);
    if (rest != NULL) {
        expand(pattern, buf_string(&path), rest);
    } else if (pattern->count == LIMIT_OPERAND_MATCHES) {
        pattern->is_cut = true;
    } else {
        pattern->matches[pattern->count++] = buf_steal(&path);
    }
}

/** Of a folder outside of the workspace only what leads to the workspace counts. */
static void take_way_in(struct pattern_walk *pattern, const char *folder, const char *before,
                        const char *part, const char *rest)
{
    const char *workspace = pattern->walk->workspace;
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (strncmp(workspace, folder, len) != 0 || workspace[len] != '/') {
        return;
    }
    auto_buf struct buf name = {0};
    buf_append(&name, workspace + len + 1, strcspn(workspace + len + 1, "/"));
    if (fnmatch(part, buf_string(&name), FNM_PERIOD) == 0) {
        take_name(pattern, before, buf_string(&name), name.len, rest);
    }
}

/** All names in the folder `before` that match a part of the pattern. */
static void take_matches(struct pattern_walk *pattern, const char *before, const char *part,
                         const char *rest)
{
    auto_buf struct buf folder = {0};
    struct dirent *entry = NULL;
    canonical_path(pattern->walk->base, pattern->walk->workspace, before[0] == '\0' ? "." : before,
                   &folder);
    const char *name = folder.len == 0 ? "." : buf_string(&folder);
    if (name[0] == '/') {
        take_way_in(pattern, name, before, part, rest);
        return;
    }
    int fd = file_open_beneath(pattern->walk->folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (list == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    while (!pattern->is_cut && (entry = readdir(list)) != NULL) {
        pattern->is_cut = pattern->walk->entries++ >= LIMIT_OPERAND_ENTRIES;
        if (fnmatch(part, entry->d_name, FNM_PERIOD) == 0) {
            take_name(pattern, before, entry->d_name, strlen(entry->d_name), rest);
        }
    }
    closedir(list);
}

static void expand(struct pattern_walk *pattern, const char *before, const char *rest)
{
    const char *slash = strchr(rest, '/');
    size_t len = slash == NULL ? strlen(rest) : (size_t)(slash - rest);
    const char *next = slash == NULL ? NULL : slash + strspn(slash, "/");
    next = next == NULL || *next == '\0' ? NULL : next;
    if (pattern->is_cut) {
        return;
    }
    if (has_mark(rest, len)) {
        auto_buf struct buf part = {0};
        buf_append(&part, rest, len);
        take_matches(pattern, before, buf_string(&part), next);
    } else {
        take_name(pattern, before, rest, len, next);
    }
}

static int order_names(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/** One digest of all files, with their names. */
static void digest_matches(struct pattern_walk *pattern, char ret_digest[OPERAND_DIGEST_SIZE])
{
    struct digest hash = digest_begin();
    qsort(pattern->matches, pattern->count, sizeof(pattern->matches[0]), order_names);
    for (size_t i = 0; i < pattern->count; i++) {
        auto_buf struct buf path = {0};
        char digest[OPERAND_DIGEST_SIZE] = "outside";
        canonical_path(pattern->walk->base, pattern->walk->workspace, pattern->matches[i], &path);
        if (buf_string(&path)[0] == '/' || digest_file(pattern->walk, buf_string(&path), digest)) {
            digest_add(&hash, pattern->matches[i], strlen(pattern->matches[i]) + 1);
            digest_add(&hash, buf_string(&path), path.len + 1);
            digest_add(&hash, digest, strlen(digest) + 1);
        }
    }
    write_digest(&hash, "sha256", ret_digest);
}

/** A pattern is one operand: its digest is that of all that it matches. */
static void add_pattern(struct operand_walk *walk, const char *text, size_t len)
{
    struct pattern_walk pattern = {.walk = walk};
    char digest[OPERAND_DIGEST_SIZE];
    auto_buf struct buf word = {0};
    buf_append(&word, text, len);
    const char *rest = buf_string(&word) + strspn(buf_string(&word), "/");
    bool is_absolute = text[0] == '/';
    expand(&pattern, is_absolute ? "/" : "", rest);
    if (pattern.is_cut && walk->is_shell) { /* What cannot be compared cannot be approved. */
        walk->operands->is_cut = true;
    } else if (pattern.count > 0 && !pattern.is_cut) {
        auto_buf struct buf path = {0};
        bool is_whole = is_absolute || strcmp(walk->base, walk->workspace) == 0;
        digest_matches(&pattern, digest);
        buf_printf(&path, "%s%s%s", is_whole ? "" : walk->base, is_whole ? "" : "/",
                   buf_string(&word));
        insert(walk, &path, digest);
    }
    for (size_t i = 0; i < pattern.count; i++) {
        free(pattern.matches[i]);
    }
}

/* ---- Words ---------------------------------------------------------------------------------- */

static void add_word(struct operand_walk *walk, const char *text, size_t len)
{
    char word[PATH_MAX];
    if (len == 0 || len >= sizeof(word) || walk->operands->is_cut) {
        return;
    }
    if (walk->words++ == LIMIT_OPERAND_WORDS) {
        walk->operands->is_cut = true;
        return;
    }
    memcpy(word, text, len);
    word[len] = '\0';
    if (strspn(word, "./") != len && strpbrk(word, "\n") == NULL) {
        add_path(walk, word);
    }
}

/** A word of a command: what follows an option's letter, or an @, may be a name. So may what
 * follows a variable that holds a folder, and /proc/self/cwd is one. */
static void add_command_word(struct operand_walk *walk, const char *text, size_t len,
                             bool is_after_variable)
{
    const char *cwd = memmem(text, len, "/cwd/", 5);
    const char *slash = memchr(text, '/', len);
    if (cwd == NULL || len < 6 || memcmp(text, "/proc/", 6) != 0) {
        add_word(walk, text, len);
    }
    if (len > 1 && text[0] == '@') {
        add_word(walk, text + 1, len - 1);
    } else if (len > 2 && text[0] == '-' && text[1] != '-') {
        add_word(walk, text + 2, len - 2);
    }
    if (cwd != NULL) {
        cwd += 5;
        add_word(walk, cwd, len - (size_t)(cwd - text));
    } else if (is_after_variable && slash != NULL) {
        add_word(walk, slash + 1, len - (size_t)(slash + 1 - text));
    }
}

static bool is_of_word(char byte)
{
    return (unsigned char)byte >= 0x80 || ascii_is_letter_or_digit(byte) ||
           (byte != '\0' && strchr("._-/+@%~", byte) != NULL);
}

/** Words of what may be written together, such as `--file=NAME`. */
static void add_words(struct operand_walk *walk, const char *text)
{
    char before = ' ';
    while (*text != '\0') {
        size_t len = 0;
        while (is_of_word(text[len])) {
            len++;
        }
        add_command_word(walk, text, len, strchr("$})`'\"", before) != NULL);
        len += len > 0 ? 0 : 1;
        before = text[len - 1];
        text += len;
    }
}

/** The same of words with marks of a pattern, such as `*.sh`. */
static void add_patterns(struct operand_walk *walk, const char *text)
{
    while (*text != '\0') {
        size_t len = 0;
        bool is_pattern = false;
        while (is_of_word(text[len]) || is_mark(text[len]) ||
               (text[len] != '\0' && strchr("]!^", text[len]) != NULL)) {
            is_pattern = is_pattern || is_mark(text[len]);
            len++;
        }
        if (is_pattern && len < PATH_MAX) {
            add_pattern(walk, text, len);
        }
        text += len > 0 ? len : 1;
    }
}

/** Texts in quotes on one line: a name may have blanks. */
static void add_quoted(struct operand_walk *walk, const char *text)
{
    for (const char *at = strpbrk(text, "'\""); at != NULL; at = strpbrk(at, "'\"")) {
        char ends[] = {*at, '\n', '\0'};
        size_t len = strcspn(at + 1, ends);
        bool is_closed = at[1 + len] == *at;
        if (is_closed) {
            add_word(walk, at + 1, len);
        }
        at += 1;
    }
}

static void add_line(struct operand_walk *walk, const char *line)
{
    auto_shell_words struct shell_words words = {0};
    if (shell_words_split(line, &words) == NULL) {
        for (size_t i = 0; i < words.count; i++) {
            add_command_word(walk, words.words[i], strlen(words.words[i]), false);
        }
    }
    add_quoted(walk, line);
    add_words(walk, line);
    add_patterns(walk, line);
}

/** @return the path of a folder of the list that is not in `done`, or NULL; owned by the list */
static const char *find_folder(const struct tool_operands *operands, char *const *done,
                               size_t done_count)
{
    for (size_t i = 0; i < operands->count; i++) {
        const struct tool_operand *operand = &operands->items[i];
        bool is_new = strcmp(operand->digest, FOLDER) == 0;
        for (size_t k = 0; is_new && k < done_count; k++) {
            is_new = strcmp(done[k], operand->path) != 0;
        }
        if (is_new) {
            return operand->path;
        }
    }
    return NULL;
}

/** The words of a command, in its folder and in all that it names. */
static void add_command(struct operand_walk *walk, const char *line)
{
    const char *base = walk->base;
    char *done[LIMIT_OPERANDS];
    size_t count = 0;
    const char *folder = NULL;
    add_line(walk, line);
    while (!walk->operands->is_cut && (folder = find_folder(walk->operands, done, count)) != NULL) {
        auto_buf struct buf path = {0};
        done[count++] = memory_dup_string(folder);
        buf_printf(&path, "%s/%s", walk->workspace, folder);
        if (walk->passes++ == LIMIT_OPERAND_FOLDERS) {
            walk->operands->is_cut = true;
            break;
        }
        walk->base = buf_string(&path);
        walk->words = 0;
        add_line(walk, line);
    }
    walk->base = base;
    for (size_t i = 0; i < count; i++) {
        free(done[i]);
    }
}

static void add_argument(void *context, enum argument_kind kind, const char *text)
{
    struct operand_walk *walk = context;
    switch (kind) {
    case ARGUMENT_PATH:
        add_word(walk, text, strlen(text));
        break;
    case ARGUMENT_COMMAND:
    case ARGUMENT_SCRIPT:
    case ARGUMENT_PROGRAM:
        walk->is_shell = kind != ARGUMENT_PROGRAM;
        add_command(walk, text);
        break;
    case ARGUMENT_PLAIN:
    case ARGUMENT_URL:
    case ARGUMENT_URL_PATH:
    case ARGUMENT_HOST:
    case ARGUMENT_METHOD:
        break;
    }
}

void operands_read(const struct tool *tool, const char *workspace, struct json_object *arguments,
                   struct tool_operands *ret_operands)
{
    /* opens: the workspace itself, whose place the run's owner has chosen */
    auto_close int folder_fd = file_open_folder(workspace, NULL);
    struct operand_walk walk = {
        .workspace = workspace,
        .base = tool->folder == NULL ? workspace : tool->folder,
        .folder_fd = folder_fd,
        .bytes_left = LIMIT_OPERAND_BYTES,
        .operands = ret_operands,
    };
    *ret_operands = (struct tool_operands){0};
    if (folder_fd >= 0) {
        canonical_visit(tool, arguments, add_argument, &walk);
    }
}

void operands_fini(struct tool_operands *operands)
{
    for (size_t i = 0; i < operands->count; i++) {
        free(operands->items[i].path);
    }
    free(operands->items);
    *operands = (struct tool_operands){0};
}
