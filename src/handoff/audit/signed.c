// SPDX-License-Identifier: Apache-2.0
#include "handoff/audit/signed.h"

#include "base/error.h"
#include "base/json/canonical.h"
#include "base/json/json.h"
#include "base/text/base64.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define FORMAT 1
#define KIND   "audit.head"
#define DOMAIN "rondo-audit-head-v1\n"

static void write_base64(struct json_writer *writer, const char *key, const unsigned char *bytes,
                         size_t len)
{
    auto_buf struct buf text = {0};
    base64_encode(bytes, len, &text);
    json_write_string(writer, key, buf_string(&text));
}

static void write_head(const struct signed_head *head, bool has_signature, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    json_write_string(&writer, "kind", KIND);
    json_write_int(&writer, "tree_size", (int64_t)head->size);
    json_write_string(&writer, "root", head->root);
    json_write_string(&writer, "last_hash", head->hash);
    json_write_string(&writer, "time", head->time);
    write_base64(&writer, "public_key", head->key, sizeof(head->key));
    if (has_signature) {
        write_base64(&writer, "signature", head->signature, sizeof(head->signature));
    }
    json_end_object(&writer);
}

/** What is signed. */
static void write_message(const struct signed_head *head, struct buf *ret_message)
{
    auto_buf struct buf json = {0};
    write_head(head, false, &json);
    buf_append_string(ret_message, DOMAIN);
    /* Texts and one integer below 2^53: it has a canonical form. */
    (void)json_canonical(json.data, json.len, ret_message, NULL);
}

void signed_head_make(const struct audit_head *head, int64_t now_ns, const unsigned char *secret,
                      struct signed_head *ret_head)
{
    auto_buf struct buf message = {0};
    *ret_head = (struct signed_head){.size = head->size};
    memcpy(ret_head->hash, head->hash, sizeof(ret_head->hash));
    audit_root(head, ret_head->root);
    clock_format_utc(now_ns, ret_head->time);
    ed25519_public(secret, ret_head->key);
    write_message(ret_head, &message);
    ed25519_sign(secret, message.data, message.len, ret_head->signature);
}

void signed_head_encode(const struct signed_head *head, struct buf *ret_json)
{
    write_head(head, true, ret_json);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** @return whether the member is a text that fits */
static bool read_text(struct json_object *root, const char *name, char *ret_text, size_t size)
{
    const char *text = json_get_string(root, name, NULL);
    if (text == NULL || strlen(text) >= size) {
        return false;
    }
    snprintf(ret_text, size, "%s", text);
    return true;
}

/** @return whether the member is the Base64 of that many bytes */
static bool read_bytes(struct json_object *root, const char *name, unsigned char *ret_bytes,
                       size_t size)
{
    unsigned char bytes[ED25519_SIGNATURE_SIZE + 4];
    size_t len = 0;
    bool is_valid =
        base64_decode(json_get_string(root, name, ""), bytes, sizeof(bytes), &len) && len == size;
    if (is_valid) {
        memcpy(ret_bytes, bytes, size);
    }
    return is_valid;
}

int signed_head_decode(const char *json, size_t len, struct signed_head *ret_head,
                       struct rondo_error *err)
{
    static const int64_t most = INT64_C(1) << 53; /* More has no canonical form. */
    auto_json struct json_object *root = NULL;
    struct signed_head head = {0};
    bool is_valid = json_parse_strict(json, len, &root, NULL) == 0 &&
                    json_get_int(root, "format", 0) == FORMAT &&
                    strcmp(json_get_string(root, "kind", ""), KIND) == 0;
    int64_t size = is_valid ? json_get_int(root, "tree_size", -1) : -1;
    is_valid = size >= 0 && size < most && read_text(root, "root", head.root, sizeof(head.root)) &&
               read_text(root, "last_hash", head.hash, sizeof(head.hash)) &&
               read_text(root, "time", head.time, sizeof(head.time)) &&
               read_bytes(root, "public_key", head.key, sizeof(head.key)) &&
               read_bytes(root, "signature", head.signature, sizeof(head.signature));
    if (!is_valid) {
        return error_set(err, RONDO_ERR_INVALID, "it is not a signed head of an audit chain");
    }
    head.size = (uint64_t)size;
    *ret_head = head;
    return 0;
}

int signed_head_check(const struct signed_head *head, const struct audit_keys *keys,
                      struct rondo_error *err)
{
    auto_buf struct buf message = {0};
    auto_buf struct buf key = {0};
    write_message(head, &message);
    if (!ed25519_verify(head->key, message.data, message.len, head->signature)) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the signed head at entry %" PRIu64 " was changed: its signature does not "
                         "match",
                         head->size);
    }
    if (!audit_keys_have(keys, head->key)) {
        base64_encode(head->key, sizeof(head->key), &key);
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the signed head at entry %" PRIu64 " is signed with the key %s, which is "
                         "not one of yours; if you trust it, give it with --key",
                         head->size, buf_string(&key));
    }
    return 0;
}
