// SPDX-License-Identifier: Apache-2.0
/* Signatures of Standard Webhooks. */
#include "base/text/signing.h"

#include "base/ed25519.h"
#include "base/error.h"
#include "base/hmac.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/text/base64.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** By enum signing_kind. Keys of Ed25519 may be given with their public half after them. */
static const struct {
    const char *prefix;
    size_t least;
    size_t most;
} kinds[] = {
    [SIGNING_SHARED] = {"whsec_", SIGNING_KEY_MIN, SIGNING_KEY_MAX},
    [SIGNING_PUBLIC] = {"whpk_", ED25519_PUBLIC_SIZE, ED25519_PUBLIC_SIZE},
    [SIGNING_SECRET] = {"whsk_", ED25519_SECRET_SIZE, ED25519_SECRET_SIZE + ED25519_PUBLIC_SIZE},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

#define SHARED_VERSION "v1,"
#define PAIR_VERSION   "v1a,"
/** Room for a signature that is decoded, its padding counted. */
#define SIGNATURE_ROOM (ED25519_SIGNATURE_SIZE + 2)

/* ---- Keys ----------------------------------------------------------------------------------- */

int signing_key_read(const char *text, struct signing_key *ret_key, struct rondo_error *err)
{
    unsigned char bytes[SIGNING_KEY_MAX + 2];
    size_t len = 0;
    for (size_t i = 0; i < KINDS; i++) {
        size_t head = strlen(kinds[i].prefix);
        if (strncmp(text, kinds[i].prefix, head) == 0 &&
            base64_decode(text + head, bytes, sizeof(bytes), &len) && len >= kinds[i].least &&
            len <= kinds[i].most) {
            *ret_key = (struct signing_key){.kind = (enum signing_kind)i, .len = len};
            memcpy(ret_key->bytes, bytes, len);
            explicit_bzero(bytes, sizeof(bytes));
            return 0;
        }
    }
    explicit_bzero(bytes, sizeof(bytes));
    return error_set(
        err, RONDO_ERR_INVALID,
        "a key is whsec_ and base64 of %d to %d bytes, or whpk_ or whsk_ and base64 of "
        "a key of Ed25519",
        SIGNING_KEY_MIN, SIGNING_KEY_MAX);
}

void signing_key_write(const struct signing_key *key, char *ret_text)
{
    auto_buf struct buf text = {0};
    base64_encode(key->bytes, key->len, &text);
    snprintf(ret_text, SIGNING_TEXT_SIZE, "%s%s", kinds[key->kind].prefix, buf_string(&text));
    explicit_bzero(text.data, text.len);
}

void signing_key_new(struct random *random, struct signing_key *ret_key)
{
    *ret_key = (struct signing_key){.kind = SIGNING_SHARED, .len = SIGNING_KEY_MIN};
    random->fill(random, ret_key->bytes, ret_key->len);
}

/* ---- Codes ---------------------------------------------------------------------------------- */

static void add_content(struct buf *content, const char *id, const char *timestamp,
                        const char *body, size_t len)
{
    buf_printf(content, "%s.%s.", id, timestamp);
    buf_append(content, body, len);
}

static void make_code(const void *key, size_t key_len, const char *id, const char *timestamp,
                      const char *body, size_t len, unsigned char *ret_code)
{
    struct hmac hmac = hmac_begin(key, key_len);
    hmac_add(&hmac, id, strlen(id));
    hmac_add(&hmac, ".", 1);
    hmac_add(&hmac, timestamp, strlen(timestamp));
    hmac_add(&hmac, ".", 1);
    hmac_add(&hmac, body, len);
    hmac_finish(&hmac, ret_code);
}

void signing_sign(const struct signing_key *key, const char *id, int64_t time_s, const char *body,
                  size_t len, struct buf *ret_list)
{
    char timestamp[24];
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    size_t size = DIGEST_SIZE;
    snprintf(timestamp, sizeof(timestamp), "%" PRId64, time_s);
    if (key->kind == SIGNING_SHARED) {
        make_code(key->bytes, key->len, id, timestamp, body, len, signature);
    } else {
        auto_buf struct buf content = {0};
        add_content(&content, id, timestamp, body, len);
        ed25519_sign(key->bytes, content.data, content.len, signature);
        size = sizeof(signature);
    }
    buf_printf(ret_list, "%s%s", ret_list->len == 0 ? "" : " ",
               key->kind == SIGNING_SHARED ? SHARED_VERSION : PAIR_VERSION);
    base64_encode(signature, size, ret_list);
}

/* ---- Verifying ------------------------------------------------------------------------------ */

/** Decode one item of a list, if it is of a version and has so many bytes. */
static bool read_item(const char *item, size_t len, const char *version, size_t size,
                      unsigned char *ret_signature)
{
    char text[(SIGNATURE_ROOM + 2) / 3 * 4 + 1];
    size_t head = strlen(version);
    size_t found = 0;
    if (len <= head || len - head >= sizeof(text) || strncmp(item, version, head) != 0) {
        return false;
    }
    memcpy(text, item + head, len - head);
    text[len - head] = '\0';
    return base64_decode(text, ret_signature, SIGNATURE_ROOM, &found) && found == size;
}

/** Whether an item of a list is the code. */
static bool is_code(const char *item, size_t len, const void *code)
{
    unsigned char given[SIGNATURE_ROOM];
    return read_item(item, len, SHARED_VERSION, DIGEST_SIZE, given) &&
           hmac_equal(given, code, DIGEST_SIZE);
}

/** What is signed, and by whom. */
struct signed_content {
    const struct buf *content;
    const unsigned char *public_key;
};

static bool is_of_pair(const char *item, size_t len, const void *signed_content)
{
    const struct signed_content *what = signed_content;
    unsigned char given[SIGNATURE_ROOM];
    return read_item(item, len, PAIR_VERSION, ED25519_SIGNATURE_SIZE, given) &&
           ed25519_verify(what->public_key, what->content->data, what->content->len, given);
}

/** Whether a list with blanks has it among its first LIMIT_HOOK_SIGNATURES items. */
static bool has_item(const char *list, bool (*is_right)(const char *, size_t, const void *),
                     const void *what)
{
    bool is_found = false;
    for (unsigned i = 0; i < LIMIT_HOOK_SIGNATURES && *list != '\0'; i++) {
        size_t len = strcspn(list, " ");
        is_found |= is_right(list, len, what);
        list += len;
        list += strspn(list, " ");
    }
    return is_found;
}

static bool has_code(const void *key, size_t len, const struct signed_message *message)
{
    unsigned char code[DIGEST_SIZE];
    make_code(key, len, message->id, message->timestamp, message->body, message->len, code);
    return has_item(message->signature, is_code, code);
}

static bool has_pair(const struct signing_key *key, const struct signed_message *message)
{
    auto_buf struct buf content = {0};
    struct signed_content what = {&content, key->bytes};
    add_content(&content, message->id, message->timestamp, message->body, message->len);
    return has_item(message->signature, is_of_pair, &what);
}

/** @return whether the headers are there and in their form */
static bool read_time(const struct signed_message *message, int64_t *ret_time_s)
{
    /* A dot in the id would let the end of an id pass for a timestamp. */
    return message->id != NULL && message->id[0] != '\0' && strchr(message->id, '.') == NULL &&
           message->signature != NULL && message->timestamp != NULL &&
           parse_int(message->timestamp, 0, INT64_MAX / 2, ret_time_s, NULL) == 0;
}

static enum signing_verdict judge(bool is_genuine, int64_t time_s, int64_t now_s)
{
    bool is_fresh = time_s >= now_s - SIGNING_TOLERANCE_S && time_s <= now_s + SIGNING_TOLERANCE_S;
    return !is_genuine ? SIGNING_FORGED : is_fresh ? SIGNING_GENUINE : SIGNING_STALE;
}

enum signing_verdict signing_verify_shared(const void *key, size_t len,
                                           const struct signed_message *message, int64_t now_s)
{
    int64_t time_s = 0;
    return read_time(message, &time_s) ? judge(has_code(key, len, message), time_s, now_s)
                                       : SIGNING_MISSING;
}

enum signing_verdict signing_verify(const struct signing_key *keys, size_t count,
                                    const struct signed_message *message, int64_t now_s)
{
    int64_t time_s = 0;
    bool is_genuine = false;
    if (!read_time(message, &time_s)) {
        return SIGNING_MISSING;
    }
    for (size_t i = 0; i < count; i++) {
        if (keys[i].kind == SIGNING_SHARED) {
            is_genuine |= has_code(keys[i].bytes, keys[i].len, message);
        } else if (keys[i].kind == SIGNING_PUBLIC) {
            is_genuine |= has_pair(&keys[i], message);
        }
    }
    return judge(is_genuine, time_s, now_s);
}
