// SPDX-License-Identifier: Apache-2.0
/* rondo prd check: all that is wrong with a PRD. */
#include "base/json/json.h"
#include "cli/commands/prd/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/terminal/text.h"

#include <string.h>

struct prd_check_values {
    int64_t is_strict;
    char *tag;
    int64_t wants_json;
};

const struct option_row prd_check_options[] = {
    {.name = "strict",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct prd_check_values, is_strict),
     .help = "Warnings count as errors",
     .group = "Checking"},
    {.name = "tag",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prd_check_values, tag),
     .argument = "NAME",
     .by_default = "master",
     .help = "Tag of the list to read, in task-master files"},
    OPTION_ROW_JSON(struct prd_check_values, "As one JSON object"),
    {0},
};

static void write_json(const char *path, const struct prd *prd, const struct prd_findings *findings,
                       struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "prd_check");
    json_write_string(&writer, "file", path);
    json_write_string(&writer, "dialect", prd_dialect_name(prd->dialect));
    json_write_int(&writer, "tasks", (int64_t)prd->task_count);
    json_write_int(&writer, "errors", (int64_t)findings->errors);
    json_write_int(&writer, "warnings", (int64_t)findings->warnings);
    prd_findings_json(findings, &writer);
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

static void write_text(const char *path, const struct prd *prd, const struct prd_findings *findings,
                       struct buf *out)
{
    prd_command_findings(path, findings, out);
    text_clean(path, strlen(path), out);
    buf_printf(out, ": %zu task%s (%s), %zu error%s, %zu warning%s\n", prd->task_count,
               prd->task_count == 1 ? "" : "s", prd_dialect_name(prd->dialect), findings->errors,
               findings->errors == 1 ? "" : "s", findings->warnings,
               findings->warnings == 1 ? "" : "s");
}

static int run_check(const struct prd_check_values *values, const char *path)
{
    auto_prd struct prd prd = {0};
    auto_prd_findings struct prd_findings findings = {0};
    auto_buf struct buf out = {0};
    struct rondo_error err = {0};
    if (prd_command_read(path, values->tag, false, &prd, &findings, &err) < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    if (values->wants_json) {
        write_json(path, &prd, &findings, &out);
    } else {
        write_text(path, &prd, &findings, &out);
    }
    report_output(&out);
    bool is_bad = findings.errors > 0 || (values->is_strict && findings.warnings > 0);
    return is_bad ? EXIT_OTHER : EXIT_OK;
}

int cmd_prd_check(const struct invocation *invocation)
{
    struct prd_check_values values = {0};
    struct option_set set = {.rows = prd_check_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_check(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
