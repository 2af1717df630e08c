// SPDX-License-Identifier: Apache-2.0
/*
 * Facts from episodes, exactly once: whatever fails or dies between the request and the facts. The
 * model is a script of its own, facts.jsonl beside the role.
 */
#include "../agent_fixture.h"

#include "agent/memory/consolidate.h"
#include "agent/memory/consolidation_record.h"

#define MEMORY(more)  "  memory: {consolidation: {model_override: 'scripted:facts.jsonl'" more "}}\n"
#define EPISODE(text) CALLS(ONE("record_episode", "{\"content\":\"" text "\"}"))
#define TWO_FACTS \
    "{\"text\":\"hosts: stage-2 is slow\\npeople: Ann prefers mail\"," USE(70, 7) "}\n"

static void write_facts(struct agent_scene *scene, const char *turns)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/facts.jsonl", scene->world->folder);
    assert_int_equal(file_replace_durably(path, turns, strlen(turns), NULL), 0);
}

/** A run that ends with two episodes: one of its tool and its summary. */
static void play(struct agent_scene *scene, const char *lines)
{
    scene_play(scene, lines, EPISODE("stage-2 was slow") FINISH("completed"), RONDO_COMPLETED);
    scene_leave(scene);
}

/** Consolidate as a process would. @return of consolidation_work */
static int try_work(struct agent_scene *scene, struct runtime *runtime,
                    struct consolidation_report *ret_report)
{
    const struct consolidation_parts parts = {.runtime = runtime};
    struct rondo_error err = {0};
    (void)scene;
    return consolidation_work(&parts, NULL, ret_report, &err);
}

static struct consolidation_report work(struct agent_scene *scene)
{
    struct consolidation_report report;
    assert_int_equal(try_work(scene, scene->fixture->runtime, &report), 0);
    return report;
}

struct kept {
    char contents[512];
    size_t consolidated;
};

static bool keep(const struct store_memory *memory, void *context)
{
    struct kept *kept = context;
    size_t len = strlen(kept->contents);
    snprintf(kept->contents + len, sizeof(kept->contents) - len, "%s%s=%s", len > 0 ? "|" : "",
             memory->category, memory->content);
    kept->consolidated += memory->consolidated_ns != 0;
    return true;
}

static struct kept kept_of(struct agent_scene *scene, enum store_memory_kind kind)
{
    struct kept kept = {0};
    struct store *store = scene->fixture->memory;
    const struct store_memory_query query = {
        .owner = "tester", .kinds = UINT32_C(1) << kind, .is_oldest_first = true};
    assert_int_equal(store->ops->read_memories(store, &query, keep, &kept, NULL), 0);
    return kept;
}

static void expect_facts(struct agent_scene *scene, const char *expected)
{
    assert_string_equal(kept_of(scene, STORE_SEMANTIC).contents, expected);
}

static bool count_document(const struct store_document *document, void *context)
{
    (void)document;
    ++*(size_t *)context;
    return true;
}

/** Documents of consolidation that are left. */
static size_t documents(struct agent_scene *scene, const char *collection)
{
    size_t count = 0;
    struct store *store = scene->fixture->memory;
    const struct store_document_query query = {.collection = collection};
    assert_int_equal(store->ops->read_documents(store, &query, count_document, &count, NULL), 0);
    return count;
}

static void expect_nothing_left(struct agent_scene *scene)
{
    assert_int_equal(documents(scene, "consolidation-due"), 0);
    assert_int_equal(documents(scene, "consolidations"), 0);
}

static bool forget_one(const struct store_memory *memory, void *context)
{
    struct store_memory_change *changes = context;
    size_t i = 0;
    while (changes[i].memory.id != 0) {
        i++;
    }
    changes[i] =
        (struct store_memory_change){.kind = STORE_MEMORY_FORGET, .memory = {.id = memory->id}};
    return true;
}

/** Delete all memories. */
static void forget_all(struct agent_scene *scene)
{
    struct store *store = scene->fixture->memory;
    const struct store_memory_query query = {.owner = "tester"};
    struct store_memory_change changes[16] = {0};
    size_t count = 0;
    uint64_t changed = 0;
    assert_int_equal(store->ops->read_memories(store, &query, forget_one, changes, NULL), 0);
    while (changes[count].memory.id != 0) {
        count++;
    }
    assert_int_equal(store->ops->change_memories(store, changes, count, &changed, NULL), 0);
}

#define BOTH_FACTS "hosts=stage-2 is slow|people=Ann prefers mail"

