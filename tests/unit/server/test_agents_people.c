// SPDX-License-Identifier: Apache-2.0
/* Routes for foreign agents: who decides about them and how many may wait, receipts and lanes. */
#include "agents_world.h"

#include "handoff/storage/chain.h"

/* ---- Desks ---------------------------------------------------------------------------------- */

static void write_desks(const struct api_world *world, const char *lanes)
{
    auto_buf struct buf text = {0};
    buf_printf(&text,
               "format: 1\npeople: {ann: {roles: [night]}}\ndesks: {operators: {}, night: {roles: "
               "[night]}}\nrouting: [{id: fix, agent: fixer, desk: night}]\n"
               "rules: {sla: {medium: 2h}}\nlanes: %s\n",
               lanes);
    assert_int_equal(file_replace_durably(world->desks, text.data, text.len, NULL), 0);
}

SERVER_TEST(the_desk_file_routes_and_bounds_requests_of_foreign_agents)
{
    struct api_world *world = *state;
    struct handoff_store handoffs = {.store = world->store, .rules = &handoff_default_rules};
    struct handoff handoff;
    char id[ID_SIZE];
    auto_buf struct buf body = {0};
    write_desks(world, "{per_lane: 1, on_full: reject_new}");
    submit(world, "lane-a", "a", "", id);
    assert_int_equal(handoff_read(&handoffs, id, &handoff, NULL), 0);
    assert_int_equal(handoff.state, HANDOFF_ROUTED);
    assert_string_equal(handoff.desks[0], "night");
    assert_int_equal(handoff.sla_due_ns - handoff.sla_begin_ns, 7200 * NS_PER_S);
    write_request("fixer", "lane-a", "b", "", &body);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 409,
                 "queue_full");
    expect(world, "POST", "/v1/lanes", world->agent, "",
           "{\"agent_id\":\"fixer\",\"lane_id\":\"b\",\"on_full\":\"block\"}", 422);
    expect(world, "POST", "/v1/lanes", world->agent, "",
           "{\"agent_id\":\"fixer\",\"lane_id\":\"b\",\"on_full\":\"reject_new\"}", 201);
}

SERVER_TEST(another_action_takes_the_place_of_the_one_that_was_asked_about)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char path[128];
    auto_buf struct buf body = {0};
    write_desks(world, "{per_lane: 1}");
    submit(world, "lane-a", "a", "", id);
    decide_with(id, HANDOFF_ASK, runtime_handoffs(world->runtime));
    write_request("fixer", "lane-a", "b", "", &body);
    path_of(id, "resubmit", path, sizeof(path));
    expect(world, "POST", path, world->agent, "", buf_string(&body), 200);
    /* The place is taken. */
    buf_clear(&body);
    write_request("fixer", "lane-a", "c", "", &body);
    expect_error(world, "POST", "/v1/hitl/requests", world->agent, buf_string(&body), 429,
                 "queue_full");
}

/* ---- Receipts, findings, lanes --------------------------------------------------------------- */

SERVER_TEST(receipts_and_findings_are_entries_of_the_audit_chain)
{
    struct api_world *world = *state;
    struct handoff_store handoffs = {.store = world->store, .rules = &handoff_default_rules};
    struct audit_keys keys;
    struct audit_report report = {0};
    const char *token = world->agent;
    expect(world, "POST", "/v1/audit/receipts", token, "",
           "{\"agent_id\":\"fixer\",\"kind\":\"executed\",\"tool\":\"t\",\"ok\":true}", 201);
    expect(world, "POST", "/v1/findings", token, "",
           "{\"agent_id\":\"fixer\",\"class\":\"missed_handoff\"}", 201);
    /* The same again is the same entry. */
    expect(world, "POST", "/v1/audit/receipts", token, "",
           "{\"kind\":\"executed\",\"agent_id\":\"fixer\",\"tool\":\"t\",\"ok\":true}", 200);
    expect(world, "POST", "/v1/audit/receipts", token, "",
           "{\"agent_id\":\"fixer\",\"kind\":\"executed\",\"receipt_id\":\"r-1\"}", 201);
    expect(world, "POST", "/v1/audit/receipts", token, "",
           "{\"agent_id\":\"fixer\",\"kind\":\"executed\",\"receipt_id\":\"r-1\"}", 200);
    expect_error(world, "POST", "/v1/audit/receipts", token,
                 "{\"agent_id\":\"fixer\",\"kind\":\"failed\",\"receipt_id\":\"r-1\"}", 409,
                 "receipt_changed");
    /* What the server decides only it can write. */
    expect_error(world, "POST", "/v1/audit/receipts", token,
                 "{\"agent_id\":\"fixer\",\"kind\":\"approved\"}", 422, "invalid");
    expect_error(world, "POST", "/v1/audit/receipts", token,
                 "{\"agent_id\":\"stranger\",\"kind\":\"executed\"}", 403, "agent_not_covered");
    /* The server may have signed a head by now. */
    assert_int_equal(audit_keys_load(&keys, NULL), 0);
    assert_int_equal(audit_chain_verify(handoffs.store, &keys, NULL, &report, NULL), 0);
    assert_int_equal(report.size, 3);
}

