// SPDX-License-Identifier: Apache-2.0
/* rondo policy check: all that is wrong with policies. */
#include "base/auto.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/commands/policy/commands.h"
#include "cli/commands/policy/source.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "os/file_untrusted.h"
#include "policy/lint/lint.h"
#include "policy/profile/watch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct check_values {
    int64_t is_strict;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row policy_check_options[] = {
    {.name = "strict",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct check_values, is_strict),
     .help = "Warnings count as errors",
     .group = "Checking"},
    OPTION_ROW_STORE(struct check_values),
    OPTION_ROW_JSON(struct check_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct check_values),
    {0},
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL || slash[1] == '\0' ? path : slash + 1;
}

/** Read a file of the policies again, to show a line of it. A policy_text_fn. */
static void read_text(const char *file, void *context, struct buf *ret_text)
{
    const char *path = context;
    struct stat status;
    /* opens: only tells a folder from a file */
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    auto_buf struct buf name = {0};
    size_t folder_len = is_folder ? strlen(path) : (size_t)(base_name(path) - path);
    buf_append(&name, path, folder_len);
    buf_printf(&name, "%s%s", is_folder ? "/" : "", file);
    file_read_named(NULL, buf_string(&name), LIMIT_POLICY_BYTES, ret_text, NULL);
}

/** A set of forbids alone looks as if it allowed the rest; it allows nothing. */
static void check_permits(const struct ruleset *ruleset, const char *name,
                          struct policy_findings *findings)
{
    if (lint_has_permit_for(ruleset->policies, ACTION_ITERATE)) {
        return;
    }
    struct lint_finding finding = {
        .file = name,
        .policy = LINT_NO_POLICY,
        .message = "no permit can match `iterate`, so every iteration is denied; add `permit "
                   "(principal, action, resource);` and forbid what must not happen",
    };
    policy_findings_add(&finding, findings);
}

static void write_json(const struct ruleset *ruleset, const char *path,
                       const struct policy_findings *findings, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "policy_check");
    json_write_string(&writer, "source", ruleset == NULL ? path : ruleset->source);
    json_write_bool(&writer, "is_valid", ruleset != NULL);
    if (ruleset != NULL) {
        json_write_string(&writer, "digest", ruleset->digest);
        json_write_int(&writer, "policies", (int64_t)policy_count(ruleset));
    }
    json_write_int(&writer, "errors", (int64_t)findings->errors);
    json_write_int(&writer, "warnings", (int64_t)findings->warnings);
    policy_findings_json(findings, &writer);
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

static void write_text(const struct ruleset *ruleset, char *path,
                       const struct policy_findings *findings, const struct style *style,
                       struct buf *out)
{
    bool is_built_in = ruleset != NULL && strcmp(ruleset->source, RULESET_BUILT_IN) == 0;
    policy_findings_text(findings, style, read_text, path, out);
    buf_printf(out, "%s: ", is_built_in ? "built-in policies (no file)" : base_name(path));
    if (ruleset != NULL) {
        size_t count = policy_count(ruleset);
        buf_printf(out, "%zu polic%s, ", count, count == 1 ? "y" : "ies");
    }
    policy_findings_count(findings, out);
    buf_append_string(out, "\n");
}

/* ---- Profiles ------------------------------------------------------------------------------- */

/** Whether a file is one of profiles, by its name or by the actions that it speaks of. */
static bool is_profile(const char *path)
{
    auto_buf struct buf text = {0};
    size_t len = strlen(path);
    bool is_text = len > 6 && strcmp(path + len - 6, ".cedar") == 0;
    return strcmp(base_name(path), PROFILE_FILE_NAME) == 0 ||
           (is_text && file_read_named(NULL, path, LIMIT_POLICY_BYTES, &text, NULL) == 0 &&
            profiles_is_text(text.data, text.len));
}

static void write_profile_json(const char *path, const struct profiles *profiles,
                               const struct rondo_error *err, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "policy_check");
    json_write_string(&writer, "source", path);
    json_write_bool(&writer, "is_valid", profiles != NULL);
    if (profiles != NULL) {
        json_write_string(&writer, "digest", profiles_hash(profiles));
        json_write_int(&writer, "policies", (int64_t)profiles_count(profiles));
    }
    json_write_int(&writer, "errors", profiles == NULL);
    json_write_int(&writer, "warnings", 0);
    json_begin_array(&writer, "findings");
    if (profiles == NULL) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "severity", "error");
        json_write_string(&writer, "message", err->message);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

static int check_profile(const char *path, bool wants_json)
{
    auto_buf struct buf out = {0};
    struct rondo_error err = {0};
    struct profiles *profiles = NULL;
    int r = profile_read(path, &profiles, &err);
    if (r < 0 && policy_exit_code(&err) == EXIT_USAGE) {
        return report_error_as(&err, wants_json);
    }
    if (wants_json) {
        write_profile_json(path, profiles, &err, &out);
    } else if (r < 0) {
        buf_printf(&out, "%s\n%s: 1 error\n", err.message, base_name(path));
    } else {
        size_t count = profiles_count(profiles);
        buf_printf(&out, "%s: %zu polic%s of profiles, no errors\n", base_name(path), count,
                   count == 1 ? "y" : "ies");
    }
    report_output(&out);
    profiles_unref(profiles);
    return r < 0 ? EXIT_OTHER : EXIT_OK;
}

static int run_check(const struct check_values *values, const char *given)
{
    struct rondo_error err = {0};
    auto_free char *path = NULL;
    if (given != NULL && is_profile(given)) {
        return check_profile(given, values->wants_json != 0);
    }
    if (policy_locate(given, values->store, &path, &err) < 0) {
        return report_error(&err);
    }
    struct policy_findings findings = {0};
    struct ruleset *ruleset = NULL;
    if (policy_load(path, given == NULL, &findings, &ruleset, &err) == 0) {
        check_permits(ruleset, base_name(path), &findings);
    } else if (policy_exit_code(&err) == EXIT_USAGE) {
        return report_error_as(&err, values->wants_json != 0);
    } else {
        policy_findings_add_failure(&findings, base_name(path), &err);
    }
    auto_buf struct buf out = {0};
    if (values->wants_json) {
        write_json(ruleset, path, &findings, &out);
    } else {
        struct style style = style_for(stdout, values->no_colour != 0);
        write_text(ruleset, path, &findings, &style, &out);
    }
    report_output(&out);
    bool is_bad = findings.errors > 0 || (values->is_strict && findings.warnings > 0);
    policy_findings_fini(&findings);
    ruleset_unref(ruleset);
    return is_bad ? EXIT_OTHER : EXIT_OK;
}

int cmd_policy_check(const struct invocation *invocation)
{
    struct check_values values = {0};
    struct option_set set = {.rows = policy_check_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    int exit_code = parsed.is_over ? parsed.exit_code
                                   : run_check(&values, parsed.argc > 0 ? parsed.argv[0] : NULL);
    option_set_fini(&set);
    return exit_code;
}
