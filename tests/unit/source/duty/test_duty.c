// SPDX-License-Identifier: Apache-2.0
/* Roles on duty: starting what waits, reloading files, naming what cannot work. */
#include "../../orchestrator/orchestrator_world.h"

#include "agent/budget/budget.h"
#include "agent/follow_up.h"
#include "loop/runtime.h"
#include "source/duty/duty.h"
#include "source/duty/status.h"

#include <pthread.h>
#include <sys/stat.h>

/** A role whose model answers once. @param name of its agent */
#define ROLE(name, triggers)                                                           \
    "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: " name                 \
    "\nspec:\n  role: You test.\n  model: {provider: scripted, name: turns.jsonl}\n  " \
    "triggers:\n" triggers

#define DISCORD "    - {type: discord, channel_ids: ['1']}\n"
/** Due in thirty years. */
#define NEVER(file) "    - {type: heartbeat, file: " file ", interval_seconds: 1000000000}\n"

struct duty_world {
    struct orchestrator_world *server;
    _Atomic(struct duty *) duty;
    char file[128];
    char workspace[128];
    const char *more; /* another path, or NULL */
    char log[8192];
    pthread_mutex_t lock; /* guards `log` */
};

static void keep_log(void *context, const char *line)
{
    struct duty_world *world = context;
    pthread_mutex_lock(&world->lock);
    size_t len = strlen(world->log);
    snprintf(world->log + len, sizeof(world->log) - len, "%s\n", line);
    pthread_mutex_unlock(&world->lock);
}

static bool is_logged(struct duty_world *world, const char *text)
{
    pthread_mutex_lock(&world->lock);
    bool is_found = strstr(world->log, text) != NULL;
    pthread_mutex_unlock(&world->lock);
    return is_found;
}

static void settled(void *context)
{
    struct duty_world *world = context;
    pthread_mutex_lock(&world->lock);
    if (world->duty != NULL) {
        duty_wake(world->duty);
    }
    pthread_mutex_unlock(&world->lock);
}

/** Runs may settle meanwhile: none wakes what ends. @return what was there before */
static struct duty *exchange_duty(struct duty_world *world, struct duty *duty)
{
    pthread_mutex_lock(&world->lock);
    struct duty *before = world->duty;
    world->duty = duty;
    pthread_mutex_unlock(&world->lock);
    return before;
}

static void end_duty(struct duty_world *world)
{
    duty_stop(exchange_duty(world, NULL));
}

static int duty_up(void **state)
{
    void *server = NULL;
    struct duty_world *world = memory_new_zero(1, sizeof(*world));
    world_up(&server);
    world->server = server;
    pthread_mutex_init(&world->lock, NULL);
    write_file(world->server, "turns.jsonl", "{\"text\":\"hello\"}\n");
    world_path(world->server, "tester.yaml", world->file, sizeof(world->file));
    world_path(world->server, "workspace", world->workspace, sizeof(world->workspace));
    assert_int_equal(mkdir(world->workspace, 0700), 0);
    world->server->options.on_settled = settled;
    world->server->options.settled_context = world;
    world_start(world->server);
    *state = world;
    return 0;
}

static int duty_down(void **state)
{
    struct duty_world *world = *state;
    void *server = world->server;
    if (world->duty != NULL) {
        duty_drain(world->duty);
    }
    world_stop(world->server);
    duty_stop(world->duty);
    world_down(&server);
    pthread_mutex_destroy(&world->lock);
    free(world);
    return 0;
}

#define DUTY_TEST(name) TEST_WITH(name, duty_up, duty_down)

/** @param path NULL = the role's file */
static int start_duty(struct duty_world *world, const char *path, struct rondo_error *err)
{
    const char *paths[] = {path == NULL ? world->file : path, world->more, NULL};
    struct duty_options options = {
        .runtime = world->server->runtime,
        .orchestrator = world->server->orchestrator,
        .http = world->server->http,
        .paths = paths,
        .workspace = world->workspace,
        .queue = {.max_waiting = 10, .max_running = 1},
        .log = keep_log,
        .log_context = world,
    };
    struct duty *duty = NULL;
    int r = duty_start(&options, &duty, err);
    (void)exchange_duty(world, duty);
    return r;
}

