/* Runs one program with a deadline; see process.h. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t is_stopped;

static void on_signal(int number)
{
    (void)number;
    is_stopped = 1;
}

void process_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

bool process_is_stopped(void)
{
    return is_stopped != 0;
}

static long now_ms(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int spawn(const char *directory, const char *const argv[], int output, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    int failure =
        posix_spawnp(ret_pid, argv[0], &actions, &attributes, (char *const *)argv, environ);

    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

/* Collects output until the last writer is gone. False when the deadline or a signal came first. */
static bool collect(int fd, struct text *output, long deadline_ms)
{
    char chunk[8192];

    for (;;) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        long left_ms = deadline_ms - now_ms();

        if (left_ms <= 0 || process_is_stopped())
            return false;
        if (poll(&poller, 1, left_ms < 100 ? (int)left_ms : 100) <= 0)
            continue;
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0 && output->len + (size_t)n <= PROCESS_OUTPUT_MAX)
            text_append(output, chunk, (size_t)n);
    }
}

/*
 * Waits for the end of the group's leader without reaping it: as long as it is not reaped its
 * number belongs to nobody else, and the group can be killed by it safely.
 */
static bool await_leader(pid_t pid, long deadline_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (now_ms() < deadline_ms && !process_is_stopped()) {
        siginfo_t info = {0};

        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == pid)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

struct process_result process_run(const char *directory, const char *const argv[], int timeout_ms)
{
    struct process_result result = {0};
    const long deadline_ms = now_ms() + timeout_ms;
    int ends[2];
    pid_t pid = 0;
    int status = 0;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return result;
    int failure = spawn(directory, argv, ends[1], &pid);

    close(ends[1]);
    if (failure != 0) {
        close(ends[0]);
        text_printf(&result.output, "%s: %s\n", argv[0], strerror(failure));
        return result;
    }
    bool is_complete =
        collect(ends[0], &result.output, deadline_ms) && await_leader(pid, deadline_ms);

    close(ends[0]);
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    result.is_finished = is_complete && WIFEXITED(status);
    result.exit_code = result.is_finished ? WEXITSTATUS(status) : -1;
    return result;
}

void process_result_fini(struct process_result *result)
{
    text_fini(&result->output);
}
