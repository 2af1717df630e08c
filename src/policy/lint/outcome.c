// SPDX-License-Identifier: Apache-2.0
/* Types in words, and reporting what does not fit. */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/cedar/lexer.h"
#include "policy/lint/lint_internal.h"

#include <string.h>

uint32_t presence_bit(enum lint_path path, const struct vocabulary_attribute *attribute)
{
    /* Eight attributes for each of the three paths that are followed. */
    unsigned ordinal = vocabulary_attribute_ordinal(attribute);
    return path == PATH_NONE || ordinal >= 8 ? 0
                                             : UINT32_C(1) << ((unsigned)path * 8 - 8 + ordinal);
}

unsigned wrong_kinds(const struct lint_outcome *outcome, unsigned live, unsigned kinds)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        unsigned kind = outcome->types[i].kind;
        if (kind != KIND_ANY && (kinds & KIND_BIT(kind)) == 0) {
            wrong |= VOCABULARY_ACTION_BIT(i);
        }
    }
    return wrong & live;
}

struct type type_for(const struct lint_outcome *outcome, unsigned actions)
{
    unsigned i = 0;
    while (i + 1 < VOCABULARY_ACTION_COUNT && (actions & VOCABULARY_ACTION_BIT(i)) == 0) {
        i++;
    }
    return outcome->types[i];
}

void type_describe(struct type type, struct buf *ret_text)
{
    const char *name = type.kind == KIND_ANY ? "value" : vocabulary_type_name(type.kind);
    if (type.kind == CEDAR_ENTITY && type.owner != OWNER_NONE) {
        name = vocabulary_entity(type.owner)->name;
    }
    buf_printf(ret_text, "%s %s", strchr("AEIOaeio", name[0]) != NULL ? "an" : "a", name);
}

bool lint_write_plain(const struct expression *expression, struct buf *ret_text)
{
    if (expression->kind == EXPRESSION_VARIABLE) {
        buf_append_string(ret_text, variable_name((enum request_variable)expression->variable));
        return true;
    }
    if (expression->kind == EXPRESSION_ATTRIBUTE) {
        const struct cedar_text *name = expression->names[0];
        bool is_plain = lexer_identifier_len(name->bytes, name->len) == name->len &&
                        !lexer_is_reserved(name->bytes, name->len);
        if (!lint_write_plain(expression->operands[0], ret_text)) {
            return false;
        }
        buf_append_string(ret_text, is_plain ? "." : "[");
        if (is_plain) {
            buf_append(ret_text, name->bytes, name->len);
            return true;
        }
        cedar_text_write(name->bytes, name->len, ret_text);
        buf_append_string(ret_text, "]");
        return true;
    }
    /* The order of a set's elements is lost. */
    if (expression->kind == EXPRESSION_VALUE && expression->value.kind != CEDAR_RECORD &&
        expression->value.kind != CEDAR_SET) {
        cedar_value_write(expression->value, ret_text);
        return true;
    }
    return false;
}

static bool is_literal(const struct expression *expression, enum cedar_kind kind)
{
    return expression->kind == EXPRESSION_VALUE && expression->value.kind == kind;
}

/** Append a decimal() for a literal that was meant as one. @return false: it was not */
static bool write_decimal(const struct expression *literal, struct buf *ret_text)
{
    int64_t units = 0;
    if (is_literal(literal, CEDAR_LONG)) {
        buf_printf(ret_text, "decimal(\"%lld.00\")", (long long)literal->value.as.number);
        return true;
    }
    if (!is_literal(literal, CEDAR_STRING)) {
        return false;
    }
    const struct cedar_text *text = cedar_as_text(literal->value);
    if (!cedar_decimal_parse(text->bytes, text->len, &units)) {
        return false;
    }
    buf_printf(ret_text, "decimal(\"%s\")", text->bytes);
    return true;
}

bool lint_write_as(const struct expression *literal, unsigned kind, struct buf *ret_text)
{
    int64_t number = 0;
    if (kind == CEDAR_DECIMAL) {
        return write_decimal(literal, ret_text);
    }
    if (!is_literal(literal, CEDAR_STRING)) {
        return false;
    }
    const struct cedar_text *text = cedar_as_text(literal->value);
    bool is_number =
        text->len > 0 && text->len < 19 && strspn(text->bytes, "0123456789") == text->len;
    if (kind == CEDAR_LONG && is_number) {
        buf_append(ret_text, text->bytes, text->len);
    } else if (kind == CEDAR_BOOL &&
               (strcmp(text->bytes, "true") == 0 || strcmp(text->bytes, "false") == 0)) {
        buf_append_string(ret_text, text->bytes);
    } else if (kind == CEDAR_DATETIME && cedar_datetime_parse(text->bytes, text->len, &number)) {
        buf_printf(ret_text, "datetime(\"%s\")", text->bytes);
    } else if (kind == CEDAR_DURATION && cedar_duration_parse(text->bytes, text->len, &number)) {
        buf_printf(ret_text, "duration(\"%s\")", text->bytes);
    } else {
        return false;
    }
    return true;
}

void lint_show(const struct expression *expression, struct buf *ret_text)
{
    auto_buf struct buf plain = {0};
    if (lint_write_plain(expression, &plain)) {
        lint_quote(buf_string(&plain), plain.len, ret_text);
    } else {
        buf_append_string(ret_text, "this");
    }
}

void lint_report_for(struct lint *lint, unsigned wrong, unsigned live, size_t offset,
                     const char *message)
{
    auto_buf struct buf text = {0};
    if (wrong != live) {
        buf_append_string(&text, " (for ");
        lint_write_actions(wrong, &text);
        buf_append_string(&text, ")");
    }
    lint_report(lint, wrong == live, offset, "%s%s", message, buf_string(&text));
}

void lint_require(struct lint *lint, const struct expression *expression,
                  const struct lint_outcome *outcome, unsigned live, enum cedar_kind kind,
                  const char *by)
{
    unsigned wrong = wrong_kinds(outcome, live, KIND_BIT(kind));
    if (wrong == 0) {
        return;
    }
    auto_buf struct buf text = {0};
    auto_buf struct buf hint = {0};
    buf_printf(&text, "%s ", by);
    type_describe((struct type){.kind = (uint8_t)kind}, &text);
    buf_append_string(&text, ", but ");
    lint_show(expression, &text);
    buf_append_string(&text, " is ");
    type_describe(type_for(outcome, wrong), &text);
    if (lint_write_as(expression, kind, &hint)) {
        buf_append_string(&text, "; write ");
        lint_quote(hint.data, hint.len, &text);
    }
    lint_report_for(lint, wrong, live, expression->begin, buf_string(&text));
}
