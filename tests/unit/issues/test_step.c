// SPDX-License-Identifier: Apache-2.0
/* The state machine of work items: a row of the table is a row here. */
#include "step_scene.h"

#include <stdlib.h>
#include <string.h>

/* ---- Assigned ------------------------------------------------------------------------------- */

TEST(available_to_assigned_the_claim_is_made_mirrored_and_the_run_begins)
{
    struct item item = item_in(ITEM_ASSIGNED);
    struct item_facts facts = facts_of(RUN_FACT_NONE);
    item.claim_id[0] = '\0';
    facts.claim = CLAIM_ABSENT;
    check("not claimed", &item, &facts, &plain, act(ITEM_ACT_CLAIM));
    facts.claim = CLAIM_UNKNOWN;
    check("unknown", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    facts.claim = CLAIM_OURS;
    facts.is_mirror_right = false;
    check("claimed", &item, &facts, &plain, act(ITEM_ACT_MIRROR));
    facts.is_mirror_right = true;
    check("mirrored", &item, &facts, &plain, act(ITEM_ACT_START));
    facts.run = RUN_FACT_ACTIVE;
    check("started", &item, &facts, &plain, set(ITEM_IN_PROGRESS, ITEM_REASON_NONE));
}

TEST(available_stays_available_when_the_claim_is_lost)
{
    struct item item = item_in(ITEM_ASSIGNED);
    struct item_facts facts = facts_of(RUN_FACT_NONE);
    item.claim_id[0] = '\0';
    facts.claim = CLAIM_FOREIGN;
    check("lost", &item, &facts, &plain, set(ITEM_FENCED, ITEM_REASON_NONE));
    item.state = ITEM_FENCED;
    check("fenced", &item, &facts, &plain, act(ITEM_ACT_END));
}

TEST(nothing_begins_while_it_may_not)
{
    struct item item = item_in(ITEM_ASSIGNED);
    static const struct {
        const char *name;
        bool may_start, is_stopping;
        enum issue_fact issue;
    } rows[] = {
        {"limits", false, false, ISSUE_FACT_WANTED},
        {"stopping", true, true, ISSUE_FACT_WANTED},
        {"issue unknown", true, false, ISSUE_FACT_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct item_facts facts = facts_of(RUN_FACT_NONE);
        facts.may_start = rows[i].may_start;
        facts.is_stopping = rows[i].is_stopping;
        facts.issue = rows[i].issue;
        check(rows[i].name, &item, &facts, &plain, act(ITEM_ACT_WAIT));
        item.state = ITEM_IN_PROGRESS;
        facts.run = RUN_FACT_IDLE;
        check(rows[i].name, &item, &facts, &plain, act(ITEM_ACT_WAIT));
        item.state = ITEM_ASSIGNED;
        facts.run = RUN_FACT_NONE;
        facts.claim = CLAIM_ABSENT;
        item.claim_id[0] = '\0';
        check(rows[i].name, &item, &facts, &plain, act(ITEM_ACT_WAIT));
        item.claim_id[0] = 'c';
    }
}

/* ---- In progress ---------------------------------------------------------------------------- */

TEST(in_progress_to_in_review_push_pull_request_claim_state)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct item_facts facts = facts_of(RUN_FACT_DONE);
    snprintf(item.commit, sizeof(item.commit), "abc");
    check("done", &item, &facts, &plain, act(ITEM_ACT_PUSH));
    facts.is_remote_at_commit = true;
    check("pushed, answer lost", &item, &facts, &plain, act(ITEM_ACT_PULL));
    facts.is_remote_at_commit = false;
    item.is_pushed = true;
    check("pushed, then moved by a person", &item, &facts, &plain, act(ITEM_ACT_PULL));
    facts.is_forge_open = false;
    check("forge closed", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    facts.is_forge_open = true;
    item.pull = 7;
    facts.pull = PULL_OPEN;
    check("claim names it", &item, &facts, &plain, act(ITEM_ACT_RENEW));
    item.claimed_pull = 7;
    check("review", &item, &facts, &plain, set(ITEM_IN_REVIEW, ITEM_REASON_NONE));
    facts.issue = ISSUE_FACT_UNKNOWN;
    item.pull = item.claimed_pull = 0;
    check("not without the issue", &item, &facts, &plain, act(ITEM_ACT_WAIT));
}

TEST(each_end_of_a_run_has_its_state_and_reason)
{
    static const struct {
        enum run_fact run;
        enum item_state state;
        enum item_reason reason;
    } rows[] = {
        {RUN_FACT_NO_CHANGE, ITEM_NEEDS_HUMAN, ITEM_REASON_NONE},
        {RUN_FACT_DONE, ITEM_NEEDS_HUMAN, ITEM_REASON_NONE}, /* without a commit */
        {RUN_FACT_TRANSIENT, ITEM_RETRY_LATER, ITEM_MODEL_FAILED},
        {RUN_FACT_FAILED, ITEM_BLOCKED, ITEM_ATTEMPTS_SPENT},
        {RUN_FACT_TIME_OVER, ITEM_BLOCKED, ITEM_TIME_OVER},
        {RUN_FACT_BUDGET_SPENT, ITEM_BLOCKED, ITEM_BUDGET_SPENT},
        {RUN_FACT_DENIED, ITEM_BLOCKED, ITEM_DENIED},
        {RUN_FACT_AUTH, ITEM_BLOCKED, ITEM_AUTH},
        {RUN_FACT_CONFLICT, ITEM_BLOCKED, ITEM_CONFLICT},
        {RUN_FACT_STOPPED, ITEM_BLOCKED, ITEM_STOPPED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct item item = item_in(ITEM_IN_PROGRESS);
        struct item_facts facts = facts_of(rows[i].run);
        check("run", &item, &facts, &plain, set(rows[i].state, rows[i].reason));
    }
}

TEST(a_run_that_is_idle_is_continued_and_one_that_is_active_left_alone)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct item_facts facts = facts_of(RUN_FACT_IDLE);
    check("idle", &item, &facts, &plain, act(ITEM_ACT_START));
    facts.run = RUN_FACT_NONE;
    check("none", &item, &facts, &plain, act(ITEM_ACT_START));
    facts.run = RUN_FACT_ACTIVE;
    check("active", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    facts.is_mirror_right = false;
    check("label", &item, &facts, &plain, act(ITEM_ACT_MIRROR));
    facts.is_forge_open = false;
    check("forge closed", &item, &facts, &plain, act(ITEM_ACT_WAIT));
}

TEST(attempts_and_time_of_an_issue_are_bounded)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct item_facts facts = facts_of(RUN_FACT_NONE);
    item.attempts = 2;
    check("2 attempts", &item, &facts, &plain, act(ITEM_ACT_START));
    item.attempts = 3;
    check("3 attempts", &item, &facts, &plain, set(ITEM_BLOCKED, ITEM_ATTEMPTS_SPENT));
    item.state = ITEM_ASSIGNED;
    check("assigned", &item, &facts, &plain, set(ITEM_BLOCKED, ITEM_ATTEMPTS_SPENT));
    item.state = ITEM_IN_PROGRESS;
    item.attempts = 0;
    item.active_ns = 2 * HOUR - 1;
    facts.run = RUN_FACT_ACTIVE;
    check("time left", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    item.active_ns = 2 * HOUR;
    check("time over", &item, &facts, &plain, set(ITEM_BLOCKED, ITEM_TIME_OVER));
    facts.run = RUN_FACT_IDLE;
    check("idle", &item, &facts, &plain, set(ITEM_BLOCKED, ITEM_TIME_OVER));
}

TEST(transient_failures_in_a_row_are_bounded)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct item_facts facts = facts_of(RUN_FACT_TRANSIENT);
    item.retries = ITEM_MOST_RETRIES - 1;
    check("last", &item, &facts, &plain, set(ITEM_RETRY_LATER, ITEM_MODEL_FAILED));
    item.retries = ITEM_MOST_RETRIES;
    check("over", &item, &facts, &plain, set(ITEM_BLOCKED, ITEM_MODEL_FAILED));
}

/* ---- Claims --------------------------------------------------------------------------------- */

TEST(a_claim_of_others_fences_in_every_state_that_holds_one)
{
    static const enum item_state states[] = {ITEM_ASSIGNED,    ITEM_IN_PROGRESS, ITEM_IN_REVIEW,
                                             ITEM_RETRY_LATER, ITEM_BLOCKED,     ITEM_NEEDS_HUMAN,
                                             ITEM_CANCELLED,   ITEM_DONE};
    for (size_t i = 0; i < COUNT(states); i++) {
        struct item item = item_in(states[i]);
        struct item_facts facts = facts_of(RUN_FACT_ACTIVE);
        facts.claim = CLAIM_FOREIGN;
        check("fence", &item, &facts, &plain, set(ITEM_FENCED, ITEM_REASON_NONE));
    }
    struct item item = item_in(ITEM_FENCED);
    struct item_facts facts = facts_of(RUN_FACT_ACTIVE);
    facts.claim = CLAIM_FOREIGN;
    facts.is_mirror_right = false;
    check("stop", &item, &facts, &plain, act(ITEM_ACT_STOP));
    facts.run = RUN_FACT_IDLE;
    check("end", &item, &facts, &plain, act(ITEM_ACT_END));
    facts.claim = CLAIM_OURS;
    check("for ever", &item, &facts, &plain, act(ITEM_ACT_END));
}

TEST(a_claim_that_is_gone_ends_the_work_as_one_of_others_does)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct item_facts facts = facts_of(RUN_FACT_ACTIVE);
    facts.claim = CLAIM_ABSENT;
    check("in progress", &item, &facts, &plain, set(ITEM_FENCED, ITEM_REASON_NONE));
    item.state = ITEM_ASSIGNED;
    check("assigned", &item, &facts, &plain, set(ITEM_FENCED, ITEM_REASON_NONE));
    item.state = ITEM_IN_REVIEW;
    item.pull = item.claimed_pull = 7;
    facts.pull = PULL_OPEN;
    facts.run = RUN_FACT_DONE;
    check("in review it is made again", &item, &facts, &plain, act(ITEM_ACT_CLAIM));
}

TEST(without_knowing_the_claim_nothing_is_done_outside)
{
    for (enum item_state at = ITEM_ASSIGNED; at < ITEM_STATE_COUNT; at++) {
        struct item item = item_in(at);
        struct item_facts facts = facts_of(RUN_FACT_DONE);
        snprintf(item.commit, sizeof(item.commit), "abc");
        facts.claim = CLAIM_UNKNOWN;
        facts.is_mirror_right = false;
        facts.now_ns = NOW + HOUR;
        struct item_action action = item_next(&item, &facts, &plain);
        assert_true(action.act == ITEM_ACT_WAIT || action.act == ITEM_ACT_END);
    }
}

TEST(the_heartbeat_is_due_after_its_time_and_the_wait_ends_then)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct item_facts facts = facts_of(RUN_FACT_ACTIVE);
    facts.now_ns = NOW + CLAIM_HEARTBEAT_NS - 1;
    struct item_action action = item_next(&item, &facts, &plain);
    assert_int_equal(action.act, ITEM_ACT_WAIT);
    assert_int_equal(action.at_ns, NOW + CLAIM_HEARTBEAT_NS);
    facts.now_ns++;
    check("due", &item, &facts, &plain, act(ITEM_ACT_RENEW));
    facts.now_ns = NOW - 2 * CLAIM_HEARTBEAT_NS;
    check("clock set back", &item, &facts, &plain, act(ITEM_ACT_RENEW));
    item.state = ITEM_IN_REVIEW;
    facts.now_ns = NOW + HOUR;
    check("no lease in review", &item, &facts, &plain, act(ITEM_ACT_WAIT));
}

