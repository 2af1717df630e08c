// SPDX-License-Identifier: Apache-2.0
/* The index of what waits: the same as the store at every step, in order, found and counted. */
#include "handoff/inbox/index.h"

#include "base/clock.h"
#include "handoff/desks/desks.h"
#include "handoff/inbox/inbox.h"
#include "support/store/memory_store.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR  (3600 * NS_PER_S)
#define BEGIN (1800000000 * NS_PER_S)

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";

struct index_fixture {
    struct store *store;
    struct handoff_store handoffs;
    struct handoff_index *index;
};

static int set_up(void **state)
{
    struct index_fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->store = store_memory_new(NULL);
    fixture->handoffs = desks_store(fixture->store, NULL);
    fixture->index = handoff_index_new();
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct index_fixture *fixture = *state;
    handoff_index_free(fixture->index);
    store_close(fixture->store);
    free(fixture);
    return 0;
}

#define TEST_OF_INDEX(name) TEST_WITH(name, set_up, tear_down)

static const char *id_of(int number)
{
    static char id[ID_SIZE];
    snprintf(id, sizeof(id), "e6a19e20-f630-5f7a-91bd-%012d", number);
    return id;
}

static enum handoff_outcome submit(struct index_fixture *fixture, int number,
                                   enum handoff_level level)
{
    char lane[32], body[200];
    snprintf(lane, sizeof(lane), "lane-%d", number);
    snprintf(body, sizeof(body),
             "{\"action\":{\"tool\":\"tool-%d\",\"args\":{}},\"trigger\":{\"message\":\"why\"}}",
             number % 3);
    struct handoff_request request = {.request_id = id_of(number),
                                      .agent_id = number % 2 == 0 ? "even" : "odd",
                                      .lane_id = lane,
                                      .action_digest = action,
                                      .body_digest = action,
                                      .risk = level,
                                      .priority = level};
    struct handoff_result result;
    struct handoff handoff;
    assert_int_equal(
        handoff_submit(&fixture->handoffs, &request, body, BEGIN + number, &result, NULL), 0);
    if (result.outcome == HANDOFF_DONE) {
        assert_int_equal(
            inbox_route(&fixture->handoffs, id_of(number), BEGIN + number, &handoff, NULL), 0);
    }
    return result.outcome;
}

static enum handoff_outcome decide(struct index_fixture *fixture, int number,
                                   enum handoff_command_kind kind)
{
    static const char *const questions[] = {"Why?"};
    struct inbox_decision decision = {.kind = kind,
                                      .by = "user:ann",
                                      .comment = "so",
                                      .questions = questions,
                                      .question_count = 1,
                                      .revision = 1,
                                      .action_digest = action};
    struct inbox_result result;
    assert_int_equal(
        inbox_decide(&fixture->handoffs, id_of(number), &decision, BEGIN + NS_PER_S, &result, NULL),
        0);
    return result.result.outcome;
}

struct index_listing {
    int numbers[64];
    size_t count;
    struct handoff_summary last;
    struct handoff_place_in_list place;
};

static bool take(const struct handoff_summary *summary, const struct handoff_place_in_list *place,
                 void *context)
{
    struct index_listing *listing = context;
    listing->numbers[listing->count++] = (int)strtol(summary->request_id + 24, NULL, 10);
    listing->last = *summary;
    listing->place = *place;
    return true;
}

static struct index_listing list(struct index_fixture *fixture, struct handoff_query query)
{
    struct index_listing listing = {0};
    assert_int_equal(handoff_index_refresh(fixture->index, &fixture->handoffs, NULL), 0);
    size_t given =
        handoff_index_list(fixture->index, fixture->handoffs.desks, &query, take, &listing);
    assert_int_equal(given, listing.count);
    return listing;
}

