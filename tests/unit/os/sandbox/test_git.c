// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandboxed command leaves for the git of its user: folders whose configuration or hooks
 * could run a program are disarmed when it has ended, whatever they are called; what was there
 * before, and plain clones, stay as they are.
 */
#include "base/limits.h"
#include "base/memory.h"
#include "os/process/program.h"
#include "os/sandbox/git.h"
#include "os/sandbox/git_config.h"
#include "os/sandbox/record.h"

#include "sandbox_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVIL "printf '[core]\\n\\tfsmonitor = ./evil\\n' >"

#define WRITE_ARGUMENT "write-through-memory"

/** Run a script in the workspace. @return its output, owned */
static char *run_in_workspace(void **state, const char *script)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, script);
    assert_string_equal(result.reason, "");
    assert_int_equal(result.end, SPAWN_EXITED);
    return result.output;
}

static void expect_disarmed(void **state, const char *script, const char *path)
{
    char *output = run_in_workspace(state, script);
    if (exists(workspace, path) || strstr(output, path) == NULL) {
        fail_msg("%s is there, or nobody was told: %s", path, output);
    }
    free(output);
}

static void expect_kept(void **state, const char *script, const char *path)
{
    char *output = run_in_workspace(state, script);
    assert_string_equal(output, "");
    assert_true(exists(workspace, path));
    free(output);
}

BOTH(a_new_repository_with_a_command_in_its_configuration_is_disarmed)
{
    expect_disarmed(state,
                    "mkdir -p sub/.git/objects sub/.git/refs && echo x >sub/.git/HEAD && " EVIL
                    "sub/.git/config",
                    "sub/.git/config");
}

BOTH(a_bare_repository_under_another_name_is_disarmed)
{
    expect_disarmed(state,
                    "mkdir -p a/b/docs/objects a/b/docs/refs && echo x >a/b/docs/HEAD && " EVIL
                    "a/b/docs/config",
                    "a/b/docs/config");
}

BOTH(a_new_hook_is_disarmed)
{
    expect_disarmed(state,
                    "mkdir -p .git/objects .git/refs .git/hooks && echo x >.git/HEAD && "
                    "echo x >.git/hooks/post-checkout",
                    ".git/hooks");
}

BOTH(hooks_that_are_a_link_are_disarmed)
{
    expect_disarmed(
        state,
        "mkdir -p h .git/objects .git/refs && echo x >.git/HEAD && echo x >h/pre-commit "
        "&& ln -s ../h .git/hooks",
        ".git/hooks");
}

BOTH(a_configuration_that_is_a_link_is_disarmed)
{
    expect_disarmed(state,
                    "mkdir -p s/.git/objects s/.git/refs && echo x >s/.git/HEAD && " EVIL
                    "cfg && ln -s ../../cfg s/.git/config",
                    "s/.git/config");
}

BOTH(a_common_folder_elsewhere_is_disarmed)
{
    expect_disarmed(state,
                    "mkdir -p s/.git && echo x >s/.git/HEAD && echo ../../evil >s/.git/commondir",
                    "s/.git/commondir");
}

BOTH(a_common_folder_of_a_working_tree_is_examined_itself)
{
    expect_disarmed(state,
                    "mkdir -p e/objects e/refs e/worktrees/w && echo x >e/worktrees/w/HEAD && "
                    "echo ../.. >e/worktrees/w/commondir && " EVIL "e/config",
                    "e/config");
}

BOTH(a_repository_among_the_objects_of_another_is_disarmed)
{
    make_folder(workspace, ".git/objects");
    make_folder(workspace, ".git/refs");
    scratch_write(workspace, ".git/HEAD", "x");
    expect_disarmed(state,
                    "mkdir -p .git/objects/m/objects .git/objects/m/refs && "
                    "echo x >.git/objects/m/HEAD && " EVIL ".git/objects/m/config",
                    ".git/objects/m/config");
}

