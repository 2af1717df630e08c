// SPDX-License-Identifier: Apache-2.0
/* One source in a world of the intake: its host, its log, and a folder of its own. */
#pragma once

#include "base/auto.h"
#include "base/json/json.h"
#include "intake_world.h"
#include "source/intake/mark.h"
#include "source/source.h"

#include <json-c/json.h>

struct trigger_world {
    struct intake_world *intake;
    struct source_host host;
    char id[SOURCE_ID_SIZE];
    struct json_object *config;
    struct source *source;
    struct buf log;
};

static inline void world_log(void *context, const char *line)
{
    struct trigger_world *world = context;
    buf_printf(&world->log, "%s\n", line);
}

/** Close the source if it is open, open it with its mark. @return as open */
static inline int world_try_source(struct trigger_world *world, const char *type,
                                   const char *config, struct rondo_error *err)
{
    const struct source_type *found = source_type_find(type);
    auto_free char *mark = NULL;
    if (world->source != NULL) {
        world->source->type->close(world->source);
        world->source = NULL;
    }
    json_object_put(world->config);
    world->config = NULL;
    assert_int_equal(json_parse(config, strlen(config), &world->config, NULL), 0);
    source_id(found, "fixer", world->config, world->id);
    world->host.intake = world->intake->intake;
    world->host.clock = &world->intake->clock;
    world->host.random = &world->intake->random;
    world->host.id = world->id;
    world->host.role = "fixer";
    world->host.log = world_log;
    world->host.context = world;
    assert_int_equal(source_mark_read(world->intake->store, world->id, &mark, NULL, NULL), 0);
    return found->open(world->config, &world->host, mark, &world->source, err);
}

static inline void world_source(struct trigger_world *world, const char *type, const char *config)
{
    struct rondo_error err = {0};
    if (world_try_source(world, type, config, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

/** Insist on what the source says keeps it from working; "" = nothing. */
static inline void world_expect_problem(struct trigger_world *world, const char *part)
{
    const char *text = world->source->type->problem(world->source);
    if (part[0] == '\0' ? text[0] != '\0' : strstr(text, part) == NULL) {
        fail_msg("%s", text);
    }
}

/** Opening is refused, with a reason in the message. */
static inline void world_refuse(struct trigger_world *world, const char *type, const char *config,
                                const char *reason)
{
    struct rondo_error err = {0};
    assert_true(world_try_source(world, type, config, &err) < 0);
    assert_null(world->source);
    if (strstr(err.message, reason) == NULL) {
        fail_msg("%s", err.message);
    }
}

static inline int make_trigger_world(void **state)
{
    void *intake = NULL;
    struct trigger_world *world = memory_new_zero(1, sizeof(*world));
    static const struct queue_options roomy = {.max_waiting = 1000, .max_running = 1000};
    make_world(&intake);
    world->intake = intake;
    world->host.folder = "/";
    intake_set_role(world->intake->intake, "fixer", &roomy);
    *state = world;
    return 0;
}

static inline int end_trigger_world(void **state)
{
    struct trigger_world *world = *state;
    void *intake = world->intake;
    if (world->source != NULL) {
        world->source->type->close(world->source);
    }
    json_object_put(world->config);
    buf_fini(&world->log);
    free(world);
    return end_world(&intake);
}
