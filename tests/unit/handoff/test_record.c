// SPDX-License-Identifier: Apache-2.0
#include "handoff/record.h"

#include "support/test.h"

#include <string.h>

/** A record as format 1 has it, for ever. */
static const char golden[] =
    "{\"format\":1,\"request_id\":\"e6a19e20-f630-5f7a-91bd-71be0c3eae0d\",\"agent_id\":\"agent\","
    "\"lane_id\":\"lane\","
    "\"action_digest\":\"sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0\","
    "\"risk\":\"critical\",\"priority\":\"high\",\"state\":\"escalated\",\"revision\":2,"
    "\"version\":7,\"requested_ns\":1800000000000000000,\"sla_begin_ns\":1800000000000000000,"
    "\"sla_due_ns\":1800003600000000000,\"ladder_done\":2,\"escalation_level\":1,\"hops\":1,"
    "\"claimed_by\":\"olga\",\"claim_until_ns\":1800000900000000000,\"application\":\"none\","
    "\"is_idempotent\":true,\"desks\":[\"desk-1\",\"desk-2\"],"
    "\"approvals\":[{\"operator_id\":\"otto\",\"time_ns\":1800000001000000000}]}";

static int decode(const char *text, struct handoff *ret_handoff)
{
    struct rondo_error err = {0};
    return handoff_decode(text, strlen(text), ret_handoff, &err);
}

TEST(a_record_of_format_1_is_read_and_written_as_it_was)
{
    struct handoff handoff;
    auto_buf struct buf text = {0};
    assert_int_equal(decode(golden, &handoff), 0);
    assert_int_equal(handoff.state, HANDOFF_ESCALATED);
    assert_int_equal(handoff.risk, HANDOFF_CRITICAL);
    assert_string_equal(handoff.desks[1], "desk-2");
    assert_string_equal(handoff.approvals[0].operator_id, "otto");
    assert_true(handoff.is_idempotent);
    handoff_encode(&handoff, &text);
    assert_string_equal(buf_string(&text), golden);
}

/** The golden record with one text for another. */
static void assert_damaged(const char *part, const char *other)
{
    auto_buf struct buf text = {0};
    struct handoff handoff = {.version = 99};
    const char *place = strstr(golden, part);
    assert_non_null(place);
    buf_append(&text, golden, (size_t)(place - golden));
    buf_append_string(&text, other);
    buf_append_string(&text, place + strlen(part));
    if (decode(buf_string(&text), &handoff) != RONDO_ERR_CORRUPT || handoff.version != 99) {
        fail_msg("read: %s", buf_string(&text));
    }
}

TEST(a_record_that_no_step_has_made_is_damaged)
{
    assert_damaged("\"format\":1", "\"format\":2");
    assert_damaged("\"format\":1", "\"format\":1,\"format\":1");
    assert_damaged("e6a19e20", "e6a19e2");
    assert_damaged("\"agent\"", "\"\"");
    assert_damaged("\"agent\"", "7");
    assert_damaged("a0a0", "a0a");
    assert_damaged("\"critical\"", "\"urgent\"");
    assert_damaged("\"escalated\"", "\"approved\"");
    assert_damaged("\"application\":\"none\"", "\"application\":\"started\"");
    assert_damaged("\"application\":\"none\"", "\"application\":null");
    assert_damaged("\"revision\":2", "\"revision\":0");
    assert_damaged("\"revision\":2", "\"revision\":4294967296");
    assert_damaged("\"version\":7", "\"version\":-7");
    assert_damaged("\"hops\":1", "\"hops\":\"1\"");
    assert_damaged("\"hops\":1", "\"hops\":1.5");
    assert_damaged("\"sla_due_ns\":18", "\"sla_due_ns\":17");
    assert_damaged("true", "1");
    assert_damaged("[\"desk-1\",\"desk-2\"]", "[]");
    assert_damaged("[\"desk-1\",\"desk-2\"]", "[1]");
    assert_damaged("[\"desk-1\",\"desk-2\"]", "{}");
    assert_damaged("\"desk-1\",", "\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",");
    assert_damaged("\"operator_id\":\"otto\"", "\"operator_id\":\"ot\\u0000to\"");
    assert_damaged("[{\"operator_id\"", "[{},{},{},{},{\"operator_id\"");
    assert_damaged("]}", "]");
}

TEST(names_are_read_up_to_their_longest)
{
    char name[HANDOFF_NAME_SIZE + 1] = "";
    auto_buf struct buf text = {0};
    struct handoff handoff;
    for (size_t len = HANDOFF_NAME_SIZE - 1; len <= HANDOFF_NAME_SIZE; len++) {
        const char *place = strstr(golden, "\"lane\"");
        memset(name, 'x', len);
        buf_clear(&text);
        buf_append(&text, golden, (size_t)(place - golden));
        buf_printf(&text, "\"%s\"%s", name, place + strlen("\"lane\""));
        assert_int_equal(decode(buf_string(&text), &handoff),
                         len < HANDOFF_NAME_SIZE ? 0 : RONDO_ERR_CORRUPT);
    }
}
