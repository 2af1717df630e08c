// SPDX-License-Identifier: Apache-2.0
/*
 * A strict reader of the simple part of git-config(1): one setting a line, no continuation, no
 * quotes in values. Keys are an allow list, because those that execute something are many and
 * become more.
 */
#include "os/sandbox/git_config.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file_untrusted.h"
#include "os/path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define NAME_SIZE 64

struct git_setting {
    const char *section;
    const char *key;
};

static const struct git_setting harmless[] = {
    {"core", "repositoryformatversion"},
    {"core", "filemode"},
    {"core", "bare"},
    {"core", "logallrefupdates"},
    {"core", "ignorecase"},
    {"core", "precomposeunicode"},
    {"core", "symlinks"},
    {"core", "autocrlf"},
    {"core", "safecrlf"},
    {"core", "eol"},
    {"core", "quotepath"},
    {"core", "abbrev"},
    {"core", "compression"},
    {"core", "untrackedcache"},
    {"core", "preloadindex"},
    {"core", "sparsecheckout"},
    {"core", "sparsecheckoutcone"},
    {"extensions", "objectformat"},
    {"extensions", "refstorage"},
    {"extensions", "partialclone"},
    {"remote", "url"},
    {"remote", "fetch"},
    {"remote", "tagopt"},
    {"remote", "prune"},
    {"remote", "mirror"},
    {"remote", "promisor"},
    {"remote", "partialclonefilter"},
    {"branch", "remote"},
    {"branch", "merge"},
    {"branch", "rebase"},
    {"submodule", "active"},
    {"submodule", "url"},
    {"user", "name"},
    {"user", "email"},
    {"init", "defaultbranch"},
    {"pull", "rebase"},
    {"pull", "ff"},
    {"fetch", "prune"},
    {"gc", "auto"},
    {"commit", "gpgsign"},
    {"lfs", "repositoryformatversion"},
};

/* A line without its end. */
struct config_line {
    const char *at;
    const char *end;
};

static void skip_blanks(struct config_line *line)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t' || *line->at == '\r')) {
        line->at++;
    }
}

static bool is_at_end(struct config_line *line)
{
    skip_blanks(line);
    return line->at == line->end || *line->at == '#' || *line->at == ';';
}

/** Take letters, digits and dashes. */
static bool take_name(struct config_line *line, char name[NAME_SIZE])
{
    size_t len = 0;
    while (line->at < line->end && (ascii_is_letter_or_digit(*line->at) || *line->at == '-')) {
        if (len == NAME_SIZE - 1) {
            return false;
        }
        name[len++] = *line->at++;
    }
    name[len] = '\0';
    return len > 0;
}

static bool take_letter(struct config_line *line, char letter)
{
    if (line->at == line->end || *line->at != letter) {
        return false;
    }
    line->at++;
    return true;
}

/** [section] or [section "name"], alone in its line. */
static bool take_section(struct config_line *line, char section[NAME_SIZE])
{
    if (!take_letter(line, '[') || !take_name(line, section)) {
        return false;
    }
    skip_blanks(line);
    if (take_letter(line, '"')) {
        while (line->at < line->end && *line->at != '"') {
            if (*line->at == '\\') {
                return false;
            }
            line->at++;
        }
        if (!take_letter(line, '"')) {
            return false;
        }
    }
    return take_letter(line, ']') && is_at_end(line);
}

/** A value that stays on its line, names no helper program and is no option of one. */
static bool is_plain_value(const struct config_line *line)
{
    size_t len = (size_t)(line->end - line->at);
    if (len > 0 && (line->at[0] == '-' || line->at[0] == '!')) {
        return false;
    }
    return memchr(line->at, '\\', len) == NULL && memchr(line->at, '"', len) == NULL &&
           memchr(line->at, '\0', len) == NULL && memmem(line->at, len, "::", 2) == NULL;
}

