// SPDX-License-Identifier: Apache-2.0
#include "mcp_world.h"

#include "base/auto.h"
#include "base/limits.h"
#include "tool/toolbox.h"

#include "os/spawn/sandbox_trial.h"
#include "os/spawn/supervise.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define SELF "/proc/self/exe"

/* --- what a well-behaved server gives --- */

WORLD_TEST(a_call_gives_what_the_tool_says)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "echo", "{\"text\":\"gr\\u00fc\\u00df dich\\nEcho\"}"), 0);
    assert_string_equal(world->text, "gr\xc3\xbc\xc3\x9f dich\nEcho");
}

WORLD_TEST(nothing_is_started_before_the_first_call)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(starts(world), 0);
    assert_string_equal(mcp_client_version(world->client), "");
}

WORLD_TEST(the_version_is_the_servers)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "echo", "{}"), 0);
    assert_string_equal(mcp_client_version(world->client), "2025-06-18");
}

WORLD_TEST(a_list_has_the_tools_of_all_pages)
{
    struct mcp_world *world = *state;
    struct json_object *tools = NULL;
    begin(world, "plain", NULL);
    assert_int_equal(mcp_list_tools(world->client, in(GENEROUS_NS), NULL, &tools, &world->err), 0);
    assert_int_equal(json_object_array_length(tools), 3);
    assert_string_equal(json_get_string(json_object_array_get_idx(tools, 2), "name", ""),
                        "scan.it");
    json_object_put(tools);
}

WORLD_TEST(one_server_serves_all_calls)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(call(world, "echo", "{\"text\":\"again\"}"), 0);
    }
    assert_int_equal(starts(world), 1);
}

WORLD_TEST(a_notification_before_the_first_reply_does_no_harm)
{
    struct mcp_world *world = *state;
    begin(world, "early", NULL);
    assert_int_equal(call(world, "echo", "{\"text\":\"x\"}"), 0);
}

WORLD_TEST(a_server_of_the_new_form_only_is_spoken_to_in_it)
{
    struct mcp_world *world = *state;
    begin(world, "modern", NULL);
    assert_int_equal(call(world, "echo", "{\"text\":\"new\"}"), 0);
    assert_string_equal(world->text, "new");
    assert_string_equal(mcp_client_version(world->client), "2026-07-28");
}

WORLD_TEST(a_server_that_wants_input_gets_defaults_and_its_state_back)
{
    struct mcp_world *world = *state;
    begin(world, "modern", &(struct mcp_options){.accepts_defaults = true});
    assert_int_equal(call(world, "input", "{}"), 0);
    assert_string_equal(world->text,
                        "{\"ok\":{\"action\":\"accept\",\"content\":{\"n\":7}}} s\"tate");
}

WORLD_TEST(forms_are_declined_by_default)
{
    struct mcp_world *world = *state;
    begin(world, "modern", NULL);
    assert_int_equal(call(world, "input", "{}"), 0);
    assert_contains(world->text, "{\"ok\":{\"action\":\"decline\"}}");
}

WORLD_TEST(lines_that_are_no_messages_are_passed_over)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "log", "{}"), 0);
    assert_string_equal(world->text, "logged");
}

WORLD_TEST(what_servers_ask_is_answered)
{
    static const char *const cases[][2] = {
        {"ping", "\"result\":{}"},
        {"roots/list", "\"result\":{\"roots\":[]}"},
        {"sampling/createMessage", "\"code\":-32601"},
        {"elicitation/create", "\"result\":{\"action\":\"decline\"}"},
    };
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char arguments[200];
        snprintf(arguments, sizeof(arguments),
                 "{\"question\":{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"%s\"}}",
                 cases[i][0]);
        assert_int_equal(call(world, "ask", arguments), 0);
        assert_contains(world->text, cases[i][1]);
        assert_contains(world->text, "\"id\":\"q\"");
    }
}

WORLD_TEST(an_error_of_the_server_is_told_in_its_words)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "nonsense", "{}"), RONDO_ERR_INVALID);
    assert_contains(world->err.message, "there is no such tool (-32602)");
}

/* --- several at once --- */

