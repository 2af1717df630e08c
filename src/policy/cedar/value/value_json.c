// SPDX-License-Identifier: Apache-2.0
/* Writing values as JSON. */
#include "policy/cedar/value/value_json.h"

static void write_text(struct json_writer *writer, const char *key, const struct cedar_text *text)
{
    json_write_string_len(writer, key, text->bytes, text->len);
}

static void write_uid(struct json_writer *writer, const char *key, const struct cedar_uid *uid)
{
    json_begin_object(writer, key);
    json_begin_object(writer, "__entity");
    write_text(writer, "type", uid->type);
    write_text(writer, "id", uid->id);
    json_end_object(writer);
    json_end_object(writer);
}

static void write_call(struct json_writer *writer, const char *key, const char *function,
                       const char *argument)
{
    json_begin_object(writer, key);
    json_begin_object(writer, "__extn");
    json_write_string(writer, "fn", function);
    json_write_string(writer, "arg", argument);
    json_end_object(writer);
    json_end_object(writer);
}

static void write_set(struct json_writer *writer, const char *key, const struct cedar_set *set)
{
    json_begin_array(writer, key);
    for (size_t i = 0; i < set->count; i++) {
        cedar_value_write_json(set->values[i], NULL, writer);
    }
    json_end_array(writer);
}

static void write_record(struct json_writer *writer, const char *key,
                         const struct cedar_record *record)
{
    json_begin_object(writer, key);
    for (size_t i = 0; i < record->count; i++) {
        cedar_value_write_json(record->fields[i].value, record->fields[i].name->bytes, writer);
    }
    json_end_object(writer);
}

void cedar_value_write_json(struct cedar_value value, const char *key, struct json_writer *writer)
{
    char text[CEDAR_EXTENSION_TEXT_SIZE];
    switch (value.kind) {
    case CEDAR_BOOL:
        json_write_bool(writer, key, value.as.truth);
        break;
    case CEDAR_LONG:
        json_write_int(writer, key, value.as.number);
        break;
    case CEDAR_STRING:
        write_text(writer, key, cedar_as_text(value));
        break;
    case CEDAR_ENTITY:
        write_uid(writer, key, cedar_as_uid(value));
        break;
    case CEDAR_SET:
        write_set(writer, key, cedar_as_set(value));
        break;
    case CEDAR_RECORD:
        write_record(writer, key, cedar_as_record(value));
        break;
    case CEDAR_DECIMAL:
        cedar_decimal_format(value.as.number, text);
        write_call(writer, key, "decimal", text);
        break;
    case CEDAR_IP:
        cedar_ip_format(cedar_as_ip(value), text);
        write_call(writer, key, "ip", text);
        break;
    case CEDAR_DATETIME:
        cedar_datetime_format(value.as.number, text);
        write_call(writer, key, "datetime", text);
        break;
    case CEDAR_DURATION:
        cedar_duration_format(value.as.number, text);
        write_call(writer, key, "duration", text);
        break;
    }
}