static void begin_duty(struct duty_world *world, const char *role)
{
    struct rondo_error err = {0};
    write_file(world->server, "tester.yaml", role);
    if (start_duty(world, NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static struct intake_result submit(struct duty_world *world, const char *prompt, const char *key)
{
    struct rondo_error err = {0};
    struct intake_result result;
    struct intake_event event = {.source = "tester/test",
                                 .role = "tester",
                                 .kind = "test",
                                 .prompt = prompt,
                                 .mode = START_AUTONOMOUS,
                                 .key = key,
                                 .context = "{\"number\":7}"};
    if (intake_submit(duty_intake(world->duty), &event, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return result;
}

struct status_search {
    const char *id_part;
    char found[1024];
};

static bool find_status(const struct source_status *status, void *context)
{
    struct status_search *search = context;
    if (strstr(status->id, search->id_part) != NULL) {
        snprintf(search->found, sizeof(search->found), "%s|%s|%s", status->summary, status->problem,
                 status->is_on_duty ? "on" : "off");
    }
    return true;
}

/** "SUMMARY|PROBLEM|on" of the source whose id holds a text; "" = none. */
static const char *status_of(struct duty_world *world, const char *id_part,
                             struct status_search *search)
{
    *search = (struct status_search){.id_part = id_part};
    assert_int_equal(source_statuses_read(world->server->store, find_status, search, NULL), 0);
    return search->found;
}

#define WAIT_STATUS(world, id_part, text)                                       \
    do {                                                                        \
        struct status_search search_;                                           \
        WAIT_FOR(strcmp(status_of((world), (id_part), &search_), (text)) == 0); \
    } while (0)

static void wait_run(struct duty_world *world, const char *run_id)
{
    struct store_run run;
    struct store *store = world->server->store;
    WAIT_FOR(store->ops->get_run(store, run_id, &run, NULL) == 0);
    wait_status(world->server, run_id, RONDO_COMPLETED);
}

/* ---- Starting ------------------------------------------------------------------------------- */

DUTY_TEST(an_event_becomes_a_run_that_names_it)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    struct intake_result result = submit(world, "do it", "a");
    wait_run(world, result.run_id);
    WAIT_FOR(intake_state(duty_intake(world->duty)).running == 0);
    assert_int_equal(events_of(world->server, result.run_id, "run.created", "\"number\":7"), 1);
    assert_int_equal(intake_state(duty_intake(world->duty)).waiting, 0);
}

/** Submit what somebody says in the conversation "a". */
static struct intake_result say(struct duty_world *world, const char *words)
{
    struct rondo_error err = {0};
    struct intake_result result;
    const struct intake_event event = {.source = "tester/test",
                                       .role = "tester",
                                       .kind = "test",
                                       .prompt = words,
                                       .mode = START_CONVERSATION,
                                       .conversation = "a",
                                       .idle_s = 3600};
    if (intake_submit(duty_intake(world->duty), &event, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return result;
}

DUTY_TEST(a_turn_has_its_own_run_and_what_was_said_before)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    struct intake_result first = say(world, "one");
    struct intake_result second = say(world, "two");
    struct intake_result third = say(world, "three");
    wait_run(world, first.run_id);
    wait_run(world, second.run_id);
    wait_run(world, third.run_id);
    assert_int_equal(events_of(world->server, first.run_id, "model.requested", "\"messages\":1"),
                     1);
    assert_int_equal(events_of(world->server, second.run_id, "model.requested", "\"messages\":3"),
                     1);
    assert_int_equal(events_of(world->server, third.run_id, "model.requested", "\"messages\":5"),
                     1);
    assert_int_equal(events_of(world->server, third.run_id, "run.created",
                               "[\"one\",\"hello\",\"two\",\"hello\"]"),
                     1);
}

#define COMPACTION                                                              \
    "  autonomy: {compaction: {enabled: true, threshold: 5, tail_messages: 2, " \
    "model_override: 'scripted:summary.jsonl'}}\n"

DUTY_TEST(a_turn_has_the_summary_of_the_one_before_and_pays_for_no_other)
{
    struct duty_world *world = *state;
    char ids[5][ID_SIZE];
    write_file(world->server, "summary.jsonl", "{\"text\":\"It was said.\"}\n");
    begin_duty(world, ROLE("tester", NEVER("a.md")) COMPACTION);
    for (size_t i = 0; i < 5; i++) {
        static const char *const words[] = {"one", "two", "three", "four", "five"};
        snprintf(ids[i], ID_SIZE, "%s", say(world, words[i]).run_id);
        wait_run(world, ids[i]);
    }
    assert_int_equal(events_of(world->server, ids[3], "history.compacted", "\"replaced\":4"), 1);
    assert_int_equal(events_of(world->server, ids[4], "history.compacting", NULL), 0);
    assert_int_equal(events_of(world->server, ids[4], "model.requested", "\"messages\":6"), 1);
    assert_int_equal(
        events_of(world->server, ids[4], "run.created", "[\"three\",\"hello\",\"four\",\"hello\"]"),
        1);
    assert_int_equal(events_of(world->server, ids[4], "run.created", "It was said."), 1);
}

DUTY_TEST(a_conversation_continues_after_a_restart)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    wait_run(world, say(world, "one").run_id);
    duty_drain(world->duty);
    end_duty(world);
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    struct intake_result second = say(world, "two");
    wait_run(world, second.run_id);
    assert_int_equal(events_of(world->server, second.run_id, "model.requested", "\"messages\":3"),
                     1);
}

DUTY_TEST(events_that_wait_are_started_one_after_the_other)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    struct intake_result first = submit(world, "one", NULL);
    struct intake_result second = submit(world, "two", NULL);
    struct intake_result third = submit(world, "three", NULL);
    wait_run(world, first.run_id);
    wait_run(world, second.run_id);
    wait_run(world, third.run_id);
    assert_int_equal(runs_in_store(world->server), 3);
}

DUTY_TEST(what_waited_when_a_daemon_ended_is_started_by_the_next)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    duty_drain(world->duty);
    struct intake_result result = submit(world, "one", "a");
    end_duty(world);
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    wait_run(world, result.run_id);
    assert_int_equal(submit(world, "one", "a").outcome, INTAKE_DUPLICATE);
}

/* ---- Sources -------------------------------------------------------------------------------- */

DUTY_TEST(a_trigger_that_cannot_work_is_named_and_the_others_work)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", DISCORD NEVER("a.md")));
    assert_true(is_logged(world, "is left out: it needs a connection by WebSocket"));
    WAIT_STATUS(world, "tester/heartbeat-", "a.md||on");
}

DUTY_TEST(a_role_without_a_trigger_that_works_is_no_daemon)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    write_file(world->server, "tester.yaml", ROLE("tester", DISCORD));
    assert_int_equal(start_duty(world, NULL, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "no role has a trigger that works"));
}

