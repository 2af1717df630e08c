// SPDX-License-Identifier: Apache-2.0
/* rondo trust: confirm files that decide something and lie where agents can write. */
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "cli/commands/trust_subject.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/terminal/line_input.h"
#include "cli/terminal/style.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "os/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000
/** Files that one invocation takes. */
#define FILES_MAX 256

struct trust_values {
    int64_t says_yes;
    int64_t wants_list;
    int64_t wants_forget;
    char *skill_folder;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row trust_options[] = {
    {.name = "yes",
     .letter = 'y',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct trust_values, says_yes),
     .help = "Confirm without asking",
     .group = "What to do"},
    {.name = "list",
     .letter = 'l',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct trust_values, wants_list),
     .help = "List confirmed files"},
    {.name = "forget",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct trust_values, wants_forget),
     .help = "Withdraw the confirmations of FILE"},
    {.name = "skill-dir",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct trust_values, skill_folder),
     .argument = "FOLDER",
     .help = "Folder with skills that a role names, as for `rondo run`",
     .completes = COMPLETE_FOLDER},
    OPTION_ROW_JSON(struct trust_values, "One JSON object per line, one for each file"),
    OPTION_ROW_NO_COLOUR(struct trust_values),
    {0},
};

/** What an invocation does with a file: the command's exit code. */
typedef int trust_fn(const char *path, const struct trust_values *values);

/* ---- Confirming ----------------------------------------------------------------------------- */

static void print_json(const struct trust_subject *subject, bool is_confirmed)
{
    auto_buf struct buf out = {0};
    struct json_writer writer = json_writer(&out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "trust");
    json_write_string(&writer, "kind", trust_kind_name(subject->kind));
    json_write_string(&writer, "path", subject->path);
    json_write_string(&writer, "what", buf_string(&subject->text));
    json_write_bool(&writer, "confirmed", is_confirmed);
    json_end_object(&writer);
    buf_append_string(&out, "\n");
    report_output(&out);
}

/** Whether the person agrees. @return EXIT_OK, or the exit code of a refusal */
static int ask_consent(const struct trust_subject *subject, const struct trust_values *values)
{
    struct line_input input;
    if (values->says_yes) {
        return EXIT_OK;
    }
    line_input_init(&input, STDIN_FILENO, stderr, values->no_colour != 0);
    enum line_consent consent = line_input_ask(&input, "Confirm this?", NULL);
    line_input_fini(&input);
    if (consent == LINE_NOBODY) {
        return report_failure(
            EXIT_USAGE,
            "%s is not confirmed: there is no terminal to confirm it at; give --yes to "
            "confirm what is shown",
            subject->path);
    }
    return consent == LINE_YES ? EXIT_OK
                               : report_failure(EXIT_OTHER, "%s is not confirmed", subject->path);
}

