// SPDX-License-Identifier: Apache-2.0
/*
 * Answers to seccomp's notifications (seccomp_unotify(2)). A file is judged by the path of the
 * descriptor that was opened for the call, so that no link or rename comes in between; a command
 * cannot bring a file from outside below what it may write. The supervisor may have rights that the
 * command lacks, so files of others are refused here.
 */
#include "os/sandbox/attributes.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/path.h"
#include "os/sandbox/confine_orders.h"
#include "os/sandbox/paths.h"
#include "os/sandbox/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#define NO_ARGUMENT (-1)

enum attribute_change {
    CHANGE_MODE,
    CHANGE_OWNER,
    CHANGE_TIMES_UTIME,
    CHANGE_TIMES_TIMEVAL,
    CHANGE_TIMES
};

/* Where a call has its arguments. Without `path` the file is the descriptor in `folder`. */
struct attribute_call {
    const char *name;
    enum attribute_change change;
    int folder;
    int path;
    int value; /* mode, times, or the first of two ids */
    int flags;
    bool follows;
};

static const struct attribute_call calls[] = {
    {"chmod", CHANGE_MODE, NO_ARGUMENT, 0, 1, NO_ARGUMENT, true},
    {"fchmod", CHANGE_MODE, 0, NO_ARGUMENT, 1, NO_ARGUMENT, true},
    {"fchmodat", CHANGE_MODE, 0, 1, 2, NO_ARGUMENT, true},
    {"fchmodat2", CHANGE_MODE, 0, 1, 2, 3, true},
    {"chown", CHANGE_OWNER, NO_ARGUMENT, 0, 1, NO_ARGUMENT, true},
    {"lchown", CHANGE_OWNER, NO_ARGUMENT, 0, 1, NO_ARGUMENT, false},
    {"fchown", CHANGE_OWNER, 0, NO_ARGUMENT, 1, NO_ARGUMENT, true},
    {"fchownat", CHANGE_OWNER, 0, 1, 2, 4, true},
    {"utime", CHANGE_TIMES_UTIME, NO_ARGUMENT, 0, 1, NO_ARGUMENT, true},
    {"utimes", CHANGE_TIMES_TIMEVAL, NO_ARGUMENT, 0, 1, NO_ARGUMENT, true},
    {"futimesat", CHANGE_TIMES_TIMEVAL, 0, 1, 2, NO_ARGUMENT, true},
    {"utimensat", CHANGE_TIMES, 0, 1, 2, 3, true},
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

struct sandbox_attributes {
    struct buf orders;
    int helper_fd;
    int listener_fd; /* owned; -1 until it arrives */
    bool has_ended;
    struct seccomp_notif *request; /* owned by libseccomp */
    struct seccomp_notif_resp *answer;
    int numbers[CALLS];
};

const char *sandbox_attribute_call(size_t index, size_t *ret_count)
{
    *ret_count = CALLS;
    return index < CALLS ? calls[index].name : NULL;
}

/* --- what the command may write --- */

static bool is_writable_path(const struct sandbox_attributes *self, const char *path)
{
    const char *end = self->orders.data + self->orders.len;
    for (const char *order = self->orders.data; order < end; order += strlen(order) + 1) {
        uint64_t device;
        uint64_t inode;
        int at = 0;
        if (order[0] == CONFINE_WRITE &&
            sscanf(order + 1, CONFINE_RULE_SCAN, &device, &inode, &at) == 2 && at > 0) {
            const char *writable = order + 1 + at;
            if (strcmp(path, writable) == 0 || path_is_below(path, writable)) {
                return true;
            }
        }
    }
    return false;
}

/** @return 0, or the error number for the command */
static int judge(const struct sandbox_attributes *self, int fd)
{
    char link[64];
    char path[PATH_MAX];
    struct stat status;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    if (len <= 0 || fstat(fd, &status) != 0) {
        return EACCES;
    }
    path[len] = '\0';
    if (!is_writable_path(self, path)) {
        return EACCES;
    }
    return status.st_uid == geteuid() ? 0 : EPERM;
}

/* --- what a call names --- */

/** Read from the command's memory. @return whether all of it came */
static bool read_memory(const struct seccomp_notif *request, uint64_t address, void *bytes,
                        size_t len)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/mem", request->pid);
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && address <= INT64_MAX && pread(fd, bytes, len, (off_t)address) == (ssize_t)len;
}

