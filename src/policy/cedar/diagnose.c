// SPDX-License-Identifier: Apache-2.0
/* Failures of policies in words. */
#include "base/auto.h"
#include "base/buf.h"
#include "policy/cedar/function.h"
#include "policy/cedar/policies.h"

#include <stdio.h>

/** Bytes of source that a message shows. */
#define SHOWN_SOURCE_BYTES 80

const char *cedar_failure_name(enum cedar_failure_code code)
{
    switch (code) {
    case CEDAR_FAIL_NONE:
        return "none";
    case CEDAR_FAIL_TYPE:
        return "type";
    case CEDAR_FAIL_OVERFLOW:
        return "overflow";
    case CEDAR_FAIL_NO_ATTRIBUTE:
        return "no_attribute";
    case CEDAR_FAIL_NO_TAG:
        return "no_tag";
    case CEDAR_FAIL_NO_ENTITY:
        return "no_entity";
    case CEDAR_FAIL_EXTENSION:
        return "extension";
    case CEDAR_FAIL_ARGUMENTS:
        return "arguments";
    }
    return "unknown";
}

static void write_what(const struct cedar_failure *failure, struct buf *ret_text)
{
    const struct expression *expression = failure->expression;
    switch (failure->code) {
    case CEDAR_FAIL_NONE:
        break;
    case CEDAR_FAIL_TYPE:
        buf_printf(ret_text, "a %s has the wrong type here", cedar_kind_name(failure->got));
        break;
    case CEDAR_FAIL_OVERFLOW:
        buf_append_string(ret_text, "integer overflow");
        break;
    case CEDAR_FAIL_NO_ATTRIBUTE:
        buf_printf(ret_text, "there is no attribute `%s`", expression->names[0]->bytes);
        break;
    case CEDAR_FAIL_NO_TAG:
        buf_append_string(ret_text, "there is no such tag");
        break;
    case CEDAR_FAIL_NO_ENTITY:
        buf_append_string(ret_text, "the entity is not known");
        break;
    case CEDAR_FAIL_EXTENSION:
        buf_printf(ret_text, "the text is not a value of %s()",
                   cedar_function_name(expression->function));
        break;
    case CEDAR_FAIL_ARGUMENTS:
        buf_printf(ret_text, "wrong number of arguments for %s()",
                   cedar_function_name(expression->function));
        break;
    }
}

void cedar_failure_describe(const struct cedar_policies *policies,
                            const struct cedar_failure *failure, char *ret_text, size_t size)
{
    const struct policy *policy = policies->policies[failure->policy];
    const struct expression *expression = failure->expression;
    struct source_place place = policy_place_of(policy, expression->begin);
    auto_buf struct buf text = {0};
    buf_printf(&text, "%s:%u:%u: ", policy->source->file->bytes, place.line, place.column);
    write_what(failure, &text);
    size_t len = expression->end - expression->begin;
    buf_printf(&text, " in `%.*s%s`", len > SHOWN_SOURCE_BYTES ? SHOWN_SOURCE_BYTES : (int)len,
               policy->source->text + expression->begin, len > SHOWN_SOURCE_BYTES ? "..." : "");
    snprintf(ret_text, size, "%s", buf_string(&text));
}
