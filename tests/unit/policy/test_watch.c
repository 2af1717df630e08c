// SPDX-License-Identifier: Apache-2.0
/* Watching policy files: what is found, when a change counts, and what is refused. */
#include "policy/watch.h"

#include "base/limits.h"
#include "policy/watch_files.h"
#include "watch_world.h"

/* ---- Looking -------------------------------------------------------------------------------- */

static int look(struct watch_world *world)
{
    memset(&world->message, 0, sizeof(world->message));
    world->err = (struct rondo_error){0};
    return watch_look(world->watch, &world->view, &world->message, &world->err);
}

static void expect_look(struct watch_world *world, int expected)
{
    int r = look(world);
    if (r != expected) {
        fail_msg("looking gives %d and not %d: %s%s", r, expected, world->err.message,
                 world->message.text);
    }
}

static void expect_refused(struct watch_world *world, const char *message)
{
    expect_look(world, WATCH_REFUSED);
    if (strstr(world->message.text, message) == NULL) {
        fail_msg("'%s' does not hold '%s'", world->message.text, message);
    }
    assert_string_not_equal(world->message.by, "");
    expect_look(world, WATCH_SAME);
}

static void expect_in_force(const struct watch_world *world, const char *id)
{
    if (!has_policy(&world->view, id)) {
        fail_msg("policy %s is not in force", id);
    }
}

/* ---- What is found -------------------------------------------------------------------------- */

WORLD_TEST(a_missing_file_that_may_be_missing_means_built_in)
{
    struct watch_world *world = *state;
    watch_path(world, world->path, true);
    expect_look(world, WATCH_CHANGED);
    assert_string_equal(world->view.ruleset->source, RULESET_BUILT_IN);
    expect_look(world, WATCH_SAME);
    replace(world->path, NAMED("mine"));
    expect_look(world, WATCH_CHANGED);
    expect_in_force(world, "mine");
    assert_string_equal(world->view.ruleset->source, world->path);
}

WORLD_TEST(a_missing_file_that_was_asked_for_is_an_error)
{
    struct watch_world *world = *state;
    watch_path(world, world->path, false);
    for (int i = 0; i < 2; i++) {
        expect_look(world, RONDO_ERR_NOT_FOUND);
        assert_non_null(strstr(world->err.message, world->path));
        assert_null(world->view.ruleset);
    }
    replace(world->path, NAMED("mine"));
    expect_look(world, WATCH_CHANGED);
}

WORLD_TEST(no_path_means_built_in_for_ever)
{
    struct watch_world *world = *state;
    watch_path(world, NULL, false);
    expect_look(world, WATCH_CHANGED);
    assert_string_equal(world->view.ruleset->source, RULESET_BUILT_IN);
    expect_look(world, WATCH_SAME);
}

WORLD_TEST(a_broken_first_file_is_an_error_until_it_is_mended)
{
    struct watch_world *world = *state;
    replace(world->path, "permit (");
    watch_path(world, world->path, true);
    for (int i = 0; i < 2; i++) {
        expect_look(world, RONDO_ERR_INVALID);
        assert_non_null(strstr(world->err.message, "rondo.cedar:1:"));
    }
    replace(world->path, NAMED("mine"));
    expect_look(world, WATCH_CHANGED);
    expect_in_force(world, "mine");
}

WORLD_TEST(entities_and_links_lie_beside_the_file)
{
    struct watch_world *world = *state;
    put(world, "rondo.cedar", "@id(\"t\") forbid (principal == ?principal, action, resource);\n");
    put(world, "rondo.entities.json",
        "[{\"uid\":{\"type\":\"Agent\",\"id\":\"a\"},"
        "\"attrs\":{\"trust\":3},\"parents\":[]}]");
    put(world, "rondo.links.json",
        "[{\"templateId\":\"t\",\"newId\":\"linked\","
        "\"values\":{\"?principal\":{\"type\":\"Agent\",\"id\":\"a\"}}}]");
    put(world, "other.entities.json", "not JSON");
    watch_path(world, world->path, false);
    expect_look(world, WATCH_CHANGED);
    expect_in_force(world, "linked");
    assert_int_equal(cedar_entities_count(world->view.ruleset->entities), 1);
    put(world, "rondo.entities.json", "[]");
    expect_look(world, WATCH_CHANGED);
    assert_int_equal(cedar_entities_count(world->view.ruleset->entities), 0);
    put(world, "rondo.entities.json", "[");
    expect_refused(world, "rondo.entities.json");
}

