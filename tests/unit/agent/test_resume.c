// SPDX-License-Identifier: Apache-2.0
/*
 * Agents that are cut off and resumed. One run of ten iterations dies at each of its commits,
 * before and after the commit took effect, and must come to the journal of a run that was never
 * disturbed; the model must be sent the very same bytes, and asked for nothing that is in the
 * journal.
 */
#include "../../support/sanitizer.h"
#include "agent_fixture.h"

/* What a sanitizer sees, it sees soon. */
#define SEQUENCES     (HAS_SANITIZER ? 20 : 150)
#define COMMIT_STEP   (HAS_SANITIZER ? 7 : 1)
#define MOST_TURNS    64
#define MOST_MESSAGES 128

#define AUTONOMY(lines)  "  autonomy:\n" lines
#define TEXT(name, text) ONE(name, "{\"text\":\"" text "\"}")
#define PLAN(one, two)                                                                   \
    ONE("update_plan", "{\"steps\":[{\"description\":\"read\",\"status\":\"" one "\"},{" \
                       "\"description\":\"write\",\"status\":\"" two "\",\"notes\":\"note\"}]}")
#define TURN(calls, in) "{\"text\":\"now\",\"tool_calls\":[" calls "]," USE(in, 3) "}\n"
#define END(text)       "{\"text\":\"" text "\"," USE(11, 5) "}\n"

/** Ten iterations with everything in them; `fix` is what meets the exit condition. */
static const char ten_iterations[] = TURN(PLAN("in_progress", "pending") "," TEXT("look", "a"), 1)
    END("one") TURN(TEXT("put", "b"), 2) TURN(TEXT("send", "c"), 3) END("two")
        TURN(TEXT("look", "d") "," TEXT("put", "e") "," TEXT("send", "f"), 4) END("three")
            TURN(TEXT("send", "break"), 5) END("four")
                TURN(TEXT("meet", "g") "," TEXT("meet", "h") "," PLAN("completed", "pending"), 6)
                    END("five") TURN(TEXT("put", "i") "," DONE("completed"), 7) END("six")
                        END("seven") TURN(TEXT("look", "j"), 8) TURN(TEXT("nothing", "k"), 9)
                            END("eight") TURN(TEXT("send", "l") "," TEXT("send", "m"), 10)
                                END("nine")
                                    TURN(TEXT("put", "fix") "," PLAN("completed", "completed"), 11)
                                        FINISH("completed");
#define ITERATIONS 10

/** What a run sent to its model, by turn. */
struct sent_messages {
    char *messages[MOST_TURNS][MOST_MESSAGES];
    size_t counts[MOST_TURNS];
};

/** How the run of a test goes. */
struct resume_setting {
    int window;
    int interval;
};

/** What a test knows of its run. */
struct resume_watch {
    struct sent_messages *book; /* written by the undisturbed run, compared with by others */
    bool is_undisturbed;
    bool is_doubtful; /* answers of calls in doubt may differ */
};

static void free_book(struct sent_messages *book)
{
    for (size_t i = 0; i < MOST_TURNS; i++) {
        for (size_t j = 0; j < book->counts[i]; j++) {
            free(book->messages[i][j]);
        }
    }
    free(book);
}

/* ---- The model is watched ------------------------------------------------------------------- */

static void write_turn(struct sent_messages *book, const struct model_request *request)
{
    for (size_t i = 0; i < request->message_count; i++) {
        book->messages[request->turn][i] =
            memory_dup_bytes(request->messages[i].bytes, request->messages[i].len);
    }
    book->counts[request->turn] = request->message_count;
}

static void compare_turn(const struct resume_watch *watch, const struct model_request *request)
{
    const struct sent_messages *book = watch->book;
    assert_int_equal(request->message_count, book->counts[request->turn]);
    for (size_t i = 0; i < request->message_count; i++) {
        const char *expected = book->messages[request->turn][i];
        const struct model_message *message = &request->messages[i];
        bool is_same =
            strlen(expected) == message->len && memcmp(expected, message->bytes, message->len) == 0;
        bool is_doubt = watch->is_doubtful && message->kind == MODEL_TOOL_RESULTS &&
                        strstr(message->bytes, "It is not known whether") != NULL;
        if (!is_same && !is_doubt) {
            fail_msg("turn %d, message %zu is %s and not %s", (int)request->turn, i, message->bytes,
                     expected);
        }
    }
}