struct stdio_caller {
    struct mcp_world *world;
    struct rondo_error err;
    char text[100];
    int code;
};

static void *call_hold(void *context)
{
    struct stdio_caller *caller = context;
    struct json_object *result = NULL;
    caller->code = mcp_call_tool(caller->world->client, "hold", NULL, in(GENEROUS_NS), NULL,
                                 &result, &caller->err);
    if (caller->code == 0) {
        struct tool_result read = {0};
        mcp_read_result(result, &read);
        snprintf(caller->text, sizeof(caller->text), "%s", buf_string(&read.text));
        buf_fini(&read.text);
        json_object_put(result);
    }
    return NULL;
}

WORLD_TEST(replies_find_their_calls_in_any_order)
{
    struct mcp_world *world = *state;
    struct stdio_caller caller = {.world = world};
    pthread_t thread;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "echo", "{}"), 0);
    pthread_create(&thread, NULL, call_hold, &caller);
    while (strcmp(world->text, "held") != 0 && caller.text[0] == '\0') {
        /* Each echo releases a call that is held; when it has come is not known from outside. */
        assert_int_equal(call(world, "echo", "{\"text\":\"mine\"}"), 0);
        assert_string_equal(world->text, "mine");
        struct timespec tick = {.tv_nsec = NS_PER_MS};
        nanosleep(&tick, NULL);
        if (pthread_tryjoin_np(thread, NULL) == 0) {
            break;
        }
    }
    assert_int_equal(caller.code, 0);
    assert_string_equal(caller.text, "held");
}

static void *call_echo_often(void *context)
{
    struct stdio_caller *caller = context;
    for (int i = 0; i < 50 && caller->code == 0; i++) {
        auto_json struct json_object *arguments = json_object_new_object();
        struct json_object *result = NULL;
        char text[40];
        snprintf(text, sizeof(text), "%p %d", (void *)caller, i);
        json_object_object_add(arguments, "text", json_object_new_string(text));
        caller->code = mcp_call_tool(caller->world->client, "echo", arguments, in(GENEROUS_NS),
                                     NULL, &result, &caller->err);
        struct tool_result read = {0};
        mcp_read_result(result, &read);
        caller->code = caller->code != 0 ? caller->code : strcmp(buf_string(&read.text), text);
        buf_fini(&read.text);
        json_object_put(result);
    }
    return NULL;
}

WORLD_TEST(many_threads_share_one_server)
{
    struct mcp_world *world = *state;
    struct stdio_caller callers[8];
    pthread_t threads[8];
    begin(world, "plain", NULL);
    for (size_t i = 0; i < 8; i++) {
        callers[i] = (struct stdio_caller){.world = world};
        pthread_create(&threads[i], NULL, call_echo_often, &callers[i]);
    }
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].code, 0);
    }
    assert_int_equal(starts(world), 1);
}

/* --- servers that die --- */

WORLD_TEST(a_call_in_which_the_server_dies_fails_with_its_last_words)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "die", "{}"), RONDO_ERR_IO);
    assert_contains(world->err.message, "has ended (exit code 7)");
    assert_contains(world->err.message, "last words");
}

WORLD_TEST(a_crash_is_told_by_its_signal)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "crash", "{}"), RONDO_ERR_IO);
    assert_contains(world->err.message, "signal 9");
}

WORLD_TEST(a_call_that_failed_is_not_repeated_and_the_next_finds_a_new_server)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "die", "{}"), RONDO_ERR_IO);
    assert_int_equal(starts(world), 1);
    assert_int_equal(call(world, "echo", "{\"text\":\"back\"}"), 0);
    assert_string_equal(world->text, "back");
    assert_int_equal(starts(world), 2);
}

WORLD_TEST(a_server_that_closes_its_output_is_taken_for_dead)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "close", "{}"), RONDO_ERR_IO);
    assert_contains(world->err.message, "has closed its output");
}

