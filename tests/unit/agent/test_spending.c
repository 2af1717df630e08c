// SPDX-License-Identifier: Apache-2.0
/*
 * Budgets over all runs of an agent: what ends a run, what is counted when a process dies, and many
 * runs at once over one real store.
 */
#include "agent_fixture.h"

#include "os/host.h"
#include "store/sqlite/sqlite.h"

#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define DAILY(tokens) "  guardrails: {daemon_daily_token_budget: " #tokens "}\n"
#define AUTONOMY      "  autonomy: {}\n"

static struct budget_ledger *ledger_of(struct store *store)
{
    struct budget_ledger *ledger = memory_new_zero(1, sizeof(*ledger));
    assert_int_equal(budget_load(store, "tester", ledger, NULL, NULL), 0);
    return ledger;
}

static int64_t life_tokens(const struct agent_scene *scene)
{
    struct budget_ledger *ledger = ledger_of(scene->fixture->memory);
    int64_t tokens = ledger->life.tokens;
    assert_int_equal(ledger->request_count, 0);
    free(ledger);
    return tokens;
}

SCENE_TEST(a_run_without_budgets_has_no_ledger)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALL_FOR(10, 5) FINISH_FOR(20, 5), RONDO_COMPLETED);
    struct budget_ledger *ledger = ledger_of(scene->fixture->memory);
    assert_int_equal(ledger->life.tokens, 0);
    free(ledger);
}

SCENE_TEST(each_reply_is_counted_once)
{
    struct agent_scene *scene = *state;
    scene_play(scene, DAILY(100000), CALL_FOR(10, 5) FINISH_FOR(20, 5), RONDO_COMPLETED);
    assert_int_equal(life_tokens(scene), 40);
}

SCENE_TEST(budgets_cost_no_commit)
{
    struct agent_scene *scene = *state;
    scene_play(scene, "", CALL_FOR(10, 5) CALL_FOR(10, 5) FINISH_FOR(20, 5), RONDO_COMPLETED);
    uint64_t before = scene->commits;
    scene_leave(scene);
    scene->commits = 0;
    scene_play(scene, DAILY(100000), CALL_FOR(10, 5) CALL_FOR(10, 5) FINISH_FOR(20, 5),
               RONDO_COMPLETED);
    assert_int_equal(scene->commits, before);
}

SCENE_TEST(a_run_ends_when_its_budget_is_used_up_and_continues_the_next_day)
{
    struct agent_scene *scene = *state;
    scene_play(scene, DAILY(50), CALL_FOR(30, 5) CALL_FOR(30, 5) FINISH_FOR(20, 5),
               RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 2);
    scene_last(scene, "gate.denied", "limit_name", "daemon_daily_token_budget");
    scene_last(scene, "gate.denied", "reason", "budget_exhausted");
    scene_ended_with(scene, "daemon_daily_token_budget of the role is used up: 70 of 50 tokens");
    assert_int_equal(life_tokens(scene), 70);

    scene_leave(scene);
    scene_start(scene, DAILY(50), FINISH_FOR(20, 5));
    scene_expect(scene, RONDO_BUDGET_EXCEEDED);
    assert_int_equal(scene->asks, 2);
    scene_leave(scene);

    scene->fixture->skew_ns += 24 * 3600 * NS_PER_S;
    scene_start(scene, DAILY(50), FINISH_FOR(20, 5));
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(life_tokens(scene), 95);
}

SCENE_TEST(a_lifetime_budget_lasts)
{
    struct agent_scene *scene = *state;
    const char *lines = "  guardrails: {daemon_token_budget: 20}\n";
    scene_play(scene, lines, FINISH_FOR(20, 5), RONDO_COMPLETED);
    scene_leave(scene);
    scene->fixture->skew_ns += 400 * 24 * 3600 * NS_PER_S;
    scene_play(scene, lines, FINISH_FOR(20, 5), RONDO_BUDGET_EXCEEDED);
    assert_int_equal(budget_reset(scene->fixture->memory, "tester", NULL), 0);
    scene_leave(scene);
    scene_play(scene, lines, FINISH_FOR(20, 5), RONDO_COMPLETED);
}

