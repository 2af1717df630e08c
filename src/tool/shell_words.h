// SPDX-License-Identifier: Apache-2.0
/*
 * A command line parted into words as a POSIX shell quotes them (and as Python's shlex.split reads
 * them): blanks part words, '...' takes everything as it is, in "..." a backslash quotes only a
 * double quote and itself, elsewhere it quotes the next byte. Nothing is expanded and no operator
 * means anything. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_object;

/** Words of one command line. */
#define SHELL_WORDS_MAX 1024
/** Bytes of a command line. */
#define SHELL_COMMAND_MAX_BYTES ((size_t)64 * 1024)

struct shell_words {
    char **words; /**< owned, NULL-terminated; NULL while empty */
    size_t count;
};

void shell_words_fini(struct shell_words *words);
#define auto_shell_words __attribute__((cleanup(shell_words_fini)))

/**
 * Part a command line.
 * @param ret_words shell_words_fini(), also on failure
 * @return NULL, or why it cannot be parted; static
 */
const char *shell_words_split(const char *line, struct shell_words *ret_words);

/** Whether a word is a shell's operator, such as `|` or `>>`. */
bool shell_word_is_operator(const char *word);

/**
 * Name of the program that a word stands for: its last part, blocked or allowed by that name.
 * @param ret_name as many bytes as the word with its NUL
 */
void shell_word_base_name(const char *word, char *ret_name);

/** Whether a JSON array of texts holds a text; no array holds nothing. */
bool shell_list_holds(struct json_object *list, const char *text);