TEST_OF_INDEX(the_next_to_be_breached_comes_first)
{
    struct index_fixture *fixture = *state;
    submit(fixture, 1, HANDOFF_LOW);
    submit(fixture, 2, HANDOFF_CRITICAL);
    submit(fixture, 3, HANDOFF_HIGH);
    struct index_listing all = list(fixture, (struct handoff_query){0});
    assert_int_equal(all.count, 3);
    assert_int_equal(all.numbers[0], 2);
    assert_int_equal(all.numbers[1], 3);
    assert_int_equal(all.numbers[2], 1);
    assert_string_equal(all.last.tool, "tool-1");
    assert_string_equal(all.last.why, "why");
    assert_string_equal(all.last.desk, HANDOFF_DESK);
}

TEST_OF_INDEX(what_happens_later_is_followed)
{
    struct index_fixture *fixture = *state;
    submit(fixture, 1, HANDOFF_MEDIUM);
    submit(fixture, 2, HANDOFF_MEDIUM);
    assert_int_equal(list(fixture, (struct handoff_query){0}).count, 2);
    decide(fixture, 1, HANDOFF_REJECT);
    submit(fixture, 3, HANDOFF_CRITICAL);
    decide(fixture, 2, HANDOFF_CLAIM);
    struct index_listing now = list(fixture, (struct handoff_query){0});
    assert_int_equal(now.count, 2);
    assert_int_equal(now.numbers[0], 3);
    assert_string_equal(now.last.claimed_by, "user:ann");
}

TEST_OF_INDEX(what_is_approved_waits_for_nobody_but_has_a_timer)
{
    struct index_fixture *fixture = *state;
    submit(fixture, 1, HANDOFF_MEDIUM);
    decide(fixture, 1, HANDOFF_APPROVE);
    assert_int_equal(list(fixture, (struct handoff_query){0}).count, 0);
    assert_int_equal(list(fixture, (struct handoff_query){.states = QUERY_ALL}).count, 1);
    assert_true(handoff_index_next(fixture->index) < INT64_MAX);
}

TEST_OF_INDEX(a_query_selects)
{
    struct index_fixture *fixture = *state;
    for (int i = 1; i <= 6; i++) {
        submit(fixture, i, i == 6 ? HANDOFF_HIGH : HANDOFF_MEDIUM);
    }
    decide(fixture, 5, HANDOFF_ASK);
    decide(fixture, 4, HANDOFF_CLAIM);
    assert_int_equal(list(fixture, (struct handoff_query){.agent_id = "odd"}).count, 3);
    assert_int_equal(list(fixture, (struct handoff_query){.text = "TOOL-2"}).count, 2);
    assert_int_equal(list(fixture, (struct handoff_query){.desk = "nowhere"}).count, 0);
    assert_int_equal(list(fixture, (struct handoff_query){.claimed_by = "user:ann"}).count, 1);
    assert_int_equal(
        list(fixture, (struct handoff_query){.states = QUERY_STATE, .state = HANDOFF_NEEDS_INFO})
            .count,
        1);
    assert_int_equal(
        list(fixture, (struct handoff_query){.has_priority = true, .priority = HANDOFF_HIGH}).count,
        1);
}

TEST_OF_INDEX(pages_follow_one_another)
{
    struct index_fixture *fixture = *state;
    for (int i = 1; i <= 5; i++) {
        submit(fixture, i, HANDOFF_MEDIUM);
    }
    struct index_listing first = list(fixture, (struct handoff_query){.limit = 2});
    struct index_listing second =
        list(fixture, (struct handoff_query){.limit = 9, .after = first.place});
    assert_int_equal(first.count, 2);
    assert_int_equal(second.count, 3);
    assert_int_equal(second.numbers[0], 3);
}

TEST_OF_INDEX(mine_are_those_on_my_desks)
{
    struct index_fixture *fixture = *state;
    static const char text[] = "format: 1\n"
                               "people: {ann: {roles: [a]}, ben: {roles: [b]}}\n"
                               "desks: {operators: {roles: [a], escalates_to: leads}, leads: "
                               "{roles: [b]}}\n";
    struct desks *desks = NULL;
    assert_int_equal(desks_read(text, strlen(text), "desks.yaml", &desks, NULL), 0);
    fixture->handoffs = desks_store(fixture->store, desks);
    submit(fixture, 1, HANDOFF_MEDIUM);
    submit(fixture, 2, HANDOFF_MEDIUM);
    decide(fixture, 2, HANDOFF_ESCALATE);
    assert_int_equal(
        list(fixture, (struct handoff_query){.person = "user:ann", .whose = QUERY_ON_DESK}).count,
        2);
    assert_int_equal(
        list(fixture, (struct handoff_query){.person = "user:ben", .whose = QUERY_ON_DESK}).count,
        1);
    assert_int_equal(
        list(fixture, (struct handoff_query){.person = "user:zoe", .whose = QUERY_ON_DESK}).count,
        0);
    desks_free(desks);
}

