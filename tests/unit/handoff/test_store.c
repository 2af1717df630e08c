// SPDX-License-Identifier: Apache-2.0
/* Handoffs in the store: one transaction each, with others at work there, and whatever fails. */
#include "handoff/storage/chain.h"
#include "handoff/storage/store.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "support/store/fault.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE (60 * NS_PER_S)
#define HOUR   (60 * MINUTE)
#define BEGIN  (1800000000 * NS_PER_S)
#define ID     "e6a19e20-f630-5f7a-91bd-71be0c3eae0d"

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";
static const char body_digest[] =
    "sha256:d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3";

struct handoff_fixture {
    struct store *memory;
    struct store *store; /* the same, failing as planned */
    struct handoff_store handoffs;
    enum store_fault next_fault; /* of the next change of documents */
    unsigned reads_to_twin; /* the same request is accepted elsewhere before this read; 0 = never */
};

static struct handoff_request request_of(const char *id)
{
    return (struct handoff_request){.request_id = id,
                                    .agent_id = "agent",
                                    .lane_id = "lane",
                                    .action_digest = action,
                                    .body_digest = body_digest,
                                    .risk = HANDOFF_MEDIUM,
                                    .priority = HANDOFF_MEDIUM};
}

static void submit_twin(struct handoff_fixture *fixture)
{
    struct handoff_store beside = {.store = fixture->memory, .rules = &handoff_default_rules};
    struct handoff_request request = request_of(ID);
    struct handoff_result result;
    assert_int_equal(handoff_submit(&beside, &request, "{}", BEGIN, &result, NULL), 0);
    assert_int_equal(result.outcome, HANDOFF_DONE);
}

static enum store_fault decide(void *context, const char *operation, uint64_t call, int *ret_code)
{
    (void)call;
    (void)ret_code;
    struct handoff_fixture *fixture = context;
    enum store_fault fault =
        strcmp(operation, "change_documents") == 0 ? fixture->next_fault : STORE_FAULT_NONE;
    if (strcmp(operation, "read_documents") == 0 && fixture->reads_to_twin > 0 &&
        --fixture->reads_to_twin == 0) {
        submit_twin(fixture);
    }
    if (fault != STORE_FAULT_NONE) {
        fixture->next_fault = STORE_FAULT_NONE;
    }
    return fault;
}

static int set_up(void **state)
{
    struct handoff_fixture *fixture = calloc(1, sizeof(*fixture));
    struct store_fault_plan plan = {.decide = decide, .context = fixture};
    fixture->memory = store_memory_new(NULL);
    fixture->store = store_fault_new(fixture->memory, &plan);
    fixture->handoffs =
        (struct handoff_store){.store = fixture->store, .rules = &handoff_default_rules};
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct handoff_fixture *fixture = *state;
    store_close(fixture->store);
    store_close(fixture->memory);
    free(fixture);
    return 0;
}

#define TEST_IN_STORE(name) TEST_WITH(name, set_up, tear_down)

static int submit(struct handoff_fixture *fixture, struct handoff_request request,
                  struct handoff_result *ret_result)
{
    return handoff_submit(&fixture->handoffs, &request, "{\"event_type\":\"handoff.requested\"}",
                          BEGIN, ret_result, NULL);
}

static struct handoff_command command_of(enum handoff_command_kind kind, const char *who)
{
    return (struct handoff_command){.kind = kind,
                                    .actor = {.id = who, .is_assignee = true, .may_decide = true},
                                    .consumer = "process-1",
                                    .revision = 1,
                                    .action_digest = action,
                                    .text_digest = body_digest,
                                    .has_text = true,
                                    .desk = "desk-1",
                                    .is_allowed = true};
}

static enum handoff_outcome act(struct handoff_fixture *fixture, const char *id,
                                enum handoff_command_kind kind, const char *who)
{
    struct handoff_command command = command_of(kind, who);
    struct handoff_note note = {.role = "sec-lead", .details = "{\"comment\":\"looked at it\"}"};
    struct handoff_result result;
    assert_int_equal(
        handoff_act(&fixture->handoffs, id, &command, &note, BEGIN + NS_PER_S, &result, NULL), 0);
    return result.outcome;
}

static void submit_and_route(struct handoff_fixture *fixture, const char *id)
{
    struct handoff_result result;
    assert_int_equal(submit(fixture, request_of(id), &result), 0);
    assert_int_equal(act(fixture, id, HANDOFF_ROUTE, "router"), HANDOFF_DONE);
}

static bool append_document(const struct store_document *document, void *context)
{
    buf_printf(context, "%s %s\n", document->key, document->data);
    return true;
}