static bool is_harmless_setting(struct config_line *line, const char *section)
{
    char key[NAME_SIZE];
    if (!take_name(line, key)) {
        return false;
    }
    if (!is_at_end(line)) {
        if (!take_letter(line, '=')) {
            return false;
        }
        skip_blanks(line);
        if (!is_plain_value(line)) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        if (strcasecmp(harmless[i].section, section) == 0 &&
            strcasecmp(harmless[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

bool sandbox_git_config_is_harmless(const char *text, size_t len)
{
    char section[NAME_SIZE] = "";
    const char *end = text + len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        struct config_line line = {.at = text, .end = newline == NULL ? end : newline};
        text = newline == NULL ? end : newline + 1;
        if (is_at_end(&line)) {
            continue;
        }
        bool is_harmless =
            *line.at == '[' ? take_section(&line, section) : is_harmless_setting(&line, section);
        if (!is_harmless) {
            return false;
        }
    }
    return true;
}

/* --- paths that a person's settings name --- */

/** As git reads it: blanks around, quotes, escapes and comments. Longer values are cut off. */
static void take_value(struct config_line *line, char value[PATH_MAX])
{
    size_t len = 0;
    size_t kept = 0;
    bool is_quoted = false;
    skip_blanks(line);
    for (; line->at < line->end && len < PATH_MAX - 1; line->at++) {
        char c = *line->at;
        if (c == '"') {
            is_quoted = !is_quoted;
            continue;
        }
        if (!is_quoted && (c == '#' || c == ';')) {
            break;
        }
        if (c == '\\' && line->at + 1 < line->end) {
            c = *++line->at;
        }
        value[len++] = c;
        kept = is_quoted || ascii_is_space(c) == 0 ? len : kept;
    }
    value[kept] = '\0';
}

/** Leniently, unlike take_section(): a setting may follow on the same line. */
static void enter_section(struct config_line *line, char section[NAME_SIZE])
{
    bool is_quoted = false;
    line->at++;
    section[0] = '\0';
    (void)take_name(line, section);
    while (line->at < line->end && (is_quoted || *line->at != ']')) {
        is_quoted = *line->at == '"' ? !is_quoted : is_quoted;
        line->at++;
    }
    line->at += line->at < line->end ? 1 : 0;
}

/** The words of a value, as a shell or git could take them for paths. */
static void take_words(const char *value, git_path_taker *take, void *context)
{
    static const char between[] = " \t\r'\"`;|&()<>!=,";
    char word[PATH_MAX];
    for (const char *at = value + strspn(value, between); *at != '\0'; at += strspn(at, between)) {
        size_t len = strcspn(at, between);
        snprintf(word, sizeof(word), "%.*s", (int)len, at);
        if (strchr(word, '/') != NULL) {
            take(context, word, GIT_WORD);
        }
        at += len;
    }
}

void sandbox_git_config_paths(const char *text, size_t len, git_path_taker *take, void *context)
{
    char section[NAME_SIZE] = "";
    const char *end = text + len;
    while (text < end) {
        char key[NAME_SIZE];
        char value[PATH_MAX];
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        struct config_line line = {.at = text, .end = newline == NULL ? end : newline};
        text = newline == NULL ? end : newline + 1;
        skip_blanks(&line);
        if (line.at < line.end && *line.at == '[') {
            enter_section(&line, section);
            skip_blanks(&line);
        }
        if (!take_name(&line, key)) {
            continue;
        }
        skip_blanks(&line);
        if (!take_letter(&line, '=')) {
            continue;
        }
        take_value(&line, value);
        if (strcasecmp(section, "core") == 0 && strcasecmp(key, "hooksPath") == 0) {
            take(context, value, GIT_HOOKS);
        } else if (strncasecmp(section, "include", strlen("include")) == 0 &&
                   strcasecmp(key, "path") == 0) {
            take(context, value, GIT_INCLUDED);
        } else {
            take_words(value, take, context);
        }
    }
}

/* How many files may include each other in turn, as in git. */
#define INCLUDES_MAX 10

struct named_by_git {
    const char *work_tree;
    const char *folder; /* of the file that is read */
    char **paths;       /* owned */
    size_t count;
    int depth;
};

static void read_paths(struct named_by_git *named, const char *file);

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static void take_path(void *context, const char *path, enum git_named kind)
{
    struct named_by_git *named = context;
    auto_buf struct buf whole = {0};
    if (path[0] != '/') {
        buf_printf(&whole, "%s/", kind == GIT_INCLUDED ? named->folder : named->work_tree);
    }
    buf_append_string(&whole, path);
    char *canonical = realpath(buf_string(&whole), NULL);
    bool is_new = canonical != NULL && path_is_below(canonical, named->work_tree) &&
                  (kind != GIT_WORD || is_file(canonical));
    for (size_t i = 0; is_new && i < named->count; i++) {
        is_new = strcmp(named->paths[i], canonical) != 0;
    }
    if (!is_new) {
        free(canonical);
        return;
    }
    named->paths = memory_resize(named->paths, named->count + 2, sizeof(*named->paths));
    named->paths[named->count++] = canonical;
    named->paths[named->count] = NULL;
    if (kind == GIT_INCLUDED) {
        read_paths(named, canonical);
    }
}

static void read_paths(struct named_by_git *named, const char *file)
{
    const char *const agent_folders[] = {named->work_tree, NULL};
    auto_buf struct buf text = {0};
    auto_free char *folder = memory_dup_bytes(file, (size_t)(strrchr(file, '/') - file));
    const char *outer = named->folder;
    /* What cannot be read is nothing that a person could have set up so. */
    if (named->depth < INCLUDES_MAX &&
        file_read_named(agent_folders, file, LIMIT_SANDBOX_GIT_SUM_BYTES, &text, NULL) == 0) {
        named->folder = folder;
        named->depth++;
        sandbox_git_config_paths(buf_string(&text), text.len, take_path, named);
        named->depth--;
        named->folder = outer;
    }
}

char **sandbox_git_named(const char *work_tree)
{
    static const char *const files[] = {".git/config", ".git/config.worktree"};
    struct named_by_git named = {.work_tree = work_tree};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        auto_buf struct buf file = {0};
        buf_printf(&file, "%s/%s", work_tree, files[i]);
        read_paths(&named, buf_string(&file));
    }
    return named.paths;
}
