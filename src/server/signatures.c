// SPDX-License-Identifier: Apache-2.0
/* Signed requests and answers. */
#include "server/signatures.h"

#include "base/ed25519.h"
#include "base/limits.h"
#include "base/parse.h"
#include "handoff/audit/keys.h"
#include "handoff/wire/dead_letter.h"
#include "handoff/wire/document.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define COLLECTION "signature-id"
#define NS_PER_DAY (24 * 3600 * NS_PER_S)
/** Times that another request with the same id may be faster. */
#define MOST_TRIES 8

/** What became of a signature, beside the verdicts: the id was used. */
#define VERDICT_REPLAYED ((int)SIGNING_STALE + 1)

/* ---- Ids that were used --------------------------------------------------------------------- */

/** What a request is, beside its id: its path, its body and who sends it. */
struct signed_request {
    char id[DIGEST_HEX_SIZE]; /**< of the token and the id */
    char content[DIGEST_HEX_SIZE];
    int64_t time_s;
    int64_t now_ns;
};

static void name_request(const struct call *call, const struct signed_message *message,
                         struct signed_request *ret_request)
{
    unsigned char bytes[DIGEST_SIZE];
    const char *path = http_exchange_path(call->exchange);
    struct digest id = digest_begin();
    digest_add(&id, call->grant.digest, strlen(call->grant.digest) + 1);
    digest_add(&id, message->id, strlen(message->id));
    digest_finish(&id, bytes);
    digest_hex(bytes, ret_request->id);
    struct digest content = digest_begin();
    digest_add(&content, call->match.route->method, strlen(call->match.route->method) + 1);
    digest_add(&content, path, strlen(path) + 1);
    digest_add(&content, message->body, message->len);
    digest_finish(&content, bytes);
    digest_hex(bytes, ret_request->content);
}

static void name_document(const struct signed_request *request, int64_t day, char *ret_key,
                          size_t size)
{
    snprintf(ret_key, size, "%06" PRId64 "/%s", day, request->id);
}

/** Find the last use of an id. @param ret_use owned; NULL = it was not used */
static int find_use(struct store *store, const struct signed_request *request, char *ret_key,
                    size_t size, struct json_object **ret_use, int64_t *ret_version)
{
    int64_t today = request->now_ns / NS_PER_DAY;
    int r = 0;
    for (int64_t day = today; r == 0 && day >= today - LIMIT_SIGNATURE_ID_DAYS; day--) {
        name_document(request, day, ret_key, size);
        r = wire_document_read(store, COLLECTION, ret_key, ret_use, ret_version, NULL);
        if (r < 0 || *ret_version != 0) {
            return r;
        }
    }
    name_document(request, today, ret_key, size);
    return r;
}

/** With the first id of a day, those of a day that is over are removed. */
static void prune(struct store *store, int64_t now_ns)
{
    char key[32];
    bool is_applied = false;
    int64_t day = now_ns / NS_PER_DAY - LIMIT_SIGNATURE_ID_DAYS;
    snprintf(key, sizeof(key), "%06" PRId64 "/", day);
    struct store_change change = {.kind = STORE_DELETE_UP_TO,
                                  .collection = COLLECTION,
                                  .key = key,
                                  .if_version = STORE_ANY_VERSION};
    (void)store->ops->change_documents(store, &change, 1, &is_applied, NULL);
}

/** @return 1 the id is new or repeated, 0 somebody was faster, RONDO_ERR_STATE a replay, or a code
 */
static int try_remember(struct store *store, const struct signed_request *request)
{
    char key[DIGEST_HEX_SIZE + 32];
    auto_json struct json_object *use = NULL;
    auto_buf struct buf json = {0};
    int64_t version = 0;
    bool is_put = false;
    int r = find_use(store, request, key, sizeof(key), &use, &version);
    if (r < 0) {
        return r;
    }
    bool is_repeated =
        version == 0 || (request->time_s > json_get_int(use, "time_s", INT64_MAX) &&
                         strcmp(json_get_string(use, "content", ""), request->content) == 0);
    if (!is_repeated) {
        return RONDO_ERR_STATE;
    }
    buf_printf(&json, "{\"time_s\":%" PRId64 ",\"content\":\"%s\"}", request->time_s,
               request->content);
    r = wire_document_put(store, COLLECTION, key, &json, version, &is_put, NULL);
    return r < 0 ? r : is_put ? 1 : 0;
}

/** @return SIGNING_GENUINE, VERDICT_REPLAYED, or a code */
static int remember(struct call *call, const struct signed_message *message)
{
    struct store *store = call_store(call);
    struct signed_request request = {.now_ns = clock_now(clock_system())};
    int r = parse_int(message->timestamp, 0, INT64_MAX, &request.time_s, NULL);
    name_request(call, message, &request);
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        r = try_remember(store, &request);
    }
    int64_t day = request.now_ns / NS_PER_DAY;
    if (atomic_exchange(&call->server->signature_day, day) != day) {
        prune(store, request.now_ns);
    }
    if (r < 0 && r != RONDO_ERR_STATE) {
        return r;
    }
    return r == 1 ? (int)SIGNING_GENUINE : VERDICT_REPLAYED;
}

/* ---- Requests ------------------------------------------------------------------------------- */

