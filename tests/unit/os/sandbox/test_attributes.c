// SPDX-License-Identifier: Apache-2.0
/*
 * Modes, owners, times and further attributes of files: a command may change those of its own
 * files, by every call and way of naming them, and none of a file outside.
 */
#include "sandbox_support.h"

#include <sys/stat.h>

static struct stat stat_of(const char *folder, const char *name)
{
    struct stat status;
    char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(lstat(path, &status), 0);
    return status;
}

/** Try each call on a path. @return what did not fail, owned */
static char *try_on(void **state, const struct sandbox_policy *policy, const char *path)
{
    (void)state;
    const char *const argv[] = {program, INSIDE_ARGUMENT, "attributes", path, NULL};
    struct spawn_result result = run_policy(policy, argv);
    assert_string_equal(result.reason, "");
    return result.output;
}

static void expect_unchanged(void **state, struct sandbox_policy *policy, const char *path)
{
    struct stat before = stat_of(outside, "file");
    char *output = try_on(state, policy, path);
    struct stat after = stat_of(outside, "file");
    assert_int_equal(before.st_mode, after.st_mode);
    assert_int_equal(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
    assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
    assert_string_equal(output, "");
    free(output);
}

BOTH(a_file_outside_keeps_its_attributes)
{
    need(tier_of(state));
    char path[PATH_MAX + 64];
    scratch_write(outside, "file", "x");
    snprintf(path, sizeof(path), "%s/file", outside);
    struct sandbox_policy policy = policy_for(tier_of(state));
    expect_unchanged(state, &policy, path);
}

BOTH(a_file_outside_keeps_its_attributes_by_a_link)
{
    need(tier_of(state));
    char path[PATH_MAX + 64];
    char link[PATH_MAX + 64];
    scratch_write(outside, "file", "x");
    snprintf(path, sizeof(path), "%s/file", outside);
    snprintf(link, sizeof(link), "%s/link", workspace);
    assert_int_equal(symlink(path, link), 0);
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct stat before = stat_of(outside, "file");
    free(try_on(state, &policy, "link"));
    struct stat after = stat_of(outside, "file");
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
}

BOTH(a_readable_file_keeps_its_attributes)
{
    need(tier_of(state));
    char path[PATH_MAX + 64];
    scratch_write(outside, "file", "x");
    snprintf(path, sizeof(path), "%s/file", outside);
    const char *const read_paths[] = {outside, program, NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.read_paths = read_paths;
    expect_unchanged(state, &policy, path);
}

BOTH(a_protected_file_keeps_its_attributes)
{
    need(tier_of(state));
    make_folder(workspace, ".git/objects");
    make_folder(workspace, ".git/refs");
    scratch_write(workspace, ".git/HEAD", "x");
    scratch_write(workspace, ".git/config", "[core]\n");
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct stat before = stat_of(workspace, ".git/config");
    free(try_on(state, &policy, ".git/config"));
    struct stat after = stat_of(workspace, ".git/config");
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof(before.st_ctim));
}

BOTH(own_files_take_what_programs_set)
{
    expect(
        state,
        "mkdir d && echo x >d/f && chmod 751 d/f && touch -d @1000 d/f && "
        "stat -c '%a %Y' d/f && cp -p d/f d/g && stat -c '%a %Y' d/g && "
        "touch -h -d @2000 d/f && ln -s f d/l && touch -h -d @3000 d/l && stat -c %Y d/l d/f && "
        "cd d && chmod u+x ./g && chown $(id -u):$(id -g) g && touch g && install -m 640 f h && "
        "stat -c %a h && tar cf t f g h && tar xpf t && exec 3<g && chmod 600 /proc/self/fd/3 && "
        "stat -c %a g",
        "751 1000\n751 1000\n3000\n2000\n640\n600\n");
}

BOTH(a_command_in_its_private_folder_may_change_attributes)
{
    expect(state, "cd $TMPDIR && echo x >f && chmod 700 f && touch -d @5 f && stat -c '%a %Y' f",
           "700 5\n");
}

BOTH(what_does_not_exist_is_said_so)
{
    expect(state, "LC_ALL=C chmod 700 missing 2>&1 | grep -c 'No such file'", "1\n");
}

BOTH(no_file_can_be_made_to_run_as_its_owner)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {program, INSIDE_ARGUMENT, "set-user-id", NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_string_equal(result.output, "");
    spawn_result_fini(&result);
    assert_int_equal(stat_of(workspace, "mine").st_mode & S_ISUID, 0);
}

BOTH(many_changes_at_once_are_all_made)
{
    expect(state,
           "for i in 1 2 3 4 5 6 7 8; do (for k in 1 2 3 4 5 6; do echo x >f$i.$k; "
           "chmod 711 f$i.$k; done) & done; wait; stat -c %a f* | sort | uniq -c | tr -d ' '",
           "48711\n");
}

BOTH(the_exchange_of_a_link_meanwhile_changes_nothing_outside)
{
    need(tier_of(state));
    scratch_write(outside, "file", "x");
    struct stat before = stat_of(outside, "file");
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(
        &policy, "echo x >own; (for i in $(seq 300); do ln -sfn own l; ln -sfn $0/file l; done) & "
                 "for i in $(seq 100); do chmod 777 l 2>/dev/null; done; wait; echo end");
    assert_string_equal(result.output, "end\n");
    spawn_result_fini(&result);
    assert_int_equal(stat_of(outside, "file").st_mode, before.st_mode);
}

int main(int argc, char **argv)
{
    return sandbox_test_main(argc, argv);
}
