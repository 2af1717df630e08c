// SPDX-License-Identifier: Apache-2.0
/*
 * What commands in a sandbox can and cannot do to the network, the kernel and other processes, and
 * how much they may use. Each promise that both tiers make is tested in both; a test is skipped,
 * with a message, where the machine lacks the tier.
 */
#include "base/clock.h"
#include "os/sandbox/landlock.h"
#include "os/sandbox/limits.h"

#include "sandbox_support.h"

#include <arpa/inet.h>
#include <glob.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

/** Makes numbers of this process different from those of other runs of this test. */
static pid_t main_pid;

/** The text with the number of this process for the sign '%'; valid until the next call. */
static const char *own(const char *text)
{
    static char own_text[256];
    char *end = own_text;
    for (; *text != '\0'; text++) {
        end += snprintf(end, sizeof(own_text) - (size_t)(end - own_text),
                        *text == '%' ? "%d" : "%c", *text == '%' ? (int)main_pid : *text);
        assert_true(end < own_text + sizeof(own_text));
    }
    return own_text;
}

/* --- both tiers --- */

static int listen_on_loopback(int kind, char port[16])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(kind == SOCK_STREAM ? listen(fd, 8) : 0, 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    snprintf(port, 16, "%d", ntohs(address.sin_port));
    return fd;
}

static int run_inside(const struct sandbox_policy *policy, const char *what, const char *argument)
{
    const char *const argv[] = {program, INSIDE_ARGUMENT, what, argument, NULL};
    struct spawn_result result = run_policy(policy, argv);
    assert_string_equal(result.reason, "");
    int exit_code = result.exit_code;
    spawn_result_fini(&result);
    return exit_code;
}

BOTH(a_listener_on_the_machine_cannot_be_reached)
{
    need(tier_of(state));
    char port[16];
    int fd = listen_on_loopback(SOCK_STREAM, port);
    struct sandbox_policy policy = policy_for(tier_of(state));
    assert_int_equal(try_to_connect(port), 0);
    assert_int_equal(run_inside(&policy, "connect", port), 1);
    close(fd);
}

BOTH(a_datagram_does_not_get_out)
{
    need(tier_of(state));
    char port[16];
    char byte;
    int fd = listen_on_loopback(SOCK_DGRAM, port);
    struct sandbox_policy policy = policy_for(tier_of(state));
    run_inside(&policy, "send", port);
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
    close(fd);
}

BOTH(an_allowed_network_reaches_the_machine)
{
    need(tier_of(state));
    char port[16];
    int fd = listen_on_loopback(SOCK_STREAM, port);
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.allow_network = true;
    assert_int_equal(run_inside(&policy, "connect", port), 0);
    close(fd);
}

BOTH(an_allowed_network_can_read_the_resolvers_configuration)
{
    need(tier_of(state));
    if (access("/etc/resolv.conf", R_OK) != 0) {
        print_message("skipped: there is no /etc/resolv.conf\n");
        skip();
    }
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.allow_network = true;
    struct spawn_result result = run_script(&policy, "cat /etc/resolv.conf >/dev/null");
    assert_int_equal(result.exit_code, 0);
    spawn_result_fini(&result);
}

BOTH(a_service_at_a_socket_file_cannot_be_reached)
{
    need(tier_of(state));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/socket", outside);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    struct sandbox_policy policy = policy_for(tier_of(state));
    assert_int_equal(try_unix(address.sun_path), 0);
    assert_int_equal(run_inside(&policy, "unix", address.sun_path), 1);
    close(fd);
}

BOTH(abstract_sockets_of_the_machine_cannot_be_reached_with_a_network)
{
    need(tier_of(state));
    if (tier_of(state) == SANDBOX_NAMESPACE && landlock_version() < 6) {
        print_message("skipped: this Landlock does not know sockets\n");
        skip();
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    snprintf(name, sizeof(name), "@rondo-test-%d", (int)getpid());
    memcpy(address.sun_path + 1, name + 1, strlen(name) - 1);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.allow_network = true;
    assert_int_equal(try_unix(name), 0);
    assert_int_equal(run_inside(&policy, "unix", name), 1);
    close(fd);
}

BOTH(dangerous_system_calls_are_denied)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {program, INSIDE_ARGUMENT, "calls", NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(result.output, "");
    spawn_result_fini(&result);
}

BOTH(system_calls_of_another_word_size_are_denied)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {program, INSIDE_ARGUMENT, "word", NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_string_equal(result.output, "");
    if (result.end != SPAWN_SIGNALLED && result.exit_code == 0) {
        fail_msg("%d %s", result.end, result.reason);
    }
    spawn_result_fini(&result);
}

BOTH(processes_of_the_machine_cannot_be_signalled)
{
    need(tier_of(state));
    if (tier_of(state) == SANDBOX_LANDLOCK && landlock_version() < 6) {
        print_message("skipped: this Landlock does not know signals\n");
        skip();
    }
    const char *const names[] = {"RONDO_TEST_VICTIM", NULL};
    char number[16];
    snprintf(number, sizeof(number), "%d", (int)getpid());
    setenv("RONDO_TEST_VICTIM", number, 1);
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.env_names = names;
    struct spawn_result result = run_script(
        &policy,
        "kill -KILL $RONDO_TEST_VICTIM 2>/dev/null; kill -KILL $PPID 2>/dev/null; echo end");
    unsetenv("RONDO_TEST_VICTIM");
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(result.output, "end\n");
    spawn_result_fini(&result);
}

BOTH(nothing_survives_the_end)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(
        &policy, own("setsid sh -c 'sleep 98761.% & sleep 98761.%' & sleep 0.3; exit 2"));
    assert_int_equal(result.exit_code, 2);
    assert_int_equal(count_processes(own("98761.%")), 0);
    spawn_result_fini(&result);
}

