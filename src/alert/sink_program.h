// SPDX-License-Identifier: Apache-2.0
/*
 * The program of a command sink. It runs as the user and without a sandbox, so it must be the one
 * that somebody added: programs of the system are taken from there, every other program or
 * script that the command line names by its path is pinned by a digest, and what is started is a
 * copy of the bytes that were checked, so that it cannot be exchanged between the check and the
 * start.
 */
#pragma once

#include "alert/sink_read.h"

/** Where programs and interpreters of sinks are looked for: folders of the system. */
#define SINK_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/**
 * Resolve the program of a new command sink, and pin the files of its command line.
 * @return RONDO_ERR_INVALID with the member's name when there is no such program, its path is not
 *         absolute, or it is a script of an interpreter that is not the system's
 */
int sink_program_pin(struct sink *sink, struct rondo_error *err);

/** A command line that is ready to run. sink_program_close() after its end. */
struct sink_program {
    char **argv;
    int *fds; /**< copies of pinned files; ends with -1 */
};

/** Check the pinned files and copy them. RONDO_ERR_DENIED when one is not what was added. */
int sink_program_open(const struct sink *sink, struct sink_program *ret_program,
                      struct rondo_error *err);
void sink_program_close(struct sink_program *program);
