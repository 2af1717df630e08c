// SPDX-License-Identifier: Apache-2.0
/* Colours, marks and the size of the terminal. */
#include "cli/terminal/style.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const colours[] = {
    [COLOUR_PLAIN] = "",        [COLOUR_BOLD] = "\033[1m",   [COLOUR_DIM] = "\033[2m",
    [COLOUR_RED] = "\033[31m",  [COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
    [COLOUR_BLUE] = "\033[34m",
};

static const char *const marks[MARK_COUNT][2] = {
    [MARK_MET] = {"+", "✓"},       [MARK_NOT_MET] = {"x", "✗"},  [MARK_UNKNOWN] = {"-", "○"},
    [MARK_WARNING] = {"!", "!"},   [MARK_BAR_FULL] = {"#", "█"}, [MARK_BAR_EMPTY] = {"-", "░"},
    [MARK_SEPARATOR] = {"|", "·"},
};

static const char *const spinner_ascii[] = {"|", "/", "-", "\\"};
static const char *const spinner_unicode[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};

/** What the user's locale says, not the UTF-8 one that we measure with. */
static bool is_utf8_locale(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0') {
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
        }
    }
    return false;
}

struct style style_for(FILE *stream, bool no_colour)
{
    const char *term = getenv("TERM");
    const char *setting = getenv("NO_COLOR");
    bool is_smart = term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
    bool is_terminal = isatty(fileno(stream)) != 0 && is_smart;
    return (struct style){
        .is_terminal = is_terminal,
        .has_colour = is_terminal && !no_colour && (setting == NULL || setting[0] == '\0'),
        .is_unicode = is_utf8_locale(),
    };
}

const char *style_begin(const struct style *style, enum colour colour)
{
    return style->has_colour ? colours[colour] : "";
}

const char *style_end(const struct style *style)
{
    return style->has_colour ? "\033[0m" : "";
}

const char *style_mark(const struct style *style, enum mark mark)
{
    return marks[mark][style->is_unicode];
}

const char *style_spinner(const struct style *style, unsigned tick)
{
    return style->is_unicode
               ? spinner_unicode[tick % (sizeof(spinner_unicode) / sizeof(spinner_unicode[0]))]
               : spinner_ascii[tick % (sizeof(spinner_ascii) / sizeof(spinner_ascii[0]))];
}

void style_append(const struct style *style, enum colour colour, const char *text,
                  struct buf *ret_buf)
{
    buf_append_string(ret_buf, style_begin(style, colour));
    buf_append_string(ret_buf, text);
    if (colour != COLOUR_PLAIN) {
        buf_append_string(ret_buf, style_end(style));
    }
}

enum colour style_of_status(enum rondo_status status)
{
    switch (status) {
    case RONDO_COMPLETED:
        return COLOUR_GREEN;
    case RONDO_RUNNING:
        return COLOUR_BLUE;
    case RONDO_BLOCKED:
    case RONDO_MAX_ITERATIONS:
    case RONDO_BUDGET_EXCEEDED:
    case RONDO_TIMEOUT:
    case RONDO_CANCELLED:
        return COLOUR_YELLOW;
    case RONDO_FAILED:
    case RONDO_POLICY_VIOLATION:
    case RONDO_ERROR:
    case RONDO_STATUS_COUNT:
        return COLOUR_RED;
    }
    return COLOUR_PLAIN;
}

size_t style_columns(FILE *stream, size_t otherwise)
{
    struct winsize size;
    bool is_known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : otherwise;
}

size_t style_rows(FILE *stream, size_t otherwise)
{
    struct winsize size;
    bool is_known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    return is_known ? size.ws_row : otherwise;
}