static void watch_request(struct agent_scene *scene, const struct model_request *request)
{
    const struct resume_watch *watch = scene->mine;
    char text[64];
    assert_in_range(request->turn, 1, MOST_TURNS - 1);
    assert_in_range(request->message_count, 1, MOST_MESSAGES);
    snprintf(text, sizeof(text), "\"turn\":%d,\"outcome\":\"ok\"", (int)request->turn);
    assert_int_equal(scene_events(scene, "model.replied", text), 0);
    if (watch->is_undisturbed) {
        write_turn(watch->book, request);
    } else {
        compare_turn(watch, request);
    }
}

/* ---- The tools are watched ------------------------------------------------------------------ */

static void watch_tool(struct agent_scene *scene, const struct tool *tool,
                       const struct tool_call *call)
{
    (void)tool;
    char text[64];
    snprintf(text, sizeof(text), "\"call_id\":\"%s\"", call->id);
    if (scene_events(scene, "tool.finished", text) != 0) {
        fail_msg("call %s has a result and is made again", call->id);
    }
    if (strcmp(json_get_string(call->arguments, "text", ""), "fix") == 0) {
        scene->fixture->met = 1;
    }
}

/** Calls with the key of this one. */
static unsigned count_key(const struct agent_scene *scene, const struct scene_call *call)
{
    unsigned count = 0;
    for (size_t i = 0; i < scene->call_count; i++) {
        count += strcmp(scene->calls[i].key, call->key) == 0;
    }
    return count;
}

static void expect_no_double(const struct agent_scene *scene, unsigned crashes)
{
    for (size_t i = 0; i < scene->call_count; i++) {
        bool is_once = strcmp(scene->calls[i].tool, "send") == 0;
        assert_in_range(count_key(scene, &scene->calls[i]), 1, is_once ? 1 : 1 + crashes);
    }
}

/* ---- What is left of a run ------------------------------------------------------------------ */

struct essence {
    char *lines[256];
    size_t count;
};

static const char *member(struct json_object *data, const char *name)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(data, name, &value) ? json_object_get_string(value) : "-";
}

static void add_line(struct essence *essence, const char *type, struct json_object *data,
                     const char *const *names)
{
    struct buf line = {0};
    buf_printf(&line, "%s %04d %04d", type, (int)json_get_int(data, "turn", 0),
               (int)json_get_int(data, "index", 0));
    for (size_t i = 0; names[i] != NULL; i++) {
        buf_printf(&line, " %s", member(data, names[i]));
    }
    assert_in_range(essence->count, 0, COUNT(essence->lines) - 1);
    essence->lines[essence->count++] = buf_steal(&line);
}

static bool take_event(const struct store_event *event, void *context)
{
    static const struct {
        const char *type;
        const char *names[8];
    } kinds[] = {
        {"model.replied", {"iteration", "outcome", "output", "calls", "tokens_in", "tokens_out"}},
        {"tool.finished", {"iteration", "name", "call_id", "outcome", "output"}},
        {"plan.updated", {"iteration", "plan"}},
        {"history.trimmed", {"iteration", "value", "messages", "dropped"}},
        {"iteration.finished", {"iteration", "outcome", "tokens", "finish", "summary", "output"}},
        {"run.finished", {"iteration", "status", "summary"}},
    };
    auto_json struct json_object *data = NULL;
    assert_int_equal(json_parse(event->data, event->data_len, &data, NULL), 0);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strcmp(kinds[i].type, event->type) == 0) {
            add_line(context, event->type, data, kinds[i].names);
        }
    }
    return true;
}

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/** The results in the journal, sorted: calls side by side end in any order. */
static struct essence *read_essence(const struct agent_scene *scene)
{
    struct essence *essence = memory_new_zero(1, sizeof(*essence));
    struct store *memory = scene->fixture->memory;
    memory->ops->read_events(memory, scene->world->run_id, 0, 0, take_event, essence, NULL);
    struct store_run run;
    assert_int_equal(memory->ops->get_run(memory, scene->world->run_id, &run, NULL), 0);
    struct buf tokens = {0};
    buf_printf(&tokens, "tokens %d", (int)run.summary.tokens);
    essence->lines[essence->count++] = buf_steal(&tokens);
    qsort(essence->lines, essence->count, sizeof(essence->lines[0]), compare_lines);
    return essence;
}