TEST_OF_INDEX(numbers_are_of_what_the_query_selects)
{
    struct index_fixture *fixture = *state;
    struct handoff_tally tally;
    struct handoff_query query = {0};
    submit(fixture, 1, HANDOFF_MEDIUM);
    submit(fixture, 2, HANDOFF_CRITICAL);
    decide(fixture, 1, HANDOFF_CLAIM);
    list(fixture, query);
    handoff_index_count(fixture->index, NULL, &query, BEGIN + 2 * HOUR, &tally);
    assert_int_equal(tally.waiting, 2);
    assert_int_equal(tally.by_priority[HANDOFF_CRITICAL], 1);
    assert_int_equal(tally.claimed, 1);
    assert_int_equal(tally.overdue, 1);
    assert_int_equal(tally.oldest_ns, BEGIN + 1);
}

TEST_OF_INDEX(timers_fire_in_their_order)
{
    struct index_fixture *fixture = *state;
    char ids[8][ID_SIZE];
    submit(fixture, 1, HANDOFF_LOW);
    submit(fixture, 2, HANDOFF_CRITICAL);
    submit(fixture, 3, HANDOFF_HIGH);
    list(fixture, (struct handoff_query){0});
    assert_int_equal(handoff_index_due(fixture->index, BEGIN, ids, 8), 0);
    assert_int_equal(handoff_index_due(fixture->index, BEGIN + 3 * HOUR, ids, 8), 2);
    assert_string_equal(ids[0], id_of(2));
    assert_string_equal(ids[1], id_of(3));
    assert_int_equal(handoff_index_due(fixture->index, BEGIN + 3 * HOUR, ids, 1), 1);
    assert_int_equal(handoff_index_next(fixture->index), BEGIN + 2 + HOUR / 2);
}

TEST_OF_INDEX(an_entry_takes_less_than_it_may)
{
    struct index_fixture *fixture = *state;
    size_t bytes = 0;
    for (int i = 1; i <= 50; i++) {
        submit(fixture, i, HANDOFF_CRITICAL);
    }
    list(fixture, (struct handoff_query){0});
    assert_int_equal(handoff_index_size(fixture->index, &bytes), 50);
    assert_true(bytes < 50 * HANDOFF_INDEX_ENTRY_BYTES);
}

/** Random steps: the index that follows is the one that is made anew. */
TEST_OF_INDEX(what_follows_is_the_same_as_what_is_made_anew)
{
    struct index_fixture *fixture = *state;
    static const enum handoff_command_kind kinds[] = {HANDOFF_APPROVE,  HANDOFF_REJECT,
                                                      HANDOFF_ASK,      HANDOFF_CLAIM,
                                                      HANDOFF_ESCALATE, HANDOFF_WITHDRAW};
    uint32_t seed = 7;
    for (int i = 1; i <= 200; i++) {
        seed = seed * 1664525 + 1013904223;
        int number = 1 + (int)(seed >> 16) % 30;
        struct handoff known;
        if (handoff_read(&fixture->handoffs, id_of(number), &known, NULL) < 0) {
            submit(fixture, number, (enum handoff_level)(seed >> 30));
        } else {
            decide(fixture, number, kinds[(seed >> 8) % 6]);
        }
        struct index_listing followed = list(fixture, (struct handoff_query){.states = QUERY_ALL});
        struct handoff_index *anew = handoff_index_new();
        struct handoff_query all = {.states = QUERY_ALL};
        struct index_listing made = {0};
        assert_int_equal(handoff_index_refresh(anew, &fixture->handoffs, NULL), 0);
        handoff_index_list(anew, NULL, &all, take, &made);
        assert_int_equal(made.count, followed.count);
        assert_memory_equal(made.numbers, followed.numbers, sizeof(made.numbers));
        handoff_index_free(anew);
    }
}

