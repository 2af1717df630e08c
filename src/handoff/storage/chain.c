// SPDX-License-Identifier: Apache-2.0
/*
 * A document of the signed heads is {"head":HEAD,"state":STATE}: the state is that of the chain at
 * its entry, so that the entries after it can be verified without those before it. It counts only
 * if it has the root that was signed.
 */
#include "handoff/storage/chain.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define HEAD_KEY "head"
#define KEY_SIZE 24
/** Times that another may be faster. */
#define MOST_TRIES 200
#define DAY_NS     (24 * 3600 * NS_PER_S)

/** What is read of the chain, and what is wrong with it. */
struct chain_reading {
    struct audit_verifier verifier;
    struct audit_head recorded; /**< what the store says of itself */
    int64_t recorded_version;   /**< of its document; 0 = there is none */
    const struct audit_keys *keys;
    int64_t signed_ns; /**< the newest signed head was kept then; 0 = there is none */
    struct signed_head newest;
    struct audit_head state; /**< of the newest */
    int r;
    struct rondo_error *err;
};

/* ---- Documents ------------------------------------------------------------------------------ */

static bool read_recorded(const struct store_document *document, void *context)
{
    struct chain_reading *reading = context;
    reading->recorded_version = (int64_t)document->version;
    reading->r =
        audit_head_decode(document->data, document->data_len, &reading->recorded, reading->err);
    return false;
}

/** The head that each transaction writes. */
static int read_head(struct store *store, struct chain_reading *reading)
{
    struct store_document_query query = {.collection = AUDIT_HEAD_COLLECTION, .key = HEAD_KEY};
    int r = store->ops->read_documents(store, &query, read_recorded, reading, reading->err);
    return r < 0 ? r : reading->r;
}

static int decode_signed(const struct store_document *document, struct signed_head *ret_head,
                         struct audit_head *ret_state)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse_strict(document->data, document->data_len, &root, NULL);
    if (r == 0) {
        struct json_object *head = json_member(root, "head");
        const char *text = json_object_to_json_string_ext(head, JSON_C_TO_STRING_PLAIN);
        r = signed_head_decode(text, strlen(text), ret_head, NULL);
    }
    if (r == 0) {
        struct json_object *state = json_member(root, "state");
        const char *text = json_object_to_json_string_ext(state, JSON_C_TO_STRING_PLAIN);
        r = audit_head_decode(text, strlen(text), ret_state, NULL);
    }
    return r;
}

static bool expect_signed(const struct store_document *document, void *context)
{
    struct chain_reading *reading = context;
    struct signed_head head;
    struct audit_head state;
    if (decode_signed(document, &head, &state) < 0) {
        reading->r =
            error_set(reading->err, RONDO_ERR_CORRUPT,
                      "the signed head %.20s of the audit chain cannot be read", document->key);
    } else {
        reading->r = audit_verifier_expect(&reading->verifier, &head, reading->keys, reading->err);
    }
    return reading->r == 0;
}

/** The newest signed head. What cannot be read or believed is as if there were none. */
static bool take_newest(const struct store_document *document, void *context)
{
    struct chain_reading *reading = context;
    char root[HANDOFF_DIGEST_SIZE];
    if (decode_signed(document, &reading->newest, &reading->state) == 0) {
        audit_root(&reading->state, root);
        if (strcmp(root, reading->newest.root) == 0 &&
            strcmp(reading->state.hash, reading->newest.hash) == 0 &&
            signed_head_check(&reading->newest, reading->keys, NULL) == 0) {
            reading->signed_ns = document->updated_ns;
            return false;
        }
    }
    reading->state = (struct audit_head){0};
    return false;
}

static int read_newest(struct store *store, struct chain_reading *reading)
{
    struct store_document_query query = {
        .collection = AUDIT_SIGNED_COLLECTION, .is_descending = true, .limit = 1};
    return store->ops->read_documents(store, &query, take_newest, reading, reading->err);
}

/* ---- Appending ------------------------------------------------------------------------------ */

/** @return 1 appended, 0 somebody was faster, or a code */
static int try_append(struct store *store, const struct audit_fact *fact, struct rondo_error *err)
{
    char key[KEY_SIZE];
    auto_buf struct buf entry = {0};
    auto_buf struct buf head = {0};
    struct chain_reading reading = {.err = err};
    bool is_applied = false;
    int r = read_head(store, &reading);
    r = r < 0 ? r : audit_append(&reading.recorded, fact, &entry, err);
    if (r < 0) {
        return r;
    }
    snprintf(key, sizeof(key), "%020" PRIu64, reading.recorded.size);
    audit_head_encode(&reading.recorded, &head);
    struct store_change changes[] = {
        {.kind = STORE_PUT,
         .collection = AUDIT_COLLECTION,
         .key = key,
         .data = entry.data,
         .data_len = entry.len},
        {.kind = STORE_PUT,
         .collection = AUDIT_HEAD_COLLECTION,
         .key = HEAD_KEY,
         .data = head.data,
         .data_len = head.len,
         .if_version = reading.recorded_version},
    };
    r = store->ops->change_documents(store, changes, 2, &is_applied, err);
    return r < 0 ? r : is_applied ? 1 : 0;
}

