// SPDX-License-Identifier: Apache-2.0
/* Actions of a body that wait for people, through the public API: asked, decided, made once. */
#include "scratch.h"

#define MS INT64_C(1000000)

static const struct rondo_action action = {
    .tool = "send", .arguments_json = "{\"to\":\"ann\"}", .needs_person = true};

/** A loop in its first iteration. */
static struct rondo_loop *begin(struct scratch *scratch)
{
    struct rondo_error err = {0};
    struct rondo_loop_options options = scratch_options(scratch);
    struct rondo_loop *loop = rondo_loop_start(scratch->rondo, &options, &err);
    assert_non_null(loop);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    return loop;
}

/** Continue the run in another process, as far as the store can tell. */
static struct rondo_loop *resume(struct scratch *scratch, struct rondo_loop *loop)
{
    struct rondo_error err = {0};
    char run[64];
    snprintf(run, sizeof(run), "%s", rondo_loop_run_id(loop));
    assert_int_equal(rondo_loop_park(loop, &err), 0);
    rondo_loop_free(loop);
    loop = rondo_loop_resume(scratch->rondo, run, NULL, &err);
    assert_non_null(loop);
    assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    return loop;
}

static struct rondo_answer ask(struct rondo_loop *loop, const struct rondo_action *what)
{
    struct rondo_answer answer;
    struct rondo_error err = {0};
    if (rondo_loop_ask(loop, what, 0, &answer, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return answer;
}

struct seen_requests {
    size_t count;
    char id[64];
    char risk[16];
};

static bool take(const struct rondo_request *request, void *context)
{
    struct seen_requests *seen = context;
    seen->count++;
    snprintf(seen->id, sizeof(seen->id), "%s", request->id);
    snprintf(seen->risk, sizeof(seen->risk), "%s", request->risk);
    return true;
}

static struct seen_requests look(struct scratch *scratch)
{
    struct seen_requests seen = {0};
    assert_int_equal(rondo_read_requests(scratch->rondo, take, &seen, NULL), 0);
    return seen;
}

/** Decide about what waits, in the name of a process that does not execute the run. */
static int decide(struct scratch *scratch, bool is_approved, const char *comment,
                  struct rondo_error *err)
{
    struct seen_requests seen = look(scratch);
    assert_int_equal(seen.count, 1);
    struct rondo *person = rondo_open(&(struct rondo_options){.store = scratch->store}, err);
    assert_non_null(person);
    char *json = rondo_show_request(person, seen.id, err);
    assert_non_null(json);
    char *digest = strstr(json, "\"action_digest\":\"");
    assert_non_null(digest);
    digest += strlen("\"action_digest\":\"");
    *strchr(digest, '"') = '\0';
    struct rondo_decision decision = {.request_id = seen.id,
                                      .is_approved = is_approved,
                                      .comment = comment,
                                      .action_digest = digest};
    int r = rondo_decide(person, &decision, err);
    free(json);
    rondo_close(person);
    return r;
}

static void end(struct rondo_loop *loop)
{
    struct rondo_error err = {0};
    assert_int_equal(rondo_loop_finish(loop, RONDO_BLOCKED, "done", &err), 0);
    assert_int_equal(rondo_loop_next(loop), RONDO_DONE);
    rondo_loop_free(loop);
}

#define ASK_TEST(function) TEST_WITH(function, scratch_up, scratch_down)

ASK_TEST(what_nobody_must_decide_is_permitted_at_once)
{
    struct rondo_loop *loop = begin(*state);
    struct rondo_action harmless = {.tool = "look"};
    struct rondo_answer answer = ask(loop, &harmless);
    assert_int_equal(answer.permission, RONDO_PERMITTED);
    assert_string_equal(answer.request_id, "");
    assert_int_equal(rondo_loop_acted(loop, &answer, "seen", NULL), 0);
    assert_int_equal(look(*state).count, 0);
    end(loop);
}

ASK_TEST(an_approved_action_is_made_once)
{
    struct rondo_error err = {0};
    struct rondo_loop *loop = begin(*state);
    assert_int_equal(ask(loop, &action).permission, RONDO_UNDECIDED);
    assert_string_equal(look(*state).risk, "medium");
    assert_int_equal(decide(*state, true, NULL, &err), 0);
    struct rondo_answer answer = ask(loop, &action);
    assert_int_equal(answer.permission, RONDO_PERMITTED);
    assert_int_equal(rondo_loop_acted(loop, &answer, "sent", &err), 0);
    assert_int_equal(rondo_loop_acted(loop, &answer, "sent", &err), 0);
    assert_int_equal(ask(loop, &action).permission, RONDO_DONE_BEFORE);
    end(loop);
}

ASK_TEST(what_was_refused_is_told_why_and_not_asked_again)
{
    struct rondo_error err = {0};
    struct rondo_loop *loop = begin(*state);
    ask(loop, &action);
    assert_int_equal(decide(*state, false, "not on a Friday", &err), 0);
    for (int i = 0; i < 2; i++) {
        struct rondo_answer answer = ask(loop, &action);
        assert_int_equal(answer.permission, RONDO_REFUSED);
        assert_string_equal(answer.message, "not on a Friday");
        assert_int_equal(rondo_loop_next(loop), RONDO_CONTINUE);
    }
    assert_int_equal(look(*state).count, 0);
    end(loop);
}

ASK_TEST(a_parked_run_finds_the_decision)
{
    struct rondo_error err = {0};
    struct rondo_loop *loop = begin(*state);
    ask(loop, &action);
    loop = resume(*state, loop);
    assert_int_equal(ask(loop, &action).permission, RONDO_UNDECIDED);
    assert_int_equal(look(*state).count, 1);
    assert_int_equal(decide(*state, true, NULL, &err), 0);
    loop = resume(*state, loop);
    assert_int_equal(ask(loop, &action).permission, RONDO_PERMITTED);
    end(loop);
}

ASK_TEST(an_action_without_a_result_is_in_doubt)
{
    struct rondo_error err = {0};
    struct rondo_loop *loop = begin(*state);
    ask(loop, &action);
    assert_int_equal(decide(*state, true, NULL, &err), 0);
    struct rondo_answer first = ask(loop, &action);
    assert_int_equal(first.permission, RONDO_PERMITTED);
    loop = resume(*state, loop);
    struct rondo_answer second = ask(loop, &action);
    assert_int_equal(second.permission, RONDO_UNDECIDED);
    assert_string_not_equal(first.request_id, second.request_id);
    char *json = rondo_show_request(((struct scratch *)*state)->rondo, second.request_id, &err);
    assert_non_null(strstr(json, "in_doubt_execution"));
    free(json);
    end(loop);
}

ASK_TEST(an_idempotent_action_without_a_result_is_made_again)
{
    struct rondo_error err = {0};
    struct rondo_action again = action;
    again.is_idempotent = true;
    struct rondo_loop *loop = begin(*state);
    ask(loop, &again);
    assert_int_equal(decide(*state, true, NULL, &err), 0);
    assert_int_equal(ask(loop, &again).permission, RONDO_PERMITTED);
    loop = resume(*state, loop);
    struct rondo_answer answer = ask(loop, &again);
    assert_int_equal(answer.permission, RONDO_PERMITTED);
    assert_int_equal(rondo_loop_acted(loop, &answer, NULL, &err), 0);
    loop = resume(*state, loop);
    assert_int_equal(ask(loop, &again).permission, RONDO_DONE_BEFORE);
    end(loop);
}

ASK_TEST(other_arguments_are_another_action)
{
    struct rondo_error err = {0};
    struct rondo_action other = action;
    other.arguments_json = "{\"to\":\"ben\"}";
    struct rondo_loop *loop = begin(*state);
    ask(loop, &action);
    assert_int_equal(decide(*state, true, NULL, &err), 0);
    assert_int_equal(ask(loop, &other).permission, RONDO_UNDECIDED);
    end(loop);
}

ASK_TEST(the_process_that_asks_cannot_decide)
{
    struct scratch *scratch = *state;
    struct rondo_error err = {0};
    struct rondo_loop *loop = begin(scratch);
    struct rondo_answer answer = ask(loop, &action);
    struct rondo_decision decision = {
        .request_id = answer.request_id, .is_approved = true, .action_digest = "sha256:0"};
    assert_int_equal(rondo_decide(scratch->rondo, &decision, &err), RONDO_ERR_DENIED);
    assert_int_equal(look(scratch).count, 1);
    end(loop);
}

ASK_TEST(a_decision_is_about_the_action_that_was_seen)
{
    struct scratch *scratch = *state;
    struct rondo_error err = {0};
    struct rondo_loop *loop = begin(scratch);
    struct rondo_answer answer = ask(loop, &action);
    struct rondo *person = rondo_open(&(struct rondo_options){.store = scratch->store}, &err);
    struct rondo_decision decision = {
        .request_id = answer.request_id,
        .is_approved = true,
        .action_digest = "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0"};
    assert_int_equal(rondo_decide(person, &decision, &err), RONDO_ERR_STATE);
    rondo_close(person);
    end(loop);
}

ASK_TEST(nobody_waits_longer_than_wanted)
{
    struct rondo_error err = {0};
    struct rondo_answer answer;
    struct rondo_loop *loop = begin(*state);
    assert_int_equal(rondo_loop_ask(loop, &action, 150 * MS, &answer, &err), 0);
    assert_int_equal(answer.permission, RONDO_UNDECIDED);
    end(loop);
}

ASK_TEST(what_makes_no_sense_is_refused)
{
    struct rondo_error err = {0};
    struct rondo_answer answer;
    struct rondo_action wrong = action;
    struct rondo_loop *loop = begin(*state);
    wrong.arguments_json = "{\"a\":1,\"a\":2}";
    assert_int_equal(rondo_loop_ask(loop, &wrong, 0, &answer, &err), RONDO_ERR_INVALID);
    wrong.arguments_json = "[]";
    assert_int_equal(rondo_loop_ask(loop, &wrong, 0, &answer, &err), RONDO_ERR_INVALID);
    wrong = (struct rondo_action){.tool = ""};
    assert_int_equal(rondo_loop_ask(loop, &wrong, 0, &answer, &err), RONDO_ERR_INVALID);
    end(loop);
}
