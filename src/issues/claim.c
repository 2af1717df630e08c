// SPDX-License-Identifier: Apache-2.0
/* Claims as one line of JSON. */
#include "issues/claim.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "git/commit.h"
#include "issues/item.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Of the text; others are no claims that this version can read. */
#define FORMAT 1

void claim_fini(struct claim *claim)
{
    free(claim->owner);
    free(claim->branch);
    *claim = (struct claim){0};
}

/** One plain line without what means something in JSON, HTML and Markdown. */
static void clean_owner(const char *owner, struct buf *ret_text)
{
    auto_buf struct buf clean = {0};
    item_clean(owner == NULL ? "" : owner, LIMIT_CLAIM_OWNER_BYTES, &clean);
    for (size_t i = 0; i < clean.len; i++) {
        bool is_markup = strchr("<>&`@#\\\"", clean.data[i]) != NULL;
        buf_append(ret_text, is_markup ? " " : clean.data + i, 1);
    }
}

void claim_encode(const struct claim *claim, struct buf *ret_text)
{
    auto_buf struct buf owner = {0};
    struct json_writer writer = json_writer(ret_text);
    clean_owner(claim->owner, &owner);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "rondo_claim", FORMAT);
    json_write_int(&writer, "number", claim->number);
    json_write_string(&writer, "nonce", claim->nonce);
    json_write_string(&writer, "owner", buf_string(&owner));
    json_write_string(&writer, "run_id", claim->run_id);
    json_write_int(&writer, "written_ns", claim->written_ns);
    json_write_int(&writer, "lease_ns", claim->lease_ns);
    json_write_int(&writer, "attempts", claim->attempts);
    json_write_int(&writer, "takeovers", claim->takeovers);
    json_write_int(&writer, "pull", claim->pull);
    if (claim->released_until_ns > 0) {
        json_write_int(&writer, "released_until_ns", claim->released_until_ns);
    }
    if (claim->branch != NULL) {
        json_write_string(&writer, "branch", claim->branch);
    }
    if (claim->superseded_count > 0) {
        json_begin_array(&writer, "supersedes");
        for (size_t i = 0; i < claim->superseded_count; i++) {
            json_write_int(&writer, NULL, claim->superseded[i]);
        }
        json_end_array(&writer);
    }
    json_end_object(&writer);
}

/* ---- Reading what others wrote -------------------------------------------------------------- */

static bool read_id(struct json_object *root, const char *name, bool may_be_empty, char *ret_id)
{
    const char *text = json_get_string(root, name, may_be_empty ? "" : NULL);
    if (text == NULL || (!id_is_valid(text) && (!may_be_empty || text[0] != '\0'))) {
        return false;
    }
    snprintf(ret_id, ID_SIZE, "%s", text);
    return true;
}

static bool read_count(struct json_object *root, const char *name, int64_t most, int64_t *ret_count)
{
    struct json_object *value = json_member(root, name);
    *ret_count = value == NULL ? 0 : json_get_int(root, name, -1);
    return *ret_count >= 0 && *ret_count <= most;
}

static bool read_lease(struct json_object *root, struct claim *claim)
{
    claim->written_ns = json_get_int(root, "written_ns", 0);
    claim->lease_ns = json_get_int(root, "lease_ns", 0);
    return claim->written_ns > 0 && claim->lease_ns >= claim->written_ns &&
           claim->lease_ns - claim->written_ns <= CLAIM_LEASE_NS;
}

static bool read_mark(struct json_object *root, struct claim *claim)
{
    return read_count(root, "released_until_ns", INT64_MAX, &claim->released_until_ns) &&
           (claim->released_until_ns == 0 ||
            (claim->released_until_ns >= claim->written_ns &&
             claim->released_until_ns - claim->written_ns <= CLAIM_RELEASED_NS));
}

void claim_make_mark(struct claim *claim, int64_t now_ns, int64_t until_ns)
{
    const int64_t latest_ns = now_ns + CLAIM_RELEASED_NS;
    claim->written_ns = now_ns;
    claim->lease_ns = now_ns;
    claim->released_until_ns = until_ns < latest_ns ? until_ns : latest_ns;
}