/** A request of an agent, due so many seconds after the first. */
static void submit_as(struct index_fixture *fixture, int number, const char *agent,
                      int64_t later_ns)
{
    char lane[32];
    snprintf(lane, sizeof(lane), "lane-%d", number);
    struct handoff_request request = {.request_id = id_of(number),
                                      .agent_id = agent,
                                      .lane_id = lane,
                                      .action_digest = action,
                                      .body_digest = action,
                                      .priority = HANDOFF_HIGH};
    struct handoff_result result;
    struct handoff handoff;
    int64_t now_ns = BEGIN + later_ns;
    assert_int_equal(handoff_submit(&fixture->handoffs, &request, "{}", now_ns, &result, NULL), 0);
    assert_int_equal(inbox_route(&fixture->handoffs, id_of(number), now_ns, &handoff, NULL), 0);
}

/** One agent asks often; those of the others that are due within the same minute are between. */
static void flood(struct index_fixture *fixture)
{
    for (int i = 1; i <= 4; i++) {
        submit_as(fixture, i, "many", i * NS_PER_S);
    }
    submit_as(fixture, 5, "few", 5 * NS_PER_S);
    submit_as(fixture, 6, "few", 6 * NS_PER_S);
    submit_as(fixture, 7, "one", 7 * NS_PER_S);
    submit_as(fixture, 8, "late", 90 * NS_PER_S);
}

static const int in_turn[] = {1, 5, 7, 2, 6, 3, 4, 8};

TEST_OF_INDEX(agents_take_turns_among_those_that_are_due_in_the_same_minute)
{
    struct index_fixture *fixture = *state;
    flood(fixture);
    struct index_listing listing = list(fixture, (struct handoff_query){0});
    assert_int_equal(listing.count, COUNT(in_turn));
    assert_memory_equal(listing.numbers, in_turn, sizeof(in_turn));
}

TEST_OF_INDEX(pages_of_every_length_give_each_entry_once_and_in_turn)
{
    struct index_fixture *fixture = *state;
    flood(fixture);
    for (size_t limit = 1; limit <= COUNT(in_turn); limit++) {
        struct handoff_query query = {.limit = limit};
        size_t seen = 0;
        struct index_listing page = list(fixture, query);
        while (page.count > 0) {
            for (size_t i = 0; i < page.count; i++) {
                assert_int_equal(page.numbers[i], in_turn[seen++]);
            }
            query.after = page.place;
            page = list(fixture, query);
        }
        assert_int_equal(seen, COUNT(in_turn));
    }
}

TEST_OF_INDEX(a_page_continues_when_the_entry_before_it_is_gone)
{
    struct index_fixture *fixture = *state;
    flood(fixture);
    struct index_listing page = list(fixture, (struct handoff_query){.limit = 4});
    decide(fixture, page.numbers[3], HANDOFF_REJECT);
    page = list(fixture, (struct handoff_query){.after = page.place});
    assert_int_equal(page.count, 4);
    assert_int_equal(page.numbers[0], 3);
    assert_int_equal(page.numbers[3], 8);
}

TEST_OF_INDEX(a_caller_sees_and_counts_only_the_agents_of_its_token)
{
    struct index_fixture *fixture = *state;
    static const char *const agents[] = {"few", "late", "nobody", NULL};
    struct handoff_query query = {.agents = agents, .person = "user:ann"};
    struct handoff_tally tally;
    flood(fixture);
    assert_int_equal(list(fixture, query).count, 3);
    handoff_index_count(fixture->index, NULL, &query, BEGIN, &tally);
    assert_int_equal(tally.waiting, 3);
    assert_int_equal(tally.mine, 3);
    assert_int_equal(tally.desk_count, 1);
    assert_string_equal(tally.desks[0].name, INBOX_DESK);
    assert_int_equal(tally.desks[0].waiting, 3);
    decide(fixture, 5, HANDOFF_CLAIM);
    query.person = "user:ben";
    list(fixture, query);
    handoff_index_count(fixture->index, NULL, &query, BEGIN, &tally);
    assert_int_equal(tally.mine, 2);
    query.whose = QUERY_MINE;
    assert_int_equal(list(fixture, query).count, 2);
}

