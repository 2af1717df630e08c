// SPDX-License-Identifier: Apache-2.0
/* all opens: the files are in the state folder, which belongs to the user and no agent can write */
#include "source/webhook/hook_secret.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/base64.h"
#include "model/key/secret.h"
#include "os/file.h"
#include "os/state_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOOKS_FOLDER "hooks"
/** Random bytes of a secret. */
#define SECRET_BYTES 32
/** Digits of the digest in a file's name. */
#define NAME_DIGITS 16

static int find_file(const struct hook_owner *owner, char **ret_path, struct rondo_error *err)
{
    const char *const parts[] = {owner->folder == NULL ? "" : owner->folder, owner->role,
                                 owner->is_standard ? "standard" : ""};
    auto_free char *folder = NULL;
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct buf path = {0};
    int r = state_sub_folder(HOOKS_FOLDER, &folder, err);
    if (r < 0) {
        return r;
    }
    struct digest digest = digest_begin();
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        digest_add_u64(&digest, strlen(parts[i]));
        digest_add(&digest, parts[i], strlen(parts[i]));
    }
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    buf_printf(&path, "%s/%s-%.*s", folder, owner->name, NAME_DIGITS, hex);
    *ret_path = buf_steal(&path);
    return 0;
}

static void make_secret(bool is_standard, struct random *random, struct buf *ret_line)
{
    unsigned char bytes[SECRET_BYTES];
    random->fill(random, bytes, sizeof(bytes));
    buf_append_string(ret_line, is_standard ? "whsec_" : "");
    if (is_standard) {
        base64_encode(bytes, sizeof(bytes), ret_line);
    } else {
        buf_append_hex(ret_line, bytes, sizeof(bytes));
    }
    buf_append_string(ret_line, "\n");
    explicit_bzero(bytes, sizeof(bytes));
}

/** A whole file appears under its name, or the one that another process has put there stays. */
static int put_new(const char *path, const struct buf *line, struct random *random,
                   struct rondo_error *err)
{
    auto_buf struct buf other = {0};
    buf_printf(&other, "%s.%016llx", path, (unsigned long long)random_u64(random));
    int r = file_replace_durably(buf_string(&other), line->data, line->len, err);
    if (r == 0 && link(buf_string(&other), path) < 0 && errno != EEXIST) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "cannot make %s", path);
    }
    unlink(buf_string(&other));
    return r;
}

static int read_line(const char *path, char **ret_secret, struct rondo_error *err)
{
    struct buf text = {0};
    int r = file_read(path, LIMIT_HOOK_SECRET_BYTES, &text, err);
    size_t len = r < 0 ? 0 : strcspn(buf_string(&text), "\n");
    if (r == 0 && (len == 0 || len != strlen(buf_string(&text)) - 1)) {
        r = error_set(err, RONDO_ERR_CORRUPT, "%s is not a secret and a line end; remove it", path);
    }
    char *bytes = buf_steal(&text);
    if (r < 0) {
        secret_free_string(bytes);
        return r;
    }
    bytes[len] = '\0';
    *ret_secret = bytes;
    return 0;
}

int hook_secret_keep(const struct hook_owner *owner, struct random *random, char **ret_secret,
                     char **ret_path, struct rondo_error *err)
{
    auto_free char *path = NULL;
    int r = find_file(owner, &path, err);
    if (r == 0 && !file_exists(path)) {
        struct buf line = {0};
        make_secret(owner->is_standard, random, &line);
        r = put_new(path, &line, random, err);
        secret_free_string(buf_steal(&line));
    }
    r = r < 0 ? r : read_line(path, ret_secret, err);
    if (r == 0) {
        *ret_path = memory_dup_string(path);
    }
    return r;
}
