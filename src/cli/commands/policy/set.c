// SPDX-License-Identifier: Apache-2.0
/*
 * rondo policy set: put policies in force. They are checked first, then recorded, then the file is
 * replaced: a process that notices the new file finds its author in the history.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/commands/policy/commands.h"
#include "cli/commands/policy/source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "os/file.h"
#include "os/file_untrusted.h"
#include "os/host.h"
#include "policy/change.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct set_values {
    char *by;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row policy_set_options[] = {
    {.name = "by",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct set_values, by),
     .argument = "NAME",
     .by_default = "user@host",
     .help = "Author of the change, for the history and the journals of runs",
     .group = "The change"},
    OPTION_ROW_STORE(struct set_values),
    OPTION_ROW_JSON(struct set_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct set_values),
    {0},
};

/** One change of the policies. */
struct policy_edit {
    const struct set_values *values;
    struct session session;
    char *path;           /**< of the policy file */
    struct buf text;      /**< the new one */
    struct ruleset *next; /**< with the new text */
    struct policy_changed done;
    char by[LIMIT_POLICY_BY_BYTES + 1];
};

static int read_input(struct policy_edit *change, const char *name, struct rondo_error *err)
{
    if (strcmp(name, "-") != 0) {
        return file_read_named(NULL, name, LIMIT_POLICY_BYTES, &change->text, err);
    }
    for (;;) {
        char *room = buf_room(&change->text, BUFSIZ);
        size_t got = fread(room, 1, BUFSIZ, stdin);
        buf_grown(&change->text, got);
        if (change->text.len > LIMIT_POLICY_BYTES) {
            return error_set(err, RONDO_ERR_LIMIT, "the input is larger than %ld bytes",
                             (long)LIMIT_POLICY_BYTES);
        }
        if (got < BUFSIZ) {
            return ferror(stdin)
                       ? error_set_errno(err, RONDO_ERR_IO, errno, "cannot read the input")
                       : 0;
        }
    }
}

static void name_user(struct policy_edit *change)
{
    if (change->values->by != NULL) {
        snprintf(change->by, sizeof(change->by), "%s", change->values->by);
        return;
    }
    char name[129];
    struct host_process self;
    host_describe_self(&self);
    bool is_name = host_user_name(geteuid(), name, sizeof(name));
    snprintf(change->by, sizeof(change->by), "%s%s@%s", is_name ? "" : "user ", name, self.host);
}

/** A line of the new text. A policy_text_fn. */
static void quote_text(const char *file, void *context, struct buf *ret_text)
{
    const struct policy_edit *change = context;
    const char *slash = strrchr(change->path, '/');
    if (strcmp(file, slash == NULL ? change->path : slash + 1) == 0) {
        buf_append(ret_text, change->text.data, change->text.len);
    }
}

static struct policy_change change_of(const struct policy_edit *change)
{
    return (struct policy_change){
        .path = change->path,
        .text = buf_string(&change->text),
        .len = change->text.len,
        .by = change->by,
    };
}

/** Check the new text as if it were there. @return 0 or an exit code */
static int check(struct policy_edit *change, const char *name)
{
    struct rondo_error err = {0};
    struct policy_findings findings = {0};
    struct policy_change wanted = change_of(change);
    int r = policy_change_check(&wanted, &findings, &change->next, &err);
    if (r == RONDO_ERR_STATE) {
        return report_failure(EXIT_USAGE, "%s", err.message);
    }
    if (r < 0) {
        policy_findings_add_failure(&findings, name, &err);
    }
    auto_buf struct buf out = {0};
    struct style style = style_for(stderr, change->values->no_colour != 0);
    policy_findings_text(&findings, &style, quote_text, change, &out);
    fwrite(out.data, 1, out.len, stderr);
    policy_findings_fini(&findings);
    /* opens: only for the question that is asked */
    return r < 0 ? report_failure(EXIT_OTHER, "%s was not set: %s is unchanged", name,
                                  file_exists(change->path) ? change->path : "everything")
                 : EXIT_OK;
}

static void write_limit(struct ruleset *ruleset, struct buf *out)
{
    if (ruleset == NULL) {
        buf_append_string(out, "unknown");
        return;
    }
    struct policy_limit limits[RUN_LIMIT_COUNT];
    policy_default_limits(ruleset, limits);
    const struct policy_limit *limit = &limits[RUN_LIMIT_ITERATIONS];
    if (limit->is_known) {
        buf_printf(out, "%s%" PRId64, limit->is_estimated ? "about " : "", limit->limit);
    } else {
        buf_append_string(out, "none");
    }
}

