// SPDX-License-Identifier: Apache-2.0
/* The vectors were computed by other implementations of RFC 8785, RFC 9562 and SHA-256. */
#include "handoff/identity.h"

#include "support/test.h"

#include <string.h>

static void digest_of(const struct handoff_action *action, char *ret_digest)
{
    struct rondo_error err;
    assert_int_equal(handoff_action_digest(action, ret_digest, &err), 0);
}

TEST(an_action_is_named_by_what_it_means)
{
    struct handoff_action action = {.tool = "isolate_host", .arguments = "{\"host\":\"a\"}"};
    char digest[HANDOFF_DIGEST_SIZE];
    char same[HANDOFF_DIGEST_SIZE];
    digest_of(&action, digest);
    action.arguments = " { \"host\" : \"\\u0061\" } ";
    digest_of(&action, same);
    assert_string_equal(digest, same);
    action.arguments = "{\"host\":\"b\"}";
    digest_of(&action, same);
    assert_string_not_equal(digest, same);
}

TEST(everything_that_decides_is_in_the_digest)
{
    struct handoff_operand operand = {.path = "deploy.sh", .digest = "sha256:00"};
    struct handoff_action action = {.tool = "shell", .arguments = "{}"};
    char digests[5][HANDOFF_DIGEST_SIZE];
    digest_of(&action, digests[0]);
    action.resource = "host-1";
    digest_of(&action, digests[1]);
    action.operands = &operand;
    action.operand_count = 1;
    digest_of(&action, digests[2]);
    operand.digest = "sha256:01";
    digest_of(&action, digests[3]);
    action.tool = "shell2";
    digest_of(&action, digests[4]);
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(digests[i], digests[j]);
        }
    }
}

TEST(arguments_that_readers_understand_differently_have_no_digest)
{
    static const char *const texts[] = {"{\"a\":1,\"a\":2}", "{\"id\":9007199254740993}", "{"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct handoff_action action = {.tool = "pay", .arguments = texts[i]};
        char digest[HANDOFF_DIGEST_SIZE] = "none";
        struct rondo_error err;
        assert_int_equal(handoff_action_digest(&action, digest, &err), RONDO_ERR_INVALID);
        assert_string_equal(digest, "none");
    }
}

/** What would end the member in which it stands, and name another one after it. */
TEST(arguments_cannot_name_what_the_action_is_made_to)
{
    static const char *const texts[] = {
        "{},\"resource\":\"host-1\"", "[]", "\"{}\"", "null", "", "{} {}", "{}}",
    };
    struct handoff_action honest = {.tool = "shell", .arguments = "{}", .resource = "host-1"};
    char digest[HANDOFF_DIGEST_SIZE];
    digest_of(&honest, digest);
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct handoff_action action = {.tool = "shell", .arguments = texts[i]};
        char other[HANDOFF_DIGEST_SIZE] = "none";
        assert_int_equal(handoff_action_digest(&action, other, NULL), RONDO_ERR_INVALID);
        assert_string_equal(other, "none");
    }
}

TEST(a_request_has_the_same_id_wherever_it_is_found)
{
    struct handoff_action action = {.tool = "isolate_host", .arguments = "{\"host\":\"a\"}"};
    char digest[HANDOFF_DIGEST_SIZE];
    char id[ID_SIZE];
    digest_of(&action, digest);
    struct handoff_place place = {
        .agent_id = "sec-triage-01",
        .workflow_id = "wf-1",
        .run_id = "run-1",
        .step_id = "step-7",
        .lane_id = "lane-a",
        .action_digest = digest,
        .attempt = 1,
    };
    assert_int_equal(handoff_request_id(&place, id, NULL), 0);
    assert_string_equal(id, "e6a19e20-f630-5f7a-91bd-71be0c3eae0d");
    place.attempt = 2;
    assert_int_equal(handoff_request_id(&place, id, NULL), 0);
    assert_string_equal(id, "7fce3aab-96f4-5117-817f-3579469c578b");
}
