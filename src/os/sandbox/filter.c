// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandboxed command may not ask of the kernel. The list names what leads out of a sandbox or
 * into rarely used, complicated parts of the kernel, and leaves the rest alone: a build or a test
 * suite uses nearly everything else. ptrace stays allowed, because leak detection needs it and it
 * reaches no process outside (pid namespace, or Landlock's own rule). The program for
 * bubblewrap is kept once it is made, under a mutex; any thread.
 */
#include "os/sandbox/filter.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/sandbox/attributes.h"
#include "os/sandbox/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Newer than the headers of the oldest system that we build on. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

struct denied_syscall {
    const char *name; /* resolved at run time: one that this machine lacks is no hole */
    int error;
};

static const struct denied_syscall denials[] = {
    /* clone3 passes its flags by pointer, out of the filter's sight; libc then takes clone. */
    {"clone3", ENOSYS},
    {"setns", EPERM},
    {"mount", EPERM},
    {"umount", EPERM},
    {"umount2", EPERM},
    {"pivot_root", EPERM},
    {"move_mount", EPERM},
    {"open_tree", EPERM},
    {"open_tree_attr", EPERM},
    {"fsopen", EPERM},
    {"fsconfig", EPERM},
    {"fsmount", EPERM},
    {"fspick", EPERM},
    {"mount_setattr", EPERM},
    {"open_by_handle_at", EPERM},
    {"keyctl", EPERM},
    {"add_key", EPERM},
    {"request_key", EPERM},
    {"bpf", EPERM},
    {"userfaultfd", EPERM},
    {"perf_event_open", EPERM},
    {"io_uring_setup", ENOSYS},
    {"io_uring_enter", ENOSYS},
    {"io_uring_register", ENOSYS},
    {"kexec_load", EPERM},
    {"kexec_file_load", EPERM},
    {"init_module", EPERM},
    {"finit_module", EPERM},
    {"delete_module", EPERM},
    {"create_module", EPERM},
    {"reboot", EPERM},
    {"swapon", EPERM},
    {"swapoff", EPERM},
    {"quotactl", EPERM},
    {"quotactl_fd", EPERM},
    {"acct", EPERM},
    {"syslog", EPERM},
    {"settimeofday", EPERM},
    {"clock_settime", EPERM},
    {"iopl", EPERM},
    {"ioperm", EPERM},
    {"vhangup", EPERM},
    {"nfsservctl", EPERM},
    {"lookup_dcookie", EPERM},
    {"uselib", ENOSYS},
    /* Its mode is passed by pointer (see deny_set_user_id); programs then take openat. */
    {"openat2", ENOSYS},
};

static const uint64_t namespace_flags[] = {
    CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
    CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWTIME,
};

/* Both push characters into a terminal's input, where the user's shell would read them. */
static const uint64_t terminal_requests[] = {TIOCSTI, TIOCLINUX};

/* Flags of files. */
static const uint64_t flag_requests[] = {FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION};

/* What the kernel got later than these nobody here has judged. */
#define FIRST_UNJUDGED_CALL 470
#define LAST_UNJUDGED_CALL  511

/** Programs take such an answer for an older kernel's. */
static int deny_unjudged_calls(scmp_filter_ctx filter)
{
    int r = 0;
    for (int number = FIRST_UNJUDGED_CALL; r == 0 && number <= LAST_UNJUDGED_CALL; number++) {
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
    }
    return r;
}

static int deny_calls(scmp_filter_ctx filter, const struct denied_syscall *list, size_t count)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        int number = system_call_number(list[i].name);
        if (number != __NR_SCMP_ERROR && number >= 0) {
            r = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)list[i].error), number, 0);
        }
    }
    return r;
}

/** Deny a call whose argument `index` compares so. */
static int deny_if(scmp_filter_ctx filter, int error, int number, struct scmp_arg_cmp condition)
{
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint32_t)error), number, 1, &condition);
}

static int deny_namespaces(scmp_filter_ctx filter)
{
    int r = 0;
    size_t count = sizeof(namespace_flags) / sizeof(namespace_flags[0]);
    for (size_t i = 0; r == 0 && i < count; i++) {
        const struct scmp_arg_cmp has_flag = {
            .arg = 0,
            .op = SCMP_CMP_MASKED_EQ,
            .datum_a = namespace_flags[i],
            .datum_b = namespace_flags[i],
        };
        r = deny_if(filter, EPERM, SCMP_SYS(unshare), has_flag);
        /* In clone's flags the bit of CLONE_NEWTIME belongs to the exit signal. */
        if (r == 0 && namespace_flags[i] != CLONE_NEWTIME) {
            r = deny_if(filter, EPERM, SCMP_SYS(clone), has_flag);
        }
    }
    return r;
}

