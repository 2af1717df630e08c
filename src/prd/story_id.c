// SPDX-License-Identifier: Apache-2.0
/* Ids of stories. */
#include "prd/story_id.h"

#include "base/ascii.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const requirement_prefixes[] = {"FR", "NFR", "SC", "AC", "NG", "OQ"};

/* What a story may be called when it has a number only. */
static const struct {
    const char *word;
    const char *id;
} words[] = {
    {"user story", "story"}, {"story", "story"}, {"task", "task"},     {"feature", "feature"},
    {"step", "step"},        {"issue", "issue"}, {"ticket", "ticket"},
};

/** Digits and points: "1", "1.2". @return their bytes */
static size_t number_len(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len && (ascii_is_digit(text[at]) || (at > 0 && text[at] == '.' && at + 1 < len &&
                                                     ascii_is_digit(text[at + 1])))) {
        at++;
    }
    return at;
}

/** Whether an id may end before this place. */
static bool is_end(const char *text, size_t len, size_t at)
{
    return at >= len ||
           (!ascii_is_letter_or_digit(text[at]) && text[at] != '_' && text[at] != '-') ||
           (text[at] == '-' && at + 1 < len && text[at + 1] == ' ');
}

static size_t prefixed(const char *text, size_t len, char *ret_id)
{
    size_t prefix = 0;
    while (prefix < len && ((text[prefix] >= 'A' && text[prefix] <= 'Z') ||
                            (prefix > 0 && ascii_is_digit(text[prefix])))) {
        prefix++;
    }
    if (prefix == 0 || prefix > 12 || prefix >= len || text[prefix] != '-') {
        return 0;
    }
    for (size_t i = 0; i < COUNT(requirement_prefixes); i++) {
        if (strlen(requirement_prefixes[i]) == prefix &&
            strncmp(requirement_prefixes[i], text, prefix) == 0) {
            return 0;
        }
    }
    size_t number = number_len(text + prefix + 1, len - prefix - 1);
    size_t all = prefix + 1 + number;
    if (number == 0 || all >= PRD_STORY_ID_SIZE || !is_end(text, len, all)) {
        return 0;
    }
    snprintf(ret_id, PRD_STORY_ID_SIZE, "%.*s", (int)all, text);
    return all;
}

static size_t worded(const char *text, size_t len, char *ret_id)
{
    for (size_t i = 0; i < COUNT(words); i++) {
        size_t word = strlen(words[i].word);
        if (len <= word + 1 || strncasecmp(text, words[i].word, word) != 0 ||
            (text[word] != ' ' && text[word] != '-' && text[word] != '#')) {
            continue;
        }
        size_t skipped = word + 1 + (text[word + 1] == '#');
        size_t number = number_len(text + skipped, len - skipped);
        if (number > 0 && number < 24 && is_end(text, len, skipped + number)) {
            snprintf(ret_id, PRD_STORY_ID_SIZE, "%s-%.*s", words[i].id, (int)number,
                     text + skipped);
            return skipped + number;
        }
    }
    return 0;
}

size_t prd_story_id(const char *text, size_t len, char ret_id[static PRD_STORY_ID_SIZE])
{
    size_t taken = prefixed(text, len, ret_id);
    return taken > 0 ? taken : worded(text, len, ret_id);
}
