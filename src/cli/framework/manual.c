// SPDX-License-Identifier: Apache-2.0
/* Man pages in the man(7) macros, and options in Markdown. */
#include "cli/framework/manual.h"

#include "base/ascii.h"
#include "base/version.h"
#include "cli/framework/exit_codes.h"

#include <stdbool.h>
#include <string.h>

/** Append text so that roff takes it as text. */
static void add_text(const char *text, struct buf *out)
{
    bool is_line_start = out->len == 0 || out->data[out->len - 1] == '\n';
    for (const char *at = text; *at != '\0'; at++) {
        if (is_line_start && (*at == '.' || *at == '\'')) {
            buf_append_string(out, "\\&");
        }
        if (*at == '\\') {
            buf_append_string(out, "\\e");
        } else if (*at == '-') {
            buf_append_string(out, "\\-");
        } else {
            buf_append(out, at, 1);
        }
        is_line_start = *at == '\n';
    }
}

static void add_paragraphs(const char *text, struct buf *out)
{
    for (const char *at = text; *at != '\0';) {
        const char *end = strstr(at, "\n\n");
        size_t len = end == NULL ? strlen(at) : (size_t)(end - at);
        auto_buf struct buf paragraph = {0};
        buf_append(&paragraph, at, len);
        buf_append_string(out, ".PP\n");
        add_text(buf_string(&paragraph), out);
        buf_append_string(out, "\n");
        at += len + (end == NULL ? 0 : 2);
    }
}

static void add_title(const char *name, const char *help, struct buf *out)
{
    auto_buf struct buf upper = {0};
    for (const char *at = name; *at != '\0'; at++) {
        char c = ascii_upper(*at);
        buf_append(&upper, &c, 1);
    }
    buf_append_string(out, ".TH ");
    add_text(buf_string(&upper), out);
    buf_append_string(out, " 1 \"\" \"Rondo " RONDO_VERSION "\" \"Rondo Manual\"\n.SH NAME\n");
    add_text(name, out);
    buf_append_string(out, " \\- ");
    add_text(help, out);
    buf_append_string(out, "\n");
}

static void add_option(const struct option_row *row, struct buf *out)
{
    auto_buf struct buf argument = {0};
    option_argument(row, &argument);
    buf_append_string(out, ".TP\n");
    if (row->letter != 0) {
        buf_printf(out, "\\fB\\-%c\\fR, ", row->letter);
    }
    buf_append_string(out, "\\fB\\-\\-");
    add_text(row->name, out);
    buf_append_string(out, "\\fR");
    if (argument.len > 0) {
        buf_append_string(out, "=\\fI");
        add_text(argument.data, out);
        buf_append_string(out, "\\fR");
    }
    buf_append_string(out, "\n");
    add_text(row->help, out);
    if (row->by_default != NULL) {
        buf_append_string(out, " (default: ");
        add_text(row->by_default, out);
        buf_append_string(out, ")");
    }
    buf_append_string(out, "\n");
}

