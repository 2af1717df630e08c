// SPDX-License-Identifier: Apache-2.0
/* Words of command lines. */
#include "tool/shell_words.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

void shell_words_fini(struct shell_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->words[i]);
    }
    free(words->words);
    *words = (struct shell_words){0};
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/** The word's part in quotes. @return the place after the closing quote, or NULL */
static const char *take_quoted(const char *at, struct buf *word)
{
    char quote = *at++;
    while (*at != '\0' && *at != quote) {
        bool is_escape = quote == '"' && *at == '\\' && (at[1] == '"' || at[1] == '\\');
        at += is_escape ? 1 : 0;
        buf_append(word, at++, 1);
    }
    return *at == '\0' ? NULL : at + 1;
}

/** One word. @return the place after it, or NULL with `*ret_fault` */
static const char *take_word(const char *at, struct buf *word, const char **ret_fault)
{
    while (*at != '\0' && !is_blank(*at)) {
        if (*at == '\'' || *at == '"') {
            at = take_quoted(at, word);
            if (at == NULL) {
                *ret_fault = "No closing quotation";
                return NULL;
            }
            continue;
        }
        at += *at == '\\' ? 1 : 0;
        if (*at == '\0') {
            *ret_fault = "No escaped character";
            return NULL;
        }
        buf_append(word, at++, 1);
    }
    return at;
}

const char *shell_words_split(const char *line, struct shell_words *ret_words)
{
    const char *fault = NULL;
    if (strnlen(line, SHELL_COMMAND_MAX_BYTES + 1) > SHELL_COMMAND_MAX_BYTES) {
        return "it is too long";
    }
    ret_words->words = memory_new_zero(SHELL_WORDS_MAX + 1, sizeof(*ret_words->words));
    for (const char *at = line; at != NULL;) {
        while (is_blank(*at)) {
            at++;
        }
        if (*at == '\0') {
            return NULL;
        }
        if (ret_words->count == SHELL_WORDS_MAX) {
            return "it has too many words";
        }
        struct buf word = {0};
        at = take_word(at, &word, &fault);
        ret_words->words[ret_words->count++] = buf_steal(&word);
    }
    return fault;
}

bool shell_word_is_operator(const char *word)
{
    static const char *const operators[] = {"|",  "||",  "&&", ";", ";;", ">", ">>", "<",
                                            "<<", "<<<", "(",  ")", "{",  "}", "&"};
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (strcmp(operators[i], word) == 0) {
            return true;
        }
    }
    return false;
}

void shell_word_base_name(const char *word, char *ret_name)
{
    size_t end = strlen(word);
    bool is_trimmed = true;
    while (is_trimmed) {
        is_trimmed = (end > 0 && word[end - 1] == '/') ||
                     (end > 1 && word[end - 1] == '.' && word[end - 2] == '/');
        end -= is_trimmed ? 1 : 0;
    }
    size_t start = end;
    while (start > 0 && word[start - 1] != '/') {
        start--;
    }
    memcpy(ret_name, word + start, end - start);
    ret_name[end - start] = '\0';
}

bool shell_list_holds(struct json_object *list, const char *text)
{
    size_t count = json_length(list);
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_string) &&
            strcmp(json_object_get_string(item), text) == 0) {
            return true;
        }
    }
    return false;
}