bool claim_is_branch_of(const char *branch, int64_t number)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    char begin[48];
    int len = snprintf(begin, sizeof(begin), "rondo/issue-%" PRId64, number);
    return strncmp(branch, begin, (size_t)len) == 0 &&
           (branch[len] == '\0' || branch[len] == '-') &&
           branch[len + (int)strspn(branch + len, allowed)] == '\0';
}

/** Only a branch of the issue: the next owner pushes to it, and deletes it when it is merged. */
static bool read_branch(struct json_object *root, struct claim *claim)
{
    const char *branch = json_get_string(root, "branch", NULL);
    if (branch != NULL &&
        (!claim_is_branch_of(branch, claim->number) || git_branch_check_name(branch, NULL) < 0)) {
        return false;
    }
    claim->branch = memory_dup_string(branch);
    return true;
}

static bool read_superseded(struct json_object *root, struct claim *claim)
{
    struct json_object *list = json_member(root, "supersedes");
    size_t count = json_length(list);
    if (list == NULL) {
        return true;
    }
    if (!json_object_is_type(list, json_type_array) || count > LIMIT_CLAIM_SUPERSEDED) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct json_object *id = json_object_array_get_idx(list, i);
        claim->superseded[i] =
            json_object_is_type(id, json_type_int) ? json_object_get_int64(id) : 0;
    }
    claim->superseded_count = count;
    return true;
}

static void read_owner(struct json_object *root, struct claim *claim)
{
    struct buf owner = {0};
    clean_owner(json_get_string(root, "owner", ""), &owner);
    claim->owner = buf_steal(&owner);
}

/** The name of the first member that is wrong, or NULL. */
static const char *read_members(struct json_object *root, struct claim *claim)
{
    const struct {
        const char *name;
        bool is_right;
    } rows[] = {
        {"number", json_get_int(root, "number", 0) == claim->number},
        {"nonce", read_id(root, "nonce", false, claim->nonce)},
        {"run_id", read_id(root, "run_id", true, claim->run_id)},
        {"lease_ns", read_lease(root, claim)},
        {"attempts", read_count(root, "attempts", LIMIT_CLAIM_COUNT, &claim->attempts)},
        {"takeovers", read_count(root, "takeovers", LIMIT_CLAIM_COUNT, &claim->takeovers)},
        {"pull", read_count(root, "pull", INT64_MAX, &claim->pull)},
        {"released_until_ns", read_mark(root, claim)},
        {"branch", read_branch(root, claim)},
        {"supersedes", read_superseded(root, claim)},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!rows[i].is_right) {
            return rows[i].name;
        }
    }
    return NULL;
}

int claim_decode(int64_t number, const char *text, struct claim *ret_claim, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct claim claim = {.number = number};
    size_t len = strnlen(text, LIMIT_CLAIM_BYTES + 1);
    if (len > LIMIT_CLAIM_BYTES) {
        return error_set(err, RONDO_ERR_INVALID, "a claim is longer than %ld bytes",
                         (long)LIMIT_CLAIM_BYTES);
    }
    int r = json_parse_strict(text, len, &root, err);
    if (r < 0) {
        error_prefix(err, "not a claim");
        return RONDO_ERR_INVALID;
    }
    if (json_get_int(root, "rondo_claim", 0) != FORMAT) {
        return error_set(err, RONDO_ERR_INVALID, "not a claim of a format that is known");
    }
    const char *wrong = read_members(root, &claim);
    if (wrong != NULL) {
        claim_fini(&claim);
        return error_set(err, RONDO_ERR_INVALID, "a claim has no valid %s", wrong);
    }
    read_owner(root, &claim);
    *ret_claim = claim;
    return 0;
}

bool claim_lease_is_over(const struct claim *claim, int64_t now_ns)
{
    if (claim->released_until_ns > 0) {
        return now_ns >= claim->released_until_ns;
    }
    return now_ns - claim->lease_ns > CLAIM_GRACE_BEATS * CLAIM_HEARTBEAT_NS;
}

bool claim_is_expired(const struct claim *claim, int64_t now_ns)
{
    bool is_kept = claim->released_until_ns == 0 && claim->pull > 0;
    return !is_kept && claim_lease_is_over(claim, now_ns);
}

bool claim_is_released(const struct claim *claim, int64_t now_ns)
{
    return claim->released_until_ns > 0 && !claim_is_expired(claim, now_ns);
}
