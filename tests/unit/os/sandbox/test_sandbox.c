// SPDX-License-Identifier: Apache-2.0
/*
 * What commands in a sandbox can and cannot do to files, what they see of the environment, and
 * when there is no sandbox. Each promise that both tiers make is tested in both; a test is
 * skipped, with a message, where the machine lacks the tier.
 */
#include "sandbox_support.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/sandbox/filter.h"

#include <sys/mman.h>
#include <sys/stat.h>

/* --- both tiers --- */

BOTH(the_exit_code_passes_through)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, "echo hello; exit 23");
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 23);
    assert_string_equal(result.output, "hello\n");
    spawn_result_fini(&result);
}

BOTH(a_missing_program_is_not_started)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {"no-such-program-anywhere", NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "no-such-program-anywhere"));
    spawn_result_fini(&result);
}

TIER(landlock, a_file_that_is_no_program_is_not_started)
{
    need(tier_of(state));
    scratch_write(workspace, "tool", "\x7Fno program");
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/tool", workspace);
    assert_int_equal(chmod(path, 0755), 0);
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {path, NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    spawn_result_fini(&result);
}

BOTH(the_workspace_is_writable_at_its_own_path)
{
    expect(state, "echo x >made && mkdir d && mv made d/ && cat d/made && rm -r d", "x\n");
}

BOTH(a_file_outside_cannot_be_read)
{
    scratch_write(outside, "secret", "secret");
    expect(state, "cat $0/secret 2>/dev/null || echo denied", "denied\n");
}

BOTH(a_file_outside_cannot_be_written)
{
    scratch_write(outside, "file", "old");
    expect(state,
           "{ echo new >$0/file; truncate -s 0 $0/file; rm $0/file; touch $0/made; } "
           "2>/dev/null; echo end",
           "end\n");
    struct buf content = {0};
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/file", outside);
    assert_int_equal(file_read(path, 100, &content, NULL), 0);
    assert_string_equal(buf_string(&content), "old");
    buf_fini(&content);
    assert_false(exists(outside, "made"));
}

BOTH(system_folders_cannot_be_written)
{
    expect(state,
           "for i in /usr /etc /bin / /var /lib; do touch $i/rondo-test-made 2>/dev/null && "
           "echo $i; done; echo end",
           "end\n");
}

BOTH(the_users_home_cannot_be_read)
{
    need(tier_of(state));
    const char *home = getenv("HOME");
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%.1000s/rondo-test-XXXXXX", home == NULL ? "/root" : home);
    if (mkdtemp(folder) == NULL) {
        print_message("skipped: the home folder is not writable\n");
        skip();
    }
    scratch_write(folder, "token", "secret");
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {"sh", "-c", "cat $0/token 2>/dev/null || echo denied", folder,
                                NULL};
    struct spawn_result result = run_policy(&policy, argv);
    scratch_remove(folder);
    assert_string_equal(result.output, "denied\n");
    spawn_result_fini(&result);
}

BOTH(secrets_of_the_system_cannot_be_read)
{
    expect(state,
           "cat /etc/shadow /etc/gshadow /etc/ssl/private/* /etc/ssh/ssh_host_*_key "
           "2>/dev/null; echo end",
           "end\n");
}

BOTH(a_link_out_of_the_workspace_leads_nowhere)
{
    scratch_write(outside, "secret", "secret");
    char link[PATH_MAX + 64];
    snprintf(link, sizeof(link), "%s/link", workspace);
    assert_int_equal(symlink(outside, link), 0);
    expect(state, "cat link/secret 2>/dev/null; touch link/made 2>/dev/null; echo end", "end\n");
    assert_false(exists(outside, "made"));
}

BOTH(a_link_that_an_earlier_command_put_in_a_named_path_is_refused)
{
    need(tier_of(state));
    scratch_write(outside, "secret", "secret");
    char link[PATH_MAX + 64];
    snprintf(link, sizeof(link), "%s/cache", workspace);
    assert_int_equal(symlink(outside, link), 0);
    const char *const paths[] = {link, NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.write_paths = paths;
    struct spawn_result result =
        run_script(&policy, "cat cache/secret $0/secret 2>/dev/null; echo end");
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "symbolic link"));
    spawn_result_fini(&result);
}

