// SPDX-License-Identifier: Apache-2.0
/* `rondo audit`: the chain of what was requested, decided and done, for auditors. */
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/text/base64.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "handoff/inbox/inbox.h"
#include "handoff/inbox/redaction.h"
#include "handoff/storage/chain_file.h"
#include "os/file_untrusted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Bytes of a file that are read at once. */
#define CHUNK (64 * LIMIT_KIB)

struct audit_values {
    char *store;
    char *head;
    char **keys;
    int64_t wants_json;
};

static const struct option_row verify_options[] = {
    {.name = "head",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct audit_values, head),
     .argument = "FILE",
     .help = "A signed head that was kept elsewhere, which the chain must contain",
     .group = "Verification",
     .completes = COMPLETE_FILE},
    {.name = "key",
     .kind = OPTION_LIST,
     .offset = offsetof(struct audit_values, keys),
     .argument = "BASE64",
     .by_default = "your own keys",
     .help = "Also trust this public key; repeatable"},
    OPTION_ROW_STORE(struct audit_values),
    OPTION_ROW_JSON(struct audit_values, "As a JSON object"),
    {0},
};

static const struct option_row store_options[] = {
    OPTION_ROW_STORE(struct audit_values),
    {0},
};

static const struct option_row key_options[] = {
    OPTION_ROW_JSON(struct audit_values, "As a JSON object"),
    {0},
};

/* ---- verify --------------------------------------------------------------------------------- */

/** The keys that are trusted: those of this user, and given ones. */
static int load_keys(const struct audit_values *values, struct audit_keys *ret_keys,
                     struct rondo_error *err)
{
    int r = audit_keys_load(ret_keys, err);
    for (char **key = values->keys; r == 0 && key != NULL && *key != NULL; key++) {
        r = audit_keys_add(ret_keys, *key, err);
    }
    return r;
}

/** Read the head that was kept elsewhere. */
static int load_head(const char *path, struct signed_head *ret_head, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    int r = file_read_named(NULL, path, LIMIT_AUDIT_KEY_FILE_BYTES, &text, err);
    r = r < 0 ? r : signed_head_decode(text.data, text.len, ret_head, err);
    if (r == RONDO_ERR_INVALID) {
        error_prefix(err, "%s: ", path);
    }
    return r;
}

static int verify_open_file(FILE *stream, struct audit_file *file, struct rondo_error *err)
{
    char chunk[CHUNK];
    int r = 0;
    size_t len = 0;
    while (r == 0 && (len = fread(chunk, 1, sizeof(chunk), stream)) > 0) {
        r = audit_file_add(file, chunk, len, err);
    }
    if (r == 0 && ferror(stream)) {
        r = error_set_errno(err, RONDO_ERR_IO, errno, "cannot read the file");
    }
    return r;
}

static int verify_file(const char *path, const struct audit_keys *keys,
                       const struct signed_head *kept, struct audit_report *ret_report,
                       struct rondo_error *err)
{
    struct audit_file file = {.keys = keys};
    /* opens: for reading, a file that the user names; what is in it is verified. */
    FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (stream == NULL) {
        return error_set_errno(err, RONDO_ERR_NOT_FOUND, errno, "cannot open %s", path);
    }
    int r = kept == NULL ? 0 : audit_verifier_expect(&file.verifier, kept, keys, err);
    r = r < 0 ? r : verify_open_file(stream, &file, err);
    /* After a failure, too: it says how much is in order. */
    int finished = audit_file_finish(&file, ret_report, r < 0 ? NULL : err);
    audit_file_fini(&file);
    if (stream != stdin) {
        fclose(stream);
    }
    return r < 0 ? r : finished;
}

static int verify_store(const struct audit_values *values, const struct audit_keys *keys,
                        const struct signed_head *kept, struct audit_report *ret_report,
                        struct rondo_error *err)
{
    struct session session;
    struct session_options options = {.store = values->store, .access = STORE_READING};
    int r = session_open(&options, &session, err);
    if (r == 0) {
        r = audit_chain_verify(session.store, keys, kept, ret_report, err);
        session_close(&session);
    }
    return r;
}

static void print_report(const struct audit_report *report, bool is_valid,
                         const struct rondo_error *err)
{
    auto_buf struct buf out = {0};
    struct json_writer writer = json_writer(&out);
    json_begin_object(&writer, NULL);
    audit_report_write(report, is_valid, err->message, &writer);
    json_end_object(&writer);
    buf_append_string(&out, "\n");
    report_output(&out);
}

static void tell_report(const struct audit_report *report)
{
    printf("%" PRIu64 " %s in order, signed up to here %" PRIu64 " %s\nroot %s\n", report->size,
           report->size == 1 ? "entry" : "entries", report->heads,
           report->heads == 1 ? "time" : "times", report->root);
    if (report->redacted > 0) {
        printf("%" PRIu64 " with hidden values: they are as they were exported\n",
               report->redacted);
    }
    if (report->heads == 0) {
        fprintf(stderr,
                "no head was ever signed: `rondo audit head` prints one to keep elsewhere\n");
    }
}

static int run_verify(const struct audit_values *values, const char *path)
{
    struct audit_keys keys = {0};
    struct signed_head kept;
    struct audit_report report = {0};
    struct rondo_error err = {0};
    int r = load_keys(values, &keys, &err);
    r = r < 0 || values->head == NULL ? r : load_head(values->head, &kept, &err);
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    const struct signed_head *expected = values->head == NULL ? NULL : &kept;
    r = path != NULL ? verify_file(path, &keys, expected, &report, &err)
                     : verify_store(values, &keys, expected, &report, &err);
    bool has_report = r == 0 || r == RONDO_ERR_CORRUPT;
    if (has_report && values->wants_json) {
        print_report(&report, r == 0, &err);
    } else if (r == 0) {
        tell_report(&report);
    }
    return r == 0                             ? EXIT_OK
           : has_report && values->wants_json ? report_error(&err)
                                              : report_error_as(&err, values->wants_json != 0);
}