BOTH(a_repository_made_step_by_step_is_disarmed)
{
    free(run_in_workspace(state, "mkdir -p s/.git/objects && " EVIL "s/.git/config"));
    expect_disarmed(state, "mkdir s/.git/refs && echo x >s/.git/HEAD", "s/.git/config");
}

BOTH(a_repository_that_was_moved_is_looked_at_again)
{
    make_folder(workspace, "a/.git/objects");
    make_folder(workspace, "a/.git/refs");
    scratch_write(workspace, "a/.git/HEAD", "x");
    scratch_write(workspace, "a/.git/config", "[core]\n\tfsmonitor = x\n");
    expect_disarmed(state, "mv a b", "b/.git/config");
}

BOTH(a_folder_for_hand_over_is_looked_at_too)
{
    need(tier_of(state));
    const char *const write_paths[] = {outside, NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.write_paths = write_paths;
    struct spawn_result result = run_script(
        &policy, "mkdir $0/objects $0/refs && echo x >$0/HEAD && " EVIL "$0/config; exit 3");
    assert_int_equal(result.exit_code, 3);
    assert_false(exists(outside, "config"));
    assert_non_null(strstr(result.output, "/outside/config could make git run a program"));
    spawn_result_fini(&result);
}

BOTH(a_plain_repository_is_kept)
{
    expect_kept(state,
                "mkdir -p v/.git/objects v/.git/refs v/.git/hooks && echo x >v/.git/HEAD && "
                "printf '[core]\\n\\tbare = false\\n[remote \"origin\"]\\n\\turl = https://x/y\\n' "
                ">v/.git/config && touch v/.git/hooks/update.sample",
                "v/.git/config");
    assert_true(exists(workspace, "v/.git/hooks/update.sample"));
}

BOTH(what_git_itself_makes_is_kept)
{
    char path[PATH_MAX], reason[256];
    if (!program_find("git", (const char *const *)environ, "/", path, reason)) {
        print_message("skipped: there is no git\n");
        skip();
    }
    expect_kept(state,
                "git init -q made && git clone -q made copy 2>/dev/null; :", "copy/.git/config");
    assert_true(exists(workspace, "made/.git/config"));
}

BOTH(a_repository_that_was_there_before_is_kept)
{
    make_folder(workspace, "mine/.git/objects");
    make_folder(workspace, "mine/.git/refs");
    make_folder(workspace, "mine/.git/hooks");
    scratch_write(workspace, "mine/.git/HEAD", "x");
    scratch_write(workspace, "mine/.git/hooks/pre-commit", "x");
    scratch_write(workspace, "mine/.git/config", "[core]\n\tfsmonitor = mine\n");
    expect_kept(state, "touch mine/.git/index mine/file", "mine/.git/config");
    assert_true(exists(workspace, "mine/.git/hooks/pre-commit"));
}

BOTH(a_hook_added_to_a_repository_that_was_there_is_disarmed)
{
    make_folder(workspace, "mine/.git/objects");
    make_folder(workspace, "mine/.git/refs");
    make_folder(workspace, "mine/.git/hooks");
    scratch_write(workspace, "mine/.git/HEAD", "x");
    expect_disarmed(state, "echo x >mine/.git/hooks/pre-commit", "mine/.git/hooks");
}

/* --- configurations --- */

static void assert_harmless(const char *text, bool expected)
{
    if (sandbox_git_config_is_harmless(text, strlen(text)) != expected) {
        fail_msg("%s", text);
    }
}

TEST(plain_configurations_are_harmless)
{
    assert_harmless("", true);
    assert_harmless("# x\n[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n", true);
    assert_harmless("[CORE]\nBare\n[branch \"a/b\"] ; x\n\tmerge = refs/heads/a\r\n", true);
    assert_harmless("[remote \"o\"]\n\turl = git@host:x.git\n\tfetch = +refs/heads/*:refs/r/*",
                    true);
}

TEST(anything_else_counts_as_harmful)
{
    static const char *const texts[] = {
        "[core]\n\tfsmonitor = x\n",
        "[core] fsmonitor = x\n",
        "[core]\n\thooksPath = x\n",
        "[include]\n\tpath = x\n",
        "[core]\n\tbare = false \\\nfsmonitor = x\n",
        "[core]\n\tbare = \"false\n\"\n",
        "[remote \"a\"]\n\turl = ext::sh -c x\n",
        "[remote \"a\"]\n\turl = --upload-pack=x\n",
        "[remote \"a\"]\n\tuploadpack = x\n",
        "[filter \"a\"]\n\tclean = x\n",
        "[alias]\n\tstatus = !x\n",
        "[submodule \"a\"]\n\tupdate = !x\n",
        "[core.x]\n\tbare = true\n",
        "[remote \"a\\\"]\n\turl = x\n",
        "[core\n\tbare = true\n",
        "\xEF\xBB\xBF[core]\n",
        "bare = true\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_harmless(texts[i], false);
    }
}

static void run_with_configuration(void **state, size_t len, bool is_kept)
{
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, '#', len);
    text[len] = '\0';
    scratch_write(workspace, "text", text);
    free(text);
    char *output =
        run_in_workspace(state, "mkdir -p s/objects s/refs && echo x >s/HEAD && cp text s/config");
    assert_int_equal(exists(workspace, "s/config"), is_kept);
    free(output);
}

