// SPDX-License-Identifier: Apache-2.0
/* Values that the desk file hides, over the API: no route shows them but the one that reveals. */
#include "api_world.h"

#include "alert/warning.h"
#include "handoff/desks/desks.h"
#include "handoff/inbox/inbox.h"
#include "handoff/storage/chain.h"
#include "handoff/wire/dead_letter.h"

#define ID     "e6a19e20-f630-5f7a-91bd-71be0c3eae0d"
#define OTHER  "7fce3aab-96f4-5117-817f-3579469c578b"
#define SECRET "hunter-2-hunter"
#define DIGEST "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0"
#define PATH   "/v1/inbox/" ID "/reveal"
#define ASKED  "{\"pointer\":\"/action/args/password\"}"

static const char file[] = "format: 1\n"
                           "people:\n"
                           "  ann: {roles: [oncall]}\n"
                           "  ben: {roles: [oncall, lead]}\n"
                           "  cho: {roles: [owner]}\n"
                           "desks:\n"
                           "  operators: {roles: [oncall]}\n"
                           "redaction:\n"
                           "  - {agent: fixer, pointers: [/action/args/password],\n"
                           "     hidden_from: [oncall], reveal: [lead]}\n";

/** Tokens of the people. */
struct readers {
    char ann[TOKEN_SIZE];
    char ben[TOKEN_SIZE];
    char cho[TOKEN_SIZE];
    char ben_decides[TOKEN_SIZE];
};

static void make_person(struct api_world *world, const char *name, enum token_scope scope,
                        const char *person, char *ret_token)
{
    struct token_spec spec = {.name = name, .scope = scope, .person = person};
    assert_int_equal(token_create(world->store, &spec, ret_token, NULL, NULL), 0);
}

static void submit(struct api_world *world, const char *id)
{
    static const char body[] =
        "{\"action\":{\"tool\":\"set_password\",\"args\":{\"password\":\"" SECRET "\"}},"
        "\"trigger\":{\"trigger_reason\":\"explicit_agent_rule\",\"message\":\"sets " SECRET "\"}}";
    struct handoff_store handoffs = runtime_handoffs(world->runtime);
    struct handoff_request request = {.request_id = id,
                                      .agent_id = "fixer",
                                      .lane_id = "lane",
                                      .action_digest = DIGEST,
                                      .body_digest = DIGEST,
                                      .risk = HANDOFF_MEDIUM,
                                      .priority = HANDOFF_MEDIUM};
    struct handoff_result result;
    struct handoff handoff;
    int64_t now_ns = clock_now(clock_system());
    assert_int_equal(handoff_submit(&handoffs, &request, body, now_ns, &result, NULL), 0);
    assert_int_equal(inbox_route(&handoffs, id, now_ns, &handoff, NULL), 0);
}

static void set_up(struct api_world *world, struct readers *ret_readers)
{
    struct rondo_error err = {0};
    assert_int_equal(file_replace_durably(world->desks, file, strlen(file), &err), 0);
    make_person(world, "t1", TOKEN_REVEAL, "ann", ret_readers->ann);
    make_person(world, "t2", TOKEN_REVEAL, "ben", ret_readers->ben);
    make_person(world, "t3", TOKEN_REVEAL, "cho", ret_readers->cho);
    make_person(world, "t4", TOKEN_DECIDE, "ben", ret_readers->ben_decides);
    submit(world, ID);
}

static bool shows(struct api_world *world, const char *path, const char *token)
{
    struct api_reply answer;
    ask(world, "GET", path, token, "", "", &answer);
    assert_int_equal(answer.status, 200);
    bool is_shown = strstr(answer.body, SECRET) != NULL;
    answer_fini(&answer);
    return is_shown;
}

static void start_run(struct api_world *world, char *ret_path, size_t size)
{
    struct api_reply answer;
    ask(world, "POST", "/v1/runs", world->administer, "",
        "{\"command\":[\"true\"],\"agent_id\":\"fixer\",\"sandbox\":\"none\",\"max_iterations\":1,"
        "\"prompt\":\"hello\"}",
        &answer);
    if (answer.status != 201) {
        fail_msg("%s", buf_string(&answer.all));
    }
    snprintf(ret_path, size, "/v1/runs/%s", json_get_string(answer.json, "run_id", ""));
    answer_fini(&answer);
}

#define TEST_OF_REVEALS(name) TEST_WITH(name, world_setup, world_teardown)

