// SPDX-License-Identifier: Apache-2.0
/*
 * Files that hold secrets by their name: environment files, private keys, stored passwords. The
 * tools `filesystem` and `git` neither show nor change them, wherever they lie. One table, as globs
 * of names that both fnmatch and git's pathspecs read; letter case does not count. Pure.
 */
#pragma once

#include <stdbool.h>

/** The globs, ended by NULL: each matches the name of a file or folder, in lower case. */
extern const char *const secret_file_globs[];

/**
 * Whether a name in a path is one of a secret file, or of a folder of such files.
 * @param path absolute or relative; names are separated by `/`, and by `:` as in git's REV:PATH
 */
bool secret_file_is(const char *path);