TIER(namespace, a_configuration_at_its_limit_is_read)
{
    run_with_configuration(state, LIMIT_SANDBOX_GIT_CONFIG_BYTES, true);
}

TIER(namespace, a_configuration_past_its_limit_is_disarmed)
{
    run_with_configuration(state, LIMIT_SANDBOX_GIT_CONFIG_BYTES + 1, false);
}

/** Root lists every folder. */
BOTH(a_repository_in_a_folder_that_cannot_be_listed_is_disarmed)
{
    expect_disarmed(state,
                    "mkdir -p s/t/.git/objects s/t/.git/refs && echo x >s/t/.git/HEAD && " EVIL
                    "s/t/.git/config && chmod 0300 s/t/.git && chmod 0100 s/t && chmod 0 s",
                    "s/t/.git/config");
}

/** On tmpfs, writing through a mapping leaves the times as they are. */
static void change_through_memory(void **state, const char *text, size_t at, bool is_kept)
{
    char folder[] = "/dev/shm/rondo-test-XXXXXX";
    char path[PATH_MAX];
    char number[32];
    need(tier_of(state));
    if (mkdtemp(folder) == NULL) {
        skip();
    }
    make_folder(folder, "s/objects");
    make_folder(folder, "s/refs");
    scratch_write(folder, "s/HEAD", "x");
    scratch_write(folder, "s/config", text);
    const char *const write_paths[] = {folder, NULL};
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.write_paths = write_paths;
    snprintf(path, sizeof(path), "%s/s/config", folder);
    snprintf(number, sizeof(number), "%zu", at);
    const char *const argv[] = {program, WRITE_ARGUMENT, path, number, NULL};
    struct spawn_result result = run_policy(&policy, argv);
    bool is_there = exists(folder, "s/config");
    scratch_remove(folder);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(is_there, is_kept);
    spawn_result_fini(&result);
}

BOTH(a_configuration_written_through_memory_is_disarmed)
{
    change_through_memory(state, "[core]\n#\tfsmonitor = ./evil\n", 7, false);
}

static void change_last_of(void **state, size_t len, bool is_kept)
{
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, '#', len);
    text[len] = '\0';
    change_through_memory(state, text, len - 1, is_kept);
    free(text);
}

TIER(namespace, content_is_compared_up_to_its_limit)
{
    change_last_of(state, LIMIT_SANDBOX_GIT_SUM_BYTES, false);
}

TIER(namespace, content_past_its_limit_is_not_compared)
{
    change_last_of(state, LIMIT_SANDBOX_GIT_SUM_BYTES + 1, true);
}