WORLD_TEST(a_folder_holds_several_files_in_the_order_of_their_names)
{
    struct watch_world *world = *state;
    put(world, "20-b.cedar", NAMED("b"));
    put(world, "10-a.cedar", NAMED("a"));
    put(world, "entities.json", "[]");
    put(world, "links.json", "[]");
    put(world, ".hidden.cedar", "wrong");
    put(world, "notes.txt", "wrong");
    put(world, ".cedar", "wrong");
    watch_path(world, world->folder, false);
    expect_look(world, WATCH_CHANGED);
    assert_string_equal(cedar_policies_id(world->view.ruleset->policies, 0), "a");
    assert_string_equal(cedar_policies_id(world->view.ruleset->policies, 1), "b");
    assert_int_equal(world->view.ruleset->given_count, 2);
    put(world, "15-c.cedar", NAMED("c"));
    expect_look(world, WATCH_CHANGED);
    assert_string_equal(cedar_policies_id(world->view.ruleset->policies, 1), "c");
    auto_free char *path = in_folder(world, "15-c.cedar");
    unlink(path);
    expect_look(world, WATCH_CHANGED);
    assert_int_equal(world->view.ruleset->given_count, 2);
}

WORLD_TEST(a_folder_without_policies_is_refused)
{
    struct watch_world *world = *state;
    watch_path(world, world->folder, true);
    expect_look(world, RONDO_ERR_INVALID);
    put(world, "entities.json", "[]");
    expect_look(world, RONDO_ERR_INVALID);
    assert_non_null(strstr(world->err.message, "contains no file *.cedar"));
    put(world, "a.cedar", NAMED("a"));
    expect_look(world, WATCH_CHANGED);
    auto_free char *path = in_folder(world, "a.cedar");
    unlink(path);
    expect_refused(world, "contains no file *.cedar");
    expect_in_force(world, "a");
}

WORLD_TEST(a_folder_may_hold_so_many_files)
{
    struct watch_world *world = *state;
    for (unsigned i = 0; i <= WATCH_FILES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%03u.cedar", i);
        put(world, name, i == 0 ? PERMIT : "");
    }
    watch_path(world, world->folder, false);
    expect_look(world, RONDO_ERR_LIMIT);
    assert_non_null(strstr(world->err.message, "257 policy files; the limit is 256"));
    auto_free char *last = in_folder(world, "256.cedar");
    unlink(last);
    expect_look(world, WATCH_CHANGED);
    put(world, "256.cedar", NAMED("one too many"));
    expect_refused(world, "257 policy files");
    unlink(last);
    expect_look(world, WATCH_SAME);
}

static void make_sparse(const struct watch_world *world, const char *name, off_t size)
{
    auto_free char *path = in_folder(world, name);
    write_in_place(path, "");
    assert_int_equal(truncate(path, size), 0);
}

WORLD_TEST(files_have_a_size_limit_together)
{
    struct watch_world *world = *state;
    for (char name[] = "a.cedar"; name[0] <= 'd'; name[0]++) {
        make_sparse(world, name, LIMIT_POLICY_BYTES - 10);
    }
    watch_path(world, world->folder, false);
    expect_look(world, RONDO_ERR_LIMIT);
    assert_non_null(strstr(world->err.message, "more than 8388608 bytes"));
    make_sparse(world, "a.cedar", LIMIT_POLICY_BYTES + 1);
    expect_look(world, RONDO_ERR_LIMIT);
}

WORLD_TEST(what_is_no_file_is_refused)
{
    struct watch_world *world = *state;
    put(world, "a.cedar", NAMED("a"));
    watch_path(world, world->folder, false);
    expect_look(world, WATCH_CHANGED);
    auto_free char *folder = in_folder(world, "b.cedar");
    assert_int_equal(mkdir(folder, 0700), 0);
    expect_refused(world, "not a regular file");
}

WORLD_TEST(links_that_lead_nowhere_are_refused)
{
    struct watch_world *world = *state;
    assert_int_equal(symlink("nowhere", world->path), 0);
    watch_path(world, world->path, true);
    expect_look(world, RONDO_ERR_NOT_FOUND);
    replace(world->path, NAMED("a"));
    expect_look(world, WATCH_CHANGED);
    auto_free char *entities = in_folder(world, "rondo.entities.json");
    assert_int_equal(symlink("nowhere", entities), 0);
    expect_refused(world, "rondo.entities.json");
    unlink(entities);
    expect_look(world, WATCH_SAME);
}

