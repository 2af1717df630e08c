// SPDX-License-Identifier: Apache-2.0
/* What a person or a pipe says, and questions: over pipes, and over a pseudo-terminal. */
#include "base/auto.h"
#include "base/json/json.h"
#include "cli/framework/form.h"
#include "cli/terminal/line_input.h"
#include "support/test.h"

#include "base/limits.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/** Both sides of a terminal or pipe. */
struct line_input_fixture {
    int near; /* the program's */
    int far;  /* the person's */
    FILE *stream;
    struct line_input input;
};

static void say(const struct line_input_fixture *fixture, const char *text)
{
    size_t len = strlen(text);
    assert_int_equal(write(fixture->far, text, len), (ssize_t)len);
}

static void setup_pipe(struct line_input_fixture *fixture)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    *fixture = (struct line_input_fixture){.near = fds[0], .far = fds[1], .stream = tmpfile()};
    line_input_init(&fixture->input, fixture->near, fixture->stream, true);
}

static void setup_terminal(struct line_input_fixture *fixture)
{
    int far = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(far >= 0 && grantpt(far) == 0 && unlockpt(far) == 0);
    char name[64];
    assert_int_equal(ptsname_r(far, name, sizeof(name)), 0);
    int near = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(near >= 0);
    struct termios mode;
    tcgetattr(near, &mode);
    mode.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(near, TCSANOW, &mode);
    *fixture =
        (struct line_input_fixture){.near = near, .far = far, .stream = fdopen(dup(near), "w")};
    line_input_init(&fixture->input, near, fixture->stream, true);
}

static void teardown(struct line_input_fixture *fixture)
{
    line_input_fini(&fixture->input);
    fclose(fixture->stream);
    close(fixture->near);
    if (fixture->far >= 0) {
        close(fixture->far);
    }
}

static void expect(struct line_input_fixture *fixture, enum line_result result, const char *words)
{
    auto_buf struct buf said = {0};
    assert_int_equal(line_input_read(&fixture->input, "> ", NULL, &said), result);
    assert_string_equal(buf_string(&said), words);
}

TEST(each_line_of_a_pipe_is_separate)
{
    struct line_input_fixture fixture;
    setup_pipe(&fixture);
    say(&fixture, "one\ntwo\\\r\n\n   \nthree");
    close(fixture.far);
    fixture.far = -1;
    expect(&fixture, LINE_WORDS, "one");
    expect(&fixture, LINE_WORDS, "two\\");
    expect(&fixture, LINE_WORDS, "three");
    expect(&fixture, LINE_END, "");
    expect(&fixture, LINE_END, "");
    assert_int_equal(ftell(fixture.stream), 0); /* no prompt */
    teardown(&fixture);
}

TEST(what_is_pasted_into_a_terminal_belongs_together)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    say(&fixture, "one\n\ntwo\n");
    expect(&fixture, LINE_WORDS, "one\n\ntwo");
    say(&fixture, "three\n");
    expect(&fixture, LINE_WORDS, "three");
    teardown(&fixture);
}

TEST(a_line_that_ends_in_a_backslash_continues)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    say(&fixture, "one\\\ntwo\n");
    expect(&fixture, LINE_WORDS, "one\ntwo");
    teardown(&fixture);
}

TEST(the_end_of_a_terminal_ends_the_input)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    say(&fixture, "\x04");
    expect(&fixture, LINE_END, "");
    teardown(&fixture);
}

TEST(waiting_ends_with_the_token)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    auto_buf struct buf words = {0};
    assert_int_equal(line_input_read(&fixture.input, "> ", &cancel, &words), LINE_CANCELLED);
    struct line_question question = {.tool = "shell", .arguments = "{}"};
    assert_int_equal(line_input_confirm(&fixture.input, &question, &cancel), LINE_NO);
    cancel_fini(&cancel);
    teardown(&fixture);
}

/** A line of `len` bytes from a file: pipes do not hold that much. */
static void setup_file(struct line_input_fixture *fixture, size_t len)
{
    *fixture = (struct line_input_fixture){.far = -1, .stream = tmpfile()};
    FILE *file = tmpfile();
    for (size_t i = 0; i < len; i++) {
        fputc('x', file);
    }
    fputs("\nnext\n", file);
    fflush(file);
    fixture->near = dup(fileno(file));
    fclose(file);
    lseek(fixture->near, 0, SEEK_SET);
    line_input_init(&fixture->input, fixture->near, fixture->stream, true);
}