BOTH(further_paths_are_readable_or_writable_as_named)
{
    need(tier_of(state));
    make_folder(scratch, "readable");
    scratch_write(scratch, "readable/a", "text\n");
    char readable[PATH_MAX + 64];
    snprintf(readable, sizeof(readable), "%s/readable", scratch);
    const char *const read_paths[] = {readable, "/no/such/path", NULL};
    const char *const write_paths[] = {outside, "/no/such/path", NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.read_paths = read_paths;
    policy.write_paths = write_paths;
    struct spawn_result result = run_script(
        &policy, "cat $0/../readable/a; echo x 2>/dev/null >$0/../readable/b; echo y >$0/c");
    assert_string_equal(result.output, "text\n");
    assert_false(exists(readable, "b"));
    assert_true(exists(outside, "c"));
    spawn_result_fini(&result);
}

BOTH(hidden_paths_show_nothing_and_keep_their_content)
{
    need(tier_of(state));
    make_folder(workspace, "hidden");
    scratch_write(workspace, "hidden/a", "secret");
    scratch_write(workspace, "hidden-file", "secret");
    scratch_write(workspace, "visible", "text\n");
    char folder[PATH_MAX + 64];
    char file[PATH_MAX + 64];
    snprintf(folder, sizeof(folder), "%s/hidden", workspace);
    snprintf(file, sizeof(file), "%s/hidden-file", workspace);
    const char *const hide_paths[] = {folder, file, "/no/such/path", NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.hide_paths = hide_paths;
    struct spawn_result result = run_script(
        &policy, "cat visible; { cat hidden/a hidden-file; echo x >hidden/a; echo x >hidden/b; "
                 "mv hidden moved; rm -r hidden; } 2>/dev/null; echo more >>visible; echo end");
    assert_string_equal(result.output, "text\nend\n");
    spawn_result_fini(&result);
    struct buf content = {0};
    snprintf(file, sizeof(file), "%s/hidden/a", workspace);
    assert_int_equal(file_read(file, 100, &content, NULL), 0);
    assert_string_equal(buf_string(&content), "secret");
    buf_fini(&content);
    assert_false(exists(workspace, "hidden/b"));
}

BOTH(hooks_and_configuration_of_git_cannot_be_changed)
{
    make_folder(workspace, ".git/hooks");
    scratch_write(workspace, ".git/config", "[core]\n");
    scratch_write(workspace, ".git/HEAD", "x");
    expect(state,
           "{ echo x >.git/hooks/pre-commit; echo x >>.git/config; rm .git/config; "
           "mv .git/hooks .git/h; mv .git moved; rm -rf .git/hooks; ln -s /tmp .git/hooks/l; "
           "} 2>/dev/null; cat .git/config",
           "[core]\n");
    assert_true(exists(workspace, ".git/hooks"));
    assert_false(exists(workspace, ".git/hooks/pre-commit"));
    assert_false(exists(workspace, "moved"));
}

BOTH(hooks_cannot_be_added_where_there_are_none)
{
    make_folder(workspace, ".git");
    scratch_write(workspace, ".git/config", "[core]\n");
    expect(state, "{ mkdir .git/hooks; echo x >.git/hooks/pre-commit; } 2>/dev/null; echo end",
           "end\n");
    assert_false(exists(workspace, ".git/hooks/pre-commit"));
}

BOTH(git_cannot_be_led_to_another_configuration)
{
    need(tier_of(state));
    make_folder(workspace, ".git/hooks");
    make_folder(workspace, ".git/objects");
    make_folder(workspace, ".git/refs");
    scratch_write(workspace, ".git/config", "[core]\n");
    scratch_write(workspace, ".git/HEAD", "x");
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result =
        run_script(&policy, "{ echo ../evil >.git/commondir; } 2>/dev/null; echo end");
    assert_non_null(strstr(result.output, "end\n"));
    spawn_result_fini(&result);
    assert_false(exists(workspace, ".git/commondir"));
}

BOTH(a_repository_named_as_writable_is_guarded_too)
{
    need(tier_of(state));
    make_folder(outside, "objects");
    make_folder(outside, "hooks");
    scratch_write(outside, "HEAD", "x");
    scratch_write(outside, "config", "[core]\n");
    const char *const write_paths[] = {outside, NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.write_paths = write_paths;
    struct spawn_result result = run_script(
        &policy, "{ echo x >$0/config; echo x >$0/hooks/update; } 2>/dev/null; touch $0/objects/a");
    assert_string_equal(result.output, "");
    spawn_result_fini(&result);
    assert_true(exists(outside, "objects/a"));
    assert_false(exists(outside, "hooks/update"));
}

BOTH(a_git_file_that_names_the_repository_cannot_be_changed)
{
    scratch_write(workspace, ".git", "gitdir: /elsewhere\n");
    expect(state, "{ echo x >.git; rm .git; mv .git m; } 2>/dev/null; cat .git",
           "gitdir: /elsewhere\n");
}

BOTH(the_environment_is_scrubbed)
{
    need(tier_of(state));
    setenv("RONDO_TEST_SECRET", "secret", 1);
    setenv("RONDO_TEST_WANTED", "wanted", 1);
    setenv("LD_PRELOAD_TEST", "x", 1);
    const char *const names[] = {"RONDO_TEST_WANTED", NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.env_names = names;
    struct spawn_result result = run_script(
        &policy,
        "echo $RONDO_TEST_SECRET$LD_PRELOAD_TEST $RONDO_TEST_WANTED $TERM $CI $NO_COLOR; "
        "test \"$HOME\" != \"$0\" && test -d \"$HOME\" && touch \"$HOME/x\" \"$TMPDIR/y\" && "
        "echo home; cat /proc/$PPID/environ 2>/dev/null | grep -c secret");
    unsetenv("RONDO_TEST_SECRET");
    unsetenv("RONDO_TEST_WANTED");
    unsetenv("LD_PRELOAD_TEST");
    assert_string_equal(result.output, "wanted dumb 1 1\nhome\n0\n");
    spawn_result_fini(&result);
}

BOTH(a_workspace_that_holds_the_system_is_refused)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.workspace = "/";
    struct spawn_result result = run_script(&policy, "true");
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "never writable"));
    spawn_result_fini(&result);
}

BOTH(a_missing_workspace_is_refused)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.workspace = "/no/such/folder";
    struct spawn_result result = run_script(&policy, "true");
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    spawn_result_fini(&result);
}

