// SPDX-License-Identifier: Apache-2.0
/*
 * Journals of runs, as far as memories and conversations depend on them: a run is created and
 * ended, what it remembers commits with the event that reports it, and when it has ended facts are
 * derived from its episodes by the code of the product and a model that follows a script.
 */
#include "soak.h"

#include "agent/memory/consolidate.h"
#include "agent/memory/consolidation_record.h"
#include "agent/spec/options.h"
#include "base/auto.h"
#include "journal/event.h"
#include "memory/memory.h"
#include "os/file.h"
#include "role/role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_NS SOAK_HOUR_NS

char *soak_spec_new(const struct soak *soak)
{
    static const char yaml[] =
        "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: soak}\nspec:\n"
        "  role: You test.\n  model: {provider: scripted, name: facts.jsonl}\n  memory: {}\n";
    static const char facts[] = "{\"text\":\"events: Events come.\",\"forever\":true}\n";
    char path[256];
    auto_buf struct buf text = {0};
    struct role_findings findings = {0};
    struct role *role = NULL;
    struct loop_spec spec;
    snprintf(path, sizeof(path), "%s/facts.jsonl", soak->folder);
    int r = file_replace_durably(path, facts, strlen(facts), NULL);
    snprintf(path, sizeof(path), "%s/role.yaml", soak->folder);
    r = r < 0 ? r : role_parse(yaml, strlen(yaml), path, ROLE_SCHEMA_1_0, &findings, &role, NULL);
    const struct agent_options options = {
        .mode = AGENT_SINGLE, .prompt = "test", .workspace = soak->folder, .system = "You test."};
    if (r < 0 || role == NULL || agent_spec(role, &options, &spec, NULL) < 0) {
        abort();
    }
    loop_spec_encode(&spec, &text);
    loop_spec_fini(&spec);
    role_free(role);
    role_findings_fini(&findings);
    return buf_steal(&text);
}

void soak_journal_create(struct soak *soak, const struct soak_run *run)
{
    const char *agent = soak->roles[run->role].name;
    auto_buf struct buf data = {0};
    struct store_run row = {.summary.status = RONDO_RUNNING};
    const struct store_claim claim = {.owner = soak->owner, .lease_ns = LEASE_NS};
    struct store_claim_result claimed;
    const struct journal_event event = {
        .type = JOURNAL_RUN_CREATED,
        .run_created = {
            .format = JOURNAL_FORMAT, .version = "soak", .agent_id = agent, .spec = soak->spec}};
    journal_encode(&event, &data);
    const struct store_event first = {
        .time_ns = soak_wall(soak), .type = "run.created", .data = data.data, .data_len = data.len};
    memcpy(row.id, run->id, sizeof(row.id));
    snprintf(row.agent_id, sizeof(row.agent_id), "%s", agent);
    if (soak->memory->ops->create_run(soak->memory, &row, &first, 1, &claim, &claimed, NULL) < 0) {
        abort();
    }
}

static struct store_run row_of(const struct soak *soak, const struct soak_run *run)
{
    struct store_run row = {0};
    if (soak->memory->ops->get_run(soak->memory, run->id, &row, NULL) < 0) {
        soak_violation(soak, "the run %s is not in the store", run->id);
    }
    return row;
}

static uint64_t last_seq(const struct soak *soak, const struct soak_run *run)
{
    return row_of(soak, run).last_seq;
}

/** Commit one event of a run. @return whether it is in its journal */
static bool commit(struct soak *soak, const struct soak_run *run, uint64_t seq, const char *type,
                   const char *data, struct store_batch more)
{
    struct store_commit_result result;
    const struct store_event event = {
        .time_ns = soak_wall(soak), .type = type, .data = data, .data_len = strlen(data)};
    more.run_id = run->id;
    more.epoch = 1;
    more.first_seq = seq;
    more.events = &event;
    more.event_count = 1;
    const struct store_batch *const batches[] = {&more};
    if (soak->store->ops->commit(soak->store, batches, 1, &result, NULL) < 0) {
        return false;
    }
    if (result.outcome == STORE_FENCED) {
        soak_violation(soak, "the run %s has lost its owner", run->id);
    }
    return true;
}

/** The run's next episode. @return whether it is stored */
static bool remember(struct soak *soak, const struct soak_run *run, uint64_t seq)
{
    char content[80];
    const char *owner = soak->roles[run->role].name;
    struct memories_item item = {0};
    struct store_memory_change changes[MEMORIES_CHANGES];
    snprintf(content, sizeof(content), "episode %llu of %s", (unsigned long long)seq, run->id);
    const struct store_memory given = {.owner = owner,
                                       .kind = STORE_EPISODIC,
                                       .created_ns = soak_wall(soak),
                                       .run_id = run->id,
                                       .source = "record_episode",
                                       .content = content};
    if (consolidation_request(soak->store, run->id, owner, owner, NULL) < 0 ||
        memories_prepare(soak->store, NULL, &given, &item, NULL) < 0) {
        return false;
    }
    memories_changes(&item, MEMORIES_KEPT, changes);
    const struct store_batch batch = {.memories = changes,
                                      .memory_count = MEMORIES_CHANGES,
                                      .summary.status = RONDO_RUNNING,
                                      .lease_ns = LEASE_NS};
    bool is_stored =
        commit(soak, run, seq, "tool.finished", "{\"name\":\"record_episode\"}", batch);
    memories_item_fini(&item);
    return is_stored;
}

/* Whoever continues a run knows from its journal what it has done: each episode is one event. */
bool soak_journal_remember(struct soak *soak, const struct soak_run *run)
{
    bool is_done = true;
    uint64_t seq = run->episodes == 0 ? 0 : last_seq(soak, run);
    while (is_done && run->episodes > 0 && seq < (uint64_t)run->episodes + 1) {
        is_done = remember(soak, run, ++seq);
    }
    return is_done;
}

bool soak_journal_end(struct soak *soak, const struct soak_run *run)
{
    if (!run->is_stored) {
        return true;
    }
    uint64_t seq = last_seq(soak, run);
    uint64_t own = (uint64_t)run->episodes + 2;
    const struct store_batch batch = {.summary.status = RONDO_COMPLETED};
    return seq >= own ||
           commit(soak, run, own, "run.finished", "{\"status\":\"completed\"}", batch);
}

int64_t soak_journal_ended_ns(const struct soak *soak, const struct soak_run *run)
{
    bool is_known = run->is_stored && !soak->has_jumps;
    return is_known ? row_of(soak, run).ended_ns - soak->offset_ns : soak->mono_ns;
}

void soak_consolidate(struct soak *soak)
{
    const struct consolidation_parts parts = {.runtime = soak->runtime};
    struct consolidation_report report = {0};
    bool is_time = soak->consolidate_ns != 0 && soak->consolidate_ns <= soak_wall(soak);
    if (!soak->is_consolidation_due && !is_time) {
        return;
    }
    int r = consolidation_work(&parts, NULL, &report, NULL);
    soak->is_consolidation_due = r < 0;
    soak->consolidate_ns = r < 0 ? 0 : report.next_ns;
    if (report.problem[0] != '\0' && r == 0) {
        soak_say(soak, "consolidation: %s", report.problem);
    }
    if (report.facts > 0) {
        soak_say(soak, "%d facts from %d episodes", (int)report.facts, (int)report.episodes);
    }
}
