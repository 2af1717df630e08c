// SPDX-License-Identifier: Apache-2.0
/*
 * A strict reader of the simple part of git-config(1): one setting a line, no continuation, no
 * quotes in values. Keys are an allow list, because those that execute something are many and
 * become more.
 */
#include "os/sandbox/git_config.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NAME_SIZE 64

struct setting {
    const char *section;
    const char *key;
};

static const struct setting harmless[] = {
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
struct line {
    const char *at;
    const char *end;
};

static void skip_blanks(struct line *line)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t' || *line->at == '\r')) {
        line->at++;
    }
}

static bool is_at_end(struct line *line)
{
    skip_blanks(line);
    return line->at == line->end || *line->at == '#' || *line->at == ';';
}

/** Take letters, digits and dashes. */
static bool take_name(struct line *line, char name[NAME_SIZE])
{
    size_t len = 0;
    while (line->at < line->end && (isalnum((unsigned char)*line->at) || *line->at == '-')) {
        if (len == NAME_SIZE - 1) {
            return false;
        }
        name[len++] = *line->at++;
    }
    name[len] = '\0';
    return len > 0;
}

static bool take_letter(struct line *line, char letter)
{
    if (line->at == line->end || *line->at != letter) {
        return false;
    }
    line->at++;
    return true;
}

/** [section] or [section "name"], alone in its line. */
static bool take_section(struct line *line, char section[NAME_SIZE])
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
static bool is_plain_value(const struct line *line)
{
    size_t len = (size_t)(line->end - line->at);
    if (len > 0 && (line->at[0] == '-' || line->at[0] == '!')) {
        return false;
    }
    return memchr(line->at, '\\', len) == NULL && memchr(line->at, '"', len) == NULL &&
           memchr(line->at, '\0', len) == NULL && memmem(line->at, len, "::", 2) == NULL;
}

static bool is_harmless_setting(struct line *line, const char *section)
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
        struct line line = {.at = text, .end = newline == NULL ? end : newline};
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
