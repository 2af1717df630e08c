// SPDX-License-Identifier: Apache-2.0
/* rondo validate: whether role files are right, what they say, and their normal form. A folder
 * means the role files in it. */
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "cli/commands/role_findings.h"
#include "cli/commands/role_summary.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "role/folder.h"
#include "role/role.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

struct validate_values {
    int64_t schema;
    int64_t is_strict;
    char *skill_folder;
    int64_t wants_json;
    int64_t no_colour;
};

static const struct option_choice schemas[] = {
    {"1.0", ROLE_SCHEMA_1_0},
    {"1.13", ROLE_SCHEMA_1_13},
    {0},
};

const struct option_row validate_options[] = {
    {.name = "strict",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct validate_values, is_strict),
     .help = "Warnings count as errors",
     .group = "Checking"},
    {.name = "skill-dir",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct validate_values, skill_folder),
     .argument = "FOLDER",
     .help = "Also look for skills here",
     .completes = COMPLETE_FOLDER},
    {.name = "as",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct validate_values, schema),
     .choices = schemas,
     .by_default = "1.0",
     .help = "InitRunner version whose defaults the normal form uses; settings added later appear "
             "only if the file has them",
     .group = "Output"},
    OPTION_ROW_JSON(
        struct validate_values,
        "The normal form with all defaults filled in, or the findings if there are errors"),
    OPTION_ROW_NO_COLOUR(struct validate_values),
    {0},
};

/** One file on its way. */
struct checked {
    const char *file; /**< as it was given */
    struct role *role;
    struct buf normal; /**< its normal form, before skills are put in */
    struct role_findings findings;
    bool is_valid;
};

static void checked_fini(struct checked *checked)
{
    role_free(checked->role);
    buf_fini(&checked->normal);
    role_findings_fini(&checked->findings);
}

static int read_standard_input(struct buf *text, struct rondo_error *err)
{
    for (;;) {
        size_t len = fread(buf_room(text, 65536), 1, 65536, stdin);
        buf_grown(text, len);
        if (text->len > LIMIT_ROLE_FILE_BYTES) {
            return error_set(err, RONDO_ERR_LIMIT, "a role file can have at most %ld bytes",
                             LIMIT_ROLE_FILE_BYTES);
        }
        if (len == 0) {
            return ferror(stdin) ? error_set(err, RONDO_ERR_IO, "cannot read standard input") : 0;
        }
    }
}

static int read_role(struct checked *checked, enum role_schema schema, struct rondo_error *err)
{
    if (strcmp(checked->file, "-") != 0) {
        return role_read(checked->file, schema, &checked->findings, &checked->role, err);
    }
    auto_buf struct buf text = {0};
    checked->file = "stdin";
    int r = read_standard_input(&text, err);
    return r < 0 ? r
                 : role_parse(buf_string(&text), text.len, checked->file, schema,
                              &checked->findings, &checked->role, err);
}

static void write_finding(const struct role_finding *finding, const char *file,
                          struct json_writer *writer)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "severity", role_severity_name(finding->severity));
    json_write_string(writer, "file", file);
    if (finding->line > 0) {
        json_write_int(writer, "line", (int64_t)finding->line);
        json_write_int(writer, "column", (int64_t)finding->column);
    }
    json_write_string(writer, "path", finding->path);
    json_write_string(writer, "message", finding->message);
    if (finding->hint != NULL) {
        json_write_string(writer, "hint", finding->hint);
    }
    json_end_object(writer);
}

