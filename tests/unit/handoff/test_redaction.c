// SPDX-License-Identifier: Apache-2.0
/* What the rules of a desk file hide from whom: in the inbox, the audit chain, and when revealed.
 */
#include "handoff/inbox/redaction.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "handoff/audit/entry.h"
#include "handoff/desks/desks.h"
#include "handoff/inbox/inbox.h"
#include "handoff/storage/chain.h"
#include "handoff/view/reveal.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN  (1800000000 * NS_PER_S)
#define ID     "e6a19e20-f630-5f7a-91bd-71be0c3eae0d"
#define SECRET "hunter-2-hunter"
#define DIGEST "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0"

/** The secret is where the rule says, and in six other places. */
static const char body[] =
    "{\"action\":{\"tool\":\"set_password\",\"args\":{\"user\":\"eve\",\"pin\":1234,"
    "\"password\":\"" SECRET "\",\"note\":\"is " SECRET ".\"}},"
    "\"trigger\":{\"trigger_reason\":\"explicit_agent_rule\",\"message\":\"sets " SECRET "\"},"
    "\"intent\":{\"summary\":\"the password becomes " SECRET "\"},"
    "\"context\":{\"messages\":[{\"text\":\"" SECRET "\"}],\"" SECRET "\":1}}";

static const char file[] =
    "format: 1\n"
    "people:\n"
    "  ann: {roles: [oncall]}\n"
    "  ben: {roles: [lead]}\n"
    "  cho: {roles: [oncall, lead]}\n"
    "  dan: {roles: [auditor]}\n"
    "desks:\n"
    "  operators: {roles: [oncall, lead]}\n"
    "redaction:\n"
    "  - {tool: \"set_*\", pointers: [/action/args/password, /action/args/pin],\n"
    "     hidden_from: [oncall, auditor], reveal: [lead, auditor]}\n";

struct redaction_fixture {
    struct store *store;
    struct desks *desks;
    struct handoff_store handoffs;
};

static void use_file(struct redaction_fixture *fixture, const char *text)
{
    struct rondo_error err = {0};
    struct desks *desks = NULL;
    if (desks_read(text, strlen(text), "desks.yaml", &desks, &err) < 0) {
        fail_msg("%s", err.message);
    }
    desks_free(fixture->desks);
    fixture->desks = desks;
    fixture->handoffs = desks_store(fixture->store, desks);
}

