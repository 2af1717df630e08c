// SPDX-License-Identifier: Apache-2.0
/* rondo policy show: the policies in force, or former ones, as Cedar text. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "cli/commands/policy/commands.h"
#include "cli/commands/policy/source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "policy/replica.h"
#include "policy/vocabulary/vocabulary.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy_show_values {
    int64_t is_raw;
    int64_t wants_schema;
    char *store;
    int64_t wants_json;
};

const struct option_row policy_show_options[] = {
    {.name = "raw",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct policy_show_values, is_raw),
     .help = "Only the text of the policy file, for `rondo policy set -`",
     .group = "What to show"},
    {.name = "schema",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct policy_show_values, wants_schema),
     .help = "Show the Cedar schema of Rondo's actions, entities and attributes instead "
             "(rondo.cedarschema)"},
    OPTION_ROW_STORE(struct policy_show_values),
    OPTION_ROW_JSON(struct policy_show_values, "As one JSON object"),
    {0},
};

/** What is shown. Texts are owned. */
struct shown {
    char *source;
    char digest[STORE_POLICY_DIGEST_LEN + 1];
    bool is_recorded; /**< the next ones are known */
    int64_t since_ns;
    char *how;
    char *by;
    struct buf text;
    /* Searching the history: */
    const char *prefix;
    char other[STORE_POLICY_DIGEST_LEN + 1]; /**< another digest that begins like this, or "" */
};

static void shown_fini(struct shown *shown)
{
    free(shown->source);
    free(shown->how);
    free(shown->by);
    buf_fini(&shown->text);
}

static void copy_change(struct shown *shown, const struct store_policy_change *change)
{
    shown->is_recorded = true;
    shown->since_ns = change->time_ns;
    free(shown->how);
    free(shown->by);
    shown->how = memory_dup_string(change->how);
    shown->by = memory_dup_string(change->by);
}

/** Only the newest entry of a source describes what is in force. */
static bool take_newest(const struct store_policy_change *change, void *context)
{
    struct shown *shown = context;
    if (strcmp(change->digest, shown->digest) == 0) {
        copy_change(shown, change);
    }
    return false;
}

/** Last place of a line in a text. @return SIZE_MAX when it is not there */
static size_t find_last(const struct buf *text, const struct buf *line)
{
    size_t found = SIZE_MAX;
    const char *at = buf_string(text);
    const char *end = at + text->len;
    while ((at = memmem(at, (size_t)(end - at), line->data, line->len)) != NULL) {
        found = (size_t)(at - text->data);
        at++;
    }
    return found;
}

/**
 * Cut the text of a policy file out of one that also has its entities and links, each after a
 * comment with the name of its file: it is the policy file that `rondo policy set` replaces.
 */
static void cut_out_policies(const char *source, struct buf *text)
{
    auto_buf struct buf head = {0};
    size_t end = SIZE_MAX;
    buf_printf(&head, "// %s\n", strrchr(source, '/') == NULL ? source : strrchr(source, '/') + 1);
    for (size_t part = RULESET_ENTITIES; part < WATCH_PARTS; part++) {
        auto_free char *path = watch_part_path(source, part);
        auto_buf struct buf line = {0};
        buf_printf(&line, "\n// %s\n", strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1);
        size_t found = find_last(text, &line);
        end = found < end ? found : end;
    }
    bool has_head = text->len >= head.len && memcmp(text->data, head.data, head.len) == 0;
    if (end == SIZE_MAX || !has_head) {
        return;
    }
    struct buf policies = {0};
    buf_append(&policies, text->data + head.len, end < head.len ? 0 : end - head.len);
    buf_fini(text);
    *text = policies;
}

static int find_present(const struct policy_show_values *values, struct shown *shown)
{
    struct ruleset *ruleset = NULL;
    int exit_code = policy_require(NULL, values->store, &ruleset);
    if (exit_code != EXIT_OK) {
        return exit_code;
    }
    shown->source = memory_dup_string(ruleset->source);
    snprintf(shown->digest, sizeof(shown->digest), "%s", ruleset->digest);
    if (values->is_raw) {
        buf_append(&shown->text, ruleset->text, ruleset->text_len);
    } else {
        ruleset_write(ruleset, &shown->text);
    }
    ruleset_unref(ruleset);
    struct session session;
    struct session_options options = {.store = values->store, .access = STORE_READING};
    if (session_open(&options, &session, NULL) == 0) { /* Without a store there is no history. */
        session.store->ops->read_policies(session.store, policy_history_source(shown->source), 0,
                                          take_newest, shown, NULL);
        session_close(&session);
    }
    return EXIT_OK;
}

