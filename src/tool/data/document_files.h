// SPDX-License-Identifier: Apache-2.0
/*
 * The files that patterns name: `docs/guide.md`, `docs` with everything in it, and
 * patterns with `*`, `?` and, for any folders between, `**`. Any thread.
 */
#pragma once

#include "tool/tool.h"

#include "base/clock.h"

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

/** What bounds the visits of one reading. */
struct document_bounds {
    const struct clock *clock;   /**< of the deadline */
    const struct cancel *cancel; /**< or NULL */
    int64_t deadline_ns;         /**< monotonic; 0 = none */
    size_t names_left;           /**< that may still be looked at; each visit takes from it */
};

enum document_end {
    DOCUMENT_END_ALL = 0,   /**< or the caller ended it */
    DOCUMENT_END_NAMES,     /**< more names than were left; the rest was not visited */
    DOCUMENT_END_LATE,      /**< the deadline has passed */
    DOCUMENT_END_CANCELLED, /**< `cancel` is set */
};

/** Whether a reading must stop now: DOCUMENT_END_LATE, _CANCELLED, or _ALL when it may continue. */
enum document_end document_bounds_check(const struct document_bounds *bounds);

/** Visit the regular files of a pattern. What cannot be opened is passed over. */
enum document_end document_files_visit(const struct tool_surroundings *around,
                                       const struct document_pattern *pattern,
                                       struct document_bounds *bounds, document_fn *fn,
                                       void *context);

/** Whether a path fits a pattern, `**` for any folders between. Pure. */
bool document_path_fits(const char *pattern, const char *path);
