// SPDX-License-Identifier: Apache-2.0
/* The lint over any policies that parse: findings lie in the text, and errors are counted. */
#include "../fuzz.h"

#include "base/text/utf8.h"
#include "policy/lint/lint.h"

#include <string.h>

/** The text that was linted, and what came of it. */
struct linted_text {
    const char *text;
    size_t len;
    size_t count;
    size_t errors;
    size_t policies;
};

/** Whether a text has such a line, and the line such a column or ends just before it. */
static _Bool has_place(const struct linted_text *seen, unsigned line, unsigned column)
{
    const char *at = seen->text;
    const char *end = seen->text + seen->len;
    for (; line > 1; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL) {
            return 0;
        }
        at++;
    }
    for (; column > 1; column--) {
        if (at == end || *at == '\n') {
            return 0;
        }
        at += utf8_sequence_len(at, (size_t)(end - at));
    }
    return at < end && *at != '\n';
}

static void check_finding(const struct lint_finding *finding, void *context)
{
    struct linted_text *seen = context;
    size_t len = strlen(finding->message);
    seen->count++;
    seen->errors += finding->is_error;
    FUZZ_CHECK(finding->policy < seen->policies);
    FUZZ_CHECK(finding->line >= 1 && finding->column >= 1);
    FUZZ_CHECK(has_place(seen, finding->line, finding->column));
    FUZZ_CHECK(len > 0);
    for (size_t at = 0; at < len;) {
        size_t sequence = utf8_sequence_len(finding->message + at, len - at);
        FUZZ_CHECK(sequence > 0);
        at += sequence;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    if (cedar_builder_add(builder, "f", text, size, NULL, NULL) < 0) {
        cedar_builder_free(builder);
        free(text);
        return 0;
    }
    struct cedar_policies *policies = cedar_builder_finish(builder);
    struct linted_text seen = {
        .text = text, .len = size, .policies = cedar_policies_count(policies)};
    size_t errors = lint_policies(policies, check_finding, &seen);
    FUZZ_CHECK(seen.count <= LINT_LIMIT_FINDINGS);
    FUZZ_CHECK(seen.count == LINT_LIMIT_FINDINGS || errors == seen.errors);
    cedar_policies_unref(policies);
    free(text);
    return 0;
}
