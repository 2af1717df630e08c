// SPDX-License-Identifier: Apache-2.0
/*
 * A context: a record whose values are set again and again. Each attribute owns the memory of
 * its strings and its JSON values, so that setting one never grows without bound.
 */
#include "base/memory.h"
#include "policy/cedar/entities.h"
#include "policy/cedar/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/** Memory of one attribute. */
struct context_memory {
    struct cedar_text *text; /**< the string that was set last */
    size_t text_size;        /**< bytes that fit */
    struct arena arenas[2];  /**< one holds the JSON value, the other takes the next one */
    unsigned in_use;
};

static uint32_t field_named(const struct cedar_record *record, const struct cedar_text *name)
{
    uint32_t field = 0;
    while (record->fields[field].name != name) {
        field++;
    }
    return field;
}

struct cedar_context *cedar_context_new(const char *const *names, size_t count)
{
    struct cedar_context *context = memory_new_zero(1, sizeof(*context));
    struct arena *arena = &context->arena;
    struct cedar_field *fields = arena_new_array(arena, count, sizeof(*fields));
    const struct cedar_text **texts = memory_new((count + 1) * sizeof(*texts));
    for (size_t i = 0; i < count; i++) {
        texts[i] = cedar_text_new(arena, names[i], strlen(names[i]));
        fields[i] = (struct cedar_field){.name = texts[i], .value = cedar_bool(false)};
    }
    const struct cedar_record *record = cedar_record_make(arena, fields, count);
    assert(record != NULL); /* The names are distinct. */
    context->record = *record;
    context->field_of = arena_new_array(arena, count, sizeof(*context->field_of));
    for (size_t i = 0; i < count; i++) {
        context->field_of[i] = field_named(record, texts[i]);
    }
    context->memory = memory_new_zero(count + 1, sizeof(*context->memory));
    free(texts);
    return context;
}

/** Nothing but one value. */
static int read_all(struct json_reader *json, struct cedar_value *ret_value)
{
    int r = json_reader_begin(json);
    r = r != 0 ? r : cedar_json_value(json, ret_value);
    return r != 0 ? r : json_reader_end(json);
}

struct cedar_context *cedar_context_parse(const char *text, size_t len, struct rondo_error *err)
{
    struct cedar_context *context = memory_new_zero(1, sizeof(*context));
    struct json_reader json = {
        .text = text, .len = len, CEDAR_JSON_LIMITS, .arena = &context->arena, .err = err};
    struct cedar_value value = cedar_bool(false);
    int r = read_all(&json, &value);
    if (r == 0 && value.kind != CEDAR_RECORD) {
        json.at = 0;
        json_reader_peek(&json);
        r = json_reader_fail(&json, "a context must be a record, not a value of type %s",
                             cedar_kind_name(value.kind));
    }
    json_reader_fini(&json);
    if (r != 0) {
        cedar_context_free(context);
        return NULL;
    }
    context->record = *cedar_as_record(value);
    return context;
}

void cedar_context_free(struct cedar_context *context)
{
    if (context == NULL) {
        return;
    }
    for (size_t i = 0; context->memory != NULL && i < context->record.count; i++) {
        free(context->memory[i].text);
        arena_fini(&context->memory[i].arenas[0]);
        arena_fini(&context->memory[i].arenas[1]);
    }
    free(context->memory);
    arena_fini(&context->arena);
    free(context);
}

void cedar_context_set(struct cedar_context *context, size_t index, struct cedar_value value)
{
    /* A context that was parsed has no list of names. */
    assert(context->field_of != NULL && index < context->record.count);
    context->record.fields[context->field_of[index]].value = value;
}

void cedar_context_set_string(struct cedar_context *context, size_t index, const char *text,
                              size_t len)
{
    assert(context->field_of != NULL && index < context->record.count && len < UINT32_MAX);
    struct context_memory *memory = &context->memory[index];
    if (memory->text == NULL || len > memory->text_size) {
        /* Longer than the old text, so it cannot be a part of that. */
        free(memory->text);
        memory->text = memory_new(cedar_text_size(len));
        memory->text_size = len;
    }
    cedar_text_fill(memory->text, text, len);
    cedar_context_set(context, index, cedar_object(CEDAR_STRING, memory->text));
}

int cedar_context_set_json(struct cedar_context *context, size_t index, const char *text,
                           size_t len, struct rondo_error *err)
{
    assert(context->field_of != NULL && index < context->record.count);
    struct context_memory *memory = &context->memory[index];
    struct arena *arena = &memory->arenas[1 - memory->in_use];
    arena_clear(arena);
    struct json_reader json = {
        .text = text, .len = len, CEDAR_JSON_LIMITS, .arena = arena, .err = err};
    struct cedar_value value = cedar_bool(false);
    int r = read_all(&json, &value);
    json_reader_fini(&json);
    if (r == 0) {
        memory->in_use = 1 - memory->in_use;
        cedar_context_set(context, index, value);
    }
    return r;
}
