// SPDX-License-Identifier: Apache-2.0
/* Lines, and what all formats have in common. */
#include "worker/coding/stream.h"

#include "base/ascii.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "worker/coding/reader.h"

#include <assert.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** More tokens than this in one report are taken for nonsense. */
#define MOST_TOKENS (INT64_C(1) << 48)
#define MICRO       1e6

struct coding_reader {
    struct coding_said said;
    coding_event_fn *fn;
    void *context;
    struct buf part; /* words that are not whole yet */
};

struct coding_stream {
    struct coding_reader reader;
    enum coding_format format;
    struct buf line;
    bool is_too_long; /* what is left of the line is dropped */
};

static const struct {
    const char *name;
    const char *help;
    coding_read_fn *read;
} formats[] = {
#define FORMAT(ID, id, name, help) [CODING_FORMAT_##ID] = {name, help, coding_read_##id},
#include "worker/coding/formats.def"
};

const char *coding_format_name(enum coding_format format)
{
    return formats[format].name;
}

bool coding_format_from_name(const char *name, enum coding_format *ret_format)
{
    for (int i = 0; i < CODING_FORMAT_COUNT; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            *ret_format = (enum coding_format)i;
            return true;
        }
    }
    return false;
}

struct coding_stream *coding_stream_new(enum coding_format format, coding_event_fn *fn,
                                        void *context)
{
    struct coding_stream *stream = memory_new_zero(1, sizeof(*stream));
    stream->format = format;
    stream->reader.fn = fn;
    stream->reader.context = context;
    stream->reader.said.cost_micro = COST_UNKNOWN;
    return stream;
}

void coding_stream_free(struct coding_stream *stream)
{
    if (stream != NULL) {
        buf_fini(&stream->line);
        buf_fini(&stream->reader.part);
        buf_fini(&stream->reader.said.answer);
        free(stream);
    }
}

const struct coding_said *coding_stream_said(const struct coding_stream *stream)
{
    return &stream->reader.said;
}

/* ---- What readers say -------------------------------------------------------------------------
 */

struct coding_said *coding_reader_said(struct coding_reader *reader)
{
    return &reader->said;
}

/** The length up to which a text can be cut without breaking a character. */
static size_t cut_len(const char *text, size_t len, size_t most)
{
    if (len <= most) {
        return len;
    }
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) {
        most--;
    }
    return most;
}

void coding_keep_word(char field[CODING_WORD_SIZE], const char *word)
{
    if (word != NULL) {
        size_t len = cut_len(word, strlen(word), CODING_WORD_SIZE - 1);
        memcpy(field, word, len);
        field[len] = '\0';
    }
}

static void report(struct coding_reader *reader, const struct coding_event *event)
{
    if (reader->fn != NULL) {
        reader->fn(reader->context, event);
    }
}

/** Whether a line of the text is a promise: <promise>...</promise> and nothing else. */
static bool has_promise(const char *text)
{
    static const char head[] = "<promise>";
    static const char tail[] = "</promise>";
    for (const char *line = text; *line != '\0'; line += line[0] == '\n') {
        size_t len = strcspn(line, "\n");
        size_t end = len > 0 && line[len - 1] == '\r' ? len - 1 : len;
        bool is_long = end > sizeof(head) + sizeof(tail) - 2;
        if (is_long && strncmp(line, head, sizeof(head) - 1) == 0 &&
            strncmp(line + end - (sizeof(tail) - 1), tail, sizeof(tail) - 1) == 0) {
            return true;
        }
        line += len;
    }
    return false;
}

void coding_say(struct coding_reader *reader, const char *text)
{
    if (text == NULL || text[strspn(text, " \t\r\n")] == '\0') {
        return;
    }
    struct coding_said *said = &reader->said;
    size_t len = cut_len(text, strlen(text), LIMIT_SUMMARY_BYTES);
    buf_clear(&said->answer);
    buf_append(&said->answer, text, len);
    said->has_promise = has_promise(buf_string(&said->answer));
    said->messages++;
    report(reader, &(struct coding_event){
                       .kind = CODING_EVENT_MESSAGE, .text = said->answer.data, .text_len = len});
}

void coding_say_part(struct coding_reader *reader, const char *text)
{
    if (text != NULL && reader->part.len < LIMIT_SUMMARY_BYTES) {
        buf_append_string(&reader->part, text);
    }
}

void coding_say_whole(struct coding_reader *reader)
{
    if (reader->part.len > 0) {
        coding_say(reader, buf_string(&reader->part));
        buf_clear(&reader->part);
    }
}

/** A text as it is, anything else as JSON. */
static const char *text_of(struct json_object *value)
{
    if (value == NULL) {
        return NULL;
    }
    return json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
}

/** Fill in a text and its length, cut. */
static void set_text(struct coding_event *event, const char *text)
{
    event->text = text;
    event->text_len = text == NULL ? 0 : cut_len(text, strlen(text), LIMIT_SUMMARY_BYTES);
}

void coding_call(struct coding_reader *reader, const char *id, const char *name,
                 struct json_object *input)
{
    coding_say_whole(reader);
    struct coding_event event = {.kind = CODING_EVENT_TOOL_CALL, .id = id, .name = name};
    set_text(&event, text_of(input));
    reader->said.tool_calls++;
    report(reader, &event);
}

void coding_result(struct coding_reader *reader, const char *id, const char *name,
                   struct json_object *output, bool is_error)
{
    struct coding_event event = {
        .kind = CODING_EVENT_TOOL_RESULT, .id = id, .name = name, .is_error = is_error};
    set_text(&event, text_of(output));
    reader->said.tool_errors += is_error;
    report(reader, &event);
}

