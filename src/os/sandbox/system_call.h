// SPDX-License-Identifier: Apache-2.0
/* Numbers of system calls by their names. */
#pragma once

/** Number of a system call, or __NR_SCMP_ERROR. It knows later ones than libseccomp. Any thread. */
int system_call_number(const char *name);
