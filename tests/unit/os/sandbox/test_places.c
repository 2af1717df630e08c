// SPDX-License-Identifier: Apache-2.0
/*
 * Which places a sandboxed command reaches: settings of the kernel, files that only root may read,
 * paths that a policy names below what an earlier or a concurrent command could write, and a home
 * folder that is the workspace.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "os/sandbox/named.h"
#include "os/sandbox/secrets.h"

#include "sandbox_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* --- the kernel --- */

BOTH(no_setting_of_the_kernel_can_be_opened_for_writing)
{
    expect(state,
           "for f in $(find /proc/sys /proc/irq /proc/bus /proc/fs /sys /proc/sysrq-trigger "
           "/proc/mtrr /proc/scsi -type f 2>/dev/null | head -4000); do "
           "{ printf '' >>\"$f\"; } 2>/dev/null && echo \"$f\"; done; echo end",
           "end\n");
}

BOTH(no_file_at_the_top_of_proc_can_be_opened_for_writing)
{
    expect(state,
           "for f in /proc/*; do test -f $f && { printf '' >>$f; } 2>/dev/null && "
           "test ! -c $f && echo $f; done; echo end",
           "end\n");
}

BOTH(a_command_has_no_capability_at_all)
{
    /* In the Landlock tier an ordinary user may not shrink the bounding set, which adds nothing. */
    expect(state,
           "grep -E '^(Cap|NoNew)' /proc/self/status | grep -v ':.0*$' | "
           "if test $(id -u) = 0; then cat; else grep -v CapBnd; fi",
           "NoNewPrivs:\t1\n");
}

/* --- what only root may read --- */

static void expect_secret_of_root(void **state, const char *below, mode_t folder_mode,
                                  mode_t file_mode)
{
    need(tier_of(state));
    char folder[] = "/usr/local/etc/rondo-test-XXXXXX";
    if (geteuid() != 0 || mkdtemp(folder) == NULL) {
        print_message("skipped: only root reads what only root may read\n");
        skip();
    }
    char path[256];
    assert_int_equal(chmod(folder, 0755), 0);
    make_folder(folder, below);
    scratch_write(folder, "public", "public\n");
    snprintf(path, sizeof(path), "%s/public", folder);
    assert_int_equal(chmod(path, 0644), 0);
    snprintf(path, sizeof(path), "%s/secret", below);
    scratch_write(folder, path, "secret\n");
    snprintf(path, sizeof(path), "%s/%s/secret", folder, below);
    assert_int_equal(chmod(path, file_mode), 0);
    snprintf(path, sizeof(path), "%s/%s", folder, below);
    assert_int_equal(chmod(path, folder_mode), 0);
    /* The search of a moment ago counts for so long. */
    clock_sleep(clock_system(), 2 * SECRETS_AGE_NS, NULL);
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {"sh", "-c", "cat $0/public; find $0 -name secret -exec cat {} +",
                                folder, NULL};
    struct spawn_result result = run_policy(&policy, argv);
    scratch_remove(folder);
    assert_string_equal(result.reason, "");
    assert_non_null(strstr(result.output, "public\n"));
    assert_null(strstr(result.output, "secret\n"));
    spawn_result_fini(&result);
}

BOTH(a_file_of_root_deep_below_the_configuration_is_not_shown)
{
    expect_secret_of_root(state, "a/b/c", 0755, 0600);
}

BOTH(a_file_for_the_group_only_is_not_shown)
{
    expect_secret_of_root(state, "a", 0755, 0640);
}

BOTH(a_folder_of_root_is_not_shown)
{
    expect_secret_of_root(state, "a", 0700, 0644);
}

/** Make files of root in a folder below the configuration, and look at it in a sandbox. */
static void expect_shown(void **state, int secrets, int others, bool is_shown)
{
    need(tier_of(state));
    char folder[] = "/usr/local/etc/rondo-test-XXXXXX";
    if (geteuid() != 0 || mkdtemp(folder) == NULL) {
        print_message("skipped: only root reads what only root may read\n");
        skip();
    }
    assert_int_equal(chmod(folder, 0755), 0);
    for (int i = 0; i < secrets + others; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        int fd = creat(path, i < secrets ? 0600 : 0644);
        assert_true(fd >= 0);
        close(fd);
    }
    clock_sleep(clock_system(), 2 * SECRETS_AGE_NS, NULL);
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {"sh", "-c", "ls $0 2>/dev/null | wc -l", folder, NULL};
    struct spawn_result result = run_policy(&policy, argv);
    scratch_remove(folder);
    assert_string_equal(result.reason, "");
    assert_int_equal(strtol(result.output, NULL, 10) > 0, is_shown);
    spawn_result_fini(&result);
}