/* --- the namespace tier --- */

TIER(namespace, temporary_folders_are_private)
{
    expect(state, "touch /tmp/rondo-test-made /var/tmp/rondo-test-made && echo made", "made\n");
    assert_false(file_exists("/tmp/rondo-test-made"));
    assert_false(file_exists("/var/tmp/rondo-test-made"));
}

TIER(namespace, a_workspace_reached_by_a_link_works_by_both_names)
{
    need(tier_of(state));
    char link[PATH_MAX + 64];
    snprintf(link, sizeof(link), "%s/link", scratch);
    assert_int_equal(symlink(workspace, link), 0);
    struct sandbox_policy policy = policy_for(SANDBOX_NAMESPACE);
    policy.workspace = link;
    struct spawn_result result =
        run_script(&policy, "touch ${0%/outside}/link/a ${0%/outside}/workspace/b; ls");
    assert_string_equal(result.output, "a\nb\n");
    spawn_result_fini(&result);
}

TIER(namespace, without_bubblewrap_the_command_is_not_run)
{
    struct sandbox_policy policy = policy_for(SANDBOX_NAMESPACE);
    const char *const argv[] = {"/bin/sh", "-c", "touch made", NULL};
    const char *const envp[] = {"PATH=/nowhere", NULL};
    struct spawn_request request = {
        .argv = argv, .envp = envp, .directory = workspace, .sandbox = &policy, .supervisor = SELF};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "bubblewrap"));
    assert_false(exists(workspace, "made"));
    spawn_result_fini(&result);
}

