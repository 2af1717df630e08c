// SPDX-License-Identifier: Apache-2.0
/* What roles have used of their budgets, and forgetting it. */
#include "agent/budget/show.h"
#include "base/error.h"
#include "loop/runtime.h"
#include "server/api/handlers.h"

#include <string.h>

struct budget_page {
    const struct call *call;
    const char *role; /* NULL = all that the caller reaches */
    int64_t now_ns;
    struct json_writer *writer;
    bool is_found;
};

static bool write_budget(const char *agent_id, const struct budget_ledger *ledger, void *context)
{
    struct budget_page *page = context;
    if ((page->role != NULL && strcmp(page->role, agent_id) != 0) ||
        !token_grant_covers(&page->call->grant, agent_id)) {
        return true;
    }
    struct budget_view view = budget_view(agent_id, ledger, page->now_ns);
    page->is_found = true;
    json_begin_object(page->writer, NULL);
    budget_show_members(&view, page->writer);
    json_end_object(page->writer);
    return true;
}

/** Append the budgets of a role, or of all. */
static int write_budgets(struct call *call, const char *role, struct buf *ret_json,
                         bool *ret_is_found, struct rondo_error *err)
{
    struct json_writer writer = json_writer(ret_json);
    struct budget_page page = {
        .call = call,
        .role = role,
        .now_ns = clock_now(runtime_clock(call->server->options.runtime)),
        .writer = &writer,
    };
    if (role == NULL) {
        json_begin_array(&writer, NULL);
    }
    int r = budget_list(call_store(call), write_budget, &page, err);
    if (role == NULL) {
        json_end_array(&writer);
    }
    *ret_is_found = page.is_found;
    return r;
}

void handle_budgets(struct call *call)
{
    bool is_found;
    struct rondo_error err = {0};
    auto_buf struct buf list = {0};
    int r = write_budgets(call, NULL, &list, &is_found, &err);
    call_answer_list(call, "budgets", &list, r, &err);
}

void handle_reset_budget(struct call *call)
{
    bool is_found = false;
    struct rondo_error err = {0};
    const char *role = call_value(call, "role");
    if (call->body != NULL && !call_check_members(call, call->body, "", NULL)) {
        return;
    }
    int r = budget_reset(call_store(call), role, &err);
    if (r == 0) {
        runtime_notify(call->server->options.runtime);
        call_json(call, 200);
        r = write_budgets(call, role, &call->answer, &is_found, &err);
    }
    if (r < 0) {
        call_error(call, &err);
    }
}