/** Read a path; a page at a time, since the next one may not be there. */
static bool read_path(const struct seccomp_notif *request, uint64_t address, char path[PATH_MAX])
{
    size_t have = 0;
    while (have < PATH_MAX) {
        size_t page = 4096 - (size_t)((address + have) % 4096);
        size_t len = page < PATH_MAX - have ? page : PATH_MAX - have;
        if (!read_memory(request, address + have, path + have, len)) {
            return false;
        }
        if (memchr(path + have, '\0', len) != NULL) {
            return true;
        }
        have += len;
    }
    return false;
}

/** Open a descriptor of the command, or its working folder. */
static int open_folder(const struct seccomp_notif *request, const struct attribute_call *call)
{
    char path[64];
    int number = call->folder == NO_ARGUMENT ? AT_FDCWD : (int)request->data.args[call->folder];
    if (number == AT_FDCWD) {
        snprintf(path, sizeof(path), "/proc/%u/cwd", request->pid);
    } else {
        snprintf(path, sizeof(path), "/proc/%u/fd/%d", request->pid, number);
    }
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        errno = EBADF;
    }
    return fd;
}

/** /proc/self is the supervisor here; the command means itself. */
static void set_self(const struct seccomp_notif *request, char path[PATH_MAX])
{
    static const char *const own[] = {"/proc/self/", "/proc/thread-self/", "/dev/fd/"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        size_t len = strlen(own[i]);
        if (strncmp(path, own[i], len) == 0) {
            char rest[PATH_MAX];
            snprintf(rest, sizeof(rest), "%s", path + len);
            snprintf(path, PATH_MAX, "/proc/%u/%s%.4000s", request->pid, i == 2 ? "fd/" : "", rest);
            return;
        }
    }
}

static int flags_of(const struct seccomp_notif *request, const struct attribute_call *call)
{
    int flags = call->flags == NO_ARGUMENT ? 0 : (int)request->data.args[call->flags];
    return call->follows ? flags : flags | AT_SYMLINK_NOFOLLOW;
}

/** @return descriptor (O_PATH), owned; or -1 with errno for the command */
static int open_target(const struct seccomp_notif *request, const struct attribute_call *call)
{
    char path[PATH_MAX];
    uint64_t address = call->path == NO_ARGUMENT ? 0 : request->data.args[call->path];
    int flags = flags_of(request, call);
    if (address == 0) {
        return open_folder(request, call);
    }
    if (!read_path(request, address, path)) {
        errno = EFAULT;
        return -1;
    }
    if (path[0] == '\0') {
        if ((flags & AT_EMPTY_PATH) != 0) {
            return open_folder(request, call);
        }
        errno = ENOENT;
        return -1;
    }
    set_self(request, path);
    int how = O_PATH | O_CLOEXEC | ((flags & AT_SYMLINK_NOFOLLOW) != 0 ? O_NOFOLLOW : 0);
    if (path[0] == '/') {
        return open(path, how);
    }
    auto_close int folder = open_folder(request, call);
    return folder < 0 ? -1 : openat(folder, path, how);
}

/* --- the change --- */

static int change_mode(int fd, mode_t mode)
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if ((mode & S_ISUID) != 0) {
        errno = EPERM;
        return -1;
    }
    return chmod(link, mode & 07777);
}

