// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical paths. Looks at links; opens nothing.
 *
 * all opens: finds the name that policies see; opens nothing.
 */
#include "tool/canonical.h"

#include "base/auto.h"
#include "base/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/** Append the names of a path to an absolute one; ".." at the top stays there. */
static void append_names(struct buf *absolute, const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");
        if (len == 2 && memcmp(path, "..", 2) == 0) {
            const char *slash =
                absolute->len == 0 ? NULL : memrchr(absolute->data, '/', absolute->len);
            absolute->len = slash == NULL ? 0 : (size_t)(slash - absolute->data);
        } else if (len > 0 && !(len == 1 && *path == '.')) {
            buf_append_string(absolute, "/");
            buf_append(absolute, path, len);
        }
        path += len;
        path += *path == '/' ? 1 : 0;
    }
    if (absolute->data != NULL) {
        absolute->data[absolute->len] = '\0';
    }
}

/** Replace the part of an absolute path that exists by where it really is. */
static void resolve_links(struct buf *path)
{
    auto_free char *head = memory_dup_string(path->len == 0 ? "/" : buf_string(path));
    size_t len = strlen(head);
    for (;;) {
        auto_free char *real = realpath(len == 0 ? "/" : head, NULL);
        if (real != NULL) {
            auto_buf struct buf rest = {0};
            buf_append_string(&rest, buf_string(path) + (len <= path->len ? len : path->len));
            buf_clear(path);
            append_names(path, real);
            append_names(path, buf_string(&rest));
            return;
        }
        if (len == 0) {
            return;
        }
        while (len > 0 && head[len - 1] != '/') {
            len--;
        }
        len -= len > 0 ? 1 : 0;
        head[len] = '\0';
    }
}

static void make_absolute(const char *base, const char *path, struct buf *ret_absolute)
{
    if (*path != '/') {
        append_names(ret_absolute, base);
    }
    append_names(ret_absolute, path);
    resolve_links(ret_absolute);
}

void canonical_path(const char *base, const char *frame, const char *path, struct buf *ret_text)
{
    auto_buf struct buf absolute = {0};
    auto_buf struct buf folder = {0};
    if (*path == '\0' || strlen(path) >= PATH_MAX) {
        buf_append_string(ret_text, path);
        return;
    }
    make_absolute(base, path, &absolute);
    make_absolute("/", frame, &folder);
    const char *whole = buf_string(&absolute);
    if (strncmp(whole, buf_string(&folder), folder.len) != 0 ||
        (whole[folder.len] != '/' && whole[folder.len] != '\0')) {
        buf_append_string(ret_text, *whole == '\0' ? "/" : whole);
    } else {
        buf_append_string(ret_text, whole[folder.len] == '\0' ? "." : whole + folder.len + 1);
    }
}
