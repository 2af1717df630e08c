// SPDX-License-Identifier: Apache-2.0
/* Events as lines. */
#include "cli/progress/event_line.h"

#include "base/text/plain.h"

#include <string.h>

enum colour event_colour(enum event_level level)
{
    static const enum colour colours[] = {
        [EVENT_LEVEL_INFO] = COLOUR_PLAIN,     [EVENT_LEVEL_SUCCESS] = COLOUR_GREEN,
        [EVENT_LEVEL_NOTICE] = COLOUR_PLAIN,   [EVENT_LEVEL_FAILURE] = COLOUR_RED,
        [EVENT_LEVEL_WARNING] = COLOUR_YELLOW,
    };
    return colours[level];
}

void event_line(const struct journal_entry *entry, const struct style *style, struct buf *ret_buf)
{
    struct event_description description;
    event_describe(entry, &description);
    buf_append_string(ret_buf, description.level == EVENT_LEVEL_WARNING ? "warning: " : "");
    style_append(style, event_colour(description.level), buf_string(&description.text), ret_buf);
    buf_fini(&description.text);
}

void event_output(const char *output, size_t len, struct buf *ret_buf)
{
    for (size_t at = 0; at < len;) {
        const char *end = memchr(output + at, '\n', len - at);
        size_t line = end == NULL ? len - at : (size_t)(end - output) - at;
        buf_append_string(ret_buf, "    ");
        text_clean(output + at, line, ret_buf);
        buf_append(ret_buf, "\n", 1);
        at += line + 1;
    }
}
