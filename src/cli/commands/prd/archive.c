// SPDX-License-Identifier: Apache-2.0
/* rondo prd archive: put a PRD away, whatever came of it. */
#include "prd/archive.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands/prd/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/text.h"
#include "loop/owner.h"
#include "prd/file.h"
#include "work/history.h"

#include <string.h>

struct prd_archive_values {
    char *tag;
    char *store;
};

const struct option_row prd_archive_options[] = {
    {.name = "tag",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct prd_archive_values, tag),
     .argument = "NAME",
     .by_default = "master",
     .help = "Tag of the list to read, in task-master files",
     .group = "General"},
    OPTION_ROW_STORE(struct prd_archive_values),
    {0},
};

/** Files of a run that is not over are not taken away from it. Without a store there is none. */
static int check_idle(const struct prd_archive_values *values, const char *file,
                      struct rondo_error *err)
{
    struct session session;
    struct store_run run;
    const struct session_options options = {.store = values->store, .access = STORE_READING};
    int r = session_open(&options, &session, err);
    if (r == 0) {
        r = work_history_find(session.store, file, &run, err);
        session_close(&session);
    }
    if (r == RONDO_ERR_NOT_FOUND && values->store == NULL) {
        *err = (struct rondo_error){0};
        return 0;
    }
    return r == 0 && run.summary.status == RONDO_RUNNING
               ? error_set(
                     err, RONDO_ERR_BUSY,
                     "run %.*s of %s is not over (%s); continue it with `rondo resume %.*s`, or "
                     "stop it with `rondo stop %.*s`",
                     SHORT_ID_LEN, run.id, file, run_display_status(&run), SHORT_ID_LEN, run.id,
                     SHORT_ID_LEN, run.id)
               : r;
}

/** What tells this archive from others of the same name and day. */
static int make_key(const char *file, struct buf *ret_key, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    int r = prd_file_read(NULL, file, &text, err);
    struct digest digest = digest_begin();
    digest_add(&digest, buf_string(&text), text.len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    buf_printf(ret_key, "file %s", hex);
    return r;
}

static int archive(const struct prd_archive_values *values, const char *file, char **ret_path,
                   struct rondo_error *err)
{
    auto_prd struct prd prd = {0};
    auto_prd_findings struct prd_findings findings = {0};
    auto_buf struct buf key = {0};
    auto_free char *folder = memory_dup_string(file);
    char *name = strrchr(folder, '/') + 1;
    /* The PRD's file is last: after a crash it is there, and the same archive is finished. */
    const char *const files[] = {"progress.txt", name, NULL};
    int r = prd_file_load(NULL, file, values->tag, &prd, &findings, err);
    r = r < 0 ? r : check_idle(values, file, err);
    r = r < 0 ? r : make_key(file, &key, err);
    if (r < 0) {
        return r;
    }
    name[-1] = '\0';
    const char *parent = strrchr(folder, '/');
    const char *title = prd.name[0] != '\0' ? prd.name : parent == NULL ? "prd" : parent + 1;
    return prd_archive(NULL, folder[0] == '\0' ? "/" : folder, files, title,
                       clock_now(clock_system()), buf_string(&key), ret_path, err);
}

static int run_archive(const struct prd_archive_values *values, const char *path)
{
    struct rondo_error err = {0};
    auto_free char *archived = NULL;
    auto_buf struct buf out = {0};
    auto_free char *file = prd_command_file(path);
    int r = file == NULL ? error_set(&err, RONDO_ERR_NOT_FOUND, "%s does not exist", path)
                         : archive(values, file, &archived, &err);
    if (r < 0) {
        return report_error_as(&err, false);
    }
    text_clean(archived, strlen(archived), &out);
    buf_append_string(&out, "\n");
    report_output(&out);
    return EXIT_OK;
}

int cmd_prd_archive(const struct invocation *invocation)
{
    struct prd_archive_values values = {0};
    struct option_set set = {.rows = prd_archive_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_archive(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
