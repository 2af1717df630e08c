// SPDX-License-Identifier: Apache-2.0
/*
 * The file of the keys: {"format":1,"secret":BASE64,"public":[BASE64, ...]}, the newest last.
 *
 * all opens: in the user's state folder, which no agent can write.
 */
#include "handoff/audit/keys.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/random.h"
#include "base/text/base64.h"
#include "os/file.h"
#include "os/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FORMAT    1
#define FOLDER    "audit"
#define FILE_NAME "keys.json"

struct key_file {
    char *path; /* owned */
    int lock;
    unsigned char secret[ED25519_SECRET_SIZE];
    struct audit_keys keys;
};

static void key_file_fini(struct key_file *file)
{
    explicit_bzero(file->secret, sizeof(file->secret));
    free(file->path);
    if (file->lock >= 0) {
        close(file->lock);
    }
}

#define auto_key_file __attribute__((cleanup(key_file_fini)))

bool audit_keys_have(const struct audit_keys *keys, const unsigned char *public_key)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (memcmp(keys->keys[i], public_key, ED25519_PUBLIC_SIZE) == 0) {
            return true;
        }
    }
    return false;
}

int audit_keys_add(struct audit_keys *keys, const char *base64, struct rondo_error *err)
{
    unsigned char key[ED25519_PUBLIC_SIZE + 4];
    size_t len = 0;
    if (!base64_decode(base64, key, sizeof(key), &len) || len != ED25519_PUBLIC_SIZE) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a public key is the Base64 of %d bytes, not \"%.60s\"",
                         ED25519_PUBLIC_SIZE, base64);
    }
    if (keys->count == LIMIT_AUDIT_KEYS) {
        return error_set(err, RONDO_ERR_LIMIT, "there are more than %d keys", LIMIT_AUDIT_KEYS);
    }
    memcpy(keys->keys[keys->count++], key, ED25519_PUBLIC_SIZE);
    return 0;
}

/* ---- The file ------------------------------------------------------------------------------- */

static int parse(const struct buf *text, struct key_file *file, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    unsigned char secret[ED25519_SECRET_SIZE + 4];
    unsigned char last[ED25519_PUBLIC_SIZE];
    size_t len = 0;
    bool is_valid =
        json_parse_strict(text->data, text->len, &root, NULL) == 0 &&
        json_get_int(root, "format", 0) == FORMAT &&
        base64_decode(json_get_string(root, "secret", ""), secret, sizeof(secret), &len) &&
        len == ED25519_SECRET_SIZE;
    struct json_object *list = json_member(root, "public");
    for (size_t i = 0; is_valid && i < json_length(list); i++) {
        const char *key = json_object_get_string(json_object_array_get_idx(list, i));
        is_valid = audit_keys_add(&file->keys, key == NULL ? "" : key, NULL) == 0;
    }
    if (is_valid) {
        memcpy(file->secret, secret, sizeof(file->secret));
        ed25519_public(file->secret, last);
        is_valid = file->keys.count > 0 &&
                   memcmp(file->keys.keys[file->keys.count - 1], last, sizeof(last)) == 0;
    }
    explicit_bzero(secret, sizeof(secret));
    return is_valid ? 0 : error_set(err, RONDO_ERR_CORRUPT, "%s cannot be read", file->path);
}

/** Read the keys; none is no error. */
static int read_keys(struct key_file *file, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    int r = file_read(file->path, LIMIT_AUDIT_KEY_FILE_BYTES, &text, err);
    if (r == 0) {
        r = parse(&text, file, err);
        explicit_bzero(text.data, text.len);
    }
    return r == RONDO_ERR_NOT_FOUND ? 0 : r;
}

/** Lock the keys and read them; none is no error. */
static int key_file_open(struct key_file *file, struct rondo_error *err)
{
    auto_free char *folder = NULL;
    struct buf path = {0};
    int r = state_sub_folder(FOLDER, &folder, err);
    if (r < 0) {
        return r;
    }
    buf_printf(&path, "%s/" FILE_NAME, folder);
    file->path = buf_steal(&path);
    file->lock = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file->lock < 0 || flock(file->lock, LOCK_EX) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot lock %s", folder);
    }
    return read_keys(file, err);
}

static int write_keys(const struct key_file *file, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf secret = {0};
    struct json_writer writer = json_writer(&text);
    base64_encode(file->secret, sizeof(file->secret), &secret);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    json_write_string(&writer, "secret", buf_string(&secret));
    json_begin_array(&writer, "public");
    for (size_t i = 0; i < file->keys.count; i++) {
        auto_buf struct buf key = {0};
        base64_encode(file->keys.keys[i], ED25519_PUBLIC_SIZE, &key);
        json_write_string(&writer, NULL, buf_string(&key));
    }
    json_end_array(&writer);
    json_end_object(&writer);
    int r = file_replace_durably(file->path, text.data, text.len, err);
    explicit_bzero(secret.data, secret.len);
    explicit_bzero(text.data, text.len);
    return r;
}

static int make_key(struct key_file *file, struct rondo_error *err)
{
    if (file->keys.count == LIMIT_AUDIT_KEYS) {
        return error_set(err, RONDO_ERR_LIMIT, "%s has %d keys already", file->path,
                         LIMIT_AUDIT_KEYS);
    }
    random_system()->fill(random_system(), file->secret, sizeof(file->secret));
    ed25519_public(file->secret, file->keys.keys[file->keys.count++]);
    return write_keys(file, err);
}

int audit_keys_load(struct audit_keys *ret_keys, struct rondo_error *err)
{
    auto_free char *folder = NULL;
    auto_key_file struct key_file file = {.lock = -1};
    struct buf path = {0};
    int r = state_folder_find(&folder, err);
    if (r == 0) { /* A file is replaced as a whole: readers need no lock. */
        buf_printf(&path, "%s/" FOLDER "/" FILE_NAME, folder);
        file.path = buf_steal(&path);
        r = read_keys(&file, err);
    }
    if (r == 0 || r == RONDO_ERR_NOT_FOUND) {
        *ret_keys = file.keys;
        return 0;
    }
    return r;
}

int audit_keys_secret(unsigned char *ret_secret, struct rondo_error *err)
{
    auto_key_file struct key_file file = {.lock = -1};
    int r = key_file_open(&file, err);
    if (r == 0 && file.keys.count == 0) {
        r = make_key(&file, err);
    }
    if (r == 0) {
        memcpy(ret_secret, file.secret, ED25519_SECRET_SIZE);
    }
    return r;
}

int audit_keys_rotate(struct rondo_error *err)
{
    auto_key_file struct key_file file = {.lock = -1};
    int r = key_file_open(&file, err);
    return r < 0 ? r : make_key(&file, err);
}
