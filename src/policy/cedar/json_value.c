// SPDX-License-Identifier: Apache-2.0
/* From JSON nodes to Cedar values. Recursion is bounded by the depth of the nodes. */
#include "base/buf.h"
#include "policy/cedar/function.h"
#include "policy/cedar/json.h"

#include <string.h>

/** Bytes of a number that a message shows. */
#define SHOWN_DIGITS 64

/* ---- Numbers and other plain values --------------------------------------------------------- */

static int fail_number(struct json_reader *json, const struct json_node *node)
{
    const char *text = json->text + node->at;
    int len = node->count < SHOWN_DIGITS ? (int)node->count : SHOWN_DIGITS;
    bool has_exponent =
        memchr(text, 'e', node->count) != NULL || memchr(text, 'E', node->count) != NULL;
    if (has_exponent) {
        return json_reader_fail_at(json, node,
                                   "a number with an exponent is not a Cedar value; "
                                   "write the whole number");
    }
    if (memchr(text, '.', node->count) != NULL) {
        return json_reader_fail_at(json, node,
                                   "a number with a fraction is not a Cedar value; use "
                                   "{\"__extn\":{\"fn\":\"decimal\",\"arg\":\"%.*s\"}}",
                                   len, text);
    }
    if (node->count == 2) {
        return json_reader_fail_at(json, node, "-0 is not a Cedar value; write 0");
    }
    return json_reader_fail_at(json, node,
                               "%.*s is out of range; a Cedar long goes from -9223372036854775808 "
                               "to 9223372036854775807",
                               len, text);
}

static int cedar_json_to_value(struct json_reader *json, const struct json_node *node,
                               struct cedar_value *ret_value);

static int to_set(struct json_reader *json, const struct json_node *node,
                  struct cedar_value *ret_value)
{
    struct cedar_value *values = arena_new_array(json->arena, node->count, sizeof(*values));
    for (size_t i = 0; i < node->count; i++) {
        int r = cedar_json_to_value(json, &node->as.children[i], &values[i]);
        if (r != 0) {
            return r;
        }
    }
    *ret_value = cedar_object(CEDAR_SET, cedar_set_make(json->arena, values, node->count));
    return 0;
}

int cedar_json_to_record(struct json_reader *json, const struct json_node *node,
                         const struct cedar_record **ret_record)
{
    if (node->kind != JSON_NODE_OBJECT) {
        return json_reader_fail_at(json, node, "expected an object");
    }
    struct cedar_field *fields = arena_new_array(json->arena, node->count, sizeof(*fields));
    for (size_t i = 0; i < node->count; i++) {
        const struct json_node *key = &node->as.children[2 * i];
        fields[i].name = cedar_text_new(json->arena, key->as.bytes, key->count);
        int r = cedar_json_to_value(json, key + 1, &fields[i].value);
        if (r != 0) {
            return r;
        }
    }
    const struct cedar_record *record = cedar_record_make(json->arena, fields, node->count);
    if (record == NULL) { /* Reading has looked for such keys already. */
        return json_reader_fail_at(json, node, "a key occurs twice");
    }
    *ret_record = record;
    return 0;
}

/* ---- Uids ----------------------------------------------------------------------------------- */

struct reference {
    const struct json_node *type;
    const struct json_node *id;
};

static bool are_strings(const struct reference *reference)
{
    return reference->type != NULL && reference->type->kind == JSON_NODE_STRING &&
           reference->id != NULL && reference->id->kind == JSON_NODE_STRING;
}

/** `{"type":"..","id":".."}`, whatever else is in it. */
static bool find_reference(const struct json_node *node, struct reference *ret_reference)
{
    ret_reference->type = json_node_member(node, "type");
    ret_reference->id = json_node_member(node, "id");
    return are_strings(ret_reference);
}

/** The same, or `["type","id"]`, which the real engine takes where only a uid can be. */
static bool find_uid(const struct json_node *node, struct reference *ret_reference)
{
    if (node != NULL && node->kind == JSON_NODE_ARRAY && node->count == 2) {
        ret_reference->type = &node->as.children[0];
        ret_reference->id = &node->as.children[1];
        return are_strings(ret_reference);
    }
    return find_reference(node, ret_reference);
}

static int make_uid(struct json_reader *json, const struct reference *reference,
                    struct arena *arena, const struct cedar_uid **ret_uid)
{
    const struct json_node *type = reference->type;
    char shown[JSON_SHOWN_SIZE];
    if (!cedar_type_is_valid(type->as.bytes, type->count)) {
        return json_reader_fail_at(json, type,
                                   "`%s` is not the name of an entity type; expected identifiers "
                                   "joined by `::`, none of them reserved",
                                   json_node_show(type, shown));
    }
    *ret_uid = cedar_uid_make(arena, cedar_text_new(arena, type->as.bytes, type->count),
                              cedar_text_new(arena, reference->id->as.bytes, reference->id->count));
    return 0;
}

