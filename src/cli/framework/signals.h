// SPDX-License-Identifier: Apache-2.0
/*
 * Signals while a loop is executed. INT, TERM and HUP ask it to stop after a final checkpoint; a
 * second one ends the process at once. The only state of the program that is global lives in
 * signals.c, because a handler has no other way to reach the loop.
 */
#pragma once

#include <stdbool.h>

struct loop;

/** Install the handlers for `loop`; one loop at a time. */
void signals_begin(struct loop *loop);

/**
 * A conversation: while an answer is made, the first INT ends the answer only.
 * @param answer its token, or NULL when none is made
 */
struct cancel;
void signals_answering(struct cancel *answer);

/** Restore the former handlers. */
void signals_end(void);

/** Whether a signal has asked to stop since signals_begin. Any thread. */
bool signals_want_stop(void);

/** Whether handlers must make the cursor visible before they end or stop the process. */
void signals_guard_terminal(bool is_live);

/**
 * For all commands: a closed pipe, or a file at the limit of file sizes (ulimit -f), is an error of
 * write(2), not the end of the process. Children get the default actions again (os/spawn_child).
 */
void signals_ignore_failed_writes(void);