/** By verdict: the stable code, the reason that is counted, and the sentence. */
static const struct {
    const char *code;
    const char *reason;
    const char *sentence;
} refusals[] = {
    [SIGNING_MISSING] = {"signature_missing", "signature",
                         "the token needs signed requests: webhook-id, webhook-timestamp and "
                         "webhook-signature, each once"},
    [SIGNING_FORGED] = {"signature_invalid", "signature",
                        "the signature is not of a key of the "
                        "token"},
    [SIGNING_STALE] = {"signature_stale", "stale", "the signature is too old, or from the future"},
    [VERDICT_REPLAYED] = {"signature_replayed", "replay",
                          "this webhook-id was used for another request, or at a later time"},
};

/** Refuse a request that is not believed: counted, and noted without what it holds. */
static void refuse(struct call *call, int verdict)
{
    char id[LETTER_ID_SIZE];
    size_t len = 0;
    const char *labels[] = {refusals[verdict].reason};
    const char *body = http_exchange_body(call->exchange, &len);
    struct intake_letter letter = {
        .caller = call->grant.name,
        .code = refusals[verdict].code,
        .reason = refusals[verdict].sentence,
        .body = body,
        .len = len,
        .now_ns = clock_now(clock_system()),
    };
    (void)intake_letter_add(call_store(call), &letter, id, NULL);
    if (call->server->options.metrics != NULL) {
        metrics_add(call->server->options.metrics, "relaytrace_verify_failures_total", labels, 1);
    }
    call_refuse(call, PROBLEM_UNAUTHORIZED, refusals[verdict].code, "%s",
                refusals[verdict].sentence);
}

/** A header that is there once; NULL otherwise. */
static const char *single(const struct call *call, const char *name)
{
    return http_exchange_header_count(call->exchange, name) == 1
               ? http_exchange_header(call->exchange, name)
               : NULL;
}

static bool is_reading(const struct call *call)
{
    return strcmp(call->match.route->method, "GET") == 0;
}

/** @return the verdict, or a code */
static int judge(struct call *call)
{
    const struct token_keys *keys = &call->grant.keys;
    struct signed_message message = {
        .id = single(call, "webhook-id"),
        .timestamp = single(call, "webhook-timestamp"),
        .signature = single(call, "webhook-signature"),
    };
    message.body = http_exchange_body(call->exchange, &message.len);
    int64_t now_s = clock_now(clock_system()) / NS_PER_S;
    enum signing_verdict verdict = signing_verify(keys->keys, keys->count, &message, now_s);
    /* What changes nothing may be asked again. */
    return verdict != SIGNING_GENUINE || call->match.route->is_pure || is_reading(call)
               ? (int)verdict
               : remember(call, &message);
}

bool signatures_check(struct call *call)
{
    const struct token_grant *grant = &call->grant;
    bool is_signed = http_exchange_header_count(call->exchange, "webhook-signature") > 0;
    bool is_needed = grant->keys.are_required && !is_reading(call);
    if (grant->scope != TOKEN_AGENT || (grant->keys.count == 0 && !is_needed) ||
        (!is_signed && !is_needed)) {
        return true;
    }
    int verdict = judge(call);
    if (verdict < 0) {
        call_problem(call, PROBLEM_STORE_FAILED, PROBLEM_STORE_FAILED_DETAIL);
    } else if (verdict != SIGNING_GENUINE) {
        refuse(call, verdict);
    }
    return verdict == SIGNING_GENUINE;
}

/* ---- Answers -------------------------------------------------------------------------------- */

/** Sign for an agent that has a pair of its own: with the pair of this server. */
static void sign_with_pair(const struct call *call, const char *id, int64_t now_s,
                           struct buf *ret_list)
{
    struct signing_key key = {.kind = SIGNING_SECRET, .len = ED25519_SECRET_SIZE};
    if (audit_keys_secret(key.bytes, NULL) == 0) {
        signing_sign(&key, id, now_s, buf_string(&call->answer), call->answer.len, ret_list);
    }
    explicit_bzero(&key, sizeof(key));
}

void signatures_add(struct call *call)
{
    const struct token_grant *grant = &call->grant;
    auto_buf struct buf list = {0};
    char id[ID_SIZE];
    char timestamp[24];
    bool has_pair = false;
    if (grant->scope != TOKEN_AGENT || grant->keys.count == 0) {
        return;
    }
    int64_t now_ns = clock_now(clock_system());
    int64_t now_s = now_ns / NS_PER_S;
    id_new(now_ns, random_system(), id);
    for (size_t i = 0; i < grant->keys.count; i++) {
        has_pair |= grant->keys.keys[i].kind == SIGNING_PUBLIC;
        if (grant->keys.keys[i].kind == SIGNING_SHARED) {
            signing_sign(&grant->keys.keys[i], id, now_s, buf_string(&call->answer),
                         call->answer.len, &list);
        }
    }
    if (has_pair) {
        sign_with_pair(call, id, now_s, &list);
    }
    snprintf(timestamp, sizeof(timestamp), "%" PRId64, now_s);
    http_exchange_add_header(call->exchange, "webhook-id", id);
    http_exchange_add_header(call->exchange, "webhook-timestamp", timestamp);
    http_exchange_add_header(call->exchange, "webhook-signature", buf_string(&list));
}