static int set_up(void **state)
{
    struct redaction_fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->store = store_memory_new(NULL);
    use_file(fixture, file);
    struct handoff_request request = {.request_id = ID,
                                      .agent_id = "agent",
                                      .lane_id = "lane",
                                      .action_digest = DIGEST,
                                      .body_digest = DIGEST,
                                      .required_by_ns = 0,
                                      .risk = HANDOFF_MEDIUM,
                                      .priority = HANDOFF_MEDIUM};
    struct handoff_result result;
    struct handoff handoff;
    assert_int_equal(handoff_submit(&fixture->handoffs, &request, body, BEGIN, &result, NULL), 0);
    assert_int_equal(inbox_route(&fixture->handoffs, ID, BEGIN, &handoff, NULL), 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct redaction_fixture *fixture = *state;
    store_close(fixture->store);
    desks_free(fixture->desks);
    free(fixture);
    return 0;
}

#define TEST_OF_VIEWS(name) TEST_WITH(name, set_up, tear_down)

static void see(struct redaction_fixture *fixture, const char *viewer, struct buf *ret_json)
{
    struct handoff handoff;
    struct inbox_view_options options = {.has_thread = true, .viewer = viewer};
    assert_int_equal(handoff_read(&fixture->handoffs, ID, &handoff, NULL), 0);
    assert_int_equal(inbox_view(&fixture->handoffs, &handoff, &options, ret_json, NULL), 0);
}

static bool is_seen_by(struct redaction_fixture *fixture, const char *viewer)
{
    auto_buf struct buf json = {0};
    see(fixture, viewer, &json);
    bool has_pin = strstr(buf_string(&json), "1234") != NULL;
    bool has_secret = strstr(buf_string(&json), SECRET) != NULL;
    assert_int_equal(has_pin, has_secret);
    return has_secret;
}

static void say(struct redaction_fixture *fixture, const char *comment)
{
    struct inbox_decision claim = {
        .kind = HANDOFF_CLAIM, .by = "user:ben", .comment = comment, .revision = 1};
    struct inbox_result result;
    assert_int_equal(inbox_decide(&fixture->handoffs, ID, &claim, BEGIN, &result, NULL), 0);
    assert_int_equal(result.result.outcome, HANDOFF_DONE);
}

/* ---- The inbox ------------------------------------------------------------------------------ */

TEST_OF_VIEWS(a_value_and_its_copies_are_hidden_from_whom_the_rule_says)
{
    struct redaction_fixture *fixture = *state;
    say(fixture, "I know it is " SECRET);
    assert_false(is_seen_by(fixture, "user:ann"));
    assert_true(is_seen_by(fixture, "user:ben"));
    assert_false(is_seen_by(fixture, "user:dan"));
}

TEST_OF_VIEWS(of_two_roles_the_one_from_which_it_is_hidden_counts)
{
    assert_false(is_seen_by(*state, "user:cho"));
}

TEST_OF_VIEWS(who_is_no_person_of_the_file_sees_nothing_that_a_rule_hides)
{
    assert_false(is_seen_by(*state, NULL));
    assert_false(is_seen_by(*state, "user:eve"));
    assert_false(is_seen_by(*state, "ben"));
    assert_false(is_seen_by(*state, ""));
}

TEST_OF_VIEWS(without_a_rule_for_the_agent_and_tool_everybody_sees_it)
{
    struct redaction_fixture *fixture = *state;
    use_file(fixture, "format: 1\ndesks: {operators: {}}\n"
                      "redaction: [{agent: \"other-*\", pointers: [/action/args/password]},\n"
                      "  {tool: get_password, pointers: [/action/args/password]}]\n");
    assert_true(is_seen_by(fixture, NULL));
    use_file(fixture, "format: 1\ndesks: {operators: {}}\n"
                      "redaction: [{agent: \"ag*\", pointers: [/action]}]\n");
    assert_false(is_seen_by(fixture, "user:ben"));
}

TEST_OF_VIEWS(a_file_that_is_replaced_counts_for_what_was_requested_before)
{
    struct redaction_fixture *fixture = *state;
    use_file(fixture, "format: 1\ndesks: {operators: {}}\n");
    assert_true(is_seen_by(fixture, NULL));
    use_file(fixture, file);
    assert_false(is_seen_by(fixture, NULL));
}

TEST_OF_VIEWS(pointers_of_what_was_hidden_are_listed_and_digests_stay)
{
    auto_buf struct buf json = {0};
    auto_json struct json_object *entry = NULL;
    see(*state, "user:ann", &json);
    assert_int_equal(json_parse_strict(json.data, json.len, &entry, NULL), 0);
    struct json_object *paths = json_member(entry, "redacted");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(paths, 0)),
                        "/action/args/password");
    assert_non_null(strstr(json_object_get_string(paths), "args\\/note"));
    assert_string_equal(json_get_string(entry, "action_digest", ""), DIGEST);
    struct json_object *value =
        json_member(json_member(json_member(entry, "action"), "args"), "password");
    assert_true(json_object_get_boolean(json_member(value, "redacted")));
    assert_int_equal(json_get_int(value, "length", 0), strlen(SECRET));
}

TEST_OF_VIEWS(who_sees_all_has_no_list)
{
    auto_buf struct buf json = {0};
    see(*state, "user:ben", &json);
    assert_null(strstr(buf_string(&json), "\"redacted\""));
}

/* ---- The audit chain ------------------------------------------------------------------------ */

struct chain_text {
    struct inbox_audit audit;
    struct buf text;
};

static bool take_entry(const char *entry, size_t len, void *context)
{
    struct chain_text *chain = context;
    auto_buf struct buf line = {0};
    inbox_audit_entry(&chain->audit, entry, len, &line);
    buf_append(&chain->text, line.data, line.len);
    buf_append_string(&chain->text, "\n");
    return true;
}

static void read_chain(struct redaction_fixture *fixture, const char *viewer, struct buf *ret_text)
{
    struct chain_text chain = {.audit = {.handoffs = &fixture->handoffs, .viewer = viewer}};
    assert_int_equal(audit_chain_read(fixture->store, 0, 0, take_entry, &chain, NULL), 0);
    inbox_audit_fini(&chain.audit);
    *ret_text = chain.text;
}

static void add_note(struct redaction_fixture *fixture, const char *request_id, const char *note)
{
    uint64_t number = 0;
    char hash[HANDOFF_DIGEST_SIZE];
    struct audit_fact fact = {.kind = "receipt.note",
                              .time_ns = BEGIN,
                              .request_id = request_id,
                              .actor = "agent",
                              .role = "agent",
                              .details = note};
    assert_int_equal(handoff_add_fact(&fixture->handoffs, &fact, &number, hash, NULL), 0);
}

