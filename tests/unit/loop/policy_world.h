// SPDX-License-Identifier: Apache-2.0
/*
 * The world of fixture.h with a policy file in it, and a look into the journal. Files are replaced
 * by rename, which counts at once.
 */
#pragma once

#include "fixture.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "policy/ruleset.h"

#include <json-c/json.h>
#include <unistd.h>

#define PERMIT  "permit (principal, action, resource);\n"
#define ITERATE "forbid (principal, action == Action::\"iterate\", resource) "

struct policy_world {
    struct loop_fixture *fixture;
    char folder[64];
    char rules[64];       /* a folder out of the reach of agents */
    char path[96];        /* of the policy file in it */
    char run_id[ID_SIZE]; /* of the run that was started last */
};

static inline int world_up(void **state)
{
    struct policy_world *world = memory_new_zero(1, sizeof(*world));
    void *fixture = NULL;
    fixture_up(&fixture);
    world->fixture = fixture;
    snprintf(world->folder, sizeof(world->folder), "/tmp/rondo-gate-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->rules, sizeof(world->rules), "/tmp/rondo-rules-XXXXXX");
    assert_non_null(mkdtemp(world->rules));
    snprintf(world->path, sizeof(world->path), "%s/p.cedar", world->rules);
    *state = world;
    return 0;
}

static inline int world_down(void **state)
{
    struct policy_world *world = *state;
    void *fixture = world->fixture;
    fixture_down(&fixture);
    file_remove_tree(world->folder, NULL);
    file_remove_tree(world->rules, NULL);
    free(world);
    return 0;
}

#define WORLD_TEST(function) TEST_WITH(function, world_up, world_down)

static inline void set_policies(struct policy_world *world, const char *text)
{
    assert_int_equal(file_replace_durably(world->path, text, strlen(text), NULL), 0);
}

/** Policies with an iteration limit. */
static inline void set_limit(struct policy_world *world, unsigned limit)
{
    char text[256];
    snprintf(text, sizeof(text),
             PERMIT "@id(\"few\") " ITERATE "unless { context.iteration < %u };", limit);
    set_policies(world, text);
}

/** A spec under the world's policy file. */
static inline struct loop_spec spec_under(const struct policy_world *world, unsigned conditions)
{
    struct loop_spec spec = fixture_spec(conditions);
    spec.policy = memory_dup_string(world->path);
    return spec;
}

static inline struct loop *start(struct policy_world *world, struct loop_spec spec)
{
    struct loop *loop = fixture_start(world->fixture, spec);
    snprintf(world->run_id, sizeof(world->run_id), "%s", loop_run_id(loop));
    return loop;
}

static inline struct loop *start_under(struct policy_world *world, const char *policies)
{
    set_policies(world, policies);
    return start(world, spec_under(world, 0));
}

static inline void expect_ended(struct loop *loop, enum rondo_status status)
{
    struct rondo_error err = {0};
    int r = loop_next(loop, &err);
    if (r != LOOP_ENDED || loop_state(loop)->status != status) {
        fail_msg("the loop gives %d %s, status %s", r, err.message,
                 rondo_status_name(loop_state(loop)->status));
    }
}

static inline void report_use(struct loop *loop, int64_t tokens, int64_t cost_micro)
{
    struct loop_body_result result = {.tokens = tokens, .cost_micro = cost_micro};
    loop_report(loop, &result);
}

static inline unsigned events(const struct policy_world *world, const char *type, const char *text)
{
    return fixture_events(world->fixture, world->run_id, type, text);
}

struct last {
    const char *type;
    struct json_object *data;
};

static inline bool take_last(const struct store_event *event, void *context)
{
    struct last *last = context;
    if (strcmp(event->type, last->type) == 0) {
        json_object_put(last->data);
        last->data = NULL;
        json_parse(event->data, strlen(event->data), &last->data, NULL);
    }
    return true;
}

/** The data of the last event of a type; json_object_put() it. */
static inline struct json_object *last_event(const struct policy_world *world, const char *type)
{
    struct last last = {.type = type};
    struct store *store = world->fixture->memory;
    store->ops->read_events(store, world->run_id, 0, 0, take_last, &last, NULL);
    if (last.data == NULL) {
        fail_msg("there is no event %s", type);
    }
    return last.data;
}

static inline void expect_text(struct json_object *data, const char *name, const char *expected)
{
    const char *text = json_get_string(data, name, "(absent)");
    if (strcmp(text, expected) != 0) {
        fail_msg("%s is '%s' and not '%s'", name, text, expected);
    }
}

static inline void expect_json(struct json_object *data, const char *name, const char *expected)
{
    struct json_object *value = NULL;
    assert_true(json_object_object_get_ex(data, name, &value));
    assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), expected);
}

/** Digest of a policy text, as the journal has it. */
static inline void digest_of(const char *text, char ret_digest[static DIGEST_HEX_SIZE])
{
    struct ruleset_text texts[] = {{RULESET_POLICIES, "p.cedar", text, strlen(text)}};
    struct ruleset *ruleset = NULL;
    assert_int_equal(ruleset_make("/p", texts, 1, NULL, NULL, &ruleset, NULL), 0);
    memcpy(ret_digest, ruleset->digest, DIGEST_HEX_SIZE);
    ruleset_unref(ruleset);
}