/* ---- Retry later ---------------------------------------------------------------------------- */

TEST(retry_later_tells_releases_waits_and_claims_again)
{
    struct item item = item_in(ITEM_RETRY_LATER);
    struct item_facts facts = facts_of(RUN_FACT_TRANSIENT);
    struct item_options releases = plain;
    releases.releases_claim = true;
    facts.is_mirror_right = false;
    check("tell", &item, &facts, &releases, act(ITEM_ACT_MIRROR));
    facts.is_mirror_right = true;
    check("release", &item, &facts, &releases, act(ITEM_ACT_RELEASE));
    facts.claim = CLAIM_ABSENT;
    check("release, answer lost", &item, &facts, &releases, act(ITEM_ACT_RELEASE));
    item.is_released = true;
    struct item_action action = item_next(&item, &facts, &releases);
    assert_int_equal(action.act, ITEM_ACT_WAIT);
    assert_int_equal(action.at_ns, item.next_ns);
    facts.now_ns = item.next_ns;
    facts.issue = ISSUE_FACT_UNKNOWN;
    check("issue unknown", &item, &facts, &releases, act(ITEM_ACT_WAIT));
    facts.issue = ISSUE_FACT_WANTED;
    facts.may_start = false;
    check("limits", &item, &facts, &releases, act(ITEM_ACT_WAIT));
    facts.may_start = true;
    check("claim", &item, &facts, &releases, act(ITEM_ACT_CLAIM));
    item.is_released = false;
    item.renewed_ns = facts.now_ns;
    facts.claim = CLAIM_OURS;
    check("assigned", &item, &facts, &releases, set(ITEM_ASSIGNED, ITEM_REASON_NONE));
}

