// SPDX-License-Identifier: Apache-2.0
/* One handoff with its clock: commands that are allowed, and what is asserted of their outcome. */
#pragma once

#include "handoff/step.h"

#include "base/clock.h"
#include "handoff/timer.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define MINUTE (60 * NS_PER_S)
#define HOUR   (60 * MINUTE)
#define BEGIN  (1800000000 * NS_PER_S)

static const char action[] =
    "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";
static const char other_action[] =
    "sha256:b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1";
static const char checkpoint[] =
    "sha256:c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2";
static const char body[] =
    "sha256:d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3";
static const char second_body[] =
    "sha256:e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4";

/** One handoff, its clock, and the facts of the last command. */
struct scene {
    struct handoff handoff;
    struct handoff_rules rules;
    struct handoff_facts facts;
    int64_t now_ns;
};

static inline struct handoff_request make_request(enum handoff_level level)
{
    return (struct handoff_request){
        .request_id = "e6a19e20-f630-5f7a-91bd-71be0c3eae0d",
        .agent_id = "agent",
        .lane_id = "lane",
        .action_digest = action,
        .state_hash = checkpoint,
        .body_digest = body,
        .risk = level,
        .priority = level,
    };
}

static inline struct scene begin(enum handoff_level level)
{
    struct scene scene = {.rules = handoff_default_rules, .now_ns = BEGIN};
    struct handoff_request request = make_request(level);
    assert_int_equal(
        handoff_begin(&request, &scene.rules, scene.now_ns, &scene.handoff, &scene.facts),
        HANDOFF_DONE);
    return scene;
}

static inline enum handoff_outcome perform(struct scene *scene, struct handoff_command command)
{
    scene->facts.count = 0;
    return handoff_step(&scene->handoff, &scene->rules, &command, scene->now_ns, &scene->facts);
}

/** A command of somebody who may give it, about what is in the record. */
static inline struct handoff_command command_of(const struct scene *scene,
                                                enum handoff_command_kind kind, const char *who)
{
    return (struct handoff_command){
        .kind = kind,
        .actor = {.id = who, .is_assignee = true, .may_decide = true},
        .consumer = "process-1",
        .revision = scene->handoff.revision,
        .action_digest = action,
        .text_digest = second_body,
        .has_text = true,
        .desk = "desk-2",
        .state_hash = checkpoint,
        .is_allowed = true,
    };
}

static inline enum handoff_outcome give(struct scene *scene, enum handoff_command_kind kind,
                                        const char *who)
{
    return perform(scene, command_of(scene, kind, who));
}

static inline struct scene routed_at(enum handoff_level level)
{
    struct scene scene = begin(level);
    struct handoff_command route = command_of(&scene, HANDOFF_ROUTE, "router");
    route.desk = "desk-1";
    assert_int_equal(perform(&scene, route), HANDOFF_DONE);
    return scene;
}

static inline struct scene routed(void)
{
    return routed_at(HANDOFF_MEDIUM);
}

static inline struct scene asked(void)
{
    struct scene scene = routed();
    assert_int_equal(give(&scene, HANDOFF_ASK, "olga"), HANDOFF_DONE);
    return scene;
}

static inline struct scene approved(void)
{
    struct scene scene = routed();
    assert_int_equal(give(&scene, HANDOFF_APPROVE, "olga"), HANDOFF_DONE);
    return scene;
}

static inline struct scene taken(void)
{
    struct scene scene = approved();
    assert_int_equal(give(&scene, HANDOFF_TAKE, "agent"), HANDOFF_DONE);
    return scene;
}

static inline struct scene started(void)
{
    struct scene scene = taken();
    assert_int_equal(give(&scene, HANDOFF_START, "agent"), HANDOFF_DONE);
    return scene;
}

static inline void pass(struct scene *scene, int64_t duration_ns)
{
    scene->now_ns += duration_ns;
    scene->facts.count = 0;
    handoff_advance(&scene->handoff, &scene->rules, scene->now_ns, &scene->facts);
}

static inline void assert_state(const struct scene *scene, enum handoff_state state)
{
    assert_string_equal(handoff_state_name(scene->handoff.state), handoff_state_name(state));
}

static inline void assert_application(const struct scene *scene,
                                      enum handoff_application application)
{
    assert_string_equal(handoff_application_name(scene->handoff.application),
                        handoff_application_name(application));
}

static inline void assert_outcome(enum handoff_outcome outcome, enum handoff_outcome expected)
{
    assert_string_equal(handoff_outcome_name(outcome), handoff_outcome_name(expected));
}

/** A command that is refused, and changes nothing. */
static inline void assert_refused(struct scene *scene, struct handoff_command command,
                                  enum handoff_outcome expected)
{
    struct handoff before = scene->handoff;
    assert_outcome(perform(scene, command), expected);
    assert_memory_equal(&before, &scene->handoff, sizeof(before));
    assert_int_equal(scene->facts.count, 0);
}

static inline void assert_fact(const struct scene *scene, enum handoff_fact fact)
{
    for (size_t i = 0; i < scene->facts.count; i++) {
        if (scene->facts.facts[i] == fact) {
            return;
        }
    }
    fail_msg("no %s among %zu facts", handoff_fact_name(fact), scene->facts.count);
}