WORLD_TEST(a_server_that_never_gets_up_is_left_alone_after_six_starts)
{
    struct mcp_world *world = *state;
    begin(world, "dead", NULL);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(call(world, "echo", "{}"), RONDO_ERR_IO);
        assert_contains(world->err.message, "cannot find my configuration");
    }
    int64_t begun = in(0);
    assert_int_equal(call(world, "echo", "{}"), RONDO_ERR_IO);
    assert_contains(world->err.message, "left alone for a minute");
    assert_true(in(0) - begun < 30 * NS_PER_S);
    assert_int_equal(starts(world), 6);
}

WORLD_TEST(a_start_that_must_wait_longer_than_the_deadline_is_not_waited_for)
{
    struct mcp_world *world = *state;
    struct hand_clock hand;
    hand_clock_init(&hand);
    world->around.clock = &hand.clock;
    begin(world, "dead", NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(call(world, "echo", "{}"), RONDO_ERR_IO);
    }
    int64_t soon_ns = clock_monotonic(&hand.clock) + 10 * NS_PER_MS;
    assert_int_equal(call_within(world, "echo", "{}", soon_ns), RONDO_ERR_IO);
    assert_contains(world->err.message, "not started again before the deadline");
    assert_int_equal(starts(world), 4);
}

WORLD_TEST(a_missing_program_is_named)
{
    struct mcp_world *world = *state;
    begin(world, "plain", &(struct mcp_options){.command = "no-such-server"});
    assert_int_equal(call(world, "echo", "{}"), RONDO_ERR_NOT_FOUND);
    assert_contains(world->err.message, "no-such-server: no such program");
}

/* --- servers that misbehave --- */

WORLD_TEST(a_server_that_floods_is_ended)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "flood", "{}"), RONDO_ERR_LIMIT);
    assert_contains(world->err.message, "flooded");
    assert_int_equal(call(world, "echo", "{\"text\":\"x\"}"), 0);
}

WORLD_TEST(a_message_above_the_limit_ends_the_server)
{
    struct mcp_world *world = *state;
    char arguments[64];
    begin(world, "plain", NULL);
    snprintf(arguments, sizeof(arguments), "{\"bytes\":%zu}", MCP_FRAME_MAX_BYTES);
    assert_int_equal(call(world, "huge", arguments), RONDO_ERR_LIMIT);
    assert_contains(world->err.message, "more than 16 MiB");
}

WORLD_TEST(a_message_below_the_limit_is_read)
{
    struct mcp_world *world = *state;
    char arguments[64];
    begin(world, "plain", NULL);
    snprintf(arguments, sizeof(arguments), "{\"bytes\":%zu}", MCP_FRAME_MAX_BYTES - 200);
    assert_int_equal(call(world, "huge", arguments), 0);
}

WORLD_TEST(half_a_message_ends_the_server)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "broken", "{}"), RONDO_ERR_CORRUPT);
}

WORLD_TEST(a_call_that_hangs_ends_at_its_deadline_and_the_server_continues)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "echo", "{}"), 0);
    assert_int_equal(call_within(world, "hang", "{}", in(SHORT_NS)), RONDO_ERR_TIMEOUT);
    assert_int_equal(call(world, "echo", "{}"), 0);
    assert_int_equal(starts(world), 1);
}

WORLD_TEST(a_server_that_never_answers_initialize_ends_at_the_deadline)
{
    struct mcp_world *world = *state;
    begin(world, "mute", NULL);
    int64_t deadline = in(SHORT_NS);
    assert_int_equal(call_within(world, "echo", "{}", deadline), RONDO_ERR_TIMEOUT);
    assert_true(in(0) < deadline + 30 * NS_PER_S);
}

WORLD_TEST(a_server_that_does_not_read_ends_at_the_deadline)
{
    struct mcp_world *world = *state;
    begin(world, "deaf", NULL);
    assert_int_equal(call_within(world, "echo", "{}", in(SHORT_NS)), RONDO_ERR_TIMEOUT);
}

WORLD_TEST(the_timeout_of_the_client_holds_without_a_deadline)
{
    struct mcp_world *world = *state;
    begin(world, "plain", &(struct mcp_options){.timeout_ns = SHORT_NS});
    assert_int_equal(call_within(world, "hang", "{}", 0), RONDO_ERR_TIMEOUT);
}