/** The supervisor looks then. */
BOTH(a_repository_that_is_left_when_rondo_is_killed_is_disarmed)
{
    need(tier_of(state));
    make_folder(workspace, "mine/objects");
    make_folder(workspace, "mine/refs");
    scratch_write(workspace, "mine/config", "[core]\n\tfsmonitor = x\n");
    pid_t pid = fork();
    if (pid == 0) {
        struct sandbox_policy policy = policy_for(tier_of(state));
        run_script(&policy, "mkdir -p s/.git/objects s/.git/refs && echo x >s/.git/HEAD && " EVIL
                            "s/.git/config; touch started; sleep 98764");
        _exit(0);
    }
    for (int i = 0; i < 6000 && !exists(workspace, "started"); i++) {
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 6000 && exists(workspace, "s/.git/config"); i++) {
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL);
    }
    assert_true(exists(workspace, "started"));
    assert_false(exists(workspace, "s/.git/config"));
    assert_true(exists(workspace, "mine/config"));
}

/* --- when the supervisor is killed too --- */

static pid_t only_child(pid_t pid)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &child), 1);
    (void)fclose(file);
    return child;
}

static void await_start(void)
{
    for (int i = 0; i < 6000 && !exists(workspace, "started"); i++) {
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL);
    }
    assert_true(exists(workspace, "started"));
}

/** Run a script until it has made "started"; kill what called it together with its supervisor. */
static void leave_behind(void **state, const char *script)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct sandbox_policy policy = policy_for(tier_of(state));
        struct spawn_result result = run_script(&policy, script);
        (void)write(STDERR_FILENO, result.reason, strlen(result.reason));
        _exit(0);
    }
    await_start();
    struct pollfd supervisor = {.fd = (int)syscall(SYS_pidfd_open, only_child(pid), 0),
                                .events = POLLIN};
    assert_true(supervisor.fd >= 0);
    kill(pid, SIGSTOP);
    syscall(SYS_pidfd_send_signal, supervisor.fd, SIGKILL, NULL, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    /* As long as it ends, it holds the record: the command counts as one that somebody watches. */
    assert_int_equal(poll(&supervisor, 1, -1), 1);
    close(supervisor.fd);
}

static int remove_in_workspace(const char *name)
{
    char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", workspace, name);
    return unlink(path);
}

/* Whole or not at all, at whatever moment it is killed: an empty configuration would be kept. */
#define PLANT                                                                         \
    "mkdir -p s/.git/objects s/.git/refs && echo x >s/.git/HEAD && " EVIL "s/new && " \
    "mv s/new s/.git/config; touch started; "

static void make_repository_of_the_user(void)
{
    make_folder(workspace, "mine/objects");
    make_folder(workspace, "mine/refs");
    scratch_write(workspace, "mine/config", "[core]\n\tfsmonitor = x\n");
}

static size_t count_records(void)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/rondo/commands", getenv("XDG_STATE_HOME"));
    DIR *folder = opendir(path);
    size_t count = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

BOTH(what_both_killed_left_is_disarmed_by_the_next_command)
{
    need(tier_of(state));
    make_repository_of_the_user();
    leave_behind(state, PLANT "sleep 98757");
    assert_true(exists(workspace, "s/.git/config"));
    assert_int_equal(count_records(), 1);
    expect_disarmed(state, "true", "s/.git/config");
    assert_true(exists(workspace, "mine/config"));
    assert_int_equal(count_records(), 0);
    expect_kept(state, "true", "mine/config");
}

BOTH(a_command_of_another_workspace_disarms_it_too)
{
    need(tier_of(state));
    leave_behind(state, PLANT "sleep 98757");
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.workspace = outside;
    struct spawn_result result = run_script(&policy, "true");
    assert_int_equal(result.exit_code, 0);
    assert_false(exists(workspace, "s/.git/config"));
    spawn_result_fini(&result);
}

/** A process that takes off every mark that it can, and plants for ever. */
static const char *write_survivor(void)
{
    scratch_write(workspace, "survivor",
                  "exec 63>&-; ulimit -Hx 7; ulimit -Sx 7; "
                  "while :; do " PLANT "touch alive; done");
    return "env -i setsid bash ./survivor </dev/null >/dev/null 2>&1 & wait";
}