SCENE_TEST(people_are_warned_once_a_day)
{
    struct agent_scene *scene = *state;
    scene_play(scene, DAILY(100), CALL_FOR(70, 5) CALL_FOR(5, 0) CALL_FOR(5, 0) FINISH_FOR(5, 0),
               RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "limit.warning", "daemon_daily_token_budget"), 1);
    scene_last_has(scene, "limit.warning", "message",
                   "80 of 100 tokens of the role's daemon_daily_token_budget");
    scene_leave(scene);
    scene_play(scene, DAILY(100), FINISH_FOR(5, 0), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "limit.warning", "daemon_daily"), 0);
}

SCENE_TEST(a_reply_that_does_not_say_what_it_used_counts_as_estimated)
{
    struct agent_scene *scene = *state;
    scene_play(scene, DAILY(100000), FINISH("completed"), RONDO_COMPLETED);
    assert_true(life_tokens(scene) > 4096);
}

SCENE_TEST(a_cost_budget_counts_what_replies_cost)
{
    struct agent_scene *scene = *state;
    struct budget_ledger *ledger = NULL;
    scene_start(scene, "  guardrails: {daemon_daily_cost_budget: 0.5}\n",
                CALL_FOR(20, 5) FINISH_FOR(20, 5));
    scene->agent->model->prices =
        (struct prices){.input = 20000000000, .output = 20000000000, .is_known = true};
    scene_expect(scene, RONDO_BUDGET_EXCEEDED);
    ledger = ledger_of(scene->fixture->memory);
    assert_int_equal(ledger->life.cost_micro, 500000);
    free(ledger);
    scene_ended_with(scene, "daemon_daily_cost_budget of the role is used up: $0.5 of $0.5");
}

SCENE_TEST(a_zone_that_is_not_there_refuses_the_run)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    struct loop_spec spec;
    struct agent_options options = {
        .prompt = "Do it.", .workspace = scene->world->folder, .system = "You test."};
    struct role *role = scene_role(scene, "  guardrails: {daemon_token_budget: 9, "
                                          "budget_timezone: Europe/Nowhere}\n");
    scene_script(scene, FINISH("completed"));
    assert_int_equal(agent_spec(role, &options, &spec, &err), 0);
    role_free(role);
    assert_int_equal(agent_open(scene->fixture->runtime, &spec, &scene->parts, &scene->agent, &err),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "Europe/Nowhere"));
    loop_spec_fini(&spec);
}

SCENE_TEST(whether_a_run_may_start_says_until_when_not)
{
    struct agent_scene *scene = *state;
    struct store *store = scene->fixture->memory;
    struct budget_rules rules = {.limits = {.limits = {[BUDGET_DAY_TOKENS] = 20}}, .zone = "UTC"};
    struct budget_reply reply;
    int64_t now_ns = clock_now(&scene->fixture->clock);
    assert_int_equal(budget_allows(store, "tester", &rules, now_ns, &reply, NULL), 0);
    assert_int_equal(reply.answer, BUDGET_YES);
    scene_play(scene, DAILY(20), FINISH_FOR(20, 5), RONDO_COMPLETED);
    budget_allows(store, "tester", &rules, now_ns, &reply, NULL);
    assert_int_equal(reply.answer, BUDGET_NOT_BEFORE);
    assert_true(reply.at_ns > now_ns && reply.at_ns <= now_ns + 24 * 3600 * NS_PER_S);
    assert_int_equal(reply.at_ns % (24 * 3600 * NS_PER_S), 0);
    rules.is_refusing = true;
    budget_allows(store, "tester", &rules, now_ns, &reply, NULL);
    assert_int_equal(reply.answer, BUDGET_NEVER);
    budget_allows(store, "tester", &rules, reply.at_ns, &reply, NULL);
    assert_int_equal(reply.answer, BUDGET_YES);
    rules = (struct budget_rules){.limits = {.limits = {[BUDGET_LIFE_TOKENS] = 20}}, .zone = "UTC"};
    budget_allows(store, "tester", &rules, now_ns, &reply, NULL);
    assert_int_equal(reply.answer, BUDGET_NEVER);
}

/* ---- Deaths --------------------------------------------------------------------------------- */

static int64_t replied_tokens; /* in the journal that was read last */

static bool add_replied(const struct store_event *event, void *context)
{
    (void)context;
    if (strcmp(event->type, "model.replied") == 0) {
        auto_json struct json_object *data = NULL;
        assert_int_equal(json_parse(event->data, event->data_len, &data, NULL), 0);
        replied_tokens += json_get_int(data, "tokens", 0);
    }
    return true;
}

