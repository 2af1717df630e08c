// SPDX-License-Identifier: Apache-2.0
/*
 * What commands in a sandbox can and cannot do. Each promise that both tiers make is tested in
 * both; a test is skipped, with a message, where the machine lacks the tier.
 */
#include "os/sandbox.h"

#include "base/buf.h"
#include "os/sandbox_landlock.h"
#include "os/sandbox_limits.h"

#include "helper.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define SELF "/proc/self/exe"
/** Makes this program try something from inside a sandbox. */
#define INSIDE_ARGUMENT "inside"

static char scratch[PATH_MAX]; /* holds everything of one test */
static char workspace[PATH_MAX + 32];
static char outside[PATH_MAX + 32];
static char program_folder[PATH_MAX];
static char program[PATH_MAX];

/* --- the program inside --- */

static int try_to_connect(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : 1;
}

static int try_to_send(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ssize_t sent = sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address));
    return sent == 1 ? 0 : 1;
}

static int try_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : 1;
}

struct attempt {
    const char *name;
    long result;
};

/** Print the name of each call that was not denied. */
static int try_system_calls(void)
{
    struct attempt attempts[] = {
        {"keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1)},
        {"add_key", syscall(SYS_add_key, "user", "rondo-test", "x", 1, KEY_SPEC_PROCESS_KEYRING)},
        {"bpf", syscall(SYS_bpf, 0, NULL, 0)},
        {"userfaultfd", syscall(SYS_userfaultfd, 1)},
        {"io_uring", syscall(SYS_io_uring_setup, 1, NULL)},
        {"perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0)},
        {"unshare", syscall(SYS_unshare, CLONE_NEWUSER)},
        {"clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)},
        {"clone3", syscall(SYS_clone3, NULL, 0)},
        {"setns", syscall(SYS_setns, -1, 0)},
        {"mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL)},
        {"fsopen", syscall(SYS_fsopen, "tmpfs", 0)},
        {"open_tree", syscall(SYS_open_tree, -1, "/", 1)},
        {"chroot_by_handle", syscall(SYS_open_by_handle_at, -1, NULL, 0)},
        {"vsock", syscall(SYS_socket, 40 /* AF_VSOCK */, SOCK_STREAM, 0)},
        {"packet", syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0)},
        {"alg", syscall(SYS_socket, 38 /* AF_ALG */, SOCK_SEQPACKET, 0)},
    };
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        if (attempts[i].result == 0 && strcmp(attempts[i].name, "clone") == 0 && getpid() == 1) {
            _exit(0);
        }
        if (attempts[i].result != -1) {
            printf("%s\n", attempts[i].name);
        }
    }
    errno = 0;
    if (ioctl(0, TIOCSTI, "x") == 0 || errno != EPERM) {
        printf("TIOCSTI\n");
    }
    return 0;
}

/** Ask for the process number by the numbers of another word size. */
static int try_other_word_size(void)
{
#if defined(__x86_64__)
    const long x32_bit = 0x40000000;
    if (syscall(x32_bit | SYS_getpid) == getpid()) {
        return 0;
    }
    long number = 20; /* getpid among the 32-bit calls */
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
    return number == getpid() ? 0 : 1;
#else
    return 1;
#endif
}

static int be_inside(char **argv)
{
    if (strcmp(argv[2], "word") == 0) {
        return try_other_word_size();
    }
    if (strcmp(argv[2], "connect") == 0) {
        return try_to_connect(argv[3]);
    }
    if (strcmp(argv[2], "send") == 0) {
        return try_to_send(argv[3]);
    }
    if (strcmp(argv[2], "unix") == 0) {
        return try_unix(argv[3]);
    }
    return try_system_calls();
}

/* --- frame --- */

static enum sandbox_tier tier_of(void **state)
{
    return *(const enum sandbox_tier *)*state;
}

static int set_up(void **state)
{
    (void)state;
    scratch_make(scratch);
    snprintf(workspace, sizeof(workspace), "%s/workspace", scratch);
    snprintf(outside, sizeof(outside), "%s/outside", scratch);
    return mkdir(workspace, 0700) == 0 && mkdir(outside, 0700) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(scratch);
    return 0;
}

static void need(enum sandbox_tier tier)
{
    char reason[256];
    if (!sandbox_is_available(tier, reason)) {
        print_message("skipped: %s: %s\n", sandbox_tier_name(tier), reason);
        skip();
    }
}

/** What most tests use: the workspace, and this program's own folder readable. */
static struct sandbox_policy policy_for(enum sandbox_tier tier)
{
    static const char *read_paths[2];
    read_paths[0] = program_folder;
    read_paths[1] = NULL;
    return (struct sandbox_policy){.tier = tier, .workspace = workspace, .read_paths = read_paths};
}

static struct spawn_result run_policy(const struct sandbox_policy *policy, const char *const *argv)
{
    struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)environ,
        .directory = workspace,
        .total_ns = GENEROUS_NS,
        .grace_ns = GENEROUS_NS,
        .output_keep = 8192,
        .sandbox = policy,
        .supervisor = SELF,
    };
    return run(&request);
}

