// SPDX-License-Identifier: Apache-2.0
#include "handoff_scene.h"

#include "os/file.h"
#include "os/file_folder.h"
#include "support/test.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define NOTES_LIMIT  ((size_t)65536)
#define TEXT(column) "CAST(" column " AS TEXT)"
#define STATE        "json_extract(" TEXT("data") ", '$.state')"
#define WAITING      STATE " IN ('requested', 'routed', 'rerouted', 'escalated', 'needs_info')"
#define FACTS(kind)                                              \
    "SELECT count(*) FROM documents WHERE collection = 'audit' " \
    "AND json_extract(" TEXT("data") ", '$.kind') = '" kind "'"

static const char script[] = "echo $1 >> effects\n";

void handoffs_clear(struct handoff_scene *handoffs)
{
    char path[HANDOFF_PATH + 16];
    scene_clear(handoffs->scene);
    handoffs->approvals = 0;
    handoffs->doubts = 0;
    snprintf(handoffs->notes, sizeof(handoffs->notes), "%s/notes", handoffs->scene->folder);
    file_remove_tree(handoffs->notes, NULL);
    assert_int_equal(file_make_folder(handoffs->notes, NULL), 0);
    snprintf(path, sizeof(path), "%s/note", handoffs->notes);
    assert_int_equal(file_replace_durably(path, script, strlen(script), NULL), 0);
}

static bool is_about_doubt(const struct handoff_scene *handoffs, const char *request)
{
    char query[256];
    snprintf(query, sizeof(query),
             "SELECT count(*) FROM documents WHERE collection = 'handoff-body' "
             "AND key LIKE '%s/%%' AND instr(" TEXT("data") ", 'in_doubt_execution') > 0",
             request);
    return scene_count(handoffs->scene, query) > 0;
}

bool handoffs_find(const struct handoff_scene *handoffs, char ret_id[ID_SIZE], bool *ret_is_doubt)
{
    bool is_found = scene_text(
        handoffs->scene, "SELECT key FROM documents WHERE collection = 'handoff' AND " WAITING,
        ret_id, ID_SIZE);
    if (is_found && ret_is_doubt != NULL) {
        *ret_is_doubt = is_about_doubt(handoffs, ret_id);
    }
    return is_found;
}

void handoffs_decision(const struct handoff_scene *handoffs, const char *request, bool is_doubt,
                       const char *ret_argv[12])
{
    const char *const argv[] = {
        rondo_path(),           is_doubt ? "reject" : "approve", request,       "--store",
        handoffs->scene->store, is_doubt ? "-m" : NULL,          "never twice", NULL};
    memcpy(ret_argv, argv, sizeof(argv));
}

void handoffs_decide(struct handoff_scene *handoffs, const char *request, bool is_doubt)
{
    const char *argv[12];
    handoffs_decision(handoffs, request, is_doubt, argv);
    struct child *child = child_start(handoffs->scene, argv);
    int status = child_wait(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("%s ended with status %x:\n%s", argv[1], (unsigned)status,
                 buf_string(&child->out));
    }
    child_end(child);
    handoffs->approvals += is_doubt ? 0 : 1;
    handoffs->doubts += is_doubt ? 1 : 0;
}

void handoffs_end_leases(const struct handoff_scene *handoffs)
{
    static const char change[] = "UPDATE documents SET data = json_set(" TEXT(
        "data") ", '$.lease_until_ns', 1) "
                "WHERE collection = 'handoff' AND "
                "json_extract(" TEXT("data") ", '$.application') = 'leased'";
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(handoffs->scene->store, &db, SQLITE_OPEN_READWRITE, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 10000), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, change, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

size_t handoffs_effects(const struct handoff_scene *handoffs)
{
    struct buf text = {0};
    char path[HANDOFF_PATH + 16];
    size_t lines = 0;
    snprintf(path, sizeof(path), "%s/effects", handoffs->notes);
    (void)file_read(path, NOTES_LIMIT, &text, NULL);
    for (size_t i = 0; i < text.len; i++) {
        lines += text.data[i] == '\n' ? 1 : 0;
    }
    buf_fini(&text);
    return lines;
}

static void check_chain(const struct handoff_scene *handoffs)
{
    const char *const argv[] = {rondo_path(),           "audit", "verify", "--store",
                                handoffs->scene->store, NULL};
    struct child *child = child_start(handoffs->scene, argv);
    int status = child_wait(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("the audit chain is broken:\n%s", buf_string(&child->out));
    }
    child_end(child);
}

void handoffs_check(struct handoff_scene *handoffs, size_t effects)
{
    static const char requests[] =
        "SELECT count(*) FROM documents WHERE collection = 'handoff' AND " STATE " = 'approved'";
    static const char undecided[] =
        "SELECT count(*) FROM documents WHERE collection = 'handoff' AND " WAITING;
    static const char applied[] = "SELECT count(*) FROM documents WHERE collection = 'handoff' AND "
                                  "json_extract(" TEXT("data") ", '$.application') = 'applied'";
    int64_t approved = scene_count(handoffs->scene, FACTS("handoff.approved"));
    assert_int_equal(scene_count(handoffs->scene, undecided), 0);
    assert_int_equal(scene_count(handoffs->scene, requests), approved);
    assert_true((uint64_t)approved >= handoffs->approvals);
    assert_int_equal(scene_count(handoffs->scene, FACTS("handoff.rejected")), handoffs->doubts);
    assert_in_range(handoffs_effects(handoffs),
                    effects > handoffs->doubts ? effects - handoffs->doubts : 0, effects);
    assert_true(scene_count(handoffs->scene, FACTS("handoff.started")) <= approved);
    assert_in_range(scene_count(handoffs->scene, applied), approved - (int64_t)handoffs->doubts,
                    approved);
    check_chain(handoffs);
    handoffs->runs_in_doubt += handoffs->doubts > 0 ? 1 : 0;
}
