// SPDX-License-Identifier: Apache-2.0
/* Rows of runs for programs. */
#include "server/answer/run_json.h"

#include "base/json/json.h"
#include "base/text/plain.h"
#include "loop/owner.h"
#include "orchestrator/orchestrator.h"

#include <string.h>

const char *run_json_status(const struct store_run *run, struct orchestrator *orchestrator)
{
    bool is_waiting = run->summary.status == RONDO_RUNNING && !run->summary.is_paused &&
                      run->owner[0] == '\0' && orchestrator != NULL;
    return is_waiting && orchestrator_is_queued(orchestrator, run->id) ? "queued"
                                                                       : run_display_status(run);
}

/** "process 812 on build7", while it holds the run. */
static void write_owner(struct json_writer *writer, const struct store_run *run)
{
    char who[OWNER_DESCRIPTION_SIZE];
    if (run->owner[0] == '\0') {
        json_write_null(writer, "owner");
        return;
    }
    owner_name(run->owner, who);
    json_write_string(writer, "owner", who);
}

static void write_percent(struct json_writer *writer, const struct store_summary *summary)
{
    if (summary->iteration_limit == 0) {
        json_write_null(writer, "percent");
        return;
    }
    double percent = (double)summary->iteration * 100.0 / (double)summary->iteration_limit;
    json_write_int(writer, "percent", percent > 100 ? 100 : (int64_t)percent);
}

static void write_members(const struct store_run *run, const char *kind, const char *status,
                          const char *waiting_for, struct json_writer *writer)
{
    const struct store_summary *summary = &run->summary;
    auto_buf struct buf cost = {0};
    text_cost_json(summary->cost_micro, &cost);
    json_write_string(writer, "run_id", run->id);
    json_write_string(writer, "agent_id", run->agent_id);
    json_write_string(writer, "parent_id", run->parent[0] == '\0' ? NULL : run->parent);
    json_write_string(writer, "kind", kind);
    json_write_string(writer, "status", status);
    json_write_string(writer, "waiting_for", waiting_for[0] == '\0' ? NULL : waiting_for);
    json_write_int(writer, "iteration", (int64_t)summary->iteration);
    json_write_int(writer, "iteration_limit", (int64_t)summary->iteration_limit);
    write_percent(writer, summary);
    json_write_int(writer, "conditions_met", summary->conditions_met);
    json_write_int(writer, "conditions_total", summary->conditions_total);
    json_write_int(writer, "tokens", summary->tokens);
    json_write_raw(writer, "cost", buf_string(&cost));
    json_write_int(writer, "warnings", summary->warnings);
    json_write_time(writer, "created", run->created_ns);
    json_write_time(writer, "updated", run->updated_ns);
    json_write_time(writer, "ended", run->ended_ns);
    write_owner(writer, run);
    json_write_int(writer, "last_seq", (int64_t)run->last_seq);
}

void run_json_members(const struct store_run *run, const char *kind,
                      struct orchestrator *orchestrator, const char *store,
                      struct json_writer *writer)
{
    auto_buf struct buf waiting_for = {0};
    if (orchestrator != NULL) {
        orchestrator_explain_waiting(orchestrator, run, &waiting_for);
    }
    write_members(run, kind, run_json_status(run, orchestrator), buf_string(&waiting_for), writer);
    if (store != NULL) {
        json_write_string(writer, "store", store);
    }
}

void run_json_write_display_status(const struct store_run *run, const char *status,
                                   const char *waiting_for, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    write_members(run, NULL, status, waiting_for, &writer);
    json_end_object(&writer);
}

void run_json_write(const struct store_run *run, struct orchestrator *orchestrator,
                    const char *store, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    run_json_members(run, NULL, orchestrator, store, &writer);
    json_end_object(&writer);
}

void run_counts_write(const struct store_run_counts *counts, const char *store,
                      struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    uint64_t total = 0;
    json_begin_object(&writer, NULL);
    for (int i = 0; i < RONDO_STATUS_COUNT; i++) {
        total += counts->by_status[i];
        json_write_int(&writer, rondo_status_name((enum rondo_status)i),
                       (int64_t)counts->by_status[i]);
    }
    json_write_int(&writer, "paused", (int64_t)counts->paused);
    json_write_int(&writer, "total", (int64_t)total);
    if (store != NULL) {
        json_write_string(&writer, "store", store);
    }
    json_end_object(&writer);
}