/** Newest first: the first entry of a digest is the latest time that it was put in force. */
static bool take_former(const struct store_policy_change *change, void *context)
{
    struct shown *shown = context;
    if (strncmp(change->digest, shown->prefix, strlen(shown->prefix)) != 0) {
        return true;
    }
    if (!shown->is_recorded) {
        copy_change(shown, change);
        shown->source = memory_dup_string(change->source);
        snprintf(shown->digest, sizeof(shown->digest), "%s", change->digest);
        buf_append(&shown->text, change->text, change->text_len);
    } else if (strcmp(shown->digest, change->digest) != 0) {
        snprintf(shown->other, sizeof(shown->other), "%s", change->digest);
    }
    return shown->other[0] == '\0';
}

static int find_former(const struct policy_show_values *values, struct shown *shown)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    if (session_open(&options, &session, &err) < 0) {
        return report_error(&err);
    }
    int r = session.store->ops->read_policies(session.store, NULL, 0, take_former, shown, &err);
    session_close(&session);
    if (r < 0) {
        return report_error(&err);
    }
    if (!shown->is_recorded) {
        return report_failure(EXIT_USAGE,
                              "no policies with the digest %.64s were recorded; see "
                              "`rondo policy history`",
                              shown->prefix);
    }
    if (shown->other[0] != '\0') {
        return report_failure(EXIT_USAGE, "%s matches several digests: %s, %s", shown->prefix,
                              shown->digest, shown->other);
    }
    return EXIT_OK;
}

static void write_since(const struct shown *shown, struct buf *out)
{
    if (!shown->is_recorded) {
        buf_append_string(
            out,
            strcmp(shown->source, RULESET_BUILT_IN) == 0
                ? ""
                : "// since: not recorded yet; the next run or `rondo policy set` records it\n");
        return;
    }
    char when[CLOCK_UTC_SIZE];
    clock_format_utc(shown->since_ns, when);
    buf_printf(out, "// since: %s (%s by %s)\n", when, shown->how, shown->by);
}

static void write_text(const struct shown *shown, struct buf *out)
{
    buf_printf(out, "// source: %s\n// digest: %s\n", shown->source, shown->digest);
    write_since(shown, out);
    buf_append_string(out, "\n");
    buf_append(out, buf_string(&shown->text), shown->text.len);
    bool has_end = out->len > 0 && out->data[out->len - 1] == '\n';
    buf_append_string(out, has_end ? "" : "\n");
}

static void write_json(const struct shown *shown, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    char when[CLOCK_UTC_SIZE] = "";
    clock_format_utc(shown->since_ns, when);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "policy");
    json_write_string(&writer, "source", shown->source);
    json_write_string(&writer, "digest", shown->digest);
    json_write_string(&writer, "since", shown->is_recorded ? when : NULL);
    json_write_string(&writer, "how", shown->how);
    json_write_string(&writer, "by", shown->by);
    json_write_string_len(&writer, "text", buf_string(&shown->text), shown->text.len);
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

static int run_show(const struct policy_show_values *values, const char *digest)
{
    auto_buf struct buf out = {0};
    if (values->wants_schema) {
        vocabulary_write_schema(&out);
        report_output(&out);
        return EXIT_OK;
    }
    struct shown shown = {.prefix = digest};
    int exit_code = digest == NULL ? find_present(values, &shown) : find_former(values, &shown);
    if (exit_code == EXIT_OK) {
        if (values->wants_json) {
            write_json(&shown, &out);
        } else if (values->is_raw) {
            cut_out_policies(shown.source, &shown.text);
            buf_append(&out, buf_string(&shown.text), shown.text.len);
        } else {
            write_text(&shown, &out);
        }
        report_output(&out);
    }
    shown_fini(&shown);
    return exit_code;
}

int cmd_policy_show(const struct invocation *invocation)
{
    struct policy_show_values values = {0};
    struct option_set set = {.rows = policy_show_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    const char *digest = parsed.is_over || parsed.argc == 0 ? NULL : parsed.argv[0];
    int exit_code = parsed.is_over ? parsed.exit_code : run_show(&values, digest);
    option_set_fini(&set);
    return exit_code;
}