/** Continue a run, unless it died in the commit of its end. */
static void continue_after_death(struct agent_scene *scene)
{
    struct store *store = scene->fixture->memory;
    struct store_run run;
    scene_crash(scene);
    assert_int_equal(store->ops->get_run(store, scene->world->run_id, &run, NULL), 0);
    if (run.summary.status == RONDO_RUNNING) {
        scene_resume(scene);
        scene_expect(scene, RONDO_COMPLETED);
    }
}

SCENE_TEST(a_death_at_any_commit_counts_what_the_journal_has)
{
    struct agent_scene *scene = *state;
    static const char turns[] = CALL_FOR(10, 5) CALL_FOR(20, 5) SAY_FOR(30, 5) FINISH_FOR(40, 5);
    scene_play(scene, AUTONOMY DAILY(100000), turns, RONDO_COMPLETED);
    uint64_t commits = scene->commits;
    int64_t expected = life_tokens(scene);
    assert_int_equal(expected, 120);
    for (uint64_t i = 0; i < 2 * commits; i++) {
        scene_leave(scene);
        budget_reset(scene->fixture->memory, "tester", NULL);
        scene->commits = 0;
        scene_start(scene, AUTONOMY DAILY(100000), turns);
        scene->crash_at = scene->commits + 1 + i / 2;
        scene->fault = i % 2 == 0 ? STORE_FAULT_BEFORE : STORE_FAULT_AFTER;
        if (scene_run(scene, NULL) != LOOP_ENDED) {
            continue_after_death(scene);
        }
        replied_tokens = 0;
        struct store *store = scene->fixture->memory;
        store->ops->read_events(store, scene->world->run_id, 0, 0, add_replied, NULL, NULL);
        assert_int_equal(life_tokens(scene), replied_tokens);
        assert_int_equal(replied_tokens, expected);
    }
}

SCENE_TEST(what_a_dead_run_has_reserved_is_given_back)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    scene_start(scene, DAILY(100), CALL_FOR(10, 5) FINISH_FOR(10, 5));
    scene->crash_at = scene->commits + 3;
    scene->fault = STORE_FAULT_BEFORE;
    assert_int_not_equal(scene_run(scene, &err), LOOP_ENDED);
    struct budget_ledger *ledger = ledger_of(scene->fixture->memory);
    assert_int_equal(ledger->request_count, 1);
    assert_true(ledger->requests[0].reserved.tokens > 100);
    scene_crash(scene); /* its lease has run out, and nobody continues it */

    scene_play(scene, DAILY(100), FINISH_FOR(10, 5), RONDO_COMPLETED);
    budget_load(scene->fixture->memory, "tester", ledger, NULL, NULL);
    assert_int_equal(ledger_reserved(ledger, BUDGET_LIFE_TOKENS, 0, NULL), 0);
    free(ledger);
}

SCENE_TEST(a_record_that_cannot_be_read_stops_the_run)
{
    struct agent_scene *scene = *state;
    struct store *store = scene->fixture->memory;
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = BUDGET_COLLECTION,
                                  .key = "tester",
                                  .data = "{\"format\":9}",
                                  .data_len = 12,
                                  .if_version = STORE_ANY_VERSION};
    bool is_applied;
    struct rondo_error err = {0};
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
    scene_start(scene, DAILY(100), FINISH_FOR(10, 5));
    assert_int_equal(scene_run(scene, &err), RONDO_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "format 9"));
    assert_int_equal(scene->asks, 0);
}

/* ---- Many runs ------------------------------------------------------------------------------ */

#define CROWD       50
#define PROCESSES   5
#define TURN_TOKENS 1000
#define BUDGET      60000
#define DAY_NS      (86400 * NS_PER_S)

/** Runs of one role in one process. */
struct spending_crowd {
    size_t count; /* at most CROWD */
    struct runtime *runtime;
    const struct role *role;
    struct model_ops ops;
    char folder[64];
    pthread_barrier_t start;
    atomic_int in_flight;
    atomic_int most_in_flight;
};

struct spending_member {
    struct spending_crowd *crowd;
    struct loop_spec spec;
    enum rondo_status status;
    int result;
    struct rondo_error err;
};

static struct spending_crowd *crowd_now;

