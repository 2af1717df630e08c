// SPDX-License-Identifier: Apache-2.0
/* The table of the commands of `rondo prd`, and what they share. */
#include "cli/commands/prd/commands.h"

#include "base/ascii.h"
#include "base/error.h"
#include "cli/terminal/text.h"
#include "prd/file.h"
#include "prd/import.h"
#include "prd/json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const struct command prd_commands[] = {
    {
        .name = "prd archive",
        .synopsis = "[OPTION...] FILE",
        .help = "Move a PRD and its progress log into an archive",
        .description = "Moves prd.json and progress.txt into archive/YYYY-MM-DD-NAME/ next to "
                       "them, and prints that path. A second archive of the same name and day gets "
                       "a number; nothing is replaced. A PRD whose run is not over is refused. "
                       "`rondo prd run --archive` does the same when all tasks are done.",
        .examples = "rondo prd archive prd.json\tafter tasks have failed for good",
        .options = prd_archive_options,
        .completes = COMPLETE_FILE,
        .run = cmd_prd_archive,
    },
    {
        .name = "prd check",
        .synopsis = "[OPTION...] FILE",
        .help = "Validate a PRD",
        .description = "Reads a prd.json of any dialect (Arete, Ralph, ralph-tui, stories, "
                       "task-master, a plain list), a PRD in Markdown, a task list of spec-kit or "
                       "a .feature file, and reports every error and warning with its position: "
                       "ids that occur twice, dependencies that are missing or circular, "
                       "contradictory states, tasks without criteria. The exit code is 1 if there "
                       "is an error, or with --strict a warning.",
        .examples = "rondo prd check prd.json\tbefore executing it\n"
                    "rondo prd check --strict PRD.md\tin continuous integration",
        .options = prd_check_options,
        .completes = COMPLETE_FILE,
        .run = cmd_prd_check,
    },
    {
        .name = "prd convert",
        .synopsis = "[OPTION...] FILE",
        .help = "Convert a PRD in Markdown or another format into a prd.json",
        .description = "Parses Markdown, a task list of spec-kit or a .feature file, and writes a "
                       "prd.json to standard output, or with -o to a file. Ids follow from the "
                       "text, so an existing file is updated: tasks that are still in the text "
                       "keep their state and everything that was added to them. Tasks that were "
                       "added, changed or removed are reported. The previous version of the file "
                       "is kept as .NAME.bak.\n\n"
                       "Criteria that are inferred from other parts of the text are marked as "
                       "derived. Ticked boxes are ignored unless --checked-are-done is given.",
        .examples = "rondo prd convert PRD.md -o prd.json\tcreate or update prd.json\n"
                    "rondo prd convert tasks.md --dialect ralph-tui\tfor another tool",
        .options = prd_convert_options,
        .completes = COMPLETE_FILE,
        .run = cmd_prd_convert,
    },
    {
        .name = "prd run",
        .synopsis = "[OPTION...] FILE [[--] COMMAND [ARG...]]",
        .help = "Execute the tasks of a PRD: one verified commit for each",
        .description =
            "Executes the tasks of FILE (a prd.json, or a PRD that is converted first) in the "
            "order of their dependencies and priorities. The worker is a coding agent (--agent), "
            "the agent of a role file (--role), or COMMAND. Each attempt at a task has a working "
            "tree of its own, made from the last commit of the branch; files that are not "
            "committed are not in it. When the worker ends, Rondo runs the project's checks there. "
            "Only if all pass, it commits the changes to the branch and marks the task as done in "
            "prd.json. A failed attempt is repeated with the output of the failure in its prompt. "
            "When no attempts are left, the task has failed: tasks that depend on it are blocked, "
            "the others continue.\n\n"
            "COMMAND runs in the working tree, with the task in RONDO_PROMPT. Ctrl-C stops the "
            "run; `rondo resume` continues it. The exit code is 0 when all tasks are done, else "
            "that of the run's status: 3 when tasks failed, 4 when the remaining tasks need a "
            "person, 5 when --max-attempts ended the run. --json writes each event as a line, then "
            "the result with all tasks.",
        .examples =
            "rondo prd run PRD.md --agent claude\twith a coding agent\n"
            "rondo prd run prd.json --gate tests='make test' -- ./work.sh\twith any command\n"
            "rondo prd run prd.json --role builder.yaml --jobs 3\tthree tasks at a time",
        .options = prd_run_options,
        .completes = COMPLETE_FILE,
        .run = cmd_prd_run,
    },
    {
        .name = "prd status",
        .synopsis = "[OPTION...] FILE",
        .help = "Show the tasks of a PRD",
        .description =
            "Shows the tasks of a PRD with the state, attempts and commit recorded in its file. "
            "A task whose status says done while `passes` is false is not done. "
            "If a run has executed the file, the newest run is shown too, from its "
            "journal: the state of each task, attempts, cost, commit, and why tasks "
            "failed. With --json this is in `last_run`.",
        .examples = "rondo prd status prd.json\tall tasks\n"
                    "rondo prd status prd.json --json | jq .done\tfor programs",
        .options = prd_status_options,
        .completes = COMPLETE_FILE,
        .run = cmd_prd_status,
    },
    {0},
};