/**
 * Whether there is a configuration with anything in it. Where Landlock lets no name move to another
 * folder, `mv` copies; one that is killed before it has written leaves an empty file.
 */
static bool has_config(const char *name)
{
    char path[PATH_MAX + 256];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", workspace, name);
    return lstat(path, &status) == 0 && status.st_size > 0;
}

static void expect_no_survivor(void)
{
    (void)remove_in_workspace("alive");
    clock_sleep(clock_system(), 200 * NS_PER_MS, NULL);
    assert_false(exists(workspace, "alive"));
    assert_false(has_config("s/.git/config"));
}

BOTH(a_process_without_descriptor_and_environment_is_killed_first)
{
    need(tier_of(state));
    leave_behind(state, write_survivor());
    free(run_in_workspace(state, "true"));
    expect_no_survivor();
}

BOTH(what_a_killed_supervisor_left_is_killed_by_its_caller)
{
    need(tier_of(state));
    const char *script = write_survivor();
    pid_t pid = fork();
    if (pid == 0) {
        struct sandbox_policy policy = policy_for(tier_of(state));
        struct spawn_result result = run_script(&policy, script);
        _exit(result.lost_supervisor ? 7 : 8);
    }
    await_start();
    int status = 0;
    kill(only_child(pid), SIGKILL);
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 7);
    expect_no_survivor();
    assert_int_equal(count_records(), 0);
}

/** As in a container whose first process reaps nothing. */
TEST(what_only_waits_to_be_reaped_is_not_waited_for)
{
    (void)state;
    const uint64_t number = UINT64_C(0x123456789abc);
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0) {
        sandbox_record_mark(number);
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(sandbox_record_kill(number));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

BOTH(a_record_that_was_not_completed_changes_nothing)
{
    need(tier_of(state));
    make_repository_of_the_user();
    char path[PATH_MAX + 64];
    free(run_in_workspace(state, "true"));
    snprintf(path, sizeof(path), "%s/rondo/commands", getenv("XDG_STATE_HOME"));
    scratch_write(path, "00000123456789ab", "R/x");
    scratch_write(path, "00000123456789ac", "");
    expect_kept(state, "true", "mine/config");
    assert_int_equal(count_records(), 0);
}

/* --- many folders --- */

TEST(folders_are_searched_up_to_their_limit)
{
    enum { MOST = 300 };
    char root[] = "/tmp/rondo-test-XXXXXX";
    char reason[256];
    char name[32];
    assert_non_null(mkdtemp(root));
    int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 1; i < MOST; i++) { /* the root is one of them */
        snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(mkdirat(fd, name, 0700), 0);
    }
    struct named_root item = {.named = root, .path = root, .fd = fd};
    const struct path_list paths = {.roots = {.items = &item, .count = 1}};
    struct git_watch *watch = NULL;
    auto_buf struct buf notes = {0};
    bool is_accepted = git_watch_begin(&paths, MOST, &watch, reason);
    scratch_write(root, "1/x", "");
    make_folder(root, "1/objects"); /* one more than the limit */
    make_folder(root, "1/refs");
    scratch_write(root, "1/config", "[core]\n\tfsmonitor = x\n");
    struct git_watch *other = NULL;
    bool is_refused = !git_watch_begin(&paths, MOST, &other, reason);
    bool says_so = strstr(reason, "more than 300 folders") != NULL;
    bool fails = is_accepted && !git_watch_end(watch, &notes, reason);
    git_watch_free(watch);
    close(fd);
    scratch_remove(root);
    assert_true(is_accepted && is_refused && says_so && fails);
    assert_non_null(strstr(buf_string(&notes), "not all were searched"));
}

/* --- what a person's settings name --- */

/** A repository whose settings name folders and files of the working tree. */
static void make_named(const char *settings)
{
    char text[1024];
    make_folder(workspace, ".git/objects");
    make_folder(workspace, ".git/refs");
    make_folder(workspace, ".git/hooks");
    make_folder(workspace, "tools/hooks");
    scratch_write(workspace, ".git/HEAD", "ref: refs/heads/main\n");
    scratch_write(workspace, "tools/settings", "[include]\n\tpath = \"inner\" # more\n");
    scratch_write(workspace, "tools/inner", "[core]\n\tquotepath = on\n");
    snprintf(text, sizeof(text), "%s", settings);
    scratch_write(workspace, ".git/config", text);
}

