// SPDX-License-Identifier: Apache-2.0
/*
 * The worker's result file. What is accepted keeps its limits and can be journalled: the event that
 * carries it is JSON and decodes.
 */
#include "fuzz.h"

#include "base/json/json.h"
#include "journal/event.h"
#include "worker/files.h"

#include <string.h>

static void check_journalling(const struct worker_result *result)
{
    struct journal_event event = {
        .type = JOURNAL_ITERATION_FINISHED,
        .iteration_finished = {.iteration = 1,
                               .outcome = "ok",
                               .tokens = result->tokens,
                               .cost_micro = result->cost_micro,
                               .finish = run_finish_name(result->finish),
                               .summary = result->summary,
                               .custom_data = result->custom_data},
    };
    auto_buf struct buf text = {0};
    auto_json struct json_object *root = NULL;
    journal_encode(&event, &text);
    FUZZ_CHECK(fuzz_is_json(text.data, text.len));
    FUZZ_CHECK(journal_decode("iteration.finished", text.data, text.len, &event, &root, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json = fuzz_bytes(data, size);
    struct worker_result result = {0};
    struct rondo_error err = {0};
    if (worker_result_parse(json, size, &result, &err) == 0) {
        FUZZ_CHECK(result.tokens >= 0 && result.cost_micro >= 0);
        FUZZ_CHECK(result.finish >= FINISH_NONE && result.finish <= FINISH_FAILED);
        FUZZ_CHECK(result.summary == NULL || strlen(result.summary) <= LIMIT_SUMMARY_BYTES);
        FUZZ_CHECK(result.custom_data == NULL ||
                   strlen(result.custom_data) <= LIMIT_CUSTOM_DATA_BYTES);
        check_journalling(&result);
        worker_result_fini(&result);
    } else {
        FUZZ_CHECK(err.message[0] != '\0' && result.custom_data == NULL);
    }
    free(json);
    return 0;
}
