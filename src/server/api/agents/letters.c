// SPDX-License-Identifier: Apache-2.0
/* Dead letters, for engineers. */
#include "handoff/desks/desks.h"
#include "handoff/wire/dead_letter.h"
#include "server/api/agents/agents.h"
#include "server/api/inbox_call.h"

#define MOST_LETTERS 1000

void handle_letters(struct call *call)
{
    auto_buf struct buf list = {0};
    struct rondo_error err = {0};
    int64_t limit = 0;
    if (call_query_int(call, "limit", 1, MOST_LETTERS, 100, &limit)) {
        struct redact_view view =
            desks_view(call_handoffs(call).desks, call_viewer(call), NULL, NULL);
        int r = letters_write(call_store(call), (uint32_t)limit, !redact_hides(&view), &list, &err);
        call_answer_list(call, "letters", &list, r, &err);
    }
}

static void answer_done(struct call *call, int r, const struct rondo_error *err)
{
    if (r < 0) {
        call_error(call, err);
        return;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_bool(&writer, "is_done", true);
    json_end_object(&writer);
}

void handle_replay_letter(struct call *call)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct rondo_error err = {0};
    answer_done(call, letter_replay(&handoffs, call_value(call, "letter"), &err), &err);
}

void handle_discard_letter(struct call *call)
{
    struct rondo_error err = {0};
    answer_done(call, letter_discard(call_store(call), call_value(call, "letter"), &err), &err);
}
