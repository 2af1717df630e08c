// SPDX-License-Identifier: Apache-2.0
#include "sandbox_support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/keyctl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <utime.h>

const enum sandbox_tier namespace_tier = SANDBOX_NAMESPACE;
const enum sandbox_tier landlock_tier = SANDBOX_LANDLOCK;

char scratch[PATH_MAX];
char workspace[PATH_MAX + 32];
char outside[PATH_MAX + 32];
char program[PATH_MAX];
static char program_folder[PATH_MAX];

/* --- the program inside --- */

static struct sockaddr_in loopback(const char *port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int try_to_connect(const char *port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : 1;
}

static int try_to_send(const char *port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ssize_t sent = sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address));
    return sent == 1 ? 0 : 1;
}

int try_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    size_t len = strlen(address.sun_path);
    if (address.sun_path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0 ? 0 : 1;
}

struct syscall_attempt {
    const char *name;
    long result;
};

/** Print the name of each call that was not denied. */
static int try_system_calls(void)
{
    struct syscall_attempt attempts[] = {
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
    for (size_t i = 0; i < COUNT(attempts); i++) {
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

/** Print the name of each way in which another process, or a queue, could be changed. */
static int try_others(pid_t victim)
{
    const struct rlimit limit = {.rlim_cur = 1000000, .rlim_max = 1000000};
    struct sched_param priority = {0};
    cpu_set_t one;
    int pair[2];
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    struct syscall_attempt attempts[] = {
        {"prlimit", prlimit(victim, RLIMIT_NPROC, &limit, NULL)},
        {"setpriority", setpriority(PRIO_PROCESS, (id_t)victim, 19)},
        {"setpriority of all", setpriority(PRIO_USER, 0, 19)},
        {"setpriority of a group", setpriority(PRIO_PGRP, (id_t)getpgid(victim), 19)},
        {"ioprio_set", syscall(SYS_ioprio_set, 1, victim, (3 << 13))},
        {"sched_setaffinity", sched_setaffinity(victim, sizeof(one), &one)},
        {"sched_setscheduler", sched_setscheduler(victim, SCHED_IDLE, &priority)},
        {"sched_setparam", sched_setparam(victim, &priority)},
        {"process_vm_readv", syscall(SYS_process_vm_readv, victim, NULL, 0, NULL, 0, 0)},
        {"shmget", syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600)},
        {"semget", syscall(SYS_semget, IPC_PRIVATE, 1, 0600)},
        {"msgget", syscall(SYS_msgget, IPC_PRIVATE, 0600)},
        {"mark", setrlimit(RLIMIT_LOCKS, &limit)},
        {"mark by prlimit", prlimit(0, RLIMIT_LOCKS, &limit, NULL)},
        {"mark by its low bits",
         syscall(SYS_prlimit64, 0, (1L << 32) | RLIMIT_LOCKS, &limit, NULL)},
        {"mq_open", syscall(SYS_mq_open, "rondo-test", O_RDWR | O_CREAT, 0600, NULL)},
        {"datagram pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)},
        {"raw pair", socketpair(AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0, pair)},
    };
    for (size_t i = 0; i < COUNT(attempts); i++) {
        if (attempts[i].result != -1) {
            printf("%s\n", attempts[i].name);
        }
    }
    return 0;
}

/** What a build does to itself must keep working. */
static int try_oneself(void)
{
    struct rlimit limit;
    cpu_set_t all;
    int pair[2];
    bool works = getrlimit(RLIMIT_NOFILE, &limit) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0 &&
                 setpriority(PRIO_PROCESS, 0, 19) == 0 && nice(1) != -1 &&
                 sched_getaffinity(0, sizeof(all), &all) == 0 &&
                 sched_setaffinity(0, sizeof(all), &all) == 0 &&
                 socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
    return works ? 0 : 1;
}

/** Print the name of each call that changed an attribute of the file. */
static int try_attributes(const char *path)
{
    const struct timespec times[2] = {{7, 7}, {7, 7}};
    const struct timeval values[2] = {{7, 7}, {7, 7}};
    const struct utimbuf old = {7, 7};
    const uint64_t nothing[3] = {0}; /* struct file_attr */
    const struct {
        const void *bytes;
        uint32_t len;
        uint32_t flags;
    } value = {.bytes = "x", .len = 1};
    long flags = 0;
    int fd = open(path, O_RDONLY);
    int bare = open(path, O_PATH);
    struct syscall_attempt attempts[] = {
        {"chmod", chmod(path, 0777)},
        {"fchmodat", fchmodat(AT_FDCWD, path, 0777, 0)},
        {"fchmod", fchmod(fd, 0777)},
        {"fchmodat2", syscall(452, AT_FDCWD, path, 0777, 0)},
        {"fchmodat2 of a descriptor", syscall(452, bare, "", 0777, AT_EMPTY_PATH)},
        {"chown", chown(path, getuid(), getgid())},
        {"lchown", lchown(path, getuid(), getgid())},
        {"fchown", fchown(fd, getuid(), getgid())},
        {"fchownat", fchownat(bare, "", getuid(), getgid(), AT_EMPTY_PATH)},
        {"utime", utime(path, &old)},
        {"utimes", utimes(path, values)},
        {"futimesat", futimesat(AT_FDCWD, path, values)},
        {"utimensat", utimensat(AT_FDCWD, path, times, 0)},
        {"utimensat now", utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW)},
        {"futimens", futimens(fd, times)},
        {"utimensat of a descriptor", utimensat(bare, "", times, AT_EMPTY_PATH)},
        {"setxattr", setxattr(path, "user.rondo", "x", 1, 0)},
        {"fsetxattr", fsetxattr(fd, "user.rondo", "x", 1, 0)},
        {"removexattr", removexattr(path, "user.rondo")},
        {"setxattrat", syscall(463, AT_FDCWD, path, 0, "user.rondo", &value, sizeof(value))},
        {"removexattrat", syscall(466, AT_FDCWD, path, 0, "user.theirs")},
        {"file_setattr", syscall(469, AT_FDCWD, path, &nothing, sizeof(nothing), 0)},
        {"flags", ioctl(fd, FS_IOC_SETFLAGS, &flags)},
    };
    for (size_t i = 0; i < COUNT(attempts); i++) {
        if (attempts[i].result != -1) {
            printf("%s\n", attempts[i].name);
        }
    }
    return 0;
}

/** Print the name of each call that gave a file the bit that makes it run as its owner. */
static int try_set_user_id(void)
{
    int fd = open("mine", O_RDWR | O_CREAT, 0700);
    /* Without a file to be made the mode is whatever happens to be in its register. */
    if (syscall(SYS_openat, AT_FDCWD, "mine", O_RDONLY, ~0L) < 0) {
        printf("an open is refused\n");
    }
    struct syscall_attempt attempts[] = {
        {"chmod", chmod("mine", 04755)},
        {"fchmod", fchmod(fd, 04755)},
        {"fchmodat", fchmodat(AT_FDCWD, "mine", 06755, 0)},
        {"fchmodat2", syscall(452, AT_FDCWD, "mine", 04755, 0)},
        {"open", open("made", O_WRONLY | O_CREAT, 04755)},
        {"open without a name", open(".", O_WRONLY | O_TMPFILE, 04755)},
        {"creat", creat("made", 04755)},
        {"openat2", syscall(SYS_openat2, AT_FDCWD, "made", NULL, 24)},
        {"mknod", mknod("made", S_IFREG | 04755, 0)},
    };
    for (size_t i = 0; i < COUNT(attempts); i++) {
        if (attempts[i].result != -1) {
            printf("%s\n", attempts[i].name);
        }
    }
    return 0;
}

/** Processes that ignore TERM, leave their session and start themselves again for ever. */
static int be_bomb(const char *name)
{
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_IGN);
    }
    prctl(PR_SET_NAME, name);
    (void)write(STDOUT_FILENO, "go\n", 3);
    for (;;) {
        if (fork() == 0) {
            setsid();
        } else if (fork() == 0) {
            _exit(0);
        }
    }
}