/** Run a script; `$0` is the folder outside of the workspace. */
static struct spawn_result run_script(const struct sandbox_policy *policy, const char *script)
{
    const char *const argv[] = {"sh", "-c", script, outside, NULL};
    return run_policy(policy, argv);
}

/** Run a script in a plain sandbox and insist on what it prints. */
static void expect(void **state, const char *script, const char *output)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, script);
    assert_string_equal(result.reason, "");
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(result.output, output);
    spawn_result_fini(&result);
}

static bool exists(const char *folder, const char *name)
{
    char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return file_exists(path);
}

static void make_folder(const char *folder, const char *name)
{
    char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(file_make_folder(path, NULL), 0);
}

/* --- both tiers --- */

static void the_exit_code_passes_through(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, "echo hello; exit 23");
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 23);
    assert_string_equal(result.output, "hello\n");
    spawn_result_fini(&result);
}

static void a_missing_program_is_not_started(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {"no-such-program-anywhere", NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "no-such-program-anywhere"));
    spawn_result_fini(&result);
}

static void a_file_that_is_no_program_is_not_started(void **state)
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

static void the_workspace_is_writable_at_its_own_path(void **state)
{
    expect(state, "echo x >made && mkdir d && mv made d/ && cat d/made && rm -r d", "x\n");
}

static void a_file_outside_cannot_be_read(void **state)
{
    scratch_write(outside, "secret", "secret");
    expect(state, "cat $0/secret 2>/dev/null || echo denied", "denied\n");
}

static void a_file_outside_cannot_be_written(void **state)
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

static void system_folders_cannot_be_written(void **state)
{
    expect(state,
           "for i in /usr /etc /bin / /var /lib; do touch $i/rondo-test-made 2>/dev/null && "
           "echo $i; done; echo end",
           "end\n");
}

static void the_users_home_cannot_be_read(void **state)
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

static void secrets_of_the_system_cannot_be_read(void **state)
{
    expect(state,
           "cat /etc/shadow /etc/gshadow /etc/ssl/private/* /etc/ssh/ssh_host_*_key "
           "2>/dev/null; echo end",
           "end\n");
}

static void a_link_out_of_the_workspace_leads_nowhere(void **state)
{
    scratch_write(outside, "secret", "secret");
    char link[PATH_MAX + 64];
    snprintf(link, sizeof(link), "%s/link", workspace);
    assert_int_equal(symlink(outside, link), 0);
    expect(state, "cat link/secret 2>/dev/null; touch link/made 2>/dev/null; echo end", "end\n");
    assert_false(exists(outside, "made"));
}

static void a_link_that_an_earlier_command_put_in_a_named_path_is_not_followed(void **state)
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
    assert_string_equal(result.output, "end\n");
    spawn_result_fini(&result);
}

static void further_paths_are_readable_or_writable_as_named(void **state)
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

static void hidden_paths_show_nothing_and_keep_their_content(void **state)
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

static void hooks_and_configuration_of_git_cannot_be_changed(void **state)
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

static void hooks_cannot_be_added_where_there_are_none(void **state)
{
    make_folder(workspace, ".git");
    scratch_write(workspace, ".git/config", "[core]\n");
    expect(state, "{ mkdir .git/hooks; echo x >.git/hooks/pre-commit; } 2>/dev/null; echo end",
           "end\n");
    assert_false(exists(workspace, ".git/hooks/pre-commit"));
}

static void git_cannot_be_led_to_another_configuration(void **state)
{
    make_folder(workspace, ".git/hooks");
    scratch_write(workspace, ".git/config", "[core]\n");
    expect(state, "echo ../evil 2>/dev/null >.git/commondir; echo end", "end\n");
    assert_false(exists(workspace, ".git/commondir"));
}

