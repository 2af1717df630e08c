// SPDX-License-Identifier: Apache-2.0
/* Names, encoding, decoding and the reference page of events, driven by events.def. */
#include "journal/event.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "store/store.h"

#include <json-c/json.h>
#include <string.h>

static const struct {
    const char *name;
    const char *help;
} types[JOURNAL_TYPE_COUNT] = {
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help) [JOURNAL_##ID] = {name, help},
#include "journal/events.def"
};

/* See events.def. */
enum field_kind {
    KIND_INT,
    KIND_COST,
    KIND_COUNT,
    KIND_AMOUNT,
    KIND_TIME,
    KIND_TEXT,
    KIND_OUTPUT,
    KIND_JSON,
};

struct event_field {
    const char *name; /* NULL ends a list */
    const char *help;
    enum field_kind kind;
    size_t offset; /* in struct journal_event */
};

/** The fields of a type. */
static const struct event_field *fields_of(enum journal_type type)
{
    switch (type) {
/* clang-format off */
#define EVENT(ID, id, name, CATEGORY, LEVEL, FOLD, help)     \
    case JOURNAL_##ID: {                                     \
        typedef struct event_##id this_event;                \
        enum { BEGIN = offsetof(struct journal_event, id) }; \
        static const struct event_field fields[] = {
#define FIELD_AS(KIND, member, wire, help) \
            {wire, help, KIND_##KIND, BEGIN + offsetof(this_event, member)},
#define END()                                                \
            {NULL, NULL, KIND_INT, 0}};                      \
        return fields;                                       \
    }
#include "journal/events.def"
    /* clang-format on */
    case JOURNAL_TYPE_COUNT:
        break;
    }
    static const struct event_field none[] = {{NULL, NULL, KIND_INT, 0}};
    return none;
}

const char *journal_type_name(enum journal_type type)
{
    return (unsigned)type < JOURNAL_TYPE_COUNT ? types[type].name : "unknown";
}

bool journal_type_from_name(const char *name, enum journal_type *ret_type)
{
    for (unsigned i = 0; i < JOURNAL_TYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *ret_type = (enum journal_type)i;
            return true;
        }
    }
    return false;
}

/* ---- Access by the table -------------------------------------------------------------------- */

static int64_t get_int(const struct journal_event *event, const struct event_field *field)
{
    int64_t number;
    memcpy(&number, (const char *)event + field->offset, sizeof(number));
    return number;
}

static void set_int(struct journal_event *event, const struct event_field *field, int64_t number)
{
    memcpy((char *)event + field->offset, &number, sizeof(number));
}

static const char *get_text(const struct journal_event *event, const struct event_field *field)
{
    const char *text;
    memcpy(&text, (const char *)event + field->offset, sizeof(text));
    return text;
}

static void set_text(struct journal_event *event, const struct event_field *field, const char *text)
{
    memcpy((char *)event + field->offset, &text, sizeof(text));
}

/** The length of a field of the kind OUTPUT comes after its text. */
static size_t get_len(const struct journal_event *event, const struct event_field *field)
{
    size_t len;
    memcpy(&len, (const char *)event + field->offset + sizeof(const char *), sizeof(len));
    return len;
}

static void set_len(struct journal_event *event, const struct event_field *field, size_t len)
{
    memcpy((char *)event + field->offset + sizeof(const char *), &len, sizeof(len));
}

size_t journal_output_len(const char *output, size_t len)
{
    return len > 0 || output == NULL ? len : strlen(output);
}

int64_t journal_event_iteration(const struct journal_event *event)
{
    for (const struct event_field *field = fields_of(event->type); field->name != NULL; field++) {
        if (strcmp(field->name, "iteration") == 0) {
            return get_int(event, field);
        }
    }
    return 0;
}

const char *journal_event_spec(const struct journal_event *event)
{
    return event->type == JOURNAL_RUN_CREATED   ? event->run_created.spec
           : event->type == JOURNAL_RUN_OPTIONS ? event->run_options.spec
                                                : NULL;
}

const char *journal_event_output(const struct journal_event *event, size_t *ret_len)
{
    for (const struct event_field *field = fields_of(event->type); field->name != NULL; field++) {
        if (field->kind == KIND_OUTPUT) {
            const char *output = get_text(event, field);
            *ret_len = journal_output_len(output, get_len(event, field));
            return output;
        }
    }
    *ret_len = 0;
    return NULL;
}

/* ---- Encoding ------------------------------------------------------------------------------- */

static void encode_text(const struct journal_event *event, const struct event_field *field,
                        struct json_writer *writer)
{
    const char *text = get_text(event, field);
    if (text == NULL) {
        return; /* An absent field says the same in fewer bytes. */
    }
    if (field->kind == KIND_JSON) {
        json_write_raw(writer, field->name, text);
    } else if (field->kind == KIND_OUTPUT && get_len(event, field) > 0) {
        json_write_string_len(writer, field->name, text, get_len(event, field));
    } else {
        json_write_string(writer, field->name, text);
    }
}

static void encode_number(const struct journal_event *event, const struct event_field *field,
                          struct json_writer *writer)
{
    int64_t number = get_int(event, field);
    if (field->kind == KIND_COST && number < 0) {
        json_write_null(writer, field->name);
    } else if (field->kind != KIND_COUNT || number != 0) {
        json_write_int(writer, field->name, number);
    }
}