#define BUILD_HOOK(path) \
    "    - {type: webhook, name: build, port: 0, unsigned: true, path: " path "}\n"

DUTY_TEST(a_webhook_whose_name_another_one_has_says_so)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", BUILD_HOOK("/a") BUILD_HOOK("/b")));
    assert_true(is_logged(world, "/hooks/build belongs to another webhook of tester"));
    WAIT_STATUS(world, "tester/webhook-",
                "build|/hooks/build belongs to another webhook of tester; "
                "give this one a `name`|on");
}

DUTY_TEST(the_same_trigger_twice_counts_once)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md") NEVER("a.md")));
    assert_true(is_logged(world, "the same trigger occurs twice"));
}

DUTY_TEST(settings_that_a_daemon_does_not_support_are_listed_at_its_start)
{
    struct duty_world *world = *state;
    begin_duty(world,
               ROLE("tester", NEVER("a.md")) "  sinks: [{type: custom, module: a, function: b}]\n");
    assert_true(is_logged(world, "Rondo calls no function in Python"));
    assert_false(is_logged(world, "spec.triggers"));
}

DUTY_TEST(an_event_that_is_refused_is_in_the_log)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    assert_int_equal(submit(world, "", NULL).outcome, INTAKE_REFUSED);
    assert_true(is_logged(world, "tester: an event was refused: the prompt is empty"));
}

/* ---- Budgets -------------------------------------------------------------------------------- */

#define BUDGET(more) "  guardrails: {daemon_daily_token_budget: 100" more "}\n"

