// SPDX-License-Identifier: Apache-2.0
/*
 * The supervisor's process. It has one thread and one child, the command, which it watches until
 * the command ends, or the caller orders its end, or the caller's end of the lifeline closes. In
 * each case nothing that descends from the command is left when it ends itself. Reparented
 * descendants come to it because it is a child subreaper, so that none can hide.
 */
#include "os/spawn/supervise.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/process/process_tree.h"
#include "os/process/remains.h"
#include "os/process/spawn_child.h"
#include "os/process/spawn_request.h"
#include "os/process/supervise_wire.h"
#include "os/sandbox/attributes.h"
#include "os/sandbox/confine.h"
#include "os/sandbox/git.h"
#include "os/sandbox/landlock.h"
#include "os/sandbox/limits.h"
#include "os/sandbox/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define LIFELINE_FD (CHILD_FIRST_CARRIED)
#define CARRIED_MAX 8
/* flock(2) cannot be waited for together with a descriptor, so it is tried this often. */
#define LOCK_LOOK_NS (20 * NS_PER_MS)
/* How often remains are looked for again while they do not end. */
#define REMAINS_LOOK_MS     10
#define REMAINS_LOOK_MAX_MS 100

struct supervisor {
    const char *lock_path;
    int64_t lock_wait_ns;
    const char *mark; /* entry of the environment of all commands under this lock; "" = none */
    bool takes_over;  /* whether a former supervisor may have been killed */
    int mark_fd;      /* what the command's processes inherit; -1 = nothing */
    bool helps;
    bool scopes_sockets;
    uint64_t record;                       /* number of the command's record; 0 = none */
    int record_fd;                         /* -1 when there is none */
    int helper_fd;                         /* -1 when it does not help */
    struct sandbox_attributes *attributes; /* owned; NULL when it does not help */
    const char *private_folder;            /* of the command, removed at the end; or "" */
    char **groups;                         /* control groups to remove; group_count of them */
    size_t group_count;
    const char *program;
    char **argv;
    int carried[CARRIED_MAX];
    size_t carried_count;
    int children_fd; /* signalfd of SIGCHLD */
    pid_t command;
    bool has_ended;    /* the command is reaped */
    bool is_abandoned; /* the caller is gone */
    bool must_kill;
    struct supervise_status status;
};

static int64_t now_ns(void)
{
    return clock_monotonic(clock_system());
}

static void refuse(struct supervisor *self, const char *what, const char *why)
{
    self->status.outcome = SUPERVISE_NOT_STARTED;
    snprintf(self->status.reason, sizeof(self->status.reason), "%.120s: %.100s", what, why);
}

/* --- arguments --- */

static bool parse_arguments(struct supervisor *self, int argc, char **argv)
{
    int i = 3;
    if (argc < 15) {
        return false;
    }
    self->carried_count = (size_t)strtoul(argv[i++], NULL, 10);
    self->lock_path = argv[i++];
    self->lock_wait_ns = strtoll(argv[i++], NULL, 10);
    self->mark = argv[i++];
    self->takes_over = strcmp(argv[i++], SUPERVISE_TAKES_OVER) == 0;
    self->helps = strcmp(argv[i++], SUPERVISE_HELPS) == 0;
    self->scopes_sockets = strcmp(argv[i++], SUPERVISE_SCOPES) == 0;
    self->record = strtoull(argv[i++], NULL, 10);
    self->private_folder = argv[i++];
    self->groups = argv + i;
    while (i < argc && strcmp(argv[i], "--") != 0) {
        self->group_count++;
        i++;
    }
    if (self->carried_count >= CARRIED_MAX || i + 2 >= argc) {
        return false;
    }
    self->program = argv[i + 1];
    self->argv = argv + i + 2;
    return true;
}

/* --- signals --- */

static bool is_fault(int number)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (faults[i] == number) {
            return true;
        }
    }
    return false;
}

/** What is sent to the command's process group must not end the supervisor before its work. */
static void ignore_signals(void)
{
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (number != SIGCHLD && number != SIGCONT && !is_fault(number)) {
            signal(number, SIG_IGN); /* Refused for KILL, STOP and those that the C library uses. */
        }
    }
}

static bool set_up_help(struct supervisor *self)
{
    if (self->carried_count >= 2) {
        self->helper_fd = self->carried[--self->carried_count];
        self->attributes = sandbox_attributes_new(self->carried[0], self->helper_fd);
    }
    if (self->attributes == NULL) {
        refuse(self, "cannot set up the supervisor", "no orders");
    }
    return self->attributes != NULL;
}

static bool set_up(struct supervisor *self)
{
    ignore_signals();
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    self->children_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->children_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 ||
        fcntl(LIFELINE_FD, F_SETFD, FD_CLOEXEC) != 0) {
        refuse(self, "cannot set up the supervisor", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < self->carried_count; i++) {
        self->carried[i] = fcntl(LIFELINE_FD + 1 + (int)i, F_DUPFD_CLOEXEC, CHILD_LOWEST_FD);
        close(LIFELINE_FD + 1 + (int)i);
    }
    if (self->record != 0 && self->carried_count > 0) {
        self->record_fd = self->carried[--self->carried_count];
    }
    struct rondo_error error;
    if (self->scopes_sockets && landlock_scope_sockets(&error) != 0) {
        refuse(self, "cannot set up the supervisor", error.message);
        return false;
    }
    return !self->helps || set_up_help(self);
}