static void a_repository_named_as_writable_is_guarded_too(void **state)
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

static void a_git_file_that_names_the_repository_cannot_be_changed(void **state)
{
    scratch_write(workspace, ".git", "gitdir: /elsewhere\n");
    expect(state, "{ echo x >.git; rm .git; mv .git m; } 2>/dev/null; cat .git",
           "gitdir: /elsewhere\n");
}

static void the_environment_is_scrubbed(void **state)
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

static void a_listener_on_the_machine_cannot_be_reached(void **state)
{
    need(tier_of(state));
    char port[16];
    int fd = listen_on_loopback(SOCK_STREAM, port);
    struct sandbox_policy policy = policy_for(tier_of(state));
    assert_int_equal(try_to_connect(port), 0);
    assert_int_equal(run_inside(&policy, "connect", port), 1);
    close(fd);
}

static void a_datagram_does_not_get_out(void **state)
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

static void an_allowed_network_reaches_the_machine(void **state)
{
    need(tier_of(state));
    char port[16];
    int fd = listen_on_loopback(SOCK_STREAM, port);
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.allow_network = true;
    assert_int_equal(run_inside(&policy, "connect", port), 0);
    close(fd);
}

static void an_allowed_network_can_read_the_resolvers_configuration(void **state)
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

static void a_service_behind_a_socket_file_cannot_be_reached(void **state)
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

static void dangerous_system_calls_are_denied(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {program, INSIDE_ARGUMENT, "calls", NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(result.output, "");
    spawn_result_fini(&result);
}

static void system_calls_of_another_word_size_are_denied(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    const char *const argv[] = {program, INSIDE_ARGUMENT, "word", NULL};
    struct spawn_result result = run_policy(&policy, argv);
    assert_true(result.end == SPAWN_SIGNALLED || result.exit_code != 0);
    spawn_result_fini(&result);
}

static void processes_of_the_machine_cannot_be_signalled(void **state)
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

static void nothing_survives_the_end(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result =
        run_script(&policy, "setsid sh -c 'sleep 98761 & sleep 98761' & sleep 0.3; exit 2");
    assert_int_equal(result.exit_code, 2);
    assert_int_equal(count_processes("98761"), 0);
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

static void nothing_survives_a_deadline(void **state)
{
    need(tier_of(state));
    struct spawn_result result =
        run_until_silent(tier_of(state),
                         "trap '' TERM; echo go; setsid sh -c 'sleep 98762 & sleep 98762' & "
                         "while :; do sleep 0.1; done",
                         SELF);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_int_equal(count_processes("98762"), 0);
    spawn_result_fini(&result);
}

static void a_command_may_clean_up_in_its_grace(void **state)
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

static bool can_count_processes(void)
{
    struct sandbox_limits limits = sandbox_limits_resolve(&(struct sandbox_limits){0});
    struct sandbox_group group;
    sandbox_group_make(&limits, &group);
    bool can = geteuid() != 0 || group.count > 0;
    sandbox_group_remove(&group);
    return can;
}

static void a_fork_bomb_is_contained(void **state)
{
    need(tier_of(state));
    if (!can_count_processes()) {
        print_message("skipped: root without a writable control group\n");
        skip();
    }
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.limits.processes = 30;
    struct spawn_result result = run_script(
        &policy, "i=0; while [ $i -lt 200 ]; do sleep 98763 & i=$((i+1)); done; echo all");
    assert_null(strstr(result.output, "all\n"));
    assert_non_null(strstr(result.output, "fork"));
    assert_int_equal(count_processes("98763"), 0);
    spawn_result_fini(&result);
}

static void a_file_cannot_grow_past_its_limit(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.limits.file_size_bytes = 100000;
    struct spawn_result result =
        run_script(&policy, "head -c 200000 /dev/zero >big; stat -c %s big; ulimit -c");
    assert_non_null(strstr(result.output, "100000\n0\n"));
    spawn_result_fini(&result);
}

static void descriptors_are_limited(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.limits.open_files = 77;
    struct spawn_result result = run_script(&policy, "ulimit -n");
    assert_string_equal(result.output, "77\n");
    spawn_result_fini(&result);
}

static void no_descriptor_of_ours_is_inside(void **state)
{
    expect(state, "ls /proc/$$/fd; :", "0\n1\n2\n");
}

static void a_workspace_that_holds_the_system_is_refused(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.workspace = "/";
    struct spawn_result result = run_script(&policy, "true");
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "never writable"));
    spawn_result_fini(&result);
}

