// SPDX-License-Identifier: Apache-2.0
/* The progress log. */
#include "prd/progress.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text/plain.h"
#include "os/file.h"
#include "os/file_untrusted.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] = "# Progress Log\n\n## Codebase Patterns\n\n---\n";
static const char cut_mark[] = "[...]\n";

/* ---- Writing -------------------------------------------------------------------------------- */

/** Whether a line could be taken for a part of the log's own form. */
static bool is_structure(const char *line, size_t len)
{
    while (len > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        len--;
    }
    return (len > 0 && *line == '#') || (len >= 3 && strncmp(line, "---", 3) == 0) ||
           (len >= 4 && strncmp(line, "<!--", 4) == 0);
}

/** Whether a line begins or ends code, in which nothing is structure. */
static bool is_fence(const char *line, size_t len)
{
    while (len > 0 && *line == ' ') {
        line++;
        len--;
    }
    return len >= 3 && (strncmp(line, "```", 3) == 0 || strncmp(line, "~~~", 3) == 0);
}

/**
 * Append the lines of a text without what a terminal would obey, their structure escaped. Code that
 * it leaves open would hide the entries after it.
 */
static void append_text(const char *text, size_t limit, struct buf *out)
{
    auto_buf struct buf clean = {0};
    size_t start = out->len;
    bool is_code = false;
    text_clean_lines(text, strlen(text), &clean); /* First: structure may be hidden in it. */
    for (const char *at = buf_string(&clean); *at != '\0';) {
        size_t len = strcspn(at, "\n");
        if (out->len - start + len > limit) {
            buf_append_string(out, cut_mark);
            break;
        }
        bool is_escaped = is_structure(at, len);
        is_code = is_code != (!is_escaped && is_fence(at, len));
        buf_append_string(out, is_escaped ? "\\" : "");
        buf_append(out, at, len);
        buf_append_string(out, "\n");
        at += len + (at[len] == '\n');
    }
    buf_append_string(out, is_code ? "```\n" : "");
}

/** One line of a text. */
static void append_line(const char *text, struct buf *out)
{
    text_clean(text, strlen(text), out);
}

static void append_section(const char *title, const char *text, struct buf *out)
{
    buf_printf(out, "\n### %s\n", title);
    if (text == NULL || *text == '\0') {
        buf_append_string(out, "- none\n");
    } else {
        append_text(text, LIMIT_PROGRESS_ENTRY_BYTES / 4, out);
    }
}

static void append_key(const char *key, struct buf *out)
{
    buf_append_string(out, "<!-- rondo ");
    append_line(key, out);
    buf_append_string(out, " -->\n");
}

void prd_progress_format(const struct prd_progress_entry *entry, struct buf *ret_text)
{
    char time[CLOCK_UTC_SIZE];
    buf_append_string(ret_text, "## Task ");
    append_line(entry->id, ret_text);
    buf_append_string(ret_text, ": ");
    append_line(entry->title, ret_text);
    buf_append_string(ret_text, "\n");
    if (entry->key != NULL) {
        append_key(entry->key, ret_text);
    }
    clock_format_utc(entry->ended_ns, time);
    buf_printf(ret_text, "%s: %s\n", entry->outcome, time);
    if (entry->commit != NULL) {
        buf_append_string(ret_text, "Commit: ");
        append_line(entry->commit, ret_text);
        buf_append_string(ret_text, "\n");
    }
    append_section("What Changed", entry->changed, ret_text);
    append_section("Learnings", entry->learnings, ret_text);
    append_section("Notes for Future Tasks", entry->notes, ret_text);
    buf_append_string(ret_text, "\n---\n");
}

static bool has_key(const struct buf *log, const char *key)
{
    auto_buf struct buf line = {0};
    buf_append_string(&line, "\n");
    append_key(key, &line);
    return log->len > 0 && memmem(log->data, log->len, line.data, line.len) != NULL;
}

static int write_entry(int fd, const char *path, const struct buf *log, const struct buf *text,
                       struct rondo_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not a regular file", path);
    }
    if (log->len + text->len + sizeof(head) > LIMIT_PROGRESS_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "%s is full (%ld bytes); move it away, a new one is created", path,
                         LIMIT_PROGRESS_BYTES);
    }
    auto_buf struct buf whole = {0};
    bool has_end = log->len == 0 || log->data[log->len - 1] == '\n';
    buf_printf(&whole, "%s%s\n", log->len == 0 ? head : "", has_end ? "" : "\n");
    buf_append(&whole, buf_string(text), text->len);
    if (file_write_all(fd, whole.data, whole.len) != 0 || fsync(fd) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot append to %s", path);
    }
    return 0;
}