static int crowd_ask(struct model *model, const struct model_request *request,
                     struct model_reply *ret_reply, struct rondo_error *err)
{
    int in_flight = atomic_fetch_add(&crowd_now->in_flight, 1) + 1;
    int most = atomic_load(&crowd_now->most_in_flight);
    while (in_flight > most &&
           !atomic_compare_exchange_weak(&crowd_now->most_in_flight, &most, in_flight)) {
    }
    sched_yield();
    int r = scripted_ops.ask(model, request, ret_reply, err);
    atomic_fetch_sub(&crowd_now->in_flight, 1);
    return r;
}

static int open_member(struct spending_member *member, struct agent **ret_agent,
                       struct loop **ret_loop)
{
    struct spending_crowd *crowd = member->crowd;
    struct loop_parts parts = {.runtime = crowd->runtime};
    struct agent_parts agent_parts = {0};
    struct loop_opening opening;
    int r = agent_open(crowd->runtime, &member->spec, &agent_parts, ret_agent, &member->err);
    if (r == 0) {
        (*ret_agent)->model->ops = &crowd->ops;
        r = loop_start(&parts, &member->spec, ret_loop, &opening, &member->err);
    }
    return r < 0 ? r : agent_attach(*ret_agent, *ret_loop, &member->err);
}

static void *run_member(void *argument)
{
    struct spending_member *member = argument;
    struct agent *agent = NULL;
    struct loop *loop = NULL;
    member->result = open_member(member, &agent, &loop);
    pthread_barrier_wait(&member->crowd->start);
    while (member->result >= 0 && (member->result = loop_next(loop, &member->err)) == LOOP_BODY) {
        member->result = agent_run(agent, NULL, &member->err);
    }
    member->status = loop == NULL ? RONDO_ERROR : loop_state(loop)->status;
    agent_free(agent);
    loop_free(loop);
    return NULL;
}

/** The options of each run, on one thread: a role's JSON is not for several. */
static void make_specs(struct spending_crowd *crowd, struct spending_member *members)
{
    struct agent_options options = {
        .prompt = "Do it.", .workspace = crowd->folder, .system = "You test."};
    for (size_t i = 0; i < crowd->count; i++) {
        members[i] = (struct spending_member){.crowd = crowd};
        assert_int_equal(agent_spec(crowd->role, &options, &members[i].spec, NULL), 0);
    }
}

/** @return how many ended by the budget */
static unsigned run_crowd(struct spending_crowd *crowd)
{
    struct spending_member members[CROWD];
    pthread_t threads[CROWD];
    unsigned exceeded = 0;
    make_specs(crowd, members);
    pthread_barrier_init(&crowd->start, NULL, (unsigned)crowd->count);
    for (size_t i = 0; i < crowd->count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_member, &members[i]), 0);
    }
    for (size_t i = 0; i < crowd->count; i++) {
        pthread_join(threads[i], NULL);
        loop_spec_fini(&members[i].spec);
    }
    for (size_t i = 0; i < crowd->count; i++) {
        if (members[i].result != LOOP_ENDED) {
            fail_msg("run %zu gives %d %s", i, members[i].result, members[i].err.message);
        }
        exceeded += members[i].status == RONDO_BUDGET_EXCEEDED;
        assert_true(members[i].status == RONDO_BUDGET_EXCEEDED ||
                    members[i].status == RONDO_COMPLETED);
    }
    pthread_barrier_destroy(&crowd->start);
    return exceeded;
}

/** The machine's clock, set so that a test that begins at noon stays within a day. */
static int64_t shifted_now_ns(const struct clock *clock)
{
    return clock_now(clock_system()) - *(const int64_t *)clock->context;
}

static int64_t shifted_monotonic_ns(const struct clock *clock)
{
    (void)clock;
    return clock_monotonic(clock_system());
}

static void shifted_sleep(const struct clock *clock, int64_t duration_ns, struct cancel *cancel)
{
    (void)clock;
    clock_sleep(clock_system(), duration_ns, cancel);
}

static int64_t shift_to_noon(void)
{
    return clock_now(clock_system()) % DAY_NS - DAY_NS / 2;
}

