// SPDX-License-Identifier: Apache-2.0
/* Policy files that agents can write: what counts is what a person has confirmed. */
#include "os/file_folder.h"
#include "policy/watch.h"

#include "base/limits.h"
#include "os/trust.h"
#include "watch_world.h"

static int look(struct watch_world *world)
{
    memset(&world->message, 0, sizeof(world->message));
    world->err = (struct rondo_error){0};
    return watch_look(world->watch, &world->view, &world->message, &world->err);
}

/** Begin a run under the file `mine`, named by a person. */
static void begin(struct watch_world *world)
{
    replace(world->path, NAMED("mine"));
    watch_path(world, world->path, false);
    watch_set_reach(world->watch, WATCH_NAMED);
    assert_int_equal(look(world), WATCH_CHANGED);
}

/** As another process would look, a resume for instance. @return of the first look */
static int look_anew(struct watch_world *world, const char *path, bool is_optional)
{
    watch_view_fini(&world->view);
    watch_free(world->watch);
    watch_path(world, path, is_optional);
    watch_set_reach(world->watch, WATCH_IN_REACH);
    return look(world);
}

/** The agent has done something: it is refused once, and the old rules stay. */
static void expect_old_rules(struct watch_world *world, const char *why)
{
    assert_int_equal(look(world), WATCH_REFUSED);
    if (strstr(world->message.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", world->message.text, why);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(look(world), WATCH_SAME);
    }
    assert_true(has_policy(&world->view, "mine"));
}

static void confirm(const struct watch_world *world, const char *path)
{
    struct ruleset *ruleset = NULL;
    assert_int_equal(watch_read(path, NULL, NULL, &ruleset, NULL), 0);
    assert_int_equal(
        trust_confirm(TRUST_POLICY, path, ruleset->digest, strlen(ruleset->digest), NULL), 0);
    ruleset_unref(ruleset);
    (void)world;
}

WORLD_TEST(naming_a_file_confirms_it_once)
{
    struct watch_world *world = *state;
    begin(world);
    assert_int_equal(look_anew(world, world->path, false), WATCH_CHANGED);
    replace(world->path, NAMED("other"));
    watch_set_reach(world->watch, WATCH_NAMED);
    expect_old_rules(world, "changed after you confirmed it");
}

WORLD_TEST(a_file_that_nobody_named_or_confirmed_does_not_count)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("mine"));
    assert_int_equal(look_anew(world, world->path, true), RONDO_ERR_DENIED);
    assert_non_null(strstr(world->err.message, "rondo trust"));
    confirm(world, world->path);
    assert_int_equal(look(world), WATCH_CHANGED);
}

WORLD_TEST(a_changed_file_counts_when_it_is_confirmed)
{
    struct watch_world *world = *state;
    begin(world);
    replace(world->path, NAMED("other"));
    expect_old_rules(world, "rondo trust");
    confirm(world, world->path);
    assert_int_equal(look(world), WATCH_CHANGED);
    assert_true(has_policy(&world->view, "other"));
    assert_int_equal(look(world), WATCH_SAME);
}

WORLD_TEST(a_change_does_not_survive_into_a_resume)
{
    struct watch_world *world = *state;
    begin(world);
    replace(world->path, NAMED("other"));
    assert_int_equal(look_anew(world, world->path, false), RONDO_ERR_DENIED);
    replace(world->path, NAMED("mine"));
    assert_int_equal(look(world), WATCH_CHANGED);
}

WORLD_TEST(parts_that_were_absent_stay_absent)
{
    struct watch_world *world = *state;
    begin(world);
    put(world, "rondo.entities.json", "[]");
    expect_old_rules(world, "changed after you confirmed it");
    put(world, "rondo.links.json", "[]");
    expect_old_rules(world, "changed after you confirmed it");
}

WORLD_TEST(a_new_file_in_a_folder_does_not_count)
{
    struct watch_world *world = *state;
    replace(world->path, NAMED("mine"));
    watch_path(world, world->folder, false);
    watch_set_reach(world->watch, WATCH_NAMED);
    assert_int_equal(look(world), WATCH_CHANGED);
    put(world, "new.cedar", NAMED("new"));
    expect_old_rules(world, "changed after you confirmed it");
    put(world, "entities.json", "[]");
    expect_old_rules(world, "changed after you confirmed it");
}

WORLD_TEST(an_absent_optional_file_stays_absent)
{
    struct watch_world *world = *state;
    assert_int_equal(look_anew(world, world->path, true), WATCH_CHANGED);
    replace(world->path, NAMED("mine"));
    assert_int_equal(look(world), WATCH_REFUSED);
    assert_string_equal(world->view.ruleset->source, RULESET_BUILT_IN);
}

WORLD_TEST(a_confirmed_file_that_is_gone_is_not_the_same_as_none)
{
    struct watch_world *world = *state;
    begin(world);
    unlink(world->path);
    assert_int_equal(look_anew(world, world->path, true), RONDO_ERR_DENIED);
    assert_non_null(strstr(world->err.message, "is gone"));
    assert_int_equal(trust_forget(world->path, NULL), 1);
    assert_int_equal(look(world), WATCH_CHANGED);
    assert_string_equal(world->view.ruleset->source, RULESET_BUILT_IN);
}