static void json_limit(struct ruleset *ruleset, const char *key, struct json_writer *writer)
{
    struct policy_limit limits[RUN_LIMIT_COUNT] = {0};
    if (ruleset != NULL) {
        policy_default_limits(ruleset, limits);
    }
    if (limits[RUN_LIMIT_ITERATIONS].is_known) {
        json_write_int(writer, key, limits[RUN_LIMIT_ITERATIONS].limit);
    } else {
        json_write_null(writer, key);
    }
}

static void write_json(const struct policy_edit *change, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "policy_set");
    json_write_bool(&writer, "is_changed", change->done.is_changed);
    json_write_string(&writer, "source", change->path);
    json_write_string(&writer, "by", change->by);
    json_write_string(
        &writer, "old_digest",
        change->done.before == NULL || !change->done.had_file ? NULL : change->done.before->digest);
    json_write_string(&writer, "digest", change->next->digest);
    json_write_int(&writer, "policies", (int64_t)policy_count(change->next));
    json_limit(change->done.before, "old_iteration_limit", &writer);
    json_limit(change->next, "iteration_limit", &writer);
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

static void write_text(const struct policy_edit *change, struct buf *out)
{
    size_t count = policy_count(change->next);
    if (!change->done.is_changed) {
        buf_printf(out, "policy set: no change, %.*s is already in use\n", SHORT_DIGEST_LEN,
                   change->next->digest);
        return;
    }
    buf_printf(out, "policy set: %.*s -> %.*s, %zu polic%s; iteration limit ", SHORT_DIGEST_LEN,
               !change->done.had_file        ? RULESET_BUILT_IN
               : change->done.before == NULL ? "invalid"
                                             : change->done.before->digest,
               SHORT_DIGEST_LEN, change->next->digest, count, count == 1 ? "y" : "ies");
    write_limit(change->done.before, out);
    buf_append_string(out, " -> ");
    write_limit(change->next, out);
    buf_append_string(out, "; running loops use it from their next step\n");
}

/** Put the checked text in force. @return exit code */
static int set(struct policy_edit *change)
{
    struct rondo_error err = {0};
    name_user(change);
    struct policy_change wanted = change_of(change);
    if (policy_change_apply(change->session.store, &wanted, change->next, &change->done, &err) <
        0) {
        return report_error_as(&err, change->values->wants_json != 0);
    }
    if (change->done.warning[0] != '\0') {
        report_warning("%s", change->done.warning);
    }
    auto_buf struct buf out = {0};
    if (change->values->wants_json) {
        write_json(change, &out);
    } else {
        write_text(change, &out);
    }
    report_output(&out);
    return EXIT_OK;
}

static int run(struct policy_edit *change, const char *name)
{
    const struct set_values *values = change->values;
    struct rondo_error err = {0};
    if (values->by != NULL && strlen(values->by) > LIMIT_POLICY_BY_BYTES) {
        return report_failure(EXIT_USAGE, "--by can have at most %d bytes", LIMIT_POLICY_BY_BYTES);
    }
    if (read_input(change, name, &err) < 0) {
        return report_failure(policy_exit_code(&err), "%s", err.message);
    }
    if (policy_locate(NULL, values->store, &change->path, &err) < 0) {
        return report_error(&err);
    }
    int exit_code = check(change, name);
    if (exit_code != EXIT_OK) {
        return exit_code;
    }
    /* Only now: a text that is refused creates no store. */
    struct session_options options = {.store = values->store, .access = STORE_CREATING};
    if (session_open(&options, &change->session, &err) < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    exit_code = set(change);
    session_close(&change->session);
    return exit_code;
}

static int run_set(const struct set_values *values, const char *name)
{
    struct policy_edit change = {.values = values};
    int exit_code = run(&change, name);
    policy_changed_fini(&change.done);
    ruleset_unref(change.next);
    free(change.path);
    buf_fini(&change.text);
    return exit_code;
}

int cmd_policy_set(const struct invocation *invocation)
{
    struct set_values values = {0};
    struct option_set set = {.rows = policy_set_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_set(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