TEST_OF_REVEALS(no_answer_shows_a_hidden_value)
{
    struct api_world *world = *state;
    struct readers readers;
    set_up(world, &readers);
    assert_true(shows(world, "/v1/inbox/" ID, readers.cho));
    const char *const hidden_from[] = {readers.ann, readers.ben, world->read, world->administer,
                                       world->operate};
    for (size_t i = 0; i < sizeof(hidden_from) / sizeof(hidden_from[0]); i++) {
        assert_false(shows(world, "/v1/inbox/" ID, hidden_from[i]));
        assert_false(shows(world, "/v1/inbox?state=all", hidden_from[i]));
    }
    assert_false(shows(world, "/v1/audit", readers.ann));
}

TEST_OF_REVEALS(a_search_finds_no_hidden_value)
{
    struct api_world *world = *state;
    struct readers readers;
    struct api_reply answer;
    set_up(world, &readers);
    ask(world, "GET", "/v1/inbox?q=" SECRET, readers.ann, "", "", &answer);
    assert_int_equal(json_length(json_member(answer.json, "handoffs")), 0);
    answer_fini(&answer);
    ask(world, "GET", "/v1/inbox?q=" SECRET, readers.cho, "", "", &answer);
    assert_int_equal(json_length(json_member(answer.json, "handoffs")), 1);
    answer_fini(&answer);
}

TEST_OF_REVEALS(pages_of_a_search_do_not_tell_whether_a_hidden_value_matches)
{
    struct api_world *world = *state;
    struct readers readers;
    struct api_reply answer;
    set_up(world, &readers);
    submit(world, OTHER);
    ask(world, "GET", "/v1/inbox?limit=1&q=" SECRET, readers.ann, "", "", &answer);
    assert_int_equal(answer.status, 200);
    assert_null(json_member(answer.json, "next"));
    answer_fini(&answer);
}

TEST_OF_REVEALS(what_an_agent_said_and_did_is_refused_where_a_value_is_hidden)
{
    struct api_world *world = *state;
    struct readers readers;
    char run[96];
    static const char *const parts[] = {"/events", "/conversation", "/checkpoints/latest"};
    set_up(world, &readers);
    start_run(world, run, sizeof(run));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char path[160];
        snprintf(path, sizeof(path), "%s%s", run, parts[i]);
        expect_problem(world, "GET", path, readers.ann, "", "", "forbidden");
        expect_problem(world, "GET", path, world->administer, "", "", "forbidden");
        expect_problem(world, "GET", path, readers.ann, "Accept: text/event-stream\r\n", "",
                       "forbidden");
    }
    char events[160];
    snprintf(events, sizeof(events), "%s/events", run);
    expect(world, "GET", events, readers.cho, "", "", 200);
    struct api_reply answer;
    ask(world, "GET", run, readers.ann, "", "", &answer);
    assert_int_equal(answer.status, 200);
    assert_null(json_member(answer.json, "summary"));
    assert_null(json_member(answer.json, "plan"));
    answer_fini(&answer);
    expect_problem(world, "GET", "/v1/events", readers.ann, "", "", "forbidden");
    expect_problem(world, "GET", "/v1/events?agent=fixer", readers.ann, "", "", "forbidden");
    expect(world, "GET", "/v1/events?agent=stranger", readers.ann, "", "", 200);
    expect_problem(world, "GET", "/v1/events", world->operate, "", "", "forbidden");
    expect(world, "GET", "/v1/events", world->other, "", "", 200);
}