static void expect_named_kept(void **state, const char *settings, const char *script)
{
    need(tier_of(state));
    make_named(settings);
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, script);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 7);
    spawn_result_fini(&result);
    assert_false(exists(workspace, "tools/hooks/post-checkout"));
    assert_true(exists(workspace, "tools/hooks"));
}

BOTH(hooks_that_settings_name_are_kept)
{
    expect_named_kept(
        state, "[core]\n\thooksPath = tools/hooks\n",
        "touch tools/hooks/post-checkout; mv tools/hooks tools/h2; mv tools t2; exit 7");
}

BOTH(files_that_settings_include_are_kept)
{
    expect_named_kept(state, "[includeIf \"gitdir:**\"] path = ../tools/settings\n",
                      "echo '[core] fsmonitor = x' >>tools/settings && exit 1; "
                      "echo '[core] fsmonitor = x' >>tools/inner && exit 2; "
                      "rm -f tools/inner && exit 3; mv tools/settings tools/s2 && exit 4; exit 7");
}

BOTH(programs_that_settings_name_are_kept)
{
    need(tier_of(state));
    scratch_write(workspace, "tools-clean.sh", "cat");
    make_folder(workspace, "bin");
    scratch_write(workspace, "bin/watch", "exit 0");
    expect_named_kept(state,
                      "[filter \"x\"]\n\tclean = \"sh ./tools-clean.sh\" %f\n"
                      "[core]\n\tfsmonitor = bin/watch\n\thooksPath = tools/hooks\n",
                      "echo evil >>tools-clean.sh && exit 1; rm -f tools-clean.sh && exit 2; "
                      "mv tools-clean.sh other && exit 3; echo evil >>bin/watch && exit 4; "
                      "mv bin b2 && exit 5; exit 7");
}

TIER(namespace, words_of_settings_are_paths_only_if_they_are_files)
{
    scratch_write(workspace, "run", "x");
    make_folder(workspace, "origin/x");
    scratch_write(workspace, "origin/tool", "x");
    make_named("[remote \"o\"]\n\turl = ./origin/x\n\tfetch = +refs/heads/*:refs/r/*\n"
               "[alias]\n\tgo = !f() { origin/tool \"$@\"; }; f\n[a]\n\tb = run\n\tc = ../x/y\n");
    char **paths = sandbox_git_named(workspace);
    assert_non_null(paths);
    assert_string_equal(paths[0] + strlen(workspace), "/origin/tool");
    assert_null(paths[1]);
    memory_free_list(paths);
}

TIER(namespace, names_of_settings_are_read_as_git_reads_them)
{
    make_named("[user]\n\tname = x\n[Include]\n  PATH=../tools/settings\n"
               "[core] HooksPath=\"tools/hooks\" ; old\n"
               "[include]\n\tpath = ../tools/settings\n\tpath = ../absent\n\tpath = /etc/passwd\n");
    char **paths = sandbox_git_named(workspace);
    static const char *const expected[] = {"/tools/settings", "/tools/inner", "/tools/hooks"};
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(paths[i]);
        assert_string_equal(paths[i] + strlen(workspace), expected[i]);
    }
    assert_null(paths[3]);
    memory_free_list(paths);
}

/** What the program does inside: make a blank of one byte. */
static int write_through_memory(const char *path, size_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char *text = mmap(NULL, at + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    /* A page that was read before is written without a fault, and so without a change of times. */
    if (text == MAP_FAILED || memchr(text + at, '#', 1) == NULL) {
        return 1;
    }
    text[at] = ' ';
    return munmap(text, at + 1);
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], WRITE_ARGUMENT) == 0) {
        return write_through_memory(argv[2], strtoul(argv[3], NULL, 10));
    }
    return sandbox_test_main(argc, argv);
}
