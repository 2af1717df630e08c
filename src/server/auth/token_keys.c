// SPDX-License-Identifier: Apache-2.0
/* `keys` is a list of {key, until_ns}; until_ns 0 = it has no end yet. */
#include "server/auth/token_keys.h"

#include "base/error.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static const char *const names[SIGNING_COUNT] = {"none", "optional", "required"};

static void make_secret(char *ret_secret)
{
    struct signing_key key;
    signing_key_new(random_system(), &key);
    signing_key_write(&key, ret_secret);
    explicit_bzero(&key, sizeof(key));
}

void token_keys_write(struct json_writer *writer, enum token_signing signing,
                      const char *public_key, char *ret_secret)
{
    char secret[SIGNING_TEXT_SIZE] = "";
    if (signing == SIGNING_NONE) {
        return;
    }
    if (public_key == NULL) {
        make_secret(secret);
    }
    json_write_string(writer, "signing", names[signing]);
    json_begin_array(writer, "keys");
    json_begin_object(writer, NULL);
    json_write_string(writer, "key", public_key == NULL ? secret : public_key);
    json_write_int(writer, "until_ns", 0);
    json_end_object(writer);
    json_end_array(writer);
    if (ret_secret != NULL) {
        memcpy(ret_secret, secret, sizeof(secret));
    }
    explicit_bzero(secret, sizeof(secret));
}

static bool is_over(struct json_object *entry, int64_t now_ns)
{
    int64_t until_ns = json_get_int(entry, "until_ns", 0);
    return until_ns != 0 && until_ns <= now_ns;
}

void token_keys_read(struct json_object *token, int64_t now_ns, struct token_keys *ret_keys)
{
    struct json_object *list = json_member(token, "keys");
    *ret_keys = (struct token_keys){0};
    for (size_t i = 0; i < json_length(list) && ret_keys->count < TOKEN_KEYS; i++) {
        struct json_object *entry = json_object_array_get_idx(list, i);
        if (!is_over(entry, now_ns) &&
            signing_key_read(json_get_string(entry, "key", ""), &ret_keys->keys[ret_keys->count],
                             NULL) == 0) {
            ret_keys->count++;
        }
    }
    ret_keys->are_required =
        strcmp(json_get_string(token, "signing", ""), names[SIGNING_REQUIRED]) == 0;
}

/** The entries that still count, each with an end. @return owned */
static struct json_object *keep_former(struct json_object *token, int64_t now_ns, int64_t end_ns)
{
    struct json_object *list = json_member(token, "keys");
    struct json_object *kept = json_object_new_array();
    for (size_t i = 0; i < json_length(list); i++) {
        struct json_object *entry = json_object_array_get_idx(list, i);
        int64_t until_ns = json_get_int(entry, "until_ns", 0);
        until_ns = until_ns == 0 || until_ns > end_ns ? end_ns : until_ns;
        json_object_object_add(entry, "until_ns", json_object_new_int64(until_ns));
        if (until_ns > now_ns) {
            json_object_array_add(kept, json_object_get(entry));
        }
    }
    return kept;
}

/** Whether it signs with a secret that the server makes. */
static bool has_secret(struct json_object *token)
{
    struct json_object *list = json_member(token, "keys");
    struct json_object *last =
        json_length(list) == 0 ? NULL : json_object_array_get_idx(list, json_length(list) - 1);
    return strncmp(json_get_string(last, "key", ""), "whsec_", 6) == 0;
}

int token_keys_rotate(struct json_object *token, int64_t now_ns, int64_t overlap_ns,
                      char *ret_secret, struct rondo_error *err)
{
    if (!has_secret(token)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the token does not sign with a secret of the server");
    }
    struct json_object *kept = keep_former(token, now_ns, now_ns + overlap_ns);
    if (json_length(kept) >= TOKEN_KEYS) {
        json_object_put(kept);
        return error_set(err, RONDO_ERR_LIMIT,
                         "%d secrets of this token count already; wait until one ends, or let the "
                         "former ones end at once",
                         TOKEN_KEYS);
    }
    struct json_object *entry = json_object_new_object();
    make_secret(ret_secret);
    json_object_object_add(entry, "key", json_object_new_string(ret_secret));
    json_object_object_add(entry, "until_ns", json_object_new_int64(0));
    json_object_array_add(kept, entry);
    json_object_object_add(token, "keys", kept);
    return 0;
}