static void *cancel_soon(void *context)
{
    cancel_set(context, CANCEL_GRACEFUL);
    return NULL;
}

WORLD_TEST(a_cancelled_call_ends)
{
    struct mcp_world *world = *state;
    struct cancel cancel;
    struct json_object *result = NULL;
    pthread_t thread;
    begin(world, "plain", NULL);
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    pthread_create(&thread, NULL, cancel_soon, &cancel);
    assert_int_equal(
        mcp_call_tool(world->client, "hang", NULL, in(GENEROUS_NS), &cancel, &result, &world->err),
        RONDO_ERR_CANCELLED);
    pthread_join(thread, NULL);
    cancel_fini(&cancel);
}

WORLD_TEST(an_unknown_version_is_refused)
{
    struct mcp_world *world = *state;
    begin(world, "odd", NULL);
    assert_int_equal(call(world, "echo", "{}"), RONDO_ERR_VERSION);
}

WORLD_TEST(a_refused_initialize_is_told_in_the_servers_words)
{
    struct mcp_world *world = *state;
    begin(world, "refuse", NULL);
    assert_int_equal(call(world, "echo", "{}"), RONDO_ERR_INVALID);
    assert_contains(world->err.message, "not today");
}

/* --- what a server gets of us --- */

WORLD_TEST(a_server_gets_a_reduced_environment_and_its_own_variables)
{
    struct mcp_world *world = *state;
    const char *const env[] = {"MINE=given", NULL};
    setenv("RONDO_TEST_SECRET", "hidden", 1);
    begin(world, "plain", &(struct mcp_options){.env = env});
    assert_int_equal(call(world, "variable", "{\"name\":\"RONDO_TEST_SECRET\"}"), 0);
    assert_string_equal(world->text, "(not set)");
    assert_int_equal(call(world, "variable", "{\"name\":\"MINE\"}"), 0);
    assert_string_equal(world->text, "given");
}

WORLD_TEST(variables_that_are_named_are_passed_on)
{
    struct mcp_world *world = *state;
    const char *const pass[] = {"RONDO_TEST_PASSED", NULL};
    setenv("RONDO_TEST_PASSED", "through", 1);
    begin(world, "plain", &(struct mcp_options){.pass = pass});
    assert_int_equal(call(world, "variable", "{\"name\":\"RONDO_TEST_PASSED\"}"), 0);
    assert_string_equal(world->text, "through");
}

WORLD_TEST(a_server_does_not_start_in_the_workspace)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "folder", "{}"), 0);
    assert_string_equal(world->text, "/");
}

WORLD_TEST(a_sandboxed_server_starts_in_a_folder_of_its_own)
{
    struct mcp_world *world = *state;
    char reason[256];
    if (!sandbox_is_available(SANDBOX_NAMESPACE, reason)) {
        skip();
    }
    setenv("XDG_CACHE_HOME", world->folder, 1);
    world->around.supervisor = SELF;
    begin(world, "plain", &(struct mcp_options){.tier = SANDBOX_NAMESPACE});
    assert_int_equal(call(world, "folder", "{}"), 0);
    assert_contains(world->text, "/rondo/mcp/peer-");
    assert_int_equal(call(world, "variable", "{\"name\":\"PYTHONSAFEPATH\"}"), 0);
    assert_string_equal(world->text, "1");
}

WORLD_TEST(with_a_supervisor_nothing_of_a_server_is_left)
{
    struct mcp_world *world = *state;
    world->around.supervisor = SELF;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "daemon", "{}"), 0);
    pid_t daemon = (pid_t)strtol(world->text, NULL, 10);
    assert_true(daemon > 1);
    assert_int_equal(kill(daemon, 0), 0);
    mcp_client_free(world->client);
    world->client = NULL;
    assert_int_equal(kill(daemon, 0), -1);
    assert_int_equal(errno, ESRCH);
}

/* ---- Forms ---------------------------------------------------------------------------------- */

