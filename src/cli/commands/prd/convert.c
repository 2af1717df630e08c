// SPDX-License-Identifier: Apache-2.0
/* rondo prd convert: from a PRD that people write to a prd.json. */
#include "base/clock.h"
#include "base/error.h"
#include "cli/commands/prd/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/terminal/text.h"
#include "prd/file.h"
#include "prd/write.h"

#include <string.h>

struct prd_convert_values {
    char *output;
    int64_t ticked_are_done;
    int64_t dialect;
};

static const struct option_choice dialects[] = {
    {"arete", PRD_ARETE}, {"ralph", PRD_RALPH}, {"ralph-tui", PRD_RALPH_TUI}, {0}};

const struct option_row prd_convert_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prd_convert_values, output),
     .argument = "FILE",
     .by_default = "standard output",
     .help = "Write to FILE; an existing FILE keeps its dialect and the state of its tasks",
     .group = "Conversion",
     .completes = COMPLETE_FILE},
    {.name = "checked-are-done",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct prd_convert_values, ticked_are_done),
     .help = "Treat a new task as done if all its boxes are ticked"},
    {.name = "dialect",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct prd_convert_values, dialect),
     .choices = dialects,
     .by_default = "arete",
     .help = "Dialect of a new file"},
    {0},
};

/** What a merge has done, for people. */
static void report_merge(const struct prd_merge *merge)
{
    auto_buf struct buf clean = {0};
    text_clean_lines(buf_string(&merge->report), merge->report.len, &clean);
    fprintf(stderr, "%s%zu added, %zu changed, %zu removed, %zu unchanged\n", buf_string(&clean),
            merge->added, merge->changed, merge->removed, merge->kept);
}

/** The file that is there cannot be merged: say which it is, and where the version before is. */
static int refuse_existing(const char *path, int code, struct rondo_error *err)
{
    auto_prd struct prd prd = {0};
    auto_prd_findings struct prd_findings findings = {0};
    struct rondo_error fault = {0};
    if (prd_file_load(NULL, path, NULL, &prd, &findings, &fault) < 0) {
        *err = fault;
        return code;
    }
    fault = *err;
    return error_set(err, code, "%s: %s. Nothing was written", path, fault.message);
}

/** Write into a file that may be there. */
static int convert_into(const struct prd_convert_values *values, const struct prd *prd,
                        struct rondo_error *err)
{
    auto_buf struct buf existing = {0};
    auto_buf struct buf text = {0};
    struct prd_merge merge = {0};
    int r = prd_file_read(NULL, values->output, &existing, err);
    bool is_new = r == RONDO_ERR_NOT_FOUND;
    if (r < 0 && !is_new) {
        return r;
    }
    r = prd_write(prd, (enum prd_dialect)values->dialect, is_new ? NULL : &existing,
                  clock_now(clock_system()), &text, &merge, err);
    if (r < 0 && !is_new) {
        r = refuse_existing(values->output, r, err);
    }
    bool is_same = r == 0 && !is_new && text.len == existing.len &&
                   memcmp(buf_string(&text), buf_string(&existing), text.len) == 0;
    if (r == 0 && !is_same) {
        r = prd_file_replace(NULL, values->output, is_new ? NULL : &existing, &text, err);
    }
    if (r == 0 && is_new) {
        fprintf(stderr, "%zu task%s written\n", prd->task_count, prd->task_count == 1 ? "" : "s");
    } else if (r == 0) {
        report_merge(&merge);
    }
    prd_merge_fini(&merge);
    return r;
}

static int run_convert(const struct prd_convert_values *values, const char *path)
{
    auto_prd struct prd prd = {0};
    auto_prd_findings struct prd_findings findings = {0};
    auto_buf struct buf out = {0};
    struct rondo_error err = {0};
    int r = prd_command_read(path, NULL, values->ticked_are_done != 0, &prd, &findings, &err);
    if (r < 0) {
        return report_error(&err);
    }
    prd_command_findings(path, &findings, &out);
    fputs(buf_string(&out), stderr);
    buf_clear(&out);
    if (findings.errors > 0) {
        return report_failure(EXIT_OTHER, "nothing was written; correct the errors first");
    }
    if (values->output != NULL) {
        return convert_into(values, &prd, &err) < 0 ? report_error(&err) : EXIT_OK;
    }
    r = prd_write(&prd, (enum prd_dialect)values->dialect, NULL, clock_now(clock_system()), &out,
                  NULL, &err);
    if (r < 0) {
        return report_error(&err);
    }
    report_output(&out);
    return EXIT_OK;
}

int cmd_prd_convert(const struct invocation *invocation)
{
    struct prd_convert_values values = {.dialect = PRD_ARETE};
    struct option_set set = {.rows = prd_convert_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_convert(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