TIER(namespace, a_folder_with_as_many_secrets_as_allowed_is_shown)
{
    expect_shown(state, LIMIT_SANDBOX_SEARCH_PATHS, 1, true);
}

TIER(namespace, a_folder_with_one_secret_more_is_hidden)
{
    expect_shown(state, LIMIT_SANDBOX_SEARCH_PATHS + 1, 1, false);
}

TIER(namespace, a_folder_with_as_many_entries_as_allowed_is_shown)
{
    expect_shown(state, 0, LIMIT_SANDBOX_SEARCH_ENTRIES - 1, true);
}

TIER(namespace, a_folder_with_one_entry_more_is_hidden)
{
    expect_shown(state, 0, LIMIT_SANDBOX_SEARCH_ENTRIES, false);
}

/* --- named paths --- */

/** A path that was recorded without links leads through one now. @param path what is replaced */
static void expect_refused_canonical(struct sandbox_policy policy, const char *path)
{
    char moved[PATH_MAX + 64];
    snprintf(moved, sizeof(moved), "%s.moved", path);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(outside, path), 0);
    policy.is_canonical = true;
    struct spawn_result result = run_script(&policy, "cat $0/secret; touch $0/made $0/in/made");
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "is a symbolic link now"));
    assert_false(exists(outside, "made"));
    spawn_result_fini(&result);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(moved, path), 0);
}

BOTH(a_recorded_path_that_leads_through_a_link_now_is_refused)
{
    need(tier_of(state));
    char shared[PATH_MAX + 64];
    char inner[PATH_MAX + 80];
    scratch_write(outside, "secret", "secret");
    make_folder(outside, "in");
    make_folder(scratch, "shared");
    snprintf(shared, sizeof(shared), "%s/shared", scratch);
    make_folder(shared, "in");
    snprintf(inner, sizeof(inner), "%s/in", shared);
    const char *const paths[] = {inner, NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    expect_refused_canonical(policy, workspace);
    policy.write_paths = paths;
    expect_refused_canonical(policy, inner);
    expect_refused_canonical(policy, shared);
    policy.write_paths = NULL;
    policy.read_paths = paths;
    expect_refused_canonical(policy, inner);
    policy.read_paths = NULL;
    policy.workspace = inner;
    expect_refused_canonical(policy, shared);
    policy.workspace = workspace;
    policy.is_canonical = true;
    policy.write_paths = paths;
    struct spawn_result result = run_script(&policy, "touch ${0%/outside}/shared/in/good");
    assert_int_equal(result.exit_code, 0);
    assert_true(exists(inner, "good"));
    spawn_result_fini(&result);
}

/** Run with one further path. @param field where it goes in the policy */
static struct spawn_result run_with_path(void **state, size_t field, const char *path,
                                         const char *script)
{
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const paths[] = {path, NULL};
    const char *const *list = paths;
    memcpy((char *)&policy + field, &list, sizeof(list));
    return run_script(&policy, script);
}

static void expect_refused_link(void **state, size_t field, const char *target, const char *link,
                                const char *below)
{
    need(tier_of(state));
    char path[PATH_MAX + 128];
    scratch_write(outside, "secret", "secret");
    make_folder(outside, "out");
    make_folder(workspace, "a");
    snprintf(path, sizeof(path), "%s/%s", workspace, link);
    assert_int_equal(symlink(target, path), 0);
    snprintf(path, sizeof(path), "%s/%s%s", workspace, link, below);
    struct spawn_result result = run_with_path(state, field, path, "cat $0/secret; touch $0/made");
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "symbolic link"));
    assert_false(exists(outside, "made"));
    spawn_result_fini(&result);
}

BOTH(a_link_planted_as_a_writable_path_is_refused)
{
    expect_refused_link(state, offsetof(struct sandbox_policy, write_paths), outside, "out", "");
}

BOTH(a_link_planted_above_a_writable_path_is_refused)
{
    expect_refused_link(state, offsetof(struct sandbox_policy, write_paths), outside, "a/b",
                        "/out");
}

BOTH(a_link_planted_as_a_readable_path_is_refused)
{
    expect_refused_link(state, offsetof(struct sandbox_policy, read_paths), outside, "a/out", "");
}

BOTH(a_link_planted_above_a_hidden_path_is_refused)
{
    expect_refused_link(state, offsetof(struct sandbox_policy, hide_paths), "../a", "a/policies",
                        "/x.cedar");
}

BOTH(a_link_within_the_workspace_is_refused_too)
{
    expect_refused_link(state, offsetof(struct sandbox_policy, write_paths), "a", "out", "");
}

