// SPDX-License-Identifier: Apache-2.0
/*
 * Reading mails with GMime, on a thread of its own: its parser is recursive, up to a thousand
 * levels of nested parts, which takes more stack than threads of calls have. It is joined at once.
 */
#include "tool/mail/message.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/text/plain.h"
#include "tool/builtin/html.h"
#include "tool/mail/gmime_library.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES ((size_t)16 * 1024 * 1024)
/** Parts that are looked at, and attachments that are named. */
#define MOST_PARTS    200
#define MOST_ATTACHED 20
/** A decoded header, and the name of an attachment. */
#define HEADER_BYTES ((size_t)1000)
#define NAME_BYTES   ((size_t)200)

struct mail_reading {
    struct gmime_library mime;
    const char *bytes;
    size_t len;
    const char *const *names; /* of headers */
    const char *const *labels;
    bool wants_text;
    size_t max_bytes;
    struct buf *text;
    struct buf plain;
    struct buf html;
    struct buf attached;
    size_t attached_count;
    int result;
    struct rondo_error err;
};

static void add_line(struct buf *text, const char *label, const char *words, size_t most)
{
    auto_buf struct buf clean = {0};
    text_clean(words, strnlen(words, most), &clean);
    buf_printf(text, "%s%s%s: %s", text->len > 0 ? "\n" : "", label, "", buf_string(&clean));
}

static void add_headers(struct mail_reading *reading, gmime_object *message)
{
    auto_buf struct buf lines = {0};
    for (size_t i = 0; reading->names[i] != NULL; i++) {
        const char *value = reading->mime.g_mime_object_get_header(message, reading->names[i]);
        if (value != NULL && value[0] != '\0') {
            add_line(&lines, reading->labels[i], value, HEADER_BYTES);
        }
    }
    buf_append(reading->text, lines.data, lines.len);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static void add_attached(struct mail_reading *reading, gmime_object *part)
{
    const char *name = reading->mime.g_mime_part_get_filename(part);
    char *type = reading->mime.g_mime_content_type_get_mime_type(
        reading->mime.g_mime_object_get_content_type(part));
    auto_buf struct buf clean = {0};
    if (reading->attached_count++ < MOST_ATTACHED) {
        text_clean(name == NULL ? "(no name)" : name,
                   strnlen(name == NULL ? "(no name)" : name, NAME_BYTES), &clean);
        buf_append_string(&clean, " (");
        text_clean(type == NULL ? "" : type, strnlen(type == NULL ? "" : type, NAME_BYTES), &clean);
        buf_printf(&reading->attached, "\nAttachment: %s)", buf_string(&clean));
    }
    reading->mime.g_free(type);
}

static void add_text(struct mail_reading *reading, gmime_object *part, struct buf *out)
{
    char *text = reading->mime.g_mime_text_part_get_text(part);
    size_t room =
        out->len < (size_t)8 * reading->max_bytes ? (size_t)8 * reading->max_bytes - out->len : 0;
    size_t len = text == NULL ? 0 : strnlen(text, room);
    if (len > 0) {
        buf_printf(out, "%s", out->len > 0 ? "\n" : "");
        buf_append(out, text, len);
    }
    reading->mime.g_free(text);
}

static void take_part(struct mail_reading *reading, gmime_object *part)
{
    const struct gmime_library *mime = &reading->mime;
    gmime_type_of_content *type = mime->g_mime_object_get_content_type(part);
    if (!mime->g_type_check_instance_is_a(part, mime->g_mime_part_get_type())) {
        return; /* a message, or one that holds others */
    }
    bool is_text = mime->g_type_check_instance_is_a(part, mime->g_mime_text_part_get_type());
    bool is_attached = mime->g_mime_part_is_attachment(part) != 0;
    if (is_text && !is_attached && mime->g_mime_content_type_is_type(type, "text", "html")) {
        add_text(reading, part, &reading->html);
    } else if (is_text && !is_attached &&
               mime->g_mime_content_type_is_type(type, "text", "plain")) {
        add_text(reading, part, &reading->plain);
    } else {
        add_attached(reading, part);
    }
}

static void take_parts(struct mail_reading *reading, gmime_object *message)
{
    const struct gmime_library *mime = &reading->mime;
    gmime_iterator *iterator = mime->g_mime_part_iter_new(message);
    for (int i = 0; i < MOST_PARTS && mime->g_mime_part_iter_is_valid(iterator); i++) {
        take_part(reading, mime->g_mime_part_iter_get_current(iterator));
        if (!mime->g_mime_part_iter_next(iterator)) {
            break;
        }
    }
    mime->g_mime_part_iter_free(iterator);
}

static void write_body(struct mail_reading *reading)
{
    auto_buf struct buf body = {0};
    if (reading->plain.len > 0) {
        text_clean_lines(reading->plain.data, reading->plain.len, &body);
    } else if (reading->html.len > 0) {
        auto_buf struct buf markdown = {0};
        html_to_markdown(reading->html.data, reading->html.len, reading->max_bytes, &markdown);
        text_clean_lines(markdown.data, markdown.len, &body);
    } else {
        buf_append_string(&body, "(no text content)");
    }
    buf_append_string(reading->text, "\n\n");
    buf_append(reading->text, body.data, body.len);
    if (reading->attached.len > 0) {
        buf_append_string(reading->text, "\n");
        buf_append(reading->text, reading->attached.data, reading->attached.len);
    }
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void *read_mail(void *context)
{
    struct mail_reading *reading = context;
    const struct gmime_library *mime = &reading->mime;
    gmime_object *stream = mime->g_mime_stream_mem_new_with_buffer(reading->bytes, reading->len);
    gmime_object *parser = mime->g_mime_parser_new_with_stream(stream);
    gmime_object *message = mime->g_mime_parser_construct_message(parser, NULL);
    if (message == NULL) {
        reading->result = error_set(&reading->err, RONDO_ERR_INVALID, "it is not a mail");
    } else {
        add_headers(reading, message);
        if (reading->wants_text) {
            take_parts(reading, message);
            write_body(reading);
        }
        mime->g_object_unref(message);
    }
    mime->g_object_unref(parser);
    mime->g_object_unref(stream);
    return NULL;
}

static int read_beside(struct mail_reading *reading, struct rondo_error *err)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int r = gmime_library_open(&reading->mime, err);
    if (r < 0) {
        return r;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    bool is_started = pthread_create(&thread, &attributes, read_mail, reading) == 0;
    pthread_attr_destroy(&attributes);
    if (!is_started) {
        return error_set(err, RONDO_ERR_SYSTEM, "a thread cannot be started");
    }
    pthread_join(thread, NULL);
    buf_fini(&reading->plain);
    buf_fini(&reading->html);
    buf_fini(&reading->attached);
    return reading->result < 0 ? error_set(err, reading->result, "%s", reading->err.message) : 0;
}

int message_write_headers(const char *bytes, size_t len, const char *const *names,
                          const char *const *labels, struct buf *ret_text, struct rondo_error *err)
{
    struct mail_reading reading = {
        .bytes = bytes, .len = len, .names = names, .labels = labels, .text = ret_text};
    return read_beside(&reading, err);
}

int message_write(const char *bytes, size_t len, size_t max_bytes, struct buf *ret_text,
                  struct rondo_error *err)
{
    static const char *const names[] = {"Subject", "From", "To", "Cc", "Date", NULL};
    struct mail_reading reading = {.bytes = bytes,
                                   .len = len,
                                   .names = names,
                                   .labels = names,
                                   .wants_text = true,
                                   .max_bytes = max_bytes,
                                   .text = ret_text};
    return read_beside(&reading, err);
}