static void a_missing_workspace_is_refused(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    policy.workspace = "/no/such/folder";
    struct spawn_result result = run_script(&policy, "true");
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    spawn_result_fini(&result);
}

static void no_control_group_or_folder_is_left(void **state)
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

static const enum sandbox_tier namespace_tier = SANDBOX_NAMESPACE;
static const enum sandbox_tier landlock_tier = SANDBOX_LANDLOCK;

static void temporary_folders_are_private(void **state)
{
    expect(state, "touch /tmp/rondo-test-made /var/tmp/rondo-test-made && echo made", "made\n");
    assert_false(file_exists("/tmp/rondo-test-made"));
    assert_false(file_exists("/var/tmp/rondo-test-made"));
}

static void only_processes_of_the_sandbox_are_in_sight(void **state)
{
    expect(state, "ls /proc | grep -c '^[0-9]*$' | awk '{ print $1 < 10 }'", "1\n");
}

static void a_workspace_reached_by_a_link_works_by_both_names(void **state)
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

static void without_a_supervisor_nothing_survives_either(void **state)
{
    need(tier_of(state));
    struct spawn_result result = run_until_silent(
        SANDBOX_NAMESPACE,
        "trap '' TERM; echo go; setsid sleep 98764 & while :; do sleep 0.1; done", NULL);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_int_equal(count_processes("98764"), 0);
    spawn_result_fini(&result);
}