/** Runs of the tester over the store of a folder. @return how many ended by the budget */
static unsigned play_crowd(const struct agent_scene *scene, size_t count, int64_t shift_ns)
{
    struct clock clock = {.now_ns = shifted_now_ns,
                          .monotonic_ns = shifted_monotonic_ns,
                          .sleep = shifted_sleep,
                          .context = &shift_ns};
    struct spending_crowd crowd = {.count = count, .ops = scripted_ops};
    struct store *store = NULL;
    char path[128];
    crowd.ops.ask = crowd_ask;
    crowd_now = &crowd;
    snprintf(crowd.folder, sizeof(crowd.folder), "%s", scene->world->folder);
    snprintf(path, sizeof(path), "%s/store.db", scene->world->rules);
    struct role *role = scene_role(scene, "  autonomy: {max_no_tool_call_iterations: 9}\n"
                                          "  guardrails: {daemon_daily_token_budget: 60000}\n");
    crowd.role = role;
    struct store_sqlite_options options = {.path = path, .may_create = true};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    struct runtime_options runtime_options = {
        .store = store, .clock = &clock, .lease_ns = 600 * NS_PER_S};
    assert_int_equal(runtime_new(&runtime_options, &crowd.runtime, NULL), 0);

    unsigned exceeded = run_crowd(&crowd);

    role_free(role);
    runtime_free(crowd.runtime);
    store_close(store);
    return exceeded;
}

/** Tokens that the ledger of a folder's store has; nothing may be under way. */
static int64_t crowd_tokens(const struct agent_scene *scene)
{
    struct store *store = NULL;
    char path[128];
    snprintf(path, sizeof(path), "%s/store.db", scene->world->rules);
    struct store_sqlite_options options = {.path = path, .may_create = false};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    struct budget_ledger *ledger = ledger_of(store);
    int64_t tokens = ledger->life.tokens;
    assert_int_equal(ledger->request_count, 0);
    assert_int_equal(ledger->day_count, 1);
    free(ledger);
    store_close(store);
    return tokens;
}

/* 50 runs of three replies would use 150,000 tokens. */
static void write_crowd_script(struct agent_scene *scene)
{
    scene_script(scene, SAY_FOR(900, 100) SAY_FOR(900, 100) FINISH_FOR(900, 100));
}

SCENE_TEST(fifty_runs_at_once_exceed_a_budget_by_less_than_one_reply)
{
    struct agent_scene *scene = *state;
    write_crowd_script(scene);
    assert_true(play_crowd(scene, CROWD, shift_to_noon()) > 0);
    assert_in_range(crowd_tokens(scene), BUDGET, BUDGET + TURN_TOKENS - 1);
}

/** This program again, as a process with some of the runs. */
static pid_t start_crowd(struct agent_scene *scene, char *shift)
{
    pid_t pid;
    char count[16];
    snprintf(count, sizeof(count), "%d", CROWD / PROCESSES);
    char *words[] = {(char *)"/proc/self/exe",
                     (char *)"crowd",
                     scene->world->folder,
                     scene->world->rules,
                     shift,
                     count,
                     NULL};
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, words, environ), 0);
    return pid;
}

static int crowd_main(char **words)
{
    struct policy_world world = {0};
    struct agent_scene scene = {.world = &world};
    snprintf(world.folder, sizeof(world.folder), "%s", words[0]);
    snprintf(world.rules, sizeof(world.rules), "%s", words[1]);
    (void)play_crowd(&scene, strtoul(words[3], NULL, 10), strtoll(words[2], NULL, 10));
    return 0;
}

SCENE_TEST(fifty_runs_in_five_processes_exceed_a_budget_by_less_than_one_reply)
{
    struct agent_scene *scene = *state;
    pid_t pids[PROCESSES];
    char shift[32];
    int64_t shift_ns = shift_to_noon();
    snprintf(shift, sizeof(shift), "%" PRId64, shift_ns);
    write_crowd_script(scene);
    for (size_t i = 0; i < PROCESSES; i++) {
        pids[i] = start_crowd(scene, shift);
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    int64_t used = crowd_tokens(scene);
    assert_in_range(used, BUDGET, BUDGET + TURN_TOKENS - 1);

    /* Nothing is left for a process that starts now. */
    assert_int_equal(play_crowd(scene, 3, shift_ns), 3);
    assert_int_equal(crowd_tokens(scene), used);
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "crowd") == 0) {
        return crowd_main(argv + 2);
    }
    return test_run(NULL, NULL);
}