static void add_options(const struct option_row *rows, struct buf *out)
{
    buf_append_string(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < option_count(rows); i++) {
        if (rows[i].is_hidden) {
            continue;
        }
        if (rows[i].group != NULL) {
            buf_printf(out, ".SS %s\n", rows[i].group);
        }
        add_option(&rows[i], out);
    }
    buf_append_string(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow help and exit\n");
}

static void add_examples(const char *examples, struct buf *out)
{
    buf_append_string(out, ".SH EXAMPLES\n");
    for (const char *at = examples; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        size_t command = strcspn(at, "\t\n");
        auto_buf struct buf text = {0};
        buf_append(&text, at, command);
        buf_append_string(out, ".TP\n.nf\n\\fB");
        add_text(buf_string(&text), out);
        buf_append_string(out, "\\fR\n.fi\n");
        if (command < len) {
            buf_clear(&text);
            buf_append(&text, at + command + 1, len - command - 1);
            add_text(buf_string(&text), out);
            buf_append_string(out, "\n");
        }
        at += len + (at[len] == '\n');
    }
}

static void add_exit_codes(struct buf *out)
{
    buf_append_string(out, ".SH EXIT STATUS\n");
    struct exit_code_row row;
    for (size_t i = 0; exit_code_row(i, &row); i++) {
        buf_printf(out, ".TP\n%d\n\\fB", row.code);
        add_text(row.name, out);
        buf_append_string(out, "\\fR: ");
        add_text(row.meaning, out);
        buf_append_string(out, "\n");
    }
}

static void add_command_list(const struct command *table, struct buf *out)
{
    buf_append_string(out, ".SH COMMANDS\n");
    for (const struct command *command = table; command->name != NULL; command++) {
        if (!command->is_hidden) {
            buf_append_string(out, ".TP\n\\fBrondo ");
            add_text(command->name, out);
            buf_append_string(out, "\\fR ");
            add_text(command->synopsis, out);
            buf_append_string(out, "\n");
            add_text(command->help, out);
            buf_append_string(out, "\n");
        }
    }
}

static void add_main_page(struct buf *out)
{
    add_title("rondo", "a durable runtime for autonomous agent loops", out);
    buf_append_string(out, ".SH SYNOPSIS\n\\fBrondo\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
                           ".SH DESCRIPTION\n");
    add_paragraphs(
        "Rondo runs an agent or a command repeatedly until its exit conditions are verified. Every "
        "iteration is journalled, checkpoints survive crashes, and limits apply across resumes. "
        "`rondo serve` shows all runs on a live page, has an HTTP API, and warns people.\n\n"
        "The store is one SQLite file: --store, else $RONDO_STORE, else that of the nearest folder "
        "that has one, from the working directory up, else a new one for the working directory. "
        "An address, postgresql://..., names a PostgreSQL database that machines share. "
        "Stores of projects are in $XDG_STATE_HOME/rondo/projects, by default below "
        "~/.local/state/rondo. RUN is the id of a run, a unique prefix of one, or 'last'.",
        out);
    add_command_list(commands, out);
    add_exit_codes(out);
    buf_append_string(out, ".SH ENVIRONMENT\n.TP\n\\fBRONDO_STORE\\fR\nFile of the store, or "
                           "address of its database\n"
                           ".TP\n\\fBXDG_STATE_HOME\\fR\nFolder for state, an absolute path "
                           "(~/.local/state); Rondo's state folder is rondo in it\n"
                           ".TP\n\\fBOTEL_EXPORTER_OTLP_ENDPOINT\\fR\nCollector for traces and "
                           "metrics, such as http://localhost:4318; without it, nothing is sent\n"
                           ".TP\n\\fBNO_COLOR\\fR\nWhen set and not empty: no colours\n");
}

/** Name of a command's page: its words joined. */
static void page_name(const char *name, size_t len, struct buf *out)
{
    buf_append_string(out, "rondo-");
    for (size_t i = 0; i < len; i++) {
        buf_append(out, name[i] == ' ' ? "-" : &name[i], 1);
    }
}

static void add_reference(const char *name, size_t len, struct buf *out)
{
    auto_buf struct buf page = {0};
    page_name(name, len, &page);
    buf_append_string(out, ",\n\\fB");
    add_text(buf_string(&page), out);
    buf_append_string(out, "\\fR(1)");
}

/** A command's group, and the commands of a group. */
static void add_see_also(const struct command *command, struct buf *out)
{
    buf_append_string(out, ".SH SEE ALSO\n\\fBrondo\\fR(1)");
    const char *space = strrchr(command->name, ' ');
    if (space != NULL) {
        add_reference(command->name, (size_t)(space - command->name), out);
    }
    const struct command *own = command->subcommands;
    for (; own != NULL && own->name != NULL; own++) {
        add_reference(own->name, strlen(own->name), out);
    }
    buf_append_string(out, "\n");
}

void manual_page(const struct command *command, struct buf *ret_buf)
{
    if (command == NULL) {
        add_main_page(ret_buf);
        return;
    }
    auto_buf struct buf name = {0};
    page_name(command->name, strlen(command->name), &name);
    add_title(buf_string(&name), command->help, ret_buf);
    buf_append_string(ret_buf, ".SH SYNOPSIS\n\\fBrondo ");
    add_text(command->name, ret_buf);
    buf_append_string(ret_buf, "\\fR ");
    add_text(command->synopsis, ret_buf);
    buf_append_string(ret_buf, "\n.SH DESCRIPTION\n");
    add_paragraphs(command->description, ret_buf);
    if (command->subcommands != NULL) {
        add_command_list(command->subcommands, ret_buf);
    }
    add_options(command->options, ret_buf);
    if (command->examples != NULL) {
        add_examples(command->examples, ret_buf);
    }
    add_exit_codes(ret_buf);
    add_see_also(command, ret_buf);
}

/** Append text for a Markdown table cell. */
static void add_cell(const char *text, struct buf *out)
{
    for (; *text != '\0'; text++) {
        buf_append_string(out, *text == '|' ? "\\" : "");
        buf_append(out, text, 1);
    }
}

static void add_row(const struct option_row *row, struct buf *out)
{
    auto_buf struct buf argument = {0};
    option_argument(row, &argument);
    buf_append_string(out, "| `");
    if (row->letter != 0) {
        buf_printf(out, "-%c`, `", row->letter);
    }
    buf_printf(out, "--%s%s", row->name, argument.len > 0 ? "=" : "");
    add_cell(buf_string(&argument), out);
    buf_append_string(out, "` | ");
    add_cell(row->help, out);
    buf_append_string(out, " | ");
    add_cell(row->by_default == NULL ? "" : row->by_default, out);
    buf_append_string(out, " |\n");
}

void manual_options(struct buf *ret_buf)
{
    const struct command *command = NULL;
    while ((command = command_next(command)) != NULL) {
        if (command->is_hidden) {
            continue;
        }
        buf_printf(ret_buf, "## rondo %s\n\n%s.\n\n    rondo %s %s\n\n", command->name,
                   command->help, command->name, command->synopsis);
        if (option_count(command->options) > 0) {
            buf_append_string(ret_buf, "| option | meaning | default |\n|---|---|---|\n");
        }
        for (size_t i = 0; i < option_count(command->options); i++) {
            if (!command->options[i].is_hidden) {
                add_row(&command->options[i], ret_buf);
            }
        }
        buf_append_string(ret_buf, option_count(command->options) > 0 ? "\n" : "");
    }
}