/** All documents of a collection, a line each. */
static void read_all(struct handoff_fixture *fixture, const char *collection, struct buf *ret_text)
{
    struct store_document_query query = {.collection = collection};
    assert_int_equal(fixture->memory->ops->read_documents(fixture->memory, &query, append_document,
                                                          ret_text, NULL),
                     0);
}

static void assert_in(struct handoff_fixture *fixture, const char *collection, const char *part)
{
    auto_buf struct buf text = {0};
    read_all(fixture, collection, &text);
    if (strstr(buf_string(&text), part) == NULL) {
        fail_msg("no %s in %s: %s", part, collection, buf_string(&text));
    }
}

static uint64_t verify(struct handoff_fixture *fixture, int expected)
{
    static const struct audit_keys keys = {0};
    struct audit_report report = {0};
    struct rondo_error err = {0};
    assert_int_equal(audit_chain_verify(fixture->handoffs.store, &keys, NULL, &report, &err),
                     expected);
    return report.size;
}

TEST_IN_STORE(a_request_is_accepted_once)
{
    struct handoff_fixture *fixture = *state;
    struct handoff_result result;
    assert_int_equal(submit(fixture, request_of(ID), &result), 0);
    assert_int_equal(result.outcome, HANDOFF_DONE);
    assert_int_equal(submit(fixture, request_of(ID), &result), 0);
    assert_int_equal(result.outcome, HANDOFF_REPEATED);
    assert_int_equal(result.handoff.version, 1);
    struct handoff_request request = request_of(ID);
    request.body_digest = action;
    assert_int_equal(submit(fixture, request, &result), 0);
    assert_int_equal(result.outcome, HANDOFF_OTHER_ACTION);
    request = request_of(ID);
    request.agent_id = "stranger";
    assert_int_equal(submit(fixture, request, &result), 0);
    assert_int_equal(result.outcome, HANDOFF_NOT_YOURS);
    assert_int_equal(verify(fixture, 0), 1);
    assert_in(fixture, HANDOFF_BODY_COLLECTION, ID "/0000000001 {\"event_type\"");
}

TEST_IN_STORE(a_decision_is_recorded_and_the_agent_is_told)
{
    struct handoff_fixture *fixture = *state;
    submit_and_route(fixture, ID);
    assert_int_equal(act(fixture, ID, HANDOFF_APPROVE, "olga"), HANDOFF_DONE);
    assert_int_equal(verify(fixture, 0), 3);
    assert_in(fixture, AUDIT_COLLECTION, "\"kind\":\"handoff.approved\"");
    assert_in(fixture, AUDIT_COLLECTION, "\"actor\":\"olga\",\"role\":\"sec-lead\"");
    assert_in(fixture, AUDIT_COLLECTION, "looked at it");
    assert_in(fixture, HANDOFF_OUTBOX_COLLECTION, "agent/00000000000000000003 {");
}

TEST_IN_STORE(what_is_refused_leaves_no_trace)
{
    struct handoff_fixture *fixture = *state;
    submit_and_route(fixture, ID);
    assert_int_equal(act(fixture, ID, HANDOFF_APPROVE, "agent"), HANDOFF_SELF_APPROVAL);
    assert_int_equal(act(fixture, ID, HANDOFF_TAKE, "agent"), HANDOFF_NO_APPLICATION);
    assert_int_equal(verify(fixture, 0), 2);
}

TEST_IN_STORE(time_is_recorded_as_nobodys_act)
{
    struct handoff_fixture *fixture = *state;
    struct handoff_result result;
    submit_and_route(fixture, ID);
    assert_int_equal(handoff_wake(&fixture->handoffs, ID, BEGIN + HOUR, &result, NULL), 0);
    assert_int_equal(result.outcome, HANDOFF_REPEATED);
    assert_int_equal(handoff_wake(&fixture->handoffs, ID, BEGIN + 48 * HOUR, &result, NULL), 0);
    assert_int_equal(result.outcome, HANDOFF_DONE);
    assert_int_equal(result.handoff.state, HANDOFF_EXPIRED);
    assert_in(fixture, AUDIT_COLLECTION, "\"actor\":\"system:time\"");
    assert_in(fixture, HANDOFF_OUTBOX_COLLECTION, "handoff.expired");
    assert_int_equal(handoff_read(&fixture->handoffs, ID, &result.handoff, NULL), 0);
    assert_int_equal(result.handoff.state, HANDOFF_EXPIRED);
}

