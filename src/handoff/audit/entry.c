// SPDX-License-Identifier: Apache-2.0
/* Entries of the audit chain, written and checked. */
#include "handoff/audit/entry.h"

#include "base/error.h"
#include "base/json/json.h"
#include "handoff/identity.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define FORMAT 1
/** Bytes of "sha256:" and 64 digits. */
#define HANDOFF_DIGEST_TEXT_LEN 71

static const char *last_hash(const struct audit_head *head)
{
    return head->size == 0 ? AUDIT_FIRST_HASH : head->hash;
}

/* ---- Appending ------------------------------------------------------------------------------ */

static void write_optional(struct json_writer *writer, const char *key, const char *text)
{
    if (text != NULL) {
        json_write_string(writer, key, text);
    }
}

/** Times are texts: a double cannot hold nanoseconds. */
static void write_time(struct json_writer *writer, int64_t time_ns)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, time_ns);
    json_write_string(writer, "time_ns", text);
}

static void write_fact(const struct audit_head *head, const struct audit_fact *fact,
                       const char *hash, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    json_write_int(&writer, "seq", (int64_t)head->size + 1);
    json_write_string(&writer, "kind", fact->kind);
    write_time(&writer, fact->time_ns);
    write_optional(&writer, "request_id", fact->request_id);
    write_optional(&writer, "decision_id", fact->decision_id);
    write_optional(&writer, "actor", fact->actor);
    write_optional(&writer, "role", fact->role);
    write_optional(&writer, "action_digest", fact->action_digest);
    write_optional(&writer, "executed_digest", fact->executed_digest);
    write_optional(&writer, "result_digest", fact->result_digest);
    if (fact->details != NULL) {
        json_write_raw(&writer, "details", fact->details);
    }
    json_write_string(&writer, "prev_hash", last_hash(head));
    write_optional(&writer, "hash", hash);
    json_end_object(&writer);
}

static void take_in(struct audit_head *head, const char *hash)
{
    merkle_add(&head->merkle, hash, strlen(hash));
    snprintf(head->hash, sizeof(head->hash), "%s", hash);
    head->size++;
}

int audit_append(struct audit_head *head, const struct audit_fact *fact, struct buf *ret_entry,
                 struct rondo_error *err)
{
    char hash[HANDOFF_DIGEST_SIZE];
    auto_buf struct buf text = {0};
    int r = 0;
    if (fact->details != NULL) {
        r = handoff_check_object(fact->details, "the details of an audit entry", err);
    }
    if (r < 0) {
        return r;
    }
    write_fact(head, fact, NULL, &text);
    r = handoff_digest(text.data, text.len, hash, err);
    if (r < 0) {
        return r;
    }
    write_fact(head, fact, hash, ret_entry);
    take_in(head, hash);
    return 0;
}

/* ---- Checking ------------------------------------------------------------------------------- */

static int fail(const struct audit_head *head, const char *what, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_CORRUPT, "entry %" PRIu64 " of the audit chain %s",
                     head->size + 1, what);
}

/** The hash that an entry must have. @param root loses its member "hash" */
static int hash_of(struct json_object *root, char *ret_hash)
{
    json_object_object_del(root, "hash");
    const char *text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
    return handoff_digest(text, strlen(text), ret_hash, NULL);
}

/** @param is_redacted whether the content is not what the hash names */
static int check(struct audit_head *head, struct json_object *root, bool is_redacted,
                 struct rondo_error *err)
{
    char hash[HANDOFF_DIGEST_SIZE];
    char expected[HANDOFF_DIGEST_SIZE];
    snprintf(hash, sizeof(hash), "%s", json_get_string(root, "hash", ""));
    if (json_get_int(root, "seq", 0) != (int64_t)head->size + 1) {
        return fail(head, "is missing or was moved: its place has another number", err);
    }
    if (strcmp(json_get_string(root, "prev_hash", ""), last_hash(head)) != 0) {
        return fail(head, "does not follow the entry before it", err);
    }
    if (strlen(hash) != HANDOFF_DIGEST_TEXT_LEN) {
        return fail(head, "cannot be read", err);
    }
    if (!is_redacted && (hash_of(root, expected) < 0 || strcmp(hash, expected) != 0)) {
        return fail(head, "was changed: its hash is not that of its content", err);
    }
    take_in(head, hash);
    return 0;
}

/** @return the entry, json_object_put(); NULL when it cannot be read */
static struct json_object *parse(const char *entry, size_t len)
{
    struct json_object *root = NULL;
    if (json_parse_strict(entry, len, &root, NULL) == 0 &&
        json_get_int(root, "format", 0) != FORMAT) {
        json_object_put(root);
        root = NULL;
    }
    return root;
}

int audit_check(struct audit_head *head, const char *entry, size_t len, struct rondo_error *err)
{
    auto_json struct json_object *root = parse(entry, len);
    return root == NULL ? fail(head, "cannot be read", err) : check(head, root, false, err);
}

int audit_check_redacted(struct audit_head *head, const char *entry, size_t len,
                         bool *ret_is_redacted, struct rondo_error *err)
{
    auto_json struct json_object *root = parse(entry, len);
    if (root == NULL) {
        return fail(head, "cannot be read", err);
    }
    bool is_redacted = json_length(json_member(root, AUDIT_REDACTED)) > 0;
    int r = check(head, root, is_redacted, err);
    *ret_is_redacted = r == 0 && is_redacted;
    return r;
}

void audit_root(const struct audit_head *head, char *ret_root)
{
    unsigned char root[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    merkle_root(&head->merkle, root);
    digest_hex(root, hex);
    snprintf(ret_root, HANDOFF_DIGEST_SIZE, "sha256:%s", hex);
}
