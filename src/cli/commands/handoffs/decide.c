// SPDX-License-Identifier: Apache-2.0
/*
 * What people do with calls that wait: `rondo approve`, `reject`, `reroute`, `ask`, `claim`,
 * `release` and `escalate`.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/line_input.h"
#include "handoff/desks/desks.h"
#include "handoff/inbox/inbox.h"
#include "handoff/storage/clock.h"
#include "server/auth/token.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Digits of the action's digest that a person types to approve a critical one. */
#define CONFIRM_DIGITS 6
/** Of "sha256:". */
#define DIGEST_PREFIX 7

struct decide_values {
    char *store;
    char *comment;
    char *constraints;
    int64_t wants_json;
    int64_t no_colour;
};

#define OPTION_ROW_COMMENT(what)                                                             \
    {                                                                                        \
        .name = "message", .letter = 'm', .kind = OPTION_TEXT,                               \
        .offset = offsetof(struct decide_values, comment), .argument = "TEXT", .help = what, \
        .group = "Decision"                                                                  \
    }

#define DECIDE_OPTIONS                                             \
    OPTION_ROW_STORE(struct decide_values),                        \
        OPTION_ROW_JSON(struct decide_values, "As a JSON object"), \
        OPTION_ROW_NO_COLOUR(struct decide_values),                \
    {                                                              \
        0                                                          \
    }

const struct option_row approve_options[] = {
    OPTION_ROW_COMMENT("A comment, which is kept"),
    {.name = "constraints",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct decide_values, constraints),
     .argument = "JSON",
     .help = "What the agent must keep to: a JSON array",
     .group = "Decision"},
    DECIDE_OPTIONS,
};
const struct option_row reject_options[] = {
    OPTION_ROW_COMMENT("Why not: the agent is told"),
    DECIDE_OPTIONS,
};
const struct option_row comment_options[] = {
    OPTION_ROW_COMMENT("A comment, which is kept"),
    DECIDE_OPTIONS,
};

/** What is decided, and with what. */
struct deciding_command {
    const struct decide_values *values;
    enum handoff_command_kind kind;
    const char *target;
    char **questions;
    size_t question_count;
};

/* ---- Before --------------------------------------------------------------------------------- */

/** Its run has ended: nobody needs to decide any more. */
static int refuse_ended(const struct handoff_store *handoffs, const struct handoff *handoff,
                        struct rondo_error *err)
{
    inbox_cancel_ended(handoffs, handoff_now(handoffs));
    return error_set(err, RONDO_ERR_STATE, "run %s has ended, and handoff %s is cancelled with it",
                     handoff->lane_id, handoff->request_id);
}

/** A target that nothing resolves would come back, and be escalated: a typing error must not. */
static int check_target(const struct handoff_store *handoffs, const char *target,
                        struct rondo_error *err)
{
    char desk[HANDOFF_NAME_SIZE];
    if (target == NULL || desks_resolve(handoffs->desks, target, desk)) {
        return 0;
    }
    return error_set(err, RONDO_ERR_INVALID,
                     "there is no desk, role or person \"%.100s\"; `rondo desks show` lists them",
                     target);
}

/** At a terminal a critical action is approved by typing the beginning of its digest. */
static int confirm_critical(const struct deciding_command *command, const struct handoff *handoff,
                            struct rondo_error *err)
{
    struct line_input input;
    char prompt[160];
    auto_buf struct buf typed = {0};
    const char *digest = handoff->action_digest + DIGEST_PREFIX;
    if (command->kind != HANDOFF_APPROVE || handoff->risk != HANDOFF_CRITICAL) {
        return 0;
    }
    line_input_init(&input, STDIN_FILENO, stderr, command->values->no_colour != 0);
    bool can_ask = line_input_can_ask(&input);
    snprintf(prompt, sizeof(prompt),
             "This action is critical. Type %.*s to approve it: ", CONFIRM_DIGITS, digest);
    bool is_read = can_ask && line_input_field(&input, prompt, NULL, &typed) == LINE_WORDS;
    line_input_fini(&input);
    bool is_confirmed =
        is_read && typed.len == CONFIRM_DIGITS && strncmp(typed.data, digest, CONFIRM_DIGITS) == 0;
    return is_confirmed || !can_ask
               ? 0
               : error_set(err, RONDO_ERR_CANCELLED, "handoff %s was not approved: not confirmed",
                           handoff->request_id);
}

/* ---- Deciding ------------------------------------------------------------------------------- */

/** Who has tokens of the agent is the agent. */
static bool is_of_agent(const struct handoff_store *handoffs, const struct handoff *handoff,
                        const char *by)
{
    return token_is_of_agent(handoffs->store, by, handoff->agent_id, handoff->parent_id);
}