TEST(a_line_at_the_limit_is_taken_and_one_past_it_is_skipped)
{
    struct line_input_fixture fixture;
    setup_file(&fixture, LIMIT_PROMPT_BYTES);
    auto_buf struct buf words = {0};
    assert_int_equal(line_input_read(&fixture.input, "", NULL, &words), LINE_WORDS);
    assert_int_equal(words.len, LIMIT_PROMPT_BYTES);
    expect(&fixture, LINE_WORDS, "next");
    teardown(&fixture);
    setup_file(&fixture, LIMIT_PROMPT_BYTES + 1);
    expect(&fixture, LINE_TOO_LONG, "");
    expect(&fixture, LINE_WORDS, "next");
    teardown(&fixture);
    setup_file(&fixture, 4 * LIMIT_PROMPT_BYTES);
    expect(&fixture, LINE_TOO_LONG, "");
    assert_true(fixture.input.waiting.size < 3 * LIMIT_PROMPT_BYTES);
    expect(&fixture, LINE_WORDS, "next");
    teardown(&fixture);
}

/** Ask on a thread's behalf: the answer is written when the question has been read. */
struct person {
    int fd;
    const char *answer;
};

static void *answer_main(void *argument)
{
    const struct person *person = argument;
    struct buf seen = {0};
    while (strstr(buf_string(&seen), "] ") == NULL) {
        struct pollfd fds = {.fd = person->fd, .events = POLLIN};
        if (poll(&fds, 1, 10000) <= 0) {
            break;
        }
        ssize_t len = read(person->fd, buf_room(&seen, 512), 512);
        if (len <= 0) {
            break;
        }
        buf_grown(&seen, (size_t)len);
    }
    buf_fini(&seen);
    ssize_t written = write(person->fd, person->answer, strlen(person->answer));
    return written > 0 ? NULL : argument;
}

static enum line_consent ask(struct line_input_fixture *fixture,
                             const struct line_question *question, const char *answer)
{
    pthread_t thread;
    struct person person = {.fd = fixture->far, .answer = answer};
    assert_int_equal(pthread_create(&thread, NULL, answer_main, &person), 0);
    enum line_consent consent = line_input_confirm(&fixture->input, question, NULL);
    pthread_join(thread, NULL);
    return consent;
}

TEST(only_a_plain_yes_allows)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    struct line_question question = {.tool = "shell", .arguments = "{\"command\":\"ls\"}"};
    assert_int_equal(ask(&fixture, &question, "y\n"), LINE_YES);
    assert_int_equal(ask(&fixture, &question, " YES \n"), LINE_YES);
    assert_int_equal(ask(&fixture, &question, "\n"), LINE_NO);
    assert_int_equal(ask(&fixture, &question, "n\n"), LINE_NO);
    assert_int_equal(ask(&fixture, &question, "yeah, well\n"), LINE_NO);
    assert_int_equal(ask(&fixture, &question, "y but\n"), LINE_NO);
    assert_int_equal(ask(&fixture, &question, "\x04"), LINE_NOBODY);
    teardown(&fixture);
}

/** Somebody who waits for an answer, for ten minutes. */
struct patient_script {
    struct line_input *input;
    enum line_result result;
    struct buf words;
};

static void *wait_main(void *context)
{
    struct patient_script *script = context;
    script->result =
        line_input_answer(script->input, "Which? ", NULL, INT64_C(600000000000), &script->words);
    return NULL;
}

TEST(an_answer_is_waited_for_as_long_as_it_has_time)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    auto_buf struct buf words = {0};
    assert_int_equal(line_input_answer(&fixture.input, "? ", NULL, 1, &words), LINE_LATE);
    struct patient_script script = {.input = &fixture.input};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_main, &script), 0);
    auto_buf struct buf seen = {0};
    while (strstr(buf_string(&seen), "Which? ") == NULL) {
        ssize_t len = read(fixture.far, buf_room(&seen, 4096), 4096);
        assert_true(len > 0);
        buf_grown(&seen, (size_t)len);
    }
    say(&fixture, "blue\n");
    pthread_join(thread, NULL);
    assert_int_equal(script.result, LINE_WORDS);
    assert_string_equal(buf_string(&script.words), "blue");
    buf_fini(&script.words);
    teardown(&fixture);
}

