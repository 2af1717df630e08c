// SPDX-License-Identifier: Apache-2.0
/* Checks of single values. */
#include "role/reader.h"

#include "base/ascii.h"
#include "base/limits.h"
#include "base/text/labels.h"
#include "base/text/pattern.h"
#include "base/time/schedule.h"
#include "rondo/error.h"

#include <stdlib.h>
#include <string.h>

static bool is_name_byte(char byte, bool takes_dash)
{
    return (byte >= 'a' && byte <= 'z') || ascii_is_digit(byte) || (takes_dash && byte == '-');
}

void check_agent_name(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    size_t len = node->len;
    bool is_right = len >= 2 && is_name_byte(text[0], false) && is_name_byte(text[len - 1], false);
    for (size_t i = 0; is_right && i < len; i++) {
        is_right = is_name_byte(text[i], true);
    }
    if (!is_right) {
        reader_error(
            reader, node,
            "lower-case letters, digits and dashes, at least two; no dash at the beginning or end",
            "\"%.60s\" is not a name", text);
    } else if (len > LIMIT_AGENT_ID_LEN) {
        reader_error(reader, node, NULL, "a name has at most %d characters", LIMIT_AGENT_ID_LEN);
    }
}

/** Python takes letters of all alphabets; bytes beyond ASCII are taken for those. */
void check_identifier(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    bool is_right = node->len > 0 && !ascii_is_digit(text[0]);
    for (size_t i = 0; is_right && i < node->len; i++) {
        is_right =
            (unsigned char)text[i] >= 0x80 || text[i] == '_' || ascii_is_letter_or_digit(text[i]);
    }
    if (!is_right) {
        reader_error(reader, node, "letters, digits and _, no digit first",
                     "\"%.60s\" is not an identifier", text);
    }
}

void check_not_blank(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    if (strspn(text, " \t\n\r\f\v") == node->len) {
        reader_error(reader, node, NULL, "this must not be empty");
    }
}

void check_not_empty(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    if (text[0] == '\0') {
        reader_error(reader, node, NULL, "this must not be empty");
    }
}

void check_fallback_on(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    static const char *const known[] = {"ModelAPIError", "ModelHTTPError",
                                        "UnexpectedModelBehavior", "ContentFilterError"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(text, known[i]) == 0) {
            return;
        }
    }
    reader_error(reader, node,
                 "ModelAPIError, ModelHTTPError, UnexpectedModelBehavior or ContentFilterError",
                 "this is not a failure of models");
}

void check_one_conversation(struct role_reader *reader, const struct yaml_node *node,
                            const char *text)
{
    check_not_empty(reader, node, text);
    if (strpbrk(text, "{}") != NULL) {
        reader_error(reader, node, NULL, "events of this trigger have nothing that {...} can pick");
    }
}

void check_pattern(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    struct pattern *pattern = NULL;
    struct rondo_error why = {0};
    if (pattern_compile(text, node->len, &pattern, &why) < 0) {
        reader_error(reader, node, "the syntax is that of Python's `re`",
                     "this is not a regular expression: %.200s", why.message);
    }
    pattern_free(pattern);
}

void check_permission(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    const char *equals = memchr(text, '=', node->len);
    if (equals == text) {
        reader_error(reader, node, "write `argument=glob`, or a glob alone",
                     "there is no argument name before the `=`");
    } else if (equals != NULL && equals + 1 == text + node->len) {
        reader_error(reader, node, "write `argument=glob`, or a glob alone",
                     "there is no glob after the `=`");
    }
}

void check_docker_memory(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    size_t unit = strspn(text + digits, "bkmgBKMG");
    /* Python's `$` also matches before a final line end. */
    size_t line_end = text[digits + (unit > 0 ? 1 : 0)] == '\n' ? 1 : 0;
    if (digits == 0 || unit > 1 || digits + unit + line_end != node->len) {
        reader_error(reader, node, "digits and b, k, m or g: 256m, 1g",
                     "\"%.60s\" is not a size of memory", text);
    }
}

void check_docker_argument(struct role_reader *reader, const struct yaml_node *node,
                           const char *text)
{
    static const char *const refused[] = {
        "--privileged",  "--cap-add",      "--security-opt", "--pid=host",
        "--userns=host", "--network=host", "--ipc=host",     NULL,
    };
    for (size_t i = 0; refused[i] != NULL; i++) {
        size_t len = strlen(refused[i]);
        bool has_value = strncmp(text, refused[i], len) == 0 && text[len] == '=' &&
                         strchr(refused[i], '=') == NULL;
        if (strcmp(text, refused[i]) == 0 || has_value) {
            reader_error(reader, node, "remove it",
                         "`%.60s` would weaken the isolation of the container", text);
        }
    }
}

void check_absolute(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    if (text[0] != '/') {
        reader_error(reader, node, "begin with /", "\"%.60s\" is not an absolute path", text);
    }
}

void check_cron(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    struct schedule schedule;
    const char *problem = schedule_parse(text, &schedule);
    if (problem != NULL) {
        reader_warning(reader, node,
                       "minute, hour, day, month, weekday: \"0 9 * * 1-5\", or @daily",
                       "this is not a cron expression: %s", problem);
    }
}

void check_pool(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    struct rondo_error err = {0};
    if (strlen(text) != node->len || labels_check(text, "pool", &err) < 0) {
        reader_error(reader, node, "gpu,linux", "\"%.60s\" is no list of labels", text);
    }
}

/** Zones are judged by their form only: which there are is the machine's matter. */
void check_zone(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    bool is_right = node->len > 0 && node->len <= 64 && ascii_is_letter(text[0]);
    for (size_t i = 0; is_right && i < node->len; i++) {
        is_right = ascii_is_letter_or_digit(text[i]) || strchr("/_+-", text[i]) != NULL;
    }
    if (!is_right) {
        reader_warning(reader, node, "UTC, Europe/Berlin, ...", "\"%.60s\" is not a time zone",
                       text);
    }
}

/** The rule of the engine for names of exit conditions. */
void check_condition_name(struct role_reader *reader, const struct yaml_node *node,
                          const char *text)
{
    bool is_right =
        node->len > 0 && node->len <= LIMIT_CONDITION_NAME_LEN && text[0] != '.' && text[0] != '-';
    for (size_t i = 0; is_right && i < node->len; i++) {
        is_right = ascii_is_letter_or_digit(text[i]) || strchr("-_.", text[i]) != NULL;
    }
    if (!is_right) {
        reader_error(reader, node, "up to 64 letters, digits, '-', '_' and '.'",
                     "\"%.80s\" is not a name for an exit condition", text);
    }
}

void check_command(struct role_reader *reader, const struct yaml_node *node, const char *text)
{
    if (strspn(text, " \t\n") == node->len || node->len > LIMIT_COMMAND_BYTES) {
        reader_error(reader, node, NULL, "a command has 1 to %ld bytes", LIMIT_COMMAND_BYTES);
    }
}