int audit_chain_append(struct store *store, const struct audit_fact *fact, struct rondo_error *err)
{
    int r = 0;
    for (int i = 0; i < MOST_TRIES && r == 0; i++) {
        r = try_append(store, fact, err);
    }
    if (r == 0) {
        return error_set(err, RONDO_ERR_BUSY,
                         "others changed the audit chain %d times in the meantime; try again",
                         MOST_TRIES);
    }
    return r < 0 ? r : 0;
}

/* ---- Verifying ------------------------------------------------------------------------------ */

/** Whether the chain is what its own head says where it is as long. */
static int compare_recorded(struct chain_reading *reading)
{
    char root[HANDOFF_DIGEST_SIZE];
    char recorded[HANDOFF_DIGEST_SIZE];
    if (reading->verifier.head.size != reading->recorded.size) {
        return 0;
    }
    audit_root(&reading->verifier.head, root);
    audit_root(&reading->recorded, recorded);
    if (strcmp(root, recorded) != 0 ||
        strcmp(reading->verifier.head.hash, reading->recorded.hash) != 0) {
        return error_set(reading->err, RONDO_ERR_CORRUPT,
                         "entry %" PRIu64 " of the audit chain is not the one that its head names",
                         reading->recorded.size);
    }
    return 0;
}

static bool verify_entry(const struct store_document *document, void *context)
{
    struct chain_reading *reading = context;
    reading->r = audit_verifier_add(&reading->verifier, document->data, document->data_len, false,
                                    reading->err);
    if (reading->r == 0) {
        reading->r = compare_recorded(reading);
    }
    return reading->r == 0;
}

/** Verify the entries after those that are known. What is appended meanwhile is verified, too. */
static int verify_entries(struct store *store, struct chain_reading *reading)
{
    char after[KEY_SIZE];
    snprintf(after, sizeof(after), "%020" PRIu64, reading->verifier.head.size);
    struct store_document_query query = {.collection = AUDIT_COLLECTION, .after = after};
    if (reading->recorded.size < reading->verifier.head.size) {
        return error_set(reading->err, RONDO_ERR_CORRUPT,
                         "the audit chain was cut off: its head says %" PRIu64
                         " entries, and a head was signed at entry %" PRIu64,
                         reading->recorded.size, reading->verifier.head.size);
    }
    int r = compare_recorded(reading);
    r = r < 0 ? r : store->ops->read_documents(store, &query, verify_entry, reading, reading->err);
    r = r < 0 ? r : reading->r;
    r = r < 0 ? r : audit_verifier_finish(&reading->verifier, reading->err);
    if (r == 0 && reading->verifier.head.size < reading->recorded.size) {
        return error_set(reading->err, RONDO_ERR_CORRUPT,
                         "the audit chain was cut off: it ends at entry %" PRIu64
                         "; its head says %" PRIu64,
                         reading->verifier.head.size, reading->recorded.size);
    }
    return r;
}

int audit_chain_verify(struct store *store, const struct audit_keys *keys,
                       const struct signed_head *kept, struct audit_report *ret_report,
                       struct rondo_error *err)
{
    struct chain_reading reading = {.keys = keys, .err = err};
    struct store_document_query query = {.collection = AUDIT_SIGNED_COLLECTION};
    int r = 0;
    if (kept != NULL) {
        r = audit_verifier_expect(&reading.verifier, kept, keys, err);
    }
    if (r == 0) {
        r = store->ops->read_documents(store, &query, expect_signed, &reading, err);
        r = r < 0 ? r : reading.r;
    }
    /* Heads before entries: what is appended meanwhile comes after them. */
    r = r < 0 ? r : read_head(store, &reading);
    r = r < 0 ? r : verify_entries(store, &reading);
    *ret_report =
        (struct audit_report){.size = reading.verifier.head.size, .heads = reading.verifier.passed};
    audit_root(&reading.verifier.head, ret_report->root);
    audit_verifier_fini(&reading.verifier);
    return r;
}

void audit_report_write(const struct audit_report *report, bool is_valid, const char *message,
                        struct json_writer *writer)
{
    json_write_bool(writer, "valid", is_valid);
    json_write_int(writer, "entries", (int64_t)report->size);
    json_write_int(writer, "signed_heads", (int64_t)report->heads);
    json_write_int(writer, "redacted", (int64_t)report->redacted);
    json_write_string(writer, "root", report->root);
    json_write_string(writer, "problem", is_valid ? NULL : message);
}

/* ---- Signing -------------------------------------------------------------------------------- */