static struct spawn_result run_until_silent(enum sandbox_tier tier, const char *script,
                                            const char *supervisor)
{
    struct sandbox_policy policy = policy_for(tier);
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)environ,
        .directory = workspace,
        .silence_ns = 300 * NS_PER_MS,
        .grace_ns = 300 * NS_PER_MS,
        .total_ns = GENEROUS_NS,
        .output_keep = 1000,
        .sandbox = &policy,
        .supervisor = supervisor,
    };
    return run(&request);
}

BOTH(nothing_survives_a_deadline)
{
    need(tier_of(state));
    struct spawn_result result = run_until_silent(
        tier_of(state),
        own("trap '' TERM; echo go; setsid sh -c 'sleep 98762.% & sleep 98762.%' & "
            "while :; do sleep 0.1; done"),
        SELF);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_int_equal(count_processes(own("98762.%")), 0);
    spawn_result_fini(&result);
}

BOTH(a_command_may_clean_up_in_its_grace)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {
        "sh", "-c", "trap 'echo cleaned; exit 0' TERM; echo go; while :; do sleep 0.05; done",
        NULL};
    struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)environ,
        .directory = workspace,
        .silence_ns = 300 * NS_PER_MS,
        .grace_ns = GENEROUS_NS,
        .output_keep = 1000,
        .sandbox = &policy,
        .supervisor = SELF,
    };
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_non_null(strstr(result.output, "cleaned\n"));
    spawn_result_fini(&result);
}

TIER(landlock, other_processes_and_queues_cannot_be_changed)
{
    need(tier_of(state));
    char number[16];
    snprintf(number, sizeof(number), "%d", (int)getpid());
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {program, INSIDE_ARGUMENT, "others", number, NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(result.output, "");
    spawn_result_fini(&result);
}

BOTH(a_process_may_change_itself)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    assert_int_equal(run_inside(&policy, "oneself", ""), 0);
}

BOTH(a_process_without_its_first_thread_is_gone_with_its_run)
{
    char path[PATH_MAX + 64];
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {program, INSIDE_ARGUMENT, "headless", NULL};
    struct spawn_result result = run_policy(&policy, argv);
    snprintf(path, sizeof(path), "%s/alive", workspace);
    (void)unlink(path);
    clock_sleep(clock_system(), 100 * NS_PER_MS, NULL);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(result.reason, "");
    assert_false(exists(workspace, "alive"));
    assert_in_range(result.duration_ns, 0, GENEROUS_NS);
    spawn_result_fini(&result);
}

static bool can_count_processes(void)
{
    struct sandbox_limits limits = sandbox_limits_resolve(&(struct sandbox_limits){0});
    struct sandbox_group group;
    sandbox_group_make(&limits, &group);
    bool can = geteuid() != 0 || group.count > 0;
    sandbox_group_remove(&group);
    return can;
}

BOTH(a_fork_bomb_is_contained)
{
    need(tier_of(state));
    if (!can_count_processes()) {
        print_message("skipped: root without a writable control group\n");
        skip();
    }
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.limits.processes = 30;
    struct spawn_result result = run_script(
        &policy, own("i=0; while [ $i -lt 200 ]; do sleep 98763.% & i=$((i+1)); done; echo all"));
    assert_null(strstr(result.output, "all\n"));
    assert_non_null(strstr(result.output, "fork"));
    assert_int_equal(count_processes(own("98763.%")), 0);
    spawn_result_fini(&result);
}

BOTH(a_bomb_that_ignores_signals_is_gone_with_its_run)
{
    need(tier_of(state));
    if (!can_count_processes()) {
        print_message("skipped: root without a writable control group\n");
        skip();
    }
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.limits.processes = 120;
    const char *const argv[] = {program, INSIDE_ARGUMENT, "bomb", own("bomb-%"), NULL};
    struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)environ,
        .directory = workspace,
        .silence_ns = 500 * NS_PER_MS,
        .total_ns = GENEROUS_NS,
        .grace_ns = 200 * NS_PER_MS,
        .output_keep = 1000,
        .sandbox = &policy,
        .supervisor = SELF,
    };
    struct spawn_result result = run(&request);
    assert_int_equal(count_processes_with("comm", own("bomb-%")), 0);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_in_range(result.duration_ns, 0, GENEROUS_NS);
    spawn_result_fini(&result);
}

