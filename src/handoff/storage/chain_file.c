// SPDX-License-Identifier: Apache-2.0
#include "handoff/storage/chain_file.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text/base64.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#define END_BEGIN "{\"signed_head\":"
/** What is signed of lines in which something was hidden begins so. */
#define HIDDEN_DOMAIN "rondo-audit-hidden-v1\n"

static int fail(const struct audit_file *file, const char *what, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_CORRUPT, "line %" PRIu64 " of the file %s", file->lines, what);
}

/* ---- Hidden values -------------------------------------------------------------------------- */

/** Take in one more line. @param digest of those before it, all zero at first */
static void add_hidden(unsigned char *digest, const char *line, size_t len)
{
    struct digest hash = digest_begin();
    digest_add(&hash, digest, DIGEST_SIZE);
    digest_add(&hash, line, len);
    digest_finish(&hash, digest);
}

/** What is signed: the lines, and the head that they belong to. */
static void write_hidden(const unsigned char *digest, const struct signed_head *head,
                         struct buf *ret_message)
{
    char hex[DIGEST_HEX_SIZE];
    digest_hex(digest, hex);
    buf_printf(ret_message, HIDDEN_DOMAIN "%s\n%s", head->root, hex);
}

/** Whether the end of a file signs its lines in which something was hidden. */
static bool signs_hidden(const struct audit_file *file, const struct signed_head *head,
                         struct json_object *end)
{
    unsigned char signature[ED25519_SIGNATURE_SIZE + 4];
    auto_buf struct buf message = {0};
    size_t len = 0;
    const char *text = json_get_string(json_member(end, "hidden"), "signature", "");
    write_hidden(file->hidden, head, &message);
    return base64_decode(text, signature, sizeof(signature), &len) &&
           len == ED25519_SIGNATURE_SIZE &&
           ed25519_verify(head->key, message.data, message.len, signature);
}

/* ---- Verifying ------------------------------------------------------------------------------ */

static int add_end(struct audit_file *file, const char *line, size_t len, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct signed_head head;
    const char *text = "";
    if (json_parse_strict(line, len, &root, NULL) == 0) {
        text = json_object_to_json_string_ext(json_member(root, "signed_head"),
                                              JSON_C_TO_STRING_PLAIN);
    }
    if (signed_head_decode(text, strlen(text), &head, NULL) < 0) {
        return fail(file, "is not a signed head", err);
    }
    file->has_end = true;
    file->heads++;
    int r = audit_verifier_compare(&file->verifier, &head, file->keys, err);
    if (r == 0 && file->verifier.redacted > 0 && !signs_hidden(file, &head, root)) {
        return fail(file, "does not sign the entries with hidden values as they are here", err);
    }
    return r;
}

static int add_line(struct audit_file *file, const char *line, size_t len, struct rondo_error *err)
{
    file->lines++;
    if (file->has_end) {
        return fail(file, "comes after the signed head, which must be the last line", err);
    }
    if (len >= strlen(END_BEGIN) && memcmp(line, END_BEGIN, strlen(END_BEGIN)) == 0) {
        return add_end(file, line, len, err);
    }
    uint64_t before = file->verifier.redacted;
    int r = audit_verifier_add(&file->verifier, line, len, true, err);
    if (r == 0 && file->verifier.redacted > before) {
        add_hidden(file->hidden, line, len);
    }
    return r;
}

/** Take in a part of a line. */
static int add_part(struct audit_file *file, const char *bytes, size_t len, struct rondo_error *err)
{
    if (len > LIMIT_AUDIT_LINE_BYTES - file->line.len) {
        file->lines++;
        return fail(file, "is too long", err);
    }
    buf_append(&file->line, bytes, len);
    return 0;
}