WORLD_TEST(a_link_in_a_folder_that_leads_nowhere_is_refused)
{
    struct watch_world *world = *state;
    put(world, "a.cedar", NAMED("a"));
    put(world, "real", "@id(\"b\") forbid (principal, action, resource);");
    auto_free char *link = in_folder(world, "b.cedar");
    auto_free char *real = in_folder(world, "real");
    assert_int_equal(symlink("real", link), 0);
    watch_path(world, world->folder, false);
    expect_look(world, WATCH_CHANGED);
    unlink(real);
    expect_refused(world, "b.cedar");
    expect_in_force(world, "b");
}

WORLD_TEST(an_unreadable_file_is_refused)
{
    struct watch_world *world = *state;
    if (geteuid() == 0) {
        skip(); /* Root reads everything. */
    }
    replace(world->path, NAMED("a"));
    rest(world->path);
    watch_path(world, world->path, true);
    expect_look(world, WATCH_CHANGED);
    assert_int_equal(chmod(world->path, 0), 0);
    expect_refused(world, "cannot open");
    assert_int_equal(chmod(world->path, 0600), 0);
    expect_look(world, WATCH_SAME);
    assert_int_equal(chmod(world->folder, 0), 0);
    expect_refused(world, "cannot look at");
    assert_int_equal(chmod(world->folder, 0700), 0);
    expect_in_force(world, "a");
}

/* ---- When a change counts ------------------------------------------------------------------- */

WORLD_TEST(a_file_that_was_replaced_counts_at_once)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("a"));
    watch_path(world, world->path, false);
    expect_look(world, WATCH_CHANGED);
    for (int i = 0; i < 20; i++) {
        replace(world->path, i % 2 == 0 ? NAMED("b") : NAMED("a"));
        expect_look(world, WATCH_CHANGED);
        expect_in_force(world, i % 2 == 0 ? "b" : "a");
    }
}

/**
 * Write a file in place and look while it counts as being written. A machine that is stopped for
 * longer than that between the two gets another try.
 */
static void look_while_writing(struct watch_world *world, const char *text)
{
    for (int i = 0; i < 100; i++) {
        int64_t begun = clock_now(clock_system());
        write_in_place(world->path, text);
        set_age(world->path, 0);
        int r = look(world);
        if (clock_now(clock_system()) - begun < WATCH_REST_NS) {
            assert_int_equal(r, WATCH_SAME);
            return;
        }
        text = i % 2 == 0 ? NAMED("late") : NAMED("later");
    }
    fail_msg("this machine is too slow for anything");
}

WORLD_TEST(a_file_that_is_being_written_waits_until_it_has_rested)
{
    struct watch_world *world = *state;
    static const char half[] = NAMED("b");
    static const char whole[] = NAMED("b") "@id(\"c\") forbid (principal, action, resource);\n";
    replace(world->path, NAMED("a"));
    watch_path(world, world->path, false);
    expect_look(world, WATCH_CHANGED);
    look_while_writing(world, half);
    expect_in_force(world, "a");
    write_in_place(world->path, whole);
    rest(world->path);
    expect_look(world, WATCH_CHANGED);
    expect_in_force(world, "c");
    look_while_writing(world, "permit (");
    rest(world->path);
    expect_refused(world, "rondo.cedar:1:");
}

WORLD_TEST(a_refused_file_that_is_mended_in_place_waits_too)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("a"));
    watch_path(world, world->path, false);
    expect_look(world, WATCH_CHANGED);
    replace(world->path, "permit (");
    expect_refused(world, "rondo.cedar:1:");
    look_while_writing(world, NAMED("b"));
    rest(world->path);
    expect_look(world, WATCH_CHANGED);
    expect_in_force(world, "b");
}

