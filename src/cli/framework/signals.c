// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers call nothing but async-signal-safe functions: loop_stop (an atomic and a write to an
 * eventfd), write, raise, _exit.
 */
#include "cli/framework/signals.h"

#include "cli/framework/exit_codes.h"
#include "cli/terminal/terminal.h"
#include "loop/driver/driver.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic(struct loop *) signalled_loop;
static _Atomic(struct cancel *) answer_cancel;
static atomic_int stop_count;
static atomic_bool is_terminal_live;

static void put(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void restore_terminal(void)
{
    if (atomic_load(&is_terminal_live)) {
        put(TERMINAL_RESTORE);
    }
}

static void on_stop(int number)
{
    int saved_errno = errno;
    struct loop *loop = atomic_load(&signalled_loop);
    struct cancel *answer = atomic_load(&answer_cancel);
    bool is_first = answer != NULL && !cancel_is_set(answer);
    if (answer != NULL) {
        cancel_set(answer, CANCEL_GRACEFUL);
    }
    if (is_first && number == SIGINT) {
        errno = saved_errno;
        return;
    }
    if (atomic_fetch_add(&stop_count, 1) == 0) {
        if (loop != NULL) {
            loop_stop(loop, CANCEL_GRACEFUL);
        }
    } else {
        if (loop != NULL) {
            loop_stop(loop, CANCEL_NOW);
        }
        restore_terminal();
        put("\nrondo: stopped at once by a second signal; `rondo resume` continues from the last "
            "checkpoint\n");
        _exit(EXIT_ABORTED);
    }
    errno = saved_errno;
}

/** Let the default action follow, with the cursor in sight. */
static void on_default(int number)
{
    int saved_errno = errno;
    restore_terminal();
    struct sigaction own, standard = {.sa_handler = SIG_DFL};
    sigset_t set, former;
    sigaction(number, &standard, &own);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, &former); /* The default action happens here. */
    sigprocmask(SIG_SETMASK, &former, NULL); /* Only a stopped process gets this far. */
    sigaction(number, &own, NULL);
    errno = saved_errno;
}

static const struct {
    int number;
    void (*handler)(int);
} handlers[] = {
    {SIGINT, on_stop},     {SIGTERM, on_stop},    {SIGHUP, on_stop},     {SIGTSTP, on_default},
    {SIGQUIT, on_default}, {SIGABRT, on_default}, {SIGSEGV, on_default}, {SIGBUS, on_default},
};
#define HANDLER_COUNT (sizeof(handlers) / sizeof(handlers[0]))

static struct sigaction former_actions[HANDLER_COUNT];

void signals_begin(struct loop *loop)
{
    atomic_store(&stop_count, 0);
    atomic_store(&signalled_loop, loop);
    for (size_t i = 0; i < HANDLER_COUNT; i++) {
        struct sigaction action = {.sa_handler = handlers[i].handler, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(handlers[i].number, &action, &former_actions[i]);
        bool was_ignored = former_actions[i].sa_handler == SIG_IGN;
        if (was_ignored) { /* nohup and shells' background jobs */
            sigaction(handlers[i].number, &former_actions[i], NULL);
        }
    }
}

void signals_answering(struct cancel *answer)
{
    atomic_store(&answer_cancel, answer);
}

void signals_end(void)
{
    for (size_t i = 0; i < HANDLER_COUNT; i++) {
        sigaction(handlers[i].number, &former_actions[i], NULL);
    }
    atomic_store(&signalled_loop, NULL);
    atomic_store(&is_terminal_live, false);
}

bool signals_want_stop(void)
{
    return atomic_load(&stop_count) > 0;
}

void signals_guard_terminal(bool is_live)
{
    atomic_store(&is_terminal_live, is_live);
}

void signals_ignore_failed_writes(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}