static int confirm(const char *path, const struct trust_values *values)
{
    struct trust_subject subject;
    struct rondo_error err = {0};
    auto_buf struct buf out = {0};
    if (trust_subject_read(path, values->skill_folder, &subject, &err) < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    bool is_known = subject.verdict == TRUST_CONFIRMED;
    if (!values->wants_json) {
        trust_subject_write(&subject, &out);
        report_output(&out);
    }
    int exit_code = is_known ? EXIT_OK : ask_consent(&subject, values);
    /* A role that is confirmed may not be for a daemon yet. */
    if (exit_code == EXIT_OK && (!is_known || subject.kind == TRUST_ROLE) &&
        trust_subject_confirm(&subject, &err) < 0) {
        exit_code = report_error_as(&err, values->wants_json != 0);
    }
    if (values->wants_json) {
        print_json(&subject, exit_code == EXIT_OK);
    }
    trust_subject_fini(&subject);
    return exit_code;
}

/* ---- Without a name ------------------------------------------------------------------------- */

/** Files in and below the working folder that count only when confirmed. */
struct candidates {
    char *folder;
    char *paths[FILES_MAX];
    int count;
};

static void add_candidate(struct candidates *candidates, const char *path)
{
    for (int i = 0; i < candidates->count; i++) {
        if (strcmp(candidates->paths[i], path) == 0) {
            return;
        }
    }
    /* opens: only for the message */
    if (candidates->count < FILES_MAX && file_exists(path)) {
        candidates->paths[candidates->count++] = memory_dup_string(path);
    }
}

static bool take_record(void *context, const struct trust_record *record)
{
    struct candidates *candidates = context;
    size_t len = strlen(candidates->folder);
    bool is_file = record->kind == TRUST_CONFIG || record->kind == TRUST_VARIABLES ||
                   record->kind == TRUST_ROLE || record->kind == TRUST_POLICY ||
                   record->kind == TRUST_DESKS;
    if (is_file && strncmp(record->path, candidates->folder, len) == 0 &&
        record->path[len] == '/') {
        add_candidate(candidates, record->path);
    }
    return true;
}

/** The project's files that wait for a confirmation: new ones, and those that changed. */
static int confirm_project(const struct trust_values *values)
{
    static const char *const names[] = {".rondo/rondo.db", "rondo.yaml", ".rondo/rondo.cedar"};
    struct rondo_error err = {0};
    struct candidates candidates = {.folder = getcwd(NULL, 0)};
    if (candidates.folder == NULL) {
        error_set(&err, RONDO_ERR_SYSTEM, "cannot find the working directory");
        return report_error(&err);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s", candidates.folder, names[i]);
        add_candidate(&candidates, buf_string(&path));
    }
    int exit_code = trust_list(TRUST_KIND_COUNT, take_record, &candidates, &err) < 0
                        ? report_error(&err)
                        : EXIT_OK;
    if (exit_code == EXIT_OK && candidates.count == 0) {
        fputs("no file here needs confirmation\n", stderr);
    }
    for (int i = 0; i < candidates.count; i++) {
        int one = exit_code == EXIT_OK ? confirm(candidates.paths[i], values) : exit_code;
        exit_code = one;
        free(candidates.paths[i]);
    }
    free(candidates.folder);
    return exit_code;
}

/* ---- Listing and forgetting ----------------------------------------------------------------- */

static const struct table_column columns[] = {
    {"KIND", false, false}, {"CONFIRMED", false, false}, {"FILE", false, true}};

struct trust_table {
    const struct trust_values *values;
    struct table table;
    struct buf out;
    size_t count;
};

static bool list_record(void *context, const struct trust_record *record)
{
    struct trust_table *listing = context;
    char moment[CLOCK_UTC_SIZE];
    clock_format_utc(record->confirmed_ns, moment);
    listing->count++;
    if (listing->values->wants_json) {
        struct json_writer writer = json_writer(&listing->out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "type", "confirmation");
        json_write_string(&writer, "kind", trust_kind_name(record->kind));
        json_write_string(&writer, "path", record->path);
        json_write_string(&writer, "confirmed", moment);
        json_end_object(&writer);
        buf_append_string(&listing->out, "\n");
        return true;
    }
    auto_buf struct buf age = {0};
    auto_buf struct buf path = {0};
    text_moment(moment, clock_now(clock_system()), &age);
    line_input_append_shown(record->path, &path);
    table_add(&listing->table, trust_kind_name(record->kind));
    table_add(&listing->table, buf_string(&age));
    table_add(&listing->table, buf_string(&path));
    return true;
}

static int list(const struct trust_values *values)
{
    struct rondo_error err = {0};
    struct trust_table listing = {
        .values = values,
        .table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
    };
    int r = trust_list(TRUST_KIND_COUNT, list_record, &listing, &err);
    if (r == 0 && listing.count > 0 && !values->wants_json) {
        struct style style = style_for(stdout, values->no_colour != 0);
        table_draw(&listing.table, &style, style_columns(stdout, PIPE_COLUMNS), &listing.out);
    }
    report_output(&listing.out);
    if (r == 0 && listing.count == 0 && !values->wants_json) {
        fputs("no file is confirmed\n", stderr);
    }
    table_fini(&listing.table);
    buf_fini(&listing.out);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

static int forget(const char *path, const struct trust_values *values)
{
    struct rondo_error err = {0};
    int count = trust_forget(path, &err);
    if (count < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    return count > 0 ? EXIT_OK : report_failure(EXIT_OTHER, "%s was not confirmed", path);
}

/* ---- The command ---------------------------------------------------------------------------- */

static const char *find_misuse(const struct trust_values *values, int count)
{
    if (values->wants_list && (values->wants_forget || count > 0)) {
        return "--list takes no file and no --forget";
    }
    return values->wants_forget && count == 0 ? "--forget needs the file" : NULL;
}

static int run(const struct trust_values *values, const struct parsed *parsed)
{
    trust_fn *fn = values->wants_forget ? forget : confirm;
    if (values->wants_list) {
        return list(values);
    }
    int exit_code = parsed->argc == 0 ? confirm_project(values) : EXIT_OK;
    for (int i = 0; i < parsed->argc && exit_code == EXIT_OK; i++) {
        exit_code = fn(parsed->argv[i], values);
    }
    return exit_code;
}

int cmd_trust(const struct invocation *invocation)
{
    struct trust_values values = {0};
    struct option_set set = {.rows = trust_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, FILES_MAX);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        const char *misuse = find_misuse(&values, parsed.argc);
        exit_code =
            misuse != NULL ? command_misuse(invocation->command, misuse) : run(&values, &parsed);
    }
    option_set_fini(&set);
    return exit_code;
}
