// SPDX-License-Identifier: Apache-2.0
/*
 * Copying what is beside a store. What policies refer to comes first, because they are checked with
 * it before they are in force.
 *
 * all opens: files beside stores of the user, which decide there already.
 */
#include "cli/commands/store/beside.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/desks/desks.h"
#include "os/file.h"
#include "policy/change.h"
#include "policy/replica.h"
#include "policy/watch_files.h"
#include "store/place.h"

#include <stdlib.h>
#include <string.h>

/** Files that are copied as they are. */
static const char *const files[] = {
    "rondo.entities.json", "rondo.links.json",       DESKS_FILE,
    "profiles.cedar",      "profiles.entities.json", "profiles.links.json",
};

/** "FOLDER/NAME" beside a store. Owned */
static char *beside(const char *store_path, const char *name)
{
    const char *slash = strrchr(store_path, '/');
    struct buf path = {0};
    buf_append(&path, store_path, (size_t)(slash - store_path) + 1);
    buf_append_string(&path, name);
    return buf_steal(&path);
}

static bool are_in_one_folder(const struct beside_stores *stores)
{
    auto_free char *from = beside(stores->from_path, "");
    auto_free char *to = beside(stores->to_path, "");
    return strcmp(from, to) == 0;
}

/** Read a file that need not exist. @return 1, 0 when there is none, or a negative code */
static int read_optional(const char *path, struct buf *ret_text, struct rondo_error *err)
{
    struct rondo_error found = {0};
    int r = file_read(path, LIMIT_POLICY_BYTES, ret_text, &found);
    if (r == RONDO_ERR_NOT_FOUND) {
        return 0;
    }
    return r < 0 ? error_set(err, r, "%s", found.message) : 1;
}

/** Refuse to replace a file. @return 1 it is the same, 0 it is not there, or a negative code */
static int check_target(const char *path, const struct buf *text, struct rondo_error *err)
{
    auto_buf struct buf now = {0};
    int r = read_optional(path, &now, err);
    if (r == 1 && (now.len != text->len || memcmp(buf_string(&now), buf_string(text), now.len))) {
        return error_set(err, RONDO_ERR_STATE,
                         "%s exists, and is not what is beside the other store; move it away",
                         path);
    }
    return r;
}

static int copy_file(const struct beside_stores *stores, const char *name, struct buf *ret_done,
                     struct rondo_error *err)
{
    auto_free char *from = beside(stores->from_path, name);
    auto_free char *to = beside(stores->to_path, name);
    auto_buf struct buf text = {0};
    int r = read_optional(from, &text, err);
    if (r <= 0) {
        return r;
    }
    r = check_target(to, &text, err);
    if (r == 0) {
        r = file_replace_durably(to, buf_string(&text), text.len, err);
    }
    if (r >= 0) {
        buf_printf(ret_done, "%s\n", name);
    }
    return r < 0 ? r : 0;
}

static int set_policies(const struct beside_stores *stores, const char *path,
                        const struct buf *text, struct rondo_error *err)
{
    const struct policy_change change = {
        .path = path, .text = buf_string(text), .len = text->len, .by = stores->by};
    struct policy_findings findings = {0};
    struct policy_changed changed = {0};
    struct ruleset *next = NULL;
    int r = policy_change_check(&change, &findings, &next, err);
    policy_findings_fini(&findings);
    r = r < 0 ? r : policy_change_apply(stores->to, &change, next, &changed, err);
    if (r == 0) {
        policy_changed_fini(&changed);
    }
    ruleset_unref(next);
    return r;
}

static int copy_policies(const struct beside_stores *stores, struct buf *ret_done,
                         struct rondo_error *err)
{
    auto_free char *from = beside(stores->from_path, WATCH_DEFAULT_NAME);
    auto_free char *to = beside(stores->to_path, WATCH_DEFAULT_NAME);
    auto_buf struct buf text = {0};
    /* Another machine may have changed what a database shares. */
    int r = policy_replica_pull(stores->from, from, NULL, err);
    r = r < 0 ? r : read_optional(from, &text, err);
    if (r <= 0) {
        return r;
    }
    /* A file of a database's folder is a copy of what is in force there, and nothing is yet. */
    r = store_is_in_database(stores->to_path) ? 0 : check_target(to, &text, err);
    r = r < 0 ? r : set_policies(stores, to, &text, err);
    if (r == 0) {
        buf_append_string(ret_done, WATCH_DEFAULT_NAME "\n");
    } else {
        error_prefix(err, "the policies of the source cannot be put in force");
    }
    return r;
}

int beside_copy(const struct beside_stores *stores, struct buf *ret_done, struct rondo_error *err)
{
    int r = 0;
    if (are_in_one_folder(stores)) {
        return 0;
    }
    for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
        r = copy_file(stores, files[i], ret_done, err);
    }
    return r < 0 ? r : copy_policies(stores, ret_done, err);
}

void beside_write_left(const struct beside_stores *stores, struct buf *ret_lines)
{
    auto_free char *roles = beside(stores->from_path, "roles");
    auto_free char *to = beside(stores->to_path, "");
    if (!are_in_one_folder(stores) && file_exists(roles)) {
        buf_printf(ret_lines, "%s to %s\n", roles, to);
    }
}
