// SPDX-License-Identifier: Apache-2.0
#include "source/webhook/hook_conversation.h"

#include "base/ascii.h"
#include "base/json/json.h"
#include "source/source.h"
#include "source/template.h"

#include <string.h>

#define HEADER_MARK "{header."
/** Longest name of a header in a setting. */
#define HEADER_NAME_SIZE 128

static size_t name_len(const char *text)
{
    size_t len = 0;
    while (ascii_is_letter_or_digit(text[len]) || text[len] == '_' || text[len] == '-') {
        len++;
    }
    return len;
}

/** A header that the setting names, under the name that it has there. */
static void add_header(const char *name, size_t len, const struct source_delivery *delivery,
                       struct json_writer *writer)
{
    char given[HEADER_NAME_SIZE] = "";
    char lower[HEADER_NAME_SIZE] = "";
    memcpy(given, name, len);
    for (size_t i = 0; i < len; i++) {
        lower[i] = ascii_lower(given[i]);
    }
    const char *value = delivery->header(delivery, lower);
    if (value != NULL) {
        json_write_string(writer, given, value);
    }
}

/** The headers that the setting names, as a JSON object. */
static void write_headers(const char *template, const struct source_delivery *delivery,
                          struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    for (const char *at = strstr(template, HEADER_MARK); at != NULL;
         at = strstr(at + 1, HEADER_MARK)) {
        const char *name = at + strlen(HEADER_MARK);
        size_t len = name_len(name);
        if (len > 0 && len < HEADER_NAME_SIZE) {
            add_header(name, len, delivery, &writer);
        }
    }
    json_end_object(&writer);
}

int hook_conversation(const char *template, const struct source_delivery *delivery,
                      struct buf *ret_key, struct rondo_error *err)
{
    auto_buf struct buf headers = {0};
    write_headers(template, delivery, &headers);
    const struct template_value values[] = {
        {.name = "body", .text = delivery->body, .len = delivery->body_len, .is_json = true},
        {.name = "header", .text = buf_string(&headers), .len = headers.len, .is_json = true},
        {0},
    };
    return template_key(template, values, ret_key, err);
}
