// SPDX-License-Identifier: Apache-2.0
/* Policies of a store that machines share: a machine is a state folder, the database a store in
 * memory. */
#include "policy/replica.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "loop/policy_history.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "policy/change.h"
#include "store/locate/database.h"
#include "store/store.h"
#include "support/scratch.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS "postgresql://me@db.example/rondo"
#define FIRST                                                                                   \
    "forbid (principal, action == Action::\"iterate\", resource) when { context.iteration > 3 " \
    "};\n"
#define SECOND                                                                                  \
    "forbid (principal, action == Action::\"iterate\", resource) when { context.iteration > 5 " \
    "};\n"

struct machines {
    char top[64];
    struct store *store;
    char *paths[2]; /* of the policy files */
};

/** Be on a machine from now on. */
static void enter_machine(const struct machines *machines, unsigned number)
{
    char folder[96];
    snprintf(folder, sizeof(folder), "%s/%u", machines->top, number);
    setenv("XDG_STATE_HOME", folder, 1);
}

static int set_up(void **state)
{
    struct machines *machines = memory_new_zero(1, sizeof(*machines));
    *state = machines;
    machines->store = store_memory_new(NULL);
    if (!scratch_new(machines->top, sizeof(machines->top))) {
        return -1;
    }
    for (unsigned i = 0; i < 2; i++) {
        auto_free char *place = NULL;
        enter_machine(machines, i);
        if (store_database_place(ADDRESS, &place, NULL) < 0) {
            return -1;
        }
        machines->paths[i] = watch_path_of_store(place);
    }
    return 0;
}

