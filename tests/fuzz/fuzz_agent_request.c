// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of foreign agents: what is accepted has names that can be keys, digests in one form and
 * an id that follows from its place. Contexts of evaluations: what is accepted is within its
 * bounds.
 */
#include "fuzz.h"

#include "base/json/json.h"
#include "handoff/wire/request.h"
#include "policy/profile/context.h"

#include <json-c/json.h>
#include <string.h>

static void check_request(const struct wire_request *request)
{
    char id[ID_SIZE];
    FUZZ_CHECK(wire_is_name(request->agent_id) && wire_is_name(request->lane_id));
    FUZZ_CHECK(id_is_valid(request->request_id));
    FUZZ_CHECK(strlen(request->action_digest) == HANDOFF_DIGEST_SIZE - 1);
    FUZZ_CHECK(request->state_hash[0] == '\0' ||
               strlen(request->state_hash) == HANDOFF_DIGEST_SIZE - 1);
    FUZZ_CHECK(request->risk < HANDOFF_LEVEL_COUNT && request->priority < HANDOFF_LEVEL_COUNT);
    FUZZ_CHECK(request->required_by_ns >= 0 && request->attempt > 0 && request->revision > 0);
    FUZZ_CHECK(wire_request_id_of(request, request->attempt, id, NULL) == 0);
    FUZZ_CHECK(strcmp(id, request->request_id) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    auto_json struct json_object *root = NULL;
    auto_buf struct buf errors = {0};
    struct wire_request request;
    struct profile_context context;
    struct rondo_error err = {0};
    if (json_parse_strict(text, size, &root, NULL) == 0) {
        if (wire_request_read(root, text, size, &request, &err) == 0) {
            check_request(&request);
        } else {
            FUZZ_CHECK(err.code == RONDO_ERR_INVALID || err.code == RONDO_ERR_LIMIT);
        }
        bool is_valid = profile_context_read(root, &context, &errors);
        FUZZ_CHECK(is_valid == (errors.len == 0));
        FUZZ_CHECK(context.confidence >= 0 && context.confidence <= 10000);
        FUZZ_CHECK(context.risk_level >= 0 && context.risk_level <= 3);
        FUZZ_CHECK(!is_valid || (context.violation_score >= 0 && context.violation_score <= 10000));
    }
    free(text);
    return 0;
}