static void free_essence(struct essence *essence)
{
    for (size_t i = 0; i < essence->count; i++) {
        free(essence->lines[i]);
    }
    free(essence);
}

/** Whether the line tells of a call of `send` that is in doubt instead of what it should tell. */
static bool is_doubt(const char *line, const char *expected)
{
    return strstr(line, " send call_") != NULL && strstr(line, " in_doubt ") != NULL &&
           strncmp(line, expected, strlen("tool.finished 0000 0000")) == 0;
}

static void compare_essence(const struct essence *expected, const struct essence *found,
                            unsigned crashes)
{
    unsigned doubts = 0;
    for (size_t i = 0; i < expected->count && i < found->count; i++) {
        if (strcmp(expected->lines[i], found->lines[i]) != 0) {
            if (!is_doubt(found->lines[i], expected->lines[i])) {
                fail_msg("'%s' and not '%s'", found->lines[i], expected->lines[i]);
            }
            doubts++;
        }
    }
    assert_int_equal(found->count, expected->count);
    assert_in_range(doubts, 0, crashes);
}

/* ---- Runs that die -------------------------------------------------------------------------- */

/** A process that dies at a commit, counted from its start. */
struct death {
    uint64_t commit; /* 0 = it lives */
    enum store_fault fault;
    bool is_newest_damaged; /* the next resume finds the newest checkpoint damaged */
};

static bool has_completed(const struct agent_scene *scene)
{
    struct store_run run;
    struct store *memory = scene->fixture->memory;
    assert_int_equal(memory->ops->get_run(memory, scene->world->run_id, &run, NULL), 0);
    return run.summary.status == RONDO_COMPLETED;
}

static void die_later(struct agent_scene *scene, const struct death *death)
{
    scene->fault = death->fault;
    scene->crash_at = death->commit == 0 ? 0 : scene->commits + death->commit;
}

/** Play the ten iterations with these deaths. @return how many processes died */
static unsigned play_ten(struct agent_scene *scene, const struct resume_setting *setting,
                         const struct death *deaths, size_t count)
{
    char lines[512];
    struct rondo_error err = {0};
    unsigned crashes = 0;
    snprintf(lines, sizeof(lines),
             AUTONOMY("    max_history_messages: %d\n    checkpoint_interval: %d\n"
                      "    exit_conditions:\n      - {name: a, command: 'true'}\n"),
             setting->window, setting->interval);
    scene->on_ask = watch_request;
    scene->on_tool = watch_tool;
    scene_start(scene, lines, ten_iterations);
    for (size_t i = 0; i < count; i++) {
        die_later(scene, &deaths[i]);
        if (scene_run(scene, &err) == LOOP_ENDED) {
            scene->crash_at = 0;
            break;
        }
        assert_true(scene->is_dead);
        crashes++;
        scene_crash(scene);
        if (has_completed(scene)) {
            return crashes;
        }
        scene->is_newest_damaged = deaths[i].is_newest_damaged;
        scene_resume(scene);
        scene->is_newest_damaged = false;
    }
    scene_expect(scene, RONDO_COMPLETED);
    return crashes;
}

/** What an undisturbed run of a setting is like. */
struct original {
    struct resume_setting setting;
    struct resume_watch watch;
    struct essence *essence;
    uint64_t commits;
    size_t calls;
    unsigned asks;
};

static void play_original(struct original *original, int window, int interval)
{
    void *fresh = NULL;
    scene_up(&fresh);
    struct agent_scene *scene = fresh;
    original->setting = (struct resume_setting){window, interval};
    original->watch.book = memory_new_zero(1, sizeof(*original->watch.book));
    original->watch.is_undisturbed = true;
    scene->mine = &original->watch;
    assert_int_equal(play_ten(scene, &original->setting, NULL, 0), 0);
    original->essence = read_essence(scene);
    original->commits = scene->commits;
    original->calls = scene->call_count;
    original->asks = scene->asks;
    original->watch.is_undisturbed = false;
    original->watch.is_doubtful = true;
    assert_int_equal(loop_state(scene->loop)->finished, ITERATIONS);
    scene_down(&fresh);
}