/** A decision about a request of the agent fixer, with a token of a person. */
static void expect_decision(struct api_world *world, const char *id, const char *token, int status,
                            const char *code)
{
    char path[128];
    char digest[HANDOFF_DIGEST_SIZE];
    auto_buf struct buf headers = {0};
    auto_buf struct buf body = {0};
    struct api_reply answer;
    digest_of_action("a", digest);
    snprintf(path, sizeof(path), "/v1/hitl/decisions/%s", id);
    buf_printf(&headers, "Idempotency-Key: %s\r\nIf-Match: \"2\"\r\n", token);
    buf_printf(&body, "{\"status\":\"approved\",\"revision\":1,\"action_digest\":\"%s\"}", digest);
    ask(world, "POST", path, token, buf_string(&headers), buf_string(&body), &answer);
    if (answer.status != status) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(answer.status, status);
    assert_string_equal(json_get_string(json_member(answer.json, "error"), "code", ""), code);
    answer_fini(&answer);
}

static void make_persons_token(struct api_world *world, const char *name, enum token_scope scope,
                               const char *agent, const char *person, char *ret_token)
{
    const char *const agents[] = {agent, NULL};
    struct token_spec spec = {
        .name = name, .scope = scope, .agents = agent == NULL ? NULL : agents, .person = person};
    assert_int_equal(token_create(world->store, &spec, ret_token, NULL, NULL), 0);
}

SERVER_TEST(nobody_approves_what_an_agent_of_theirs_asks_for)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char anns_agent[TOKEN_SIZE];
    char ann[TOKEN_SIZE];
    char ben[TOKEN_SIZE];
    make_persons_token(world, "ann", TOKEN_DECIDE, NULL, NULL, ann);
    make_persons_token(world, "ben", TOKEN_DECIDE, NULL, NULL, ben);
    make_persons_token(world, "of-ann", TOKEN_AGENT, "fixer", "ann", anns_agent);
    submit(world, "lane-a", "a", "", id); /* with another token of the same agent */
    expect_decision(world, id, ann, 403, "self_approval");
    expect_decision(world, id, ben, 200, "");
}

SERVER_TEST(a_token_that_was_revoked_still_says_whose_request_it_was)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char ann[TOKEN_SIZE];
    make_persons_token(world, "ann", TOKEN_DECIDE, NULL, NULL, ann);
    make_persons_token(world, "of-ann", TOKEN_AGENT, "fixer", "ann", world->agent);
    submit(world, "lane-a", "a", "", id);
    assert_int_equal(token_revoke(world->store, "of-ann", NULL), 0);
    expect_decision(world, id, ann, 403, "self_approval");
}

SERVER_TEST(no_agent_decides_for_another_one)
{
    struct api_world *world = *state;
    char id[ID_SIZE];
    char sub[TOKEN_SIZE];
    char owner[TOKEN_SIZE];
    char ignored[TOKEN_SIZE];
    static const char *const own[] = {"sub-fixer", NULL};
    struct token_spec clash = {.name = "x", .scope = TOKEN_AGENT, .agents = own};
    make_persons_token(world, "phone", TOKEN_DECIDE, NULL, "sub-fixer", sub);
    make_persons_token(world, "cho", TOKEN_DECIDE, NULL, NULL, owner);
    make_persons_token(world, "of-boss", TOKEN_AGENT, "boss", "cho", ignored);
    assert_int_equal(token_create(world->store, &clash, ignored, NULL, NULL), RONDO_ERR_INVALID);
    /* The agent above it, and its owner. */
    auto_buf struct buf body = {0};
    struct api_reply answer;
    write_request("fixer\",\"parent_agent_id\":\"boss", "lane-a", "a", "", &body);
    ask(world, "POST", "/v1/hitl/requests", world->agent, "", buf_string(&body), &answer);
    assert_int_equal(answer.status, 201);
    snprintf(id, sizeof(id), "%s", json_get_string(answer.json, "request_id", ""));
    answer_fini(&answer);
    expect_decision(world, id, owner, 403, "self_approval");
    expect_decision(world, id, sub, 200, "");
}

SERVER_TEST(a_lane_that_has_ended_stays_so)
{
    struct api_world *world = *state;
    const char *token = world->agent;
    const char *open = "{\"agent_id\":\"fixer\",\"lane_id\":\"lane-a\"}";
    expect(world, "POST", "/v1/lanes", token, "", open, 201);
    expect(world, "POST", "/v1/lanes", token, "", open, 200);
    expect(world, "PATCH", "/v1/lanes/lane-a", token, "",
           "{\"agent_id\":\"fixer\",\"state\":\"evidence\"}", 200);
    expect(world, "PATCH", "/v1/lanes/lane-a", token, "",
           "{\"agent_id\":\"fixer\",\"state\":\"done\"}", 200);
    expect_error(world, "PATCH", "/v1/lanes/lane-a", token,
                 "{\"agent_id\":\"fixer\",\"state\":\"running\"}", 409, "conflict");
    expect_error(world, "PATCH", "/v1/lanes/lane-b", token,
                 "{\"agent_id\":\"fixer\",\"state\":\"done\"}", 404, "not_found");
    expect_error(world, "POST", "/v1/lanes", token, "{\"agent_id\":\"fixer\",\"lane_id\":\"a/b\"}",
                 422, "invalid");
}
