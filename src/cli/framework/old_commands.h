// SPDX-License-Identifier: Apache-2.0
/*
 * Commands and options that InitRunner has or had under another name: who types one is told the
 * way of today. One table; any thread.
 */
#pragma once

/**
 * The way of today, a sentence that names a command.
 * @param command "memory clear", "chat"
 * @return NULL when nothing is known. Static
 */
const char *old_command_today(const char *command);

/**
 * The same of an option that a command does not have.
 * @param words the words after the command's name; the first that is known counts
 */
const char *old_option_today(const char *command, int count, char *const *words);
