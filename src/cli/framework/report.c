// SPDX-License-Identifier: Apache-2.0
/* Messages on stderr. */
#include "cli/framework/report.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "cli/framework/exit_codes.h"
#include "os/sandbox/secrets.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of one message. */
#define REPORT_MESSAGE_BYTES 8192

/** Failures for programs: {"type":"error",...}. */
static void write_json(const struct rondo_error *err, int exit_code)
{
    auto_buf struct buf line = {0};
    struct json_writer writer = json_writer(&line);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "error");
    json_write_string(&writer, "code", rondo_code_name(err->code));
    json_write_string(&writer, "message", err->message);
    json_write_int(&writer, "exit_code", exit_code);
    json_end_object(&writer);
    buf_append(&line, "\n", 1);
    report_output(&line);
}

/** A message may quote what others wrote. */
static void say(const char *beginning, const char *message)
{
    auto_buf struct buf clean = {0};
    text_clean_lines(message, strlen(message), &clean);
    fprintf(stderr, "%s%s\n", beginning, buf_string(&clean));
}

int report_error(const struct rondo_error *err)
{
    if (err->message[0] != '\0') {
        say("rondo: ", err->message);
    }
    return exit_code_of_error(err->code);
}

int report_error_as(const struct rondo_error *err, bool wants_json)
{
    int exit_code = report_error(err);
    if (wants_json) {
        write_json(err, exit_code);
    }
    return exit_code;
}

static void say_formatted(const char *beginning, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void say_formatted(const char *beginning, const char *format, va_list arguments)
{
    char message[REPORT_MESSAGE_BYTES];
    vsnprintf(message, sizeof(message), format, arguments);
    say(beginning, message);
}

int report_failure(int exit_code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_formatted("rondo: ", format, arguments);
    va_end(arguments);
    return exit_code;
}

void report_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_formatted("rondo: warning: ", format, arguments);
    va_end(arguments);
}

void report_output(const struct buf *text)
{
    bool was_broken = ferror(stdout) != 0;
    if (text->len > 0 && isatty(STDOUT_FILENO)) {
        auto_buf struct buf shown = {0};
        text_escape_hidden(text->data, text->len, &shown);
        fwrite(shown.data, 1, shown.len, stdout);
    } else if (text->len > 0) {
        fwrite(text->data, 1, text->len, stdout);
    }
    if (fflush(stdout) != 0 && errno != EPIPE && !was_broken) {
        report_failure(EXIT_OTHER, "the output cannot be written: %s", strerrordesc_np(errno));
    }
}

int report_exit_code(int exit_code)
{
    struct stat status;
    bool is_lost = fflush(stdout) != 0 || ferror(stdout) != 0;
    bool is_reader = fstat(STDOUT_FILENO, &status) == 0 &&
                     (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
    return exit_code == EXIT_OK && is_lost && !is_reader ? EXIT_OTHER : exit_code;
}

void report_shown_home(const char *workspace)
{
    if (sandbox_secrets_shows_home(workspace)) {
        report_warning(
            "the workspace %s contains your home folder: known keys and startup files in it are "
            "hidden or read-only, everything else is not; use --workspace FOLDER",
            workspace);
    }
}
