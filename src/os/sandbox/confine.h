// SPDX-License-Identifier: Apache-2.0
/* The last step before a command under Landlock: this process restricts itself and becomes it. */
#pragma once

#include "os/sandbox/confine_orders.h"

/**
 * Restrict this process as ordered and execute the command: PROGRAM ARGV... from the fourth
 * argument on. A failure is written to CONFINE_REPORT_FD. Only os/supervise calls it, in a process
 * of its own.
 * @return only on failure: exit code for main()
 */
int sandbox_confine(int argc, char **argv);
