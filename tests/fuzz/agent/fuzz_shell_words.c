// SPDX-License-Identifier: Apache-2.0
/* Words of command lines: quoted again they give the same words, and names of programs hold no
 * slash. */
#include "../fuzz.h"

#include "base/buf.h"
#include "tool/shell_words.h"

#include <string.h>

static void quote(const char *word, struct buf *line)
{
    buf_append_string(line, "'");
    for (const char *at = word; *at != '\0'; at++) {
        if (*at == '\'') {
            buf_append_string(line, "'\\''");
        } else {
            buf_append(line, at, 1);
        }
    }
    buf_append_string(line, "' ");
}

static void check_again(const struct shell_words *words)
{
    struct buf line = {0};
    struct shell_words again = {0};
    for (size_t i = 0; i < words->count; i++) {
        quote(words->words[i], &line);
    }
    if (line.len <= SHELL_COMMAND_MAX_BYTES) {
        FUZZ_CHECK(shell_words_split(buf_string(&line), &again) == NULL);
        FUZZ_CHECK(again.count == words->count);
        for (size_t i = 0; i < again.count; i++) {
            FUZZ_CHECK(strcmp(again.words[i], words->words[i]) == 0);
        }
    }
    shell_words_fini(&again);
    buf_fini(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = fuzz_text(data, size);
    struct shell_words words = {0};
    if (shell_words_split(line, &words) == NULL) {
        FUZZ_CHECK(words.count <= SHELL_WORDS_MAX);
        check_again(&words);
    }
    for (size_t i = 0; i < words.count; i++) {
        char *name = malloc(strlen(words.words[i]) + 1);
        shell_word_base_name(words.words[i], name);
        FUZZ_CHECK(strchr(name, '/') == NULL);
        free(name);
    }
    shell_words_fini(&words);
    free(line);
    return 0;
}
