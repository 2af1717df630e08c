// SPDX-License-Identifier: Apache-2.0
/* The outbox of an agent over HTTP. */
#include "handoff/wire/outbox.h"

#include "server/api/agents/agents.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** The agent of the path and the process that asks. @return false: the answer is a problem */
static bool read_consumer(struct call *call, struct outbox_consumer *ret_consumer)
{
    ret_consumer->agent_id = call_value(call, "agent");
    ret_consumer->now_ns = agents_now(call);
    return agents_name(call, "consumer", &ret_consumer->name) &&
           agents_covers(call, ret_consumer->agent_id);
}

/** One for each message that was given, or for an outbox that gave none. */
static void count_attempts(const struct call *call, const char *result, double number)
{
    const char *labels[] = {"outbox", result};
    agents_count(call, "relaytrace_delivery_attempts_total", labels, number);
}

static void answer_outcome(struct call *call, enum outbox_outcome outcome, int64_t until_ns)
{
    switch (outcome) {
    case OUTBOX_DONE: {
        struct json_writer writer = call_json(call, 200);
        json_begin_object(&writer, NULL);
        json_write_bool(&writer, "is_done", true);
        json_end_object(&writer);
        return;
    }
    case OUTBOX_HELD: {
        int64_t left_ns = until_ns - agents_now(call);
        call->retry_after_s = left_ns > 0 ? (unsigned)(left_ns / NS_PER_S) + 1 : 1;
        call_refuse(call, PROBLEM_CONFLICT, "outbox_held",
                    "another process of the agent holds the outbox");
        return;
    }
    case OUTBOX_NOT_YOURS:
        call_refuse(call, PROBLEM_FORBIDDEN, "not_yours",
                    "another process of the agent got this message");
        return;
    case OUTBOX_UNKNOWN:
        call_refuse(call, PROBLEM_CONFLICT, "not_delivered",
                    "this message was not delivered, or others come before it");
        return;
    }
}

static size_t count_messages(const struct buf *list)
{
    auto_json struct json_object *messages = NULL;
    (void)json_parse(list->data, list->len, &messages, NULL);
    return json_length(messages);
}

void handle_pull_outbox(struct call *call)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct outbox_consumer consumer;
    enum outbox_outcome outcome = OUTBOX_DONE;
    struct rondo_error err = {0};
    auto_buf struct buf list = {0};
    int64_t until_ns = 0;
    int64_t limit = json_get_int(call->body, "limit", OUTBOX_MOST_MESSAGES);
    if (!call_check_members(call, call->body, "", "consumer,limit") ||
        !read_consumer(call, &consumer)) {
        return;
    }
    if (limit < 1 || limit > OUTBOX_MOST_MESSAGES) {
        call_problem(call, PROBLEM_INVALID, "limit must be from 1 to %d", OUTBOX_MOST_MESSAGES);
        return;
    }
    int r = outbox_pull(&handoffs, &consumer, (size_t)limit, &list, &outcome, &until_ns, &err);
    if (r < 0) {
        call_error(call, &err);
    } else if (outcome != OUTBOX_DONE) {
        count_attempts(call, "held", 1);
        answer_outcome(call, outcome, until_ns);
    } else {
        count_attempts(call, "given", (double)count_messages(&list));
        struct json_writer writer = call_json(call, 200);
        json_begin_object(&writer, NULL);
        json_write_raw(&writer, "messages", buf_string(&list));
        json_write_time(&writer, "lease_until", until_ns);
        json_end_object(&writer);
    }
}

/** The message that a body names. @return 0 = the answer is a problem */
static uint64_t read_seq(struct call *call)
{
    int64_t seq = json_get_int(call->body, "seq", 0);
    if (seq < 1) {
        call_problem(call, PROBLEM_INVALID, "seq must be that of a message");
    }
    return seq < 1 ? 0 : (uint64_t)seq;
}

void handle_ack_outbox(struct call *call)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct outbox_consumer consumer;
    enum outbox_outcome outcome = OUTBOX_DONE;
    struct rondo_error err = {0};
    uint64_t seq = 0;
    if (!call_check_members(call, call->body, "", "consumer,seq") ||
        !read_consumer(call, &consumer) || (seq = read_seq(call)) == 0) {
        return;
    }
    if (outbox_acknowledge(&handoffs, &consumer, seq, &outcome, &err) < 0) {
        call_error(call, &err);
    } else {
        count_attempts(call, "acknowledged", outcome == OUTBOX_DONE ? 1 : 0);
        answer_outcome(call, outcome, 0);
    }
}

void handle_nack_outbox(struct call *call)
{
    struct handoff_store handoffs = call_handoffs(call);
    struct outbox_consumer consumer;
    enum outbox_outcome outcome = OUTBOX_DONE;
    struct rondo_error err = {0};
    const char *reason = NULL;
    uint64_t seq = 0;
    if (!call_check_members(call, call->body, "", "consumer,seq,reason") ||
        !read_consumer(call, &consumer) || !call_member_text(call, "reason", false, &reason) ||
        (seq = read_seq(call)) == 0) {
        return;
    }
    if (reason != NULL && strlen(reason) > 1024) {
        call_problem(call, PROBLEM_INVALID, "reason has more than 1024 bytes");
    } else if (outbox_refuse(&handoffs, &consumer, seq, reason, &outcome, &err) < 0) {
        call_error(call, &err);
    } else {
        count_attempts(call, "refused", outcome == OUTBOX_DONE ? 1 : 0);
        answer_outcome(call, outcome, 0);
    }
}