BOTH(a_path_with_dots_does_not_lead_around_a_link)
{
    expect_refused_link(state, offsetof(struct sandbox_policy, write_paths), outside, "out",
                        "/../out/./out");
}

TIER(namespace, a_link_below_the_workspace_is_not_resolved)
{
    char path[PATH_MAX + 128];
    char reason[256];
    char *found = NULL;
    make_folder(workspace, "a");
    make_folder(outside, "out");
    snprintf(path, sizeof(path), "%s/a/b", workspace);
    assert_int_equal(symlink(outside, path), 0);
    snprintf(path, sizeof(path), "%s/a/b/out", workspace);
    assert_false(named_path_resolve(workspace, path, &found, reason));
    assert_non_null(strstr(reason, "symbolic link"));
    snprintf(path, sizeof(path), "%s/a/missing", workspace);
    assert_false(named_path_resolve(workspace, path, &found, reason));
    /* Links that no command could have made are followed. */
    snprintf(path, sizeof(path), "%s/link", scratch);
    assert_int_equal(symlink(outside, path), 0);
    assert_true(named_path_resolve(workspace, path, &found, reason));
    assert_string_equal(found, outside);
    free(found);
}

BOTH(parents_of_a_hidden_path_cannot_be_moved)
{
    need(tier_of(state));
    char path[PATH_MAX + 64];
    make_folder(workspace, "a/b/c");
    scratch_write(workspace, "a/b/c/x.cedar", "rule");
    snprintf(path, sizeof(path), "%s/a/b/c/x.cedar", workspace);
    struct spawn_result result =
        run_with_path(state, offsetof(struct sandbox_policy, hide_paths), path,
                      "{ mv a a2; mv a/b a/b2; mv a/b/c a/b/c2; mv a/b/c/x.cedar y; rm -rf a; "
                      "} 2>/dev/null; cat a/b/c/x.cedar y 2>/dev/null; touch a/b/c; echo end");
    assert_non_null(strstr(result.output, "end\n"));
    assert_null(strstr(result.output, "rule"));
    spawn_result_fini(&result);
    assert_true(exists(workspace, "a/b/c/x.cedar"));
}

BOTH(the_parent_of_a_hidden_path_that_is_missing_cannot_be_moved)
{
    need(tier_of(state));
    char path[PATH_MAX + 64];
    make_folder(workspace, "policies/deep");
    snprintf(path, sizeof(path), "%s/policies/deep/x.cedar", workspace);
    struct spawn_result result =
        run_with_path(state, offsetof(struct sandbox_policy, hide_paths), path,
                      "mv policies p 2>/dev/null; mv policies/deep d 2>/dev/null; echo end");
    assert_string_equal(result.output, "end\n");
    spawn_result_fini(&result);
    assert_true(exists(workspace, "policies/deep"));
}

BOTH(a_readable_folder_in_the_workspace_stays_read_only_and_in_place)
{
    need(tier_of(state));
    char path[PATH_MAX + 64];
    make_folder(workspace, "a/data");
    scratch_write(workspace, "a/data/x", "x");
    snprintf(path, sizeof(path), "%s/a/data", workspace);
    struct spawn_result result = run_with_path(
        state, offsetof(struct sandbox_policy, read_paths), path,
        "{ echo y >a/data/x; mv a/data a/d; mv a b; touch a/data/y; } 2>/dev/null; cat a/data/x");
    assert_string_equal(result.output, "x");
    spawn_result_fini(&result);
    assert_false(exists(workspace, "a/data/y"));
}

/* --- races --- */

struct folder_swapper {
    atomic_bool must_end;
    char real[PATH_MAX + 64];
    char aside[PATH_MAX + 64];
    char decoy[PATH_MAX + 64];
};

/** Keep exchanging a folder for another one, as a concurrent command might. */
static void *keep_swapping(void *context)
{
    struct folder_swapper *swapper = context;
    while (!atomic_load(&swapper->must_end)) {
        rename(swapper->real, swapper->aside);
        rename(swapper->decoy, swapper->real);
        rename(swapper->real, swapper->decoy);
        rename(swapper->aside, swapper->real);
    }
    return NULL;
}