/* --- the lifeline --- */

static void take_order(struct supervisor *self)
{
    char order;
    ssize_t got = recv(LIFELINE_FD, &order, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        self->is_abandoned = true;
        self->must_kill = true;
    } else if (order == SUPERVISE_KILL) {
        self->must_kill = true;
    }
}

/** Wait for an order or a child's end. */
static void wait_for_event(struct supervisor *self, int timeout_ms)
{
    struct pollfd slots[] = {
        {.fd = self->is_abandoned ? -1 : LIFELINE_FD, .events = POLLIN},
        {.fd = self->children_fd, .events = POLLIN},
        {.fd = self->attributes == NULL ? -1 : sandbox_attributes_poll_fd(self->attributes),
         .events = POLLIN},
    };
    if (poll(slots, 3, timeout_ms) <= 0) {
        return;
    }
    if (slots[0].revents != 0) {
        take_order(self);
    }
    if ((slots[2].revents & POLLIN) != 0) {
        sandbox_attributes_advance(self->attributes);
    } else if (slots[2].revents != 0) {
        /* Nothing is left that could ask. */
        sandbox_attributes_free(self->attributes);
        self->attributes = NULL;
    }
    struct signalfd_siginfo info;
    while (read(self->children_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
    }
}

/* --- the lock --- */

/**
 * Open the file that is locked. A command has a descriptor of it and may change its mode.
 * @return descriptor, or -1 after refusing
 */
static int open_lock(struct supervisor *self)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(self->lock_path, flags, 0600);
    if (fd < 0 && errno == EACCES &&
        fchmodat(AT_FDCWD, self->lock_path, 0600, AT_SYMLINK_NOFOLLOW) == 0) {
        fd = open(self->lock_path, flags, 0600);
    }
    if (fd < 0) {
        refuse(self, self->lock_path, strerror(errno));
    }
    return fd;
}

/** @return false after refusing */
static bool wait_for_lock(struct supervisor *self, int fd, int64_t deadline_ns)
{
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            refuse(self, self->lock_path, strerror(errno));
            return false;
        }
        if (self->must_kill || now_ns() >= deadline_ns) {
            refuse(self, self->lock_path, "processes of a former command still live");
            return false;
        }
        wait_for_event(self, (int)(LOCK_LOOK_NS / NS_PER_MS));
    }
    return true;
}

/**
 * A supervisor holds the lock until nothing of its command lives. If it was killed, the lock is
 * free and its command may live on: then nobody waits for that any more, and it is killed.
 * @return false after refusing
 */
static bool end_former_command(struct supervisor *self, int fd, int64_t deadline_ns)
{
    const char *mark = self->mark[0] == '\0' ? NULL : self->mark;
    if (!self->takes_over && !remains_hold(fd)) {
        return true;
    }
    while (remains_kill(fd, mark) > 0 || remains_hold(fd)) {
        if (self->must_kill || now_ns() >= deadline_ns) {
            refuse(self, self->lock_path, "processes of a former command cannot be killed");
            return false;
        }
        wait_for_event(self, REMAINS_LOOK_MS);
    }
    return true;
}

static bool take_lock(struct supervisor *self)
{
    if (self->lock_path[0] == '\0') {
        return true;
    }
    int64_t deadline_ns = now_ns() + self->lock_wait_ns;
    int fd = open_lock(self);
    if (fd < 0 || !wait_for_lock(self, fd, deadline_ns) ||
        !end_former_command(self, fd, deadline_ns)) {
        return false;
    }
    int mark_fd = remains_mark(self->lock_path);
    if (mark_fd < 0 || (self->mark_fd = fcntl(mark_fd, F_DUPFD_CLOEXEC, CHILD_LOWEST_FD)) < 0) {
        refuse(self, self->lock_path, strerror(errno));
        return false;
    }
    close(mark_fd);
    return true; /* The descriptor stays open until this process ends: it is the lock. */
}

/* --- the command --- */

/** The command alone decides when its streams end. */
static void leave_streams(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++) {
        (void)!dup2(nothing, fd);
    }
    if (nothing > STDERR_FILENO) {
        close(nothing);
    }
}

