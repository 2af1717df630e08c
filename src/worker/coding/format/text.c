// SPDX-License-Identifier: Apache-2.0
/* Programs that write text only: stream.c takes their lines as words; no line is JSON. */
#include "worker/coding/reader.h"

void coding_read_text(struct coding_reader *reader, struct json_object *line)
{
    (void)line;
    coding_reader_said(reader)->unknown_lines++;
}