static void free_original(struct original *original)
{
    free_book(original->watch.book);
    free_essence(original->essence);
}

static void play_disturbed(struct original *original, const struct death *deaths, size_t count)
{
    void *fresh = NULL;
    scene_up(&fresh);
    struct agent_scene *scene = fresh;
    scene->mine = &original->watch;
    unsigned crashes = play_ten(scene, &original->setting, deaths, count);
    struct essence *found = read_essence(scene);
    compare_essence(original->essence, found, crashes);
    free_essence(found);
    expect_no_double(scene, crashes);
    assert_in_range(scene->asks, original->asks, original->asks + crashes);
    scene_down(&fresh);
}

static void die_at_every_commit(int window, int interval, bool is_newest_damaged)
{
    static const enum store_fault faults[] = {STORE_FAULT_BEFORE, STORE_FAULT_AFTER};
    struct original original = {0};
    play_original(&original, window, interval);
    assert_true(original.commits > 50);
    for (uint64_t i = 1; i <= original.commits; i += COMMIT_STEP) {
        for (size_t j = 0; j < COUNT(faults); j++) {
            struct death death = {i, faults[j], is_newest_damaged};
            play_disturbed(&original, &death, 1);
        }
    }
    free_original(&original);
}

SCENE_TEST(the_undisturbed_run_is_what_it_should_be)
{
    struct agent_scene *scene = *state;
    struct resume_watch watch = {.book = memory_new_zero(1, sizeof(*watch.book)),
                                 .is_undisturbed = true};
    struct resume_setting setting = {6, 1};
    scene->mine = &watch;
    play_ten(scene, &setting, NULL, 0);
    assert_int_equal(scene->asks, 21);
    assert_int_equal(scene->call_count, 14);
    assert_int_equal(scene_events(scene, "tool.finished", "exit conditions are not met"), 1);
    assert_int_equal(scene_events(scene, "plan.updated", NULL), 3);
    assert_true(scene_events(scene, "history.trimmed", NULL) > 5);
    expect_no_double(scene, 0);
    free_book(watch.book);
}

TEST(a_death_at_any_commit_changes_nothing)
{
    die_at_every_commit(6, 1, false);
}

TEST(nor_does_it_with_few_checkpoints_or_none)
{
    die_at_every_commit(6, 3, false);
    die_at_every_commit(1000, 1000, false); /* nothing is trimmed either */
}

TEST(nor_does_it_with_a_damaged_checkpoint)
{
    die_at_every_commit(6, 1, true);
    die_at_every_commit(7, 3, true);
}

TEST(nor_does_it_with_the_smallest_windows)
{
    for (int window = 0; window <= 4; window++) {
        die_at_every_commit(window, 1, false);
    }
}

TEST(several_deaths_change_nothing)
{
    struct random random = random_seeded(11);
    struct original original = {0};
    play_original(&original, 5, 2);
    for (int i = 0; i < SEQUENCES; i++) {
        struct death deaths[4];
        for (size_t j = 0; j < COUNT(deaths); j++) {
            deaths[j].commit = 1 + random_below(&random, j == 0 ? original.commits : 12);
            deaths[j].fault =
                random_below(&random, 2) == 0 ? STORE_FAULT_BEFORE : STORE_FAULT_AFTER;
            deaths[j].is_newest_damaged = random_below(&random, 4) == 0;
        }
        play_disturbed(&original, deaths, 1 + random_below(&random, COUNT(deaths)));
    }
    free_original(&original);
}

/* ---- Calls in doubt ------------------------------------------------------------------------- */

/** The process dies while it makes the call with the text "die". */
static void die_in_call(struct agent_scene *scene, const struct tool *tool,
                        const struct tool_call *call)
{
    (void)tool;
    if (strcmp(json_get_string(call->arguments, "text", ""), "die") == 0) {
        scene->is_dead = true;
    }
}

static void resume_after_death(struct agent_scene *scene, const char *turns)
{
    struct rondo_error err = {0};
    scene->on_tool = die_in_call;
    scene_start(scene, "", turns);
    assert_int_not_equal(scene_run(scene, &err), LOOP_ENDED);
    scene->on_tool = NULL;
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
}