static bool is_expression(const struct json_node *node)
{
    return node != NULL && node->kind == JSON_NODE_STRING;
}

static int fail_expression(struct json_reader *json, const struct json_node *node)
{
    return json_reader_fail_at(json, node,
                               "`__expr` is no longer part of Cedar; use `__entity` or "
                               "`__extn`");
}

int cedar_json_to_uid(struct json_reader *json, const struct json_node *node, struct arena *arena,
                      const struct cedar_uid **ret_uid)
{
    struct reference reference;
    if (is_expression(json_node_member(node, "__expr"))) {
        return fail_expression(json, node);
    }
    if (find_uid(json_node_member(node, "__entity"), &reference) || find_uid(node, &reference)) {
        return make_uid(json, &reference, arena, ret_uid);
    }
    return json_reader_fail_at(json, node,
                               "expected an entity as {\"type\":\"User\",\"id\":\"alice\"}%s",
                               node->kind == JSON_NODE_STRING ? ", not as a string" : "");
}

/* ---- Extension calls ------------------------------------------------------------------------ */

struct extension_call {
    const struct json_node *function;
    const struct json_node *arguments;
    uint32_t count;
};

/** `{"fn":"..","arg":..}` or `{"fn":"..","args":[..]}`; with both, `arg` counts. */
static bool find_call(const struct json_node *node, struct extension_call *ret_call)
{
    const struct json_node *arg = json_node_member(node, "arg");
    const struct json_node *args = json_node_member(node, "args");
    ret_call->function = json_node_member(node, "fn");
    if (ret_call->function == NULL || ret_call->function->kind != JSON_NODE_STRING) {
        return false;
    }
    if (arg != NULL) {
        ret_call->arguments = arg;
        ret_call->count = 1;
        return true;
    }
    if (args == NULL || args->kind != JSON_NODE_ARRAY) {
        return false;
    }
    ret_call->arguments = args->as.children;
    ret_call->count = args->count;
    return true;
}

static int fail_call(struct json_reader *json, const struct extension_call *call, int function,
                     enum cedar_failure_code failure, const struct cedar_value *wrong)
{
    const char *name = cedar_function_name(function);
    char shown[JSON_SHOWN_SIZE];
    switch (failure) {
    case CEDAR_FAIL_EXTENSION:
        return json_reader_fail_at(json, call->arguments, "%s() does not accept \"%s\"", name,
                                   json_node_show(call->arguments, shown));
    case CEDAR_FAIL_TYPE:
        return json_reader_fail_at(json, call->arguments, "%s() does not accept a value of type %s",
                                   name, cedar_kind_name(wrong->kind));
    case CEDAR_FAIL_ARGUMENTS:
        return json_reader_fail_at(json, call->function, "%s() does not take %u argument%s", name,
                                   call->count, call->count == 1 ? "" : "s");
    case CEDAR_FAIL_NONE:
    case CEDAR_FAIL_OVERFLOW:
    case CEDAR_FAIL_NO_ATTRIBUTE:
    case CEDAR_FAIL_NO_TAG:
    case CEDAR_FAIL_NO_ENTITY:
        break;
    }
    return json_reader_fail_at(json, call->function, "%s() overflows", name);
}

/** Arguments are of no use once the result is known: they go to the scratch memory. */
static int read_arguments(struct json_reader *json, const struct extension_call *call,
                          struct cedar_value *ret_values)
{
    struct arena *arena = json->arena;
    json->arena = &json->scratch;
    int r = 0;
    for (size_t i = 0; i < call->count && r == 0; i++) {
        r = cedar_json_to_value(json, &call->arguments[i], &ret_values[i]);
    }
    json->arena = arena;
    return r;
}

static int to_extension(struct json_reader *json, const struct extension_call *call,
                        struct cedar_value *ret_value)
{
    int function = cedar_function_find(call->function->as.bytes, call->function->count);
    char shown[JSON_SHOWN_SIZE];
    if (function < 0) {
        return json_reader_fail_at(json, call->function,
                                   "there is no extension function `%s`; expected ip, decimal, "
                                   "datetime, duration or one of their methods",
                                   json_node_show(call->function, shown));
    }
    struct cedar_value *values = arena_new_array(&json->scratch, call->count, sizeof(*values));
    int r = read_arguments(json, call, values);
    if (r != 0) {
        return r;
    }
    struct cedar_value result = cedar_bool(false);
    enum cedar_failure_code failure =
        cedar_function_call(function, values, call->count, json->arena, &result);
    if (failure != CEDAR_FAIL_NONE) {
        return fail_call(json, call, function, failure, &result);
    }
    *ret_value = result;
    return 0;
}

