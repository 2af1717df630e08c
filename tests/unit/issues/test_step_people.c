// SPDX-License-Identifier: Apache-2.0
/* What people do to an issue, in the state machine of work items. */
#include "step_scene.h"

TEST(a_person_who_changes_the_issue_ends_the_work_on_it)
{
    static const enum item_state states[] = {ITEM_ASSIGNED, ITEM_IN_PROGRESS, ITEM_RETRY_LATER};
    for (size_t i = 0; i < COUNT(cancels); i++) {
        for (size_t k = 0; k < COUNT(states); k++) {
            struct item item = item_in(states[k]);
            struct item_facts facts = facts_of(RUN_FACT_ACTIVE);
            facts.issue = cancels[i].issue;
            check("cancel", &item, &facts, &plain, set(ITEM_CANCELLED, cancels[i].reason));
        }
    }
}

TEST(what_a_person_has_released_is_left_alone_for_an_hour)
{
    for (size_t i = 0; i < COUNT(cancels); i++) {
        struct item item = item_in(ITEM_IN_PROGRESS);
        struct item_facts facts = facts_of(RUN_FACT_ACTIVE);
        facts.issue = cancels[i].issue;
        struct item_action action = item_next(&item, &facts, &plain);
        bool is_released = cancels[i].issue == ISSUE_FACT_RELEASED;
        item_set(&item, &action, &plain, NULL, NOW);
        assert_int_equal(item.released_until_ns, is_released ? NOW + HOUR : 0);
        item_fini(&item);
    }
}

TEST(a_retry_after_a_release_has_the_issue_worked_on)
{
    struct item item = item_in(ITEM_CANCELLED);
    struct item_facts facts = facts_of(RUN_FACT_IDLE);
    item.reason = ITEM_BY_PERSON;
    item.released_until_ns = NOW + HOUR;
    facts.issue = ISSUE_FACT_RETRY;
    struct item_action action = item_next(&item, &facts, &plain);
    check("again", &item, &facts, &plain, set(ITEM_CANCELLED, ITEM_BY_PERSON));
    item_set(&item, &action, &plain, NULL, NOW);
    assert_int_equal(item.released_until_ns, 0);
    check("free for all", &item, &facts, &plain, act(ITEM_ACT_RELEASE));
    item.is_released = true;
    facts.claim = CLAIM_ABSENT;
    check("end", &item, &facts, &plain, act(ITEM_ACT_END));
    item.released_until_ns = NOW + HOUR;
    item_begin_anew(&item, OTHER, NOW);
    assert_int_equal(item.released_until_ns, 0);
    item_fini(&item);
}

TEST(no_pull_request_follows_after_a_person_has_ended_the_work)
{
    for (size_t i = 0; i < COUNT(cancels); i++) {
        struct item item = item_in(ITEM_IN_PROGRESS);
        struct item_facts facts = facts_of(RUN_FACT_DONE);
        snprintf(item.commit, sizeof(item.commit), "abc");
        item.is_pushed = true;
        facts.issue = cancels[i].issue;
        check("cancel", &item, &facts, &plain, set(ITEM_CANCELLED, cancels[i].reason));
    }
}

TEST(cancelled_stops_the_run_tells_once_and_gives_the_claim_back)
{
    struct item item = item_in(ITEM_CANCELLED);
    struct item_facts facts = facts_of(RUN_FACT_ACTIVE);
    item.reason = ITEM_EDITED;
    facts.issue = ISSUE_FACT_EDITED;
    facts.is_mirror_right = false;
    check("stop", &item, &facts, &plain, act(ITEM_ACT_STOP));
    facts.run = RUN_FACT_IDLE;
    check("tell", &item, &facts, &plain, act(ITEM_ACT_MIRROR));
    facts.is_forge_open = false;
    check("forge closed", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    facts.is_forge_open = true;
    facts.is_mirror_right = true;
    check("release", &item, &facts, &plain, act(ITEM_ACT_RELEASE));
    facts.claim = CLAIM_ABSENT;
    check("released, answer lost", &item, &facts, &plain, act(ITEM_ACT_RELEASE));
    item.is_released = true;
    check("end", &item, &facts, &plain, act(ITEM_ACT_END));
}

TEST(an_issue_that_is_gone_is_not_written_to)
{
    struct item item = item_in(ITEM_CANCELLED);
    struct item_facts facts = facts_of(RUN_FACT_NONE);
    item.reason = ITEM_ISSUE_GONE;
    facts.issue = ISSUE_FACT_UNKNOWN;
    facts.is_mirror_right = false;
    check("release", &item, &facts, &plain, act(ITEM_ACT_RELEASE));
}

TEST(labels_that_must_go_after_the_claim_was_given_back_need_it_again)
{
    struct item item = item_in(ITEM_CANCELLED);
    struct item_facts facts = facts_of(RUN_FACT_NONE);
    item.is_released = true;
    item.mirrored = ITEM_RETRY_LATER;
    facts.claim = CLAIM_ABSENT;
    facts.is_mirror_right = false;
    check("claim", &item, &facts, &plain, act(ITEM_ACT_CLAIM));
    facts.claim = CLAIM_FOREIGN;
    check("others have it", &item, &facts, &plain, act(ITEM_ACT_END));
    facts.claim = CLAIM_UNKNOWN;
    check("unknown", &item, &facts, &plain, act(ITEM_ACT_WAIT));
    facts.claim = CLAIM_OURS;
    check("claimed", &item, &facts, &plain, act(ITEM_ACT_MIRROR));
}

TEST(blocked_to_available_when_a_person_asks)
{
    static const enum item_state states[] = {ITEM_BLOCKED, ITEM_NEEDS_HUMAN};
    for (size_t i = 0; i < COUNT(states); i++) {
        struct item item = item_in(states[i]);
        struct item_facts facts = facts_of(RUN_FACT_FAILED);
        facts.issue = ISSUE_FACT_RETRY;
        check("held", &item, &facts, &plain, set(ITEM_CANCELLED, ITEM_BY_PERSON));
        item.is_released = true;
        facts.claim = CLAIM_ABSENT;
        check("released", &item, &facts, &plain, set(ITEM_CANCELLED, ITEM_BY_PERSON));
        item.state = ITEM_CANCELLED;
        check("its label goes", &item, &facts, &plain, act(ITEM_ACT_CLAIM));
    }
}