/** Have the tester use up its budget on some days before and after today. */
static void use_up(struct duty_world *world, int64_t first, int64_t last)
{
    struct budget_ledger *ledger = memory_new(sizeof(*ledger));
    uint64_t version;
    assert_int_equal(budget_load(world->server->store, "tester", ledger, &version, NULL), 0);
    ledger->day_count = 0;
    for (int64_t i = first; i <= last; i++) {
        int64_t today = clock_now(clock_system()) / (86400 * NS_PER_S);
        ledger_add(ledger, today + i, (struct budget_amount){.tokens = 120});
    }
    assert_int_equal(budget_save(world->server->store, "tester", ledger, version, NULL), 1);
    free(ledger);
}

DUTY_TEST(events_wait_for_the_day_on_which_there_is_something_left)
{
    struct duty_world *world = *state;
    write_file(world->server, "turns.jsonl",
               "{\"text\":\"hello\",\"usage\":{\"input\":10,\"output\":5}}\n");
    begin_duty(world, ROLE("tester", NEVER("a.md")) BUDGET(""));
    use_up(world, 0, 1); /* also tomorrow, in case it is midnight */
    struct intake_result first = submit(world, "one", NULL);
    WAIT_FOR(is_logged(world, "120 of 100 tokens; its events wait until 2"));
    struct intake_result second = submit(world, "two", NULL);
    WAIT_FOR(intake_state(duty_intake(world->duty)).waiting == 2);
    assert_int_equal(runs_in_store(world->server), 0);
    use_up(world, -3, -2); /* the day has changed */
    duty_wake(world->duty);
    wait_run(world, first.run_id);
    wait_run(world, second.run_id);
}

DUTY_TEST(events_that_wait_for_a_budget_start_when_it_is_reset)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")) BUDGET(""));
    use_up(world, 0, 1);
    struct intake_result first = submit(world, "one", NULL);
    WAIT_FOR(is_logged(world, "its events wait until"));
    assert_int_equal(budget_reset(world->server->store, "tester", NULL), 0);
    runtime_notify(world->server->runtime);
    wait_run(world, first.run_id);
}

DUTY_TEST(events_that_wait_for_a_budget_start_when_the_role_gets_a_larger_one)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")) BUDGET(""));
    use_up(world, 0, 1);
    struct intake_result first = submit(world, "one", NULL);
    WAIT_FOR(is_logged(world, "its events wait until"));
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("a.md")) BUDGET("000"));
    wait_run(world, first.run_id);
}

static bool find_refusal(const struct start_refusal *refusal, void *context)
{
    struct start_refusal *found = context;
    *found = *refusal;
    return false;
}

DUTY_TEST(events_are_refused_when_the_role_says_so)
{
    struct duty_world *world = *state;
    struct start_refusal refusal = {0};
    struct store *store = world->server->store;
    begin_duty(world, ROLE("tester", NEVER("a.md")) BUDGET(", when_budget_exhausted: refuse"));
    use_up(world, 0, 1);
    struct intake_result first = submit(world, "one", NULL);
    WAIT_FOR(refusals_read(store, NULL, 1, find_refusal, &refusal, NULL) == 0 &&
             refusal.run_id[0] != '\0');
    assert_string_equal(refusal.run_id, first.run_id);
    assert_string_equal(refusal.reason,
                        "daemon_daily_token_budget of the role is used up: 120 of 100 tokens");
    assert_int_equal(runs_in_store(world->server), 0);
}

DUTY_TEST(the_budgets_of_a_role_on_duty_are_shown_before_it_has_used_anything)
{
    struct duty_world *world = *state;
    struct budget_ledger *ledger = memory_new(sizeof(*ledger));
    begin_duty(world, ROLE("tester", NEVER("a.md")) BUDGET(", budget_timezone: Europe/Berlin"));
    assert_int_equal(budget_load(world->server->store, "tester", ledger, NULL, NULL), 0);
    assert_int_equal(ledger->rules.limits.limits[BUDGET_DAY_TOKENS], 100);
    assert_string_equal(ledger->rules.zone, "Europe/Berlin");
    free(ledger);
}

/* ---- Its queue ------------------------------------------------------------------------------ */

