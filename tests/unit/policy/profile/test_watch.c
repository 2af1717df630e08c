// SPDX-License-Identifier: Apache-2.0
/* Hot reload of profiles: what counts after each change of the files. */
#include "policy/profile/watch.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "os/file.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERMIT_ALL "permit (principal, action == RelayTrace::Action::\"execute\", resource);"
#define CONTEXT                                                                 \
    "{\"risk_level\":0,\"impact\":0,\"reversible\":true,\"evidence_count\":0,"  \
    "\"evidence_required\":0,\"evidence_missing\":[],\"violation_score\":0.95," \
    "\"human_required\":false,\"rework_count\":0}"

struct profile_world {
    char folder[64];
    struct profile_watch *watch;
    char refused[RONDO_ERROR_MESSAGE_SIZE];
    int refusals;
};

static void take_refusal(void *context, const char *message)
{
    struct profile_world *world = context;
    world->refusals++;
    snprintf(world->refused, sizeof(world->refused), "%s", message);
}

static void open_world(struct profile_world *world)
{
    *world = (struct profile_world){.folder = "/tmp/rondo-profiles-XXXXXX"};
    assert_non_null(mkdtemp(world->folder));
    world->watch = profile_watch_new(world->folder, take_refusal, world);
}

static void path_of(const struct profile_world *world, const char *name, char *ret_path,
                    size_t size)
{
    snprintf(ret_path, size, "%s/%s", world->folder, name);
}

/** Replace a file as a whole, as an editor does. */
static void put(const struct profile_world *world, const char *name, const char *text)
{
    char path[128];
    path_of(world, name, path, sizeof(path));
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

static void remove_file(const struct profile_world *world, const char *name)
{
    char path[128];
    path_of(world, name, path, sizeof(path));
    unlink(path);
}

static void close_world(struct profile_world *world)
{
    profile_watch_free(world->watch);
    remove_file(world, "profiles.cedar");
    remove_file(world, "profiles.entities.json");
    rmdir(world->folder);
}

static int decide(const struct profile_world *world)
{
    auto_json struct json_object *context = NULL;
    auto_buf struct buf errors = {0};
    struct profile_answer answer;
    struct profiles *profiles = NULL;
    assert_int_equal(json_parse(CONTEXT, strlen(CONTEXT), &context, NULL), 0);
    struct profile_request request = {.agent_id = "a", .tool = "t", .context = context};
    struct rondo_error err = {0};
    int r = profile_watch_decide(world->watch, &request, &answer, &errors, &profiles, &err);
    profiles_unref(profiles);
    return r < 0 ? r : (int)answer.outcome;
}

TEST(without_files_the_built_in_profiles_count)
{
    struct profile_world world;
    open_world(&world);
    assert_int_equal(decide(&world), PROFILE_DENY);
    close_world(&world);
}

TEST(a_new_file_counts_for_the_next_decision)
{
    struct profile_world world;
    open_world(&world);
    assert_int_equal(decide(&world), PROFILE_DENY);
    put(&world, "profiles.cedar", PERMIT_ALL);
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    put(&world, "profiles.cedar",
        PERMIT_ALL "@handoff(\"always\") forbid (principal, action, resource);");
    assert_int_equal(decide(&world), PROFILE_HANDOFF);
    close_world(&world);
}

TEST(a_wrong_file_keeps_the_old_one_and_is_reported_once)
{
    struct profile_world world;
    open_world(&world);
    put(&world, "profiles.cedar", PERMIT_ALL);
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    put(&world, "profiles.cedar", "permit (principal, ");
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    assert_int_equal(world.refusals, 1);
    assert_non_null(strstr(world.refused, "profiles.cedar:1"));
    close_world(&world);
}

TEST(a_file_that_is_removed_still_counts)
{
    struct profile_world world;
    open_world(&world);
    put(&world, "profiles.cedar", "forbid (principal, action, resource);");
    assert_int_equal(decide(&world), PROFILE_DENY);
    put(&world, "profiles.cedar", PERMIT_ALL);
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    remove_file(&world, "profiles.cedar");
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    assert_int_equal(world.refusals, 1);
    close_world(&world);
}

TEST(a_wrong_file_at_the_start_allows_nothing)
{
    struct profile_world world;
    open_world(&world);
    put(&world, "profiles.cedar", "permit (principal, ");
    assert_int_equal(decide(&world), RONDO_ERR_INVALID);
    put(&world, "profiles.cedar", PERMIT_ALL);
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    close_world(&world);
}

TEST(entities_beside_the_file_count_too)
{
    struct profile_world world;
    open_world(&world);
    put(&world, "profiles.entities.json",
        "[{\"uid\":{\"type\":\"RelayTrace::Agent\",\"id\":\"a\"},"
        "\"attrs\":{\"profiles\":[\"observe\"]},\"parents\":[]}]");
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    put(&world, "profiles.entities.json",
        "[{\"uid\":{\"type\":\"RelayTrace::Agent\",\"id\":\"a\"},"
        "\"attrs\":{},\"parents\":[]}]");
    assert_int_equal(decide(&world), PROFILE_ALLOW);
    assert_non_null(strstr(world.refused, "profiles"));
    close_world(&world);
}