static void without_bubblewrap_the_command_is_not_run(void **state)
{
    (void)state;
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

static void a_bubblewrap_from_the_workspace_is_not_used(void **state)
{
    (void)state;
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

static void inside_of_a_sandbox_the_tier_is_missing_and_the_command_is_not_run(void **state)
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

/** Runs inside of a sandbox, where no further one can be made. */
static int be_nested(const char *folder)
{
    char reason[256];
    const struct sandbox_policy policy = {.tier = SANDBOX_NAMESPACE, .workspace = folder};
    const char *const argv[] = {"sh", "-c", "touch made", NULL};
    struct spawn_request request = {.argv = argv,
                                    .envp = (const char *const *)environ,
                                    .directory = folder,
                                    .total_ns = GENEROUS_NS,
                                    .output_keep = 1000,
                                    .sandbox = &policy};
    struct spawn_result result;
    if (sandbox_is_available(SANDBOX_NAMESPACE, reason) || reason[0] == '\0') {
        return 2;
    }
    if (spawn_run(&request, &result, NULL) != 0) {
        return 3;
    }
    enum spawn_end end = result.end;
    spawn_result_fini(&result);
    return end == SPAWN_NOT_STARTED ? 0 : 4;
}

static void memory_is_limited(void **state)
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

/* --- the Landlock tier --- */

static void without_a_supervisor_the_command_is_not_run(void **state)
{
    (void)state;
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

static void environments_of_other_processes_cannot_be_read(void **state)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(SANDBOX_LANDLOCK);
    char script[128];
    snprintf(script, sizeof(script), "cat /proc/%d/environ 2>/dev/null; echo end", (int)getpid());
    struct spawn_result result = run_script(&policy, script);
    assert_string_equal(result.output, "end\n");
    spawn_result_fini(&result);
}

/* --- names --- */

static void every_tier_has_a_name_that_leads_back(void **state)
{
    (void)state;
    for (int i = 0; i < SANDBOX_TIER_COUNT; i++) {
        enum sandbox_tier tier = SANDBOX_TIER_COUNT;
        assert_true(sandbox_tier_from_name(sandbox_tier_name((enum sandbox_tier)i), &tier));
        assert_int_equal(tier, i);
    }
}

static void an_unknown_name_is_no_tier(void **state)
{
    (void)state;
    enum sandbox_tier tier = SANDBOX_NAMESPACE;
    assert_false(sandbox_tier_from_name("strong", &tier));
    assert_int_equal(tier, SANDBOX_NAMESPACE);
}

static void no_tier_is_always_available(void **state)
{
    (void)state;
    char reason[256];
    assert_true(sandbox_is_available(SANDBOX_NONE, reason));
    assert_string_equal(reason, "");
}

static void the_path_decides_whether_the_namespace_tier_is_there(void **state)
{
    (void)state;
    char reason[256];
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "", 1);
    assert_false(sandbox_is_available(SANDBOX_NAMESPACE, reason));
    setenv("PATH", path, 1);
    assert_non_null(strstr(reason, "bubblewrap"));
    free(path);
}

#define TIER(tier, test)                                                \
    {                                                                   \
#tier ": " #test, test, set_up, tear_down, (void *)&tier##_tier \
    }
#define BOTH(test) TIER(namespace, test), TIER(landlock, test)

static void find_self(void)
{
    ssize_t len = readlink(SELF, program, sizeof(program) - 1);
    program[len > 0 ? len : 0] = '\0';
    snprintf(program_folder, sizeof(program_folder), "%s", program);
    char *slash = strrchr(program_folder, '/');
    *(slash == NULL ? program_folder : slash) = '\0';
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SUPERVISE_ARGUMENT) == 0) {
        return supervise_main(argc, argv);
    }
    if (argc > 2 && strcmp(argv[1], INSIDE_ARGUMENT) == 0) {
        return be_inside(argv);
    }
    if (argc > 2 && strcmp(argv[1], INSIDE_ARGUMENT "-again") == 0) {
        return be_nested(argv[2]);
    }
    find_self();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tier_has_a_name_that_leads_back),
        cmocka_unit_test(an_unknown_name_is_no_tier),
        cmocka_unit_test(no_tier_is_always_available),
        cmocka_unit_test(the_path_decides_whether_the_namespace_tier_is_there),
        BOTH(the_exit_code_passes_through),
        BOTH(a_missing_program_is_not_started),
        TIER(landlock, a_file_that_is_no_program_is_not_started),
        BOTH(the_workspace_is_writable_at_its_own_path),
        BOTH(a_file_outside_cannot_be_read),
        BOTH(a_file_outside_cannot_be_written),
        BOTH(system_folders_cannot_be_written),
        BOTH(the_users_home_cannot_be_read),
        BOTH(secrets_of_the_system_cannot_be_read),
        BOTH(a_link_out_of_the_workspace_leads_nowhere),
        BOTH(a_link_that_an_earlier_command_put_in_a_named_path_is_not_followed),
        BOTH(further_paths_are_readable_or_writable_as_named),
        BOTH(hidden_paths_show_nothing_and_keep_their_content),
        BOTH(hooks_and_configuration_of_git_cannot_be_changed),
        BOTH(hooks_cannot_be_added_where_there_are_none),
        BOTH(git_cannot_be_led_to_another_configuration),
        BOTH(a_repository_named_as_writable_is_guarded_too),
        BOTH(a_git_file_that_names_the_repository_cannot_be_changed),
        BOTH(the_environment_is_scrubbed),
        BOTH(a_listener_on_the_machine_cannot_be_reached),
        BOTH(a_datagram_does_not_get_out),
        BOTH(an_allowed_network_reaches_the_machine),
        BOTH(an_allowed_network_can_read_the_resolvers_configuration),
        BOTH(a_service_behind_a_socket_file_cannot_be_reached),
        BOTH(dangerous_system_calls_are_denied),
        BOTH(system_calls_of_another_word_size_are_denied),
        BOTH(processes_of_the_machine_cannot_be_signalled),
        BOTH(nothing_survives_the_end),
        BOTH(nothing_survives_a_deadline),
        BOTH(a_command_may_clean_up_in_its_grace),
        BOTH(a_fork_bomb_is_contained),
        BOTH(a_file_cannot_grow_past_its_limit),
        BOTH(descriptors_are_limited),
        BOTH(memory_is_limited),
        BOTH(no_descriptor_of_ours_is_inside),
        BOTH(a_workspace_that_holds_the_system_is_refused),
        BOTH(a_missing_workspace_is_refused),
        BOTH(no_control_group_or_folder_is_left),
        TIER(namespace, temporary_folders_are_private),
        TIER(namespace, only_processes_of_the_sandbox_are_in_sight),
        TIER(namespace, a_workspace_reached_by_a_link_works_by_both_names),
        TIER(namespace, without_a_supervisor_nothing_survives_either),
        TIER(namespace, without_bubblewrap_the_command_is_not_run),
        TIER(namespace, a_bubblewrap_from_the_workspace_is_not_used),
        TIER(namespace, inside_of_a_sandbox_the_tier_is_missing_and_the_command_is_not_run),
        TIER(landlock, without_a_supervisor_the_command_is_not_run),
        TIER(landlock, environments_of_other_processes_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