static bool has_json_name(const char *path)
{
    size_t len = strlen(path);
    return len > 5 && strcmp(path + len - 5, ".json") == 0;
}

static bool begins_like_json(const struct buf *text)
{
    size_t at = text->len >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < text->len && ascii_is_space(text->data[at])) {
        at++;
    }
    return at < text->len && text->data[at] == '{';
}

int prd_command_is_json(const char *path, bool *ret_is, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    int r = has_json_name(path) ? 0 : prd_file_read(NULL, path, &text, err);
    if (r == 0) {
        *ret_is = has_json_name(path) || begins_like_json(&text);
    }
    return r;
}

char *prd_command_file(const char *path)
{
    struct buf file = {0};
    char canonical[PATH_MAX];
    /* opens: only a name, as the user gave it */
    if (realpath(path, canonical) == NULL) {
        return NULL;
    }
    size_t len = strlen(canonical);
    bool is_json = len > 5 && strcmp(canonical + len - 5, ".json") == 0;
    *(is_json ? canonical + len : strrchr(canonical, '/')) = '\0';
    buf_printf(&file, "%s%s", canonical, is_json ? "" : "/prd.json");
    return buf_steal(&file);
}

int prd_command_read(const char *path, const char *tag, bool ticked_are_done, struct prd *ret_prd,
                     struct prd_findings *findings, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    if (has_json_name(path)) {
        return prd_file_load(NULL, path, tag, ret_prd, findings, err);
    }
    int r = prd_file_read(NULL, path, &text, err);
    if (r < 0) {
        return r;
    }
    const char *bytes = buf_string(&text);
    if (begins_like_json(&text)) {
        r = prd_json_read(bytes, text.len, tag, ret_prd, findings, err);
        if (r < 0) {
            error_prefix(err, "%s", path);
        }
        return r;
    }
    return prd_import(prd_import_kind(path, bytes, text.len), bytes, text.len, ticked_are_done,
                      ret_prd, findings, err);
}

void prd_command_findings(const char *path, const struct prd_findings *findings, struct buf *out)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct prd_finding *finding = &findings->items[i];
        text_clean(path, strlen(path), out);
        if (finding->line > 0) {
            buf_printf(out, ":%u:%u", finding->line, finding->column);
        }
        buf_printf(out, ": %s: ", finding->is_error ? "error" : "warning");
        text_clean(finding->message, strlen(finding->message), out);
        buf_append_string(out, "\n");
    }
    size_t all = findings->errors + findings->warnings;
    if (all > findings->count) {
        buf_printf(out, "and %zu more\n", all - findings->count);
    }
}