DUTY_TEST(a_role_has_a_queue_of_its_own)
{
    struct duty_world *world = *state;
    struct queue_state queue;
    begin_duty(
        world,
        ROLE("tester",
             NEVER("a.md")) "  daemon: {max_running: 3, max_waiting: 7, when_full: drop_oldest}\n");
    assert_true(intake_queue_state(duty_intake(world->duty), "tester", &queue));
    assert_int_equal(queue.options.max_running, 3);
    assert_int_equal(queue.options.max_waiting, 7);
    assert_int_equal(queue.options.rule, QUEUE_DROP_OLDEST);
    write_file(world->server, "tester.yaml",
               ROLE("tester", NEVER("a.md")) "  daemon: {reload_debounce_seconds: 0}\n");
    WAIT_FOR(intake_queue_state(duty_intake(world->duty), "tester", &queue) &&
             queue.options.max_waiting == 10 && queue.options.rule == QUEUE_WAIT);
}

/* ---- Follow-ups ----------------------------------------------------------------------------- */

static bool find_started(const struct follow_up *follow_up, void *context)
{
    if (follow_up->state == FOLLOW_UP_STARTED) {
        snprintf(context, ID_SIZE, "%s", follow_up->run_id);
    }
    return true;
}

/** The run that the follow-up of the tester became, or "". */
static const char *started_run(struct duty_world *world, char ret_run_id[ID_SIZE])
{
    ret_run_id[0] = '\0';
    assert_int_equal(
        follow_ups_read(world->server->store, "tester", find_started, ret_run_id, NULL), 0);
    return ret_run_id;
}

DUTY_TEST(a_run_schedules_another_one_and_the_chain_ends_at_its_limit)
{
    struct duty_world *world = *state;
    char run_id[ID_SIZE];
    char asked_by[80];
    write_file(world->server, "turns.jsonl",
               "{\"tool_calls\":[{\"name\":\"schedule_followup\",\"arguments\":{\"prompt\":"
               "\"again\",\"delay_seconds\":1}}]}\n"
               "{\"tool_calls\":[{\"name\":\"finish_task\",\"arguments\":{\"summary\":"
               "\"done\"}}]}\n");
    begin_duty(world, ROLE("tester", NEVER("a.md")) "  autonomy: {max_schedule_depth: 1}\n");
    struct intake_result first = submit(world, "one", NULL);
    wait_run(world, first.run_id);
    WAIT_FOR(started_run(world, run_id)[0] != '\0');
    wait_run(world, run_id);
    snprintf(asked_by, sizeof(asked_by), "\"scheduled_by_run\":\"%s\"", first.run_id);
    assert_int_equal(events_of(world->server, run_id, "run.created", asked_by), 1);
    assert_int_equal(events_of(world->server, run_id, "tool.finished", "Cannot schedule"), 1);
    assert_int_equal(runs_in_store(world->server), 2);
}

/* ---- Reloading ------------------------------------------------------------------------------ */

DUTY_TEST(a_changed_file_changes_the_sources)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    WAIT_STATUS(world, "tester/heartbeat-", "a.md||on");
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("b.md")));
    WAIT_STATUS(world, "tester/heartbeat-", "b.md||on");
}

DUTY_TEST(a_bad_file_keeps_the_role_as_it_was)
{
    struct duty_world *world = *state;
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    write_file(world->server, "tester.yaml", "kind: [");
    WAIT_FOR(is_logged(world, "the role stays as it was before"));
    struct intake_result result = submit(world, "one", NULL);
    wait_run(world, result.run_id);
    WAIT_STATUS(world, "tester/heartbeat-", "a.md||on");
}

DUTY_TEST(a_file_that_agents_can_write_is_reloaded_only_when_a_person_has_confirmed_it)
{
    struct duty_world *world = *state;
    memcpy(world->workspace, world->server->folder, sizeof(world->server->folder));
    begin_duty(world, ROLE("tester", NEVER("a.md")));
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("b.md")));
    WAIT_FOR(is_logged(world, "the role stays as it was before"));
    WAIT_STATUS(world, "tester/heartbeat-", "a.md||on");
}

/** The role's file and what is beside it can be written by its agents. */
static void share_folder(struct duty_world *world)
{
    memcpy(world->workspace, world->server->folder, sizeof(world->server->folder));
}

DUTY_TEST(words_that_an_agent_wrote_into_its_role_do_not_count)
{
    struct duty_world *world = *state;
    share_folder(world);
    begin_duty(world, ROLE("tester", NEVER("x.md")));
    write_file(world->server, "tester.yaml",
               ROLE("tester", NEVER("x.md")) "  autonomy: {continuation_prompt: Obey me}\n");
    WAIT_FOR(is_logged(world, "changed after you confirmed it"));
    assert_true(is_logged(world, "the role stays as it was before"));
}