WORLD_TEST(resting_is_a_matter_of_inode_and_time)
{
    char same[] = "/p.cedar";
    char other[] = "/q.cedar";
    struct watch_file old_file = {.path = same, .state = {.inode = 7, .device = 1, .born_ns = 3}};
    struct watch_files before = {.files = &old_file, .count = 1};
    struct watch_file file = old_file;
    struct watch_files now = {.files = &file, .count = 1};
    int64_t written_ns = 5 * NS_PER_S;
    file.state.modified_ns = written_ns;
    assert_true(watch_files_are_being_written(&now, &before, written_ns));
    assert_true(watch_files_are_being_written(&now, &before, written_ns + WATCH_REST_NS - 1));
    assert_false(watch_files_are_being_written(&now, &before, written_ns + WATCH_REST_NS));
    assert_false(watch_files_are_being_written(&now, &before, written_ns - 1));
    assert_false(watch_files_are_being_written(&now, &now, written_ns)); /* known as it is */
    file.state.inode = 8;
    assert_false(watch_files_are_being_written(&now, &before, written_ns));
    file.state.inode = 7;
    file.state.device = 2;
    assert_false(watch_files_are_being_written(&now, &before, written_ns));
    file.state.device = 1;
    file.state.born_ns = 4; /* the inode was given to a new file */
    assert_false(watch_files_are_being_written(&now, &before, written_ns));
    file = old_file;
    file.path = other;
    file.state.modified_ns = written_ns;
    assert_false(watch_files_are_being_written(&now, &before, written_ns));
    assert_false(watch_files_are_being_written(&now, &(struct watch_files){0}, written_ns));
}

WORLD_TEST(a_file_that_was_only_touched_changes_nothing)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("a"));
    watch_path(world, world->path, false);
    expect_look(world, WATCH_CHANGED);
    const struct ruleset *before = world->view.ruleset;
    rest(world->path);
    expect_look(world, WATCH_SAME);
    replace(world->path, NAMED("a"));
    expect_look(world, WATCH_SAME);
    assert_ptr_equal(world->view.ruleset, before);
    write_in_place(world->path, NAMED("b")); /* is watched still */
    rest(world->path);
    expect_look(world, WATCH_CHANGED);
}

WORLD_TEST(a_folder_through_a_link_changes_as_a_whole)
{
    struct watch_world *world = *state;
    auto_free char *one = in_folder(world, "1");
    auto_free char *two = in_folder(world, "2");
    auto_free char *link = in_folder(world, "now");
    auto_free char *next = in_folder(world, "next");
    assert_int_equal(mkdir(one, 0700) | mkdir(two, 0700), 0);
    put(world, "1/a.cedar", NAMED("a1"));
    put(world, "1/b.cedar", NAMED("b1"));
    put(world, "2/a.cedar", NAMED("a2"));
    put(world, "2/b.cedar", NAMED("b2"));
    assert_int_equal(symlink("1", link), 0);
    watch_path(world, link, false);
    expect_look(world, WATCH_CHANGED);
    expect_in_force(world, "b1");
    assert_int_equal(symlink("2", next), 0);
    assert_int_equal(rename(next, link), 0);
    expect_look(world, WATCH_CHANGED);
    expect_in_force(world, "a2");
    expect_in_force(world, "b2");
    assert_false(has_policy(&world->view, "a1"));
}

/* ---- What is refused ------------------------------------------------------------------------ */

WORLD_TEST(a_bad_file_is_refused_once_and_changes_nothing)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("a"));
    watch_path(world, world->path, true);
    expect_look(world, WATCH_CHANGED);
    replace(world->path, PERMIT "forbid (principal, action, resource) when { context.tokns > 5 };");
    expect_refused(world, "rondo.cedar:2:");
    expect_in_force(world, "a");
    replace(world->path, "max_iterations: 7");
    expect_refused(world, "context.iteration < 7");
    replace(world->path, NAMED("a"));
    expect_look(world, WATCH_SAME);
    replace(world->path, NAMED("b"));
    expect_look(world, WATCH_CHANGED);
}

WORLD_TEST(a_file_that_is_gone_is_refused_and_lifts_nothing)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("a"));
    watch_path(world, world->path, true);
    expect_look(world, WATCH_CHANGED);
    unlink(world->path);
    expect_refused(world, "is gone");
    expect_in_force(world, "a");
    replace(world->path, NAMED("b"));
    expect_look(world, WATCH_CHANGED);
    expect_in_force(world, "b");
}

WORLD_TEST(each_view_hears_of_a_refusal_and_of_changes_by_their_authors)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("a"));
    watch_path(world, world->path, true);
    expect_look(world, WATCH_CHANGED);
    struct watch_view late = {0};
    struct watch_message message = {0};
    struct rondo_error err;
    assert_int_equal(watch_look(world->watch, &late, &message, &err), WATCH_CHANGED);
    replace(world->path, NAMED("b"));
    expect_look(world, WATCH_CHANGED);
    assert_non_null(strstr(world->message.by, "the file's owner"));
    unlink(world->path);
    expect_look(world, WATCH_REFUSED);
    assert_string_equal(world->message.by, "nobody");
    expect_look(world, WATCH_SAME);
    assert_int_equal(watch_look(world->watch, &late, &message, &err), WATCH_CHANGED);
    assert_non_null(strstr(message.by, "the file's owner"));
    assert_ptr_equal(late.ruleset, world->view.ruleset);
    assert_int_equal(watch_look(world->watch, &late, &message, &err), WATCH_SAME);
    watch_view_fini(&late);
    assert_null(late.ruleset);
}