SCENE_TEST(episodes_become_facts_once)
{
    struct agent_scene *scene = *state;
    write_facts(scene, TWO_FACTS);
    play(scene, MEMORY(""));
    assert_int_equal(documents(scene, "consolidation-due"), 1);
    struct consolidation_report report = work(scene);
    assert_int_equal(report.batches, 1);
    assert_int_equal(report.episodes, 2);
    assert_int_equal(report.facts, 2);
    expect_facts(scene, BOTH_FACTS);
    assert_int_equal(kept_of(scene, STORE_EPISODIC).consolidated, 2);
    expect_nothing_left(scene);
    report = work(scene);
    assert_int_equal(report.batches, 0);
    expect_facts(scene, BOTH_FACTS);
}

SCENE_TEST(the_journal_and_the_report_say_what_became_of_episodes)
{
    struct agent_scene *scene = *state;
    write_facts(scene, TWO_FACTS);
    play(scene, MEMORY(""));
    struct consolidation_report report = work(scene);
    auto_buf struct buf text = {0};
    consolidation_describe(&report, &text);
    assert_string_equal(buf_string(&text), "2 facts from 2 episodes (77 tokens)");
    assert_int_equal(scene_events(scene, "memory.consolidation_started",
                                  "{\"attempt\":1,\"episodes\":2,\"model\":\"scripted:"
                                  "facts.jsonl\"}"),
                     1);
    assert_int_equal(scene_events(scene, "memory.consolidation_finished",
                                  "{\"outcome\":\"ok\",\"episodes\":2,\"facts\":2,"
                                  "\"model\":\"scripted:facts.jsonl\","
                                  "\"tokens_in\":70,\"tokens_out\":7,\"cost_micro\":0,"),
                     1);
    struct store_run run;
    struct store *store = scene->fixture->memory;
    assert_int_equal(store->ops->get_run(store, scene->world->run_id, &run, NULL), 0);
    assert_int_equal(run.summary.status, RONDO_COMPLETED);
    assert_int_equal(run.summary.tokens, 0); /* It is not the run's. */
    assert_string_equal(run.owner, "");
}

SCENE_TEST(a_reply_without_facts_consolidates_all_the_same)
{
    struct agent_scene *scene = *state;
    write_facts(scene, SAY("NONE"));
    play(scene, MEMORY(""));
    assert_int_equal(work(scene).episodes, 2);
    expect_facts(scene, "");
    assert_int_equal(kept_of(scene, STORE_EPISODIC).consolidated, 2);
}

SCENE_TEST(a_run_that_has_not_ended_is_waited_for)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    write_facts(scene, TWO_FACTS);
    scene_start(scene, MEMORY(""), EPISODE("stage-2 was slow") SAY("on") FINISH("completed"));
    assert_int_equal(scene_step(scene, &err), LOOP_BODY);
    struct consolidation_report report = work(scene);
    assert_int_equal(report.batches, 0);
    assert_int_equal(report.next_ns, 0); /* Its end is told. */
    scene_expect(scene, RONDO_COMPLETED);
    report = work(scene);
    assert_int_equal(report.episodes, 2);
    assert_int_equal(report.next_ns, 0);
}

SCENE_TEST(a_batch_takes_the_oldest_episodes_only)
{
    struct agent_scene *scene = *state;
    write_facts(scene, TWO_FACTS);
    play(scene, MEMORY(", max_episodes_per_run: 1"));
    assert_int_equal(work(scene).episodes, 1);
    assert_int_equal(kept_of(scene, STORE_EPISODIC).consolidated, 1);
}

SCENE_TEST(roles_say_whether_and_after_which_runs)
{
    struct agent_scene *scene = *state;
    play(scene, "  memory: {consolidation: {enabled: false}}\n");
    play(scene, "  memory: {consolidation: {interval: manual}}\n");
    play(scene, "  memory: {semantic: {enabled: false}}\n");
    assert_int_equal(documents(scene, "consolidation-due"), 0);
    play(scene, "  memory: {consolidation: {interval: after_autonomous}}\n");
    assert_int_equal(documents(scene, "consolidation-due"), 1);
}

SCENE_TEST(facts_are_bounded_by_max_memories)
{
    struct agent_scene *scene = *state;
    write_facts(scene, TWO_FACTS);
    play(scene, "  memory: {semantic: {max_memories: 1}, consolidation: {model_override: "
                "'scripted:facts.jsonl'}}\n");
    work(scene);
    expect_facts(scene, "people=Ann prefers mail");
}

/* ---- Failures -------------------------------------------------------------------------------- */

