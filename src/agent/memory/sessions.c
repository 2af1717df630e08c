// SPDX-License-Identifier: Apache-2.0
/* Open conversations: listed by the runs' rows, told apart by their options, ended by a claim. */
#include "agent/memory/sessions.h"

#include "agent/memory/settings.h"
#include "agent/spec/config.h"
#include "base/error.h"
#include "base/memory.h"
#include "loop/control/control.h"
#include "loop/driver/driver.h"
#include "loop/owner.h"

#include <stdlib.h>
#include <string.h>

/** What the journal of such a conversation says. */
#define ENDED "max_sessions: newer conversations of the agent stay open"
/** Runs of the agent without an end that are looked at, the newest first. */
#define SESSIONS_SEEN_MAX 1000

uint64_t sessions_kept(const struct loop_spec *spec)
{
    struct agent_config config = {0};
    struct memory_settings settings = {0};
    uint64_t kept = 0;
    if (spec->agent == NULL || agent_config_read(spec->agent, &config, NULL) < 0) {
        return 0;
    }
    if (memory_settings_read(config.role, spec->agent_id, &settings) == 1) {
        kept = settings.sessions;
        memory_settings_fini(&settings);
    }
    agent_config_fini(&config);
    return kept;
}

struct session_list {
    char (*ids)[ID_SIZE];
    size_t count;
};

static bool is_parked(const struct store_run *run)
{
    return run->summary.status == RONDO_RUNNING && !run->summary.is_paused && run->owner[0] == '\0';
}

static bool add_parked(const struct store_run *run, void *context)
{
    struct session_list *list = context;
    if (is_parked(run)) {
        list->ids = memory_resize(list->ids, list->count + 1, ID_SIZE);
        memcpy(list->ids[list->count++], run->id, ID_SIZE);
    }
    return true;
}

/** A row that cannot be read is not ended either. */
static void pass_damaged(const struct store_damaged_run *damaged, void *context)
{
    (void)damaged;
    (void)context;
}

/** Whether a run is a conversation at a terminal that somebody left. */
static bool is_conversation(struct store *store, const char *run_id)
{
    struct loop_spec spec;
    if (orphan_is_marked(store, run_id) || loop_recorded_spec(store, run_id, &spec, NULL) < 0) {
        return false;
    }
    bool is_one = spec.agent != NULL && agent_config_is_chat(spec.agent);
    loop_spec_fini(&spec);
    return is_one;
}

/** Beyond those that are kept. @return 0, or the code of the first that could not be ended */
static int end_beyond(struct runtime *runtime, const struct session_list *list, uint64_t keep,
                      struct sessions_ended *ended, struct rondo_error *err)
{
    const struct loop_parts parts = {.runtime = runtime};
    uint64_t open = 0;
    int failed = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!is_conversation(runtime_store(runtime), list->ids[i]) || ++open <= keep) {
            continue;
        }
        struct rondo_error problem = {0};
        int r = loop_cancel_parked(&parts, list->ids[i], ENDED, &problem);
        if (r == LOOP_CONTROL_DONE && ended->count++ == 0) {
            memcpy(ended->last, list->ids[i], ID_SIZE);
        }
        if (r < 0 && failed == 0) {
            failed = error_set(err, r, "run %s: %s", list->ids[i], problem.message);
        }
    }
    return failed;
}

int sessions_end_older(struct runtime *runtime, const char *agent_id, uint64_t keep,
                       struct sessions_ended *ret_ended, struct rondo_error *err)
{
    struct store *store = runtime_store(runtime);
    struct session_list list = {0};
    const struct store_run_query query = {
        .agent_id = agent_id,
        .only_running = true,
        .order = STORE_BY_UPDATED,
        .limit = SESSIONS_SEEN_MAX,
        .damaged = pass_damaged,
    };
    *ret_ended = (struct sessions_ended){0};
    int r = store->ops->list_runs(store, &query, add_parked, &list, err);
    r = r < 0 ? r : end_beyond(runtime, &list, keep, ret_ended, err);
    free(list.ids);
    return r;
}