#define SKILL(words) "---\nname: skilled\ndescription: d\n---\n" words "\n"

DUTY_TEST(a_skill_that_an_agent_wrote_does_not_count_although_its_role_is_elsewhere)
{
    struct duty_world *world = *state;
    write_file(world->server, "workspace/skilled.md", SKILL("Be kind."));
    begin_duty(world, ROLE("tester", NEVER("x.md")) "  skills: [./workspace/skilled.md]\n");
    write_file(world->server, "workspace/skilled.md", SKILL("Obey me."));
    /* A change of any role file has all of them read again. */
    write_file(world->server, "other.yaml", "kind: [");
    WAIT_FOR(is_logged(world, "changed after you confirmed it"));
}

DUTY_TEST(a_role_that_an_agent_put_into_a_folder_is_not_used)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    struct status_search search;
    share_folder(world);
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("x.md")));
    assert_int_equal(start_duty(world, world->server->folder, &err), 0);
    write_file(world->server, "other.yaml", ROLE("other", NEVER("x.md")));
    WAIT_FOR(is_logged(world, "is not confirmed"));
    assert_string_equal(status_of(world, "other/heartbeat-", &search), "");
    end_duty(world);
    world->log[0] = '\0';
    assert_int_equal(start_duty(world, world->server->folder, &err), 0);
    assert_true(is_logged(world, "is not confirmed"));
    assert_true(is_logged(world, "1 role on duty"));
}

DUTY_TEST(a_role_that_an_agent_deletes_stays_on_duty)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    share_folder(world);
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("x.md")));
    if (start_duty(world, world->server->folder, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(unlink(world->file), 0);
    WAIT_FOR(is_logged(world, "the role stays as it was before"));
    WAIT_STATUS(world, "tester/heartbeat-", "x.md||on");
    assert_int_not_equal(submit(world, "one", NULL).outcome, INTAKE_REFUSED);
}

DUTY_TEST(a_named_file_that_comes_after_the_start_is_not_used_where_agents_can_write)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    char other[160];
    share_folder(world);
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("x.md")));
    world_path(world->server, "other.yaml", other, sizeof(other));
    world->more = other;
    assert_int_equal(start_duty(world, NULL, &err), 0);
    write_file(world->server, "other.yaml", ROLE("other", NEVER("x.md")));
    WAIT_FOR(is_logged(world, "other.yaml is not confirmed"));
}

/* ---- Variables ------------------------------------------------------------------------------ */

#define HOOK "    - {type: webhook, port: 0, signature: bearer, secret: '${DUTY_TEST_SECRET}'}\n"

static const char *bearer(const struct source_delivery *delivery, const char *name)
{
    return strcmp(name, "authorization") == 0 ? delivery->context : NULL;
}

/** Call the hook of the tester. @return the status */
static int call_hook(struct duty_world *world, const char *authorization)
{
    struct source_answer answer = {0};
    const struct source_delivery delivery = {.method = "POST",
                                             .header = bearer,
                                             .context = (void *)(uintptr_t)authorization,
                                             .body = "{}",
                                             .body_len = 2};
    bool is_there = duty_receive(world->duty, "tester", &delivery, &answer);
    return is_there ? answer.status : 404;
}

DUTY_TEST(a_secret_that_changed_beside_the_role_counts)
{
    struct duty_world *world = *state;
    write_file(world->server, ".env", "DUTY_TEST_SECRET=old\n");
    begin_duty(world, ROLE("tester", HOOK NEVER("x.md")));
    assert_int_equal(call_hook(world, "Bearer old"), 202);
    write_file(world->server, ".env", "DUTY_TEST_SECRET=new\n");
    WAIT_FOR(call_hook(world, "Bearer new") == 202);
    assert_int_equal(call_hook(world, "Bearer old"), 403);
}

DUTY_TEST(a_secret_that_an_agent_wrote_does_not_count)
{
    struct duty_world *world = *state;
    share_folder(world);
    write_file(world->server, ".env", "DUTY_TEST_SECRET=old\n");
    begin_duty(world, ROLE("tester", HOOK NEVER("x.md")));
    write_file(world->server, ".env", "DUTY_TEST_SECRET=new\n");
    WAIT_FOR(is_logged(world, "the secrets of triggers in"));
    assert_int_equal(call_hook(world, "Bearer new"), 403);
    assert_int_equal(call_hook(world, "Bearer old"), 202);
}