SCENE_TEST(a_model_that_fails_is_asked_again_later_and_not_for_ever)
{
    struct agent_scene *scene = *state;
    play(scene, MEMORY("")); /* There is no file facts.jsonl. */
    struct consolidation_report report = work(scene);
    assert_true(report.problem[0] != '\0');
    assert_int_equal(report.waiting, 1);
    assert_int_equal(report.next_ns, scene->fixture->now_ns + INT64_C(60) * NS_PER_S);
    int64_t next_ns = report.next_ns;
    report = work(scene);
    assert_string_equal(report.problem, ""); /* It is not due yet. */
    assert_int_equal(report.next_ns, next_ns);
    assert_int_equal(documents(scene, "consolidations"), 0);
    unsigned tries = 1;
    for (; documents(scene, "consolidation-due") > 0 && tries < 20; tries++) {
        scene->fixture->now_ns += INT64_C(24) * 3600 * NS_PER_S;
        work(scene);
    }
    assert_int_equal(tries, 6);
    assert_int_equal(scene_events(scene, "memory.consolidation_started", NULL), 6);
    assert_int_equal(scene_events(scene, "memory.consolidation_started", "\"attempt\":6,"), 1);
    assert_int_equal(scene_events(scene, "memory.consolidation_finished",
                                  "\"outcome\":\"failed\",\"episodes\":2,\"facts\":0"),
                     6);
    assert_int_equal(kept_of(scene, STORE_EPISODIC).consolidated, 0);
}

SCENE_TEST(what_failed_before_goes_through_when_the_model_is_back)
{
    struct agent_scene *scene = *state;
    play(scene, MEMORY(""));
    work(scene);
    write_facts(scene, TWO_FACTS);
    scene->fixture->now_ns += INT64_C(3600) * NS_PER_S;
    work(scene);
    expect_facts(scene, BOTH_FACTS);
    expect_nothing_left(scene);
}

SCENE_TEST(policies_decide_on_the_model_and_on_each_fact)
{
    struct agent_scene *scene = *state;
    write_facts(scene, TWO_FACTS);
    set_policies(scene->world,
                 PERMIT "forbid (principal, action == Action::\"remember\", resource == "
                        "Memory::\"tester\") when { context.input.category == \"people\" };");
    play(scene, MEMORY("") "  policy: p.cedar\n");
    work(scene);
    expect_facts(scene, "hosts=stage-2 is slow");
    play(scene, MEMORY("") "  policy: p.cedar\n");
    set_policies(scene->world, PERMIT
                 "@id(\"mute\") forbid (principal, action == Action::\"call_model\", resource);");
    struct consolidation_report report = work(scene);
    assert_non_null(strstr(report.problem, "mute"));
    expect_nothing_left(scene);
}

SCENE_TEST(a_batch_of_a_living_process_is_left_to_it)
{
    struct agent_scene *scene = *state;
    struct consolidation_batch *batch = memory_new_zero(1, sizeof(*batch));
    struct store *store = scene->fixture->memory;
    write_facts(scene, TWO_FACTS);
    play(scene, MEMORY(""));
    assert_int_equal(record_claim(store, "tester", runtime_owner(scene->fixture->other),
                                  scene->fixture->now_ns, batch, NULL),
                     1);
    struct consolidation_report report = work(scene);
    assert_int_equal(report.waiting, 1);
    assert_true(report.next_ns > scene->fixture->now_ns);
    expect_facts(scene, "");
    scene->fixture->now_ns += INT64_C(3600) * NS_PER_S;
    work(scene);
    expect_facts(scene, BOTH_FACTS);
    /* The other one wakes up, and is too late. */
    assert_int_equal(record_reply(store, batch, "x", scene->fixture->now_ns, NULL), 0);
    record_batch_fini(batch);
    free(batch);
}

TEST(the_thread_sleeps_until_something_is_due_and_an_hour_at_most)
{
    const int64_t hour_ns = INT64_C(3600) * NS_PER_S;
    assert_int_equal(consolidation_sleep_ns(0, 5), hour_ns);
    assert_int_equal(consolidation_sleep_ns(100 * NS_PER_S, 40 * NS_PER_S), 60 * NS_PER_S);
    assert_int_equal(consolidation_sleep_ns(10 * hour_ns, hour_ns), hour_ns);
    assert_int_equal(consolidation_sleep_ns(hour_ns, 2 * hour_ns), NS_PER_S);
}

/* ---- A process that dies between any two steps ----------------------------------------------- */

/** A store whose changes count, and fail from one of them on. */
struct dying_store {
    const struct store_ops *ops; /* of the store around which this is */
    struct store_ops own;
    unsigned changes;
    unsigned dies_at;
    bool is_applied; /* the last change is: only its answer is lost */
};