SCENE_TEST(a_call_that_may_be_repeated_is_with_its_key)
{
    struct agent_scene *scene = *state;
    resume_after_death(scene, CALL("put", "die") FINISH("completed"));
    assert_int_equal(scene_executions(scene, "put", "die"), 2);
    assert_string_equal(scene->calls[0].key, scene->calls[1].key);
    assert_int_equal(scene->asks, 2);
    assert_int_equal(scene_events(scene, "tool.requested", "\"attempt\":2"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "\"index\":0,\"call_id\":\"call_1_1\""),
                     1);
}

SCENE_TEST(a_call_without_effect_is_repeated)
{
    struct agent_scene *scene = *state;
    resume_after_death(scene, CALL("look", "die") FINISH("completed"));
    assert_int_equal(scene_executions(scene, "look", "die"), 2);
    assert_int_equal(scene_events(scene, "tool.finished", "in_doubt"), 0);
}

SCENE_TEST(another_call_is_in_doubt_and_the_model_is_told)
{
    struct agent_scene *scene = *state;
    resume_after_death(
        scene, CALL("send", "die") "{\"tool_calls\":[" DONE(
                   "completed") "],\"expect\":{"
                                "\"last_contains\":\"cut off during this call of send\"}}\n");
    assert_int_equal(scene_executions(scene, "send", "die"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"in_doubt\""), 1);
    assert_int_equal(scene->asks, 2);
}

SCENE_TEST(a_person_may_have_it_repeated)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    resume_after_death(scene, CALL("send", "die") FINISH("completed"));
    assert_int_equal(scene->questions, 1);
    assert_true(scene->is_once);
    assert_true(scene->is_in_doubt);
    assert_non_null(strstr(scene->why, "cut off"));
    assert_int_equal(scene_executions(scene, "send", "die"), 2);
    assert_string_equal(scene->calls[0].key, scene->calls[1].key);
    assert_int_equal(scene_events(scene, "tool.finished", "in_doubt"), 0);
}

SCENE_TEST(a_person_may_leave_it_in_doubt)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_NO);
    resume_after_death(scene, CALL("send", "die") FINISH("completed"));
    assert_int_equal(scene->questions, 1);
    assert_int_equal(scene_executions(scene, "send", "die"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"in_doubt\""), 1);
}

SCENE_TEST(a_confirmed_call_in_doubt_is_not_said_to_be_refused)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    scene_person(scene, AGENT_CONSENT_YES);
    scene->on_tool = die_in_call;
    scene_start(scene, "", CALL("careful", "die") FINISH("completed"));
    assert_true(scene_run(scene, &err) < 0);
    scene->parts.ask_person = NULL;
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"in_doubt\""), 1);
    assert_int_equal(scene_executions(scene, "careful", NULL), 1);
}

SCENE_TEST(a_call_in_doubt_that_is_repeated_is_confirmed_once)
{
    struct agent_scene *scene = *state;
    scene_person(scene, AGENT_CONSENT_YES);
    resume_after_death(scene, CALL("careful", "die") FINISH("completed"));
    assert_int_equal(scene->questions, 2); /* before the death, and after it */
    assert_int_equal(scene_executions(scene, "careful", NULL), 2);
}

SCENE_TEST(a_call_in_doubt_that_is_forbidden_by_now_is_told_as_both)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    set_policies(scene->world, PERMIT);
    scene->on_tool = die_in_call;
    scene_start(scene, "  policy: p.cedar\n", CALL("put", "die") FINISH("completed"));
    assert_true(scene_run(scene, &err) < 0);
    set_policies(scene->world,
                 PERMIT "forbid (principal, action == Action::\"call_tool\", resource);");
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "put", NULL), 1);
    assert_int_equal(scene_events(scene, "tool.finished",
                                  "Error: put was interrupted, may have had its "
                                  "effect, and was not called again: policy"),
                     1);
}

SCENE_TEST(calls_around_one_in_doubt_are_made_once)
{
    struct agent_scene *scene = *state;
    resume_after_death(scene, CALLS(TEXT("send", "a") "," TEXT("send", "die") "," TEXT("send", "c"))
                                  FINISH("completed"));
    assert_int_equal(scene_executions(scene, "send", "a"), 1);
    assert_int_equal(scene_executions(scene, "send", "die"), 1);
    assert_int_equal(scene_executions(scene, "send", "c"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "send did a"), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "\"outcome\":\"in_doubt\""), 1);
}