/** The kernel looks at the lower half of the argument only, so the upper half must not matter. */
static int deny_request(scmp_filter_ctx filter, uint64_t request, int error)
{
    const struct scmp_arg_cmp is_request = {
        .arg = 1,
        .op = SCMP_CMP_MASKED_EQ,
        .datum_a = UINT64_C(0xFFFFFFFF),
        .datum_b = request,
    };
    return deny_if(filter, error, SCMP_SYS(ioctl), is_request);
}

static int deny_terminal_input(scmp_filter_ctx filter)
{
    int r = 0;
    size_t count = sizeof(terminal_requests) / sizeof(terminal_requests[0]);
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = deny_request(filter, terminal_requests[i], EPERM);
    }
    return r;
}

/*
 * Calls that could give a file the mode bit by which others run it with the user's rights. Without
 * a flag that creates a file the mode of an open means nothing, and may be anything.
 */
static const struct {
    const char *name;
    unsigned mode;
    unsigned flags; /* argument with flags, of which one of `needed` must be there */
    uint64_t needed[2];
} mode_calls[] = {
    {"chmod", 1, 0, {0}},
    {"fchmod", 1, 0, {0}},
    {"fchmodat", 2, 0, {0}},
    {"fchmodat2", 2, 0, {0}},
    {"mknod", 1, 0, {0}},
    {"mknodat", 2, 0, {0}},
    {"creat", 1, 0, {0}},
    {"open", 2, 1, {O_CREAT, O_TMPFILE & ~O_DIRECTORY}},
    {"openat", 3, 2, {O_CREAT, O_TMPFILE & ~O_DIRECTORY}},
};

/** Where the supervisor gets the calls of its own, it looks at the mode itself. */
static bool is_notified(const struct sandbox_policy *policy, const char *name)
{
    size_t count = 1;
    for (size_t i = 0; policy->tier == SANDBOX_LANDLOCK && i < count; i++) {
        if (strcmp(sandbox_attribute_call(i, &count), name) == 0) {
            return true;
        }
    }
    return false;
}

/** @param index of the call */
static int deny_mode(scmp_filter_ctx filter, size_t index, int number)
{
    struct scmp_arg_cmp conditions[2] = {
        {.arg = mode_calls[index].mode,
         .op = SCMP_CMP_MASKED_EQ,
         .datum_a = S_ISUID,
         .datum_b = S_ISUID},
        {.arg = mode_calls[index].flags, .op = SCMP_CMP_MASKED_EQ},
    };
    if (mode_calls[index].needed[0] == 0) {
        return deny_if(filter, EPERM, number, conditions[0]);
    }
    int r = 0;
    for (size_t i = 0; r == 0 && i < 2; i++) {
        conditions[1].datum_a = conditions[1].datum_b = mode_calls[index].needed[i];
        r = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), number, 2, conditions);
    }
    return r;
}

static int deny_set_user_id(scmp_filter_ctx filter, const struct sandbox_policy *policy)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(mode_calls) / sizeof(mode_calls[0]); i++) {
        int number = system_call_number(mode_calls[i].name);
        if (number >= 0 && !is_notified(policy, mode_calls[i].name)) {
            r = deny_mode(filter, i, number);
        }
    }
    return r;
}

/**
 * Kinds of sockets. A network namespace contains the ordinary ones; the others (AF_VSOCK, AF_ALG,
 * AF_PACKET, ...) it does not, or they are mere risk. Without a namespace nothing else stops a
 * socket: there AF_UNIX falls too, for Landlock does not guard the path of a socket, and a service
 * listening on one (a container engine, for instance) could do everything. socketpair stays.
 */
static bool is_family_allowed(const struct sandbox_policy *policy, int family)
{
    bool has_namespace = policy->tier == SANDBOX_NAMESPACE;
    switch (family) {
    case AF_UNIX:
        return has_namespace;
    case AF_INET:
    case AF_INET6:
    case AF_NETLINK:
        return has_namespace || policy->allow_network;
    default:
        return false;
    }
}

static int deny_sockets(scmp_filter_ctx filter, const struct sandbox_policy *policy)
{
    struct scmp_arg_cmp condition = {.arg = 0, .op = SCMP_CMP_EQ};
    int r = 0;
    for (int family = 0; r == 0 && family <= AF_NETLINK; family++) {
        if (!is_family_allowed(policy, family)) {
            condition.datum_a = (uint64_t)family;
            r = deny_if(filter, EACCES, SCMP_SYS(socket), condition);
        }
    }
    condition.op = SCMP_CMP_GT;
    condition.datum_a = AF_NETLINK;
    return r == 0 ? deny_if(filter, EACCES, SCMP_SYS(socket), condition) : r;
}

