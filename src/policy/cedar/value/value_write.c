// SPDX-License-Identifier: Apache-2.0
/* Values as Cedar text, for messages and explanations. */
#include "base/buf.h"
#include "policy/cedar/value/value.h"

#include <inttypes.h>

void cedar_text_write(const char *bytes, size_t len, struct buf *ret_buf)
{
    static const char hex[] = "0123456789abcdef";
    buf_append(ret_buf, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        switch (byte) {
        case '"':
        case '\\':
            buf_append(ret_buf, (char[]){'\\', (char)byte}, 2);
            break;
        case '\n':
            buf_append(ret_buf, "\\n", 2);
            break;
        case '\r':
            buf_append(ret_buf, "\\r", 2);
            break;
        case '\t':
            buf_append(ret_buf, "\\t", 2);
            break;
        default:
            if (byte < 0x20 || byte == 0x7f) {
                buf_append(ret_buf, (char[]){'\\', 'x', hex[byte >> 4], hex[byte & 15]}, 4);
            } else {
                buf_append(ret_buf, &bytes[i], 1);
            }
        }
    }
    buf_append(ret_buf, "\"", 1);
}

void cedar_uid_write(const struct cedar_uid *uid, struct buf *ret_buf)
{
    buf_append(ret_buf, uid->type->bytes, uid->type->len);
    buf_append(ret_buf, "::", 2);
    cedar_text_write(uid->id->bytes, uid->id->len, ret_buf);
}

static void write_set(const struct cedar_set *set, struct buf *ret_buf)
{
    buf_append(ret_buf, "[", 1);
    for (size_t i = 0; i < set->count; i++) {
        buf_append_string(ret_buf, i > 0 ? ", " : "");
        cedar_value_write(set->values[i], ret_buf);
    }
    buf_append(ret_buf, "]", 1);
}

static void write_record(const struct cedar_record *record, struct buf *ret_buf)
{
    buf_append(ret_buf, "{", 1);
    for (size_t i = 0; i < record->count; i++) {
        buf_append_string(ret_buf, i > 0 ? ", " : "");
        cedar_text_write(record->fields[i].name->bytes, record->fields[i].name->len, ret_buf);
        buf_append(ret_buf, ": ", 2);
        cedar_value_write(record->fields[i].value, ret_buf);
    }
    buf_append(ret_buf, "}", 1);
}

static void write_extension(struct cedar_value value, struct buf *ret_buf)
{
    char text[CEDAR_EXTENSION_TEXT_SIZE];
    const char *function = "ip";
    if (value.kind == CEDAR_DECIMAL) {
        function = "decimal";
        cedar_decimal_format(value.as.number, text);
    } else if (value.kind == CEDAR_DATETIME) {
        function = "datetime";
        cedar_datetime_format(value.as.number, text);
    } else if (value.kind == CEDAR_DURATION) {
        function = "duration";
        cedar_duration_format(value.as.number, text);
    } else {
        cedar_ip_format(cedar_as_ip(value), text);
    }
    buf_printf(ret_buf, "%s(\"%s\")", function, text);
}

void cedar_value_write(struct cedar_value value, struct buf *ret_buf)
{
    switch (value.kind) {
    case CEDAR_BOOL:
        buf_append_string(ret_buf, value.as.truth ? "true" : "false");
        break;
    case CEDAR_LONG:
        buf_printf(ret_buf, "%" PRId64, value.as.number);
        break;
    case CEDAR_STRING:
        cedar_text_write(cedar_as_text(value)->bytes, cedar_as_text(value)->len, ret_buf);
        break;
    case CEDAR_ENTITY:
        cedar_uid_write(cedar_as_uid(value), ret_buf);
        break;
    case CEDAR_SET:
        write_set(cedar_as_set(value), ret_buf);
        break;
    case CEDAR_RECORD:
        write_record(cedar_as_record(value), ret_buf);
        break;
    case CEDAR_DECIMAL:
    case CEDAR_IP:
    case CEDAR_DATETIME:
    case CEDAR_DURATION:
        write_extension(value, ret_buf);
        break;
    }
}