TEST_OF_VIEWS(an_export_shows_no_more_and_says_what_it_hides)
{
    struct redaction_fixture *fixture = *state;
    auto_buf struct buf ann = {0};
    auto_buf struct buf ben = {0};
    say(fixture, "I know it is " SECRET);
    add_note(fixture, ID, "{\"note\":\"did " SECRET "\"}");
    read_chain(fixture, "user:ann", &ann);
    read_chain(fixture, "user:ben", &ben);
    assert_null(strstr(buf_string(&ann), SECRET));
    assert_non_null(strstr(buf_string(&ann), "\"" AUDIT_REDACTED "\":[\"/details\"]"));
    assert_non_null(strstr(buf_string(&ben), SECRET));
    assert_null(strstr(buf_string(&ben), AUDIT_REDACTED "\""));
}

TEST_OF_VIEWS(words_of_agents_about_no_request_are_hidden_as_a_whole)
{
    struct redaction_fixture *fixture = *state;
    auto_buf struct buf ann = {0};
    add_note(fixture, NULL, "{\"note\":\"1234\"}");
    add_note(fixture, "e6a19e20-f630-5f7a-91bd-71be0c3eae00", "{\"note\":\"1234\"}");
    read_chain(fixture, "user:ann", &ann);
    assert_null(strstr(buf_string(&ann), "\"1234\""));
}

TEST_OF_VIEWS(words_are_hidden_as_a_whole_when_the_request_was_deleted)
{
    struct redaction_fixture *fixture = *state;
    auto_buf struct buf ann = {0};
    auto_buf struct buf ben = {0};
    bool is_applied = false;
    struct store_change gone = {.kind = STORE_DELETE,
                                .collection = HANDOFF_BODY_COLLECTION,
                                .key = ID "/0000000001",
                                .if_version = STORE_ANY_VERSION};
    say(fixture, "I know it is " SECRET);
    assert_int_equal(
        fixture->store->ops->change_documents(fixture->store, &gone, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
    read_chain(fixture, "user:ann", &ann);
    read_chain(fixture, "user:ben", &ben);
    assert_null(strstr(buf_string(&ann), SECRET));
    assert_non_null(strstr(buf_string(&ben), SECRET));
}

/* ---- Revealing ------------------------------------------------------------------------------ */

static enum redact_verdict reveal(struct redaction_fixture *fixture, const char *person,
                                  const char *pointer, struct buf *ret_value)
{
    enum redact_verdict verdict = REDACT_MISSING;
    assert_int_equal(
        inbox_reveal(&fixture->handoffs, ID, person, pointer, BEGIN, &verdict, ret_value, NULL), 0);
    return verdict;
}

TEST_OF_VIEWS(a_revealed_value_has_its_receipt)
{
    struct redaction_fixture *fixture = *state;
    auto_buf struct buf value = {0};
    auto_buf struct buf chain = {0};
    assert_int_equal(reveal(fixture, "user:cho", "/action/args/password", &value), REDACT_REVEALED);
    assert_string_equal(buf_string(&value), "\"" SECRET "\"");
    read_chain(fixture, "user:ann", &chain);
    const char *entry = strstr(buf_string(&chain), HANDOFF_REVEALED);
    assert_non_null(entry);
    assert_non_null(strstr(entry, "password"));
    assert_non_null(strstr(entry, "user:cho"));
    assert_null(strstr(entry, SECRET));
}

TEST_OF_VIEWS(a_copy_is_revealed_as_its_original)
{
    struct redaction_fixture *fixture = *state;
    auto_buf struct buf value = {0};
    auto_buf struct buf nothing = {0};
    assert_int_equal(reveal(fixture, "user:cho", "/action/args/note", &value), REDACT_REVEALED);
    assert_string_equal(buf_string(&value), "\"is " SECRET ".\"");
    assert_int_equal(reveal(fixture, "user:ann", "/action/args/note", &nothing),
                     REDACT_NOT_PERMITTED);
    assert_int_equal(reveal(fixture, "user:cho", "/action/args/user", &nothing), REDACT_NOT_HIDDEN);
    assert_int_equal(reveal(fixture, "user:cho", "/action/args/no", &nothing), REDACT_MISSING);
    assert_int_equal(nothing.len, 0);
}

TEST_OF_VIEWS(who_has_no_role_for_it_or_is_on_no_desk_reveals_nothing)
{
    struct redaction_fixture *fixture = *state;
    auto_buf struct buf value = {0};
    assert_int_equal(reveal(fixture, "user:ann", "/action/args/password", &value),
                     REDACT_NOT_PERMITTED);
    assert_int_equal(reveal(fixture, "user:dan", "/action/args/password", &value),
                     REDACT_NOT_PERMITTED);
    assert_int_equal(reveal(fixture, "user:eve", "/action/args/password", &value),
                     REDACT_NOT_PERMITTED);
    assert_int_equal(reveal(fixture, "", "/action/args/password", &value), REDACT_NOT_PERMITTED);
    assert_int_equal(value.len, 0);
}