TEST(always_holds_for_this_tool_only)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    struct line_question shell = {.tool = "shell", .arguments = "{}"};
    struct line_question http = {.tool = "http", .arguments = "{}"};
    assert_int_equal(ask(&fixture, &shell, "a\n"), LINE_YES);
    assert_int_equal(line_input_confirm(&fixture.input, &shell, NULL), LINE_YES);
    assert_int_equal(ask(&fixture, &http, "n\n"), LINE_NO);
    struct line_question changed = {.tool = "shell", .arguments = "{}", .generation = 1};
    assert_int_equal(ask(&fixture, &changed, "n\n"), LINE_NO);
    shell.is_once = true;
    assert_int_equal(ask(&fixture, &shell, "a\n"), LINE_NO);
    teardown(&fixture);
}

TEST(what_was_typed_before_the_question_is_no_answer)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    say(&fixture, "y\n");
    struct line_question question = {.tool = "shell", .arguments = "{}"};
    assert_int_equal(ask(&fixture, &question, "n\n"), LINE_NO);
    teardown(&fixture);
}

TEST(without_a_terminal_there_is_nobody)
{
    struct line_input_fixture fixture;
    setup_pipe(&fixture);
    say(&fixture, "y\n");
    struct line_question question = {.tool = "shell", .arguments = "{}"};
    assert_int_equal(line_input_confirm(&fixture.input, &question, NULL), LINE_NOBODY);
    teardown(&fixture);
}

static void check_question(const struct line_question *question, const char *expected)
{
    struct style plain = {0};
    auto_buf struct buf text = {0};
    line_input_question(question, &plain, &text);
    assert_string_equal(text.data, expected);
}

TEST(a_question_shows_everything_that_could_mislead)
{
    struct line_question question = {.tool = "shell", .arguments = "{\"command\": \"ls\"}"};
    check_question(&question, "Allow tool shell: {\"command\": \"ls\"}? [y/N/a] ");
    question = (struct line_question){
        .tool = "sh\033[2Jell",
        .arguments = "a\nb\x9b\xe2\x80\xae"
                     "c\xc2\x9b"
                     "d\xf3\xa0\x81\x81\xe6\xbc\xa2",
        .why = "a policy asks",
        .is_once = true,
    };
    check_question(&question, "a policy asks\nAllow tool sh\\u001b[2Jell: "
                              "a\\u000ab\\x9b\\u202ec\\u009bd\\U000e0041\xe6\xbc\xa2? [y/N] ");
}

/** A question about so many bytes, with a mark in their middle. */
static char *long_arguments(size_t len)
{
    char *arguments = malloc(len + 1);
    memset(arguments, 'x', len);
    memcpy(arguments + len / 2, "MARK", 4);
    arguments[len] = '\0';
    return arguments;
}

TEST(arguments_are_shown_whole_up_to_the_limit)
{
    for (size_t extra = 0; extra <= 1; extra++) {
        char *arguments = long_arguments(LIMIT_QUESTION_BYTES + extra);
        struct line_question question = {.tool = "t", .arguments = arguments};
        struct style plain = {0};
        auto_buf struct buf text = {0};
        line_input_question(&question, &plain, &text);
        assert_true((strstr(text.data, "MARK") != NULL) == (extra == 0));
        assert_true((strstr(text.data, "? [y/N/a] ") != NULL) == (extra == 0));
        assert_true((strstr(text.data, "(32769 bytes in all, SHA-256 ") != NULL) == (extra == 1));
        free(arguments);
    }
}

/** Answer each prompt in turn. */
struct answer_script {
    int fd;
    const char *const *answers;
    struct buf seen;
};

static void *script_main(void *argument)
{
    struct answer_script *script = argument;
    size_t from = 0;
    for (size_t i = 0; script->answers[i] != NULL; i++) {
        while (strstr(buf_string(&script->seen) + from, "] ") == NULL &&
               strstr(buf_string(&script->seen) + from, "q: stop) ") == NULL) {
            ssize_t len = read(script->fd, buf_room(&script->seen, 4096), 4096);
            if (len <= 0) {
                return argument;
            }
            buf_grown(&script->seen, (size_t)len);
        }
        from = script->seen.len;
        if (write(script->fd, script->answers[i], strlen(script->answers[i])) <= 0) {
            return argument;
        }
    }
    return NULL;
}

static enum line_consent ask_by_script(const struct line_question *question,
                                       const char *const *answers, struct buf *ret_seen)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    pthread_t thread;
    struct answer_script script = {.fd = fixture.far, .answers = answers};
    assert_int_equal(pthread_create(&thread, NULL, script_main, &script), 0);
    enum line_consent consent = line_input_confirm(&fixture.input, question, NULL);
    pthread_join(thread, NULL);
    teardown(&fixture);
    *ret_seen = script.seen;
    return consent;
}

