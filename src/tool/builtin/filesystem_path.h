// SPDX-License-Identifier: Apache-2.0
/*
 * Paths below a root, opened so that nothing outside of it is ever reached: names are resolved by
 * the kernel below a descriptor of the root, without symbolic links (openat2, Linux 5.6), so that
 * no rename between a check and its use can lead elsewhere. What sandboxed commands must not see
 * is not reached either. No state; any thread.
 */
#pragma once

#include "tool/tool.h"

/** A root that a role names, and what surrounds it. */
struct path_root {
    const struct tool_surroundings *around; /**< borrowed */
    const char *path;                       /**< as the role has it: absolute or in the workspace */
};

/** The caller, for messages. */
struct path_question {
    const struct path_root *root;
    const char *asked;  /**< path as the model wrote it */
    const char *action; /**< "read", "list", "write" */
};

/**
 * Bring a path into a form relative to `root`, without "." and ".." and double slashes; the root
 * itself is ".". Pure.
 * @param root absolute, in that form; an absolute `path` must lie in it
 * @return false when it leads out of the root
 */
bool path_normalise(const char *root, const char *path, struct buf *ret_relative);

/**
 * Open something below the root.
 * @param flags for openat2; O_CLOEXEC is added
 * @param ret_result what to tell the model when it fails
 * @return descriptor, or -1
 */
int path_open(const struct path_question *question, int flags, struct tool_result *ret_result);

/**
 * Open the folder that holds (or will hold) a file, making it and its parents where they are
 * missing. What belongs to a git repository itself (`.git`) is refused, because its hooks and
 * settings run commands outside of any sandbox.
 * @param ret_name name of the file in it
 * @return descriptor of the folder, or -1
 */
int path_open_parent(const struct path_question *question, struct buf *ret_name,
                     struct tool_result *ret_result);
