// SPDX-License-Identifier: Apache-2.0
/* What the simulators of the work queue print, and their command line:
 * `[--seed N] [--count N] [--verbose]`. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * Call `run` for as many seeds as the arguments say, from the first one on; for a quarter of many
 * under a sanitizer. One thread at a time.
 *
 * @param seen what all seeds together have shown; given to `run`
 * @return the exit code: 0, or 2 with a message on stderr for a number that is none
 */
int sim_seeds(int argc, char **argv, void (*run)(uint64_t seed, void *seen, bool is_verbose),
              void *seen);

/** Print a line with the time of the simulation. */
void sim_print(int64_t now_ns, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/** Print what must not happen, and how to replay it with `program`; end the process. */
_Noreturn void sim_violation(const char *program, uint64_t seed, const char *format,
                             va_list arguments) __attribute__((format(printf, 3, 0)));
