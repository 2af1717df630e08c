// SPDX-License-Identifier: Apache-2.0
/* Files of test cases: those that are taken can be asked, those that are not say why. */
#include "../fuzz.h"

#include "base/buf.h"
#include "policy/case_file.h"

#include <string.h>

static const char rules[] =
    "permit (principal, action, resource);"
    "forbid (principal, action, resource) when { context.iteration >= 5 };"
    "@on_deny(\"ask\") forbid (principal, action == Action::\"call_tool\", resource) "
    "unless { context.approved };";

static void run_all(const struct case_file *file)
{
    struct ruleset *ruleset = NULL;
    struct ruleset_text text = {RULESET_POLICIES, "r.cedar", rules, sizeof(rules) - 1};
    FUZZ_CHECK(ruleset_make("r.cedar", &text, 1, NULL, NULL, &ruleset, NULL) == 0);
    for (size_t i = 0; i < file->count && i < 16; i++) {
        struct case_result result;
        case_run(&file->cases[i], ruleset, &result);
        FUZZ_CHECK(!result.is_ok || result.outcome == file->cases[i].expected);
        FUZZ_CHECK((result.reason == VERDICT_INVALID_CONTEXT) <= (result.problem.len > 0));
        case_result_fini(&result);
    }
    ruleset_unref(ruleset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct case_file file = {0};
    struct rondo_error err = {0};
    int code = case_file_read("c.json", text, size, INT64_C(1768953600000000000), &file, &err);
    if (code == 0) {
        FUZZ_CHECK(fuzz_is_json(text, size));
        run_all(&file);
        case_file_fini(&file);
    } else {
        FUZZ_CHECK(file.cases == NULL && strncmp(err.message, "c.json: ", 8) == 0);
    }
    free(text);
    return 0;
}