static void count_loaded(void *context, const struct ruleset *ruleset, bool is_first, char *by,
                         size_t by_size)
{
    struct watch_world *world = context;
    assert_non_null(ruleset);
    assert_non_null(strstr(by, "the file's owner"));
    world->loaded++;
    world->is_first = is_first;
    snprintf(by, by_size, "alice");
}

WORLD_TEST(whoever_wants_to_know_is_told_before_anybody_else)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("a"));
    world->watch = watch_new(
        &(struct watch_options){.path = world->path, .loaded = count_loaded, .context = world});
    expect_look(world, WATCH_CHANGED);
    assert_string_equal(world->message.by, "alice");
    assert_int_equal(world->loaded, 1);
    assert_true(world->is_first);
    replace(world->path, NAMED("a"));
    expect_look(world, WATCH_SAME);
    replace(world->path, "(");
    expect_look(world, WATCH_REFUSED);
    assert_int_equal(world->loaded, 1);
    replace(world->path, NAMED("b"));
    expect_look(world, WATCH_CHANGED);
    assert_int_equal(world->loaded, 2);
    assert_false(world->is_first);
}

/* ---- Reading once, and paths ---------------------------------------------------------------- */

static void count_findings(const struct lint_finding *finding, void *context)
{
    (void)finding;
    ++*(unsigned *)context;
}

WORLD_TEST(reading_once_reports_everything)
{
    struct watch_world *world = *state;
    struct ruleset *ruleset = NULL;
    struct rondo_error err = {0};
    unsigned findings = 0;
    assert_int_equal(watch_read(world->path, count_findings, &findings, &ruleset, &err),
                     RONDO_ERR_NOT_FOUND);
    replace(world->path, "forbid (principal, action, resource)\n"
                         "when { context.tokns > 5 || context.itration > 5 };");
    assert_int_equal(watch_read(world->path, count_findings, &findings, &ruleset, &err),
                     RONDO_ERR_INVALID);
    assert_int_equal(findings, 2);
    assert_null(ruleset);
    replace(world->path, PERMIT);
    assert_int_equal(watch_read(world->path, NULL, NULL, &ruleset, &err), 0);
    assert_int_equal(ruleset->given_count, 1);
    ruleset_unref(ruleset);
}

WORLD_TEST(a_text_can_be_read_as_if_it_were_the_file)
{
    struct watch_world *world = *state;
    struct ruleset *ruleset = NULL;
    put(world, "rondo.entities.json",
        "[{\"uid\":{\"type\":\"Agent\",\"id\":\"a\"},"
        "\"attrs\":{},\"parents\":[]}]");
    replace(world->path, "wrong");
    assert_int_equal(watch_read_as(world->path, PERMIT, strlen(PERMIT), NULL, NULL, &ruleset, NULL),
                     0);
    assert_int_equal(cedar_entities_count(ruleset->entities), 1);
    assert_string_equal(ruleset->source, world->path);
    ruleset_unref(ruleset);
    assert_int_equal(watch_read_as(world->path, "(", 1, NULL, NULL, &ruleset, NULL),
                     RONDO_ERR_INVALID);
}

static void expect_path(char *path, const char *expected)
{
    assert_string_equal(path, expected);
    free(path);
}

WORLD_TEST(paths_follow_from_one_another)
{
    assert_null(watch_default_path(NULL));
    expect_path(watch_default_path("/srv/.rondo/rondo.db"), "/srv/.rondo/rondo.cedar");
    expect_path(watch_default_path("rondo.db"), "rondo.cedar");
    expect_path(watch_part_path("/p/x.cedar", RULESET_POLICIES), "/p/x.cedar");
    expect_path(watch_part_path("/p/x.cedar", RULESET_ENTITIES), "/p/x.entities.json");
    expect_path(watch_part_path("/p/x", RULESET_LINKS), "/p/x.links.json");
    expect_path(watch_part_path("x.cedar.d/y", RULESET_LINKS), "x.cedar.d/y.links.json");
}
