// SPDX-License-Identifier: Apache-2.0
/*
 * Words of texts in several languages. Stores stem English and fold case and accents; what is left
 * to do here: words that say nothing are left out of questions, longer ones are also searched by
 * their beginning, because most languages of Europe change the end of a word; texts without spaces
 * (Chinese, Japanese, Korean, Thai) are cut into pairs of characters. Pure; any thread.
 */
#pragma once

#include "base/buf.h"
#include "store/memories.h"

/** The words of a question. */
struct question_words {
    struct store_memory_word items[LIMIT_MEMORY_WORDS];
    size_t count;
    char texts[LIMIT_MEMORY_WORDS][LIMIT_MEMORY_WORD_BYTES + 1];
    char beginnings[LIMIT_MEMORY_WORDS][LIMIT_MEMORY_WORD_BYTES + 1];
};

/** Take a question apart: its first words, each once. */
void words_of_question(const char *question, struct question_words *ret_words);

/** Append the pairs of characters of a text's parts that have no spaces, separated by blanks. */
void words_write_grams(const char *text, struct buf *ret_grams);

/** Whether a word says nothing ("the", "ist", "les"). @param word in lower case */
bool words_is_stop_word(const char *word);
