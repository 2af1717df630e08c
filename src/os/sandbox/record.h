// SPDX-License-Identifier: Apache-2.0
/*
 * Records of sandboxed commands: files in STATE/commands, one for each command that runs. A record
 * says what the command could change and what was there before (os/sandbox/git.h). Rondo and the
 * supervisor hold a lock on it (flock), so a record that nobody has locked belongs to a command
 * whose Rondo and supervisor were both killed. The next sandboxed command of the user, of whatever
 * run, then does what they could not do: it kills what is left of the command, and disarms what
 * the command left.
 *
 * Processes of a command are found by a mark that they cannot remove: the hard limit RLIMIT_LOCKS,
 * which the kernel does not use, is the number of the record. Children inherit it, nobody can
 * raise a hard limit without a capability, and the sandbox's filter denies lowering it. One owner;
 * one thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct sandbox_record {
    int fd; /**< the locked file; the lock belongs to its open file description; -1 = none */
    uint64_t number;
    char *path; /**< owned; NULL = none */
};

/**
 * Make a record that is still empty.
 * @param record what sandbox_record_end() takes
 * @return whether it was made; else why not is in `ret_reason`
 */
bool sandbox_record_begin(struct sandbox_record *record, char ret_reason[256]);

/** Write what must survive this process and the supervisor (not a power cut), before the command
 * is released. */
bool sandbox_record_write(const struct sandbox_record *record, const struct buf *bytes,
                          char ret_reason[256]);

/** All was done: remove the record. One that was never made is fine. */
void sandbox_record_end(struct sandbox_record *record);

/**
 * Do what is left to do for commands whose Rondo and supervisor were killed.
 * @param ret_notes what was disarmed, for people; one line each
 * @return false when processes of such a command cannot be killed; why is in `ret_reason`
 */
bool sandbox_record_recover(struct buf *ret_notes, char ret_reason[256]);

/**
 * Mark this process, and what it starts, with the number of a record. Inside of another sandbox
 * the outer mark stays.
 */
void sandbox_record_mark(uint64_t number);

/** Kill everything that has the mark of a record. @return false when something cannot be killed */
bool sandbox_record_kill(uint64_t number);