int prd_progress_append(const char *const *agent_folders, const char *path,
                        const struct prd_progress_entry *entry, struct rondo_error *err)
{
    auto_buf struct buf log = {0};
    auto_buf struct buf text = {0};
    int r = file_read_named(agent_folders, path, LIMIT_PROGRESS_BYTES, &log, err);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        return r;
    }
    if (entry->key != NULL && has_key(&log, entry->key)) {
        return 1;
    }
    prd_progress_format(entry, &text);
    auto_close int fd = file_open_output(agent_folders, path, false, err);
    return fd < 0 ? fd : write_entry(fd, path, &log, &text, err);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** A part of the log. */
struct log_part {
    const char *at;
    size_t len;
};

/** Parts of a log, found in one pass over its lines. */
struct log_parts {
    struct log_part patterns;
    const char **begins; /* of the last entries, as a ring */
    size_t size;
    size_t count; /* entries found */
    const char *end;
};

static bool is_patterns_heading(const char *line, size_t len)
{
    static const char title[] = "codebase patterns";
    return len >= 3 + sizeof(title) - 1 && strncasecmp(line + 3, title, sizeof(title) - 1) == 0;
}

/** Take a heading of the second level. */
static void take_heading(struct log_parts *parts, const char *line, size_t len)
{
    if (is_patterns_heading(line, len)) {
        parts->patterns = (struct log_part){line, 0};
    } else {
        parts->begins[parts->count++ % parts->size] = line;
    }
}

static void find_parts(const char *text, size_t size, struct log_parts *parts)
{
    bool is_code = false;
    bool is_patterns = false;
    for (const char *line = text; line < text + size;) {
        const char *stop = memchr(line, '\n', size - (size_t)(line - text));
        size_t len = (size_t)((stop == NULL ? text + size : stop) - line);
        bool is_heading = !is_code && len > 3 && strncmp(line, "## ", 3) == 0;
        bool is_end = is_heading || (!is_code && len >= 3 && strncmp(line, "---", 3) == 0);
        is_code = is_code != is_fence(line, len);
        if (is_end && is_patterns) {
            parts->patterns.len = (size_t)(line - parts->patterns.at);
            is_patterns = false;
        }
        if (is_heading) {
            take_heading(parts, line, len);
            is_patterns = parts->patterns.at == line;
        }
        line += len + 1;
    }
    parts->end = text + size;
    if (is_patterns) {
        parts->patterns.len = (size_t)(parts->end - parts->patterns.at);
    }
}

/** Append the lines of a part that fit. */
static void append_fitting(const struct log_part *part, size_t budget, struct buf *out)
{
    if (part->len <= budget) {
        buf_append(out, part->at, part->len);
        return;
    }
    size_t len = budget > sizeof(cut_mark) ? budget - sizeof(cut_mark) : 0;
    while (len > 0 && part->at[len - 1] != '\n') {
        len--;
    }
    if (len > 0) {
        buf_append(out, part->at, len);
        buf_append_string(out, cut_mark);
    }
}

/** Whether the section says anything beside its heading. */
static bool has_content(const struct log_part *part)
{
    const char *line = part->len == 0 ? NULL : memchr(part->at, '\n', part->len);
    size_t left = line == NULL ? 0 : part->len - (size_t)(line - part->at);
    for (size_t i = 0; i < left; i++) {
        if ((unsigned char)line[i] > ' ') {
            return true;
        }
    }
    return false;
}

void prd_progress_excerpt(const char *text, size_t len, size_t entries, size_t budget,
                          struct buf *ret_text)
{
    const char *begins[64];
    size_t start = ret_text->len;
    size_t most =
        entries < sizeof(begins) / sizeof(begins[0]) ? entries : sizeof(begins) / sizeof(begins[0]);
    struct log_parts parts = {.begins = begins, .size = most == 0 ? 1 : most};
    find_parts(text, len, &parts);
    if (has_content(&parts.patterns)) {
        append_fitting(&parts.patterns, budget / 2, ret_text);
    }
    size_t left = budget - (ret_text->len - start);
    size_t known = parts.count < most ? parts.count : most;
    size_t first = parts.count;
    const char *from = parts.end;
    while (parts.count - first < known) {
        const char *begin = begins[(first - 1) % parts.size];
        if ((size_t)(parts.end - begin) > left) {
            break;
        }
        from = begin;
        first--;
    }
    struct log_part last = {from, (size_t)(parts.end - from)};
    if (from == parts.end && known > 0) {
        last.at = begins[(parts.count - 1) % parts.size];
        last.len = (size_t)(parts.end - last.at);
    }
    append_fitting(&last, left, ret_text);
}

int prd_progress_read(const char *const *agent_folders, const char *path, size_t entries,
                      size_t budget, struct buf *ret_text, struct rondo_error *err)
{
    auto_buf struct buf log = {0};
    struct rondo_error fault = {0};
    int r = file_read_named(agent_folders, path, LIMIT_PROGRESS_BYTES, &log, &fault);
    if (r == RONDO_ERR_NOT_FOUND) {
        return 0;
    }
    if (r < 0) {
        return error_set(err, r, "%s", fault.message);
    }
    prd_progress_excerpt(buf_string(&log), log.len, entries, budget, ret_text);
    return 0;
}