void journal_encode(const struct journal_event *event, struct buf *ret_buf)
{
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    for (const struct event_field *field = fields_of(event->type); field->name != NULL; field++) {
        switch (field->kind) {
        case KIND_INT:
        case KIND_COST:
        case KIND_COUNT:
        case KIND_AMOUNT:
        case KIND_TIME:
            encode_number(event, field, &writer);
            break;
        case KIND_TEXT:
        case KIND_OUTPUT:
        case KIND_JSON:
            encode_text(event, field, &writer);
            break;
        }
    }
    json_end_object(&writer);
}

/* ---- Decoding ------------------------------------------------------------------------------- */

/** Largest number of what Rondo counts: percentages and sums of a few can be computed from it. */
#define MAX_COUNT (INT64_C(1) << 53)
/** Largest time and duration, ns: the year 2116. */
#define MAX_TIME (INT64_C(1) << 62)

static bool is_in_range(enum field_kind kind, int64_t number)
{
    int64_t most = kind == KIND_AMOUNT ? INT64_MAX : kind == KIND_TIME ? MAX_TIME : MAX_COUNT;
    return number >= -most && number <= most;
}

/** Read one field. @return false when it is there with a wrong type, or out of its range. */
static bool decode_field(struct json_object *root, const struct event_field *field,
                         struct journal_event *event)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(root, field->name, &value)) {
        return true;
    }
    switch (field->kind) {
    case KIND_COST: {
        int64_t cost_micro = value == NULL ? COST_UNKNOWN : json_object_get_int64(value);
        set_int(event, field, cost_micro);
        return value == NULL || (json_object_is_type(value, json_type_int) && cost_micro >= 0);
    }
    case KIND_INT:
    case KIND_COUNT:
    case KIND_AMOUNT:
    case KIND_TIME: {
        int64_t number = json_object_get_int64(value);
        set_int(event, field, number);
        return json_object_is_type(value, json_type_int) && is_in_range(field->kind, number);
    }
    case KIND_TEXT:
        set_text(event, field, json_object_get_string(value));
        return json_object_is_type(value, json_type_string);
    case KIND_OUTPUT:
        set_text(event, field, json_object_get_string(value));
        set_len(event, field, (size_t)json_object_get_string_len(value));
        return json_object_is_type(value, json_type_string);
    case KIND_JSON:
        set_text(event, field, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
        return true;
    }
    return false;
}

int journal_decode(const char *type_name, const char *data, size_t len,
                   struct journal_event *ret_event, struct json_object **ret_root,
                   struct rondo_error *err)
{
    struct journal_event event;
    memset(&event, 0, sizeof(event)); /* {0} need not clear the whole union */
    if (!journal_type_from_name(type_name, &event.type)) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "unknown event type '%s'", type_name);
    }
    auto_json struct json_object *root = NULL;
    int r = json_parse(data, len, &root, err);
    if (r < 0) {
        error_prefix(err, "event %s", type_name);
        return r;
    }
    if (!json_object_is_type(root, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "event %s is not a JSON object", type_name);
    }
    for (const struct event_field *field = fields_of(event.type); field->name != NULL; field++) {
        if (!decode_field(root, field, &event)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "event %s: field '%s' has the wrong type or range", type_name,
                             field->name);
        }
    }
    *ret_event = event;
    *ret_root = root;
    root = NULL;
    return 0;
}

int journal_decode_stored(const struct store_event *stored, struct journal_event *ret_event,
                          struct json_object **ret_root, struct rondo_error *err)
{
    int r = journal_decode(stored->type, stored->data, stored->data_len, ret_event, ret_root, err);
    ret_event->seq = stored->seq;
    ret_event->time_ns = stored->time_ns;
    return r;
}

int journal_entry_decode(const struct store_event *stored, struct journal_entry *ret_entry,
                         struct json_object **ret_root, struct rondo_error *err)
{
    *ret_entry = (struct journal_entry){
        .run_id = stored->run_id,
        .position = stored->position,
        .data = stored->data,
        .type_name = stored->type,
    };
    int r = journal_decode_stored(stored, &ret_entry->event, ret_root, err);
    ret_entry->is_known = r == 0;
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        error_prefix(err, "event %llu of run %s is damaged", (unsigned long long)stored->seq,
                     stored->run_id);
        if (err != NULL) {
            err->code = RONDO_ERR_CORRUPT;
        }
        return RONDO_ERR_CORRUPT;
    }
    return 0;
}

/* ---- The reference page --------------------------------------------------------------------- */

const char *journal_type_help(enum journal_type type)
{
    return types[type].help;
}

void journal_write_fields(enum journal_type type, struct buf *ret_buf)
{
    static const char *const kinds[] = {[KIND_INT] = "integer",   [KIND_COST] = "integer or null",
                                        [KIND_COUNT] = "integer", [KIND_AMOUNT] = "integer",
                                        [KIND_TIME] = "integer",  [KIND_TEXT] = "text",
                                        [KIND_OUTPUT] = "text",   [KIND_JSON] = "JSON"};
    buf_append_string(ret_buf, "| field | type | meaning |\n|---|---|---|\n");
    for (const struct event_field *field = fields_of(type); field->name != NULL; field++) {
        buf_printf(ret_buf, "| `%s` | %s | %s |\n", field->name, kinds[field->kind], field->help);
    }
}