static struct dying_store dying;

/** @return whether the process lives on; else what its last change did */
static bool lives(bool *ret_is_applied)
{
    dying.changes++;
    *ret_is_applied =
        dying.changes < dying.dies_at || (dying.changes == dying.dies_at && dying.is_applied);
    return dying.changes < dying.dies_at;
}

static int change_documents(struct store *store, const struct store_change *changes, size_t count,
                            bool *ret_is_applied, struct rondo_error *err)
{
    bool happens = false;
    bool goes_on = lives(&happens);
    int r = happens ? dying.ops->change_documents(store, changes, count, ret_is_applied, err) : 0;
    return goes_on ? r : RONDO_ERR_IO;
}

static int change_memories(struct store *store, const struct store_memory_change *changes,
                           size_t count, uint64_t *ret_changed, struct rondo_error *err)
{
    bool happens = false;
    bool goes_on = lives(&happens);
    int r = happens ? dying.ops->change_memories(store, changes, count, ret_changed, err) : 0;
    return goes_on ? r : RONDO_ERR_IO;
}

static int reserve_memories(struct store *store, const char *owner, uint32_t count,
                            int64_t *ret_first, struct rondo_error *err)
{
    bool happens = false;
    bool goes_on = lives(&happens);
    int r = happens ? dying.ops->reserve_memories(store, owner, count, ret_first, err) : 0;
    return goes_on ? r : RONDO_ERR_IO;
}

static int commit(struct store *store, const struct store_batch *const *batches, size_t count,
                  struct store_commit_result *ret_results, struct rondo_error *err)
{
    bool happens = false;
    bool goes_on = lives(&happens);
    int r = happens ? dying.ops->commit(store, batches, count, ret_results, err) : 0;
    return goes_on ? r : RONDO_ERR_IO;
}

/** Work until the process dies at a change. @return whether it died */
static bool work_and_die(struct agent_scene *scene, unsigned dies_at, bool is_applied)
{
    struct store *store = scene->fixture->store;
    struct consolidation_report report;
    dying = (struct dying_store){
        .ops = store->ops, .own = *store->ops, .dies_at = dies_at, .is_applied = is_applied};
    dying.own.change_documents = change_documents;
    dying.own.change_memories = change_memories;
    dying.own.reserve_memories = reserve_memories;
    dying.own.commit = commit;
    store->ops = &dying.own;
    int r = try_work(scene, scene->fixture->runtime, &report);
    store->ops = dying.ops;
    return r < 0 || dying.changes >= dies_at;
}

SCENE_TEST(whenever_a_process_dies_each_fact_is_there_once_in_the_end)
{
    struct agent_scene *scene = *state;
    write_facts(scene, TWO_FACTS);
    unsigned deaths = 0;
    bool has_died = true;
    for (unsigned at = 1; has_died; at++) {
        for (int is_applied = 0; is_applied < 2; is_applied++) {
            play(scene, MEMORY(""));
            has_died = work_and_die(scene, at, is_applied != 0);
            deaths += has_died;
            /* Its claim is that of a process that cannot be seen to be dead. */
            scene->fixture->now_ns += INT64_C(3600) * NS_PER_S;
            struct consolidation_report report;
            assert_int_equal(try_work(scene, scene->fixture->other, &report), 0);
            expect_facts(scene, BOTH_FACTS);
            expect_nothing_left(scene);
            struct kept episodes = kept_of(scene, STORE_EPISODIC);
            assert_int_equal(episodes.consolidated, 2);
            assert_true(scene_events(scene, "memory.consolidation_started", NULL) >= 1);
            assert_int_equal(scene_events(scene, "memory.consolidation_finished", "\"facts\":2"),
                             1);
            assert_int_equal(scene_events(scene, "memory.consolidation_finished", NULL), 1);
            forget_all(scene);
        }
    }
    assert_true(deaths >= 14);
}

SCENE_TEST(episodes_of_an_agent_are_consolidated_on_demand)
{
    struct agent_scene *scene = *state;
    const struct consolidation_parts parts = {.runtime = scene->fixture->runtime};
    struct consolidation_report report;
    struct rondo_error err = {0};
    write_facts(scene, TWO_FACTS);
    assert_int_equal(consolidation_work_all(&parts, "tester", &report, &err), RONDO_ERR_NOT_FOUND);
    play(scene, MEMORY(", interval: manual, max_episodes_per_run: 1"));
    assert_int_equal(consolidation_work_all(&parts, "tester", &report, &err), 0);
    assert_int_equal(report.batches, 2);
    assert_int_equal(report.episodes, 2);
    expect_nothing_left(scene);
}