SCENE_TEST(a_call_that_dies_twice_is_in_doubt_once)
{
    struct agent_scene *scene = *state;
    struct rondo_error err = {0};
    scene->on_tool = die_in_call;
    scene_start(scene, "", CALL("put", "die") FINISH("completed"));
    scene_run(scene, &err);
    scene_restart(scene);
    scene_run(scene, &err);
    scene->on_tool = NULL;
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "put", "die"), 3);
    assert_int_equal(scene_events(scene, "tool.requested", "\"attempt\":3"), 1);
}

/* ---- Stops ---------------------------------------------------------------------------------- */

static void stop_in_request(struct agent_scene *scene, const struct model_request *request)
{
    if (request->turn == 2) {
        loop_stop(scene->loop, CANCEL_NOW);
    }
}

SCENE_TEST(a_stop_during_a_request_is_resumed_with_it)
{
    struct agent_scene *scene = *state;
    scene->on_ask = stop_in_request;
    scene_play(scene, "", CALL("send", "a") FINISH("completed"), RONDO_CANCELLED);
    scene_last(scene, "model.replied", "outcome", "cancelled");
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 0);
    scene->on_ask = NULL;
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene->asks, 3);
    assert_int_equal(scene_executions(scene, "send", NULL), 1);
    assert_int_equal(scene_events(scene, "model.requested", "\"turn\":2,\"attempt\":2"), 1);
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 1);
}

static void stop_in_call(struct agent_scene *scene, const struct tool *tool,
                         const struct tool_call *call)
{
    (void)tool;
    if (strcmp(json_get_string(call->arguments, "text", ""), "stop") == 0) {
        loop_stop(scene->loop, CANCEL_NOW);
    }
}

SCENE_TEST(a_stop_during_a_call_keeps_its_result)
{
    struct agent_scene *scene = *state;
    scene->on_tool = stop_in_call;
    scene_play(scene, "",
               CALLS(TEXT("send", "stop") "," TEXT("send", "later") "," DONE("completed")),
               RONDO_CANCELLED);
    assert_int_equal(scene->call_count, 1);
    assert_int_equal(scene_events(scene, "tool.finished", "send did stop"), 1);
    assert_int_equal(scene_events(scene, "tool.requested", NULL), 1);
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene_executions(scene, "send", "stop"), 1);
    assert_int_equal(scene_executions(scene, "send", "later"), 1);
    assert_int_equal(scene->asks, 1);
}

SCENE_TEST(a_stop_after_the_last_call_does_not_finish_the_run)
{
    struct agent_scene *scene = *state;
    scene->on_tool = stop_in_call;
    scene_play(scene, "", CALLS(DONE("completed") "," TEXT("send", "stop")), RONDO_CANCELLED);
    scene_restart(scene);
    scene_expect(scene, RONDO_COMPLETED);
    assert_int_equal(scene->call_count, 1);
    assert_int_equal(scene->asks, 1);
}

/** This process sleeps through its lease, and another one takes the run over. */
static void lose_run(struct agent_scene *scene, const struct model_request *request)
{
    struct loop_fixture *fixture = scene->fixture;
    struct loop_parts parts = fixture_parts(fixture);
    struct loop_opening opening;
    struct rondo_error err = {0};
    (void)request;
    parts.runtime = fixture->other;
    fixture->now_ns += 11 * NS_PER_S;
    assert_int_equal(
        loop_resume(&parts, scene->world->run_id, NULL, NULL, -1, scene->mine, &opening, &err), 0);
}

SCENE_TEST(an_agent_that_has_lost_its_run_makes_no_calls)
{
    struct agent_scene *scene = *state;
    struct loop *heir = NULL;
    struct rondo_error err = {0};
    scene->mine = &heir;
    scene->on_ask = lose_run;
    scene_start(scene, "", CALL("send", "a") FINISH("completed"));
    assert_int_equal(scene_run(scene, &err), RONDO_ERR_FENCED);
    assert_int_equal(scene->call_count, 0);
    assert_int_equal(scene_events(scene, "tool.requested", NULL), 0);
    loop_free(heir);
}

/* ---- What an iteration has used is known after a death -------------------------------------- */