TEST(what_is_too_long_must_be_seen_before_it_is_allowed)
{
    char *arguments = long_arguments(40000);
    struct line_question question = {.tool = "t", .arguments = arguments, .is_once = true};
    static const struct {
        const char *answers[14];
        enum line_consent consent;
        bool is_seen;
    } cases[] = {
        {{"y\n", NULL}, LINE_NO, false},
        {{"v\n", "\n", "\n", "\n", "\n", "\n", "\n", "\n", "\n", "\n", "y\n", NULL},
         LINE_YES,
         true},
        {{"v\n", "\n", "\n", "\n", "\n", "\n", "\n", "\n", "\n", "\n", "n\n", NULL}, LINE_NO, true},
        {{"v\n", "q\n", "y\n", NULL}, LINE_NO, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf seen = {0};
        assert_int_equal(ask_by_script(&question, cases[i].answers, &seen), cases[i].consent);
        assert_true((strstr(buf_string(&seen), "MARK") != NULL) == cases[i].is_seen);
        buf_fini(&seen);
    }
    free(arguments);
}

/* ---- Forms ---------------------------------------------------------------------------------- */

struct form_script {
    struct line_input *input;
    struct json_object *params;
    struct json_object *content;
    enum mcp_consent consent;
};

static void *form_main(void *argument)
{
    struct form_script *script = argument;
    script->consent = form_ask(script->input, "box\033[2J", script->params, NULL, &script->content);
    return NULL;
}

/** Wait for each prompt, then answer it. */
static void fill_in(const char *form, const char *const *answers, enum mcp_consent consent,
                    const char *content)
{
    struct line_input_fixture fixture;
    setup_terminal(&fixture);
    struct form_script script = {.input = &fixture.input};
    assert_int_equal(json_parse(form, strlen(form), &script.params, NULL), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, form_main, &script), 0);
    auto_buf struct buf seen = {0};
    for (size_t i = 0; answers[i] != NULL; i++) {
        size_t from = seen.len;
        while (strstr(buf_string(&seen) + from, "] ") == NULL &&
               strstr(buf_string(&seen) + from, "): ") == NULL) {
            ssize_t len = read(fixture.far, buf_room(&seen, 4096), 4096);
            assert_true(len > 0);
            buf_grown(&seen, (size_t)len);
        }
        assert_true(write(fixture.far, answers[i], strlen(answers[i])) > 0);
    }
    pthread_join(thread, NULL);
    assert_int_equal(script.consent, consent);
    assert_non_null(strstr(buf_string(&seen), "box\\u001b[2J requests input: who\\u202e?"));
    assert_null(strstr(buf_string(&seen), "\033[2J"));
    if (content != NULL) {
        assert_string_equal(json_object_to_json_string_ext(script.content, JSON_C_TO_STRING_PLAIN),
                            content);
    }
    json_object_put(script.content);
    json_object_put(script.params);
    teardown(&fixture);
}

TEST(a_form_is_filled_in_field_by_field)
{
    static const char form[] =
        "{\"message\":\"who\u202e?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
        "\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"minimum\":0},"
        "\"colour\":{\"type\":\"string\",\"enum\":[\"red\",\"blue\"],\"default\":\"red\"},"
        "\"ok\":{\"type\":\"boolean\"}},\"required\":[\"name\"]}}";
    static const struct {
        const char *answers[10];
        enum mcp_consent consent;
        const char *content;
    } cases[] = {
        {{"y\n", "Ann\n", "41\n", "blue\n", "y\n", "y\n", NULL},
         MCP_ACCEPT,
         "{\"name\":\"Ann\",\"age\":41,\"colour\":\"blue\",\"ok\":true}"},
        {{"y\n", "Ann\n", "-1\n", "x\n", "7\n", "\n", "\n", "y\n", NULL},
         MCP_ACCEPT,
         "{\"name\":\"Ann\",\"age\":7,\"colour\":\"red\"}"},
        {{"n\n", NULL}, MCP_DECLINE, NULL},
        {{"y\n", "\n", "\n", "\n", NULL}, MCP_DECLINE, NULL},
        {{"y\n", "Ann\n", "\x04", NULL}, MCP_CANCEL, NULL},
        {{"y\n", "Ann\n", "\n", "\n", "\n", "n\n", NULL}, MCP_DECLINE, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        fill_in(form, cases[i].answers, cases[i].consent, cases[i].content);
    }
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return test_run(NULL, NULL);
}
