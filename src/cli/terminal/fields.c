// SPDX-License-Identifier: Apache-2.0
/* Label and value lines. */
#include "cli/terminal/fields.h"

#include "cli/terminal/text.h"

#include <string.h>

/** On a narrower terminal values go below their labels. */
#define NARROW 40

void fields_add(struct fields *fields, const char *label, const char *value)
{
    auto_buf struct buf clean = {0};
    text_clean(value, strlen(value), &clean);
    bool is_narrow = fields->columns < NARROW;
    size_t column = is_narrow ? 4 : FIELDS_VALUE_COLUMN;
    buf_append_string(fields->out, "  ");
    buf_append_string(fields->out, style_begin(fields->style, COLOUR_DIM));
    text_pad(label, is_narrow ? 0 : FIELDS_VALUE_COLUMN - 2, fields->out);
    buf_append_string(fields->out, style_end(fields->style));
    if (is_narrow) {
        buf_append_string(fields->out, label[0] == '\0' ? "  " : "\n    ");
    }
    text_wrap(buf_string(&clean), column, fields->columns, column, fields->out);
    buf_append_string(fields->out, "\n");
}
