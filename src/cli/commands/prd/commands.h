// SPDX-License-Identifier: Apache-2.0
/* The commands of the group `rondo prd`, and what they share. */
#pragma once

#include "base/buf.h"
#include "cli/framework/command.h"
#include "prd/findings.h"
#include "prd/prd.h"

int cmd_prd_archive(const struct invocation *invocation);
int cmd_prd_check(const struct invocation *invocation);
int cmd_prd_convert(const struct invocation *invocation);
int cmd_prd_run(const struct invocation *invocation); /* commands/run/prd_run.c */
int cmd_prd_status(const struct invocation *invocation);

extern const struct option_row prd_archive_options[];
extern const struct option_row prd_check_options[];
extern const struct option_row prd_convert_options[];
extern const struct option_row prd_run_options[];
extern const struct option_row prd_status_options[];

/** Whether a file is a prd.json: its name ends in .json, or its text begins like JSON. */
int prd_command_is_json(const char *path, bool *ret_is, struct rondo_error *err);

/**
 * Read a file of any kind: what is no prd.json (above) is a PRD for people.
 * @return 0, or an error of reading; what is wrong in it is in the findings
 */
int prd_command_read(const char *path, const char *tag, bool ticked_are_done, struct prd *ret_prd,
                     struct prd_findings *findings, struct rondo_error *err);

/**
 * The prd.json that a run of this file works on: it, or the one beside a PRD for people.
 * @return owned; NULL = there is no such file or folder
 */
char *prd_command_file(const char *path);

/** Append findings as `file:line:column: error: ...`. */
void prd_command_findings(const char *path, const struct prd_findings *findings, struct buf *out);