void coding_deny(struct coding_reader *reader, const char *name)
{
    if (reader->said.denials++ == 0) {
        coding_keep_word(reader->said.denied, name == NULL ? "a tool" : name);
    }
}

/* ---- Errors ----------------------------------------------------------------------------------
 */

/** A number of three digits that is an HTTP status of a failure, where a text begins; else 0. */
static int status_at(const char *text)
{
    bool is_three = ascii_is_digit(text[0]) && ascii_is_digit(text[1]) && ascii_is_digit(text[2]) &&
                    !ascii_is_letter_or_digit(text[3]);
    int status = is_three ? (int)strtol(text, NULL, 10) : 0;
    return status >= 400 && status <= 599 ? status : 0;
}

static int status_in(const char *message)
{
    int status = status_at(message);
    for (const char *at = message; status == 0 && (at = strstr(at, "status")) != NULL; at++) {
        const char *number = at + strlen("status");
        number += strncmp(number, " code", 5) == 0 ? 5 : 0;
        status = status_at(number + strspn(number, ": ="));
    }
    return status;
}

void coding_fail(struct coding_reader *reader, int64_t status, const char *kind,
                 const char *message, bool is_retryable)
{
    struct coding_error *error = &reader->said.error;
    const char *text = message == NULL ? "" : message;
    *error = (struct coding_error){.is_set = true, .is_retryable = is_retryable};
    error->status = status >= 400 && status <= 599 ? (int)status : status_in(text);
    coding_keep_word(error->kind, kind);
    size_t len = cut_len(text, strlen(text), sizeof(error->message) - 1);
    memcpy(error->message, text, len);
    error->message[len] = '\0';
}

void coding_recover(struct coding_reader *reader)
{
    reader->said.error = (struct coding_error){0};
}

/* ---- Numbers ---------------------------------------------------------------------------------
 */

void coding_add_tokens(int64_t *counter, int64_t tokens)
{
    if (tokens > 0 && tokens <= MOST_TOKENS && *counter <= MOST_TOKENS) {
        *counter += tokens;
    }
}

int64_t coding_cost(struct json_object *dollars)
{
    bool is_number = json_object_is_type(dollars, json_type_double) ||
                     json_object_is_type(dollars, json_type_int);
    double micro = is_number ? json_object_get_double(dollars) * MICRO : NAN;
    /* What is not a number compares as false. */
    return micro >= 0 && micro < (double)(INT64_MAX / 4) ? (int64_t)ceil(micro) : COST_UNKNOWN;
}

void coding_add_cost(struct coding_said *said, int64_t cost_micro)
{
    if (cost_micro >= 0) {
        int64_t before = said->cost_micro < 0 ? 0 : said->cost_micro;
        said->cost_micro = before > INT64_MAX / 4 ? before : before + cost_micro;
    }
}

/* ---- Lines -----------------------------------------------------------------------------------
 */

/** Formats of JSON: one object a line. Others may print a word between them. */
static void read_json_line(struct coding_stream *stream)
{
    auto_json struct json_object *root = NULL;
    bool is_object = json_parse(stream->line.data, stream->line.len, &root, NULL) == 0 &&
                     json_object_is_type(root, json_type_object);
    if (is_object) {
        formats[stream->format].read(&stream->reader, root);
    } else {
        stream->reader.said.unknown_lines++;
    }
}

/** Mark a line as cut, between characters. */
static void mark_cut(struct buf *line)
{
    size_t lead = line->len; /* after the first byte of the last character */
    while (lead > 0 && line->len - lead < 3 &&
           ((unsigned char)line->data[lead - 1] & 0xc0) == 0x80) {
        lead--;
    }
    if (lead > 0 && (unsigned char)line->data[lead - 1] >= 0xc0 &&
        utf8_sequence_len(line->data + lead - 1, line->len - lead + 1) == 0) {
        line->len = lead - 1;
    }
    buf_append_string(line, " [cut]");
}

static void end_line(struct coding_stream *stream)
{
    struct coding_said *said = &stream->reader.said;
    bool is_text = stream->format == CODING_FORMAT_TEXT;
    said->lines++;
    said->long_lines += stream->is_too_long;
    if (is_text && stream->line.len == 0) {
        coding_say_whole(&stream->reader); /* Paragraphs are messages. */
    } else if (is_text) {
        if (stream->is_too_long) {
            mark_cut(&stream->line);
        }
        buf_append_string(&stream->line, "\n");
        coding_say_part(&stream->reader, buf_string(&stream->line));
    } else if (!stream->is_too_long && stream->line.len > 0) {
        read_json_line(stream);
    }
    buf_clear(&stream->line);
    stream->is_too_long = false;
}

static void add_to_line(struct coding_stream *stream, const char *bytes, size_t len)
{
    size_t limit = stream->format == CODING_FORMAT_TEXT ? LIMIT_CODING_TEXT_LINE_BYTES
                                                        : LIMIT_CODING_LINE_BYTES;
    size_t room = limit - stream->line.len;
    buf_append(&stream->line, bytes, len < room ? len : room);
    stream->is_too_long = stream->is_too_long || len > room;
}

void coding_stream_take(struct coding_stream *stream, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end == NULL ? len : (size_t)(end - bytes);
        add_to_line(stream, bytes, part);
        if (end == NULL) {
            return;
        }
        end_line(stream);
        bytes += part + 1;
        len -= part + 1;
    }
}

void coding_stream_end(struct coding_stream *stream)
{
    if (stream->line.len > 0) {
        end_line(stream);
    }
    coding_say_whole(&stream->reader);
}