static void write_failure(const struct checked *checked, struct json_writer *writer)
{
    json_begin_object(writer, NULL);
    json_write_bool(writer, "ok", false);
    json_write_string(writer, "file", checked->file);
    json_begin_array(writer, "findings");
    for (size_t i = 0; i < checked->findings.count; i++) {
        write_finding(&checked->findings.items[i], checked->file, writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

/** @param is_one the only file: its normal form is printed alone */
static void write_json(const struct checked *checked, bool is_one, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    if (!checked->is_valid) {
        write_failure(checked, &writer);
    } else if (is_one) {
        buf_append_string(out, buf_string(&checked->normal));
    } else {
        json_begin_object(&writer, NULL);
        json_write_bool(&writer, "ok", true);
        json_write_string(&writer, "file", checked->file);
        json_write_raw(&writer, "normalized", buf_string(&checked->normal));
        json_end_object(&writer);
    }
    buf_append_string(out, "\n");
}

/**
 * Put the skills in, so that the summary shows their tools. They are no part of the file: what is
 * wrong with them is warned of.
 */
static void check_skills(struct checked *checked, const char *skill_folder)
{
    auto_buf struct buf prompt = {0};
    size_t before = checked->findings.count;
    buf_append_string(
        &checked->normal,
        json_object_to_json_string_ext(checked->role->normal,
                                       JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    role_resolve_skills(checked->role, skill_folder, &checked->findings, &prompt, NULL);
    for (size_t i = before; i < checked->findings.count; i++) {
        if (checked->findings.items[i].severity == ROLE_ERROR) {
            checked->findings.items[i].severity = ROLE_WARNING;
        }
    }
}

static void write_text(const struct checked *checked, const struct validate_values *values,
                       struct buf *out)
{
    struct style style = style_for(stdout, values->no_colour != 0);
    struct role_summary summary = {
        .file = checked->file,
        .role = checked->role,
        .errors = role_findings_errors(&checked->findings),
        .warnings = checked->findings.count - role_findings_errors(&checked->findings),
        .is_valid = checked->is_valid,
    };
    role_summary_text(&summary, &style, style_columns(stdout, 100), out);
}

/** @return exit code */
static int validate(const char *file, const struct validate_values *values, bool is_one)
{
    struct checked checked = {.file = file};
    struct rondo_error err = {0};
    auto_buf struct buf out = {0};
    if (read_role(&checked, (enum role_schema)values->schema, &err) < 0) {
        checked_fini(&checked);
        return report_error_as(&err, values->wants_json != 0);
    }
    if (checked.role != NULL) {
        check_skills(&checked, values->skill_folder);
        checked.is_valid = values->is_strict == 0 || checked.findings.count == 0;
    }
    if (values->wants_json) {
        write_json(&checked, is_one, &out);
    } else {
        write_text(&checked, values, &out);
    }
    role_findings_report(&checked.findings, checked.file, ROLE_WARNING);
    report_output(&out);
    checked_fini(&checked);
    return checked.is_valid ? EXIT_OK : EXIT_OTHER;
}

/** What was validated. */
struct tally {
    int files;
    int valid;
    int exit_code;
};

static void count_file(struct tally *tally, const char *file, const struct validate_values *values,
                       bool is_one)
{
    int one = validate(file, values, is_one);
    tally->files++;
    tally->valid += one == EXIT_OK ? 1 : 0;
    tally->exit_code = one > tally->exit_code ? one : tally->exit_code;
}

/** The role files that `rondo daemon FOLDER` would keep on duty. */
static void count_folder(struct tally *tally, const char *folder,
                         const struct validate_values *values)
{
    char **files = NULL;
    struct rondo_error err = {0};
    int code = EXIT_OK;
    if (role_folder_list(folder, &files, &err) < 0) {
        code = report_error_as(&err, values->wants_json != 0);
    } else if (files[0] == NULL) {
        error_set(&err, RONDO_ERR_NOT_FOUND, "%s has no role files (*.yaml, *.yml)", folder);
        code = report_error_as(&err, values->wants_json != 0);
    }
    for (size_t i = 0; files != NULL && files[i] != NULL; i++) {
        count_file(tally, files[i], values, false);
    }
    memory_free_list(files);
    tally->exit_code = code > tally->exit_code ? code : tally->exit_code;
}

static void print_tally(const struct tally *tally)
{
    auto_buf struct buf out = {0};
    buf_printf(&out, "%d role files: %d valid, %d not\n", tally->files, tally->valid,
               tally->files - tally->valid);
    report_output(&out);
}

int cmd_validate(const struct invocation *invocation)
{
    struct validate_values values = {.schema = ROLE_SCHEMA_1_0};
    struct option_set set = {.rows = validate_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1000);
    struct tally tally = {.exit_code = parsed.is_over ? parsed.exit_code : EXIT_OK};
    for (int i = 0; !parsed.is_over && i < parsed.argc; i++) {
        if (role_folder_is(parsed.argv[i])) {
            count_folder(&tally, parsed.argv[i], &values);
        } else {
            count_file(&tally, parsed.argv[i], &values, parsed.argc == 1);
        }
    }
    if (tally.files > 1 && values.wants_json == 0) {
        print_tally(&tally);
    }
    option_set_fini(&set);
    return tally.exit_code;
}
