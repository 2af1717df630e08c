// SPDX-License-Identifier: Apache-2.0
/* Uids of their own, outside any arena: each is one block of memory with its two texts. */
#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "policy/cedar/lexer.h"
#include "policy/cedar/value/value.h"

#include <stdlib.h>
#include <string.h>

static const struct cedar_text *place_text(void *memory, const char *bytes, size_t len)
{
    struct cedar_text *text = memory;
    cedar_text_fill(text, bytes, len);
    return text;
}

static struct cedar_uid *make(const char *type, size_t type_len, const char *id, size_t id_len)
{
    char *memory =
        memory_new(sizeof(struct cedar_uid) + cedar_text_size(type_len) + cedar_text_size(id_len));
    struct cedar_uid *uid = (struct cedar_uid *)memory;
    memory += sizeof(*uid);
    const struct cedar_text *type_text = place_text(memory, type, type_len);
    *uid = cedar_uid_of(type_text, place_text(memory + cedar_text_size(type_len), id, id_len));
    return uid;
}

static bool is_utf8(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t step = utf8_sequence_len(text + at, len - at);
        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

static void fail_limit(struct rondo_error *err)
{
    error_set(err, RONDO_ERR_LIMIT, "the uid is longer than %zu bytes", CEDAR_LIMIT_TEXT_BYTES);
}

/** What both ways of making a uid ask of its parts. */
static struct cedar_uid *check_and_make(const char *type, size_t type_len, const char *id,
                                        size_t id_len, struct rondo_error *err)
{
    if (!cedar_type_is_valid(type, type_len)) {
        error_set(err, RONDO_ERR_INVALID,
                  "`%.*s` is not the name of an entity type; expected identifiers joined by `::`, "
                  "none of them reserved",
                  type_len < 64 ? (int)type_len : 64, type);
        return NULL;
    }
    if (!is_utf8(id, id_len)) {
        error_set(err, RONDO_ERR_INVALID, "the id of the uid is not UTF-8");
        return NULL;
    }
    return make(type, type_len, id, id_len);
}

struct cedar_uid *cedar_uid_new(const char *type, const char *id, struct rondo_error *err)
{
    size_t type_len = strlen(type);
    size_t id_len = strlen(id);
    if (type_len > CEDAR_LIMIT_TEXT_BYTES || id_len > CEDAR_LIMIT_TEXT_BYTES) {
        fail_limit(err);
        return NULL;
    }
    return check_and_make(type, type_len, id, id_len, err);
}

struct cedar_uid *cedar_uid_parse(const char *text, struct rondo_error *err)
{
    size_t len = strlen(text);
    const char *quote = strchr(text, '"');
    size_t type_len = quote == NULL ? 0 : (size_t)(quote - text);
    if (len > CEDAR_LIMIT_TEXT_BYTES) {
        fail_limit(err);
        return NULL;
    }
    if (type_len < 2 || memcmp(quote - 2, "::", 2) != 0) {
        error_set(err, RONDO_ERR_INVALID, "expected an entity as User::\"alice\"");
        return NULL;
    }
    struct lexer lexer = {.text = text, .len = len, .at = type_len};
    struct token token = lexer_next(&lexer);
    if (token.kind != TOKEN_STRING || token.end != len) {
        error_set(err, RONDO_ERR_INVALID, "%s in the id of the uid",
                  token.kind == TOKEN_WRONG ? lexer.message : "unexpected text after the quotes");
        return NULL;
    }
    struct buf id = {0};
    size_t offset = 0;
    const char *problem = lexer_unescape(quote + 1, len - type_len - 2, NULL, NULL, &id, &offset);
    struct cedar_uid *uid = NULL;
    if (problem != NULL) {
        error_set(err, RONDO_ERR_INVALID, "%s, in the id of the uid", problem);
    } else {
        uid = check_and_make(text, type_len - 2, buf_string(&id), id.len, err);
    }
    buf_fini(&id);
    return uid;
}

void cedar_uid_free(struct cedar_uid *uid)
{
    free(uid);
}

const char *cedar_uid_type(const struct cedar_uid *uid)
{
    return uid->type->bytes;
}

const char *cedar_uid_id(const struct cedar_uid *uid, size_t *ret_len)
{
    if (ret_len != NULL) {
        *ret_len = uid->id->len;
    }
    return uid->id->bytes;
}