/** Only what changes nothing, or is a group of the user: the supervisor might be allowed more. */
static int change_owner(int fd, uid_t user, gid_t group)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return -1;
    }
    bool keeps_user = user == (uid_t)-1 || user == status.st_uid;
    bool keeps_group = group == (gid_t)-1 || group == status.st_gid;
    if (!keeps_user || (!keeps_group && geteuid() == 0)) {
        errno = EPERM;
        return -1;
    }
    return fchownat(fd, "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

/** @return whether the times could be read; `*ret_is_now` when there are none */
static bool read_times(const struct seccomp_notif *request, const struct attribute_call *call,
                       struct timespec times[2], bool *ret_is_now)
{
    uint64_t address = request->data.args[call->value];
    struct timeval values[2];
    struct utimbuf old;
    *ret_is_now = address == 0;
    if (address == 0) {
        return true;
    }
    if (call->change == CHANGE_TIMES) {
        return read_memory(request, address, times, 2 * sizeof(*times));
    }
    if (call->change == CHANGE_TIMES_UTIME) {
        bool is_read = read_memory(request, address, &old, sizeof(old));
        times[0] = (struct timespec){.tv_sec = old.actime};
        times[1] = (struct timespec){.tv_sec = old.modtime};
        return is_read;
    }
    bool is_read = read_memory(request, address, values, sizeof(values));
    for (size_t i = 0; is_read && i < 2; i++) {
        times[i] = (struct timespec){values[i].tv_sec, values[i].tv_usec * 1000};
    }
    return is_read;
}

static int change_times(int fd, const struct seccomp_notif *request,
                        const struct attribute_call *call)
{
    struct timespec times[2] = {{0}, {0}};
    bool is_now;
    if (!read_times(request, call, times, &is_now)) {
        errno = EFAULT;
        return -1;
    }
    return utimensat(fd, "", is_now ? NULL : times, AT_EMPTY_PATH);
}

/** @return 0, or the error number for the command */
static int carry_out(const struct sandbox_attributes *self, const struct attribute_call *call)
{
    const struct seccomp_notif *request = self->request;
    const __u64 *value = request->data.args + call->value;
    auto_close int fd = open_target(request, call);
    if (fd < 0) {
        return errno;
    }
    /* A number that was given to another process meanwhile has led to another file. */
    if (seccomp_notify_id_valid(self->listener_fd, request->id) != 0) {
        return ESRCH;
    }
    int refusal = judge(self, fd);
    if (refusal != 0) {
        return refusal;
    }
    int r = -1;
    switch (call->change) {
    case CHANGE_MODE:
        r = change_mode(fd, (mode_t)value[0]);
        break;
    case CHANGE_OWNER:
        r = change_owner(fd, (uid_t)value[0], (gid_t)value[1]);
        break;
    case CHANGE_TIMES_UTIME:
    case CHANGE_TIMES_TIMEVAL:
    case CHANGE_TIMES:
        r = change_times(fd, request, call);
        break;
    }
    return r == 0 ? 0 : errno;
}

/* --- the supervisor's side --- */

static void receive_listener(struct sandbox_attributes *self)
{
    char byte;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t got = recvmsg(self->helper_fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *header = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
        memcpy(&self->listener_fd, CMSG_DATA(header), sizeof(int));
    } else if (got >= 0 || errno != EAGAIN) {
        self->has_ended = true;
    }
}

static void reply_to_call(struct sandbox_attributes *self)
{
    int error = ENOSYS;
    for (size_t i = 0; i < CALLS; i++) {
        if (self->numbers[i] == self->request->data.nr) {
            error = carry_out(self, &calls[i]);
        }
    }
    *self->answer = (struct seccomp_notif_resp){.id = self->request->id, .error = -error};
    /* Fails for a process that has ended meanwhile. */
    (void)seccomp_notify_respond(self->listener_fd, self->answer);
}

struct sandbox_attributes *sandbox_attributes_new(int orders_fd, int helper_fd)
{
    struct sandbox_attributes *self = memory_new_zero(1, sizeof(*self));
    struct stat status;
    self->helper_fd = helper_fd;
    self->listener_fd = -1;
    bool is_good = fstat(orders_fd, &status) == 0 && status.st_size > 0;
    if (is_good) {
        char *room = buf_room(&self->orders, (size_t)status.st_size);
        is_good = pread(orders_fd, room, (size_t)status.st_size, 0) == status.st_size;
        buf_grown(&self->orders, (size_t)status.st_size);
    }
    if (!is_good || self->orders.data[self->orders.len - 1] != '\0' ||
        seccomp_notify_alloc(&self->request, &self->answer) != 0) {
        sandbox_attributes_free(self);
        return NULL;
    }
    for (size_t i = 0; i < CALLS; i++) {
        self->numbers[i] = system_call_number(calls[i].name);
    }
    return self;
}

void sandbox_attributes_free(struct sandbox_attributes *self)
{
    if (self == NULL) {
        return;
    }
    seccomp_notify_free(self->request, self->answer);
    if (self->listener_fd >= 0) {
        close(self->listener_fd);
    }
    buf_fini(&self->orders);
    free(self);
}

int sandbox_attributes_poll_fd(const struct sandbox_attributes *self)
{
    if (self->has_ended) {
        return -1;
    }
    return self->listener_fd >= 0 ? self->listener_fd : self->helper_fd;
}

void sandbox_attributes_advance(struct sandbox_attributes *self)
{
    if (self->listener_fd < 0) {
        receive_listener(self);
        return;
    }
    /* The kernel requires it empty. It fails without an entry when its caller was interrupted. */
    *self->request = (struct seccomp_notif){0};
    if (seccomp_notify_receive(self->listener_fd, self->request) == 0) {
        reply_to_call(self);
    }
}

/* --- the command's side --- */

int sandbox_attributes_hand_over(int helper_fd, int listener_fd)
{
    char byte = 0;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &listener_fd, sizeof(int));
    return sendmsg(helper_fd, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}