TEST_IN_STORE(what_does_not_exist_is_not_found)
{
    struct handoff_fixture *fixture = *state;
    struct handoff_result result;
    struct handoff_command command = command_of(HANDOFF_APPROVE, "olga");
    struct rondo_error err;
    assert_int_equal(handoff_act(&fixture->handoffs, ID, &command, NULL, BEGIN, &result, &err),
                     RONDO_ERR_NOT_FOUND);
    assert_int_equal(handoff_read(&fixture->handoffs, ID, &result.handoff, &err),
                     RONDO_ERR_NOT_FOUND);
}

/** Each step fails before its commit, then after it with the answer lost; it is made again. */
TEST_IN_STORE(a_lost_answer_is_found_by_asking_again)
{
    struct handoff_fixture *fixture = *state;
    static const enum handoff_command_kind kinds[] = {HANDOFF_ROUTE, HANDOFF_APPROVE, HANDOFF_TAKE,
                                                      HANDOFF_START, HANDOFF_FINISH};
    struct handoff_result result;
    for (enum store_fault fault = STORE_FAULT_BEFORE; fault <= STORE_FAULT_AFTER; fault++) {
        const char *id = fault == STORE_FAULT_BEFORE ? ID : "7fce3aab-96f4-5117-817f-3579469c578b";
        bool is_lost = fault == STORE_FAULT_AFTER;
        struct rondo_error err;
        fixture->next_fault = fault;
        assert_int_equal(submit(fixture, request_of(id), &result), RONDO_ERR_IO);
        assert_int_equal(submit(fixture, request_of(id), &result), 0);
        assert_int_equal(result.outcome, is_lost ? HANDOFF_REPEATED : HANDOFF_DONE);
        for (size_t i = 0; i < COUNT(kinds); i++) {
            const char *who = i == 0 ? "router" : i == 1 ? "olga" : "agent";
            struct handoff_command command = command_of(kinds[i], who);
            fixture->next_fault = fault;
            assert_int_equal(
                handoff_act(&fixture->handoffs, id, &command, NULL, BEGIN, &result, &err),
                RONDO_ERR_IO);
            assert_int_equal(act(fixture, id, kinds[i], who),
                             is_lost ? HANDOFF_REPEATED : HANDOFF_DONE);
        }
    }
    assert_int_equal(verify(fixture, 0), 12);
}

TEST_IN_STORE(a_request_that_took_the_last_place_itself_is_not_told_that_all_is_full)
{
    static const struct handoff_bounds one = {.per_lane = 1, .per_agent = 9, .per_store = 9};
    struct handoff_fixture *fixture = *state;
    struct handoff_result result = {0};
    fixture->handoffs.bounds = &one;
    fixture->reads_to_twin = 3; /* The record was looked for, the places were not. */
    assert_int_equal(submit(fixture, request_of(ID), &result), 0);
    assert_int_equal(result.outcome, HANDOFF_REPEATED);
}

TEST_IN_STORE(a_request_may_be_as_long_as_the_limit)
{
    struct handoff_fixture *fixture = *state;
    struct handoff_request request = request_of(ID);
    struct handoff_result result;
    struct rondo_error err;
    auto_buf struct buf body = {0};
    buf_append_string(&body, "{\"a\":\"");
    while (body.len < LIMIT_HANDOFF_BODY_BYTES - 1) {
        buf_append(&body, "x", 1);
    }
    buf_append_string(&body, "\"}");
    assert_int_equal(
        handoff_submit(&fixture->handoffs, &request, buf_string(&body), BEGIN, &result, &err),
        RONDO_ERR_LIMIT);
    memcpy(body.data + body.len - 3, "\"}", 3);
    assert_int_equal(
        handoff_submit(&fixture->handoffs, &request, buf_string(&body), BEGIN, &result, &err), 0);
    assert_int_equal(
        handoff_submit(&fixture->handoffs, &request, "{\"a\":1,\"a\":2}", BEGIN, &result, &err),
        RONDO_ERR_INVALID);
}

/* ---- The chain in the store ----------------------------------------------------------------- */

static void change(struct handoff_fixture *fixture, enum store_change_kind kind,
                   const char *collection, const char *key, const char *data)
{
    bool is_applied = false;
    struct store_change item = {.kind = kind,
                                .collection = collection,
                                .key = key,
                                .data = data,
                                .data_len = data == NULL ? 0 : strlen(data),
                                .if_version = STORE_ANY_VERSION};
    assert_int_equal(
        fixture->memory->ops->change_documents(fixture->memory, &item, 1, &is_applied, NULL), 0);
}

TEST_IN_STORE(entries_that_were_cut_off_are_missed)
{
    struct handoff_fixture *fixture = *state;
    submit_and_route(fixture, ID);
    change(fixture, STORE_DELETE, AUDIT_COLLECTION, "00000000000000000002", NULL);
    assert_int_equal(verify(fixture, RONDO_ERR_CORRUPT), 1);
}

