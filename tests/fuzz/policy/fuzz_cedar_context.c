// SPDX-License-Identifier: Apache-2.0
/*
 * A context from JSON: what is taken is JSON and a record whose values are written and compared
 * without harm; read once more as an attribute it is the same value; and a value that is refused
 * leaves the attribute alone.
 */
#include "../fuzz.h"

#include "base/buf.h"
#include "policy/cedar/entities.h"

#include <string.h>

static struct cedar_value record_of(const struct cedar_context *context)
{
    return cedar_object(CEDAR_RECORD, &context->record);
}

static void check_context(const struct cedar_context *context)
{
    struct buf text = {0};
    cedar_value_write(record_of(context), &text);
    FUZZ_CHECK(text.len >= 2);
    FUZZ_CHECK(cedar_value_equals(record_of(context), record_of(context)));
    for (size_t i = 0; i < context->record.count; i++) {
        const struct cedar_field *field = &context->record.fields[i];
        FUZZ_CHECK(cedar_record_get(&context->record, field->name) == &field->value);
    }
    buf_fini(&text);
}

static void check_attribute(struct cedar_context *attributes, const char *json, size_t size,
                            const struct cedar_context *context)
{
    struct rondo_error err = {0};
    int code = cedar_context_set_json(attributes, 1, json, size, &err);
    struct cedar_value value = attributes->record.fields[attributes->field_of[1]].value;
    FUZZ_CHECK(context == NULL || (code == 0 && cedar_value_equals(value, record_of(context))));
    FUZZ_CHECK(code == 0 || (err.message[0] != '\0' && value.kind == CEDAR_LONG));
    FUZZ_CHECK(code != 0 || fuzz_is_json(json, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"b", "a"};
    char *json = fuzz_bytes(data, size);
    struct rondo_error err = {0};
    struct cedar_context *attributes = cedar_context_new(names, 2);
    cedar_context_set(attributes, 1, cedar_long(7));
    struct cedar_context *context = cedar_context_parse(json, size, &err);
    if (context != NULL) {
        FUZZ_CHECK(fuzz_is_json(json, size));
        check_context(context);
    } else {
        FUZZ_CHECK(err.code == RONDO_ERR_INVALID || err.code == RONDO_ERR_LIMIT);
        FUZZ_CHECK(strlen(err.message) > 0);
    }
    check_attribute(attributes, json, size, context);
    check_attribute(attributes, json, size, context);
    cedar_context_free(context);
    cedar_context_free(attributes);
    free(json);
    return 0;
}