static int cmd_audit_verify(const struct invocation *invocation)
{
    struct audit_values values = {0};
    struct option_set set = {.rows = verify_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_verify(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}

/* ---- export, head --------------------------------------------------------------------------- */

/** Without what the rules of the desk file hide from who exports. */
static void hide(void *context, const char *entry, size_t len, struct buf *ret_line)
{
    inbox_audit_entry(context, entry, len, ret_line);
}

static bool print_line(const char *line, size_t len, void *context)
{
    (void)context;
    return fwrite(line, 1, len, stdout) == len && putchar('\n') == '\n';
}

static int export(struct session *session, struct rondo_error *err)
{
    char person[HANDOFF_NAME_SIZE];
    struct handoff_store handoffs = session_handoffs(session);
    struct inbox_audit audit = {.handoffs = &handoffs, .viewer = person};
    inbox_user(person);
    int r =
        audit_file_export(session->store, clock_now(clock_system()), hide, print_line, &audit, err);
    inbox_audit_fini(&audit);
    return r;
}

static int print_head(struct session *session, struct rondo_error *err)
{
    struct signed_head head;
    auto_buf struct buf out = {0};
    int r = audit_chain_sign(session->store, clock_now(clock_system()), &head, err);
    if (r == 0) {
        signed_head_encode(&head, &out);
        buf_append_string(&out, "\n");
        report_output(&out);
    }
    return r;
}

/** @param is_export all entries, with a head at their end; else a head only */
static int run_signed(const struct invocation *invocation, bool is_export)
{
    struct audit_values values = {0};
    struct session session;
    struct rondo_error err = {0};
    struct option_set set = {.rows = store_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        struct session_options options = {.store = values.store};
        int r = session_open(&options, &session, &err);
        if (r == 0) {
            r = is_export ? export(&session, &err) : print_head(&session, &err);
            session_close(&session);
        }
        exit_code = r < 0 ? report_error(&err) : EXIT_OK;
    }
    option_set_fini(&set);
    return exit_code;
}

static int cmd_audit_export(const struct invocation *invocation)
{
    return run_signed(invocation, true);
}

static int cmd_audit_head(const struct invocation *invocation)
{
    return run_signed(invocation, false);
}

/* ---- rotate-key ----------------------------------------------------------------------------- */

static int rotate(const struct audit_values *values, struct rondo_error *err)
{
    struct audit_keys keys = {0};
    auto_buf struct buf key = {0};
    int r = audit_keys_rotate(err);
    r = r < 0 ? r : audit_keys_load(&keys, err);
    if (r == 0) {
        base64_encode(keys.keys[keys.count - 1], ED25519_PUBLIC_SIZE, &key);
        printf(values->wants_json ? "{\"public_key\":\"%s\"}\n" : "%s\n", buf_string(&key));
    }
    return r;
}

static int cmd_audit_rotate_key(const struct invocation *invocation)
{
    struct audit_values values = {0};
    struct rondo_error err = {0};
    struct option_set set = {.rows = key_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        exit_code =
            rotate(&values, &err) < 0 ? report_error_as(&err, values.wants_json != 0) : EXIT_OK;
    }
    option_set_fini(&set);
    return exit_code;
}

const struct command audit_commands[] = {
    {
        .name = "audit verify",
        .synopsis = "[OPTION...] [FILE]",
        .help = "Verify the audit chain",
        .description =
            "Verifies the chain of this store, or of an exported FILE ('-' is standard input), for "
            "which no store is needed: that no entry was changed, removed, added or moved, and "
            "that all heads that were signed are heads of it. Entries that were cut off at the end "
            "are noticed with a head that was kept elsewhere (--head). The exit code is 10 if "
            "anything is wrong.\n\n"
            "Heads count that were signed with one of your own keys, or with one given by --key.",
        .examples =
            "rondo audit verify --head head.json\tthe store, against a head kept elsewhere\n"
            "rondo audit verify export.jsonl --key MCowBQ...\ton another computer",
        .options = verify_options,
        .completes = COMPLETE_FILE,
        .run = cmd_audit_verify,
    },
    {
        .name = "audit export",
        .synopsis = "[OPTION...]",
        .help = "Print the audit chain, with a signed head at its end",
        .description = "Prints one JSON object per line: the entries in their order, and at the "
                       "end a head that is signed now. `rondo audit verify FILE` verifies it.",
        .examples = "rondo audit export >audit.jsonl\tall of it",
        .options = store_options,
        .run = cmd_audit_export,
    },
    {
        .name = "audit head",
        .synopsis = "[OPTION...]",
        .help = "Print a signed head of the audit chain, to keep elsewhere",
        .description =
            "Signs the number of entries and the root of the Merkle tree over them with your key, "
            "which is made when there is none. Keep the output where nobody who can write the "
            "store can change it: `rondo audit verify --head` then proves that no earlier entry "
            "was changed or cut off.",
        .examples = "rondo audit head >head.json\tkeep it on another computer",
        .options = store_options,
        .run = cmd_audit_head,
    },
    {
        .name = "audit rotate-key",
        .synopsis = "[OPTION...]",
        .help = "Sign heads with a new key from now on",
        .description = "Makes a new signing key and prints its public half. The secret half of the "
                       "old key is deleted; its public half is kept, so that the heads which it "
                       "has signed can still be verified.",
        .options = key_options,
        .run = cmd_audit_rotate_key,
    },
    {0},
};
