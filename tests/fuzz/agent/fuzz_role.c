// SPDX-License-Identifier: Apache-2.0
/*
 * Role files. A text gives a role or errors that say where; a role's normal form can be journalled,
 * read back, and read as a role file again with the same result.
 */
#include "../fuzz.h"

#include "base/auto.h"
#include "base/buf.h"
#include "role/role.h"

#include <json-c/json.h>
#include <string.h>

static void check_findings(const struct role_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct role_finding *item = &findings->items[i];
        FUZZ_CHECK(item->path != NULL && item->message != NULL && item->message[0] != '\0');
        FUZZ_CHECK((item->line > 0) == (item->column > 0));
    }
}

/** What is in the struct must be in the normal form. */
static void check_journalling(struct role *role)
{
    const char *normal = json_object_to_json_string_ext(role->normal, JSON_C_TO_STRING_PLAIN);
    struct role *again = NULL;
    FUZZ_CHECK(fuzz_is_json(normal, strlen(normal)));
    FUZZ_CHECK(role_from_object(role->normal, role->path, &again, NULL) == 0);
    FUZZ_CHECK(strcmp(again->name, role->name) == 0 && strcmp(again->text, role->text) == 0);
    FUZZ_CHECK(again->condition_count == role->condition_count);
    FUZZ_CHECK(again->guardrails.max_iterations == role->guardrails.max_iterations);
    role_free(again);
}

static void check_role(struct role *role)
{
    struct role_findings findings = {0};
    FUZZ_CHECK(strlen(role->name) >= 2 && role->guardrails.max_iterations > 0);
    FUZZ_CHECK(role->model.max_tokens >= 1 && role->model.max_tokens <= 128000);
    FUZZ_CHECK(role->autonomy.checkpoint_interval >= 1);
    FUZZ_CHECK(role->guardrails.max_request_limit > 0);
    role_find_unsupported(role, ROLE_ALONE, &findings);
    check_findings(&findings);
    role_findings_fini(&findings);
    check_journalling(role);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *yaml = fuzz_bytes(data, size);
    bool verdicts[2];
    for (int schema = ROLE_SCHEMA_1_0; schema <= ROLE_SCHEMA_1_13; schema++) {
        struct role_findings findings = {0};
        struct role *role = NULL;
        struct rondo_error err = {0};
        int r = role_parse(yaml, size, "/r/role.yaml", (enum role_schema)schema, &findings, &role,
                           &err);
        FUZZ_CHECK(r == 0 || err.message[0] != '\0');
        FUZZ_CHECK(r < 0 || (role == NULL) == (role_findings_errors(&findings) > 0));
        check_findings(&findings);
        verdicts[schema] = role != NULL;
        if (role != NULL) {
            check_role(role);
        }
        role_free(role);
        role_findings_fini(&findings);
    }
    FUZZ_CHECK(verdicts[0] == verdicts[1]);
    free(yaml);
    return 0;
}
