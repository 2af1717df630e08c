// SPDX-License-Identifier: Apache-2.0
/* Arguments of the process, which all users of the machine see (ps, /proc/PID/cmdline). */
#pragma once

#include <stdbool.h>

/**
 * Take passwords out of addresses of databases: each word that has one is replaced by a copy, and
 * where the kernel shows the words, the address is without it from then on. Until then, for about a
 * millisecond, others could have seen it. Call it first, once.
 * @param argv of main()
 * @return whether there was one
 */
bool arguments_hide_passwords(int argc, char **argv);
