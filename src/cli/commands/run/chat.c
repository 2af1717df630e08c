// SPDX-License-Identifier: Apache-2.0
/*
 * Each line that the user enters is one iteration. While the agent works, its tools and the end of
 * its text are shown as in any run; the answer goes to stdout. Ctrl-C during an answer ends the
 * answer, at the prompt the conversation; what was committed stays, and a resume continues it.
 */
#include "cli/commands/run/chat.h"

#include "agent/memory/sessions.h"
#include "alert/result.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands/run/run_execute.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/signals.h"
#include "cli/framework/telemetry_hook.h"
#include "cli/terminal/line_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct chat {
    struct session *session;
    struct loop *loop;
    const struct run_values *values;
    struct run_agent *agent;
    uint64_t shown; /* last event that was shown or is not to be */
};

/** One line of the person and its answer. @return enum loop_turn or a negative code */
static int answer_until(struct chat *chat, const char *words, struct cancel *interrupt,
                        struct rondo_error *err)
{
    struct display *display =
        run_display_start(chat->session, chat->loop, chat->values, chat->shown);
    int turn = loop_next_unpaused(chat->loop, err);
    if (turn == LOOP_BODY) {
        int r = run_agent_answer(chat->agent, display, words, interrupt, err);
        turn = r < 0 ? r : turn;
    }
    display_finish(display);
    chat->shown = loop_state(chat->loop)->seq;
    if (turn == LOOP_BODY && !cancel_is_set(loop_cancel(chat->loop)) &&
        run_agent_has_words(chat->agent)) {
        run_answer_print(run_agent_words(chat->agent), chat->values);
    }
    if (turn == LOOP_BODY && run_agent_failure(chat->agent) != NULL) {
        report_failure(EXIT_OTHER, "%s", run_agent_failure(chat->agent));
    }
    return turn;
}

/** @return enum loop_turn or a negative code */
static int run_answer(struct chat *chat, const char *words, struct rondo_error *err)
{
    struct cancel interrupt = {0};
    int r = cancel_init(&interrupt, err);
    if (r < 0) {
        return r;
    }
    signals_answering(&interrupt);
    int turn = answer_until(chat, words, &interrupt, err);
    signals_answering(NULL);
    cancel_fini(&interrupt);
    return turn;
}

/** Words that were given with the command line come first. */
static enum line_result next_words(struct chat *chat, struct line_input *input, bool is_first,
                                   struct buf *ret_words)
{
    const char *prompt = loop_spec(chat->loop)->prompt;
    buf_clear(ret_words);
    if (is_first && prompt != NULL && loop_state(chat->loop)->finished == 0) {
        buf_append_string(ret_words, prompt);
        return LINE_WORDS;
    }
    const struct clock *clock = runtime_clock(chat->session->runtime);
    int64_t begin_ns = clock_monotonic(clock);
    enum line_result said = line_input_read(input, "> ", loop_cancel(chat->loop), ret_words);
    if (said == LINE_WORDS) {
        run_agent_note_wait(chat->agent, clock_monotonic(clock) - begin_ns);
    }
    return said;
}

/** @return enum loop_turn or a negative code; LOOP_BODY = the person has nothing more to say */
static int talk(struct chat *chat, struct line_input *input, struct rondo_error *err)
{
    auto_buf struct buf words = {0};
    if (run_agent_is_cut_off(chat->agent)) {
        int turn = run_answer(chat, NULL, err); /* of the words that are in the journal */
        if (turn != LOOP_BODY) {
            return turn;
        }
    }
    for (bool is_first = true;; is_first = false) {
        enum line_result said = next_words(chat, input, is_first, &words);
        if (said == LINE_TOO_LONG) {
            report_warning("the input is too long and was not sent");
            continue;
        }
        if (said != LINE_WORDS) {
            return LOOP_BODY;
        }
        int turn = run_answer(chat, buf_string(&words), err);
        if (turn != LOOP_BODY) {
            return turn;
        }
    }
}

/** After a conversation was left: its agent keeps open as many as its role says. */
static void end_older(const struct chat *chat, const char *agent_id, uint64_t keep)
{
    struct sessions_ended ended;
    struct rondo_error err = {0};
    if (sessions_end_older(chat->session->runtime, agent_id, keep, &ended, &err) < 0) {
        report_warning("an older conversation was not ended: %s", err.message);
    }
    if (ended.count > 0 && !chat->values->wants_quiet && !chat->values->wants_json) {
        auto_buf struct buf hint = {0};
        session_hint(chat->session, "resume", ended.last, &hint);
        fprintf(stderr,
                "max_sessions: %" PRIu64 " older conversation%s of %s ended; `%s` opens %s\n",
                ended.count, ended.count == 1 ? "" : "s", agent_id, buf_string(&hint),
                ended.count == 1 ? "it again" : "the newest of them again");
    }
}

static int finish(struct chat *chat, int turn, struct rondo_error *err)
{
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(chat->loop), sizeof(run_id));
    if (turn == LOOP_ENDED) {
        bool has_sinks = result_is_wanted(loop_spec(chat->loop)->agent);
        loop_free(chat->loop);
        if (has_sinks) {
            run_results_send(chat->session, run_id, chat->agent);
        }
        return run_summary_print(chat->session, run_id, 0, chat->values, chat->agent);
    }
    auto_free char *agent_id = memory_dup_string(loop_spec(chat->loop)->agent_id);
    uint64_t keep = sessions_kept(loop_spec(chat->loop));
    int r = turn < 0 ? turn : loop_park(chat->loop, err);
    loop_free(chat->loop);
    if (r < 0) {
        return report_error_as(err, chat->values->wants_json != 0);
    }
    if (keep > 0) {
        end_older(chat, agent_id, keep);
    }
    if (chat->values->wants_json) {
        run_summary_print(chat->session, run_id, 0, chat->values, chat->agent);
        return EXIT_OK;
    }
    auto_buf struct buf hint = {0};
    session_hint(chat->session, "resume", run_id, &hint);
    if (!chat->values->wants_quiet) {
        fprintf(stderr, "resume with `%s`\n", buf_string(&hint));
    }
    return EXIT_OK;
}

int chat_execute(struct session *session, struct loop *loop, const struct run_values *values,
                 uint64_t after, struct run_agent *agent)
{
    char run_id[ID_SIZE];
    memcpy(run_id, loop_run_id(loop), sizeof(run_id));
    struct telemetry_hook *telemetry = telemetry_hook_start(session, loop, after);
    struct chat chat = {
        .session = session,
        .loop = loop,
        .values = values,
        .agent = agent,
        .shown = loop_state(loop)->seq,
    };
    struct line_input input;
    struct rondo_error err = {0};
    line_input_init(&input, STDIN_FILENO, stderr, values->no_colour != 0);
    signals_begin(loop);
    int turn = run_agent_attach(agent, loop, &err);
    if (turn == 0) {
        turn = talk(&chat, &input, &err);
    }
    signals_end();
    line_input_fini(&input);
    int exit_code = finish(&chat, turn, &err);
    telemetry_hook_stop(telemetry);
    return exit_code;
}
