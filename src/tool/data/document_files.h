// SPDX-License-Identifier: Apache-2.0
/*
 * The files that patterns name: `docs/guide.md`, `docs` with everything in it, and
 * patterns with `*`, `?` and, for any folders between, `**`. Any thread.
 */
#pragma once

#include "tool/tool.h"

/** A folder and what lies below it. */
struct document_pattern {
    const char *folder; /**< absolute; relative patterns begin there */
    const char *text;
};

/**
 * Called for each file, in the order of names. @param path from the folder @return false ends
 * @param fd open for reading
 */
typedef bool document_fn(const char *path, int fd, void *context);

/** Visit the regular files of a pattern. What cannot be opened is passed over. */
void document_files_visit(const struct tool_surroundings *around,
                          const struct document_pattern *pattern, document_fn *fn, void *context);

/** Whether a path fits a pattern, `**` for any folders between. Pure. */
bool document_path_fits(const char *pattern, const char *path);
