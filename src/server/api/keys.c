// SPDX-License-Identifier: Apache-2.0
/* POST /v1/keys/rotate: a new secret for a token that signs, or a new pair of the server. */
#include "handoff/audit/keys.h"
#include "base/limits.h"
#include "handoff/audit/entry.h"
#include "server/api/handlers.h"
#include "server/api/inbox_call.h"

#include <string.h>

/** Seconds that former secrets count, when nothing is said. */
#define DEFAULT_OVERLAP (24 * 3600)

/** The audit chain says when keys were replaced, and by whom. */
static int record(struct call *call, const char *token, struct rondo_error *err)
{
    struct handoff_store handoffs = call_handoffs(call);
    auto_buf struct buf details = {0};
    char hash[HANDOFF_DIGEST_SIZE];
    uint64_t number = 0;
    struct json_writer writer = json_writer(&details);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "token", token);
    json_end_object(&writer);
    struct audit_fact fact = {.kind = "key.rotated",
                              .time_ns = clock_now(clock_system()),
                              .actor = call->grant.name,
                              .details = buf_string(&details)};
    return handoff_add_fact(&handoffs, &fact, &number, hash, err);
}

static void rotate_pair(struct call *call)
{
    struct audit_keys keys = {0};
    struct signing_key key = {.kind = SIGNING_PUBLIC, .len = ED25519_PUBLIC_SIZE};
    char text[SIGNING_TEXT_SIZE];
    struct rondo_error err = {0};
    int r = audit_keys_rotate(&err);
    r = r < 0 ? r : audit_keys_load(&keys, &err);
    r = r < 0 ? r : record(call, NULL, &err);
    if (r < 0 || keys.count == 0) {
        call_error(call, &err);
        return;
    }
    memcpy(key.bytes, keys.keys[keys.count - 1], key.len);
    signing_key_write(&key, text);
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "public_key", text);
    json_end_object(&writer);
}

static void rotate_secret(struct call *call, const char *token, int64_t overlap_ns)
{
    char secret[SIGNING_TEXT_SIZE];
    struct rondo_error err = {0};
    int64_t now_ns = clock_now(clock_system());
    int r = token_rotate(call_store(call), token, now_ns, overlap_ns, secret, &err);
    r = r < 0 ? r : record(call, token, &err);
    if (r < 0) {
        call_error(call, &err);
        return;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "token", token);
    json_write_string(&writer, "secret", secret);
    json_write_time(&writer, "former_until", now_ns + overlap_ns);
    json_end_object(&writer);
    explicit_bzero(secret, sizeof(secret));
}

void handle_rotate_key(struct call *call)
{
    const char *token = NULL;
    int64_t overlap_s = json_get_int(call->body, "overlap_seconds", DEFAULT_OVERLAP);
    if (!call_check_members(call, call->body, "", "token,overlap_seconds") ||
        !call_member_text(call, "token", false, &token)) {
        return;
    }
    if (overlap_s < 0 || overlap_s > LIMIT_KEY_OVERLAP_S) {
        call_problem(call, PROBLEM_INVALID, "overlap_seconds must be from 0 to %d",
                     LIMIT_KEY_OVERLAP_S);
    } else if (token == NULL) {
        rotate_pair(call);
    } else {
        rotate_secret(call, token, overlap_s * NS_PER_S);
    }
}