/* ---- Escapes -------------------------------------------------------------------------------- */

/** Fields of an escape that nobody looks at may hold anything that is not a broken number. */
static int check_numbers(struct json_reader *json, const struct json_node *node)
{
    if (node->kind == JSON_NODE_NUMBER) {
        return fail_number(json, node);
    }
    bool is_object = node->kind == JSON_NODE_OBJECT;
    size_t count = is_object ? (size_t)node->count * 2 : node->count;
    for (size_t i = 0; (is_object || node->kind == JSON_NODE_ARRAY) && i < count; i++) {
        int r = check_numbers(json, &node->as.children[i]);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/** Check the fields of an escape's object. @param read one that is read anyway, or NULL */
static int check_others(struct json_reader *json, const struct json_node *object, const char *read)
{
    const struct json_node *known = read == NULL ? NULL : json_node_member(object, read);
    for (size_t i = 0; i < object->count; i++) {
        const struct json_node *value = &object->as.children[2 * i + 1];
        int r = value == known ? 0 : check_numbers(json, value);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static bool is_named(const struct json_node *key, const char *name)
{
    return key->count == strlen(name) && memcmp(key->as.bytes, name, key->count) == 0;
}

/** An object with one member. @return 1 when it is an escape, 0 when not, negative on an error */
static int read_escape(struct json_reader *json, const struct json_node *node,
                       struct cedar_value *ret_value)
{
    const struct json_node *key = node->as.children;
    const struct json_node *inner = key + 1;
    struct reference reference;
    struct extension_call call;
    if (is_named(key, "__expr") && is_expression(inner)) {
        return fail_expression(json, node);
    }
    if (is_named(key, "__entity") && find_reference(inner, &reference)) {
        const struct cedar_uid *uid = NULL;
        int r = check_others(json, inner, NULL);
        r = r != 0 ? r : make_uid(json, &reference, json->arena, &uid);
        *ret_value = cedar_object(CEDAR_ENTITY, uid);
        return r != 0 ? r : 1;
    }
    if (is_named(key, "__extn") && find_call(inner, &call)) {
        bool has_one = json_node_member(inner, "arg") != NULL;
        int r = check_others(json, inner, has_one ? "arg" : "args");
        r = r != 0 ? r : to_extension(json, &call, ret_value);
        return r != 0 ? r : 1;
    }
    return 0;
}

static int to_object(struct json_reader *json, const struct json_node *node,
                     struct cedar_value *ret_value)
{
    struct cedar_value value;
    int r = node->count == 1 ? read_escape(json, node, &value) : 0;
    if (r == 0) {
        const struct cedar_record *record = NULL;
        r = cedar_json_to_record(json, node, &record);
        value = cedar_object(CEDAR_RECORD, record);
    }
    if (r < 0) {
        return r;
    }
    *ret_value = value;
    return 0;
}

/** A value from a node that was read. */
static int cedar_json_to_value(struct json_reader *json, const struct json_node *node,
                               struct cedar_value *ret_value)
{
    switch (node->kind) {
    case JSON_NODE_NULL:
        return json_reader_fail_at(json, node, "null is not a Cedar value; leave the field out");
    case JSON_NODE_BOOL:
        *ret_value = cedar_bool(node->as.truth);
        return 0;
    case JSON_NODE_INTEGER:
        *ret_value = cedar_long(node->as.number);
        return 0;
    case JSON_NODE_NUMBER:
        return fail_number(json, node);
    case JSON_NODE_STRING:
        *ret_value =
            cedar_object(CEDAR_STRING, cedar_text_new(json->arena, node->as.bytes, node->count));
        return 0;
    case JSON_NODE_ARRAY:
        return to_set(json, node, ret_value);
    case JSON_NODE_OBJECT:
        return to_object(json, node, ret_value);
    }
    return json_reader_fail_at(json, node, "expected a value");
}

/* ---- Straight from the text ----------------------------------------------------------------- */

int cedar_json_value(struct json_reader *json, struct cedar_value *ret_value)
{
    const struct json_node *node = NULL;
    int r = json_reader_read(json, &node);
    return r != 0 ? r : cedar_json_to_value(json, node, ret_value);
}