static void *touch_for_ever(void *context)
{
    (void)context;
    for (;;) {
        close(open("alive", O_WRONLY | O_CREAT, 0600));
        usleep(5000);
    }
    return NULL;
}

/** A process whose first thread has ended, so that it looks like one that waits to be reaped. */
static int be_headless(void)
{
    pthread_t thread;
    if (fork() == 0) {
        setsid();
        pthread_create(&thread, NULL, touch_for_ever, NULL);
        syscall(SYS_exit, 0);
    }
    while (access("alive", F_OK) != 0) {
        usleep(5000);
    }
    return 0;
}

static int be_inside(char **argv)
{
    if (strcmp(argv[2], "headless") == 0) {
        return be_headless();
    }
    if (strcmp(argv[2], "others") == 0) {
        return try_others((pid_t)strtol(argv[3], NULL, 10));
    }
    if (strcmp(argv[2], "oneself") == 0) {
        return try_oneself();
    }
    if (strcmp(argv[2], "attributes") == 0) {
        return try_attributes(argv[3]);
    }
    if (strcmp(argv[2], "set-user-id") == 0) {
        return try_set_user_id();
    }
    if (strcmp(argv[2], "bomb") == 0) {
        return be_bomb(argv[3]);
    }
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

/** Runs inside of a sandbox, where no other can be made. */
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

/* --- frame --- */

enum sandbox_tier tier_of(void **state)
{
    return *(const enum sandbox_tier *)*state;
}

int set_up(void **state)
{
    (void)state;
    /* Not in /dev, which a sandbox has of its own: what is hidden must be hidden by the tier. */
    snprintf(scratch, PATH_MAX, "/tmp/rondo-test-XXXXXX");
    assert_non_null(mkdtemp(scratch));
    snprintf(workspace, sizeof(workspace), "%s/workspace", scratch);
    snprintf(outside, sizeof(outside), "%s/outside", scratch);
    setenv("XDG_STATE_HOME", scratch, 1);
    return mkdir(workspace, 0700) == 0 && mkdir(outside, 0700) == 0 ? 0 : -1;
}

int tear_down(void **state)
{
    (void)state;
    scratch_remove(scratch);
    return 0;
}

void need(enum sandbox_tier tier)
{
    char reason[256];
    if (!sandbox_is_available(tier, reason)) {
        print_message("skipped: %s: %s\n", sandbox_tier_name(tier), reason);
        skip();
    }
}

struct sandbox_policy policy_for(enum sandbox_tier tier)
{
    static const char *read_paths[2];
    read_paths[0] = program_folder;
    read_paths[1] = NULL;
    return (struct sandbox_policy){.tier = tier, .workspace = workspace, .read_paths = read_paths};
}

struct spawn_result run_policy(const struct sandbox_policy *policy, const char *const *argv)
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

struct spawn_result run_script(const struct sandbox_policy *policy, const char *script)
{
    const char *const argv[] = {"sh", "-c", script, outside, NULL};
    return run_policy(policy, argv);
}

void expect(void **state, const char *script, const char *output)
{
    need(tier_of(state));
    struct sandbox_policy policy = policy_for(tier_of(state));
    struct spawn_result result = run_script(&policy, script);
    assert_string_equal(result.reason, "");
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(result.output, output);
    spawn_result_fini(&result);
}

bool exists(const char *folder, const char *name)
{
    char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return file_exists(path);
}

void make_folder(const char *folder, const char *name)
{
    char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(file_make_folder(path, NULL), 0);
}

static void find_self(void)
{
    ssize_t len = readlink(SELF, program, sizeof(program) - 1);
    program[len > 0 ? len : 0] = '\0';
    snprintf(program_folder, sizeof(program_folder), "%s", program);
    char *slash = strrchr(program_folder, '/');
    *(slash == NULL ? program_folder : slash) = '\0';
}

int sandbox_test_main(int argc, char **argv)
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
    return test_run(NULL, NULL);
}