TEST(retry_later_keeps_the_claim_unless_it_is_to_be_released_and_no_pull_request_needs_it)
{
    struct item_options releases = plain;
    struct item item = item_in(ITEM_RETRY_LATER);
    struct item_facts facts = facts_of(RUN_FACT_TRANSIENT);
    releases.releases_claim = true;
    struct item_action action = item_next(&item, &facts, &plain);
    assert_int_equal(action.act, ITEM_ACT_WAIT);
    assert_int_equal(action.at_ns, item.next_ns);
    facts.now_ns = NOW + CLAIM_HEARTBEAT_NS;
    item.next_ns = NOW + HOUR;
    check("renew", &item, &facts, &plain, act(ITEM_ACT_RENEW));
    facts.now_ns = NOW;
    item.pull = item.claimed_pull = 7;
    facts.pull = PULL_WANTS_CHANGES;
    check("pull request", &item, &facts, &releases, act(ITEM_ACT_WAIT));
}

TEST(a_retry_that_is_further_away_than_any_is_due)
{
    struct item item = item_in(ITEM_RETRY_LATER);
    struct item_facts facts = facts_of(RUN_FACT_TRANSIENT);
    item.next_ns = NOW + plain.retry_most_ns;
    check("the longest", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    item.next_ns = NOW + plain.retry_most_ns + 1;
    check("by a wrong clock", &item, &facts, &plain, set(ITEM_ASSIGNED, ITEM_REASON_NONE));
}

TEST(a_person_can_have_a_retry_at_once)
{
    struct item item = item_in(ITEM_RETRY_LATER);
    struct item_facts facts = facts_of(RUN_FACT_TRANSIENT);
    struct random random = random_seeded(1);
    facts.issue = ISSUE_FACT_RETRY;
    item.attempts = 2;
    struct item_action action = set(ITEM_RETRY_LATER, ITEM_BY_PERSON);
    check("now", &item, &facts, &plain, action);
    item_set(&item, &action, &plain, &random, NOW);
    assert_int_equal(item.next_ns, NOW);
    assert_int_equal(item.attempts, 0);
    check("once", &item, &facts, &plain, set(ITEM_ASSIGNED, ITEM_REASON_NONE));
    item_fini(&item);
}

TEST(waits_for_retries_double_up_to_their_limit_with_jitter)
{
    static const int64_t minutes[] = {5, 10, 20, 40, 80, 120, 120};
    struct random random = random_seeded(1);
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct item_action action = set(ITEM_RETRY_LATER, ITEM_MODEL_FAILED);
    for (size_t i = 0; i < COUNT(minutes); i++) {
        item_set(&item, &action, &plain, &random, NOW);
        assert_int_equal(item.retries, i + 1);
        assert_in_range(item.next_ns - NOW, minutes[i] * MINUTE / 10 * 9, minutes[i] * MINUTE);
    }
    item_fini(&item);
}

/* ---- In review ------------------------------------------------------------------------------ */

TEST(in_review_follows_the_pull_request)
{
    static const struct {
        enum pull_fact pull;
        struct item_action action;
    } rows[] = {
        {PULL_OPEN, {.act = ITEM_ACT_WAIT}},
        {PULL_UNKNOWN, {.act = ITEM_ACT_WAIT}},
        {PULL_WANTS_CHANGES, {.act = ITEM_ACT_WAIT}},
        {PULL_MERGED, {.act = ITEM_ACT_SET, .state = ITEM_DONE}},
        {PULL_CLOSED, {.act = ITEM_ACT_SET, .state = ITEM_BLOCKED, .reason = ITEM_CLOSED_UNMERGED}},
        {PULL_NONE, {.act = ITEM_ACT_SET, .state = ITEM_BLOCKED, .reason = ITEM_CLOSED_UNMERGED}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct item item = item_in(ITEM_IN_REVIEW);
        struct item_facts facts = facts_of(RUN_FACT_DONE);
        item.pull = item.claimed_pull = 7;
        facts.pull = rows[i].pull;
        check("review", &item, &facts, &plain, rows[i].action);
        facts.claim = CLAIM_UNKNOWN;
        check("claim unknown", &item, &facts, &plain, rows[i].action);
    }
}

TEST(a_merge_that_closes_the_issue_is_no_cancellation)
{
    static const enum item_state states[] = {ITEM_IN_PROGRESS, ITEM_IN_REVIEW, ITEM_RETRY_LATER,
                                             ITEM_BLOCKED};
    for (size_t i = 0; i < COUNT(states); i++) {
        struct item item = item_in(states[i]);
        struct item_facts facts = facts_of(RUN_FACT_DONE);
        item.pull = item.claimed_pull = 7;
        facts.pull = PULL_MERGED;
        facts.issue = ISSUE_FACT_CLOSED;
        check("merged", &item, &facts, &plain, set(ITEM_DONE, ITEM_REASON_NONE));
    }
}

TEST(in_review_an_issue_may_be_edited_but_not_be_gone_or_released)
{
    for (size_t i = 0; i < COUNT(cancels); i++) {
        struct item item = item_in(ITEM_IN_REVIEW);
        struct item_facts facts = facts_of(RUN_FACT_DONE);
        item.pull = item.claimed_pull = 7;
        facts.pull = PULL_OPEN;
        facts.issue = cancels[i].issue;
        bool is_final = cancels[i].reason == ITEM_ISSUE_GONE || cancels[i].reason == ITEM_BY_PERSON;
        check("review", &item, &facts, &plain,
              is_final ? set(ITEM_CANCELLED, cancels[i].reason) : act(ITEM_ACT_WAIT));
    }
}

TEST(in_review_to_in_progress_when_changes_are_requested_as_often_as_allowed)
{
    struct item_options follows = plain;
    struct item item = item_in(ITEM_IN_REVIEW);
    struct item_facts facts = facts_of(RUN_FACT_DONE);
    item.pull = item.claimed_pull = 7;
    item.attempts = 3;
    snprintf(item.run_id, sizeof(item.run_id), OTHER);
    snprintf(item.commit, sizeof(item.commit), "abc");
    item.is_pushed = true;
    follows.most_follow_ups = 1;
    facts.pull = PULL_WANTS_CHANGES;
    check("not asked for", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    check("asked for", &item, &facts, &follows, act(ITEM_ACT_FOLLOW_UP));
    facts.issue = ISSUE_FACT_CLOSED;
    check("closed", &item, &facts, &follows, act(ITEM_ACT_WAIT));
    facts.issue = ISSUE_FACT_WANTED;
    item_begin_follow_up(&item, NOW - 5, NOW);
    assert_int_equal(item.state, ITEM_IN_PROGRESS);
    assert_int_equal(item.review_ns, NOW - 5);
    assert_int_equal(item.attempts, 0);
    assert_string_equal(item.run_id, "");
    assert_false(item.is_pushed);
    assert_int_equal(item.pull, 7);
    facts.run = RUN_FACT_NONE;
    check("start", &item, &facts, &follows, act(ITEM_ACT_START));
    facts.run = RUN_FACT_NO_CHANGE;
    check("nothing to do", &item, &facts, &follows, set(ITEM_IN_REVIEW, ITEM_REASON_NONE));
    item.state = ITEM_IN_REVIEW;
    check("spent", &item, &facts, &follows, act(ITEM_ACT_WAIT));
    item_fini(&item);
}

TEST(done_is_told_clears_up_and_ends)
{
    struct item item = item_in(ITEM_DONE);
    struct item_facts facts = facts_of(RUN_FACT_DONE);
    item.pull = item.claimed_pull = 7;
    facts.issue = ISSUE_FACT_CLOSED;
    facts.pull = PULL_MERGED;
    facts.is_mirror_right = false;
    facts.now_ns = NOW + CLAIM_HEARTBEAT_NS;
    check("its lease counts again", &item, &facts, &plain, act(ITEM_ACT_RENEW));
    facts.now_ns = NOW;
    check("tell", &item, &facts, &plain, act(ITEM_ACT_MIRROR));
    facts.is_mirror_right = true;
    check("clean", &item, &facts, &plain, act(ITEM_ACT_CLEAN));
    facts.claim = CLAIM_ABSENT;
    facts.is_mirror_right = false;
    check("claim gone", &item, &facts, &plain, act(ITEM_ACT_CLEAN));
    facts.is_forge_open = false;
    check("forge closed", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    item.is_released = true;
    check("end", &item, &facts, &plain, act(ITEM_ACT_END));
}

/* ---- Blocked -------------------------------------------------------------------------------- */

TEST(blocked_tells_and_gives_the_claim_back)
{
    struct item item = item_in(ITEM_BLOCKED);
    struct item_facts facts = facts_of(RUN_FACT_ACTIVE);
    facts.is_mirror_right = false;
    check("stop", &item, &facts, &plain, act(ITEM_ACT_STOP));
    facts.run = RUN_FACT_TIME_OVER;
    check("tell", &item, &facts, &plain, act(ITEM_ACT_MIRROR));
    facts.now_ns = NOW + CLAIM_HEARTBEAT_NS;
    facts.is_forge_open = false;
    check("renew while the forge is closed", &item, &facts, &plain, act(ITEM_ACT_RENEW));
    facts.is_mirror_right = true;
    check("release", &item, &facts, &plain, act(ITEM_ACT_RELEASE));
    item.is_released = true;
    facts.claim = CLAIM_ABSENT;
    check("end", &item, &facts, &plain, act(ITEM_ACT_END));
    facts.claim = CLAIM_FOREIGN;
    check("others may claim it", &item, &facts, &plain, act(ITEM_ACT_END));
}

TEST(blocked_keeps_the_claim_while_its_pull_request_is_open)
{
    struct item item = item_in(ITEM_BLOCKED);
    struct item_facts facts = facts_of(RUN_FACT_FAILED);
    item.pull = item.claimed_pull = 7;
    facts.pull = PULL_OPEN;
    check("keep", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    facts.pull = PULL_CLOSED;
    check("release", &item, &facts, &plain, act(ITEM_ACT_RELEASE));
}

/* ---- Claimed anew --------------------------------------------------------------------------- */

TEST(an_item_that_is_claimed_anew_keeps_its_history_and_nothing_that_counts)
{
    struct item item = item_in(ITEM_BLOCKED);
    item.reason = ITEM_CRASHED_TWICE;
    item.crashes = 2;
    item.attempts = 3;
    item.retries = 4;
    item.active_ns = 2 * HOUR;
    item.comment_id = 5;
    item.pull = 6;
    item.pull_url = memory_dup_string("https://x");
    item.branch = memory_dup_string("b");
    item.message = memory_dup_string("m");
    item.is_released = true;
    snprintf(item.run_id, sizeof(item.run_id), OTHER);
    item_note(&item, NOW, "before");
    item_begin_anew(&item, OTHER, NOW + 1);
    assert_int_equal(item.state, ITEM_ASSIGNED);
    assert_int_equal(item.reason, ITEM_REASON_NONE);
    assert_string_equal(item.nonce, OTHER);
    assert_string_equal(item.claim_id, "");
    assert_string_equal(item.run_id, "");
    assert_int_equal(item.attempts + item.retries + item.active_ns, 0);
    assert_int_equal(item.crashes, 0);
    assert_int_equal(item.pull, 0);
    assert_null(item.pull_url);
    assert_null(item.message);
    assert_false(item.is_released);
    assert_int_equal(item.comment_id, 5);
    assert_string_equal(item.branch, "b");
    assert_int_equal(item.note_count, 2);
    item_fini(&item);
}

TEST(a_retry_begins_a_new_run_unless_there_is_a_commit_to_publish)
{
    struct item item = item_in(ITEM_RETRY_LATER);
    struct random random = random_seeded(1);
    struct item_action action = set(ITEM_ASSIGNED, ITEM_REASON_NONE);
    snprintf(item.run_id, sizeof(item.run_id), OTHER);
    snprintf(item.commit, sizeof(item.commit), "abc");
    item_set(&item, &action, &plain, &random, NOW);
    assert_string_equal(item.run_id, OTHER);
    item.commit[0] = '\0';
    item_set(&item, &action, &plain, &random, NOW);
    assert_string_equal(item.run_id, "");
    item_fini(&item);
}

TEST(a_change_of_state_is_noted_with_its_reason_and_forgets_the_message)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct random random = random_seeded(1);
    struct item_action action = set(ITEM_BLOCKED, ITEM_AUTH);
    item.message = memory_dup_string("old");
    item_set(&item, &action, &plain, &random, NOW);
    assert_null(item.message);
    assert_int_equal(item.state, ITEM_BLOCKED);
    assert_string_equal(item.notes[0].text, "blocked: auth");
    item_fini(&item);
}

/* ---- Crashes -------------------------------------------------------------------------------- */

TEST(the_second_crash_at_one_step_blocks)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    item_begin_step(&item, ITEM_STEP_PUSH);
    item_adopt(&item, "second", NOW);
    assert_string_equal(item.owner, "second");
    assert_int_equal(item.state, ITEM_IN_PROGRESS);
    assert_int_equal(item.step, ITEM_STEP_NONE);
    item_begin_step(&item, ITEM_STEP_MIRROR); /* another step in between changes nothing */
    item_begin_step(&item, ITEM_STEP_NONE);
    item_begin_step(&item, ITEM_STEP_PUSH);
    item_adopt(&item, "third", NOW);
    assert_int_equal(item.state, ITEM_BLOCKED);
    assert_int_equal(item.reason, ITEM_CRASHED_TWICE);
    item_fini(&item);
}

TEST(a_step_that_was_completed_forgets_its_crashes)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    item_begin_step(&item, ITEM_STEP_PUSH);
    item_adopt(&item, "second", NOW);
    item_begin_step(&item, ITEM_STEP_PUSH);
    item_begin_step(&item, ITEM_STEP_NONE);
    item_begin_step(&item, ITEM_STEP_PUSH);
    item_adopt(&item, "third", NOW);
    assert_int_equal(item.state, ITEM_IN_PROGRESS);
    item_begin_step(&item, ITEM_STEP_PULL);
    item_adopt(&item, "fourth", NOW);
    assert_int_equal(item.state, ITEM_IN_PROGRESS);
    item_fini(&item);
}

TEST(a_run_counts_as_one_step_until_there_is_a_commit)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct item published = item_in(ITEM_IN_PROGRESS);
    snprintf(item.run_id, sizeof(item.run_id), OTHER);
    item_adopt(&item, "second", NOW);
    item_begin_step(&item, ITEM_STEP_START);
    item_begin_step(&item, ITEM_STEP_NONE);
    item_adopt(&item, "third", NOW);
    assert_int_equal(item.state, ITEM_BLOCKED);
    item_fini(&item);
    snprintf(published.run_id, sizeof(published.run_id), OTHER);
    snprintf(published.commit, sizeof(published.commit), "abc");
    item_adopt(&published, "second", NOW);
    item_adopt(&published, "third", NOW);
    assert_int_equal(published.state, ITEM_IN_PROGRESS);
    assert_int_equal(published.crashes, 0);
}

TEST(crashes_of_a_run_are_forgotten_when_it_has_ended)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    struct random random = random_seeded(1);
    struct item_action action = set(ITEM_RETRY_LATER, ITEM_MODEL_FAILED);
    snprintf(item.run_id, sizeof(item.run_id), OTHER);
    item_adopt(&item, "second", NOW);
    assert_int_equal(item.crashes, 1);
    item_set(&item, &action, &plain, &random, NOW);
    assert_int_equal(item.crashes, 0);
    item_fini(&item);
}

TEST(a_process_that_ended_in_good_order_has_not_died)
{
    struct item item = item_in(ITEM_IN_PROGRESS);
    item_begin_step(&item, ITEM_STEP_START);
    for (int i = 0; i < 5; i++) {
        item.owner[0] = '\0';
        item_adopt(&item, "next", NOW);
    }
    assert_int_equal(item.crashes, 0);
    item_adopt(&item, "next", NOW);
    assert_int_equal(item.crashes, 0);
    assert_int_equal(item.state, ITEM_IN_PROGRESS);
}

TEST(an_item_that_is_over_is_left_after_the_second_crash)
{
    struct item item = item_in(ITEM_BLOCKED);
    struct item_facts facts = facts_of(RUN_FACT_FAILED);
    facts.is_mirror_right = false;
    for (int i = 0; i < 2; i++) {
        check("tell", &item, &facts, &plain, act(ITEM_ACT_MIRROR));
        item_begin_step(&item, ITEM_STEP_MIRROR);
        item_adopt(&item, i == 0 ? "second" : "third", NOW);
    }
    assert_int_equal(item.state, ITEM_BLOCKED);
    assert_true(item.is_released);
    check("end", &item, &facts, &plain, act(ITEM_ACT_END));
    item_fini(&item);
}
