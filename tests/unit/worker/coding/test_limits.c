// SPDX-License-Identifier: Apache-2.0
/* Limits of what a coding agent can make large, at each and one past it. Lines of JSON are in
 * test_stream.c. */
#include "../../loop/fixture.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "loop/driver/body_ports.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "support/scratch.h"
#include "worker/coding/stream.h"
#include "worker/coding_agent.h"
#include "worker/coding_events.h"
#include "worker/coding_prompt.h"
#include "worker/coding_spec.h"

#include <json-c/json.h>
#include <string.h>
#include <sys/stat.h>

static void append_many(struct buf *text, size_t count, const char *piece)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_string(text, piece);
    }
}

/* ---- LIMIT_CODING_WORDS --------------------------------------------------------------------- */

TEST(a_list_of_a_record_has_a_limit)
{
    for (size_t count = LIMIT_CODING_WORDS; count <= LIMIT_CODING_WORDS + 1; count++) {
        struct coding_record record;
        struct rondo_error err = {0};
        auto_buf struct buf json = {0};
        buf_append_string(&json, "{\"name\":\"x\",\"program\":\"p\",\"arguments\":[\"a\"");
        append_many(&json, count - 1, ",\"a\"");
        buf_append_string(&json, "]}");
        auto_json struct json_object *root = NULL;
        assert_int_equal(json_parse(json.data, json.len, &root, NULL), 0);
        int r = coding_record_decode(root, &record, NULL, &err);
        if (count == LIMIT_CODING_WORDS) {
            assert_int_equal(r, 0);
            coding_record_fini(&record);
        } else {
            assert_int_equal(r, RONDO_ERR_INVALID);
            assert_string_equal(err.message, "arguments: must be a list of at most 64 texts");
        }
    }
}

/* ---- LIMIT_CODING_TEXT_LINE_BYTES ----------------------------------------------------------- */

/** What is said of a line that begins with 'a' and continues with a character. */
static void say_line(size_t len, const char *character, struct buf *ret_answer)
{
    struct coding_stream *stream = coding_stream_new(CODING_FORMAT_TEXT, NULL, NULL);
    auto_buf struct buf line = {0};
    buf_append_string(&line, "a");
    append_many(&line, (len - 1) / strlen(character), character);
    assert_int_equal(line.len, len);
    coding_stream_take(stream, line.data, line.len);
    coding_stream_end(stream);
    const struct coding_said *said = coding_stream_said(stream);
    assert_int_equal(said->long_lines, len > LIMIT_CODING_TEXT_LINE_BYTES);
    buf_append(ret_answer, said->answer.data, said->answer.len);
    coding_stream_free(stream);
}

TEST(a_line_of_text_at_the_limit_is_whole_and_a_longer_one_is_cut_and_marked)
{
    auto_buf struct buf whole = {0};
    auto_buf struct buf cut = {0};
    say_line(LIMIT_CODING_TEXT_LINE_BYTES, "x", &whole);
    assert_int_equal(whole.len, LIMIT_CODING_TEXT_LINE_BYTES + 1);
    say_line(LIMIT_CODING_TEXT_LINE_BYTES + 1, "x", &cut);
    assert_int_equal(cut.len, LIMIT_CODING_TEXT_LINE_BYTES + strlen(" [cut]\n"));
    assert_string_equal(buf_string(&cut) + LIMIT_CODING_TEXT_LINE_BYTES - 1, "x [cut]\n");
}

TEST(a_line_of_text_is_cut_between_characters)
{
    auto_buf struct buf cut = {0};
    say_line(LIMIT_CODING_TEXT_LINE_BYTES + 1, "\xc3\xa4", &cut);
    assert_string_equal(buf_string(&cut) + LIMIT_CODING_TEXT_LINE_BYTES - 3, "\xc3\xa4 [cut]\n");
}

/* ---- LIMIT_CODING_FILE_BYTES ---------------------------------------------------------------- */

static char folder[256];

static int folder_up(void **state)
{
    assert_true(scratch_new(folder, sizeof(folder)));
    return fixture_up(state);
}