static int tear_down(void **state)
{
    struct machines *machines = *state;
    file_remove_tree(machines->top, NULL);
    free(machines->paths[0]);
    free(machines->paths[1]);
    store_close(machines->store);
    free(machines);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/** Set policies on a machine. */
static void set(const struct machines *machines, unsigned number, const char *text)
{
    struct policy_findings findings = {0};
    struct policy_changed changed = {0};
    struct ruleset *next = NULL;
    struct rondo_error err = {0};
    const struct policy_change change = {
        .path = machines->paths[number], .text = text, .len = strlen(text), .by = "alice"};
    enter_machine(machines, number);
    assert_int_equal(policy_change_check(&change, &findings, &next, &err), 0);
    int r = policy_change_apply(machines->store, &change, next, &changed, &err);
    if (r != 0) {
        fail_msg("%s", err.message);
    }
    assert_true(changed.is_changed);
    policy_changed_fini(&changed);
    policy_findings_fini(&findings);
    ruleset_unref(next);
}

static void assert_file(const struct machines *machines, unsigned number, const char *text)
{
    auto_buf struct buf now = {0};
    assert_int_equal(file_read(machines->paths[number], LIMIT_POLICY_BYTES, &now, NULL), 0);
    assert_string_equal(buf_string(&now), text);
}

static void pull(const struct machines *machines, unsigned number, struct policy_replica *replica)
{
    enter_machine(machines, number);
    assert_int_equal(policy_replica_pull(machines->store, machines->paths[number], replica, NULL),
                     0);
}

CASE(what_one_machine_sets_is_on_the_other)
{
    const struct machines *machines = *state;
    struct policy_replica replica = {0};
    pull(machines, 1, &replica);
    assert_false(file_exists(machines->paths[1]));
    set(machines, 0, FIRST);
    pull(machines, 1, &replica);
    assert_file(machines, 1, FIRST);
    set(machines, 1, SECOND);
    pull(machines, 0, NULL);
    assert_file(machines, 0, SECOND);
}

CASE(a_copy_that_somebody_edits_is_made_again)
{
    const struct machines *machines = *state;
    struct policy_replica replica = {0};
    set(machines, 0, FIRST);
    pull(machines, 0, &replica);
    assert_int_equal(file_replace_record(machines->paths[0], SECOND, strlen(SECOND), NULL), 0);
    pull(machines, 0, &replica);
    assert_file(machines, 0, FIRST);
}

CASE(a_file_from_before_is_shared_when_it_is_set)
{
    const struct machines *machines = *state;
    enter_machine(machines, 0);
    assert_int_equal(file_replace_record(machines->paths[0], FIRST, strlen(FIRST), NULL), 0);
    pull(machines, 0, NULL);
    assert_file(machines, 0, FIRST);
    set(machines, 0, FIRST);
    pull(machines, 1, NULL);
    assert_file(machines, 1, FIRST);
}

CASE(of_two_machines_that_set_at_once_one_is_refused)
{
    const struct machines *machines = *state;
    uint64_t version = 0;
    bool is_applied = true;
    set(machines, 0, FIRST);
    assert_int_equal(policy_replica_bring(machines->store, machines->paths[0], &version, NULL), 0);
    assert_int_equal(version, 1);
    set(machines, 1, SECOND);
    enter_machine(machines, 0);
    assert_int_equal(policy_replica_put(machines->store, machines->paths[0], FIRST, strlen(FIRST),
                                        version, &is_applied, NULL),
                     0);
    assert_false(is_applied);
    pull(machines, 0, NULL);
    assert_file(machines, 0, SECOND);
}

/** Watches the policies on a machine. */
static struct watch *watch_on(const struct machines *machines, unsigned number)
{
    return watch_new(&(struct watch_options){
        .path = machines->paths[number],
        .is_optional = true,
        .shared = machines->store,
        .loaded = policy_history_enter,
        .context = machines->store,
    });
}

CASE(a_watch_takes_what_another_machine_has_set_and_knows_by_whom)
{
    const struct machines *machines = *state;
    struct watch_view view = {0};
    struct watch_message message = {0};
    set(machines, 0, FIRST);
    enter_machine(machines, 1);
    struct watch *watch = watch_on(machines, 1);
    assert_int_equal(watch_look(watch, &view, &message, NULL), WATCH_CHANGED);
    assert_string_equal(view.ruleset->text, FIRST);
    set(machines, 0, SECOND);
    enter_machine(machines, 1);
    assert_int_equal(watch_look(watch, &view, &message, NULL), WATCH_CHANGED);
    assert_string_equal(view.ruleset->text, SECOND);
    assert_string_equal(message.by, "alice");
    assert_int_equal(watch_look(watch, &view, &message, NULL), WATCH_SAME);
    watch_view_fini(&view);
    watch_free(watch);
}

static bool count_entry(const struct store_policy_change *change, void *context)
{
    assert_string_equal(change->source, POLICY_SHARED_SOURCE);
    assert_string_equal(change->how, "set");
    ++*(unsigned *)context;
    return true;
}

CASE(the_history_has_one_entry_for_all_machines)
{
    const struct machines *machines = *state;
    unsigned count = 0;
    struct watch_view view = {0};
    struct watch_message message = {0};
    set(machines, 0, FIRST);
    enter_machine(machines, 1);
    struct watch *watch = watch_on(machines, 1);
    assert_int_equal(watch_look(watch, &view, &message, NULL), WATCH_CHANGED);
    assert_int_equal(
        machines->store->ops->read_policies(machines->store, NULL, 0, count_entry, &count, NULL),
        0);
    assert_int_equal(count, 1);
    watch_view_fini(&view);
    watch_free(watch);
}

CASE(a_text_too_long_for_a_document_is_refused)
{
    const struct machines *machines = *state;
    bool is_applied = false;
    enter_machine(machines, 0);
    auto_free char *text = memory_new_zero(1, LIMIT_DOCUMENT_BYTES + 1);
    memset(text, 'a', LIMIT_DOCUMENT_BYTES);
    size_t len = LIMIT_DOCUMENT_BYTES - strlen("{\"text\":\"\"}");
    struct store *store = machines->store;
    assert_int_equal(
        policy_replica_put(store, machines->paths[0], text, len + 1, 0, &is_applied, NULL),
        RONDO_ERR_LIMIT);
    assert_int_equal(policy_replica_put(store, machines->paths[0], text, len, 0, &is_applied, NULL),
                     0);
    assert_true(is_applied);
}

CASE(policies_of_files_are_left_alone)
{
    const struct machines *machines = *state;
    char path[128];
    bool is_applied = false;
    uint64_t version = 7;
    set(machines, 0, FIRST);
    snprintf(path, sizeof(path), "%s/" WATCH_DEFAULT_NAME, machines->top);
    assert_int_equal(policy_replica_pull(machines->store, path, NULL, NULL), 0);
    assert_int_equal(policy_replica_bring(machines->store, path, &version, NULL), 0);
    assert_int_equal(version, 0);
    assert_false(file_exists(path));
    assert_int_equal(policy_replica_put(machines->store, path, "x", 1, 0, &is_applied, NULL), 0);
    assert_true(is_applied);
    pull(machines, 1, NULL);
    assert_file(machines, 1, FIRST);
    assert_string_equal(policy_history_source(path), path);
}
