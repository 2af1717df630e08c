// SPDX-License-Identifier: Apache-2.0
/* Printing findings. */
#include "cli/framework/examination.h"

#include "base/json/json.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/terminal/style.h"
#include "cli/terminal/text.h"

#include <stdio.h>
#include <stdlib.h>

#define PIPE_COLUMNS 100
/** Column at which details begin; on a narrow terminal they go below their names. */
#define DETAIL_COLUMN 21
#define NARROW        60

static const char *const health_names[] = {"ok", "missing", "broken"};

void examination_add(struct examination *examination, const char *name, enum health health,
                     char *detail)
{
    if (examination->count < FINDINGS_MAX) {
        examination->findings[examination->count++] =
            (struct examination_finding){name, health, detail};
    } else {
        free(detail);
    }
}

static bool is_broken(const struct examination *examination)
{
    bool broken = false;
    for (size_t i = 0; i < examination->count; i++) {
        broken = broken || examination->findings[i].health == HEALTH_BROKEN;
    }
    return broken;
}

static void write_text(const struct examination *examination, const struct examination_form *form,
                       struct buf *out)
{
    static const enum mark marks[] = {MARK_MET, MARK_UNKNOWN, MARK_NOT_MET};
    static const enum colour colours[] = {COLOUR_GREEN, COLOUR_YELLOW, COLOUR_RED};
    struct style style = style_for(stdout, form->no_colour);
    size_t columns = style_columns(stdout, PIPE_COLUMNS);
    for (size_t i = 0; i < examination->count; i++) {
        const struct examination_finding *finding = &examination->findings[i];
        style_append(&style, colours[finding->health], style_mark(&style, marks[finding->health]),
                     out);
        buf_append_string(out, " ");
        bool is_narrow = columns < NARROW;
        size_t indent = is_narrow ? 4 : DETAIL_COLUMN;
        text_pad(finding->name, is_narrow ? 0 : DETAIL_COLUMN - 2, out);
        buf_append_string(out, is_narrow ? "\n    " : "");
        text_wrap(finding->detail, indent, columns, indent, out);
        buf_append_string(out, "\n");
    }
    buf_printf(out, "%s\n", is_broken(examination) ? form->bad : form->good);
}

static void write_json(const struct examination *examination, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_bool(&writer, "is_healthy", !is_broken(examination));
    json_begin_array(&writer, "findings");
    for (size_t i = 0; i < examination->count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "name", examination->findings[i].name);
        json_write_string(&writer, "health", health_names[examination->findings[i].health]);
        json_write_string(&writer, "detail", examination->findings[i].detail);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

int examination_print(struct examination *examination, const struct examination_form *form)
{
    auto_buf struct buf out = {0};
    if (form->wants_json) {
        write_json(examination, &out);
    } else {
        write_text(examination, form, &out);
    }
    report_output(&out);
    int exit_code = is_broken(examination) ? EXIT_OTHER : EXIT_OK;
    examination_fini(examination);
    return exit_code;
}

void examination_fini(struct examination *examination)
{
    for (size_t i = 0; i < examination->count; i++) {
        free(examination->findings[i].detail);
    }
    examination->count = 0;
}
