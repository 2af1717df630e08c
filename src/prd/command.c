// SPDX-License-Identifier: Apache-2.0
/* The rule of prd/command.h. */
#include "prd/command.h"

#include "base/ascii.h"
#include "base/limits.h"
#include "prd/prd.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What may come before the command when nothing follows it. */
static const char *const alone[] = {
    "run", "run:", "running", "command:", "must pass:", "passes:",
};

/* What may come before it when it is said to succeed. */
static const char *const before[] = {
    "run",         "running",    "command", "the command", "verify",
    "verify that", "check that", "check",   "ensure that", "ensure",
};

/* What may come after it. */
static const char *const after[] = {
    "passes",
    "pass",
    "must pass",
    "succeeds",
    "succeed",
    "must succeed",
    "exits 0",
    "exits with 0",
    "exits zero",
    "exits with code 0",
    "exits with status 0",
    "exits with exit code 0",
    "returns 0",
    "is green",
    "is clean",
    "runs clean",
    "runs without errors",
    "runs without error",
    "completes without errors",
    "reports no errors",
    "has no errors",
};

static bool is_one_of(const char *text, size_t len, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == len && strncasecmp(list[i], text, len) == 0) {
            return true;
        }
    }
    return false;
}

/** Take blanks, and at the end a full stop, away from both ends. */
static void trim(const char **text, size_t *len)
{
    while (*len > 0 && ascii_is_space(**text)) {
        (*text)++;
        (*len)--;
    }
    while (*len > 0 && (ascii_is_space((*text)[*len - 1]) || (*text)[*len - 1] == '.')) {
        (*len)--;
    }
}

/** Whether the text in backticks is a command line, and not the name of something in the code. */
static bool is_command(const char *text, size_t len)
{
    bool has_blank = false;
    bool is_name = false;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte == 0x7f) {
            return false;
        }
        has_blank = has_blank || byte == ' ';
        is_name = is_name || (byte >= 'A' && byte <= 'Z') || byte == '(' || byte == ':';
    }
    bool is_start = len > 0 && (ascii_is_letter_or_digit(text[0]) || text[0] == '.' ||
                                text[0] == '/' || text[0] == '_');
    return is_start && len <= LIMIT_COMMAND_BYTES && (has_blank || !is_name);
}

const char *prd_command_of(struct arena *arena, const char *text)
{
    const char *open = strchr(text, '`');
    const char *close = open == NULL ? NULL : strchr(open + 1, '`');
    if (close == NULL || strchr(close + 1, '`') != NULL) {
        return NULL;
    }
    const char *head = text;
    const char *tail = close + 1;
    const char *command = open + 1;
    size_t head_len = (size_t)(open - text);
    size_t tail_len = strlen(tail);
    size_t len = (size_t)(close - command);
    trim(&head, &head_len);
    trim(&tail, &tail_len);
    while (len > 0 && *command == ' ') {
        command++;
        len--;
    }
    while (len > 0 && command[len - 1] == ' ') {
        len--;
    }
    bool fits = tail_len == 0
                    ? is_one_of(head, head_len, alone, COUNT(alone))
                    : (head_len == 0 || is_one_of(head, head_len, before, COUNT(before))) &&
                          is_one_of(tail, tail_len, after, COUNT(after));
    return fits && is_command(command, len) ? prd_keep(arena, command, len) : NULL;
}