#define FORM                                                                                     \
    "{\"question\":\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":77,\\\"method\\\":\\\"elicitation/" \
    "create\\\""                                                                                 \
    ",\\\"params\\\":{\\\"message\\\":\\\"who?\\\",\\\"requestedSchema\\\":{\\\"type\\\":"       \
    "\\\"object\\\"}}}\"}"

struct slow_person {
    enum mcp_consent consent;
    struct hand_clock *hand;
};

static enum mcp_consent answer_slowly(void *context, const char *server, struct json_object *params,
                                      struct json_object **ret_content)
{
    assert_string_equal(server, "peer");
    assert_string_equal(json_get_string(params, "message", ""), "who?");
    struct slow_person *person = context;
    hand_clock_pass(person->hand, 2 * SHORT_NS);
    *ret_content = json_object_new_object();
    json_object_object_add(*ret_content, "who", json_object_new_string("me"));
    return person->consent;
}

WORLD_TEST(a_person_answers_a_form_and_takes_no_time_of_the_call)
{
    struct mcp_world *world = *state;
    struct hand_clock hand;
    struct slow_person person = {.consent = MCP_ACCEPT, .hand = &hand};
    hand_clock_init(&hand);
    world->around.clock = &hand.clock;
    world->around.ask_form = answer_slowly;
    world->around.ask_context = &person;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "echo", "{}"), 0); /* It is started. */
    int64_t deadline_ns = clock_monotonic(&hand.clock) + SHORT_NS;
    assert_int_equal(call_within(world, "ask", FORM, deadline_ns), 0);
    assert_contains(world->text,
                    "\"id\":77,\"result\":{\"action\":\"accept\",\"content\":{\"who\":\"me\"}}");
}

WORLD_TEST(a_form_is_declined_without_a_person)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "ask", FORM), 0);
    assert_contains(world->text, "\"result\":{\"action\":\"decline\"}");
}

/* ---- Tools of an entry ---------------------------------------------------------------------- */

/** A toolbox with an entry for the scripted server. @return what toolbox_open says */
static int open_entry(struct mcp_world *world, const char *how, const char *more,
                      struct toolbox **ret_toolbox)
{
    char config[1024];
    snprintf(config, sizeof(config),
             "{\"type\":\"mcp\",\"command\":\"%s\",\"args\":[\"%s\",\"%s\"]%s}", MCP_PEER, how,
             world->starts, more);
    auto_json struct json_object *object = NULL;
    assert_int_equal(json_parse(config, strlen(config), &object, NULL), 0);
    world->around.sandbox = "none";
    *ret_toolbox = toolbox_new(&world->around);
    return toolbox_open(*ret_toolbox, object, &world->err);
}

static void call_of(struct toolbox *toolbox, const char *name)
{
    auto_json struct json_object *none = json_object_new_object();
    const struct tool_call one = {.id = "1", .arguments = none, .deadline_ns = in(GENEROUS_NS)};
    struct tool_result result = {0};
    toolbox_call(toolbox, toolbox_find(toolbox, name), &one, &result);
    assert_false(result.is_error);
    tool_result_fini(&result);
}

WORLD_TEST(a_tool_cannot_take_the_name_of_one_of_the_loop)
{
    struct mcp_world *world = *state;
    struct toolbox *toolbox = NULL;
    assert_int_equal(open_entry(world, "thief", "", &toolbox), RONDO_ERR_INVALID);
    assert_contains(world->err.message, "\"Finish-Task\" has the name of one of Rondo's own");
    assert_int_equal(toolbox_count(toolbox), 0);
    toolbox_free(toolbox);
    assert_int_equal(open_entry(world, "thief", ",\"tool_prefix\":\"x\"", &toolbox), 0);
    assert_non_null(toolbox_find(toolbox, "x_Finish-Task"));
    toolbox_free(toolbox);
    assert_int_equal(open_entry(world, "thief", ",\"tool_exclude\":[\"Finish-Task\"]", &toolbox),
                     0);
    toolbox_free(toolbox);
}

WORLD_TEST(two_tools_of_a_server_cannot_share_a_name)
{
    struct mcp_world *world = *state;
    struct toolbox *toolbox = NULL;
    assert_int_equal(open_entry(world, "twin", "", &toolbox), RONDO_ERR_INVALID);
    assert_contains(world->err.message, "two tools \"a_b\"");
    toolbox_free(toolbox);
}

