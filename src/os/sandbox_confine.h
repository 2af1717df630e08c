// SPDX-License-Identifier: Apache-2.0
/* The last step before a command under Landlock: this process restricts itself and becomes it. */
#pragma once

/**
 * Restrict this process as the plan on its first carried descriptor says, then execute the command.
 * Reports a failure on the second one. Only os/supervise calls it, in a process of its own.
 * @return only on failure: exit code for main()
 */
int sandbox_confine(int argc, char **argv);