static int keep(struct store *store, const struct signed_head *head, const struct audit_head *state,
                struct rondo_error *err)
{
    char key[KEY_SIZE];
    auto_buf struct buf text = {0};
    bool is_applied = false;
    snprintf(key, sizeof(key), "%020" PRIu64, head->size);
    buf_append_string(&text, "{\"head\":");
    signed_head_encode(head, &text);
    buf_append_string(&text, ",\"state\":");
    audit_head_encode(state, &text);
    buf_append_string(&text, "}");
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = AUDIT_SIGNED_COLLECTION,
                                  .key = key,
                                  .data = text.data,
                                  .data_len = text.len,
                                  .if_version = STORE_ANY_VERSION};
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

/** Verify what came after the newest signed head, and sign where that ends. */
static int sign(struct store *store, struct chain_reading *reading, int64_t now_ns,
                struct signed_head *ret_head)
{
    unsigned char secret[ED25519_SECRET_SIZE];
    reading->verifier = (struct audit_verifier){.head = reading->state};
    int r = verify_entries(store, reading);
    r = r < 0 ? r : audit_keys_secret(secret, reading->err);
    if (r == 0) {
        signed_head_make(&reading->verifier.head, now_ns, secret, ret_head);
        r = keep(store, ret_head, &reading->verifier.head, reading->err);
    }
    explicit_bzero(secret, sizeof(secret));
    audit_verifier_fini(&reading->verifier);
    return r;
}

/** Read what is known before signing. */
static int prepare(struct store *store, struct audit_keys *keys, struct chain_reading *reading)
{
    reading->keys = keys;
    int r = audit_keys_load(keys, reading->err);
    r = r < 0 ? r : read_newest(store, reading);
    return r < 0 ? r : read_head(store, reading);
}

int audit_chain_sign(struct store *store, int64_t now_ns, struct signed_head *ret_head,
                     struct rondo_error *err)
{
    struct audit_keys keys = {0};
    struct chain_reading reading = {.err = err};
    int r = prepare(store, &keys, &reading);
    return r < 0 ? r : sign(store, &reading, now_ns, ret_head);
}

int audit_chain_sign_due(struct store *store, int64_t now_ns, bool *ret_is_signed,
                         struct rondo_error *err)
{
    struct audit_keys keys = {0};
    struct signed_head head;
    struct chain_reading reading = {.err = err};
    int r = prepare(store, &keys, &reading);
    if (r < 0) {
        return r;
    }
    /* A chain shorter than its signed head is not in order: signing finds out. */
    uint64_t added = reading.recorded.size - reading.state.size;
    bool is_old = reading.signed_ns == 0 || now_ns - reading.signed_ns >= DAY_NS;
    bool is_due = added >= LIMIT_AUDIT_HEAD_ENTRIES || (added > 0 && is_old);
    if (is_due) {
        r = sign(store, &reading, now_ns, &head);
    }
    *ret_is_signed = is_due && r == 0;
    return r;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** Entries that are read at a time: at most so many, and little more than so many bytes. */
#define PAGE       256
#define PAGE_BYTES (1 * LIMIT_MIB)

struct chain_page {
    char key[KEY_SIZE]; /**< of the last entry */
    size_t ends[PAGE];  /**< of each entry in `text` */
    size_t count;
    struct buf text;
};

static bool keep_text(const struct store_document *document, void *context)
{
    struct chain_page *page = context;
    buf_append(&page->text, document->data, document->data_len);
    page->ends[page->count++] = page->text.len;
    snprintf(page->key, sizeof(page->key), "%s", document->key);
    return page->count < PAGE && page->text.len < PAGE_BYTES;
}

/** @return whether to continue */
static bool give_texts(const struct chain_page *page, audit_text_fn *fn, void *context)
{
    size_t begin = 0;
    bool goes_on = true;
    for (size_t i = 0; i < page->count && goes_on; i++) {
        goes_on = fn(page->text.data + begin, page->ends[i] - begin, context);
        begin = page->ends[i];
    }
    return goes_on;
}

int audit_chain_read(struct store *store, uint64_t after, uint32_t limit, audit_text_fn *fn,
                     void *context, struct rondo_error *err)
{
    int r = 0;
    uint64_t left = limit == 0 ? UINT64_MAX : limit;
    bool goes_on = true;
    struct chain_page page = {0};
    snprintf(page.key, sizeof(page.key), "%020" PRIu64, after);
    while (r == 0 && goes_on && left > 0) {
        char key[KEY_SIZE];
        snprintf(key, sizeof(key), "%s", page.key);
        struct store_document_query query = {.collection = AUDIT_COLLECTION,
                                             .after = key,
                                             .limit = left < PAGE ? (uint32_t)left : PAGE};
        page.count = 0;
        buf_clear(&page.text);
        r = store->ops->read_documents(store, &query, keep_text, &page, err);
        goes_on = r == 0 && page.count > 0 && give_texts(&page, fn, context);
        left -= page.count;
    }
    buf_fini(&page.text);
    return r;
}