/* --- without namespaces --- */

/*
 * Landlock guards files, signals and processes' memory, nothing of this: other processes of the
 * user could be limited to death, slowed down, or talked to through System V and POSIX queues.
 */
static const struct denied_syscall denials_without_namespaces[] = {
    {"shmget", ENOSYS},          {"shmat", ENOSYS},          {"shmctl", ENOSYS},
    {"shmdt", ENOSYS},           {"semget", ENOSYS},         {"semop", ENOSYS},
    {"semctl", ENOSYS},          {"semtimedop", ENOSYS},     {"msgget", ENOSYS},
    {"msgsnd", ENOSYS},          {"msgrcv", ENOSYS},         {"msgctl", ENOSYS},
    {"mq_open", ENOSYS},         {"mq_unlink", ENOSYS},      {"kcmp", EPERM},
    {"process_vm_readv", EPERM}, {"migrate_pages", EPERM},   {"process_vm_writev", EPERM},
    {"pidfd_getfd", EPERM},      {"process_madvise", EPERM}, {"process_mrelease", EPERM},
    {"fanotify_init", EPERM},
};

/* Calls that change a process, allowed where this argument says that it is oneself. */
static const struct {
    const char *name;
    unsigned argument;
    uint64_t oneself;
} for_oneself[] = {
    {"setpriority", 0, 0 /* PRIO_PROCESS */},
    {"setpriority", 1, 0},
    {"ioprio_set", 0, 1 /* IOPRIO_WHO_PROCESS */},
    {"ioprio_set", 1, 0},
    {"sched_setaffinity", 0, 0},
    {"sched_setscheduler", 0, 0},
    {"sched_setparam", 0, 0},
    {"sched_setattr", 0, 0},
    {"move_pages", 0, 0},
};

static int deny_changes_of_others(scmp_filter_ctx filter)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(for_oneself) / sizeof(for_oneself[0]); i++) {
        const struct scmp_arg_cmp is_other = {
            .arg = for_oneself[i].argument,
            .op = SCMP_CMP_NE,
            .datum_a = for_oneself[i].oneself,
        };
        int number = system_call_number(for_oneself[i].name);
        r = number < 0 ? 0 : deny_if(filter, EPERM, number, is_other);
    }
    /* Limits of others may be read. */
    const struct scmp_arg_cmp sets_limit_of_other[] = {
        {.arg = 0, .op = SCMP_CMP_NE, .datum_a = 0},
        {.arg = 2, .op = SCMP_CMP_NE, .datum_a = 0},
    };
    return r == 0 ? seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 2,
                                           sets_limit_of_other)
                  : r;
}

/** The limit that is not used by the kernel is the mark of a command (os/sandbox/record.h). */
static int keep_mark(scmp_filter_ctx filter)
{
    /* The kernel looks at 32 bits of it. */
    const struct scmp_arg_cmp is_mark = {
        .arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = UINT32_MAX, .datum_b = RLIMIT_LOCKS};
    const struct scmp_arg_cmp sets_mark[] = {
        {.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = UINT32_MAX, .datum_b = RLIMIT_LOCKS},
        {.arg = 2, .op = SCMP_CMP_NE, .datum_a = 0},
    };
    int r = deny_if(filter, EPERM, SCMP_SYS(setrlimit), is_mark);
    return r == 0 ? seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 2,
                                           sets_mark)
                  : r;
}

/**
 * A pair of datagram sockets could send to any socket of the machine by its address. The kernel
 * takes SOCK_RAW for the same kind.
 */
static int deny_datagram_pairs(scmp_filter_ctx filter)
{
    static const uint64_t kinds[] = {SOCK_DGRAM, SOCK_RAW};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct scmp_arg_cmp is_kind = {
            .arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = 0xF, .datum_b = kinds[i]};
        r = deny_if(filter, EACCES, SCMP_SYS(socketpair), is_kind);
    }
    return r;
}

/* Attributes that few programs set, and that none depends on. */
static const struct denied_syscall attribute_denials[] = {
    {"setxattr", EOPNOTSUPP},    {"lsetxattr", EOPNOTSUPP},     {"fsetxattr", EOPNOTSUPP},
    {"removexattr", EOPNOTSUPP}, {"lremovexattr", EOPNOTSUPP},  {"fremovexattr", EOPNOTSUPP},
    {"setxattrat", EOPNOTSUPP},  {"removexattrat", EOPNOTSUPP}, {"file_setattr", EOPNOTSUPP},
};