static int folder_down(void **state)
{
    assert_int_equal(file_remove_tree(folder, NULL), 0);
    return fixture_down(state);
}

/** Write `coding-agents/own.yaml`, filled up with a comment to a size; 0 = not filled. */
static void write_record(const char *text, size_t size)
{
    struct rondo_error err = {0};
    auto_buf struct buf path = {0};
    auto_buf struct buf yaml = {0};
    buf_append_string(&yaml, text);
    append_many(&yaml, size > yaml.len, "#");
    append_many(&yaml, size > yaml.len ? size - yaml.len : 0, "x");
    buf_printf(&path, "%s/" CODING_FOLDER, folder);
    mkdir(buf_string(&path), 0700);
    buf_append_string(&path, "/own.yaml");
    if (file_replace_durably(buf_string(&path), yaml.data, yaml.len, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

TEST_WITH(a_file_of_a_coding_agent_has_a_limit, folder_up, folder_down)
{
    static const char text[] = "program: sh\narguments: []\n";
    struct coding_record record;
    struct rondo_error err = {0};
    write_record(text, (size_t)LIMIT_CODING_FILE_BYTES);
    if (coding_find("own", folder, &record, &err) != 0) {
        fail_msg("%s", err.message);
    }
    coding_record_fini(&record);
    write_record(text, (size_t)LIMIT_CODING_FILE_BYTES + 1);
    assert_int_equal(coding_find("own", folder, &record, &err), RONDO_ERR_LIMIT);
    assert_non_null(strstr(err.message, "own.yaml is larger than 65536 bytes"));
}

/* ---- LIMIT_CODING_EVENTS, LIMIT_CODING_TEXT_BYTES ------------------------------------------- */

static void say(struct coding_events *events, const char *text, size_t len)
{
    const struct coding_event said = {.kind = CODING_EVENT_MESSAGE, .text = text, .text_len = len};
    coding_events_take(events, &said);
}

static struct coding_events *new_events(struct loop *loop)
{
    static const char *const envp[] = {NULL};
    const struct worker_options options = {0};
    return coding_events_new(loop, &options, envp);
}

FIXTURE_TEST(events_past_the_limit_are_counted)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    struct coding_events *events = new_events(loop);
    for (int i = 0; i < LIMIT_CODING_EVENTS; i++) {
        say(events, "word", 4);
    }
    assert_int_equal(coding_events_dropped(events), 0);
    say(events, "word", 4);
    assert_int_equal(coding_events_dropped(events), 1);
    assert_int_equal(loop_commit(loop, NULL), 0);
    assert_int_equal(fixture_events(fixture, loop_run_id(loop), "worker.message", NULL),
                     LIMIT_CODING_EVENTS);
    coding_events_free(events);
    loop_free(loop);
}

FIXTURE_TEST(a_text_of_an_event_at_the_limit_is_whole_and_a_longer_one_is_cut_and_marked)
{
    struct loop_fixture *fixture = *state;
    struct loop *loop = fixture_start(fixture, fixture_spec(0));
    fixture_iterate(loop, 1);
    struct coding_events *events = new_events(loop);
    auto_buf struct buf text = {0};
    append_many(&text, (size_t)LIMIT_CODING_TEXT_BYTES - 2, ".");
    buf_append_string(&text, "!!");
    say(events, text.data, text.len);
    buf_append_string(&text, ".");
    say(events, text.data, text.len);
    assert_int_equal(loop_commit(loop, NULL), 0);
    const char *run = loop_run_id(loop);
    assert_int_equal(fixture_events(fixture, run, "worker.message", ".!!\""), 1);
    assert_int_equal(fixture_events(fixture, run, "worker.message", ".!! [cut]\""), 1);
    coding_events_free(events);
    loop_free(loop);
}

/* ---- LIMIT_CODING_FEEDBACK_BYTES ------------------------------------------------------------ */

static size_t output_len;

/** No condition is met, and each prints as much. */
static void print_much(const struct verifier *verifier, const struct loop_condition *condition,
                       int64_t timeout_ns, struct cancel *cancel, struct verify_result *ret_result)
{
    struct buf output = {0};
    fixture_evaluate(verifier, condition, timeout_ns, cancel, ret_result);
    free(ret_result->output);
    append_many(&output, output_len, condition->name);
    ret_result->output_len = output.len;
    ret_result->output_total = output.len;
    ret_result->output = buf_steal(&output);
}

/** The prompt after an iteration in which so many conditions printed as much each. */
static void prompt_after(struct loop_fixture *fixture, unsigned conditions, size_t each,
                         struct buf *ret_prompt)
{
    struct loop *loop;
    struct loop_spec spec = fixture_spec(conditions);
    const struct loop_body_result result = {0};
    output_len = each;
    fixture->verifier.evaluate = print_much;
    loop = fixture_start(fixture, spec);
    fixture_iterate(loop, 1);
    loop_report(loop, &result);
    fixture_iterate(loop, 1);
    coding_prompt_write(loop, false, ret_prompt);
    loop_free(loop);
}

static size_t count_of(const struct buf *text, const char *part)
{
    size_t count = 0;
    for (const char *at = buf_string(text); (at = strstr(at, part)) != NULL; at += strlen(part)) {
        count++;
    }
    return count;
}

FIXTURE_TEST(feedback_within_the_limit_is_whole)
{
    auto_buf struct buf prompt = {0};
    prompt_after(*state, 2, 6000, &prompt);
    assert_int_equal(count_of(&prompt, "is not met"), 2);
    assert_int_equal(count_of(&prompt, "Output (complete)"), 2);
    assert_int_equal(count_of(&prompt, "left out"), 0);
}

FIXTURE_TEST(feedback_past_the_limit_names_every_condition_without_its_output)
{
    auto_buf struct buf prompt = {0};
    prompt_after(*state, 26, 100000, &prompt);
    assert_true(prompt.len <= LIMIT_CODING_FEEDBACK_BYTES);
    assert_int_equal(count_of(&prompt, "is not met"), 26);
    assert_int_equal(count_of(&prompt, "Output (end)"), 2);
    assert_int_equal(count_of(&prompt, "Its output is left out"), 24);
}

/* ---- LIMIT_CODING_QUOTA_WAITS --------------------------------------------------------------- */

TEST_WITH(a_quota_is_waited_for_so_many_times_and_then_the_iteration_has_failed, folder_up,
          folder_down)
{
    struct loop_fixture *fixture = *state;
    struct loop_spec spec = fixture_spec(1);
    struct coding_agent *agent = NULL;
    struct rondo_error err = {0};
    const struct worker_options options = {.folder = folder};
    const struct coding_options coding = {.name = "own", .config_folder = folder};
    write_record("program: sh\narguments: [-c, 'exit 7']\nexit_codes: {\"7\": api_quota}\n", 0);
    spec.prompt = memory_dup_string("work");
    if (coding_spec_set(&coding, &spec, &err) != 0) {
        fail_msg("%s", err.message);
    }
    struct loop *loop = fixture_start(fixture, spec);
    assert_int_equal(coding_agent_new(loop, &options, &agent, &err), 0);
    for (uint64_t i = 1; i <= LIMIT_CODING_QUOTA_WAITS + 1; i++) {
        fixture_iterate(loop, 1);
        assert_int_equal(loop_state(loop)->iteration, 1);
        assert_int_equal(loop_state(loop)->attempt, i);
        assert_int_equal(coding_agent_run(agent, &err), 0);
    }
    fixture_iterate(loop, 1);
    assert_int_equal(loop_state(loop)->iteration, 2);
    const char *run = loop_run_id(loop);
    assert_int_equal(fixture_events(fixture, run, "worker.finished", "until_ns\":1"),
                     LIMIT_CODING_QUOTA_WAITS);
    assert_int_equal(fixture_events(fixture, run, "iteration.finished",
                                    "exit code 7. It was waited for 50 times; raise the quota"),
                     1);
    coding_agent_free(agent);
    loop_free(loop);
}
