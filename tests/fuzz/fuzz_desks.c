// SPDX-License-Identifier: Apache-2.0
/* Desk files: what is read gives rules within their limits, and every name can be resolved. */
#include "fuzz.h"

#include "base/json/json.h"
#include "handoff/desks/desks.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct desks *desks = NULL;
    struct rondo_error err = {0};
    int r = desks_read(text, size, "desks.yaml", &desks, &err);
    if (r < 0) {
        FUZZ_CHECK(r == RONDO_ERR_INVALID || r == RONDO_ERR_LIMIT);
        FUZZ_CHECK(strncmp(err.message, "desks.yaml", 10) == 0);
    } else {
        auto_buf struct buf json = {0};
        char desk[HANDOFF_NAME_SIZE];
        struct desks_request request = {.agent_id = "agent", .tool = "run_shell"};
        const struct handoff_rules *rules = desks_rules(desks);
        struct handoff handoff = {.desk_count = 1, .escalation_level = 3, .desks = {"operators"}};
        desks_write(desks, &json);
        FUZZ_CHECK(json_parse_strict(json.data, json.len, NULL, &err) == 0);
        FUZZ_CHECK(rules->critical_approvals >= 1 && rules->most_hops < HANDOFF_MOST_DESKS);
        FUZZ_CHECK(rules->notify_percent <= rules->escalate_percent);
        FUZZ_CHECK(!desks_route(desks, &request, desk, NULL) || desk[0] != '\0');
        FUZZ_CHECK(!desks_actor(desks, "agent", &handoff).is_assignee);
    }
    desks_free(desks);
    free(text);
    return 0;
}