static bool start_command(struct supervisor *self)
{
    wait_for_event(self, 0);
    if (self->must_kill) {
        refuse(self, self->program, "the caller has gone");
        return false;
    }
    int output_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, CHILD_LOWEST_FD);
    int error_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, CHILD_LOWEST_FD);
    int input_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, CHILD_LOWEST_FD);
    const struct child_setup setup = {
        .program = self->program,
        .argv = (const char *const *)self->argv,
        .envp = (const char *const *)environ,
        .group = getpgrp(),
        .output_fd = output_fd,
        .error_fd = error_fd,
        .input_fd = input_fd,
        .carried = self->carried,
        .carried_count = self->carried_count,
        .mark_fd = self->mark_fd,
    };
    if (self->record != 0) {
        sandbox_record_mark(self->record);
    }
    bool has_all = output_fd >= 0 && error_fd >= 0 && input_fd >= 0;
    int os_errno = has_all ? child_start(&setup, &self->command) : errno;
    if (os_errno != 0) {
        refuse(self, self->program, strerror(os_errno));
        return false;
    }
    close(output_fd);
    close(error_fd);
    close(input_fd);
    if (self->mark_fd >= 0) {
        close(self->mark_fd);
    }
    for (size_t i = 0; i < self->carried_count; i++) {
        close(self->carried[i]);
    }
    leave_streams();
    return true;
}

static void note_end(struct supervisor *self, int wait_status)
{
    self->has_ended = true;
    bool has_exited = WIFEXITED(wait_status);
    self->status.outcome = has_exited ? SUPERVISE_EXITED : SUPERVISE_SIGNALLED;
    self->status.value = has_exited ? WEXITSTATUS(wait_status) : WTERMSIG(wait_status);
}

/** Reap ended children. @return whether any child is left. */
static bool reap(struct supervisor *self)
{
    for (;;) {
        int wait_status;
        pid_t pid = waitpid(-1, &wait_status, WNOHANG);
        if (pid == self->command && pid > 0) {
            note_end(self, wait_status);
        } else if (pid == 0) {
            return true;
        } else if (pid < 0 && errno != EINTR) {
            return false;
        }
    }
}

/**
 * Kill until nothing is left. While the caller waits, this ends at a limit: there are processes
 * that cannot be killed (those of another user, those stuck in the kernel). Without a caller it
 * continues, so that the lock stays held while a process is left. What ends together with the
 * command (bubblewrap's first process inside) is given a moment, because looking through /proc
 * takes longer.
 */
static void kill_remains(struct supervisor *self)
{
    int64_t deadline_ns = now_ns() + SUPERVISE_KILL_WAIT_NS;
    int wait_ms = REMAINS_LOOK_MS;
    if (!self->must_kill && reap(self)) {
        wait_for_event(self, REMAINS_LOOK_MS);
    }
    for (size_t i = 0; i < self->group_count && reap(self); i++) {
        sandbox_group_kill(self->groups[i]);
    }
    while (reap(self)) {
        if (!self->is_abandoned && now_ns() >= deadline_ns) {
            self->status.survivors = 1;
            return;
        }
        process_tree_kill(getpid());
        wait_for_event(self, wait_ms);
        wait_ms = wait_ms < REMAINS_LOOK_MAX_MS ? wait_ms * 2 : REMAINS_LOOK_MAX_MS;
    }
}

static void watch_command(struct supervisor *self)
{
    while (!self->has_ended && !self->must_kill) {
        wait_for_event(self, -1);
        reap(self);
    }
    kill_remains(self);
}

/** What a command left for its user's git is looked at here when the caller cannot do it. */
static void inspect(const struct supervisor *self)
{
    auto_buf struct buf bytes = {0};
    auto_buf struct buf notes = {0};
    char reason[256];
    if (self->record_fd < 0 || lseek(self->record_fd, 0, SEEK_SET) != 0 ||
        file_read_all(self->record_fd, "record", SIZE_MAX, &bytes, NULL) != 0) {
        return;
    }
    struct git_watch *watch = git_watch_restore(&bytes);
    if (watch != NULL) {
        (void)git_watch_end(watch, &notes, reason); /* There is nobody to report to. */
    }
    git_watch_free(watch);
    (void)!ftruncate(self->record_fd, 0); /* It says now that nothing is left to do. */
}

static int supervise_watch(int argc, char **argv)
{
    struct supervisor self = {
        .children_fd = -1, .mark_fd = -1, .record_fd = -1, .helper_fd = -1, .private_folder = ""};
    if (!parse_arguments(&self, argc, argv)) {
        fprintf(stderr, "rondo: %s is for Rondo's own use\n", SUPERVISE_ARGUMENT);
        return 2;
    }
    if (set_up(&self) && take_lock(&self) && start_command(&self)) {
        watch_command(&self);
    }
    for (size_t i = 0; i < self.group_count; i++) {
        rmdir(self.groups[i]);
    }
    /* Where anything of the command lives it stays, as what it is used by. */
    if (self.private_folder[0] != '\0' && self.status.survivors == 0) {
        (void)file_remove_tree(self.private_folder, NULL);
    }
    if (send(LIFELINE_FD, &self.status, sizeof(self.status), MSG_NOSIGNAL) < 0 ||
        self.is_abandoned) {
        inspect(&self);
    }
    return 0;
}

int supervise_main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[2], SUPERVISE_JOB_CONFINE) == 0) {
        return sandbox_confine(argc, argv);
    }
    return supervise_watch(argc, argv);
}