TEST_IN_STORE(an_entry_that_was_removed_is_missed)
{
    struct handoff_fixture *fixture = *state;
    submit_and_route(fixture, ID);
    change(fixture, STORE_DELETE, AUDIT_COLLECTION, "00000000000000000001", NULL);
    assert_int_equal(verify(fixture, RONDO_ERR_CORRUPT), 0);
}

/** Somebody who writes the last entry anew, with the right hash, does not know the head. */
TEST_IN_STORE(an_end_that_was_written_anew_is_noticed)
{
    struct handoff_fixture *fixture = *state;
    void *other_state = NULL;
    auto_buf struct buf entry = {0};
    submit_and_route(fixture, ID);
    set_up(&other_state);
    struct handoff_fixture *forger = other_state;
    struct handoff_result result;
    assert_int_equal(submit(forger, request_of(ID), &result), 0);
    struct handoff_command command = command_of(HANDOFF_ROUTE, "somebody else");
    assert_int_equal(
        handoff_act(&forger->handoffs, ID, &command, NULL, BEGIN + NS_PER_S, &result, NULL), 0);
    read_all(forger, AUDIT_COLLECTION, &entry);
    char *second = strchr(buf_string(&entry), '\n') + 1;
    second[strcspn(second, "\n")] = '\0';
    change(fixture, STORE_PUT, AUDIT_COLLECTION, "00000000000000000002", strchr(second, '{'));
    assert_int_equal(verify(fixture, RONDO_ERR_CORRUPT), 2);
    tear_down(&other_state);
}

TEST_IN_STORE(nothing_is_appended_to_a_damaged_head)
{
    struct handoff_fixture *fixture = *state;
    struct handoff_result result;
    static const char *const heads[] = {
        "{}",
        "{\"format\":1,\"size\":1,\"hash\":\"\",\"peaks\":[]}",
        "{\"format\":1,\"size\":0,\"hash\":\"\",\"peaks\":[\"00\"]}",
        "{\"format\":1,\"size\":-1,\"hash\":\"\",\"peaks\":[]}",
        "{\"format\":1,\"size\":0,\"hash\":\"x\",\"peaks\":[]}",
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        change(fixture, STORE_PUT, AUDIT_HEAD_COLLECTION, "head", heads[i]);
        assert_int_equal(submit(fixture, request_of(ID), &result), RONDO_ERR_CORRUPT);
    }
}

/* ---- Competition ---------------------------------------------------------------------------- */

#define RIVALS   4
#define HANDOFFS 25

struct rival {
    struct handoff_fixture *fixture;
    const char *name;
    unsigned wins;
    unsigned losses;
};

static void name_request(unsigned i, char *ret_id)
{
    snprintf(ret_id, ID_SIZE, "00000000-0000-5000-8000-%012u", i);
}

static void *decide_all(void *argument)
{
    struct rival *rival = argument;
    for (unsigned i = 0; i < HANDOFFS; i++) {
        char id[ID_SIZE];
        name_request(i, id);
        enum handoff_command_kind kind = i % 2 == 0 ? HANDOFF_APPROVE : HANDOFF_REJECT;
        enum handoff_outcome outcome = act(rival->fixture, id, kind, rival->name);
        rival->wins += outcome == HANDOFF_DONE ? 1 : 0;
        rival->losses += outcome == HANDOFF_DECIDED ? 1 : 0;
    }
    return NULL;
}

TEST_IN_STORE(of_many_who_decide_at_once_one_wins_and_the_others_learn_of_it)
{
    static const char *const names[RIVALS] = {"olga", "otto", "ole", "ona"};
    struct handoff_fixture *fixture = *state;
    struct rival rivals[RIVALS];
    pthread_t threads[RIVALS];
    unsigned wins = 0;
    fixture->handoffs.store = fixture->memory;
    for (unsigned i = 0; i < HANDOFFS; i++) {
        char id[ID_SIZE];
        name_request(i, id);
        submit_and_route(fixture, id);
    }
    for (size_t i = 0; i < RIVALS; i++) {
        rivals[i] = (struct rival){.fixture = fixture, .name = names[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, decide_all, &rivals[i]), 0);
    }
    for (size_t i = 0; i < RIVALS; i++) {
        pthread_join(threads[i], NULL);
        wins += rivals[i].wins;
        assert_int_equal(rivals[i].wins + rivals[i].losses, HANDOFFS);
    }
    assert_int_equal(wins, HANDOFFS);
    assert_int_equal(verify(fixture, 0), 3 * HANDOFFS);
}