WORLD_TEST(a_folder_that_was_moved_away_changes_nothing)
{
    struct watch_world *world = *state;
    auto_free char *policies = in_folder(world, "policies");
    auto_free char *moved = in_folder(world, "p2");
    auto_free char *path = in_folder(world, "policies/x.cedar");
    assert_int_equal(mkdir(policies, 0700), 0);
    replace(path, NAMED("mine"));
    watch_path(world, path, false);
    watch_set_reach(world->watch, WATCH_NAMED);
    assert_int_equal(look(world), WATCH_CHANGED);
    assert_int_equal(rename(policies, moved), 0);
    assert_int_equal(mkdir(policies, 0700), 0);
    expect_old_rules(world, "there is no policy file");
    replace(path, NAMED("free"));
    expect_old_rules(world, "changed after you confirmed it");
    assert_int_equal(look_anew(world, path, false), RONDO_ERR_DENIED);
}

WORLD_TEST(a_link_in_place_of_a_folder_leads_to_nothing_confirmed)
{
    struct watch_world *world = *state;
    auto_free char *policies = in_folder(world, "policies");
    auto_free char *other = in_folder(world, "other");
    auto_free char *path = in_folder(world, "policies/x.cedar");
    auto_free char *free_path = in_folder(world, "other/x.cedar");
    assert_int_equal(mkdir(policies, 0700), 0);
    assert_int_equal(mkdir(other, 0700), 0);
    replace(path, NAMED("mine"));
    replace(free_path, NAMED("free"));
    watch_path(world, path, false);
    watch_set_reach(world->watch, WATCH_NAMED);
    assert_int_equal(look(world), WATCH_CHANGED);
    assert_int_equal(file_remove_tree(policies, NULL), 0);
    assert_int_equal(symlink("other", policies), 0);
    expect_old_rules(world, "the policy file");
    assert_true(look_anew(world, path, false) < 0);
    confirm(world, free_path); /* For another run: it is no confirmation for this one. */
    assert_true(look_anew(world, path, false) < 0);
}

WORLD_TEST(a_link_to_another_confirmed_file_is_a_change)
{
    struct watch_world *world = *state;
    auto_free char *lax = in_folder(world, "lax.cedar");
    replace(lax, NAMED("free"));
    confirm(world, lax);
    begin(world);
    unlink(world->path);
    assert_int_equal(symlink("lax.cedar", world->path), 0);
    expect_old_rules(world, "changed after you confirmed it");
    assert_true(look_anew(world, world->path, false) < 0);
}

WORLD_TEST(what_is_no_usable_file_is_refused_once)
{
    struct watch_world *world = *state;
    begin(world);
    unlink(world->path);
    assert_int_equal(mkfifo(world->path, 0600), 0);
    expect_old_rules(world, "is not usable");
    unlink(world->path);
    assert_int_equal(symlink("/etc/passwd", world->path), 0);
    expect_old_rules(world, "policy file");
    unlink(world->path);
    write_in_place(world->path, "");
    assert_int_equal(truncate(world->path, LIMIT_POLICY_BYTES + 1), 0);
    rest(world->path);
    expect_old_rules(world, "larger than");
    unlink(world->path);
    expect_old_rules(world, "policy file");
    replace(world->path, NAMED("mine"));
    assert_int_equal(look(world), WATCH_SAME);
}

WORLD_TEST(a_run_out_of_reach_shares_files_with_one_in_reach)
{
    struct watch_world *world = *state;
    struct watch_view other = {0};
    replace(world->path, NAMED("mine"));
    watch_path(world, world->path, false);
    watch_set_reach(world->watch, WATCH_OUT_OF_REACH);
    assert_int_equal(look(world), WATCH_CHANGED);
    watch_set_reach(world->watch, WATCH_IN_REACH);
    assert_int_equal(watch_look(world->watch, &other, &world->message, &world->err),
                     RONDO_ERR_DENIED);
    watch_set_reach(world->watch, WATCH_NAMED);
    assert_int_equal(watch_look(world->watch, &other, &world->message, &world->err), WATCH_CHANGED);
    watch_view_fini(&other);
}

WORLD_TEST(an_absent_file_stays_usable_when_it_comes_into_reach)
{
    struct watch_world *world = *state;
    struct watch_view other = {0};
    watch_path(world, world->path, true);
    watch_set_reach(world->watch, WATCH_OUT_OF_REACH);
    assert_int_equal(look(world), WATCH_CHANGED);
    watch_set_reach(world->watch, WATCH_IN_REACH);
    assert_int_equal(watch_look(world->watch, &other, &world->message, &world->err), WATCH_CHANGED);
    assert_string_equal(other.ruleset->source, RULESET_BUILT_IN);
    watch_view_fini(&other);
}