static int carry_out(const struct handoff_store *handoffs, const struct deciding_command *command,
                     const struct handoff *handoff, struct inbox_result *ret_result,
                     struct rondo_error *err)
{
    char by[HANDOFF_NAME_SIZE];
    auto_buf struct buf text = {0};
    inbox_user(by);
    struct inbox_decision decision = {
        .kind = command->kind,
        .by = by,
        .is_admin = true, /* who can write the store */
        .is_requester = is_of_agent(handoffs, handoff, by),
        .comment = command->values->comment,
        .questions = (const char *const *)command->questions,
        .question_count = command->question_count,
        .target = command->target,
        .constraints = command->values->constraints,
        .revision = handoff->revision,
        .action_digest = handoff->action_digest,
    };
    int r = inbox_decide(handoffs, handoff->request_id, &decision, handoff_now(handoffs),
                         ret_result, err);
    if (r == 0) {
        inbox_explain(&ret_result->result, &text);
    }
    bool is_undone = r == 0 && text.len > 0 && ret_result->result.outcome != HANDOFF_PARTIAL;
    return is_undone ? error_set(err, RONDO_ERR_STATE, "handoff %s was not changed: %s",
                                 handoff->request_id, buf_string(&text))
                     : r;
}

static int decide_in(const struct handoff_store *handoffs, const struct deciding_command *command,
                     const char *id, struct inbox_result *ret_result, struct rondo_error *err)
{
    struct handoff handoff;
    int r = inbox_find(handoffs, id, &handoff, err);
    if (r == 0 && handoff_is_waiting(&handoff) && !inbox_has_run(handoffs, &handoff)) {
        r = refuse_ended(handoffs, &handoff, err);
    }
    r = r < 0 ? r : check_target(handoffs, command->target, err);
    r = r < 0 ? r : confirm_critical(command, &handoff, err);
    return r < 0 ? r : carry_out(handoffs, command, &handoff, ret_result, err);
}

static void print_decision(struct session *session, const struct decide_values *values,
                           const struct handoff_result *result)
{
    auto_buf struct buf text = {0};
    auto_buf struct buf hint = {0};
    const struct handoff *handoff = &result->handoff;
    inbox_explain(result, &text);
    if (values->wants_json) {
        auto_buf struct buf json = {0};
        struct json_writer writer = json_writer(&json);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "request_id", handoff->request_id);
        json_write_string(&writer, "state", handoff_state_name(handoff->state));
        json_write_string(&writer, "run_id", handoff_run_id(handoff));
        json_write_string(&writer, "desk",
                          handoff->desk_count == 0 ? NULL
                                                   : handoff->desks[handoff->desk_count - 1]);
        json_end_object(&writer);
        printf("%s\n", buf_string(&json));
        return;
    }
    const char *run_id = handoff_run_id(handoff);
    session_hint(session, "resume", run_id == NULL ? "" : run_id, &hint);
    fprintf(stderr, "%s: %s%s%s\n", handoff->request_id, handoff_state_name(handoff->state),
            text.len > 0 ? ". " : "", buf_string(&text));
    if (!handoff_is_waiting(handoff) && run_id != NULL) {
        fprintf(stderr, "a server that has the run continues it; else: %s\n", buf_string(&hint));
    }
}

static int run_decide(struct deciding_command *command, const char *id)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = command->values->store};
    struct inbox_result result;
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        struct handoff_store handoffs = session_handoffs(&session);
        r = decide_in(&handoffs, command, id, &result, &err);
        if (r == 0) {
            print_decision(&session, command->values, &result.result);
        }
        session_close(&session);
    }
    return r < 0 ? report_error_as(&err, command->values->wants_json != 0) : EXIT_OK;
}

/** @param least, most number of arguments, the id included */
static int decide(const struct invocation *invocation, const struct option_row *rows,
                  enum handoff_command_kind kind, int least, int most)
{
    struct decide_values values = {0};
    struct option_set set = {.rows = rows, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, least, most);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        struct deciding_command command = {
            .values = &values,
            .kind = kind,
            .target = kind == HANDOFF_REROUTE ? parsed.argv[1] : NULL,
            .questions = kind == HANDOFF_ASK ? parsed.argv + 1 : NULL,
            .question_count = kind == HANDOFF_ASK ? (size_t)parsed.argc - 1 : 0,
        };
        exit_code = run_decide(&command, parsed.argv[0]);
    }
    option_set_fini(&set);
    return exit_code;
}

int cmd_approve(const struct invocation *invocation)
{
    return decide(invocation, approve_options, HANDOFF_APPROVE, 1, 1);
}

int cmd_reject(const struct invocation *invocation)
{
    return decide(invocation, reject_options, HANDOFF_REJECT, 1, 1);
}

int cmd_reroute(const struct invocation *invocation)
{
    return decide(invocation, comment_options, HANDOFF_REROUTE, 2, 2);
}

int cmd_ask(const struct invocation *invocation)
{
    return decide(invocation, comment_options, HANDOFF_ASK, 2, 1 + LIMIT_HANDOFF_QUESTIONS);
}

int cmd_claim(const struct invocation *invocation)
{
    return decide(invocation, comment_options, HANDOFF_CLAIM, 1, 1);
}

int cmd_release(const struct invocation *invocation)
{
    return decide(invocation, comment_options, HANDOFF_RELEASE, 1, 1);
}

int cmd_escalate(const struct invocation *invocation)
{
    return decide(invocation, comment_options, HANDOFF_ESCALATE, 1, 1);
}