TIER(namespace, a_bubblewrap_from_the_workspace_is_not_used)
{
    scratch_write(workspace, "bwrap", "#!/bin/sh\ntouch made\n");
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/bwrap", workspace);
    assert_int_equal(chmod(path, 0755), 0);
    char variable[PATH_MAX + 64];
    snprintf(variable, sizeof(variable), "PATH=%s", workspace);
    struct sandbox_policy policy = policy_for(SANDBOX_NAMESPACE);
    const char *const argv[] = {"/bin/sh", "-c", "true", NULL};
    const char *const envp[] = {variable, NULL};
    struct spawn_request request = {
        .argv = argv, .envp = envp, .directory = workspace, .sandbox = &policy};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_false(exists(workspace, "made"));
    spawn_result_fini(&result);
}

/** The trial of the tier has no workspace that PATH could be compared with. */
TIER(namespace, a_bubblewrap_from_the_workspace_is_not_tried)
{
    scratch_write(workspace, "bwrap", "#!/bin/sh\ntouch ${0%/bwrap}/made\n");
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/bwrap", workspace);
    assert_int_equal(chmod(path, 0755), 0);
    char *usual = strdup(getenv("PATH"));
    char variable[2 * PATH_MAX];
    snprintf(variable, sizeof(variable), "%s:%s", workspace, usual);
    setenv("PATH", variable, 1);
    char reason[256];
    bool works = sandbox_is_available(SANDBOX_NAMESPACE, reason);
    setenv("PATH", usual, 1);
    free(usual);
    assert_false(works);
    assert_non_null(strstr(reason, "take its folder out of PATH"));
    assert_false(exists(workspace, "made"));
}

TIER(namespace, inside_of_a_sandbox_the_tier_is_missing_and_the_command_is_not_run)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(SANDBOX_NAMESPACE);
    const char *const argv[] = {program, INSIDE_ARGUMENT "-again", workspace, NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 0);
    assert_false(exists(workspace, "made"));
    spawn_result_fini(&result);
}

/* --- the Landlock tier --- */

TIER(landlock, without_a_supervisor_the_command_is_not_run)
{
    struct sandbox_policy policy = policy_for(SANDBOX_LANDLOCK);
    const char *const argv[] = {"/bin/sh", "-c", "touch made", NULL};
    struct spawn_request request = {.argv = argv,
                                    .envp = (const char *const *)environ,
                                    .directory = workspace,
                                    .sandbox = &policy};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "supervisor"));
    assert_false(exists(workspace, "made"));
    spawn_result_fini(&result);
}

/* --- names --- */

static void take_filter(struct buf *ret_program)
{
    auto_close int fd = memfd_create("filter", MFD_CLOEXEC);
    assert_int_equal(sandbox_filter_write(fd, NULL), 0);
    off_t len = lseek(fd, 0, SEEK_CUR);
    assert_true(len > 0);
    char *bytes = memory_new((size_t)len);
    assert_int_equal(pread(fd, bytes, (size_t)len, 0), len);
    buf_append(ret_program, bytes, (size_t)len);
    free(bytes);
}

TEST(a_filter_is_the_same_each_time_it_is_written)
{
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    take_filter(&first);
    take_filter(&second);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
}

TEST(every_tier_has_a_name_that_leads_back)
{
    for (int i = 0; i < SANDBOX_TIER_COUNT; i++) {
        enum sandbox_tier tier = SANDBOX_TIER_COUNT;
        assert_true(sandbox_tier_from_name(sandbox_tier_name((enum sandbox_tier)i), &tier));
        assert_int_equal(tier, i);
    }
}

TEST(an_unknown_name_is_no_tier)
{
    enum sandbox_tier tier = SANDBOX_NAMESPACE;
    assert_false(sandbox_tier_from_name("strong", &tier));
    assert_int_equal(tier, SANDBOX_NAMESPACE);
}

TEST(no_tier_is_always_available)
{
    char reason[256];
    assert_true(sandbox_is_available(SANDBOX_NONE, reason));
    assert_string_equal(reason, "");
}

TEST(the_path_decides_whether_the_namespace_tier_is_there)
{
    char reason[256];
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "", 1);
    assert_false(sandbox_is_available(SANDBOX_NAMESPACE, reason));
    setenv("PATH", path, 1);
    assert_non_null(strstr(reason, "bubblewrap"));
    free(path);
}

int main(int argc, char **argv)
{
    return sandbox_test_main(argc, argv);
}