TEST_OF_INDEX(every_part_of_a_name_finds_it_of_whatever_case)
{
    struct index_fixture *fixture = *state;
    static const char name[] = "Tool-2";
    submit(fixture, 2, HANDOFF_LOW);
    submit(fixture, 3, HANDOFF_LOW); /* tool-0 */
    for (size_t first = 0; first < strlen(name); first++) {
        for (size_t len = 1; first + len <= strlen(name); len++) {
            char part[8];
            snprintf(part, sizeof(part), "%.*s", (int)len, name + first);
            size_t count = list(fixture, (struct handoff_query){.text = part}).count;
            assert_int_equal(count, strcmp(part, "2") != 0 && strchr(part, '2') != NULL ? 1 : 2);
        }
    }
    assert_int_equal(list(fixture, (struct handoff_query){.text = "tool-9"}).count, 0);
}

/* ---- Places --------------------------------------------------------------------------------- */

static void use_bounds(struct index_fixture *fixture, uint32_t lane, uint32_t agent, uint32_t store)
{
    static struct handoff_bounds bounds;
    bounds = (struct handoff_bounds){.per_lane = lane, .per_agent = agent, .per_store = store};
    fixture->handoffs.bounds = &bounds;
}

TEST_OF_INDEX(a_part_of_the_places_is_for_critical_actions)
{
    struct index_fixture *fixture = *state;
    use_bounds(fixture, 8, 64, 5);
    for (int i = 1; i <= 4; i++) {
        assert_int_equal(submit(fixture, i, HANDOFF_HIGH), HANDOFF_DONE);
    }
    assert_int_equal(submit(fixture, 5, HANDOFF_HIGH), HANDOFF_FULL);
    assert_int_equal(submit(fixture, 5, HANDOFF_CRITICAL), HANDOFF_DONE);
    assert_int_equal(submit(fixture, 6, HANDOFF_CRITICAL), HANDOFF_FULL);
    assert_int_equal(submit(fixture, 1, HANDOFF_HIGH), HANDOFF_REPEATED);
}

TEST_OF_INDEX(an_agent_has_its_own_places)
{
    struct index_fixture *fixture = *state;
    use_bounds(fixture, 8, 2, 100);
    assert_int_equal(submit(fixture, 2, HANDOFF_CRITICAL), HANDOFF_DONE);
    assert_int_equal(submit(fixture, 4, HANDOFF_CRITICAL), HANDOFF_DONE);
    assert_int_equal(submit(fixture, 6, HANDOFF_CRITICAL), HANDOFF_FULL);
    assert_int_equal(submit(fixture, 1, HANDOFF_CRITICAL), HANDOFF_DONE);
}

TEST_OF_INDEX(a_decision_gives_its_place_back)
{
    struct index_fixture *fixture = *state;
    use_bounds(fixture, 8, 1, 100);
    assert_int_equal(submit(fixture, 2, HANDOFF_CRITICAL), HANDOFF_DONE);
    assert_int_equal(submit(fixture, 4, HANDOFF_CRITICAL), HANDOFF_FULL);
    decide(fixture, 2, HANDOFF_REJECT);
    assert_int_equal(submit(fixture, 4, HANDOFF_CRITICAL), HANDOFF_DONE);
}

TEST_OF_INDEX(what_an_older_version_wrote_is_counted_first)
{
    struct index_fixture *fixture = *state;
    struct store_change change = {.kind = STORE_DELETE_UP_TO,
                                  .collection = HANDOFF_COUNT_COLLECTION,
                                  .key = "~",
                                  .if_version = STORE_ANY_VERSION};
    bool is_applied = false;
    submit(fixture, 2, HANDOFF_MEDIUM);
    submit(fixture, 4, HANDOFF_MEDIUM);
    decide(fixture, 4, HANDOFF_REJECT);
    assert_int_equal(
        fixture->store->ops->change_documents(fixture->store, &change, 1, &is_applied, NULL), 0);
    use_bounds(fixture, 8, 2, 100);
    assert_int_equal(submit(fixture, 6, HANDOFF_CRITICAL), HANDOFF_DONE);
    assert_int_equal(submit(fixture, 8, HANDOFF_CRITICAL), HANDOFF_FULL);
}

