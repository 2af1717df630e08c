// SPDX-License-Identifier: Apache-2.0
/* Environments for children: the user's own, or reduced to an allow list. */
#pragma once

#include <stddef.h>

/**
 * The allow list's variables that this process has (PATH, LANG, LC_ALL, TZ, USER, LOGNAME, HOME,
 * ...), the named ones, then `extra`; plus TERM=dumb, NO_COLOR=1 and CI=1.
 * @param names NULL-terminated list of further variables to pass, or NULL
 * @param extra NULL-terminated list of "NAME=value" that win over all, or NULL
 * @return NULL-terminated, owned; environment_free()
 */
char **environment_reduced(const char *const *names, const char *const *extra);

/** The same from another environment than this process's. Any thread. */
char **environment_select(const char *const *source, const char *const *names,
                          const char *const *extra);

/** This process's whole environment with `extra` laid over it. Owned; environment_free(). */
char **environment_with(const char *const *extra);

/** Value of a variable. @param environment "NAME=value", NULL-terminated; NULL = this process's
 *  @return borrowed from it; or NULL */
const char *environment_find(const char *const *environment, const char *name);

/** Take variables out of an environment. @param names whole names, NULL-terminated, or NULL */
void environment_drop(char **environment, const char *const *names);

void environment_free(char **environment);