/** The write path `a/out` is exchanged for a link to a place outside while sandboxes are set up. */
BOTH(a_path_that_is_exchanged_for_a_link_meanwhile_opens_nothing)
{
    need(tier_of(state));
    struct folder_swapper swapper = {.must_end = false};
    snprintf(swapper.real, sizeof(swapper.real), "%s/a", workspace);
    snprintf(swapper.aside, sizeof(swapper.aside), "%s/aside", workspace);
    snprintf(swapper.decoy, sizeof(swapper.decoy), "%s/decoy", workspace);
    make_folder(workspace, "a/out");
    make_folder(outside, "out");
    scratch_write(outside, "out/secret", "secret");
    assert_int_equal(symlink(outside, swapper.decoy), 0);
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/a/out", workspace);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, keep_swapping, &swapper), 0);
    bool is_leaked = false;
    for (int i = 0; i < 12; i++) {
        size_t field = i % 2 == 0 ? offsetof(struct sandbox_policy, write_paths)
                                  : offsetof(struct sandbox_policy, read_paths);
        struct spawn_result result =
            run_with_path(state, field, path, "cat $0/out/secret a/out/secret; touch $0/out/made");
        is_leaked =
            is_leaked || (result.end == SPAWN_EXITED && strncmp(result.output, "secret", 6) == 0);
        spawn_result_fini(&result);
    }
    atomic_store(&swapper.must_end, true);
    pthread_join(thread, NULL);
    assert_false(is_leaked);
    assert_false(exists(outside, "out/made"));
}

/* --- the home folder --- */

struct home {
    char *former;
};

static void home_is_workspace(struct home *home)
{
    home->former = getenv("HOME") == NULL ? NULL : strdup(getenv("HOME"));
    setenv("HOME", workspace, 1);
    make_folder(workspace, ".ssh");
    make_folder(workspace, ".config/gcloud");
    make_folder(workspace, ".mozilla/firefox");
    scratch_write(workspace, ".ssh/id_ed25519", "secret\n");
    scratch_write(workspace, ".config/gcloud/token", "secret\n");
    scratch_write(workspace, ".mozilla/firefox/key4.db", "secret\n");
    scratch_write(workspace, ".netrc", "secret\n");
    scratch_write(workspace, ".bashrc", "mine\n");
    scratch_write(workspace, "work", "work\n");
}

static void home_restore(struct home *home)
{
    if (home->former == NULL) {
        unsetenv("HOME");
    } else {
        setenv("HOME", home->former, 1);
    }
    free(home->former);
}

static const char *const look_around =
    "cat .ssh/* .config/gcloud/* .mozilla/firefox/* .netrc work 2>/dev/null; "
    "{ echo x >>.bashrc; mv .config c; mv .ssh s; } 2>/dev/null; cat .bashrc";

BOTH(keys_in_a_home_folder_that_is_the_workspace_are_hidden)
{
    need(tier_of(state));
    struct home home;
    home_is_workspace(&home);
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, look_around);
    home_restore(&home);
    assert_string_equal(result.output, "work\nmine\n");
    spawn_result_fini(&result);
    assert_true(exists(workspace, ".config/gcloud/token"));
}

BOTH(keys_below_a_workspace_above_the_home_folder_are_hidden)
{
    need(tier_of(state));
    struct home home;
    home_is_workspace(&home);
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.workspace = scratch;
    struct spawn_result result = run_script(&policy, look_around);
    home_restore(&home);
    assert_string_equal(result.output, "work\nmine\n");
    spawn_result_fini(&result);
}

BOTH(keys_and_start_files_that_are_links_are_guarded_where_they_are)
{
    need(tier_of(state));
    struct home home;
    home_is_workspace(&home);
    char path[PATH_MAX + 64];
    make_folder(workspace, "dotfiles");
    scratch_write(workspace, "dotfiles/zshrc", "zsh\n");
    scratch_write(workspace, "dotfiles/npmrc", "secret\n");
    snprintf(path, sizeof(path), "%s/.zshrc", workspace);
    assert_int_equal(symlink("dotfiles/zshrc", path), 0);
    snprintf(path, sizeof(path), "%s/.npmrc", workspace);
    assert_int_equal(symlink("dotfiles/npmrc", path), 0);
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(
        &policy, "{ echo x >>.zshrc; cat .npmrc dotfiles/npmrc; } 2>/dev/null; cat .zshrc");
    home_restore(&home);
    assert_string_equal(result.reason, "");
    assert_string_equal(result.output, "zsh\n");
    spawn_result_fini(&result);
}

BOTH(keys_that_a_person_names_are_shown)
{
    need(tier_of(state));
    struct home home;
    home_is_workspace(&home);
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/.ssh", workspace);
    struct spawn_result result =
        run_with_path(state, offsetof(struct sandbox_policy, read_paths), path,
                      "cat .ssh/id_ed25519 .netrc; rm -f .ssh/id_ed25519 2>/dev/null; :");
    home_restore(&home);
    assert_non_null(strstr(result.output, "secret\n"));
    assert_true(exists(workspace, ".ssh/id_ed25519"));
    spawn_result_fini(&result);
}

int main(int argc, char **argv)
{
    return sandbox_test_main(argc, argv);
}