/** A request of the agent even, in one lane. */
static struct handoff_result submit_to(struct index_fixture *fixture, int number,
                                       const char *digest, enum handoff_level priority)
{
    struct handoff_request request = {.request_id = id_of(number),
                                      .agent_id = "even",
                                      .lane_id = "lane",
                                      .action_digest = digest,
                                      .body_digest = action,
                                      .priority = priority,
                                      .joins = true};
    struct handoff_result result;
    assert_int_equal(
        handoff_submit(&fixture->handoffs, &request, "{}", BEGIN + number, &result, NULL), 0);
    return result;
}

static const char other_action[] =
    "sha256:b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1";
static const char third_action[] =
    "sha256:c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1";

TEST_OF_INDEX(the_same_action_in_a_lane_is_joined_while_it_waits)
{
    struct index_fixture *fixture = *state;
    struct handoff handoff;
    assert_int_equal(submit_to(fixture, 1, action, HANDOFF_LOW).outcome, HANDOFF_DONE);
    struct handoff_result joined = submit_to(fixture, 2, action, HANDOFF_LOW);
    assert_int_equal(joined.outcome, HANDOFF_JOINED);
    assert_string_equal(joined.handoff.request_id, id_of(1));
    assert_int_equal(submit_to(fixture, 1, action, HANDOFF_LOW).outcome, HANDOFF_REPEATED);
    assert_int_equal(submit_to(fixture, 3, other_action, HANDOFF_LOW).outcome, HANDOFF_DONE);
    assert_int_equal(inbox_route(&fixture->handoffs, id_of(1), BEGIN + 9, &handoff, NULL), 0);
    decide(fixture, 1, HANDOFF_APPROVE);
    assert_int_equal(submit_to(fixture, 2, action, HANDOFF_LOW).outcome, HANDOFF_DONE);
}

TEST_OF_INDEX(the_oldest_low_one_of_the_same_agent_makes_room)
{
    struct index_fixture *fixture = *state;
    static const struct handoff_bounds bounds = {
        .per_lane = 2, .per_agent = 64, .per_store = 100, .on_full = ON_FULL_SHED};
    struct handoff handoff;
    fixture->handoffs.bounds = &bounds;
    submit(fixture, 5, HANDOFF_LOW); /* older, and of another agent */
    assert_int_equal(submit_to(fixture, 10, action, HANDOFF_HIGH).outcome, HANDOFF_DONE);
    assert_int_equal(submit_to(fixture, 11, other_action, HANDOFF_LOW).outcome, HANDOFF_DONE);
    assert_int_equal(submit_to(fixture, 12, third_action, HANDOFF_HIGH).outcome, HANDOFF_DONE);
    assert_int_equal(handoff_read(&fixture->handoffs, id_of(11), &handoff, NULL), 0);
    assert_int_equal(handoff.state, HANDOFF_EXPIRED);
    assert_string_equal(handoff.decided_by, "system:lanes");
    assert_int_equal(handoff_read(&fixture->handoffs, id_of(5), &handoff, NULL), 0);
    assert_true(handoff_is_waiting(&handoff));
    /* Nothing of low priority is left. */
    assert_int_equal(submit_to(fixture, 13, other_action, HANDOFF_HIGH).outcome, HANDOFF_FULL);
}

TEST_OF_INDEX(nothing_makes_room_where_the_file_does_not_say_so)
{
    struct index_fixture *fixture = *state;
    use_bounds(fixture, 1, 64, 100);
    assert_int_equal(submit_to(fixture, 10, action, HANDOFF_LOW).outcome, HANDOFF_DONE);
    assert_int_equal(submit_to(fixture, 11, other_action, HANDOFF_HIGH).outcome, HANDOFF_FULL);
}