int audit_file_add(struct audit_file *file, const char *bytes, size_t len, struct rondo_error *err)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end == NULL ? len : (size_t)(end - bytes);
        int r = add_part(file, bytes, part, err);
        if (r == 0 && end != NULL) {
            r = add_line(file, buf_string(&file->line), file->line.len, err);
            buf_clear(&file->line);
        }
        if (r < 0) {
            return r;
        }
        part += end == NULL ? 0 : 1;
        bytes += part;
        len -= part;
    }
    return 0;
}

int audit_file_finish(struct audit_file *file, struct audit_report *ret_report,
                      struct rondo_error *err)
{
    int r = 0;
    if (file->line.len > 0) {
        r = add_line(file, buf_string(&file->line), file->line.len, err);
        buf_clear(&file->line);
    }
    r = r < 0 ? r : audit_verifier_finish(&file->verifier, err);
    *ret_report = (struct audit_report){.size = file->verifier.head.size,
                                        .heads = file->heads + file->verifier.passed,
                                        .redacted = file->verifier.redacted};
    audit_root(&file->verifier.head, ret_report->root);
    if (r == 0 && file->verifier.redacted > 0 && !file->has_end) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the file has entries with hidden values, and no end that signs them");
    }
    if (r == 0 && ret_report->heads == 0) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the file has no signed head at its end: entries may have been cut off");
    }
    return r;
}

void audit_file_fini(struct audit_file *file)
{
    audit_verifier_fini(&file->verifier);
    buf_fini(&file->line);
}

/* ---- Exporting ------------------------------------------------------------------------------ */

struct export
{
    audit_hide_fn *hide;
    audit_text_fn *fn;
    void *context;
    uint64_t size; /**< entries of the head */
    uint64_t count;
    uint64_t hidden_count;
    unsigned char hidden[DIGEST_SIZE];
};

static bool export_entry(const char *entry, size_t len, void *context)
{
    struct export *export = context;
    auto_buf struct buf line = {0};
    if (export->count++ >= export->size) {
        return false;
    }
    if (export->hide != NULL) {
        export->hide(export->context, entry, len, &line);
    } else {
        buf_append(&line, entry, len);
    }
    if (line.len != len || memcmp(line.data, entry, len) != 0) {
        add_hidden(export->hidden, line.data, line.len);
        export->hidden_count++;
    }
    return export->fn(line.data, line.len, export->context);
}

/** The last line. */
static int write_end(const struct export *export, const struct signed_head *head,
                     struct buf *ret_end, struct rondo_error *err)
{
    unsigned char secret[ED25519_SECRET_SIZE];
    unsigned char signature[ED25519_SIGNATURE_SIZE];
    auto_buf struct buf message = {0};
    buf_append_string(ret_end, END_BEGIN);
    signed_head_encode(head, ret_end);
    if (export->hidden_count > 0) {
        int r = audit_keys_secret(secret, err);
        if (r < 0) {
            return r;
        }
        write_hidden(export->hidden, head, &message);
        ed25519_sign(secret, message.data, message.len, signature);
        explicit_bzero(secret, sizeof(secret));
        buf_append_string(ret_end, ",\"hidden\":{\"signature\":\"");
        base64_encode(signature, sizeof(signature), ret_end);
        buf_append_string(ret_end, "\"}");
    }
    buf_append_string(ret_end, "}");
    return 0;
}

int audit_file_export(struct store *store, int64_t now_ns, audit_hide_fn *hide, audit_text_fn *fn,
                      void *context, struct rondo_error *err)
{
    struct signed_head head;
    auto_buf struct buf end = {0};
    struct export export = {.hide = hide, .fn = fn, .context = context};
    int r = audit_chain_sign(store, now_ns, &head, err);
    if (r == 0) {
        export.size = head.size;
        r = audit_chain_read(store, 0, 0, export_entry, &export, err);
    }
    if (r == 0 && export.count < export.size) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the audit chain was cut off: it has %" PRIu64
                         " entries, and a head was signed at entry %" PRIu64,
                         export.count, export.size);
    }
    r = r < 0 ? r : write_end(&export, &head, &end, err);
    if (r == 0) {
        fn(end.data, end.len, context);
    }
    return r;
}