/** Die at the request with this turn. */
static void die_in_request(struct agent_scene *scene, const struct model_request *request)
{
    const uint64_t *turn = scene->mine;
    if (request->turn == *turn) {
        scene->is_dead = true;
    }
}

static void play_death(struct agent_scene *scene, const char *lines, const char *turns,
                       uint64_t turn)
{
    struct rondo_error err = {0};
    scene->mine = &turn;
    scene->on_ask = die_in_request;
    scene_start(scene, lines, turns);
    assert_true(scene_run(scene, &err) < 0);
    scene->mine = NULL;
    scene->on_ask = NULL;
    scene_restart(scene);
}

SCENE_TEST(calls_of_a_process_that_died_count)
{
    struct agent_scene *scene = *state;
    play_death(scene, "  guardrails:\n    max_tool_calls: 2\n",
               CALL("look", "a") CALL("look", "b") CALL("look", "c"), 2);
    scene_expect(scene, RONDO_ERROR);
    scene_ended_with(scene, "3 tool calls in one iteration; max_tool_calls is 2");
}

SCENE_TEST(tokens_of_a_process_that_died_count)
{
    struct agent_scene *scene = *state;
    play_death(scene, "  guardrails:\n    max_tokens_per_run: 100\n",
               CALL_FOR(1, 60) CALL_FOR(1, 41), 2);
    scene_expect(scene, RONDO_ERROR);
    scene_ended_with(scene, "101 tokens in one iteration");
}

SCENE_TEST(requests_of_a_process_that_died_count)
{
    struct agent_scene *scene = *state;
    play_death(scene, "  guardrails:\n    max_request_limit: 2\n",
               CALL("look", "a") CALL("look", "b") FINISH("completed"), 2);
    scene_expect(scene, RONDO_ERROR);
    scene_ended_with(scene, "2 model requests in one iteration");
    assert_int_equal(scene->asks, 3); /* The one whose reply was lost counts once. */
}

SCENE_TEST(the_calls_of_an_iteration_are_known_where_its_messages_are_not)
{
    struct agent_scene *scene = *state;
    play_death(scene, AUTONOMY("    max_history_messages: 2\n    max_no_tool_call_iterations: 2\n"),
               CALL("look", "a") SAY("1") SAY("2") CALL("look", "b") FINISH("completed"), 3);
    scene_expect(scene, RONDO_COMPLETED);
}

SCENE_TEST(idle_iterations_of_a_process_that_died_count)
{
    struct agent_scene *scene = *state;
    play_death(scene, AUTONOMY("    max_history_messages: 2\n    max_no_tool_call_iterations: 3\n"),
               CALL("look", "a") SAY("1") SAY("2") SAY("3") SAY("4") SAY("5"), 5);
    scene_expect(scene, RONDO_BLOCKED);
    assert_int_equal(scene_events(scene, "iteration.finished", NULL), 4);
}

/* ---- Growth --------------------------------------------------------------------------------- */

SCENE_TEST(a_long_run_costs_what_a_short_one_does)
{
    struct agent_scene *scene = *state;
    size_t short_state = 0;
    uint64_t short_reading = 0;
    struct rondo_error err = {0};
    auto_buf struct buf turns = {0};
    for (int i = 0; i < 310; i++) {
        buf_append_string(&turns, CALLS(TEXT("look", "a") "," TEXT("put", "b")) SAY("next"));
    }
    scene_start(
        scene,
        "  guardrails:\n    max_iterations: 1000\n" AUTONOMY("    max_history_messages: 9\n"),
        buf_string(&turns));
    while (loop_state(scene->loop)->iteration < 301) {
        assert_int_equal(scene_step(scene, &err), LOOP_BODY);
        uint64_t iteration = loop_state(scene->loop)->iteration;
        if (iteration == 11 || iteration == 301) {
            scene_restart(scene); /* The iteration before has its checkpoint. */
            size_t size = loop_agent_state(scene->loop)->len;
            short_state = iteration == 11 ? size : short_state;
            short_reading = iteration == 11 ? scene->events_read : short_reading;
            assert_in_range(size, 1, short_state + 8); /* numbers have more digits */
            assert_in_range(scene->events_read, 1, short_reading);
            assert_int_equal(scene_step(scene, &err), LOOP_BODY);
        }
    }
    assert_in_range(short_reading, 1, 9 * 10);
}