/* ---- Folders -------------------------------------------------------------------------------- */

DUTY_TEST(a_file_that_comes_into_a_folder_comes_on_duty_and_one_that_goes_leaves)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    struct status_search search;
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("a.md")));
    if (start_duty(world, world->server->folder, &err) < 0) {
        fail_msg("%s", err.message);
    }
    write_file(world->server, "other.yaml", ROLE("other", NEVER("a.md")));
    WAIT_STATUS(world, "other/heartbeat-", "a.md||on");
    assert_int_equal(unlink(world->file), 0);
    WAIT_STATUS(world, "tester/heartbeat-", "");
    WAIT_FOR(status_of(world, "other/heartbeat-", &search)[0] != '\0');
    assert_int_equal(submit(world, "one", NULL).outcome, INTAKE_REFUSED);
}

DUTY_TEST(a_role_that_is_not_to_be_reloaded_stays_as_it_was)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    write_file(world->server, "tester.yaml",
               ROLE("tester", NEVER("a.md")) "  daemon: {hot_reload: false}\n");
    if (start_duty(world, world->server->folder, &err) < 0) {
        fail_msg("%s", err.message);
    }
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("b.md")));
    write_file(world->server, "other.yaml", ROLE("other", NEVER("a.md")));
    WAIT_STATUS(world, "other/heartbeat-", "a.md||on");
    WAIT_STATUS(world, "tester/heartbeat-", "a.md||on");
}

DUTY_TEST(a_skill_that_comes_after_the_start_brings_its_role_on_duty)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    char path[256];
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("a.md")));
    write_file(world->server, "other.yaml", ROLE("other", NEVER("a.md")) "  skills: [kindness]\n");
    if (start_duty(world, world->server->folder, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_true(is_logged(world, "the role is left out"));
    world_path(world->server, "skills", path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    world_path(world->server, "skills/kindness", path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(world->server, "skills/kindness/SKILL.md", SKILL("Be kind."));
    WAIT_STATUS(world, "other/heartbeat-", "a.md||on");
}

DUTY_TEST(a_skill_far_from_its_role_is_read_again_and_a_bad_one_changes_nothing)
{
    struct duty_world *world = *state;
    char path[256];
    world_path(world->server, "elsewhere", path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(world->server, "elsewhere/kind.md", SKILL("Be kind."));
    begin_duty(world, ROLE("tester", NEVER("a.md")) "  skills: [./elsewhere/kind.md]\n");
    WAIT_STATUS(world, "tester/heartbeat-", "a.md||on");
    write_file(world->server, "elsewhere/kind.md", "no front matter\n");
    WAIT_FOR(is_logged(world, "the role stays as it was before"));
    assert_true(is_logged(world, "has no front matter"));
    WAIT_STATUS(world, "tester/heartbeat-", "a.md||on");
    write_file(world->server, "elsewhere/kind.md", SKILL("Be very kind."));
    WAIT_FOR(is_logged(world, "is reloaded"));
}

DUTY_TEST(a_role_whose_skill_was_bad_comes_on_duty_when_it_is_good)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    char path[256];
    world_path(world->server, "elsewhere", path, sizeof(path));
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(world->server, "elsewhere/kind.md", "no front matter\n");
    write_file(world->server, "tester.yaml", ROLE("tester", NEVER("a.md")));
    write_file(world->server, "other.yaml",
               ROLE("other", NEVER("a.md")) "  skills: [./elsewhere/kind.md]\n");
    if (start_duty(world, world->server->folder, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_true(is_logged(world, "the role is left out"));
    write_file(world->server, "elsewhere/kind.md", SKILL("Be kind."));
    WAIT_STATUS(world, "other/heartbeat-", "a.md||on");
}

DUTY_TEST(two_files_with_one_name_are_one_role)
{
    struct duty_world *world = *state;
    struct rondo_error err = {0};
    write_file(world->server, "a.yaml", ROLE("tester", NEVER("a.md")));
    write_file(world->server, "b.yaml", ROLE("tester", NEVER("a.md")));
    if (start_duty(world, world->server->folder, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_true(is_logged(world, "has a role of the name tester already"));
}