WORLD_TEST(descriptions_are_bounded_and_clean)
{
    struct mcp_world *world = *state;
    struct toolbox *toolbox = NULL;
    assert_int_equal(open_entry(world, "wordy", "", &toolbox), 0);
    const char *text = toolbox_find(toolbox, "wordy")->description;
    assert_int_equal(strncmp(text, "seeme www", 9), 0);
    assert_int_equal(strlen(text), LIMIT_MCP_DESCRIPTION_BYTES);
    assert_contains(text, "[truncated]");
    toolbox_free(toolbox);
}

WORLD_TEST(changes_of_tools_are_followed)
{
    struct mcp_world *world = *state;
    struct toolbox *toolbox = NULL;
    auto_buf struct buf news = {0};
    assert_int_equal(open_entry(world, "shifty", ",\"approval\":\"required\"", &toolbox), 0);
    assert_false(toolbox_refresh(toolbox, &news));
    const struct tool *tool = toolbox_find(toolbox, "tool");
    assert_string_equal(tool->description, "before");
    assert_int_equal(tool->generation, 0);
    call_of(toolbox, "shift");
    assert_true(toolbox_refresh(toolbox, &news));
    assert_contains(buf_string(&news), "tool old of MCP server");
    assert_contains(buf_string(&news), "has a new definition");
    assert_contains(buf_string(&news), "is new");
    assert_contains(buf_string(&news), "tool update_plan of MCP server");
    assert_null(toolbox_find(toolbox, "old"));
    assert_null(toolbox_find(toolbox, "update_plan"));
    assert_string_equal(toolbox_find(toolbox, "tool")->description, "after");
    assert_int_equal(toolbox_find(toolbox, "tool")->generation, 1);
    assert_true(toolbox_find(toolbox, "tool")->needs_confirmation);
    assert_true(toolbox_find(toolbox, "new")->needs_confirmation);
    assert_int_equal(toolbox_find(toolbox, "shift")->generation, 0);
    buf_clear(&news);
    assert_false(toolbox_refresh(toolbox, &news));
    toolbox_free(toolbox);
}

/** Work for a second. @param duration_ns without news */
static int work(struct mcp_world *world, const char *name, struct json_object *arguments,
                int64_t duration_ns, int64_t latest_ns)
{
    struct json_object *result = NULL;
    int code = mcp_call_tool_in_trace(world->client, name, arguments, NULL, in(duration_ns),
                                      latest_ns, NULL, &result, &world->err);
    json_object_put(result);
    return code;
}

WORLD_TEST(progress_lengthens_a_call)
{
    struct mcp_world *world = *state;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "echo", "{}"), 0);                  /* It is started. */
    auto_json struct json_object *longer = json_object_new_object(); /* two and a half seconds */
    json_object_object_add(longer, "long", json_object_new_string("yes"));
    assert_int_equal(work(world, "work", longer, 2 * NS_PER_S, in(GENEROUS_NS)), 0);
    const int64_t soon_ns = 3 * SHORT_NS / 2;
    assert_int_equal(work(world, "work", NULL, soon_ns, 0), RONDO_ERR_TIMEOUT);
    assert_int_equal(work(world, "work", NULL, soon_ns, in(5 * SHORT_NS / 2)), RONDO_ERR_TIMEOUT);
    assert_int_equal(work(world, "mumble", NULL, soon_ns, in(GENEROUS_NS)), RONDO_ERR_TIMEOUT);
}

WORLD_TEST(a_supervised_server_dies_with_its_last_words_too)
{
    struct mcp_world *world = *state;
    world->around.supervisor = SELF;
    begin(world, "plain", NULL);
    assert_int_equal(call(world, "die", "{}"), RONDO_ERR_IO);
    assert_contains(world->err.message, "has ended (exit code 7)");
    assert_contains(world->err.message, "last words");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SUPERVISE_ARGUMENT) == 0) {
        return supervise_main(argc, argv);
    }
    return test_run(NULL, NULL);
}
