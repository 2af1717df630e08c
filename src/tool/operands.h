// SPDX-License-Identifier: Apache-2.0
/*
 * The files that a call names, as they are now: what a person approves is a call with these files,
 * and not with others that take their place. Files are named by arguments that are paths, and by
 * words of commands and programs. Only what an agent can change counts: what lies in the workspace.
 *
 * Content is compared where it can be read whole; otherwise what the system says of the file, which
 * no program can set back. What a folder holds is not compared. Reads as os/file_untrusted.h does;
 * any thread.
 */
#pragma once

#include "tool/tool.h"

/** Bytes of what is known of a file, the NUL included. */
#define OPERAND_DIGEST_SIZE 72

/** One file. */
struct tool_operand {
    char
        *path; /**< in the workspace, without links; absolute where a link leads out of it. Owned */
    /** "sha256:..." of the content, "stat:..." of a file that is not read, "folder", "outside" */
    char digest[OPERAND_DIGEST_SIZE];
};

/** Sorted by path, each once. */
struct tool_operands {
    struct tool_operand *items;
    size_t count;
    /** It names more than LIMIT_OPERANDS, has more than LIMIT_OPERAND_WORDS, or a pattern of a
     * command matches more than LIMIT_OPERAND_MATCHES files. */
    bool is_cut;
};

/**
 * Read the files that a call names.
 * @param workspace    absolute
 * @param arguments    an object, as the call will be made
 * @param ret_operands operands_fini()
 */
void operands_read(const struct tool *tool, const char *workspace, struct json_object *arguments,
                   struct tool_operands *ret_operands);
void operands_fini(struct tool_operands *operands);
#define auto_operands __attribute__((cleanup(operands_fini)))