static char *find_private_folder(const char *parent)
{
    char pattern[PATH_MAX + 32];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%.4000s/rondo-??????", parent);
    char *path = glob(pattern, 0, NULL, &found) == 0 ? strdup(found.gl_pathv[0]) : NULL;
    globfree(&found);
    return path;
}

TIER(landlock, the_private_folder_is_in_the_temporary_folder_of_the_user)
{
    need(tier_of(state));
    setenv("TMPDIR", outside, 1);
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, "mkdir -p $TMPDIR/a/b; echo $TMPDIR");
    unsetenv("TMPDIR");
    assert_true(strncmp(result.output, outside, strlen(outside)) == 0);
    assert_null(find_private_folder(outside));
    spawn_result_fini(&result);
}

/** A process that runs a command in the tier until it is killed. */
static pid_t start_runner(enum sandbox_tier tier)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct sandbox_policy policy = policy_for(tier);
        const char *const argv[] = {"sh", "-c", own("touch $TMPDIR/x started; sleep 98765.%"),
                                    NULL};
        struct spawn_result result = run_policy(&policy, argv);
        _exit(result.exit_code);
    }
    return pid;
}

BOTH(nothing_is_left_in_the_temporary_folder_of_who_was_killed)
{
    need(tier_of(state));
    setenv("TMPDIR", outside, 1);
    pid_t pid = start_runner(tier_of(state));
    for (int i = 0; i < 6000 && !exists(workspace, "started"); i++) {
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL);
    }
    unsetenv("TMPDIR");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    char *left = find_private_folder(outside);
    for (int i = 0; i < 6000 && (left != NULL || count_processes(own("98765.%")) > 0); i++) {
        free(left);
        clock_sleep(clock_system(), 10 * NS_PER_MS, NULL);
        left = find_private_folder(outside);
    }
    assert_true(exists(workspace, "started"));
    assert_null(left);
    assert_int_equal(count_processes(own("98765.%")), 0);
}

BOTH(a_file_cannot_grow_past_its_limit)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.limits.file_size_bytes = 100000;
    struct spawn_result result =
        run_script(&policy, "head -c 200000 /dev/zero >big; stat -c %s big; ulimit -c");
    assert_non_null(strstr(result.output, "100000\n0\n"));
    spawn_result_fini(&result);
}

BOTH(descriptors_are_limited)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.limits.open_files = 77;
    struct spawn_result result = run_script(&policy, "ulimit -n");
    assert_string_equal(result.output, "77\n");
    spawn_result_fini(&result);
}

BOTH(memory_is_limited)
{
    need(tier_of(state));
    if (geteuid() != 0 || !can_count_processes()) {
        print_message("skipped: no writable control group\n");
        skip();
    }
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.limits.memory_bytes = 64 << 20;
    struct spawn_result result =
        run_script(&policy, "head -c 300000000 /dev/zero | tail -c 250000000 | wc -c");
    assert_null(strstr(result.output, "250000000"));
    spawn_result_fini(&result);
}

BOTH(no_descriptor_of_ours_is_inside)
{
    expect(state, "ls /proc/$$/fd; :", "0\n1\n2\n");
}

BOTH(no_control_group_or_folder_is_left)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, "echo $TMPDIR; cat /proc/self/cgroup");
    char folder[64] = "";
    assert_int_equal(sscanf(result.output, "%63s", folder), 1);
    assert_true(tier_of(state) == SANDBOX_NAMESPACE || !file_exists(folder));
    const char *group = strstr(result.output, "/rondo-");
    if (tier_of(state) == SANDBOX_LANDLOCK && group != NULL) {
        char path[128];
        snprintf(path, sizeof(path), "/sys/fs/cgroup/pids%.13s", group);
        assert_false(file_exists(path));
    }
    spawn_result_fini(&result);
}

/* --- the namespace tier --- */

TIER(namespace, only_processes_of_the_sandbox_are_in_sight)
{
    expect(state, "ls /proc | grep -c '^[0-9]*$' | awk '{ print $1 < 10 }'", "1\n");
}

TIER(namespace, without_a_supervisor_nothing_survives_either)
{
    need(tier_of(state));
    struct spawn_result result = run_until_silent(
        SANDBOX_NAMESPACE,
        own("trap '' TERM; echo go; setsid sleep 98764.% & while :; do sleep 0.1; done"), NULL);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_int_equal(count_processes(own("98764.%")), 0);
    spawn_result_fini(&result);
}

/* --- the Landlock tier --- */

TIER(landlock, environments_of_other_processes_cannot_be_read)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(SANDBOX_LANDLOCK);
    char script[128];
    snprintf(script, sizeof(script), "cat /proc/%d/environ 2>/dev/null; echo end", (int)getpid());
    struct spawn_result result = run_script(&policy, script);
    assert_string_equal(result.output, "end\n");
    spawn_result_fini(&result);
}

int main(int argc, char **argv)
{
    main_pid = getpid();
    return sandbox_test_main(argc, argv);
}