/** Hand changes of modes, owners and times to the supervisor, or deny them. */
static int guard_attributes(scmp_filter_ctx filter, bool has_supervisor)
{
    const uint32_t action = has_supervisor ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);
    size_t count = 1;
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        int number = system_call_number(sandbox_attribute_call(i, &count));
        r = number < 0 ? 0 : seccomp_rule_add(filter, action, number, 0);
    }
    return r;
}

static int deny_without_namespaces(scmp_filter_ctx filter, bool has_supervisor)
{
    int r = deny_calls(filter, denials_without_namespaces,
                       sizeof(denials_without_namespaces) / sizeof(struct denied_syscall));
    if (r == 0) {
        r = deny_changes_of_others(filter);
    }
    if (r == 0) {
        r = deny_calls(filter, attribute_denials,
                       sizeof(attribute_denials) / sizeof(struct denied_syscall));
    }
    for (size_t i = 0; r == 0 && i < sizeof(flag_requests) / sizeof(flag_requests[0]); i++) {
        r = deny_request(filter, flag_requests[i], ENOTTY);
    }
    if (r == 0) {
        r = guard_attributes(filter, has_supervisor);
    }
    return r == 0 ? deny_datagram_pairs(filter) : r;
}

/** System calls of another word size have other numbers; libseccomp kills the caller. */
static int build(scmp_filter_ctx filter, const struct sandbox_policy *policy, bool has_supervisor)
{
    int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r == 0) {
        r = deny_calls(filter, denials, sizeof(denials) / sizeof(denials[0]));
    }
    if (r == 0) {
        r = deny_unjudged_calls(filter);
    }
    if (r == 0) {
        r = deny_namespaces(filter);
    }
    if (r == 0) {
        r = deny_terminal_input(filter);
    }
    if (r == 0) {
        r = deny_sockets(filter, policy);
    }
    if (r == 0) {
        r = deny_set_user_id(filter, policy);
    }
    if (r == 0) {
        r = keep_mark(filter);
    }
    if (r == 0 && policy->tier == SANDBOX_LANDLOCK) {
        r = deny_without_namespaces(filter, has_supervisor);
    }
    return r;
}

/** Write the filter to `fd`; with -1 load it. */
static int with_filter(const struct sandbox_policy *policy, int fd, int *ret_listener_fd,
                       struct rondo_error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == NULL) {
        return error_set(err, RONDO_ERR_SYSTEM, "cannot begin a seccomp filter");
    }
    int r = build(filter, policy, ret_listener_fd != NULL);
    if (r == 0) {
        r = fd >= 0 ? seccomp_export_bpf(filter, fd) : seccomp_load(filter);
    }
    if (r == 0 && ret_listener_fd != NULL) {
        *ret_listener_fd = seccomp_notify_fd(filter);
        r = *ret_listener_fd < 0 ? *ret_listener_fd : 0;
    }
    seccomp_release(filter);
    return r == 0 ? 0 : error_set_errno(err, RONDO_ERR_SYSTEM, -r, "cannot set up seccomp");
}

/* Making it takes 0.2 ms, which every command would wait for. */
static pthread_mutex_t made_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct buf made;

/** Make the program in `fd`, and keep it. */
static int make(int fd, struct rondo_error *err)
{
    static const struct sandbox_policy policy = {.tier = SANDBOX_NAMESPACE};
    int r = with_filter(&policy, fd, NULL, err);
    off_t len = r < 0 ? 0 : lseek(fd, 0, SEEK_CUR);
    auto_free char *bytes = len > 0 ? memory_new((size_t)len) : NULL;
    if (bytes != NULL && pread(fd, bytes, (size_t)len, 0) == len) {
        buf_append(&made, bytes, (size_t)len);
    }
    return r;
}

int sandbox_filter_write(int fd, struct rondo_error *err)
{
    int r = 0;
    pthread_mutex_lock(&made_mutex);
    if (made.len == 0) {
        r = make(fd, err);
    } else if (file_write_all(fd, made.data, made.len) != 0) {
        r = error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot set up seccomp");
    }
    pthread_mutex_unlock(&made_mutex);
    return r;
}

int sandbox_filter_load(const struct sandbox_policy *policy, int *ret_listener_fd,
                        struct rondo_error *err)
{
    return with_filter(policy, -1, ret_listener_fd, err);
}