TEST_OF_REVEALS(only_a_scope_a_role_and_a_desk_together_reveal)
{
    struct api_world *world = *state;
    struct readers readers;
    struct api_reply answer;
    set_up(world, &readers);
    expect_problem(world, "POST", PATH, readers.ann, "", ASKED, "forbidden");
    expect_problem(world, "POST", PATH, readers.cho, "", ASKED, "forbidden");
    expect_problem(world, "POST", PATH, readers.ben_decides, "", ASKED, "forbidden");
    expect_problem(world, "POST", PATH, world->administer, "", ASKED, "forbidden");
    expect_problem(world, "POST", PATH, world->agent, "", ASKED, "forbidden");
    expect_problem(world, "POST", PATH, readers.ben, "", "{\"pointer\":\"/action/tool\"}",
                   "invalid");
    expect_problem(world, "POST", PATH, readers.ben, "", "{\"pointer\":\"/*\"}", "invalid");
    expect_problem(world, "POST", PATH, readers.ben, "", "{\"pointer\":\"/action/args/*\"}",
                   "invalid");
    ask(world, "POST", PATH, readers.ben, "", ASKED, &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(json_get_string(answer.json, "value", ""), SECRET);
    answer_fini(&answer);
}

/** Entries in the audit chain that say that a value was seen. */
static bool count_reveal(const char *entry, size_t len, void *context)
{
    auto_buf struct buf text = {0};
    buf_append(&text, entry, len);
    *(size_t *)context += strstr(buf_string(&text), "handoff.revealed") != NULL;
    return true;
}

TEST_OF_REVEALS(each_answer_has_an_entry_and_none_is_kept_for_its_key)
{
    struct api_world *world = *state;
    struct readers readers;
    size_t count = 0;
    static const char key[] = "Idempotency-Key: k1\r\n";
    set_up(world, &readers);
    expect(world, "POST", PATH, readers.ben, key, ASKED, 200);
    expect(world, "POST", PATH, readers.ben, key, ASKED, 200);
    assert_int_equal(audit_chain_read(world->store, 0, 0, count_reveal, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(token_revoke(world->store, "t2", NULL), 0);
    expect_problem(world, "POST", PATH, readers.ben, key, ASKED, "unauthorized");
}

TEST_OF_REVEALS(a_recorded_answer_is_for_the_person_who_got_it)
{
    struct api_world *world = *state;
    struct readers readers;
    char again[TOKEN_SIZE];
    struct api_reply answer;
    static const char key[] = "Idempotency-Key: k1\r\n";
    static const char claim[] = "/v1/inbox/" ID "/claim";
    set_up(world, &readers);
    expect(world, "POST", claim, readers.ben, key, "", 200);
    assert_int_equal(token_revoke(world->store, "t2", NULL), 0);
    make_person(world, "t2", TOKEN_REVEAL, "ann", again);
    ask(world, "POST", claim, again, key, "", &answer);
    assert_int_equal(answer.status, 409);
    answer_fini(&answer);
}

TEST_OF_REVEALS(dead_letters_have_no_words_where_a_value_is_hidden)
{
    struct api_world *world = *state;
    struct readers readers;
    struct api_reply answer;
    char id[LETTER_ID_SIZE];
    set_up(world, &readers);
    struct intake_letter letter = {.caller = "t",
                                   .code = "malformed",
                                   .reason = "\"" SECRET "\" is no priority",
                                   .body = "{}",
                                   .len = 2,
                                   .now_ns = 1};
    assert_int_equal(intake_letter_add(world->store, &letter, id, NULL), 0);
    ask(world, "GET", "/v1/dlq", readers.ann, "", "", &answer);
    assert_non_null(strstr(answer.body, "a rule of the desk file hides it"));
    answer_fini(&answer);
    ask(world, "GET", "/v1/dlq", readers.cho, "", "", &answer);
    assert_null(strstr(answer.body, "a rule of the desk file hides it"));
    assert_int_equal(json_length(json_member(answer.json, "letters")), 1);
    answer_fini(&answer);
}

TEST_OF_REVEALS(who_reveals_decides_and_so_is_no_agent)
{
    static const char *const ben[] = {"ben", NULL};
    struct api_world *world = *state;
    struct readers readers;
    char token[TOKEN_SIZE];
    struct token_spec agent = {.name = "a", .scope = TOKEN_AGENT, .agents = ben};
    struct token_spec fixer = {.name = "b", .scope = TOKEN_REVEAL, .person = "fixer"};
    set_up(world, &readers);
    assert_int_equal(token_create(world->store, &agent, token, NULL, NULL), RONDO_ERR_INVALID);
    assert_int_equal(token_create(world->store, &fixer, token, NULL, NULL), RONDO_ERR_INVALID);
    assert_int_equal(token_scope_rights(TOKEN_REVEAL) & (RIGHT_OPERATE | RIGHT_AGENT), 0);
}

/** Store a warning, as a monitor does. */
static void warn(struct api_world *world, const char *key, const char *agent)
{
    struct warning warning = {.kind = WARNING_HANDOFF, .time_ns = 1};
    auto_buf struct buf json = {0};
    bool is_applied = false;
    snprintf(warning.id, sizeof(warning.id), "%s", key);
    snprintf(warning.agent_id, sizeof(warning.agent_id), "%s", agent);
    snprintf(warning.message, sizeof(warning.message), "%s: " SECRET, agent);
    warning_write(&warning, &json);
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = WARNING_COLLECTION,
                                  .key = key,
                                  .data = buf_string(&json),
                                  .data_len = json.len};
    assert_int_equal(
        world->store->ops->change_documents(world->store, &change, 1, &is_applied, NULL), 0);
}

TEST_OF_REVEALS(warnings_from_before_a_rule_say_no_more_than_it_permits)
{
    struct api_world *world = *state;
    struct readers readers;
    set_up(world, &readers);
    warn(world, "00000000000000000001", "fixer");
    assert_false(shows(world, "/v1/warnings", readers.ann));
    assert_false(shows(world, "/v1/warnings", world->administer));
    assert_true(shows(world, "/v1/warnings", readers.cho));
    warn(world, "00000000000000000002", "stranger");
    assert_true(shows(world, "/v1/warnings", readers.ann));
}
