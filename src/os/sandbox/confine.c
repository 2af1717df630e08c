// SPDX-License-Identifier: Apache-2.0
/*
 * Becoming the command. The order matters: join the groups and read the files that the rules will
 * forbid, then limits, then capabilities, Landlock, seccomp, then execve. One thread, in a process
 * of its own, so it may leak what execve or the exit releases.
 */
#include "os/sandbox/confine.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/sandbox/attributes.h"
#include "os/sandbox/filter.h"
#include "os/sandbox/landlock.h"
#include "os/sandbox/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As a shell reports a command that could not be executed. */
#define EXIT_NOT_EXECUTED 126

struct confinement {
    struct buf orders;
    struct sandbox_policy policy;
    struct sandbox_limits limits;
    const char **envp;
    size_t env_count;
    int ruleset_fd;
};

static int read_orders(struct buf *orders, struct rondo_error *err)
{
    char chunk[4096];
    ssize_t got;
    while ((got = read(CONFINE_ORDERS_FD, chunk, sizeof(chunk))) > 0) {
        buf_append(orders, chunk, (size_t)got);
    }
    if (got < 0 || orders->len == 0 || orders->data[orders->len - 1] != '\0') {
        return error_set(err, RONDO_ERR_INVALID, "the sandbox's orders cannot be read");
    }
    return 0;
}

typedef int (*order_function)(struct confinement *self, const char *order, struct rondo_error *err);

static int for_each_order(struct confinement *self, order_function function,
                          struct rondo_error *err)
{
    int r = 0;
    const char *end = self->orders.data + self->orders.len;
    for (const char *order = self->orders.data; r == 0 && order < end; order += strlen(order) + 1) {
        r = function(self, order, err);
    }
    return r;
}

static int take_limits(struct confinement *self, const char *text, struct rondo_error *err)
{
    if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &self->limits.processes,
               &self->limits.file_size_bytes, &self->limits.open_files) != 3) {
        return error_set(err, RONDO_ERR_INVALID, "the sandbox's limits cannot be read");
    }
    return 0;
}

/** First pass: everything but the rules. */
static int prepare_by_order(struct confinement *self, const char *order, struct rondo_error *err)
{
    switch (order[0]) {
    case CONFINE_NETWORK:
        self->policy.allow_network = true;
        return 0;
    case CONFINE_GROUP:
        sandbox_group_join(order + 1, 0);
        return 0;
    case CONFINE_LIMITS:
        return take_limits(self, order + 1, err);
    case CONFINE_ENVIRONMENT:
        self->envp = memory_resize(self->envp, self->env_count + 2, sizeof(*self->envp));
        self->envp[self->env_count++] = order + 1;
        self->envp[self->env_count] = NULL;
        return 0;
    case CONFINE_READ:
    case CONFINE_WRITE:
    case CONFINE_LIST:
    case CONFINE_DEVICE:
        return 0;
    default:
        return error_set(err, RONDO_ERR_INVALID, "the sandbox got an order '%c'", order[0]);
    }
}

static int allow(struct confinement *self, const char *rule, enum landlock_access access,
                 struct rondo_error *err)
{
    struct landlock_target target = {0};
    int path_at = 0;
    if (sscanf(rule, CONFINE_RULE_SCAN, &target.device, &target.inode, &path_at) != 2 ||
        path_at == 0) {
        return error_set(err, RONDO_ERR_INVALID, "the sandbox got a broken rule");
    }
    target.path = rule + path_at;
    return landlock_allow(self->ruleset_fd, &target, access, err);
}

/** Second pass: the rules. */
static int allow_by_order(struct confinement *self, const char *order, struct rondo_error *err)
{
    static const struct {
        char letter;
        enum landlock_access access;
    } table[] = {
        {CONFINE_READ, LANDLOCK_READ},
        {CONFINE_WRITE, LANDLOCK_WRITE},
        {CONFINE_LIST, LANDLOCK_LIST},
        {CONFINE_DEVICE, LANDLOCK_DEVICE},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].letter == order[0]) {
            return allow(self, order + 1, table[i].access, err);
        }
    }
    return 0;
}

/**
 * Drop every capability for good. Landlock restrains root, but some kernel interfaces ask for a
 * capability instead (the memory of other processes, for instance).
 */
static int drop_capabilities(struct rondo_error *err)
{
    /* Fails for one that the kernel does not have, and for a process without the right: it has
     * none. */
    for (unsigned long capability = 0; capability < 64; capability++) {
        (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capset, &header, none) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot drop capabilities");
    }
    return 0;
}

static int restrict_self(struct confinement *self, struct rondo_error *err)
{
    int r = read_orders(&self->orders, err);
    if (r == 0) {
        r = for_each_order(self, prepare_by_order, err);
    }
    if (r == 0 && sandbox_limits_apply(&self->limits, 0, true) != 0) {
        r = error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot limit the sandbox");
    }
    if (r == 0) {
        r = drop_capabilities(err);
    }
    if (r == 0) {
        r = landlock_begin(!self->policy.allow_network, &self->ruleset_fd, err);
    }
    if (r == 0) {
        r = for_each_order(self, allow_by_order, err);
    }
    if (r == 0) {
        r = landlock_enforce(self->ruleset_fd, err);
    }
    int listener_fd = -1;
    if (r == 0) {
        r = sandbox_filter_load(&self->policy, &listener_fd, err);
    }
    if (r == 0 && sandbox_attributes_hand_over(CONFINE_HELPER_FD, listener_fd) != 0) {
        r = error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot reach the supervisor");
    }
    if (listener_fd >= 0) {
        close(listener_fd);
    }
    return r;
}

static int report_failure(const struct rondo_error *error)
{
    size_t len = strlen(error->message);
    return write(CONFINE_REPORT_FD, error->message, len) == (ssize_t)len ? EXIT_NOT_EXECUTED : 1;
}

int sandbox_confine(int argc, char **argv)
{
    struct rondo_error error = {0};
    struct confinement self = {.policy.tier = SANDBOX_LANDLOCK, .ruleset_fd = -1};
    static const char *const no_environment[] = {NULL};
    fcntl(CONFINE_ORDERS_FD, F_SETFD, FD_CLOEXEC);
    fcntl(CONFINE_REPORT_FD, F_SETFD, FD_CLOEXEC);
    fcntl(CONFINE_HELPER_FD, F_SETFD, FD_CLOEXEC);
    if (argc < 5) {
        return EXIT_NOT_EXECUTED;
    }
    /* The command itself ends with its supervisor, by whatever that was killed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (restrict_self(&self, &error) == 0) {
        const char *const *envp = self.envp == NULL ? no_environment : self.envp;
        execve(argv[3], argv + 4, (char *const *)envp);
        error_set_errno(&error, RONDO_ERR_SYSTEM, errno, "%s", argv[3]);
    }
    return report_failure(&error);
}
